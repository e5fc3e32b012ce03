// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"github.com/pauseless/pauseless/internal/topo"
	"slices"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Results has the results of a run so far.
type Results struct {
	End    vtime.Time // of the run so far
	Flows  []FlowResult
	Ports  []PortResult // of all nodes, by node and port
	Pauses []PauseEvent // by time, node and port
	// Reordering, over all flows.
	OutOfOrder uint64         // early packets: their PSN was above the expected one
	Degree     roce.Histogram // distance to the expected packet, in packets
	Timeouts   uint64         // of senders
	CNPs       uint64         // sent by the receivers
	FastStarts uint64         // flows that began with PB-FS
	// Trimmed counts packets that switches have trimmed, TrimDrops those for whose rest
	// there was no room.
	Trimmed, TrimDrops uint64
	Dropped            uint64       // frames of lossless classes dropped by switches for lack of buffer
	Overflowed         uint64       // frames of all classes dropped by switches for lack of buffer
	Plans              []PlanResult // in the order in which they were added
}

// FlowResult is the outcome of a flow.
type FlowResult struct {
	Flow
	Finished  bool
	FCT       vtime.Time // from Start until the last acknowledgement; zero: not finished
	Delivered vtime.Time // from Start until the last byte in order arrived; zero: not yet
	// IdealDelivered is Delivered in an idle network.
	IdealDelivered vtime.Time
	Ideal          vtime.Time // FCT of the flow in an empty network
	Packets        int64      // number of packets in the flow
	Sent           int64      // packets, including retransmissions
	Resent         int64      // retransmissions
	// Retransmissions because of a negative acknowledgement, a timeout, and because
	// the packet was missing below received ones.
	ResentNAK, ResentTimeout, ResentSelective int64
	Acked                                     int64 // payload bytes

	OutOfOrder int64 // packets
	Degree     int64 // maximum distance to the expected packet, in packets
	DegreeSum  int64
	Marked     int64 // packets received with ECN CE
	CNPs       int64 // received by the sender
	Stalled    bool  // a packet waited because of PFC, in the NIC or in a switch
}

// Slowdown returns FCT over Ideal, or zero for an unfinished flow.
func (r *FlowResult) Slowdown() float64 { return float64(r.FCT) / float64(r.Ideal) }

// PortResult has the counters of a port.
type PortResult struct {
	Node int
	Port int       // from 1
	Sent LinkCount // by the node on this port
	// Paused is the time for which PFC paused each class on this port.
	Paused  [packet.Classes]vtime.Time
	Pauses  uint64 // PFC frames received that paused a class
	Resumes uint64 // PFC frames received that ended a pause
}

// Results returns the results so far.
func (f *Fabric) Results() *Results {
	r := &Results{End: f.Now(), Flows: make([]FlowResult, len(f.flows))}
	for i := range f.flows {
		r.Flows[i] = f.flows[i].result(r.End)
	}
	ports := 0
	for i := range f.topo.Nodes {
		ports += len(f.topo.Nodes[i].Ports)
	}
	r.Ports = make([]PortResult, 0, ports)
	for i, n := range f.engine.nodes {
		for p := range f.topo.Nodes[i].Ports {
			r.Ports = append(r.Ports, f.Port(i, p+1))
		}
		if !f.isNode(i) {
			continue
		}
		r.Pauses = append(r.Pauses, n.pauses...)
		if d, ok := n.impl.(DropCounter); ok {
			r.Dropped += d.LosslessDrops()
			r.Overflowed += d.Overflows()
		}
		if d, ok := n.impl.(interface {
			Trims() (trimmed, dropped uint64)
		}); ok {
			trimmed, dropped := d.Trims()
			r.Trimmed, r.TrimDrops = r.Trimmed+trimmed, r.TrimDrops+dropped
		}
		if h := f.hosts[i]; h != nil {
			r.OutOfOrder += h.Stats.OutOfOrder
			r.Degree.Merge(&h.Stats.Degree)
			r.Timeouts += h.Stats.Timeouts
			r.CNPs += h.Stats.CNPs
			r.FastStarts += h.Stats.FastStarts
		}
	}
	alone := newIdle(f.estimate)
	for _, p := range f.plans {
		r.Plans = append(r.Plans, p.result(f, alone))
	}
	f.nameAdapters(r.Pauses)
	slices.SortStableFunc(r.Pauses, func(a, b PauseEvent) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port))
	})
	return r
}

// nameAdapters replaces the ports of hosts with several adapters by these.
func (f *Fabric) nameAdapters(events []PauseEvent) {
	adapters := make(map[topo.End]int)
	for i, port := range f.ports {
		if !f.isNode(i) {
			adapters[topo.End{Node: f.topo.Nodes[i].Host, Port: port}] = i
		}
	}
	for i := range events {
		if id, ok := adapters[topo.End{Node: events[i].Node, Port: events[i].Port}]; ok {
			events[i].Node, events[i].Port = id, 1
		}
	}
}

// result returns the result at a time. Flows that a plan has not started count from
// that time.
func (fl *flow) result(now vtime.Time) FlowResult {
	r := FlowResult{Flow: fl.Flow, Ideal: fl.ideal, IdealDelivered: fl.arrival, Acked: fl.out.Acked(), CNPs: fl.out.CNPs(), Marked: fl.in.Marked()}
	r.Packets, r.Sent = fl.out.Packets()
	r.Resent = fl.out.Resent()
	r.ResentNAK, r.ResentTimeout = fl.out.ResentBy(roce.NAK), fl.out.ResentBy(roce.Timeout)
	r.ResentSelective = fl.out.ResentBy(roce.Selective) + fl.out.ResentBy(roce.Trimmed)
	r.OutOfOrder, r.Degree, r.DegreeSum = fl.in.OutOfOrder()
	r.Stalled = fl.out.Stalled() || fl.in.Stalled()
	if r.Plan != nil {
		r.Start = min(fl.out.Start(), now)
	}
	if t := fl.out.Ended(); t > 0 {
		r.Finished, r.FCT = true, t-r.Start
	}
	if t := fl.in.Ended(); t > 0 {
		r.Delivered = t - r.Start
	}
	return r
}

// Sent returns the frames sent so far on a link of the topology from its end A
// (0) or B (1).
func (f *Fabric) Sent(link, end int) LinkCount { return f.pipes[link][end].sent }

// Events returns the number of events that the fabric has handled. If it has
// not changed, neither has the state.
func (f *Fabric) Events() uint64 { return f.engine.events }

// Flows returns the number of flows.
func (f *Fabric) Flows() int { return len(f.flows) }

// Flow returns the result so far of the i-th flow, from 0.
func (f *Fabric) Flow(i int) FlowResult { return f.flows[i].result(f.Now()) }

// Ended reports whether the i-th flow is finished.
func (f *Fabric) Ended(i int) bool { return f.flows[i].out.Ended() > 0 }

// Acked returns the payload bytes of the i-th flow that are acknowledged.
func (f *Fabric) Acked(i int) int64 { return f.flows[i].out.Acked() }

// Port returns the counters of a node's port, numbered from 1.
func (f *Fabric) Port(nodeID, port int) PortResult {
	e := f.portOf(topo.End{Node: nodeID, Port: port})
	n := f.engine.nodes[e.Node]
	m := &n.in[e.Port-1].pause
	r := PortResult{Node: nodeID, Port: port, Sent: n.out[e.Port-1].sent, Pauses: m.pauses, Resumes: m.resumes}
	for c := range r.Paused {
		r.Paused[c] = m.paused(c, f.engine.now)
	}
	return r
}
