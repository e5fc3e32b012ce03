// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/fabric/fabrictest"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// bed is a fabric of plain switches.
type bed struct {
	*Fabric
	t        testing.TB
	net      *topo.Topology
	switches map[string]*fabrictest.Switch
}

type option func(*Config, *fabrictest.Config)

func hosts(do func(*roce.Config)) option {
	return func(c *Config, _ *fabrictest.Config) { do(&c.Hosts) }
}

func switches(do func(*fabrictest.Config)) option {
	return func(_ *Config, s *fabrictest.Config) { do(s) }
}

func threads(n int) option { return func(c *Config, _ *fabrictest.Config) { c.Threads = n } }

func faults(f ...Fault) option { return func(c *Config, _ *fabrictest.Config) { c.Faults = f } }

// newBed builds a fabric with switches of 9 MB that pause at 256 KB per ingress
// port, and hosts that send at line rate.
func newBed(t testing.TB, topology string, options ...option) *bed {
	t.Helper()
	net, err := topo.Parse("topology.yaml", []byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, net: net, switches: make(map[string]*fabrictest.Switch)}
	sw := fabrictest.Config{Overhead: 24, Buffer: 9e6, XOFF: 256e3, Resume: 2e3, Headroom: 3, Seed: 1}
	cfg := Config{Topology: net, Hosts: roce.Papers.Defaults(), Seed: 1}
	for _, o := range options {
		o(&cfg, &sw)
	}
	cfg.Switch = func(n *topo.Node, net Network) (Node, error) {
		s := fabrictest.New(cfg.Topology, n, net, sw)
		b.switches[n.Name] = s
		return s, nil
	}
	if b.Fabric, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	b.engine.crew.least = 8 // windows of small networks are shared, too
	return b
}

// flow returns a flow between two hosts by name.
func (b *bed) flow(src, dst string, size int64, start vtime.Time) Flow {
	return Flow{Src: b.net.NodeByName(src).ID, Dst: b.net.NodeByName(dst).ID, Size: size, Start: start, Class: 3}
}

func (b *bed) add(flows ...Flow) {
	b.t.Helper()
	if err := b.AddFlows(flows); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) until(t vtime.Time) {
	b.t.Helper()
	if err := b.RunUntil(context.Background(), t); err != nil {
		b.t.Fatal(err)
	}
}

// finish runs until all flows are done and returns the results.
func (b *bed) finish() *Results {
	b.t.Helper()
	for !b.Done() {
		b.until(b.Now() + vtime.Millisecond)
		if b.Now() > 10*vtime.Second {
			b.t.Fatalf("%d of %d flows are not finished", len(b.flows)-b.flowsDone(), len(b.flows))
		}
	}
	return b.Results()
}

const pairOfLeaves = "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}"

func TestLoneFlowTakesItsIdealTime(t *testing.T) {
	for _, topology := range []string{
		pairOfLeaves,
		"leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, rate: 40Gbps, uplink_rate: 10Gbps, delay: 2us}",
		"leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, rate: 25Gbps, uplink_rate: 100Gbps, delay: 1us}",
		"fat_tree: {k: 4, rate: 100Gbps, delay: 600ns}",
		"dumbbell: {left: 4, right: 4, rate: 40Gbps, bottleneck_rate: 1Gbps, delay: 5us}",
		"parking_lot: {bottlenecks: 3, hosts_per_switch: 2, rate: 10Gbps, bottleneck_rate: 400Gbps, delay: 5us}",
	} {
		for _, size := range []int64{1, 64, 999, 1000, 1001, 2000, 20_500, 1_000_000} {
			for _, dst := range []string{"h2", "h8"} {
				b := newBed(t, topology)
				b.add(b.flow("h1", dst, size, 3*vtime.Microsecond))
				f := &b.finish().Flows[0]
				if f.FCT != f.Ideal || f.Sent != f.Packets || f.Acked != size || f.OutOfOrder != 0 {
					t.Errorf("%s: %d bytes to %s took %v, ideal is %v: %+v", topology, size, dst, f.FCT, f.Ideal, f)
				}
			}
		}
	}
}

