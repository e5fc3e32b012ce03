// SPDX-License-Identifier: Apache-2.0

package model

import "fmt"

// A Scheme is the model of one feature of a program.
type Scheme struct {
	Name string // in the manifest's list of features

	// Settle makes registers say what follows from others that were drawn.
	Settle func(*Switch)
	// Registers says what does not follow from the manifest's description of
	// a register. Limits are those of tables' arguments ("table.argument") that the
	// program relies on, Special are values of them with a meaning of their own.
	Registers       map[string]Register
	Limits, Special map[string]int64

	// Header is the scheme's part of the header between leaves, as NewHeader
	// takes it, which Fill fills in at random. Local are its messages between
	// neighbours by their kind, the first byte; Draw makes a random one, in so many
	// of 100 frames.
	Header string
	Fill   func(g *Drawer, h Fields)
	Local  map[byte]string
	Frames int
	Draw   func(g *Drawer, leaf int64) Fields
	// BTH reports whether the parser goes on to the base transport header of
	// a RoCEv2 packet.
	// INT: it understands HPCC's telemetry.
	BTH func(f *Frame, port int) bool
	INT bool

	// EveryPacket: all packets between leaves have the header, not only those
	// with something to say. AllPorts: the egress queues of all ports are
	// counted, not only those of a choice.
	EveryPacket, AllPorts bool

	// TrueDepth: the target's depths must be what is in the queues.
	TrueDepth bool

	// LastLook is when an ingress queue was last looked at on v1model, if the
	// scheme watches it.
	LastLook func(s *Switch, queue int) (t Time, watched bool)

	// Base is there if the scheme decides alone which of several paths a
	// packet takes.
	Base *Base

	V1model, Tofino Stages
}

// Base is the contract of a base load balancer.
type Base struct {
	// Look is called on each pass of a packet with several paths, before
	// Choose; a packet that recirculated keeps its path, and is not chosen
	// for again.
	Look   func(*Switch, *Packet)
	Choose func(*Switch, *Packet) Path
	// Next is the next choice among the paths that are free, for a packet that
	// shall leave its path; nil for the first free path in turn. Rerouted is
	// called when the packet has been given another Path.
	Next     func(s *Switch, p *Packet, free func(Path) bool) (Path, bool)
	Rerouted func(*Switch, *Packet)

	// On a Tofino, the next choice is one path, Second: if that is not free, the
	// first free path in turn behind it is. Without Second it is the first free
	// path behind the packet's.
	Second func(*Switch, *Packet) Path

	// On a Tofino, Draws says how many random bytes are drawn for each packet,
	// into Packet.Drawn. They are drawn before ingress queues are looked at if
	// Early, and for packets without a choice too if Always.
	Draws         int
	Early, Always bool
}

// Stages are what a scheme does with a packet, by the stage that it is at.
type Stages [stages]func(*Switch, *Packet)

// A Stage is a step of a packet's processing. Packets pass the stages in this
// order. Within a stage, features run in the order of the manifest.
type Stage int

const (
	// Hear takes in what a neighbour says, or this switch's egress; it ends the
	// packet if it was only that. Routed is the same where the message has a
	// destination.
	Hear Stage = iota
	Routed
	// Learn takes what another leaf has written into a packet for a host.
	Learn
	// Count is about a packet that was counted in its ingress queue; on a
	// Tofino, it is the count.
	Count
	// Rethink may change the path that the base scheme chose, or have the
	// packet pass again. Hold may do the latter.
	Rethink
	Hold
	// Write fills in the header of a packet to another leaf.
	Write
	// Leave is about a packet that has its port and does not pass again.
	Leave

	// Begin is about all that egress gets. Rewrite makes a copy into the
	// scheme's message, or ends it. Read is about the header of a packet from
	// another leaf before it is taken off.
	Begin
	Rewrite
	Read
	// Depart, Left and Last are about packets that leave, in this order; Left
	// about those that were counted in an ingress queue.
	Depart
	Left
	Last
	// Idle is called before each event, without a packet: time has passed.
	Idle

	stages
)

// A Register says how the model has a register, where that is not simply a
// number of the register's unit.
type Register struct {
	// What is drawn is up to Most, a Duration instead of a time, or the number of
	// a period of 2^Period ns, if the unit does not say; Draw is for what is none
	// of these. Zero cells of a new switch are as Init says.
	Most     int64
	Duration bool
	Period   uint
	Draw     func(g *Drawer, i int) int64
	Init     func(s *Switch, i int) int64
	// Get and Set are the register in terms of the scheme's own state. Get
	// reports that the value does not matter at present.
	Get func(s *Switch, i int) (value int64, matters bool)
	Set func(s *Switch, i int, v int64)
	// Same compares instead of Get, where the program may lag behind. cell
	// reads a register of the program.
	Same func(s *Switch, i int, cell func(register string, i int) int64) bool
	// LosslessOnly is true if only cells of the lossless class are used, Skip if
	// the first cell is of no port, and not compared.
	LosslessOnly, SkipFirst bool
}

var registered = map[string]*Scheme{}

// Add makes a scheme's model known. It is called by the scheme's package.
func Add(s Scheme) {
	if registered[s.Name] != nil {
		panic(fmt.Sprintf("BUG: two models are called %s", s.Name))
	}
	registered[s.Name] = &s
}

// Registered returns the model of a feature, or nil.
func Registered(name string) *Scheme { return registered[name] }
