// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"

	"github.com/pauseless/pauseless/bmv2tests/model"
)

// A row says which register of the program is which symbol of the model, cell
// by cell. Both the first state of a program and the comparison after each
// step come from here.
type row struct {
	register string
	symbol   string
	// get gives the value that the register must have in a state, or reports
	// that it does not matter then.
	get func(s *Switch, i int) (value int64, matters bool)
	// set puts a random value into the model, the register follows. Rows that
	// are told by others have none.
	set  func(s *Switch, i int, v int64)
	draw func(g *drawer, i int) int64
	// lossless says that only cells of the lossless class are used.
	lossless bool
	// same compares instead of get, where the program may lag behind. cell
	// reads a register.
	same func(s *Switch, i int, now Time, cell func(register string, i int) int64) bool
}

// whole is a row whose cells are those of an array of the model.
func whole[T ~int64](register, symbol string, cell func(s *Switch, i int) *T, draw func(g *drawer, i int) int64) row {
	return row{
		register: register, symbol: symbol, draw: draw,
		get: func(s *Switch, i int) (int64, bool) { return int64(*cell(s, i)), true },
		set: func(s *Switch, i int, v int64) { *cell(s, i) = T(v) },
	}
}

// plusOne is a row of paths, where the register has zero for none.
func plusOne(register, symbol string, get func(s *Switch, i int) int, set func(s *Switch, i int, p int)) row {
	return row{
		register: register, symbol: symbol,
		get:  func(s *Switch, i int) (int64, bool) { return int64(get(s, i) + 1), true },
		set:  func(s *Switch, i int, v int64) { set(s, i, int(v)) },
		draw: func(g *drawer, _ int) int64 { return int64(g.r.IntN(g.f.PathCells+1) - 1) },
	}
}

func flag(register, symbol string, cell func(s *Switch, i int) *bool) row {
	return row{
		register: register, symbol: symbol,
		get:  func(s *Switch, i int) (int64, bool) { return bit(*cell(s, i)), true },
		set:  func(s *Switch, i int, v int64) { *cell(s, i) = v == 1 },
		draw: func(g *drawer, _ int) int64 { return int64(g.r.IntN(2)) },
	}
}

// told is a row that follows from others.
func told(register, symbol string, get func(s *Switch, i int) (int64, bool)) row {
	return row{register: register, symbol: symbol, get: get}
}

