// SPDX-License-Identifier: Apache-2.0

package exercises

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// packetOf serialises layers into a packet.
func packetOf(list ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, list...); err != nil {
		panic(err)
	}
	return slices.Clone(b.Bytes())
}

// ether is the Ethernet header of a packet from a host to its gateway.
func (n *network) ether(from string, typ layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: n.mac[from], DstMAC: n.via[from], EthernetType: typ}
}

func (n *network) ipv4(from string, to netip.Addr, proto layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, Protocol: proto, SrcIP: n.ip[from].AsSlice(), DstIP: to.AsSlice()}
}

const payload = "P4 is cool"

// udp is a packet to an address, with a type of service.
func (n *network) udp(from string, to netip.Addr, tos uint8) []byte {
	ip := n.ipv4(from, to, layers.IPProtocolUDP)
	ip.TOS = tos
	return packetOf(n.ether(from, layers.EthernetTypeIPv4), ip, udpIn(ip), gopacket.Payload(payload))
}

func udpIn(ip *layers.IPv4) *layers.UDP {
	udp := &layers.UDP{SrcPort: 1234, DstPort: 4321}
	udp.SetNetworkLayerForChecksum(ip)
	return udp
}

// tcp is a packet to an address; syn and ack are its flags.
func (n *network) tcp(from string, to netip.Addr, source, destination uint16, syn, ack bool) []byte {
	ip := n.ipv4(from, to, layers.IPProtocolTCP)
	ip.TOS = 1
	tcp := &layers.TCP{SrcPort: layers.TCPPort(source), DstPort: layers.TCPPort(destination), SYN: syn, ACK: ack}
	tcp.SetNetworkLayerForChecksum(ip)
	return packetOf(n.ether(from, layers.EthernetTypeIPv4), ip, tcp, gopacket.Payload(payload))
}

func ping(n *network, from string, to netip.Addr) []byte {
	return packetOf(n.ether(from, layers.EthernetTypeIPv4), n.ipv4(from, to, layers.IPProtocolICMPv4),
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: 7, Seq: 1}, gopacket.Payload(payload))
}

// header returns the Ethernet and IPv4 headers of a packet, the latter with a valid
// checksum.
func (n *network) header(data []byte) (*layers.Ethernet, *layers.IPv4) {
	n.Helper()
	p := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
	eth, _ := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	ip, _ := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	if eth == nil || ip == nil {
		n.Fatalf("no IPv4: % x", data)
	}
	sum := uint32(0)
	for i := 0; i < len(ip.Contents); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip.Contents[i:]))
	}
	if sum = sum&0xffff + sum>>16; sum+sum>>16 != 0xffff {
		n.Errorf("checksum %04x is wrong: % x", ip.Checksum, ip.Contents)
	}
	return eth, ip
}

// routed checks that a packet has reached a host as routers forward it: with the
// host's address, and a TTL decremented by each switch on the path.
func (n *network) routed(from, to string, sent []byte) {
	n.Helper()
	got := n.only(from, to, sent)
	eth, ip := n.header(got)
	if !bytes.Equal(eth.DstMAC, n.mac[to]) || int(ip.TTL) != 64-n.passes {
		n.Errorf("%s to %s: for %v with TTL %d after %d switches", from, to, eth.DstMAC, ip.TTL, n.passes)
	}
	if !bytes.Equal(got[34:], sent[34:]) {
		n.Errorf("%s to %s: behind the header is % x, was % x", from, to, got[34:], sent[34:])
	}
}

// allPing makes all hosts ping each other.
func (n *network) allPing() {
	n.Helper()
	for from := range n.ip {
		for to, address := range n.ip {
			if from != to {
				n.routed(from, to, ping(n, from, address))
			}
		}
	}
}

var nowhere = netip.MustParseAddr("10.9.9.9")

