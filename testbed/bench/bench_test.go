// SPDX-License-Identifier: Apache-2.0

// Package bench measures the speed of the fabric as ratios: P4 programs to a
// plain switch in Go, schemes to ECMP, one thread to two. Times in seconds differ
// between machines and from minute to minute. Ratios are comparable, as the jobs
// run alternately, each in its own process. `make bench` writes the ratios into
// docs/performance.md.
package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/fabrictest"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/hpcc"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// plain is the profile that stands for the plain switch in Go.
const plain = "plain"

// A job is a benchmark that runs once, in its own process. Twice runs it in two
// processes at once.
type job struct {
	net, profile, cc string
	threads          int
	twice            bool
}

func alone(net, profile, cc string, threads int) job { return job{net, profile, cc, threads, false} }

func (j job) atOnce() job {
	j.twice = true
	return j
}

func (j job) String() string {
	name := fmt.Sprintf("%s/%s/%s/%d", j.net, j.profile, j.cc, j.threads)
	if j.twice {
		name = "two at once: " + name
	}
	return name
}

// usage is the time and memory that a job used.
type usage struct {
	Hops       uint64  // frames that reached a switch
	User, Wall float64 // seconds of the run
	Start      float64 // seconds before the run began
	Bytes      int64   // maximum memory of the process
	Hosts      int
}

// Ratios that are measured: usage of a divided by usage of b.
var ratios = []struct {
	text string
	a, b job
	of   func(u usage) float64
}{
	{"P4 (ECMP) to plain switch, DCQCN: CPU time", alone("w1", "ecmp", "dcqcn", 1), alone("w1", plain, "dcqcn", 1), userTime},
	{"P4 (ECMP) to plain switch, no congestion control: CPU time", alone("w1", "ecmp", "none", 1), alone("w1", plain, "none", 1), userTime},
	{"RLB over DRILL to ECMP", alone("paused", "rlb-drill", "dcqcn", 1), alone("paused", "ecmp", "dcqcn", 1), perHop},
	{"PLB to ECMP", alone("paused", "plb", "dcqcn", 1), alone("paused", "ecmp", "dcqcn", 1), perHop},
	{"PB-FS to ECMP", alone("paused", "pbfs", "dcqcn", 1), alone("paused", "ecmp", "dcqcn", 1), perHop},
	{"1,024 hosts, 100G and 400G, to W1 (128)", alone("fattree", "ecmp", "dcqcn", 1), alone("w1", "ecmp", "dcqcn", 1), perHop},
	{"8,192 hosts, fat tree of 400G, permutation, to W1", alone("hosts8192", "ecmp", "dcqcn", 1), alone("w1", "ecmp", "dcqcn", 1), perHop},
	{"8,192 hosts, permutation with rps, to W1", alone("hosts8192", "rps", "dcqcn", 1), alone("w1", "ecmp", "dcqcn", 1), perHop},
	{"8,192 hosts, all-to-all in groups of 16, to W1", alone("groups8192", "ecmp", "dcqcn", 1), alone("w1", "ecmp", "dcqcn", 1), perHop},
	{"8,192 hosts, all-to-all in groups of 16 with rps, to W1", alone("groups8192", "rps", "dcqcn", 1), alone("w1", "ecmp", "dcqcn", 1), perHop},
	{"8,192 hosts, 128 leaves and 64 spines of 400G, to W1", alone("spine8192", "ecmp", "dcqcn", 1), alone("w1", "ecmp", "dcqcn", 1), perHop},
	{"65,536 hosts, fat tree of 400G, permutation, to W1", alone("hosts65536", "ecmp", "dcqcn", 1), alone("w1", "ecmp", "dcqcn", 1), perHop},
	{"8,192 hosts, RLB over DRILL to ECMP", alone("hosts8192", "rlb-drill", "dcqcn", 1), alone("hosts8192", "ecmp", "dcqcn", 1), perHop},
	{"8,192 hosts, PLB to ECMP", alone("hosts8192", "plb", "dcqcn", 1), alone("hosts8192", "ecmp", "dcqcn", 1), perHop},
	{"8,192 hosts, ConWeave to ECMP", alone("hosts8192", "conweave", "dcqcn", 1), alone("hosts8192", "ecmp", "dcqcn", 1), perHop},
	{"8,192 hosts, HPCC to ECMP", alone("hosts8192", "hpcc", "dcqcn", 1), alone("hosts8192", "ecmp", "dcqcn", 1), perHop},
	{"one thread to two, 8,192 hosts: elapsed time", alone("hosts8192", "ecmp", "dcqcn", 1), alone("hosts8192", "ecmp", "dcqcn", 2), elapsed},
	{"explained to not explained, PAUSE in 128 hosts: CPU time", alone("storms", "ecmp", "none", 1), alone("calm", "ecmp", "none", 1), userTime},
	{"explained to not explained, RLB's figure 3: CPU time", alone("fig3-why", "drill", "dcqcn", 1), alone("fig3", "drill", "dcqcn", 1), userTime},
	{"1,024 hosts, all links 100G, to W1", alone("slow-core", "ecmp", "dcqcn", 1), alone("w1", "ecmp", "dcqcn", 1), perHop},
	{"load 0.006 to load 0.6, 288 hosts", alone("light", "ecmp", "dcqcn", 1), alone("hosts288", "ecmp", "dcqcn", 1), perHop},
	{"one thread to two, W1: elapsed time", alone("w1", "ecmp", "dcqcn", 1), alone("w1", "ecmp", "dcqcn", 2), elapsed},
	{"one process to two at once, W1: elapsed time per run", alone("w1", "ecmp", "dcqcn", 1), alone("w1", "ecmp", "dcqcn", 1).atOnce(), elapsed},
	{"one thread to two, 288 hosts at load 0.6: elapsed time", alone("hosts288", "ecmp", "dcqcn", 1), alone("hosts288", "ecmp", "dcqcn", 2), elapsed},
	{"one thread to two, little traffic: elapsed time", alone("idle", "ecmp", "dcqcn", 1), alone("idle", "ecmp", "dcqcn", 2), elapsed},
}

