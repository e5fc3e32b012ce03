// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Observed is the input of Measure.
type Observed struct {
	Topology *topo.Topology
	Results  *fabric.Results
	Measured func(*fabric.FlowResult) bool
	Parts    int            // of the traffic
	Waves    func(int) bool // whether a part's flows come in waves: incast, burst
	// From and Until are the window of the metrics; Until is vtime.Never without
	// a window.
	From, Until vtime.Time
	// Acked has the acknowledged bytes of each flow at both ends of the window.
	// Nil means zero at the start, and the results' values at the end.
	Acked    [2][]int64
	MaxQueue int64   // bytes
	Causes   *Causes // nil: nobody asked
	Lines    []Line
	Stuck    []Stuck
	Scheme   map[string]uint64
	LastHop  map[string]uint64 // counters of Scheme at ports to hosts only
	Packets  []PacketSeries
}

// A Steady compares the halves of a run's window, to detect a run that is not in
// a steady state.
type Steady struct {
	// First and Second are the average slowdowns of the flows that started in
	// the halves of the window.
	First  float64 `json:"first_half_slowdown"`
	Second float64 `json:"second_half_slowdown"`
	// Z is the difference of the means of the slowdowns' logarithms, divided by
	// its standard error (Welch). From 3 on the halves differ.
	Z float64 `json:"z"`
	// Before and After are the unacknowledged bytes of started flows at both ends
	// of the window.
	Before int64 `json:"bytes_under_way_before"`
	After  int64 `json:"bytes_under_way_after"`
}

// OK reports whether the halves do not differ.
func (s *Steady) OK() bool { return math.Abs(s.Z) < 3 }

// A Metric describes a number by which runs are compared.
type Metric struct {
	Name  string `json:"name"`
	Title string `json:"title"` // in a sentence: "…: fewer with"
	Unit  string `json:"unit,omitempty"`
	// Better is less or more; empty if neither is better.
	Better string `json:"better,omitempty"`
	// These report which selectors the metric has: parts of the traffic, classes
	// of flow sizes, tiers of paused nodes, links that claims name.
	parts, sizes, tiers, links bool
	series                     bool // series of single packets
}

var quantities = []struct {
	name, title string
	q           float64
}{{"avg", "average", -1}, {"p50", "median", 0.5}, {"p95", "p95", 0.95}, {"p99", "p99", 0.99}, {"p999", "p99.9", 0.999}}

