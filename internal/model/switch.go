// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
)

// Switch is the model of one switch.
type Switch struct {
	*Program
	Config *Config
	Now    Time
	// Seen counts what happened, to see that the cases drawn are of interest.
	Seen map[string]int
	// Counted is what the counters of the program's tables must say.
	Counted map[string]uint64

	Queued map[Queue]int // packets in the queues

	rng   draws
	start Time // of a new switch's clocks
	cells map[string][]int64
}

// NewSwitch returns a switch that remembers nothing: its counters are zero and
// all its times are start, long ago. (Programs have clocks of 32 bits: they do
// not distinguish what was two seconds ago from what is now, and the judge does not
// ask them to.)
func NewSwitch(p *Program, c *Config, seed uint64, start Time) *Switch {
	s := &Switch{Program: p, Config: c, Seen: map[string]int{}, Counted: map[string]uint64{}, Queued: map[Queue]int{}, rng: draws{seed}, start: start}
	s.cells = make(map[string][]int64, len(p.registers))
	for k := range p.registers {
		r := &p.registers[k]
		list := make([]int64, r.Size)
		for i := range list {
			switch {
			case r.Init != nil:
				list[i] = r.Init(s, i)
			case !p.Tofino && r.isTime():
				list[i] = start
			}
		}
		s.cells[r.Name] = list
	}
	return s
}

// Start is what the clocks of a new switch say.
func (s *Switch) Start() Time { return s.start }

// isTime reports whether a register has times, not durations: they are drawn
// and initialised as such.
func (r *RegisterCells) isTime() bool {
	return (r.Unit == "ns" || r.Unit == "us") && r.Draw == nil && !r.Duration && r.Period == 0
}

// Cell is a cell of a register, or of a field of one: "register.field". The
// values are whole numbers, of which the program has the low bits. A Switch has
// the cells of all registers that its schemes ask for.
func (s *Switch) Cell(register string, i int) *int64 {
	list, ok := s.cells[register]
	if !ok || i >= len(list) {
		if ok && s.has(register) {
			panic(fmt.Sprintf("BUG: register %s has no cell %d", register, i))
		}
		list = append(list, make([]int64, max(i+1, 1024)-len(list))...)
		s.cells[register] = list
	}
	return &list[i]
}

func (s *Switch) has(register string) bool {
	return slices.ContainsFunc(s.registers, func(r RegisterCells) bool { return r.Name == register })
}

// Word is a cell as a Tofino has it, of 32 bits.
func (s *Switch) Word(register string, i int) uint32 { return uint32(*s.Cell(register, i)) }

// SetWord is the reverse.
func (s *Switch) SetWord(register string, i int, v uint32) { *s.Cell(register, i) = int64(v) }

// Note counts an event.
func (s *Switch) Note(what string) {
	s.Seen[what]++
}

// Below draws a number from 0 to n−1.
func (s *Switch) Below(n int64) int64 { return s.rng.below(n) }

// draws are the random numbers of the program: what package interp draws from
// the same seed (SplitMix64), so that the model sees the same ones. The
// order of the draws is part of what the model says.
type draws struct{ state uint64 }

func (d *draws) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	x := d.state
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (d *draws) below(n int64) int64 {
	hi, lo := bits.Mul64(d.next(), uint64(n))
	for limit := -uint64(n) % uint64(n); lo < limit; {
		hi, lo = bits.Mul64(d.next(), uint64(n))
	}
	return int64(hi)
}

// Config is what the controller tells a switch.
type Config struct {
	Leaf   int64 // number of this leaf, −1 for another switch
	Routes []Route
	Groups map[int][]int // multicast groups
	// Tables has the entries of the other tables: fabric_port those of ports that
	// lead to switches, Forward those of ports that packets may leave by.
	Tables map[string]Entries
}

// Entries are those of a table, by port, or by queue as QueueCell counts; -1
// is the default action.
type Entries map[int]Args

// Args are arguments of an action by their names.
type Args map[string]int64

// Default is the index of the default action among a table's entries.
const Default = -1

