// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"fmt"

	"github.com/pauseless/pauseless/softswitch/table"
)

// Program is a compiled program.
type Program struct {
	Name string // of the P4 source

	// Declarations of the program, in the order of the file.
	Actions   []ActionInfo
	Tables    []*TableInfo
	Registers []RegisterInfo
	Counters  []CounterInfo
	MathUnits []MathUnit
	Meters    []MeterInfo
	Profiles  []ProfileInfo
	VSets     []VSetInfo
	Digests   []DigestInfo
	// Errors are the parser errors by name.
	Errors map[string]int

	Code      []Instr
	Native    *Native  // nil: code is interpreted
	Names     []string // of the slots, if Options.Names
	Slots     int      // all
	Shared    int      // first slot that is kept while the packet is queued
	FieldsEnd int      // first slot that is not cleared for each packet
	// MetadataEnd is the first slot after those of shared metadata.
	MetadataEnd int
	Sys         int // first of SysSlots
	Params      int // first slot of the action parameters
	Consts      []uint64
	ConstBase   int

	// Positions in code, by gress. Ingress is first. A v1model program has only the
	// first parser and the second deparser.
	Parse, Pipeline, Finish, ParseEnd [Gresses]int32
	// Finishes is a slot that is zero if Finish[Out] has nothing to do, or NoValid.
	Finishes Slot

	Fresh     []Slot    // positions of the slots to clear before a packet is parsed: see Cleared
	Pairs     []Slot    // the same as runs of two slots
	Kept      KeptSet   // kept while queued, whichever headers are valid
	KeptOf    []KeptSet // kept if a header is valid
	KeptWords int       // their maximum size

	Cells int // limbs of all register arrays

	HeaderOps   []HeaderOp
	StackOps    []StackOp
	Extracts    []Extraction
	Matches     []WideMatch
	ByteMatches []ByteMatch
	VSetJumps   []VSetJump
	Switches    []*JumpTable
	Calcs       []Calc
	Checksums   []Checksum
	Messages    []Message
	FieldLists  map[int]*FieldList
	Deparse     [Gresses][]Emitted
	Assigned    map[string]bool // fields of the architecture that are assigned
	// Of programs compiled for tracing: all headers, and for tables and names of keys that are
	// fields of metadata without a value the reason for this.
	All        []*Header
	Unwritten  map[[2]string]string
	Fields     map[string]FieldAt
	ErrorNames map[int]string
	Arch       *Architecture
	Guesses    []Guess

	ErrNone, ErrShort, ErrStack, ErrHeader, ErrTimeout, ErrArgument, ErrCounter int // parser errors
}

// ActionInfo is an action of the program.
type ActionInfo struct {
	Name   string
	ID     int
	Params []ParamInfo
	Slots  int // of the stages: of the arguments
}

// ParamInfo is a parameter of an action.
type ParamInfo struct {
	Name  string
	Width int // bits
	Slot  int // of the stages: among the arguments
}

// RegisterInfo is an array of registers.
type RegisterInfo struct {
	Name  string
	Size  int
	Width int    // bits
	Table string // whose entries have the cells; "" for none
	// Initial is the initial value of every cell; nil is zero.
	Initial []uint64
	// Of the stages: cell i is at State.cells[At+i*Step].
	At, Step int
	Narrow   int // Size, or 0 if cells have several limbs
}

// CounterInfo is an array of counters or, if direct, the counters of a table's
// entries.
type CounterInfo struct {
	Name   string
	Size   int
	Direct bool
	Table  string // of a direct counter
}

// MeterInfo is an array of meters or, if direct, the meters of a table's
// entries.
type MeterInfo struct {
	Name   string
	Size   int
	Bytes  bool // bytes are metered, otherwise packets
	Direct bool
	Table  string // of a direct meter
}

// ProfileInfo is an action profile.
type ProfileInfo struct {
	Name    string
	Size    int
	Actions []int // indices in Program.Actions
	// Of the stages: Selector is the calculation that selects a group's member, or −1.
	Selector int
}

// VSetInfo is a parser value set.
type VSetInfo struct {
	Name        string
	Width       int // bits of a value
	Size        int
	FieldWidths []int // of the stages: see Widths
}

// Widths returns the widths in bits of a value's fields, or nil if no parser
// state uses the set.
func (v *VSetInfo) Widths() []int { return v.FieldWidths }

// DigestInfo is the field list of a digest.
type DigestInfo struct {
	Name string
	ID   int
	// Widths are the widths of the fields in bits.
	Widths []int
	List   *FieldList // of the stages
}

