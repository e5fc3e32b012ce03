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

// NewJudge judges a program by the model of the features in its manifest.
func NewJudge(p *model.Program, prog *Program) (*Judge, error) {
	target, err := prog.New(p)
	if err != nil {
		return nil, err
	}
	j := &Judge{p: p, target: target, Seen: map[string]int{}}
	p.TableKeys = map[string]int{}
	for name, i := range prog.tables {
		p.TableKeys[name] = len(j.target.st.Tables[i].Info.Key)
	}
	var known []string
	for _, r := range p.Registers() {
		known = append(known, r.Of)
	}
	slices.Sort(known)
	if has := slices.Sorted(maps.Keys(prog.registers)); !slices.Equal(has, slices.Compact(known)) {
		return nil, fmt.Errorf("program %s has registers %v, but its manifest %v: compile the program that the manifest was made with", prog.Name, has, known)
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
	model.Queue
	p *model.Packet
	h *tm.Packet
	// On a Tofino, the bytes of a copy.
	bytes *model.Departure
}

// play is one run of a case.
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
	first   []uint64      // of all registers
	trail   []model.Queue // in which packets were put
}

// Run plays a case on both sides and returns the first difference, or nil.
func (j *Judge) Run(c *model.Case) *Mismatch {
	diff, _ := j.play(c)
	return diff
}

