// SPDX-License-Identifier: Apache-2.0

package interp

// effects are the slots that an instruction reads and writes.
type effects struct {
	uses, defs []int
	// pure is true if writing defs is the only effect. spreads is true if it may
	// write other slots, too.
	pure, spreads bool
}

func (e *effects) use(s, n int) {
	for i := range n {
		if s+i < firstConst {
			e.uses = append(e.uses, s+i)
		}
	}
}

func (e *effects) def(s, n int) {
	for i := range n {
		e.defs = append(e.defs, s+i)
	}
}

// block records the use of a header's block, or of all blocks if the position
// is not known.
func (o *optimiser) block(s slot) {
	base, ok := o.constant(s)
	if h := o.atBase[base]; ok && h != nil {
		o.e.use(base, h.typ.size)
		return
	}
	o.e.use(int(s), 1)
	o.blocks()
}

// blocks records the use of the blocks of all headers that are not simple.
func (o *optimiser) blocks() {
	for _, h := range o.order {
		if h.slots == nil && !o.simple[h] {
			o.e.use(h.base, h.typ.size)
		}
	}
}

// effectsOf returns the slots that an instruction reads and writes. A slot that
// it may leave unchanged counts as read.
func (o *optimiser) effectsOf(i int) *effects {
	e, in, p := &o.e, &o.code[i], o.prog
	e.uses, e.defs, e.pure, e.spreads = e.uses[:0], e.defs[:0], false, false
	d, a, b := int(in.d), int(in.a), int(in.b)
	wide := func(limbsA, limbsB, limbsD int) {
		e.use(a, limbsA)
		e.use(b, limbsB)
		e.def(d, limbsD)
		e.pure = true
	}
	sys := func(s int) { e.use(p.sys+s, 1) }
	switch op := in.op; op {
	case iStore, iAddHeader, iAddValid, iRemoveHeader, iCopyHeader, iVarbit, iPush, iPop, iCopyStack, iTruncate:
		e.spreads = true
	}
	switch op := in.op; op {
	case iMovI:
		wide(0, 0, 1)
	case iMov, iNot, iSext, iUSat, iSSat:
		wide(1, 0, 1)
	case iAdd, iSub, iMul, iAnd, iOr, iXor, iShl, iShr, iDiv, iMod, iSar, iEq, iNe, iLtU, iLeU, iLtS, iLeS:
		wide(1, 1, 1)
	case iField:
		wide(1, 0, 1)
	case iShlOr:
		wide(1, 1, 1)
	case iOrI:
		wide(0, 0, 1)
		e.use(d, 1)
	case iEnd, iJmp, iBack, iState, iTrace:
	case iJZ, iJNZ, iJBytes:
		e.use(a, 1)
	case iJEq, iJNe, iJLtU, iJLeU, iJLtS, iJLeS:
		e.use(a, 1)
		e.use(b, 1)
	case iWExt:
		wide(in.m(), 0, in.n())
	case iWAdd, iWSub, iWMul, iWAnd, iWOr, iWXor, iWDiv, iWMod:
		wide(in.n(), in.n(), in.n())
	case iWNot:
		wide(in.n(), 0, in.n())
	case iWShl, iWShr:
		wide(in.n(), 1, in.n())
	case iWMask, iWSext, iWUSat, iWSSat:
		wide(0, 0, in.n())
		e.use(d, in.n())
	case iWEq, iWLt, iWLe:
		wide(in.n(), in.n(), 1)
	case iWNonZero, iWShift:
		wide(in.n(), 0, 1)
	case iElem:
		wide(1, 0, 1)
	case iLoad:
		wide(1, 0, 1)
		o.block(in.a)
	case iStore:
		e.use(a, 1)
		e.use(b, 1)
		o.block(in.a)
	case iAddHeader:
		sys(sysLength)
		if base, ok := o.constant(in.a); ok && o.simple[o.atBase[base]] {
			e.use(base+relValid, 1) // the rest is unchanged or becomes zero
			break
		}
		o.block(in.a)
	case iAddValid:
		o.block(in.a)
	case iRemoveHeader:
		sys(sysLength)
		if base, ok := o.constant(in.a); ok && o.simple[o.atBase[base]] {
			e.use(base+relValid, 1)
			break
		}
		o.block(in.a)
	case iCopyHeader:
		o.block(in.a)
		o.block(in.b)
	case iHeaderEq, iVarEq:
		o.block(in.a)
		o.block(in.b)
		e.def(d, 1)
	case iVarbit:
		o.block(in.a)
		o.block(in.b)
	case iPush, iPop:
		s := &p.stackOps[in.imm]
		e.use(b, 1)
		e.use(s.next, 1)
		e.use(s.base, s.n*s.stride)
	case iCopyStack:
		for _, s := range []*stackOp{&p.stackOps[in.n()], &p.stackOps[in.m()]} {
			e.use(s.next, 1)
			e.use(s.base, s.n*s.stride)
		}
	case iRegRead:
		n := limbsOf(p.Registers[in.imm].Width)
		wide(1, 0, n)
		if in.b == 0 { // beyond the end the destination is unchanged
			e.use(d, n)
		}
	case iRegWrite:
		e.use(a, 1)
		e.use(b, limbsOf(p.Registers[in.imm].Width))
	case iRandom:
		e.use(a, 1)
		e.use(b, 1)
		if !o.always(in) {
			e.use(d, 1)
		}
		e.def(d, 1)
	case iHash:
		e.use(a, 1)
		e.use(b, 1)
		e.def(d, 1)
		o.calculation(int(in.imm))
	case iWhole:
		e.def(d, 1)
		o.calculation(int(in.imm))
	case iMath:
		e.use(a, 1)
		e.def(d, 1)
	case iCount:
		e.use(a, 1)
		e.use(b, 1)
		sys(sysIngressLen)
	case iMeter:
		e.use(a, 1)
		e.use(b, 1)
		sys(sysIngressLen)
		e.use(d, 1)
		e.def(d, 1)
	case iClone, iMirror:
		e.use(a, 1)
		e.use(b, 1)
	case iResubmit, iRecirc, iDigest, iFail, iAdvance, iSwitch:
		e.use(a, 1)
	case iTruncate:
		e.use(a, 1)
		sys(sysTruncate)
	case iDrop:
		for _, name := range []string{o.prog.arch.egressSpec, o.prog.arch.multicastGroup} {
			if f, ok := p.Field(name); ok {
				e.def(f.slot, 1)
			}
		}
	case iDropPort:
		e.def(d, 1)
		e.pure = true
	case iLog:
		for _, f := range p.messages[in.imm].args {
			e.use(f.slot, f.limbs)
		}
	case iAssert:
		e.use(a, 1)
	case iExtract, iTake:
		o.extraction(in, e)
	case iLook:
		e.def(d, limbsOf(in.n()))
	case iPeek:
		e.def(d, 1)
	case iJMatch:
		e.use(a, len(p.matches[in.imm].value))
	case iVSet:
		e.use(a, p.vsetJumps[in.imm].limbs)
	case iApply:
		o.application(p.Tables[in.imm])
	case iVerify, iUpdate:
		k := &p.checksums[in.imm]
		o.calculation(k.calc)
		if k.valid != noValid {
			e.use(int(k.valid), 1)
		}
		if op == iUpdate {
			e.def(k.target.slot, 1)
		} else {
			e.use(k.target.slot, 1)
			e.def(p.sys+sysPayload, 1)
		}
	default:
		panic("BUG: no effects of " + op.String())
	}
	return e
}

