// SPDX-License-Identifier: Apache-2.0

// Package playground generates, compiles and simulates for a page in the browser,
// as WebAssembly. Its inputs and outputs are texts; it reads no files.
package playground

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/report"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/view"
)

// Problem is a diagnostic. Line and column are zero if it has no position.
type Problem struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

// problems returns the diagnostics of an error.
func problems(err error) []Problem {
	if err == nil {
		return []Problem{}
	}
	var list diag.List
	if !errors.As(err, &list) {
		return []Problem{{Severity: diag.Error.String(), Text: err.Error()}}
	}
	return listed(list)
}

func listed(list diag.List) []Problem {
	out := []Problem{}
	for _, d := range list {
		out = append(out, Problem{int(d.Pos.Line), int(d.Pos.Col), d.Severity.String(), d.Msg})
	}
	return out
}

// Profiles returns the names of the built-in profiles.
func Profiles() []string { return gen.Names() }

// Profile returns the text of a built-in profile.
func Profile(name string) (string, error) {
	text, err := gen.Source(name)
	return string(text), err
}

// Generate returns the P4 text for a profile's text, or its errors.
func Generate(profile string) (p4 string, found []Problem) {
	p, err := gen.Parse("profile.yaml", []byte(profile))
	if err != nil {
		return "", problems(err)
	}
	g, err := gen.Generate(p, program.V1Model)
	if err != nil {
		return "", problems(err)
	}
	return string(g.P4), problems(nil)
}

// Compile returns the compiler's errors and warnings for a P4 text.
func Compile(p4 string) []Problem {
	_, list := compiler.Compile(compiler.Options{File: "program.p4", Source: []byte(p4), Open: noFile})
	return listed(list)
}

func noFile(name string) (string, error) {
	return "", fmt.Errorf("file %s: the playground has no files", name)
}

// Check returns the errors of a scenario's text.
func Check(text string) []Problem {
	_, err := scenario.Parse("scenario.yaml", []byte(text))
	return problems(err)
}

// Edit replaces a built-in profile's text or its P4; an empty text is not
// replaced.
type Edit struct {
	Profile string `json:"profile"`
	P4      string `json:"p4"`
}

// Outcome is the result of Run. The two pages are self-contained.
type Outcome struct {
	Results  string    `json:"results"` // results.json
	Report   string    `json:"report"`  // report.html
	Replay   string    `json:"replay"`  // a page that plays the runs
	Problems []Problem `json:"problems"`
}

// Run runs a scenario with edits of profiles by name. It calls progress while runs
// are under way.
func Run(ctx context.Context, text string, edits map[string]Edit, progress func(label string, p fabric.Progress)) Outcome {
	s, err := scenario.Parse("scenario.yaml", []byte(text))
	if err != nil {
		return Outcome{Problems: problems(err)}
	}
	var recorders []*record.Recorder
	label := ""
	o := scenario.Options{
		Begin: func(profile string, seed uint64, _ *program.Program) {
			label = fmt.Sprintf("%s, seed %d", profile, seed)
		},
		Progress: func(p fabric.Progress) { progress(label, p) },
		Event:    func(controlplane.Event) {},
		Follow: func(st scenario.Start) scenario.Follower {
			recorders = append(recorders, record.New(st, record.DefaultLimits))
			return recorders[len(recorders)-1]
		},
	}
	var runs []*result.Run
	for _, c := range s.Cases() {
		if c.Loaded() == nil {
			return Outcome{Problems: problems(errors.New("the page runs profiles, whose programs can be edited: leave program out of the scenario"))}
		}
		prog, err := build(c.Loaded(), c.On(), edits[c.Loaded().Name])
		if err != nil {
			return Outcome{Problems: problems(err)}
		}
		for _, seed := range s.Seeds {
			run, err := c.Run(ctx, prog, seed, o)
			if err != nil {
				return Outcome{Problems: problems(err)}
			}
			runs = append(runs, run)
		}
	}
	out := Outcome{Problems: problems(nil)}
	title := s.Summary
	if title == "" {
		title = s.Name
	}
	var recorded []*record.Run
	for _, r := range recorders {
		run, _ := r.Snapshot()
		recorded = append(recorded, &run)
	}
	var results, page, replay bytes.Buffer
	err = errors.Join(result.WriteJSON(&results, runs),
		report.Write(&page, report.Options{Title: title, Made: "the playground"}, report.Source{Runs: runs}),
		view.WritePage(&replay, title, recorded))
	out.Results, out.Report, out.Replay = results.String(), page.String(), replay.String()
	out.Problems = problems(err)
	return out
}

// build generates and compiles a profile's program with an edit.
func build(p *gen.Profile, target string, e Edit) (*program.Program, error) {
	if e.Profile != "" {
		other, err := gen.Parse("profile.yaml", []byte(e.Profile))
		if err != nil {
			return nil, err
		}
		// The sizes are those for the network.
		other.Sizes = p.Sizes
		p = other
	}
	prog, err := program.BuildFor(p, target)
	if err != nil || e.P4 == "" {
		return prog, err
	}
	c, list := compiler.Compile(compiler.Options{File: "program.p4", Source: []byte(e.P4), Open: noFile})
	if err := list.Err(); err != nil {
		return nil, err
	}
	edited := *prog
	edited.P4, edited.JSON, edited.P4Info = []byte(e.P4), bmv2json.Encode(c.Program), c.P4Info
	for _, name := range names(prog) {
		if !slices.Contains(names(&edited), name) {
			return nil, fmt.Errorf("the P4 text of %s lacks the %s, which the controller needs", p.Name, name)
		}
	}
	return &edited, nil
}

// names returns the names of a program's tables and registers in P4Info.
func names(p *program.Program) (all []string) {
	for _, t := range p.P4Info.Tables {
		all = append(all, "table "+t.Preamble.Name)
	}
	for _, r := range p.P4Info.Registers {
		all = append(all, "register "+r.Preamble.Name)
	}
	return all
}
