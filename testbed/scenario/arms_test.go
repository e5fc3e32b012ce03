// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
)

const armed = `name: armed
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}
  switch: {buffer: 2MB, pfc: {xoff: 60KB}}
hosts: {recovery: go-back-n}
arms:
- {name: drill, profile: drill}
- {profile: drill, hosts: {recovery: irn, cc: {algorithm: timely}}, target: tna}
- {name: off, profile: drill, network.switch.pfc.off: true, set: {red.kmin: 100KB}}
vary:
- {axis: load, key: traffic.0.poisson.load, values: [0.2, 0.4]}
- axis: rate
  points:
  - {name: slow, network.leaf_spine.rate: 10Gbps}
  - {name: fast, network.leaf_spine.uplink_rate: 100Gbps}
traffic:
- poisson: {sizes: websearch, load: 0.5}
- incast: {degree: 3, size: 100KB, to: h1, interval: 100us}
- long: {from: h2, to: h4}
warmup: 100us
measure: 300us
until: 50ms
seeds: [7, 8]
small:
  why: it is a test
  measure: 6 flows
  judge: [2]
`

func mustParse(t *testing.T, text, scale string) *Scenario {
	t.Helper()
	s, err := ParseAt("armed.yaml", []byte(text), scale)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestArmsAndAxesMakeAGrid(t *testing.T) {
	s := mustParse(t, armed, Paper)
	var names []string
	for _, c := range s.Cases() {
		names = append(names, c.String())
	}
	want := []string{"drill, 0.2, slow", "drill, 0.2, fast", "drill, 0.4, slow", "drill, 0.4, fast"}
	if len(names) != 12 || !slices.Equal(names[:4], want) || names[4] != "drill@tna, 0.2, slow" {
		t.Errorf("cases %q", names)
	}
	c := s.Cases()
	if c[0].Traffic[0].Poisson.Load != 0.2 || c[2].Traffic[0].Poisson.Load != 0.4 || c[0].net.Links[0].Rate != 10*vtime.Gbps || c[1].net.Links[0].Rate != 40*vtime.Gbps {
		t.Error("points did not replace the file's values")
	}
	if c[4].Hosts.Recovery != "irn" || c[4].Hosts.CC.Algorithm != "timely" || c[0].Hosts.Recovery != "go-back-n" || c[4].On() != program.TNA {
		t.Error("an arm's hosts or target are not its own")
	}
	if !c[8].net.Switch.PFC.Off || c[0].net.Switch.PFC.Off || c[8].profile.Set["red.kmin"] != "100KB" {
		t.Error("an arm's network or settings are not its own")
	}
	if s.Cases()[0].Measure.Time != 300*vtime.Microsecond || mustParse(t, armed, Small).Cases()[0].Measure.Flows != 6 {
		t.Error("the small scale does not replace the paper's")
	}
	axes := s.Axes()
	if len(axes) != 2 || *axes[0].Values[1].X != 0.4 || axes[1].Values[0].X != nil {
		t.Errorf("axes %+v", axes)
	}
}

func TestErrorsInArmsHaveTheirPosition(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"{name: drill, profile: drill}", "{name: drill, profile: drill, traffic: []}", "armed.yaml:7:3: a variant cannot have its own traffic"},
		{"{name: drill, profile: drill}", "{name: drill, profile: drill, hosts: {recovry: irn}}", `armed.yaml:7:41: hosts: unknown key "recovry"`},
		{"{name: drill, profile: drill}", "{name: off, profile: drill}", `two variants are called "off"`},
		{"{name: drill, profile: drill}", "{name: drill}", "a variant has no profile"},
		{"traffic.0.poisson", "traffic.7.poisson", `armed.yaml:11:21: "7" is not an index of this list of 3 elements`},
		{"traffic.0.poisson.load", "traffic.0.poisson.laod", `traffic.0.poisson: unknown key "laod" (did you mean "load"?)`},
		{"values: [0.2, 0.4]", "values: [0.2, 0.2]", `axis load has "0.2" twice`},
		{"values: [0.2, 0.4]", "values: [0.2, 20]", "armed.yaml:11:59: load is 20"},
		{"values: [0.2, 0.4]", "points: []", "either a key and its values or points"},
		{"axis: rate", "axis: load", `two axes are called "load"`},
		{"seeds: [7, 8]", "seeds: [7, 7]", "armed.yaml:23:12: seed 7 is given twice"},
		{"measure: 300us", "measure: 300", `write a time or a number of flows`},
		{"warmup: 100us\nmeasure: 300us", "", "give either duration or flows"},
		{"measure: 300us", "measure: 60ms", "warmup and measure end at 60.1ms, after until"},
		{"name: off, profile: drill,", "name: off, profile: drill, network.leaf_spine.hosts_per_leaf: 3,", "variants drill and off get different flows"},
		{"set: {red.kmin: 100KB}", "set: {red.kmim: 100KB}", "red.kmim"},
		{"until: 50ms", "until: 50ms\nmax_seeds: 1", "max_seeds is 1, and there are 2 seeds already"},
		{"until: 50ms", "until: 50ms\nmax_seeds: 4\nmax_seeds_open: 3", "max_seeds_open is 3, and there may be 4 seeds without it"},
		{"until: 50ms", "until: 50ms\npremise: {than: 3}\nclaims: [{less: avg_fct_us, with: off, than: drill}]", "a premise has one of the keys less and more"},
		{"until: 50ms", "until: 50ms\nclaims: [{less: avg_fct_us, with: off, than: drill, premise: {more: stalled_share, than: 3}}]", "no metric is called \"stalled_share\""},
		{"until: 50ms", "until: 50ms\nclaims: [{with: off, than: drill}]", "a claim has one of the keys less, more and same"},
		{"until: 50ms", "until: 50ms\nclaims: [{less: avg_fct_us.part4, with: off, than: drill}]", "there is no part 4 of traffic"},
		{"until: 50ms", "until: 50ms\nclaims: [{less: avg_fct_us, with: off, than: dril}]", `no variant in arms or profiles is called "dril" (did you mean "drill"?)`},
		{"until: 50ms", "until: 50ms\nclaims: [{less: avg_fct_us, with: off, than: drill, at: {load: 0.3}}]", `axis load has no value "0.3"; it has 0.2, 0.4`},
		{"until: 50ms", "until: 50ms\npaths: {h99: 1}", `no host is called "h99"`},
		{"until: 50ms", "until: 50ms\npaths: {hl: 1}", `no host is called "hl"; there are: h1, h2`},
		{"until: 50ms", "until: 50ms\nfaults: [{link: l1-sl, down: true}]", `no node is called "sl"; there are: `},
		{"until: 50ms", "until: 50ms\nclaims: [{less: avg_fct_us, with: off, than: drill, paper: lots}]", `effect "lots"`},
	} {
		text := strings.Replace(armed, c.old, c.new, 1)
		if text == armed {
			t.Fatalf("nothing was replaced by %q", c.new)
		}
		if _, err := Parse("armed.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %q: got\n%v\nwant\n%s", c.new, err, c.want)
		}
	}
	if _, err := ParseAt("armed.yaml", []byte(strings.Replace(armed, "  why: it is a test\n", "", 1)), Small); err == nil || !strings.Contains(err.Error(), "small needs the key why") {
		t.Errorf("a small scale that does not say why: %v", err)
	}
}

