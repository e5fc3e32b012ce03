// SPDX-License-Identifier: Apache-2.0

// Package local plans a real network on one machine: names of interfaces,
// addresses of servers, and the factor by which it is slower than its topology.
// Packages netns and mininet build the planned network.
package local

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Kind is the program of the switches.
type Kind string

// Kinds of switches.
const (
	SoftSwitch Kind = "softswitch" // pauseless switch
	BMv2       Kind = "bmv2"       // simple_switch_grpc
)

// PacketRate returns the default rate of a host's link in packets of
// ReferencePacket per second.
func (k Kind) PacketRate() int {
	if k == BMv2 {
		return 1000
	}
	return 10_000
}

// ReferencePacket is the packet size that converts packets per second to bits
// per second.
const ReferencePacket = 1000 * vtime.Byte

// Options are the parameters of a plan.
type Options struct {
	Kind Kind
	// PacketRate is the rate of the slowest host link, in packets of
	// ReferencePacket per second. Zero means Kind.PacketRate.
	PacketRate int
	// GRPC is the first switch's TCP port for P4Runtime, Thrift that for Thrift;
	// each further switch has the next. Zero means 9559 and 9090. The port of a
	// softswitch's metrics is that of P4Runtime plus metricsAbove.
	GRPC, Thrift int
	// Packet is the length in bytes of the longest packet of hosts, after the Ethernet
	// header; zero if it is not known.
	Packet int
	// Prefix is the prefix of the names of the switches' interfaces.
	Prefix string
}

// Plan is a network to be built.
type Plan struct {
	Kind Kind
	// Topology is the given one with the addresses of switches.
	Topology *topo.Topology
	// Scaled is the network that is built: all rates divided by Scale, all
	// delays multiplied by it. The bandwidth-delay products, and so all
	// thresholds in bytes, stay the same.
	Scaled *topo.Topology
	Scale  int64
	// HostMTU is the MTU of the hosts' interfaces in bytes: switch.mtu of the topology
	// or, if it has none, Ethernet's or more if hosts send longer packets.
	HostMTU  int
	Switches []Switch
	Hosts    []Host
}

// Switch is a switch to be started.
type Switch struct {
	Node   int // index in Topology.Nodes
	Name   string
	GRPC   string // host:port
	Thrift string // host:port, BMv2 only
	// Metrics is the address of a softswitch's metrics for Prometheus, host:port.
	Metrics string
	Ports   []Port // by number
}

// Port is a port of a switch.
type Port struct {
	Number    int
	Interface string
	PPS       int64 // of ReferencePacket
	Rate      vtime.Rate
	Peer      string // interface at the other end if it is a switch's, or empty
}

// Host is a host to be made.
type Host struct {
	Node   int
	Name   string
	Addr   netip.Prefix // with a prefix that contains all hosts
	MAC    packet.MAC
	Switch string // the switch's interface of its link
}

// metricsAbove is how far the TCP ports of metrics are above those of P4Runtime.
const metricsAbove = 1000

// maxInterface is the maximum length of an interface's name in Linux.
const maxInterface = 15

// EthernetMTU is Ethernet's standard MTU in bytes, that of hosts whose packets are not
// longer. It is small because frames that arrive while simple_switch_grpc has no
// processor wait in a ring of libpcap, 2 MB in slots of one MTU: 1237 slots, and 231
// with an MTU of 9000.
const EthernetMTU = 1500

// SwitchMTU returns the MTU of links between switches, in bytes: there is room for the
// headers that switches add.
func (p *Plan) SwitchMTU() int { return p.HostMTU + 100 }

// HostInterface is the name of a host's interface.
const HostInterface = "eth0"

