// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/internal/packet"
)

// The wire formats, as package packet documents them, taken apart and put
// together again by the model on its own.

var be = binary.BigEndian

// EtherTypes and kinds of local messages.
const (
	typeIPv4   = 0x0800
	typeARP    = 0x0806
	typePFC    = 0x8808
	typeFabric = 0x88b5
	typeLocal  = 0x88b6

	kindWarning = 1
	kindKick    = 2
	kindTag     = 0x10
)

// frame is an Ethernet frame taken apart. A part that is nil is not there, or
// not understood by a switch with these features and so in rest.
type frame struct {
	dst, src uint64
	fabric   *fabric
	tag      *tag
	kind     uint16 // EtherType of what follows
	cnm      *cnm
	kick     *kick
	pfc      *pfc
	arp      []byte // 28 bytes
	ip       *ipv4
	udp      []byte // 8 bytes
	int      *telemetry
	bth      []byte // 12 bytes
	cnp      []byte // 20 bytes
	postcard []byte
	rest     []byte
	elided   int
}

// fabric is the header between leaves. Which fields it has depends on the
// features.
type fabric struct {
	srcLeaf, path int64

	stamped, echoed bool
	reserved        byte
	stamp           int64
	echoPath, echo  int64

	congestion, fedPath, fedValue int64

	dstLeaf, probe, load, echoLoad, tolerable int64
}

type tag struct {
	path, upper, reserved byte
	coflow                int64
}

type cnm struct {
	priority, active, hops int64
	sw, port, scope, hold  int64
}

type kick struct{ path, leaf, host int64 }

type pfc struct {
	opcode   uint16
	reserved byte
	classes  byte
	pause    [8]int64
}

// ipv4 is an IPv4 header without options.
type ipv4 struct {
	b []byte // 20 bytes
}

func (p *ipv4) ecn() byte      { return p.b[1] & 3 }
func (p *ipv4) dscp() int      { return int(p.b[1] >> 2) }
func (p *ipv4) src() int64     { return int64(be.Uint32(p.b[12:])) }
func (p *ipv4) dst() int64     { return int64(be.Uint32(p.b[16:])) }
func (p *ipv4) protocol() byte { return p.b[9] }

// update recomputes the checksum of a header that was changed. Options, if
// there are any, are at the start of rest.
func (p *ipv4) update(rest []byte) {
	be.PutUint16(p.b[10:], 0)
	options := min(max(int(p.b[0]&0xf)*4-20, 0), len(rest))
	be.PutUint16(p.b[10:], packet.Checksum(append(clone(p.b), rest[:options]...)))
}

// telemetry is the header that HPCC's hosts ask for records in.
type telemetry struct {
	hops int
	path uint16 // 12 bits
	hop  [5]uint64
}

