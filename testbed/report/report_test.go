// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
)

func run(profile string, seed uint64, scale int64) *result.Run {
	r := &result.Run{Scenario: "demo", Profile: profile, Seed: seed}
	for i := int64(1); i <= 20; i++ {
		r.Flows = append(r.Flows, result.Flow{Bytes: i * i * 1000, FCTNS: scale * i * 1000, IdealNS: i * 1000})
	}
	r.Summary = result.Summary{Flows: 20, Finished: 20, AvgFCTUS: 10.5 * float64(scale), P99FCTUS: 20 * float64(scale), PauseFrames: uint64(scale)}
	r.Lines = []result.Line{{Name: "l1 port 2", Unit: "bytes", Node: "l1", Port: 2, TNS: []int64{0, 1000, 2000}, V: []uint64{0, 9, 3}}}
	r.Pauses = []result.Pause{{Node: "l1", Port: 2, Class: 3, StartNS: 500, EndNS: 1500}, {Node: "h1", Port: 1, Class: 3, StartNS: 700, EndNS: 800}}
	r.Registers = []result.Register{{Switch: "l1", Name: "egress_<qlen>", Values: []uint64{0, 0, 7}}, {Switch: "l1", Name: "silent", Values: []uint64{0, 0}}}
	r.Network = &result.Network{
		Nodes: []result.NetNode{{Name: "h1", Tier: 0}, {Name: "l1", Tier: 1}, {Name: "h2", Tier: 0}},
		Links: []result.NetLink{{A: 0, AP: 1, B: 1, BP: 1}, {A: 1, AP: 2, B: 2, BP: 1}},
	}
	return r
}

func write(t *testing.T, title string, runs ...*result.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, Options{Title: title}, Source{Runs: runs}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// data returns the data that the page contains for its script.
func data(t *testing.T, page string) *Page {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no data")
	}
	var p struct {
		Arms        []string
		Experiments []*Experiment
	}
	if err := json.Unmarshal([]byte(m[1]), &p); err != nil {
		t.Fatal(err)
	}
	return &Page{Arms: p.Arms, Experiments: p.Experiments}
}

func TestReportSaysWhoWonAndDrawsIt(t *testing.T) {
	page := write(t, "demo", run("drill", 1, 3), run("drill", 2, 4), run("drill", 3, 5), run("rlb-drill", 1, 2), run("rlb-drill", 2, 3), run("rlb-drill", 3, 3))
	for _, want := range []string{
		"rlb-drill finishes flows 33.3 % sooner than drill on average (95 % interval of the change", "3 runs", "Slowdown by flow size",
		"egress_&lt;qlen&gt;", "[2]=7", "1 that are all zero", "mean of 3 runs", "l1 port 2 to h2",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if strings.Contains(page, ">silent<") {
		t.Error("a register that is all zero is shown")
	}
	p := data(t, page)
	if strings.Join(p.Arms, " ") != "drill rlb-drill" {
		t.Errorf("arms are %v", p.Arms)
	}
	x := p.Experiments[0]
	if r := x.Points[0].Runs; len(r) != 6 || r[0].Rows[0] != "l1 port 2" || r[0].Pauses[0] != [4]number{0, 3, 0.5, 1.5} || r[0].Paused[0] != [3]number{1, 0, 1} {
		t.Errorf("time lines are %+v", r)
	}
	cdf := x.Figures[0]
	places := len(cdf.At)
	if first, last := cdf.Arms[0].V[0], cdf.Arms[0].V[places-1]; first < 0 || last != 1 {
		t.Errorf("the distribution goes from %v to %v", first, last)
	}
	if len(cdf.Arms) != 2 || len(cdf.Arms[1].Lo) != places || cdf.Arms[1].Lo[places/2] > cdf.Arms[1].V[places/2] || cdf.Arms[1].Hi[places/2] < cdf.Arms[1].V[places/2] {
		t.Error("the line of means leaves its band")
	}
}

func TestNamesCannotLeaveTheirPlace(t *testing.T) {
	evil := `</script><script>alert(1)</script>"><img src=x onerror=alert(1)>`
	r := run(evil, 1, 2)
	r.Scenario, r.Pauses[0].Node, r.Network.Nodes[1].Name, r.Lines[0].Name, r.Remarks = evil, evil, evil, evil, []string{evil}
	page := write(t, evil, r)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
		t.Error("a name became markup")
	}
	if got := data(t, page).Arms[0]; got != evil {
		t.Errorf("the arm is called %q", got)
	}
}

