// SPDX-License-Identifier: Apache-2.0

package cc

import (
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// startNSCC returns a control for 100 Gb/s and 12 us, the reference of the constants:
// a bandwidth-delay product of 150,000 bytes.
func startNSCC(t *testing.T) (*nscc, *Flow) {
	t.Helper()
	cfg := Config{Algorithm: "nscc", NSCC: NSCC{Trims: true}}
	kit, err := cfg.Kit(100 * vtime.Gbps)
	if err != nil {
		t.Fatal(err)
	}
	f := &Flow{Rate: 100 * vtime.Gbps, Line: 100 * vtime.Gbps, BaseRTT: 12 * vtime.Microsecond, MTU: 4096, Packet: 4198}
	return kit.New(f, &clock{}).(*nscc), f
}

// acks acknowledges a packet each 336 ns, a full rate, from a time on.
func (c *nscc) acks(now vtime.Time, n int, delay vtime.Time, marked bool) vtime.Time {
	for range n {
		now += 336 * vtime.Nanosecond
		c.Ack(now, &Ack{New: 4198, RTT: 12*vtime.Microsecond + delay, Marked: marked, InFlight: 150_000})
	}
	return now
}

func TestNSCCStartsWithOneAndAHalfProducts(t *testing.T) {
	if _, f := startNSCC(t); f.Window != 225_000 {
		t.Errorf("the window is %d, want 225000", f.Window)
	}
}

// Marks and a long delay halve the window at most once per round trip. Without marks it
// grows, the faster the shorter the delay.
func TestNSCCFollowsMarksAndDelay(t *testing.T) {
	c, f := startNSCC(t)
	now := c.acks(0, 1000, 20*vtime.Microsecond, true)
	low := f.Window
	if low > 50_000 || low < 4198 {
		t.Errorf("after 28 round trips with marks and a delay of 20 us the window is %d", low)
	}
	grown := func(delay vtime.Time) int64 {
		d, g := startNSCC(t)
		d.window, g.Window = 50_000, 50_000
		d.acks(0, 36, delay, false) // a round trip
		return g.Window - 50_000
	}
	fast, slow, least := grown(0), grown(5*vtime.Microsecond), grown(20*vtime.Microsecond)
	if fast <= slow || slow <= 0 || least <= 0 || fast < 10_000 {
		t.Errorf("grown by %d without delay, %d with 5 us, %d with 20 us", fast, slow, least)
	}
	if c.acks(now, 36, 0, true); f.Window < low || f.Window > low+1000 { // Eta
		t.Errorf("a mark without delay changes the window from %d to %d", low, f.Window)
	}
}

// After trimmed packets the window falls to what arrived in the last round trip, if that
// was little. Otherwise it falls by the packet, unless the receiver's credit limits it.
func TestNSCCAdaptsQuicklyAfterTrimming(t *testing.T) {
	c, f := startNSCC(t)
	now := c.acks(0, 1, 0, false)
	now = c.acks(now+22*vtime.Microsecond, 4, 0, false)
	before := f.Window
	c.Lost(now, &Loss{Bytes: 4198, Trimmed: true, InFlight: 200_000})
	if f.Window != before-4198 {
		t.Errorf("the window is %d, want a packet less than %d", f.Window, before)
	}
	c.Lost(now+30*vtime.Microsecond, &Loss{Bytes: 4198, Trimmed: true, InFlight: 200_000})
	if f.Window > 5*4198 {
		t.Errorf("the window is %d, and 4 packets arrived", f.Window)
	}
	c, f = startNSCC(t)
	c.credit = true
	c.Lost(0, &Loss{Bytes: 4198, Trimmed: true, LastHop: true})
	if f.Window != 225_000 {
		t.Errorf("the window is %d with credit", f.Window)
	}
}
