// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
)

const (
	protoICMP       = 1
	tcpLen, icmpLen = 20, 8
	// minFrame is the shortest frame of Ethernet without its check sequence, in bytes.
	minFrame = 60
)

// build makes the frame of a series.
func (s *Spec) build(t *topo.Topology, from, to *topo.Node) (key string, err error) {
	eth := packet.Ethernet(make([]byte, packet.EthernetLen))
	src, dst, typ := from.MAC, from.To(to), packet.EtherTypeIPv4
	if err := setMAC(&src, s.Ethernet.Source); err != nil {
		return "ethernet.source", err
	}
	if err := setMAC(&dst, s.Ethernet.Destination); err != nil {
		return "ethernet.destination", err
	}
	if text := s.Ethernet.Type; text != "" {
		n, err := strconv.ParseUint(text, 0, 16)
		if err != nil {
			return "ethernet.type", fmt.Errorf("type %q is not a number of 16 bits, such as 0x0800", text)
		}
		typ = uint16(n)
	}
	eth.Set(dst, src, typ)
	insert, err := fromHex(s.Insert)
	if err != nil {
		return "insert", err
	}
	s.base = append(eth, insert...)
	if s.Hex != "" {
		raw, err := fromHex(s.Hex)
		if err != nil {
			return "hex", err
		}
		s.base = append(append(s.base, raw...), s.Text...)
	} else if key, err := s.addIPv4(from, to); err != nil {
		return key, err
	}
	if len(s.base) > maxFrame {
		return "", fmt.Errorf("the frame has %d bytes; the most is %d", len(s.base), maxFrame)
	}
	return "", nil
}

// addIPv4 adds the IPv4 header and what follows.
func (s *Spec) addIPv4(from, to *topo.Node) (key string, err error) {
	src, dst := from.IP, netip.Addr{}
	if to != nil {
		dst = to.IP
	}
	for _, x := range []struct {
		key, text string
		to        *netip.Addr
	}{{"ipv4.source", s.IPv4.Source, &src}, {"ipv4.destination", s.IPv4.Destination, &dst}} {
		if x.text == "" {
			continue
		}
		if *x.to, err = netip.ParseAddr(x.text); err != nil || !x.to.Is4() {
			return x.key, fmt.Errorf("%q is not an IPv4 address", x.text)
		}
	}
	if !dst.IsValid() {
		return "to", fmt.Errorf("no destination: give to, or ipv4.destination")
	}
	options, err := fromHex(s.IPv4.Options)
	if err != nil || len(options)%4 != 0 || len(options) > 40 {
		return "ipv4.options", fmt.Errorf("options have to be up to 40 bytes in hexadecimal, a multiple of four")
	}
	s.ip = len(s.base)
	header := packet.IPv4Len + len(options)
	payload, proto, err := s.transport(header)
	if err != nil {
		return "tcp.flags", err
	}
	want := int(s.Size)
	if want > 0 {
		if have := s.ip + header + len(payload); have > want {
			return "size", fmt.Errorf("size is %d bytes, and the headers and the text take %d", want, have)
		}
		payload = append(payload, make([]byte, want-s.ip-header-len(payload))...)
	}
	tos, ttl := uint8(0), uint8(64)
	if s.IPv4.TOS != nil {
		tos = *s.IPv4.TOS
	}
	if s.IPv4.DSCP != nil {
		tos = tos&3 | *s.IPv4.DSCP<<2
	}
	if s.IPv4.ECN != nil {
		tos = tos&^3 | *s.IPv4.ECN
	}
	if s.IPv4.TTL != nil {
		ttl = *s.IPv4.TTL
	}
	if s.IPv4.Protocol != nil {
		proto = *s.IPv4.Protocol
	}
	b := make([]byte, header)
	b[0], b[1], b[8], b[9] = 0x40|byte(header/4), tos, ttl, proto
	binary.BigEndian.PutUint16(b[2:], uint16(header+len(payload)))
	s4, d4 := src.As4(), dst.As4()
	copy(b[12:], s4[:])
	copy(b[16:], d4[:])
	copy(b[packet.IPv4Len:], options)
	if at := checksumAt(proto); at > 0 && at+2 <= len(payload) {
		var covered []byte
		if proto != protoICMP { // the pseudo header (RFC 768, RFC 9293)
			covered = binary.BigEndian.AppendUint16(append(slices.Clone(b[12:20]), 0, proto), uint16(len(payload)))
		}
		sum := packet.Checksum(append(covered, payload...))
		if sum == 0 && proto == packet.ProtoUDP {
			sum = 0xffff // zero says that there is none (RFC 768)
		}
		binary.BigEndian.PutUint16(payload[at:], sum)
	}
	s.head = s.ip + header
	s.base = append(append(s.base, b...), payload...)
	if n := len(s.base); n < minFrame { // as adapters fill short frames
		s.base = append(s.base, make([]byte, minFrame-n)...)
	}
	return "", nil
}

