// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cache

import "unsafe"

// Fetch prefetches two cache lines from a on, and two from b on. Addresses that
// are not mapped are ignored.
//
//go:noescape
func Fetch(a, b unsafe.Pointer)

// Lines prefetches n cache lines from p on, at least one.
//
//go:noescape
func Lines(p unsafe.Pointer, n int)
