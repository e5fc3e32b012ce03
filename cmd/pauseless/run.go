// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/report"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// runScenario runs a scenario with a progress bar on stderr, and returns what
// it found even if it was interrupted.
func runScenario(ctx context.Context, s *scenario.Scenario, o scenario.Options, stderr io.Writer) ([]*result.Run, error) {
	bar := newProgressBar(stderr)
	running := false
	end := func() {
		if running {
			bar.end()
		}
	}
	begin := o.Begin
	o.Begin = func(name string, seed uint64, p *program.Program) {
		end()
		if begin != nil {
			begin(name, seed, p)
		}
		bar.begin(fmt.Sprintf("%s, seed %d", name, seed))
		running = true
	}
	o.Progress = bar.update
	o.Event = func(e controlplane.Event) {
		switch e.Kind {
		case controlplane.Connected, controlplane.Primary, controlplane.Reconciled:
		default:
			fmt.Fprintln(stderr, e)
		}
	}
	runs, err := s.Run(ctx, o)
	end()
	return runs, err
}

// writeResults writes runs to a folder: results.json, a CSV file of flows for
// each run, and report.html. It returns the report's path.
func writeResults(dir, title string, runs []*result.Run) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	write := func(name string, do func(io.Writer) error) error { return writeFile(filepath.Join(dir, name), do) }
	if err := write("results.json", func(w io.Writer) error { return result.WriteJSON(w, runs) }); err != nil {
		return "", err
	}
	for _, r := range runs {
		name := fmt.Sprintf("flows-%s-%d.csv", filepath.Base(r.Profile), r.Seed)
		if err := write(name, func(w io.Writer) error { return result.WriteFlowsCSV(w, r) }); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "report.html"), write("report.html", func(w io.Writer) error {
		return report.Write(w, report.Options{Title: title, Made: made()}, report.Source{Runs: runs})
	})
}
