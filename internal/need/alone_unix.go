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

// held are the locks of this process.
var held = struct {
	sync.Mutex
	locks map[string]*lock
}{locks: map[string]*lock{}}

// lock is held as long as its file is open.
type lock struct {
	file  *os.File
	users int
}

// Alone waits until no other process of this user holds the lock for the same
// thing, such as names of networks or ports, and takes it until this process
// ends. It may be called again. The lock is shared by all checkouts.
func Alone(thing string) error {
	_, err := alone(thing)
	return err
}

// alone is Alone until release is called.
func alone(thing string) (release func(), err error) {
	held.Lock()
	defer held.Unlock()
	l := held.locks[thing]
	if l == nil {
		// Files of other users in the directory for temporary files cannot be opened,
		// so each user has a file of their own.
		f, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("pauseless-%s-%d.lock", thing, os.Getuid())), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			f.Close()
			return nil, err
		}
		l = &lock{file: f}
		held.locks[thing] = l
	}
	l.users++
	return func() {
		held.Lock()
		defer held.Unlock()
		if l.users--; l.users == 0 {
			l.file.Close()
			delete(held.locks, thing)
		}
	}, nil
}
