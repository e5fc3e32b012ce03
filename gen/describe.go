// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"slices"

	"github.com/pauseless/pauseless/internal/manifest"
)

// A description is what a block puts into the manifest. A test holds it
// against the P4Info of every program.
type description struct {
	tables    []manifest.Table
	registers []registerDoc
	counters  []manifest.Counter
	digests   []manifest.Digest
	notes     []string
}

// registerDoc describes a register; sizes and the unit "time" are filled in
// by the profile, and bits where they are a set of paths (zero).
type registerDoc struct {
	name, unit, index string
	bits              int
	doc               string
	only              func(*generator) bool // profiles that have it; nil: all with the block
	fields            []string              // of a pair
}

func register(name, unit, index string, bits int, doc string) registerDoc {
	return registerDoc{name: name, unit: unit, index: index, bits: bits, doc: doc}
}

// Kinds of table.
const (
	routes   = "routes"
	ports    = "ports"
	tuning   = "settings"
	constant = "constant"
)

// describe returns what a block of the profile puts into the manifest.
func (g *generator) describe(block, target string) description {
	d := descriptions[block]
	if target == "tna" {
		d = tnaDescribe(block)
	}
	d.registers = slices.DeleteFunc(slices.Clone(d.registers), func(r registerDoc) bool { return r.only != nil && !r.only(g) })
	return d
}

