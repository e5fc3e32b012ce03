// SPDX-License-Identifier: Apache-2.0

// Package topo describes a network: hosts, switches, the links between them
// and the switches' buffers. It is plain data: the control plane computes entries
// from it, the fabric builds links, and the generator computes thresholds.
package topo

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// CheckName returns an error if a name is not allowed for a node. All names are
// checked here, since they become parts of names of files, namespaces and
// interfaces, and of command lines.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("name %q: use up to 64 letters, digits, \".\", \"_\" and \"-\", a letter or digit first", name)
	}
	return nil
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Kind is the kind of a node.
type Kind uint8

// Kinds of node.
const (
	Host Kind = iota
	Switch
)

func (k Kind) String() string {
	if k == Host {
		return "host"
	}
	return "switch"
}

// Stub is the other end of a switch's port that no link of the network has.
type Stub uint8

// Stubs. Topology.Hosts does not list them.
const (
	NoStub  Stub = iota
	CPU          // where a switch's control plane receives and sends packets
	Nothing      // a port between the others has no link
)

// Tier is the distance of a node from the hosts: 0 for a host, 1 for a switch with
// hosts (leaf, top of rack), 2 for a spine or aggregation switch, 3 for a core.
type Tier uint8

// Topology is a validated network. Node IDs are indexes into Nodes, link IDs
// indexes into Links.
type Topology struct {
	Name   string
	Nodes  []Node
	Links  []Link
	Switch SwitchConfig // of every switch
	// Planes is the number of networks that have only hosts in common, above one: the
	// adapters of a host belong to them in turn. Zero: one.
	Planes int
	// Frames are those that links carry. A file does not have them: they follow from
	// the hosts and the program.
	Frames Frames
	// Weighted is true if the file gives links different weights, which the routes of
	// profiles do not follow.
	Weighted bool `json:"-"`
	// App is what a p4app.json of p4-utils has executed on this machine.
	App App `json:"-"`
	// Ignored has a warning for each key of a file for Mininet that has no effect.
	Ignored []string `json:"-"`

	byName map[string]int // of a network that a Builder made
}

// Node is a host or a switch.
type Node struct {
	ID   int
	Name string
	Kind Kind
	Tier Tier
	// Ports are numbered from 1 in order: port p is Ports[p-1]. The first ports of
	// a switch are those to lower tiers.
	Ports []Port
	// Leaf is the number of a tier-1 switch, from 0. That of a host is the number
	// of its switch. Other nodes have -1.
	Leaf int
	// Host is the node's own ID, except for the further adapters of a host with
	// several links: each is a node with addresses of its own, and has the ID of
	// the host, whose own link and addresses are those of its first adapter.
	Host int
	// Stub is what a node is that is no host, and yet has Kind Host.
	Stub Stub `json:",omitzero"`
	// IP and MAC are a host's addresses; for a switch, MAC is the source of
	// the frames that it generates.
	IP  netip.Addr
	MAC packet.MAC
	// DeviceID and Address identify a switch's P4Runtime server. Address is
	// host:port; it is empty if the address is chosen when the switch is started.
	DeviceID uint64
	Address  string
	// Given is what the file of a network for Mininet says about the node. It is used
	// with programs of one's own.
	Given Given `json:",omitzero"`
}

// Given is what a topology.json of p4lang's tutorials, or a p4app.json of p4-utils, says
// about a host or a switch.
type Given struct {
	IP       netip.Prefix // of a host, with the length of its network
	MAC      packet.MAC
	Commands []string   // that a host executes
	Gateway  packet.MAC // that the commands give for the host's gateway, or zero
	ARP      bool       // the host asks for addresses: it does not know those of other hosts
	// Runtime, CLI and Program are files of a switch: its runtime JSON, its commands of
	// simple_switch_CLI, and its program, compiled or not. Source is the program of
	// switches that have none of their own. The names are relative to the folder of File,
	// the topology, or to the folder above.
	File, Runtime, CLI, Program, Source string
	// CPU is the port of a switch to its control plane; zero: that of the target. If a
	// stub is at that port, packets also pass its link.
	CPU int
	At  diag.Pos `json:"-"` // of the node in the file
}

