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

// The kernel answers a datagram for a closed port by an ICMP message that quotes it, and so
// has its identification and addresses. It is no packet of the series.
func TestMessagesThatQuoteAPacket(t *testing.T) {
	n, err := (&topo.LeafSpine{Leaves: 1, Spines: 1, HostsPerLeaf: 2, Rate: vtime.Gbps}).Build("two", topo.SwitchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	list := []Spec{{Name: "udp", From: "h1", To: "h2", UDP: &Ports{Source: 1, Destination: 9}}}
	Prepare(list, n, nil, nil)
	w, all := NewWire(n, list, 1, 0)
	sent := all[0].Data
	message := append([]byte{}, sent[:packet.EthernetLen+packet.IPv4Len]...)
	ip := packet.IPv4(message[packet.EthernetLen:])
	copy(ip[12:16], sent[packet.EthernetLen+16:])
	copy(ip[16:20], sent[packet.EthernetLen+12:])
	ip[9] = protoICMP
	binary.BigEndian.PutUint16(ip[4:], 0xffff)
	binary.BigEndian.PutUint16(ip[2:], uint16(packet.IPv4Len+icmpLen+len(sent)-packet.EthernetLen))
	ip.UpdateChecksum()
	message = append(append(message, 3, 3, 0, 0, 0, 0, 0, 0), sent[packet.EthernetLen:]...) // port unreachable
	from, to := n.NodeByName("h1").ID, n.NodeByName("h2").ID
	w.Received(to, 0, sent)
	w.Received(from, 0, message)
	if got := w.run.ends[to].got[0].Series; got != 0 {
		t.Errorf("the packet is of series %d, want 0", got)
	}
	if got := w.run.ends[from].got[0].Series; got != -1 {
		t.Errorf("the message about it is of series %d, want none", got)
	}
}