// standard are the metrics of every run, in the order in which they are shown.
var standard = func() (all []Metric) {
	add := func(m Metric) { all = append(all, m) }
	add(Metric{Name: "flows", Title: "measured flows", parts: true, sizes: true})
	add(Metric{Name: "finished", Title: "finished flows", Better: "more", parts: true})
	add(Metric{Name: "stuck_flows", Title: "flows that cannot proceed", Better: "less"})
	for _, q := range quantities {
		add(Metric{Name: q.name + "_fct_us", Title: q.title + " FCT", Unit: "us", Better: "less", parts: true, sizes: true})
	}
	add(Metric{Name: "max_fct_us", Title: "greatest FCT", Unit: "us", Better: "less", parts: true, sizes: true})
	add(Metric{Name: "short_p95_fct_us", Title: "p95 FCT of flows below 100 KB", Unit: "us", Better: "less"})
	for _, q := range quantities {
		add(Metric{Name: q.name + "_slowdown", Title: q.title + " slowdown", Better: "less", parts: true, sizes: true})
	}
	for _, m := range []Metric{
		{Name: "completion_us", Title: "end of the last measured flow", Unit: "us", Better: "less", parts: true},
		{Name: "incast_last_us", Title: "end of the last flow of an incast or burst", Unit: "us", Better: "less", parts: true},
		{Name: "avg_cct_us", Title: "average coflow completion time", Unit: "us", Better: "less"},
		{Name: "p99_cct_us", Title: "p99 coflow completion time", Unit: "us", Better: "less"},
		{Name: "avg_collective_us", Title: "average time of a collective", Unit: "us", Better: "less", parts: true},
		{Name: "p99_collective_us", Title: "p99 time of a collective", Unit: "us", Better: "less", parts: true},
		{Name: "max_collective_us", Title: "longest time of a collective", Unit: "us", Better: "less", parts: true},
		{Name: "busbw", Title: "bus bandwidth", Unit: "GB/s", Better: "more", parts: true},
		{Name: "exposed_us", Title: "exposed communication of a rank", Unit: "us", Better: "less", parts: true},
		{Name: "rank_spread_us", Title: "time between the ends of the first and last rank", Unit: "us", Better: "less", parts: true},
		{Name: "job_slowdown", Title: "time of a job over that in an idle network", Better: "less", parts: true},
		{Name: "jain_jobs", Title: "Jain index of the jobs' bus bandwidths", Better: "more", parts: true},
		{Name: "stalled_flows", Title: "stalled flows", Better: "less", parts: true},
		{Name: "stalled_ratio", Title: "share of stalled flows", Better: "less", parts: true},
		{Name: "pause_frames", Title: "PAUSE frames", Better: "less", tiers: true, links: true},
		{Name: "pause_rate", Title: "PAUSE frames per second", Unit: "1/s", Better: "less", tiers: true},
		{Name: "paused_us", Title: "paused time of all ports", Unit: "us", Better: "less", tiers: true, links: true},
		{Name: "tree_us", Title: "time with a congestion tree", Unit: "us", Better: "less"},
		{Name: "tree_longest_us", Title: "longest congestion tree", Unit: "us", Better: "less"},
		{Name: "tree_links", Title: "links of the largest congestion tree", Better: "less"},
		{Name: "storms", Title: "storms of pauses", Better: "less"},
		{Name: "roots", Title: "roots of storms of pauses", Better: "less"},
		{Name: "waited_us", Title: "time that flows waited for storms", Unit: "us", Better: "less", parts: true},
		{Name: "victim_time_us", Title: "time that victims of storms waited", Unit: "us", Better: "less", parts: true},
		{Name: "victim_paused_us", Title: "paused time in which a victim waited", Unit: "us", Better: "less"},
		{Name: "victims", Title: "victims of storms", Better: "less", parts: true},
		{Name: "out_of_order", Title: "out-of-order packets", Unit: "packets", Better: "less", parts: true},
		{Name: "ooo_ratio", Title: "share of out-of-order packets", Better: "less", parts: true},
		{Name: "degree_p99", Title: "p99 out-of-order degree", Unit: "packets", Better: "less"},
		{Name: "degree_max", Title: "greatest out-of-order degree", Unit: "packets", Better: "less"},
		{Name: "resent", Title: "retransmissions", Unit: "packets", Better: "less", parts: true},
		{Name: "resent_nak", Title: "retransmissions after a NAK", Unit: "packets", Better: "less", parts: true},
		{Name: "resent_timeout", Title: "retransmissions after a timeout", Unit: "packets", Better: "less", parts: true},
		{Name: "resent_selective", Title: "selective retransmissions", Unit: "packets", Better: "less", parts: true},
		{Name: "timeouts", Title: "timeouts of senders", Better: "less"},
		{Name: "goodput_gbps", Title: "goodput", Unit: "Gb/s", Better: "more", parts: true},
		{Name: "goodput_share", Title: "goodput as a share of the receivers' links", Better: "more", parts: true},
		{Name: "jain", Title: "Jain index", Better: "more", parts: true},
		{Name: "max_queue_bytes", Title: "longest egress queue", Unit: "bytes", Better: "less"},
		{Name: "avg_queue_bytes", Title: "average of the queues that are sampled", Unit: "bytes", Better: "less"},
		{Name: "deadlocked", Title: "deadlocks", Better: "less"},
		{Name: "deadlock_us", Title: "start of the deadlock", Unit: "us", Better: "more"},
		{Name: "cnps", Title: "CNPs"},
		{Name: MarkedPackets, Title: "packets that arrived with ECN CE"},
		{Name: "dropped", Title: "lossless packets dropped", Better: "less"},
		{Name: "trimmed", Title: "packets that switches trimmed", Better: "less"},
		{Name: "trims_dropped", Title: "trimmed packets that switches had no room for", Better: "less"},
		{Name: "overflowed", Title: "packets that switches had no room for", Better: "less"},
		{Name: "hops", Title: "switch traversals"},
		{Name: "postcards_per_flow", Title: "postcards per flow that begins with PB-FS", Better: "less"},
		{Name: "postcards_last_hop", Title: "share of postcards from ports to hosts"},
	} {
		add(m)
	}
	return append(all, packetMetrics...)
}()