// App has the commands of a p4app.json of p4-utils.
type App struct {
	File    string   // the p4app.json
	Tasks   string   // the file of its tasks, relative to its folder, or ""
	Scripts []string // commands that are executed in its folder, outside the hosts
}

// Addressed returns the topology in which hosts have the addresses that its file gives.
func (t *Topology) Addressed() *Topology {
	c := *t
	c.Nodes = slices.Clone(t.Nodes)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Given.IP.IsValid() {
			n.IP = n.Given.IP.Addr()
		}
		if n.Given.MAC != (packet.MAC{}) {
			n.MAC = n.Given.MAC
		}
		if host := &c.Nodes[n.Host]; host != n && host.Given.IP.IsValid() && !n.Given.IP.IsValid() {
			n.IP = host.IP // as Linux answers for all its addresses on each interface
		}
	}
	return &c
}

// Adapter is the number of an adapter of a host, from 0.
func (t *Topology) Adapter(node int) (k int) {
	for i := t.Nodes[node].Host; i < node; i++ {
		if t.Nodes[i].Host == t.Nodes[node].Host {
			k++
		}
	}
	return k
}

// Interface is the name of an adapter's interface: eth0, eth1 and so on.
func (t *Topology) Interface(node int) string { return fmt.Sprintf("eth%d", t.Adapter(node)) }

// Port is one end of a link, as its node sees it.
type Port struct {
	Link     int // into Topology.Links
	Peer     int // node at the other end
	PeerPort int // number of the peer's port, from 1
	// Number is that of the port in the simulator whose file the topology is from,
	// if it is another; zero: the same.
	Number int
}

// End names a port of a node.
type End struct {
	Node int
	Port int // from 1
}

// Link joins two ports, with the same rate and delay either way.
type Link struct {
	ID    int
	A, B  End
	Rate  vtime.Rate
	Delay vtime.Time // propagation, one way
	Loss  float64    // probability that a frame is lost, either way
	// Unused is true for a link that routes avoid: one that went down, or all but the
	// last of parallel links in simulators that use no other.
	Unused bool
}

// SwitchConfig is the shared buffer of a switch and its flow control.
type SwitchConfig struct {
	Buffer vtime.Size `yaml:"buffer"` // shared by all ports
	// MTU is that of the links: the length in bytes of the largest packet after the
	// Ethernet header, without the headers that switches add. Headroom follows from
	// it. Zero means what hosts send (hosts.mtu) or, if that is the 1000 of papers,
	// Ethernet's 1500.
	MTU int `yaml:"mtu" limits:"64..9500"`
	// MMU names the buffer management of a simulator or of switch chips: hpcc,
	// conweave or broadcom. Its values are the defaults of the keys that the file
	// leaves out (docs/fabric.md has a table). Empty: none of them.
	MMU string `yaml:"mmu"`
	// EgressAlpha times the free part of the buffer is the limit of an egress
	// queue of a class that is not lossless. Zero means no limit.
	EgressAlpha float64 `yaml:"egress_alpha" limits:"0..64"`
	PFC         PFC     `yaml:"pfc"`
	// Queue is the limit of an egress queue of a class that is not lossless. Zero means
	// no limit but EgressAlpha's.
	Queue vtime.Size `yaml:"queue" json:",omitzero"`
	// Trimming makes switches cut packets that a queue of a lossy class has no room for.
	Trimming Trimming `yaml:"trimming" json:",omitzero"`
	// Recirculation is the port whose packets pass the switch again, in the fabric.
	Recirculation Recirculation `yaml:"recirculation"`
}

