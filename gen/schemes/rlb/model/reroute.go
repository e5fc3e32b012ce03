// SPDX-License-Identifier: Apache-2.0

package rlb

import "github.com/pauseless/pauseless/internal/model"

// RLB, section III-B.2, Algorithm 1: rerouting without packet reordering.

// FwdFlag is fwd.flag of section V: what the tables make of a packet.
type FwdFlag int

// Values of FwdFlag.
const (
	Direct FwdFlag = iota
	Rerouted
	Recirculated
)

// Alg1 is the view of the paths that Algorithm 1 has for one packet.
type Alg1 struct {
	Warned func(model.Path) bool       // p.h_PFC
	RTT    func(model.Path) model.Time // p.t_RTT
	// Known says that the RTT of a path was measured, and not too long ago.
	Known func(model.Path) bool
	// Suboptimal gives the next choice of the base scheme that has no warning,
	// or reports false if there is none.
	Suboptimal func(p model.Path) (model.Path, bool)
	TRC        model.Time // t_rc
	// MayRecirculate is the criterion of section IV-B.1 for a packet whose
	// delay difference p_s.t_RTT − p.t_RTT is diff.
	MayRecirculate func(diff model.Time) bool
}

// A Decision is the outcome of Algorithm 1.
type Decision struct {
	Path model.Path
	Flag FwdFlag
	// Warned says that the packet goes a path that has a warning.
	Warned bool
}

// Route is Algorithm 1 for one packet with the initial path.
//
// Readings: the loop of lines 3 to 8 goes on "until choosing an appropriate
// path"; a path p_s that is warned itself is no alternative and is not
// compared with, so p_s is the first of the base scheme's choices without a
// warning. If there is none the packet keeps the initial path. A warned path
// carries no packets to measure it by, so after a while its t_RTT says nothing
// about it any more; the difference is then not known to be large.
// If section IV-B.1 forbids to recirculate, "the packet is directed to the
// optimal path rather than recirculating".
func (a *Alg1) Route(initial model.Path) Decision {
	p := initial      // line 2
	if !a.Warned(p) { // line 3, else line 9
		return Decision{Path: p, Flag: Direct} // lines 10, 11
	}
	ps, ok := a.Suboptimal(p) // line 4
	if !ok {
		return Decision{Path: p, Flag: Direct, Warned: true}
	}
	diff := a.RTT(ps) - a.RTT(p)
	if a.Known(p) && diff > a.TRC { // line 5
		if a.MayRecirculate(diff) {
			return Decision{Path: p, Flag: Recirculated} // line 6
		}
		return Decision{Path: p, Flag: Direct, Warned: true}
	}
	return Decision{Path: ps, Flag: Rerouted} // line 8, then 3, 9 to 11
}
