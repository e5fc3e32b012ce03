// SPDX-License-Identifier: Apache-2.0

//go:build unix

package outfile

import (
	"io/fs"
	"os"
	"syscall"
)

// links returns how many names a file has.
func links(i fs.FileInfo) uint64 {
	if st, ok := i.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// like gives a new file the owner and the mode of the one it replaces.
func like(f *os.File, old fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	have, ok := now.Sys().(*syscall.Stat_t)
	want, ok2 := old.Sys().(*syscall.Stat_t)
	if ok && ok2 && (have.Uid != want.Uid || have.Gid != want.Gid) {
		if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(old.Mode().Perm())
}
