// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// A known cause is why claims of an experiment do not hold, as an experiment of
// its own shows, at the small scale unless paper or byPaper is set.
type known struct {
	experiment                string // or the beginning of the names of several: "rlb-"
	metric, with, than, point string // of the claim; any, if empty. The point has this in it
	flat                      bool   // only of claims whose opposite is not true either
	less                      bool   // of claims that hold with a smaller effect than the paper's, too
	paper                     bool   // only of claims at the papers' scale, at which by was run, too
	small                     bool   // only of claims at the small scale
	byPaper                   bool   // by is at the papers' scale, whatever the claim's is
	bound                     bool   // by has a limit that excludes the paper's effect: see limit
	cause                     string
	by                        string
	proof                     proof
}

// A proof names the claims of an experiment that must all hold, or all be refuted,
// by metric and arms; any, if empty. Their points have its point in them.
type proof struct {
	metric, with, than, point string
	refuted                   bool
}

func (p proof) has(c *result.Judged) bool {
	_, metric := c.Claim.Relation()
	return (p.metric == "" || p.metric == metric) && (p.with == "" || p.with == c.Claim.With) && (p.than == "" || p.than == c.Claim.Than) && strings.Contains(c.Point, p.point)
}

const (
	together        = "an incast uses all paths to its receiver, so that all have warnings at the same time; "
	reorder         = together + "rerouting then causes reordering"
	nowhere         = together + "rerouting then changes neither reordering nor completion times"
	neither         = together + "rerouting then does not change completion times, either"
	unpaused        = "pauses have little effect there: in a network without pauses, with the same flows, completion times are the same within 20 %"
	rise            = "how fast DCQCN increases rates after a reduction: with 100 Mb/s every 25 us, instead of 40 Mb/s every 55 us, it has more PAUSE frames than PCN"
	moves           = "flows that PLB moves because of long round-trip times: FCT is shorter with ECMP, which moves no flow, and with a PLB that moves flows only because of pauses"
	unpausedCoflows = "pauses have little effect there: in a network without pauses, with the same flows, coflows take the same time within 20 %"
	costless        = "pauses have little effect there: in a network without pauses, with the same flows, completion times are not 20 % shorter"
	rerouting       = "rerouting and the header: even without recirculation, flows take longer than without RLB"
	overtaken       = "packets overtake recirculated ones: with recirculation, more packets are out of order than without it"
	chosenByLoad    = "CONGA chooses by load: with random paths (ECMP), flows also take longer than with CONGA, and as long as with PLB within 20 %"
	samples         = "how often QCN samples a queue: with a sample every 100 packets, as in the paper, it has more PAUSE frames"
	oneReceiver     = "all flows of a coflow share the link of its receiver: between hosts of one switch, where there are no paths, as many flows stall"
	noPaths         = "with 15 flows between hosts of one switch, where there are no paths"
	littleCost      = "pauses have little effect there: in a network without pauses, with the same flows, completion times are not 15 % shorter"
	limited         = "recirculation, which RLB* limits, has no cost there: without any recirculation there is no gain, either"
	deadlocks       = "how fast DCQCN increases rates after a reduction: with half of the links between switches, where deadlocks are common, it deadlocks in more runs with 100 Mb/s every 25 us instead of 40 Mb/s every 55 us"
	tooSmall        = "the network is too small: with 8 instead of 16 hosts per ToR, no run deadlocks with DCQCN that increases rates by 100 Mb/s every 25 us, either"
	lineRate        = "flows start at line rate, as the paper has it, and PCN reduces older flows to what then arrives of them: if all begin with slow start, "
	asLate          = "the last flow ends when it does with DCQCN, within 15 %"
	tenth           = "at a tenth of the load, where packets hardly wait"
	idleLinks       = "with links that are never idle while they have packets"
	noCost          = "pauses cost nothing there: in a network without pauses, the same flows take longer"
	neverPaused     = "in a network without pauses"
	hostsPaused     = "in a network whose switches pause hosts, but not each other"
	noCostHosts     = "pauses between switches cost nothing there: in a network whose switches pause hosts, but not each other, the same flows take longer"
	inGroups        = "how the paper's incasts are read: if all flows start in groups of 1 to 15 to one receiver, the gain is as large as in the paper"
	noIncasts       = "the incasts, whose rate and sizes the paper does not give: without them, the gain is as large as in the paper"
	inFlight        = "IRN's limit of packets in flight, which the paper does not give: with that of IRN's authors, 1.4 bandwidth-delay products, the gain is as large as in the paper"
	incastQueues    = "the incasts, which have the longest queue with and without PB-FS: with flows of IMC10 alone, the longest queue is as much shorter as in the paper"
	incastsAndScale = "the incasts, whose rate and sizes the paper does not give, and the small scale: without them, and at the paper's scale, the gain is as large as in the paper"
	growthStalls    = "algorithm 2 compares the growth of queues before their lengths: with lengths alone, fewer flows stall than with CLB"
	marked          = laterMarks + ", the gain is as large as in the paper"
	markedMore      = laterMarks + ", the gain is at least as large as in the paper"
	markedGroups    = laterMarks + ", and if all flows start in groups of 1 to 15 to one receiver, the gain is at least as large as in the paper"
	laterMarks      = "the queue lengths at which DCQCN's switches mark packets, which the paper does not give: with those of the DCQCN authors' simulator, 40 and 1000 packets, and at most 1 % of packets marked between them"
)

