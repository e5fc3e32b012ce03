// SPDX-License-Identifier: Apache-2.0

package themis

import (
	"testing"

	"github.com/pauseless/pauseless/internal/model"
)

func TestPacketsTakeThePathsInTurn(t *testing.T) {
	for paths := 2; paths <= 8; paths++ {
		for n := int64(0); n < 40; n++ {
			if a, b := Path(7, n, paths), Path(7, n+1, paths); b != (a+1)%paths {
				t.Errorf("of %d paths, packets %d and %d take %d and %d", paths, n, n+1, a, b)
			}
		}
	}
}

// Of four paths, path 1 has had packets 1 and 5; 9 was lost, 13 came.
func TestAGapOnAPathIsALoss(t *testing.T) {
	s := &model.Switch{Seen: map[string]int{}}
	flow, number, from, until := int64(0), int64(0), int64(0), int64(0)
	r := row{&flow, &number, &from, &until}
	for _, n := range []int64{1, 5, 13} {
		r.pass(s, 7, n, 4)
	}
	if !r.lost(9) || r.lost(13) || r.lost(17) {
		t.Errorf("of 9, 13 and 17, lost are %v %v %v, want 9", r.lost(9), r.lost(13), r.lost(17))
	}
	if r.pass(s, 7, 9, 4); r.lost(9) {
		t.Error("9 has come again, and counts as lost")
	}
}
