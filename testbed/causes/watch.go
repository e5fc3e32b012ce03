// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"cmp"
	"slices"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// watch records the pauses of a switch. Ports are those of the traffic manager, which has
// the ports of the topology first, in order.
type watch struct {
	m      *tm.Manager
	ports  int     // with links
	kin    [][]int // by port: the other ports that lead up as well
	toHost []bool  // by port
	rates  []vtime.Rate
	limits Limits
	cut    cut

	queues  []queue // by port and class
	pauses  []pause
	waits   []wait
	looks   []look
	pending []place
	// Scratch of one look.
	order []length
	flows []tm.Stay
	list  []share
}

// length is that of a queue.
type length struct {
	port  int32
	bytes int64
}

type place struct{ port, class int }

// queue is a class of a port: the pauses by its peer, and those that it sent.
type queue struct {
	open    bool
	pauses  []int32      // indices in watch.pauses, in order
	looks   []int32      // indices in watch.looks, in order
	holds   *tm.Contents // nil: nobody has asked for it
	visits  *visits      // nil: it has not been a root
	sampled vtime.Time   // when the flows in it were last counted
	root    []rootSample // those counts, in order
	// marked is when it was last a root, by itself and because of the host at its end,
	// plus one.
	marked [2]vtime.Time
}

// look is what a switch saw when it sent a PAUSE, or sent it again.
type look struct {
	at    vtime.Time
	in    int16 // the port that got the PAUSE
	class uint8
	// out is the port of the queue that held most of what came in by port in, or most of
	// all if the buffer was full; -1: none. root is true if that queue could not drain by
	// itself; otherwise pause is the last pause that kept it from it.
	root, pressed bool
	out           int16
	pause         int32
	account       int64 // bytes that port in had in the buffer
	threshold     int64 // of them
	queue         int64 // bytes in the queue
	// siblings is the mean of the bytes in the queues of ports that lead up as well, without
	// those that are long because of pauses; -1: there are none.
	siblings int64
}

// rootSample is the flows in a root at a time.
type rootSample struct {
	at    vtime.Time
	flows []share // those with most bytes
	all   int     // number of flows
}

// sampleFlows is the number of flows in a sample.
const sampleFlows = 64

// share is the bytes of a flow; flow zero is packets of none, such as acknowledgements.
type share struct {
	flow  uint32
	bytes int64
}

// compareShares orders shares, most bytes first.
func compareShares(a, b share) int {
	return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.flow, b.flow))
}

// samplesApart is the time between two counts of the flows in a root, and looksApart that
// between looks for the same PAUSE when it is sent again.
const (
	samplesApart = 50 * vtime.Microsecond
	looksApart   = 20 * vtime.Microsecond
)

func newWatch(t *topo.Topology, id int, sw *softswitch.Switch, limits Limits) *watch {
	m := sw.Traffic()
	n := &t.Nodes[id]
	w := &watch{
		m: m, ports: len(n.Ports), limits: limits, queues: make([]queue, m.Ports()*tm.Queues),
		kin: make([][]int, len(n.Ports)), toHost: make([]bool, len(n.Ports)), rates: make([]vtime.Rate, len(n.Ports)),
	}
	for i, p := range n.Ports {
		w.rates[i], w.toHost[i] = t.Links[p.Link].Rate, t.Nodes[p.Peer].Kind == topo.Host
		if n.Tier < t.Nodes[p.Peer].Tier {
			for k, o := range n.Ports {
				if k != i && t.Nodes[o.Peer].Tier == t.Nodes[p.Peer].Tier {
					w.kin[i] = append(w.kin[i], k)
				}
			}
		}
	}
	m.Watch(tm.Watcher{Pause: w.pause})
	return w
}

func (w *watch) queue(port, class int) *queue { return &w.queues[port*tm.Queues+class] }

// pause is tm.Watcher.Pause.
func (w *watch) pause(port, class int, received, paused bool) {
	if port >= w.ports {
		return
	}
	now := w.m.Now()
	switch {
	case received && paused:
		w.begins(port, class, now)
	case received:
		w.ends(port, class, now)
	case paused:
		since, _, _ := w.m.Pausing(port, class)
		if q := w.queue(port, class); since < now {
			if n := len(q.looks); n > 0 && now-w.looks[q.looks[n-1]].at >= looksApart {
				w.look(port, class, now)
			}
			return
		}
		// The packet that fills the account is not in its queue yet.
		w.pending = append(w.pending, place{port, class})
		w.m.WatchQueued(w.queued)
	}
}

// queued is tm.Watcher.Queued while looks are pending. It takes them.
func (w *watch) queued(p *tm.Packet) {
	for _, k := range w.pending {
		w.look(k.port, k.class, p.Enqueued)
	}
	w.pending = w.pending[:0]
	w.m.WatchQueued(nil)
}

