// SPDX-License-Identifier: Apache-2.0

package exercises

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/simnet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// served runs an exercise in the fabric with a controller: control gets a session with each
// switch, by name, and answers until its context is done.
func served(t *testing.T, name, text string, control func(ctx context.Context, sessions map[string]*controlplane.Session) error) {
	dir := filepath.Join(checkout(t), name)
	synctest.Test(t, func(t *testing.T) {
		s, err := scenario.ParseIn(name+".yaml", []byte("name: "+name+text), dir, scenario.Paper, nil)
		if err != nil {
			t.Fatal(err)
		}
		network := simnet.New(rand.New(rand.NewPCG(1, 1)))
		ctx, cancel := context.WithCancel(t.Context())
		ended, closed := make(chan error, 1), make(chan struct{})
		runs, err := s.Run(t.Context(), scenario.Options{Event: func(controlplane.Event) {}, Serve: &virtual.Serve{
			Quiet:  500 * time.Millisecond,
			Listen: func(n *topo.Node) (net.Listener, error) { return network.Listen(n.Name) },
			Ready: func(targets []controlplane.Target) {
				go func() {
					defer close(closed) // after all sessions
					sessions := make(map[string]*controlplane.Session)
					for _, target := range targets {
						c, err := controlplane.Connect(ctx, target, controlplane.Options{Dial: network.Dialer("controller"), Event: func(controlplane.Event) {}, Probe: -1})
						if err != nil {
							ended <- err
							return
						}
						defer c.Close()
						if _, err := c.LoadSchema(ctx); err != nil {
							ended <- err
							return
						}
						sessions[target.Name] = c
					}
					ended <- control(ctx, sessions)
					<-ctx.Done()
				}()
			},
		}})
		cancel()
		<-closed
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range runs[0].Unmet {
			t.Error(u)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// add writes entries.
func add(ctx context.Context, s *controlplane.Session, lines ...string) error {
	var updates []*p4v1.Update
	for _, line := range lines {
		e, err := s.Schema().ParseEntity(line)
		if err != nil {
			return err
		}
		updates = append(updates, insert(e))
	}
	return s.Write(ctx, updates)
}

// controllers are the exercises in which a controller writes the entries.
var controllers = []struct {
	name, text string
	control    func(ctx context.Context, sessions map[string]*controlplane.Session) error
}{
	// It makes tunnels between h1 and h2.
	{"p4runtime", `
topology: topology.json
program: {p4: advanced_tunnel.p4}
until: 3s
packets:
- {name: there, from: h1, to: h2, ping: true}
- {name: none, from: h1, to: h3, udp: {destination: 9}}
expect:
- {packets: there, at: h2, fields: {"ethernet.destination": "08:00:00:00:02:22", ipv4.ttl: 64}}
- {packets: there, at: h1}
- {packets: none, at: h3, count: 0}
`, func(ctx context.Context, s map[string]*controlplane.Session) error {
		for _, c := range []struct {
			in, out, ip, mac string
			id               int
		}{{"s1", "s2", "10.0.2.2", "08:00:00:00:02:22", 100}, {"s2", "s1", "10.0.1.1", "08:00:00:00:01:11", 200}} {
			err := add(ctx, s[c.in], fmt.Sprintf("MyIngress.ipv4_lpm hdr.ipv4.dstAddr=%s/32 -> MyIngress.myTunnel_ingress(dst_id=%d)", c.ip, c.id),
				fmt.Sprintf("MyIngress.myTunnel_exact hdr.myTunnel.dst_id=%d -> MyIngress.myTunnel_forward(port=2)", c.id))
			if err == nil {
				err = add(ctx, s[c.out], fmt.Sprintf("MyIngress.myTunnel_exact hdr.myTunnel.dst_id=%d -> MyIngress.myTunnel_egress(dstAddr=%s, port=1)", c.id, c.mac))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}},
	// The first packet of a flow goes to the controller of each switch on its way, which
	// sends it on and adds an entry for the following ones. What the controller sends is a
	// packet of its own, not one of the series.
	{"flowcache", `
topology: topology.json
program: {p4: solution/flowcache.p4}
until: 3s
packets:
- {name: flow, from: h1, to: h2, udp: {source: 1000, destination: 9}, every: 1s, count: 2}
- {name: unknown, from: h3, to: h1, udp: {destination: 9}}
expect:
- {at: h2, count: 2, some: true, fields: {ipv4.ttl: 64}}
- {packets: flow, at: h2, some: true, least: 1, fields: {ipv4.ttl: 62, ipv4.dscp: 5, "ethernet.destination": "08:00:00:00:02:22"}}
- {packets: unknown, at: h1, count: 0}
`, func(ctx context.Context, sessions map[string]*controlplane.Session) error {
		out := map[string]int{"s1": 2, "s2": 1}
		for name, s := range sessions {
			if err := add(ctx, s, "clone 57 -> 510"); err != nil {
				return err
			}
			packets := s.Packets(ctx)
			go func() {
				for p := range packets {
					port := out[name]
					if port == 0 {
						continue // the way of other flows is not known
					}
					err := add(ctx, s, fmt.Sprintf("flow_cache hdr.ipv4.protocol=17 hdr.ipv4.srcAddr=10.0.1.1 hdr.ipv4.dstAddr=10.0.2.2 -> "+
						"cached_action(port=%d, decrement_ttl=1, new_dscp=5, dst_eth_addr=08:00:00:00:02:22) timeout 3s", port))
					if err == nil {
						// Opcode 1 sends to the port in operand 0.
						_ = s.PacketOut(ctx, p.Payload, map[string]string{"opcode": "1", "reserved1": "0", "operand0": fmt.Sprint(port)}) // expect sees a loss
					}
				}
			}()
		}
		return nil
	}},
}

// Controllers of exercises run in lockstep with the fabric.
func TestControllersInTheFabric(t *testing.T) {
	for _, c := range controllers {
		t.Run(c.name, func(t *testing.T) { served(t, c.name, c.text, c.control) })
	}
}