func TestBasic(t *testing.T) {
	for _, place := range []string{"pod-topo", "triangle-topo"} {
		t.Run(place, func(t *testing.T) {
			exercise(t, "basic", place+"/topology.json", func(n *network) {
				n.loadAll("solution/basic.p4", place+"/%s-runtime.json")
				n.allPing()
				n.nobody("h1", ping(n, "h1", nowhere))
			})
		})
	}
}

// A tunnel leads to the host with its id, whatever the inner address.
func TestBasicTunnel(t *testing.T) {
	exercise(t, "basic_tunnel", "topology.json", func(n *network) {
		n.loadAll("solution/basic_tunnel.p4", "%s-runtime.json")
		n.allPing()
		for id, to := range map[uint16]string{2: "h2", 3: "h3"} {
			tunnel := binary.BigEndian.AppendUint16([]byte{0x08, 0x00}, id) // inner EtherType, and id
			data := packetOf(n.ether("h1", 0x1212), gopacket.Payload(tunnel), n.ipv4("h1", n.ip["h3"], layers.IPProtocolTCP), gopacket.Payload(payload))
			if got := n.only("h1", to, data); !bytes.Equal(got, data) {
				n.Errorf("tunnel %d: % x, was % x", id, got, data)
			}
		}
	})
}

func TestCalc(t *testing.T) {
	exercise(t, "calc", "topology.json", func(n *network) {
		n.loadAll("solution/calc.p4", "%s-runtime.json")
		const a, b = 0xfff0_0012, 0x1234_5678
		question := func(op byte) []byte {
			p := []byte{'P', '4', 1, op}
			p = binary.BigEndian.AppendUint32(p, a)
			p = binary.BigEndian.AppendUint32(p, b)
			return packetOf(n.ether("h1", 0x1234), gopacket.Payload(append(p, 0xde, 0xad, 0xbe, 0xef)), gopacket.Payload("  "))
		}
		sum := uint32(a)
		sum += b
		for op, want := range map[byte]uint32{'+': sum, '-': a - b, '&': a & b, '|': a | b, '^': a ^ b} {
			sent := question(op)
			got := n.only("h1", "h1", sent)
			wanted := slices.Concat(sent[6:12], sent[:6], sent[12:26], binary.BigEndian.AppendUint32(nil, want), sent[30:])
			if !bytes.Equal(got, wanted) {
				n.Errorf("%c: % x, want % x", op, got, wanted)
			}
		}
		n.nobody("h1", question('*'))
		n.nobody("h1", n.udp("h1", n.ip["h2"], 0))
	})
}

// A queue on the slow link marks packets of hosts with ECN.
func TestECN(t *testing.T) {
	exercise(t, "ecn", "topology.json", func(n *network) {
		n.loadAll("solution/ecn.p4", "%s-runtime.json")
		n.allPing()
		const burst = 40
		for tos, marked := range map[uint8]uint8{0: 0, 1: 3, 2: 3} {
			got := n.send("h1", slices.Repeat([][]byte{n.udp("h1", n.ip["h2"], tos)}, burst)...)["h2"]
			if len(got) != burst {
				n.Fatalf("%d packets received, want %d", len(got), burst)
			}
			count := map[uint8]int{}
			for _, data := range got {
				_, ip := n.header(data)
				count[ip.TOS]++
			}
			_, first := n.header(got[0])
			switch {
			case first.TOS != tos:
				n.Errorf("type of service %d: the first packet has %d", tos, first.TOS)
			case count[tos]+count[marked] < burst, marked != tos && (count[marked] == 0 || count[tos] < 10):
				n.Errorf("type of service %d: received by type of service: %v", tos, count)
			}
		}
	})
}

