// SPDX-License-Identifier: Apache-2.0

package ar

import "testing"

func TestAFlowStaysWhileItsBandIsNoWorse(t *testing.T) {
	queues := []int64{0, 900, 1000, 9000}
	band := func(p int) int64 { return Band(queues[p], 1000) }
	for _, c := range []struct{ own, from, want int }{
		{-1, 2, 0}, // the first from 2 on in the lowest band
		{-1, 1, 1},
		{1, 0, 1}, // as low as any
		{2, 1, 1}, // a band higher than another
		{3, 2, 0},
		{7, 0, 0}, // not there any more
	} {
		if got := Choose(c.own, c.from, len(queues), band); got != c.want {
			t.Errorf("a flow of path %d with %d drawn takes %d, want %d", c.own, c.from, got, c.want)
		}
	}
}

// The factor that stands for a division is exact.
func TestBandsAreQueuesByWidth(t *testing.T) {
	for _, width := range []int64{64, 1000, 16_000, 65_537} {
		for q := int64(0); q < 9*width; q += 1 + width/97 {
			if got := min(q*factor(width)>>32, highest); got != Band(q, width) {
				t.Fatalf("%d bytes in bands of %d are in band %d, want %d", q, width, got, Band(q, width))
			}
		}
	}
}
