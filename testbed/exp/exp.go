// SPDX-License-Identifier: Apache-2.0

// Package exp has the experiments that judge the schemes by what their papers
// claim: scenarios with claims, one file each. Run runs one and says which of
// its claims hold; the outcomes lie in docs/results.
package exp

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of all experiments in order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}

// Source returns the scenario of an experiment as text.
func Source(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no experiment is called %q%s", name, diag.DidYouMean(name, Names()))
	}
	return text, nil
}

// Load returns an experiment, ready to run.
func Load(name string) (*scenario.Scenario, error) {
	text, err := Source(name)
	if err != nil {
		return nil, err
	}
	return scenario.Parse(name+".yaml", text)
}

// An Outcome is what an experiment found: small enough to keep.
type Outcome struct {
	Experiment string `json:"experiment"`
	Summary    string `json:"summary"`
	Command    string `json:"command"` // that makes it
	// Scenario is the SHA-256 of the scenario, to tell a stale outcome.
	Scenario string `json:"scenario_sha256"`
	*result.Comparison
	Runs []Run `json:"runs"`
}

// Run is one profile with one seed.
type Run struct {
	Profile string         `json:"profile"`
	Seed    uint64         `json:"seed"`
	Summary result.Summary `json:"summary"`
}

// Judge makes an outcome of an experiment's runs.
func Judge(name string, s *scenario.Scenario, runs []*result.Run) (*Outcome, error) {
	sum, err := Sum(name)
	if err != nil {
		return nil, err
	}
	o := &Outcome{
		Experiment: name, Summary: s.Summary, Command: "pauseless exp run " + name + " --keep docs/results",
		Scenario: sum, Comparison: result.Compare(runs, s.Claims),
	}
	for _, r := range runs {
		o.Runs = append(o.Runs, Run{r.Profile, r.Seed, r.Summary})
	}
	return o, nil
}

// Sum returns the SHA-256 of an experiment's scenario in hexadecimal.
func Sum(name string) (string, error) {
	text, err := Source(name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// WriteJSON writes an outcome.
func (o *Outcome) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(o)
}

// WriteMarkdown writes an outcome as a page.
func (o *Outcome) WriteMarkdown(w io.Writer) error {
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
