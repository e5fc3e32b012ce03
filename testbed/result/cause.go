// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Cause says why a claim does not come out as it says, or with a smaller effect than the
// paper states. It is named only if its proof holds in the outcome of another experiment.
type Cause struct {
	Text string `yaml:"text"` // the cause, as the first part of a sentence
	By   string `yaml:"by"`   // the experiment that shows it
	// Point limits the cause to points of the claim that have this text in them.
	Point string `yaml:"point"`
	// Of are the answers that it explains: none, opposite and smaller; the first two if it
	// is left out.
	Of []string `yaml:"of"`
	// Scale is the scale of the experiment that shows it: small if empty. For a claim at the
	// other scale the cause is a remark.
	Scale string `yaml:"scale"`
	// Bound reports whether the proof is a limit: its interval excludes the paper's effect.
	Bound bool `yaml:"bound"`
	// Gain is the required effect of the proof: paper, near the paper's effect, or more, at
	// least as large.
	Gain string `yaml:"gain"`
	// Proof names the claims of By that must all hold.
	Proof Proof `yaml:"proof"`
}

// A Proof names claims of an experiment by metric and arms; all, if it is empty.
type Proof struct {
	Metric string `yaml:"metric"` // of the claims
	With   string `yaml:"with"`   // the variant that they are about
	Than   string `yaml:"than"`   // the variant or number that they compare it with
	Point  string `yaml:"point"`  // text that their points have in them
	// Refuted requires instead that each is not reproduced, or not supported.
	Refuted bool `yaml:"refuted"`
}

// Has reports whether a claim is one of those of the proof.
func (p *Proof) Has(c *Judged) bool {
	_, metric := c.Claim.Relation()
	return (p.Metric == "" || p.Metric == metric) && (p.With == "" || p.With == c.Claim.With) && (p.Than == "" || p.Than == c.Claim.Than) && strings.Contains(c.Point, p.Point)
}

// causeOf are the answers of Cause.Of.
var causeOf = []string{None, Opposite, Smaller}

// Check returns an error about a cause that lacks something or has an unknown value.
func (s *Cause) Check() error {
	switch {
	case s.Text == "" || s.By == "":
		return fmt.Errorf("a cause needs the keys text and by, the experiment that shows it")
	case s.Scale != "" && s.Scale != "small" && s.Scale != "paper":
		return fmt.Errorf("scale is %q; use small or paper", s.Scale)
	case s.Gain != "" && s.Gain != "paper" && s.Gain != "more":
		return fmt.Errorf("gain is %q; use paper or more", s.Gain)
	}
	for _, of := range s.Of {
		if !slices.Contains(causeOf, of) {
			return fmt.Errorf("of has %q; use %s", of, strings.Join(causeOf, ", "))
		}
	}
	return nil
}

// Explains reports whether the cause is one of what came out for a claim.
func (s *Cause) Explains(c *Judged) bool {
	of := s.Of
	if len(of) == 0 {
		of = causeOf[:2]
	}
	answer := None
	switch {
	case c.Verdict == Holds:
		answer = Smaller
	case c.Verdict == Refuted && c.Why == "" && !(c.Low > -0.01 && c.High < 0.01): // by a hundredth or more
		answer = Opposite
	}
	return slices.Contains(of, answer) && strings.Contains(c.Point, s.Point)
}

// PointsLess returns by how many percentage points an effect is less than the paper's;
// zero if the paper has none, or it is near or larger.
func (j *Judged) PointsLess() float64 {
	points := 100 * (float64(j.Effect) - j.Claim.Paper.Change)
	if key, _ := j.Claim.Relation(); key == "more" {
		points = -points
	}
	if !j.Claim.Paper.Given || j.Near() || !(points > 0) {
		return 0
	}
	return points
}

// Near reports whether an effect differs from the paper's by at most 10 points, or its
// interval has the paper's in it.
func (j *Judged) Near() bool {
	paper := j.Claim.Paper.Change
	return math.Abs(float64(j.Effect)-paper) <= 0.1 || float64(j.Low) <= paper && paper <= float64(j.High)
}
