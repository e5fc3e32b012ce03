// SPDX-License-Identifier: Apache-2.0

package live

import (
	"github.com/pauseless/pauseless/internal/manifest"
	"slices"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/real/wire"
	"github.com/pauseless/pauseless/testbed/result"
)

const losslessClass = manifest.LosslessClass

// droppedAt is the prefix of a switch's name in the counters of lost packets.
const droppedAt = "dropped_at_"

// collector makes a result.Run of the hosts' reports and the captured frames.
type collector struct {
	t        *topo.Topology
	scale    int64
	epoch    time.Time
	flows    []fabric.Flow
	reports  []*wire.Report
	watch    *watch
	end      vtime.Time
	measured func(*fabric.FlowResult) bool // nil: all
}

// at returns the time of the topology at a wall time.
func (c *collector) at(wall time.Time) vtime.Time {
	return vtime.Time(wall.Sub(c.epoch).Nanoseconds()/c.scale) * vtime.Nanosecond
}

// now returns the time of the last event.
func (c *collector) now() vtime.Time { return c.end }

// run makes a run of what the hosts and the watch observed.
func (c *collector) run() *result.Run {
	raw := &fabric.Results{Flows: make([]fabric.FlowResult, len(c.flows))}
	for i, f := range c.flows {
		raw.Flows[i] = fabric.FlowResult{Flow: f}
	}
	for _, h := range c.reports {
		raw.Timeouts += h.Timeouts
		raw.FastStarts += h.FastStarts
		for _, o := range h.Outgoing {
			f := &raw.Flows[o.Flow-1]
			f.Ideal, f.Packets, f.Sent, f.Resent = vtime.Time(o.IdealNS)*vtime.Nanosecond, o.Packets, o.Sent, o.Resent
			f.CNPs, f.Stalled, f.Finished = o.CNPs, o.Stalled, o.FCTNS > 0
			f.Acked = o.Acked
			if f.Finished {
				f.FCT = vtime.Time(o.FCTNS) * vtime.Nanosecond
				c.end = max(c.end, vtime.Time(o.StartNS)*vtime.Nanosecond+f.FCT)
			}
		}
		for _, in := range h.Incoming {
			f := &raw.Flows[in.Flow-1]
			f.OutOfOrder, f.Degree, f.Marked = in.OutOfOrder, in.Degree, in.Marked
			if in.EndNS > 0 {
				f.Delivered = vtime.Time(in.EndNS)*vtime.Nanosecond - f.Start
			}
		}
	}
	resumes := c.pauses(raw)
	raw.End = c.end
	var degrees []float64
	for i := range raw.Flows {
		f := &raw.Flows[i]
		raw.OutOfOrder += uint64(f.OutOfOrder)
		raw.CNPs += uint64(f.CNPs)
		raw.Degree.Add(f.Degree)
		degrees = append(degrees, float64(f.Degree))
	}
	// Packets that hosts sent and the network did not deliver.
	if c.watch.entered > c.watch.left {
		raw.Dropped = c.watch.entered - c.watch.left
	}
	r := result.Collect(c.t, raw, c.watch.hops, c.measured)
	s := &r.Summary
	s.Scheme, s.DegreeP99 = make(map[string]uint64), int64(result.Quantile(degrees, 0.99))
	if resumes > 0 {
		s.Scheme["resume_frames"] = resumes
	}
	for node, n := range c.watch.kept {
		if raw.Dropped > 0 && n > 0 && c.t.Nodes[node].Kind == topo.Switch {
			s.Scheme[droppedAt+c.t.Nodes[node].Name] = uint64(n)
		}
	}
	c.warnings(s)
	return r
}

// pauses adds the PFC frames to the results, and returns how many of them ended a pause.
// As in the fabric, a frame that names several classes counts once.
func (c *collector) pauses(raw *fabric.Results) (resumes uint64) {
	slices.SortStableFunc(c.watch.pauses, func(a, b pauseFrame) int { return a.at.Compare(b.at) })
	ports := make(map[topo.End]*fabric.PortResult)
	for i := range c.t.Nodes {
		for p := range c.t.Nodes[i].Ports {
			raw.Ports = append(raw.Ports, fabric.PortResult{Node: i, Port: p + 1})
		}
	}
	for i := range raw.Ports {
		ports[topo.End{Node: raw.Ports[i].Node, Port: raw.Ports[i].Port}] = &raw.Ports[i]
	}
	for _, f := range c.watch.pauses {
		at := c.at(f.at)
		c.end = max(c.end, at)
		paused := false
		for class, quanta := range f.classes {
			if quanta >= 0 {
				raw.Pauses = append(raw.Pauses, fabric.PauseEvent{Time: at, Node: f.to.Node, Port: f.to.Port, Class: uint8(class), Quanta: uint16(quanta)})
			}
			paused = paused || quanta > 0
		}
		if paused {
			ports[f.to].Pauses++
		} else {
			ports[f.to].Resumes++
			resumes++
		}
	}
	raw.End = c.end
	for _, p := range result.Pauses(c.t, raw) {
		ports[topo.End{Node: c.t.NodeByName(p.Node).ID, Port: p.Port}].Paused[p.Class] += vtime.Time(p.EndNS-p.StartNS) * vtime.Nanosecond
	}
	return resumes
}

// warnings counts pauses between switches, those with a warning before, and the
// median time from warning to PAUSE. Only a switch's own warnings count, not
// those that it forwards.
func (c *collector) warnings(s *result.Summary) {
	if len(c.watch.warns) == 0 {
		return
	}
	type state struct {
		warned time.Time // zero: no warning is in force
		paused bool
	}
	ports := make(map[topo.End]*state)
	of := func(e topo.End) *state {
		if ports[e] == nil {
			ports[e] = &state{}
		}
		return ports[e]
	}
	type event struct {
		at time.Time
		do func()
	}
	var events []event
	for _, w := range c.watch.warns {
		s.Scheme["warnings_on_the_wire"]++
		if uint64(w.origin) != c.t.Nodes[w.from.Node].DeviceID {
			continue
		}
		events = append(events, event{w.at, func() {
			switch st := of(w.from); {
			case !w.active:
				st.warned = time.Time{}
			case st.warned.IsZero():
				st.warned = w.at
			}
		}})
	}
	var lead []float64
	for _, f := range c.watch.pauses {
		if c.t.Nodes[f.to.Node].Kind != topo.Switch {
			continue // hosts are not warned
		}
		events = append(events, event{f.at, func() {
			st := of(f.from)
			switch q := f.classes[losslessClass]; {
			case q > 0 && !st.paused:
				st.paused = true
				s.Scheme["pauses_between_switches"]++
				if !st.warned.IsZero() {
					s.Scheme["pauses_warned_of_before"]++
					lead = append(lead, float64(c.at(f.at)-c.at(st.warned))/float64(vtime.Nanosecond))
				}
			case q == 0:
				st.paused = false
			}
		}})
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	for _, e := range events {
		e.do()
	}
	if len(lead) > 0 {
		s.Scheme["median_warning_lead_ns"] = uint64(result.Quantile(lead, 0.5))
	}
}
