// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"
	"fmt"

	"github.com/pauseless/pauseless/internal/model"
)

// tries is how many numbers of a case get another value.
const tries = 3

// Find runs case number n of a series, and cases next to it, and returns the
// first that shows a difference, or nil.
//
// An error such as < instead of <= shows only where two numbers are equal, which
// random numbers rarely are. So a number of the case gets another value. If
// the switch then does something else, a decision changes at a value between the
// two. Bisection finds this value, and cases on both sides of it are run.
func (j *Judge) Find(series, n uint64) (*model.Case, *Mismatch) {
	c, g := model.Generate(j.p, series, n)
	diff, did := j.play(c)
	if diff != nil {
		return c, diff
	}
	for range tries {
		at, low, high := g.Another(c)
		if at == nil || low == high {
			continue
		}
		with := func(v int64) *model.Case {
			d := clone(c)
			*at(d) = v
			return d
		}
		d := with(high)
		diff, other := j.play(d)
		for diff == nil && other != did && high-low != 1 && low-high != 1 {
			middle := low + (high-low)/2
			d = with(middle)
			var m string
			if diff, m = j.play(d); m == did {
				low = middle
			} else {
				high = middle
			}
		}
		if diff != nil {
			return d, diff
		}
	}
	return nil, nil
}

// did is a summary of what the switch did: what happened, and which cells of
// registers changed, or became zero.
func (r *play) did() string {
	b := fmt.Append(nil, r.s.Seen, r.trail)
	k := int64(0)
	for _, m := range r.p.Registers {
		for i := range m.Size {
			if now, _ := r.want(m, i); now != r.first[k] {
				b = binary.AppendVarint(b, k<<1|model.Bit(now == 0))
			}
			k++
		}
	}
	return string(b)
}
