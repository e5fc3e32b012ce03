// SPDX-License-Identifier: Apache-2.0

package types

import (
	"slices"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/diag"
)

// uninitialised warns of variables and out parameters that are read before
// they have a value, and of out parameters that are left without one
// (language spec 6.8 and "Reading uninitialized values": those are undefined).
//
// A local variable of a block is followed along the paths through the block.
// One that belongs to a whole control or parser is set and read by actions and
// states whose order is not known here: it is only noticed if nothing ever
// sets it. A struct has a value as soon as one of its parts has. Headers are
// left out, for a header begins as invalid.
func (c *Checker) uninitialised(prog *syntax.Program) {
	main := c.rep.Set.Main()
	for _, d := range prog.Decls {
		if c.rep.Set.FileAt(d.Pos()) == main {
			c.uninitDecl(d)
		}
	}
}

func (c *Checker) uninitDecl(d syntax.Decl) {
	if n, ok := d.(syntax.NamedDecl); ok && c.silence(n.Annots()) {
		defer c.unsilence()
	}
	switch d := d.(type) {
	case *syntax.FuncDecl:
		if f := c.info.Funcs[d]; f != nil && d.Body != nil {
			c.newFlow(nil, f.Params).body(d.Body)
		}
	case *syntax.ActionDecl:
		if o, ok := c.info.Defs[d].(*ActionObj); ok {
			c.newFlow(nil, o.Action.Params).body(d.Body)
		}
	case *syntax.ControlDecl:
		b, ok := c.info.Types[d].(*Block)
		if !ok || !d.HasBody {
			return
		}
		w := c.newWhole(d.Locals)
		for _, l := range d.Locals {
			c.uninitLocal(l, w)
		}
		f := c.newFlow(w, b.Params)
		for _, l := range d.Locals {
			switch l := l.(type) {
			case *syntax.ActionDecl:
				f.elsewhere(l.Body)
			case *syntax.TableDecl:
				syntax.WalkDecl(l, f.elsewhereExpr)
			}
		}
		f.body(d.Body)
		w.report()
	case *syntax.ParserDecl:
		w := c.newWhole(d.Locals)
		for _, l := range d.Locals {
			c.uninitLocal(l, w)
		}
		for _, s := range d.States {
			f := c.newFlow(w, nil)
			f.stmts(s.Body)
			f.read(s.Next)
		}
		w.report()
	case *syntax.InstanceDecl:
		for _, m := range d.Body {
			c.uninitDecl(m)
		}
	}
}

// uninitLocal follows a local declaration of a control or parser.
func (c *Checker) uninitLocal(d syntax.Decl, w *whole) {
	if n, ok := d.(syntax.NamedDecl); ok && c.silence(n.Annots()) {
		defer c.unsilence()
	}
	switch d := d.(type) {
	case *syntax.VarDecl:
		c.newFlow(w, nil).read(d.Init)
	case *syntax.TableDecl:
		syntax.WalkDecl(d, c.newFlow(w, nil).visit)
	case *syntax.ActionDecl:
		if o, ok := c.info.Defs[d].(*ActionObj); ok {
			c.newFlow(w, o.Action.Params).body(d.Body)
		}
	case *syntax.InstanceDecl:
		c.uninitDecl(d)
	}
}

// canBeUnset reports whether values of a type can be uninitialized.
func canBeUnset(t Type) bool {
	switch t := t.(type) {
	case *Bits, *Varbit, *Basic, *Enum, *NewType:
		return t != Invalid
	case *Struct:
		if t.Kind != PlainStruct || len(t.Fields) == 0 {
			return false
		}
		return !slices.ContainsFunc(t.Fields, func(f *Field) bool { return !canBeUnset(f.Type) })
	case *Tuple:
		return !slices.ContainsFunc(t.Elems, func(e Type) bool { return !canBeUnset(e) })
	}
	return false
}

// whole has the state of the variables of a control or parser.
type whole struct {
	c       *Checker
	written map[Object]bool       // all variables, and whether something sets them
	reads   map[Object]source.Pos // the first
	order   []Object
}

