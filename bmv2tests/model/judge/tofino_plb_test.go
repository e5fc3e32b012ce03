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
