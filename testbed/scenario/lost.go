// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// lostRuns is the number of runs without a cause.
const lostRuns = 3

// without is what a run does not have, to find out what a cause cost.
type without struct {
	text   string
	faults []int // indices in Keys.Faults
	parts  []int // of the traffic, from 1
	net    *topo.Topology
}

// from returns a case without it.
func (w *without) from(c *Case) *Case {
	k := *c
	k.absent = w.parts
	k.Faults = nil
	for i, f := range c.Faults {
		if !slices.Contains(w.faults, i) {
			k.Faults = append(k.Faults, f)
		}
	}
	if w.net != nil {
		k.net = w.net
	}
	return &k
}

// present returns the flows that the case has. They keep the ports, and so the paths,
// that they have with the others.
func (c *Case) present(flows []fabric.Flow) []fabric.Flow {
	if len(c.absent) == 0 {
		return flows
	}
	var list []fabric.Flow
	for i, f := range flows {
		if f.Port == 0 {
			f.Port = fabric.DefaultPort(i)
		}
		if !slices.Contains(c.absent, f.Group) {
			list = append(list, f)
		}
	}
	return list
}

// lost runs the case without each of the worst causes for which that can be said, and
// sets what flows lost to them, in all storms of the same cause.
func (c *Case) lost(ctx context.Context, prog *program.Program, seed uint64, o Options, run *result.Run) error {
	known := make(map[string]*result.LostToCause)
	for i := range run.Causes.Storms {
		s := &run.Causes.Storms[i]
		w := c.withoutCause(s, run.Raw)
		if w == nil {
			continue
		}
		if s.Lost = known[w.text]; s.Lost != nil || len(known) == lostRuns {
			continue
		}
		o := o
		o.Explain, o.Lost, o.Follow, o.Read, o.without = false, false, nil, nil, w
		k := *c
		k.Explain = false
		other, err := k.Run(ctx, prog, seed, o)
		if err != nil && !errors.Is(err, virtual.ErrDropped) {
			return fmt.Errorf("without %s: %w", w.text, err)
		}
		s.Lost = compare(w, run.Raw, other.Raw)
		if bus, ok := other.Metrics["busbw"]; ok && run.Metrics["busbw"] > 0 {
			s.Lost.BusBW, s.Lost.BusBWWithout = run.Metrics["busbw"], bus
		}
		known[w.text] = s.Lost
	}
	return nil
}

// compare sums up what the flows that ended in both runs lost.
func compare(w *without, with, other *fabric.Results) *result.LostToCause {
	l := &result.LostToCause{Without: w.text}
	j := 0
	for i := range with.Flows {
		f := &with.Flows[i]
		if slices.Contains(w.parts, f.Group) {
			continue
		}
		if j == len(other.Flows) {
			break
		}
		if g := &other.Flows[j]; f.Finished && g.Finished {
			l.Flows++
			l.FCTUS += (f.FCT - g.FCT).Microseconds()
		}
		j++
	}
	return l
}

// withoutCause returns what a run without the cause of a storm does not have, or nil if
// that cannot be said.
func (c *Case) withoutCause(s *result.PauseStorm, r *fabric.Results) *without {
	root := &s.Root
	w := &without{}
	switch root.Cause {
	case result.CauseStorming, result.CauseReceiver, result.CauseLinkDown:
		for i := range c.Faults {
			f := &c.Faults[i]
			if root.Peer != "" && (f.Storm == root.Peer || f.Slow == root.Peer) || root.Cause == result.CauseLinkDown && f.Down {
				w.faults = append(w.faults, i)
			}
		}
		switch {
		case len(w.faults) == 0 || len(c.Reroutes) > 0:
			return nil
		case root.Cause == result.CauseLinkDown:
			w.text = "links that are down"
		default:
			w.text = "the fault of " + root.Peer
		}
	case result.CauseSlowLink:
		n := c.net.NodeByName(root.Node)
		id := n.Ports[root.Port-1].Link
		t := *c.net
		t.Links = slices.Clone(t.Links)
		t.Links[id].Rate = result.UsualRate(c.net, id)
		w.net, w.text = &t, fmt.Sprintf("the low rate of %s-%s", root.Node, root.Peer)
	case result.CauseThreshold, result.CauseHeadroom:
		t := *c.net
		if root.Cause == result.CauseThreshold {
			t.Switch.PFC.XOFF = topo.DefaultXOFF
		} else {
			t.Switch.PFC.Headroom = 0
		}
		if t.CheckBuffer() != nil {
			return nil
		}
		w.net, w.text = &t, "the configured "+root.Cause
	case result.CauseIncast:
		// The parts of the traffic all of whose flows go to the root's host.
		dst := c.net.NodeByName(root.Peer).Host
		parts := make(map[int]bool)
		for _, f := range s.RootFlows {
			parts[r.Flows[f.Flow-1].Group] = true
		}
		rest := false
		for i := range r.Flows {
			f := &r.Flows[i]
			if c.net.Nodes[f.Dst].Host != dst || f.Plan != nil { // of a job, all flows or none
				parts[f.Group] = false
				rest = true
			}
		}
		for _, p := range slices.Sorted(maps.Keys(parts)) {
			if parts[p] {
				w.parts = append(w.parts, p)
			}
		}
		if len(w.parts) == 0 || !rest {
			return nil
		}
		var names []string
		for _, p := range w.parts {
			names = append(names, fmt.Sprint(p))
		}
		w.text = fmt.Sprintf("part %s of the traffic, to %s", strings.Join(names, ", "), root.Peer)
	default:
		return nil
	}
	return w
}
