// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"

	"github.com/pauseless/pauseless/bmv2tests/model"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
)

// Errors that the judge found, by their smallest cases. Each names what was
// wrong in the program.

// scene is a case written by hand: leaf 0 with hosts at ports 1 and 2, and
// four ways to leaf 1, by ports 3 to 6.
type scene struct {
	t    *testing.T
	j    *Judge
	c    Case
	want map[string]int
}

func newScene(t *testing.T, p *gen.Profile) *scene {
	t.Helper()
	j, err := NewJudge(featuresOf(p), compile(t, p, "v1model"))
	if err != nil {
		t.Fatal(err)
	}
	c := &Config{
		Hosts:      []HostRoute{{address(0, 1), 1}, {address(0, 2), 2}},
		Nets:       []NetRoute{{Addr: address(1, 0), Leaf: 1, First: 3, Paths: 4}},
		Neighbours: map[int]Neighbour{3: {Path: 0}, 4: {Path: 1}, 5: {Path: 2}, 6: {Path: 3}},
		Forward:    map[int]bool{j.f.RecircPort: true},
		Groups:     map[int][]int{}, Watch: map[int]Watch{}, Predict: map[int]Predict{}, CNMOut: map[int]CNMOut{},
		LinkWeight: map[int]int64{}, PauseByteTime: map[int]int64{}, Quantum: map[int]int64{}, PFCThreshold: map[int]PFCThreshold{},
		Capacity: map[int]Capacity{}, RED: map[int]REDParams{}, Telemetry: map[int]TelemetryParams{},
		RTTInterval: 1 << 30, FlowcellBytes: 64_000, FlowletGap: 100_000, MetricAge: 1 << 30,
		PassTime: 1000, ByteTime: 82, Fresh: 1 << 31, Most: 64, XOFF: 256_000, Inflow: 71_680, MTU: 1100, NRC: 8 * 256,
		CLBThreshold: 170_666, CLBInterval: 2000, CLBTie: 1100,
		RTTLow: 38_000, Full: 242, ProbeInterval: 1 << 30, TellAgain: 20_000,
		MaxHolds: 1000, SlotsPerTick: 2_749_690, SlotBits: 32, QCN: model.QCN{Qeq: 26_000, W: 2, Base: 150_000}, REDDefault: REDParams{1 << 18, 1 << 18, 0},
	}
	for port := 1; port < j.f.Ports; port++ {
		c.Forward[port] = true
	}
	return &scene{t: t, j: j, c: Case{Seed: 1, Now: 5 << 32, Config: c}, want: map[string]int{}}
}

// set puts a value into the state, by the register's name.
func (s *scene) set(register string, index int, value int64) *scene {
	for k := range rows {
		if rows[k].register == register && rows[k].set != nil {
			s.c.Cells = append(s.c.Cells, Cell{k, index, value})
			return s
		}
	}
	s.t.Fatalf("no register %s", register)
	return s
}

// data is an IPv4 packet of RoCEv2 from host 1 of a leaf to host 1 of another.
func data(from, to int64, dscp, ecn int) *frame {
	b := make([]byte, 20)
	b[0], b[1], b[8], b[9] = 0x45, byte(dscp<<2|ecn), 64, 17
	be.PutUint16(b[2:], 100)
	be.PutUint32(b[12:], uint32(address(from, 1)))
	be.PutUint32(b[16:], uint32(address(to, 1)))
	be.PutUint16(b[10:], packet.Checksum(b))
	udp := []byte{0xc0, 0, 4791 >> 8, 4791 & 255, 0, 80, 0, 0}
	return &frame{dst: 2, src: 1, kind: typeIPv4, ip: &ipv4{b}, rest: append(udp, make([]byte, 40)...)}
}

func (s *scene) arrives(after Time, port int, f *frame) *scene {
	s.c.Events = append(s.c.Events, Event{After: after, Port: port, Data: s.j.f.bytes(f), Elided: f.elided})
	return s
}

func (s *scene) departs(after Time, pick int, depth int64) *scene {
	s.c.Events = append(s.c.Events, Event{After: after, Pick: pick, Depth: depth})
	return s
}

// agree plays the scene and expects no difference, and that it showed what it
// is about.
func (s *scene) agree(events ...string) {
	s.t.Helper()
	if diff := s.j.Run(&s.c); diff != nil {
		s.t.Fatalf("%s%s", s.c.describe(s.j.f), diff)
	}
	for _, e := range events {
		if s.j.Seen[e] == 0 {
			s.t.Errorf("the scene shows no %s: %v", e, s.j.Seen)
		}
	}
}

// cell is the queue of a port and the class of data.
func (s *scene) cell(port int) int { return s.j.f.cell(port, s.j.f.Lossless) }

