// SPDX-License-Identifier: Apache-2.0

// Package p4info describes the parts of a program that a P4Runtime controller can
// access: tables, actions and other objects, with names, ids and types (P4Runtime
// specification, section 6). Names, ids and annotations are the same as p4c's, so
// that controllers do not depend on the compiler.
package p4info

import (
	"slices"
	"strings"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/diag"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// CodeP4Info marks a construct that P4Runtime cannot express.
const CodeP4Info diag.Code = "p4info"

// Generate returns the P4Info of a program. After errors, which it reports,
// it returns nil.
func Generate(prog *ir.Program, info *types.Info, rep *source.Reporter) *p4configv1.P4Info {
	g := &generator{
		prog:    prog,
		info:    info,
		rep:     rep,
		out:     &p4configv1.P4Info{},
		symbols: newSymbols(rep, prog.Pipe),
		seen:    map[uint32]bool{},
	}
	g.collect()
	g.symbols.assign()
	g.generate()
	if rep.Failed() {
		return nil
	}
	return g.out
}

type generator struct {
	prog    *ir.Program
	info    *types.Info
	rep     *source.Reporter
	out     *p4configv1.P4Info
	symbols *symbols
	seen    map[uint32]bool // actions and digests that are written
	digests []digest
}

// digest is a call of digest(), or a Digest of TNA.
type digest struct {
	name string
	t    types.Type
}

func (g *generator) errorf(pos source.Pos, format string, args ...any) {
	g.rep.Errorf(pos, CodeP4Info, format, args...)
}

// tables returns the tables of all controls.
func (g *generator) tables() []*ir.Table {
	var list []*ir.Table
	for _, c := range g.prog.Controls {
		list = append(list, c.Tables...)
	}
	return list
}

// collect adds all objects to the symbols.
func (g *generator) collect() {
	for _, p := range g.prog.Parsers {
		for _, vs := range p.ValueSets {
			g.symbols.add(kindValueSet, vs.Name, vs.Decl.Decl.Annotations, vs.Decl.Pos())
		}
	}
	g.uniqueNames()
	for _, a := range slices.Concat(g.prog.Actions, g.prog.Called) {
		g.symbols.add(kindAction, a.Name, a.Decl.Decl.Annotations, a.Span.Start)
	}
	for _, d := range g.prog.Digests() {
		if d.Unnamed {
			g.rep.Warnf(d.Call.CallSpan.Start, CodeP4Info, "the digest has only the name %s for the control plane; pass a struct to digest", d.Name)
		}
		g.digests = append(g.digests, digest{d.Name, d.Call.TypeArgs[0]})
	}
	for _, o := range g.prog.Objects {
		if g.prog.Arch == arch.TNA && o.Type.Name == "Digest" {
			g.digests = append(g.digests, digest{o.Name, o.Type.TypeArgs[0]})
		}
	}
	for _, d := range g.digests {
		g.symbols.add(kindDigest, d.name, nil, 0)
	}
	for _, t := range g.tables() {
		g.symbols.add(kindTable, t.Name, t.Decl.Table.Decl.Annotations, t.Span.Start)
	}
	for _, o := range g.prog.Objects {
		if k, ok := objectKinds[o.Kind]; ok {
			annots := o.Annotations
			if o.Prop != nil {
				annots = nil
			}
			g.symbols.add(k, o.Profile().Name, annots, o.Span.Start)
		}
	}
	for _, h := range g.controllerHeaders() {
		g.symbols.add(kindController, typeName(h.Decl.Annotations, h.Name), h.Decl.Annotations, h.Decl.Pos())
	}
}

// uniqueNames checks that no two actions and no two tables have the same
// control plane name, which @name makes possible.
func (g *generator) uniqueNames() {
	actions := map[string]*ir.Action{}
	for _, a := range slices.Concat(g.prog.Actions, g.prog.Called) {
		old := actions[a.Name]
		if old == nil {
			actions[a.Name] = a
		} else if old.Decl != a.Decl {
			g.sameName("action", a.Name, old.Span.Start, a.Span.Start)
		}
	}
	tables := map[string]*ir.Table{}
	for _, t := range g.tables() {
		if old := tables[t.Name]; old != nil {
			g.sameName("table", t.Name, old.Span.Start, t.Span.Start)
		}
		tables[t.Name] = t
	}
}

func (g *generator) sameName(what, name string, a, b source.Pos) {
	a, b = min(a, b), max(a, b)
	g.errorf(b, "%s %s has the same name for the control plane as the one at %v", what, name, g.rep.Set.Position(a))
}

// controllerHeaders returns the header types of packet-in and packet-out.
func (g *generator) controllerHeaders() []*types.Struct {
	var list []*types.Struct
	for _, s := range g.info.Structs {
		if s.Kind == types.Header && syntax.Annot(s.Decl.Annotations, "controller_header") != nil {
			list = append(list, s)
		}
	}
	return list
}

func (g *generator) generate() {
	g.pkgInfo()
	for _, t := range g.tables() {
		if !isHidden(t.Decl.Table.Decl.Annotations) {
			g.table(t)
		}
	}
	for _, a := range slices.Concat(g.prog.Actions, g.prog.Called) {
		if !isHidden(a.Decl.Decl.Annotations) {
			g.action(a)
		}
	}
	for _, o := range g.prog.Objects {
		g.object(o)
	}
	for _, h := range g.controllerHeaders() {
		if !isHidden(h.Decl.Annotations) {
			g.controllerHeader(h)
		}
	}
	for _, p := range g.prog.Parsers {
		for _, vs := range p.ValueSets {
			g.valueSet(vs)
		}
	}
	for _, d := range g.digests {
		g.digest(d)
	}
	g.typeInfoIfCalls()
}

// typeInfoIfCalls sets type_info where p4c does, even if it is empty: if a
// control calls an extern function.
func (g *generator) typeInfoIfCalls() {
	see := func(s ir.Stmt) {
		if c, ok := s.(*ir.Call); ok && c.Object == nil {
			g.typeInfo()
		}
	}
	for _, a := range g.prog.Actions {
		ir.WalkStmts(a.Body, see)
	}
	for _, c := range g.prog.Controls {
		ir.WalkStmts(c.Body, see)
	}
}

func (g *generator) typeInfo() *p4configv1.P4TypeInfo {
	if g.out.TypeInfo == nil {
		g.out.TypeInfo = &p4configv1.P4TypeInfo{}
	}
	return g.out.TypeInfo
}

func isHidden(list []*syntax.Annotation) bool { return syntax.Annot(list, "hidden") != nil }

// typeName returns the control plane's name of a type or field.
func typeName(list []*syntax.Annotation, name string) string {
	if a := syntax.Annot(list, "name"); a != nil {
		if s, ok := syntax.AnnotString(a); ok {
			name = s
		}
	}
	return strings.TrimPrefix(name, ".")
}
