// SPDX-License-Identifier: Apache-2.0

package model

import (
	"testing"
)

func TestDREFollowsTheRate(t *testing.T) {
	// τ = 1024 ticks, 1 byte per tick is full: a byte adds 64 of 65,536.
	const weight = 64 << 16
	for _, c := range []struct{ length, low, high int64 }{{32, 64_000, 67_000}, {16, 32_000, 34_000}} {
		d := DRE{new(int64), new(Time)}
		now := Time(0)
		for ; now < 20_000; now += 32 {
			d.Packet(now, 10, c.length, weight)
		}
		if *d.X < c.low || *d.X > c.high {
			t.Errorf("%d bytes per 32 ticks: X = %d", c.length, *d.X)
		}
		if x := d.At(now+1024, 10); x != 0 {
			t.Errorf("X = %d on an idle link", x)
		}
	}
}

func TestPausesEnd(t *testing.T) {
	// At 40 Gb/s a quantum is 12.8 ns.
	quantum := Ratio{128, 10}
	if end := PauseEnds(100, quantum, 1000); end != 2280 {
		t.Errorf("100 quanta last 1280 ns, not %d", end-1000)
	}
	if PauseEnds(0, quantum, 2000) != 2000 {
		t.Error("zero quanta resume")
	}
}
