// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// functionOfTNA lowers a function of tna.p4. It reports whether the call is one.
func (l *lowerer) functionOfTNA(e *syntax.CallExpr, c *types.Call) (value, bool) {
	switch name := c.Func.Name; {
	case (name == "min" || name == "max") && len(c.Args) == 2 && len(c.TypeArgs) == 1:
		return l.extreme(c), true
	case name == "port_metadata_unpack" && l.parser != nil && len(c.TypeArgs) == 1:
		return l.portMetadata(e, c), true
	case name == "sizeInBits" || name == "sizeInBytes":
		return l.sizeOf(e, c), true
	case name == "funnel_shift_right":
		l.funnelShift(e, c)
		return nil, true
	case name == "invalidate" || name == "is_validated":
		return l.fieldValidity(e, c), true
	}
	return nil, false
}

// sizeOf returns the size of a value's type.
func (l *lowerer) sizeOf(e *syntax.CallExpr, c *types.Call) value {
	t := l.substitute(c.TypeArgs[0])
	n, ok := types.Width(t)
	if !ok {
		l.unsupported(e, "%s has no fixed size", t)
	}
	if c.Func.Name == "sizeInBytes" {
		n = (n + 7) / 8
	}
	return scalar{bitConst(32, int64(n))}
}

// funnelShift assigns the lower bits of two numbers side by side, shifted right.
func (l *lowerer) funnelShift(e *syntax.CallExpr, c *types.Call) {
	args := l.arguments(c, types.Subst{c.Func.TypeParams[0]: l.substitute(c.TypeArgs[0])})
	n, ok := args[3].v.(number)
	hi, ok1 := args[1].v.(scalar)
	lo, ok2 := args[2].v.(scalar)
	if !ok || !ok1 || !ok2 || hi.x.Type().Kind != ir.Bits {
		l.unsupported(e, "funnel_shift_right needs numbers of bit<W> and a shift that is known at compile time")
	}
	w := hi.x.Type().Width
	if n.v.Sign() < 0 || n.v.Cmp(big.NewInt(int64(w))) > 0 {
		l.fail(e.Pos(), CodeOutOfRange, "funnel_shift_right by %v: a shift of two numbers of %d bits is 0 to %d", n.v, w, w)
	}
	shift := int(n.v.Int64())
	both := l.once(mkConcat(hi.x, lo.x))
	l.assign(args[0].v, scalar{mkSlice(both, shift+w-1, shift)})
}

// absent has the values of the fields of intrinsic metadata with which the switch
// does nothing.
var absent = map[string]int64{
	"ucast_egress_port": 0x1ff, "mcast_grp_a": 0, "mcast_grp_b": 0, "copy_to_cpu": 0, "mirror_type": 0, "resubmit_type": 0, "digest_type": 0, "drop_ctl": 0,
}

// fieldValidity lowers invalidate and is_validated.
func (l *lowerer) fieldValidity(e *syntax.CallExpr, c *types.Call) value {
	v, _ := l.lvalue(c.Args[0]).(scalar)
	f, ok := v.x.(*ir.FieldRef)
	if !ok {
		l.unsupported(e, "only fields of headers and of intrinsic metadata have a validity, which %s is not", syntax.Text(c.Args[0]))
	}
	h, fixed := f.Header.(*ir.Header)
	var none *ir.Const
	if fixed && h.Metadata {
		n, known := absent[h.Type.Fields[f.Field].Name]
		if !known {
			l.unsupported(e, "%s always has a value in softswitch", syntax.Text(c.Args[0]))
		}
		none = &ir.Const{T: f.Type(), Val: big.NewInt(n)}
	}
	switch {
	case c.Func.Name == "invalidate" && none != nil:
		l.emit(&ir.Assign{Base: l.at(), Dst: f, Src: none})
		return nil
	case c.Func.Name == "invalidate":
		l.unsupported(e, "a field of a packet's header is valid with its header: call setInvalid for the header")
	case none != nil:
		return scalar{mkBinary(syntax.NotEqual, f, none)}
	}
	return scalar{&ir.Valid{Header: f.Header}}
}

// meter executes a meter. The switch returns 0 to 2 for green to red, which become
// the values that the meter's declaration gives them.
func (l *lowerer) meter(e *syntax.CallExpr, c *types.Call, obj *ir.Object) value {
	l.noRegisters(e)
	call := &ir.Call{Base: l.at(), Name: "execute", Object: obj, CallSpan: syntax.Span(e), Args: make([]ir.Arg, 4)}
	args := l.arguments(c, nil)
	for i, name := range []string{"index", "color", "adjust_byte_count"} {
		for _, a := range args {
			if a.param.Name == name && a.v != nil {
				call.Args[i+1] = ir.Arg{X: a.v.(scalar).x, Span: where(a.e, l.span)}
			}
		}
	}
	colour := l.tempVar(ir.Type{Kind: ir.Bits, Width: 2}, "color")
	call.Args[0] = ir.Arg{X: colour}
	l.emit(call)
	is := func(n int64) ir.Expr { return mkBinary(syntax.Equal, colour, bitConst(2, n)) }
	result := func(name string, or int64) ir.Expr {
		if a := obj.Arg(name); a != nil && a.X != nil {
			return a.X
		}
		return bitConst(8, or)
	}
	return scalar{mkMux(is(0), result("green", 0), mkMux(is(1), result("yellow", 1), result("red", 3)))}
}

