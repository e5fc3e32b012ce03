// SPDX-License-Identifier: Apache-2.0

package port

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/internal/packet"
)

// struct virtio_net_hdr has the offloads that a sender on the same machine
// leaves to the hardware: checksums that are not computed, and segments that
// are not split. Linux defines it in include/uapi/linux/virtio_net.h.
const (
	vnetNeedsCsum = 1
	gsoNone       = 0
	gsoTCPv4      = 1
	gsoTCPv6      = 4
	gsoUDPL4      = 5
	gsoECN        = 0x80 // flag
)

// Lengths of headers in bytes, without options.
const (
	ipv4Len = 20
	ipv6Len = 40
	udpLen  = 8
	tcpLen  = 20
)

// maxSegments limits the segments of a frame. Linux splits TCP's 64 KB into
// segments of at least 48 bytes, and UDP's into at most 128.
const maxSegments = 2048

// insertTag inserts a VLAN tag after the addresses of a frame.
func insertTag(frame []byte, tag [4]byte) []byte {
	out := make([]byte, 0, len(frame)+4)
	out = append(out, frame[:12]...)
	out = append(out, tag[:]...)
	return append(out, frame[12:]...)
}

// vnetLen is the length of struct virtio_net_hdr.
const vnetLen = 10

// complete reports whether a frame has no pending offloads.
func complete(vnet []byte) bool { return vnet[0]&vnetNeedsCsum == 0 && vnet[1]&^gsoECN == gsoNone }

// finishOffload adds a frame to a batch after performing its offloads: with its
// checksum, and in segments.
func finishOffload(vnet, frame []byte, b *Batch) {
	flags, gso := vnet[0], vnet[1]&^gsoECN
	size := int(binary.NativeEndian.Uint16(vnet[4:]))
	start, offset := int(binary.NativeEndian.Uint16(vnet[6:])), int(binary.NativeEndian.Uint16(vnet[8:]))
	if gso != gsoNone && size > 0 && segment(gso, size, start, frame, b) {
		return
	}
	if flags&vnetNeedsCsum != 0 && start+offset+2 <= len(frame) {
		sum := packet.Checksum(frame[start:]) // the field has that of the pseudo-header
		if sum == 0 && offset == 6 {          // UDP: zero means none
			sum = 0xffff
		}
		binary.BigEndian.PutUint16(frame[start+offset:], sum)
	}
	b.Add(frame)
}

// segment splits a TCP or UDP packet into segments of size bytes. The transport
// header is at start. It returns false if it cannot; the frame is then passed
// on unsplit.
func segment(gso byte, size, start int, frame []byte, b *Batch) bool {
	network := packet.EthernetLen
	if len(frame) < network {
		return false
	}
	etherType := binary.BigEndian.Uint16(frame[12:])
	if etherType == 0x8100 || etherType == 0x88a8 {
		if len(frame) < network+4 {
			return false
		}
		etherType = binary.BigEndian.Uint16(frame[16:])
		network += 4
	}
	v4 := etherType == packet.EtherTypeIPv4
	least := network + ipv4Len
	if !v4 {
		least = network + ipv6Len
	}
	if !v4 && etherType != 0x86dd || start < least || start+udpLen > len(frame) {
		return false
	}
	headers, csumAt, proto := start+udpLen, start+6, packet.ProtoUDP
	if gso != gsoUDPL4 {
		if start+tcpLen > len(frame) {
			return false
		}
		headers, csumAt, proto = start+int(frame[start+12]>>4)*4, start+16, packet.ProtoTCP
		if headers < start+tcpLen { // the length is only the sender's claim
			return false
		}
	}
	if headers >= len(frame) || (len(frame)-headers)/size >= maxSegments {
		return false
	}
	payload := frame[headers:]
	id, seq := binary.BigEndian.Uint16(frame[network+4:]), uint32(0)
	flagsAt := start + 13
	if proto == packet.ProtoTCP {
		seq = binary.BigEndian.Uint32(frame[start+4:])
	}
	for n := 0; len(payload) > 0; n++ {
		part := payload[:min(size, len(payload))]
		payload = payload[len(part):]
		out := make([]byte, 0, headers+len(part))
		out = append(append(out, frame[:headers]...), part...)
		length := len(out) - network
		if v4 {
			binary.BigEndian.PutUint16(out[network+2:], uint16(length))
			binary.BigEndian.PutUint16(out[network+4:], id+uint16(n))
			binary.BigEndian.PutUint16(out[network+10:], 0)
			binary.BigEndian.PutUint16(out[network+10:], packet.Checksum(out[network:start]))
		} else {
			binary.BigEndian.PutUint16(out[network+4:], uint16(length-40))
		}
		if proto == packet.ProtoTCP {
			binary.BigEndian.PutUint32(out[start+4:], seq)
			seq += uint32(len(part))
			if len(payload) > 0 {
				out[flagsAt] &^= 0x09 // FIN and PSH belong to the last segment
			}
			if n > 0 {
				out[flagsAt] &^= 0x80 // CWR belongs to the first segment
			}
		} else {
			binary.BigEndian.PutUint16(out[start+4:], uint16(len(out)-start))
		}
		binary.BigEndian.PutUint16(out[csumAt:], 0)
		sum := transportChecksum(out, network, start, v4, proto)
		if sum == 0 && proto == packet.ProtoUDP {
			sum = 0xffff
		}
		binary.BigEndian.PutUint16(out[csumAt:], sum)
		b.Add(out)
	}
	return true
}

// transportChecksum computes the checksum of TCP or UDP with its pseudo-header.
func transportChecksum(frame []byte, network, start int, v4 bool, proto uint8) uint16 {
	var pseudo []byte
	length := len(frame) - start
	if v4 {
		pseudo = append(pseudo, frame[network+12:network+20]...)
		pseudo = append(pseudo, 0, proto)
		pseudo = binary.BigEndian.AppendUint16(pseudo, uint16(length))
	} else {
		pseudo = append(pseudo, frame[network+8:network+40]...)
		pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(length))
		pseudo = append(pseudo, 0, 0, 0, proto)
	}
	sum := uint32(^packet.Checksum(pseudo)) + uint32(^packet.Checksum(frame[start:]))
	sum = sum&0xffff + sum>>16
	return ^uint16(sum)
}