// checksumAt returns the offset of a protocol's checksum, or 0.
func checksumAt(proto uint8) int {
	switch proto {
	case protoICMP:
		return 2
	case packet.ProtoUDP:
		return 6
	case packet.ProtoTCP:
		return 16
	}
	return 0
}

var tcpFlags = []string{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"}

// transport returns what follows the IPv4 header, which has so many bytes, and its
// protocol.
func (s *Spec) transport(header int) ([]byte, uint8, error) {
	switch {
	case s.UDP != nil:
		b := make([]byte, packet.UDPLen, packet.UDPLen+len(s.Text))
		binary.BigEndian.PutUint16(b, s.UDP.Source)
		binary.BigEndian.PutUint16(b[2:], s.UDP.Destination)
		n := packet.UDPLen + len(s.Text)
		if s.Size > 0 {
			n = max(n, int(s.Size)-s.ip-header)
		}
		binary.BigEndian.PutUint16(b[4:], uint16(n))
		return append(b, s.Text...), packet.ProtoUDP, nil
	case s.TCP != nil:
		flags := uint8(0)
		for _, name := range s.TCP.Flags {
			i := slices.Index(tcpFlags, name)
			if i < 0 {
				return nil, 0, fmt.Errorf("no flag of TCP is called %q%s", name, diag.DidYouMean(name, tcpFlags))
			}
			flags |= 1 << i
		}
		if len(s.TCP.Flags) == 0 {
			flags = 2
		}
		b := make([]byte, tcpLen, tcpLen+len(s.Text))
		binary.BigEndian.PutUint16(b, s.TCP.Source)
		binary.BigEndian.PutUint16(b[2:], s.TCP.Destination)
		binary.BigEndian.PutUint32(b[4:], s.TCP.Seq)
		binary.BigEndian.PutUint32(b[8:], s.TCP.Ack)
		b[12], b[13], b[14] = tcpLen/4<<4, flags, 0x20 // a window of 8192
		return append(b, s.Text...), packet.ProtoTCP, nil
	case s.Ping:
		b := make([]byte, icmpLen, icmpLen+len(s.Text))
		b[0], b[7] = 8, 1 // echo request, number one
		return append(b, s.Text...), protoICMP, nil
	}
	return []byte(s.Text), 253, nil // for experiments, RFC 3692
}

// numbered returns the i-th frame of a series, from 0: its IPv4 identification counts
// from 1. The result is valid until the next call.
func (s *Spec) numbered(i int, buf []byte) []byte {
	if s.Pcap != "" {
		return s.frames[i].data
	}
	buf = append(buf[:0], s.base...)
	if s.ip == 0 {
		return buf
	}
	id := uint16(i + 1)
	if s.IPv4.ID != nil {
		id = *s.IPv4.ID
	}
	h := packet.IPv4(buf[s.ip:])
	binary.BigEndian.PutUint16(h[4:], id)
	h.UpdateChecksum()
	return buf
}

func setMAC(m *packet.MAC, text string) error {
	if text == "" {
		return nil
	}
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != len(m) {
		return fmt.Errorf("%q is not a MAC address, such as 08:00:00:00:01:11", text)
	}
	copy(m[:], mac)
	return nil
}
