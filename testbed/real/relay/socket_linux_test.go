// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"testing"
	"time"
)

// The kernel stamps frames by the wall clock; setting the clock while they wait
// does not change their times.
func TestTimeStampsWhenTheClockIsSet(t *testing.T) {
	now := time.Now()
	for _, c := range []struct{ ago, want time.Duration }{
		{3 * time.Millisecond, 3 * time.Millisecond},
		{time.Hour, 0},  // set forward by an hour since
		{-time.Hour, 0}, // set back by an hour since
	} {
		if got := now.Sub(monotonic(now, now.Round(0).Add(-c.ago))); got != c.want {
			t.Errorf("a frame stamped %v ago has an age of %v, want %v", c.ago, got, c.want)
		}
	}
}

// An interface that does not exist is an error that says how to find one, without words
// of the operating system's interface.
func TestMissingInterface(t *testing.T) {
	const want = "there is no interface absent0; `ip link` lists the interfaces"
	if _, err := Interface("absent0"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := Interface("lo"); err != nil {
		t.Error(err)
	}
}
