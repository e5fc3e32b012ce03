// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric/fabrictest"
	"github.com/pauseless/pauseless/internal/vtime"
)

// circle is five switches in a ring, each with a fast host.
const circle = `graph: {rate: 40Gbps, delay: 1us,
  switches: [{name: s1}, {name: s2}, {name: s3}, {name: s4}, {name: s5}],
  hosts: [{name: h1, on: s1, rate: 100Gbps}, {name: h2, on: s2, rate: 100Gbps}, {name: h3, on: s3, rate: 100Gbps}, {name: h4, on: s4, rate: 100Gbps}, {name: h5, on: s5, rate: 100Gbps}],
  links: [{a: s1, b: s2}, {a: s2, b: s3}, {a: s3, b: s4}, {a: s4, b: s5}, {a: s5, b: s1}]}`

// Every host sends over two switches, clockwise: each switch needs room at the
// next to make room for the previous one.
func TestDeadlockIsFoundAndNamed(t *testing.T) {
	b := newBed(t, circle, switches(func(c *fabrictest.Config) { c.XOFF = 30e3 }))
	for i := range 5 {
		b.add(b.flow(fmt.Sprintf("h%d", i+1), fmt.Sprintf("h%d", (i+2)%5+1), 20_000_000, 0))
	}
	if d := b.Deadlock(0); d != nil {
		t.Fatalf("before anything happened: %v", d)
	}
	b.until(20 * vtime.Millisecond)
	d := b.Deadlock(2 * vtime.Millisecond)
	if d == nil {
		t.Fatalf("none found; %d flows are done", b.flowsDone())
	}
	if len(d.Ports) != 5 || d.Class != 3 || d.Since > vtime.Millisecond || !strings.Contains(d.String(), "s1 → s2 → s3 → s4 → s5 → s1") {
		t.Errorf("found %v with ports %v", d, d.Ports)
	}
	sent := b.Results().Ports
	b.until(25 * vtime.Millisecond)
	for i, p := range b.Results().Ports {
		if b.net.Nodes[p.Node].Name[0] == 's' && b.net.Nodes[b.net.Nodes[p.Node].Ports[p.Port-1].Peer].Name[0] == 's' {
			// PFC frames only: pauses are renewed
			if bytes := p.Sent.Bytes - sent[i].Sent.Bytes; bytes > 100*60 {
				t.Errorf("%s sent %d bytes in a deadlock", b.net.Nodes[p.Node].Name, bytes)
			}
		}
	}
}

func TestBusyNetworkIsNoDeadlock(t *testing.T) {
	b := newBed(t, circle, switches(func(c *fabrictest.Config) { c.XOFF = 30e3 }))
	// One further switch at most: no switch waits for a third.
	for i := range 5 {
		b.add(b.flow(fmt.Sprintf("h%d", i+1), fmt.Sprintf("h%d", (i+1)%5+1), 20_000_000, 0))
	}
	b.add(b.flow("h1", "h3", 5_000_000, 0))
	paused := 0
	for !b.Done() {
		b.until(b.Now() + 100*vtime.Microsecond)
		if d := b.Deadlock(vtime.Millisecond); d != nil {
			t.Fatal(d)
		}
		for id, n := range b.engine.nodes {
			for port := range n.in {
				if since, ok := b.PausedSince(id, port+1, 3); ok && n.paused <= b.Now() {
					t.Fatalf("at %v the search would leave out %s, paused since %v", b.Now(), b.net.Nodes[id].Name, since)
				}
			}
		}
		paused = len(b.Results().Pauses)
	}
	if paused == 0 {
		t.Error("nothing was paused")
	}
}

// tidy is a switch that can count its waiting bytes.
type tidy struct {
	*fabrictest.Switch
	waits func(in, out, class int) int64
}

func (s *tidy) Waiting(in, out, class int) int64 { return s.waits(in, out, class) }

func TestDeadlockFollowsOnlyWaitingPorts(t *testing.T) {
	b := newBed(t, circle, switches(func(c *fabrictest.Config) { c.XOFF = 30e3 }))
	for i := range 5 {
		b.add(b.flow(fmt.Sprintf("h%d", i+1), fmt.Sprintf("h%d", (i+2)%5+1), 20_000_000, 0))
	}
	b.until(10 * vtime.Millisecond)
	n := b.engine.nodes[b.net.NodeByName("s3").ID]
	sw := n.impl.(*fabrictest.Switch)
	waits := int64(0)
	n.impl = &tidy{sw, func(int, int, int) int64 { return waits }}
	if d := b.Deadlock(vtime.Millisecond); d != nil {
		t.Errorf("nothing waits in s3, but %v", d)
	}
	waits = 1
	if d := b.Deadlock(vtime.Millisecond); d == nil {
		t.Error("none found")
	}
}
