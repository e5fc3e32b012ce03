// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"testing"
)

func TestTelemetryCountsTheTransmitted(t *testing.T) {
	p := Port{B: 40, TxBytes: 1000}
	if h := p.Transmit(7, 500, 3000); h != (Hop{B: 40, TS: 7, TxBytes: 1500, QLen: 3000}) || p.TxBytes != 1500 {
		t.Errorf("%+v", h)
	}
}
