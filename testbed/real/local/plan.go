// SPDX-License-Identifier: Apache-2.0

// Package local plans a real network on one machine: names of interfaces,
// addresses of servers, and the factor by which it is slower than its topology.
// Packages netns and mininet build the planned network.
package local

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/real/relay"
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
const ReferencePacket = program.ReferencePacket

// Options are the parameters of a plan.
type Options struct {
	Kind Kind
	// PacketRate is the rate of the slowest host link, in packets of
	// ReferencePacket per second. Zero means Kind.PacketRate.
	PacketRate int
	// Own is true for a program of one's own, whose times nobody can scale: without
	// PacketRate the network is as fast as its topology.
	Own bool
	// GRPC is the first switch's TCP port for P4Runtime, Thrift that for Thrift;
	// each further switch has the next. Zero means 9559 and 9090. The port of a
	// softswitch's metrics is that of P4Runtime plus metricsAbove.
	GRPC, Thrift int
	// Free takes free ports of loopback instead of GRPC, Thrift and those of metrics.
	Free bool
	// Packet is the length in bytes of the longest packet of hosts, after the Ethernet
	// header; zero if it is not known.
	Packet int
	// Prefix is the prefix of the names of the switches' interfaces.
	Prefix string
	// Direct makes links of one veth pair, which have this machine's delays and no
	// rate of their own. Otherwise a relay gives links the scaled topology's delay,
	// rate and loss.
	Direct bool
	// Overhead is the number of bytes that a frame takes on a link besides its own.
	Overhead int
	// Frame is the number of bytes that the hosts' longest frame takes on a link. BMv2's
	// queues, which count packets, have the rate of such packets; zero: of ReferencePacket.
	Frame int
}

// Plan is a network to be built.
type Plan struct {
	// Scripts are commands outside the hosts, as long as the network is up.
	Scripts []Command
	Kind    Kind
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
	// Cables are the links that a relay carries, by Topology.Links without those to stubs,
	// which are the last ones; none if links are veth pairs alone.
	Cables []relay.Cable

	longest int // length in bytes of the hosts' longest frame; zero if it is not known
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
	// Relay is the relay's interface at the other end of the veth pair, or empty.
	Relay string
	// CPU is the interface at the other end of a port to the switch's CPU, where
	// controllers send and receive, or empty.
	CPU string
}

// Adapter is an interface of a host.
type Adapter struct {
	Node      int
	Interface string       // in the host's namespace
	Addr      netip.Prefix // with the length of the network; none: a further adapter without an address
	MAC       packet.MAC
	Switch    string // the switch's interface of its link
	// Relay is the relay's interface at the other end of the veth pair; if it is empty, the
	// switch's is.
	Relay string
}

// Host is a host to be made.
type Host struct {
	Adapter // the first
	More    []Adapter
	Name    string
	// Commands are those that the topology's file has the host execute. ARP is true if the
	// host asks for addresses, otherwise it has permanent entries for all other hosts.
	Commands []Command
	ARP      bool
}

