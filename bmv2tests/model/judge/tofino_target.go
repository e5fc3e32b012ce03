// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"
	"fmt"

	"github.com/pauseless/pauseless/internal/packet"
)

// What a Tofino's program says and is told, in the judge's words.

// recirculation is the port by which egress tells ingress.
const recirculation = 68

// feedbackSession is the mirror session that leads there.
const feedbackSession = 1000

// copies is what copies are cut to: telemetry is in the way of what they need.
func (f *Features) copies() int {
	if f.INT {
		return 142
	}
	return 100
}

// gressTime is where both gresses read the time.
func (t *Target) gressTime(name string, now Time) {
	if f, ok := t.prog.Field(name); ok {
		t.m.Set(f, uint64(now)&(1<<48-1))
	}
}

func (t *Target) tofinoField(name string) int {
	if f, ok := t.prog.Field(name); ok {
		return int(t.m.Get(f))
	}
	return 0
}

// tofinoIngress runs a frame through ingress, which may have been resubmitted.
// What goes to the queue is left in the frame; copied is what is mirrored.
func (t *Target) tofinoIngress(frame *packet.Frame, port int, now Time, again bool) (o Outcome, copied *packet.Frame) {
	const in, noPort = "ingress_intrinsic_metadata_", 0x1ff
	m := t.m
	asCame := (&packet.Pool{}).Clone(frame)
	head := binary.BigEndian.AppendUint16(nil, uint16(port))
	if again {
		head[0] |= 0x80
	}
	head = append(head, binary.BigEndian.AppendUint64(nil, uint64(now))[2:]...)
	frame.Prepend(append(head, make([]byte, 8)...))
	m.Start(frame, frame.Len())
	t.gressTime(in+"from_parser.global_tstamp", now)
	spec, _ := t.prog.Field(in + "for_tm.ucast_egress_port")
	m.Set(spec, noPort)
	m.Parse()
	if m.TofinoError() != 0 {
		o.Drop = true
		return o, nil
	}
	m.Ingress()
	m.DeparseIn()
	if d := t.digest(m.Ask); d != nil {
		o.Digest = append(o.Digest, d)
	}
	if m.Ask.Mirror {
		o.Cloned, o.Session = true, int(m.Ask.MirrorSession)
		copied = asCame
		copied.Prepend(m.AppendList(m.Ask.MirrorList, nil))
		copied.Truncate(t.copies)
	}
	m.EmitIn()
	out, group, class := int(m.Get(spec)), t.tofinoField(in+"for_tm.mcast_grp_a"), t.tofinoField(in+"for_tm.qid")
	if out == noPort && group == 0 || t.tofinoField(in+"for_deparser.drop_ctl")&1 != 0 {
		o.Drop = true
		return o, copied
	}
	if m.Ask.Resubmit != 0 && !again {
		o.Again = true
		return o, copied
	}
	if cos := t.tofinoField(in + "for_tm.ingress_cos"); cos != class {
		panic(fmt.Sprintf("BUG: class %d in queue %d", cos, class))
	}
	o.Group, o.Class = group, class
	if out != noPort {
		o.Port = out
	}
	return o, copied
}

// tofinoEgress runs a frame through egress, told of its queue: in cells, and
// how long it waited. copied is what is mirrored, cut to its length.
func (t *Target) tofinoEgress(frame *packet.Frame, q Queue, ahead, behind int64, waited, now Time) (o Departure, copied *packet.Frame) {
	const out = "egress_intrinsic_metadata_"
	m := t.m
	be := binary.BigEndian
	head := be.AppendUint16(nil, uint16(q.Port))
	head = append(head, be.AppendUint32(nil, uint32(ahead)<<8)...) // and congestion
	head = be.AppendUint32(head, uint32(now-waited)&(1<<18-1))
	head = append(head, be.AppendUint32(nil, uint32(behind)<<8)...)
	head = append(head, 0) // congestion of the pool
	head = be.AppendUint32(head, uint32(waited)&(1<<18-1))
	head = append(head, 0, 0, 0, byte(q.Class), byte(q.Class), 0)
	head = be.AppendUint16(head, uint16(frame.Len()))
	frame.Prepend(head)
	m.Start(frame, frame.Len())
	t.gressTime(out+"from_parser.global_tstamp", now)
	m.ParseOut()
	m.Egress()
	m.DeparseOut()
	m.EmitOut()
	if m.Ask.Mirror {
		o.Cloned, o.Session = true, int(m.Ask.MirrorSession)
		copied = (&packet.Pool{}).Clone(frame)
		copied.Prepend(m.AppendList(m.Ask.MirrorList, nil))
		copied.Truncate(t.copies)
	}
	if t.tofinoField(out+"for_deparser.drop_ctl")&1 != 0 {
		o.Drop = true
		return o, copied
	}
	o.Data, o.Elided = frame.Data, frame.Elided
	return o, copied
}

