// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

const sixteen = "leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}"

func network(t testing.TB, text string) *topo.Topology {
	t.Helper()
	net, err := topo.Parse("t.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// parts reads a list of parts in a scenario's format.
func parts(t testing.TB, text string) []Spec {
	t.Helper()
	var s struct {
		Workload []Spec `yaml:"workload"`
	}
	f, err := yamlfile.Parse("w.yaml", []byte(text), &s)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	return s.Workload
}

func generate(t testing.TB, net *topo.Topology, text string) []fabric.Flow {
	t.Helper()
	flows, err := Generate(parts(t, text), net, 1)
	if err != nil {
		t.Fatal(err)
	}
	return flows
}

// The means that the papers and the sources of the distributions state.
func TestMeansOfTheDistributions(t *testing.T) {
	for name, want := range map[string]float64{
		"websearch": 1711250, "websearch_abm": 1711222, "websearch_xpass": 1710004, "datamining": 7487884, "datamining_vl2": 12658199, "datamining_10mb": 427071,
		"webserver": 66121, "cachefollower": 712574, "hadoop": 120421, "hadoop_fine": 121849, "hadoop_abm": 3423728,
		"alistorage": 40870, "solar": 39424, "googlerpc": 2892, "pcn_w1": 80e3, "pcn_w2": 500e3, "imc10": 195357,
	} {
		d, err := load(nil, name)
		if err != nil {
			t.Fatal(err)
		}
		if m := d.Mean(); math.Abs(m-want) > 0.001*want {
			t.Errorf("%s has a mean of %.0f, want %.0f", name, m, want)
		}
	}
	if len(Names()) != 17 {
		t.Errorf("the distributions are %v; each needs a line in this test", Names())
	}
}

// PCN's table 1: share of flows and of bytes up to 10 KB, 100 KB, 1 MB.
func TestPCNDistributionsMatchTheirTable(t *testing.T) {
	for name, want := range map[string][]float64{
		"pcn_w1": {0.8014, 0.0308, 0.9046, 0.0897, 0.9958, 0.9277},
		"pcn_w2": {0.7079, 0.0022, 0.8738, 0.0178, 0.9090, 0.0331},
	} {
		d, err := load(nil, name)
		if err != nil {
			t.Fatal(err)
		}
		for i, limit := range []float64{10e3, 100e3, 1e6} {
			flows := d.Share(limit)
			var bytes float64
			for k := 1; k < len(d.points) && d.points[k].bytes <= limit; k++ {
				a, b := d.points[k-1], d.points[k]
				bytes += (b.share - a.share) * (a.bytes + b.bytes) / 2
			}
			if math.Abs(flows-want[2*i]) > 0.001 || math.Abs(bytes/d.Mean()-want[2*i+1]) > 0.002 {
				t.Errorf("%s up to %.0f bytes: %.4f of flows, %.4f of bytes, want %.4f and %.4f", name, limit, flows, bytes/d.Mean(), want[2*i], want[2*i+1])
			}
		}
	}
}

func TestSamplesFollowTheDistribution(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, name := range Names() {
		d, err := load(nil, name)
		if err != nil {
			t.Fatal(err)
		}
		const n = 20_000
		sizes := make([]float64, n)
		for i := range sizes {
			sizes[i] = float64(d.Quantile(rng.Float64()))
		}
		slices.Sort(sizes)
		// Kolmogorov's distance; the bound is exceeded once in ten thousand.
		// Sizes are whole bytes, so both sides of a step are compared.
		worst := 0.0
		for i, s := range sizes {
			e := float64(i) / n
			if low, high := d.Share(s-1), d.Share(s+1); e < low {
				worst = max(worst, low-e)
			} else if e > high {
				worst = max(worst, e-high)
			}
		}
		if worst > 2.23/math.Sqrt(n) {
			t.Errorf("%s: samples are %.4f off", name, worst)
		}
	}
}

func TestQuantileInterpolatesAndKeepsSteps(t *testing.T) {
	d, err := Parse("d", "100 0\n100 20\n# a comment\n200 60\n1000 60\n2000 100\n")
	if err != nil {
		t.Fatal(err)
	}
	for u, want := range map[float64]int64{0: 100, 0.1: 100, 0.2: 100, 0.4: 150, 0.6: 200, 0.61: 1025, 0.8: 1500, 1: 2000} {
		if got := d.Quantile(u); got != want {
			t.Errorf("quantile %g is %d, want %d", u, got, want)
		}
	}
}

func TestMistakesInDistributions(t *testing.T) {
	for in, want := range map[string]string{
		"":                    "fewer than two points",
		"1 0\n2 0.5\n":        "the last share is 0.5",
		"1 0\n2\n":            "d.txt:2:1: expected a size",
		"1 0.1\n2 1\n":        "d.txt:1:1: the first share is 0.1",
		"5 0\n4 1\n":          "d.txt:2:1: size and share must not be less",
		"1 0\nx 1\n":          `size "x"`,
		"1 0\nNaN 1\n":        `size "NaN"`,
		"1 0\n2 -1\n3 1\n":    `share "-1"`,
		"0 0\n0 1\n":          "less than a byte",
		"1 0\n2 1\n3 1\n4 50": "the last share is 50",
	} {
		if _, err := Parse("d.txt", in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", in, err, want)
		}
	}
	if _, err := load(nil, "websearc"); err == nil || !strings.Contains(err.Error(), `did you mean "websearch"?`) {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("100 0\n100 20\n# a comment\n200 60\n1000 60\n2000 100\n")
	f.Add("1 0\n2 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse("d", text)
		if (d == nil) == (err == nil) {
			t.Fatal(d, err)
		}
		if d == nil {
			return
		}
		last := int64(0)
		for _, u := range []float64{0, 1e-9, 0.25, 0.5, 0.99, 1} {
			q := d.Quantile(u)
			if q < 1 || q < last {
				t.Fatalf("quantile %g is %d after %d", u, q, last)
			}
			last = q
		}
	})
}

func TestPoissonFillsItsShareOfTheLinks(t *testing.T) {
	net := network(t, "leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, uplink_rate: 20Gbps, delay: 2us}")
	for _, c := range []struct {
		text string
		want float64 // bits per second of a host
	}{
		{"workload: [{poisson: {sizes: hadoop, load: 0.6, duration: 300ms, start: 5ms}}]", 24e9},
		{"workload: [{poisson: {sizes: hadoop, load: 0.6, duration: 300ms, uplinks: true, other_leaf: true}}]", 6e9},
	} {
		flows := generate(t, net, c.text)
		var bytes int64
		sources, pairs := make(map[int]int), make(map[[2]int]int)
		for _, f := range flows {
			bytes += f.Size
			sources[f.Src]++
			pairs[[2]int{f.Src, f.Dst}]++
			if f.Src == f.Dst || f.Class != 3 || f.Group != 1 {
				t.Fatalf("%+v", f)
			}
		}
		if got := float64(bytes) * 8 / 0.3 / 16; math.Abs(got-c.want) > 0.05*c.want {
			t.Errorf("%s: a host sends %.3g b/s, want %.3g", c.text, got, c.want)
		}
		wantPairs := 16 * 15
		if strings.Contains(c.text, "other_leaf") {
			wantPairs = 16 * 12
		}
		if len(sources) != 16 || len(pairs) != wantPairs {
			t.Errorf("%s: %d sources and %d pairs", c.text, len(sources), len(pairs))
		}
		// The standard deviation of exponential intervals equals their mean.
		var sum, squares float64
		last := vtime.Time(-1)
		n := 0.0
		for _, f := range flows {
			if f.Src != 3 {
				continue
			}
			if last >= 0 {
				d := float64(f.Start - last)
				sum, squares, n = sum+d, squares+d*d, n+1
			}
			last = f.Start
		}
		if cv := math.Sqrt(squares/n-sum/n*sum/n) / (sum / n); math.Abs(cv-1) > 0.1 {
			t.Errorf("%s: coefficient of variation of the intervals is %.3f, want 1", c.text, cv)
		}
	}
}

func TestFlowsHaveAClassByTheirSize(t *testing.T) {
	net := network(t, "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 10Gbps, delay: 2us}")
	flows := generate(t, net, "workload: [{poisson: {sizes: pcn_w1, load: 0.6, flows: 2000}, by_size: [{below: 10KB, class: 7}, {below: 100KB, class: 5}], class: 1}, {incast: {degree: 2, size: 9KB}}]")
	classes := make(map[uint8]int)
	for _, f := range flows {
		want := uint8(1)
		switch {
		case f.Group == 2:
			want = 3
		case f.Size < 10_000:
			want = 7
		case f.Size < 100_000:
			want = 5
		}
		if f.Class != want {
			t.Fatalf("%+v: want class %d", f, want)
		}
		classes[f.Class]++
	}
	if len(classes) != 4 {
		t.Errorf("flows by class: %v", classes)
	}
}

func TestPoissonWithACountOfFlows(t *testing.T) {
	flows := generate(t, network(t, sixteen), "workload: [{class: 5, poisson: {sizes: websearch, load: 0.5, flows: 500, from: h1..h4, to: leaf:l4}}]")
	if len(flows) != 500 {
		t.Fatalf("%d flows", len(flows))
	}
	for _, f := range flows {
		if f.Src > 3 || f.Dst < 12 || f.Class != 5 {
			t.Errorf("%+v", f)
		}
	}
}

func TestIncastBurstAndLong(t *testing.T) {
	net := network(t, sixteen)
	flows := generate(t, net, `workload:
- incast: {degree: 15, total: 4MB, times: 3, interval: 1ms, start: 2ms}
- burst: {from: h1..h3, to: h1 h9, flows: 4, size: 64KB, times: 2, interval: 500us}
- long: {from: h1 h2, to: h9 h10}
`)
	var incast, burst, long []fabric.Flow
	for i, f := range flows {
		switch f.Group {
		case 1:
			incast = append(incast, f)
		case 2:
			burst = append(burst, f)
		case 3:
			long = append(long, f)
		}
		if i > 0 && f.Start < flows[i-1].Start {
			t.Fatal("flows are not in order of their start")
		}
	}
	if len(incast) != 45 || len(burst) != 24 || len(long) != 2 {
		t.Fatalf("%d, %d and %d flows", len(incast), len(burst), len(long))
	}
	for i := 0; i < 45; i += 15 {
		var total int64
		senders := make(map[int]bool)
		for _, f := range incast[i : i+15] {
			total += f.Size
			senders[f.Src] = true
			if f.Dst != incast[i].Dst || f.Start != vtime.Time(2+i/15)*vtime.Millisecond {
				t.Errorf("%+v", f)
			}
		}
		if total != 4_000_000 || len(senders) != 15 || senders[incast[i].Dst] {
			t.Errorf("%d bytes from %d senders", total, len(senders))
		}
	}
	for _, f := range burst {
		if f.Src == f.Dst || f.Size != 64_000 {
			t.Errorf("%+v", f)
		}
	}
	if long[0].Src != 0 || long[0].Dst != 8 || long[1].Src != 1 || long[1].Dst != 9 {
		t.Errorf("%+v", long)
	}
}

// With least, the number of senders is drawn; with sizes, the size of each flow. The
// load of such incasts is that of their mean number and size.
func TestIncastsOfARandomDegree(t *testing.T) {
	net := network(t, sixteen)
	flows := generate(t, net, "workload: [{incast: {least: 3, degree: 15, sizes: pcn_w1, times: 4000, interval: 10us, random: true}}]")
	degrees, sizes, last := make([]int, 16), make(map[int64]bool), vtime.Time(0)
	var total int64
	for i := 0; i < len(flows); {
		n, senders := 0, make(map[int]bool)
		for ; i+n < len(flows) && flows[i+n].Start == flows[i].Start; n++ {
			f := flows[i+n]
			if senders[f.Src] || f.Src == f.Dst || f.Dst != flows[i].Dst {
				t.Fatalf("%+v", f)
			}
			senders[f.Src], sizes[f.Size], total = true, true, total+f.Size
		}
		degrees[n]++
		last = flows[i].Start
		i += n
	}
	for n, count := range degrees {
		if mean := 4000.0 / 13; n < 3 && count > 0 || n >= 3 && math.Abs(float64(count)-mean) > 5*math.Sqrt(mean) {
			t.Errorf("%d incasts of %d senders, want about %.0f of each degree from 3 to 15", count, n, mean)
		}
	}
	d, err := load(nil, "pcn_w1")
	if err != nil {
		t.Fatal(err)
	}
	if mean := float64(total) / float64(len(flows)); math.Abs(mean/d.Mean()-1) > 0.05 || len(sizes) < 10_000 {
		t.Errorf("%d sizes with a mean of %.0f bytes, want %.0f", len(sizes), mean, d.Mean())
	}
	if mean := last.Seconds() / 4000; math.Abs(mean/10e-6-1) > 0.1 {
		t.Errorf("an incast every %.3g s, want 10 us", mean)
	}
}

func TestCoflowsOfThePaper(t *testing.T) {
	net := network(t, "leaf_spine: {leaves: 6, spines: 6, hosts_per_leaf: 12, rate: 40Gbps, delay: 5us}")
	flows := generate(t, net, `workload:
- coflow: {count: 30, flows: 20, size: 16KB, interval: 400us, each: true}
- coflow: {count: 10, flows: 15, pareto: {low: 10KB, high: 2MB, shape: 1.2}, interval: 400us}
- coflow: {count: 30, flows: 7, total: 2MB, spread: 10ms, receivers: 1}
`)
	type sum struct {
		flows int
		bytes int64
		dsts  map[int]bool
	}
	coflows := make(map[uint32]*sum)
	for _, f := range flows {
		c := coflows[f.Coflow]
		if c == nil {
			c = &sum{dsts: make(map[int]bool)}
			coflows[f.Coflow] = c
		}
		c.flows++
		c.bytes += f.Size
		c.dsts[f.Dst] = true
		if f.Group == 2 && (f.Size < 10_000 || f.Size > 2_000_000) {
			t.Errorf("a flow has %d bytes", f.Size)
		}
	}
	if len(coflows) != 70 || coflows[0] != nil {
		t.Fatalf("%d coflows", len(coflows))
	}
	for id, c := range coflows {
		switch {
		case id <= 30 && (c.flows != 20 || c.bytes != 320_000 || len(c.dsts) < 5),
			id > 30 && id <= 40 && c.flows != 15,
			id > 40 && (c.flows != 7 || c.bytes != 2_000_000 || len(c.dsts) != 1):
			t.Errorf("coflow %d: %+v", id, c)
		}
	}
}

func TestParetoQuantiles(t *testing.T) {
	p := &Pareto{Low: 10_000, High: 2_000_000, Shape: 1.2}
	if p.quantile(0) != 10_000 || p.quantile(1) != 2_000_000 {
		t.Errorf("from %d to %d", p.quantile(0), p.quantile(1))
	}
	// F(x) = (1 - (L/x)^a) / (1 - (L/H)^a)
	for _, x := range []float64{20_000, 100_000, 1_000_000} {
		u := (1 - math.Pow(1e4/x, 1.2)) / (1 - math.Pow(1e4/2e6, 1.2))
		if got := float64(p.quantile(u)); math.Abs(got-x) > 2 {
			t.Errorf("quantile %g is %g, want %g", u, got, x)
		}
	}
}

func TestSameSeedSameFlows(t *testing.T) {
	net := network(t, sixteen)
	const text = `workload:
- poisson: {sizes: websearch, load: 0.5, duration: 5ms}
- incast: {degree: 8, size: 64KB, times: 5, interval: 1ms, random: true, jitter: 10us}
`
	a, b := generate(t, net, text), generate(t, net, text)
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed gives other flows")
	}
	c, err := Generate(parts(t, text), net, 2)
	if err != nil || reflect.DeepEqual(a, c) {
		t.Errorf("another seed gives the same flows (%v)", err)
	}
}

// The file is as a spreadsheet saves it: with a byte order mark and CR LF.
func TestTraceIsReplayed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(name, []byte("\ufeffstart, src, dst, bytes, coflow, class\r\n# comment\r\n10us,h1,h16,5KB,7,\r\n1.5ms,h2,h1,1,,6\r\n0,h3,h1,2,,\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	net := network(t, sixteen)
	flows, err := Generate([]Spec{{Trace: &Trace{File: name, Start: vtime.Millisecond}}}, net, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []fabric.Flow{
		{Src: 2, Dst: 0, Size: 2, Start: vtime.Millisecond, Class: 3, Group: 1},
		{Src: 0, Dst: 15, Size: 5000, Start: 1010 * vtime.Microsecond, Class: 3, Coflow: 7, Group: 1},
		{Src: 1, Dst: 0, Size: 1, Start: 2500 * vtime.Microsecond, Class: 6, Group: 1},
	}
	if !reflect.DeepEqual(flows, want) {
		t.Errorf("got %+v", flows)
	}
}

func TestMistakesInTraces(t *testing.T) {
	net := network(t, sixteen)
	for in, want := range map[string]string{
		"":                                         "the file is empty",
		"src,dst,bytes\n":                          "column start is missing",
		"src,dst,bytes,start,colour\n":             `t.csv:1:21: column "colour" is unknown`,
		"src,dst,bytes,start\nh1,h2,5\n":           "t.csv:2",
		"src,dst,bytes,start\nh1,h99,5,1us\n":      `t.csv:2: dst: no host is called "h99"`,
		"src,dst,bytes,start\nh1,h2,x,1us\n":       `bytes is "x"`,
		"src,dst,bytes,start\nh1,h2,5,1\n":         `time "1"`,
		"src,dst,bytes,start\nh1,h1,5,1us\n":       "h1 sends to itself",
		"src,dst,bytes,start\nh1,h2,5,1us,9\n":     "wrong number of fields",
		"src,dst,bytes,start,class\nh1,h2,5,1us,9": `class is "9"`,
		"src;dst;bytes;start\nh1;h2;5;1us\n":       "columns are separated by commas",
		"src,dst,bytes,start\nh1,h2,99TB,1us\n":    `bytes is "99TB"`,
		"src,dst,bytes,start\nh1,h2,0B,1us\n":      `bytes is "0B"`,
		"src,dst,bytes,start\nh1,h99,5KB,1us\n":    `no host is called "h99"`,
	} {
		if _, err := readTrace("t.csv", strings.NewReader(in), net); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", in, err, want)
		}
	}
}

func FuzzTrace(f *testing.F) {
	net := network(f, sixteen)
	f.Add("start, src, dst, bytes, coflow, class\n# comment\n10us,h1,h16,5000,7,\n1.5ms,h2,h1,1,,6\n")
	f.Fuzz(func(t *testing.T, text string) {
		flows, err := readTrace("t.csv", strings.NewReader(text), net)
		if err != nil && flows != nil {
			t.Fatal("flows together with an error")
		}
	})
}

func TestMistakesInParts(t *testing.T) {
	net := network(t, sixteen)
	for in, want := range map[string]string{
		"{}": "0: a part needs one of",
		"{poisson: {sizes: websearch, load: 1, flows: 1}, long: {}}":                "not both",
		"{poisson: {sizes: nope, load: 1, flows: 1}}":                               `0.poisson.sizes: no distribution is called "nope"`,
		"{poisson: {sizes: websearch, load: 0, flows: 1}}":                          "0.poisson.load: load is 0",
		"{poisson: {sizes: websearch, load: 1}}":                                    "either duration or flows",
		"{poisson: {sizes: googlerpc, load: 1, duration: 1000s}}":                   "flows would start",
		"{poisson: {sizes: websearch, load: 1, flows: 1, from: h17}}":               `0.poisson.from: no host is called "h17"`,
		"{poisson: {sizes: websearch, load: 1, flows: 1, from: h1, to: h1}}":        "no host that h1 may send to",
		"{poisson: {sizes: websearch, load: 1, flows: 1, from: h3..h1}}":            "h3..h1 ends before it begins",
		"{poisson: {sizes: websearch, load: 1, flows: 1, from: 'leaf:s1'}}":         `no leaf is called "s1"`,
		"{incast: {degree: 16, size: 1KB}}":                                         "0.incast.degree: degree is 16, but only 15",
		"{incast: {degree: 2, size: 1KB, total: 2KB}}":                              "exactly one of size, of each answer, total",
		"{incast: {degree: 2, size: 1KB, sizes: pcn_w1}}":                           "exactly one of size, of each answer, total",
		"{incast: {degree: 2, sizes: nope}}":                                        `0.incast.sizes: no distribution is called "nope"`,
		"{incast: {degree: 2, least: 3, size: 1KB}}":                                "0.incast.least: least is 3, must be from 1 to degree, which is 2",
		"{incast: {degree: 2, size: 1KB, times: 2}}":                                "0.incast.interval: interval is missing",
		"{burst: {from: h1, to: h1, flows: 1, size: 1KB}}":                          "h1 would send to itself",
		"{burst: {from: h1, to: h2, flows: 99999999, size: 1KB}}":                   "flows is 99999999",
		"{long: {from: h1 h2, to: h2 h3}}":                                          "",
		"{long: {from: h1 h2, to: h3 h2}}":                                          "h2 would send to itself",
		"{coflow: {count: 1, flows: 1}}":                                            "exactly one of size, total, sizes and pareto",
		"{coflow: {count: 1, flows: 1, size: 1KB, receivers: 17}}":                  "receivers is 17",
		"{coflow: {count: 1, flows: 1, size: 1KB, from: h1, receivers: 1}}":         "h1 would send to itself",
		"{coflow: {count: 1, flows: 1, pareto: {low: 2KB, high: 1KB, shape: 1}}}":   "0.coflow.pareto",
		"{coflow: {count: 1, flows: 1, size: 1KB, interval: 1us, spread: 1us}}":     "0.coflow.spread",
		"{long: {from: h1, to: h2}, by_size: [{below: 1KB, class: 2}, {class: 1}]}": "0.by_size.1: below must be above zero",
		"{trace: {file: /nonexistent.csv}}":                                         "0.trace.file",
	} {
		_, err := Generate(parts(t, "workload: ["+in+"]"), net, 1)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", in, err)
			}
			continue
		}
		var e *Error
		if err == nil || !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", in, err, want)
		}
	}
}

