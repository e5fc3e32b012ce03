// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"encoding/binary"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// The kernel of a real host draws the IPv4 identifications of its TCP connections: one that
// is that of a ping does not make the packet a ping.
func TestKernelsPacketsWithTheIdentificationOfASeries(t *testing.T) {
	n, err := (&topo.LeafSpine{Leaves: 1, Spines: 1, HostsPerLeaf: 2, Rate: vtime.Gbps}).Build("two", topo.SwitchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	list := []Spec{{Name: "ping", From: "h1", To: "h2", Ping: true}}
	Prepare(list, n, nil, nil)
	w, all := NewWire(n, list, 1, 0)
	to := n.NodeByName("h2").ID
	w.Received(to, 0, all[0].Data)
	tcp := append([]byte{}, all[0].Data...)
	ip := packet.IPv4(tcp[packet.EthernetLen:])
	for id := range 1 << 16 {
		binary.BigEndian.PutUint16(ip[4:], uint16(id))
		ip[9] = 6
		ip.UpdateChecksum()
		w.Received(to, 0, tcp)
	}
	got := 0
	for _, a := range w.run.ends[to].got {
		if a.Series == 0 {
			got++
		}
	}
	if got != 1 {
		t.Errorf("%d packets of the ping, 1 was sent", got)
	}
}