// ofType puts the call of an object that was constructed with a type, such as
// Mirror(1), under the condition that the packet has this type. It reports whether
// the object has one. The packet's type is intrinsic metadata for the deparser.
func (l *lowerer) ofType(e *syntax.CallExpr, c *types.Call, obj *ir.Object) bool {
	if len(obj.Args) == 0 {
		return false
	}
	role := "ingress_intrinsic_metadata_for_deparser"
	if l.role == arch.EgressDeparser {
		role = "egress_intrinsic_metadata_for_deparser"
	}
	if l.role != arch.IngressDeparser && (l.role != arch.EgressDeparser || obj.Type.Name != "Mirror") {
		return false // an error when the call is generated
	}
	name := obj.Params[0].Name // mirror_type and so on
	meta, _ := l.roles[role].(aggregate)
	t, _ := meta.t.(*types.Struct)
	if t == nil {
		l.unsupported(e, "%s has a type, but no control of this program has %s_t, which has the packet's type", syntax.Text(c.Recv), role)
	}
	i := slices.IndexFunc(t.Fields, func(f *types.Field) bool { return f.Name == name })
	untyped := *obj
	untyped.Args, untyped.Params = nil, nil
	body, _ := l.collect(func() { l.emitExtern(e, c, &untyped) })
	l.emit(&ir.If{Base: l.at(), Cond: mkBinary(syntax.Equal, meta.elems[i].(scalar).x, obj.Args[0].X), Then: body})
	return true
}

// nextOfLog returns the index of the register's cell after that of the last call
// of execute_log.
func (l *lowerer) nextOfLog(e *syntax.CallExpr, reg *ir.Object) value {
	size, ok := reg.Args[0].X.(*ir.Const)
	if !ok || size.Val.Sign() <= 0 {
		l.unsupported(e, "execute_log needs a register whose size is known at compile time")
	}
	log := l.logs[reg]
	if log == nil {
		log = &ir.Object{Name: reg.Name + ".$log", Kind: "log", Type: reg.Type, Span: reg.Span, Role: reg.Role}
		l.logs[reg] = log
		l.prog.Objects = append(l.prog.Objects, log)
	}
	at := l.tempVar(ir.Bit32, "log")
	zero := ir.Arg{X: bitConst(32, 0)}
	l.emit(&ir.Call{Base: l.at(), Name: "read", Object: log, CallSpan: syntax.Span(e), Args: []ir.Arg{{X: at}, zero}})
	after := mkBinary(syntax.Plus, at, bitConst(32, 1))
	last := mkBinary(syntax.Equal, at, bitConst(32, size.Val.Int64()-1))
	l.emit(&ir.Call{Base: l.at(), Name: "write", Object: log, CallSpan: syntax.Span(e), Args: []ir.Arg{zero, {X: mkMux(last, bitConst(32, 0), after)}}})
	return scalar{at}
}

// predicate returns a RegisterAction's predicate: one bit of four, which its two
// conditions select.
func (l *lowerer) predicate(c *types.Call) value {
	bits := []ir.Expr{boolConst(false), boolConst(false)}
	for i, a := range l.arguments(c, nil) {
		if a.v != nil {
			bits[i] = a.v.(scalar).x
		}
	}
	it, ok := irType(l.substitute(c.Func.Result))
	if !ok || it.Kind != ir.Bits || it.Width < 4 {
		it = ir.Type{Kind: ir.Bits, Width: 4}
	}
	k := func(n int64) ir.Expr { return bitConst(it.Width, n) }
	lo, hi := l.once(bits[0]), bits[1]
	x := mkMux(hi, mkMux(lo, k(8), k(4)), mkMux(lo, k(2), k(1)))
	return l.convert(scalar{x}, l.substitute(c.Func.Result))
}

