// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"math"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// step is a packet at a time with the expected colour.
type step struct {
	at   vtime.Time
	n    uint64
	want uint64
}

func runMeter(t *testing.T, m *Meter, steps []step) {
	t.Helper()
	for i, s := range steps {
		if got := m.Execute(s.n, s.n, Green, s.at); got != s.want {
			t.Errorf("step %d: %d tokens at %v: colour %d, want %d", i, s.n, s.at, got, s.want)
		}
	}
}

// RFC 2698, section 3, colour-blind.
func TestTwoRatesThreeColours(t *testing.T) {
	var m Meter
	m.Configure(MeterRates{CIR: 1000, CBurst: 100, PIR: 2000, PBurst: 300}, 0)
	ms := vtime.Millisecond
	runMeter(t, &m, []step{
		{0, 60, Green},   // C 40, P 240
		{0, 60, Yellow},  // C 40, P 180: not enough in C, which does not change
		{0, 40, Green},   // C 0, P 140
		{0, 140, Yellow}, // P 0
		{0, 1, Red},
		{10 * ms, 11, Yellow},       // C 10, P 20: 11 > 10
		{10 * ms, 10, Red},          // P 9
		{10 * ms, 9, Green},         // C 1, P 0
		{1000 * ms, 301, Red},       // full again: C 100, P 300
		{1000 * ms, 300, Yellow},    // P 0, C 100
		{1050 * ms, 100, Green},     // P 100, C 100
		{1050*ms + ms/2, 1, Yellow}, // half a token remains in C …
		{1051 * ms, 1, Green},       // … and makes one with the next half
	})
	if m.Colors[Green].Packets != 5 || m.Colors[Yellow].Packets != 5 || m.Colors[Red].Packets != 3 {
		t.Errorf("colours were counted as %v", m.Colors)
	}
	if m.Colors[Red].Bytes != 1+10+301 {
		t.Errorf("%d red bytes, want 312", m.Colors[Red].Bytes)
	}
}

// RFC 2697, section 3: tokens beyond the committed bucket go to the excess
// bucket.
func TestOneRateThreeColours(t *testing.T) {
	var m Meter
	m.Configure(MeterRates{CIR: 1000, CBurst: 100, PIR: 1000, PBurst: 100, Single: true, EBurst: 50}, 0)
	ms := vtime.Millisecond
	runMeter(t, &m, []step{
		{0, 100, Green}, {0, 50, Yellow}, {0, 1, Red},
		{50 * ms, 50, Green}, {50 * ms, 1, Red},
		{170 * ms, 100, Green}, // 100 of 120 fit C; 20 overflow
		{170 * ms, 20, Yellow}, {170 * ms, 1, Red},
	})
}

func TestMeterWithoutConfigurationIsGreen(t *testing.T) {
	var m Meter
	runMeter(t, &m, []step{{0, 1 << 40, Green}, {1, 1 << 40, Green}})
	m.Configure(MeterRates{CIR: 1, CBurst: 1, PIR: 1, PBurst: 1}, 0)
	runMeter(t, &m, []step{{0, 2, Red}})
	m.Reset()
	runMeter(t, &m, []step{{0, 2, Green}})
}

// The highest rates and the longest gaps do not overflow.
func TestMeterAtItsLimits(t *testing.T) {
	var m Meter
	m.Configure(MeterRates{CIR: math.MaxInt64, CBurst: math.MaxInt64, PIR: math.MaxInt64, PBurst: math.MaxInt64}, 0)
	runMeter(t, &m, []step{{0, math.MaxInt64, Green}, {0, 1, Red}, {vtime.Second, math.MaxInt64, Green}, {1 << 62, math.MaxInt64, Green}})
}
