// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/result"
)

// Gap is the time without a pause that separates two storms of the same root.
const Gap = 100 * vtime.Microsecond

// What a report has of each storm.
const (
	mostFlows = 20  // in the root, and victims
	mostSpans = 256 // of a link
)

// storm is the events of one root without a gap.
type storm struct {
	root        root
	from, until vtime.Time
	begun       vtime.Time // the root's first PAUSE
	events      []*event
}

// Report returns the causes of the pauses until now. flow returns the flow with an index,
// from 0. Virtual time must stand still.
func (r *Recorder) Report(now vtime.Time, flow func(int) fabric.Flow) *result.Causes {
	events := r.events(now)
	for _, e := range events {
		r.resolve(e)
	}
	c := &result.Causes{Storms: []result.PauseStorm{}, Cut: r.cutText(), Flows: make(map[int]result.FlowTime)}
	victims := make(map[uint32]bool)
	storms := group(events)
	for _, s := range storms {
		c.Storms = append(c.Storms, r.storm(s, storms, flow, c.Flows, victims))
	}
	slices.SortStableFunc(c.Storms, func(a, b result.PauseStorm) int {
		return cmp.Or(cmp.Compare(b.WaitedUS, a.WaitedUS), cmp.Compare(b.PausedUS, a.PausedUS), cmp.Compare(a.FromNS, b.FromNS))
	})
	for i := range c.Storms {
		s := &c.Storms[i]
		c.PausedUS, c.WaitedUS, c.VictimUS = c.PausedUS+s.PausedUS, c.WaitedUS+s.WaitedUS, c.VictimUS+s.VictimUS
		c.VictimPausedUS += s.VictimPausedUS
	}
	c.Victims = len(victims)
	return c
}

// group returns the storms, by the time of their first pause.
func group(events []*event) (storms []*storm) {
	slices.SortStableFunc(events, func(a, b *event) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.node, b.node), cmp.Compare(a.port, b.port), cmp.Compare(a.class, b.class))
	})
	last := make(map[root]*storm)
	for _, e := range events {
		s := last[e.root]
		if s == nil || e.since > s.until+Gap {
			s = &storm{root: e.root, from: e.since, until: e.until, begun: e.begun}
			last[e.root] = s
			storms = append(storms, s)
		}
		s.until, s.begun = max(s.until, e.until), min(s.begun, e.begun)
		s.events = append(s.events, e)
	}
	return storms
}

// storm describes a storm, and adds its victims and the times of flows.
func (r *Recorder) storm(s *storm, all []*storm, flow func(int) fabric.Flow, times map[int]result.FlowTime, victims map[uint32]bool) result.PauseStorm {
	out := result.PauseStorm{FromNS: s.from.Nanoseconds(), UntilNS: s.until.Nanoseconds(), RootFlows: []result.RootFlow{}, Victims: []result.FlowWait{}}
	atRoot := r.atRoot(s)
	waited := make(map[uint32]vtime.Time)
	tree := make(map[link]*branch)
	for _, e := range s.events {
		l := r.of(e)
		b := tree[l]
		if b == nil {
			b = &branch{link: l, via: make(map[link]vtime.Time)}
			tree[l] = b
		}
		took := e.until - e.since
		b.pauses++
		b.paused += took
		b.packets += e.packets
		b.via[e.via] += took
		b.spans = append(b.spans, [2]vtime.Time{e.since, e.until})
		for _, w := range e.waits {
			waited[w.flow] += w.took
			b.waited += w.took
			if !atRoot(w.flow) {
				b.victims += w.took
			}
		}
		b.withVictim += e.withVictim(atRoot)
	}
	out.Links = r.links(s, tree)
	for _, l := range out.Links {
		out.PausedUS, out.Packets, out.WaitedUS, out.VictimUS = out.PausedUS+l.PausedUS, out.Packets+l.Packets, out.WaitedUS+l.WaitedUS, out.VictimUS+l.VictimUS
		out.VictimPausedUS += l.VictimPausedUS
	}
	name := func(n int) string { return r.topo.Nodes[n].Name }
	out.Waiting = len(waited)
	for _, f := range slices.Sorted(maps.Keys(waited)) {
		took := times[int(f)-1]
		took.Waited += waited[f].Microseconds()
		if !atRoot(f) {
			took.Victim += waited[f].Microseconds()
		}
		times[int(f)-1] = took
		if atRoot(f) {
			continue
		}
		victims[f] = true
		k := flow(int(f) - 1)
		out.Victims = append(out.Victims, result.FlowWait{Flow: int(f), Src: name(k.Src), Dst: name(k.Dst), WaitedUS: waited[f].Microseconds()})
	}
	slices.SortStableFunc(out.Victims, func(a, b result.FlowWait) int { return cmp.Compare(b.WaitedUS, a.WaitedUS) })
	out.VictimCount = len(out.Victims)
	out.Victims = out.Victims[:min(len(out.Victims), mostFlows)]
	flows := r.rootFlows(s, flow, &out)
	out.Root = r.why(s, all, flows, flow)
	return out
}

