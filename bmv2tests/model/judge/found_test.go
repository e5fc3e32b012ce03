// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"maps"
	"testing"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/model"
)

// Errors that the judge found, in their smallest cases. Each comment describes the
// error of the program.

// scene is a case written by hand: leaf 0 with hosts at ports 1 and 2, and
// four paths to leaf 1, by ports 3 to 6. Tables have the entries below, or none.
type scene struct {
	t *testing.T
	j *Judge
	c model.Case
}

// settings are the default actions of a scene.
var settings = map[string]model.Args{
	"leaf_role": {"leaf": 0, "interval": 1 << 30}, "pause_role": {"leaf": 0}, "flowcell": {"size": 64_000}, "flowlet": {"gap": 100_000, "age": 1 << 30},
	"Compath":    {"pass_time": 1000, "byte_time": 82, "fresh": 1 << 31},
	"Stoprecir":  {"most": 64, "xoff": 256_000, "inflow": 71_680, "per_mtu": (1<<32 + 1099) / 1100, "average": 8 * 256},
	"clb":        {"queue_threshold": 170_666, "interval": 2000, "tie_bytes": 1100},
	"path_class": {"rtt_low": 38_000, "full": 242}, "probe": {"interval": 1 << 30}, "hold": {"most": 1000}, "slot": {"per_unit": 2_749_690},
	"postcard": {"switch_id": 1}, "qcn": {"equilibrium": 26_000, "weight": 2, "interval": 150_000, "limit": 130_000, "scale": 63<<40/130_000 + 1},
	"red": {"kmin": 1 << 18, "kmax": 1 << 18, "ramp": 0},
}

func newScene(t *testing.T, p *gen.Profile) *scene {
	t.Helper()
	j := judgeOf(t, p, "v1model", nil)
	if j == nil {
		t.Fatal("the program does not compile")
	}
	c := &model.Config{
		Routes: []model.Route{{Addr: model.Host(1, 0), Leaf: 1, First: 3, Paths: 4}, {Addr: model.Host(0, 1), First: 1}, {Addr: model.Host(0, 2), First: 2}},
		Groups: map[int][]int{},
		Tables: map[string]model.Entries{},
	}
	for table, args := range settings {
		c.Tables[table] = model.Entries{model.Default: maps.Clone(args)}
	}
	s := &scene{t: t, j: j, c: model.Case{Seed: 1, Now: 5 << 32, Config: c}}
	for path := range 4 {
		s.neighbour(3+path, path, 0)
	}
	for port := 1; port < j.p.Ports; port++ {
		s.entry("Forward", port, model.Args{"port": int64(port)})
	}
	return s.entry("Forward", j.p.RecirculationPort, model.Args{"port": int64(j.p.RecirculationPort)})
}

// set puts a value into the state, by the register's name.
func (s *scene) set(register string, index int, value int64) *scene {
	s.c.Cells = append(s.c.Cells, model.CellValue{Register: register, Index: index, Value: value})
	return s
}

// entry adds an entry to a table.
func (s *scene) entry(table string, index int, args model.Args) *scene {
	if s.c.Config.Tables[table] == nil {
		s.c.Config.Tables[table] = model.Entries{}
	}
	s.c.Config.Tables[table][index] = args
	return s
}

// neighbour connects a switch to a port, which is a path, with a group to which its
// warnings are relayed.
func (s *scene) neighbour(port, path, group int) *scene {
	return s.entry("fabric_port", port, model.Args{"path": int64(path), "relay_group": int64(group)})
}

// above makes the switch one above the leaves: it has no number.
func (s *scene) above() *scene {
	s.c.Config.Leaf = -1
	delete(s.c.Config.Tables, "leaf_role")
	delete(s.c.Config.Tables, "pause_role")
	return s
}

// data is an IPv4 packet of RoCEv2 from host 1 of a leaf to host 1 of another.
func data(from, to int64, dscp, ecn int64) *model.Frame {
	f := &model.Frame{Dst: 2, Src: 1, Type: model.TypeIPv4, IP: model.Fields{"version": 4, "ihl": 5, "dscp": dscp, "ecn": ecn, "length": 100, "ttl": 64, "protocol": 17,
		"src": model.Host(from, 1), "dst": model.Host(to, 1)}}
	f.UpdateChecksum()
	f.Rest = append(model.UDP.Append(nil, model.Fields{"src": 0xc000, "dst": model.PortRoCE, "length": 80}), make([]byte, 40)...)
	return f
}

