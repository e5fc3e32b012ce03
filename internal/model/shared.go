// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/vtime"
)

// What several schemes use: queue lengths, pauses, flowlets, the load of links,
// round-trip times.

func init() {
	Add(Scheme{Name: "recirculation", Registers: map[string]Register{"recirc_sent": {Most: 1<<32 - 1}},
		Settle: func(s *Switch) { // what was drawn is the queue
			returned := s.Cell("recirc_returned", 0)
			*returned = Mod32(*s.Cell("recirc_sent", 0) - *returned)
		}})
	Add(Scheme{Name: "pfc",
		Registers: map[string]Register{
			"paused_until": {LosslessOnly: true, Init: func(s *Switch, _ int) int64 { return s.Start },
				Set: func(s *Switch, i int, v int64) {
					*s.Cell("paused_until", i), *s.Cell("resume_at", i) = v, v
				}},
			// It tells the program that paused_until was set once, and may be 1 for
			// longer than necessary.
			"pause_seen": {LosslessOnly: true,
				Get: func(*Switch, int) (int64, bool) { return 1, false },
				Set: func(*Switch, int, int64) {}},
		}})
	Add(Scheme{Name: "egress_qlen",
		Registers: map[string]Register{
			"egress_qlen_copy": {
				Get: func(s *Switch, i int) (int64, bool) { return *s.Cell("egress_qlen", i), true },
				Set: func(*Switch, int, int64) {}},
		},
		Tofino: Stages{Depart: reportQueue, Hear: hearQueue}})
	Add(Scheme{Name: "shared_buffer", V1model: Stages{Count: takeBuffer, Left: leaveBuffer},
		Registers: map[string]Register{"buffer_used": {Draw: func(g *Drawer, _ int) int64 {
			return g.UpTo(g.Arg("shared_buffer", "size") + g.Scale)
		}}}})
	Add(Scheme{Name: "dre",
		Registers: map[string]Register{
			"link_load.bytes":  {Draw: drawSent},
			"link_load.window": {Period: windowBits},
			"link_last":        {Draw: drawSent},
		},
		V1model: Stages{Depart: func(s *Switch, p *Packet) {
			if e, known := s.Config.Tables["link"][p.OutPort]; known {
				d := s.dre(p.OutPort)
				d.Packet(p.Left, uint(s.Units.LoadShift(1)), p.Whole, e["weight"])
				p.Meta["load"] = *d.X
			}
		}}})
	Add(Scheme{Name: "flowlet",
		Registers: map[string]Register{"flowlet_path": FlowPath()}})
	Add(Scheme{Name: "rtt",
		Header: "stamped:1 echoed:1 reserved:6 stamp:32 echo_path:8 echo:32",
		Fill: func(g *Drawer, h Fields) {
			h["stamped"], h["echoed"] = g.UpTo(1), g.UpTo(1)
			h["stamp"], h["echo"] = Mod32(g.Now-g.Duration(0)), Mod32(g.Now-g.Duration(0)-1)
			h["echo_path"] = g.R.Int64N(int64(g.PathCells))
		},
		V1model: Stages{Learn: learnRTT, Write: stamp}})
}

// FlowPath is a register of the paths of flows: on v1model the path plus one, and
// zero for none; on a Tofino the path, and 255 for none.
func FlowPath() Register {
	return Register{
		Init: func(s *Switch, _ int) int64 {
			if s.Tofino {
				return NoPath
			}
			return 0
		},
		Draw: func(g *Drawer, _ int) int64 {
			if g.Tofino {
				return Pick(g, NoPath, g.R.Int64N(int64(g.PathCells)))
			}
			return g.R.Int64N(int64(g.PathCells) + 1)
		}}
}

// NoPath is the path of an unknown flow in a Tofino's registers.
const NoPath = 255

// Queues.

