// SPDX-License-Identifier: Apache-2.0

package vtime

import "github.com/pauseless/pauseless/internal/cache"

// appointment is a scheduled event of a node.
type appointment struct {
	ev  Event
	arg uint64 // in a free place the number of the next one
}

// The order of an event's key is its number, which increases with every event that the
// node schedules, and its place in Queue.places.
const placeBits = 24

// Queue holds the scheduled events of one node, ordered by time and, within one
// instant, by the order in which they were scheduled. The zero value is an empty
// queue. A Queue must not be used by several goroutines at once.
//
// A node of a fabric has few scheduled events, one per busy port and one or two
// per flow. A heap with four children per entry is then one to three levels deep,
// and faster than calendar and ladder queues, which are better with thousands of
// events. Its keys are moved without the events.
//
// Most events schedule another one. Pop therefore leaves the place of the first
// entry empty, and the next Push fills it.
type Queue struct {
	heap   Heap
	places []appointment
	free   uint32 // number of the first free place, from 1; zero: none
	open   bool   // the first event has been taken
	seq    uint64
}

// Next returns the time of the first event, or Never if there is none.
func (q *Queue) Next() Time {
	if q.open {
		q.close()
	}
	if len(q.heap) == 0 {
		return Never
	}
	return q.heap[0].At
}

// Push adds an event: ev is called with arg at time at, which is not negative.
func (q *Queue) Push(at Time, ev Event, arg uint64) {
	q.seq += 1 << placeBits
	if q.open {
		q.open = false
		place := q.heap[0].Order & (1<<placeBits - 1)
		a := &q.places[place]
		a.ev, a.arg = ev, arg
		q.heap.Replace(Key{at, q.seq | place})
		return
	}
	place := q.free
	if place == 0 {
		if place = uint32(len(q.places)) + 1; place > 1<<placeBits {
			panic("BUG: a node has more than 16 million scheduled events")
		}
		q.places = append(q.places, appointment{})
	}
	place--
	a := &q.places[place]
	q.free = uint32(a.arg)
	*a = appointment{ev: ev, arg: arg}
	q.heap.Push(Key{at, q.seq | uint64(place)})
}

// Fetch has the processor fetch the events. It changes nothing.
func (q *Queue) Fetch() {
	q.heap.Fetch()
	cache.Slice(q.places)
}

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
	k := &q.heap[0]
	a := &q.places[k.Order&(1<<placeBits-1)]
	return k.At, a.ev, a.arg
}

// close removes the key of the event that Pop has taken.
func (q *Queue) close() {
	q.open = false
	place := uint32(q.heap[0].Order & (1<<placeBits - 1))
	q.places[place] = appointment{arg: uint64(q.free)}
	q.free = place + 1
	q.heap.Pop()
}
