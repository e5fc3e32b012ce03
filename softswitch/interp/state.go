// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"github.com/pauseless/pauseless/softswitch/table"
)

// State is the state of a program between packets, which the control plane
// reads and writes. Only one goroutine may use it at a time.
type State struct {
	Program   *Program
	Registers []*Register
	Counters  []CounterArray
	Meters    []MeterArray
	Tables    []*Table
	Profiles  []*Profile
	VSets     []*VSet
	cells     []uint64 // of Registers
	tables    []Table  // Tables
	memos     []ops.HashMemo
	rng       ops.Generator
}

// NewState returns the initial state of a program. seed initialises its random
// numbers.
func NewState(p *Program, seed uint64) *State {
	return newState(p, seed, make([]uint64, p.code.Cells))
}

// NewSparseState is NewState for many switches in a process, most of which use few of
// their registers: on Linux, registers take memory when they are first written, in pages of
// the system, which need more of the processor's translation entries than huge pages.
func NewSparseState(p *Program, seed uint64) *State {
	cells := make([]uint64, p.code.Cells)
	sparse(cells)
	return newState(p, seed, cells)
}

func newState(p *Program, seed uint64, cells []uint64) *State {
	s := &State{Program: p, rng: ops.Generator{State: seed}, cells: cells}
	for i := range p.Registers {
		r := &Register{Info: &p.Registers[i], cells: s.cells}
		if r.Info.Initial != nil {
			r.Reset()
		}
		s.Registers = append(s.Registers, r)
	}
	for i := range p.Counters {
		k := CounterArray{Info: &p.Counters[i]}
		if !k.Info.Direct {
			k.Cells = make([]Counter, k.Info.Size)
		}
		s.Counters = append(s.Counters, k)
	}
	for i := range p.Meters {
		m := MeterArray{Info: &p.Meters[i]}
		if !m.Info.Direct {
			m.Cells = make([]Meter, m.Info.Size)
		}
		s.Meters = append(s.Meters, m)
	}
	for i := range p.Profiles {
		s.Profiles = append(s.Profiles, newProfile(&p.Profiles[i]))
	}
	for i := range p.VSets {
		v := &VSet{Info: &p.VSets[i]}
		v.Set(nil)
		s.VSets = append(s.VSets, v)
	}
	s.tables = make([]Table, len(p.Tables))
	for i, t := range p.Tables {
		s.tables[i].init(p.code, t)
		s.Tables = append(s.Tables, &s.tables[i])
	}
	s.bindDirect()
	s.memos = make([]ops.HashMemo, len(p.code.Calcs))
	for i := range s.memos {
		s.memos[i].Random = &s.rng
	}
	return s
}

// bindDirect connects arrays of table entries with their tables.
func (s *State) bindDirect() {
	byName := map[string]*Table{}
	for _, t := range s.Tables {
		byName[t.Info.Name] = t
	}
	for i := range s.Counters {
		if k := &s.Counters[i]; k.Info.Direct {
			k.table = byName[k.Info.Table]
		}
	}
	for i := range s.Meters {
		if m := &s.Meters[i]; m.Info.Direct {
			m.table = byName[m.Info.Table]
		}
	}
	for _, r := range s.Registers {
		if t := byName[r.Info.Table]; t != nil {
			t.registers = append(t.registers, r)
		}
	}
}

// Seed restarts the random numbers, as in NewState.
func (s *State) Seed(seed uint64) { s.rng.State = seed }

// Random returns the random number of 0…most that the program would draw next.
func (s *State) Random(most uint64) uint64 { return s.rng.Between(0, most) }

// Counter counts packets and their bytes.
type Counter struct{ Packets, Bytes uint64 }

// CounterArray is an array of counters. Direct counters are in the entries of
// their table.
type CounterArray struct {
	Info  *CounterInfo
	Cells []Counter
	table *Table // of direct counters
}

// cell returns a counter, or that of an entry by the value of the table's entry
// target. It returns nil beyond the end.
func (a *CounterArray) cell(i uint64) *Counter {
	switch {
	case a.table != nil:
		if x := a.table.extensionOf(i); x != nil {
			return &x.Counter
		}
	case i < uint64(len(a.Cells)):
		return &a.Cells[i]
	}
	return nil
}

