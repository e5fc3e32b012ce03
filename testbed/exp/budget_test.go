// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// spread shares a budget among experiments that take so many seconds, and returns
// the seconds that each of them got.
func spread(t *testing.T, budget int, takes ...int) []int {
	t.Helper()
	now, got := time.Unix(0, 0), make([]int, len(takes))
	err := ShareBudget(time.Duration(budget)*time.Second, len(takes), func() time.Time { return now }, func(i int, part time.Duration) (bool, error) {
		for begun := now; got[i] < takes[i] && (budget == 0 || now.Sub(begun) < part); got[i]++ {
			now = now.Add(time.Second) // a run takes a second
		}
		return got[i] < takes[i], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestABudgetIsSpreadOverExperiments(t *testing.T) {
	for _, c := range []struct {
		budget int
		takes  []int
		want   []int
	}{
		{0, []int{100, 100}, []int{100, 100}},
		{30, []int{100, 100, 100}, []int{10, 10, 10}},
		{30, []int{100, 2, 100}, []int{10, 2, 18}},      // the third gets what the second does not need
		{30, []int{100, 2, 2}, []int{26, 2, 2}},         // so does the first, in the end
		{30, []int{100, 13, 2, 2}, []int{14, 13, 2, 2}}, // shared again
		{40, []int{5, 5, 5}, []int{5, 5, 5}},
		{2, []int{5, 5, 5, 5}, []int{1, 1, 0, 0}}, // the budget is exceeded only by a run under way
	} {
		got := spread(t, c.budget, c.takes...)
		over := 0
		for i := range got {
			over += got[i] - c.want[i]
			if d := got[i] - c.want[i]; d < -2 || d > 2 {
				t.Errorf("%d s for experiments of %v: they got %v, want about %v", c.budget, c.takes, got, c.want)
				break
			}
		}
		if c.budget > 0 && over > len(got) {
			t.Errorf("%d s for experiments of %v: %v is too much", c.budget, c.takes, got)
		}
	}
	fails := errors.New("fails")
	var asked []int
	err := ShareBudget(time.Second, 3, func() time.Time { return time.Unix(0, 0) }, func(i int, _ time.Duration) (bool, error) {
		asked = append(asked, i)
		if i == 1 {
			return false, fails
		}
		return false, nil
	})
	if err != fails || !reflect.DeepEqual(asked, []int{0, 1}) {
		t.Errorf("error %v after experiments %v, want the second one's", err, asked)
	}
}
