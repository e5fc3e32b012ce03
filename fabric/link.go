// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"math/rand/v2"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// message is a frame in flight.
type message struct {
	at vtime.Time // arrival of its last bit
	f  *packet.Frame
}

// parcel has frames in flight. A node gets parcels that it has emptied for the frames
// that it sends, so that they are still in the processor's cache. 256 bytes in total.
type parcel struct {
	next     *parcel
	n        int
	messages [15]message
}

// mail is the frames sent on a pipe in a window, in order.
type mail struct{ first, last *parcel }

// parcels are the empty parcels of a node.
type parcels struct {
	free *parcel
	n    int
}

// get returns an empty parcel.
func (ps *parcels) get() *parcel {
	c := ps.free
	if c == nil {
		return &parcel{}
	}
	ps.free, c.next, c.n = c.next, nil, 0
	ps.n--
	return c
}

func (ps *parcels) put(c *parcel) {
	c.next, ps.free = ps.free, c
	ps.n++
}

// pipe is one direction of a link. The sending node writes box[w&1] during
// window w. The receiving node adds it to the frames that wait at the start of window
// w+1. They never access the same box concurrently.
type pipe struct {
	// Fields of the sender.
	box   [2]mail
	to    *node
	port  int // of to, from 0
	delay vtime.Time
	end   vtime.Time // when the last bit of the last frame left
	sent  LinkCount
	// lostBytes are the bytes of lost or damaged frames.
	lostBytes uint64
	fault     *pipeFault // nil: none
	_         [16]byte   // different threads use the two sides

	// Fields of the receiver.
	taken   LinkCount // all frames and bytes that ever waited
	waiting mail
	head    int // of the first parcel that waits: frames that have arrived
	pause   pauseMeter
	_       [40]byte // whole lines of the cache in total
}

// LinkCount counts the frames that a node sent on one direction of a link.
type LinkCount struct {
	Frames, Bytes uint64 // without preamble, gap and frame check sequence
	Lost          uint64 // frames lost on the link, randomly or while it was down
	Corrupt       uint64 // frames that arrived with a bad check sequence and were discarded
}

// take adds the frames sent in the window of the given parity to those that wait.
func (p *pipe) take(parity uint64) {
	b := &p.box[parity]
	if p.waiting.first == nil {
		p.waiting.first, p.head = b.first, 0
	} else {
		p.waiting.last.next = b.first
	}
	p.waiting.last = b.last
	*b = mail{}
}

// first returns the first frame that waits.
func (p *pipe) first() *message { return &p.waiting.first.messages[p.head] }

// pipeFault has the faults of a pipe.
type pipeFault struct {
	rng     *rand.Rand
	base    float64 // permanent probability of loss
	periods []faultPeriod
}

// faultPeriod is a fault for a period of time.
type faultPeriod struct {
	from, until vtime.Time
	down        bool
	loss        float64 // probability that a frame is lost
	corrupt     float64 // probability that it arrives damaged
}

type fate uint8

const (
	arrives fate = iota
	lost
	damaged
)

// of decides the fate of a frame whose last bit leaves at end and arrives at
// at. A link that is down at any time in between loses it.
func (pf *pipeFault) of(end, at vtime.Time) fate {
	loss, corrupt := pf.base, 0.0
	for i := range pf.periods {
		p := &pf.periods[i]
		if p.down && end < p.until && at >= p.from {
			return lost
		}
		if end >= p.from && end < p.until {
			loss = max(loss, p.loss)
			corrupt = max(corrupt, p.corrupt)
		}
	}
	if loss > 0 && pf.rng.Float64() < loss {
		return lost
	}
	if corrupt > 0 && pf.rng.Float64() < corrupt {
		return damaged
	}
	return arrives
}