// begins is called when the peer pauses a class.
func (w *watch) begins(port, class int, now vtime.Time) {
	if len(w.pauses) >= w.limits.Pauses {
		w.cut.pauses++
		return
	}
	q := w.queue(port, class)
	q.open = true
	q.pauses = append(q.pauses, int32(len(w.pauses)))
	w.pauses = append(w.pauses, pause{port: int16(port), class: uint8(class), open: true, since: now})
	if w.toHost[port] {
		w.isRoot(q, port, class, true, now)
	}
}

// ends is called when that pause ends, with the packets that waited in the queue.
func (w *watch) ends(port, class int, now vtime.Time) {
	q := w.queue(port, class)
	if !q.open {
		return
	}
	q.open = false
	if w.toHost[port] {
		w.isRoot(q, port, class, true, now) // at the beginning the queue may have been empty
	}
	p := &w.pauses[q.pauses[len(q.pauses)-1]]
	w.waits = w.hold(p, w.waits, now, w.limits.Waits)
	p.open = false
}

// hold sets the end of a pause, and appends how long flows waited for it.
func (w *watch) hold(p *pause, waits []wait, now vtime.Time, limit int) []wait {
	p.until, p.first = now, int32(len(waits))
	d := w.m.Depth(int(p.port), int(p.class))
	p.packets, p.bytes = int64(d.Packets), d.Bytes
	for _, k := range w.stays(w.held(int(p.port), int(p.class))) {
		flow, took := k.Flow(), now-max(p.since, k.First) // no packet has left during the pause
		switch {
		case flow == 0:
		case len(waits) > int(p.first) && waits[len(waits)-1].flow == flow:
			waits[len(waits)-1].took = max(waits[len(waits)-1].took, took)
		case len(waits) >= limit:
			w.cut.waits++
		default:
			waits = append(waits, wait{flow, took})
		}
	}
	p.last = int32(len(waits))
	return waits
}

// look finds out why the sender at a port is paused.
func (w *watch) look(port, class int, now vtime.Time) {
	if len(w.looks) >= w.limits.Pauses {
		w.cut.pauses++
		return
	}
	l := look{at: now, in: int16(port), class: uint8(class), out: -1, pause: -1, siblings: -1, pressed: w.m.Pressed(port)}
	l.account, _ = w.m.Ingress(port, class)
	_, _, l.threshold = w.m.Pausing(port, class)
	q := w.queue(port, class)
	if l.out = int16(w.outOf(&l)); l.out >= 0 {
		w.why(&l, int(l.out), now)
	}
	q.looks = append(q.looks, int32(len(w.looks)))
	w.looks = append(w.looks, l)
}

// outOf returns the port of the queue that holds most of what came in by the port of a
// look or, if the buffer is full, of the longest queue; -1: none.
func (w *watch) outOf(l *look) int {
	class := int(l.class)
	w.order = w.order[:0]
	var sum int64
	for o := range w.m.Ports() {
		if n := w.m.Depth(o, class).Bytes; n > 0 {
			w.order = append(w.order, length{int32(o), n})
			sum += n
		}
	}
	slices.SortFunc(w.order, func(a, b length) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.port, b.port)) })
	switch {
	case len(w.order) == 0:
		return -1
	case l.pressed, len(w.order) == 1, 2*(sum-w.order[0].bytes) < l.account: // the other queues cannot have half of it
		return int(w.order[0].port)
	}
	out, most, left := -1, int64(0), l.account
	for _, k := range w.order {
		if k.bytes <= most || left <= most {
			break // neither it nor those after it have more
		}
		n := w.held(int(k.port), class).From(int(l.in))
		left -= n
		if n > most {
			out, most = int(k.port), n
		}
	}
	return out
}

// why decides whether the queue at port o is the root of a PAUSE, or is paused itself: the
// bytes that it would have sent but for pauses, since its oldest packet came, are at least
// half of what it holds.
func (w *watch) why(l *look, o int, now vtime.Time) {
	class := int(l.class)
	l.queue = w.m.Depth(o, class).Bytes
	if o < w.ports {
		paused, last := w.paused(o, class, now)
		if paused > 0 && 2*w.rates[o].Bytes(paused) >= l.queue {
			l.pause = last
			return
		}
		if kin := w.kin[o]; len(kin) > 0 {
			l.siblings = 0
			for _, k := range kin {
				n := w.m.Depth(k, class).Bytes
				if paused, _ := w.paused(k, class, now); n > 0 && 2*w.rates[k].Bytes(paused) < n {
					l.siblings += n
				}
			}
			l.siblings /= int64(len(kin))
		}
	}
	l.root = true
	w.isRoot(w.queue(o, class), o, class, false, now)
}

