// SPDX-License-Identifier: Apache-2.0

package flowcut

import "testing"

func TestNothingIsInFlightOnceTheLatestNumberIsAcknowledged(t *testing.T) {
	flow, path, sent, acked := int64(7), int64(1), int64(3), int64(2)
	e := entry{flow: &flow, path: &path, sent: &sent, acked: &acked}
	if !e.flying() {
		t.Error("packet 3 is in flight, but nothing is said to be")
	}
	if acked = 3; e.flying() {
		t.Error("all is acknowledged, but something is said to be in flight")
	}
	if acked, flow = 0, 0; e.flying() {
		t.Error("a row without a flow has packets in flight")
	}
}
