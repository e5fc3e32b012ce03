// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp/internal/native"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"github.com/pauseless/pauseless/softswitch/interp/internal/optimise"
	"github.com/pauseless/pauseless/softswitch/table"
)

// Slots of the programs of TestTranslation.
const (
	randomVars   = 12 // numbers
	randomBlocks = 3  // blocks of headers, of valid, offset, dirty and three fields
	randomBlock  = 6
	randomParams = randomVars + randomBlocks*randomBlock
	randomArgs   = 2
	randomConst  = randomParams + randomArgs + ops.SysSlots
)

// interesting are numbers at which instructions could go wrong.
var interesting = []uint64{0, 1, 2, 5, 31, 63, 64, 65, 0x7f, 0x80, 0xff, 0xffff, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, ops.AllBits - 1, ops.AllBits}

// TestTranslation runs random instructions translated and interpreted, on the same
// slots, registers, tables and packets.
func TestTranslation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	if native.Translate(&ops.Program{Code: []ops.Instr{{Op: ops.End}}}, &fromCode, false) == nil {
		t.Skip("SKIP: programs are translated to machine code on x86-64 Linux only")
	}
	seen := map[ops.Opcode]int{}
	for range 500 {
		p := randomProgram(rng)
		p.Native = native.Translate(p, &fromCode, false)
		for _, in := range p.Code {
			seen[in.Op]++
		}
		for range 8 {
			s := NewState(programOf(p), 1)
			for _, x := range rng.Perm(8)[:5] {
				for _, table := range s.Tables {
					table.SetDefault(rng.IntN(2)-1, []uint64{rng.Uint64(), rng.Uint64()})
					if len(table.Info.Key) == 0 {
						continue
					}
					m := matchOf(table, uint64(x))
					if _, err := table.Insert(m, 0, []uint64{rng.Uint64(), rng.Uint64()}); err != nil {
						t.Fatal(err)
					}
				}
			}
			m := NewMachine(s)
			for i := range randomConst {
				m.f[i] = randomNumber(rng)
			}
			data := make([]byte, 20+rng.IntN(40))
			for i := range data {
				data[i] = byte(rng.Uint32() >> rng.IntN(25))
			}
			for b := range randomBlocks {
				m.f[randomVars+b*randomBlock+ops.RelOffset] = uint64(rng.IntN(len(data) - 18)) // 0: not extracted; all fields begin in the packet
			}
			cur := rng.IntN(len(data) + 1)
			var got [2][]uint64
			before := slices.Clone(m.f)
			for k := range got {
				m.f = slices.Clone(before)
				m.frame = &packet.Frame{Data: slices.Clone(data), Elided: 20}
				m.data, m.cur, m.Ask, m.steps, m.parseEnd = m.frame.Data, cur, Requests{}, 0, p.ParseEnd[ops.In]
				for i := range s.cells {
					s.cells[i] = uint64(i) << 20
				}
				for _, t := range s.Tables {
					t.Lookups, t.Hits = 0, 0
				}
				s.Seed(3)
				if k == 0 {
					m.interpret(0)
				} else {
					m.run(new(newPhase(p, 0)))
				}
				got[k] = append(m.f, uint64(m.cur), uint64(len(m.data)), uint64(m.Ask.ParserError), s.rng.State)
				got[k] = append(got[k], s.cells...)
				for _, t := range s.Tables {
					got[k] = append(got[k], t.Lookups, t.Hits)
				}
			}
			if !slices.Equal(got[0], got[1]) {
				t.Fatalf("interpreted\n%v\ntranslated\n%v\nbefore\n%v\n%x, %d\n%s", got[0], got[1], before, data, cur, listing(p))
			}
		}
	}
	for op := range ops.Opcodes {
		if (op <= ops.Take || op == ops.ShlOrRead) && op != ops.End && !slices.Contains(notRandom, op) && seen[op] < 50 {
			t.Errorf("%v occurs %d times", op, seen[op])
		}
	}
}

// matchOf is an exact match, or a prefix of which x is a part.
func matchOf(t *Table, x uint64) *table.Match {
	m := &table.Match{Value: []uint64{x}}
	if t.Info.Kind == "lpm" {
		m.Value[0], m.Prefix = x<<28, 4
	}
	return m
}

func listing(p *ops.Program) (text string) {
	for i, in := range p.Code {
		text += fmt.Sprintf("%d: %v d=%d a=%d b=%d %#x\n", i, in.Op, in.D, in.A, in.B, in.Imm)
	}
	return text + fmt.Sprint(p.Consts)
}

