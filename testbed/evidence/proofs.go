// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// proven reports whether a cause may be named: the claims that are its proof all came out
// so in the experiment that shows it.
func (d *documents) proven(s *result.Cause) bool {
	is, ok := d.proofs[s]
	if !ok {
		is = d.shows(s)
		d.proofs[s] = is
	}
	return is
}

// gains checks a cause of the form that with something else a gain is as large as the
// paper's, or at least as large: the experiment's effect must be so.
func (d *documents) gains(s *result.Cause, c *result.Judged) bool {
	by := d.kept(s.By, cmp.Or(s.Scale, scenario.Small))
	if s.Gain == "" || by == nil || c.PointsLess() == 0 {
		return true
	}
	for k := range by.Claims {
		j := &by.Claims[k]
		if !s.Proof.Has(j) || j.Claim.With != c.Claim.With && j.Claim.With != s.Proof.With || j.Claim.Than != c.Claim.Than && j.Claim.Than != s.Proof.Than || len(j.Claim.ThanAt) > 0 {
			continue
		}
		there := *j
		there.Claim.Paper = c.Claim.Paper
		if there.PointsLess() > 0 || s.Gain != "more" && !there.Near() {
			return false
		}
	}
	return true
}

// shows checks that the claims that are the proof of a cause all came out so.
func (d *documents) shows(s *result.Cause) bool {
	if s.Bound {
		return true // limit compares it with the paper's effect
	}
	o := d.kept(s.By, cmp.Or(s.Scale, scenario.Small))
	if o == nil {
		d.problem("%s, which is to show a cause, has no outcome at scale %s", s.By, cmp.Or(s.Scale, scenario.Small))
		return false
	}
	want, n := result.Holds, 0
	if s.Proof.Refuted {
		want = result.Refuted
	}
	for i := range o.Claims {
		if c := &o.Claims[i]; s.Proof.Has(c) {
			if n++; c.Verdict != want {
				return false
			}
		}
	}
	if n == 0 {
		d.problem("%s has no claims of %+v", s.By, s.Proof)
	}
	return n > 0
}
