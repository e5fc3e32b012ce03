// SPDX-License-Identifier: Apache-2.0

// Package outfile is the one place where files are written.
//
// A regular file is written as a whole or not at all: a reader sees the old
// text or the new one. What is not a regular file (a device, a pipe, a socket
// in the file system) is never replaced: it is opened and written to, so that
// /dev/null stays what it is. Links are followed, and an existing file keeps
// its owner and its mode.
package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write writes a file. One that is new gets the mode perm, less the umask.
func Write(name string, data []byte, perm fs.FileMode) error {
	return With(name, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// With writes a file with what do writes. If do fails, a regular file is as
// it was.
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

// Stream opens a file that others may read while it grows, such as a capture:
// it is emptied and written in place. One that is new gets the mode 0666, less
// the umask.
func Stream(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	return f, cannot(name, err)
}

// cannot says which file could not be written, and why.
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

// file is a file that is being written: name itself, or a temporary one that
// will take its place.
type file struct {
	*os.File
	name string // to be replaced; "" if the file is written in place
}

// begin opens what is written to.
func begin(name string, perm fs.FileMode) (*file, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // the link stays
	} else if _, err := os.Lstat(name); err == nil {
		return inPlace(name, perm) // a link to what is not there yet
	}
	old, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !old.Mode().IsRegular() || links(old) > 1:
		return inPlace(name, perm)
	}
	dir, base := filepath.Split(name)
	for range 100 {
		tmp := fmt.Sprintf("%s.%s-%08x", dir, base, rand.Uint32())
		f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil && old != nil:
			return inPlace(name, perm) // a directory that takes no new files
		case err != nil:
			return nil, err
		}
		out := &file{f, name}
		if old == nil {
			return out, nil
		}
		if err := like(f, old); err != nil { // it has another owner, and would lose it
			out.discard()
			return inPlace(name, perm)
		}
		return out, nil
	}
	return nil, fmt.Errorf("no name for a temporary file in %s", dir)
}

func inPlace(name string, perm fs.FileMode) (*file, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return nil, err
	}
	return &file{File: f}, nil
}

// commit closes the file and puts it in its place.
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

// discard closes the file; nothing has happened to the old one.
func (f *file) discard() {
	f.Close()
	if f.name != "" {
		os.Remove(f.File.Name())
	}
}