// shown are the known causes; of several that fit, the first applies.
var shown = []known{
	{experiment: "pcn-fig17", metric: "jain", cause: "the time between two reports, in which a flow at its fair share has one packet", by: "pcn-fig17-period"},
	{experiment: "pcn-fig12", metric: "p99_fct_us.part2", less: true, cause: "a burst takes 183 us on its receiver's link, and less than 624 us with each of them: a gain as large as the paper's is impossible", by: "pcn-fig12-bound"},
	{experiment: "pcn-table3", metric: "pause_frames", than: "dcqcn", paper: true, cause: rise, by: "pcn-table3-rise", proof: proof{metric: "pause_frames", than: "pcn"}},
	{experiment: "rlb-fig14", metric: "ooo_ratio", with: "rlb-letflow", cause: reorder, by: "rlb-fig3-all-paths", proof: proof{metric: "out_of_order", with: "rlb-letflow", point: "go-back-n"}},
	{experiment: "rlb-fig12", with: "rlb-letflow", point: "incast 4MB, nic go-back-n", cause: reorder, by: "rlb-fig3-all-paths", proof: proof{metric: "out_of_order", with: "rlb-letflow", point: "go-back-n"}},
	{experiment: "rlb-fig14", metric: "ooo_ratio", with: "rlb-hermes", cause: reorder, by: "rlb-fig3-all-paths", proof: proof{metric: "out_of_order", with: "rlb-hermes", point: "go-back-n"}},
	{experiment: "rlb-fig12", with: "rlb-hermes", point: "incast 4MB, nic go-back-n", cause: reorder, by: "rlb-fig3-all-paths", proof: proof{metric: "out_of_order", with: "rlb-hermes", point: "go-back-n"}},
	{experiment: "rlb-fig12-incast", with: "rlb-letflow", point: "go-back-n", cause: reorder, by: "rlb-fig3-all-paths", proof: proof{metric: "out_of_order", with: "rlb-letflow", point: "go-back-n"}},
	{experiment: "rlb-fig14", metric: "ooo_ratio", with: "rlb-drill", cause: nowhere, by: "rlb-fig3-all-paths", proof: proof{with: "rlb-drill", point: "go-back-n"}},
	{experiment: "rlb-fig12", with: "rlb-drill", point: "incast 4MB, nic go-back-n", cause: nowhere, by: "rlb-fig3-all-paths", proof: proof{with: "rlb-drill", point: "go-back-n"}},
	{experiment: "rlb-fig12-incast", with: "rlb-drill", point: "go-back-n", cause: nowhere, by: "rlb-fig3-all-paths", proof: proof{with: "rlb-drill", point: "go-back-n"}},
	{experiment: "rlb-fig12", metric: "p99_fct_us", with: "rlb-drill", point: "incast 4MB, nic out-of-order", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "p99_fct_us", with: "rlb-drill", point: "out-of-order"}},
	{experiment: "rlb-fig12", metric: "p99_fct_us", with: "rlb-presto", point: "incast 4MB, nic out-of-order", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "p99_fct_us", with: "rlb-presto", point: "out-of-order"}},
	{experiment: "rlb-fig12", metric: "p99_fct_us", with: "rlb-letflow", point: "incast 4MB, nic out-of-order", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "p99_fct_us", with: "rlb-letflow", point: "out-of-order"}},
	{experiment: "rlb-fig12", metric: "p99_fct_us", with: "rlb-hermes", point: "incast 4MB, nic out-of-order", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "p99_fct_us", with: "rlb-hermes", point: "out-of-order"}},
	{experiment: "rlb-fig12", metric: "p99_fct_us", with: "rlb-presto", point: "incast 4MB, nic go-back-n", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "p99_fct_us", with: "rlb-presto", point: "go-back-n"}},
	{experiment: "rlb-fig12-incast", metric: "p99_fct_us", with: "rlb-drill", point: "irn", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "p99_fct_us", with: "rlb-drill", point: "irn"}},
	{experiment: "rlb-fig12-incast", metric: "avg_fct_us", with: "rlb-drill", point: "irn", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "avg_fct_us", with: "rlb-drill", point: "irn"}},
	{experiment: "rlb-fig12-incast", metric: "p99_fct_us", with: "rlb-presto", point: "irn", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "p99_fct_us", with: "rlb-presto", point: "irn"}},
	{experiment: "rlb-fig12-incast", metric: "avg_fct_us", with: "rlb-presto", point: "irn", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "avg_fct_us", with: "rlb-presto", point: "irn"}},
	{experiment: "rlb-fig12-incast", metric: "p99_fct_us", with: "rlb-letflow", point: "irn", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "p99_fct_us", with: "rlb-letflow", point: "irn"}},
	{experiment: "rlb-fig12-incast", metric: "avg_fct_us", with: "rlb-letflow", point: "irn", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "avg_fct_us", with: "rlb-letflow", point: "irn"}},
	{experiment: "rlb-fig12-incast", metric: "p99_fct_us", with: "rlb-presto", point: "go-back-n", flat: true, cause: neither, by: "rlb-fig3-all-paths", proof: proof{metric: "p99_fct_us", with: "rlb-presto", point: "go-back-n"}},
	{experiment: "rlb-fig14", metric: "ooo_ratio", with: "rlb-presto", point: "go-back-n", cause: reorder, by: "rlb-fig3-all-paths", proof: proof{metric: "out_of_order", with: "rlb-presto", point: "go-back-n"}},
	{experiment: "rlb-fig10", metric: "avg_fct_us", with: "rlb-letflow", point: "load 0.8", flat: true, cause: unpaused, by: "rlb-unpaused", proof: proof{metric: "avg_fct_us", with: "letflow-unpaused", point: "10 at 0.8"}},
	{experiment: "rlb-fig10", metric: "p99_fct_us", with: "rlb-letflow", point: "load 0.8", flat: true, cause: unpaused, by: "rlb-unpaused", proof: proof{metric: "p99_fct_us", with: "letflow-unpaused", point: "10 at 0.8"}},
	{experiment: "rlb-fig12", metric: "p99_fct_us", with: "rlb-letflow", point: "incast none", flat: true, cause: unpaused, by: "rlb-unpaused", proof: proof{metric: "p99_fct_us", with: "letflow-unpaused", point: "12 without incast"}},
	{experiment: "rlb-fig12", metric: "p99_fct_us", with: "rlb-hermes", point: "incast none", flat: true, cause: unpaused, by: "rlb-unpaused", proof: proof{metric: "p99_fct_us", with: "hermes-unpaused", point: "12 without incast"}},
	{experiment: "rlb-fig13-cachefollower", metric: "avg_fct_us", with: "rlb-hermes", point: "load 0.2", flat: true, cause: unpaused, by: "rlb-unpaused", proof: proof{metric: "avg_fct_us", with: "hermes-unpaused", point: "13 with"}},
	{experiment: "clb-fig7", metric: "avg_cct_us", than: "conga", point: "coflows 8", flat: true, cause: unpausedCoflows, by: "clb-unpaused", proof: proof{metric: "avg_cct_us", with: "conga-unpaused", point: "7 with 8"}},
	{experiment: "clb-fig7", metric: "avg_cct_us", than: "letflow", point: "coflows 8", flat: true, cause: unpausedCoflows, by: "clb-unpaused", proof: proof{metric: "avg_cct_us", with: "letflow-unpaused", point: "7 with 8"}},
	{experiment: "clb-fig7", metric: "avg_cct_us", than: "conga", point: "coflows 16", flat: true, cause: unpausedCoflows, by: "clb-unpaused", proof: proof{metric: "avg_cct_us", with: "conga-unpaused", point: "7 with 16"}},
	{experiment: "clb-fig7", metric: "avg_cct_us", than: "letflow", point: "coflows 16", flat: true, cause: unpausedCoflows, by: "clb-unpaused", proof: proof{metric: "avg_cct_us", with: "letflow-unpaused", point: "7 with 16"}},
	{experiment: "clb-fig11-receivers", metric: "avg_cct_us", than: "hermes", point: "receivers 15", flat: true, cause: unpausedCoflows, by: "clb-unpaused", proof: proof{metric: "avg_cct_us", with: "hermes-unpaused", point: "15 receivers"}},
	{experiment: "pcn-fig12", metric: "pause_frames", than: "dcqcn", small: true, cause: marked, by: "pcn-fig14-marks", proof: proof{metric: "pause_frames", than: "dcqcn-late", point: "figure 12"}},
	{experiment: "pcn-fig12", metric: "pause_frames", than: "dcqcn", paper: true, cause: marked, by: "pcn-fig14-marks", proof: proof{metric: "pause_frames", than: "dcqcn-late", point: "figure 12"}},
	{experiment: "pcn-fig14-w1", metric: "pause_frames", than: "dcqcn", small: true, cause: marked, by: "pcn-fig14-marks", proof: proof{metric: "pause_frames", than: "dcqcn-late", point: "traffic W1"}},
	{experiment: "pcn-fig14-w1", metric: "pause_frames", than: "dcqcn", paper: true, cause: laterMarks + ", PCN has fewer PAUSE frames than DCQCN", by: "pcn-fig14-marks", proof: proof{metric: "pause_frames", than: "dcqcn-late", point: "traffic W1"}},
	{experiment: "pcn-fig14-w2", metric: "pause_frames", than: "dcqcn", small: true, cause: markedGroups, by: "pcn-fig14-marks", proof: proof{metric: "pause_frames", than: "dcqcn-late", point: "groups of W2"}},
	{experiment: "pcn-fig14-w2", metric: "pause_frames", than: "dcqcn", paper: true, cause: markedGroups, by: "pcn-fig14-marks", proof: proof{metric: "pause_frames", than: "dcqcn-late", point: "groups of W2"}},
	{experiment: "pcn-abstract", metric: "pause_frames", than: "dcqcn", small: true, cause: markedMore, by: "pcn-fig14-marks", proof: proof{metric: "pause_frames", than: "dcqcn-late", point: "traffic W2"}},
	{experiment: "pcn-abstract", metric: "pause_frames", than: "dcqcn", paper: true, cause: markedMore, by: "pcn-fig14-marks", proof: proof{metric: "pause_frames", than: "dcqcn-late", point: "traffic W2"}},
	{experiment: "pcn-fig14-websearch", metric: "pause_frames", than: "dcqcn", cause: rise, by: "pcn-fig14-rise", proof: proof{metric: "pause_frames", point: "Web Search"}},
	{experiment: "plb-fig7-webserver", than: "conga", cause: moves, by: "plb-fig7-still", proof: proof{than: "plb"}},
	{experiment: "plb-fig7-webserver", than: "hermes", cause: moves, by: "plb-fig7-still", proof: proof{than: "plb"}},
	{experiment: "rlb-fig11", metric: "avg_fct_us", with: "rlb-drill", point: "100Gbps", flat: true, less: true, cause: costless, by: "rlb-fig11-unpaused", proof: proof{metric: "avg_fct_us", with: "drill-unpaused", refuted: true}},
	{experiment: "rlb-fig11", metric: "p99_fct_us", with: "rlb-drill", point: "100Gbps", flat: true, less: true, cause: costless, by: "rlb-fig11-unpaused", proof: proof{metric: "p99_fct_us", with: "drill-unpaused", refuted: true}},
	{experiment: "rlb-fig11", metric: "avg_fct_us", with: "rlb-presto", point: "100Gbps", flat: true, cause: costless, by: "rlb-fig11-unpaused", proof: proof{metric: "avg_fct_us", with: "presto-unpaused", refuted: true}},
	{experiment: "rlb-fig11", metric: "p99_fct_us", with: "rlb-presto", point: "100Gbps", flat: true, cause: costless, by: "rlb-fig11-unpaused", proof: proof{metric: "p99_fct_us", with: "presto-unpaused", refuted: true}},
	{experiment: "rlb-fig11", metric: "avg_fct_us", with: "rlb-letflow", point: "100Gbps", flat: true, cause: costless, by: "rlb-fig11-unpaused", proof: proof{metric: "avg_fct_us", with: "letflow-unpaused", refuted: true}},
	{experiment: "rlb-fig11", metric: "p99_fct_us", with: "rlb-letflow", point: "100Gbps", flat: true, cause: costless, by: "rlb-fig11-unpaused", proof: proof{metric: "p99_fct_us", with: "letflow-unpaused", refuted: true}},
	{experiment: "rlb-fig11", metric: "avg_fct_us", with: "rlb-letflow", point: "rate 100Gbps", paper: true, cause: rerouting, by: "rlb-fig11-rerouting", proof: proof{metric: "avg_fct_us", with: "rlb-letflow-no-recirculation", point: "100Gbps"}},
	{experiment: "rlb-fig11", metric: "p99_fct_us", with: "rlb-letflow", point: "rate 100Gbps", paper: true, cause: rerouting, by: "rlb-fig11-rerouting", proof: proof{metric: "p99_fct_us", with: "rlb-letflow-no-recirculation", point: "100Gbps"}},
	{experiment: "rlb-fig11", metric: "avg_fct_us", with: "rlb-presto", point: "rate 100Gbps, nic out-of-order", paper: true, cause: rerouting, by: "rlb-fig11-rerouting", proof: proof{metric: "avg_fct_us", with: "rlb-presto-no-recirculation", point: "100Gbps, out-of-order"}},
	{experiment: "rlb-fig11", metric: "avg_fct_us", with: "rlb-presto", point: "rate 100Gbps, nic go-back-n", cause: rerouting, by: "rlb-fig11-recirculation", proof: proof{metric: "avg_fct_us", with: "rlb-presto-no-recirculation", than: "presto", point: "100Gbps"}},
	{experiment: "rlb-fig11", metric: "avg_fct_us", with: "rlb-letflow", point: "rate 100Gbps, nic go-back-n", cause: rerouting, by: "rlb-fig11-recirculation", proof: proof{metric: "avg_fct_us", with: "rlb-letflow-no-recirculation", than: "letflow", point: "100Gbps"}},
	{experiment: "rlb-fig14", metric: "ooo_ratio", with: "rlb-presto", point: "out-of-order", cause: "rerouting: even without recirculation, more packets are out of order than without RLB", by: "rlb-fig14-recirculation", proof: proof{metric: "ooo_ratio", with: "rlb-presto-no-recirculation"}},
	{experiment: "rlb-fig13-datamining", metric: "avg_fct_us", with: "rlb-drill", point: "load 0.6, nic go-back-n", paper: true, cause: rerouting, by: "rlb-fig13-rerouting", proof: proof{metric: "avg_fct_us", with: "rlb-drill-no-recirculation", point: "0.6, go-back-n"}},
	{experiment: "rlb-fig13-datamining", metric: "avg_fct_us", with: "rlb-drill", point: "load 0.6, nic out-of-order", paper: true, cause: rerouting, by: "rlb-fig13-rerouting", proof: proof{metric: "avg_fct_us", with: "rlb-drill-no-recirculation", point: "0.6, out-of-order"}},
	{experiment: "rlb-fig17a", point: "out-of-order", less: true, bound: true, cause: hostsPaused, by: "rlb-fig17a-bound", proof: proof{metric: "p99_fct_us", point: "out-of-order"}},
	{experiment: "rlb-fig17a", with: "rlb-presto", point: "go-back-n", small: true, bound: true, cause: hostsPaused, by: "rlb-fig17a-bound", proof: proof{metric: "p99_fct_us", point: "go-back-n"}},
	{experiment: "rlb-fig17a", with: "rlb-presto", point: "go-back-n", paper: true, cause: noCostHosts, by: "rlb-fig17a-bound", proof: proof{metric: "p99_fct_us", with: "presto-hosts-only", point: "go-back-n", refuted: true}},
	{experiment: "rlb-fig17a", with: "rlb-hermes", small: true, cause: overtaken, by: "rlb-fig17-order", proof: proof{metric: "ooo_ratio", with: "rlb-hermes"}},
	{experiment: "rlb-fig17a", with: "rlb-hermes", paper: true, cause: overtaken, by: "rlb-fig17-order", proof: proof{metric: "ooo_ratio", with: "rlb-hermes"}},
	{experiment: "pcn-fig14-w2", metric: "pause_frames", than: "qcn", cause: samples + " than PCN", by: "pcn-fig14-rise-qcn", proof: proof{metric: "pause_frames", with: "qcn-100-packets", point: "W2"}},
	{experiment: "pcn-abstract", metric: "pause_frames", than: "qcn", point: "W2", cause: samples + " than PCN", by: "pcn-fig14-rise-qcn", proof: proof{metric: "pause_frames", with: "qcn-100-packets", point: "W2"}},
	{experiment: "pcn-fig14-websearch", metric: "pause_frames", than: "qcn", cause: samples, by: "pcn-fig14-rise-qcn", proof: proof{metric: "pause_frames", with: "qcn-100-packets", than: "qcn", point: "Web Search"}},
	{experiment: "pcn-fig14-w1", metric: "avg_fct_us", than: "dcqcn", small: true, cause: marked, by: "pcn-fig14-marks", proof: proof{metric: "avg_fct_us", than: "dcqcn-late", point: "traffic W1"}},
	{experiment: "pcn-fig14-w1", metric: "completion_us", flat: true, less: true, bound: true, cause: idleLinks, by: "pcn-fig14-bound", proof: proof{metric: "completion_us", with: "links", point: "W1"}},
	{experiment: "pcn-fig14-w2", metric: "completion_us", flat: true, less: true, bound: true, cause: idleLinks, by: "pcn-fig14-bound", proof: proof{metric: "completion_us", with: "links", point: "W2"}},
	{experiment: "pcn-fig14-w2", metric: "avg_fct_us", less: true, bound: true, cause: tenth, by: "pcn-fig14-bound", proof: proof{metric: "avg_fct_us", with: "pcn", point: "W2 at 0.06"}},
	{experiment: "pcn-abstract", metric: "avg_fct_us", point: "W2", less: true, bound: true, cause: tenth, by: "pcn-fig14-bound", proof: proof{metric: "avg_fct_us", with: "pcn", point: "W2 at 0.06"}},
	{experiment: "pcn-abstract", metric: "avg_fct_us", point: "W1", less: true, bound: true, cause: tenth, by: "pcn-fig14-bound", proof: proof{metric: "avg_fct_us", with: "pcn", point: "W1 at 0.06"}},
	{experiment: "pcn-fig14-w2", metric: "pause_frames", than: "timely", less: true, small: true, cause: inGroups, by: "pcn-fig14-groups", proof: proof{metric: "pause_frames", point: "W2"}},
	{experiment: "pcn-fig14-w2", metric: "pause_frames", than: "timely", less: true, paper: true, cause: inGroups, by: "pcn-fig14-groups", proof: proof{metric: "pause_frames", point: "W2"}},
	{experiment: "pcn-abstract", metric: "pause_frames", than: "timely", point: "W1", less: true, small: true, cause: inGroups, by: "pcn-fig14-groups", proof: proof{metric: "pause_frames", point: "W1"}},
	{experiment: "pcn-fig14-w2", metric: "avg_fct_us", than: "qcn", less: true, paper: true, cause: "w_min, by which PCN keeps flows below their receiving rates: with 1/16 instead of 1/128, the gain is as large as in the paper", by: "pcn-fig14-weight-w2", proof: proof{metric: "avg_fct_us", with: "w_min 1/16", than: "qcn"}},
	{experiment: "pcn-fig14-w2", metric: "avg_fct_us", than: "qcn", less: true, small: true, cause: inGroups, by: "pcn-fig14-groups", proof: proof{metric: "avg_fct_us", than: "qcn", point: "W2"}},
	{experiment: "pcn-fig14-w2", metric: "avg_fct_us", than: "dcqcn", less: true, small: true, cause: markedGroups, by: "pcn-fig14-marks", proof: proof{metric: "avg_fct_us", than: "dcqcn-late", point: "groups of W2"}},
	{experiment: "pcn-fig14-w2", metric: "avg_fct_us", than: "dcqcn", less: true, paper: true, cause: markedGroups, by: "pcn-fig14-marks", proof: proof{metric: "avg_fct_us", than: "dcqcn-late", point: "groups of W2"}},
	{experiment: "pcn-fig17", metric: "pause_frames", with: "pcn", cause: "the round-trip time of 500 us, in which flows increase their rates before they are notified of the queue: with one of 10 us, and with a quarter of the step, there is no PAUSE", by: "pcn-fig17-loop", proof: proof{metric: "pause_frames"}},
	{experiment: "plb-fig7-datamining", metric: "avg_fct_us", than: "conga", cause: chosenByLoad, by: "plb-fig7-choice", proof: proof{metric: "avg_fct_us", with: "ecmp", than: "conga"}},
	{experiment: "plb-fig7-websearch", metric: "avg_fct_us", than: "conga", cause: chosenByLoad, by: "plb-fig7-choice", proof: proof{metric: "avg_fct_us", with: "ecmp", than: "conga"}},
	{experiment: "plb-fig7-websearch", metric: "p99_fct_us", than: "conga", cause: chosenByLoad, by: "plb-fig7-choice", proof: proof{metric: "p99_fct_us", with: "ecmp", than: "conga", point: "Web Search"}},
	{experiment: "clb-fig11", metric: "stalled_ratio", than: "hermes", flat: true, cause: oneReceiver, by: "clb-fig11-paths", proof: proof{metric: "stalled_ratio", with: "one-switch", point: "receivers one", refuted: true}},
	{experiment: "clb-fig11", metric: "avg_cct_us", than: "hermes", bound: true, cause: noPaths, by: "clb-fig11-paths", proof: proof{metric: "avg_cct_us", with: "one-switch", point: "receivers one"}},
	{experiment: "clb-fig10", metric: "stalled_ratio", than: "varys", point: "400ns", cause: "with Varys, flows are sent one after the other, whatever switches do: with Varys over CLB, no flow is stalled, either", by: "clb-fig10-varys"},
	{experiment: "clb-fig11-receivers", metric: "stalled_ratio", than: "hermes", flat: true, cause: "per flowlet, CLB chooses the path of such a flow only once: with decisions per packet, as in the paper, and hosts that accept packets out of order, fewer flows stall than with Hermes", by: "clb-fig11-packet", proof: proof{metric: "stalled_ratio", with: "clb-packet", than: "hermes"}},
	{experiment: "rlb-fig16", metric: "p99_fct_us", with: "rlb-letflow-star", flat: true, cause: limited, by: "rlb-fig16-recirculation", proof: proof{metric: "p99_fct_us", refuted: true}},
	{experiment: "rlb-fig16", metric: "pause_frames", with: "rlb-letflow-star", flat: true, cause: limited, by: "rlb-fig16-recirculation", proof: proof{metric: "pause_frames", refuted: true}},
	{experiment: "rlb-fig16", metric: "pause_frames", with: "rlb-hermes-star", flat: true, cause: limited, by: "rlb-fig16-recirculation", proof: proof{metric: "pause_frames", with: "rlb-hermes-no-recirculation", refuted: true}},
	{experiment: "rlb-fig16", metric: "p99_fct_us", with: "rlb-hermes-star", flat: true, cause: limited, by: "rlb-fig16-recirculation", proof: proof{metric: "p99_fct_us", with: "rlb-hermes-no-recirculation", refuted: true}},
	{experiment: "rlb-fig15", metric: "p99_fct_us", with: "rlb-letflow-star", flat: true, cause: limited, by: "rlb-fig15-recirculation", proof: proof{metric: "p99_fct_us", refuted: true}},
	{experiment: "plb-fig7-websearch", metric: "avg_fct_us", than: "hermes", flat: true, cause: unpaused, by: "plb-fig7-choice", proof: proof{metric: "avg_fct_us", with: "hermes-unpaused"}},
	{experiment: "plb-fig7-websearch", metric: "p99_fct_us", than: "hermes", flat: true, cause: unpaused, by: "plb-fig7-choice", proof: proof{metric: "p99_fct_us", with: "hermes-unpaused"}},
	{experiment: "pcn-fig14-w1", metric: "p99_fct_us", than: "qcn", paper: true, cause: "how flows start, and w_min: with slow start, and 1/16 instead of 1/128, the 99th percentile is less than QCN's", by: "pcn-fig14-start", proof: proof{metric: "p99_fct_us", with: "pcn-slow-16", than: "qcn-slow", point: "W1"}},
	{experiment: "pcn-fig14-w1", metric: "p99_fct_us", than: "qcn", small: true, cause: lineRate + "the 99th percentile is less than QCN's", by: "pcn-fig14-start", proof: proof{metric: "p99_fct_us", than: "qcn-slow", point: "W1"}},
	{experiment: "pcn-fig14-w1", metric: "completion_us", than: "dcqcn", paper: true, cause: lineRate + asLate, by: "pcn-fig14-start", proof: proof{metric: "completion_us", than: "dcqcn-slow", point: "W1"}},
	{experiment: "pcn-fig14-w1", metric: "avg_fct_us", than: "dcqcn", paper: true, cause: lineRate + "average FCT is less than DCQCN's", by: "pcn-fig14-start", proof: proof{metric: "avg_fct_us", than: "dcqcn-slow", point: "W1"}},
	{experiment: "pcn-fig14-w2", metric: "completion_us", than: "dcqcn", paper: true, cause: lineRate + asLate, by: "pcn-fig14-start", proof: proof{metric: "completion_us", than: "dcqcn-slow", point: "W2"}},
	{experiment: "pbfs-fig5", metric: "max_queue_bytes", with: "timely-pbfs", flat: true, paper: true, less: true, cause: incastQueues, by: "pbfs-fig5-incast", proof: proof{metric: "max_queue_bytes", with: "timely-pbfs", point: "IMC10"}},
	{experiment: "clb-fig11", metric: "stalled_ratio", than: "conga", cause: "all flows of a coflow share the link of its receiver; with 15 receivers fewer stall, and fewer than with CONGA", by: "clb-fig11-receivers", proof: proof{metric: "stalled_ratio", than: "conga"}},
	{experiment: "clb-fig11", than: "varys", cause: "with Varys, flows use the receiver's link one after the other, whatever switches do: with Varys over CLB, flows do not stall, either", by: "clb-fig11-receivers", proof: proof{with: "clb-varys"}},
	{experiment: "clb-fig10", metric: "stalled_ratio", than: "conga", point: "400ns", paper: true, cause: growthStalls, by: "clb-fig10-growth", proof: proof{metric: "stalled_flows", with: "clb-length", than: "clb"}},
	{experiment: "clb-fig10", metric: "stalled_ratio", than: "hermes", point: "400ns", paper: true, cause: growthStalls, by: "clb-fig10-growth", proof: proof{metric: "stalled_flows", with: "clb-length", than: "clb"}},
	{experiment: "clb-fig10", metric: "stalled_ratio", than: "conga", point: "400ns", cause: growthStalls, by: "clb-fig10-growth", proof: proof{metric: "stalled_flows", with: "clb-length", than: "clb"}},
	{experiment: "rlb-fig10", metric: "p99_fct_us", with: "rlb-letflow", point: "load 0.8, nic go-back-n", paper: true, cause: "chance: with more seeds, flows do not take 6 % longer than without RLB", by: "rlb-fig11-quiet", proof: proof{metric: "p99_fct_us", than: "letflow", point: "10 at 0.8", refuted: true}},
	{experiment: "rlb-fig10", metric: "avg_fct_us", with: "rlb-letflow", point: "load 0.5, nic out-of-order", flat: true, paper: true, cause: littleCost, by: "rlb-fig10-unpaused", proof: proof{metric: "avg_fct_us", refuted: true}},
	{experiment: "rlb-fig10", metric: "p99_fct_us", with: "rlb-letflow", point: "load 0.5, nic out-of-order", flat: true, paper: true, cause: littleCost, by: "rlb-fig10-unpaused", proof: proof{metric: "p99_fct_us", refuted: true}},
	{experiment: "rlb-fig12-incast", metric: "avg_fct_us", with: "rlb-presto", point: "go-back-n", flat: true, cause: "pauses have less effect there than half of the paper's gain: in a network without pauses, the same flows are shorter by less than 28 %", by: "rlb-fig12-incast-unpaused", proof: proof{metric: "avg_fct_us"}},
	{experiment: "plb-fig7-webserver", metric: "p99_fct_us", than: "drill", point: "go-back-n", paper: true, cause: "flows that PLB moves because of long round-trip times: with a PLB that moves flows only because of pauses, p99 is shorter than with DRILL", by: "plb-fig7-still", proof: proof{metric: "p99_fct_us", with: "plb-still", than: "drill", point: "go-back-n"}},
	{experiment: "pcn-fig21b", metric: "deadlocked", than: "dcqcn", paper: true, cause: deadlocks, by: "pcn-fig21b-rise", proof: proof{metric: "deadlocked", with: "dcqcn"}},
	{experiment: "pcn-fig21b", metric: "deadlocked", than: "dcqcn", flat: true, cause: tooSmall, by: "pcn-fig21b-rise", proof: proof{metric: "deadlocked", with: "dcqcn", refuted: true}},
	{experiment: "rlb-fig13-cachefollower", metric: "avg_fct_us", with: "rlb-hermes", point: "load 0.6", less: true, small: true, cause: noCost, by: "rlb-fig13-cachefollower-unpaused", proof: proof{metric: "avg_fct_us", refuted: true}},
	{experiment: "rlb-fig13-cachefollower", metric: "avg_fct_us", with: "rlb-hermes", point: "load 0.6", less: true, paper: true, cause: noCost, by: "rlb-fig13-cachefollower-unpaused", proof: proof{metric: "avg_fct_us", refuted: true}},
	{experiment: "rlb-fig13-datamining", metric: "avg_fct_us", with: "rlb-drill", point: "load 0.6, nic go-back-n", less: true, small: true, cause: noCost, by: "rlb-fig13-datamining-unpaused", proof: proof{metric: "avg_fct_us", refuted: true}},
	{experiment: "rlb-text", metric: "avg_fct_us", with: "rlb-letflow", less: true, bound: true, cause: neverPaused, by: "rlb-text-unpaused", proof: proof{metric: "avg_fct_us"}},
	{experiment: "pcn-fig12", metric: "pause_frames", than: "timely", less: true, cause: "even without any congestion control, there are fewer than 12.5 times as many PAUSE frames as with PCN: a gain as large as the paper's is impossible", by: "pcn-fig12-bound", proof: proof{metric: "pause_frames"}},
	{experiment: "pbfs-fig5", metric: "short_p95_fct_us", than: "dcqcn", less: true, paper: true, cause: "how often incasts come, which the paper does not give: with one every 5 ms instead of 1 ms, the gain is as large as in the paper", by: "pbfs-fig5-rate", proof: proof{metric: "short_p95_fct_us", point: "every 5ms"}},
	{experiment: "pbfs-fig5", metric: "short_p95_fct_us", than: "timely", less: true, paper: true, cause: noIncasts, by: "pbfs-fig5-incast", proof: proof{metric: "short_p95_fct_us", than: "timely"}},
	{experiment: "pbfs-fig7", metric: "p50_fct_us.m", than: "slow-start", less: true, small: true, cause: noIncasts, by: "pbfs-fig7-alone", proof: proof{metric: "p50_fct_us.m", than: "slow-start"}},
	{experiment: "pbfs-fig7", metric: "p50_fct_us.m", than: "slow-start", less: true, paper: true, cause: noIncasts, by: "pbfs-fig7-alone", proof: proof{metric: "p50_fct_us.m", than: "slow-start"}},
	{experiment: "clb-fig11", metric: "avg_cct_us", than: "conga", less: true, bound: true, cause: noPaths, by: "clb-fig11-paths", proof: proof{metric: "avg_cct_us", with: "one-switch", point: "receivers one"}},
	{experiment: "pbfs-fig5", metric: "max_queue_bytes", with: "dcqcn-pbfs", less: true, paper: true, cause: incastQueues, by: "pbfs-fig5-incast", proof: proof{metric: "max_queue_bytes", with: "dcqcn-pbfs", point: "IMC10"}},
	{experiment: "pbfs-fig5", metric: "max_queue_bytes", with: "hpcc-pbfs", less: true, paper: true, cause: incastQueues, by: "pbfs-fig5-incast", proof: proof{metric: "max_queue_bytes", with: "hpcc-pbfs", point: "IMC10"}},
	{experiment: "pbfs-fig8", metric: "max_queue_bytes", with: "dcqcn-pbfs", less: true, paper: true, cause: "the incasts, which fill the buffer, and IRN's limit of packets in flight, neither of which the paper gives: with flows of IMC10 alone, and a limit of 2 bandwidth-delay products, the gain is as large as in the paper", by: "pbfs-fig8-window", proof: proof{metric: "max_queue_bytes", point: "traffic IMC10, limit 2"}},
	{experiment: "pbfs-fig5", metric: "max_queue_bytes", with: "dcqcn-pbfs", less: true, small: true, cause: noIncasts, by: "pbfs-fig5-incast", proof: proof{metric: "max_queue_bytes", with: "dcqcn-pbfs", point: "IMC10"}},
	{experiment: "pbfs-fig5", metric: "max_queue_bytes", with: "hpcc-pbfs", less: true, small: true, cause: noIncasts, by: "pbfs-fig5-incast", proof: proof{metric: "max_queue_bytes", with: "hpcc-pbfs", point: "IMC10"}},
	{experiment: "pbfs-fig5", metric: "max_queue_bytes", with: "timely-pbfs", less: true, small: true, byPaper: true, cause: incastsAndScale, by: "pbfs-fig5-incast", proof: proof{metric: "max_queue_bytes", with: "timely-pbfs", point: "IMC10"}},
	{experiment: "pbfs-fig8", metric: "p95_fct_us.s", with: "dcqcn-pbfs", less: true, paper: true, cause: inFlight, by: "pbfs-fig8-window", proof: proof{metric: "p95_fct_us.s", point: "and incast, limit 1.4"}},
	{experiment: "pbfs-fig8", metric: "max_queue_bytes", with: "dcqcn-pbfs", less: true, small: true, cause: inFlight, by: "pbfs-fig8-window", proof: proof{metric: "max_queue_bytes", point: "and incast, limit 1.4"}},
	{experiment: "pcn-fig14-w1", metric: "pause_frames", than: "timely", less: true, paper: true, cause: noIncasts, by: "pcn-fig14-alone", proof: proof{metric: "pause_frames", than: "timely"}},
	{experiment: "pcn-fig14-w1", metric: "avg_fct_us", than: "timely", less: true, paper: true, cause: noIncasts, by: "pcn-fig14-alone", proof: proof{metric: "avg_fct_us", than: "timely"}},
	{experiment: "plb-fig7-webserver", than: "drill", point: "go-back-n", less: true, cause: moves, by: "plb-fig7-still", proof: proof{than: "plb"}},
}

