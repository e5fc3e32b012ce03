// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"unsafe"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// node is the engine's part of a Node: its clock, its timers and the frames in
// flight to it. It is the Node's Network.
type node struct {
	id     int
	impl   Node
	eng    *engine
	now    vtime.Time
	timers vtime.Queue
	in     []*pipe    // by port, from 0
	mail   [2]mailbag // ports of in with frames sent in windows of each parity
	mailed []int32    // scratch: the ports of a mailbag
	out    []*pipe    // by port, from 0
	heads  vtime.Heap // of the first frames of the ports, whose indices into in are the orders
	sent   vtime.Time // first arrival of a frame that the node sent in this window, or since runUntil
	next   vtime.Time // first event of the node after this window, apart from sent
	pool   packet.Pool
	empty  parcels

	tap      Tap        // nil: none
	fault    *nodeFault // nil: none
	received uint64     // frames
	handled  uint64     // events
	checked  uint64     // of them, at the last check by conserve
	weight   uint64     // recent events, to balance the load
	warm     byte
	host     *roce.Host // itself, in a network of manyNodes, if it is a host
	pauses   []PauseEvent
	paused   vtime.Time // no port is paused from then on, unless another PAUSE comes
	_        [64]byte   // different threads run the nodes
}

var _ Network = (*node)(nil)

// Now implements vtime.Scheduler.
func (n *node) Now() vtime.Time { return n.now }

// At implements vtime.Scheduler.
func (n *node) At(t vtime.Time, ev vtime.Event, arg uint64) {
	if t < n.now {
		panic(fmt.Sprintf("BUG: node %d asks at %v for an event at %v", n.id, n.now, t))
	}
	n.timers.Push(t, ev, arg)
}

// Frames implements Network.
func (n *node) Frames() *packet.Pool { return &n.pool }

// Send implements Network.
func (n *node) Send(port int, f *packet.Frame, end vtime.Time) {
	p := n.out[port-1]
	if end < n.now || end < p.end {
		panic(fmt.Sprintf("BUG: node %d sends on port %d at %v a frame that ends at %v; the one before ends at %v", n.id, port, n.now, end, p.end))
	}
	p.end = end
	p.sent.Frames++
	p.sent.Bytes += uint64(f.Len())
	at := end + p.delay
	if p.fault != nil {
		switch p.fault.of(end, at) {
		case lost:
			p.sent.Lost++
			p.lostBytes += uint64(f.Len())
			n.pool.Put(f)
			return
		case damaged:
			p.sent.Corrupt++
			p.lostBytes += uint64(f.Len())
			n.pool.Put(f)
			return
		}
	}
	n.sent = min(n.sent, at)
	parity := n.eng.fill
	box := &p.box[parity]
	c := box.last
	switch {
	case c == nil:
		p.to.mail[parity].add(p.port)
		c = n.empty.get()
		box.first, box.last = c, c
	case c.n == len(c.messages):
		c = n.empty.get()
		box.last.next, box.last = c, c
	}
	c.messages[c.n] = message{at, f}
	c.n++
}

// mailbag is the set of ports to which frames were sent in a window. Their
// senders may run concurrently.
type mailbag []atomic.Uint64

func newMailbag(ports int) mailbag { return make(mailbag, (ports+63)/64) }

func (m mailbag) add(port int) { m[port/64].Or(1 << (port % 64)) }

// empty calls do for each port in the set, in order, and clears the set.
func (m mailbag) empty(do func(port int)) {
	for i := range m {
		w := m[i].Load()
		if w == 0 {
			continue
		}
		m[i].Store(0)
		for ; w != 0; w &= w - 1 {
			do(64*i + bits.TrailingZeros64(w))
		}
	}
}

// Pools of nodes are filled and drained to between these marks, so that frames
// return from the receivers of data to the senders.
const (
	poolLow  = 16
	poolFill = 64
	poolKeep = 64
	poolHigh = 128
)

// run handles the node's events before time end and returns their number.
func (n *node) run(end vtime.Time) uint64 {
	n.sent = vtime.Never
	n.collect(n.eng.drain)
	if n.next = n.firstEvent(); n.next >= end {
		return 0
	}
	if l := n.pool.Len(); l < poolLow || l > poolHigh {
		n.eng.reserve.level(&n.pool)
	}
	if keep := len(n.out) + 4; n.empty.n > 2*keep || n.empty.n < keep/2 && n.eng.depot.any.Load() {
		n.eng.depot.level(&n.empty, keep)
	}
	before := n.handled
	for {
		t := n.timers.Next()
		if len(n.heads) > 0 && n.heads[0].At < t {
			t = n.heads[0].At
			if t >= end {
				break
			}
			n.now = t
			n.handled++
			n.arrive()
			continue
		}
		if t >= end {
			break
		}
		n.now = t
		n.handled++
		_, ev, arg := n.timers.Pop()
		ev.Fire(t, arg)
	}
	n.next = n.firstEvent()
	n.weight += n.handled - before
	return n.handled - before
}

