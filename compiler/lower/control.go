// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// topControl lowers a control of the architecture.
func (l *lowerer) topControl(inst *instance) {
	d := inst.block.Control
	c := &ir.Control{Name: inst.name, Role: l.role, Span: syntax.Span(d.Name), Decl: inst.block}
	l.prog.Controls = append(l.prog.Controls, c)
	l.control = c
	l.prepare(inst)
	var body []ir.Stmt
	l.out, l.dead = &body, false
	l.labelled(inst.block.Name, func(to *label) {
		l.frame.ret = &returnPoint{label: to}
		l.controlBody(inst)
	})
	c.Body = body
	l.dead = false
	l.control, l.out = nil, nil
}

// controlBody lowers the variables and statements of a control, whose
// parameters are bound in the current frame.
func (l *lowerer) controlBody(inst *instance) {
	for _, d := range inst.block.Control.Locals {
		if v, ok := d.(*syntax.VarDecl); ok {
			l.span = syntax.Span(v)
			if inst.once {
				l.localDecl(v)
			} else {
				l.keptVar(inst, v)
			}
		}
	}
	l.stmtList(inst.block.Control.Body.Stmts)
}

// keptVar is localDecl for a control whose code is lowered more than once: its
// tables and actions name the same variables each time.
func (l *lowerer) keptVar(inst *instance, d *syntax.VarDecl) {
	o := l.info.Defs[d].(*types.Var)
	p, ok := inst.frame.vals[o]
	if !ok {
		p = l.temp(o.Type, o.ObjName())
		inst.frame.vals[o] = p
	}
	if d.Init != nil {
		l.assign(p, l.exprTo(d.Init, o.Type))
	} else {
		l.invalidate(p)
	}
}

// tableOf returns the table that is applied by a call.
func (l *lowerer) tableOf(call *syntax.CallExpr) *ir.Table {
	c := l.info.Call(call)
	n, ok := c.Recv.(*syntax.NameExpr)
	if !ok {
		l.unsupported(call, "%s is not a table", syntax.Text(c.Recv))
	}
	o := l.info.Use(n).(*types.TableObj)
	inst := l.frame.instance()
	t := inst.tables[o]
	if t == nil {
		t = l.table(inst, o)
	}
	for _, s := range l.keyStmts[t] {
		l.emit(s)
	}
	return t
}

// applyTable applies a table. then runs after a hit and els after a miss; both
// may be nil.
func (l *lowerer) applyTable(call *syntax.CallExpr, then, els func()) {
	if l.dead {
		return
	}
	t := l.tableOf(call)
	a := &ir.Apply{Base: ir.Base{Span: syntax.Span(call)}, Table: t}
	l.applied(a)
	r1, r2 := true, true
	if then != nil {
		a.Hit, r1 = l.collect(then)
	}
	if els != nil {
		a.Miss, r2 = l.collect(els)
	}
	l.emit(a)
	l.dead = !r1 && !r2
}

// applyFlag applies a table and returns whether it hit, or missed.
func (l *lowerer) applyFlag(call *syntax.CallExpr, hit bool) ir.Expr {
	tmp := l.tempVar(ir.BoolType, "tmp")
	set := func(v bool) func() {
		return func() { l.emit(&ir.Assign{Base: l.at(), Dst: tmp, Src: boolConst(v)}) }
	}
	l.applyTable(call, set(hit), set(!hit))
	return tmp
}

// switchAction lowers switch (t.apply().action_run).
func (l *lowerer) switchAction(s *syntax.SwitchStmt, call *syntax.CallExpr) {
	if l.dead {
		return
	}
	t := l.tableOf(call)
	a := &ir.Apply{Base: ir.Base{Span: syntax.Span(call)}, Table: t}
	l.applied(a)
	var cur *ir.Case
	hasDefault, reached := false, false
	for _, c := range s.Cases {
		if cur == nil {
			cur = &ir.Case{}
		}
		isDefault := false
		if n, ok := c.Label.(*syntax.NameExpr); ok {
			for _, ref := range t.Actions {
				if ref.Action.Decl.Name == n.Name {
					cur.Actions = append(cur.Actions, ref.Action)
				}
			}
		} else {
			isDefault, hasDefault = true, true
		}
		if c.Body == nil {
			continue
		}
		var r bool
		cur.Body, r = l.collect(func() { l.stmt(c.Body) })
		reached = reached || r
		if isDefault {
			// Actions that fall through to default have its statements anyway.
			cur.Actions = nil
		}
		if isDefault || len(cur.Actions) > 0 {
			a.Cases = append(a.Cases, cur)
		}
		cur = nil
	}
	l.emit(a)
	l.dead = hasDefault && !reached
}

