// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// TCP connections carry a number of bytes from a host to another one, as iperf does.
//
// Of RFC 9293: the handshake with the MSS option, sequence numbers, cumulative
// acknowledgements of each segment, reordering, checksums (a wrong one drops the segment),
// and the close of both directions. Not there: urgent data, simultaneous open, TIME-WAIT,
// resets, and delayed acknowledgements. Options besides MSS are neither sent nor used: no
// window scaling, so that at most 65,535 bytes are under way, no timestamps, no SACK.
// Congestion control is RFC 5681 with the recovery of RFC 6582 (NewReno), and the timer is
// that of RFC 6298, with the 200 ms of Linux as its minimum. ECN is not negotiated.
const (
	tcpMSS       = 1460 // bytes of data in a segment: those of Ethernet
	tcpWindow    = 65535
	tcpFirstRTO  = vtime.Second
	tcpLeastRTO  = 200 * vtime.Millisecond
	tcpMostRTO   = 60 * vtime.Second
	tcpRetries   = 10         // of one segment, after which a connection is given up
	tcpFirstCwnd = 3 * tcpMSS // RFC 5681, 3.1
)

// Flags of TCP.
const (
	tcpFIN = 1 << iota
	tcpSYN
	tcpRST
	_
	tcpACK
)

// segment is a received TCP segment.
type segment struct {
	src, dst     netip.Addr
	sport, dport uint16
	seq, ack     uint32
	flags        uint8
	window       uint16
	length       int        // of its data
	next         packet.MAC // the node that it came from
}

// parseTCP returns the segment of a frame, or false: another protocol, or a damaged segment.
func parseTCP(d []byte) (s segment, ok bool) {
	eth := packet.AsEthernet(d)
	if eth == nil || eth.EtherType() != packet.EtherTypeIPv4 {
		return s, false
	}
	ip := packet.AsIPv4(d[packet.EthernetLen:])
	if ip == nil || ip.Protocol() != packet.ProtoTCP || !ip.ChecksumOK() {
		return s, false
	}
	head, total := ip.HeaderLen(), ip.TotalLen()
	if total > len(ip) || total < head+tcpLen {
		return s, false
	}
	t := []byte(ip[head:total])
	offset := int(t[12]>>4) * 4
	pseudo := binary.BigEndian.AppendUint16(append(append([]byte(nil), ip[12:20]...), 0, packet.ProtoTCP), uint16(len(t)))
	if offset < tcpLen || offset > len(t) || packet.Checksum(append(pseudo, t...)) != 0 {
		return s, false
	}
	return segment{
		src: ip.Src(), dst: ip.Dst(), sport: binary.BigEndian.Uint16(t), dport: binary.BigEndian.Uint16(t[2:]),
		seq: binary.BigEndian.Uint32(t[4:]), ack: binary.BigEndian.Uint32(t[8:]), flags: t[13], window: binary.BigEndian.Uint16(t[14:]),
		length: len(t) - offset, next: eth.Src(),
	}, true
}

// appendTCP appends a TCP header and so many zeros of data to an IPv4 packet whose header
// begins at ip, and sets lengths and checksums.
func appendTCP(b []byte, ip int, sport, dport uint16, seq, ack uint32, flags uint8, data int) []byte {
	head := len(b) - ip
	t := make([]byte, tcpLen, tcpLen+4+data)
	binary.BigEndian.PutUint16(t, sport)
	binary.BigEndian.PutUint16(t[2:], dport)
	binary.BigEndian.PutUint32(t[4:], seq)
	if flags&tcpACK != 0 {
		binary.BigEndian.PutUint32(t[8:], ack)
	}
	if flags&tcpSYN != 0 {
		t = append(t, 2, 4, tcpMSS>>8, tcpMSS&0xff)
	}
	t[12], t[13] = byte(len(t)/4)<<4, flags
	binary.BigEndian.PutUint16(t[14:], tcpWindow)
	t = append(t, make([]byte, data)...)
	h := packet.IPv4(b[ip:])
	binary.BigEndian.PutUint16(h[2:], uint16(head+len(t)))
	h.UpdateChecksum()
	pseudo := binary.BigEndian.AppendUint16(append(append([]byte(nil), h[12:20]...), 0, packet.ProtoTCP), uint16(len(t)))
	binary.BigEndian.PutUint16(t[16:], packet.Checksum(append(pseudo, t...)))
	b = append(b, t...)
	if n := len(b); n < minFrame {
		b = append(b, make([]byte, minFrame-n)...)
	}
	return b
}

