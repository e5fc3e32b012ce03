// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"math"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// A Setting is an action whose arguments are parameters, in the target's
// units. Some are per port; the control plane adds what the topology decides.
type Setting struct {
	Table, Action string
	args          []arg
	feature       string // that the program must have, if the table has several settings
	target        string // the same
}

// Arg is an argument of an action, in the target's units.
type Arg struct {
	Name  string
	Value uint64
}

type arg struct {
	name  string
	value func(*values) uint64
}

// values looks up parameters and converts them.
type values struct {
	target string
	units  Units
	net    Network
	of     func(parameter string) float64
}

// bytes, span, depth and count return arguments that are one parameter.
func bytes_(name, parameter string) arg {
	return arg{name, func(v *values) uint64 { return atLeastOne(v.of(parameter)) }}
}

func span(name, parameter string) arg {
	return arg{name, func(v *values) uint64 { return v.units.Span(v.of(parameter)) }}
}

func depth(name, parameter string) arg {
	return arg{name, func(v *values) uint64 { return v.units.Queue(v.of(parameter), v.net.MTU) }}
}

func count(name, parameter string) arg {
	return arg{name, func(v *values) uint64 { return uint64(v.of(parameter)) }}
}

// settings are all configuration tables of all programs.
var settings = []Setting{
	{Table: "red", Action: "set_red", args: []arg{
		depth("kmin", "red.kmin"), depth("kmax", "red.kmax"), {"ramp", ramp},
	}},
	{Table: "flowcell", Action: "count_flowcell", args: []arg{bytes_("size", "presto.flowcell")}},
	{Table: "flowlet", Action: "read_flowlet", feature: "letflow", args: []arg{span("gap", "letflow.gap")}},
	{Table: "flowlet", Action: "read_flowlet", feature: "conga", args: []arg{span("gap", "conga.gap"), span("age", "conga.age")}},
	{Table: "flowlet", Action: "read_flowlet", feature: "clb", args: []arg{span("gap", "clb.gap")}},
	{Table: "flowlet", Action: "read_flowlet", feature: "plb", args: []arg{span("gap", "plb.idle")}},
	{Table: "link", Action: "add_load", args: []arg{{"weight", loadWeight}}},
	{Table: "clb", Action: "set_clb", args: []arg{
		bytes_("queue_threshold", "clb.threshold"), span("interval", "clb.interval"), bytes_("tie_bytes", "clb.tie"),
	}},
	{Table: "path_class", Action: "rank_path", args: []arg{
		span("rtt_low", "plb.rtt_low"),
		{"full", func(v *values) uint64 { return min(uint64(v.of("plb.full")*255), 255) }},
	}},
	{Table: "probe", Action: "every", args: []arg{span("interval", "plb.probe_interval")}},
	{Table: "pause_cost", Action: "expect_wait", args: []arg{
		{"byte_time", func(v *values) uint64 { return v.units.byteTime(1, v.net.Rate) }},
		span("tell_again", "plb.tell_again"),
	}},
	{Table: "leaf_role", Action: "be_leaf", feature: "rtt", args: []arg{span("interval", "rtt.interval")}},
	{Table: "leaf_role", Action: "be_leaf"},

	{Table: "Readqlen", Action: "read_qlen", args: []arg{span("interval", "rlb.interval"), bytes_("calm", "rlb.calm")}},
	{Table: "predict", Action: "predict_pause", args: []arg{
		bytes_("floor", "rlb.floor"), bytes_("warn_at", "rlb.warn"), bytes_("xoff", "rlb.xoff"), span("horizon", "rlb.horizon"),
	}},
	{Table: "cnm_out", Action: "warn_upstream", args: []arg{span("hold", "rlb.hold")}},
	{Table: "Compath", Action: "compare_paths", target: "tna", feature: "rlb_adaptive", args: []arg{
		{"slow", slowTrip(0)}, {"slow_2", slowTrip(1)}, {"slow_3", slowTrip(2)},
	}},
	{Table: "Compath", Action: "compare_paths", target: "tna", args: []arg{{"slow", slowTrip(0)}}},
	{Table: "Compath", Action: "compare_paths", args: []arg{
		span("pass_time", "rlb.pass_time"),
		{"byte_time", func(v *values) uint64 { return v.units.byteTime(1, vtime.Rate(v.of("rlb.recirculation_rate"))) }},
		span("fresh", "rlb.fresh"),
	}},
	{Table: "Stoprecir", Action: "limit_recirculation", feature: "rlb_adaptive", args: []arg{
		bytes_("xoff", "rlb.xoff"),
		{"inflow", func(v *values) uint64 { return v.units.byteRate(float64(v.net.Rate) * float64(v.net.FanIn-1)) }},
		{"per_mtu", func(v *values) uint64 { return uint64(math.Ceil((1 << 32) / float64(v.net.MTU))) }},
		{"average", faultAverage},
		count("most", "rlb.max_recirculations"),
	}},
	{Table: "Stoprecir", Action: "limit_recirculation", args: []arg{count("most", "rlb.max_recirculations")}},

	{Table: "qcn", Action: "take_sample", args: []arg{
		bytes_("equilibrium", "qcn.equilibrium"), count("weight", "qcn.weight"), {"limit", qcnLimit},
		{"scale", func(v *values) uint64 { limit := qcnLimit(v); return (63<<40 + limit - 1) / limit }},
		bytes_("interval", "qcn.sample"),
	}},

	{Table: "pfc_port", Action: "pause_unit", args: []arg{{"unit", quantum}}},
	{Table: "pfc_threshold", Action: "check_xoff", args: []arg{
		bytes_("xoff", "pfc_emulated.xoff"), bytes_("xon", "pfc_emulated.xon"),
		{"again", func(v *values) uint64 { return max(quantum(v)*(0xffff/2)>>10, 1) }},
	}},
	{Table: "hold", Action: "hold_packet", args: []arg{count("most", "pfc_emulated.max_holds")}},

	{Table: "slot", Action: "set_slot", args: []arg{
		{"per_unit", func(v *values) uint64 {
			slot := max(float64(v.units.Span(v.of("pbfs.rtt")))/(2*Slots), 1)
			return min(uint64(float64(uint64(1)<<v.units.SlotFraction())/slot), 1<<24-1)
		}},
	}},
	{Table: "pbfs_port", Action: "set_capacity", args: []arg{
		{"round_trip_bytes", func(v *values) uint64 { return uint64(float64(v.net.Rate) / 8e9 * v.of("pbfs.rtt")) }},
		{"mbps", func(v *values) uint64 { return uint64(v.net.Rate / vtime.Mbps) }},
	}},
}

