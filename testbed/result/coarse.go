// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"fmt"
	"slices"
)

// Coarse is what is known of a network of real processes, whose packets nobody sees
// inside the switches.
type Coarse struct {
	Network *Network
	Pauses  []Pause
	Flows   []Flow // of hosts; none: not known
	// Queue returns the greatest length in bytes of the queue of a link's direction
	// between two times; nil: not known.
	Queue func(link, dir int, from, until int64) int64
	// Gap separates two storms, in nanoseconds.
	Gap int64
}

// channel is a direction of a link: 2·link + direction.
type channel int

// coarse follows pauses by time and port.
type coarse struct {
	*Coarse
	spans [][]Pause // by channel, in order
	out   [][]channel
}

// Causes says why links were paused as far as pauses, queues and the ends of flows tell:
// the chain of pauses by time and port, the port where it began, and the flows that end
// there. It does not know which flows waited.
func (c *Coarse) Causes() *Causes {
	k := &coarse{Coarse: c, spans: make([][]Pause, 2*len(c.Network.Links)), out: make([][]channel, len(c.Network.Nodes))}
	for l, n := range c.Network.Links {
		k.out[n.A], k.out[n.B] = append(k.out[n.A], channel(2*l)), append(k.out[n.B], channel(2*l+1))
	}
	sorted := slices.Clone(c.Pauses)
	slices.SortStableFunc(sorted, func(a, b Pause) int { return cmp.Compare(a.StartNS, b.StartNS) })
	for _, p := range sorted {
		if l, dir, ok := c.Network.Sender(p.Node, p.Port); ok {
			k.spans[2*l+dir] = append(k.spans[2*l+dir], p)
		}
	}
	out := &Causes{Storms: []PauseStorm{}, Coarse: true}
	last := make(map[string]int)
	for _, p := range sorted {
		l, dir, ok := c.Network.Sender(p.Node, p.Port)
		if !ok {
			continue
		}
		root, chain := k.follow(channel(2*l+dir), p)
		key := fmt.Sprint(root.Node, root.Port, root.Class, root.Loop)
		i, known := last[key]
		if !known || p.StartNS > out.Storms[i].UntilNS+c.Gap {
			i = len(out.Storms)
			last[key] = i
			out.Storms = append(out.Storms, PauseStorm{Root: root, FromNS: p.StartNS, UntilNS: p.EndNS, Links: []PausedLink{}, Victims: []FlowWait{}, Waiting: -1})
		}
		k.add(&out.Storms[i], p, chain)
	}
	for i := range out.Storms {
		s := &out.Storms[i]
		k.flows(s)
		s.Links = inOrder(s.Links)
		out.PausedUS += s.PausedUS
	}
	slices.SortStableFunc(out.Storms, func(a, b PauseStorm) int { return cmp.Compare(b.PausedUS, a.PausedUS) })
	return out
}

// ends returns the nodes of a channel, and the sender's port.
func (k *coarse) ends(c channel) (from, port, to int) {
	l := k.Network.Links[c/2]
	if c%2 == 1 {
		return l.B, l.BP, l.A
	}
	return l.A, l.AP, l.B
}

// follow follows a pause to its root. chain has the paused channels from it on.
func (k *coarse) follow(c channel, p Pause) (root PauseRoot, chain []channel) {
	name := func(n int) string { return k.Network.Nodes[n].Name }
	for {
		if i := slices.Index(chain, c); i >= 0 {
			root = PauseRoot{Class: p.Class, Cause: CauseLoop, Why: "each waits for the next, and the last for the first"}
			loop := slices.Clone(chain[i:])
			first := slices.Index(loop, slices.Min(loop))
			for j := range loop {
				from, _, _ := k.ends(loop[(first+j)%len(loop)])
				root.Loop = append(root.Loop, name(from))
			}
			from, port, to := k.ends(loop[first])
			root.Node, root.Port, root.Peer = name(from), port, name(to)
			return root, chain
		}
		chain = append(chain, c)
		from, port, to := k.ends(c)
		if k.Network.Nodes[to].Tier == 0 {
			cause, why := CauseReceiver, "the host pauses its switch; whether it is slow or sends PAUSE without end, the length of its pauses tells"
			if k.endless(c) {
				cause, why = CauseStorming, "the host pauses its switch for as long as a PAUSE lasts, and longer"
			}
			return PauseRoot{Node: name(from), Port: port, Peer: name(to), Class: p.Class, Cause: cause, Why: why}, chain
		}
		next, at, paused := k.next(c, to, p)
		if !paused {
			return k.root(next, to, p), chain
		}
		c, p = next, at
	}
}

// endless reports whether a pause of a channel lasts as long as a PAUSE at its longest.
func (k *coarse) endless(c channel) bool {
	longest := int64(65535) * 512 * 1_000_000_000 / max(k.Network.Links[c/2].Rate, 1)
	return slices.ContainsFunc(k.spans[c], func(p Pause) bool { return p.EndNS-p.StartNS >= longest/100*99 })
}

