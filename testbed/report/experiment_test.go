// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/web/webtest"
)

// grid returns an experiment of two arms at two loads and with two kinds of
// NIC, five seeds each, and its runs.
func grid(claims ...result.Claim) (*result.Outcome, []*result.Run) {
	o := &result.Outcome{
		Experiment: "grid", Summary: "at two loads", Command: "pauseless exp run grid",
		Arms: []result.Arm{{Name: "base"}, {Name: "base-rlb"}},
		Axes: []result.Axis{
			{Name: "load", Values: []result.Value{{Text: "none"}, {Text: "4MB", X: new(float64)}}},
			{Name: "nic", Values: []result.Value{{Text: "go-back-n"}, {Text: "out-of-order"}}},
		},
	}
	*o.Axes[0].Values[1].X = 4e6
	var notes []result.RunNote
	var runs []*result.Run
	for i, arm := range []string{"base", "base-rlb"} {
		for k, load := range []string{"none", "4MB"} {
			for _, nic := range []string{"go-back-n", "out-of-order"} {
				for seed := range uint64(5) {
					point := []string{load, nic}
					notes = append(notes, result.RunNote{Arm: arm, Point: point, Seed: seed + 1, State: result.Done,
						Metrics: map[string]float64{"avg_fct_us": float64(100-20*i+50*k) + float64(seed), "pause_frames": float64(7 + seed)}})
					r := run(arm, seed+1, int64(3-i+k))
					r.Arm, r.Point = arm, point
					runs = append(runs, r)
				}
			}
		}
	}
	o.Fill(notes, claims)
	return o, runs
}

