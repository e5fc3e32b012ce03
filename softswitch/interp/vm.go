// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"encoding/binary"
	"math/big"
	"unsafe"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// maxSteps limits the backward jumps of one packet in a parser or an action: a
// parser state that extracts nothing and is repeated, or an infinite loop.
// Otherwise no packet is long enough to reach it.
const maxSteps = 1 << 16

// phase is a part of a program that is executed as a whole, such as a parser: its
// first instruction, and the address of its code, zero if it is interpreted.
type phase struct {
	start   int32
	address uintptr
}

// phases are the phases of a program, and the code of its deparsers and of Start.
type phases struct {
	clear, arrive           uintptr
	parse, pipeline, finish [ops.Gresses]phase
	deparse                 [ops.Gresses]ops.Deparser
}

func newPhases(p *ops.Program) (s phases) {
	if n := p.Native; n != nil {
		s.clear, s.arrive, s.deparse = n.Clear, n.Arrive, n.Deparse
	}
	for g := range ops.Gresses {
		s.parse[g], s.pipeline[g], s.finish[g] = newPhase(p, p.Parse[g]), newPhase(p, p.Pipeline[g]), newPhase(p, p.Finish[g])
	}
	return s
}

func newPhase(p *ops.Program, start int32) phase {
	if p.Native == nil {
		return phase{start: start}
	}
	return phase{start, p.Native.Address[start]}
}

// run executes a phase. Code stays in memory as long as its program, and so as long
// as the machine.
func (m *Machine) run(p *phase) {
	if p.address == 0 {
		m.interpret(p.start)
	} else if r := enter(p.address, m); r >= 0 {
		m.assist(r)
	}
}

