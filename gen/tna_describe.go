// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/manifest"
)

// tnaNotes say what every program is on TNA that it is not on v1model.
var tnaNotes = []string{
	"registers are per pipeline: the ports of a switch that share state must be on one, and a controller reads and writes each pipeline by itself",
	"times are of 32 bits of nanoseconds: what is 2.1 to 4.3 s old seems to come yet, so that a flow goes on where a pause as long should have ended its flowlet",
	"ingress is not told the length of a packet: it takes IP's total length and 14 bytes (those not with RLB), and 60 bytes for what is not IP",
}

// tooLarge says of combinations that are known not to fit a Tofino 1 what its
// compiler says. Their programs run in our switch.
func (g *generator) tooLarge() []string {
	const prefix = "p4c-barefoot 9.13.4 with bfas does not take this program: "
	if g.needs["conga"] && !g.needs["rlb"] && g.needs["pbfs"] {
		return []string{prefix + "tofino supports up to 12 stages, using 13"}
	}
	// In egress a copy that becomes a postcard has most before it: intrinsic
	// metadata, what the postcard says, Ethernet, IP, UDP, telemetry and BTH.
	const most = 160
	depth := 27 + 21 + 14 + 20 + 8 + 42 + 12
	for _, h := range []struct {
		there bool
		bytes int
	}{{g.needs["fabric"], 5}, {g.needs["rtt"], 10}, {g.needs["conga"], 3}, {g.needs["plb"], 9}, {g.needs["tag"], 8}} {
		if h.there {
			depth += h.bytes
		}
	}
	if g.needs["int"] && g.needs["pbfs"] && depth > most {
		return []string{prefix + fmt.Sprintf("Parser EgressParser: longest path through parser (%dB) exceeds maximum parse depth (%dB)", depth, most)}
	}
	return nil
}

// tnaDescribe returns what a block puts into the manifest on TNA: the same as
// on v1model unless it is listed here.
func tnaDescribe(block string) description {
	d := descriptions[block]
	t, ok := tnaDescriptions[block]
	if !ok {
		return d
	}
	if t.tables != nil {
		d.tables = t.tables
	}
	if t.registers != nil {
		d.registers = t.registers
	}
	d.counters, d.notes = t.counters, t.notes
	return d
}

func pair(name, unit, index, doc string, fields ...string) registerDoc {
	r := register(name, unit, index, 32, doc)
	r.fields = fields
	return r
}

