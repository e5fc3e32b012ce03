// SPDX-License-Identifier: Apache-2.0

// Package bmv2 converts an ir.Program to BMv2 JSON. A program for v1model runs
// on BMv2, one for TNA on our switch.
//
// A control becomes a graph (graph.go) of tables, conditionals, and calls of
// actions with the statements between them. A parser already consists of
// states. Keys that BMv2 cannot select on are computed into variables first
// (parser.go). BMv2 computes with unlimited precision and truncates values only
// when it stores them; the expressions of expr.go truncate them wherever the
// language does.
package bmv2

import (
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/include"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
)

// CodeTarget marks a construct that the language allows and the target does not
// support.
const CodeTarget diag.Code = "target"

// scalars is the header that holds the variables.
const scalars = "scalars"

// Options are the options of Generate.
type Options struct {
	// Name is the program's name in the file.
	Name string
	// SourceInfo adds its position in the source to every object.
	SourceInfo bool
}

// Generate returns the JSON of a program. After errors, which it reports, it
// returns nil.
func Generate(prog *ir.Program, opts Options, rep *source.Reporter) *bmv2json.Program {
	g := &generator{
		prog:     prog,
		opts:     opts,
		rep:      rep,
		out:      &bmv2json.Program{Program: opts.Name},
		names:    map[string]int{},
		actions:  map[*ir.Action]*bmv2json.Action{},
		headers:  map[*ir.Header]int{},
		lists:    map[int]int{},
		results:  map[*ir.Object]*bmv2json.FieldRef{},
		bindings: map[*ir.Object]*ir.Table{},

		entryVars: map[*ir.Table]*ir.VarRef{},
		attached:  map[*ir.Object]*ir.Table{},
		alone:     map[*ir.Object]bool{},
		nodes:     map[string]bool{},
		keyVars:   map[*ir.Key]*ir.VarRef{},
		digests:   map[*ir.Call]string{},
	}
	for _, d := range prog.Digests() {
		g.digests[d.Call] = d.Name
	}
	g.out.Meta.Version = bmv2json.Version
	g.out.Meta.Compiler = "pauseless"
	if prog.Arch == arch.TNA {
		g.out.Architecture = bmv2json.TNA
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(giveUp); !ok {
				panic(r)
			}
		}
	}()
	g.generate()
	if rep.Failed() {
		return nil
	}
	return g.out
}

// giveUp is the panic that ends generation after an error was reported.
type giveUp struct{}

type generator struct {
	prog *ir.Program
	opts Options
	rep  *source.Reporter
	out  *bmv2json.Program

	names   map[string]int // of the generated actions and nodes
	actions map[*ir.Action]*bmv2json.Action
	headers map[*ir.Header]int  // their indices
	lists   map[int]int         // field lists by their numbers in the program
	nodes   map[string]bool     // of control graphs
	digests map[*ir.Call]string // names of digests

	// The destination of each direct meter's result, and the table of each
	// direct meter and counter.
	results  map[*ir.Object]*bmv2json.FieldRef
	bindings map[*ir.Object]*ir.Table

	keyVars map[*ir.Key]*ir.VarRef // of keys that must be computed
	role    string                 // of the block being written
	warned  map[warning]bool

	unmatched string // the parser's state for packets that no case of a select matches

	tables, conditionals, calls, profiles, states int               // made so far
	params                                        []*ir.ActionParam // of the action being written
	acting                                        *ir.Action        // the action being written
	at                                            source.Span       // of the statement being written

	entryVars map[*ir.Table]*ir.VarRef // numbers of applied entries, in TNA
	attached  map[*ir.Object]*ir.Table // of direct registers that no table names
	alone     map[*ir.Object]bool      // direct registers that are used outside of tables
}

// fail ends generation with an error, at the statement being written if no other
// place is known.
func (g *generator) fail(sp source.Span, format string, args ...any) {
	if !sp.Start.IsValid() {
		sp = g.at
	}
	g.rep.Errorf(sp.Start, CodeTarget, format, args...)
	panic(giveUp{})
}

// where returns the source_info of a span.
func (g *generator) where(sp source.Span) *bmv2json.SourceInfo {
	if !g.opts.SourceInfo || !sp.Start.IsValid() {
		return nil
	}
	pos := g.rep.Set.Position(sp.Start)
	return &bmv2json.SourceInfo{
		Filename: pos.File(),
		Line:     int(pos.Line),
		Column:   int(pos.Col) - 1,
		Fragment: g.rep.Set.Fragment(sp),
	}
}

// unique returns name, with a number appended if it is taken.
func (g *generator) unique(name string) string {
	n, taken := g.names[name]
	g.names[name] = n + 1
	if !taken {
		return name
	}
	return g.unique(fmt.Sprintf("%s_%d", name, n))
}

// newVar creates a variable.
func (g *generator) newVar(t ir.Type, name string) *ir.VarRef {
	v := &ir.Var{Name: g.unique(name), Type: t}
	g.prog.Vars = append(g.prog.Vars, v)
	return &ir.VarRef{Var: v}
}