// interpret executes instructions from start to the next End.
//
// It handles the frequent instructions in one loop without calls that return,
// so that the Go compiler uses a jump table and keeps variables in registers.
// It accesses slots and instructions without bounds checks, which would take as
// long as the instructions themselves. check has verified that all are within
// bounds.
func (m *Machine) interpret(start int32) {
	pc := int(start)
	for pc >= 0 {
		f, code := unsafe.Pointer(unsafe.SliceData(m.f)), unsafe.Pointer(unsafe.SliceData(m.prog.Code))
		ip := at(code, uint64(pc))
		var header uint64 // its offset in the packet
	loop:
		in := (*ops.Instr)(ip)
		ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
		switch in.Op {
		case ops.End:
			return

		case ops.Mov:
			*at64(f, in.D) = *at64(f, in.A) & in.Imm
			goto loop
		case ops.MovI:
			for {
				*at64(f, in.D) = in.Imm
				if in.A == 0 {
					goto loop
				}
				in = (*ops.Instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
			}
		case ops.Add:
			*at64(f, in.D) = (*at64(f, in.A) + *at64(f, in.B)) & in.Imm
			goto loop
		case ops.Sub:
			*at64(f, in.D) = (*at64(f, in.A) - *at64(f, in.B)) & in.Imm
			goto loop
		case ops.Mul:
			*at64(f, in.D) = (*at64(f, in.A) * *at64(f, in.B)) & in.Imm
			goto loop
		case ops.And:
			*at64(f, in.D) = *at64(f, in.A) & *at64(f, in.B) & in.Imm
			goto loop
		case ops.Or:
			*at64(f, in.D) = (*at64(f, in.A) | *at64(f, in.B)) & in.Imm
			goto loop
		case ops.Xor:
			*at64(f, in.D) = (*at64(f, in.A) ^ *at64(f, in.B)) & in.Imm
			goto loop
		case ops.Shl:
			*at64(f, in.D) = *at64(f, in.A) << *at64(f, in.B) & in.Imm
			goto loop
		case ops.Shr:
			*at64(f, in.D) = *at64(f, in.A) >> *at64(f, in.B) & in.Imm
			goto loop
		case ops.Not:
			*at64(f, in.D) = ^*at64(f, in.A) & in.Imm
			goto loop
		case ops.ShlOr:
			*at64(f, in.D) = *at64(f, in.A)<<(in.Imm&63) | *at64(f, in.B)
			goto loop
		case ops.OrI:
			*at64(f, in.D) |= in.Imm
			goto loop
		case ops.USat:
			*at64(f, in.D) = usat(*at64(f, in.A), in.B != 0, in.Imm)
			goto loop

		case ops.Eq:
			*at64(f, in.D) = bit(*at64(f, in.A) == *at64(f, in.B))
			goto loop
		case ops.Ne:
			*at64(f, in.D) = bit(*at64(f, in.A) != *at64(f, in.B))
			goto loop
		case ops.LtU:
			*at64(f, in.D) = bit(*at64(f, in.A) < *at64(f, in.B))
			goto loop
		case ops.LeU:
			*at64(f, in.D) = bit(*at64(f, in.A) <= *at64(f, in.B))
			goto loop
		case ops.LtS:
			*at64(f, in.D) = bit(int64(*at64(f, in.A)) < int64(*at64(f, in.B)))
			goto loop
		case ops.LeS:
			*at64(f, in.D) = bit(int64(*at64(f, in.A)) <= int64(*at64(f, in.B)))
			goto loop

		case ops.Jmp:
			ip = at(code, in.Imm)
			goto loop
		case ops.JZ:
			for *at64(f, in.A) != 0 {
				if in.D == 0 {
					goto loop
				}
				in = (*ops.Instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
			}
			ip = at(code, in.Imm)
			goto loop
		case ops.JNZ:
			if *at64(f, in.A) != 0 {
				ip = at(code, in.Imm)
			}
			goto loop
		case ops.JBytes:
			w := &m.prog.ByteMatches[in.B]
			if from := *at64(f, in.A) - 1; from < uint64(len(m.data)) && from+w.At[1]+8 <= uint64(len(m.data)) {
				if (word(m.data, from+w.At[0])^w.Value[0])&w.Mask[0]|(word(m.data, from+w.At[1])^w.Value[1])&w.Mask[1] == 0 {
					ip = at(code, in.Imm)
				}
				goto loop
			}
		case ops.JEq:
			for *at64(f, in.A) != *at64(f, in.B) {
				if in.D == 0 {
					goto loop
				}
				in = (*ops.Instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
			}
			ip = at(code, in.Imm)
			goto loop
		case ops.JNe:
			if *at64(f, in.A) != *at64(f, in.B) {
				ip = at(code, in.Imm)
			}
			goto loop
		case ops.JLtU:
			if *at64(f, in.A) < *at64(f, in.B) {
				ip = at(code, in.Imm)
			}
			goto loop
		case ops.JLeU:
			for *at64(f, in.A) > *at64(f, in.B) {
				if in.D == 0 {
					goto loop
				}
				in = (*ops.Instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
			}
			ip = at(code, in.Imm)
			goto loop
		case ops.JLtS:
			if int64(*at64(f, in.A)) < int64(*at64(f, in.B)) {
				ip = at(code, in.Imm)
			}
			goto loop
		case ops.JLeS:
			if int64(*at64(f, in.A)) <= int64(*at64(f, in.B)) {
				ip = at(code, in.Imm)
			}
			goto loop

		case ops.Field:
			at := *at64(f, in.A)
			if at == 0 {
				*at64(f, in.D) = 0
				goto loop
			}
			at += uint64(in.B) - 1
			if at+8 <= uint64(len(m.data)) {
				*at64(f, in.D) = word(m.data, at) << (in.Imm & 63) >> (in.Imm >> 8 & 63)
				goto loop
			}
		case ops.Peek:
			if at := m.cur + int(in.B); at+8 <= len(m.data) {
				*at64(f, in.D) = word(m.data, uint64(at)) << (in.Imm & 63) >> (in.Imm >> 8 & 63)
				goto loop
			}
		case ops.Take:
			if next := m.cur + int(in.B); next <= len(m.data) {
				*at64(f, in.D+ops.RelValid), *at64(f, in.D+ops.RelOffset), *at64(f, in.D+ops.RelDirty) = 1, uint64(m.cur)+1, 0
				m.cur = next
				goto loop
			}
		case ops.TakeFields:
			if next := m.cur + int(in.B); next <= len(m.data) {
				header = uint64(m.cur)
				*at64(f, in.D+ops.RelValid), *at64(f, in.D+ops.RelOffset), *at64(f, in.D+ops.RelDirty) = 1, header+1, 0
				m.cur = next
				in = (*ops.Instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
				goto fields
			}
		case ops.Fields:
			if header = *at64(f, in.A); header != 0 {
				header--
				goto fields
			}
		case ops.Movs:
			for n := in.B; ; n-- {
				*at64(f, in.D) = *at64(f, in.A) & in.Imm
				if n == 1 {
					goto loop
				}
				in = (*ops.Instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
			}
		case ops.ShlOrRead:
			i := *at64(f, in.A)<<(in.Imm&63) | *at64(f, in.B)
			*at64(f, in.D) = i
			in = (*ops.Instr)(ip)
			if r := &m.prog.Registers[in.Imm]; i < uint64(r.Narrow) {
				ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
				*at64(f, in.D) = m.cells[r.At+int(i)*r.Step]
				if in.B < ops.SameIndex {
					goto loop
				}
				in = (*ops.Instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
				goto read
			}
			goto loop
		case ops.RegRead:
			goto read
		case ops.RegWrite:
			if r, i := &m.prog.Registers[in.Imm], *at64(f, in.A); i < uint64(r.Narrow) {
				m.cells[r.At+int(i)*r.Step] = *at64(f, in.B)
				goto loop
			}
		}
		goto other

	read:
		for i := *at64(f, in.A); ; {
			r := &m.prog.Registers[in.Imm]
			if i >= uint64(r.Narrow) {
				break
			}
			*at64(f, in.D) = m.cells[r.At+int(i)*r.Step]
			if in.B < ops.SameIndex {
				goto loop
			}
			in = (*ops.Instr)(ip)
			ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
		}
		goto other

	fields:
		if header+uint64(in.LastByte())+8 <= uint64(len(m.data)) {
			b := unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.data)), header)
			for n := in.Run(); ; n-- {
				x := binary.BigEndian.Uint64((*[8]byte)(unsafe.Add(b, uintptr(in.B)))[:])
				*at64(f, in.D) = x << (in.Imm & 63) >> (in.Imm >> 8 & 63)
				if n == 1 {
					goto loop
				}
				in = (*ops.Instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(ops.Instr{}))
			}
		}

	other:
		if in.Op == ops.Apply {
			pc = int(m.applyTable(m.state.Tables[in.Imm]))
			continue
		}
		pc = m.step(in, int((uintptr(ip)-uintptr(code))/unsafe.Sizeof(ops.Instr{})))
	}
}

// at returns the address of an instruction, and at64 that of a slot.
func at(code unsafe.Pointer, pc uint64) unsafe.Pointer {
	return unsafe.Add(code, uintptr(pc)*unsafe.Sizeof(ops.Instr{}))
}

// word returns the eight bytes of b from at, which must exist.
func word(b []byte, at uint64) uint64 {
	return binary.BigEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), at))[:])
}

