// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// crew has the goroutines that run the nodes of a window. Each has groups of
// its own, so that their state stays in its processor's cache. A goroutine that
// has finished helps the others. The results do not depend on the assignment: a
// node accesses only itself and its own side of its pipes.
//
// At the end of a window only the goroutine that calls run waits for others, and
// only for those that have entered it: a helper that wakes late, or that is not
// running on a busy machine, misses the window.
type crew struct {
	size    int
	sides   []*side
	window  window
	own     member
	helpers []*member
	all     []*member // own and helpers
	helping bool      // helpers were started in this run
	events  uint64    // of the last window
	least   uint64    // minimum number of events of a shared window: fewEvents
	busy    uint64    // minimum number of events per group for fetch to be called
	windows uint64    // number of shared windows

	gate    atomic.Uint64 // the shared window: its number, helpers in it, and whether it is open
	over    atomic.Bool   // no run is in progress: helpers end
	sleeper               // waits until no helper is in the window
}

// Bits of crew.gate.
const (
	gateOpen   = 1       // helpers may enter
	gateInside = 1 << 1  // one helper in the window
	gateNumber = 1 << 16 // one window
)

// window is the next window: the switches of a side are run up to time end, and
// then each one's hosts up to time hosts.
type window struct {
	side       *side
	end, hosts vtime.Time
}

// group is a switch with its hosts. One goroutine runs them, unless another has
// no more work.
type group struct {
	nodes  []*node // the switch first
	weight uint64
	cursor atomic.Int32 // index of the next node to run
	ready  atomic.Bool  // the switch has finished
	_      [64]byte
}

// member is a goroutine of the crew.
type member struct {
	sleeper
	groups [2][]*group // by side
	due    due
	events uint64 // handled in the window
	last   uint64 // number of the last window that it was in
	_      [64]byte
}

// due has the times of the next events after a window.
type due struct {
	switches vtime.Time // first event of a switch of this side
	hosts    vtime.Time // first event of a host
	across   vtime.Time // first frame to a switch of the other side
}

func (d *due) reset() { d.switches, d.hosts, d.across = vtime.Never, vtime.Never, vtime.Never }

func (d *due) add(o *due) {
	d.switches, d.hosts, d.across = min(d.switches, o.switches), min(d.hosts, o.hosts), min(d.across, o.across)
}

// sleeper is a goroutine that waits for a condition set by others. It polls for
// a while, because the others usually finish within the time that waking takes.
// Then it sleeps, because on a busy machine the others may not be running.
type sleeper struct {
	state atomic.Int32
	wake  chan struct{}
}

// States of a sleeper. Who changes it from asleep to awake sends to wake.
const (
	ended int32 = iota
	awake
	asleep
)

// spins is the number of polls before sleeping: some 150 µs, about as long as
// waking takes.
const spins = 60000

// wait calls ready until it returns true. The goroutine that makes it true calls
// rouse afterwards. If over is true before, wait returns false after some polls.
func (s *sleeper) wait(ready func() bool, over *atomic.Bool) bool {
	for i := 0; !ready(); i++ {
		if i < spins {
			continue
		}
		s.state.Store(asleep)
		if ready() {
			if !s.state.CompareAndSwap(asleep, awake) {
				<-s.wake
			}
			return true
		}
		if over != nil && over.Load() && s.state.CompareAndSwap(asleep, ended) {
			return false
		}
		<-s.wake
	}
	return true
}

func (s *sleeper) rouse() {
	if s.state.Load() == asleep && s.state.CompareAndSwap(asleep, awake) {
		s.wake <- struct{}{}
	}
}

// Windows with fewer events than this are run by one goroutine, because
// synchronisation would take longer. The first larger window of a run starts the
// other goroutines. While they poll, windows with a quarter of the events are
// shared, too.
const fewEvents = 256

// start makes the helpers wait for windows. Those of the last run that have not
// ended yet go on.
func (c *crew) start() {
	c.helping = true
	c.over.Store(false)
	if c.helpers == nil {
		c.sleeper.wake = make(chan struct{}, 1)
		c.all = append(c.all, &c.own)
		for range c.size - 1 {
			h := &member{sleeper: sleeper{wake: make(chan struct{}, 1)}}
			c.helpers, c.all = append(c.helpers, h), append(c.all, h)
		}
		c.share()
	}
	for _, h := range c.helpers {
		h.rouse()
		if h.state.CompareAndSwap(ended, awake) {
			go c.help(h)
		}
	}
}

// stop lets the helpers end, if there are any. They poll for a while before, so
// that a run that begins immediately has them without waking them.
func (c *crew) stop() {
	if !c.helping {
		return
	}
	c.helping = false
	c.over.Store(true)
	for _, h := range c.helpers {
		h.rouse()
	}
}

func (c *crew) help(h *member) {
	for h.wait(func() bool { return c.enter(h) }, &c.over) {
		c.work(h)
		if g := c.gate.Add(^uint64(gateInside - 1)); g%gateNumber == 0 {
			c.rouse()
		}
	}
}

// enter lets a helper into the window, if it is open and the helper was not in it
// before.
func (c *crew) enter(h *member) bool {
	g := c.gate.Load()
	if g&gateOpen == 0 || g/gateNumber == h.last || !c.gate.CompareAndSwap(g, g+gateInside) {
		return false
	}
	h.last = g / gateNumber
	return true
}

// polling reports whether a helper would enter a window at once.
func (c *crew) polling() bool {
	return c.helping && slices.ContainsFunc(c.helpers, func(h *member) bool { return h.state.Load() == awake })
}

