// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
)

const far = 1 << 30 // microseconds after any test

// cnms returns the messages between switches that a port sent.
func cnms(d *dut, list []frame, port int) []cnm {
	d.Helper()
	var out []cnm
	for _, data := range from(list, port) {
		if eth := packet.AsEthernet(data); eth.EtherType() == packet.EtherTypeLocal {
			m := cnmOf(eth.Payload())
			if m.CNM == nil || len(data) != 60 {
				d.Errorf("message of %d bytes: % x", len(data), data)
				continue
			}
			out = append(out, m)
		}
	}
	return out
}

// data is a packet from leaf 1 to leaf 2; down is one in the other direction.
var (
	data = roce{src: "h1", dst: "h3", sport: 5000}.bytes()
	down = roce{src: "h3", dst: "h1", sport: 6000}.bytes()
)

// fabric returns the header between leaves of a frame, nil if it has none.
func fabric(b []byte) []byte {
	if eth := packet.AsEthernet(b); eth.EtherType() == packet.EtherTypeFabric {
		return eth.Payload()
	}
	return nil
}

// noStamps disables time stamps, so that frames are forwarded unchanged.
func noStamps(d *dut) { d.rule("leaf_role default -> be_leaf(leaf=0, interval=0xffffffff)") }

func TestRLBWarnsUpstreamOnceItsQueueReachesTheThreshold(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill", leafSpine(2), "l1", map[string]string{"rlb.warn": "100KB", "rlb.horizon": "0s"})
		d.set("sampled_at", uint64(d.now()), 3, 3)
		d.set("ingress_qlen", 100_000-uint64(len(down)), 3, 3)
		d.wait(1000)
		d.send(3, down)
		out := d.sent()
		got := cnms(d, out, 3)
		if len(got) != 1 || len(from(out, 1)) != 1 {
			t.Fatalf("%d warnings, %v came out", len(got), out)
		}
		m := got[0]
		if sw, port := m.Origin(); !m.Active() || m.Kind() != packet.KindWarning || m.priority() != 3 || m.scope() != 0 ||
			m.hops() != 1 || sw != 1 || port != 3 || m.hold() != 26 {
			t.Errorf("warning % x", []byte(m.CNM))
		}
		d.want(1, "warnings_sent", 3)
		d.want(1, "warning_on", 3, 3)
		// The queue length was that of the packet plus the value set.
		d.want(100_000-uint64(len(down)), "ingress_qlen", 3, 3)

		d.set("ingress_qlen", 100_000-uint64(len(down))-1, 3, 3)
		d.send(3, down)
		if got := cnms(d, d.sent(), 3); len(got) != 0 {
			t.Errorf("warned one byte below the threshold")
		}
	})
}

func TestRLBWarnsOfAQueueThatGrowsFast(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		// A horizon of a second: the queue must grow by the rest within it.
		d := load(t, sw, "rlb-drill", leafSpine(2), "l1", map[string]string{"rlb.warn": "200KB", "rlb.floor": "10KB", "rlb.horizon": "1s"})
		for _, c := range []struct {
			name         string
			before, now  uint64
			want         int
			horizonTable string
		}{
			{"grows by half of what is left in the time since", 100_000, 150_000, 1, ""},
			{"shrinks", 150_001, 150_000, 0, ""},
			{"does not change", 150_000, 150_000, 0, ""},
			{"is below the floor", 0, 9_999, 0, ""},
			{"grows too slowly", 149_999, 150_000, 0, "predict in_port=3 priority=3 -> predict_pause(floor=10000, warn_at=200000, xoff=256000, horizon=1)"},
		} {
			if c.horizonTable != "" {
				d.rule(c.horizonTable)
			}
			d.set("sampled_qlen", c.before, 3, 3)
			d.set("sampled_at", uint64(d.now()), 3, 3)
			d.wait(1000)
			d.set("ingress_qlen", c.now-uint64(len(down)), 3, 3)
			d.send(3, down)
			if got := cnms(d, d.sent(), 3); len(got) != c.want {
				t.Errorf("a queue that %s: %d warnings, want %d", c.name, len(got), c.want)
			}
			d.want(c.now, "sampled_qlen", 3, 3)
		}
	})
}

