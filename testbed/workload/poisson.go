// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Poisson starts flows of every sender at exponentially distributed intervals,
// each to a random receiver, so that payload fills a share of the sender's link.
type Poisson struct {
	Sizes string     `yaml:"sizes"` // a distribution's name or file
	Load  float64    `yaml:"load"`  // share of the senders' link rates: above 0, at most 2; 1 is the capacity of the links
	Start vtime.Time `yaml:"start"` // of the first flow, or later
	// Duration is the time in which flows start; alternatively, Flows is their
	// number.
	Duration vtime.Time `yaml:"duration"`
	Flows    int        `yaml:"flows" limits:"0.."`
	From     Hosts      `yaml:"from"` // senders; all hosts if left out
	To       Hosts      `yaml:"to"`   // receivers; all hosts if left out
	// OtherLeaf draws receivers on other leaves only.
	OtherLeaf bool `yaml:"other_leaf"`
	// Uplinks makes Load a share of the capacity of the leaf's links to other
	// switches, instead of its hosts' links.
	Uplinks bool `yaml:"uplinks"`

	open  Open
	sizes *Distribution
}

func (p *Poisson) ends() bool { return p.Duration > 0 || p.Flows > 0 }

func (p *Poisson) check(t *topo.Topology, open bool) (string, error) {
	var err error
	if p.sizes, err = load(p.open, p.Sizes); err != nil {
		return "sizes", err
	}
	from, key, err := p.From.pickFor(t, "from")
	if err != nil {
		return key, err
	}
	to, key, err := p.To.pickFor(t, "to")
	if err != nil {
		return key, err
	}
	switch {
	case p.Load <= 0 || p.Load > 2:
		return "load", fmt.Errorf("load is %g, must be above 0 and at most 2; 1 is the capacity of the links", p.Load)
	case p.Start < 0:
		return "start", fmt.Errorf("start is %v, must not be negative", p.Start)
	case p.Duration < 0 || p.Flows < 0 || p.Duration > 0 && p.Flows > 0 || !open && p.Duration == 0 && p.Flows == 0:
		return "", fmt.Errorf("give either duration or flows")
	case p.Flows > maxFlows:
		return "flows", fmt.Errorf("flows is %d, must be at most %d", p.Flows, maxFlows)
	}
	for _, h := range from {
		if !p.reaches(t, h, to) {
			return "to", fmt.Errorf("there is no host that %s may send to", t.Nodes[h].Name)
		}
		if p.Uplinks && p.capacity(t, h) <= 0 {
			return "uplinks", fmt.Errorf("the leaf of %s has no links to other switches", t.Nodes[h].Name)
		}
	}
	if p.Duration > 0 {
		// Check the expected number of flows before generating them.
		var n float64
		for _, h := range from {
			n += p.Duration.Seconds() * p.Load * p.capacity(t, h) / 8 / p.sizes.Mean()
		}
		if n > maxFlows/2 {
			return "duration", fmt.Errorf("about %.0f flows would start, more than %d", n, maxFlows/2)
		}
	}
	return "", nil
}

func (p *Poisson) reaches(t *topo.Topology, src int, to []int) bool {
	for _, d := range to {
		if p.allowed(t, src, d) {
			return true
		}
	}
	return false
}

func (p *Poisson) allowed(t *topo.Topology, src, dst int) bool {
	return src != dst && (!p.OtherLeaf || t.Nodes[src].Leaf != t.Nodes[dst].Leaf)
}

// capacity returns the bits per second of which a sender takes its share.
func (p *Poisson) capacity(t *topo.Topology, host int) float64 {
	if !p.Uplinks {
		return float64(rate(t, host))
	}
	leaf := &t.Nodes[t.Nodes[host].Ports[0].Peer]
	var up float64
	hosts := 0
	for _, port := range leaf.Ports {
		if t.Nodes[port.Peer].Kind == topo.Host {
			hosts++
		} else {
			up += float64(t.Links[port.Link].Rate)
		}
	}
	return up / float64(hosts)
}

func (p *Poisson) flows(g *gen) {
	from, _ := p.From.pick(g.t)
	to, _ := p.To.pick(g.t)
	// The sender with the earliest next flow starts it. Of senders with equal
	// times, which are rare, the first one does.
	next := make([]vtime.Time, len(from))
	mean := make([]float64, len(from))
	for i, h := range from {
		mean[i] = p.sizes.Mean() * 8 / (p.Load * p.capacity(g.t, h)) * float64(vtime.Second)
		next[i] = p.Start + g.exponential(mean[i])
	}
	for p.Flows == 0 || len(g.out) < p.Flows {
		first := 0
		for i := range next {
			if next[i] < next[first] {
				first = i
			}
		}
		at, src := next[first], from[first]
		if g.until > 0 && at >= g.until {
			return
		}
		if p.Duration > 0 && at >= p.Start+p.Duration || at >= vtime.Never/2 || len(g.out) > maxFlows {
			return
		}
		dst := to[g.rng.IntN(len(to))]
		for !p.allowed(g.t, src, dst) {
			dst = to[g.rng.IntN(len(to))]
		}
		g.add(src, dst, p.sizes.Quantile(g.rng.Float64()), at)
		next[first] = at + g.exponential(mean[first])
	}
}