// The table. Statistics are part of what the schemes promise, and compared
// like the rest.
var rows = []row{
	// Queues.
	whole("ingress_qlen", "q of an ingress port", func(s *Switch, i int) *Bytes { return &s.qIn[i] }, (*drawer).queue),
	whole("egress_qlen", "T1: p.Q; queue of an egress port", func(s *Switch, i int) *Bytes { return &s.qOut[i] }, (*drawer).queue),
	whole("arrived_at", "last arrival", func(s *Switch, i int) *Time { return &s.arrivedAt[i] }, (*drawer).past),
	{register: "recirc_sent", symbol: "recirculation queue: bytes in",
		get:  func(s *Switch, _ int) (int64, bool) { return s.sent, true },
		set:  func(s *Switch, _ int, v int64) { s.sent, s.returned = v, v }, // empty, unless the next row says more
		draw: func(g *drawer, _ int) int64 { return g.r.Int64N(1 << 32) }},
	{register: "recirc_returned", symbol: "recirculation queue: bytes out",
		get: func(s *Switch, _ int) (int64, bool) { return s.returned, true },
		set: func(s *Switch, _ int, v int64) { s.returned = mod32(s.sent - v) },
		draw: func(g *drawer, i int) int64 {
			if g.reroutes() {
				return g.upTo(2000)
			}
			return g.queue(i)
		}},

	// Round-trip times.
	whole("path_rtt", "p.t_RTT", func(s *Switch, i int) *Time { return &s.rtt[i].Latest }, (*drawer).rtt),
	whole("path_rtt_avg", "average of p.t_RTT", func(s *Switch, i int) *Time { return &s.rtt[i].Average }, (*drawer).rtt),
	whole("path_rtt_time", "when p.t_RTT was measured", func(s *Switch, i int) *Time { return &s.rttAt[i] }, (*drawer).recent),
	whole("stamped_at", "last stamp on a path", func(s *Switch, i int) *Time { return &s.stampedAt[i] }, (*drawer).past),
	plusOne("echo_path", "path of the stamp to echo", func(s *Switch, i int) int { return s.echoPath[i] }, func(s *Switch, i, p int) { s.echoPath[i] = p }),
	whole("echo_age", "age of the stamp to echo", func(s *Switch, i int) *Time { return &s.echoAge[i] }, (*drawer).rtt),

	// Bases.
	{register: "drill_best", symbol: "DRILL's memory",
		get:  func(s *Switch, i int) (int64, bool) { return int64(s.drill[i].Best), true },
		set:  func(s *Switch, i int, v int64) { s.drill[i].Best = int(v) },
		draw: func(g *drawer, _ int) int64 { return int64(g.r.IntN(g.f.PathCells)) }},
	whole("flowcell_bytes", "Presto: bytecount", func(s *Switch, i int) *Bytes { return &s.flowcell[i].Bytes }, (*drawer).cellBytes),
	{register: "flowcell_path", symbol: "Presto: current path",
		get: func(s *Switch, i int) (int64, bool) {
			if c := s.flowcell[i]; c.Known {
				return int64(c.Path + 1), true
			}
			return 0, true
		},
		set:  func(s *Switch, i int, v int64) { s.flowcell[i].Known, s.flowcell[i].Path = v > 0, int(max(0, v-1)) },
		draw: func(g *drawer, _ int) int64 { return int64(g.r.IntN(g.minPaths() + 1)) }},
	whole("flowlet_time", "flowlet: last packet", func(s *Switch, i int) *Time { return &s.flowlet[i].Last }, (*drawer).past),
	plusOne("flowlet_path", "flowlet: path", func(s *Switch, i int) int {
		if f := s.flowlet[i]; f.Valid {
			return f.Path
		}
		return -1
	}, func(s *Switch, i, p int) { s.flowlet[i].Valid, s.flowlet[i].Path = p >= 0, max(p, 0) }),
	whole("link_load", "DRE: X", func(s *Switch, i int) *int64 { return &s.dre[i].X }, (*drawer).load),
	whole("link_time", "DRE: last decrement", func(s *Switch, i int) *Time { return &s.dre[i].Last }, (*drawer).past),
	whole("congestion_to", "Congestion-To-Leaf", func(s *Switch, i int) *int64 { return &s.toLeaf[i].Metric }, (*drawer).threeBits),
	whole("congestion_time", "Congestion-To-Leaf: age", func(s *Switch, i int) *Time { return &s.toLeaf[i].At }, (*drawer).past),
	whole("congestion_from", "Congestion-From-Leaf", func(s *Switch, i int) *int64 { return &s.fromLeaf[i] }, (*drawer).threeBits),
	{register: "feedback_path", symbol: "path fed back last",
		get:  func(s *Switch, i int) (int64, bool) { return int64(s.fedPath[i]), true },
		set:  func(s *Switch, i int, v int64) { s.fedPath[i] = int(v) },
		draw: func(g *drawer, i int) int64 { return g.pathTo(int64(i)) }},
	{register: "feedback_due", symbol: "metrics that changed",
		get: func(s *Switch, i int) (int64, bool) { return mask(s.changed[i*s.PathCells : (i+1)*s.PathCells]), true },
		set: func(s *Switch, i int, v int64) { unmask(s.changed[i*s.PathCells:(i+1)*s.PathCells], v) },
		draw: func(g *drawer, i int) int64 {
			paths := make([]bool, g.f.PathCells)
			for p := range g.paths(int64(i)) {
				paths[p] = g.r.IntN(4) == 0
			}
			return mask(paths)
		}},

	// RLB.
	whole("sampled_at", "start of Δt", func(s *Switch, i int) *Time { return &s.warner[i].T }, (*drawer).past),
	whole("sampled_qlen", "q at the start of Δt", func(s *Switch, i int) *Bytes { return &s.warner[i].Q }, (*drawer).queue),
	flag("warning_on", "upstream was warned", func(s *Switch, i int) *bool { return &s.warner[i].Warned }),
	{register: "warned_until", symbol: "p.h_PFC, with warned and warned_all",
		get: func(s *Switch, i int) (int64, bool) {
			until, on := s.warnings.Until[s.warnKey(i)]
			return until, on
		},
		same: func(*Switch, int, Time, func(string, int) int64) bool { return true }, // see warned
		set:  func(s *Switch, i int, v int64) { s.warnings.Until[s.warnKey(i)] = v },
		draw: func(g *drawer, _ int) int64 { return g.now + g.near(20_000, 0, g.pace) - pick[Time](g, 0, 0, 3_000) }},
	// The program forgets a warning that has run out when it next looks.
	{register: "warned", symbol: "p.h_PFC to one leaf",
		get: func(s *Switch, i int) (int64, bool) { return s.warnedMask(i) },
		same: func(s *Switch, i int, now Time, cell func(string, int) int64) bool {
			return s.sameWarnings("warned", i, i, now, cell)
		}},
	{register: "warned_all", symbol: "p.h_PFC to all leaves",
		get: func(s *Switch, _ int) (int64, bool) { return s.warnedMask(s.Leaves) },
		same: func(s *Switch, i int, now Time, cell func(string, int) int64) bool {
			return s.sameWarnings("warned_all", i, s.Leaves, now, cell)
		}},
	whole("warnings_sent", "statistics", func(s *Switch, i int) *int64 { return &s.warningsSent[i] }, (*drawer).count),
	whole("reroutes", "statistics", func(s *Switch, i int) *int64 { return &s.reroutes[i] }, (*drawer).count),
	whole("recirculations", "statistics", func(s *Switch, i int) *int64 { return &s.recirculations[i] }, (*drawer).count),
	whole("forwarded_warned", "statistics", func(s *Switch, i int) *int64 { return &s.ignored[i] }, (*drawer).count),

	// RLB, section IV.
	{register: "faulty", symbol: "faulty_port, as paths",
		get: func(s *Switch, _ int) (int64, bool) { return mask(s.faulty), true },
		set: func(s *Switch, _ int, v int64) { unmask(s.faulty, v) },
		draw: func(g *drawer, _ int) int64 {
			paths := make([]bool, g.f.PathCells)
			for p := range g.minPaths() {
				paths[p] = g.r.IntN(5) == 0
			}
			return mask(paths)
		}},
	whole("window_start", "t_rc[i]: start", func(s *Switch, _ int) *Time { return &s.window.Start }, (*drawer).past),
	whole("window_length", "t_rc[i]", func(s *Switch, _ int) *Time { return &s.window.Length }, (*drawer).rtt),
	whole("window_budget", "N_rc[i]", func(s *Switch, _ int) *int64 { return &s.window.Budget }, func(g *drawer, _ int) int64 { return g.r.Int64N(6) }),
	told("window_packets", "packets recirculated in t_rc[i]", func(s *Switch, _ int) (int64, bool) { return s.window.Packets, true }),
	{register: "port_passes", symbol: "recirculations of a port in t_rc[i]",
		get: func(s *Switch, i int) (int64, bool) { n := s.window.PerPort[i]; return n, n > 0 },
		set: func(s *Switch, i int, v int64) {
			for range v {
				s.window.Recirculated(i, 1)
			}
		},
		draw: func(g *drawer, i int) int64 {
			if i < g.cfg.Nets[0].First || i >= g.cfg.Nets[0].First+g.cfg.Nets[0].Paths {
				return 0
			}
			return g.r.Int64N(4)
		}},
	{register: "window_passes", symbol: "their counts",
		get:  func(s *Switch, _ int) (int64, bool) { return s.window.Passes, true },
		set:  func(s *Switch, _ int, v int64) { s.window.Passes = s.window.Packets * v / 4 },
		draw: func(g *drawer, _ int) int64 { return 4 + g.r.Int64N(40) }},
	told("port_window", "t_rc[i] of port_passes", func(s *Switch, i int) (int64, bool) { return s.window.Start, s.window.PerPort[i] > 0 }),
	told("top_passes", "highest recirculation count", func(s *Switch, _ int) (int64, bool) { return s.window.PerPort[s.window.Top()], true }),
	told("top_port", "port that has it", func(s *Switch, _ int) (int64, bool) { p := s.window.Top(); return int64(p), p > 0 }),
	{register: "suspect_port", symbol: "potential_port",
		get: func(s *Switch, _ int) (int64, bool) { return int64(s.detector.Potential), true },
		set: func(s *Switch, _ int, v int64) { s.detector.Potential = int(v) },
		draw: func(g *drawer, _ int) int64 {
			if n := g.cfg.Nets[0]; g.r.IntN(2) == 0 {
				return int64(n.First) + g.r.Int64N(int64(max(n.Paths, 1)))
			}
			return 0
		}},

	// CLB.
	whole("clb_growth", "T2: p.Q_Δt", func(s *Switch, i int) *Bytes { return &s.growth[i].QDt }, func(g *drawer, i int) int64 { before := g.queue(i); return g.queue(i) - before }),
	whole("clb_qlen", "Q at the start of Δt", func(s *Switch, i int) *Bytes { return &s.growth[i].Start }, (*drawer).queue),
	whole("clb_time", "start of Δt", func(s *Switch, i int) *Time { return &s.growthSince[i] }, (*drawer).past),
	whole("clb_coflow", "T3: coflow of a row", func(s *Switch, i int) *int64 { return &s.coflow[i] },
		func(g *drawer, i int) int64 { return int64(g.r.IntN(3)*g.f.Coflows + i) }),
	whole("clb_flows", "T3: p.T_r", func(s *Switch, i int) *int64 { return &s.flows[i] }, func(g *drawer, i int) int64 {
		if i%g.f.PathCells >= g.f.Paths {
			return 0
		}
		return g.r.Int64N(4)
	}),

	// PLB.
	whole("path_load", "p.u_link", func(s *Switch, i int) *int64 { return &s.util[i] }, func(g *drawer, _ int) int64 { return g.near(256, g.cfg.Full) }),
	{register: "path_rank", symbol: "p_active; Alg. 2's order of the paths",
		get:  func(s *Switch, i int) (int64, bool) { return s.rank(i), true },
		set:  func(s *Switch, i int, v int64) { s.active[i] = v != 0 },
		draw: func(g *drawer, _ int) int64 { return int64(g.r.IntN(4)) }},
	whole("echo_load", "u_link to echo", func(s *Switch, i int) *int64 { return &s.echoLoad[i] }, func(g *drawer, _ int) int64 { return g.r.Int64N(256) }),
	whole("flow_tolerable", "t_td of a flow", func(s *Switch, i int) *Time { return &s.tolerable[i] }, (*drawer).rtt),
	whole("sojourn", "t_avgST", func(s *Switch, i int) *Time { return &s.sojourn[i].Avg }, (*drawer).rtt),
	whole("told_at", "a leaf was told to leave a path", func(s *Switch, i int) *Time { return &s.told[i] }, (*drawer).past),
	whole("probed_at", "last probe", func(s *Switch, i int) *Time { return &s.probedAt[i] }, (*drawer).past),
	{register: "probe_path", symbol: "path probed last",
		get:  func(s *Switch, i int) (int64, bool) { return int64(s.probed[i]), true },
		set:  func(s *Switch, i int, v int64) { s.probed[i] = int(v) },
		draw: func(g *drawer, i int) int64 { return g.pathTo(int64(i)) }},

	// PFC.
	{register: "paused_until", symbol: "end of a pause; PCN: RESUME", lossless: true,
		get: func(s *Switch, i int) (int64, bool) { return s.pausedUntil[i].Until, true },
		set: func(s *Switch, i int, v int64) {
			s.pausedUntil[i].Until, s.resumes[i], s.mayPause[i] = v, v, true
		},
		draw: (*drawer).pauseEnd},
	// The program falls back on it to know that paused_until was ever set; it
	// may be one for longer than needed.
	{register: "pause_seen", symbol: "paused_until is worth a look", lossless: true,
		get:  func(s *Switch, i int) (int64, bool) { return bit(s.mayPause[i]), false },
		set:  func(s *Switch, i int, v int64) { s.mayPause[i] = s.mayPause[i] || v == 1 },
		draw: func(g *drawer, i int) int64 { return g.r.Int64N(2) }},
	{register: "pausing_since", symbol: "the peer was asked to pause",
		get: func(s *Switch, i int) (int64, bool) {
			if p := s.paused[i]; p.Paused {
				return p.Renewed, true
			}
			return 0, true
		},
		set:  func(s *Switch, i int, v int64) { s.paused[i].Paused, s.paused[i].Renewed = mod32(v) != 0, v },
		draw: (*drawer).past},

	// PB-FS.
	{register: "slot_number", symbol: "ring of slots",
		get: func(s *Switch, i int) (int64, bool) { n, _, ok := s.slotOf(i); return n, ok },
		set: func(s *Switch, i int, v int64) {
			s.slotIn[i], s.ring[i/16][v] = v, &model.PBFSSlot{}
		},
		draw: func(g *drawer, i int) int64 {
			now := g.cfg.slot(g.now)
			for n := now; n > now-16; n-- {
				if n&15 == int64(i&15) {
					if g.r.IntN(8) == 0 {
						return n - 16
					}
					return n
				}
			}
			panic("BUG: no slot")
		}},
	slotRow("slot_bytes", "I_T^i", func(s *model.PBFSSlot) *Bytes { return &s.I }, 6000),
	slotRow("slot_marked", "marked bytes of a slot", func(s *model.PBFSSlot) *Bytes { return &s.Marked }, 2000),
	slotRow("slot_qlen", "Q^i", func(s *model.PBFSSlot) *Bytes { return &s.Q }, 30_000),
	whole("postcards", "statistics", func(s *Switch, i int) *int64 { return &s.postcards[i] }, (*drawer).count),

	// QCN.
	whole("qcn_left", "cpEnqued", func(s *Switch, i int) *Bytes { return &s.qcn[i].Left }, func(g *drawer, _ int) int64 { return pick(g, 0, g.upTo(3_000), g.upTo(200_000)) }),
	whole("qcn_qlen", "cpQLenOld", func(s *Switch, i int) *Bytes { return &s.qcn[i].Old }, (*drawer).queue),

	whole("tx_bytes", "telemetry: txBytes", func(s *Switch, i int) *Bytes { return &s.txBytes[i] }, func(g *drawer, _ int) int64 { return g.r.Int64N(1 << 32) }),
}

