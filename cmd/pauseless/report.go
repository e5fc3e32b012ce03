// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/testbed/report"
	"github.com/pauseless/pauseless/testbed/result"
)

func newReportCmd() *cobra.Command {
	var output, title, store string
	cmd := &cobra.Command{
		Use:   "report RESULTS.json|FOLDER…",
		Short: "Show results of runs as one HTML page",
		Long: `Write one self-contained HTML file: a sentence per comparison, a table with
intervals, and interactive figures that can be saved as SVG. Runs of one scenario
are compared with each other, seed by seed. Several files make one page. Of a
folder, its outcome.json or results.json is read. A file in an archive of exp
archive is ARCHIVE.tar.gz/NAME.json.

Figures of an experiment's single runs need figures.json, which exp run writes to
its store, beside outcome.json.`,
		Example: "  pauseless report out/demo/results.json -o demo.html\n  pauseless report out/exp/rlb-fig12-small\n  pauseless report a/results.json b/results.json -o both.html --title 'before and after'",
	}
	cmd.Flags().StringVarP(&output, "output", "o", "report.html", "`FILE`: file to write")
	cmd.Flags().StringVar(&title, "title", "", "`TEXT`: title of the page (default: the scenario's name)")
	cmd.Flags().StringVar(&store, "store", defaultStore, "`FOLDER`: store of exp run, for the figures of single runs of an outcome that is elsewhere")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageErrorf(cmd, "expected at least one results file")
		}
		for i := range args {
			args[i] = inFolder(args[i])
		}
		if err := checkFiles(args, output); err != nil {
			return err
		}
		var sources []report.Source
		n := 0
		for _, name := range args {
			list, err := readSources(name, sourceName(name, args))
			if err != nil {
				return err
			}
			for i := range list {
				if err := findShapes(cmd, &list[i], store); err != nil {
					return err
				}
			}
			sources = append(sources, list...)
		}
		for _, s := range sources {
			n += len(s.Runs)
			switch {
			case s.Outcome != nil:
				n += len(s.Outcome.Runs)
				title = cmp.Or(title, s.Outcome.Experiment)
			case len(s.Runs) > 0:
				title = cmp.Or(title, s.Runs[0].Scenario)
			}
		}
		o := report.Options{Title: title, Made: made()}
		if err := writeFile(output, func(w io.Writer) error { return report.Write(w, o, sources...) }); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d runs\n", output, n)
		return nil
	}
	return cmd
}

// inFolder returns the file of a folder that has the results, or name if it is no folder.
func inFolder(name string) string {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return name
	}
	outcome := filepath.Join(name, "outcome.json")
	if _, err := os.Stat(outcome); err == nil {
		return outcome
	}
	return filepath.Join(name, "results.json")
}

// sourceName returns a name that distinguishes a results file from the others:
// its own name if it is unique, otherwise its folder's.
func sourceName(name string, all []string) string {
	base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	for _, other := range all {
		if other != name && filepath.Base(other) == filepath.Base(name) {
			return filepath.Base(filepath.Dir(name))
		}
	}
	return base
}

// made returns the build that writes a page, and the time.
func made() string {
	text := "pauseless"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				text += " " + s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return text + ", " + time.Now().Format("2006-01-02 15:04 MST")
}

// readSources reads a results file, the outcome of an experiment, or an array of
// outcomes as `exp run -o json` prints it.
func readSources(file, name string) ([]report.Source, error) {
	if archive, entry, ok := result.SplitArchive(file); ok {
		o, err := result.ReadKept(archive, strings.TrimSuffix(entry, ".json"))
		return []report.Source{{Name: name, Outcome: o}}, err
	}
	text, err := infile.ReadJSON(file)
	if errors.Is(err, infile.ErrNotJSON) {
		return nil, fmt.Errorf("%s is not a results.json of `pauseless fabric run -d`, or an outcome.json of `pauseless exp run`: %w", file, infile.ErrNotJSON)
	}
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSpace(text)
	one, outcomes := bytes.HasPrefix(text, []byte("{")), []*result.Outcome{nil}
	switch {
	case one:
		outcomes[0], err = result.ReadOutcome(bytes.NewReader(text))
	case bytes.HasPrefix(text, []byte("[{\n \"format\"")):
		err = infile.JSON(text, &outcomes)
		if err == nil && slices.ContainsFunc(outcomes, func(o *result.Outcome) bool { return o == nil || o.Format != result.OutcomeFormat }) {
			err = errors.New("an element of the array is something else")
		}
	default:
		runs, err := result.ReadJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s is not a results.json of `pauseless fabric run -d`: %w", file, err)
		}
		return []report.Source{{Name: name, Runs: runs}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not an outcome.json of `pauseless exp run`: %w", file, err)
	}
	var list []report.Source
	for _, o := range outcomes {
		list = append(list, report.Source{Name: o.Experiment, Outcome: o})
	}
	if one {
		list[0].Name = name
		list[0].Shapes, err = readShapes(filepath.Join(filepath.Dir(file), figuresFile))
	}
	return list, err
}

// findShapes finds the data for figures of an outcome's single runs in the store of
// `exp run`, unless they were beside the outcome.
func findShapes(cmd *cobra.Command, s *report.Source, store string) error {
	if s.Outcome == nil || s.Shapes != nil {
		return nil
	}
	dir := filepath.Join(store, storedAs(s.Outcome.Experiment, s.Outcome.Scale))
	same, err := hasOutcome(dir, s.Outcome)
	if err == nil && same {
		s.Shapes, err = readShapes(filepath.Join(dir, figuresFile))
	}
	if err == nil && s.Shapes == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: without figures of single runs, since %s does not have this outcome; --store names the folder of exp run\n", s.Outcome.Experiment, dir)
	}
	return err
}

// hasOutcome reports whether a folder has an outcome.json with this outcome, or
// with the longer one that --keep shortened.
func hasOutcome(dir string, o *result.Outcome) (bool, error) {
	f, err := os.Open(filepath.Join(dir, "outcome.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	there, err := result.ReadOutcome(f)
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.Name(), err)
	}
	var want, whole, brief bytes.Buffer
	err = errors.Join(o.WriteJSON(&want), there.WriteJSON(&whole), there.Slim().WriteJSON(&brief))
	return bytes.Equal(want.Bytes(), whole.Bytes()) || bytes.Equal(want.Bytes(), brief.Bytes()), err
}

// readShapes reads the data for figures of single runs. It returns nil if there
// is no such file: committed outcomes have none.
func readShapes(file string) (*report.Shapes, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := report.ReadShapes(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; `pauseless exp run` writes it again", file, err)
	}
	return s, nil
}
