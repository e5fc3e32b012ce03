// SPDX-License-Identifier: Apache-2.0

package cc

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// clock is a scheduler for one control.
type clock struct {
	now   vtime.Time
	asked int // number of events
	list  vtime.Queue
}

func (c *clock) Now() vtime.Time { return c.now }

func (c *clock) At(t vtime.Time, ev vtime.Event, arg uint64) {
	if t < c.now {
		panic("BUG: event in the past")
	}
	c.asked++
	c.list.Push(t, ev, arg)
}

// until fires the timers up to and including t.
func (c *clock) until(t vtime.Time) {
	for c.list.Next() <= t {
		at, ev, arg := c.list.Pop()
		c.now = at
		ev.Fire(at, arg)
	}
	c.now = t
}

const line = 40 * vtime.Gbps

// start returns a started control and its flow.
func start(t *testing.T, cfg Config) (Control, *Flow, *clock) {
	t.Helper()
	kit, err := cfg.Kit(line)
	if err != nil {
		t.Fatal(err)
	}
	f := &Flow{Rate: line, Line: line, BaseRTT: 20 * vtime.Microsecond, MTU: 1000, Repace: func(vtime.Rate) {}}
	c := &clock{}
	return kit.New(f, c), f, c
}

func TestKitRejectsUnknownAlgorithms(t *testing.T) {
	for _, name := range Algorithms() {
		if _, err := (&Config{Algorithm: name}).Kit(line); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := (&Config{Algorithm: "dcqnc"}).Kit(line)
	if err == nil || !strings.Contains(err.Error(), `did you mean "dcqcn"?`) {
		t.Errorf("got %v", err)
	}
}

func TestParametersFollowTheLinkAndTheFile(t *testing.T) {
	if d := DCQCNDefaults(100 * vtime.Gbps); d.AI != 20*vtime.Mbps || d.HAI != 200*vtime.Mbps {
		t.Errorf("DCQCN at 100 Gb/s adds %v and %v", d.AI, d.HAI)
	}
	if d := TIMELYDefaults(line); d.AI != 40*vtime.Mbps || d.HAI != 200*vtime.Mbps {
		t.Errorf("TIMELY at 40 Gb/s adds %v and %v", d.AI, d.HAI)
	}
	if d := HPCCDefaults(100 * vtime.Gbps); d.AI != 40*vtime.Mbps {
		t.Errorf("HPCC at 100 Gb/s adds %v", d.AI)
	}
	d := DCQCN{AI: 50 * vtime.Mbps}.or(DCQCNDefaults(line))
	if d.AI != 50*vtime.Mbps || d.HAI != 80*vtime.Mbps || d.G != 1.0/256 {
		t.Errorf("a file that sets ai gives %+v", d)
	}
}

// ticking is DCQCN like in the HPCC simulator, with a tick for every update of
// alpha and every possible cut. At the same time, a rise precedes a cut,
// because it was scheduled before.
type ticking struct {
	DCQCN
	rate, target    vtime.Rate
	alpha           float64
	first           bool
	alphaSet, cutIt bool
	stage           int
	nextAlpha       vtime.Time
	nextCut         vtime.Time
	nextRise        vtime.Time
}

func (k *ticking) until(t vtime.Time) {
	for {
		next := min(k.nextAlpha, k.nextCut, k.nextRise)
		if next > t {
			return
		}
		switch next {
		case k.nextAlpha:
			if k.alphaSet {
				k.alpha = (1-k.G)*k.alpha + k.G
			} else {
				k.alpha = (1 - k.G) * k.alpha
			}
			k.alphaSet = false
			k.nextAlpha += k.AlphaTimer
		case k.nextRise:
			k.nextRise += k.RiseTimer
			switch {
			case k.stage < k.FastRecovery:
			case k.stage == k.FastRecovery:
				k.target = min(k.target+k.AI, line)
			default:
				k.target = min(k.target+k.HAI, line)
			}
			k.rate = k.rate/2 + k.target/2
			k.stage++
		case k.nextCut:
			k.nextCut += k.DecreaseTimer
			if !k.cutIt {
				continue
			}
			if k.ClampTarget || k.stage != 0 {
				k.target = k.rate
			}
			k.rate = max(100*vtime.Mbps, vtime.Rate(float64(k.rate)*(1-k.alpha/2)))
			k.stage = 0
			k.cutIt = false
			k.nextRise = next + k.RiseTimer
		}
	}
}

func (k *ticking) mark(now vtime.Time) {
	k.alphaSet, k.cutIt = true, true
	if k.first {
		k.first = false
		k.alpha, k.alphaSet = 1, false
		k.nextAlpha = now + k.AlphaTimer
		k.nextCut = now + k.DecreaseTimer + vtime.Nanosecond
		k.target = k.rate
	}
}

func TestDCQCNWithoutIdleTicksIsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for run := range 200 {
		cfg := Config{Algorithm: "dcqcn"}
		if run%2 == 1 {
			cfg.DCQCN = DCQCN{ClampTarget: true, FastRecovery: 3, RiseTimer: 55 * vtime.Microsecond}
		}
		ctl, f, c := start(t, cfg)
		k := &ticking{DCQCN: cfg.DCQCN.or(DCQCNDefaults(line)), rate: line, target: line, first: true,
			nextAlpha: vtime.Never, nextCut: vtime.Never, nextRise: vtime.Never}
		mean := math.Pow(10, 3*rng.Float64()) * float64(vtime.Microsecond)
		now := vtime.Time(0)
		for range 300 {
			now += vtime.Time(rng.ExpFloat64()*mean) + 1
			c.until(now)
			k.until(now)
			// The decay of many ticks at once has a small rounding difference.
			if d := math.Abs(float64(f.Rate - k.rate)); d > 2+1e-9*float64(k.rate) {
				t.Fatalf("run %d at %v: rate is %v, ticking gives %v", run, now, int64(f.Rate), int64(k.rate))
			}
			ctl.Ack(now, &Ack{Marked: true})
			k.mark(now)
		}
	}
}

