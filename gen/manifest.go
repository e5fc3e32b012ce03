// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
)

// buildManifest collects what the blocks say of themselves.
func (g *generator) buildManifest(target string) *manifest.Manifest {
	m := &manifest.Manifest{
		Program: g.Name, Summary: g.Summary, Target: target,
		Units: g.Units, Sizes: g.Sizes, Network: g.Network,
	}
	if target == "tna" {
		m.Notes = append(slices.Clone(tnaNotes), g.tooLarge()...)
	}
	if g.needs["recirculation"] {
		m.RecirculationPort = g.Recirculation
	}
	m.Base, m.Features, m.Options = g.Base, g.features(), g.options()
	for _, name := range m.Features {
		d := g.describe(name, target)
		m.Tables = append(m.Tables, d.tables...)
		for _, r := range d.registers {
			m.Registers = append(m.Registers, g.register(r))
		}
		m.Counters = append(m.Counters, d.counters...)
		m.Digests = append(m.Digests, d.digests...)
		m.Notes = append(m.Notes, d.notes...)
		for _, p := range manifest.Parameters {
			if block, _, _ := strings.Cut(p.Name, "."); block == name {
				m.Parameters = append(m.Parameters, g.parameter(p))
			}
		}
	}
	return m
}

func (g *generator) parameter(d manifest.Definition) manifest.Parameter {
	v, given := g.given[d.Name]
	if !given {
		v, _ = manifest.Derive(d.Name, g.Network)
	}
	return manifest.Parameter{Name: d.Name, Value: v, Unit: d.Unit, Given: given, ByRate: g.byRate[d.Name], Table: d.Table, Doc: d.Doc}
}

// register fills in a register's sizes and units.
func (g *generator) register(d registerDoc) manifest.Register {
	r := manifest.Register{Name: d.name, Unit: d.unit, Bits: d.bits, Fields: d.fields, Doc: d.doc}
	if r.Unit == "time" {
		r.Unit = string(g.Units.Time)
	}
	if r.Bits == 0 {
		r.Bits = g.MaskBits()
	}
	sizes := map[string]int{
		"one": 1, "port": g.Sizes.Ports, "priority": g.Sizes.Priorities,
		"leaf": g.Sizes.Leaves, "leaf+": g.Sizes.Leaves + 1, "path": g.PathCells(),
		"flow": g.Sizes.Flows, "coflow": g.Sizes.Coflows, "slot": 1 << slotBits, "message": 1024,
	}
	for _, dim := range strings.Split(d.index, ",") {
		if dim == "priority" && !g.PriorityQueues() {
			continue
		}
		r.Index = append(r.Index, manifest.Dim{Name: strings.TrimSuffix(dim, "+"), Size: sizes[dim]})
	}
	return r
}

// entries are the default entries of tables that hold parameters: what a
// switch has without a controller, and what to change for another behaviour.
func (g *generator) entries() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Default entries of %s, one a line: TABLE default -> ACTION(ARGUMENTS).\n", g.Name)
	fmt.Fprintf(&b, "# Time is in %s, queue depths of the target are in %s, other sizes are in bytes.\n", g.Units.Time.Name(), g.Units.Depth.Name())
	for _, t := range g.manifest.Tables {
		s, ok := g.manifest.Setting(t.Name)
		if t.Kind != "settings" || !ok {
			continue
		}
		args, err := g.manifest.Args(t.Name, g.Network)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		var text []string
		for _, a := range args {
			text = append(text, fmt.Sprintf("%s=%d", a.Name, a.Value))
		}
		fmt.Fprintf(&b, "\n# %s\n%s default -> %s(%s)\n", t.Doc, t.Name, s.Action, strings.Join(text, ", "))
	}
	return []byte(b.String())
}
