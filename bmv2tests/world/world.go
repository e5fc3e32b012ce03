// SPDX-License-Identifier: Apache-2.0

// Package world runs controllers, switches and the network between them in
// one process, under a clock that advances only when all goroutines wait
// (testing/synctest), and injects faults drawn from a seed. Sessions, keepers, gRPC,
// the P4Runtime server and the switch are real. Only links, clock and disks are
// simulated.
package world

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/simnet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// step is one fault, or one change of the desired state.
type step struct {
	At   time.Duration
	What string
	// A and B select the parts that are affected, N is an amount. Their meaning depends
	// on What.
	A, B, N int
}

func (s step) String() string { return fmt.Sprintf("%v %s %d %d %d", s.At, s.What, s.A, s.B, s.N) }

// schedule is a world and the steps in it.
type schedule struct {
	Seed                  uint64
	Switches, Controllers int
	Steps                 []step
}

// whats has the kinds of steps. Those listed twice are twice as frequent.
var whats = []string{
	"change", "change", "change", "overfull",
	"restart switch", "lose switch", "mute switch", "restart controller", "mute controller",
	"part", "part", "join", "join", "reset", "reset", "half-open", "slow", "cut", "cut", "cut",
	"stranger", "other role", "pair", "half pair", "clock", "burst", "look", "look",
}

// draw draws a random schedule.
func draw(seed uint64) schedule {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := schedule{Seed: seed, Switches: 1 + rng.IntN(2), Controllers: 1 + rng.IntN(3)}
	at := time.Duration(0)
	for range 4 + rng.IntN(12) {
		at += time.Duration(rng.ExpFloat64() * float64(400*time.Millisecond))
		s.Steps = append(s.Steps, step{At: at, What: whats[rng.IntN(len(whats))], A: rng.IntN(6), B: rng.IntN(6), N: rng.IntN(1 << 12)})
	}
	return s
}

// world has the state of a running schedule.
type world struct {
	schedule
	pipeline    controlplane.Pipeline
	net         *simnet.Network
	machines    []*machine
	controllers []*controller
	work        sync.WaitGroup // restarts and visits under way
	strangers   uint64
	begun       time.Time

	mu      sync.Mutex
	version int // of the desired state
	full    bool
	bad     []string
	story   []string // events and steps, for analysing a violation
}

// say adds a line to the story.
func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.story = append(w.story, fmt.Sprintf("%v ", time.Since(w.begun))+fmt.Sprintf(format, args...))
}

func (w *world) violated(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bad = append(w.bad, fmt.Sprintf(format, args...))
	w.story = append(w.story, fmt.Sprintf("%v VIOLATION: ", time.Since(w.begun))+w.bad[len(w.bad)-1])
}

func (w *world) table(name string) uint32 {
	for _, t := range w.pipeline.P4Info.Tables {
		if t.Preamble.Name == name || t.Preamble.Alias == name {
			return t.Preamble.Id
		}
	}
	panic("BUG: no table " + name)
}

// entry puts a value into a table under a key.
func (w *world) entry(table string, key, value int) *p4v1.Entity {
	number := func(v int) []byte {
		if v < 256 {
			return []byte{byte(v)}
		}
		return []byte{byte(v >> 8), byte(v)}
	}
	var put uint32
	for _, a := range w.pipeline.P4Info.Actions {
		if strings.HasSuffix(a.Preamble.Name, "put") {
			put = a.Preamble.Id
		}
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{
		TableId: w.table(table),
		Match:   []*p4v1.FieldMatch{{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: number(key)}}}},
		Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: put,
			Params: []*p4v1.Action_Param{{ParamId: 1, Value: number(value)}}}}},
	}}}
}

// desired is the current desired state of all controllers.
func (w *world) desired() controlplane.Desired {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := controlplane.Desired{Pipeline: w.pipeline}
	n := 2 + w.version%9
	if w.full {
		n = 20 // the table has room for 16
	}
	for i := range n {
		d.Entities = append(d.Entities, w.entry("kept", i+1, w.version+i))
	}
	d.Entities = append(d.Entities, schema.Multicast(&p4v1.MulticastGroupEntry{MulticastGroupId: uint32(1 + w.version%3),
		Replicas: []*p4v1.Replica{{PortKind: &p4v1.Replica_Port{Port: []byte{2}}}}}))
	for _, x := range w.pipeline.P4Info.Digests {
		d.Entities = append(d.Entities, &p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{DigestId: x.Preamble.Id,
			Config: &p4v1.DigestEntry_Config{MaxListSize: 4, MaxTimeoutNs: 1e6, AckTimeoutNs: 1e8}}}})
	}
	return d
}

