// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"strings"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/include"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// callExtern lowers a call of an extern function or method.
func (l *lowerer) callExtern(e *syntax.CallExpr, c *types.Call) value {
	var obj *ir.Object
	if _, this := c.Recv.(*syntax.ThisExpr); this && l.arch == arch.TNA && c.Func.Name == "predicate" {
		return l.predicate(c)
	}
	if c.Kind == types.CallMethod {
		switch v := l.expr(c.Recv).(type) {
		case packet:
			return l.callPacket(e, c)
		case object:
			obj = v.o
		default:
			l.unsupported(e, "%s cannot be called here", syntax.Text(e.Fun))
		}
	}
	if obj == nil && c.Func.Name == "verify" && l.parser != nil && l.isCore(c) {
		cond := l.keepScalar(l.scalarTo(c.Args[0], types.Bool), c.Args[1:])
		l.emit(&ir.Verify{Base: l.at(), Cond: cond, Err: l.scalarTo(c.Args[1], types.Error)})
		return nil
	}
	if obj == nil && c.Func.Name == "static_assert" {
		return scalar{boolConst(true)}
	}
	if l.arch == arch.TNA {
		if v, ok := l.callTNA(e, c, obj); ok {
			return v
		}
	}
	return l.emitExtern(e, c, obj)
}

// emitExtern emits a call of an extern and returns its result.
func (l *lowerer) emitExtern(e *syntax.CallExpr, c *types.Call, obj *ir.Object) value {
	subst := types.Subst{}
	for i, p := range c.Func.TypeParams {
		subst[p] = l.substitute(c.TypeArgs[i])
	}
	call := &ir.Call{Base: l.at(), Name: c.Func.Name, Object: obj, Func: c.Func, CallSpan: syntax.Span(e)}
	for _, t := range c.TypeArgs {
		call.TypeArgs = append(call.TypeArgs, l.substitute(t))
	}
	var outs copies
	for _, a := range l.arguments(c, subst) {
		arg, out := l.externArg(a)
		call.Args = append(call.Args, arg)
		if out != nil {
			outs.add(a, out)
		}
	}
	var result value
	if t := l.info.Substitute(l.substitute(c.Func.Result), subst); t != types.Void {
		result = l.temp(t, "tmp")
		arg, _ := l.externArg(arg{v: result, t: t, param: &types.Param{Name: "result", Dir: syntax.DirOut}})
		call.Args = append([]ir.Arg{arg}, call.Args...)
	}
	l.preserve(call)
	l.emit(call)
	outs.run()
	return result
}

// isCore reports whether the function called is declared in core.p4.
func (l *lowerer) isCore(c *types.Call) bool {
	return strings.HasSuffix(l.rep.Set.Position(c.Func.Decl.Pos()).File(), "core.p4")
}

// externArg converts an argument to one of an extern. The returned function
// must run after the call.
func (l *lowerer) externArg(a arg) (ir.Arg, func()) {
	out := ir.Arg{Source: a.t, Span: where(a.e, l.span)}
	if en, ok := a.t.(*types.Enum); ok && en.Underlying == nil {
		if c := isConst(a.v); c != nil && include.Is(l.rep.Set.Position(en.Decl.Pos()).File()) {
			out.Member = c.Member
			out.X = c
			return out, nil
		}
	}
	if a.in != nil {
		l.fillArg(&out, a.in)
		return out, l.copyOut(l.frame, a, a.in)
	}
	if a.param.Dir == syntax.DirOut || a.param.Dir == syntax.DirInout {
		switch v := a.v.(type) {
		case scalar, element, sliceOf:
			if canWrite(v) {
				out.X = v.(scalar).x
				return out, nil
			}
			tmp := l.temp(a.t, "tmp")
			if a.param.Dir == syntax.DirInout {
				l.copyIn(l.frame, tmp, a)
			}
			out.X = tmp.(scalar).x
			return out, l.copyOut(l.frame, a, tmp)
		}
	}
	l.fillArg(&out, a.v)
	return out, nil
}

// canWrite reports whether v is a place that the switch itself can write.
func canWrite(v value) bool {
	s, ok := v.(scalar)
	if !ok {
		return false
	}
	switch x := s.x.(type) {
	case *ir.VarRef:
		return true
	case *ir.FieldRef:
		switch x.Header.(type) {
		case *ir.StackElem, *ir.UnionStackElem:
			return false
		}
		return true
	}
	return false
}

