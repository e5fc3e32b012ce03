// SPDX-License-Identifier: Apache-2.0

//go:build linux

package interp

import (
	"math/bits"
	"runtime"
	"syscall"
	"unsafe"

	asm "github.com/pauseless/pauseless/internal/amd64"
)

// translate returns the program as instructions of this processor, or nil if the
// system does not let processes make code executable. named keeps what PrintNative needs.
func translate(p *Program, at *offsets, named bool) *native {
	t := &translator{prog: p, at: at, leader: p.leaders(), labels: make([]asm.Label, len(p.code)), bound: map[slot]int{}}
	for i := range t.labels {
		t.labels[i] = t.Label()
	}
	n := &native{address: make([]uintptr, len(p.code))}
	for g := range p.deparse {
		t.deparses[g], t.finds[g] = emits(p.deparse[g]), t.Label()
	}
	t.address = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(n.address))))
	var entries []int
	returned := true // the instruction before was executed by Go
	for i := 0; i < len(p.code); {
		if t.leader[i] || returned {
			t.forgetAll()
			entries = append(entries, i)
		}
		t.Place(t.labels[i])
		i, returned = t.instruction(i)
	}
	end := t.Here()
	arrive := t.arriving()
	t.placeStubs()
	save, restore := t.saving(), t.restoring()
	clears := t.clearing()
	var places [gresses]asm.Label // of deparsers
	for g := range p.deparse {
		places[g] = t.deparsing(g)
	}
	t.Finish()
	code, err := syscall.Mmap(-1, 0, max(1, len(t.Code)), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	copy(code, t.Code)
	if syscall.Mprotect(code, syscall.PROT_READ|syscall.PROT_EXEC) != nil {
		_ = syscall.Munmap(code)
		return nil
	}
	n.code = code
	start := uintptr(unsafe.Pointer(unsafe.SliceData(code)))
	address := func(l asm.Label) uintptr { return start + uintptr(t.Position(l)) }
	for _, i := range entries {
		n.address[i] = address(t.labels[i])
	}
	if named {
		for i := range p.code {
			n.starts = append(n.starts, t.Position(t.labels[i]))
		}
		n.starts, n.memory = append(n.starts, t.Position(end)), t.memory
	}
	n.clear, n.arrive = address(clears), address(arrive)
	n.save, n.restore = t.Position(save), t.Position(restore)
	for g := range n.deparse {
		if t.deparses[g] {
			n.deparse[g] = deparser{find: address(t.finds[g]), place: address(places[g])}
		}
	}
	runtime.AddCleanup(p, func(code []byte) { _ = syscall.Munmap(code) }, code)
	return n
}

// Registers with a fixed use; enter sets them. scratch and asm.CX are free within
// an instruction.
const (
	slots   = asm.DI // the first slot
	machine = asm.SI
	data    = asm.R8  // the packet's first byte
	length  = asm.R9  // and how many there are
	arrays  = asm.R10 // the first cell of the register arrays
	scratch = asm.R11
)

// pool are the registers that hold slots between instructions.
var pool = [...]asm.Reg{asm.AX, asm.DX, asm.BX, asm.R12, asm.R13, asm.R15}

// translator translates a program. A value is stored in its slot at once, so
// registers can be forgotten at any time.
type translator struct {
	asm.Asm
	prog   *Program
	at     *offsets
	leader []bool
	labels []asm.Label
	stubs  []func()
	// address is where native.address is. The garbage collector moves nothing.
	address uint64
	memory  []uint64 // addresses in Go's memory that the code contains

	holds [len(pool)][]slot // slots whose value is in a register of the pool
	used  [len(pool)]int    // when it was used last
	clock int
	// bound has the slots with an offset of a header that is known to exist, and of
	// how many bytes.
	bound map[slot]int
	// deparses is true for deparsers that have code, which begins at finds.
	deparses [gresses]bool
	finds    [gresses]asm.Label
}

// ofMachine is a field of the Machine.
func ofMachine(offset int32) asm.Mem { return asm.At(machine, offset) }

func mem(s slot) asm.Mem { return asm.At(slots, 8*int32(s)) }

// stub adds code that is placed behind the program.
func (t *translator) stub(emit func()) asm.Label {
	l := t.Label()
	t.stubs = append(t.stubs, func() {
		t.Place(l)
		emit()
	})
	return l
}

func (t *translator) placeStubs() {
	for _, emit := range t.stubs {
		emit()
	}
}

