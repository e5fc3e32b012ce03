// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// callTNA lowers the externs of tna.p4 that become ordinary statements: the
// computation of a RegisterAction between reading and writing a cell, min and
// max, counters of parsers, and hashes that only rearrange bits. It reports whether
// the call is one of them.
func (l *lowerer) callTNA(e *syntax.CallExpr, c *types.Call, obj *ir.Object) (value, bool) {
	if obj == nil {
		return l.functionOfTNA(e, c)
	}
	switch obj.Type.Name {
	case "Checksum":
		return l.checksumStep(e, c, obj)
	case "ParserCounter":
		return l.parserCounter(e, c, obj), true
	case "ParserPriority":
		l.arguments(c, nil)
		return nil, true
	case "Meter", "DirectMeter":
		return l.meter(e, c, obj), true
	case "Lpf", "DirectLpf":
		return l.arguments(c, nil)[0].v, true
	case "Wred", "DirectWred":
		l.arguments(c, nil)
		return scalar{obj.Arg("no_drop_value").X}, true
	case "Mirror", "Resubmit", "Digest":
		return nil, l.ofType(e, c, obj)
	}
	switch obj.Type.Name + "." + c.Func.Name {
	case "RegisterAction.execute", "RegisterAction.execute_log", "DirectRegisterAction.execute":
		return l.execute(e, c, obj), true
	case "Register.read", "DirectRegister.read", "RegisterParam.read":
		return l.readCell(e, c, obj), true
	case "Register.write", "DirectRegister.write":
		args := l.arguments(c, nil)
		l.noRegisters(e)
		var index value
		if len(args) > 1 {
			index = args[0].v
		}
		l.writeCell(e, obj, index, args[len(args)-1].v)
		return nil, true
	case "SelectorAction.execute":
		l.unsupported(e, "softswitch has no SelectorAction: the controller excludes a member of a group, by a write or by its watch port")
	case "Hash.get":
		if n, ok := arrangements[obj.Args[0].Member]; ok && !isSymmetric(obj) {
			return l.arrange(e, c, n), true
		}
		if isSymmetric(obj) {
			return l.symmetric(e, c, obj), true
		}
	}
	return nil, false
}

// extreme returns the minimum or maximum of two numbers.
func (l *lowerer) extreme(c *types.Call) value {
	t := l.substitute(c.TypeArgs[0])
	op := syntax.Less
	if c.Func.Name == "max" {
		op = syntax.Greater
	}
	x := l.once(l.keep(l.exprTo(c.Args[0], t), c.Args[1:]).(scalar).x)
	y := l.once(l.exprTo(c.Args[1], t).(scalar).x)
	return scalar{mkMux(mkBinary(op, x, y), x, y)}
}

// portMetadataBits is the size of the port metadata, which lies between the
// intrinsic header of ingress and the packet.
const portMetadataBits = 64

// portMetadata reads the port metadata as a value of the program's own type and
// advances past it.
func (l *lowerer) portMetadata(e *syntax.CallExpr, c *types.Call) value {
	offset := 0
	v := l.copyOf(l.lookahead(e, l.substitute(c.TypeArgs[0]), &offset))
	if offset > portMetadataBits {
		l.fail(e.Pos(), CodeOutOfRange, "port metadata has %d bits, not %d", portMetadataBits, offset)
	}
	l.emit(&ir.Advance{Base: l.at(), Bits: bitConst(32, portMetadataBits)})
	return v
}

func (l *lowerer) noRegisters(e *syntax.CallExpr) {
	if l.parser != nil {
		l.unsupported(e, "registers and meters cannot be accessed in a parser")
	}
}