func randomNumber(rng *rand.Rand) uint64 {
	if rng.IntN(3) == 0 {
		return rng.Uint64() >> rng.IntN(64)
	}
	return interesting[rng.IntN(len(interesting))]
}

// notRandom are instructions that randomProgram does not emit: those that Go
// always executes, of which it emits some, and those on several limbs.
var notRandom = []ops.Opcode{ops.Mod, ops.SSat, ops.Back,
	ops.WExt, ops.WAdd, ops.WSub, ops.WMul, ops.WAnd, ops.WOr, ops.WXor, ops.WNot, ops.WShl, ops.WShr, ops.WDiv, ops.WMod, ops.WMask, ops.WSext, ops.WUSat, ops.WSSat, ops.WEq, ops.WLt, ops.WLe, ops.WNonZero, ops.WShift,
	ops.Elem, ops.Load, ops.Store, ops.AddValid, ops.CopyHeader, ops.HeaderEq, ops.Varbit, ops.VarEq, ops.Push, ops.Pop, ops.CopyStack, ops.Count, ops.Meter, ops.Whole, ops.Math, ops.Clone, ops.Mirror,
	ops.Resubmit, ops.Recirc, ops.Digest, ops.Truncate, ops.Drop, ops.DropPort, ops.Log, ops.Assert}

