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
	"github.com/pauseless/pauseless/internal/packet"
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
	// it. Zero means one. All but the caller of RunUntil end some 150 µs after it has
	// returned, unless it is called again.
	Threads int
	// Tap, if set, returns the observer of the frames that reach a node, or nil.
	Tap func(n *topo.Node) Tap
	// Progress, if set, is called regularly while time advances, from the goroutine
	// of RunUntil.
	Progress func(Progress)
}

// Flow is a message that one host sends to another.
type Flow struct {
	Src, Dst int        // hosts, or adapters of these, as numbered in the topology
	Size     int64      // payload bytes
	Start    vtime.Time // when it becomes known to the sender
	Class    uint8      // priority, 0 to 7
	// Port is the UDP source port, from which switches take the flow's entropy.
	// Zero: a default.
	Port uint16
	// Wire has ports that replace it for data and for acknowledgements, if not
	// zero.
	Wire [2]uint16
	// Back are the adapters of Dst and of Src that acknowledgements leave and reach,
	// for hosts with several. Zero for both: Dst and Src.
	Back   [2]int
	Coflow uint32 // flows of a coflow share a number; zero: none
	Group  int    // for the caller: part of a workload, for example
	Wave   int    // for the caller: repetition of that part
	// Plan, if not nil, starts the flow with its step of this number. All flows of a
	// plan are added together.
	Plan *Plan
	Step int32
	// Pair is the queue pair of the plan, from 1, that the flow is a message of. The
	// sequence numbers of its messages go on from one to the next, in the order of the
	// flows; they have the same ends, and each leaves after the one before. Zero: a queue
	// pair of its own.
	Pair int32
}

// Fabric is a network in virtual time. Its methods must be called from one
// goroutine. During RunUntil it also calls functions from others.
type Fabric struct {
	topo     *topo.Topology
	seed     uint64
	engine   engine
	pipes    [][2]*pipe   // by link: from its end A, and from its end B
	hosts    []*roce.Host // by node; nil: a switch, or a further adapter of a host
	ports    []int        // by node: the port of its host that an adapter is, from 1
	hostCfg  roce.Config
	flows    []flow
	estimate *Estimator
	progress func(Progress)
	expected uint64       // hops of all flows
	coflows  *coordinator // nil: flows send when they start
	plans    []*plan
	ends     int // steps of plans that end an operation at a rank
}

// flow is a Flow with both its ends.
type flow struct {
	Flow
	out *roce.Outgoing
	in  *roce.Incoming
	// In an idle network, until the last acknowledgement and the last byte.
	ideal, arrival vtime.Time
}

