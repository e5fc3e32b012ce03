// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// tofino is pauseless switch with programs for a Tofino: they count
// nanoseconds, and egress tells ingress by a recirculation port. Its tests are
// those of rules that are as on v1model (everyTarget), and those here, of
// rules that docs/tofino.md says are others.
type tofino struct{ soft }

func (s *tofino) arch() string { return "tna" }

func (s *tofino) now() uint32 { return uint32(s.at / vtime.Nanosecond) }

func (s *tofino) start(t testing.TB, ports int) controlplane.Target {
	t.Helper()
	return s.startWith(t, ports, manifest.TofinoRecirculation)
}

// onTofino reports whether a profile has a program for Tofino.
func onTofino(profile string) bool {
	p, err := gen.Builtin(profile)
	if err != nil {
		return false
	}
	_, err = gen.Generate(p, "tna")
	return err == nil
}

// loadTofino is load for a Tofino's program.
func loadTofino(t *testing.T, profile, network, node string, set map[string]string) (*dut, *tofino) {
	t.Helper()
	sw := new(tofino)
	return load(t, sw, profile, network, node, set), sw
}

// pair writes both fields of a cell of a register of pairs.
func (s *tofino) pair(d *dut, register string, first, second uint32, at ...int) {
	d.Helper()
	s.sw.Lock()
	defer s.sw.Unlock()
	for _, r := range s.sw.State().Registers {
		if r.Info.Name == register {
			r.Cell(d.cell(register, at))[0] = uint64(first)<<32 | uint64(second)
			return
		}
	}
	d.Fatalf("no register %s", register)
}

// tell has ingress hear of a queue: what a copy from egress says.
func (s *tofino) tell(way, priority byte, qlen uint32) {
	const feedback = 1
	b := binary.BigEndian.AppendUint32([]byte{feedback, priority, way}, qlen)
	s.send(manifest.TofinoRecirculation, append(b, make([]byte, 53)...))
}

// untold has egress tell nothing any more, so that what a test says of queues
// stays.
func (s *tofino) untold() {
	const feedbackSession = 1000
	s.sw.Lock()
	defer s.sw.Unlock()
	s.sw.DeleteSession(feedbackSession)
}

// A flowcell ends with the packet that makes it longer than its size: a
// register compares before it adds.
func TestPrestoOnTofinoEndsAFlowcellWithThePacketThatFillsIt(t *testing.T) {
	d, _ := loadTofino(t, "presto", leafSpine(3), "l1", map[string]string{"presto.flowcell": "2500B"})
	got := uplinks(d, times(12, data)...) // of 1054 bytes: the third exceeds it
	for i := range got {
		if want := (got[0]-3+i/3)%3 + 3; got[i] != want {
			t.Fatalf("packets took ports %v, the %d-th should take %d", got, i, want)
		}
	}
}

// The best path is a pair of its queue and itself; the samples are looked up
// in two copies of what egress tells of queues.
func TestDRILLOnTofinoTakesTheShortestItWasToldOf(t *testing.T) {
	d, sw := loadTofino(t, "drill", leafSpine(2), "l1", nil)
	// A packet that leaves tells of its queue, which is empty.
	for _, register := range []string{"egress_qlen", "egress_qlen_copy"} {
		d.set(register, 77, 0, 3)
		d.set(register, 77, 1, 3)
	}
	way := uplinks(d, data)[0] - 3
	for _, register := range []string{"egress_qlen", "egress_qlen_copy"} {
		d.want(0, register, way, 3)
		d.want(77, register, 1-way, 3)
	}
	sw.untold()
	for _, register := range []string{"egress_qlen", "egress_qlen_copy"} {
		d.set(register, 5000, 0, 3)
		d.set(register, 0, 1, 3)
	}
	// What is remembered is taken while no sample is shorter.
	sw.pair(d, "drill_best", 0, 1, 1)
	if got := uplinks(d, times(8, data)...); distinct(got) != 1 || got[0] != 4 {
		t.Errorf("packets took ports %v, 4 is the shortest", got)
	}
	// A shorter one is found by three of four pairs of samples, and remembered.
	found := 0
	for range 16 {
		sw.pair(d, "drill_best", 5000, 0, 1)
		port := uplinks(d, data)[0]
		d.want(uint64(5000*(4-port)), "drill_best", 1)
		found += port - 3
	}
	if found < 4 || found > 15 {
		t.Errorf("the shorter queue was found %d times of 16", found)
	}
}

