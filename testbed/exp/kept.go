// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// Kept is what an experiment of profiles found, as docs/results has it: means
// and whether one is below the other.
type Kept struct {
	Experiment string `json:"experiment"`
	Summary    string `json:"summary"`
	Command    string `json:"command"` // that makes it
	// Scenario is the SHA-256 of the scenario, to tell a stale outcome.
	Scenario string `json:"scenario_sha256"`
	*result.Comparison
	Runs []KeptRun `json:"runs"`
}

// KeptRun is one profile with one seed.
type KeptRun struct {
	Profile string         `json:"profile"`
	Seed    uint64         `json:"seed"`
	Summary result.Summary `json:"summary"`
}

// Judge makes an outcome of an experiment's runs.
func Judge(name string, s *scenario.Scenario, runs []*result.Run) (*Kept, error) {
	scenarioSum, err := Sum(name)
	if err != nil {
		return nil, err
	}
	o := &Kept{
		Experiment: name, Summary: s.Summary, Command: "pauseless exp run " + name + " --keep docs/results",
		Scenario: scenarioSum, Comparison: result.Compare(runs, s.Claims),
	}
	for _, r := range runs {
		o.Runs = append(o.Runs, KeptRun{r.Profile, r.Seed, r.Summary})
	}
	return o, nil
}

// Sum returns the SHA-256 of an experiment's scenario in hexadecimal.
func Sum(name string) (string, error) {
	text, err := Source(name)
	if err != nil {
		return "", err
	}
	return sum(text), nil
}

// WriteJSON writes an outcome.
func (o *Kept) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(o)
}

// WriteMarkdown writes an outcome as a page.
func (o *Kept) WriteMarkdown(w io.Writer) error {
	seeds := fmt.Sprintf("%d seeds", len(o.Seeds))
	if len(o.Seeds) == 1 {
		seeds = "one seed"
	}
	if _, err := fmt.Fprintf(w, "# %s\n\n%s. Means of %s, made by\n\n    %s\n\nfrom [the scenario](../../testbed/exp/%s.yaml); the numbers of each run are in [%[5]s.json](%[5]s.json).\n\n",
		o.Experiment, o.Summary, seeds, o.Command, o.Experiment); err != nil {
		return err
	}
	return o.Markdown(w)
}

// KeepProfiles makes an outcome of the runs of an experiment of profiles.
func KeepProfiles(p *Plan, st *Store, o *result.Outcome) (*Kept, error) {
	var runs []*result.Run
	for run, err := range p.Runs(st, o) {
		if err != nil {
			return nil, err
		}
		run.Flows, run.Lines, run.Pauses, run.Registers = nil, nil, nil, nil
		runs = append(runs, run)
	}
	return Judge(p.Scenario.Name, p.Scenario, runs)
}
