// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// crew is the goroutines that run the nodes of a window. Each has nodes of its
// own, a leaf along with its hosts, so that their state stays in its
// processor's cache; one that is done helps the others. Who runs a node
// changes nothing: a node touches only itself and the side of its pipes that
// is its own.
type crew struct {
	size    int
	groups  []group
	end     vtime.Time
	own     member
	helpers []*member
	all     []*member // own and helpers
	events  uint64    // of the last window
	least   uint64    // events that a window has that is shared out: fewEvents
	windows uint64    // run together

	epoch   atomic.Uint64 // counts windows that were given to the helpers
	working atomic.Int64  // helpers that have not finished the window
	sleeper               // waits for working to become zero
	quit    bool
	done    sync.WaitGroup
}

// group is nodes that are best run by one goroutine.
type group struct {
	nodes  []*node
	weight uint64
}

// member is a goroutine of the crew.
type member struct {
	sleeper
	nodes  []*node
	cursor atomic.Int64 // next of nodes to be run
	next   vtime.Time   // first event after the window, of the nodes it ran
	events uint64       // it handled in the window
	_      [64]byte
}

// sleeper is a goroutine that waits for a condition that others bring about:
// for a while by looking again and again, because that is how long the others
// mostly take and being woken takes as long, and then asleep, because on a busy
// machine they may not even be running.
type sleeper struct {
	parked atomic.Bool
	wake   chan struct{}
}

// spins is how often it looks before it sleeps: for some 150 µs, a few times as
// long as waking it would take.
const spins = 60000

func newSleeper() sleeper { return sleeper{wake: make(chan struct{}, 1)} }

// wait returns once ready does so with true. Whoever makes it true calls
// rouse afterwards.
func (s *sleeper) wait(ready func() bool) {
	for i := 0; !ready(); i++ {
		if i < spins {
			continue
		}
		s.parked.Store(true)
		if ready() && s.parked.Swap(false) {
			return
		}
		<-s.wake
	}
}

func (s *sleeper) rouse() {
	if s.parked.Load() && s.parked.Swap(false) {
		s.wake <- struct{}{}
	}
}

// Windows with fewer events than this are run by one goroutine: meeting the
// others would take longer. The others are started by the first window that has
// more.
const fewEvents = 256

// start has the helpers wait for windows.
func (c *crew) start() {
	c.quit = false
	c.sleeper = newSleeper()
	c.all = append(c.all[:0], &c.own)
	c.helpers = nil
	for range c.size - 1 {
		h := &member{sleeper: newSleeper()}
		c.helpers = append(c.helpers, h)
		c.all = append(c.all, h)
		c.done.Add(1)
		go c.help(h, c.epoch.Load())
	}
	c.share()
}

// stop ends the helpers, if there are any.
func (c *crew) stop() {
	if len(c.helpers) == 0 {
		return
	}
	c.quit = true
	c.publish()
	c.done.Wait()
	c.helpers = nil
}

func (c *crew) publish() {
	c.epoch.Add(1)
	for _, h := range c.helpers {
		h.rouse()
	}
}

func (c *crew) help(h *member, seen uint64) {
	defer c.done.Done()
	for {
		h.wait(func() bool { return c.epoch.Load() != seen })
		seen++
		if c.quit {
			return
		}
		c.work(h)
		if c.working.Add(-1) == 0 {
			c.rouse()
		}
	}
}

// work runs m's nodes, and then those of others that nobody has begun.
func (c *crew) work(m *member) {
	m.next, m.events = vtime.Never, 0
	m.runFrom(m, c.end)
	for _, o := range c.all {
		if o != m {
			m.runFrom(o, c.end)
		}
	}
}

func (m *member) runFrom(o *member, end vtime.Time) {
	for {
		i := int(o.cursor.Add(1)) - 1
		if i >= len(o.nodes) {
			return
		}
		m.run(o.nodes[i], end)
	}
}

func (m *member) run(n *node, end vtime.Time) {
	m.events += n.run(end)
	m.next = min(m.next, n.next)
}

// run runs all nodes up to time end and returns when the next event is due.
func (c *crew) run(end vtime.Time) vtime.Time {
	if c.size > 1 && len(c.helpers) == 0 && c.events >= c.least {
		c.start()
	}
	if len(c.helpers) == 0 || c.events < c.least {
		m := &c.own
		m.next, m.events = vtime.Never, 0
		for i := range c.groups {
			for _, n := range c.groups[i].nodes {
				m.run(n, end)
			}
		}
		c.events = m.events
		return m.next
	}
	if c.windows++; c.windows%1024 == 16 {
		c.share()
	}
	c.end = end
	for _, m := range c.all {
		m.cursor.Store(0)
	}
	c.working.Store(int64(len(c.helpers)))
	c.publish()
	c.work(&c.own)
	c.wait(func() bool { return c.working.Load() == 0 })
	next, events := vtime.Never, uint64(0)
	for _, m := range c.all {
		next = min(next, m.next)
		events += m.events
	}
	c.events = events
	return next
}

// share gives each member its nodes: the group with the most recent work goes to the
// one that has least, and so on.
func (c *crew) share() {
	if len(c.helpers) == 0 {
		return
	}
	for i := range c.groups {
		g := &c.groups[i]
		g.weight = 0
		for _, n := range g.nodes {
			g.weight += n.weight
			n.weight /= 2
		}
	}
	slices.SortStableFunc(c.groups, func(a, b group) int { return cmp.Compare(b.weight, a.weight) })
	loads := make([]uint64, len(c.all))
	for _, m := range c.all {
		m.nodes = m.nodes[:0]
	}
	for _, g := range c.groups {
		least := 0
		for i := range loads {
			if loads[i] < loads[least] {
				least = i
			}
		}
		loads[least] += g.weight + 1
		c.all[least].nodes = append(c.all[least].nodes, g.nodes...)
	}
}

// reserve holds the frames that nodes have too many of.
type reserve struct {
	mu   sync.Mutex
	pool packet.Pool
}

// level brings a node's pool back between the marks, as far as the reserve
// has frames.
func (r *reserve) level(p *packet.Pool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := p.Len(); n > poolKeep {
		r.pool.Take(p, n-poolKeep)
	} else if n < poolFill {
		p.Take(&r.pool, poolFill-n)
	}
}
