// SPDX-License-Identifier: Apache-2.0

package pint

import (
	"math"
	"testing"
)

// encode is Pint::encode_u of the HPCC simulator's pint.cc, with draw for rand().
func encode(u, base float64, draw int64) int64 {
	units := math.Max(math.Ceil(u*512), 1)
	power := math.Log(units) / math.Log(base)
	upper, lower := math.Ceil(power), math.Floor(power)
	high, low := math.Pow(base, upper), math.Pow(base, lower)
	if upper == lower {
		high *= base
	}
	if float64(draw) < (units-low)/(high-low)*65536 {
		return int64(upper)
	}
	return int64(lower)
}

// Codes are those of the simulator, except for draws at the boundary, and so is
// their mean, which the sender decodes.
func TestCodesAreTheSimulators(t *testing.T) {
	const draws = 256
	for _, base := range []float64{1.01, 1.05, 1.2} {
		per := int64(math.Round(65536 / math.Log2(base)))
		for _, u := range []float64{0, 1.0 / 512, 0.01, 0.1, 0.5, 0.9, 0.95, 1, 1.3, 2, 17.3, 64, 511} {
			var here, there float64
			for i := range int64(draws) {
				draw := i * 65536 / draws
				a, b := Code(int64(u*full), per, draw), encode(u, base, draw)
				if a-b > 1 || b-a > 1 {
					t.Errorf("base %g, utilisation %g, draw %d: code %d, there %d", base, u, draw, a, b)
				}
				here += math.Pow(base, float64(a)) / draws
				there += math.Pow(base, float64(b)) / draws
			}
			// A chord of the exponential lies above it, by (base-1)²/8 at most.
			if off := here/there - 1; off > (base-1)*(base-1)/8+0.001 || off < -0.001 {
				t.Errorf("base %g, utilisation %g: mean %g, there %g", base, u, here, there)
			}
		}
	}
}

// Utilisations are those of the simulator's switch-node.cc: a link that is fully used
// without a queue, half used, and with a queue of half of what it sends in T.
func TestUtilisationIsTheSimulators(t *testing.T) {
	const T, rate = 13_000, 12.5 // ns, bytes per ns
	const sent = int64(T * rate) // in T
	link := Link{T, 1 << 32 / T, 1 << 40 / sent, 80 << 40 / sent}
	for _, c := range []struct {
		gap, queue int64
		want       float64
	}{{84, 0, 1}, {168, 0, 0.5}, {84, sent / 2 / 80, 1.5}, {2 * T, 0, 1050 / (T * rate)}} {
		u, exact := int64(0), 0.0
		for range 2000 {
			u = link.Utilisation(u, c.gap, 1050, c.queue)
			dt := math.Min(float64(c.gap), T)
			exact = exact*(T-dt)/T + 1050/(rate*T) + float64(c.queue*80)*dt/(rate*T*T)
		}
		if got := float64(u) / full; math.Abs(got-exact) > 0.001*exact || math.Abs(got-c.want) > 0.005*c.want {
			t.Errorf("gap %d, queue %d: utilisation %.4f, there %.4f, want %.4f", c.gap, c.queue, got, exact, c.want)
		}
	}
}
