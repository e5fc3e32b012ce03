// SPDX-License-Identifier: Apache-2.0

// Package scenario reads experiments from YAML and runs them on a virtual
// network: one network, one workload, one or several profiles and seeds.
//
//	name: incast
//	network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}}
//	profiles: [drill, rlb-drill]
//	traffic:
//	- poisson: {sizes: websearch, load: 0.6, duration: 5ms}
//	- incast: {degree: 4, size: 64KB, to: h1}
//	until: 50ms
package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/workload"
)

// Scenario is an experiment.
type Scenario struct {
	Name    string `yaml:"name"`
	Summary string `yaml:"summary"`
	// Network is the topology, or Topology names the file that has it.
	Network  *topo.Spec `yaml:"network"`
	Topology string     `yaml:"topology"`
	// Profiles are names of built-in profiles, or files. A name may end in the
	// target that it is to run on, as in drill@tna.
	Profiles []string `yaml:"profiles"`
	// Target is what profiles run on whose names do not say: v1model if empty,
	// or tna.
	Target string `yaml:"target"`
	// Set gives parameters of all profiles a value, as in red.kmin: 160KB.
	Set map[string]string `yaml:"set"`
	// Hosts do what the profile needs of them by themselves: the congestion
	// control that goes with it, if none is given, and its tags and marks.
	Hosts   roce.Config     `yaml:"hosts"`
	Traffic []workload.Spec `yaml:"traffic"`
	// Paths is how many of the equal ways to a host are used, from the first
	// on, by the host's name. Others use all.
	Paths  map[string]int `yaml:"paths"`
	Faults []fabric.Fault `yaml:"faults"`
	Seeds  []uint64       `yaml:"seeds"`
	// Until ends a run whose flows are not all finished.
	Until vtime.Time `yaml:"until"`
	// Sample is the time between two points of the time lines; zero: none are
	// kept.
	Sample vtime.Time `yaml:"sample"`
	Watch  Watch      `yaml:"watch"`
	// Judge has the numbers of the parts of traffic, from 1, whose flows the
	// summary of a run is about; none: all. Pauses are of all anyway.
	Judge []int `yaml:"judge"`
	// Claims are what a paper says should come out.
	Claims []result.Claim `yaml:"claims"`

	net      *topo.Topology
	profiles []*gen.Profile
	targets  []string                 // of the profiles
	labels   []string                 // what results call them
	flows    map[uint64][]fabric.Flow // by seed
}

// Watch has the controller read registers while traffic runs, and once more
// at the end.
type Watch struct {
	Registers []string   `yaml:"registers"`
	Every     vtime.Time `yaml:"every"` // zero: only at the end
}

func newScenario() *Scenario {
	return &Scenario{Network: topo.NewSpec(), Hosts: roce.Defaults(), Seeds: []uint64{1}, Until: vtime.Second}
}

// Read reads a scenario file. Names of other files in it are relative to it.
// An error is a diag.List, or says that there is no such file.
func Read(name string) (*Scenario, error) {
	s := newScenario()
	f, err := yamlfile.Read(name, s)
	if err != nil {
		return nil, err
	}
	return s.check(f, filepath.Dir(name))
}

// Parse is Read for a text in memory. Files it names are looked for in the
// working directory.
func Parse(name string, data []byte) (*Scenario, error) {
	s := newScenario()
	f, err := yamlfile.Parse(name, data, s)
	if err != nil {
		return nil, err
	}
	return s.check(f, ".")
}

// New returns a scenario of flows that are already known, the same for every
// seed, with time lines and watched registers left out. The profiles are made
// to fit the network.
func New(name string, t *topo.Topology, profiles []*gen.Profile, flows []fabric.Flow, hosts roce.Config, until vtime.Time) (*Scenario, error) {
	s := newScenario()
	s.Name, s.net, s.profiles, s.Hosts = name, t, profiles, hosts
	if until > 0 {
		s.Until = until
	}
	for _, p := range profiles {
		s.targets, s.labels = append(s.targets, program.V1Model), append(s.labels, p.Name)
		program.Fit(p, t)
		if err := p.Check(); err != nil {
			return nil, err
		}
	}
	s.flows = map[uint64][]fabric.Flow{1: flows}
	return s, nil
}

// On has all profiles run on a target, v1model or tna.
func (s *Scenario) On(target string) error {
	if !isTarget(target) {
		return fmt.Errorf("target %q is none; want %s or %s", target, program.V1Model, program.TNA)
	}
	for i := range s.targets {
		s.targets[i] = target
	}
	return nil
}

// Net returns the network.
func (s *Scenario) Net() *topo.Topology { return s.net }

