// SPDX-License-Identifier: Apache-2.0

package rlb

import "github.com/pauseless/pauseless/internal/model"

// RLB, section III-B.2, Algorithm 1: rerouting without packet reordering.

// FwdFlag is fwd.flag of section V: the result of the tables for a packet.
type FwdFlag int

// Values of FwdFlag.
const (
	Direct FwdFlag = iota
	Rerouted
	Recirculated
)

// Alg1 is the state of the paths for Algorithm 1 and one packet.
type Alg1 struct {
	Warned func(model.Path) bool       // p.h_PFC
	RTT    func(model.Path) model.Time // p.t_RTT
	// Known reports whether the RTT of a path was measured, and is not too old.
	Known func(model.Path) bool
	// Next returns the base scheme's next choice, warned or not, and Free the best
	// without a warning; they report false if there is none.
	Next, Free func() (model.Path, bool)
	TRC        model.Time // t_rc
	// MayRecirculate is the criterion of section IV-B.1 for a packet on its way
	// to p whose delay difference p_s.t_RTT − p.t_RTT is diff.
	MayRecirculate func(p model.Path, diff model.Time) bool
}

// A Decision is the outcome of Algorithm 1.
type Decision struct {
	Path model.Path
	Flag FwdFlag
	// Warned is true if the path has a warning.
	Warned bool
}

// Route is Algorithm 1 for one packet with the initial path.
//
// Readings: the loop of lines 3 to 8 goes on "until choosing an appropriate
// path". In its second iteration, for a path p_s that is warned itself, p_s is the
// best of the base's choices without a warning, instead of one choice after the
// other; if there is none, the packet keeps the initial path. The t_RTT of a path that
// was never measured does not count as small.
// If section IV-B.1 forbids to recirculate, "the packet is directed to the
// optimal path rather than recirculating".
func (a *Alg1) Route(initial model.Path) Decision {
	p := initial      // line 2
	if !a.Warned(p) { // line 3, else line 9
		return Decision{Path: p, Flag: Direct} // lines 10, 11
	}
	next := a.Next
	for {
		ps, ok := next() // line 4
		if !ok {
			return Decision{Path: initial, Flag: Direct, Warned: true}
		}
		if diff := a.RTT(ps) - a.RTT(p); a.Known(p) && diff > a.TRC { // line 5
			if a.MayRecirculate(p, diff) {
				return Decision{Path: p, Flag: Recirculated} // line 6
			}
			return Decision{Path: p, Flag: Direct, Warned: true}
		}
		if p = ps; !a.Warned(p) { // line 8, then 3
			return Decision{Path: p, Flag: Rerouted} // lines 9 to 11
		}
		next = a.Free
	}
}
