// SPDX-License-Identifier: Apache-2.0

package ops

import "math/bits"

// MathUnit approximates a function of a number x, as the math unit of a Tofino's
// stateful ALU does: Data[i] << (Scale + e), where i has the highest bits of x and e
// follows from its exponent.
type MathUnit struct {
	Invert       bool
	Shift, Scale int
	Data         [16]uint8
}

// Execute returns the approximation. x = i/8 * 2^exponent, where i has four bits, or
// three if the exponent would be odd and is halved.
func (u *MathUnit) Execute(x uint64) uint64 {
	if x == 0 {
		return shifted(uint64(u.Data[0]), u.Scale)
	}
	exponent := bits.Len64(x) - 1
	if u.Shift < 0 {
		exponent += exponent & 1
	}
	i := shifted(x, 3-exponent)
	switch {
	case u.Shift < 0:
		exponent /= 2
	case u.Shift > 0:
		exponent *= 2
	}
	if u.Invert {
		exponent = -exponent
	}
	return shifted(uint64(u.Data[i&15]), u.Scale+exponent)
}

// shifted returns x * 2^n without what does not fit.
func shifted(x uint64, n int) uint64 {
	if n < 0 {
		return x >> -n
	}
	return x << n
}
