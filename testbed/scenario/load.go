// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/workload"
)

// Loads returns the load that the traffic of a seed offers to the links of each
// tier, assuming that every switch divides it evenly over all shortest paths. It is
// the bytes of the flows that start in the window, with their headers, divided by
// the length of the window and the links' rates. Flows that last until the end
// share the rate of their host's link. Without a window, the time in which flows
// start is used, and Load.OverUS has it; traffic that starts all at once has no load.
func (c *Case) Loads(seed uint64) ([]result.Load, error) {
	flows, from, until, err := c.loading(seed)
	if err != nil || until <= from {
		return nil, err
	}
	t := c.net
	type pair struct{ src, dst int }
	bytes := make(map[pair]float64)
	wire := float64(c.Hosts.MTU+roce.DataOverhead+c.Hosts.Overhead) / float64(c.Hosts.MTU)
	lasting := make(map[int]float64) // flows that last until the end, by host
	for i := range flows {
		if lasts(&flows[i]) {
			lasting[flows[i].Src]++
		}
	}
	for i := range flows {
		f := &flows[i]
		switch p := (pair{f.Src, f.Dst}); {
		case f.Start >= until:
		case lasts(f):
			rate := t.Links[t.Nodes[f.Src].Ports[0].Link].Rate
			bytes[p] += float64(rate) / 8 * (until - max(f.Start, from)).Seconds() / lasting[f.Src]
		case f.Start >= from:
			bytes[p] += float64(f.Size) * wire
		}
	}
	load := make([][2]float64, len(t.Links)) // bytes by link, from A and from B
	paths := t.Paths()
	// In order: sums of the same numbers in another order differ in their last digit.
	pairs := slices.SortedFunc(maps.Keys(bytes), func(a, b pair) int { return cmp.Or(cmp.Compare(a.src, b.src), cmp.Compare(a.dst, b.dst)) })
	for _, p := range pairs {
		spread(t, paths.To(p.dst), p.src, p.dst, bytes[p], load)
	}
	all := tiers(t, load, (until - from).Seconds())
	for i := range all {
		if !c.Open() {
			all[i].OverUS = until.Seconds() * 1e6
		}
	}
	return all, nil
}

// lasts reports whether a flow is larger than any run can send.
func lasts(f *fabric.Flow) bool { return f.Size >= 8e9 }

// loading returns the flows that loads are computed from and the time they
// start in.
func (c *Case) loading(seed uint64) (flows []fabric.Flow, from, until vtime.Time, err error) {
	if c.Open() {
		tr, err := c.newTraffic(seed)
		if err != nil {
			return nil, 0, 0, err
		}
		flows, err = workload.GenerateUntil(c.Traffic, c.net, seed, tr.window.until)
		return flows, tr.window.from, tr.window.until, err
	}
	if flows, err = c.Flows(seed); err != nil {
		return nil, 0, 0, err
	}
	until = 0
	for i := range flows {
		until = max(until, flows[i].Start)
	}
	return flows, 0, until, nil
}

// spread divides bytes from a node over the links that lead closer to dst.
func spread(t *topo.Topology, tree *topo.Tree, node, dst int, bytes float64, load [][2]float64) {
	if node == dst {
		return
	}
	nextHops := tree.Closer(node)
	for _, p := range nextHops {
		port := t.Nodes[node].Ports[p-1]
		dir := 0
		if t.Links[port.Link].B.Node == node && t.Links[port.Link].B.Port == p {
			dir = 1
		}
		load[port.Link][dir] += bytes / float64(len(nextHops))
		spread(t, tree, port.Peer, dst, bytes/float64(len(nextHops)), load)
	}
}

// tiers sums loads by the tiers of the links' ends.
func tiers(t *topo.Topology, load [][2]float64, seconds float64) []result.Load {
	var all []result.Load
	var counts []int
	for i := range t.Links {
		l := &t.Links[i]
		for dir, ends := range [2][2]topo.End{{l.A, l.B}, {l.B, l.A}} {
			name := result.TierOf(t, ends[0].Node) + " to " + result.TierOf(t, ends[1].Node)
			share := load[i][dir] * 8 / seconds / float64(l.Rate)
			k := slices.IndexFunc(all, func(r result.Load) bool { return r.Tier == name })
			if k < 0 {
				k = len(all)
				all, counts = append(all, result.Load{Tier: name}), append(counts, 0)
			}
			counts[k]++
			all[k].Mean += share
			if share > all[k].Max {
				all[k].Max = share
				all[k].Where = fmt.Sprintf("%s to %s", t.Nodes[ends[0].Node].Name, t.Nodes[ends[1].Node].Name)
			}
		}
	}
	for k := range all {
		all[k].Mean /= float64(counts[k])
	}
	return all
}

// Volume returns the bytes of the flows that a run waits for, to estimate its
// time relative to other runs.
func (c *Case) Volume(seed uint64) (float64, error) {
	flows, from, until, err := c.loading(seed)
	if err != nil {
		return 0, err
	}
	var sum float64
	for i := range flows {
		if f := &flows[i]; !lasts(f) {
			sum += float64(f.Size)
		} else {
			sum += float64(c.net.Links[0].Rate) / 8 * (until - from).Seconds()
		}
	}
	return sum, nil
}
