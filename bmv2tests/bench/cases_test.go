// SPDX-License-Identifier: Apache-2.0

// Package bench measures how fast the switch forwards packets, also compared with
// simple_switch, and writes entries. `make bench` runs it.
package bench

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// Case is a benchmark.
type Case struct {
	Name string
	// Program is "router", which is testdata/router.p4 with its macro MATCH
	// defined as the match kind of the routes, or the name of a generated program.
	Program string
	Defines []string
	// Rate is the rate of the ports; 0 is unlimited.
	Rate vtime.Rate
	// Like is the case with smaller tables that this one is compared with.
	Like string

	routes int
	match  string
}

func cases() []Case {
	router := func(match string, routes int, like string) Case {
		return Case{Name: fmt.Sprintf("router-%s-%d", match, routes), Program: "router", Defines: []string{"MATCH=" + match}, Like: like, routes: routes, match: match}
	}
	like := func(match string, routes int) string { return fmt.Sprintf("router-%s-%d", match, routes) }
	return []Case{
		router("lpm", small, ""),
		router("lpm", 1000, like("lpm", small)),
		router("lpm", 100_000, like("lpm", 1000)),
		router("exact", small, ""),
		router("exact", 1000, like("exact", small)),
		router("exact", 100_000, like("exact", 1000)),
		router("ternary", small, ""),
		router("ternary", 1000, like("ternary", small)),
		{Name: "rlb-drill", Program: "rlb-drill"},
		{Name: "rlb-drill-40G", Program: "rlb-drill", Rate: 40 * vtime.Gbps},
	}
}

// small is the number of entries of a small table.
const small = 16

// Bench is a case whose switch is loaded and whose tables are full.
type Bench struct {
	Switch *softswitch.Switch
	net    *solo.Net
	data   []byte // of the packet
	dst    []destination
	next   int
	frames [batch][]byte
	gap    vtime.Time
}

// destination is the part that differs between packets.
type destination struct {
	addr     uint32
	checksum uint16
	port     uint16
}

// batch is the number of packets received at once.
const batch = 32

// flows is the number of different packets.
const flows = 1 << 16

// newBench loads a case's switch and fills its tables.
func newBench(c Case, p *interp.Program) (*Bench, error) {
	cfg := softswitch.Config{
		Name:  c.Name,
		Units: softswitch.Units{Time: "ns", Depth: "cells80"},
		PFC:   softswitch.PFC{Lossless: 1 << dataClass, Thresholds: softswitch.Thresholds{XOFF: 256_000}},
	}
	for n := 1; n <= Ports; n++ {
		cfg.Ports = append(cfg.Ports, softswitch.Port{Number: n, Rate: c.Rate})
	}
	cfg.Ports = append(cfg.Ports, softswitch.Port{Number: internal, Internal: true, Rate: c.Rate})
	sw, err := softswitch.New(cfg)
	if err != nil {
		return nil, err
	}
	b := &Bench{Switch: sw, net: solo.New(sw)}
	if c.Rate > 0 { // one port's line rate: the queues stay short
		b.gap = vtime.Time(int64(frameSize*8) * int64(vtime.Second) / int64(c.Rate))
	}
	sw.Load(p)
	f := filler{state: sw.State()}
	dst := f.rlb
	if c.Program == "router" {
		dst = func() []netip.Addr { return f.router(c.match, c.routes) }
	}
	b.makePackets(dst())
	if f.err != nil {
		return nil, f.err
	}
	return b, nil
}

const (
	// Ports is the number of ports, from 1 on. Packets enter by the first one.
	Ports = 8

	internal  = 509 // the port that rlb-drill recirculates through
	dataClass = 3   // of DSCP 26
	frameSize = 1064
)

// makePackets makes RoCE packets to destinations in random order.
func (b *Bench) makePackets(dst []netip.Addr) {
	b.data = make([]byte, 64)
	packet.Ethernet(b.data).Set(packet.MAC{2}, packet.MAC{4}, packet.EtherTypeIPv4)
	ip := packet.IPv4(b.data[14:])
	packet.UDP(ip[20:]).Set(0, 4791, frameSize-34)
	rng := rand.New(rand.NewPCG(1, 2))
	b.dst = make([]destination, flows)
	for i := range b.dst {
		d := dst[rng.IntN(len(dst))]
		ip.Set(netip.MustParseAddr("10.0.0.1"), d, packet.ProtoUDP, 26, packet.ECT0, 7, frameSize-14)
		addr := d.As4()
		b.dst[i] = destination{binary.BigEndian.Uint32(addr[:]), binary.BigEndian.Uint16(ip[10:]), uint16(49152 + rng.IntN(4096))}
	}
}

