// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Rail is a rail-optimised leaf-spine network, as of GPU clusters: a host has Rails
// adapters, and those of the same number of a group's hosts are on one leaf, their
// rail. Every leaf has links to every spine. With several planes, an adapter is one
// per plane, each on a leaf of its own, and only the spines of a plane connect its
// leaves. Adapters of h1 are called h1, h1.2, …; leaf l1 is the first rail of the first
// group, in the first plane.
type Rail struct {
	Groups        int        `yaml:"groups" limits:"1..512"`          // of hosts that share leaves
	HostsPerGroup int        `yaml:"hosts_per_group" limits:"1..254"` // hosts of each group
	Rails         int        `yaml:"rails" limits:"1..64"`            // adapters of a host in each plane
	Planes        int        `yaml:"planes" limits:"0..8"`            // zero means one
	Spines        int        `yaml:"spines" limits:"1..256"`          // of each plane
	Rate          vtime.Rate `yaml:"rate"`                            // of host links
	UplinkRate    vtime.Rate `yaml:"uplink_rate"`                     // of leaf–spine links; zero means Rate
	Delay         vtime.Time `yaml:"delay"`                           // of every link, one way
	UplinkDelay   vtime.Time `yaml:"uplink_delay"`                    // of leaf–spine links; zero means Delay
}

func (rs *Rail) check(key string, r *reporter) {
	checkCounts(key, r, rs)
	per := rs.Rails * max(rs.Planes, 1)
	checkTotal(key, r, rs.Groups*per*(rs.HostsPerGroup+rs.Spines))
	checkLinks(key, r, rs.Rate, rs.Delay)
}

func (rs *Rail) build(b *Builder) {
	planes := max(rs.Planes, 1)
	b.t.Planes = planes
	// adapters of each host, by rail and then by plane
	var adapters [][]int
	for h := range rs.Groups * rs.HostsPerGroup {
		id := b.AddHost(fmt.Sprintf("h%d", h+1))
		own := []int{id}
		for k := 1; k < rs.Rails*planes; k++ {
			own = append(own, b.AddAdapter(id, fmt.Sprintf("h%d.%d", h+1, k+1)))
		}
		adapters = append(adapters, own)
	}
	leaves := b.addSwitches("l", planes*rs.Groups*rs.Rails, 1)
	spines := b.addSwitches("s", planes*rs.Spines, 2)
	for p := range planes {
		for g := range rs.Groups {
			for rail := range rs.Rails {
				leaf := leaves[(p*rs.Groups+g)*rs.Rails+rail]
				for h := range rs.HostsPerGroup {
					b.Connect(adapters[g*rs.HostsPerGroup+h][rail*planes+p], leaf, rs.Rate, rs.Delay)
				}
				for s := range rs.Spines {
					b.Connect(leaf, spines[p*rs.Spines+s], orRate(rs.UplinkRate, rs.Rate), orTime(rs.UplinkDelay, rs.Delay))
				}
			}
		}
	}
}
