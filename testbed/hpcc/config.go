// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Config is the content of a configuration file in this project's types.
type Config struct {
	name string
	// Names of files in the configuration; empty if it has none.
	TopologyFile, FlowFile string
	// Outputs are the files that the configuration says to write.
	Outputs []Output
	Monitor Monitor // of queues, links and connections

	Stop     vtime.Time // end of the run, also if flows are unfinished; zero: none
	Seed     uint64
	Profile  string // for LB_MODE: "ecmp", "drill", …
	Hosts    roce.Config
	Switch   topo.SwitchConfig
	Marks    []Mark // by rate; ports of other rates mark nothing
	marking  bool
	LinkDown *LinkDown
	// Set are parameters of the profile's program, as text.
	Set map[string]string
	// ErrorRate is the probability of frame loss on links whose line in the
	// topology gives none.
	ErrorRate float64

	// Warnings are about keys that have no effect here, unknown keys, and keys that
	// are missing.
	Warnings diag.List
}

// Monitor is the time in which the simulator samples queues, or links and
// connections, and the interval.
type Monitor struct{ From, Until, Every vtime.Time }

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

// For adapts the configuration and the network to each other: marks and losses of
// its links. It returns warnings about what the configuration does not say for this
// network.
func (c *Config) For(t *topo.Topology) (warnings diag.List) {
	at := diag.FilePos(c.name)
	lacking := make(map[vtime.Rate]int)
	for i := range t.Links {
		l := &t.Links[i]
		if l.Loss == 0 {
			l.Loss = c.ErrorRate
		}
		if _, ok := c.MarkFor(l.Rate); !ok && (t.Nodes[l.A.Node].Kind == topo.Switch || t.Nodes[l.B.Node].Kind == topo.Switch) {
			lacking[l.Rate]++
		}
	}
	if c.marking && len(lacking) > 0 {
		var text []string
		for _, r := range slices.Sorted(maps.Keys(lacking)) {
			text = append(text, fmt.Sprintf("%v (%d links)", r, lacking[r]))
		}
		warnings.Warnf(at, code, "KMIN_MAP, KMAX_MAP and PMAX_MAP do not all have %s: nothing is marked there; the simulator stops, or without its assertions marks every packet that leaves others behind", strings.Join(text, ", "))
	}
	warnings = append(warnings, c.timeout(t)...)
	if c.Switch.Buffer == 0 {
		most := 0
		for _, id := range t.Switches() {
			most = max(most, len(t.Nodes[id].Ports))
		}
		c.Switch.Buffer = vtime.Size(most) * 375 * vtime.KB
		for _, id := range t.Switches() {
			if n := len(t.Nodes[id].Ports); n != most {
				warnings.Warnf(at, code, "BUFFER_SIZE 0 is 375 KB for each port of a switch; in pauseless all switches have the buffer of the largest, %v", c.Switch.Buffer)
				break
			}
		}
		t.Switch.Buffer = c.Switch.Buffer
	}
	return warnings
}

// timeout sets a retransmission timeout if frames can be lost: HPCC's hosts have none,
// and their flows stop for ever if a NACK or what it asks for is lost.
func (c *Config) timeout(t *topo.Topology) (warnings diag.List) {
	var causes []string
	if c.ErrorRate > 0 {
		causes = append(causes, "ERROR_RATE_PER_LINK")
	} else if slices.ContainsFunc(t.Links, func(l topo.Link) bool { return l.Loss > 0 }) {
		causes = append(causes, "error rates of links")
	}
	if c.LinkDown != nil {
		causes = append(causes, "LINK_DOWN")
	}
	e, err := fabric.NewEstimator(t, &c.Hosts)
	if c.Hosts.RTO > 0 || causes == nil || err != nil {
		return nil
	}
	c.Hosts.RTO = 4 * e.LongestRTT()
	warnings.Warnf(diag.FilePos(c.name), code, "with %s hosts have in pauseless a retransmission timeout of %v, four round trips; in the simulator they have none, and a flow never ends if a NACK or the packet that it asks for is lost", list(causes), c.Hosts.RTO)
	return warnings
}