var descriptions = map[string]description{
	"base": {tables: []manifest.Table{
		{Name: "route", Kind: routes, Doc: "destination address: a host's port, a port, or a row of equal ports towards a leaf"},
	}},
	"forward": {tables: []manifest.Table{
		{Name: "Forward", Kind: ports, Doc: "port number of the topology to port of the target"},
	}},
	"recirculation": {registers: []registerDoc{
		register("recirc_sent", "bytes", "one", 32, "bytes ever sent to the recirculation port"),
		register("recirc_returned", "bytes", "one", 32, "how many of them are back; the difference is its queue"),
	}},
	"pfc": {
		tables: []manifest.Table{
			{Name: "pfc_port", Kind: ports, Doc: "time of 512 bits on the link of a port, in 1/1024"},
		},
		registers: []registerDoc{
			register("paused_until", "time", "port,priority", 32, "until when a class of a port is paused; the time of the resumption once that is past"),
			register("pause_seen", "flag", "port,priority", 8, "packets that the last pause held up may still be queued"),
		},
	},
	"neighbour": {tables: []manifest.Table{
		{Name: "fabric_port", Kind: ports, Doc: "ports to other switches; with RLB, the path of each and who else shall hear of warnings"},
	}},
	"fabric": {tables: []manifest.Table{
		{Name: "leaf_role", Kind: ports, Doc: "a leaf's own number, and how often it measures each path"},
	}},
	"rtt": {registers: []registerDoc{
		register("path_rtt", "time", "leaf,path", 32, "round-trip time of a path, latest sample"),
		register("path_rtt_avg", "time", "leaf,path", 32, "round-trip time of a path, moving average"),
		{"path_rtt_time", "time", "leaf,path", 32, "when the latest sample of a path came", has("rlb"), nil},
		register("stamped_at", "time", "leaf,path", 32, "when a packet on a path was last stamped"),
		register("echo_path", "path", "leaf", 8, "path of the stamp that waits to be echoed to a leaf, plus one"),
		register("echo_age", "time", "leaf", 32, "how far that stamp is behind the clock"),
	}},
	"ingress_qlen": {registers: []registerDoc{
		register("ingress_qlen", "bytes", "port,priority", 32, "bytes now buffered that arrived on a port"),
	}},
	"egress_qlen": {registers: []registerDoc{
		register("egress_qlen", "bytes", "port,priority", 32, "bytes now buffered that leave on a port"),
	}},
	"dre": {
		tables: []manifest.Table{
			{Name: "link", Kind: ports, Doc: "what a byte adds to the load of a port to a switch, in 2^-16"},
		},
		registers: []registerDoc{
			register("link_load", "1/65536", "port", 32, "load of a link, 65536 is full, at link_time"),
			register("link_time", "time", "port", 32, "when link_load was last brought up to date"),
		},
	},
	"flowlet": {
		tables: []manifest.Table{
			{Name: "flowlet", Kind: tuning, Doc: "pause in a flow that ends a flowlet"},
		},
		registers: []registerDoc{
			register("flowlet_time", "time", "flow", 32, "when the last packet of a flow came"),
			register("flowlet_path", "path", "flow", 8, "path of its flowlet, plus one"),
		},
	},
	"presto": {
		tables: []manifest.Table{
			{Name: "flowcell", Kind: tuning, Doc: "size of a flowcell"},
		},
		registers: []registerDoc{
			register("flowcell_bytes", "bytes", "flow", 32, "bytes of a flow in its flowcell"),
			register("flowcell_path", "path", "flow", 8, "path of the flowcell, plus one"),
		},
	},
	"drill": {registers: []registerDoc{
		register("drill_best", "path", "leaf", 8, "path that was best last time"),
	}},
	"conga": {registers: []registerDoc{
		register("congestion_to", "1/8", "leaf,path", 8, "congestion of a path to a leaf, as that feeds it back"),
		register("congestion_time", "time", "leaf,path", 32, "when it did"),
		register("congestion_from", "1/8", "leaf,path", 8, "congestion of a path from a leaf, as packets bring it"),
		register("feedback_path", "path", "leaf", 8, "path that was fed back to a leaf last"),
		register("feedback_due", "paths", "leaf", 0, "paths whose congestion has changed since, the first at the left"),
	}, tables: []manifest.Table{
		{Name: "next_feedback", Kind: constant, Doc: "path to feed back: one that has changed, or the next in turn"},
	}},
	"clb": {
		tables: []manifest.Table{
			{Name: "clb", Kind: tuning, Doc: "queue threshold, interval of growth, and difference that coflows decide"},
		},
		registers: []registerDoc{
			register("clb_growth", "bytes, signed", "port,priority", 32, "T2: what an egress queue grew by in the last interval"),
			register("clb_qlen", "bytes", "port,priority", 32, "its length at the end of that interval"),
			register("clb_time", "time", "port,priority", 32, "when that was, at the first port of a choice"),
			register("clb_coflow", "coflow", "coflow", 16, "coflow that a row of clb_flows is about"),
			register("clb_flows", "flows", "coflow,path", 32, "T3: flows of a coflow on a path"),
		},
	},
	"plb": {
		tables: []manifest.Table{
			{Name: "path_class", Kind: tuning, Doc: "round trip of a free path, and load of a congested one"},
			{Name: "pause_cost", Kind: ports, Doc: "time of a byte on the link of a port, in 1/1024, and how often a leaf is told to leave a path"},
			{Name: "probe", Kind: tuning, Doc: "how often an idle path to a leaf is probed"},
		},
		registers: []registerDoc{
			register("path_load", "1/255", "leaf,path", 8, "load of a path, 255 is full"),
			register("echo_load", "1/255", "leaf", 8, "load that waits to be echoed to a leaf"),
			register("path_rank", "rank", "leaf,path", 32, "class of a path in the upper two bits (0 free, 1 undetermined, 2 congested, 3 kicked out), then its round-trip time or what its load lacks"),
			register("flow_tolerable", "time", "flow", 32, "delay that the path of a flow may still cost"),
			register("sojourn", "time", "port,priority", 32, "time that packets lately waited for a port"),
			register("probed_at", "time", "leaf", 32, "when a path to a leaf was last probed"),
			register("probe_path", "path", "leaf", 8, "path that was"),
			register("told_at", "time", "message", 32, "when a leaf was last told to leave a path, by a hash of both"),
		},
	},
	"rlb_adaptive": {
		tables: []manifest.Table{
			{Name: "next_working", Kind: constant, Doc: "first path in turn that is in use"},
		},
		registers: []registerDoc{
			register("faulty", "paths", "one", 0, "paths out of use until the controller clears their bit, the first at the left"),
			register("window_start", "time", "one", 32, "start of the running window"),
			register("window_length", "time", "one", 32, "its length, t_rc when it began"),
			register("window_budget", "packets", "one", 32, "N_rc, packets that may recirculate in it"),
			register("window_packets", "packets", "one", 32, "packets that did"),
			register("window_passes", "packets", "one", 32, "sum of how often they did by then"),
			register("port_passes", "packets", "port", 32, "recirculations for a port in the window port_window"),
			register("port_window", "time", "port", 32, "start of that window"),
			register("top_passes", "packets", "one", 32, "most recirculations of a port in the window"),
			register("top_port", "port", "one", 16, "that port"),
			register("suspect_port", "port", "one", 16, "port that had the most in the window before; 0 for none"),
		},
		digests: []manifest.Digest{
			{Name: "fault_t", Fields: []string{"port", "leaf", "passes", "packets"}, Doc: "the switch behind the port is faulty, the path is out of use"},
		},
	},
	"rlb": {
		tables: []manifest.Table{
			{Name: "Readqlen", Kind: ports, Doc: "ports whose ingress queue is watched"},
			{Name: "predict", Kind: ports, Doc: "when the switch before a port is warned"},
			{Name: "next_path", Kind: constant, Doc: "first free path in turn"},
			{Name: "Compath", Kind: tuning, Doc: "whether waiting pays: round-trip times against the time of a recirculation"},
			{Name: "Forwardtype", Kind: constant, Doc: "fwd_flag: direct, another path, or later"},
			{Name: "Stoprecir", Kind: tuning, Doc: "how much recirculation there may be"},
			{Name: "cnm_out", Kind: ports, Doc: "what the warnings of a port say"},
		},
		registers: []registerDoc{
			register("warning_on", "flag", "port,priority", 8, "the switch before a port was warned and not yet told that it is over"),
			register("warned", "paths", "leaf", 0, "paths to a leaf that were warned of, the first at the left"),
			register("warned_all", "paths", "one", 0, "paths that were warned of for all leaves"),
			register("warned_until", "time", "leaf+,path", 32, "when a warning runs out; the last row is for warned_all"),
			register("sampled_at", "time", "port,priority", 32, "when an ingress queue was last looked at"),
			register("sampled_qlen", "bytes", "port,priority", 32, "its length then"),
			register("warnings_sent", "messages", "port", 32, "warnings sent out of a port"),
			register("reroutes", "packets", "port", 32, "packets that left a warned port for another path"),
			register("recirculations", "packets", "port", 32, "times a packet waited for a warned port by recirculation"),
			register("forwarded_warned", "packets", "port", 32, "packets sent to a warned port all the same"),
		},
	},
	"pfc_emulated": {
		tables: []manifest.Table{
			{Name: "pfc_threshold", Kind: ports, Doc: "when the sender at a port is asked to pause, and may go on"},
			{Name: "hold", Kind: tuning, Doc: "how often a packet may be held"},
		},
		registers: []registerDoc{
			register("pausing_since", "time", "port,priority", 32, "when the peer of a port was last told to pause; 0 if it may send"),
			{"arrived_at", "time", "port,priority", 32, "when a packet of a class last arrived on a port; without RLB only", func(g *generator) bool { return !g.needs["rlb"] }, nil},
		},
		notes: []string{
			"packets held for a paused port keep their order only as far as the recirculation port does; after max_holds passes they are sent all the same",
		},
	},
	"pbfs": {
		tables: []manifest.Table{
			{Name: "slot", Kind: tuning, Doc: "length of a slot: 2^32 by its units of time"},
			{Name: "pbfs_port", Kind: ports, Doc: "bytes that a port sends in a round trip, and its rate"},
			{Name: "postcard", Kind: ports, Doc: "number of this switch on its postcards"},
		},
		registers: []registerDoc{
			register("slot_number", "slot", "port,slot", 32, "number of the slot of time that a cell is about"),
			register("slot_bytes", "bytes", "port,slot", 32, "bytes that came for a port in a slot"),
			register("slot_marked", "bytes", "port,slot", 32, "those of marked packets"),
			register("slot_qlen", "bytes", "port,slot", 32, "queue of the port when the slot began"),
			register("postcards", "messages", "port", 32, "postcards about a port"),
		},
	},
	"qcn": {
		tables: []manifest.Table{
			{Name: "qcn", Kind: tuning, Doc: "queue to keep, weight of its growth, and bytes between samples"},
			{Name: "qcn_period", Kind: constant, Doc: "how often samples are taken, by the upper bits of the feedback"},
		},
		registers: []registerDoc{
			register("qcn_left", "bytes", "port,priority", 32, "bytes to come for an egress queue before the next sample"),
			register("qcn_qlen", "bytes", "port,priority", 32, "length of an egress queue at the last sample"),
		},
	},
	"red": {tables: []manifest.Table{
		{Name: "red", Kind: tuning, Doc: "marking thresholds of an egress port"},
	}},
	"int": {
		tables: []manifest.Table{
			{Name: "telemetry", Kind: ports, Doc: "rate of a port as a code, and the number of this switch"},
		},
		registers: []registerDoc{
			register("tx_bytes", "bytes", "port", 32, "bytes that a port has sent"),
		},
	},
}

func has(name string) func(*generator) bool { return func(g *generator) bool { return g.needs[name] } }
