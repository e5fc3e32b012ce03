// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"slices"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Idle returns the time at which a plan would end in a network that is never busy: only
// the links of the hosts limit its messages, which pass each of them one after the
// other, at line rate and without acknowledgements in their way. It returns false if a
// message has no path.
func (e *Estimator) Idle(p *Plan, flows []Flow) (vtime.Time, bool) {
	of := slices.Repeat([]int32{-1}, len(p.Steps))
	for i := range flows {
		if flows[i].Plan == p {
			of[flows[i].Step] = int32(i)
		}
	}
	return newIdle(e).run(p, of, func(i int32) *Flow { return &flows[i] })
}

// idle evaluates plans in an idle network, one after the other, in the same memory.
type idle struct {
	e       *Estimator
	p       *Plan
	of      []int32 // by step: the number of its flow, or -1
	flow    func(number int32) *Flow
	alone   []lone       // by step: its flow, once it has begun
	links   []*topo.Link // of the paths of these
	need    []int32
	after   [][]int32 // by step: those that wait for it, and for what
	on      [][]On
	lanes   map[[2]int]vtime.Time // by host and lane: when it is free
	out, in map[int]vtime.Time    // by adapter: when its link is free
	queue   vtime.Queue
	end     vtime.Time
	lost    bool // a message has no path
}

func newIdle(e *Estimator) *idle {
	return &idle{e: e, lanes: make(map[[2]int]vtime.Time), out: make(map[int]vtime.Time), in: make(map[int]vtime.Time)}
}

// run evaluates a plan whose steps have the flows of these numbers; it is Idle.
func (s *idle) run(p *Plan, of []int32, flow func(number int32) *Flow) (vtime.Time, bool) {
	n := len(p.Steps)
	if s.lost { // events are left
		s.queue = vtime.Queue{}
	}
	s.p, s.of, s.flow, s.end, s.lost = p, of, flow, 0, false
	s.alone, s.links, s.need = slices.Grow(s.alone[:0], n)[:n], s.links[:0], slices.Grow(s.need[:0], n)[:n]
	for len(s.after) < n {
		s.after, s.on = append(s.after, nil), append(s.on, nil)
	}
	for k := range s.after {
		s.after[k], s.on[k] = s.after[k][:0], s.on[k][:0]
	}
	clear(s.lanes)
	clear(s.out)
	clear(s.in)
	for k := range p.Steps {
		for _, d := range p.Steps[k].After {
			s.after[d.Step], s.on[d.Step] = append(s.after[d.Step], int32(k)), append(s.on[d.Step], d.On)
		}
		if s.need[k] = int32(p.Steps[k].needs()); s.need[k] == 0 {
			s.push(p.Steps[k].Start, int32(k), idleReady)
		}
	}
	for s.queue.Next() != vtime.Never && !s.lost {
		at, _, arg := s.queue.Pop()
		s.Fire(at, arg)
	}
	return s.end, !s.lost
}

const (
	idleReady = iota
	idleComputed
	idleLeft
	idleArrived
	idleAcked
)

func (s *idle) push(at vtime.Time, step int32, kind int) {
	s.queue.Push(at, s, uint64(step)<<3|uint64(kind))
}

func (s *idle) release(at vtime.Time, step int32, on On) {
	for i, k := range s.after[step] {
		if s.on[step][i] != on {
			continue
		}
		if s.need[k]--; s.need[k] == 0 {
			s.push(max(at, s.p.Steps[k].Start), k, idleReady)
		}
	}
}

// Fire implements vtime.Event. arg has the number of a step and the kind of event.
func (s *idle) Fire(now vtime.Time, arg uint64) {
	number := int32(arg >> 3)
	step, fl := &s.p.Steps[number], (*Flow)(nil)
	if i := s.of[number]; i >= 0 {
		fl = s.flow(i)
	}
	s.end = max(s.end, now)
	switch arg & 7 {
	case idleReady:
		begun := now
		if step.Lane > 0 {
			lane := [2]int{s.e.t.Nodes[s.p.Hosts[step.Rank]].Host, int(step.Lane)}
			begun = max(begun, s.lanes[lane])
			s.lanes[lane] = begun + step.Time
		}
		s.push(begun+step.Time, number, idleComputed)
	case idleComputed:
		if fl == nil {
			s.release(now, number, Done)
			return
		}
		from := len(s.links)
		s.links = s.e.paths.To(fl.Dst).Append(s.links, fl.Src)
		if len(s.links) == from {
			s.lost = true
			return
		}
		l := &s.alone[number]
		*l = s.e.lone(s.links[from:], fl, [2]int{})
		left := max(now, s.out[fl.Src]) + l.tx(fl.Size, l.path[0].Rate)
		s.out[fl.Src] = left
		s.push(left, number, idleLeft)
	case idleLeft:
		s.release(now, number, Left)
		l := &s.alone[number]
		_, alone := l.arrival(fl.Size)
		at := now + alone - l.tx(fl.Size, l.path[0].Rate)
		at = max(at, s.in[fl.Dst]+l.tx(fl.Size, l.path[len(l.path)-1].Rate))
		s.in[fl.Dst] = at
		s.push(at, number, idleArrived)
	case idleArrived:
		s.release(now, number, Received)
		l := &s.alone[number]
		_, alone := l.arrival(fl.Size)
		s.push(now+l.time(fl.Size)-alone, number, idleAcked)
	case idleAcked:
		s.release(now, number, Done)
	}
}

// tx returns the time that the packets of a flow take on a link.
func (l *lone) tx(size int64, rate vtime.Rate) vtime.Time {
	packets := (size + l.mtu - 1) / l.mtu
	return vtime.Time(packets-1)*rate.TxTime(int(l.mtu)+l.data) + rate.TxTime(int(size-(packets-1)*l.mtu)+l.data)
}
