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
	// Fetch is called some time before the node is run. It changes no state.
	Fetch()
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

// fetch has the processor fetch what the groups after group i will need, while
// that one is run: of the third one after it what frames wait in, of the second one
// the lists of them, and of the next one the frames, and what its switch needs for
// any frame. Each step reads what the one before it has had fetched.
//
// Only one thread does so. With several, another one may be running those groups.
func (e *engine) fetch(groups []*group, i int) {
	if i+3 < len(groups) {
		for k, n := range groups[i+3].nodes {
			if k == 0 {
				n.fetchPipes()
			} else {
				cache.Lines(unsafe.Pointer(n), nodeLines)
			}
		}
	}
	if i+2 < len(groups) {
		for k, n := range groups[i+2].nodes {
			if k == 0 {
				n.eachMailed(e.drain, func(p *pipe) { cache.Lines(unsafe.Pointer(unsafe.SliceData(p.box[e.drain])), 2) })
			} else {
				n.fetchPipes()
			}
		}
	}
	if i+1 < len(groups) {
		n := groups[i+1].nodes[0]
		if f, ok := n.impl.(Fetcher); ok {
			f.Fetch()
		}
		n.eachMailed(e.drain, func(p *pipe) {
			for _, m := range p.box[e.drain] {
				cache.Lines(unsafe.Pointer(m.f), 2)
			}
		})
	}
}

// nodeLines is how many lines of a node come before those that few events need.
const nodeLines = 3

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
