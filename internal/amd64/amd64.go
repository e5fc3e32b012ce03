// SPDX-License-Identifier: Apache-2.0

// Package amd64 encodes instructions of x86-64 processors (Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2) and makes the result
// executable. It has the instructions that softswitch/interp needs: 64-bit
// integers, loads, stores, comparisons and branches.
package amd64

import (
	"encoding/binary"
	"sort"
)

// Reg is a general register.
type Reg uint8

// The registers. SP, BP and R14 belong to Go: the stack, its frames and the
// goroutine.
const (
	AX Reg = iota
	CX
	DX
	BX
	SP
	BP
	SI
	DI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
	none
)

// Mem is an operand in memory, at Base + Index + Disp.
type Mem struct {
	Base, Index Reg
	Scale       uint8 // the index is shifted left by it
	Disp        int32
}

// At returns the operand at base + disp, without an index. The base may be
// neither SP nor R12.
func At(base Reg, disp int32) Mem { return Mem{base, none, 0, disp} }

// Op is an operation with two operands.
type Op uint8

// The operations. Their values are the encoding of the operation in opcodes.
const (
	Add Op = 0
	Or  Op = 1
	And Op = 4
	Sub Op = 5
	Xor Op = 6
	Cmp Op = 7
)

// Shift is a shift.
type Shift uint8

// The shifts, encoded as in opcodes.
const (
	Shl Shift = 4
	Shr Shift = 5
	Sar Shift = 7
)

// Cond is a condition of a branch, encoded as in opcodes.
type Cond uint8

// The conditions. Below and Above compare unsigned numbers, Less and Greater
// signed ones.
const (
	Below      Cond = 2
	NotBelow   Cond = 3
	Equal      Cond = 4
	NotEqual   Cond = 5
	NotAbove   Cond = 6
	Above      Cond = 7
	Sign       Cond = 8
	Less       Cond = 12
	NotLess    Cond = 13
	NotGreater Cond = 14
	Greater    Cond = 15
)

// Label is a position in the code, as a target of branches.
type Label int

// Asm collects instructions. Its methods are not inlined: programs are translated
// once, and the translator calls them at hundreds of places.
type Asm struct {
	Code   []byte
	labels []int // positions, −1 if not placed
	uses   []use
}

// use is a branch to a label.
type use struct {
	at    int // of the 32-bit distance, which counts from behind it
	label Label
	cond  bool // the operation has two bytes, otherwise one
	short bool // the distance will have 8 bits, and the operation one byte
}

// op returns the position of the operation.
func (u *use) op() int {
	if u.cond {
		return u.at - 2
	}
	return u.at - 1
}

// Label returns a new label.
func (a *Asm) Label() Label {
	a.labels = append(a.labels, -1)
	return Label(len(a.labels) - 1)
}

// Place sets a label to the current position.
func (a *Asm) Place(l Label) { a.labels[l] = len(a.Code) }

// Here returns a label at the current position.
func (a *Asm) Here() Label {
	l := a.Label()
	a.Place(l)
	return l
}

// Position returns the position of a label, −1 if it is not placed. Finish changes
// positions.
func (a *Asm) Position(l Label) int { return a.labels[l] }

// Finish shortens branches to targets that are near, and writes the distances of all.
// Their labels must be placed.
func (a *Asm) Finish() {
	gone := make([]int, len(a.uses)+1) // bytes that branches before this one became shorter
	now := func(at int) int {
		before := sort.Search(len(a.uses), func(i int) bool { return a.uses[i].at+4 > at })
		return at - gone[before]
	}
	distance := func(u *use) int { return now(a.labels[u.label]) - now(u.at+4) }
	for again := true; again; { // a shorter branch brings other targets nearer
		again = false
		for i := range a.uses {
			if u := &a.uses[i]; !u.short {
				d := distance(u)
				u.short = d == int(int8(d))
				again = again || u.short
			}
		}
		for i := range a.uses {
			gone[i+1] = gone[i]
			if u := &a.uses[i]; u.short {
				gone[i+1] += u.at + 4 - u.op() - 2
			}
		}
	}
	code, done := make([]byte, 0, len(a.Code)), 0
	for i := range a.uses {
		u := &a.uses[i]
		code = append(code, a.Code[done:u.op()]...)
		switch {
		case !u.short:
			code = append(code, a.Code[u.op():u.at]...)
			code = binary.LittleEndian.AppendUint32(code, uint32(distance(u)))
		case u.cond:
			code = append(code, a.Code[u.at-1]-0x10, byte(distance(u))) // 0F 8x is 7x
		default:
			code = append(code, 0xeb, byte(distance(u)))
		}
		done = u.at + 4
	}
	code = append(code, a.Code[done:]...)
	for i, at := range a.labels {
		if at >= 0 {
			a.labels[i] = now(at)
		}
	}
	a.Code, a.uses = code, nil
}

func (a *Asm) bytes(b ...byte) { a.Code = append(a.Code, b...) }

