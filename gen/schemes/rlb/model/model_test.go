// SPDX-License-Identifier: Apache-2.0

package rlb

import (
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/model"
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
		from   model.Bytes
		q      model.Bytes
		dt     model.Time
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
		q    model.Bytes
		now  model.Time
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
	s := model.NewSwitch(model.NewProgram(&manifest.Manifest{Sizes: manifest.Sizes{Leaves: 9, Paths: 8}}),
		&model.Config{Tables: map[string]model.Entries{"fabric_port": {1: {"path": 5}, 2: {"path": 6, "relay_group": 4}}}}, nil, 0)
	heard := func(port int, now model.Time, c model.Fields) (relayed bool) {
		s.Now, c["kind"] = now, kindWarning
		p := &model.Packet{Frame: &model.Frame{Local: c}, InPort: port, Now: now}
		hear(s, p)
		return p.Group == 4
	}
	warned := func(path model.Path, leaf int64, now model.Time) bool { s.Now = now; return warned(s, path, leaf) }

	if heard(1, 1000, model.Fields{"scope": ScopeAll, "active": 1, "hold": 100, "hops": 1}) {
		t.Error("relayed to nobody")
	}
	if !warned(5, 1, 1099) || warned(5, 1, 1100) || warned(4, 1, 1000) {
		t.Error("a warning about all leaves holds for its port and time")
	}
	c := model.Fields{"scope": 7, "active": 1, "hold": 100, "hops": 1}
	if !heard(2, 2000, c) || c["scope"] != 7 || c["hops"] != 0 {
		t.Errorf("relayed: %v", c)
	}
	if heard(2, 2000, c) {
		t.Error("relayed beyond the hop limit")
	}
	if !warned(6, 7, 2000) || warned(6, 8, 2000) {
		t.Error("a warning about one leaf holds for that leaf")
	}
	if c["active"] = 0; heard(2, 2001, c) || warned(6, 7, 2002) {
		t.Error("taken back, but still there")
	}
}

// warned0 is the path that the packet of a case would take: the first warned one.
func warned0(warned []model.Path) model.Path {
	if len(warned) == 0 {
		return 0
	}
	return warned[0]
}

func TestAlgorithm1(t *testing.T) {
	rtt := []model.Time{10, 12, 30, 11, 0}
	alg := func(trc model.Time, may bool, warned ...model.Path) *Alg1 {
		isWarned := func(p model.Path) bool { return slices.Contains(warned, p) }
		initial := warned0(warned)
		first := func(ok func(model.Path) bool) func() (model.Path, bool) {
			return func() (model.Path, bool) {
				p := initial
				for range 4 {
					if p = model.InTurn(p, 5); ok(p) {
						return p, true
					}
				}
				return 0, false
			}
		}
		return &Alg1{
			Warned:         isWarned,
			RTT:            func(p model.Path) model.Time { return rtt[p] },
			Known:          func(p model.Path) bool { return rtt[p] != 0 },
			Next:           first(func(model.Path) bool { return true }),
			Free:           first(func(p model.Path) bool { return !isWarned(p) }),
			TRC:            trc,
			MayRecirculate: func(model.Path, model.Time) bool { return may },
		}
	}
	for _, c := range []struct {
		name    string
		alg     *Alg1
		initial model.Path
		want    Decision
	}{
		{"unwarned", alg(5, true), 2, Decision{Path: 2}},
		{"small difference", alg(5, true, 0), 0, Decision{Path: 1, Flag: Rerouted}},
		{"difference equal to t_rc", alg(2, true, 0), 0, Decision{Path: 1, Flag: Rerouted}},
		{"large difference", alg(1, true, 0), 0, Decision{Path: 0, Flag: Recirculated}},
		{"large difference to the next choice, which is warned too", alg(1, true, 0, 1), 0, Decision{Path: 0, Flag: Recirculated}},
		{"large difference from the next choice on", alg(5, true, 0, 1), 0, Decision{Path: 1, Flag: Recirculated}},
		{"not allowed to recirculate", alg(1, false, 0, 1), 0, Decision{Path: 0, Flag: Direct, Warned: true}},
		{"slower path first", alg(5, true, 2), 2, Decision{Path: 3, Flag: Rerouted}},
		{"not measured", alg(0, true, 4), 4, Decision{Path: 0, Flag: Rerouted}},
		{"all warned", alg(50, true, 1, 0, 2, 3, 4), 1, Decision{Path: 1, Warned: true}},
		{"all warned, but it pays to wait", alg(5, true, 1, 0, 2, 3, 4), 1, Decision{Path: 1, Flag: Recirculated}},
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
	if trc := TRC(5_000, model.Ratio{Num: 1, Den: 5}, 1000); trc != 2000 {
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
