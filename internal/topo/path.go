// SPDX-License-Identifier: Apache-2.0

package topo

// Paths has the shortest paths of a network, in hops, to every host. They pass through
// switches only. Those to a switch are made when they are first asked for, and the hosts of
// a switch share them, so a network of 65,536 hosts needs 84 MB for all.
type Paths struct {
	t     *Topology
	index []int32 // by node: that of a switch among switches
	first []int32 // by switch: its first hop in hops; those of the next switch follow
	hops  []hop
	trees []*tree // by switch
}

// hop is a link from a switch to another one.
type hop struct{ to, link int32 }

// tree has the paths to a switch.
type tree struct {
	next []int32 // by switch: first link of its path; -1: none
	hops []int32 // by switch: links on it, with that to the host
}

// Paths returns the paths of a network, whose links must not change afterwards.
func (t *Topology) Paths() *Paths {
	p := &Paths{t: t, index: make([]int32, len(t.Nodes))}
	switches := t.Switches()
	for i, id := range switches {
		p.index[id] = int32(i)
	}
	p.trees = make([]*tree, len(switches))
	p.first = make([]int32, len(switches)+1)
	for i, id := range switches {
		for _, port := range t.Nodes[id].Ports {
			if t.Nodes[port.Peer].Kind == Switch && !t.Links[port.Link].Unused {
				p.hops = append(p.hops, hop{p.index[port.Peer], int32(port.Link)})
			}
		}
		p.first[i+1] = int32(len(p.hops))
	}
	return p
}

// Tree holds the shortest path, in hops, from every node to one host. If there
// are several, it keeps the first; in a regular network, equal-cost paths have
// equal links.
type Tree struct {
	p    *Paths
	host int
	link int   // of the host
	tree *tree // nil: no path leads to the host
}

// To returns the paths to a host.
func (p *Paths) To(host int) *Tree {
	port := p.t.Nodes[host].Ports[0]
	if p.t.Links[port.Link].Unused {
		return &Tree{p, host, port.Link, nil}
	}
	return &Tree{p, host, port.Link, p.to(port.Peer)}
}

// to returns the paths to a switch.
func (p *Paths) to(sw int) *tree {
	root := p.index[sw]
	if p.trees[root] == nil {
		p.trees[root] = p.make(root)
	}
	return p.trees[root]
}

// Distances are the numbers of links between one switch and each.
type Distances struct {
	index []int32
	hops  []int32
}

// Distances returns the distances of a switch.
func (p *Paths) Distances(sw int) Distances { return Distances{p.index, p.to(sw).hops} }

// From returns the number of links from a switch, or -1 if there is no path.
func (d Distances) From(sw int) int { return int(d.hops[d.index[sw]]) - 1 }

func (p *Paths) make(root int32) *tree {
	n := len(p.trees)
	tr := &tree{make([]int32, n), make([]int32, n)}
	for i := range tr.next {
		tr.next[i] = -1
	}
	tr.hops[root] = 1
	queue := append(make([]int32, 0, n), root)
	for at := 0; at < len(queue); at++ {
		sw := queue[at]
		for _, h := range p.hops[p.first[sw]:p.first[sw+1]] {
			if tr.hops[h.to] == 0 {
				tr.next[h.to], tr.hops[h.to] = h.link, tr.hops[sw]+1
				queue = append(queue, h.to)
			}
		}
	}
	return tr
}

// TreeTo returns the paths to one host. Paths makes those to many.
func (t *Topology) TreeTo(host int) *Tree { return t.Paths().To(host) }

// hop returns the number of links between a node and the tree's host, and the first of
// them. The number is zero if there is no path.
func (tr *Tree) hop(node int) (hops int32, link int) {
	t := tr.p.t
	if tr.tree == nil || node == tr.host {
		return 0, -1
	}
	if t.Nodes[node].Kind == Host {
		port := t.Nodes[node].Ports[0]
		hops = tr.tree.hops[tr.p.index[port.Peer]]
		if hops == 0 || t.Links[port.Link].Unused {
			return 0, -1
		}
		return hops + 1, port.Link
	}
	sw := tr.p.index[node]
	if hops = tr.tree.hops[sw]; hops == 1 {
		return 1, tr.link
	}
	return hops, int(tr.tree.next[sw])
}

// From returns the links of the path from a node to the tree's host, or nil if
// there is no path.
func (tr *Tree) From(node int) []*Link {
	n, _ := tr.hop(node)
	if n == 0 {
		return nil
	}
	return tr.Append(make([]*Link, 0, n), node)
}

// Append appends the links of the path from a node to the tree's host, if there is one.
func (tr *Tree) Append(links []*Link, node int) []*Link {
	for n, link := tr.hop(node); n > 0; n, link = tr.hop(node) {
		l := &tr.p.t.Links[link]
		links = append(links, l)
		node = l.A.Node ^ l.B.Node ^ node
	}
	return links
}

// NextHops returns the number of a node's links that lead closer to the tree's
// host.
func (tr *Tree) NextHops(node int) int {
	n := 0
	tr.closer(node, func(int) { n++ })
	return n
}

// Closer returns the ports of a node, from 1, that lead closer to the tree's
// host.
func (tr *Tree) Closer(node int) (ports []int) {
	tr.closer(node, func(port int) { ports = append(ports, port) })
	return ports
}

func (tr *Tree) closer(node int, do func(port int)) {
	hops, _ := tr.hop(node)
	if hops == 0 {
		return
	}
	t := tr.p.t
	for i, p := range t.Nodes[node].Ports {
		if t.Links[p.Link].Unused {
			continue
		}
		if p.Peer == tr.host {
			do(i + 1)
		} else if t.Nodes[p.Peer].Kind == Switch {
			if n, _ := tr.hop(p.Peer); n > 0 && n == hops-1 {
				do(i + 1)
			}
		}
	}
}
