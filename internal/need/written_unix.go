// SPDX-License-Identifier: Apache-2.0

//go:build unix

package need

import (
	"io"
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
	other := file + ".other" // name of the same, in case the command removes its file
	if err := os.Link(file, other); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(other)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	opened, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed
		// To read a FIFO waits for one who writes, which the command need not
		// have done. Opened for both, it is there for a reader still to come.
		if w, err := os.OpenFile(other, os.O_RDWR, 0); err == nil {
			<-opened
			w.Close()
		}
	}()
	r, err := os.Open(other)
	close(opened)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(r)
		r.Close()
	}
	_ = cmd.Process.Kill() // it may have ended
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	return text
}