// sizeClasses are the classes of flow sizes in table 1 of the PCN paper.
var sizeClasses = []struct {
	name  string
	below int64 // bytes
}{{"s", 10_000}, {"m", 100_000}, {"l", 1_000_000}, {"xl", math.MaxInt64}}

var tierNames = []string{"host", "leaf", "spine", "tor", "agg", "core"}

// TierOf returns the name of a node's tier: host, leaf or spine with at most two
// tiers of switches, otherwise host, tor, agg or core.
func TierOf(t *topo.Topology, node int) string { return tierOf(t, node, highest(t)) }

func tierOf(t *topo.Topology, node int, most topo.Tier) string {
	switch tier := t.Nodes[node].Tier; {
	case tier == 0:
		return "host"
	case most <= 2:
		return [...]string{"leaf", "spine"}[tier-1]
	default:
		return [...]string{"tor", "agg", "core"}[min(tier, 3)-1]
	}
}

func highest(t *topo.Topology) (most topo.Tier) {
	for i := range t.Nodes {
		most = max(most, t.Nodes[i].Tier)
	}
	return most
}

// MetricNames returns the names of all standard metrics, without selectors.
func MetricNames() []string {
	names := make([]string, len(standard))
	for i, m := range standard {
		names[i] = m.Name
	}
	return names
}

// MetricOf returns the metric of a name, which may have a selector, or false if
// there is none. Counters of programs have no Metric.
func MetricOf(name string) (Metric, bool) {
	base, selector, _ := strings.Cut(name, ".")
	i := slices.IndexFunc(standard, func(m Metric) bool { return m.Name == base })
	if i < 0 {
		return Metric{}, false
	}
	m := standard[i]
	m.Name = name
	if selector == "" {
		return m, true
	}
	part, isPart := strings.CutPrefix(selector, "part")
	switch {
	case isPart && m.parts:
		m.Title += " of part " + part
	case m.sizes && slices.ContainsFunc(sizeClasses, func(c struct {
		name  string
		below int64
	}) bool {
		return c.name == selector
	}):
		m.Title += ", size " + strings.ToUpper(selector)
	case m.tiers && slices.Contains(tierNames, selector):
		m.Title += " at " + selector + "s"
	case m.links && strings.Contains(selector, linkTo):
		node, peer, _ := strings.Cut(selector, linkTo)
		m.Title = strings.TrimSuffix(m.Title, " of all ports") + " from " + node + " to " + peer
	case m.series:
		m.Title += " of " + selector
	default:
		return Metric{}, false
	}
	return m, true
}

// linkTo separates the names of a link's nodes in a selector: the paused node and
// the node that pauses it.
const linkTo = "->"

// selectorsOf names the selectors of a metric.
func selectorsOf(name string) string {
	m, _ := MetricOf(name)
	var list []string
	if m.parts {
		list = append(list, "part1, part2 … of the traffic")
	}
	if m.sizes {
		list = append(list, "flow sizes s, m, l, xl")
	}
	if m.tiers {
		list = append(list, "tiers "+strings.Join(tierNames, ", "))
	}
	if m.links {
		list = append(list, "links, as s1"+linkTo+"l2")
	}
	if len(list) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(list, "; ")
}

