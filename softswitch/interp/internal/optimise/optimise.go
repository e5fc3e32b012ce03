// SPDX-License-Identifier: Apache-2.0

package optimise

import (
	"slices"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// The optimiser rewrites the code of a program before it runs:
//
//   - A header's field is read from the packet's bytes where it is used, not
//     at extraction: most packets need few fields.
//   - The deparser writes only fields that were assigned to.
//   - Instructions whose results are not used are removed.
//   - Only slots that may be read before they are written are cleared for a
//     packet, and only those that egress reads are kept while it is queued.
//
// The optimiser performs two data-flow analyses over the instructions of all
// parsers and pipelines, in the order in which a packet passes them: backwards,
// which slots are still read (liveness), and forwards, whether the value of a
// header's field is in its slot, in the packet's bytes, or in both.
type optimiser struct {
	*ops.Draft
	n        int // slots that are tracked: all but constants
	sections []ops.Section
	fields   []lazyField // of simple headers
	fieldOf  []int       // by slot: number in fields, or −1
	simple   map[*ops.Header]bool
	added    map[*ops.Header]bool // made valid by the program
	atBase   map[int]*ops.Header
	cloned   bool // egress makes clones
	// onlyValid makes liveness count only the validity that the deparser reads of
	// invalid headers.
	onlyValid bool
	e         effects
}

// lazyField is a slot of a simple header with its position in the packet.
type lazyField struct {
	h     *ops.Header
	slot  int
	load  *ops.Move
	eager bool // loaded when the header is extracted
	dirty int  // number among the stores of the type, or −1
}

// Run rewrites the code, in which labels are not yet resolved.
func Run(d *ops.Draft) {
	o := &optimiser{Draft: d, n: d.TempMax, simple: map[*ops.Header]bool{}, added: map[*ops.Header]bool{}, atBase: map[int]*ops.Header{}}
	o.findSections()
	o.findFields()
	for o.makeEager() {
	}
	o.insertLoads()
	o.shorten()
	var live []bitset
	for range 2 { // less code, more is known
		o.straighten()
		live = o.liveness()
		for o.dropDead(live) || o.combine(live) || o.number() {
			live = o.liveness()
		}
	}
	o.straighten()
	for i := range o.sections {
		if s := &o.sections[i]; !o.loops(s) {
			o.Straight = append(o.Straight, *s)
		}
	}
	live = o.liveness()
	o.prune(live)
	o.onlyValid = true
	o.keepOnly(live, o.liveness())
}

// KeepAll replaces keepOnly for unoptimised code.
func KeepAll(d *ops.Draft) {
	p := d.Prog
	all := newBitset(p.FieldsEnd)
	for s := range p.FieldsEnd {
		all.add(s)
		if s < p.Shared {
			p.Kept.Zero = append(p.Kept.Zero, ops.Slot(s))
		} else {
			p.Kept.Add(s, 64)
		}
	}
	clears(p, all)
	p.KeptWords = p.Kept.Slots()
}

// findSections finds the start and end of parsers, pipelines and deparsers.
func (o *optimiser) findSections() {
	o.sections = o.sections[:0]
	p := o.Prog
	for g := range ops.Gresses {
		o.sections = append(o.sections, ops.Section{Start: int(p.Parse[g]), Kind: ops.SectionParse, Gress: g},
			ops.Section{Start: int(p.Pipeline[g]), Kind: ops.SectionPipeline, Gress: g},
			ops.Section{Start: int(p.Finish[g]), Kind: ops.SectionFinish, Gress: g})
	}
	slices.SortFunc(o.sections, func(a, b ops.Section) int { return a.Start - b.Start })
	for i := range o.sections {
		o.sections[i].End = len(o.Code)
		if i+1 < len(o.sections) {
			o.sections[i].End = o.sections[i+1].Start
		}
	}
}

func (o *optimiser) section(kind, gress int) *ops.Section {
	for i := range o.sections {
		if s := &o.sections[i]; s.Kind == kind && s.Gress == gress {
			return s
		}
	}
	panic("BUG: a program without a section")
}

// after calls f with the possible next sections of a packet.
func (o *optimiser) after(s *ops.Section, f func(next *ops.Section)) {
	queued := o.Prog.Arch != &ops.TNA // egress of TNA starts with a parser of its own
	switch s.Kind {
	case ops.SectionParse:
		f(o.section(ops.SectionPipeline, s.Gress))
		if queued && s.Gress == ops.In { // a clone of the original packet
			f(o.section(ops.SectionPipeline, ops.Out))
		}
	case ops.SectionPipeline:
		if !queued || s.Gress == ops.Out {
			f(o.section(ops.SectionFinish, s.Gress))
		}
		if queued && (s.Gress == ops.In || o.cloned) {
			f(o.section(ops.SectionPipeline, ops.Out))
		}
	}
}

// findFields finds the simple headers, whose fields need not be loaded at
// extraction. They are in no stack and no union, and instructions on them as a
// whole only set their validity.
func (o *optimiser) findFields() {
	for _, h := range o.Order {
		if h.Slots != nil {
			continue
		}
		o.atBase[h.Base] = h
		if h.Stack == nil && h.Union == nil && h.Type.Varbit < 0 && len(h.Type.Stores) <= 64 {
			o.simple[h] = true
		}
	}
	whole := func(s ops.Slot) {
		if base, ok := o.constant(s); ok {
			delete(o.simple, o.atBase[base])
		}
	}
	for i := range o.Code {
		in := &o.Code[i]
		switch in.Op {
		case ops.AddValid, ops.Varbit:
			whole(in.A)
		case ops.CopyHeader, ops.HeaderEq, ops.VarEq:
			whole(in.A)
			whole(in.B)
		case ops.AddHeader:
			if base, ok := o.constant(in.A); ok {
				o.added[o.atBase[base]] = true
			}
		case ops.Clone:
			o.cloned = o.cloned || i >= o.section(ops.SectionPipeline, ops.Out).Start && i < o.section(ops.SectionPipeline, ops.Out).End
		}
	}
	for i := range o.Prog.Calcs {
		for _, in := range o.Prog.Calcs[i].Inputs {
			delete(o.simple, in.Header)
		}
	}
	o.fieldOf = slices.Repeat([]int{-1}, o.n)
	for _, t := range o.Prog.Tables {
		for _, s := range []int{t.MeterSlot, t.EntrySlot} {
			if s >= 0 {
				o.fieldOf[s] = -2 // written where no instruction can be inserted
			}
		}
	}
	for _, h := range o.Order {
		if !o.simple[h] {
			continue
		}
		for i := range h.Type.Loads {
			mv := &h.Type.Loads[i]
			s := h.Base + int(mv.Rel)
			if o.fieldOf[s] == -2 {
				delete(o.simple, h)
			}
		}
	}
	for i, f := range o.fieldOf {
		if f == -2 {
			o.fieldOf[i] = -1
		}
	}
	for _, h := range o.Order {
		if !o.simple[h] {
			continue
		}
		for i := range h.Type.Loads {
			mv := &h.Type.Loads[i]
			f := lazyField{h: h, slot: h.Base + int(mv.Rel), load: mv, dirty: -1}
			f.eager = !f.inWindow()
			for j := range h.Type.Stores {
				if h.Type.Stores[j].Rel == mv.Rel {
					f.dirty = j
				}
			}
			o.fieldOf[f.slot] = len(o.fields)
			o.fields = append(o.fields, f)
		}
	}
	// The architecture reads the fields of field lists.
	o.listed(func(s int) {
		if s < o.n && o.fieldOf[s] >= 0 {
			o.fields[o.fieldOf[s]].eager = true
		}
	})
}

// listed calls f with the slots of all field lists.
func (o *optimiser) listed(f func(slot int)) {
	list := func(l *ops.FieldList) {
		for _, x := range l.Fields {
			for i := range x.Limbs {
				if x.Slot+i < ops.FirstConst {
					f(x.Slot + i)
				}
			}
		}
	}
	for _, l := range o.Prog.FieldLists {
		list(l)
	}
	for i := range o.Prog.Digests {
		list(o.Prog.Digests[i].List)
	}
}

// constant returns the value of a constant's slot.
func (o *optimiser) constant(s ops.Slot) (int, bool) {
	if s < ops.FirstConst {
		return 0, false
	}
	return int(o.ConstList[s-ops.FirstConst]), true
}

// successors appends the possible successors of instruction i to list. With
// failing, the last of them follows a failure.
func (o *optimiser) successors(i int, list []int) (next []int, failing bool) {
	in := &o.Code[i]
	at := func(l int) int { return o.Labels[l] }
	list = list[:0]
	switch in.Op {
	case ops.End:
		return list, false
	case ops.Jmp, ops.Back:
		return append(list, at(int(in.Imm))), false
	case ops.Apply:
		for _, l := range o.Prog.Tables[in.Imm].PCs {
			list = append(list, at(int(l)))
		}
		return list, false
	case ops.JMatch:
		return append(list, i+1, at(int(o.Prog.Matches[in.Imm].To))), false
	case ops.VSet:
		return append(list, i+1, at(int(o.Prog.VSetJumps[in.Imm].To))), false
	case ops.Switch:
		list = append(list, i+1)
		for _, l := range o.Prog.Switches[in.Imm].To {
			list = append(list, at(int(l)))
		}
		return list, false
	case ops.Extract, ops.Take, ops.Look, ops.Peek, ops.Advance, ops.Fail, ops.State:
		g := o.parserOf(i)
		return append(list, i+1, at(int(o.Prog.ParseEnd[g]))), true
	}
	list = append(list, i+1)
	if in.Op.IsJump() {
		list = append(list, at(int(in.Imm)))
	}
	return list, false
}

// parserOf returns the gress of the parser with an instruction.
func (o *optimiser) parserOf(i int) int {
	if s := o.section(ops.SectionParse, ops.Out); i >= s.Start && i < s.End {
		return ops.Out
	}
	return ops.In
}

// atEnd calls f with the slots that the architecture and the deparser read
// after a section.
func (o *optimiser) atEnd(s *ops.Section, f func(slot int)) {
	p := o.Prog
	v1 := o.Prog.Arch != &ops.TNA
	if s.Kind == ops.SectionParse {
		return
	}
	for _, name := range o.Prog.Arch.Reads[s.Gress] {
		if at, ok := p.Fields[name]; ok {
			for i := range at.Limbs {
				f(at.Slot + i)
			}
		}
	}
	o.listed(f)
	f(p.Sys + ops.SysLength)
	f(p.Sys + ops.SysTruncate)
	if s.Kind == ops.SectionPipeline && (!v1 || s.Gress == ops.In) {
		return
	}
	f(p.Sys + ops.SysPayload)
	for _, h := range p.Deparse[s.Gress] {
		if o.onlyValid && o.simple[h.Header] {
			f(h.Header.Base + ops.RelValid)
			continue
		}
		for rel := range h.Header.Type.RelFields() {
			f(h.Header.Base + rel)
		}
		moves := h.Header.Type.Stores
		if !o.simple[h.Header] || o.added[h.Header] {
			moves = h.Header.Type.All
		}
		for i := range moves {
			f(h.Header.Base + int(moves[i].Rel))
		}
	}
}

// locations are, for each field, whether its value is in the slot and in the
// packet's bytes on all paths to an instruction.
type locations struct{ slot, bytes bitset }

// values returns the locations of the fields' values before each instruction.
func (o *optimiser) values() []locations {
	at := make([]locations, len(o.Code))
	k := len(o.fields)
	memory := make(bitset, 2*len(o.Code)*len(newBitset(k)))
	words := len(newBitset(k))
	for i := range at {
		at[i].slot, at[i].bytes = memory[:words:words], memory[words:2*words:2*words]
		memory = memory[2*words:]
		at[i].slot.fill()
		at[i].bytes.fill()
	}
	slot, bytes := newBitset(k), newBitset(k)
	work := slices.Repeat([]bool{true}, len(o.Code))
	var list []int
	for again := true; again; {
		again = false
		flow := func(to int, slot, bytes bitset) {
			changed := at[to].slot.and(slot)
			if at[to].bytes.and(bytes) || changed {
				work[to], again = true, true
			}
		}
		for si := range o.sections {
			s := &o.sections[si]
			for i := s.Start; i < s.End; i++ {
				if !work[i] {
					continue
				}
				work[i] = false
				copy(slot, at[i].slot)
				copy(bytes, at[i].bytes)
				if o.Code[i].Op == ops.End {
					o.after(s, func(next *ops.Section) {
						if o.queues(next) {
							o.queued(slot, bytes)
						}
						flow(next.Start, slot, bytes)
					})
					continue
				}
				next, failing := o.successors(i, list)
				list = next
				if failing {
					flow(next[len(next)-1], at[i].slot, at[i].bytes)
					next = next[:len(next)-1]
				}
				o.transfer(i, slot, bytes)
				for _, to := range next {
					flow(to, slot, bytes)
				}
			}
		}
	}
	return at
}

// queues reports whether packets are queued before a section.
func (o *optimiser) queues(s *ops.Section) bool {
	return s.Kind == ops.SectionPipeline && s.Gress == ops.Out && o.Prog.Arch != &ops.TNA
}

// queued applies the effect of queueing: slots of fields whose values are in
// the packet's bytes are not kept.
func (o *optimiser) queued(slot, bytes bitset) {
	for i := range o.fields {
		if o.inBytes(i, bytes) {
			slot.remove(i)
		}
	}
}

// inBytes reports whether the packet's bytes have a field's value, so that its
// slot need not be kept.
func (o *optimiser) inBytes(i int, bytes bitset) bool {
	f := &o.fields[i]
	return !f.eager && bytes.has(i) && !o.added[f.h]
}

// transfer applies an instruction's effect on the locations of values.
func (o *optimiser) transfer(i int, slot, bytes bitset) {
	e := o.effectsOf(i)
	for _, s := range e.uses { // loaded first, if necessary
		if n := o.fieldOf[s]; n >= 0 {
			slot.add(n)
		}
	}
	op := o.Code[i].Op
	for _, s := range e.defs {
		if n := o.fieldOf[s]; n >= 0 {
			switch op {
			case ops.Extract, ops.Take:
				slot.remove(n)
				bytes.add(n)
			case ops.Field:
				slot.add(n)
			default:
				slot.add(n)
				bytes.remove(n)
			}
		}
	}
}

// makeEager finds fields whose value some paths to a use have in the slot and
// others in the packet's bytes. They are loaded at extraction. It reports
// whether there were any.
func (o *optimiser) makeEager() bool {
	found := false
	at := o.values()
	for i := range o.Code {
		for _, s := range o.effectsOf(i).uses {
			if n := o.fieldOf[s]; n >= 0 && !o.fields[n].eager && !at[i].slot.has(n) && !at[i].bytes.has(n) {
				o.fields[n].eager, found = true, true
			}
		}
	}
	return found
}

// rewrite replaces each instruction by the instructions that f appends for it.
func (o *optimiser) rewrite(f func(code []ops.Instr, i int) []ops.Instr) {
	code := make([]ops.Instr, 0, len(o.Code)+len(o.Code)/4)
	to := make([]int, len(o.Code)+1)
	for i := range o.Code {
		to[i] = len(code)
		code = f(code, i)
	}
	to[len(o.Code)] = len(code)
	o.Code = code
	for i, at := range o.Labels {
		if at >= 0 {
			o.Labels[i] = to[at]
		}
	}
	for g := range ops.Gresses {
		for _, at := range []*int32{&o.Prog.Parse[g], &o.Prog.Pipeline[g], &o.Prog.Finish[g]} {
			*at = int32(to[*at])
		}
	}
	o.findSections()
}

// remove removes the marked instructions.
func (o *optimiser) remove(gone []bool) {
	old := o.Code
	o.rewrite(func(code []ops.Instr, i int) []ops.Instr {
		if gone[i] {
			return code
		}
		return append(code, old[i])
	})
}

// insertLoads inserts a load before the first use of each field that is not
// loaded with its header, and a mark after each assignment.
func (o *optimiser) insertLoads() {
	at := o.values()
	old := o.Code
	o.rewrite(func(code []ops.Instr, i int) []ops.Instr {
		e := o.effectsOf(i)
		for _, s := range e.uses {
			n := o.fieldOf[s]
			if n >= 0 && !o.fields[n].eager && !at[i].slot.has(n) {
				at[i].slot.add(n)
				code = append(code, o.fields[n].loadInstr())
			}
		}
		code = append(code, old[i])
		if old[i].Op == ops.Extract {
			if x := &o.Prog.Extracts[old[i].Imm]; x.Next < 0 {
				for n := range o.fields {
					if f := &o.fields[n]; f.h.Base == x.Base && f.eager && f.inWindow() {
						code = append(code, f.loadInstr())
					}
				}
			}
			return code
		}
		for _, s := range e.defs {
			if n := o.fieldOf[s]; n >= 0 && o.fields[n].dirty >= 0 {
				f := &o.fields[n]
				code = append(code, ops.Instr{Op: ops.OrI, D: ops.Slot(f.h.Base + ops.RelDirty), Imm: 1 << f.dirty})
			}
		}
		return code
	})
}

// shorten replaces instructions by equivalent faster ones.
func (o *optimiser) shorten() {
	for i := range o.Code {
		in := &o.Code[i]
		if width, bit := in.N(), in.M(); in.Op == ops.Look && bit%8+width <= 64 && bit/8 < ops.FirstConst {
			*in = ops.Instr{Op: ops.Peek, D: in.D, B: ops.Slot(bit / 8), Imm: uint64(bit%8) | uint64(64-width)<<8}
		}
	}
}

// inWindow reports whether one instruction can load the field.
func (f *lazyField) inWindow() bool {
	return f.load.Bit%8+int(f.load.Width) <= 64 && !f.load.Sign && f.load.Bit/8 < ops.FirstConst
}

// loadInstr returns the instruction that loads the field.
func (f *lazyField) loadInstr() ops.Instr {
	return ops.Instr{Op: ops.Field, D: ops.Slot(f.slot), A: ops.Slot(f.h.Base + ops.RelOffset), B: ops.Slot(f.load.Bit / 8),
		Imm: uint64(f.load.Bit%8) | uint64(64-f.load.Width)<<8}
}

// liveness returns the slots that are live before each instruction.
func (o *optimiser) liveness() []bitset {
	words := len(newBitset(o.n))
	memory := make(bitset, (len(o.Code)+1)*words)
	live := make([]bitset, len(o.Code))
	for i := range live {
		live[i] = memory[i*words : (i+1)*words]
	}
	now := memory[len(o.Code)*words:]
	var list []int
	for again := true; again; {
		again = false
		for si := len(o.sections) - 1; si >= 0; si-- {
			s := &o.sections[si]
			for i := s.End - 1; i >= s.Start; i-- {
				clear(now)
				if o.Code[i].Op == ops.End {
					o.atEnd(s, func(slot int) { now.add(slot) })
					o.after(s, func(next *ops.Section) { now.or(live[next.Start]) })
				} else {
					next, failing := o.successors(i, list)
					list = next
					fail := -1
					if failing {
						fail = next[len(next)-1]
						next = next[:len(next)-1]
					}
					for _, to := range next {
						now.or(live[to])
					}
					e := o.effectsOf(i)
					for _, s := range e.defs {
						now.remove(s)
					}
					for _, s := range e.uses {
						now.add(s)
					}
					if fail >= 0 {
						now.or(live[fail])
					}
				}
				if live[i].or(now) {
					again = true
				}
			}
		}
	}
	return live
}

// dropDead removes instructions whose results are not read. It reports whether
// there were any.
func (o *optimiser) dropDead(live []bitset) bool {
	gone := make([]bool, len(o.Code))
	for i := range gone {
		e := o.effectsOf(i)
		gone[i] = e.pure && len(e.defs) > 0 && !slices.ContainsFunc(e.defs, live[i+1].has)
	}
	o.remove(gone)
	return slices.Contains(gone, true)
}

// prune removes fields from extractions that are never read.
func (o *optimiser) prune(live []bitset) {
	for i := range o.Code {
		in := &o.Code[i]
		if in.Op != ops.Extract {
			continue
		}
		x := &o.Prog.Extracts[in.Imm]
		h := o.atBase[x.Base]
		if h == nil || !o.simple[h] {
			continue
		}
		x.Loads = nil
		for j := range x.Type.Loads {
			mv := &x.Type.Loads[j]
			s := h.Base + int(mv.Rel)
			if !o.fields[o.fieldOf[s]].inWindow() && live[i+1].has(s) {
				x.Loads = append(x.Loads, *mv)
			}
		}
		if len(x.Loads) == 0 && x.Bytes < ops.FirstConst {
			*in = ops.Instr{Op: ops.Take, D: ops.Slot(x.Base), Imm: in.Imm, B: ops.Slot(x.Bytes)}
		}
	}
}

// keepOnly determines the slots that are cleared for a new packet and those
// that are kept in a queue. It makes the architecture omit unused fields. code
// is the liveness without the deparser's reads of valid headers' fields, which
// were written when the header became valid.
func (o *optimiser) keepOnly(live, code []bitset) {
	p := o.Prog
	fresh := slices.Clone(code[o.section(ops.SectionParse, ops.In).Start])
	if o.Prog.Arch == &ops.TNA {
		fresh.or(code[o.section(ops.SectionParse, ops.Out).Start])
	}
	clears(p, fresh)
	for _, h := range o.Order {
		h.Simple = o.simple[h]
	}
	for g := range ops.Gresses {
		for i := range p.Deparse[g] {
			if e := &p.Deparse[g][i]; e.Header.Simple {
				e.Always = 0
			}
		}
	}
	read, written := o.touched()
	for name, at := range p.Fields {
		if !read.has(at.Slot) {
			delete(p.Fields, name)
		}
	}
	if o.Prog.Arch == &ops.TNA {
		return
	}
	egress := o.section(ops.SectionPipeline, ops.Out)
	bytes := o.values()[egress.Start].bytes
	set := map[int]bool{}
	for _, name := range o.Prog.Arch.Sets {
		if at, ok := p.Fields[name]; ok {
			set[at.Slot] = true
		}
	}
	always := code[egress.Start]
	always.add(p.Sys + ops.SysLength)
	size := slotBits(o.Draft)
	sets := map[*ops.Header]*ops.KeptSet{nil: &p.Kept}
	now := live[egress.Start]
	now.or(always)
	now.each(func(s int) {
		n := o.fieldOf[s]
		if s >= p.FieldsEnd || set[s] || n >= 0 && o.inBytes(n, bytes) {
			return
		}
		var h *ops.Header
		if !always.has(s) {
			h = o.headerOf(s)
		}
		if sets[h] == nil {
			sets[h] = &ops.KeptSet{Valid: ops.Slot(h.Base + ops.RelValid)}
		}
		if written.has(s) {
			sets[h].Add(s, size[s])
		} else {
			sets[h].Zero = append(sets[h].Zero, ops.Slot(s))
		}
	})
	total := 0
	for _, h := range o.Order {
		switch k := sets[h]; {
		case k == nil:
		case k.Slots()+len(k.Zero) <= fewKept:
			p.Kept.Join(k)
		default:
			p.KeptOf = append(p.KeptOf, *k)
			total += k.Bytes()
		}
	}
	total += p.Kept.Bytes()
	p.KeptWords = (total + 7) / 8
}

// headerOf returns the simple header with a slot.
func (o *optimiser) headerOf(s int) *ops.Header {
	for h := range o.simple {
		if s >= h.Base && s < h.Base+h.Type.Size {
			return h
		}
	}
	panic("BUG: a slot that only the deparser reads is in no header")
}

// touched returns the slots that are read, and those that may be nonzero when a
// packet is queued.
func (o *optimiser) touched() (read, written bitset) {
	read, written = newBitset(o.n), newBitset(o.n)
	o.listed(func(s int) {
		read.add(s)
		written.add(s)
	})
	for i := range o.sections {
		s := &o.sections[i]
		for i := s.Start; i < s.End; i++ {
			e := o.effectsOf(i)
			for _, s := range e.uses {
				read.add(s)
			}
			if (s.Gress == ops.In || o.cloned) && s.Kind != ops.SectionFinish {
				for _, s := range e.defs {
					written.add(s)
				}
			}
		}
		o.atEnd(s, read.add)
	}
	for _, t := range o.Prog.Tables {
		for _, s := range []int{t.MeterSlot, t.EntrySlot} {
			if s >= 0 {
				written.add(s)
			}
		}
	}
	for _, at := range o.Prog.Fields {
		for i := range at.Limbs {
			written.add(at.Slot + i)
		}
	}
	for s := o.Prog.Sys; s < o.Prog.Sys+ops.SysExit; s++ {
		written.add(s)
	}
	// Headers change in more ways than defs has. Only assignments set the marks of
	// stores.
	marks := map[int]bool{}
	for h := range o.simple {
		marks[h.Base+ops.RelDirty] = true
	}
	assigned := func(s int) bool {
		before := []*ops.Section{o.section(ops.SectionParse, ops.In), o.section(ops.SectionPipeline, ops.In)}
		if o.cloned {
			before = append(before, o.section(ops.SectionPipeline, ops.Out))
		}
		for _, x := range before {
			for i := x.Start; i < x.End; i++ {
				if o.Code[i].Op == ops.OrI && int(o.Code[i].D) == s {
					return true
				}
			}
		}
		return false
	}
	for s := o.Prog.MetadataEnd; s < o.Prog.FieldsEnd; s++ {
		if marks[s] && !assigned(s) {
			written.remove(s)
		} else {
			written.add(s)
		}
	}
	return read, written
}

// fewKept is the number of slots up to which a header's slots are saved without
// testing its validity, because the test would take longer.
const fewKept = 4

// slotBits returns the maximum width in bits of the values in each slot.
func slotBits(d *ops.Draft) []int {
	n := make([]int, d.Prog.FieldsEnd)
	for i := range n {
		n[i] = 64
	}
	for _, s := range []int{ops.SysPayload, ops.SysTruncate, ops.SysLength, ops.SysIngressLen} { // bytes of a packet
		n[d.Prog.Sys+s] = 32
	}
	n[d.Prog.Sys+ops.SysExit] = 1
	for _, h := range d.Order {
		if h.Slots == nil {
			n[h.Base+ops.RelValid] = 1
			n[h.Base+ops.RelOffset] = 32
			n[h.Base+ops.RelDirty] = min(64, len(h.Type.Stores))
		}
		for i := range h.Type.Fields {
			if f := &h.Type.Fields[i]; h.Field(i) != ops.NoSlot && !f.Signed && f.Width > 0 && f.Width <= 64 {
				n[h.Field(i)] = f.Width
			}
		}
	}
	return n
}
