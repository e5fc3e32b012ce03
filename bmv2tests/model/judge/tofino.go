// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pauseless/pauseless/bmv2tests/model"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
)

// A TofinoJudge compares a program for Tofino with the model, as a Judge does:
// decisions, bytes of packets and of the copies by which egress tells ingress,
// and all registers, after each step.
type TofinoJudge struct {
	f      *Features
	target *Target
	regs   []tofinoMapped
	// Times are constants of a program with RLB.
	Times tofinoTimes
	// Others is the time in which PLB measures all paths, a power of two.
	Others uint32
	// Generated is what a program with QCN was generated for.
	Generated model.QCN
	// Counters are those of its tables.
	Counters []manifest.Counter
	Steps    int
	Seen     map[string]int
}

// tofinoRow says which symbol of the model a register is. Of a pair, the
// register has the first field in its upper half.
type tofinoRow struct {
	symbol string
	cell   func(s *tofinoSwitch, i int) (value uint64, ok bool)
	set    func(s *tofinoSwitch, i int, v uint64)
	draw   func(g *drawer, i int) uint64
}

type tofinoMapped struct {
	name string
	row  *tofinoRow
	at   int
}

// single is a row of one number.
func single(symbol string, list func(s *tofinoSwitch) []uint32, draw func(g *drawer, i int) uint64) tofinoRow {
	return tofinoRow{symbol, func(s *tofinoSwitch, i int) (uint64, bool) {
		if l := list(s); i < len(l) {
			return uint64(l[i]), true
		}
		return 0, false
	}, func(s *tofinoSwitch, i int, v uint64) {
		if l := list(s); i < len(l) {
			l[i] = uint32(v)
		}
	}, draw}
}

// member is a row of one number of each element of a list.
func member[T any](symbol string, list func(s *tofinoSwitch) []T, number func(*T) *uint32, draw func(g *drawer, i int) uint64) tofinoRow {
	return tofinoRow{symbol, func(s *tofinoSwitch, i int) (uint64, bool) {
		if l := list(s); i < len(l) {
			return uint64(*number(&l[i])), true
		}
		return 0, false
	}, func(s *tofinoSwitch, i int, v uint64) {
		if l := list(s); i < len(l) {
			*number(&l[i]) = uint32(v)
		}
	}, draw}
}

// couple is a row of two numbers of each element of a list.
func couple[T any](symbol string, list func(s *tofinoSwitch) []T, numbers func(*T) (a, b *uint32), draw func(g *drawer, i int) uint64) tofinoRow {
	return tofinoRow{symbol, func(s *tofinoSwitch, i int) (uint64, bool) {
		if l := list(s); i < len(l) {
			a, b := numbers(&l[i])
			return uint64(*a)<<32 | uint64(*b), true
		}
		return 0, false
	}, func(s *tofinoSwitch, i int, v uint64) {
		if l := list(s); i < len(l) {
			a, b := numbers(&l[i])
			*a, *b = uint32(v>>32), uint32(v)
		}
	}, draw}
}

func tofinoQueue(g *drawer, i int) uint64 { return uint64(uint32(g.queue(i))) }
func tofinoPast(g *drawer, i int) uint64  { return uint64(uint32(g.past(i))) }
func tofinoCount(g *drawer, _ int) uint64 { return uint64(g.upTo(1 << 20)) }

// tofinoBest draws a best path, up to a last one, and what it is judged by.
func tofinoBest(g *drawer, i, last int) uint64 {
	return tofinoQueue(g, i)<<32 | uint64(g.r.IntN(last+1))
}

// tofinoSlot draws bytes of a slot that runs, or has just ended.
func tofinoSlot(bits int) func(g *drawer, _ int) uint64 {
	return func(g *drawer, _ int) uint64 {
		return uint64(g.upTo(6000))<<32 | uint64(uint32(g.now)>>bits-uint32(g.r.IntN(3)))
	}
}