// LinkDown is a link that goes down until the end of the run.
type LinkDown struct {
	At   vtime.Time
	A, B int // nodes
	at   diag.Pos
}

// Fault returns the fault for the fabric. It returns an error if the topology does
// not have such a link, and for a link of a host that has others: the simulator's host
// moves its flows to them.
func (l *LinkDown) Fault(t *topo.Topology) (fabric.Fault, error) {
	var list diag.List
	if max(l.A, l.B) >= len(t.Nodes) {
		list.Errorf(l.at, code, "LINK_DOWN: the topology has no node %d", max(l.A, l.B))
		return fabric.Fault{}, list
	}
	for i := range t.Nodes {
		if h := t.Nodes[i].Host; h != i && (h == l.A || h == l.B) {
			list.Errorf(l.at, code, "LINK_DOWN: host %d has several links, and flows do not move from one to another here; name a link between switches", h)
			return fabric.Fault{}, list
		}
	}
	f := fabric.Fault{From: l.At, Link: t.Nodes[l.A].Name + "-" + t.Nodes[l.B].Name, Down: true}
	switch links := fabric.Links(t, f.Link); len(links) {
	case 0:
		list.Errorf(l.at, code, "LINK_DOWN: the topology has no link between nodes %d and %d", l.A, l.B)
		return fabric.Fault{}, list
	case 1:
	default: // the last is in use
		e := t.Links[links[len(links)-1]].A
		f.Link = fmt.Sprintf("%s:%d", t.Nodes[e.Node].Name, e.Port)
	}
	return f, nil
}

// likeConWeave sets the differences of ConWeave's simulator from HPCC's that no key
// expresses.
func (p *configParser) likeConWeave() {
	c, h := p.c, &p.c.Hosts
	c.Switch.MMU, h.CNPOnReorder = "conweave", true
	h.AckClass, h.NAKInterval, h.AcksUnpaused = 7, 4*vtime.Microsecond, false
	if h.RTO == 0 {
		h.RTO = 4 * vtime.Millisecond
	}
	if !p.has("RP_TIMER") {
		h.CC.DCQCN.RiseTimer = 300 * vtime.Microsecond
	}
	if !p.has("FAST_RECOVERY_TIMES") {
		h.CC.DCQCN.FastRecovery = 1
	}
	if !p.has("BUFFER_SIZE") {
		c.Switch.Buffer = 0
	}
	if !p.has("FLOWGEN_START_TIME") {
		p.flowsFrom = seconds(2)
	}
	m := &c.Monitor
	if !p.has("FLOWGEN_STOP_TIME") {
		m.Until = seconds(2.55)
	}
	c.Stop = m.Until + 9950*vtime.Millisecond
	m.From, m.Every = p.flowsFrom, cmp.Or(m.Every, 10*vtime.Microsecond)
	for _, k := range slices.Concat(ofHPCC, []string{"QLEN_MON_FILE", "QLEN_MON_START", "QLEN_MON_END"}) {
		p.nothingIf(k, unusedThere)
	}
	p.drop(QlenFile)
	if c.Profile == "conweave" && h.CC.Algorithm != "dcqcn" {
		p.list.Warnf(p.given["LB_MODE"], code, "LB_MODE 9 with CC_MODE other than 1: ConWeave's simulator refuses it")
	}
}

