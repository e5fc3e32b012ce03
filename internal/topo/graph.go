// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Graph is a list of nodes and links, for any network.
type Graph struct {
	Rate     vtime.Rate    `yaml:"rate"`  // of links without a rate of their own
	Delay    vtime.Time    `yaml:"delay"` // of links without a delay of their own
	Switches []GraphSwitch `yaml:"switches"`
	Hosts    []GraphHost   `yaml:"hosts"`
	Links    []GraphLink   `yaml:"links"` // between switches
}

// GraphSwitch is a switch.
type GraphSwitch struct {
	Name string `yaml:"name"` // of the switch
	// Tier is 1 for a switch with hosts, 2 for the next layer and so on.
	// Zero means the number of links to the nearest host.
	Tier int `yaml:"tier" limits:"0..16"`
}

// GraphHost is a host, or Count hosts, whose names are Name with a number from 1.
type GraphHost struct {
	Name  string     `yaml:"name"`                     // of the host; with Count, what the number follows
	Count int        `yaml:"count" limits:"0..262144"` // hosts like this one; zero means one
	On    string     `yaml:"on"`                       // switch
	Rate  vtime.Rate `yaml:"rate"`                     // of its link
	Delay vtime.Time `yaml:"delay"`                    // of its link, one way
}

// GraphLink is a link between switches, or Count parallel ones.
type GraphLink struct {
	A     string     `yaml:"a"`                        // switch at one end
	B     string     `yaml:"b"`                        // switch at the other end
	Count int        `yaml:"count" limits:"0..262144"` // parallel links; zero means one
	Rate  vtime.Rate `yaml:"rate"`                     // of each link
	Delay vtime.Time `yaml:"delay"`                    // of each link, one way
	Loss  float64    `yaml:"loss" limits:"0..1"`       // probability that a frame is lost, from 0 to 1
}

func (g *Graph) check(key string, r *reporter) {
	switches := make(map[string]bool)
	for i, s := range g.Switches {
		at := fmt.Sprintf("%s.switches.%d", key, i)
		if err := CheckName(s.Name); err != nil {
			r.errorf(at+".name", "switch %v", err)
		} else if switches[s.Name] {
			r.errorf(at, "two switches are called %q", s.Name)
		}
		if s.Tier < 0 || s.Tier > 16 {
			r.errorf(at+".tier", "tier is %d, must be from 1 to 16", s.Tier)
		}
		switches[s.Name] = true
	}
	total := 0
	link := func(at string, rate vtime.Rate, delay vtime.Time, count int) {
		switch {
		case orRate(rate, g.Rate) <= 0:
			r.errorf(at, "neither the link nor the graph has a rate")
		case orTime(delay, g.Delay) <= 0:
			r.errorf(at, "neither the link nor the graph has a delay")
		case count < 0 || count > maxLinks:
			r.errorf(at+".count", "count is %d, must be from 1 to %d", count, maxLinks)
		}
		total += min(max(count, 1), maxLinks)
	}
	for i, h := range g.Hosts {
		at := fmt.Sprintf("%s.hosts.%d", key, i)
		if err := CheckName(h.Name); err != nil {
			r.errorf(at+".name", "host %v", err)
		}
		if !switches[h.On] {
			r.errorf(at+".on", "no switch is called %q%s", h.On, diag.OneOf(h.On, slices.Sorted(maps.Keys(switches))))
		}
		link(at, h.Rate, h.Delay, h.Count)
	}
	for i, l := range g.Links {
		at := fmt.Sprintf("%s.links.%d", key, i)
		for _, end := range []struct{ key, name string }{{"a", l.A}, {"b", l.B}} {
			if !switches[end.name] {
				r.errorf(at+"."+end.key, "no switch is called %q%s", end.name, diag.OneOf(end.name, slices.Sorted(maps.Keys(switches))))
			}
		}
		if l.Loss < 0 || l.Loss > 1 {
			r.errorf(at+".loss", "loss is %g, must be from 0 to 1", l.Loss)
		}
		link(at, l.Rate, l.Delay, l.Count)
	}
	checkTotal(key, r, total)
}

func (g *Graph) build(b *Builder) {
	ids := make(map[string]int)
	type host struct {
		id int
		GraphHost
	}
	var hosts []host
	for _, h := range g.Hosts {
		for i := range max(h.Count, 1) {
			name := h.Name
			if h.Count > 0 {
				name = fmt.Sprintf("%s%d", h.Name, i+1)
			}
			hosts = append(hosts, host{b.AddHost(name), h})
		}
	}
	for _, s := range g.Switches {
		ids[s.Name] = b.AddSwitch(s.Name, Tier(s.Tier))
	}
	for _, h := range hosts {
		b.Connect(h.id, ids[h.On], orRate(h.Rate, g.Rate), orTime(h.Delay, g.Delay))
	}
	for _, l := range g.Links {
		for range max(l.Count, 1) {
			b.Connect(ids[l.A], ids[l.B], orRate(l.Rate, g.Rate), orTime(l.Delay, g.Delay)).Loss = l.Loss
		}
	}
}
