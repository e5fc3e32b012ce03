// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// late delays packet 5 of a flow, and counts negative and duplicate
// acknowledgements.
type late struct {
	by         vtime.Time
	lose       bool   // packet 5 is lost once instead
	psn        uint32 // of packet 0
	naks, dups int
	last       uint32
}

// of returns the sequence number of a packet.
func (l *late) of(packet uint32) uint32 { return (l.psn + packet) & 0xffffff }

func (l *late) run(t *testing.T, r Recovery, change func(*Config)) (*Outgoing, *Incoming, *Host) {
	t.Helper()
	w := newWire(t, func(c *Config) {
		c.Recovery, c.RTO = r, 0
		if r == IRN {
			c.Window = 100
		}
		if change != nil {
			change(c)
		}
	})
	a, b := w.host(1), w.host(2)
	lost := false
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		bth := packet.BTH(f.Data[offBTH:])
		if from == a {
			if l.lose && bth.PSN() == l.of(5) && !lost {
				lost = true
				return false
			}
			return true
		}
		if packet.AETH(bth.Payload()).IsNAK() {
			l.naks++
		} else if bth.PSN() == l.last && bth.PSN() == l.of(4) {
			l.dups++
		}
		l.last = bth.PSN()
		return true
	}
	first := true
	w.extra = func(f *packet.Frame) vtime.Time {
		bth := packet.BTH(f.Data[offBTH:])
		if bth.Opcode() != packet.OpAcknowledge && bth.PSN() == l.of(5) && first && !l.lose {
			first = false
			return l.by
		}
		return 0
	}
	o, i := w.connect(a, b, Flow{Size: 1_000_000, PSN: l.psn})
	w.until(50 * vtime.Millisecond)
	if o.Ended() == 0 {
		t.Errorf("%s: the flow did not end", r)
	}
	return o, i, a
}

// The cost of a packet that is 10 us, about 46 packets, late: go-back-N
// retransmits all packets that overtook it, IRN those that it considered lost,
// the others none.
func TestCostOfReordering(t *testing.T) {
	for _, c := range []struct {
		r          Recovery
		resentFrom int64
		resentTo   int64
		naks       int
	}{
		{GoBackN, 10, 60, 1},
		{SlowRestart, 10, 60, 1},
		{IRN, 1, 1, 15},
		{OutOfOrder, 0, 0, 0},
		{TCP, 0, 0, 0},
	} {
		l := &late{by: 10 * vtime.Microsecond}
		o, in, _ := l.run(t, c.r, nil)
		if o.Resent() < c.resentFrom || o.Resent() > c.resentTo || c.naks <= 1 && l.naks != c.naks || c.naks > 1 && l.naks < c.naks {
			t.Errorf("%s: %d retransmissions, %d NAKs", c.r, o.Resent(), l.naks)
		}
		if packets, _, _ := in.OutOfOrder(); packets < 5 {
			t.Errorf("%s: %d out of order", c.r, packets)
		}
		if want := 40 * vtime.Gbps; c.r != SlowRestart && o.Rate() != want {
			t.Errorf("%s: the rate is %v", c.r, o.Rate())
		}
	}
}

// A message that begins with any sequence number of its queue pair is sent, repeated and
// acknowledged like one that begins with 0, also where the numbers begin again.
func TestMessagesBeginWithAnySequenceNumber(t *testing.T) {
	for _, r := range Recoveries {
		for _, lose := range []bool{false, true} {
			type outcome struct {
				ended                        vtime.Time
				resent, early, degree, total int64
				naks, dups                   int
			}
			var want outcome
			for _, psn := range []uint32{0, 1000, 1<<24 - 8, 1<<24 - 3, 1 << 23} {
				l := &late{by: 10 * vtime.Microsecond, lose: lose, psn: psn}
				o, in, _ := l.run(t, r, func(c *Config) { c.ReorderWait, c.RTO = 30*vtime.Microsecond, 4*vtime.Millisecond })
				got := outcome{ended: o.Ended(), resent: o.Resent(), naks: l.naks, dups: l.dups}
				got.early, got.degree, got.total = in.OutOfOrder()
				if psn == 0 {
					want = got
				} else if got != want {
					t.Errorf("%s, first number %d, lost %v: %+v, want %+v", r, psn, lose, got, want)
				}
			}
		}
	}
}

// A NAK for a lost packet is sent after the wait, and only this packet is
// retransmitted.
func TestOutOfOrderPlacementRetransmitsOnlyLostPackets(t *testing.T) {
	l := &late{lose: true}
	o, _, _ := l.run(t, OutOfOrder, func(c *Config) { c.ReorderWait = 30 * vtime.Microsecond })
	if o.Resent() != 1 || l.naks != 1 {
		t.Errorf("%d retransmissions, %d NAKs", o.Resent(), l.naks)
	}
	if o.Ended() < 30*vtime.Microsecond || o.Ended() > 300*vtime.Microsecond {
		t.Errorf("ended at %v", o.Ended())
	}
}