// give returns x to Go.
func (t *translator) give(x int32) {
	t.Imm(asm.AX, uint64(uint32(x)))
	t.Return()
}

// rare returns the label at which instruction i goes to Go for good.
func (t *translator) rare(i int) asm.Label { return t.stub(func() { t.give(int32(i) | leave) }) }

// constant returns the value of a slot with a constant.
func (t *translator) constant(s slot) (uint64, bool) {
	if int(s) < t.prog.constBase {
		return 0, false
	}
	return t.prog.consts[int(s)-t.prog.constBase], true
}

func (t *translator) forgetAll() {
	for i := range t.holds {
		t.holds[i] = t.holds[i][:0]
	}
	clear(t.bound)
}

// forget records that a slot changes.
func (t *translator) forget(s slot) {
	for i, held := range t.holds {
		for j, x := range held {
			if x == s {
				t.holds[i] = append(held[:j], held[j+1:]...)
				break
			}
		}
	}
	delete(t.bound, s)
}

// held returns the register that holds a slot.
func (t *translator) held(s slot) (asm.Reg, bool) {
	for i, held := range t.holds {
		for _, x := range held {
			if x == s {
				t.clock++
				t.used[i] = t.clock
				return pool[i], true
			}
		}
	}
	return 0, false
}

// take returns the register of the pool that was not used for longest and is not
// one of keep.
func (t *translator) take(keep ...asm.Reg) asm.Reg {
	best := -1
next:
	for i := range pool {
		for _, k := range keep {
			if pool[i] == k {
				continue next
			}
		}
		if best < 0 || len(t.holds[best]) != 0 && (len(t.holds[i]) == 0 || t.used[i] < t.used[best]) {
			best = i
		}
	}
	t.holds[best] = t.holds[best][:0]
	t.clock++
	t.used[best] = t.clock
	return pool[best]
}

// keep records that a register, which take returned, holds a slot.
func (t *translator) keep(s slot, r asm.Reg) {
	for i := range pool {
		if pool[i] == r {
			t.holds[i] = append(t.holds[i], s)
		}
	}
}

// value returns a register of the pool that holds a slot, which is no constant.
func (t *translator) value(s slot, keep ...asm.Reg) asm.Reg {
	if r, ok := t.held(s); ok {
		return r
	}
	r := t.take(keep...)
	t.Load(8, r, mem(s))
	t.keep(s, r)
	return r
}

// copyTo sets a register to a slot's value.
func (t *translator) copyTo(d asm.Reg, s slot) {
	if c, ok := t.constant(s); ok {
		t.Imm(d, c)
	} else if r, ok := t.held(s); ok {
		if r != d {
			t.Move(d, r)
		}
	} else {
		t.Load(8, d, mem(s))
	}
}

// set stores a register, which take returned, in a slot.
func (t *translator) set(d slot, r asm.Reg) {
	t.forget(d)
	t.Store(8, mem(d), r)
	t.keep(d, r)
}

// memoryAt sets a register to an address in Go's memory, which does not move.
func (t *translator) memoryAt(r asm.Reg, address uint64) {
	t.memory = append(t.memory, address)
	t.Imm(r, address)
}

// setConst stores a constant in a slot.
func (t *translator) setConst(d slot, x uint64) {
	t.forget(d)
	t.storeConst(mem(d), x)
}

func (t *translator) storeConst(m asm.Mem, x uint64) {
	if asm.Fits(x) {
		t.StoreImm(m, int32(x))
		return
	}
	t.Imm(scratch, x)
	t.Store(8, m, scratch)
}

// op computes r = r op a slot. It may use scratch.
func (t *translator) op(op asm.Op, r asm.Reg, s slot) {
	if c, ok := t.constant(s); ok {
		t.opConst(op, r, c)
	} else if x, ok := t.held(s); ok {
		t.Op(op, r, x)
	} else {
		t.OpMem(op, r, mem(s))
	}
}

func (t *translator) opConst(op asm.Op, r asm.Reg, x uint64) {
	if asm.Fits(x) {
		t.OpImm(op, r, int32(x))
		return
	}
	t.Imm(scratch, x)
	t.Op(op, r, scratch)
}

// mask computes r = r & x.
func (t *translator) mask(r asm.Reg, x uint64) {
	switch x {
	case allBits:
	case 0xff:
		t.Low(1, r, r)
	case 0xffff:
		t.Low(2, r, r)
	case 0xffffffff:
		t.Low(4, r, r)
	default:
		t.opConst(asm.And, r, x)
	}
}