// withVictim returns for how much of a pause a victim waited.
func (e *event) withVictim(atRoot func(flow uint32) bool) (longest vtime.Time) {
	for _, w := range e.waits {
		if !atRoot(w.flow) {
			longest = max(longest, w.took)
		}
	}
	return longest
}

// branch is a link in the tree of a storm.
type branch struct {
	link            link
	via             map[link]vtime.Time // paused time by the link that this one waits for
	pauses          int
	paused          vtime.Time
	packets         int64
	waited, victims vtime.Time
	withVictim      vtime.Time // part of paused in which a victim waited
	spans           [][2]vtime.Time
}

// atRoot returns whether a flow has to do with the root of a storm.
func (r *Recorder) atRoot(s *storm) func(flow uint32) bool {
	switch s.root.kind {
	case rootQueue, rootHost:
		v := r.visits(s.root.link)
		return func(flow uint32) bool { return v.since(flow, s.begun) }
	case rootLoop:
		in := make(map[uint32]bool)
		loop := loopLinks(s.root)
		for _, e := range s.events {
			if slices.Contains(loop, r.of(e)) {
				for _, w := range e.waits {
					in[w.flow] = true
				}
			}
		}
		return func(flow uint32) bool { return in[flow] }
	}
	return func(uint32) bool { return true } // not known to be a victim
}

// links returns the links of a tree, each behind its parent.
func (r *Recorder) links(s *storm, tree map[link]*branch) []result.PausedLink {
	parent := make(map[link]link)
	children := make(map[link][]*branch)
	for l, b := range tree {
		best, most := noLink, vtime.Time(-1)
		for via, took := range b.via {
			if took > most || took == most && compareLinks(via, best) < 0 {
				best, most = via, took
			}
		}
		if tree[best] == nil || best == l || s.root.kind == rootLoop && slices.Contains(loopLinks(s.root), l) {
			best = noLink
		}
		// Parents differ over time, so they may form a loop, which a tree has not.
		for at := best; at != noLink; {
			if at == l {
				best = noLink
				break
			}
			up, ok := parent[at]
			if !ok {
				break
			}
			at = up
		}
		parent[l] = best
	}
	for _, l := range slices.SortedFunc(maps.Keys(tree), compareLinks) {
		children[parent[l]] = append(children[parent[l]], tree[l])
	}
	for _, list := range children {
		slices.SortStableFunc(list, func(a, b *branch) int { return cmp.Compare(b.paused, a.paused) })
	}
	var out []result.PausedLink
	var add func(at link, index, depth int)
	add = func(at link, index, depth int) {
		for _, b := range children[at] {
			peer, _ := r.peer(b.link)
			out = append(out, result.PausedLink{
				From: r.topo.Nodes[b.link.node].Name, Port: b.link.port + 1, To: r.topo.Nodes[peer].Name, Parent: index, Depth: depth,
				Pauses: b.pauses, PausedUS: b.paused.Microseconds(), Packets: b.packets, WaitedUS: b.waited.Microseconds(), VictimUS: b.victims.Microseconds(),
				VictimPausedUS: b.withVictim.Microseconds(), SpansNS: spans(b.spans),
			})
			add(b.link, len(out)-1, depth+1)
		}
	}
	add(noLink, -1, 1)
	return out
}

