// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
)

// A Case is a state of the switch and what happens to it.
type Case struct {
	Seed   uint64 // of the program's random numbers
	Now    Time   // when the first event is counted from
	Config *Config
	Cells  []CellValue
	Events []Event
}

// A CellValue is a cell of the model's state that is not as in a new switch.
type CellValue struct {
	Register string
	Index    int
	Value    int64
}

// An Event is the arrival of a frame, or the departure of the packet at the
// head of a queue.
type Event struct {
	After Time // since the event before

	Data   []byte // of the frame that arrives; nil for a departure
	Elided int
	Port   int

	Pick  int   // which of the queues that have packets
	Depth int64 // what the target says is left in it; −1: what is in it
	// On a Tofino: the depth when the packet came, and how long it has waited;
	// if Near, beyond what the cells ahead of it take.
	Ahead, Waited int64
	Near          bool
}

// A Scene is what a case about a threshold begins with.
type Scene struct {
	Queue  int   // ingress queue of the first packet
	Before Bytes // in it
	After  Bytes // with the packet
	State  map[string]int64
}

// Set gives registers a value at the scene's queue.
func (s *Scene) Set(register string, v int64) { s.State[register] = v }

// A Drawer draws cases. Values are drawn near the places where decisions
// change: thresholds, ends of intervals, equal queues.
type Drawer struct {
	*Program
	R      *rand.Rand
	Config *Config
	Now    Time
	// Scale is the size of queues in this case, Pace that of intervals.
	Scale Bytes
	Pace  Time
	// Theme is what the case is about; most packets come by port hot and are
	// for leaf hotLeaf.
	Theme   Theme
	hot     int
	hotLeaf int64
}

// Reroutes reports whether warnings move packets.
func (g *Drawer) Reroutes() bool { return g.Theme == Rerouting || g.Theme == Waiting }

// Lengths are those of most frames, so that queues meet thresholds exactly.
var Lengths = []int64{64, 128, 1064}

// Generate returns case number n of a series.
func Generate(p *Program, series, n uint64) *Case {
	g := &Drawer{Program: p, R: rand.New(rand.NewPCG(series, n))}
	g.Scale = Pick[int64](g, 3_000, 20_000, 100_000, 400_000)
	g.Pace = Pick[Time](g, 20, 300, 2_000, 10_000)
	g.Now = 1<<32 + g.R.Int64N(1<<35)
	if g.R.IntN(4) == 0 { // the clock of 32 bits is about to wrap
		g.Now = g.Now&^(1<<32-1) + 1<<32 - g.R.Int64N(20_000)
	}
	themes := []Theme{Anything, Rerouting}
	if p.Recirculate != 0 {
		themes = append(themes, Waiting)
		if p.Tofino {
			themes = append(themes, Waiting)
		}
	}
	for _, theme := range []Theme{Predicting, Pausing} {
		if !p.Tofino && slices.ContainsFunc(p.registers, func(r RegisterCells) bool { return r.Theme == theme }) {
			themes = append(themes, theme)
		}
	}
	g.Theme = Pick(g, themes...)
	g.config()
	g.hot = 1 + g.R.IntN(p.Ports-1)
	g.hotLeaf = int64(g.R.IntN(p.Leaves))
	c := &Case{Seed: g.R.Uint64(), Now: g.Now, Config: g.Config}
	c.Cells = g.cells()
	if g.Theme == Predicting && p.Is("ingress_qlen") {
		g.scene(c)
	}
	events := 2 + g.R.IntN(9)
	if p.Tofino { // egress needs some to report to ingress what was
		events = 3 + g.R.IntN(12)
	}
	for range events {
		c.Events = append(c.Events, g.event())
	}
	return c
}

// Pick draws one of a list.
func Pick[T any](g *Drawer, list ...T) T { return list[g.R.IntN(len(list))] }

// UpTo is a number from 0 to n.
func (g *Drawer) UpTo(n int64) int64 { return g.R.Int64N(n + 1) }

// Near is a number from 0 to most, often next to one of the points.
func (g *Drawer) Near(most int64, points ...int64) int64 {
	if len(points) == 0 || g.R.IntN(3) == 0 {
		return g.R.Int64N(most)
	}
	return max(0, points[g.R.IntN(len(points))]+g.R.Int64N(5)-2)
}