// count counts a packet in its ingress queue. A queue without arrivals for a long
// time counts as empty, even if departures were not seen.
func (s *Switch) count(p *Packet) {
	i := s.In(p)
	q, last, watched := s.Cell("ingress_qlen", i), Time(0), false
	if s.Register("arrived_at") != nil {
		at := s.Cell("arrived_at", i)
		last, watched, *at = *at, true, p.Now
	}
	for _, x := range s.Schemes {
		if x.LastSample != nil {
			last, watched = x.LastSample(s, i)
		}
	}
	p.QueueWas = *q
	if watched && p.Now-last > s.Forget() {
		*q = 0
	}
	*q += p.Length
	p.Counted, p.QueueIn = p.Length, *q
	s.run(Count, p)
}

// uncount takes the packet off its ingress port's queue length.
func (s *Switch) uncount(p *Packet) {
	q := s.Cell("ingress_qlen", s.In(p))
	p.QueueWas = *q
	*q = max(0, *q-p.Counted)
	p.QueueIn = *q
	s.run(Left, p)
}

// uncharge removes the packet from its egress queue. The target reports if the
// queue is empty.
func (s *Switch) uncharge(p *Packet) {
	if p.charged == 0 {
		return
	}
	q := s.Cell("egress_qlen", s.Out(p))
	*q = max(0, *q-p.charged)
	if p.Behind == 0 {
		*q = 0
		if s.Is("pfc_emulated") {
			*q = *s.Cell("held_qlen", s.Out(p))
		}
	}
}

// The shared buffer.

// beyond is the part of an ingress queue in the shared buffer: what its reserve does
// not hold.
func beyond(q, reserve Bytes) Bytes { return max(0, q-reserve) }

// reserveOf is the reserve of a packet's ingress queue. Only the lossless class has
// one.
func reserveOf(s *Switch, p *Packet) Bytes {
	if s.Classes == 8 && p.Class != s.Lossless {
		return 0
	}
	return s.Setting("shared_buffer", "reserve")
}

// takeBuffer counts a packet in the shared buffer, leaveBuffer removes it.
func takeBuffer(s *Switch, p *Packet) {
	p.Keep["reserve"] = reserveOf(s, p)
	used := s.Cell("buffer_used", 0)
	*used = max(0, *used-beyond(p.QueueWas, p.Keep["reserve"])) + beyond(p.QueueIn, p.Keep["reserve"])
}

func leaveBuffer(s *Switch, p *Packet) {
	used := s.Cell("buffer_used", 0)
	*used = max(0, *used-(beyond(p.QueueWas, p.Keep["reserve"])-beyond(p.QueueIn, p.Keep["reserve"])))
}

// Threshold is the present threshold of a packet's ingress queue, where all share
// a buffer of size: its reserve, and α times the free part of the buffer. It is the
// dynamic threshold of Choudhury and Hahne (IEEE/ACM ToN, 1998), as in HPCC's
// simulator and in switch chips: α is a power of two, 8 / 2^shift.
func (s *Switch) Threshold(p *Packet, size Bytes, shift int64) Bytes {
	free := max(0, size-*s.Cell("buffer_used", 0))
	return p.Keep["reserve"] + (free<<3)>>shift
}

// EgressQueue is the length of the egress queue of one of the packet's paths.
func (s *Switch) EgressQueue(p *Packet, path Path) Bytes {
	if s.Tofino {
		return *s.Cell("egress_qlen", path*8+p.Class)
	}
	return *s.Cell("egress_qlen", s.QueueCell(p.First+path, p.Class))
}

// ReportAgain is the least time between two reports of a queue from egress to
// ingress, in nanoseconds. They are further apart.
const ReportAgain = 1000

// ReportTick is the length of the ticks in each of which egress reports departures to
// ingress at most once, in nanoseconds.
const ReportTick = 1024

