// SPDX-License-Identifier: Apache-2.0

package interp

import "slices"

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
	*draft
	n        int // slots that are tracked: all but constants
	sections []section
	fields   []lazyField // of simple headers
	fieldOf  []int       // by slot: number in fields, or −1
	simple   map[*header]bool
	added    map[*header]bool // made valid by the program
	atBase   map[int]*header
	cloned   bool // egress makes clones
	// onlyValid makes liveness count only the validity that the deparser reads of
	// invalid headers.
	onlyValid bool
	e         effects
}

// lazyField is a slot of a simple header with its position in the packet.
type lazyField struct {
	h     *header
	slot  int
	load  *move
	eager bool // loaded when the header is extracted
	dirty int  // number among the stores of the type, or −1
}

// optimise rewrites the code, in which labels are not yet resolved.
func optimise(d *draft) {
	o := &optimiser{draft: d, n: d.tempMax, simple: map[*header]bool{}, added: map[*header]bool{}, atBase: map[int]*header{}}
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
			o.straight = append(o.straight, *s)
		}
	}
	live = o.liveness()
	o.prune(live)
	o.onlyValid = true
	o.keepOnly(live, o.liveness())
}

// keepAll replaces keepOnly for unoptimised code.
func keepAll(d *draft) {
	p := d.prog
	all := newBitset(p.fieldsEnd)
	for s := range p.fieldsEnd {
		all.add(s)
		if s < p.shared {
			p.kept.zero = append(p.kept.zero, slot(s))
		} else {
			p.kept.add(s, 64)
		}
	}
	clears(p, all)
	p.keptWords = p.kept.slots()
}

// findSections finds the start and end of parsers, pipelines and deparsers.
func (o *optimiser) findSections() {
	o.sections = o.sections[:0]
	p := o.prog
	for g := range gresses {
		o.sections = append(o.sections, section{start: int(p.parse[g]), kind: sectionParse, gress: g},
			section{start: int(p.pipeline[g]), kind: sectionPipeline, gress: g},
			section{start: int(p.finish[g]), kind: sectionFinish, gress: g})
	}
	slices.SortFunc(o.sections, func(a, b section) int { return a.start - b.start })
	for i := range o.sections {
		o.sections[i].end = len(o.code)
		if i+1 < len(o.sections) {
			o.sections[i].end = o.sections[i+1].start
		}
	}
}

func (o *optimiser) section(kind, gress int) *section {
	for i := range o.sections {
		if s := &o.sections[i]; s.kind == kind && s.gress == gress {
			return s
		}
	}
	panic("BUG: a program without a section")
}

// after calls f with the possible next sections of a packet.
func (o *optimiser) after(s *section, f func(next *section)) {
	queued := o.prog.arch != &tna // egress of TNA starts with a parser of its own
	switch s.kind {
	case sectionParse:
		f(o.section(sectionPipeline, s.gress))
		if queued && s.gress == in { // a clone of the original packet
			f(o.section(sectionPipeline, out))
		}
	case sectionPipeline:
		if !queued || s.gress == out {
			f(o.section(sectionFinish, s.gress))
		}
		if queued && (s.gress == in || o.cloned) {
			f(o.section(sectionPipeline, out))
		}
	}
}

