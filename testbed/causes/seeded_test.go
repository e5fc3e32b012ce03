// SPDX-License-Identifier: Apache-2.0

package causes_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/causes"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// A seed is a cause that a network has on purpose, and the root that it must have.
type seed struct {
	cause string
	place string // result.PauseRoot.Place
}

// draw is a random network with one to three causes.
type draw struct {
	text  string
	seeds []seed
	// without is the same scenario without its only cause; empty: there are several.
	without string
	// down is a link that all routes avoid.
	down string
}

// drawer makes a draw: a leaf-spine network whose uplinks are faster than hosts, so that
// only the seeds overload a link. Each cause has leaves, hosts and a class of links of its
// own; the flows beside them share links with its flows.
type drawer struct {
	*rand.Rand
	leaves, spines, each int
	free                 [][]int // by leaf: hosts without traffic so far
	change, paths        []string
	faults, traffic      []string
	off                  []bool // traffic lines of the causes
	pfc                  string
	seeds                []seed
	down                 string
}

func (d *drawer) host(leaf int) int {
	h := d.free[leaf][0]
	d.free[leaf] = d.free[leaf][1:]
	return h
}

func (d *drawer) leafOf(host int) int { return (host - 1) / d.each }

// send adds a flow; cause is true for one that is part of a cause.
func (d *drawer) send(from, to int, kb, us int, cause bool) {
	d.traffic = append(d.traffic, fmt.Sprintf("- long: {from: h%d, to: h%d, size: %dKB, start: %dus}", from, to, kb, us))
	d.off = append(d.off, cause)
}

// elsewhere returns a free host of a leaf other than some.
func (d *drawer) elsewhere(not ...int) int {
	for {
		leaf := d.IntN(d.leaves)
		if !slices.Contains(not, leaf) && len(d.free[leaf]) > 5 {
			return d.host(leaf)
		}
	}
}

// port returns the port of a leaf to a spine, or to a host.
func (d *drawer) uplink(spine int) int { return d.each + spine + 1 }

var kinds = []string{
	result.CauseIncast, result.CauseReceiver, result.CauseStorming, result.CauseSlowLink, result.CauseLinkDown,
	result.CauseHash, result.CauseThreshold, result.CauseHeadroom,
}

// drawNetwork draws network n.
func drawNetwork(n uint64) draw {
	rng := rand.New(rand.NewPCG(n, 54))
	if n%25 == 24 {
		return drawLoop(rng)
	}
	d := &drawer{Rand: rng, leaves: 6, spines: 2 + rng.IntN(2), each: 10 + rng.IntN(3), pfc: fmt.Sprintf("xoff: %dKB", 60+rng.IntN(120))}
	for l := range d.leaves {
		var hosts []int
		for i := range d.each {
			hosts = append(hosts, l*d.each+i+1)
		}
		d.free = append(d.free, hosts)
	}
	several := 1 + rng.IntN(3)
	var list []string
	for len(list) < several {
		k := kinds[rng.IntN(len(kinds))]
		if several == 1 && rng.IntN(3) == 0 {
			k = kinds[len(kinds)-1-rng.IntN(4)]
		}
		whole := k == result.CauseThreshold || k == result.CauseHeadroom || k == result.CauseLinkDown // of all switches
		if whole && several > 1 || slices.Contains(list, k) {
			continue
		}
		list = append(list, k)
	}
	for i, k := range list {
		d.seed(k, i)
	}
	// Flows that share leaves with the causes', each between hosts of its own.
	for range 4 {
		a := d.elsewhere()
		d.send(a, d.elsewhere(d.leafOf(a)), 300+rng.IntN(400), 20+rng.IntN(60), false)
	}
	out := draw{seeds: d.seeds, down: d.down, text: d.scenario(true)}
	if several == 1 {
		out.without = d.scenario(false)
	}
	return out
}