// A Route leads to a host of this leaf, or to the /24 of another leaf's hosts:
// by the ports First to First + Paths − 1, or, where there is no choice, by
// First alone.
type Route struct {
	Addr  int64
	Leaf  int64 // of a network
	First int
	Paths int
	Shift uint // of the hash: other parts of it count above the leaves
}

// ToHost reports whether the route is that of a single host.
func (r *Route) ToHost() bool { return r.Addr&0xff != 0 }

// Neighbour is the entry of a port to another switch: the path that the port is,
// and the group that receives what the neighbour warns of, 0 for none.
func (c *Config) Neighbour(port int) (a Args, known bool) {
	a, known = c.Tables["fabric_port"][port]
	return a, known
}

// forwards reports whether packets may leave by a port.
func (c *Config) forwards(port int) bool { return c.Tables["Forward"][port] != nil }

// Entry is a table's entry for a port or queue, or its default action.
func (s *Switch) Entry(table string, i int) (Args, bool) {
	if a, ok := s.Config.Tables[table][i]; ok {
		return a, true
	}
	a, ok := s.Config.Tables[table][Default]
	return a, ok
}

// Setting is an argument of a table's default action; 0 where there is none.
func (s *Switch) Setting(table, arg string) int64 { return s.Config.Tables[table][Default][arg] }

// A Hop is where a packet goes next.
type Hop int

// Hops; ToChoice is one of several paths.
const (
	Nowhere Hop = iota
	ToHost
	ToChoice
	ToSwitch
)

// lookup finds the route of an address. There is one path, unless there is a
// choice.
func (c *Config) lookup(addr int64) (Route, Hop) {
	for _, r := range c.Routes {
		switch {
		case r.Addr != addr && r.Addr != addr&^0xff:
		case r.ToHost():
			return Route{First: r.First, Paths: 1}, ToHost
		case r.Paths > 1:
			return r, ToChoice
		default:
			return Route{First: r.First, Paths: 1}, ToSwitch
		}
	}
	return Route{}, Nowhere
}

// Queue is one of the queues between ingress and egress.
type Queue struct{ Port, Class int }

// Outcome is what ingress decides about a packet.
type Outcome struct {
	Drop        bool
	Port, Class int  // queue
	Group       int  // multicast group; 0 for none
	Again       bool // resubmitted
	Digest      [][]int64
}

// Departure is what egress makes of a packet.
type Departure struct {
	Drop, Recirculate bool
	Data              []byte
	Elided            int
}

// Cut makes what follows the first n bytes go away.
func (d *Departure) Cut(n int) {
	over := max(len(d.Data)+d.Elided-n, 0)
	less := min(over, d.Elided)
	d.Elided -= less
	d.Data = d.Data[:len(d.Data)-(over-less)]
}

// A Packet on its way through the model.
type Packet struct {
	*Frame
	Length  Bytes // on arrival
	Now     Time
	InPort  int // of the topology; 0 for another one
	OutPort int
	Class   int
	Passes  int  // recirculations so far
	Again   bool // it is to pass once more

	Route
	Hop   Hop
	Path  Path
	Hash  uint32  // of the five-tuple
	Drawn []int64 // Base.Draws

	Counted Bytes // in its ingress queue
	QueueIn Bytes // its ingress queue with it
	// QueueWas is its ingress queue before it came, or before it left: as counted
	// then, even if that is forgotten now.
	QueueWas Bytes
	charged  Bytes // in its egress queue
	mark     int64 // of the recirculation queue

	// In egress: the queue that it leaves, lengths of that in units of the
	// target when it came (on a Tofino) and now, when it came and now, and
	// the packet's length without and with what ingress has put before it for
	// egress.
	// Link is the port, on a Tofino by its number in the topology.
	Queue         Queue
	Link          int
	Ahead, Behind int64
	Came, Left    Time
	FrameLen      Bytes
	Whole         Bytes

	// Keep has notes of schemes that go with a packet that recirculates, Meta
	// those for one pass.
	Keep, Meta map[string]int64

	Resubmitted bool // ingress has it a second time
	Resubmit    bool // and shall

	Outcome *Outcome // of ingress, as far as it is decided

	Probe    bool             // it is there to measure a path
	Reported map[string]int64 // by egress to ingress
	report   []byte
	reports  bool

	Session int      // of a copy
	Head    []byte   // of a copy on a Tofino
	Raw     []byte   // behind that
	message *Message // that the packet is, or that a copy of it becomes
	asCame  []byte
	limit   int // length that a message is cut to
	ends    bool
}