// Profiles whose cost per traversal is compared with that of ECMP, the first.
var costs = strings.Fields("ecmp presto letflow drill conga hermes conweave clb plb pcn qcn hpcc pbfs hpcc-pbfs rlb-presto rlb-letflow rlb-drill rlb-hermes rlb-adaptive-drill")

func costOf(profile string) job { return alone("paused", profile, "dcqcn", 1) }

func userTime(u usage) float64 { return u.User }
func perHop(u usage) float64   { return u.User / float64(u.Hops) }
func elapsed(u usage) float64  { return u.Wall }

// passes is how often a job runs in a round, of which the shortest time counts: other
// programs on the machine only make runs longer.
const passes = 3

// passes returns how often the job runs in a round.
func (j job) passes() int {
	if j.net == "hosts65536" { // half a minute
		return 1
	}
	return passes
}

// TestRatios runs all jobs in rounds.
func TestRatios(t *testing.T) {
	if name := os.Getenv("PAUSELESS_BENCH_JOB"); name != "" {
		child(t, name)
		return
	}
	rounds, _ := strconv.Atoi(os.Getenv("BENCH"))
	if rounds == 0 {
		t.Skip("SKIP: a measurement that takes minutes: `make bench`, or BENCH=rounds")
	}
	var jobs []job
	for _, r := range ratios {
		if want := os.Getenv("BENCH_ONLY"); !strings.Contains(r.text, want) {
			continue
		}
		for _, j := range []job{r.a, r.b} {
			if !slices.Contains(jobs, j) {
				jobs = append(jobs, j)
			}
		}
	}
	if os.Getenv("BENCH_ONLY") == "" {
		for _, profile := range costs {
			if j := costOf(profile); !slices.Contains(jobs, j) {
				jobs = append(jobs, j)
			}
		}
	}
	took := map[job][]usage{}
	for round := range rounds {
		for pass := range passes {
			for _, j := range jobs {
				if pass >= j.passes() {
					continue
				}
				u, err := run(j)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("round %d.%d: %-24v %.2f s user, %.2f s elapsed, %.0f ns per traversal, start %.2f s, %d MB", round+1, pass+1, j,
					u.User, u.Wall, 1e9*u.User/float64(u.Hops), u.Start, u.Bytes>>20)
				if pass == 0 {
					took[j] = append(took[j], u)
					continue
				}
				least := &took[j][round]
				least.User, least.Wall, least.Start = min(least.User, u.User), min(least.Wall, u.Wall), min(least.Start, u.Start)
				least.Bytes = max(least.Bytes, u.Bytes)
			}
		}
	}
	text := report(took, rounds)
	fmt.Print(text)
	if file := os.Getenv("BENCH_OUT"); file != "" {
		if err := insert(file, text); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a job. Of two processes at once it returns the usage of the second one,
// and half of the time until both have ended.
func run(j job) (u usage, err error) {
	if !j.twice {
		return process(j)
	}
	j.twice = false
	var first usage
	var failed error
	var both sync.WaitGroup
	both.Go(func() { first, failed = process(j) })
	u, err = process(j)
	both.Wait()
	u.Wall = max(u.Wall, first.Wall) / 2
	return u, cmp.Or(err, failed)
}

// process runs a job in its own process.
func process(j job) (u usage, err error) {
	cmd := exec.Command(os.Args[0], "-test.run=TestRatios", "-test.timeout=1h")
	cmd.Env = append(os.Environ(), "PAUSELESS_BENCH_JOB="+j.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		return u, fmt.Errorf("%v: %w\n%s", j, err, out)
	}
	_, line, ok := strings.Cut(string(out), "USAGE ")
	line, _, _ = strings.Cut(line, "\n")
	if !ok {
		return u, fmt.Errorf("%v says\n%s", j, out)
	}
	if err := json.Unmarshal([]byte(line), &u); err != nil {
		return u, fmt.Errorf("%v: %w", j, err)
	}
	u.Bytes = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	return u, nil
}

func user() float64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Nano()) / 1e9
}