// likeHPCC sets what HPCC's simulator has instead.
func (p *configParser) likeHPCC() {
	c := p.c
	if !p.has("SIMULATOR_STOP_TIME") {
		c.Stop = seconds(3.01)
	}
	p.flowsFrom = seconds(2)
	m := &c.Monitor
	if !p.has("QLEN_MON_START") {
		m.From = seconds(2)
	}
	if !p.has("QLEN_MON_END") {
		m.Until = seconds(2.1)
	}
	m.Every = 100 * vtime.Nanosecond
	p.nothingIf("SW_MONITORING_INTERVAL", unusedThere)
	for _, kind := range []int{UplinkFile, ConnFile} {
		for _, o := range c.Outputs {
			if o.Kind == kind {
				p.nothingIf(o.Key, unusedThere)
			}
		}
		p.drop(kind)
	}
	for _, k := range ofConWeave {
		p.nothingIf(k, ofTheOther)
	}
	p.nothingIf("PAUSE_TIME", unusedThere)
	c.Switch.PFC.Pause = 0 // pauses last until RESUME
	if c.Switch.Buffer == 0 {
		p.list.Errorf(p.given["BUFFER_SIZE"], code, "BUFFER_SIZE: \"0\" must be a whole number from 1 to 4095")
	}
}

func (p *configParser) has(key string) bool { return p.given[key].IsValid() }

// nothingIf notes that a key has no effect if it is given.
func (p *configParser) nothingIf(key, why string) {
	if p.has(key) {
		p.nothingAt(p.given[key], key, why)
	}
}

func (p *configParser) drop(kind int) {
	p.c.Outputs = slices.DeleteFunc(p.c.Outputs, func(o Output) bool { return o.Kind == kind })
}

// finish sets what depends on several keys.
func (p *configParser) finish() {
	c := p.c
	pause := c.Switch.PFC.Pause
	if p.conweave {
		p.likeConWeave()
	} else {
		p.likeHPCC()
		pause = 0
	}
	mmu, _ := topo.MMU(c.Switch.MMU)
	c.Switch.PFC, c.Switch.EgressAlpha = mmu.PFC, mmu.EgressAlpha
	// The simulators' headroom, from which their thresholds follow.
	c.Switch.PFC.Apart = topo.Apart{Delays: 3}
	if p.conweave {
		c.Switch.PFC.Apart = topo.Apart{Delays: 2, Bytes: mmu.PFC.Reserve}
		c.Switch.PFC.DropAlpha = 1 // its queues of lossless classes have a limit
	}
	c.Switch.PFC.Off, c.Switch.PFC.Pause = p.pfcOff, cmp.Or(pause, mmu.PFC.Pause)
	if c.Profile == "conweave" {
		// Packets that wait at a leaf lose hardly any time, as in the simulator, which
		// has a queue for each flow. These queues are in no buffer.
		c.Switch.Recirculation = topo.Recirculation{Rate: 12_800 * vtime.Gbps, Latency: 10 * vtime.Nanosecond, OwnBuffer: true}
	}
	p.control()
	p.window()
	p.acknowledgements()
	p.missing()
	p.marks()
	if p.down != nil {
		p.down.At = p.flowsFrom + p.downAfter
		c.LinkDown = p.down
		if slices.Contains([]string{"conga", "letflow", "conweave"}, c.Profile) {
			p.list.Warnf(p.given["LINK_DOWN"], code, "LINK_DOWN with LB_MODE 3, 6 or 9: ConWeave's simulator does not change the paths of these schemes, and flows on the link stop; in pauseless all routes change")
		}
	}
	for _, why := range p.order {
		i := p.idle[why]
		verb := "have"
		if len(i.keys) == 1 {
			verb = "has"
		}
		if why == inComment {
			verb = ""
		}
		p.list.Warnf(i.at, code, "%s %s", list(i.keys), strings.TrimSpace(verb+" "+why))
	}
}

// list returns words as text: "a, b and c".
func list(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return words[0]
}

