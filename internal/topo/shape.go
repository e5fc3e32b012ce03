// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

// A shape is a regular network that a file describes by a few numbers.
type shape interface {
	// check reports invalid numbers, under the shape's key.
	check(key string, r *reporter)
	// build adds nodes and links.
	build(b *Builder)
}

// LeafSpine is a two-tier network: every leaf has Parallel links to every
// spine. Hosts are called h1, h2, …, leaves l1, …, spines s1, ….
// A leaf's first ports lead to its hosts, the next ones to the spines in order,
// with parallel links beside each other. Without parallel links, port p of a spine leads to leaf p.
type LeafSpine struct {
	Leaves       int        `yaml:"leaves" limits:"1..1024"`        // number of leaves
	Spines       int        `yaml:"spines" limits:"1..256"`         // number of spines
	HostsPerLeaf int        `yaml:"hosts_per_leaf" limits:"1..254"` // hosts of each leaf
	Rate         vtime.Rate `yaml:"rate"`                           // of host links
	UplinkRate   vtime.Rate `yaml:"uplink_rate"`                    // of leaf–spine links; zero means Rate
	Delay        vtime.Time `yaml:"delay"`                          // of every link, one way
	UplinkDelay  vtime.Time `yaml:"uplink_delay"`                   // of leaf–spine links; zero means Delay
	Parallel     int        `yaml:"parallel" limits:"0..64"`        // links per leaf and spine; zero means one
}

func (ls *LeafSpine) check(key string, r *reporter) {
	checkCounts(key, r, ls)
	checkTotal(key, r, ls.Leaves*(ls.HostsPerLeaf+ls.Spines*max(ls.Parallel, 1)))
	checkLinks(key, r, ls.Rate, ls.Delay)
}

func (ls *LeafSpine) build(b *Builder) {
	hosts := b.addHosts("h", ls.Leaves*ls.HostsPerLeaf)
	leaves := b.addSwitches("l", ls.Leaves, 1)
	spines := b.addSwitches("s", ls.Spines, 2)
	b.attach(hosts, leaves, ls.Rate, ls.Delay)
	for _, leaf := range leaves {
		for _, spine := range spines {
			b.connectAll(leaf, spine, ls.Parallel, orRate(ls.UplinkRate, ls.Rate), orTime(ls.UplinkDelay, ls.Delay))
		}
	}
}

// Build returns the network.
func (ls *LeafSpine) Build(name string, sw SwitchConfig) (*Topology, error) {
	var b Builder
	ls.build(&b)
	return b.Build(name, sw)
}

// Clos is a three-tier network of pods: within a pod every top-of-rack switch is
// connected to every aggregation switch, and aggregation switches are connected
// to cores. With CoresPerAgg, the j-th aggregation switch of every pod is
// connected to the j-th group of that many cores; otherwise to all. Nodes are
// called h, t, a and c.
type Clos struct {
	Pods        int        `yaml:"pods" limits:"1..128"`           // number of pods
	Tors        int        `yaml:"tors" limits:"1..128"`           // top-of-rack switches per pod
	Aggs        int        `yaml:"aggs" limits:"1..128"`           // aggregation switches per pod
	Cores       int        `yaml:"cores" limits:"1..1024"`         // core switches in all
	CoresPerAgg int        `yaml:"cores_per_agg" limits:"0..1024"` // zero: all
	HostsPerTor int        `yaml:"hosts_per_tor" limits:"1..254"`  // hosts of each top-of-rack switch
	Parallel    int        `yaml:"parallel" limits:"0..64"`        // links per ToR and aggregation switch; zero means one
	Rate        vtime.Rate `yaml:"rate"`                           // of host links
	UplinkRate  vtime.Rate `yaml:"uplink_rate"`                    // of ToR–aggregation links; zero means Rate
	CoreRate    vtime.Rate `yaml:"core_rate"`                      // of aggregation–core links; zero means UplinkRate
	Delay       vtime.Time `yaml:"delay"`                          // of every link, one way
}

