// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
)

// otherWindow is the time in which a program measures all paths: as many probe
// intervals as there may be paths, rounded up to a power of two.
func otherWindow(t *testing.T, p *gen.Profile, m *manifest.Manifest) uint32 {
	t.Helper()
	if p.Base != "plb" {
		return 0
	}
	interval, err := m.Value("plb.probe_interval", p.Network)
	if err != nil {
		t.Fatal(err)
	}
	window := uint32(1)
	for window < uint32(interval)*uint32(p.Sizes.Paths) {
		window *= 2
	}
	return window
}

// TestPLBWithOthersOnTofino has PCN, PB-FS and telemetry over PLB.
func TestPLBWithOthersOnTofino(t *testing.T) {
	cases := count(60, 100_000)
	for name, change := range map[string]func(*gen.Profile){
		"pcn":           func(p *gen.Profile) { p.Choose("pcn", "on"); p.Choose("ecn", "np_ecn") },
		"pbfs":          func(p *gen.Profile) { p.Choose("pbfs", "on") },
		"pcn and pbfs":  func(p *gen.Profile) { p.Choose("pcn", "on"); p.Choose("ecn", "np_ecn"); p.Choose("pbfs", "on") },
		"hpcc and pbfs": func(p *gen.Profile) { p.Choose("int", "on"); p.Choose("pbfs", "on") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := smallTofino(t, "plb")
			change(p)
			j := newTofino(t, p, "", "")
			for n := range cases {
				if diff := j.Run(2, uint64(n)); diff != "" {
					t.Fatalf("case %d: %s", n, diff)
				}
			}
			t.Logf("%d cases, %d steps, %v", cases, j.Steps, j.Seen)
		})
	}
}
