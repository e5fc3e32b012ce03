// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
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

// With dynamic thresholds the topology's resume offset had no effect. A larger
// offset makes fewer and longer pauses; four senders to one take the same time.
func TestResumeCountsForDynamicThresholds(t *testing.T) {
	run := func(pfc string) (pauses uint64) {
		net, err := topo.Parse("t.yaml", []byte("graph: {rate: 40Gbps, delay: 1us, switches: [{name: s}], hosts: [{name: h, count: 5, on: s}]}\nswitch: {buffer: 2MB, pfc: "+pfc+"}"))
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
		l, err := Open(context.Background(), Config{Topology: net, Program: prog, Hosts: roce.Defaults()})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var flows []fabric.Flow
		for _, h := range net.Hosts()[:4] {
			flows = append(flows, fabric.Flow{Src: h, Dst: net.Hosts()[4], Size: 1_000_000, Class: 3})
		}
		if err := l.Fabric.AddFlows(flows); err != nil {
			t.Fatal(err)
		}
		if err := l.Fabric.RunUntil(context.Background(), 2*vtime.Millisecond); err != nil {
			t.Fatal(err)
		}
		r := l.Fabric.Results()
		for _, port := range r.Ports {
			pauses += port.Pauses
		}
		if !l.Fabric.Done() || pauses == 0 {
			t.Errorf("%s: done is %v, %d pauses", pfc, l.Fabric.Done(), pauses)
		}
		return pauses
	}
	few, many := run("{alpha: 0.125, resume: 100KB}"), run("{alpha: 0.125}")
	if few*5 > many {
		t.Errorf("%d pauses with a resume offset of 100 KB, %d with two frames", few, many)
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
			l, err := Open(t.Context(), Config{Topology: net, Program: prog, Hosts: roce.Defaults()})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			s := l.Control.Session("l1")
			rng := rand.New(rand.NewPCG(1, 2))
			for _, r := range l.switches[net.NodeByName("l1").ID].State().Registers {
				for i := range r.Info.Size {
					cell := r.Cell(i)
					for k := range cell {
						cell[k] = rng.Uint64()
					}
					bitvec.Mask(cell, r.Info.Width)
				}
			}
			for _, m := range prog.Manifest.Registers {
				got, err := l.Register(t.Context(), s, m.Name)
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
