// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
)

// Switch is the model of one switch.
type Switch struct {
	*Program
	Config *Config
	Now    Time
	// Seen counts what happened, to show what the cases test.
	Seen map[string]int
	// Counted are the expected counters of the program's tables.
	Counted map[string]uint64

	Queued func(Queue) int // packets in a queue
	Start  Time            // the times in the registers of a new switch
	// Below returns a random number from 0 to n−1. The program draws the same
	// numbers in the same order.
	Below func(n int64) int64

	cells map[string][]int64
}

// NewSwitch returns a new switch: its counters are zero, and all times in its
// registers are start, long ago. (Programs have clocks of 32 bits and cannot
// distinguish a time from one that is 2^32 ticks earlier. Cases do not go there.)
func NewSwitch(p *Program, c *Config, below func(n int64) int64, start Time) *Switch {
	s := &Switch{Program: p, Config: c, Seen: map[string]int{}, Counted: map[string]uint64{}, Below: below, Start: start,
		cells: make(map[string][]int64, len(p.Registers))}
	for _, r := range p.Registers {
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

// Cell is a cell of a register, or of a field of one: "register.field". The
// values are whole numbers, of which the program has the low bits. Names that are
// no registers of the program are state of the model only.
func (s *Switch) Cell(register string, i int) *int64 {
	list, ok := s.cells[register]
	if !ok {
		list = make([]int64, 1024)
		s.cells[register] = list
	}
	return &list[i]
}

// Word is a cell as a Tofino has it, of 32 bits.
func (s *Switch) Word(register string, i int) uint32 { return uint32(*s.Cell(register, i)) }

// SetWord is the reverse.
func (s *Switch) SetWord(register string, i int, v uint32) { *s.Cell(register, i) = int64(v) }

// Note counts an event.
func (s *Switch) Note(what string) {
	s.Seen[what]++
}

// Config is the configuration that a controller writes.
type Config struct {
	Leaf   int64 // number of this leaf, −1 for another switch
	Routes []Route
	Groups map[int][]int // multicast groups
	// Tables has the entries of the other tables. Those of fabric_port are ports to
	// other switches, with the port's path and the group to which the neighbour's
	// warnings are relayed, 0 for none. Those of Forward are ports for output.
	Tables map[string]Entries
}

// Entries are those of a table, by port, or by queue as QueueCell counts; -1
// is the default action.
type Entries map[int]Args

// Args are arguments of an action by their names.
type Args map[string]int64

// Default is the index of the default action among a table's entries.
const Default = -1

// A Route leads to a host of this leaf, or to the /24 of another leaf's hosts or one of
// them, by the ports First to First + Paths − 1. Without a choice, the port is First. Of
// several routes the first one counts.
type Route struct {
	Addr  int64
	Leaf  int64 // of a network
	First int
	Paths int
	Shift uint // of the hash: other parts of it count above the leaves
}

// ToHost reports whether the route is that of a single host of this leaf.
func (r *Route) ToHost() bool { return r.Addr&0xff != 0 && r.Paths == 0 }

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

// lookup finds the route of an address. Without a choice, Paths is 1.
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

// Departure is what egress makes of a packet.
type Departure struct {
	Drop, Recirculate bool
	Data              []byte
}

// MostDepth is the largest queue depth that a target reports: it has 19 bits, and
// stands for all larger ones.
const MostDepth = 1<<19 - 1

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
	// QueueWas is its ingress queue before it came, or before it left, even if the
	// queue counts as empty now.
	QueueWas Bytes
	charged  Bytes // in its egress queue
	mark     int64 // of the recirculation queue

	// Queue is the queue that ingress chose, or of Group, a multicast group, the
	// class. Digests are messages to the controller.
	Queue   Queue
	Group   int
	Digests [][]int64

	// In egress: the length of the queue in units of the target when the packet
	// came (on a Tofino) and now, both times, and the packet's length without
	// and with the headers that ingress added for egress.
	Ahead, Behind int64
	Came, Left    Time
	FrameLen      Bytes
	Whole         Bytes

	// Keep has values of schemes that stay with a packet that recirculates, Meta
	// those for one pass.
	Keep, Meta map[string]int64

	Resubmitted bool // ingress processes it a second time
	Resubmit    bool // ingress will process it a second time

	Probe    bool             // it measures a path
	Reported map[string]int64 // a report of egress to ingress
	report   []byte
	reports  bool

	// Message is what the packet is, if the switch has made it, or what a copy of
	// it becomes. Limit truncates it. Ends drops the packet.
	Message *Message
	Limit   int
	Ends    bool
	Copy    []byte // bytes of a copy on a Tofino
	Raw     []byte // those behind Message.Head
	asCame  []byte
}

// NewPacket is a frame that arrives.
func (s *Switch) NewPacket(data []byte, port int, now Time) *Packet {
	if s.Tofino && port >= s.Ports {
		port = 0
	}
	return &Packet{Frame: s.Parse(data), asCame: data, Length: Bytes(len(data)), Now: now, InPort: port, Keep: map[string]int64{}}
}

// Recirculated is a packet that comes back to ingress.
func (s *Switch) Recirculated(p *Packet, data []byte) *Packet {
	if s.Tofino {
		p.asCame = data
		return p
	}
	c := s.NewPacket(data, p.InPort, p.Now)
	c.Passes, c.Path, c.Counted, c.mark, c.Keep = p.Passes, p.Path, p.Counted, p.mark, p.Keep
	return c
}

// A Message is a packet that a switch makes of a copy of another.
type Message struct {
	Of   string // the scheme that rewrites it
	Kind int
	V    Fields
	// Session of the clone, and on a Tofino its header.
	Session int
	Head    []byte
	Packet  *Packet // the copy, unless it is rewritten
}

// Request makes a copy of the packet a message. A packet can be copied once: the
// first request counts.
func (p *Packet) Request(m *Message) bool {
	if p.Message != nil {
		return false
	}
	p.Message = m
	return true
}

// ToNeighbour makes the packet a message to a neighbour, with data behind it.
func (p *Packet) ToNeighbour(src uint64, local Fields, rest []byte) {
	p.Frame = &Frame{Dst: 0x0180c200000e, Src: src, Type: TypeLocal, Rest: rest, Local: local}
}

// Multicast sends the packet to a group of ports, in the highest class.
func (p *Packet) Multicast(s *Switch, group int) {
	if p.Group = group; s.Classes == 8 {
		p.Queue.Class = 7
	}
}

// Digest sends a message to the controller.
func (p *Packet) Digest(values ...int64) { p.Digests = append(p.Digests, values) }

// Report adds values to the report of egress to ingress. It is sent if any part of
// it is due.
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