// compare compares two slots.
func (t *translator) compare(a, b slot) {
	if c, ok := t.constant(b); ok {
		r, inRegister := t.held(a)
		_, constant := t.constant(a)
		switch {
		case constant:
			t.copyTo(asm.CX, a)
			t.opConst(asm.Cmp, asm.CX, c)
		case c == 0 && inRegister:
			t.Test(r)
		case inRegister:
			t.opConst(asm.Cmp, r, c)
		case asm.Fits(c):
			t.MemImm(asm.Cmp, mem(a), int32(c))
		default:
			t.opConst(asm.Cmp, t.value(a), c)
		}
		return
	}
	r := asm.CX
	if _, ok := t.constant(a); ok {
		t.copyTo(r, a)
	} else {
		r = t.value(a)
	}
	t.op(asm.Cmp, r, b)
}

// compares are the conditions of comparisons and branches.
var compares = map[opcode]asm.Cond{
	iEq: asm.Equal, iNe: asm.NotEqual, iLtU: asm.Below, iLeU: asm.NotAbove, iLtS: asm.Less, iLeS: asm.NotGreater,
	iJEq: asm.Equal, iJNe: asm.NotEqual, iJLtU: asm.Below, iJLeU: asm.NotAbove, iJLtS: asm.Less, iJLeS: asm.NotGreater,
}

var operations = map[opcode]asm.Op{iAdd: asm.Add, iSub: asm.Sub, iAnd: asm.And, iOr: asm.Or, iXor: asm.Xor}

// instruction translates instruction i. It returns the next one, and whether Go
// executes this one.
func (t *translator) instruction(i int) (next int, returned bool) {
	in := &t.prog.code[i]
	switch in.op {
	case iEnd:
		t.end(i)

	case iMov, iMovs:
		switch c, constant := t.constant(in.a); {
		case constant:
			t.setConst(in.d, c&in.imm)
		case in.imm == allBits:
			r := t.value(in.a)
			t.set(in.d, r)
		default:
			r := t.take()
			t.copyTo(r, in.a)
			t.mask(r, in.imm)
			t.set(in.d, r)
		}
	case iMovI:
		t.setConst(in.d, in.imm)
	case iAdd, iSub, iAnd, iOr, iXor:
		r := t.result(in.a, in.b)
		t.op(operations[in.op], r, in.b)
		t.mask(r, in.imm)
		t.set(in.d, r)
	case iMul:
		r := t.result(in.a, in.b)
		t.copyTo(scratch, in.b)
		t.Mul(r, scratch)
		t.mask(r, in.imm)
		t.set(in.d, r)
	case iNot:
		r := t.result(in.a)
		t.Not(r)
		t.mask(r, in.imm)
		t.set(in.d, r)
	case iShl, iShr, iSar:
		t.shift(in)
	case iSext:
		r := t.result(in.a)
		t.Shift(asm.Shl, r, uint8(64-in.imm))
		t.Shift(asm.Sar, r, uint8(64-in.imm))
		t.set(in.d, r)
	case iShlOr, iShlOrRead:
		r := t.result(in.a, in.b)
		t.Shift(asm.Shl, r, uint8(in.imm&63))
		t.op(asm.Or, r, in.b)
		t.set(in.d, r)
	case iOrI:
		r := t.result(in.d)
		t.opConst(asm.Or, r, in.imm)
		t.set(in.d, r)
	case iUSat:
		r := t.result(in.a)
		if in.b != 0 {
			t.Imm(scratch, 0)
			t.Test(r)
			t.MoveIf(asm.Sign, r, scratch)
		}
		t.Imm(scratch, in.imm)
		t.Op(asm.Cmp, r, scratch)
		t.MoveIf(asm.Above, r, scratch)
		t.set(in.d, r)

	case iEq, iNe, iLtU, iLeU, iLtS, iLeS:
		t.compare(in.a, in.b)
		r := t.take()
		t.Set(compares[in.op], r)
		t.set(in.d, r)

	case iJmp:
		if int(in.imm) != i+1 {
			t.Jump(t.labels[in.imm])
		}
	case iJZ, iJNZ:
		cond := asm.Equal
		if in.op == iJNZ {
			cond = asm.NotEqual
		}
		if r, ok := t.held(in.a); ok {
			t.Test(r)
		} else {
			t.MemImm(asm.Cmp, mem(in.a), 0)
		}
		t.JumpIf(cond, t.labels[in.imm])
	case iJEq, iJNe, iJLtU, iJLeU, iJLtS, iJLeS:
		t.compare(in.a, in.b)
		t.JumpIf(compares[in.op], t.labels[in.imm])
	case iJBytes:
		t.jumpBytes(i, in)

	case iPeek:
		t.Load(8, asm.CX, ofMachine(t.at.cur))
		t.Lea(scratch, asm.At(asm.CX, int32(fieldEnd(in))))
		t.Op(asm.Cmp, scratch, length)
		t.JumpIf(asm.Greater, t.rare(i))
		r := t.take()
		t.loadField(r, asm.CX, 0, in)
		t.set(in.d, r)
	case iTake, iTakeFields:
		t.Load(8, asm.CX, ofMachine(t.at.cur))
		t.Lea(scratch, asm.At(asm.CX, int32(in.b)))
		t.Op(asm.Cmp, scratch, length)
		t.JumpIf(asm.Greater, t.rare(i))
		t.Store(8, ofMachine(t.at.cur), scratch)
		t.setConst(in.d+relValid, 1)
		t.setConst(in.d+relDirty, 0)
		r := t.take()
		t.Lea(r, asm.At(asm.CX, 1))
		t.set(in.d+relOffset, r)
		t.bound[in.d+relOffset] = int(in.b)
	case iField, iFields:
		return t.fields(i), false

	case iRegRead, iRegWrite:
		return i + 1, t.register(i, in)

	case iAddHeader, iRemoveHeader:
		return i + 1, t.header(i, in)

	case iHash:
		return i + 1, t.hash(i, in)

	case iRandom:
		return i + 1, t.random(i, in)

	case iApply:
		t.apply(i, t.prog.Tables[in.imm], int32(in.imm))
		return i + 1, true
	default:
		t.give(int32(i))
		return i + 1, true
	}
	return i + 1, false
}