// execute inlines the code of a RegisterAction.
func (l *lowerer) execute(e *syntax.CallExpr, c *types.Call, obj *ir.Object) value {
	l.nested(e)
	l.noRegisters(e)
	apply := implementation(obj, "apply")
	reg := obj.Args[0].Object
	if apply == nil || reg == nil || reg.Kind != "register" && reg.Kind != "direct_register" {
		l.unsupported(e, "%s has no register and apply that are known here", syntax.Text(c.Recv))
	}
	around := l.frame.instanceFrame()
	if !declares(around.inst, obj.Decl) {
		l.unsupported(e, "%s is the %s of another control", syntax.Text(c.Recv), obj.Type.Name)
	}
	var index value // nil for a DirectRegister
	switch args := l.arguments(c, nil); {
	case c.Func.Name == "execute_log":
		index = l.nextOfLog(e, reg)
	case len(args) > 0:
		if index = args[0].v; !isStable(index) {
			index = l.copyOf(index)
		}
	}
	cell := apply.Params[0]
	val := l.temp(l.substitute(cell.Type), cell.Name)
	l.readInto(e, reg, index, val)
	result := value(nil)
	if len(apply.Params) > 1 {
		result = l.temp(l.substitute(apply.Params[1].Type), apply.Params[1].Name)
	}
	span := l.span
	body, reached := l.collect(func() {
		l.within(around, func(fr *frame) {
			l.bindParam(cell, val)
			if result != nil {
				l.bindParam(apply.Params[1], result)
			}
			l.labelled(obj.Decl.ObjName(), func(to *label) {
				fr.ret = &returnPoint{label: to}
				l.stmtList(apply.Decl.Body.Stmts)
			})
		})
		l.span = span
	})
	// A stateful ALU returns zero where apply does not set its result.
	if s, ok := result.(scalar); ok && !setsFirst(body, s.x) {
		l.emit(&ir.Assign{Base: l.at(), Dst: s.x, Src: &ir.Const{T: s.x.Type(), Val: new(big.Int)}})
	}
	for _, s := range body {
		l.emit(s)
	}
	l.dead = l.dead || !reached
	if writes(body, l.placesOf(val)) {
		l.writeCell(e, reg, index, val)
	}
	if result == nil {
		if t := l.substitute(c.Func.Result); t != types.Void {
			return l.zero(t)
		}
	}
	return result
}

// implementation returns the method that the declaration of an object
// implements.
func implementation(o *ir.Object, name string) *types.Func {
	if o.Decl == nil {
		return nil
	}
	for _, f := range o.Decl.Methods {
		if f.Name == name && f.Decl.Body != nil && len(f.Params) > 0 {
			return f
		}
	}
	return nil
}

// declares reports whether the block of inst declares an object.
func declares(inst *instance, o *types.Instance) bool {
	if inst == nil || inst.block == nil {
		return false
	}
	for _, d := range inst.locals() {
		if d == syntax.Decl(o.Decl) {
			return true
		}
	}
	return false
}

// setsFirst reports whether statements assign to x before they read it, on
// every branch.
func setsFirst(list []ir.Stmt, x ir.Expr) bool {
	self := newPlaces()
	self.addExpr(x)
	reads := func(e ir.Expr) bool {
		p := newPlaces()
		p.addExpr(e)
		return p.meets(self)
	}
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Assign:
			if reads(s.Src) {
				return false
			}
			if samePlace(s.Dst, x) {
				return true
			}
		case *ir.If:
			if reads(s.Cond) {
				return false
			}
			if setsFirst(s.Then, x) && setsFirst(s.Else, x) {
				return true
			}
			if writes([]ir.Stmt{s}, self) {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// writes reports whether statements assign to one of the places.
func writes(list []ir.Stmt, to *places) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) {
		p := newPlaces()
		switch s := s.(type) {
		case *ir.Assign:
			p.addExpr(s.Dst)
		case *ir.Call:
			p.all = true
		}
		found = found || p.meets(to)
	})
	return found
}

// readCell returns the value of a cell.
func (l *lowerer) readCell(e *syntax.CallExpr, c *types.Call, reg *ir.Object) value {
	l.noRegisters(e)
	var index value
	switch args := l.arguments(c, nil); {
	case len(args) > 0:
		index = args[0].v
	case reg.Kind == "register": // a RegisterParam
		index = scalar{bitConst(32, 0)}
	}
	val := l.temp(l.substitute(c.Func.Result), "cell")
	l.readInto(e, reg, index, val)
	return val
}

