// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
)

// qcnSettings have a target queue of 10,000 bytes and w = 2: feedback is at its
// maximum from 50,000 bytes on.
const qcnSettings = "qcn default -> take_sample(equilibrium=10000, weight=2, limit=50000, scale=1385384651, interval=80000)"

func TestQCNNotifiesTheSenderOfTheCongestionOfItsQueue(t *testing.T) {
	t.Parallel()
	f := roce{src: "h1", dst: "h2", sport: 5000}.bytes()
	for _, c := range []struct {
		name      string
		q, before uint64 // queue length with the packet, and at the last sample
		feedback  uint8
	}{
		{"as long as it should be", 10_000, 10_000, 0},
		{"too long by less than a step", 10_793, 10_793, 0},
		{"too long by a step", 10_794, 10_794, 1},
		{"short, but growing", 5_000, 0, 6},
		{"long, but shrinking fast", 20_000, 25_000, 0},
		{"long, and shrinking", 20_000, 21_000, 10},
		{"as congested as it can be", 60_000, 60_000, 63},
		{"and more", 600_000, 0, 63},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTarget(t, func(t *testing.T, sw target) {
				d := load(t, sw, "qcn", leafSpine(2), "l1", nil)
				d.rule(qcnSettings)
				d.set("qcn_qlen", c.before, 2, 3)
				d.set("egress_qlen", c.q-uint64(len(f)), 2, 3)
				d.set("qcn_left", uint64(len(f)), 2, 3)
				d.send(1, f)
				out := d.sent()
				if got := from(out, 2); len(got) != 1 || !slices.Equal(got[0], f) {
					t.Fatalf("the packet came out as %v", out)
				}
				cards := from(out, 1)
				if c.feedback == 0 {
					if len(cards) > 0 {
						t.Errorf("notified: %v", cards)
					}
				} else if len(cards) != 1 {
					t.Fatalf("%d notifications", len(cards))
				} else {
					checkFeedback(t, cards[0], c.feedback)
				}
				d.want(c.q, "qcn_qlen", 2, 3)
				period := 80_000 / uint64(c.feedback/8+1)
				if left := d.get("qcn_left", 2, 3); left < period*84/100 || left > period*116/100 {
					t.Errorf("next sample in %d bytes, want about %d", left, period)
				}
			})
		})
	}
}

func checkFeedback(t *testing.T, data []byte, feedback uint8) {
	t.Helper()
	eth := packet.AsEthernet(data)
	ip := packet.AsIPv4(eth.Payload())
	udp := packet.AsUDP(ip.Payload())
	n := packet.AsCNP(udp.Payload())
	if eth.Dst() != mac("h1") || eth.Src() != mac("h2") || ip.Src() != addr("h2") || ip.Dst() != addr("h1") ||
		!ip.ChecksumOK() || ip.DSCP() != 48 || ip.TotalLen() != len(data)-14 || udp.DstPort() != packet.PortRoCEv2 ||
		udp.Len() != ip.TotalLen()-20 || n == nil || n.BTH().DestQP() != 0x77 || n.Feedback() != feedback || n.RecRate() != 0 {
		t.Fatalf("want feedback %d: %s", feedback, dump(data))
	}
}

func TestQCNTakesSamplesByBytes(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "qcn", leafSpine(2), "l1", nil)
		d.rule(qcnSettings)
		f := roce{src: "h1", dst: "h2", sport: 5000}.bytes()
		d.set("qcn_left", 2*uint64(len(f))+1, 2, 3)
		for left := range 2 {
			d.set("egress_qlen", 100_000, 2, 3)
			d.passes(1, 2, f)
			d.want(uint64((1-left)*len(f)+1), "qcn_left", 2, 3)
			d.want(0, "qcn_qlen", 2, 3)
		}
		d.set("egress_qlen", 100_000, 2, 3)
		d.send(1, f)
		if out := d.sent(); len(from(out, 1)) != 1 {
			t.Errorf("the third packet is the sample: %v", out)
		}
		// Packets other than data are counted and sampled, but no sender is notified.
		ack := slices.Clone(f)
		ack[packet.EthernetLen+packet.IPv4Len+packet.UDPLen] = byte(packet.OpAcknowledge)
		d.set("qcn_left", 0, 2, 3)
		d.set("egress_qlen", 200_000, 2, 3)
		d.passes(1, 2, ack)
		d.want(200_000+uint64(len(ack)), "qcn_qlen", 2, 3)
	})
}
