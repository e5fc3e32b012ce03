// SPDX-License-Identifier: Apache-2.0

package judge

import "github.com/pauseless/pauseless/bmv2tests/model"

// Config is what the controller tells a switch: the same for the model, in
// the papers' symbols, and for the program, as table entries.
type Config struct {
	Leaf  int64 // number of this leaf, −1 for another switch
	Hosts []HostRoute
	Nets  []NetRoute
	// Neighbours are the ports to other switches; hosts hang on the others.
	Neighbours map[int]Neighbour
	Groups     map[int][]int // multicast groups
	Forward    map[int]bool  // ports that packets may leave by

	RTTInterval Time

	FlowcellBytes Bytes
	FlowletGap    Time
	MetricAge     Time // from which on CONGA's feedback is too old

	// RLB, by cell of a port and class, or by port.
	Watch    map[int]Watch
	Predict  map[int]Predict
	CNMOut   map[int]CNMOut
	PassTime Time
	Fresh    Time                    // until when an RTT is known
	Slow     [model.SlowClasses]Time // Tofino: RTTs beyond which a path is in a class
	ByteTime int64                   // of the recirculation port, in 1/1024
	Most     int                     // recirculations of one packet
	XOFF     Bytes                   // Eq. 5
	Inflow   int64                   // (n−1)·C, bytes per 1024 ticks
	MTU      Bytes
	NRC      int64 // Alg. 2, in 1/256

	CLBThreshold Bytes
	CLBInterval  Time
	CLBTie       Bytes

	LinkWeight    map[int]int64 // what a byte adds to the load, in 2^-16
	RTTLow        Time
	Full          int64
	ProbeInterval Time
	PauseByteTime map[int]int64 // in 1/1024
	TellAgain     Time          // a leaf is told of a path no more often

	Quantum      map[int]int64 // of a pause, in 1/1024
	PFCThreshold map[int]PFCThreshold
	MaxHolds     int

	SlotsPerTick int64 // in 2^-SlotBits
	SlotBits     uint
	Capacity     map[int]Capacity
	PostcardID   int64

	QCN model.QCN

	RED        map[int]REDParams
	REDDefault REDParams

	Telemetry map[int]TelemetryParams
}

// HostRoute leads to a host of this leaf.
type HostRoute struct {
	Addr int64
	Port int
}

// NetRoute leads to the hosts of another leaf: by the ports First to First +
// Paths − 1, or, where there is no choice, by First alone.
type NetRoute struct {
	Addr  int64 // of a /24
	Leaf  int64
	First int
	Paths int
	Shift uint // of the hash
}

// Neighbour is another switch.
type Neighbour struct {
	Path  int // that its port is
	Group int // who else shall hear what it warns of; 0 for nobody
}

// Watch has the ingress queue of a port and class looked at.
type Watch struct {
	Dt   Time
	Calm Bytes
}

// Predict has warnings sent.
type Predict struct {
	DC, Qth, QPFC Bytes
	Horizon       Time
}

// CNMOut is what warnings out of a port say.
type CNMOut struct {
	MAC                 uint64
	Switch, Scope, Hops int64
	Hold                Time
}

// PFCThreshold is emulated PFC at an ingress port and class.
type PFCThreshold struct {
	XOFF, XON Bytes
	Again     Time
}

// Capacity is PB-FS's T.
type Capacity struct {
	BDP  Bytes
	Mbps int64
}

// REDParams are RED's, in units of depth.
type REDParams struct{ KMin, KMax, Ramp int64 }

// TelemetryParams are a port's.
type TelemetryParams struct{ Rate, Switch int64 }

// slot is the number of PB-FS's time slot.
func (c *Config) slot(now Time) int64 {
	return model.Ratio{Num: c.SlotsPerTick, Den: 1 << c.SlotBits}.Times(now)
}

