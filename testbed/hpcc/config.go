// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Config is the content of a configuration file in this project's types.
type Config struct {
	// Names of files in the configuration; empty if it has none.
	TopologyFile, FlowFile, FCTFile, PFCFile string

	Stop     vtime.Time // end of the run, also if flows are unfinished; zero: none
	Seed     uint64
	Profile  string // for LB_MODE: "ecmp", "drill", …
	Hosts    roce.Config
	Switch   topo.SwitchConfig
	Marks    []Mark // by rate; empty: switches do not mark
	LinkDown *LinkDown
	// Set are parameters of the profile's program, as text.
	Set map[string]string
	// ErrorRate is the probability of frame loss on links whose line in the
	// topology gives none.
	ErrorRate float64

	// Warnings are about keys that have no effect here, and unknown keys.
	Warnings diag.List
}

// Mark has the marking thresholds of ports of one rate: no packets are marked up
// to a queue of KMin, all from KMax on, and in between with a probability that
// rises linearly to PMax.
type Mark struct {
	Rate       vtime.Rate
	KMin, KMax vtime.Size
	PMax       float64
}

// InCells returns thresholds for queues that are counted in cells, of which a
// packet's last is partly empty. As many full packets of a payload reach them as
// in the simulator, which counts bytes of shorter frames.
func (m Mark) InCells(payload int) Mark {
	frame := payload + roce.DataOverhead
	taken := (frame + manifest.CellBytes - 1) / manifest.CellBytes * manifest.CellBytes
	wider := func(s vtime.Size) vtime.Size { return s * vtime.Size(taken) / vtime.Size(payload+headerBytes) }
	m.KMin, m.KMax = wider(m.KMin), wider(m.KMax)
	return m
}

// Fit sets the hosts' overhead so that a full packet takes as long on links of a
// rate as in the simulator, which truncates to nanoseconds: at 100 Gb/s a frame of
// 1048 bytes takes 83 ns instead of 83.84 ns.
func (c *Config) Fit(r vtime.Rate) {
	if r <= 0 || c.Hosts.CC.Algorithm == "hpcc" || c.Hosts.CC.Algorithm == "hpcc_pint" {
		return // HPCC keeps the rate below the link's
	}
	frame := c.Hosts.MTU + roce.DataOverhead
	whole := r.TxTime(frame+c.Hosts.Overhead) / vtime.Nanosecond * vtime.Nanosecond
	bytes := int(r.Bytes(whole))
	if r.TxTime(bytes) < whole {
		bytes++
	}
	c.Hosts.Overhead = max(bytes-frame, -20)
}

// MarkFor returns the thresholds of ports of a rate, and whether there are any.
func (c *Config) MarkFor(r vtime.Rate) (Mark, bool) {
	i := slices.IndexFunc(c.Marks, func(m Mark) bool { return m.Rate == r })
	if i < 0 {
		return Mark{}, false
	}
	return c.Marks[i], true
}

// LinkDown is a link that goes down until the end of the run.
type LinkDown struct {
	At   vtime.Time
	A, B int // nodes
}

// Fault returns the fault for the fabric. It returns an error if the topology does
// not have the nodes, and for a link of a host that has others: the simulator's host
// moves its flows to them.
func (l *LinkDown) Fault(t *topo.Topology) (fabric.Fault, error) {
	if max(l.A, l.B) >= len(t.Nodes) {
		return fabric.Fault{}, fmt.Errorf("LINK_DOWN: the topology has no node %d", max(l.A, l.B))
	}
	for i := range t.Nodes {
		if h := t.Nodes[i].Host; h != i && (h == l.A || h == l.B) {
			return fabric.Fault{}, fmt.Errorf("LINK_DOWN: host %d has several links, and flows do not move from one to another here; name a link between switches", h)
		}
	}
	return fabric.Fault{From: l.At, Link: t.Nodes[l.A].Name + "-" + t.Nodes[l.B].Name, Down: true}, nil
}

