// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// tofino is pauseless switch with programs for a Tofino: they use nanoseconds, and
// egress reports to ingress through a recirculation port. Its tests are those of rules
// that are the same as on v1model (everyTarget), and those here, of rules that differ
// according to docs/tofino.md.
type tofino struct{ soft }

func (s *tofino) arch() string { return "tna" }

func (s *tofino) now() uint32 { return uint32(s.at / vtime.Nanosecond) }

func (s *tofino) start(t testing.TB, ports int) controlplane.Target {
	t.Helper()
	return s.startWith(t, ports, manifest.TofinoRecirculation)
}

// onTofino reports whether a profile has a program for Tofino.
func onTofino(profile string) bool {
	p, err := gen.Builtin(profile)
	if err != nil {
		return false
	}
	_, err = gen.Generate(p, "tna")
	return err == nil
}

// loadTofino is load for a Tofino program.
func loadTofino(t *testing.T, profile, network, node string, set map[string]string) (*dut, *tofino) {
	t.Helper()
	sw := new(tofino)
	return load(t, sw, profile, network, node, set), sw
}

// loadChanged is loadTofino for a changed profile, in a network with two spines.
func loadChanged(t *testing.T, sw *tofino, profile, node string, change func(*gen.Profile)) *dut {
	t.Helper()
	p, err := gen.Builtin(profile)
	if err != nil {
		t.Fatal(err)
	}
	change(p)
	prog, err := gen.Generate(p, "tna")
	if err != nil {
		t.Fatal(err)
	}
	return loadProgram(t, sw, prog, leafSpine(2), node)
}

// pair writes both fields of a cell of a register of pairs.
func (s *tofino) pair(d *dut, register string, first, second uint32, at ...int) {
	d.Helper()
	s.sw.Lock()
	defer s.sw.Unlock()
	for _, r := range s.sw.State().Registers {
		if r.Info.Name == register {
			r.Cell(d.cell(register, at))[0] = uint64(first)<<32 | uint64(second)
			return
		}
	}
	d.Fatalf("no register %s", register)
}

// counted reads a counter of a table of the program.
func (s *tofino) counted(d *dut, name string) uint64 {
	d.Helper()
	for _, c := range d.manifest.Counters {
		if c.Name != name {
			continue
		}
		n, err := d.session.ReadTableCounter(d.Context(), c.Table, c.Action)
		if err != nil {
			d.Fatal(err)
		}
		return n
	}
	d.Fatalf("no counter %s", name)
	return 0
}

// wantBoth checks both fields of a cell of a register of pairs.
func (s *tofino) wantBoth(d *dut, first, second uint32, register string, at ...int) {
	d.Helper()
	if a, b := s.both(d, register, at...); a != first || b != second {
		d.Errorf("register %s%v is %#x, %d; want %#x, %d", register, at, a, b, first, second)
	}
}

// tell sends CLB's ingress a report of a queue, as in a copy from egress, of a packet
// with a number of paths.
func (s *tofino) tell(way, ways, priority byte, qlen uint32) {
	const feedback = 1
	b := binary.BigEndian.AppendUint32([]byte{feedback, priority, way}, qlen)
	s.send(manifest.TofinoRecirculation, append(append(b, ways-1), make([]byte, 52)...))
}

// untold disables reports of egress, so that queue lengths set by a test do not
// change.
func (s *tofino) untold() {
	const feedbackSession = 1000
	s.sw.Lock()
	defer s.sw.Unlock()
	s.sw.DeleteSession(feedbackSession)
}

// A flowcell ends with the packet that exceeds its size: the register compares before
// it adds.
func TestPrestoOnTofinoEndsAFlowcellWithThePacketThatFillsIt(t *testing.T) {
	t.Parallel()
	d, _ := loadTofino(t, "presto", leafSpine(3), "l1", map[string]string{"presto.flowcell": "2500B"})
	got := uplinks(d, times(12, data)...) // of 1054 bytes: the third exceeds it
	for i := range got {
		if want := (got[0]-3+i/3)%3 + 3; got[i] != want {
			t.Fatalf("packets took ports %v, the %d-th should take %d", got, i, want)
		}
	}
}

