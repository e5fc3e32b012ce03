// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/hpcc"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// imported is what is read and written of another simulator's experiment; the zero
// value is that of a scenario of ours.
type imported struct {
	read     []string // files
	outputs  []hpcc.Output
	recorder *hpcc.Recorder
	dialect  hpcc.Dialect
}

// written returns the names of the outputs that the configuration says to write.
func (m *imported) written() (names []string) {
	for _, o := range m.outputs {
		if o.Key != "" {
			names = append(names, o.File)
		}
	}
	return names
}

// output writes one of the outputs.
func (m *imported) output(w io.Writer, kind int, s *scenario.Scenario, r *fabric.Results) error {
	switch net := s.Cases()[0].Net(); kind {
	case hpcc.FCTFile:
		return hpcc.WriteFCT(w, net, r.Flows, s.Hosts.MTU, m.dialect)
	case hpcc.PFCFile:
		return hpcc.WritePFC(w, net, r.Pauses, m.dialect)
	}
	return m.recorder.Write(w, kind)
}

// imported makes a scenario from another simulator's files.
func (f *fabricFlags) imported(cmd *cobra.Command) (*scenario.Scenario, *imported, error) {
	c := &hpcc.Config{Hosts: roce.Papers.Defaults(), Switch: topo.NewSpec().Switch}
	if f.config != "" {
		var err error
		if c, err = hpcc.ReadConfig(f.config); err != nil {
			return nil, nil, err
		}
	}
	warnings := c.Warnings
	// Names in the configuration are relative to the working directory, as in
	// the simulator.
	topologyFile, flowFile := cmp.Or(f.topology, c.TopologyFile), cmp.Or(f.flows, c.FlowFile)
	if topologyFile == "" || flowFile == "" {
		return nil, nil, usageErrorf(cmd, "expected both --topology and --flows, or a --config that names them")
	}
	if f.algorithm != "" || c.Hosts.CC.Algorithm == "" {
		c.Hosts.CC.Algorithm = cmp.Or(f.algorithm, "dcqcn")
	}
	if _, err := c.Hosts.Check(); err != nil {
		return nil, nil, err
	}
	t, err := readTopology(topologyFile, c)
	if err != nil {
		return nil, nil, err
	}
	warnings = append(warnings, hpcc.CheckTopology(topologyFile, t)...)
	if f.config != "" {
		warnings = append(warnings, c.For(t)...)
		c.Fit(t.Links[t.Nodes[t.Hosts()[0]].Ports[0].Link].Rate)
	}
	flows, dialect, more, err := hpcc.ReadFlows(flowFile, t)
	if err != nil {
		return nil, nil, err
	}
	warnings = append(append(warnings, more...), hpcc.Adapt(flowFile, flows)...)
	p, err := program.Load(cmp.Or(f.profile, c.Profile, "ecmp"))
	if err != nil {
		return nil, nil, err
	}
	kit, err := c.Hosts.CC.Kit(vtime.Gbps)
	if err != nil {
		return nil, nil, err
	}
	switch kit.Telemetry {
	case cc.INT:
		p.Choose("int", "on")
	case cc.Digest:
		p.Choose("int", "pint")
	}
	faults, reroutes, after, err := linkDown(c, t)
	if err != nil {
		return nil, nil, err
	}
	var at vtime.Time
	if len(faults) > 0 {
		at = faults[0].From
	}
	hpcc.SamePathsAround(t, after, at, flows, kit.Telemetry, dialect)
	if p.Set == nil {
		p.Set = make(map[string]string)
	}
	if f.config != "" {
		mark(p, c, t)
	}
	if p.Base == "conweave" {
		own := maps.Clone(p.Set) // of --profile
		maps.Copy(p.Set, c.Set)
		maps.Copy(p.Set, own)
		p.Sizes.Flows = 1 << 15 // the simulator has a row for each flow
		for i := range flows {
			flows[i].Wire[0] = 0 // leaves choose the path of data, and distinguish flows by their ports
		}
	}
	if step := c.Hosts.CC.PINT.Step; step != 0 && kit.Telemetry == cc.Digest {
		p.Set["pint.step"] = fmt.Sprint(step)
	}
	if err := t.CheckBuffer(); err != nil && p.Choice("pfc") != "emulated" {
		return nil, nil, fmt.Errorf("%s: %w", topologyFile, err)
	}
	s, err := scenario.New(filepath.Base(flowFile), t, p, flows, c.Hosts, c.Stop)
	if err != nil {
		return nil, nil, err
	}
	if c.Seed != 0 {
		s.Seeds = []uint64{c.Seed}
	}
	if f.target != "" {
		if err := s.On(f.target); err != nil {
			return nil, nil, usageErrorf(cmd, "--target: %v", err)
		}
	}
	s.Cases()[0].Faults, s.Cases()[0].Reroutes = faults, reroutes
	m := &imported{read: []string{topologyFile, flowFile, f.config}, dialect: dialect}
	warnings = append(warnings, m.place(f, c)...)
	m.recorder = c.NewRecorder(t, flows)
	diag.Print(cmd.ErrOrStderr(), warnings, nil)
	return s, m, nil
}

