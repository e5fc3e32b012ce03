// SPDX-License-Identifier: Apache-2.0

//go:build !(amd64 && linux)

package interp

import "unsafe"

func enter(uintptr, *Machine) int32 { panic("BUG: no program is translated for this platform") }

func enterWith(*byte, *Machine, unsafe.Pointer) {
	panic("BUG: no program is translated for this platform")
}