// result returns a new register with the value of a. It is not the one of b.
func (t *translator) result(a slot, b ...slot) asm.Reg {
	var avoid []asm.Reg
	for _, s := range append(b, a) {
		if r, ok := t.held(s); ok {
			avoid = append(avoid, r)
		}
	}
	r := t.take(avoid...)
	t.copyTo(r, a)
	return r
}

func (t *translator) shift(in *instr) {
	shift := map[opcode]asm.Shift{iShl: asm.Shl, iShr: asm.Shr, iSar: asm.Sar}[in.op]
	r := t.result(in.a, in.b)
	n, constant := t.constant(in.b)
	switch {
	case constant && n < 64:
		t.Shift(shift, r, uint8(n))
	case constant && in.op == iSar:
		t.Shift(shift, r, 63)
	case constant:
		t.Imm(r, 0)
	case in.op == iSar:
		t.copyTo(asm.CX, in.b)
		t.Imm(scratch, 63)
		t.Op(asm.Cmp, asm.CX, scratch)
		t.MoveIf(asm.Above, asm.CX, scratch)
		t.ShiftCX(shift, r)
	default:
		t.copyTo(asm.CX, in.b)
		t.ShiftCX(shift, r)
		t.OpImm(asm.Cmp, asm.CX, 64) // the processor shifts by n modulo 64
		t.Borrow(scratch)
		t.Op(asm.And, r, scratch)
	}
	t.mask(r, in.imm)
	t.set(in.d, r)
}

// random translates a random number: see generator. It reports whether Go executes
// it.
func (t *translator) random(i int, in *instr) (returned bool) {
	lo, constant := t.constant(in.a)
	if hi, ok := t.constant(in.b); ok && constant && hi-lo == allBits { // without a bound
		t.give(int32(i))
		return true
	}
	done, n := t.Label(), asm.CX
	t.copyTo(n, in.b)
	t.op(asm.Sub, n, in.a)
	if !constant || lo != 0 {
		t.JumpIf(asm.Below, done)
	}
	t.OpImm(asm.Add, n, 1)
	t.JumpIf(asm.Equal, t.rare(i))

	x, high := pool[0], pool[1] // of MulHigh
	t.holds[0], t.holds[1] = t.holds[0][:0], t.holds[1][:0]
	state, from := t.take(x, high), asm.At(scratch, t.at.random)
	t.Load(8, scratch, ofMachine(t.at.state))
	t.Load(8, state, from)
	t.opConst(asm.Add, state, randomStep)
	t.Move(x, state)
	xorShift := func(n uint8) {
		t.Move(high, x)
		t.Shift(asm.Shr, high, n)
		t.Op(asm.Xor, x, high)
	}
	xorShift(30)
	t.Imm(scratch, randomFactor1)
	t.Mul(x, scratch)
	xorShift(27)
	t.Imm(scratch, randomFactor2)
	t.Mul(x, scratch)
	xorShift(31)
	t.MulHigh(n)
	t.Op(asm.Cmp, x, n) // the low half: Go draws another number if it is below 2⁶⁴ mod n
	t.JumpIf(asm.Below, t.rare(i))
	t.Load(8, scratch, ofMachine(t.at.state))
	t.Store(8, from, state)
	t.op(asm.Add, high, in.a)
	t.Store(8, mem(in.d), high)
	t.Place(done)
	t.forget(in.d)
	return false
}