func at64(f unsafe.Pointer, s ops.Slot) *uint64 { return (*uint64)(unsafe.Add(f, uintptr(s)*8)) }

// step executes an instruction that run does not handle, and returns the next
// instruction: pc, unless the instruction changes it, or −1 for none.
func (m *Machine) step(in *ops.Instr, pc int) int {
	f := m.f
	switch in.Op {
	case ops.Div:
		f[in.D] = 0
		if b := f[in.B]; b != 0 {
			f[in.D] = f[in.A] / b & in.Imm
		}
	case ops.Mod:
		if b := f[in.B]; b != 0 {
			f[in.D] = f[in.A] % b & in.Imm
		} else {
			f[in.D] = 0
		}
	case ops.Sar:
		f[in.D] = uint64(int64(f[in.A])>>f[in.B]) & in.Imm
	case ops.Sext:
		shift := 64 - in.Imm
		f[in.D] = uint64(int64(f[in.A]<<shift) >> shift)
	case ops.SSat:
		f[in.D] = ssat(f[in.A], in.B != 0, in.Imm)
	case ops.Back:
		if m.steps++; m.steps > maxSteps {
			m.fail("a loop does not end")
			return -1
		}
		return int(in.Imm)

	case ops.Elem:
		if i := f[in.A]; i < uint64(in.K()) {
			f[in.D] = uint64(in.N()) + i*uint64(in.M())
		} else {
			f[in.D] = ops.Nowhere
		}
	case ops.Load:
		if base := f[in.A]; base != ops.Nowhere {
			f[in.D] = f[base+in.Imm]
		} else {
			f[in.D] = 0
		}
	case ops.Store:
		if base := f[in.A]; base != ops.Nowhere {
			f[base+in.Imm] = f[in.B]
		}

	case ops.AddHeader:
		m.addHeader(f[in.A], &m.prog.HeaderOps[in.Imm], true)
	case ops.AddValid:
		m.addHeader(f[in.A], &m.prog.HeaderOps[in.Imm], false)
	case ops.RemoveHeader:
		m.removeHeader(f[in.A], &m.prog.HeaderOps[in.Imm])
	case ops.CopyHeader:
		m.copyHeader(f[in.A], f[in.B], &m.prog.HeaderOps[in.Imm])
	case ops.HeaderEq:
		f[in.D] = bit(m.headersEqual(f[in.A], f[in.B], m.prog.HeaderOps[in.Imm].Type))
	case ops.Varbit:
		a, b := f[in.A], f[in.B]
		if a == ops.Nowhere || b == ops.Nowhere {
			break
		}
		f[a+ops.RelVarLen], f[a+ops.RelVarOff], f[a+ops.RelOffset] = f[b+ops.RelVarLen], f[b+ops.RelVarOff], 0
	case ops.VarEq:
		f[in.D] = bit(m.varbitsEqual(f[in.A], f[in.B]))
	case ops.Push:
		m.push(&m.prog.StackOps[in.Imm], f[in.B])
	case ops.Pop:
		m.pop(&m.prog.StackOps[in.Imm], f[in.B])
	case ops.CopyStack:
		a, b := &m.prog.StackOps[in.N()], &m.prog.StackOps[in.M()]
		f[a.Next] = f[b.Next]
		copy(f[a.Base:a.Base+a.N*a.Stride], f[b.Base:b.Base+b.N*b.Stride])

	case ops.RegRead:
		r := m.state.Registers[in.Imm]
		if i := f[in.A]; i < uint64(r.Info.Size) {
			copy(f[in.D:], r.Cell(int(i)))
		} else if in.B&^ops.SameIndex != 0 {
			clear(f[in.D : int(in.D)+r.Limbs()])
		}
	case ops.RegWrite:
		r := m.state.Registers[in.Imm]
		if i := f[in.A]; i < uint64(r.Info.Size) {
			copy(r.Cell(int(i)), f[in.B:])
		}
	case ops.Random:
		if lo, hi := f[in.A], f[in.B]; lo <= hi {
			f[in.D] = m.state.rng.Between(lo, hi)
		}
	case ops.Hash:
		size := f[in.B]
		if size == 0 {
			size = 1
		}
		f[in.D] = f[in.A] + m.hash(int(in.Imm))%size
	case ops.Whole:
		f[in.D] = m.hash(int(in.Imm))
	case ops.Math:
		f[in.D] = m.prog.MathUnits[in.Imm].Execute(f[in.A])
	case ops.Count:
		if c := m.state.Counters[in.Imm].cell(f[in.A]); c != nil {
			c.Packets++
			c.Bytes += m.lengthWithout(f[in.B])
		}
	case ops.Meter:
		a := &m.state.Meters[in.Imm]
		if c := a.cell(f[in.A]); c != nil {
			bytes := m.lengthWithout(f[in.B] >> ops.ColourBits)
			n := uint64(1)
			if a.Info.Bytes {
				n = bytes
			}
			f[in.D] = c.Execute(n, bytes, min(f[in.B]&(1<<ops.ColourBits-1), Red), m.Now)
		}
	case ops.Clone:
		m.Ask.Any, m.Ask.Clone = true, true
		m.Ask.CloneSession, m.Ask.CloneList = uint16(f[in.A])&0x7fff, int(f[in.B]&0xffff)
	case ops.Mirror:
		m.Ask.Any, m.Ask.Mirror = true, true
		m.Ask.MirrorSession, m.Ask.MirrorList = uint16(f[in.A]), int(f[in.B]&0xffff)
	case ops.Resubmit:
		m.Ask.Any = true
		m.Ask.Resubmit = int(f[in.A] & 0xffff)
	case ops.Recirc:
		m.Ask.Any = true
		m.Ask.Recirculate = int(f[in.A] & 0xffff)
	case ops.Digest:
		m.Ask.Any = true
		m.Ask.Digest = int(f[in.A] & 0xffff)
	case ops.Truncate:
		m.Truncate(int(min(f[in.A], 1<<30)))
	case ops.Drop:
		if m.egressSpec >= 0 {
			f[m.egressSpec] = m.DropPort
		}
		if m.mcastGroup >= 0 {
			f[m.mcastGroup] = 0
		}
	case ops.DropPort:
		f[in.D] = m.DropPort
	case ops.Log:
		if m.Log != nil {
			msg := &m.prog.Messages[in.Imm]
			m.Log(m.format(msg))
		}
	case ops.Assert:
		if f[in.A] == 0 {
			msg := &m.prog.Messages[in.Imm]
			if msg.Pos != "" {
				m.fail(msg.Pos + ": " + msg.Text)
			} else {
				m.fail(msg.Text)
			}
		}

	case ops.JBytes: // near the end of the bytes in memory
		w := &m.prog.ByteMatches[in.B]
		if (m.wordOf(f[in.A], w.At[0])^w.Value[0])&w.Mask[0]|(m.wordOf(f[in.A], w.At[1])^w.Value[1])&w.Mask[1] == 0 {
			pc = int(in.Imm)
		}

	case ops.Peek:
		if !m.look(int(in.D), 64-int(in.Imm>>8), 8*int(in.B)+int(in.Imm&63)) {
			m.Ask.ParserError = m.prog.ErrShort
			pc = int(m.parseEnd)
		}
	case ops.Take, ops.TakeFields:
		if code := m.extract(&m.prog.Extracts[in.Imm], 0); code >= 0 {
			m.Ask.ParserError = code
			pc = int(m.parseEnd)
		}

	case ops.Field, ops.Fields: // near the end of the bytes in memory, or of a header that was not extracted
		for n := range in.Run() {
			x := &m.prog.Code[pc-1+n]
			f[x.D] = m.field(x)
		}
		pc += in.Run() - 1

	case ops.Extract:
		x := &m.prog.Extracts[in.Imm]
		var varBits uint64
		if x.Varbit {
			varBits = f[in.A]
		}
		if code := m.extract(x, varBits); code >= 0 {
			m.Ask.ParserError = code
			pc = int(m.parseEnd)
		}
	case ops.Look:
		if !m.look(int(in.D), in.N(), in.M()) {
			m.Ask.ParserError = m.prog.ErrShort
			pc = int(m.parseEnd)
		}
	case ops.Advance:
		switch bits := f[in.A]; {
		case bits%8 != 0:
			m.Ask.ParserError = m.prog.ErrArgument
			pc = int(m.parseEnd)
		case bits/8 > uint64(m.frame.Len()-m.cur):
			m.Ask.ParserError = m.prog.ErrShort
			pc = int(m.parseEnd)
		default:
			m.materialise(int(bits / 8))
			m.cur += int(bits / 8)
		}
	case ops.Fail:
		m.Ask.ParserError = int(f[in.A])
		pc = int(m.parseEnd)
	case ops.JMatch:
		w := &m.prog.Matches[in.Imm]
		if matches(f[in.A:int(in.A)+len(w.Value)], w) {
			pc = int(w.To)
		}
	case ops.VSet:
		j := &m.prog.VSetJumps[in.Imm]
		if _, ok := m.state.VSets[j.VSet].index.Lookup(f[in.A : int(in.A)+j.Limbs]); ok {
			pc = int(j.To)
		}
	case ops.Switch:
		s := m.prog.Switches[in.Imm]
		if i, ok := s.Index.Lookup1(f[in.A]); ok {
			pc = int(s.To[i])
		}
	case ops.State:
		if m.steps++; m.steps > maxSteps {
			m.Ask.ParserError = m.prog.ErrTimeout
			pc = int(m.parseEnd)
		}
	case ops.Verify:
		k := &m.prog.Checksums[in.Imm]
		f[m.prog.Sys+ops.SysPayload] = uint64(m.cur)
		if (k.Valid == ops.NoValid || f[k.Valid] != 0) && m.hash(k.Calc) != f[k.Target.Slot]&ops.MaskOf(k.Target.Width) {
			m.Ask.ChecksumError = true
		}
	case ops.Update:
		k := &m.prog.Checksums[in.Imm]
		f[k.Target.Slot] = m.hash(k.Calc) & ops.MaskOf(k.Target.Width)
	case ops.Trace:
		if msg := &m.prog.Messages[in.Imm]; m.Trace != nil && (msg.Invalid == nil || f[msg.Invalid.Base+ops.RelValid] == 0) {
			m.Trace(m.format(msg))
		}
	default:
		m.runWide(in)
	}
	return pc
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func usat(x uint64, signed bool, most uint64) uint64 {
	if signed && int64(x) < 0 {
		return 0
	}
	return min(x, most)
}

func ssat(x uint64, signed bool, width uint64) uint64 {
	most := int64(1)<<(width-1) - 1
	switch {
	case !signed:
		return min(x, uint64(most))
	case int64(x) > most:
		return uint64(most)
	case int64(x) < -most-1:
		return uint64(-most - 1)
	}
	return x
}

func matches(key []uint64, w *ops.WideMatch) bool {
	for i, x := range key {
		if x&w.Mask[i] != w.Value[i] {
			return false
		}
	}
	return true
}

// fail records a failed assertion.
func (m *Machine) fail(text string) {
	m.Ask.Any, m.Ask.Failed = true, true
	if m.Log != nil {
		m.Log(text)
	}
}

// units returns the units that a meter counts for the packet.
// lengthWithout returns the packet's length without some bytes.
func (m *Machine) lengthWithout(bytes uint64) uint64 {
	n := m.f[m.prog.Sys+ops.SysIngressLen]
	return n - min(n, bytes)
}

func (m *Machine) units(info *MeterInfo) uint64 {
	if info.Bytes {
		return m.f[m.prog.Sys+ops.SysIngressLen]
	}
	return 1
}

// runWide executes an instruction on several limbs.
func (m *Machine) runWide(in *ops.Instr) {
	n := in.N()
	limbs := func(s ops.Slot) []uint64 { return m.f[s : int(s)+n] }
	switch in.Op { // instructions with a result of one limb
	case ops.WEq:
		m.f[in.D] = bit(bitvec.Cmp(limbs(in.A), limbs(in.B)) == 0)
	case ops.WLt, ops.WLe:
		c := bitvec.Cmp(limbs(in.A), limbs(in.B))
		if in.Flag() {
			c = bitvec.CmpSigned(limbs(in.A), limbs(in.B))
		}
		m.f[in.D] = bit(c < 0 || c == 0 && in.Op == ops.WLe)
	case ops.WNonZero:
		m.f[in.D] = bit(!bitvec.IsZero(limbs(in.A)))
	case ops.WShift:
		a := limbs(in.A)
		m.f[in.D] = a[0]
		if !bitvec.IsZero(a[1:]) {
			m.f[in.D] = ops.AllBits
		}
	default:
		m.runWideTo(in, n)
	}
}

// runWideTo executes an instruction with a result of n limbs.
func (m *Machine) runWideTo(in *ops.Instr, n int) {
	limbs := func(s ops.Slot) []uint64 { return m.f[s : int(s)+n] }
	d := limbs(in.D)
	switch in.Op {
	case ops.WExt:
		bitvec.Extend(d, m.f[in.A:int(in.A)+in.M()], in.Flag())
	case ops.WAdd:
		bitvec.Add(d, limbs(in.A), limbs(in.B))
	case ops.WSub:
		bitvec.Sub(d, limbs(in.A), limbs(in.B))
	case ops.WMul:
		bitvec.Mul(d, limbs(in.A), limbs(in.B))
	case ops.WAnd:
		for i, x := range limbs(in.A) {
			d[i] = x & m.f[int(in.B)+i]
		}
	case ops.WOr:
		for i, x := range limbs(in.A) {
			d[i] = x | m.f[int(in.B)+i]
		}
	case ops.WXor:
		for i, x := range limbs(in.A) {
			d[i] = x ^ m.f[int(in.B)+i]
		}
	case ops.WNot:
		for i, x := range limbs(in.A) {
			d[i] = ^x
		}
	case ops.WShl:
		bitvec.Shl(d, limbs(in.A), m.f[in.B])
	case ops.WShr:
		bitvec.Shr(d, limbs(in.A), m.f[in.B], in.Flag())
	case ops.WDiv, ops.WMod:
		divide(d, limbs(in.A), limbs(in.B), in.Op == ops.WMod)
	case ops.WMask:
		bitvec.Mask(d, in.M())
	case ops.WSext:
		bitvec.SignExtend(d, in.M())
	case ops.WUSat:
		if in.Flag() && int64(d[n-1]) < 0 {
			clear(d)
		} else if bitvec.BitLen(d) > in.M() {
			saturate(d, in.M())
		}
	case ops.WSSat:
		neg := in.Flag() && int64(d[n-1]) < 0
		if neg {
			for i := range d {
				d[i] = ^d[i]
			}
		}
		if bitvec.BitLen(d) > in.M()-1 {
			saturate(d, in.M()-1)
		}
		if neg {
			for i := range d {
				d[i] = ^d[i]
			}
		}
	default:
		panic("BUG: no execution of " + in.Op.String())
	}
}

// saturate sets d to the largest number of width bits.
func saturate(d []uint64, width int) {
	for i := range d {
		d[i] = ops.AllBits
	}
	bitvec.Mask(d, width)
}

// divide is the only wide operation that allocates. P4 allows division only by
// constants, which compilers fold.
func divide(d, a, b []uint64, mod bool) {
	if bitvec.IsZero(b) {
		clear(d)
		return
	}
	x := new(big.Int).SetBytes(bitvec.AppendBytes(nil, a, 8*len(a)))
	y := new(big.Int).SetBytes(bitvec.AppendBytes(nil, b, 8*len(b)))
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	if mod {
		q = r
	}
	bitvec.FromBytes(d, q.Bytes())
}
