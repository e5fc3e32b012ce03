// SPDX-License-Identifier: Apache-2.0

package vtime

// appointment is an event that a node asked for.
type appointment struct {
	at  Time
	seq uint64 // in the order the node asked
	ev  Event
	arg uint64
}

func (a *appointment) before(b *appointment) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// Queue holds the events that one node has asked for, the next one first:
// in order of time and, within one instant, in the order they were asked for.
// The zero value is an empty queue. It is for one goroutine at a time.
//
// A node of a fabric waits for few events, one per busy port and one or two
// per flow. A heap with four children per entry is then one to three levels
// deep and faster than calendar and ladder queues, which pay off with
// thousands of events (docs/performance.md).
//
// Most events ask for another one. The place of the first entry therefore
// stays open after it has been taken, and the next Push fills it.
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

// Push adds an event: ev is to be fired with arg at time at.
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

// Len returns how many events there are.
func (q *Queue) Len() int {
	if q.open {
		return len(q.heap) - 1
	}
	return len(q.heap)
}

// Pop takes the first event out of the queue and returns it. It must follow a
// call to Next that returned a time other than Never, without a Push between.
func (q *Queue) Pop() (at Time, ev Event, arg uint64) {
	q.open = true
	a := &q.heap[0]
	return a.at, a.ev, a.arg
}

// close puts the last entry in the place of the one that was taken.
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

// down puts a in the first place and moves it down to where it belongs.
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