// Without loss and PFC the hops of a run are those that were expected when the flows were
// added: of data and acknowledgements, through one switch and through two.
func TestHopsAreAsExpected(t *testing.T) {
	for _, transport := range []roce.Transport{"", roce.UET} {
		b := newBed(t, "dumbbell: {left: 2, right: 2, rate: 40Gbps, delay: 1us}", hosts(func(c *roce.Config) {
			c.AckEvery, c.Transport = 4, transport
			if transport == roce.UET {
				c.CC.Algorithm, c.MTU, c.UEC.AckBytes = "nscc", 1000, 4000
			}
		}))
		b.add(b.flow("h1", "h2", 10_001, 0), b.flow("h1", "h3", 100_000, vtime.Millisecond))
		want := b.Progress().Expected
		b.finish()
		switch got := b.Progress().Hops; {
		case transport == "" && (got != want || got != 11+3+2*(100+25)):
			t.Errorf("%d hops, expected were %d", got, want)
		case float64(got) < 0.9*float64(want) || float64(got) > 1.1*float64(want):
			t.Errorf("%s: %d hops, expected were %d", transport, got, want)
		}
	}
}

func TestIdealTimeByHand(t *testing.T) {
	// Two packets of 1058+24 bytes follow one another at 40 Gb/s over three
	// links; the acknowledgement has 62+24 bytes.
	b := newBed(t, "dumbbell: {left: 1, right: 1, rate: 40Gbps, delay: 2us}")
	b.add(b.flow("h1", "h2", 2000, 0))
	packet, ack := (40 * vtime.Gbps).TxTime(1082), (40 * vtime.Gbps).TxTime(86)
	want := 4*packet + 3*ack + 12*vtime.Microsecond
	if f := b.finish().Flows[0]; f.FCT != want || f.Delivered != 4*packet+6*vtime.Microsecond {
		t.Errorf("took %v, delivered after %v, want %v", f.FCT, f.Delivered, want)
	}
}

func TestFlowsShareABottleneckFairly(t *testing.T) {
	for _, n := range []int{2, 3, 7} {
		b := newBed(t, fmt.Sprintf("dumbbell: {left: %d, right: 1, rate: 40Gbps, delay: 2us}", n))
		const size = 2_000_000
		for i := range n {
			b.add(b.flow(fmt.Sprintf("h%d", i+1), fmt.Sprintf("h%d", n+1), size, 0))
		}
		r := b.finish()
		// The link to the receiver is never idle, so the last flow ends when all
		// packets have crossed it.
		all := r.Flows[0].Ideal + vtime.Time(n-1)*size/1000*(40*vtime.Gbps).TxTime(1082)
		last, first := vtime.Time(0), vtime.Never
		for _, f := range r.Flows {
			last, first = max(last, f.FCT), min(first, f.FCT)
		}
		if last < all || last > all+vtime.Microsecond {
			t.Errorf("%d flows: the last took %v, want %v", n, last, all)
		}
		// With PFC alone, a port sends in bursts between its pauses.
		if float64(first) < 0.9*float64(last) {
			t.Errorf("%d flows: they took from %v to %v", n, first, last)
		}
		if r.Dropped != 0 {
			t.Errorf("%d flows: %d frames dropped", n, r.Dropped)
		}
		for name, s := range b.switches {
			if s.Dropped != 0 {
				t.Errorf("%s dropped %d frames", name, s.Dropped)
			}
		}
	}
}

func TestFlowsOfOneHostAreRoundRobin(t *testing.T) {
	b := newBed(t, pairOfLeaves)
	b.add(b.flow("h1", "h5", 500_000, 0), b.flow("h1", "h6", 500_000, 0), b.flow("h1", "h7", 500_000, 0))
	r := b.finish()
	for _, f := range r.Flows {
		if d := f.FCT - r.Flows[0].FCT; d < -vtime.Microsecond || d > vtime.Microsecond {
			t.Errorf("flows took %v and %v", r.Flows[0].FCT, f.FCT)
		}
	}
}

