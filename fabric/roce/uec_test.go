// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// uet returns the header of a frame of Ultra Ethernet Transport.
func uet(t *testing.T, f *packet.Frame) packet.UET {
	t.Helper()
	if port := packet.UDP(f.Data[offUDP:]).DstPort(); port != packet.PortUET {
		t.Fatalf("a frame to port %d", port)
	}
	h := packet.AsUET(f.Data[offBTH:])
	if h == nil {
		t.Fatal("a frame without a known header")
	}
	return h
}

func uecWire(t *testing.T, change func(*Config)) *wire {
	return newWire(t, func(c *Config) {
		c.Transport, c.CC.Algorithm = UET, "nscc"
		if change != nil {
			change(c)
		}
	})
}

// Packets of a flow have many source ports, and their lengths are right.
func TestUECSprays(t *testing.T) {
	w := uecWire(t, nil)
	a, b := w.host(1), w.host(2)
	ports := make(map[uint16]int)
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		h := uet(t, f)
		if ip := packet.IPv4(f.Data[offIP:]); ip.TotalLen() != f.Len()-packet.EthernetLen || !ip.ChecksumOK() {
			t.Errorf("the IP header says %d bytes of %d", ip.TotalLen(), f.Len()-packet.EthernetLen)
		}
		if from == a {
			ports[packet.UDP(f.Data[offUDP:]).SrcPort()]++
			if h.Type() != packet.UETRequestCC {
				t.Errorf("type %d", h.Type())
			}
		} else if h.Type() != packet.UETAckCC {
			t.Errorf("an answer of type %d", h.Type())
		}
		return true
	}
	o, i := w.connect(a, b, Flow{Size: 500_500, Class: 3})
	w.until(vtime.Millisecond)
	if o.Ended() == 0 || i.Ended() == 0 || o.Resent() != 0 {
		t.Errorf("ended at %v and %v, %d retransmissions", o.Ended(), i.Ended(), o.Resent())
	}
	if len(ports) != 64 {
		t.Errorf("%d source ports, want 64", len(ports))
	}
}

// Packets in any order are delivered without a retransmission.
func TestUECDeliversInAnyOrder(t *testing.T) {
	w := uecWire(t, nil)
	n := 0
	w.extra = func(f *packet.Frame) vtime.Time {
		n++
		return vtime.Time(n%7) * vtime.Microsecond
	}
	o, i := w.connect(w.host(1), w.host(2), Flow{Size: 300_000, Class: 3})
	w.until(2 * vtime.Millisecond)
	if o.Ended() == 0 || o.Resent() != 0 {
		t.Errorf("ended at %v, %d retransmissions", o.Ended(), o.Resent())
	}
	if packets, _, _ := i.OutOfOrder(); packets < 100 {
		t.Errorf("%d packets out of order", packets)
	}
}

// A lost packet is sent again after the timeout, a trimmed one at once; no other is.
func TestUECSendsOnlyLostPacketsAgain(t *testing.T) {
	for _, trim := range []bool{false, true} {
		w := uecWire(t, func(c *Config) { c.Trimming = Trimming{On: true, LastHop: 49} })
		a, b := w.host(1), w.host(2)
		hit, nacks := 0, 0
		w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
			h := uet(t, f)
			if h.Type() == packet.UETNack {
				nacks++
				if h.PSN() != 20 || h.Code() != packet.UETTrimmedLastHop {
					t.Errorf("a negative acknowledgement for %d with code %d", h.PSN(), h.Code())
				}
			}
			if from != a || h.PSN() != 20 {
				return true
			}
			if hit++; hit > 1 {
				if !h.Retransmitted() {
					t.Error("a retransmission without its flag")
				}
				return true
			}
			if !trim {
				return false
			}
			packet.IPv4(f.Data[offIP:]).SetDSCP(49)
			f.Truncate(128)
			return true
		}
		o, _ := w.connect(a, b, Flow{Size: 200_000, Class: 3})
		w.until(2 * vtime.Millisecond)
		if o.Ended() == 0 || o.Resent() != 1 || hit != 2 {
			t.Errorf("trimmed %v: ended at %v, %d retransmissions", trim, o.Ended(), o.Resent())
		}
		if late := o.Ended() > 100*vtime.Microsecond; late == trim || trim != (nacks == 1) {
			t.Errorf("trimmed %v: ended at %v, %d negative acknowledgements", trim, o.Ended(), nacks)
		}
	}
}

