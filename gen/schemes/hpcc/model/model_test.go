// SPDX-License-Identifier: Apache-2.0

package telemetry

import "testing"

func TestRecordsHaveHPCCsFormat(t *testing.T) {
	const millisecond = 1_000_000
	if r := Record(3, 20*millisecond, 1500, 3000); r != 3<<60|(20*millisecond-1<<24)<<36|11<<16|3000 {
		t.Errorf("%#x", r)
	}
	if r := Record(0, 0, 0, 1<<20); r != 0xffff {
		t.Errorf("%#x for a queue that is too long", r)
	}
}
