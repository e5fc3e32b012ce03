// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"runtime/debug"
	"testing"
)

func TestHeapIsEnlargedOnce(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	mapped := func() uint64 {
		return read("/memory/classes/heap/free:bytes") + read("/memory/classes/heap/released:bytes")
	}
	was := mapped()
	const size = 128 << 20
	enlarge(size)
	if enlarged.size < size {
		t.Skip("SKIP: the system gives huge pages to all processes or to none")
	}
	if grown := mapped() - was; grown < size/2 {
		t.Errorf("the heap has %d bytes more, want %d", grown, size)
	}
	was = mapped()
	enlarge(size)
	if grown := int64(mapped() - was); grown > size/2 {
		t.Errorf("the heap has %d bytes more for a second network of the same size", grown)
	}
	if debug.SetGCPercent(100) < 0 {
		t.Error("no garbage is collected from now on")
	}
}

func TestGOGCAndGOMEMLIMITLeaveTheHeapAlone(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv("GOGC", "")
		t.Setenv("GOMEMLIMIT", "")
		t.Setenv(name, "100")
		was := enlarged.size
		if enlarge(was + 64<<20); enlarged.size != was {
			t.Errorf("%s does not take precedence", name)
		}
	}
}
