// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Config describes a fabric.
type Config struct {
	Topology *topo.Topology
	// Switch makes the node of a switch. It may keep the Network, and schedule
	// events immediately.
	Switch func(n *topo.Node, net Network) (Node, error)
	Hosts  roce.Config // start from roce.Defaults
	Faults []Fault
	Seed   uint64 // of all random numbers in the fabric
	// Threads is the number of goroutines that run nodes; results do not depend on
	// it. Zero means one.
	Threads int
	// Tap, if set, returns the observer of the frames that reach a node, or nil.
	Tap func(n *topo.Node) Tap
	// Progress, if set, is called regularly while time advances, from the goroutine
	// of RunUntil.
	Progress func(Progress)
}

// Flow is a message that one host sends to another.
type Flow struct {
	Src, Dst int        // hosts, as numbered in the topology
	Size     int64      // payload bytes
	Start    vtime.Time // when it becomes known to the sender
	Class    uint8      // priority, 0 to 7
	// Port is the UDP source port, from which switches take the flow's entropy.
	// Zero: a default.
	Port uint16
	// Wire has ports that replace it for data and for acknowledgements, if not
	// zero.
	Wire   [2]uint16
	Coflow uint32 // flows of a coflow share a number; zero: none
	Group  int    // for the caller: part of a workload, for example
	Wave   int    // for the caller: repetition of that part
}

// Fabric is a network in virtual time. Its methods must be called from one
// goroutine. During RunUntil it also calls functions from others.
type Fabric struct {
	topo     *topo.Topology
	seed     uint64
	engine   engine
	pipes    [][2]*pipe   // by link: from its end A, and from its end B
	hosts    []*roce.Host // by node; nil: a switch
	hostCfg  roce.Config
	baseRTT  vtime.Time // the maximum, if hosts need it
	flows    []flow
	estimate *Estimator
	progress func(Progress)
	coflows  *coordinator // nil: flows send when they start
}

// flow is a Flow with both its ends.
type flow struct {
	Flow
	out   *roce.Outgoing
	in    *roce.Incoming
	ideal vtime.Time
}

// Progress is the progress of a run.
type Progress struct {
	Now       vtime.Time
	Hops      uint64 // frames that reached a switch
	Events    uint64 // handled by the engine
	Flows     int    // added so far
	FlowsDone int
}

// New builds a fabric. Errors describe the invalid part of the configuration.
func New(cfg Config) (*Fabric, error) {
	t := cfg.Topology
	if _, err := cfg.Hosts.Check(); err != nil {
		return nil, err
	}
	f := &Fabric{
		topo: t, seed: cfg.Seed, hostCfg: cfg.Hosts, progress: cfg.Progress,
		pipes: make([][2]*pipe, len(t.Links)),
		hosts: make([]*roce.Host, len(t.Nodes)),
	}
	if err := f.wire(); err != nil {
		return nil, err
	}
	if err := f.settleRTT(); err != nil {
		return nil, err
	}
	if cfg.Hosts.Coflows.Scheduler != "" {
		f.coflows = newCoordinator(f, cfg.Hosts.Coflows)
	}
	f.engine.crew.size = min(max(cfg.Threads, 1), runtime.GOMAXPROCS(0))
	f.engine.crew.least, f.engine.crew.sides = fewEvents, f.sides()
	f.engine.crew.busy = f.engine.worthFetching()
	if err := f.populate(cfg.Switch); err != nil {
		return nil, err
	}
	if err := f.addFaults(cfg.Faults); err != nil {
		return nil, err
	}
	if cfg.Tap != nil {
		for i, n := range f.engine.nodes {
			n.tap = cfg.Tap(&t.Nodes[i])
		}
	}
	return f, nil
}

// settleRTT computes the longest base round trip if the hosts need it.
func (f *Fabric) settleRTT() (err error) {
	if f.estimate, err = NewEstimator(f.topo, &f.hostCfg); err != nil {
		return err
	}
	pbfs := &f.hostCfg.PBFS
	if f.hostCfg.GlobalRTT || pbfs.On && pbfs.RTT == 0 {
		f.baseRTT = f.estimate.LongestRTT()
		if pbfs.RTT == 0 {
			pbfs.RTT = f.baseRTT
		}
	}
	return nil
}

// wire makes the engine's nodes and pipes.
func (f *Fabric) wire() error {
	t, e := f.topo, &f.engine
	e.nodes = make([]*node, len(t.Nodes))
	for i := range t.Nodes {
		ports := len(t.Nodes[i].Ports)
		e.nodes[i] = &node{
			id: i, eng: e, in: make([]*pipe, ports), out: make([]*pipe, ports),
			mail: [2]mailbag{newMailbag(ports), newMailbag(ports)},
		}
	}
	e.lookahead = vtime.Never
	for i := range t.Links {
		l := &t.Links[i]
		if l.Delay <= 0 {
			return fmt.Errorf("link %s–%s has no delay; the fabric needs some, a nanosecond will do", t.Nodes[l.A.Node].Name, t.Nodes[l.B.Node].Name)
		}
		e.lookahead = min(e.lookahead, l.Delay)
		for dir, ends := range [2][2]topo.End{{l.A, l.B}, {l.B, l.A}} {
			from, to := ends[0], ends[1]
			p := &pipe{delay: l.Delay, to: e.nodes[to.Node], port: to.Port - 1}
			p.pause.rate = l.Rate
			e.nodes[from.Node].out[from.Port-1] = p
			e.nodes[to.Node].in[to.Port-1] = p
			f.pipes[i][dir] = p
			if l.Loss > 0 {
				f.faulty(i, dir)
				p.fault.base = l.Loss
			}
		}
	}
	return nil
}

