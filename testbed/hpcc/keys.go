// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Values of CC_MODE and LB_MODE.
var (
	ccModes = map[int64]string{1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp", 10: "hpcc_pint"}
	lbModes = map[int64]string{0: "ecmp", 2: "drill", 3: "conga", 6: "letflow", 9: "conweave"}
)

// ReadConfig reads a configuration file: words, which are keys and behind each its
// values. Keys that are left out have the simulator's defaults. An error is a
// diag.List or that of reading the file.
func ReadConfig(name string) (*Config, error) {
	data, err := infile.Read(name)
	if err != nil {
		return nil, err
	}
	return ParseConfig(name, string(data))
}

// ParseConfig is ReadConfig for a text in memory. An error is a diag.List.
func ParseConfig(name, text string) (*Config, error) {
	p := &configParser{
		name: &name, given: make(map[string]diag.Pos), idle: make(map[string]*idle),
		c:       &Config{name: name, Profile: "ecmp", Hosts: roce.Papers.Defaults(), Set: make(map[string]string)},
		marking: true, hasWin: true, fast: true, multiRate: true, ackBytes: 1, intMulti: 1,
	}
	p.defaults()
	p.words(text)
	p.parse()
	p.finish()
	if err := p.list.Err(); err != nil {
		return nil, err
	}
	p.list.Sort()
	p.c.Warnings = p.list
	return p.c, nil
}

// defaults sets what both simulators have without any key.
func (p *configParser) defaults() {
	c := p.c
	c.Hosts.Overhead = headerBytes - roce.DataOverhead
	c.Hosts.RTO = 0 // the simulator's hosts have no timeout; see likeConWeave
	c.Hosts.GlobalRTT = true
	c.Hosts.CC = cc.Config{
		Algorithm: "dcqcn", MinRate: 100 * vtime.Mbps,
		DCQCN: cc.DCQCN{AlphaTimer: 55 * vtime.Microsecond, DecreaseTimer: 4 * vtime.Microsecond, FastRecovery: 5, G: noGain},
		DCTCP: cc.DCTCP{AI: vtime.Gbps, G: noGain},
		HPCC:  cc.HPCC{Eta: 0.95, MaxStage: 5},
		PINT:  cc.PINT{Step: 0.05, Share: 1},
	}
	c.Switch = topo.SwitchConfig{Buffer: 16 * vtime.MiB, MMU: "hpcc"}
}

// noGain is a weight so small that it changes nothing, for EWMA_GAIN 0. That is the
// simulators' default: they write 1 / 16, in whole numbers.
const noGain = math.SmallestNonzeroFloat64

// configParser reads a configuration word by word, as the simulators do.
type configParser struct {
	name *string
	c    *Config
	list diag.List
	all  []confWord
	next int // word

	at    diag.Pos // of the key
	key   string
	args  []string
	given map[string]diag.Pos // of keys
	idle  map[string]*idle
	order []string // of the causes in idle

	marking bool
	pfcOff  bool
	kmin    map[vtime.Rate]vtime.Size
	kmax    map[vtime.Rate]vtime.Size
	pmax    map[vtime.Rate]float64
	// conweave is set for a configuration of ConWeave's simulator, which has
	// another buffer management, and whose receivers treat an out-of-order packet
	// as marked.
	conweave   bool
	hasWin     bool
	varWin     bool
	fast       bool
	multiRate  bool
	sampled    bool
	backToZero bool
	ackBytes   int64
	intMulti   int64
	down       *LinkDown
	downAfter  vtime.Time
	flowsFrom  vtime.Time // FLOWGEN_START_TIME
}

type confWord struct {
	text string
	at   diag.Pos
	last bool // of its line
}

// idle has the keys that have no effect for one cause.
type idle struct {
	at   diag.Pos
	keys []string
}

// nothing notes that the present key has no effect, with the cause. There is one
// warning for all keys with a cause.
func (p *configParser) nothing(why string) { p.nothingAt(p.at, p.key, why) }

func (p *configParser) nothingAt(at diag.Pos, key, why string) {
	if p.idle[why] == nil {
		p.idle[why] = &idle{at: at}
		p.order = append(p.order, why)
	}
	if i := p.idle[why]; !slices.Contains(i.keys, key) {
		i.keys = append(i.keys, key)
	}
}

// words divides the text. A comment begins with # or {, as in the simulator's own
// example, and ends with the line; the simulators would read a key in it.
func (p *configParser) words(text string) {
	line := int32(0)
	for l := range strings.Lines(text) {
		line++
		first := len(p.all)
		comment := false
		for col, w := range fields(l) {
			at := diag.MakePos(p.name, line, int32(col)+1)
			if i := strings.IndexAny(w, "{#"); i >= 0 && !comment {
				if i > 0 {
					p.all = append(p.all, confWord{text: w[:i], at: at})
				}
				comment = true
			}
			if !comment {
				p.all = append(p.all, confWord{text: w, at: at})
			} else if _, ok := settings[w]; ok {
				p.nothingAt(at, w, inComment)
			}
		}
		if n := len(p.all); n > first {
			p.all[n-1].last = true
		}
	}
}

// fields yields the words of a line with their offsets.
func fields(l string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		rest := 0
		for w := range strings.FieldsSeq(l) {
			i := rest + strings.Index(l[rest:], w)
			if rest = i + len(w); !yield(i, w) {
				return
			}
		}
	}
}

