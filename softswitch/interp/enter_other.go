// SPDX-License-Identifier: Apache-2.0

//go:build !(amd64 && linux)

package interp

func enter(uintptr, *Machine) int32 { panic("BUG: no program is translated for this platform") }
