// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
)

// With a program that emulates PFC, the switch's own PFC was also active.
func TestOneFlowControlAtATime(t *testing.T) {
	net, err := topo.Parse("t.yaml", []byte("leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}\nswitch: {buffer: 9MB, pfc: {xoff: 32KB}}"))
	if err != nil {
		t.Fatal(err)
	}
	for profile, want := range map[string]struct{ pauses, copies bool }{
		"drill": {true, false}, "pcn": {true, true}, "drill-bmv2": {false, false},
	} {
		p, err := program.Load(profile)
		if err != nil {
			t.Fatal(err)
		}
		program.Fit(p, net)
		prog, err := program.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		l := &Lab{cfg: Config{Topology: net, Program: prog}}
		got := l.switchConfig(net.NodeByName("l1")).PFC
		if got.Lossless != 0 != want.pauses || got.CopyToPipeline != want.copies {
			t.Errorf("%s: flow control is %+v", profile, got)
		}
	}
}

// converge returns a network, and the results of flows of 1 MB from all its hosts to
// one of them, which must end within 2 ms.
func converge(t *testing.T, file, to string) (*topo.Topology, *fabric.Results) {
	t.Helper()
	net, err := topo.Parse("t.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Load("ecmp")
	if err != nil {
		t.Fatal(err)
	}
	program.Fit(p, net)
	prog, err := program.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(context.Background(), Config{Topology: net, Program: prog, Hosts: roce.Papers.Defaults()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var flows []fabric.Flow
	for _, h := range net.Hosts() {
		if net.Nodes[h].Name != to {
			flows = append(flows, fabric.Flow{Src: h, Dst: net.NodeByName(to).ID, Size: 1_000_000, Class: 3})
		}
	}
	if err := l.Fabric.AddFlows(flows); err != nil {
		t.Fatal(err)
	}
	if err := l.Fabric.RunUntil(context.Background(), 2*vtime.Millisecond); err != nil {
		t.Fatal(err)
	}
	if !l.Fabric.Done() {
		t.Errorf("%s: flows did not end", file)
	}
	return net, l.Fabric.Results()
}

// With dynamic thresholds the topology's resume offset had no effect. A larger
// offset makes fewer and longer pauses; four senders to one take the same time.
func TestResumeCountsForDynamicThresholds(t *testing.T) {
	run := func(pfc string) (pauses uint64) {
		_, r := converge(t, "graph: {rate: 40Gbps, delay: 1us, switches: [{name: s}], hosts: [{name: h, count: 5, on: s}]}\nswitch: {buffer: 2MB, pfc: "+pfc+"}", "h5")
		for _, port := range r.Ports {
			pauses += port.Pauses
		}
		if pauses == 0 {
			t.Errorf("%s: no pauses", pfc)
		}
		return pauses
	}
	few, many := run("{alpha: 0.125, resume: 100KB}"), run("{alpha: 0.125}")
	if few*5 > many {
		t.Errorf("%d pauses with a resume offset of 100 KB, %d with two frames", few, many)
	}
}

// With hosts_only, switches pause hosts, but not each other.
func TestPausesOfHostsOnly(t *testing.T) {
	run := func(pfc string) (hosts, switches uint64) {
		net, r := converge(t, "graph: {rate: 40Gbps, delay: 1us, switches: [{name: a}, {name: b}], links: [{a: a, b: b}], hosts: [{name: h, count: 4, on: a}, {name: s, count: 3, on: b}]}\nswitch: {buffer: 30MB, pfc: "+pfc+"}", "s1")
		for _, port := range r.Ports {
			if net.Nodes[port.Node].Kind == topo.Host {
				hosts += port.Pauses
			} else {
				switches += port.Pauses
			}
		}
		return hosts, switches
	}
	if hosts, switches := run("{xoff: 50KB}"); hosts == 0 || switches == 0 {
		t.Errorf("without it hosts were paused %d times, and switches %d times", hosts, switches)
	}
	if hosts, switches := run("{xoff: 50KB, hosts_only: true}"); hosts == 0 || switches != 0 {
		t.Errorf("hosts were paused %d times, and switches %d times", hosts, switches)
	}
}

// Switches start with what a controller would write: it finds nothing to change.
func TestStartsAsAControllerWants(t *testing.T) {
	net, err := topo.Parse("t.yaml", []byte("leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}\nswitch: {buffer: 9MB, pfc: {alpha: 0.5}}"))
	if err != nil {
		t.Fatal(err)
	}
	started := 0
	for _, name := range gen.Names() {
		for _, target := range []string{program.V1Model, program.TNA} {
			p, err := program.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			program.Fit(p, net)
			prog, err := program.BuildFor(p, target)
			if err != nil {
				continue // not every program is for Tofino
			}
			l, err := Open(t.Context(), Config{Topology: net, Program: prog, Hosts: roce.Papers.Defaults()})
			if err != nil {
				t.Errorf("%s on %s: %v", name, target, err)
				continue
			}
			defer l.Close()
			entitiesOf, err := l.entities(net, false)
			if err != nil {
				t.Fatal(err)
			}
			control, err := l.Control(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range control.Sessions() {
				entities, err := entitiesOf(net.NodeByName(s.Name()).ID)
				if err != nil {
					t.Fatal(err)
				}
				change, err := s.Plan(t.Context(), controlplane.Desired{Pipeline: prog.Pipeline(), Entities: entities})
				if err != nil || !change.Empty() {
					t.Errorf("%s on %s: a controller of %s wants: %v, %v", name, target, s.Name(), change, err)
				}
			}
			started++
		}
	}
	if started < 60 {
		t.Errorf("only %d programs were started", started)
	}
}

// Registers have the same values in a switch's memory and over P4Runtime, for every
// program, also those with cells of two members.
func TestRegistersInMemory(t *testing.T) {
	net, err := topo.Parse("t.yaml", []byte("leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}"))
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, name := range []string{"rlb-adaptive-letflow", "clb", "plb", "pcn", "hermes", "pbfs", "conweave"} {
		for _, target := range []string{program.V1Model, program.TNA} {
			p, err := program.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			program.Fit(p, net)
			prog, err := program.BuildFor(p, target)
			if err != nil {
				if target == program.V1Model {
					t.Fatal(err)
				}
				continue // not every program is for Tofino
			}
			l, err := Open(t.Context(), Config{Topology: net, Program: prog, Hosts: roce.Papers.Defaults()})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			control, err := l.Control(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s, l1 := control.Session("l1"), net.NodeByName("l1").ID
			rng := rand.New(rand.NewPCG(1, 2))
			for _, r := range l.switches[l1].State().Registers {
				for i := range r.Info.Size {
					cell := r.Cell(i)
					for k := range cell {
						cell[k] = rng.Uint64()
					}
					bitvec.Mask(cell, r.Info.Width)
				}
			}
			for _, m := range prog.Manifest.Registers {
				got, err := l.Register(t.Context(), l1, m.Name)
				if err != nil {
					t.Fatal(err)
				}
				want, err := s.ReadRegister(t.Context(), m.Name)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s, %s: %s is %v in memory, %v over P4Runtime", name, target, m.Name, got, want)
				}
				read++
			}
		}
	}
	if read < 100 {
		t.Errorf("only %d registers were compared", read)
	}
}