// Trimming is packet trimming, as SONiC configures it (switch-trimming): what remains of
// a packet goes to another queue of the same port, and tells the receiver at once what is
// missing.
type Trimming struct {
	// Size is what remains of a frame in bytes. Zero means that packets are dropped.
	Size int `yaml:"size" limits:"0..9216"`
	// DSCP is that of trimmed packets, and LastHopDSCP that of those trimmed for a port to
	// a host, which no other path would have spared. Zero means DSCP and DSCP + 1.
	DSCP        uint8 `yaml:"dscp" limits:"0..63"`
	LastHopDSCP uint8 `yaml:"last_hop_dscp" limits:"0..63"`
	// Queue is the queue that they go to, at this switch and, by their DSCP, at the next
	// ones.
	Queue int `yaml:"queue" limits:"0..7"`
}

// Defaults of Trimming: queue 6, whose class is that of acknowledgements of transport uec.
const (
	trimQueue  = 6
	trimDSCP   = trimQueue << 3
	leastTrim  = 128
	losslessAt = 3
)

// fill sets what is not given.
func (c *Trimming) fill() {
	if c.Size == 0 {
		return
	}
	if c.Queue == 0 && c.DSCP == 0 {
		c.Queue = trimQueue
	}
	if c.DSCP == 0 {
		c.DSCP = uint8(c.Queue) << 3
	}
	if c.LastHopDSCP == 0 {
		c.LastHopDSCP = c.DSCP + 1
	}
}

// check returns the first error, and the key that has it.
func (c *Trimming) check() (key string, err error) {
	switch {
	case *c == (Trimming{}):
		return "", nil
	case c.Size < leastTrim:
		return "size", fmt.Errorf("size is %d, must be at least %d: the headers that receivers need must remain", c.Size, leastTrim)
	case int(c.DSCP>>3) != c.Queue || int(c.LastHopDSCP>>3) != c.Queue:
		return "dscp", fmt.Errorf("dscp %d and last_hop_dscp %d are not of queue %d: programs take the queue from the upper three bits of the DSCP, so they must be from %d to %d", c.DSCP, c.LastHopDSCP, c.Queue, c.Queue<<3, c.Queue<<3+7)
	case c.Queue == losslessAt:
		return "queue", fmt.Errorf("queue %d is that of the lossless class; trimmed packets need one of a lossy class", c.Queue)
	}
	return "", nil
}

// Recirculation is the recirculation port of a switch.
type Recirculation struct {
	// Rate is that of the port. Zero means rlb.recirculation_rate with RLB, 400Gbps
	// with ConWeave, and 100Gbps otherwise.
	Rate vtime.Rate `yaml:"rate"`
	// Latency is that of one pass through an empty queue. Zero means rlb.pass_time
	// with RLB, 1us with ConWeave, and none otherwise. RLB computes with both
	// parameters: change them as well.
	Latency vtime.Time `yaml:"latency"`
	// OwnBuffer stores recirculating packets in a separate buffer without a limit. PFC and the
	// limits of other queues do not count them. In ConWeave's simulator, packets that wait at a
	// leaf are in no buffer.
	OwnBuffer bool `yaml:"own_buffer"`
}