func (s *scene) arrives(after model.Time, port int, f *model.Frame) *scene {
	s.c.Events = append(s.c.Events, model.Event{After: after, Port: port, Data: s.j.p.Bytes(f)})
	return s
}

func (s *scene) departs(after model.Time, pick int, depth int64) *scene {
	s.c.Events = append(s.c.Events, model.Event{After: after, Pick: pick, Depth: depth})
	return s
}

// agree runs the scene and expects no difference, and that the events happened.
func (s *scene) agree(events ...string) {
	s.t.Helper()
	if diff := s.j.Run(&s.c); diff != nil {
		s.t.Fatalf("%s%s", s.j.describe(&s.c), diff)
	}
	for _, e := range events {
		if s.j.Seen[e] == 0 {
			s.t.Errorf("the scene shows no %s: %v", e, s.j.Seen)
		}
	}
}

// slot is PB-FS's slot when the scene begins.
func (s *scene) slot() int64 {
	return model.Ratio{Num: settings["slot"]["per_unit"], Den: 1 << s.j.p.Units.SlotFraction()}.Times(s.c.Now)
}

// cell is the queue of a port and the class of data.
func (s *scene) cell(port int) int { return s.j.p.QueueCell(port, s.j.p.Lossless) }

// Telemetry and BTH were emitted in the wrong order.
func TestMarkedPacketsKeepTelemetryBeforeBTH(t *testing.T) {
	s := newScene(t, small(t, "hpcc-pbfs", "v1model"))
	f := data(0, 1, 27, 2)
	model.BE.PutUint16(f.Rest[2:], 54791)
	records := make([]byte, 42)
	records[1] = 7
	f.Rest = append(append(f.Rest[:8:8], records...), []byte("BTH of twelve bytes")...)
	for port := range 12 {
		s.entry("telemetry", port, model.Args{"rate": 3, "switch_id": 9})
	}
	s.arrives(0, 1, f).departs(1, 0, 0).agree("telemetry")
}

// Q¹ contained the packet that opened the slot.
func TestSlotBeginsWithTheQueueBeforeItsFirstPacket(t *testing.T) {
	p := small(t, "pbfs", "v1model")
	s := newScene(t, p)
	s.c.Config.Routes[0].Paths = 0 // one path, by port 3
	s.set("egress_qlen", s.cell(3), 5000)
	s.arrives(0, 1, data(0, 1, 26, 2)).agree()
}

// longQueue is a scene in which the queue of port 3 is longer than the bytes that the port
// sends in a round trip.
func longQueue(t *testing.T, p *gen.Profile) *scene {
	s := newScene(t, p)
	s.c.Config.Routes[0].Paths = 0
	s.entry("pbfs_port", 3, model.Args{"round_trip_bytes": 78_125, "mbps": 25_000})
	now := s.slot()
	first := 16*3 + int(now-8)&15
	s.set("slot_number", first, now-8).set("slot_qlen", first, 100_000)
	return s
}

// A queue longer than the bytes that a port sends in a round trip was no congestion
// if nothing arrived.
func TestQueueBeyondARoundTripIsCongestion(t *testing.T) {
	p := small(t, "pbfs", "v1model")
	s := longQueue(t, p)
	s.arrives(0, 1, data(0, 1, 27, 2)).departs(1, 0, 0).agree("postcard")
}

// A packet that caused a warning and a postcard sent one of them, but both
// were counted.
func TestOnePacketCausesOneMessage(t *testing.T) {
	p := small(t, "rlb-pbfs", "v1model")
	s := newScene(t, p)
	s.entry("pbfs_port", 1, model.Args{"round_trip_bytes": 10, "mbps": 25_000})
	s.entry("Readqlen", s.cell(3), model.Args{"interval": 1, "calm": 10})
	s.entry("predict", s.cell(3), model.Args{"floor": 1, "warn_at": 1, "xoff": 2, "horizon": 1})
	now := s.slot()
	last := 16*1 + int(now-1)&15
	s.set("slot_number", last, now-1).set("slot_bytes", last, 1000)
	s.arrives(0, 3, data(1, 0, 27, 2)).departs(1, 0, 0).departs(1, 0, 0).agree("warning")
}

