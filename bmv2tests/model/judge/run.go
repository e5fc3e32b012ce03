// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/pauseless/pauseless/internal/packet"
)

// A Judge compares a program with the model.
type Judge struct {
	f      *Features
	target *Target
	regs   []mapped
	// Steps counts what was compared: passes through ingress and egress.
	Steps int
	// Seen counts what happened in the cases.
	Seen map[string]int
}

// mapped is a register with its row.
type mapped struct {
	name  string
	row   *row
	size  int
	width int
	at    int // in the program's list
}

// NewJudge matches the registers of a program with the model's state.
func NewJudge(f *Features, prog *Program) (*Judge, error) {
	j := &Judge{f: f, target: prog.New(), Seen: map[string]int{}}
	for i, info := range prog.prog.Registers {
		r, err := rowOf(plain(info.Name))
		if err != nil {
			return nil, fmt.Errorf("program %s: %w", prog.Name, err)
		}
		j.regs = append(j.regs, mapped{r.register, r, info.Size, info.Width, i})
	}
	return j, nil
}

// A Mismatch is a difference between the program and the model.
type Mismatch struct {
	Event int // number of the event, from 1
	What  string
	Model string
	P4    string
}

func (m *Mismatch) String() string {
	return fmt.Sprintf("event %d, %s:\n  model   %s\n  program %s", m.Event, m.What, m.Model, m.P4)
}

// waiting is a packet in a queue, as both sides have it.
type waiting struct {
	p        *pkt
	h        *held
	enqueued Time
}

// play is one run of a case.
type play struct {
	*Judge
	c      *Case
	s      *Switch
	t      *Target
	queues map[Queue][]waiting
	order  []Queue // of queues, sorted
	now    Time
	event  int
	diff   *Mismatch
}

// Run plays a case on both sides and returns the first difference, or nil.
func (j *Judge) Run(c *Case) *Mismatch {
	r := &play{Judge: j, c: c, s: newSwitch(j.f, c.Config, c.Seed, c.Now-1<<30), t: j.target, queues: map[Queue][]waiting{}, now: c.Now}
	r.s.seen = j.Seen
	r.t.reset(c.Seed)
	c.Config.install(j.f, r.t)
	for _, x := range c.Cells {
		rows[x.Row].set(r.s, x.Index, x.Value)
	}
	for _, m := range j.regs {
		reg := r.t.st.Registers[m.at]
		for i := range m.size {
			v, _ := m.row.get(r.s, i)
			reg.Cell(i)[0] = uint64(v) & (1<<m.width - 1)
		}
	}
	for i := range c.Events {
		e := &c.Events[i]
		r.event = i + 1
		r.now += e.After
		if j.f.PCN {
			for port := range j.f.Ports {
				r.s.expire(port, r.now)
			}
		}
		if e.Data != nil {
			r.arrive(e)
		} else {
			r.depart(e)
		}
		if r.diff == nil {
			r.registers()
		}
		if r.diff != nil {
			return r.diff
		}
	}
	return nil
}

// differ notes a difference, the first of which counts.
func (r *play) differ(what string, model, p4 any) {
	if r.diff == nil {
		r.diff = &Mismatch{r.event, what, fmt.Sprintf("%+v", model), fmt.Sprintf("%+v", p4)}
	}
}

func (r *play) arrive(e *Event) {
	p := &pkt{frame: r.f.parse(e.Data, e.Elided), asCame: e.Data, length: int64(len(e.Data) + e.Elided), now: r.now, inPort: e.Port}
	r.ingress(p, &packet.Frame{Data: clone(e.Data), Elided: e.Elided}, nil)
}

// ingress passes a packet through ingress on both sides.
func (r *play) ingress(p *pkt, f *packet.Frame, again *held) {
	r.Steps++
	got, h, cloned := r.t.ingress(f, again, p.inPort, r.now)
	want, message := r.s.ingress(p)
	if !reflect.DeepEqual(want, got) {
		r.differ("ingress decides", want, got)
		return
	}
	if message != nil {
		r.enqueue(cloneQueue(got.Session), message, cloned)
	}
	switch {
	case got.Drop:
	case got.Group != 0:
		for _, port := range r.c.Config.Groups[got.Group] {
			copied := *p
			copied.frame = r.f.parse(r.f.bytes(p.frame), p.elided)
			r.enqueue(Queue{port, got.Class}, &copied, h.copyOf())
		}
	default:
		r.enqueue(Queue{got.Port, got.Class}, p, h)
	}
}

