// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Durable is Write for what must not be lost: when it returns without an
// error, the file is on the disk under its name, and survives a power cut.
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
	// The new name is in the folder, which is a file of its own. Where folders
	// cannot be synced, they need not be.
	if d, err := os.Open(filepath.Dir(name)); err == nil {
		d.Sync()
		d.Close()
	}
	return nil
}

// First writes a new file, and fails with fs.ErrExist if there is one of that
// name: of several who try, one succeeds.
func First(name string, data []byte, perm fs.FileMode) error {
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
