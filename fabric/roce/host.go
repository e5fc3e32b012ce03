// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Address is the address of a host.
type Address struct {
	MAC packet.MAC
	IP  netip.Addr // IPv4
}

// Flow is a message from one host to another.
type Flow struct {
	Size    int64      // payload bytes
	Start   vtime.Time // when it becomes known to the sender
	Class   uint8      // priority, 0 to 7
	Port    uint16     // UDP source port, from which switches take the flow's entropy
	AckPort uint16     // of acknowledgements; zero: Port
	// PSN is the packet sequence number of the first packet, of 24 bits. The messages of a
	// queue pair are numbered on, from one to the next (InfiniBand Architecture, volume 1,
	// 9.7.2). Transport uec numbers each from 0.
	PSN uint32
	// QP has the numbers at the sender and the receiver of a queue pair whose next message
	// the flow is; zero: of one of its own. Transport uec has one for each message.
	QP      [2]uint32
	BaseRTT vtime.Time // round trip of a full packet through the empty network
	// Path is the rate of the slowest link on the path, for windows.
	Path   vtime.Rate
	Coflow uint16 // number in the tag, if hosts tag; zero: none
	// Number is that of the frames, at most packet.MaxFlow: see packet.Frame.Flow.
	Number uint32
	// Leaf is the leaf of the receiver, and Paths the number of next hops upwards
	// at the sender's leaf and at the next switch, for Hermes.
	Leaf  int
	Paths [2]int
	// Data and Ack are the ports of the sender and of the receiver that data and
	// acknowledgements pass, from 1; zero: 1.
	Data, Ack [2]int
	// Held makes the flow wait for its Task, which starts it; Start is ignored.
	Held bool
}

// Host is a RoCEv2 host with one port, unless AddPort adds others. Only one
// goroutine may use it at a time.
type Host struct {
	net  Network
	cfg  *Config
	kit  *cc.Kit
	self Address
	rate vtime.Rate

	nic       nic
	more      []*nic    // of the ports from 2 on
	senders   []*sender // in the order of Send, from number FirstQP on
	receivers []*receiver
	out, in   turns     // their places in queue pairs
	starts    []*sender // not started, in order of time
	startSet  vtime.Time
	ack       cc.Ack

	byRemote map[remote]*sender // flows about which switches may send messages
	paths    map[int]*paths     // by leaf: the measurements of Hermes
	rng      *rand.Rand         // of Hermes
	work     *work              // nil: no flow waits for others
	onPause  func(Held)         // nil: nobody asks
	endpoint *endpoint          // nil: all frames are of flows
	puller   puller             // credit, of transport uec

	Stats Stats
}

// Stats has the counters of a host.
type Stats struct {
	Finished     int       // acknowledged flows that it sent
	Frames       uint64    // received
	Unknown      uint64    // received, neither RoCEv2 nor PFC
	Misdelivered uint64    // received, for another host or no queue pair of this one
	OutOfOrder   uint64    // data packets with a PSN above the expected one
	Degree       Histogram // distance to the expected packet, in packets
	Timeouts     uint64
	CNPs         uint64 // sent
	Postcards    uint64 // received, of PB-FS
	FastStarts   uint64 // flows it sent that began with PB-FS
	Trimmed      uint64 // data packets received that a switch had trimmed
}

// New returns a host on a link of the given rate. The configuration must have
// been checked. It is shared.
func New(net Network, cfg *Config, kit *cc.Kit, self Address, rate vtime.Rate) *Host {
	h := &Host{net: net, cfg: cfg, kit: kit, self: self, rate: rate, startSet: vtime.Never}
	h.nic.init(h, 1, self)
	h.puller.h = h
	return h
}

// AddPort adds a port with an address of its own and the rate of the first. Flows
// name the ports that they use.
func (h *Host) AddPort(self Address) {
	n := &nic{}
	n.init(h, len(h.more)+2, self)
	h.more = append(h.more, n)
}

// port returns the adapter of a port; zero is the first.
func (h *Host) port(n int) *nic {
	if n < 2 {
		return &h.nic
	}
	return h.more[n-2]
}

