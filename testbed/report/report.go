// SPDX-License-Identifier: Apache-2.0

// Package report writes the results of runs as one self-contained HTML file: a
// sentence per comparison, tables, figures, and the commands and seeds behind
// them. Package web's script draws the figures in the browser from data within
// the page.
package report

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/web"
)

//go:embed report.html.tmpl
var page string

var tmpl = template.Must(template.New("report").Funcs(template.FuncMap{"join": strings.Join}).Parse(page))

// A Source is the runs of one results file.
type Source struct {
	Name string // distinguishes sources with the same runs, e.g. the file's folder
	Runs []*result.Run
	// Outcome is an experiment's; Runs may be empty then. Nil: no experiment.
	Outcome *result.Outcome
	// Shapes has the figures' data of the outcome's runs; nil: no such figures.
	Shapes *Shapes
}

// Options are the texts of the page that do not come from runs.
type Options struct {
	Title string
	Made  string // program, version and date; empty: not shown
}

// Write writes an HTML page of runs, and compares the runs of each scenario. It
// returns an error if there is no run and no outcome, or if w fails.
func Write(w io.Writer, o Options, sources ...Source) error {
	p, err := newPage(sources)
	if err != nil {
		return fmt.Errorf("report %q: %w", o.Title, err)
	}
	emptySlices(reflect.ValueOf(p))
	// Marshal writes <, > and & as \u003c and so on, so that no name can end
	// the element that holds the data.
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("report %q: %w", o.Title, err)
	}
	return tmpl.Execute(w, map[string]any{"Title": o.Title, "Made": o.Made, "Web": web.Inline("report"), "Page": p, "Data": template.JS(data)})
}

