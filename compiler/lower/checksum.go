// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// TNA's incremental checksums, which parsers use most, are a sum of 16-bit
// words in a variable that is zero when a gress begins. The variable has 32
// bits, so that carries are added only when the checksum is read.

const wordBits = 16

// checksumStep lowers add, subtract, verify and get of a Checksum. It reports
// whether the call is one of them.
func (l *lowerer) checksumStep(e *syntax.CallExpr, c *types.Call, obj *ir.Object) (value, bool) {
	switch c.Func.Name {
	case "add", "subtract":
		sum := l.sumOf(obj)
		args := l.arguments(c, types.Subst{c.Func.TypeParams[0]: l.substitute(c.TypeArgs[0])})
		words, n := l.sumOfWords(e.Pos(), l.valuesOf(e, args[0].v, nil))
		if c.Func.Name == "subtract" { // the words' complements are added
			all := &ir.Const{T: ir.Bit32, Val: big.NewInt(int64(n) * (1<<wordBits - 1))}
			words = mkBinary(syntax.Minus, all, words)
		}
		l.emit(&ir.Assign{Base: l.at(), Dst: sum, Src: mkBinary(syntax.Plus, sum, words)})
		return nil, true
	case "subtract_all_and_deposit":
		if l.parser == nil {
			l.unsupported(e, "subtract_all_and_deposit can only be called in a parser")
		}
		to := l.arguments(c, types.Subst{c.Func.TypeParams[0]: l.substitute(c.TypeArgs[0])})[0].v
		s, ok := to.(scalar)
		if !ok || !s.x.Type().IsNumber() || s.x.Type().Width != wordBits || !canWrite(to) {
			l.unsupported(e, "subtract_all_and_deposit needs a field or variable of bit<16>")
		}
		d := &deposit{obj: obj, to: s.x, on: l.tempVar(ir.BoolType, obj.Name+"_deposit")}
		l.parser.deposits = append(l.parser.deposits, d)
		l.emit(&ir.Assign{Base: l.at(), Dst: d.on, Src: boolConst(true)})
		l.emit(&ir.Assign{Base: l.at(), Dst: d.to, Src: mkSlice(l.folded(obj), wordBits-1, 0)})
		return nil, true
	case "get":
		return scalar{mkSlice(l.folded(obj), wordBits-1, 0)}, true
	case "verify":
		ones := &ir.Const{T: ir.Bit32, Val: types.Mask(wordBits)}
		return scalar{mkBinary(syntax.Equal, l.folded(obj), ones)}, true
	}
	return nil, false
}

// sumOf returns the variable that holds the sum of a checksum.
func (l *lowerer) sumOf(obj *ir.Object) *ir.VarRef {
	v := l.sums[obj]
	if v == nil {
		v = l.tempVar(ir.Bit32, obj.Name)
		l.sums[obj] = v
	}
	return v
}

// folded returns a sum with its carries added. This takes two steps.
func (l *lowerer) folded(obj *ir.Object) ir.Expr {
	fold := func(x ir.Expr) ir.Expr {
		low := mkBinary(syntax.And, x, &ir.Const{T: ir.Bit32, Val: types.Mask(wordBits)})
		return l.copyOf(scalar{mkBinary(syntax.Plus, low, mkShift(syntax.Shr, x, bitConst(32, wordBits)))}).(scalar).x
	}
	return fold(fold(l.sumOf(obj)))
}

// sumOfWords returns the sum of the 16-bit words in the concatenation of the
// values, and the number of words. The last word is padded with zeros.
func (l *lowerer) sumOfWords(at source.Pos, list []ir.Expr) (sum ir.Expr, words int) {
	bits := 0 // that were added
	for _, x := range list {
		x = unsigned(mkCast(ir.Type{Kind: ir.Bits, Width: x.Type().Width}, x))
		for left := x.Type().Width; left > 0; {
			n := min(left, wordBits-bits%wordBits)
			part := mkCast(ir.Bit32, mkSlice(x, left-1, left-n))
			part = mkShift(syntax.Shl, part, bitConst(32, int64(wordBits-bits%wordBits-n)))
			if sum == nil {
				sum = part
			} else {
				sum = mkBinary(syntax.Plus, sum, part)
			}
			bits += n
			left -= n
		}
	}
	if bits%8 != 0 {
		l.fail(at, CodeUnsupported, "a checksum of %d bits, which is not a multiple of 8, is not supported", bits)
	}
	if sum == nil {
		sum = &ir.Const{T: ir.Bit32, Val: new(big.Int)}
	}
	return sum, (bits + wordBits - 1) / wordBits
}

// deposit is a call of subtract_all_and_deposit: while on, each header that is
// extracted is subtracted from the sum, which goes to a place.
type deposit struct {
	obj *ir.Object
	to  ir.Expr
	on  *ir.VarRef
}

// subtractAll adds the subtractions of a parser's deposits after its extractions.
func (l *lowerer) subtractAll(p *ir.Parser, deposits []*deposit) {
	if len(deposits) == 0 {
		return
	}
	for _, st := range p.States {
		before := st.Body
		st.Body = nil
		l.parser.state = st
		for _, s := range before {
			l.emit(s)
			x, ok := s.(*ir.Extract)
			if !ok {
				continue
			}
			for _, d := range deposits {
				l.subtractHeader(x, d)
			}
		}
	}
}

func (l *lowerer) subtractHeader(x *ir.Extract, d *deposit) {
	h, ok := x.Header.(*ir.Header)
	if !ok || x.Length != nil {
		l.fail(x.Span.Start, CodeUnsupported, "subtract_all_and_deposit subtracts headers of a fixed size that are not in a stack")
	}
	l.span = x.Span
	var fields []ir.Expr
	for i := range h.Type.Fields {
		fields = append(fields, &ir.FieldRef{Header: h, Field: i})
	}
	sum := l.sumOf(d.obj)
	words, n := l.sumOfWords(x.Span.Start, fields)
	all := &ir.Const{T: ir.Bit32, Val: big.NewInt(int64(n) * (1<<wordBits - 1))}
	less := mkMux(d.on, mkBinary(syntax.Minus, all, words), bitConst(32, 0))
	l.emit(&ir.Assign{Base: l.at(), Dst: sum, Src: mkBinary(syntax.Plus, sum, less)})
	l.emit(&ir.Assign{Base: l.at(), Dst: d.to, Src: mkMux(d.on, mkSlice(l.folded(d.obj), wordBits-1, 0), d.to)})
}
