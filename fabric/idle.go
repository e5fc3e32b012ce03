// SPDX-License-Identifier: Apache-2.0

package fabric

import "github.com/pauseless/pauseless/internal/vtime"

// Idle returns the time at which a plan would end in a network that is never busy: only
// the links of the hosts limit its messages, which pass each of them one after the
// other, at line rate and without acknowledgements in their way. It returns false if a
// message has no path.
func (e *Estimator) Idle(p *Plan, flows []Flow) (vtime.Time, bool) {
	n := len(p.Steps)
	s := &idle{e: e, p: p, flow: make([]*Flow, n), alone: make([]lone, n), need: make([]int32, n), after: make([][]int32, n), on: make([][]On, n),
		lanes: make(map[[2]int]vtime.Time), out: make(map[int]vtime.Time), in: make(map[int]vtime.Time)}
	for i := range flows {
		if flows[i].Plan == p {
			s.flow[flows[i].Step] = &flows[i]
		}
	}
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

// idle evaluates a plan in an idle network.
type idle struct {
	e       *Estimator
	p       *Plan
	flow    []*Flow // by step
	alone   []lone  // by step: its flow, once it has begun
	need    []int32
	after   [][]int32 // by step: those that wait for it, and for what
	on      [][]On
	lanes   map[[2]int]vtime.Time // by host and lane: when it is free
	out, in map[int]vtime.Time    // by adapter: when its link is free
	queue   vtime.Queue
	end     vtime.Time
	lost    bool // a message has no path
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
	step, fl := &s.p.Steps[number], s.flow[number]
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
		path := s.e.path(fl.Src, fl.Dst)
		if path == nil {
			s.lost = true
			return
		}
		l := &s.alone[number]
		*l = s.e.lone(path, fl, [2]int{})
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