// control sets congestion control.
func (p *configParser) control() {
	h := &p.c.Hosts
	if h.CC.Algorithm == "timely" {
		h.Overhead += 8 // its data packets carry a time stamp
	}
	if h.CC.Algorithm != "hpcc" {
		return
	}
	h.CC.HPCC.PerRound = !p.fast
	if p.multiRate {
		p.nothingAt(p.position("MULTI_RATE"), "MULTI_RATE 1", hpccVariants)
	}
	if p.sampled {
		p.nothingIf("SAMPLE_FEEDBACK", hpccVariants)
	}
	if p.intMulti > 1 {
		p.nothingIf("INT_MULTI", hpccVariants)
	}
}

// position returns that of a key, or of the file for one with its default.
func (p *configParser) position(key string) diag.Pos {
	if p.has(key) {
		return p.given[key]
	}
	return diag.FilePos(*p.name)
}

func (p *configParser) window() {
	h := &p.c.Hosts
	switch {
	case p.hasWin:
		h.Window, h.WindowFollowsRate, h.FixedWindow = 1, p.varWin, !p.varWin
	case h.CC.Algorithm == "hpcc":
		h.CC.HPCC.Unbounded = true
		p.list.Warnf(p.given["HAS_WIN"], code, "HAS_WIN 0 with HPCC: its simulator divides queues by the window, which is zero; as in the simulator, a queue makes rates fall to the minimum")
		fallthrough
	default:
		h.NoWindow = true
	}
}

// acknowledgements sets one for each packet. The simulator counts the interval in
// bytes and restarts with every packet, so that any interval up to a packet's size
// means this.
func (p *configParser) acknowledgements() {
	h := &p.c.Hosts
	h.AckEvery = 1
	const why = "no effect: each packet is acknowledged, and what is sent again begins with the lost packet"
	long := p.ackBytes > int64(h.MTU)
	if long {
		p.nothingIf("L2_ACK_INTERVAL", why)
	}
	if p.backToZero {
		p.nothingIf("L2_BACK_TO_ZERO", why)
	}
	if long || p.backToZero {
		p.nothingIf("L2_CHUNK_SIZE", why)
	} else {
		p.nothingIf("L2_CHUNK_SIZE", unusedThere)
	}
}

// missing warns of keys without which the simulator does not work.
func (p *configParser) missing() {
	keys := map[string][]string{
		"dcqcn": {"RATE_AI", "RATE_HAI"}, "hpcc": {"RATE_AI"}, "timely": {"RATE_AI", "RATE_HAI"}, "hpcc_pint": {"RATE_AI"},
	}[p.c.Hosts.CC.Algorithm]
	keys = append([]string{"L2_ACK_INTERVAL"}, keys...)
	if p.c.Hosts.CC.Algorithm == "dcqcn" && !p.conweave {
		keys = append(keys, "RP_TIMER")
	}
	file := diag.FilePos(*p.name)
	keys = slices.DeleteFunc(keys, p.has)
	if len(keys) > 0 {
		p.list.Warnf(file, code, "the simulator does not work without %s; in pauseless each packet is acknowledged, and rates and timers are those of its run.py", list(keys))
	}
	if cc := p.c.Hosts.CC.Algorithm; (cc == "dcqcn" || cc == "dctcp") && !p.has("EWMA_GAIN") {
		p.list.Warnf(file, code, "without EWMA_GAIN it is 0, as in the simulator: the share of marked packets stays at 1, and cuts halve the rate")
	}
}

// marks sets the marking thresholds.
func (p *configParser) marks() {
	c := p.c
	if c.marking = p.marking; !p.marking {
		return
	}
	for _, r := range slices.Sorted(maps.Keys(p.kmax)) {
		kmax := p.kmax[r]
		kmin, ok := p.kmin[r]
		pmax, ok2 := p.pmax[r]
		if !ok || !ok2 {
			continue // see For
		}
		if kmin > kmax {
			p.list.Warnf(p.given["KMIN_MAP"], code, "KMIN_MAP: %v at %v is above the %v of KMAX_MAP; above it every packet is marked", kmin, r, kmax)
			kmin = kmax
		}
		c.Marks = append(c.Marks, Mark{r, kmin, kmax, pmax})
	}
}