func ofFlows(s *tofinoSwitch) []model.TofinoFlow { return s.flows }
func ofPorts(s *tofinoSwitch) []model.TofinoPBFS { return s.pbfs }
func ofBest(b *model.TofinoBest) (x, y *uint32)  { return &b.Value, &b.Path }
func ofSum(s *model.TofinoSum) (x, y *uint32)    { return &s.Bytes, &s.Number }
func ofQueues(s *tofinoSwitch) []uint32          { return s.queue }

// tofinoPath is a row of flows' paths, 255 for none.
func tofinoPath(symbol string) tofinoRow {
	return tofinoRow{symbol, func(s *tofinoSwitch, i int) (uint64, bool) { return uint64(s.flows[i].Path), true },
		func(s *tofinoSwitch, i int, v uint64) { s.flows[i].Path = int(v) },
		func(g *drawer, _ int) uint64 { return pick(g, 255, uint64(g.r.IntN(g.f.PathCells))) }}
}

var tofinoRows = map[string]tofinoRow{
	"egress_qlen":      single("queue of a path, as told", ofQueues, tofinoQueue),
	"egress_qlen_copy": {symbol: "the same", cell: func(s *tofinoSwitch, i int) (uint64, bool) { return uint64(s.queue[i]), true }},
	"queue_told_at":    single("last copy about a queue", func(s *tofinoSwitch) []uint32 { return s.toldAt }, tofinoPast),
	"drill_best":       couple("DRILL's memory", func(s *tofinoSwitch) []model.TofinoBest { return s.drill }, ofBest, func(g *drawer, i int) uint64 { return tofinoBest(g, i, i%g.f.PathCells) }),
	"flowcell_bytes":   member("Presto: bytecount", ofFlows, func(f *model.TofinoFlow) *uint32 { return &f.Bytes }, func(g *drawer, i int) uint64 { return uint64(g.cellBytes(i)) }),
	"flowcell_path":    tofinoPath("Presto: current path"),
	"flowlet_time":     member("flowlet: last packet", ofFlows, func(f *model.TofinoFlow) *uint32 { return &f.Last }, tofinoPast),
	"flowlet_path":     tofinoPath("flowlet: path"),
	"clb_qlen":         single("queue of a path, as told", ofQueues, tofinoQueue),
	"clb_rank": single("T4: class and place in it", func(s *tofinoSwitch) []uint32 { return s.rank }, func(g *drawer, i int) uint64 {
		return uint64(g.r.IntN(4))<<30 | tofinoQueue(g, i)&(1<<30-1)
	}),
	"clb_best": couple("best path so far", func(s *tofinoSwitch) []model.TofinoBest { return s.clb }, ofBest, func(g *drawer, i int) uint64 { return tofinoBest(g, i, i/8) }),

	"slot_bytes":  couple("bytes of a slot", ofPorts, func(p *model.TofinoPBFS) (x, y *uint32) { return ofSum(&p.Slot) }, tofinoSlot(10)),
	"slot_marked": couple("marked bytes of a slot", ofPorts, func(p *model.TofinoPBFS) (x, y *uint32) { return ofSum(&p.Marked) }, tofinoSlot(10)),
	"window_bytes": couple("bytes of a window", ofPorts, func(p *model.TofinoPBFS) (x, y *uint32) { return ofSum(&p.Window) },
		tofinoSlot(13)),
	"slot_bytes_last":   member("I_T of the last slot", ofPorts, func(p *model.TofinoPBFS) *uint32 { return &p.SlotLast }, tofinoCount),
	"slot_marked_last":  member("marked bytes of the last slot", ofPorts, func(p *model.TofinoPBFS) *uint32 { return &p.MarkedLast }, tofinoCount),
	"window_bytes_last": member("bytes of the last window", ofPorts, func(p *model.TofinoPBFS) *uint32 { return &p.WindowLast }, tofinoCount),
	"slot_qlen":         member("queue when the slot began", ofPorts, func(p *model.TofinoPBFS) *uint32 { return &p.SlotQueue }, tofinoQueue),
	"window_qlen":       member("Q of the window", ofPorts, func(p *model.TofinoPBFS) *uint32 { return &p.WindowQueue }, tofinoQueue),
	"postcards":         single("statistics", func(s *tofinoSwitch) []uint32 { return s.postcards }, tofinoCount),

	"ingress_qlen": couple("q of an ingress port, and the last look at it", func(s *tofinoSwitch) []model.TofinoQueue { return s.rlb.queue },
		func(q *model.TofinoQueue) (a, b *uint32) { return &q.Bytes, &q.LookedAt },
		func(g *drawer, i int) uint64 { return tofinoQueue(g, i)<<32 | tofinoPast(g, i) }),
	"departed": couple("departures not told", func(s *tofinoSwitch) []model.TofinoDeparted { return s.rlb.departed },
		func(d *model.TofinoDeparted) (a, b *uint32) { return &d.Bytes, &d.ToldAt },
		func(g *drawer, i int) uint64 { return uint64(uint32(-g.upTo(5000)))<<32 | tofinoPast(g, i) }),
	"warned": couple("warned and slow paths to a leaf", func(s *tofinoSwitch) []model.TofinoHeard { return s.rlb.warned },
		func(h *model.TofinoHeard) (a, b *uint32) { return &h.Paths, &h.Since }, tofinoHeard),
	"warned_all": couple("warned paths to all leaves", func(s *tofinoSwitch) []model.TofinoHeard { return s.rlb.warnedAll },
		func(h *model.TofinoHeard) (a, b *uint32) { return &h.Paths, &h.Since }, tofinoHeard),
	"faulty": single("paths out of use", func(s *tofinoSwitch) []uint32 { return s.rlb.faulty }, tofinoMask),
	"window_packets": couple("packets that came back", func(s *tofinoSwitch) []model.TofinoWindow { return s.rlb.back },
		func(w *model.TofinoWindow) (a, b *uint32) { return &w.Packets, &w.Number },
		func(g *drawer, _ int) uint64 {
			return uint64(g.upTo(8))<<32 | uint64(uint32(g.now)>>10-uint32(g.r.IntN(2)))
		}),
	"suspect_port": couple("potential_port", func(s *tofinoSwitch) []model.TofinoSuspect { return s.rlb.suspect },
		func(w *model.TofinoSuspect) (a, b *uint32) { return &w.Port, &w.Window },
		func(g *drawer, _ int) uint64 {
			return uint64(3+g.upTo(5))<<32 | uint64(uint32(g.now)>>16-uint32(g.r.IntN(3)))
		}),
	"echo_age": single("age of the stamp to echo", func(s *tofinoSwitch) []uint32 { return s.rlb.echoAge },
		func(g *drawer, i int) uint64 { return uint64(uint32(g.rtt(i))) }),
}

