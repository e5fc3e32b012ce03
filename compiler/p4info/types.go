// SPDX-License-Identifier: Apache-2.0

package p4info

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// newTypeName returns the name of a type declared by "type", or nil.
func newTypeName(t types.Type) *p4configv1.P4NamedType {
	if n, ok := t.(*types.NewType); ok {
		return &p4configv1.P4NamedType{Name: n.Name}
	}
	return nil
}

// translation returns the @p4runtime_translation of a type, which defines the
// form of its values in P4Runtime.
func (g *generator) translation(t *types.NewType) *p4configv1.P4NewTypeTranslation {
	a := syntax.Annot(t.Decl.Annotations, "p4runtime_translation")
	if a == nil {
		return nil
	}
	tokens := a.Tokens
	bad := func() *p4configv1.P4NewTypeTranslation {
		g.errorf(a.Pos(), "@p4runtime_translation needs a URI and a type: (\"uri\", bit<W>) or (\"uri\", string)")
		return nil
	}
	if len(tokens) < 3 || tokens[0].Kind != syntax.String || tokens[1].Kind != syntax.Comma {
		return bad()
	}
	out := &p4configv1.P4NewTypeTranslation{Uri: tokens[0].Text}
	rest := tokens[2:]
	switch {
	case len(rest) == 1 && rest[0].Kind == syntax.StringType:
		out.SdnType = &p4configv1.P4NewTypeTranslation_SdnString_{SdnString: &p4configv1.P4NewTypeTranslation_SdnString{}}
	case len(rest) == 1 && rest[0].Kind == syntax.Integer, len(rest) == 4 && rest[0].Kind == syntax.Bit && rest[2].Kind == syntax.Integer:
		text := rest[len(rest)-1].Text
		if len(rest) == 4 {
			text = rest[2].Text
		}
		w, ok := syntax.ParseInt(text)
		if !ok || !w.IsInt64() || w.Int64() > 1<<20 {
			return bad()
		}
		out.SdnType = &p4configv1.P4NewTypeTranslation_SdnBitwidth{SdnBitwidth: int32(w.Int64())}
	default:
		return bad()
	}
	return out
}

// width returns the width in P4Info of a value of type t: 0 for strings and
// errors.
func (g *generator) width(t types.Type, pos source.Pos) int {
	if n, ok := t.(*types.NewType); ok {
		if tr := g.translation(n); tr != nil {
			return int(tr.GetSdnBitwidth())
		}
	}
	if t == types.Error {
		return 0
	}
	w, ok := types.Width(t)
	if !ok {
		if e, isEnum := t.(*types.Enum); isEnum && e.Underlying == nil {
			return 32
		}
		g.errorf(pos, "a value of type %v has no width for the control plane", t)
	}
	return w
}

// typeSpec returns the description of a type. It adds its named types to
// type_info.
func (g *generator) typeSpec(t types.Type, pos source.Pos) *p4configv1.P4DataTypeSpec {
	spec := &p4configv1.P4DataTypeSpec{}
	switch t := t.(type) {
	case *types.Bits, *types.Varbit:
		spec.TypeSpec = &p4configv1.P4DataTypeSpec_Bitstring{Bitstring: bitstring(t)}
	case *types.Basic:
		switch t {
		case types.Bool:
			spec.TypeSpec = &p4configv1.P4DataTypeSpec_Bool{Bool: &p4configv1.P4BoolType{}}
		case types.Error:
			spec.TypeSpec = &p4configv1.P4DataTypeSpec_Error{Error: &p4configv1.P4ErrorType{}}
			if info := g.typeInfo(); info.Error == nil {
				info.Error = &p4configv1.P4ErrorTypeSpec{Members: g.info.Errors}
			}
		default:
			g.errorf(pos, "type %v has no representation in P4Info", t)
		}
	case *types.Tuple:
		tuple := &p4configv1.P4TupleTypeSpec{}
		for _, e := range t.Elems {
			tuple.Members = append(tuple.Members, g.typeSpec(e, pos))
		}
		spec.TypeSpec = &p4configv1.P4DataTypeSpec_Tuple{Tuple: tuple}
	case *types.Array:
		g.arraySpec(t, spec, pos)
	case *types.Struct:
		g.structSpec(t, spec, pos)
	case *types.Enum:
		name := typeName(t.Decl.Annotations, t.Name)
		named := &p4configv1.P4NamedType{Name: name}
		if t.Underlying == nil {
			spec.TypeSpec = &p4configv1.P4DataTypeSpec_Enum{Enum: named}
		} else {
			spec.TypeSpec = &p4configv1.P4DataTypeSpec_SerializableEnum{SerializableEnum: named}
		}
		g.enumSpec(t, name)
	case *types.NewType:
		spec.TypeSpec = &p4configv1.P4DataTypeSpec_NewType{NewType: &p4configv1.P4NamedType{Name: typeName(t.Decl.Annotations, t.Name)}}
		g.newTypeSpec(t, pos)
	default:
		g.errorf(pos, "type %v has no representation in P4Info", t)
	}
	return spec
}

