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

// Written starts a command and returns what it writes to a file, which must not
// exist yet. Then it kills the command, whose other work may take long. If the
// command ends without writing the file, Written returns nothing.
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
		// Opening a FIFO for reading waits for a writer, and the command may have
		// ended without opening it. Opening it for both does not wait, and releases
		// the reader.
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
	_ = cmd.Process.Kill() // fails if it has ended
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	return text
}
