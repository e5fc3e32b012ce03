// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/pauseless/pauseless/bmv2tests/model"
	"github.com/pauseless/pauseless/internal/packet"
)

// drawer draws cases. Values are drawn near the places where decisions change:
// thresholds, ends of intervals, equal queues.
type drawer struct {
	f   *Features
	r   *rand.Rand
	cfg *Config
	now Time
	// scale is the size of queues in this case, pace that of intervals.
	scale Bytes
	pace  Time
	// theme is what the case is about; most packets come by port hot and are
	// for leaf hotLeaf.
	theme   theme
	hot     int
	hotLeaf int64
}

// A theme makes some states and packets more likely.
type theme int

const (
	anything theme = iota
	rerouting
	recirculating // the same, where it pays to wait
	predicting
	pausing
)

// reroutes says that warnings move packets.
func (g *drawer) reroutes() bool { return g.theme == rerouting || g.theme == recirculating }

// lengths are those of most frames, so that queues meet thresholds exactly.
var lengths = []int64{64, 128, 1064}

// Generate returns case number n of a series.
func Generate(f *Features, series, n uint64) *Case {
	g := &drawer{f: f, r: rand.New(rand.NewPCG(series, n))}
	g.scale = pick[int64](g, 3_000, 20_000, 100_000, 400_000)
	g.pace = pick[Time](g, 20, 300, 2_000, 10_000)
	g.now = 1<<32 + g.r.Int64N(1<<35)
	if g.r.IntN(4) == 0 { // the clock of 32 bits is about to wrap
		g.now = g.now&^(1<<32-1) + 1<<32 - g.r.Int64N(20_000)
	}
	g.theme = pick(g, anything, rerouting, predicting, pausing)
	if f.RLB {
		g.theme = pick(g, anything, rerouting, recirculating, predicting, pausing)
	}
	g.config()
	g.hot = 1 + g.r.IntN(f.Ports-1)
	g.hotLeaf = int64(g.r.IntN(f.Leaves))
	c := &Case{Seed: g.r.Uint64(), Now: g.now, Config: g.cfg}
	c.Cells = g.cells()
	if g.theme == predicting && f.QIn {
		cells, first := g.threshold()
		c.Cells, c.Events = append(c.Cells, cells...), append(c.Events, first)
	}
	for range 2 + g.r.IntN(9) {
		c.Events = append(c.Events, g.event())
	}
	return c
}

func pick[T any](g *drawer, list ...T) T { return list[g.r.IntN(len(list))] }

// upTo is a number from 0 to n.
func (g *drawer) upTo(n int64) int64 { return g.r.Int64N(n + 1) }

// near is a number from 0 to most, often next to one of the points.
func (g *drawer) near(most int64, points ...int64) int64 {
	if len(points) == 0 || g.r.IntN(3) == 0 {
		return g.r.Int64N(most)
	}
	return max(0, points[g.r.IntN(len(points))]+g.r.Int64N(5)-2)
}

// Values of registers.

func (g *drawer) queue(i int) int64 {
	kind := g.r.IntN(5)
	if g.reroutes() && g.r.IntN(2) == 0 {
		kind = 0 // equal ones
	}
	switch kind {
	case 0:
		return 1000 * g.upTo(1)
	case 1:
		return g.upTo(3000)
	case 2:
		return g.upTo(2 * g.scale)
	}
	points := []int64{g.cfg.CLBThreshold, g.cfg.QCN.Qeq, g.scale, g.scale / 2}
	if p, ok := g.cfg.Predict[i]; ok {
		points = append(points, p.Qth, p.DC, p.QPFC, p.Qth/2)
	}
	if w, ok := g.cfg.Watch[i]; ok {
		points = append(points, w.Calm, w.Calm)
	}
	if p, ok := g.cfg.PFCThreshold[i]; ok {
		points = append(points, p.XOFF, p.XON)
	}
	// A packet short of it, or a packet more.
	v := points[g.r.IntN(len(points))] + g.r.Int64N(3000) - 1500
	if g.r.IntN(2) == 0 {
		v = points[g.r.IntN(len(points))] + pick[int64](g, 0, -1, 1)*pick(g, lengths...) + g.r.Int64N(3) - 1
	}
	return max(0, v)
}