func TestDCQCNSchedulesOnlyWhatItNeeds(t *testing.T) {
	ctl, _, c := start(t, Config{Algorithm: "dcqcn"})
	for i := range 1000 {
		c.until(vtime.Time(i) * vtime.Microsecond)
		ctl.Ack(c.now, &Ack{Marked: true})
		ctl.Ack(c.now, &Ack{})
		if c.list.Len() > 2 {
			t.Fatalf("%d events are on their way", c.list.Len())
		}
	}
	// A millisecond has 250 cuts. Each postpones the rise.
	if c.asked > 260 {
		t.Errorf("%d events for a millisecond of marks", c.asked)
	}
}

// After one cut the paper's DCQCN recovers by halves: after n rises the
// distance to the old rate is 2^-n of the cut. Then the target grows.
func TestDCQCNPaperRecoversByHalves(t *testing.T) {
	ctl, f, c := start(t, Config{Algorithm: "dcqcn_paper"})
	ctl.Notify(0, &Notification{CE: true})
	if f.Rate != line/2 {
		t.Fatalf("the first notification, with alpha 1, gives %v", f.Rate)
	}
	for n := 1; n <= 5; n++ {
		c.until(vtime.Time(n) * 55 * vtime.Microsecond)
		want := line - line/2>>n
		if d := f.Rate - want; d < -8 || d > 8 {
			t.Errorf("after %d rises the rate is %d, want %d", n, f.Rate, want)
		}
	}
	ctl.Stop()
	rate := f.Rate
	c.until(vtime.Second)
	if f.Rate != rate {
		t.Error("a stopped control still works")
	}
}

// A flow whose rate a postcard has lowered, and that is never marked, recovers
// to the line rate. Before, its rate never rose, because no timer ran.
func TestRestartedRatesRise(t *testing.T) {
	for name, within := range map[string]vtime.Time{"dcqcn": vtime.Second, "dcqcn_paper": vtime.Second, "qcn": 200 * vtime.Second} {
		ctl, f, c := start(t, Config{Algorithm: name})
		ctl.Restart(0, vtime.Gbps)
		c.until(10 * vtime.Millisecond)
		if f.Rate <= vtime.Gbps {
			t.Errorf("%s: rate is %v after 10 ms", name, f.Rate)
		}
		c.until(within)
		if f.Rate < line*99/100 {
			t.Errorf("%s: rate is %v after %v", name, f.Rate, within)
		}
	}
}

// A rate that was set is not the rate before a cut: the flow does not recover
// to the line rate by halves, but rises by additive increase.
func TestDCQCNIncreasesAdditivelyFromASetRate(t *testing.T) {
	ctl, f, c := start(t, Config{Algorithm: "dcqcn_paper"})
	ctl.Restart(0, vtime.Gbps)
	c.until(55 * vtime.Microsecond)
	if want := vtime.Gbps + 20*vtime.Mbps; f.Rate != want {
		t.Errorf("rate is %v after a timer, want %v", f.Rate, want)
	}
	ctl.Notify(c.now, &Notification{CE: true})
	if want := (vtime.Gbps + 20*vtime.Mbps) / 2; f.Rate != want {
		t.Errorf("rate is %v after a cut, want %v", f.Rate, want)
	}
	c.until(2 * 55 * vtime.Microsecond)
	if want := (vtime.Gbps + 20*vtime.Mbps) * 3 / 4; f.Rate != want {
		t.Errorf("rate is %v after a cut and a timer, want %v", f.Rate, want)
	}
}