// MeterArray is an array of meters. Direct meters are in the entries of their
// table.
type MeterArray struct {
	Info  *MeterInfo
	Cells []Meter
	table *Table // of direct meters
}

// cell is CounterArray.cell for meters.
func (a *MeterArray) cell(i uint64) *Meter {
	switch {
	case a.table != nil:
		if x := a.table.extensionOf(i); x != nil {
			return &x.Meter
		}
	case i < uint64(len(a.Cells)):
		return &a.Cells[i]
	}
	return nil
}

// VSet is a parser value set.
type VSet struct {
	Info   *VSetInfo
	Values [][]uint64 // packed fields, without padding
	index  *table.Exact
}

// Set replaces the values.
func (v *VSet) Set(values [][]uint64) {
	v.Values = values
	bytes := 0
	for _, w := range v.Info.FieldWidths {
		bytes += (w + 7) / 8
	}
	v.index = table.NewExact(max(1, 8*bytes))
	for i, value := range values {
		m := table.Match{Value: v.pad(value, bytes)}
		if _, dup := v.index.Find(&m); !dup {
			v.index.Insert(&m, uint32(i))
		}
	}
}

// pad expands the fields of a value to whole bytes, as in parser keys.
func (v *VSet) pad(value []uint64, bytes int) []uint64 {
	d := make([]uint64, bitvec.Limbs(8*bytes))
	from, to := v.Info.Width, 8*bytes
	for _, w := range v.Info.FieldWidths {
		from -= w
		to -= (w + 7) / 8 * 8
		part := make([]uint64, len(value))
		bitvec.Shr(part, value, uint64(from), false)
		bitvec.Mask(part, w)
		ops.Place(d, part, to)
	}
	return d
}

// Table is a table with its entries. Its size is a multiple of a cache line's, and
// the first line has what translated code needs for a hit.
type Table struct {
	// Lookups and Hits count applications.
	Lookups, Hits uint64

	recent  *recentKeys // of tables with slow lookups
	direct  []uint32    // record plus one by key, of exact tables with small keys
	records records
	missed  []uint64 // def as a record, for translated code

	Info    *TableInfo
	index   table.Index
	exact32 *table.Exact32 // index, if it has this type
	exact   *table.Exact   // …
	lpm32   *table.LPM32   // …
	lpm     *table.LPM     // …
	key     []uint64       // scratch
	quick   bool           // applyTable applies it directly
	argsAt  int            // offset of the arguments in Body.limbs
	entries []Entry
	// recordOf has the record numbers of entries, unless the table is heavy.
	recordOf []uint32
	free     []uint32
	def      Entry
	// extras is true if entries have extensions. heavy is true if applying needs
	// them: direct meters, an action profile. Counters and ageing need only hot.
	extras, heavy, counts bool
	shared                bool // the entries are those of a Contents
	_                     [16]byte
	hot                   []*[hotChunk]Hot // by entry, with extras
	registers             []*Register      // of the entries
}

// Entry is an entry of a table, or its default.
type Entry struct {
	*Body // nil for a free entry
	Ext   *Extension
	pc    int32 // first instruction after a hit; −1 for a free entry
}

// A Body is what only the control plane changes of an entry: its match, its action and
// its arguments. It is immutable, and tables of several switches with the same program
// may have it.
type Body struct {
	action int32 // index of the action; −1 for none
	prefix int32
	// priority of the match
	priority int32
	limbs    []uint64 // value, mask if any, arguments
	ranges   []table.Range
}

// NewBody returns the body of an entry. action is −1 if a member or group determines it.
func NewBody(t *TableInfo, m *table.Match, action int, args []uint64) *Body {
	at := t.ArgsAt()
	b := &Body{action: int32(action), prefix: int32(m.Prefix), priority: m.Priority, limbs: make([]uint64, at+len(args)), ranges: m.Ranges}
	copy(b.limbs, m.Value)
	copy(b.limbs[bitvec.Limbs(t.Width):at], m.Mask)
	copy(b.limbs[at:], args)
	return b
}

// Extension has the parts of an entry that few entries need.
type Extension struct {
	*Hot
	Meter Meter
	// Timeout is the time after the last hit at which the entry has aged, zero for
	// never.
	Timeout vtime.Time
	Member  *Member
	Group   *Group
	// Owner is data of the control plane.
	Owner any
}

