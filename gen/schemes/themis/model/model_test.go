// SPDX-License-Identifier: Apache-2.0

package themis

import "testing"

func TestPacketsTakeThePathsInTurn(t *testing.T) {
	for paths := 2; paths <= 8; paths++ {
		for n := int64(0); n < 40; n++ {
			if a, b := Path(7, n, paths), Path(7, n+1, paths); b != (a+1)%paths {
				t.Errorf("of %d paths, packets %d and %d take %d and %d", paths, n, n+1, a, b)
			}
		}
	}
}

func TestNumbersWrap(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		want bool
	}{
		{5, 5, true}, {6, 5, true}, {5, 6, false},
		{1, numbers - 2, true}, {numbers - 2, 1, false},
	} {
		if got := Passed(c.a, c.b); got != c.want {
			t.Errorf("whether %d has come once %d has passed: %v, want %v", c.b, c.a, got, c.want)
		}
	}
}