// A sender does not send beyond the receiver's bitmap.
func TestUECBitmapBoundsTheSender(t *testing.T) {
	w := uecWire(t, func(c *Config) { c.UEC.Bitmap, c.CC.Algorithm = 64, "none" })
	a, b := w.host(1), w.host(2)
	var most uint32
	lost := false
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if h := uet(t, f); from == a {
			if h.PSN() == 10 && !lost {
				lost = true
				return false
			}
			if w.now < 90*vtime.Microsecond {
				most = max(most, h.PSN())
			}
		}
		return true
	}
	o, _ := w.connect(a, b, Flow{Size: 500_000, Class: 3})
	w.until(5 * vtime.Millisecond)
	if o.Ended() == 0 || most != 10+63 {
		t.Errorf("ended at %v; up to packet %d was sent while 10 was missing, want 73", o.Ended(), most)
	}
}

// With credit from the receiver, three senders share its link, and nobody sends more
// than a window beyond its share.
func TestUECCreditSharesTheReceiversLink(t *testing.T) {
	w := uecWire(t, func(c *Config) { c.CC.Algorithm = "rccc" })
	dst := w.host(9)
	var got int64
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if from != dst && w.now > 50*vtime.Microsecond && w.now < 250*vtime.Microsecond {
			got += int64(f.Len() + w.cfg.Overhead)
		}
		return true
	}
	var flows []*Outgoing
	for n := byte(1); n <= 3; n++ {
		o, _ := w.connect(w.host(n), dst, Flow{Size: 1_000_000, Class: 3})
		flows = append(flows, o)
	}
	w.until(5 * vtime.Millisecond)
	for _, o := range flows {
		if o.Ended() == 0 {
			t.Error("a flow did not end")
		}
	}
	if share := float64(got) / float64(rate.Bytes(200*vtime.Microsecond)); share < 0.9 || share > 1.01 {
		t.Errorf("the senders use %.2f of the receiver's link, want 0.99", share)
	}
}

func TestSprayingAvoidsWhatWasMarked(t *testing.T) {
	use := func(e *entropies, packets int) map[uint16]int {
		m := make(map[uint16]int)
		for range packets {
			m[e.next()]++
		}
		return m
	}
	e := newEntropies(Oblivious, 16, 1)
	e.heard(0, 3, pathTrimmed)
	if m := use(e, 64); len(m) != 16 || m[3] != 4 {
		t.Errorf("oblivious: %v", m)
	}
	e = newEntropies(Bitmap, 16, 1)
	e.heard(0, 3, pathTrimmed)
	if m := use(e, 45); len(m) != 15 || m[3] != 0 {
		t.Errorf("bitmap after a trimmed packet: %v", m)
	}
	for _, kind := range []Spraying{REPS, Mixed} {
		e = newEntropies(kind, 16, 1)
		e.heard(0, 5, pathGood)
		e.heard(0, 7, pathGood)
		e.heard(0, 9, pathMarked)
		if a, b := e.next(), e.next(); a != 5 || b != 7 {
			t.Errorf("%s: %d and %d, want those without a mark", kind, a, b)
		}
	}
	// While it is frozen after a timeout, REPS uses only what it knows to work.
	e = newEntropies(REPS, 256, 1)
	for v := range uint16(4) {
		e.heard(0, v, pathGood)
	}
	e.heard(0, 0, pathTimedOut)
	for v := range use(e, 100) {
		if v > 3 {
			t.Errorf("reps: %d after a timeout", v)
		}
	}
	e.heard(repsFrozen+1, 1, pathGood)
	if m := use(e, 100); len(m) < 30 {
		t.Errorf("reps: %d entropies after the pause of exploring", len(m))
	}
}