// parserCounter lowers the methods of a ParserCounter, which is a variable.
func (l *lowerer) parserCounter(e *syntax.CallExpr, c *types.Call, obj *ir.Object) value {
	if l.parser == nil {
		l.unsupported(e, "a ParserCounter can only be used in a parser")
	}
	n := l.counters[obj]
	if n == nil {
		n = l.tempVar(ir.Type{Kind: ir.Bits, Width: 8}, obj.Name)
		l.counters[obj] = n
	}
	set := func(x ir.Expr) { l.emit(&ir.Assign{Base: l.at(), Dst: n, Src: x}) }
	switch c.Func.Name {
	case "is_zero":
		return scalar{mkBinary(syntax.Equal, n, bitConst(8, 0))}
	case "is_negative":
		return scalar{mkBinary(syntax.Equal, mkSlice(n, 7, 7), bitConst(1, 1))}
	case "increment":
		set(mkBinary(syntax.Plus, n, l.arguments(c, nil)[0].v.(scalar).x))
		return nil
	case "decrement":
		set(mkBinary(syntax.Minus, n, l.arguments(c, nil)[0].v.(scalar).x))
		return nil
	}
	args := l.arguments(c, types.Subst{c.Func.TypeParams[0]: l.substitute(c.TypeArgs[0])})
	var x ir.Expr
	switch v := args[0].v.(type) {
	case scalar:
		x = v.x
	case number:
		x = bitConst(8, v.v.Int64())
	}
	if x == nil || x.Type().Kind != ir.Bits {
		l.unsupported(e, "a ParserCounter can only be set to a number of bit<W>")
	}
	x = mkCast(ir.Type{Kind: ir.Bits, Width: 8}, x)
	if len(args) == 1 {
		set(x)
		return nil
	}
	var k [4]int64
	for i := range k {
		v := isConst(args[i+1].v)
		if v == nil {
			l.fail(e.Pos(), CodeNotConstant, "%s of a ParserCounter must be known at compile time", args[i+1].param.Name)
		}
		k[i] = v.Val.Int64()
	}
	most, rotate, mask, add := k[0], int(k[1]%8), k[2], k[3]
	x = l.once(x)
	l.emit(&ir.Verify{Base: l.at(), Cond: mkBinary(syntax.LessEqual, x, bitConst(8, most)), Err: l.memberConst("CounterRange", types.Error).(scalar).x})
	if rotate > 0 {
		x = mkConcat(mkSlice(x, rotate-1, 0), mkSlice(x, 7, rotate))
	}
	x = mkBinary(syntax.And, x, bitConst(8, 1<<(mask+1)-1))
	set(mkBinary(syntax.Plus, x, bitConst(8, add)))
	return nil
}

func isSymmetric(o *ir.Object) bool { return syntax.Annot(o.Annotations, "symmetric") != nil }

// symmetric lowers a hash with pairs of fields that can be exchanged: as on the
// chip, both fields of a pair enter the hash at the same place, where the other
// place has zeros.
func (l *lowerer) symmetric(e *syntax.CallExpr, c *types.Call, obj *ir.Object) value {
	list, ok := c.Args[0].(*syntax.ListExpr)
	if !ok {
		l.unsupported(e, "a hash with @symmetric needs a list of fields, such as { hdr.ip.src, hdr.ip.dst }")
	}
	find := func(a *syntax.Annotation, name string) int {
		i := slices.IndexFunc(list.Elems, func(x syntax.Expr) bool { return syntax.Text(x) == name })
		if i < 0 {
			l.fail(a.Pos(), CodeUnsupported, "@symmetric names %s, which is not in the list of %s", name, syntax.Text(e))
		}
		return i
	}
	arg := l.arguments(c, types.Subst{c.Func.TypeParams[0]: l.substitute(c.TypeArgs[0])})[0]
	elems := make([]ir.Expr, len(list.Elems))
	for i, v := range l.parts(arg.v) {
		elems[i] = l.concat(l.valuesOf(e, v, nil))
	}
	paired := map[int]bool{}
	for _, a := range obj.Annotations {
		if a.Name != "symmetric" {
			continue
		}
		names := annotStrings(a)
		if len(names) != 2 {
			l.fail(a.Pos(), types.CodeAnnotation, "@symmetric needs the names of two fields, such as @symmetric(\"hdr.ip.src\", \"hdr.ip.dst\")")
		}
		i, j := find(a, names[0]), find(a, names[1])
		if i == j || paired[i] || paired[j] || elems[i].Type() != elems[j].Type() {
			l.fail(a.Pos(), types.CodeAnnotation, "@symmetric needs two fields of the same width that are in no other pair")
		}
		paired[i], paired[j] = true, true
		elems[i], elems[j] = mkBinary(syntax.Xor, elems[i], elems[j]), &ir.Const{T: elems[i].Type(), Val: new(big.Int)}
	}
	if n, ok := arrangements[obj.Args[0].Member]; ok {
		return l.arrangeBits(e, c, l.concat(elems), n)
	}
	in := ir.Arg{Source: arg.t, Span: syntax.Span(c.Args[0])}
	for _, x := range elems {
		in.List = append(in.List, ir.Arg{X: x})
	}
	result := l.temp(l.substitute(c.Func.Result), "tmp")
	l.emit(&ir.Call{Base: l.at(), Name: "get", Object: obj, CallSpan: syntax.Span(e), Args: []ir.Arg{{X: result.(scalar).x}, in}})
	return result
}

// annotStrings returns the strings in the body of an annotation.
func annotStrings(a *syntax.Annotation) (list []string) {
	for _, t := range a.Tokens {
		if t.Kind == syntax.String {
			list = append(list, t.Text)
		}
	}
	for _, x := range a.Exprs {
		if s, ok := x.(*syntax.StringLit); ok {
			list = append(list, s.Value)
		}
	}
	return list
}