// A sender at rate C fills a port of rate c. From the switch's decision to
// pause until its queue changes passes one lag: the PAUSE frame may wait for
// the end of another, has its own transmission time, crosses the link, the
// sender finishes a frame, and the link is crossed again. The queue grows by
// (C-c)·lag beyond the threshold, and then falls by that and by the resume
// offset at rate c, so a pause lasts lag·C/c + resume/c. After a resume the
// same holds with the rates exchanged: a gap between pauses lasts lag·C/(C-c) +
// resume/(C-c).
func TestPausesLastAsLongAsTheyShould(t *testing.T) {
	const fast, slow = 40 * vtime.Gbps, 10 * vtime.Gbps
	const resume = 20_000
	b := newBed(t, "graph: {rate: 40Gbps, delay: 5us, switches: [{name: s}], hosts: [{name: a, on: s}, {name: b, on: s, rate: 10Gbps}]}",
		switches(func(c *fabrictest.Config) { c.Resume = resume }))
	b.add(b.flow("a", "b", 20_000_000, 0))
	r := b.finish()
	least := 2*5*vtime.Microsecond + fast.TxTime(84)
	most := least + 2*fast.TxTime(1082)
	// The queue changes by whole frames, whose bytes on the link are more than
	// those in the buffer.
	frame := slow.TxTime(1082)
	offset := slow.TxTime(resume * 1082 / 1058)
	check := func(what string, d, factor vtime.Time, divisor vtime.Time) {
		t.Helper()
		low, high := (factor*least+offset)/divisor-2*frame, (factor*most+offset)/divisor+2*frame
		if d < low || d > high {
			t.Errorf("%s of %v, want from %v to %v", what, d, low, high)
		}
	}
	a := b.net.NodeByName("a").ID
	// The flow ends during the last pause.
	r.Pauses = r.Pauses[:len(r.Pauses)-2]
	var on vtime.Time
	var pauses, gaps int
	off := vtime.Time(-1)
	for _, e := range r.Pauses {
		switch {
		case e.Node != a || e.Class != 3:
			t.Fatalf("who should pause there? %+v", e)
		case e.Quanta > 0:
			if off >= 0 {
				gaps++
				check("gap", e.Time-off, 4, 3)
			}
			on = e.Time
		default:
			pauses++
			off = e.Time
			check("pause", e.Time-on, 4, 1)
		}
	}
	if pauses < 50 || gaps < 50 {
		t.Errorf("only %d pauses", pauses)
	}
	p := b.Port(a, 1)
	if share := float64(p.Paused[3]) / float64(r.Flows[0].FCT); math.Abs(share-0.75) > 0.03 {
		t.Errorf("paused for a share of %.3f, want three quarters", share)
	}
	if p.Pauses != uint64(pauses+1) || p.Resumes != uint64(pauses+1) {
		t.Errorf("%d pauses and %d resumes counted, want %d", p.Pauses, p.Resumes, pauses)
	}
	if !r.Flows[0].Stalled {
		t.Error("the flow counts as not stalled")
	}
	if r.Dropped != 0 {
		t.Errorf("%d frames dropped", r.Dropped)
	}
}

func TestFlowThatMeetsNoPauseIsNotStalled(t *testing.T) {
	b := newBed(t, pairOfLeaves)
	b.add(b.flow("h1", "h5", 3_000_000, 0), b.flow("h2", "h5", 3_000_000, 0), b.flow("h6", "h7", 3_000_000, 0))
	r := b.finish()
	if len(r.Pauses) == 0 || !r.Flows[0].Stalled || r.Flows[2].Stalled {
		t.Errorf("%d pauses; stalled: %v, %v, %v", len(r.Pauses), r.Flows[0].Stalled, r.Flows[1].Stalled, r.Flows[2].Stalled)
	}
}

