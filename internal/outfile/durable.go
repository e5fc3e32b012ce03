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
// several processes call it at the same time, one succeeds.
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
