// SPDX-License-Identifier: Apache-2.0

package caver

import "testing"

func TestTheNewestPathIsTakenFirstAndTheOldestIsLost(t *testing.T) {
	var next, count int64
	var cells [slots]int64
	s := stack{&next, &count, func(slot int64) *int64 { return &cells[slot] }}
	for port := int64(1); port <= slots+2; port++ {
		s.push(port, 3)
	}
	for _, want := range []int64{slots + 2, slots + 1, slots} {
		if port, ok := s.pop(); !ok || port != want {
			t.Errorf("takes %d, %t; want %d", port, ok, want)
		}
	}
	if port, ok := s.pop(); ok {
		t.Errorf("takes %d of an empty stack", port)
	}
}

func TestAPathIsGoodEnoughBelowItsShareOfTheBestLoad(t *testing.T) {
	for _, c := range []struct {
		load, best int64
		want       bool
	}{{100, 100, true}, {119, 100, true}, {120, 100, false}, {0, 0, false}} {
		if got := Acceptable(c.load, c.best, 120); got != c.want {
			t.Errorf("load %d beside %d: %t", c.load, c.best, got)
		}
	}
}

func TestLimitsOfATofino(t *testing.T) {
	for _, c := range []struct{ best, percent, want int64 }{
		{0, 120, 0}, {12, 120, 15}, {127, 120, 153}, {127, 0, 0}, {229, 120, full}, {128, 120, 0},
	} {
		if got := Limit(c.best, c.percent); got != c.want {
			t.Errorf("beside %d of 255: below %d, want %d", c.best, got, c.want)
		}
	}
}