func (a *Asm) imm32(x int32) { a.Code = binary.LittleEndian.AppendUint32(a.Code, uint32(x)) }

// Bits of the REX prefix: wide is REX.W, for operations on 64 bits. low is a prefix
// without bits, with which the registers 4 to 7 have a low byte.
const (
	wide = 8
	low  = 0x40
)

// prefix emits a REX prefix if there is one.
func (a *Asm) prefix(rex byte) {
	if rex != 0 {
		a.bytes(0x40 | rex)
	}
}

// rr emits an instruction on two registers: r is in ModRM.reg, m in ModRM.rm.
func (a *Asm) rr(rex byte, op []byte, r, m Reg) {
	a.prefix(rex | byte(r)>>3<<2 | byte(m)>>3)
	a.bytes(op...)
	a.bytes(0xc0 | byte(r)&7<<3 | byte(m)&7)
}

// rm emits an instruction on a register and memory.
func (a *Asm) rm(rex byte, op []byte, r Reg, m Mem) {
	x := byte(0)
	if m.Index != none {
		x = byte(m.Index) >> 3
	}
	a.prefix(rex | byte(r)>>3<<2 | x<<1 | byte(m.Base)>>3)
	a.bytes(op...)
	mod, short := byte(0x80), int32(int8(m.Disp)) == m.Disp
	if short {
		mod = 0x40
	}
	if m.Index == none {
		a.bytes(mod | byte(r)&7<<3 | byte(m.Base)&7)
	} else {
		a.bytes(mod|byte(r)&7<<3|4, m.Scale<<6|byte(m.Index)&7<<3|byte(m.Base)&7)
	}
	if short {
		a.bytes(byte(m.Disp))
	} else {
		a.imm32(m.Disp)
	}
}

// Load loads an unsigned number of 1, 2, 4 or 8 bytes, low byte first.
func (a *Asm) Load(bytes int, d Reg, m Mem) {
	switch bytes {
	case 1:
		a.rm(0, []byte{0x0f, 0xb6}, d, m)
	case 2:
		a.rm(0, []byte{0x0f, 0xb7}, d, m)
	case 4:
		a.rm(0, []byte{0x8b}, d, m)
	case 8:
		a.rm(wide, []byte{0x8b}, d, m)
	}
}

// Store stores the low 1, 2 or 4 bytes, or all 8.
func (a *Asm) Store(bytes int, m Mem, r Reg) {
	rex, op := byte(0), byte(0x89)
	switch bytes {
	case 1:
		rex, op = low, 0x88
	case 2:
		a.bytes(0x66)
	case 8:
		rex = wide
	}
	a.rm(rex, []byte{op}, r, m)
}

// StoreImm stores a number of 32 bits as one of 64, extended with its sign.
func (a *Asm) StoreImm(m Mem, x int32) {
	a.rm(wide, []byte{0xc7}, 0, m)
	a.imm32(x)
}

// Pair is a register of two numbers of 64 bits, XMM0 to XMM7.
type Pair uint8

// ZeroPair sets a pair to zero.
func (a *Asm) ZeroPair(p Pair) { a.bytes(0x0f, 0x57, 0xc0|byte(p)<<3|byte(p)) }

// LoadPair loads a pair.
func (a *Asm) LoadPair(p Pair, m Mem) { a.rm(0, []byte{0x0f, 0x10}, Reg(p), m) }

// StorePair stores a pair.
func (a *Asm) StorePair(m Mem, p Pair) { a.rm(0, []byte{0x0f, 0x11}, Reg(p), m) }

// Lea computes an address.
func (a *Asm) Lea(d Reg, m Mem) { a.rm(wide, []byte{0x8d}, d, m) }

// Move copies a register.
func (a *Asm) Move(d, r Reg) { a.rr(wide, []byte{0x89}, r, d) }

// Low keeps the low 1, 2 or 4 bytes of a register and clears the others.
func (a *Asm) Low(bytes int, d, r Reg) {
	switch bytes {
	case 1:
		a.rr(low, []byte{0x0f, 0xb6}, d, r)
	case 2:
		a.rr(0, []byte{0x0f, 0xb7}, d, r)
	case 4:
		a.rr(0, []byte{0x89}, r, d)
	}
}

// Imm sets a register.
func (a *Asm) Imm(d Reg, x uint64) {
	switch {
	case x == uint64(uint32(x)):
		a.prefix(byte(d) >> 3)
		a.bytes(0xb8 | byte(d)&7)
		a.imm32(int32(uint32(x)))
	case Fits(x):
		a.rr(wide, []byte{0xc7}, 0, d)
		a.imm32(int32(x))
	default:
		a.Address(d, x)
	}
}

// Address sets a register by an instruction whose length does not depend on x.
func (a *Asm) Address(d Reg, x uint64) {
	a.prefix(wide | byte(d)>>3)
	a.bytes(0xb8 | byte(d)&7)
	a.Code = binary.LittleEndian.AppendUint64(a.Code, x)
}

