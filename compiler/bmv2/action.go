// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// action writes an action of a table.
func (g *generator) action(a *ir.Action) *bmv2json.Action {
	if old := g.actions[a]; old != nil {
		return old
	}
	out := g.newAction(a.Name)
	g.actions[a] = out
	g.params, g.acting = a.Params, a
	for _, p := range a.Params {
		if !p.Type.IsNumber() && p.Type.Kind != ir.Bool {
			g.rep.Errorf(p.Decl.Decl.Pos(), CodeTarget, "parameter %s of an action must be bit<W>, int<W> or bool, not %v", p.Name, p.Type)
		}
		out.RuntimeData = append(out.RuntimeData, bmv2json.Param{Name: p.Name, Width: p.Type.Width})
	}
	out.Primitives = g.straight(a.Body)
	g.params, g.acting = nil, nil
	return out
}

func (g *generator) newAction(name string) *bmv2json.Action {
	out := &bmv2json.Action{Name: name, ID: len(g.out.Actions), RuntimeData: []bmv2json.Param{}}
	g.out.Actions = append(g.out.Actions, out)
	return out
}

// straight returns statements without tables as primitives, with jumps for
// conditionals and loops.
func (g *generator) straight(list []ir.Stmt) []*bmv2json.Primitive {
	c := &code{g: g, labels: map[*ir.Label]*target{}, end: &target{}}
	c.stmts(list)
	c.mark(c.end)
	for _, j := range c.jumps {
		j.prim.Parameters = append(j.prim.Parameters, number(int64(j.to.at)))
	}
	return c.prims
}

// code is a list of primitives being written.
type code struct {
	g      *generator
	prims  []*bmv2json.Primitive
	jumps  []jump
	labels map[*ir.Label]*target
	end    *target
}

// target is the destination of a jump: the index of a primitive.
type target struct{ at int }

type jump struct {
	prim *bmv2json.Primitive
	to   *target
}

func (c *code) add(s ir.Stmt, op string, params ...*bmv2json.Value) *bmv2json.Primitive {
	p := &bmv2json.Primitive{Op: op, Parameters: params, SourceInfo: c.g.where(s.Where())}
	if params == nil {
		p.Parameters = []*bmv2json.Value{}
	}
	c.prims = append(c.prims, p)
	return p
}

// copyMembers copies a union member by member. BMv2 has assign_union, too, but keeps
// the values of a field only if it finds the field, or its header, in an expression or
// a primitive: after assign_union and assign_union_stack, the others are what they were
// in an earlier packet.
func (c *code) copyMembers(s ir.Stmt, dst, src *ir.Union) {
	for i, h := range dst.Members {
		c.add(s, "assign_header", wrap(c.g.header(h)), wrap(c.g.header(src.Members[i])))
	}
}

func (c *code) mark(t *target) { t.at = len(c.prims) }

func (c *code) jump(s ir.Stmt, to *target) {
	c.jumps = append(c.jumps, jump{c.add(s, "_jump"), to})
}

// jumpUnless jumps if cond is false.
func (c *code) jumpUnless(s ir.Stmt, cond ir.Expr, to *target) {
	c.jumps = append(c.jumps, jump{c.add(s, "_jump_if_zero", wrap(c.g.data(cond))), to})
}

func (c *code) stmts(list []ir.Stmt) {
	for _, s := range list {
		c.stmt(s)
	}
}

func (c *code) stmt(s ir.Stmt) {
	c.g.at = s.Where()
	g := c.g
	switch s := s.(type) {
	case *ir.Assign:
		c.assign(s)
	case *ir.CopyHeader:
		c.add(s, "assign_header", wrap(g.header(s.Dst)), wrap(g.header(s.Src)))
	case *ir.CopyStack:
		c.add(s, "assign_header_stack", bmv2json.Named(bmv2json.TypeHeaderStack, s.Dst.Name), bmv2json.Named(bmv2json.TypeHeaderStack, s.Src.Name))
	case *ir.CopyUnion:
		c.copyMembers(s, s.Dst, s.Src)
	case *ir.CopyUnionStack:
		c.add(s, "assign_union_stack", bmv2json.Named(bmv2json.TypeUnionStack, s.Dst.Name), bmv2json.Named(bmv2json.TypeUnionStack, s.Src.Name))
		for i, u := range s.Dst.Elems {
			c.copyMembers(s, u, s.Src.Elems[i])
		}
	case *ir.SetValid:
		op := "remove_header"
		if s.Valid {
			op = "add_header"
		}
		c.add(s, op, wrap(g.header(s.Header)))
	case *ir.Push:
		c.add(s, "push", stackValue(s.Stack, s.Union), number(int64(s.N)))
	case *ir.Pop:
		c.add(s, "pop", stackValue(s.Stack, s.Union), number(int64(s.N)))
	case *ir.If:
		c.choice(s)
	case *ir.Block:
		end := &target{}
		c.labels[s.Label] = end
		c.stmts(s.Body)
		c.mark(end)
	case *ir.Leave:
		c.jump(s, c.labels[s.Label])
	case *ir.Loop:
		c.loop(s)
	case *ir.Exit:
		c.add(s, "exit")
		c.jump(s, c.end)
	case *ir.Call:
		c.call(s)
	default:
		g.fail(s.Where(), "this is not supported in an action")
	}
}

func stackValue(s *ir.Stack, u *ir.UnionStack) *bmv2json.Value {
	if s != nil {
		return bmv2json.Named(bmv2json.TypeHeaderStack, s.Name)
	}
	return bmv2json.Named(bmv2json.TypeUnionStack, u.Name)
}

func (c *code) assign(s *ir.Assign) {
	dst := c.g.place(s.Dst)
	c.g.assigned(s)
	op := "assign"
	if s.Dst.Type().Kind == ir.Varbit {
		op = "assign_VL"
	}
	c.add(s, op, wrap(dst), c.g.argument(s.Src))
}

func (c *code) choice(s *ir.If) {
	els, end := &target{}, &target{}
	if len(s.Then) == 0 { // only the else branch has statements
		c.jumpUnless(s, &ir.Unary{Op: notOp, X: s.Cond}, end)
		c.stmts(s.Else)
		c.mark(end)
		return
	}
	c.jumpUnless(s, s.Cond, els)
	c.stmts(s.Then)
	if len(s.Else) > 0 {
		c.jump(s, end)
	}
	c.mark(els)
	c.stmts(s.Else)
	c.mark(end)
}

func (c *code) loop(s *ir.Loop) {
	again, end := &target{}, &target{}
	c.mark(again)
	c.stmts(s.Before)
	c.jumpUnless(s, s.Cond, end)
	c.stmts(s.Body)
	c.stmts(s.Update)
	c.jump(s, again)
	c.mark(end)
}
