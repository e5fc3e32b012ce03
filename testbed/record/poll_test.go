// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// Switches that are asked over P4Runtime show the queues and counters that
// their programs keep; one that does not answer is named, and the others are
// shown.
func TestSwitchesAreAsked(t *testing.T) {
	ctx := context.Background()
	s, err := scenario.Parse("incast.yaml", []byte(incast))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases()[0]
	prog, err := program.Build(c.Loaded())
	if err != nil {
		t.Fatal(err)
	}
	hosts := roce.Defaults()
	hosts.CC.Algorithm = "dcqcn"
	lab, err := virtual.Open(ctx, virtual.Config{Topology: c.Net(), Program: prog, Hosts: hosts, Paths: map[string]int{"h8": 1}, Seed: 1, Event: func(controlplane.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	p, err := NewPoller(ctx, c.Net(), lab.Control, time.Second, DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	flows, err := c.Flows(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Fabric.AddFlows(flows); err != nil {
		t.Fatal(err)
	}
	if err := p.Look(ctx); err != nil {
		t.Fatal(err)
	}
	if err := lab.Fabric.RunUntil(ctx, 1050*vtime.Microsecond); err != nil {
		t.Fatal(err)
	}
	if err := p.Look(ctx); err != nil {
		t.Fatal(err)
	}
	run, _ := p.Snapshot()
	if err := run.check(); err != nil {
		t.Fatal(err)
	}
	if len(run.TNS) != 2 || len(run.Queues[0]) != 0 || len(run.Queues[1]) == 0 {
		t.Fatalf("queues %v, values %v of %v", run.Queues, run.Values, p.have)
	}
	// What came in and waits is what the switches have on the accounts of their
	// ingress ports, but for packets that are being sent.
	for k := 0; k < len(run.Queues[1]); k += 2 {
		ch, n := run.Queues[1][k], run.Queues[1][k+1]
		l := run.Network.Links[ch/2]
		node, port := l.B, l.BP
		if ch%2 == 1 {
			node, port = l.A, l.AP
		}
		if c.Net().Nodes[node].Kind != topo.Switch {
			continue
		}
		sw := lab.Switch(node)
		sw.Lock()
		stats := sw.Port(port)
		sw.Unlock()
		var real int64
		for _, k := range stats.Class {
			real += k.IngressBytes
		}
		if max(real-n, n-real) > 5000 {
			t.Errorf("%s port %d has %d bytes, shown are %d", c.Net().Nodes[node].Name, port, real, n)
		}
	}
	lab.Control.Sessions()[0].Close()
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := p.Look(short); err == nil {
		t.Error("a switch that is gone is not named")
	}
	if run, _ := p.Snapshot(); len(run.TNS) != 3 {
		t.Error("the others are not shown")
	}
}
