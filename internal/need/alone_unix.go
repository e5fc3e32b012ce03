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

// Alone waits until no other process of this user, of whatever checkout, is
// alone for the same thing: names of networks, or ports. This process is, then,
// until it ends; it may ask again.
func Alone(thing string) error {
	held.Lock()
	defer held.Unlock()
	if held.files[thing] != nil {
		return nil
	}
	// Others' files in the system's directory for temporary ones may not be
	// opened, so each user has one.
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