// Hot is the part of an entry that packets change. Those of a table are
// adjacent, half a cache line each.
type Hot struct {
	Counter Counter
	// LastHit is the time of the last hit, LastNotice that of the last idle timeout
	// notification.
	LastHit, LastNotice vtime.Time
}

// NewExtension returns an extension that belongs to no table.
func NewExtension() *Extension { return &Extension{Hot: &Hot{}} }

// Clone returns a copy that packets do not change.
func (x *Extension) Clone() *Extension {
	c, h := *x, *x.Hot
	c.Hot = &h
	return &c
}

// Set copies another extension.
func (x *Extension) Set(from *Extension) {
	h := x.Hot
	*x = *from
	x.Hot, *h = h, *from.Hot
}

// hotChunk is the number of entries whose Hot are in one allocation, which
// never moves.
const hotChunk = 1024

// hotOf returns an entry's Hot.
func (t *Table) hotOf(id uint32) *Hot { return &t.hot[id/hotChunk][id%hotChunk] }

func (t *Table) init(p *ops.Program, info *TableInfo) {
	fields := info.Ranges
	for _, k := range info.Key {
		if info.Kind == "lpm" && k.Kind == "lpm" {
			fields = []table.Field{{Bit: k.Bit, Width: k.Width}}
		}
	}
	index, err := table.NewIndex(info.Kind, info.Width, fields)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	t.Info, t.key = info, make([]uint64, bitvec.Limbs(info.Width))
	t.setIndex(index)
	t.argsAt = info.ArgsAt()
	t.counts = info.Counters && !info.ActionsCount
	t.heavy = info.Meter >= 0 || info.Profile >= 0 || info.EntrySlot >= 0
	t.extras = t.heavy || info.Counters || info.Timeout
	t.records = newRecords(p.ArgsOf(info))
	t.missed = make([]uint64, t.records.stride)
	t.quicken()
	t.ResetDefault()
	for _, e := range info.Entries {
		// The second of two equal entries in the program never matches.
		if _, dup := index.Find(&e.Match); !dup {
			t.insert(NewBody(info, &e.Match, e.Action, e.Args))
		}
	}
}

// Len returns the number of entries.
func (t *Table) Len() int { return t.index.Len() }

// Entry returns an entry by its number. It is valid until the next change of the table.
func (t *Table) Entry(id uint32) *Entry { return &t.entries[id] }

// Default returns the default entry.
func (t *Table) Default() *Entry { return &t.def }

// Slots returns the number after the largest that an entry has had.
func (t *Table) Slots() uint32 { return uint32(len(t.entries)) }

// IsDefault reports whether the entry is the default one of its table.
func (e *Entry) IsDefault() bool { return e.prefix < 0 }

// Used reports whether there is an entry of this number.
func (e *Entry) Used() bool { return e.Body != nil }

// Each calls f with every entry, in the order of the numbers, until f returns
// false.
func (t *Table) Each(f func(id uint32, e *Entry) bool) {
	for i := range t.entries {
		if e := &t.entries[i]; e.Body != nil && !f(uint32(i), e) {
			return
		}
	}
}

// Extend returns the extension of an entry. It adds one if necessary.
func (t *Table) Extend(id uint32) *Extension {
	t.own()
	e := &t.entries[id]
	if e.Ext == nil {
		e.Ext = NewExtension()
	}
	return e.Ext
}

// extensionOf returns the extension of an entry by the value of the table's entry
// target, or nil.
func (t *Table) extensionOf(n uint64) *Extension {
	switch {
	case n == 0:
		return t.def.Ext
	case n <= uint64(len(t.entries)):
		return t.entries[n-1].Ext
	}
	return nil
}

// Find returns the number of the entry with exactly this match.
func (t *Table) Find(m *table.Match) (uint32, bool) { return t.index.Find(m) }

// Match returns the match of an entry.
func (t *Table) Match(e *Entry) table.Match {
	n := len(t.key)
	m := table.Match{Value: e.limbs[:n], Prefix: int(e.prefix), Priority: e.priority}
	if t.argsAt > n {
		m.Mask = e.limbs[n : 2*n]
	}
	m.Ranges = e.ranges
	return m
}

// Action returns the number of an entry's action, or −1.
func (e *Entry) Action() int { return int(e.action) }