// change alters the desired state.
func (w *world) change(full bool) {
	w.mu.Lock()
	w.version++
	w.full = full
	w.mu.Unlock()
	for _, c := range w.controllers {
		if c.fabric != nil {
			c.want()
		}
	}
}

// run runs a schedule to its end and returns the violations. It must run in a bubble
// of synctest.
func run(s schedule, pipeline controlplane.Pipeline) (bad, story []string) {
	begun := time.Now()
	w := &world{schedule: s, pipeline: pipeline, net: simnet.New(rand.New(rand.NewPCG(s.Seed, 2))), begun: begun}
	for i := range s.Switches {
		m := &machine{w: w, name: fmt.Sprint("s", i+1), began: begun}
		w.machines = append(w.machines, m)
		if err := errors.Join(m.boot(), m.serve()); err != nil {
			return []string{err.Error()}, nil
		}
	}
	for i := range s.Controllers {
		c := &controller{w: w, name: fmt.Sprint("c", i+1), id: controlplane.ElectionID{Low: uint64(i + 1)}, digests: map[uint16]int{}}
		w.controllers = append(w.controllers, c)
		if err := c.start(); err != nil {
			return []string{err.Error()}, nil
		}
	}
	for _, st := range s.Steps {
		time.Sleep(st.At - time.Since(begun))
		w.say("%v", st)
		w.do(st)
	}
	time.Sleep(time.Second)
	w.mend()
	w.converge()
	for _, c := range w.controllers {
		c.halt(false)
		c.checkEvents()
	}
	for _, m := range w.machines {
		m.halt(false)
	}
	w.work.Wait()
	return w.bad, w.story
}

// do executes a step.
func (w *world) do(st step) {
	m := w.machines[st.A%len(w.machines)]
	c := w.controllers[st.B%len(w.controllers)]
	later := time.Duration(st.N) * time.Millisecond / 2
	switch st.What {
	case "change":
		w.change(false)
	case "overfull":
		w.change(true)
	case "restart switch", "lose switch", "mute switch":
		if m.g == nil {
			return
		}
		m.halt(st.What == "mute switch")
		time.Sleep(later / 10)
		if st.What == "lose switch" {
			if err := m.boot(); err != nil {
				w.violated("%v", err)
			}
		}
		if err := m.serve(); err != nil {
			w.violated("%v", err)
		}
	case "restart controller", "mute controller":
		c.halt(st.What == "mute controller")
		time.Sleep(later / 10)
		if err := c.start(); err != nil {
			w.violated("%v", err)
		}
	case "part":
		w.net.Part(m.name, c.name, true)
	case "join":
		w.net.Part(m.name, c.name, false)
	case "reset":
		w.net.Each(m.name, c.name, (*simnet.Wire).Reset)
	case "half-open":
		w.net.Each(m.name, c.name, (*simnet.Wire).Mute)
	case "slow":
		w.net.Each(m.name, c.name, func(x *simnet.Wire) { x.Slow(st.N % 2) })
	case "cut":
		w.net.Each(m.name, c.name, func(x *simnet.Wire) { x.Cut(st.N%2, st.N) })
		w.change(false) // something to write
	case "clock":
		m.sw.Lock()
		m.ahead += []vtime.Time{vtime.Millisecond, vtime.Second, 3600 * vtime.Second}[st.N%3]
		m.sw.Unlock()
	case "burst":
		for i := range uint16(200) {
			m.arrive(uint16(1000+st.N%1000)+i, 0)
		}
	case "stranger", "other role", "pair", "half pair":
		w.strangers++
		high, value := 1000*w.strangers, int(w.strangers)
		updates := []*p4v1.Update{controlplane.Insert(w.entry("pair", 1, value)), controlplane.Insert(w.entry("pair", 2, value))}
		mode, role := p4v1.WriteRequest_ROLLBACK_ON_ERROR, ""
		switch st.What {
		case "stranger", "other role": // writes to the keepers' tables
			if st.What == "other role" { // the keepers stay primary
				role = "other"
			}
			updates = []*p4v1.Update{controlplane.Delete(w.entry("kept", 1, 0)), controlplane.Insert(w.entry("kept", 12, value))}
			mode = p4v1.WriteRequest_CONTINUE_ON_ERROR
		case "half pair": // a pair whose second update fails: nothing may change
			updates = append(updates, controlplane.Insert(w.entry("pair", 1, value)))
		}
		w.work.Go(func() { w.visit(m, role, high, updates, mode) })
	case "look":
		w.work.Go(func() { w.look(m) })
	}
}

