// SPDX-License-Identifier: Apache-2.0

package tm

import "math"

// work is what may still be done for one received frame and its copies. A copy
// that makes copies, or a packet that comes again, would otherwise keep the switch
// busy for ever, without any time passing.
type work struct {
	left int32 // of the budget; in a free one the index of the next free one
	refs int32 // packets that spend it
}

// workOf returns the work of a packet. A packet has none until it spends or shares
// it, so that the usual packet costs nothing.
func (m *Manager) workOf(p *Packet) *work {
	if p.work != 0 {
		return &m.works[p.work]
	}
	if m.works == nil {
		m.works = make([]work, 1, 64) // index zero stands for none
	}
	i := m.works[0].left // the first free one
	if i == 0 {
		i = int32(len(m.works))
		m.works = append(m.works, work{})
	} else {
		m.works[0].left = m.works[i].left
	}
	w := &m.works[i]
	w.left, w.refs, p.work = math.MaxInt32, 1, uint32(i)
	if m.cfg.Work > 0 {
		w.left = int32(m.cfg.Work)
	}
	return w
}

// Spend takes n from the budget of the frame that a packet comes from, and returns
// how much of it there was.
func (m *Manager) Spend(p *Packet, n int) int {
	w := m.workOf(p)
	n = min(n, int(w.left))
	w.left -= int32(n)
	return n
}

// Share makes c, a new copy of p, spend the same budget.
func (m *Manager) Share(p, c *Packet) {
	m.workOf(p).refs++
	c.work = p.work
}

// settle ends a packet's share of its work.
//
//go:noinline
func (m *Manager) settle(p *Packet) {
	w := &m.works[p.work]
	if w.refs--; w.refs == 0 {
		w.left, m.works[0].left = m.works[0].left, int32(p.work)
	}
	p.work = 0
}