// Args returns the arguments of an entry's action, packed as by
// Program.PackArgs.
func (t *Table) Args(e *Entry) []uint64 {
	if e.IsDefault() {
		return e.limbs
	}
	return e.limbs[t.argsAt:]
}

// ErrFull reports that a table or profile is full.
type ErrFull struct {
	Name string
	Size int
}

func (e *ErrFull) Error() string {
	return fmt.Sprintf("%s is full: it has room for %d", e.Name, e.Size)
}

// Insert adds an entry and returns its number. There must be none with the same
// match. action is −1 if a member or group determines it.
func (t *Table) Insert(m *table.Match, action int, args []uint64) (uint32, error) {
	return t.InsertBody(NewBody(t.Info, m, action, args))
}

// InsertBody is Insert for an entry with this body.
func (t *Table) InsertBody(b *Body) (uint32, error) {
	if t.Len() >= t.Info.Size {
		return 0, &ErrFull{"table " + t.Info.Name, t.Info.Size}
	}
	return t.insert(b), nil
}

func (t *Table) insert(b *Body) uint32 {
	t.own()
	id := uint32(len(t.entries))
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
	} else {
		t.entries = append(t.entries, Entry{})
	}
	e := &t.entries[id]
	*e = Entry{}
	if t.extras {
		if int(id/hotChunk) == len(t.hot) {
			t.hot = append(t.hot, new([hotChunk]Hot))
		}
		e.Ext = &Extension{Hot: t.hotOf(id)}
		*e.Ext.Hot = Hot{}
	}
	for _, r := range t.registers {
		r.resetCell(int(id) + 1)
	}
	t.setBody(id, b)
	m := t.Match(e)
	t.index.Insert(&m, id)
	return id
}

// quicken determines whether applyTable can apply the table directly: its key has
// one limb, and packets change nothing in its entries.
func (t *Table) quicken() {
	switch {
	case t.Info.IsDirect():
		t.direct = make([]uint32, 1<<t.Info.Width)
	case t.Info.IsRecent():
		t.recent = new(recentKeys)
	}
	exact := len(t.key) == 1 && t.Info.Simple() && (t.exact32 != nil || t.exact != nil)
	t.quick = t.direct != nil || t.recent != nil || exact && len(t.Info.Parts) != 0
}

// SetAction replaces the action of an entry.
func (t *Table) SetAction(id uint32, action int, args []uint64) {
	t.own()
	m := t.Match(&t.entries[id])
	t.setBody(id, NewBody(t.Info, &m, action, args))
}

// setBody sets the body of an entry, of which at most action and arguments change.
func (t *Table) setBody(id uint32, b *Body) {
	t.recent.forget()
	e := &t.entries[id]
	e.Body, e.pc = b, -1
	if b.action >= 0 {
		e.pc = t.Info.ByAction[2*b.action]
	}
	t.setRecord(id, e.pc, b.limbs[t.argsAt:])
	if t.direct != nil {
		t.direct[b.limbs[0]] = t.recordOf[id] + 1
	}
}

// Delete removes an entry.
func (t *Table) Delete(id uint32) {
	t.own()
	t.recent.forget()
	m := t.Match(&t.entries[id])
	t.index.Delete(&m)
	t.dropRecord(id)
	if t.direct != nil {
		t.direct[m.Value[0]] = 0
	}
	t.entries[id] = Entry{pc: -1}
	t.free = append(t.free, id)
}

// SetDefault replaces the default entry. −1 removes it.
func (t *Table) SetDefault(action int, args []uint64) {
	ext := t.def.Ext
	if t.extras && ext == nil {
		ext = NewExtension()
	}
	t.def = Entry{Body: &Body{action: int32(action), prefix: -1, limbs: slices.Clone(args)}, Ext: ext}
	switch {
	case t.Info.Inline:
	case action >= 0:
		t.def.pc = t.Info.ByAction[2*action+1]
	default:
		t.def.pc = t.Info.PCs[len(t.Info.PCs)-1]
	}
	t.missed[0] = uint64(uint32(t.def.pc))
	copy(t.missed[1:], args)
}

// ResetDefault restores the program's default entry.
func (t *Table) ResetDefault() { t.SetDefault(t.Info.Default.Action, t.Info.Default.Args) }
