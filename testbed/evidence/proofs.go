// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// gainsWithoutCauses checks causes of the form that with something else a gain is as
// large as the paper's, or at least as large: the experiment's effect must be so.
func (d *documents) gainsWithoutCauses() {
	for _, s := range shown {
		if !strings.Contains(s.cause, "as large as in the paper") && s.cause != incastQueues {
			continue
		}
		n := 0
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
					n++
					there := *j
					there.Claim.Paper = c.Claim.Paper
					if pointsLess(&there) > 0 || !strings.Contains(s.cause, "at least as large") && !near(&there) {
						d.problem("%s is named as a cause of %q of %s, %v, but has %v", by.File(), c.Text, of.File(), c.Effect, j.Effect)
					}
				}
			}
		}
		if n == 0 {
			d.problem("%s has no claim like one of %s", s.by, s.experiment)
		}
	}
}

// causesShown checks that the experiments that are named as causes came out so.
func (d *documents) causesShown() {
	for _, s := range shown {
		if s.bound {
			continue // limit compares it with the paper's effect
		}
		n, scale := 0, scenario.Small
		if s.paper || s.byPaper {
			scale = scenario.Paper
		}
		o := d.kept(s.by, scale)
		if o == nil {
			d.problem("%s has no outcome at the papers' scale", s.by)
			continue
		}
		for _, c := range o.Claims {
			if !s.proof.has(&c) {
				continue
			}
			n++
			want := result.Holds
			if s.proof.refuted {
				want = result.Refuted
			}
			if c.Verdict != want {
				d.problem("%s is named as the cause of %s, but %q at %q is %s", s.by, s.experiment, c.Text, c.Point, c.Verdict)
			}
		}
		if n == 0 {
			d.problem("%s has no claims of %+v", s.by, s.proof)
		}
	}
}