// adaptive is RLB* over ECMP with path 0 warned, and path 1 slower.
func adaptive(t *testing.T) *scene {
	s := newScene(t, small(t, "rlb-adaptive-ecmp", "v1model"))
	for p := range 4 {
		s.set("path_rtt", s.j.p.PathCells+p, 10_000+int64(p)*50_000)
		s.set("warned_until", s.j.p.PathCells+p, s.c.Now+1_000_000)
	}
	s.c.Cells = s.c.Cells[:len(s.c.Cells)-1] // path 3 is free
	return s
}

// A window that was opened by a packet that may not recirculate kept the counts of
// the previous one.
func TestWindowOpensWithoutTheCountsOfTheLast(t *testing.T) {
	s := adaptive(t)
	s.c.Config.Tables["Stoprecir"][model.Default]["most"] = 0
	s.set("window_start", 0, s.c.Now-3000).set("window_length", 0, 1000).set("port_passes", 3, 5)
	s.arrives(0, 1, data(0, 1, 26, 2)).arrives(10, 1, data(0, 1, 26, 2)).agree("denied by the limit")
}

// Two windows with the same suspect port raised no alert if no packet recirculated
// for a while after the second.
func TestAlertDoesNotNeedAThirdWindow(t *testing.T) {
	s := adaptive(t)
	s.c.Config.Tables["Stoprecir"][model.Default]["average"] = 0
	s.set("window_start", 0, s.c.Now-50_000).set("window_length", 0, 1000).set("port_passes", 3, 5).set("suspect_port", 0, 3)
	s.arrives(0, 1, data(0, 1, 26, 2)).agree("fault")
}

// With all paths faulty, a packet whose warning had expired was counted as sent on a
// warned path.
func TestExpiredWarningIsNotCountedWhereAllPathsAreFaulty(t *testing.T) {
	s := newScene(t, small(t, "rlb-adaptive-ecmp", "v1model"))
	s.set("faulty", 0, 15)
	for p := range 4 {
		s.set("warned_until", s.j.p.PathCells+p, s.c.Now)
	}
	s.arrives(0, 1, data(0, 1, 26, 2)).agree()
}

// warned_until had no room for the paths of the last rows.
func TestWarningsForAllLeavesHoldForAnyNumberOfPaths(t *testing.T) {
	for _, paths := range []int{3, 5, 6} {
		p := small(t, "rlb-ecmp", "v1model")
		p.Sizes.Paths = paths
		s := newScene(t, p)
		s.c.Config.Routes[0].Paths = paths
		warning := &model.Frame{Dst: 1, Src: 2, Type: model.TypeLocal, Local: model.Fields{"kind": 1, "priority": 3, "active": 1, "scope": 0xffff, "hold": 1000}, Rest: make([]byte, 32)}
		for port := 3; port < 3+paths; port++ {
			s.neighbour(port, port-3, 0)
			s.arrives(1, port, warning)
		}
		s.arrives(1, 1, data(0, 1, 26, 2)).agree("warned path taken")
	}
}

// An expired warning stayed until its path was chosen, so that the path was not free
// for other packets.
func TestExpiredWarningsFreeTheirPaths(t *testing.T) {
	s := newScene(t, small(t, "rlb-ecmp", "v1model"))
	for p := range 4 {
		until := s.c.Now + 1000
		if p == 3 {
			until = s.c.Now - 1
		}
		s.set("warned_until", s.j.p.PathCells+p, until)
	}
	s.arrives(0, 1, data(0, 1, 26, 2)).agree("reroute")
}

// The product that gives t_rc overflowed 32 bits.
func TestLongRecirculationQueuesDoNotOverflow(t *testing.T) {
	s := newScene(t, small(t, "rlb-ecmp", "v1model"))
	s.c.Config.Tables["Compath"][model.Default]["byte_time"] = 8192 // 1 Gb/s
	for p := range 4 {
		s.set("path_rtt", s.j.p.PathCells+p, 1000+int64(p)*100_000)
		s.set("warned_until", s.j.p.PathCells+p, s.c.Now+int64(1-p/3)*1_000_000)
	}
	s.set("recirc_returned", 0, 524_288) // takes 4 ms, not 0
	s.arrives(0, 1, data(0, 1, 26, 2)).agree("reroute")
}