// recent is a time of not long ago.
func (g *drawer) recent(i int) int64 {
	if g.reroutes() && g.r.IntN(4) != 0 {
		return g.now - g.near(g.pace, g.cfg.Fresh)
	}
	return g.past(i)
}

func (g *drawer) past(int) int64 {
	switch g.r.IntN(4) {
	case 0:
		if g.r.IntN(4) == 0 {
			return g.now - forgetTime(g.f) + g.r.Int64N(5) - 2
		}
		return g.now - g.upTo(1<<31-1<<26)
	case 1:
		return g.now - max(0, pick(g, g.pace, g.pace, g.cfg.MetricAge, g.cfg.TellAgain)+g.r.Int64N(5)-2)
	}
	return g.now - g.upTo(3*g.pace)
}

func (g *drawer) rtt(int) int64 {
	switch {
	case g.r.IntN(8) == 0:
		return 0
	case g.theme == recirculating:
		return g.pace + pick(g, 0, 0, 2*g.cfg.PassTime, 8*g.pace) + g.r.Int64N(3)
	case g.theme == rerouting && g.r.IntN(4) != 0:
		// Paths that differ by nothing, about t_rc or much.
		return max(0, g.pace+pick(g, 0, 0, g.cfg.PassTime, 2*g.cfg.PassTime, 4*g.pace, 4*g.pace)+g.r.Int64N(3)-1)
	}
	return g.near(4*g.pace, g.pace, g.cfg.RTTLow, 2*g.pace)
}

func (g *drawer) cellBytes(int) int64 {
	return g.near(g.cfg.FlowcellBytes+1, g.cfg.FlowcellBytes-pick(g, lengths...), g.cfg.FlowcellBytes)
}
func (g *drawer) load(int) int64          { return g.near(70_000, 0xe000, 8192, 0xff00, 65536) }
func (g *drawer) threeBits(int) int64     { return g.r.Int64N(8) }
func (g *drawer) count(int) int64         { return g.r.Int64N(1 << 20) }
func (g *drawer) pathTo(leaf int64) int64 { return g.r.Int64N(int64(g.paths(leaf))) }

// pauseEnd is when a pause ends, or ended.
func (g *drawer) pauseEnd(int) int64 {
	if g.theme == pausing && g.r.IntN(4) != 0 {
		return g.now + g.upTo(6*g.pace)
	}
	return g.now + g.upTo(6*g.pace) - 3*g.pace
}

// paths is how many there are to a leaf; minPaths are there to all.
func (g *drawer) paths(leaf int64) int {
	for _, n := range g.cfg.Nets {
		if n.Leaf == leaf {
			return max(n.Paths, 1)
		}
	}
	return 1
}

func (g *drawer) minPaths() int {
	least := g.f.PathCells
	for _, n := range g.cfg.Nets {
		least = min(least, max(n.Paths, 1))
	}
	return least
}

// cells draws a state: each symbol is left alone, has some cells or all.
func (g *drawer) cells() []Cell {
	f := g.f
	var list []Cell
	for k := range rows {
		r := &rows[k]
		size := g.sizeOf(r.register)
		if r.set == nil || size == 0 {
			continue
		}
		share := pick(g, 0, 1, 1, 3, 8, 8)
		if l := likely[r.register]; l != anything && (l == g.theme || l == rerouting && g.reroutes()) {
			share = pick(g, 3, 5, 8)
			switch r.register {
			case "warned_until":
				share = pick(g, 2, 2, 4) // some paths shall be free
			case "path_rtt", "path_rtt_time":
				share = pick(g, 8, 8, 8, 5)
			}
		}
		if size > 64 && share == 8 {
			share = 2
		}
		for i := range size {
			if r.lossless && f.Classes == 8 && i%8 != f.Lossless {
				continue // only that class is ever paused
			}
			if g.r.IntN(8) < share {
				if v := r.draw(g, i); v != 0 {
					list = append(list, Cell{k, i, v})
				}
			}
		}
	}
	return list
}

// likely says which registers are rather set than not in cases of a theme.
var likely = map[string]theme{
	"path_rtt": rerouting, "path_rtt_time": rerouting, "warned_until": rerouting, "egress_qlen": rerouting,
	"ingress_qlen": predicting, "sampled_at": predicting, "sampled_qlen": predicting, "warning_on": predicting,
	"paused_until": pausing, "pausing_since": pausing, "sojourn": pausing, "flow_tolerable": pausing, "slot_number": pausing, "slot_bytes": pausing,
}

