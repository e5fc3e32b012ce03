// SPDX-License-Identifier: Apache-2.0

//go:build linux

package interp

// enter executes code from an address to its next return.
//
//go:noescape
func enter(code uintptr, m *Machine) int32
