// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/manifest"
)

// For round trips of 3 to 50 µs, PB-FS on a Tofino counts bytes over the time for which
// it has the capacity: arrivals at 98 % of a port's rate are no congestion, at 102 % they
// are. That time differs from the round trip by less than 5 %.
func TestPBFSOnTofinoCountsAndComparesInOneSpan(t *testing.T) {
	t.Parallel()
	for _, rtt := range []int{3000, 4500, 7100, 12_000, 19_000, 25_000, 38_465, 50_000} {
		t.Run(fmt.Sprint(rtt, " ns"), func(t *testing.T) {
			t.Parallel()
			prog := generate(t, "tna", "pbfs", map[string]string{"pbfs.rtt": fmt.Sprint(rtt, "ns")})
			constants := prog.Manifest.Constants
			i := slices.IndexFunc(constants, func(c manifest.Constant) bool { return c.Name == "SPAN" })
			if i < 0 {
				t.Fatal("the program has no SPAN")
			}
			span := float64(constants[i].Value)
			if off := span/float64(rtt) - 1; math.Abs(off) >= 0.05 {
				t.Errorf("SPAN is %v, %.1f %% off", span, 100*off)
			}
			shift, err := prog.Manifest.Evaluate("slot_shift(pbfs.rtt)", prog.Manifest.Network, nil)
			if err != nil {
				t.Fatal(err)
			}
			sw := new(tofino)
			d := loadProgram(t, sw, prog, leafSpine(2), "l1")
			const perNS = 25.0 / 8 // bytes, at 25 Gb/s
			d.rule(fmt.Sprintf("pbfs_port out_port=2 -> set_capacity(round_trip_bytes=%d, mbps=25000)", int(span*perNS)))
			for _, percent := range []float64{98, 102} {
				// The same rate in the last and the current slot and window: a new one
				// changes nothing.
				now := d.now()
				for name, bits := range map[string]int{"slot": int(shift), "window": int(shift) + 3} {
					bytes := uint32(math.Ldexp(perNS*percent/100, bits))
					sw.pair(d, name+"_bytes", bytes, now>>bits, 2)
					d.set(name+"_bytes_last", uint64(bytes), 2)
					d.set(name+"_qlen", 0, 2)
				}
				d.send(1, marked)
				if got := len(from(d.sent(), 1)); got != int(percent)/100 {
					t.Errorf("%d postcards at %v %% of the port's rate", got, percent)
				}
			}
		})
	}
}