func bitstring(t types.Type) *p4configv1.P4BitstringLikeTypeSpec {
	switch t := t.(type) {
	case *types.Varbit:
		return &p4configv1.P4BitstringLikeTypeSpec{TypeSpec: &p4configv1.P4BitstringLikeTypeSpec_Varbit{
			Varbit: &p4configv1.P4VarbitTypeSpec{MaxBitwidth: int32(t.Width)}}}
	case *types.Bits:
		if t.Signed {
			return &p4configv1.P4BitstringLikeTypeSpec{TypeSpec: &p4configv1.P4BitstringLikeTypeSpec_Int{
				Int: &p4configv1.P4IntTypeSpec{Bitwidth: int32(t.Width)}}}
		}
		return &p4configv1.P4BitstringLikeTypeSpec{TypeSpec: &p4configv1.P4BitstringLikeTypeSpec_Bit{
			Bit: &p4configv1.P4BitTypeSpec{Bitwidth: int32(t.Width)}}}
	}
	return nil
}

func (g *generator) arraySpec(t *types.Array, spec *p4configv1.P4DataTypeSpec, pos source.Pos) {
	s, ok := t.Elem.(*types.Struct)
	if !ok || s.Kind == types.PlainStruct {
		g.errorf(pos, "type %v has no representation in P4Info", t)
		return
	}
	named := &p4configv1.P4NamedType{Name: typeName(s.Decl.Annotations, s.Name)}
	if s.Kind == types.Header {
		spec.TypeSpec = &p4configv1.P4DataTypeSpec_HeaderStack{HeaderStack: &p4configv1.P4HeaderStackTypeSpec{Header: named, Size: int32(t.Size)}}
	} else {
		spec.TypeSpec = &p4configv1.P4DataTypeSpec_HeaderUnionStack{HeaderUnionStack: &p4configv1.P4HeaderUnionStackTypeSpec{HeaderUnion: named, Size: int32(t.Size)}}
	}
	g.structSpec(s, &p4configv1.P4DataTypeSpec{}, pos)
}