func (c *Checker) newWhole(locals []syntax.Decl) *whole {
	w := &whole{c: c, written: map[Object]bool{}, reads: map[Object]source.Pos{}}
	for _, l := range locals {
		if v, ok := l.(*syntax.VarDecl); ok {
			if o, ok := c.info.Defs[v].(*Var); ok && canBeUnset(o.Type) && !c.excusedFrom(v.Annotations, CodeUninitialised) {
				w.written[o] = v.Init != nil
			}
		}
	}
	return w
}

func (w *whole) report() {
	for _, o := range w.order {
		if v, ok := o.(*Var); ok && !w.written[o] {
			w.c.warnf(w.reads[o], CodeUninitialised, "%s is read, but nothing gives it a value", v.ObjName())
		}
	}
}

// excusedFrom reports whether annotations suppress a warning.
func (c *Checker) excusedFrom(list []*syntax.Annotation, code diag.Code) bool {
	return slices.ContainsFunc(list, func(a *syntax.Annotation) bool {
		s, ok := syntax.AnnotString(a)
		return ok && a.Name == "noWarn" && (s == "" || s == string(code))
	})
}

// flow follows the paths through a body. The variables that have no value
// for sure are a set of their numbers.
type flow struct {
	c      *Checker
	whole  *whole
	number map[Object]int
	outs   []*ParamObj
	unset  bits // those that may be without a value here
	dead   bool
	warned map[Object]bool
}

// bits is a set of small numbers.
type bits []uint64

func (b bits) has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

func (b *bits) add(i int) {
	for i/64 >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bits) remove(i int) {
	if i/64 < len(b) {
		b[i/64] &^= 1 << (i % 64)
	}
}

// join adds what is in another set.
func (b *bits) join(o bits) {
	for len(*b) < len(o) {
		*b = append(*b, 0)
	}
	for i, w := range o {
		(*b)[i] |= w
	}
}

func (c *Checker) newFlow(w *whole, params []*Param) *flow {
	f := &flow{c: c, whole: w, number: map[Object]int{}, warned: map[Object]bool{}}
	if w == nil {
		f.whole = &whole{c: c, written: map[Object]bool{}, reads: map[Object]source.Pos{}}
	}
	for _, p := range params {
		o := c.info.params[p]
		if o != nil && p.Dir == syntax.DirOut && canBeUnset(p.Type) && !c.excusedFrom(p.Decl.Annotations, CodeUninitialised) {
			f.declare(o)
			f.outs = append(f.outs, o)
		}
	}
	return f
}

func (f *flow) declare(o Object) {
	n, ok := f.number[o]
	if !ok {
		n = len(f.number)
		f.number[o] = n
	}
	f.unset.add(n)
}

// body follows a body to its end, where all out parameters must have values.
func (f *flow) body(b *syntax.BlockStmt) {
	f.stmts(b.Stmts)
	if !f.dead {
		f.atEnd()
	}
}

// atEnd warns of out parameters without a value where the body is left.
func (f *flow) atEnd() {
	for _, o := range f.outs {
		if f.unset.has(f.number[o]) && !f.warned[o] {
			f.warned[o] = true
			f.c.warnf(o.Pos(), CodeUninitialised, "out parameter %s may be left without a value", o.ObjName())
		}
	}
}

// elsewhere notes that code run in between may set out parameters.
func (f *flow) elsewhere(b *syntax.BlockStmt) { syntax.WalkStmt(b, f.elsewhereExpr) }

func (f *flow) elsewhereExpr(x syntax.Expr) bool {
	if n, ok := x.(*syntax.NameExpr); ok {
		if i, ok := f.number[f.c.info.uses[n.ID()]]; ok {
			f.unset.remove(i)
		}
	}
	return true
}

func (f *flow) stmts(list []syntax.Stmt) {
	for _, s := range list {
		f.stmt(s)
	}
}

// branch follows one of several paths and adds what it leaves without value
// to the set.
func (f *flow) branch(from bits, join *bits, alive *bool, do func()) {
	f.unset, f.dead = slices.Clone(from), false
	do()
	if !f.dead {
		join.join(f.unset)
		*alive = true
	}
}