// The best path is stored with its queue length. The samples are read from two copies
// of the queue lengths that egress reports.
func TestDRILLOnTofinoTakesTheShortestReportedQueue(t *testing.T) {
	t.Parallel()
	d, sw := loadTofino(t, "drill", leafSpine(2), "l1", nil)
	// A departing packet reports its queue, which is empty.
	for _, register := range []string{"egress_qlen", "egress_qlen_copy"} {
		d.set(register, 77, 0, 3)
		d.set(register, 77, 1, 3)
	}
	way := uplinks(d, data)[0] - 3
	for _, register := range []string{"egress_qlen", "egress_qlen_copy"} {
		d.want(0, register, way, 3)
		d.want(77, register, 1-way, 3)
	}
	sw.untold()
	for _, register := range []string{"egress_qlen", "egress_qlen_copy"} {
		d.set(register, 5000, 0, 3)
		d.set(register, 0, 1, 3)
	}
	// The stored best path is taken while no sample has a shorter queue.
	sw.pair(d, "drill_best", 0, 1, 1, 1)
	if got := uplinks(d, times(8, data)...); distinct(got) != 1 || got[0] != 4 {
		t.Errorf("packets took ports %v, 4 is the shortest", got)
	}
	// Three of four pairs of samples include a shorter queue, which is stored.
	found := 0
	for range 16 {
		sw.pair(d, "drill_best", 5000, 0, 1, 1)
		port := uplinks(d, data)[0]
		d.want(uint64(5000*(4-port)), "drill_best", 1, 1)
		found += port - 3
	}
	if found < 4 || found > 15 {
		t.Errorf("the shorter queue was found %d times of 16", found)
	}
}

// The classes are those of v1model. The best path is found one path at a time.
func TestCLBOnTofinoTakesTheBestPortByClassThenLengthOrGrowth(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		name   string
		queues [4]uint32
		growth [4]uint32
		want   int
	}{
		{"A before all others", [4]uint32{50_000, 60_000, 150_000, 150_000}, [4]uint32{1, 0, 0, 1}, 1},
		{"B before C and D", [4]uint32{150_000, 150_000, 90_000, 150_000}, [4]uint32{0, 0, 7000, 1}, 2},
		{"C before D", [4]uint32{110_000, 110_000, 110_000, 200_000}, [4]uint32{1, 2, 3, 0}, 3},
		{"the shortest queue of A", [4]uint32{30_000, 20_000, 10_000, 40_000}, [4]uint32{}, 2},
		{"the slowest growth of B", [4]uint32{10_000, 20_000, 30_000, 40_000}, [4]uint32{9000, 8000, 5000, 2000}, 3},
		{"the shortest queue of C", [4]uint32{130_000, 120_000, 140_000, 150_000}, [4]uint32{}, 1},
		{"the slowest growth of D", [4]uint32{130_000, 120_000, 140_000, 150_000}, [4]uint32{30_000, 40_000, 10_000, 50_000}, 2},
		{"a queue at the threshold is over it", [4]uint32{100_000, 99_999, 100_000, 100_000}, [4]uint32{0, 50_000, 0, 0}, 1},
	} {
		if testing.Short() && i%4 != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			d, sw := loadTofino(t, "clb", leafSpine(4), "l1", map[string]string{"clb.gap": "0s", "clb.threshold": "100KB"})
			sw.untold()
			d.rule("clb default -> set_clb(queue_threshold=100000, interval=1, tie_bytes=1)")
			for i := range 4 {
				sw.tell(byte(i), 4, 3, c.queues[i]-c.growth[i])
				sw.tell(byte(i), 4, 3, c.queues[i])
			}
			uplinks(d, times(60, data)...) // each reads one path
			if got := uplinks(d, times(8, data)...); distinct(got) != 1 || got[0] != 3+c.want {
				t.Errorf("took ports %v, want %d", got, 3+c.want)
			}
		})
	}
}

