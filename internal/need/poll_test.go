// SPDX-License-Identifier: Apache-2.0

package need

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if !Poll(func() bool { return time.Since(begun) >= time.Second }) || time.Since(begun) > time.Second+2*time.Millisecond {
			t.Errorf("what is true after a second was told after %v", time.Since(begun))
		}
		begun = time.Now()
		if Poll(func() bool { return false }) || time.Since(begun) < Patience || time.Since(begun) > Patience+time.Second {
			t.Errorf("what is never true ended the wait after %v", time.Since(begun))
		}
	})
}
