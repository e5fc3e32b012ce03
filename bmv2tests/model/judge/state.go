// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"math/bits"

	"github.com/pauseless/pauseless/bmv2tests/model"
)

// Switch is the model of one switch: the transcriptions of package model, fed
// with packets and put together in the order of a packet's way. What it
// remembers is in arrays like those that hardware has, so that mapping.go can
// say which register is which.
type Switch struct {
	*Features
	cfg *Config
	rng draws

	queued map[Queue]int // packets in the queues, for PCN

	// seen counts what happened, to see that the cases drawn are of interest.
	seen map[string]int

	// By cell of a port and class.
	qIn, qOut   []Bytes
	arrivedAt   []Time // emulated PFC without RLB
	paused      []model.Pauser
	pausedUntil []model.PausedPort
	mayPause    []bool
	np          []model.NPECN
	resumes     []Time // when a pause ends by itself, for NP-ECN; 0 for none
	sojourn     []model.Sojourn
	qcn         []model.CongestionPoint
	growth      []model.QueueChange // CLB's T2
	growthSince []Time              // Δt, of all ports of a choice, at the first
	warner      []model.Warner

	// By port.
	dre                                             []model.DRE
	txBytes                                         []Bytes
	warningsSent, reroutes, recirculations, ignored []int64
	postcards                                       []int64
	ring                                            []model.Ring
	slotIn                                          []int64 // slot of a cell of the rings

	// By leaf and path.
	rtt       []model.PathRTT
	rttAt     []Time // when the latest RTT was measured
	stampedAt []Time
	toLeaf    []model.CongestionEntry
	fromLeaf  []int64
	changed   []bool
	util      []int64
	active    []bool

	// By leaf.
	echoPath []int // −1 for none
	echoAge  []Time
	echoLoad []int64
	drill    []model.DRILL
	fedPath  []int
	probedAt []Time
	probed   []int

	// By flow.
	flowcell  []model.Flowcell
	flowlet   []model.Flowlet
	tolerable []Time

	// By row of coflows.
	coflow []int64
	flows  []int64 // and path

	// Of the switch.
	warnings       model.Warnings
	sent, returned int64 // bytes through the recirculation port, modulo 2^32
	faulty         []bool
	window         model.Window
	detector       model.FailureDetector
	told           []Time
}

