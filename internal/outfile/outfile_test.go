// SPDX-License-Identifier: Apache-2.0

//go:build unix

package outfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pauseless/pauseless/internal/outfile"
)

// check writes to a file and tests the resulting files.
func check(t *testing.T, name, want string) fs.FileInfo {
	t.Helper()
	if err := outfile.Write(name, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Fatalf("%s has %q, %v", name, got, err)
	}
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	if list, _ := filepath.Glob(filepath.Join(filepath.Dir(name), ".*")); len(list) > 0 {
		t.Errorf("left behind: %v", list)
	}
	return info
}

func put(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// Check finds what Write could not write, and changes nothing.
func TestCheckChangesNothing(t *testing.T) {
	dir := t.TempDir()
	old, link, pipe := filepath.Join(dir, "old"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	put(t, old, "kept", 0o644)
	if err := errors.Join(os.Symlink("old", link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{old, link, pipe, os.DevNull, filepath.Join(dir, "new")} {
		if err := outfile.Check(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{dir: "folder", filepath.Join(dir, "no", "x"): "no such file", filepath.Join(old, "x"): "not a directory"} {
		if err := outfile.Check(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "kept" {
		t.Errorf("a file that exists has %q, %v", text, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 3 {
		t.Errorf("there are %v, %v", list, err)
	}
}

func TestRegularFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	if m := check(t, name, "new").Mode(); m&0o111 != 0 || m&0o400 == 0 {
		t.Errorf("a new file has mode %v", m)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	if m := check(t, name, "again").Mode(); m != 0o640 {
		t.Errorf("the mode 0640 has become %v", m)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(name, 12345, 54321); err != nil {
			t.Fatal(err)
		}
		if st := check(t, name, "third").Sys().(*syscall.Stat_t); st.Uid != 12345 || st.Gid != 54321 {
			t.Errorf("the owner 12345:54321 has become %d:%d", st.Uid, st.Gid)
		}
	}
}

// Links stay: the file to which they lead is written.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	put(t, real, "old", 0o600)
	for _, name := range []string{"soft", "dangling", "hard"} {
		link := filepath.Join(dir, name)
		target := real
		var err error
		switch name {
		case "hard":
			err = os.Link(real, link)
		case "dangling":
			target = filepath.Join(dir, "not there yet")
			err = os.Symlink(target, link)
		default:
			err = os.Symlink(real, link)
		}
		if err != nil {
			t.Fatal(err)
		}
		check(t, link, "by "+name)
		if got, err := os.ReadFile(target); string(got) != "by "+name {
			t.Errorf("%s: what it leads to has %q, %v", name, got, err)
		}
		if i, _ := os.Lstat(link); name != "hard" && i.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is a %v now", name, i.Mode())
		}
	}
}

// Devices and pipes are written to and not replaced. Before, `compile -o
// /dev/null` as root made it a regular file.
func TestDevicesAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(fifo)
		got <- string(b)
	}()
	if err := outfile.Write(fifo, []byte("through"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "through" {
		t.Errorf("the pipe's reader has %q", text)
	}
	null := filepath.Join(dir, "null")
	if err := syscall.Mknod(null, syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		null = "/dev/null" // only root makes devices, and only root can break it
	}
	if err := outfile.Write(null, []byte("gone"), 0o644); err != nil && !errors.Is(err, fs.ErrPermission) {
		t.Logf("%s: %v", null, err) // a file system without devices
	}
	for _, name := range []string{fifo, null} {
		if i, err := os.Lstat(name); err != nil || i.Mode().IsRegular() {
			t.Errorf("%s is a %v now, %v", name, i.Mode(), err)
		}
	}
	if err := outfile.Write(dir, nil, 0o644); err == nil {
		t.Error("a directory was written")
	}
}

// A failed write leaves the old file.
func TestAllOrNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	put(t, name, "old", 0o644)
	err := outfile.With(name, 0o644, func(w io.Writer) error {
		io.WriteString(w, "half of the new te")
		return errors.New("no more")
	})
	if err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("the error is %v", err)
	}
	check(t, name+"2", "beside")
	if got, _ := os.ReadFile(name); string(got) != "old" {
		t.Errorf("the file has %q", got)
	}
	if err := outfile.Write(filepath.Join(name, "below"), nil, 0o644); err == nil {
		t.Error("a file in a file was written")
	}
}
