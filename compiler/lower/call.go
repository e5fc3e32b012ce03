// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"slices"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// maxCalls limits the nesting of calls of functions, actions and blocks. P4 has
// no recursion, so only an unusual program reaches it.
const maxCalls = 200

// call lowers a call and returns its result.
func (l *lowerer) call(e *syntax.CallExpr) value {
	c := l.info.Call(e)
	if c == nil {
		l.unsupported(e, "%s is not supported on this target", syntax.Text(e))
	}
	switch c.Kind {
	case types.CallFunction:
		if c.Func.Decl.Body != nil {
			return l.callFunction(e, c)
		}
		return l.callExtern(e, c)
	case types.CallMethod:
		return l.callExtern(e, c)
	case types.CallBuiltin:
		return l.callBuiltin(e, c)
	case types.CallAction:
		l.callAction(e, c)
		return nil
	case types.CallApply:
		if _, ok := l.info.TypeOf(c.Recv).(*types.Table); ok {
			l.applyTable(e, nil, nil)
			return nil
		}
		inst, ok := l.expr(c.Recv).(*instance)
		if !ok {
			l.unsupported(e, "%s cannot be applied here", syntax.Text(c.Recv))
		}
		l.applyBlock(e, c, inst)
		return nil
	case types.CallDirect:
		l.applyBlock(e, c, l.directInstance(e, c))
		return nil
	}
	l.unsupported(e, "%s is not supported here", syntax.Text(e))
	return nil
}

// directInstance returns the instance for T.apply(…). All such calls in the
// enclosing code share one.
func (l *lowerer) directInstance(e *syntax.CallExpr, c *types.Call) *instance {
	around := l.frame.instance()
	name := c.Block.Name
	if inst := around.direct[name]; inst != nil {
		return inst
	}
	inst := l.newInstance(&types.Call{Block: c.Block}, controlName(around.name, nil, name), around)
	inst.once = around.once && l.countDirect(around, c.Block) == 1
	around.direct[name] = inst
	return inst
}

func (l *lowerer) countDirect(inst *instance, b *types.Block) int {
	n := 0
	see := func(e syntax.Expr) bool {
		if c, ok := e.(*syntax.CallExpr); ok {
			if k := l.info.Call(c); k != nil && k.Kind == types.CallDirect && k.Block == b {
				n++
			}
		}
		return true
	}
	inst.walk(see)
	return n
}

// nested counts the enclosing calls and fails if there are more than maxCalls.
func (l *lowerer) nested(at syntax.Node) {
	n := 0
	for f := l.frame; f != nil; f = f.parent {
		n++
	}
	if n > maxCalls || len(l.copyOuts) > maxCalls {
		l.fail(at.Pos(), CodeTooLarge, "calls nest deeper than %d", maxCalls)
	}
}

// callFunction inlines the body of a function.
func (l *lowerer) callFunction(e *syntax.CallExpr, c *types.Call) value {
	l.nested(e)
	f := c.Func
	subst := map[*types.TypeParam]types.Type{}
	for i, p := range f.TypeParams {
		if subst[p] = l.substitute(c.TypeArgs[i]); types.TooLarge(subst[p]) {
			l.fail(e.Pos(), CodeTooLarge, "type %s of this call of %s has too many fields", p.Name, f.Name)
		}
	}
	result := l.info.Substitute(l.substitute(f.Result), subst)
	if x := l.soleResult(f); x != nil {
		return l.inline(x, result, c, subst)
	}
	var place value
	if result != types.Void {
		place = l.temp(result, "retval")
	}
	args := l.arguments(c, subst)
	span := l.span
	l.within(l.global, func(fr *frame) {
		fr.subst = subst
		out := l.bindArgs(c, args, fr)
		l.copyOuts = append(l.copyOuts, out)
		l.labelled(f.Name, func(to *label) {
			fr.ret = &returnPoint{to, place, result}
			l.stmtList(f.Decl.Body.Stmts)
		})
		l.copyOuts = l.copyOuts[:len(l.copyOuts)-1]
		l.span = span
		out()
	})
	return place
}

// soleResult returns the expression of a function whose body is a single return
// statement without calls, otherwise nil.
func (l *lowerer) soleResult(f *types.Func) syntax.Expr {
	if len(f.Decl.Body.Stmts) != 1 || slices.ContainsFunc(f.Params, func(p *types.Param) bool { return p.Dir >= syntax.DirOut }) {
		return nil
	}
	ret, ok := f.Decl.Body.Stmts[0].(*syntax.ReturnStmt)
	if !ok || ret.X == nil {
		return nil
	}
	calls := false
	syntax.Walk(ret.X, func(e syntax.Expr) bool {
		_, call := e.(*syntax.CallExpr)
		calls = calls || call
		return !calls
	})
	if calls {
		return nil
	}
	return ret.X
}

