// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
)

// A Program is what the model knows of a program, from its manifest.
type Program struct {
	*manifest.Manifest
	manifest.Sizes
	Schemes []*Scheme // models of the features, in the manifest's order
	Base    *Base

	Tofino, Microseconds, DepthBytes bool

	PathCells int           // Paths as a power of two, in the sizes of registers
	Classes   int           // queues per port
	Lossless  int           // the class that is paused
	Sessions  map[int]Queue // the queues to which clone sessions lead

	Registers []*RegisterCells // a register of pairs is two
	TableKeys map[string]int   // fields of the keys of the program's tables

	fabric *Header          // between leaves
	local  map[byte]*Header // messages between neighbours, by their kind
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
		Manifest: m, Sizes: m.Sizes, Tofino: m.Target == "tna",
		Microseconds: m.Units.Time == manifest.Microseconds, DepthBytes: m.Units.Depth == manifest.Bytes,
		PathCells: 2, Classes: m.Sizes.Priorities, Sessions: map[int]Queue{},
	}
	for p.PathCells < p.Paths {
		p.PathCells *= 2
	}
	if p.Classes == 8 {
		p.Lossless = manifest.LosslessClass
	}
	p.sessions()
	overrides := map[string]Register{}
	p.limits, p.special, p.local = map[string]int64{}, map[string]int64{}, map[byte]*Header{}
	fabric := fabricList
	for _, name := range m.Features {
		s := Registered(name)
		if s == nil {
			continue
		}
		p.Schemes = append(p.Schemes, s)
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
			p.Registers = append(p.Registers, &RegisterCells{
				Name: name, Of: r.Name, Doc: r.Doc, Unit: unit(r.Unit, k, f), Size: size, Bits: r.Bits, Shift: r.Bits * (len(fields) - 1 - k), Register: overrides[name],
			})
		}
	}
	return p
}

// times are the names of registers and fields that have a time. Others in ns or
// us have a duration.
var times = regexp.MustCompile(`(_at|_time|_start|_window|since|until|last)$`)

func (r *RegisterCells) isTime() bool {
	return (r.Unit == "ns" || r.Unit == "us") && times.MatchString(r.Name)
}

// unit is the unit of a register's field. The manifest has that of the first.
func unit(first string, k int, field string) string {
	switch {
	case k == 0:
		return first
	case times.MatchString(field):
		return "ns"
	}
	return field
}

// messageClass is the class of messages between switches.
const messageClass = 7

// sessions lists the clone sessions that a controller makes: two to each port,
// one of them in the class of data, and on a Tofino one from egress to ingress.
func (p *Program) sessions() {
	ports, first := []int{controllerPort}, 0
	if p.Tofino {
		ports, first = nil, 1
		p.Sessions[manifest.FeedbackSession] = Queue{manifest.TofinoRecirculation, messageClass}
	}
	for port := first; port < p.Ports; port++ {
		ports = append(ports, port)
	}
	for _, port := range ports {
		p.Sessions[port], p.Sessions[256+port] = Queue{port, messageClass}, Queue{port, manifest.LosslessClass}
	}
}

// Stages returns the stages of a scheme on the program's target.
func (p *Program) Stages(s *Scheme) *Stages {
	if p.Tofino {
		return &s.Tofino
	}
	return &s.V1model
}

// Is reports whether the program has a feature.
func (p *Program) Is(feature string) bool { return slices.Contains(p.Features, feature) }

// Constant is a number that the generator computed.
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

// Register returns a register by its name or register.field, or nil.
func (p *Program) Register(name string) *RegisterCells {
	for _, r := range p.Registers {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// any reports whether a scheme of the program has a property.
func (p *Program) any(has func(*Scheme) bool) bool { return slices.ContainsFunc(p.Schemes, has) }

// NotifiesSenders reports whether switches send messages to the senders of packets.
func (p *Program) NotifiesSenders() bool {
	return p.any(func(s *Scheme) bool { return s.BTH != nil })
}

// TrueDepth reports whether the queue depths that the target reports must be true.
func (p *Program) TrueDepth() bool {
	return !p.Tofino && p.any(func(s *Scheme) bool { return s.TrueDepth })
}

// QueueCell is the place of a class of a port in tables of queues.
func (p *Program) QueueCell(port, class int) int {
	if p.Classes == 1 {
		return port
	}
	return port*p.Classes + class
}

// PathCell is the place of a path to a leaf. Of numbers in headers, the low bits
// count.
func (p *Program) PathCell(leaf int64, path int) int {
	if p.Tofino {
		leaf &= int64(p.Leaves - 1)
	}
	return int(leaf)*p.PathCells + path&(p.PathCells-1)
}

// Forget is the time after which a queue without arrivals counts as empty: 10 ms,
// or 1 s where links are slow.
func (p *Program) Forget() Time {
	if p.Microseconds {
		return 1_000_000
	}
	return 10_000_000
}
