// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"math"
	"net/netip"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// card makes a host receive a postcard about its first flow.
func card(h *Host, from netip.Addr, sw uint16, qp, arriving, queue, mbps, recent, marked uint32) {
	b := make([]byte, offBTH+packet.PostcardLen)
	packet.Ethernet(b).Set(h.self.MAC, packet.MAC{9}, packet.EtherTypeIPv4)
	packet.IPv4(b[offIP:]).Set(from, h.self.IP, packet.ProtoUDP, packet.DSCPPostcard, packet.NotECT, 0, len(b)-offIP)
	packet.UDP(b[offUDP:]).Set(0xc001, packet.PortPostcard, len(b)-offUDP)
	packet.Postcard(b[offBTH:]).Set(sw, qp, arriving, queue, mbps, recent, marked)
	h.Receive(1, &packet.Frame{Data: b})
}

func TestFastStartMarksAndObeysPostcards(t *testing.T) {
	const rtt = 20 * vtime.Microsecond // 100 KB at 40 Gb/s
	w := newWire(t, func(c *Config) { c.PBFS.On, c.PBFS.RTT, c.CC.Algorithm = true, rtt, "dctcp" })
	a, b := w.host(1), w.host(2)
	var marked []uint32
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		ip := packet.IPv4(f.Data[offIP:])
		if from == a && ip.DSCP()&packet.DSCPMark != 0 {
			marked = append(marked, packet.BTH(f.Data[offBTH:]).PSN())
			if !ip.ChecksumOK() || packet.Priority(ip.DSCP()) != 3 {
				t.Error("the mark spoils the header")
			}
		}
		return from == a // acknowledgements are lost
	}
	o, _ := w.connect(a, b, Flow{Size: 1_000_000, Class: 3})
	w.until(4 * vtime.Microsecond)
	if !slices.Equal(marked, []uint32{5, 11, 17}) {
		t.Errorf("marked are %v", marked)
	}
	// All arriving bytes are from new flows: 240 KB for a link with a capacity of
	// 100.
	card(a, b.self.IP, 1, FirstQP, 240_000, 0, 40_000, 6000, 1000)
	if want := 40e9 / (240.0 / (0.95 * 100)); math.Abs(float64(o.Rate())-want) > 1e3 {
		t.Errorf("rate is %v, want %.3g", o.Rate(), want)
	}
	// A smaller reduction has no effect until the first switch's is withdrawn.
	card(a, b.self.IP, 2, FirstQP, 120_000, 0, 40_000, 6000, 1000)
	if want := 40e9 / (240.0 / (0.95 * 100)); math.Abs(float64(o.Rate())-want) > 1e3 {
		t.Errorf("rate is %v, want %.3g", o.Rate(), want)
	}
	card(a, b.self.IP, 1, FirstQP, 10_000, 0, 40_000, 6000, 1000)
	if want := 40e9 / (120.0 / (0.95 * 100)); math.Abs(float64(o.Rate())-want) > 1e3 {
		t.Errorf("rate is %v, want %.3g", o.Rate(), want)
	}
	// Half of the bytes are from others, and there is a queue: 100 - 30 - 100 is
	// below the minimum of 20 KB.
	card(a, b.self.IP, 1, FirstQP, 200_000, 30_000, 40_000, 12_000, 1000)
	if want := 40e9 / (100.0 / (0.95 * 20)); math.Abs(float64(o.Rate())-want) > 1e3 {
		t.Errorf("rate is %v, want %.3g", o.Rate(), want)
	}
	n := len(marked)
	w.until(10 * vtime.Microsecond)
	if len(marked) != n {
		t.Error("packets are marked after a postcard")
	}
	w.touch = nil
	w.until(100 * vtime.Microsecond) // acknowledgements arrive
	rate := o.Rate()
	card(a, b.self.IP, 1, FirstQP, 1, 0, 40_000, 6000, 1000)
	if o.Rate() != rate {
		t.Error("a postcard counts after an acknowledgement that changed the rate")
	}
	card(a, b.self.IP, 1, 77, 1, 0, 40_000, 6000, 1000)
	w.connect(a, b, Flow{Size: 1000, Class: 3, Start: w.now}) // too short for PB-FS
	w.until(110 * vtime.Microsecond)
	if a.Stats.Misdelivered != 1 || a.Stats.Postcards != 5 || a.Stats.FastStarts != 1 {
		t.Errorf("%+v", a.Stats)
	}
}