// ways routes packets to a host's leaf over a number of paths.
func ways(d *dut, host string, n int, more string) {
	d.Helper()
	leaf := d.net.NodeByName(host).Leaf
	d.rule(fmt.Sprintf("route dst_addr=%v/24 -> to_leaf(leaf=%d, first_port=3, last_path=%d%s)", topo.LeafPrefix(leaf).Addr(), leaf, n-1, more))
}

// When there are fewer paths to a leaf, its best path may not exist any more, and no
// other path may have as good a rank.
func TestBestPathOnTofinoExists(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, d *dut, more string) {
		if got := uplinks(d, data)[0]; got != 6 {
			t.Errorf("took port %d, the best is 6", got)
		}
		ways(d, "h3", 2, more)
		if got := uplinks(d, times(20, data)...); slices.Max(got) > 4 {
			t.Errorf("with two ways packets took ports %v", got)
		}
	}
	t.Run("drill", func(t *testing.T) {
		d, sw := loadTofino(t, "drill", leafSpine(4), "l1", nil)
		sw.untold()
		for path := range 3 {
			d.set("egress_qlen", 5000, path, 3)
			d.set("egress_qlen_copy", 5000, path, 3)
		}
		sw.pair(d, "drill_best", 0, 3, 1, 3)
		check(t, d, "")
	})
	for _, profile := range congas() {
		t.Run(profile, func(t *testing.T) {
			d, sw := loadTofino(t, profile, leafSpine(4), "l1", map[string]string{"conga.gap": "0s"})
			for path := range 3 {
				sw.pair(d, "congestion_to", 5, d.now(), 1, path)
			}
			sw.pair(d, "congestion_best", 0, 3, 1, 3)
			check(t, d, ", hash_shift=8")
		})
	}
}

// The best one of four paths may not exist for a packet with two or three paths.
func TestCLBOnTofinoTakesAnExistingPath(t *testing.T) {
	t.Parallel()
	d, sw := loadTofino(t, "clb", leafSpine(4), "l1", map[string]string{"clb.gap": "0s", "clb.threshold": "100KB"})
	sw.untold()
	ways(d, "h5", 2, ", hash_shift=8")
	few := roce{src: "h1", dst: "h5", sport: 5000}.bytes()
	for i, queue := range []uint32{40_000, 30_000, 20_000, 10_000} {
		for range 2 { // without growth
			sw.tell(byte(i), 4, 3, queue)
		}
	}
	for range 40 {
		uplinks(d, data, few)
	}
	for i := range 8 {
		if got := uplinks(d, data, few); got[0] != 6 || got[1] != 4 {
			t.Errorf("with four and two ways packets took ports %v, want 6 and 4", got)
		}
		d.want(10_000, "clb_best", 3, 3)
		d.want(30_000, "clb_best", 1, 3)
		if i == 4 { // reports of a queue update the best path of their number of paths
			sw.tell(0, 2, 3, 20_000)
			d.want(20_000, "clb_best", 1, 3)
			d.want(10_000, "clb_best", 3, 3)
			sw.tell(0, 2, 3, 40_000)
			sw.tell(1, 2, 3, 30_000)
			sw.tell(1, 2, 3, 30_000)
		}
	}
	// One path fewer: the remaining paths are found.
	ways(d, "h3", 3, ", hash_shift=8")
	for i := range 60 {
		if got := uplinks(d, data)[0]; got > 5 || i >= 50 && got != 5 {
			t.Errorf("with three ways a packet took port %d", got)
		}
	}
}

