// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"encoding/binary"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
)

// warnings counts pauses between switches, and those before which a warning
// arrived at the paused switch.
type warnings struct {
	net            *topo.Topology
	warned, paused map[topo.End]bool
	messages       int // warnings of the neighbour itself
	pauses, before int
}

type warningTap struct {
	*warnings
	node *topo.Node
}

func (w *warnings) tap(n *topo.Node) fabric.Tap {
	if n.Kind != topo.Switch {
		return nil
	}
	return warningTap{w, n}
}

// Arrive implements fabric.Tap.
func (w warningTap) Arrive(_ vtime.Time, port int, f *packet.Frame) {
	const warning, ethernet = 1, 14
	at := topo.End{Node: w.node.ID, Port: port}
	if pfc := packet.AsPFC(f.Data); pfc != nil {
		if pfc.Enabled()&(1<<manifest.LosslessClass) == 0 {
			return
		}
		on := pfc.Quanta(manifest.LosslessClass) > 0
		if on && !w.paused[at] {
			w.pauses++
			if w.warned[at] {
				w.before++
			}
		}
		w.paused[at] = on
		return
	}
	b := f.Data
	if binary.BigEndian.Uint16(b[12:]) != packet.EtherTypeLocal || b[ethernet] != warning {
		return
	}
	peer := &w.net.Nodes[w.node.Ports[port-1].Peer]
	if origin := binary.BigEndian.Uint16(b[ethernet+4:]); uint64(origin) != peer.DeviceID {
		return // a forwarded warning of another switch
	}
	if w.warned[at] = b[ethernet+2] == 1; w.warned[at] {
		w.messages++
	}
}

// incast returns a network with RLB over DRILL and the given PFC configuration.
// Four hosts of a leaf send to one host of another leaf at full rate.
func incast(t *testing.T, pfc string, tap func(*topo.Topology) func(*topo.Node) fabric.Tap) (*topo.Topology, *Lab) {
	t.Helper()
	net, err := topo.Parse("t.yaml", []byte("leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 8, rate: 40Gbps, delay: 2us}\nswitch: {buffer: 2MB, "+pfc+"}"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Load("rlb-drill")
	if err != nil {
		t.Fatal(err)
	}
	program.Fit(p, net)
	prog, err := program.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	hosts := roce.Papers.Defaults()
	hosts.CC.Algorithm = "none"
	l, err := Open(t.Context(), Config{Topology: net, Program: prog, Hosts: hosts, Tap: tap(net)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var flows []fabric.Flow
	for i, h := range net.Hosts()[:4] {
		flows = append(flows, fabric.Flow{Src: h, Dst: net.Hosts()[8], Size: 500_000, Class: 3, Start: vtime.Time(i) * vtime.Microsecond})
	}
	if err := l.Fabric.AddFlows(flows); err != nil {
		t.Fatal(err)
	}
	return net, l
}

var dynamicThresholds = map[string]string{"an eighth": "pfc: {alpha: 0.125}", "HPCC's switches": "mmu: hpcc", "a sixteenth": "pfc: {alpha: 0.0625, reserve: 2KB}"}

// With dynamic PFC thresholds, RLB's warning threshold followed from the
// threshold of a single busy queue. If several queues grow, their thresholds are
// lower: half of the pauses came without a warning.
func TestWarnsBeforeItPausesWithDynamicThresholds(t *testing.T) {
	for name, pfc := range dynamicThresholds {
		t.Run(name, func(t *testing.T) {
			var w *warnings
			_, l := incast(t, pfc, func(net *topo.Topology) func(*topo.Node) fabric.Tap {
				w = &warnings{net: net, warned: map[topo.End]bool{}, paused: map[topo.End]bool{}}
				return w.tap
			})
			if err := l.Fabric.RunUntil(t.Context(), 20*vtime.Millisecond); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d of %d pauses after a warning, %d warnings", w.before, w.pauses, w.messages)
			if w.pauses == 0 || w.before != w.pauses {
				t.Errorf("of %d pauses between switches, %d came after a warning", w.pauses, w.before)
			}
			if !l.Fabric.Done() {
				t.Error("some flows have not ended")
			}
		})
	}
}

// The program's register of the buffer's occupancy agrees with the traffic
// manager, except for the headers that a leaf adds, and is 0 at the end.
func TestProgramCountsTheBuffer(t *testing.T) {
	for name, pfc := range dynamicThresholds {
		t.Run(name, func(t *testing.T) {
			net, l := incast(t, pfc, func(*topo.Topology) func(*topo.Node) fabric.Tap { return nil })
			control, err := l.Control(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			most := int64(0)
			for at := 40 * vtime.Microsecond; ; at += 40 * vtime.Microsecond {
				done := l.Fabric.Done()
				if done {
					at = l.Fabric.Now() + vtime.Millisecond
				}
				if err := l.Fabric.RunUntil(t.Context(), at); err != nil {
					t.Fatal(err)
				}
				for _, s := range control.Sessions() {
					node := net.NodeByName(s.Name())
					a, err := s.ReadRegister(t.Context(), "buffer_used")
					if err != nil {
						t.Fatal(err)
					}
					used, counted := int64(0), int64(a.Values[0])
					for port := range node.Ports {
						for class, c := range l.Switch(node.ID).Port(port + 1).Class {
							reserve := int64(0)
							if class == manifest.LosslessClass {
								reserve = int64(net.Switch.PFC.Reserve)
							}
							used += max(0, c.IngressBytes-reserve)
						}
					}
					most = max(most, used)
					if off := counted - used; off > 3000 || off < -3000-used/50 || done && counted != 0 {
						t.Errorf("%v: %d bytes of %s are used, the program's register has %d", at, used, s.Name(), counted)
					}
				}
				if done {
					break
				}
			}
			if most < 300_000 {
				t.Errorf("no more than %d bytes were ever used", most)
			}
		})
	}
}