// Adapters returns all interfaces of a host.
func (h *Host) Adapters() []Adapter { return append([]Adapter{h.Adapter}, h.More...) }

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
	whole := o.Own && o.PacketRate == 0
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
	scale := int64(1)
	if !whole {
		var err error
		if scale, err = program.Scale(t, o.PacketRate); err != nil {
			return nil, err
		}
	}
	p.Scale, p.Scaled = scale, slow(t, scale)
	for _, i := range given.Switches() {
		n := &given.Nodes[i]
		s := Switch{Node: i, Name: n.Name}
		held, err := o.listen(&s, len(p.Switches))
		for _, l := range held {
			defer l.Close() // not before all switches have theirs
		}
		if err != nil {
			return nil, err
		}
		n.Address = s.GRPC
		for j, port := range n.Ports {
			stub := given.Nodes[port.Peer].Stub
			if stub == topo.Nothing || stub == topo.CPU && !o.Own {
				continue
			}
			rate := p.Scaled.Links[port.Link].Rate
			sp := Port{Number: j + 1, Interface: o.iface(n.Name, j+1), Rate: rate, PPS: max(1, int64(rate)/8/int64(cmp.Or(o.Frame, int(ReferencePacket/vtime.Byte))))}
			longest := sp.Interface
			if stub == topo.CPU {
				sp.Interface, sp.CPU = o.Prefix+n.Name+"-cpu-eth0", o.Prefix+n.Name+"-cpu-eth1" // as in p4-utils
				longest = sp.CPU
			} else if !o.Direct {
				sp.Relay = sp.Interface + relayEnd
				longest = sp.Relay
			}
			if len(longest) > maxInterface {
				return nil, fmt.Errorf("interface %s would have more than the %d letters that Linux allows: give switch %s a shorter name", longest, maxInterface, n.Name)
			}
			if peer := &given.Nodes[port.Peer]; peer.Kind == topo.Switch {
				sp.Peer = o.iface(peer.Name, port.PeerPort)
			}
			s.Ports = append(s.Ports, sp)
		}
		p.Switches = append(p.Switches, s)
	}
	hosts := make(map[int]int) // places in p.Hosts by node
	for _, i := range given.Hosts() {
		n := &given.Nodes[i]
		up := n.Ports[0]
		a := Adapter{
			Node: i, Interface: given.Interface(i), Addr: netip.PrefixFrom(n.IP, 8), MAC: n.MAC,
			Switch: o.iface(given.Nodes[up.Peer].Name, up.PeerPort),
		}
		if !o.Direct {
			a.Relay = a.Switch + hostEnd
		}
		if n.Host != i {
			if a.Addr = n.Given.IP; !o.Own {
				a.Addr = netip.PrefixFrom(n.IP, 8)
			}
			p.Hosts[hosts[n.Host]].More = append(p.Hosts[hosts[n.Host]].More, a)
			for _, text := range n.Given.Commands { // which this package's callers have made
				p.Hosts[hosts[n.Host]].Commands = append(p.Hosts[hosts[n.Host]].Commands, Command{Words: strings.Fields(text)})
			}
			continue
		}
		hosts[i] = len(p.Hosts)
		h := Host{Adapter: a, Name: n.Name}
		if o.Own { // profiles have their own addresses
			h.ARP = n.Given.ARP
			for _, text := range n.Given.Commands {
				c, err := command(text)
				if err != nil {
					return nil, fmt.Errorf("%v: host %s: command %q: %w", n.Given.At, n.Name, text, err)
				}
				h.Commands = append(h.Commands, c)
			}
			if n.Given.IP.IsValid() {
				h.Addr = n.Given.IP
			}
		}
		p.Hosts = append(p.Hosts, h)
	}
	if o.Frame > 0 {
		p.longest = o.Frame - o.Overhead
	}
	if !o.Direct {
		p.cables(o)
	}
	return p, nil
}

// Suffixes of the names of a relay's interfaces: to a switch, and to a host.
const (
	relayEnd = "r"
	hostEnd  = "h"
)

// cables plans what the relay carries.
func (p *Plan) cables(o Options) {
	for i := range p.Scaled.Links {
		l := &p.Scaled.Links[i]
		if p.Topology.Nodes[l.B.Node].Stub != topo.NoStub {
			break // these links are the last ones
		}
		c := relay.Cable{Delay: time.Duration(l.Delay.Nanoseconds()), Rate: int64(l.Rate), Overhead: o.Overhead, Loss: l.Loss}
		for k, end := range []topo.End{l.A, l.B} {
			c.Interfaces[k] = o.iface(p.Topology.Nodes[end.Node].Name, end.Port) + relayEnd
			if n := &p.Topology.Nodes[end.Node]; n.Kind == topo.Host {
				up := n.Ports[end.Port-1]
				c.Interfaces[k] = o.iface(p.Topology.Nodes[up.Peer].Name, up.PeerPort) + hostEnd
			}
		}
		p.Cables = append(p.Cables, c)
	}
}

// listen gives a switch its addresses, and returns what holds them if they are free
// ports of loopback.
func (o Options) listen(s *Switch, number int) (held []net.Listener, err error) {
	second, from := &s.Metrics, o.GRPC+metricsAbove
	if o.Kind == BMv2 {
		second, from = &s.Thrift, o.Thrift
	}
	if !o.Free {
		s.GRPC, *second = fmt.Sprintf("127.0.0.1:%d", o.GRPC+number), fmt.Sprintf("127.0.0.1:%d", from+number)
		return nil, nil
	}
	for _, addr := range []*string{&s.GRPC, second} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return held, fmt.Errorf("no free port on loopback for switch %s: %w", s.Name, err)
		}
		held = append(held, l)
		*addr = l.Addr().String()
	}
	return held, nil
}

func (o Options) iface(node string, port int) string {
	return fmt.Sprintf("%s%s-eth%d", o.Prefix, node, port)
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
	if p.Scale == 1 {
		return "times and rates are those of the topology, as far as this machine is fast enough"
	}
	text := fmt.Sprintf("everything runs %d times slower than in the topology: %v are %v here (%d packets/s of %v)",
		p.Scale, l.Rate, p.Scaled.Links[l.ID].Rate, packetsPerSecond(p.Scaled.Links[l.ID].Rate), ReferencePacket)
	if p.Cables == nil {
		return text + fmt.Sprintf("; links have this machine's delays, and programs compute with %v for %v", p.Scaled.Links[l.ID].Delay, l.Delay)
	}
	return text + fmt.Sprintf("; a delay of %v is %v", l.Delay, p.Scaled.Links[l.ID].Delay)
}