// messages returns the messages between switches that a port sent. On Tofino a part of
// a packet follows them.
func messages(list []frame, port int) []cnm {
	var out []cnm
	for _, data := range from(list, port) {
		if eth := packet.AsEthernet(data); eth.EtherType() == packet.EtherTypeLocal {
			out = append(out, cnmOf(eth.Payload()))
		}
	}
	return out
}

func TestRLBOnTofinoWarnsUpstreamOncePerSampleAboveTheThreshold(t *testing.T) {
	t.Parallel()
	d, sw := loadTofino(t, "rlb-drill", leafSpine(2), "l1", map[string]string{"rlb.warn": "100KB", "rlb.interval": "2us"})
	size := uint32(len(down) - packet.EthernetLen)
	const tick = 2048 // the interval, as a power of two
	arrive := func(queued, ticks uint32) []cnm {
		sw.pair(d, "ingress_qlen", queued-size, d.now()&^(tick-1)-ticks*tick, 3, 3)
		d.send(3, down)
		out := d.sent()
		if len(from(out, 1)) != 1 {
			t.Errorf("came out: %v", out)
		}
		return messages(out, 3)
	}
	got := arrive(100_001, 1)
	if len(got) != 1 {
		t.Fatalf("%d warnings, want one", len(got))
	}
	m := got[0]
	if id, port := m.Origin(); !m.Active() || m.Kind() != packet.KindWarning || m.priority() != 3 || m.scope() != 0 ||
		m.hops() != 1 || id != 1 || port != 3 || m.hold() != 25_600 {
		t.Errorf("warning % x", []byte(m.CNM))
	}
	if got := arrive(100_001, 0); len(got) != 0 {
		t.Error("warned again within the interval")
	}
	d.want(uint64(100_001-size), "ingress_qlen", 3, 3) // egress has reported the packet before
	if got := arrive(100_000, 1); len(got) != 0 {
		t.Error("warned at the threshold")
	}
	// A queue without accesses for 10 ms is reset.
	if got := arrive(1<<20, 10_000_000/tick+1); len(got) != 0 {
		t.Error("warned of a queue of long ago")
	}
	if n := sw.counted(d, "warnings_sent"); n != 1 {
		t.Errorf("%d warnings are counted, 1 was sent", n)
	}
}

// The bytes of a queue are subtracted when egress reports them, as negative numbers.
func TestRLBOnTofinoCountsDepartures(t *testing.T) {
	t.Parallel()
	d, sw := loadTofino(t, "rlb-drill", leafSpine(2), "l1", nil)
	size := uint64(len(down) - packet.EthernetLen)
	sw.pair(d, "ingress_qlen", 50_000, d.now()&^2047, 3, 3)
	d.send(3, down)
	d.want(50_000+size, "ingress_qlen", 3, 3)
	d.send(3, down) // more than 1 µs later: egress reports the first one
	d.want(50_000+size, "ingress_qlen", 3, 3)
	sw.pair(d, "ingress_qlen", 0, d.now()&^2047, 1, 3)
	d.send(1, data)
	d.want(0, "ingress_qlen", 1, 3) // hosts get no warnings
}

// hold is the time from the start of a window until its warnings expire, and the
// length of the window.
func (s *tofino) hold(d *dut) (window, hold uint32) {
	d.Helper()
	ns, err := d.manifest.Value("rlb.hold", d.manifest.Network)
	if err != nil {
		d.Fatal(err)
	}
	for window = 1; window*2 <= uint32(ns); window *= 2 {
	}
	return window, uint32(ns) + window/2
}

// warn sets warned paths in a window that begins now, and slow paths in the bits above
// them.
func (s *tofino) warn(d *dut, register string, paths uint32, at int) {
	d.Helper()
	s.pair(d, register, paths, d.now(), at)
}

