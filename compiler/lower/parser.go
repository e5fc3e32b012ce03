// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// parserCode is the parser being written. Statements go into its current state.
// Conditional statements and calls of other parsers begin new states.
type parserCode struct {
	p     *ir.Parser
	state *ir.State
	// states has the states of the instance being lowered, by declaration.
	states map[*syntax.StateDecl]*ir.State
	// accept is the state after an inner parser's accept; nil in the outer parser.
	accept   *ir.State
	deposits []*deposit
}

func (pc *parserCode) newState(l *lowerer, name string) *ir.State {
	l.count(8) // a state produces about as much output as 8 statements
	of := pc.p.Role + " "
	s := &ir.State{Name: l.unique(of + name)[len(of):]}
	pc.p.States = append(pc.p.States, s)
	return s
}

// topParser lowers a parser of the architecture.
func (l *lowerer) topParser(inst *instance) {
	d := inst.block.Parser
	p := &ir.Parser{Name: inst.name, Role: l.role, Span: syntax.Span(d.Name)}
	l.prog.Parsers = append(l.prog.Parsers, p)
	l.parser = &parserCode{p: p}
	l.prepare(inst)
	p.Start = l.parserStates(inst, nil)
	l.subtractAll(p, l.parser.deposits)
	l.parser = nil
}

// parserStates lowers the local variables and states of a parser and returns
// the start state. accept continues in the given state, or ends.
func (l *lowerer) parserStates(inst *instance, accept *ir.State) *ir.State {
	pc := l.parser
	d := inst.block.Parser
	oldStates, oldAccept, oldState := pc.states, pc.accept, pc.state
	pc.states = map[*syntax.StateDecl]*ir.State{}
	pc.accept = accept
	inner := oldStates != nil
	var start *ir.State
	prefix := ""
	if inner {
		prefix = inst.name + "."
	}
	for _, s := range d.States {
		name := prefix + s.Name.Name
		if !inner {
			name = controlName("", nil, s.Name.Name)
		}
		st := pc.newState(l, name)
		st.Decl = s
		pc.states[s] = st
		if s.Name.Name == "start" {
			start = st
		}
	}
	// Variables are set once, before the first state. If that state can be entered
	// again, they are set in a state of their own.
	init := &ir.State{}
	pc.state = init
	l.dead = false
	for _, loc := range d.Locals {
		switch loc := loc.(type) {
		case *syntax.VarDecl:
			l.span = syntax.Span(loc)
			l.localDecl(loc)
		case *syntax.ValueSetDecl:
			l.valueSet(inst, loc)
		}
	}
	entry := start
	if len(init.Body) > 0 || pc.state != init {
		entry = pc.newState(l, prefix+"init")
		first := *entry
		*entry = *init
		entry.Name = first.Name
		if pc.state == init {
			pc.state = entry
		}
		if !l.dead {
			pc.state.Next = start
		}
	}
	for _, s := range d.States {
		pc.state = pc.states[s]
		l.dead = false
		l.within(l.frame, func(*frame) {
			l.stmtList(s.Body)
			if !l.dead {
				l.transition(s)
			}
		})
	}
	pc.states, pc.accept, pc.state = oldStates, oldAccept, oldState
	l.dead = false
	return entry
}

// innerParser inlines the states of an inner parser.
func (l *lowerer) innerParser(inst *instance) {
	pc := l.parser
	here := pc.state
	after := pc.newState(l, "after_"+inst.block.Name)
	here.Next = l.parserStates(inst, after)
	pc.state = after
}

// goTo ends the current state with a transition to the named state.
func (l *lowerer) goTo(name string) (next *ir.State, reject bool) {
	switch name {
	case "accept":
		return l.parser.accept, false
	case "reject":
		return nil, true
	}
	for d, s := range l.parser.states {
		if d.Name.Name == name {
			return s, false
		}
	}
	panic("BUG: no state " + name)
}

