// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/pcap"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// FirstNumber is the number of the first packet of the first series: those below are
// numbers of flows.
const FirstNumber = 1 << 23

// Run is the packets of one run of a scenario.
type Run struct {
	net   *topo.Topology
	list  []Spec
	first []uint32 // numbers of the first packet of each series
	ends  map[int]*end
	hosts []int // that have an end
	// listens are the ports at which hosts accept TCP connections.
	listens map[uint16]bool
	limits  Limits
	now     func() vtime.Time // nil: all has been sent
}

// Limits bounds what a Run keeps in memory.
type Limits struct {
	Frames int // that each host keeps of those that arrive
}

// DefaultLimits are enough for packets that a person looks at.
var DefaultLimits = Limits{Frames: 200_000}

// Arrival is a frame that a host has received.
type Arrival struct {
	At     vtime.Time
	Series int // index of its series, or -1
	Index  int // number in the series, from 0
	Sent   vtime.Time
	Data   []byte // nil beyond the limit of frames
	Elided int
	// Answer is true for an answer to a ping: it has the number of its request.
	Answer bool
}

// Start gives the hosts of a fabric what they send. The overhead of a frame on the link is
// in bytes. The list must have been prepared.
func Start(f *fabric.Fabric, list []Spec, seed uint64, overhead int) *Run {
	t := f.Topology()
	r := &Run{net: t, list: list, ends: make(map[int]*end), limits: DefaultLimits, listens: make(map[uint16]bool), now: f.Now}
	next := uint32(FirstNumber)
	for i := range list {
		r.first = append(r.first, next)
		if s := &list[i]; s.connection() {
			r.listens[s.TCP.Destination] = true
			next = min(next+2*uint32(s.TCP.Bytes/tcpMSS)+64, packet.MaxFlow) // later ones share the last number
			continue
		}
		times := list[i].times(overhead, rand.New(rand.NewPCG(seed, 1<<32|uint64(i))))
		count := uint32(0)
		for _, ok := times(); ok && count < packet.MaxFlow; _, ok = times() {
			count++
		}
		next = min(next+count, packet.MaxFlow)
	}
	r.first = append(r.first, next)
	for _, id := range slices.Concat(t.Hosts(), t.CPUs()) {
		h := f.Host(id)
		if h == nil {
			e := r.ends[t.Nodes[id].Host]
			e.more = append(e.more, &t.Nodes[id])
			continue
		}
		e := &end{run: r, self: &t.Nodes[id]}
		for i := range list {
			if list[i].src == id {
				s := &series{spec: &list[i], number: r.first[i], index: i}
				if e.series = append(e.series, s); list[i].connection() {
					s.conn = newSender(e, s)
					continue
				}
				s.times = list[i].times(overhead, rand.New(rand.NewPCG(seed, 1<<32|uint64(i))))
				s.advance()
			}
		}
		r.ends[id], r.hosts = e, append(r.hosts, id)
		e.port = h.SetEndpoint(e)
		for _, s := range e.series {
			if s.conn != nil {
				e.port.At(s.spec.Start, s.conn, 0)
			}
		}
	}
	return r
}

// series is what a host sends of one Spec.
type series struct {
	spec   *Spec
	times  func() (vtime.Time, bool)
	at     vtime.Time
	more   bool
	sent   int
	number uint32
	index  int
	when   []vtime.Time // at which packets were sent
	conn   *sender      // of a TCP connection, or nil
}

func (s *series) advance() { s.at, s.more = s.times() }

// end is a host as a roce.Endpoint.
type end struct {
	run    *Run
	self   *topo.Node
	more   []*topo.Node // further adapters
	series []*series
	buf    []byte
	got    []Arrival
	port   roce.Port

	accepted map[peerKey]*receiver
	count    int
}

// Next implements roce.Endpoint.
func (e *end) Next() (vtime.Time, []byte, uint32, int, bool) {
	var first *series
	for _, s := range e.series {
		if s.more && (first == nil || s.at < first.at) {
			first = s
		}
	}
	if first == nil {
		return 0, nil, 0, 0, false
	}
	at := first.at
	e.buf = first.spec.numbered(first.sent, e.buf)
	number := e.counted(first, at)
	port := e.run.port(first)
	first.advance()
	return at, e.buf, number, port, true
}

// counted counts a packet that is sent, and returns its number.
func (e *end) counted(s *series, at vtime.Time) uint32 {
	last := uint32(packet.MaxFlow)
	if s.conn != nil {
		last = e.run.first[s.index+1] - 1
	}
	number := min(s.number+uint32(s.sent), last)
	s.when = append(s.when, at)
	s.sent++
	return number
}

// transmit sends a packet of a series now.
func (e *end) transmit(now vtime.Time, s *series, data []byte) {
	e.port.Send(data, e.counted(s, now), e.run.port(s))
}

// port is that of the host by which a series leaves, from 1.
func (r *Run) port(s *series) int { return r.net.Adapter(s.spec.by) + 1 }

// owner returns the adapter that has an address, or nil.
func (e *end) owner(ip netip.Addr) *topo.Node {
	if e.self.IP == ip {
		return e.self
	}
	if i := slices.IndexFunc(e.more, func(n *topo.Node) bool { return n.IP == ip }); i >= 0 {
		return e.more[i]
	}
	return nil
}

