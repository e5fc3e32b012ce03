// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
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

func TestCountsHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999: "999", 999.7: "1k", 1234: "1.23k", 999_499: "999k", 999_700: "1M", 1_234_000: "1.23M", 999_700_000: "1G"} {
		if got := count(v); got != want {
			t.Errorf("count(%v) = %q, want %q", v, got, want)
		}
	}
}
