// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
)

// pause is a PFC frame of a peer for class 3.
func pause(quanta uint16) []byte { return packet.AppendPFC(nil, packet.MAC{2, 9}, 1<<3, quanta) }

// pauses returns the PFC frames that a port sent.
func pauses(list []frame, port int) []packet.PFC {
	var out []packet.PFC
	for _, data := range from(list, port) {
		if f := packet.AsPFC(data); f != nil {
			out = append(out, f)
		}
	}
	return out
}

func TestPausesOfAPeerAreNoted(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "pcn", leafSpine(2), "l1", nil)
		before := d.now()
		d.drops(3, pause(0xffff))
		// 65535 quanta of 512 bits at 40 Gb/s are 839 µs.
		if until := uint32(d.get("paused_until", 3, 3)); until < before+820 || until > d.now()+839 {
			t.Errorf("paused until %d, at %d", until, before)
		}
		d.want(1, "pause_seen", 3, 3)
		d.drops(3, pause(0))
		if until := uint32(d.get("paused_until", 3, 3)); until < before || until > d.now() {
			t.Errorf("resumed at %d, was %d to %d", until, before, d.now())
		}
		d.want(0, "pause_seen", 4, 3)
		// Another class, and a PAUSE frame other than PFC, have no effect.
		d.drops(4, packet.AppendPFC(nil, packet.MAC{}, 1<<2, 100))
		global := pause(100)
		global[14] = 0
		d.drops(4, global)
		d.want(0, "pause_seen", 4, 3)
	})
}

// PCN does not mark packets that were queued when the port resumed. Of the others it
// marks those that leave a non-empty queue.
func TestPCNDoesNotMarkPacketsDelayedByPause(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "pcn", leafSpine(2), "l1", nil)
		d.set("pause_seen", 1, 2, 3)
		d.set("paused_until", uint64(d.now()+500_000_000), 2, 3)
		f := roce{src: "h1", dst: "h2", ecn: packet.ECT0}.bytes()
		d.passes(1, 2, f)
		d.want(1, "pause_seen", 2, 3) // more of them may be queued
		d.set("paused_until", uint64(d.now()), 2, 3)
		d.wait(1000)
		d.passes(1, 2, f) // alone in its queue
		d.want(0, "pause_seen", 2, 3)
	})
}

func TestEmulatedPFCPausesAndResumesTheSender(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"drill-bmv2", "rlb-drill-bmv2"} {
		t.Run(profile, func(t *testing.T) {
			eachTarget(t, func(t *testing.T, sw target) {
				d := load(t, sw, profile, leafSpine(2), "l1", map[string]string{"pfc_emulated.xoff": "100KB", "pfc_emulated.xon": "50KB"})
				recent := func() {
					if d.manifest.Has("rlb") {
						d.rule("Readqlen in_port=3 priority=3 -> read_qlen(interval=0xffffffff, calm=0)")
						return
					}
					d.set("arrived_at", uint64(d.now()), 3, 3)
				}
				recent()
				d.set("ingress_qlen", 100_000-uint64(len(down)), 3, 3)
				d.send(3, down)
				if got := pauses(d.sent(), 3); len(got) != 0 {
					t.Fatalf("paused at the threshold, not above: %v", got)
				}
				recent()
				d.set("ingress_qlen", 100_001-uint64(len(down)), 3, 3)
				d.send(3, down)
				out := d.sent()
				got := pauses(out, 3)
				if len(got) != 1 || got[0].Enabled() != 1<<3 || got[0].Quanta(3) != 0xffff || got[0].Quanta(2) != 0 || len(got[0]) != 60 {
					t.Fatalf("PFC frames %v", got)
				}
				if d.get("pausing_since", 3, 3) == 0 {
					t.Fatal("it is not remembered that the sender pauses")
				}
				recent()
				d.set("ingress_qlen", 50_001, 3, 3)
				d.send(3, down)
				if got := pauses(d.sent(), 3); len(got) != 0 {
					t.Fatalf("resumed above the lower threshold: %v", got)
				}
				recent()
				d.set("ingress_qlen", 50_000, 3, 3)
				d.send(3, down)
				got = pauses(d.sent(), 3)
				if len(got) != 1 || got[0].Enabled() != 1<<3 || got[0].Quanta(3) != 0 {
					t.Fatalf("no RESUME: %v", got)
				}
				d.want(0, "pausing_since", 3, 3)
			})
		})
	}
}

