// SPDX-License-Identifier: Apache-2.0

package rlb

import (
	"math/bits"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/model"
)

// RLB on a Tofino (docs/tofino.md): a queue is compared with one threshold, egress
// reports departures, warnings of a window of time expire together, a path's round
// trips are slow or not, and the other path is the next free one in turn. For section
// IV, windows have a fixed length, round trips have classes, and faults follow from
// single packets.

func adaptive(s *model.Switch) bool { return s.Is("rlb_adaptive") }

// forget is the time without a sample after which an ingress queue counts as empty.
const forget = 10_000_000

// countOnTofino counts a packet with a route on its first pass, and warns if need be.
// With section IV, each pass samples the queue.
func countOnTofino(s *model.Switch, p *model.Packet) {
	if p.Passes == 0 {
		p.Keep["since"] = p.Now
	}
	switch {
	case p.Passes == 0 && p.Hop != model.Nowhere:
		countBytes(s, p, p.InPort, p.Class, uint32(p.Length))
	case adaptive(s):
		countBytes(s, p, p.InPort, p.Class, 0)
	}
}

// countBytes adds bytes to an ingress queue, less than zero for departures. A queue
// without a sample for 10 ms counts as empty. The queue is compared with the
// threshold once in an interval. With section IV, all packets sample it, one in eight
// may warn, and departures never empty a queue.
func countBytes(s *model.Switch, p *model.Packet, port, class int, bytes uint32) {
	i, now := port*8+class, uint32(p.Now)
	_, watched := s.Config.Tables["Readqlen"][i]
	queue, lookedAt := s.Word("ingress_qlen.bytes", i), s.Word("ingress_qlen.looked_at", i)
	since, looks := now-lookedAt, true
	if adaptive(s) {
		if since > forget && int32(bytes) >= 0 {
			queue = 0
		}
		watched = s.Below(8) == 0 && watched
	} else {
		if !watched {
			p.QueueIn = 0
			return
		}
		now -= now % uint32(s.Constant("LOOK_INTERVAL"))
		if now-lookedAt > forget {
			queue = 0
		}
		looks = now != lookedAt
	}
	queue += bytes
	s.SetWord("ingress_qlen.bytes", i, queue)
	p.QueueIn = 0
	if looks {
		s.SetWord("ingress_qlen.looked_at", i, now)
		p.QueueIn = int64(queue)
	}
	x, ok := s.Config.Tables["predict"][i]
	// A warning of a neighbour cannot be copied to make another.
	if ok && watched && p.Local == nil && int32(uint32(x["warn_at"])-uint32(p.QueueIn)) < 0 {
		s.Note("warning")
		v := model.Fields{"class": int64(class), "port": int64(port)}
		p.Request(&model.Message{Of: "rlb", Session: port, Head: v.Append([]byte{2, 1}, "class:8 port:16"), V: v})
	}
}

// A register has the state of the paths to a leaf, a bit each, in a window of time
// that begins with the first message: the lowest bits are the warned paths, path 0 at
// the left, and above them are the slow paths, with section IV a part for each class.
// All bits expire together.

// note adds bits, or begins a window if the earlier one is over.
func note(s *model.Switch, register string, i int, now, after, bits uint32) {
	if paths := s.Word(register+".paths", i); now-s.Word(register+".since", i) > after {
		s.SetWord(register+".paths", i, bits)
		s.SetWord(register+".since", i, now)
	} else {
		s.SetWord(register+".paths", i, paths|bits)
	}
}

// look returns the present state of the paths.
func look(s *model.Switch, register string, i int, now uint32) uint32 {
	if now-s.Word(register+".since", i) <= uint32(s.Constant("HOLD")) {
		return s.Word(register+".paths", i)
	}
	return 0
}

// bitOf is the bit of a path; none for a path that the program does not have.
func bitOf(s *model.Switch, path model.Path) uint32 {
	if path &= s.PathCells - 1; path < s.Paths {
		return 1 << (s.PathCells - 1 - path)
	}
	return 0
}

// hearOnTofino processes egress's report of departures, and a message of a
// neighbour, which it relays to a group.
func hearOnTofino(s *model.Switch, p *model.Packet) {
	p.Ends = true
	if p.Reported != nil {
		countBytes(s, p, int(p.Reported["in_port"]), p.Class, uint32(p.Reported["departed"]))
		return
	}
	c, window := p.Local, uint32(s.Constant("WINDOW"))
	n, _ := s.Entry("fabric_port", p.InPort)
	if c["active"] == 1 {
		switch {
		case c["scope"] == ScopeAll:
			note(s, "warned_all", 0, uint32(p.Now), window, bitOf(s, model.Path(n["path"])))
		case c["scope"] < int64(s.Leaves):
			note(s, "warned", int(c["scope"]), uint32(p.Now), window, bitOf(s, model.Path(n["path"])))
		}
	}
	relay(s, p, int(n["relay_group"]))
}