// Values of CC_MODE and LB_MODE.
var (
	ccModes = map[int64]string{1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp", 10: "hpcc_pint"}
	lbModes = map[int64]string{0: "ecmp", 2: "drill", 3: "conga", 6: "letflow", 9: "conweave"}
)

// ignored are known keys without an effect here.
var ignored = strings.Fields(`
	TRACE_FILE TRACE_OUTPUT_FILE ENABLE_TRACE QLEN_MON_FILE QLEN_MON_START QLEN_MON_END
	L2_CHUNK_SIZE PAUSE_TIME DATA_RATE LINK_DELAY
	FLOW_INPUT_FILE CNP_OUTPUT_FILE VOQ_MON_FILE VOQ_MON_DETAIL_FILE UPLINK_MON_FILE CONN_MON_FILE EST_ERROR_MON_FILE
	SW_MONITORING_INTERVAL FLOWGEN_START_TIME LOAD`)

// ReadConfig reads a configuration file: on each line a key and its values. Keys
// that are left out have the simulator's defaults. An error is a diag.List or that
// of reading the file.
func ReadConfig(name string) (*Config, error) {
	data, err := infile.Read(name)
	if err != nil {
		return nil, err
	}
	return ParseConfig(name, string(data))
}

// ParseConfig is ReadConfig for a text in memory. An error is a diag.List.
func ParseConfig(name, text string) (*Config, error) {
	p := &configParser{name: &name, text: text, c: &Config{Profile: "ecmp", Hosts: roce.Defaults(), Set: make(map[string]string)}}
	c := p.c
	c.Hosts.Overhead = headerBytes - roce.DataOverhead
	c.Hosts.RTO = 0 // the simulator's hosts have no timeout; see finish
	c.Hosts.CC = cc.Config{Algorithm: "dcqcn", MinRate: 100 * vtime.Mbps}
	c.Switch = topo.SwitchConfig{
		Buffer: 16 * vtime.MiB,
		MMU:    "hpcc",
	}
	p.parse()
	p.finish()
	if err := p.list.Err(); err != nil {
		return nil, err
	}
	p.list.Sort()
	c.Warnings = p.list
	return c, nil
}

// configParser reads a configuration line by line.
type configParser struct {
	name *string
	text string
	c    *Config
	list diag.List

	at   diag.Pos // of the key
	key  string
	args []string

	marking bool
	pfcOff  bool
	kmin    map[vtime.Rate]vtime.Size
	kmax    map[vtime.Rate]vtime.Size
	pmax    map[vtime.Rate]float64
	// conweave is set for a configuration of ConWeave's simulator, which has
	// another buffer management, and whose receivers treat an out-of-order packet
	// as marked.
	conweave bool
	hasWin   bool
	varWin   bool
	fast     bool
	miStage  int64
	target   float64
}

func (p *configParser) parse() {
	p.marking, p.hasWin, p.fast, p.miStage, p.target = true, true, true, 5, 0.95
	line := int32(0)
	for l := range strings.Lines(p.text) {
		line++
		if i := strings.IndexAny(l, "{#"); i >= 0 {
			l = l[:i] // the simulator's own example has comments in braces
		}
		f := strings.Fields(l)
		if len(f) == 0 {
			continue
		}
		p.at = diag.MakePos(p.name, line, int32(strings.Index(l, f[0]))+1)
		p.key, p.args = f[0], f[1:]
		if !p.set() {
			p.unknown()
		}
	}
}

func (p *configParser) unknown() {
	if slices.Contains(ignored, p.key) {
		return
	}
	hint := diag.DidYouMean(p.key, slices.Concat(ignored, known))
	p.list.Warnf(p.at, code, "%s is unknown and has no effect%s", p.key, hint)
}

func (p *configParser) errorf(format string, args ...any) {
	p.list.Errorf(p.at, code, "%s: %s", p.key, fmt.Sprintf(format, args...))
}

// arg returns the i-th value.
func (p *configParser) arg(i int) string {
	if i >= len(p.args) {
		p.errorf("a value is missing")
		return "0"
	}
	return p.args[i]
}

func (p *configParser) int(i int, low, high int64) int64 {
	w := p.arg(i)
	v, err := strconv.ParseInt(w, 10, 64)
	if err != nil || v < low || v > high {
		p.errorf("%q must be a whole number from %d to %d", w, low, high)
		return low
	}
	return v
}

func (p *configParser) float(i int, low, high float64) float64 {
	w := p.arg(i)
	v, err := strconv.ParseFloat(w, 64)
	if err != nil || math.IsNaN(v) || v < low || v > high {
		p.errorf("%q must be a number from %g to %g", w, low, high)
		return low
	}
	return v
}

func (p *configParser) bool() bool { return p.int(0, 0, 1) == 1 }

func (p *configParser) rate() vtime.Rate {
	w := p.arg(0)
	v, err := parseRate(w)
	if err != nil || v <= 0 {
		p.errorf("%q must be a rate such as 50Mb/s", w)
	}
	return v
}

// micros returns the first value, in microseconds.
func (p *configParser) micros() vtime.Time { return p.microsTo(1e9) }

func (p *configParser) microsTo(most float64) vtime.Time {
	return vtime.Time(math.Round(p.float(0, 0, most) * float64(vtime.Microsecond)))
}

// settings are the keys that have an effect.
var settings map[string]func(p *configParser)

// known are the keys of settings.
var known []string

func init() {
	settings = map[string]func(p *configParser){
		"TOPOLOGY_FILE":   func(p *configParser) { p.c.TopologyFile = p.arg(0) },
		"FLOW_FILE":       func(p *configParser) { p.c.FlowFile = p.arg(0) },
		"FCT_OUTPUT_FILE": func(p *configParser) { p.c.FCTFile = p.arg(0) },
		"PFC_OUTPUT_FILE": func(p *configParser) { p.c.PFCFile = p.arg(0) },

		"SIMULATOR_STOP_TIME": func(p *configParser) { p.c.Stop = seconds(p.float(0, 0, 1e6)) },
		// ConWeave's simulator runs until all flows have ended, at most ten
		// seconds after this time.
		"FLOWGEN_STOP_TIME":   func(p *configParser) { p.conweave = true; p.c.Stop = seconds(p.float(0, 0, 1e6) + 10) },
		"RANDOM_SEED":         func(p *configParser) { p.c.Seed = uint64(p.int(0, 0, math.MaxInt64)) },
		"LINK_DOWN":           (*configParser).linkDown,
		"ERROR_RATE_PER_LINK": func(p *configParser) { p.c.ErrorRate = p.float(0, 0, 1) },

		"CC_MODE":             func(p *configParser) { p.c.Hosts.CC.Algorithm = p.mode(ccModes) },
		"LB_MODE":             func(p *configParser) { p.conweave = true; p.c.Profile = p.mode(lbModes) },
		"PACKET_PAYLOAD_SIZE": func(p *configParser) { p.c.Hosts.MTU = int(p.int(0, 64, 9000)) },
		"L2_ACK_INTERVAL":     func(p *configParser) { p.ackInterval(p.int(0, 0, 1<<30)) },
		"L2_BACK_TO_ZERO": func(p *configParser) {
			p.only(p.int(0, 0, 1) == 0, "messages that are retransmitted from their start are not supported")
		},
		"MIN_RATE":   func(p *configParser) { p.c.Hosts.CC.MinRate = p.rate() },
		"HAS_WIN":    func(p *configParser) { p.hasWin = p.bool() },
		"VAR_WIN":    func(p *configParser) { p.varWin = p.bool() },
		"GLOBAL_T":   func(p *configParser) { p.c.Hosts.GlobalRTT = p.bool() },
		"ENABLE_IRN": func(p *configParser) { p.irn(p.bool()) },
		"RATE_BOUND": func(p *configParser) { p.only(p.bool(), "hosts always pace") },
		// In the simulator the key only lets hosts send acknowledgements of a paused
		// class; its switches queue them with the data.
		"ACK_HIGH_PRIO":          func(p *configParser) { p.bool() },
		"ALPHA_RESUME_INTERVAL":  func(p *configParser) { p.c.Hosts.CC.DCQCN.AlphaTimer = p.micros() },
		"RATE_DECREASE_INTERVAL": func(p *configParser) { p.c.Hosts.CC.DCQCN.DecreaseTimer = p.micros() },
		"CLAMP_TARGET_RATE":      func(p *configParser) { p.c.Hosts.CC.DCQCN.ClampTarget = p.bool() },
		"RP_TIMER":               func(p *configParser) { p.c.Hosts.CC.DCQCN.RiseTimer = p.micros() },
		"FAST_RECOVERY_TIMES":    func(p *configParser) { p.c.Hosts.CC.DCQCN.FastRecovery = int(p.int(0, 0, 1000)) },
		"EWMA_GAIN":              func(p *configParser) { g := p.float(0, 0, 1); p.c.Hosts.CC.DCQCN.G, p.c.Hosts.CC.DCTCP.G = g, g },
		"RATE_AI":                func(p *configParser) { p.increase(p.rate()) },
		"RATE_HAI":               func(p *configParser) { r := p.rate(); p.c.Hosts.CC.DCQCN.HAI, p.c.Hosts.CC.TIMELY.HAI = r, r },
		"DCTCP_RATE_AI":          func(p *configParser) { p.c.Hosts.CC.DCTCP.AI = p.rate() },
		"U_TARGET":               func(p *configParser) { p.c.Hosts.CC.HPCC.Eta = p.float(0, 0.01, 1) },
		"PINT_LOG_BASE":          func(p *configParser) { p.c.Hosts.CC.PINT.Step = p.float(0, 1.001, 2) - 1 },
		"PINT_PROB":              func(p *configParser) { p.c.Hosts.CC.PINT.Share = p.float(0, 1e-6, 1) },
		"MI_THRESH":              func(p *configParser) { p.miStage = p.int(0, 0, 1000) },
		"FAST_REACT":             func(p *configParser) { p.only(p.bool(), "HPCC always reacts to each acknowledgement") },
		"INT_MULTI":              func(p *configParser) { p.only(p.int(0, 1, 1000) == 1, "telemetry counts in 128 and 80 bytes") },
		"MULTI_RATE":             func(p *configParser) { p.only(!p.bool(), "HPCC has one rate, not one for each hop") },
		"SAMPLE_FEEDBACK":        func(p *configParser) { p.only(!p.bool(), "HPCC looks at each acknowledgement") },

		"CONWEAVE_TX_EXPIRY_TIME":           func(p *configParser) { p.span("idle") },
		"CONWEAVE_REPLY_TIMEOUT_EXTRA":      func(p *configParser) { p.span("reply_extra") },
		"CONWEAVE_PATH_PAUSE_TIME":          func(p *configParser) { p.span("pause") },
		"CONWEAVE_EXTRA_VOQ_FLUSH_TIME":     func(p *configParser) { p.span("extra") },
		"CONWEAVE_DEFAULT_VOQ_WAITING_TIME": func(p *configParser) { p.span("wait") },

		"ENABLE_QCN":                func(p *configParser) { p.marking = p.bool() },
		"ENABLE_PFC":                func(p *configParser) { p.pfcOff = !p.bool() },
		"USE_DYNAMIC_PFC_THRESHOLD": func(p *configParser) { p.only(p.bool(), "the simulator's thresholds are dynamic in any case") },
		"BUFFER_SIZE":               func(p *configParser) { p.c.Switch.Buffer = vtime.Size(p.int(0, 1, 1<<16)) * vtime.MiB },
		"KMIN_MAP":                  func(p *configParser) { p.kmin = p.sizes() },
		"KMAX_MAP":                  func(p *configParser) { p.kmax = p.sizes() },
		"PMAX_MAP":                  func(p *configParser) { p.pmax = rates(p, func(i int) float64 { return p.float(i, 0, 1) }) },
	}
	for k := range settings {
		known = append(known, k)
	}
	slices.Sort(known)
}

// set applies one line and reports whether its key is known.
func (p *configParser) set() bool {
	do, ok := settings[p.key]
	if ok {
		do(p)
	}
	return ok
}

// only warns that a value has no effect, unless it is the only one supported.
func (p *configParser) only(is bool, why string) {
	if !is {
		p.list.Warnf(p.at, code, "%s %s has no effect: %s", p.key, p.arg(0), why)
	}
}

// mode returns the name for a number.
func (p *configParser) mode(names map[int64]string) string {
	v := p.int(0, 0, 100)
	name, ok := names[v]
	if !ok {
		var all []string
		for k, n := range names {
			all = append(all, fmt.Sprintf("%d (%s)", k, n))
		}
		slices.Sort(all)
		p.errorf("%d is not supported; there are %s", v, strings.Join(all, ", "))
	}
	return name
}

// span sets a parameter of ConWeave's program. It has an effect with LB_MODE 9.
func (p *configParser) span(name string) {
	p.c.Set["conweave."+name] = p.microsTo(manifest.MaxSpan / 1000).String()
}

// ackInterval sets an acknowledgement for each packet. The simulator counts the
// interval in bytes and restarts with every packet, so that any interval up to a
// packet's size means this.
func (p *configParser) ackInterval(bytes int64) {
	if bytes == 0 {
		p.errorf("flows without acknowledgements never end")
	}
	p.c.Hosts.AckEvery = 1
}

func (p *configParser) irn(on bool) {
	if on {
		p.c.Hosts.Recovery = roce.IRN
		p.c.Hosts.RTOLow, p.c.Hosts.RTO = 100*vtime.Microsecond, 320*vtime.Microsecond
	}
}

func (p *configParser) increase(r vtime.Rate) {
	c := &p.c.Hosts.CC
	c.DCQCN.AI, c.TIMELY.AI, c.HPCC.AI = r, r, r
}

func (p *configParser) linkDown() {
	at, a, b := p.float(0, 0, 1e12), p.int(1, 0, maxNodes), p.int(2, 0, maxNodes)
	if at > 0 || a != b {
		// The simulator counts from two seconds, in microseconds.
		p.c.LinkDown = &LinkDown{seconds(2) + vtime.Time(at*float64(vtime.Microsecond)), int(a), int(b)}
	}
}

// sizes reads a map from rates to thresholds in KB.
func (p *configParser) sizes() map[vtime.Rate]vtime.Size {
	return rates(p, func(i int) vtime.Size { return vtime.Size(p.int(i, 0, 1<<30)) * vtime.KB })
}

// rates reads a number of pairs, then pairs of a rate and a value.
func rates[T any](p *configParser, value func(i int) T) map[vtime.Rate]T {
	m := make(map[vtime.Rate]T)
	for i := range int(p.int(0, 0, 64)) {
		m[vtime.Rate(p.int(1+2*i, 1, math.MaxInt64))] = value(2 + 2*i)
	}
	return m
}

// likeConWeave sets the differences of ConWeave's simulator from HPCC's that no key
// expresses.
func (p *configParser) likeConWeave() {
	h := &p.c.Hosts
	p.c.Switch.MMU, h.CNPOnReorder = "conweave", true
	h.AckClass, h.NAKInterval = 7, 4*vtime.Microsecond
	if h.RTO == 0 {
		h.RTO = 4 * vtime.Millisecond
	}
}

// finish sets what depends on several keys.
func (p *configParser) finish() {
	p.at = diag.FilePos(*p.name)
	c := p.c
	if p.conweave {
		p.likeConWeave()
	}
	if c.Hosts.CC.Algorithm == "timely" {
		c.Hosts.Overhead += 8 // its data packets carry a time stamp
	}
	mmu, _ := topo.MMU(c.Switch.MMU)
	c.Switch.PFC, c.Switch.EgressAlpha = mmu.PFC, mmu.EgressAlpha
	c.Switch.PFC.Off = p.pfcOff
	if c.Profile == "conweave" {
		// Packets that wait at a leaf lose hardly any time, as in the simulator, which
		// has a queue for each flow. These queues are in no buffer.
		c.Switch.Recirculation = topo.Recirculation{Rate: 12_800 * vtime.Gbps, Latency: 10 * vtime.Nanosecond, OwnBuffer: true}
	}
	c.Hosts.CC.HPCC.MaxStage = int(p.miStage)
	if p.miStage == 0 {
		c.Hosts.CC.HPCC.MaxStage = -1
	}
	if p.hasWin {
		c.Hosts.Window, c.Hosts.WindowFollowsRate = 1, p.varWin
	}
	if c.ErrorRate > 0 || c.LinkDown != nil {
		c.Hosts.RTO = roce.Defaults().RTO
	}
	if c.Hosts.CC.DCQCN.DecreaseTimer == 0 {
		c.Hosts.CC.DCQCN.DecreaseTimer = 4 * vtime.Microsecond
	}
	if !p.marking {
		return
	}
	for r, kmax := range p.kmax {
		kmin, ok := p.kmin[r]
		pmax, ok2 := p.pmax[r]
		if !ok || !ok2 {
			p.list.Warnf(p.at, code, "KMAX_MAP: %v is not in KMIN_MAP and PMAX_MAP; ports of that rate mark nothing", r)
			continue
		}
		if kmin > kmax {
			p.list.Warnf(p.at, code, "KMIN_MAP: %v at %v is above KMAX_MAP's %v; all is marked from there on", kmin, r, kmax)
			kmin = kmax
		}
		c.Marks = append(c.Marks, Mark{r, kmin, kmax, pmax})
	}
	slices.SortFunc(c.Marks, func(a, b Mark) int { return int(min(max(a.Rate-b.Rate, -1), 1)) })
}
