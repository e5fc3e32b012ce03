// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Activity is what a rank does at a time.
type Activity string

// Activities. Computing counts even if messages are on their way meanwhile; Sending is
// when a message of the rank has not been acknowledged. In all other times a rank
// waits.
const (
	Computing Activity = "compute"
	Sending   Activity = "send"
)

// RankLine is the time line of a rank of a job.
type RankLine struct {
	Rank  int    `json:"rank"`
	Host  string `json:"host"`
	Spans []Span `json:"spans"`
}

// Span is a time of an activity, in nanoseconds.
type Span struct {
	StartNS int64    `json:"start_ns"`
	EndNS   int64    `json:"end_ns"`
	What    Activity `json:"what"`
}

// Last is a message on the longest chain of a job: each begins when the one before, or
// the computing between them, has ended, and the last one ends the job.
type Last struct {
	Src     string  `json:"src"`
	Dst     string  `json:"dst"`
	Rank    int     `json:"rank"`
	Step    int     `json:"step"` // number in the job
	Bytes   int64   `json:"bytes"`
	StartUS float64 `json:"start_us"`
	TookUS  float64 `json:"took_us"`  // until its last byte arrived
	IdealUS float64 `json:"ideal_us"` // the same in an idle network
	Where   string  `json:"where"`    // it waited
}

// mostRanks and mostSpans limit the time lines of a job that a result keeps.
const (
	mostRanks = 64
	mostSpans = 200
)

// rankLines returns the time lines of the first ranks of a plan. Spans closer than a
// pixel of a picture are joined.
func rankLines(t *topo.Topology, p *fabric.PlanResult, r *fabric.Results) (lines []RankLine) {
	n := min(len(p.Hosts), mostRanks)
	computing, sending := make([][]span, n), make([][]span, n)
	end := vtime.Time(0)
	for k := range p.Steps {
		s, at := &p.Plan.Steps[k], &p.Steps[k]
		end = max(end, at.Done)
		if int(s.Rank) >= n {
			continue
		}
		if s.Mark == fabric.Compute && at.Done > at.Begun && at.Begun >= 0 {
			computing[s.Rank] = append(computing[s.Rank], span{at.Begun, at.Done})
		}
		if at.Flow >= 0 && at.Sent >= 0 {
			until := at.Done
			if until < 0 {
				until = r.End
			}
			sending[s.Rank] = append(sending[s.Rank], span{at.Sent, until})
		}
	}
	gap := end / mostSpans
	for i := range n {
		l := RankLine{Rank: i, Host: t.Nodes[p.Hosts[i]].Name, Spans: []Span{}}
		busy := joined(computing[i], gap)
		for _, s := range busy {
			l.Spans = append(l.Spans, Span{s.begin.Nanoseconds(), s.end.Nanoseconds(), Computing})
		}
		for _, s := range without(joined(sending[i], gap), busy) {
			l.Spans = append(l.Spans, Span{s.begin.Nanoseconds(), s.end.Nanoseconds(), Sending})
		}
		slices.SortFunc(l.Spans, func(a, b Span) int { return cmp.Compare(a.StartNS, b.StartNS) })
		lines = append(lines, l)
	}
	return lines
}

// joined returns the union of spans, in order. Gaps below a length are closed.
func joined(all []span, gap vtime.Time) (list []span) {
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end)) })
	for _, s := range all {
		if n := len(list); n > 0 && s.begin <= list[n-1].end+gap {
			list[n-1].end = max(list[n-1].end, s.end)
		} else {
			list = append(list, s)
		}
	}
	return list
}

// without returns the parts of spans that others, in order and apart, do not cover.
func without(all, others []span) (list []span) {
	for _, s := range all {
		at := s.begin
		for _, o := range others {
			if o.end <= at || o.begin >= s.end {
				continue
			}
			if o.begin > at {
				list = append(list, span{at, o.begin})
			}
			at = max(at, o.end)
		}
		if at < s.end {
			list = append(list, span{at, s.end})
		}
	}
	return list
}

// mostLast is the number of messages of the longest chain that a result keeps.
const mostLast = 5