// The classes are those of v1model, of which the best is found path by path.
func TestCLBOnTofinoPrefersClassesAndWithinThem(t *testing.T) {
	for _, c := range []struct {
		name   string
		queues [4]uint32
		growth [4]uint32
		want   int
	}{
		{"A before all others", [4]uint32{50_000, 60_000, 150_000, 150_000}, [4]uint32{1, 0, 0, 1}, 1},
		{"B before C and D", [4]uint32{150_000, 150_000, 90_000, 150_000}, [4]uint32{0, 0, 7000, 1}, 2},
		{"C before D", [4]uint32{110_000, 110_000, 110_000, 200_000}, [4]uint32{1, 2, 3, 0}, 3},
		{"the shortest queue of A", [4]uint32{30_000, 20_000, 10_000, 40_000}, [4]uint32{}, 2},
		{"the slowest growth of B", [4]uint32{10_000, 20_000, 30_000, 40_000}, [4]uint32{9000, 8000, 5000, 2000}, 3},
		{"the shortest queue of C", [4]uint32{130_000, 120_000, 140_000, 150_000}, [4]uint32{}, 1},
		{"the slowest growth of D", [4]uint32{130_000, 120_000, 140_000, 150_000}, [4]uint32{30_000, 40_000, 10_000, 50_000}, 2},
		{"a queue at the threshold is over it", [4]uint32{100_000, 99_999, 100_000, 100_000}, [4]uint32{0, 50_000, 0, 0}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, sw := loadTofino(t, "clb", leafSpine(4), "l1", map[string]string{"clb.gap": "0s", "clb.threshold": "100KB"})
			sw.untold()
			d.rule("clb default -> set_clb(queue_threshold=100000, interval=1, tie_bytes=1)")
			for i := range 4 {
				sw.tell(byte(i), 3, c.queues[i]-c.growth[i])
				sw.tell(byte(i), 3, c.queues[i])
			}
			uplinks(d, times(60, data)...) // each looks at one path
			if got := uplinks(d, times(8, data)...); distinct(got) != 1 || got[0] != 3+c.want {
				t.Errorf("took ports %v, want %d", got, 3+c.want)
			}
		})
	}
}

// messages returns the messages between switches that came out of a port. On
// Tofino they have a part of a packet behind them.
func messages(list []frame, port int) []packet.CNM {
	var out []packet.CNM
	for _, data := range from(list, port) {
		if eth := packet.AsEthernet(data); eth.EtherType() == packet.EtherTypeLocal {
			out = append(out, packet.AsCNM(eth.Payload()))
		}
	}
	return out
}

func TestRLBOnTofinoWarnsUpstreamOnceItsQueueReachesTheThreshold(t *testing.T) {
	d, sw := loadTofino(t, "rlb-drill", leafSpine(2), "l1", map[string]string{"rlb.warn": "100KB", "rlb.calm": "50KB"})
	size := uint32(len(down))
	arrive := func(queued uint32) []packet.CNM {
		sw.pair(d, "ingress_qlen", queued, d.now(), 3, 3)
		d.set("sampled_at", uint64(d.now()-1_000_000), 3, 3)
		d.set("sampled_qlen", uint64(queued), 3, 3)
		d.send(3, down)
		out := d.sent()
		if len(from(out, 1)) != 1 {
			t.Errorf("came out: %v", out)
		}
		return messages(out, 3)
	}
	got := arrive(100_000 - size)
	if len(got) != 1 {
		t.Fatalf("%d warnings, want one", len(got))
	}
	m := got[0]
	if id, port := m.Origin(); !m.Active() || m.Kind() != packet.KindWarning || m.Priority() != 3 || m.Scope() != 0 ||
		m.Hops() != 1 || id != 1 || port != 3 || m.Hold() != 25_600 {
		t.Errorf("warning % x", []byte(m))
	}
	d.want(1, "warnings_sent", 3)
	d.want(1, "warning_on", 3, 3)
	d.want(100_000, "ingress_qlen", 3, 3) // egress tells of it with the next one
	if got := arrive(100_000 - size - 1); len(got) != 0 {
		t.Error("warned one byte below the threshold")
	}
	// It ends when egress tells that the queue is calm.
	if got := arrive(50_000); len(got) != 0 {
		t.Errorf("ended a warning while its queue is not calm: %v", got)
	}
	if got := arrive(49_999); len(got) != 1 || got[0].Active() || got[0].Scope() != 0 || got[0].Priority() != 3 {
		t.Errorf("%v, want one message that ends the warning", got)
	}
	d.want(0, "warning_on", 3, 3)
	if got := arrive(49_999); len(got) != 0 {
		t.Error("ended a warning that was over")
	}
}

