// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/result"
)

// runTCP runs a TCP connection over a network, and returns what both ends have received.
func runTCP(t *testing.T, text string) (run *result.Run, h1, h3 []packets.Arrival) {
	t.Helper()
	s, err := ownFiles(t, map[string]string{"hosts.p4": hostsP4(t)}, text)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := s.Run(t.Context(), Options{Packets: func(_ *result.Run, r *packets.Run) error {
		net := s.Cases()[0].Net()
		h1, h3 = r.At(net.NodeByName("h1").ID), r.At(net.NodeByName("h3").ID)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return runs[0], h1, h3
}

// A connection opens, carries its bytes, and closes; its segments are those that another
// implementation of TCP's formats reads, with right checksums.
func TestTCPConnection(t *testing.T) {
	run, h1, h3 := runTCP(t, `
network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Mbps, delay: 100us}}
program: {p4: hosts.p4}
packets: [{name: iperf, from: h1, to: h3, tcp: {source: 40000, destination: 5001, bytes: 1MB}}]
expect:
- {packets: iperf, at: h3, stream: true}
- {packets: iperf, at: h1, least: 600}
`)
	if len(run.Unmet) > 0 {
		t.Error(run.Unmet)
	}
	check := func(name string, list []packets.Arrival, flags string) {
		var seen string
		end := uint32(0)
		for i, a := range list {
			p := gopacket.NewPacket(a.Data, layers.LayerTypeEthernet, gopacket.Default)
			ip, tcp := p.NetworkLayer().(*layers.IPv4), p.TransportLayer().(*layers.TCP)
			again := gopacket.NewSerializeBuffer()
			sum := tcp.Checksum
			if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
				t.Fatal(err)
			}
			if err := gopacket.SerializeLayers(again, gopacket.SerializeOptions{ComputeChecksums: true}, tcp, gopacket.Payload(tcp.Payload)); err != nil {
				t.Fatal(err)
			}
			if tcp.Checksum != sum {
				t.Fatalf("%s: segment %d has checksum %#x, want %#x", name, i, sum, tcp.Checksum)
			}
			if i > 0 && tcp.Seq != end {
				t.Fatalf("%s: segment %d begins at %d, the one before ended at %d", name, i, tcp.Seq, end)
			}
			end = tcp.Seq + uint32(len(tcp.Payload))
			if tcp.SYN {
				seen += "S"
				end++
			}
			if tcp.FIN {
				seen += "F"
				end++
			}
		}
		if seen != flags {
			t.Errorf("%s: flags %s, want %s", name, seen, flags)
		}
	}
	if p := run.Packets[0]; p.Sent != len(h3) || p.Lost != 0 {
		t.Errorf("%d sent, %d lost, %d arrived: each segment of h1, also its last ACK, is of the series", p.Sent, p.Lost, len(h3))
	}
	check("h3", h3, "SF")
	check("h1", h1, "SF")
	// 1 MB in 685 segments at 100 Mb/s takes 83 ms, and the slow start some round trips.
	if last := h3[len(h3)-1].At.Seconds(); last < 0.083 || last > 0.1 {
		t.Errorf("it took %v s", last)
	}
}

// Lost segments are sent again: 2 % loss on every link between switches.
func TestTCPOverALossyLink(t *testing.T) {
	run, _, h3 := runTCP(t, `
network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Mbps, delay: 100us}, change: [{loss: 0.02}]}
program: {p4: hosts.p4}
until: 100s
packets: [{name: iperf, from: h1, to: h3, tcp: {source: 40000, destination: 5001, bytes: 2MB}}]
expect: [{packets: iperf, at: h3, stream: true}]
`)
	if len(run.Unmet) > 0 {
		t.Error(run.Unmet)
	}
	if p := run.Packets[0]; p.Lost == 0 || p.Sent <= 1372 || len(h3) >= p.Sent {
		t.Errorf("%d sent, %d lost, %d arrived", p.Sent, p.Lost, len(h3))
	}
}

// A connection that nobody answers is given up, and its stream has not arrived.
func TestTCPWithoutAnAnswer(t *testing.T) {
	run, _, h3 := runTCP(t, `
network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Mbps, delay: 100us}}
program: {p4: hosts.p4}
until: 2000s
packets: [{name: iperf, from: h1, to: h3, tcp: {source: 40000, destination: 5001, bytes: 2MB}, ipv4: {destination: 10.9.9.9}}]
expect: [{packets: iperf, at: h3, stream: false}]
`)
	if len(run.Unmet) > 0 || len(h3) > 0 {
		t.Error(run.Unmet, len(h3))
	}
	if n := run.Packets[0].Sent; n != 11 {
		t.Errorf("%d segments were sent, want SYN and ten retransmissions", n)
	}
}

// Four connections share a link of 10 Mb/s with a short queue: all carry their bytes, and use
// most of the link in spite of losses.
func TestTCPSharesALink(t *testing.T) {
	run, _, h3 := runTCP(t, `
network:
  graph:
    rate: 100Mbps
    delay: 1ms
    switches: [{name: s1}]
    hosts: [{name: h1, on: s1}, {name: h2, on: s1}, {name: h3, on: s1, rate: 10Mbps}]
  switch: {queue: 30KB}
program: {p4: hosts.p4}
until: 100s
packets:
- {name: a, from: h1, to: h3, tcp: {source: 40001, destination: 5001, bytes: 500KB}}
- {name: b, from: h1, to: h3, tcp: {source: 40002, destination: 5001, bytes: 500KB}}
- {name: c, from: h2, to: h3, start: 10ms, tcp: {source: 40001, destination: 5002, bytes: 500KB}}
- {name: d, from: h2, to: h3, start: 20ms, tcp: {source: 40002, destination: 5002, bytes: 500KB}}
expect:
- {packets: a, at: h3, stream: true}
- {packets: b, at: h3, stream: true}
- {packets: c, at: h3, stream: true}
- {packets: d, at: h3, stream: true}
`)
	if len(run.Unmet) > 0 {
		t.Error(run.Unmet)
	}
	lost := 0
	for _, p := range run.Packets {
		lost += p.Lost
	}
	// 2 MB with headers take 1.66 s at 10 Mb/s.
	if last := h3[len(h3)-1].At.Seconds(); lost == 0 || last < 1.66 || last > 2.5 {
		t.Errorf("%d segments were lost, and it took %v s", lost, last)
	}
}
