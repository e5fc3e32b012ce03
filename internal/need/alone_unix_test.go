// SPDX-License-Identifier: Apache-2.0

//go:build unix

package need

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOneProcessIsAlone(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for range 2 { // it waited for itself
		if err := Alone("thing"); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(filepath.Join(dir, fmt.Sprintf("pauseless-thing-%d.lock", os.Getuid())))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("another who wants to be alone gets %v", err)
	}
	if err := Alone("other thing"); err != nil {
		t.Errorf("alone for another thing: %v", err)
	}
}

func TestAloneUntilTheLastRelease(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	free := func() bool {
		t.Helper()
		f, err := os.Open(filepath.Join(dir, fmt.Sprintf("pauseless-brief-%d.lock", os.Getuid())))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
	}
	var releases []func()
	for range 2 {
		release, err := alone("brief")
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	if releases[0](); free() {
		t.Error("it is free after the first release of two")
	}
	if releases[1](); !free() {
		t.Error("it is not free after the last release")
	}
}