// findFields finds the simple headers, whose fields need not be loaded at
// extraction. They are in no stack and no union, and instructions on them as a
// whole only set their validity.
func (o *optimiser) findFields() {
	for _, h := range o.order {
		if h.slots != nil {
			continue
		}
		o.atBase[h.base] = h
		if h.stack == nil && h.union == nil && h.typ.varbit < 0 && len(h.typ.stores) <= 64 {
			o.simple[h] = true
		}
	}
	whole := func(s slot) {
		if base, ok := o.constant(s); ok {
			delete(o.simple, o.atBase[base])
		}
	}
	for i := range o.code {
		in := &o.code[i]
		switch in.op {
		case iAddValid, iVarbit:
			whole(in.a)
		case iCopyHeader, iHeaderEq, iVarEq:
			whole(in.a)
			whole(in.b)
		case iAddHeader:
			if base, ok := o.constant(in.a); ok {
				o.added[o.atBase[base]] = true
			}
		case iClone:
			o.cloned = o.cloned || i >= o.section(sectionPipeline, out).start && i < o.section(sectionPipeline, out).end
		}
	}
	for i := range o.prog.calcs {
		for _, in := range o.prog.calcs[i].inputs {
			delete(o.simple, in.header)
		}
	}
	o.fieldOf = slices.Repeat([]int{-1}, o.n)
	for _, t := range o.prog.Tables {
		for _, s := range []int{t.meterSlot, t.entrySlot} {
			if s >= 0 {
				o.fieldOf[s] = -2 // written where no instruction can be inserted
			}
		}
	}
	for _, h := range o.order {
		if !o.simple[h] {
			continue
		}
		for i := range h.typ.loads {
			mv := &h.typ.loads[i]
			s := h.base + int(mv.rel)
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
	for _, h := range o.order {
		if !o.simple[h] {
			continue
		}
		for i := range h.typ.loads {
			mv := &h.typ.loads[i]
			f := lazyField{h: h, slot: h.base + int(mv.rel), load: mv, dirty: -1}
			f.eager = !f.inWindow()
			for j := range h.typ.stores {
				if h.typ.stores[j].rel == mv.rel {
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
	list := func(l *fieldList) {
		for _, x := range l.fields {
			for i := range x.limbs {
				if x.slot+i < firstConst {
					f(x.slot + i)
				}
			}
		}
	}
	for _, l := range o.prog.fieldLists {
		list(l)
	}
	for i := range o.prog.Digests {
		list(o.prog.Digests[i].list)
	}
}

// constant returns the value of a constant's slot.
func (o *optimiser) constant(s slot) (int, bool) {
	if s < firstConst {
		return 0, false
	}
	return int(o.constList[s-firstConst]), true
}

// successors appends the possible successors of instruction i to list. With
// failing, the last of them follows a failure.
func (o *optimiser) successors(i int, list []int) (next []int, failing bool) {
	in := &o.code[i]
	at := func(l int) int { return o.labels[l] }
	list = list[:0]
	switch in.op {
	case iEnd:
		return list, false
	case iJmp, iBack:
		return append(list, at(int(in.imm))), false
	case iApply:
		for _, l := range o.prog.Tables[in.imm].pcs {
			list = append(list, at(int(l)))
		}
		return list, false
	case iJMatch:
		return append(list, i+1, at(int(o.prog.matches[in.imm].to))), false
	case iVSet:
		return append(list, i+1, at(int(o.prog.vsetJumps[in.imm].to))), false
	case iSwitch:
		list = append(list, i+1)
		for _, l := range o.prog.switches[in.imm].to {
			list = append(list, at(int(l)))
		}
		return list, false
	case iExtract, iTake, iLook, iPeek, iAdvance, iFail, iState:
		g := o.parserOf(i)
		return append(list, i+1, at(int(o.prog.parseEnd[g]))), true
	}
	list = append(list, i+1)
	if in.op.isJump() {
		list = append(list, at(int(in.imm)))
	}
	return list, false
}

// parserOf returns the gress of the parser with an instruction.
func (o *optimiser) parserOf(i int) int {
	if s := o.section(sectionParse, out); i >= s.start && i < s.end {
		return out
	}
	return in
}

// atEnd calls f with the slots that the architecture and the deparser read
// after a section.
func (o *optimiser) atEnd(s *section, f func(slot int)) {
	p := o.prog
	v1 := o.prog.arch != &tna
	if s.kind == sectionParse {
		return
	}
	for _, name := range o.prog.arch.reads[s.gress] {
		if at, ok := p.fields[name]; ok {
			for i := range at.limbs {
				f(at.slot + i)
			}
		}
	}
	o.listed(f)
	f(p.sys + sysLength)
	f(p.sys + sysTruncate)
	if s.kind == sectionPipeline && (!v1 || s.gress == in) {
		return
	}
	f(p.sys + sysPayload)
	for _, h := range p.deparse[s.gress] {
		if o.onlyValid && o.simple[h.h] {
			f(h.h.base + relValid)
			continue
		}
		for rel := range h.h.typ.relFields() {
			f(h.h.base + rel)
		}
		moves := h.h.typ.stores
		if !o.simple[h.h] || o.added[h.h] {
			moves = h.h.typ.all
		}
		for i := range moves {
			f(h.h.base + int(moves[i].rel))
		}
	}
}

// locations are, for each field, whether its value is in the slot and in the
// packet's bytes on all paths to an instruction.
type locations struct{ slot, bytes bitset }

// values returns the locations of the fields' values before each instruction.
func (o *optimiser) values() []locations {
	at := make([]locations, len(o.code))
	k := len(o.fields)
	memory := make(bitset, 2*len(o.code)*len(newBitset(k)))
	words := len(newBitset(k))
	for i := range at {
		at[i].slot, at[i].bytes = memory[:words:words], memory[words:2*words:2*words]
		memory = memory[2*words:]
		at[i].slot.fill()
		at[i].bytes.fill()
	}
	slot, bytes := newBitset(k), newBitset(k)
	work := slices.Repeat([]bool{true}, len(o.code))
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
			for i := s.start; i < s.end; i++ {
				if !work[i] {
					continue
				}
				work[i] = false
				copy(slot, at[i].slot)
				copy(bytes, at[i].bytes)
				if o.code[i].op == iEnd {
					o.after(s, func(next *section) {
						if o.queues(next) {
							o.queued(slot, bytes)
						}
						flow(next.start, slot, bytes)
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
func (o *optimiser) queues(s *section) bool {
	return s.kind == sectionPipeline && s.gress == out && o.prog.arch != &tna
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
	op := o.code[i].op
	for _, s := range e.defs {
		if n := o.fieldOf[s]; n >= 0 {
			switch op {
			case iExtract, iTake:
				slot.remove(n)
				bytes.add(n)
			case iField:
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
	for i := range o.code {
		for _, s := range o.effectsOf(i).uses {
			if n := o.fieldOf[s]; n >= 0 && !o.fields[n].eager && !at[i].slot.has(n) && !at[i].bytes.has(n) {
				o.fields[n].eager, found = true, true
			}
		}
	}
	return found
}

// rewrite replaces each instruction by the instructions that f appends for it.
func (o *optimiser) rewrite(f func(code []instr, i int) []instr) {
	code := make([]instr, 0, len(o.code)+len(o.code)/4)
	to := make([]int, len(o.code)+1)
	for i := range o.code {
		to[i] = len(code)
		code = f(code, i)
	}
	to[len(o.code)] = len(code)
	o.code = code
	for i, at := range o.labels {
		if at >= 0 {
			o.labels[i] = to[at]
		}
	}
	for g := range gresses {
		for _, at := range []*int32{&o.prog.parse[g], &o.prog.pipeline[g], &o.prog.finish[g]} {
			*at = int32(to[*at])
		}
	}
	o.findSections()
}

// remove removes the marked instructions.
func (o *optimiser) remove(gone []bool) {
	old := o.code
	o.rewrite(func(code []instr, i int) []instr {
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
	old := o.code
	o.rewrite(func(code []instr, i int) []instr {
		e := o.effectsOf(i)
		for _, s := range e.uses {
			n := o.fieldOf[s]
			if n >= 0 && !o.fields[n].eager && !at[i].slot.has(n) {
				at[i].slot.add(n)
				code = append(code, o.fields[n].loadInstr())
			}
		}
		code = append(code, old[i])
		if old[i].op == iExtract {
			if x := &o.prog.extracts[old[i].imm]; x.next < 0 {
				for n := range o.fields {
					if f := &o.fields[n]; f.h.base == x.base && f.eager && f.inWindow() {
						code = append(code, f.loadInstr())
					}
				}
			}
			return code
		}
		for _, s := range e.defs {
			if n := o.fieldOf[s]; n >= 0 && o.fields[n].dirty >= 0 {
				f := &o.fields[n]
				code = append(code, instr{op: iOrI, d: slot(f.h.base + relDirty), imm: 1 << f.dirty})
			}
		}
		return code
	})
}

// shorten replaces instructions by equivalent faster ones.
func (o *optimiser) shorten() {
	for i := range o.code {
		in := &o.code[i]
		if width, bit := in.n(), in.m(); in.op == iLook && bit%8+width <= 64 && bit/8 < firstConst {
			*in = instr{op: iPeek, d: in.d, b: slot(bit / 8), imm: uint64(bit%8) | uint64(64-width)<<8}
		}
	}
}

// inWindow reports whether one instruction can load the field.
func (f *lazyField) inWindow() bool {
	return f.load.bit%8+int(f.load.width) <= 64 && !f.load.sign && f.load.bit/8 < firstConst
}

// loadInstr returns the instruction that loads the field.
func (f *lazyField) loadInstr() instr {
	return instr{op: iField, d: slot(f.slot), a: slot(f.h.base + relOffset), b: slot(f.load.bit / 8),
		imm: uint64(f.load.bit%8) | uint64(64-f.load.width)<<8}
}

// liveness returns the slots that are live before each instruction.
func (o *optimiser) liveness() []bitset {
	words := len(newBitset(o.n))
	memory := make(bitset, (len(o.code)+1)*words)
	live := make([]bitset, len(o.code))
	for i := range live {
		live[i] = memory[i*words : (i+1)*words]
	}
	now := memory[len(o.code)*words:]
	var list []int
	for again := true; again; {
		again = false
		for si := len(o.sections) - 1; si >= 0; si-- {
			s := &o.sections[si]
			for i := s.end - 1; i >= s.start; i-- {
				clear(now)
				if o.code[i].op == iEnd {
					o.atEnd(s, func(slot int) { now.add(slot) })
					o.after(s, func(next *section) { now.or(live[next.start]) })
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
	gone := make([]bool, len(o.code))
	for i := range gone {
		e := o.effectsOf(i)
		gone[i] = e.pure && len(e.defs) > 0 && !slices.ContainsFunc(e.defs, live[i+1].has)
	}
	o.remove(gone)
	return slices.Contains(gone, true)
}

// prune removes fields from extractions that are never read.
func (o *optimiser) prune(live []bitset) {
	for i := range o.code {
		in := &o.code[i]
		if in.op != iExtract {
			continue
		}
		x := &o.prog.extracts[in.imm]
		h := o.atBase[x.base]
		if h == nil || !o.simple[h] {
			continue
		}
		x.loads = nil
		for j := range x.typ.loads {
			mv := &x.typ.loads[j]
			s := h.base + int(mv.rel)
			if !o.fields[o.fieldOf[s]].inWindow() && live[i+1].has(s) {
				x.loads = append(x.loads, *mv)
			}
		}
		if len(x.loads) == 0 && x.bytes < firstConst {
			*in = instr{op: iTake, d: slot(x.base), imm: in.imm, b: slot(x.bytes)}
		}
	}
}

// keepOnly determines the slots that are cleared for a new packet and those
// that are kept in a queue. It makes the architecture omit unused fields. code
// is the liveness without the deparser's reads of valid headers' fields, which
// were written when the header became valid.
func (o *optimiser) keepOnly(live, code []bitset) {
	p := o.prog
	fresh := slices.Clone(code[o.section(sectionParse, in).start])
	if o.prog.arch == &tna {
		fresh.or(code[o.section(sectionParse, out).start])
	}
	clears(p, fresh)
	for _, h := range o.order {
		h.simple = o.simple[h]
	}
	for g := range gresses {
		for i := range p.deparse[g] {
			if e := &p.deparse[g][i]; e.h.simple {
				e.always = 0
			}
		}
	}
	read, written := o.touched()
	for name, at := range p.fields {
		if !read.has(at.slot) {
			delete(p.fields, name)
		}
	}
	if o.prog.arch == &tna {
		return
	}
	egress := o.section(sectionPipeline, out)
	bytes := o.values()[egress.start].bytes
	set := map[int]bool{}
	for _, name := range o.prog.arch.sets {
		if at, ok := p.fields[name]; ok {
			set[at.slot] = true
		}
	}
	always := code[egress.start]
	always.add(p.sys + sysLength)
	size := slotBits(o.draft)
	sets := map[*header]*keptSet{nil: &p.kept}
	now := live[egress.start]
	now.or(always)
	now.each(func(s int) {
		n := o.fieldOf[s]
		if s >= p.fieldsEnd || set[s] || n >= 0 && o.inBytes(n, bytes) {
			return
		}
		var h *header
		if !always.has(s) {
			h = o.headerOf(s)
		}
		if sets[h] == nil {
			sets[h] = &keptSet{valid: slot(h.base + relValid)}
		}
		if written.has(s) {
			sets[h].add(s, size[s])
		} else {
			sets[h].zero = append(sets[h].zero, slot(s))
		}
	})
	total := 0
	for _, h := range o.order {
		switch k := sets[h]; {
		case k == nil:
		case k.slots()+len(k.zero) <= fewKept:
			p.kept.join(k)
		default:
			p.keptOf = append(p.keptOf, *k)
			total += k.bytes()
		}
	}
	total += p.kept.bytes()
	p.keptWords = (total + 7) / 8
}

// headerOf returns the simple header with a slot.
func (o *optimiser) headerOf(s int) *header {
	for h := range o.simple {
		if s >= h.base && s < h.base+h.typ.size {
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
		for i := s.start; i < s.end; i++ {
			e := o.effectsOf(i)
			for _, s := range e.uses {
				read.add(s)
			}
			if (s.gress == in || o.cloned) && s.kind != sectionFinish {
				for _, s := range e.defs {
					written.add(s)
				}
			}
		}
		o.atEnd(s, read.add)
	}
	for _, t := range o.prog.Tables {
		for _, s := range []int{t.meterSlot, t.entrySlot} {
			if s >= 0 {
				written.add(s)
			}
		}
	}
	for _, at := range o.prog.fields {
		for i := range at.limbs {
			written.add(at.slot + i)
		}
	}
	for s := o.prog.sys; s < o.prog.sys+sysExit; s++ {
		written.add(s)
	}
	// Headers change in more ways than defs has. Only assignments set the marks of
	// stores.
	marks := map[int]bool{}
	for h := range o.simple {
		marks[h.base+relDirty] = true
	}
	assigned := func(s int) bool {
		before := []*section{o.section(sectionParse, in), o.section(sectionPipeline, in)}
		if o.cloned {
			before = append(before, o.section(sectionPipeline, out))
		}
		for _, x := range before {
			for i := x.start; i < x.end; i++ {
				if o.code[i].op == iOrI && int(o.code[i].d) == s {
					return true
				}
			}
		}
		return false
	}
	for s := o.prog.metadataEnd; s < o.prog.fieldsEnd; s++ {
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
func slotBits(d *draft) []int {
	n := make([]int, d.prog.fieldsEnd)
	for i := range n {
		n[i] = 64
	}
	for _, s := range []int{sysPayload, sysTruncate, sysLength, sysIngressLen} { // bytes of a packet
		n[d.prog.sys+s] = 32
	}
	n[d.prog.sys+sysExit] = 1
	for _, h := range d.order {
		if h.slots == nil {
			n[h.base+relValid] = 1
			n[h.base+relOffset] = 32
			n[h.base+relDirty] = min(64, len(h.typ.stores))
		}
		for i := range h.typ.fields {
			if f := &h.typ.fields[i]; h.field(i) != noSlot && !f.signed && f.width > 0 && f.width <= 64 {
				n[h.field(i)] = f.width
			}
		}
	}
	return n
}