// Section III-A: postcards count until an acknowledgement updates the rate. An
// acknowledgement that does not update it leaves them valid.
func TestPostcardsCountUntilTheRateIsUpdated(t *testing.T) {
	const rtt = 20 * vtime.Microsecond
	w := newWire(t, func(c *Config) { c.PBFS.On, c.PBFS.RTT, c.CC.Algorithm = true, rtt, "dcqcn_paper" })
	a, b := w.host(1), w.host(2)
	mark, marked := false, 0
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		ip := packet.IPv4(f.Data[offIP:])
		if from == a && ip.DSCP()&packet.DSCPMark != 0 {
			marked++
		}
		if from == a && mark {
			ip.SetECN(packet.CE)
		}
		return true
	}
	o, _ := w.connect(a, b, Flow{Size: 4_000_000, Class: 3})
	w.until(10 * vtime.Microsecond)
	if o.Acked() == 0 || marked == 0 {
		t.Fatalf("%d bytes are acknowledged, %d packets marked", o.Acked(), marked)
	}
	n := marked
	card(a, b.self.IP, 1, FirstQP, 240_000, 0, 40_000, 6000, 1000)
	if want := 40e9 / (240.0 / (0.95 * 100)); math.Abs(float64(o.Rate())-want) > 1e3 {
		t.Errorf("rate is %v after an acknowledgement that said nothing of it, want %.3g", o.Rate(), want)
	}
	mark = true
	w.until(100 * vtime.Microsecond)
	if marked != n {
		t.Error("packets are marked after the first acknowledgement")
	}
	rate := o.Rate()
	if card(a, b.self.IP, 1, FirstQP, 480_000, 0, 40_000, 6000, 1000); o.Rate() != rate || o.CNPs() == 0 {
		t.Errorf("a postcard counts after a notification: %v, then %v", rate, o.Rate())
	}
}

// A postcard has corrected the rate. ECN marks of packets sent before it cut the rate
// again, unless ignore_earlier_marks is set; later ones do. Both ways in which marks
// come back are tried: in notifications, and echoed in acknowledgements.
func TestMarksBeforeAPostcard(t *testing.T) {
	for _, algorithm := range []string{"dcqcn_paper", "dcqcn"} {
		for _, ignore := range []bool{false, true} {
			w := newWire(t, func(c *Config) {
				c.PBFS.On, c.PBFS.RTT, c.PBFS.IgnoreEarlierMarks, c.CC.Algorithm = true, 20*vtime.Microsecond, ignore, algorithm
			})
			a, b := w.host(1), w.host(2)
			marks := 0 // that came back to the sender
			w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
				switch bth := packet.BTH(f.Data[offBTH:]); {
				case from == a:
					packet.IPv4(f.Data[offIP:]).SetECN(packet.CE)
				case bth.BECN() || bth.Opcode() == packet.OpCongestionNotific:
					marks++
				}
				return true
			}
			o, _ := w.connect(a, b, Flow{Size: 1_000_000, Class: 3})
			w.until(2 * vtime.Microsecond)
			card(a, b.self.IP, 1, FirstQP, 240_000, 0, 40_000, 6000, 1000)
			set := o.Rate()
			w.until(9 * vtime.Microsecond) // a tick of DCQCN later
			want := set / 2
			if ignore {
				want = set
			}
			if marks == 0 || o.Rate() != want {
				t.Errorf("%s, ignored %v: %d marks, rate is %v, want %v", algorithm, ignore, marks, o.Rate(), want)
			}
			w.until(60 * vtime.Microsecond)
			if o.Rate() >= set {
				t.Errorf("%s, ignored %v: %d marks, rate is %v, the postcard set %v", algorithm, ignore, marks, o.Rate(), set)
			}
		}
	}
}
