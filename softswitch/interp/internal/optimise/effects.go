// SPDX-License-Identifier: Apache-2.0

package optimise

import "github.com/pauseless/pauseless/softswitch/interp/internal/ops"

// effects are the slots that an instruction reads and writes.
type effects struct {
	uses, defs []int
	// pure is true if writing defs is the only effect. spreads is true if it may
	// write other slots, too.
	pure, spreads bool
}

func (e *effects) use(s, n int) {
	for i := range n {
		if s+i < ops.FirstConst {
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
func (o *optimiser) block(s ops.Slot) {
	base, ok := o.constant(s)
	if h := o.atBase[base]; ok && h != nil {
		o.e.use(base, h.Type.Size)
		return
	}
	o.e.use(int(s), 1)
	o.blocks()
}

// blocks records the use of the blocks of all headers that are not simple.
func (o *optimiser) blocks() {
	for _, h := range o.Order {
		if h.Slots == nil && !o.simple[h] {
			o.e.use(h.Base, h.Type.Size)
		}
	}
}

// effectsOf returns the slots that an instruction reads and writes. A slot that
// it may leave unchanged counts as read.
func (o *optimiser) effectsOf(i int) *effects {
	e, in, p := &o.e, &o.Code[i], o.Prog
	e.uses, e.defs, e.pure, e.spreads = e.uses[:0], e.defs[:0], false, false
	d, a, b := int(in.D), int(in.A), int(in.B)
	wide := func(limbsA, limbsB, limbsD int) {
		e.use(a, limbsA)
		e.use(b, limbsB)
		e.def(d, limbsD)
		e.pure = true
	}
	sys := func(s int) { e.use(p.Sys+s, 1) }
	switch op := in.Op; op {
	case ops.Store, ops.AddHeader, ops.AddValid, ops.RemoveHeader, ops.CopyHeader, ops.Varbit, ops.Push, ops.Pop, ops.CopyStack, ops.Truncate:
		e.spreads = true
	}
	switch op := in.Op; op {
	case ops.MovI:
		wide(0, 0, 1)
	case ops.Mov, ops.Not, ops.Sext, ops.USat, ops.SSat:
		wide(1, 0, 1)
	case ops.Add, ops.Sub, ops.Mul, ops.And, ops.Or, ops.Xor, ops.Shl, ops.Shr, ops.Div, ops.Mod, ops.Sar, ops.Eq, ops.Ne, ops.LtU, ops.LeU, ops.LtS, ops.LeS:
		wide(1, 1, 1)
	case ops.Field:
		wide(1, 0, 1)
	case ops.ShlOr:
		wide(1, 1, 1)
	case ops.OrI:
		wide(0, 0, 1)
		e.use(d, 1)
	case ops.End, ops.Jmp, ops.Back, ops.State, ops.Trace:
	case ops.JZ, ops.JNZ, ops.JBytes:
		e.use(a, 1)
	case ops.JEq, ops.JNe, ops.JLtU, ops.JLeU, ops.JLtS, ops.JLeS:
		e.use(a, 1)
		e.use(b, 1)
	case ops.WExt:
		wide(in.M(), 0, in.N())
	case ops.WAdd, ops.WSub, ops.WMul, ops.WAnd, ops.WOr, ops.WXor, ops.WDiv, ops.WMod:
		wide(in.N(), in.N(), in.N())
	case ops.WNot:
		wide(in.N(), 0, in.N())
	case ops.WShl, ops.WShr:
		wide(in.N(), 1, in.N())
	case ops.WMask, ops.WSext, ops.WUSat, ops.WSSat:
		wide(0, 0, in.N())
		e.use(d, in.N())
	case ops.WEq, ops.WLt, ops.WLe:
		wide(in.N(), in.N(), 1)
	case ops.WNonZero, ops.WShift:
		wide(in.N(), 0, 1)
	case ops.Elem:
		wide(1, 0, 1)
	case ops.Load:
		wide(1, 0, 1)
		o.block(in.A)
	case ops.Store:
		e.use(a, 1)
		e.use(b, 1)
		o.block(in.A)
	case ops.AddHeader:
		sys(ops.SysLength)
		if base, ok := o.constant(in.A); ok && o.simple[o.atBase[base]] {
			e.use(base+ops.RelValid, 1) // the rest is unchanged or becomes zero
			break
		}
		o.block(in.A)
	case ops.AddValid:
		o.block(in.A)
	case ops.RemoveHeader:
		sys(ops.SysLength)
		if base, ok := o.constant(in.A); ok && o.simple[o.atBase[base]] {
			e.use(base+ops.RelValid, 1)
			break
		}
		o.block(in.A)
	case ops.CopyHeader:
		o.block(in.A)
		o.block(in.B)
	case ops.HeaderEq, ops.VarEq:
		o.block(in.A)
		o.block(in.B)
		e.def(d, 1)
	case ops.Varbit:
		o.block(in.A)
		o.block(in.B)
	case ops.Push, ops.Pop:
		s := &p.StackOps[in.Imm]
		e.use(b, 1)
		e.use(s.Next, 1)
		e.use(s.Base, s.N*s.Stride)
	case ops.CopyStack:
		for _, s := range []*ops.StackOp{&p.StackOps[in.N()], &p.StackOps[in.M()]} {
			e.use(s.Next, 1)
			e.use(s.Base, s.N*s.Stride)
		}
	case ops.RegRead:
		n := ops.LimbsOf(p.Registers[in.Imm].Width)
		wide(1, 0, n)
		if in.B == 0 { // beyond the end the destination is unchanged
			e.use(d, n)
		}
	case ops.RegWrite:
		e.use(a, 1)
		e.use(b, ops.LimbsOf(p.Registers[in.Imm].Width))
	case ops.Random:
		e.use(a, 1)
		e.use(b, 1)
		if !o.always(in) {
			e.use(d, 1)
		}
		e.def(d, 1)
	case ops.Hash:
		e.use(a, 1)
		e.use(b, 1)
		e.def(d, 1)
		o.calculation(int(in.Imm))
	case ops.Whole:
		e.def(d, 1)
		o.calculation(int(in.Imm))
	case ops.Math:
		e.use(a, 1)
		e.def(d, 1)
	case ops.Count:
		e.use(a, 1)
		e.use(b, 1)
		sys(ops.SysIngressLen)
	case ops.Meter:
		e.use(a, 1)
		e.use(b, 1)
		sys(ops.SysIngressLen)
		e.use(d, 1)
		e.def(d, 1)
	case ops.Clone, ops.Mirror:
		e.use(a, 1)
		e.use(b, 1)
	case ops.Resubmit, ops.Recirc, ops.Digest, ops.Fail, ops.Advance, ops.Switch:
		e.use(a, 1)
	case ops.Truncate:
		e.use(a, 1)
		sys(ops.SysTruncate)
	case ops.Drop:
		for _, name := range []string{o.Prog.Arch.EgressSpec, o.Prog.Arch.MulticastGroup} {
			if f, ok := p.Field(name); ok {
				e.def(f.Slot, 1)
			}
		}
	case ops.DropPort:
		e.def(d, 1)
		e.pure = true
	case ops.Log:
		for _, f := range p.Messages[in.Imm].Args {
			e.use(f.Slot, f.Limbs)
		}
	case ops.Assert:
		e.use(a, 1)
	case ops.Extract, ops.Take:
		o.extraction(in, e)
	case ops.Look:
		e.def(d, ops.LimbsOf(in.N()))
	case ops.Peek:
		e.def(d, 1)
	case ops.JMatch:
		e.use(a, len(p.Matches[in.Imm].Value))
	case ops.VSet:
		e.use(a, p.VSetJumps[in.Imm].Limbs)
	case ops.Apply:
		o.application(p.Tables[in.Imm])
	case ops.Verify, ops.Update:
		k := &p.Checksums[in.Imm]
		o.calculation(k.Calc)
		if k.Valid != ops.NoValid {
			e.use(int(k.Valid), 1)
		}
		if op == ops.Update {
			e.def(k.Target.Slot, 1)
		} else {
			e.use(k.Target.Slot, 1)
			e.def(p.Sys+ops.SysPayload, 1)
		}
	default:
		panic("BUG: no effects of " + op.String())
	}
	return e
}

func (o *optimiser) extraction(in *ops.Instr, e *effects) {
	x := &o.Prog.Extracts[in.Imm]
	if x.Varbit {
		e.use(int(in.A), 1)
	}
	if x.Next >= 0 || len(x.Siblings) > 0 || x.Varbit {
		if x.Next >= 0 {
			e.use(x.Next, 1)
		}
		o.blocks()
		e.spreads = true
		return
	}
	e.def(x.Base, x.Type.Size)
}

func (o *optimiser) calculation(n int) {
	k := &o.Prog.Calcs[n]
	for i := range k.Inputs {
		in := &k.Inputs[i]
		if in.Valid != ops.NoValid {
			o.e.use(int(in.Valid), 1)
		}
		switch {
		case in.Header != nil:
			o.e.use(in.Header.Base, in.Header.Type.Size)
		case in.Value == nil:
			o.e.use(int(in.Slot), int(in.Limbs))
		}
	}
	if k.Payload {
		o.e.use(o.Prog.Sys+ops.SysPayload, 1)
	}
}

func (o *optimiser) application(t *ops.TableInfo) {
	for _, p := range t.Parts {
		o.e.use(int(p.Slot), 1)
		if p.Valid != ops.NoValid {
			o.e.use(int(p.Valid), 1)
		}
	}
	if t.Profile >= 0 {
		if s := o.Prog.Profiles[t.Profile].Selector; s >= 0 {
			o.calculation(s)
		}
	}
	if t.MeterSlot >= 0 {
		o.e.use(t.MeterSlot, 1) // a miss leaves it unchanged
	}
	if t.EntrySlot >= 0 {
		o.e.def(t.EntrySlot, 1)
	}
	if t.MeterSlot >= 0 || t.Counters {
		o.e.use(o.Prog.Sys+ops.SysIngressLen, 1)
	}
	o.e.def(o.Params, o.ParamSlots)
}