// likeMetric suggests metrics for a name that does not exist: the nearest one, or those
// that have its letters, as p99fct has those of p99_fct_us.
func likeMetric(name string) string {
	names := MetricNames()
	if like := diag.DidYouMean(name, names); like != "" {
		return like
	}
	letters := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	var like []string
	for _, n := range names {
		if l := letters(name); l != "" && strings.Contains(letters(n), l) {
			like = append(like, fmt.Sprintf("%q", n))
		}
	}
	if len(like) == 0 || len(like) > 3 {
		return "; docs/reference/metrics.md and `pauseless exp show NAME --all-metrics` list the metrics"
	}
	return " (did you mean " + strings.Join(like, " or ") + "?)"
}

// CheckMetric returns an error if the name of a metric is invalid for so many
// parts of traffic and the network. T may be nil.
func CheckMetric(name string, parts int, t *topo.Topology) error {
	if _, ok := MetricOf(name); !ok {
		base, selector, dotted := strings.Cut(name, ".")
		if _, known := MetricOf(base); known && dotted {
			return fmt.Errorf("metric %s has no selector %q; %s", base, selector, selectorsOf(base))
		}
		return fmt.Errorf("no metric is called %q%s", name, likeMetric(name))
	}
	_, selector, _ := strings.Cut(name, ".")
	if p, ok := strings.CutPrefix(selector, "part"); ok {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > parts {
			return fmt.Errorf("metric %q: there is no part %s of traffic", name, p)
		}
	}
	if from, to, ok := strings.Cut(selector, linkTo); ok && t != nil {
		a, b := t.NodeByName(from), t.NodeByName(to)
		if a == nil || b == nil || !slices.ContainsFunc(a.Ports, func(p topo.Port) bool { return p.Peer == b.ID }) {
			return fmt.Errorf("metric %q: no link leads from %q to %q", name, from, to)
		}
	}
	return nil
}

// LinkPauses has the pauses of one direction of a link within the window: of
// Node's port to Peer.
type LinkPauses struct {
	Node     string  `json:"node"`
	Peer     string  `json:"peer"`
	Frames   int     `json:"pause_frames"`
	PausedUS float64 `json:"paused_us"` // summed over classes
}

// Measure computes the metrics of a run, its Steady (nil without a window), and
// its paused links in the order of nodes and ports.
func Measure(o *Observed) (map[string]float64, *Steady, []LinkPauses) {
	m := &meter{o: o, v: make(map[string]float64), until: min(o.Until, o.Results.End)}
	r := o.Results
	measured := make([]*fabric.FlowResult, 0, len(r.Flows))
	parts := make([][]*fabric.FlowResult, o.Parts)
	for i := range r.Flows {
		f := &r.Flows[i]
		if o.Measured == nil || o.Measured(f) {
			measured = append(measured, f)
		}
		if o.Parts > 1 && f.Group >= 1 && f.Group <= o.Parts && o.From <= f.Start && f.Start < o.Until {
			parts[f.Group-1] = append(parts[f.Group-1], f)
		}
	}
	m.flows("", measured, true)
	m.coflows(measured)
	for _, c := range sizeClasses {
		some := make([]*fabric.FlowResult, 0, len(measured))
		rest := measured[:0]
		for _, f := range measured {
			if f.Size < c.below {
				some = append(some, f)
			} else {
				rest = append(rest, f)
			}
		}
		m.flows("."+c.name, some, false)
		measured = rest
	}
	if o.Parts > 1 {
		for i, flows := range parts {
			m.flows(fmt.Sprintf(".part%d", i+1), flows, true)
		}
	}
	if o.Causes != nil {
		m.storms()
	}
	links := m.pauses()
	m.v["stuck_flows"] = float64(len(o.Stuck))
	m.v["deadlocked"] = 0
	for i := range o.Stuck {
		if o.Stuck[i].Deadlock {
			m.v["deadlocked"], m.v["deadlock_us"] = 1, float64(o.Stuck[i].SinceNS)/1000
		}
	}
	m.v["degree_p99"], m.v["degree_max"] = float64(r.Degree.Quantile(0.99)), float64(r.Degree.Quantile(1))
	m.v["timeouts"], m.v["cnps"], m.v["dropped"] = float64(r.Timeouts), float64(r.CNPs), float64(r.Dropped)
	m.v["overflowed"], m.v[MarkedPackets] = float64(r.Overflowed), float64(Marked(r))
	if r.Trimmed > 0 {
		m.v["trimmed"], m.v["trims_dropped"] = float64(r.Trimmed), float64(r.TrimDrops)
	}
	m.v["max_queue_bytes"] = float64(o.MaxQueue)
	measurePackets(o.Packets, m.v)
	m.queues()
	m.training()
	for name, n := range o.Scheme {
		m.v[name] = float64(n)
	}
	if cards := float64(o.Scheme["postcards"]); r.FastStarts > 0 {
		m.v["postcards_per_flow"] = cards / float64(r.FastStarts)
		if cards > 0 {
			m.v["postcards_last_hop"] = float64(o.LastHop["postcards"]) / cards
		}
	}
	return m.v, m.steady(), links
}