func (c *Clos) check(key string, r *reporter) {
	checkCounts(key, r, c)
	if c.CoresPerAgg > c.Cores {
		r.errorf(key+".cores_per_agg", "cores_per_agg is %d, must be at most the %d cores", c.CoresPerAgg, c.Cores)
	} else if c.CoresPerAgg > 0 && c.Aggs*c.CoresPerAgg%max(c.Cores, 1) != 0 {
		r.errorf(key+".cores_per_agg", "%d aggregation switches with %d cores each do not divide %d cores evenly", c.Aggs, c.CoresPerAgg, c.Cores)
	}
	checkTotal(key, r, c.Pods*(c.Tors*(c.HostsPerTor+c.Aggs*max(c.Parallel, 1))+c.Aggs*c.Cores))
	checkLinks(key, r, c.Rate, c.Delay)
}

func (c *Clos) build(b *Builder) {
	hosts := b.addHosts("h", c.Pods*c.Tors*c.HostsPerTor)
	tors := b.addSwitches("t", c.Pods*c.Tors, 1)
	aggs := b.addSwitches("a", c.Pods*c.Aggs, 2)
	cores := b.addSwitches("c", c.Cores, 3)
	uplink := orRate(c.UplinkRate, c.Rate)
	b.attach(hosts, tors, c.Rate, c.Delay)
	for i, tor := range tors {
		pod := i / c.Tors
		for _, agg := range aggs[pod*c.Aggs:][:c.Aggs] {
			b.connectAll(tor, agg, c.Parallel, uplink, c.Delay)
		}
	}
	per := c.CoresPerAgg
	if per == 0 {
		per = c.Cores
	}
	for i, agg := range aggs {
		for k := range per {
			b.Connect(agg, cores[(i%c.Aggs*per+k)%c.Cores], orRate(c.CoreRate, uplink), c.Delay)
		}
	}
}

// FatTree is the Clos network of switches with K ports, all links alike
// (Al-Fares et al., SIGCOMM 2008): K pods, K³/4 hosts.
type FatTree struct {
	K     int        `yaml:"k" limits:"2..64"` // ports of every switch; even. There are K³/4 hosts
	Rate  vtime.Rate `yaml:"rate"`             // of every link
	Delay vtime.Time `yaml:"delay"`            // of every link, one way
}

func (ft *FatTree) check(key string, r *reporter) {
	if ft.K < 2 || ft.K > 64 || ft.K%2 != 0 {
		r.errorf(key+".k", "k is %d, must be even and from 2 to 64", ft.K)
	}
	checkLinks(key, r, ft.Rate, ft.Delay)
}

func (ft *FatTree) build(b *Builder) {
	half := ft.K / 2
	c := Clos{Pods: ft.K, Tors: half, Aggs: half, Cores: half * half, CoresPerAgg: half, HostsPerTor: half, Rate: ft.Rate, Delay: ft.Delay}
	c.build(b)
}

// Dumbbell is two switches, l1 and l2, connected by one link. Hosts h1, h2, … are
// on the left, the others on the right.
type Dumbbell struct {
	Left            int        `yaml:"left" limits:"1..254"`  // hosts on the left
	Right           int        `yaml:"right" limits:"1..254"` // hosts on the right
	Rate            vtime.Rate `yaml:"rate"`                  // of host links
	BottleneckRate  vtime.Rate `yaml:"bottleneck_rate"`       // zero means Rate
	Delay           vtime.Time `yaml:"delay"`                 // of host links
	BottleneckDelay vtime.Time `yaml:"bottleneck_delay"`      // zero means Delay
}

func (d *Dumbbell) check(key string, r *reporter) {
	checkCounts(key, r, d)
	checkLinks(key, r, d.Rate, d.Delay)
}