// A packet with IP options got a checksum without them.
func TestPacketsWithOptionsKeepTheirChecksum(t *testing.T) {
	s := newScene(t, small(t, "ecmp", "v1model"))
	s.entry("red", model.Default, model.Args{"kmin": 0, "kmax": 0, "ramp": 0})
	f := data(0, 1, 26, 2)
	f.IP["ihl"] = 6
	f.Rest = append([]byte{1, 1, 1, 0}, f.Rest...)
	f.UpdateChecksum()
	s.arrives(0, 1, f).departs(1, 0, 9).agree()
}

// Slots were numbered by a clock of 32 bits, and lost eight slots at its wrap.
func TestSlotsSurviveTheWrapOfTheClock(t *testing.T) {
	p := small(t, "pbfs", "v1model")
	s := newScene(t, p)
	s.c.Config.Routes[0].Paths = 0
	s.entry("pbfs_port", 3, model.Args{"round_trip_bytes": 10, "mbps": 25_000})
	s.c.Now = 6<<32 - 2000
	s.arrives(0, 1, data(0, 1, 26, 2)).arrives(4000, 1, data(0, 1, 27, 2)).agree("postcard")
}

// The copies that relay a warning were counted at port 0.
func TestWarningsPassedOnCountAtTheirPorts(t *testing.T) {
	p := small(t, "rlb-conga", "v1model")
	p.Name = "rlb-conga-int"
	p.Choose("int", "on")
	s := newScene(t, p)
	s.above()
	s.neighbour(3, 0, 3)
	s.c.Config.Groups[3] = []int{4, 5}
	s.entry("link", 4, model.Args{"weight": 1 << 16})
	warning := &model.Frame{Dst: 1, Src: 2, Type: model.TypeLocal, Local: model.Fields{"kind": 1, "priority": 3, "active": 1, "hops": 1, "scope": 1, "hold": 1000}, Rest: make([]byte, 32)}
	s.arrives(1, 3, warning).departs(1, 0, 0).departs(1, 0, 0).agree("warning passed on")
}

// The expected wait of a packet contained the packet itself.
func TestExpectedWaitIsTheQueueThatAPacketFinds(t *testing.T) {
	s := newScene(t, small(t, "plb", "v1model"))
	for port := 3; port <= 6; port++ { // a tick a byte
		s.entry("pause_cost", port, model.Args{"byte_time": 1024, "tell_again": 20_000})
	}
	for p := range 4 {
		s.set("path_rtt", s.j.p.PathCells+p, 1000+int64(min(p, 1))*50) // path 0 is faster by 50
		s.set("paused_until", s.cell(3+p), s.c.Now+10_000)
	}
	s.arrives(0, 1, data(0, 1, 26, 2)).agree("wait")
}

// Records would have counted queues in bytes where the target does.
func TestTelemetryNeedsATargetThatCountsCells(t *testing.T) {
	p := small(t, "hpcc", "v1model")
	p.Units.Depth = manifest.Bytes
	if p.Check() == nil {
		t.Error("records count in units of 80 bytes")
	}
}

// An ARP packet for a paused port was sent back unchanged: it has no source address
// to which a leaf's notification could be sent.
func TestOnlyIPPacketsTellALeafToLeaveAPath(t *testing.T) {
	p := small(t, "plb", "v1model")
	p.Sizes.Priorities = 1 // so that ARP packets are in the paused class
	s := newScene(t, p)
	s.above()
	s.c.Config.Routes[0].Paths = 0
	s.entry("pause_cost", 3, model.Args{"byte_time": 1024, "tell_again": 20_000})
	s.set("paused_until", s.cell(3), s.c.Now+10_000).set("sojourn", 0, 100)
	f := &model.Frame{Dst: 2, Src: 1, Type: model.TypeARP, Fabric: model.Fields{"dst_leaf": 1}, ARP: model.Fields{"target": model.Host(1, 1)}}
	s.arrives(0, 4, f).departs(1, 0, 0).departs(1, 0, 0).agree()
}