func (o *optimiser) extraction(in *instr, e *effects) {
	x := &o.prog.extracts[in.imm]
	if x.varbit {
		e.use(int(in.a), 1)
	}
	if x.next >= 0 || len(x.siblings) > 0 || x.varbit {
		if x.next >= 0 {
			e.use(x.next, 1)
		}
		o.blocks()
		e.spreads = true
		return
	}
	e.def(x.base, x.typ.size)
}

func (o *optimiser) calculation(n int) {
	k := &o.prog.calcs[n]
	for i := range k.inputs {
		in := &k.inputs[i]
		if in.valid != noValid {
			o.e.use(int(in.valid), 1)
		}
		switch {
		case in.header != nil:
			o.e.use(in.header.base, in.header.typ.size)
		case in.value == nil:
			o.e.use(int(in.slot), int(in.limbs))
		}
	}
	if k.payload {
		o.e.use(o.prog.sys+sysPayload, 1)
	}
}

func (o *optimiser) application(t *TableInfo) {
	for _, p := range t.parts {
		o.e.use(int(p.slot), 1)
		if p.valid != noValid {
			o.e.use(int(p.valid), 1)
		}
	}
	if t.Profile >= 0 {
		if s := o.prog.Profiles[t.Profile].selector; s >= 0 {
			o.calculation(s)
		}
	}
	if t.meterSlot >= 0 {
		o.e.use(t.meterSlot, 1) // a miss leaves it unchanged
	}
	if t.entrySlot >= 0 {
		o.e.def(t.entrySlot, 1)
	}
	if t.meterSlot >= 0 || t.Counters {
		o.e.use(o.prog.sys+sysIngressLen, 1)
	}
	o.e.def(o.params, o.paramSlots)
}