// register translates reading and writing a register. It reports whether Go
// executes it.
func (t *translator) register(at int, in *instr) (returned bool) {
	info := &t.prog.Registers[in.imm]
	index, constant := t.constant(in.a)
	if limbsOf(info.Width) != 1 || t.prog.cells >= 1<<28 || constant && index >= uint64(info.Size) {
		t.give(int32(at))
		return true
	}
	cell := asm.At(arrays, 8*int32(info.at+int(index)*info.step))
	if !constant {
		i := t.value(in.a)
		if x := uint64(info.Size); asm.Fits(x) {
			t.OpImm(asm.Cmp, i, int32(x))
		} else {
			t.opConst(asm.Cmp, i, x)
		}
		t.JumpIf(asm.NotBelow, t.rare(at))
		cell.Index, cell.Scale = i, 3
		if info.step > 1 {
			t.MulImm(asm.CX, i, 8*int32(info.step))
			cell.Index, cell.Scale = asm.CX, 0
		}
	}
	if in.op == iRegRead {
		r := t.take(cell.Index)
		t.Load(8, r, cell)
		t.set(in.d, r)
		return false
	}
	if c, ok := t.constant(in.b); ok && asm.Fits(c) {
		t.StoreImm(cell, int32(c))
		return false
	}
	from, ok := t.held(in.b)
	if !ok {
		from = scratch
		t.copyTo(from, in.b)
	}
	t.Store(8, cell, from)
	return false
}

// header translates making a header valid or invalid. It reports whether Go
// executes it.
func (t *translator) header(i int, in *instr) (returned bool) {
	base, constant := t.constant(in.a)
	op := &t.prog.headerOps[in.imm]
	if !constant || base == nowhere || op.typ.varbit >= 0 || len(op.siblings) != 0 {
		t.give(int32(i))
		return true
	}
	valid, packet := mem(slot(base)+relValid), mem(slot(t.prog.sys+sysLength))
	done := t.Label()
	t.MemImm(asm.Cmp, valid, 0)
	if in.op == iAddHeader {
		t.JumpIf(asm.NotEqual, done)
		for k := 1; k < op.typ.size; k++ {
			t.StoreImm(mem(slot(base)+slot(k)), 0)
		}
		t.StoreImm(valid, 1)
		t.MemImm(asm.Add, packet, int32(op.bytes))
	} else {
		t.JumpIf(asm.Equal, done)
		t.StoreImm(valid, 0)
		t.MemImm(asm.Sub, packet, int32(op.bytes))
	}
	t.Place(done)
	t.forgetAll()
	return false
}

// field is where an iField or iPeek has its bits: bytes from the one at, a number
// with the high byte first, shifted right.
type field struct {
	at, bytes int
	shift     uint8
	mask      uint64
}

func fieldOf(in *instr) (field, bool) {
	left, right := int(in.imm&63), int(in.imm>>8&63)
	width := 64 - right
	if left+width > 64 {
		return field{}, false
	}
	f := field{at: int(in.b) + left/8, bytes: 1, mask: allBits >> right}
	left %= 8
	for 8*f.bytes < left+width {
		f.bytes *= 2
	}
	if f.bytes > 8 {
		return field{}, false
	}
	f.shift = uint8(8*f.bytes - left - width)
	if left == 0 {
		f.mask = allBits
	}
	return f, true
}

// fieldEnd returns the byte behind the last one that an iField loads.
func fieldEnd(in *instr) int {
	if f, ok := fieldOf(in); ok {
		return f.at + f.bytes
	}
	return int(in.b) + 8
}