func (g *generator) generate() {
	for _, v := range g.prog.Vars {
		g.names[v.Name] = 1
	}
	for _, a := range g.prog.Actions {
		g.names[a.Name] = 1
	}
	for _, c := range g.prog.Controls {
		for _, t := range c.Tables {
			g.names[t.Name] = 1
		}
	}
	g.headerTypes()
	g.fieldLists()
	for _, p := range g.prog.Parsers {
		g.role = p.Role
		g.parser(p)
	}
	for _, a := range g.prog.Actions {
		g.role = a.Role
		g.action(a)
	}
	for _, c := range g.prog.Controls {
		g.role = c.Role
		switch c.Role {
		case arch.Ingress, arch.Egress:
			g.pipeline(c)
		case arch.Deparser:
			g.deparser(c)
		case arch.IngressDeparser, arch.EgressDeparser:
			g.deparserOfGress(c)
		case arch.VerifyChecksum, arch.ComputeChecksum:
			g.checksums(c)
		}
	}
	g.objects()
	g.finishVars()
	g.errorsAndEnums()
}

// headerTypes writes types and instances of headers.
func (g *generator) headerTypes() {
	out := g.out
	// Variables come first, in a header of their own.
	out.HeaderTypes = append(out.HeaderTypes, &bmv2json.HeaderType{Name: scalars, ID: 0})
	out.Headers = append(out.Headers, &bmv2json.Header{Name: scalars, ID: 0, Type: scalars, Metadata: true, PIOmit: true})
	for _, t := range g.prog.HeaderTypes {
		g.headerType(t)
	}
	for _, h := range g.prog.Headers {
		g.headers[h] = len(out.Headers)
		out.Headers = append(out.Headers, &bmv2json.Header{Name: h.Name, ID: len(out.Headers), Type: h.Type.Name, Metadata: h.Metadata, PIOmit: true})
	}
	for i, s := range g.prog.Stacks {
		st := &bmv2json.HeaderStack{Name: s.Name, ID: i, Type: s.Type.Name, Size: len(s.Elems)}
		for _, h := range s.Elems {
			st.HeaderIDs = append(st.HeaderIDs, g.headers[h])
		}
		out.HeaderStacks = append(out.HeaderStacks, st)
	}
	for i, u := range g.prog.UnionTypes {
		ut := &bmv2json.HeaderUnionType{Name: u.Name, ID: i}
		for _, m := range u.Members {
			ut.Headers = append(ut.Headers, bmv2json.UnionMember{Name: m.Name, Type: m.Type.Name})
		}
		out.HeaderUnionTypes = append(out.HeaderUnionTypes, ut)
	}
	ids := map[*ir.Union]int{}
	for i, u := range g.prog.Unions {
		ids[u] = i
		un := &bmv2json.HeaderUnion{Name: u.Name, ID: i, Type: u.Type.Name, PIOmit: true}
		for _, h := range u.Members {
			un.HeaderIDs = append(un.HeaderIDs, g.headers[h])
		}
		out.HeaderUnions = append(out.HeaderUnions, un)
	}
	for i, s := range g.prog.UnionStacks {
		st := &bmv2json.UnionStack{Name: s.Name, ID: i, Type: s.Type.Name, Size: len(s.Elems)}
		for _, u := range s.Elems {
			st.UnionIDs = append(st.UnionIDs, ids[u])
		}
		out.HeaderUnionStacks = append(out.HeaderUnionStacks, st)
	}
}

func (g *generator) headerType(t *ir.HeaderType) {
	ht := &bmv2json.HeaderType{Name: t.Name, ID: len(g.out.HeaderTypes)}
	bits, varbits := 0, 0
	for _, f := range t.Fields {
		bits += f.Type.Width
		hf := bmv2json.HeaderField{Name: f.Name, Width: f.Type.Width, Signed: f.Type.Kind == ir.Signed}
		if f.Type.Kind == ir.Varbit {
			hf = bmv2json.HeaderField{Name: f.Name, Varbit: true}
			varbits++
		}
		ht.Fields = append(ht.Fields, hf)
		if a := syntax.Annot(declAnnots(f), "alias"); a != nil {
			if name, ok := syntax.AnnotString(a); ok {
				g.out.FieldAliases = append(g.out.FieldAliases, bmv2json.FieldAlias{Name: name, Field: bmv2json.FieldRef{Header: t.Name, Field: f.Name}})
			}
		}
	}
	decl := source.Span{}
	if t.Struct.Decl != nil {
		decl = syntax.Span(t.Struct.Decl)
	}
	if varbits > 1 {
		g.fail(decl, "header %s has %d varbit fields, BMv2 allows one", t.Name, varbits)
	}
	if bits%8 != 0 {
		if t.Struct.Kind == types.Header && !g.flexible(t) {
			g.fail(decl, "header %s has %d bits, the target needs a multiple of 8", t.Name, bits)
		}
		pad := 8 - bits%8
		ht.Fields = append(ht.Fields, bmv2json.HeaderField{Name: "_padding", Width: pad})
		bits += pad
	}
	if varbits > 0 {
		ht.MaxLength = bits / 8
	}
	g.out.HeaderTypes = append(g.out.HeaderTypes, ht)
}