// What stands where no experiment shows a cause.
const (
	notKnown      = "not known"
	openWithPaper = "open: the interval has the paper's effect in it"
	smallInPaper  = "no difference to explain: the interval has the paper's effect in it, which is less than the 10 % that count as a gain"
)

// cause says why a claim does not hold, as far as an experiment with the same network
// and traffic shows it at the same scale: one that differs in the cause alone, and whose
// claims are the proof. What another experiment shows at the other scale is a remark, and so is
// with which hosts the claim holds; the cause is not known then.
func (d *documents) cause(o, paper *result.Outcome, c *result.Judged) string {
	switch {
	case c.Untested():
		return "" // the verdict says why
	case c.Verdict == result.Holds:
		return d.lessGain(o, paper, c)
	case alike(o, c):
		return "both arms have the same results in every run: their difference had no effect"
	}
	why, remark := d.explain(o, c)
	switch paper := c.Claim.Paper; {
	case why != "":
		return why
	case !paper.Given:
		return ""
	case c.Verdict == result.Inconclusive && float64(c.Low) <= paper.Change && paper.Change <= float64(c.High):
		return openWithPaper
	case c.Verdict == result.Refuted && float64(c.Low) <= paper.Change && paper.Change <= float64(c.High):
		return smallInPaper
	}
	if remark == "" {
		remark = changed(o, c)
	}
	return notKnown + remark
}