// With emulated PFC, a queue may exceed both thresholds between two samples of the
// predictor. The packet that does this triggers a warning, and the next one PAUSE.
func TestEmulatedPFCWarnsBeforeItPauses(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-drill-bmv2", leafSpine(2), "l1", map[string]string{
			"pfc_emulated.xoff": "100KB", "pfc_emulated.xon": "50KB", "rlb.xoff": "100KB", "rlb.warn": "99500B"})
		d.rule("Readqlen in_port=3 priority=3 -> read_qlen(interval=0xffffffff, calm=0)") // it never takes a sample
		length := uint64(len(down))
		for _, c := range []struct {
			name             string
			now              uint64
			warnings, frames int
		}{
			{"stays below the warning", 99_499, 0, 0},
			{"reaches the warning", 99_500, 1, 0},
			{"goes on from there", 99_500 + length, 0, 1},
			{"falls and jumps over both", 100_001, 1, 0},
			{"goes on from there too", 100_001 + length, 0, 1},
		} {
			if c.warnings > 0 {
				d.set("pausing_since", 0, 3, 3)
			}
			d.set("ingress_qlen", c.now-length, 3, 3)
			d.send(3, down)
			out := d.sent()
			if warnings, frames := len(cnms(d, out, 3)), len(pauses(out, 3)); warnings != c.warnings || frames != c.frames {
				t.Errorf("a queue that %s: %d warnings and %d PFC frames, want %d and %d", c.name, warnings, frames, c.warnings, c.frames)
			}
		}
	})
}

func TestEmulatedPFCHoldsPacketsForAPausedPort(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "drill-bmv2", leafSpine(2), "l1", map[string]string{"pfc_emulated.max_holds": "9"})
		d.set("pause_seen", 1, 1, 3)
		d.set("paused_until", uint64(d.now()+500_000_000), 1, 3)
		d.passes(3, 1, down) // it waits, but not for ever
		d.want(uint64(9*len(down)), "recirc_sent", 0)
		d.want(uint64(9*len(down)), "recirc_returned", 0)
		d.want(0, "ingress_qlen", 3, 3)
		// Other classes and other ports are not paused.
		d.passes(3, 2, roce{src: "h3", dst: "h2", sport: 1}.bytes())
		d.passes(3, 1, roce{src: "h3", dst: "h1", sport: 1, dscp: 48}.bytes())
		d.want(uint64(9*len(down)), "recirc_sent", 0)
		d.set("paused_until", uint64(d.now()), 1, 3)
		d.wait(1000)
		d.passes(3, 1, down)
		d.want(uint64(9*len(down)), "recirc_sent", 0)
		d.want(0, "pause_seen", 1, 3)
	})
}

// rank of a path as PLB keeps it.
const (
	undetermined = 1 << 30
	congested    = 2 << 30
	kickedOut    = 3 << 30
)

// fullSize removes probes.
func fullSize(list []frame) []frame {
	return slices.DeleteFunc(list, func(f frame) bool { return len(f.data) < 100 })
}

// plbPort sends a packet to another leaf and returns its egress port and its header.
func plbPort(d *dut, data []byte) (int, []byte) {
	d.Helper()
	d.send(1, data)
	out := fullSize(d.sent())
	if len(out) != 1 {
		d.Fatalf("%d packets came out: %v", len(out), out)
	}
	return out[0].port, fabric(out[0].data)
}

func TestPLBChoosesByClassThenRTTOrLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		ranks [4]uint64
		rtts  [4]uint64
		want  int
		td    uint32 // tolerable delay
	}{
		{"the fastest free path", [4]uint64{30, 20, 25, undetermined}, [4]uint64{30, 20, 25, 90}, 1, 5},
		{"an undetermined path before congested ones, the fullest", [4]uint64{congested | 80, undetermined | 60, undetermined | 40, kickedOut}, [4]uint64{80, 90, 100, 10}, 2, 0},
		{"the fastest congested path", [4]uint64{congested | 90, congested | 80, congested | 85, kickedOut}, [4]uint64{90, 80, 85, 1}, 1, 5},
		{"what is kicked out last", [4]uint64{kickedOut, kickedOut, congested | 70, kickedOut}, [4]uint64{1, 2, 70, 4}, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTarget(t, func(t *testing.T, sw target) {
				d := load(t, sw, "plb", leafSpine(4), "l1", nil)
				for i := range 4 {
					d.set("path_rank", c.ranks[i], 1, i)
					d.set("path_rtt", c.rtts[i], 1, i)
				}
				port, h := plbPort(d, data)
				if port != 3+c.want {
					t.Errorf("took port %d, want %d", port, 3+c.want)
				}
				if got := be32(h[len(h)-len(data)+14-4:]); got != c.td {
					t.Errorf("tolerable delay %d, want %d; header % x", got, c.td, h[:24])
				}
			})
		})
	}
}

func TestPLBFlowsStayUntilTheirPathIsCongestedOrKickedOut(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "plb", leafSpine(2), "l1", map[string]string{"plb.idle": "1000s"})
		d.set("path_rank", 50, 1, 0)
		d.set("path_rank", 40, 1, 1)
		for _, c := range []struct {
			rank int // of path 1, that of the flow
			want int
		}{{40, 4}, {60, 4}, {undetermined | 200, 4}, {congested | 1000, 3}} {
			d.set("path_rank", uint64(c.rank), 1, 1)
			if port, _ := plbPort(d, data); port != c.want {
				t.Errorf("with rank %#x the flow took port %d, want %d", c.rank, port, c.want)
			}
		}
		d.set("path_rank", 10, 1, 1)
		d.set("path_rank", kickedOut, 1, 0)
		if port, _ := plbPort(d, data); port != 4 {
			t.Errorf("the flow took port %d though its path was kicked out", port)
		}
	})
}

// An echo sets the class of a path: by round-trip time, and by load if that is long.
func TestPLBClassifiesPathsByEchoes(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "plb", leafSpine(2), "l1", nil)
		for _, c := range []struct {
			late  bool
			load  byte
			class uint64
		}{{false, 255, 0}, {true, 100, undetermined}, {true, 250, congested}} {
			low := uint32(1 << 30)
			if c.late {
				low = 1
			}
			d.rule("path_class default -> rank_path(rtt_low=" + itoa(low) + ", full=242)")
			d.set("path_rank", kickedOut, 1, 1)
			stamp := d.now()
			d.wait(1000)
			// type, src leaf, path, flags, stamp, echo path, echo, dst leaf, probe, load, echo load, tolerable
			h := []byte{8, 0, 0, 1, 0, 0x40, 0, 0, 0, 0, 1, byte(stamp >> 24), byte(stamp >> 16), byte(stamp >> 8), byte(stamp), 0, 0, 0, 0, c.load, 0, 0, 0, 0}
			in := slices.Concat(down[:packet.EthernetLen], h, down[packet.EthernetLen:])
			packet.Ethernet(in).Set(mac("h1"), mac("h3"), packet.EtherTypeFabric)
			d.passesAs(3, 1, in, down)
			rtt := d.get("path_rtt", 1, 1)
			want := c.class | rtt
			if c.class == undetermined {
				want = undetermined | uint64(255-c.load)
			}
			d.want(want, "path_rank", 1, 1)
			d.want(uint64(c.load), "path_load", 1, 1)
		}
	})
}

// fabricThrough is a packet from leaf 2 to leaf 1 at a spine.
func fabricThrough(tolerable uint32) []byte {
	h := []byte{8, 0, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		byte(tolerable >> 24), byte(tolerable >> 16), byte(tolerable >> 8), byte(tolerable)}
	in := slices.Concat(down[:packet.EthernetLen], h, down[packet.EthernetLen:])
	packet.Ethernet(in).Set(mac("h1"), mac("h3"), packet.EtherTypeFabric)
	return in
}