// NewPacket is a frame that arrives.
func (s *Switch) NewPacket(data []byte, elided, port int, now Time) *Packet {
	if s.Tofino && port >= s.Ports {
		port = 0
	}
	return &Packet{Frame: s.Parse(data, elided), asCame: data, Length: Bytes(len(data) + elided), Now: now, InPort: port,
		Keep: map[string]int64{}, Meta: map[string]int64{}}
}

// Recirculated is a packet that comes back on v1model.
func (s *Switch) Recirculated(p *Packet, data []byte, elided int) *Packet {
	c := s.NewPacket(data, elided, p.InPort, p.Now)
	c.Passes, c.Path, c.Counted, c.mark, c.Keep = p.Passes, p.Path, p.Counted, p.mark, p.Keep
	return c
}

// A Message is a packet that a switch makes itself, of a copy of another.
type Message struct {
	Of   string // scheme whose it is
	Kind int
	V    Fields
	// Session of the clone, and on a Tofino its header.
	Session int
	Head    []byte
	Packet  *Packet // that the copy is from then on, if it is one
}

// Request has a copy of the packet sent as a message. A packet can be copied
// once: the first request counts.
func (p *Packet) Request(m *Message) bool {
	if p.message != nil {
		return false
	}
	p.message = m
	return true
}

// Requested reports whether the packet is copied already.
func (p *Packet) Requested() bool { return p.message != nil }

// Message is what the packet is, if the switch has made it.
func (p *Packet) Message() *Message { return p.message }

// Cut limits the length of a message.
func (p *Packet) Cut(n int) { p.limit = n }

// End drops the packet.
func (p *Packet) End() { p.ends = true }

// ToNeighbour makes the packet a message to a neighbour, with what is behind it.
func (p *Packet) ToNeighbour(src uint64, local Fields, rest []byte) {
	p.Frame = &Frame{Dst: 0x0180c200000e, Src: src, Type: TypeLocal, Rest: rest, Elided: p.Elided, Local: local}
}

// Multicast sends the packet to a group of ports, in the highest class.
func (p *Packet) Multicast(s *Switch, group int) {
	p.Outcome.Drop, p.Outcome.Group = false, group
	if s.Classes == 8 {
		p.Outcome.Class = 7
	}
}

// Digest sends a message to the controller.
func (p *Packet) Digest(values ...int64) { p.Outcome.Digest = append(p.Outcome.Digest, values) }

// Report adds to what egress reports to ingress; it is sent if any of those
// who add to it say that it is due.
func (p *Packet) Report(due bool, list string, v Fields) {
	p.reports = p.reports || due
	p.report = v.Append(p.report, list)
	maps.Copy(p.Meta, v)
}

// ReportedQueue is the queue of a path, among several, that egress reports.
func (p *Packet) ReportedQueue() (path Path, queue Bytes, ok bool) {
	return Path(p.Reported["path"]), p.Reported["queue"], Hop(p.Reported["hop"]) == ToChoice
}

// Out is the place of the packet's egress queue, In that of its ingress queue.
func (s *Switch) Out(p *Packet) int { return s.QueueCell(p.OutPort, p.Class) }

// In is the place of the packet's ingress queue.
func (s *Switch) In(p *Packet) int { return s.QueueCell(p.InPort, p.Class) }

// Flow is the place of the packet's flow.
func (s *Switch) Flow(p *Packet) int { return int(p.Hash) & (s.Flows - 1) }
