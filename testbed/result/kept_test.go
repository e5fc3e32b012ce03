// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A slim outcome has the links of its page, with those of all arms, and the number of
// the others.
func TestSlimOutcomeHasTheLinksOfItsPage(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.4": {{1}, {1}}, "0.6": {{1}, {1}}})
	for i := range runs {
		for k := range mostLinks + 5 {
			if runs[i].Arm == "with" {
				runs[i].Links = append(runs[i].Links, LinkPauses{Node: "n" + string(rune('a'+k)), Peer: "s", PausedUS: float64(k + 1)})
			}
		}
	}
	o.Fill(runs, nil)
	s := o.Slim()
	if len(s.Links) != 2*mostLinks || s.LinksLeftOut != 2*(mostLinks+5)-mostLinks || len(o.Links) != 2*(mostLinks+5) {
		t.Errorf("%d links of %d, %d left out", len(s.Links), len(o.Links), s.LinksLeftOut)
	}
	if was, is := page(t, o), page(t, s); was != is {
		t.Errorf("the page differs:\n%s\nwant\n%s", is, was)
	}
	if again := s.Slim(); !reflect.DeepEqual(again, s) {
		t.Error("Slim of a slim outcome differs")
	}
}

func page(t *testing.T, o *Outcome) string {
	t.Helper()
	var b bytes.Buffer
	if err := o.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func keptText(t *testing.T, o *Outcome) string {
	t.Helper()
	var b bytes.Buffer
	if err := o.WriteKept(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A slim outcome has few digits, or more where its page has them, and equal values of
// two arms stay equal. Without Slim, all digits are kept.
func TestSlimOutcomesHaveTheDigitsOfTheirPages(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.6": {{1234567.891, 1234569.123, 0.123456789}, {1234567.891, 1234569.123, 0.987654321}}})
	for i := range runs {
		delete(runs[i].Metrics, "pause_frames")
		runs[i].Metrics["pause_frames.spine"] = 12.345678901 * float64(i+1)
		runs[i].Metrics["p999_fct_us"], runs[i].Metrics["reroutes"] = 7, 1234567890
		runs[i].EndUS = 17
	}
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}})
	s := o.Slim()
	if v := s.Cells[0].Values; v["pause_frames.spine"][0] != 12.35 || v["reroutes"][0] != 1234567890 || len(v["p999_fct_us"]) > 0 {
		t.Errorf("values %v", v)
	}
	if with, than := s.Cells[0].Values["p99_fct_us"], s.Cells[1].Values["p99_fct_us"]; with[0] != than[0] || with[2] != 0.1234568 && with[2] != 0.123457 {
		t.Errorf("%v and %v", with, than)
	}
	if was, is := page(t, o), page(t, s); was != is || s.Runs[0].EndUS != 0 {
		t.Errorf("the page differs:\n%s\nwant\n%s", is, was)
	}
	for _, o := range []*Outcome{o, s} {
		back, err := ReadOutcome(strings.NewReader(keptText(t, o)))
		if err != nil {
			t.Fatal(err)
		}
		var a, b bytes.Buffer
		if err := errors.Join(o.WriteJSON(&a), back.WriteJSON(&b)); err != nil {
			t.Fatal(err)
		}
		if a.String() != b.String() {
			t.Errorf("written and read it is\n%s\nnot\n%s", &b, &a)
		}
	}
	for x, kept := range map[float64]float64{0.123456789: 0.123457, 5: 5, 12345.674: 12345.7, 1.000449: 1, 1.00045: 1.0005, 0.0012344: 0.001234} {
		if !SameKept(kept, x) || SameKept(kept, x+1) || SameKept(kept*1.0001, x) {
			t.Errorf("%v is kept of %v", kept, x)
		}
	}
}

func TestKeptOutcomesThatCannotBeAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`"cells":[{"seeds":2000000000}]`:      "more than 5000000 values",
		`"cells":[{"seeds":-1}]`:              "values",
		`"cells":[{"point":["1"],"seeds":1}]`: "1 values for 0 axes",
		`"metrics":["x"],"cells":[{"arm":"a","seeds":1,"values":["b"]},{"arm":"b","seeds":1,"values":[1]}]`: "cell 1: there are no values of b",
		`"cells":[` + strings.Repeat(`{},`, mostCells) + `{"seeds":1}]`:                                     "10001 cells",
	} {
		if _, err := ReadOutcome(strings.NewReader(`{"format":"` + KeptFormat + `",` + text + `}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

// Values that an arm has in common with one before it are written once.
func TestKeptOutcomesReferToEqualValues(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.4": {{1, 2}, {1, 3}}, "0.6": {{1, 2}, {1, 2}}})
	o.Arms = []Arm{{Name: "with", CC: "dcqcn", Hosts: "h"}, {Name: "than", CC: "", Hosts: "h"}}
	steady := &Steady{Z: 7}
	runs[0].Steady = steady
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}})
	text := keptText(t, o)
	for _, want := range []string{
		`{"arm":"with","point":["0.4"],"seeds":2,"unsteady":{"1":7},"values":[[1,2],[1,2]]}`, `{"arm":"than","point":["0.4"],"seeds":2,"values":[[1,3],[1,3]]}`,
		`{"arm":"than","point":["0.6"],"seeds":2,"values":["with","with"]}`, `{"name":"than","profile":"","cc":""}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	back, err := ReadOutcome(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Arms, o.Arms) || !reflect.DeepEqual(back.Cells, o.Cells) || !reflect.DeepEqual(back.Runs[0].Steady, steady) || back.Runs[1].Steady != nil {
		t.Errorf("read is %+v", back)
	}
}

// An archive has all of an outcome, and a file that has been changed is not read.
func TestArchivesAreReadAsWritten(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.6": {{60.123456789, -1, 58}, {100, 103, 97}}})
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}})
	var b bytes.Buffer
	if err := WriteArchive(&b, []*Outcome{o}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "results.tar.gz")
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	archive, file, ok := SplitArchive(name + "/e.json")
	back, err := ReadKept(archive, strings.TrimSuffix(file, ".json"))
	if !ok || err != nil || keptText(t, back) != keptText(t, o) {
		t.Fatalf("%v, %v, %v", ok, err, back)
	}
	if _, err := ReadKept(name, "other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an outcome that is not there: %v", err)
	}
	if err := WriteArchive(io.Discard, []*Outcome{o, o}); err == nil {
		t.Error("an archive has the same outcome twice")
	}

	// Of another content, with the checksums of the first.
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var changed bytes.Buffer
	to := gzip.NewWriter(&changed)
	to.Write(bytes.Replace(all, []byte("60.123456789"), []byte("61.123456789"), 1))
	to.Close()
	if err := os.WriteFile(name, changed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKept(name, "e"); err == nil || !strings.Contains(err.Error(), "not as it was written") {
		t.Errorf("an archive that was changed: %v", err)
	}
}

// A run at the papers' scale may deadlock with thousands of flows; pcn-fig21b had
// 4.7 MB, as each of its 31 deadlocked runs named them all.
func TestSlimOutcomeOfADeadlockIsSmall(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.4": {{1}, {1}}, "0.6": {{1}, {-1}}})
	const flows = 5000
	locked := &runs[len(runs)-1]
	for i := range flows {
		locked.Stuck = append(locked.Stuck, Stuck{Src: fmt.Sprint("h", i), Dst: "h0", Bytes: 1 << 20, Reason: "deadlock in class 3 since 56.4ms: l0 → t1 → l1 → t2 → l0", Deadlock: true, SinceNS: 56_400_000})
	}
	o.Fill(runs, []Claim{{Less: "pause_frames", With: "with", Than: "than"}})
	b := o.Slim()
	var full, brief bytes.Buffer
	if err := o.WriteJSON(&full); err != nil {
		t.Fatal(err)
	}
	if err := b.WriteKept(&brief); err != nil {
		t.Fatal(err)
	}
	if full.Len() < 100*flows || brief.Len() > 2_000 {
		t.Errorf("with %d stuck flows the outcome has %d bytes, and %d if slim", flows, full.Len(), brief.Len())
	}
	last := b.Runs[len(runs)-1]
	if len(last.Stuck) != StuckKept || last.StuckLeftOut != flows-StuckKept || !reflect.DeepEqual(last.Stuck, locked.Stuck[:StuckKept]) {
		t.Errorf("%d flows are named, %d left out: %v", len(last.Stuck), last.StuckLeftOut, last.Stuck)
	}
	if n := len(o.Runs[len(runs)-1].Stuck); n != flows {
		t.Errorf("Slim changed its argument: %d flows are left", n)
	}
	if !strings.Contains(strings.Join(b.Remarks, " "), "1 of 4 runs did not finish: flows cannot proceed (than, 0.6, seed 1: h0 to h0") {
		t.Errorf("remarks %q", b.Remarks)
	}

	if was, is := page(t, o), page(t, b); was != is {
		t.Errorf("the page differs:\n%s\nwant\n%s", is, was)
	}
}
