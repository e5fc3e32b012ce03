// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"testing"
	"unsafe"

	"github.com/pauseless/pauseless/internal/cache"
)

// All functions accept unmapped addresses and change nothing.
func TestFetch(t *testing.T) {
	b := []byte("as it was")
	cache.Fetch(unsafe.Pointer(&b[0]), nil)
	cache.Fetch(nil, unsafe.Pointer(&b[0]))
	cache.Lines(nil, 3)
	cache.Lines(unsafe.Pointer(&b[0]), 0)
	cache.Struct(&b)
	cache.Struct[[]byte](nil)
	cache.Slice(b)
	cache.Slice[[]byte](nil)
	if string(b) != "as it was" {
		t.Errorf("fetching changed memory to %q", b)
	}
}
