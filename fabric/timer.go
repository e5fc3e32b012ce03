// SPDX-License-Identifier: Apache-2.0

package fabric

import "github.com/pauseless/pauseless/internal/vtime"

// appointment is an event that a node asked for.
type appointment struct {
	at  vtime.Time
	seq uint64 // in the order the node asked
	ev  vtime.Event
	arg uint64
}

func (a *appointment) before(b *appointment) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// timerQueue holds the appointments of one node, the next one first. A node
// has few, one per busy port and one or two per flow, so a heap with four
// children per entry is one to three levels deep and beats calendar and ladder
// queues, which earn their keep in the thousands (docs/performance.md).
//
// An event mostly asks for another one, so the place of the first appointment
// stays open after it has been taken, for the next to be asked for.
type timerQueue struct {
	heap []appointment
	seq  uint64
	open bool // heap[0] has been taken
}

const heapWay = 4

// next returns the time of the first appointment, or Never.
func (q *timerQueue) next() vtime.Time {
	if q.open {
		q.close()
	}
	if len(q.heap) == 0 {
		return vtime.Never
	}
	return q.heap[0].at
}

// push adds an appointment.
func (q *timerQueue) push(at vtime.Time, ev vtime.Event, arg uint64) {
	q.seq++
	a := appointment{at, q.seq, ev, arg}
	if q.open {
		q.open = false
		q.down(a)
		return
	}
	q.heap = append(q.heap, a)
	h := q.heap
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / heapWay
		// The sequence number of the one going up is the highest of all.
		if h[up].at <= at {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = a
}

// pop returns the first appointment of a queue whose next is not Never.
func (q *timerQueue) pop() appointment {
	q.open = true
	return q.heap[0]
}

// close puts the last appointment in the place of the one that was taken.
func (q *timerQueue) close() {
	q.open = false
	end := len(q.heap) - 1
	last := q.heap[end]
	q.heap[end].ev = nil
	q.heap = q.heap[:end]
	if end > 0 {
		q.down(last)
	}
}

// down puts a in the first place and moves it down to where it belongs.
func (q *timerQueue) down(a appointment) {
	h := q.heap
	i := 0
	for {
		c := i*heapWay + 1
		if c >= len(h) {
			break
		}
		least := c
		for k := c + 1; k < min(c+heapWay, len(h)); k++ {
			if h[k].before(&h[least]) {
				least = k
			}
		}
		if a.before(&h[least]) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = a
}
