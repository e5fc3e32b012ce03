// SPDX-License-Identifier: Apache-2.0

package clb

import (
	"testing"

	"github.com/pauseless/pauseless/internal/model"
)

func TestCLBClasses(t *testing.T) {
	if q := DefaultQthr(256_000); q != 170_666 {
		t.Errorf("Q_thr = %d, want 170 KB", q)
	}
	for _, c := range []struct {
		q, dq model.Bytes
		want  PathType
	}{
		{169, 0, PathA}, {169, -5, PathA}, {169, 1, PathB},
		{170, 0, PathC}, {170, -1, PathC}, {171, 0, PathC}, {171, 1, PathD},
		{170, 1, PathD}, // without a class in the paper's line 8
	} {
		if got := Classify(Port{c.q, c.dq}, 170); got != c.want {
			t.Errorf("q = %d, dq = %d: class %d, want %d", c.q, c.dq, got, c.want)
		}
	}
}

func TestCLBDifferencesQueues(t *testing.T) {
	var start, qDt model.Bytes
	for _, x := range []struct{ q, dq model.Bytes }{{100, 100}, {250, 150}, {200, -50}, {200, 0}} {
		if Sample(&start, &qDt, x.q); qDt != x.dq {
			t.Errorf("at %d: %d, want %d", x.q, qDt, x.dq)
		}
	}
}

func TestCLBForwardsByClass(t *testing.T) {
	none := func(int) int64 { return 0 }
	for _, c := range []struct {
		name  string
		ports []Port
		tr    func(int) int64
		from  model.Path
		want  int
	}{
		{"A: shortest queue", []Port{{50, 0}, {10, -1}, {5, 1}}, none, 0, 1},
		{"B: slowest growth", []Port{{50, 10}, {90, 4}, {200, -3}}, none, 0, 1},
		{"C: nearest to the threshold", []Port{{300, -9}, {180, 0}, {170, 8}}, none, 0, 1},
		{"D: slowest growth", []Port{{200, 90}, {300, 80}}, none, 0, 1},
		{"tie: fewest flows of the coflow", []Port{{50, 0}, {52, 0}, {60, 0}}, func(p int) int64 { return []int64{3, 1, 0}[p] }, 0, 1},
		{"tie: same flows", []Port{{52, 0}, {50, 0}}, none, 0, 0},
		{"tie: same flows, in turn from the second", []Port{{52, 0}, {50, 0}, {60, 0}}, none, 1, 1},
		{"tie: same flows, in turn from a longer queue", []Port{{52, 0}, {50, 0}, {60, 0}}, none, 2, 0},
	} {
		classes := make([]PathType, len(c.ports))
		for i, p := range c.ports {
			classes[i] = Classify(p, 170)
		}
		if got := Forward(c.ports, classes, c.tr, 5, c.from); got != c.want {
			t.Errorf("%s: port %d, want %d", c.name, got, c.want)
		}
	}
}
