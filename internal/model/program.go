// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
)

// A Program is what the model knows of a program: what its manifest says.
type Program struct {
	*manifest.Manifest
	Schemes []*Scheme // models of the features, in the manifest's order
	Base    *Base

	Tofino, Microseconds, DepthBytes bool

	// Sizes of registers. PathCells is the number of paths as a power of two.
	Ports, Paths, PathCells, Leaves, Flows, Coflows, Classes int

	Lossless    int // class that is paused
	Recirculate int // port by which packets pass again; 0: none do

	EveryPacket, AllPorts bool

	TableKeys map[string]int // fields of the keys of the program's tables

	fabric    *Header          // between leaves
	local     map[byte]*Header // messages between neighbours, by their kind
	registers []RegisterCells
	// Of arguments, by table.argument.
	limits, special map[string]int64
}

// RegisterCells is a register, or one field of a register of pairs.
type RegisterCells struct {
	Name  string // register or register.field
	Of    string // register
	Doc   string
	Unit  string
	Size  int
	Bits  int
	Shift int // of the field in the program's cell
	Register
}

// NewProgram reads a manifest.
func NewProgram(m *manifest.Manifest) *Program {
	p := &Program{
		Manifest: m, Tofino: m.Target == "tna",
		Microseconds: m.Units.Time == manifest.Microseconds, DepthBytes: m.Units.Depth == manifest.Bytes,
		Ports: m.Sizes.Ports, Paths: m.Sizes.Paths, PathCells: 2, Leaves: m.Sizes.Leaves,
		Flows: m.Sizes.Flows, Coflows: m.Sizes.Coflows, Classes: m.Sizes.Priorities,
	}
	for p.PathCells < p.Paths {
		p.PathCells *= 2
	}
	if p.Classes == 8 {
		p.Lossless = lossless
	}
	p.Recirculate = m.RecirculationPort
	overrides := map[string]Register{}
	p.limits, p.special, p.local = map[string]int64{}, map[string]int64{}, map[byte]*Header{}
	fabric := fabricList
	for _, name := range m.Features {
		s := Registered(name)
		if s == nil {
			continue
		}
		p.Schemes = append(p.Schemes, s)
		p.EveryPacket = p.EveryPacket || s.EveryPacket
		p.AllPorts = p.AllPorts || s.AllPorts
		if s.Base != nil {
			p.Base = s.Base
		}
		fabric += " " + s.Header
		for kind, list := range s.Local {
			p.local[kind] = NewHeader(list)
		}
		maps.Copy(overrides, s.Registers)
		maps.Copy(p.limits, s.Limits)
		maps.Copy(p.special, s.Special)
	}
	p.fabric = NewHeader(fabric)
	for _, r := range m.Registers {
		fields := r.Fields
		if len(fields) == 0 {
			fields = []string{""}
		}
		size := 1
		for _, d := range r.Index {
			size *= d.Size
		}
		for k, f := range fields {
			name := strings.TrimSuffix(r.Name+"."+f, ".")
			p.registers = append(p.registers, RegisterCells{
				Name: name, Of: r.Name, Doc: r.Doc, Unit: unit(r.Unit, k, f), Size: size, Bits: r.Bits, Shift: r.Bits * (len(fields) - 1 - k), Register: overrides[name],
			})
		}
	}
	return p
}

// unit is that of a register's field: the manifest has that of the first.
func unit(first string, k int, field string) string {
	switch {
	case k == 0:
		return first
	case strings.HasSuffix(field, "_at") || field == "since" || field == "last":
		return "ns"
	}
	return field
}

// lossless is the class that is paused where a port has eight.
const lossless = manifest.LosslessClass

// Stages are those of a scheme for the program's target.
func (p *Program) Stages(s *Scheme) *Stages {
	if p.Tofino {
		return &s.Tofino
	}
	return &s.V1model
}

// Is reports whether the program has a feature.
func (p *Program) Is(feature string) bool { return slices.Contains(p.Features, feature) }

// Constant is a number that the generator worked out.
func (p *Program) Constant(name string) int64 {
	i := slices.IndexFunc(p.Constants, func(c manifest.Constant) bool { return c.Name == name })
	if i < 0 {
		panic("BUG: the manifest has no constant " + name)
	}
	return p.Constants[i].Value
}

// Parameter is the value of a parameter that the program was generated with.
func (p *Program) Parameter(name string) float64 {
	v, err := p.Value(name, p.Network)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return v
}

// Registers are the program's, by name or register.field.
func (p *Program) Registers() []RegisterCells { return p.registers }

// NotifiesSenders reports whether switches send messages to the senders of packets.
func (p *Program) NotifiesSenders() bool {
	return slices.ContainsFunc(p.Schemes, func(s *Scheme) bool { return s.BTH != nil })
}

// ParsesINT reports whether the parser understands HPCC's telemetry.
func (p *Program) ParsesINT() bool {
	return slices.ContainsFunc(p.Schemes, func(s *Scheme) bool { return s.INT })
}

// TrueDepth reports whether the target's depths must be what is in its queues.
func (p *Program) TrueDepth() bool {
	return slices.ContainsFunc(p.Schemes, func(s *Scheme) bool { return s.TrueDepth }) && !p.Tofino
}

// QueueCell is the place of a class of a port in tables of queues.
func (p *Program) QueueCell(port, class int) int {
	if p.Classes == 1 {
		return port
	}
	return port*p.Classes + class
}

// PathCell is the place of a path to a leaf. Numbers on the wire count by their
// low bits.
func (p *Program) PathCell(leaf int64, path int) int {
	if p.Tofino {
		leaf &= int64(p.Leaves - 1)
	}
	return int(leaf)*p.PathCells + path&(p.PathCells-1)
}

// Forget is the time after which a queue without arrivals is empty: 10 ms, or
// 1 s where links are slow.
func (p *Program) Forget() Time {
	if p.Microseconds {
		return 1_000_000
	}
	return 10_000_000
}