// next returns the channel of a switch that most of what waits there goes to, as far as
// that is known, and its pause when p began; −1: none is known.
func (k *coarse) next(c channel, sw int, p Pause) (next channel, at Pause, paused bool) {
	next = -1
	var most int64
	for _, o := range k.out[sw] {
		if o == c^1 {
			continue
		}
		span, on := k.pausedAt(o, p.Class, p.StartNS)
		var weight int64
		if k.Queue != nil {
			weight = k.Queue(int(o/2), int(o%2), p.StartNS, p.EndNS)
		} else if on {
			weight = span.EndNS - span.StartNS
		}
		if weight > most {
			next, at, paused, most = o, span, on, weight
		}
	}
	return next, at, paused
}

// pausedAt returns the pause of a channel at a time, or one that ended just before.
func (k *coarse) pausedAt(c channel, class uint8, t int64) (Pause, bool) {
	list := k.spans[c]
	for i := len(list) - 1; i >= 0; i-- {
		if p := list[i]; p.Class == class && p.StartNS <= t && p.EndNS+k.Gap/10 >= t {
			return p, true
		}
	}
	return Pause{}, false
}

// root describes a root at a switch: the given channel, or else the host to which most
// bytes of flows go at the time.
func (k *coarse) root(c channel, sw int, p Pause) PauseRoot {
	r := PauseRoot{Node: k.Network.Nodes[sw].Name, Class: p.Class, Cause: CauseUnknown, Why: "which of its queues could not drain is not known"}
	if c < 0 {
		var most int64
		for _, o := range k.out[sw] {
			_, _, to := k.ends(o)
			var bytes int64
			for i := range k.Flows {
				if f := &k.Flows[i]; f.Dst == k.Network.Nodes[to].Name && f.StartNS <= p.EndNS && (f.FCTNS == 0 || f.StartNS+f.FCTNS >= p.StartNS) {
					bytes += f.Bytes
				}
			}
			if bytes > most {
				c, most = o, bytes
			}
		}
		if c < 0 {
			return r
		}
	}
	_, port, to := k.ends(c)
	r.Port, r.Peer = port, k.Network.Nodes[to].Name
	how := "most bytes of flows go there, and no port of the switch is paused"
	if k.Queue != nil {
		how = "its queue is the longest of the switch, and it is not paused"
	}
	if k.Network.Nodes[to].Tier == 0 {
		r.Cause, r.Why = CauseIncast, "more arrives for "+r.Peer+" than its link takes: "+how
	} else {
		r.Cause, r.Why = CauseOverload, "more arrives than the link takes: "+how
	}
	return r
}

// add adds a pause to a storm.
func (k *coarse) add(s *PauseStorm, p Pause, chain []channel) {
	s.UntilNS = max(s.UntilNS, p.EndNS)
	took := float64(p.EndNS-p.StartNS) / 1000
	s.PausedUS += took
	index := func(c channel, depth int) int {
		from, port, to := k.ends(c)
		name := k.Network.Nodes[from].Name
		i := slices.IndexFunc(s.Links, func(l PausedLink) bool { return l.From == name && l.Port == port })
		if i < 0 {
			i = len(s.Links)
			s.Links = append(s.Links, PausedLink{From: name, Port: port, To: k.Network.Nodes[to].Name, Parent: -1, Depth: depth, SpansNS: [][2]int64{}})
			if depth > 1 {
				s.Links[i].Parent = -2 // set below
			}
		}
		return i
	}
	below := -1
	for i, c := range chain {
		at := index(c, len(chain)-i)
		if below >= 0 && s.Links[below].Parent == -2 {
			s.Links[below].Parent = at
		}
		below = at
		if i == 0 {
			l := &s.Links[at]
			l.Pauses++
			l.PausedUS += took
			if len(l.SpansNS) < spansOfLink {
				l.SpansNS = append(l.SpansNS, [2]int64{p.StartNS, p.EndNS})
			}
		}
	}
}

const spansOfLink = 256

// flows sets the flows that end at the root, with shares of their bytes.
func (k *coarse) flows(s *PauseStorm) {
	s.RootFlows = []RootFlow{}
	var sum int64
	for i := range k.Flows {
		f := &k.Flows[i]
		if f.Dst == s.Root.Peer && f.StartNS <= s.UntilNS && (f.FCTNS == 0 || f.StartNS+f.FCTNS >= s.FromNS) {
			s.RootFlows = append(s.RootFlows, RootFlow{Flow: i + 1, Src: f.Src, Dst: f.Dst, Share: float64(f.Bytes)})
			sum += f.Bytes
		}
	}
	s.RootFlowCount = len(s.RootFlows)
	slices.SortStableFunc(s.RootFlows, func(a, b RootFlow) int { return cmp.Compare(b.Share, a.Share) })
	s.RootFlows = s.RootFlows[:min(len(s.RootFlows), 20)]
	for i := range s.RootFlows {
		s.RootFlows[i].Share /= float64(max(sum, 1))
	}
}

// inOrder returns links with each behind its parent.
func inOrder(links []PausedLink) []PausedLink {
	out := []PausedLink{}
	done := make([]bool, len(links))
	var add func(parent, index, depth int)
	add = func(parent, index, depth int) {
		for i, l := range links {
			if l.Parent == parent && !done[i] {
				done[i] = true
				l.Parent, l.Depth = index, depth
				out = append(out, l)
				add(i, len(out)-1, depth+1)
			}
		}
	}
	add(-1, -1, 1)
	for i := range links { // of a loop
		if !done[i] {
			links[i].Parent = -1
			add(-1, -1, 1)
		}
	}
	return out
}
