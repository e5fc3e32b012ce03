// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/report"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// runScenario runs a scenario with a progress bar on stderr. If it is
// interrupted, it returns the results so far.
func runScenario(ctx context.Context, s *scenario.Scenario, o scenario.Options, stderr io.Writer) ([]*result.Run, error) {
	bar := newProgressBar(stderr)
	running, number, total := false, 0, len(s.Cases())*len(s.Seeds)
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
		number++
		label := fmt.Sprintf("%s, seed %d", name, seed)
		if total > 1 {
			label = fmt.Sprintf("run %d of %d: %s", number, total, label)
		}
		bar.begin(label)
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
	if err != nil && ctx.Err() != nil { // err may be that of a call to a switch
		err = errInterrupted
	}
	return runs, err
}

// peaks are the largest values of watched registers that the controller read of each
// switch while traffic ran.
type peaks struct {
	run   string   // present arm and point
	known []string // registers of all programs so far
	list  []peak
}

type peak struct {
	run, sw, name, cell string
	value               uint64
	at                  vtime.Time
}

// begin is scenario.Options.Begin.
func (p *peaks) begin(name string, _ uint64, prog *program.Program) {
	p.run = name
	for _, m := range prog.Manifest.Registers {
		p.known = append(p.known, m.Name)
	}
}

func (p *peaks) read(sw string, now vtime.Time, a register.Array) {
	i := slices.IndexFunc(p.list, func(q peak) bool { return q.run == p.run && q.sw == sw && q.name == a.Name })
	if i < 0 {
		i = len(p.list)
		p.list = append(p.list, peak{run: p.run, sw: sw, name: a.Name})
	}
	q := &p.list[i]
	for cell, v := range a.Values {
		if v > q.value {
			q.value, q.at, q.cell = v, now, a.Label(cell, nil)+" "+a.Unit
		}
	}
}

// print prints the values that are not zero, and names that no program has.
func (p *peaks) print(w io.Writer, s *scenario.Scenario) {
	var names []string
	for _, c := range s.Cases() {
		names = append(names, c.Watch.Registers...)
	}
	slices.Sort(names)
	if len(names) > 0 {
		fmt.Fprintf(w, "\nLargest values of watched registers, read over P4Runtime while traffic ran:\n")
	}
	for _, name := range slices.Compact(names) {
		if !slices.Contains(p.known, name) {
			fmt.Fprintf(w, "  no program has a register %q%s\n", name, diag.DidYouMean(name, p.known))
		}
	}
	for _, q := range p.list {
		if q.value > 0 {
			fmt.Fprintf(w, "  %-10s %s  %8d  %s %s at %.2f ms\n", q.run, q.sw, q.value, q.name, q.cell, q.at.Seconds()*1000)
		}
	}
}

// checkFolder creates a folder and checks that files can be written there, before
// a long run whose results would be lost otherwise.
func checkFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("results cannot be written to %s: %w", dir, err)
	}
	probe := filepath.Join(dir, fmt.Sprintf(".probe-%d", os.Getpid()))
	defer os.Remove(probe)
	return outfile.Durable(probe, make([]byte, 64<<10), 0o666)
}

// writeResults writes runs to a folder: results.json, a CSV file of flows for
// each run, storms.parquet and pauses.parquet if they are explained, and report.html. It returns the report's path.
func writeResults(dir, title string, runs []*result.Run) (string, error) {
	if err := checkFolder(dir); err != nil {
		return "", err
	}
	write := func(name string, do func(io.Writer) error) error { return writeFile(filepath.Join(dir, name), do) }
	if err := write("results.json", func(w io.Writer) error { return result.WriteJSON(w, runs) }); err != nil {
		return "", err
	}
	for _, r := range runs {
		name := fmt.Sprintf("flows-%s-%d.csv", strings.NewReplacer("/", "-", ", ", "-", " ", "-").Replace(filepath.Base(r.Label())), r.Seed)
		if err := write(name, func(w io.Writer) error { return result.WriteFlowsCSV(w, r) }); err != nil {
			return "", err
		}
	}
	if slices.ContainsFunc(runs, func(r *result.Run) bool { return len(r.Collectives) > 0 }) {
		all := func(yield func(*result.Run, error) bool) {
			for _, r := range runs {
				if !yield(r, nil) {
					return
				}
			}
		}
		sheet := result.CollectiveSheet(all)
		if err := cmp.Or(write("collectives.csv", sheet.WriteCSV), write("collectives.parquet", sheet.WriteParquet)); err != nil {
			return "", err
		}
	}
	if slices.ContainsFunc(runs, func(r *result.Run) bool { return r.Causes != nil }) {
		for name, sheet := range map[string]*result.Sheet{"storms.parquet": result.StormSheet(runs), "pauses.parquet": result.PauseSheet(runs)} {
			if err := write(name, sheet.WriteParquet); err != nil {
				return "", err
			}
		}
	}
	return filepath.Join(dir, "report.html"), write("report.html", func(w io.Writer) error {
		return report.Write(w, report.Options{Title: title, Made: made()}, report.Source{Runs: runs})
	})
}

// end prints the time in microseconds at which a run ended.
func end(us float64) string {
	if us < 100 {
		return fmt.Sprintf("%.4g µs", us)
	}
	return fmt.Sprintf("%.2f ms", us/1000)
}

// stuckIn returns an error that names the first flow that could not proceed, or
// else the first run that left measured flows, or nil.
func stuckIn(runs []*result.Run) error {
	for _, r := range runs {
		if n := len(r.Stuck); n > 0 {
			return stuckError{fmt.Sprintf("%s, seed %d ended at %.2f ms: %d flows cannot proceed: %s", r.Label(), r.Seed, r.Summary.EndUS/1000, n, r.Stuck[0].String())}
		}
	}
	for _, r := range runs {
		if n := len(r.Unmet); n > 0 {
			return stuckError{fmt.Sprintf("%s, seed %d: %d of the expectations are not met: %s", r.Label(), r.Seed, n, r.Unmet[0])}
		}
		if left := r.Summary.Flows - r.Summary.Finished; r.Cut && left > 0 {
			return stuckError{fmt.Sprintf("%s, seed %d was cut off at %s: %d of %d measured flows had not ended; raise until (SIMULATOR_STOP_TIME or FLOWGEN_STOP_TIME in a simulator's configuration)",
				r.Label(), r.Seed, end(r.Summary.EndUS), left, r.Summary.Flows)}
		}
	}
	return nil
}