// has reports whether an address is that of a port from 2 on.
func (h *Host) has(ip netip.Addr) bool {
	return slices.ContainsFunc(h.more, func(n *nic) bool { return n.self.IP == ip })
}

// Connect makes src send a flow to dst. It returns both ends for observation.
func Connect(src, dst *Host, f Flow) (*Outgoing, *Incoming, error) {
	sender, receiver := src.NextSender(), dst.NextReceiver()
	if f.QP != [2]uint32{} {
		sender, receiver = f.QP[0], f.QP[1]
	}
	out, err := src.Send(f, dst.port(f.Data[1]).self, receiver)
	if err != nil {
		return nil, nil, err
	}
	return out, dst.Expect(f, src.port(f.Ack[0]).self, sender), nil
}

// NextSender and NextReceiver return the numbers of the next sending and
// receiving queue pairs. Both count messages from FirstQP: the number of a queue pair is
// that of its first one.
func (h *Host) NextSender() uint32   { return FirstQP + uint32(len(h.senders)) }
func (h *Host) NextReceiver() uint32 { return FirstQP + uint32(len(h.receivers)) }

// FirstQP is the first queue pair number of a connection: the InfiniBand
// architecture reserves 0 and 1 for management, and dissectors interpret
// packets to them as management datagrams.
const FirstQP = 2

// Packets returns the number of packets of a message of so many bytes.
func (c *Config) Packets(size int64) int64 { return (size + int64(c.MTU) - 1) / int64(c.MTU) }

// Acks returns the number of acknowledgements of a message of so many packets, about that
// with transport uec.
func (c *Config) Acks(packets int64) int64 {
	every := int64(c.AckEvery)
	if c.Transport == UET {
		every = max(int64(c.UEC.AckBytes)/int64(c.MTU), 1)
	}
	return (packets + every - 1) / every
}

// Send sends a flow, from its start time on, to the queue pair with the given
// number at a peer.
func (h *Host) Send(f Flow, to Address, receiver uint32) (*Outgoing, error) {
	if f.Size < 1 || (f.Size-1)/int64(h.cfg.MTU) >= maxPackets {
		return nil, fmt.Errorf("size %d: must be from 1 byte to %d packets of %d", f.Size, maxPackets, h.cfg.MTU)
	}
	if h.cfg.Transport == UET && (h.NextSender() > 0xffff || receiver > 0xffff) {
		return nil, fmt.Errorf("a host has at most %d connections of transport uec in each direction", 0xffff-FirstQP+1)
	}
	if f.Class >= packet.Classes {
		return nil, fmt.Errorf("class %d: must be from 0 to 7", f.Class)
	}
	if f.Held {
		f.Start = vtime.Never
	}
	if f.Start < h.net.Now() {
		return nil, fmt.Errorf("start %v: it is %v already", f.Start, h.net.Now())
	}
	s := newSender(h, to, &f, h.NextSender(), receiver)
	first := s.index()
	if f.QP[0] != 0 {
		first = f.QP[0] - FirstQP
		h.senders[first].many = true
	}
	h.register(s, to, receiver)
	h.senders = append(h.senders, s)
	h.out.add(f.PSN, s.total, first)
	if !f.Held {
		h.addStart(s)
	}
	return (*Outgoing)(s), nil
}

// Expect prepares for a flow from the queue pair with the given number at a
// peer, which Send has accepted.
func (h *Host) Expect(f Flow, from Address, sender uint32) *Incoming {
	r := newReceiver(h, from, &f, sender)
	first := uint32(len(h.receivers))
	if f.QP[1] != 0 {
		first = f.QP[1] - FirstQP
		h.receivers[first].many = true
	}
	h.receivers = append(h.receivers, r)
	h.in.add(f.PSN, r.total, first)
	return (*Incoming)(r)
}

// maxPackets is half of the sequence numbers, so that old and new ones are
// distinct.
const maxPackets = 1 << 23

// addStart inserts a flow into the list of those that have not started. One
// scheduled event serves all of them.
func (h *Host) addStart(s *sender) {
	i := len(h.starts)
	for i > 0 && h.starts[i-1].start > s.start {
		i--
	}
	h.starts = slices.Insert(h.starts, i, s)
	h.nextStart()
}