// child runs a job and prints its usage.
func child(t *testing.T, name string) {
	parts := strings.Split(name, "/")
	threads, _ := strconv.Atoi(parts[3])
	j := alone(parts[0], parts[1], parts[2], threads)
	if file := os.Getenv("BENCH_CPU"); file != "" {
		w, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		pprof.StartCPUProfile(w)
		defer pprof.StopCPUProfile()
	}
	began := time.Now()
	var u usage
	if text, ok := scenarios[j.net]; ok {
		u = runScenario(t, j, text)
	} else {
		f := openW1(t, j)
		u = usage{Start: time.Since(began).Seconds(), Hosts: len(f.Topology().Hosts())}
		began, before := time.Now(), user()
		for !f.Done() {
			if err := f.RunUntil(context.Background(), f.Now()+100*vtime.Microsecond); err != nil {
				t.Fatal(err)
			}
		}
		u.Hops = f.Progress().Hops
		u.Wall, u.User = time.Since(began).Seconds(), user()-before
	}
	b, _ := json.Marshal(u)
	fmt.Printf("USAGE %s\n", b)
}

// scenarios are the networks other than W1. PROFILE is replaced by the profile.
var scenarios = map[string]string{
	// The network of the RLB paper's figures 2 to 4, as in `pauseless exp run
	// rlb-fig3-victims`.
	"paused": `name: paused
network:
  leaf_spine: {leaves: 2, spines: 8, hosts_per_leaf: 8, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [PROFILE]
paths: {h16: 1}
traffic:
- poisson: {sizes: websearch, load: 0.6, duration: 10ms, from: h1..h6, to: h9..h12}
- burst: {from: h7..h8, to: h16, flows: 8, size: 128KB, times: 10, interval: 1ms}
- burst: {from: h13..h15, to: h16, flows: 8, size: 64KB, times: 10, interval: 1ms}
until: 200ms
`,
	"hosts288": `name: hosts288
network:
  leaf_spine: {leaves: 12, spines: 12, hosts_per_leaf: 24, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [PROFILE]
traffic:
- poisson: {sizes: websearch, load: 0.6, duration: 2ms}
until: 2ms
`,
	// Like hosts288, with a hundredth of the traffic.
	"light": `name: light
network:
  leaf_spine: {leaves: 12, spines: 12, hosts_per_leaf: 24, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [PROFILE]
traffic:
- poisson: {sizes: websearch, load: 0.006, duration: 40ms}
until: 40ms
`,
	// A fat tree whose hosts have links of 100 Gb/s, and its switches of 400 Gb/s
	// among each other.
	"fattree": `name: fattree
network:
  clos: {pods: 16, tors: 8, aggs: 8, cores: 64, cores_per_agg: 8, hosts_per_tor: 8, rate: 100Gbps, uplink_rate: 400Gbps, delay: 1us}
  switch: {buffer: 32MB, pfc: {xoff: 256KB}}
profiles: [PROFILE]
traffic:
- poisson: {sizes: websearch, load: 0.6, duration: 1ms}
until: 1ms
`,
	// The same with links of 100 Gb/s everywhere, in which packets also queue
	// between switches.
	"slow-core": `name: slow-core
network:
  fat_tree: {k: 16, rate: 100Gbps, delay: 1us}
  switch: {buffer: 32MB, pfc: {xoff: 256KB}}
profiles: [PROFILE]
traffic:
- poisson: {sizes: websearch, load: 0.6, duration: 1ms}
until: 1ms
`,
	// Every host sends 1 MB to one in another pod.
	"hosts8192": fatTree(32) + `- long: {from: h1..h8192, to: h4097..h8192 h1..h4096, size: 1MB}
`,
	// 512 groups of 16 hosts that are drawn; each host sends 64 KB to every other one of
	// its group.
	"groups8192": fatTree(32) + `- collective: {kind: all_to_all, size: 1MB, ranks: 16, jobs: 512, place: random}
`,
	"hosts65536": fatTree(64) + `- long: {from: h1..h65536, to: h32769..h65536 h1..h32768, size: 64KB}
`,
	"spine8192": `name: spine8192
network:
  leaf_spine: {leaves: 128, spines: 64, hosts_per_leaf: 64, rate: 400Gbps, delay: 1us}
  switch: {buffer: 128MB, mtu: 4200}
profiles: [PROFILE]
hosts: {mtu: 4000, recovery: out-of-order}
traffic:
- long: {from: h1..h8192, to: h4097..h8192 h1..h4096, size: 1MB}
until: 2ms
`,
	// W1's network and load without congestion control, with and without causes of pauses.
	"storms": strings.Replace(calm, "explain: false", "explain: true", 1),
	"calm":   calm,
	// The network of RLB's figure 3 at the small scale, for longer.
	"fig3-why": strings.Replace(fig3, "explain: false", "explain: true", 1),
	"fig3":     fig3,
	"idle": `name: idle
network:
  leaf_spine: {leaves: 12, spines: 12, hosts_per_leaf: 24, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [PROFILE]
traffic:
- poisson: {sizes: websearch, load: 0.6, duration: 20ms, from: h1, to: h100}
until: 100ms
`,
}

