// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

const mathParams = 5 // before the data

// genMath emits a use of a math unit.
func (c *compiler) genMath(p *bmv2json.Primitive) {
	var u ops.MathUnit
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
			u.Invert = k != 0
		case 3:
			u.Shift = int(k)
			bad = k < -1 || k > 1
		case 4:
			u.Scale = int(k)
			bad = k < -32 || k > 31
		default:
			u.Data[i+2-mathParams] = uint8(k)
		}
		if bad {
			c.errorf(v.Pos, "parameter %d of math_unit is %d, which is out of range", i+3, k)
			return
		}
	}
	dst, x := c.arg(p, 0), c.short(p, 1)
	c.Prog.MathUnits = append(c.Prog.MathUnits, u)
	c.into(dst, 64, func(s int) { c.emit(ops.Math, s, x, 0, uint64(len(c.Prog.MathUnits)-1)) })
}
