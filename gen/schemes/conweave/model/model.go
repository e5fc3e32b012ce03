// SPDX-License-Identifier: Apache-2.0

// Package conweave models ConWeave: Song et al., "Network Load Balancing with
// In-network Reordering Support for RDMA", SIGCOMM 2023. Where the paper is open, it
// follows the authors' simulator (conweave-ns3, conweave-routing.cc).
//
// Readings: a queue that is paused until TAIL is, here, packets that pass the switch
// again and again, numbered by tickets. A row of a table belongs to one flow until that
// is idle; packets of another flow with this row are forwarded without ConWeave.
package conweave

import "github.com/pauseless/pauseless/internal/model"

func init() {
	flow := func(g *model.Drawer, i int) int64 { return g.FlowOf(i) }
	ticket := func(g *model.Drawer, _ int) int64 { return 65_534 + g.UpTo(4) }
	epoch := func(g *model.Drawer, _ int) int64 { return 254 + g.UpTo(3) }
	model.Add(model.Scheme{Name: "conweave", EveryPacket: true, FewFlows: true,
		BTH:    func(f *model.Frame, port int) bool { return port == model.PortRoCE || f.Marked() },
		Base:   &model.Base{Choose: choose},
		Header: "kind:8 epoch:8 mark:32",
		Fill: func(g *model.Drawer, h model.Fields) {
			h["kind"], h["epoch"] = model.Pick(g, data, request, tail, rerouted, rerouted, plain, answers|g.UpTo(7), g.UpTo(255)), epoch(g, 0)
			h["mark"] = model.Mod32(g.Past(0))
			if h["kind"] >= answers {
				h["mark"] = g.FlowOf(g.R.IntN(g.Flows))
			}
		},
		Registers: map[string]model.Register{
			"flow_owner": {Draw: flow}, "order_owner": {Draw: flow},
			"flow_epoch": {Draw: epoch}, "order_epoch": {Draw: epoch},
			"first_ticket": {Draw: ticket}, "next_ticket": {Draw: ticket},
			"flow_state": {Most: 2}, "front_lane": {Most: lanes - 1}, "last_lane": {Most: lanes - 1},
		},
		V1model: model.Stages{model.Learn: read, model.Write: write, model.Hold: reorder, model.Rewrite: answer}})
}

// Kinds of packets between leaves. A message has answers and at least one of its
// parts: what would be several packets there is one here.
const (
	plain = iota
	data
	request
	tail
	rerouted

	answers = 0x80
	reply   = 1
	clear   = 2
	notify  = 4
)

// States of a flow at its source leaf.
const (
	stable = iota // "stabilized": a new epoch may begin
	asked         // waits for RTT_REPLY
	left          // phase 1: TAIL was sent, waits for CLEAR
)

// newer compares epochs, of which eight bits are sent.
func newer(a, b int64) int64 { return int64(int8(a - b)) }

// later compares times on a clock of 32 bits.
func later(a, b model.Time) int64 { return int64(int32(a - b)) }

// choose is the source leaf: checks for expiry and stability, then for a late reply,
// then epoch, phase, path and TAIL's time, in the order of RouteInput.
func choose(s *model.Switch, p *model.Packet) model.Path {
	if p.Fabric != nil || p.BTH == nil || p.BTH["opcode"] > 0x10 {
		return s.HashPath(p) // acknowledgements: "do flow-ECMP"
	}
	row, set := s.Flow(p), func(arg string) int64 { return s.Setting("source", arg) }
	owner, seen, path := s.Cell("flow_owner", row), s.Cell("flow_seen_at", row), s.Cell("flow_path", row)
	mine := uint32(*owner) == p.Hash
	expired := uint32(*owner) == 0 || model.Mod32(p.Now-*seen) > set("idle")
	if !mine && !expired {
		s.Note("another flow's row")
		return s.HashPath(p)
	}
	known := mine && *path != 0 && *path <= int64(p.Paths)
	expired = expired || !known
	*owner, *seen = int64(p.Hash), p.Now
	state, epoch, until := s.Cell("flow_state", row), s.Cell("flow_epoch", row), s.Cell("reply_until", row)
	late := !expired && *state == asked && later(*until, p.Now) < 0
	now := int(*path - 1)

	next := now
	if expired || late {
		// "sample 2 ports and choose a good port"
		good := func() (model.Path, bool) {
			q := int(s.Below(int64(p.Paths)))
			marked := s.Cell("notified_at", s.PathCell(p.Leaf, q))
			return q, *marked == 0 || model.Mod32(p.Now-*marked) >= set("pause")
		}
		first, free := good()
		next = first
		if !free {
			if next, free = good(); !free { // "cannot find good path, so use current path"
				next = first
				if known {
					next = now
				}
				s.Note("no free path")
			}
		}
		*path = int64(next) + 1
	}
	p.Keep["kind"], p.Keep["mark"] = data, p.Now
	switch {
	case late:
		s.Note("TAIL")
		*state, *s.Cell("left_at", row) = left, p.Now
		p.Keep["kind"] = tail
		if next != now {
			*s.Cell("reroutes", p.First+now)++
		}
	case expired || *state == stable:
		*epoch, *state, *until = (*epoch+1)&255, asked, p.Now+set("reply")
		p.Keep["kind"] = request
		if expired {
			now = next
		}
	case *state == left:
		s.Note("rerouted")
		p.Keep["kind"], p.Keep["mark"] = rerouted, *s.Cell("left_at", row)
	}
	p.Keep["epoch"] = *epoch
	return now
}