// mend ends all faults.
func (w *world) mend() {
	for _, m := range w.machines {
		for _, c := range w.controllers {
			w.net.Part(m.name, c.name, false)
		}
	}
	w.work.Wait()
	if w.full || w.Seed%2 == 0 { // otherwise an audit finds entries of other clients
		w.change(false)
	}
}

// bound is the time after the last fault within which the desired state must be
// established: three probes for a half-open connection, the delay of a slow one, and
// an audit.
const bound = 60 * time.Second

// converge waits until the desired state is established.
func (w *world) converge() {
	var missing string
	for end := time.Now().Add(bound); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if missing = w.missing(); missing == "" {
			break
		}
	}
	if missing != "" {
		w.violated("%v after the last fault: %s", bound, missing)
		return
	}
	// The primary receives messages of the data plane.
	for i, m := range w.machines {
		key := uint16(60000 + i)
		heard := func() bool {
			return slices.ContainsFunc(w.controllers, func(c *controller) bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.digests[key] > 0
			})
		}
		m.arrive(key, 0)
		for end := time.Now().Add(bound); !heard(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				w.violated("%s: a digest is not heard after %v", m.name, bound)
				break
			}
			m.arrive(key, 0) // if it is lost, the switch repeats it
		}
	}
}

// missing returns what is not yet as desired, or "".
func (w *world) missing() string {
	want := map[string]string{}
	for _, e := range w.desired().Entities {
		want[called(e)] = text(e)
	}
	for _, m := range w.machines {
		m.mu.Lock()
		have := map[string]string{}
		for _, e := range m.state() {
			have[called(e)] = text(e)
		}
		m.mu.Unlock()
		for k, v := range want {
			if have[k] != v {
				return fmt.Sprintf("%s has %d of %d entities", m.name, len(have), len(want))
			}
		}
		if len(have) != len(want) {
			return fmt.Sprintf("%s has %d entities, %d are wanted", m.name, len(have), len(want))
		}
		primaries := 0
		for _, c := range w.controllers {
			if c.fabric.Session(m.name).IsPrimary() {
				primaries++
			}
		}
		if primaries != 1 {
			return fmt.Sprintf("%s has %d primaries", m.name, primaries)
		}
	}
	return ""
}

// checkEvents checks a controller's events: every loss is reported once, and no event
// twice in a row.
func (c *controller) checkEvents() {
	connected := map[string]bool{}
	said := map[string]string{}
	tried := map[string]int{}
	for _, e := range c.events {
		switch e.Kind {
		case halted:
			clear(connected)
			clear(said)
			clear(tried)
			continue
		case controlplane.Connected:
			if connected[e.Switch] {
				c.w.violated("%s: connected to %s twice, and not lost in between", c.name, e.Switch)
			}
			connected[e.Switch], tried[e.Switch] = true, 0
		case controlplane.Lost:
			if !connected[e.Switch] {
				c.w.violated("%s: %s is lost twice: %s", c.name, e.Switch, e.Text)
			}
			connected[e.Switch] = false
		case controlplane.Retrying:
			if tried[e.Switch]++; tried[e.Switch] > 20 {
				c.w.violated("%s: said %d times that %s is not reached", c.name, tried[e.Switch], e.Switch)
			}
		case controlplane.NotAsDesired:
			if e.Text, _, _ = strings.Cut(e.Text, "; trying again"); said[e.Switch] == e.Text {
				c.w.violated("%s: said twice in a row: %s", c.name, e)
			}
		}
		said[e.Switch] = e.Text
	}
}