func (f *flow) stmt(s syntax.Stmt) {
	if f.dead {
		return
	}
	switch s := s.(type) {
	case *syntax.DeclStmt:
		v, ok := s.Decl.(*syntax.VarDecl)
		if !ok {
			return
		}
		if v.Init != nil {
			f.read(v.Init)
			return
		}
		if o, ok := f.c.info.Defs[v].(*Var); ok && canBeUnset(o.Type) && !f.c.excusedFrom(v.Annotations, CodeUninitialised) {
			f.declare(o)
		}
	case *syntax.AssignStmt:
		f.read(s.Y)
		if s.Op != syntax.Assign {
			f.read(s.X)
		}
		f.write(s.X)
	case *syntax.CallStmt:
		f.read(s.Call)
	case *syntax.BlockStmt:
		f.stmts(s.Stmts)
	case *syntax.IfStmt:
		f.read(s.Cond)
		from, join, alive := f.unset, bits(nil), false
		f.branch(from, &join, &alive, func() { f.stmt(s.Then) })
		f.branch(from, &join, &alive, func() {
			if s.Else != nil {
				f.stmt(s.Else)
			}
		})
		f.unset, f.dead = join, !alive
	case *syntax.SwitchStmt:
		f.switchStmt(s)
	case *syntax.ForStmt:
		f.stmts(s.Init)
		f.read(s.Cond)
		f.loop(func() {
			f.stmt(s.Body)
			f.dead = false
			f.stmts(s.Update)
		})
	case *syntax.ForInStmt:
		f.read(s.X)
		f.loop(func() { f.stmt(s.Body) })
	case *syntax.ReturnStmt:
		f.read(s.X)
		f.atEnd()
		f.dead = true
	case *syntax.ExitStmt, *syntax.BreakStmt, *syntax.ContinueStmt:
		f.dead = true
	}
}

func (f *flow) switchStmt(s *syntax.SwitchStmt) {
	f.read(s.X)
	from, join, alive, all := f.unset, bits(nil), false, false
	for _, c := range s.Cases {
		if _, ok := c.Label.(*syntax.DefaultExpr); ok {
			all = true
		}
		if c.Body != nil {
			f.branch(from, &join, &alive, func() { f.stmt(c.Body) })
		}
	}
	if !all {
		join.join(from)
		alive = true
	}
	f.unset, f.dead = join, !alive
}

// loop follows a body that may not be run at all.
func (f *flow) loop(body func()) {
	before := slices.Clone(f.unset)
	body()
	f.unset, f.dead = before, false
}

// read follows the evaluation of an expression.
func (f *flow) read(x syntax.Expr) { syntax.Walk(x, f.visit) }

func (f *flow) visit(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.NameExpr:
		f.readName(x)
	case *syntax.CallExpr:
		call := f.c.info.calls[x.ID()]
		if call == nil {
			return true
		}
		if call.Recv != nil {
			f.read(call.Recv)
		}
		dir := func(i int) syntax.Direction {
			if i < len(call.Params) {
				return call.Params[i].Dir
			}
			return syntax.NoDirection // a builtin
		}
		for i, a := range call.Args {
			if a != nil && dir(i) != syntax.DirOut {
				f.read(a)
			}
		}
		for i, a := range call.Args {
			if a != nil && (dir(i) == syntax.DirOut || dir(i) == syntax.DirInout) {
				f.write(a)
			}
		}
		return false
	}
	return true
}

func (f *flow) readName(x *syntax.NameExpr) {
	o := f.c.info.uses[x.ID()]
	if i, ok := f.number[o]; ok {
		if f.unset.has(i) && !f.warned[o] {
			f.warned[o] = true
			f.c.warnf(x.Pos(), CodeUninitialised, "%s may be read before it has a value", x.Name)
		}
		return
	}
	if w := f.whole; w != nil {
		if _, ok := w.written[o]; ok {
			if _, seen := w.reads[o]; !seen {
				w.reads[o] = x.Pos()
				w.order = append(w.order, o)
			}
		}
	}
}

// write follows an assignment to a place: the variable in it gets a value,
// its indexes are read.
func (f *flow) write(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.NameExpr:
		o := f.c.info.uses[x.ID()]
		if i, ok := f.number[o]; ok {
			f.unset.remove(i)
		} else if _, ok := f.whole.written[o]; ok {
			f.whole.written[o] = true
		}
	case *syntax.MemberExpr:
		f.write(x.X)
	case *syntax.IndexExpr:
		f.read(x.Index)
		f.write(x.X)
	case *syntax.SliceExpr:
		f.read(x.Hi)
		f.read(x.Lo)
		f.write(x.X)
	}
}