// seed adds cause number i. The leaf of its receiver is its own.
func (d *drawer) seed(kind string, i int) {
	leaf := 2 * i
	to := d.host(leaf)
	start := 5 + d.IntN(30)
	place := fmt.Sprintf("l%d port %d to h%d", leaf+1, (to-1)%d.each+1, to)
	switch kind {
	case result.CauseIncast:
		start += 81 // after the flows beside it, so that their numbers do not depend on it
		for range 4 + d.IntN(4) {
			d.send(d.elsewhere(leaf), to, 300+d.IntN(500), start, true)
		}
	case result.CauseReceiver:
		d.faults = append(d.faults, fmt.Sprintf("{slow: h%d, rate: %dGbps, from: 1us}", to, 5+d.IntN(15)))
		d.send(d.elsewhere(leaf), to, 800+d.IntN(1000), start, false)
		place = fmt.Sprintf("h%d", to)
	case result.CauseStorming:
		d.faults = append(d.faults, fmt.Sprintf("{storm: h%d, from: %dus, until: %dus}", to, start+30, 300+d.IntN(400)))
		d.send(d.elsewhere(leaf), to, 1000+d.IntN(1000), start, false)
		place = fmt.Sprintf("h%d", to)
	case result.CauseSlowLink:
		d.change = append(d.change, fmt.Sprintf("{link: l%d-s1, rate: %dGbps}", leaf+1, 5*(1+d.IntN(4))))
		d.paths = append(d.paths, fmt.Sprintf("h%d: 1", to))
		d.send(d.elsewhere(leaf), to, 800+d.IntN(1000), start, false)
		place = fmt.Sprintf("s1 port %d to l%d", leaf+1, leaf+1)
	case result.CauseLinkDown:
		// All but the first spine lose their link to the leaf, and five hosts send to it.
		for s := 2; s <= d.spines; s++ {
			d.faults = append(d.faults, fmt.Sprintf("{link: l%d-s%d, down: true, from: 1us}", leaf+1, s))
			d.down += fmt.Sprintf("l%d-s%d ", leaf+1, s)
		}
		d.send(d.elsewhere(leaf), to, 600+d.IntN(500), start, false)
		for _, from := range []int{1, 2, 3, 4} {
			d.send(d.host(from), d.host(leaf), 600+d.IntN(500), start, false)
		}
		place = fmt.Sprintf("s1 port %d to l%d", leaf+1, leaf+1)
	case result.CauseHash:
		// Four hosts of a leaf send over its first uplink only.
		for k := range 4 {
			to := d.host([]int{(leaf + 2) % d.leaves, (leaf + 3) % d.leaves, (leaf + 4) % d.leaves, (leaf + 5) % d.leaves}[k])
			d.paths = append(d.paths, fmt.Sprintf("h%d: 1", to))
			d.send(d.host(leaf), to, 600+d.IntN(500), start, true)
		}
		place = fmt.Sprintf("l%d port %d to s1", leaf+1, d.uplink(0))
	case result.CauseThreshold:
		d.pfc = fmt.Sprintf("xoff: %dB", 3000+d.IntN(4000))
		for range 2 {
			d.send(d.elsewhere(leaf), to, 300+d.IntN(300), start, false)
		}
	case result.CauseHeadroom:
		d.pfc += ", headroom: 4KB"
		for range 6 {
			d.send(d.elsewhere(leaf), to, 500+d.IntN(300), start, false)
		}
	}
	d.seeds = append(d.seeds, seed{kind, place})
}

// scenario returns the text, with the causes or without them.
func (d *drawer) scenario(with bool) string {
	var b strings.Builder
	pfc := d.pfc
	if !with && (d.seeds[0].cause == result.CauseThreshold || d.seeds[0].cause == result.CauseHeadroom) {
		pfc = "xoff: 256KB"
	}
	fmt.Fprintf(&b, "name: seeded\nnetwork:\n  leaf_spine: {leaves: %d, spines: %d, hosts_per_leaf: %d, rate: 40Gbps, uplink_rate: 100Gbps, delay: 1us}\n", d.leaves, d.spines, d.each)
	fmt.Fprintf(&b, "  switch: {buffer: 12MB, pfc: {%s}}\n", pfc)
	list := func(key string, items []string, open, shut string) {
		if with && len(items) > 0 {
			fmt.Fprintf(&b, "%s: %s%s%s\n", key, open, strings.Join(items, ", "), shut)
		}
	}
	if len(d.change) > 0 && with {
		fmt.Fprintf(&b, "  change: [%s]\n", strings.Join(d.change, ", "))
	}
	list("paths", d.paths, "{", "}")
	list("faults", d.faults, "[", "]")
	b.WriteString("profile: ecmp\nhosts: {cc: {algorithm: none}}\nuntil: 20ms\ntraffic:\n")
	// The flows of causes come last: without them, the others have the same numbers, and
	// so the same paths.
	for _, off := range []bool{false, true} {
		for i, line := range d.traffic {
			if d.off[i] == off && (with || !off) {
				b.WriteString(line + "\n")
			}
		}
	}
	return b.String()
}

