// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"slices"
	"strings"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// builder fills a Schema and records the first inconsistency.
type builder struct {
	s    *Schema
	info *p4configv1.P4Info // with names that can be printed
	err  error
}

func (b *builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

func (b *builder) all() {
	s, info := b.s, b.info
	for _, x := range info.Actions {
		a := &Action{ID: x.GetPreamble().GetId(), Full: x.GetPreamble().GetName()}
		for _, p := range x.Params {
			a.Params = append(a.Params, b.field(p.Id, p.Name, p.Bitwidth, p.TypeName, p))
		}
		a.Name = b.register(kindAction, x.Preamble, a)
		s.Actions = append(s.Actions, a)
	}
	for _, x := range info.ActionProfiles {
		p := &Profile{ID: x.GetPreamble().GetId(), Full: x.GetPreamble().GetName(), Selector: x.WithSelector, Size: x.Size}
		p.Name = b.register(kindProfile, x.Preamble, p)
		s.Profiles = append(s.Profiles, p)
	}
	for _, x := range info.Tables {
		b.table(x)
	}
	for _, x := range info.Registers {
		r := &Register{ID: x.GetPreamble().GetId(), Full: x.GetPreamble().GetName(), Size: int(x.Size), Bits: b.specBits(x.TypeSpec)}
		if st := x.TypeSpec.GetStruct(); st != nil {
			for _, m := range info.GetTypeInfo().GetStructs()[st.GetName()].GetMembers() {
				r.Members = append(r.Members, b.specBits(m.TypeSpec))
			}
			if len(r.Members) > 0 {
				r.Bits = r.Members[0]
			}
		}
		r.Unit = Annotation(x.GetPreamble().GetAnnotations(), "unit")
		r.Index = b.dims(x.Preamble)
		r.Name = b.register(kindRegister, x.Preamble, r)
		s.Registers = append(s.Registers, r)
	}
	for _, x := range info.Counters {
		c := &Counter{ID: x.GetPreamble().GetId(), Full: x.GetPreamble().GetName(), Size: x.Size}
		c.Unit = strings.ToLower(x.GetSpec().GetUnit().String())
		c.Index = b.dims(x.Preamble)
		c.Name = b.register(kindCounter, x.Preamble, c)
		s.Counters = append(s.Counters, c)
	}
	for _, x := range info.Meters {
		m := &Meter{ID: x.GetPreamble().GetId(), Full: x.GetPreamble().GetName(), Size: x.Size}
		m.Unit = strings.ToLower(x.GetSpec().GetUnit().String())
		m.Index = b.dims(x.Preamble)
		m.Name = b.register(kindMeter, x.Preamble, m)
		s.Meters = append(s.Meters, m)
	}
	for _, x := range info.Digests {
		d := &Digest{ID: x.GetPreamble().GetId(), Full: x.GetPreamble().GetName()}
		d.Fields = b.members("", x.TypeSpec, nil)
		d.Name = b.register(kindDigest, x.Preamble, d)
		s.Digests = append(s.Digests, d)
	}
	for _, x := range info.ValueSets {
		v := &ValueSet{ID: x.GetPreamble().GetId(), Full: x.GetPreamble().GetName(), Size: int64(x.Size)}
		for _, m := range x.Match {
			v.Fields = append(v.Fields, b.matchField(m))
		}
		v.Name = b.register(kindValueSet, x.Preamble, v)
		s.ValueSets = append(s.ValueSets, v)
	}
	for _, x := range info.ControllerPacketMetadata {
		var fields []*Field
		for _, m := range x.Metadata {
			fields = append(fields, b.field(m.Id, m.Name, m.Bitwidth, m.TypeName, m))
		}
		switch x.GetPreamble().GetName() {
		case "packet_in":
			s.PacketIn = fields
		case "packet_out":
			s.PacketOut = fields
		}
	}
}

func (b *builder) table(x *p4configv1.Table) {
	t := &Table{
		ID: x.GetPreamble().GetId(), Full: x.GetPreamble().GetName(), Size: x.Size,
		Const: x.IsConstTable, Initial: x.HasInitialEntries,
		ConstDefault: x.ConstDefaultActionId != 0, Default: x.ConstDefaultActionId,
		IdleTimeout: x.IdleTimeoutBehavior == p4configv1.Table_NOTIFY_CONTROL,
		defaultOnly: make(map[uint32]bool),
	}
	if a := x.InitialDefaultAction; a != nil {
		t.Default = a.ActionId
		for _, arg := range a.Arguments {
			t.DefaultArgs = append(t.DefaultArgs, arg.Value)
		}
	}
	for _, m := range x.MatchFields {
		t.Fields = append(t.Fields, b.matchField(m))
	}
	for _, ref := range x.ActionRefs {
		a := ByID[Action](b.s, ref.Id)
		if a == nil {
			b.fail("table %s refers to action %#x, which is not there", t.Full, ref.Id)
			return
		}
		t.Actions = append(t.Actions, a)
		if ref.Scope == p4configv1.ActionRef_DEFAULT_ONLY {
			t.defaultOnly[a.ID] = true
		}
	}
	if x.ImplementationId != 0 {
		t.Profile = ByID[Profile](b.s, x.ImplementationId)
		if t.Profile == nil {
			b.fail("table %s refers to action profile %#x, which is not there", t.Full, x.ImplementationId)
			return
		}
		for _, a := range t.Actions {
			if !t.defaultOnly[a.ID] && !slices.Contains(t.Profile.Actions, a) {
				t.Profile.Actions = append(t.Profile.Actions, a)
			}
		}
	}
	for _, id := range x.DirectResourceIds {
		switch id >> 24 {
		case uint32(p4configv1.P4Ids_DIRECT_COUNTER):
			t.DirectCounter = true
		case uint32(p4configv1.P4Ids_DIRECT_METER):
			t.DirectMeter = true
			for _, m := range b.info.GetDirectMeters() {
				if m.GetPreamble().GetId() == id {
					t.Meter = m.GetPreamble().GetName()
				}
			}
		}
	}
	t.Name = b.register(kindTable, x.Preamble, t)
	b.s.Tables = append(b.s.Tables, t)
}

// register adds an object under its ID, its full name, its alias and every
// suffix of the full name, and returns the name to print.
func (b *builder) register(kind string, p *p4configv1.Preamble, v any) string {
	id, full := p.GetId(), p.GetName()
	if id == 0 || full == "" {
		b.fail("a %s without name or id", kind)
		return full
	}
	if old := b.s.ids[id]; old != nil {
		_, other := nameOf(old)
		b.fail("id %#x is given to both %s and %s", id, other, full)
		return full
	}
	b.s.ids[id] = v
	names := b.s.names[kind]
	if names == nil {
		names = make(map[string]any)
		b.s.names[kind] = names
	}
	if old := names[full]; old != nil {
		if _, other := nameOf(old); other == full {
			b.fail("two of the kind %s are called %s", kind, full)
			return full
		}
	}
	names[full] = v
	short := full
	for i := strings.IndexByte(short, '.'); i >= 0; i = strings.IndexByte(short, '.') {
		short = short[i+1:]
		b.alias(names, short, v)
	}
	if alias := p.GetAlias(); alias != "" && alias != full {
		names[alias] = v
		return alias
	}
	return full
}

// alias adds a suffix of a name. If two objects share it, it finds neither.
func (b *builder) alias(names map[string]any, short string, v any) {
	old, ok := names[short]
	switch {
	case !ok:
		names[short] = v
	case old == nil:
	default:
		if n, full := nameOf(old); n != short && full != short {
			names[short] = nil
		}
	}
}

func (b *builder) matchField(m *p4configv1.MatchField) *Field {
	f := b.field(m.Id, m.Name, m.Bitwidth, m.TypeName, m)
	switch m.GetMatchType() {
	case p4configv1.MatchField_EXACT:
		f.Match = Exact
	case p4configv1.MatchField_LPM:
		f.Match = LPM
	case p4configv1.MatchField_TERNARY:
		f.Match = Ternary
	case p4configv1.MatchField_RANGE:
		f.Match = Range
	case p4configv1.MatchField_OPTIONAL:
		f.Match = Optional
	default:
		b.fail("match field %s is of a kind that this controller does not know: %v", m.Name, m.Match)
	}
	return f
}

// field builds a field from the common properties of P4Info's kinds of fields.
func (b *builder) field(id uint32, name string, bits int32, typ *p4configv1.P4NamedType, m protoreflect.ProtoMessage) *Field {
	f := &Field{ID: id, Name: name, Bits: int(bits)}
	var annotations []string
	if x, ok := m.(interface{ GetAnnotations() []string }); ok {
		annotations = x.GetAnnotations()
	}
	if t := b.info.GetTypeInfo().GetNewTypes()[typ.GetName()].GetTranslatedType(); t != nil {
		if t.GetSdnString() != nil {
			f.Bits = 0
		} else {
			f.Bits = int(t.GetSdnBitwidth())
		}
	}
	f.Format = formatOf(name, f.Bits, annotations)
	return f
}

// specBits returns the width of a type that is a single number, or 0.
func (b *builder) specBits(spec *p4configv1.P4DataTypeSpec) int {
	switch t := spec.GetTypeSpec().(type) {
	case *p4configv1.P4DataTypeSpec_Bitstring:
		return bitstringBits(t.Bitstring)
	case *p4configv1.P4DataTypeSpec_Bool:
		return 1
	case *p4configv1.P4DataTypeSpec_NewType:
		nt := b.info.GetTypeInfo().GetNewTypes()[t.NewType.GetName()]
		if tt := nt.GetTranslatedType(); tt != nil {
			return int(tt.GetSdnBitwidth())
		}
		return b.specBits(nt.GetOriginalType())
	case *p4configv1.P4DataTypeSpec_SerializableEnum:
		e := b.info.GetTypeInfo().GetSerializableEnums()[t.SerializableEnum.GetName()]
		return int(e.GetUnderlyingType().GetBitwidth())
	}
	return 0
}

func bitstringBits(t *p4configv1.P4BitstringLikeTypeSpec) int {
	switch {
	case t.GetBit() != nil:
		return int(t.GetBit().GetBitwidth())
	case t.GetInt() != nil:
		return int(t.GetInt().GetBitwidth())
	}
	return int(t.GetVarbit().GetMaxBitwidth())
}

// members flattens a digest's type to its numbers, in order. infocheck has limited
// them.
func (b *builder) members(prefix string, spec *p4configv1.P4DataTypeSpec, out []*Field) []*Field {
	join := func(name string) string {
		if prefix == "" {
			return name
		}
		return prefix + "." + name
	}
	switch t := spec.GetTypeSpec().(type) {
	case *p4configv1.P4DataTypeSpec_Struct:
		def := b.info.GetTypeInfo().GetStructs()[t.Struct.GetName()]
		if def == nil {
			b.fail("struct %s is not in the type information", t.Struct.GetName())
		}
		for _, m := range def.GetMembers() {
			out = b.members(join(m.Name), m.TypeSpec, out)
		}
		return out
	case *p4configv1.P4DataTypeSpec_Tuple:
		for i, m := range t.Tuple.GetMembers() {
			out = b.members(join(fmt.Sprintf("f%d", i)), m, out)
		}
		return out
	case *p4configv1.P4DataTypeSpec_Header:
		for _, m := range b.info.GetTypeInfo().GetHeaders()[t.Header.GetName()].GetMembers() {
			bits := bitstringBits(m.TypeSpec)
			out = append(out, &Field{ID: uint32(len(out) + 1), Name: join(m.Name), Bits: bits, Format: formatOf(m.Name, bits, nil)})
		}
		return out
	}
	bits := b.specBits(spec)
	return append(out, &Field{ID: uint32(len(out) + 1), Name: prefix, Bits: bits, Format: formatOf(prefix, bits, nil)})
}

func (b *builder) dims(p *p4configv1.Preamble) []Dim {
	text := Annotation(p.GetAnnotations(), "index")
	if text == "" {
		return nil
	}
	dims, err := parseDims(text)
	if err != nil {
		b.fail("%s: @index: %v", p.GetName(), err)
	}
	return dims
}

// Annotation returns the string in @name("…") or @name(…) among annotations of a P4Info,
// or "".
func Annotation(list []string, name string) string {
	for _, a := range list {
		rest, ok := strings.CutPrefix(strings.TrimSpace(a), "@"+name)
		if !ok {
			continue
		}
		rest = strings.TrimSpace(rest)
		if len(rest) < 2 || rest[0] != '(' || rest[len(rest)-1] != ')' {
			continue
		}
		return strings.Trim(strings.TrimSpace(rest[1:len(rest)-1]), `"`)
	}
	return ""
}
