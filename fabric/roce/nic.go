// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"math/bits"
	"unsafe"

	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// nic selects the next frame for the link: acknowledgements and notifications
// before data, a higher class before a lower one, and the flows of a class in
// round-robin order. It schedules an event only when there will be a frame to
// send.
type nic struct {
	h    *Host
	free vtime.Time // when the link is free again
	wake vtime.Time // time of the scheduled event, or Never

	control     [packet.Classes]fifo // acknowledgements and notifications
	controlMask uint8                // classes with such frames
	ready       [packet.Classes]list // flows that may send now
	readyMask   uint8
	active      int       // flows of transport uec in ready
	waiting     []*sender // heap of flows that may send later, by time

	paused      uint8  // classes paused by PFC
	port        uint32 // from 1
	pausedUntil [packet.Classes]vtime.Time
	pausedSince [packet.Classes]vtime.Time

	self Address
}

func (n *nic) init(h *Host, port int, self Address) {
	n.h, n.port, n.self, n.wake = h, uint32(port), self, vtime.Never
}

// fifo is a queue of frames.
type fifo struct {
	frames []*packet.Frame
	head   int
}

func (q *fifo) push(f *packet.Frame) { q.frames = append(q.frames, f) }

func (q *fifo) empty() bool { return q.head == len(q.frames) }

func (q *fifo) pop() *packet.Frame {
	f := q.frames[q.head]
	q.head++
	if q.empty() {
		q.frames, q.head = q.frames[:0], 0
	} else if q.head >= 64 && q.head > len(q.frames)/2 {
		k := copy(q.frames, q.frames[q.head:])
		q.frames, q.head = q.frames[:k], 0
	}
	return f
}

// HeldFrames returns the number of frames that the host has made and not yet
// sent.
func (h *Host) HeldFrames() (n int) {
	n = h.nic.held()
	for _, other := range h.more {
		n += other.held()
	}
	return n
}

func (n *nic) held() (frames int) {
	for c := range n.control {
		frames += len(n.control[c].frames) - n.control[c].head
	}
	return frames
}

// list is a linked queue of flows.
type list struct{ first, last *sender }

func (l *list) push(s *sender) {
	s.link = nil
	if l.first == nil {
		l.first = s
	} else {
		l.last.link = s
	}
	l.last = s
}

func (l *list) pop() *sender {
	s := l.first
	l.first = s.link
	return s
}

// send queues an acknowledgement or a notification.
func (n *nic) send(now vtime.Time, class uint8, f *packet.Frame) {
	n.control[class].push(f)
	n.controlMask |= 1 << class
	n.kick(now)
}

// add queues a flow that has data to send.
func (n *nic) add(now vtime.Time, s *sender) {
	if s.place != nowhere {
		return
	}
	if s.avail > now {
		n.wait(s)
		return
	}
	n.expire(now)
	n.makeReady(s, now)
}

// makeReady queues a flow that may send since a time.
func (n *nic) makeReady(s *sender, since vtime.Time) {
	s.place = inReady
	if s.u != nil {
		n.active++
	}
	n.ready[s.class].push(s)
	n.readyMask |= 1 << s.class
	if n.paused&(1<<s.class) != 0 {
		s.stalled, s.held = true, max(since, n.pausedSince[s.class])
	}
}

// kick sends the next frame, or schedules it for when the link is free.
func (n *nic) kick(now vtime.Time) {
	if now < n.free {
		n.wakeAt(n.free)
		return
	}
	n.transmit(now)
}

func (n *nic) wakeAt(t vtime.Time) {
	if t < n.wake {
		n.wake = t
		n.h.net.At(t, n, uint64(t))
	}
}

// Fire implements vtime.Event. arg is the scheduled time.
func (n *nic) Fire(now vtime.Time, arg uint64) {
	if vtime.Time(arg) != n.wake {
		return // an earlier event has replaced it
	}
	n.wake = vtime.Never
	if now < n.free {
		n.wakeAt(n.free)
		return
	}
	n.transmit(now)
}

// transmit sends one frame, if one may be sent, on a free link.
func (n *nic) transmit(now vtime.Time) {
	if n.paused != 0 {
		n.expire(now)
	}
	n.release(now)
	var f *packet.Frame
	if m := n.controlMask &^ n.acksPaused(); m != 0 {
		class := bits.Len8(m) - 1
		q := &n.control[class]
		f = q.pop()
		if q.empty() {
			n.controlMask &^= 1 << class
		}
		n.put(now, f)
	} else {
		for f == nil {
			m := n.readyMask &^ n.paused
			if m == 0 {
				break
			}
			class := bits.Len8(m) - 1
			l := &n.ready[class]
			s := l.pop()
			if l.first == nil {
				n.readyMask &^= 1 << class
			} else { // it sends next
				cache.Lines(unsafe.Pointer(l.first), senderLines)
			}
			s.place = nowhere
			if s.u != nil {
				n.active--
			}
			if !s.hasData() {
				continue // acknowledged, or its window closed, while it was queued
			}
			f = s.nextFrame(now)
			n.put(now, f)
			s.sentAt(now, n.free)
			if s.hasData() {
				if s.avail <= n.free {
					n.makeReady(s, now)
				} else {
					n.wait(s)
				}
			}
		}
	}
	n.plan(now)
}