// check reads what the scenario refers to and makes its flows, so that
// whatever is wrong is known before anything runs.
func (s *Scenario) check(f *yamlfile.File, dir string) (*Scenario, error) {
	// What could not be read would only be complained of again.
	if err := f.Err(); err != nil {
		return nil, err
	}
	if err := s.readNetwork(f, dir); err != nil {
		return nil, err
	}
	if len(s.Profiles) == 0 {
		f.Errorf("profiles", "no profiles; `pauseless gen --list` shows the built-in ones")
	}
	if s.Target != "" && !isTarget(s.Target) {
		f.Errorf("target", "target %q is none; want %s or %s", s.Target, program.V1Model, program.TNA)
	}
	for i, name := range s.Profiles {
		name, target, at := strings.Cut(name, "@")
		if !at {
			target = cmp.Or(s.Target, program.V1Model)
		} else if !isTarget(target) {
			f.Errorf(fmt.Sprintf("profiles.%d", i), "profile %s has target %q; want %s or %s", name, target, program.V1Model, program.TNA)
			continue
		}
		p, err := s.readProfile(name, dir)
		if err != nil {
			f.Errorf(fmt.Sprintf("profiles.%d", i), "%v", err)
			continue
		}
		label := p.Name
		if at {
			label += "@" + target
		}
		s.profiles, s.targets, s.labels = append(s.profiles, p), append(s.targets, target), append(s.labels, label)
	}
	if path, err := s.Hosts.Check(); err != nil {
		f.Errorf(join("hosts", path), "%v", err)
	}
	s.checkPaths(f)
	s.checkClaims(f)
	if s.Until <= 0 {
		f.Errorf("until", "until is %v, must be above zero", s.Until)
	}
	if len(s.Seeds) == 0 {
		f.Errorf("seeds", "no seeds")
	}
	if len(s.Traffic) == 0 {
		f.Errorf("traffic", "no traffic")
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	err := s.generate()
	var where *workload.Error
	if errors.As(err, &where) {
		f.Errorf(join("traffic", where.Path), "%v", where.Err)
		return nil, f.Err()
	}
	return s, err
}

func isTarget(name string) bool { return name == program.V1Model || name == program.TNA }

// generate makes the flows of all seeds.
func (s *Scenario) generate() error {
	s.flows = make(map[uint64][]fabric.Flow)
	for _, seed := range s.Seeds {
		flows, err := workload.Generate(s.Traffic, s.net, seed)
		if err != nil {
			return err
		}
		s.flows[seed] = flows
	}
	return nil
}

// Reseed gives the scenario so many seeds, from 1 on, in place of its own.
func (s *Scenario) Reseed(n int) error {
	s.Seeds = nil
	for seed := range n {
		s.Seeds = append(s.Seeds, uint64(seed)+1)
	}
	return s.generate()
}

func (s *Scenario) readNetwork(f *yamlfile.File, dir string) error {
	switch {
	case f.Has("network") && s.Topology != "":
		f.Errorf("topology", "both network and topology are given; one is enough")
	case f.Has("network"):
		s.net = s.Network.Build(f, "network")
	case s.Topology != "":
		t, err := topo.Read(resolve(dir, s.Topology))
		if err != nil {
			return fmt.Errorf("%v: topology: %w", f.Pos("topology"), err)
		}
		s.net = t
	default:
		f.Errorf("", "no network: give network or topology")
	}
	return nil
}

func (s *Scenario) readProfile(name, dir string) (*gen.Profile, error) {
	if !slices.Contains(gen.Names(), name) {
		name = resolve(dir, name)
	}
	p, err := program.Load(name)
	if err != nil {
		return nil, err
	}
	for k, v := range s.Set {
		if p.Set == nil {
			p.Set = make(map[string]string)
		}
		p.Set[k] = v
	}
	if s.net != nil {
		program.Fit(p, s.net)
	}
	return p, p.Check()
}

func (s *Scenario) checkPaths(f *yamlfile.File) {
	for _, name := range slices.Sorted(maps.Keys(s.Paths)) {
		most := s.Paths[name]
		if most < 1 {
			f.Errorf(join("paths", name), "%d paths, must be at least one", most)
		}
		if s.net == nil {
			continue // that is the error
		}
		if n := s.net.NodeByName(name); n == nil || n.Kind != topo.Host {
			f.Errorf(join("paths", name), "no host is called %q", name)
		}
	}
}

func (s *Scenario) checkClaims(f *yamlfile.File) {
	for _, i := range s.Judge {
		if i < 1 || i > len(s.Traffic) {
			f.Errorf("judge", "there is no part %d of traffic", i)
		}
	}
	for i, c := range s.Claims {
		path := fmt.Sprintf("claims.%d", i)
		if _, ok := result.MetricOf(c.Less); !ok {
			f.Errorf(join(path, "less"), "no metric is called %q%s", c.Less, diag.DidYouMean(c.Less, result.MetricNames()))
		}
		for _, side := range []struct{ key, profile string }{{"with", c.With}, {"than", c.Than}} {
			if !slices.Contains(s.Profiles, side.profile) {
				f.Errorf(join(path, side.key), "%q is none of the profiles of this scenario", side.profile)
			}
		}
	}
}

func resolve(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

func join(path, rest string) string {
	if rest == "" {
		return path
	}
	return path + "." + rest
}
