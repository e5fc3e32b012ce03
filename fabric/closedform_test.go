// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"math"
	"testing"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/fabric/fabrictest"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/vtime"
)

// steady has measurements of a fabric with endless flows in an interval: the
// bytes sent, acknowledged and marked, and the queue's average and maximum
// length.
type steady struct {
	sent, marked int64
	acked        []float64 // bytes, by flow
	queue        float64
	longest      int64
}

func (b *bed) steady(from, to, every vtime.Time, sw string, port int) steady {
	b.t.Helper()
	b.until(from)
	before := b.Results()
	var s steady
	samples := 0.0
	for b.Now() < to {
		b.until(b.Now() + every)
		q := b.switches[sw].QueueBytes(port)
		s.queue += float64(q)
		s.longest = max(s.longest, q)
		samples++
	}
	s.queue /= samples
	after := b.Results()
	for i := range after.Flows {
		a, z := &before.Flows[i], &after.Flows[i]
		s.sent += z.Sent - a.Sent
		s.marked += z.Marked - a.Marked
		s.acked = append(s.acked, float64(z.Acked-a.Acked))
	}
	return s
}

// jain returns Jain's index of fairness.
func jain(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum * sum / squares / float64(len(x))
}

// dcqcnMarks returns the share of marked packets at the fixed point of the
// fluid model of DCQCN (Zhu et al., CoNEXT 2016, section 3) for n flows of
// packets of the given size on a link: where the expected decreases of current
// and target rate equal their increases.
func dcqcnMarks(n int, link vtime.Rate, packet float64, d cc.DCQCN, interval vtime.Time) float64 {
	r := float64(link) / 8 / packet / float64(n) // packets per second
	b := float64(d.ByteCounter) / packet
	t := d.RiseTimer.Seconds()
	f := float64(d.FastRecovery)
	ai := float64(d.AI) / 8 / packet
	excess := func(p float64) float64 {
		alpha := 1 - math.Pow(1-p, d.AlphaTimer.Seconds()*r)
		cut := 1 - math.Pow(1-p, interval.Seconds()*r)
		byBytes := p / (math.Pow(1-p, -b) - 1)
		byTime := p / (math.Pow(1-p, -t*r) - 1)
		gap := alpha / interval.Seconds() * cut / (byBytes + byTime) // target less current rate
		return gap/interval.Seconds()*cut - ai*r*(math.Pow(1-p, f*b)*byBytes+math.Pow(1-p, f*t*r)*byTime)
	}
	low, high := 1e-9, 0.5
	for range 200 {
		if mid := math.Sqrt(low * high); excess(mid) > 0 {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

func TestDCQCNSettlesAtItsFixedPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP with -short: simulates a fifth of a second at 40 Gb/s")
	}
	const rate, kmin, kmax, pmax = 40 * vtime.Gbps, 5e3, 200e3, 0.01
	for _, n := range []int{2, 4} {
		b := newBed(t, fmt.Sprintf("dumbbell: {left: %d, right: 1, rate: 40Gbps, delay: 1us}", n),
			hosts(func(c *roce.Config) { c.CC.Algorithm = "dcqcn_paper" }),
			switches(func(c *fabrictest.Config) {
				c.XOFF = 2e6
				c.Marks = func(vtime.Rate) (int64, int64, float64) { return kmin, kmax, pmax }
			}))
		for i := range n {
			b.add(b.flow(fmt.Sprintf("h%d", i+1), fmt.Sprintf("h%d", n+1), 8e9, 0))
		}
		s := b.steady(60*vtime.Millisecond, 200*vtime.Millisecond, 20*vtime.Microsecond, "l1", n+1)
		want := dcqcnMarks(n, rate, 1082, cc.DCQCNPaper(), 50*vtime.Microsecond)
		queue := kmin + want/pmax*(kmax-kmin)
		// The model is a fluid. Discrete packets and cuts by halves give somewhat more
		// marks and a longer queue.
		if s.queue < 0.9*queue || s.queue > 1.5*queue {
			t.Errorf("%d flows: the queue has %.0f bytes, the fixed point %.0f", n, s.queue, queue)
		}
		if p := float64(s.marked) / float64(s.sent); p < 0.9*want || p > 1.6*want {
			t.Errorf("%d flows: %.5f of the packets are marked, at the fixed point %.5f", n, p, want)
		}
		if j := jain(s.acked); j < 0.99 {
			t.Errorf("%d flows get %v: fairness is %.4f", n, s.acked, j)
		}
		if u := float64(s.sent) * 1082 * 8 / 0.14 / float64(rate); u < 0.99 {
			t.Errorf("%d flows use %.4f of the link", n, u)
		}
	}
}

// PCN's bound of the queue, equation 15, assumes a fluid and simultaneous
// reports. Packets of n flows that arrive together add to it, and reports take
// effect with a delay.
func TestPCNKeepsItsQueueAndTheLinkBusy(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP with -short: simulates 50 ms at 40 Gb/s")
	}
	const rate = 40 * vtime.Gbps
	for _, n := range []int{2, 4, 8} {
		b := newBed(t, fmt.Sprintf("dumbbell: {left: %d, right: %d, rate: 40Gbps, delay: 1us}", n, n),
			hosts(func(c *roce.Config) { c.CC.Algorithm = "pcn" }),
			// Every packet that leaves a nonempty queue is marked.
			switches(func(c *fabrictest.Config) { c.Marks = func(vtime.Rate) (int64, int64, float64) { return 0, 1, 1 } }))
		for i := range n {
			b.add(b.flow(fmt.Sprintf("h%d", i+1), fmt.Sprintf("h%d", n+i+1), 8e9, 0))
		}
		s := b.steady(20*vtime.Millisecond, 50*vtime.Millisecond, 5*vtime.Microsecond, "l1", n+1)
		wmin := cc.PCNDefaults(rate).WMin
		bound := (float64(n) - 2 + wmin) * wmin * float64(rate) / 8 * 50e-6
		if slack := 6 * float64(n) * 1058; float64(s.longest) > bound+slack {
			t.Errorf("%d flows: the queue reaches %d bytes, the bound is %.0f and %.0f for packets", n, s.longest, bound, slack)
		}
		if u := float64(s.sent) * 1082 * 8 / 0.03 / float64(rate); u < 0.99 {
			t.Errorf("%d flows use %.4f of the link", n, u)
		}
		if j := jain(s.acked); j < 0.93 {
			t.Errorf("%d flows get %v: fairness is %.4f", n, s.acked, j)
		}
		// Sixteen hosts that start at line rate cause only short pauses.
		if p := b.Results().Pauses; len(p) > 8*n {
			t.Errorf("%d flows: %d pauses", n, len(p))
		}
	}
}

