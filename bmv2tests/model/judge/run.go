// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/pauseless/pauseless/internal/model"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// A Judge compares a program with the model.
type Judge struct {
	p      *model.Program
	target *Target
	// Steps counts what was compared: passes through ingress and egress.
	Steps int
	// Seen counts what happened in the cases.
	Seen map[string]int
}

// NewJudge compares a program with the model of the features in its manifest.
func NewJudge(p *model.Program, prog *interp.Program) (*Judge, error) {
	if p.Base == nil {
		return nil, fmt.Errorf("program %s: the base load balancer %s has no model: write package model in its folder, with model.Add and a Base (docs/schemes/authors.md), and run `make golden`, which imports it here", p.Program, p.Manifest.Base)
	}
	target, err := newTarget(p, prog)
	if err != nil {
		return nil, err
	}
	p.TableKeys = map[string]int{}
	for name, table := range target.tables {
		p.TableKeys[name] = len(table.Info.Key)
	}
	same := len(target.registers) == len(p.Manifest.Registers)
	for _, r := range p.Manifest.Registers {
		same = same && target.registers[r.Name] != nil
	}
	if !same {
		return nil, fmt.Errorf("program %s does not have the registers of its manifest: compile the program that the manifest was made with", p.Program)
	}
	return &Judge{p: p, target: target, Seen: map[string]int{}}, nil
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
	p *model.Packet
	h *tm.Packet
}

// play is a run of a case.
type play struct {
	*Judge
	c       *model.Case
	s       *model.Switch
	t       *Target
	queues  map[model.Queue][]waiting
	counted []uint64 // counters of tables, when the case began
	now     model.Time
	event   int
	diff    *Mismatch
	first   []uint64      // cells of all registers, when the case began
	trail   []model.Queue // the queues that got packets
}

// Run runs a case on both sides and returns the first difference, or nil.
func (j *Judge) Run(c *model.Case) *Mismatch {
	diff, _ := j.play(c)
	return diff
}

// play is Run, and returns what the switch did.
func (j *Judge) play(c *model.Case) (diff *Mismatch, did string) {
	random := new(interp.State)
	random.Seed(c.Seed)
	below := func(n int64) int64 { return int64(random.Random(uint64(n - 1))) }
	r := &play{Judge: j, c: c, s: model.NewSwitch(j.p, c.Config, below, c.Now-1<<30), t: j.target, queues: map[model.Queue][]waiting{}, now: c.Now}
	r.s.Queued = func(q model.Queue) int { return len(r.queues[q]) }
	r.t.start(j.p, c.Config, c.Seed)
	r.state()
	for _, x := range j.p.Counters {
		r.counted = append(r.counted, r.t.counted(x.Table, x.Action))
	}
	for i := range c.Events {
		e := &c.Events[i]
		r.event = i + 1
		r.now += e.After
		r.s.Idle(r.now)
		r.t.SetNow(r.t.time(r.now))
		if e.Data != nil {
			f := &packet.Frame{Data: slices.Clone(e.Data), Elided: int32(e.Padding)}
			p := r.s.NewPacket(bytesOf(f), e.Port, r.now)
			r.ingress(p, r.t.Ingress(e.Port, f))
		} else {
			r.depart(e)
		}
		if r.diff == nil {
			r.compare()
		}
		if r.diff != nil {
			break
		}
	}
	for what, n := range r.s.Seen {
		j.Seen[what] += n
	}
	return r.diff, r.did()
}

// state writes the case's first state on both sides.
func (r *play) state() {
	for _, x := range r.c.Cells {
		m := r.p.Register(x.Register)
		if m == nil {
			panic("BUG: no register " + x.Register)
		}
		v := x.Value
		if r.p.Tofino {
			v &= 1<<m.Bits - 1
		}
		if m.Set != nil {
			m.Set(r.s, x.Index, v)
		} else {
			*r.s.Cell(m.Name, x.Index) = v
		}
	}
	for _, x := range r.p.Schemes {
		if x.Settle != nil {
			x.Settle(r.s)
		}
	}
	for _, m := range r.p.Registers {
		for i := range m.Size {
			v, _ := r.want(m, i)
			r.first = append(r.first, v)
			cell := r.t.registers[m.Of].Cell(i)
			cell[0] = cell[0]&^((1<<m.Bits-1)<<m.Shift) | v<<m.Shift
		}
	}
}

