// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Coflow generates groups of flows that are only useful together. The
// applications of the CLB paper (section 4) are map-reduce (count: 30, flows: 5 to
// 30, size: 16KB, interval: 400us, each: true), cloud storage (count: 5 to 30,
// flows: 15, pareto: {low: 10KB, high: 2MB, shape: 1.2}, interval: 400us, each:
// true) and web search (count: 30, flows: 5 to 30, total: 2MB, spread: 10ms,
// receivers: 1). The paper gives arrivals a Poisson distribution with λ = 2.5 without a unit. The
// interval above assumes 2.5 per millisecond.
type Coflow struct {
	// Count is the number of coflows. It may be left out if coflows start at
	// Interval and the scenario has a window: they continue until its end.
	Count int        `yaml:"count" limits:"1.."`
	Flows int        `yaml:"flows" limits:"1.."` // of each coflow
	Size  vtime.Size `yaml:"size"`               // of each flow; or total, sizes or pareto
	Total vtime.Size `yaml:"total"`              // of a coflow, shared evenly among its flows
	// Sizes is a distribution of flow sizes: its name, or a file.
	Sizes  string  `yaml:"sizes"`
	Pareto *Pareto `yaml:"pareto"` // a bounded Pareto distribution of flow sizes

	From Hosts `yaml:"from"` // senders; all hosts if left out
	To   Hosts `yaml:"to"`   // receivers; all hosts if left out
	// Receivers is the number of different receivers of a coflow, which are drawn for
	// each coflow. Zero means that the receiver of each flow is drawn separately.
	Receivers int        `yaml:"receivers" limits:"0.."`
	Start     vtime.Time `yaml:"start"` // of the first coflow, or later
	// Interval is the mean of the exponential time from one coflow to the next.
	// With Each, it is the time from one flow of a coflow to the next, and all
	// coflows start together.
	Interval vtime.Time `yaml:"interval"`
	Each     bool       `yaml:"each"`
	// Spread replaces Interval: every flow starts at a random time within Spread.
	Spread vtime.Time `yaml:"spread"`

	open  Open
	sizes *Distribution
}

// Pareto is a Pareto distribution cut off at both ends.
type Pareto struct {
	Low   vtime.Size `yaml:"low"`   // smallest flow
	High  vtime.Size `yaml:"high"`  // largest flow
	Shape float64    `yaml:"shape"` // of the distribution: the smaller, the more large flows
}

// quantile returns the size that a share u of flows does not exceed.
func (p *Pareto) quantile(u float64) int64 {
	l, h := math.Pow(float64(p.Low), p.Shape), math.Pow(float64(p.High), p.Shape)
	x := math.Pow((h-u*(h-l))/(h*l), -1/p.Shape)
	return min(max(int64(x), int64(p.Low)), int64(p.High))
}

func (c *Coflow) ends() bool { return c.Count > 0 }