// Causes of idle keys.
const (
	inComment    = "of a comment is read by the simulators, which have no comments, and not here; delete the line"
	unusedThere  = "no effect, in the simulator neither"
	noTraces     = "no effect: traces of packets in the simulator's binary format are not written; --trace and --record write others"
	noCNPs       = "no effect: counts of congestion notifications over time are not written"
	noVOQs       = "no effect: counts of reordering queues are not written"
	ofTheOther   = "no effect in the simulator that the other keys are for; it has one here"
	hpccVariants = "no effect: HPCC looks here at each acknowledgement with the finest telemetry, and has one rate for all hops"
)

func (p *configParser) parse() {
	for p.next < len(p.all) {
		w := p.all[p.next]
		p.next++
		p.at, p.key = w.at, w.text
		k, ok := settings[w.text]
		if !ok {
			p.unknown(w)
			continue
		}
		p.given[w.text] = w.at
		p.take(k.values)
		k.set(p)
	}
}

// take moves a number of words into args; less than 0 is a map, whose first word says
// how many pairs it has.
func (p *configParser) take(n int) {
	if n < 0 {
		n = 1
		if p.next < len(p.all) {
			if pairs, err := strconv.Atoi(p.all[p.next].text); err == nil {
				n += 2 * min(max(pairs, 0), 64)
			}
		}
	}
	p.args = nil
	for range n {
		if p.next == len(p.all) {
			return
		}
		p.args = append(p.args, p.all[p.next].text)
		p.next++
	}
}

// unknown warns of a word that should be a key, and passes what stands behind it on
// its line up to the next key.
func (p *configParser) unknown(w confWord) {
	if p.next > 1 && !p.all[p.next-2].last {
		p.list.Warnf(p.at, code, "%s is left over: the key before it has fewer values", p.key)
	} else {
		p.list.Warnf(p.at, code, "%s is unknown and has no effect%s", p.key, diag.DidYouMean(p.key, known))
	}
	for !w.last && p.next < len(p.all) {
		if _, ok := settings[p.all[p.next].text]; ok {
			return
		}
		w = p.all[p.next]
		p.next++
	}
}

func (p *configParser) errorf(format string, args ...any) {
	p.list.Errorf(p.at, code, "%s: %s", p.key, fmt.Sprintf(format, args...))
}