// tofinoHeard draws what is heard in a window that runs, or of one before:
// warned paths, and slow ones of up to three classes.
func tofinoHeard(g *drawer, i int) uint64 {
	v := uint64(uint32(g.now - g.upTo(pick[int64](g, 18_000, 60_000))))
	for part := range 1 + model.SlowClasses {
		v |= tofinoMask(g, i) << (32 + part*g.f.PathCells)
	}
	return v
}

// tofinoMask draws warned paths, of which some are free.
func tofinoMask(g *drawer, _ int) uint64 {
	return uint64(g.r.IntN(1<<g.f.PathCells) & g.r.IntN(1<<g.f.PathCells))
}

// tofinoFeatures are those of a profile's program for Tofino: it sees no PFC
// frames, and queues of a choice alone are told of.
func tofinoFeatures(p *gen.Profile) *Features {
	f := featuresOf(p)
	f.PFC, f.AllPorts = false, false
	f.QOut = f.Base == "drill" || f.CLB
	return f
}

// NewTofinoJudge matches the registers of a program with the model's state.
func NewTofinoJudge(f *Features, prog *Program) (*TofinoJudge, error) {
	j := &TofinoJudge{f: f, target: prog.New(), Seen: map[string]int{}}
	j.target.copies = f.copies()
	for i, info := range prog.prog.Registers {
		row, ok := tofinoPLBRows[plain(info.Name)]
		if !ok || !f.PLB {
			row, ok = tofinoRows[plain(info.Name)]
		}
		if !ok {
			row, ok = tofinoCONGARows[plain(info.Name)]
		}
		if !ok {
			row, ok = tofinoObservedRows[plain(info.Name)]
		}
		if !ok {
			return nil, fmt.Errorf("program %s: register %s is no symbol of the model", prog.Name, info.Name)
		}
		j.regs = append(j.regs, tofinoMapped{plain(info.Name), &row, i})
	}
	return j, nil
}