// A PFC frame that was made of a kick-out message contained the message.
func TestPauseFramesOfKickOutMessagesHaveNothingBehindThem(t *testing.T) {
	p := small(t, "plb", "v1model")
	p.Choose("pfc", "emulated")
	p.Units.Depth = manifest.Bytes
	s := newScene(t, p)
	s.above()
	s.c.Config.Routes[0].Paths = 0
	s.entry("pfc_threshold", s.j.p.QueueCell(4, 7), model.Args{"xoff": 1000, "xon": 0, "again": 0})
	s.set("pausing_since", s.j.p.QueueCell(4, 7), s.c.Now-100)
	message := &model.Frame{Dst: 1, Src: 2, Type: model.TypeLocal, Local: model.Fields{"kind": 2, "path": 2, "host": model.Host(1, 1)}, Rest: make([]byte, 38)}
	s.arrives(0, 4, message).departs(1, 0, 0).departs(1, 0, 0).agree("resume")
}

// A kick-out message about a marked packet contained that packet's UDP and BTH.
func TestKickOutMessagesHaveNothingBehindThem(t *testing.T) {
	p := small(t, "plb", "v1model")
	p.Choose("pbfs", "on")
	s := newScene(t, p)
	s.above()
	s.c.Config.Routes[0].Paths = 0
	s.entry("pause_cost", 3, model.Args{"byte_time": 1024, "tell_again": 20_000})
	s.set("paused_until", s.cell(3), s.c.Now+10_000).set("sojourn", 0, 100)
	f := data(2, 1, 27, 2)
	f.Fabric = model.Fields{"dst_leaf": 1}
	s.arrives(0, 4, f).departs(1, 0, 0).departs(1, 0, 0).agree("kick-out told")
}

// A packet that caused a PAUSE and whose port was paused sent a kick-out message
// instead.
func TestPauseBeforeKickOut(t *testing.T) {
	p := small(t, "plb", "v1model")
	p.Choose("pfc", "emulated")
	p.Units.Depth = manifest.Bytes
	s := newScene(t, p)
	s.c.Now++ // a pause at time zero is none
	s.above().entry("hold", model.Default, model.Args{"most": 0})
	s.c.Config.Routes[0].Paths = 0
	s.entry("pause_cost", 3, model.Args{"byte_time": 1024, "tell_again": 20_000})
	s.entry("pfc_threshold", s.cell(4), model.Args{"xoff": 10, "xon": 0, "again": 0})
	s.set("paused_until", s.cell(3), s.c.Now+10_000).set("sojourn", 0, 100)
	f := data(2, 1, 26, 2)
	f.Fabric = model.Fields{"dst_leaf": 1}
	s.arrives(0, 4, f).departs(1, 0, 0).departs(1, 0, 0).agree("pause")
}

// A program that holds packets for a paused port applied PLB's algorithm 1 after the
// pause: no packet waited or kicked a path out.
func TestPausesAreMetBeforePacketsAreHeld(t *testing.T) {
	p := small(t, "plb", "v1model")
	p.Choose("pfc", "emulated")
	paused := func() *scene {
		s := newScene(t, p)
		s.c.Now++
		s.entry("hold", model.Default, model.Args{"most": 2})
		for port := range 12 {
			s.entry("pause_cost", port, model.Args{"byte_time": 1024, "tell_again": 20_000})
			s.set("paused_until", s.cell(port), s.c.Now+10_000)
		}
		return s.set("sojourn", 0, 100)
	}
	f := data(2, 1, 26, 2)
	f.Fabric = model.Fields{"dst_leaf": 1, "tolerable": 5000}
	s := paused().above()
	s.c.Config.Routes[0].Paths = 0
	// It passes again twice, and leaves with its wait subtracted.
	s.arrives(0, 4, f).departs(300, 0, 0).departs(300, 0, 0).departs(300, 0, 0).agree("wait", "hold")

	paused().arrives(0, 510, data(0, 1, 26, 2)).agree("kick-out", "hold")
}

// DRILL did not see packets that the program held for a paused port, and preferred it.
func TestHeldPacketsCountInTheQueueOfTheirPort(t *testing.T) {
	s := newScene(t, small(t, "drill-bmv2", "v1model"))
	s.c.Now++
	s.c.Config.Routes[0].Paths = 0
	s.entry("hold", model.Default, model.Args{"most": 3})
	s.set("paused_until", s.cell(3), s.c.Now+10_000)
	f := data(0, 1, 26, 2)
	s.arrives(0, 510, f).arrives(10, 510, f).agree("hold")
	s.departs(20, 0, 0).departs(20, 0, 0).departs(20_000, 0, 0).departs(20, 0, 0).departs(20, 0, 0).agree("hold")
}

