// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/report"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/web/webtest"
)

// sampledReports is the share of the experiments whose reports are opened without
// REPORTS=1: one of so many.
const sampledReports = 30

// The report of an experiment opens without an error in the browser's console: of
// all experiments with REPORTS=1 (which takes an hour), of those whose name the regular
// expression REPORTS matches, or without it of a sample, at the first point of the small
// scale with two seeds.
func TestReportsOpenInTheBrowser(t *testing.T) {
	dir := t.TempDir()
	chosen := func(i int, _ string) bool { return i%sampledReports == 0 }
	switch of := os.Getenv("REPORTS"); of {
	case "":
	case "1":
		chosen = func(int, string) bool { return true }
	default:
		names := regexp.MustCompile(of)
		chosen = func(_ int, name string) bool { return names.MatchString(name) }
	}
	page := webtest.Open(t, blank(t, dir), 1200, 900)
experiments:
	for i, name := range catalog.Names() {
		if !chosen(i, name) {
			continue
		}
		s, err := LoadAt(name, scenario.Small)
		if err != nil {
			t.Fatal(err)
		}
		s.Reseed(2)
		p, err := NewPlan(s, "pauseless exp run "+name)
		if err != nil {
			t.Fatal(err)
		}
		notes := make(map[Job]result.RunNote)
		var runs []*result.Run
		for _, j := range p.Jobs() {
			c := p.Case(j)
			if !slices.Equal(c.Point, s.Cases()[0].Point) {
				continue
			}
			run, err := p.Make(context.Background(), j, scenario.Options{Threads: 2})
			if err != nil {
				t.Errorf("%s, %s: %v", name, p.Name(j), err)
				continue experiments
			}
			run.Network = result.NewNetwork(c.Net())
			notes[j] = note(j, run)
			runs = append(runs, run)
		}
		o := p.Outcome(notes, nil)
		shapes, err := report.Condense(func(yield func(*result.Run, error) bool) {
			for _, r := range runs {
				if !yield(r, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for kind, source := range map[string]report.Source{"outcome": {Outcome: o, Shapes: shapes}, "runs": {Runs: runs}} {
			var b bytes.Buffer
			if err := report.Write(&b, report.Options{Title: name}, source); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			open(t, page, dir, name+"-"+kind, b.Bytes())
		}
	}
}

// The first tutorial's scenario, as a user types it.
func TestTheReportOfTheFirstScenarioOpens(t *testing.T) {
	tutorial, err := os.ReadFile("../../docs/tutorials/first-simulation.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)cat > first.yaml <<END\n(.*?)END\n`).FindSubmatch(tutorial)
	if m == nil {
		t.Fatal("the tutorial has no scenario")
	}
	s, err := scenario.Parse("first.yaml", m[1])
	if err != nil {
		t.Fatal(err)
	}
	s.Reseed(2)
	all, err := s.Run(context.Background(), scenario.Options{Threads: 2, Event: func(controlplane.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.Write(&b, report.Options{Title: "first"}, report.Source{Runs: all}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	open(t, webtest.Open(t, blank(t, dir), 1200, 900), dir, "first", b.Bytes())
}

// blank returns a page that is ready at once.
func blank(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "blank.html")
	if err := os.WriteFile(file, []byte(`<!doctype html><html data-ready=yes><title>blank</title>`), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// open opens a report. The page fails the test at any message of its console.
func open(t *testing.T, page *webtest.Page, dir, name string, html []byte) {
	t.Helper()
	file := filepath.Join(dir, name+".html")
	if err := os.WriteFile(file, html, 0o666); err != nil {
		t.Fatal(err)
	}
	page.Go("file://" + file)
	if n := webtest.Eval[int](page, `[...document.querySelectorAll('[data-figure]')].filter(f => !f.querySelector('canvas, .values')).length`); n > 0 {
		t.Errorf("%s: %d figures are empty", name, n)
	}
	// Whatever is clicked, the console stays empty. Two frames later all is drawn.
	webtest.Eval[int](page, `(async () => {
		for (const b of document.querySelectorAll('button, summary, input[type=checkbox]')) if (!/save/i.test(b.textContent)) b.click();
		for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
		return 0;
	})()`)
}
