// SPDX-License-Identifier: Apache-2.0

// Package cache prefetches memory into the processor's cache. Unlike a load, a
// prefetch stalls nothing: a load that waits for memory keeps later instructions
// from retiring, of which a processor has a few hundred in flight.
package cache

import "unsafe"

// line is the size of a cache line.
const line = 64

// Struct prefetches what p points to.
func Struct[T any](p *T) { Lines(unsafe.Pointer(p), int((unsafe.Sizeof(*p)+line-1)/line)) }

// Slice prefetches the elements of s.
func Slice[T any](s []T) {
	Lines(unsafe.Pointer(unsafe.SliceData(s)), (len(s)*int(unsafe.Sizeof(*new(T)))+line-1)/line)
}