// tofinoWaiting is a packet in a queue, as both sides have it.
type tofinoWaiting struct {
	p     *tofinoPkt
	frame *packet.Frame
}

// tofinoPlay is one run of a case.
type tofinoPlay struct {
	*TofinoJudge
	g      *drawer
	s      *tofinoSwitch
	now    Time
	queues map[Queue][]tofinoWaiting
	before []uint64 // counters, when the case began
	order  []Queue
	events []string
	diff   string
}

// Run plays case number n of a series on both sides and returns the first
// difference, with what led to it, or nothing.
func (j *TofinoJudge) Run(series, n uint64) string {
	g := &drawer{f: j.f, r: rand.New(rand.NewPCG(series, n))}
	g.scale = pick[int64](g, 3_000, 20_000, 100_000, 400_000)
	g.pace = pick[Time](g, 20, 300, 2_000, 10_000)
	g.now = 1<<32 + g.r.Int64N(1<<35)
	if g.r.IntN(4) == 0 { // the clock of 32 bits is about to wrap
		g.now = g.now&^(1<<32-1) + 1<<32 - g.r.Int64N(20_000)
	}
	g.theme = pick(g, anything, rerouting)
	if j.f.RLB {
		g.theme = pick(g, anything, rerouting, recirculating, recirculating)
	}
	g.config()
	g.cfg.FlowletGap = pick(g, 0, g.pace, g.pace, g.upTo(1_000_000))
	if j.f.RLB {
		g.cfg.Slow = [...]Time{g.cfg.PassTime, g.cfg.PassTime + g.upTo(2*g.pace), g.cfg.PassTime + 2*g.pace + g.upTo(4*g.pace)}
		g.cfg.NRC >>= 8 // a whole number here
	}
	for p := range j.f.Ports {
		if _, ok := g.cfg.Quantum[p]; ok {
			g.cfg.Quantum[p] = int64(manifest.Quantum(tofinoUnits, pick(g, usualRates...)))
		}
		if _, ok := g.cfg.LinkWeight[p]; ok && j.f.DRE {
			g.cfg.LinkWeight[p] = g.tofinoWeight()
		}
	}
	for _, h := range g.cfg.Hosts {
		delete(g.cfg.PauseByteTime, h.Port) // the controller prices pauses of switches alone
	}
	if j.f.QCN {
		g.cfg.QCN.W = pick(g, g.cfg.QCN.W, g.upTo(20))
	}
	g.hot, g.hotLeaf = 1+g.r.IntN(j.f.Ports-1), int64(g.r.IntN(j.f.Leaves))
	seed := g.r.Uint64()
	r := &tofinoPlay{TofinoJudge: j, g: g, s: newTofinoSwitch(j.f, g.cfg, seed), now: g.now, queues: map[Queue][]tofinoWaiting{}}
	r.s.seen, r.s.times, r.s.plb.others, r.s.generated = j.Seen, j.Times, j.Others, j.Generated
	j.target.reset(seed)
	g.cfg.installTofino(j.f, j.target)
	r.beginCounting()
	r.state()
	for range 3 + g.r.IntN(12) {
		e := g.event()
		if j.f.QOut && e.Data == nil && g.r.IntN(3) == 0 {
			e.After = 999 + g.upTo(2) // a queue is just due to be told of, or not yet
			e.Pick = 0
		}
		r.now += e.After
		g.now = r.now
		if e.Data != nil {
			r.arrive(&e)
		} else {
			r.depart(&e)
		}
		if r.diff == "" {
			r.registers()
			r.counters()
		}
		if r.diff != "" {
			return fmt.Sprintf("config %s\nnets %v, forward %v\n%v\n%s", g.cfg.relevant(j.f), g.cfg.Nets, g.cfg.Forward, r.events, r.diff)
		}
	}
	return ""
}

