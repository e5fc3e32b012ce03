// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"context"
	"slices"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/vtime"
)

// coordinator schedules coflows: in every interval it compares the active flows
// with those of the last schedule, and if they have changed it sets the rate
// limit of each flow. Like Varys and Aalo, it models the network as one big
// switch whose ports are the links of the hosts. A flow waits for its first
// schedule.
type coordinator struct {
	f    *Fabric
	cfg  roce.Coflows
	next vtime.Time // time of the next schedule

	begun, ended int // flows that had at the last schedule
	// By host. left has the remaining capacity for sending, followed by that for
	// receiving, in bits per second.
	left, remainingFrom, remainingTo []float64
}

// coflow is the flows of one coflow. A flow without a coflow is scheduled
// alone.
type coflow struct {
	number int // of its first flow
	flows  []*flow
	sent   int64 // payload bytes of all flows, including finished ones
	start  vtime.Time
	key    float64 // smaller has precedence
}

func newCoordinator(f *Fabric, cfg roce.Coflows) *coordinator {
	n := len(f.hosts)
	return &coordinator{f: f, cfg: cfg, left: make([]float64, 2*n), remainingFrom: make([]float64, n), remainingTo: make([]float64, n)}
}

// runUntil is Fabric.RunUntil with schedules at each interval.
func (c *coordinator) runUntil(ctx context.Context, t vtime.Time, tick func(vtime.Time)) error {
	for {
		if now := c.f.Now(); now >= c.next {
			c.look(now)
			c.next = now - now%c.cfg.Interval + c.cfg.Interval
		}
		if err := c.f.engine.runUntil(ctx, min(t, c.next), tick); err != nil || c.f.Now() >= t {
			return err
		}
	}
}

// look schedules the active flows.
func (c *coordinator) look(now vtime.Time) {
	begun, ended := 0, 0
	for i := range c.f.flows {
		if fl := &c.f.flows[i]; fl.out.Start() <= now {
			begun++
			if fl.out.Ended() > 0 {
				ended++
			}
		}
	}
	// Aalo's order depends on the bytes sent.
	if begun == c.begun && ended == c.ended && c.cfg.Scheduler == roce.Varys {
		return
	}
	c.begun, c.ended = begun, ended
	c.allocate(c.order(now))
}

// order returns the active coflows in the scheduler's order.
func (c *coordinator) order(now vtime.Time) []*coflow {
	byNumber := make(map[uint32]*coflow)
	var all []*coflow
	for i := range c.f.flows {
		fl := &c.f.flows[i]
		if fl.out.Start() > now {
			continue
		}
		co := byNumber[fl.Coflow]
		if co == nil || fl.Coflow == 0 {
			co = &coflow{number: i, start: fl.out.Start()}
			byNumber[fl.Coflow] = co
			all = append(all, co)
		}
		co.start = min(co.start, fl.out.Start())
		co.sent += fl.out.Acked()
		if fl.out.Ended() == 0 {
			co.flows = append(co.flows, fl)
		}
	}
	all = slices.DeleteFunc(all, func(co *coflow) bool { return len(co.flows) == 0 })
	for _, co := range all {
		if c.cfg.Scheduler == roce.Aalo {
			co.key = float64(queueOf(co.sent))
		} else {
			co.key = c.bottleneck(co, func(h int) float64 { return c.rate(h) }, func(h int) float64 { return c.rate(h) })
		}
	}
	slices.SortStableFunc(all, func(a, b *coflow) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.start, b.start), cmp.Compare(a.number, b.number))
	})
	return all
}

// queueOf returns Aalo's queue of a coflow by its bytes sent: the first up to
// 10 MB, and each next one up to ten times as many.
func queueOf(sent int64) (q int) {
	for limit := int64(10 * vtime.MB); sent >= limit && q < 9; limit *= 10 {
		q++
	}
	return q
}

// rate returns the rate of a host's link in bits per second.
func (c *coordinator) rate(host int) float64 {
	t := c.f.topo
	return float64(t.Links[t.Nodes[host].Ports[0].Link].Rate)
}

// remaining returns the unacknowledged payload of a flow in bits.
func remaining(fl *flow) float64 { return 8 * float64(max(fl.Size-fl.out.Acked(), 1)) }

// bottleneck returns the time in seconds for the rest of a coflow if hosts send
// and receive at these rates: Varys' Γ.
func (c *coordinator) bottleneck(co *coflow, up, down func(host int) float64) float64 {
	for _, fl := range co.flows {
		c.remainingFrom[fl.Src], c.remainingTo[fl.Dst] = 0, 0
	}
	for _, fl := range co.flows {
		c.remainingFrom[fl.Src] += remaining(fl)
		c.remainingTo[fl.Dst] += remaining(fl)
	}
	var longest float64
	for _, fl := range co.flows {
		longest = max(longest, c.remainingFrom[fl.Src]/up(fl.Src), c.remainingTo[fl.Dst]/down(fl.Dst))
	}
	return longest
}

// allocate assigns rates to the flows of the coflows in order.
func (c *coordinator) allocate(order []*coflow) {
	n := len(c.f.hosts)
	for h := range n {
		if c.f.hosts[h] != nil {
			c.left[h], c.left[n+h] = c.rate(h), c.rate(h)
		}
	}
	up := func(h int) float64 { return c.left[h] }
	down := func(h int) float64 { return c.left[n+h] }
	rates := make(map[*flow]float64)
	take := func(fl *flow, rate float64) {
		rate = min(rate, c.left[fl.Src], c.left[n+fl.Dst])
		rates[fl] += rate
		c.left[fl.Src] -= rate
		c.left[n+fl.Dst] -= rate
	}
	for _, co := range order {
		if c.cfg.Scheduler == roce.Aalo {
			c.shareEvenly(co, take)
			continue
		}
		// MADD: all flows of the coflow end with its bottleneck. A coflow waits if a
		// port has no remaining capacity.
		if longest := c.bottleneck(co, up, down); longest < 1e9 {
			for _, fl := range co.flows {
				take(fl, remaining(fl)/longest)
			}
		}
	}
	// The remaining capacity goes to coflows that can use it, in the same order.
	for _, co := range order {
		for _, fl := range co.flows {
			take(fl, min(c.left[fl.Src], c.left[n+fl.Dst]))
		}
	}
	for _, co := range order {
		for _, fl := range co.flows {
			fl.out.Limit(vtime.Rate(rates[fl]))
		}
	}
}

// shareEvenly divides the remaining capacity of hosts among the flows of a
// coflow.
func (c *coordinator) shareEvenly(co *coflow, take func(fl *flow, rate float64)) {
	n := len(c.f.hosts)
	for _, fl := range co.flows {
		c.remainingFrom[fl.Src], c.remainingTo[fl.Dst] = 0, 0
	}
	for _, fl := range co.flows {
		c.remainingFrom[fl.Src]++
		c.remainingTo[fl.Dst]++
	}
	share := make([]float64, len(co.flows))
	for i, fl := range co.flows {
		share[i] = min(c.left[fl.Src]/c.remainingFrom[fl.Src], c.left[n+fl.Dst]/c.remainingTo[fl.Dst])
	}
	for i, fl := range co.flows {
		take(fl, share[i])
	}
}