// want is the expected value of a cell of the program, and whether it matters.
func (r *play) want(m *model.RegisterCells, i int) (uint64, bool) {
	v, matters := int64(0), true
	if m.Get != nil {
		v, matters = m.Get(r.s, i)
	} else {
		v = *r.s.Cell(m.Name, i)
	}
	return uint64(v) & (1<<m.Bits - 1), matters && !(m.SkipFirst && i == 0)
}

// differ keeps the first difference.
func (r *play) differ(what string, model, p4 any) {
	if r.diff == nil {
		r.diff = &Mismatch{r.event, what, fmt.Sprintf("%+v", model), fmt.Sprintf("%+v", p4)}
	}
}

// ingress compares what ingress makes of a packet with what the program has
// queued.
func (r *play) ingress(p *model.Packet, got []*tm.Packet) {
	r.Steps++
	want := r.s.Ingress(p)
	if !reflect.DeepEqual(p.Digests, r.t.digest) {
		r.differ("digests", p.Digests, r.t.digest)
	}
	r.t.digest = nil
	r.enqueue("ingress", want, got)
}

// enqueue compares packets that are queued, and keeps them.
func (r *play) enqueue(what string, want []*model.Packet, got []*tm.Packet) {
	var wanted, found []model.Queue
	for _, p := range want {
		wanted = append(wanted, p.Queue)
	}
	for _, h := range got {
		found = append(found, model.Queue{Port: int(h.Port), Class: int(h.Queue)})
	}
	if !slices.Equal(wanted, found) {
		r.differ(what+" queues", wanted, found)
		return
	}
	for i, p := range want {
		h := got[i]
		if r.p.Tofino && h.Class != h.Queue {
			r.differ("class that is charged", h.Queue, h.Class)
		}
		if b := bytesOf(h.Frame); p.Copy != nil && !bytes.Equal(p.Copy, b) {
			r.differ("copy", fmt.Sprintf("%x", p.Copy), fmt.Sprintf("%x", b))
		}
		p.Copy = nil
		r.queues[p.Queue] = append(r.queues[p.Queue], waiting{p, h})
		r.trail = append(r.trail, p.Queue)
	}
}

// bytesOf returns the bytes of a frame. Those that are not in memory are zero.
func bytesOf(f *packet.Frame) []byte {
	return append(slices.Clone(f.Data), make([]byte, f.Elided)...)
}

// ready lists the queues from which a packet may leave now. Where depths must be
// true, queues pause.
func (r *play) ready() []model.Queue {
	var list []model.Queue
	for _, q := range slices.SortedFunc(maps.Keys(r.queues), func(a, b model.Queue) int { return cmp.Or(a.Port-b.Port, a.Class-b.Class) }) {
		held := r.p.TrueDepth() && q.Class == r.p.Lossless && q.Port < r.p.Ports && r.s.Paused(r.p.QueueCell(q.Port, q.Class), r.now)
		if len(r.queues[q]) > 0 && !held {
			list = append(list, q)
		}
	}
	return list
}

