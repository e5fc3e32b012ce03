// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"math"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A mutator changes messages as a hostile client, or one with mistakes, would: numbers
// become those at limits, byte strings lose their canonical form, elements are missing or
// given twice, and members of a oneof are exchanged.
type mutator struct{ *rand.Rand }

// mutate changes n places of a message.
func (r mutator) mutate(m proto.Message, n int) {
	for range n {
		var places []func()
		r.places(m.ProtoReflect(), &places)
		if len(places) == 0 {
			return
		}
		places[r.IntN(len(places))]()
	}
}

// places lists the changes that could be made to a message, one for each field.
func (r mutator) places(m protoreflect.Message, list *[]func()) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		add := func(change func()) { *list = append(*list, change) }
		switch {
		case f.IsMap():
			if k := m.Get(f).Map(); m.Has(f) {
				k.Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
					if f.MapValue().Message() != nil {
						r.places(v.Message(), list)
					}
					add(func() { k.Clear(key) })
					return true
				})
			}
		case f.IsList():
			if l := m.Get(f).List(); m.Has(f) {
				for j := range l.Len() {
					if f.Message() != nil {
						r.places(l.Get(j).Message(), list)
					}
				}
				add(func() { r.list(m.Mutable(f).List(), f) })
			} else if r.IntN(8) == 0 {
				add(func() { m.Mutable(f).List().Append(r.element(m.NewField(f).List(), f)) })
			}
		case f.Message() != nil:
			if m.Has(f) {
				r.places(m.Get(f).Message(), list)
				add(func() {
					if r.IntN(2) == 0 {
						m.Clear(f)
					} else {
						m.Set(f, m.NewField(f))
					}
				})
			} else if r.IntN(8) == 0 { // also another member of a oneof
				add(func() { m.Set(f, m.NewField(f)) })
			}
		case m.Has(f) || r.IntN(4) == 0:
			add(func() { m.Set(f, r.scalar(f, m.Get(f))) })
		}
	}
}

// list removes, repeats or exchanges elements.
func (r mutator) list(l protoreflect.List, f protoreflect.FieldDescriptor) {
	n := l.Len()
	if n == 0 {
		return
	}
	at := r.IntN(n)
	copied := func(v protoreflect.Value) protoreflect.Value {
		if f.Message() != nil {
			return protoreflect.ValueOfMessage(proto.Clone(v.Message().Interface()).ProtoReflect())
		}
		return v
	}
	switch r.IntN(5) {
	case 0:
		l.Truncate(at)
	case 1:
		l.Append(copied(l.Get(at)))
	case 2:
		a, b := copied(l.Get(at)), copied(l.Get(n-1-at))
		l.Set(at, b)
		l.Set(n-1-at, a)
	case 3:
		l.Append(r.element(l, f))
	case 4:
		for range r.IntN(100) {
			l.Append(copied(l.Get(at)))
		}
	}
}

func (r mutator) element(l protoreflect.List, f protoreflect.FieldDescriptor) protoreflect.Value {
	if f.Message() != nil {
		return l.NewElement()
	}
	return r.scalar(f, l.NewElement())
}

// scalar returns another value of a field.
func (r mutator) scalar(f protoreflect.FieldDescriptor, was protoreflect.Value) protoreflect.Value {
	limits := []int64{0, 1, 2, 3, 5, 15, 16, 255, 256, 65535, 65536, math.MaxInt32, math.MaxUint32, -1, -2, math.MinInt32}
	n := limits[r.IntN(len(limits))]
	wide := []int64{n, n, math.MaxInt64, math.MinInt64, 1 << 40}[r.IntN(5)]
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(!was.Bool())
	case protoreflect.EnumKind:
		if v := f.Enum().Values(); r.IntN(3) > 0 {
			return protoreflect.ValueOfEnum(v.Get(r.IntN(v.Len())).Number())
		}
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		if r.IntN(2) == 0 {
			return protoreflect.ValueOfUint32(uint32(was.Uint()) + uint32(r.IntN(3)) - 1)
		}
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(wide)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(wide))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32([]float32{0, -1, float32(math.NaN()), float32(math.Inf(1)), math.MaxFloat32}[r.IntN(5)])
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([]float64{0, -1, math.NaN(), math.Inf(1), math.MaxFloat64}[r.IntN(5)])
	case protoreflect.StringKind:
		s := was.String()
		return protoreflect.ValueOfString([]string{"", s + "\x1b[2J\n", s + "x", "\u202e", s[len(s)/2:]}[r.IntN(5)])
	}
	b := append([]byte(nil), was.Bytes()...)
	switch r.IntN(7) {
	case 0:
		b = nil
	case 1:
		b = append(make([]byte, 1+r.IntN(3)), b...)
	case 2:
		b = append([]byte{0xff}, b...)
	case 3:
		b = append(b, byte(r.Uint32()))
	case 4:
		b = make([]byte, r.IntN(300))
	case 5:
		b = []byte{byte(r.IntN(4))}
	case 6:
		if len(b) > 0 {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
	}
	return protoreflect.ValueOfBytes(b)
}