func write(_ *model.Switch, p *model.Packet) {
	for _, f := range []string{"kind", "epoch", "mark"} {
		p.Fabric[f] = p.Keep[f]
	}
}

// read takes the header of a packet for a host. A message ends here.
func read(s *model.Switch, p *model.Packet) {
	h := p.Fabric
	if h["kind"] < answers {
		for f, v := range h {
			p.Meta[f] = v
		}
		return
	}
	p.Ends = true
	row := int(h["mark"]) & (s.Flows - 1)
	// "Reply timeout check only when epoch & phase are matched"
	if state := s.Cell("flow_state", row); uint32(*s.Cell("flow_owner", row)) == uint32(h["mark"]) && *s.Cell("flow_epoch", row)&255 == h["epoch"] {
		inTime := *state == asked && later(*s.Cell("reply_until", row), p.Now) > 0
		if h["kind"]&reply != 0 && inTime || h["kind"]&clear != 0 && *state == left {
			s.Note("stable")
			*state = stable
		}
	}
	if h["kind"]&notify != 0 && h["src_leaf"] < int64(s.Leaves) {
		*s.Cell("notified_at", s.PathCell(h["src_leaf"], int(h["path"]))) = p.Now
	}
}

// An order is the state of a flow at its destination leaf.
type order struct {
	*model.Switch
	row int
}

func (o order) at(register string) *int64 { return o.Cell(register, o.row) }

// lanes is the number of lanes of a flow. Those in use are from front to last, in a
// circle. Packets in the last one wait for TAIL while holding is set.
const lanes = 4

// A lane is a queue of packets that wait: their tickets.
type lane struct{ first, next *int64 }

func (o order) lane(n int64) lane {
	i := lanes*o.row + int(n&(lanes-1))
	return lane{o.Cell("first_ticket", i), o.Cell("next_ticket", i)}
}

func (l lane) empty() bool { return uint16(*l.next) == uint16(*l.first) }

// used is the number of lanes before the last one.
func (o order) used() int64 { return (*o.at("last_lane") - *o.at("front_lane")) & (lanes - 1) }

// settle leaves the front lane if it is empty.
func (o order) settle() {
	if front := o.at("front_lane"); o.used() > 0 && o.lane(*front).empty() {
		*front = (*front + 1) & (lanes - 1)
	}
}

// reorder is the destination leaf.
func reorder(s *model.Switch, p *model.Packet) {
	if p.Hop != model.ToHost || p.BTH == nil || p.Meta["kind"] == plain && p.Keep["held"] == 0 {
		return
	}
	p.Hash = p.FiveTuple()
	o := order{s, s.Flow(p)}
	if p.Keep["held"] == 1 {
		o.again(p)
		return
	}
	kind, epoch := p.Meta["kind"], p.Meta["epoch"]
	set := func(arg string) int64 { return s.Setting("order", arg) }
	owner := o.at("order_owner")
	mine := uint32(*owner) == p.Hash
	free := uint32(*owner) == 0 || !mine && model.Mod32(p.Now-*o.at("order_seen_at")) > set("idle")
	if free {
		mine = true
		*o.at("holding"), *o.at("front_lane") = 0, *o.at("last_lane")
		l := o.lane(*o.at("last_lane"))
		*l.first = *l.next
	}
	current := !mine
	if mine {
		o.settle()
		early, held := false, *o.at("holding") == 1
		if current = free || newer(epoch, *o.at("order_epoch")) >= 0; current {
			early = o.arrive(p, kind, epoch, free, set("wait"), set("extra"))
		} else {
			s.Note("an earlier epoch") // "immediately send to dst"
		}
		if n, waits := o.behind(early, held); waits {
			s.Note("held")
			*s.Cell("held_packets", p.OutPort)++
			next := o.lane(n).next
			p.Keep["held"], p.Keep["lane"], p.Keep["ticket"], p.Keep["seen"] = 1, n&(lanes-1), *next, 0
			*next++
			p.Again = true
		}
	}
	if !current {
		return
	}
	var a int64
	if kind == request {
		a |= reply
	}
	if kind == tail {
		a |= clear
	}
	if p.IP["ecn"] == 3 {
		a |= notify
	}
	if a != 0 {
		p.Request(&model.Message{Of: "conweave", Session: p.InPort, V: model.Fields{"kind": answers | a, "epoch": epoch, "mark": int64(p.Hash)}})
	}
}