// NeedsCauses reports whether a metric is only measured in runs that are explained.
func NeedsCauses(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	return slices.Contains([]string{"storms", "roots", "waited_us", "victim_time_us", "victim_paused_us", "victims"}, base)
}

// storms sets the metrics of storms of pauses: those of all flows, and those of measured
// flows of parts.
func (m *meter) storms() {
	c := m.o.Causes
	roots := make(map[string]bool)
	for i := range c.Storms {
		roots[c.Storms[i].Root.Place()] = true
	}
	m.v["storms"], m.v["roots"], m.v["victim_paused_us"] = float64(len(c.Storms)), float64(len(roots)), c.VictimPausedUS
	sums := func(selector string, has func(f *fabric.FlowResult) bool) {
		var waited, victim float64
		victims := 0
		for _, i := range slices.Sorted(maps.Keys(c.Flows)) { // rounding depends on the order
			if f := c.Flows[i]; i < len(m.o.Results.Flows) && has(&m.o.Results.Flows[i]) {
				waited, victim = waited+f.Waited, victim+f.Victim
				if f.Victim > 0 {
					victims++
				}
			}
		}
		m.v["waited_us"+selector], m.v["victim_time_us"+selector], m.v["victims"+selector] = waited, victim, float64(victims)
	}
	sums("", func(*fabric.FlowResult) bool { return true })
	for p := 1; p <= m.o.Parts && m.o.Parts > 1; p++ {
		sums(fmt.Sprintf(".part%d", p), func(f *fabric.FlowResult) bool {
			return f.Group == p && m.o.From <= f.Start && f.Start < m.o.Until
		})
	}
}

// meter computes metrics.
type meter struct {
	o     *Observed
	v     map[string]float64
	until vtime.Time // end of the window, or of the run
}

// span returns the length of the window in seconds.
func (m *meter) span() float64 { return (m.until - m.o.From).Seconds() }

