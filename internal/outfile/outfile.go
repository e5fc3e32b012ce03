// SPDX-License-Identifier: Apache-2.0

// Package outfile writes files; no other package does.
//
// A regular file is written as a whole or not at all: a reader sees the old text
// or the new one. Other files (devices, pipes, sockets) are never replaced, but
// opened and written to, so that /dev/null stays a device. Links are followed, and
// an existing file keeps its owner and its mode.
package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Write writes a file. A new file gets the mode perm, less the umask.
func Write(name string, data []byte, perm fs.FileMode) error {
	return With(name, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// With writes a file whose content do writes. If do fails, a regular file is not
// changed.
func With(name string, perm fs.FileMode, do func(io.Writer) error) error {
	f, err := begin(name, perm)
	if err != nil {
		return cannot(name, err)
	}
	if err := do(f); err != nil {
		f.discard()
		return cannot(name, err)
	}
	return cannot(name, f.commit())
}

// Stream opens a file that others may read while it grows, such as a capture. It
// truncates the file and writes in place. A new file gets the mode 0666, less the
// umask.
func Stream(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	return f, cannot(name, err)
}

// Check returns an error if Write could not write the file, which it does not
// change: before long work whose result would be lost.
func Check(name string) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	old, err := os.Stat(name)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return cannot(name, err)
	case err == nil && old.IsDir():
		return cannot(name, errors.New("it is a folder"))
	case err == nil && !old.Mode().IsRegular():
		return nil // opening a pipe would wait for its reader
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".*")
	if err == nil {
		defer os.Remove(f.Name())
	} else if old != nil {
		f, err = os.OpenFile(name, os.O_WRONLY, 0) // it would be written in place
	}
	if err != nil {
		return cannot(name, err)
	}
	return f.Close()
}

// cannot returns an error with the name of the file that cannot be written.
func cannot(name string, err error) error {
	if err == nil {
		return nil
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("cannot write %s: %w", name, err)
}

// file is a file that is being written: the file itself, or a temporary one that
// will replace it.
type file struct {
	*os.File
	name string // to be replaced; "" if the file is written in place
}

// begin opens the file, or creates a temporary one.
func begin(name string, perm fs.FileMode) (*file, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // the link stays
	} else if _, err := os.Lstat(name); err == nil {
		return inPlace(name, perm) // a link to a file that does not exist yet
	}
	old, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !old.Mode().IsRegular() || links(old) > 1:
		return inPlace(name, perm)
	}
	f, err := hidden(name, perm)
	switch {
	case err != nil && old != nil:
		return inPlace(name, perm) // new files in the folder are not permitted
	case err != nil:
		return nil, err
	}
	out := &file{f, name}
	if old == nil {
		return out, nil
	}
	if err := like(f, old); err != nil { // the temporary file cannot get the owner of the old one
		out.discard()
		return inPlace(name, perm)
	}
	return out, nil
}

// hidden creates a temporary file in the folder of a file that is to be.
func hidden(name string, perm fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(name)
	for range 100 {
		f, err := os.OpenFile(dir+temporary(base, rand.Uint32()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("no name for a temporary file in %s", dir)
}

// temporary returns the name of a temporary file.
func temporary(base string, n uint32) string { return fmt.Sprintf(".%s-%08x", base, n) }

var isTemporary = regexp.MustCompile(`^\..+-[0-9a-f]{8}$`)

// Sweep removes the temporary files of this package that a folder has from processes
// that were killed: those last written before a time. Files that cannot be removed
// stay.
func Sweep(dir string, before time.Time) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if !e.Type().IsRegular() || !isTemporary.MatchString(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

func inPlace(name string, perm fs.FileMode) (*file, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return nil, err
	}
	return &file{File: f}, nil
}

// commit closes the file and, if it is temporary, gives it its final name.
func (f *file) commit() error {
	err := f.Close()
	if f.name == "" {
		return err
	}
	if err == nil {
		err = os.Rename(f.File.Name(), f.name)
	}
	if err != nil {
		os.Remove(f.File.Name())
	}
	return err
}

// discard closes the file, and removes it if it is temporary.
func (f *file) discard() {
	f.Close()
	if f.name != "" {
		os.Remove(f.File.Name())
	}
}