// collect takes the frames sent to the node in the window of a parity. Other
// nodes touched all of this memory last, so it is not in the processor's cache,
// and each step depends on the previous one: therefore each step is done for
// all ports before the next, so that the memory accesses overlap.
func (n *node) collect(parity uint64) {
	ports := n.mailed[:0]
	n.mail[parity].empty(func(port int) { ports = append(ports, int32(port)) })
	n.mailed = ports
	for _, port := range ports {
		n.warm += byte(n.in[port].head)
	}
	for _, port := range ports {
		n.warm += byte(n.in[port].box[parity].first.n)
	}
	for _, port := range ports {
		p := n.in[port]
		for c := p.box[parity].first; c != nil; c = c.next {
			p.taken.Frames += uint64(c.n)
			for _, m := range c.messages[:c.n] {
				p.taken.Bytes += uint64(m.f.Len())
				if d := m.f.Data; len(d) > 0 {
					n.warm += d[0] + d[len(d)-1]
				}
				if n.host != nil {
					n.host.FetchFlow(m.f)
				}
			}
		}
		waits := p.waiting.first != nil
		p.take(parity)
		if !waits {
			n.heads.Push(vtime.Key{At: p.first().at, Order: uint64(port)})
		}
	}
}

func (n *node) firstEvent() vtime.Time {
	t := n.timers.Next()
	if len(n.heads) > 0 {
		t = min(t, n.heads[0].At)
	}
	return t
}

// arrive passes the first waiting frame to the node.
func (n *node) arrive() {
	i := int32(n.heads[0].Order)
	p := n.in[i]
	c := p.waiting.first
	f := c.messages[p.head].f
	if p.head++; p.head == c.n {
		p.waiting.first, p.head = c.next, 0
		n.empty.put(c)
	}
	if p.waiting.first != nil {
		n.heads.Replace(vtime.Key{At: p.first().at, Order: uint64(i)})
	} else {
		n.heads.Pop()
	}
	if n.eng.large && len(n.heads) > 0 { // it arrives next
		cache.Lines(unsafe.Pointer(n.in[n.heads[0].Order].first().f), 2)
	}
	n.received++
	if n.tap != nil {
		n.tap.Arrive(n.now, int(i)+1, f)
	}
	if d := f.Data; len(d) >= packet.PFCLen && d[12] == 0x88 && d[13] == 0x08 {
		if pfc := packet.AsPFC(d); pfc != nil {
			n.observe(i, pfc)
		}
	} else if n.fault != nil && n.fault.swallows(n.now, f) {
		n.pool.Put(f)
		return
	}
	n.impl.Receive(int(i)+1, f)
}

// observe records a PFC frame that has arrived on the port with index i.
func (n *node) observe(i int32, pfc packet.PFC) {
	p := n.in[i]
	p.pause.observe(n.now, pfc, func(class uint8, quanta uint16) {
		n.pauses = append(n.pauses, PauseEvent{n.now, n.id, int(i) + 1, class, quanta})
		n.paused = max(n.paused, n.now+packet.PauseTime(quanta, p.pause.rate))
	})
}

// engine runs nodes window by window.
type engine struct {
	nodes       []*node
	now         vtime.Time
	large       bool       // has manyNodes
	lookahead   vtime.Time // shortest delay of all links
	window      uint64     // number of the current or last window
	fill, drain uint64     // parities of the pipes' boxes that are written and read in it
	crew        crew
	reserve     reserve
	depot       depot
	events      uint64       // handled by all nodes
	checked     uint64       // of them, at the last check by conserve
	locks       []Controlled // the nodes with a control plane
}

// runUntil handles all events up to and including time until. It returns early,
// between two windows, when ctx is done. It calls tick regularly.
func (e *engine) runUntil(ctx context.Context, until vtime.Time, tick func(now vtime.Time)) (err error) {
	next := vtime.Never
	for _, l := range e.locks {
		l.Lock()
	}
	defer e.unlock()
	for _, n := range e.nodes {
		next = min(next, n.firstEvent(), n.sent)
	}
	for _, s := range e.crew.sides {
		next = min(next, s.next()) // of frames not yet collected
	}
	next = max(next, e.now)
	limit := until
	if limit < vtime.Never {
		limit++
	}
	for _, s := range e.crew.sides {
		s.begin(e.now, next)
	}
	defer e.crew.stop()
	for {
		w, ok := e.plan(limit)
		if !ok {
			break
		}
		e.window++
		e.run(w)
		e.events += e.crew.events
		if e.window%256 != 0 {
			continue
		}
		if err == nil && ctx.Err() != nil {
			// Some nodes are ahead; the others catch up.
			err, limit = ctx.Err(), 0
			for _, s := range e.crew.sides {
				limit = max(limit, s.switches, s.hosts)
			}
			until = min(until, limit)
		}
		if tick != nil {
			tick(min(e.now, until))
		}
	}
	e.now = until
	e.settle()
	return err
}

func (e *engine) unlock() {
	for _, l := range e.locks {
		l.Unlock()
	}
}

// settle sets all clocks to the engine's time.
func (e *engine) settle() {
	for _, n := range e.nodes {
		n.now, n.sent = e.now, vtime.Never // what is sent from here on is of no window
	}
}

// newRand returns a generator for one purpose: the same arguments give the same
// sequence, and others an independent one.
func newRand(seed uint64, purpose, number int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(purpose)<<32|uint64(uint32(number))))
}