// run runs a case with a seed.
func run(t *testing.T, c *Case, seed uint64) *result.Run {
	t.Helper()
	prog, err := c.Build(new(program.Cache))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run(context.Background(), prog, seed, Options{Event: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Measured flows are those that start in the window; traffic continues until the
// last of them has ended; how a run is watched changes nothing.
func TestTrafficContinuesUntilTheLastMeasuredFlowHasEnded(t *testing.T) {
	r := run(t, mustParse(t, armed, Small).Cases()[1], 7)
	if r.Metrics["flows"] != 6 || r.Metrics["finished"] != 6 || r.Summary.Flows != 6 || r.Cut || len(r.Stuck) > 0 {
		t.Errorf("%v flows were measured, %v ended, cut %v, stuck %v; want 6 and 6", r.Metrics["flows"], r.Metrics["finished"], r.Cut, r.Stuck)
	}
	last := int64(0)
	for _, f := range r.Flows {
		last = max(last, f.StartNS+f.FCTNS)
		if f.StartNS < 100_000 || f.Part != 2 {
			t.Errorf("a flow of part %d that started at %d ns was measured", f.Part, f.StartNS)
		}
	}
	if end := int64(r.Summary.EndUS * 1000); end < last || end > last+100_000 {
		t.Errorf("the run ended at %d ns, its last measured flow at %d", end, last)
	}
	late := 0
	for _, f := range r.Raw.Flows {
		if f.Start.Nanoseconds() > r.Window.UntilNS {
			late++
		}
	}
	if late == 0 {
		t.Error("no traffic started after the window")
	}
	watched := strings.Replace(armed, "warmup:", "sample: 7us\nwarmup:", 1)
	if o := run(t, mustParse(t, watched, Small).Cases()[1], 7); o.Metrics["avg_fct_us"] != r.Metrics["avg_fct_us"] || o.Metrics["hops"] == 0 && r.Metrics["hops"] != 0 {
		t.Errorf("average FCT is %v if queues are sampled and %v if not", o.Metrics["avg_fct_us"], r.Metrics["avg_fct_us"])
	}
}

// Four new flows meet on one host's link: what switches tell their senders is
// told by flow, and by whether it is about a port to a host.
func TestPostcardsAreToldByFlowAndByPort(t *testing.T) {
	r := run(t, mustParse(t, `
name: cards
summary: An incast of new flows
network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 5, rate: 25Gbps, uplink_rate: 100Gbps, delay: 2us}}
traffic:
- incast: {degree: 4, size: 200KB, to: h1, from: h6..h9}
- long: {from: h10, to: h2, size: 1KB}
arms: [{profile: pbfs}]
until: 10ms
seeds: [1]
claims: [{less: postcards_per_flow, with: pbfs, than: 4}]
small: {why: it is a test}
`, Paper).Cases()[0], 1)
	cards := r.Metrics["postcards"]
	if cards == 0 || r.Metrics["postcards_per_flow"] != cards/4 || r.Metrics["postcards_last_hop"] != 1 {
		t.Errorf("%v postcards, %v for each of four long flows, %v of them from ports to hosts", cards, r.Metrics["postcards_per_flow"], r.Metrics["postcards_last_hop"])
	}
}

// Metrics of the network are those of the window.
func TestTheNetworkIsCountedInTheWindow(t *testing.T) {
	r := run(t, mustParse(t, armed, Paper).Cases()[1], 8)
	if r.Window == nil || r.Window.FromNS != 100_000 || r.Window.UntilNS != 400_000 {
		t.Fatalf("window %+v", r.Window)
	}
	// The long flow shares a link of 40 Gb/s with other parts' flows.
	if g := r.Metrics["goodput_gbps.part3"]; g <= 1 || g > 40 {
		t.Errorf("the long flow has a goodput of %v Gb/s", g)
	}
	frames := 0.0
	for _, e := range r.Raw.Pauses {
		if e.Quanta > 0 && e.Time >= 100*vtime.Microsecond && e.Time < 400*vtime.Microsecond {
			frames++
		}
	}
	if r.Metrics["pause_frames"] != frames || frames == 0 {
		t.Errorf("%v PAUSE frames, want the %v of the window", r.Metrics["pause_frames"], frames)
	}
	if sum := r.Metrics["pause_frames.host"] + r.Metrics["pause_frames.leaf"] + r.Metrics["pause_frames.spine"]; sum != frames {
		t.Errorf("tiers have %v PAUSE frames together, want %v", sum, frames)
	}
	if r.Steady == nil || r.Steady.First < 1 || r.Steady.Second < 1 {
		t.Errorf("steady: %+v", r.Steady)
	}
}

func TestFlowsThatCannotProceedAreNamedWithTheReason(t *testing.T) {
	const text = `name: s
network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}, switch: {buffer: 2MB, pfc: {xoff: 60KB}}}
profile: ecmp
until: 900ms
traffic:
- long: {from: h1, to: h3, size: 500KB}
- long: {from: h1, to: h2, size: 500KB}
`
	for _, c := range []struct{ extra, want string }{
		{"faults: [{link: l1-s1, from: 20us, down: true}]\n", "unreachable: [link l1-s1 is down]"},
		{"faults: [{node: s1, from: 20us, loss: 1}]\n", "unreachable: [s1 loses all frames]"},
		{"hosts: {rto: 0s}\nfaults: [{link: l1-s1, until: 400us, down: true}]\n", "no retransmission timeout"},
		{"faults: [{node: s1, loss: 1, pairs: [h1-h3]}]\n", "packets do not arrive"},
	} {
		r := run(t, mustParse(t, text+c.extra, Paper).Cases()[0], 1)
		if len(r.Stuck) != 1 || !strings.Contains(r.Stuck[0].String(), "h1 to h3, 500000 bytes") || !strings.Contains(r.Stuck[0].Reason, c.want) {
			t.Errorf("%q: stuck %+v, want %q", c.extra, r.Stuck, c.want)
		}
		if r.Summary.EndUS > 100_000 || r.Summary.Finished != 1 {
			t.Errorf("%q: the run ended at %v us with %d flows finished", c.extra, r.Summary.EndUS, r.Summary.Finished)
		}
	}
}

// A measured flow whose packets are lost for 60 ms ends if the run waits for the flow
// that is not measured and makes progress meanwhile. It does so unless new flows
// start until the end of the run.
func TestRunWaitsForFlowsThatAreNotMeasured(t *testing.T) {
	const text = `name: s
network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 1Gbps, delay: 2us}}
profile: ecmp
warmup: 1us
measure: 1ms
until: 900ms
faults: [{node: s1, loss: 1, pairs: [h1-h3], until: 60ms}]
judge: [1]
traffic:
- long: {from: h1, to: h3, size: 50KB, start: 2us}
- long: {from: h2, to: h4, size: 10MB, start: 2us}
- long: {from: h2, to: h4}
`
	for _, c := range []struct {
		extra string
		stuck int
	}{
		{"", 0},
		{"- poisson: {sizes: imc10, load: 0.05, from: h2, to: h4, duration: 50ms}\n", 0},
		{"- poisson: {sizes: imc10, load: 0.05, from: h2, to: h4}\n", 1},
		{"- burst: {flows: 1, size: 1KB, from: h2, to: h4, interval: 1ms, times: 5}\n", 0},
		{"- burst: {flows: 1, size: 1KB, from: h2, to: h4, interval: 1ms}\n", 1},
		{"- incast: {degree: 1, size: 1KB, from: h2, to: h4, interval: 1ms}\n", 1},
		{"- coflow: {flows: 1, size: 1KB, from: h2, to: h4, interval: 1ms, count: 3}\n", 0},
		{"- coflow: {flows: 1, size: 1KB, from: h2, to: h4, interval: 1ms}\n", 1},
	} {
		r := run(t, mustParse(t, text+c.extra, Paper).Cases()[0], 1)
		if len(r.Stuck) != c.stuck || r.Metrics["finished"] != float64(1-c.stuck) {
			t.Errorf("%q: %v of 1 flow ended, stuck %v; want %d", c.extra, r.Metrics["finished"], r.Stuck, c.stuck)
		}
	}
}

// The offered loads agree with the traffic matrix.
func TestOfferedLoadByTier(t *testing.T) {
	const text = `name: s
network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}}
profile: ecmp
traffic:
- poisson: {sizes: websearch, load: 0.5, other_leaf: true}
measure: 60ms
`
	c := mustParse(t, text, Paper).Cases()[0]
	loads, err := c.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // to the last digit, which depended on the order of a map
		if again, err := c.Loads(1); err != nil || !reflect.DeepEqual(again, loads) {
			t.Fatalf("error %v, loads %v and then %v", err, loads, again)
		}
	}
	var b bytes.Buffer
	for _, l := range loads {
		want := 0.5 * 1.082 // headers, preamble and gap
		if strings.Contains(l.Tier, "spine") {
			want *= 2 // four hosts on two uplinks
		}
		if l.Mean < want*0.8 || l.Mean > want*1.2 || l.Max < l.Mean {
			t.Errorf("%s: mean %.3f, most %.3f at %s; want about %.3f", l.Tier, l.Mean, l.Max, l.Where, want)
		}
		b.WriteString(l.Tier + "\n")
	}
	if b.String() != "host to leaf\nleaf to host\nleaf to spine\nspine to leaf\n" {
		t.Errorf("tiers\n%s", &b)
	}
}

// A flow that lasts until the end loads its host's link fully, and shares it with
// others of the host; its nominal size has no effect.
func TestOfferedLoadOfLastingFlows(t *testing.T) {
	const text = `name: s
network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}}
profile: ecmp
traffic:
- long: {from: h1, to: h3}
- long: {from: h1, to: h4}
- long: {from: h2, to: h4, start: 50us}
`
	for more, want := range map[string][3]float64{ // mean of hosts' links, of the spine's, and the time
		"- burst: {from: h4, to: h1, flows: 1, size: 1KB, start: 100us}\n": {1.5 / 4, 1.5 / 2, 100},
		"measure: 100us\nuntil: 100us\n":                                   {1.5 / 4, 1.5 / 2, 0},
	} {
		loads, err := mustParse(t, text+more, Paper).Cases()[0].Loads(1)
		if err != nil || len(loads) != 4 {
			t.Fatalf("%q: %v, %v", more, loads, err)
		}
		for i, mean := range []float64{want[0], want[0], want[1], want[1]} {
			if l := loads[i]; math.Abs(l.Mean-mean) > 1e-9 || l.OverUS != want[2] {
				t.Errorf("%q: %s: mean %v over %v us, want %v over %v us", more, l.Tier, l.Mean, l.OverUS, mean, want[2])
			}
		}
	}
}