// flows sets the metrics of some flows under a selector. With whole it sets also
// those that are not defined for classes of sizes.
func (m *meter) flows(selector string, flows []*fabric.FlowResult, whole bool) {
	fct, slow := make([]float64, 0, len(flows)), make([]float64, 0, len(flows))
	short := make([]float64, 0, len(flows))
	var stalled int
	var ooo, sent, resent, byNAK, byTimeout, selective int64
	first, last := vtime.Never, vtime.Time(0)
	for _, f := range flows {
		ooo += f.OutOfOrder
		sent += f.Sent
		resent += f.Resent
		byNAK += f.ResentNAK
		byTimeout += f.ResentTimeout
		selective += f.ResentSelective
		if f.Stalled {
			stalled++
		}
		first = min(first, f.Start)
		if f.Finished {
			last = max(last, f.Start+f.FCT)
			fct, slow = append(fct, f.FCT.Microseconds()), append(slow, f.Slowdown())
			if f.Size < shortFlow {
				short = append(short, f.FCT.Microseconds())
			}
		}
	}
	set := func(name string, v float64) { m.v[name+selector] = v }
	set("flows", float64(len(flows)))
	if whole {
		set("finished", float64(len(fct)))
		set("stalled_flows", float64(stalled))
		set("out_of_order", float64(ooo))
		set("resent", float64(resent))
		set("resent_nak", float64(byNAK))
		set("resent_timeout", float64(byTimeout))
		set("resent_selective", float64(selective))
		if len(flows) > 0 {
			set("stalled_ratio", float64(stalled)/float64(len(flows)))
		}
		if sent > 0 {
			set("ooo_ratio", float64(ooo)/float64(sent))
		}
		if len(fct) > 0 && len(fct) == len(flows) {
			set("completion_us", (last - first).Microseconds())
		}
		m.throughput(selector, flows)
		m.waves(selector, flows)
	}
	if selector == "" && len(short) > 0 {
		set("short_p95_fct_us", Quantile(short, 0.95))
	}
	if len(fct) == 0 {
		return
	}
	for _, q := range quantities {
		if q.q < 0 {
			set(q.name+"_fct_us", Mean(fct))
			set(q.name+"_slowdown", Mean(slow))
		} else {
			set(q.name+"_fct_us", Quantile(fct, q.q))
			set(q.name+"_slowdown", Quantile(slow, q.q))
		}
	}
	set("max_fct_us", Quantile(fct, 1))
}

// acked returns the bytes of the i-th flow that were acknowledged in the window.
func (m *meter) acked(i int, f *fabric.FlowResult) int64 {
	n := f.Acked
	if end := m.o.Acked[1]; m.o.Until <= m.o.Results.End && end != nil {
		n = 0
		if i < len(end) {
			n = end[i]
		}
	}
	if start := m.o.Acked[0]; i < len(start) {
		n -= start[i]
	}
	return n
}

// throughput sets goodput and fairness of all traffic in the window or, with a
// selector, of a part.
func (m *meter) throughput(selector string, flows []*fabric.FlowResult) {
	span := m.span()
	if span <= 0 {
		return
	}
	part := 0
	fmt.Sscanf(selector, ".part%d", &part)
	var bytes int64
	x := make([]float64, 0, len(m.o.Results.Flows))
	to := make(map[int]bool)
	limited := m.o.Until < vtime.Never
	for i := range m.o.Results.Flows {
		f := &m.o.Results.Flows[i]
		if part != 0 && f.Group != part || f.Start >= m.until {
			continue
		}
		n := m.acked(i, f)
		bytes += n
		to[f.Dst] = true
		switch end := f.Start + f.FCT; {
		case limited && f.Start <= m.o.From && (!f.Finished || end >= m.until):
			x = append(x, float64(n))
		case !limited && f.Finished && f.FCT > 0:
			x = append(x, float64(f.Size)/f.FCT.Seconds())
		case !limited && !f.Finished && m.until > f.Start:
			x = append(x, float64(n)/(m.until-f.Start).Seconds())
		}
	}
	m.v["goodput_gbps"+selector] = float64(bytes) * 8 / span / 1e9
	var capacity float64
	for id := range to {
		capacity += float64(m.o.Topology.Links[m.o.Topology.Nodes[id].Ports[0].Link].Rate)
	}
	if capacity > 0 {
		m.v["goodput_share"+selector] = float64(bytes) * 8 / span / capacity
	}
	if j, ok := Jain(x); ok && len(x) > 1 {
		m.v["jain"+selector] = j
	}
}

// Jain returns Jain's index of fairness, (Σx)²/(n·Σx²), or false if it is not
// defined.
func Jain(x []float64) (float64, bool) {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 0, false
	}
	return sum * sum / (float64(len(x)) * squares), true
}

