// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"math/bits"

	"github.com/pauseless/pauseless/internal/bmv2json"
)

// mathUnit approximates a function of a number x, as the math unit of a Tofino's
// stateful ALU does: data[i] << (scale + e), where i has the highest bits of x and e
// follows from its exponent.
type mathUnit struct {
	invert       bool
	shift, scale int
	data         [16]uint8
}

const mathParams = 5 // before the data

// genMath emits a use of a math unit.
func (c *compiler) genMath(p *bmv2json.Primitive) {
	var u mathUnit
	for i, v := range p.Parameters[2:] {
		n := c.number(p, i+2)
		if n.op != opConst || !n.value.IsInt64() {
			c.errorf(v.Pos, "parameter %d of math_unit must be a number", i+3)
			return
		}
		k := n.value.Int64()
		bad := k < 0 || k > 0xff
		switch i + 2 {
		case 2:
			u.invert = k != 0
		case 3:
			u.shift = int(k)
			bad = k < -1 || k > 1
		case 4:
			u.scale = int(k)
			bad = k < -32 || k > 31
		default:
			u.data[i+2-mathParams] = uint8(k)
		}
		if bad {
			c.errorf(v.Pos, "parameter %d of math_unit is %d, which is out of range", i+3, k)
			return
		}
	}
	dst, x := c.arg(p, 0), c.short(p, 1)
	c.prog.mathUnits = append(c.prog.mathUnits, u)
	c.into(dst, 64, func(s int) { c.emit(iMath, s, x, 0, uint64(len(c.prog.mathUnits)-1)) })
}

// execute returns the approximation. x = i/8 * 2^exponent, where i has four bits, or
// three if the exponent would be odd and is halved.
func (u *mathUnit) execute(x uint64) uint64 {
	if x == 0 {
		return shifted(uint64(u.data[0]), u.scale)
	}
	exponent := bits.Len64(x) - 1
	if u.shift < 0 {
		exponent += exponent & 1
	}
	i := shifted(x, 3-exponent)
	switch {
	case u.shift < 0:
		exponent /= 2
	case u.shift > 0:
		exponent *= 2
	}
	if u.invert {
		exponent = -exponent
	}
	return shifted(uint64(u.data[i&15]), u.scale+exponent)
}

// shifted returns x * 2^n without what does not fit.
func shifted(x uint64, n int) uint64 {
	if n < 0 {
		return x >> -n
	}
	return x << n
}