func (h *Host) nextStart() {
	if len(h.starts) > 0 && h.starts[0].start < h.startSet {
		h.startSet = h.starts[0].start
		h.net.At(h.startSet, (*starter)(h), uint64(h.startSet))
	}
}

// starter is the event of flows that start.
type starter Host

// Fire implements vtime.Event. arg is the scheduled time.
func (st *starter) Fire(now vtime.Time, arg uint64) {
	h := (*Host)(st)
	if vtime.Time(arg) != h.startSet {
		return // an earlier event has replaced it
	}
	n := 0
	for n < len(h.starts) && h.starts[n].start <= now {
		h.starts[n].begin(now)
		n++
	}
	h.starts = h.starts[n:]
	h.startSet = vtime.Never
	h.nextStart()
	h.nic.kick(now)
	for _, n := range h.more {
		n.kick(now)
	}
}

// Receive receives a frame from the link of a port.
func (h *Host) Receive(port int, f *packet.Frame) {
	h.Stats.Frames++
	if h.endpoint == nil || !h.endpoint.receive(h.net.Now(), port, f) {
		h.receive(h.net.Now(), port, f)
	}
	h.net.Frames().Put(f)
}

// Offsets in the frames that hosts receive: without VLAN tag and IP options.
// The destination leaf has removed headers before IP.
const (
	offIP  = packet.EthernetLen
	offUDP = offIP + packet.IPv4Len
	offBTH = offUDP + packet.UDPLen
)

func (h *Host) receive(now vtime.Time, port int, f *packet.Frame) {
	d := f.Data
	if len(d) < offBTH || packet.Ethernet(d).EtherType() != packet.EtherTypeIPv4 || d[offIP] != 0x45 ||
		packet.IPv4(d[offIP:]).Protocol() != packet.ProtoUDP {
		if pfc := packet.AsPFC(d); pfc != nil {
			h.port(port).pause(now, pfc)
		} else {
			h.Stats.Unknown++
		}
		return
	}
	ip := packet.IPv4(d[offIP:])
	if to := ip.Dst(); to != h.self.IP && !h.has(to) {
		h.Stats.Misdelivered++
		return
	}
	udp := packet.UDP(d[offUDP:])
	if h.cfg.Trimming.On && udp.DstPort() != packet.PortUET && ip.TotalLen() > f.Len()-packet.EthernetLen {
		h.Stats.Trimmed++ // a RoCE NIC discards it
		return
	}
	switch udp.DstPort() {
	case packet.PortRoCEv2:
		h.transport(now, f, ip, nil, packet.AsBTH(d[offBTH:]))
	case packet.PortINT:
		telemetry := packet.AsINT(d[offBTH:])
		if telemetry == nil {
			h.Stats.Unknown++
			return
		}
		h.transport(now, f, ip, telemetry[:packet.INTLen], packet.AsBTH(telemetry[packet.INTLen:]))
	case packet.PortPINT:
		digest := packet.AsPINT(d[offBTH:])
		if digest == nil {
			h.Stats.Unknown++
			return
		}
		h.transport(now, f, ip, digest[:packet.PINTLen], packet.AsBTH(digest[packet.PINTLen:]))
	case packet.PortUET:
		h.uet(now, f, ip, udp.SrcPort(), d[offBTH:])
	case packet.PortPostcard:
		h.postcard(ip, packet.AsPostcard(d[offBTH:]))
	default:
		h.Stats.Unknown++
	}
}

