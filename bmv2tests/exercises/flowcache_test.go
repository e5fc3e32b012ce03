// SPDX-License-Identifier: Apache-2.0

package exercises

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/softswitch"
)

// The first packet of a flow goes to the controller of each switch on its path,
// which forwards it and adds an entry. Later packets do not need the controller.
// Idle timeouts are not tested here: a clause of bmv2tests/p4rt tests them.
func TestFlowCache(t *testing.T) {
	exercise(t, "flowcache", "topology.json", func(n *network) {
		n.loadAll("solution/flowcache.p4", "")
		ctx, cancel := context.WithTimeout(n.Context(), patience)
		defer cancel()
		punted := map[string]func() (controlplane.Packet, bool){}
		for name, d := range n.switches {
			n.write(name, fmt.Sprintf("clone 57 -> %d", softswitch.DefaultCPUPort))
			next, stop := iter.Pull(d.session.Packets(ctx))
			defer stop()
			punted[name] = next
		}
		data := n.udp("h1", n.ip["h2"], 0)
		// h1 is on port 1 of s1, whose port 2 leads to port 2 of s2, on whose port 1 is h2.
		for _, hop := range []struct {
			name    string
			in, out int
		}{{"s1", 1, 2}, {"s2", 2, 1}} {
			d := n.switches[hop.name]
			if got := d.send(hop.in, data); len(got) > 0 {
				n.Fatalf("%s sends a packet of a flow that nobody has told it about: %v", hop.name, got)
			}
			p, ok := punted[hop.name]()
			if !ok {
				n.Fatalf("%s: no packet for the controller", hop.name)
			}
			if !bytes.Equal(p.Payload, data) || !bytes.Equal(p.Metadata["input_port"], schema.Uint(uint64(hop.in))) || !bytes.Equal(p.Metadata["punt_reason"], []byte{1}) {
				n.Errorf("%s: the controller gets %+v", hop.name, p)
			}
			n.write(hop.name, fmt.Sprintf("flow_cache hdr.ipv4.protocol=17 hdr.ipv4.srcAddr=%v hdr.ipv4.dstAddr=%v -> "+
				"cached_action(port=%d, decrement_ttl=1, new_dscp=5, dst_eth_addr=%v) timeout 3s", n.ip["h1"], n.ip["h2"], hop.out, n.mac["h2"]))
			got := d.send(hop.in, data)
			if len(got) != 1 || got[0].Port != hop.out || got[0].Data[14+1] != 5<<2 || got[0].Data[14+8] != 63 || !bytes.Equal(got[0].Data[:6], n.mac["h2"]) {
				n.Errorf("%s, with an entry: %v", hop.name, got)
			}
		}
		_, ip := n.header(n.only("h1", "h2", data))
		if ip.TTL != 62 || ip.TOS != 5<<2 {
			n.Errorf("h2 received a packet with TTL %d, type of service %d", ip.TTL, ip.TOS)
		}
		// Flows of other hosts are still unknown.
		n.nobody("h3", n.udp("h3", n.ip["h2"], 0))
		if _, ok := punted["s3"](); !ok {
			n.Error("s3: no packet for the controller")
		}
	})
}