// cut splits n bytes off, or reports false.
func cut(b *[]byte, n int) ([]byte, bool) {
	if len(*b) < n {
		return nil, false
	}
	head := (*b)[:n:n]
	*b = (*b)[n:]
	return head, true
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

// parse takes a frame apart as far as a switch with these features does.
func (f *Features) parse(data []byte, elided int) *frame {
	b := clone(data)
	e, ok := cut(&b, 14)
	if !ok {
		panic("BUG: a frame without an Ethernet header")
	}
	p := &frame{dst: mac(e), src: mac(e[6:]), kind: be.Uint16(e[12:]), elided: elided}
	if p.kind == typeFabric && f.Fabric {
		if h, ok := cut(&b, f.fabricLen()); ok {
			p.kind = be.Uint16(h)
			p.fabric = f.parseFabric(h)
		}
	}
	if p.kind == typeLocal && len(b) > 0 {
		switch {
		case b[0] == kindTag && f.Tag && (p.fabric == nil || f.Fabric):
			if h, ok := cut(&b, 8); ok {
				p.tag = &tag{path: h[1], upper: h[2], reserved: h[3], coflow: int64(be.Uint16(h[4:]))}
				p.kind = be.Uint16(h[6:])
			}
		case b[0] == kindWarning && f.RLB && p.fabric == nil:
			if h, ok := cut(&b, 14); ok {
				p.cnm = &cnm{int64(h[1]), int64(h[2]), int64(h[3]), int64(be.Uint16(h[4:])), int64(be.Uint16(h[6:])), int64(be.Uint16(h[8:])), int64(be.Uint32(h[10:]))}
			}
		case b[0] == kindKick && f.PLB && p.fabric == nil:
			if h, ok := cut(&b, 8); ok {
				p.kick = &kick{int64(h[1]), int64(be.Uint16(h[2:])), int64(be.Uint32(h[4:]))}
			}
		}
	}
	switch p.kind {
	case typePFC:
		if f.PFC && p.fabric == nil && p.tag == nil {
			if h, ok := cut(&b, 20); ok {
				p.pfc = &pfc{opcode: be.Uint16(h), reserved: h[2], classes: h[3]}
				for i := range p.pfc.pause {
					p.pfc.pause[i] = int64(be.Uint16(h[4+2*i:]))
				}
			}
		}
	case typeARP:
		p.arp, _ = cut(&b, 28)
	case typeIPv4:
		if h, ok := cut(&b, 20); ok {
			p.ip = &ipv4{h}
			f.parseL4(p, &b)
		}
	}
	p.rest = b
	return p
}

// parseL4 goes on behind the IP header where a feature wants to: telemetry in
// RoCEv2 on a port of its own, marked packets of RoCEv2.
func (f *Features) parseL4(p *frame, b *[]byte) {
	whole := p.ip.b[0]&0xf == 5 && be.Uint16(p.ip.b[6:])&0x1fff == 0
	if !whole || p.ip.protocol() != 17 || len(*b) < 8 {
		return
	}
	port, marked := be.Uint16((*b)[2:]), p.ip.dscp()&1 == 1
	if f.INT && port == 54791 {
		p.udp, _ = cut(b, 8)
		if h, ok := cut(b, 42); ok {
			p.int = &telemetry{hops: int(h[0] >> 4), path: be.Uint16(h) & 0xfff}
			for i := range p.int.hop {
				p.int.hop[i] = be.Uint64(h[2+8*i:])
			}
			if f.PBFS && marked {
				p.bth, _ = cut(b, 12)
			}
		}
	} else if (f.QCN || f.PBFS && marked) && port == 4791 {
		p.udp, _ = cut(b, 8)
		p.bth, _ = cut(b, 12)
	}
}

func mac(b []byte) uint64 {
	return uint64(be.Uint16(b))<<32 | uint64(be.Uint32(b[2:]))
}

func (f *Features) fabricLen() int {
	n := 5
	if f.RTT {
		n += 10
	}
	if f.CONGA {
		n += 3
	}
	if f.PLB {
		n += 9
	}
	return n
}

func (f *Features) parseFabric(b []byte) *fabric {
	h := &fabric{srcLeaf: int64(be.Uint16(b[2:])), path: int64(b[4])}
	b = b[5:]
	if f.RTT {
		h.stamped, h.echoed, h.reserved = b[0]&0x80 != 0, b[0]&0x40 != 0, b[0]&0x3f
		h.stamp, h.echoPath, h.echo = int64(be.Uint32(b[1:])), int64(b[5]), int64(be.Uint32(b[6:]))
		b = b[10:]
	}
	if f.CONGA {
		h.congestion, h.fedPath, h.fedValue = int64(b[0]), int64(b[1]), int64(b[2])
		b = b[3:]
	}
	if f.PLB {
		h.dstLeaf, h.probe, h.load, h.echoLoad = int64(be.Uint16(b)), int64(b[2]), int64(b[3]), int64(b[4])
		h.tolerable = int64(be.Uint32(b[5:]))
	}
	return h
}

// bytes puts the frame together.
func (f *Features) bytes(p *frame) []byte {
	b := binary.BigEndian.AppendUint64(nil, p.dst<<16)[:6]
	b = append(b, binary.BigEndian.AppendUint64(nil, p.src<<16)[:6]...)
	u16 := func(v int64) { b = be.AppendUint16(b, uint16(v)) }
	u32 := func(v int64) { b = be.AppendUint32(b, uint32(v)) }
	u8 := func(v ...int64) {
		for _, x := range v {
			b = append(b, byte(x))
		}
	}
	inner := p.kind // of what follows the tag
	outer := inner
	if p.tag != nil {
		outer = typeLocal
	}
	if h := p.fabric; h != nil {
		u16(typeFabric)
		u16(int64(outer))
		u16(h.srcLeaf)
		u8(h.path)
		if f.RTT {
			flags := int64(h.reserved)
			if h.stamped {
				flags |= 0x80
			}
			if h.echoed {
				flags |= 0x40
			}
			u8(flags)
			u32(h.stamp)
			u8(h.echoPath)
			u32(h.echo)
		}
		if f.CONGA {
			u8(h.congestion, h.fedPath, h.fedValue)
		}
		if f.PLB {
			u16(h.dstLeaf)
			u8(h.probe, h.load, h.echoLoad)
			u32(h.tolerable)
		}
	} else {
		u16(int64(outer))
	}
	if t := p.tag; t != nil {
		u8(kindTag, int64(t.path), int64(t.upper), int64(t.reserved))
		u16(t.coflow)
		u16(int64(inner))
	}
	if c := p.cnm; c != nil {
		u8(kindWarning, c.priority, c.active, c.hops)
		u16(c.sw)
		u16(c.port)
		u16(c.scope)
		u32(c.hold)
	}
	if k := p.kick; k != nil {
		u8(kindKick, k.path)
		u16(k.leaf)
		u32(k.host)
	}
	if h := p.pfc; h != nil {
		u16(int64(h.opcode))
		u8(int64(h.reserved), int64(h.classes))
		for _, v := range h.pause {
			u16(v)
		}
	}
	b = append(b, p.arp...)
	if p.ip != nil {
		b = append(b, p.ip.b...)
	}
	b = append(b, p.udp...)
	if t := p.int; t != nil {
		u16(int64(t.hops)<<12 | int64(t.path))
		for _, h := range t.hop {
			b = be.AppendUint64(b, h)
		}
	}
	b = append(b, p.bth...)
	b = append(b, p.postcard...)
	b = append(b, p.cnp...)
	return append(b, p.rest...)
}

// size returns the length of the frame.
func (f *Features) size(p *frame) int64 { return int64(len(f.bytes(p)) + p.elided) }

// describe says in words what a frame is.
func (f *Features) describe(data []byte, elided int) string {
	p := f.parse(data, elided)
	var s []string
	add := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	if h := p.fabric; h != nil {
		add("fabric %s", strings.TrimPrefix(fmt.Sprintf("%+v", *h), "&"))
	}
	if p.tag != nil {
		add("tag %+v", *p.tag)
	}
	switch {
	case p.cnm != nil:
		add("CNM %+v", *p.cnm)
	case p.kick != nil:
		add("kick-out %+v", *p.kick)
	case p.pfc != nil:
		add("PFC classes %#x pause %v", p.pfc.classes, p.pfc.pause)
	case p.arp != nil:
		add("ARP for %s", ip(int64(be.Uint32(p.arp[24:]))))
	case p.ip != nil:
		add("IPv4 %s > %s protocol %d dscp %d ecn %d", ip(p.ip.src()), ip(p.ip.dst()), p.ip.protocol(), p.ip.dscp(), p.ip.ecn())
	default:
		add("type %#04x", p.kind)
	}
	if p.int != nil {
		add("telemetry %+v", *p.int)
	}
	if p.bth != nil {
		add("BTH %x", p.bth)
	}
	return fmt.Sprintf("%d bytes: %s", len(data)+elided, strings.Join(s, ", "))
}

func ip(a int64) string { return fmt.Sprintf("%d.%d.%d.%d", a>>24, a>>16&255, a>>8&255, a&255) }