// changed says with which other hosts a claim holds; "" if with none.
func changed(o *result.Outcome, c *result.Judged) string {
	if d := holds(o, c, strings.Replace(c.Point, "go-back-n", "out-of-order", 1)); d != nil {
		return "; with hosts that accept packets out of order it holds" + with(d)
	}
	if d := holds(o, c, strings.Replace(c.Point, "out-of-order", "go-back-n", 1)); d != nil {
		return "; with go-back-N it holds" + with(d)
	}
	return ""
}

// lessGain says by how many points the effect of a claim that holds is less than the
// paper's in the paper's own experiment, and why, as far as an experiment shows it;
// nothing if it is near or more.
func (d *documents) lessGain(o, paper *result.Outcome, c *result.Judged) string {
	points := pointsLess(c)
	if !isFigure(o.Experiment) || points == 0 {
		return ""
	}
	why, remark := d.explain(o, c)
	if why == "" {
		why = notKnown + remark
	}
	return fmt.Sprintf("%.0f points less: %s", points, why)
}

// pointsLess returns by how many points an effect is less than the paper's; zero if
// the paper has none, or it is near or larger.
func pointsLess(c *result.Judged) float64 {
	points := 100 * (float64(c.Effect) - c.Claim.Paper.Change)
	if key, _ := c.Claim.Relation(); key == "more" {
		points = -points
	}
	if !c.Claim.Paper.Given || near(c) || !(points > 0) {
		return 0
	}
	return points
}

