// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"fmt"
	"math/big"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

const notOp = syntax.Not

// externs has a function for each extern function and method of v1model.p4 that
// an action can call. tnaExterns has those of tna.p4 that lowering does not
// replace.
var externs = map[string]func(c *code, s *ir.Call){
	"mark_to_drop":                      (*code).markToDrop,
	"random":                            (*code).random,
	"hash":                              (*code).hash,
	"digest":                            (*code).digest,
	"truncate":                          (*code).truncate,
	"clone":                             (*code).clone,
	"clone_preserving_field_list":       (*code).clone,
	"resubmit_preserving_field_list":    (*code).again,
	"recirculate_preserving_field_list": (*code).again,
	"assert":                            (*code).assert,
	"assume":                            (*code).assert,
	"log_msg":                           (*code).logMsg,
	"counter.count":                     (*code).count,
	"direct_counter.count":              func(*code, *ir.Call) {}, // implicit in every hit
	"meter.execute_meter":               (*code).meter,
	"direct_meter.read":                 func(*code, *ir.Call) {}, // see noteMeters
	"register.read":                     (*code).registerRead,
	"register.write":                    (*code).registerWrite,
}

var tnaExterns = map[string]func(c *code, s *ir.Call){
	"counter.count":         (*code).countOfTNA,
	"direct_counter.count":  (*code).directCount,
	"meter.execute":         (*code).meterOfTNA,
	"direct_meter.execute":  (*code).meterOfTNA,
	"register.read":         (*code).registerRead,
	"register.write":        (*code).registerWrite,
	"direct_register.read":  (*code).registerRead,
	"direct_register.write": (*code).registerWrite,
	"log.read":              (*code).registerRead,
	"log.write":             (*code).registerWrite,
	"MathUnit.execute":      (*code).mathUnit,
	"Hash.get":              (*code).hashGet,
	"Random.get":            (*code).randomGet,
	"Checksum.update":       (*code).checksumUpdate,
	"Mirror.emit":           (*code).mirror,
	"Resubmit.emit":         (*code).resubmit,
	"Digest.pack":           (*code).digestPack,
}

// externName returns the name of a call in externs.
func externName(s *ir.Call) string {
	if s.Object != nil {
		return s.Object.Type.Name + "." + s.Name
	}
	return s.Name
}

func (c *code) call(s *ir.Call) {
	name, known := s.Name, externs
	if s.Object != nil {
		name = s.Object.Kind + "." + name
	}
	if c.g.prog.Arch == arch.TNA {
		known = tnaExterns
	}
	f := known[name]
	if f == nil {
		c.g.fail(s.CallSpan, "%s is not supported on this target", externName(s))
	}
	f(c, s)
}

// simple returns an argument as a parameter of a primitive that cannot be an
// expression. An expression is assigned to a variable first.
func (c *code) simple(s *ir.Call, i int) *bmv2json.Value {
	x := s.Args[i].X
	if x == nil {
		c.g.fail(s.CallSpan, "argument %d of %s must be a number on this target", i+1, externName(s))
	}
	return c.simpleExpr(s, x)
}

func (c *code) simpleExpr(s ir.Stmt, x ir.Expr) *bmv2json.Value {
	if !isSimple(x) {
		tmp := c.g.newVar(x.Type(), "tmp")
		c.add(s, "assign", c.g.place(tmp), c.g.argument(x))
		x = tmp
	}
	return c.g.argument(x)
}

// dest returns an argument that is a destination.
func (c *code) dest(s *ir.Call, i int) *bmv2json.Value {
	x := s.Args[i].X
	if x == nil || c.g.place(x) == nil {
		c.g.fail(s.CallSpan, "argument %d of %s must be a variable of type bit<W> on this target", i+1, externName(s))
	}
	return wrap(c.g.place(x))
}

func (c *code) markToDrop(s *ir.Call) {
	p := c.add(s, "mark_to_drop")
	p.Parameters = append(p.Parameters, bmv2json.Named(bmv2json.TypeHeader, "standard_metadata"))
}

func (c *code) random(s *ir.Call) {
	dst, lo, hi := c.dest(s, 0), c.simple(s, 1), c.simple(s, 2)
	c.add(s, "modify_field_rng_uniform", dst, lo, hi)
}

func (c *code) truncate(s *ir.Call) {
	n := c.simple(s, 0)
	c.add(s, "truncate", n)
}

func (c *code) count(s *ir.Call) {
	i := c.simple(s, 0)
	c.add(s, "count", bmv2json.Named(bmv2json.TypeCounterArray, s.Object.Name), i)
}

func (c *code) meter(s *ir.Call) {
	dst, i := c.dest(s, 1), c.simple(s, 0)
	c.add(s, "execute_meter", bmv2json.Named(bmv2json.TypeMeterArray, s.Object.Name), i, dst)
}

func (c *code) registerRead(s *ir.Call) {
	dst, i := c.dest(s, 0), c.cell(s, 1)
	c.add(s, "register_read", dst, bmv2json.Named(bmv2json.TypeRegisterArray, s.Object.Name), i)
}

func (c *code) registerWrite(s *ir.Call) {
	i, v := c.cell(s, 0), c.simple(s, 1)
	c.add(s, "register_write", bmv2json.Named(bmv2json.TypeRegisterArray, s.Object.Name), i, v)
}

func (c *code) assert(s *ir.Call) {
	c.add(s, s.Name, wrap(bmv2json.Expr("b2d", nil, c.g.logic(s.Args[0].X))))
}

