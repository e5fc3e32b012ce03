// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 && !arm64

package cache

import "unsafe"

// Fetch does nothing on this processor.
func Fetch(_, _ unsafe.Pointer) {}

// Lines does nothing on this processor.
func Lines(_ unsafe.Pointer, _ int) {}