func TestPLBPacketsWaitForAPauseOnlyWithinTheTolerableDelay(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "plb", leafSpine(2), "s1", map[string]string{"plb.tell_again": "1000us"})
		d.set("pause_seen", 1, 1, 3)
		d.set("paused_until", uint64(d.now()+500_000_000), 1, 3)
		d.set("sojourn", 400, 0)
		// 400 µs are tolerable: the packet waits, and its wait is subtracted.
		d.send(2, fabricThrough(400))
		out := d.sent()
		if len(out) != 1 || out[0].port != 1 {
			t.Fatalf("came out: %v", out)
		}
		if got := be32(fabric(out[0].data)[20:]); got > 400 {
			t.Errorf("may now cost %d", got)
		}
		if got := d.get("sojourn", 0); got < 350 || got > 100_000 {
			t.Errorf("average sojourn is %d", got)
		}
		// Less is tolerable: the source leaf is notified once.
		d.wait(1000)
		for i := range 2 {
			if i == 1 {
				d.rule("pause_cost out_port=1 -> expect_wait(byte_time=1, tell_again=1000000000)")
			}
			d.set("sojourn", 400, 0)
			d.send(2, fabricThrough(399))
			out = d.sent()
			if len(from(out, 1)) != 1 || len(from(out, 2)) != 1-i {
				t.Fatalf("came out: %v", out)
			}
			if i == 0 {
				kick := packet.AsEthernet(from(out, 2)[0])
				want := []byte{packet.KindKickOut, 5, 0, 0, 10, 0, 1, 1} // path 5 to leaf 0, a message to h3's leaf
				if kick.EtherType() != packet.EtherTypeLocal || !slices.Equal(kick.Payload()[:8], want) {
					t.Errorf("message % x, want % x", from(out, 2)[0][:30], want)
				}
			}
		}
		// Without a PAUSE nothing is subtracted.
		d.set("paused_until", uint64(d.now()), 1, 3)
		d.wait(1000)
		f := fabricThrough(7)
		port, got := d.through(2, f)
		if port != 1 || be32(fabric(got)[20:]) != 7 {
			t.Errorf("port %d, % x", port, got[:40])
		}
	})
}

func TestPLBLeafLeavesAPathOnAMessage(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "plb", leafSpine(2), "l1", nil)
		kick := make([]byte, 60)
		packet.Ethernet(kick).Set(packet.MAC{1, 0x80, 0xc2, 0, 0, 0xe}, packet.MAC{2}, packet.EtherTypeLocal)
		copy(kick[packet.EthernetLen:], []byte{packet.KindKickOut, 1, 0, 1, 10, 0, 0, 1})
		d.drops(1, kick) // not from a host
		d.want(0, "path_rank", 1, 1)
		d.drops(3, kick)
		d.want(kickedOut, "path_rank", 1, 1)
		if port, _ := plbPort(d, data); port != 3 {
			t.Errorf("took port %d, which it was told to leave", port)
		}
	})
}

func TestPLBProbesPathsThatNoFlowTakes(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "plb", leafSpine(2), "l1", map[string]string{"plb.probe_interval": "1us", "rtt.interval": "1000s", "plb.idle": "1000s"})
		d.set("path_rank", 9, 1, 1) // path 0 is better
		var probed []int
		for range 4 {
			d.send(1, data)
			for _, f := range d.sent() {
				if len(f.data) == 64 {
					h := fabric(f.data)
					if h[4] != byte(f.port-3) || h[5] != 0x80 || h[17] != 1 || be16(h[15:]) != 1 || be32(h[6:]) > d.now() {
						t.Errorf("probe at port %d: % x", f.port, h[:24])
					}
					probed = append(probed, f.port)
				}
			}
			d.wait(1000)
		}
		if !slices.Contains(probed, 4) {
			t.Errorf("ports %v were probed, 4 is idle", probed)
		}
		// The destination leaf drops a probe.
		h := []byte{8, 0, 0, 1, 0, 0x80, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 77, 0, 255, 255, 255, 255}
		in := slices.Concat(down[:packet.EthernetLen], h, down[packet.EthernetLen:])
		packet.Ethernet(in).Set(mac("h1"), mac("h3"), packet.EtherTypeFabric)
		d.drops(3, in)
		d.want(1, "echo_path", 1)
		d.want(77, "echo_load", 1)
	})
}

