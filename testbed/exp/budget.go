// SPDX-License-Identifier: Apache-2.0

package exp

import "time"

// Spread shares a budget out among n experiments: each in turn has an equal
// part of what is left, so that the first cannot take it all and what one does
// not need goes to those after it. While something is left, those that could
// not make all their runs go on with it, in the same way.
//
// Run makes the runs of experiment i for which part is enough, and reports
// whether there are more to make. A budget of zero is no limit. The clock is
// the caller's.
func Spread(budget time.Duration, n int, now func() time.Time, run func(i int, part time.Duration) (more bool, err error)) error {
	var waiting []int
	for i := range n {
		waiting = append(waiting, i)
	}
	end := now().Add(budget)
	for first := true; len(waiting) > 0; first = false {
		var again []int
		for k, i := range waiting {
			var part time.Duration
			if budget > 0 {
				left := end.Sub(now())
				if left <= 0 && !first {
					return nil
				}
				part = max(left/time.Duration(len(waiting)-k), 1) // what is in the store costs nothing
			}
			more, err := run(i, part)
			if err != nil {
				return err
			}
			if more && budget > 0 {
				again = append(again, i)
			}
		}
		waiting = again
	}
	return nil
}