// threshold draws an ingress queue that meets one of its thresholds, or misses
// it by a byte, with the packet of the first event.
func (g *drawer) threshold() (list []Cell, first Event) {
	i := g.f.cell(g.hot, g.f.Lossless)
	length := pick(g, lengths...)
	before := g.upTo(2 * g.scale)
	q := before + length
	near := func(v Bytes) Bytes { return max(0, v+g.r.Int64N(3)-1) }
	p := Predict{DC: 1 << 30, Qth: 1 << 30, QPFC: q + g.upTo(g.scale), Horizon: g.pace}
	state := map[string]int64{"ingress_qlen": before, "sampled_at": g.now - g.pace, "arrived_at": g.now - 1}
	xoff, xon, calm := int64(1<<30), int64(0), int64(0)
	switch g.r.IntN(7) {
	case 0: // Q_PFC is reached at the horizon
		p.DC, state["sampled_qlen"] = g.upTo(1000), near(2*q-p.QPFC)
	case 1:
		p.Qth = near(q)
	case 2:
		p.DC, p.Horizon = near(q), 1<<30
	case 3: // it grows, or does not
		p.DC, p.QPFC, state["sampled_qlen"] = 0, near(q), near(q)
	case 4:
		xoff, state["pausing_since"] = near(q), pick(g, 0, g.now-g.pace)
	case 5:
		xon, state["pausing_since"] = near(before), g.now-g.pace
	case 6:
		calm, state["warning_on"] = near(before), 1
	}
	g.cfg.Watch[i] = Watch{Dt: pick(g, g.pace, g.pace, g.pace+1), Calm: calm}
	g.cfg.Predict[i] = p
	g.cfg.PFCThreshold[i] = PFCThreshold{XOFF: xoff, XON: xon, Again: pick(g, g.pace, g.pace+1)}
	for k := range rows {
		if v, ok := state[rows[k].register]; ok && v != 0 && g.sizeOf(rows[k].register) > 0 {
			list = append(list, Cell{k, i, v})
		}
	}
	f := &frame{dst: 2, src: 1, kind: typeIPv4}
	g.ip(f, g.hotLeaf)
	f.ip.b[0], f.ip.b[1] = 0x45, 26<<2|f.ip.b[1]&3
	f.ip.update(nil)
	f.rest = f.rest[len(f.rest)-20:]
	first = Event{Port: g.hot, Data: g.f.bytes(f)}
	first.Data = append(first.Data, make([]byte, max(0, 64-len(first.Data)))...)
	first.Elided = int(length) - len(first.Data)
	return list, first
}