// A TCP receiver waits for 50 us. Then duplicate acknowledgements make the
// sender retransmit one packet and halve its rate.
func TestTCPRepeatsAfterDuplicates(t *testing.T) {
	l := &late{lose: true}
	o, _, _ := l.run(t, TCP, nil)
	if o.Resent() != 1 || l.naks != 0 || l.dups < 3 {
		t.Errorf("%d retransmissions, %d NAKs, %d duplicates", o.Resent(), l.naks, l.dups)
	}
	if o.Rate() != 20*vtime.Gbps {
		t.Errorf("rate is %v", o.Rate())
	}
	// Two later packets are too few to detect the loss before the timeout.
	l = &late{lose: true}
	w := newWire(t, func(c *Config) { c.Recovery = TCP })
	a, b := w.host(1), w.host(2)
	lost := false
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if from == a && packet.BTH(f.Data[offBTH:]).PSN() == 5 && !lost {
			lost = true
			return false
		}
		return true
	}
	o, _ = w.connect(a, b, Flow{Size: 8000})
	w.until(20 * vtime.Millisecond)
	if o.Ended() < w.cfg.RTO || a.Stats.Timeouts != 1 || o.Resent() != 1 {
		t.Errorf("ended at %v after %d timeouts, %d retransmissions", o.Ended(), a.Stats.Timeouts, o.Resent())
	}
}

// A TCP receiver that holds 64 KB releases them before the wait is over.
func TestTCPHoldsSoMuchOnly(t *testing.T) {
	l := &late{lose: true}
	o, _, _ := l.run(t, TCP, func(c *Config) { c.ReorderWait = vtime.Millisecond })
	if o.Resent() != 1 || o.Ended() > 500*vtime.Microsecond {
		t.Errorf("%d retransmissions, ended at %v", o.Resent(), o.Ended())
	}
}

// After a loss a flow continues with a packet per round trip, and doubles that.
func TestSlowRestartDoublesFromOnePacket(t *testing.T) {
	w := newWire(t, func(c *Config) { c.Recovery = SlowRestart })
	a, b := w.host(1), w.host(2)
	lost := false
	var rates []vtime.Rate
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if from == a && packet.BTH(f.Data[offBTH:]).PSN() == 5 && !lost {
			lost = true
			return false
		}
		return true
	}
	o, _ := w.connect(a, b, Flow{Size: 3_000_000, BaseRTT: 5 * vtime.Microsecond, Path: rate})
	for w.now < vtime.Millisecond {
		w.until(w.now + vtime.Microsecond)
		if n := len(rates); n == 0 || rates[n-1] != o.Rate() {
			rates = append(rates, o.Rate())
		}
	}
	// 40 Gb/s; 1082 bytes in 5 us; doubled until 40 Gb/s.
	one := vtime.Rate(1082 * 8 * int64(vtime.Second) / int64(5*vtime.Microsecond))
	want := []vtime.Rate{rate, one, 2 * one, 4 * one, 8 * one, 16 * one, rate}
	if len(rates) != len(want) {
		t.Fatalf("rates are %v, want %v", rates, want)
	}
	for i := range want {
		if d := rates[i] - want[i]; d < -100 || d > 100 {
			t.Errorf("rate %d is %v, want %v", i, rates[i], want[i])
		}
	}
}

// New flows begin with ten packets per round trip, until a mark.
func TestSlowStartDoublesUntilAMark(t *testing.T) {
	for _, marked := range []bool{false, true} {
		w := newWire(t, func(c *Config) { c.SlowStart.On, c.CC.Algorithm = true, "dctcp" })
		a, b := w.host(1), w.host(2)
		mark := false
		w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
			if from == a && mark {
				packet.IPv4(f.Data[offIP:]).SetECN(packet.CE)
			}
			return true
		}
		o, _ := w.connect(a, b, Flow{Size: 9_000_000, BaseRTT: 100 * vtime.Microsecond, Path: rate})
		w.extra = func(*packet.Frame) vtime.Time { return 48 * vtime.Microsecond } // so that it is
		w.until(50 * vtime.Microsecond)
		ten := vtime.Rate(10 * 1082 * 8 * int64(vtime.Second) / int64(100*vtime.Microsecond))
		if d := o.Rate() - ten; d < -100 || d > 100 {
			t.Fatalf("rate is %v, want %v", o.Rate(), ten)
		}
		w.until(150 * vtime.Microsecond)
		if d := o.Rate() - 2*ten; d < -100 || d > 100 {
			t.Errorf("rate is %v after a round trip, want %v", o.Rate(), 2*ten)
		}
		mark = marked
		w.until(1500 * vtime.Microsecond)
		if slow := o.Rate() < rate/2; slow != marked {
			t.Errorf("marked %v: rate is %v in the end", marked, o.Rate())
		}
	}
}