func TestRLBEndsAWarningWhenItsQueueBecomesCalm(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill", leafSpine(2), "l1", map[string]string{"rlb.warn": "200KB", "rlb.calm": "50KB", "rlb.horizon": "0s"})
		d.set("sampled_at", uint64(d.now()), 3, 3)
		d.set("warning_on", 1, 3, 3)
		d.set("ingress_qlen", 49_999, 3, 3)
		d.send(3, down)
		got := cnms(d, d.sent(), 3)
		if len(got) != 1 || got[0].Active() || got[0].scope() != 0 || got[0].priority() != 3 {
			t.Fatalf("%d messages, want one that ends the warning: %v", len(got), got)
		}
		d.want(0, "warning_on", 3, 3)
		d.set("ingress_qlen", 49_999, 3, 3)
		d.send(3, down)
		if got := cnms(d, d.sent(), 3); len(got) != 0 {
			t.Errorf("ended a warning that was over")
		}
		d.set("warning_on", 1, 3, 3)
		d.set("ingress_qlen", 50_000, 3, 3)
		d.send(3, down)
		if got := cnms(d, d.sent(), 3); len(got) != 0 {
			t.Errorf("ended a warning while its queue is not calm")
		}
	})
}

func TestRLBWarningsBeginAndEnd(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill", leafSpine(3), "l1", nil)
		d.drops(4, warning(true, 0, 1, far))
		d.want(0x40, "warned", 1)
		d.drops(5, warning(true, 3, 1, far))
		d.want(0x60, "warned", 1)
		d.drops(4, warning(false, 0, 1, far))
		d.want(0x20, "warned", 1)
		d.want(0, "warned", 2)
		d.drops(3, warning(true, 0, scopeAll, far))
		d.want(0x80, "warned_all", 0)
		d.drops(3, warning(true, 0, 64, far)) // there is no such leaf
		d.drops(1, warning(true, 0, 1, far))  // not from a host
		d.want(0x20, "warned", 1)
	})
}

func TestRLBSpineRelaysWarningsToTheOtherLeaves(t *testing.T) {
	t.Parallel()
	everyTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill", leafSpine(2), "s1", nil)
		d.send(2, warning(true, 1, 1, 77))
		out := d.sent()
		for _, port := range []int{1, 3} {
			got := cnms(d, out, port)
			if len(got) != 1 || got[0].hops() != 0 || !got[0].Active() || got[0].scope() != 1 || got[0].hold() != 77 {
				t.Errorf("leaf at port %d hears %v", port, got)
			}
		}
		if len(out) != 2 {
			t.Errorf("%d frames came out, want two: %v", len(out), out)
		}
		d.drops(2, warning(true, 0, 1, 77)) // no more hops
	})
}

func TestRLBTakesAnotherPathThanTheWarnedOne(t *testing.T) {
	t.Parallel()
	list := []string{"rlb-drill", "rlb-ecmp", "rlb-presto", "rlb-letflow", "rlb-conga", "rlb-hermes", "rlb-adaptive-drill"}
	if testing.Short() {
		list = list[:1]
	}
	for _, profile := range list {
		t.Run(profile, func(t *testing.T) {
			eachTarget(t, func(t *testing.T, sw target) {
				d := load(t, sw, profile, leafSpine(3), "l1", nil)
				var used []int
				for range 6 {
					// The first path is warned for this leaf, the last one for all leaves.
					d.set("warned", 0x80, 1)
					d.set("warned_all", 0x20, 0)
					d.set("warned_until", far, 1, 0)
					d.set("warned_until", far, 64, 2)
					port, _ := d.through(1, data)
					used = append(used, port)
				}
				if slices.ContainsFunc(used, func(p int) bool { return p != 4 }) {
					t.Errorf("packets took ports %v, but only 4 is free", used)
				}
				// For another leaf only the last path is warned.
				var other []int
				for i := range 12 {
					port, _ := d.through(1, roce{src: "h1", dst: "h5", sport: uint16(i)}.bytes())
					other = append(other, port)
				}
				if slices.Contains(other, 5) {
					t.Errorf("packets to the other leaf took %v, but 5 is warned of", other)
				}
			})
		})
	}
}