// inline returns the result of a function that is one expression, with the
// arguments put in. An argument that is used more than once is evaluated first.
func (l *lowerer) inline(x syntax.Expr, result types.Type, c *types.Call, subst types.Subst) (v value) {
	args := l.arguments(c, subst)
	l.within(l.global, func(fr *frame) {
		fr.subst = subst
		for _, a := range args {
			if a.v == nil {
				continue
			}
			uses := 0
			syntax.Walk(x, func(e syntax.Expr) bool {
				if n, ok := e.(*syntax.NameExpr); ok && l.info.Use(n) == types.Object(l.info.ParamObj(a.param)) {
					uses++
				}
				return true
			})
			if uses > 1 && !isStable(a.v) {
				a.v = l.copyOf(a.v)
			}
			l.bindParam(a.param, a.v)
		}
		v = l.exprTo(x, result)
	})
	return v
}

// callAction inlines the body of an action.
func (l *lowerer) callAction(e *syntax.CallExpr, c *types.Call) {
	l.nested(e)
	a := c.Action
	l.noteCalled(a)
	args := l.arguments(c, nil)
	span, inAction := l.span, l.inAction
	parent := l.global
	if !l.isTopAction(a) {
		parent = l.frame.instanceFrame()
	}
	l.within(parent, func(fr *frame) {
		out := l.bindArgs(c, args, fr)
		l.copyOuts = append(l.copyOuts, out)
		l.inAction = true
		l.labelled(a.Name, func(to *label) {
			fr.ret = &returnPoint{label: to}
			l.stmtList(a.Decl.Body.Stmts)
		})
		l.inAction = inAction
		l.copyOuts = l.copyOuts[:len(l.copyOuts)-1]
		l.span = span
		out()
	})
}

// noteCalled records that a control calls an action itself. As with p4c, P4Info
// lists the action although no table has it.
func (l *lowerer) noteCalled(a *types.Action) {
	if l.dead || l.control == nil || l.inAction {
		return
	}
	prefix := ""
	if !l.isTopAction(a) {
		prefix = l.frame.instance().name
	}
	name := controlName(prefix, a.Decl.Annotations, a.Name)
	for _, old := range l.prog.Called {
		if old.Name == name {
			return
		}
	}
	l.prog.Called = append(l.prog.Called, &ir.Action{Name: name, Decl: a, Span: syntax.Span(a.Decl), Role: l.role})
}

// instanceFrame returns the frame of the enclosing instance, in which its
// parameters and local variables are bound.
func (f *frame) instanceFrame() *frame {
	for g := f; g != nil; g = g.parent {
		if g.inst != nil {
			return g
		}
	}
	return f
}

func (l *lowerer) isTopAction(a *types.Action) bool {
	o, ok := l.info.Defs[a.Decl].(*types.ActionObj)
	return ok && o.Top
}

// applyBlock inlines the code of an inner parser or control.
func (l *lowerer) applyBlock(e *syntax.CallExpr, c *types.Call, inst *instance) {
	l.nested(e)
	l.prepare(inst)
	// The checker may have seen only the control's type.
	own := *c
	own.Params = inst.block.Params
	c = &own
	span := l.span
	var out func()
	fr := &frame{parent: inst.frame, vals: map[types.Object]value{}, inst: inst}
	if inst.once {
		out = l.bindArgs(c, l.arguments(c, nil), fr)
	} else {
		out = l.bindCopies(inst, c, l.arguments(c, nil), fr)
	}
	old := l.frame
	l.frame = fr
	l.copyOuts = append(l.copyOuts, out)
	if inst.block.Kind == types.ParserBlock {
		l.innerParser(inst)
	} else {
		l.labelled(inst.block.Name, func(to *label) {
			fr.ret = &returnPoint{label: to}
			l.controlBody(inst)
		})
	}
	l.copyOuts = l.copyOuts[:len(l.copyOuts)-1]
	l.frame = old
	l.span = span
	out()
}