// randomProgram returns a program with random instructions. Jumps go forward only.
func randomProgram(rng *rand.Rand) *ops.Program {
	p := &ops.Program{Params: randomParams, Sys: randomParams + randomArgs, FieldsEnd: randomParams, ConstBase: randomConst, Arch: &ops.V1Model, Fields: map[string]ops.FieldAt{}}
	p.Consts = append(slices.Clone(interesting), uint64(randomVars), uint64(randomVars+randomBlock))
	p.Slots = p.ConstBase + len(p.Consts)
	p.Registers = []RegisterInfo{{Name: "r", Size: 40, Width: 64}, {Name: "w", Size: 3, Width: 100}, {Name: "beside r", Size: 40, Width: 9}}
	p.PlaceRegisters()
	p.Actions = []ActionInfo{{Name: "a", Slots: randomArgs}}
	typ := &ops.HeaderType{Bits: 64, Varbit: -1, Size: randomBlock}
	p.HeaderOps = []ops.HeaderOp{{Type: typ, Bytes: 8}, {Type: typ, Bytes: 8, Siblings: []int{randomBlock}}}
	p.ErrShort, p.ErrNone = 1, 0
	variable := func() ops.Slot { return ops.Slot(rng.IntN(randomVars)) }
	block := func() ops.Slot { return ops.Slot(randomVars + randomBlock*rng.IntN(randomBlocks)) }
	value := func() ops.Slot {
		switch rng.IntN(4) {
		case 0:
			return ops.Slot(randomConst + rng.IntN(len(interesting)))
		case 1:
			return block() + ops.Slot(rng.IntN(randomBlock))
		}
		return variable()
	}
	field := func(in *ops.Instr) {
		width := []int{1, 3, 8, 13, 16, 20, 32, 48, 64}[rng.IntN(9)]
		left := rng.IntN(65 - width)
		if rng.IntN(2) == 0 {
			left &^= 7
		}
		in.B, in.Imm = ops.Slot(rng.IntN(12)), uint64(left&63|(64-width)<<8)
	}
	n := 5 + rng.IntN(40)
	end := n
	for _, kind := range []string{"exact", "lpm", "exact", "exact", "exact"} {
		info := &TableInfo{Name: kind, Kind: kind, Width: 8, Size: 100, Actions: []int{0}, Profile: -1, Meter: -1, MeterSlot: -1, EntrySlot: -1, Default: DefaultInfo{Action: -1},
			Key: []KeyInfo{{Width: 8, Kind: kind}}, Number: len(p.Tables)}
		part := ops.KeyPart{Slot: variable(), Valid: ops.NoValid, Mask: 0xff}
		if kind == "lpm" {
			info.Width, info.Key[0].Width, part.Mask = 32, 32, 1<<32-1
		}
		if rng.IntN(2) == 0 {
			part.Valid = block() + ops.RelValid
		}
		info.Parts = []ops.KeyPart{part}
		if len(p.Tables) == 2 { // of two fields, which Go looks up
			info.Width, info.Key = 16, []KeyInfo{{Width: 8, Kind: kind}, {Width: 8, Kind: kind, Bit: 8}}
			info.Parts = append(info.Parts, ops.KeyPart{Slot: variable(), Valid: ops.NoValid, Shift: 8, Mask: 0xff})
		}
		if len(p.Tables) == 3 {
			info.Width, info.Key, info.Parts = 0, nil, nil
		}
		if len(p.Tables) == 4 { // of two fields, which are an index
			info.Width, info.Key = 5, []KeyInfo{{Width: 2, Kind: kind}, {Width: 3, Kind: kind, Bit: 2}}
			part.Mask = 3
			info.Parts = []ops.KeyPart{part, {Slot: value(), Valid: block() + ops.RelValid, Shift: 2, Mask: 7}}
		}
		p.Tables = append(p.Tables, info)
	}
	for i := range n {
		in := ops.Instr{D: variable(), A: value(), B: value(), Imm: ops.AllBits}
		to := uint64(i + 1 + rng.IntN(n-i))
		switch rng.IntN(14) {
		case 0, 1:
			in.Op = []ops.Opcode{ops.Add, ops.Sub, ops.Mul, ops.And, ops.Or, ops.Xor, ops.Shl, ops.Shr, ops.Not, ops.Div, ops.Sar}[rng.IntN(11)]
			in.Imm = randomNumber(rng)
		case 2:
			in.Op = []ops.Opcode{ops.Eq, ops.Ne, ops.LtU, ops.LeU, ops.LtS, ops.LeS}[rng.IntN(6)]
		case 3:
			in.Op = []ops.Opcode{ops.Jmp, ops.JZ, ops.JNZ}[rng.IntN(3)]
			in.D, in.B, in.Imm = 0, 0, to
			if in.Op == ops.Jmp {
				in.A = 0
			}
		case 4:
			in.Op, in.D, in.Imm = []ops.Opcode{ops.JEq, ops.JNe, ops.JLtU, ops.JLeU, ops.JLtS, ops.JLeS}[rng.IntN(6)], 0, to
		case 5:
			in.Op, in.A, in.B, in.Imm = ops.MovI, 0, 0, randomNumber(rng)
		case 6:
			in.Op, in.B, in.Imm = ops.Mov, 0, []uint64{ops.AllBits, randomNumber(rng)}[rng.IntN(2)]
		case 7:
			switch rng.IntN(5) {
			case 0:
				in.Op, in.B, in.Imm = ops.Hash, ops.Slot(randomConst+rng.IntN(len(interesting))), uint64(len(p.Calcs))
				k := ops.Calc{Aligned: true, Algo: ops.Algorithms[[]string{"crc32", "crc16", "crcCCITT"}[rng.IntN(3)]]}
				for range 1 + rng.IntN(3) {
					input := ops.CalcInput{Slot: value(), Limbs: 1, Width: 8 * (1 + rng.IntN(8)), Valid: ops.NoValid}
					if rng.IntN(2) == 0 {
						input.Valid = block() + ops.RelValid
					}
					k.Inputs, k.Bits = append(k.Inputs, input), k.Bits+input.Width
				}
				if k.Algo.CRC != nil {
					k.PlanCRC()
				}
				p.Calcs = append(p.Calcs, k)
			case 4:
				in.Op, in.Imm = []ops.Opcode{ops.ShlOr, ops.Random}[rng.IntN(2)], uint64(rng.IntN(64))
			case 1:
				in.Op, in.A, in.B, in.Imm = ops.OrI, 0, 0, randomNumber(rng)
			case 2:
				in.Op, in.B, in.Imm = ops.USat, ops.Slot(rng.IntN(2)), randomNumber(rng)
			default:
				in.Op, in.B, in.Imm = ops.Sext, 0, uint64(1+rng.IntN(64))
			}
		case 8, 9:
			in.Op, in.A = ops.Field, block()+ops.RelOffset
			field(&in)
		case 10:
			in.Op, in.A = ops.Peek, 0
			field(&in)
		case 11:
			in.Op, in.D, in.A, in.B = ops.Take, block(), 0, ops.Slot(12+rng.IntN(8))
			in.Imm = uint64(len(p.Extracts))
			p.Extracts = append(p.Extracts, ops.Extraction{Type: typ, Base: int(in.D), Next: -1, N: 1, Bytes: int(in.B)})
		case 12:
			in.Op, in.Imm = []ops.Opcode{ops.RegRead, ops.RegWrite}[rng.IntN(2)], uint64(rng.IntN(3))
			if in.Op == ops.RegRead {
				in.B = ops.Slot(rng.IntN(2))
				in.D = min(in.D, randomVars-2) // two limbs
				if last := len(p.Code) - 1; last >= 0 && (p.Code[last].Op == ops.ShlOr || p.Code[last].Op == ops.Field) && p.Code[last].D < randomVars-2 {
					// an index such as of port and class
					p.Code[last] = ops.Instr{Op: ops.ShlOr, D: p.Code[last].D, A: in.A, B: in.A, Imm: uint64(rng.IntN(3))}
					in.A = p.Code[last].D
				}
			} else {
				in.D = 0
			}
		default:
			switch rng.IntN(4) {
			case 0:
				w := ops.ByteMatch{At: [2]uint64{uint64(rng.IntN(4)), uint64(4 + rng.IntN(6))}}
				for k := range w.Mask {
					w.Mask[k] = []uint64{0, 0xff, 0xffff0000, 0xff << 56, 0x0f00ff0000000000, ops.AllBits, randomNumber(rng)}[rng.IntN(7)]
					w.Value[k] = []uint64{0, randomNumber(rng) & w.Mask[k]}[rng.IntN(2)]
				}
				in = ops.Instr{Op: ops.JBytes, A: block() + ops.RelOffset, B: ops.Slot(len(p.ByteMatches)), Imm: to}
				p.ByteMatches = append(p.ByteMatches, w)
			case 1, 2:
				in = ops.Instr{Op: []ops.Opcode{ops.AddHeader, ops.RemoveHeader}[rng.IntN(2)], A: ops.Slot(p.Slots - 1 - rng.IntN(2)), Imm: uint64(rng.IntN(2) / (1 + rng.IntN(3)))}
			default:
				in = ops.Instr{Op: ops.Apply, Imm: uint64(rng.IntN(len(p.Tables)))}
				info := p.Tables[in.Imm]
				if len(info.PCs) != 0 { // applied by an instruction before this one
					in = ops.Instr{Op: ops.Jmp, Imm: to}
					break
				}
				info.PCs = []int32{int32(to), int32(i + 1), int32(i + 1)}
			}
		}
		p.Code = append(p.Code, in)
	}
	for _, info := range p.Tables {
		if len(info.PCs) == 0 {
			info.PCs = []int32{int32(end), int32(end), int32(end)}
		}
		info.OrderActions(1)
	}
	p.Code = append(p.Code, ops.Instr{Op: ops.End})
	for g := range ops.Gresses {
		p.Parse[g], p.Pipeline[g], p.Finish[g], p.ParseEnd[g] = 0, int32(end), int32(end), int32(end)
	}
	optimise.Fuse(p)
	p.Check()
	return p
}

