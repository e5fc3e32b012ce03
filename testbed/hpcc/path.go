// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// SamePathsAround selects the adapters of hosts with several links, and the UDP source ports
// of flows and their acknowledgements, so that flows take the paths of the simulator of a
// dialect, whose hosts and switches use another hash of other fields than ECMP programs.
// Data has the UDP port of its telemetry. A flow without such a source port keeps its own.
//
// If after is not nil, routes change at a time to those of this topology of the same nodes
// and links. A flow has ports that lead along its paths before and after or, if there are
// none, along its first.
func SamePathsAround(t, after *topo.Topology, at vtime.Time, flows []fabric.Flow, telemetry cc.Telemetry, d Dialect) {
	adapters := adaptersOf(t)
	before, then := router{t: t, dialect: d}, router{t: after, dialect: d}
	for i := range flows {
		f := &flows[i]
		w := before.ways(f, adapters)
		if after != nil {
			switch late := then.ways(f, adapters); {
			case late == nil:
			case w == nil || f.Start >= at:
				w = late
			case w.src == late.src && w.dst == late.dst && w.back == late.back:
				w.later = late
			}
		}
		if w == nil {
			continue // no route
		}
		f.Src, f.Dst, f.Back = w.src, w.dst, w.back
		f.Wire[0] = w.search(t, f.Src, f.Dst, f.Port, telemetry.Port(), 0)
		f.Wire[1] = w.search(t, f.Back[0], f.Back[1], f.Port, packet.PortRoCEv2, 1)
	}
}

// ways are the adapters of a flow, and the choices of switches for its data and its
// acknowledgements.
type ways struct {
	src, dst int
	back     [2]int
	choices  [2][]choice
	later    *ways // after a change of routes; nil: none
}

// search returns a port that makes the choices of data (0) or acknowledgements (1).
func (w *ways) search(t *topo.Topology, src, dst int, from, to uint16, kind int) uint16 {
	if w.later != nil {
		if p := search(t, src, dst, from, to, slices.Concat(w.choices[kind], w.later.choices[kind])); p != 0 {
			return p
		}
	}
	return search(t, src, dst, from, to, w.choices[kind])
}

// router has the simulator's routes in a topology.
type router struct {
	t       *topo.Topology
	dialect Dialect
	tables  map[int][][]int
}

func (r *router) to(ends ...int) [][]int {
	key := ends[0]
	if len(ends) > 1 {
		key += len(r.t.Nodes)
	}
	if r.tables == nil {
		r.tables = make(map[int][][]int)
	}
	if r.tables[key] == nil {
		r.tables[key] = nextHops(r.t, ends, r.dialect)
	}
	return r.tables[key]
}

// ways returns those of a flow, or nil without a route.
func (r *router) ways(f *fabric.Flow, adapters map[int][]int) *ways {
	t, src, dst := r.t, f.Src, f.Dst
	from, at := adapters[src], adapters[dst]
	a, b := uint32(address(src)), uint32(address(dst))
	data := path(t, r.to(at...), src, dst, [3]uint32{a, b, uint32(f.Port) | uint32(f.Group)<<16})
	acks := path(t, r.to(from...), dst, src, [3]uint32{b, a, uint32(f.Group) | uint32(f.Port)<<16})
	if len(data) < 3 || len(acks) < 3 || data[len(data)-1] != dst || acks[len(acks)-1] != src {
		return nil
	}
	w := &ways{
		src: adapter(t, from, data[1]), dst: adapter(t, at, data[len(data)-2]),
		back: [2]int{adapter(t, at, acks[1]), adapter(t, from, acks[len(acks)-2])},
	}
	w.choices[0] = choices(t, r.to(w.dst), data[1:])
	w.choices[1] = choices(t, r.to(w.back[1]), acks[1:])
	return w
}

// adaptersOf returns the adapters of each host by the host's number.
func adaptersOf(t *topo.Topology) map[int][]int {
	all := make(map[int][]int)
	for _, id := range t.Hosts() {
		all[t.Nodes[id].Host] = append(all[t.Nodes[id].Host], id)
	}
	return all
}

// adapter returns the one of a host's adapters that is linked to a switch; of several,
// the last, which the simulator uses.
func adapter(t *topo.Topology, adapters []int, leaf int) int {
	for _, a := range slices.Backward(adapters) {
		if t.Nodes[a].Ports[0].Peer == leaf {
			return a
		}
	}
	panic("BUG: no adapter at the leaf")
}

