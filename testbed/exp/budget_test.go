// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// spread has experiments that take so many seconds share a budget, in seconds,
// and returns what each of them got.
func spread(t *testing.T, budget int, takes ...int) []int {
	t.Helper()
	now, got := time.Unix(0, 0), make([]int, len(takes))
	err := ShareBudget(time.Duration(budget)*time.Second, len(takes), func() time.Time { return now }, func(i int, part time.Duration) (bool, error) {
		for begun := now; got[i] < takes[i] && (budget == 0 || now.Sub(begun) < part); got[i]++ {
			now = now.Add(time.Second) // a run takes a second, and is not cut off
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
		{30, []int{100, 2, 100}, []int{10, 2, 18}},      // what the second leaves, the third has
		{30, []int{100, 2, 2}, []int{26, 2, 2}},         // and the first, if nobody else needs it
		{30, []int{100, 13, 2, 2}, []int{14, 13, 2, 2}}, // in parts again
		{40, []int{5, 5, 5}, []int{5, 5, 5}},
		{2, []int{5, 5, 5, 5}, []int{1, 1, 0, 0}}, // no more than there is, but for a run under way
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