// table lowers a table of an instance.
func (l *lowerer) table(inst *instance, o *types.TableObj) *ir.Table {
	d := o.Table.Decl
	t := &ir.Table{
		Name:  controlName(inst.name, d.Annotations, d.Name.Name),
		Decl:  o,
		Span:  syntax.Span(d.Name),
		Role:  l.role,
		Props: map[string]*ir.Prop{},
	}
	inst.tables[o] = t
	span := l.span
	defer func() { l.span = span }()
	var entries *syntax.Property
	for _, p := range d.Props {
		l.span = syntax.Span(p)
		switch p.Name.Name {
		case "key":
			l.keyStmts[t], _ = l.collect(func() {
				for i, k := range p.Keys {
					var later []syntax.Expr
					for _, k := range p.Keys[i+1:] {
						later = append(later, k.X)
					}
					t.Keys = append(t.Keys, l.key(k, later))
				}
			})
		case "actions":
			for _, ref := range o.Table.Actions {
				t.Actions = append(t.Actions, &ir.ActionRef{Action: l.action(inst, ref.Action, ref.Args), Ref: ref.Ref})
			}
		case "default_action":
			t.ConstDefault = p.Const
		case "entries":
			entries = p
		case "size":
			t.Size, t.SizeSet = l.number(p.Value).Int64(), true
		case "largest_priority_wins", "priority_delta":
			// see priorities
		default:
			if slices.Contains(l.arch.Properties, p.Name.Name) {
				t.Props[p.Name.Name] = l.property(inst, t, p)
			} else {
				l.rep.Warnf(p.Pos(), types.CodeTable, "property %s has no effect on this target", p.Name.Name)
			}
		}
	}
	l.defaultAction(inst, t, o)
	if entries != nil {
		t.ConstEntries, t.HasEntries = entries.Const, true
		for _, e := range entries.Entries {
			t.Entries = append(t.Entries, l.entry(inst, t, e, o))
		}
		l.priorities(t, entries)
	}
	l.control.Tables = append(l.control.Tables, t)
	return t
}

func (l *lowerer) key(k *syntax.KeyElement, later []syntax.Expr) *ir.Key {
	key := &ir.Key{Match: k.Match.Name, Source: l.typeOf(k.X), Decl: k}
	key.Name = l.keyName(k)
	key.X = l.keepScalar(l.scalarOf(k.X), later)
	return key
}

// keyName returns the control plane's name of a key (language spec 18.3.3.3).
func (l *lowerer) keyName(k *syntax.KeyElement) string {
	if a := syntax.Annot(k.Annotations, "name"); a != nil {
		if s, ok := syntax.AnnotString(a); ok {
			return s
		}
	}
	if name, ok := l.exprName(k.X); ok {
		return name
	}
	l.errorf(k.X.Pos(), CodeUnsupported, "key %s needs a name for the control plane: add @name(\"…\")", syntax.Text(k.X))
	return ""
}

// exprName returns the control plane's name of an expression.
func (l *lowerer) exprName(e syntax.Expr) (string, bool) {
	switch e := e.(type) {
	case *syntax.NameExpr:
		if v, ok := l.info.ValueOf(e).(types.IntValue); ok {
			if k, isConst := l.info.Use(e).(*types.Const); isConst && k.Decl != nil {
				return numberName(v, k.Decl.Value), true
			}
		}
		return e.Name, true
	case *syntax.MemberExpr:
		return l.memberName(e)
	case *syntax.IndexExpr:
		x, ok1 := l.exprName(e.X)
		i, ok2 := l.exprName(e.Index)
		return x + "[" + i + "]", ok1 && ok2
	case *syntax.SliceExpr:
		x, ok := l.exprName(e.X)
		hi, ok1 := l.exprName(e.Hi)
		lo, ok2 := l.exprName(e.Lo)
		return x + "[" + hi + ":" + lo + "]", ok && ok1 && ok2 && !e.Plus
	case *syntax.BinaryExpr:
		x, ok1 := l.exprName(e.X)
		y, ok2 := l.exprName(e.Y)
		return x + " & " + y, ok1 && ok2 && e.Op == syntax.And
	case *syntax.CallExpr:
		if c := l.info.Call(e); c != nil && c.Kind == types.CallBuiltin && c.Name == "isValid" {
			x, ok := l.exprName(c.Recv)
			return x + ".$valid$", ok
		}
	default:
		if v, ok := l.info.ValueOf(e).(types.IntValue); ok {
			return numberName(v, e), true
		}
	}
	return "", false
}

// memberName is exprName for x.f. A field can have another name, and one that
// begins with a dot is the complete name.
func (l *lowerer) memberName(e *syntax.MemberExpr) (string, bool) {
	name := e.Sel.Name
	if s, ok := l.info.TypeOf(e.X).(*types.Struct); ok {
		if f, _ := s.Field(name); f != nil && f.Decl != nil {
			if a := syntax.Annot(f.Decl.Annotations, "name"); a != nil {
				name, _ = syntax.AnnotString(a)
			}
		}
	}
	if strings.HasPrefix(name, ".") {
		return name[1:], true
	}
	if t, ok := e.X.(*syntax.TypeNameExpr); ok {
		return syntax.Text(t) + "." + name, true
	}
	x, ok := l.exprName(e.X)
	return x + "." + name, ok
}