// isFigure reports whether an experiment repeats a figure or table.
func isFigure(experiment string) bool {
	for _, l := range lines {
		if l.experiments == experiment {
			return true
		}
	}
	return false
}

// near reports whether an effect differs from the paper's by at most 10 points, or
// its interval has the paper's in it.
func near(c *result.Judged) bool {
	paper := c.Claim.Paper.Change
	return math.Abs(float64(c.Effect)-paper) <= 0.1 || float64(c.Low) <= paper && paper <= float64(c.High)
}

// explain returns the cause that an experiment shows of what came out for a claim, or a
// remark, if it shows it at the other scale only.
func (d *documents) explain(o *result.Outcome, c *result.Judged) (why, remark string) {
	key, metric := c.Claim.Relation()
	for i := range shown {
		s := &shown[i]
		if c.Verdict == result.Holds && !s.less || s.flat && opposite(c) || s.paper && o.Scale != scenario.Paper || s.small && o.Scale != scenario.Small {
			continue
		}
		scale := scenario.Small
		if s.paper || s.byPaper {
			scale = scenario.Paper
		}
		by := (&result.Outcome{Experiment: s.by, Scale: scale}).File()
		if o.Experiment != s.experiment || o.File() == by || !strings.Contains(c.Point, s.point) ||
			s.metric != "" && s.metric != metric || s.with != "" && s.with != c.Claim.With || s.than != "" && s.than != c.Claim.Than {
			continue
		}
		if !d.proven(s) {
			continue
		}
		cause := fmt.Sprintf("%s: [%s](../results/%s.md)", s.cause, by, by)
		if s.bound {
			most := d.limit(s, o, c)
			if key != "less" || most == nil {
				continue
			}
			return fmt.Sprintf("a gain as large as the paper's cannot be expected: %s, the change is %s: [%s](../results/%s.md)", s.cause, share(most.Effect), most.in, most.in), ""
		}
		if scale != o.Scale {
			return "", "; at the other scale: " + cause
		}
		return cause, ""
	}
	return "", ""
}