// Due reports whether egress reports a queue to ingress again.
func (s *Switch) Due(p *Packet) bool {
	last, now := s.Cell("queue_told_at", p.OutPort*8+p.Class), int64(s.Clock(p))
	if Mod32(now-*last) <= ReportAgain {
		return false
	}
	*last = now
	return true
}

// Clock is the time in egress of a Tofino, of 32 bits. Where round trips are measured
// for RLB, its lowest bits are for paths.
func (s *Switch) Clock(p *Packet) uint32 {
	if s.RecirculationPort != 0 {
		return uint32(p.Left &^ Time(s.PathCells-1))
	}
	return uint32(p.Left)
}

// reportQueue reports the queue of a path to ingress of a Tofino: the cells behind
// the packet.
func reportQueue(s *Switch, p *Packet) {
	list := "path:8 queue:32"
	if s.RecirculationPort != 0 {
		list = "hop:8 " + list
	}
	p.Report(p.Hop == ToChoice && s.Due(p), list, Fields{"hop": int64(p.Hop), "path": int64(p.Path), "queue": p.Behind * manifest.CellBytes})
}

// hearQueue stores the report in ingress.
func hearQueue(s *Switch, p *Packet) {
	if path, queue, ok := p.ReportedQueue(); ok {
		*s.Cell("egress_qlen", path*8+p.Class) = queue
	}
}

// Marks.

// MarkCE sets ECN's CE in packets that may be marked. Packets with IP options are
// not: the program cannot compute their checksum.
func (s *Switch) MarkCE(p *Packet) {
	if s.ECNCapable(p) {
		s.Note("mark")
		p.IP["ecn"] = 3
		p.UpdateChecksum()
	}
}

// ECNCapable reports whether a packet may be marked.
func (s *Switch) ECNCapable(p *Packet) bool { return p.IP != nil && p.IP["ecn"] != 0 && p.plain() }

// Priority-based flow control, IEEE 802.1Qbb.

// hearPFC processes a PFC frame. Only the lossless class can be paused.
func (s *Switch) hearPFC(p *Packet) {
	e, known := s.Config.Tables["pfc_port"][p.InPort]
	if !known || p.PFC["opcode"] != 0x0101 || p.PFC["classes"]>>s.Lossless&1 == 0 {
		return
	}
	i := s.QueueCell(p.InPort, s.Lossless)
	until := PauseEnds(p.PFC["pause"+string(rune('0'+s.Lossless))], Ratio{e["unit"], 1024}, p.Now)
	*s.Cell("paused_until", i), *s.Cell("resume_at", i) = until, until
	s.Idle(p.Now)
}

// PauseEnds is the end of a pause of a number of quanta of 512 bit times; zero is a
// RESUME.
func PauseEnds(quanta int64, quantum Ratio, now Time) Time { return now + quantum.Times(quanta) }

// Paused reports whether an egress queue may not send.
func (s *Switch) Paused(i int, now Time) bool { return now < *s.Cell("paused_until", i) }

// Flowlets (LetFlow, section 3; CONGA, section 3.4).

// A Flowlet is an entry of a flowlet table.
type Flowlet struct {
	Valid bool
	Path  Path
	Last  Time // arrival of its last packet
}

// Active reports whether a packet at time now still belongs to the flowlet: a
// gap longer than the timeout ends it. With a timeout of zero each packet is a
// flowlet.
func (f *Flowlet) Active(now, gap Time) bool { return f.Valid && gap > 0 && now-f.Last <= gap }

// Flowlet is the entry of the packet's flow on v1model. It is not valid if its path does not
// exist (any more).
func (s *Switch) Flowlet(p *Packet) *Flowlet {
	path := Path(*s.Cell("flowlet_path", s.Flow(p))) - 1
	return &Flowlet{Valid: path >= 0 && path < p.Paths, Path: max(path, 0), Last: *s.Cell("flowlet_time", s.Flow(p))}
}