// cloneQueue is where a clone session leads: session p to port p, in the
// highest class; 256 + p too, in the class of data.
func cloneQueue(session int) Queue {
	if session >= 256 {
		return Queue{session - 256, 3}
	}
	return Queue{session, 7}
}

func (r *play) enqueue(q Queue, p *pkt, h *held) {
	if _, ok := r.queues[q]; !ok {
		at, _ := slices.BinarySearchFunc(r.order, q, func(a, b Queue) int {
			if a.Port != b.Port {
				return a.Port - b.Port
			}
			return a.Class - b.Class
		})
		r.order = slices.Insert(r.order, at, q)
	}
	r.queues[q] = append(r.queues[q], waiting{p, h, r.now})
	r.s.queued[q]++
}

// ready lists the queues that a packet may leave now.
func (r *play) ready() []Queue {
	var list []Queue
	for _, q := range r.order {
		// The target keeps pauses, where it can.
		held := r.f.PCN && q.Class == r.f.Lossless && q.Port < r.f.Ports && r.s.pausedUntil[r.f.cell(q.Port, q.Class)].Paused(r.now)
		if len(r.queues[q]) > 0 && !held {
			list = append(list, q)
		}
	}
	return list
}

func (r *play) depart(e *Event) {
	ready := r.ready()
	if len(ready) == 0 {
		return
	}
	q := ready[e.Pick%len(ready)]
	w := r.queues[q][0]
	r.queues[q] = r.queues[q][1:]
	r.s.queued[q]--
	depth := e.Depth
	if depth < 0 {
		depth = int64(len(r.queues[q]))
	}
	r.Steps++
	got, again, cloned := r.t.egress(w.h, q, w.enqueued, r.now, depth)
	want, message := r.s.egress(w.p, q, w.enqueued, r.now, depth)
	switch {
	case want.Drop != got.Drop || want.Recirculate != got.Recirculate || want.Cloned != got.Cloned || want.Session != got.Session:
		want.Data, got.Data = nil, nil
		r.differ(fmt.Sprintf("egress at port %d class %d decides", q.Port, q.Class), want, got)
		return
	case !sameFrame(want, got):
		r.differ(fmt.Sprintf("packet sent from port %d", q.Port),
			fmt.Sprintf("%s\n          %x", r.f.describe(want.Data, want.Elided), head(want.Data)),
			fmt.Sprintf("%s\n          %x", r.f.describe(got.Data, got.Elided), head(got.Data)))
		return
	}
	if message != nil {
		r.enqueue(cloneQueue(got.Session), message, cloned)
	}
	if got.Recirculate {
		p := &pkt{frame: w.p.frame, asCame: clone(again.frame.Data), length: int64(again.frame.Len()), now: r.now, inPort: w.p.inPort,
			passes: w.p.passes, path: w.p.path, counted: w.p.counted, calm: w.p.calm, xon: w.p.xon, mark: w.p.mark, waited: w.p.waited}
		r.ingress(p, again.frame, again)
	}
}

// sameFrame compares frames; bytes that are not in memory are zero.
func sameFrame(a, b Departure) bool {
	if len(a.Data)+a.Elided != len(b.Data)+b.Elided {
		return false
	}
	n := min(len(a.Data), len(b.Data))
	zero := func(x []byte) bool { return !slices.ContainsFunc(x, func(c byte) bool { return c != 0 }) }
	return bytes.Equal(a.Data[:n], b.Data[:n]) && zero(a.Data[n:]) && zero(b.Data[n:])
}

func head(b []byte) []byte { return b[:min(len(b), 96)] }

// registers compares the whole state.
func (r *play) registers() {
	cell := func(register string, i int) int64 {
		for k := range r.regs {
			if m := &r.regs[k]; m.name == register {
				if i >= m.size {
					return 0 // out of bounds
				}
				return int64(r.t.st.Registers[m.at].Cell(i)[0])
			}
		}
		panic("BUG: no register " + register)
	}
	for k := range r.regs {
		m := &r.regs[k]
		reg := r.t.st.Registers[m.at]
		for i := range m.size {
			if m.row.same != nil {
				if !m.row.same(r.s, i, r.now, cell) {
					v, _ := m.row.get(r.s, i)
					r.differ(fmt.Sprintf("register %s[%d] (%s)", m.name, i, m.row.symbol), v, reg.Cell(i)[0])
				}
				continue
			}
			v, matters := m.row.get(r.s, i)
			if got := reg.Cell(i)[0]; matters && uint64(v)&(1<<m.width-1) != got {
				r.differ(fmt.Sprintf("register %s[%d] (%s)", m.name, i, m.row.symbol), uint64(v)&(1<<m.width-1), got)
				return
			}
		}
	}
}
