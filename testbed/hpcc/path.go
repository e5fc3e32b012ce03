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
)

// SamePaths sets the UDP source ports of flows and their acknowledgements so that
// ECMP programs choose the same paths as the simulator's switches, which use another
// hash of other fields. Data has the UDP port of its telemetry. A flow
// without such a source port keeps its own.
func SamePaths(t *topo.Topology, flows []fabric.Flow, telemetry cc.Telemetry) {
	routes := make(map[int][][]int)
	to := func(host int) [][]int {
		if routes[host] == nil {
			routes[host] = nextHops(t, host)
		}
		return routes[host]
	}
	for i := range flows {
		f := &flows[i]
		key := [3]uint32{uint32(address(f.Src)), uint32(address(f.Dst)), uint32(f.Port) | uint32(f.Group)<<16}
		f.Wire[0] = search(t, f.Src, f.Dst, f.Port, telemetry.Port(), choices(t, to(f.Dst), f.Src, f.Dst, key))
		key = [3]uint32{key[1], key[0], uint32(f.Group) | uint32(f.Port)<<16}
		f.Wire[1] = search(t, f.Dst, f.Src, f.Port, packet.PortRoCEv2, choices(t, to(f.Src), f.Dst, f.Src, key))
	}
}

// choice is a port out of n equal-cost ports that a flow should take, selected by
// the hash's bits from shift on.
type choice struct{ shift, n, take int }

// choices returns the choices of the simulator's hash along a flow's path.
func choices(t *topo.Topology, next [][]int, src, dst int, key [3]uint32) (all []choice) {
	for node := t.Nodes[src].Ports[0].Peer; node != dst && len(next[node]) > 0; {
		hops := next[node]
		to := hops[int(murmur(key, uint32(node))%uint32(len(hops)))]
		if len(hops) > 1 {
			c := choice{shift: intent.HashShift(t.Nodes[node].Tier)}
			for _, p := range t.Nodes[node].Ports {
				if p.Peer == to {
					c.take = c.n
				}
				if slices.Contains(hops, p.Peer) {
					c.n++
				}
			}
			all = append(all, c)
		}
		node = to
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

// nextHops returns, for each node, the next nodes towards a host in the order of the
// simulator's search.
func nextHops(t *topo.Topology, host int) [][]int {
	next, hops := make([][]int, len(t.Nodes)), make([]int, len(t.Nodes))
	queue := []int{host}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		var peers []int
		for _, p := range t.Nodes[n].Ports {
			peers = append(peers, p.Peer)
		}
		slices.Sort(peers)
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