// Beside is a size, or one byte less or more.
func (g *Drawer) Beside(v Bytes) Bytes { return max(0, v+g.R.Int64N(3)-1) }

// Arg is an argument of a table's entry for a queue or of the default action;
// 0 if there is none.
func (g *Drawer) Arg(name string, i int) int64 {
	table, arg, _ := strings.Cut(name, ".")
	if e, ok := g.Config.Tables[table][i]; ok {
		return e[arg]
	}
	return g.Config.Tables[table][Default][arg]
}

// Queue is the length of a queue, in bytes.
func (g *Drawer) Queue(i int) int64 {
	kind := g.R.IntN(5)
	if g.Reroutes() && g.R.IntN(2) == 0 {
		kind = 0 // equal ones
	}
	switch kind {
	case 0:
		return 1000 * g.UpTo(1)
	case 1:
		return g.UpTo(3000)
	case 2:
		return g.UpTo(2 * g.Scale)
	}
	points := []int64{g.Scale, g.Scale / 2}
	for _, name := range g.sizes {
		if v := g.Arg(name, i); v != 0 {
			points = append(points, v)
		}
	}
	// A packet short of it, or a packet more.
	v := points[g.R.IntN(len(points))] + g.R.Int64N(3000) - 1500
	if g.R.IntN(2) == 0 {
		v = points[g.R.IntN(len(points))] + Pick[int64](g, 0, -1, 1)*Pick(g, Lengths...) + g.R.Int64N(3) - 1
	}
	return max(0, v)
}

// Past is a time in the past.
func (g *Drawer) Past(int) int64 {
	switch g.R.IntN(4) {
	case 0:
		if g.R.IntN(4) == 0 {
			return g.Now - g.Forget() + g.R.Int64N(5) - 2
		}
		return g.Now - g.UpTo(1<<31-1<<26)
	case 1:
		points := []int64{g.Pace, g.Pace}
		for _, name := range g.spans {
			points = append(points, g.Arg(name, Default), g.Arg(name, g.hot))
		}
		return g.Now - max(0, Pick(g, points...)+g.R.Int64N(5)-2)
	}
	return g.Now - g.UpTo(3*g.Pace)
}

// Recent is a time of not long ago.
func (g *Drawer) Recent(i int) int64 {
	if g.Reroutes() && g.R.IntN(4) != 0 {
		for _, s := range g.Schemes {
			if fresh := g.Arg(s.Fresh, Default); fresh != 0 && fresh <= 16*g.Pace && g.R.IntN(2) == 0 {
				return g.Now - g.Near(g.Pace, fresh)
			}
		}
		return g.Now - g.UpTo(g.Pace)
	}
	return g.Past(i)
}

// Duration is a time that something took.
func (g *Drawer) Duration(int) int64 {
	pass, points := int64(0), []int64{g.Pace, 2 * g.Pace}
	for _, s := range g.Schemes {
		pass = max(pass, g.Arg(s.PassTime, Default))
	}
	for _, name := range g.spans {
		points = append(points, g.Arg(name, Default))
	}
	switch {
	case g.R.IntN(8) == 0:
		return 0
	case g.Theme == Waiting:
		return g.Pace + Pick(g, 0, 0, 2*pass, 8*g.Pace) + g.R.Int64N(3)
	case g.Theme == Rerouting && g.R.IntN(4) != 0:
		// Paths that differ by nothing, about t_rc or much.
		return max(0, g.Pace+Pick(g, 0, 0, pass, 2*pass, 4*g.Pace, 4*g.Pace)+g.R.Int64N(3)-1)
	}
	return g.Near(4*g.Pace, points...)
}

// PathMask is a set of paths, some of them.
func (g *Drawer) PathMask(paths int) int64 {
	list := make([]bool, g.PathCells)
	for p := range paths {
		list[p] = g.R.IntN(5) == 0
	}
	return Mask(list)
}

// PathsTo is how many paths there are to a leaf; MinPaths are there to all.
func (g *Drawer) PathsTo(leaf int64) int {
	for _, r := range g.Config.Routes {
		if r.Leaf == leaf && !r.ToHost() {
			return max(r.Paths, 1)
		}
	}
	return 1
}