// install gives a program the entries for the configuration.
func (c *Config) install(f *Features, t *Target) {
	if c.Leaf >= 0 {
		args := []int64{c.Leaf}
		if f.RTT {
			args = append(args, c.RTTInterval)
		}
		t.setDefault("leaf_role", "be_leaf", args...)
	}
	toHost := "to_port"
	if f.Fabric || f.Tag {
		toHost = "to_host"
	}
	for _, h := range c.Hosts {
		t.insert("route", []int64{h.Addr}, 32, toHost, int64(h.Port))
	}
	for _, n := range c.Nets {
		if n.Paths == 0 {
			t.insert("route", []int64{n.Addr}, 24, "to_port", int64(n.First))
			continue
		}
		args := []int64{int64(n.First), int64(n.Paths - 1)}
		if f.Fabric || f.Base == "drill" {
			args = append([]int64{n.Leaf}, args...)
		}
		if f.Base == "ecmp" || f.Base == "presto" || f.Base == "hermes" {
			args = append(args, int64(n.Shift))
		}
		t.insert("route", []int64{n.Addr}, 24, "to_leaf", args...)
	}
	for p, n := range c.Neighbours {
		var args []int64
		if f.RLB {
			args = []int64{int64(n.Path), int64(n.Group)}
		}
		t.insert("fabric_port", []int64{int64(p)}, 0, "from_switch", args...)
	}
	for p, ok := range c.Forward {
		if !ok {
			continue
		}
		t.insert("Forward", []int64{int64(p)}, 0, "send", int64(p))
	}

	t.setDefault("flowcell", "count_flowcell", c.FlowcellBytes)
	flowlet := []int64{c.FlowletGap}
	if f.CONGA {
		flowlet = append(flowlet, c.MetricAge)
	}
	t.setDefault("flowlet", "read_flowlet", flowlet...)

	cell := func(i int) []int64 {
		if f.Classes == 1 {
			return []int64{int64(i)}
		}
		return []int64{int64(i / f.Classes), int64(i % f.Classes)}
	}
	for i, w := range c.Watch {
		t.insert("Readqlen", cell(i), 0, "read_qlen", w.Dt, w.Calm)
	}
	for i, p := range c.Predict {
		t.insert("predict", cell(i), 0, "predict_pause", p.DC, p.Qth, p.QPFC, p.Horizon)
	}
	for p, o := range c.CNMOut {
		t.insert("cnm_out", []int64{int64(p)}, 0, "warn_upstream", int64(o.MAC), o.Switch, o.Scope, o.Hops, o.Hold)
	}
	t.setDefault("Compath", "compare_paths", c.PassTime, c.ByteTime, c.Fresh)
	if f.Adaptive {
		perMTU := (1<<32 + c.MTU - 1) / c.MTU
		t.setDefault("Stoprecir", "limit_recirculation", c.XOFF, c.Inflow, perMTU, c.NRC, int64(c.Most))
	} else {
		t.setDefault("Stoprecir", "limit_recirculation", int64(c.Most))
	}

	t.setDefault("clb", "set_clb", c.CLBThreshold, c.CLBInterval, c.CLBTie)

	for p, w := range c.LinkWeight {
		t.insert("link", []int64{int64(p)}, 0, "add_load", w)
	}
	t.setDefault("path_class", "rank_path", c.RTTLow, c.Full)
	t.setDefault("probe", "every", c.ProbeInterval)
	for p, b := range c.PauseByteTime {
		t.insert("pause_cost", []int64{int64(p)}, 0, "expect_wait", b, c.TellAgain)
	}

	for p, q := range c.Quantum {
		t.insert("pfc_port", []int64{int64(p)}, 0, "pause_unit", q)
	}
	for i, x := range c.PFCThreshold {
		t.insert("pfc_threshold", cell(i), 0, "check_xoff", x.XOFF, x.XON, x.Again)
	}
	t.setDefault("hold", "hold_packet", int64(c.MaxHolds))

	t.setDefault("slot", "set_slot", c.SlotsPerTick)
	for p, k := range c.Capacity {
		t.insert("pbfs_port", []int64{int64(p)}, 0, "set_capacity", k.BDP, k.Mbps)
	}
	t.setDefault("postcard", "sign", c.PostcardID)

	limit := c.QCN.Qeq * (2*c.QCN.W + 1)
	t.setDefault("qcn", "take_sample", c.QCN.Qeq, c.QCN.W, limit, (63<<40+limit-1)/limit, c.QCN.Base)

	t.setDefault("red", "set_red", c.REDDefault.KMin, c.REDDefault.KMax, c.REDDefault.Ramp)
	for p, r := range c.RED {
		t.insert("red", []int64{int64(p)}, 0, "set_red", r.KMin, r.KMax, r.Ramp)
	}
	for p, x := range c.Telemetry {
		t.insert("telemetry", []int64{int64(p)}, 0, "add_record", x.Rate, x.Switch)
	}
}

// route is where packets for an address go.
type route struct {
	leaf, shift  int64
	first, paths int
	host         bool
}

// lookup finds the most specific route.
func (c *Config) lookup(addr int64) (route, bool) {
	for _, h := range c.Hosts {
		if h.Addr == addr {
			return route{first: h.Port, paths: 1, host: true}, true
		}
	}
	for _, n := range c.Nets {
		if n.Addr == addr&^0xff {
			return route{leaf: n.Leaf, first: n.First, paths: max(n.Paths, 1), shift: int64(n.Shift)}, true
		}
	}
	return route{}, false
}
