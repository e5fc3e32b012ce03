// SPDX-License-Identifier: Apache-2.0

package p4info

import (
	"slices"
	"sort"
	"strings"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

func counterSpec(unit ir.Arg) *p4configv1.CounterSpec {
	units := map[string]p4configv1.CounterSpec_Unit{
		"packets": p4configv1.CounterSpec_PACKETS, "bytes": p4configv1.CounterSpec_BYTES, "packets_and_bytes": p4configv1.CounterSpec_BOTH,
	}
	return &p4configv1.CounterSpec{Unit: units[strings.ToLower(unit.Member)]}
}

func meterSpec(unit ir.Arg) *p4configv1.MeterSpec {
	units := map[string]p4configv1.MeterSpec_Unit{"packets": p4configv1.MeterSpec_PACKETS, "bytes": p4configv1.MeterSpec_BYTES}
	return &p4configv1.MeterSpec{Unit: units[strings.ToLower(unit.Member)]}
}

// size returns a number among the arguments of a constructor.
func size(a ir.Arg) int64 {
	if c, ok := a.X.(*ir.Const); ok && c.Val.IsInt64() {
		return c.Val.Int64()
	}
	return 0
}

// object describes an extern object.
func (g *generator) object(o *ir.Object) {
	switch o.Kind {
	case "counter":
		g.typeInfo()
		c := &p4configv1.Counter{Preamble: g.preamble(kindCounter, o.Name, o.Annotations), Spec: counterSpec(o.Args[1]), Size: size(o.Args[0])}
		c.IndexTypeName = g.indexType(o, len(o.Type.TypeArgs)-1)
		g.out.Counters = append(g.out.Counters, c)
	case "meter":
		g.typeInfo()
		m := &p4configv1.Meter{Preamble: g.preamble(kindMeter, o.Name, o.Annotations), Spec: meterSpec(o.Args[1]), Size: size(o.Args[0])}
		m.IndexTypeName = g.indexType(o, 0)
		g.out.Meters = append(g.out.Meters, m)
	case "register":
		g.typeInfo()
		r := &p4configv1.Register{Preamble: g.preamble(kindRegister, o.Name, o.Annotations), Size: int32(size(o.Args[0]))}
		r.TypeSpec = g.typeSpec(o.Type.TypeArgs[0], o.Span.Start)
		r.IndexTypeName = g.indexType(o, 1)
		g.out.Registers = append(g.out.Registers, r)
	case "action_profile":
		g.typeInfo()
		if !g.isSelected(o) {
			g.profile(o, false, size(o.Args[0]))
		}
	case "action_selector":
		g.typeInfo()
		if p := o.Profile(); p != o {
			g.profile(o, true, size(p.Args[0]))
		} else {
			g.profile(o, true, size(*o.Arg("size")))
		}
	case "direct_counter", "direct_meter":
		g.typeInfo() // their tables describe them
	}
}

// indexType returns the name of the new type that indexes an array, type
// argument i, or nil.
func (g *generator) indexType(o *ir.Object, i int) *p4configv1.P4NamedType {
	if i < 0 || i >= len(o.Type.TypeArgs) {
		return nil
	}
	g.typeSpec(o.Type.TypeArgs[i], o.Span.Start)
	return newTypeName(o.Type.TypeArgs[i])
}

// isSelected reports whether a selector of TNA is constructed with an action
// profile. P4Info has both as one profile, with the profile's name.
func (g *generator) isSelected(profile *ir.Object) bool {
	return slices.ContainsFunc(g.prog.Objects, func(o *ir.Object) bool { return o != profile && o.Profile() == profile })
}

// defaultGroupSize is the largest group of a TNA selector that says nothing of it.
const defaultGroupSize = 120

func (g *generator) profile(o *ir.Object, selector bool, entries int64) {
	name := o.Profile().Name
	out := &p4configv1.ActionProfile{
		Preamble:     g.preamble(kindProfile, name, o.Annotations, "max_group_size", "selector_size_semantics", "max_member_weight"),
		WithSelector: selector,
		Size:         entries,
	}
	g.out.ActionProfiles = append(g.out.ActionProfiles, out)
	for _, t := range g.tables() {
		if p := t.Props["implementation"]; p != nil && p.Object != nil && p.Object.Profile() == o.Profile() && !isHidden(t.Decl.Table.Decl.Annotations) {
			out.TableIds = append(out.TableIds, g.symbols.id(kindTable, t.Name))
		}
	}
	sort.Slice(out.TableIds, func(i, j int) bool { return out.TableIds[i] < out.TableIds[j] })
	out.TableIds = slices.Compact(out.TableIds)
	for _, a := range o.Annotations {
		switch a.Name {
		case "max_group_size", "selector_size_semantics", "max_member_weight":
			if !selector {
				g.rep.Warnf(a.Pos(), CodeP4Info, "@%s has no effect on action profile %s, which has no selector", a.Name, o.Name)
			}
		}
	}
	if !selector {
		return
	}
	if g.prog.Arch == arch.TNA {
		out.MaxGroupSize = defaultGroupSize
		if a := o.Arg("max_group_size"); a != nil {
			out.MaxGroupSize = int32(size(*a))
		}
	}
	if a := syntax.Annot(o.Annotations, "max_group_size"); a != nil {
		n, ok := annotInt(a)
		if !ok {
			g.errorf(a.Pos(), "@max_group_size needs a number")
		}
		out.MaxGroupSize = int32(n)
	}
	members := (*p4configv1.ActionProfile_SumOfMembers)(nil)
	if a := syntax.Annot(o.Annotations, "selector_size_semantics"); a != nil {
		s, _ := syntax.AnnotString(a)
		switch strings.ToLower(s) {
		case "sum_of_weights":
			out.SelectorSizeSemantics = &p4configv1.ActionProfile_SumOfWeights_{SumOfWeights: &p4configv1.ActionProfile_SumOfWeights{}}
		case "sum_of_members":
			members = &p4configv1.ActionProfile_SumOfMembers{}
			out.SelectorSizeSemantics = &p4configv1.ActionProfile_SumOfMembers_{SumOfMembers: members}
		default:
			g.errorf(a.Pos(), "@selector_size_semantics needs \"sum_of_weights\" or \"sum_of_members\"")
		}
	}
	if a := syntax.Annot(o.Annotations, "max_member_weight"); a != nil {
		n, ok := annotInt(a)
		switch {
		case !ok:
			g.errorf(a.Pos(), "@max_member_weight needs a number")
		case members == nil:
			g.rep.Warnf(a.Pos(), CodeP4Info, "@max_member_weight has no effect without @selector_size_semantics(\"sum_of_members\")")
		default:
			members.MaxMemberWeight = int32(n)
		}
	}
}

// controllerHeader describes the header of packets to or from the controller.
func (g *generator) controllerHeader(h *types.Struct) {
	a := syntax.Annot(h.Decl.Annotations, "controller_header")
	name, ok := syntax.AnnotString(a)
	if !ok {
		g.errorf(a.Pos(), "@controller_header needs a string, such as \"packet_in\"")
		return
	}
	own := typeName(h.Decl.Annotations, h.Name)
	p := g.preamble(kindController, own, h.Decl.Annotations)
	p.Name, p.Alias = name, name
	out := &p4configv1.ControllerPacketMetadata{Preamble: p}
	fields := flatten(nil, h, "", nil)
	ids := g.symbols.fieldIDs(len(fields), func(i int) []*syntax.Annotation { return fields[i].annots },
		func(i int) source.Pos { return fields[i].pos })
	for i, f := range fields {
		if isHidden(f.annots) {
			continue
		}
		m := &p4configv1.ControllerPacketMetadata_Metadata{Id: ids[i], Name: f.name, Bitwidth: int32(g.width(f.t, f.pos))}
		m.Annotations, m.StructuredAnnotations = g.annotations(f.annots)
		g.typeInfo()
		g.typeSpec(f.t, f.pos)
		m.TypeName = newTypeName(f.t)
		out.Metadata = append(out.Metadata, m)
	}
	g.out.ControllerPacketMetadata = append(g.out.ControllerPacketMetadata, out)
}

// flat is a field of a header or of a struct in it.
type flat struct {
	name   string
	t      types.Type
	annots []*syntax.Annotation
	pos    source.Pos
}

// flatten appends the simple fields of t. A field of a nested struct has both
// names, joined by a dot, and the annotations of both.
func flatten(list []flat, t *types.Struct, prefix string, outer []*syntax.Annotation) []flat {
	for _, f := range t.Fields {
		annots := slices.Clone(f.Decl.Annotations)
		for _, a := range outer {
			if syntax.Annot(annots, a.Name) == nil {
				annots = append(annots, a)
			}
		}
		if s, ok := f.Type.(*types.Struct); ok {
			list = flatten(list, s, prefix+f.Name+".", annots)
			continue
		}
		name := prefix + f.Name
		if prefix == "" {
			name = typeName(f.Decl.Annotations, f.Name)
		}
		list = append(list, flat{name, f.Type, annots, f.Decl.Pos()})
	}
	return list
}

func (g *generator) valueSet(vs *ir.ValueSet) {
	d := vs.Decl.Decl
	out := &p4configv1.ValueSet{Preamble: g.preamble(kindValueSet, vs.Name, d.Annotations), Size: int32(vs.Size)}
	g.out.ValueSets = append(g.out.ValueSets, out)
	exact := func(id uint32, name string, width int) *p4configv1.MatchField {
		return &p4configv1.MatchField{Id: id, Name: name, Bitwidth: int32(width),
			Match: &p4configv1.MatchField_MatchType_{MatchType: p4configv1.MatchField_EXACT}}
	}
	switch t := vs.Decl.Type.Elem.(type) {
	case *types.Bits:
		out.Match = append(out.Match, exact(1, "", t.Width))
	case *types.Enum:
		for i, m := range t.Members {
			out.Match = append(out.Match, exact(uint32(i+1), m, t.Underlying.Width))
		}
	case *types.Struct:
		annots := func(i int) []*syntax.Annotation { return t.Fields[i].Decl.Annotations }
		ids := g.symbols.fieldIDs(len(t.Fields), annots, func(i int) source.Pos { return t.Fields[i].Decl.Pos() })
		for i, f := range t.Fields {
			b, ok := f.Type.(*types.Bits)
			if !ok {
				g.errorf(f.Decl.Pos(), "the fields of a value set must be of bit<W>, for the control plane")
				continue
			}
			m := exact(ids[i], typeName(annots(i), f.Name), b.Width)
			if a := syntax.Annot(annots(i), "match"); a != nil && len(a.Tokens) == 1 {
				kind := a.Tokens[0].Text
				if mt, ok := matchTypes[kind]; ok {
					m.Match = &p4configv1.MatchField_MatchType_{MatchType: mt}
				} else {
					m.Match = &p4configv1.MatchField_OtherMatchType{OtherMatchType: kind}
				}
			}
			m.Annotations, m.StructuredAnnotations = g.annotations(annots(i), "match")
			m.Doc = documentation(annots(i))
			out.Match = append(out.Match, m)
		}
	default:
		g.errorf(d.Pos(), "value set %s must be of bit<W>, of a struct of those, or of an enum with an underlying type, for the control plane", vs.Name)
	}
}

func (g *generator) digest(d digest) {
	id := g.symbols.id(kindDigest, d.name)
	if g.seen[id] {
		return
	}
	g.seen[id] = true
	g.typeInfo()
	g.out.Digests = append(g.out.Digests, &p4configv1.Digest{Preamble: g.preamble(kindDigest, d.name, nil), TypeSpec: g.typeSpec(d.t, 0)})
}
