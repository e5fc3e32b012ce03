// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// tnaObjects are the externs of tna.p4 that exist in the JSON only as calls, or not
// at all.
var tnaObjects = map[string]bool{
	"RegisterAction": true, "DirectRegisterAction": true, "SelectorAction": true, "MathUnit": true,
	"Hash": true, "CRCPolynomial": true, "Random": true, "Checksum": true, "ParserCounter": true, "ParserPriority": true,
	"Mirror": true, "Resubmit": true, "Digest": true,
}

func (c *code) randomGet(s *ir.Call) {
	most := types.Mask(s.Args[0].X.Type().Width)
	c.add(s, "modify_field_rng_uniform", c.dest(s, 0), number(0), bmv2json.Hex(hex(most, 0)))
}

// checksumUpdate computes an Internet checksum. On request it replaces zero by
// all ones, as UDP requires.
func (c *code) checksumUpdate(s *ir.Call) {
	dst := s.Args[0].X
	c.calculate(s, algorithm{name: "csum16"}, s.Args[1], types.Mask(16))
	if len(s.Args) < 3 || s.Args[2].X == nil {
		return
	}
	zero := &ir.Const{T: dst.Type(), Val: new(big.Int)}
	ones := &ir.Const{T: dst.Type(), Val: types.Mask(16)}
	isZero := &ir.Binary{Op: syntax.Equal, T: ir.BoolType, X: dst, Y: zero}
	both := &ir.Binary{Op: syntax.AndAnd, T: ir.BoolType, X: s.Args[2].X, Y: isZero}
	c.add(s, "assign", c.g.place(dst), c.g.argument(&ir.Mux{Cond: both, X: ones, Y: dst}))
}

// inDeparser fails outside of the deparsers in roles, which make copies.
func (c *code) inDeparser(s *ir.Call, roles ...string) {
	for _, r := range roles {
		if c.g.role == r {
			return
		}
	}
	c.g.fail(s.CallSpan, "%s can only be called in %s", externName(s), roles[0])
}

// mirror copies the packet. The fields of its header are copied now, because
// the switch reads them after the deparser.
func (c *code) mirror(s *ir.Call) {
	c.inDeparser(s, arch.IngressDeparser, arch.EgressDeparser)
	c.add(s, "mirror", c.simple(s, 0), listID(c.headerList(s, 1)))
}

func (c *code) resubmit(s *ir.Call) {
	c.inDeparser(s, arch.IngressDeparser)
	c.add(s, "resubmit", listID(c.headerList(s, 0)))
}

// headerList makes a field list of an argument that becomes a header before the
// packet, and returns its number.
func (c *code) headerList(s *ir.Call, i int) int {
	l := &bmv2json.FieldList{ID: len(c.g.out.FieldLists) + 1, Name: c.g.unique("header"), SourceInfo: c.g.where(s.CallSpan), Elements: []*bmv2json.Value{}}
	c.g.out.FieldLists = append(c.g.out.FieldLists, l)
	bits := 0
	if i < len(s.Args) {
		for _, x := range leaves(s.Args[i], nil) {
			bits += x.Type().Width
			l.Elements = append(l.Elements, c.snapshot(s, x))
		}
	}
	if bits%8 != 0 {
		c.g.fail(s.CallSpan, "the header of %s has %d bits, which is not a multiple of 8", externName(s), bits)
	}
	return l.ID
}

// snapshot returns a variable with the current value of x.
func (c *code) snapshot(s ir.Stmt, x ir.Expr) *bmv2json.Value {
	tmp := c.g.newVar(x.Type(), "tmp")
	c.add(s, "assign", c.g.place(tmp), c.g.argument(x))
	return c.g.place(tmp)
}

// digestPack sends a digest to the control plane.
func (c *code) digestPack(s *ir.Call) {
	c.inDeparser(s, arch.IngressDeparser)
	l := &bmv2json.FieldList{ID: len(c.g.out.LearnLists) + 1, Name: s.Object.Name, SourceInfo: c.g.where(s.CallSpan), Elements: []*bmv2json.Value{}}
	for _, x := range leaves(s.Args[0], nil) {
		l.Elements = append(l.Elements, c.snapshot(s, x))
	}
	c.g.out.LearnLists = append(c.g.out.LearnLists, l)
	c.add(s, "generate_digest", number(0), listID(l.ID))
}