func TestRLBOnTofinoWarningsOfAWindowExpireTogether(t *testing.T) {
	t.Parallel()
	d, sw := loadTofino(t, "rlb-drill", leafSpine(3), "l1", nil)
	window, hold := sw.hold(d)
	for _, c := range []struct {
		register string
		scope    uint16
		at       int
	}{{"warned", 1, 1}, {"warned_all", scopeAll, 0}} {
		begin := d.now()
		d.drops(4, warning(true, 0, c.scope, far))
		sw.wantBoth(d, 0x40, begin, c.register, c.at)
		d.want(0x40, c.register, c.at) // the value that a controller reads
		begin = d.now() - window
		sw.pair(d, c.register, 0x20, begin, c.at)
		d.drops(4, warning(true, 0, c.scope, far))
		sw.wantBoth(d, 0x60, begin, c.register, c.at)
		d.drops(4, warning(false, 0, c.scope, far)) // a warning expires by itself
		sw.wantBoth(d, 0x60, begin, c.register, c.at)
		// The first warning of a window ends those of the last window.
		begin = d.now()
		sw.pair(d, c.register, 0x20, begin-window-1, c.at)
		d.drops(4, warning(true, 0, c.scope, far))
		sw.wantBoth(d, 0x40, begin, c.register, c.at)
		for _, age := range []struct {
			ns   uint32
			port int
		}{{hold, 5}, {hold + 1, 3}} {
			sw.pair(d, c.register, 0xc0, d.now()-age.ns, c.at)
			sw.pair(d, "drill_best", 0, 0, 1, 2)
			if port, _ := d.through(1, data); port != age.port {
				t.Errorf("%s: after %d ns, a packet left by port %d, want %d", c.register, age.ns, port, age.port)
			}
		}
		sw.pair(d, c.register, 0, 0, c.at)
	}
	d.drops(3, warning(true, 0, 64, far)) // there is no such leaf
	d.drops(1, warning(true, 0, 1, far))  // not from a host
	sw.wantBoth(d, 0, 0, "warned", 1)
}

func TestRLBOnTofinoTakesAnotherPathThanTheWarnedOne(t *testing.T) {
	t.Parallel()
	list := []string{"rlb-drill", "rlb-ecmp", "rlb-presto", "rlb-letflow", "rlb-conga", "rlb-hermes", "rlb-adaptive-drill", "rlb-adaptive-presto",
		"rlb-adaptive-letflow", "rlb-adaptive-conga", "rlb-adaptive-hermes"}
	if testing.Short() {
		list = []string{"rlb-drill", "rlb-hermes", "rlb-adaptive-conga"}
	}
	for _, profile := range list {
		t.Run(profile, func(t *testing.T) {
			d, sw := loadTofino(t, profile, leafSpine(3), "l1", nil)
			var used []int
			for i := range 6 {
				// The first path is warned for this leaf, the last one for all leaves.
				sw.warn(d, "warned", 0x80, 1)
				sw.warn(d, "warned_all", 0x20, 0)
				f := data
				if d.manifest.Has("hermes") { // also the path of the tag
					f = tagged(data, uint8(i%4))
				}
				port, _ := d.through(1, f)
				used = append(used, port)
			}
			if slices.ContainsFunc(used, func(p int) bool { return p != 4 }) {
				t.Errorf("packets took ports %v, but only 4 is free", used)
			}
		})
	}
}

func TestRLBOnTofinoKeepsTheChoiceIfAllPathsAreWarned(t *testing.T) {
	t.Parallel()
	d, sw := loadTofino(t, "rlb-drill", leafSpine(2), "l1", nil)
	sw.warn(d, "warned", 0xc0, 1)
	sw.pair(d, "drill_best", 0, 1, 1, 1)
	if port, _ := d.through(1, data); port != 4 {
		t.Errorf("left by port %d, want the choice, 4", port)
	}
}