// sizeOf is how many cells a register has in this program, 0 if it is not
// there.
func (g *drawer) sizeOf(register string) int {
	f := g.f
	cells, paths, ports := f.Ports*f.Classes, f.Leaves*f.PathCells, f.Ports
	for _, x := range []struct {
		when bool
		size int
		of   []string
	}{
		{f.QIn, cells, []string{"ingress_qlen"}},
		{f.QOut, cells, []string{"egress_qlen"}},
		{f.Emulated && !f.RLB, cells, []string{"arrived_at"}},
		{f.Recirculates, 1, []string{"recirc_sent", "recirc_returned"}},
		{f.RTT, paths, []string{"path_rtt", "path_rtt_avg", "stamped_at"}},
		{f.RLB, paths, []string{"path_rtt_time"}},
		{f.RTT, f.Leaves, []string{"echo_path", "echo_age"}},
		{f.Base == "drill", f.Leaves, []string{"drill_best"}},
		{f.Base == "presto", f.Flows, []string{"flowcell_bytes", "flowcell_path"}},
		{f.Flowlets, f.Flows, []string{"flowlet_time", "flowlet_path"}},
		{f.DRE, ports, []string{"link_load", "link_time"}},
		{f.CONGA, paths, []string{"congestion_to", "congestion_time", "congestion_from"}},
		{f.CONGA, f.Leaves, []string{"feedback_path", "feedback_due"}},
		{f.RLB, cells, []string{"sampled_at", "sampled_qlen", "warning_on"}},
		{f.RLB, paths + f.PathCells, []string{"warned_until"}},
		{f.RLB, ports, []string{"warnings_sent", "reroutes", "recirculations", "forwarded_warned"}},
		{f.Adaptive, 1, []string{"faulty", "window_start", "window_length", "window_budget", "window_passes", "suspect_port"}},
		{f.Adaptive, ports, []string{"port_passes"}},
		{f.CLB, cells, []string{"clb_growth", "clb_qlen", "clb_time"}},
		{f.CLB, f.Coflows, []string{"clb_coflow"}},
		{f.CLB, f.Coflows * f.PathCells, []string{"clb_flows"}},
		{f.PLB, paths, []string{"path_load", "path_rank"}},
		{f.PLB, f.Leaves, []string{"echo_load", "probed_at", "probe_path"}},
		{f.PLB, f.Flows, []string{"flow_tolerable"}},
		{f.PLB, cells, []string{"sojourn"}},
		{f.PLB, 1024, []string{"told_at"}},
		{f.PFC, cells, []string{"paused_until", "pause_seen"}},
		{f.Emulated, cells, []string{"pausing_since"}},
		{f.PBFS, 16 * ports, []string{"slot_number", "slot_bytes", "slot_marked", "slot_qlen"}},
		{f.PBFS, ports, []string{"postcards"}},
		{f.INT, ports, []string{"tx_bytes"}},
		{f.QCN, cells, []string{"qcn_left", "qcn_qlen"}},
	} {
		for _, name := range x.of {
			if name == register && x.when {
				return x.size
			}
		}
	}
	return 0
}