func slotRow(register, symbol string, field func(*model.PBFSSlot) *Bytes, most int64) row {
	return row{
		register: register, symbol: symbol,
		get: func(s *Switch, i int) (int64, bool) {
			_, slot, ok := s.slotOf(i)
			if !ok {
				return 0, false
			}
			return *field(slot), true
		},
		set: func(s *Switch, i int, v int64) {
			if _, slot, ok := s.slotOf(i); ok {
				*field(slot) = v
			}
		},
		draw: func(g *drawer, _ int) int64 { return g.r.Int64N(most) },
	}
}

// slotOf finds what a cell of PB-FS's rings holds.
func (s *Switch) slotOf(i int) (int64, *model.PBFSSlot, bool) {
	n := s.slotIn[i]
	slot, ok := s.ring[i/16][n]
	return n, slot, ok
}

// warnKey is the path and scope of a cell of warned_until: a row for each
// leaf, and one for all.
func (s *Switch) warnKey(i int) model.WarnKey {
	scope := i / s.PathCells
	if scope == s.Leaves {
		scope = model.ScopeAll
	}
	return model.WarnKey{Port: i % s.PathCells, Scope: scope}
}

// warnedMask are the paths that were warned of, in a row of warned_until.
func (s *Switch) warnedMask(row int) (int64, bool) {
	paths := make([]bool, s.PathCells)
	for p := range paths {
		_, paths[p] = s.warnings.Until[s.warnKey(row*s.PathCells+p)]
	}
	return mask(paths), true
}