// Telemetry and BTH were emitted in the wrong order.
func TestMarkedPacketsKeepTelemetryBeforeBTH(t *testing.T) {
	s := newScene(t, small(t, "hpcc-pbfs"))
	f := data(0, 1, 27, 2)
	be.PutUint16(f.rest[2:], 54791)
	records := make([]byte, 42)
	records[1] = 7
	f.rest = append(append(f.rest[:8:8], records...), []byte("BTH of twelve bytes")...)
	for port := range 12 {
		s.c.Config.Telemetry[port] = TelemetryParams{Rate: 3, Switch: 9}
	}
	s.arrives(0, 1, f).departs(1, 0, 0).agree("telemetry")
}

// Q¹ contained the packet that opened the slot.
func TestSlotBeginsWithTheQueueBeforeItsFirstPacket(t *testing.T) {
	p := small(t, "pbfs")
	s := newScene(t, p)
	s.c.Config.Nets[0].Paths = 0 // one way, by port 3
	s.set("egress_qlen", s.cell(3), 5000)
	s.arrives(0, 1, data(0, 1, 26, 2)).agree()
}

// With more queued than a round trip can send, nothing arriving was not
// congestion.
func TestQueueBeyondARoundTripIsCongestion(t *testing.T) {
	p := small(t, "pbfs")
	s := newScene(t, p)
	s.c.Config.Nets[0].Paths = 0
	s.c.Config.Capacity[3] = Capacity{78_125, 25_000}
	now := s.c.Config.slot(s.c.Now)
	first := 16*3 + int(now-8)&15
	s.set("slot_number", first, now-8).set("slot_qlen", first, 100_000)
	s.arrives(0, 1, data(0, 1, 27, 2)).departs(1, 0, 0).agree("postcard")
}

// A packet that caused a warning and a postcard sent one of them, but both
// were counted.
func TestOnePacketCausesOneMessage(t *testing.T) {
	p := small(t, "rlb-pbfs")
	s := newScene(t, p)
	s.c.Config.Capacity[1] = Capacity{10, 25_000}
	s.c.Config.Watch[s.cell(3)] = Watch{Dt: 1, Calm: 10}
	s.c.Config.Predict[s.cell(3)] = Predict{DC: 1, Qth: 1, QPFC: 2, Horizon: 1}
	now := s.c.Config.slot(s.c.Now)
	last := 16*1 + int(now-1)&15
	s.set("slot_number", last, now-1).set("slot_bytes", last, 1000)
	s.arrives(0, 3, data(1, 0, 27, 2)).departs(1, 0, 0).departs(1, 0, 0).agree("warning")
}

// adaptive is RLB* over ECMP with path 0 warned of, and path 1 slower.
func adaptive(t *testing.T) *scene {
	s := newScene(t, small(t, "rlb-adaptive-ecmp"))
	for p := range 4 {
		s.set("path_rtt", s.j.f.PathCells+p, 10_000+int64(p)*50_000)
		s.set("warned_until", s.j.f.PathCells+p, s.c.Now+1_000_000)
	}
	s.c.Cells = s.c.Cells[:len(s.c.Cells)-1] // path 3 is free
	return s
}

// A window that was opened by a packet that may not recirculate kept the
// counts of the one before.
func TestWindowOpensWithoutTheCountsOfTheLast(t *testing.T) {
	s := adaptive(t)
	s.c.Config.Most = 0
	s.set("window_start", 0, s.c.Now-3000).set("window_length", 0, 1000).set("port_passes", 3, 5)
	s.arrives(0, 1, data(0, 1, 26, 2)).arrives(10, 1, data(0, 1, 26, 2)).agree("denied by the limit")
}

// Two windows with the same suspect raised no alert if nothing was recirculated
// for a while after the second.
func TestAlertDoesNotNeedAThirdWindow(t *testing.T) {
	s := adaptive(t)
	s.c.Config.NRC = 0
	s.set("window_start", 0, s.c.Now-50_000).set("window_length", 0, 1000).set("port_passes", 3, 5).set("suspect_port", 0, 3)
	s.arrives(0, 1, data(0, 1, 26, 2)).agree("fault")
}

// With every path out of use, a packet whose warning had run out was counted
// as sent on a warned path.
func TestExpiredWarningIsNotCountedWhereAllPathsAreFaulty(t *testing.T) {
	s := newScene(t, small(t, "rlb-adaptive-ecmp"))
	s.set("faulty", 0, 15)
	for p := range 4 {
		s.set("warned_until", s.j.f.PathCells+p, s.c.Now)
	}
	s.arrives(0, 1, data(0, 1, 26, 2)).agree()
}

