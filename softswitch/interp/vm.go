// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"encoding/binary"
	"math/big"
	"unsafe"

	"github.com/pauseless/pauseless/internal/bitvec"
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
	parse, pipeline, finish [gresses]phase
	deparse                 [gresses]deparser
}

func newPhases(p *Program) (s phases) {
	if n := p.native; n != nil {
		s.clear, s.arrive, s.deparse = n.clear, n.arrive, n.deparse
	}
	for g := range gresses {
		s.parse[g], s.pipeline[g], s.finish[g] = newPhase(p, p.parse[g]), newPhase(p, p.pipeline[g]), newPhase(p, p.finish[g])
	}
	return s
}

func newPhase(p *Program, start int32) phase {
	if p.native == nil {
		return phase{start: start}
	}
	return phase{start, p.native.address[start]}
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

// interpret executes instructions from start to the next iEnd.
//
// It handles the frequent instructions in one loop without calls that return,
// so that the Go compiler uses a jump table and keeps variables in registers.
// It accesses slots and instructions without bounds checks, which would take as
// long as the instructions themselves. check has verified that all are within
// bounds.
func (m *Machine) interpret(start int32) {
	pc := int(start)
	for pc >= 0 {
		f, code := unsafe.Pointer(unsafe.SliceData(m.f)), unsafe.Pointer(unsafe.SliceData(m.prog.code))
		ip := at(code, uint64(pc))
		var header uint64 // its offset in the packet
	loop:
		in := (*instr)(ip)
		ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
		switch in.op {
		case iEnd:
			return

		case iMov:
			*at64(f, in.d) = *at64(f, in.a) & in.imm
			goto loop
		case iMovI:
			for {
				*at64(f, in.d) = in.imm
				if in.a == 0 {
					goto loop
				}
				in = (*instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
			}
		case iAdd:
			*at64(f, in.d) = (*at64(f, in.a) + *at64(f, in.b)) & in.imm
			goto loop
		case iSub:
			*at64(f, in.d) = (*at64(f, in.a) - *at64(f, in.b)) & in.imm
			goto loop
		case iMul:
			*at64(f, in.d) = (*at64(f, in.a) * *at64(f, in.b)) & in.imm
			goto loop
		case iAnd:
			*at64(f, in.d) = *at64(f, in.a) & *at64(f, in.b) & in.imm
			goto loop
		case iOr:
			*at64(f, in.d) = (*at64(f, in.a) | *at64(f, in.b)) & in.imm
			goto loop
		case iXor:
			*at64(f, in.d) = (*at64(f, in.a) ^ *at64(f, in.b)) & in.imm
			goto loop
		case iShl:
			*at64(f, in.d) = *at64(f, in.a) << *at64(f, in.b) & in.imm
			goto loop
		case iShr:
			*at64(f, in.d) = *at64(f, in.a) >> *at64(f, in.b) & in.imm
			goto loop
		case iNot:
			*at64(f, in.d) = ^*at64(f, in.a) & in.imm
			goto loop
		case iShlOr:
			*at64(f, in.d) = *at64(f, in.a)<<(in.imm&63) | *at64(f, in.b)
			goto loop
		case iOrI:
			*at64(f, in.d) |= in.imm
			goto loop
		case iUSat:
			*at64(f, in.d) = usat(*at64(f, in.a), in.b != 0, in.imm)
			goto loop

		case iEq:
			*at64(f, in.d) = bit(*at64(f, in.a) == *at64(f, in.b))
			goto loop
		case iNe:
			*at64(f, in.d) = bit(*at64(f, in.a) != *at64(f, in.b))
			goto loop
		case iLtU:
			*at64(f, in.d) = bit(*at64(f, in.a) < *at64(f, in.b))
			goto loop
		case iLeU:
			*at64(f, in.d) = bit(*at64(f, in.a) <= *at64(f, in.b))
			goto loop
		case iLtS:
			*at64(f, in.d) = bit(int64(*at64(f, in.a)) < int64(*at64(f, in.b)))
			goto loop
		case iLeS:
			*at64(f, in.d) = bit(int64(*at64(f, in.a)) <= int64(*at64(f, in.b)))
			goto loop

		case iJmp:
			ip = at(code, in.imm)
			goto loop
		case iJZ:
			for *at64(f, in.a) != 0 {
				if in.d == 0 {
					goto loop
				}
				in = (*instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
			}
			ip = at(code, in.imm)
			goto loop
		case iJNZ:
			if *at64(f, in.a) != 0 {
				ip = at(code, in.imm)
			}
			goto loop
		case iJBytes:
			w := &m.prog.byteMatches[in.b]
			if from := *at64(f, in.a) - 1; from < uint64(len(m.data)) && from+w.at[1]+8 <= uint64(len(m.data)) {
				if (word(m.data, from+w.at[0])^w.value[0])&w.mask[0]|(word(m.data, from+w.at[1])^w.value[1])&w.mask[1] == 0 {
					ip = at(code, in.imm)
				}
				goto loop
			}
		case iJEq:
			for *at64(f, in.a) != *at64(f, in.b) {
				if in.d == 0 {
					goto loop
				}
				in = (*instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
			}
			ip = at(code, in.imm)
			goto loop
		case iJNe:
			if *at64(f, in.a) != *at64(f, in.b) {
				ip = at(code, in.imm)
			}
			goto loop
		case iJLtU:
			if *at64(f, in.a) < *at64(f, in.b) {
				ip = at(code, in.imm)
			}
			goto loop
		case iJLeU:
			for *at64(f, in.a) > *at64(f, in.b) {
				if in.d == 0 {
					goto loop
				}
				in = (*instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
			}
			ip = at(code, in.imm)
			goto loop
		case iJLtS:
			if int64(*at64(f, in.a)) < int64(*at64(f, in.b)) {
				ip = at(code, in.imm)
			}
			goto loop
		case iJLeS:
			if int64(*at64(f, in.a)) <= int64(*at64(f, in.b)) {
				ip = at(code, in.imm)
			}
			goto loop

		case iField:
			at := *at64(f, in.a)
			if at == 0 {
				*at64(f, in.d) = 0
				goto loop
			}
			at += uint64(in.b) - 1
			if at+8 <= uint64(len(m.data)) {
				*at64(f, in.d) = word(m.data, at) << (in.imm & 63) >> (in.imm >> 8 & 63)
				goto loop
			}
		case iPeek:
			if at := m.cur + int(in.b); at+8 <= len(m.data) {
				*at64(f, in.d) = word(m.data, uint64(at)) << (in.imm & 63) >> (in.imm >> 8 & 63)
				goto loop
			}
		case iTake:
			if next := m.cur + int(in.b); next <= len(m.data) {
				*at64(f, in.d+relValid), *at64(f, in.d+relOffset), *at64(f, in.d+relDirty) = 1, uint64(m.cur)+1, 0
				m.cur = next
				goto loop
			}
		case iTakeFields:
			if next := m.cur + int(in.b); next <= len(m.data) {
				header = uint64(m.cur)
				*at64(f, in.d+relValid), *at64(f, in.d+relOffset), *at64(f, in.d+relDirty) = 1, header+1, 0
				m.cur = next
				in = (*instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
				goto fields
			}
		case iFields:
			if header = *at64(f, in.a); header != 0 {
				header--
				goto fields
			}
		case iMovs:
			for n := in.b; ; n-- {
				*at64(f, in.d) = *at64(f, in.a) & in.imm
				if n == 1 {
					goto loop
				}
				in = (*instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
			}
		case iShlOrRead:
			i := *at64(f, in.a)<<(in.imm&63) | *at64(f, in.b)
			*at64(f, in.d) = i
			in = (*instr)(ip)
			if r := &m.prog.Registers[in.imm]; i < uint64(r.narrow) {
				ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
				*at64(f, in.d) = m.cells[r.at+int(i)*r.step]
				if in.b < sameIndex {
					goto loop
				}
				in = (*instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
				goto read
			}
			goto loop
		case iRegRead:
			goto read
		case iRegWrite:
			if r, i := &m.prog.Registers[in.imm], *at64(f, in.a); i < uint64(r.narrow) {
				m.cells[r.at+int(i)*r.step] = *at64(f, in.b)
				goto loop
			}
		}
		goto other

	read:
		for i := *at64(f, in.a); ; {
			r := &m.prog.Registers[in.imm]
			if i >= uint64(r.narrow) {
				break
			}
			*at64(f, in.d) = m.cells[r.at+int(i)*r.step]
			if in.b < sameIndex {
				goto loop
			}
			in = (*instr)(ip)
			ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
		}
		goto other

	fields:
		if header+uint64(in.lastByte())+8 <= uint64(len(m.data)) {
			b := unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.data)), header)
			for n := in.run(); ; n-- {
				x := binary.BigEndian.Uint64((*[8]byte)(unsafe.Add(b, uintptr(in.b)))[:])
				*at64(f, in.d) = x << (in.imm & 63) >> (in.imm >> 8 & 63)
				if n == 1 {
					goto loop
				}
				in = (*instr)(ip)
				ip = unsafe.Add(ip, unsafe.Sizeof(instr{}))
			}
		}

	other:
		if in.op == iApply {
			pc = int(m.applyTable(m.state.Tables[in.imm]))
			continue
		}
		pc = m.step(in, int((uintptr(ip)-uintptr(code))/unsafe.Sizeof(instr{})))
	}
}

// at returns the address of an instruction, and at64 that of a slot.
func at(code unsafe.Pointer, pc uint64) unsafe.Pointer {
	return unsafe.Add(code, uintptr(pc)*unsafe.Sizeof(instr{}))
}

// word returns the eight bytes of b from at, which must exist.
func word(b []byte, at uint64) uint64 {
	return binary.BigEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), at))[:])
}

func at64(f unsafe.Pointer, s slot) *uint64 { return (*uint64)(unsafe.Add(f, uintptr(s)*8)) }

// step executes an instruction that run does not handle, and returns the next
// instruction: pc, unless the instruction changes it, or −1 for none.
func (m *Machine) step(in *instr, pc int) int {
	f := m.f
	switch in.op {
	case iDiv:
		f[in.d] = 0
		if b := f[in.b]; b != 0 {
			f[in.d] = f[in.a] / b & in.imm
		}
	case iMod:
		if b := f[in.b]; b != 0 {
			f[in.d] = f[in.a] % b & in.imm
		} else {
			f[in.d] = 0
		}
	case iSar:
		f[in.d] = uint64(int64(f[in.a])>>f[in.b]) & in.imm
	case iSext:
		shift := 64 - in.imm
		f[in.d] = uint64(int64(f[in.a]<<shift) >> shift)
	case iSSat:
		f[in.d] = ssat(f[in.a], in.b != 0, in.imm)
	case iBack:
		if m.steps++; m.steps > maxSteps {
			m.fail("a loop does not end")
			return -1
		}
		return int(in.imm)

	case iElem:
		if i := f[in.a]; i < uint64(in.k()) {
			f[in.d] = uint64(in.n()) + i*uint64(in.m())
		} else {
			f[in.d] = nowhere
		}
	case iLoad:
		if base := f[in.a]; base != nowhere {
			f[in.d] = f[base+in.imm]
		} else {
			f[in.d] = 0
		}
	case iStore:
		if base := f[in.a]; base != nowhere {
			f[base+in.imm] = f[in.b]
		}

	case iAddHeader:
		m.addHeader(f[in.a], &m.prog.headerOps[in.imm], true)
	case iAddValid:
		m.addHeader(f[in.a], &m.prog.headerOps[in.imm], false)
	case iRemoveHeader:
		m.removeHeader(f[in.a], &m.prog.headerOps[in.imm])
	case iCopyHeader:
		m.copyHeader(f[in.a], f[in.b], &m.prog.headerOps[in.imm])
	case iHeaderEq:
		f[in.d] = bit(m.headersEqual(f[in.a], f[in.b], m.prog.headerOps[in.imm].typ))
	case iVarbit:
		a, b := f[in.a], f[in.b]
		if a == nowhere || b == nowhere {
			break
		}
		f[a+relVarLen], f[a+relVarOff], f[a+relOffset] = f[b+relVarLen], f[b+relVarOff], 0
	case iVarEq:
		f[in.d] = bit(m.varbitsEqual(f[in.a], f[in.b]))
	case iPush:
		m.push(&m.prog.stackOps[in.imm], f[in.b])
	case iPop:
		m.pop(&m.prog.stackOps[in.imm], f[in.b])
	case iCopyStack:
		a, b := &m.prog.stackOps[in.n()], &m.prog.stackOps[in.m()]
		f[a.next] = f[b.next]
		copy(f[a.base:a.base+a.n*a.stride], f[b.base:b.base+b.n*b.stride])

	case iRegRead:
		r := m.state.Registers[in.imm]
		if i := f[in.a]; i < uint64(r.Info.Size) {
			copy(f[in.d:], r.Cell(int(i)))
		} else if in.b&^sameIndex != 0 {
			clear(f[in.d : int(in.d)+r.Limbs()])
		}
	case iRegWrite:
		r := m.state.Registers[in.imm]
		if i := f[in.a]; i < uint64(r.Info.Size) {
			copy(r.Cell(int(i)), f[in.b:])
		}
	case iRandom:
		if lo, hi := f[in.a], f[in.b]; lo <= hi {
			f[in.d] = m.state.rng.between(lo, hi)
		}
	case iHash:
		size := f[in.b]
		if size == 0 {
			size = 1
		}
		f[in.d] = f[in.a] + m.hash(int(in.imm))%size
	case iWhole:
		f[in.d] = m.hash(int(in.imm))
	case iMath:
		f[in.d] = m.prog.mathUnits[in.imm].execute(f[in.a])
	case iCount:
		if c := m.state.Counters[in.imm].cell(f[in.a]); c != nil {
			c.Packets++
			c.Bytes += m.lengthWithout(f[in.b])
		}
	case iMeter:
		a := &m.state.Meters[in.imm]
		if c := a.cell(f[in.a]); c != nil {
			bytes := m.lengthWithout(f[in.b] >> colourBits)
			n := uint64(1)
			if a.Info.Bytes {
				n = bytes
			}
			f[in.d] = c.Execute(n, bytes, min(f[in.b]&(1<<colourBits-1), Red), m.Now)
		}
	case iClone:
		m.Ask.Any, m.Ask.Clone = true, true
		m.Ask.CloneSession, m.Ask.CloneList = uint16(f[in.a])&0x7fff, int(f[in.b]&0xffff)
	case iMirror:
		m.Ask.Any, m.Ask.Mirror = true, true
		m.Ask.MirrorSession, m.Ask.MirrorList = uint16(f[in.a]), int(f[in.b]&0xffff)
	case iResubmit:
		m.Ask.Any = true
		m.Ask.Resubmit = int(f[in.a] & 0xffff)
	case iRecirc:
		m.Ask.Any = true
		m.Ask.Recirculate = int(f[in.a] & 0xffff)
	case iDigest:
		m.Ask.Any = true
		m.Ask.Digest = int(f[in.a] & 0xffff)
	case iTruncate:
		m.Truncate(int(min(f[in.a], 1<<30)))
	case iDrop:
		if m.egressSpec >= 0 {
			f[m.egressSpec] = m.DropPort
		}
		if m.mcastGroup >= 0 {
			f[m.mcastGroup] = 0
		}
	case iDropPort:
		f[in.d] = m.DropPort
	case iLog:
		if m.Log != nil {
			msg := &m.prog.messages[in.imm]
			m.Log(m.format(msg))
		}
	case iAssert:
		if f[in.a] == 0 {
			msg := &m.prog.messages[in.imm]
			if msg.pos != "" {
				m.fail(msg.pos + ": " + msg.text)
			} else {
				m.fail(msg.text)
			}
		}

	case iJBytes: // near the end of the bytes in memory
		w := &m.prog.byteMatches[in.b]
		if (m.wordOf(f[in.a], w.at[0])^w.value[0])&w.mask[0]|(m.wordOf(f[in.a], w.at[1])^w.value[1])&w.mask[1] == 0 {
			pc = int(in.imm)
		}

	case iPeek:
		if !m.look(int(in.d), 64-int(in.imm>>8), 8*int(in.b)+int(in.imm&63)) {
			m.Ask.ParserError = m.prog.errShort
			pc = int(m.parseEnd)
		}
	case iTake, iTakeFields:
		if code := m.extract(&m.prog.extracts[in.imm], 0); code >= 0 {
			m.Ask.ParserError = code
			pc = int(m.parseEnd)
		}

	case iField, iFields: // near the end of the bytes in memory, or of a header that was not extracted
		for n := range in.run() {
			x := &m.prog.code[pc-1+n]
			f[x.d] = m.field(x)
		}
		pc += in.run() - 1

	case iExtract:
		x := &m.prog.extracts[in.imm]
		var varBits uint64
		if x.varbit {
			varBits = f[in.a]
		}
		if code := m.extract(x, varBits); code >= 0 {
			m.Ask.ParserError = code
			pc = int(m.parseEnd)
		}
	case iLook:
		if !m.look(int(in.d), in.n(), in.m()) {
			m.Ask.ParserError = m.prog.errShort
			pc = int(m.parseEnd)
		}
	case iAdvance:
		switch bits := f[in.a]; {
		case bits%8 != 0:
			m.Ask.ParserError = m.prog.errArgument
			pc = int(m.parseEnd)
		case bits/8 > uint64(m.frame.Len()-m.cur):
			m.Ask.ParserError = m.prog.errShort
			pc = int(m.parseEnd)
		default:
			m.materialise(int(bits / 8))
			m.cur += int(bits / 8)
		}
	case iFail:
		m.Ask.ParserError = int(f[in.a])
		pc = int(m.parseEnd)
	case iJMatch:
		w := &m.prog.matches[in.imm]
		if matches(f[in.a:int(in.a)+len(w.value)], w) {
			pc = int(w.to)
		}
	case iVSet:
		j := &m.prog.vsetJumps[in.imm]
		if _, ok := m.state.VSets[j.vset].index.Lookup(f[in.a : int(in.a)+j.limbs]); ok {
			pc = int(j.to)
		}
	case iSwitch:
		s := m.prog.switches[in.imm]
		if i, ok := s.index.Lookup1(f[in.a]); ok {
			pc = int(s.to[i])
		}
	case iState:
		if m.steps++; m.steps > maxSteps {
			m.Ask.ParserError = m.prog.errTimeout
			pc = int(m.parseEnd)
		}
	case iVerify:
		k := &m.prog.checksums[in.imm]
		f[m.prog.sys+sysPayload] = uint64(m.cur)
		if (k.valid == noValid || f[k.valid] != 0) && m.hash(k.calc) != f[k.target.slot]&maskOf(k.target.width) {
			m.Ask.ChecksumError = true
		}
	case iUpdate:
		k := &m.prog.checksums[in.imm]
		f[k.target.slot] = m.hash(k.calc) & maskOf(k.target.width)
	case iTrace:
		if m.Trace != nil {
			m.Trace(m.format(&m.prog.messages[in.imm]))
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

func matches(key []uint64, w *wideMatch) bool {
	for i, x := range key {
		if x&w.mask[i] != w.value[i] {
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
	n := m.f[m.prog.sys+sysIngressLen]
	return n - min(n, bytes)
}

func (m *Machine) units(info *MeterInfo) uint64 {
	if info.Bytes {
		return m.f[m.prog.sys+sysIngressLen]
	}
	return 1
}

// runWide executes an instruction on several limbs.
func (m *Machine) runWide(in *instr) {
	n := in.n()
	limbs := func(s slot) []uint64 { return m.f[s : int(s)+n] }
	switch in.op { // instructions with a result of one limb
	case iWEq:
		m.f[in.d] = bit(bitvec.Cmp(limbs(in.a), limbs(in.b)) == 0)
	case iWLt, iWLe:
		c := bitvec.Cmp(limbs(in.a), limbs(in.b))
		if in.flag() {
			c = bitvec.CmpSigned(limbs(in.a), limbs(in.b))
		}
		m.f[in.d] = bit(c < 0 || c == 0 && in.op == iWLe)
	case iWNonZero:
		m.f[in.d] = bit(!bitvec.IsZero(limbs(in.a)))
	case iWShift:
		a := limbs(in.a)
		m.f[in.d] = a[0]
		if !bitvec.IsZero(a[1:]) {
			m.f[in.d] = allBits
		}
	default:
		m.runWideTo(in, n)
	}
}

// runWideTo executes an instruction with a result of n limbs.
func (m *Machine) runWideTo(in *instr, n int) {
	limbs := func(s slot) []uint64 { return m.f[s : int(s)+n] }
	d := limbs(in.d)
	switch in.op {
	case iWExt:
		bitvec.Extend(d, m.f[in.a:int(in.a)+in.m()], in.flag())
	case iWAdd:
		bitvec.Add(d, limbs(in.a), limbs(in.b))
	case iWSub:
		bitvec.Sub(d, limbs(in.a), limbs(in.b))
	case iWMul:
		bitvec.Mul(d, limbs(in.a), limbs(in.b))
	case iWAnd:
		for i, x := range limbs(in.a) {
			d[i] = x & m.f[int(in.b)+i]
		}
	case iWOr:
		for i, x := range limbs(in.a) {
			d[i] = x | m.f[int(in.b)+i]
		}
	case iWXor:
		for i, x := range limbs(in.a) {
			d[i] = x ^ m.f[int(in.b)+i]
		}
	case iWNot:
		for i, x := range limbs(in.a) {
			d[i] = ^x
		}
	case iWShl:
		bitvec.Shl(d, limbs(in.a), m.f[in.b])
	case iWShr:
		bitvec.Shr(d, limbs(in.a), m.f[in.b], in.flag())
	case iWDiv, iWMod:
		divide(d, limbs(in.a), limbs(in.b), in.op == iWMod)
	case iWMask:
		bitvec.Mask(d, in.m())
	case iWSext:
		bitvec.SignExtend(d, in.m())
	case iWUSat:
		if in.flag() && int64(d[n-1]) < 0 {
			clear(d)
		} else if bitvec.BitLen(d) > in.m() {
			saturate(d, in.m())
		}
	case iWSSat:
		neg := in.flag() && int64(d[n-1]) < 0
		if neg {
			for i := range d {
				d[i] = ^d[i]
			}
		}
		if bitvec.BitLen(d) > in.m()-1 {
			saturate(d, in.m()-1)
		}
		if neg {
			for i := range d {
				d[i] = ^d[i]
			}
		}
	default:
		panic("BUG: no execution of " + in.op.String())
	}
}

// saturate sets d to the largest number of width bits.
func saturate(d []uint64, width int) {
	for i := range d {
		d[i] = allBits
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