// loadField loads a field of the header at data + base + disp.
func (t *translator) loadField(r, base asm.Reg, disp int32, in *instr) {
	f, ok := fieldOf(in)
	if !ok {
		t.Load(8, r, asm.Mem{Base: data, Index: base, Disp: disp + int32(in.b)})
		t.Swap(8, r)
		t.Shift(asm.Shl, r, uint8(in.imm&63))
		t.Shift(asm.Shr, r, uint8(in.imm>>8&63))
		return
	}
	t.Load(f.bytes, r, asm.Mem{Base: data, Index: base, Disp: disp + int32(f.at)})
	switch f.bytes {
	case 2:
		t.Swap(4, r)
		f.shift += 16
	case 4, 8:
		t.Swap(f.bytes, r)
	}
	if f.shift != 0 {
		t.Shift(asm.Shr, r, f.shift)
	}
	t.mask(r, f.mask)
}

// need jumps to missing unless the header with its offset in slot a has n bytes.
func (t *translator) need(a slot, r asm.Reg, n int, missing asm.Label) {
	if t.bound[a] >= n {
		return
	}
	t.Lea(scratch, asm.At(r, int32(n)-1))
	t.Op(asm.Cmp, scratch, length)
	t.JumpIf(asm.Greater, missing)
}

// fields translates an iField, or several of one header, and returns the next
// instruction. Without the header they are zero.
func (t *translator) fields(i int) int {
	first := &t.prog.code[i]
	n, end := 1, fieldEnd(first)
	for ; n < first.run() && !t.leader[i+n]; n++ {
		end = max(end, fieldEnd(&t.prog.code[i+n]))
	}
	known := t.bound[first.a]
	header := t.value(first.a)
	behind, absent := t.Label(), t.Label()
	if known == 0 {
		t.Test(header)
		t.JumpIf(asm.Equal, absent)
	}
	if known < end {
		t.need(first.a, header, end, t.rare(i))
		if known != 0 {
			t.bound[first.a] = end
		}
	}
	var ds []slot
	for k := i; k < i+n; k++ {
		r := t.take(header)
		t.loadField(r, header, -1, &t.prog.code[k])
		t.set(t.prog.code[k].d, r)
		ds = append(ds, t.prog.code[k].d)
	}
	t.Place(behind)
	if known == 0 {
		var loaded []asm.Reg
		for k, held := range t.holds {
			for _, s := range held {
				for _, d := range ds {
					if s == d {
						loaded = append(loaded, pool[k])
					}
				}
			}
		}
		t.stubs = append(t.stubs, func() {
			t.Place(absent)
			for _, r := range loaded {
				t.Imm(r, 0)
			}
			for _, d := range ds {
				t.StoreImm(mem(d), 0)
			}
			t.Jump(behind)
		})
	}
	return i + n
}

// jumpBytes translates a comparison of a header's bytes.
func (t *translator) jumpBytes(i int, in *instr) {
	w := &t.prog.byteMatches[in.b]
	header := t.value(in.a)
	if t.bound[in.a] == 0 {
		t.Test(header)
		t.JumpIf(asm.Equal, t.rare(i))
		t.bound[in.a] = 1
	}
	if n := int(w.at[1]) + 8; t.bound[in.a] < n {
		t.need(in.a, header, n, t.rare(i))
		t.bound[in.a] = n
	}
	differ, last := t.Label(), len(w.at)-1
	for last > 0 && w.mask[last] == 0 {
		last--
	}
	for k := range last + 1 {
		mask, at := bits.ReverseBytes64(w.mask[k]), w.at[k]
		value := bits.ReverseBytes64(w.value[k]) & mask
		if mask == 0 {
			continue
		}
		skip := bits.TrailingZeros64(mask) / 8
		mask, value, at = mask>>(8*skip), value>>(8*skip), at+uint64(skip)
		n := 1
		for 8*n < bits.Len64(mask) {
			n *= 2
		}
		if n+int(at) > int(w.at[k])+8 { // stay inside the eight bytes
			back := n + int(at) - int(w.at[k]) - 8
			mask, value, at = mask<<(8*back), value<<(8*back), at-uint64(back)
		}
		t.Load(n, asm.CX, asm.Mem{Base: data, Index: header, Disp: int32(at) - 1})
		if mask != allBits>>(64-8*n) {
			t.mask(asm.CX, mask)
		}
		if n == 8 {
			t.opConst(asm.Cmp, asm.CX, value)
		} else {
			t.Cmp32(asm.CX, uint32(value))
		}
		if k < last {
			t.JumpIf(asm.NotEqual, differ)
		}
	}
	if w.mask[last] != 0 {
		t.JumpIf(asm.Equal, t.labels[in.imm])
	} else {
		t.Jump(t.labels[in.imm])
	}
	t.Place(differ)
}