// transport handles a packet with a base transport header, and the telemetry
// before it, if any.
func (h *Host) transport(now vtime.Time, f *packet.Frame, ip packet.IPv4, telemetry []byte, bth packet.BTH) {
	if bth == nil || h.cfg.Transport == UET {
		h.Stats.Unknown++
		return
	}
	// A number below the first wraps around to one that no queue pair has.
	qp := bth.DestQP() - FirstQP
	switch bth.Opcode() {
	case packet.OpSendFirst, packet.OpSendMiddle, packet.OpSendLast, packet.OpSendOnly:
		if qp >= uint32(len(h.receivers)) {
			h.Stats.Misdelivered++
			return
		}
		r := h.receivers[qp]
		if r.many {
			r = h.receivers[h.in.find(qp, bth.PSN())]
		}
		r.data(now, f, ip, telemetry, bth)
	case packet.OpAcknowledge:
		aeth := packet.AsAETH(bth.Payload())
		switch {
		case aeth == nil:
			h.Stats.Unknown++
		case qp >= uint32(len(h.senders)):
			h.Stats.Misdelivered++
		default:
			s := h.senders[qp]
			if s.many {
				s = h.senders[h.out.find(qp, h.answered(bth, aeth))]
			}
			s.acked(now, bth, aeth)
		}
	case packet.OpCongestionNotific:
		cnp := packet.AsCNP(bth)
		switch {
		case cnp == nil:
			h.Stats.Unknown++
		case h.kit.Switches:
			if s := h.byRemote[remote{ip.Src(), bth.DestQP()}]; s != nil {
				h.current(s).notified(now, ip, cnp)
			} else {
				h.Stats.Misdelivered++
			}
		case qp >= uint32(len(h.senders)):
			h.Stats.Misdelivered++
		default:
			h.current(h.senders[qp]).notified(now, ip, cnp)
		}
	case opProbe, opEcho:
		if h.cfg.Hermes.On {
			h.probed(now, f, ip, bth)
		} else {
			h.Stats.Unknown++
		}
	default:
		h.Stats.Unknown++
	}
}

// ahead returns the distance of the 24-bit sequence number psn to packet number
// n; negative if it is earlier.
func ahead(psn uint32, n int64) int64 {
	return int64(int32((psn-uint32(n))<<8) >> 8)
}

// layout has the headers of a flow's frames, without telemetry, in a line of the cache.
type layout struct {
	bytes   [packet.TagLen + headerLen]byte
	len, ip uint8 // up to the end of the BTH; to the IP header
}

func (l *layout) header() []byte { return l.bytes[:l.len] }

// bth is the offset of the BTH, before which telemetry is.
func (l *layout) bth() int { return int(l.len) - packet.BTHLen }

// appendTo appends the headers with so many bytes of telemetry, which are zero.
func (l *layout) appendTo(b []byte, telemetry int) []byte {
	if telemetry == 0 {
		return append(b, l.header()...)
	}
	b = append(b, l.bytes[:l.bth()]...)
	b = append(b, noTelemetry[:telemetry]...)
	return append(b, l.bytes[l.bth():l.len]...)
}

// headers returns the headers of frames from one of the host's addresses to a peer
// with payload bytes after the BTH, without the invariant CRC.
func (h *Host) headers(from, to Address, f *Flow, class uint8, ecn packet.ECN, telemetry cc.Telemetry, payload int) layout {
	l := layout{ip: offIP}
	etherType := packet.EtherTypeIPv4
	if ecn != packet.NotECT && h.cfg.tagged(f) {
		packet.Tag(l.bytes[offIP:]).Set(packet.TagNoPath, packet.TagNoPath, f.Coflow, etherType)
		etherType = packet.EtherTypeLocal
		l.ip += packet.TagLen
	}
	udp := l.ip + packet.IPv4Len
	l.len = udp + packet.UDPLen + packet.BTHLen
	n := int(l.len-l.ip) + telemetry.Len() + payload + icrcLen
	packet.Ethernet(l.bytes[:]).Set(to.MAC, from.MAC, etherType)
	packet.IPv4(l.bytes[l.ip:]).Set(from.IP, to.IP, packet.ProtoUDP, DSCP(class), ecn, 0, n)
	packet.UDP(l.bytes[udp:]).Set(f.Port, telemetry.Port(), n-packet.IPv4Len)
	return l
}

// resize sets the lengths in the headers at b for so many bytes of telemetry and of
// payload after the BTH, without the invariant CRC.
func (l *layout) resize(b []byte, payload int) {
	n := int(l.len-l.ip) + payload + icrcLen
	ip := packet.IPv4(b[l.ip:])
	ip.SetTotalLen(n)
	ip.UpdateChecksum()
	binary.BigEndian.PutUint16(b[int(l.ip)+packet.IPv4Len+4:], uint16(n-packet.IPv4Len))
}
