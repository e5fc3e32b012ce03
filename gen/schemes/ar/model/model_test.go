// SPDX-License-Identifier: Apache-2.0

package ar

import "testing"

func TestTheFirstPathOfTheLowestBandInTurn(t *testing.T) {
	queues := []int64{0, 900, 1000, 9000}
	for _, c := range []struct {
		from  int
		width int64
		want  int
	}{
		{2, 1000, 0}, // the first from 2 on in the lowest band
		{1, 1000, 1},
		{1, 0, 0}, // by bytes
		{3, 10_000, 3},
	} {
		if got := Choose(c.from, len(queues), func(p int) int64 { return Band(queues[p], c.width) }); got != c.want {
			t.Errorf("bands of %d from path %d: takes %d, want %d", c.width, c.from, got, c.want)
		}
	}
}

// The factor that stands for a division is exact.
func TestBandsAreQueuesByWidth(t *testing.T) {
	for _, width := range []int64{1, 64, 1000, 16_000, 65_537} {
		for q := int64(0); q < 9*width; q += 1 + width/97 {
			if got := min(q*factor(width)>>32, highest); got != Band(q, width) {
				t.Fatalf("%d bytes in bands of %d are in band %d, want %d", q, width, got, Band(q, width))
			}
		}
	}
}