// sender is the end of a connection that opens it and sends. Offsets count what takes a
// sequence number: 0 is SYN, 1 the first byte, and total+1 FIN.
type sender struct {
	e     *end
	s     *series
	total uint64

	una, nxt, most uint64 // acknowledged, sent next, most sent
	cwnd, ssthresh int
	window         int // of the receiver
	dup            int
	recover        uint64 // end of a recovery; 0: none
	peer           uint32 // what is acknowledged to the other end

	rto, srtt, rttvar vtime.Time
	timed             uint64 // offset that is timed; 0 with timedAt 0: none
	timedAt           vtime.Time
	deadline          vtime.Time // 0: no timer
	retries           int
	finished          vtime.Time // when all was acknowledged; 0: not yet
}

const tcpISS = 1_000_000 // first sequence number of both ends

func newSender(e *end, s *series) *sender {
	return &sender{e: e, s: s, total: uint64(s.spec.TCP.Bytes), cwnd: tcpFirstCwnd, ssthresh: tcpWindow, window: tcpWindow, rto: tcpFirstRTO}
}

// Fire implements vtime.Event: the start, or the retransmission timer.
func (c *sender) Fire(now vtime.Time, arg uint64) {
	switch {
	case arg == 0:
		c.output(now)
	case c.deadline == 0 || c.finished > 0:
	case now < c.deadline: // it was set anew
		c.e.port.At(c.deadline, c, 1)
	default:
		c.timeout(now)
	}
}

func (c *sender) timeout(now vtime.Time) {
	c.deadline = 0
	if c.retries++; c.retries > tcpRetries {
		return // given up
	}
	c.ssthresh = max(int(c.nxt-c.una)/2, 2*tcpMSS)
	c.cwnd, c.dup, c.recover, c.timedAt = tcpMSS, 0, 0, 0
	c.rto = min(2*c.rto, tcpMostRTO)
	c.nxt = c.una
	c.output(now)
}

// open reports whether the connection still sends.
func (c *sender) open() bool { return c.finished == 0 && c.retries <= tcpRetries }

// output sends what the windows allow.
func (c *sender) output(now vtime.Time) {
	for c.nxt < c.total+2 {
		if c.una == 0 && c.nxt > 0 {
			break // the handshake
		}
		room := int64(min(c.cwnd, c.window)) - int64(c.nxt-c.una)
		if need := min(int64(tcpMSS), max(int64(c.total+1-min(c.nxt, c.total+1)), 1)); room < need && c.nxt > c.una {
			break
		}
		c.nxt += c.send(now, c.nxt)
	}
	if c.nxt > c.una && c.deadline == 0 {
		c.arm(now)
	}
}

func (c *sender) arm(now vtime.Time) {
	c.deadline = now + c.rto
	c.e.port.At(c.deadline, c, 1)
}

// send sends the segment at an offset, and returns how many sequence numbers it takes.
func (c *sender) send(now vtime.Time, at uint64) uint64 {
	t := c.s.spec.TCP
	flags, data, takes := uint8(tcpACK), 0, uint64(1)
	switch {
	case at == 0:
		flags = tcpSYN
	case at <= c.total:
		data = int(min(c.total+1-at, tcpMSS))
		takes = uint64(data)
	default:
		flags |= tcpFIN
	}
	b := append([]byte(nil), c.s.spec.base[:c.s.spec.head]...)
	binary.BigEndian.PutUint16(b[c.s.spec.ip+4:], uint16(c.s.sent+1))
	c.e.transmit(now, c.s, appendTCP(b, c.s.spec.ip, t.Source, t.Destination, tcpISS+uint32(at), c.peer, flags, data))
	if c.timedAt == 0 && at >= c.most { // Karn: not of retransmissions
		c.timed, c.timedAt = at, now
	}
	c.most = max(c.most, at+takes)
	return takes
}