// drawLoop draws a ring in which each switch waits for the next.
func drawLoop(rng *rand.Rand) draw {
	n := 5
	var b strings.Builder
	b.WriteString("name: ring\nnetwork:\n  graph:\n    rate: 40Gbps\n    delay: 1us\n    switches: [")
	for i := range n {
		fmt.Fprintf(&b, "{name: s%d}, ", i+1)
	}
	b.WriteString("]\n    hosts: [")
	for i := range n {
		fmt.Fprintf(&b, "{name: h%d, on: s%d, rate: 100Gbps}, ", i+1, i+1)
	}
	b.WriteString("]\n    links: [")
	for i := range n {
		fmt.Fprintf(&b, "{a: s%d, b: s%d}, ", i+1, (i+1)%n+1)
	}
	fmt.Fprintf(&b, "]\n  switch: {buffer: 4MB, pfc: {xoff: %dKB}}\nprofile: ecmp\nhosts: {cc: {algorithm: none}}\nuntil: 20ms\ntraffic:\n", 30+rng.IntN(30))
	for i := range n {
		fmt.Fprintf(&b, "- long: {from: h%d, to: h%d, size: %dMB}\n", i+1, (i+2)%n+1, 10+rng.IntN(10))
	}
	return draw{text: b.String(), seeds: []seed{{result.CauseLoop, "s1 > s2 > s3 > s4 > s5 > s1"}}}
}

// attached runs a recorder of the test's own beside a log of all frames.
type attached struct {
	rec *causes.Recorder
	log *frameLog
	lab *virtual.Lab
	end vtime.Time

	compared int // packets in queues, with what the recorder follows
	wrong    error
}

func (a *attached) Tap(n *topo.Node) fabric.Tap { return a.log.tap(n.ID) }
func (a *attached) Next() vtime.Time {
	if a.lab == nil {
		return 0
	}
	return a.end + 50*vtime.Microsecond
}
func (a *attached) Look(lab *virtual.Lab) {
	if a.lab == nil {
		a.rec.Attach(lab)
	}
	a.lab, a.end = lab, lab.Fabric.Now()
	n, err := a.rec.CheckContents()
	a.compared, a.wrong = a.compared+n, cmp.Or(a.wrong, err)
}
func (a *attached) End(*fabric.Results) {}

// pauses reports whether a host has sent a PAUSE.
func (a *attached) pauses(host string) bool {
	t := a.lab.Fabric.Topology()
	p := t.NodeByName(host).Ports[0]
	return a.lab.Fabric.Port(p.Peer, p.PeerPort).Pauses > 0
}

var programs program.Cache