// Packet returns a packet without its payload, which is zeros. It is valid until
// the next call.
func (b *Bench) Packet(n int) []byte {
	d := &b.dst[n%flows]
	binary.BigEndian.PutUint16(b.data[24:], d.checksum)
	binary.BigEndian.PutUint32(b.data[30:], d.addr)
	binary.BigEndian.PutUint16(b.data[34:], d.port)
	return b.data
}

// Packets sends n packets through the switch, in batches as ports do.
func (b *Bench) Packets(n int) {
	for i := range n {
		if i%batch == 0 {
			frames := b.frames[:min(batch, n-i)]
			for j := range frames {
				frames[j] = append(frames[j][:0], b.Packet(b.next+j)...)
			}
			b.Switch.Prefetch(frames)
		}
		b.net.Inject(1, b.frames[i%batch], frameSize-len(b.data))
		b.next++
		if b.gap > 0 {
			b.net.RunUntil(b.net.Now() + b.gap)
		}
	}
}

// Lost returns the number of lost packets. Measurements with losses are not valid.
func (b *Bench) Lost() error {
	b.net.Run()
	st := b.Switch.Stats()
	for cause, n := range st.Drops {
		if n > 0 {
			return fmt.Errorf("%d packets of %d were dropped: %v", n, st.Received, softswitch.DropCause(cause))
		}
	}
	if st.Sent < st.Received {
		return fmt.Errorf("%d packets went in and %d came out", st.Received, st.Sent)
	}
	return nil
}

// filler fills tables. It keeps the first error.
type filler struct {
	state *interp.State
	err   error
}

func (f *filler) add(table, action string, priority int32, key []interp.FieldMatch, args ...uint64) {
	if f.err != nil {
		return
	}
	ti := slices.IndexFunc(f.state.Tables, func(t *interp.Table) bool { return t.Info.Name == table })
	ai := slices.IndexFunc(f.state.Program.Actions, func(a interp.ActionInfo) bool { return a.Name == action })
	if ti < 0 || ai < 0 {
		f.err = fmt.Errorf("the program has no table %s or no action %s", table, action)
		return
	}
	var limbs [][]uint64
	for _, a := range args {
		limbs = append(limbs, []uint64{a})
	}
	t := f.state.Tables[ti]
	m := t.Info.Match(key, priority)
	if _, dup := t.Find(&m); dup {
		return
	}
	_, f.err = t.Insert(&m, ai, f.state.Program.PackArgs(ai, limbs))
}

func exact(v uint64) interp.FieldMatch { return interp.FieldMatch{Value: []uint64{v}} }

// router fills the router's tables and returns the destinations of the packets,
// one per route. Each /16 has a block of 25 routes, as in the tables of
// providers. Ternary routes have arbitrary masks and priorities.
func (f *filler) router(match string, routes int) []netip.Addr {
	const block, spread = 25, 0x9E3779B1
	rng := rand.New(rand.NewPCG(3, 4))
	var dst []netip.Addr
	for i := range uint32(routes) {
		addr := i/block*spread&0xFFFF<<16 | i%block*spread&0xFF<<8 | 7
		length := 24
		switch i % 16 {
		case 1, 2, 3:
			length = 22
		case 4, 5:
			length = 20
		case 6:
			length = 16
		}
		key, priority := interp.FieldMatch{Value: []uint64{uint64(addr)}, Prefix: length}, int32(0)
		if match == "ternary" {
			mask := ^uint32(0) << rng.IntN(10) << rng.IntN(10) & ^uint32(0) >> rng.IntN(4)
			key.Mask, priority = []uint64{uint64(mask)}, int32(rng.IntN(1000))+1
		}
		f.add("Route.routes", "Route.route", priority, []interp.FieldMatch{key}, uint64(i%Ports+1))
		dst = append(dst, netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}))
	}
	for port := uint64(1); port <= Ports; port++ {
		f.add("Route.next_hops", "Route.forward", 0, []interp.FieldMatch{exact(port)}, port, 0x020000000000+port, 0x040000000000+port)
	}
	return dst
}

// rlb fills the tables of rlb-drill for a leaf with four uplinks.
func (f *filler) rlb() []netip.Addr {
	f.add("route", "to_leaf", 0, []interp.FieldMatch{{Value: []uint64{0x0a000100}, Prefix: 24}}, 1, 3, 3)
	for port := uint64(1); port <= Ports; port++ {
		class := exact(dataClass)
		f.add("Forward", "send", 0, []interp.FieldMatch{exact(port)}, port)
		f.add("Readqlen", "read_qlen", 0, []interp.FieldMatch{exact(port), class}, 2000, 100)
		f.add("predict", "predict_pause", 0, []interp.FieldMatch{exact(port), class}, 1000, 200_000, 256_000, 10_000)
		if port > 4 {
			f.add("fabric_port", "from_switch", 0, []interp.FieldMatch{exact(port)}, port-5, 1)
		}
	}
	return []netip.Addr{netip.MustParseAddr("10.0.1.1")}
}
