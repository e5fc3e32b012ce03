// SPDX-License-Identifier: Apache-2.0

//go:build unix

package need

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Written starts a command and returns what it writes into a file, which must
// not be there yet. It ends the command then: what else it does may take long.
// If the command ends before, nothing was written.
func Written(t testing.TB, cmd *exec.Cmd, file string) []byte {
	t.Helper()
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed
		if w, err := os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			w.Close() // ends the wait for one who writes
		}
	}()
	text, err := os.ReadFile(file)
	_ = cmd.Process.Kill() // it may have ended
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	return text
}