// Every switch adds its number and its queue length.
func TestMRI(t *testing.T) {
	exercise(t, "mri", "topology.json", func(n *network) {
		n.loadAll("solution/mri.p4", "%s-runtime.json")
		n.allPing()
		ip := n.ipv4("h1", n.ip["h2"], layers.IPProtocolUDP)
		ip.Options = []layers.IPv4Option{{OptionType: 31, OptionLength: 4, OptionData: []byte{0, 0}}}
		data := packetOf(n.ether("h1", layers.EthernetTypeIPv4), ip, udpIn(ip), gopacket.Payload(payload))
		const burst = 40
		queued := 0
		received := n.send("h1", slices.Repeat([][]byte{data}, burst)...)["h2"]
		if len(received) != burst {
			n.Fatalf("%d packets received, want %d", len(received), burst)
		}
		for _, got := range received {
			option := got[34:]
			if got[14] != 0x40|6+2*2 || option[0] != 31 || option[1] != 4+2*8 || len(got) != len(data)+2*8 ||
				binary.BigEndian.Uint16(got[16:]) != binary.BigEndian.Uint16(data[16:])+2*8 {
				n.Fatalf("received % x", got)
			}
			count, second, first := binary.BigEndian.Uint16(option[2:]), binary.BigEndian.Uint32(option[4:]), binary.BigEndian.Uint32(option[12:])
			if count != 2 || first != 1 || second != 2 {
				n.Fatalf("%d switches, %d and %d; want 2, 1 and 2", count, first, second)
			}
			if binary.BigEndian.Uint32(option[16:]) > 0 {
				queued++
			}
			if !bytes.Contains(got, []byte(payload)) {
				n.Errorf("received % x", got)
			}
		}
		if queued == 0 {
			n.Error("no packet saw a queue on the slow link")
		}
	})
}

// chosen has the host that each flow was sent to, on the first tested switch.
var chosen struct {
	sync.Mutex
	hosts map[uint16]string
}

func TestLoadBalance(t *testing.T) {
	exercise(t, "load_balance", "topology.json", func(n *network) {
		n.loadAll("solution/load_balance.p4", "%s-runtime.json")
		hosts := map[uint16]string{}
		used := map[string]bool{}
		for source := uint16(50000); source < 50020; source++ {
			data := n.tcp("h1", netip.MustParseAddr("10.0.0.1"), source, 1234, false, true)
			for range 2 {
				got := n.send("h1", data)
				for _, host := range []string{"h2", "h3"} {
					if len(got[host]) != 1 || len(got) != 1 {
						continue
					}
					eth, ip := n.header(got[host][0])
					if address, _ := netip.AddrFromSlice(ip.DstIP); address != n.ip[host] || !bytes.Equal(eth.DstMAC, n.mac[host]) {
						n.Errorf("%s received a packet for %v, %v", host, ip.DstIP, eth.DstMAC)
					}
					if before, again := hosts[source]; again && before != host {
						n.Errorf("flow %d went to %s and to %s", source, before, host)
					}
					hosts[source], used[host] = host, true
				}
				if hosts[source] == "" {
					n.Fatalf("flow %d: received: %s", source, told(got))
				}
			}
		}
		if len(used) != 2 {
			n.Errorf("20 flows went to %v alone", used)
		}
		chosen.Lock()
		defer chosen.Unlock()
		if chosen.hosts == nil {
			chosen.hosts = hosts
		}
		if fmt.Sprint(chosen.hosts) != fmt.Sprint(hosts) {
			n.Errorf("flows went to %v, on the other switch to %v", hosts, chosen.hosts)
		}
	})
}

func TestMulticast(t *testing.T) {
	exercise(t, "multicast", "sig-topo/topology.json", func(n *network) {
		n.loadAll("solution/multicast.p4", "solution/%s-runtime.json")
		for from := range n.ip {
			for to := range n.ip {
				eth := &layers.Ethernet{SrcMAC: n.mac[from], DstMAC: n.mac[to], EthernetType: 0x0800}
				data := packetOf(eth, n.ipv4(from, n.ip[to], layers.IPProtocolUDP), gopacket.Payload(payload))
				if from == to { // a switch does not send a packet back
					n.nobody(from, data)
				} else if got := n.only(from, to, data); !bytes.Equal(got, data) {
					n.Errorf("%s to %s: % x, was % x", from, to, got, data)
				}
			}
			eth := &layers.Ethernet{SrcMAC: n.mac[from], DstMAC: net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, EthernetType: 0x0806}
			data := packetOf(eth, gopacket.Payload(payload))
			got := n.send(from, data)
			for to := range n.ip {
				if want := 1; to != from && (len(got[to]) != want || !bytes.Equal(got[to][0], data)) || to == from && len(got[to]) > 0 {
					n.Errorf("to all, from %s: %s received", from, told(got))
				}
			}
		}
	})
}