// 1024 flows on 10 Gb/s, as in figure 17, have less than 10 Mb/s each.
func TestPCNAllowsLowRates(t *testing.T) {
	ctl, f, _ := start(t, Config{Algorithm: "pcn"})
	ctl.Notify(0, &Notification{CE: true, Rate: 9 * vtime.Mbps})
	if want := 9 * vtime.Mbps * 127 / 128; f.Rate < want-1 || f.Rate > want {
		t.Errorf("rate is %v, want %v", f.Rate, want)
	}
	ctl, f, _ = start(t, Config{Algorithm: "pcn", MinRate: 100 * vtime.Mbps})
	if ctl.Notify(0, &Notification{CE: true, Rate: 9 * vtime.Mbps}); f.Rate != 100*vtime.Mbps {
		t.Errorf("rate is %v with a minimum of 100 Mb/s", f.Rate)
	}
}

// Below its target Swift adds a packet per round trip. Above it, it cuts once
// per round trip in proportion to the excess, at most by half. Below one packet
// it paces.
func TestSwiftFollowsItsTarget(t *testing.T) {
	ctl, f, _ := start(t, Config{Algorithm: "swift"})
	// A window of 20 us at 40 Gb/s: 100 packets, where the target is not scaled:
	// 45 us.
	if f.Window != 100_000 || f.Rate != line {
		t.Fatalf("the flow begins with a window of %d and %v", f.Window, f.Rate)
	}
	now, acked := vtime.Time(0), int64(0)
	ack := func(rtt vtime.Time) {
		now += vtime.Microsecond
		acked += 1000
		ctl.Ack(now, &Ack{Acked: acked, Sent: acked + f.Window, RTT: rtt})
	}
	for range 100 {
		ack(44 * vtime.Microsecond)
	}
	if f.Window < 100_900 || f.Window > 101_000 {
		t.Errorf("window is %d after a round trip below the target, want 101 packets", f.Window)
	}
	was := float64(f.Window)
	ack(50 * vtime.Microsecond)
	if want := was * (1 - 0.8*5/50); math.Abs(float64(f.Window)-want) > 20 {
		t.Errorf("window is %d, want %.0f", f.Window, want)
	}
	was = float64(f.Window)
	for range 49 {
		ack(50 * vtime.Microsecond)
	}
	if float64(f.Window) != was {
		t.Error("it is cut twice in a round trip")
	}
	for range 200 {
		now += 10 * vtime.Millisecond
		ack(10 * vtime.Millisecond)
	}
	// The minimum is 100 Mb/s for 20 us: a quarter of a packet.
	if f.Window != 250 || f.Rate != 100*vtime.Mbps {
		t.Errorf("window is %d, rate %v", f.Window, f.Rate)
	}
	// Such a small window has a greater target, of 45 us and
	// 50*(1/sqrt(0.25)-0.1)/(1/sqrt(0.1)-0.1).
	ack(75 * vtime.Microsecond)
	if f.Window != 1250 || f.Rate != line {
		t.Errorf("window is %d, rate %v after one packet more", f.Window, f.Rate)
	}
}

// n flows under Swift keep a queue of about the target, and share the link
// evenly and completely: a fluid model of one bottleneck.
func TestSwiftSharesALink(t *testing.T) {
	const n = 8
	var ctl [n]Control
	var f [n]*Flow
	for i := range n {
		ctl[i], f[i], _ = start(t, Config{Algorithm: "swift"})
		if i < n/2 {
			ctl[i].Restart(0, vtime.Gbps) // they start with unequal rates
		}
	}
	base, now := 20*vtime.Microsecond, vtime.Time(0)
	var acked [n]int64
	var low, high vtime.Time = vtime.Never, 0
	for step := range 4000 {
		var inFlight int64
		for i := range n {
			inFlight += f[i].Window
		}
		rtt := max(base, line.TxTime(int(inFlight)))
		now += rtt
		for i := range n {
			for range max(f[i].Window/1000, 1) {
				acked[i] += 1000
				ctl[i].Ack(now, &Ack{Acked: acked[i], Sent: acked[i] + f[i].Window, RTT: rtt})
			}
		}
		if step > 3000 {
			low, high = min(low, rtt), max(high, rtt)
		}
	}
	if low < 44*vtime.Microsecond || high > 60*vtime.Microsecond {
		t.Errorf("the round trip is from %v to %v, the target from 45 us on", low, high)
	}
	var sum, squares float64
	for i := range n {
		sum += float64(f[i].Window)
		squares += float64(f[i].Window) * float64(f[i].Window)
	}
	if jain := sum * sum / n / squares; jain < 0.99 {
		t.Errorf("Jain's index is %.3f", jain)
	}
}

