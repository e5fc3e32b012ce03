// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A signal ends a verb that still reads its files: a pipe may have no end.
func TestSignalsEndVerbsThatRead(t *testing.T) {
	self, err := exec.LookPath("pauseless") // testscript.Main puts it on PATH
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"fmt", "compile", "report", "fabric run", "live", "ctl apply --profile ecmp"} {
		t.Run(verb, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self, append(strings.Fields(verb), pipe)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			kill := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
			defer kill.Stop()
			w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGTERM {
				t.Errorf("it ends with %v", cmd.ProcessState)
			}
		})
	}
}
