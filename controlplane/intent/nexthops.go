// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// nextHops are the equal-cost ports towards a leaf: count ports from first on.
// At that leaf itself there are none.
type nextHops struct{ first, count int }

// findNextHops finds the ports on the shortest paths to every leaf. They must
// have consecutive numbers: programs compute them from the first.
func (b *builder) findNextHops() error {
	b.nextHops = make([]nextHops, len(b.leaves))
	type neighbour struct {
		port  int
		links []int32 // to each leaf
	}
	var neighbours []neighbour
	for i, p := range b.node.Ports {
		if b.topo.Nodes[p.Peer].Kind == topo.Switch && !b.topo.Links[p.Link].Unused {
			neighbours = append(neighbours, neighbour{i + 1, b.links[p.Peer]})
		}
	}
	for i, leaf := range b.leaves {
		if leaf == b.node.ID {
			continue
		}
		here := b.links[b.node.ID][i]
		switch {
		case here < 0 && b.options.Partial:
			continue
		case here < 0:
			return fmt.Errorf("no path leads to %s", b.topo.Nodes[leaf].Name)
		}
		w := &b.nextHops[i]
		for k := range neighbours {
			if neighbours[k].links[i] != here-1 {
				continue
			}
			p := neighbours[k].port
			if w.count > 0 && p != w.first+w.count {
				return fmt.Errorf("the equal-cost ports to %s are not consecutive: %d to %d, and %d; order the links in the topology so that they are",
					b.topo.Nodes[leaf].Name, w.first, w.first+w.count-1, p)
			}
			if w.count == 0 {
				w.first = p
			}
			w.count++
		}
		if w.count > b.manifest.Sizes.Paths {
			return fmt.Errorf("there are %d equal-cost paths to %s, but the program has %d paths; generate it with larger sizes",
				w.count, b.topo.Nodes[leaf].Name, b.manifest.Sizes.Paths)
		}
	}
	for _, c := range []struct {
		what      string
		have, max int
	}{
		{"leaves", len(b.leaves), b.manifest.Sizes.Leaves},
		{"ports", len(b.node.Ports) + 1, b.manifest.Sizes.Ports},
		{"routes", len(b.leaves) + len(b.node.Ports), b.manifest.Sizes.Hosts},
	} {
		if c.have > c.max {
			return fmt.Errorf("there are %d %s, more than the program's %d; generate it with larger sizes", c.have, c.what, c.max)
		}
	}
	return nil
}

// leavesOf returns the node IDs of the leaves by their numbers.
func leavesOf(t *topo.Topology) []int {
	var ids []int
	for i := range t.Nodes {
		if t.Nodes[i].Kind == topo.Switch && t.Nodes[i].Leaf >= 0 {
			ids = append(ids, i)
		}
	}
	return ids
}

// path returns the index of a port among its equal-cost ports, or 0.
func (b *builder) path(port int) int {
	for _, w := range b.nextHops {
		if port >= w.first && port < w.first+w.count {
			return port - w.first
		}
	}
	return 0
}

// xoff returns the ingress queue length at which the sender is paused, for a
// dynamic threshold the estimate for a busy switch; 0 without PFC.
func (b *builder) xoff() vtime.Size {
	switch p := b.topo.Switch.PFC; {
	case p.Off:
		return 0
	case p.Alpha > 0:
		return vtime.Size(float64(b.topo.Switch.Buffer) * p.Alpha / (1 + p.Alpha))
	default:
		return p.XOFF
	}
}