// MinPaths is the number of paths that there are to all leaves.
func (g *Drawer) MinPaths() int {
	least := g.PathCells
	for leaf := range int64(g.Leaves) {
		if leaf != g.Config.Leaf {
			least = min(least, g.PathsTo(leaf))
		}
	}
	return least
}

// value draws a value of a register, by its unit if the scheme does not say.
func (g *Drawer) value(r *RegisterCells, i int) int64 {
	if r.Draw != nil {
		return r.Draw(g, i)
	}
	field := r.Name[strings.LastIndexByte(r.Name, '.')+1:]
	switch unit, _, _ := strings.Cut(r.Unit, ","); {
	case field == "path" || unit == "path": // one path, or in a register of such plus one
		if g.Tofino || r.Bits != 8 {
			return g.R.Int64N(int64(g.PathCells))
		}
		return g.R.Int64N(int64(g.PathCells) + 1)
	case unit == "bytes":
		return g.Queue(i)
	case unit == "ns" || unit == "us":
		return g.Past(i)
	case unit == "flag":
		return g.UpTo(1)
	case unit == "paths":
		return g.PathMask(g.PathCells)
	case unit == "1/8":
		return g.UpTo(7)
	case unit == "1/255":
		return g.UpTo(255)
	default:
		return g.R.Int64N(1 << 20)
	}
}

// cells draws a state: each register is left alone, or has some cells or all.
func (g *Drawer) cells() []CellValue {
	var list []CellValue
	var chosen []int // of a pair both fields
	for k := range g.registers {
		r := &g.registers[k]
		if k > 0 && r.Of == g.registers[k-1].Of {
			for _, i := range chosen {
				list = append(list, CellValue{r.Name, i, g.value(r, i)})
			}
			continue
		}
		chosen = nil
		share := Pick(g, 0, 1, 1, 3, 8, 8)
		if g.Tofino {
			share = Pick(g, 0, 1, 4, 8)
		}
		if r.Theme != Anything && (r.Theme == g.Theme || r.Theme == Rerouting && g.Reroutes()) {
			share = Pick(g, 3, 5, 8)
			if r.Shares != nil {
				share = Pick(g, r.Shares...)
			}
		}
		if r.Size > 64 && share == 8 && !g.Tofino {
			share = 2
		}
		for i := range r.Size {
			if r.LosslessOnly && g.Classes == 8 && i%8 != g.Lossless {
				continue // only that class is ever paused
			}
			if g.R.IntN(8) < share {
				chosen = append(chosen, i)
				if v := g.value(r, i); v != 0 {
					list = append(list, CellValue{r.Name, i, v})
				}
			}
		}
	}
	return list
}

// scene draws an ingress queue that meets one of its thresholds, or misses it
// by a byte, with the packet of the first event.
func (g *Drawer) scene(c *Case) {
	length := Pick(g, Lengths...)
	before := g.UpTo(2 * g.Scale)
	s := &Scene{Queue: g.QueueCell(g.hot, g.Lossless), Before: before, After: before + length, State: map[string]int64{"ingress_qlen": before, "arrived_at": g.Now - 1}}
	for _, x := range g.Schemes {
		if x.Scene != nil {
			x.Scene(g, s)
		}
	}
	for _, r := range g.registers {
		if v, ok := s.State[r.Name]; ok && v != 0 {
			c.Cells = append(c.Cells, CellValue{r.Name, min(s.Queue, r.Size-1), v})
		}
	}
	f := &Frame{Dst: 2, Src: 1, Type: TypeIPv4}
	g.ip(f, g.hotLeaf)
	f.IP["ihl"], f.IP["dscp"] = 5, 26
	f.Rest = f.Rest[len(f.Rest)-20:]
	f.UpdateChecksum()
	first := Event{Port: g.hot, Data: g.Bytes(f)}
	first.Data = append(first.Data, make([]byte, max(0, 64-len(first.Data)))...)
	first.Elided = int(length) - len(first.Data)
	c.Events = append(c.Events, first)
}