// A packet waits for its path if the round trip of the other path exceeds the base RTT
// by more than a recirculation, and that of its own path does not.
func TestRLBOnTofinoWaitsByRecirculationIfTheOtherPathIsSlower(t *testing.T) {
	t.Parallel()
	for profile, slow := range map[string]uint32{"rlb-drill": 0x8000, "rlb-adaptive-drill": 0x80808000, "rlb-conga": 0x8000, "rlb-adaptive-conga": 0x80808000} {
		t.Run(profile, func(t *testing.T) {
			d, sw := loadTofino(t, profile, leafSpine(2), "l1", map[string]string{"rlb.max_recirculations": "7", "conga.gap": "0s"})
			best := "drill_best"
			if d.manifest.Has("conga") {
				best = "congestion_best"
				sw.pair(d, "congestion_to", 5, d.now(), 1, 0)
			}
			for _, c := range []struct {
				slow uint32
				port int
			}{{slow, 4}, {0, 3}, {slow | slow>>1, 3}} {
				sw.pair(d, best, 0, 1, 1, 1)
				sw.warn(d, "warned", 0x40|c.slow, 1)
				if port, _ := d.through(1, data); port != c.port {
					t.Errorf("paths %#x are slow: left by port %d, want %d", c.slow, port, c.port)
				}
			}
			passes, most := sw.counted(d, "recirculations"), uint64(7)
			if n := sw.counted(d, "reroutes"); n != 2 || passes == 0 || passes > most || passes < most && !d.manifest.Has("rlb_adaptive") {
				t.Errorf("%d reroutes and %d recirculations are counted, want 2 and %d", n, passes, most)
			}
		})
	}
}

// The other leaf echoes a stamp plus the time that it waited there. The lowest bits of
// the stamp are the path.
func TestRLBOnTofinoMeasuresPathsBetweenLeaves(t *testing.T) {
	t.Parallel()
	d, sw := loadTofino(t, "rlb-drill", leafSpine(2), "l1", nil)
	header := func(flags byte, stamp, echo uint32) []byte {
		b := append(slices.Clone(down[:packet.EthernetLen]), 0x08, 0x00, 0, 1, 1, flags)
		b = binary.BigEndian.AppendUint32(b, stamp)
		b = binary.BigEndian.AppendUint32(append(b, 0), echo)
		b = append(b, down[packet.EthernetLen:]...)
		packet.Ethernet(b).Set(mac("h1"), mac("h3"), packet.EtherTypeFabric)
		return b
	}
	stamped := 0
	for range 64 {
		sw.pair(d, "drill_best", 0, 1, 1, 1)
		sent := d.now()
		_, out := d.through(1, data)
		h := fabric(out)
		if h == nil {
			continue
		}
		stamped++
		stamp := be32(h[6:])
		if be16(h) != packet.EtherTypeIPv4 || be16(h[2:]) != 0 || h[4] != 1 || h[5] != 0x80 || stamp&7 != 1 || stamp-sent > 10_000 {
			t.Errorf("header % x", h[:15])
		}
	}
	if stamped < 2 || stamped > 20 {
		t.Errorf("%d packets of 64 were stamped, want one in eight", stamped)
	}
	// An echo decides whether the path is slow. It begins no window while warnings are
	// valid, as that would end them.
	d.rule("Compath default -> compare_paths(slow=10000)")
	window, hold := sw.hold(d)
	for _, c := range []struct {
		rtt, age, before, after uint32
	}{{10_008, 0, 0x8020, 0xc020}, {9_992, hold + 1, 0xc020, 0x8020}, {10_008, window + 1, 0x8020, 0xc020}, {10_008, hold, 0x8020, 0xc020}, {10_008, hold + 1, 0x8020, 0x4000}} {
		since := d.now() - c.age
		sw.pair(d, "warned", c.before, since, 1)
		if c.after&0x20 == 0 {
			since = d.now()
		}
		d.passesAs(4, 1, header(0x40, 0, (d.now()-c.rtt)&^7|1), down)
		sw.wantBoth(d, c.after, since, "warned", 1)
	}
	// A stamp that arrives here is echoed with the next packet to that leaf.
	stamp := uint32(d.now()-3000)&^7 | 1
	d.passesAs(4, 1, header(0x80, stamp, 0), down)
	_, out := d.through(1, data) // 1 ms later
	h := fabric(out)
	if h == nil || h[5]&0x40 == 0 {
		t.Fatalf("no echo: % x", out[:34])
	}
	if echo := be32(h[11:]); echo&7 != 1 || echo-stamp-1_000_000 > 10_000 {
		t.Errorf("echo is %d: the stamp was %d, the wait 1 ms", echo, stamp)
	}
	d.want(0, "echo_age", 1)
}