// newSwitch returns a switch that remembers nothing: its counters are zero and
// all its times are start, long ago. (Programs have clocks of 32 bits: they do
// not tell what was two seconds ago from what is now, and the judge does not
// ask them to.)
func newSwitch(f *Features, cfg *Config, seed uint64, start Time) *Switch {
	cells := f.Ports * f.Classes
	paths := f.Leaves * f.PathCells
	s := &Switch{
		Features: f, cfg: cfg, rng: draws{seed}, queued: map[Queue]int{},
		qIn: make([]Bytes, cells), qOut: make([]Bytes, cells), arrivedAt: make([]Time, cells),
		paused: make([]model.Pauser, cells), pausedUntil: make([]model.PausedPort, cells), mayPause: make([]bool, cells),
		np: make([]model.NPECN, cells), resumes: make([]Time, cells), sojourn: make([]model.Sojourn, cells), qcn: make([]model.CongestionPoint, cells),
		growth: make([]model.QueueChange, cells), growthSince: make([]Time, cells), warner: make([]model.Warner, cells),
		dre: make([]model.DRE, f.Ports), txBytes: make([]Bytes, f.Ports),
		warningsSent: make([]int64, f.Ports), reroutes: make([]int64, f.Ports), recirculations: make([]int64, f.Ports), ignored: make([]int64, f.Ports),
		postcards: make([]int64, f.Ports), ring: make([]model.Ring, f.Ports), slotIn: make([]int64, 16*f.Ports),
		rtt: make([]model.PathRTT, paths), rttAt: make([]Time, paths), stampedAt: make([]Time, paths), toLeaf: make([]model.CongestionEntry, paths),
		fromLeaf: make([]int64, paths), changed: make([]bool, paths), util: make([]int64, paths), active: make([]bool, paths),
		echoPath: make([]int, f.Leaves), echoAge: make([]Time, f.Leaves), echoLoad: make([]int64, f.Leaves), drill: make([]model.DRILL, f.Leaves),
		fedPath: make([]int, f.Leaves), probedAt: make([]Time, f.Leaves), probed: make([]int, f.Leaves),
		flowcell: make([]model.Flowcell, f.Flows), flowlet: make([]model.Flowlet, f.Flows), tolerable: make([]Time, f.Flows),
		coflow: make([]int64, f.Coflows), flows: make([]int64, f.Coflows*f.PathCells),
		warnings: model.Warnings{Until: map[model.WarnKey]Time{}},
		faulty:   make([]bool, f.PathCells),
		told:     make([]Time, 1024),
	}
	for i := range s.active {
		s.active[i] = true
	}
	for i := range s.echoPath {
		s.echoPath[i] = -1
	}
	for i := range s.ring {
		s.ring[i] = model.Ring{}
	}
	s.detector = model.FailureDetector{NRCNum: cfg.NRC, NRCDen: 256}
	s.window.Start = start
	for i := range s.qIn {
		s.arrivedAt[i], s.pausedUntil[i].Until, s.warner[i].T, s.growthSince[i] = start, start, start, start
	}
	for i := range s.dre {
		s.dre[i].Last = start
	}
	for i := range s.rtt {
		s.rttAt[i], s.stampedAt[i], s.toLeaf[i].At = start, start, start
	}
	for i := range s.probedAt {
		s.probedAt[i] = start
	}
	for i := range s.flowlet {
		s.flowlet[i].Last = start
	}
	for i := range s.told {
		s.told[i] = start
	}
	return s
}

// note counts an event.
func (s *Switch) note(what string) {
	if s.seen != nil {
		s.seen[what]++
	}
}

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

// below returns a number from 0 to n−1.
func (d *draws) below(n int64) int64 {
	hi, lo := bits.Mul64(d.next(), uint64(n))
	for limit := -uint64(n) % uint64(n); lo < limit; {
		hi, lo = bits.Mul64(d.next(), uint64(n))
	}
	return int64(hi)
}

// Queue is one of the queues between ingress and egress.
type Queue struct{ Port, Class int }

// Outcome is what ingress decides about a packet.
type Outcome struct {
	Drop        bool
	Port, Class int // queue
	Group       int // multicast group; 0 for none
	Cloned      bool
	Session     int
	Again       bool // resubmitted
	Digest      [][]int64
}

// Departure is what egress makes of a packet.
type Departure struct {
	Drop, Recirculate bool
	Data              []byte
	Elided            int
	Cloned            bool
	Session           int
}

// pkt is a packet on its way through the model.
type pkt struct {
	*frame
	asCame []byte // for a clone of ingress
	length Bytes  // on arrival
	now    Time
	inPort int
	passes int // recirculations so far
	class  int

	route
	deliver bool
	hash    uint32
	path    model.Path
	outPort int
	drilled []model.Path // DRILL's candidates

	counted   Bytes // in qIn
	q         Bytes // ingress queue that it makes
	charged   Bytes // in qOut
	calm, xon Bytes
	mark      int64 // of the recirculation queue
	waited    Time
	again     bool
	tolerable Time
	waits     bool

	message *message // what a clone becomes
	limit   int      // of its length
}

// message is a packet that a switch makes itself.
type message struct {
	kind     messageKind
	class    int
	path     int
	from, to int64
	postcard model.Postcard
	mbps     int64
	feedback int64
	calm     Bytes
}

type messageKind int

const (
	warnMessage messageKind = iota + 1
	calmMessage
	probeMessage
	kickMessage
	pauseMessage
	resumeMessage
	postcardMessage
	feedbackMessage
)