// play is Run, and says what the switch did.
func (j *Judge) play(c *model.Case) (diff *Mismatch, did string) {
	r := &play{Judge: j, c: c, s: model.NewSwitch(j.p, c.Config, c.Seed, c.Now-1<<30), t: j.target, queues: map[model.Queue][]waiting{}, now: c.Now}
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
			got := r.t.Ingress(e.Port, &packet.Frame{Data: model.Clone(e.Data), Elided: int32(e.Elided)})
			r.ingress(r.s.NewPacket(e.Data, int(e.Elided), e.Port, r.now), model.Departure{Data: e.Data, Elided: int(e.Elided)}, got)
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

// state gives both sides the case's first state.
func (r *play) state() {
	registers := r.p.Registers()
	at := map[string]*model.RegisterCells{}
	for k := range registers {
		at[registers[k].Name] = &registers[k]
	}
	for _, x := range r.c.Cells {
		m := at[x.Register]
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
	for k := range registers {
		m := &registers[k]
		for i := range m.Size {
			v, _ := r.want(m, i)
			r.first = append(r.first, v)
			cell := r.t.register(m.Of).Cell(i)
			cell[0] = cell[0]&^((1<<m.Bits-1)<<m.Shift) | v<<m.Shift
		}
	}
}

// want is what a cell of the program must be, or reports that it does not
// matter.
func (r *play) want(m *model.RegisterCells, i int) (uint64, bool) {
	v, matters := int64(0), true
	if m.Get != nil {
		v, matters = m.Get(r.s, i)
	} else {
		v = *r.s.Cell(m.Name, i)
	}
	return uint64(v) & (1<<m.Bits - 1), matters && !(m.SkipFirst && i == 0)
}

// differ notes a difference, the first of which counts.
func (r *play) differ(what string, model, p4 any) {
	if r.diff == nil {
		r.diff = &Mismatch{r.event, what, fmt.Sprintf("%+v", model), fmt.Sprintf("%+v", p4)}
	}
}

// ingress compares what ingress makes of a packet, with what the program has
// queued.
func (r *play) ingress(p *model.Packet, asCame model.Departure, got []*tm.Packet) {
	r.Steps++
	var want []waiting
	var digests [][]int64
	for again := true; again; {
		o, copied := r.s.Ingress(p)
		digests, again = append(digests, o.Digest...), o.Again
		want = append(want, r.copied(copied, asCame)...)
		switch {
		case o.Drop:
		case o.Again:
			p.Frame, p.Resubmitted = r.s.Parse(asCame.Data, asCame.Elided), true
		case o.Group != 0:
			for _, port := range r.c.Config.Groups[o.Group] {
				each := *p
				each.Frame, each.OutPort = r.s.Parse(r.s.Bytes(p.Frame), p.Elided), 0
				want = append(want, waiting{Queue: model.Queue{Port: port, Class: o.Class}, p: &each})
			}
		default:
			want = append(want, waiting{Queue: model.Queue{Port: o.Port, Class: o.Class}, p: p})
		}
	}
	if !reflect.DeepEqual(digests, r.t.digest) {
		r.differ("digests", digests, r.t.digest)
	}
	r.t.digest = nil
	r.enqueue("ingress", want, got)
}

// copied says where the copy of a packet goes, if there is one. On a Tofino it is
// the packet behind a header, cut to a length.
func (r *play) copied(p *model.Packet, of model.Departure) []waiting {
	if p == nil {
		return nil
	}
	w := waiting{p: p}
	if r.p.Tofino {
		w.bytes = &model.Departure{Data: append(model.Clone(p.Head), of.Data...), Elided: of.Elided}
		w.bytes.Cut(r.t.copies)
		r.s.Copied(p, w.bytes.Data[len(p.Head):], w.bytes.Elided)
	}
	var known bool
	if w.Queue, known = r.t.sessions[p.Session]; !known {
		return nil
	}
	return []waiting{w}
}

// enqueue compares what is queued, and takes note of it.
func (r *play) enqueue(what string, want []waiting, got []*tm.Packet) {
	var wanted, found []model.Queue
	for _, w := range want {
		wanted = append(wanted, w.Queue)
	}
	for _, h := range got {
		found = append(found, model.Queue{Port: int(h.Port), Class: int(h.Queue)})
	}
	if !slices.Equal(wanted, found) {
		r.differ(what+" queues", wanted, found)
		return
	}
	for i, w := range want {
		w.h = got[i]
		if r.p.Tofino && w.h.Class != w.h.Queue {
			r.differ("class that is charged", w.h.Queue, w.h.Class)
		}
		if w.bytes != nil && !sameFrame(*w.bytes, frameOf(w.h)) {
			r.differ("copy", fmt.Sprintf("%x", w.bytes.Data), fmt.Sprintf("%x", w.h.Frame.Data))
		}
		r.queues[w.Queue] = append(r.queues[w.Queue], w)
		r.trail = append(r.trail, w.Queue)
		r.s.Queued[w.Queue]++
	}
}

func frameOf(p *tm.Packet) model.Departure {
	return model.Departure{Data: model.Clone(p.Frame.Data), Elided: int(p.Frame.Elided)}
}

// ready lists the queues that a packet may leave now. Where depths must be
// true, the target keeps pauses.
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
	r.s.Queued[q]--
	p := w.p
	p.Queue, p.Ahead, p.Behind, p.Came, p.Left = q, e.Ahead, e.Depth, model.Time(w.h.Enqueued/r.t.tick), r.now
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
	var sent model.Departure
	if verdict != tm.Drop {
		sent = frameOf(w.h)
	}
	if verdict == tm.Send && !sameFrame(o, sent) {
		r.differ(fmt.Sprintf("packet sent from port %d", q.Port),
			fmt.Sprintf("%s\n          %x", r.p.Describe(o.Data, o.Elided), head(o.Data)),
			fmt.Sprintf("%s\n          %x", r.p.Describe(sent.Data, sent.Elided), head(sent.Data)))
	}
	r.enqueue("egress", r.copied(copied, o), copies)
	if verdict == tm.Recirculate && r.diff == nil {
		if !r.p.Tofino {
			p = r.s.Recirculated(p, sent.Data, sent.Elided)
		}
		r.ingress(p, sent, r.t.Reenter(w.h))
	}
}

// sameFrame compares frames; bytes that are not in memory are zero.
func sameFrame(a, b model.Departure) bool {
	if len(a.Data)+a.Elided != len(b.Data)+b.Elided {
		return false
	}
	n := min(len(a.Data), len(b.Data))
	zero := func(x []byte) bool { return !slices.ContainsFunc(x, func(c byte) bool { return c != 0 }) }
	return bytes.Equal(a.Data[:n], b.Data[:n]) && zero(a.Data[n:]) && zero(b.Data[n:])
}

func head(b []byte) []byte { return b[:min(len(b), 96)] }

// compare compares the whole state, and what tables have counted.
func (r *play) compare() {
	r.s.Now = r.now
	cell := func(register string, i int) int64 {
		reg := r.t.register(register)
		if i >= reg.Info.Size {
			return 0 // out of bounds
		}
		return int64(reg.Cell(i)[0])
	}
	registers := r.p.Registers()
	for k := range registers {
		m := &registers[k]
		reg := r.t.register(m.Of)
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
			fmt.Fprintf(&b, "event %d: +%d port %d receives %s\n", i+1, e.After, e.Port, j.p.Describe(e.Data, int(e.Elided)))
		} else {
			fmt.Fprintf(&b, "event %d: +%d queue %d departs, depth behind %d, ahead %d, waited %d\n", i+1, e.After, e.Pick, e.Depth, e.Ahead, e.Waited)
		}
	}
	return b.String()
}