// fatTree is a scenario with a fat tree of switches with k ports, up to its traffic.
func fatTree(k int) string {
	return fmt.Sprintf(`name: k%d
network:
  fat_tree: {k: %d, rate: 400Gbps, delay: 1us}
  switch: {buffer: %dMB, mtu: 4200}
profiles: [PROFILE]
hosts: {mtu: 4000, recovery: out-of-order}
until: 2ms
traffic:
`, k, k, 2*k)
}

const calm = `name: calm
network:
  leaf_spine: {leaves: 8, spines: 8, hosts_per_leaf: 16, rate: 40Gbps, delay: 5us}
  switch: {buffer: 9MB, pfc: {alpha: 0.125}}
profiles: [PROFILE]
explain: false
hosts: {defaults: papers, cc: {algorithm: none}}
traffic:
- poisson: {sizes: websearch, load: 0.4, duration: 5ms}
until: 50ms
`

const fig3 = `name: fig3
network:
  leaf_spine: {leaves: 2, spines: 8, hosts_per_leaf: 30, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [PROFILE]
explain: false
hosts: {defaults: papers}
paths: {h1: 1}
traffic:
- poisson: {sizes: websearch, load: 0.6, uplinks: true, duration: 30ms, from: h31..h50, to: h10..h29}
- long: {from: h51, to: h1, size: 250MB}
- burst: {from: h2..h9, to: h1, flows: 40, size: 64KB, start: 1ms, times: 5, interval: 6ms}
until: 500ms
`

