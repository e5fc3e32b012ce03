// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/pauseless/pauseless/internal/cache"
)

// A Fetcher is a node that can have the processor fetch what it will need.
type Fetcher interface {
	Node
	// Fetch is called several times before the node is run: with 0 it fetches the
	// node itself, later with 1 what that refers to, and with 2 what that in turn
	// refers to. It changes no state.
	Fetch(step int)
}

// What networks of so many nodes work on does not fit into a processor's
// second-level cache. Windows with fewer events for a group leave most nodes alone.
const (
	manyNodes = 250
	busyGroup = 64
)

// worthFetching returns how many events a group must have in a window for fetch
// to gain time.
func (e *engine) worthFetching() uint64 {
	if len(e.nodes) < manyNodes {
		return math.MaxUint32
	}
	return busyGroup
}

// fetchSteps is the number of steps in which a group is fetched, the last of them
// while the group before it is run.
const fetchSteps = 4

// fetch has the processor fetch what the groups after group i will need, while
// that one is run. Each step reads what the one before it has had fetched. Hosts
// are a step behind their switch, after which they are run.
//
// Only one thread does so. With several, another one may be running those groups.
func (e *engine) fetch(groups []*group, i int) {
	for k := 1; k <= fetchSteps && i+k < len(groups); k++ {
		nodes := groups[i+k].nodes
		nodes[0].fetch(fetchSteps - k)
		for _, n := range nodes[1:] {
			n.fetch(fetchSteps - 1 - k)
		}
	}
	// Frames for hosts are not sent before their switch is run.
	if i+2 < len(groups) {
		groups[i+2].nodes[0].eachMailed(e.drain, func(p *pipe) {
			cache.Struct(p.box[e.drain].first)
			cache.Struct(p.box[e.drain].last)
		})
	}
	if i+1 < len(groups) {
		groups[i+1].nodes[0].eachMailed(e.drain, func(p *pipe) {
			for c := p.box[e.drain].first; c != nil; c = c.next {
				for _, m := range c.messages[:c.n] {
					cache.Lines(unsafe.Pointer(m.f), 2)
				}
			}
		})
	}
}

// fetch takes a step, from 0, or none if it is negative: the node, then what
// frames wait in, then its timers and the heap of its ports.
func (n *node) fetch(step int) {
	switch step {
	case 0:
		cache.Lines(unsafe.Pointer(n), nodeLines)
	case 1:
		n.fetchPipes()
	case 2:
		n.timers.Fetch()
		n.heads.Fetch()
	}
	if step > 0 {
		if f, ok := n.impl.(Fetcher); ok {
			f.Fetch(step - 1)
		}
	}
}

// nodeLines is how many lines of a node come before those that few events need.
const nodeLines = 6

// fetchPipes has the processor fetch what arrivals and sending need of pipes.
func (n *node) fetchPipes() {
	for _, p := range n.in {
		cache.Lines(unsafe.Pointer(&p.box), 1)
		cache.Lines(unsafe.Pointer(&p.taken), 1)
	}
	for _, p := range n.out {
		cache.Lines(unsafe.Pointer(&p.box), 2)
	}
}

// eachMailed calls f with the pipes that have frames for the node.
func (n *node) eachMailed(parity uint64, f func(p *pipe)) {
	m := n.mail[parity]
	for i := range m {
		for w := m[i].Load(); w != 0; w &= w - 1 {
			f(n.in[64*i+bits.TrailingZeros64(w)])
		}
	}
}