func (r *play) depart(e *model.Event) {
	ready := r.ready()
	if len(ready) == 0 {
		return
	}
	q := ready[e.Pick%len(ready)]
	w := r.queues[q][0]
	r.queues[q] = r.queues[q][1:]
	p := w.p
	p.Ahead, p.Behind, p.Came, p.Left = e.Ahead, min(e.Depth, model.MostDepth), model.Time(w.h.Enqueued/r.t.tick), r.now
	if e.Depth < 0 {
		p.Behind = int64(len(r.queues[q]))
	}
	if r.p.Tofino {
		p.Came, p.Whole = r.now-e.Waited&(1<<18-1), model.Bytes(w.h.Frame.Len())
		w.h.Enqueued = r.t.time(p.Came)
	}
	r.Steps++
	verdict, copies := r.t.egress(w.h, p.Ahead, p.Behind)
	o, copied := r.s.Egress(p)
	want := tm.Send
	switch {
	case o.Recirculate:
		want = tm.Recirculate
	case o.Drop:
		want = tm.Drop
	}
	if verdict != want {
		r.differ(fmt.Sprintf("egress at port %d class %d decides (0: send, 1: drop, 2: recirculate)", q.Port, q.Class), want, verdict)
		return
	}
	var sent []byte
	if verdict != tm.Drop {
		sent = bytesOf(w.h.Frame)
	}
	if verdict == tm.Send && !bytes.Equal(o.Data, sent) {
		text := func(b []byte) string { return fmt.Sprintf("%s\n          %x", r.p.Describe(b), b[:min(len(b), 96)]) }
		r.differ(fmt.Sprintf("packet sent from port %d", q.Port), text(o.Data), text(sent))
	}
	r.enqueue("egress", copied, copies)
	if verdict == tm.Recirculate && r.diff == nil {
		r.ingress(r.s.Recirculated(p, sent), r.t.Reenter(w.h))
	}
}

// compare compares the whole state, and the counters of tables.
func (r *play) compare() {
	r.s.Now = r.now
	cell := func(register string, i int) int64 {
		reg := r.t.registers[register]
		if i >= reg.Info.Size {
			return 0 // out of bounds
		}
		return int64(reg.Cell(i)[0])
	}
	for _, m := range r.p.Registers {
		reg := r.t.registers[m.Of]
		for i := range m.Size {
			want, matters := r.want(m, i)
			got := reg.Cell(i)[0] >> m.Shift & (1<<m.Bits - 1)
			same := !matters || want == got
			if m.Same != nil {
				same = m.Same(r.s, i, cell)
			}
			if !same {
				r.differ(fmt.Sprintf("register %s[%d] (%s)", m.Name, i, m.Doc), want, got)
				return
			}
		}
	}
	for i, x := range r.p.Counters {
		if want, got := r.s.Counted[x.Name], r.t.counted(x.Table, x.Action)-r.counted[i]; want != got {
			r.differ(fmt.Sprintf("counter %s (%s)", x.Name, x.Doc), want, got)
		}
	}
}

// describe prints a case so that a person can follow it.
func (j *Judge) describe(c *model.Case) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "program %s, time %d\n", j.p.Program, c.Now)
	fmt.Fprintf(&b, "leaf %d, routes %+v, groups %v\n", c.Config.Leaf, c.Config.Routes, c.Config.Groups)
	for _, t := range j.p.Tables {
		if e := c.Config.Tables[t.Name]; len(e) > 0 {
			fmt.Fprintf(&b, "table  %s %v\n", t.Name, e)
		}
	}
	for _, x := range c.Cells {
		value := fmt.Sprint(x.Value)
		if d := x.Value - c.Now; d > -1<<31 && d < 1<<31 {
			value += fmt.Sprintf(" (start%+d)", d)
		}
		fmt.Fprintf(&b, "state  %s[%d] = %s\n", x.Register, x.Index, value)
	}
	for i, e := range c.Events {
		if e.Data != nil {
			fmt.Fprintf(&b, "event %d: +%d port %d receives, with %d more bytes, %s\n", i+1, e.After, e.Port, e.Padding, j.p.Describe(e.Data))
		} else {
			fmt.Fprintf(&b, "event %d: +%d queue %d departs, depth behind %d, ahead %d, waited %d\n", i+1, e.After, e.Pick, e.Depth, e.Ahead, e.Waited)
		}
	}
	return b.String()
}
