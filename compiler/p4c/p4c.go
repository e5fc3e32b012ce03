// SPDX-License-Identifier: Apache-2.0

// Package p4c runs p4c-bm2-ss, the reference compiler, with the options and
// outputs of package compiler.
package p4c

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/tool"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// Variable is the environment variable with the path of p4c-bm2-ss.
const Variable = "P4C_BM2"

// Find returns the path of p4c-bm2-ss, from the variable or PATH.
func Find() (string, error) { return tool.Find("", Variable, "p4c-bm2-ss") }

// Options are the options of Compile.
type Options struct {
	File    string
	Include []string
	Defines []string
}

// Result is the output of p4c.
type Result struct {
	JSON   []byte
	P4Info *p4configv1.P4Info
	List   diag.List
}

// Compile compiles a program. The error reports that p4c could not run. The
// result's list has the diagnostics of the program. After errors there is no
// JSON.
func Compile(ctx context.Context, opts Options) (*Result, error) {
	bin, err := Find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "p4c")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	jsonFile, infoFile := filepath.Join(dir, "out.json"), filepath.Join(dir, "out.p4info.bin")
	args := []string{"-o", jsonFile, "--p4runtime-files", infoFile}
	for _, i := range opts.Include {
		args = append(args, "-I", i)
	}
	for _, d := range opts.Defines {
		args = append(args, "-D"+d)
	}
	cmd := exec.CommandContext(ctx, bin, append(args, opts.File)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	r := &Result{List: ParseDiagnostics(stderr.String())}
	var exit *exec.ExitError
	if err != nil {
		if !errors.As(err, &exit) {
			return nil, fmt.Errorf("running %s: %w", bin, err)
		}
		if !r.List.HasErrors() { // a crash, or an error without a position
			r.List.Errorf(diag.FilePos(opts.File), Code, "p4c-bm2-ss failed (%v): %s", err, firstLine(stderr.String()))
		}
		r.List.Sort()
		return r, nil
	}
	r.List.Sort()
	if r.JSON, err = infile.Read(jsonFile); err != nil {
		return nil, err
	}
	b, err := infile.Read(infoFile)
	if err != nil {
		return nil, err
	}
	r.P4Info = &p4configv1.P4Info{}
	if err := proto.Unmarshal(b, r.P4Info); err != nil {
		return nil, fmt.Errorf("P4Info of p4c-bm2-ss: %w", err)
	}
	return r, nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// Code is the code of p4c's diagnostics without a code. Codes of p4c get the
// prefix "p4c-".
const Code diag.Code = "p4c"

var (
	message = regexp.MustCompile(`^([^\s(][^(]*)\((\d+)\):\s*(?:\[--W(?:error|warn)=([a-z0-9-]+)\] )?(?:(error|warning): )?(.*)$`)
	noPlace = regexp.MustCompile(`^(?:\[--W(?:error|warn)=([a-z0-9-]+)\] )?(error|warning): (.*)$`)
	caret   = regexp.MustCompile(`^\s*\^+\s*$`)
	detail  = regexp.MustCompile(`^\s*[^\s(][^(]*\(\d+\):[\s:]*(.*)$`)
)

// ParseDiagnostics reads p4c's standard error. After a message come the source
// line and carets, which give the column. An "actual error" after a message
// becomes part of the message. Further positions are ignored.
func ParseDiagnostics(text string) diag.List {
	var list diag.List
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		var d *diag.Diagnostic
		if n := len(list); n > 0 && strings.TrimSpace(lines[i]) == "---- Actual error:" && i+1 < len(lines) {
			if m := detail.FindStringSubmatch(lines[i+1]); m != nil && m[1] != "" {
				list[n-1].Msg += ": " + m[1]
			}
			i++
			continue
		}
		if m := message.FindStringSubmatch(lines[i]); m != nil && (m[4] != "" || strings.HasPrefix(m[5], "syntax error")) {
			n, _ := strconv.Atoi(m[2])
			col := 0
			if i+2 < len(lines) && caret.MatchString(lines[i+2]) {
				col = strings.IndexByte(lines[i+2], '^') + 1
			}
			file := m[1]
			d = &diag.Diagnostic{Pos: diag.MakePos(&file, int32(n), int32(col)), Code: code(m[3]), Msg: m[5]}
			if m[4] == "warning" {
				d.Severity = diag.Warning
			}
		} else if m := noPlace.FindStringSubmatch(lines[i]); m != nil {
			d = &diag.Diagnostic{Code: code(m[1]), Msg: m[3]}
			if m[2] == "warning" {
				d.Severity = diag.Warning
			}
		}
		if d != nil {
			list = append(list, d)
		}
	}
	return list
}

func code(name string) diag.Code {
	if name == "" {
		return Code
	}
	return "p4c-" + diag.Code(name)
}
