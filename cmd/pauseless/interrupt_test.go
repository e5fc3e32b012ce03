// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// A verb that Ctrl-C has ended says so, and what to do next.
func TestInterruptedVerbsSaySo(t *testing.T) {
	dir := t.TempDir()
	for _, args := range []string{
		"demo -o " + dir,
		"exp run all --store " + dir,
		"exp status all --store " + dir,
		"fabric run demo.yaml",
	} {
		t.Run(args, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			cmd := newRootCmd()
			cmd.SetArgs(strings.Fields(args))
			cmd.SetOut(io.Discard)
			cmd.SetErr(io.Discard)
			if err := cmd.ExecuteContext(ctx); err == nil || !strings.HasPrefix(err.Error(), "interrupted: ") || !strings.Contains(err.Error(), "same command") {
				t.Errorf("got %v", err)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*small")); len(left) > 0 {
		t.Errorf("%v exist", left)
	}
}

// A page of a scenario that Ctrl-C has ended has the runs until then.
func TestInterruptedPage(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "s.html")
	if err := os.WriteFile(file, bytes.Replace(demoScenario, []byte("seeds:"), []byte("seeds: [7, 8] #"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := newRootCmd()
	cmd.SetArgs([]string{"live", file, "--html", page})
	cmd.SetOut(io.Discard)
	cmd.SetErr(writerFunc(func(p []byte) {
		if bytes.Contains(p, []byte("run 2 of")) {
			cancel()
		}
	}))
	if err := cmd.ExecuteContext(ctx); err == nil || !strings.HasPrefix(err.Error(), "interrupted: ") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte(`id="recording"`)) {
		t.Errorf("the page has %d bytes, %v", len(text), err)
	}
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// Ctrl-C in the middle of a run, between two reads of a controller.
func TestInterruptedReads(t *testing.T) {
	s, err := scenario.Parse("demo.yaml", demoScenario)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read := func(string, vtime.Time, register.Array) { cancel() }
	if _, err := runScenario(ctx, s, scenario.Options{Threads: 1, Read: read}, io.Discard); err != errInterrupted {
		t.Errorf("got %v", err)
	}
}

func TestCountsHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999: "999", 999.7: "1k", 1234: "1.23k", 999_499: "999k", 999_700: "1M", 1_234_000: "1.23M", 999_700_000: "1G"} {
		if got := count(v); got != want {
			t.Errorf("count(%v) = %q, want %q", v, got, want)
		}
	}
}
