// SPDX-License-Identifier: Apache-2.0

package need

import (
	"testing"
	"time"
)

// Only what the goroutine itself computes counts, not what it waits for.
func TestWorkIsTimeOfTheProcessor(t *testing.T) {
	sum := 0
	compute := func() {
		for i := range 200_000_000 {
			sum ^= i
		}
	}
	var other time.Duration
	own := Work(func() {
		done := make(chan struct{})
		go func() {
			other = Work(compute)
			close(done)
		}()
		<-done
	})
	if other <= 0 || own > other/2 {
		t.Errorf("a loop (%d) counts as %v, and waiting for it as %v", sum, other, own)
	}
}