// transition lowers the transition at the end of a state.
func (l *lowerer) transition(d *syntax.StateDecl) {
	st := l.parser.state
	switch next := d.Next.(type) {
	case nil:
		st.Reject = true
	case *syntax.NameExpr:
		st.Next, st.Reject = l.goTo(next.Name)
	case *syntax.SelectExpr:
		l.selectExpr(next)
	}
}

func (l *lowerer) selectExpr(e *syntax.SelectExpr) {
	span := l.span
	l.span = syntax.Span(e)
	defer func() { l.span = span }()
	sel := &ir.Select{Span: l.span}
	var keyTypes []types.Type
	for i, k := range e.Keys {
		v := l.keep(l.expr(k), e.Keys[i+1:])
		t := l.typeOf(k)
		sel.Keys = l.leavesOf(k, v, sel.Keys)
		keyTypes = leafTypes(t, keyTypes)
	}
	// A case whose set is not known at compile time becomes a condition before the
	// select.
	for _, c := range e.Cases {
		sc := &ir.SelectCase{}
		sc.Next, sc.Reject = l.goTo(c.Next.Name)
		if vs, ok := l.valueSetOf(c.Keys); ok {
			sc.ValueSet = vs
			sel.Cases = append(sel.Cases, sc)
			continue
		}
		sc.Keys = l.keySets(c.Keys, keyTypes)
		sel.Cases = append(sel.Cases, sc)
		if !slices.ContainsFunc(sc.Keys, func(k ir.KeySet) bool { return !k.Any && (k.Mask == nil || k.Mask.Sign() != 0) }) {
			break // it takes everything; targets try such a case last
		}
	}
	l.parser.state.Select = sel
}

// leavesOf appends the scalars that v consists of.
func (l *lowerer) leavesOf(e syntax.Expr, v value, list []ir.Expr) []ir.Expr {
	switch v := v.(type) {
	case scalar:
		return append(list, v.x)
	case aggregate:
		for _, el := range v.elems {
			list = l.leavesOf(e, el, list)
		}
		return list
	}
	l.unsupported(e, "select cannot use %s on this target", syntax.Text(e))
	return nil
}

// leafTypes appends the types of the scalars in a value of type t.
func leafTypes(t types.Type, list []types.Type) []types.Type {
	switch u := t.(type) {
	case *types.Struct:
		for _, f := range u.Fields {
			list = leafTypes(f.Type, list)
		}
		return list
	case *types.Tuple:
		for _, e := range u.Elems {
			list = leafTypes(e, list)
		}
		return list
	}
	return append(list, t)
}

// valueSetOf returns the value set that a key set names, if it names one.
func (l *lowerer) valueSetOf(e syntax.Expr) (*ir.ValueSet, bool) {
	n, ok := e.(*syntax.NameExpr)
	if !ok {
		return nil, false
	}
	vs, ok := l.frame.lookup(l.info.Use(n)).(*ir.ValueSet)
	return vs, ok
}

// keySets returns the parts of a key set for keys of the given types.
func (l *lowerer) keySets(e syntax.Expr, keys []types.Type) []ir.KeySet {
	switch x := e.(type) {
	case *syntax.DefaultExpr:
		list := make([]ir.KeySet, len(keys))
		for i := range list {
			list[i].Any = true
		}
		return list
	case *syntax.TupleExpr:
		return l.keyParts(x.Elems, keys)
	case *syntax.ListExpr:
		if len(x.Elems) != 1 || len(keys) == 1 {
			return l.keyParts(x.Elems, keys)
		}
	}
	return l.keyPart(e, keys)
}

// keyParts lowers several parts. One part can match several keys.
func (l *lowerer) keyParts(elems []syntax.Expr, keys []types.Type) []ir.KeySet {
	var out []ir.KeySet
	for i, e := range elems {
		n := 1
		if i == len(elems)-1 {
			n = len(keys)
		}
		if list, ok := e.(*syntax.ListExpr); ok && n > len(list.Elems) {
			n = len(list.Elems)
		}
		out = append(out, l.keyPart(e, keys[:min(n, len(keys))])...)
		keys = keys[min(n, len(keys)):]
	}
	return out
}

