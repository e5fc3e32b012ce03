// SPDX-License-Identifier: Apache-2.0

// Package evidence writes what documents say about the outcomes in docs/results: the
// pages of docs/reproduction, the headlines of README.md, and the tables and
// numbers in pages of schemes. It reads a checkout of the repository and runs nothing.
package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// documents are the documents of a checkout while they are made.
type documents struct {
	root     string
	files    map[string][]byte // by their paths in the checkout
	outcomes map[string]*result.Outcome
	proofs   map[*result.Cause]bool  // see proven
	chance   map[*result.Judged]bool // differences that are not significant: see byChance
	lacking  []string                // outcomes with claims for which further runs would be made
	problems []error
}

// Documents returns the documents of a checkout of the repository, by path. The error
// names everything that an author has to change, such as a sentence whose number
// has another sign.
func Documents(root string) (map[string][]byte, error) {
	d := &documents{root: root, files: make(map[string][]byte), outcomes: make(map[string]*result.Outcome), proofs: make(map[*result.Cause]bool), chance: make(map[*result.Judged]bool)}
	if _, err := os.Stat(filepath.Join(root, "docs", "results")); err != nil {
		return nil, fmt.Errorf("%s is not a checkout of pauseless: %w", root, err)
	}
	d.results()
	d.resources()
	d.reproduction()
	d.pages()
	d.answer()
	d.aiFabrics()
	d.readme()
	return d.files, errors.Join(d.problems...)
}

// Write writes the documents that differ from those in a checkout, and returns their
// paths.
func Write(root string) (changed []string, err error) {
	files, err := Documents(root)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(root, name)
		if old, rerr := infile.Read(file); rerr == nil && bytes.Equal(old, files[name]) {
			continue
		}
		if werr := outfile.Write(file, files[name], 0o644); werr != nil {
			return changed, werr
		}
		changed = append(changed, name)
	}
	return changed, err
}

func (d *documents) problem(format string, values ...any) {
	d.problems = append(d.problems, fmt.Errorf(format, values...))
}

// results writes the outcomes of docs/results with their claims of today, and their pages.
func (d *documents) results() {
	known := make(map[string]bool)
	for _, name := range catalog.Names() {
		for _, scale := range []string{scenario.Small, scenario.Paper} {
			o := d.kept(name, scale)
			if o == nil {
				continue
			}
			file := "docs/results/" + o.File()
			known[file+".json"] = true
			if o.Experiment != name || o.Scale != scale {
				d.problem("%s.json is of %s at scale %s", file, o.Experiment, o.Scale)
				continue
			}
			s, err := exp.LoadAt(name, scale)
			if err != nil {
				d.problem("%w", err)
				continue
			}
			if err := exp.Continues(s, o); err != nil {
				d.problem("%s: the experiment has changed since; run `%s --keep docs/results`", file, o.Command)
				continue
			}
			if !strings.HasPrefix(o.Command, "pauseless exp run "+name+" ") {
				d.problem("%s: the command %q names a file of the machine that made it; run `pauseless exp run %s --scale %s --keep docs/results`", file, o.Command, name, s.Scale)
			}
			o.Summary, o.Scenario, o.Looks = s.Summary, exp.RunsHash(s), exp.Looks(s)
			o.Judge(s.Claims)
			if o.Partial {
				d.problem("%s is partial; run `%s --earlier docs/results --keep docs/results` without --budget", file, o.Command)
			}
			if exp.Lacking(s, o) > 0 {
				d.lacking = append(d.lacking, o.File())
			}
			var text bytes.Buffer
			if err := o.WriteKept(&text); err != nil {
				d.problem("%s: %w", file, err)
			}
			d.files[file+".json"] = text.Bytes()
			d.resultsPage(o, nil)
		}
	}
	for _, file := range d.glob("docs/results/*.json") {
		if !known[file] && file != tofinoReport {
			d.problem("%s does not belong to an experiment", file)
		}
	}
}

// resultsPage writes the page of an outcome.
func (d *documents) resultsPage(o *result.Outcome, notes []result.ClaimNote) {
	var page bytes.Buffer
	larger := ""
	if p := d.kept(o.Experiment, scenario.Paper); p != nil && p != o {
		larger = p.File()
	}
	if err := o.WritePage(&page, notes, larger); err != nil {
		d.problem("%s: %w", o.File(), err)
	}
	d.files["docs/results/"+o.File()+".md"] = page.Bytes()
}

// page returns a page as it is so far.
func (d *documents) page(name string) []byte {
	if text, ok := d.files[name]; ok {
		return text
	}
	text, err := infile.Read(filepath.Join(d.root, name))
	if err != nil {
		d.problem("%w", err)
	}
	return text
}

// kept returns the outcome that docs/results keeps of an experiment; nil if it was not
// run at the paper's scale.
func (d *documents) kept(experiment, scale string) *result.Outcome {
	name := (&result.Outcome{Experiment: experiment, Scale: scale}).File()
	if o, ok := d.outcomes[name]; ok {
		return o
	}
	o, err := result.ReadKept(filepath.Join(d.root, "docs", "results"), name)
	if err != nil && !(scale == scenario.Paper && errors.Is(err, fs.ErrNotExist)) {
		d.problem("%w; run `pauseless exp run %s --keep docs/results`", err, experiment)
	}
	d.outcomes[name] = o
	return o
}

// claimOf returns the claim of a text at a point; nil if there is none.
func claimOf(o *result.Outcome, text, point string) *result.Judged {
	if o == nil {
		return nil
	}
	if i := slices.IndexFunc(o.Claims, func(c result.Judged) bool { return c.Text == text && c.Point == point }); i >= 0 {
		return &o.Claims[i]
	}
	return nil
}