// acksPaused returns the classes whose acknowledgements and notifications wait for
// the end of a pause.
func (n *nic) acksPaused() uint8 {
	if n.h.cfg.AcksUnpaused {
		return 0
	}
	return n.paused
}

// put puts a frame on the link.
func (n *nic) put(now vtime.Time, f *packet.Frame) {
	n.free = now + n.h.rate.TxTime(f.Len()+n.h.cfg.Overhead)
	n.h.net.Send(int(n.port), f, n.free)
}

// plan schedules the event that sends the next frame, if there will be one.
func (n *nic) plan(now vtime.Time) {
	at := max(n.free, now)
	switch {
	case n.controlMask&^n.acksPaused()|n.readyMask&^n.paused != 0:
		n.wakeAt(at)
		return
	case len(n.waiting) > 0:
		n.wakeAt(max(at, n.waiting[0].avail))
	}
	// A paused class continues when the pause expires.
	for m := (n.controlMask | n.readyMask) & n.paused; m != 0; m &= m - 1 {
		n.wakeAt(max(at, n.pausedUntil[bits.TrailingZeros8(m)]))
	}
}

// pause applies a PFC frame.
func (n *nic) pause(now vtime.Time, pfc packet.PFC) {
	n.expire(now)
	n.release(now)
	for m := pfc.Enabled(); m != 0; m &= m - 1 {
		c := bits.TrailingZeros8(m)
		q := pfc.Quanta(c)
		on := n.paused&(1<<c) != 0
		if q == 0 {
			if n.paused &^= 1 << c; on {
				n.over(c, now)
			}
			continue
		}
		n.paused |= 1 << c
		n.pausedUntil[c] = now + packet.PauseTime(q, n.h.rate)
		if on {
			continue
		}
		n.pausedSince[c] = now
		for s := n.ready[c].first; s != nil; s = s.link {
			s.stalled, s.held = true, now
		}
	}
	n.kick(now)
}

// expire ends the pauses that have expired.
func (n *nic) expire(now vtime.Time) {
	for m := n.paused; m != 0; m &= m - 1 {
		if c := bits.TrailingZeros8(m); n.pausedUntil[c] <= now {
			n.paused &^= 1 << c
			n.over(c, n.pausedUntil[c])
		}
	}
}

// release makes flows ready when they may send.
func (n *nic) release(now vtime.Time) {
	for len(n.waiting) > 0 && n.waiting[0].avail <= now {
		s := n.waiting[0]
		since := s.avail
		n.unwait(s)
		n.makeReady(s, since)
	}
}

// wait adds a flow to the heap of flows that may send later.
func (n *nic) wait(s *sender) {
	s.place = len(n.waiting)
	n.waiting = append(n.waiting, s)
	n.up(s.place)
}

// unwait removes a flow from that heap.
func (n *nic) unwait(s *sender) {
	i, last := s.place, len(n.waiting)-1
	s.place = nowhere
	moved := n.waiting[last]
	n.waiting[last] = nil
	n.waiting = n.waiting[:last]
	if i == last {
		return
	}
	n.waiting[i], moved.place = moved, i
	n.fix(moved)
}

// fix restores the heap after a change of a flow's time.
func (n *nic) fix(s *sender) {
	if !n.up(s.place) {
		n.down(s.place)
	}
}

func earlier(a, b *sender) bool {
	return a.avail < b.avail || a.avail == b.avail && a.qp < b.qp
}

func (n *nic) up(i int) (moved bool) {
	for i > 0 {
		p := (i - 1) / 2
		if !earlier(n.waiting[i], n.waiting[p]) {
			break
		}
		n.swap(i, p)
		i, moved = p, true
	}
	return moved
}

func (n *nic) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(n.waiting) {
			return
		}
		if c+1 < len(n.waiting) && earlier(n.waiting[c+1], n.waiting[c]) {
			c++
		}
		if !earlier(n.waiting[c], n.waiting[i]) {
			return
		}
		n.swap(i, c)
		i = c
	}
}

func (n *nic) swap(i, j int) {
	n.waiting[i], n.waiting[j] = n.waiting[j], n.waiting[i]
	n.waiting[i].place, n.waiting[j].place = i, j
}
