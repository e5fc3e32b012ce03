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

// crew is the goroutines that run the nodes of a window. Each has groups of its
// own, so that their state stays in its processor's cache; one that is done
// helps the others. Who runs a node changes nothing: a node touches only itself
// and the side of its pipes that is its own.
type crew struct {
	size    int
	sides   []*side
	window  window
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

// window is what is to be run next: the switches of a side up to time end, and
// each one's hosts, when it has been run, up to time hosts.
type window struct {
	side       *side
	end, hosts vtime.Time
}

// group is a switch along with the hosts on it, which are run by one goroutine
// unless another has nothing left to do.
type group struct {
	nodes  []*node // the switch first
	weight uint64
	cursor atomic.Int32 // next of nodes to be run
	ready  atomic.Bool  // the switch has been run
	_      [64]byte
}

// member is a goroutine of the crew.
type member struct {
	sleeper
	groups [2][]*group // by side
	due    due
	events uint64 // it handled in the window
	_      [64]byte
}

// due is when something happens next after a window.
type due struct {
	switches vtime.Time // first event of a switch of the side
	hosts    vtime.Time // and of a host
	across   vtime.Time // first frame to reach a switch of the other side
}

func (d *due) reset() { d.switches, d.hosts, d.across = vtime.Never, vtime.Never, vtime.Never }

func (d *due) add(o *due) {
	d.switches, d.hosts, d.across = min(d.switches, o.switches), min(d.hosts, o.hosts), min(d.across, o.across)
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

// work runs m's groups, and then what nobody has begun of those of others.
func (c *crew) work(m *member) {
	m.due.reset()
	m.events = 0
	m.runFrom(m, &c.window)
	for _, o := range c.all {
		if o != m {
			m.runFrom(o, &c.window)
		}
	}
}

func (m *member) runFrom(o *member, w *window) {
	for _, g := range o.groups[w.side.id] {
		for {
			i := int(g.cursor.Add(1)) - 1
			if i >= len(g.nodes) {
				break
			}
			if i > 0 {
				for !g.ready.Load() {
					runtime.Gosched()
				}
			}
			m.run(g, i, w)
			if i == 0 {
				g.ready.Store(true)
			}
		}
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
	if c.size > 1 && len(c.helpers) == 0 && c.events >= c.least {
		c.start()
	}
	if len(c.helpers) == 0 || c.events < c.least {
		m := &c.own
		m.due.reset()
		m.events = 0
		for _, g := range w.side.groups {
			for i := range g.nodes {
				m.run(g, i, &w)
			}
		}
		c.events = m.events
		return m.due
	}
	if c.windows++; c.windows%1024 == 16 {
		c.share()
	}
	c.window = w
	for _, g := range w.side.groups {
		g.cursor.Store(0)
		g.ready.Store(len(c.sides) == 1)
	}
	c.working.Store(int64(len(c.helpers)))
	c.publish()
	c.work(&c.own)
	c.wait(func() bool { return c.working.Load() == 0 })
	var d due
	d.reset()
	c.events = 0
	for _, m := range c.all {
		d.add(&m.due)
		c.events += m.events
	}
	return d
}

// share gives each member its groups of each side: the one with the most recent
// work goes to the member that has least, and so on.
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

// reserve holds the frames that nodes have too many of, in pools of up to
// reservePool frames: one pool of all frames would be copied as it grows, and
// leave the copies to the collector.
type reserve struct {
	mu    sync.Mutex
	pools []packet.Pool
	top   int // those before are full, those after it empty
}

const reservePool = 1024

// level brings a node's pool back between the marks, as far as the reserve
// has frames.
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
