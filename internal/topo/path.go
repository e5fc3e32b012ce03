// SPDX-License-Identifier: Apache-2.0

package topo

// Tree holds the shortest path, in hops, from every node to one host. If there
// are several, it keeps the first; in a regular network, equal-cost paths have
// equal links.
type Tree struct {
	t    *Topology
	host int
	next []int // first link of the path from each node; -1: none
	hops []int // links on it
}

// TreeTo returns the paths to a host. They pass through switches only.
func (t *Topology) TreeTo(host int) *Tree {
	tr := &Tree{t: t, host: host, next: make([]int, len(t.Nodes)), hops: make([]int, len(t.Nodes))}
	for i := range tr.next {
		tr.next[i] = -1
	}
	queue := []int{host}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, p := range t.Nodes[n].Ports {
			if p.Peer == host || tr.next[p.Peer] >= 0 || t.Links[p.Link].Unused {
				continue
			}
			tr.next[p.Peer], tr.hops[p.Peer] = p.Link, tr.hops[n]+1
			if t.Nodes[p.Peer].Kind == Switch {
				queue = append(queue, p.Peer)
			}
		}
	}
	return tr
}

// From returns the links of the path from a node to the tree's host, or nil if
// there is no path.
func (tr *Tree) From(node int) []*Link {
	var links []*Link
	for tr.next[node] >= 0 {
		l := &tr.t.Links[tr.next[node]]
		links = append(links, l)
		if node = l.A.Node ^ l.B.Node ^ node; len(links) > len(tr.next) {
			panic("BUG: a tree with a loop")
		}
	}
	return links
}

// NextHops returns the number of a node's links that lead closer to the tree's
// host.
func (tr *Tree) NextHops(node int) int { return len(tr.Closer(node)) }

// Closer returns the ports of a node, from 1, that lead closer to the tree's
// host.
func (tr *Tree) Closer(node int) (ports []int) {
	for i, p := range tr.t.Nodes[node].Ports {
		through := tr.t.Nodes[p.Peer].Kind == Switch && tr.next[p.Peer] >= 0
		if (p.Peer == tr.host || through) && tr.hops[p.Peer] == tr.hops[node]-1 && !tr.t.Links[p.Link].Unused {
			ports = append(ports, i+1)
		}
	}
	return ports
}