// config draws a switch: a leaf with hosts and uplinks, a switch in between
// that has a choice too, or a spine.
func (g *drawer) config() {
	f, r := g.f, g.r
	c := &Config{
		Leaf: -1, Neighbours: map[int]Neighbour{}, Groups: map[int][]int{}, Forward: map[int]bool{},
		Watch: map[int]Watch{}, Predict: map[int]Predict{}, CNMOut: map[int]CNMOut{},
		LinkWeight: map[int]int64{}, PauseByteTime: map[int]int64{}, Quantum: map[int]int64{}, PFCThreshold: map[int]PFCThreshold{},
		Capacity: map[int]Capacity{}, RED: map[int]REDParams{}, Telemetry: map[int]TelemetryParams{},
	}
	g.cfg = c
	first := 3 + r.IntN(2)
	paths := min(2+r.IntN(f.Paths-1), f.Ports-first)
	role := r.IntN(8)
	shift := uint(0)
	if role >= 6 {
		shift = 16
	} else {
		c.Leaf = int64(r.IntN(f.Leaves))
		c.Hosts = []HostRoute{{address(c.Leaf, 1), 1}, {address(c.Leaf, 2), 2}}
	}
	for l := range int64(f.Leaves) {
		switch {
		case l == c.Leaf:
		case role == 7: // a spine
			c.Nets = append(c.Nets, NetRoute{Addr: address(l, 0), Leaf: l, First: 1 + int(l)%(f.Ports-2)})
		case role == 6 && l < 2: // below a switch in between
			c.Nets = append(c.Nets, NetRoute{Addr: address(l, 0), Leaf: l, First: 1 + int(l)})
		default:
			n := paths
			if r.IntN(8) == 0 {
				n = 1 + r.IntN(paths)
			}
			c.Nets = append(c.Nets, NetRoute{Addr: address(l, 0), Leaf: l, First: first, Paths: n, Shift: shift})
		}
	}
	if role == 6 { // the row of uplinks first
		c.Nets[0], c.Nets[len(c.Nets)-1] = c.Nets[len(c.Nets)-1], c.Nets[0]
	}
	for p := 1; p < f.Ports; p++ {
		c.Forward[p] = r.IntN(40) != 0
		up := p >= first
		if !up && c.Leaf >= 0 || r.IntN(30) == 0 {
			continue // a host, or something unknown
		}
		n := Neighbour{Path: r.IntN(f.PathCells)}
		if up && p-first < f.PathCells {
			n.Path = p - first
		}
		if c.Leaf < 0 && r.IntN(8) != 0 {
			n.Group = p
			for q := 1; q < f.Ports; q++ {
				if q != p && r.IntN(3) == 0 {
					c.Groups[p] = append(c.Groups[p], q)
				}
			}
			if c.Groups[p] == nil {
				n.Group = 0
			}
		}
		c.Neighbours[p] = n
	}
	c.Forward[f.RecircPort] = true

	c.RTTInterval = pick(g, 1, g.pace, g.upTo(4*g.pace))
	c.FlowcellBytes = pick[int64](g, 64_000, 3_000, g.scale)
	c.FlowletGap = pick(g, 0, g.pace, g.pace, g.upTo(1_000_000))
	c.PassTime, c.ByteTime = 1+g.upTo(2*g.pace), pick(g, 82, 205, 8192, g.upTo(10_000))
	c.Fresh = pick(g, 2*g.pace, 1<<31, g.upTo(4*g.pace))
	c.Most = pick(g, 0, 1, 3, 64)
	if g.reroutes() {
		c.PassTime, c.ByteTime, c.Fresh = 1+g.upTo(g.pace/4), g.upTo(300), pick(g, 1<<31, 1<<31, 2*g.pace)
		c.Most = pick(g, 1, 3, 64, 64)
	}
	c.XOFF, c.MTU = g.upTo(2*g.scale), 64+g.upTo(1500)
	c.Inflow, c.NRC = pick(g, 71_680, g.upTo(100_000)), pick(g, 0, 256, 512, g.upTo(2048))
	if g.theme == recirculating {
		c.XOFF, c.Inflow = 4*g.scale+g.upTo(4*g.scale), g.upTo(2000)
	}
	c.CLBThreshold, c.CLBInterval, c.CLBTie = g.scale, pick(g, 0, g.pace, g.upTo(4*g.pace)), pick(g, 0, 1, 1000, 1100, g.upTo(g.scale))
	c.RTTLow, c.Full, c.ProbeInterval = g.upTo(4*g.pace), 1+g.upTo(254), g.upTo(4*g.pace)
	c.MaxHolds = pick(g, 0, 1, 1000)
	c.SlotBits = 32
	if f.Microseconds {
		c.SlotBits = 24
	}
	c.SlotsPerTick = min(1<<24-1, 1<<c.SlotBits/(1+g.upTo(10*g.pace)))
	c.MetricAge, c.TellAgain = g.upTo(4*g.pace), g.upTo(4*g.pace)
	c.PostcardID = g.upTo(65535)
	c.QCN = model.QCN{Qeq: 1 + g.upTo(min(g.scale, 100_000)), W: g.upTo(4), Base: 1 + pick(g, g.upTo(3_000), g.upTo(300_000))}
	c.REDDefault = g.red()
	for p := 1; p < f.Ports; p++ {
		if r.IntN(8) != 0 {
			c.LinkWeight[p] = pick(g, 6_554, g.upTo(1<<20))
			c.PauseByteTime[p] = pick(g, 205, 8192, g.upTo(10_000))
			c.Quantum[p] = pick(g, 13_107, 131_072, g.upTo(1<<20))
			c.Capacity[p] = Capacity{pick(g, 78_125, g.upTo(2*g.scale)), pick[int64](g, 25_000, 100_000)}
			c.RED[p] = g.red()
			c.Telemetry[p] = TelemetryParams{g.upTo(15), g.upTo(4095)}
		}
		if r.IntN(8) != 0 {
			c.CNMOut[p] = CNMOut{MAC: uint64(g.upTo(1 << 40)), Switch: g.upTo(65535), Scope: pick(g, c.Leaf&0xffff, model.ScopeAll), Hops: g.upTo(3), Hold: g.upTo(30_000)}
		}
		for k := range f.Classes {
			if i := f.cell(p, k); r.IntN(3) != 0 {
				c.Watch[i] = Watch{Dt: pick(g, 1, g.pace, 1+g.upTo(2*g.pace)), Calm: pick(g, 0, g.scale/2, g.upTo(2*g.scale))}
				if r.IntN(4) != 0 {
					c.Predict[i] = Predict{DC: g.upTo(g.scale), Qth: g.scale/2 + g.upTo(g.scale), QPFC: g.scale + g.upTo(g.scale), Horizon: pick(g, 0, 2*g.pace, g.upTo(20*g.pace))}
				}
				xoff := g.scale/2 + g.upTo(g.scale)
				c.PFCThreshold[i] = PFCThreshold{XOFF: xoff, XON: max(0, xoff-g.upTo(g.scale)), Again: g.upTo(4 * g.pace)}
			}
		}
	}
}

