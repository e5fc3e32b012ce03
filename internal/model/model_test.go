// SPDX-License-Identifier: Apache-2.0

package model

import (
	"testing"
)

func TestDREFollowsTheRate(t *testing.T) {
	// τ = 1024 ticks, 1 byte per tick is full: a byte adds 64 of 65,536.
	const weight = 64 << 16
	for _, c := range []struct{ length, low, high int64 }{{32, 64_000, 67_000}, {16, 32_000, 34_000}} {
		d := DRE{}
		now := Time(0)
		for ; now < 20_000; now += 32 {
			d.Packet(now, 10, c.length, weight)
		}
		if d.X < c.low || d.X > c.high {
			t.Errorf("%d bytes per 32 ticks: X = %d", c.length, d.X)
		}
		if x := d.At(now+1024, 10); x != 0 {
			t.Errorf("X = %d on an idle link", x)
		}
	}
}

func TestPausesEnd(t *testing.T) {
	// At 40 Gb/s a quantum is 12.8 ns.
	quantum := Ratio{128, 10}
	var e PausedPort
	if e.Receive(100, quantum, 1000); !e.Paused(2279) || e.Paused(2280) {
		t.Error("100 quanta last 1280 ns")
	}
	if e.Receive(0, quantum, 2000); e.Paused(2000) {
		t.Error("zero quanta resume")
	}
}