// installTofino gives a Tofino's program the entries for the configuration.
func (c *Config) installTofino(f *Features, t *Target) {
	toHost := "to_port"
	if f.Fabric || f.Tag {
		toHost = "to_host"
	}
	for _, h := range c.Hosts {
		t.insert("route", []int64{h.Addr}, 32, toHost, int64(h.Port))
	}
	for _, n := range c.Nets {
		if n.Paths < 2 {
			t.insert("route", []int64{n.Addr}, 24, "to_port", int64(n.First))
			continue
		}
		named := map[string]int64{"leaf": n.Leaf, "first_port": int64(n.First), "last_path": int64(n.Paths - 1), "hash_shift": int64(n.Shift)}
		var args []int64
		for _, p := range t.prog.Actions[t.actions["route"]["to_leaf"]].Params {
			args = append(args, named[p.Name])
		}
		t.insert("route", []int64{n.Addr}, 24, "to_leaf", args...)
	}
	for p := 1; p < f.Ports; p++ {
		t.insert("port_number", []int64{int64(p)}, 0, "is_port", int64(p))
		if c.Forward[p] {
			t.insert("Forward", []int64{int64(p)}, 0, "send", int64(p))
		}
	}
	t.insert("Forward", []int64{int64(f.RecircPort)}, 0, "send", recirculation)
	switch {
	case c.Leaf >= 0 && f.RTT:
		t.setDefault("leaf_role", "be_leaf", c.Leaf, c.RTTInterval)
	case c.Leaf >= 0:
		t.setDefault("leaf_role", "be_leaf", c.Leaf)
	}
	for p, n := range c.Neighbours {
		var args []int64
		if f.RLB {
			args = []int64{int64(n.Path), int64(n.Group)}
		}
		t.insert("fabric_port", []int64{int64(p)}, 0, "from_switch", args...)
	}
	for p, w := range c.LinkWeight {
		t.insert("link", []int64{int64(p)}, 0, "add_load", w)
	}
	cell := func(i int) []int64 { return []int64{int64(i / 8), int64(i % 8)} }
	for i, w := range c.Watch {
		t.insert("Readqlen", cell(i), 0, "read_qlen", w.Dt, w.Calm)
	}
	for i, p := range c.Predict {
		t.insert("predict", cell(i), 0, "predict_pause", p.DC, p.Qth, p.QPFC, p.Horizon)
	}
	for p, o := range c.CNMOut {
		t.insert("cnm_out", []int64{int64(p)}, 0, "warn_upstream", int64(o.MAC), o.Switch, o.Scope, o.Hops, o.Hold)
	}
	if f.Adaptive {
		t.setDefault("Compath", "compare_paths", c.Slow[:]...)
		t.setDefault("Stoprecir", "limit_recirculation", c.XOFF, c.Inflow, (1<<32+c.MTU-1)/c.MTU, c.NRC, int64(c.Most))
	} else {
		t.setDefault("Compath", "compare_paths", c.Slow[0])
		t.setDefault("Stoprecir", "limit_recirculation", int64(c.Most))
	}
	t.setDefault("flowcell", "count_flowcell", c.FlowcellBytes)
	flowlet := []int64{c.FlowletGap}
	if f.CONGA {
		flowlet = append(flowlet, c.MetricAge)
	}
	t.setDefault("flowlet", "read_flowlet", flowlet...)
	t.setDefault("path_class", "rank_path", c.RTTLow, c.Full)
	t.setDefault("probe", "every", c.ProbeInterval)
	for p, b := range c.PauseByteTime {
		t.insert("pause_cost", []int64{int64(p)}, 0, "expect_wait", b, c.TellAgain)
	}
	t.setDefault("clb", "set_clb", c.CLBThreshold, c.CLBInterval, c.CLBTie)
	for p, q := range c.Quantum {
		t.insert("pfc_port", []int64{int64(p)}, 0, "pause_unit", q)
	}
	t.setDefault("slot", "set_slot", c.SlotsPerTick)
	for p, k := range c.Capacity {
		t.insert("pbfs_port", []int64{int64(p)}, 0, "set_capacity", k.BDP, k.Mbps)
	}
	t.setDefault("postcard", "sign", c.PostcardID)
	t.setDefault("qcn", "take_sample", c.QCN.Qeq, c.QCN.W, 1, 1, c.QCN.Base)
	for p, x := range c.Telemetry {
		t.insert("telemetry", []int64{int64(p)}, 0, "add_record", x.Rate, x.Switch)
	}
	t.setDefault("red", "set_red", c.REDDefault.KMin, c.REDDefault.KMax, c.REDDefault.Ramp)
	for p, r := range c.RED {
		t.insert("red", []int64{int64(p)}, 0, "set_red", r.KMin, r.KMax, r.Ramp)
	}
}