func (g *drawer) red() REDParams {
	kmin := g.upTo(100)
	kmax := kmin + g.upTo(200)
	ramp := int64(1<<32 - 1)
	if kmax > kmin {
		ramp = g.upTo(1<<32-1) / (kmax - kmin)
	}
	return REDParams{kmin, kmax, ramp}
}

// address is that of a host of a leaf.
func address(leaf, host int64) int64 { return 10<<24 | leaf<<8 | host }

// event draws what happens next.
func (g *drawer) event() Event {
	f := g.f
	e := Event{After: pick(g, 0, 1, g.upTo(50), g.upTo(2*g.pace), g.pace)}
	switch g.r.IntN(100) {
	case 0:
		e.After = 9_999_000 + g.upTo(2_000)
		if f.Microseconds {
			e.After = 999_000 + g.upTo(2_000)
		}
	case 1:
		e.After = g.upTo(30_000_000)
	}
	if g.f.PCN {
		// Within one tick it is not known whether a packet or RESUME was first.
		e.After++
	}
	if g.r.IntN(5) < 2 {
		red := g.cfg.REDDefault
		if x, ok := g.cfg.RED[g.hot]; ok && g.r.IntN(2) == 0 {
			red = x
		}
		e.Pick, e.Depth = g.r.IntN(16), pick(g, -1, 0, g.upTo(400), red.KMin+g.upTo(1), red.KMax+g.upTo(1), 65534+g.upTo(3))
		if g.f.PCN {
			e.Depth = -1
		}
		return e
	}
	g.arrival(&e)
	return e
}

// arrival draws a frame.
func (g *drawer) arrival(e *Event) {
	f, r := g.f, g.r
	e.Port = 1 + r.IntN(f.Ports-1)
	if r.IntN(3) != 0 {
		e.Port = g.hot
	}
	if r.IntN(50) == 0 {
		e.Port = 510 // the controller's
	}
	p := &frame{dst: uint64(g.upTo(1 << 47)), src: uint64(g.upTo(1 << 47)), kind: typeIPv4}
	leaf := int64(r.IntN(f.Leaves))
	if r.IntN(3) != 0 {
		leaf = g.hotLeaf
	}
	fromLeaf := f.Fabric && r.IntN(3) == 0
	if fromLeaf && g.cfg.Leaf >= 0 {
		leaf = g.cfg.Leaf // leaves get no packets for others
	}
	kind := r.IntN(100)
	switch {
	case kind < 8 && f.RLB:
		p.kind = typeLocal
		p.cnm = &cnm{g.upTo(7), pick[int64](g, 0, 1, 1), g.upTo(3), g.upTo(100), g.upTo(50), pick(g, model.ScopeAll, leaf, leaf, int64(f.Leaves)), pick(g, 0, g.upTo(10*g.pace))}
	case kind < 14 && f.PLB:
		p.kind = typeLocal
		if g.cfg.Leaf >= 0 {
			leaf = g.cfg.Leaf
		}
		p.kick = &kick{int64(r.IntN(f.PathCells)), int64(r.IntN(f.Leaves + 1)), address(leaf, 1+g.upTo(2))}
	case kind < 26 && f.PFC:
		p.kind = typePFC
		p.pfc = &pfc{opcode: pick[uint16](g, 0x0101, 0x0101, 0x0101, 0x0001), classes: pick(g, 1<<f.Lossless, byte(g.upTo(255)))}
		for i := range p.pfc.pause {
			p.pfc.pause[i] = pick(g, 0, g.upTo(1000), 65535)
		}
	case kind < 30:
		p.kind = typeARP
		p.arp = make([]byte, 28)
		be.PutUint32(p.arp[24:], uint32(address(leaf, 1+g.upTo(2))))
	case kind < 31:
		p.kind = pick[uint16](g, 0x86dd, typePFC, typeLocal, typeFabric)
		p.rest = []byte{byte(g.upTo(3))}
	default:
		g.ip(p, leaf)
	}
	if f.Tag && r.IntN(2) == 0 && (p.ip != nil || p.arp != nil) {
		p.tag = &tag{path: pick(g, 0xff, byte(r.IntN(f.PathCells+1))), upper: pick(g, 0xff, byte(r.IntN(f.PathCells+1))), reserved: byte(g.upTo(255)),
			coflow: pick(g, 0, int64(r.IntN(f.Coflows*3)), 7)}
	}
	if fromLeaf && (p.ip != nil || p.arp != nil) {
		p.fabric = g.fabric()
	}
	for range g.upTo(8) {
		p.rest = append(p.rest, byte(g.upTo(255)))
	}
	e.Data = f.bytes(p)
	for len(e.Data) < 60 {
		e.Data = append(e.Data, 0)
	}
	e.Elided = max(0, int(pick(g, lengths...))-len(e.Data))
	if r.IntN(8) == 0 {
		e.Elided = r.IntN(1400)
	}
}

