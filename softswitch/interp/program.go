// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"unsafe"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/interp/internal/compile"
	"github.com/pauseless/pauseless/softswitch/interp/internal/native"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// Program is a compiled program. It is immutable.
type Program struct {
	Name string // of the P4 source

	// Declarations of the program, in the order of the file.
	Actions   []ActionInfo
	Tables    []*TableInfo
	Registers []RegisterInfo
	Counters  []CounterInfo
	Meters    []MeterInfo
	Profiles  []ProfileInfo
	VSets     []VSetInfo
	Digests   []DigestInfo
	// Errors are the parser errors by name.
	Errors map[string]int

	code *ops.Program
}

// Options of a compilation.
type Options = compile.Options

// The declarations of a program, and the match of an entry. Of their fields, those from
// "Of the stages" on are for the packages below this one.
type (
	ActionInfo   = ops.ActionInfo
	ParamInfo    = ops.ParamInfo // of an action
	RegisterInfo = ops.RegisterInfo
	CounterInfo  = ops.CounterInfo
	MeterInfo    = ops.MeterInfo
	ProfileInfo  = ops.ProfileInfo // an action profile
	VSetInfo     = ops.VSetInfo    // a parser value set
	DigestInfo   = ops.DigestInfo
	TableInfo    = ops.TableInfo
	KeyInfo      = ops.KeyInfo     // a field of a table's key
	DefaultInfo  = ops.DefaultInfo // a table's default entry
	ConstEntry   = ops.ConstEntry  // an entry in the program
	FieldMatch   = ops.FieldMatch  // what an entry matches in a field of the key
)

// Compile translates a file to a Program for the architecture named in the
// file. The error is a diag.List with all errors.
func Compile(p *bmv2json.Program, opts Options) (*Program, error) {
	code, err := compile.Compile(p, opts)
	if err != nil {
		return nil, err
	}
	if !opts.Plain && !opts.Trace && !opts.Interpret {
		code.Native = native.Translate(code, &fromCode, opts.Names)
	}
	return programOf(code), nil
}

// programOf returns code as a Program.
func programOf(code *ops.Program) *Program {
	return &Program{Name: code.Name, Actions: code.Actions, Tables: code.Tables, Registers: code.Registers, Counters: code.Counters, Meters: code.Meters,
		Profiles: code.Profiles, VSets: code.VSets, Digests: code.Digests, Errors: code.Errors, code: code}
}

// Print returns the program's instructions as text, one per line, under headings that
// say from where they are reached: parsers, pipelines, the start of deparsers, and the
// actions of tables. ">" marks the target of a jump. Slots have the names of their fields
// if the program was compiled with Options.Names; a field of several limbs has their
// numbers behind its name, and t0, t1, … are temporaries.
func (p *Program) Print() string { return p.code.Print() }

// PrintNative returns the program's machine code in Intel's syntax, under the
// instructions of Print from which it was made, and behind them the code that belongs to
// no single one. Numbers in brackets are offsets in the code, other brackets memory: a
// slot by its name, a field of the Machine, or an address in registers. Addresses of Go's
// memory, which differ from run to run, are written as "memory". The program must have
// been compiled with Options.Names. ok is false where the system does not let a process
// make code executable.
func (p *Program) PrintNative() (text string, ok bool) { return native.Print(p.code, &fromCode) }

// Field is a field that the architecture uses.
type Field = ops.ArchField

// Field returns a field by BMv2's name. ok is false if the program does not
// have or use the field, which is then always zero.
func (p *Program) Field(name string) (Field, bool) { return p.code.Field(name) }

// Sets reports whether the program assigns a field that the architecture reads.
func (p *Program) Sets(name string) bool { return p.code.Assigned[name] }

// Architecture returns bmv2json.TNA, or "" for v1model.
func (p *Program) Architecture() string { return p.code.Arch.Name }

// ErrorName returns the name of a parser error.
func (p *Program) ErrorName(code int) string { return p.code.ErrorNames[code] }

// Stats describes the compiled program in one line.
func (p *Program) Stats() string { return p.code.Stats() }

// PackArgs packs arguments, little-endian limbs each, for Insert and
// SetDefault.
func (p *Program) PackArgs(action int, args [][]uint64) []uint64 {
	a := &p.Actions[action]
	data := make([]uint64, a.Slots)
	for i, param := range a.Params {
		copy(data[param.Slot:param.Slot+ops.LimbsOf(param.Width)], args[i])
	}
	return data
}

// UnpackArgs is the inverse of PackArgs.
func (p *Program) UnpackArgs(action int, data []uint64) [][]uint64 {
	a := &p.Actions[action]
	args := make([][]uint64, len(a.Params))
	for i, param := range a.Params {
		args[i] = data[param.Slot : param.Slot+ops.LimbsOf(param.Width)]
	}
	return args
}

// StateBytes returns the memory size of a program's arrays in bytes. It
// allocates nothing.
func (p *Program) StateBytes() int64 {
	n := 8 * int64(p.code.Cells)
	for i := range p.Counters {
		if !p.Counters[i].Direct {
			n += int64(p.Counters[i].Size) * int64(unsafe.Sizeof(Counter{}))
		}
	}
	for i := range p.Meters {
		if !p.Meters[i].Direct {
			n += int64(p.Meters[i].Size) * int64(unsafe.Sizeof(Meter{}))
		}
	}
	return n
}
