// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Of many that write the same new file one succeeds, and all read its whole text.
func TestFirst(t *testing.T) {
	text := strings.Repeat("x", 1<<16)
	for range 50 {
		name := filepath.Join(t.TempDir(), "new")
		var all sync.WaitGroup
		var made atomic.Int32
		for range 8 {
			all.Go(func() {
				err := First(name, []byte(text), 0o600)
				switch {
				case err == nil:
					made.Add(1)
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
				if got, err := os.ReadFile(name); err != nil || string(got) != text {
					t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
				}
			})
		}
		all.Wait()
		if made.Load() != 1 {
			t.Errorf("%d made it", made.Load())
		}
		if list, err := os.ReadDir(filepath.Dir(name)); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
	}
}

// A file of no folder, and a link to no file.
func TestFirstFails(t *testing.T) {
	dir := t.TempDir()
	if err := First(filepath.Join(dir, "no", "new"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Skip("SKIP: needs a file system with symbolic links: ", err)
	}
	if err := First(link, nil, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	name := filepath.Join(dir, "grown")
	if err := grow(name, []byte("x"), 0o600); err != nil {
		t.Error(err)
	}
	if err := grow(name, []byte("y"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}
