// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/json"
	"math"

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
	nu := float64(freedom)
	x := mathext.InvRegIncBeta(nu/2, 0.5, p)
	return math.Sqrt(nu * (1 - x) / x)
}

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

// signTest returns the sign that most differences have if the sign test rejects,
// with error probability 1 %, that both signs are equally likely; otherwise 0.
// Zeros are left out.
func signTest(d []float64) int {
	var below, above int
	for _, x := range d {
		switch {
		case x < 0:
			below++
		case x > 0:
			above++
		}
	}
	n, few := below+above, min(below, above)
	if n == 0 {
		return 0
	}
	// The probability that at most few of n fair coins show heads.
	p := mathext.RegIncBeta(float64(n-few), float64(few+1), 0.5)
	switch {
	case 2*p > 0.01:
		return 0
	case below > above:
		return -1
	}
	return 1
}
