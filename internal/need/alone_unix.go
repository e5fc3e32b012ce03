// SPDX-License-Identifier: Apache-2.0

//go:build unix

package need

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// held keeps the files of Alone open until the process ends.
var held = struct {
	sync.Mutex
	files map[string]*os.File
}{files: map[string]*os.File{}}

// Alone waits until no other process of this user holds the lock for the same
// thing, such as names of networks or ports, and takes it until this process
// ends. It may be called again. The lock is shared by all checkouts.
func Alone(thing string) error {
	held.Lock()
	defer held.Unlock()
	if held.files[thing] != nil {
		return nil
	}
	// Files of other users in the directory for temporary files cannot be opened,
	// so each user has a file of their own.
	f, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("pauseless-%s-%d.lock", thing, os.Getuid())), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return err
	}
	held.files[thing] = f
	return nil
}
