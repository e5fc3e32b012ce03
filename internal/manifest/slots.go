// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"math"
	"math/bits"
)

// spanError is the largest relative error of a round trip that is measured in slots.
const spanError = 0.05

// windowSlots is the number of slots of a window.
const windowSlots = 8

// slots returns how a program for Tofino measures a round trip (ns), as PB-FS does: in
// a window of 8 slots of 2^shift ns, and as weight times the last slot, which stands for
// the bytes of the other half (PB-FS, section IV). A slot is a power of two of
// nanoseconds, and a weight is a power of two or the sum or difference of two, since a
// Tofino only shifts and adds. The span is (8 + weight) * 2^shift; among those less than
// 5 % from the round trip it has the weight of the fewest terms, then the one nearest
// to 8.
func slots(rtt float64) (shift, weight int) {
	best := math.Inf(1)
	for s := range 28 {
		for _, w := range weights {
			off := math.Abs(math.Ldexp(float64(windowSlots+w.slots), s)/rtt - 1)
			if cost := w.cost + off; off < spanError && cost < best {
				best, shift, weight = cost, s, w.slots
			}
		}
	}
	if weight == 0 { // shorter than any: the shortest
		return 0, 1
	}
	return shift, weight
}

// weights are the weights with at most two terms, and how little they are wanted.
var weights = func() (list []struct {
	slots int
	cost  float64
}) {
	for n := 1; n <= 40; n++ {
		if terms := len(Terms(n)); terms <= 2 {
			list = append(list, struct {
				slots int
				cost  float64
			}{n, 10*float64(terms) + math.Abs(math.Log2(float64(n)/windowSlots))})
		}
	}
	return list
}()

// A Term is a power of two that is added or subtracted.
type Term struct {
	Shift int
	Minus bool
}

// Terms returns the fewest powers of two whose sum is n, the largest first (the
// non-adjacent form).
func Terms(n int) []Term {
	var list []Term
	for n != 0 {
		s := bits.TrailingZeros(uint(n))
		digit := 2 - n>>s&3
		list = append([]Term{{Shift: s, Minus: digit < 0}}, list...)
		n -= digit << s
	}
	return list
}