func (d *Dumbbell) build(b *Builder) {
	hosts := b.addHosts("h", d.Left+d.Right)
	sides := b.addSwitches("l", 2, 1)
	b.attach(hosts[:d.Left], sides[:1], d.Rate, d.Delay)
	b.attach(hosts[d.Left:], sides[1:], d.Rate, d.Delay)
	b.Connect(sides[0], sides[1], orRate(d.BottleneckRate, d.Rate), orTime(d.BottleneckDelay, d.Delay))
}

// ParkingLot is a row of switches, l1, l2, …, with hosts on each. The first hosts,
// from h1 on, are on l1, the next ones on l2, and so on.
type ParkingLot struct {
	Bottlenecks     int        `yaml:"bottlenecks" limits:"1..256"`      // links between switches
	HostsPerSwitch  int        `yaml:"hosts_per_switch" limits:"1..254"` // hosts of each switch
	Rate            vtime.Rate `yaml:"rate"`                             // of host links
	BottleneckRate  vtime.Rate `yaml:"bottleneck_rate"`                  // zero means Rate
	Delay           vtime.Time `yaml:"delay"`                            // of host links
	BottleneckDelay vtime.Time `yaml:"bottleneck_delay"`                 // zero means Delay
}

func (p *ParkingLot) check(key string, r *reporter) {
	checkCounts(key, r, p)
	checkLinks(key, r, p.Rate, p.Delay)
}

func (p *ParkingLot) build(b *Builder) {
	hosts := b.addHosts("h", (p.Bottlenecks+1)*p.HostsPerSwitch)
	row := b.addSwitches("l", p.Bottlenecks+1, 1)
	b.attach(hosts, row, p.Rate, p.Delay)
	for i := range p.Bottlenecks {
		b.Connect(row[i], row[i+1], orRate(p.BottleneckRate, p.Rate), orTime(p.BottleneckDelay, p.Delay))
	}
}

// checkCounts reports the numbers of a shape that are out of their limits.
func checkCounts(key string, r *reporter, shape any) {
	bad := yamlfile.OutOfLimits(shape)
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		r.errorf(key+"."+name, "%s", bad[name])
	}
}

// maxLinks is the greatest number of links, as a check against typing errors.
const maxLinks = 1 << 18

func checkTotal(key string, r *reporter, links int) {
	if links > maxLinks {
		r.errorf(key, "the network has %d links, more than %d", links, maxLinks)
	}
}

func checkLinks(key string, r *reporter, rate vtime.Rate, delay vtime.Time) {
	if rate <= 0 {
		r.errorf(key+".rate", "rate of the host links is missing, as in rate: 40Gbps")
	}
	if delay <= 0 {
		r.errorf(key+".delay", "delay of the links is missing, as in delay: 2us")
	}
}

func orRate(r, or vtime.Rate) vtime.Rate {
	if r == 0 {
		return or
	}
	return r
}

func orTime(t, or vtime.Time) vtime.Time {
	if t == 0 {
		return or
	}
	return t
}

func (b *Builder) addHosts(name string, n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = b.AddHost(fmt.Sprintf("%s%d", name, i+1))
	}
	return ids
}

func (b *Builder) addSwitches(name string, n int, tier Tier) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = b.AddSwitch(fmt.Sprintf("%s%d", name, i+1), tier)
	}
	return ids
}

// attach distributes hosts to switches, in order.
func (b *Builder) attach(hosts, switches []int, rate vtime.Rate, delay vtime.Time) {
	per := len(hosts) / len(switches)
	for i, h := range hosts {
		b.Connect(h, switches[i/per], rate, delay)
	}
}

// connectAll connects two nodes by parallel links; zero means one.
func (b *Builder) connectAll(a, z, parallel int, rate vtime.Rate, delay vtime.Time) {
	for range max(parallel, 1) {
		b.Connect(a, z, rate, delay)
	}
}