// The bytes sent in the last window of 8 slots, plus eight times the bytes that arrived
// in the last slot, are compared with the bytes that the port can send.
func TestPBFSOnTofinoNotifiesTheSenderOfCongestion(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"pbfs", "rlb-pbfs", "hpcc-pbfs", "conga", "plb"} {
		t.Run(profile, func(t *testing.T) {
			sw := new(tofino)
			d := loadChanged(t, sw, profile, "l1", func(p *gen.Profile) { p.Choose("pbfs", "on") })
			for _, c := range []struct {
				capacity string
				frame    []byte
				postcard bool
			}{
				{"34800", marked, false}, {"34799", marked, true},
				{"0", roce{src: "h1", dst: "h2", sport: 5000}.bytes(), false}, // not requested
			} {
				d.rule("pbfs_port out_port=2 -> set_capacity(round_trip_bytes=" + c.capacity + ", mbps=25000)")
				if profile == "hpcc-pbfs" {
					c.frame = withINT(roce{src: "h1", dst: "h2", sport: 5000, dscp: packet.IPv4(c.frame[packet.EthernetLen:]).DSCP()})
				}
				slot := d.now() >> 10
				sw.pair(d, "slot_bytes", 3000, slot-1, 2)
				sw.pair(d, "slot_marked", 700, slot-1, 2)
				sw.pair(d, "window_bytes", 10_000, slot>>3-1, 2)
				if profile == "rlb-pbfs" { // the copy of a packet reports a departure to ingress
					sw.pair(d, "departed", 0, d.now(), 1, 3)
				}
				d.set("window_qlen", 800, 2)
				d.send(1, c.frame)
				out := d.sent()
				if got := from(out, 2); len(got) != 1 || len(got[0]) != len(c.frame) || profile != "hpcc-pbfs" && !slices.Equal(got[0], c.frame) {
					t.Fatalf("the packet came out as %v", out)
				}
				cards := from(out, 1)
				if (len(cards) == 1) != c.postcard {
					t.Fatalf("capacity %s: %d postcards", c.capacity, len(cards))
				}
				if !c.postcard {
					continue
				}
				eth := packet.AsEthernet(cards[0])
				ip := packet.AsIPv4(eth.Payload())
				udp := packet.AsUDP(ip.Payload())
				p := packet.AsPostcard(udp.Payload())
				if eth.Dst() != mac("h1") || eth.Src() != mac("h2") || ip.Src() != addr("h2") || ip.Dst() != addr("h1") ||
					!ip.ChecksumOK() || ip.DSCP() != packet.DSCPPostcard || udp.SrcPort() != 5000 || udp.DstPort() != packet.PortPostcard || p == nil {
					t.Fatalf("postcard % x", cards[0])
				}
				recent, recentMarked := p.Recent()
				if p.Switch() != 1 || p.DestQP() != 0x77 || p.Arriving() != 34_000 || p.Queue() != 800 || p.Rate() != 25_000 || recent != 3000 || recentMarked != 700 {
					t.Errorf("switch %d, QP %#x, I_p %d, Q1 %d, T %d, recent %d, marked %d", p.Switch(), p.DestQP(), p.Arriving(), p.Queue(), p.Rate(), recent, recentMarked)
				}
				d.want(1, "postcards", 2)
			}
		})
	}
}
