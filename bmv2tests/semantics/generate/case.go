// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/pauseless/pauseless/bmv2tests/semantics/evaluator"
)

// Case is a program with entries for its tables and packets to send.
type Case struct {
	Text    string
	Entries []Entry
	Packets [][]byte
}

// Entry is an entry of the control plane.
type Entry struct {
	Table string // with its path
	evaluator.Entry
	Keys   []Key    // names and match kinds of the fields
	Params []string // names of the action's data parameters
}

// Key is a field of a key.
type Key struct {
	Name, Kind string
	Width      int
}

// Command returns the entry as a command of package stf.
func (e *Entry) Command() string {
	var b strings.Builder
	fmt.Fprintf(&b, "add %s %d", e.Table, e.Priority)
	for i, m := range e.Key {
		k := e.Keys[i]
		fmt.Fprintf(&b, " %s:", k.Name)
		switch k.Kind {
		case "exact":
			fmt.Fprintf(&b, "0x%x", m.Value)
		case "lpm":
			fmt.Fprintf(&b, "%d/%d", m.Value, prefixLength(m.Mask))
		case "ternary":
			fmt.Fprintf(&b, "0x%x&&&0x%x", m.Value, m.Mask)
		case "range":
			fmt.Fprintf(&b, "%d->%d", m.Low, m.High)
		}
	}
	b.WriteString(" " + e.Action + "(")
	for i, a := range e.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s:%d", e.Params[i], a)
	}
	return b.String() + ")"
}

func prefixLength(mask *big.Int) int {
	n := 0
	for i := range mask.BitLen() {
		n += int(mask.Bit(i))
	}
	return n
}