// emptySlices replaces nil slices by empty ones in the figures' data, since JSON has
// nil slices as null. Fields that are omitted if empty stay so.
func emptySlices(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			emptySlices(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag.Get("json")
			if tag != "-" && !(strings.Contains(tag, ",omitempty") && v.Field(i).IsZero()) {
				emptySlices(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			emptySlices(v.Index(i))
		}
	}
}

// Page is the content of a report. Fields with a JSON name are the figures'
// data; the template lays out the others.
type Page struct {
	Arms        []string      `json:"arms"` // of all experiments; an arm's index selects its colour
	Experiments []*Experiment `json:"experiments"`
}

// Experiment is the runs of one scenario.
type Experiment struct {
	Name      string        `json:"-"`
	Summary   string        `json:"-"`
	Source    string        `json:"-"` // the paper and figure that it repeats
	Command   string        `json:"-"` // that runs it
	Seeds     []uint64      `json:"-"`
	Arms      []int         `json:"-"` // indices of Page.Arms
	Answers   []Answer      `json:"-"`
	Verdicts  *Verdicts     `json:"-"` // replaces the list if there are many answers
	Tables    []Table       `json:"-"`
	Remarks   []string      `json:"-"`
	Registers []RegTable    `json:"-"`
	Sweeps    []Sweep       `json:"-"`
	Storms    []StormRun    `json:"-"` // of runs that are explained
	Ranks     []RankPicture `json:"-"` // of training jobs

	Figures []Curves `json:"figures"`
	Points  []*Point `json:"points"`
}

// Sweep is the figures of one metric along one axis.
type Sweep struct {
	Name    string
	Figures []Curves
}

// Point has the figures of runs that differ in arm and seed only.
type Point struct {
	Name    string    `json:"-"`
	Figures []Curves  `json:"-"`
	Links   []LinkRow `json:"-"` // those paused longest
	Omitted int       `json:"-"` // runs whose time line is omitted to keep the page small

	Network *result.Network `json:"network,omitempty"`
	Runs    []Timeline      `json:"runs"`
}

// addFigures numbers figures and adds them to the experiment's.
func (x *Experiment) addFigures(figures []Curves) []Curves {
	for i := range figures {
		figures[i].Number = len(x.Figures)
		x.Figures = append(x.Figures, figures[i])
	}
	return figures
}

// newPage groups runs by experiment and arm, and computes the page.
func newPage(sources []Source) (*Page, error) {
	p := &Page{}
	var groups []*group
	clash := clashes(sources)
	for _, s := range sources {
		if s.Outcome != nil {
			p.Experiments = append(p.Experiments, p.outcome(s.Outcome, s.Shapes))
		}
		for _, r := range s.Runs {
			name := cmp.Or(r.Arm, r.Profile)
			if clash[r.Scenario] {
				name += " (" + s.Name + ")"
			}
			scenario := strings.Join(append([]string{r.Scenario}, r.Point...), ", ")
			i := slices.IndexFunc(groups, func(g *group) bool { return g.scenario == scenario })
			if i < 0 {
				i = len(groups)
				groups = append(groups, &group{scenario: scenario})
			}
			groups[i].add(p.arm(name), r)
		}
	}
	if len(groups) == 0 && len(p.Experiments) == 0 {
		return nil, fmt.Errorf("no runs to draw")
	}
	for _, g := range groups {
		p.Experiments = append(p.Experiments, g.experiment(p))
	}
	return p, nil
}

// arm returns the index of an arm in p.Arms, which it extends if needed.
func (p *Page) arm(name string) int {
	i := slices.Index(p.Arms, name)
	if i < 0 {
		i = len(p.Arms)
		p.Arms = append(p.Arms, name)
	}
	return i
}

// clashes returns the scenarios of which several sources have the same
// profile with the same seed. Their arms' names include the source's name.
func clashes(sources []Source) map[string]bool {
	type key struct {
		scenario, run string
		seed          uint64
	}
	seen := make(map[key]int)
	clash := make(map[string]bool)
	for i, s := range sources {
		for _, r := range s.Runs {
			k := key{r.Scenario, r.Label(), r.Seed}
			if first, ok := seen[k]; ok && first != i {
				clash[r.Scenario] = true
			}
			seen[k] = i
		}
	}
	return clash
}

// group is the runs of one scenario, by arm.
type group struct {
	scenario string
	arms     []armRuns
}

type armRuns struct {
	arm  int
	runs []*result.Run
}

func (g *group) add(arm int, r *result.Run) {
	i := slices.IndexFunc(g.arms, func(a armRuns) bool { return a.arm == arm })
	if i < 0 {
		i = len(g.arms)
		g.arms = append(g.arms, armRuns{arm: arm})
	}
	g.arms[i].runs = append(g.arms[i].runs, r)
}

func (g *group) experiment(p *Page) *Experiment {
	x := &Experiment{Name: g.scenario, Figures: []Curves{}}
	pt := &Point{Runs: []Timeline{}}
	var arms []armShapes
	for _, a := range g.arms {
		x.Arms = append(x.Arms, a.arm)
		shapes := armShapes{arm: a.arm}
		for _, r := range a.runs {
			shapes.shapes = append(shapes.shapes, shapeOf(r))
			if !slices.Contains(x.Seeds, r.Seed) {
				x.Seeds = append(x.Seeds, r.Seed)
			}
			if pt.Network == nil {
				pt.Network = r.Network
			}
			for _, remark := range r.Remarks {
				x.Remarks = append(x.Remarks, fmt.Sprintf("%s, seed %d: %s", p.Arms[a.arm], r.Seed, remark))
			}
			why := ""
			switch {
			case r.Partial:
				why = "was stopped before its end; means leave it out"
			case len(r.Stuck) > 0:
				why = fmt.Sprintf("has %d flows that cannot proceed; its completion times are left out of means", len(r.Stuck))
			case r.Cut:
				why = "was cut off by until before all measured flows had ended; its completion times are left out of means"
			}
			if why != "" {
				x.Remarks = append(x.Remarks, fmt.Sprintf("%s, seed %d %s", p.Arms[a.arm], r.Seed, why))
			}
		}
		arms = append(arms, shapes)
	}
	answers, table := compare(p, g)
	x.Answers, x.Tables = answers, []Table{table}
	pt.Figures = x.addFigures(append(fctCDF(arms), slowdownBySize(arms)...))
	pt.Runs, pt.Omitted = timelines(g)
	pt.Links = pausedLinks(x, pt)
	x.Points = []*Point{pt}
	x.Registers = registers(p, g)
	x.Ranks = rankPictures(p, g)
	x.Storms = stormRuns(p, g)
	return x
}

// RegTable has the registers of a run that are not all zero.
type RegTable struct {
	Title string
	Rows  []RegRow
	Zero  int // arrays that are all zero
}

// RegRow is one array. Cells has those that are not zero, as "[3]=12".
type RegRow struct{ Switch, Name, Unit, Index, Cells string }

func registers(p *Page, g *group) []RegTable {
	var tables []RegTable
	for _, a := range g.arms {
		for _, r := range a.runs {
			if len(r.Registers) == 0 {
				continue
			}
			over := r.RegistersOver
			if over == "" {
				over = "P4Runtime"
			}
			t := RegTable{Title: fmt.Sprintf("%s, seed %d, as the controller reads them over %s", p.Arms[a.arm], r.Seed, over)}
			for _, reg := range r.Registers {
				if cells := nonZero(reg.Values); cells != "" {
					t.Rows = append(t.Rows, RegRow{reg.Switch, reg.Name, reg.Unit, reg.Index, cells})
				} else {
					t.Zero++
				}
			}
			tables = append(tables, t)
		}
		if len(tables) >= maxRegTables {
			break
		}
	}
	return tables
}

// Limits of a page; the results file has all registers.
const (
	maxRegTables = 8
	maxCells     = 64
)

func nonZero(values []uint64) string {
	var cells []string
	more := 0
	for i, v := range values {
		switch {
		case v == 0:
		case len(cells) == maxCells:
			more++
		default:
			cells = append(cells, fmt.Sprintf("[%d]=%d", i, v))
		}
	}
	if more > 0 {
		cells = append(cells, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(cells, " ")
}