// slowTrips are classes of long round trips: longer than the base RTT by more than so
// many recirculations. Without section IV, there is only the first.
var slowTrips = [...]int{1, 4, 16}

// SlowClasses is the number of classes.
const SlowClasses = len(slowTrips)

// learnOnTofino reads the echo of a stamp: whether the path in its lowest bits is
// slow. With section IV, half of the packets, by bit 3 of their time, add the path to
// the classes for which it is late, the others remove it from the rest.
func learnOnTofino(s *model.Switch, p *model.Packet) {
	h, now := p.Fabric, uint32(p.Now)
	if h["echoed"] == 0 {
		return
	}
	s.Note("round-trip time")
	leaf, bit := int(h["src_leaf"])&(s.Leaves-1), bitOf(s, int(h["echo"]))
	late := func(class int) bool {
		slow := s.Setting("Compath", []string{"slow", "slow_2", "slow_3"}[class])
		return int32(uint32(h["echo"])+uint32(slow)-now) < 0
	}
	lengthens, bits := late(0), bit<<s.PathCells
	if adaptive(s) {
		lengthens, bits = now>>3&1 == 1, 0
		for i := range SlowClasses {
			if late(i) == lengthens {
				bits |= bit << ((i + 1) * s.PathCells)
			}
		}
	}
	switch {
	case !lengthens:
		s.SetWord("warned.paths", leaf, s.Word("warned.paths", leaf)&^bits)
	case late(0):
		note(s, "warned", leaf, now, uint32(s.Constant("HOLD")), bits)
	}
}

// worth is the right side of Eq. 6 less the next recirculation, which takes trc: by
// how much the other path is slower than a path. It reports false if the other is not
// slow, or both are.
func worth(s *model.Switch, heard uint32, path, other model.Path, trc int64) (worth int64, slower bool) {
	slow := func(class int) uint32 { return heard >> ((class + 1) * s.PathCells) & (1<<s.PathCells - 1) }
	classes := 1
	if adaptive(s) {
		classes = SlowClasses
	}
	for i := classes - 1; i >= 0; i-- {
		if slow(i)&bitOf(s, other) != 0 && slow(0)&bitOf(s, path) == 0 {
			return trc * int64(slowTrips[i]-1), true
		}
	}
	return 0, false
}

// rerouteOnTofino is Algorithm 1 for a packet that has a choice. Round trips have
// classes: it only matters whether the other path is slower.
func rerouteOnTofino(s *model.Switch, p *model.Packet) {
	now, other := uint32(p.Now), 0
	heard := look(s, "warned", int(p.Leaf), now)
	blocked := heard | look(s, "warned_all", 0, now)
	mayPass := func() bool { return int64(p.Passes) < s.Setting("Stoprecir", "most") }
	if adaptive(s) {
		blocked |= findFault(s, p)
		mayPass = limit(s, p, heard, &other)
	}
	warned := func(q model.Path) bool { return blocked&(1<<s.PathCells-1)&bitOf(s, q) != 0 }
	free := func() (q model.Path, ok bool) {
		q, ok = s.NextOnTofino(p, func(q model.Path) bool { return !warned(q) })
		other = q
		return q, ok
	}
	a := Alg1{
		Warned: warned,
		RTT: func(q model.Path) model.Time {
			_, slower := worth(s, heard, p.Path, q, 0)
			return model.Bit(slower && q != p.Path)
		},
		Known:          func(model.Path) bool { return true },
		Next:           free,
		Free:           free,
		MayRecirculate: func(model.Path, model.Time) bool { return mayPass() },
	}
	d := a.Route(p.Path)
	p.Path, p.OutPort = d.Path, p.First+d.Path
	switch {
	case d.Flag == Recirculated:
		s.Note("recirculation")
		s.Counted["recirculations"]++
		p.Passes++
		p.Again, p.OutPort = true, s.RecirculationPort
	case d.Flag == Rerouted:
		s.Note("reroute")
		s.Counted["reroutes"]++
	case d.Warned:
		s.Note("warned path taken")
	}
}