// SetFlowlet writes the entry, for a packet that is now the last one.
func (s *Switch) SetFlowlet(p *Packet, path Path) Path {
	*s.Cell("flowlet_path", s.Flow(p)), *s.Cell("flowlet_time", s.Flow(p)) = int64(path)+1, p.Now
	return path
}

// FollowFlowlet moves the rest of a flowlet to the path of a packet that RLB
// rerouted.
func FollowFlowlet(s *Switch, p *Packet) {
	*s.Cell("flowlet_path", s.Flow(p)) = int64(p.Path) + 1
}

// BeginsFlowlet reports whether a packet begins a flowlet on a Tofino: it comes at
// least the timeout after the previous one.
func (s *Switch) BeginsFlowlet(p *Packet) bool {
	last, now := s.Cell("flowlet_time", s.Flow(p)), uint32(p.Now)
	begins := Since(uint32(*last), now, uint32(s.Setting("flowlet", "gap")))
	*last = int64(now)
	return begins
}

// FollowOrTake returns the path of a flowlet on a Tofino. A flowlet that begins gets
// the given path, as does one whose path does not exist any more.
func (s *Switch) FollowOrTake(p *Packet, begins bool, path Path) Path {
	f := s.Cell("flowlet_path", s.Flow(p))
	if begins || *f >= int64(p.Paths) {
		*f = int64(path)
	}
	return Path(*f)
}

// HashPath is the path by the packet's hash: by hash-threshold (RFC 2992), which
// gives each of n paths an equal share of the values. On a Tofino there are 256
// values, from another part of the hash in each tier.
func (s *Switch) HashPath(p *Packet) Path {
	if !s.Tofino {
		return Path(int64(uint16(p.Hash>>p.Shift)) * int64(p.Paths) >> 16)
	}
	return Share(int64(p.Hash>>min(p.Shift+8, 24)&255), p.Paths)
}

// NextOnTofino is the next choice of the base scheme on a Tofino.
func (s *Switch) NextOnTofino(p *Packet, free func(Path) bool) (Path, bool) {
	if s.Base.Second == nil {
		return FirstFree(p, free)
	}
	return firstFree(p, s.Base.Second(s, p), free)
}

// FirstFree is the first path after the packet's that is free.
func FirstFree(p *Packet, free func(Path) bool) (Path, bool) {
	return firstFree(p, InTurn(p.Path, p.Paths), free)
}

// firstFree is the first other path, from one in turn, that is free.
func firstFree(p *Packet, q Path, free func(Path) bool) (Path, bool) {
	for range p.Paths {
		if q != p.Path && free(q) {
			return q, true
		}
		q = InTurn(q, p.Paths)
	}
	return 0, false
}

// LeastFree is the free path of the least metric, the first of them in turn from
// the packet's.
func LeastFree(p *Packet, free func(Path) bool, metric func(Path) int64) (Path, bool) {
	q := Least(p.Paths, p.Path, func(q Path) int64 {
		if !free(q) {
			return math.MaxInt64
		}
		return metric(q)
	})
	return q, free(q)
}

// AnotherDraw is a random path; if that is not free, the first free path in
// turn.
func AnotherDraw(s *Switch, p *Packet, free func(Path) bool) (Path, bool) {
	if q := Path(s.Below(int64(p.Paths))); free(q) {
		return q, true
	}
	return FirstFree(p, free)
}

// Loads of links.

// A DRE is the discounting rate estimator of a link (CONGA, section 3.2): "X is
// incremented for each packet sent over the link by the packet size in bytes,
// and is decremented periodically (every T_dre) with a multiplicative factor α
// between 0 and 1: X ← X × (1 − α)". Its time constant is τ = T_dre/α.
//
// Reading: X is decremented when a packet is sent, in proportion to the time since
// the last one: X ← X × (1 − Δ/τ), which is zero after τ. The unit of X is C·τ/2^16,
// so that X of a full link is 2^16.
type DRE struct {
	X    *int64
	Last *Time // of the last packet
}