// warned_until had no room for the paths of the last rows.
func TestWarningsForAllLeavesHoldForAnyNumberOfPaths(t *testing.T) {
	for _, paths := range []int{3, 5, 6} {
		p := small(t, "rlb-ecmp")
		p.Sizes.Paths = paths
		s := newScene(t, p)
		s.c.Config.Nets[0].Paths = paths
		warning := &frame{dst: 1, src: 2, kind: typeLocal, cnm: &cnm{priority: 3, active: 1, scope: 0xffff, hold: 1000}, rest: make([]byte, 32)}
		for port := 3; port < 3+paths; port++ {
			s.c.Config.Neighbours[port] = Neighbour{Path: port - 3}
			s.arrives(1, port, warning)
		}
		s.arrives(1, 1, data(0, 1, 26, 2)).agree("warned path taken")
	}
}

// A warning that had run out stayed until its path was chosen, so that others
// did not find it free.
func TestExpiredWarningsFreeTheirPaths(t *testing.T) {
	s := newScene(t, small(t, "rlb-ecmp"))
	for p := range 4 {
		until := s.c.Now + 1000
		if p == 3 {
			until = s.c.Now - 1
		}
		s.set("warned_until", s.j.f.PathCells+p, until)
	}
	s.arrives(0, 1, data(0, 1, 26, 2)).agree("reroute")
}

// The product that gives t_rc overflowed 32 bits.
func TestLongRecirculationQueuesDoNotOverflow(t *testing.T) {
	s := newScene(t, small(t, "rlb-ecmp"))
	s.c.Config.ByteTime = 8192 // 1 Gb/s
	for p := range 4 {
		s.set("path_rtt", s.j.f.PathCells+p, 1000+int64(p)*100_000)
		s.set("warned_until", s.j.f.PathCells+p, s.c.Now+int64(1-p/3)*1_000_000)
	}
	s.set("recirc_returned", 0, 524_288) // takes 4 ms, not 0
	s.arrives(0, 1, data(0, 1, 26, 2)).agree("reroute")
}

// A packet with IP options got a checksum without them.
func TestPacketsWithOptionsKeepTheirChecksum(t *testing.T) {
	s := newScene(t, small(t, "ecmp"))
	s.c.Config.REDDefault = REDParams{0, 0, 0}
	f := data(0, 1, 26, 2)
	f.ip.b[0] = 0x46
	f.rest = append([]byte{1, 1, 1, 0}, f.rest...)
	f.ip.update(f.rest)
	s.arrives(0, 1, f).departs(1, 0, 9).agree()
}

// Slots were numbered by a clock of 32 bits, and lost eight slots at its wrap.
func TestSlotsSurviveTheWrapOfTheClock(t *testing.T) {
	p := small(t, "pbfs")
	s := newScene(t, p)
	s.c.Config.Nets[0].Paths = 0
	s.c.Config.Capacity[3] = Capacity{10, 25_000}
	s.c.Now = 6<<32 - 2000
	s.arrives(0, 1, data(0, 1, 26, 2)).arrives(4000, 1, data(0, 1, 27, 2)).agree("postcard")
}

// The copies that pass a warning on were counted at port 0.
func TestWarningsPassedOnCountAtTheirPorts(t *testing.T) {
	p := small(t, "rlb-conga")
	p.Name = "rlb-conga-int"
	p.Choose("int", "on")
	s := newScene(t, p)
	s.c.Config.Leaf = -1
	s.c.Config.Neighbours[3] = Neighbour{Path: 0, Group: 3}
	s.c.Config.Groups[3] = []int{4, 5}
	s.c.Config.LinkWeight[4] = 1 << 16
	warning := &frame{dst: 1, src: 2, kind: typeLocal, cnm: &cnm{priority: 3, active: 1, hops: 1, scope: 1, hold: 1000}, rest: make([]byte, 32)}
	s.arrives(1, 3, warning).departs(1, 0, 0).departs(1, 0, 0).agree("warning passed on")
}

// What a packet would have to wait contained the packet itself.
func TestExpectedWaitIsTheQueueThatAPacketFinds(t *testing.T) {
	s := newScene(t, small(t, "plb"))
	s.c.Config.PauseByteTime[3] = 1024 // a tick a byte
	s.c.Config.PauseByteTime[4], s.c.Config.PauseByteTime[5], s.c.Config.PauseByteTime[6] = 1024, 1024, 1024
	for p := range 4 {
		s.set("path_rtt", s.j.f.PathCells+p, 1000+int64(min(p, 1))*50) // path 0 is faster by 50
		s.set("paused_until", s.cell(3+p), s.c.Now+10_000)
	}
	s.arrives(0, 1, data(0, 1, 26, 2)).agree("wait")
}

// Records would have counted queues in bytes where the target does.
func TestTelemetryNeedsATargetThatCountsCells(t *testing.T) {
	p := small(t, "hpcc")
	p.Units.Depth = manifest.Bytes
	if p.Check() == nil {
		t.Error("records count in units of 80 bytes")
	}
}

