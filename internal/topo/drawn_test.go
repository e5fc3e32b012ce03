// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Links that are drawn by_seed are others with another seed, as many with each, and the
// same with the same seed.
func TestLinksDrawnBySeed(t *testing.T) {
	spec := NewSpec()
	spec.LeafSpine = &LeafSpine{Leaves: 4, Spines: 4, HostsPerLeaf: 2, Rate: 40 * vtime.Gbps, Delay: 2 * vtime.Microsecond}
	spec.Change = []Change{{Share: 0.25, Rate: 10 * vtime.Gbps, BySeed: true}}
	slow := func(seed uint64) (ids []int) {
		net, another, err := spec.Drawn(seed)
		if err != nil || !another {
			t.Fatalf("seed %d: another network: %v, %v", seed, another, err)
		}
		for i := range net.Links {
			if net.Links[i].Rate == 10*vtime.Gbps {
				ids = append(ids, i)
			}
		}
		return ids
	}
	draws := make(map[string]bool)
	for seed := range uint64(8) {
		ids := slow(seed)
		if len(ids) != 4 || !slices.Equal(ids, slow(seed)) {
			t.Errorf("seed %d: slow links %v and %v, want the same four", seed, ids, slow(seed))
		}
		draws[fmt.Sprint(ids)] = true
	}
	if len(draws) < 4 {
		t.Errorf("eight seeds have only %d draws", len(draws))
	}
	spec.Change[0].BySeed = false
	if _, another, err := spec.Drawn(1); another || err != nil {
		t.Errorf("without by_seed: another network: %v, %v", another, err)
	}
}
