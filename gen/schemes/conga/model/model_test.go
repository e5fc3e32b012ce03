// SPDX-License-Identifier: Apache-2.0

package conga

import (
	"testing"

	"github.com/pauseless/pauseless/internal/model"
)

func TestCONGAPrefersTheLeastCongested(t *testing.T) {
	last := func() model.Path { return 2 }
	f := &model.Flowlet{Valid: true, Path: 2, Last: 0}
	if p := Decide(f, 50, 100, []int64{0, 0, 7}, last); p != 2 {
		t.Errorf("inside the flowlet: %d", p)
	}
	if p := Decide(f, 500, 100, []int64{3, 1, 1}, last); p != 2 {
		t.Errorf("the cached port is as good as any: %d", p)
	}
	if p := Decide(f, 1000, 100, []int64{1, 1, 2}, last); p != 0 { // 0 follows 2
		t.Errorf("new flowlet: %d", p)
	}
	f = &model.Flowlet{}
	if p := Decide(f, 1000, 100, []int64{1, 1, 1}, last); p != 2 {
		t.Errorf("new flow: %d", p)
	}
	if m := PathMetric(2, CongestionEntry{Metric: 5, At: 0}, 10, 10); m != 5 {
		t.Errorf("metric %d", m)
	}
	if m := PathMetric(2, CongestionEntry{Metric: 5, At: 0}, 11, 10); m != 2 {
		t.Errorf("aged metric %d", m)
	}
	if Quantize(8191, 3) != 0 || Quantize(8192, 3) != 1 || Quantize(70_000, 3) != 7 {
		t.Error("three bits")
	}
}