// Alpha falls by 1-g at every timer without a mark.
func TestDCQCNAlphaForgets(t *testing.T) {
	ctl, f, c := start(t, Config{Algorithm: "dcqcn_paper"})
	ctl.Notify(0, &Notification{CE: true})
	c.until(100 * 55 * vtime.Microsecond)
	before := f.Rate
	ctl.Notify(c.now, &Notification{CE: true})
	alpha := math.Pow(1-1.0/256, 100)
	want := float64(before) * (1 - alpha/2)
	if math.Abs(float64(f.Rate)-want) > 2 {
		t.Errorf("the cut gives %v, want %.0f", int64(f.Rate), want)
	}
}

func TestDCQCNCountsBytes(t *testing.T) {
	ctl, f, _ := start(t, Config{Algorithm: "dcqcn_paper"})
	ctl.Notify(0, &Notification{CE: true})
	for range 10_000 {
		ctl.Sent(0, 999)
	}
	if f.Rate != line/2 {
		t.Errorf("rate rose to %v before 10 MB", f.Rate)
	}
	ctl.Sent(0, 10_000)
	if f.Rate != line/4+line/2 {
		t.Errorf("rate is %v after 10 MB", f.Rate)
	}
}

// Figure 10 of the PCN paper: reports without congestion raise a flow from zero
// to at most a tenth of the line rate in 5, and to 95 % in 15.
func TestPCNRisesAsInFigure10(t *testing.T) {
	ctl, f, _ := start(t, Config{Algorithm: "pcn", MinRate: 1})
	f.Rate = 0
	w, rate := 1.0/128, 0.0
	for n := 1; n <= 15; n++ {
		ctl.Notify(0, &Notification{})
		rate = rate*(1-w) + w
		w = w*(1-w) + 0.5*w
		if got := float64(f.Rate) / float64(line); math.Abs(got-rate) > 1e-6 {
			t.Errorf("after %d reports the rate is %.4f of the line, want %.4f", n, got, rate)
		}
		switch {
		case n <= 5 && rate > 0.10, n == 15 && rate < 0.95:
			t.Errorf("after %d reports the rate is %.3f", n, rate)
		}
	}
}

func TestPCNFallsToTheReceivingRateAndNeverRisesByIt(t *testing.T) {
	ctl, f, _ := start(t, Config{Algorithm: "pcn"})
	ctl.Notify(0, &Notification{})
	ctl.Notify(0, &Notification{CE: true, Rate: 10 * vtime.Gbps})
	if want := vtime.Rate(10e9 * 127 / 128); f.Rate != want {
		t.Errorf("rate is %v, want %v", f.Rate, want)
	}
	was := f.Rate
	ctl.Notify(0, &Notification{CE: true, Rate: 30 * vtime.Gbps})
	if f.Rate != was {
		t.Errorf("congestion raised the rate to %v", f.Rate)
	}
	// The weight is reset.
	ctl.Notify(0, &Notification{})
	if want := float64(was)*(1-1.0/128) + float64(line)/128; math.Abs(float64(f.Rate)-want) > 2 {
		t.Errorf("rate is %v, want %.0f", f.Rate, want)
	}
}

// The fluid model of the paper's appendix A, equations 3 to 7, with the control
// in place of equations 6 and 7: the rates of n flows that share a link
// converge to the same value from any start. In the steady state the queue
// oscillates as in equation 15, and rates by w·C·(1-(1-w)/n): equation 16 has
// w·C, because its derivation omits one of the two factors 1-w of equation 12.
func TestPCNConvergesAndSwingsAsItsModel(t *testing.T) {
	const capacity, period = 40e9, 50e-6
	rng := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{2, 5, 16} {
		flows := make([]*Flow, n)
		controls := make([]Control, n)
		for i := range flows {
			controls[i], flows[i], _ = start(t, Config{Algorithm: "pcn"})
			flows[i].Rate = vtime.Rate(1e9 + rng.Float64()*39e9)
		}
		var queue, longest float64
		low, high := math.Inf(1), 0.0
		const loops = 20_000
		for k := range loops {
			var sum float64
			for _, f := range flows {
				sum += float64(f.Rate)
			}
			queue = max(0, queue+(sum-capacity)*period)
			for i, f := range flows {
				received := float64(f.Rate)
				if queue > 0 {
					received *= capacity / sum
				}
				controls[i].Notify(0, &Notification{CE: queue > 0, Rate: vtime.Rate(received)})
			}
			if k > loops-1000 {
				longest = max(longest, queue)
				for _, f := range flows {
					low, high = min(low, float64(f.Rate)), max(high, float64(f.Rate))
				}
			}
		}
		w := 1.0 / 128
		if bound := (float64(n) - 2 + w) * w * capacity * period; math.Abs(longest-bound) > 0.02*bound+period*1e6 {
			t.Errorf("%d flows: the queue swings by %.0f bits, equation 15 says %.0f", n, longest, bound)
		}
		want := w * capacity * (1 - (1-w)/float64(n))
		if swing := high - low; math.Abs(swing-want) > 0.02*want || swing > w*capacity {
			t.Errorf("%d flows: rates swing by %.4g, want %.4g", n, swing, want)
		}
		if share := capacity / float64(n); low < (1-w)*share*0.99 || high > (1+(float64(n)-1)*w)*share*1.01 {
			t.Errorf("%d flows: rates from %.4g to %.4g around %.4g", n, low, high, share)
		}
	}
}