// limit is section IV-B.1: Eq. 5 for a window of 1024 ns, in packets whose size is a
// power of two, and Eq. 6.
func limit(s *model.Switch, p *model.Packet, heard uint32, other *model.Path) func() bool {
	const windowBits = 10
	packets, number := s.Cell("window_packets.packets", 0), s.Cell("window_packets.number", 0)
	before, now := int64(0), uint32(p.Now)
	if uint32(*number) == now>>windowBits {
		before = *packets
	}
	if p.Passes > 0 {
		*packets, *number = before+1, int64(now>>windowBits)
	}
	room := max(0, s.Setting("Stoprecir", "xoff")-int64(int32(p.QueueIn))-s.Setting("Stoprecir", "inflow"))
	budget := room >> bits.Len(uint(s.Network.MTU-1))
	return func() bool {
		worth, _ := worth(s, heard, p.Path, *other, int64(s.Parameter("rlb.pass_time")))
		switch {
		case before >= budget:
			s.Note("denied by Eq. 5")
		case worth < int64(now-uint32(p.Keep["since"])):
			s.Note("denied by Eq. 6")
		case int64(p.Passes) >= s.Setting("Stoprecir", "most"):
			s.Note("denied by the limit")
		default:
			return true
		}
		return false
	}
}

// findFault is Algorithm 2 for a packet; it returns the faulty paths. A packet that
// recirculated for a port more often than the average allows makes the port suspect.
// The port is faulty if it was suspect in the previous window of 65 µs, and no other
// since.
func findFault(s *model.Switch, p *model.Packet) uint32 {
	const windowBits = 16
	if int64(p.Passes) > s.Setting("Stoprecir", "average") {
		s.Note("evidence")
		port, window := uint32(p.First+p.Path), uint32(p.Now)>>windowBits
		if s.Word("suspect_port.port", 0) == port && s.Word("suspect_port.window", 0) == window-1 {
			s.Note("fault")
			s.SetWord("faulty", 0, s.Word("faulty", 0)|bitOf(s, p.Path))
			p.Digest(int64(port), p.Leaf, int64(p.Passes), 1)
		}
		s.SetWord("suspect_port.port", 0, port)
		s.SetWord("suspect_port.window", 0, window)
	}
	return s.Word("faulty", 0)
}

// beginOnTofino draws the number that decides whether a packet is stamped. Where
// switches send messages to senders, it is not drawn for copies and packets that
// recirculate.
func beginOnTofino(s *model.Switch, p *model.Packet) {
	packet := p.Reported == nil && p.Message == nil && p.Queue.Port != manifest.TofinoRecirculation
	if packet || !s.NotifiesSenders() {
		p.Meta["chance"] = s.Below(8)
	}
}

// readOnTofino reads the header in egress of the destination leaf.
func readOnTofino(s *model.Switch, p *model.Packet) {
	if h := p.Fabric; h["stamped"] == 1 {
		*s.Cell("echo_age", int(h["src_leaf"])&(s.Leaves-1)) = int64(s.Clock(p) - uint32(h["stamp"]))
	}
}

// writeOnTofino writes the header at the source leaf. Flags tell whether stamp and
// echo are valid.
func writeOnTofino(s *model.Switch, p *model.Packet) {
	now, age := s.Clock(p), s.Cell("echo_age", int(p.Leaf))
	h := p.Fabric
	h["stamp"], h["echo"] = int64(now|uint32(p.Path)), int64(now-uint32(*age))
	h["stamped"], h["echoed"] = model.Bit(p.Meta["chance"] == 0), model.Bit(*age != 0)
	*age = 0
	if h["stamped"] == 1 {
		s.Note("stamp")
	}
}

// departOnTofino counts departures, and reports earlier ones to ingress, unless they
// are older than 10 ms: then the queue counts as empty.
func departOnTofino(s *model.Switch, p *model.Packet) {
	i, now, told := p.InPort*8+p.Class, uint32(p.Left)&^(model.ReportTick-1), uint32(0)
	bytes := s.Word("departed.bytes", i)
	if since := now - s.Word("departed.told_at", i); since != 0 {
		if since <= forget {
			told = bytes
		}
		bytes = 0
		s.SetWord("departed.told_at", i, now)
	}
	s.SetWord("departed.bytes", i, bytes-uint32(p.Length))
	p.Report(told != 0, "in_port:16 departed:32", model.Fields{"in_port": int64(p.InPort), "departed": int64(told)})
}

// messageOnTofino makes a copy into a warning. The copied packet follows.
func messageOnTofino(s *model.Switch, p *model.Packet) {
	v := p.Message.V
	warning(s, p, int(v["port"]), v["class"], true, p.Raw)
}