// PFC configures priority-based flow control (IEEE 802.1Qbb) per ingress port
// and priority.
type PFC struct {
	Off bool `yaml:"off"` // no PFC: the buffer overflows
	// HostsOnly makes switches pause hosts, but not each other. It shows what pauses
	// between switches cost. The buffer must be large enough for the packets that
	// then wait, and the threshold static.
	HostsOnly bool `yaml:"hosts_only"`
	// XOFF is the ingress queue length at which the sender is paused. If Alpha is
	// set, the threshold is dynamic instead: Alpha times the free part of the
	// buffer. The xoff of SONiC and mlx5 is not this but the headroom
	// (docs/reference/buffers.md).
	XOFF  vtime.Size `yaml:"xoff"`
	Alpha float64    `yaml:"alpha" limits:"0..64"`
	// AlphaByRate doubles Alpha for every doubling of a port's rate over that
	// of the slowest host, up to one, as HPCC's switches do.
	AlphaByRate bool `yaml:"alpha_by_rate"`
	// Resume is the distance below the threshold, static or dynamic, to which the
	// queue must fall before the sender may resume. Zero means two full frames, of at
	// least 1600 bytes, which is close to the defaults of switches (docs/fabric.md).
	Resume vtime.Size `yaml:"resume"`
	// Headroom is reserved per ingress port and priority for the bytes in flight
	// when a PAUSE is sent. Zero means that it is computed from the link's rate
	// and delay and the largest frame.
	Headroom vtime.Size `yaml:"headroom"`
	// Apart, if set, is what the thresholds take a port's headroom for. It is for
	// imported configurations, whose simulators compute it in another way.
	Apart Apart `yaml:"-" json:",omitzero"`
	// Reserve is the part of the buffer that each ingress port and priority has for
	// itself.
	Reserve vtime.Size `yaml:"reserve"`
	// HeadroomLast makes a port use its headroom only when the shared buffer is
	// full. Otherwise frames beyond its threshold are in its headroom.
	HeadroomLast bool `yaml:"headroom_last"`
	// DropAlpha times the free part of the whole buffer is the limit of an egress
	// queue of a lossless class, as in ConWeave's simulator, whose configurations set
	// it to 1. Packets beyond it are dropped, and a remark of the run counts them; every
	// other drop in a lossless class fails the run. Zero means no limit.
	DropAlpha float64 `yaml:"drop_alpha" limits:"0..64"`
	// Pause is the time in a PAUSE. Zero means 65535 quanta.
	Pause vtime.Time `yaml:"pause"`
	// EachFrame sends a PAUSE for every frame beyond the threshold. Otherwise one
	// is sent, and renewed when half of its time is over.
	EachFrame bool `yaml:"each_frame"`
	// Watchdog finds storms of PAUSE, as SONiC's PFC watchdog does
	// (docs/watchdog.md).
	Watchdog Watchdog `yaml:"watchdog" json:",omitzero"`
}

// Apart is a simulator's formula for a port's headroom: the bytes of a link's rate in
// some times its delay, and constant bytes.
type Apart struct {
	Delays int
	Bytes  vtime.Size
}

// Watchdog finds PFC storms: a peer that pauses a queue in which packets wait, without
// end.
type Watchdog struct {
	// Detection is how long a queue with packets is paused without a gap until that is a
	// storm. Zero means no watchdog in the fabric, and 200ms on deployed switches.
	Detection vtime.Time `yaml:"detection"`
	// Restoration is how long no pause has to be in effect until the storm is over.
	// Zero means the detection time.
	Restoration vtime.Time `yaml:"restoration"`
	// Action is what happens to the queue in between: drop, forward or alert; off
	// means no watchdog. Empty means drop.
	Action string `yaml:"action"`
	// Links are the watched ports: those to hosts, or to switches. Empty means both.
	Links string `yaml:"links"`
}

// Actions are the actions of a Watchdog, and WatchdogLinks the values of its Links.
var (
	Actions       = []string{"drop", "forward", "alert", "off"}
	WatchdogLinks = []string{"hosts", "switches"}
)

// Watches reports whether the watchdog of a switch is on at a link.
func (t *Topology) Watches(l *Link) bool {
	between := t.Nodes[l.A.Node].Kind == Switch && t.Nodes[l.B.Node].Kind == Switch
	switch w := &t.Switch.PFC.Watchdog; {
	case t.Switch.PFC.Off, w.Action == "off":
		return false
	case w.Links == "hosts":
		return !between
	case w.Links == "switches":
		return between
	}
	return true
}

// NodeByName returns the node of the given name, or nil.
func (t *Topology) NodeByName(name string) *Node {
	if t.byName != nil {
		if id, ok := t.byName[name]; ok {
			return &t.Nodes[id]
		}
		return nil
	}
	for i := range t.Nodes {
		if t.Nodes[i].Name == name {
			return &t.Nodes[i]
		}
	}
	return nil
}