// spans returns pauses in nanoseconds; if there are too many, those with the shortest
// gaps between them are joined.
func spans(list [][2]vtime.Time) [][2]int64 {
	slices.SortFunc(list, func(a, b [2]vtime.Time) int { return cmp.Compare(a[0], b[0]) })
	if over := len(list) - mostSpans; over > 0 {
		var gaps []vtime.Time
		for i := 1; i < len(list); i++ {
			gaps = append(gaps, list[i][0]-list[i-1][1])
		}
		slices.Sort(gaps)
		limit := gaps[over-1]
		joined := list[:1]
		for _, s := range list[1:] {
			if last := &joined[len(joined)-1]; over > 0 && s[0]-last[1] <= limit {
				last[1] = max(last[1], s[1])
				over--
				continue
			}
			joined = append(joined, s)
		}
		list = joined
	}
	out := make([][2]int64, len(list))
	for i, s := range list {
		out[i] = [2]int64{s[0].Nanoseconds(), s[1].Nanoseconds()}
	}
	return out
}

// rootFlows sets the flows in the root, with shares of the bytes, and returns them.
func (r *Recorder) rootFlows(s *storm, flow func(int) fabric.Flow, out *result.PauseStorm) (flows []share) {
	bytes := make(map[uint32]int64)
	var sum int64
	count := 0
	add := func(l link) {
		w := r.switches[l.node]
		if w == nil {
			return
		}
		for _, k := range w.queue(l.port, int(l.class)).root {
			if k.at < s.begun-samplesApart || k.at > s.until {
				continue
			}
			count = max(count, k.all)
			for _, f := range k.flows {
				bytes[f.flow] += f.bytes
				sum += f.bytes
			}
		}
	}
	switch s.root.kind {
	case rootQueue, rootHost:
		add(s.root.link)
	case rootLoop:
		loop := loopLinks(s.root)
		for _, e := range s.events {
			if slices.Contains(loop, r.of(e)) {
				for _, w := range e.waits { // of each flow as much as it waited
					bytes[w.flow] += int64(w.took)
					sum += int64(w.took)
				}
			}
		}
	}
	for f, n := range bytes {
		flows = append(flows, share{f, n})
	}
	slices.SortFunc(flows, compareShares)
	_, none := bytes[0]
	for _, f := range flows {
		if f.flow != 0 && len(out.RootFlows) < mostFlows {
			k := flow(int(f.flow) - 1)
			out.RootFlows = append(out.RootFlows, result.RootFlow{
				Flow: int(f.flow), Src: r.topo.Nodes[k.Src].Name, Dst: r.topo.Nodes[k.Dst].Name, Share: float64(f.bytes) / float64(sum),
			})
		}
	}
	if out.RootFlowCount = len(flows); none {
		out.RootFlowCount--
	}
	out.RootFlowCount = max(out.RootFlowCount, count)
	return flows
}

// mostCut is how many nodes are named in which something was left out.
const mostCut = 5

// cutText says what the limits left out, and where most of it; or nothing.
func (r *Recorder) cutText() string {
	var sum cut
	type place struct {
		name string
		n    int64
	}
	var places []place
	add := func(id int, c cut) {
		if c != (cut{}) {
			sum.add(c)
			places = append(places, place{r.topo.Nodes[id].Name, c.waits + c.pauses + c.visits})
		}
	}
	for id := range r.topo.Nodes {
		if w := r.switches[id]; w != nil {
			add(id, w.cut)
		}
		if h := r.hosts[id]; h != nil {
			add(id, h.cut)
		}
	}
	if len(places) == 0 {
		return ""
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.n, a.n) })
	names, more := "", ""
	for i, p := range places[:min(len(places), mostCut)] {
		if i > 0 {
			names += ", "
		}
		names += p.name
	}
	if n := len(places) - mostCut; n > 0 {
		more = fmt.Sprintf(" and %d others", n)
	}
	return fmt.Sprintf("memory is bounded by node: %d pauses, %d waits of flows and %d visits of roots were not recorded, at %s%s, so times are too small, and flows whose visits are missing count as victims",
		sum.pauses, sum.waits, sum.visits, names, more)
}
