// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// pathOf returns the path in a frame's tag, or -1.
func pathOf(f *packet.Frame) int {
	t, ok := tagOf(f)
	if !ok {
		return -1
	}
	leaf, _ := t.path()
	return int(leaf)
}

// hermes is two hosts with four paths from the first to the second.
func hermes(t *testing.T, change func(*Config)) (w *wire, a, b *Host, flow Flow) {
	w = newWire(t, func(c *Config) {
		c.Hermes.On = true
		if change != nil {
			change(c)
		}
	})
	return w, w.host(1), w.host(2), Flow{Class: 3, BaseRTT: 5 * vtime.Microsecond, Path: rate, Leaf: 1, Paths: [2]int{4}}
}

func TestNewFlowsSpreadOverThePaths(t *testing.T) {
	w, a, b, flow := hermes(t, nil)
	bytes := make(map[int]int)
	w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
		bytes[pathOf(f)] += f.Len()
		return true
	}
	for i := range 40 {
		flow.Size, flow.Start = 20_000, vtime.Time(i)*5*vtime.Microsecond
		w.connect(a, b, flow)
	}
	w.until(vtime.Millisecond)
	for p := range 4 {
		if bytes[p] < 150_000 || bytes[p] > 280_000 {
			t.Errorf("path %d carried %d bytes", p, bytes[p])
		}
	}
	if a.Stats.Finished != 40 {
		t.Errorf("%d flows are done", a.Stats.Finished)
	}
}

// A flow stays on its path while that is not congested. It leaves a congested
// path only if it is large and slow.
func TestOnlyLargeSlowFlowsLeaveACongestedPath(t *testing.T) {
	for _, c := range []struct {
		name   string
		rate   vtime.Rate
		slow   bool // the path becomes slow and marks
		leaves bool
	}{
		{"slow flow on a good path", 5 * vtime.Gbps, false, false},
		{"fast flow on a congested path", 30 * vtime.Gbps, true, false},
		{"slow flow on a congested path", 5 * vtime.Gbps, true, true},
	} {
		w, a, b, flow := hermes(t, func(cfg *Config) { cfg.CC.Algorithm, cfg.CC.Rate = "fixed", c.rate })
		first := -1
		used := make(map[int]bool)
		sent := 0
		before := 0
		slow := func(f *packet.Frame) bool { return c.slow && pathOf(f) == first && w.now > 200*vtime.Microsecond }
		w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
			p := pathOf(f)
			if from != a || p < 0 || f.Len() < 1000 {
				return true
			}
			if first < 0 {
				first = p
			}
			used[p] = true
			if sent += 1000; len(used) == 1 {
				before = sent
			}
			return true
		}
		w.extra = func(f *packet.Frame) vtime.Time {
			if !slow(f) {
				return 0
			}
			packet.FindIPv4(f.Data).SetECN(packet.CE)
			return 100 * vtime.Microsecond
		}
		flow.Size = 3_000_000
		w.connect(a, b, flow)
		w.until(10 * vtime.Millisecond)
		if left := len(used) > 1; left != c.leaves {
			t.Errorf("%s: it used %d paths", c.name, len(used))
		}
		if c.leaves && before < 600_000 {
			t.Errorf("%s: it left after %d bytes", c.name, before)
		}
	}
}

func TestProbesMeasureOtherPaths(t *testing.T) {
	w, a, b, flow := hermes(t, nil)
	w.extra = func(f *packet.Frame) vtime.Time {
		if pathOf(f) == 2 {
			return 300 * vtime.Microsecond
		}
		return 0
	}
	probes, echoes := 0, 0
	w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
		if tag := pathOf(f); tag >= 0 && packet.Opcode(f.Data[offBTH+packet.TagLen]) == opProbe {
			probes++
		} else if tag < 0 && packet.Opcode(f.Data[offBTH]) == opEcho {
			echoes++
		}
		return true
	}
	// A flow that stays on one of the fast paths.
	a.pathsTo(&flow, b.self).state[2].failed = 400 * vtime.Microsecond
	flow.Size = 80_000_000
	w.connect(a, b, flow)
	w.until(15 * vtime.Millisecond)
	p := a.paths[1]
	if rtt := vtime.Time(p.state[2].rtt); rtt < 100*vtime.Microsecond || p.quality(w.now, 2) == good {
		t.Errorf("the slow path is known with %v", rtt)
	}
	for i := range p.state {
		if i != 2 && p.quality(w.now, i) != good {
			t.Errorf("path %d is known with %v", i, vtime.Time(p.state[i].rtt))
		}
	}
	// Every half millisecond the best and up to two others.
	if probes < 45 || probes > 90 || echoes < probes-3 {
		t.Errorf("%d probes, %d echoes", probes, echoes)
	}
	w.until(200 * vtime.Millisecond)
	was := probes
	w.until(300 * vtime.Millisecond)
	if a.Stats.Finished != 1 || probes != was {
		t.Errorf("%d flows are done, and there were %d more probes", a.Stats.Finished, probes-was)
	}
}

func TestBlackHoleIsAvoidedAfterTimeouts(t *testing.T) {
	w, a, b, flow := hermes(t, func(c *Config) { c.RTO, c.Hermes.Penalty = 100*vtime.Microsecond, vtime.Second })
	lost := 0
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if pathOf(f) == 1 {
			lost++
			return false
		}
		return true
	}
	for i := range 60 {
		flow.Size, flow.Start = 3000, vtime.Time(i)*20*vtime.Microsecond
		w.connect(a, b, flow)
	}
	w.until(20 * vtime.Millisecond)
	if a.Stats.Finished != 60 || a.paths[1].quality(w.now, 1) != failed {
		t.Errorf("%d flows are done, the path's quality is %d", a.Stats.Finished, a.paths[1].quality(w.now, 1))
	}
	was := lost
	for range 100 {
		flow.Size, flow.Start = 3000, w.now
		w.connect(a, b, flow)
	}
	w.until(40 * vtime.Millisecond)
	if lost != was || a.Stats.Finished != 160 {
		t.Errorf("%d more packets on the failed path, %d flows done", lost-was, a.Stats.Finished)
	}
}

