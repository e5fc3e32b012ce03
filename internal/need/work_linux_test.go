// SPDX-License-Identifier: Apache-2.0

package need

import (
	"testing"
	"time"
)

func TestWorkIsTimeOfTheProcessor(t *testing.T) {
	if took := Work(func() { time.Sleep(100 * time.Millisecond) }); took > 50*time.Millisecond {
		t.Errorf("a sleep counts as %v", took)
	}
	sum := 0
	if took := Work(func() {
		for i := range 200_000_000 {
			sum ^= i
		}
	}); took <= 0 {
		t.Errorf("a loop (%d) counts as %v", sum, took)
	}
}
