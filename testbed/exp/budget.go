// SPDX-License-Identifier: Apache-2.0

package exp

import "time"

// ShareBudget divides a time budget among n experiments. Each experiment in
// order gets an equal part of the time that remains, so the first cannot use all
// of it, and time that one does not need goes to those after it. If time remains
// after the last, the experiments with missing runs share it in the same way.
//
// Run makes as many runs of experiment i as fit into part, and reports whether
// runs are missing. A budget of zero is no limit. Now is the clock.
func ShareBudget(budget time.Duration, n int, now func() time.Time, run func(i int, part time.Duration) (more bool, err error)) error {
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
				part = max(left/time.Duration(len(waiting)-k), 1) // runs in the store take no time
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