// receive handles a segment of the other end.
func (c *sender) receive(now vtime.Time, g *segment) {
	if g.flags&tcpACK == 0 {
		return
	}
	acked := c.una + uint64(g.ack-(tcpISS+uint32(c.una)))
	if acked > c.most {
		return // old, or of nothing that was sent
	}
	c.window = int(g.window)
	if g.flags&tcpSYN != 0 {
		c.peer = g.seq + 1
	}
	switch {
	case acked > c.una:
		c.ack(now, acked)
	case g.length == 0 && g.flags&(tcpSYN|tcpFIN) == 0 && c.nxt > c.una:
		c.duplicate(now)
	}
	if g.flags&tcpFIN != 0 {
		c.peer = g.seq + uint32(g.length) + 1
		c.e.transmit(now, c.s, reply(c.e, g, tcpISS+uint32(c.total)+2, c.peer, tcpACK))
	}
}

func (c *sender) ack(now vtime.Time, acked uint64) {
	n := int(acked - c.una)
	if c.timedAt > 0 && acked > c.timed {
		c.sample(now - c.timedAt)
		c.timedAt = 0
	}
	c.una, c.nxt, c.retries = acked, max(c.nxt, acked), 0
	switch {
	case c.recover > 0 && acked < c.recover: // the next hole (RFC 6582)
		c.send(now, c.una)
		c.cwnd = max(c.cwnd-n+tcpMSS, tcpMSS)
	case c.recover > 0:
		c.cwnd, c.recover = c.ssthresh, 0
	case c.cwnd < c.ssthresh:
		c.cwnd += min(n, tcpMSS)
	default:
		c.cwnd += max(1, tcpMSS*tcpMSS/c.cwnd)
	}
	c.dup, c.deadline = 0, 0
	if c.una == c.total+2 {
		c.finished = now
		return
	}
	if c.nxt > c.una {
		c.arm(now)
	}
	c.output(now)
}

func (c *sender) duplicate(now vtime.Time) {
	switch c.dup++; {
	case c.dup == 3 && c.recover == 0:
		c.ssthresh = max(int(c.nxt-c.una)/2, 2*tcpMSS)
		c.recover, c.timedAt = c.nxt, 0
		c.send(now, c.una)
		c.cwnd = c.ssthresh + 3*tcpMSS
	case c.dup > 3 && c.recover > 0:
		c.cwnd += tcpMSS
		c.output(now)
	}
}

// sample updates the timer with a round-trip time (RFC 6298, 2).
func (c *sender) sample(rtt vtime.Time) {
	if c.srtt == 0 {
		c.srtt, c.rttvar = rtt, rtt/2
	} else {
		diff := c.srtt - rtt
		c.rttvar = (3*c.rttvar + max(diff, -diff)) / 4
		c.srtt = (7*c.srtt + rtt) / 8
	}
	c.rto = min(max(c.srtt+max(4*c.rttvar, vtime.Millisecond), tcpLeastRTO), tcpMostRTO)
}

// receiver is the end of a connection that accepts it. It only answers.
type receiver struct {
	irs      uint32
	expected uint64            // next offset; 0: SYN
	early    map[uint64]uint64 // segments after a gap: begin and end
	fin      uint64            // offset of FIN; 0: not yet seen
}

// peerKey is a connection as its receiver knows it.
type peerKey struct {
	addr         netip.Addr
	sport, dport uint16
}

func (c *receiver) receive(e *end, g *segment) []byte {
	if g.flags&tcpSYN != 0 {
		if c.expected == 0 {
			c.irs, c.expected = g.seq, 1
		}
		return reply(e, g, tcpISS, c.irs+1, tcpSYN|tcpACK)
	}
	if c.expected == 0 || g.length == 0 && g.flags&tcpFIN == 0 {
		return nil
	}
	at := c.expected + uint64(int64(int32(g.seq-(c.irs+uint32(c.expected)))))
	until := at + uint64(g.length)
	if g.flags&tcpFIN != 0 {
		c.fin = until
	}
	if at <= c.expected { // also after a wrap below zero, which is far above
		c.expected = max(c.expected, until)
	} else if at-c.expected <= tcpWindow {
		c.early[at] = max(c.early[at], until)
	}
	for again := true; again; {
		again = false
		for from, to := range c.early {
			if from <= c.expected {
				c.expected = max(c.expected, to)
				delete(c.early, from)
				again = true
			}
		}
	}
	if c.fin > 0 && c.expected == c.fin {
		c.expected++ // of FIN
	}
	if c.fin > 0 && c.expected > c.fin {
		return reply(e, g, tcpISS+1, c.irs+uint32(c.expected), tcpFIN|tcpACK)
	}
	return reply(e, g, tcpISS+1, c.irs+uint32(c.expected), tcpACK)
}

