// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/json"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// Num is a number that may be missing (NaN) or infinite. In JSON NaN is null, and
// infinities are the strings "inf" and "-inf".
type Num float64

// MarshalJSON implements json.Marshaler.
func (n Num) MarshalJSON() ([]byte, error) {
	switch x := float64(n); {
	case math.IsNaN(x):
		return []byte("null"), nil
	case math.IsInf(x, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-inf"`), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Num) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "null":
		*n = Num(math.NaN())
	case `"inf"`:
		*n = Num(math.Inf(1))
	case `"-inf"`:
		*n = Num(math.Inf(-1))
	default:
		return json.Unmarshal(data, (*float64)(n))
	}
	return nil
}

// variance returns the unbiased variance of v, or zero if there are fewer than
// two.
func variance(v []float64) float64 { return covariance(v, v) }

func covariance(a, b []float64) float64 {
	if len(a) < 2 {
		return 0
	}
	ma, mb := Mean(a), Mean(b)
	var sum float64
	for i := range a {
		sum += (a[i] - ma) * (b[i] - mb)
	}
	return sum / float64(len(a)-1)
}

// studentT returns the value that |T| exceeds with probability p, where T has
// Student's distribution with so many degrees of freedom.
func studentT(p float64, freedom int) float64 {
	key := studentKey{p, freedom}
	if t, ok := studentTs.Load(key); ok {
		return t.(float64)
	}
	nu := float64(freedom)
	x := mathext.InvRegIncBeta(nu/2, 0.5, p)
	t := math.Sqrt(nu * (1 - x) / x)
	studentTs.Store(key, t)
	return t
}

type studentKey struct {
	p       float64
	freedom int
}

// studentTs are values of studentT, which take long, by studentKey.
var studentTs sync.Map

// An Interval is an estimate and its confidence interval, which may be
// unbounded.
type Interval struct{ Value, Low, High float64 }

// Half returns half of the interval's width.
func (i Interval) Half() float64 { return (i.High - i.Low) / 2 }

// meanInterval returns the mean of v with its interval of Student's t of error
// probability p.
func meanInterval(v []float64, p float64) Interval {
	m := Mean(v)
	if len(v) < 2 {
		return Interval{m, math.Inf(-1), math.Inf(1)}
	}
	half := 0.0
	if s := variance(v); s > 0 {
		half = studentT(p, len(v)-1) * math.Sqrt(s/float64(len(v)))
	}
	return Interval{m, m - half, m + half}
}

// RatioInterval returns the ratio of the means of a and b, which are paired, with
// Fieller's interval of error probability p: all ratios ρ for which a paired t-test
// does not reject that the mean of a − ρ·b is zero. It is unbounded if the test
// does not reject that the mean of b is zero.
func RatioInterval(a, b []float64, p float64) Interval {
	ma, mb := Mean(a), Mean(b)
	unbounded := Interval{ma / mb, math.Inf(-1), math.Inf(1)}
	if mb == 0 {
		unbounded.Value = math.NaN()
		return unbounded
	}
	if len(a) < 2 {
		return unbounded
	}
	t := studentT(p, len(a)-1)
	g := t * t / float64(len(a))
	// The ratios are those with x·ρ² − 2·y·ρ + z ≤ 0.
	x := mb*mb - g*variance(b)
	y := ma*mb - g*covariance(a, b)
	z := ma*ma - g*variance(a)
	if x <= 0 {
		return unbounded
	}
	root := math.Sqrt(max(y*y-x*z, 0))
	return Interval{ma / mb, (y - root) / x, (y + root) / x}
}

// pairedP returns the probability that the means of paired values differ as much as
// they do, or more, if there is no difference: of a paired t-test. It is NaN for fewer
// than two.
func pairedP(a, b []float64) float64 {
	n := float64(len(a))
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	mean, v := Mean(d), variance(d)
	switch {
	case n < 2:
		return math.NaN()
	case v == 0 && mean == 0:
		return 1
	case v == 0:
		return 0
	}
	return mathext.RegIncBeta((n-1)/2, 0.5, (n-1)/(n-1+mean*mean*n/v))
}

// A Comparison is what paired values of two arms say about their difference.
type Comparison struct {
	Change     Interval // of the first arm over the second, as a share
	Difference Interval // the first arm less the second, in the metric's unit
}

// Difference is an interval in the metric's unit.
type Difference struct {
	Value Num `json:"value"`
	Low   Num `json:"low"`
	High  Num `json:"high"`
}

// Compare compares the means of paired values, with intervals of error probability
// p: Fieller's for the change, Student's for the difference. The change has no
// bounds if the interval of the mean of b includes zero; it is zero if the values
// are equal with every seed.
func Compare(a, b []float64, p float64) Comparison {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	ratio := RatioInterval(a, b, p)
	c := Comparison{Interval{ratio.Value - 1, ratio.Low - 1, ratio.High - 1}, meanInterval(d, p)}
	if len(a) > 0 && c.Difference.Low == 0 && c.Difference.High == 0 {
		c.Change = Interval{}
	}
	return c
}

// Decided is Compare with 95 % intervals by the rule for claims: the medians, if
// means leave a gain of a tenth open. Better is less or more.
func Decided(a, b []float64, better string) Comparison {
	c := Compare(a, b, 0.05)
	gain := -c.Change.Low
	if better == "more" {
		gain = c.Change.High
	}
	if c.Sign() == 0 && gain >= defaultWithin && medians(a, b, signError).Sign() != 0 {
		return medians(a, b, 0.05)
	}
	return c
}

// medians compares the medians of the differences and of the changes of paired values,
// which a few seeds that differ much from the others hardly move. The change has no
// bounds if a value of b is zero.
func medians(a, b []float64, p float64) Comparison {
	d, change := make([]float64, len(a)), make([]float64, len(a))
	c := Comparison{Change: Interval{math.NaN(), math.Inf(-1), math.Inf(1)}}
	shares := true
	for i := range a {
		d[i], change[i] = a[i]-b[i], a[i]/b[i]-1
		shares = shares && b[i] > 0
	}
	c.Difference = medianInterval(d, p)
	if shares {
		c.Change = medianInterval(change, p)
	}
	return c
}

// signError is the error probability with which medians decide a claim that means
// leave open.
const signError = 0.01

// Units returns the difference if the change has no bounds and the difference has;
// otherwise nil.
func (c Comparison) Units() *Difference {
	if c.Change.bounded() || !c.Difference.bounded() {
		return nil
	}
	return &Difference{Num(c.Difference.Value), Num(c.Difference.Low), Num(c.Difference.High)}
}

// Sign returns -1 or +1 if the difference has this sign, and 0 if that is open.
func (c Comparison) Sign() int {
	switch {
	case c.Change.High < 0 || c.Difference.High < 0:
		return -1
	case c.Change.Low > 0 || c.Difference.Low > 0:
		return 1
	}
	return 0
}

// beside reports whether the interval lies within ±margin, or beyond it on one side.
func (i Interval) beside(margin float64) bool {
	return i.Low >= -margin && i.High <= margin || i.Low > margin || i.High < -margin
}

func (i Interval) bounded() bool { return !math.IsInf(i.Half(), 0) && !math.IsNaN(i.Half()) }

// medianInterval returns the median of v with the interval between two order
// statistics that the sign test does not reject, of error probability p at most. It
// has no bounds if there are too few values for one.
func medianInterval(v []float64, p float64) Interval {
	n := len(v)
	i := Interval{math.NaN(), math.Inf(-1), math.Inf(1)}
	if n == 0 {
		return i
	}
	sorted := slices.Sorted(slices.Values(v))
	i.Value = (sorted[(n-1)/2] + sorted[n/2]) / 2
	// The probability that at most k of n fair coins show heads.
	tail := func(k int) float64 { return mathext.RegIncBeta(float64(n-k), float64(k+1), 0.5) }
	for k := 0; k < n/2 && 2*tail(k) <= p; k++ {
		i.Low, i.High = sorted[k], sorted[n-1-k]
	}
	return i
}