// work runs m's groups, then groups of others that have not begun, and then
// nodes of the groups that are left.
func (c *crew) work(m *member) {
	w := &c.window
	for _, g := range m.groups[w.side.id] {
		m.begin(g, w)
	}
	for _, o := range c.all {
		if o == m {
			continue
		}
		for _, g := range slices.Backward(o.groups[w.side.id]) {
			m.begin(g, w)
		}
	}
	for _, g := range w.side.groups {
		m.finish(g, w)
	}
}

// begin runs the nodes of a group, the switch first, unless another member has
// begun it.
func (m *member) begin(g *group, w *window) {
	if g.cursor.Load() != 0 || !g.cursor.CompareAndSwap(0, 1) {
		return
	}
	m.run(g, 0, w)
	g.ready.Store(true)
	m.finish(g, w)
}

// finish runs nodes of a group that was begun.
func (m *member) finish(g *group, w *window) {
	for int(g.cursor.Load()) < len(g.nodes) {
		i := int(g.cursor.Add(1)) - 1
		if i >= len(g.nodes) {
			return
		}
		for !g.ready.Load() {
			runtime.Gosched()
		}
		m.run(g, i, w)
	}
}

// run runs a node of a group.
func (m *member) run(g *group, i int, w *window) {
	n := g.nodes[i]
	if i == 0 {
		m.events += n.run(w.end)
		m.due.switches, m.due.across = min(m.due.switches, n.next), min(m.due.across, n.sent)
		return
	}
	m.events += n.run(w.hosts)
	m.due.hosts, m.due.switches = min(m.due.hosts, n.next), min(m.due.switches, n.sent)
}

// run runs a window and returns what is due after it.
func (c *crew) run(w window) due {
	if c.size == 1 || c.events < c.least && (c.events < c.least/4 || !c.polling()) {
		m := &c.own
		m.due.reset()
		m.events = 0
		ahead := c.events >= c.busy*uint64(len(w.side.groups))
		for at, g := range w.side.groups {
			if ahead {
				g.nodes[0].eng.fetch(w.side.groups, at)
			}
			for i := range g.nodes {
				m.run(g, i, &w)
			}
		}
		c.events = m.events
		return m.due
	}
	if !c.helping {
		c.start()
	}
	if c.windows++; c.windows%256 == 16 {
		c.share()
	}
	c.window = w
	for _, g := range w.side.groups {
		g.cursor.Store(0)
		g.ready.Store(len(c.sides) == 1)
	}
	for _, m := range c.all {
		m.due.reset()
		m.events = 0
	}
	c.gate.Store(c.windows*gateNumber + gateOpen)
	for _, h := range c.helpers {
		h.rouse()
	}
	c.work(&c.own)
	c.gate.And(^uint64(gateOpen))
	c.wait(func() bool { return c.gate.Load()%gateNumber == 0 }, nil)
	var d due
	d.reset()
	c.events = 0
	for _, m := range c.all {
		d.add(&m.due)
		c.events += m.events
	}
	return d
}

// share assigns each member its groups of each side: in descending order of
// recent work, each group goes to the member with the least.
func (c *crew) share() {
	loads := make([]uint64, len(c.all))
	for _, s := range c.sides {
		for _, g := range s.groups {
			g.weight = 0
			for _, n := range g.nodes {
				g.weight += n.weight
				n.weight /= 2
			}
		}
		slices.SortStableFunc(s.groups, func(a, b *group) int { return cmp.Compare(b.weight, a.weight) })
		for i, m := range c.all {
			m.groups[s.id], loads[i] = m.groups[s.id][:0], 0
		}
		for _, g := range s.groups {
			least := 0
			for i := range loads {
				if loads[i] < loads[least] {
					least = i
				}
			}
			loads[least] += g.weight + 1
			m := c.all[least]
			m.groups[s.id] = append(m.groups[s.id], g)
		}
	}
}

// reserve has the surplus frames of nodes, in pools of up to reservePool
// frames. A single pool would be copied as it grows, and leave garbage.
type reserve struct {
	mu    sync.Mutex
	pools []packet.Pool
	top   int // pools before it are full, pools after it empty
}

const reservePool = 1024

// level fills or drains a node's pool to between the marks, as far as the
// reserve has frames.
func (r *reserve) level(p *packet.Pool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pools) == 0 {
		r.pools = append(r.pools, packet.NewPool(reservePool))
	}
	if p.Len() < poolFill && r.pools[r.top].Len() == 0 && r.top > 0 {
		r.top--
	}
	top := &r.pools[r.top]
	n := p.Len()
	if n < poolFill {
		p.Take(top, poolFill-n)
		return
	}
	for ; n > poolKeep; n = p.Len() {
		if top.Len() == reservePool {
			if r.top++; r.top == len(r.pools) {
				r.pools = append(r.pools, packet.NewPool(reservePool))
			}
			top = &r.pools[r.top]
		}
		top.Take(p, min(n-poolKeep, reservePool-top.Len()))
	}
}

// depot has the surplus parcels of nodes.
type depot struct {
	mu sync.Mutex
	parcels
	any atomic.Bool
}

// level drains or, as far as the depot has some, fills the parcels of a node to the
// number that it keeps.
func (d *depot) level(ps *parcels, keep int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ps.n > keep {
		d.put(ps.get())
	}
	for ps.n < keep && d.n > 0 {
		ps.put(d.get())
	}
	d.any.Store(d.n > 0)
}
