// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"github.com/pauseless/pauseless/internal/manifest"
	"slices"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/wire"
)

const losslessClass = manifest.LosslessClass

// droppedAt is the prefix of a switch's name in the counters of lost packets.
const droppedAt = "dropped_at_"

// collector makes a result.Run of the hosts' reports and the captured frames.
type collector struct {
	t       *topo.Topology
	scale   int64
	epoch   time.Time
	flows   []fabric.Flow
	reports []*wire.Report
	watch   *watch
	end     vtime.Time
}

// at returns the time of the topology at a wall time.
func (c *collector) at(wall time.Time) vtime.Time {
	return vtime.Time(wall.Sub(c.epoch).Nanoseconds()/c.scale) * vtime.Nanosecond
}

// now returns the topology's time of the last flow's end or PFC frame.
func (c *collector) now() vtime.Time { return c.end }

func (c *collector) run() *result.Run {
	r := &result.Run{Summary: result.Summary{Flows: len(c.flows), Scheme: make(map[string]uint64)}}
	s := &r.Summary
	r.Flows = make([]result.Flow, len(c.flows))
	for i, f := range c.flows {
		r.Flows[i] = result.Flow{
			Src: c.t.Nodes[f.Src].Name, Dst: c.t.Nodes[f.Dst].Name, Bytes: f.Size, StartNS: f.Start.Nanoseconds(), Coflow: f.Coflow,
		}
	}
	var fct, slowdown, degrees []float64
	for _, h := range c.reports {
		s.Timeouts += h.Timeouts
		for _, o := range h.Outgoing {
			f := &r.Flows[o.Flow-1]
			f.FCTNS, f.IdealNS, f.Resent, f.Stalled = o.FCTNS, o.IdealNS, o.Resent, o.Stalled
			s.Packets += o.Packets
			s.Sent += o.Sent
			s.Resent += o.Resent
			s.CNPs += uint64(o.CNPs)
			if o.Stalled {
				s.Stalled++
			}
			if o.FCTNS > 0 {
				s.Finished++
				fct = append(fct, float64(o.FCTNS)/1e3)
				slowdown = append(slowdown, float64(o.FCTNS)/float64(o.IdealNS))
				c.end = max(c.end, vtime.Time(o.StartNS+o.FCTNS)*vtime.Nanosecond)
			}
		}
		for _, in := range h.Incoming {
			f := &r.Flows[in.Flow-1]
			f.OutOfOrder, f.Degree = in.OutOfOrder, in.Degree
			s.OutOfOrder += uint64(in.OutOfOrder)
			s.DegreeMax = max(s.DegreeMax, in.Degree)
			degrees = append(degrees, float64(in.Degree))
		}
	}
	s.AvgFCTUS, s.P99FCTUS = result.Mean(fct), result.Quantile(fct, 0.99)
	s.AvgSlowdown, s.P99Slowdown = result.Mean(slowdown), result.Quantile(slowdown, 0.99)
	s.DegreeP99 = int64(result.Quantile(degrees, 0.99))
	// Packets that hosts sent and the network did not deliver.
	if c.watch.entered > c.watch.left {
		s.Dropped = c.watch.entered - c.watch.left
		for node, n := range c.watch.kept {
			if n > 0 && c.t.Nodes[node].Kind == topo.Switch {
				s.Scheme[droppedAt+c.t.Nodes[node].Name] = uint64(n)
			}
		}
	}
	r.Pauses = c.pauses(s)
	c.warnings(s)
	s.EndUS = c.end.Microseconds()
	return r
}

// pauses joins PAUSE and RESUME frames to intervals, and counts them.
func (c *collector) pauses(s *result.Summary) []result.Pause {
	type key struct {
		end   topo.End // the paused port
		class int
	}
	type span struct{ start, until vtime.Time }
	open := make(map[key]span)
	var out []result.Pause
	end := func(k key, sp span, at vtime.Time) {
		out = append(out, result.Pause{
			Node: c.t.Nodes[k.end.Node].Name, Port: k.end.Port, Class: uint8(k.class),
			StartNS: sp.start.Nanoseconds(), EndNS: at.Nanoseconds(),
		})
		s.PausedUS += (at - sp.start).Microseconds()
		delete(open, k)
	}
	slices.SortStableFunc(c.watch.pauses, func(a, b pauseFrame) int { return a.at.Compare(b.at) })
	for _, f := range c.watch.pauses {
		at := c.at(f.at)
		c.end = max(c.end, at)
		rate := c.t.Links[c.t.Nodes[f.to.Node].Ports[f.to.Port-1].Link].Rate
		paused := false
		for class, quanta := range f.classes {
			if quanta < 0 {
				continue
			}
			k := key{f.to, class}
			sp, on := open[k]
			if on && sp.until < at {
				end(k, sp, sp.until)
				on = false
			}
			switch until := at + packet.PauseTime(uint16(quanta), rate); {
			case quanta == 0 && on:
				end(k, sp, at)
			case quanta > 0 && on:
				open[k] = span{sp.start, until}
			case quanta > 0:
				open[k] = span{at, until}
			}
			paused = paused || quanta > 0
		}
		if paused {
			s.PauseFrames++
		} else {
			s.Scheme["resume_frames"]++
		}
	}
	for k, sp := range open {
		end(k, sp, min(sp.until, c.end))
	}
	slices.SortFunc(out, func(a, b result.Pause) int {
		return cmp.Or(cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Class, b.Class))
	})
	return out
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