// waves sets the mean time from the start of an incast or burst to the end of
// its last flow.
func (m *meter) waves(selector string, flows []*fabric.FlowResult) {
	type wave struct{ part, number int }
	type ends struct {
		start, end vtime.Time
		open       bool
	}
	all := make(map[wave]*ends)
	for _, f := range flows {
		if m.o.Waves == nil || !m.o.Waves(f.Group) {
			continue
		}
		w := wave{f.Group, f.Wave}
		e := all[w]
		if e == nil {
			e = &ends{start: f.Start}
			all[w] = e
		}
		e.start, e.end = min(e.start, f.Start), max(e.end, f.Start+f.FCT)
		e.open = e.open || !f.Finished
	}
	var took []float64
	for _, e := range all {
		if !e.open {
			took = append(took, (e.end - e.start).Microseconds())
		}
	}
	if len(took) > 0 {
		slices.Sort(took) // rounding depends on the order, which a map does not define
		m.v["incast_last_us"+selector] = Mean(took)
	}
}

func (m *meter) coflows(flows []*fabric.FlowResult) {
	all := make(map[uint32]*coflow)
	for _, f := range flows {
		if f.Coflow == 0 {
			continue
		}
		c := all[f.Coflow]
		if c == nil {
			c = &coflow{start: f.Start}
			all[f.Coflow] = c
		}
		c.start, c.end = min(c.start, f.Start), max(c.end, f.Start+f.FCT)
		c.open = c.open || !f.Finished
	}
	var took []float64
	for _, c := range all {
		if !c.open {
			took = append(took, (c.end - c.start).Microseconds())
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		m.v["avg_cct_us"], m.v["p99_cct_us"] = Mean(took), Quantile(took, 0.99)
	}
}

// treeGap is the longest time without a pause within one congestion tree, in
// which PAUSE and RESUME alternate.
const treeGap = 100 * vtime.Microsecond

// pauses sets the metrics of PFC within the window, and returns pauses by link.
func (m *meter) pauses() (links []LinkPauses) {
	t, most := m.o.Topology, highest(m.o.Topology)
	frames, paused := make(map[string]float64), make(map[string]float64)
	for i := range t.Nodes {
		frames["."+tierOf(t, i, most)], paused["."+tierOf(t, i, most)] = 0, 0
	}
	type port struct{ node, port int }
	type frame struct {
		at vtime.Time
		port
	}
	perLink := make(map[port]*LinkPauses)
	link := func(p port) *LinkPauses {
		l := perLink[p]
		if l == nil {
			l = &LinkPauses{Node: t.Nodes[p.node].Name, Peer: t.Nodes[t.Nodes[p.node].Ports[p.port-1].Peer].Name}
			perLink[p] = l
		}
		return l
	}
	var last frame
	for _, e := range m.o.Results.Pauses {
		if e.Quanta == 0 || e.Time < m.o.From || e.Time >= m.o.Until {
			continue
		}
		f := frame{e.Time, port{e.Node, e.Port}}
		if f != last { // a frame may name several classes
			frames["."+tierOf(t, e.Node, most)]++
			frames[""]++
			link(f.port).Frames++
		}
		last = f
	}
	var between []Pause
	for _, p := range Pauses(t, m.o.Results) {
		start, end := max(p.StartNS, m.o.From.Nanoseconds()), min(p.EndNS, m.until.Nanoseconds())
		if end <= start {
			continue
		}
		node := t.NodeByName(p.Node)
		us := float64(end-start) / 1000
		paused["."+tierOf(t, node.ID, most)] += us
		paused[""] += us
		link(port{node.ID, p.Port}).PausedUS += us
		if node.Kind == topo.Switch && t.Nodes[node.Ports[p.Port-1].Peer].Kind == topo.Switch {
			p.StartNS, p.EndNS = start, end
			between = append(between, p)
		}
	}
	paused[""] += 0
	for selector := range paused {
		m.v["pause_frames"+selector], m.v["paused_us"+selector] = frames[selector], paused[selector]
		if s := m.span(); s > 0 {
			m.v["pause_rate"+selector] = frames[selector] / s
		}
	}
	m.trees(between)
	for _, p := range slices.SortedFunc(maps.Keys(perLink), func(a, b port) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.port, b.port)) }) {
		links = append(links, *perLink[p])
	}
	return links
}