// At returns X at time now, for τ of 2^tau ticks.
func (d DRE) At(now Time, tau uint) int64 {
	dt := now - *d.Last
	if dt >= 1<<tau {
		return 0
	}
	return *d.X - Ratio{dt, 1 << tau}.Times(*d.X)
}

// Packet counts a packet of length bytes, each of which adds weight/2^16.
func (d DRE) Packet(now Time, tau uint, length Bytes, weight int64) {
	*d.X, *d.Last = d.At(now, tau)+Ratio{weight, 1 << 16}.Times(length), now
}

func (s *Switch) dre(port int) DRE { return DRE{s.Cell("link_load", port), s.Cell("link_time", port)} }

// LinkLoad is X of a port's link now.
func (s *Switch) LinkLoad(port int, now Time) int64 {
	return s.dre(port).At(now, uint(s.Units.LoadShift(1)))
}

// windowBits: on a Tofino, the load of a link is the number of bytes in the last
// full window of 2^17 ns.
const windowBits = 17

// usualRates are the rates of links for which a Tofino has table entries.
var usualRates = manifest.LinkRates

// tofinoUnits are the units of a Tofino.
var tofinoUnits = manifest.Units{Time: manifest.Nanoseconds, Depth: manifest.Cells80}

func weightOf(r vtime.Rate) int64 { return int64(manifest.LoadWeight(tofinoUnits.LoadTime(), r)) }

// drawSent draws what a link has sent in a window.
func drawSent(g *Drawer, _ int) int64 {
	return g.UpTo(int64(Pick(g, usualRates...).Bytes(tofinoUnits.LoadTime())))
}

// SentPart counts a packet on a Tofino's link and returns the bytes of the last full
// window, in parts of what the link can send; 0 where the link is not known. The
// program compares units of 4096 bytes, rounded down, so that the load of a slow
// link may be one part too high.
func (s *Switch) SentPart(p *Packet, parts int64) int64 {
	weight := s.Config.Tables["link"][p.OutPort]["weight"]
	if weight == 0 {
		return 0
	}
	before := s.AddSum("link_load.bytes", "link_load.window", p.OutPort, uint32(p.Left)>>windowBits, uint32(p.Whole))
	if before != 0 {
		*s.Cell("link_last", p.OutPort) = int64(before)
	}
	return s.LastPart(p.OutPort, parts)
}

// LastPart is SentPart without a packet that counts.
func (s *Switch) LastPart(port int, parts int64) (part int64) {
	weight, last := s.Config.Tables["link"][port]["weight"], *s.Cell("link_last", port)
	for _, r := range usualRates {
		if weightOf(r) == weight {
			const unit = 4096
			full := int64(r.Bytes(tofinoUnits.LoadTime()))
			for n := int64(1); n < parts && full*n/parts/unit <= last/unit; n++ {
				part = n
			}
		}
	}
	return part
}

// AddSum adds bytes to the sum of a period of time, on a Tofino. If a new period
// begins, it returns the sum of the previous one.
func (s *Switch) AddSum(bytes, number string, i int, period, n uint32) (before uint32) {
	sum, at := s.Cell(bytes, i), s.Cell(number, i)
	if uint32(*at) == period {
		*sum = int64(uint32(*sum) + n)
		return 0
	}
	before = uint32(*sum)
	*sum, *at = int64(n), int64(period)
	return before
}

// CellTime is the time of a cell on a port's link in nanoseconds, rounded up to a
// power of two; 0 if the link has none of the usual rates.
func (s *Switch) CellTime(port int) uint32 {
	for _, rate := range usualRates {
		if int64(manifest.Quantum(tofinoUnits, rate)) == s.Config.Tables["pfc_port"][port]["unit"] {
			t := uint32(1)
			for vtime.Time(t)*vtime.Nanosecond < rate.TxTime(manifest.CellBytes) {
				t *= 2
			}
			return t
		}
	}
	return 0
}

