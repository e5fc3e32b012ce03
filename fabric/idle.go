// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"container/heap"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Idle returns the time at which a plan would end in a network that is never busy: only
// the links of the hosts limit its messages, which pass each of them one after the
// other, at line rate and without acknowledgements in their way. It returns false if a
// message has no path.
func (e *Estimator) Idle(p *Plan, flows []Flow) (vtime.Time, bool) {
	n := len(p.Steps)
	s := &idle{e: e, p: p, flow: make([]*Flow, n), need: make([]int32, n), after: make([][]int32, n), on: make([][]On, n),
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
	for s.queue.Len() > 0 {
		ev := heap.Pop(&s.queue).(idleEvent)
		if !s.handle(ev) {
			return 0, false
		}
	}
	return s.end, true
}

// idle evaluates a plan in an idle network.
type idle struct {
	e       *Estimator
	p       *Plan
	flow    []*Flow // by step
	need    []int32
	after   [][]int32 // by step: those that wait for it, and for what
	on      [][]On
	lanes   map[[2]int]vtime.Time // by host and lane: when it is free
	out, in map[int]vtime.Time    // by adapter: when its link is free
	queue   idleQueue
	seq     int
	end     vtime.Time
}

const (
	idleReady = iota
	idleComputed
	idleLeft
	idleArrived
	idleAcked
)

type idleEvent struct {
	at   vtime.Time
	seq  int
	step int32
	kind int
}

type idleQueue []idleEvent

func (q idleQueue) Len() int { return len(q) }
func (q idleQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q idleQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *idleQueue) Push(x any)   { *q = append(*q, x.(idleEvent)) }
func (q *idleQueue) Pop() any {
	last := len(*q) - 1
	ev := (*q)[last]
	*q = (*q)[:last]
	return ev
}

func (s *idle) push(at vtime.Time, step int32, kind int) {
	s.seq++
	heap.Push(&s.queue, idleEvent{at, s.seq, step, kind})
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

// handle handles an event. It returns false if there is no path.
func (s *idle) handle(ev idleEvent) bool {
	step, fl := &s.p.Steps[ev.step], s.flow[ev.step]
	s.end = max(s.end, ev.at)
	switch ev.kind {
	case idleReady:
		begun := ev.at
		if step.Lane > 0 {
			lane := [2]int{s.e.t.Nodes[s.p.Hosts[step.Rank]].Host, int(step.Lane)}
			begun = max(begun, s.lanes[lane])
			s.lanes[lane] = begun + step.Time
		}
		s.push(begun+step.Time, ev.step, idleComputed)
	case idleComputed:
		if fl == nil {
			s.release(ev.at, ev.step, Done)
			return true
		}
		l, ok := s.lone(fl)
		if !ok {
			return false
		}
		left := max(ev.at, s.out[fl.Src]) + l.tx(fl.Size, l.path[0].Rate)
		s.out[fl.Src] = left
		s.push(left, ev.step, idleLeft)
	case idleLeft:
		s.release(ev.at, ev.step, Left)
		l, _ := s.lone(fl)
		_, alone := l.arrival(fl.Size)
		at := ev.at + alone - l.tx(fl.Size, l.path[0].Rate)
		at = max(at, s.in[fl.Dst]+l.tx(fl.Size, l.path[len(l.path)-1].Rate))
		s.in[fl.Dst] = at
		s.push(at, ev.step, idleArrived)
	case idleArrived:
		s.release(ev.at, ev.step, Received)
		l, _ := s.lone(fl)
		_, alone := l.arrival(fl.Size)
		s.push(ev.at+l.time(fl.Size)-alone, ev.step, idleAcked)
	case idleAcked:
		s.release(ev.at, ev.step, Done)
	}
	return true
}

func (s *idle) lone(fl *Flow) (lone, bool) {
	path := s.e.path(fl.Src, fl.Dst)
	if path == nil {
		return lone{}, false
	}
	return s.e.lone(path, fl, [2]int{}), true
}

// tx returns the time that the packets of a flow take on a link.
func (l *lone) tx(size int64, rate vtime.Rate) vtime.Time {
	packets := (size + l.mtu - 1) / l.mtu
	return vtime.Time(packets-1)*rate.TxTime(int(l.mtu)+l.data) + rate.TxTime(int(size-(packets-1)*l.mtu)+l.data)
}