func TestQoS(t *testing.T) {
	exercise(t, "qos", "topology.json", func(n *network) {
		n.loadAll("solution/qos.p4", "%s-runtime.json")
		n.allPing()
		for _, c := range []struct {
			name string
			data []byte
			tos  uint8
		}{
			{"UDP", n.udp("h1", n.ip["h2"], 1), 46<<2 | 1},                       // expedited forwarding
			{"TCP", n.tcp("h1", n.ip["h2"], 1234, 4321, true, false), 44<<2 | 1}, // voice admit
		} {
			if _, ip := n.header(n.only("h1", "h2", c.data)); ip.TOS != c.tos {
				n.Errorf("%s: type of service %#x, want %#x", c.name, ip.TOS, c.tos)
			}
		}
	})
}

func TestSourceRouting(t *testing.T) {
	exercise(t, "source_routing", "topology.json", func(n *network) {
		n.loadAll("solution/source_routing.p4", "%s-runtime.json")
		for _, c := range []struct {
			to    string
			ports []uint16
		}{{"h2", []uint16{2, 3, 2, 2, 1}}, {"h2", []uint16{2, 1}}, {"h3", []uint16{3, 1}}, {"h1", []uint16{1}}} {
			var route []byte
			for i, port := range c.ports {
				if i == len(c.ports)-1 {
					port |= 1 << 15
				}
				route = binary.BigEndian.AppendUint16(route, port)
			}
			ip := n.ipv4("h1", n.ip["h2"], layers.IPProtocolUDP)
			data := packetOf(n.ether("h1", 0x1234), gopacket.Payload(route), ip, udpIn(ip), gopacket.Payload(payload))
			got := n.only("h1", c.to, data)
			if ttl := got[14+8]; got[12] != 8 || got[13] != 0 || int(ttl) != 64-len(c.ports) || len(got) != len(data)-len(route) {
				n.Errorf("by ports %v: % x", c.ports, got)
			}
		}
		n.nobody("h1", n.udp("h1", n.ip["h2"], 0))
	})
}

// External hosts reach internal hosts only after these have contacted them.
func TestFirewall(t *testing.T) {
	exercise(t, "firewall", "pod-topo/topology.json", func(n *network) {
		n.load("s1", "solution/firewall.p4", "pod-topo/s1-runtime.json")
		for _, name := range []string{"s2", "s3", "s4"} {
			n.load(name, "basic.p4", "pod-topo/"+name+"-runtime.json")
		}
		for _, pair := range [][2]string{{"h1", "h3"}, {"h2", "h4"}, {"h1", "h4"}} {
			in, out := pair[0], pair[1]
			n.nobody(out, n.tcp(out, n.ip[in], 5001, 40000, true, false))
			n.routed(in, out, n.tcp(in, n.ip[out], 40000, 5001, true, false))
			n.routed(out, in, n.tcp(out, n.ip[in], 5001, 40000, true, true))
			n.routed(in, out, n.tcp(in, n.ip[out], 40000, 5001, false, true))
			n.nobody(out, n.tcp(out, n.ip[in], 5001, 40001, true, false))
		}
		n.routed("h1", "h2", n.tcp("h1", n.ip["h2"], 40000, 5001, true, false))
		n.routed("h2", "h1", n.tcp("h2", n.ip["h1"], 40000, 5001, true, false))
		n.routed("h3", "h4", n.tcp("h3", n.ip["h4"], 40000, 5001, true, false))
	})
}

