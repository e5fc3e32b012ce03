// SPDX-License-Identifier: Apache-2.0

package plb

import (
	"testing"

	"github.com/pauseless/pauseless/internal/model"
)

func TestPLBReroutesByClass(t *testing.T) {
	const low, full = 50, 95
	good := func(rtt model.Time) Path { return Path{RTT: rtt, Util: 50, Active: true} }
	busy := func(rtt model.Time) Path { return Path{RTT: rtt, Util: 97, Active: true} }
	paused := func(util int64) Path { return Path{RTT: 90, Util: util, Active: true} }
	out := Path{RTT: 10, Util: 10}
	for _, c := range []struct {
		name  string
		paths []Path
		from  model.Path
		want  model.Path
	}{
		{"free path of least RTT", []Path{busy(60), good(40), good(30), out}, 0, 2},
		{"paused path of most use", []Path{busy(60), paused(20), paused(60), out}, 0, 2},
		{"congested path of least RTT", []Path{busy(70), busy(60), out}, 0, 1},
		{"free before paused before congested", []Path{busy(50), paused(20), good(40)}, 0, 2},
		{"equal paths, in turn", []Path{good(40), good(40), good(40)}, 1, 1},
		{"all kicked out", []Path{out, out}, 1, 1},
	} {
		if got := Reroute(c.paths, c.from, low, full); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if Reroutes(false, good(30), low, full) || Reroutes(false, paused(3), low, full) ||
		!Reroutes(true, good(30), low, full) || !Reroutes(false, busy(50), low, full) || !Reroutes(false, out, low, full) {
		t.Error("line 3 of Algorithm 2")
	}
	if td := Tolerable([]Path{good(30), good(45), out, busy(70)}, 0); td != 15 {
		t.Errorf("t_td = %d, want 15", td)
	}
	if td := Tolerable([]Path{good(30), good(45)}, 1); td != 0 {
		t.Errorf("t_td of the slower path = %d", td)
	}
	if td := Tolerable([]Path{good(30), out}, 0); td != 0 {
		t.Errorf("t_td of the only path = %d", td)
	}
}

func TestPLBWaitsWhileItPays(t *testing.T) {
	s := Sojourn{Avg: new(model.Time)}
	*s.Avg = 16
	if !s.Waits(16, 3) || s.Waits(15, 3) || s.Waits(16, 17) {
		t.Error("a packet waits if it can tolerate the expected wait")
	}
	// 40 KB at 5 bytes per ns are 8 µs.
	if tpd := TPD(40_000, model.Ratio{Num: 1, Den: 5}); tpd != 8000 {
		t.Errorf("t_pd = %d", tpd)
	}
	if ttd := s.Dequeued(100, 1000, 1040, 3); ttd != 60 || *s.Avg != 16-2+5 {
		t.Errorf("t_td = %d, t_avgST = %d", ttd, *s.Avg)
	}
	if ttd := s.Dequeued(10, 1000, 1040, 3); ttd != 0 {
		t.Errorf("t_td = %d", ttd)
	}
}
