// SPDX-License-Identifier: Apache-2.0

package vtime

import "github.com/pauseless/pauseless/internal/cache"

// appointment is a scheduled event of a node.
type appointment struct {
	at  Time
	seq uint64 // increases with every event that the node schedules
	ev  Event
	arg uint64
}

func (a *appointment) before(b *appointment) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// Queue holds the scheduled events of one node, ordered by time and, within one
// instant, by the order in which they were scheduled. The zero value is an empty
// queue. A Queue must not be used by several goroutines at once.
//
// A node of a fabric has few scheduled events, one per busy port and one or two
// per flow. A heap with four children per entry is then one to three levels deep,
// and faster than calendar and ladder queues, which are better with thousands of
// events (docs/performance.md).
//
// Most events schedule another one. Pop therefore leaves the place of the first
// entry empty, and the next Push fills it.
type Queue struct {
	heap []appointment
	seq  uint64
	open bool // heap[0] has been taken
}

const heapArity = 4

// Next returns the time of the first event, or Never if there is none.
func (q *Queue) Next() Time {
	if q.open {
		q.close()
	}
	if len(q.heap) == 0 {
		return Never
	}
	return q.heap[0].at
}

// Push adds an event: ev is called with arg at time at.
func (q *Queue) Push(at Time, ev Event, arg uint64) {
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
		up := (i - 1) / heapArity
		// The sequence number of the one going up is the highest of all.
		if h[up].at <= at {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = a
}

// Fetch has the processor fetch the events. It changes nothing.
func (q *Queue) Fetch() { cache.Slice(q.heap) }

// Len returns the number of events.
func (q *Queue) Len() int {
	if q.open {
		return len(q.heap) - 1
	}
	return len(q.heap)
}

// Pop removes the first event and returns it. It must be called after Next has
// returned a time other than Never, without a Push in between.
func (q *Queue) Pop() (at Time, ev Event, arg uint64) {
	q.open = true
	a := &q.heap[0]
	return a.at, a.ev, a.arg
}

// close moves the last entry to the place of the entry that Pop has removed.
func (q *Queue) close() {
	q.open = false
	end := len(q.heap) - 1
	last := q.heap[end]
	q.heap[end].ev = nil
	q.heap = q.heap[:end]
	if end > 0 {
		q.down(last)
	}
}

// down puts a in the first place and moves it down until the heap is in order.
func (q *Queue) down(a appointment) {
	h := q.heap
	i := 0
	for {
		c := i*heapArity + 1
		if c >= len(h) {
			break
		}
		least := c
		for k := c + 1; k < min(c+heapArity, len(h)); k++ {
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