// A limit is a claim of another outcome whose effect schemes cannot be expected to
// exceed.
type limit struct {
	*result.Judged
	in string // the outcome
}

// limit returns what s.by shows of the most that could be gained where a claim is
// judged, at the same scale; nil if its interval does not exclude the paper's effect, or
// if the claim itself has a larger effect, so that it is no limit.
func (d *documents) limit(s *known, o *result.Outcome, c *result.Judged) *limit {
	by := d.kept(s.by, o.Scale)
	if by == nil || !c.Claim.Paper.Given {
		return nil
	}
	for i := range by.Claims {
		j := &by.Claims[i]
		if s.proof.has(j) && j.Claim.Than == c.Claim.Than && float64(j.Low) > c.Claim.Paper.Change && j.Low <= c.Effect {
			return &limit{j, by.File()}
		}
	}
	return nil
}

// with gives the effect of a claim for which the paper has one.
func with(c *result.Judged) string {
	if !c.Claim.Paper.Given {
		return ""
	}
	return fmt.Sprintf(" (%s)", share(c.Effect))
}

// holds returns a claim at another point or in another outcome, nil if it does not hold there.
func holds(o *result.Outcome, c *result.Judged, point string) *result.Judged {
	for i := range o.Claims {
		d := &o.Claims[i]
		if d != c && d.Text == c.Text && (d.Point == point || c.Claim.Over == "mean" || c.Claim.Over == "best") && d.Claim.Note == c.Claim.Note && maps.Equal(d.Claim.At, c.Claim.At) && d.Verdict == result.Holds {
			return d
		}
	}
	return nil
}

// alike reports whether two arms have the same values of all metrics that both have with
// all seeds that both have, at all points of a claim.
func alike(o *result.Outcome, c *result.Judged) bool {
	found := false
	for _, pair := range c.Pairs() {
		if pair[1] < 0 {
			return false
		}
		a, b := &o.Cells[pair[0]], &o.Cells[pair[1]]
		for n, seed := range a.Seeds {
			m := slices.Index(b.Seeds, seed)
			if m < 0 {
				continue
			}
			for metric, values := range a.Values {
				other := b.Values[metric]
				if len(other) <= m { // a register of one of the programs
					continue
				}
				if values[n] != other[m] && !(math.IsNaN(float64(values[n])) && math.IsNaN(float64(other[m]))) {
					return false
				}
				found = true
			}
		}
	}
	return found
}

// opposite reports whether the opposite of a claim is true, by a hundredth or more.
func opposite(c *result.Judged) bool {
	return c.Verdict == result.Refuted && c.Why == "" && !(c.Low > -0.01 && c.High < 0.01)
}
