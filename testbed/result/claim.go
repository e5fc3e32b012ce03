// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Claim compares a metric of one arm with that of another, or with a number.
// One of Less, More and Same names the metric.
type Claim struct {
	Less string `yaml:"less" json:"less,omitempty"` // the metric that is less
	More string `yaml:"more" json:"more,omitempty"` // the metric that is more
	Same string `yaml:"same" json:"same,omitempty"` // the metric that differs by at most ±Within
	With string `yaml:"with" json:"with"`           // the variant that the claim is about
	Than string `yaml:"than" json:"than"`           // a variant, or a number
	// Paper is the effect that the paper states.
	Paper Effect `yaml:"paper" json:"paper,omitzero"`
	// Within is the margin of the claim, as a share of Than's value: the difference
	// that counts as none, and the half-width of the 95 % interval from which on no
	// seeds are added. Zero means a tenth.
	Within Share `yaml:"within" json:"within,omitempty"`
	// At has the values of axes to which the claim is limited. ThanAt has the
	// values for Than, if they differ.
	At     map[string]string `yaml:"at" json:"at,omitempty"`
	ThanAt map[string]string `yaml:"than_at" json:"than_at,omitempty"`
	// Premise is the condition under which the claim is tested.
	Premise Premise `yaml:"premise" json:"premise,omitzero"`
	// Over is how several points are combined: each (the default), mean, or best.
	Over string `yaml:"over" json:"over,omitempty"`
	Note string `yaml:"note" json:"note,omitempty"` // a remark that is shown with the claim
	// Because are the causes of what came out; of several that fit, the first applies.
	Because []Cause `yaml:"because" json:"-"`
}

// Relation returns the key of the claim, less, more or same, and its metric;
// "" if there is not exactly one.
func (c *Claim) Relation() (key, metric string) {
	for _, r := range []struct{ key, metric string }{{"less", c.Less}, {"more", c.More}, {"same", c.Same}} {
		if r.metric != "" {
			if key != "" {
				return "", ""
			}
			key, metric = r.key, r.metric
		}
	}
	return key, metric
}

// Number returns Than as a number, and whether it is one.
func (c *Claim) Number() (float64, bool) {
	x, err := strconv.ParseFloat(c.Than, 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

const defaultWithin = 0.1

// within returns the required half-width as a share.
func (c *Claim) within() float64 {
	if c.Within == 0 {
		return defaultWithin
	}
	return float64(c.Within)
}

// half returns half of the gain that the paper states, as a share; zero if it
// states none in the claim's direction.
func (c *Claim) half() float64 {
	key, _ := c.Relation()
	gain := c.Paper.Change
	if key == "less" {
		gain = -gain
	}
	if _, isNumber := c.Number(); isNumber || key == "same" {
		return 0
	}
	return max(0, gain/2)
}

// Share is a part of a whole, read as "5 %" or "0.05".
type Share float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Share) UnmarshalText(text []byte) error {
	x, err := percent(string(text))
	if err != nil || !(x > 0 && x <= 10) { // nor is NaN
		return fmt.Errorf("share %q: write a percentage above zero, as in \"5 %%\"", text)
	}
	*s = Share(x)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (s Share) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%g %%", 100*float64(s)), nil }

// mostChange is a change above any that a paper states, as a share.
const mostChange = 1e6

// Effect is a change that a paper states: "-72 %" or "x 0.28".
type Effect struct {
	Change float64 // as a share: -0.72
	Given  bool
}

// IsZero reports whether no effect is given.
func (e Effect) IsZero() bool { return !e.Given }

// String returns the change as "-72 %".
func (e Effect) String() string {
	if !e.Given {
		return ""
	}
	return changeText(e.Change)
}

// MarshalText implements encoding.TextMarshaler.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Effect) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	x, err := percent(s)
	if factor, ok := strings.CutPrefix(s, "x"); ok {
		x, err = strconv.ParseFloat(strings.TrimSpace(factor), 64)
		x--
	}
	if err != nil || !(x >= -1 && x <= mostChange) { // nor is NaN
		return fmt.Errorf("effect %q: write a change, as in \"-72 %%\", or a factor, as in \"x 0.28\"", s)
	}
	*e = Effect{x, true}
	return nil
}

func percent(s string) (float64, error) {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(s), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if isPercent {
		x /= 100
	}
	return x, err
}

// IntervalText prints the interval of a change whose bounds f prints. No number of a run
// is negative, so that none falls by more than 100 %: a bound below that, which a
// t interval of few runs can have, is printed as -100 %.
func IntervalText(low, high float64, f func(float64) string) string {
	return f(max(low, -1)) + " to " + f(max(high, -1))
}

// changeText prints a change as "-12.3 %", or as a factor from 1000 % on.
func changeText(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("x %.3g", x+1)
	}
	return fmt.Sprintf("%+.1f %%", 100*x)
}
