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
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/workload"
)

// Scenario is an experiment: a file at one scale.
type Scenario struct {
	Name    string `yaml:"name"`    // the name of the scenario and of its results
	Summary string `yaml:"summary"` // a short description for lists
	// Source is what the experiment reproduces, as in "RLB, figure 12".
	Source string `yaml:"source"`
	Keys
	// Profiles is a short form for variants that differ only in the profile. A name may
	// end in the target that it runs on, as in drill@tna.
	Profiles []string       `yaml:"profiles"`
	Arms     []yamlfile.Raw `yaml:"arms"`  // the variants to compare: overlays of this file, each with a name
	Vary     []Axis         `yaml:"vary"`  // the axes of a grid of runs
	Seeds    []uint64       `yaml:"seeds"` // seeds of the random numbers; each case runs once with each
	// MaxSeeds is the greatest number of seeds. Seeds are added until the claims have
	// the precision that they require. Zero means that none are added.
	MaxSeeds int `yaml:"max_seeds" limits:"0.."`
	// MaxSeedsOpen is the greatest number of seeds for claims that have no verdict,
	// if that is more.
	MaxSeedsOpen int            `yaml:"max_seeds_open" limits:"0.."`
	Claims       []result.Claim `yaml:"claims"` // results that a paper claims
	// Premise is the premise of claims that compare two variants and have none of their own.
	Premise result.Premise `yaml:"premise"`
	// Small is the overlay of the small scale. Its key why explains why the
	// experiment still answers the question.
	Small yamlfile.Raw `yaml:"small"`

	Scale     string `yaml:"-"` // Paper or Small
	File, Dir string `yaml:"-"` // the file's name, and the folder for relative names in it

	axes  []result.Axis
	cases []*Case
	text  []byte
	runs  []byte // see Runs
	// earlier are the runs with the earlier names of arms, and was the present names by
	// these.
	earlier []byte
	was     map[string]string
	files   []string
	open    workload.Open // nil for files of this machine
}

// The two scales of an experiment. They are the same if the file has no small.
const (
	Paper = "paper"
	Small = "small"
)

// Keys are the keys of a case. The file and any overlay can set each of them.
type Keys struct {
	// Network is the topology; alternatively, Topology is the name of its file.
	Network  *topo.Spec `yaml:"network"`
	Topology string     `yaml:"topology"`
	// Profile is the name of a built-in profile, or a file.
	Profile string `yaml:"profile"`
	// Program is a program of one's own, instead of a profile (docs/reference/program.md).
	Program program.Spec `yaml:"program"`
	// Target is the target of the profile: v1model if empty, or tna.
	Target string `yaml:"target"`
	// Set sets parameters of the profile, as in red.kmin: 160KB.
	Set map[string]string `yaml:"set"`
	// BMv2 selects the programs for BMv2.
	BMv2 BMv2 `yaml:"bmv2"`
	// Hosts configures the hosts. The profile's requirements are set automatically:
	// its congestion control, if none is given, and its tags and marks.
	Hosts   roce.Config     `yaml:"hosts"`
	Traffic []workload.Spec `yaml:"traffic"` // the flows
	// Packets are single packets that hosts send besides flows, and Expect are the checks
	// of those that arrive (docs/reference/program.md).
	Packets []packets.Spec        `yaml:"packets"`
	Expect  []packets.Expectation `yaml:"expect"`
	// Paths is the number of equal-cost paths to use to a host, by the host's name.
	// To other hosts all are used.
	Paths  map[string]int `yaml:"paths"`
	Faults []fabric.Fault `yaml:"faults"` // faults of links and switches
	// Until is the time at which a run ends at the latest.
	Until vtime.Time `yaml:"until"`
	// Sample is the time between two points of the time lines. Zero means no time
	// lines.
	Sample vtime.Time `yaml:"sample"`
	// Watch are registers that the controller reads while traffic runs; the largest
	// value of each switch is printed.
	Watch Watch `yaml:"watch"`
	// Judge lists the numbers, from 1, of the parts of traffic whose flows are measured:
	// metrics count only these flows and their collectives and jobs. Without it all
	// parts are measured.
	Judge []int `yaml:"judge"`
	// Warmup and Measure are the start and the length of the window in which measured
	// flows start. Without Measure all flows are measured, and each part of traffic
	// must have an end.
	Warmup  vtime.Time `yaml:"warmup"`
	Measure Measure    `yaml:"measure"`
	// Explain records why links were paused, and adds the metrics of storms (docs/pauses.md).
	Explain bool `yaml:"explain"`
}

// BMv2 has the programs count µs and packets, and emulate PFC, as simple_switch_grpc
// requires it. They run slower than the network by a factor, by which their times are
// longer. In virtual time only the switches' clocks have that factor, and each frame
// takes the time of the hosts' longest in a port's queue, so results compare with those of
// a real network of BMv2 switches.
type BMv2 struct {
	// PacketRate is the rate of the slowest host link in packets of 1 KB per second of
	// wall time, from which the factor follows. Zero: programs are not for BMv2.
	PacketRate int `yaml:"packet_rate" limits:"0..100000"`
}

// Watch are registers that the controller reads while traffic runs, and once more
// at the end.
type Watch struct {
	Registers []string   `yaml:"registers"` // names, as in the manifest of the profile
	Every     vtime.Time `yaml:"every"`     // zero: only at the end
}