var tnaDescriptions = map[string]description{
	"in_port": {tables: []manifest.Table{
		{Name: "port_number", Kind: ports, Doc: "port of the target to port number of the topology"},
	}},
	"hash": {notes: []string{
		"8 bits of the hash choose the path rather than 16: with a number of paths that is no power of two, shares differ by up to 1/256",
	}},
	"flowlet": {registers: []registerDoc{
		descriptions["flowlet"].registers[0],
		register("flowlet_path", "path", "flow", 8, "path of its flowlet; 255 for none"),
	}},
	"presto": {registers: []registerDoc{
		descriptions["presto"].registers[0],
		register("flowcell_path", "path", "flow", 8, "path of the flowcell; 255 for none"),
	}},
	"red": {notes: []string{
		"the probability of a mark rises with the queue at a slope that is rounded to a power of two, as a Tofino does not multiply",
	}},
	"ingress_qlen": {
		registers: []registerDoc{
			pair("ingress_qlen", "bytes", "port,priority", "bytes now buffered that arrived on a port, and when that was last looked at", "bytes", "looked_at"),
			pair("departed", "bytes", "port,priority", "in egress: bytes from a port that have left and are not yet reported, below zero, and when some were last", "bytes", "told_at"),
		},
		notes: []string{
			"ingress_qlen learns of departures from copies that egress sends through the recirculation port, once per 1 µs and queue: it counts up to the bytes of that time and of the way too many, and the last frame of a burst until the next one or for 10 ms",
			"an ingress queue that nothing came for or left in 10 ms counts as empty: one that was paused longer counts below zero as it drains, and warns late until it rests again (not with rlb_adaptive)",
			"IP's length alone is counted, not the header between leaves (22 bytes)",
		},
	},
	"egress_qlen": {
		registers: []registerDoc{
			register("queue_told_at", "time", "port,priority", 32, "in egress: when ingress was last told of a queue"),
		},
		notes: []string{
			"ingress learns of egress queues from copies that egress sends through the recirculation port, once per 1 µs and queue and only when a packet leaves it: decisions are later by that and the way, about 2 µs, and a paused queue looks as it did when the pause began",
		},
	},
	"drill": {
		registers: []registerDoc{
			register("egress_qlen", "bytes", "path,priority", 32, "bytes queued at the ports of a choice, as last reported, for the first sample"),
			register("egress_qlen_copy", "bytes", "path,priority", 32, "the same for the second sample"),
			pair("drill_best", "bytes", "leaf,path", "by leaf and the last of the paths that a packet may take: queue of the best of them when it was last a sample, and that path", "qlen", "path"),
		},
		notes: []string{
			"the best path of before is compared by the queue that it had when it was last a sample, as a register answers once per packet; of eight paths each is a sample in every fourth packet",
		},
	},
	"fabric": {notes: []string{
		"egress puts the header on and takes it off; round-trip times are from egress of the source leaf to its ingress",
	}},
	"rtt": {
		registers: []registerDoc{
			{"stamped_at", "time", "leaf,path", 32, "in egress: when a packet on a path was last stamped", has("plb"), nil},
			{"echo_path", "path", "leaf", 8, "in egress: path of the stamp that waits to be echoed to a leaf, plus one", has("plb"), nil},
			register("echo_age", "time", "leaf", 32, "in egress: how far that stamp is behind the clock"),
		},
		notes: []string{"there is no moving average of round-trip times: a stateful ALU does not shift"},
	},
	"rlb": {
		registers: []registerDoc{
			pair("warned", "paths", "leaf", "paths to a leaf, a bit each: those that were warned of in the lowest bits, the first at the left, and above them those whose latest round trip was long; and when the window of time began in which that was heard", "paths", "since"),
			pair("warned_all", "paths", "one", "the same for warnings that are about all leaves", "paths", "since"),
		},
		counters: []manifest.Counter{
			{Name: "warnings_sent", Unit: "messages", Table: "cnm_out", Action: "warn_upstream", Doc: "warnings sent, by the entry of their port"},
			{Name: "reroutes", Unit: "packets", Table: "Forwardtype", Action: "forward_other", Doc: "packets that left a warned path for another"},
			{Name: "recirculations", Unit: "packets", Table: "Forwardtype", Action: "forward_later", Doc: "times a packet waited for a warned path by recirculation"},
		},
		notes: []string{
			"P4 on Tofino does not see pauses: the switch that is about to pause warns, as everywhere, and no other signal is used",
			"the prediction is that of the paper's hardware, by Q_th alone: rlb.horizon, rlb.floor and rlb.xoff are not used, and rlb.interval changes it only when the program is generated",
			"the end of a warning is not told, it runs out: warnings are repeated as long as the queue is beyond Q_th, and rlb.calm is not used",
			"warnings of a window, the greatest power of two of nanoseconds not above rlb.hold, run out together, after rlb.hold on average; a window begins with a warning, which ends those of the one before that have not been repeated by then",
			"a round trip is long or not: longer than the base RTT by more than rlb.pass_time; a packet waits if that of the other path is and that of its own is not; a path keeps its mark until its next round trip, but no longer than the window's warnings or the next window's first: rlb.fresh is not used",
			"one packet in eight is stamped, at random, rather than one per path and interval; the lowest bits of a stamp are its path, and rtt.interval is not used",
			"the other path is the next free one in turn for every base scheme; flows and flowlets that are moved return to their path when the warning is over",
			"the time of a recirculation is rlb.pass_time, not measured",
			"warnings, reroutes and recirculations are counted by the entries of tables, the latter two for all ports together; packets that take a warned path all the same are not counted",
		},
	},
	"rlb_adaptive": {
		tables: []manifest.Table{},
		registers: []registerDoc{
			register("faulty", "paths", "one", 0, "paths out of use until the controller clears their bit, the first at the left"),
			pair("window_packets", "packets", "one", "packets that came back from recirculation in a window of 1024 ns, and its number", "packets", "number"),
			pair("suspect_port", "port", "one", "port for which a packet last passed too often, and the window of 65 µs", "port", "window"),
		},
		notes: []string{
			"Eq. 5's budget is for windows of 1024 ns rather than of one recirculation time, in packets of the MTU rounded up to a power of two, and held against the packets that came back in the window; a register that tells each packet the length of its queue does not tell the time to look as well: one in eight of the packets that find it beyond Q_th warns",
			"Eq. 6 knows round trips by classes, longer than the base RTT by more than 1, 4 or 16 times rlb.pass_time; warned has bits of the paths for each, the longest at the left",
			"algorithm 2 suspects the port of each packet that alone passes more often than the average allows, and takes its path out of use when that happens in two windows of 65 µs running; the port with the most recirculations is not sought",
			"a path out of use counts as warned: packets may still wait for it if all others are slow",
		},
	},
	"dre": {
		registers: []registerDoc{
			pair("link_load", "bytes", "port", "in egress: bytes that a link has sent in a window of 131 µs, and the number of the window", "bytes", "window"),
			register("link_last", "bytes", "port", 32, "in egress: bytes of its last full window"),
		},
		notes: []string{
			"the load of a link is what it sent in its last full window of 131 µs rather than a decaying sum, and known for links of 1, 10, 25, 40, 50 and 100 Gb/s, by bytes in units of 4096: a link of 1 Gb/s counts as loaded by up to a quarter more; a link that was idle for longer counts as loaded as it was before until the window of its next packet is over",
		},
	},
	"conga": {
		tables: []manifest.Table{},
		registers: []registerDoc{
			pair("congestion_to", "1/8", "leaf,path", "congestion of a path to a leaf, as that feeds it back, and when it did", "congestion", "fed_at"),
			pair("congestion_best", "1/8", "leaf,path", "by leaf and the last of the paths that a packet may take: congestion of the best of them when it was last looked at, and that path", "congestion", "path"),
			register("congestion_from", "1/8", "leaf,path", 8, "in egress: congestion of a path from a leaf"),
			register("feedback_path", "path", "leaf", 8, "in egress: path that was fed back to a leaf last"),
		},
		notes: []string{
			"a new flowlet takes the better of a path at random and the best one so far, not the best of all",
			"the load of the leaf's own links counts as the destination leaf feeds it back, a round trip later",
			"paths are fed back in turn, those that have changed not first, and as many as there are to the leaf, whatever it has",
		},
	},
	"np_ecn": {
		tables: []manifest.Table{
			{Name: "pfc_port", Kind: ports, Doc: "time of 512 bits on the link of a port, in 1/1024"},
		},
		notes: []string{
			"P4 on Tofino does not see pauses: a packet counts as held up by one if it waited 1 µs longer than the cells before it take to send; packets of higher classes in between look like a pause, pauses of less than that like none, and waits of more than 262 µs wrap",
			"the time of a cell is rounded up to a power of two of nanoseconds: exact at 10 and 40 Gb/s, 25 % more at 25, 50 and 100 Gb/s",
		},
	},
	"clb": {
		registers: []registerDoc{
			register("clb_qlen", "bytes", "path,priority", 32, "length of an egress queue at its last report"),
			register("clb_rank", "rank", "path,priority", 32, "T4: class of a path in the upper two bits, then length or growth"),
			pair("clb_best", "rank", "path,priority", "by the last of the paths that a packet may take: rank of the best of them when last looked at, and that path", "rank", "path"),
		},
		notes: []string{
			"a new flowlet takes the better of a path at random and the best one so far, not the best of all",
			"destinations with the same number of paths share a best one; a report updates that of the packet that it is of, others find the new rank at random",
			"growth is from one report of a queue to the next, at least 1 µs; clb.interval is not used",
			"coflows are not told apart: that takes a second look at all paths; clb.tie is not used",
		},
	},
	"plb": {
		tables: append([]manifest.Table{
			{Name: "pfc_port", Kind: ports, Doc: "time of 512 bits on the link of a port, in 1/1024"},
		}, descriptions["plb"].tables...),
		registers: []registerDoc{
			register("path_rtt", "time", "leaf,path", 32, "round-trip time of a path, latest sample"),
			register("path_load", "1/255", "leaf,path", 8, "load of a path, 255 is full"),
			register("echo_load", "1/255", "leaf", 8, "in egress: load that waits to be echoed to a leaf"),
			register("path_rank", "rank", "leaf,path", 32, "class of a path in the upper two bits (0 free, 1 undetermined, 2 congested, 3 kicked out), then its round-trip time or what its load lacks"),
			pair("path_best", "rank", "leaf", "rank of the best path to a leaf, and that path", "rank", "path"),
			pair("other_rtt", "time", "leaf", "shortest round-trip time of the other paths to a leaf in a window of time, and the number of the window", "rtt", "window"),
			register("flow_tolerable", "time", "flow", 32, "delay that the path of a flow may still cost"),
			pair("silence", "time", "port,priority", "when a packet last left a queue or one came after a rest, and when the last one came", "since", "last"),
			register("expected", "time", "port,priority", 32, "delay that a packet may expect at a port: as last reported, and what has come since"),
			register("sojourn", "time", "port,priority", 32, "in egress: time that packets lately waited for a port"),
			register("queue_told_at", "time", "port,priority", 32, "in egress: when ingress was last told of a queue"),
			register("probed_at", "time", "leaf", 32, "when a path to a leaf was last probed"),
			register("probe_path", "path", "leaf", 8, "path that was"),
			register("told_at", "time", "message", 32, "when a leaf was last told to leave a path, by a hash of both"),
		},
		notes: []string{
			"P4 on Tofino does not see pauses: ingress takes a port for paused if packets have come for it for 4 µs, none later than 2 µs after another, and egress reports none of them; pauses of less than that are missed, ports that few packets take never count as paused, and a class that higher ones starve looks paused",
			"algorithm 1 compares with what egress reported last: the queue as it was then, in cells whose time is rounded up to a power of two of nanoseconds, or the average time that packets lately were held up, one report in 1 µs; what has come for the port since counts as packets of 1024 bytes",
			"a packet pays for its wait if it waited 1 µs longer than the cells before it take to send; waits of more than 262 µs wrap",
			"a new flow takes the best path as news of paths come in, not the best of all at that moment: after a kick-out, or when the route has lost that path, it takes one at random until the next news of any path; what the path may cost is against the fastest of the other paths in a window of as many probe intervals as there may be paths, and early in the window against those few that have been measured",
			"the packet that finds its path congested or kicked out is resubmitted to write the other one down, packets behind it overtake it by one pass of ingress",
			"the load of a link is known in twentieths; probes pass the destination leaf's queue to a host port and end in its egress",
		},
	},
	"int": {notes: []string{
		"a packet counts in tx_bytes as it comes from ingress: on a chip with the four bytes of its check sequence, without a header that egress adds",
	}},
	"qcn": {
		registers: append([]registerDoc{
			pair("qcn_seen", "bytes", "port,priority", "length of an egress queue when a packet last left it, and what it had grown by since the one before", "qlen", "growth"),
		}, descriptions["qcn"].registers...),
		notes: []string{
			"samples are of what leaves a queue, once the bytes of a period have left it or made it longer, and by the queue that they leave behind: who is told of a queue that has just grown is who was first in it, and nobody is while a port is paused",
			"a period begins as the longest one; a copy of the sample, which is also the notification, shortens it when it passes egress of the port that it goes back by: until then, or if that is on another pipeline, samples are rarer",
			"periods, by one of 16 random numbers from 0.86 to 1.14 of what they should be, and the steps of feedback are tables: qcn.sample changes them only when the program is generated, and qcn.equilibrium and qcn.weight change the steps only then",
			"a packet is copied once: DRILL and CLB do not hear of a queue by a packet that is a sample",
			"a weight counts as the greatest power of two that is not above it, and not above 8; a notification has up to 60 bytes of its packet behind it, as padding",
		},
	},
	"pbfs": {
		registers: []registerDoc{
			pair("slot_bytes", "bytes", "port", "in egress: bytes that a port sent in a slot, and its number", "bytes", "number"),
			register("slot_bytes_last", "bytes", "port", 32, "in egress: what came for it in the last full slot"),
			register("slot_qlen", "bytes", "port", 32, "in egress: its queue when the slot began"),
			pair("slot_marked", "bytes", "port", "in egress: bytes of marked packets that a port sent in a slot, and its number", "bytes", "number"),
			register("slot_marked_last", "bytes", "port", 32, "in egress: those of the last full slot with any"),
			pair("window_bytes", "bytes", "port", "in egress: bytes that a port sent in a window of 8 slots, and its number", "bytes", "number"),
			register("window_bytes_last", "bytes", "port", 32, "in egress: those of the last full window"),
			register("window_qlen", "bytes", "port", 32, "in egress: queue of a port when the window began"),
			register("postcards", "messages", "port", 32, "in egress: postcards about a port"),
		},
		notes: []string{
			"what comes for a port is counted where it leaves, as bytes sent and growth of the queue: a postcard is later by the time that its packet was queued, and none is sent while a port is paused",
			"a packet is copied once: with DRILL or RLB, one whose copy tells ingress of queues causes no postcard, the next marked one does",
			"slots are a power of two of nanoseconds long, the nearest to DC_RTT/16; pbfs.rtt changes it only when the program is generated",
			"the bytes of the last 8 slots are those of the last full window of 8, up to half a round trip old, or those of before, where a port has been idle; recent bytes are those of the last full slot that had any",
		},
	},
}