// readInto assigns a cell to a place. In the cell of a struct, the first field
// has the upper bits.
func (l *lowerer) readInto(e *syntax.CallExpr, reg *ir.Object, index, to value) {
	if s, ok := to.(scalar); ok && s.x.Type().IsNumber() {
		l.emit(&ir.Call{Base: l.at(), Name: "read", Object: reg, CallSpan: syntax.Span(e), Args: []ir.Arg{{X: s.x}, cellArg(index)}})
		return
	}
	leaves := l.leavesOf(e, to, nil)
	width := 0
	for _, f := range leaves {
		width += f.Type().Width
	}
	cell := l.tempVar(ir.Type{Kind: ir.Bits, Width: width}, "cell")
	l.emit(&ir.Call{Base: l.at(), Name: "read", Object: reg, CallSpan: syntax.Span(e), Args: []ir.Arg{{X: cell}, cellArg(index)}})
	for _, f := range leaves {
		width -= f.Type().Width
		l.move(scalar{f}, scalar{mkCast(f.Type(), mkSlice(cell, width+f.Type().Width-1, width))})
	}
}

// writeCell assigns to a cell.
func (l *lowerer) writeCell(e *syntax.CallExpr, reg *ir.Object, index, from value) {
	l.emit(&ir.Call{Base: l.at(), Name: "write", Object: reg, CallSpan: syntax.Span(e),
		Args: []ir.Arg{cellArg(index), {X: l.concat(l.leavesOf(e, from, nil))}}})
}

// cellArg returns the argument for an index, which is nil for a DirectRegister.
func cellArg(index value) ir.Arg {
	if index == nil {
		return ir.Arg{}
	}
	return ir.Arg{X: index.(scalar).x}
}

// concat concatenates values in the order that they have in a packet.
func (l *lowerer) concat(list []ir.Expr) ir.Expr {
	var all ir.Expr
	for _, x := range list {
		if x.Type().Kind != ir.Bits {
			x = mkCast(ir.Type{Kind: ir.Bits, Width: x.Type().Width}, x)
		}
		if all == nil {
			all = x
		} else {
			all = mkConcat(all, x)
		}
	}
	return all
}

// arrangements are the linear hashes that an expression can compute. The value
// is the number of bits that exclusive or combines, zero for none.
var arrangements = map[string]int{"IDENTITY": 0, "XOR8": 8, "XOR16": 16, "XOR32": 32}

// arrange returns a hash that consists of the input's own bits.
func (l *lowerer) arrange(e *syntax.CallExpr, c *types.Call, n int) value {
	args := l.arguments(c, types.Subst{c.Func.TypeParams[0]: l.substitute(c.TypeArgs[0])})
	return l.arrangeBits(e, c, l.concat(l.valuesOf(e, args[0].v, nil)), n)
}

func (l *lowerer) arrangeBits(e *syntax.CallExpr, c *types.Call, x ir.Expr, n int) value {
	it, ok := irType(l.substitute(c.Func.Result))
	if !ok || it.Kind != ir.Bits {
		l.unsupported(e, "a hash must be a number")
	}
	if x == nil {
		l.unsupported(e, "a hash of nothing")
	}
	if n > 0 {
		x = l.once(x)
		var sum ir.Expr
		for lo := 0; lo < x.Type().Width; lo += n {
			part := mkCast(ir.Type{Kind: ir.Bits, Width: n}, mkSlice(x, min(lo+n, x.Type().Width)-1, lo))
			if sum == nil {
				sum = part
			} else {
				sum = mkBinary(syntax.Xor, sum, part)
			}
		}
		x = sum
	}
	return scalar{mkCast(it, x)}
}

// valuesOf is leavesOf that also takes headers: it appends their fields.
func (l *lowerer) valuesOf(e syntax.Expr, v value, list []ir.Expr) []ir.Expr {
	switch v.(type) {
	case header, headerLit, aggregate:
		for _, p := range l.parts(v) {
			list = l.valuesOf(e, p, list)
		}
		return list
	}
	return l.leavesOf(e, v, list)
}
