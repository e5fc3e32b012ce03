// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/vtime"
)

// A Definition says what a parameter means and how its default follows from
// the network. This is the only place where a default is written down.
type Definition struct {
	Name, Unit string
	Table      string // where it can be changed at run time
	Doc        string
	derive     func(Network) float64
}

// fixed is a default that does not depend on the network.
func fixed(x float64) func(Network) float64 { return func(Network) float64 { return x } }

func ns(t vtime.Time) float64 { return float64(t) / float64(vtime.Nanosecond) }

const kb = float64(vtime.KB)

// Parameters are all parameters of all programs. Defaults are those of the
// papers where they give one.
var Parameters = []Definition{
	{"red.kmin", "bytes", "red", "egress queue from which on packets are marked (DCQCN: 5 KB at 40 Gb/s)",
		func(n Network) float64 { return 5 * kb * n.at40G() }},
	{"red.kmax", "bytes", "red", "egress queue from which on every packet is marked (DCQCN: 200 KB at 40 Gb/s)",
		func(n Network) float64 { return 200 * kb * n.at40G() }},
	{"red.pmax", "fraction", "red", "share of packets marked just below kmax (DCQCN: 1 %)", fixed(0.01)},

	{"rlb.interval", "ns", "Readqlen", "Δt, between two looks at an ingress queue; the link delay",
		func(n Network) float64 { return ns(n.Delay) }},
	{"rlb.floor", "bytes", "predict", "ingress queue below which nothing is predicted: d·C, the lower end of Eq. 3",
		func(n Network) float64 { return n.inFlight() }},
	{"rlb.warn", "bytes", "predict", "Q_th, ingress queue from which on a warning is always sent: the upper end of Eq. 3",
		func(n Network) float64 { return n.warn() }},
	{"rlb.xoff", "bytes", "predict", "Q_PFC, ingress queue at which the sender is paused",
		func(n Network) float64 { return float64(n.XOFF) }},
	{"rlb.horizon", "ns", "predict", "how far ahead a pause must be predicted to be warned of; 0 predicts by Q_th alone",
		func(n Network) float64 { return 2 * ns(n.Delay) }},
	{"rlb.calm", "bytes", "Readqlen", "ingress queue that ends a warning when it falls below: half of Q_th",
		func(n Network) float64 { return n.warn() / 2 }},
	{"rlb.hold", "ns", "cnm_out", "how long a warning counts that nobody ends: the time to drain half of Q_PFC",
		func(n Network) float64 { return ns(n.Rate.TxTime(int(n.XOFF / 2))) }},
	{"rlb.pass_time", "ns", "Compath", "latency of one recirculation through an empty queue", fixed(1000)},
	{"rlb.recirculation_rate", "bps", "Compath", "rate of the recirculation port", fixed(float64(100 * vtime.Gbps))},
	{"rlb.fresh", "ns", "Compath", "age from which on a path's round-trip time counts as not measured: twice the base RTT between leaves",
		func(n Network) float64 { return 2 * ns(n.RTT()) }},
	{"rlb.max_recirculations", "count", "Stoprecir", "how often one packet may be recirculated", fixed(64)},

	{"rlb_adaptive.fault_average", "count", "Stoprecir", "recirculations per packet from which on a path is suspected (Alg. 2): half of what a packet may; pauses alone cause up to 20", fixed(32)},

	{"rtt.interval", "ns", "leaf_role", "between two measurements of a path: the base RTT between leaves",
		func(n Network) float64 { return ns(n.RTT()) }},

	{"presto.flowcell", "bytes", "flowcell", "bytes that a flow sends on one path before it takes the next", fixed(64 * 1024)},
	{"letflow.gap", "ns", "flowlet", "pause in a flow that ends a flowlet", fixed(100_000)},
	{"conga.gap", "ns", "flowlet", "pause in a flow that ends a flowlet", fixed(100_000)},
	{"conga.age", "ns", "flowlet", "age from which on feedback counts as no congestion", fixed(10_000_000)},

	{"clb.gap", "ns", "flowlet", "pause in a flow that ends a flowlet; 0: each packet may take another path; 1s: only each flow", fixed(100_000)},
	{"clb.threshold", "bytes", "clb", "Q_thr, egress queue that a pause is near from: two thirds of Q_PFC",
		func(n Network) float64 { return float64(n.XOFF) * 2 / 3 }},
	{"clb.interval", "ns", "clb", "Δt, over which the growth of a queue is taken: the link delay",
		func(n Network) float64 { return ns(n.Delay) }},
	{"clb.tie", "bytes", "clb", "difference of queues below which coflows decide: one frame",
		func(n Network) float64 { return float64(n.MTU) }},

	{"plb.idle", "ns", "flowlet", "silence after which a flow counts as new", fixed(1_000_000)},
	{"plb.rtt_low", "ns", "path_class", "RTT_low, round trip that a free path stays below: the base RTT and 30 µs",
		func(n Network) float64 { return ns(n.RTT()) + 30_000 }},
	{"plb.full", "fraction", "path_class", "load from which on a slow path counts as congested, below as paused", fixed(0.95)},
	{"plb.probe_interval", "ns", "probe", "between two probes of idle paths to the same leaf: the base RTT between leaves",
		func(n Network) float64 { return ns(n.RTT()) }},
	{"plb.tell_again", "ns", "pause_cost", "between two messages to a leaf to leave the same path: the base RTT between leaves",
		func(n Network) float64 { return ns(n.RTT()) }},

	{"pfc_emulated.xoff", "bytes", "pfc_threshold", "ingress queue at which the sender is paused",
		func(n Network) float64 { return float64(n.XOFF) }},
	{"pfc_emulated.xon", "bytes", "pfc_threshold", "ingress queue at which it may go on: two frames less",
		func(n Network) float64 { return max(float64(n.XOFF-2*n.MTU), 0) }},
	{"pfc_emulated.max_holds", "count", "hold", "how often a packet may recirculate for a paused port before it is sent all the same", fixed(1000)},

	{"qcn.equilibrium", "bytes", "qcn", "Q_eq, egress queue that senders are to keep (802.1Qau: 26 KB)", fixed(26 * kb)},
	{"qcn.weight", "count", "qcn", "w, weight of the queue's growth (802.1Qau: 2)", fixed(2)},
	{"qcn.sample", "bytes", "qcn", "bytes between two samples of a queue that is not congested, eight times as many as if it is most (802.1Qau: 150 KB)", fixed(150 * kb)},

	{"pbfs.rtt", "ns", "slot", "DC_RTT, the longest base round trip between hosts; a slot is 1/16 of it",
		func(n Network) float64 { return ns(n.hostRTT()) }},
}