// Pair returns the two nodes that "a-b" names, or nil. Names of nodes may have
// hyphens.
func (t *Topology) Pair(name string) (a, b *Node) {
	for i := range name {
		if name[i] != '-' {
			continue
		}
		if a, b = t.NodeByName(name[:i]), t.NodeByName(name[i+1:]); a != nil && b != nil {
			return a, b
		}
	}
	return nil, nil
}

// Without returns the topology with links that routes avoid.
func (t *Topology) Without(links []int) *Topology {
	c := *t
	c.Links = slices.Clone(t.Links)
	for _, id := range links {
		c.Links[id].Unused = true
	}
	return &c
}

// Hosts returns the IDs of all hosts in order.
func (t *Topology) Hosts() []int { return t.list(Host, NoStub) }

// Switches returns the IDs of all switches in order.
func (t *Topology) Switches() []int { return t.list(Switch, NoStub) }

// CPUs returns the IDs of the ends of the switches' ports to their control planes.
func (t *Topology) CPUs() []int { return t.list(Host, CPU) }

func (t *Topology) list(k Kind, s Stub) []int {
	var ids []int
	for i := range t.Nodes {
		if t.Nodes[i].Kind == k && t.Nodes[i].Stub == s {
			ids = append(ids, i)
		}
	}
	return ids
}

// LeafPrefix returns the network of the hosts on a leaf.
func LeafPrefix(leaf int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(leaf >> 8), byte(leaf), 0}), 24)
}

// maxDelay is the longest delay of a link: that of a path does not overflow a time.
const maxDelay = 10 * vtime.Second

// MaxScale is the largest factor by which a network may be slower than its topology: times
// of hosts then fit 63 bits.
const MaxScale = 1_000_000_000

// Limits of the address plan 10.leaf.leaf.host.
const (
	maxLeaves       = 1 << 16
	maxHostsPerLeaf = 254
)

// A Builder builds a Topology. Its methods record the first error, which Build
// returns.
type Builder struct {
	t       Topology
	removed []int // links
	err     error
}

// AddHost adds a host and returns its ID.
func (b *Builder) AddHost(name string) int { return b.add(Node{Name: name, Kind: Host}) }

// AddAdapter adds a further network adapter of a host, for another link, and returns
// its ID.
func (b *Builder) AddAdapter(host int, name string) int {
	id := b.AddHost(name)
	b.t.Nodes[id].Host = host
	return id
}

// AddSwitch adds a switch of a tier and returns its ID. Tier 0 means the number of
// links to the nearest host.
func (b *Builder) AddSwitch(name string, tier Tier) int {
	return b.add(Node{Name: name, Kind: Switch, Tier: tier})
}

func (b *Builder) add(n Node) int {
	n.ID, n.Leaf, n.Host = len(b.t.Nodes), -1, len(b.t.Nodes)
	b.t.Nodes = append(b.t.Nodes, n)
	return n.ID
}

// Connect joins the next free ports of two nodes.
func (b *Builder) Connect(a, z int, rate vtime.Rate, delay vtime.Time) *Link {
	if a == z {
		b.fail("%s is connected to itself", b.t.Nodes[a].Name)
	}
	if rate <= 0 {
		b.fail("link %s–%s: rate must be above zero", b.t.Nodes[a].Name, b.t.Nodes[z].Name)
	}
	id := len(b.t.Links)
	l := Link{ID: id, A: b.port(a, id, z), B: b.port(z, id, a), Rate: rate, Delay: delay}
	b.t.Nodes[a].Ports[l.A.Port-1].PeerPort = l.B.Port
	b.t.Nodes[z].Ports[l.B.Port-1].PeerPort = l.A.Port
	b.t.Links = append(b.t.Links, l)
	return &b.t.Links[id]
}

func (b *Builder) port(node, link, peer int) End {
	n := &b.t.Nodes[node]
	n.Ports = append(n.Ports, Port{Link: link, Peer: peer})
	return End{node, len(n.Ports)}
}