// Held is the queueing delay in nanoseconds, beyond the transmission time of the cells
// ahead, above which a packet counts as delayed by a pause on a Tofino.
const Held = 1000

// DelayedByPause reports whether a packet counts as delayed by a pause. Its time in
// the switch has 32 bits; that in the queue has 18 on the target.
func (s *Switch) DelayedByPause(p *Packet) bool {
	return uint32(p.Left-p.Now) > uint32(p.Ahead)*s.CellTime(p.OutPort)+Held
}

// A Best is the best known path on a Tofino, with its last known value.
type Best struct {
	Value uint32
	Path  uint32
}

// UpdateBest updates the value of a path in a register of the best path, which it returns.
// The path becomes the best one if it is no worse.
func (s *Switch) UpdateBest(value, path string, i int, of Path, v uint32) Path {
	return s.WithBest(value, path, i, func(b *Best) {
		if v <= b.Value || b.Path == uint32(of) {
			*b = Best{v, uint32(of)}
		}
	})
}

// WithBest changes the best path in a register and returns it.
func (s *Switch) WithBest(value, path string, i int, f func(*Best)) Path {
	b := Best{s.Word(value, i), s.Word(path, i)}
	f(&b)
	s.SetWord(value, i, b.Value)
	s.SetWord(path, i, b.Path)
	return Path(b.Path)
}

// Round-trip times: "the source leaf switch calculates the RTT for the
// corresponding path by subtracting the sending time from the arriving time"
// (RLB, section V).

// rttShift is the weight of a sample in the average as a power of two: an
// eighth. Both parts are rounded down.
const rttShift = 3

// learnRTT reads the header at the destination leaf.
func learnRTT(s *Switch, p *Packet) {
	h := p.Fabric
	src := int(h["src_leaf"])
	if src >= s.Leaves {
		return
	}
	if h["stamped"] == 1 {
		i := s.echoCell(h["src_leaf"], int(h["path"]))
		*s.Cell("echo_path", i), *s.Cell("echo_age", i) = (h["path"]+1)&255, Mod32(p.Now-h["stamp"])
	}
	if h["echoed"] == 1 {
		i := s.PathCell(h["src_leaf"], int(h["echo_path"]))
		s.Note("round-trip time")
		rtt, avg := Mod32(p.Now-h["echo"]), s.Cell("path_rtt_avg", i)
		*s.Cell("path_rtt", i), *s.Cell("path_rtt_time", i) = rtt, p.Now
		if *avg == 0 {
			*avg = rtt
		} else {
			*avg += rtt>>rttShift - *avg>>rttShift
		}
	}
}

// stamp writes the header at the source leaf: a stamp on one packet per path and
// interval, and an echo that waits.
func stamp(s *Switch, p *Packet) {
	h := p.Fabric
	last := s.Cell("stamped_at", s.PathCell(p.Leaf, p.Path))
	if Mod32(p.Now-*last) >= s.Setting("leaf_role", "interval") {
		s.Note("stamp")
		h["stamped"], h["stamp"], *last = 1, Mod32(p.Now), p.Now
	}
	s.Echo(p, p.Now)
}

// echoCell is where the stamp waits that came from a leaf by a path: it returns "through
// the same pair of ports", or with any packet to the leaf.
func (s *Switch) echoCell(leaf int64, path Path) int {
	if s.Is("echo_by_path") {
		return s.PathCell(leaf, path)
	}
	return int(leaf)
}

// Echo writes the echo that waits for a packet to a leaf, if there is one.
func (s *Switch) Echo(p *Packet, now Time) {
	i := s.echoCell(p.Leaf, p.Path)
	if waiting := s.Cell("echo_path", i); *waiting != 0 {
		p.Fabric["echoed"], p.Fabric["echo_path"], p.Fabric["echo"] = 1, *waiting-1, Mod32(now-*s.Cell("echo_age", i))
		*waiting = 0
	}
}