func (l *lowerer) fillArg(out *ir.Arg, v value) {
	switch v := v.(type) {
	case scalar:
		out.X = v.x
	case number:
		out.X = &ir.Const{T: ir.Type{Kind: ir.Bits, Width: max(v.v.BitLen(), 1)}, Val: v.v}
	case text:
		out.X = &ir.Text{Val: v.s}
	case object:
		out.Object = v.o
	case header:
		out.Header = v.ref
		out.List = l.listArgs(l.parts(v))
	case stack:
		out.Stack = v.s
		out.List = l.listArgs(l.parts(v))
	case union:
		out.Union = v.u
		out.List = l.listArgs(l.parts(v))
	case aggregate, headerLit, stackLit:
		out.List = l.listArgs(l.parts(v))
	case nil:
	default:
		l.fail(l.span.Start, CodeUnsupported, "an argument of this kind is not supported on this target")
	}
}

func (l *lowerer) listArgs(list []value) []ir.Arg {
	args := make([]ir.Arg, len(list))
	for i, v := range list {
		l.fillArg(&args[i], v)
	}
	return args
}

// callPacket lowers the methods of packet_in and packet_out.
func (l *lowerer) callPacket(e *syntax.CallExpr, c *types.Call) value {
	switch c.Func.Name {
	case "extract":
		l.extract(e, c)
		return nil
	case "lookahead":
		t := l.substitute(c.TypeArgs[0])
		offset := 0
		v := l.lookahead(e, t, &offset)
		return l.copyOf(v)
	case "advance":
		l.emit(&ir.Advance{Base: l.at(), Bits: l.scalarTo(c.Args[0], c.Params[0].Type)})
		return nil
	case "emit":
		l.emitValue(e, l.expr(c.Args[0]))
		return nil
	}
	l.unsupported(e, "%s is not supported on this target", syntax.Text(e))
	return nil
}

func (l *lowerer) extract(e *syntax.CallExpr, c *types.Call) {
	var h header
	if _, ok := c.Args[0].(*syntax.DefaultExpr); ok {
		t, ok := l.substitute(c.TypeArgs[0]).(*types.Struct)
		if !ok || t.Kind != types.Header {
			l.unsupported(e, "only a header can be extracted")
		}
		h = l.temp(t, "tmp").(header)
	} else {
		var ok bool
		if h, ok = l.lvalue(c.Args[0]).(header); !ok {
			l.unsupported(c.Args[0], "only a header can be extracted, which %s is not", syntax.Text(c.Args[0]))
		}
	}
	if l.anyEffects(c.Args[1:]) {
		h = l.fixed(h).(header)
	}
	x := &ir.Extract{Base: l.at(), Header: h.ref}
	varbits := 0
	for _, f := range h.ref.HeaderType().Fields {
		if f.Type.Kind == ir.Varbit {
			varbits++
		}
	}
	if len(c.Args) > 1 {
		if varbits != 1 {
			l.unsupported(e, "extract with a size needs a header with one varbit, %s has %d", syntax.Text(c.Args[0]), varbits)
		}
		x.Length = l.scalarTo(c.Args[1], c.Params[1].Type)
	} else if varbits > 0 {
		l.unsupported(e, "%s has a varbit, whose size must be given", syntax.Text(c.Args[0]))
	}
	l.emit(x)
}

// lookahead returns the packet's bits at the offset as a value of type t, and
// advances the offset.
func (l *lowerer) lookahead(e syntax.Expr, t types.Type, offset *int) value {
	if it, ok := irType(t); ok && it.Kind != ir.Varbit && it.Kind != ir.Error {
		width := it.Width
		bits := ir.Type{Kind: ir.Bits, Width: width}
		x := l.copyOf(scalar{&ir.Lookahead{T: bits, Offset: *offset}}).(scalar).x
		*offset += width
		return scalar{mkCast(it, x)}
	}
	var elems []value
	switch t := t.(type) {
	case *types.Struct:
		if t.Kind == types.HeaderUnion {
			break
		}
		for _, f := range t.Fields {
			elems = append(elems, l.lookahead(e, f.Type, offset))
		}
		return l.compose(t, elems)
	case *types.Tuple:
		for _, f := range t.Elems {
			elems = append(elems, l.lookahead(e, f, offset))
		}
		return l.compose(t, elems)
	case *types.Array:
		for range t.Size {
			elems = append(elems, l.lookahead(e, t.Elem, offset))
		}
		return l.compose(t, elems)
	}
	l.unsupported(e, "lookahead of %s is not supported on this target", t)
	return nil
}

// emitValue emits a header, or every header in v.
func (l *lowerer) emitValue(e syntax.Expr, v value) {
	switch v := v.(type) {
	case header:
		l.emit(&ir.Emit{Base: l.at(), Header: v.ref})
	case stack, unionStack, union, aggregate:
		for _, p := range l.parts(v) {
			l.emitValue(e, p)
		}
	default:
		l.unsupported(e, "only headers can be emitted")
	}
}