// qcnLimit is the longest -Fb that counts: (2w+1)·Q_eq.
func qcnLimit(v *values) uint64 {
	return uint64((2*v.of("qcn.weight") + 1) * float64(atLeastOne(v.of("qcn.equilibrium"))))
}

// Slots is PB-FS's N: half a round trip has so many slots.
const Slots = 8

// loadWeight is what a byte adds to the load of a link that is full at 65536,
// in 2^-16: 2^32 by the bytes that pass in the estimator's time.
func loadWeight(v *values) uint64 { return LoadWeight(v.units, v.net.Rate) }

// LoadWeight is the weight for a link of a rate.
func LoadWeight(u Units, r vtime.Rate) uint64 {
	return min(uint64(math.Round(8*(1<<32)/(float64(r)*u.LoadTime().Seconds()))), 1<<32-1)
}

// faultAverage is in 1/256, on TNA a whole number.
func faultAverage(v *values) uint64 {
	if v.target == "tna" {
		return uint64(v.of("rlb_adaptive.fault_average"))
	}
	return uint64(v.of("rlb_adaptive.fault_average") * 256)
}

// SlowTrips are by how many recirculations the round trip of a path must be
// longer than the base RTT to be in each class of slow paths on TNA.
var SlowTrips = [...]int{1, 4, 16}

// slowTrip is the round trip from which on a path is in a class.
func slowTrip(class int) func(v *values) uint64 {
	return func(v *values) uint64 {
		return v.units.Span(ns(v.net.RTT()) + float64(SlowTrips[class])*v.of("rlb.pass_time"))
	}
}

// quantum is 512 bit times in 1/1024 of a unit of time.
func quantum(v *values) uint64 { return Quantum(v.units, v.net.Rate) }

// Quantum is the same for a link of a rate.
func Quantum(u Units, r vtime.Rate) uint64 { return u.byteTime(packet.QuantumBits/8, r) }

// ramp is the probability of a mark per unit of depth between the two
// thresholds, in 2^-32. A Tofino does not multiply: there it is a mask of
// random bits, the inverse of the probability rounded to a power of two and
// less one.
func ramp(v *values) uint64 {
	low, high := v.units.Queue(v.of("red.kmin"), v.net.MTU), v.units.Queue(v.of("red.kmax"), v.net.MTU)
	slope := 1.0
	if high > low {
		slope = v.of("red.pmax") / float64(high-low)
	}
	if v.target == "tna" {
		return 1<<uint(min(max(math.Round(-math.Log2(slope)), 0), 32)) - 1
	}
	return min(uint64(slope*(1<<32)), 1<<32-1)
}

// Setting returns the setting of a table, if it has one.
func (m *Manifest) Setting(table string) (Setting, bool) {
	for _, s := range settings {
		if s.Table == table && (s.feature == "" || m.Has(s.feature)) && (s.target == "" || s.target == m.Target) {
			return s, true
		}
	}
	return Setting{}, false
}

// Args returns the arguments that parameters decide for a link, or the whole
// network if the table is not per port, in the order of the action's
// parameters.
func (m *Manifest) Args(table string, n Network) ([]Arg, error) {
	s, ok := m.Setting(table)
	if !ok {
		return nil, fmt.Errorf("table %s holds no parameters", table)
	}
	var unknown string
	v := &values{target: m.Target, units: m.Units, net: n, of: func(name string) float64 {
		p, err := m.Value(name, n)
		if err != nil {
			unknown = name
		}
		return p
	}}
	args := make([]Arg, len(s.args))
	for i, a := range s.args {
		args[i] = Arg{a.name, a.value(v)}
	}
	if unknown != "" {
		return nil, fmt.Errorf("table %s needs parameter %s, which the manifest of %s does not have", table, unknown, m.Program)
	}
	return args, nil
}

// Value returns a parameter in its own unit for a link of the network: what
// the profile gives, or what follows from the link.
func (m *Manifest) Value(name string, n Network) (float64, error) {
	for i := range m.Parameters {
		p := &m.Parameters[i]
		if p.Name != name {
			continue
		}
		if v, ok := p.ByRate[n.Rate.String()]; ok {
			return v, nil
		}
		if p.Given {
			return p.Value, nil
		}
		return Derive(name, n)
	}
	return 0, fmt.Errorf("program %s has no parameter %s", m.Program, name)
}
