// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/packet"
)

// The formats of headers are written here again, as package packet documents them,
// so that an error in a layout is not in both the program and the model.

// Headers that all programs have.
var (
	ethernet = NewHeader("dst:48 src:48 type:16")
	tag      = NewHeader("kind:8 path:8 upper_path:8 reserved:8 coflow:16 type:16")
	pfc      = NewHeader("opcode:16 reserved:8 classes:8 pause0:16 pause1:16 pause2:16 pause3:16 pause4:16 pause5:16 pause6:16 pause7:16")
	arp      = NewHeader("formats:48 operation:16 sender:48 source:32 receiver:48 target:32")
	IPv4     = NewHeader("version:4 ihl:4 dscp:6 ecn:2 length:16 id:16 flags:3 fragment:13 ttl:8 protocol:8 checksum:16 src:32 dst:32")
	UDP      = NewHeader("src:16 dst:16 length:16 checksum:16")
	BTH      = NewHeader("opcode:8 flags:8 key:16 congestion:8 pair:24 number:32") // base transport header of RoCEv2
)

// telemetries are the headers with which hosts request telemetry, by UDP port: room
// for HPCC's records, and PINT's digest.
var telemetries = map[int]*Header{
	PortINT:  NewHeader("hops:4 path:12 hop0:64 hop1:64 hop2:64 hop3:64 hop4:64"),
	PortPINT: NewHeader("code:16"),
}

// The header between leaves begins with this; schemes add to it.
const fabricList = "type:16 src_leaf:16 path:8"

// BE is the order of bytes on the wire.
var BE = binary.BigEndian

// EtherTypes, and the first byte of a host's tag.
const (
	TypeIPv4   = 0x0800
	TypeARP    = 0x0806
	TypePFC    = 0x8808
	TypeFabric = 0x88b5
	TypeLocal  = 0x88b6

	kindTag = 0x10
)

// PortINT, PortPINT and PortRoCE are the UDP ports of RoCEv2, with HPCC's telemetry,
// with PINT's and without.
const (
	PortINT  = 54791
	PortPINT = 54793
	PortRoCE = 4791
)

// A Header is a list of fields with their bits.
type Header struct {
	names []string
	bits  []int
	len   int // bytes
}

// NewHeader reads a list as in "path:8 leaf:16".
func NewHeader(list string) *Header {
	h := &Header{}
	for _, f := range strings.Fields(list) {
		name, width, _ := strings.Cut(f, ":")
		n, err := strconv.Atoi(width)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		h.names, h.bits, h.len = append(h.names, name), append(h.bits, n), h.len+n
	}
	h.len /= 8
	return h
}

// Fields are the values of a header.
type Fields map[string]int64

// Append appends a header with the values to b, by a list as NewHeader takes.
func (v Fields) Append(b []byte, list string) []byte { return NewHeader(list).Append(b, v) }

// Append appends the header with values to b.
func (h *Header) Append(b []byte, v Fields) []byte {
	at := len(b) * 8
	b = append(b, make([]byte, h.len)...)
	for i, name := range h.names {
		for k := h.bits[i] - 1; k >= 0; k-- {
			b[at/8] |= byte(v[name]>>k&1) << (7 - at%8)
			at++
		}
	}
	return b
}

// take splits the header off the start of bytes; it is nil if there are too few.
func (h *Header) take(b *[]byte) Fields {
	if len(*b) < h.len {
		return nil
	}
	v, at := Fields{}, 0
	for i, name := range h.names {
		for range h.bits[i] {
			v[name] = v[name]<<1 | int64((*b)[at/8]>>(7-at%8)&1)
			at++
		}
	}
	*b = (*b)[h.len:]
	return v
}

// Frame is a parsed Ethernet frame. A header that is nil does not exist, or is not
// parsed by a switch with this program and therefore in Rest.
type Frame struct {
	Dst, Src                uint64
	Fabric                  Fields // the header between leaves
	Tag                     Fields // a host's
	Type                    uint16 // EtherType of what follows
	Local                   Fields // a message between neighbours, by its kind
	PFC, ARP                Fields
	IP, UDP, Telemetry, BTH Fields
	Rest                    []byte
}

