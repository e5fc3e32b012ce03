// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Limits of a topology file.
const (
	maxNodes = 1 << 16
	maxLinks = 1 << 20
)

// ReadTopology reads a topology file: the counts of nodes, switches and links; the
// numbers of the switches; and for each link both nodes, rate, delay and loss
// probability. Node numbers are those of the file; node 7 is called h7 or s7. Ports
// are numbered as in the simulator: from 1, in the order of the links. Every link of a
// host but its first has an adapter of its own, h7.2 and so on, numbered after
// the file's nodes. An error of the content is a diag.List.
func ReadTopology(name string, sw topo.SwitchConfig) (*topo.Topology, error) {
	r, err := open(name)
	if err != nil {
		return nil, err
	}
	return r.topology(sw)
}

// ParseTopology is ReadTopology for a text in memory.
func ParseTopology(name, text string, sw topo.SwitchConfig) (*topo.Topology, error) {
	return newReader(name, text).topology(sw)
}

func (r *reader) topology(sw topo.SwitchConfig) (*topo.Topology, error) {
	nodes := int(r.int("the number of nodes", 1, maxNodes))
	switches := int(r.int("the number of switches", 0, int64(nodes)))
	links := int(r.int("the number of links", 0, maxLinks))
	isSwitch := make([]bool, nodes)
	for range switches {
		id := r.int("the number of a switch", 0, int64(nodes)-1)
		if r.failed() {
			return nil, r.err()
		}
		isSwitch[id] = true
	}
	type link struct {
		a, b  int
		rate  vtime.Rate
		delay vtime.Time
		loss  float64
	}
	var b topo.Builder
	var all []link
	for range links {
		a := int(r.int("a link's first node", 0, int64(nodes)-1))
		z := int(r.int("a link's second node", 0, int64(nodes)-1))
		at := r.at
		rate, delay, loss := r.rate("a link's rate"), r.time("a link's delay"), r.float("a link's error rate", 0, 1)
		if a == z {
			r.errorf(at, "node %d has a link to itself", a)
		}
		if r.failed() {
			return nil, r.err()
		}
		all = append(all, link{a, z, rate, delay, loss})
	}
	for i, sw := range isSwitch {
		if sw {
			b.AddSwitch(fmt.Sprintf("s%d", i), 0)
		} else {
			b.AddHost(fmt.Sprintf("h%d", i))
		}
	}
	linksOf := make([]int, nodes)
	end := func(n int) int {
		linksOf[n]++
		if isSwitch[n] || linksOf[n] == 1 {
			return n
		}
		return b.AddAdapter(n, fmt.Sprintf("h%d.%d", n, linksOf[n]))
	}
	for _, l := range all {
		b.Connect(end(l.a), end(l.b), l.rate, l.delay).Loss = l.loss
	}
	t, err := b.Build("", sw)
	if err != nil {
		r.errorf(r.at, "%v", err)
		return nil, r.err()
	}
	return t, nil
}