// numberName writes a number in the base that e uses.
func numberName(v types.IntValue, e syntax.Expr) string {
	prefix, base := "", 10
	if lit, ok := e.(*syntax.IntLit); ok {
		base = lit.Base
		prefix = map[int]string{2: "0b", 8: "0o", 16: "0x"}[base]
	}
	return prefix + strings.ToUpper(v.Text(base))
}

// property lowers a table property of the architecture.
func (l *lowerer) property(inst *instance, t *ir.Table, p *syntax.Property) *ir.Prop {
	prop := &ir.Prop{Decl: p}
	if call, ok := p.Value.(*syntax.CallExpr); ok {
		if c := l.info.Call(call); c != nil && c.Kind == types.CallConstructor && c.Extern != nil {
			name := t.Name + "." + p.Name.Name
			if a := syntax.Annot(p.Annotations, "name"); a != nil {
				name = controlName("", p.Annotations, p.Name.Name)
			}
			prop.Object = l.makeObject(c, nil, name, syntax.Span(call))
			prop.Object.Prop = p
			prop.Object.Annotations = p.Annotations
			return prop
		}
	}
	switch v := l.expr(p.Value).(type) {
	case object:
		prop.Object = v.o
	case scalar:
		if c, ok := v.x.(*ir.Const); ok {
			prop.Const = c
			break
		}
		l.fail(p.Value.Pos(), CodeNotConstant, "property %s must be known at compile time", p.Name.Name)
	case number:
		prop.Const = &ir.Const{T: ir.Bit32, Val: v.v}
	default:
		l.unsupported(p.Value, "property %s cannot have this value", p.Name.Name)
	}
	return prop
}

// defaultAction lowers default_action, which is NoAction if it is missing.
func (l *lowerer) defaultAction(inst *instance, t *ir.Table, o *types.TableObj) {
	for _, p := range o.Table.Decl.Props {
		if p.Name.Name == "default_action" {
			t.Default = l.boundAction(inst, t, &syntax.ActionRef{X: p.Value}, o)
			return
		}
	}
	no := l.info.NoAction()
	if no == nil {
		return
	}
	a := l.action(inst, no, nil)
	listed := false
	for _, ref := range t.Actions {
		listed = listed || ref.Action == a
	}
	if !listed {
		t.Actions = append(t.Actions, &ir.ActionRef{Action: a})
	}
	t.Default = &ir.ActionCall{Action: a}
}

// boundAction lowers an action with the arguments that an entry or
// default_action gives.
func (l *lowerer) boundAction(inst *instance, t *ir.Table, ref *syntax.ActionRef, o *types.TableObj) *ir.ActionCall {
	var args []*syntax.Argument
	x := ref.X
	if call, ok := x.(*syntax.CallExpr); ok {
		args, x = call.Args, call.Fun
	}
	decl := l.info.TypeOf(x).(*types.Action)
	call := &ir.ActionCall{}
	for _, r := range t.Actions {
		if r.Action.Decl == decl {
			call.Action = r.Action
		}
	}
	for i, p := range decl.Params {
		if p.Dir != syntax.NoDirection {
			continue
		}
		var e syntax.Expr
		for k, a := range args {
			if a.Name == nil && k == i || a.Name != nil && a.Name.Name == p.Name {
				e = a.Value
			}
		}
		if e == nil {
			e = p.Default
		}
		if e == nil {
			continue
		}
		c := isConst(l.exprTo(e, p.Type))
		if c == nil {
			l.fail(e.Pos(), CodeNotConstant, "%s must be known at compile time", syntax.Text(e))
		}
		call.Args = append(call.Args, c)
	}
	return call
}

func (l *lowerer) entry(inst *instance, t *ir.Table, e *syntax.Entry, o *types.TableObj) *ir.Entry {
	l.span = syntax.Span(e)
	keys := make([]types.Type, len(t.Keys))
	for i, k := range t.Keys {
		keys[i] = k.Source
	}
	out := &ir.Entry{Const: e.Const, Decl: e, Keys: l.keySets(e.Keys, keys)}
	out.Call = l.boundAction(inst, t, e.Action, o)
	if e.Priority != nil {
		out.Priority = l.number(e.Priority)
	} else if a := syntax.Annot(e.Annotations, "priority"); a != nil && len(a.Exprs) == 1 {
		out.Rank = l.number(a.Exprs[0])
	}
	return out
}