// callBuiltin lowers a method that is built into a type.
func (l *lowerer) callBuiltin(e *syntax.CallExpr, c *types.Call) value {
	switch c.Name {
	case "minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes":
		l.unsupported(e, "the size of %s is not known here", syntax.Text(c.Recv))
	}
	if c.Name == "setValid" || c.Name == "setInvalid" {
		v := l.lvalue(c.Recv)
		if h, ok := v.(header); ok {
			l.guarded(v, func() {
				l.setValid(h.ref, c.Name == "setValid")
			})
			return nil
		}
	}
	v := l.expr(c.Recv)
	switch c.Name {
	case "isValid":
		if u, ok := v.(union); ok {
			return scalar{&ir.UnionValid{Union: u.u}}
		}
		if u, ok := v.(unionAt); ok {
			var any ir.Expr = boolConst(false)
			for _, h := range l.parts(u) {
				any = mkBinary(syntax.OrOr, any, validity(h))
			}
			return scalar{any}
		}
		if x := validity(v); x != nil {
			return scalar{x}
		}
	case "push_front", "pop_front":
		n := int(l.number(c.Args[0]).Int64())
		var s *ir.Stack
		var u *ir.UnionStack
		switch v := v.(type) {
		case stack:
			s = v.s
		case unionStack:
			u = v.s
		}
		if c.Name == "push_front" {
			l.emit(&ir.Push{Base: l.at(), Stack: s, Union: u, N: n})
		} else {
			l.emit(&ir.Pop{Base: l.at(), Stack: s, Union: u, N: n})
		}
		return nil
	}
	l.unsupported(e, "%s is not supported on this target", syntax.Text(e))
	return nil
}

// arg is an argument after evaluation.
type arg struct {
	v     value // of an out or inout argument, the place
	in    value // a copy of what an inout argument was when it was evaluated, or nil if v still has it
	param *types.Param
	t     types.Type
	e     syntax.Expr // nil if it was left out
	place int         // in the call
}

// arguments evaluates the arguments of a call from left to right, as they are
// written (language spec 6.8). A value that the evaluation of a later argument
// could change is copied.
func (l *lowerer) arguments(c *types.Call, subst types.Subst) []arg {
	args := make([]arg, len(c.Params))
	order := inOrder(c.Args)
	for n, i := range order {
		p := c.Params[i]
		a := arg{param: p, e: c.Args[i], place: n}
		a.t = l.info.Substitute(l.substitute(p.Type), subst)
		e := a.e
		if e == nil {
			e = p.Default
		}
		later := make([]syntax.Expr, 0, len(order))
		for _, k := range order[n+1:] {
			later = append(later, c.Args[k])
		}
		_, dontcare := e.(*syntax.DefaultExpr)
		switch {
		case e == nil || dontcare:
			if p.Dir == syntax.DirOut {
				a.v = l.temp(a.t, p.Name)
			}
		case p.Dir == syntax.DirOut:
			a.v = l.fixed(l.lvalue(e))
		case p.Dir == syntax.DirInout:
			a.v = l.fixed(l.lvalue(e))
			if l.anyEffects(later) {
				if _, ok := irType(a.t); ok || typeOfPlace(a.v) != types.Invalid {
					a.in = l.temp(a.t, p.Name)
					l.assign(a.in, l.load(a.v))
				}
			}
		default:
			switch a.t.(type) {
			case *types.Extern, *types.Block:
				a.v = l.expr(e)
			default:
				a.v = l.keep(l.exprTo(e, a.t), later)
			}
		}
		args[i] = a
	}
	return args
}

// copies are what runs after a call. Results are copied out in the order of the
// arguments in the call, which named arguments can change.
type copies struct {
	out   []func()
	place []int
}

func (c *copies) add(a arg, out func()) {
	at, _ := slices.BinarySearch(c.place, a.place)
	c.out, c.place = slices.Insert(c.out, at, out), slices.Insert(c.place, at, a.place)
}

func (c *copies) run() {
	for _, out := range c.out {
		out()
	}
}

// inOrder returns the indices of arguments in the order in which the call has
// them, and then of those that were left out. Named arguments can be in any
// order. Positions would not tell it, because all tokens of a macro have one;
// numbers of expressions do.
func inOrder(args []syntax.Expr) []int {
	order := make([]int, len(args))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int {
		switch a, b := args[i], args[k]; {
		case a == nil && b == nil:
			return 0
		case a == nil:
			return 1
		case b == nil:
			return -1
		default:
			return cmp.Compare(a.ID(), b.ID())
		}
	})
	return order
}

// objectsIn returns the objects that a body names.
func (l *lowerer) objectsIn(b *syntax.BlockStmt) map[types.Object]bool {
	used := map[types.Object]bool{}
	seen := map[*syntax.BlockStmt]bool{} // once each: there may be 2^200 calls
	bodies := []*syntax.BlockStmt{b}
	see := func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.NameExpr:
			if o := l.info.Use(e); o != nil {
				used[o] = true
			}
		case *syntax.CallExpr:
			if c := l.info.Call(e); c != nil && c.Kind == types.CallAction {
				bodies = append(bodies, c.Action.Decl.Body)
			}
		}
		return true
	}
	for len(bodies) > 0 {
		b, bodies = bodies[0], bodies[1:]
		if !seen[b] {
			seen[b] = true
			syntax.WalkStmt(b, see)
		}
	}
	return used
}

// where returns the span of an expression that may be missing.
func where(e syntax.Expr, or source.Span) source.Span {
	if e == nil {
		return or
	}
	return syntax.Span(e)
}