// adapterSeed is the seed of the hash by which a host selects the adapter of a flow:
// ns-3's seed of MurmurHash3.
const adapterSeed = 0x8badf00d

// path returns the nodes that a flow of the simulator passes, both ends included: of
// equal next hops, a host's or a switch's hash selects one.
func path(t *topo.Topology, next [][]int, from, to int, key [3]uint32) []int {
	nodes := []int{from}
	for n := from; n != to && len(next[n]) > 0; {
		seed := uint32(n)
		if t.Nodes[n].Kind == topo.Host {
			seed = adapterSeed
		}
		n = next[n][int(murmur(key, seed)%uint32(len(next[n])))]
		nodes = append(nodes, n)
	}
	return nodes
}

// choice is a port out of n equal-cost ports that a flow should take, selected by
// the hash's bits from shift on.
type choice struct{ shift, n, take int }

// choices returns the choices of switches that lead along a path from a switch.
func choices(t *topo.Topology, next [][]int, path []int) (all []choice) {
	for i, node := range path[:len(path)-1] {
		if len(next[node]) < 2 {
			continue
		}
		c := choice{shift: intent.HashShift(t.Nodes[node].Tier)}
		for _, p := range t.Nodes[node].Ports {
			if t.Links[p.Link].Unused {
				continue
			}
			if p.Peer == path[i+1] {
				c.take = c.n
			}
			if slices.Contains(next[node], p.Peer) {
				c.n++
			}
		}
		all = append(all, c)
	}
	return all
}

// search returns the first source port, starting from a given one, whose hash makes
// all choices; zero if there is none.
func search(t *topo.Topology, src, dst int, from, to uint16, all []choice) uint16 {
	var b [13]byte
	s, d := t.Nodes[src].IP.As4(), t.Nodes[dst].IP.As4()
	copy(b[:], s[:])
	copy(b[4:], d[:])
	b[8] = packet.ProtoUDP
	binary.BigEndian.PutUint16(b[11:], to)
	for i := range 1 << 16 {
		p := from + uint16(i)
		if p == 0 {
			continue
		}
		binary.BigEndian.PutUint16(b[9:], p)
		h := crc32.ChecksumIEEE(b[:])
		if !slices.ContainsFunc(all, func(c choice) bool {
			return int(h>>c.shift&0xffff)*c.n>>16 != c.take
		}) {
			return p
		}
	}
	return 0
}

// nextHops returns, for each node, the next nodes towards a host, or towards one
// of its adapters, in the order of the simulator's search. That visits neighbours in
// the order of their addresses in memory: a switch of HPCC's with its counters has
// megabytes, which Linux maps from the top down, so that the last switch comes first.
// One of ConWeave's is small, and the first comes first. A host is listed under the
// number of its first adapter.
func nextHops(t *topo.Topology, adapters []int, d Dialect) [][]int {
	host := t.Nodes[adapters[0]].Host
	next, hops := make([][]int, len(t.Nodes)), make([]int, len(t.Nodes))
	queue := []int{host}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		ends := []int{n}
		if n == host {
			ends = adapters
		}
		var peers []int
		for _, end := range ends {
			for _, p := range t.Nodes[end].Ports {
				if t.Links[p.Link].Unused {
					continue
				}
				peers = append(peers, t.Nodes[p.Peer].Host)
			}
		}
		slices.Sort(peers)
		if d == HPCC {
			slices.Reverse(peers)
		}
		for _, p := range slices.Compact(peers) {
			if p != host && hops[p] == 0 {
				hops[p] = hops[n] + 1
				if t.Nodes[p].Kind == topo.Switch {
					queue = append(queue, p)
				}
			}
			if p != host && hops[p] == hops[n]+1 {
				next[p] = append(next[p], n)
			}
		}
	}
	return next
}

// murmur is the simulators' ECMP hash: MurmurHash3 of addresses and ports, with the
// switch's number as the seed.
func murmur(key [3]uint32, seed uint32) uint32 {
	h := seed
	for _, k := range key {
		k *= 0xcc9e2d51
		k = k<<15 | k>>17
		k *= 0x1b873593
		h ^= k
		h = h<<13 | h>>19
		h += h<<2 + 0xe6546b64
	}
	h ^= 12
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}
