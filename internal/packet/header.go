// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

var be = binary.BigEndian

// EtherTypes of the frames that the switches and hosts exchange.
const (
	EtherTypeIPv4       uint16 = 0x0800
	EtherTypeMACControl uint16 = 0x8808 // IEEE 802.3 clause 31: PAUSE and PFC
)

// MAC is an Ethernet address.
type MAC [6]byte

// String returns the address as six hexadecimal pairs.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// EthernetLen is the length of an Ethernet header in bytes.
const EthernetLen = 14

// Ethernet is a view of an Ethernet header.
type Ethernet []byte

// AsEthernet returns the view of the frame at b, or nil if b is too short.
func AsEthernet(b []byte) Ethernet {
	if len(b) < EthernetLen {
		return nil
	}
	return Ethernet(b)
}

func (b Ethernet) Dst() MAC          { return MAC(b[0:6]) }
func (b Ethernet) Src() MAC          { return MAC(b[6:12]) }
func (b Ethernet) EtherType() uint16 { return be.Uint16(b[12:]) }
func (b Ethernet) Payload() []byte   { return b[EthernetLen:] }

// Set fills the whole header.
func (b Ethernet) Set(dst, src MAC, etherType uint16) {
	copy(b[0:6], dst[:])
	copy(b[6:12], src[:])
	be.PutUint16(b[12:], etherType)
}

// IPv4Len is the length of an IPv4 header without options in bytes.
const IPv4Len = 20

// Protocol numbers.
const (
	ProtoTCP uint8 = 6
	ProtoUDP uint8 = 17
)

// ECN is the two low bits of the IPv4 traffic class byte (RFC 3168).
type ECN uint8

// ECN codepoints.
const (
	NotECT ECN = 0
	ECT1   ECN = 1
	ECT0   ECN = 2
	CE     ECN = 3
)

// IPv4 is a view of an IPv4 header.
type IPv4 []byte

// AsIPv4 returns the view of the packet at b, or nil if b does not start with a
// complete IPv4 header.
func AsIPv4(b []byte) IPv4 {
	if len(b) < IPv4Len || b[0]>>4 != 4 || b[0]&0xf < 5 || len(b) < int(b[0]&0xf)*4 {
		return nil
	}
	return IPv4(b)
}

func (b IPv4) HeaderLen() int   { return int(b[0]&0xf) * 4 }
func (b IPv4) DSCP() uint8      { return b[1] >> 2 }
func (b IPv4) ECN() ECN         { return ECN(b[1] & 3) }
func (b IPv4) TotalLen() int    { return int(be.Uint16(b[2:])) }
func (b IPv4) ID() uint16       { return be.Uint16(b[4:]) }
func (b IPv4) TTL() uint8       { return b[8] }
func (b IPv4) Protocol() uint8  { return b[9] }
func (b IPv4) Checksum() uint16 { return be.Uint16(b[10:]) }
func (b IPv4) Src() netip.Addr  { return netip.AddrFrom4([4]byte(b[12:16])) }
func (b IPv4) Dst() netip.Addr  { return netip.AddrFrom4([4]byte(b[16:20])) }
func (b IPv4) Payload() []byte  { return b[b.HeaderLen():] }
func (b IPv4) ChecksumOK() bool { return Checksum(b[:b.HeaderLen()]) == 0 }
func (b IPv4) UpdateChecksum() {
	be.PutUint16(b[10:], 0)
	be.PutUint16(b[10:], Checksum(b[:b.HeaderLen()]))
}
func (b IPv4) SetECN(e ECN)      { b[1] = b[1]&^3 | byte(e) }
func (b IPv4) SetDSCP(d uint8)   { b[1] = d<<2 | b[1]&3 }
func (b IPv4) SetTotalLen(n int) { be.PutUint16(b[2:], uint16(n)) }

// Set fills a header without options for a packet of totalLen bytes and
// computes its checksum.
func (b IPv4) Set(src, dst netip.Addr, protocol, dscp uint8, ecn ECN, id uint16, totalLen int) {
	b[0] = 0x45
	b[1] = dscp<<2 | byte(ecn)
	be.PutUint16(b[2:], uint16(totalLen))
	be.PutUint16(b[4:], id)
	be.PutUint16(b[6:], 0x4000) // don't fragment
	b[8] = 64
	b[9] = protocol
	s, d := src.As4(), dst.As4()
	copy(b[12:16], s[:])
	copy(b[16:20], d[:])
	b.UpdateChecksum()
}

// Checksum returns the Internet checksum (RFC 1071) of b. Over data that
// contains its own correct checksum it is zero.
func Checksum(b []byte) uint16 {
	var sum uint32
	for len(b) >= 2 {
		sum += uint32(be.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// UDPLen is the length of a UDP header in bytes.
const UDPLen = 8

// PortRoCEv2 is the UDP destination port of RoCEv2.
const PortRoCEv2 uint16 = 4791

// UDP is a view of a UDP header.
type UDP []byte

// AsUDP returns the view of the datagram at b, or nil if b is too short.
func AsUDP(b []byte) UDP {
	if len(b) < UDPLen {
		return nil
	}
	return UDP(b)
}

func (b UDP) SrcPort() uint16 { return be.Uint16(b[0:]) }
func (b UDP) DstPort() uint16 { return be.Uint16(b[2:]) }
func (b UDP) Len() int        { return int(be.Uint16(b[4:])) }
func (b UDP) Payload() []byte { return b[UDPLen:] }

// Set fills the header of a datagram of n bytes including the header. The
// checksum is zero (none), as from RoCEv2 senders.
func (b UDP) Set(src, dst uint16, n int) {
	be.PutUint16(b[0:], src)
	be.PutUint16(b[2:], dst)
	be.PutUint16(b[4:], uint16(n))
	be.PutUint16(b[6:], 0)
}

// FindIPv4 returns the view of the IPv4 packet in the Ethernet frame at b, or
// nil. Before it may be a scheme's header, whose length only its program knows.
// Then the packet begins at the first offset with a correct header checksum.
func FindIPv4(b []byte) IPv4 {
	eth := AsEthernet(b)
	if eth == nil {
		return nil
	}
	switch rest := eth.Payload(); eth.EtherType() {
	case EtherTypeIPv4:
		return AsIPv4(rest)
	case EtherTypeFabric, EtherTypeLocal:
		for i := 2; i+IPv4Len <= len(rest); i++ {
			if ip := AsIPv4(rest[i:]); ip != nil && rest[i] == 0x45 && ip.ChecksumOK() {
				return ip
			}
		}
	}
	return nil
}
