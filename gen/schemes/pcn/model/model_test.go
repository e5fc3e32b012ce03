// SPDX-License-Identifier: Apache-2.0

package np_ecn

import (
	"slices"
	"testing"
)

// PCN, fig. 4 and section 5.1: all packets of a real congestion are marked,
// none without a queue, and those that a pause held are not.
func TestNPECNSparesPausedPackets(t *testing.T) {
	c := NPECN{new(int64)}
	marks := func(behind ...int64) (m []bool) {
		for _, b := range behind {
			m = append(m, c.Transmit(b))
		}
		return m
	}
	if m := marks(9, 8, 1); !slices.Equal(m, []bool{true, true, true}) {
		t.Errorf("real congestion: %v", m)
	}
	if m := marks(0, 0); !slices.Equal(m, []bool{false, false}) {
		t.Errorf("no congestion: %v", m)
	}
	c.Resume(3)
	if m := marks(4, 3, 2, 1, 0); !slices.Equal(m, []bool{false, false, false, true, false}) {
		t.Errorf("after a RESUME with three waiting: %v", m)
	}
}