// at40G is the link's rate in units of 40 Gb/s.
func (n Network) at40G() float64 { return float64(n.Rate) / float64(40*vtime.Gbps) }

// inFlight is d·C, the bytes on a link.
func (n Network) inFlight() float64 { return float64(n.Rate.Bytes(n.Delay)) }

// warn is the upper end of RLB's Eq. 3, Q_PFC − d·C·(n−1), but not below the
// lower end, d·C.
func (n Network) warn() float64 {
	return max(float64(n.XOFF)-n.inFlight()*float64(n.FanIn-1), n.inFlight())
}

// RTT is the base round trip from leaf to leaf: a largest frame there, a
// smallest one back, stored and forwarded on every hop.
func (n Network) RTT() vtime.Time {
	const smallest = 64
	hop := 2*n.Delay + n.Rate.TxTime(int(n.MTU)) + n.Rate.TxTime(smallest)
	return vtime.Time(n.Hops) * hop
}

// hostRTT is the same from host to host, two links more.
func (n Network) hostRTT() vtime.Time {
	n.Hops += 2
	return n.RTT()
}

// Define finds the definition of a parameter.
func Define(name string) (Definition, bool) {
	for _, d := range Parameters {
		if d.Name == name {
			return d, true
		}
	}
	return Definition{}, false
}

// Derive returns the default of a parameter in its own unit.
func Derive(name string, n Network) (float64, error) {
	d, ok := Define(name)
	if !ok {
		return 0, fmt.Errorf("no parameter is called %s", name)
	}
	return d.derive(n), nil
}
