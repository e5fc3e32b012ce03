// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// The shares of PB-FS: a host's port at 25 Gb/s is paused at 11 % of the free
// buffer, that is α/(1+α) with α 1/8, and a port at 100 Gb/s at 33 %.
func TestAlphaFollowsTheRateOfThePort(t *testing.T) {
	net := parse(t, `leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 25Gbps, uplink_rate: 100Gbps, delay: 1us}
switch: {pfc: {alpha: 0.125, alpha_by_rate: true}}`)
	host, uplink := &net.Links[0], &net.Links[2]
	if a := net.AlphaFor(host); a != 0.125 {
		t.Errorf("alpha of a host's port is %g", a)
	}
	if a := net.AlphaFor(uplink); a != 0.5 {
		t.Errorf("alpha of an uplink is %g", a)
	}
	net.Links[2].Rate = 1600 * vtime.Gbps
	if a := net.AlphaFor(uplink); a != 1 {
		t.Errorf("alpha of a very fast uplink is %g", a)
	}
	net.Switch.PFC.AlphaByRate = false
	if a := net.AlphaFor(uplink); a != 0.125 {
		t.Errorf("alpha without alpha_by_rate is %g", a)
	}
}

// A named buffer management sets the keys that a file omits.
func TestMMUs(t *testing.T) {
	for mmu, want := range map[string]SwitchConfig{
		"hpcc":     {PFC: PFC{Alpha: 0.125, AlphaByRate: true, Resume: 3072, Reserve: 4096}},
		"conweave": {EgressAlpha: 1, PFC: PFC{Alpha: 0.0625, Resume: 1, Reserve: 2096, HeadroomLast: true, Pause: 5 * vtime.Microsecond, EachFrame: true}},
		"broadcom": {EgressAlpha: 8, PFC: PFC{Alpha: 0.125, Resume: 2288, Reserve: 1248}},
	} {
		const shape = "leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 25Gbps, delay: 1us}\nswitch: {buffer: 9MB, mmu: "
		got := parse(t, shape+mmu+"}").Switch
		want.Buffer, want.MMU, want.PFC.XOFF = 9*vtime.MB, mmu, got.PFC.XOFF
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", mmu, got, want)
		}
		got = parse(t, shape+mmu+", egress_alpha: 2, pfc: {alpha: 0.5, resume: 10KB}}").Switch
		if got.EgressAlpha != 2 || got.PFC.Alpha != 0.5 || got.PFC.Resume != 10*vtime.KB || got.PFC.Reserve != want.PFC.Reserve {
			t.Errorf("%s with values of the file: %+v", mmu, got)
		}
	}
}
