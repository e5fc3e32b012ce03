// SPDX-License-Identifier: Apache-2.0

//go:build !(amd64 && linux)

package interp

import "unsafe"

// native is a program as instructions of the processor, of which there are none
// for this platform.
type native struct{}

func (p *Program) translate(bool) *native { return nil }

// PrintNative returns ok = false: no program is translated for this platform.
func (p *Program) PrintNative() (text string, ok bool) { return "", false }

func (m *Machine) saveNative(unsafe.Pointer) bool { return false }

func (m *Machine) restoreNative(unsafe.Pointer) bool { return false }

func (m *Machine) deparseNative(int) bool { return false }

func (m *Machine) place(int) bool { return false }

// deparser has the addresses of the code of a deparser.
type deparser struct{}

func (n *native) clearing() uintptr { return 0 }

func (n *native) arriving() uintptr { return 0 }

func (n *native) entry(int32) uintptr { return 0 }

func (n *native) deparser(int) deparser { return deparser{} }

func enter(uintptr, *Machine) int32 { panic("BUG: no program is translated for this platform") }

func (m *Machine) assist(int32) {}
