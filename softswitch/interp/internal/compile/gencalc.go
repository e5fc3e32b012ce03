// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

func (c *compiler) genCalculations() {
	for _, k := range c.json.Calculations {
		c.addCalculation(k)
	}
}

func (c *compiler) addCalculation(k *bmv2json.Calculation) int {
	calc := ops.Calc{Name: k.Name, Algo: ops.Algorithms[k.Algo], Aligned: true}
	if k.Algo == "crc" && k.CRC != nil {
		calc.Algo = c.polynomial(k)
	}
	if calc.Algo == nil {
		c.errorf(k.Pos, "unknown hash algorithm %s%s", k.Algo, diag.DidYouMean(k.Algo, keys(ops.Algorithms)))
		calc.Algo = ops.Algorithms["csum16"]
	}
	for _, v := range k.Input {
		if calc.Payload {
			c.errorf(v.Pos, "the payload comes last in a calculation")
		}
		switch v.Type {
		case bmv2json.TypePayload:
			calc.Payload = true
			continue
		case bmv2json.TypeHeader:
			h := c.headers[v.Name]
			if h == nil || h.Slots != nil {
				c.errorf(v.Pos, "unknown header %s%s", v.Name, diag.DidYouMean(v.Name, keys(c.headers)))
				continue
			}
			calc.Inputs = append(calc.Inputs, ops.CalcInput{Header: h, Width: h.Type.Bits, Valid: ops.Slot(h.Base + ops.RelValid)})
			calc.Bits += h.Type.Bits
			continue
		}
		e := c.numberOf(v)
		in := ops.CalcInput{Width: e.width, Valid: ops.NoValid}
		switch {
		case e.op == opConst:
			in.Width = v.Width
			if in.Width < 1 || in.Width > 1<<16 {
				c.errorf(v.Pos, "a constant in a calculation needs its \"bitwidth\"")
				in.Width = 8
			}
			value := new(big.Int).And(e.value, new(big.Int).Sub(pow2(in.Width), bigOne))
			in.Value = limbsOfBig(value, bitvec.Limbs(in.Width))
		case e.op == opField && e.slot < 0 && e.hdr != nil:
			in.Header, in.Varbit, in.Valid, in.Width = e.hdr, true, ops.Slot(e.hdr.Base+ops.RelValid), 0
		case e.op == opField:
			in.Slot, in.Limbs = ops.Slot(e.slot), uint8(e.limbs)
			if e.hdr != nil && e.hdr.Slots == nil {
				in.Valid = ops.Slot(e.hdr.Base + ops.RelValid)
			}
		default:
			c.errorf(v.Pos, "calculation %s has an input that is neither field nor constant", k.Name)
			continue
		}
		calc.Inputs = append(calc.Inputs, in)
		calc.Bits += in.Width
		calc.Aligned = calc.Aligned && in.Width%8 == 0
	}
	if calc.Algo.Sum {
		calc.PlanSum()
	}
	if calc.Algo.CRC != nil {
		calc.PlanCRC()
	}
	c.Prog.Calcs = append(c.Prog.Calcs, calc)
	return len(c.Prog.Calcs) - 1
}

// genChecksum emits the verification or update of a checksum.
func (c *compiler) genChecksum(i int, op ops.Opcode) {
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
	ft := h.Type.Fields[f]
	if ft.Width > 64 || f == h.Type.Varbit {
		c.errorf(k.Pos, "checksum %s goes to a field of %d bits", k.Name, ft.Width)
		return
	}
	sum := ops.Checksum{Name: k.Name, Calc: n, Target: ops.FieldAt{Slot: h.Field(f), Limbs: 1, Width: ft.Width, Signed: ft.Signed}, Valid: ops.NoValid}
	if h.Slots == nil {
		sum.Valid = ops.Slot(h.Base + ops.RelValid)
	}
	c.Prog.Checksums = append(c.Prog.Checksums, sum)
	skip := c.label()
	if k.IfCond != nil {
		c.jumpUnless(c.boolean(k.IfCond), skip)
	}
	c.emit(op, 0, 0, 0, uint64(len(c.Prog.Checksums)-1))
	if c.opts.Trace {
		c.trace("%s checksum %s.%s", op, k.Target.Header, k.Target.Field)
	}
	c.place(skip)
}

// genDeparsers emits the code that runs before headers are written: updates of
// checksums, the deparser's primitives and its pipeline.
func (c *compiler) genDeparsers() {
	deparsers := pick(c, "deparser", c.arch.Deparsers, c.json.Deparsers, func(d *bmv2json.Deparser) (string, diag.Pos) { return d.Name, d.Pos })
	for g, d := range deparsers {
		c.Prog.Finish[g] = int32(len(c.Code))
		for i := range c.json.Checksums {
			if g == ops.Out && c.json.Checksums[i].Update {
				c.genChecksum(i, ops.Update)
			}
		}
		if d != nil {
			c.genDeparser(g, d)
		}
		body := slices.IndexFunc(c.json.Pipelines, func(p *bmv2json.Pipeline) bool { return c.isDeparser(p) && p.Name == c.arch.Deparsers[g] })
		if body >= 0 {
			c.genPipeline(c.json.Pipelines[body])
		} else {
			c.emit(ops.End, 0, 0, 0, 0)
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
		if h == nil || h.Slots != nil {
			c.errorf(d.Pos, "deparser emits unknown header %s%s", name, diag.DidYouMean(name, keys(c.headers)))
			continue
		}
		e := ops.Emitted{Base: int32(h.Base), Bytes: int32(h.Type.Bits / 8), Varbit: h.Type.Varbit >= 0, Header: h}
		if len(h.Type.Stores) != 0 {
			e.Stores, e.Always = ops.AllBits, ops.AllBits
		}
		c.Prog.Deparse[g] = append(c.Prog.Deparse[g], e)
	}
}

// genFieldLists resolves the lists of clone, resubmit, recirculate and digest.
func (c *compiler) genFieldLists() {
	list := func(l *bmv2json.FieldList) *ops.FieldList {
		fl := &ops.FieldList{Name: l.Name}
		for _, v := range l.Elements {
			e := c.numberOf(v)
			switch {
			case e.op == opConst:
				width := max(v.Width, e.value.BitLen(), 1)
				fl.Fields = append(fl.Fields, ops.FieldAt{Slot: c.constSlot(e.value, ops.LimbsOf(width)), Limbs: ops.LimbsOf(width), Width: width, Signed: false})
			case e.op == opField && e.slot >= 0:
				fl.Fields = append(fl.Fields, ops.FieldAt{Slot: e.slot, Limbs: e.limbs, Width: e.width, Signed: e.signed()})
			default:
				c.errorf(v.Pos, "field list %s has an element that is neither field nor constant", l.Name)
				continue
			}
			fl.Bits += fl.Fields[len(fl.Fields)-1].Width
		}
		return fl
	}
	for _, l := range c.json.FieldLists {
		if c.Prog.FieldLists[l.ID] != nil {
			c.errorf(l.Pos, "field list id %d is given twice", l.ID)
		}
		c.Prog.FieldLists[l.ID] = list(l)
	}
	for _, l := range c.json.LearnLists {
		d := ops.DigestInfo{Name: l.Name, ID: l.ID, List: list(l)}
		for _, f := range d.List.Fields {
			d.Widths = append(d.Widths, f.Width)
		}
		c.Prog.Digests = append(c.Prog.Digests, d)
	}
}

func sourcePos(s *bmv2json.SourceInfo) string { return fmt.Sprintf("%s:%d", s.Filename, s.Line) }
