// SPDX-License-Identifier: Apache-2.0

package p4info

import (
	"slices"
	"strings"

	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// elsewhere are the annotations for which P4Info has fields.
var elsewhere = []string{"name", "id", "brief", "description"}

// annotations returns annotations in the form of P4Info, without those in but.
func (g *generator) annotations(list []*syntax.Annotation, but ...string) (plain []string, structured []*p4configv1.StructuredAnnotation) {
	for _, a := range list {
		if a.Structured {
			structured = append(structured, g.structured(a))
			continue
		}
		if slices.Contains(elsewhere, a.Name) || slices.Contains(but, a.Name) {
			continue
		}
		plain = append(plain, annotationText(a))
	}
	return plain, structured
}

// annotationText returns an annotation with a space between all tokens.
func annotationText(a *syntax.Annotation) string {
	if len(a.Tokens) == 0 {
		return "@" + a.Name
	}
	parts := make([]string, len(a.Tokens))
	for i := range a.Tokens {
		parts[i] = a.Tokens[i].Source()
	}
	return "@" + a.Name + "(" + strings.Join(parts, " ") + ")"
}

func (g *generator) structured(a *syntax.Annotation) *p4configv1.StructuredAnnotation {
	out := &p4configv1.StructuredAnnotation{Name: a.Name}
	if len(a.Fields) > 0 {
		list := &p4configv1.KeyValuePairList{}
		for _, f := range a.Fields {
			list.KvPairs = append(list.KvPairs, &p4configv1.KeyValuePair{Key: f.Name.Name, Value: g.structuredValue(f.Value)})
		}
		out.Body = &p4configv1.StructuredAnnotation_KvPairList{KvPairList: list}
		return out
	}
	if len(a.Exprs) > 0 {
		list := &p4configv1.ExpressionList{}
		for _, e := range a.Exprs {
			list.Expressions = append(list.Expressions, g.structuredValue(e))
		}
		out.Body = &p4configv1.StructuredAnnotation_ExpressionList{ExpressionList: list}
	}
	return out
}

func (g *generator) structuredValue(e syntax.Expr) *p4configv1.Expression {
	switch v := g.info.ValueOf(e).(type) {
	case types.IntValue:
		if v.IsInt64() {
			return &p4configv1.Expression{Value: &p4configv1.Expression_Int64Value{Int64Value: v.Int64()}}
		}
		g.errorf(e.Pos(), "a number in a structured annotation must fit 64 bits; make it a string")
	case types.BoolValue:
		return &p4configv1.Expression{Value: &p4configv1.Expression_BoolValue{BoolValue: bool(v)}}
	case types.StringValue:
		return &p4configv1.Expression{Value: &p4configv1.Expression_StringValue{StringValue: string(v)}}
	}
	return &p4configv1.Expression{}
}

// documentation returns the texts of @brief and @description, or nil.
func documentation(list []*syntax.Annotation) *p4configv1.Documentation {
	var doc *p4configv1.Documentation
	for _, a := range list {
		s, ok := syntax.AnnotString(a)
		if !ok || a.Name != "brief" && a.Name != "description" {
			continue
		}
		if doc == nil {
			doc = &p4configv1.Documentation{}
		}
		if a.Name == "brief" {
			doc.Brief = s
		} else {
			doc.Description = s
		}
	}
	return doc
}

// preamble returns the preamble of an object.
func (g *generator) preamble(kind p4configv1.P4Ids_Prefix, name string, annots []*syntax.Annotation, but ...string) *p4configv1.Preamble {
	plain, structured := g.annotations(annots, but...)
	return &p4configv1.Preamble{
		Id:                    g.symbols.id(kind, name),
		Name:                  name,
		Alias:                 g.symbols.alias(name),
		Annotations:           plain,
		StructuredAnnotations: structured,
		Doc:                   documentation(annots),
	}
}

// undeclared reports whether the value of an annotation is an undeclared name.
func undeclared(g *generator, e syntax.Expr) bool {
	_, name := e.(*syntax.NameExpr)
	return name && g.info.TypeOf(e) == nil
}

// pkgInfo describes the package.
func (g *generator) pkgInfo() {
	info := &p4configv1.PkgInfo{Arch: g.prog.Arch.Name}
	g.out.PkgInfo = info
	annots := g.prog.Main.Decl.Annotations
	if a := syntax.Annot(annots, "pkginfo"); a != nil {
		fields := map[string]*string{"name": &info.Name, "version": &info.Version, "organization": &info.Organization,
			"contact": &info.Contact, "url": &info.Url, "arch": &info.Arch}
		for _, f := range a.Fields {
			dst := fields[f.Name.Name]
			v, ok := g.info.ValueOf(f.Value).(types.StringValue)
			switch {
			case dst == nil:
				g.rep.Warnf(f.Pos(), CodeP4Info, "@pkginfo has no key %s", f.Name.Name)
			case undeclared(g, f.Value): // the checker has warned
			case !ok:
				g.errorf(f.Pos(), "%s in @pkginfo must be a string", f.Name.Name)
			default:
				*dst = string(v)
			}
		}
	}
	if a := syntax.Annot(annots, "platform_property"); a != nil {
		props := &p4configv1.PlatformProperties{}
		fields := map[string]*int32{
			"multicast_group_table_size":                   &props.MulticastGroupTableSize,
			"multicast_group_table_total_replicas":         &props.MulticastGroupTableTotalReplicas,
			"multicast_group_table_max_replicas_per_entry": &props.MulticastGroupTableMaxReplicasPerEntry,
		}
		for _, f := range a.Fields {
			dst := fields[f.Name.Name]
			v, ok := g.info.ValueOf(f.Value).(types.IntValue)
			switch {
			case dst == nil:
				g.rep.Warnf(f.Pos(), CodeP4Info, "@platform_property has no key %s", f.Name.Name)
			case undeclared(g, f.Value): // the checker has warned
			case !ok || !v.IsInt64():
				g.errorf(f.Pos(), "%s in @platform_property must be a number", f.Name.Name)
			default:
				*dst = int32(v.Int64())
			}
		}
		info.PlatformProperties = props
	}
	var rest []*syntax.Annotation
	for _, a := range annots {
		if a.Name != "pkginfo" && a.Name != "platform_property" {
			rest = append(rest, a)
		}
	}
	info.Annotations, info.StructuredAnnotations = g.annotations(rest)
	info.Doc = documentation(annots)
}