// The prediction looks two intervals ahead at the growth of the last one.
func TestRLBOnTofinoWarnsOfAQueueThatGrowsFast(t *testing.T) {
	d, sw := loadTofino(t, "rlb-drill", leafSpine(2), "l1", map[string]string{"rlb.warn": "200KB", "rlb.floor": "10KB"})
	size := uint32(len(down))
	d.rule("predict in_port=3 priority=3 -> predict_pause(floor=10000, warn_at=200000, xoff=256000, horizon=1)")
	for _, c := range []struct {
		name        string
		before, now uint32
		want        int
	}{
		{"reaches xoff in two intervals", 97_000, 150_000, 1},
		{"misses it by a byte", 97_001, 150_000, 0},
		{"shrinks", 150_001, 150_000, 0},
		{"is below the floor", 0, 9_999, 0},
	} {
		d.set("sampled_qlen", uint64(c.before), 3, 3)
		d.set("sampled_at", uint64(d.now()-1_000_000), 3, 3)
		sw.pair(d, "ingress_qlen", c.now-size, d.now(), 3, 3)
		d.send(3, down)
		got := messages(d.sent(), 3)
		got = slices.DeleteFunc(got, func(m packet.CNM) bool { return !m.Active() }) // it is calm
		if len(got) != c.want {
			t.Errorf("a queue that %s: %d warnings, want %d", c.name, len(got), c.want)
		}
		d.want(uint64(c.now), "sampled_qlen", 3, 3)
	}
}

func TestRLBOnTofinoTakesAnotherPathThanTheWarnedOne(t *testing.T) {
	for _, profile := range []string{"rlb-drill", "rlb-ecmp", "rlb-presto", "rlb-letflow", "rlb-adaptive-drill"} {
		t.Run(profile, func(t *testing.T) {
			d, _ := loadTofino(t, profile, leafSpine(3), "l1", nil)
			var used []int
			for range 6 {
				// Warned of are the first path for this leaf and the last for all.
				d.set("warned", 0x80, 1)
				d.set("warned_all", 0x20, 0)
				d.set("warned_until", far, 1, 0)
				d.set("warned_all_until", far, 2)
				port, _ := d.through(1, data)
				used = append(used, port)
			}
			if slices.ContainsFunc(used, func(p int) bool { return p != 4 }) {
				t.Errorf("packets took ports %v, but only 4 is free", used)
			}
		})
	}
}

func TestRLBOnTofinoKeepsTheChoiceIfAllPathsAreWarned(t *testing.T) {
	d, sw := loadTofino(t, "rlb-drill", leafSpine(2), "l1", nil)
	noStamps(d)
	warn(d, 0, 1)
	sw.pair(d, "drill_best", 0, 1, 1)
	port, _ := d.through(1, data)
	if port != 4 {
		t.Errorf("left by port %d, want the choice, 4", port)
	}
	d.want(1, "forwarded_warned", 4)
	d.want(0, "reroutes", 4)
}