// state draws the first state: each register is left alone, or has some cells.
func (r *tofinoPlay) state() {
	for _, m := range r.regs {
		reg := r.target.st.Registers[m.at]
		share := pick(r.g, 0, 1, 4, 8)
		if r.g.reroutes() {
			switch m.name {
			case "warned":
				share = pick(r.g, 4, 8)
			}
		}
		for i := range reg.Info.Size {
			if m.row.set == nil || r.g.r.IntN(8) >= share {
				continue
			}
			if _, ok := m.row.cell(r.s, i); ok {
				m.row.set(r.s, i, m.row.draw(r.g, i))
			}
		}
	}
	for _, m := range r.regs { // rows may be the same number
		reg := r.target.st.Registers[m.at]
		for i := range reg.Info.Size {
			v, _ := m.row.cell(r.s, i)
			reg.Cell(i)[0] = v
		}
	}
}

func (r *tofinoPlay) differ(what string, model, p4 any) {
	if r.diff == "" {
		r.diff = fmt.Sprintf("%s:\n  model   %+v\n  program %+v", what, model, p4)
	}
}

func (r *tofinoPlay) happened(format string, args ...any) {
	r.events = append(r.events, fmt.Sprintf("\nat %d "+format, append([]any{r.now}, args...)...))
}

func (r *tofinoPlay) arrive(e *Event) {
	r.happened("port %d receives %s", e.Port, r.f.describe(e.Data, e.Elided))
	p := &tofinoPkt{frame: r.s.parse(e.Data, e.Elided), inPort: e.Port, now: r.now}
	r.ingress(p, &packet.Frame{Data: clone(e.Data), Elided: e.Elided}, e.Port, false)
}

func (r *tofinoPlay) ingress(p *tofinoPkt, frame *packet.Frame, port int, again bool) {
	r.Steps++
	asCame := Departure{Data: clone(frame.Data), Elided: frame.Elided}
	got, copied := r.target.tofinoIngress(frame, port, r.now, again)
	want := r.s.ingress(p, again)
	if fmt.Sprint(want) != fmt.Sprint(got) {
		r.differ("ingress decides", want, got)
		return
	}
	if got.Cloned {
		header, c, q := r.s.takeCopy(p, got.Session)
		r.mirrored(header, asCame, copied, c, q)
	}
	switch {
	case got.Drop:
	case got.Again:
		p.frame = r.s.parse(asCame.Data, asCame.Elided)
		r.ingress(p, &packet.Frame{Data: asCame.Data, Elided: asCame.Elided}, port, true)
	case got.Group != 0:
		for _, port := range r.g.cfg.Groups[got.Group] {
			each := *p
			each.frame, each.outPort = r.s.parse(r.f.bytes(p.frame), p.elided), 0
			r.enqueue(Queue{port, got.Class}, tofinoWaiting{&each, (&packet.Pool{}).Clone(frame)})
		}
	default:
		r.enqueue(Queue{got.Port, got.Class}, tofinoWaiting{p, frame})
	}
}

// mirrored checks a copy, a packet behind a header, cut to its length, and
// queues it.
func (r *tofinoPlay) mirrored(header []byte, of Departure, copied *packet.Frame, p *tofinoPkt, q Queue) {
	want := Departure{Data: append(clone(header), of.Data...), Elided: of.Elided}
	want.cut(r.f.copies())
	if !sameFrame(want, Departure{Data: copied.Data, Elided: copied.Elided}) {
		r.differ("copy", fmt.Sprintf("%x", want.Data), fmt.Sprintf("%x", copied.Data))
	}
	p.frame = &frame{rest: want.Data[len(header):], elided: want.Elided}
	if p.card != nil || p.sample != nil || p.probe {
		p.frame = r.s.parse(want.Data[len(header):], want.Elided)
	}
	if q.Port != 0 {
		r.enqueue(q, tofinoWaiting{p, copied})
	}
}