// Packets carry 16 bits of a coflow's number, and zero means no coflow: the packets
// of the 65,536th had none.
func TestNoCoflowIsNoneInTheTag(t *testing.T) {
	network, err := (&topo.LeafSpine{Leaves: 2, Spines: 2, HostsPerLeaf: 4, Rate: 40 * vtime.Gbps, Delay: vtime.Microsecond}).Build("n", topo.NewSpec().Switch)
	if err != nil {
		t.Fatal(err)
	}
	flows, err := Generate([]Spec{{Coflow: &Coflow{Count: 66_000, Flows: 1, Size: 1000}}}, network, 1)
	if err != nil || len(flows) != 66_000 {
		t.Fatalf("error %v, %d flows", err, len(flows))
	}
	for _, f := range flows {
		if uint16(f.Coflow) == 0 {
			t.Fatalf("coflow %d is none", f.Coflow)
		}
	}
}

// The flows that start before a time do not depend on a later end.
func TestOpenTrafficIsThePrefixOfMore(t *testing.T) {
	network, err := (&topo.LeafSpine{Leaves: 2, Spines: 2, HostsPerLeaf: 4, Rate: 40 * vtime.Gbps, Delay: vtime.Microsecond}).Build("n", topo.NewSpec().Switch)
	if err != nil {
		t.Fatal(err)
	}
	parts := []Spec{
		{Poisson: &Poisson{Sizes: "websearch", Load: 0.5}},
		{Incast: &Incast{Degree: 3, Size: 9000, Interval: 100 * vtime.Microsecond, Random: true, Jitter: 50 * vtime.Microsecond}},
		{Burst: &Burst{From: "h1", To: "h2", Flows: 2, Size: 100, Interval: 300 * vtime.Microsecond}},
		{Long: &Long{From: "h1", To: "h5"}},
		{Coflow: &Coflow{Flows: 3, Size: 4000, Interval: 200 * vtime.Microsecond}},
		{Coflow: &Coflow{Count: 2, Flows: 2, Size: 4000, Spread: 100 * vtime.Microsecond}},
		{Incast: &Incast{Degree: 5, Least: 1, Sizes: "websearch", Interval: 100 * vtime.Microsecond, Random: true}},
	}
	more, err := GenerateUntil(parts, network, 7, 4*vtime.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, until := range []vtime.Time{vtime.Microsecond, vtime.Millisecond, 3 * vtime.Millisecond} {
		flows, err := GenerateUntil(parts, network, 7, until)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(flows, more[:len(flows)]) || more[len(flows)].Start < until {
			t.Errorf("the %d flows until %v are not the first of those until 4 ms", len(flows), until)
		}
	}
	coflows := make(map[uint32]int)
	for _, f := range more {
		if f.Group == 5 {
			coflows[f.Coflow]++
		}
	}
	if len(coflows) < 10 || len(coflows) > 40 {
		t.Errorf("%d coflows in 4 ms, want about 20", len(coflows))
	}
	for n, flows := range coflows {
		if uint16(n) == 0 {
			t.Errorf("coflow %d is none in the tag of packets, which has 16 bits", n)
		}
		if flows != 3 {
			t.Errorf("coflow %d has %d flows, want 3", n, flows)
		}
	}
	for i, want := range map[int]string{0: "poisson", 4: "coflow.count"} {
		if _, err := Generate(parts[i:i+1], network, 7); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s without an end: %v", want, err)
		}
	}
	together := []Spec{{Coflow: &Coflow{Flows: 3, Size: 4000, Interval: 200 * vtime.Microsecond, Each: true}}}
	if _, err := GenerateUntil(together, network, 7, vtime.Millisecond); err == nil || !strings.Contains(err.Error(), "count is missing") {
		t.Errorf("coflows that begin together, without an end: %v", err)
	}
}

const distributionsMark = "<!-- distributions: made by make golden -->\n"

// docs/reference/distributions.md lists the distributions, with their means and what their files
// say first.
func TestDistributionsAreListed(t *testing.T) {
	var b strings.Builder
	b.WriteString("| `sizes` | mean | |\n|---|---:|---|\n")
	for _, name := range Names() {
		d, err := load(nil, name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := data.ReadFile("data/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		mean := fmt.Sprintf("%.3g KB", d.Mean()/1e3)
		if d.Mean() >= 1e6 {
			mean = fmt.Sprintf("%.3g MB", d.Mean()/1e6)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, mean, strings.TrimPrefix(first, "# "))
	}
	const page = "../../docs/reference/distributions.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), distributionsMark)
	if len(parts) != 3 {
		t.Fatalf("%s has %q %d times, not twice", page, distributionsMark, len(parts)-1)
	}
	parts[1] = b.String()
	golden.Check(t, page, []byte(strings.Join(parts, distributionsMark)))
}
