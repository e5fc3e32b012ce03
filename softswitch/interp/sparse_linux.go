// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"syscall"
	"unsafe"
)

// sparse makes memory that is all zero take none until it is written, page by page: the
// system takes its pages back, and gives pages of zeros instead when they are used. A huge
// page would be taken as a whole.
func sparse(cells []uint64) {
	page := uintptr(syscall.Getpagesize())
	first := uintptr(unsafe.Pointer(unsafe.SliceData(cells)))
	skip := (first+page-1)/page*page - first
	if size := uintptr(len(cells)) * 8; size >= skip+page {
		inner := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(cells)), skip)), (size-skip)/page*page)
		// If the system refuses, the memory is as it was.
		_ = syscall.Madvise(inner, syscall.MADV_NOHUGEPAGE)
		_ = syscall.Madvise(inner, syscall.MADV_DONTNEED)
	}
}