// plain reports whether there are no options.
func (f *Frame) plain() bool { return f.IP["ihl"] == 5 }

// hasPorts reports whether an L4 header follows.
func (f *Frame) hasPorts() bool { return f.plain() && f.IP["fragment"] == 0 }

// Marked reports whether a packet has the mark by which hosts request postcards:
// the lowest bit of its DSCP.
func (f *Frame) Marked() bool { return f.IP["dscp"]&1 == 1 }

// UpdateChecksum computes the checksum of the IPv4 header. Options are at the start
// of Rest.
func (f *Frame) UpdateChecksum() {
	f.IP["checksum"] = 0
	options := min(max(int(f.IP["ihl"])*4-20, 0), len(f.Rest))
	f.IP["checksum"] = int64(packet.Checksum(append(IPv4.Append(nil, f.IP), f.Rest[:options]...)))
}

// Parse parses a frame as a switch with this program does.
func (p *Program) Parse(data []byte) *Frame {
	b := slices.Clone(data)
	e := ethernet.take(&b)
	if e == nil {
		panic("BUG: a frame without an Ethernet header")
	}
	f := &Frame{Dst: uint64(e["dst"]), Src: uint64(e["src"]), Type: uint16(e["type"])}
	if f.Type == TypeFabric && p.Is("fabric") {
		if f.Fabric = p.fabric.take(&b); f.Fabric != nil {
			f.Type = uint16(f.Fabric["type"])
		}
	}
	if f.Type == TypeLocal && len(b) > 0 {
		if h := p.local[b[0]]; b[0] == kindTag && p.Is("tag") {
			if f.Tag = tag.take(&b); f.Tag != nil {
				f.Type = uint16(f.Tag["type"])
			}
		} else if h != nil && f.Fabric == nil {
			f.Local = h.take(&b)
		}
	}
	switch f.Type {
	case TypePFC:
		if p.Is("pfc") && f.Fabric == nil && f.Tag == nil {
			f.PFC = pfc.take(&b)
		}
	case TypeARP:
		f.ARP = arp.take(&b)
	case TypeIPv4:
		if f.IP = IPv4.take(&b); f.IP != nil {
			p.parseL4(f, &b)
		}
	}
	f.Rest = b
	return f
}

// parseL4 parses the headers behind IP that a feature reads: telemetry in RoCEv2,
// on its own UDP port, and the base transport header.
func (p *Program) parseL4(f *Frame, b *[]byte) {
	if !f.hasPorts() || f.IP["protocol"] != 17 || len(*b) < 8 {
		return
	}
	port := int(BE.Uint16((*b)[2:]))
	records := p.reads(port)
	bth := false
	for _, s := range p.Schemes {
		bth = bth || s.BTH != nil && (records || port == PortRoCE) && s.BTH(f, port)
	}
	if !records && !bth {
		return
	}
	f.UDP = UDP.take(b)
	if records {
		if f.Telemetry = telemetries[port].take(b); f.Telemetry == nil {
			return
		}
	}
	if bth {
		f.BTH = BTH.take(b)
	}
}

// reads reports whether the program reads the telemetry on a UDP port.
func (p *Program) reads(port int) bool {
	return telemetries[port] != nil && p.any(func(s *Scheme) bool { return s.Telemetry == port })
}

// Bytes returns the bytes of a frame.
func (p *Program) Bytes(f *Frame) []byte {
	next := int64(f.Type)
	if f.Tag != nil {
		f.Tag["kind"], f.Tag["type"] = kindTag, next
		next = TypeLocal
	}
	if f.Fabric != nil {
		f.Fabric["type"] = next
		next = TypeFabric
	}
	b := ethernet.Append(nil, Fields{"dst": int64(f.Dst), "src": int64(f.Src), "type": next})
	for _, part := range []struct {
		*Header
		Fields
	}{
		{p.fabric, f.Fabric}, {tag, f.Tag}, {p.local[byte(f.Local["kind"])], f.Local}, {pfc, f.PFC}, {arp, f.ARP},
		{IPv4, f.IP}, {UDP, f.UDP}, {telemetries[int(f.UDP["dst"])], f.Telemetry}, {BTH, f.BTH},
	} {
		if part.Fields != nil {
			b = part.Header.Append(b, part.Fields)
		}
	}
	return append(b, f.Rest...)
}

