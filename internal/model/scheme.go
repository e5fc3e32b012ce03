// SPDX-License-Identifier: Apache-2.0

package model

import "fmt"

// A Scheme is the model of one feature of a program.
type Scheme struct {
	Name string // in the manifest's list of features

	// Registers are exceptions to what follows from the manifest's description of
	// a register. Settle adjusts registers that depend on others, after all were
	// drawn. Limits are the largest values of tables' arguments ("table.argument")
	// that the program supports, Special are values with a meaning of their own.
	Registers       map[string]Register
	Settle          func(*Switch)
	Limits, Special map[string]int64

	// Header is the scheme's part of the header between leaves, as NewHeader
	// takes it. Fill draws its values. Local are its messages between neighbours
	// by their first byte. Draw draws one, for Frames of 100 frames.
	Header string
	Fill   func(g *Drawer, h Fields)
	Local  map[byte]string
	Frames int
	Draw   func(g *Drawer, leaf int64) Fields
	// BTH reports whether the parser reads the base transport header of a RoCEv2
	// packet. Telemetry is the UDP port of the telemetry that it reads; zero if it
	// reads none.
	BTH       func(f *Frame, port int) bool
	Telemetry int
	// Transport draws the base transport header and what follows it, if the scheme reads
	// more of them than the kind of the packet.
	Transport func(g *Drawer) []byte

	// EveryPacket: all packets between leaves have the header, not only those
	// with a measurement. AllPorts: the egress queues of all ports are counted,
	// not only those that are choices. TrueDepth: the queue depths that the target
	// reports must be true.
	EveryPacket, AllPorts, TrueDepth bool
	// FewFlows: most packets are data of a few flows (Drawer.FlowOf), so that registers
	// have the state of flows that packets come from.
	FewFlows bool

	// LastSample returns when an ingress queue was last sampled on v1model, if the
	// scheme samples it.
	LastSample func(s *Switch, queue int) (t Time, watched bool)

	// Base is set if the scheme chooses the path of a packet. A program whose base
	// load balancer has no model cannot be judged.
	Base *Base

	V1model, Tofino Stages
}

// Base is the contract of a base load balancer.
type Base struct {
	// Look is called on each pass of a packet with several paths, before Choose.
	// Choose is called on the first pass only: a packet that recirculated keeps
	// its path.
	Look   func(*Switch, *Packet)
	Choose func(*Switch, *Packet) Path
	// Next returns the next choice among free paths, for a packet that must leave
	// its path; nil for the first free path in turn. Rerouted is called when the
	// packet has got another Path.
	Next     func(s *Switch, p *Packet, free func(Path) bool) (Path, bool)
	Rerouted func(*Switch, *Packet)

	// On a Tofino, the next choice is Second if that is free, or else the first
	// free path in turn after it; without Second, the first free path after the
	// packet's.
	Second func(*Switch, *Packet) Path

	// On a Tofino, Draws is how many random bytes are drawn for each packet, into
	// Packet.Drawn: before ingress queues are counted if Early, and also for
	// packets without a choice if Always.
	Draws         int
	Early, Always bool
}

// Stages are what a scheme does with a packet, by stage.
type Stages [stages]func(*Switch, *Packet)

// A Stage is a step of a packet's processing. Packets pass the stages in this
// order. In a stage, features run in the order of the manifest.
type Stage int

const (
	// Hear processes messages of neighbours and of this switch's egress, which end
	// there. Routed does so for messages with a destination.
	Hear Stage = iota
	Routed
	// Learn reads the header of another leaf in a packet for a host.
	Learn
	// Count follows the counting of a packet in its ingress queue. On a Tofino, it
	// counts the packet.
	Count
	// Rethink may change the path that the base scheme chose, or recirculate the
	// packet. Hold may recirculate it.
	Rethink
	Hold
	// Write fills in the header of a packet to another leaf.
	Write
	// Meet is for a packet that has its port, once, before it may be held. Leave is for
	// one that does not recirculate.
	Meet
	Leave

	// Begin is for all packets in egress. Rewrite makes a copy into the scheme's
	// message, or drops it. Read reads the header of a packet from another leaf
	// before it is removed.
	Begin
	Rewrite
	Read
	// Depart, Left and Last are for packets that leave, in this order; Left for
	// those that were counted in an ingress queue.
	Depart
	Left
	Last
	// Idle is called before each event, without a packet.
	Idle

	stages
)

// A Register is an exception to how registers are drawn and compared.
type Register struct {
	// Values that the unit does not determine are drawn up to Most, as the number
	// of a period of 2^Period ns, or by Draw. Init is the value in a new switch.
	Most   int64
	Period uint
	Draw   func(g *Drawer, i int) int64
	Init   func(s *Switch, i int) int64
	// Get and Set convert between the register and the scheme's own state. Get
	// reports whether the value matters at present.
	Get func(s *Switch, i int) (value int64, matters bool)
	Set func(s *Switch, i int, v int64)
	// Same compares instead of Get, where the program may lag behind. cell
	// reads a register of the program.
	Same func(s *Switch, i int, cell func(register string, i int) int64) bool
	// LosslessOnly is true if only cells of the lossless class are used, SkipFirst
	// if the first cell belongs to no port and is not compared.
	LosslessOnly, SkipFirst bool
}

var registered = map[string]*Scheme{}

// Add registers the model of a scheme. The scheme's package calls it.
func Add(s Scheme) {
	if registered[s.Name] != nil {
		panic(fmt.Sprintf("BUG: two models are called %s", s.Name))
	}
	registered[s.Name] = &s
}

// Registered returns the model of a feature, or nil.
func Registered(name string) *Scheme { return registered[name] }