// With any recovery, flows end whatever packets are lost or late.
func TestAllRecoveriesFinish(t *testing.T) {
	for _, r := range Recoveries {
		rng := rand.New(rand.NewPCG(3, 4))
		for run := range 20 {
			w := newWire(t, func(c *Config) {
				c.Recovery, c.AckEvery, c.ReorderWait = r, 1+run%3, vtime.Time(run%5)*10*vtime.Microsecond
			})
			a, b := w.host(1), w.host(2)
			share := 0.01 * float64(run%6)
			w.touch = func(*Host, *packet.Frame, vtime.Time) bool { return rng.Float64() >= share }
			w.extra = func(*packet.Frame) vtime.Time {
				if rng.IntN(10) > 0 {
					return 0
				}
				return vtime.Time(rng.Int64N(int64(30 * vtime.Microsecond)))
			}
			o, i := w.connect(a, b, Flow{Size: 1 + rng.Int64N(200_000)})
			w.until(vtime.Second)
			if by := o.ResentBy(NAK) + o.ResentBy(Timeout) + o.ResentBy(Selective); by != o.Resent() {
				t.Errorf("%s, run %d: %d retransmissions, by cause %d", r, run, o.Resent(), by)
			}
			if selective := o.ResentBy(Selective) > 0; selective && !r.keeps() || o.ResentBy(NAK) > 0 && r.keeps() {
				t.Errorf("%s, run %d: %d by NAK, %d selectively", r, run, o.ResentBy(NAK), o.ResentBy(Selective))
			}
			if total, _ := o.Packets(); o.Ended() == 0 || i.Delivered() != total {
				t.Errorf("%s, run %d: ended at %v, %d of %d packets", r, run, o.Ended(), i.Delivered(), total)
			}
		}
	}
}

func TestBitmapIsASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var b bitmap
	want := make(map[int64]bool)
	first := int64(0)
	for range 20_000 {
		n := first + rng.Int64N(700)
		b.set(n, first)
		want[n] = true
		for rng.IntN(3) > 0 {
			b.clear(first)
			delete(want, first)
			first++
		}
		if n := first + rng.Int64N(5000); b.has(n, first) != want[n] {
			t.Fatalf("%d: %v", n, b.has(n, first))
		}
	}
}

// A set with room for 64 numbers does not contain the numbers 64 above its
// members. A receiver that assumed so discarded the packet and acknowledged it,
// and the flow never ended.
func TestPacketBeyondTheSetIsNotADuplicate(t *testing.T) {
	var b bitmap
	b.set(3, 0)
	for _, n := range []int64{67, 131, 64*64 + 3} {
		if b.has(n, 0) {
			t.Errorf("3 is in the set, and so is %d", n)
		}
	}
}

func TestIRNTimesOutEarlyWhenLittleIsInFlight(t *testing.T) {
	w := newWire(t, func(c *Config) { c.Recovery = IRN })
	a, b := w.host(1), w.host(2)
	first := true
	w.touch = func(from *Host, _ *packet.Frame, _ vtime.Time) bool {
		ok := from != a || !first
		first = false
		return ok
	}
	o, _ := w.connect(a, b, Flow{Size: 1000})
	w.until(vtime.Millisecond)
	if o.Ended() < 100*vtime.Microsecond || o.Ended() > 106*vtime.Microsecond {
		t.Errorf("ended at %v", o.Ended())
	}
}

// With an RTO of zero, more packets in flight than RTOLowPackets have no timeout. The
// timeout that was set for the first one was counted.
func TestIRNWithoutALongTimeout(t *testing.T) {
	w := newWire(t, func(c *Config) { c.Recovery, c.RTO, c.RTOLow = IRN, 0, 10*vtime.Microsecond })
	a, b := w.host(1), w.host(2)
	w.extra = func(*packet.Frame) vtime.Time { return 5 * vtime.Microsecond }
	o, _ := w.connect(a, b, Flow{Size: 100_000, BaseRTT: 100 * vtime.Microsecond, Path: rate})
	w.until(vtime.Millisecond)
	if o.Ended() == 0 || a.Stats.Timeouts != 0 || o.Resent() != 0 {
		t.Errorf("ended at %v after %d timeouts and %d retransmissions", o.Ended(), a.Stats.Timeouts, o.Resent())
	}
}
