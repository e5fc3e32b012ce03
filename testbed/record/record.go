// SPDX-License-Identifier: Apache-2.0

// Package record records a run for a map of the network: use and pauses of
// links, queue lengths, warnings, and paths of flows. The size of a recording is
// limited: if it has too many samples, pairs of samples are merged; events beyond
// a limit are only counted.
package record

import (
	"slices"
	"sync"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/result"
)

// Run is the recording of a run. A channel is a direction of a link: number
// 2·l from end A of link l of the network, 2·l+1 from end B.
type Run struct {
	Scenario string          `json:"scenario"`
	Arm      string          `json:"arm"`
	Seed     uint64          `json:"seed"`
	Network  *result.Network `json:"network"`
	// EveryNS is the time between samples, in nanoseconds.
	EveryNS int64 `json:"every_ns"`
	// TNS are the times of the samples. Use, Queues, Values and Paths have one
	// element per sample.
	TNS []int64 `json:"t_ns"`
	// Use is the share of each channel's rate that was used since the previous
	// sample; 255 is the whole rate. JSON has it in base64.
	Use [][]byte `json:"use"`
	// Queues are the egress queues that are not empty: channel, bytes, …
	Queues [][]int64 `json:"queues"`
	// Values are registers of switches that changed: switch (a node), index in
	// Registers, value, …
	Values    [][]uint64 `json:"values"`
	Registers []Register `json:"registers"`
	// Paths are the channels on which packets of flows arrived since the
	// previous sample: flow, channel, …
	Paths  [][]int32 `json:"paths"`
	Flows  []Flow    `json:"flows"`
	Events []Event   `json:"events"`
	// Left is the number of events beyond Limits.Events, which are not recorded.
	Left int64 `json:"left,omitempty"`
	// Steps are what happened to one packet, if it was traced, in order. Packet names it,
	// and PacketLeft says what of it has not come to an end.
	Packet     string `json:"packet,omitempty"`
	PacketLeft string `json:"packet_left,omitempty"`
	Steps      []Step `json:"steps,omitempty"`
	// Causes are why channels were paused, if the run is explained.
	Causes *result.Causes `json:"causes,omitempty"`
	// Live reports whether the recording still grows. Note is a remark for the
	// reader.
	Live bool   `json:"live,omitempty"`
	Note string `json:"note,omitempty"`
}

// Step is a step of a traced packet.
type Step struct {
	AtNS float64 `json:"at_ns"`
	Node int     `json:"node"`
	// Port is where it arrived; zero for what follows at the node.
	Port   int    `json:"port,omitempty"`
	Branch string `json:"branch,omitempty"` // "answer" or "copy N"; empty for the packet itself
	Text   string `json:"text"`
}

// Register is a register of the switches' program: the sum of its cells or, if
// the unit is paths, the number of bits set.
type Register struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Flow is a flow with times in nanoseconds; FCTNS is zero until it has finished.
type Flow struct {
	Src     int   `json:"src"` // nodes
	Dst     int   `json:"dst"`
	Bytes   int64 `json:"bytes"`
	StartNS int64 `json:"start_ns"`
	FCTNS   int64 `json:"fct_ns"`
}

// Kind is the kind of an event.
type Kind uint8

// Kinds of event, with the meaning of the event's A and B.
const (
	// Pause is a PAUSE of class A for the sender of the channel, until B in ns;
	// with B zero a RESUME.
	Pause Kind = iota
	// Warning arrived over the channel: A is 1 at its begin and 0 at its end, B
	// is the class.
	Warning
	// KickOut arrived over the channel: a request to leave path A.
	KickOut
	// Message of another kind, A, arrived over the channel.
	Message
)

// Event is time in ns, kind, channel, A and B.
type Event [5]int64

// Limits limit the size of a recording.
type Limits struct {
	Samples int // beyond it, pairs of samples are merged
	Events  int // beyond it, events are only counted
	Paths   int // entries of Paths; beyond it, pairs of samples are merged
	// Bytes is the memory of Use, Queues and Values, which grow with the network; beyond it,
	// pairs of samples are merged. Zero is no limit.
	Bytes int
}

// DefaultLimits keep a recording of 288 hosts below some 10 MB, and any below 100 MB.
var DefaultLimits = Limits{Samples: 2048, Events: 400_000, Paths: 1 << 20, Bytes: 64 << 20}

// Store is a recording that may be read while it grows.
type Store struct {
	mu     sync.Mutex
	run    Run
	limits Limits
	paths  int
	bytes  int // of Use, Queues and Values
	// version counts how often samples were merged, which changes their indices.
	version int
}

// Finished returns a complete recording.
func Finished(r *Run) *Store { return &Store{run: *r} }

// End says that the recording will not grow any more.
func (s *Store) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run.Live = false
}

// Snapshot returns the recording so far. Its lists do not change afterwards:
// samples are appended, or merged into new lists.
func (s *Store) Snapshot() (r Run, version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run, s.version
}

// add appends a sample.
func (s *Store) add(t int64, use []byte, queues []int64, values []uint64, paths []int32) {
	r := &s.run
	r.TNS, r.Use, r.Queues = append(r.TNS, t), append(r.Use, use), append(r.Queues, queues)
	r.Values, r.Paths = append(r.Values, values), append(r.Paths, paths)
	s.paths += len(paths)
	s.bytes += bytesOf(use, queues, values)
	if s.limits.Samples > 1 && len(r.TNS) >= s.limits.Samples || len(r.TNS) > 1 && s.paths > s.limits.Paths {
		s.halve()
	}
	for s.limits.Bytes > 0 && s.bytes > s.limits.Bytes && len(r.TNS) > 1 {
		s.halve()
		for i, v := range r.Values {
			r.Values[i] = latest(v)
			s.bytes -= 8 * (len(v) - len(r.Values[i]))
		}
	}
}

