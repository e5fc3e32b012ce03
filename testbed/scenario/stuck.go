// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/result"
)

// stuckAfter is the time without an acknowledgement after which a flow counts as
// stuck: ten timeouts, and at least 20 ms.
func stuckAfter(h *roce.Config) vtime.Time { return max(20*vtime.Millisecond, 10*h.RTO) }

// progressMeter finds flows without new acknowledgements.
type progressMeter struct {
	wait  vtime.Time
	next  vtime.Time // time of the next check
	acked map[int]int64
	since map[int]vtime.Time // time of the last change of acked
}

// look returns the flows that have made no progress for the time of wait.
func (m *progressMeter) look(f *fabric.Fabric, now vtime.Time, pending []int, flows []fabric.Flow) (still []int) {
	if m.acked == nil {
		m.acked, m.since = make(map[int]int64), make(map[int]vtime.Time)
	}
	for _, i := range pending {
		if flows[i].Start > now || !f.Begun(i) {
			continue
		}
		a := f.Acked(i)
		if old, ok := m.acked[i]; !ok || old != a {
			m.acked[i], m.since[i] = a, now
		} else if now-m.since[i] >= m.wait && !f.Ended(i) {
			still = append(still, i)
		}
	}
	return still
}

// immobile reports whether the run would never end: no flow that has started makes
// progress, and no other flow will start. If flows start forever, it does not wait
// for the others: one measured flow without progress is enough.
func (r *runner) immobile(now vtime.Time) bool {
	if now < r.moves.next || len(r.pending) == 0 || r.lab.Fabric.Computing() {
		return false
	}
	r.moves.next = now + r.moves.wait/4
	f, tr, open := r.lab.Fabric, r.traffic, r.c.Open()
	waiting := r.pending
	if tr.ends {
		// Other flows can keep measured ones waiting.
		waiting = nil
		for i := range tr.added {
			if !f.Ended(i) && !(open && r.endless(i)) && f.Begun(i) {
				waiting = append(waiting, i)
			}
		}
	}
	still := r.moves.look(f, now, waiting, tr.flows)
	if tr.ends && len(still) < len(waiting) {
		return false
	}
	if open {
		still = slices.DeleteFunc(still, func(i int) bool { return !slices.Contains(r.pending, i) })
	}
	for _, i := range still {
		r.stuck = append(r.stuck, r.blocked(i, r.reason(i, now)))
	}
	return len(still) > 0
}

// blocked describes a flow that cannot proceed.
func (r *runner) blocked(i int, reason string) result.Stuck {
	fl := r.lab.Fabric.Flow(i)
	nodes := r.c.net.Nodes
	return result.Stuck{
		Src: nodes[fl.Src].Name, Dst: nodes[fl.Dst].Name, Bytes: fl.Size, StartNS: fl.Start.Nanoseconds(), Acked: fl.Acked, Reason: reason,
	}
}

// deadlocked notes that all pending flows wait for a cycle of pauses.
func (r *runner) deadlocked(d *fabric.Deadlock) {
	for _, i := range r.pending {
		if r.traffic.flows[i].Start <= r.lab.Fabric.Now() && r.lab.Fabric.Begun(i) && !r.lab.Fabric.Ended(i) {
			s := r.blocked(i, d.String())
			s.Deadlock, s.SinceNS = true, d.Since.Nanoseconds()
			r.stuck = append(r.stuck, s)
		}
	}
}

// reason returns the cause why a flow makes no progress.
func (r *runner) reason(i int, now vtime.Time) string {
	fl := r.lab.Fabric.Flow(i)
	since := r.moves.since[i]
	if down := r.cut(fl.Src, fl.Dst, now); down != "" {
		return fmt.Sprintf("unreachable: %s", down)
	}
	if p := r.paused(fl.Src, fl.Dst, int(fl.Class), now); p != "" {
		return fmt.Sprintf("%s stays paused; nothing acknowledged since %v", p, since)
	}
	if r.lab.Hosts.RTO == 0 && (r.lab.Hosts.Recovery != roce.IRN || r.lab.Hosts.RTOLow == 0) {
		return fmt.Sprintf("no retransmission timeout: hosts.rto is 0, and the last packets were lost, which no NACK reports; nothing acknowledged since %v", since)
	}
	return fmt.Sprintf("packets do not arrive: %d retransmissions, nothing acknowledged since %v", fl.Resent, since)
}

// cut names the faults that separate two hosts from now on, or returns "".
func (r *runner) cut(src, dst int, now vtime.Time) string {
	t := r.c.net
	dead := make(map[int]bool)
	var names []string
	for i := range r.c.Faults {
		ft := &r.c.Faults[i]
		lasts := ft.From <= now && (ft.Until == 0 || ft.Until > now)
		switch {
		case !lasts:
		case ft.Link != "" && (ft.Down || ft.Loss >= 1 || ft.Corrupt >= 1):
			for _, id := range fabric.Links(t, ft.Link) {
				dead[id] = true
			}
			names = append(names, "link "+ft.Link+" is down")
		case ft.Node != "" && ft.Loss >= 1 && len(ft.Pairs) == 0:
			for _, p := range t.NodeByName(ft.Node).Ports {
				dead[p.Link] = true
			}
			names = append(names, ft.Node+" loses all frames")
		}
	}
	seen := map[int]bool{src: true}
	for queue := []int{src}; len(queue) > 0; queue = queue[1:] {
		for _, p := range t.Nodes[queue[0]].Ports {
			if dead[p.Link] || seen[p.Peer] {
				continue
			}
			if p.Peer == dst {
				return ""
			}
			seen[p.Peer] = true
			if t.Nodes[p.Peer].Kind == topo.Switch {
				queue = append(queue, p.Peer)
			}
		}
	}
	slices.Sort(names)
	return fmt.Sprint(slices.Compact(names))
}

// paused names a port on the shortest path from one host to another that is
// paused, or returns "".
func (r *runner) paused(src, dst, class int, now vtime.Time) string {
	t := r.c.net
	at := src
	for _, l := range t.TreeTo(dst).From(src) {
		end := l.A
		if l.B.Node == at {
			end = l.B
		}
		if since, ok := r.lab.Fabric.PausedSince(end.Node, end.Port, class); ok && now-since > r.moves.wait {
			return fmt.Sprintf("%s port %d", t.Nodes[end.Node].Name, end.Port)
		}
		at ^= l.A.Node ^ l.B.Node
	}
	return ""
}

// isMeasured reports whether a flow of the results is measured.
func (r *runner) isMeasured(f *fabric.FlowResult) bool {
	return r.traffic.window.has(f.Start) && r.c.measured(&f.Flow)
}

// sampleRates adds a point to the time lines of measured flows' acknowledged bytes,
// if there are only a few flows.
func (r *runner) sampleRates() {
	if len(r.measured) == 0 || len(r.measured) > fewRates {
		return
	}
	f, now := r.lab.Fabric, r.lab.Fabric.Now()
	for k, i := range r.measured {
		if k == len(r.rates) {
			fl := &r.traffic.flows[i]
			name := fmt.Sprintf("%s to %s, part %d", r.c.net.Nodes[fl.Src].Name, r.c.net.Nodes[fl.Dst].Name, fl.Group)
			r.rates = append(r.rates, result.Line{Name: name, Unit: "acknowledged bytes", Node: r.c.net.Nodes[fl.Src].Name})
		}
		l := &r.rates[k]
		l.TNS, l.V = append(l.TNS, now.Nanoseconds()), append(l.V, uint64(f.Acked(i)))
	}
}

// fewRates is the greatest number of measured flows with time lines of their own.
const fewRates = 64