// initial returns the initial value of a register's cells, "" for zero.
func (g *generator) initial(o *ir.Object) string {
	first := o.Arg("initial_value")
	if first == nil {
		return ""
	}
	all, width := new(big.Int), 0
	for _, x := range leaves(*first, nil) {
		k, ok := x.(*ir.Const)
		if !ok {
			g.fail(o.Span, "the initial value of %s must be known at compile time", o.Name)
		}
		all.Lsh(all, uint(k.T.Width))
		all.Or(all, unsigned(k.Val, k.T.Width))
		width += k.T.Width
	}
	if all.Sign() == 0 {
		return ""
	}
	return hex(all, width)
}

// deparserOfGress writes a deparser of TNA: the headers that it emits, in
// order, and its other statements as a pipeline that runs first.
func (g *generator) deparserOfGress(c *ir.Control) {
	d := &bmv2json.Deparser{Name: c.Role, ID: len(g.out.Deparsers), SourceInfo: g.where(c.Span), Order: []string{}, Primitives: []*bmv2json.Primitive{}}
	g.out.Deparsers = append(g.out.Deparsers, d)
	var rest []ir.Stmt
	emitted := map[ir.HeaderRef]bool{}
	for _, s := range c.Body {
		if s, ok := s.(*ir.Emit); ok {
			h, ok := s.Header.(*ir.Header)
			if !ok {
				g.fail(s.Span, "the deparser can only emit headers that are known at compile time")
			}
			d.Order = append(d.Order, h.Name)
			emitted[h] = true
			continue
		}
		g.notLate(s, emitted)
		rest = append(rest, s)
	}
	if len(rest) > 0 {
		g.pipeline(&ir.Control{Name: c.Name, Role: c.Role, Body: rest, Tables: c.Tables, Span: c.Span})
	}
}

// notLate fails if a statement emits under a condition, or changes a header
// that was emitted.
func (g *generator) notLate(s ir.Stmt, emitted map[ir.HeaderRef]bool) {
	changes := func(s ir.Stmt, x ir.Expr) {
		if f, ok := x.(*ir.FieldRef); ok && emitted[f.Header] {
			g.fail(s.Where(), "the deparser does this before all emits; write it before the header is emitted")
		}
	}
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Emit:
			g.fail(s.Span, "a header is emitted if it is valid: emit has no other condition")
		case *ir.Apply:
			g.fail(s.Span, "a deparser has no tables")
		case *ir.Assign:
			changes(s, s.Dst)
		case *ir.SetValid:
			changes(s, &ir.FieldRef{Header: s.Header})
		case *ir.CopyHeader:
			changes(s, &ir.FieldRef{Header: s.Dst})
		}
	})
}

// dropZeros removes assignments of zero to metadata from a parser's first
// state. Programs for Tofino have them for all metadata. In softswitch,
// metadata is zero when ingress or egress begins.
func dropZeros(start *ir.State, states []*ir.State) {
	for _, s := range states {
		if s.Next == start || s.Select != nil && slices.ContainsFunc(s.Select.Cases, func(c *ir.SelectCase) bool { return c.Next == start }) {
			return
		}
	}
	written := map[*ir.Var]bool{}
	start.Body = slices.DeleteFunc(slices.Clone(start.Body), func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		if !ok {
			return false
		}
		v, ok := a.Dst.(*ir.VarRef)
		if !ok || !v.Var.Meta || written[v.Var] {
			return false
		}
		k, ok := a.Src.(*ir.Const)
		written[v.Var] = true
		return ok && k.Val.Sign() == 0
	})
}

// rejected is the parser state for rejected packets.
const rejected = "reject"

// errorState adds the state of packets that no case of a select matches, which in TNA is
// that of rejected ones, if a transition leads there.
func (g *generator) errorState(out *bmv2json.Parser) {
	used := false
	for _, s := range out.States {
		for _, t := range s.Transitions {
			used = used || t.Next == g.unmatched
		}
	}
	if !used {
		return
	}
	code := int64(0)
	for i, name := range g.prog.Errors {
		if name == "NoMatch" {
			code = int64(i)
		}
	}
	no := &bmv2json.Value{Type: bmv2json.TypeBool}
	out.States = append(out.States, &bmv2json.ParseState{
		Name: g.unmatched, ID: g.states, Key: []*bmv2json.Value{},
		Ops:         []*bmv2json.ParserOp{{Op: "verify", Parameters: []*bmv2json.Value{no, number(code)}}},
		Transitions: []*bmv2json.Transition{{Type: "default"}},
	})
	g.states++
}

// reject returns the name of the state for rejected packets. v1model has none
// and accepts them.
func (g *generator) reject() string {
	if g.prog.Arch == arch.TNA {
		return rejected
	}
	return ""
}
