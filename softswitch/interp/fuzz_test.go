// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// FuzzProgram loads any file. If it is a program, it runs packets. Neither may
// crash the switch.
func FuzzProgram(f *testing.F) {
	f.Add([]byte(whole), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	l := newLab(bmv2json.HeaderField{Name: "x", Width: 72, Signed: true}, bmv2json.HeaderField{Name: "y", Width: 8, Saturating: true})
	l.do("assign", bmv2json.Field("h", "x"), bmv2json.Wrap(bmv2json.Expr("<<", bmv2json.Field("h", "y"), bmv2json.Field("h", "y"))))
	l.do("_jump_if_zero", bmv2json.Field("h", "y"), hexOf(3))
	l.do("_jump", hexOf(3))
	f.Add(bmv2json.Encode(l.json), []byte{255, 0, 1})
	f.Fuzz(func(t *testing.T, file, data []byte) {
		p, err := bmv2json.Decode("f.json", file)
		if err != nil {
			return
		}
		prog, err := Compile(p, Options{})
		if (prog == nil) == (err == nil) {
			t.Fatalf("Compile returned %v, %v", prog, err)
		}
		if err != nil || cells(prog) > 1<<16 {
			return // large arrays are slow to allocate, not wrong
		}
		plain, err := Compile(p, Options{Plain: true})
		if err != nil {
			t.Fatalf("without the optimiser: %v", err)
		}
		interpreted, err := Compile(p, Options{Interpret: true})
		if err != nil {
			t.Fatalf("without translation: %v", err)
		}
		want := runFuzzed(plain, data, saved)
		for _, way := range []way{saved, held, chained} {
			if got := runFuzzed(interpreted, data, way); got != want {
				t.Fatalf("with the optimiser, %s\n%s\nwithout\n%s", way, got, want)
			}
			if got := runFuzzed(prog, data, way); got != want {
				t.Fatalf("translated, %s\n%s\nwithout\n%s", way, got, want)
			}
		}
	})
}

// way is how packets pass from phase to phase.
type way string

const (
	saved   way = "each phase for itself, and packets are saved between ingress and egress"
	held    way = "each phase for itself, and the state stays in the machine"
	chained way = "by Arrive and Depart"
)

// runFuzzed runs packets and returns everything observable.
func runFuzzed(prog *Program, data []byte, how way) string {
	var seen strings.Builder
	m := NewMachine(NewState(prog, 1))
	m.DropPort = 1
	parserError, _ := prog.Field("standard_metadata.parser_error")
	checksumError, _ := prog.Field("standard_metadata.checksum_error")
	for i := range prog.code.Guesses {
		prog.code.Guesses[i].Key(data)
	}
	for _, elided := range []int{0, 100} {
		frame := &packet.Frame{Data: append([]byte(nil), data...), Elided: int32(elided)}
		const port, time = 3, 1 << 20
		if how == chained && prog.code.Arch != &ops.TNA {
			if !m.Arrive(frame, frame.Len(), port, time) {
				m.Set(parserError, uint64(m.Ask.ParserError))
				m.Set(checksumError, bit(m.Ask.ChecksumError))
				m.Ingress()
			}
		} else {
			m.Start(frame, frame.Len())
			m.Set(m.arrives.Length, uint64(frame.Len()))
			m.Set(m.arrives.Port, port)
			m.Set(m.arrives.Time, time)
			m.Parse()
			m.Set(parserError, uint64(m.Ask.ParserError))
			m.Set(checksumError, bit(m.Ask.ChecksumError))
			m.Ingress()
		}
		fmt.Fprintf(&seen, "%+v, %d bytes\n", m.Ask, m.Length())
		if prog.code.Arch == &ops.TNA {
			m.DeparseIn()
			m.EmitIn()
			m.Start(frame, frame.Len())
			m.ParseOut()
			m.Egress()
			m.DeparseOut()
			m.EmitOut()
		} else {
			var state Saved
			if how == saved {
				state = m.Save(nil)
				m.Resume(frame, state)
			} else {
				m.Continue()
			}
			finished := false
			if how == chained {
				finished = m.Depart()
			} else {
				m.Egress()
			}
			if m.Ask.Clone { // the copy goes through egress, too
				whole := m.SaveAll(nil)
				m.ResetMetadata()
				state = m.Save(state)
				copied := &packet.Frame{Data: append([]byte(nil), frame.Data...), Elided: frame.Elided}
				m.Resume(copied, state)
				m.Egress()
				m.Finish()
				fmt.Fprintf(&seen, "%x +%d\n", copied.Data, copied.Elided)
				m.ResumeAll(frame, whole)
			}
			if !finished {
				m.Finish()
			} else if m.Get(m.arrives.EgressSpec) == m.DropPort || m.Ask.Any {
				seen.WriteString("Depart has finished a packet that egress drops, or that Go has requests of\n")
			}
		}
		fmt.Fprintf(&seen, "%+v\n%x +%d\n", m.Ask, frame.Data, frame.Elided)
	}
	fmt.Fprintln(&seen, m.state.cells)
	for _, c := range m.state.Counters {
		fmt.Fprintln(&seen, c.Cells)
	}
	return seen.String()
}

// cells returns the size of a program's state.
func cells(p *Program) int {
	n := 0
	for _, r := range p.Registers {
		n += r.Size * ops.LimbsOf(r.Width)
	}
	for _, k := range p.Counters {
		n += 2 * k.Size
	}
	for _, m := range p.Meters {
		n += 20 * m.Size
	}
	return n
}

// Errors that FuzzProgram found.
func TestProgramsThatFuzzingFound(t *testing.T) {
	// A comparison of more than 64 bits whose result went to the last slot read
	// beyond all slots.
	l := newLab(bmv2json.HeaderField{Name: "x", Width: 128}, bmv2json.HeaderField{Name: "y", Width: 8})
	l.do("assign", bmv2json.Field("h", "y"), bmv2json.Wrap(bmv2json.Expr("b2d", nil, bmv2json.Expr("d2b", nil, bmv2json.Field("h", "x")))))
	m := l.machine(t)
	for x, want := range map[byte]byte{0: 0, 1: 1} {
		if got := pass(m, append([]byte{x}, make([]byte, 16)...)); got[16] != want {
			t.Errorf("with %d: %d, want %d", x, got[16], want)
		}
	}
	// The field of a calculation that nothing uses had no slot, and Compile panicked.
	l = newLab(bmv2json.HeaderField{Name: "x", Width: 8}, bmv2json.HeaderField{Name: "y", Width: 8})
	l.json.Calculations = []*bmv2json.Calculation{{Name: "unused", Algo: "csum16", Input: []*bmv2json.Value{bmv2json.Field("h", "y")}}}
	pass(l.machine(t), []byte{1, 2})
}
