// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"encoding/json"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/testbed/result"
)

// Provenance describes how an outcome was made: enough to repeat it, and to
// distinguish it from another.
type Provenance struct {
	Format     string           `json:"format"`
	Experiment string           `json:"experiment"`
	Scale      string           `json:"scale"`
	Command    string           `json:"command"`
	Build      Build            `json:"build"`
	Scenario   string           `json:"scenario_sha256"`
	Seeds      []uint64         `json:"seeds"`
	MaxSeeds   int              `json:"max_seeds,omitempty"`
	MaxOpen    int              `json:"max_seeds_open,omitempty"`
	Cases      []ProvenanceCase `json:"cases"`
	Runs       int              `json:"runs"`
	Units      map[string]Unit  `json:"metrics"`
}

// Build is the program that made the runs.
type Build struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	SHA256   string `json:"sha256"` // prefix of the program's hash, as in the keys
}

// Unit is what a metric counts in.
type Unit struct {
	Title  string `json:"title"`
	Unit   string `json:"unit,omitempty"`
	Better string `json:"better,omitempty"`
}

// ProvenanceCase is one arm at one point.
type ProvenanceCase struct {
	result.Arm
	Point []string `json:"point,omitempty"`
	// Says is the scenario of the case, with its overlays applied.
	Says       json.RawMessage    `json:"says"`
	Program    string             `json:"program_sha256"`
	Parameters map[string]float64 `json:"parameters"` // of the switches' program
	Units      map[string]string  `json:"parameter_units"`
	Hosts      roce.Config        `json:"hosts"`
	Network    *result.Network    `json:"network"`
}

// Provenance describes the plan and the build that makes the runs.
func (p *Plan) Provenance(o *result.Outcome) (*Provenance, error) {
	s := p.Scenario
	m := &Provenance{
		Format: "pauseless-manifest/1", Experiment: s.Name, Scale: s.Scale, Command: p.Command, Build: build(), Scenario: RunsHash(s),
		Seeds: s.Seeds, MaxSeeds: s.MaxSeeds, MaxOpen: s.MaxSeedsOpen, Runs: len(o.Runs), Units: make(map[string]Unit),
	}
	for _, metric := range o.Metrics {
		m.Units[metric.Name] = Unit{metric.Title, metric.Unit, metric.Better}
	}
	for i, c := range s.Cases() {
		prog := p.programs[i]
		mc := ProvenanceCase{
			Arm: c.Describe(prog.Manifest), Point: c.Point, Says: json.RawMessage(c.Canonical()), Program: sum(prog.JSON), Parameters: make(map[string]float64),
			Units: make(map[string]string), Hosts: c.HostsFor(prog.Manifest), Network: result.NewNetwork(c.Net()),
		}
		for _, param := range prog.Manifest.Parameters {
			v, err := prog.Manifest.Value(param.Name, prog.Manifest.Network)
			if err != nil {
				return nil, err
			}
			mc.Parameters[param.Name], mc.Units[param.Name] = v, param.Unit
		}
		m.Cases = append(m.Cases, mc)
	}
	return m, nil
}

// WriteJSON writes the file manifest.json of an export.
func (m *Provenance) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(m)
}

func build() Build {
	b := Build{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, SHA256: Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Module, b.Version = info.Main.Path, info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