// Progress is the progress of a run.
type Progress struct {
	Now  vtime.Time
	Hops uint64 // frames that reached a switch
	// Expected is the number of Hops of the added flows: of their packets and
	// acknowledgements, without loss and PFC.
	Expected  uint64
	Events    uint64 // handled by the engine
	Flows     int    // added so far
	FlowsDone int
	// Ends counts the ends of operations of plans at each rank, EndsDone those that have
	// come, and Ops the operations.
	Ends, EndsDone, Ops int
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
	if trims := &t.Switch.Trimming; trims.Size > 0 {
		f.hostCfg.Trimming = roce.Trimming{On: true, LastHop: trims.LastHopDSCP}
		f.hostCfg.CC.NSCC.Trims = true
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
	f.engine.large = len(f.engine.nodes) >= manyNodes
	if err := f.populate(cfg.Switch); err != nil {
		return nil, err
	}
	if err := f.addFaults(cfg.Faults); err != nil {
		return nil, err
	}
	if cfg.Tap != nil {
		f.observe(cfg.Tap)
	}
	return f, nil
}

// observe gives every node its observer, and every adapter of a host its own.
func (f *Fabric) observe(newTap func(n *topo.Node) Tap) {
	taps := make(map[*node]adapterTaps)
	for i, n := range f.engine.nodes {
		taps[n] = append(taps[n], newTap(&f.topo.Nodes[i]))
		if n.tap = taps[n][0]; len(taps[n]) > 1 {
			n.tap = taps[n]
		}
	}
}

// adapterTaps has the observers of a host's adapters, by port; each adapter has one.
type adapterTaps []Tap

// Arrive implements Tap.
func (a adapterTaps) Arrive(now vtime.Time, port int, f *packet.Frame) {
	if t := a[port-1]; t != nil {
		t.Arrive(now, 1, f)
	}
}

// settleRTT makes the estimator, and computes the longest base round trip if PB-FS needs it.
func (f *Fabric) settleRTT() (err error) {
	if f.estimate, err = NewEstimator(f.topo, &f.hostCfg); err != nil {
		return err
	}
	pbfs := &f.hostCfg.PBFS
	if pbfs.On && pbfs.RTT == 0 {
		pbfs.RTT = f.estimate.LongestRTT()
	}
	return nil
}

// wire makes the engine's nodes and pipes.
func (f *Fabric) wire() error {
	t, e := f.topo, &f.engine
	e.nodes = make([]*node, len(t.Nodes))
	f.ports = make([]int, len(t.Nodes))
	count := make([]int, len(t.Nodes)) // ports of nodes
	for i := range t.Nodes {
		h := t.Nodes[i].Host
		count[h] += len(t.Nodes[i].Ports)
		f.ports[i] = count[h]
	}
	for i, ports := range count {
		if h := t.Nodes[i].Host; h != i {
			e.nodes[i] = e.nodes[h]
			continue
		}
		e.nodes[i] = &node{
			id: i, eng: e, sent: vtime.Never, in: make([]*pipe, ports), out: make([]*pipe, ports),
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
			from, to := f.portOf(ends[0]), f.portOf(ends[1])
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

// portOf returns the port of the engine's node that a port of the topology is: the
// adapters of a host are one node.
func (f *Fabric) portOf(e topo.End) topo.End {
	if n := &f.topo.Nodes[e.Node]; n.Kind == topo.Host {
		return topo.End{Node: n.Host, Port: f.ports[e.Node]}
	}
	return e
}

// isNode reports whether a node of the topology is one of the engine's, not a
// further adapter of a host.
func (f *Fabric) isNode(i int) bool { return f.topo.Nodes[i].Host == i }

// populate makes hosts and switches.
func (f *Fabric) populate(newSwitch func(*topo.Node, Network) (Node, error)) error {
	kits := make(map[vtime.Rate]*cc.Kit)
	for i := range f.topo.Nodes {
		tn, n := &f.topo.Nodes[i], f.engine.nodes[i]
		if tn.Kind == topo.Switch {
			impl, err := newSwitch(tn, n)
			if err != nil {
				return err // which names the switch
			}
			n.impl = impl
			if l, ok := impl.(Controlled); ok {
				f.engine.locks = append(f.engine.locks, l)
			}
			continue
		}
		rate := f.topo.Links[tn.Ports[0].Link].Rate
		if h := f.hosts[tn.Host]; h != nil {
			if first := f.topo.Links[f.topo.Nodes[tn.Host].Ports[0].Link].Rate; rate != first {
				return fmt.Errorf("host %s has links of %v and %v; all links of a host must have the same rate", f.topo.Nodes[tn.Host].Name, first, rate)
			}
			h.AddPort(roce.Address{MAC: tn.MAC, IP: tn.IP})
			continue
		}
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
		n.pool.Expect(f.hostCfg.HeaderBytes(kit), f.topo.Frames.Grows)
		if len(f.topo.Nodes) >= manyNodes {
			n.host = f.hosts[i]
		}
	}
	return nil
}

// pair is a queue pair of a plan.
type pair struct {
	plan   *Plan
	number int32
}

// queue is the state of a queue pair before its next message.
type queue struct {
	numbers [2]uint32 // at the sender and the receiver; zero: no message yet
	psn     uint32    // of the next packet
}

// AddFlows adds flows, which must not start before Now. If one is invalid,
// those before it have been added.
func (f *Fabric) AddFlows(flows []Flow) error {
	plans, err := f.newPlans(flows)
	if err != nil {
		return err
	}
	f.flows = slices.Grow(f.flows, len(flows))
	queues := make(map[pair]queue)
	for i := range flows {
		var q queue
		fl := &flows[i]
		if fl.Pair > 0 {
			q = queues[pair{fl.Plan, fl.Pair}]
		}
		if err := f.addFlow(*fl, &q); err != nil {
			return fmt.Errorf("flow %d: %w", i+1, err)
		}
		if fl.Pair > 0 {
			queues[pair{fl.Plan, fl.Pair}] = q
		}
	}
	for _, p := range plans {
		p.start(f)
	}
	return nil
}

// DefaultPort returns the UDP source port of the i-th flow, from 0, if the
// flow does not have its own.
func DefaultPort(i int) uint16 { return 0xc000 | uint16(i)&0x3fff }

// addFlow adds a flow to a queue pair.
func (f *Fabric) addFlow(fl Flow, q *queue) error {
	if fl.Back == [2]int{} {
		fl.Back = [2]int{fl.Dst, fl.Src}
	}
	for _, n := range [4]int{fl.Src, fl.Dst, fl.Back[0], fl.Back[1]} {
		if n < 0 || n >= len(f.hosts) || f.topo.Nodes[n].Kind != topo.Host {
			return fmt.Errorf("node %d is not a host", n)
		}
	}
	src, dst := f.topo.Nodes[fl.Src].Host, f.topo.Nodes[fl.Dst].Host
	if src == dst {
		return fmt.Errorf("%s sends to itself", f.topo.Nodes[src].Name)
	}
	if back := [2]int{f.topo.Nodes[fl.Back[0]].Host, f.topo.Nodes[fl.Back[1]].Host}; back != [2]int{dst, src} {
		return fmt.Errorf("acknowledgements go from %s to %s, not from the receiver to the sender", f.topo.Nodes[back[0]].Name, f.topo.Nodes[back[1]].Name)
	}
	if fl.Port == 0 {
		fl.Port = DefaultPort(len(f.flows))
	}
	est, ok := f.estimate.Flow(&fl)
	if !ok {
		return fmt.Errorf("no path from %s to %s", f.topo.Nodes[fl.Src].Name, f.topo.Nodes[fl.Dst].Name)
	}
	rf := roce.Flow{
		Size: fl.Size, Start: fl.Start, Class: fl.Class, Port: cmp.Or(fl.Wire[0], fl.Port), AckPort: cmp.Or(fl.Wire[1], fl.Port), PSN: q.psn, QP: q.numbers, Coflow: uint16(fl.Coflow),
		BaseRTT: est.BaseRTT, Path: est.Rate, Leaf: f.topo.Nodes[fl.Dst].Leaf, Paths: est.Paths,
		Data: [2]int{f.ports[fl.Src], f.ports[fl.Dst]}, Ack: [2]int{f.ports[fl.Back[1]], f.ports[fl.Back[0]]},
		Held: fl.Plan != nil, Number: number(len(f.flows)),
	}
	if q.numbers == [2]uint32{} && f.hostCfg.Transport != roce.UET {
		q.numbers = [2]uint32{f.hosts[src].NextSender(), f.hosts[dst].NextReceiver()}
	}
	out, in, err := roce.Connect(f.hosts[src], f.hosts[dst], rf)
	if err != nil {
		return err
	}
	q.psn = (q.psn + uint32(f.hostCfg.Packets(fl.Size))) & 0xffffff
	packets := f.hostCfg.Packets(fl.Size)
	f.expected += uint64(est.Switches) * uint64(packets+f.hostCfg.Acks(packets))
	f.flows = append(f.flows, flow{fl, out, in, est.FCT, est.Arrival})
	return nil
}

// number returns the number of the frames of the i-th flow: i + 1, or none.
func number(i int) uint32 {
	if i >= packet.MaxFlow {
		return 0
	}
	return uint32(i + 1)
}

// Host returns the host that a node of the topology is, and nil for a switch and for a
// further adapter of a host.
func (f *Fabric) Host(node int) *roce.Host { return f.hosts[node] }

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

// Trim frees the memory of frames that are not in use. A run may go on afterwards.
func (f *Fabric) Trim() {
	e := &f.engine
	for _, n := range e.nodes {
		n.pool.Trim()
		n.empty = parcels{}
		for _, p := range n.in {
			if p.waiting.first == nil {
				p.waiting.last = nil // or it holds parcels that it has passed on
			}
		}
	}
	e.reserve.pools, e.reserve.top = nil, 0
	e.depot.parcels = parcels{}
	e.depot.any.Store(false)
}

// Done reports whether all flows added so far are finished, and all steps of plans
// are done.
func (f *Fabric) Done() bool {
	if f.flowsDone() < len(f.flows) {
		return false
	}
	if len(f.plans) > 0 {
		for _, h := range f.hosts {
			if h != nil {
				if all, done := h.Tasks(); done < all {
					return false
				}
			}
		}
	}
	return true
}

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
	p := Progress{Now: f.engine.now, Expected: f.expected, Flows: len(f.flows), FlowsDone: f.flowsDone(), Ends: f.ends}
	for _, plan := range f.plans {
		p.Ops += len(plan.Ops)
	}
	if f.ends > 0 {
		for _, h := range f.hosts {
			if h != nil {
				p.EndsDone += h.Counted()
			}
		}
	}
	for i, n := range f.engine.nodes {
		if !f.isNode(i) {
			continue
		}
		p.Events += n.handled
		if f.hosts[i] == nil {
			p.Hops += n.received
		}
	}
	return p
}

// Topology returns the network of the fabric.
func (f *Fabric) Topology() *topo.Topology { return f.topo }
