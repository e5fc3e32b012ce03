// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/pauseless/pauseless/internal/infile"
)

// hugePage is a multiple of the size of a huge page.
const hugePage = 2 << 20

var enlarged struct {
	sync.Mutex
	size int // bytes of the heap that are in huge pages once they are used
}

// enlarge has the heap of this process take its next bytes in huge pages, if the system
// gives them only to who asks (transparent_hugepage). A processor knows the addresses of
// some 2000 pages, and a packet of a large network would otherwise need several that it
// does not know. The bytes take no memory before they are used. The variables GOGC and
// GOMEMLIMIT take precedence.
func enlarge(size int) {
	enlarged.Lock()
	defer enlarged.Unlock()
	if size <= enlarged.size || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if b, err := infile.Read("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil || !strings.Contains(string(b), "[madvise]") {
		return
	}
	enlarged.size = size
	current.Lock() // no finalizer sets the percentage meanwhile
	defer current.Unlock()
	debug.SetGCPercent(-1)
	var room strings.Builder
	room.Grow(size) // unlike make it writes nothing
	room.WriteByte(0)
	advise(unsafe.StringData(room.String()), size)
	room.Reset()
	runtime.GC() // the heap has the bytes
	apply()
}

// advise asks for huge pages in a range of addresses.
func advise(first *byte, size int) {
	skip := int(-uintptr(unsafe.Pointer(first)) % hugePage)
	if n := (size - skip) / hugePage * hugePage; n > 0 {
		// If the system refuses, pages are small.
		_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(first), skip)), n), syscall.MADV_HUGEPAGE)
	}
}