// bytes returns how much data arrived in order, and whether all did and it was closed.
func (c *receiver) bytes() (n uint64, closed bool) {
	if c.expected == 0 {
		return 0, false
	}
	if closed = c.fin > 0 && c.expected > c.fin; closed {
		return c.fin - 1, true
	}
	return c.expected - 1, false
}

// reply makes the answer to a segment.
func reply(e *end, g *segment, seq, ack uint32, flags uint8) []byte {
	b := make([]byte, packet.EthernetLen+packet.IPv4Len, minFrame)
	packet.Ethernet(b).Set(g.next, e.owner(g.dst).MAC, packet.EtherTypeIPv4)
	ip := b[packet.EthernetLen:]
	ip[0], ip[6], ip[8], ip[9] = 0x45, 0x40, 64, packet.ProtoTCP // may not be fragmented
	from, to := g.dst.As4(), g.src.As4()
	copy(ip[12:], from[:])
	copy(ip[16:], to[:])
	return appendTCP(b, packet.EthernetLen, g.dport, g.sport, seq, ack, flags, 0)
}

// tcp handles a frame that may be of a TCP connection, and returns an answer or nil.
func (e *end) tcp(now vtime.Time, d []byte) []byte {
	g, ok := parseTCP(d)
	if !ok || e.owner(g.dst) == nil {
		return nil
	}
	for _, s := range e.series {
		if c := s.conn; c != nil && g.sport == s.spec.TCP.Destination && g.dport == s.spec.TCP.Source {
			c.receive(now, &g)
			return nil
		}
	}
	if !e.run.listens[g.dport] || g.flags&tcpRST != 0 {
		return nil
	}
	key := peerKey{g.src, g.sport, g.dport}
	c := e.accepted[key]
	if c == nil {
		if g.flags&tcpSYN == 0 {
			return nil
		}
		if e.accepted == nil {
			e.accepted = make(map[peerKey]*receiver)
		}
		c = &receiver{early: make(map[uint64]uint64)}
		e.accepted[key] = c
	}
	return c.receive(e, &g)
}

// Stream returns how many bytes of a series, a TCP connection, have arrived at a host in
// order, and whether all have and the connection was closed.
func (r *Run) Stream(series, host int) (n uint64, closed bool) {
	s := &r.list[series]
	e := r.ends[host]
	if e == nil {
		return 0, false
	}
	key := peerKey{r.net.Nodes[s.src].IP, s.TCP.Source, s.TCP.Destination}
	if c := e.accepted[key]; c != nil {
		return c.bytes()
	}
	for other, c := range e.accepted { // a program may have changed the address
		if other.sport == key.sport && other.dport == key.dport {
			return c.bytes()
		}
	}
	return 0, false
}

// connection reports whether a series is a TCP connection.
func (s *Spec) connection() bool { return s.TCP != nil && s.TCP.Bytes > 0 }

// checkConnection returns an error in the keys of a TCP connection.
func (s *Spec) checkConnection() (key string, err error) {
	switch {
	case s.To == "":
		return "to", fmt.Errorf("a TCP connection needs the host that it leads to")
	case s.TCP.Destination == 0 || s.TCP.Source == 0:
		return "tcp", fmt.Errorf("a TCP connection needs both ports, source and destination")
	case s.Count > 0 || s.Every > 0 || s.Rate > 0 || s.Duration > 0 || s.Size > 0 || s.Text != "" || len(s.TCP.Flags) > 0 || s.TCP.Seq > 0 || s.TCP.Ack > 0:
		return "tcp.bytes", fmt.Errorf("a TCP connection of some bytes sends its own segments: leave out count, every, rate, duration, size, text, flags, seq and ack")
	case s.TCP.Bytes > maxStream:
		return "tcp.bytes", fmt.Errorf("bytes is %v, at most %v", s.TCP.Bytes, vtime.Size(maxStream))
	}
	return "", nil
}

// maxStream is the most that a TCP connection carries: frames are kept in memory.
const maxStream = 100 * vtime.MB
