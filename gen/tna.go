// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
)

// Supports says why a target cannot have the program of a profile; nil if it
// can.
func Supports(p *Profile, target string) error {
	if target != "tna" {
		return nil
	}
	because := func(format string, args ...any) error {
		return fmt.Errorf("profile %s on tna: %s", p.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case p.Units.Time != manifest.Nanoseconds || p.Units.Depth != manifest.Cells80:
		return because("a Tofino counts nanoseconds and cells of 80 bytes; say target: {time: ns, depth: cells80}")
	case p.emulated():
		return because("a Tofino's MACs send and obey PFC; say pfc: native")
	case bool(p.QCN) && (p.rlb() || p.plb()):
		return because("a packet is copied once in egress, and RLB and PLB must hear of what leaves; QCN over the other base schemes has been brought to Tofino")
	case bool(p.QCN) && bool(p.PBFS):
		return because("p4c finds no place for the fields of QCN and PB-FS together; each alone has been brought to Tofino")
	case p.Sizes.Priorities != 8:
		return because("a Tofino port has 8 classes; say sizes.priorities: 8")
	case p.rlb() && p.Sizes.Paths > maxRLBPaths:
		return because("a register of 32 bits has the warned paths beside the time of the warnings: rlb has up to %d paths; sizes.paths is %d", maxRLBPaths, p.Sizes.Paths)
	case p.Sizes.Ports > tofinoPorts:
		return because("a Tofino has no more than %d ports; sizes.ports is %d", tofinoPorts, p.Sizes.Ports)
	case p.Sizes.Ports > pipelinePorts && (p.feedback() || p.fabricHeader()):
		return because("ports that share state must be on one pipeline, which has no more than %d; sizes.ports is %d", pipelinePorts, p.Sizes.Ports)
	}
	return nil
}

// Limits of a Tofino 1, and of RLB's registers.
const (
	tofinoPorts   = 256
	pipelinePorts = 64
	maxRLBPaths   = 8
)

// Stages of ingress on TNA, in order.
const (
	tnaStart  stage = iota // every packet and all feedback
	tnaLearn               // the same, once it is known where packets go
	tnaChoice              // packets with several ways
	tnaSettle              // every packet and all feedback again
	tnaLeave               // the same, once packets have a port
)

// Stages of egress on TNA, in order.
const (
	tnaArrive  stage = iota // everything
	tnaMessage              // copies that become messages
	tnaCard                 // copies that become postcards
	tnaSample               // copies that become notifications
	tnaDepart               // packets that leave
)

// tnaBlocks is blocks for TNA.
func (p *Profile) tnaBlocks() []block {
	var list []block
	add := func(when bool, name string, ingress, egress []step) {
		if when {
			list = append(list, block{name, ingress, egress})
		}
	}
	in := func(s stage, controls ...string) []step {
		var steps []step
		for _, c := range controls {
			steps = append(steps, step{s, c})
		}
		return steps
	}
	add(true, "base", nil, nil)
	add(true, "bridge", nil, nil)
	early := tnaDepart
	if p.rlb() && !bool(p.PBFS) { // a condition around several tables takes gateways; PB-FS has one anyhow, and would be stages longer
		early = tnaArrive
	}
	depth := early
	if p.QCN { // samples are counted by the growth of queues
		depth = tnaArrive
	}
	add(p.ECN != "off" || p.feedback() || p.fabricHeader() || bool(p.PBFS) || bool(p.QCN), "depth", nil, in(depth, "Depth"))
	add(p.tnaClock(), "clock", nil, nil)
	add(p.tnaClock() && !p.rlb(), "read_clock", in(tnaStart, "Clock"), nil)
	add(p.rlb() || p.fabricHeader() || bool(p.PBFS) || bool(p.QCN), "in_port", in(tnaStart, "Arrive"), nil)
	add(p.tnaMessages(), "message", nil, nil)

	add(p.cnm() || p.tag() || p.plb(), "local", nil, nil)
	add(p.fabricHeader(), "neighbour", in(tnaStart, "Neighbour"), nil)
	add(p.cnm(), "cnm", nil, nil)
	add(p.plb(), "kick", nil, nil)
	add(p.l4(), "l4", nil, nil)
	add(p.hashes(), "share", nil, nil)
	add(p.udp(), "udp", nil, nil)
	add(bool(p.INT) || bool(p.QCN), "wire", nil, in(tnaArrive, "Wire"))
	add(bool(p.INT), "int", nil, in(tnaDepart, "Telemetry"))
	add(p.bth(), "bth", nil, nil)
	add(p.Base == "presto" || p.rlb(), "length", nil, nil)
	add(p.Base == "presto" && !p.rlb(), "measure", in(tnaStart, "Measure"), nil)

	add(p.feedback() || bool(p.PBFS) || bool(p.QCN), "mirror", nil, nil)
	add(p.feedback(), "feedback", nil, nil)
	add(p.hashes(), "hash", in(tnaStart, "FlowHash"), nil)
	add(p.tnaQlen(), "egress_qlen", nil, in(tnaDepart, "ReportQueue"))
	add(p.ingressQlen() || bool(p.PBFS) || bool(p.QCN), "came_by", nil, nil)
	add(p.ingressQlen(), "ingress_qlen", nil, in(early, "Depart"))
	add(p.feedback() && !p.plb(), "report", nil, in(tnaDepart, "SendFeedback"))
	add(p.dre(), "dre", nil, in(tnaDepart, "Estimate"))
	add(p.fabricHeader(), "fabric", nil, in(early, "Fabric"))
	add(p.tag(), "tag", in(tnaLearn, "StripTag"), nil) // stands behind that header
	add(p.measuresRTT(), "rtt", nil, nil)
	add(p.flowlets(), "flowlet", in(tnaChoice, "Flowlet"), nil)
	switch p.Base {
	case "ecmp":
		add(true, "ecmp", in(tnaChoice, "Ecmp"), nil)
	case "hermes":
		add(true, "hermes", in(tnaChoice, "Hermes"), nil)
	case "presto":
		add(true, "presto", in(tnaChoice, "Presto"), nil)
	case "letflow":
		add(true, "letflow", nil, nil)
		add(true, "draw", in(tnaChoice, "Draw"), nil)
		add(true, "keep_path", in(tnaChoice, "KeepPath"), nil)
	case "drill":
		add(true, "drill", in(tnaLearn, "Drill"), nil)
	case "conga":
		add(true, "draw", in(tnaChoice, "Draw"), nil)
		add(true, "conga", in(tnaSettle, "Conga"), in(tnaDepart, "Congestion"))
		add(true, "keep_path", in(tnaSettle, "KeepPath"), nil)
	case "clb":
		add(true, "draw", in(tnaChoice, "Draw"), nil)
		add(true, "clb", in(tnaSettle, "Clb"), nil)
		add(true, "keep_path", in(tnaSettle, "KeepPath"), nil)
	case "plb":
		add(true, "draw", in(tnaLearn, "Draw"), nil)
		add(true, "plb", slices.Concat(in(tnaLearn, "PathNews", "Probe"), in(tnaSettle, "BestPath", "FlowPath", "Plb"), in(tnaLeave, "MeetPause")),
			slices.Concat(in(tnaArrive, "Sojourn"), in(tnaDepart, "PayDelay"), in(tnaMessage, "KickOut")))
		add(true, "report", nil, in(tnaDepart, "SendFeedback"))
	}
	add(p.adaptive(), "rlb_adaptive", nil, nil)
	add(p.rlb(), "rlb", slices.Concat(in(tnaStart, "Begin"), in(tnaLearn, "Predict", "PackUp", "HearWarnings"), in(tnaSettle, "Rlb")), in(tnaMessage, "Warn"))
	add(bool(p.PBFS), "slots", nil, nil)
	add(bool(p.PBFS), "pbfs", nil, append(in(tnaDepart, "FastStart"), in(tnaCard, "Postcard")...))
	add(bool(p.QCN), "sample", nil, nil)
	add(bool(p.QCN), "qcn", nil, append(in(tnaArrive, "Sample"), append(in(tnaDepart, "Weigh"), in(tnaSample, "Feedback")...)...))
	add(p.ECN == "red", "red", nil, in(tnaDepart, "Red"))
	add(p.ECN == "np_ecn", "np_ecn", nil, in(tnaDepart, "MarkNonPaused"))
	add(true, "forward", nil, nil)
	return list
}

// plumbing are blocks of TNA that are no feature of a program.
var plumbing = []string{"bridge", "read_clock", "depth", "length", "measure", "share", "feedback", "report", "draw", "keep_path", "slots", "wire", "sample", "came_by", "mirror"}

// feedback says that egress sends ingress copies of packets with what it
// knows of queues; tnaMessages that packets are mirrored into messages.
func (p *Profile) feedback() bool    { return p.tnaQlen() || p.rlb() || p.plb() }
func (p *Profile) tnaQlen() bool     { return p.Base == "drill" || p.Base == "clb" }
func (p *Profile) tnaMessages() bool { return p.rlb() || p.plb() }
func (p *Profile) tnaClock() bool {
	return p.flowlets() || p.feedback() || p.fabricHeader()
}

func (g *generator) Feedback() bool     { return g.feedback() }
func (g *generator) Messages() bool     { return g.tnaMessages() }
func (g *generator) FabricHeader() bool { return g.fabricHeader() }
func (g *generator) QueueDepth() bool   { return g.ECN != "off" || g.feedback() }
func (g *generator) EgressTime() bool   { return g.feedback() || g.fabricHeader() || bool(g.PBFS) }
func (g *generator) SumsDepth() bool    { return bool(g.PBFS) || bool(g.QCN) }
func (g *generator) QueueBytes() bool   { return g.tnaQlen() || g.SumsDepth() }
func (g *generator) EgressMirror() bool { return g.feedback() || bool(g.PBFS) || bool(g.QCN) }

// FlowBits is the width of an index of per-flow state.
func (g *generator) FlowBits() int { return bits.Len(uint(g.Sizes.Flows - 1)) }

// Widths of indexes: of per-port and per-queue cells, of leaves, and of paths.
func (g *generator) PortBits() int     { return bits.Len(uint(g.Sizes.Ports - 1)) }
func (g *generator) PortTop() int      { return g.PortBits() - 1 }
func (g *generator) CellBits() int     { return g.PortBits() + 3 }
func (g *generator) LeafBits() int     { return bits.Len(uint(g.Sizes.Leaves - 1)) }
func (g *generator) LeafPathBits() int { return g.LeafBits() + g.PathBits() }
func (g *generator) WayBits() int      { return g.PathBits() + 3 }
func (g *generator) WayCells() int     { return 1 << g.WayBits() }

// Rlbs is the block that limits recirculation.
func (g *generator) Rlbs() string { return g.RLB }

// MTUShift is the size of a packet as a power of two, not below the MTU.
func (g *generator) MTUShift() int { return bits.Len(uint(g.Network.MTU - 1)) }

// FeedbackSession is the mirror session of feedback, above those of ports.
// FeedbackInterval is a nanosecond above 1 µs: the recirculation port takes
// some 150 million packets a second, two pipelines of 32 ports send at most 64.
func (g *generator) FeedbackSession() int  { return manifest.FeedbackSession }
func (g *generator) FeedbackInterval() int { return 1000 }

// FeedbackDue is the condition that egress has something to tell.
func (g *generator) FeedbackDue() string {
	var due []string
	if g.tnaQlen() || g.plb() {
		due = append(due, "meta.queue_due == 1")
	}
	if g.ingressQlen() {
		due = append(due, "meta.departed != 0")
	}
	if g.QCN { // a sample is copied already
		return strings.Join(append(due, "meta.sample_due == 0"), " && ")
	}
	return strings.Join(due, " || ")
}

// EgressHeaders are those that may leave egress, in order.
func (g *generator) EgressHeaders() []string {
	var list []string
	add := func(when bool, names ...string) {
		if when {
			list = append(list, names...)
		}
	}
	add(g.feedback(), "feedback")
	add(g.rlb(), "again")
	add(g.plb(), "message")
	add(true, "ethernet")
	add(g.cnm(), "cnm")
	add(g.plb(), "kick")
	list = append(list, g.BeforeIP()...)
	add(true, "ipv4")
	add(g.udp(), "udp")
	add(bool(g.INT), "telemetry")
	add(g.bth(), "bth")
	add(bool(g.PBFS), "postcard")
	add(bool(g.QCN), "cnp")
	return list
}

// turn is an entry of the table that finds the next free path after Path, of
// those to Last: the paths of Mask are blocked where Value says so, and Other
// is free.
type turn struct {
	Last, Path, Other int
	Value, Mask       string
	Slow              []slower // where waiting for Path is better, slowest first
}

// slower is the same with Other being slow: of Either, it alone is in Slow. It
// is worth so many ns of waiting.
type slower struct {
	turn
	Slow, Either string
	Worth        int
}

func (g *generator) turns() []turn {
	width := g.MaskBits()
	bit := func(path int) uint64 { return 1 << (width - 1 - path) }
	hex := func(v uint64) string { return fmt.Sprintf("%#0*x", (width+3)/4+2, v) }
	n := len(g.Slownesses())
	var list []turn
	for last := 1; last < g.Sizes.Paths; last++ {
		for path := range last + 1 {
			blocked := bit(path)
			for k := 1; k <= last; k++ {
				other := (path + k) % (last + 1)
				t := turn{last, path, other, hex(blocked), hex(blocked | bit(other)), nil}
				for class := n - 1; class >= 0; class-- {
					is := bit(other) << (class * width)
					t.Slow = append(t.Slow, slower{t, hex(is), hex(is | bit(path)), g.worth(class)})
				}
				list = append(list, t)
				blocked |= bit(other)
			}
		}
	}
	return list
}

// Slownesses are suffixes of what is there once for each class of long round
// trips: one, and three where it matters how long they are.
func (g *generator) Slownesses() []string {
	if g.adaptive() {
		return []string{"", "_2", "_3"}
	}
	return []string{""}
}

// SlowBits is how many bits say which paths are in which classes.
func (g *generator) SlowBits() int { return len(g.Slownesses()) * g.MaskBits() }

// HeardBits is how many bits say what is heard of the paths to a leaf: in the
// lowest those that are warned of, then which are slow.
func (g *generator) HeardBits() int { return g.MaskBits() + g.SlowBits() }

// slowBit says that a path is in a class, the first in the lowest bits.
func (g *generator) slowBit(path, class int) uint64 {
	return 1 << ((class+2)*g.MaskBits() - 1 - path)
}

// worth is what a path of a class is slower by, less the pass that is yet to
// come.
func (g *generator) worth(class int) int {
	return g.span("rlb.pass_time") * (manifest.SlowTrips[class] - 1)
}

// slowEcho is an entry that says which classes a round trip is in; or, if it
// does not lengthen, in which it is not.
type slowEcho struct {
	Path, Lengthens int
	Late, Bits      string
}

func (g *generator) slowEchoes() []slowEcho {
	n := len(g.Slownesses())
	var list []slowEcho
	for path := range g.Sizes.Paths {
		for class := range n + 1 {
			var late []string
			var is, not uint64
			for c := range n {
				bit := g.slowBit(path, c)
				if c < class {
					late, is = append(late, "1"), is|bit
				} else {
					late, not = append(late, "0"), not|bit
				}
			}
			text := strings.Join(late, ", ")
			list = append(list, slowEcho{path, 1, text, fmt.Sprintf("%#x", is)}, slowEcho{path, 0, text, fmt.Sprintf("%#x", not)})
		}
	}
	return list
}

// StepBits is what a path lacks to a distance between ports.
func (g *generator) StepBits() int { return 9 - g.PathBits() }

// span is a time that a parameter has when the program is generated.
func (g *generator) span(parameter string) int {
	ns, err := g.manifest.Value(parameter, g.Network)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return max(int(ns), 1)
}

// LookInterval is rlb.interval.
func (g *generator) LookInterval() int { return g.span("rlb.interval") }

// WarningWindow is the window in which warnings run out together, a power of
// two not above rlb.hold; WarningHold is when they do, so that a warning
// counts for rlb.hold on average.
func (g *generator) WarningWindow() int { return 1 << (bits.Len(uint(g.span("rlb.hold"))) - 1) }
func (g *generator) WarningHold() int   { return g.span("rlb.hold") + g.WarningWindow()/2 }

// NoLeaf are the bits that no leaf's number has.
func (g *generator) NoLeaf() string { return fmt.Sprintf("%#x", 1<<16-1<<g.LeafBits()) }

// TNAIngress applies the blocks' controls.
func (g *generator) TNAIngress() pipe {
	w := g.tnaWriter("hdr, meta, intrinsic, parsed, deparser, tm", func(b block) []step { return b.ingress })
	w.use("Route")
	w.stage(tnaStart)
	w.stage(tnaLearn)
	switch {
	case g.fabricHeader(): // a condition around several tables would be stages longer
		w.stage(tnaChoice)
	case w.has(tnaChoice):
		w.open("if (meta.last_path > 0) {")
		w.stage(tnaChoice)
		if w.has(tnaSettle) {
			w.close()
		}
	}
	if g.rlb() {
		w.stage(tnaSettle)
		w.use("Send")
		return w.pipe()
	}
	if w.has(tnaSettle) || !w.has(tnaChoice) {
		w.stage(tnaSettle)
		w.open("if (meta.last_path > 0) {")
	}
	w.line("meta.out_port = meta.first_port + meta.step;")
	if g.tnaQlen() {
		w.line("meta.way = (bit<8>) meta.path;")
	}
	if w.depth > 2 {
		w.close()
	}
	w.stage(tnaLeave)
	w.use("Send")
	return w.pipe()
}

// TNAEgress is TNAIngress for the other pipe.
func (g *generator) TNAEgress() pipe {
	w := g.tnaWriter("hdr, meta, intrinsic, parsed, deparser", func(b block) []step { return b.egress })
	if !g.EgressMirror() {
		w.stage(tnaArrive)
		w.stage(tnaDepart)
		return w.pipe()
	}
	w.stage(tnaArrive)
	w.open("if (hdr.bridge.isValid()) {")
	w.stage(tnaDepart)
	if w.has(tnaMessage) {
		w.orElse("if (hdr.message.isValid())")
		w.stage(tnaMessage)
	}
	if w.has(tnaCard) {
		w.orElse("if (hdr.card.isValid())")
		w.stage(tnaCard)
	}
	if w.has(tnaSample) {
		w.orElse("if (hdr.sample.isValid())")
		w.stage(tnaSample)
	}
	w.close()
	return w.pipe()
}

func (g *generator) tnaWriter(args string, steps func(block) []step) *writer {
	w := g.writer(steps)
	w.args = args
	return w
}

// Parameters of the controls of a pipe.
const (
	ingressParams = `inout headers_t hdr, inout metadata_t meta,
        in ingress_intrinsic_metadata_t intrinsic,
        in ingress_intrinsic_metadata_from_parser_t parsed,
        inout ingress_intrinsic_metadata_for_deparser_t deparser,
        inout ingress_intrinsic_metadata_for_tm_t tm`
	egressParams = `inout headers_t hdr, inout egress_metadata_t meta,
        in egress_intrinsic_metadata_t intrinsic,
        in egress_intrinsic_metadata_from_parser_t parsed,
        inout egress_intrinsic_metadata_for_deparser_t deparser`
)

// picks writes a table that scales one of 256 parts to the number of paths: a
// product and a shift, which a Tofino does not have.
func (g *generator) picks(name, share, path string) string {
	typ := "bit<8>" // as a stateful ALU wants it
	var also, other, key, any, entry string
	switch {
	case path == "meta.path":
		typ, also = "path_t", "\n    meta.step = (port_t) path;"
	case g.Base == "conga":
		// What is learnt is written down by the same table, or else it would be
		// a stage longer.
		also = "\n    meta.when = meta.now - meta.when;"
		other = fmt.Sprintf(`action %s_fed_back() {
    %s = hdr.fabric.fed_path - 1;
    meta.congestion = (bit<32>) hdr.fabric.fed_value;
    meta.when = meta.now;
}

`, name, path)
		hop, host := "meta.deliver", "true"
		if g.rlb() {
			hop, host = "meta.hop", "HOP_HOST"
		}
		key, any = fmt.Sprintf("\n        %s : ternary @name(\"hop\");", hop), ", _"
		entry = fmt.Sprintf("        (0, 0 .. 255, %s) : %s_fed_back();\n", host, name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `%[6]saction %[1]s_is(%[4]s path) {
    %[3]s = path;%[5]s
}

// A part of 256 scaled to the number of paths.
table %[1]s {
    key = {
        meta.last_path : exact @name("last_path");
        %[2]s : range @name("share");%[7]s
    }
    actions = { %[1]s_is;`, name, share, path, typ, also, other, key)
	if other != "" {
		fmt.Fprintf(&b, " %s_fed_back;", name)
	}
	fmt.Fprintf(&b, ` @defaultonly NoAction; }
    const default_action = NoAction();
    const entries = {
%s`, entry)
	size := strings.Count(entry, "\n")
	for last := 1; last < g.Sizes.Paths; last++ {
		for path := range last + 1 {
			low := (path*256 + last) / (last + 1)
			high := ((path+1)*256+last)/(last+1) - 1
			fmt.Fprintf(&b, "        (%d, %d .. %d%s) : %s_is(%d);\n", last, low, high, any, name, path)
			size++
		}
	}
	fmt.Fprintf(&b, "    }\n    size = %d;\n}", size)
	return b.String()
}

// zero writes zeros to all metadata of a kind: Tofino's parser does not.
func (g *generator) zero(section string) (string, error) {
	text, err := g.lines(section)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		m := metadataMember.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		value := "0"
		if m[2] == "way" {
			value = "NO_WAY"
		}
		if m[1] == "bool" {
			value = "false"
		}
		fmt.Fprintf(&b, "meta.%s = %s;\n", m[2], value)
	}
	return b.String(), nil
}

var metadataMember = regexp.MustCompile(`^\s*([\w<>]+)\s+(\w+);`)

// egressStates turns parser states of ingress into those of egress, which
// keeps no metadata of a packet.
func egressStates(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "meta.") {
			b.WriteString(line)
		}
	}
	return b.String()
}