func (c *Coflow) check(t *topo.Topology, open bool) (string, error) {
	_, key, err := c.From.pickFor(t, "from")
	if err != nil {
		return key, err
	}
	to, key, err := c.To.pickFor(t, "to")
	if err != nil {
		return key, err
	}
	given := 0
	for _, is := range []bool{c.Size > 0, c.Total > 0, c.Sizes != "", c.Pareto != nil} {
		if is {
			given++
		}
	}
	switch {
	case c.Count == 0 && open && (c.Interval == 0 || c.Each):
		return "count", fmt.Errorf("count is missing; only coflows with interval and without each may leave it out")
	case c.Count < 1 && !(c.Count == 0 && open) || c.Count > maxFlows:
		return "count", fmt.Errorf("count is %d, must be from 1 to %d", c.Count, maxFlows)
	case c.Flows < 1 || c.Flows > maxFlows/max(c.Count, 1):
		return "flows", fmt.Errorf("flows is %d, must be from 1 to %d", c.Flows, maxFlows/max(c.Count, 1))
	case given != 1 || c.Size < 0 || c.Total < 0:
		return "", fmt.Errorf("give exactly one of size, total, sizes and pareto")
	case c.Total > 0 && int64(c.Total) < int64(c.Flows):
		return "total", fmt.Errorf("total must be at least one byte for each flow")
	case c.Receivers < 0 || c.Receivers > len(to):
		return "receivers", fmt.Errorf("receivers is %d, must be at most the %d hosts of to", c.Receivers, len(to))
	case c.Start < 0:
		return "start", fmt.Errorf("start is %v, must not be negative", c.Start)
	case c.Interval < 0 || c.Interval > vtime.Second*1000:
		return "interval", fmt.Errorf("interval is %v, must be from 0s to 1000s", c.Interval)
	case c.Spread < 0:
		return "spread", fmt.Errorf("spread is %v, must not be negative", c.Spread)
	case c.Interval > 0 && c.Spread > 0:
		return "spread", fmt.Errorf("give either interval or spread, not both")
	}
	if p := c.Pareto; p != nil && (p.Low < 1 || p.High <= p.Low || p.Shape <= 0 || p.Shape > 20) {
		return "pareto", fmt.Errorf("low must be below high and shape above 0, as in {low: 10KB, high: 2MB, shape: 1.2}")
	}
	if c.Sizes != "" {
		if c.sizes, err = load(c.open, c.Sizes); err != nil {
			return "sizes", err
		}
	}
	if all, _ := Hosts("all").pick(t); len(all) < 2 {
		return "from", fmt.Errorf("there is only one host")
	}
	from, _ := c.From.pick(t)
	if len(from) == 1 && (len(to) == 1 || c.Receivers == 1) && len(without(to, from[0])) < len(to) {
		return "to", fmt.Errorf("%s would send to itself", t.Nodes[from[0]].Name)
	}
	if len(to) == 1 && len(without(from, to[0])) == 0 {
		return "from", fmt.Errorf("%s would send to itself", t.Nodes[to[0]].Name)
	}
	return "", nil
}

func (c *Coflow) flows(g *gen) {
	from, _ := c.From.pick(g.t)
	to, _ := c.To.pick(g.t)
	begin, next := c.Start, &g.next
	if c.Count == 0 {
		// The number of coflows depends on the end of the run. The numbers of other
		// parts' coflows must not.
		own := uint32(g.base.Group)*maxFlows + uint32(g.base.Group)<<12
		next = &own
	}
	for i := 0; i < c.Count || c.Count == 0 && begin < g.until && len(g.out) <= maxFlows; i++ {
		if uint16(*next) == 0 {
			*next++ // packets carry the lower 16 bits, and zero is none
		}
		g.base.Coflow = *next
		*next++
		targets := to
		if c.Receivers > 0 {
			targets = append([]int(nil), to...)
			g.rng.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
			targets = targets[:c.Receivers]
		}
		if i > 0 && c.Interval > 0 && !c.Each {
			begin += g.exponential(float64(c.Interval))
		}
		at := begin
		for k := range c.Flows {
			if c.Each && c.Interval > 0 {
				at += g.exponential(float64(c.Interval))
			}
			src := from[g.rng.IntN(len(from))]
			dst := targets[g.rng.IntN(len(targets))]
			for src == dst {
				src = from[g.rng.IntN(len(from))]
				dst = targets[g.rng.IntN(len(targets))]
			}
			g.add(src, dst, c.size(g, k), at+g.jitter(c.Spread))
		}
	}
	g.base.Coflow = 0
}

// size returns the size of the k-th flow of a coflow.
func (c *Coflow) size(g *gen, k int) int64 {
	switch {
	case c.Size > 0:
		return int64(c.Size)
	case c.Total > 0:
		n := int64(c.Total) / int64(c.Flows)
		if int64(k) < int64(c.Total)%int64(c.Flows) {
			n++
		}
		return n
	case c.Pareto != nil:
		return c.Pareto.quantile(g.rng.Float64())
	}
	return c.sizes.Quantile(g.rng.Float64())
}