func TestPauseHoldsOnlyItsPriority(t *testing.T) {
	b := newBed(t, "graph: {rate: 40Gbps, delay: 5us, switches: [{name: s}], hosts: [{name: h, count: 4, on: s}]}")
	other := b.flow("h1", "h4", 1_000_000, 200*vtime.Microsecond)
	other.Class = 5
	b.add(b.flow("h1", "h3", 20_000_000, 0), b.flow("h2", "h3", 20_000_000, 0), other)
	r := b.finish()
	if f := &r.Flows[2]; f.Stalled || f.FCT > f.Ideal+5*vtime.Microsecond {
		t.Errorf("a flow of another class took %v, ideal is %v, stalled %v", f.FCT, f.Ideal, f.Stalled)
	}
	if !r.Flows[0].Stalled {
		t.Error("no pause came")
	}
}

func TestLostPacketsAreRepeated(t *testing.T) {
	for _, rec := range []roce.Recovery{roce.GoBackN, roce.IRN} {
		b := newBed(t, pairOfLeaves, faults(Fault{Link: "l1-s1", Loss: 0.01}, Fault{Link: "l1-s2", Loss: 0.01}),
			hosts(func(c *roce.Config) { c.Recovery = rec }))
		for i := range 20 {
			b.add(b.flow("h1", "h5", 300_000, vtime.Time(i)*200*vtime.Microsecond))
		}
		r := b.finish()
		var sent, packets int64
		for _, f := range r.Flows {
			sent += f.Sent
			packets += f.Packets
			if f.Resent != f.Sent-f.Packets {
				t.Errorf("%s: %d packets for %d, %d of them again", rec, f.Sent, f.Packets, f.Resent)
			}
		}
		var lost uint64
		for _, p := range r.Ports {
			lost += p.Sent.Lost
		}
		if sent <= packets || lost == 0 || r.OutOfOrder == 0 {
			t.Errorf("%s: %d packets for %d, %d frames lost, %d out of order", rec, sent, packets, lost, r.OutOfOrder)
		}
	}
}

func TestLostTailIsRepeatedAfterTimeout(t *testing.T) {
	b := newBed(t, pairOfLeaves, faults(Fault{Until: 50 * vtime.Microsecond, Link: "h5-l2", Down: true}))
	b.add(b.flow("h1", "h5", 1000, 0))
	r := b.finish()
	f := &r.Flows[0]
	if want := 4*vtime.Millisecond + f.Ideal; r.Timeouts != 1 || f.Sent != 2 || f.FCT < want || f.FCT > want+vtime.Microsecond {
		t.Errorf("took %v with %d packets and %d timeouts, want %v", f.FCT, f.Sent, r.Timeouts, want)
	}
}

func TestBlackHoleSwallowsItsPairsOnly(t *testing.T) {
	b := newBed(t, pairOfLeaves, faults(Fault{Node: "l2", Pairs: []string{"h1-h5"}, Loss: 0.5}))
	b.add(b.flow("h1", "h5", 100_000, 0), b.flow("h1", "h6", 100_000, 0), b.flow("h2", "h5", 100_000, 0))
	r := b.finish()
	for i, f := range r.Flows {
		if hit := f.Sent > f.Packets; hit != (i == 0) {
			t.Errorf("flow %d: %d packets were sent for %d", i, f.Sent, f.Packets)
		}
	}
}

// watcher is a switch that records changes of its links.
type watcher struct {
	*fabrictest.Switch
	net Network
	log []string
}

func (w *watcher) LinkChanged(port int, up bool) {
	w.log = append(w.log, fmt.Sprintf("%v port %d up %v", w.net.Now(), port, up))
}

