// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"slices"
	"testing"
)

// RLB, section II-B and III-B.3: 40 Gb/s and 2 µs give d·C = 10 KB; with
// Q_PFC = 256 KB the range of Q_th is [10 KB, 256 KB − 10 KB·(n−1)].
func TestEq3AtThePapersLink(t *testing.T) {
	const dC = 40_000_000_000 / 8 * 2 / 1_000_000
	for _, c := range []struct{ n, low, high, qth int64 }{
		{1, 10_000, 256_000, 256_000},
		{2, 10_000, 246_000, 246_000},
		{15, 10_000, 116_000, 116_000},
		{25, 10_000, 16_000, 16_000},
		{40, 10_000, -134_000, 10_000},
	} {
		low, high := Eq3(256_000, dC, c.n)
		if low != c.low || high != c.high {
			t.Errorf("Eq3 for n = %d: [%d, %d], want [%d, %d]", c.n, low, high, c.low, c.high)
		}
		if q := WarningThreshold(256_000, dC, c.n); q != c.qth {
			t.Errorf("threshold for n = %d: %d, want %d", c.n, q, c.qth)
		}
	}
}

func predictor() Predictor {
	return Predictor{Derivative: true, QPFC: 256_000, Qth: 116_000, DC: 10_000, Dt: 2000, Horizon: 4000}
}

func TestPredictionExtrapolatesTheSlope(t *testing.T) {
	p := predictor()
	for _, c := range []struct {
		name   string
		from   Bytes
		q      Bytes
		dt     Time
		predic bool
	}{
		// In 2 µs 78,000 bytes came; at that rate 156,000 more take 4 µs.
		{"reaches the threshold at the horizon", 22_000, 100_000, 2000, true},
		{"reaches it one byte late", 22_001, 100_000, 2000, false},
		{"falls", 100_000, 90_000, 2000, false},
		{"stands", 90_000, 90_000, 2000, false},
		{"stands above the warning threshold", 116_000, 116_000, 2000, true},
		{"is not congested, though steep", 0, 9_999, 1, false},
		{"is steep enough at d·C", 0, 10_000, 162, true},
		{"is not steep enough at d·C", 0, 10_000, 163, false},
	} {
		if got := p.Predicts(Slope{Q: c.from, T: 500}, c.q, 500+c.dt); got != c.predic {
			t.Errorf("%s: %v, want %v", c.name, got, c.predic)
		}
	}
	p.Derivative = false
	if p.Predicts(Slope{}, 115_999, 1) || !p.Predicts(Slope{}, 116_000, 1) {
		t.Error("without derivative only the threshold counts")
	}
}

func TestWarnerSpeaksOncePerInterval(t *testing.T) {
	p := predictor()
	var w Warner
	for _, c := range []struct {
		q    Bytes
		now  Time
		want bool
	}{
		{200_000, 1999, false}, // the interval is not over
		{200_000, 2000, true},
		{200_000, 3999, false},
		{120_000, 4000, true},
		{100_000, 6000, false},
	} {
		if got := w.Arrive(&p, c.q, c.now); got != c.want {
			t.Errorf("%d bytes at %d: %v, want %v", c.q, c.now, got, c.want)
		}
	}
	if w.Depart(58_000, 59_500, 58_000) || !w.Depart(58_000, 58_000, 57_999) || w.Depart(58_000, 58_000, 57_999) {
		t.Error("taken back once, when the queue falls below half of Q_th")
	}
}

func TestWarningsKeepScopeAndExpire(t *testing.T) {
	w := Warnings{Until: map[WarnKey]Time{}}
	c := CNM{Switch: 9, Port: 3, Scope: ScopeAll, On: true, Hold: 100, Hops: 1}
	w.Receive(c, 5, 1000)
	if !w.Warned(5, 1, 1099) || w.Warned(5, 1, 1100) || w.Warned(4, 1, 1000) {
		t.Error("a warning about all leaves holds for its port and time")
	}
	c.Scope, c.Hops = 7, 1
	r, ok := c.Relay()
	if !ok || r.Scope != 7 || r.Hops != 0 || r.Port != 3 {
		t.Errorf("relayed: %+v %v", r, ok)
	}
	if _, ok := r.Relay(); ok {
		t.Error("relayed beyond the hop limit")
	}
	w.Receive(r, 6, 2000)
	if !w.Warned(6, 7, 2000) || w.Warned(6, 8, 2000) {
		t.Error("a warning about one leaf holds for that leaf")
	}
	r.On = false
	w.Receive(r, 6, 2001)
	if w.Warned(6, 7, 2002) {
		t.Error("taken back, but still there")
	}
}