func bytesOf(use []byte, queues []int64, values []uint64) int {
	return len(use) + 8*(len(queues)+len(values))
}

// latest returns a list of switch, register, value, … with only the last value of each
// register.
func latest(values []uint64) []uint64 {
	seen := make(map[[2]uint64]bool, len(values)/3)
	at := len(values)
	out := make([]uint64, len(values))
	for i := len(values) - 3; i >= 0; i -= 3 {
		if k := [2]uint64{values[i], values[i+1]}; !seen[k] {
			seen[k] = true
			at -= 3
			copy(out[at:], values[i:i+3])
		}
	}
	return slices.Clone(out[at:])
}

// halve merges pairs of samples: the mean of use, the maximum of queues, the
// later values, and all paths.
func (s *Store) halve() {
	old := s.run
	r := &s.run
	r.TNS, r.Use, r.Queues, r.Values, r.Paths = nil, nil, nil, nil, nil
	s.paths = 0
	for i := 0; i < len(old.TNS); i += 2 {
		if i+1 == len(old.TNS) {
			r.TNS, r.Use, r.Queues = append(r.TNS, old.TNS[i]), append(r.Use, old.Use[i]), append(r.Queues, old.Queues[i])
			r.Values, r.Paths = append(r.Values, old.Values[i]), append(r.Paths, old.Paths[i])
			s.paths += len(old.Paths[i])
			break
		}
		use := make([]byte, len(old.Use[i]))
		for c := range use {
			use[c] = byte((int(old.Use[i][c]) + int(old.Use[i+1][c]) + 1) / 2)
		}
		paths := united(old.Paths[i], old.Paths[i+1])
		s.paths += len(paths)
		r.TNS, r.Use, r.Queues = append(r.TNS, old.TNS[i+1]), append(r.Use, use), append(r.Queues, greater(old.Queues[i], old.Queues[i+1]))
		r.Values = append(r.Values, append(append([]uint64{}, old.Values[i]...), old.Values[i+1]...))
		r.Paths = append(r.Paths, paths)
	}
	r.EveryNS *= 2
	s.version++
	s.bytes = 0
	for i := range r.TNS {
		s.bytes += bytesOf(r.Use[i], r.Queues[i], r.Values[i])
	}
	// With very many flows there may still be too many paths: drop those of
	// every second sample.
	for s.paths > s.limits.Paths/2 {
		for i := range r.Paths {
			if i%2 == 1 || s.limits.Paths <= 0 {
				r.Paths[i] = []int32{}
			}
		}
		before := s.paths
		s.paths = 0
		for i := range r.Paths {
			s.paths += len(r.Paths[i])
		}
		if s.paths == before {
			break
		}
	}
}

// greater merges two lists of channel, bytes, …, in order of channels: it keeps
// the greater number of bytes.
func greater(a, b []int64) []int64 {
	out := []int64{}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			out, a = append(out, a[0], a[1]), a[2:]
		case len(a) == 0 || b[0] < a[0]:
			out, b = append(out, b[0], b[1]), b[2:]
		default:
			out = append(out, a[0], max(a[1], b[1]))
			a, b = a[2:], b[2:]
		}
	}
	return out
}

// united merges two lists of flow, channel, … without duplicates.
func united(a, b []int32) []int32 {
	out := append([]int32{}, a...)
	have := make(map[[2]int32]bool, len(a)/2)
	for i := 0; i+1 < len(a); i += 2 {
		have[[2]int32{a[i], a[i+1]}] = true
	}
	for i := 0; i+1 < len(b); i += 2 {
		if !have[[2]int32{b[i], b[i+1]}] {
			out = append(out, b[i], b[i+1])
		}
	}
	return out
}

// addEvents appends events, which must be in order of time and not before those
// of earlier calls.
func (s *Store) addEvents(events []Event) {
	room := max(s.limits.Events-len(s.run.Events), 0)
	if len(events) > room {
		s.run.Left += int64(len(events) - room)
		events = events[:room]
	}
	s.run.Events = append(s.run.Events, events...)
}

// channels has the channels on which a node's ports receive and send.
type channels struct{ in, out [][]int }

func channelsOf(n *result.Network, ports func(node int) int) channels {
	c := channels{make([][]int, len(n.Nodes)), make([][]int, len(n.Nodes))}
	for i := range n.Nodes {
		c.in[i], c.out[i] = make([]int, ports(i)), make([]int, ports(i))
	}
	for l, k := range n.Links {
		c.out[k.A][k.AP-1], c.in[k.B][k.BP-1] = 2*l, 2*l
		c.out[k.B][k.BP-1], c.in[k.A][k.AP-1] = 2*l+1, 2*l+1
	}
	return c
}

// share returns the share of a rate that so many bytes in time d use; 255 is
// the whole rate.
func share(bytes uint64, rate vtime.Rate, d vtime.Time) byte {
	if d <= 0 || rate <= 0 {
		return 0
	}
	s := float64(bytes) * 8 / (float64(rate) * d.Seconds()) * 255
	if s > 0 && s < 1 {
		return 1
	}
	return byte(min(s+0.5, 255))
}
