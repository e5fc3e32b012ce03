// SPDX-License-Identifier: Apache-2.0

// Package scenario reads experiments from YAML and runs their cases on a
// virtual network. A case is one arm (a profile, its hosts and settings) at
// one point of the grid that vary spans; its runs differ by their seeds.
//
//	name: incast
//	network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}}
//	arms:
//	- {name: drill, profile: drill}
//	- {name: rlb, profile: rlb-drill, hosts: {recovery: irn}}
//	traffic:
//	- poisson: {sizes: websearch, load: 0.6, duration: 5ms}
//	- incast: {degree: 4, size: 64KB, to: h1}
//	vary:
//	- {axis: load, key: traffic.0.poisson.load, values: [0.4, 0.6]}
//	until: 50ms
//
// Arms, points and the small scale are overlays: keys that replace those of
// the file. docs/experiments.md describes the format.
package scenario

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/workload"
)

// Scenario is an experiment: a file at one scale.
type Scenario struct {
	Name    string `yaml:"name"`    // what results are called
	Summary string `yaml:"summary"` // a phrase for lists
	// Source is what the experiment repeats, as in "RLB, figure 12".
	Source string `yaml:"source"`
	Keys
	// Profiles is short for arms that are nothing but a profile. A name may end
	// in the target that it is to run on, as in drill@tna.
	Profiles []string       `yaml:"profiles"`
	Arms     []yamlfile.Raw `yaml:"arms"`  // what is compared: overlays of this file, each with a name
	Vary     []Axis         `yaml:"vary"`  // the axes of a grid of runs
	Seeds    []uint64       `yaml:"seeds"` // of the random numbers; one run for each and case
	// MaxSeeds is up to how many seeds are added until the claims are as
	// precise as they ask for; zero: none.
	MaxSeeds int            `yaml:"max_seeds" limits:"0.."`
	Claims   []result.Claim `yaml:"claims"` // what a paper says should come out
	// Small is the overlay of the small scale. Its key why says why the question
	// survives it.
	Small yamlfile.Raw `yaml:"small"`

	Scale     string `yaml:"-"` // Paper or Small
	File, Dir string `yaml:"-"` // its name, and the folder that names in it are relative to

	axes  []result.Axis
	cases []*Case
	text  []byte
}

// The two scales of an experiment. A file without small has one, which is
// both.
const (
	Paper = "paper"
	Small = "small"
)

// Keys are what a case is made of: each can be said by the file and by any
// overlay.
type Keys struct {
	// Network is the topology, or Topology names the file that has it.
	Network  *topo.Spec `yaml:"network"`
	Topology string     `yaml:"topology"`
	// Profile is the name of a built-in profile, or a file.
	Profile string `yaml:"profile"`
	// Target is what the profile runs on: v1model if empty, or tna.
	Target string `yaml:"target"`
	// Set gives parameters of the profile a value, as in red.kmin: 160KB.
	Set map[string]string `yaml:"set"`
	// Hosts do what the profile needs of them by themselves: the congestion
	// control that goes with it, if none is given, and its tags and marks.
	Hosts   roce.Config     `yaml:"hosts"`
	Traffic []workload.Spec `yaml:"traffic"` // what is sent
	// Paths is how many of the equal-cost paths to a host are used, from the first
	// on, by the host's name. Others use all.
	Paths  map[string]int `yaml:"paths"`
	Faults []fabric.Fault `yaml:"faults"` // what goes wrong
	// Until ends a run that is not over before.
	Until vtime.Time `yaml:"until"`
	// Sample is the time between two points of the time lines; zero: none are
	// kept.
	Sample vtime.Time `yaml:"sample"`
	Watch  Watch      `yaml:"watch"` // registers that the controller reads while traffic runs
	// Judge has the numbers of the parts of traffic, from 1, whose flows are
	// judged; none: all.
	Judge []int `yaml:"judge"`
	// Warmup and Measure are the window in which judged flows start. Without
	// Measure all flows are judged, and traffic must end by itself.
	Warmup  vtime.Time `yaml:"warmup"`
	Measure Measure    `yaml:"measure"`
}

// Watch has the controller read registers while traffic runs, and once more
// at the end.
type Watch struct {
	Registers []string   `yaml:"registers"` // names, as in the manifest of the profile
	Every     vtime.Time `yaml:"every"`     // zero: only at the end
}

// Axis is a direction of the grid: values of a key, or points with names.
type Axis struct {
	Axis string `yaml:"axis"` // its name; the last part of the key if left out
	// Key is a path in the file, or several, separated by spaces.
	Key    string         `yaml:"key"`
	Values []yamlfile.Raw `yaml:"values"` // of the key
	Points []yamlfile.Raw `yaml:"points"` // overlays, with a name
}

func newKeys() Keys {
	return Keys{Network: topo.NewSpec(), Hosts: roce.Defaults(), Until: vtime.Second}
}

// Read reads a scenario file at the scale of the paper. Names of other files
// in it are relative to it. An error is a diag.List, or says that there is no
// such file.
func Read(name string) (*Scenario, error) { return ReadAt(name, Paper) }

// ReadAt reads a scenario file at a scale.
func ReadAt(name, scale string) (*Scenario, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parse(name, data, filepath.Dir(name), scale)
}

// Parse is Read for a text in memory. Files it names are looked for in the
// working directory.
func Parse(name string, data []byte) (*Scenario, error) { return parse(name, data, ".", Paper) }

// ParseAt is ReadAt for a text in memory.
func ParseAt(name string, data []byte, scale string) (*Scenario, error) {
	return parse(name, data, ".", scale)
}

// ParseIn is ParseAt with a folder that names of files are relative to.
func ParseIn(name string, data []byte, dir, scale string) (*Scenario, error) {
	return parse(name, data, dir, scale)
}

// New returns a scenario of flows that are already known, the same for every
// seed, with time lines and watched registers left out. The profile is made
// to fit the network.
func New(name string, t *topo.Topology, p *gen.Profile, flows []fabric.Flow, hosts roce.Config, until vtime.Time) (*Scenario, error) {
	s := &Scenario{Name: name, Keys: newKeys(), Seeds: []uint64{1}}
	s.Hosts = hosts
	if until > 0 {
		s.Until = until
	}
	program.Fit(p, t)
	if err := p.Check(); err != nil {
		return nil, err
	}
	c := &Case{Keys: s.Keys, Arm: p.Name, Label: p.Name, scenario: name, net: t, profile: p, target: program.V1Model, flows: flows}
	s.cases = []*Case{c}
	return s, nil
}

// On has all profiles run on a target, v1model or tna.
func (s *Scenario) On(target string) error {
	if !isTarget(target) {
		return fmt.Errorf("target %q is none; want %s or %s", target, program.V1Model, program.TNA)
	}
	for _, c := range s.cases {
		c.target = target
	}
	return nil
}

// Cases returns the cases: the arms in turn, of each its points.
func (s *Scenario) Cases() []*Case { return s.cases }

// Axes returns the axes of the grid, with their values.
func (s *Scenario) Axes() []result.Axis { return s.axes }

// Text returns the file.
func (s *Scenario) Text() []byte { return s.text }

// Reseed gives the scenario so many seeds, from 1 on, in place of its own.
func (s *Scenario) Reseed(n int) {
	s.Seeds = nil
	for seed := range n {
		s.Seeds = append(s.Seeds, uint64(seed)+1)
	}
}

func isTarget(name string) bool { return name == program.V1Model || name == program.TNA }
