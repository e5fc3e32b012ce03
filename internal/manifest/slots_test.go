// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"math"
	"testing"
)

// Slots measure every round trip within 5 %, with weights of at most two terms.
func TestSlotsMeasureARoundTrip(t *testing.T) {
	for rtt := 1000.0; rtt <= 200_000; rtt += 61 {
		shift, weight := slots(rtt)
		if off := math.Ldexp(float64(8+weight), shift)/rtt - 1; math.Abs(off) >= 0.05 {
			t.Errorf("%v ns: %d slots of 2^%d ns are off by %.1f %%", rtt, 8+weight, shift, 100*off)
		}
		sum := 0
		for i, term := range Terms(weight) {
			if term.Minus {
				sum -= 1 << term.Shift
			} else {
				sum += 1 << term.Shift
			}
			if i > 1 {
				t.Errorf("%v ns: weight %d has more than two terms", rtt, weight)
			}
		}
		if sum != weight {
			t.Errorf("terms of %d have the sum %d", weight, sum)
		}
	}
	for _, rtt := range []float64{0, -1, math.NaN(), math.Inf(1), 1e300} {
		slots(rtt) // ends
	}
	if shift, weight := slots(16_384); shift != 10 || weight != 8 {
		t.Errorf("16 slots of 1024 ns are %d slots of 2^%d ns", 8+weight, shift)
	}
}