func TestTIMELYFollowsRTTAndGradient(t *testing.T) {
	us := vtime.Microsecond
	for _, c := range []struct {
		name string
		rtts []vtime.Time
		want func(r float64) float64
	}{
		{"low RTT rises", []vtime.Time{30 * us, 40 * us}, func(r float64) float64 { return r + 40e6 }},
		{"five rises, then bold", []vtime.Time{30 * us, 30 * us, 30 * us, 30 * us, 30 * us, 30 * us, 30 * us}, func(r float64) float64 { return r + 5*40e6 + 200e6 }},
		{"high RTT falls", []vtime.Time{30 * us, 1000 * us}, func(r float64) float64 { return r * (1 - 0.8*0.5) }},
		{"rising RTT falls", []vtime.Time{100 * us, 108 * us}, func(r float64) float64 { return r * (1 - 0.8*0.875*8/20) }},
		{"falling RTT rises", []vtime.Time{200 * us, 150 * us}, func(r float64) float64 { return r + 40e6 }},
	} {
		ctl, f, _ := start(t, Config{Algorithm: "timely"})
		f.Rate = 10 * vtime.Gbps
		seq := int64(0)
		for _, rtt := range c.rtts {
			ctl.Ack(0, &Ack{Acked: seq + 1, Sent: seq + 100, RTT: rtt})
			// Further acknowledgements of the round trip have no effect.
			ctl.Ack(0, &Ack{Acked: seq + 50, Sent: seq + 150, RTT: 900 * us})
			seq += 100
		}
		if want := c.want(10e9); math.Abs(float64(f.Rate)-want) > 10 {
			t.Errorf("%s: rate is %d, want %.0f", c.name, f.Rate, want)
		}
	}
}

// newRate is getNewRate of the code that TIMELY's authors published, with the state of
// its sender: times in seconds, rates in bits per second.
type newRate struct {
	alpha, tLow, tHigh, step, beta, minRate, maxRate, minRTT float64
	prevRTT, avgDiff, lastUpdate                             float64
	negative                                                 int
}

func (n *newRate) get(now, rtt, rate float64) float64 {
	if n.prevRTT == 0 {
		n.prevRTT = rtt
	}
	diff := rtt - n.prevRTT
	if diff < 0 {
		n.negative++
	} else {
		n.negative = 0
	}
	n.avgDiff = (1-n.alpha)*n.avgDiff + n.alpha*diff
	gradient := n.avgDiff / n.minRTT
	delta := math.Min((now-n.lastUpdate)/n.minRTT, 1)
	n.prevRTT, n.lastUpdate = rtt, now
	var next float64
	if rtt < n.tLow {
		next = rate + n.step*delta
	} else if rtt > n.tHigh {
		next = rate * (1 - delta*n.beta*(1-n.tHigh/rtt))
	} else if gradient <= 0 {
		times := 1.0
		if n.negative >= 5 {
			times = 5
		}
		next = rate + times*n.step*delta
	} else {
		next = rate * (1 - n.beta*gradient)
	}
	next = math.Max(next, rate*0.5)
	return math.Max(math.Min(next, n.maxRate), n.minRate)
}