// FiveTuple is the hash of a flow: CRC32 of addresses, protocol and ports; zero
// for packets that are not IPv4.
func (f *Frame) FiveTuple() uint32 {
	if f.IP == nil {
		return 0
	}
	behind := f.Rest
	if f.UDP != nil {
		behind = UDP.Append(nil, f.UDP)
	}
	ports := []byte{0, 0, 0, 0}
	if f.hasPorts() && (f.IP["protocol"] == 17 || f.IP["protocol"] == 6) && len(behind) >= 4 {
		ports = behind[:4]
	}
	return crc32.ChecksumIEEE(append(f.IP.Append(nil, "src:32 dst:32 protocol:8"), ports...))
}

// Backward is the FiveTuple of the packets that this one acknowledges: with the same ports,
// in the other direction.
func (f *Frame) Backward() uint32 {
	g := Frame{IP: maps.Clone(f.IP), UDP: f.UDP, Rest: f.Rest}
	g.IP["src"], g.IP["dst"] = f.IP["dst"], f.IP["src"]
	return g.FiveTuple()
}

// Of RoCEv2: the opcode of acknowledgements, where data has lower ones; the bytes of the
// header behind theirs; the syndrome of a NAK for a missing packet; and how many sequence
// numbers there are.
const (
	OpcodeACK   = 0x11
	AETH        = 4
	SyndromeNAK = 0x60
	PSNs        = 1 << 24
)

// IsData reports whether the packet is RoCEv2's data, in a program that reads its header.
func (f *Frame) IsData() bool { return f.BTH != nil && f.BTH["opcode"] < OpcodeACK }

// Syndrome is that of an acknowledgement of RoCEv2; -1 for another packet.
func (f *Frame) Syndrome() int {
	if f.BTH == nil || f.BTH["opcode"] != OpcodeACK || len(f.Rest) < 4 {
		return -1
	}
	return int(f.Rest[0])
}

// PSN is the packet sequence number of a packet of RoCEv2.
func (f *Frame) PSN() int64 { return f.BTH["number"] & (PSNs - 1) }

// Reached reports whether PSN a is b or comes after it.
func Reached(a, b int64) bool { return (a-b)&(PSNs-1) < PSNs/2 }

// CRC16 is CRC-16/ARC.
func CRC16(b []byte) uint16 {
	var c uint16
	for _, x := range b {
		c ^= uint16(x)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ 0xa001
			} else {
				c >>= 1
			}
		}
	}
	return c
}

// ToSender makes the packet a message to its sender: it looks as if the receiver
// had sent it, with a DSCP, and with data behind UDP.
func (s *Switch) ToSender(p *Packet, dscp int64, data []byte) {
	f, n := p.Frame, int64(len(data))
	p.Frame = &Frame{Dst: f.Src, Src: f.Dst, Type: TypeIPv4, IP: maps.Clone(f.IP), UDP: maps.Clone(f.UDP), Rest: append(data, f.Rest...)}
	p.IP["src"], p.IP["dst"], p.IP["dscp"], p.IP["ecn"], p.IP["length"] = f.IP["dst"], f.IP["src"], dscp, 0, 20+8+n
	p.UpdateChecksum()
	if p.UDP["length"], p.UDP["checksum"] = 8+n, 0; !s.Tofino {
		p.Limit = 14 + 20 + 8 + len(data)
	}
}

// Describe prints the headers of a frame.
func (p *Program) Describe(data []byte) string {
	f := p.Parse(data)
	f.Rest = f.Rest[:min(len(f.Rest), 16)]
	return fmt.Sprintf("%d bytes: %+v", len(data), *f)
}
