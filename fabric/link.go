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

// pipe is one direction of a link. The sending node writes box[w&1] during
// window w. The receiving node moves it into queue at the start of window w+1.
// They never access the same box concurrently.
type pipe struct {
	// Fields of the sender.
	box   [2][]message
	to    *node
	port  int // of to, from 0
	delay vtime.Time
	end   vtime.Time // when the last bit of the last frame left
	sent  LinkCount
	// lostBytes are the bytes of lost or damaged frames.
	lostBytes uint64
	fault     *pipeFault // nil: none
	_         [64]byte   // different threads use the two sides

	// Fields of the receiver.
	taken LinkCount // all frames and bytes that ever were in queue
	queue []message
	head  int
	pause pauseMeter
	_     [32]byte // whole lines of the cache in total
}

// LinkCount counts the frames that a node sent on one direction of a link.
type LinkCount struct {
	Frames, Bytes uint64 // without preamble, gap and frame check sequence
	Lost          uint64 // frames lost on the link, randomly or while it was down
	Corrupt       uint64 // frames that arrived with a bad check sequence and were discarded
}

// take moves the frames sent in the window of the given parity to the queue.
func (p *pipe) take(parity uint64) {
	box := p.box[parity]
	if p.head == len(p.queue) {
		// all handled: swap the empty queue and the full box
		p.box[parity], p.queue, p.head = p.queue[:0], box, 0
		return
	}
	if p.head > len(p.queue)/2 {
		n := copy(p.queue, p.queue[p.head:])
		p.queue, p.head = p.queue[:n], 0
	}
	p.queue = append(p.queue, box...)
	p.box[parity] = box[:0]
}

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
