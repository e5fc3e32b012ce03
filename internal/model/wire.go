// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"sync"

	"github.com/pauseless/pauseless/internal/packet"
)

// The wire formats, as package packet documents them, taken apart and put
// together again by the model on its own.

// BE is the order of bytes on the wire.
var BE = binary.BigEndian

// EtherTypes, and the first byte of the host's tag.
const (
	TypeIPv4   = 0x0800
	TypeARP    = 0x0806
	TypePFC    = 0x8808
	TypeFabric = 0x88b5
	TypeLocal  = 0x88b6

	kindTag = 0x10
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

// Append is a header of the values, by a list as NewHeader takes, behind b.
func (v Fields) Append(b []byte, list string) []byte {
	h, ok := lists.Load(list)
	if !ok {
		h, _ = lists.LoadOrStore(list, NewHeader(list))
	}
	return h.(*Header).Append(b, v)
}

var lists sync.Map // of *Header, by what they are made of

// read takes the header's fields from its bytes.
func (h *Header) read(b []byte, into Fields) {
	at := 0
	for i, name := range h.names {
		v := int64(0)
		for range h.bits[i] {
			v = v<<1 | int64(b[at/8]>>(7-at%8)&1)
			at++
		}
		into[name] = v
	}
}

// Append is the header with values, behind b.
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

var (
	fabricHeader = NewHeader("src_leaf:16 path:8")
	tagHeader    = NewHeader("kind:8 path:8 upper_path:8 reserved:8 coflow:16")
	pfcHeader    = NewHeader("opcode:16 reserved:8 classes:8 pause0:16 pause1:16 pause2:16 pause3:16 pause4:16 pause5:16 pause6:16 pause7:16")
)

// Frame is an Ethernet frame taken apart. A part that is nil is not there, or
// not understood by a switch with this program and so in Rest.
type Frame struct {
	Dst, Src uint64
	Fabric   Fields // the header between leaves
	Tag      Fields // a host's
	Type     uint16 // EtherType of what follows
	Local    Fields // a message between neighbours, by its kind
	PFC      Fields
	ARP      []byte // 28 bytes
	IP       *IPv4
	UDP      []byte // 8 bytes
	INT      *INT
	BTH      []byte // 12 bytes
	Tail     []byte // of messages
	Rest     []byte
	Elided   int
}

// IPv4 is an IPv4 header without options.
type IPv4 struct{ B []byte } // 20 bytes

// The fields of an IPv4 header.
func (p *IPv4) ECN() byte      { return p.B[1] & 3 }
func (p *IPv4) DSCP() int      { return int(p.B[1] >> 2) }
func (p *IPv4) Src() int64     { return int64(BE.Uint32(p.B[12:])) }
func (p *IPv4) Dst() int64     { return int64(BE.Uint32(p.B[16:])) }
func (p *IPv4) Len() int64     { return int64(BE.Uint16(p.B[2:])) }
func (p *IPv4) protocol() byte { return p.B[9] }

// plain reports whether there are no options.
func (p *IPv4) plain() bool { return p.B[0]&0xf == 5 }

// hasPorts reports whether an L4 header follows.
func (p *IPv4) hasPorts() bool { return p.plain() && BE.Uint16(p.B[6:])&0x1fff == 0 }

// Update recomputes the checksum of a header that was changed. Options, if
// there are any, are at the start of rest.
func (p *IPv4) Update(rest []byte) {
	BE.PutUint16(p.B[10:], 0)
	options := min(max(int(p.B[0]&0xf)*4-20, 0), len(rest))
	BE.PutUint16(p.B[10:], packet.Checksum(append(Clone(p.B), rest[:options]...)))
}

// INT is the header that HPCC's hosts ask for records in.
type INT struct {
	Hops int
	Path uint16 // 12 bits
	Hop  [5]uint64
}

// PortINT and PortRoCE are the UDP ports of RoCEv2, with that header and
// without.
const (
	PortINT  = 54791
	PortRoCE = 4791
)

// Marked reports whether a packet carries the mark by which hosts ask for
// postcards: the lowest bit of its DSCP.
func (f *Frame) Marked() bool { return f.IP.DSCP()&1 == 1 }

// cut splits n bytes off, or reports false.
func cut(b *[]byte, n int) ([]byte, bool) {
	if len(*b) < n {
		return nil, false
	}
	head := (*b)[:n:n]
	*b = (*b)[n:]
	return head, true
}

// Clone copies bytes.
func Clone(b []byte) []byte { return append([]byte(nil), b...) }

// fabricParts are the parts of the header between leaves.
func (p *Program) fabricParts() []*Header {
	parts := []*Header{fabricHeader}
	for _, s := range p.Schemes {
		if s.Header != nil {
			parts = append(parts, s.Header)
		}
	}
	return parts
}

// local is the message of a kind, if the program has it.
func (p *Program) local(kind byte) *Header {
	for _, s := range p.Schemes {
		if h := s.Local[kind]; h != nil {
			return h
		}
	}
	return nil
}

// Parse takes a frame apart as far as a switch with this program does.
func (p *Program) Parse(data []byte, elided int) *Frame {
	b := Clone(data)
	e, ok := cut(&b, 14)
	if !ok {
		panic("BUG: a frame without an Ethernet header")
	}
	f := &Frame{Dst: mac(e), Src: mac(e[6:]), Type: BE.Uint16(e[12:]), Elided: elided}
	if f.Type == TypeFabric && p.Is("fabric") {
		length := 2
		for _, h := range p.fabricParts() {
			length += h.len
		}
		if h, ok := cut(&b, length); ok {
			f.Type, f.Fabric = BE.Uint16(h), Fields{}
			h = h[2:]
			for _, part := range p.fabricParts() {
				part.read(h, f.Fabric)
				h = h[part.len:]
			}
		}
	}
	if f.Type == TypeLocal && len(b) > 0 {
		if b[0] == kindTag && p.Is("tag") {
			if h, ok := cut(&b, 8); ok {
				f.Tag, f.Type = Fields{}, BE.Uint16(h[6:])
				tagHeader.read(h, f.Tag)
			}
		} else if m := p.local(b[0]); m != nil && f.Fabric == nil {
			if h, ok := cut(&b, 1+m.len); ok {
				f.Local = Fields{"kind": int64(h[0])}
				m.read(h[1:], f.Local)
			}
		}
	}
	switch f.Type {
	case TypePFC:
		if p.Is("pfc") && f.Fabric == nil && f.Tag == nil {
			if h, ok := cut(&b, pfcHeader.len); ok {
				f.PFC = Fields{}
				pfcHeader.read(h, f.PFC)
			}
		}
	case TypeARP:
		f.ARP, _ = cut(&b, 28)
	case TypeIPv4:
		if h, ok := cut(&b, 20); ok {
			f.IP = &IPv4{h}
			p.parseL4(f, &b)
		}
	}
	f.Rest = b
	return f
}

// parseL4 goes on behind the IP header where a feature wants to: telemetry in
// RoCEv2 on a port of its own, the base transport header.
func (p *Program) parseL4(f *Frame, b *[]byte) {
	if !f.IP.hasPorts() || f.IP.protocol() != 17 || len(*b) < 8 {
		return
	}
	port := int(BE.Uint16((*b)[2:]))
	telemetry := port == PortINT && p.ParsesINT()
	bth := false
	for _, s := range p.Schemes {
		bth = bth || s.BTH != nil && (telemetry || port == PortRoCE) && s.BTH(f, port)
	}
	if !telemetry && !bth {
		return
	}
	f.UDP, _ = cut(b, 8)
	if telemetry {
		h, ok := cut(b, 42)
		if !ok {
			return
		}
		f.INT = &INT{Hops: int(h[0] >> 4), Path: BE.Uint16(h) & 0xfff}
		for i := range f.INT.Hop {
			f.INT.Hop[i] = BE.Uint64(h[2+8*i:])
		}
	}
	if bth {
		f.BTH, _ = cut(b, 12)
	}
}

func mac(b []byte) uint64 {
	return uint64(BE.Uint16(b))<<32 | uint64(BE.Uint32(b[2:]))
}

// Bytes puts the frame together.
func (p *Program) Bytes(f *Frame) []byte {
	b := BE.AppendUint64(nil, f.Dst<<16)[:6]
	b = append(b, BE.AppendUint64(nil, f.Src<<16)[:6]...)
	outer := f.Type
	if f.Tag != nil {
		outer = TypeLocal
	}
	if f.Fabric != nil {
		b = BE.AppendUint16(b, TypeFabric)
		b = BE.AppendUint16(b, outer)
		for _, part := range p.fabricParts() {
			b = part.Append(b, f.Fabric)
		}
	} else {
		b = BE.AppendUint16(b, outer)
	}
	if f.Tag != nil {
		f.Tag["kind"] = kindTag
		b = BE.AppendUint16(tagHeader.Append(b, f.Tag), f.Type)
	}
	if f.Local != nil {
		kind := byte(f.Local["kind"])
		b = p.local(kind).Append(append(b, kind), f.Local)
	}
	if f.PFC != nil {
		b = pfcHeader.Append(b, f.PFC)
	}
	b = append(b, f.ARP...)
	if f.IP != nil {
		b = append(b, f.IP.B...)
	}
	b = append(b, f.UDP...)
	if t := f.INT; t != nil {
		b = BE.AppendUint16(b, uint16(t.Hops)<<12|t.Path)
		for _, h := range t.Hop {
			b = BE.AppendUint64(b, h)
		}
	}
	b = append(b, f.BTH...)
	b = append(b, f.Tail...)
	return append(b, f.Rest...)
}

// Size returns the length of the frame.
func (p *Program) Size(f *Frame) Bytes { return Bytes(len(p.Bytes(f)) + f.Elided) }

// fiveTuple is the hash that tells flows apart: CRC32 of addresses, protocol
// and ports; zero for what is not IPv4.
func (f *Frame) fiveTuple() uint32 {
	if f.IP == nil {
		return 0
	}
	ports := []byte{0, 0, 0, 0}
	if behind := append(Clone(f.UDP), f.Rest...); f.IP.hasPorts() && (f.IP.protocol() == 17 || f.IP.protocol() == 6) && len(behind) >= 4 {
		ports = behind[:4]
	}
	return crc32.ChecksumIEEE(append(append(Clone(f.IP.B[12:20]), f.IP.protocol()), ports...))
}

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

// ToSender is the frame of a message to the sender of a packet: it looks as if
// the receiver had sent it, of a DSCP and with so many bytes behind UDP.
func (f *Frame) ToSender(dscp byte, length int) *Frame {
	n := &Frame{Dst: f.Src, Src: f.Dst, Type: TypeIPv4, IP: &IPv4{Clone(f.IP.B)}, UDP: Clone(f.UDP), Rest: f.Rest, Elided: f.Elided}
	copy(n.IP.B[12:16], f.IP.B[16:20])
	copy(n.IP.B[16:20], f.IP.B[12:16])
	n.IP.B[1] = dscp << 2
	BE.PutUint16(n.IP.B[2:], uint16(20+8+length))
	n.IP.Update(nil)
	BE.PutUint16(n.UDP[4:], uint16(8+length))
	BE.PutUint16(n.UDP[6:], 0)
	return n
}

// Describe says in words what a frame is.
func (p *Program) Describe(data []byte, elided int) string {
	f := p.Parse(data, elided)
	var s []string
	add := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	for name, h := range map[string]Fields{"fabric": f.Fabric, "tag": f.Tag, "message": f.Local, "PFC": f.PFC} {
		if h != nil {
			add("%s %v", name, h)
		}
	}
	switch {
	case f.ARP != nil:
		add("ARP for %s", address(int64(BE.Uint32(f.ARP[24:]))))
	case f.IP != nil:
		add("IPv4 %s > %s protocol %d dscp %d ecn %d", address(f.IP.Src()), address(f.IP.Dst()), f.IP.protocol(), f.IP.DSCP(), f.IP.ECN())
	default:
		add("type %#04x", f.Type)
	}
	if f.INT != nil {
		add("telemetry %+v", *f.INT)
	}
	if f.BTH != nil {
		add("BTH %x", f.BTH)
	}
	return fmt.Sprintf("%d bytes: %s", len(data)+elided, strings.Join(s, ", "))
}

func address(a int64) string {
	return fmt.Sprintf("%d.%d.%d.%d", a>>24, a>>16&255, a>>8&255, a&255)
}
