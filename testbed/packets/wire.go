// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Sending is a packet to be sent on a real network, or with Stream a TCP connection to be
// opened.
type Sending struct {
	Host, By, Series, Index int // Host is its node and By the adapter's; Index counts from 0
	At                      vtime.Time
	Data                    []byte
	Stream                  *TCP
	To                      int // node of the other end of a connection
}

// Wire is the packets of a scenario on a real network, where no number comes along with a
// frame: packets are known again by their IPv4 identification, which has the numbers of
// the series and of the packet in it, and pings also by their identifier. Others are those
// of the series with the same EtherType whose bytes they share most.
type Wire struct {
	run *Run
}

// seriesBit is the first bit of the IPv4 identification that has the number of the series.
const seriesBit = 10

// NewWire returns the packets of a scenario on a real network, which must be prepared, and
// what is to be sent, in the order of time.
func NewWire(t *topo.Topology, list []Spec, seed uint64, overhead int) (*Wire, []Sending) {
	r := &Run{net: t, list: list, first: make([]uint32, len(list)+1), ends: make(map[int]*end), limits: DefaultLimits}
	for _, id := range slices.Concat(t.Hosts(), t.CPUs()) {
		if t.Nodes[id].Host != id {
			continue // a further adapter
		}
		r.ends[id] = &end{run: r, self: &t.Nodes[id]}
		r.hosts = append(r.hosts, id)
	}
	var all []Sending
	for i := range list {
		spec := &list[i]
		s := &series{spec: spec, index: i}
		e := r.ends[spec.src]
		e.series = append(e.series, s)
		if spec.connection() {
			s.conn = newSender(e, s)
			all = append(all, Sending{Host: spec.src, Series: i, At: spec.Start, Stream: spec.TCP, To: t.NodeByName(spec.To).Host})
			continue
		}
		times := spec.times(overhead, rand.New(rand.NewPCG(seed, 1<<32|uint64(i))))
		for at, ok := times(); ok; at, ok = times() {
			data := slices.Clone(spec.numbered(s.sent, nil))
			mark(spec, i, s.sent, data)
			all = append(all, Sending{Host: spec.src, By: spec.by, Series: i, Index: s.sent, At: at, Data: data})
			s.when = append(s.when, at)
			s.sent++
		}
	}
	slices.SortStableFunc(all, func(a, b Sending) int { return cmp.Compare(a.At, b.At) })
	return &Wire{r}, all
}

// mark writes the number of a packet into it.
func mark(s *Spec, series, index int, data []byte) {
	if s.ip == 0 || s.Pcap != "" || s.IPv4.ID != nil {
		return
	}
	h := packet.IPv4(data[s.ip:])
	binary.BigEndian.PutUint16(h[4:], uint16((series+1)<<seriesBit|(index+1)&(1<<seriesBit-1)))
	h.UpdateChecksum()
	if s.Ping {
		echo := h[h.HeaderLen():h.TotalLen()]
		binary.BigEndian.PutUint16(echo[4:], uint16(series+1))
		binary.BigEndian.PutUint16(echo[6:], uint16(index+1))
		echo[2], echo[3] = 0, 0
		binary.BigEndian.PutUint16(echo[2:], packet.Checksum(echo))
	}
}

// Received notes a frame that a host has received.
func (w *Wire) Received(host int, at vtime.Time, data []byte) {
	e := w.run.ends[host]
	a := Arrival{At: at, Series: -1}
	if e.count++; e.count <= w.run.limits.Frames {
		a.Data = bytes.Clone(data)
	}
	a.Series, a.Index, a.Answer = w.recognise(host, data)
	e.got = append(e.got, a)
}

// Carried notes how much of a TCP connection has arrived, and whether it was closed.
func (w *Wire) Carried(series int, n uint64, closed bool) {
	s := &w.run.list[series]
	e := w.run.ends[w.run.net.NodeByName(s.To).Host]
	c := &receiver{expected: n + 1}
	if closed {
		c.fin, c.expected = n+1, n+2
	}
	if e.accepted == nil {
		e.accepted = make(map[peerKey]*receiver)
	}
	e.accepted[peerKey{w.run.net.Nodes[s.src].IP, s.TCP.Source, s.TCP.Destination}] = c
}

// End returns what was sent and received, for expectations and results.
func (w *Wire) End() *Run { return w.run }

// sends reports whether the series has packets of the protocol and from the address of an
// IPv4 packet. The identification alone does not tell: the kernel's TCP draws its own.
func (s *Spec) sends(ip packet.IPv4) bool {
	if s.ip == 0 {
		return false
	}
	own := packet.IPv4(s.base[s.ip:])
	return ip.Protocol() == own.Protocol() && bytes.Equal(ip[12:16], own[12:16])
}

// icmpErrors are the types of messages of a kernel that quote a packet: unreachable, source
// quench, redirect, time exceeded, parameter problem (RFC 792).
var icmpErrors = []byte{3, 4, 5, 11, 12}

func (w *Wire) recognise(host int, d []byte) (series, index int, answer bool) {
	eth := packet.AsEthernet(d)
	if eth == nil {
		return -1, 0, false
	}
	list := w.run.list
	// The IPv4 header may be behind headers of the program.
	for at := packet.EthernetLen; at+packet.IPv4Len <= len(d) && at < packet.EthernetLen+64; at++ {
		ip := packet.AsIPv4(d[at:])
		if ip == nil {
			continue
		}
		id := int(binary.BigEndian.Uint16(ip[4:]))
		i := id>>seriesBit - 1
		if i >= 0 && i < len(list) && list[i].sends(ip) {
			return i, max(id&(1<<seriesBit-1)-1, 0), false
		}
		head := ip.HeaderLen()
		if at != packet.EthernetLen || ip.Protocol() != protoICMP || len(ip) < head+icmpLen {
			continue
		}
		if slices.Contains(icmpErrors, ip[head]) {
			return -1, 0, false // it quotes a packet
		}
		if i := int(binary.BigEndian.Uint16(ip[head+4:])) - 1; ip[head] == 0 && i >= 0 && i < len(list) && list[i].Ping && list[i].src == host {
			return i, int(binary.BigEndian.Uint16(ip[head+6:])) - 1, true
		}
	}
	best, most := -1, -1
	for i := range list {
		s := &list[i]
		if s.ip > 0 || len(s.base) < packet.EthernetLen || packet.Ethernet(s.base).EtherType() != eth.EtherType() {
			continue
		}
		n := 0
		for k := packet.EthernetLen; k < min(len(s.base), len(d)); k++ {
			if s.base[k] == d[k] {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	usual := eth.EtherType() == packet.EtherTypeARP || eth.EtherType() == packet.EtherTypeIPv4 // a kernel sends those, too
	if best < 0 || usual && most < (len(d)-packet.EthernetLen)/2 {
		return -1, 0, false
	}
	n := 0
	for _, a := range w.run.ends[host].got {
		if a.Series == best {
			n++
		}
	}
	return best, n, false
}