// Axis is an axis of the grid: values of a key, or points with names.
type Axis struct {
	Axis string `yaml:"axis"` // the name of the axis; the last part of the key if left out
	// Key is a path in the file, or several, separated by spaces.
	Key    string         `yaml:"key"`
	Values []yamlfile.Raw `yaml:"values"` // the values of the key
	Points []yamlfile.Raw `yaml:"points"` // instead of values: overlays of this file, each with a name
}

// newKeys returns the keys of a file that says nothing, with the defaults that its
// hosts.defaults names.
func newKeys(of roce.Preset) Keys {
	return Keys{Network: topo.NewSpec(), Hosts: of.Defaults(), Until: vtime.Second}
}

// Read reads a scenario file at the scale of the paper. Names of other files
// in it are relative to it. An error is a diag.List, or says that there is no
// such file.
func Read(name string) (*Scenario, error) { return ReadAt(name, Paper) }

// ReadAt reads a scenario file at a scale.
func ReadAt(name, scale string) (*Scenario, error) {
	data, err := infile.Read(name)
	if err != nil {
		return nil, err
	}
	return parse(name, data, filepath.Dir(name), scale)
}

// Parse is Read for a text in memory. Relative names in it are relative to the
// working directory.
func Parse(name string, data []byte) (*Scenario, error) { return parse(name, data, ".", Paper) }

// ParseAt is ReadAt for a text in memory.
func ParseAt(name string, data []byte, scale string) (*Scenario, error) {
	return parse(name, data, ".", scale)
}

// ParseIn is ParseAt with a folder for relative names of files. If open is not nil,
// it opens these files; none is read from this machine.
func ParseIn(name string, data []byte, dir, scale string, open workload.Open) (*Scenario, error) {
	return parseWith(name, data, dir, scale, open)
}

// Files returns the names of the files that the scenario refers to, resolved.
func (s *Scenario) Files() []string { return s.files }

// Open opens one of them.
func (s *Scenario) Open(name string) (io.ReadCloser, error) {
	if s.open != nil {
		return s.open(name)
	}
	return infile.OpenLines(name)
}

// New returns a scenario of the given flows, which are the same for every seed,
// without time lines and watched registers. The profile is adapted to the network.
// A run ends at until at the latest; zero means that it ends when its flows have
// ended or cannot proceed.
func New(name string, t *topo.Topology, p *gen.Profile, flows []fabric.Flow, hosts roce.Config, until vtime.Time) (*Scenario, error) {
	s := &Scenario{Name: name, Keys: newKeys(hosts.Defaults), Seeds: []uint64{1}}
	s.Hosts = hosts
	s.Until = cmp.Or(until, vtime.Never)
	program.Fit(p, t)
	if err := p.Check(); err != nil {
		return nil, err
	}
	c := &Case{Keys: s.Keys, Arm: p.Name, Label: p.Name, scenario: name, net: t, profile: p, target: program.V1Model, flows: flows}
	s.cases = []*Case{c}
	return s, nil
}

// On sets the target of all profiles, v1model or tna.
func (s *Scenario) On(target string) error {
	if !isTarget(target) {
		return fmt.Errorf("target is %q; use %s or %s", target, program.V1Model, program.TNA)
	}
	for _, c := range s.cases {
		c.target = target
	}
	return nil
}

// Cases returns the cases, in the order of arms and then of points.
func (s *Scenario) Cases() []*Case { return s.cases }

// Axes returns the axes of the grid, with their values.
func (s *Scenario) Axes() []result.Axis { return s.axes }

// Text returns the file.
func (s *Scenario) Text() []byte { return s.text }

// Runs returns what the runs follow from: the file at its scale without claims, premises,
// seeds, and what is written for readers. Two files with equal Runs have equal runs.
func (s *Scenario) Runs() []byte { return s.runs }

// EarlierRuns are Runs with the names that arms had before, which their key was has.
func (s *Scenario) EarlierRuns() []byte { return s.earlier }

// Was returns the names of arms by those that they had before.
func (s *Scenario) Was() map[string]string { return s.was }

// Reseed replaces the seeds of the scenario by 1 to n, to which none are added.
func (s *Scenario) Reseed(n int) {
	s.Seeds, s.MaxSeeds, s.MaxSeedsOpen = nil, 0, 0
	for seed := range n {
		s.Seeds = append(s.Seeds, uint64(seed)+1)
	}
}

// AtMost limits the seeds of the scenario, those that claims need included, to n.
func (s *Scenario) AtMost(n int) {
	s.Seeds = s.Seeds[:min(n, len(s.Seeds))]
	s.MaxSeeds, s.MaxSeedsOpen = min(n, s.MaxSeeds), min(n, s.MaxSeedsOpen)
}

// CountBytes has the switches' queues count bytes in virtual time, as those of pauseless
// switch, also in cases with BMv2.PacketRate. Runs of the cases have other keys then.
func (s *Scenario) CountBytes() {
	for _, c := range s.cases {
		if c.scale > 1 && !c.bytes {
			c.bytes, c.canonical = true, fmt.Appendf(bytes.TrimSuffix(c.canonical, []byte("}")), `,"queues":"bytes"}`)
		}
	}
}

func isTarget(name string) bool { return name == program.V1Model || name == program.TNA }
