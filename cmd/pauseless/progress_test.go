// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"testing"
	"time"

	"github.com/pauseless/pauseless/fabric"
)

// The time left follows from the packet-hops since the first one, not from the flows.
func TestTimeLeftOfARun(t *testing.T) {
	b := newProgressBar(io.Discard)
	b.begin("x")
	if _, ok := b.left(); ok {
		t.Error("there is an estimate before a packet was sent")
	}
	b.update(fabric.Progress{Hops: 1000, Expected: 9000, Flows: 10})
	b.since = time.Now().Add(-10 * time.Second)
	b.update(fabric.Progress{Hops: 3000, Expected: 9000, Flows: 10})
	if left, ok := b.left(); !ok || left < 30*time.Second || left > 35*time.Second {
		t.Errorf("%v are left, want 30 s", left)
	}
	b.update(fabric.Progress{Hops: 9001, Expected: 9000, Flows: 10})
	if _, ok := b.left(); ok {
		t.Error("there is an estimate after retransmissions have exceeded what was expected")
	}
}