// sameWarnings compares a mask of the program, row of warned_until, with the
// model's warnings.
func (s *Switch) sameWarnings(register string, i, row int, now Time, cell func(string, int) int64) bool {
	paths := make([]bool, s.PathCells)
	unmask(paths, cell(register, i))
	for p, on := range paths {
		k := row*s.PathCells + p
		until, warned := s.warnings.Until[s.warnKey(k)]
		if on = on && int32(cell("warned_until", k)-now) > 0; on != (warned && now < until) || on && mod32(until) != cell("warned_until", k) {
			return false
		}
	}
	return true
}

// rank is Algorithm 2's order in one number: class, then what decides in it.
func (s *Switch) rank(i int) int64 {
	p := model.PLBPath{RTT: s.rtt[i].Latest, Util: s.util[i], Active: s.active[i]}
	switch state := p.State(s.cfg.RTTLow, s.cfg.Full); {
	case !p.Active:
		return 3 << 30
	case state == model.NonCongested:
		return p.RTT
	case state == model.Undetermined:
		return 1<<30 | (255 - p.Util)
	default:
		return 2<<30 | p.RTT
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// mask has a bit for each path, the first one at the left.
func mask(paths []bool) int64 {
	m := int64(0)
	for p, on := range paths {
		if on {
			m |= 1 << (len(paths) - 1 - p)
		}
	}
	return m
}

func unmask(paths []bool, m int64) {
	for p := range paths {
		paths[p] = m>>(len(paths)-1-p)&1 == 1
	}
}

// rowOf finds a register's row. Registers inside controls have their names
// after the controls'.
func rowOf(register string) (*row, error) {
	for i := range rows {
		r := &rows[i]
		if register == r.register || len(register) > len(r.register) && register[len(register)-len(r.register)-1:] == "."+r.register {
			return r, nil
		}
	}
	return nil, fmt.Errorf("register %s has no row in the mapping", register)
}