func condensed(t *testing.T, runs []*result.Run) *Shapes {
	t.Helper()
	s, err := Condense(func(yield func(*result.Run, error) bool) {
		for _, r := range runs {
			if !yield(r, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var gridClaims = []result.Claim{{Less: "avg_fct_us", With: "base-rlb", Than: "base", Paper: result.Effect{Change: -0.5, Given: true}}, {More: "pause_frames", With: "base-rlb", Than: "base"}}

// Many claims are summed up in a table with an interval for each point; the
// sentences are on the page too.
func TestManyClaimsAreSummedUp(t *testing.T) {
	o, _ := grid(gridClaims...)
	var b bytes.Buffer
	if err := Write(&b, Options{Title: "grid"}, Source{Outcome: o}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"Of 8 verdicts on 2 claims 4 hold, 4 are not supported, 0 are undecided.", "the paper says −50.0 %", "All verdicts as sentences"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	v := verdicts(o)
	if len(v.Rows) != 2 || len(v.Rows[0].Marks) != 4 || v.Rows[0].PaperX != scaleWidth/4 {
		t.Fatalf("rows are %+v", v.Rows)
	}
	// The change is −20 of 102 without load and −20 of 152 with it.
	for i, share := range []float64{20. / 102, 20. / 102, 20. / 152, 20. / 152} {
		if m := v.Rows[0].Marks[i]; m.X != onScale(-share) || m.Low > m.X || m.High < m.X || m.Class != better {
			t.Errorf("interval %d is %+v, want about %v", i, m, onScale(-share))
		}
	}
	if o, _ := grid(gridClaims[0]); verdicts(o) != nil {
		t.Error("four verdicts are summed up in a table, want sentences")
	}
}

// An arm is compared with the arm that its claims name, whatever its own name.
func TestClaimsSayWhatArmsAreComparedWith(t *testing.T) {
	o := &result.Outcome{Arms: []result.Arm{{Name: "a"}, {Name: "b"}, {Name: "b-x"}, {Name: "c"}}, Claims: []result.Judged{{Claim: result.Claim{Less: "avg_fct_us", With: "b-x", Than: "b"}}, {Claim: result.Claim{Less: "avg_fct_us", With: "c", Than: "3"}}}}
	if got, want := basesOf(o), map[string]string{"a": "", "b": "", "b-x": "b", "c": "a"}; !reflect.DeepEqual(got, want) {
		t.Errorf("arms are compared with %v, want %v", got, want)
	}
}

// The report of an outcome without claims compares its arms.
func TestAnOutcomeWithoutClaimsComparesItsArms(t *testing.T) {
	o, _ := grid()
	p := &Page{}
	x := p.outcome(o, nil)
	if len(x.Answers) != 4 || !strings.HasPrefix(x.Answers[0].Text, "load none, nic go-back-n: base-rlb finishes flows 19.6 % sooner than base") {
		t.Errorf("answers are %+v", x.Answers)
	}
}

// An axis of which some values are no numbers shows names, in the file's order.
func TestAnAxisOfNamesAndNumbersIsOneOfNames(t *testing.T) {
	o, _ := grid()
	x := (&Page{}).outcome(o, nil)
	f := x.Sweeps[0].Figures[0]
	if !reflect.DeepEqual(f.X.Names, []string{"none", "4MB"}) || !reflect.DeepEqual(f.At, []number{0, 1}) {
		t.Errorf("the axis is %+v at %v", f.X, f.At)
	}
}

// A report of shapes that were written and read again is the same.
func TestShapesAreReadAsTheyAreWritten(t *testing.T) {
	o, runs := grid(gridClaims...)
	s := condensed(t, runs)
	if len(s.Runs) != 40 || len(s.Networks) != 1 {
		t.Fatalf("%d runs, %d networks", len(s.Runs), len(s.Networks))
	}
	drawn := 0
	for _, r := range s.Runs {
		if r.Time != nil {
			drawn++
		}
	}
	if drawn != 8 {
		t.Errorf("%d time lines, want one for each arm and point", drawn)
	}
	var text bytes.Buffer
	if err := s.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	again, err := ReadShapes(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	page := func(s *Shapes) string {
		var b bytes.Buffer
		if err := Write(&b, Options{Title: "grid"}, Source{Outcome: o, Shapes: s}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if page(s) != page(again) {
		t.Error("a report of what was read differs")
	}
	for from, to := range map[string]string{ShapesFormat: "other/1", `"network":1`: `"network":2`, `"pauses":[[0`: `"pauses":[[9`, `"t":[0,`: `"t":[`} {
		if _, err := ReadShapes(strings.NewReader(strings.Replace(text.String(), from, to, 1))); err == nil {
			t.Errorf("%s instead of %s is accepted", to, from)
		}
	}
}

// Completion times are counted in bins; the share up to a bin's edge is exact.
func TestDistributionIsExactAtItsPlaces(t *testing.T) {
	r := run("drill", 1, 3)
	s := shapeOf(r)
	f := fctCDF([]armShapes{{0, []Shape{s}}})[0]
	for i, at := range f.At {
		n := 0
		for _, flow := range r.Flows {
			if float64(flow.FCTNS)/1000 <= fctEdge(s.FirstFCT-1+i) {
				n++
			}
		}
		if want := float64(n) / float64(len(r.Flows)); float64(f.Arms[0].V[i]) != want {
			t.Errorf("the share up to %v us is %v, want %v", at, f.Arms[0].V[i], want)
		}
	}
	if first, last := f.Arms[0].V[0], f.Arms[0].V[len(f.At)-1]; first != 0 || last != 1 {
		t.Errorf("the distribution goes from %v to %v", first, last)
	}
}

// The report of an experiment in a browser: the figures' values are the
// outcome's, and the reader can choose another metric and another point.
func TestExperimentInTheBrowser(t *testing.T) {
	o, runs := grid(gridClaims...)
	var b bytes.Buffer
	if err := Write(&b, Options{Title: "grid"}, Source{Outcome: o, Shapes: condensed(t, runs)}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	p := webtest.Open(t, file, 1200, 1000)
	// With RLB the mean of 80 to 84 at no load, of 130 to 134 at the other.
	part := `[data-choose=sweep] [data-part="0"] `
	p.Do(chromedp.ScrollIntoView(part+".plot", chromedp.ByQuery), chromedp.Focus(part+".plot", chromedp.ByQuery), chromedp.KeyEvent(strings.Repeat(kb.ArrowRight, 40)))
	if got := webtest.Eval[string](p, fmt.Sprintf("document.querySelectorAll('%s .value')[1].textContent", strings.ReplaceAll(part, "'", `"`))); !strings.HasPrefix(got, " 82 µs (") {
		t.Errorf("the mean is %q", got)
	}
	// The scale is aligned with its lines: zero is above the line of zero.
	if d := webtest.Eval[float64](p, `(() => {
		const middle = e => { const r = e.getBoundingClientRect(); return r.left + r.width / 2; };
		return middle([...document.querySelectorAll('.scale text')].find(t => t.textContent === '0')) - middle(document.querySelector('.claims .zero'));
	})()`); d < -1 || d > 1 {
		t.Errorf("zero of the scale is %v px beside the line", d)
	}
	choose := func(what, value string) {
		webtest.Eval[any](p, fmt.Sprintf(`(() => { const s = document.querySelector('[data-choose=%s] select'); s.value = %q; s.dispatchEvent(new Event('change')); })()`, what, value))
	}
	for _, c := range []struct{ what, value string }{{"sweep", "1"}, {"point", "3"}} {
		drawn := fmt.Sprintf(`document.querySelector('[data-choose=%s] [data-part="%s"] canvas')?.getBoundingClientRect().width > 0`, c.what, c.value)
		if webtest.Eval[bool](p, "!!("+drawn+")") {
			t.Errorf("%s %s is shown before it is chosen", c.what, c.value)
		}
		choose(c.what, c.value)
		p.Until(drawn)
	}
	p.Screenshot("experiment")
	// Nothing is wider than a window of 360 px.
	p.Do(chromedp.EmulateViewport(360, 700))
	p.Until("document.querySelector('.chart').clientWidth < 360")
	p.Until("document.documentElement.scrollWidth <= 360") // once all has been laid out anew
}