func (p *configParser) warnf(format string, args ...any) {
	p.list.Warnf(p.at, code, "%s", fmt.Sprintf(format, args...))
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

// timer returns the first value, in microseconds. The simulators cut off the
// fraction, and stand still with a timer of zero.
func (p *configParser) timer() vtime.Time {
	return vtime.Time(p.float(0, 1, 1e9)) * vtime.Microsecond
}

// setting is a key.
type setting struct {
	values int // number of words behind it; mapped: a map
	set    func(p *configParser)
}

// mapped is the number of values of a map.
const mapped = -1

// one is a key with one value.
func one(set func(p *configParser)) setting { return setting{1, set} }

// unused is a key that the simulator does not use.
var unused = one(func(p *configParser) { p.nothing(unusedThere) })

// settings are the keys.
var settings map[string]setting

// known are the names of settings.
var known []string

// ofConWeave are keys that only ConWeave's simulator has, and ofHPCC those that only
// HPCC's has. A configuration is ConWeave's if it has one of the first three.
var (
	ofConWeave = []string{"LB_MODE", "FLOWGEN_STOP_TIME", "FLOWGEN_START_TIME", "ENABLE_PFC", "ENABLE_IRN", "RANDOM_SEED"}
	ofHPCC     = []string{"SIMULATOR_STOP_TIME", "ACK_HIGH_PRIO", "PINT_LOG_BASE", "PINT_PROB"}
)

func init() {
	settings = map[string]setting{
		"TOPOLOGY_FILE":     one(func(p *configParser) { p.c.TopologyFile = p.arg(0) }),
		"FLOW_FILE":         one(func(p *configParser) { p.c.FlowFile = p.arg(0) }),
		"FCT_OUTPUT_FILE":   one(func(p *configParser) { p.output(FCTFile) }),
		"PFC_OUTPUT_FILE":   one(func(p *configParser) { p.output(PFCFile) }),
		"QLEN_MON_FILE":     one(func(p *configParser) { p.output(QlenFile) }),
		"UPLINK_MON_FILE":   one(func(p *configParser) { p.output(UplinkFile) }),
		"CONN_MON_FILE":     one(func(p *configParser) { p.output(ConnFile) }),
		"QLEN_MON_START":    one(func(p *configParser) { p.c.Monitor.From = p.nanoseconds() }),
		"QLEN_MON_END":      one(func(p *configParser) { p.c.Monitor.Until = p.nanoseconds() }),
		"TRACE_FILE":        one(func(p *configParser) { p.nothing(noTraces) }),
		"TRACE_OUTPUT_FILE": one(func(p *configParser) { p.nothing(noTraces) }),
		"ENABLE_TRACE": one(func(p *configParser) {
			if p.bool() {
				p.nothing(noTraces)
			}
		}),
		"CNP_OUTPUT_FILE":        one(func(p *configParser) { p.nothing(noCNPs) }),
		"VOQ_MON_FILE":           one(func(p *configParser) { p.nothing(noVOQs) }),
		"VOQ_MON_DETAIL_FILE":    one(func(p *configParser) { p.nothing(noVOQs) }),
		"EST_ERROR_MON_FILE":     unused,
		"FLOW_INPUT_FILE":        unused,
		"LOAD":                   unused,
		"DATA_RATE":              unused,
		"LINK_DELAY":             unused,
		"SW_MONITORING_INTERVAL": one(func(p *configParser) { p.c.Monitor.Every = vtime.Time(p.int(0, 1, 1e12)) * vtime.Nanosecond }),

		"SIMULATOR_STOP_TIME": one(func(p *configParser) { p.c.Stop = seconds(p.float(0, 1e-9, 1e6)) }),
		// ConWeave's simulator runs until all flows have ended, at most ten
		// seconds after this time.
		"FLOWGEN_STOP_TIME": one(func(p *configParser) {
			p.conweave = true
			p.c.Monitor.Until = seconds(p.float(0, 0, 1e6)) + 50*vtime.Millisecond
		}),
		"FLOWGEN_START_TIME":  one(func(p *configParser) { p.conweave = true; p.flowsFrom = seconds(p.float(0, 0, 1e6)) }),
		"RANDOM_SEED":         one(func(p *configParser) { p.c.Seed = uint64(p.int(0, 0, math.MaxInt64)) }),
		"LINK_DOWN":           {3, (*configParser).linkDown},
		"ERROR_RATE_PER_LINK": one(func(p *configParser) { p.c.ErrorRate = p.float(0, 0, 1) }),

		"CC_MODE":             one(func(p *configParser) { p.c.Hosts.CC.Algorithm = p.mode(ccModes) }),
		"LB_MODE":             one(func(p *configParser) { p.conweave = true; p.c.Profile = p.mode(lbModes) }),
		"PACKET_PAYLOAD_SIZE": one(func(p *configParser) { p.c.Hosts.MTU = int(p.int(0, 64, roce.MaxMTU)) }),
		"L2_CHUNK_SIZE":       one(func(p *configParser) { p.int(0, 0, math.MaxUint32) }),
		"L2_ACK_INTERVAL": one(func(p *configParser) {
			if p.ackBytes = p.int(0, 0, math.MaxUint32); p.ackBytes == 0 {
				p.errorf("flows without acknowledgements never end")
			}
		}),
		"L2_BACK_TO_ZERO":        one(func(p *configParser) { p.backToZero = p.bool() }),
		"MIN_RATE":               one(func(p *configParser) { p.c.Hosts.CC.MinRate = p.rate() }),
		"HAS_WIN":                one(func(p *configParser) { p.hasWin = p.bool() }),
		"VAR_WIN":                one(func(p *configParser) { p.varWin = p.bool() }),
		"GLOBAL_T":               one(func(p *configParser) { p.c.Hosts.GlobalRTT = p.bool() }),
		"ENABLE_IRN":             one(func(p *configParser) { p.irn(p.bool()) }),
		"RATE_BOUND":             one(func(p *configParser) { p.only(p.bool(), "hosts always pace") }),
		"ACK_HIGH_PRIO":          one(func(p *configParser) { p.c.Hosts.AcksUnpaused = p.bool() }),
		"ALPHA_RESUME_INTERVAL":  one(func(p *configParser) { p.c.Hosts.CC.DCQCN.AlphaTimer = p.timer() }),
		"RATE_DECREASE_INTERVAL": one(func(p *configParser) { p.c.Hosts.CC.DCQCN.DecreaseTimer = p.timer() }),
		"CLAMP_TARGET_RATE":      one(func(p *configParser) { p.c.Hosts.CC.DCQCN.ClampTarget = p.bool() }),
		"RP_TIMER":               one(func(p *configParser) { p.c.Hosts.CC.DCQCN.RiseTimer = p.timer() }),
		"FAST_RECOVERY_TIMES": one(func(p *configParser) {
			n := p.int(0, 0, 1000)
			p.only(n > 0, "there is at least one raise towards the old rate")
			p.c.Hosts.CC.DCQCN.FastRecovery = int(max(n, 1))
		}),
		"EWMA_GAIN": one(func(p *configParser) {
			g := max(p.float(0, 0, 1), noGain)
			p.c.Hosts.CC.DCQCN.G, p.c.Hosts.CC.DCTCP.G = g, g
		}),
		"RATE_AI":         one(func(p *configParser) { p.increase(p.rate()) }),
		"RATE_HAI":        one(func(p *configParser) { r := p.rate(); p.c.Hosts.CC.DCQCN.HAI, p.c.Hosts.CC.TIMELY.HAI = r, r }),
		"DCTCP_RATE_AI":   one(func(p *configParser) { p.c.Hosts.CC.DCTCP.AI = p.rate() }),
		"U_TARGET":        one(func(p *configParser) { p.c.Hosts.CC.HPCC.Eta = p.float(0, 0.01, 1) }),
		"PINT_LOG_BASE":   one(func(p *configParser) { p.c.Hosts.CC.PINT.Step = p.float(0, 1.001, 2) - 1 }),
		"PINT_PROB":       one(func(p *configParser) { p.c.Hosts.CC.PINT.Share = p.float(0, 1e-6, 1) }),
		"MI_THRESH":       one((*configParser).stages),
		"FAST_REACT":      one(func(p *configParser) { p.fast = p.bool() }),
		"INT_MULTI":       one(func(p *configParser) { p.intMulti = p.int(0, 1, 1000) }),
		"MULTI_RATE":      one(func(p *configParser) { p.multiRate = p.bool() }),
		"SAMPLE_FEEDBACK": one(func(p *configParser) { p.sampled = p.bool() }),

		"CONWEAVE_TX_EXPIRY_TIME":           one(func(p *configParser) { p.span("idle") }),
		"CONWEAVE_REPLY_TIMEOUT_EXTRA":      one(func(p *configParser) { p.span("reply_extra") }),
		"CONWEAVE_PATH_PAUSE_TIME":          one(func(p *configParser) { p.span("pause") }),
		"CONWEAVE_EXTRA_VOQ_FLUSH_TIME":     one(func(p *configParser) { p.span("extra") }),
		"CONWEAVE_DEFAULT_VOQ_WAITING_TIME": one(func(p *configParser) { p.span("wait") }),

		"ENABLE_QCN":                one(func(p *configParser) { p.marking = p.bool() }),
		"ENABLE_PFC":                one(func(p *configParser) { p.pfcOff = !p.bool() }),
		"USE_DYNAMIC_PFC_THRESHOLD": one(func(p *configParser) { p.only(p.bool(), "the simulator's thresholds are dynamic in any case") }),
		"PAUSE_TIME": one(func(p *configParser) {
			if p.c.Switch.PFC.Pause = p.timer(); p.c.Switch.PFC.Pause > 1<<16*vtime.Microsecond {
				p.errorf("%q must be at most 65536", p.arg(0))
			}
		}),
		"BUFFER_SIZE": one(func(p *configParser) { p.c.Switch.Buffer = vtime.Size(p.int(0, 0, 1<<12-1)) * vtime.MiB }),
		"KMIN_MAP":    {mapped, func(p *configParser) { p.kmin = p.sizes() }},
		"KMAX_MAP":    {mapped, func(p *configParser) { p.kmax = p.sizes() }},
		"PMAX_MAP":    {mapped, func(p *configParser) { p.pmax = rates(p, func(i int) float64 { return p.float(i, 0, 1) }) }},
	}
	for k := range settings {
		known = append(known, k)
	}
	slices.Sort(known)
}

// output is a key with the name of a file to write.
func (p *configParser) output(kind int) {
	p.c.Outputs = slices.DeleteFunc(p.c.Outputs, func(o Output) bool { return o.Kind == kind })
	p.c.Outputs = append(p.c.Outputs, Output{Kind: kind, Key: p.key, File: p.arg(0), at: p.at})
}

func (p *configParser) nanoseconds() vtime.Time {
	return vtime.Time(p.int(0, 0, 1e15)) * vtime.Nanosecond
}

// only warns that a value has no effect, unless it is the only one supported.
func (p *configParser) only(is bool, why string) {
	if !is {
		p.warnf("%s %s has no effect: %s", p.key, p.arg(0), why)
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
	v := p.float(0, 0, manifest.MaxSpan/1000)
	p.c.Set["conweave."+name] = (vtime.Time(v) * vtime.Microsecond).String()
}

func (p *configParser) stages() {
	h := &p.c.Hosts.CC.HPCC
	if h.MaxStage = int(p.int(0, 0, 1000)); h.MaxStage == 0 {
		h.MaxStage = -1
	}
}

func (p *configParser) irn(on bool) {
	h := &p.c.Hosts
	d := roce.Papers.Defaults()
	h.Recovery, h.RTOLow, h.RTO = d.Recovery, d.RTOLow, 0
	if on {
		h.Recovery, h.RTOLow, h.RTO = roce.IRN, 100*vtime.Microsecond, 320*vtime.Microsecond
	}
}

func (p *configParser) increase(r vtime.Rate) {
	c := &p.c.Hosts.CC
	c.DCQCN.AI, c.TIMELY.AI, c.HPCC.AI = r, r, r
}

// linkDown reads the time, in microseconds, and the two nodes. A time of zero means
// that no link goes down.
func (p *configParser) linkDown() {
	at, a, b := p.float(0, 0, 1e12), p.int(1, 0, maxNodes), p.int(2, 0, maxNodes)
	if p.down = nil; at > 0 {
		p.down, p.downAfter = &LinkDown{A: int(a), B: int(b), at: p.at}, vtime.Time(at*float64(vtime.Microsecond))
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