func TestTIMELYPerPacketFollowsTheAuthorsCode(t *testing.T) {
	for p, cases := range map[TIMELY]string{
		{}: "bold fall rise",
		{Alpha: 0.875, Low: 50 * vtime.Microsecond, High: 500 * vtime.Microsecond}: "bold fall half rise",
	} {
		ctl, f, _ := start(t, Config{Algorithm: "timely_packet", TIMELY: p})
		filled := p.or(TIMELYPacketDefaults(line))
		ref := newRate{alpha: filled.Alpha, tLow: filled.Low.Seconds(), tHigh: filled.High.Seconds(), step: 40e6, beta: 0.8, minRate: 100e6, maxRate: 40e9, minRTT: 20e-6}
		rng := rand.New(rand.NewPCG(7, 8))
		now, rtt, low, high, seen := vtime.Time(0), 100*vtime.Microsecond, false, false, make(map[string]bool)
		for i := range 20_000 {
			now += vtime.Time(rng.Int64N(int64(40 * vtime.Microsecond)))
			// An RTT that wanders, so that gradients have both signs for long.
			rtt = min(max(rtt+vtime.Time(rng.NormFloat64()*float64(20*vtime.Microsecond)), 10*vtime.Microsecond), 1500*vtime.Microsecond)
			f.Rate = vtime.Rate(rng.Int64N(int64(line-200*vtime.Mbps))) + 100*vtime.Mbps
			want := ref.get(now.Seconds(), rtt.Seconds(), float64(f.Rate))
			was := f.Rate
			ctl.Ack(now, &Ack{RTT: rtt})
			if math.Abs(float64(f.Rate)-want) > 1+1e-9*want {
				t.Fatalf("step %d: rate is %d after an RTT of %v at %v with %d, want %.0f", i, f.Rate, rtt, now, was, want)
			}
			low, high = low || rtt < filled.Low, high || rtt > filled.High
			switch d := float64(f.Rate - was); {
			case d > 41e6:
				seen["bold"] = true
			case d > 0:
				seen["rise"] = true
			case f.Rate == was/2:
				seen["half"] = true
			default:
				seen["fall"] = true
			}
		}
		if got := strings.Join(slices.Sorted(maps.Keys(seen)), " "); low != (filled.Low > 0) || !high || got != cases {
			t.Errorf("%+v: RTTs below and above the thresholds: %v, %v; the rate did %s, want %s", p, low, high, got, cases)
		}
		was := f.Rate
		if ctl.Ack(now, &Ack{}); f.Rate != was {
			t.Error("an acknowledgement without RTT changed the rate")
		}
	}
}

// telemetry makes a block with one record per hop.
func telemetry(hops ...func(packet.INTHop)) packet.INT {
	b := make(packet.INT, packet.INTLen)
	b[0] = byte(len(hops)) << 4
	for i, h := range hops {
		h(b.Hop(i))
	}
	return b
}

// A link that sends at a share of its rate, with an empty queue.
func TestHPCCAimsAtItsShareOfTheBusiestLink(t *testing.T) {
	for _, c := range []struct {
		share float64
		queue int
	}{{1, 0}, {0.5, 0}, {1, 100_000}, {0.95, 0}} {
		ctl, f, _ := start(t, Config{Algorithm: "hpcc", HPCC: HPCC{AI: 1}})
		f.Rate = 20 * vtime.Gbps
		ctl.Restart(0, 20*vtime.Gbps)
		code := packet.INTRateCode(line)
		var ns, units uint32
		acked := int64(0)
		ack := func(sent int64) {
			acked += 1000
			ctl.Ack(0, &Ack{Acked: acked, Sent: sent, INT: telemetry(
				func(h packet.INTHop) { h.Set(code, ns, units/4, 0) },
				func(h packet.INTHop) { h.Set(code, ns, units, c.queue) })})
		}
		ack(acked + 10_000)
		// A complete base round trip between records: the average is the sample.
		ns += 20_000
		units += uint32(c.share * 40e9 / 8 * 20e-6 / 128)
		acked += 20_000
		ack(acked + 30_000)
		u := c.share + float64(c.queue)/(40e9/8*20e-6)
		want := min(20e9/(u/0.95), 40e9)
		if got := float64(f.Rate); math.Abs(got-want) > 0.003*want {
			t.Errorf("share %g, queue %d: rate is %.4g, want %.4g", c.share, c.queue, got, want)
		}
	}
}

func TestHPCCIgnoresOtherPathsAndOldRecords(t *testing.T) {
	ctl, f, _ := start(t, Config{Algorithm: "hpcc"})
	code := packet.INTRateCode(line)
	one := func(ns uint32, path byte) packet.INT {
		b := telemetry(func(h packet.INTHop) { h.Set(code, ns, ns, 1_000_000) })
		b[1] = path
		return b
	}
	ctl.Ack(0, &Ack{Acked: 1, Sent: 10, INT: one(1000, 1)})
	ctl.Ack(0, &Ack{Acked: 2, Sent: 10, INT: one(2000, 2)}) // another path
	ctl.Ack(0, &Ack{Acked: 3, Sent: 10, INT: one(1500, 2)}) // older
	ctl.Ack(0, &Ack{Acked: 4, Sent: 10})                    // without telemetry
	if f.Rate != line {
		t.Errorf("rate is %v", f.Rate)
	}
	ctl.Ack(0, &Ack{Acked: 5, Sent: 10, INT: one(3000, 2)})
	if f.Rate >= line {
		t.Error("a long queue did not lower the rate")
	}
}