// Receive implements roce.Endpoint: it keeps the frame, and answers a ping or an ARP
// request.
func (e *end) Receive(now vtime.Time, f *packet.Frame) []byte {
	a := Arrival{At: now, Series: -1, Elided: int(f.Elided)}
	if e.count++; e.count <= e.run.limits.Frames {
		a.Data = bytes.Clone(f.Data)
	}
	if n := f.Flow(); n >= FirstNumber {
		for i := range e.run.list {
			if e.run.first[i] <= n && n < e.run.first[i+1] {
				a.Series, a.Index = i, int(n-e.run.first[i])
				a.Answer = e.run.list[i].src == e.self.ID && (e.run.list[i].Ping || e.run.list[i].connection())
			}
		}
	}
	e.got = append(e.got, a)
	if len(e.run.listens) > 0 {
		if answer := e.tcp(now, f.Data); answer != nil {
			return answer
		}
	}
	return e.answer(f.Data)
}

// arpRequest begins an ARP request for an IPv4 address on Ethernet (RFC 826).
var arpRequest = []byte{0, 1, 8, 0, 6, 4, 0, 1}

// answer returns the answer to a ping or an ARP request for the host, or nil.
func (e *end) answer(d []byte) []byte {
	eth := packet.AsEthernet(d)
	if eth == nil {
		return nil
	}
	switch eth.EtherType() {
	case packet.EtherTypeARP:
		a := d[packet.EthernetLen:]
		if len(a) < 28 || !bytes.Equal(a[:8], arpRequest) {
			return nil
		}
		self := e.owner(netip.AddrFrom4([4]byte(a[24:28])))
		if self == nil {
			return nil
		}
		out := make([]byte, minFrame)
		packet.Ethernet(out).Set(packet.MAC(a[8:14]), self.MAC, packet.EtherTypeARP)
		b := out[packet.EthernetLen:]
		copy(b, a[:6])
		b[7] = 2
		copy(b[8:], self.MAC[:])
		copy(b[14:], a[24:28])
		copy(b[18:], a[8:18])
		return out
	case packet.EtherTypeIPv4:
		ip := packet.AsIPv4(d[packet.EthernetLen:])
		if ip == nil || ip.Protocol() != protoICMP {
			return nil
		}
		self := e.owner(ip.Dst())
		if self == nil {
			return nil
		}
		head := ip.HeaderLen()
		if min(len(ip), ip.TotalLen()) < head+icmpLen || ip[head] != 8 {
			return nil
		}
		out := bytes.Clone(d)
		packet.Ethernet(out).Set(eth.Src(), self.MAC, packet.EtherTypeIPv4)
		b := packet.IPv4(out[packet.EthernetLen:])
		copy(b[12:], ip[16:20])
		copy(b[16:], ip[12:16])
		b[8] = 64
		b.UpdateChecksum()
		echo := b[head:min(b.TotalLen(), len(b))]
		echo[0] = 0 // echo reply
		echo[2], echo[3] = 0, 0
		binary.BigEndian.PutUint16(echo[2:], packet.Checksum(echo))
		return out
	}
	return nil
}

// Done reports whether all hosts have sent what they have to send.
func (r *Run) Done(f *fabric.Fabric) bool {
	for _, id := range r.hosts {
		if !f.Host(id).Idle() || slices.ContainsFunc(r.ends[id].series, func(s *series) bool { return s.conn != nil && s.conn.open() }) {
			return false
		}
	}
	return true
}

// Sent returns the number of packets of a series that were sent until now.
func (r *Run) Sent(i int) int {
	for _, e := range r.ends {
		for _, s := range e.series {
			n := len(s.when)
			if s.index == i && n > 0 && r.now != nil && s.when[n-1] > r.now() {
				n-- // the next one is known before its time
			}
			if s.index == i {
				return n
			}
		}
	}
	return 0
}

// when returns the time at which a packet was sent.
func (r *Run) when(i, n int) vtime.Time {
	for _, s := range r.ends[r.list[i].src].series {
		if s.index == i && n < len(s.when) {
			return s.when[n]
		}
	}
	return 0
}

// At returns what a host has received that was not of a flow, in order.
func (r *Run) At(host int) []Arrival {
	e := r.ends[host]
	if e == nil {
		return nil
	}
	for i := range e.got {
		if a := &e.got[i]; a.Series >= 0 {
			a.Sent = r.when(a.Series, a.Index)
		}
	}
	return e.got
}

// Hosts returns the hosts that can send and receive, by their nodes.
func (r *Run) Hosts() []int { return r.hosts }

// WritePcap writes what a host has received as a file of frames.
func (r *Run) WritePcap(w io.Writer, host int) error {
	p, err := pcap.NewWriter(w)
	if err != nil {
		return err
	}
	for _, a := range r.At(host) {
		if a.Data == nil {
			break
		}
		if err := p.Write(time.Unix(0, a.At.Nanoseconds()), a.Data, a.Elided); err != nil {
			return err
		}
	}
	return nil
}

// Number returns the number of a packet of a series, from 1, as packet.Frame.Flow has it.
// Without a name it is that of the first series.
func (r *Run) Number(name string, packet int) (uint32, error) {
	if r == nil || len(r.list) == 0 {
		return 0, errors.New("the scenario has no packets: name one of a flow")
	}
	var names []string
	for i := range r.list {
		names = append(names, r.list[i].Name)
		if name != "" && r.list[i].Name != name {
			continue
		}
		if n := int(r.first[i+1] - r.first[i]); packet < 1 || packet > n {
			return 0, fmt.Errorf("series %s has no packet %d: it has %d", r.list[i].Name, packet, n)
		}
		return r.first[i] + uint32(packet) - 1, nil
	}
	return 0, fmt.Errorf("no series of packets is called %q%s", name, diag.OneOf(name, names))
}
