// SPDX-License-Identifier: Apache-2.0

package tofino

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Compiler is an installed or built p4c with its Tofino backend.
type Compiler struct {
	P4C           string // path of p4c-barefoot
	bfas, include string
}

// ErrNoCompiler is the error if the compiler is not found.
var ErrNoCompiler = errors.New("no Tofino compiler: p4c-barefoot and bfas of p4lang/p4c, built with ENABLE_TOFINO")

// FindCompiler looks for the compiler under a prefix: where it is installed,
// or its build folder. An empty prefix means PATH.
func FindCompiler(prefix string) (*Compiler, error) {
	find := func(name string, dirs ...string) (string, error) {
		if prefix == "" {
			return exec.LookPath(name)
		}
		for _, d := range dirs {
			path := filepath.Join(prefix, d, name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return path, nil
			}
		}
		return "", fmt.Errorf("%s is not in %s", name, prefix)
	}
	p4c, err := find("p4c-barefoot", "bin", "", "backends/tofino")
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", ErrNoCompiler, err)
	}
	bfas, err := find("bfas", "bin", "", "backends/tofino/bf-asm")
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", ErrNoCompiler, err)
	}
	c := &Compiler{P4C: p4c, bfas: bfas}
	for _, d := range []string{"../share/p4c/p4include", "../p4include", "p4include"} {
		dir := filepath.Join(filepath.Dir(p4c), d)
		if _, err := os.Stat(filepath.Join(dir, "tna.p4")); err == nil {
			c.include = dir
			break
		}
	}
	return c, nil
}

// A Failure is an error of the compiler about a program, with its output.
type Failure struct {
	Program, Step, Text string
	Code                int
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %s failed with exit code %d%s\n%s", f.Program, f.Step, f.Code, meaning(f), strings.TrimSpace(f.Text))
}

// meaning of p4c-barefoot's exit codes.
func meaning(f *Failure) string {
	if f.Step != "p4c-barefoot" {
		return ""
	}
	return map[int]string{1: ", the program does not fit or is not supported", 2: ", wrong arguments", 3: ", an error in the program", 4: ", an internal error of the compiler"}[f.Code]
}

// Build compiles a program into a folder: bfrt.json, p4info.txtpb, and in pipe
// the assembly, tofino.bin, context.json and logs/resources.json. It returns
// the compiler's warnings.
func (c *Compiler) Build(ctx context.Context, program, dir string) (warnings string, err error) {
	name := strings.TrimSuffix(filepath.Base(program), ".p4")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	text, err := c.run(ctx, name, "p4c-barefoot", c.P4C, c.Args(program, dir)...)
	if err != nil {
		return "", err
	}
	pipe := filepath.Join(dir, "pipe")
	if _, err := c.run(ctx, name, "bfas", c.bfas, "--no-warn", "--target", "tofino", "-o", pipe, filepath.Join(pipe, name+".bfa")); err != nil {
		return "", err
	}
	return text, nil
}

// Args returns the arguments with which p4c-barefoot compiles a program into a
// folder.
func (c *Compiler) Args(program, dir string) []string {
	return append(c.Target(), "-g",
		"--Wdisable=unknown", // pauseless' own annotations
		"--bf-rt-schema", filepath.Join(dir, "bfrt.json"),
		"--p4runtime-force-std-externs", "--p4runtime-files", filepath.Join(dir, "p4info.txtpb"), "-o", dir, program)
}

// Target returns the arguments of every compilation: the target, and the folders
// of core.p4 and tna.p4.
func (c *Compiler) Target() []string {
	args := []string{"--target", "tofino", "--arch", "tna", "-D__TARGET_TOFINO__=1"}
	if c.include != "" {
		args = append(args, "-I", c.include)
	}
	return args
}

func (c *Compiler) run(ctx context.Context, program, step, file string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return "", &Failure{program, step, out.String(), exit.ExitCode()}
	}
	return out.String(), err
}
