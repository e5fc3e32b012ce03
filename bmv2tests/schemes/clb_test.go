// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
)

// ofCoflow is a packet of a flow that belongs to a coflow.
func ofCoflow(coflow, sport uint16) []byte {
	f := roce{src: "h1", dst: "h3", sport: sport}.bytes()
	b := slices.Concat(f[:packet.EthernetLen], make([]byte, packet.TagLen), f[packet.EthernetLen:])
	packet.Ethernet(b).Set(packet.Ethernet(f).Dst(), packet.Ethernet(f).Src(), packet.EtherTypeLocal)
	packet.Tag(b[packet.EthernetLen:]).Set(packet.TagNoPath, packet.TagNoPath, coflow, packet.EtherTypeIPv4)
	return b
}

// Each case gives the queue length and growth of four ports. Exactly one of them is
// the choice of algorithms 1 and 2.
func TestCLBTakesTheBestPortByClassThenLengthOrGrowth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		queues [4]uint64
		growth [4]int32
		want   int
	}{
		{"A before all others", [4]uint64{50_000, 60_000, 150_000, 150_000}, [4]int32{1, 0, -1, 1}, 1},
		{"B before C and D", [4]uint64{150_000, 150_000, 90_000, 150_000}, [4]int32{-5, 0, 7000, 1}, 2},
		{"C before D", [4]uint64{110_000, 110_000, 110_000, 200_000}, [4]int32{1, 2, 3, 0}, 3},
		{"the shortest queue of A", [4]uint64{30_000, 20_000, 10_000, 40_000}, [4]int32{0, 0, -900, 0}, 2},
		{"the slowest growth of B", [4]uint64{10_000, 20_000, 30_000, 40_000}, [4]int32{9000, 8000, 5000, 2000}, 3},
		{"the shortest queue of C", [4]uint64{130_000, 120_000, 140_000, 150_000}, [4]int32{0, 0, -90_000, 0}, 1},
		{"the slowest growth of D", [4]uint64{130_000, 120_000, 140_000, 150_000}, [4]int32{30_000, 40_000, 10_000, 50_000}, 2},
		{"a queue at the threshold is over it", [4]uint64{100_000, 99_999, 100_000, 100_000}, [4]int32{0, 50_000, 0, 0}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTarget(t, func(t *testing.T, sw target) {
				d := load(t, sw, "clb", leafSpine(4), "l1", map[string]string{"clb.gap": "0s", "clb.threshold": "100KB"})
				d.rule("clb default -> set_clb(queue_threshold=100000, interval=0x7fffffff, tie_bytes=1)")
				d.set("clb_time", uint64(d.now()), 3, 3) // T2 does not change
				for i := range 4 {
					d.set("egress_qlen", c.queues[i], 3+i, 3)
					d.set("clb_growth", uint64(uint32(c.growth[i])), 3+i, 3)
				}
				if got := uplinks(d, data)[0]; got != 3+c.want {
					t.Errorf("took port %d, want %d", got, 3+c.want)
				}
			})
		})
	}
}

func TestCLBMeasuresGrowthOverTheInterval(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "clb", leafSpine(2), "l1", map[string]string{"clb.gap": "100s"})
		uplinks(d, data)
		d.rule("clb default -> set_clb(queue_threshold=100000, interval=1, tie_bytes=1)")
		d.set("clb_qlen", 7000, 3, 3)
		d.set("clb_qlen", 1000, 4, 3)
		d.set("egress_qlen", 9000, 3, 3)
		d.set("egress_qlen", 600, 4, 3)
		uplinks(d, data) // one packet of a flowlet is enough
		d.want(2000, "clb_growth", 3, 3)
		d.want(1<<32-400, "clb_growth", 4, 3)
		d.want(9000, "clb_qlen", 3, 3)
		d.want(600, "clb_qlen", 4, 3)
	})
}

func TestCLBSpreadsTheFlowsOfACoflow(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "clb", leafSpine(4), "l1", map[string]string{"clb.gap": "100s"})
		var ports []int
		for i := range 8 {
			ports = append(ports, uplinks(d, ofCoflow(5, uint16(100+i)))[0])
		}
		if !slices.Equal(ports, []int{3, 4, 5, 6, 3, 4, 5, 6}) {
			t.Errorf("flows of a coflow took ports %v, want each as often", ports)
		}
		d.want(5, "clb_coflow", 5)
		d.want(2, "clb_flows", 5, 1)
		// A flow keeps its path, and other coflows are counted separately.
		if got := uplinks(d, times(3, ofCoflow(5, 101))...); distinct(got) != 1 || got[0] != 4 {
			t.Errorf("the second flow took ports %v, want 4", got)
		}
		if got := uplinks(d, ofCoflow(6, 200))[0]; got != 3 {
			t.Errorf("the first flow of another coflow took port %d, want 3", got)
		}
		// The row of another coflow is reused.
		if got := uplinks(d, ofCoflow(5+256, 300))[0]; got != 3 {
			t.Errorf("the first flow of coflow 261 took port %d, want 3", got)
		}
		d.want(5+256, "clb_coflow", 5)
		d.want(1, "clb_flows", 5, 0)
		d.want(0, "clb_flows", 5, 1)
	})
}

func TestCLBMovesAFlowFromOnePortToAnother(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "clb", leafSpine(2), "l1", map[string]string{"clb.gap": "0s"})
		if got := uplinks(d, ofCoflow(9, 1))[0]; got != 3 {
			t.Fatalf("took port %d, want 3", got)
		}
		d.set("egress_qlen", 50_000, 3, 3)
		if got := uplinks(d, ofCoflow(9, 1))[0]; got != 4 {
			t.Fatalf("took port %d, want 4", got)
		}
		d.want(0, "clb_flows", 9, 0)
		d.want(1, "clb_flows", 9, 1)
	})
}

// The gap decides the granularity, and can be changed while packets pass.
func TestCLBMovesPacketsFlowletsOrFlows(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "clb", leafSpine(2), "l1", nil)
		at := uplinks(d, data)[0]
		for _, c := range []struct {
			name  string
			gap   int // µs
			wait  int
			moves bool
		}{
			{"packet", 0, 0, true},
			{"flowlet, within one", 500_000_000, 1000, false},
			{"flowlet, after a gap", 1000, 20_000, true},
			{"flow", 1 << 30, 20_000, false},
		} {
			d.rule("flowlet default -> read_flowlet(gap=" + itoa(uint32(c.gap)) + ")")
			d.set("egress_qlen", 150_000, at, 3) // the other port is better now
			d.wait(c.wait)
			got := uplinks(d, data)[0]
			if moved := got != at; moved != c.moves {
				t.Errorf("%s: moved is %v, want %v", c.name, moved, c.moves)
			}
			at = got
		}
	})
}
