// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// event is a pause of a node with what follows from the records of the others.
type event struct {
	pause
	node  int
	waits []wait
	root  root
	begun vtime.Time // when the root paused its first sender because of which this is
	via   link       // the paused link that this one waits for; none: the root
	depth int
	look  *look // at the root
}

// link is a class of a port of a node, which a peer pauses. Port is from 0.
type link struct {
	node, port int
	class      uint8
}

// noLink stands for a link that is not there.
var noLink = link{-1, -1, 0}

// root identifies where pauses come from: a queue, the host at its end, or a loop.
type root struct {
	kind rootKind
	link link
	loop string // the links of a loop
}

type rootKind uint8

const (
	rootUnknown rootKind = iota
	rootQueue
	rootHost
	rootLoop
)

// events returns all pauses until now, and the waits of those that last. It notes the
// flows that are in roots.
func (r *Recorder) events(now vtime.Time) (list []*event) {
	add := func(node int, p pause, waits []wait) {
		if p.until > p.since {
			list = append(list, &event{pause: p, node: node, waits: waits[p.first:p.last]})
		}
	}
	for id := range r.topo.Nodes {
		if w := r.switches[id]; w != nil {
			w.settle()
			for _, p := range w.pauses {
				if !p.open {
					add(id, p, w.waits)
					continue
				}
				waits := w.hold(&p, nil, now, w.limits.Waits)
				add(id, p, waits)
			}
		}
		if h := r.hosts[id]; h != nil {
			for _, p := range h.pauses {
				add(r.adapter(id, int(p.port)), p, h.waits)
			}
			w := &hostWatch{limits: h.limits}
			if r.lab != nil {
				r.lab.Fabric.Host(id).Pauses(now, w.over)
			}
			for _, p := range w.pauses {
				add(r.adapter(id, int(p.port)), p, w.waits)
			}
		}
	}
	return list
}

// adapter returns the node of the topology that a port of a host is.
func (r *Recorder) adapter(host, port int) int {
	for id := range r.topo.Nodes {
		if n := &r.topo.Nodes[id]; n.Host == host && n.Kind == topo.Host {
			if port == 0 {
				return id
			}
			port--
		}
	}
	return host
}

// of returns the link that an event pauses.
func (r *Recorder) of(e *event) link {
	if r.topo.Nodes[e.node].Kind == topo.Host {
		return link{e.node, 0, e.class}
	}
	return link{e.node, int(e.port), e.class}
}

// peer returns the node and port, from 0, at the other end of a link.
func (r *Recorder) peer(l link) (node, port int) {
	p := r.topo.Nodes[l.node].Ports[l.port]
	return p.Peer, p.PeerPort - 1
}

// resolve finds the root of an event: the one that most of its time was due to.
func (r *Recorder) resolve(e *event) {
	l := r.of(e)
	peer, in := r.peer(l)
	w := r.switches[peer]
	if w == nil {
		*e = event{pause: e.pause, node: e.node, waits: e.waits, root: root{kind: rootHost, link: l}, begun: e.since, via: noLink, depth: 1}
		return
	}
	looks := w.queue(in, int(e.class)).looks
	// The looks that fall into the pause; the first is the last one before it.
	first := sort.Search(len(looks), func(i int) bool { return w.looks[looks[i]].at >= e.since }) - 1
	due := make(map[root]vtime.Time)
	best := *e
	for i := max(first, 0); i < len(looks); i++ {
		k := &w.looks[looks[i]]
		if i > first && k.at >= e.until {
			break
		}
		until := e.until
		if i+1 < len(looks) {
			until = min(until, w.looks[looks[i+1]].at)
		}
		r.follow(e, peer, k)
		before, known := due[e.root]
		due[e.root] = before + until - max(k.at, e.since)
		switch {
		case known && e.root == best.root:
			best.begun = min(best.begun, e.begun)
		case len(due) == 1 || due[e.root] > due[best.root]:
			best = *e
		}
	}
	*e = best
}

// follow follows a look from paused link to paused link to its root.
func (r *Recorder) follow(e *event, node int, k *look) {
	type step struct {
		link  link
		pause int32
	}
	l := r.of(e)
	self := step{l, -1}
	if w := r.switches[e.node]; w != nil {
		q := w.queue(l.port, int(l.class))
		i := sort.Search(len(q.pauses), func(i int) bool { return w.pauses[q.pauses[i]].since > e.since }) - 1
		if i >= 0 {
			self.pause = q.pauses[i]
		}
	}
	path := []step{self}
	e.via, e.depth, e.root, e.begun, e.look = noLink, 1, root{}, k.at, k
	for {
		w := r.switches[node]
		e.look, e.begun = k, k.at
		if k.out < 0 {
			return
		}
		next := link{node, int(k.out), k.class}
		if k.root {
			e.root = root{kind: rootQueue, link: next}
			return
		}
		p := &w.pauses[k.pause]
		at := step{next, k.pause}
		if e.via == noLink {
			e.via = next
		}
		if i := slices.Index(path, at); i >= 0 {
			var loop []link
			for _, s := range path[i:] {
				loop = append(loop, s.link)
			}
			e.root = loopOf(loop)
			return
		}
		path = append(path, at)
		e.depth++
		peer, in := r.peer(next)
		if r.switches[peer] == nil {
			e.root, e.begun = root{kind: rootHost, link: next}, p.since
			return
		}
		t := k.at
		if !p.open {
			t = min(t, p.until)
		}
		node, w = peer, r.switches[peer]
		looks := w.queue(in, int(k.class)).looks
		i := sort.Search(len(looks), func(i int) bool { return w.looks[looks[i]].at > t }) - 1
		if i < 0 {
			return
		}
		k = &w.looks[looks[i]]
	}
}

// loopOf returns the root that a loop of links is, whichever link is the first.
func loopOf(links []link) root {
	first := 0
	for i := range links {
		if compareLinks(links[i], links[first]) < 0 {
			first = i
		}
	}
	r := root{kind: rootLoop, link: links[first]}
	for i := range links {
		l := links[(first+i)%len(links)]
		r.loop += fmt.Sprintf("%d.%d ", l.node, l.port)
	}
	return r
}

// loopLinks returns the links of a loop, in order.
func loopLinks(r root) (links []link) {
	var l link
	for rest := r.loop; len(rest) > 0; {
		n, _ := fmt.Sscanf(rest, "%d.%d ", &l.node, &l.port)
		if n < 2 {
			break
		}
		l.class = r.link.class
		links = append(links, l)
		rest = rest[len(fmt.Sprintf("%d.%d ", l.node, l.port)):]
	}
	return links
}

func compareLinks(a, b link) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.port, b.port), cmp.Compare(a.class, b.class))
}

// visits returns the flows that were at a queue's root.
func (r *Recorder) visits(l link) *visits {
	if w := r.switches[l.node]; w != nil && l.port < len(w.queues)/tm.Queues {
		return w.queue(l.port, int(l.class)).visits
	}
	return nil
}