func (g *generator) structSpec(t *types.Struct, spec *p4configv1.P4DataTypeSpec, pos source.Pos) {
	name := typeName(t.Decl.Annotations, t.Name)
	for _, a := range t.TypeArgs {
		name += "_" + a.String()
	}
	named := &p4configv1.P4NamedType{Name: name}
	info := g.typeInfo()
	switch t.Kind {
	case types.Header:
		spec.TypeSpec = &p4configv1.P4DataTypeSpec_Header{Header: named}
		if info.Headers[name] != nil {
			return
		}
		if info.Headers == nil {
			info.Headers = map[string]*p4configv1.P4HeaderTypeSpec{}
		}
		out := &p4configv1.P4HeaderTypeSpec{}
		info.Headers[name] = out
		for _, f := range flatten(nil, t, "", nil) {
			b := bitstring(f.t)
			if b == nil {
				b = g.typeSpec(f.t, pos).GetBitstring()
			}
			out.Members = append(out.Members, &p4configv1.P4HeaderTypeSpec_Member{Name: f.name, TypeSpec: b})
		}
	case types.HeaderUnion:
		spec.TypeSpec = &p4configv1.P4DataTypeSpec_HeaderUnion{HeaderUnion: named}
		if info.HeaderUnions[name] != nil {
			return
		}
		if info.HeaderUnions == nil {
			info.HeaderUnions = map[string]*p4configv1.P4HeaderUnionTypeSpec{}
		}
		out := &p4configv1.P4HeaderUnionTypeSpec{}
		info.HeaderUnions[name] = out
		for _, f := range t.Fields {
			h := g.typeSpec(f.Type, pos).GetHeader()
			out.Members = append(out.Members, &p4configv1.P4HeaderUnionTypeSpec_Member{Name: typeName(f.Decl.Annotations, f.Name), Header: h})
		}
	default:
		spec.TypeSpec = &p4configv1.P4DataTypeSpec_Struct{Struct: named}
		if info.Structs[name] != nil {
			return
		}
		if info.Structs == nil {
			info.Structs = map[string]*p4configv1.P4StructTypeSpec{}
		}
		out := &p4configv1.P4StructTypeSpec{}
		info.Structs[name] = out
		for _, f := range t.Fields {
			out.Members = append(out.Members, &p4configv1.P4StructTypeSpec_Member{Name: typeName(f.Decl.Annotations, f.Name), TypeSpec: g.typeSpec(f.Type, pos)})
		}
	}
}

func (g *generator) enumSpec(t *types.Enum, name string) {
	info := g.typeInfo()
	if t.Underlying == nil {
		if info.Enums == nil {
			info.Enums = map[string]*p4configv1.P4EnumTypeSpec{}
		}
		if info.Enums[name] != nil {
			return
		}
		out := &p4configv1.P4EnumTypeSpec{}
		for _, m := range t.Members {
			out.Members = append(out.Members, &p4configv1.P4EnumTypeSpec_Member{Name: m})
		}
		info.Enums[name] = out
		return
	}
	if info.SerializableEnums == nil {
		info.SerializableEnums = map[string]*p4configv1.P4SerializableEnumTypeSpec{}
	}
	if info.SerializableEnums[name] != nil {
		return
	}
	out := &p4configv1.P4SerializableEnumTypeSpec{UnderlyingType: &p4configv1.P4BitTypeSpec{Bitwidth: int32(t.Underlying.Width)}}
	for i, m := range t.Members {
		out.Members = append(out.Members, &p4configv1.P4SerializableEnumTypeSpec_Member{Name: m, Value: bytesOf(t.Values[i], t.Underlying.Width)})
	}
	info.SerializableEnums[name] = out
}

func (g *generator) newTypeSpec(t *types.NewType, pos source.Pos) {
	name := typeName(t.Decl.Annotations, t.Name)
	info := g.typeInfo()
	if info.NewTypes == nil {
		info.NewTypes = map[string]*p4configv1.P4NewTypeSpec{}
	}
	if info.NewTypes[name] != nil {
		return
	}
	out := &p4configv1.P4NewTypeSpec{}
	info.NewTypes[name] = out
	var base types.Type = t
	for {
		n, ok := base.(*types.NewType)
		if !ok {
			break
		}
		base = n.Base
	}
	out.Annotations, out.StructuredAnnotations = g.annotations(t.Decl.Annotations, "p4runtime_translation")
	tr := g.translation(t)
	if tr == nil {
		out.Representation = &p4configv1.P4NewTypeSpec_OriginalType{OriginalType: g.typeSpec(base, pos)}
		return
	}
	if b, ok := base.(*types.Bits); !ok || b.Signed {
		g.errorf(t.Decl.Pos(), "a type with @p4runtime_translation must be made of bit<W>")
	}
	out.Representation = &p4configv1.P4NewTypeSpec_TranslatedType{TranslatedType: tr}
}