// Arms of two results files of the same runs include the files' names.
func TestArmsOfTwoFilesHaveTheirNames(t *testing.T) {
	var b bytes.Buffer
	err := Write(&b, Options{}, Source{Name: "before", Runs: []*result.Run{run("drill", 1, 3)}}, Source{Name: "after", Runs: []*result.Run{run("drill", 1, 2), run("ecmp", 1, 2)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(data(t, b.String()).Arms, ", "); got != "drill (before), drill (after), ecmp (after)" {
		t.Errorf("arms are %s", got)
	}
}

// The report names the server over which registers were read.
func TestReportNamesTheServerOfRegisters(t *testing.T) {
	bmv2 := run("rlb-drill", 0, 2)
	bmv2.RegistersOver, bmv2.Remarks = "BMv2 Thrift", []string{"the machine was busy"}
	page := write(t, "both", run("drill", 0, 3), bmv2)
	for _, want := range []string{"Registers of drill, seed 0, as the controller reads them over P4Runtime", "Registers of rlb-drill, seed 0, as the controller reads them over BMv2 Thrift",
		"rlb-drill, seed 0: the machine was busy"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
}

func TestReportIsTheSameEachTime(t *testing.T) {
	first := write(t, "demo", run("drill", 1, 3), run("rlb-drill", 1, 2))
	if second := write(t, "demo", run("drill", 1, 3), run("rlb-drill", 1, 2)); first != second {
		t.Error("two reports of the same runs differ")
	}
}

func TestReportOfUnfinishedRunHasNoFigures(t *testing.T) {
	page := write(t, "demo", &result.Run{Profile: "drill", Partial: true, Flows: []result.Flow{{Bytes: 1}}})
	if strings.Contains(page, "<figure") || !strings.Contains(page, "was stopped before its end") {
		t.Error("the page has a figure, or does not report that the run was stopped")
	}
	if err := Write(io.Discard, Options{Title: "demo"}); err == nil {
		t.Error("Write accepts a report of no runs")
	}
}

// Runs that were stopped, cut off or stuck have no completion times: their slowest
// flows are missing.
func TestRunsWithFlowsLeftHaveNoCompletionTimes(t *testing.T) {
	left := func(seed uint64, change func(*result.Run)) *result.Run {
		r := run("rlb-drill", seed, 1)
		r.Summary.Finished, r.Summary.AvgFCTUS, r.Summary.Scheme = 1, 1, map[string]uint64{"reroutes": 100}
		change(r)
		return r
	}
	whole := run("rlb-drill", 1, 6)
	whole.Summary.Scheme = map[string]uint64{"reroutes": 30}
	cut := left(2, func(r *result.Run) { r.Cut = true })
	stuck := left(3, func(r *result.Run) { r.Stuck = make([]result.Stuck, 4) })
	partial := left(4, func(r *result.Run) { r.Partial, r.Summary.Scheme = true, nil })
	base := []*result.Run{run("drill", 1, 3), run("drill", 2, 3), run("drill", 3, 3), run("drill", 4, 3)}
	page := write(t, "demo", append(base, whole, cut, stuck, partial)...)
	for _, want := range []string{
		"rlb-drill finishes flows 100.0 % later than drill on average (one run: ",
		"rlb-drill, seed 2 was cut off by until", "rlb-drill, seed 3 has 4 flows that cannot proceed", "rlb-drill, seed 4 was stopped before its end",
		">76.7<", // the mean of 30, 100 and 100 reroutes
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	page = write(t, "demo", append(base, cut, stuck, partial)...)
	if want := "The completion times of rlb-drill and drill are not compared"; !strings.Contains(page, want) {
		t.Errorf("the page lacks %q", want)
	}
}

// Long runs are shown with fewer samples and pauses, and keep their maxima.
func TestLongRunsAreThinnedOut(t *testing.T) {
	r := run("drill", 1, 2)
	r.Pauses = nil
	l := &r.Lines[0]
	l.TNS, l.V = nil, nil
	for i := int64(0); i < 50_000; i++ {
		l.TNS, l.V = append(l.TNS, i*1000), append(l.V, uint64(i%7))
		r.Pauses = append(r.Pauses, result.Pause{Node: "l1", Port: 2, StartNS: i * 1000, EndNS: i*1000 + 400})
	}
	l.V[33_333] = 1_000_000
	x := data(t, write(t, "demo", r)).Experiments[0].Points[0].Runs[0]
	if len(x.T) > fine.places || len(x.T) != len(x.Lines[0].V) || len(x.Pauses) > fine.pauses {
		t.Errorf("%d samples, %d pauses", len(x.T), len(x.Pauses))
	}
	peak := number(0)
	for _, v := range x.Lines[0].V {
		peak = max(peak, v)
	}
	if peak != 1_000_000 {
		t.Errorf("the peak is %v", peak)
	}
}

// The report of an outcome has verdicts, a table for each point, and a figure
// along the axis with intervals.
func TestOutcomeIsShown(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	o := &result.Outcome{
		Experiment: "loads", Summary: "at two loads", Command: "pauseless exp run loads",
		Arms: []result.Arm{{Name: "drill"}, {Name: "rlb"}},
		Axes: []result.Axis{{Name: "load", Values: []result.Value{{Text: "0.4", X: at(0.4)}, {Text: "0.6", X: at(0.6)}}}},
	}
	var notes []result.RunNote
	for _, load := range []string{"0.4", "0.6"} {
		for arm, base := range map[string]float64{"drill": 100, "rlb": 80} {
			for seed := range uint64(5) {
				notes = append(notes, result.RunNote{Arm: arm, Point: []string{load}, Seed: seed + 1, State: result.Done, Metrics: map[string]float64{"avg_fct_us": base + float64(seed)}})
			}
		}
	}
	o.Fill(notes, []result.Claim{{Less: "avg_fct_us", With: "rlb", Than: "drill"}})
	var b bytes.Buffer
	if err := Write(&b, Options{Title: "loads"}, Source{Outcome: o}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"average FCT: shorter with rlb than with drill (load 0.4): holds; change −19.6 %", "5 runs", "pauseless exp run loads", "▲", "average FCT by load"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	x := data(t, page).Experiments[0]
	f := x.Figures[0]
	if len(x.Figures) != 1 || !f.Intervals || len(f.Arms) != 2 || f.At[1] != 0.6 || f.Arms[0].V[0] != 102 || f.Arms[0].Lo[0] >= 102 || f.Arms[0].Hi[0] <= 102 {
		t.Errorf("figures are %+v", x.Figures)
	}
}

// Runs that were paused but not sampled, runs without flows, and a kept file of
// figures with null have no null in the page: the script expects arrays.
func TestPagesHaveNoNull(t *testing.T) {
	paused, empty := run("drill", 1, 3), &result.Run{Scenario: "demo", Profile: "ecmp", Seed: 1}
	paused.Lines = nil
	network := run("plb", 1, 2)
	network.Network, network.Lines, network.Pauses = &result.Network{}, nil, network.Pauses[:1]
	shapes, err := ReadShapes(strings.NewReader(`{"format":"pauseless-figures/1","runs":[{"arm":"base","point":["none","go-back-n"],"seed":1,"time":{"arm":0,"seed":1,"t":null,"lines":null,"rows":["l1 port 2"],"pauses":[[0,3,1,2]],"paused":null}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	o, _ := grid(gridClaims...)
	var b bytes.Buffer
	if err := Write(&b, Options{Title: "demo"}, Source{Runs: []*result.Run{paused, empty, network}}, Source{Outcome: o, Shapes: shapes}); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)id="data">(.*?)</script>`).FindStringSubmatch(b.String())
	if null := regexp.MustCompile(`"\w+":null`).FindString(m[1]); null != "" {
		t.Errorf("the page's data has %s", null)
	}
}

// A claim and the cell of the table that has its numbers say the same.
func TestClaimAndTableAgree(t *testing.T) {
	// The base's interval includes zero, as with few PAUSE frames in two seeds.
	with, than := []float64{735, 753}, []float64{0, 1}
	o := &result.Outcome{Arms: []result.Arm{{Name: "base"}, {Name: "new"}}}
	var notes []result.RunNote
	for i := range with {
		notes = append(notes, result.RunNote{Arm: "base", Seed: uint64(i), State: result.Done, Metrics: map[string]float64{"pause_frames": than[i]}},
			result.RunNote{Arm: "new", Seed: uint64(i), State: result.Done, Metrics: map[string]float64{"pause_frames": with[i]}})
	}
	o.Fill(notes, []result.Claim{{More: "pause_frames", With: "new", Than: "base"}})
	var b bytes.Buffer
	if err := Write(&b, Options{Title: "demo"}, Source{Outcome: o}); err != nil {
		t.Fatal(err)
	}
	const interval = "+635.5 to +851.5"
	if got := verdict(o, &o.Claims[0]).Text; !strings.Contains(got, "holds; change +148700.0 %; difference "+interval+" (95 % interval, 2 runs)") {
		t.Errorf("the claim is %q", got)
	}
	for _, row := range (&Page{}).outcome(o, nil).Tables[0].Rows {
		if c := row.Cells[1]; c.Interval != interval || c.Mark != worse {
			t.Errorf("%s: %+v, want %s and %s", row.Title, c, interval, worse)
		}
	}
}

// A report of an explained run has a tree and a time line for each storm.
func TestStormsAreTrees(t *testing.T) {
	r := run("ecmp", 1, 3)
	r.Causes = &result.Causes{PausedUS: 30, WaitedUS: 20, VictimUS: 5, Victims: 1, Storms: []result.PauseStorm{{
		Root: result.PauseRoot{Node: "l<1>", Port: 2, Peer: "h2", Class: 3, Cause: result.CauseIncast, Why: "more arrives"}, FromNS: 1000, UntilNS: 21000,
		Links: []result.PausedLink{
			{From: "s1", Port: 1, To: "l<1>", Parent: -1, Depth: 1, Pauses: 2, PausedUS: 20, SpansNS: [][2]int64{{1000, 11000}, {12000, 21000}}},
			{From: "l2", Port: 3, To: "s1", Parent: 0, Depth: 2, Pauses: 1, PausedUS: 10, SpansNS: [][2]int64{{6000, 16000}}},
		},
		RootFlows: []result.RootFlow{{Flow: 1, Src: "h1", Dst: "h2", Share: 1}}, RootFlowCount: 1, Waiting: 2, WaitedUS: 20, VictimUS: 5, VictimCount: 1,
		Victims: []result.FlowWait{{Flow: 2, Src: "h3", Dst: "h4", WaitedUS: 5}},
	}}}
	page := write(t, "storm", r)
	for _, want := range []string{
		"Why links were paused: ecmp, seed 1", "The root is l&lt;1&gt; port 2 to h2 (incast): more arrives.", `<svg width="16" height="1" aria-hidden="true"></svg>l2 port 3 to s1`,
		`M90.0 1h180.0v10h-180.0z`, "In the root: h1 to h2 100 %.", "Victims: h3 to h4 5.0 µs.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(write(t, "plain", run("ecmp", 1, 3)), "Why links were paused") {
		t.Error("a run that is not explained has storms")
	}
}