// The header between leaves precedes a host's tag, and gets the EtherType of the tag
// when both are removed.
func TestRLBOverHermesPutsTheFabricHeaderBeforeTheTag(t *testing.T) {
	t.Parallel()
	everyTarget(t, func(t *testing.T, sw target) {
		// 15 bytes: a tag follows; from leaf 1 on path 1; no stamp and no echo.
		in := behindEthernet(tagged(down, 1), packet.EtherTypeFabric, []byte{0x88, 0xb6, 0, 1, 1, 14: 0})
		d := load(t, sw, "rlb-hermes", leafSpine(3), "s1", nil)
		d.passes(2, 1, in)
		d.passes(2, 1, tagged(down, 1))
	})
	everyTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-hermes", leafSpine(3), "l1", map[string]string{"rtt.interval": "0s"})
		in := behindEthernet(tagged(down, 1), packet.EtherTypeFabric, []byte{0x88, 0xb6, 0, 1, 1, 14: 0})
		d.passesAs(3, 1, in, down)
		d.passesAs(3, 1, tagged(down, 1), down)
		frame, stamped := tagged(data, 1), 0
		for range 64 { // on Tofino one packet in eight is stamped
			port, out := d.through(1, frame)
			if port != 4 {
				t.Errorf("left by port %d, the tag says 4", port)
			}
			h := fabric(out)
			if h == nil {
				continue
			}
			stamped++
			if be16(h) != packet.EtherTypeLocal || h[4] != 1 || !slices.Equal(h[15:], frame[packet.EthernetLen:]) {
				t.Fatalf("came out as %s", dump(out))
			}
		}
		if stamped == 0 {
			t.Error("no packet was stamped")
		}
	})
}

func TestRLBClearsExpiredWarnings(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill", leafSpine(2), "l1", nil)
		d.set("warned", 0xc0, 1)
		d.set("warned_until", far, 1, 0)
		d.set("warned_until", uint64(d.now()), 1, 1) // just expired
		for range 4 {
			if port, _ := d.through(1, data); port != 4 {
				t.Errorf("left by port %d; the warning of port 4 was over", port)
			}
		}
		d.want(0x80, "warned", 1)
	})
}

func TestRLBKeepsTheChoiceIfAllPathsAreWarned(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill", leafSpine(2), "l1", nil)
		noStamps(d)
		d.set("warned", 0xc0, 1)
		d.set("warned_until", far, 1, 0)
		d.set("warned_until", far, 1, 1)
		d.set("drill_best", 1, 1)
		d.passes(1, 4, data)
		d.want(1, "forwarded_warned", 4)
		d.want(0, "reroutes", 4)
	})
}

func TestRLBWaitsByRecirculationIfTheOtherPathIsSlower(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"rlb-drill", "rlb-presto", "rlb-drill-bmv2"} {
		t.Run(profile, func(t *testing.T) {
			eachTarget(t, func(t *testing.T, sw target) {
				d := load(t, sw, profile, leafSpine(2), "l1", map[string]string{"rlb.max_recirculations": "7", "rlb.fresh": "100s"})
				noStamps(d)
				first := 4
				if profile == "rlb-presto" {
					first, _ = d.through(1, data) // its flowcell
				} else {
					d.set("drill_best", 1, 1)
				}
				d.set("warned", 0x80>>(first-3), 1)
				d.set("warned_until", far, 1, first-3)
				d.set("path_rtt", 100, 1, first-3)
				d.set("path_rtt_time", uint64(d.now()), 1, first-3)
				d.set("path_rtt", 100_000, 1, 4-first)
				// While it waits, it counts in the queue of its ingress port.
				d.passes(1, first, data)
				d.want(7, "recirculations", first)
				d.want(1, "forwarded_warned", first)
				d.want(0, "reroutes", first)
				d.want(d.get("recirc_sent", 0), "recirc_returned", 0)
				d.want(uint64(7*len(data)), "recirc_sent", 0)

				// As fast as the other path, or not measured: it does not wait.
				for _, rtt := range []uint64{100_000, 0} {
					d.set("path_rtt", rtt, 1, first-3)
					d.passes(1, 7-first, data)
				}
				d.want(7, "recirculations", first)
				d.want(0, "ingress_qlen", 1, 3)
				if d.manifest.Has("egress_qlen") {
					d.want(0, "egress_qlen", 3, 3)
					d.want(0, "egress_qlen", 4, 3)
				}
			})
		})
	}
}

// A warned path carries no packets that measure it: its last round-trip time remains
// valid.
func TestRLBWaitsByRoundTripTimesOfAnyAge(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill", leafSpine(2), "l1", map[string]string{"rlb.max_recirculations": "3"})
		noStamps(d)
		d.set("drill_best", 1, 1)
		d.set("warned", 0x40, 1)
		d.set("warned_until", far, 1, 1)
		d.set("path_rtt", 100, 1, 1)
		d.set("path_rtt_time", uint64(d.now()-1<<29), 1, 1)
		d.set("path_rtt", 100_000, 1, 0)
		d.passes(1, 4, data)
		d.want(3, "recirculations", 4)
	})
}

