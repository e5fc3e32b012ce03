// SPDX-License-Identifier: Apache-2.0

// Package interp executes BMv2 JSON. It compiles a program to the instructions of a
// small register machine, optimises them, and executes them on the slots of one packet
// at a time. On x86-64 Linux it translates them to machine code; the interpreter
// executes what has no translation. Queues, clones and ports between the pipelines belong to the
// architecture, which makes a Machine parse, run a pipeline and deparse, and
// reads the metadata.
//
// A Program is immutable code. A State is a program's state: tables, registers,
// counters, meters. A Machine executes a Program with a State.
package interp

import (
	"fmt"
	"math/big"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/table"
)

// Options of a compilation.
type Options struct {
	// Trace adds instructions that report each step to Machine.Trace. Without it
	// tracing costs nothing.
	Trace bool
	// Plain disables the optimiser, for comparison.
	Plain bool
	// Interpret leaves the program untranslated, for comparison.
	Interpret bool
	// Names keeps the names of slots and the positions of machine code, for Print and
	// PrintNative.
	Names bool
}

// Program is a compiled program.
type Program struct {
	Name string // of the P4 source

	// Declarations of the program, in the order of the file.
	Actions   []ActionInfo
	Tables    []*TableInfo
	Registers []RegisterInfo
	Counters  []CounterInfo
	mathUnits []mathUnit
	Meters    []MeterInfo
	Profiles  []ProfileInfo
	VSets     []VSetInfo
	Digests   []DigestInfo
	// Errors are the parser errors by name.
	Errors map[string]int

	code      []instr
	native    *native  // nil: code is interpreted
	names     []string // of the slots, if Options.Names
	slots     int      // all
	shared    int      // first slot that is kept while the packet is queued
	fieldsEnd int      // first slot that is not cleared for each packet
	// metadataEnd is the first slot after those of shared metadata.
	metadataEnd int
	sys         int // first of sysSlots
	params      int // first slot of the action parameters
	consts      []uint64
	constBase   int

	// Positions in code, by gress. Ingress is first. A v1model program has only the
	// first parser and the second deparser.
	parse, pipeline, finish, parseEnd [gresses]int32
	// finishes is a slot that is zero if finish[out] has nothing to do, or noValid.
	finishes slot

	fresh     []slot    // positions of the slots to clear before a packet is parsed: see cleared
	pairs     []slot    // the same as runs of two slots
	kept      keptSet   // kept while queued, whichever headers are valid
	keptOf    []keptSet // kept if a header is valid
	keptWords int       // their maximum size

	cells int // limbs of all register arrays

	headerOps   []headerOp
	stackOps    []stackOp
	extracts    []extraction
	matches     []wideMatch
	byteMatches []byteMatch
	vsetJumps   []vsetJump
	switches    []*jumpTable
	calcs       []calc
	checksums   []checksum
	messages    []message
	fieldLists  map[int]*fieldList
	deparse     [gresses][]emitted
	sets        map[string]bool // fields of the architecture that are assigned
	// Of programs compiled for tracing: all headers, and the names of keys that are fields
	// of metadata which nothing sets.
	all        []*header
	unwritten  map[string]bool
	fields     map[string]fieldAt
	errorNames map[int]string
	arch       *architecture
	guesses    []guess

	errNone, errShort, errStack, errHeader, errTimeout, errArgument, errCounter int // parser errors
}

// ActionInfo is an action of the program.
type ActionInfo struct {
	Name   string
	ID     int
	Params []ParamInfo
	slots  int // of the arguments
}

// ParamInfo is a parameter of an action.
type ParamInfo struct {
	Name  string
	Width int // bits
	slot  int // of the arguments
}

// RegisterInfo is an array of registers.
type RegisterInfo struct {
	Name  string
	Size  int
	Width int    // bits
	Table string // whose entries have the cells; "" for none
	// Initial is the initial value of every cell; nil is zero.
	Initial []uint64
	// Cell i is at State.cells[at+i*step].
	at, step int
	narrow   int // Size, or 0 if cells have several limbs
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
	// selector is the calculation that selects a group's member, or −1.
	selector int
}

// VSetInfo is a parser value set.
type VSetInfo struct {
	Name   string
	Width  int // bits of a value
	Size   int
	widths []int // of the fields of a value
}

