// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
)

// A Case is a state of a switch, and events.
type Case struct {
	Seed   uint64 // of the program's random numbers
	Now    Time   // before the first event
	Config *Config
	Cells  []CellValue
	Events []Event
}

// A CellValue is a cell that differs from that of a new switch.
type CellValue struct {
	Register string
	Index    int
	Value    int64
}

// An Event is the arrival of a frame, or the departure of the packet at the
// head of a queue.
type Event struct {
	After Time // since the event before

	Data    []byte // of the frame that arrives; nil for a departure
	Padding int64  // zero bytes behind them
	Port    int

	Pick  int   // number of the queue among those with packets
	Depth int64 // depth that the target reports after the departure; −1: the true one
	// On a Tofino: the depth when the packet came, and how long it waited.
	Ahead, Waited int64
}

// Numbers are the numbers of the event that can be changed.
func (e *Event) Numbers() []*int64 {
	if e.Data != nil {
		return []*int64{&e.After, &e.Padding}
	}
	return []*int64{&e.After, &e.Depth, &e.Ahead, &e.Waited}
}

// A Drawer draws cases. Registers and arguments of tables are drawn by unit, index
// and formula from the manifest. Values at which decisions change are not drawn on
// purpose: the judge finds them between two values that were drawn (Another).
type Drawer struct {
	*Program
	R      *rand.Rand
	Config *Config
	Now    Time
	// Scale is the size of queues in this case, Pace that of intervals.
	Scale Bytes
	Pace  Time
	// Most packets come by port hot and are for leaf hotLeaf.
	hot     int
	hotLeaf int64
}

// controllerPort is the port of packets from and to the controller.
const controllerPort = 510

// lengths are the lengths of most frames, so that queues are often equal.
var lengths = []int64{64, 128, 1064}

// Generate returns case number n of a series, and a drawer of other values for it.
func Generate(p *Program, series, n uint64) (*Case, *Drawer) {
	g := &Drawer{Program: p, R: rand.New(rand.NewPCG(series, n))}
	g.Scale = Pick[int64](g, 3_000, 20_000, 100_000, 400_000)
	g.Pace = Pick[Time](g, 20, 300, 2_000, 10_000)
	g.Now = 1<<32 + g.R.Int64N(1<<35)
	if g.R.IntN(4) == 0 { // the clock of 32 bits is about to wrap
		g.Now = g.Now&^(1<<32-1) + 1<<32 - g.R.Int64N(20_000)
	}
	g.config()
	g.hot = 1 + g.R.IntN(p.Ports-1)
	g.hotLeaf = int64(g.R.IntN(p.Leaves))
	c := &Case{Seed: g.R.Uint64(), Now: g.Now, Config: g.Config}
	c.Cells = g.cells()
	events := 2 + g.R.IntN(9)
	if p.Tofino { // egress needs some to report to ingress what was
		events = 3 + g.R.IntN(12)
	}
	for range events {
		c.Events = append(c.Events, g.event())
	}
	return c, g
}

// Another picks a number of a case. It returns its place, its value, and another
// value that could have been drawn for it; nil if there is none.
func (g *Drawer) Another(c *Case) (at func(*Case) *int64, is, other int64) {
	if len(c.Cells) > 0 && g.R.IntN(2) == 0 {
		k := g.R.IntN(len(c.Cells))
		x := &c.Cells[k]
		r := g.Register(x.Register)
		if r.Unit == "paths" || r.Unit == "path" || strings.HasSuffix(r.Name, "path") {
			return nil, 0, 0
		}
		return func(c *Case) *int64 { return &c.Cells[k].Value }, x.Value, g.value(r, x.Index)
	}
	k := g.R.IntN(len(c.Events))
	e, o := &c.Events[k], g.event()
	n := g.R.IntN(len(e.Numbers()))
	if e.Data == nil != (o.Data == nil) {
		n = 0
	}
	is, other = *e.Numbers()[n], *o.Numbers()[n]
	if is < 0 || other < 0 {
		return nil, 0, 0
	}
	return func(c *Case) *int64 { return c.Events[k].Numbers()[n] }, is, other
}

// Pick draws one of a list.
func Pick[T any](g *Drawer, list ...T) T { return list[g.R.IntN(len(list))] }

// UpTo is a number from 0 to n.
func (g *Drawer) UpTo(n int64) int64 { return g.R.Int64N(n + 1) }