// isRoot makes a queue note the flows that come, and at the beginning of a storm those
// that are in it. host is true if the host at its end is the root.
func (w *watch) isRoot(q *queue, port, class int, host bool, now vtime.Time) {
	c := w.held(port, class)
	if q.visits == nil {
		c.Tidy() // those that have left do not count
		q.visits = &visits{w: w}
	}
	marked := &q.marked[0]
	if host {
		marked = &q.marked[1]
	}
	if *marked == 0 || now-*marked >= Gap {
		for k := range c.Stays() {
			k.Last = now
		}
	}
	*marked = now + 1
	if len(q.root) > 0 && now-q.sampled < samplesApart {
		return
	}
	q.sampled = now
	flows, all := w.shares(c)
	q.root = append(q.root, rootSample{now, flows, all})
}

// stays returns what is in a queue, by flow.
func (w *watch) stays(c *tm.Contents) []tm.Stay {
	w.flows = w.flows[:0]
	for k := range c.Stays() {
		w.flows = append(w.flows, *k)
	}
	slices.SortFunc(w.flows, func(a, b tm.Stay) int { return cmp.Or(cmp.Compare(a.Flow(), b.Flow()), cmp.Compare(a.In(), b.In())) })
	return w.flows
}

// shares returns the bytes of the flows in a queue, most first, and the number of flows.
func (w *watch) shares(c *tm.Contents) (list []share, all int) {
	list = w.list[:0]
	for _, k := range w.stays(c) {
		flow := k.Flow()
		if n := len(list); n == 0 || list[n-1].flow != flow {
			list = append(list, share{flow: flow})
			if flow != 0 {
				all++
			}
		}
		list[len(list)-1].bytes += k.Bytes
	}
	w.list = list
	slices.SortFunc(list, compareShares)
	return slices.Clone(list[:min(len(list), sampleFlows)]), all
}

// held returns the contents of a queue.
func (w *watch) held(port, class int) *tm.Contents {
	q := w.queue(port, class)
	if q.holds == nil {
		q.holds = w.m.Follow(port, class, func(k tm.Stay) {
			if q.visits != nil {
				q.visits.visit(k.Flow(), k.Last)
			}
		})
	}
	return q.holds
}

// paused returns for how long the peer has paused a class of a port since the first packet
// of its queue came, and the last of these pauses.
func (w *watch) paused(port, class int, now vtime.Time) (sum vtime.Time, last int32) {
	last = -1
	list, first := w.queue(port, class).pauses, w.m.First(port, class)
	if len(list) == 0 || first == nil {
		return 0, -1
	}
	since := first.Enqueued
	for i := len(list) - 1; i >= 0; i-- {
		p := &w.pauses[list[i]]
		until := p.until
		if p.open {
			until = now
		}
		if until <= since {
			break
		}
		if last < 0 {
			last = list[i]
		}
		sum += until - max(p.since, since)
	}
	return sum, last
}

// visits has the time when the last packet of each flow came to a root, or when a storm
// began if that is later and the flow was there: of flows that its contents do not have. Flows are numbered in order, so those that are
// at a root at the same time share few blocks.
type visits struct {
	w      *watch
	blocks []*[visitBlock]vtime.Time
}

const visitBlock = 256

func (v *visits) visit(flow uint32, at vtime.Time) {
	if b := flow / visitBlock; int(b) < len(v.blocks) && v.blocks[b] != nil {
		t := &v.blocks[b][flow%visitBlock]
		*t = max(*t, at+1) // zero: never
	} else {
		v.first(flow, at)
	}
}

// first is visit with a block that is not there.
//
//go:noinline
func (v *visits) first(flow uint32, at vtime.Time) {
	if flow == 0 {
		return
	}
	w, b := v.w, int(flow/visitBlock)
	if w.limits.Visits == 0 {
		w.cut.visits++
		return
	}
	w.limits.Visits--
	for b >= len(v.blocks) {
		v.blocks = append(v.blocks, nil)
	}
	v.blocks[b] = new([visitBlock]vtime.Time)
	v.blocks[b][flow%visitBlock] = at + 1
}

// settle notes the flows that came to roots until now.
func (w *watch) settle() {
	for i := range w.queues {
		if q := &w.queues[i]; q.visits != nil {
			q.holds.Tidy()
			for k := range q.holds.Stays() {
				q.visits.visit(k.Flow(), k.Last)
			}
		}
	}
}

// since reports whether a packet of a flow was in the root at or after a time.
func (v *visits) since(flow uint32, t vtime.Time) bool {
	b := int(flow / visitBlock)
	return v != nil && b < len(v.blocks) && v.blocks[b] != nil && v.blocks[b][flow%visitBlock] > t
}