// updateRateHpPint is RdmaHw::UpdateRateHpPint of the HPCC simulator's rdma-hw.cc,
// with the state of its queue pair.
type updateRateHpPint struct {
	lastUpdateSeq, sndNxt                                     int64
	rate, curRate, rai, minRate, maxRate, targetUtil, base, u float64
	incStage, miThresh                                        int
}

func (q *updateRateHpPint) handleAck(ackSeq int64, power int) {
	fastReact := ackSeq <= q.lastUpdateSeq
	if q.lastUpdateSeq == 0 { // first RTT
		q.lastUpdateSeq = q.sndNxt
		return
	}
	q.u = math.Pow(q.base, float64(power)) / 512
	maxC := q.u / q.targetUtil
	var newRate float64
	var newIncStage int
	if maxC >= 1 || q.incStage >= q.miThresh {
		newRate, newIncStage = q.curRate/maxC+q.rai, 0
	} else {
		newRate, newIncStage = q.curRate+q.rai, q.incStage+1
	}
	newRate = math.Max(newRate, q.minRate)
	newRate = math.Min(newRate, q.maxRate)
	q.rate = newRate
	if !fastReact {
		q.curRate, q.incStage = newRate, newIncStage
		if q.sndNxt > q.lastUpdateSeq {
			q.lastUpdateSeq = q.sndNxt
		}
	}
}

// Random digests give the same rates as in the simulator, with and without additive
// stages.
func TestPINTSetsTheSimulatorsRates(t *testing.T) {
	for _, stages := range []int{-1, 5} {
		for _, step := range []float64{0.05, 0.01} {
			rng := rand.New(rand.NewPCG(1, 2))
			ctl, f, _ := start(t, Config{Algorithm: "hpcc_pint", MinRate: vtime.Gbps, HPCC: HPCC{AI: 16 * vtime.Mbps, MaxStage: stages}, PINT: PINT{Step: step}})
			q := updateRateHpPint{rate: float64(line), curRate: float64(line), rai: 16e6, minRate: 1e9, maxRate: float64(line),
				targetUtil: 0.95, base: 1 + step, miThresh: max(stages, 0)}
			one := math.Log(512) / math.Log(1+step) // code of a full link
			acked := int64(0)
			for i := range 5000 {
				acked += 1000
				q.sndNxt = acked + 5000
				code := int(one + rng.NormFloat64()*0.1/step)
				ctl.Ack(0, &Ack{Acked: acked, Sent: q.sndNxt, PINT: packet.PINT{byte(code >> 8), byte(code)}})
				q.handleAck(acked, code)
				if math.Abs(float64(f.Rate)-q.rate) > 1e-6*q.rate {
					t.Fatalf("stages %d, step %g, acknowledgement %d with code %d: rate %v, there %.0f", stages, step, i, code, f.Rate, q.rate)
				}
			}
		}
	}
}

// With share 0.1, a tenth of the acknowledgements change the rate. The random numbers
// follow the flow's seed.
func TestPINTUsesAShareOfTheAcknowledgements(t *testing.T) {
	used := func(seed uint64) (n int, which []int) {
		c := &clock{}
		cfg := Config{Algorithm: "hpcc_pint", PINT: PINT{Share: 0.1}}
		kit, err := cfg.Kit(line)
		if err != nil {
			t.Fatal(err)
		}
		f := &Flow{Rate: line, Line: line, BaseRTT: 20 * vtime.Microsecond, MTU: 1000, Seed: seed, Repace: func(vtime.Rate) {}}
		ctl := kit.New(f, c)
		for i := range 10_000 {
			before := f.Rate
			code := byte(140 + i%2) // twice, a little less
			ctl.Ack(0, &Ack{Acked: 1, Sent: 10, PINT: packet.PINT{0, code}})
			if f.Rate != before {
				n, which = n+1, append(which, i)
			}
		}
		return n, which
	}
	n, which := used(1)
	if n < 400 || n > 600 { // half of those that are used have another code than the one before
		t.Errorf("%d of 10000 acknowledgements changed the rate, want about 500", n)
	}
	if _, again := used(1); !slices.Equal(which, again) {
		t.Error("the same seed uses other acknowledgements")
	}
	if _, other := used(2); slices.Equal(which, other) {
		t.Error("another seed uses the same acknowledgements")
	}
}

