// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/tool"
)

// block matches a block of a tutorial whose commands are run word for word. A block
//
//	```sh WORDS
//
// is run by a shell, in the folder and with the variables of the block before. WORDS
// are its requirements (needs, below); with `switch` it runs in the background
// during the following blocks. The lines of a following block
//
//	```text
//
// must be printed in their order. The amount of blanks is ignored, and … matches any
// text. The page's port of P4Runtime is replaced by a free one.
var block = regexp.MustCompile("(?ms)^```(sh|text)((?: [a-z0-9-]+)*)\n(.*?)^```$")

// needs are the requirements of blocks by name; an error says what is missing.
var needs = map[string]func() error{
	"bmv2":            onPath("BMV2", "simple_switch_grpc"),
	"go":              onPath("", "go"),
	"tofino":          tofinoCompiler,
	"mininet":         mininetAsRoot,
	"python":          python("grpc, p4.v1.p4runtime_pb2, p4.config.v1.p4info_pb2", "p4runtime"),
	"p4runtime-shell": python("p4runtime_sh.shell", "p4runtime-shell"),
}

func onPath(variable, name string) func() error {
	return func() error {
		_, err := tool.Find("", variable, name)
		return err
	}
}

func python(modules, pkg string) func() error {
	return func() error {
		if err := exec.Command("python3", "-c", "import "+modules).Run(); err != nil {
			return fmt.Errorf("python3 has no %s: pip install %s", modules, pkg)
		}
		return nil
	}
}

func tofinoCompiler() error {
	if os.Getenv("P4C_TOFINO") != "" {
		return nil
	}
	return onPath("P4C_TOFINO", "p4c-barefoot")()
}

func mininetAsRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("Mininet needs root")
	}
	return errors.Join(onPath("", "mn")(), onPath("", "ping")())
}

func TestTutorials(t *testing.T) {
	pages, err := filepath.Glob("../../docs/tutorials/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../docs/own-scheme.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := block.FindAllStringSubmatch(string(text), -1)
		if len(blocks) == 0 && filepath.Base(page) != "README.md" {
			t.Errorf("%s has no commands", page)
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) { play(t, page, string(text), blocks) })
	}
}

// play runs the blocks of a page.
func play(t *testing.T, page, text string, blocks [][]string) {
	if networks := slices.ContainsFunc(blocks, func(b []string) bool { return slices.Contains(strings.Fields(b[2]), "mininet") }); networks && !need.Isolated(t) {
		return
	}
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", commandDir(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("PAUSELESS_SRC", source)
	for _, file := range []string{"forward.p4", "sample.pcap.gz"} {
		if !strings.Contains(text, "("+file+")") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(filepath.Dir(page), file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	port := freePort(t)
	var out string
	left := false // the last commands were skipped
	for _, b := range blocks {
		kind, words, body := b[1], strings.Fields(b[2]), strings.ReplaceAll(b[3], "9559", port)
		if kind == "text" {
			if !left {
				expect(t, out, body)
			}
			continue
		}
		background := false
		left = false
		for _, w := range words {
			if w == "switch" {
				background = true
			} else if missing, ok := needs[w]; !ok {
				t.Fatalf("needs has no %q", w)
			} else if err := missing(); err != nil {
				left = true
				t.Run(w, func(t *testing.T) { need.No(t, err) })
			}
		}
		switch {
		case left:
		case background:
			serveSwitch(t, dir, strings.Replace(body, "pauseless switch", "pauseless switch --grpc 127.0.0.1:"+port, 1))
		default:
			out = session(t, dir, body)
		}
	}
}

// session runs commands and returns their output.
func session(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", "if [ -f .variables ]; then . ./.variables; fi\n"+script+"\nexport -p >.variables")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s%v\n%s", script, err, out)
	}
	return string(out)
}

// freePort returns a free port below the ephemeral ones.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(12000 + rand.IntN(18000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// serveSwitch runs a command that serves P4Runtime until the test ends. It returns
// once the server listens.
func serveSwitch(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	lines, read := bufio.NewReader(r), make(chan struct{})
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = cmd.Wait()                                      // killed
		<-read
		r.Close()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for {
		line, err := lines.ReadString('\n')
		log.WriteString(line)
		if err != nil {
			close(read)
			t.Fatalf("%sended before it served P4Runtime", script)
		}
		if strings.Contains(line, "P4Runtime server") {
			break
		}
	}
	go func() {
		defer close(read)
		_, _ = io.Copy(&log, lines) // until it is killed
	}()
}

// expect fails the test unless the output has the lines in their order.
func expect(t *testing.T, out, want string) {
	t.Helper()
	rest := strings.Split(out, "\n")
next:
	for line := range strings.Lines(want) {
		words := strings.Fields(line)
		for i, w := range words {
			words[i] = strings.ReplaceAll(regexp.QuoteMeta(w), "…", ".*")
		}
		re := regexp.MustCompile(strings.Join(words, `\s+`))
		for i, l := range rest {
			if re.MatchString(l) {
				rest = rest[i+1:]
				continue next
			}
		}
		t.Errorf("want %sin\n%s", line, out)
		return
	}
}

// commandDir returns a directory with this program as pauseless.
func commandDir(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// Not a symbolic link: a command that starts itself again gets the link's target
	// from the system, and would start the tests.
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pauseless"), data, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