func (b *Builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// remove removes links. Ports and links keep their order and get new numbers.
func (b *Builder) remove() {
	if len(b.removed) == 0 {
		return
	}
	t := &b.t
	old := t.Links
	t.Links = nil
	for i := range t.Nodes {
		t.Nodes[i].Ports = nil
	}
	for i := range old {
		if !slices.Contains(b.removed, i) {
			l := &old[i]
			b.Connect(l.A.Node, l.B.Node, l.Rate, l.Delay).Loss = l.Loss
		}
	}
}

// setTiers sets the tier of switches that have none.
func (b *Builder) setTiers() {
	t := &b.t
	var queue []int
	far := make([]int, len(t.Nodes))
	for i := range t.Nodes {
		if t.Nodes[i].Kind == Host && t.Nodes[i].Stub == NoStub {
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, p := range t.Nodes[n].Ports {
			if t.Nodes[p.Peer].Kind == Switch && far[p.Peer] == 0 {
				far[p.Peer] = far[n] + 1
				queue = append(queue, p.Peer)
			}
		}
	}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Kind == Switch && n.Tier == 0 {
			n.Tier = Tier(min(far[i], math.MaxUint8))
		}
	}
}

// Build numbers the leaves, assigns addresses and device IDs, checks the topology
// and returns it.
func (b *Builder) Build(name string, sw SwitchConfig) (*Topology, error) {
	b.remove()
	b.setTiers()
	t := &b.t
	t.Name, t.Switch = name, sw
	names := make(map[string]int, len(t.Nodes))
	leaves, devices := 0, uint64(0)
	hostsOn := make(map[int]int)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if err := CheckName(n.Name); err != nil {
			b.fail("%v %w", n.Kind, err)
		}
		if _, twice := names[n.Name]; twice {
			b.fail("two nodes are called %q", n.Name)
		}
		names[n.Name] = i
		n.MAC = packet.MAC{0x02, byte(n.Kind), byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}
		if n.Kind == Switch {
			devices++
			n.DeviceID = devices
			if n.Tier == 1 {
				n.Leaf = leaves
				leaves++
			}
		}
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Kind != Host {
			continue
		}
		if n.Stub != NoStub {
			n.IP = netip.IPv4Unspecified()
			continue
		}
		if len(n.Ports) != 1 || t.Nodes[n.Ports[0].Peer].Kind != Switch {
			b.fail("host %s needs exactly one link, to a switch", n.Name)
			continue
		}
		leaf := t.Nodes[n.Ports[0].Peer].Leaf
		if leaf < 0 {
			b.fail("host %s is connected to %s, which is not a tier-1 switch", n.Name, t.Nodes[n.Ports[0].Peer].Name)
			continue
		}
		n.Leaf = leaf
		hostsOn[leaf]++
		if hostsOn[leaf] > maxHostsPerLeaf || leaf >= maxLeaves {
			b.fail("more than %d hosts on a leaf or %d leaves: the address plan has no more addresses", maxHostsPerLeaf, maxLeaves)
			continue
		}
		a := LeafPrefix(leaf).Addr().As4()
		a[3] = byte(hostsOn[leaf])
		n.IP = netip.AddrFrom4(a)
	}
	if len(t.Hosts()) == 0 {
		b.fail("no hosts")
	}
	for i := range t.Links {
		if l := &t.Links[i]; l.Delay > maxDelay {
			b.fail("the link %s-%s has a delay of %v, more than %v", t.Nodes[l.A.Node].Name, t.Nodes[l.B.Node].Name, l.Delay, maxDelay)
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	t.byName = names
	return t, nil
}

// TrimDSCP returns the DSCP of packets that a switch trims for a link.
func (t *Topology) TrimDSCP(l *Link) uint8 {
	if t.Nodes[l.A.Node].Kind == Switch && t.Nodes[l.B.Node].Kind == Switch {
		return t.Switch.Trimming.DSCP
	}
	return t.Switch.Trimming.LastHopDSCP
}