// An acknowledgement without a digest does not change the rate.
func TestPINTNeedsADigest(t *testing.T) {
	ctl, f, _ := start(t, Config{Algorithm: "hpcc_pint"})
	for i := range int64(3) {
		ctl.Ack(0, &Ack{Acked: 1 + i, Sent: 10})
	}
	ctl.Ack(0, &Ack{Acked: 4, Sent: 10, PINT: packet.PINT{0, 200}}) // the first
	if f.Rate != line {
		t.Errorf("rate is %v", f.Rate)
	}
	ctl.Ack(0, &Ack{Acked: 5, Sent: 10, PINT: packet.PINT{0, 200}})
	if f.Rate >= line {
		t.Error("a busy link did not lower the rate")
	}
}

func TestDCTCPFallsByHalfTheShareOfMarks(t *testing.T) {
	ctl, f, _ := start(t, Config{Algorithm: "dctcp", DCTCP: DCTCP{AI: 1}})
	f.Rate = 10 * vtime.Gbps
	alpha := 1.0
	acked := int64(0)
	ctl.Ack(0, &Ack{Acked: 1000, Sent: 11_000})
	acked = 1000
	for round := range 40 {
		// Rounds of eleven packets, of which four are marked.
		before := float64(f.Rate)
		for i := range 11 {
			acked += 1000
			ctl.Ack(0, &Ack{Acked: acked, Sent: acked + 10_000, Marked: i >= 3 && i < 7})
			if i == 0 && round > 0 {
				alpha = alpha*15/16 + 4.0/11/16
			}
		}
		if fell := float64(f.Rate) / before; math.Abs(fell-(1-alpha/2)) > 1e-6 {
			t.Errorf("round %d: rate fell by %.4f, want %.4f", round, fell, 1-alpha/2)
		}
		f.Rate = 10 * vtime.Gbps
	}
}

func TestQCNFallsByFeedbackAndRises(t *testing.T) {
	ctl, f, c := start(t, Config{Algorithm: "qcn"})
	ctl.Notify(0, &Notification{Feedback: 32})
	if f.Rate != line*3/4 {
		t.Fatalf("feedback 32 gives %v", f.Rate)
	}
	ctl.Notify(0, &Notification{Feedback: 63})
	was := f.Rate
	if math.Abs(float64(was)-0.75*float64(line)*(1-63.0/128)) > 2 {
		t.Fatalf("feedback 63 gives %v", was)
	}
	// 150 KB sent: the rate rises halfway to the target.
	for range 150 {
		ctl.Sent(c.now, 1000)
	}
	if want := (was + line) / 2; f.Rate != want {
		t.Errorf("rate is %v after the byte counter, want %v", f.Rate, want)
	}
	was = f.Rate
	c.until(14 * vtime.Millisecond)
	if f.Rate != was {
		t.Errorf("rate is %v before the timer, want %v", f.Rate, was)
	}
	c.until(15 * vtime.Millisecond) // ieee8021CnRpgTimeReset
	if want := (was + line) / 2; f.Rate != want {
		t.Errorf("rate is %v after the timer, want %v", f.Rate, want)
	}
}

func TestRatesStayInBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, name := range Algorithms() {
		ctl, f, c := start(t, Config{Algorithm: name, Rate: 10 * vtime.Gbps})
		lowest := 100 * vtime.Mbps
		if name == "pcn" {
			lowest = vtime.Mbps
		}
		seq := int64(0)
		for i := range 3000 {
			c.until(c.now + vtime.Time(rng.Int64N(int64(50*vtime.Microsecond))))
			switch rng.IntN(4) {
			case 0:
				ctl.Notify(c.now, &Notification{CE: rng.IntN(2) == 0, Rate: vtime.Rate(rng.Int64N(int64(2 * line))), Feedback: rng.IntN(64)})
			case 1:
				ctl.Sent(c.now, rng.IntN(100_000))
			default:
				seq += rng.Int64N(5000)
				ctl.Ack(c.now, &Ack{Acked: seq, Sent: seq + rng.Int64N(100_000), Marked: rng.IntN(2) == 0,
					RTT: vtime.Time(rng.Int64N(int64(vtime.Millisecond))), INT: telemetry(func(h packet.INTHop) {
						h.Set(uint8(rng.IntN(16)), rng.Uint32(), rng.Uint32(), rng.IntN(1<<20))
					}), PINT: packet.PINT{byte(rng.IntN(2)), byte(rng.IntN(256))}})
			}
			if f.Rate < lowest || f.Rate > line {
				t.Fatalf("%s: rate is %v at step %d", name, f.Rate, i)
			}
		}
		ctl.Restart(c.now, 5*vtime.Gbps)
		if f.Rate != 5*vtime.Gbps {
			t.Errorf("%s: restarted at %v", name, f.Rate)
		}
		ctl.Stop()
	}
}

func ExampleAlgorithms() {
	fmt.Println(Algorithms())
	// Output: [none fixed dcqcn dcqcn_paper timely timely_packet hpcc hpcc_pint dctcp swift qcn pcn nscc rccc nscc_rccc]
}