// execute runs a scenario.
func execute(t *testing.T, text, down string, follow func(scenario.Start) scenario.Follower) *result.Run {
	t.Helper()
	s, err := scenario.Parse("seeded.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c := s.Cases()[0]
	var without []int
	for _, l := range strings.Fields(down) {
		without = append(without, fabric.Links(c.Net(), l)...)
	}
	if without != nil {
		c.Reroutes = []scenario.Reroute{{At: 0, Without: without}}
	}
	prog, err := c.Build(&programs)
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.Run(t.Context(), prog, 1, scenario.Options{Event: func(controlplane.Event) {}, Follow: follow, Explain: follow == nil})
	if err != nil && !strings.Contains(err.Error(), "lossless") {
		t.Fatalf("%v\n%s", err, text)
	}
	return run
}

// networks is the number of random networks; CAUSES_NETWORKS=200 draws more of them.
func networks(t *testing.T) uint64 {
	n, err := strconv.ParseUint(os.Getenv("CAUSES_NETWORKS"), 10, 32)
	if err != nil {
		return 25
	}
	return n
}

// Every seeded cause is named with its root, in random networks with up to three of them.
// The time that flows waited is that of the seeds, the victims are those that a log of all
// frames gives, and what is followed of queues is what they hold.
func TestSeededCausesAreNamed(t *testing.T) {
	table := make(map[[2]string]int)
	seeded, named, idle, flows, packets := 0, 0, 0, 0, 0
	for n := range networks(t) {
		d := drawNetwork(n)
		var a *attached
		execute(t, d.text, d.down, func(s scenario.Start) scenario.Follower {
			a = &attached{rec: causes.New(s.Faults, causes.DefaultLimits), log: newFrameLog(s.Topology)}
			return a
		})
		c := a.rec.Report(a.end, func(i int) fabric.Flow { return a.lab.Fabric.Flow(i).Flow })
		rest := c.WaitedUS
		for _, want := range d.seeds {
			if want.cause == result.CauseReceiver && !a.pauses(want.place) {
				idle++ // another cause has slowed its sender down
				continue
			}
			seeded++
			got := "not found"
			for _, s := range c.Storms {
				if s.Root.Place() == want.place {
					rest -= s.WaitedUS
					if got == "not found" {
						got = s.Root.Cause
					}
				}
			}
			table[[2]string{want.cause, got}]++
			if got == want.cause {
				named++
				continue
			}
			var text strings.Builder
			result.PrintCauses(&text, []*result.Run{{Causes: c}})
			t.Errorf("network %d: %s at %s is %s\n%s\n%s", n, want.cause, want.place, got, d.text, text.String())
		}
		if rest > 0.25*c.WaitedUS {
			t.Logf("network %d: flows waited %.0f of %.0f us for other roots than the seeded", n, rest, c.WaitedUS)
		}
		flows += checkVictims(t, n, a)
		if packets += a.compared; a.wrong != nil {
			t.Errorf("network %d: %v", n, a.wrong)
		}
	}
	for _, k := range slices.SortedFunc(func(yield func([2]string) bool) {
		for k := range table {
			if !yield(k) {
				return
			}
		}
	}, func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) }) {
		t.Logf("%-14s named %-14s %d", k[0], k[1], table[k])
	}
	t.Logf("%d of %d causes named, %d had no effect, %d flows in storms compared with the log, %d packets with the queues", named, seeded, idle, flows, packets)
	if flows == 0 || packets == 0 {
		t.Error("no flow waited in a switch: the comparisons say nothing")
	}
}

// The time lost to a single cause is that of a run without it.
func TestLostTime(t *testing.T) {
	compared, most := 0, 8
	if os.Getenv("CAUSES_NETWORKS") != "" {
		most = math.MaxInt
	}
	for n := uint64(0); compared < most && n < max(networks(t), 50); n++ {
		d := drawNetwork(n)
		if d.without == "" || d.seeds[0].cause == result.CauseHash || d.down != "" || d.seeds[0].cause == result.CauseHeadroom {
			continue // whose flows have other paths without it, or which fail the run
		}
		s, err := scenario.Parse("seeded.yaml", []byte(d.text))
		if err != nil {
			t.Fatal(err)
		}
		runs, err := s.Run(t.Context(), scenario.Options{Event: func(controlplane.Event) {}, Explain: true, Lost: true})
		if err != nil {
			t.Fatal(err)
		}
		other := execute(t, d.without, "", nil)
		var want float64
		for i, f := range runs[0].Raw.Flows[:len(other.Raw.Flows)] {
			if g := &other.Raw.Flows[i]; f.Finished && g.Finished {
				want += (f.FCT - g.FCT).Microseconds()
			}
		}
		got := "not said"
		for _, k := range runs[0].Causes.Storms {
			if l := k.Lost; l != nil && k.Root.Place() == d.seeds[0].place {
				if got = fmt.Sprintf("%.1f us", l.FCTUS); math.Abs(l.FCTUS-want) <= 0.05*math.Abs(want) {
					got = ""
				}
				break
			}
		}
		if got != "" {
			t.Errorf("network %d, %s at %s: lost time %s, want %.1f us\n%s", n, d.seeds[0].cause, d.seeds[0].place, got, want, d.text)
		}
		compared++
		t.Logf("network %d, %s: flows lost %.1f us", n, d.seeds[0].cause, want)
	}
}