// Arg is an argument of a table's default action; 0 if there is none.
func (g *Drawer) Arg(table, arg string) int64 { return g.Config.Tables[table][Default][arg] }

// Queue is the length of a queue, in bytes.
func (g *Drawer) Queue(int) int64 {
	return Pick(g, 0, 1000, g.UpTo(3000), g.UpTo(2*g.Scale), g.UpTo(2*g.Scale))
}

// Past is a time in the past.
func (g *Drawer) Past(int) int64 {
	long := int64(1<<31 - 1<<26)
	if g.Tofino { // any value of the clock, for instance the initial one
		long = 1<<32 - 1
	}
	return g.Now - Pick(g, g.UpTo(g.Pace), g.UpTo(3*g.Pace), g.UpTo(3*g.Pace), g.UpTo(long))
}

// Duration is a duration: often the same, or zero.
func (g *Drawer) Duration(int) int64 {
	return Pick(g, 0, g.Pace, g.Pace, g.Pace+g.UpTo(g.Pace), 4*g.Pace, g.UpTo(4*g.Pace), g.UpTo(4*g.Pace), g.UpTo(16*g.Pace))
}

// PathMask is a set of some of the paths.
func (g *Drawer) PathMask(paths int) int64 {
	list := make([]bool, g.PathCells)
	for p := range paths {
		list[p] = g.R.IntN(5) == 0
	}
	return Mask(list)
}

// PathsTo is the number of paths to a leaf.
func (g *Drawer) PathsTo(leaf int64) int {
	for _, r := range g.Config.Routes {
		if r.Leaf == leaf && !r.ToHost() {
			return max(r.Paths, 1)
		}
	}
	return 1
}

// MinPaths is the least number of paths to a leaf.
func (g *Drawer) MinPaths() int {
	least := g.PathCells
	for leaf := range int64(g.Leaves) {
		if leaf != g.Config.Leaf {
			least = min(least, g.PathsTo(leaf))
		}
	}
	return least
}

// most are the greatest values of units.
var most = map[string]int64{"flag": 1, "1/8": 7, "1/255": 255, "1/65536": 70_000}

// value draws a value of a register: as its scheme says, or by its unit.
func (g *Drawer) value(r *RegisterCells, i int) int64 {
	field := r.Name[strings.LastIndexByte(r.Name, '.')+1:]
	switch unit, signed, _ := strings.Cut(r.Unit, ","); {
	case r.Draw != nil:
		return r.Draw(g, i)
	case r.Most != 0:
		return g.UpTo(r.Most)
	case r.Period != 0: // that runs, or has ended
		return Mod32(g.Now)>>r.Period - g.UpTo(2)
	case field == "path" || unit == "path": // one path, or in a register of such plus one
		if g.Tofino || r.Bits != 8 {
			return g.R.Int64N(int64(g.PathCells))
		}
		return g.R.Int64N(int64(g.PathCells) + 1)
	case unit == "bytes" && signed != "":
		before := g.Queue(i)
		return g.Queue(i) - before
	case unit == "bytes":
		return g.Queue(i)
	case strings.HasSuffix(field, "_until"):
		return g.Now + g.UpTo(6*g.Pace) - 3*g.Pace
	case r.isTime():
		return g.Past(i)
	case unit == "ns" || unit == "us":
		return g.Duration(i)
	case unit == "paths":
		return g.PathMask(g.PathCells)
	case most[unit] != 0:
		return g.UpTo(most[unit])
	case unit == "rank": // a class, and what counts within it
		return g.UpTo(3)<<30 | Pick(g, g.Queue(i), g.Duration(i), g.UpTo(255))
	default:
		return Pick(g, g.UpTo(3), g.UpTo(1<<20))
	}
}

