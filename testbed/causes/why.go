// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/result"
)

// why names the root of a storm, and why it could not drain.
func (r *Recorder) why(s *storm, all []*storm, flows []share, flow func(int) fabric.Flow) result.PauseRoot {
	t := r.topo
	out := result.PauseRoot{Class: s.root.link.class}
	switch s.root.kind {
	case rootUnknown:
		out.Cause, out.Why = result.CauseUnknown, "the switch that sent the PAUSE recorded no reason"
		if len(s.events) > 0 {
			peer, _ := r.peer(r.of(s.events[0]))
			out.Node, out.Class = t.Nodes[peer].Name, s.events[0].class
		}
		return out
	case rootLoop:
		links := loopLinks(s.root)
		for _, l := range links {
			out.Loop = append(out.Loop, t.Nodes[l.node].Name)
		}
		out.Node, out.Port = out.Loop[0], links[0].port+1
		peer, _ := r.peer(links[0])
		out.Peer = t.Nodes[peer].Name
		out.Cause = result.CauseLoop
		out.Why = fmt.Sprintf("each of %s waits for the next, and the last for the first", strings.Join(out.Loop, ", "))
		return out
	}
	l := s.root.link
	n := &t.Nodes[l.node]
	if l.port >= len(n.Ports) {
		out.Node, out.Cause, out.Why = n.Name, result.CauseOverload, "more packets recirculate than its recirculation port takes"
		return out
	}
	peer := &t.Nodes[n.Ports[l.port].Peer]
	out.Node, out.Port, out.Peer = n.Name, l.port+1, peer.Name
	if s.root.kind == rootHost {
		out.Cause, out.Why = r.hostWhy(s, peer.Name)
		return out
	}
	rate := t.Links[n.Ports[l.port].Link].Rate
	what := r.contents(flows, flow)
	other, paths := result.UsualRate(t, n.Ports[l.port].Link), len(r.besides(l)) > 0
	sent, enough := r.backlog(flows, flow, rate)
	switch lost, bytes := r.lost(l); {
	case lost != "":
		out.Cause = result.CauseHeadroom
		out.Why = fmt.Sprintf("the headroom of %s is too small: %d bytes too much came after PAUSE, and %s wait for %s", lost, bytes, what, rate)
	case rate < other:
		out.Cause = result.CauseSlowLink
		out.Why = fmt.Sprintf("the link has %s, others like it have %s; %s wait for it", rate, other, what)
	case r.down(s, l) != "":
		out.Cause = result.CauseLinkDown
		out.Why = fmt.Sprintf("the link has the traffic of %s, which is down; %s wait for its %s", r.down(s, l), what, rate)
	case r.low(s, l) > 0:
		out.Cause = result.CauseThreshold
		out.Why = fmt.Sprintf("PAUSE is sent at %d bytes, less than a round trip over the link and two frames; %s wait for %s", r.low(s, l), what, rate)
	case enough:
		out.Cause = result.CauseBacklog
		out.Why = fmt.Sprintf("packets that earlier pauses held arrive at once: %s, which can send %s in the long run, for a link of %s", what, sent, rate)
	case peer.Kind == topo.Host:
		out.Cause = result.CauseIncast
		out.Why = fmt.Sprintf("more arrives for %s than its link of %s takes: %s", peer.Name, rate, what)
	case paths && r.idle(s, all, l):
		out.Cause = result.CauseHash
		out.Why = fmt.Sprintf("more arrives for this path than its %s take, and others that lead there are free: %s", rate, what)
	default:
		out.Cause = result.CauseOverload
		out.Why = fmt.Sprintf("more arrives than all links that lead to %s take, %s each: %s", peer.Name, rate, what)
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// contents says what waits in a root: flows, and other packets.
func (r *Recorder) contents(flows []share, flow func(int) fabric.Flow) (text string) {
	var hosts []int
	var other, all int64
	for _, f := range flows {
		if all += f.bytes; f.flow != 0 {
			hosts = append(hosts, flow(int(f.flow)-1).Src)
		} else {
			other = f.bytes
		}
	}
	n := len(hosts)
	slices.Sort(hosts)
	text = fmt.Sprintf("%s from %s", count(n, "flow"), count(len(slices.Compact(hosts)), "host"))
	if other > 0 {
		text += fmt.Sprintf(" and packets of no flow, as acknowledgements (%.1f %% of the bytes)", 100*float64(other)/float64(all))
	}
	return text
}

// hostWhy tells a host that pauses without end, so that a pause lasts as long as a PAUSE
// at its longest, from one that is slow.
func (r *Recorder) hostWhy(s *storm, host string) (cause, why string) {
	l := s.root.link
	var paused, longest, from, until vtime.Time
	n := 0
	for _, e := range s.events {
		if r.of(e) == l {
			if n == 0 {
				from = e.since
			}
			until = max(until, e.until)
			paused += e.until - e.since
			longest = max(longest, e.until-e.since)
			n++
		}
	}
	rate := r.topo.Links[r.topo.Nodes[l.node].Ports[l.port].Link].Rate
	if longest >= packet.PauseTime(math.MaxUint16, rate)/100*99 {
		return result.CauseStorming, fmt.Sprintf("%s sends PAUSE without end, for %.0f µs without a gap", host, longest.Microseconds())
	}
	return result.CauseReceiver, fmt.Sprintf("%s takes less than its link delivers: it paused its switch %s, for %.0f %% of the time", host, count(n, "time"), 100*float64(paused)/float64(max(until-from, 1)))
}

// backlog reports whether the hosts whose flows are in a root cannot send as much as its
// link takes: what arrives in excess was held before. It returns what they can send.
func (r *Recorder) backlog(flows []share, flow func(int) fabric.Flow, rate vtime.Rate) (sum vtime.Rate, ok bool) {
	var hosts []int
	for _, f := range flows {
		if f.flow == 0 {
			return 0, false
		}
		hosts = append(hosts, flow(int(f.flow)-1).Src)
	}
	slices.Sort(hosts)
	for _, h := range slices.Compact(hosts) {
		sum += r.topo.Links[r.topo.Nodes[h].Ports[0].Link].Rate
	}
	return sum, sum > 0 && sum <= rate
}

// besides returns the links that lead from a switch's tier to the same place as a given
// one: up from the same switch, or down to the same switch.
func (r *Recorder) besides(l link) (list []link) {
	t := r.topo
	n := &t.Nodes[l.node]
	peer := n.Ports[l.port].Peer
	if t.Nodes[peer].Kind == topo.Host {
		return nil
	}
	if n.Tier < t.Nodes[peer].Tier {
		for k, p := range n.Ports {
			if k != l.port && t.Nodes[p.Peer].Tier == t.Nodes[peer].Tier {
				list = append(list, link{l.node, k, l.class})
			}
		}
		return list
	}
	for _, p := range t.Nodes[peer].Ports {
		if k := (link{p.Peer, p.PeerPort - 1, l.class}); k != l && t.Nodes[p.Peer].Tier == n.Tier {
			list = append(list, k)
		}
	}
	return list
}

// lost returns a port of the root's switch whose headroom was too small, and by how much.
func (r *Recorder) lost(l link) (where string, bytes int64) {
	w := r.switches[l.node]
	for p := range r.topo.Nodes[l.node].Ports {
		if size, most := w.m.Headroom(p, int(l.class)); most > size && most-size > bytes {
			where, bytes = fmt.Sprintf("%s port %d", r.topo.Nodes[l.node].Name, p+1), most-size
		}
	}
	return where, bytes
}

// down returns a link that was down just before or during a storm, and would share the
// root's load.
func (r *Recorder) down(s *storm, l link) string {
	for i := range r.faults {
		f := &r.faults[i]
		if !f.Down || f.From > s.until || f.Until != 0 && f.Until < s.from-Gap {
			continue
		}
		for _, id := range fabric.Links(r.topo, f.Link) {
			k := &r.topo.Links[id]
			for _, b := range r.besides(l) {
				if r.topo.Nodes[b.node].Ports[b.port].Link == id {
					return fmt.Sprintf("%s-%s", r.topo.Nodes[k.A.Node].Name, r.topo.Nodes[k.B.Node].Name)
				}
			}
			// Beyond it: with a link from a spine to a leaf down, the path of all packets to
			// that leaf is another spine.
			n, peer := &r.topo.Nodes[l.node], r.topo.Nodes[l.node].Ports[l.port].Peer
			for _, e := range []topo.End{k.A, k.B} {
				if e.Node != peer && r.topo.Nodes[e.Node].Tier == r.topo.Nodes[peer].Tier && r.topo.Nodes[peer].Tier > n.Tier {
					for _, p := range n.Ports {
						if p.Peer == e.Node {
							return fmt.Sprintf("%s-%s", r.topo.Nodes[k.A.Node].Name, r.topo.Nodes[k.B.Node].Name)
						}
					}
				}
			}
		}
	}
	return ""
}

// low returns the threshold at which senders were paused because of the root, if it is so
// low that two frames and a round trip over the sender's link exceed it; otherwise zero.
func (r *Recorder) low(s *storm, l link) int64 {
	var low, other int
	var at int64
	for _, e := range s.events {
		k := e.look
		if k == nil || !k.root || k.pressed || e.depth != 1 {
			continue
		}
		in := &r.topo.Links[r.topo.Nodes[l.node].Ports[k.in].Link]
		if need := in.Rate.Bytes(2*in.Delay) + 2*int64(r.topo.LargestFrame()); k.threshold < need {
			low++
			at = k.threshold
		} else {
			other++
		}
	}
	if low > other {
		return at
	}
	return 0
}

// idle reports whether links beside the root's had room when it could not drain: queues at
// the same switch of less than a quarter, or, down to a switch, no root at the same time.
func (r *Recorder) idle(s *storm, all []*storm, l link) bool {
	var queue, siblings int64
	for _, e := range s.events {
		if k := e.look; k != nil && k.root && k.siblings >= 0 {
			queue, siblings = queue+k.queue, siblings+k.siblings
		}
	}
	if queue > 0 {
		return 4*siblings < queue
	}
	for _, b := range r.besides(l) {
		for _, o := range all {
			if o.root.kind == rootQueue && o.root.link == b && o.from <= s.until && s.from <= o.until {
				return false
			}
		}
	}
	return true
}
