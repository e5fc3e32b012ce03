// SPDX-License-Identifier: Apache-2.0

package tm

import "math/bits"

// drr is deficit round robin among the weighted queues of a port.
type drr struct {
	quantum [Queues]int64
	deficit [Queues]int64
	current int  // the present queue
	fresh   bool // it has not received its quantum in this round
}

// quantumBytes is the quantum of a queue of weight one, in bytes per round.
const quantumBytes = 1600

// newDRR returns the round robin of a port, and the queues that have a weight. It returns
// nil if none has.
func newDRR(weights [Queues]int) (d *drr, weighted uint8) {
	for q, w := range weights {
		if w > 0 {
			if d == nil {
				d = &drr{fresh: true}
			}
			weighted |= 1 << q
			d.quantum[q] = int64(w) * quantumBytes
		}
	}
	return d, weighted
}

// pick returns the queue to send from, or −1: the highest queue without a
// weight, otherwise the next by deficit round robin.
func (o *port) pick() int {
	can := o.filled &^ o.paused
	if strict := can &^ o.weighted; strict != 0 {
		return bits.Len8(strict) - 1
	}
	if can == 0 {
		return -1
	}
	d := o.drr
	for {
		q := d.current
		if can&(1<<q) != 0 {
			if d.fresh {
				d.deficit[q] += d.quantum[q]
				d.fresh = false
			}
			if size := int64(o.class(q).head.size); d.deficit[q] >= size {
				d.deficit[q] -= size
				return q
			}
		} else if o.filled&(1<<q) == 0 {
			d.deficit[q] = 0 // an empty queue loses its deficit
		}
		d.current = (d.current + 1) % Queues
		d.fresh = true
	}
}