// Four endless flows share a link: each control has its expected utilisation,
// queue length and fairness.
func TestControlsInTheSteadyState(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP with -short: simulates 30 ms at 40 Gb/s for each congestion control")
	}
	const rate = 40 * vtime.Gbps
	for _, c := range []struct {
		algorithm   string
		kmin, kmax  int64
		pmax        float64
		busy, least float64 // utilisation: at most, at least
		queue       float64 // average, at most
		fair        float64
	}{
		{"dcqcn", 160e3, 640e3, 0.2, 1, 0.95, 400e3, 0.95},
		// A queue around K keeps the link busy.
		{"dctcp", 120e3, 120e3 + 1, 1, 1, 0.97, 160e3, 0.95},
		// TIMELY oscillates.
		{"timely", 0, 0, 0, 1, 0.8, 300e3, 0.9},
		// HPCC uses 95 % of the link by the bytes that switches count, without preamble
		// and gap. Queues are empty.
		{"hpcc", 0, 0, 0, 0.95 * 1124 / 1100 * 1.005, 0.95 * 1124 / 1100 * 0.995, 10e3, 0.95},
	} {
		b := newBed(t, "dumbbell: {left: 4, right: 4, rate: 40Gbps, delay: 2us}",
			hosts(func(h *roce.Config) { h.CC.Algorithm = c.algorithm }),
			switches(func(s *fabrictest.Config) {
				s.XOFF, s.Buffer = 2e6, 32e6
				s.Marks = func(vtime.Rate) (int64, int64, float64) { return c.kmin, c.kmax, c.pmax }
			}))
		for i := range 4 {
			b.add(b.flow(fmt.Sprintf("h%d", i+1), fmt.Sprintf("h%d", i+5), 8e9, 0))
		}
		s := b.steady(15*vtime.Millisecond, 30*vtime.Millisecond, 5*vtime.Microsecond, "l1", 5)
		var bytes float64
		for _, a := range s.acked {
			bytes += a
		}
		full := 1082.0
		if c.algorithm == "hpcc" {
			full += 42
		}
		busy := bytes / 1000 * full * 8 / 0.015 / float64(rate)
		fair := jain(s.acked)
		t.Logf("%s: link %.4f busy, queue %.0f bytes, fairness %.4f", c.algorithm, busy, s.queue, fair)
		if busy < c.least || busy > c.busy+0.001 {
			t.Errorf("%s: the link is %.4f busy, want from %.2f to %.2f", c.algorithm, busy, c.least, c.busy)
		}
		if s.queue > c.queue {
			t.Errorf("%s: the queue has %.0f bytes on average, want at most %.0f", c.algorithm, s.queue, c.queue)
		}
		if fair < c.fair {
			t.Errorf("%s: flows get %v, fairness %.4f", c.algorithm, s.acked, fair)
		}
	}
}
