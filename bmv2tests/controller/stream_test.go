// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/packet"
)

// marked is an IPv4 packet that makes the program send a digest and a clone
// to the controller.
func marked(src string) []byte {
	b := make([]byte, 64)
	packet.Ethernet(b).Set(packet.MAC{2, 0, 0, 0, 0, 2}, packet.MAC{2, 0, 0, 0, 0, 1}, packet.EtherTypeIPv4)
	ip := packet.IPv4(b[packet.EthernetLen:])
	ip.Set(netip.MustParseAddr(src), netip.MustParseAddr("10.0.1.1"), packet.ProtoUDP, 0x3f, packet.CE, 7, 50)
	return b
}

func TestDigestsAndPacketsComeFromTheDataPlane(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		s := connect(t, sw, sw.Target, controlplane.Options{})
		if _, err := s.Apply(ctx, state(t, program(t), 0)); err != nil {
			t.Fatal(err)
		}
		digests, packets := s.Digests(ctx), s.Packets(ctx)
		for _, src := range []string{"10.9.0.1", "10.9.0.2"} {
			if err := s.PacketOut(ctx, marked(src), map[string]string{"egress_port": "0"}); err != nil {
				t.Fatal(err)
			}
		}
		seen := make(map[string]bool)
		for d := range digests {
			if d.Name != "alert_t" || len(d.Fields) != 2 {
				t.Fatalf("got %+v", d)
			}
			if seen[d.Fields[1].Text] = true; len(seen) == 2 {
				break
			}
		}
		if !seen["10.9.0.1"] || !seen["10.9.0.2"] {
			t.Errorf("digests about %v", seen)
		}
		n := 0
		for p := range packets {
			if port, _ := schema.ToUint(p.Metadata["ingress_port"]); port == 0 && len(p.Metadata) == 0 || packet.FindIPv4(p.Payload) == nil {
				t.Errorf("got %d bytes with metadata %v", len(p.Payload), p.Metadata)
			}
			if n++; n == 2 {
				break
			}
		}
		if ctx.Err() != nil {
			t.Errorf("%d digests and %d packets came in time", len(seen), n)
		}
		a, err := s.ReadRegister(ctx, "Warned")
		if err != nil || a.Values[0] != 2 {
			t.Errorf("the program counted %v, %v", a.Values, err)
		}
	})
}

// The switch sends a controller's packet-outs, also if the controller disconnects
// at once.
func TestPacketOutsOfAControllerThatDisconnects(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		s := connect(t, sw, sw.Target, controlplane.Options{})
		if _, err := s.Apply(t.Context(), state(t, program(t), 0)); err != nil {
			t.Fatal(err)
		}
		s.Close()
		const n = 40
		for range n {
			s := connect(t, sw, sw.Target, controlplane.Options{})
			if _, err := s.LoadSchema(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.PacketOut(t.Context(), marked("10.9.0.1"), map[string]string{"egress_port": "0"}); err != nil {
				t.Fatal(err)
			}
			s.Close()
		}
		s = connect(t, sw, sw.Target, controlplane.Options{})
		until(t, func() bool {
			a, err := s.ReadRegister(t.Context(), "Warned")
			return err == nil && a.Values[0] == n
		}, func() string {
			a, err := s.ReadRegister(t.Context(), "Warned")
			return fmt.Sprintf("the program counted %v, %v; want %d", a.Values, err, n)
		})
	})
}