// Fits reports whether an instruction can have x as 32 bits that are extended
// with their sign.
func Fits(x uint64) bool { return uint64(int64(int32(x))) == x }

// Op computes d = d op r.
func (a *Asm) Op(op Op, d, r Reg) { a.rr(wide, []byte{byte(op)<<3 | 3}, d, r) }

// OpMem computes d = d op m.
func (a *Asm) OpMem(op Op, d Reg, m Mem) { a.rm(wide, []byte{byte(op)<<3 | 3}, d, m) }

// OpImm computes d = d op x.
func (a *Asm) OpImm(op Op, d Reg, x int32) {
	if int32(int8(x)) == x {
		a.rr(wide, []byte{0x83}, Reg(op), d)
		a.bytes(byte(x))
		return
	}
	a.rr(wide, []byte{0x81}, Reg(op), d)
	a.imm32(x)
}

// MemImm computes m = m op x on 64 bits.
func (a *Asm) MemImm(op Op, m Mem, x int32) {
	if int32(int8(x)) == x {
		a.rm(wide, []byte{0x83}, Reg(op), m)
		a.bytes(byte(x))
		return
	}
	a.rm(wide, []byte{0x81}, Reg(op), m)
	a.imm32(x)
}

// Cmp32 compares the low 32 bits of a register.
func (a *Asm) Cmp32(r Reg, x uint32) {
	a.rr(0, []byte{0x81}, Reg(Cmp), r)
	a.imm32(int32(x))
}

// Mul computes d = d · r.
func (a *Asm) Mul(d, r Reg) { a.rr(wide, []byte{0x0f, 0xaf}, d, r) }

// MulHigh multiplies AX by r. DX has the high 64 bits of the product, AX the low ones.
func (a *Asm) MulHigh(r Reg) { a.rr(wide, []byte{0xf7}, 4, r) }

// MulImm computes d = r · x.
func (a *Asm) MulImm(d, r Reg, x int32) {
	a.rr(wide, []byte{0x69}, d, r)
	a.imm32(x)
}

// Inc adds one to 64 bits in memory.
func (a *Asm) Inc(m Mem) { a.rm(wide, []byte{0xff}, 0, m) }

// Not inverts all bits.
func (a *Asm) Not(d Reg) { a.rr(wide, []byte{0xf7}, 2, d) }

// Test compares a register with zero.
func (a *Asm) Test(r Reg) { a.rr(wide, []byte{0x85}, r, r) }

// TestImm compares the low 32 bits of r & x with zero.
func (a *Asm) TestImm(r Reg, x int32) {
	a.rr(0, []byte{0xf7}, 0, r)
	a.imm32(x)
}

// Shift shifts by n < 64 bits.
func (a *Asm) Shift(s Shift, d Reg, n uint8) {
	a.rr(wide, []byte{0xc1}, Reg(s), d)
	a.bytes(n)
}

// ShiftCX shifts by the low six bits of CX.
func (a *Asm) ShiftCX(s Shift, d Reg) { a.rr(wide, []byte{0xd3}, Reg(s), d) }

// Borrow sets d to all ones if the last comparison found Below, otherwise to
// zero.
func (a *Asm) Borrow(d Reg) { a.rr(wide, []byte{0x1b}, d, d) }

// Count counts the bits of r that are set. Processors without POPCNT do not have it.
func (a *Asm) Count(d, r Reg) {
	a.bytes(0xf3)
	a.rr(wide, []byte{0x0f, 0xb8}, d, r)
}

// Swap reverses the low 4 or all 8 bytes. With 4 it clears the others.
func (a *Asm) Swap(bytes int, d Reg) {
	rex := byte(0)
	if bytes == 8 {
		rex = wide
	}
	a.prefix(rex | byte(d)>>3)
	a.bytes(0x0f, 0xc8|byte(d)&7)
}

// Set sets d to 1 if the condition holds, otherwise to 0.
func (a *Asm) Set(c Cond, d Reg) {
	a.rr(low, []byte{0x0f, 0x90 | byte(c)}, 0, d)
	a.Low(1, d, d)
}

// MoveIf copies a register if the condition holds.
func (a *Asm) MoveIf(c Cond, d, r Reg) { a.rr(wide, []byte{0x0f, 0x40 | byte(c)}, d, r) }

// JumpIf jumps if the condition holds.
func (a *Asm) JumpIf(c Cond, l Label) {
	a.bytes(0x0f, 0x80|byte(c))
	a.branch(l, true)
}

// JumpTo jumps to the address in memory.
func (a *Asm) JumpTo(m Mem) { a.rm(0, []byte{0xff}, 4, m) }

// Jump jumps.
func (a *Asm) Jump(l Label) {
	a.bytes(0xe9)
	a.branch(l, false)
}

func (a *Asm) branch(l Label, cond bool) {
	a.uses = append(a.uses, use{at: len(a.Code), label: l, cond: cond})
	a.imm32(0)
}

// Return returns to the caller.
func (a *Asm) Return() { a.bytes(0xc3) }