func TestRLBOnTofinoWaitsByRecirculationIfTheOtherPathIsSlower(t *testing.T) {
	d, sw := loadTofino(t, "rlb-drill", leafSpine(2), "l1", map[string]string{"rlb.max_recirculations": "7", "rlb.fresh": "1s"})
	noStamps(d)
	rtts := func(fast, slow uint32) {
		for _, register := range []string{"path_rtt", "path_rtt_copy"} {
			sw.pair(d, register, fast, d.now(), 1, 1)
			sw.pair(d, register, slow, d.now(), 1, 0)
		}
		sw.pair(d, "drill_best", 0, 1, 1)
		warn(d, 1)
	}
	rtts(100, 100_000_000)
	if port, _ := d.through(1, data); port != 4 {
		t.Errorf("left by port %d, want 4", port)
	}
	d.want(7, "recirculations", 4)
	d.want(1, "forwarded_warned", 4)
	d.want(0, "reroutes", 4)
	// As fast as the other: no reason to wait.
	rtts(100_000_000, 100_000_000)
	if port, _ := d.through(1, data); port != 3 {
		t.Errorf("left by port %d, want 3", port)
	}
	d.want(7, "recirculations", 4)
	d.want(1, "reroutes", 4)
}

// What was sent in the last window of 8 slots, and eight times what came in
// the last slot, against what the port can send.
func TestPBFSOnTofinoTellsTheSenderOfCongestion(t *testing.T) {
	for _, profile := range []string{"pbfs", "rlb-pbfs"} {
		t.Run(profile, func(t *testing.T) {
			d, sw := loadTofino(t, profile, leafSpine(2), "l1", nil)
			for _, c := range []struct {
				capacity string
				frame    []byte
				postcard bool
			}{
				{"34800", marked, false}, {"34799", marked, true},
				{"0", roce{src: "h1", dst: "h2", sport: 5000}.bytes(), false}, // nobody asked
			} {
				d.rule("pbfs_port out_port=2 -> set_capacity(round_trip_bytes=" + c.capacity + ", mbps=25000)")
				slot := d.now() >> 10
				sw.pair(d, "slot_bytes", 3000, slot-1, 2)
				sw.pair(d, "slot_marked", 700, slot-1, 2)
				sw.pair(d, "window_bytes", 10_000, slot>>3-1, 2)
				if profile != "pbfs" { // a packet that tells ingress of a departure is copied for that
					sw.pair(d, "departed", 0, d.now(), 1, 3)
				}
				d.set("window_qlen", 800, 2)
				d.send(1, c.frame)
				out := d.sent()
				if got := from(out, 2); len(got) != 1 || !slices.Equal(got[0], c.frame) {
					t.Fatalf("the packet came out as %v", out)
				}
				cards := from(out, 1)
				if (len(cards) == 1) != c.postcard {
					t.Fatalf("capacity %s: %d postcards", c.capacity, len(cards))
				}
				if !c.postcard {
					continue
				}
				eth := packet.AsEthernet(cards[0])
				ip := packet.AsIPv4(eth.Payload())
				udp := packet.AsUDP(ip.Payload())
				p := packet.AsPostcard(udp.Payload())
				if eth.Dst() != mac("h1") || eth.Src() != mac("h2") || ip.Src() != addr("h2") || ip.Dst() != addr("h1") ||
					!ip.ChecksumOK() || ip.DSCP() != packet.DSCPPostcard || udp.SrcPort() != 5000 || udp.DstPort() != packet.PortPostcard || p == nil {
					t.Fatalf("postcard % x", cards[0])
				}
				recent, recentMarked := p.Recent()
				if p.Switch() != 1 || p.DestQP() != 0x77 || p.Arriving() != 34_000 || p.Queue() != 800 || p.Rate() != 25_000 || recent != 3000 || recentMarked != 700 {
					t.Errorf("switch %d, QP %#x, I_p %d, Q1 %d, T %d, recent %d, marked %d", p.Switch(), p.DestQP(), p.Arriving(), p.Queue(), p.Rate(), recent, recentMarked)
				}
				d.want(1, "postcards", 2)
			}
		})
	}
}
