// SPDX-License-Identifier: Apache-2.0

//go:build linux

package interp

import "unsafe"

// enter executes code from an address to its next return.
//
//go:noescape
func enter(code uintptr, m *Machine) int32

// enterWith executes code that has an address in a register.
//
//go:noescape
func enterWith(code *byte, m *Machine, p unsafe.Pointer)