// cells draws the state: of each register no cells, some or all.
func (g *Drawer) cells() []CellValue {
	var list []CellValue
	var chosen []int // of a pair both fields
	for k, r := range g.Registers {
		if k > 0 && r.Of == g.Registers[k-1].Of {
			for _, i := range chosen {
				list = append(list, CellValue{r.Name, i, g.value(r, i)})
			}
			continue
		}
		chosen = nil
		share := Pick(g, 0, 1, 3, 5, 8, 8)
		if r.Size > 64 && !g.Tofino {
			share = min(share, 2)
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

// config draws a switch: a leaf with hosts and uplinks, a switch above leaves that
// has a choice too, or a spine.
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
		case role == 6 && l < 2: // leaves below it
			c.Routes = append(c.Routes, Route{Addr: Host(l, 0), Leaf: l, First: 1 + int(l)})
		default:
			n := paths
			if r.IntN(8) == 0 {
				n = 1 + r.IntN(paths)
			}
			c.Routes = append(c.Routes, Route{Addr: Host(l, 0), Leaf: l, First: first, Paths: n, Shift: shift})
		}
	}
	if role == 6 { // the routes with a choice first
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
			continue // a host, or an unknown device
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
	forward[g.RecirculationPort] = Args{"port": int64(g.RecirculationPort)}
	if g.Tofino {
		forward[g.RecirculationPort]["port"] = manifest.TofinoRecirculation
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
		first, last, odds := 1, g.Ports, 8
		if keys == 2 || g.Classes == 1 {
			first, last, odds = g.Classes, g.Ports*g.Classes, 3
		}
		for i := first; i < last && keys > 0; i++ {
			if r.IntN(odds) != 0 {
				add(i)
			}
		}
	}
}

// hasFormulas reports whether a table's entries follow from parameters, links
// and the switch. Those that follow from the topology are drawn with it.
func (g *Drawer) hasFormulas(t *manifest.Table) bool {
	return len(t.Args) > 0 && !slices.ContainsFunc(t.Args, func(a manifest.Argument) bool { return strings.HasPrefix(string(a.Value), "port.") })
}

// arguments draws an entry of a table: the arguments that a controller computes for
// random parameters and a random link.
func (g *Drawer) arguments(t *manifest.Table) Args {
	values := map[string]float64{
		"shared": float64(Pick[int64](g, 4, 8, 16)*g.Scale + g.UpTo(g.Scale)), "reserve": float64(Pick(g, 0, 0, 4096, g.UpTo(g.Scale))), "alpha_shift": float64(Pick(g, 3, 4, 5, 6, 6, 6, 7, g.UpTo(10))),
		"rate": float64(Pick(g, usualRates...)), "mtu": float64(64 + g.UpTo(1500)), "rtt": float64(g.UpTo(g.Pace)),
		"node.leaf": float64(g.Config.Leaf), "node.scope": float64(Pick(g, g.Config.Leaf&0xffff, 0xffff)), "node.relays": float64(g.UpTo(3)),
		"node.id": float64(g.UpTo(65535)), "node.id12": float64(g.UpTo(4095)), "node.mac": float64(g.UpTo(1 << 40)),
	}
	for _, r := range g.Config.Routes {
		values["node.paths"] = max(values["node.paths"], float64(r.Paths))
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
		name := t.Name + "." + a.Name
		if most, ok := g.limits[name]; ok {
			args[a.Name] = min(args[a.Name], most)
		}
		if v, ok := g.special[name]; ok && g.R.IntN(3) == 0 {
			args[a.Name] = v
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

// With Scheme.FewFlows, most flows are from host 1 of the first leaves to host 1 of
// another, from this port.
const (
	fewSources = 3
	firstPort  = 49152
)

// FlowOf is the hash of one of the few flows that has this row in registers of flows,
// or of another flow if there is none.
func (g *Drawer) FlowOf(row int) int64 {
	var found []int64
	for src := range int64(fewSources) {
		for dst := range int64(g.Leaves) {
			f := Frame{IP: Fields{"ihl": 5, "protocol": 17, "src": Host(src, 1), "dst": Host(dst, 1)},
				UDP: Fields{"src": firstPort, "dst": PortRoCE}}
			if hash := f.FiveTuple(); int(hash)&(g.Flows-1) == row {
				found = append(found, int64(hash))
			}
		}
	}
	if len(found) == 0 || g.R.IntN(8) == 0 {
		return g.UpTo(1<<20)*int64(g.Flows) + int64(row)
	}
	return Pick(g, found...)
}

// maxIdle is the longest time without an event on a Tofino: two wraps of its clock.
const maxIdle = 10e9

// PSN draws a packet sequence number: often one of a few, around the end of all numbers.
func (g *Drawer) PSN(int) int64 { return Pick(g, g.UpTo(3), PSNs-1-g.UpTo(3), g.UpTo(PSNs-1)) }

// RoCE draws RoCEv2's transport headers for Scheme.Transport: data, acknowledgements and
// NAKs.
func (g *Drawer) RoCE() []byte {
	h := Fields{"opcode": Pick(g, 0x04, 0x0a, 0x10, OpcodeACK, OpcodeACK, OpcodeACK, 0x81, g.UpTo(255)),
		"number": g.UpTo(1)<<31 | g.PSN(0), "pair": g.UpTo(PSNs - 1), "congestion": Pick(g, 0, 0x40, g.UpTo(255))}
	return append(BTH.Append(nil, h), byte(Pick(g, 0, SyndromeNAK, SyndromeNAK, 0x61, g.UpTo(255))), 0, 0, 0)
}

// event draws an event.
func (g *Drawer) event() Event {
	e := Event{After: Pick(g, 0, 1, g.UpTo(50), g.UpTo(2*g.Pace), g.Pace)}
	if g.R.IntN(50) == 0 {
		e.After = g.UpTo(3 * g.Forget())
		if g.Tofino && g.R.IntN(4) == 0 {
			e.After = g.UpTo(maxIdle)
		}
	}
	if g.TrueDepth() {
		// In one tick, the order of a packet and a RESUME is not determined.
		e.After++
	}
	if departs := 4 + int(Bit(g.Tofino)); g.R.IntN(10) >= departs {
		g.arrival(&e)
		return e
	}
	e.Pick, e.Depth = g.R.IntN(16), Pick(g, 0, 1, g.UpTo(400), g.depth(g.Queue(0)), g.depth(g.Queue(0)), 65534+g.UpTo(3))
	if g.TrueDepth() || !g.Tofino && g.R.IntN(4) == 0 {
		e.Depth = -1
	}
	if g.Tofino {
		e.Ahead, e.Waited = Pick(g, 0, g.UpTo(400), g.UpTo(400)), Pick(g, 0, g.UpTo(4*Held), g.UpTo(1<<18-1))
	}
	return e
}

// depth is a queue length in the target's unit, roughly.
func (g *Drawer) depth(q Bytes) int64 {
	if g.DepthBytes {
		return q
	}
	return q / 80
}

// arrival draws a frame.
func (g *Drawer) arrival(e *Event) {
	r := g.R
	e.Port = 1 + r.IntN(g.Ports-1)
	if r.IntN(3) != 0 {
		e.Port = g.hot
	}
	if r.IntN(50) == 0 {
		e.Port = controllerPort
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
	e.Padding = max(0, Pick(g, lengths...)-int64(len(e.Data)))
	if r.IntN(8) == 0 {
		e.Padding = r.Int64N(1400)
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
	few := g.any(func(s *Scheme) bool { return s.FewFlows }) && r.IntN(4) != 0
	if few {
		f.IP["protocol"], f.IP["src"], f.IP["dst"] = 17, Host(r.Int64N(fewSources), 1), Host(leaf, 1)
	}
	if r.IntN(30) == 0 {
		f.IP["fragment"] = g.UpTo(3)
	}
	if r.IntN(30) == 0 {
		f.IP["ihl"] = 6
		f.Rest = []byte{1, 1, 1, 0} // options
	}
	udp := Fields{"src": firstPort + g.UpTo(3), "dst": Pick[int64](g, PortRoCE, PortRoCE, PortRoCE, PortINT, PortINT, 80), "length": 100}
	if few {
		udp["src"], udp["dst"] = firstPort, PortRoCE
	}
	digest := udp["dst"] == PortINT && g.reads(PortPINT)
	if digest {
		udp["dst"] = PortPINT
	}
	f.Rest = UDP.Append(f.Rest, udp)
	if digest {
		f.Rest = telemetries[PortPINT].Append(f.Rest, Fields{"code": Pick(g, 0, g.UpTo(300))})
	}
	if udp["dst"] == PortINT {
		t := Fields{"hops": g.UpTo(6), "path": g.UpTo(4095)}
		for i := range min(t["hops"], 5) {
			t[fmt.Sprint("hop", i)] = int64(r.Uint64())
		}
		f.Rest = telemetries[PortINT].Append(f.Rest, t)
	}
	f.Rest = append(f.Rest, Pick[byte](g, 0x04, 0x0a, 0x10, 0x11, 0x81, byte(g.UpTo(255)))) // BTH
	for range 11 {
		f.Rest = append(f.Rest, byte(g.UpTo(255)))
	}
	for _, s := range g.Schemes {
		if s.Transport != nil {
			f.Rest = append(f.Rest[:len(f.Rest)-BTH.len], s.Transport(g)...)
		}
	}
	f.UpdateChecksum()
}