// lastOf follows the longest chain of a plan back from the step that ended last, and
// returns its messages that took longest compared with an idle network, the longest
// delay first.
func lastOf(t *topo.Topology, p *fabric.PlanResult, r *fabric.Results, stops []Pause) (list []Last) {
	at, latest := -1, vtime.Time(-1)
	for k := range p.Steps {
		if p.Plan.Steps[k].Mark == fabric.End && p.Steps[k].Done > latest || p.Steps[k].Flow < 0 && at < 0 && p.Steps[k].Done > latest {
			at, latest = k, p.Steps[k].Done
		}
	}
	for at >= 0 {
		s := &p.Plan.Steps[at]
		next, when := -1, vtime.Time(-1)
		for _, d := range s.After {
			if e := eventAt(p, r, d); e > when {
				next, when = int(d.Step), e
			}
		}
		if next < 0 {
			break
		}
		at = next
		if i := p.Steps[at].Flow; i >= 0 {
			f := &r.Flows[i]
			l := Last{Src: t.Nodes[f.Src].Name, Dst: t.Nodes[f.Dst].Name, Rank: int(p.Plan.Steps[at].Rank), Step: at, Bytes: f.Size,
				StartUS: f.Start.Microseconds(), TookUS: f.Delivered.Microseconds(), IdealUS: f.IdealDelivered.Microseconds()}
			l.Where = whereWaited(t, f, stops)
			list = append(list, l)
		}
	}
	slices.SortStableFunc(list, func(a, b Last) int { return cmp.Compare(b.TookUS-b.IdealUS, a.TookUS-a.IdealUS) })
	return list[:min(len(list), mostLast)]
}

// eventAt returns the time of an event that a step waits for.
func eventAt(p *fabric.PlanResult, r *fabric.Results, d fabric.Dep) vtime.Time {
	s := &p.Steps[d.Step]
	if d.On != fabric.Received || s.Flow < 0 {
		if d.On == fabric.Left && s.Sent >= 0 {
			return s.Sent
		}
		return s.Done
	}
	f := &r.Flows[s.Flow]
	if f.Delivered == 0 {
		return -1
	}
	return f.Start + f.Delivered
}

// whereWaited says what delayed a flow: retransmissions, a pause on its way, or queues.
func whereWaited(t *topo.Topology, f *fabric.FlowResult, stops []Pause) string {
	text := ""
	add := func(what string) {
		if text != "" {
			text += "; "
		}
		text += what
	}
	if f.Resent > 0 {
		add(fmt.Sprintf("%d packets were sent again", f.Resent))
	}
	if f.Stalled {
		// The port on its way that was paused longest meanwhile.
		most, where := int64(0), ""
		start, end := f.Start.Nanoseconds(), (f.Start + f.Delivered).Nanoseconds()
		sum := make(map[string]int64)
		for _, s := range stops {
			if s.StartNS >= end {
				break
			}
			n := t.NodeByName(s.Node)
			if n == nil || s.EndNS <= start || !onTheWay(t, f.Src, f.Dst, n.ID, n.Ports[s.Port-1].Peer) {
				continue
			}
			name := fmt.Sprintf("%s port %d", s.Node, s.Port)
			if sum[name] += min(s.EndNS, end) - max(s.StartNS, start); sum[name] > most {
				most, where = sum[name], name
			}
		}
		if where == "" {
			add("a pause stopped it")
		} else {
			add(fmt.Sprintf("%s was paused %.1f µs", where, float64(most)/1000))
		}
	}
	if late := f.Delivered - f.IdealDelivered; text == "" && late > f.IdealDelivered/20 {
		add("in queues behind other messages, or congestion control slowed it")
	}
	if text == "" {
		text = "nowhere"
	}
	return text
}

// onTheWay reports whether a link can be part of a shortest path between hosts: of
// their own links, or between switches.
func onTheWay(t *topo.Topology, src, dst, from, to int) bool {
	switch {
	case t.Nodes[from].Kind == topo.Host:
		return from == src
	case t.Nodes[to].Kind == topo.Host:
		return to == dst
	}
	down := t.Nodes[from].Tier > t.Nodes[to].Tier
	if leaf := t.Nodes[to].Leaf; down && leaf >= 0 {
		return leaf == t.Nodes[dst].Leaf
	}
	if leaf := t.Nodes[from].Leaf; !down && leaf >= 0 {
		return leaf == t.Nodes[src].Leaf
	}
	return true
}
