// SPDX-License-Identifier: Apache-2.0

//go:build linux

package native

import (
	"math/bits"
	"runtime"
	"syscall"
	"unsafe"

	asm "github.com/pauseless/pauseless/internal/amd64"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// Translate returns the program as instructions of this processor, or nil if the
// system does not let processes make code executable. named keeps what PrintNative needs.
func Translate(p *ops.Program, at *Offsets, named bool) *ops.Native {
	t := &translator{prog: p, at: at, leader: p.Leaders(), labels: make([]asm.Label, len(p.Code)), bound: map[ops.Slot]int{}}
	for i := range t.labels {
		t.labels[i] = t.Label()
	}
	n := &ops.Native{Address: make([]uintptr, len(p.Code))}
	for g := range p.Deparse {
		t.deparses[g], t.finds[g] = emits(p.Deparse[g]), t.Label()
	}
	t.address = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(n.Address))))
	var entries []int
	returned := true // the instruction before was executed by Go
	for i := 0; i < len(p.Code); {
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
	clears := t.clearing()
	var places [ops.Gresses]asm.Label // of deparsers
	for g := range p.Deparse {
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
	n.Code = code
	start := uintptr(unsafe.Pointer(unsafe.SliceData(code)))
	address := func(l asm.Label) uintptr { return start + uintptr(t.Position(l)) }
	for _, i := range entries {
		n.Address[i] = address(t.labels[i])
	}
	if named {
		for i := range p.Code {
			n.Starts = append(n.Starts, t.Position(t.labels[i]))
		}
		n.Starts, n.Memory = append(n.Starts, t.Position(end)), t.memory
	}
	n.Clear, n.Arrive = address(clears), address(arrive)
	for g := range n.Deparse {
		if t.deparses[g] {
			n.Deparse[g] = ops.Deparser{Find: address(t.finds[g]), Place: address(places[g])}
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
	prog   *ops.Program
	at     *Offsets
	leader []bool
	labels []asm.Label
	stubs  []func()
	// address is where native.address is. The garbage collector moves nothing.
	address uint64
	memory  []uint64 // addresses in Go's memory that the code contains

	holds [len(pool)][]ops.Slot // slots whose value is in a register of the pool
	used  [len(pool)]int        // when it was used last
	clock int
	// bound has the slots with an offset of a header that is known to exist, and of
	// how many bytes.
	bound map[ops.Slot]int
	// deparses is true for deparsers that have code, which begins at finds.
	deparses [ops.Gresses]bool
	finds    [ops.Gresses]asm.Label
}

// ofMachine is a field of the Machine.
func ofMachine(offset int32) asm.Mem { return asm.At(machine, offset) }

func mem(s ops.Slot) asm.Mem { return asm.At(slots, 8*int32(s)) }

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
func (t *translator) rare(i int) asm.Label { return t.stub(func() { t.give(int32(i) | ops.Leave) }) }

// constant returns the value of a slot with a constant.
func (t *translator) constant(s ops.Slot) (uint64, bool) {
	if int(s) < t.prog.ConstBase {
		return 0, false
	}
	return t.prog.Consts[int(s)-t.prog.ConstBase], true
}

func (t *translator) forgetAll() {
	for i := range t.holds {
		t.holds[i] = t.holds[i][:0]
	}
	clear(t.bound)
}

// forget records that a slot changes.
func (t *translator) forget(s ops.Slot) {
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
func (t *translator) held(s ops.Slot) (asm.Reg, bool) {
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
func (t *translator) keep(s ops.Slot, r asm.Reg) {
	for i := range pool {
		if pool[i] == r {
			t.holds[i] = append(t.holds[i], s)
		}
	}
}

// value returns a register of the pool that holds a slot, which is no constant.
func (t *translator) value(s ops.Slot, keep ...asm.Reg) asm.Reg {
	if r, ok := t.held(s); ok {
		return r
	}
	r := t.take(keep...)
	t.Load(8, r, mem(s))
	t.keep(s, r)
	return r
}

// copyTo sets a register to a slot's value.
func (t *translator) copyTo(d asm.Reg, s ops.Slot) {
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
func (t *translator) set(d ops.Slot, r asm.Reg) {
	t.forget(d)
	t.Store(8, mem(d), r)
	t.keep(d, r)
}

// memoryAt sets a register to an address in Go's memory, which does not move. The length
// of the code is the same wherever the system has placed that memory.
func (t *translator) memoryAt(r asm.Reg, address uint64) {
	t.memory = append(t.memory, address)
	t.Address(r, address)
}

// setConst stores a constant in a slot.
func (t *translator) setConst(d ops.Slot, x uint64) {
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
func (t *translator) op(op asm.Op, r asm.Reg, s ops.Slot) {
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
	case ops.AllBits:
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
func (t *translator) compare(a, b ops.Slot) {
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
var compares = map[ops.Opcode]asm.Cond{
	ops.Eq: asm.Equal, ops.Ne: asm.NotEqual, ops.LtU: asm.Below, ops.LeU: asm.NotAbove, ops.LtS: asm.Less, ops.LeS: asm.NotGreater,
	ops.JEq: asm.Equal, ops.JNe: asm.NotEqual, ops.JLtU: asm.Below, ops.JLeU: asm.NotAbove, ops.JLtS: asm.Less, ops.JLeS: asm.NotGreater,
}

var operations = map[ops.Opcode]asm.Op{ops.Add: asm.Add, ops.Sub: asm.Sub, ops.And: asm.And, ops.Or: asm.Or, ops.Xor: asm.Xor}

// instruction translates instruction i. It returns the next one, and whether Go
// executes this one.
func (t *translator) instruction(i int) (next int, returned bool) {
	in := &t.prog.Code[i]
	switch in.Op {
	case ops.End:
		t.end(i)

	case ops.Mov, ops.Movs:
		switch c, constant := t.constant(in.A); {
		case constant:
			t.setConst(in.D, c&in.Imm)
		case in.Imm == ops.AllBits:
			r := t.value(in.A)
			t.set(in.D, r)
		default:
			r := t.take()
			t.copyTo(r, in.A)
			t.mask(r, in.Imm)
			t.set(in.D, r)
		}
	case ops.MovI:
		t.setConst(in.D, in.Imm)
	case ops.Add, ops.Sub, ops.And, ops.Or, ops.Xor:
		r := t.result(in.A, in.B)
		t.op(operations[in.Op], r, in.B)
		t.mask(r, in.Imm)
		t.set(in.D, r)
	case ops.Mul:
		r := t.result(in.A, in.B)
		t.copyTo(scratch, in.B)
		t.Mul(r, scratch)
		t.mask(r, in.Imm)
		t.set(in.D, r)
	case ops.Not:
		r := t.result(in.A)
		t.Not(r)
		t.mask(r, in.Imm)
		t.set(in.D, r)
	case ops.Shl, ops.Shr, ops.Sar:
		t.shift(in)
	case ops.Sext:
		r := t.result(in.A)
		t.Shift(asm.Shl, r, uint8(64-in.Imm))
		t.Shift(asm.Sar, r, uint8(64-in.Imm))
		t.set(in.D, r)
	case ops.ShlOr, ops.ShlOrRead:
		r := t.result(in.A, in.B)
		t.Shift(asm.Shl, r, uint8(in.Imm&63))
		t.op(asm.Or, r, in.B)
		t.set(in.D, r)
	case ops.OrI:
		r := t.result(in.D)
		t.opConst(asm.Or, r, in.Imm)
		t.set(in.D, r)
	case ops.USat:
		r := t.result(in.A)
		if in.B != 0 {
			t.Imm(scratch, 0)
			t.Test(r)
			t.MoveIf(asm.Sign, r, scratch)
		}
		t.Imm(scratch, in.Imm)
		t.Op(asm.Cmp, r, scratch)
		t.MoveIf(asm.Above, r, scratch)
		t.set(in.D, r)

	case ops.Eq, ops.Ne, ops.LtU, ops.LeU, ops.LtS, ops.LeS:
		t.compare(in.A, in.B)
		r := t.take()
		t.Set(compares[in.Op], r)
		t.set(in.D, r)

	case ops.Jmp:
		if int(in.Imm) != i+1 {
			t.Jump(t.labels[in.Imm])
		}
	case ops.JZ, ops.JNZ:
		cond := asm.Equal
		if in.Op == ops.JNZ {
			cond = asm.NotEqual
		}
		if r, ok := t.held(in.A); ok {
			t.Test(r)
		} else {
			t.MemImm(asm.Cmp, mem(in.A), 0)
		}
		t.JumpIf(cond, t.labels[in.Imm])
	case ops.JEq, ops.JNe, ops.JLtU, ops.JLeU, ops.JLtS, ops.JLeS:
		t.compare(in.A, in.B)
		t.JumpIf(compares[in.Op], t.labels[in.Imm])
	case ops.JBytes:
		t.jumpBytes(i, in)

	case ops.Peek:
		t.Load(8, asm.CX, ofMachine(t.at.Cur))
		t.Lea(scratch, asm.At(asm.CX, int32(fieldEnd(in))))
		t.Op(asm.Cmp, scratch, length)
		t.JumpIf(asm.Greater, t.rare(i))
		r := t.take()
		t.loadField(r, asm.CX, 0, in)
		t.set(in.D, r)
	case ops.Take, ops.TakeFields:
		t.Load(8, asm.CX, ofMachine(t.at.Cur))
		t.Lea(scratch, asm.At(asm.CX, int32(in.B)))
		t.Op(asm.Cmp, scratch, length)
		t.JumpIf(asm.Greater, t.rare(i))
		t.Store(8, ofMachine(t.at.Cur), scratch)
		t.setConst(in.D+ops.RelValid, 1)
		t.setConst(in.D+ops.RelDirty, 0)
		r := t.take()
		t.Lea(r, asm.At(asm.CX, 1))
		t.set(in.D+ops.RelOffset, r)
		t.bound[in.D+ops.RelOffset] = int(in.B)
	case ops.Field, ops.Fields:
		return t.fields(i), false

	case ops.RegRead, ops.RegWrite:
		return i + 1, t.register(i, in)

	case ops.AddHeader, ops.RemoveHeader:
		return i + 1, t.header(i, in)

	case ops.Hash:
		return i + 1, t.hash(i, in)

	case ops.Random:
		return i + 1, t.random(i, in)

	case ops.Apply:
		t.apply(i, t.prog.Tables[in.Imm], int32(in.Imm))
		return i + 1, true
	default:
		t.give(int32(i))
		return i + 1, true
	}
	return i + 1, false
}

// result returns a new register with the value of a. It is not the one of b.
func (t *translator) result(a ops.Slot, b ...ops.Slot) asm.Reg {
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

func (t *translator) shift(in *ops.Instr) {
	shift := map[ops.Opcode]asm.Shift{ops.Shl: asm.Shl, ops.Shr: asm.Shr, ops.Sar: asm.Sar}[in.Op]
	r := t.result(in.A, in.B)
	n, constant := t.constant(in.B)
	switch {
	case constant && n < 64:
		t.Shift(shift, r, uint8(n))
	case constant && in.Op == ops.Sar:
		t.Shift(shift, r, 63)
	case constant:
		t.Imm(r, 0)
	case in.Op == ops.Sar:
		t.copyTo(asm.CX, in.B)
		t.Imm(scratch, 63)
		t.Op(asm.Cmp, asm.CX, scratch)
		t.MoveIf(asm.Above, asm.CX, scratch)
		t.ShiftCX(shift, r)
	default:
		t.copyTo(asm.CX, in.B)
		t.ShiftCX(shift, r)
		t.OpImm(asm.Cmp, asm.CX, 64) // the processor shifts by n modulo 64
		t.Borrow(scratch)
		t.Op(asm.And, r, scratch)
	}
	t.mask(r, in.Imm)
	t.set(in.D, r)
}

// random translates a random number: see generator. It reports whether Go executes
// it.
func (t *translator) random(i int, in *ops.Instr) (returned bool) {
	lo, constant := t.constant(in.A)
	if hi, ok := t.constant(in.B); ok && constant && hi-lo == ops.AllBits { // without a bound
		t.give(int32(i))
		return true
	}
	done, n := t.Label(), asm.CX
	t.copyTo(n, in.B)
	t.op(asm.Sub, n, in.A)
	if !constant || lo != 0 {
		t.JumpIf(asm.Below, done)
	}
	t.OpImm(asm.Add, n, 1)
	t.JumpIf(asm.Equal, t.rare(i))

	x, high := pool[0], pool[1] // of MulHigh
	t.holds[0], t.holds[1] = t.holds[0][:0], t.holds[1][:0]
	state, from := t.take(x, high), asm.At(scratch, t.at.Random)
	t.Load(8, scratch, ofMachine(t.at.State))
	t.Load(8, state, from)
	t.opConst(asm.Add, state, ops.RandomStep)
	t.Move(x, state)
	xorShift := func(n uint8) {
		t.Move(high, x)
		t.Shift(asm.Shr, high, n)
		t.Op(asm.Xor, x, high)
	}
	xorShift(30)
	t.Imm(scratch, ops.RandomFactor1)
	t.Mul(x, scratch)
	xorShift(27)
	t.Imm(scratch, ops.RandomFactor2)
	t.Mul(x, scratch)
	xorShift(31)
	t.MulHigh(n)
	t.Op(asm.Cmp, x, n) // the low half: Go draws another number if it is below 2⁶⁴ mod n
	t.JumpIf(asm.Below, t.rare(i))
	t.Load(8, scratch, ofMachine(t.at.State))
	t.Store(8, from, state)
	t.op(asm.Add, high, in.A)
	t.Store(8, mem(in.D), high)
	t.Place(done)
	t.forget(in.D)
	return false
}

// register translates reading and writing a register. It reports whether Go
// executes it.
func (t *translator) register(at int, in *ops.Instr) (returned bool) {
	info := &t.prog.Registers[in.Imm]
	index, constant := t.constant(in.A)
	if ops.LimbsOf(info.Width) != 1 || t.prog.Cells >= 1<<28 || constant && index >= uint64(info.Size) {
		t.give(int32(at))
		return true
	}
	cell := asm.At(arrays, 8*int32(info.At+int(index)*info.Step))
	if !constant {
		i := t.value(in.A)
		if x := uint64(info.Size); asm.Fits(x) {
			t.OpImm(asm.Cmp, i, int32(x))
		} else {
			t.opConst(asm.Cmp, i, x)
		}
		t.JumpIf(asm.NotBelow, t.rare(at))
		cell.Index, cell.Scale = i, 3
		if info.Step > 1 {
			t.MulImm(asm.CX, i, 8*int32(info.Step))
			cell.Index, cell.Scale = asm.CX, 0
		}
	}
	if in.Op == ops.RegRead {
		r := t.take(cell.Index)
		t.Load(8, r, cell)
		t.set(in.D, r)
		return false
	}
	if c, ok := t.constant(in.B); ok && asm.Fits(c) {
		t.StoreImm(cell, int32(c))
		return false
	}
	from, ok := t.held(in.B)
	if !ok {
		from = scratch
		t.copyTo(from, in.B)
	}
	t.Store(8, cell, from)
	return false
}

// header translates making a header valid or invalid. It reports whether Go
// executes it.
func (t *translator) header(i int, in *ops.Instr) (returned bool) {
	base, constant := t.constant(in.A)
	op := &t.prog.HeaderOps[in.Imm]
	if !constant || base == ops.Nowhere || op.Type.Varbit >= 0 || len(op.Siblings) != 0 {
		t.give(int32(i))
		return true
	}
	valid, packet := mem(ops.Slot(base)+ops.RelValid), mem(ops.Slot(t.prog.Sys+ops.SysLength))
	done := t.Label()
	t.MemImm(asm.Cmp, valid, 0)
	if in.Op == ops.AddHeader {
		t.JumpIf(asm.NotEqual, done)
		for k := 1; k < op.Type.Size; k++ {
			t.StoreImm(mem(ops.Slot(base)+ops.Slot(k)), 0)
		}
		t.StoreImm(valid, 1)
		t.MemImm(asm.Add, packet, int32(op.Bytes))
	} else {
		t.JumpIf(asm.Equal, done)
		t.StoreImm(valid, 0)
		t.MemImm(asm.Sub, packet, int32(op.Bytes))
	}
	t.Place(done)
	t.forgetAll()
	return false
}

// field is where a Field or Peek has its bits: bytes from the one at, a number
// with the high byte first, shifted right.
type field struct {
	at, bytes int
	shift     uint8
	mask      uint64
}

func fieldOf(in *ops.Instr) (field, bool) {
	left, right := int(in.Imm&63), int(in.Imm>>8&63)
	width := 64 - right
	if left+width > 64 {
		return field{}, false
	}
	f := field{at: int(in.B) + left/8, bytes: 1, mask: ops.AllBits >> right}
	left %= 8
	for 8*f.bytes < left+width {
		f.bytes *= 2
	}
	if f.bytes > 8 {
		return field{}, false
	}
	f.shift = uint8(8*f.bytes - left - width)
	if left == 0 {
		f.mask = ops.AllBits
	}
	return f, true
}

// fieldEnd returns the byte behind the last one that a Field loads.
func fieldEnd(in *ops.Instr) int {
	if f, ok := fieldOf(in); ok {
		return f.at + f.bytes
	}
	return int(in.B) + 8
}

// loadField loads a field of the header at data + base + disp.
func (t *translator) loadField(r, base asm.Reg, disp int32, in *ops.Instr) {
	f, ok := fieldOf(in)
	if !ok {
		t.Load(8, r, asm.Mem{Base: data, Index: base, Disp: disp + int32(in.B)})
		t.Swap(8, r)
		t.Shift(asm.Shl, r, uint8(in.Imm&63))
		t.Shift(asm.Shr, r, uint8(in.Imm>>8&63))
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
func (t *translator) need(a ops.Slot, r asm.Reg, n int, missing asm.Label) {
	if t.bound[a] >= n {
		return
	}
	t.Lea(scratch, asm.At(r, int32(n)-1))
	t.Op(asm.Cmp, scratch, length)
	t.JumpIf(asm.Greater, missing)
}

// fields translates a Field, or several of one header, and returns the next
// instruction. Without the header they are zero.
func (t *translator) fields(i int) int {
	first := &t.prog.Code[i]
	n, end := 1, fieldEnd(first)
	for ; n < first.Run() && !t.leader[i+n]; n++ {
		end = max(end, fieldEnd(&t.prog.Code[i+n]))
	}
	known := t.bound[first.A]
	header := t.value(first.A)
	behind, absent := t.Label(), t.Label()
	if known == 0 {
		t.Test(header)
		t.JumpIf(asm.Equal, absent)
	}
	if known < end {
		t.need(first.A, header, end, t.rare(i))
		if known != 0 {
			t.bound[first.A] = end
		}
	}
	var ds []ops.Slot
	for k := i; k < i+n; k++ {
		r := t.take(header)
		t.loadField(r, header, -1, &t.prog.Code[k])
		t.set(t.prog.Code[k].D, r)
		ds = append(ds, t.prog.Code[k].D)
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
func (t *translator) jumpBytes(i int, in *ops.Instr) {
	w := &t.prog.ByteMatches[in.B]
	header := t.value(in.A)
	if t.bound[in.A] == 0 {
		t.Test(header)
		t.JumpIf(asm.Equal, t.rare(i))
		t.bound[in.A] = 1
	}
	if n := int(w.At[1]) + 8; t.bound[in.A] < n {
		t.need(in.A, header, n, t.rare(i))
		t.bound[in.A] = n
	}
	differ, last := t.Label(), len(w.At)-1
	for last > 0 && w.Mask[last] == 0 {
		last--
	}
	for k := range last + 1 {
		mask, at := bits.ReverseBytes64(w.Mask[k]), w.At[k]
		value := bits.ReverseBytes64(w.Value[k]) & mask
		if mask == 0 {
			continue
		}
		skip := bits.TrailingZeros64(mask) / 8
		mask, value, at = mask>>(8*skip), value>>(8*skip), at+uint64(skip)
		n := 1
		for 8*n < bits.Len64(mask) {
			n *= 2
		}
		if n+int(at) > int(w.At[k])+8 { // stay inside the eight bytes
			back := n + int(at) - int(w.At[k]) - 8
			mask, value, at = mask<<(8*back), value<<(8*back), at-uint64(back)
		}
		t.Load(n, asm.CX, asm.Mem{Base: data, Index: header, Disp: int32(at) - 1})
		if mask != ops.AllBits>>(64-8*n) {
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
	if w.Mask[last] != 0 {
		t.JumpIf(asm.Equal, t.labels[in.Imm])
	} else {
		t.Jump(t.labels[in.Imm])
	}
	t.Place(differ)
}
