// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/ir"
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
		words, n := l.wordSum(e, l.valuesOf(e, args[0].v, nil))
		if c.Func.Name == "subtract" { // the words' complements are added
			all := &ir.Const{T: ir.Bit32, Val: big.NewInt(int64(n) * (1<<wordBits - 1))}
			words = mkBinary(syntax.Minus, all, words)
		}
		l.emit(&ir.Assign{Base: l.at(), Dst: sum, Src: mkBinary(syntax.Plus, sum, words)})
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

// wordSum returns the sum of the 16-bit words in the concatenation of the
// values, and the number of words. The last word is padded with zeros.
func (l *lowerer) wordSum(e *syntax.CallExpr, list []ir.Expr) (sum ir.Expr, words int) {
	at := 0 // bits that were added
	for _, x := range list {
		x = unsigned(mkCast(ir.Type{Kind: ir.Bits, Width: x.Type().Width}, x))
		for left := x.Type().Width; left > 0; {
			n := min(left, wordBits-at%wordBits)
			part := mkCast(ir.Bit32, mkSlice(x, left-1, left-n))
			part = mkShift(syntax.Shl, part, bitConst(32, int64(wordBits-at%wordBits-n)))
			if sum == nil {
				sum = part
			} else {
				sum = mkBinary(syntax.Plus, sum, part)
			}
			at += n
			left -= n
		}
	}
	if at%8 != 0 {
		l.unsupported(e, "a checksum of %d bits, which is not a multiple of 8, is not supported", at)
	}
	if sum == nil {
		sum = &ir.Const{T: ir.Bit32, Val: new(big.Int)}
	}
	return sum, (at + wordBits - 1) / wordBits
}