func TestRandomDropsAreNoticed(t *testing.T) {
	w, a, b, flow := hermes(t, func(c *Config) { c.Hermes.Penalty = vtime.Second })
	n := 0
	w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
		if pathOf(f) != 3 {
			return true
		}
		n++
		return n%40 != 39
	}
	for i := range 60 {
		flow.Size, flow.Start = 100_000, vtime.Time(i)*30*vtime.Microsecond
		w.connect(a, b, flow)
	}
	w.until(100 * vtime.Millisecond)
	for i := range 4 {
		if bad := a.paths[1].quality(w.now, i) == failed; bad != (i == 3) {
			t.Errorf("path %d: failed is %v", i, bad)
		}
	}
}

func TestTagsHaveBothTiers(t *testing.T) {
	w, a, b, flow := hermes(t, func(c *Config) { c.Tag = true })
	flow.Paths, flow.Coflow, flow.Size = [2]int{2, 3}, 9, 1000
	seen := make(map[[2]uint8]bool)
	w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
		if tag, ok := tagOf(f); ok {
			leaf, agg := tag.path()
			seen[[2]uint8{leaf, agg}] = true
			if tag.coflow() != 9 {
				t.Errorf("coflow is %d", tag.coflow())
			}
		}
		return true
	}
	for i := range 60 {
		flow.Start = vtime.Time(i) * vtime.Microsecond
		w.connect(a, b, flow)
	}
	w.until(vtime.Millisecond)
	if len(seen) != 6 {
		t.Errorf("paths were %v", seen)
	}
}

func TestFlowsWithoutAChoiceHaveNoTag(t *testing.T) {
	w, a, b, flow := hermes(t, nil)
	flow.Paths, flow.Size = [2]int{1}, 5000
	w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
		if pathOf(f) >= 0 {
			t.Error("a packet has a tag")
		}
		return true
	}
	w.connect(a, b, flow)
	w.until(vtime.Millisecond)
	if a.Stats.Finished != 1 {
		t.Error("the flow is not done")
	}
}

// A flow that changes its path in full flight is reordered. The resulting
// negative acknowledgement does not indicate a loss. Before, it counted as one,
// and the previous path as failed.
func TestReorderingByAChangeOfPathIsNoLoss(t *testing.T) {
	w, a, b, flow := hermes(t, func(c *Config) {
		c.CC.Algorithm, c.CC.Rate, c.Hermes.Penalty, c.Hermes.Probe = "fixed", 10*vtime.Gbps, vtime.Second, 0
		c.Hermes.Repeats = 1e-6
	})
	first := -1
	w.extra = func(f *packet.Frame) vtime.Time {
		p := pathOf(f)
		if p >= 0 && first < 0 {
			first = p
		}
		if p < 0 || p != first || w.now < 200*vtime.Microsecond {
			return 0
		}
		packet.FindIPv4(f.Data).SetECN(packet.CE)
		return 100 * vtime.Microsecond
	}
	flow.Size = 3_000_000
	o, in := w.connect(a, b, flow)
	w.until(10 * vtime.Millisecond)
	if packets, _, _ := in.OutOfOrder(); packets == 0 || o.Ended() == 0 {
		t.Fatalf("%d packets out of order, ended at %v: the flow has not overtaken itself", packets, o.Ended())
	}
	for i := range 4 {
		if a.paths[1].state[i].repeats != 0 || a.paths[1].quality(w.now, i) == failed {
			t.Errorf("path %d: %d losses, quality %d", i, a.paths[1].state[i].repeats, a.paths[1].quality(w.now, i))
		}
	}
}

// Switches that mark 1 % at 200 KB mark 0.8 % at a queue of 160 KB, which
// Hermes must detect. With the paper's threshold of 40 % it would not.
func TestShareOfMarksFollowsTheSwitches(t *testing.T) {
	h := HermesDefaults()
	h.Marking(5*vtime.KB, 200*vtime.KB, 0.01, rate)
	if h.ECN < 0.0079 || h.ECN > 0.008 {
		t.Errorf("the threshold is %g", h.ECN)
	}
	// A path with a queue of 180 KB is detected as congested, one with 100 KB is
	// not.
	for queue, want := range map[float64]quality{180: congested, 100: gray} {
		p := &paths{h: &Host{}, cfg: h.filled(), state: make([]pathState, 1)}
		share := 0.01 * (queue - 5) / 195
		rtt := h.RTTHigh + vtime.Microsecond
		sum := 0.0
		for range 5000 {
			sum += share
			p.sense(0, rtt, sum >= 1)
			if sum >= 1 {
				sum--
			}
		}
		if q := p.quality(0, 0); q != want {
			t.Errorf("queue of %g KB: quality %d, want %d; %g are marked, the threshold is %g", queue, q, want, p.state[0].marked, p.cfg.ECN)
		}
	}
	// Step marking and a configured threshold keep the paper's values.
	h = HermesDefaults()
	h.Marking(100*vtime.KB, 100*vtime.KB, 1, rate)
	if f := h.filled(); f.ECN != 0.4 || f.ECNGap != 0.05 {
		t.Errorf("%+v", f)
	}
	h.ECN = 0.2
	if h.Marking(5*vtime.KB, 200*vtime.KB, 0.01, rate); h.ECN != 0.2 {
		t.Errorf("%+v", h)
	}
}