func TestSwitchesAreNotifiedOfLinkChanges(t *testing.T) {
	net, err := topo.Parse("t.yaml", []byte(pairOfLeaves))
	if err != nil {
		t.Fatal(err)
	}
	told := make(map[string]*watcher)
	f, err := New(Config{Topology: net, Hosts: roce.Papers.Defaults(),
		Faults: []Fault{{Link: "l1-s2", Down: true, From: 5 * vtime.Microsecond, Until: 9 * vtime.Microsecond}, {Link: "l2:5", Down: true, From: vtime.Microsecond}},
		Switch: func(n *topo.Node, network Network) (Node, error) {
			w := &watcher{fabrictest.New(net, n, network, fabrictest.Config{Buffer: 1e6, XOFF: 1e5}), network, nil}
			told[n.Name] = w
			return w, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.RunUntil(context.Background(), vtime.Millisecond); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"l1": {"5us port 6 up false", "9us port 6 up true"}, "s2": {"5us port 1 up false", "9us port 1 up true"},
		"l2": {"1us port 5 up false"}, "s1": {"1us port 2 up false"},
	} {
		if got := told[name].log; !slices.Equal(got, want) {
			t.Errorf("%s was told %q, want %q", name, got, want)
		}
	}
}

func TestDamagedFramesAreDiscardedAndCounted(t *testing.T) {
	b := newBed(t, pairOfLeaves, faults(Fault{Link: "h1-l1", Corrupt: 0.02, Until: 100 * vtime.Microsecond}))
	b.add(b.flow("h1", "h5", 1_000_000, 0))
	r := b.finish()
	var corrupt uint64
	for _, p := range r.Ports {
		corrupt += p.Sent.Corrupt
	}
	if h1 := b.Port(b.net.NodeByName("h1").ID, 1).Sent; corrupt == 0 || h1.Corrupt == 0 || h1.Lost != 0 || r.Flows[0].Sent == r.Flows[0].Packets {
		t.Errorf("%d damaged frames, h1 %+v, %d packets sent", corrupt, h1, r.Flows[0].Sent)
	}
}

func TestFaultsAreChecked(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		want  string
	}{
		{Fault{Link: "l1-s9", Down: true}, `link "l1-s9": no node is called "s9"`},
		{Fault{Link: "h1-s1", Down: true}, "no link joins h1 and s1"},
		{Fault{Link: "l1:99", Down: true}, "there is no such port"},
		{Fault{Link: "l1-s1"}, "does nothing"},
		{Fault{Down: true}, "names either a link or a node"},
		{Fault{Node: "l3", Loss: 0.1}, `no switch is called "l3"`},
		{Fault{Node: "l1", Down: true}, "a node loses frames"},
		{Fault{Node: "l1", Loss: 0.1, Pairs: []string{"h1"}}, `pair "h1": write two hosts`},
		{Fault{Link: "l1-s1", Loss: 2}, "a probability is from 0 to 1"},
		{Fault{Link: "l1-s1", Loss: 1, From: 5, Until: 5}, "lasts from 5ps until 5ps"},
	} {
		net, err := topo.Parse("t.yaml", []byte(pairOfLeaves))
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(Config{Topology: net, Hosts: roce.Papers.Defaults(), Faults: []Fault{c.fault},
			Switch: func(*topo.Node, Network) (Node, error) { return &recorder{}, nil }})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.fault, err, c.want)
		}
	}
}