// meter measures a run from its first picosecond to its end. Starting the network and
// reading the switches at the end do not count.
type meter struct {
	began, up time.Time
	before    float64
	hops      uint64
	u         usage
}

// Tap implements scenario.Follower.
func (m *meter) Tap(*topo.Node) fabric.Tap { return nil }

// Next implements scenario.Follower.
func (m *meter) Next() vtime.Time {
	if m.up.IsZero() {
		return 1
	}
	return vtime.Never
}

// Look implements scenario.Follower.
func (m *meter) Look(lab *virtual.Lab) {
	hops := lab.Fabric.Progress().Hops
	if m.up.IsZero() {
		m.up, m.before, m.hops = time.Now(), user(), hops
		m.u.Start = m.up.Sub(m.began).Seconds()
		return
	}
	m.u.Hops, m.u.Wall, m.u.User = hops-m.hops, time.Since(m.up).Seconds(), user()-m.before
}

// End implements scenario.Follower.
func (m *meter) End(*fabric.Results) {}

// runScenario runs a scenario.
func runScenario(t *testing.T, j job, text string) (u usage) {
	s, err := scenario.Parse(j.net+".yaml", []byte(strings.ReplaceAll(text, "PROFILE", j.profile)))
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{began: time.Now()}
	_, err = s.Run(context.Background(), scenario.Options{Threads: j.threads, Event: func(controlplane.Event) {}, Follow: func(scenario.Start) scenario.Follower { return m }})
	if err != nil {
		t.Fatal(err)
	}
	u = m.u
	u.Hosts = len(s.Cases()[0].Net().Hosts())
	return u
}