func TestAlgorithm1(t *testing.T) {
	rtt := []Time{10, 12, 30, 11, 0}
	alg := func(trc Time, may bool, warned ...Path) *Alg1 {
		isWarned := func(p Path) bool { return slices.Contains(warned, p) }
		return &Alg1{
			Warned: isWarned,
			RTT:    func(p Path) Time { return rtt[p] },
			Known:  func(p Path) bool { return rtt[p] != 0 },
			Suboptimal: func(p Path) (Path, bool) {
				for range 4 {
					if p = InTurn(p, 5); !isWarned(p) {
						return p, true
					}
				}
				return 0, false
			},
			TRC:            trc,
			MayRecirculate: func(Time) bool { return may },
		}
	}
	for _, c := range []struct {
		name    string
		alg     *Alg1
		initial Path
		want    Decision
	}{
		{"unwarned", alg(5, true), 2, Decision{Path: 2}},
		{"small difference", alg(5, true, 0), 0, Decision{Path: 1, Flag: Rerouted}},
		{"difference equal to t_rc", alg(2, true, 0), 0, Decision{Path: 1, Flag: Rerouted}},
		{"large difference", alg(1, true, 0), 0, Decision{Path: 0, Flag: Recirculated}},
		{"large difference to the first one free", alg(5, true, 0, 1), 0, Decision{Path: 0, Flag: Recirculated}},
		{"not allowed to recirculate", alg(5, false, 0, 1), 0, Decision{Path: 0, Flag: Direct, Warned: true}},
		{"slower path first", alg(5, true, 2), 2, Decision{Path: 3, Flag: Rerouted}},
		{"not measured", alg(0, true, 4), 4, Decision{Path: 0, Flag: Rerouted}},
		{"all warned", alg(5, true, 0, 1, 2, 3, 4), 1, Decision{Path: 1, Warned: true}},
		{"last one free", alg(50, true, 0, 1, 2, 4), 0, Decision{Path: 3, Flag: Rerouted}},
	} {
		if got := c.alg.Route(c.initial); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// At 40 Gb/s (5 bytes/ns) and t_rc = 2 µs, C·t_rc is 10 KB: with n = 15 and
// 40 KB queued, 256 − 40 − 14·10 = 76 KB are free.
func TestEq5CountsPacketsInTheFreeBuffer(t *testing.T) {
	if trc := TRC(5_000, Ratio{1, 5}, 1000); trc != 2000 {
		t.Fatalf("t_rc = %d", trc)
	}
	if n := Eq5(256_000, 40_000, 14*10_000, 1000); n != 76 {
		t.Errorf("N_rc = %d, want 76", n)
	}
	if n := Eq5(256_000, 40_001, 14*10_000, 1000); n != 75 {
		t.Errorf("N_rc = %d, want 75", n)
	}
	if n := Eq5(256_000, 200_000, 14*10_000, 1000); n != 0 {
		t.Errorf("N_rc = %d in a full buffer, want 0", n)
	}
	if !Eq6(6, 4, 10) || Eq6(7, 4, 10) {
		t.Error("Eq. 6 allows what does not exceed the difference")
	}
}

func TestAlgorithm2NamesThePortThatLeadsTwice(t *testing.T) {
	f := FailureDetector{NRCNum: 2, NRCDen: 1}
	// Each window has packets that were recirculated for the third time.
	window := func(adjacent bool, pass int64, ports ...int) (int, bool) {
		var w Window
		for _, p := range ports {
			w.Recirculated(p, pass)
		}
		return f.Close(&w, adjacent)
	}
	for i, c := range []struct {
		adjacent bool
		pass     int64
		ports    []int
		found    bool
	}{
		{true, 3, []int{3, 4, 3}, false},
		{true, 3, []int{4, 3, 3}, true}, // twice running
		{true, 3, []int{3}, false},      // the count starts again
		{true, 3, []int{4}, false},      // another port leads
		{true, 2, []int{4}, false},      // an average of 2 does not exceed 2
		{true, 3, []int{4}, false},
		{false, 3, []int{5}, false}, // a silence follows
		{true, 3, []int{5}, false},
		{false, 3, []int{6, 5}, true}, // of equal ones, the lowest
		{true, 3, []int{5}, false},
	} {
		if port, found := window(c.adjacent, c.pass, c.ports...); found != c.found {
			t.Errorf("window %d: port %d %v, want %v", i, port, found, c.found)
		}
	}
}

func TestPrestoStartsAFlowcellEvery64KB(t *testing.T) {
	f := Flowcell{}
	var paths []Path
	for range 132 {
		paths = append(paths, f.Packet(1000, FlowcellBytes, 2, 3))
	}
	// 65 packets of 1000 bytes are the most that fit into 65,536.
	for i, p := range paths {
		if want := (2 + i/65) % 3; p != want {
			t.Fatalf("packet %d on path %d, want %d", i, p, want)
		}
	}
}

func TestLetFlowDrawsAfterAGap(t *testing.T) {
	var f Flowlet
	for _, c := range []struct {
		now        Time
		draw, want Path
	}{{0, 3, 3}, {100, 1, 3}, {201, 2, 2}, {301, 0, 2}, {402, 0, 0}} {
		if got := f.LetFlow(c.now, 100, c.draw); got != c.want {
			t.Errorf("at %d: path %d, want %d", c.now, got, c.want)
		}
	}
}

func TestDRILLRemembersTheShortest(t *testing.T) {
	queues := []Bytes{50, 20, 20, 90}
	q := func(p Path) Bytes { return queues[p] }
	d := DRILL{Best: 3}
	for _, c := range []struct{ s1, s2, best Path }{
		{0, 1, 1},
		{2, 0, 1}, // as short as the remembered one
		{0, 3, 1},
	} {
		if best := d.Packet(c.s1, c.s2, q); best != c.best || d.Best != c.best {
			t.Errorf("samples %d, %d: %d, want %d", c.s1, c.s2, best, c.best)
		}
	}
	if p := Shortest(nil, q); p != -1 {
		t.Errorf("shortest of none: %d", p)
	}
}

func TestDREFollowsTheRate(t *testing.T) {
	// τ = 1024 ticks, 1 byte per tick is full: a byte adds 64 of 65,536.
	const weight = 64 << 16
	for _, c := range []struct{ length, low, high int64 }{{32, 64_000, 67_000}, {16, 32_000, 34_000}} {
		d := DRE{}
		now := Time(0)
		for ; now < 20_000; now += 32 {
			d.Packet(now, 10, c.length, weight)
		}
		if d.X < c.low || d.X > c.high {
			t.Errorf("%d bytes per 32 ticks: X = %d", c.length, d.X)
		}
		if x := d.At(now+1024, 10); x != 0 {
			t.Errorf("X = %d on an idle link", x)
		}
	}
	if Quantize(8191, 3) != 0 || Quantize(8192, 3) != 1 || Quantize(70_000, 3) != 7 {
		t.Error("three bits")
	}
}

func TestCONGAPrefersTheLeastCongested(t *testing.T) {
	last := func() Path { return 2 }
	f := Flowlet{Valid: true, Path: 2, Last: 0}
	if p := f.CONGA(50, 100, []int64{0, 0, 7}, last); p != 2 {
		t.Errorf("inside the flowlet: %d", p)
	}
	if p := f.CONGA(500, 100, []int64{3, 1, 1}, last); p != 2 {
		t.Errorf("the cached port is as good as any: %d", p)
	}
	if p := f.CONGA(1000, 100, []int64{1, 1, 2}, last); p != 0 { // 0 follows 2
		t.Errorf("new flowlet: %d", p)
	}
	f = Flowlet{}
	if p := f.CONGA(1000, 100, []int64{1, 1, 1}, last); p != 2 {
		t.Errorf("new flow: %d", p)
	}
	if m := PathMetric(2, CongestionEntry{Metric: 5, At: 0}, 10, 10); m != 5 {
		t.Errorf("metric %d", m)
	}
	if m := PathMetric(2, CongestionEntry{Metric: 5, At: 0}, 11, 10); m != 2 {
		t.Errorf("aged metric %d", m)
	}
}

func TestCLBClasses(t *testing.T) {
	if q := DefaultQthr(256_000); q != 170_666 {
		t.Errorf("Q_thr = %d, want 170 KB", q)
	}
	for _, c := range []struct {
		q, dq Bytes
		want  PathType
	}{
		{169, 0, PathA}, {169, -5, PathA}, {169, 1, PathB},
		{170, 0, PathC}, {170, -1, PathC}, {171, 0, PathC}, {171, 1, PathD},
		{170, 1, PathD}, // without a class in the paper's line 8
	} {
		if got := Classify(CLBPort{c.q, c.dq}, 170); got != c.want {
			t.Errorf("q = %d, dq = %d: class %d, want %d", c.q, c.dq, got, c.want)
		}
	}
}

func TestCLBDifferencesQueues(t *testing.T) {
	var c QueueChange
	for _, x := range []struct{ q, dq Bytes }{{100, 100}, {250, 150}, {200, -50}, {200, 0}} {
		if c.Sample(x.q); c.QDt != x.dq {
			t.Errorf("at %d: %d, want %d", x.q, c.QDt, x.dq)
		}
	}
}

func TestCLBForwardsByClass(t *testing.T) {
	none := func(int) int64 { return 0 }
	for _, c := range []struct {
		name  string
		ports []CLBPort
		tr    func(int) int64
		want  int
	}{
		{"A: shortest queue", []CLBPort{{50, 0}, {10, -1}, {5, 1}}, none, 1},
		{"B: slowest growth", []CLBPort{{50, 10}, {90, 4}, {200, -3}}, none, 1},
		{"C: nearest to the threshold", []CLBPort{{300, -9}, {180, 0}, {170, 8}}, none, 1},
		{"D: slowest growth", []CLBPort{{200, 90}, {300, 80}}, none, 1},
		{"tie: fewest flows of the coflow", []CLBPort{{50, 0}, {52, 0}, {60, 0}}, func(p int) int64 { return []int64{3, 1, 0}[p] }, 1},
		{"tie: same flows", []CLBPort{{52, 0}, {50, 0}}, none, 0},
	} {
		classes := make([]PathType, len(c.ports))
		for i, p := range c.ports {
			classes[i] = Classify(p, 170)
		}
		if got := Forward(c.ports, classes, c.tr, 5); got != c.want {
			t.Errorf("%s: port %d, want %d", c.name, got, c.want)
		}
	}
}

func TestPLBReroutesByClass(t *testing.T) {
	const low, full = 50, 95
	good := func(rtt Time) PLBPath { return PLBPath{RTT: rtt, Util: 50, Active: true} }
	busy := func(rtt Time) PLBPath { return PLBPath{RTT: rtt, Util: 97, Active: true} }
	paused := func(util int64) PLBPath { return PLBPath{RTT: 90, Util: util, Active: true} }
	out := PLBPath{RTT: 10, Util: 10}
	for _, c := range []struct {
		name  string
		paths []PLBPath
		from  Path
		want  Path
	}{
		{"free path of least RTT", []PLBPath{busy(60), good(40), good(30), out}, 0, 2},
		{"paused path of most use", []PLBPath{busy(60), paused(20), paused(60), out}, 0, 2},
		{"congested path of least RTT", []PLBPath{busy(70), busy(60), out}, 0, 1},
		{"free before paused before congested", []PLBPath{busy(50), paused(20), good(40)}, 0, 2},
		{"equal paths, in turn", []PLBPath{good(40), good(40), good(40)}, 1, 1},
		{"all kicked out", []PLBPath{out, out}, 1, 1},
	} {
		if got := Reroute(c.paths, c.from, low, full); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if Reroutes(false, good(30), low, full) || Reroutes(false, paused(3), low, full) ||
		!Reroutes(true, good(30), low, full) || !Reroutes(false, busy(50), low, full) || !Reroutes(false, out, low, full) {
		t.Error("line 3 of Algorithm 2")
	}
	if td := Tolerable([]PLBPath{good(30), good(45), out, busy(70)}, 0); td != 15 {
		t.Errorf("t_td = %d, want 15", td)
	}
	if td := Tolerable([]PLBPath{good(30), good(45)}, 1); td != 0 {
		t.Errorf("t_td of the slower path = %d", td)
	}
	if td := Tolerable([]PLBPath{good(30), out}, 0); td != 0 {
		t.Errorf("t_td of the only path = %d", td)
	}
}

func TestPLBWaitsWhileItPays(t *testing.T) {
	s := Sojourn{Avg: 16}
	if !s.Waits(16, 3) || s.Waits(15, 3) || s.Waits(16, 17) {
		t.Error("a packet waits if it can tolerate the expected wait")
	}
	// 40 KB at 5 bytes per ns are 8 µs.
	if tpd := TPD(40_000, Ratio{1, 5}); tpd != 8000 {
		t.Errorf("t_pd = %d", tpd)
	}
	if ttd := s.Dequeued(100, 1000, 1040, 3); ttd != 60 || s.Avg != 16-2+5 {
		t.Errorf("t_td = %d, t_avgST = %d", ttd, s.Avg)
	}
	if ttd := s.Dequeued(10, 1000, 1040, 3); ttd != 0 {
		t.Errorf("t_td = %d", ttd)
	}
}

// PCN, fig. 10: w_min = 1/128, w_max = 0.5, rate from 0: "no more than 10% of
// the line rate in the first 5 CNPs, but increases to 95% of the line rate
// after only 15 CNPs".
func TestPCNIncreaseFollowsFig10(t *testing.T) {
	r := PCNRate{SendRate: 0, LineRate: 1, W: 1. / 128, WMin: 1. / 128, WMax: .5}
	for i := 1; i <= 15; i++ {
		r.CNP(false, 0)
		if i == 5 && r.SendRate > .1 {
			t.Errorf("after 5 CNPs %.3f of the line rate", r.SendRate)
		}
	}
	if r.SendRate < .95 {
		t.Errorf("after 15 CNPs %.3f of the line rate", r.SendRate)
	}
	r.CNP(true, .5)
	if want := .5 * (1 - 1./128); math.Abs(r.SendRate-want) > 1e-12 || r.W != r.WMin {
		t.Errorf("rate %.4f after a congested CNP, want %.4f", r.SendRate, want)
	}
	r.CNP(true, .9) // not above the present rate
	if want := .5 * (1 - 1./128); math.Abs(r.SendRate-want) > 1e-12 {
		t.Errorf("a congested CNP raised the rate to %.4f", r.SendRate)
	}
}

// PCN, fig. 4 and section 5.1: all packets of a real congestion are marked,
// none without a queue, and those that a pause held are not.
func TestNPECNSparesPausedPackets(t *testing.T) {
	var c NPECN
	marks := func(behind ...int64) (m []bool) {
		for _, b := range behind {
			m = append(m, c.Transmit(b))
		}
		return m
	}
	if m := marks(9, 8, 1); !slices.Equal(m, []bool{true, true, true}) {
		t.Errorf("real congestion: %v", m)
	}
	if m := marks(0, 0); !slices.Equal(m, []bool{false, false}) {
		t.Errorf("no congestion: %v", m)
	}
	c.Resume(3)
	if m := marks(4, 3, 2, 1, 0); !slices.Equal(m, []bool{false, false, false, true, false}) {
		t.Errorf("after a RESUME with three waiting: %v", m)
	}
}

// PB-FS with its section V: 25 Gb/s, DC_RTT 25 µs (78,125 bytes), N = 8, slots
// of 1562 ns, Δ = 6 packets of 1000 bytes = 1920 ns, two slots.
func TestPBFSExtrapolatesTheLastSlot(t *testing.T) {
	c := PBFS{N: 8, Recent: 2, BDP: 78_125}
	r := Ring{}
	// One sender at the line rate: 4.88 KB per slot, nothing queued. Not
	// congested: 8·I + 8·I = 78 KB is what the port can send.
	for n := int64(100); n < 108; n++ {
		r.Packet(n, 4882, 0, n == 107)
	}
	r.Packet(108, 1000, 0, true) // the trigger, in the running slot
	p, congested := r.Congested(c, 108)
	if congested || p.Ip != 16*4882 || p.Q1 != 0 {
		t.Errorf("line rate: %+v %v", p, congested)
	}
	if p.RecentBytes != 2*4882+1000 || p.RecentMarkedBytes != 4882+1000 {
		t.Errorf("recent bytes %d, marked %d", p.RecentBytes, p.RecentMarkedBytes)
	}
	// A byte more in the last slot counts nine times.
	r.Packet(107, 1, 0, false)
	if p, congested := r.Congested(c, 108); congested || p.Ip != 16*4882+9 {
		t.Errorf("%+v %v", p, congested)
	}
	// A queue at the start of the window must be sent first.
	r[100].Q = 1000
	if p, congested := r.Congested(c, 108); !congested || p.Q1 != 1000 {
		t.Errorf("%+v %v", p, congested)
	}
	// A window later nothing is left of it.
	if p, congested := r.Congested(c, 117); congested || p.Ip != 0 || p.Q1 != 0 {
		t.Errorf("%+v %v", p, congested)
	}
}

// Pmax 1 % between 5 and 200 KB: half way 0.5 % are marked.
func TestREDMarksLinearly(t *testing.T) {
	const pmax = 1 << 32 / 100
	r := RED{KMin: 5_000, KMax: 200_000, Ramp: pmax / 195_000}
	marked := 0
	const draws = 100_000
	for i := range int64(draws) {
		if r.Marks(102_500, i<<32/draws) {
			marked++
		}
	}
	if marked < 495 || marked > 500 {
		t.Errorf("%d of %d draws mark, want nearly 500", marked, draws)
	}
	if r.Marks(5_000, 0) || r.Marks(200_000, 1<<32-1) || !r.Marks(200_001, 1<<32-1) {
		t.Error("outside of the ramp")
	}
}

func TestPFCPausesAndResumes(t *testing.T) {
	p := Pauser{XOFF: 100, XON: 60, Refresh: 50}
	for _, c := range []struct {
		q    Bytes
		now  Time
		want PFCFrame
	}{{100, 0, NoFrame}, {101, 1, PauseFrame}, {200, 50, NoFrame}, {101, 51, PauseFrame}} {
		if got := p.Arrive(c.q, c.now); got != c.want {
			t.Errorf("%d bytes at %d: %v, want %v", c.q, c.now, got, c.want)
		}
	}
	if p.Depart(61) != NoFrame || p.Depart(60) != ResumeFrame || p.Depart(0) != NoFrame {
		t.Error("resumes once, at XON")
	}
	// At 40 Gb/s a quantum is 12.8 ns.
	quantum := Ratio{128, 10}
	var e PausedPort
	if e.Receive(100, quantum, 1000); !e.Paused(2279) || e.Paused(2280) {
		t.Error("100 quanta last 1280 ns")
	}
	if e.Receive(0, quantum, 2000); e.Paused(2000) {
		t.Error("zero quanta resume")
	}
}

func TestTelemetryCountsTheTransmitted(t *testing.T) {
	p := INTPort{B: 40, TxBytes: 1000}
	if h := p.Transmit(7, 500, 3000); h != (Hop{B: 40, TS: 7, TxBytes: 1500, QLen: 3000}) || p.TxBytes != 1500 {
		t.Errorf("%+v", h)
	}
}
