// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"slices"
	"testing"
)

// warn sends a leaf warnings of paths to another leaf.
func warn(d *dut, paths ...int) {
	d.Helper()
	mask := uint64(0)
	for _, p := range paths {
		mask |= 0x80 >> p
		d.set("warned_until", far, 1, p)
	}
	d.set("warned", mask, 1)
}

// Line 4 of algorithm 1: instead of a warned path, a packet takes the next choice of
// its base scheme. There are five paths to the other leaf.
func TestRLBAsksTheBaseForItsNextChoice(t *testing.T) {
	t.Parallel()
	next := func(d *dut, first int) []int { // in cyclic order, except another warned path
		warn(d, first, (first+1)%5)
		return []int{(first + 2) % 5}
	}
	for _, c := range []struct {
		profile string
		// scene sends warnings of the path that a packet would take, first, and of other
		// paths, and returns the paths that are then correct.
		scene func(d *dut, first int) []int
	}{
		{"rlb-ecmp", next},
		{"rlb-presto", next},
		{"rlb-letflow", func(d *dut, first int) []int { // another random path, otherwise in cyclic order
			warn(d, first)
			return slices.DeleteFunc([]int{0, 1, 2, 3, 4}, func(p int) bool { return p == first })
		}},
		{"rlb-conga", func(d *dut, first int) []int { // the least congested
			warn(d, first, (first+1)%5)
			for i, congestion := range []uint64{0, 0, 5, 2, 4} {
				d.set("congestion_to", congestion, 1, (first+i)%5)
				d.set("congestion_time", uint64(d.now()), 1, (first+i)%5)
			}
			return []int{(first + 3) % 5}
		}},
		{"rlb-hermes", func(d *dut, first int) []int { // the fastest measured path
			warn(d, first, (first+1)%5)
			for i, rtt := range []uint64{0, 40, 50, 0, 40} { // none is slow enough to wait for another one
				d.set("path_rtt", rtt, 1, (first+i)%5)
			}
			return []int{(first + 4) % 5}
		}},
		{"rlb-drill", func(d *dut, first int) []int { // of its other two candidates
			warn(d, first)
			for i := range 5 {
				d.set("egress_qlen", uint64(1000*min(i, 1)), 3+(first+i)%5, 3)
			}
			return slices.DeleteFunc([]int{0, 1, 2, 3, 4}, func(p int) bool { return p == first })
		}},
	} {
		t.Run(c.profile, func(t *testing.T) {
			eachTarget(t, func(t *testing.T, sw target) {
				d := load(t, sw, c.profile, leafSpine(5), "l1", map[string]string{"letflow.gap": "100s", "conga.gap": "100s", "conga.age": "1000s"})
				noStamps(d)
				first := uplinks(d, data)[0] - 3
				right := c.scene(d, first)
				got := uplinks(d, data)[0] - 3
				if !slices.Contains(right, got) {
					t.Fatalf("path %d was warned of, path %d taken instead, want one of %v", first, got, right)
				}
				d.want(1, "reroutes", 3+first)
				d.want(0, "forwarded_warned", 3+first)
				// A base that stores a flow's path sends its other packets there too.
				warn(d)
				if again := uplinks(d, data)[0] - 3; again != got && (d.manifest.Has("presto") || d.manifest.Has("flowlet")) {
					t.Errorf("the flow continued on path %d, not %d", again, got)
				}
			})
		})
	}
}

// t_rc is the queueing delay of the recirculation port plus the latency of one
// recirculation.
func TestRLBComparesWithTheDelayOfTheRecirculationPort(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill", leafSpine(2), "l1", map[string]string{"rlb.max_recirculations": "1"})
		noStamps(d)
		d.rule("Compath default -> compare_paths(pass_time=500, byte_time=2048, fresh=0x7fffffff)") // 2 µs a byte
		for _, c := range []struct {
			gain  uint64
			waits uint64
		}{{20_500, 0}, {20_501, 1}} {
			d.set("drill_best", 1, 1)
			warn(d, 1)
			d.set("path_rtt", 100, 1, 1)
			d.set("path_rtt_time", uint64(d.now()), 1, 1)
			d.set("path_rtt", 100+c.gain, 1, 0)
			d.set("recirc_sent", 10_000, 0)
			d.set("recirc_returned", 0, 0)
			uplinks(d, data)
			d.want(c.waits, "recirculations", 4)
			d.want(1, "reroutes", 4)
		}
	})
}