// openW1 starts benchmark W1: see docs/performance.md.
func openW1(t *testing.T, j job) *fabric.Fabric {
	const dir = "../hpcc/testdata/w1/"
	c, err := hpcc.ReadConfig(dir + "config.txt")
	if err != nil {
		t.Fatal(err)
	}
	net, err := c.ReadTopology(dir + "topology.txt")
	if err != nil {
		t.Fatal(err)
	}
	flows, _, _, err := hpcc.ReadFlows(dir+"flow.txt", net)
	if err != nil {
		t.Fatal(err)
	}
	mark, _ := c.MarkFor(40 * vtime.Gbps)
	c.Hosts.CC.Algorithm = j.cc
	var f *fabric.Fabric
	if j.profile == plain {
		f, err = fabric.New(fabric.Config{Topology: net, Hosts: c.Hosts, Threads: j.threads, Switch: func(n *topo.Node, at fabric.Network) (fabric.Node, error) {
			return fabrictest.New(net, n, at, fabrictest.Config{
				Buffer: int64(c.Switch.Buffer), AlphaShift: 3, NIC: 40 * vtime.Gbps,
				Resume: int64(c.Switch.PFC.Resume), Reserve: int64(c.Switch.PFC.Reserve), Headroom: 3,
				Marks: func(vtime.Rate) (kmin, kmax int64, pmax float64) {
					return int64(mark.KMin), int64(mark.KMax), mark.PMax
				},
			}), nil
		}})
	} else {
		f, err = withProgram(net, c.Hosts, mark, j)
	}
	if err == nil {
		err = f.AddFlows(flows)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func withProgram(net *topo.Topology, hosts roce.Config, mark hpcc.Mark, j job) (*fabric.Fabric, error) {
	p, err := program.Load(j.profile)
	if err != nil {
		return nil, err
	}
	if p.Set == nil {
		p.Set = map[string]string{}
	}
	p.Set["red.kmin"], p.Set["red.kmax"], p.Set["red.pmax"] = mark.KMin.String(), mark.KMax.String(), fmt.Sprint(mark.PMax)
	program.Fit(p, net)
	prog, err := program.Build(p)
	if err != nil {
		return nil, err
	}
	lab, err := virtual.Open(context.Background(), virtual.Config{Topology: net, Program: prog, Hosts: hosts, Seed: 1, Threads: j.threads,
		Event: func(controlplane.Event) {}})
	if err != nil {
		return nil, err
	}
	return lab.Fabric, nil
}

// report returns the ratios as a table.
func report(took map[job][]usage, rounds int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d interleaved rounds on %s, %s/%s, Go %s, in each of which the shortest of %d runs counts; 95 %% intervals of the mean ratio.\nRatios are of CPU time per packet-hop, unless stated otherwise.\n\n", rounds, machine(), runtime.GOOS, runtime.GOARCH, strings.TrimPrefix(runtime.Version(), "go"), passes)
	b.WriteString("| ratio | measured |\n|---|---:|\n")
	for _, r := range ratios {
		a, c := took[r.a], took[r.b]
		if len(a) == 0 || len(c) == 0 {
			continue
		}
		var x []float64
		for i := range a {
			x = append(x, r.of(a[i])/r.of(c[i]))
		}
		mean, half := interval(x)
		fmt.Fprintf(&b, "| %s | %.2f ± %.2f |\n", r.text, mean, half)
	}
	if ecmp := took[costOf(costs[0])]; len(took[costOf(costs[len(costs)-1])]) > 0 {
		b.WriteString("\n| profile | CPU time per packet-hop, relative to ECMP |\n|---|---:|\n")
		for _, profile := range costs[1:] {
			var x []float64
			for i, u := range took[costOf(profile)] {
				x = append(x, perHop(u)/perHop(ecmp[i]))
			}
			mean, half := interval(x)
			fmt.Fprintf(&b, "| `%s` | %.2f ± %.2f |\n", profile, mean, half)
		}
	}
	b.WriteString("\n| network | CPU ns per packet-hop | start | memory | per host |\n|---|---:|---:|---:|---:|\n")
	var jobs []job
	for j := range took {
		if j.profile == costs[0] && j.threads == 1 && !j.twice { // the tables before have the others
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b job) int { return strings.Compare(a.String(), b.String()) })
	for _, j := range jobs {
		var ns, start []float64
		most, hosts := int64(0), 1
		for _, u := range took[j] {
			ns, start = append(ns, 1e9*perHop(u)), append(start, u.Start)
			most, hosts = max(most, u.Bytes), u.Hosts
		}
		mean, half := interval(ns)
		began := "–"
		if s := slices.Min(start); s > 0 {
			began = fmt.Sprintf("%.2f s", s)
		}
		name := j.net
		if j.cc != "dcqcn" {
			name += ", no congestion control"
		}
		fmt.Fprintf(&b, "| `%s` | %.0f ± %.0f | %s | %d MiB | %d KiB |\n", name, mean, half, began, most>>20, most>>10/int64(hosts))
	}
	return b.String()
}

// interval returns the mean, and half of its 95 % interval by Student's t.
func interval(x []float64) (mean, half float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	if len(x) < 2 {
		return mean, math.Inf(1)
	}
	var sum float64
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	quantile := []float64{12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26}
	return mean, quantile[min(len(x)-2, len(quantile)-1)] * math.Sqrt(sum/(n-1)/n)
}

// machine describes the processor.
func machine() string {
	model := "an unknown processor"
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d cores of %s", runtime.NumCPU(), model)
}

// Marks around the part of a file that insert replaces.
const (
	begin = "<!-- make bench -->\n"
	end   = "<!-- end -->"
)

func insert(file, text string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no %q and %q", file, begin, end)
	}
	return os.WriteFile(file, []byte(before+begin+text+end+after), 0o644)
}

// BenchmarkExchange is the time in which two threads exchange a cache line: one
// writes it, and the other one reads it and answers. What two threads gain on a
// network depends on it.
func BenchmarkExchange(b *testing.B) {
	var ball atomic.Int64
	var both sync.WaitGroup
	for _, own := range []int64{0, 1} {
		both.Go(func() {
			runtime.LockOSThread()
			for range b.N {
				for ball.Load()%2 != own {
				}
				ball.Add(1)
			}
		})
	}
	both.Wait()
}
