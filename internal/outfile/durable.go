// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Durable is Write for files that must survive a power failure: when it returns
// without an error, the file is on the disk under its name.
func Durable(name string, data []byte, perm fs.FileMode) error {
	f, err := begin(name, perm)
	if err != nil {
		return cannot(name, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync()); err != nil {
		f.discard()
		return cannot(name, err)
	}
	if err := f.commit(); err != nil {
		return cannot(name, err)
	}
	// The new name is part of the folder, which is a file of its own. Systems
	// where folders cannot be synced do not need it.
	if d, err := os.Open(filepath.Dir(name)); err == nil {
		d.Sync()
		d.Close()
	}
	return nil
}

// First writes a new file, and fails with fs.ErrExist if the name exists. If
// several processes call it at the same time, one succeeds. A reader sees the whole
// text, but on a file system without hard links, where the file grows under its name.
func First(name string, data []byte, perm fs.FileMode) error {
	if _, err := os.Lstat(name); err == nil {
		return cannot(name, fs.ErrExist)
	}
	f, err := hidden(name, perm)
	if err != nil {
		return cannot(name, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return cannot(name, err)
	}
	// A link is never made over an existing name.
	if err := os.Link(f.Name(), name); err == nil || errors.Is(err, fs.ErrExist) {
		return cannot(name, err)
	}
	return cannot(name, grow(name, data, perm))
}

// grow writes a new file under its name.
func grow(name string, data []byte, perm fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(name)
	}
	return err
}