// config draws a switch: a leaf with hosts and uplinks, a switch in between
// that has a choice too, or a spine.
func (g *Drawer) config() {
	r := g.R
	forward, neighbours := Entries{}, Entries{}
	c := &Config{Leaf: -1, Groups: map[int][]int{}, Tables: map[string]Entries{"Forward": forward, "fabric_port": neighbours}}
	g.Config = c
	first := 3 + r.IntN(2)
	paths := min(2+r.IntN(g.Paths-1), g.Ports-first)
	role := r.IntN(8)
	shift := uint(0)
	if role >= 6 {
		shift = 16
	} else {
		c.Leaf = int64(r.IntN(g.Leaves))
	}
	for l := range int64(g.Leaves) {
		switch {
		case l == c.Leaf:
		case role == 7: // a spine
			c.Routes = append(c.Routes, Route{Addr: Host(l, 0), Leaf: l, First: 1 + int(l)%(g.Ports-2)})
		case role == 6 && l < 2: // below a switch in between
			c.Routes = append(c.Routes, Route{Addr: Host(l, 0), Leaf: l, First: 1 + int(l)})
		default:
			n := paths
			if r.IntN(8) == 0 {
				n = 1 + r.IntN(paths)
			}
			c.Routes = append(c.Routes, Route{Addr: Host(l, 0), Leaf: l, First: first, Paths: n, Shift: shift})
		}
	}
	if role == 6 { // the row of uplinks first
		c.Routes[0], c.Routes[len(c.Routes)-1] = c.Routes[len(c.Routes)-1], c.Routes[0]
	}
	if c.Leaf >= 0 {
		c.Routes = append(c.Routes, Route{Addr: Host(c.Leaf, 1), First: 1}, Route{Addr: Host(c.Leaf, 2), First: 2})
	}
	for p := 1; p < g.Ports; p++ {
		if r.IntN(40) != 0 {
			forward[p] = Args{"port": int64(p)}
		}
		up := p >= first
		if !up && c.Leaf >= 0 || r.IntN(30) == 0 {
			continue // a host, or something unknown
		}
		n := Args{"path": r.Int64N(int64(g.PathCells)), "relay_group": 0}
		if up && p-first < g.PathCells {
			n["path"] = int64(p - first)
		}
		if c.Leaf < 0 && r.IntN(8) != 0 {
			for q := 1; q < g.Ports; q++ {
				if q != p && r.IntN(3) == 0 {
					c.Groups[p] = append(c.Groups[p], q)
				}
			}
			if c.Groups[p] != nil {
				n["relay_group"] = int64(p)
			}
		}
		neighbours[p] = n
	}
	forward[g.Recirculate] = Args{"port": int64(g.Recirculate)}
	if g.Tofino {
		forward[g.Recirculate]["port"] = Recirculation
	}
	for _, t := range g.Tables {
		keys, ok := g.TableKeys[t.Name]
		if !ok || !g.hasFormulas(&t) || t.Entries == "leaf" && c.Leaf < 0 {
			continue
		}
		entries := Entries{}
		c.Tables[t.Name] = entries
		add := func(i int) {
			port := i
			if keys == 2 {
				port /= g.Classes
			}
			atHost := slices.ContainsFunc(c.Routes, func(r Route) bool { return r.ToHost() && r.First == port })
			if !g.Tofino || t.Entries != "fabric_ports" || !atHost { // a Tofino's controller fills in those alone
				entries[i] = g.arguments(&t)
			}
		}
		if keys == 0 || t.Kind == "settings" {
			add(Default)
		}
		switch {
		case keys == 0:
		case keys == 2 || g.Classes == 1:
			for i := g.Classes; i < g.Ports*g.Classes; i++ {
				if r.IntN(3) != 0 {
					add(i)
				}
			}
		default:
			for p := 1; p < g.Ports; p++ {
				if r.IntN(8) != 0 {
					add(p)
				}
			}
		}
	}
}

// hasFormulas reports whether a table's entries follow from parameters, links
// and the switch; those that follow from the topology are drawn with it.
func (g *Drawer) hasFormulas(t *manifest.Table) bool {
	return len(t.Args) > 0 && !slices.ContainsFunc(t.Args, func(a manifest.Argument) bool { return strings.HasPrefix(string(a.Value), "port.") })
}