// TableInfo is a match-action table.
type TableInfo struct {
	Name string
	ID   int
	// Kind is the match kind of the table: exact, lpm, ternary or range.
	Kind    string
	Key     []KeyInfo
	Width   int // bits of the packed key
	Size    int
	Actions []int // indices in Program.Actions
	// Profile is the index of the action profile, or −1.
	Profile int
	// Default is the program's default entry. Its action is −1 if there is none.
	Default DefaultInfo
	// Entries are the program's constant entries. A table with constant entries
	// accepts no others.
	Entries    []ConstEntry
	HasEntries bool
	Counters   bool
	Timeout    bool
	Meter      int // index of the direct meter, or −1

	// Of the stages.
	MeterSlot int // of the meter's result; −1 if actions execute the meter
	MeterMask uint64
	// EntrySlot gets the number of the applied entry plus one, or zero for the
	// default entry; −1 if nothing needs it. ActionsCount is true if actions count
	// with the direct counter.
	EntrySlot    int
	ActionsCount bool
	Number       int
	Parts        []KeyPart
	Ranges       []table.Field
	PCs          []int32 // instructions of action i: hit 2i, miss 2i+1; last: a miss without default action
	ByAction     []int32 // the same by index in Program.Actions; −1 for those of other tables
	Inline       bool    // never applied: the code of its only action replaces it
}

// KeyInfo is a field of a table's key.
type KeyInfo struct {
	Name  string
	Kind  string // exact, lpm, ternary, range or valid
	Width int
	Bit   int // offset of its lowest bit in the packed key
}

// DefaultInfo is a default entry.
type DefaultInfo struct {
	Action     int // index in Program.Actions, or −1
	Args       []uint64
	ConstEntry bool // the action and its arguments cannot be changed
}

// ConstEntry is an entry in the program.
type ConstEntry struct {
	Match  table.Match
	Action int
	Args   []uint64
	// Const is true for an entry that the control plane cannot change in a table
	// that it can change.
	Const bool
}

// KeyPart copies bits of a slot into the packed key.
type KeyPart struct {
	Slot  Slot
	Valid Slot // the field is zero while this slot is zero; NoValid: no such slot
	Limb  uint8
	Shift int8 // left; negative: right
	Mask  uint64
}

// NoValid is no slot with a validity.
const NoValid = ^Slot(0)

// FieldAt is the position of a field.
type FieldAt struct {
	Slot, Limbs, Width int
	Signed             bool
}

// FieldList is a list of fields that are copied or reported.
type FieldList struct {
	Name   string
	Fields []FieldAt
	Bits   int
}

// The gresses: ingress and egress.
const (
	In = iota
	Out
	Gresses
)

// WideMatch is a transition on a key of more than 64 bits.
type WideMatch struct {
	Value, Mask []uint64
	To          int32
}

// ByteMatch is a transition on fields of the header that was just extracted,
// compared as bytes: the eight bytes from At[i] in the header, under Mask[i].
type ByteMatch struct {
	At, Mask, Value [2]uint64 // At[0] ≤ At[1]
}

// VSetJump is a transition on a key that is in a value set.
type VSetJump struct {
	VSet  int
	Limbs int
	To    int32
}

// JumpTable is a transition with many cases.
type JumpTable struct {
	Index *table.Exact
	To    []int32
}

// Message is text with values, for log_msg, assert and traces.
type Message struct {
	Text   string
	Args   []FieldAt
	Name   string // in a trace: of the field whose value is shown
	Pos    string
	Header *Extraction // in a trace: the header that was extracted last
	// Invalid, if set, is a header: the line of the trace is written if it is not valid.
	Invalid *Header
}

// Extraction has the parameters of extracting a header.
type Extraction struct {
	Type *HeaderType
	Name string
	Base int // of the block; of the first element in a stack
	Next int // slot of the stack's counter, or −1
	N    int // elements of the stack
	// Stride is the distance between elements, in slots.
	Stride   int
	Siblings []int
	Bytes    int
	Varbit   bool   // A holds the length in bits
	Loads    []Move // fields loaded at extraction
}

// LimbsOf returns how many slots a field of width bits takes.
func LimbsOf(width int) int { return max(1, (width+63)/64) }

// Stats describes the compiled program in one line.
func (p *Program) Stats() string {
	kept := p.Kept.Slots()
	for i := range p.KeptOf {
		kept += p.KeptOf[i].Slots()
	}
	return fmt.Sprintf("%d instructions, %d slots of which %d are kept in a queue, in up to %d bytes, %d tables",
		len(p.Code), p.Slots, kept, 8*p.KeptWords, len(p.Tables))
}

// ArchField is a field that the architecture uses.
type ArchField struct {
	Slot int
	Max  uint64 // greatest value
}

// Field returns a field by BMv2's name. ok is false if the program does not
// have or use the field, which is then always zero.
func (p *Program) Field(name string) (ArchField, bool) {
	if f, ok := p.Fields[name]; ok && f.Limbs == 1 {
		return ArchField{f.Slot, MaskOf(f.Width)}, true
	}
	return ArchField{Slot: p.Slots}, false
}

// ArrivalFields are the fields of the program that Arrive's code sets from an arrival,
// and egress_spec, which says whether ingress drops the packet.
type ArrivalFields struct{ Length, Port, Time, EgressSpec ArchField }

// ArrivalFields returns the program's.
func (p *Program) ArrivalFields() (a ArrivalFields) {
	a.Length, _ = p.Field("standard_metadata.packet_length")
	a.Port, _ = p.Field("standard_metadata.ingress_port")
	a.Time, _ = p.Field("intrinsic_metadata.ingress_global_timestamp")
	a.EgressSpec, _ = p.Field(V1Model.EgressSpec)
	return a
}
