// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
)

// calc is a hash or checksum over the concatenation of inputs. It omits fields
// of invalid headers.
type calc struct {
	name    string
	algo    *algorithm
	inputs  []calcInput
	payload bool
	bits    int // of all inputs if all are valid
	// aligned is true if every input is whole bytes, so that no shifts are needed.
	aligned bool
	// sums are the summands of an Internet checksum, for use if all headers in
	// valid are valid.
	sums  []sumPart
	valid []slot
	// words are the inputs of a CRC, under the same condition.
	words []crcWord
}

// calcInput is one input.
type calcInput struct {
	slot  slot
	limbs uint8
	width int
	valid slot // noValid: always present
	// value is a constant; nil for fields.
	value []uint64
	// header is a whole header; nil for others.
	header *header
	varbit bool // the variable-length field of header
}

// sumPart is a slot's part in an Internet checksum.
type sumPart struct {
	slot  slot
	shift uint8 // left, to where the bits are in a 16-bit word
	mask  uint64
}

func (c *compiler) genCalculations() {
	for _, k := range c.json.Calculations {
		c.addCalculation(k)
	}
}

func (c *compiler) addCalculation(k *bmv2json.Calculation) int {
	calc := calc{name: k.Name, algo: algorithms[k.Algo], aligned: true}
	if k.Algo == "crc" && k.CRC != nil {
		calc.algo = c.polynomial(k)
	}
	if calc.algo == nil {
		c.errorf(k.Pos, "unknown hash algorithm %s%s", k.Algo, diag.DidYouMean(k.Algo, keys(algorithms)))
		calc.algo = algorithms["csum16"]
	}
	for _, v := range k.Input {
		if calc.payload {
			c.errorf(v.Pos, "the payload comes last in a calculation")
		}
		switch v.Type {
		case bmv2json.TypePayload:
			calc.payload = true
			continue
		case bmv2json.TypeHeader:
			h := c.headers[v.Name]
			if h == nil || h.slots != nil {
				c.errorf(v.Pos, "unknown header %s%s", v.Name, diag.DidYouMean(v.Name, keys(c.headers)))
				continue
			}
			calc.inputs = append(calc.inputs, calcInput{header: h, width: h.typ.bits, valid: slot(h.base + relValid)})
			calc.bits += h.typ.bits
			continue
		}
		e := c.numberOf(v)
		in := calcInput{width: e.width, valid: noValid}
		switch {
		case e.op == opConst:
			in.width = v.Width
			if in.width < 1 || in.width > 1<<16 {
				c.errorf(v.Pos, "a constant in a calculation needs its \"bitwidth\"")
				in.width = 8
			}
			value := new(big.Int).And(e.value, new(big.Int).Sub(pow2(in.width), bigOne))
			in.value = limbsOfBig(value, bitvec.Limbs(in.width))
		case e.op == opField && e.slot < 0 && e.hdr != nil:
			in.header, in.varbit, in.valid, in.width = e.hdr, true, slot(e.hdr.base+relValid), 0
		case e.op == opField:
			in.slot, in.limbs = slot(e.slot), uint8(e.limbs)
			if e.hdr != nil && e.hdr.slots == nil {
				in.valid = slot(e.hdr.base + relValid)
			}
		default:
			c.errorf(v.Pos, "calculation %s has an input that is neither field nor constant", k.Name)
			continue
		}
		calc.inputs = append(calc.inputs, in)
		calc.bits += in.width
		calc.aligned = calc.aligned && in.width%8 == 0
	}
	if calc.algo.sum {
		calc.planSum()
	}
	if calc.algo.crc != nil {
		calc.planCRC()
	}
	c.prog.calcs = append(c.prog.calcs, calc)
	return len(c.prog.calcs) - 1
}

// planSum prepares the fast computation of an Internet checksum: modulo 65535,
// the sum of 16-bit words is the sum of all fields, each shifted to the
// position of its last bit in its word.
func (k *calc) planSum() {
	if k.bits%8 != 0 || k.payload && k.bits%16 != 0 {
		return
	}
	at := 0
	for _, in := range k.inputs {
		if in.header != nil {
			k.sums = nil
			return
		}
		if in.valid != noValid && !slices.Contains(k.valid, in.valid) {
			k.valid = append(k.valid, in.valid)
		}
		at += in.width
		if in.value != nil {
			continue // added below
		}
		for limb := range int(in.limbs) {
			end := at - 64*limb
			width := min(64, in.width-64*limb)
			k.sums = append(k.sums, sumPart{in.slot + slot(limb), uint8((16 - end%16) % 16), maskOf(width)})
		}
	}
	for _, in := range k.inputs {
		if in.value != nil && !bitvec.IsZero(in.value) {
			k.sums = nil // rare: the general method adds constants
			return
		}
	}
}

// crcWord is a slot's bytes in a CRC: its low bytes, the highest first.
type crcWord struct {
	slot  slot
	bytes uint8
}

// planCRC prepares the fast computation of a CRC over fields of whole bytes,
// one slot each.
func (k *calc) planCRC() {
	if !k.aligned || k.payload {
		return
	}
	for _, in := range k.inputs {
		if in.header != nil || in.value != nil || in.limbs != 1 {
			k.words = nil
			return
		}
		if in.valid != noValid && !slices.Contains(k.valid, in.valid) {
			k.valid = append(k.valid, in.valid)
		}
		k.words = append(k.words, crcWord{in.slot, uint8(in.width / 8)})
	}
}