// A probe passes all links and reports the bytes of each since the last probe.
func TestLinkMonitor(t *testing.T) {
	exercise(t, "link_monitor", "pod-topo/topology.json", func(n *network) {
		n.loadAll("solution/link_monitor.p4", "pod-topo/%s-runtime.json")
		n.allPing()
		ports := []byte{4, 1, 4, 1, 3, 2, 3, 2, 1}
		through := []byte{1, 4, 2, 3, 1, 3, 2, 4, 1}
		probe := packetOf(n.ether("h1", 0x0812), gopacket.Payload(append([]byte{0}, ports...)), gopacket.Payload(make([]byte, 40)))
		n.only("h1", "h1", probe) // resets the counters
		traffic := n.udp("h1", n.ip["h4"], 0)
		n.routed("h1", "h4", traffic) // by s1's port 4 and s4's port 1
		got := n.only("h1", "h1", probe)
		const hop = 1 + 1 + 4 + 6 + 6
		if got[14] != byte(len(ports)) || len(got) != len(probe)+len(ports)*hop {
			n.Fatalf("%d hops, %d bytes: % x", got[14], len(got), got)
		}
		for i := range ports {
			// The last switch on the path comes first.
			data := got[15+(len(ports)-1-i)*hop:][:hop]
			want := uint32(len(probe) + i*hop)
			if i < 2 {
				want += uint32(len(traffic))
			}
			first := byte(0)
			if i == 0 {
				first = 0x80
			}
			if bytes := binary.BigEndian.Uint32(data[2:]); data[0] != first|through[i] || data[1] != ports[i] || bytes != want {
				n.Errorf("hop %d: switch %d, port %d, %d bytes; want %d, %d, %d", i, data[0]&0x7f, data[1], bytes, through[i], ports[i], want)
			}
		}
	})
}

// The controller of the exercise tunnels between h1 and h2, and counts.
func TestP4Runtime(t *testing.T) {
	exercise(t, "p4runtime", "topology.json", func(n *network) {
		n.loadAll("advanced_tunnel.p4", "")
		tunnel := func(in, out string, id int, host string) {
			n.write(in, fmt.Sprintf("MyIngress.ipv4_lpm hdr.ipv4.dstAddr=%v/32 -> MyIngress.myTunnel_ingress(dst_id=%d)", n.ip[host], id),
				fmt.Sprintf("MyIngress.myTunnel_exact hdr.myTunnel.dst_id=%d -> MyIngress.myTunnel_forward(port=2)", id))
			n.write(out, fmt.Sprintf("MyIngress.myTunnel_exact hdr.myTunnel.dst_id=%d -> MyIngress.myTunnel_egress(dstAddr=%v, port=1)", id, n.mac[host]))
		}
		tunnel("s1", "s2", 100, "h2")
		tunnel("s2", "s1", 200, "h1")
		for i, pair := range [][2]string{{"h1", "h2"}, {"h2", "h1"}, {"h1", "h2"}} {
			data := ping(n, pair[0], n.ip[pair[1]])
			got := n.only(pair[0], pair[1], data)
			if !bytes.Equal(got[:6], n.mac[pair[1]]) || !bytes.Equal(got[6:], data[6:]) {
				n.Errorf("packet %d: % x, was % x", i, got, data)
			}
		}
		length := len(ping(n, "h1", n.ip["h2"]))
		const tunneled = 4 // bytes of the tunnel's header
		for _, c := range []struct {
			name, counter  string
			packets, bytes int
		}{
			{"s1", "ingressTunnelCounter[100]", 2, 2 * length}, {"s2", "egressTunnelCounter[100]", 2, 2 * (length + tunneled)},
			{"s2", "ingressTunnelCounter[200]", 1, length}, {"s1", "egressTunnelCounter[200]", 1, length + tunneled},
		} {
			if got, want := n.show(c.name, "counter "+c.counter), fmt.Sprintf("counter %s = %d packets %d bytes", c.counter, c.packets, c.bytes); got != want {
				n.Errorf("%s: %s, want %s", c.name, got, want)
			}
		}
	})
}
