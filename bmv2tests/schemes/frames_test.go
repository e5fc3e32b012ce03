// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"

	"github.com/pauseless/pauseless/internal/packet"
)

// roce is a RoCEv2 packet that a test sends.
type roce struct {
	src, dst string // host names: "h1" and so on, two on each leaf in order
	sport    uint16
	dscp     uint8
	ecn      packet.ECN
	size     int // of the payload
}

// addr is the address of a host of leafSpine.
func addr(host string) netip.Addr {
	n := int(host[1]-'0') - 1
	return netip.AddrFrom4([4]byte{10, 0, byte(n / 2), byte(n%2 + 1)})
}

func mac(host string) packet.MAC { return packet.MAC{2, 0, 0, 0, 0, host[1] - '0'} }

// bytes returns the frame.
func (r roce) bytes() []byte {
	if r.dscp == 0 {
		r.dscp = 26
	}
	if r.size == 0 {
		r.size = 1000
	}
	udp := packet.UDPLen + packet.BTHLen + r.size
	b := make([]byte, packet.EthernetLen+packet.IPv4Len+udp)
	packet.Ethernet(b).Set(mac(r.dst), mac(r.src), packet.EtherTypeIPv4)
	ip := packet.IPv4(b[packet.EthernetLen:])
	ip.Set(addr(r.src), addr(r.dst), packet.ProtoUDP, r.dscp, r.ecn, 1, packet.IPv4Len+udp)
	packet.UDP(ip[packet.IPv4Len:]).Set(r.sport, packet.PortRoCEv2, udp)
	packet.BTH(ip[packet.IPv4Len+packet.UDPLen:]).Set(packet.OpRDMAWriteMiddle, 0x77, 5, false)
	return b
}

// behindEthernet inserts a header after the Ethernet header.
func behindEthernet(f []byte, etherType uint16, header []byte) []byte {
	b := slices.Concat(f[:packet.EthernetLen], header, f[packet.EthernetLen:])
	packet.Ethernet(b).Set(packet.Ethernet(f).Dst(), packet.Ethernet(f).Src(), etherType)
	return b
}

// tagged is an IP frame with a host's tag that names a path of its leaf.
func tagged(f []byte, path uint8) []byte {
	tag := make([]byte, packet.TagLen)
	packet.Tag(tag).Set(path, packet.TagNoPath, 0, packet.EtherTypeIPv4)
	return behindEthernet(f, packet.EtherTypeLocal, tag)
}

// arpRequest is an ARP request for the address of a host.
func arpRequest(src, dst string) []byte {
	b := make([]byte, 60)
	packet.Ethernet(b).Set(packet.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, mac(src), packet.EtherTypeARP)
	a := b[packet.EthernetLen:]
	copy(a, []byte{0, 1, 8, 0, 6, 4, 0, 1})
	m, s, d := mac(src), addr(src).As4(), addr(dst).As4()
	copy(a[8:], m[:])
	copy(a[14:], s[:])
	copy(a[24:], d[:])
	return b
}

func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