// checksum is a checksum field to verify or update.
type checksum struct {
	name   string
	calc   int
	target fieldAt
	valid  slot // of the target's header
}

// genChecksum emits the verification or update of a checksum.
func (c *compiler) genChecksum(i int, op opcode) {
	defer c.releaseTemps(c.tempTop)
	k := c.json.Checksums[i]
	if k.Type != "generic" && k.Type != "" {
		c.errorf(k.Pos, "checksum %s has type %q, expected generic", k.Name, k.Type)
		return
	}
	n, ok := c.calcs[k.Calculation]
	if !ok {
		c.errorf(k.Pos, "checksum %s has unknown calculation %s", k.Name, k.Calculation)
		return
	}
	h, f, ok := c.field(k.Target, k.Pos)
	if !ok {
		return
	}
	ft := h.typ.fields[f]
	if ft.width > 64 || f == h.typ.varbit {
		c.errorf(k.Pos, "checksum %s goes to a field of %d bits", k.Name, ft.width)
		return
	}
	sum := checksum{name: k.Name, calc: n, target: fieldAt{h.field(f), 1, ft.width, ft.signed}, valid: noValid}
	if h.slots == nil {
		sum.valid = slot(h.base + relValid)
	}
	c.prog.checksums = append(c.prog.checksums, sum)
	skip := c.label()
	if k.IfCond != nil {
		c.jumpUnless(c.boolean(k.IfCond), skip)
	}
	c.emit(op, 0, 0, 0, uint64(len(c.prog.checksums)-1))
	if c.opts.Trace {
		c.trace("%s checksum %s", op, k.Name)
	}
	c.place(skip)
}

// genDeparsers emits the code that runs before headers are written: updates of
// checksums, the deparser's primitives and its pipeline.
func (c *compiler) genDeparsers() {
	deparsers := pick(c, "deparser", c.arch.deparsers, c.json.Deparsers, func(d *bmv2json.Deparser) (string, diag.Pos) { return d.Name, d.Pos })
	for g, d := range deparsers {
		c.prog.finish[g] = int32(len(c.code))
		for i := range c.json.Checksums {
			if g == out && c.json.Checksums[i].Update {
				c.genChecksum(i, iUpdate)
			}
		}
		if d != nil {
			c.genDeparser(g, d)
		}
		body := slices.IndexFunc(c.json.Pipelines, func(p *bmv2json.Pipeline) bool { return c.isDeparser(p) && p.Name == c.arch.deparsers[g] })
		if body >= 0 {
			c.genPipeline(c.json.Pipelines[body])
		} else {
			c.emit(iEnd, 0, 0, 0, 0)
		}
	}
}

func (c *compiler) genDeparser(g int, d *bmv2json.Deparser) {
	for _, p := range d.Primitives {
		if p.Op == "set" { // an assignment in a deparser
			p.Op = "assign"
		}
		c.genPrimitive(p)
	}
	for _, name := range d.Order {
		h := c.headers[name]
		if h == nil || h.slots != nil {
			c.errorf(d.Pos, "deparser emits unknown header %s%s", name, diag.DidYouMean(name, keys(c.headers)))
			continue
		}
		e := emitted{base: int32(h.base), bytes: int32(h.typ.bits / 8), varbit: h.typ.varbit >= 0, h: h}
		if len(h.typ.stores) != 0 {
			e.stores, e.always = allBits, allBits
		}
		c.prog.deparse[g] = append(c.prog.deparse[g], e)
	}
}

// genFieldLists resolves the lists of clone, resubmit, recirculate and digest.
func (c *compiler) genFieldLists() {
	list := func(l *bmv2json.FieldList) *fieldList {
		fl := &fieldList{name: l.Name}
		for _, v := range l.Elements {
			e := c.numberOf(v)
			switch {
			case e.op == opConst:
				width := max(v.Width, e.value.BitLen(), 1)
				fl.fields = append(fl.fields, fieldAt{c.constSlot(e.value, limbsOf(width)), limbsOf(width), width, false})
			case e.op == opField && e.slot >= 0:
				fl.fields = append(fl.fields, fieldAt{e.slot, e.limbs, e.width, e.signed()})
			default:
				c.errorf(v.Pos, "field list %s has an element that is neither field nor constant", l.Name)
				continue
			}
			fl.bits += fl.fields[len(fl.fields)-1].width
		}
		return fl
	}
	for _, l := range c.json.FieldLists {
		if c.prog.fieldLists[l.ID] != nil {
			c.errorf(l.Pos, "field list id %d is given twice", l.ID)
		}
		c.prog.fieldLists[l.ID] = list(l)
	}
	for _, l := range c.json.LearnLists {
		d := DigestInfo{Name: l.Name, ID: l.ID, list: list(l)}
		for _, f := range d.list.fields {
			d.Widths = append(d.Widths, f.width)
		}
		c.prog.Digests = append(c.prog.Digests, d)
	}
}

func sourcePos(s *bmv2json.SourceInfo) string { return fmt.Sprintf("%s:%d", s.Filename, s.Line) }