func TestFlowsAreChecked(t *testing.T) {
	b := newBed(t, pairOfLeaves)
	good := b.flow("h1", "h5", 1, 5)
	b.until(10)
	for _, c := range []struct {
		change func(*Flow)
		want   string
	}{
		{func(f *Flow) { f.Src = 99 }, "flow 1: node 99 is not a host"},
		{func(f *Flow) { f.Dst = b.net.NodeByName("l1").ID }, "is not a host"},
		{func(f *Flow) { f.Dst = f.Src }, "h1 sends to itself"},
		{func(f *Flow) { f.Size = 0 }, "size 0"},
		{func(f *Flow) { f.Size = 1 << 40 }, "must be from 1 byte to 8388608 packets"},
		{func(f *Flow) { f.Class = 8 }, "class 8"},
		{func(f *Flow) {}, "start 5ps: it is 10ps already"},
	} {
		f := good
		c.change(&f)
		if err := b.AddFlows([]Flow{f}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if len(b.flows) != 0 {
		t.Errorf("%d of them were added", len(b.flows))
	}
}

// mixed is a fabric that uses every source of random numbers and every order.
func mixed(t testing.TB, n int) *bed {
	b := newBed(t, "leaf_spine: {leaves: 4, spines: 3, hosts_per_leaf: 4, rate: 40Gbps, delay: 1us, uplink_delay: 1700ns}",
		threads(n),
		hosts(func(c *roce.Config) { c.CC = cc.Config{Algorithm: "dcqcn"} }),
		switches(func(c *fabrictest.Config) {
			c.XOFF, c.Spray = 20e3, true
			c.Marks = func(vtime.Rate) (int64, int64, float64) { return 5e3, 200e3, 0.01 }
		}),
		faults(Fault{Link: "l1-s1", Loss: 0.01}, Fault{Link: "l2-s2", Down: true, From: 200 * vtime.Microsecond, Until: 300 * vtime.Microsecond},
			Fault{Node: "s3", Loss: 0.002}))
	rng := rand.New(rand.NewPCG(7, 7))
	flows := 150
	if testing.Short() {
		flows = 40
	}
	for range flows {
		src, dst := rng.IntN(16), rng.IntN(15)
		if dst >= src {
			dst++
		}
		b.add(Flow{Src: src, Dst: dst, Size: 1 + rng.Int64N(300_000), Start: vtime.Time(rng.Int64N(int64(vtime.Millisecond))), Class: 3})
	}
	return b
}

func TestSameResultsForAnyThreads(t *testing.T) {
	want := mixed(t, 1).finish()
	if len(want.Pauses) == 0 || want.OutOfOrder == 0 || want.Timeouts == 0 {
		t.Fatalf("too quiet: %d pauses, %d out of order, %d timeouts", len(want.Pauses), want.OutOfOrder, want.Timeouts)
	}
	counts := []int{2, 4}
	if testing.Short() {
		counts = counts[:1]
	}
	for _, n := range counts {
		b := mixed(t, n)
		if got := b.finish(); !reflect.DeepEqual(got, want) {
			t.Errorf("%d threads give other results than one", n)
		}
		if c := &b.engine.crew; c.size > 1 && c.windows < 100 {
			t.Errorf("%d threads shared %d windows", n, c.windows)
		}
	}
}

// A run goes on when the memory of its idle frames was freed.
func TestRunGoesOnAfterTrim(t *testing.T) {
	whole := mixed(t, 1).finish()
	b := mixed(t, 1)
	for range 50 {
		b.until(b.Now() + 10*vtime.Microsecond)
		b.Trim()
		for _, n := range b.engine.nodes {
			if n.pool.Len() > 0 || n.empty.n > 0 {
				t.Fatalf("node %d keeps %d frames and %d parcels", n.id, n.pool.Len(), n.empty.n)
			}
		}
	}
	if got := b.finish(); !reflect.DeepEqual(got.Flows, whole.Flows) || !reflect.DeepEqual(got.Pauses, whole.Pauses) {
		t.Error("the flows or pauses of the trimmed run differ")
	}
}

// twoAdapters has hosts a and b, each with a link to switches l1 and l2, and host c
// on l2.
func twoAdapters(t *testing.T, rate vtime.Rate) *topo.Topology {
	t.Helper()
	var b topo.Builder
	a, z, c := b.AddHost("a"), b.AddHost("b"), b.AddHost("c")
	l1, l2 := b.AddSwitch("l1", 1), b.AddSwitch("l2", 1)
	b.Connect(a, l1, vtime.Gbps, vtime.Microsecond)
	b.Connect(z, l1, vtime.Gbps, vtime.Microsecond)
	b.Connect(c, l2, vtime.Gbps, vtime.Microsecond)
	b.Connect(b.AddAdapter(a, "a.2"), l2, rate, vtime.Microsecond)
	b.Connect(b.AddAdapter(z, "b.2"), l2, rate, vtime.Microsecond)
	net, err := b.Build("two", topo.SwitchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// The links of a host with two adapters work at the same time, acknowledgements may
// return on the other link, and PFC pauses one link.
func TestHostWithTwoAdapters(t *testing.T) {
	const size = 1e6
	var want *Results
	for _, n := range []int{1, 2} {
		seen := make([]arrivals, 7) // by node
		b := newBed(t, pairOfLeaves, threads(n), func(c *Config, s *fabrictest.Config) {
			c.Topology, s.XOFF, s.Headroom = twoAdapters(t, vtime.Gbps), 20e3, 40
			c.Tap = func(n *topo.Node) Tap { return &seen[n.ID] }
		})
		b.net = b.topo
		a, z, a2, z2 := b.net.NodeByName("a").ID, b.net.NodeByName("b").ID, b.net.NodeByName("a.2").ID, b.net.NodeByName("b.2").ID
		crossed := b.flow("a.2", "b.2", size, 0)
		crossed.Back = [2]int{z, a}
		b.add(b.flow("a", "b", size, 0), crossed)
		r := b.finish()
		for i := range r.Flows {
			// The acknowledgements of the two may meet.
			if f := &r.Flows[i]; f.FCT < f.Ideal || f.FCT > f.Ideal+vtime.Microsecond {
				t.Errorf("flow %d took %v, and %v in an empty network", i, f.FCT, f.Ideal)
			}
		}
		sent := make(map[int]uint64)
		for _, p := range r.Ports {
			if b.net.Nodes[p.Node].Kind == topo.Host {
				sent[p.Node] += p.Sent.Frames
			}
		}
		if len(sent) != 5 || sent[a] != 1000 || sent[a2] != 1000 || sent[z] < 2 || sent[z2] != 0 {
			t.Errorf("frames sent by node: %v", sent)
		}
		if one, two := seen[z], seen[z2]; one.frames != 1000 || two.frames != 1000 || max(one.port, two.port) != 1 {
			t.Errorf("b's adapters saw %v and %v, want 1000 frames each on port 1", one, two)
		}
		b.add(b.flow("c", "b.2", size, b.Now()), b.flow("a.2", "b.2", size, b.Now()), b.flow("a", "b", size, b.Now()))
		r = b.finish()
		paused := make(map[string]bool)
		for _, e := range r.Pauses {
			paused[b.net.Nodes[e.Node].Name] = paused[b.net.Nodes[e.Node].Name] || e.Port == 1
		}
		if !paused["a.2"] || !paused["c"] || len(paused) != 2 {
			t.Errorf("paused: %v, want a.2 and c", paused)
		}
		if lone := &r.Flows[4]; lone.FCT > lone.Ideal+vtime.Microsecond {
			t.Errorf("the flow on the other link took %v, and %v in an empty network", lone.FCT, lone.Ideal)
		}
		if want == nil {
			want = r
		} else if !reflect.DeepEqual(r, want) {
			t.Error("two threads have other results than one")
		}
	}
}

// arrivals counts the frames that reach a node, and has their greatest port.
type arrivals struct{ frames, port int }

func (a *arrivals) Arrive(_ vtime.Time, port int, _ *packet.Frame) {
	a.frames, a.port = a.frames+1, max(a.port, port)
}

func TestWrongAdapters(t *testing.T) {
	net := twoAdapters(t, 2*vtime.Gbps)
	if _, err := New(Config{Topology: net, Hosts: roce.Papers.Defaults(), Switch: func(n *topo.Node, w Network) (Node, error) {
		return fabrictest.New(net, n, w, fabrictest.Config{}), nil
	}}); err == nil || !strings.Contains(err.Error(), "host a has links of 1Gbps and 2Gbps") {
		t.Errorf("links of different rates: %v", err)
	}
	b := newBed(t, pairOfLeaves, func(c *Config, _ *fabrictest.Config) { c.Topology = twoAdapters(t, vtime.Gbps) })
	for want, f := range map[string]Flow{
		"a sends to itself":               {Src: 0, Dst: 5, Size: 1},
		"acknowledgements go from a to a": {Src: 0, Dst: 1, Size: 1, Back: [2]int{5, 0}},
		"node 3 is not a host":            {Src: 0, Dst: 1, Size: 1, Back: [2]int{3, 0}},
		"node 7 is not a host":            {Src: 0, Dst: 7, Size: 1},
	} {
		if err := b.AddFlows([]Flow{f}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