// arrive updates the flow for a packet of its epoch or of a new one, and reports
// whether it must wait in the back lane.
func (o order) arrive(p *model.Packet, kind, epoch int64, free bool, wait, extra model.Time) bool {
	tailSeen, oldSeen := o.at("tail_seen"), o.at("old_seen")
	if free || uint8(*o.at("order_epoch")) != uint8(epoch) { // a new epoch
		*tailSeen, *oldSeen = 0, 0
	}
	*o.at("order_owner"), *o.at("order_seen_at"), *o.at("order_epoch") = int64(p.Hash), p.Now, epoch
	early := false // REROUTED before TAIL
	if kind == rerouted {
		early = *tailSeen == 0
		*o.at("tail_sent_time") = p.Meta["mark"]
	} else {
		*oldSeen, *o.at("old_sent_time"), *o.at("old_seen_at") = 1, p.Meta["mark"], p.Now
		if kind == tail {
			*o.at("tail_sent_time"), *tailSeen = p.Meta["mark"], 1
		}
	}
	// "PREDICTION OF TAIL_ARRIVAL_TIME"
	until := p.Now + wait + extra
	if *oldSeen == 1 {
		until = *o.at("old_seen_at") + max(0, later(*o.at("tail_sent_time"), *o.at("old_sent_time"))) + extra
	}
	holding := o.at("holding")
	if *holding == 1 && kind != rerouted { // "reschedule to new deadline"
		*o.at("held_until") = until
	}
	switch {
	case kind == tail:
		*holding = 0
	case early && *holding == 0:
		*holding, *o.at("held_until") = 1, until
	}
	// Packets of the back lane were sent before, except by packets that took the old
	// path in the same epoch.
	return early
}

// behind is the lane of a packet, and reports whether it must wait. held is true if
// others waited for TAIL already.
func (o order) behind(early, held bool) (n int64, waits bool) {
	front, last := *o.at("front_lane"), o.at("last_lane")
	switch {
	case early && !held && !o.lane(*last).empty() && o.used() < lanes-1:
		*last = (*last + 1) & (lanes - 1)
		l := o.lane(*last)
		*l.first = *l.next
		return *last, true
	case early:
		return *last, true
	case held: // was sent before those
		return *last - 1, o.used() > 0
	default:
		return *last, o.used() > 0 || !o.lane(front).empty()
	}
}

// again is for a packet that waits and comes again. It leaves if it is the first of
// all, and its lane does not wait for TAIL. Between two of its passes all others pass
// once. If the first of all is still the same, that one was lost.
func (o order) again(p *model.Packet) {
	n := p.Keep["lane"]
	if (n-*o.at("front_lane"))&(lanes-1) > o.used() || int16(p.Keep["ticket"]-*o.lane(n).first) < 0 {
		o.Note("late ticket") // the row is another flow's now
		return
	}
	holding := o.at("holding")
	if *holding == 1 && later(*o.at("held_until"), p.Now) <= 0 {
		o.Note("without TAIL")
		*holding, *o.at("tail_seen") = 0, 1
	}
	o.settle()
	front := *o.at("front_lane")
	first := o.lane(front).first
	p.Again = true
	switch {
	case *holding == 1 && o.used() == 0:
		p.Keep["seen"] = 0
	case n == front && uint16(p.Keep["ticket"]) == uint16(*first):
		o.Note("released")
		*first++
		p.Again = false
	default:
		if p.Keep["seen"] == 1 && p.Keep["seen_lane"] == front && uint16(p.Keep["seen_first"]) == uint16(*first) {
			o.Note("a lost packet")
			*first++
		}
		p.Keep["seen"], p.Keep["seen_lane"], p.Keep["seen_first"] = 1, front, *first
	}
}

// answer makes the copy of a packet a message to its source leaf.
func answer(s *model.Switch, p *model.Packet) {
	v := p.Message.V
	if s.Config.Leaf >= 0 {
		p.Fabric["src_leaf"] = s.Config.Leaf
	}
	p.Fabric["kind"], p.Fabric["epoch"], p.Fabric["mark"] = v["kind"], v["epoch"], v["mark"]
	p.Dst, p.Src = p.Src, p.Dst
	p.IP["src"], p.IP["dst"] = p.IP["dst"], p.IP["src"]
	p.IP["dscp"], p.IP["ecn"], p.IP["length"] = 56, 0, 20+8+12
	p.UpdateChecksum()
	p.UDP["length"], p.UDP["checksum"] = 8+12, 0
	p.Limit = 14 + 5 + 6 + 20 + 8 + 12
}