func (r *tofinoPlay) enqueue(q Queue, w tofinoWaiting) {
	if !slices.Contains(r.order, q) {
		r.order = append(r.order, q)
	}
	r.queues[q] = append(r.queues[q], w)
}

func (r *tofinoPlay) depart(e *Event) {
	var ready []Queue
	for _, q := range r.order {
		if len(r.queues[q]) > 0 {
			ready = append(ready, q)
		}
	}
	if len(ready) == 0 {
		return
	}
	q := ready[e.Pick%len(ready)]
	w := r.queues[q][0]
	r.queues[q] = r.queues[q][1:]
	r.Steps++
	behind := max(e.Depth, 0)
	switch {
	case r.f.PCN:
		behind = pick(r.g, 0, 1, r.g.upTo(400))
	case r.f.QCN:
		behind = pick(r.g, behind, r.g.upTo(2_000), r.g.cfg.QCN.Qeq/manifest.CellBytes+r.g.upTo(80))
	}
	ahead := pick(r.g, 0, r.g.upTo(400), r.g.upTo(400))
	waited := pick(r.g, 0, r.g.upTo(1<<18-1), ahead*int64(r.s.cellTime(q.Port))+model.TofinoHeld+r.g.r.Int64N(3)-1) & (1<<18 - 1)
	r.happened("queue %v departs: %d cells ahead, %d behind, waited %d", q, ahead, behind, waited)
	if q.Port == recirculation { // on its way to ingress
		r.s.drawForCopies()
		r.s.passEgress(w.p)
		got, _ := r.target.tofinoEgress(w.frame, q, ahead, behind, waited, r.now)
		w.p.now = r.now
		r.ingress(w.p, &packet.Frame{Data: got.Data, Elided: got.Elided}, recirculation, false)
		return
	}
	length := w.frame.Len()
	got, copied := r.target.tofinoEgress(w.frame, q, ahead, behind, waited, r.now)
	want, copy := r.s.egress(w.p, length, ahead, behind, waited, r.now)
	switch {
	case want.Drop != got.Drop || want.Cloned != got.Cloned || want.Session != got.Session:
		want.Data, got.Data = nil, nil
		r.differ("egress decides", want, got)
		return
	case !want.Drop && !sameFrame(want, got):
		r.differ("packet sent", fmt.Sprintf("%x", head(want.Data)), fmt.Sprintf("%x", head(got.Data)))
		return
	case copy == nil:
		return
	case copy.sample != nil:
		r.mirrored(copy.sample.bytes(), want, copied, copy, Queue{got.Session, 7})
	case copy.told != nil:
		r.mirrored(copy.told.bytes(r.f), want, copied, copy, Queue{recirculation, 7})
	default:
		r.mirrored(copy.card.cardBytes(), want, copied, copy, Queue{got.Session, 7})
	}
}

// cardBytes is the header of a copy that becomes a postcard.
func (m *message) cardBytes() []byte {
	const card = 4
	b := []byte{card}
	for _, v := range []int64{m.postcard.Ip, m.postcard.Q1, m.mbps, m.postcard.RecentBytes, m.postcard.RecentMarkedBytes} {
		b = be.AppendUint32(b, uint32(v))
	}
	return b
}

func (d *Departure) cut(n int) {
	over := max(len(d.Data)+d.Elided-n, 0)
	less := min(over, d.Elided)
	d.Elided -= less
	d.Data = d.Data[:len(d.Data)-(over-less)]
}

// registers compares the whole state.
func (r *tofinoPlay) registers() {
	for _, m := range r.regs {
		reg := r.target.st.Registers[m.at]
		for i := range reg.Info.Size {
			if want, ok := m.row.cell(r.s, i); ok && want != reg.Cell(i)[0] {
				r.differ(fmt.Sprintf("register %s[%d] (%s)", m.name, i, m.row.symbol), fmt.Sprintf("%#x", want), fmt.Sprintf("%#x", reg.Cell(i)[0]))
				return
			}
		}
	}
}