// place sets the outputs: those of the flags, and of the configuration those that may
// be written and that no flag replaces.
func (m *imported) place(f *fabricFlags, c *hpcc.Config) (warnings diag.List) {
	flags := map[int]string{hpcc.FCTFile: f.fct, hpcc.PFCFile: f.pfc}
	for _, kind := range slices.Sorted(maps.Keys(flags)) {
		if name := flags[kind]; name != "" {
			m.outputs = append(m.outputs, hpcc.Output{Kind: kind, File: name})
		}
	}
	c.Outputs = slices.DeleteFunc(c.Outputs, func(o hpcc.Output) bool { return flags[o.Kind] != "" })
	for i := range c.Outputs {
		ok, w := c.Place(&c.Outputs[i])
		if warnings = append(warnings, w...); ok {
			m.outputs = append(m.outputs, c.Outputs[i])
		}
	}
	return warnings
}

// linkDown returns the fault of a configuration, the change of routes that it causes,
// and the topology with these.
func linkDown(c *hpcc.Config, t *topo.Topology) ([]fabric.Fault, []scenario.Reroute, *topo.Topology, error) {
	if c.LinkDown == nil {
		return nil, nil, nil, nil
	}
	fault, err := c.LinkDown.Fault(t)
	if err != nil {
		return nil, nil, nil, err
	}
	links := fabric.Links(t, fault.Link)
	return []fabric.Fault{fault}, []scenario.Reroute{{At: fault.From, Without: links}}, t.Without(links), nil
}

// readTopology reads a YAML topology, one for Mininet, or one in the HPCC format.
func readTopology(name string, c *hpcc.Config) (*topo.Topology, error) {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return topo.Read(name)
	}
	return c.ReadTopology(name)
}

// mark sets the profile's marking thresholds to those of the configuration, for
// every link rate of the network. Ports of rates that it does not have mark nothing.
func mark(p *gen.Profile, c *hpcc.Config, t *topo.Topology) {
	rates := make(map[vtime.Rate]hpcc.Mark)
	some := false
	for i := range t.Links {
		rate := t.Links[i].Rate
		m, ok := c.MarkFor(rate)
		rates[rate] = m
		some = some || ok
	}
	if !some {
		p.Choose("ecn", "off")
		return
	}
	for rate, m := range rates {
		at := ""
		if len(rates) > 1 {
			at = "@" + rate.String()
		}
		if p.Units.Depth == manifest.Cells80 {
			m = m.InCells(c.Hosts.MTU)
		}
		if _, ok := c.MarkFor(rate); !ok {
			m = unmarked
		}
		p.Set["red.kmin"+at], p.Set["red.kmax"+at], p.Set["red.pmax"+at] = m.KMin.String(), m.KMax.String(), fmt.Sprint(m.PMax)
	}
}

// unmarked has thresholds that no queue reaches: the most that programs compare, in
// cells.
var unmarked = hpcc.Mark{KMin: (1<<19 - 1) * manifest.CellBytes, KMax: (1<<19 - 1) * manifest.CellBytes}

// together returns one function for several, or nil for none.
func together(follow []func(scenario.Start) scenario.Follower) func(scenario.Start) scenario.Follower {
	if len(follow) < 2 {
		if len(follow) == 0 {
			return nil
		}
		return follow[0]
	}
	return func(s scenario.Start) scenario.Follower {
		all := &followers{looked: make([]bool, len(follow))}
		for _, f := range follow {
			all.all = append(all.all, f(s))
		}
		return all
	}
}

// followers are several that observe the same run. Each looks at its own times, and all
// at the end.
type followers struct {
	all    []scenario.Follower
	looked []bool // at the time of the last look
	lab    *virtual.Lab
}

// Tap implements scenario.Follower.
func (s *followers) Tap(n *topo.Node) fabric.Tap {
	var t taps
	for _, f := range s.all {
		if one := f.Tap(n); one != nil {
			t = append(t, one)
		}
	}
	if len(t) == 0 {
		return nil
	}
	return t
}

// Next implements scenario.Follower.
func (s *followers) Next() vtime.Time {
	next := vtime.Never
	for _, f := range s.all {
		next = min(next, f.Next())
	}
	return next
}

// Look implements scenario.Follower.
func (s *followers) Look(lab *virtual.Lab) {
	s.lab = lab
	for i, f := range s.all {
		if s.looked[i] = f.Next() <= lab.Fabric.Now(); s.looked[i] {
			f.Look(lab)
		}
	}
}

// End implements scenario.Follower.
func (s *followers) End(r *fabric.Results) {
	for i, f := range s.all {
		if !s.looked[i] {
			f.Look(s.lab)
		}
		f.End(r)
	}
}

// taps are the observers of several followers at one node.
type taps []fabric.Tap

// Arrive implements fabric.Tap.
func (all taps) Arrive(now vtime.Time, port int, f *packet.Frame) {
	for _, t := range all {
		t.Arrive(now, port, f)
	}
}
