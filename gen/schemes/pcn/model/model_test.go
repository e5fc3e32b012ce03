// SPDX-License-Identifier: Apache-2.0

package np_ecn

import (
	"math"
	"slices"
	"testing"
)

// PCN, fig. 10: w_min = 1/128, w_max = 0.5, rate from 0: "no more than 10% of
// the line rate in the first 5 CNPs, but increases to 95% of the line rate
// after only 15 CNPs".
func TestPCNIncreaseFollowsFig10(t *testing.T) {
	r := PCNRate{SendRate: 0, LineRate: 1, W: 1. / 128, WMin: 1. / 128, WMax: .5}
	for i := 1; i <= 15; i++ {
		r.CNP(false, 0)
		if i == 5 && r.SendRate > .1 {
			t.Errorf("after 5 CNPs %.3f of the line rate", r.SendRate)
		}
	}
	if r.SendRate < .95 {
		t.Errorf("after 15 CNPs %.3f of the line rate", r.SendRate)
	}
	r.CNP(true, .5)
	if want := .5 * (1 - 1./128); math.Abs(r.SendRate-want) > 1e-12 || r.W != r.WMin {
		t.Errorf("rate %.4f after a congested CNP, want %.4f", r.SendRate, want)
	}
	r.CNP(true, .9) // not above the present rate
	if want := .5 * (1 - 1./128); math.Abs(r.SendRate-want) > 1e-12 {
		t.Errorf("a congested CNP raised the rate to %.4f", r.SendRate)
	}
}

// PCN, fig. 4 and section 5.1: all packets of a real congestion are marked,
// none without a queue, and those that a pause held are not.
func TestNPECNSparesPausedPackets(t *testing.T) {
	var c NPECN
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
