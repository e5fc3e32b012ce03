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
type crew struct {
	size    int
	sides   []*side
	window  window
	own     member
	helpers []*member
	all     []*member // own and helpers
	events  uint64    // of the last window
	least   uint64    // minimum number of events of a shared window: fewEvents
	busy    uint64    // minimum number of events per group for fetch to be called
	windows uint64    // number of shared windows

	epoch   atomic.Uint64 // number of windows given to the helpers
	working atomic.Int64  // helpers that have not finished the window
	sleeper               // waits for working to become zero
	quit    bool
	done    sync.WaitGroup
}

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
	parked atomic.Bool
	wake   chan struct{}
}

// spins is the number of polls before sleeping: some 150 µs, a few times the
// duration of waking.
const spins = 60000

func newSleeper() sleeper { return sleeper{wake: make(chan struct{}, 1)} }

// wait returns when ready returns true. The goroutine that makes it true calls
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

// Windows with fewer events than this are run by one goroutine, because
// synchronisation would take longer. The first larger window starts the other
// goroutines.
const fewEvents = 256

// start starts the helpers, which wait for windows.
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

// stop ends the helpers, if any.
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

// work runs m's groups, and then the groups of others that have not begun.
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