// The load of a path is that of its link with the highest load.
func TestPLBCarriesTheLargestLoadOfThePath(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "plb", leafSpine(2), "s1", nil)
		for _, c := range []struct{ link, before, after byte }{{100, 30, 100}, {100, 101, 101}, {255, 0, 255}} {
			f := fabricThrough(7)
			f[packet.EthernetLen+18] = c.before
			d.set("link_load", 0, 1) // except for this packet
			weight := (uint64(c.link)<<24 + uint64(len(f)) - 1) / uint64(len(f))
			d.rule("link out_port=1 -> add_load(weight=" + itoa(uint32(weight)) + ")")
			_, out := d.through(2, f)
			if got := fabric(out)[18]; got != c.after {
				t.Errorf("link at %d, path at %d before: now at %d", c.link, c.before, got)
			}
		}
	})
}

// A packet that would wait longer at its own leaf than is tolerable keeps its path,
// but later packets take another path.
func TestPLBLeafLeavesAPausedPathAboveTheTolerableDelay(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "plb", leafSpine(2), "l1", map[string]string{"plb.idle": "1000s"})
		d.set("path_rank", 40, 1, 0)
		d.set("path_rank", 50, 1, 1)
		d.set("path_rtt", 40, 1, 0)
		d.set("path_rtt", 50, 1, 1)
		d.set("pause_seen", 1, 3, 3)
		d.set("paused_until", uint64(d.now()+500_000_000), 3, 3)
		for _, c := range []struct {
			sojourn uint64
			rank    uint64
			next    int
		}{{10, 40, 3}, {11, kickedOut, 4}} { // 10 more are tolerable on path 0
			d.set("sojourn", c.sojourn, 0)
			d.set("egress_qlen", 0, 3, 3)
			if port, _ := plbPort(d, data); port != 3 {
				t.Errorf("the packet itself took port %d, want 3", port)
			}
			d.want(c.rank, "path_rank", 1, 0)
			d.set("sojourn", 0, 0)
			if port, _ := plbPort(d, data); port != c.next {
				t.Errorf("the next packet took port %d, want %d", port, c.next)
			}
		}
	})
}

// The tolerable delay is computed for each packet, not at the flow's start: the other
// path has become slower since, so the flow can wait longer. The average wait for one
// port also applies to other ports (section 3.3: "maintained at each switch").
func TestPLBComputesTheTolerableDelayForEachPacket(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "plb", leafSpine(2), "l1", map[string]string{"plb.idle": "1000s"})
		d.set("path_rank", 40, 1, 0)
		d.set("path_rank", 50, 1, 1)
		d.set("path_rtt", 40, 1, 0)
		d.set("path_rtt", 50, 1, 1)
		if port, _ := plbPort(d, data); port != 3 {
			t.Fatalf("the flow takes port %d", port)
		}
		d.set("path_rtt", 140, 1, 1)
		d.set("pause_seen", 1, 3, 3)
		d.set("paused_until", uint64(d.now()+500_000_000), 3, 3)
		d.set("sojourn", 60, 0)
		d.set("egress_qlen", 0, 3, 3)
		if port, _ := plbPort(d, data); port != 3 {
			t.Errorf("it took port %d", port)
		}
		d.want(40, "path_rank", 1, 0)
		d.set("path_rtt", 90, 1, 1)
		d.set("sojourn", 60, 0)
		plbPort(d, data)
		d.want(kickedOut, "path_rank", 1, 0)
	})
}