func (c *code) logMsg(s *ir.Call) {
	list := &bmv2json.Value{Type: bmv2json.TypeParams, List: []*bmv2json.Value{}}
	if len(s.Args) > 1 {
		for _, x := range leaves(s.Args[1], nil) {
			list.List = append(list.List, c.g.argument(x))
		}
	}
	c.add(s, "log_msg", c.g.argument(s.Args[0].X), list)
}

// hash writes a hash as a calculation and its use.
func (c *code) hash(s *ir.Call) {
	g := c.g
	calc := g.calculation(s.Args[1].Member)
	for _, x := range leaves(s.Args[3], nil) {
		calc.Input = append(calc.Input, c.input(s, x))
	}
	dst, base, limit := c.dest(s, 0), c.simple(s, 2), c.simple(s, 4)
	c.add(s, "modify_field_with_hash_based_offset", dst, base, bmv2json.Named(bmv2json.TypeCalculation, calc.Name), limit)
}

// calculation makes a calculation without inputs.
func (g *generator) calculation(algo string) *bmv2json.Calculation {
	id := len(g.out.Calculations)
	calc := &bmv2json.Calculation{Name: g.unique(fmt.Sprintf("calc_%d", id)), ID: id, Algo: algo, Input: []*bmv2json.Value{}}
	g.out.Calculations = append(g.out.Calculations, calc)
	return calc
}

// input returns a value as an input of a calculation, in which constants have
// widths.
func (c *code) input(s ir.Stmt, x ir.Expr) *bmv2json.Value {
	if _, ok := x.(*ir.ParamRef); ok { // calculations cannot refer to parameters
		tmp := c.g.newVar(x.Type(), "tmp")
		c.add(s, "assign", c.g.place(tmp), c.g.argument(x))
		x = tmp
	}
	v := c.simpleExpr(s, x)
	if v.Type == bmv2json.TypeHexStr {
		v.Width = x.Type().Width
	}
	return v
}

// leaves appends the scalars of an argument.
func leaves(a ir.Arg, list []ir.Expr) []ir.Expr {
	if a.X != nil {
		return append(list, a.X)
	}
	for _, e := range a.List {
		list = leaves(e, list)
	}
	return list
}

// digest copies the data, because the switch reads the fields at the end of
// ingress.
func (c *code) digest(s *ir.Call) {
	g := c.g
	if g.role != arch.Ingress {
		g.fail(s.CallSpan, "digest can only be called in ingress")
	}
	l := &bmv2json.FieldList{ID: len(g.out.LearnLists) + 1, Name: g.digests[s], SourceInfo: g.where(s.Args[1].Span), Elements: []*bmv2json.Value{}}
	for _, x := range leaves(s.Args[1], nil) {
		if k, ok := x.(*ir.Const); ok {
			l.Elements = append(l.Elements, g.argument(k))
			continue
		}
		tmp := g.newVar(x.Type(), "tmp")
		c.add(s, "assign", g.place(tmp), g.argument(x))
		l.Elements = append(l.Elements, g.place(tmp))
	}
	g.out.LearnLists = append(g.out.LearnLists, l)
	receiver := c.simple(s, 0)
	c.add(s, "generate_digest", receiver, listID(l.ID))
}

func listID(id int) *bmv2json.Value { return bmv2json.Hex(hex(big.NewInt(int64(id)), 32)) }

func (c *code) clone(s *ir.Call) {
	g := c.g
	op, role := "clone_ingress_pkt_to_egress", arch.Ingress
	switch s.Args[0].Member {
	case "":
		g.fail(s.CallSpan, "the type of a clone must be known at compile time")
	case "E2E":
		op, role = "clone_egress_pkt_to_egress", arch.Egress
	}
	if g.role != role {
		g.fail(s.CallSpan, "%s(%s, …) can only be called in %s", s.Name, s.Args[0].Member, role)
	}
	session := c.simple(s, 1)
	list := &bmv2json.FieldList{}
	if len(s.Args) == 3 {
		list = c.listArg(s, 2)
	} else {
		list = g.emptyList()
	}
	c.add(s, op, session, listID(list.ID))
}

// again writes resubmit and recirculate.
func (c *code) again(s *ir.Call) {
	op, role := "resubmit", arch.Ingress
	if s.Name == "recirculate_preserving_field_list" {
		op, role = "recirculate", arch.Egress
	}
	if c.g.role != role {
		c.g.fail(s.CallSpan, "%s can only be called in %s", s.Name, role)
	}
	c.add(s, op, listID(c.listArg(s, 0).ID))
}

// listArg returns the field list with the number in an argument.
func (c *code) listArg(s *ir.Call, i int) *bmv2json.FieldList {
	k, ok := s.Args[i].X.(*ir.Const)
	if !ok {
		c.g.fail(s.CallSpan, "the field list of %s must be known at compile time", s.Name)
	}
	n := int(k.Val.Int64())
	if _, ok := c.g.lists[n]; !ok {
		if n < ir.FirstNamelessList {
			c.g.rep.Warnf(s.CallSpan.Start, CodeEmptyList, "no field of the metadata has @field_list(%d)", n)
		}
		c.g.fieldList(n).Elements = []*bmv2json.Value{}
	}
	return c.g.fieldList(n)
}

// emptyList returns a field list without fields.
func (g *generator) emptyList() *bmv2json.FieldList {
	const none = -1
	if id, ok := g.lists[none]; ok {
		return g.out.FieldLists[id-1]
	}
	l := g.fieldList(none)
	l.Name = g.unique("fl")
	l.Elements = []*bmv2json.Value{}
	return l
}
