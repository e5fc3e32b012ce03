// SPDX-License-Identifier: Apache-2.0

package red

import (
	"testing"
)

// With Pmax = 1 % between 5 and 200 KB, 0.5 % are marked in the middle.
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
		t.Error("wrong outside the ramp")
	}
}