// New plans a network. It returns an error if the links are slower than
// o.PacketRate, or if an interface's name is too long.
func New(t *topo.Topology, o Options) (*Plan, error) {
	if o.PacketRate == 0 {
		o.PacketRate = o.Kind.PacketRate()
	}
	if o.GRPC == 0 {
		o.GRPC = 9559 // P4Runtime's registered port, below the ephemeral ones
	}
	if o.Thrift == 0 {
		o.Thrift = 9090
	}
	given := *t
	given.Nodes = slices.Clone(t.Nodes)
	p := &Plan{Kind: o.Kind, Topology: &given, HostMTU: cmp.Or(t.Switch.MTU, max(EthernetMTU, o.Packet))}
	if o.Packet > p.HostMTU {
		return nil, fmt.Errorf("hosts send packets of up to %d bytes, and switch.mtu of the network is %d: lower hosts.mtu, or raise switch.mtu", o.Packet, p.HostMTU)
	}
	if err := p.scale(o.PacketRate); err != nil {
		return nil, err
	}
	for _, i := range given.Switches() {
		n := &given.Nodes[i]
		s := Switch{Node: i, Name: n.Name, GRPC: fmt.Sprintf("127.0.0.1:%d", o.GRPC+len(p.Switches))}
		if o.Kind == BMv2 {
			s.Thrift = fmt.Sprintf("127.0.0.1:%d", o.Thrift+len(p.Switches))
		} else {
			s.Metrics = fmt.Sprintf("127.0.0.1:%d", o.GRPC+metricsAbove+len(p.Switches))
		}
		n.Address = s.GRPC
		for j, port := range n.Ports {
			rate := p.Scaled.Links[port.Link].Rate
			sp := Port{Number: j + 1, Interface: o.iface(n.Name, j+1), Rate: rate, PPS: packetsPerSecond(rate)}
			if len(sp.Interface) > maxInterface {
				return nil, fmt.Errorf("interface %s would have more than the %d letters that Linux allows: give switch %s a shorter name", sp.Interface, maxInterface, n.Name)
			}
			if peer := &given.Nodes[port.Peer]; peer.Kind == topo.Switch {
				sp.Peer = o.iface(peer.Name, port.PeerPort)
			}
			s.Ports = append(s.Ports, sp)
		}
		p.Switches = append(p.Switches, s)
	}
	for _, i := range given.Hosts() {
		n := &given.Nodes[i]
		up := n.Ports[0]
		p.Hosts = append(p.Hosts, Host{
			Node: i, Name: n.Name, Addr: netip.PrefixFrom(n.IP, 8), MAC: n.MAC,
			Switch: o.iface(given.Nodes[up.Peer].Name, up.PeerPort),
		})
	}
	return p, nil
}

func (o Options) iface(node string, port int) string {
	return fmt.Sprintf("%s%s-eth%d", o.Prefix, node, port)
}

// scale sets Scale and Scaled so that the slowest host link carries pps packets
// per second.
func (p *Plan) scale(pps int) error {
	t := p.Topology
	slowest := vtime.Rate(0)
	for _, i := range t.Hosts() {
		r := t.Links[t.Nodes[i].Ports[0].Link].Rate
		if slowest == 0 || r < slowest {
			slowest = r
		}
	}
	want := vtime.Rate(pps) * 8 * vtime.Rate(ReferencePacket/vtime.Byte)
	if pps < 1 {
		return fmt.Errorf("%d packets/s are too few: give at least 1", pps)
	}
	if want > slowest {
		return fmt.Errorf("%d packets/s of %v are more than the %v of a host's link: there is nothing to scale", pps, ReferencePacket, slowest)
	}
	p.Scale = max(1, int64(slowest/want))
	p.Scaled = slow(t, p.Scale)
	return nil
}

// slow returns a copy of a network with rates divided and delays multiplied by
// scale.
func slow(t *topo.Topology, scale int64) *topo.Topology {
	slow := *t
	slow.Links = slices.Clone(t.Links)
	for i := range slow.Links {
		l := &slow.Links[i]
		l.Rate = max(1, l.Rate/vtime.Rate(scale))
		l.Delay *= vtime.Time(scale)
	}
	return &slow
}

func packetsPerSecond(r vtime.Rate) int64 {
	return max(1, int64(r)/8/int64(ReferencePacket/vtime.Byte))
}

// ScaleText describes the scale in a sentence.
func (p *Plan) ScaleText() string {
	l := p.Topology.Links[p.Topology.Nodes[p.Hosts[0].Node].Ports[0].Link]
	return fmt.Sprintf("everything runs %d times slower than in the topology: %v are %v here (%d packets/s of %v); links have this machine's delays, and programs compute with %[7]v for %[6]v",
		p.Scale, l.Rate, p.Scaled.Links[l.ID].Rate, packetsPerSecond(p.Scaled.Links[l.ID].Rate), ReferencePacket, l.Delay, p.Scaled.Links[l.ID].Delay)
}
