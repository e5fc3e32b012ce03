// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/table"
)

// Slots of the programs of TestTranslation.
const (
	randomVars   = 12 // numbers
	randomBlocks = 3  // blocks of headers, of valid, offset, dirty and three fields
	randomBlock  = 6
	randomParams = randomVars + randomBlocks*randomBlock
	randomArgs   = 2
	randomConst  = randomParams + randomArgs + sysSlots
)

// interesting are numbers at which instructions could go wrong.
var interesting = []uint64{0, 1, 2, 5, 31, 63, 64, 65, 0x7f, 0x80, 0xff, 0xffff, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, allBits - 1, allBits}

// TestTranslation runs random instructions translated and interpreted, on the same
// slots, registers, tables and packets.
func TestTranslation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	if translate(&Program{code: []instr{{op: iEnd}}}, &fromCode, false) == nil {
		t.Skip("SKIP: programs are translated to machine code on x86-64 Linux only")
	}
	seen := map[opcode]int{}
	for range 500 {
		p := randomProgram(rng)
		p.native = translate(p, &fromCode, false)
		for _, in := range p.code {
			seen[in.op]++
		}
		for range 8 {
			s := NewState(p, 1)
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
				m.f[randomVars+b*randomBlock+relOffset] = uint64(rng.IntN(len(data) - 18)) // 0: not extracted; all fields begin in the packet
			}
			cur := rng.IntN(len(data) + 1)
			var got [2][]uint64
			before := slices.Clone(m.f)
			for k := range got {
				m.f = slices.Clone(before)
				m.frame = &packet.Frame{Data: slices.Clone(data), Elided: 20}
				m.data, m.cur, m.Ask, m.steps, m.parseEnd = m.frame.Data, cur, Requests{}, 0, p.parseEnd[in]
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
				got[k] = append(m.f, uint64(m.cur), uint64(len(m.data)), uint64(m.Ask.ParserError), s.rng.state)
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
	for op := range opcodes {
		if (op <= iTake || op == iShlOrRead) && op != iEnd && !slices.Contains(notRandom, op) && seen[op] < 50 {
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

func listing(p *Program) (text string) {
	for i, in := range p.code {
		text += fmt.Sprintf("%d: %v d=%d a=%d b=%d %#x\n", i, in.op, in.d, in.a, in.b, in.imm)
	}
	return text + fmt.Sprint(p.consts)
}

func randomNumber(rng *rand.Rand) uint64 {
	if rng.IntN(3) == 0 {
		return rng.Uint64() >> rng.IntN(64)
	}
	return interesting[rng.IntN(len(interesting))]
}

// notRandom are instructions that randomProgram does not emit: those that Go
// always executes, of which it emits some, and those on several limbs.
var notRandom = []opcode{iMod, iSSat, iBack,
	iWExt, iWAdd, iWSub, iWMul, iWAnd, iWOr, iWXor, iWNot, iWShl, iWShr, iWDiv, iWMod, iWMask, iWSext, iWUSat, iWSSat, iWEq, iWLt, iWLe, iWNonZero, iWShift,
	iElem, iLoad, iStore, iAddValid, iCopyHeader, iHeaderEq, iVarbit, iVarEq, iPush, iPop, iCopyStack, iCount, iMeter, iWhole, iMath, iClone, iMirror,
	iResubmit, iRecirc, iDigest, iTruncate, iDrop, iDropPort, iLog, iAssert}

// randomProgram returns a program with random instructions. Jumps go forward only.
func randomProgram(rng *rand.Rand) *Program {
	p := &Program{params: randomParams, sys: randomParams + randomArgs, fieldsEnd: randomParams, constBase: randomConst, arch: &v1Model, fields: map[string]fieldAt{}}
	p.consts = append(slices.Clone(interesting), uint64(randomVars), uint64(randomVars+randomBlock))
	p.slots = p.constBase + len(p.consts)
	p.Registers = []RegisterInfo{{Name: "r", Size: 40, Width: 64}, {Name: "w", Size: 3, Width: 100}, {Name: "beside r", Size: 40, Width: 9}}
	p.placeRegisters()
	p.Actions = []ActionInfo{{Name: "a", slots: randomArgs}}
	typ := &headerType{bits: 64, varbit: -1, size: randomBlock}
	p.headerOps = []headerOp{{typ: typ, bytes: 8}, {typ: typ, bytes: 8, siblings: []int{randomBlock}}}
	p.errShort, p.errNone = 1, 0
	variable := func() slot { return slot(rng.IntN(randomVars)) }
	block := func() slot { return slot(randomVars + randomBlock*rng.IntN(randomBlocks)) }
	value := func() slot {
		switch rng.IntN(4) {
		case 0:
			return slot(randomConst + rng.IntN(len(interesting)))
		case 1:
			return block() + slot(rng.IntN(randomBlock))
		}
		return variable()
	}
	field := func(in *instr) {
		width := []int{1, 3, 8, 13, 16, 20, 32, 48, 64}[rng.IntN(9)]
		left := rng.IntN(65 - width)
		if rng.IntN(2) == 0 {
			left &^= 7
		}
		in.b, in.imm = slot(rng.IntN(12)), uint64(left&63|(64-width)<<8)
	}
	n := 5 + rng.IntN(40)
	end := n
	for _, kind := range []string{"exact", "lpm", "exact", "exact", "exact"} {
		info := &TableInfo{Name: kind, Kind: kind, Width: 8, Size: 100, Actions: []int{0}, Profile: -1, Meter: -1, meterSlot: -1, entrySlot: -1, Default: DefaultInfo{Action: -1},
			Key: []KeyInfo{{Width: 8, Kind: kind}}, number: len(p.Tables)}
		part := keyPart{slot: variable(), valid: noValid, mask: 0xff}
		if kind == "lpm" {
			info.Width, info.Key[0].Width, part.mask = 32, 32, 1<<32-1
		}
		if rng.IntN(2) == 0 {
			part.valid = block() + relValid
		}
		info.parts = []keyPart{part}
		if len(p.Tables) == 2 { // of two fields, which Go looks up
			info.Width, info.Key = 16, []KeyInfo{{Width: 8, Kind: kind}, {Width: 8, Kind: kind, Bit: 8}}
			info.parts = append(info.parts, keyPart{slot: variable(), valid: noValid, shift: 8, mask: 0xff})
		}
		if len(p.Tables) == 3 {
			info.Width, info.Key, info.parts = 0, nil, nil
		}
		if len(p.Tables) == 4 { // of two fields, which are an index
			info.Width, info.Key = 5, []KeyInfo{{Width: 2, Kind: kind}, {Width: 3, Kind: kind, Bit: 2}}
			part.mask = 3
			info.parts = []keyPart{part, {slot: value(), valid: block() + relValid, shift: 2, mask: 7}}
		}
		p.Tables = append(p.Tables, info)
	}
	for i := range n {
		in := instr{d: variable(), a: value(), b: value(), imm: allBits}
		to := uint64(i + 1 + rng.IntN(n-i))
		switch rng.IntN(14) {
		case 0, 1:
			in.op = []opcode{iAdd, iSub, iMul, iAnd, iOr, iXor, iShl, iShr, iNot, iDiv, iSar}[rng.IntN(11)]
			in.imm = randomNumber(rng)
		case 2:
			in.op = []opcode{iEq, iNe, iLtU, iLeU, iLtS, iLeS}[rng.IntN(6)]
		case 3:
			in.op = []opcode{iJmp, iJZ, iJNZ}[rng.IntN(3)]
			in.d, in.b, in.imm = 0, 0, to
			if in.op == iJmp {
				in.a = 0
			}
		case 4:
			in.op, in.d, in.imm = []opcode{iJEq, iJNe, iJLtU, iJLeU, iJLtS, iJLeS}[rng.IntN(6)], 0, to
		case 5:
			in.op, in.a, in.b, in.imm = iMovI, 0, 0, randomNumber(rng)
		case 6:
			in.op, in.b, in.imm = iMov, 0, []uint64{allBits, randomNumber(rng)}[rng.IntN(2)]
		case 7:
			switch rng.IntN(5) {
			case 0:
				in.op, in.b, in.imm = iHash, slot(randomConst+rng.IntN(len(interesting))), uint64(len(p.calcs))
				k := calc{aligned: true, algo: algorithms[[]string{"crc32", "crc16", "crcCCITT"}[rng.IntN(3)]]}
				for range 1 + rng.IntN(3) {
					input := calcInput{slot: value(), limbs: 1, width: 8 * (1 + rng.IntN(8)), valid: noValid}
					if rng.IntN(2) == 0 {
						input.valid = block() + relValid
					}
					k.inputs, k.bits = append(k.inputs, input), k.bits+input.width
				}
				if k.algo.crc != nil {
					k.planCRC()
				}
				p.calcs = append(p.calcs, k)
			case 4:
				in.op, in.imm = []opcode{iShlOr, iRandom}[rng.IntN(2)], uint64(rng.IntN(64))
			case 1:
				in.op, in.a, in.b, in.imm = iOrI, 0, 0, randomNumber(rng)
			case 2:
				in.op, in.b, in.imm = iUSat, slot(rng.IntN(2)), randomNumber(rng)
			default:
				in.op, in.b, in.imm = iSext, 0, uint64(1+rng.IntN(64))
			}
		case 8, 9:
			in.op, in.a = iField, block()+relOffset
			field(&in)
		case 10:
			in.op, in.a = iPeek, 0
			field(&in)
		case 11:
			in.op, in.d, in.a, in.b = iTake, block(), 0, slot(12+rng.IntN(8))
			in.imm = uint64(len(p.extracts))
			p.extracts = append(p.extracts, extraction{typ: typ, base: int(in.d), next: -1, n: 1, bytes: int(in.b)})
		case 12:
			in.op, in.imm = []opcode{iRegRead, iRegWrite}[rng.IntN(2)], uint64(rng.IntN(3))
			if in.op == iRegRead {
				in.b = slot(rng.IntN(2))
				in.d = min(in.d, randomVars-2) // two limbs
				if last := len(p.code) - 1; last >= 0 && (p.code[last].op == iShlOr || p.code[last].op == iField) && p.code[last].d < randomVars-2 {
					// an index such as of port and class
					p.code[last] = instr{op: iShlOr, d: p.code[last].d, a: in.a, b: in.a, imm: uint64(rng.IntN(3))}
					in.a = p.code[last].d
				}
			} else {
				in.d = 0
			}
		default:
			switch rng.IntN(4) {
			case 0:
				w := byteMatch{at: [2]uint64{uint64(rng.IntN(4)), uint64(4 + rng.IntN(6))}}
				for k := range w.mask {
					w.mask[k] = []uint64{0, 0xff, 0xffff0000, 0xff << 56, 0x0f00ff0000000000, allBits, randomNumber(rng)}[rng.IntN(7)]
					w.value[k] = []uint64{0, randomNumber(rng) & w.mask[k]}[rng.IntN(2)]
				}
				in = instr{op: iJBytes, a: block() + relOffset, b: slot(len(p.byteMatches)), imm: to}
				p.byteMatches = append(p.byteMatches, w)
			case 1, 2:
				in = instr{op: []opcode{iAddHeader, iRemoveHeader}[rng.IntN(2)], a: slot(p.slots - 1 - rng.IntN(2)), imm: uint64(rng.IntN(2) / (1 + rng.IntN(3)))}
			default:
				in = instr{op: iApply, imm: uint64(rng.IntN(len(p.Tables)))}
				info := p.Tables[in.imm]
				if len(info.pcs) != 0 { // applied by an instruction before this one
					in = instr{op: iJmp, imm: to}
					break
				}
				info.pcs = []int32{int32(to), int32(i + 1), int32(i + 1)}
			}
		}
		p.code = append(p.code, in)
	}
	for _, info := range p.Tables {
		if len(info.pcs) == 0 {
			info.pcs = []int32{int32(end), int32(end), int32(end)}
		}
		info.orderActions(1)
	}
	p.code = append(p.code, instr{op: iEnd})
	for g := range gresses {
		p.parse[g], p.pipeline[g], p.finish[g], p.parseEnd[g] = 0, int32(end), int32(end), int32(end)
	}
	fuse(p)
	p.check()
	return p
}

// TestTranslatedClearing starts a packet with random slots to clear: these are zero,
// and no slot changes that is neither one of them nor the next.
func TestTranslatedClearing(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		const end = 60
		p := &Program{fieldsEnd: end, constBase: end + clearedSlots, slots: end + clearedSlots + 10, sys: end, arch: &v1Model, fields: map[string]fieldAt{}, code: []instr{{op: iEnd}}}
		set := newBitset(end)
		for range rng.IntN(end) {
			set.add(rng.IntN(end))
		}
		clears(p, set)
		if p.native = translate(p, &fromCode, false); p.native == nil {
			t.Skip("SKIP: programs are translated to machine code on x86-64 Linux only")
		}
		m := NewMachine(NewState(p, 1))
		for i := range m.f {
			m.f[i] = 1 + rng.Uint64()>>1
		}
		before := slices.Clone(m.f)
		m.Start(&packet.Frame{}, 0)
		for s, x := range m.f {
			switch {
			case s == p.sys+sysLength || s == p.sys+sysIngressLen:
			case s < end && set.has(s):
				if x != 0 {
					t.Fatalf("slot %d is %#x, want zero: runs from %v", s, x, p.pairs)
				}
			case x != before[s] && !(x == 0 && s > 0 && s <= end && set.has(s-1)):
				t.Fatalf("slot %d changed from %#x to %#x: runs from %v", s, before[s], x, p.pairs)
			}
		}
	}
}

// TestTranslatedQueueState saves and restores random slots, of the packet and of
// headers of which some are valid.
func TestTranslatedQueueState(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	translated := 0
	for range 300 {
		p := &Program{fieldsEnd: 120, constBase: 120, slots: 120, arch: &v1Model, fields: map[string]fieldAt{}, code: []instr{{op: iEnd}}}
		slots := rng.Perm(110)
		set := func(valid slot, n int) keptSet {
			k := keptSet{valid: valid}
			for _, s := range slots[:n] {
				switch rng.IntN(3) {
				case 0:
					k.whole = append(k.whole, slot(10+s))
				case 1:
					k.half = append(k.half, slot(10+s))
				default:
					k.zero = append(k.zero, slot(10+s))
				}
			}
			slots = slots[n:]
			return k
		}
		p.kept = set(0, rng.IntN(50))
		p.kept.half = append(p.kept.half, 0, 1, 2) // validity
		for h := range 3 {
			p.keptOf = append(p.keptOf, set(slot(h), rng.IntN(20)))
		}
		p.keptWords = 120
		m := NewMachine(NewState(p, 1))
		for i := range m.f {
			m.f[i] = rng.Uint64() >> (32 * rng.IntN(2))
		}
		for h := range 3 {
			m.f[h] = uint64(rng.IntN(2))
		}
		before := slices.Clone(m.f)
		want := m.Save(nil)
		m.f = make([]uint64, len(before))
		m.restore(want)
		restored := m.f
		if p.native = translate(p, &fromCode, false); p.native == nil {
			t.Skip("SKIP: programs are translated to machine code on x86-64 Linux only")
		}
		m.f = slices.Clone(before)
		if m.saveNative(unsafe.Pointer(unsafe.SliceData(make(Saved, p.keptWords)))) {
			translated++
		}
		got := m.Save(nil)
		if !slices.Equal(got, want) {
			t.Fatalf("translated code saves\n%x, want\n%x of\n%x", got, want, before)
		}
		m.f = make([]uint64, len(before))
		m.restore(got)
		if !slices.Equal(m.f, restored) {
			t.Fatalf("translated code restores\n%x, want\n%x", m.f, restored)
		}
	}
	if translated < 100 {
		t.Errorf("only %d programs keep enough slots for it", translated)
	}
}