// ip draws an IPv4 packet of one of a few flows.
func (g *drawer) ip(p *frame, leaf int64) {
	r := g.r
	b := make([]byte, 20)
	b[0] = 0x45
	dscp := pick(g, 26, 26, 26, 26, 26, 48, 56, 0, r.IntN(64))
	if g.f.PBFS && r.IntN(2) == 0 {
		dscp |= 1
	}
	b[1] = byte(dscp<<2) | byte(pick(g, 0, 1, 2, 2, 2, 3))
	be.PutUint16(b[2:], uint16(60+g.upTo(1000)))
	be.PutUint16(b[4:], uint16(g.upTo(65535)))
	b[8], b[9] = 64, pick[byte](g, 17, 17, 17, 17, 6, 1)
	be.PutUint32(b[12:], uint32(address(int64(r.IntN(g.f.Leaves)), 1+g.upTo(2))))
	be.PutUint32(b[16:], uint32(address(leaf, 1+g.upTo(2))))
	if r.IntN(30) == 0 {
		be.PutUint16(b[6:], uint16(g.upTo(3)))
	}
	p.ip = &ipv4{b}
	var options []byte
	if r.IntN(30) == 0 {
		b[0] = 0x46
		options = []byte{1, 1, 1, 0}
	}
	udp := binary.BigEndian.AppendUint16(nil, uint16(49152+g.upTo(3)))
	udp = be.AppendUint16(udp, pick[uint16](g, 4791, 4791, 4791, 54791, 54791, 80))
	udp = append(udp, 0, 100, 0, 0)
	p.rest = append(options, udp...)
	if be.Uint16(udp[2:]) == 54791 {
		hops := g.upTo(6)
		p.rest = be.AppendUint16(p.rest, uint16(hops<<12|g.upTo(4095)))
		for i := range int64(5) {
			record := uint64(0)
			if i < hops {
				record = r.Uint64()
			}
			p.rest = be.AppendUint64(p.rest, record)
		}
	}
	p.rest = append(p.rest, pick[byte](g, 0x04, 0x0a, 0x10, 0x11, 0x81, byte(g.upTo(255)))) // BTH
	for range 11 {
		p.rest = append(p.rest, byte(g.upTo(255)))
	}
	be.PutUint16(b[10:], packet.Checksum(append(clone(b), options...)))
}

// fabric draws a header that another leaf put on.
func (g *drawer) fabric() *fabric {
	f, r := g.f, g.r
	h := &fabric{srcLeaf: int64(r.IntN(f.Leaves)), path: int64(r.IntN(f.PathCells)), dstLeaf: int64(r.IntN(f.Leaves))}
	if r.IntN(40) == 0 {
		h.srcLeaf = int64(f.Leaves)
	}
	h.stamped, h.echoed = r.IntN(2) == 0, r.IntN(2) == 0
	h.stamp, h.echo = mod32(g.now-g.rtt(0)), mod32(g.now-g.rtt(0)-1)
	h.echoPath = int64(r.IntN(f.PathCells))
	h.congestion, h.fedPath, h.fedValue = g.upTo(7), int64(r.IntN(f.PathCells+1)), g.upTo(7)
	h.probe, h.load, h.echoLoad = pick[int64](g, 0, 0, 0, 1), g.near(256, g.cfg.Full), g.near(256, g.cfg.Full)
	h.tolerable = g.rtt(0)
	return h
}