// arguments draws an entry of a table: those that a controller would compute for
// parameters and a link at random.
func (g *Drawer) arguments(t *manifest.Table) Args {
	values := map[string]float64{
		"rate": float64(Pick(g, usualRates...)), "mtu": float64(64 + g.UpTo(1500)), "rtt": float64(g.UpTo(g.Pace)),
		"node.leaf": float64(g.Config.Leaf), "node.scope": float64(Pick(g, g.Config.Leaf&0xffff, 0xffff)), "node.relays": float64(g.UpTo(3)),
		"node.id": float64(g.UpTo(65535)), "node.id12": float64(g.UpTo(4095)), "node.mac": float64(g.UpTo(1 << 40)),
	}
	for _, p := range g.Parameters {
		if slices.Contains(p.Tables, t.Name) {
			values[p.Name] = g.amount(p.Unit)
		}
	}
	computed, err := g.Args(t.Name, g.Network, values)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	args := Args{}
	for _, a := range computed {
		args[a.Name] = int64(a.Value)
		if draw := g.draws[t.Name+"."+a.Name]; draw != nil {
			args[a.Name] = draw(g, args)
		}
	}
	return args
}

// amount draws a parameter's value, in its unit.
func (g *Drawer) amount(unit string) float64 {
	switch unit {
	case "bytes":
		return float64(Pick(g, 1, 1000, 1+g.Scale/2, g.Scale, 1+g.UpTo(2*g.Scale)))
	case "ns":
		tick := 1.0
		if g.Microseconds {
			tick = 1000
		}
		return tick * float64(Pick(g, 1, g.Pace, g.Pace, g.UpTo(4*g.Pace)))
	case "bps":
		return float64(Pick(g, usualRates...))
	case "fraction":
		return g.R.Float64()
	default:
		return float64(Pick(g, 0, 1, 3, 64, g.UpTo(20)))
	}
}

// Host is the address of a host of a leaf.
func Host(leaf, host int64) int64 { return 10<<24 | leaf<<8 | host }

// event draws what happens next.
func (g *Drawer) event() Event {
	e := Event{After: Pick(g, 0, 1, g.UpTo(50), g.UpTo(2*g.Pace), g.Pace)}
	switch g.R.IntN(100) {
	case 0:
		e.After = g.Forget()*999/1000 + g.UpTo(g.Forget()/500)
	case 1:
		e.After = g.UpTo(30_000_000)
	}
	if g.TrueDepth() {
		// Within one tick it is not known whether a packet or RESUME was first.
		e.After++
	}
	if departs := 4 + int(Bit(g.Tofino)); g.R.IntN(10) >= departs {
		g.arrival(&e)
		return e
	}
	e.Pick, e.Depth = g.R.IntN(16), Pick(g, -1, 0, g.UpTo(400), 65534+g.UpTo(3))
	if g.Tofino {
		e.Depth = Pick(g, 0, 0, 1, g.UpTo(400), g.UpTo(400), 65534+g.UpTo(3))
	}
	for _, s := range g.Schemes {
		if s.Depth != nil && g.R.IntN(2) == 0 {
			e.Depth = s.Depth(g)
		}
	}
	if g.TrueDepth() {
		e.Depth = -1
	}
	if g.Tofino {
		e.Ahead = Pick(g, 0, g.UpTo(400), g.UpTo(400))
		e.Waited = Pick(g, 0, g.UpTo(1<<18-1))
		if e.Near = g.R.IntN(3) == 0; e.Near {
			e.Waited = Held + g.R.Int64N(3) - 1
		}
		if g.Is("egress_qlen") && g.R.IntN(3) == 0 {
			e.After, e.Pick = ReportAgain-1+g.UpTo(2), 0 // a report of a queue is just due, or not yet
		}
	}
	return e
}