// An ARP packet that met a pause was sent back as it was: it has no source
// address that a leaf could be told by.
func TestOnlyIPPacketsTellALeafToLeaveAPath(t *testing.T) {
	p := small(t, "plb")
	p.Sizes.Priorities = 1 // so that ARP packets are in the paused class
	s := newScene(t, p)
	s.c.Config.Leaf = -1
	s.c.Config.Nets[0].Paths = 0
	s.c.Config.PauseByteTime[3] = 1024
	s.set("paused_until", s.cell(3), s.c.Now+10_000).set("sojourn", s.cell(3), 100)
	f := &frame{dst: 2, src: 1, kind: typeARP, fabric: &fabric{dstLeaf: 1}, arp: make([]byte, 28)}
	be.PutUint32(f.arp[24:], uint32(address(1, 1)))
	s.arrives(0, 4, f).departs(1, 0, 0).departs(1, 0, 0).agree()
}

// A PFC frame made of a kick-out message had that behind it.
func TestPauseFramesOfKickOutMessagesHaveNothingBehindThem(t *testing.T) {
	p := small(t, "plb")
	p.Choose("pfc", "emulated")
	p.Units.Depth = manifest.Bytes
	s := newScene(t, p)
	s.c.Config.Leaf = -1
	s.c.Config.Nets[0].Paths = 0
	s.c.Config.PFCThreshold[s.j.f.cell(4, 7)] = PFCThreshold{XOFF: 1000}
	s.set("pausing_since", s.j.f.cell(4, 7), s.c.Now-100)
	message := &frame{dst: 1, src: 2, kind: typeLocal, kick: &kick{path: 2, host: address(1, 1)}, rest: make([]byte, 38)}
	s.arrives(0, 4, message).departs(1, 0, 0).departs(1, 0, 0).agree("resume")
}

// A kick-out message about a marked packet had that packet's UDP and BTH
// behind it.
func TestKickOutMessagesHaveNothingBehindThem(t *testing.T) {
	p := small(t, "plb")
	p.Choose("pbfs", "on")
	s := newScene(t, p)
	s.c.Config.Leaf = -1
	s.c.Config.Nets[0].Paths = 0
	s.c.Config.PauseByteTime[3] = 1024
	s.set("paused_until", s.cell(3), s.c.Now+10_000).set("sojourn", s.cell(3), 100)
	f := data(2, 1, 27, 2)
	f.fabric = &fabric{dstLeaf: 1}
	s.arrives(0, 4, f).departs(1, 0, 0).departs(1, 0, 0).agree("kick-out told")
}

// A packet that paused its sender and met a pause told its leaf to leave the
// path instead.
func TestPauseBeforeKickOut(t *testing.T) {
	p := small(t, "plb")
	p.Choose("pfc", "emulated")
	p.Units.Depth = manifest.Bytes
	s := newScene(t, p)
	s.c.Now++ // a pause at time zero is none
	s.c.Config.Leaf, s.c.Config.MaxHolds = -1, 0
	s.c.Config.Nets[0].Paths = 0
	s.c.Config.PauseByteTime[3] = 1024
	s.c.Config.PFCThreshold[s.cell(4)] = PFCThreshold{XOFF: 10}
	s.set("paused_until", s.cell(3), s.c.Now+10_000).set("sojourn", s.cell(3), 100)
	f := data(2, 1, 26, 2)
	f.fabric = &fabric{dstLeaf: 1}
	s.arrives(0, 4, f).departs(1, 0, 0).departs(1, 0, 0).agree("pause")
}

// A packet of the controller that would recirculate had its ingress queue read
// past the end of the register.
func TestControllersPacketsRecirculateToo(t *testing.T) {
	s := adaptive(t)
	for p := range 4 {
		s.set("path_rtt_time", s.j.f.PathCells+p, s.c.Now)
	}
	s.arrives(0, 510, data(0, 1, 26, 2)).departs(1, 0, 0).departs(1, 0, 0).agree("recirculation")
}

// On BMv2, the end of a warning was told after the warning of a queue that had
// become long again, so that the switch before took it for over.
func TestWarningStandsIfTheQueueIsLongAgain(t *testing.T) {
	s := newScene(t, small(t, "rlb-drill-bmv2"))
	const calm = 1000
	s.c.Config.Watch[s.cell(3)] = Watch{Dt: 1 << 30, Calm: calm}
	s.set("ingress_qlen", s.cell(3), calm-1).set("sampled_at", s.cell(3), s.c.Now).set("warning_on", s.cell(3), 1)
	f := data(1, 0, 26, 2)
	s.arrives(0, 3, f).departs(1, 0, 0).arrives(1, 3, f)
	// Of port 1's queue and port 3's with the message, in this order, the second.
	s.departs(1, 1, 0).agree("warning taken back", "warning stands")
}