// Widths returns the widths in bits of a value's fields, or nil if no parser
// state uses the set.
func (v *VSetInfo) Widths() []int { return v.widths }

// DigestInfo is the field list of a digest.
type DigestInfo struct {
	Name string
	ID   int
	// Widths are the widths of the fields in bits.
	Widths []int
	list   *fieldList
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
	meterSlot  int // of the meter's result; −1 if actions execute the meter
	meterMask  uint64
	// entrySlot gets the number of the applied entry plus one, or zero for the
	// default entry; −1 if nothing needs it. actionsCount is true if actions count
	// with the direct counter.
	entrySlot    int
	actionsCount bool
	number       int
	parts        []keyPart
	ranges       []table.Field
	pcs          []int32 // instructions of action i: hit 2i, miss 2i+1; last: a miss without default action
	byAction     []int32 // the same by index in Program.Actions; −1 for those of other tables
	inline       bool    // never applied: the code of its only action replaces it
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

// keyPart copies bits of a slot into the packed key.
type keyPart struct {
	slot  slot
	valid slot // the field is zero while this slot is zero; noValid: no such slot
	limb  uint8
	shift int8 // left; negative: right
	mask  uint64
}

const noValid = ^slot(0)

// fieldAt is the position of a field.
type fieldAt struct {
	slot, limbs, width int
	signed             bool
}

// fieldList is a list of fields that are copied or reported.
type fieldList struct {
	name   string
	fields []fieldAt
	bits   int
}

// The gresses: ingress and egress.
const (
	in = iota
	out
	gresses
)

// wideMatch is a transition on a key of more than 64 bits.
type wideMatch struct {
	value, mask []uint64
	to          int32
}

// byteMatch is a transition on fields of the header that was just extracted,
// compared as bytes: the eight bytes from at[i] in the header, under mask[i].
type byteMatch struct {
	at, mask, value [2]uint64 // at[0] ≤ at[1]
}

type vsetJump struct {
	vset  int
	limbs int
	to    int32
}

// jumpTable is a transition with many cases.
type jumpTable struct {
	index *table.Exact
	to    []int32
}

// message is text with values, for log_msg, assert and traces.
type message struct {
	text   string
	args   []fieldAt
	pos    string
	header *extraction // in a trace: the header that was extracted last
}

// extraction has the parameters of extracting a header.
type extraction struct {
	typ  *headerType
	name string
	base int // of the block; of the first element in a stack
	next int // slot of the stack's counter, or −1
	n    int // elements of the stack
	// stride is the distance between elements, in slots.
	stride   int
	siblings []int
	bytes    int
	varbit   bool   // a holds the length in bits
	loads    []move // fields loaded at extraction
}

// compile translates a file to the instructions of a Program for the architecture named
// in the file. The error is a diag.List with all errors.
func compile(p *bmv2json.Program, opts Options) (_ *Program, err error) {
	arch := &v1Model
	switch p.Architecture {
	case "":
	case bmv2json.TNA:
		arch = &tna
	default:
		var list diag.List
		list.Errorf(p.Pos, CodeProgram, "the program is for architecture %q, expected %q or none, for v1model", p.Architecture, bmv2json.TNA)
		return nil, list.Err()
	}
	c := &compiler{
		json: p, arch: arch, opts: opts,
		draft: draft{prog: &Program{Name: p.Program, Errors: map[string]int{}, errorNames: map[int]string{}, fieldLists: map[int]*fieldList{},
			fields: map[string]fieldAt{}, unwritten: map[string]bool{}, sets: map[string]bool{}, arch: arch, finishes: noValid}},
		headers: map[string]*header{}, stacks: map[string]*stack{}, unions: map[string]*union{}, unionStacks: map[string]*unionStack{},
		aliases: map[string]bmv2json.FieldRef{}, actions: map[int]*action{}, usedActions: map[int]use{},
		registers: map[string]int{}, counters: map[string]int{}, meters: map[string]int{}, calcs: map[string]int{}, calcsNamed: map[string][]*bmv2json.Calculation{}, usedCalcs: map[string]bool{}, vsets: map[string]int{},
		profiles: map[string]int{}, tables: map[string]int{}, consts: map[string]int{},
	}
	defer func() {
		if r := recover(); r == (enough{}) {
			err = c.list.Err()
		} else if r != nil {
			panic(r)
		}
	}()
	c.version()
	c.declare()
	if c.list.HasErrors() {
		return nil, c.list.Err()
	}
	c.declareObjects()
	c.findUses()
	if c.list.HasErrors() {
		return nil, c.list.Err()
	}
	c.allocate()
	c.archFields()
	c.genCalculations()
	c.genFieldLists()
	c.genParsers()
	c.genPipelines()
	c.genDeparsers()
	if c.list.HasErrors() {
		return nil, c.list.Err()
	}
	if opts.Trace {
		for _, h := range c.order {
			if h.slots == nil {
				c.prog.all = append(c.prog.all, h)
			}
		}
	}
	if opts.Plain || opts.Trace {
		keepAll(&c.draft)
	} else {
		optimise(&c.draft)
	}
	c.finish()
	c.guessKeys()
	if opts.Names {
		c.nameSlots()
	}
	if err := c.list.Err(); err != nil {
		return nil, err
	}
	if !opts.Plain && !opts.Trace {
		fuse(c.prog)
	}
	c.prog.check()
	return c.prog, nil
}

// version rejects files of another major version, like BMv2.
func (c *compiler) version() {
	if v := c.json.Meta.Version; len(v) > 0 && v[0] != 2 {
		c.errorf(c.json.Pos, "the file has version %d of the format, expected 2", v[0])
	}
}

// coreErrors are the errors of core.p4. BMv2 has them even if the file does not
// list them.
var coreErrors = []string{"NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserTimeout", "ParserInvalidArgument"}

// declareObjects reads the declarations of actions, arrays and errors.
func (c *compiler) declareObjects() {
	p, prog := c.json, c.prog
	once := func(m map[string]int, kind, name string, pos diag.Pos, n int) {
		if _, ok := m[name]; ok {
			c.errorf(pos, "%s %s is declared twice", kind, name)
		}
		m[name] = n
	}
	used := map[int]bool{}
	for _, e := range p.Errors {
		prog.Errors[e.Name] = e.Value
		prog.errorNames[e.Value] = e.Name
		used[e.Value] = true
	}
	for _, name := range coreErrors {
		if _, ok := prog.Errors[name]; !ok {
			v := 0
			for used[v] {
				v++
			}
			used[v] = true
			prog.Errors[name], prog.errorNames[v] = v, name
		}
	}
	prog.errNone, prog.errShort, prog.errStack = prog.Errors["NoError"], prog.Errors["PacketTooShort"], prog.Errors["StackOutOfBounds"]
	prog.errHeader, prog.errTimeout, prog.errArgument = prog.Errors["HeaderTooShort"], prog.Errors["ParserTimeout"], prog.Errors["ParserInvalidArgument"]
	prog.errCounter = prog.Errors["CounterRange"] // of TNA
	for _, r := range p.RegisterArrays {
		once(c.registers, "register array", r.Name, r.Pos, len(prog.Registers))
		if r.Size < 0 || r.Width < 0 || r.Width > 1<<16 || r.Size > maxCells/max(1, (r.Width+63)/64) {
			c.errorf(r.Pos, "register array %s has %d cells of %d bits; it may have %d cells of 64", r.Name, r.Size, r.Width, maxCells)
			continue
		}
		info := RegisterInfo{Name: r.Name, Size: r.Size, Width: r.Width, Table: r.Binding}
		if r.Initial != "" {
			v := c.hex(r.Initial, r.Pos)
			if v.Sign() < 0 || v.BitLen() > r.Width {
				c.errorf(r.Pos, "register array %s starts with %s, which does not fit its %d bits", r.Name, r.Initial, r.Width)
				continue
			}
			info.Initial = limbsOfBig(v, limbsOf(r.Width))
		}
		prog.Registers = append(prog.Registers, info)
	}
	prog.placeRegisters()
	for _, k := range p.CounterArrays {
		once(c.counters, "counter array", k.Name, k.Pos, len(prog.Counters))
		if k.Size < 0 || k.Size > maxCells {
			c.errorf(k.Pos, "counter array %s has %d cells; it may have %d", k.Name, k.Size, maxCells)
			continue
		}
		prog.Counters = append(prog.Counters, CounterInfo{k.Name, k.Size, k.IsDirect, k.Binding})
	}
	for _, m := range p.MeterArrays {
		once(c.meters, "meter array", m.Name, m.Pos, len(prog.Meters))
		if m.Size < 0 || m.Size > maxCells/8 {
			c.errorf(m.Pos, "meter array %s has %d cells; it may have %d", m.Name, m.Size, maxCells/8)
			continue
		}
		if m.Type != "bytes" && m.Type != "packets" {
			c.errorf(m.Pos, "meter array %s counts %q, expected bytes or packets", m.Name, m.Type)
		}
		prog.Meters = append(prog.Meters, MeterInfo{m.Name, m.Size, m.Type == "bytes", m.IsDirect, m.Binding})
	}
	for i, k := range p.Calculations {
		once(c.calcs, "calculation", k.Name, k.Pos, i)
	}
	for i, v := range p.ParseVSets {
		once(c.vsets, "parse value set", v.Name, v.Pos, i)
		if v.Width < 1 || v.Width > 1<<14 {
			c.errorf(v.Pos, "parse value set %s has values of %d bits", v.Name, v.Width)
		}
		prog.VSets = append(prog.VSets, VSetInfo{Name: v.Name, Width: v.Width, Size: v.MaxSize})
	}
	for _, a := range p.Actions {
		if c.actions[a.ID] != nil {
			c.errorf(a.Pos, "action id %d is given twice", a.ID)
		}
		act := &action{json: a}
		info := ActionInfo{Name: a.Name, ID: a.ID}
		for _, r := range a.RuntimeData {
			if r.Width < 0 || r.Width > 1<<14 {
				c.errorf(a.Pos, "parameter %s of action %s has %d bits", r.Name, a.Name, r.Width)
				continue
			}
			act.params = append(act.params, param{r.Name, act.slots, r.Width})
			info.Params = append(info.Params, ParamInfo{r.Name, r.Width, act.slots})
			act.slots += (max(1, r.Width) + 63) / 64
		}
		for _, prim := range a.Primitives {
			act.exits = act.exits || prim.Op == "exit"
		}
		info.slots = act.slots
		c.paramSlots = max(c.paramSlots, act.slots)
		c.actions[a.ID] = act
		c.actionNumbers = append(c.actionNumbers, a.ID)
		prog.Actions = append(prog.Actions, info)
	}
}

// maxCells limits an array, because a file could otherwise exhaust memory.
const maxCells = 1 << 26

// archFields finds the fields that the architecture uses.
func (c *compiler) archFields() {
	for name := range c.arch.fields {
		if h, i, ok := c.lookupField(name); ok {
			f := h.typ.fields[i]
			if at := h.field(i); at != noSlot {
				c.prog.fields[name] = fieldAt{at, limbsOf(f.width), f.width, f.signed}
			}
			if h.slots != nil && h.use[i]&useWrite != 0 {
				c.prog.sets[name] = true
			}
		}
	}
}

// Sets reports whether the program assigns a field that the architecture reads.
func (p *Program) Sets(name string) bool { return p.sets[name] }

// Architecture returns bmv2json.TNA, or "" for v1model.
func (p *Program) Architecture() string { return p.arch.name }

// ErrorName returns the name of a parser error.
func (p *Program) ErrorName(code int) string { return p.errorNames[code] }

func argsOf(params []param, args []*big.Int) []uint64 {
	var data []uint64
	for i, p := range params {
		n := limbsOf(p.width)
		x := new(big.Int).And(args[i], new(big.Int).Sub(pow2(p.width), bigOne))
		for range n {
			data = append(data, low(x))
			x.Rsh(x, 64)
		}
	}
	return data
}

func limbsOf(width int) int { return max(1, (width+63)/64) }

// Stats describes the compiled program in one line.
func (p *Program) Stats() string {
	kept := p.kept.slots()
	for i := range p.keptOf {
		kept += p.keptOf[i].slots()
	}
	return fmt.Sprintf("%d instructions, %d slots of which %d are kept in a queue, in up to %d bytes, %d tables",
		len(p.code), p.slots, kept, 8*p.keptWords, len(p.Tables))
}