// trees sets the metrics of congestion trees: pauses of links between
// switches, in order of their start.
func (m *meter) trees(between []Pause) {
	t := m.o.Topology
	var total, longest, links int64
	for i := 0; i < len(between); {
		begin, end := between[i].StartNS, between[i].EndNS
		root := make(map[int]int) // union-find over nodes
		var find func(int) int
		find = func(n int) int {
			if p, ok := root[n]; ok && p != n {
				root[n] = find(p)
				return root[n]
			}
			root[n] = n
			return n
		}
		type link struct {
			node string
			port int
		}
		in := make(map[link]int)
		j := i
		for ; j < len(between) && between[j].StartNS <= end+treeGap.Nanoseconds(); j++ {
			p := &between[j]
			end = max(end, p.EndNS)
			n := t.NodeByName(p.Node)
			in[link{p.Node, p.Port}] = n.ID
			root[find(n.ID)] = find(n.Ports[p.Port-1].Peer)
		}
		size := make(map[int]int64)
		for _, id := range in {
			size[find(id)]++
			links = max(links, size[find(id)])
		}
		total += end - begin
		longest = max(longest, end-begin)
		i = j
	}
	m.v["tree_us"], m.v["tree_longest_us"], m.v["tree_links"] = float64(total)/1000, float64(longest)/1000, float64(links)
}

// queues sets the mean over time of the sampled egress queues; time lines that
// are all zero have been removed before.
func (m *meter) queues() {
	var sum float64
	n := 0
	for _, l := range m.o.Lines {
		if l.Unit != "bytes" || !strings.HasSuffix(l.Name, "egress") {
			continue
		}
		for i, v := range l.V {
			if at := vtime.Time(l.TNS[i]) * vtime.Nanosecond; at >= m.o.From && at < m.o.Until {
				sum += float64(v)
				n++
			}
		}
	}
	if n > 0 {
		m.v["avg_queue_bytes"] = sum / float64(n)
	}
}

// steady compares the halves of the window. It returns nil without a window, and
// sets no slowdowns if a half has fewer than two flows.
func (m *meter) steady() *Steady {
	o := m.o
	if o.Until == vtime.Never || o.Acked[0] == nil || o.Acked[1] == nil {
		return nil
	}
	s := &Steady{}
	var halves, logs [2][]float64
	middle := o.From + (o.Until-o.From)/2
	for i := range o.Results.Flows {
		f := &o.Results.Flows[i]
		for k, at := range [2]vtime.Time{o.From, o.Until} {
			if f.Start < at && i < len(o.Acked[k]) {
				*[2]*int64{&s.Before, &s.After}[k] += f.Size - o.Acked[k][i]
			}
		}
		if !f.Finished || o.Measured != nil && !o.Measured(f) {
			continue
		}
		k := 0
		if f.Start >= middle {
			k = 1
		}
		halves[k], logs[k] = append(halves[k], f.Slowdown()), append(logs[k], math.Log(f.Slowdown()))
	}
	if min(len(halves[0]), len(halves[1])) < 2 {
		return s
	}
	s.First, s.Second = Mean(halves[0]), Mean(halves[1])
	if se := math.Sqrt(variance(logs[0])/float64(len(logs[0])) + variance(logs[1])/float64(len(logs[1]))); se > 0 {
		s.Z = (Mean(logs[1]) - Mean(logs[0])) / se
	}
	return s
}

// SortMetrics returns the names of metrics in the order of display: standard
// metrics, each followed by those with selectors, then counters.
func SortMetrics(names []string) []string {
	rank := func(name string) (int, string) {
		base, selector, _ := strings.Cut(name, ".")
		i := slices.IndexFunc(standard, func(m Metric) bool { return m.Name == base })
		if i < 0 {
			return len(standard), name
		}
		return i, selector
	}
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, func(a, b string) int {
		i, s := rank(a)
		j, u := rank(b)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(s, u))
	})
	return sorted
}