// populate makes hosts and switches.
func (f *Fabric) populate(newSwitch func(*topo.Node, Network) (Node, error)) error {
	kits := make(map[vtime.Rate]*cc.Kit)
	for i := range f.topo.Nodes {
		tn, n := &f.topo.Nodes[i], f.engine.nodes[i]
		if tn.Kind == topo.Switch {
			impl, err := newSwitch(tn, n)
			if err != nil {
				return fmt.Errorf("switch %s: %w", tn.Name, err)
			}
			n.impl = impl
			if l, ok := impl.(Controlled); ok {
				f.engine.locks = append(f.engine.locks, l)
			}
			continue
		}
		rate := f.topo.Links[tn.Ports[0].Link].Rate
		kit := kits[rate]
		if kit == nil {
			var err error
			if kit, err = f.hostCfg.CC.Kit(rate); err != nil {
				return err
			}
			kits[rate] = kit
		}
		f.hosts[i] = roce.New(n, &f.hostCfg, kit, roce.Address{MAC: tn.MAC, IP: tn.IP}, rate)
		n.impl = f.hosts[i]
	}
	return nil
}

// AddFlows adds flows, which must not start before Now. If one is invalid,
// those before it have been added.
func (f *Fabric) AddFlows(flows []Flow) error {
	f.flows = slices.Grow(f.flows, len(flows))
	for i := range flows {
		if err := f.addFlow(flows[i]); err != nil {
			return fmt.Errorf("flow %d: %w", i+1, err)
		}
	}
	return nil
}

// DefaultPort returns the UDP source port of the i-th flow, from 0, if the
// flow does not have its own.
func DefaultPort(i int) uint16 { return 0xc000 | uint16(i)&0x3fff }

func (f *Fabric) addFlow(fl Flow) error {
	for _, n := range [2]int{fl.Src, fl.Dst} {
		if n < 0 || n >= len(f.hosts) || f.hosts[n] == nil {
			return fmt.Errorf("node %d is no host", n)
		}
	}
	if fl.Src == fl.Dst {
		return fmt.Errorf("%s sends to itself", f.topo.Nodes[fl.Src].Name)
	}
	if fl.Port == 0 {
		fl.Port = DefaultPort(len(f.flows))
	}
	est, ok := f.estimate.Flow(&fl)
	if !ok {
		return fmt.Errorf("no path from %s to %s", f.topo.Nodes[fl.Src].Name, f.topo.Nodes[fl.Dst].Name)
	}
	if f.hostCfg.GlobalRTT {
		est.BaseRTT = f.baseRTT
	}
	rf := roce.Flow{
		Size: fl.Size, Start: fl.Start, Class: fl.Class, Port: cmp.Or(fl.Wire[0], fl.Port), AckPort: cmp.Or(fl.Wire[1], fl.Port), Coflow: uint16(fl.Coflow),
		BaseRTT: est.BaseRTT, Path: est.Rate, Leaf: f.topo.Nodes[fl.Dst].Leaf, Paths: est.Paths,
	}
	out, in, err := roce.Connect(f.hosts[fl.Src], f.hosts[fl.Dst], rf)
	if err != nil {
		return err
	}
	f.flows = append(f.flows, flow{fl, out, in, est.FCT})
	return nil
}

// Now returns the time up to which all events have been handled.
func (f *Fabric) Now() vtime.Time { return f.engine.now }

// RunUntil advances time to t, which must not be before Now: it handles all
// events up to and including t. If ctx is done earlier, it stops between two
// events and returns ctx's error; everything can then be read, and the run can
// continue. It always checks that no frame is missing; see conserve.
func (f *Fabric) RunUntil(ctx context.Context, t vtime.Time) error {
	var tick func(vtime.Time)
	if f.progress != nil {
		tick = func(vtime.Time) { f.progress(f.Progress()) }
	}
	run := f.engine.runUntil
	if f.coflows != nil {
		run = f.coflows.runUntil
	}
	return cmp.Or(run(ctx, t, tick), f.conserve())
}

// Done reports whether all flows added so far are finished.
func (f *Fabric) Done() bool { return f.flowsDone() == len(f.flows) }

func (f *Fabric) flowsDone() int {
	n := 0
	for _, h := range f.hosts {
		if h != nil {
			n += h.Stats.Finished
		}
	}
	return n
}

// Progress returns the progress of the run.
func (f *Fabric) Progress() Progress {
	p := Progress{Now: f.engine.now, Flows: len(f.flows), FlowsDone: f.flowsDone()}
	for i, n := range f.engine.nodes {
		p.Events += n.handled
		if f.hosts[i] == nil {
			p.Hops += n.received
		}
	}
	return p
}

// Topology returns the network of the fabric.
func (f *Fabric) Topology() *topo.Topology { return f.topo }
