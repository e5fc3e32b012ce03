// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// proven reports whether a cause may be named: the experiment that shows it came out so.
func (d *documents) proven(s *known) bool {
	is, ok := d.proofs[s]
	if !ok {
		is = d.shows(s) && d.gains(s)
		d.proofs[s] = is
	}
	return is
}

// gains checks a cause of the form that with something else a gain is as large as the
// paper's, or at least as large: the experiment's effect must be so.
func (d *documents) gains(s *known) bool {
	if !strings.Contains(s.cause, "as large as in the paper") && s.cause != incastQueues {
		return true
	}
	for _, scale := range []string{scenario.Small, scenario.Paper} {
		if s.paper && scale == scenario.Small || s.small && scale == scenario.Paper {
			continue
		}
		of, by := d.kept(s.experiment, scale), d.kept(s.by, scale)
		switch {
		case s.byPaper:
			by = d.kept(s.by, scenario.Paper)
		case by == nil:
			by = d.kept(s.by, scenario.Small)
		}
		if of == nil || by == nil {
			continue
		}
		for i := range of.Claims {
			c := &of.Claims[i]
			if _, metric := c.Claim.Relation(); metric != s.metric || s.with != "" && s.with != c.Claim.With || s.than != "" && s.than != c.Claim.Than || !strings.Contains(c.Point, s.point) || pointsLess(c) == 0 {
				continue
			}
			for k := range by.Claims {
				j := &by.Claims[k]
				if !s.proof.has(j) || j.Claim.With != c.Claim.With && j.Claim.With != s.proof.with || j.Claim.Than != c.Claim.Than && j.Claim.Than != s.proof.than || len(j.Claim.ThanAt) > 0 {
					continue
				}
				there := *j
				there.Claim.Paper = c.Claim.Paper
				if pointsLess(&there) > 0 || !strings.Contains(s.cause, "at least as large") && !near(&there) {
					return false
				}
			}
		}
	}
	return true
}

// shows checks that the claims that are the proof of a cause all came out so.
func (d *documents) shows(s *known) bool {
	if s.bound {
		return true // limit compares it with the paper's effect
	}
	scale := scenario.Small
	if s.paper || s.byPaper {
		scale = scenario.Paper
	}
	o := d.kept(s.by, scale)
	if o == nil {
		d.problem("%s has no outcome at the papers' scale", s.by)
		return false
	}
	want, n := result.Holds, 0
	if s.proof.refuted {
		want = result.Refuted
	}
	for i := range o.Claims {
		if c := &o.Claims[i]; s.proof.has(c) {
			if n++; c.Verdict != want {
				return false
			}
		}
	}
	if n == 0 {
		d.problem("%s has no claims of %+v", s.by, s.proof)
	}
	return n > 0
}
