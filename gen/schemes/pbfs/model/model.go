// SPDX-License-Identifier: Apache-2.0

// Package pbfs models PB-FS, section III-C: the switch's generation of
// CC-postcards.
package pbfs

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "pbfs", AllPorts: true,
		BTH: func(f *model.Frame, _ int) bool { return f.Marked() },
		Registers: map[string]model.Register{
			"slot_number": {Draw: drawSlot},
			"slot_bytes":  {Most: 6000}, "slot_marked": {Most: 2000},
			"slot_bytes.number": {Period: slotBits}, "slot_marked.number": {Period: slotBits}, "window_bytes.number": {Period: windowBits},
		},
		V1model: model.Stages{model.Leave: fastStart, model.Rewrite: message}, Tofino: model.Stages{model.Last: fastStartOnTofino, model.Rewrite: message}})
}

// PBFS is the configuration of an egress port.
type PBFS struct {
	N      int         // slots in half a DC_RTT
	Recent int         // how many of the last full slots T_Δ covers: ⌈T_Δ / slot⌉
	BDP    model.Bytes // T · DC_RTT
}

// A Ring is the state of one egress port, by number of the slot.
//
// Readings: the last N slots are those that have ended, the N-th being the most
// recent; a slot that has not ended has no rate yet. A slot in which no packet
// arrived counts as zero bytes, and the unknown queue at its beginning as zero.
type Ring map[int64]*Slot

// A Slot is one time slot of an egress port.
type Slot struct {
	I      model.Bytes // bytes received for the port
	Marked model.Bytes // those of PBT-triggering packets
	Q      model.Bytes // queue length at the beginning
}

// Packet counts a packet in slot n. queue is the egress queue before it.
func (r Ring) Packet(n int64, length, queue model.Bytes, marked bool) {
	s := r[n]
	if s == nil {
		s = &Slot{Q: queue}
		r[n] = s
	}
	s.I += length
	if marked {
		s.Marked += length
	}
}

func (r Ring) slot(n int64) Slot {
	if s := r[n]; s != nil {
		return *s
	}
	return Slot{}
}

// A Postcard is the message of a congested switch to the sender, without the port's
// rate.
type Postcard struct {
	Ip, Q1                         model.Bytes
	RecentBytes, RecentMarkedBytes model.Bytes
}

// Congested is Definition 1, for a PBT-triggering packet in slot n that has
// been counted.
//
// Reading: the recent bytes are those of the last full slots that T_Δ covers,
// and of the slot that has not ended.
func (r Ring) Congested(c PBFS, n int64) (Postcard, bool) {
	var p Postcard
	first, last := n-int64(c.N), n-1
	for i := first; i <= last; i++ {
		p.Ip += r.slot(i).I // I_before
	}
	p.Ip += int64(c.N) * r.slot(last).I // I_after = N · I_T^N
	p.Q1 = r.slot(first).Q
	for i := n - int64(c.Recent); i <= n; i++ {
		p.RecentBytes += r.slot(i).I
		p.RecentMarkedBytes += r.slot(i).Marked
	}
	return p, p.Ip > c.BDP-p.Q1 // Eq. 1
}

// ringSize is the number of slots in the registers of a port.
const ringSize = 16

// ringOf reads the registers of a port. The low bits of a slot's number are its
// place.
func ringOf(s *model.Switch, port int) Ring {
	r := Ring{}
	for i := ringSize * port; i < ringSize*(port+1); i++ {
		r[*s.Cell("slot_number", i)] = &Slot{*s.Cell("slot_bytes", i), *s.Cell("slot_marked", i), *s.Cell("slot_qlen", i)}
	}
	return r
}

// slot is the number of a time slot.
func slot(p *model.Program, c *model.Config, now model.Time) int64 {
	perUnit := c.Tables["slot"][model.Default]["per_unit"]
	return model.Ratio{Num: perUnit, Den: 1 << p.Units.SlotFraction()}.Times(now)
}

// drawSlot draws a slot for its cell: one of the last ones, or one that is too old.
func drawSlot(g *model.Drawer, i int) int64 {
	now := slot(g.Program, g.Config, g.Now)
	n := now - (now-int64(i))&(ringSize-1)
	if g.R.IntN(8) == 0 {
		return n - ringSize
	}
	return n
}

// fastStart counts a packet that has its port, and sends a postcard if need be.
func fastStart(s *model.Switch, p *model.Packet) {
	ring, n := ringOf(s, p.OutPort), slot(s.Program, s.Config, p.Now)
	marked := p.BTH != nil && p.Marked()
	ring.Packet(n, p.Length, *s.Cell("egress_qlen", s.Out(p)), marked)
	i := ringSize*p.OutPort + int(n&(ringSize-1))
	*s.Cell("slot_number", i), *s.Cell("slot_bytes", i), *s.Cell("slot_marked", i), *s.Cell("slot_qlen", i) = n, ring[n].I, ring[n].Marked, ring[n].Q
	if capacity, known := s.Config.Tables["pbfs_port"][p.OutPort]; marked && known {
		if c, congested := ring.Congested(PBFS{N: 8, Recent: 2, BDP: capacity["round_trip_bytes"]}, n); congested {
			request(s, p, c, capacity["mbps"])
		}
	}
}

// request sends a postcard. Its numbers are the header of the copy.
func request(s *model.Switch, p *model.Packet, c Postcard, mbps int64) {
	v := model.Fields{"ip": c.Ip, "q1": c.Q1, "mbps": mbps, "recent": c.RecentBytes, "marked": c.RecentMarkedBytes}
	if p.Request(&model.Message{Of: "pbfs", Session: p.InPort, Head: v.Append([]byte{4}, postcard), V: v}) {
		s.Note("postcard")
		*s.Cell("postcards", p.OutPort)++
	}
}

const postcard = "ip:32 q1:32 mbps:32 recent:32 marked:32"

// message makes a copy into a postcard to the sender of the packet.
func message(s *model.Switch, p *model.Packet) {
	head := model.Fields{"version": 1, "switch_id": s.Setting("postcard", "switch_id"), "pair": p.BTH["pair"]}
	s.ToSender(p, 56, p.Message.V.Append(head.Append(nil, "version:8 reserved:8 switch_id:16 pair:32"), postcard))
	p.UDP["dst"] = 54792
}