// arrival draws a frame.
func (g *Drawer) arrival(e *Event) {
	r := g.R
	e.Port = 1 + r.IntN(g.Ports-1)
	if r.IntN(3) != 0 {
		e.Port = g.hot
	}
	if r.IntN(50) == 0 {
		e.Port = 510 // the controller's
	}
	f := &Frame{Dst: uint64(g.UpTo(1 << 47)), Src: uint64(g.UpTo(1 << 47)), Type: TypeIPv4}
	leaf := int64(r.IntN(g.Leaves))
	if r.IntN(3) != 0 {
		leaf = g.hotLeaf
	}
	fromLeaf := g.Is("fabric") && r.IntN(3) == 0
	if fromLeaf && g.Config.Leaf >= 0 {
		leaf = g.Config.Leaf // leaves get no packets for others
	}
	kind := r.IntN(100)
	for _, s := range g.Schemes {
		if kind -= s.Frames; kind < 0 && kind >= -s.Frames {
			f.Type, f.Local = TypeLocal, s.Draw(g, leaf)
			break
		}
	}
	switch {
	case f.Local != nil:
	case kind < 12 && g.Is("pfc"):
		f.Type = TypePFC
		f.PFC = Fields{"opcode": Pick[int64](g, 0x0101, 0x0101, 0x0101, 0x0001), "classes": Pick(g, 1<<g.Lossless, g.UpTo(255))}
		for i := range 8 {
			f.PFC[fmt.Sprint("pause", i)] = Pick(g, 0, g.UpTo(1000), 65535)
		}
	case kind < 16:
		f.Type = TypeARP
		f.ARP = Fields{"target": Host(leaf, 1+g.UpTo(2))}
	case kind < 17:
		f.Type = Pick[uint16](g, 0x86dd, TypePFC, TypeLocal, TypeFabric)
		f.Rest = []byte{byte(g.UpTo(3))}
	default:
		g.ip(f, leaf)
	}
	if g.Is("tag") && r.IntN(2) == 0 && (f.IP != nil || f.ARP != nil) {
		path := func() int64 { return Pick(g, 0xff, r.Int64N(int64(g.PathCells)+1)) }
		f.Tag = Fields{"path": path(), "upper_path": path(), "reserved": g.UpTo(255), "coflow": Pick(g, 0, r.Int64N(int64(g.Coflows)*3), 7)}
	}
	if fromLeaf && (f.IP != nil || f.ARP != nil) {
		f.Fabric = Fields{"src_leaf": int64(r.IntN(g.Leaves)), "path": int64(r.IntN(g.PathCells))}
		if r.IntN(40) == 0 {
			f.Fabric["src_leaf"] = int64(g.Leaves)
		}
		for _, s := range g.Schemes {
			if s.Fill != nil {
				s.Fill(g, f.Fabric)
			}
		}
	}
	for range g.UpTo(8) {
		f.Rest = append(f.Rest, byte(g.UpTo(255)))
	}
	e.Data = g.Bytes(f)
	for len(e.Data) < 60 {
		e.Data = append(e.Data, 0)
	}
	e.Elided = max(0, int(Pick(g, Lengths...))-len(e.Data))
	if r.IntN(8) == 0 {
		e.Elided = r.IntN(1400)
	}
}

// ip draws an IPv4 packet of one of a few flows.
func (g *Drawer) ip(f *Frame, leaf int64) {
	r := g.R
	dscp := Pick[int64](g, 26, 26, 26, 26, 26, 48, 56, 0, r.Int64N(64))
	if r.IntN(2) == 0 && g.NotifiesSenders() {
		dscp |= 1
	}
	f.IP = Fields{"version": 4, "ihl": 5, "dscp": dscp, "ecn": Pick[int64](g, 0, 1, 2, 2, 2, 3), "length": 60 + g.UpTo(1000), "id": g.UpTo(65535),
		"ttl": 64, "protocol": Pick[int64](g, 17, 17, 17, 17, 6, 1), "src": Host(r.Int64N(int64(g.Leaves)), 1+g.UpTo(2)), "dst": Host(leaf, 1+g.UpTo(2))}
	if r.IntN(30) == 0 {
		f.IP["fragment"] = g.UpTo(3)
	}
	if r.IntN(30) == 0 {
		f.IP["ihl"] = 6
		f.Rest = []byte{1, 1, 1, 0} // options
	}
	udp := Fields{"src": 49152 + g.UpTo(3), "dst": Pick[int64](g, PortRoCE, PortRoCE, PortRoCE, PortINT, PortINT, 80), "length": 100}
	f.Rest = UDP.Append(f.Rest, udp)
	if udp["dst"] == PortINT {
		t := Fields{"hops": g.UpTo(6), "path": g.UpTo(4095)}
		for i := range min(t["hops"], 5) {
			t[fmt.Sprint("hop", i)] = int64(r.Uint64())
		}
		f.Rest = telemetry.Append(f.Rest, t)
	}
	f.Rest = append(f.Rest, Pick[byte](g, 0x04, 0x0a, 0x10, 0x11, 0x81, byte(g.UpTo(255)))) // BTH
	for range 11 {
		f.Rest = append(f.Rest, byte(g.UpTo(255)))
	}
	f.UpdateChecksum()
}