// A packet that RLB moves to another path while it is held counts in the queue of that
// path's port from then on.
func TestHeldPacketsThatMoveCountElsewhere(t *testing.T) {
	moved := 0
	for _, warned := range []int{3, 4} { // one of them is the packet's port
		s := newScene(t, small(t, "rlb-drill-bmv2", "v1model"))
		s.c.Now++
		s.c.Config.Routes[0].Paths = 2
		for _, port := range []int{3, 4} {
			s.set("paused_until", s.cell(port), s.c.Now+10_000)
		}
		warning := &model.Frame{Dst: 1, Src: 2, Type: model.TypeLocal, Local: model.Fields{"kind": 1, "priority": 3, "active": 1, "scope": 0xffff, "hold": 1000}, Rest: make([]byte, 32)}
		s.arrives(0, 1, data(0, 1, 26, 2)).arrives(1, warned, warning).departs(1, 0, 0).departs(1, 0, 0).agree("hold")
		moved += s.j.Seen["reroute"]
	}
	if moved == 0 {
		t.Error("no packet moved")
	}
}

// A packet of the controller that would recirculate had its ingress queue read
// past the end of the register.
func TestControllersPacketsRecirculateToo(t *testing.T) {
	s := adaptive(t)
	for p := range 4 {
		s.set("path_rtt_time", s.j.p.PathCells+p, s.c.Now)
	}
	s.arrives(0, 510, data(0, 1, 26, 2)).departs(1, 0, 0).departs(1, 0, 0).agree("recirculation")
}

// The switch dropped packets for its controller after egress.
func TestMessagesLeaveByTheControllersPort(t *testing.T) {
	s := newScene(t, small(t, "qcn", "v1model"))
	s.c.Config.Routes[0].Paths = 0
	s.set("egress_qlen", s.cell(3), 60_000)
	// The queue of port 510 has the feedback, the second after that of port 3.
	s.arrives(0, 510, data(0, 1, 26, 2)).departs(1, 1, 0).agree("feedback")
}

// On BMv2, the end of a warning was sent after the next warning, of a queue that had
// become long again, so that the previous switch ended the latter.
func TestWarningStandsIfTheQueueIsLongAgain(t *testing.T) {
	s := newScene(t, small(t, "rlb-drill-bmv2", "v1model"))
	const calm = 1000
	s.entry("Readqlen", s.cell(3), model.Args{"interval": 1 << 30, "calm": calm})
	s.set("ingress_qlen", s.cell(3), calm-1).set("sampled_at", s.cell(3), s.c.Now).set("warning_on", s.cell(3), 1)
	f := data(1, 0, 26, 2)
	s.arrives(0, 3, f).departs(1, 0, 0).arrives(1, 3, f)
	// Of port 1's queue and port 3's with the message, in this order, the second.
	s.departs(1, 1, 0).agree("warning taken back", "warning stands")
}

// The model of PINT computed with the length of a queue of 620,619 bytes; a target
// reports at most 524,287 (units of depth: bytes). The model was wrong, not the program.
func TestDepthsHave19Bits(t *testing.T) {
	p := small(t, "hpcc-pint", "v1model")
	p.Units.Depth = "bytes"
	s := newScene(t, p)
	s.c.Config.Routes[0].Paths = 0
	f := data(0, 1, 26, 2)
	model.BE.PutUint16(f.Rest[2:], model.PortPINT)
	f.Rest = append(append(f.Rest[:8:8], 0, 0), make([]byte, 40)...)
	for port := range 12 {
		s.entry("pint", port, model.Args{"rtt": 10_000, "per_time": 429_496, "per_byte": 8_796_093, "per_depth": 8_796_093, "per_octave": 269_772})
	}
	s.arrives(0, 1, f).departs(1, 0, 620_619).agree("digest")
}

// A postcard about an acknowledgement kept the header behind its BTH, where programs
// parse that.
func TestPostcardsHaveNoHeaderOfAcknowledgements(t *testing.T) {
	p := small(t, "flowcut", "v1model")
	p.Name = "flowcut-pbfs"
	p.Choose("pbfs", "on")
	s := longQueue(t, p)
	f := data(0, 1, 27, 2)
	f.Rest[8], f.Rest[20] = 0x11, 0x60 // opcode and syndrome
	s.arrives(0, 1, f).departs(1, 0, 0).agree("postcard")
}