// flexible reports whether the compiler chooses the layout of a TNA header,
// which is never sent on a link.
func (g *generator) flexible(t *ir.HeaderType) bool {
	return g.prog.Arch == arch.TNA && hasFlexible(t.Struct)
}

func hasFlexible(s *types.Struct) bool {
	if s.Decl != nil && syntax.Annot(s.Decl.Annotations, "flexible") != nil {
		return true
	}
	return slices.ContainsFunc(s.Fields, func(f *types.Field) bool {
		inner, ok := f.Type.(*types.Struct)
		return f.Decl != nil && syntax.Annot(f.Decl.Annotations, "flexible") != nil || ok && hasFlexible(inner)
	})
}

func declAnnots(f *ir.Field) []*syntax.Annotation {
	if f.Decl == nil {
		return nil
	}
	return f.Decl.Annotations
}

// fieldLists writes the lists of metadata fields that survive clones.
func (g *generator) fieldLists() {
	for _, v := range g.prog.Vars {
		for _, n := range v.Lists {
			l := g.fieldList(n)
			if v.Type.Kind == ir.Varbit {
				g.fail(source.Span{}, "varbit %s cannot be on a field list", v.Name)
			}
			l.Elements = append(l.Elements, bmv2json.Field(scalars, v.Name))
		}
	}
}

// fieldList returns the field list of the given number.
func (g *generator) fieldList(n int) *bmv2json.FieldList {
	if id, ok := g.lists[n]; ok {
		return g.out.FieldLists[id-1]
	}
	l := &bmv2json.FieldList{ID: len(g.out.FieldLists) + 1, Name: fmt.Sprintf("field_list%d", n)}
	g.lists[n] = l.ID
	g.out.FieldLists = append(g.out.FieldLists, l)
	return l
}

// finishVars writes the variables as fields of their header. A varbit has a
// header of its own.
func (g *generator) finishVars() {
	ht := g.out.HeaderTypes[0]
	bits := 0
	varbits := map[int]bool{}
	for _, v := range g.prog.Vars {
		if v.Type.Kind == ir.Varbit {
			name := varbitType(v.Type.Width)
			if !varbits[v.Type.Width] {
				varbits[v.Type.Width] = true
				g.out.HeaderTypes = append(g.out.HeaderTypes, &bmv2json.HeaderType{
					Name: name, ID: len(g.out.HeaderTypes), MaxLength: (v.Type.Width + 7) / 8,
					Fields: []bmv2json.HeaderField{{Name: "field", Varbit: true}},
				})
			}
			g.out.Headers = append(g.out.Headers, &bmv2json.Header{Name: v.Name, ID: len(g.out.Headers), Type: name, Metadata: true, PIOmit: true})
			continue
		}
		ht.Fields = append(ht.Fields, bmv2json.HeaderField{Name: v.Name, Width: v.Type.Width, Signed: v.Type.Kind == ir.Signed})
		bits += v.Type.Width
	}
	if bits%8 != 0 {
		ht.Fields = append(ht.Fields, bmv2json.HeaderField{Name: g.unique("_padding"), Width: 8 - bits%8})
	}
}

func varbitType(width int) string { return fmt.Sprintf("$varbit%d", width) }

func (g *generator) errorsAndEnums() {
	for i, name := range g.prog.Errors {
		g.out.Errors = append(g.out.Errors, bmv2json.Constant{Name: name, Value: i})
	}
	for _, e := range g.prog.Enums {
		if e.Underlying != nil || include.Is(g.rep.Set.Position(e.Decl.Pos()).File()) {
			continue
		}
		en := &bmv2json.Enum{Name: e.Name}
		for i, m := range e.Members {
			en.Entries = append(en.Entries, bmv2json.Constant{Name: m, Value: i})
		}
		g.out.Enums = append(g.out.Enums, en)
	}
}

// deparser writes the order in which headers are emitted.
func (g *generator) deparser(c *ir.Control) {
	d := &bmv2json.Deparser{Name: "deparser", ID: len(g.out.Deparsers), SourceInfo: g.where(c.Span)}
	g.emits(c.Body, d)
	g.out.Deparsers = append(g.out.Deparsers, d)
}

func (g *generator) emits(list []ir.Stmt, d *bmv2json.Deparser) {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Emit:
			h, ok := s.Header.(*ir.Header)
			if !ok {
				g.fail(s.Span, "the deparser can only emit headers that are known at compile time")
			}
			d.Order = append(d.Order, h.Name)
		case *ir.Exit:
			return
		case *ir.SetValid, *ir.Assign, *ir.Call:
			if len(d.Order) > 0 {
				g.fail(s.Where(), "the deparser does this before all emits; write it before them, or in egress")
			}
			d.Primitives = append(d.Primitives, g.straight([]ir.Stmt{s})...)
		default:
			g.fail(s.Where(), "the deparser can only emit headers")
		}
	}
}

// sortBy sorts nodes of a graph by source position.
func sortBy[T any](list []T, pos func(T) source.Pos) {
	slices.SortStableFunc(list, func(a, b T) int { return int(pos(a)) - int(pos(b)) })
}