// keyPart returns the sets of one part of a key set.
func (l *lowerer) keyPart(e syntax.Expr, keys []types.Type) []ir.KeySet {
	if _, ok := e.(*syntax.DefaultExpr); ok {
		list := make([]ir.KeySet, len(keys))
		for i := range list {
			list[i].Any = true
		}
		return list
	}
	if b, ok := e.(*syntax.BinaryExpr); ok && (b.Op == syntax.Mask || b.Op == syntax.Range) && len(keys) == 1 {
		x, y := l.keyNumber(b.X, keys[0]), l.keyNumber(b.Y, keys[0])
		if b.Op == syntax.Mask {
			return []ir.KeySet{{Value: new(big.Int).And(x, y), Mask: y}}
		}
		return []ir.KeySet{{Value: x, High: y}}
	}
	v := l.expr(e)
	if len(keys) == 1 {
		v = l.convert(v, keys[0])
	}
	var out []ir.KeySet
	for i, x := range l.leavesOf(e, v, nil) {
		c, ok := x.(*ir.Const)
		if !ok {
			l.fail(e.Pos(), CodeNotConstant, "%s must be known at compile time on this target", syntax.Text(e))
		}
		val := c.Val
		if i < len(keys) {
			val = wrapTo(val, keys[i])
		}
		out = append(out, ir.KeySet{Value: val})
	}
	return out
}

func (l *lowerer) keyNumber(e syntax.Expr, t types.Type) *big.Int {
	c := isConst(l.convert(l.expr(e), t))
	if c == nil {
		l.fail(e.Pos(), CodeNotConstant, "%s must be known at compile time on this target", syntax.Text(e))
	}
	return wrapTo(c.Val, t)
}

// wrapTo returns the bits of v as an unsigned number.
func wrapTo(v *big.Int, t types.Type) *big.Int {
	if it, ok := irType(t); ok && it.IsNumber() && v.Sign() < 0 {
		return new(big.Int).And(v, types.Mask(it.Width))
	}
	return v
}

// valueSet makes a value set.
func (l *lowerer) valueSet(inst *instance, d *syntax.ValueSetDecl) {
	o := l.info.Defs[d].(*types.ValueSet)
	width, ok := types.Width(o.Type.Elem)
	if !ok {
		l.unsupported(d, "value set %s has elements without a size in bits", d.Name.Name)
	}
	name := controlName(inst.name, d.Annotations, d.Name.Name)
	vs := &ir.ValueSet{Name: name, Width: width, Size: l.number(d.Size).Int64(), Decl: o, Path: name}
	for _, old := range l.parser.p.ValueSets {
		if old.Name == name { // the parser is applied more than once
			l.frame.vals[o] = old
			return
		}
	}
	l.parser.p.ValueSets = append(l.parser.p.ValueSets, vs)
	l.frame.vals[o] = vs
}

// parserIf lowers a conditional in a parser to states.
func (l *lowerer) parserIf(cond ir.Expr, span source.Span, then, els func()) {
	pc := l.parser
	yes, no := pc.newState(l, "true"), pc.newState(l, "false")
	join := pc.newState(l, "join")
	pc.state.Select = &ir.Select{
		Keys: []ir.Expr{cond},
		Cases: []*ir.SelectCase{
			{Keys: []ir.KeySet{{Value: big.NewInt(1)}}, Next: yes},
			{Keys: []ir.KeySet{{Any: true}}, Next: no},
		},
		Span: span,
	}
	reached := false
	branch := func(s *ir.State, do func()) {
		pc.state, l.dead = s, false
		do()
		if !l.dead {
			pc.state.Next = join
			reached = true
		}
	}
	branch(yes, then)
	branch(no, els)
	pc.state, l.dead = join, !reached
}