// Algorithm 1 compares p with the base's next choice, whether that is warned or not,
// and continues with the better one.
func TestRLBComparesTheNextChoiceEvenIfItIsWarned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		rtts  [5]uint64 // from the flow's path on, in cyclic order
		waits int       // offset of the path that it waits for
	}{
		{"which is slower", [5]uint64{100, 100_000, 100, 100, 100}, 0},
		{"and the one after that from it", [5]uint64{100, 100, 100_000, 100, 100}, 1},
		{"and all are as fast", [5]uint64{100, 100, 100, 100, 100}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTarget(t, func(t *testing.T, sw target) {
				d := load(t, sw, "rlb-ecmp", leafSpine(5), "l1", map[string]string{"rlb.max_recirculations": "3"})
				noStamps(d)
				first := uplinks(d, data)[0] - 3
				warn(d, first, (first+1)%5)
				for i, rtt := range c.rtts {
					d.set("path_rtt", rtt, 1, (first+i)%5)
				}
				if c.waits < 0 {
					d.passes(1, 3+(first+2)%5, data)
					d.want(1, "reroutes", 3+first)
					return
				}
				d.passes(1, 3+(first+c.waits)%5, data)
				d.want(3, "recirculations", 3+(first+c.waits)%5)
				d.want(0, "reroutes", 3+first)
			})
		})
	}
}

func TestRLBMeasuresPathsBetweenLeaves(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill", leafSpine(2), "l1", nil)
		// The first packet on a path is stamped.
		d.set("drill_best", 1, 1)
		port, out := d.through(1, data)
		h := fabric(out)
		if port != 4 || h == nil {
			t.Fatalf("port %d, % x", port, out[:30])
		}
		if be16(h) != packet.EtherTypeIPv4 || be16(h[2:]) != 0 || h[4] != 1 || h[5] != 0x80 {
			t.Errorf("header % x", h[:15])
		}
		stamp := be32(h[6:])
		if age := d.now() - stamp; age > 5_000_000 {
			t.Errorf("stamp is %d µs old", age)
		}
		d.want(uint64(stamp), "stamped_at", 1, 1)

		// A packet of the other leaf with its stamp and the echo of our stamp.
		in := slices.Concat(down[:packet.EthernetLen], []byte{
			0x08, 0x00, 0, 1, 1, 0xc0, 0, 0, 0, 50, 1, byte(stamp >> 24), byte(stamp >> 16), byte(stamp >> 8), byte(stamp)},
			down[packet.EthernetLen:])
		packet.Ethernet(in).Set(mac("h1"), mac("h3"), packet.EtherTypeFabric)
		d.passesAs(4, 1, in, down)
		if rtt := d.get("path_rtt", 1, 1); rtt < 1 || rtt > 10_000_000 {
			t.Errorf("RTT is %d µs", rtt)
		}
		d.want(d.get("path_rtt", 1, 1), "path_rtt_avg", 1, 1)
		d.want(2, "echo_path", 1)

		// The next packet to that leaf echoes the stamp, plus its wait.
		waited := d.now()
		d.wait(20_000)
		_, out = d.through(1, data)
		h = fabric(out)
		if h == nil || h[5]&0x40 == 0 || h[10] != 1 {
			t.Fatalf("no echo: % x", out[:34])
		}
		if echo := be32(h[11:]); echo < 50+20_000 || echo > 50+d.now()-waited+5_000_000 {
			t.Errorf("echo is %d: the stamp was 50, the wait at least 20000", echo)
		}
		d.want(0, "echo_path", 1)
	})
}

// A wrong queue length is corrected when the target reports an empty queue.
func TestQueueLengthsComeBackToZero(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill", leafSpine(2), "l1", map[string]string{"rlb.horizon": "0s"})
		d.set("egress_qlen", 12345, 3, 3)
		d.set("egress_qlen", 54321, 4, 3)
		for i := range 20 {
			d.through(1, roce{src: "h1", dst: "h3", sport: uint16(i)}.bytes())
		}
		// A queue that appears longer may get no packets, and is then not corrected.
		if a, b := d.get("egress_qlen", 3, 3), d.get("egress_qlen", 4, 3); a != 0 || b != 0 && b != 54321 {
			t.Errorf("egress queues are %d and %d", a, b)
		}
		// The ingress queue is reset after a second without arrivals.
		d.set("ingress_qlen", 3000, 3, 3)
		d.set("sampled_at", uint64(d.now()), 3, 3)
		d.through(3, down)
		d.want(3000, "ingress_qlen", 3, 3)
		d.set("sampled_at", uint64(d.now()-1_000_001), 3, 3)
		d.through(3, down)
		d.want(0, "ingress_qlen", 3, 3)
	})
}