// runs returns the positions of runs of n slots that cover a set.
func runs(set []bool, n int) (at []ops.Slot) {
	next := 0
	for s, in := range set {
		if in && s >= next {
			at = append(at, ops.Slot(s))
			next = s + n
		}
	}
	return at
}

// TestTranslatedClearing starts a packet with random slots to clear: these are zero,
// and no slot changes that is neither one of them nor the next.
func TestTranslatedClearing(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		const end = 60
		p := &ops.Program{FieldsEnd: end, ConstBase: end + ops.ClearedSlots, Slots: end + ops.ClearedSlots + 10, Sys: end, Arch: &ops.V1Model, Fields: map[string]ops.FieldAt{}, Code: []ops.Instr{{Op: ops.End}}}
		set := make([]bool, end)
		for range rng.IntN(end) {
			set[rng.IntN(end)] = true
		}
		p.Fresh, p.Pairs = runs(set, ops.ClearedSlots), runs(set, 2)
		if p.Native = native.Translate(p, &fromCode, false); p.Native == nil {
			t.Skip("SKIP: programs are translated to machine code on x86-64 Linux only")
		}
		m := NewMachine(NewState(programOf(p), 1))
		for i := range m.f {
			m.f[i] = 1 + rng.Uint64()>>1
		}
		before := slices.Clone(m.f)
		m.Start(&packet.Frame{}, 0)
		for s, x := range m.f {
			switch {
			case s == p.Sys+ops.SysLength || s == p.Sys+ops.SysIngressLen:
			case s < end && set[s]:
				if x != 0 {
					t.Fatalf("slot %d is %#x, want zero: runs from %v", s, x, p.Pairs)
				}
			case x != before[s] && !(x == 0 && s > 0 && s <= end && set[s-1]):
				t.Fatalf("slot %d changed from %#x to %#x: runs from %v", s, before[s], x, p.Pairs)
			}
		}
	}
}