// priorities assigns the entries of a table their priorities, if its match
// kinds require them (language spec 14.2.1.4.1).
func (l *lowerer) priorities(t *ir.Table, entries *syntax.Property) {
	t.LargestWins = true
	delta := int64(1)
	for _, p := range t.Decl.Table.Decl.Props {
		switch p.Name.Name {
		case "largest_priority_wins":
			if c := isConst(l.expr(p.Value)); c != nil {
				t.LargestWins = isTrue(c)
			}
		case "priority_delta":
			n := l.number(p.Value)
			if n.Sign() <= 0 || n.BitLen() > 31 {
				l.fail(p.Pos(), CodeOutOfRange, "priority_delta must be positive and less than 2^31, which %v is not", n)
			}
			delta = n.Int64()
		}
	}
	needed, given := false, false
	for _, k := range t.Keys {
		needed = needed || k.Match != "exact" && k.Match != "lpm"
	}
	for _, e := range t.Entries {
		given = given || e.Priority != nil
	}
	if !needed || len(t.Entries) == 0 {
		return
	}
	if given && t.Entries[0].Priority == nil {
		l.fail(t.Entries[0].Decl.Pos(), types.CodeEntry, "the first entry must have a priority if another has one")
	}
	p := int64(1)
	for i := range t.Entries {
		e := t.Entries[i]
		switch {
		case !given && t.LargestWins:
			p = 1 + int64(len(t.Entries)-1-i)*delta
		case !given:
			p = 1 + int64(i)*delta
		case e.Priority != nil:
			if e.Priority.BitLen() > 31 {
				l.fail(e.Decl.Pos(), CodeOutOfRange, "the priority %v is too large", e.Priority)
			}
			p = e.Priority.Int64()
		case t.LargestWins:
			p -= delta
		default:
			p += delta
		}
		if p < 0 || p > 1<<31-1 {
			l.fail(t.Span.Start, CodeOutOfRange, "an entry of table %s, at %v, gets the priority %d, which is out of range", t.Name, l.rep.Set.Position(e.Decl.Pos()), p)
		}
		e.Priority = big.NewInt(p)
	}
}

// action lowers an action that entries can have, with the arguments of its
// parameters with direction bound by a table's list of actions.
func (l *lowerer) action(inst *instance, a *types.Action, bound []syntax.Expr) *ir.Action {
	key := a.Name
	if l.isTopAction(a) {
		key = "." + key
	}
	for _, e := range bound {
		key += "," + syntax.Text(e)
	}
	owner := inst
	if l.isTopAction(a) && len(bound) == 0 {
		owner = l.top()
	}
	if old := owner.actions[key]; old != nil {
		return old
	}
	d := a.Decl
	prefix := inst.name
	if l.isTopAction(a) {
		prefix = ""
	}
	act := &ir.Action{Name: controlName(prefix, d.Annotations, d.Name.Name), Decl: a, Span: syntax.Span(d.Name), Role: l.role}
	owner.actions[key] = act
	l.prog.Actions = append(l.prog.Actions, act)
	parent := l.global
	if !l.isTopAction(a) {
		parent = l.frame.instanceFrame()
	}
	outer, span := l.frame, l.span
	parser, outs, inAction := l.parser, l.copyOuts, l.inAction
	l.parser, l.copyOuts, l.inAction = nil, nil, true
	directed := &types.Call{Action: a}
	act.Body, _ = l.collect(func() {
		l.within(parent, func(fr *frame) {
			l.span = act.Span
			for i, p := range a.Params {
				if p.Dir == syntax.NoDirection {
					it, ok := irType(p.Type)
					if !ok {
						l.fail(p.Decl.Pos(), CodeUnsupported, "parameter %s of an action cannot have type %s on this target", p.Name, p.Type)
					}
					q := &ir.ActionParam{Name: controlName("", p.Decl.Annotations, p.Name), Type: it, Source: p.Type, Decl: p}
					act.Params = append(act.Params, q)
					l.bindParam(p, scalar{&ir.ParamRef{Param: q}})
					continue
				}
				directed.Params, directed.Args = append(directed.Params, p), append(directed.Args, bound[i])
			}
			l.frame = outer
			out := l.bindArgs(directed, l.arguments(directed, nil), fr)
			l.frame = fr
			l.copyOuts = append(l.copyOuts, out)
			l.labelled(a.Name, func(to *label) {
				fr.ret = &returnPoint{label: to}
				l.stmtList(d.Body.Stmts)
			})
			out()
		})
	})
	l.parser, l.copyOuts, l.inAction = parser, outs, inAction
	l.frame, l.span = outer, span
	return act
}

// top returns an instance for the top level of the program.
func (l *lowerer) top() *instance {
	if l.global.inst == nil {
		l.global.inst = &instance{actions: map[string]*ir.Action{}}
	}
	return l.global.inst
}
