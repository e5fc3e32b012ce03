// SPDX-License-Identifier: Apache-2.0

// Package infochecktest makes hostile P4Infos for tests of what receives them.
package infochecktest

import (
	"fmt"
	"math"
	"strings"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/proto"
)

// Case is a hostile P4Info with a part of the error that it must give.
type Case struct {
	Name string
	Info *p4configv1.P4Info
	Want string
}

type (
	spec  = p4configv1.P4DataTypeSpec
	named = p4configv1.P4NamedType
)

func structOf(name string) *spec {
	return &spec{TypeSpec: &p4configv1.P4DataTypeSpec_Struct{Struct: &named{Name: name}}}
}

func newTypeOf(name string) *spec {
	return &spec{TypeSpec: &p4configv1.P4DataTypeSpec_NewType{NewType: &named{Name: name}}}
}

func tuple(members ...*spec) *spec {
	return &spec{TypeSpec: &p4configv1.P4DataTypeSpec_Tuple{Tuple: &p4configv1.P4TupleTypeSpec{Members: members}}}
}

func bits(n int32) *spec {
	return &spec{TypeSpec: &p4configv1.P4DataTypeSpec_Bitstring{Bitstring: bit(n)}}
}

func bit(n int32) *p4configv1.P4BitstringLikeTypeSpec {
	return &p4configv1.P4BitstringLikeTypeSpec{TypeSpec: &p4configv1.P4BitstringLikeTypeSpec_Bit{Bit: &p4configv1.P4BitTypeSpec{Bitwidth: n}}}
}

func repeated(n int, s *spec) []*spec {
	list := make([]*spec, n)
	for i := range list {
		list[i] = s
	}
	return list
}

// Cases returns hostile variants of a P4Info that has a digest, a register and a table
// with match fields: types that contain themselves, that stand for too many numbers, or
// that are too deep, in each place where a type is used, and names and widths beyond
// the limits.
func Cases(base *p4configv1.P4Info) []Case {
	var cases []Case
	add := func(name, want string, change func(*p4configv1.P4Info)) {
		info := proto.Clone(base).(*p4configv1.P4Info)
		if info.TypeInfo == nil {
			info.TypeInfo = &p4configv1.P4TypeInfo{}
		}
		change(info)
		cases = append(cases, Case{name, info, want})
	}
	define := func(info *p4configv1.P4Info, name string, members ...*spec) {
		st := &p4configv1.P4StructTypeSpec{}
		for i, m := range members {
			st.Members = append(st.Members, &p4configv1.P4StructTypeSpec_Member{Name: fmt.Sprintf("m%d", i), TypeSpec: m})
		}
		if info.TypeInfo.Structs == nil {
			info.TypeInfo.Structs = map[string]*p4configv1.P4StructTypeSpec{}
		}
		info.TypeInfo.Structs[name] = st
	}
	rename := func(info *p4configv1.P4Info, name string, original *spec) {
		if info.TypeInfo.NewTypes == nil {
			info.TypeInfo.NewTypes = map[string]*p4configv1.P4NewTypeSpec{}
		}
		info.TypeInfo.NewTypes[name] = &p4configv1.P4NewTypeSpec{Representation: &p4configv1.P4NewTypeSpec_OriginalType{OriginalType: original}}
	}
	// Each type in each place.
	places := []struct {
		name string
		set  func(*p4configv1.P4Info, *spec)
	}{
		{"digest", func(info *p4configv1.P4Info, s *spec) { info.Digests[0].TypeSpec = s }},
		{"register", func(info *p4configv1.P4Info, s *spec) { info.Registers[0].TypeSpec = s }},
		{"tuple in a digest", func(info *p4configv1.P4Info, s *spec) { info.Digests[0].TypeSpec = tuple(bits(8), s) }},
		{"no place", func(*p4configv1.P4Info, *spec) {}}, // a type that nothing uses
	}
	for _, p := range places {
		in := func(name, want string, s *spec, change func(*p4configv1.P4Info)) {
			add(p.name+": "+name, want, func(info *p4configv1.P4Info) {
				change(info)
				p.set(info, s)
			})
		}
		in("new type of itself", "new type N contains itself", newTypeOf("N"), func(info *p4configv1.P4Info) { rename(info, "N", newTypeOf("N")) })
		in("new types of each other", "contains itself: M has N has M", newTypeOf("N"), func(info *p4configv1.P4Info) {
			rename(info, "N", newTypeOf("M"))
			rename(info, "M", newTypeOf("N"))
		})
		in("struct and new type of each other", "contains itself", newTypeOf("N"), func(info *p4configv1.P4Info) {
			rename(info, "N", structOf("S"))
			define(info, "S", bits(8), newTypeOf("N"))
		})
		for _, n := range []int{1, 2, 30, 1000} {
			in(fmt.Sprintf("struct with %d of itself", n), "struct S contains itself", structOf("S"), func(info *p4configv1.P4Info) { define(info, "S", repeated(n, structOf("S"))...) })
		}
		in("struct of itself through a tuple", "struct S contains itself", structOf("S"), func(info *p4configv1.P4Info) {
			define(info, "S", tuple(tuple(bits(1), structOf("S")), structOf("S")))
		})
		in("30 levels of two", "nested more than 16 deep", structOf("S0"), func(info *p4configv1.P4Info) { levels(define, info, 30, 2) })
		in("15 levels of thirty", "numbers, more than 65536", structOf("S0"), func(info *p4configv1.P4Info) { levels(define, info, 15, 30) })
		in("a thousand thousand thousands", "numbers, more than 65536", structOf("S0"), func(info *p4configv1.P4Info) { levels(define, info, 3, 1000) })
		in("long chain of new types", "nested more than 16 deep", newTypeOf("N0"), func(info *p4configv1.P4Info) {
			for i := range 5000 {
				rename(info, fmt.Sprintf("N%d", i), newTypeOf(fmt.Sprintf("N%d", i+1)))
			}
		})
		in("long names", "a name of 5000 bytes", structOf("S"), func(info *p4configv1.P4Info) {
			define(info, "S", repeated(10, bits(8))...)
			for _, m := range info.TypeInfo.Structs["S"].Members {
				m.Name = strings.Repeat("n", 5000)
			}
		})
		in("names that are long together", "whose names have", structOf("S0"), func(info *p4configv1.P4Info) {
			levels(define, info, 15, 2)
			for _, st := range info.TypeInfo.Structs {
				for _, m := range st.Members {
					m.Name = strings.Repeat(m.Name, 500)
				}
			}
		})
		in("number of 2^31 bits", "bits wide", structOf("S"), func(info *p4configv1.P4Info) { define(info, "S", bits(math.MaxInt32)) })
		in("number of -1 bits", "is -1 bits wide", structOf("S"), func(info *p4configv1.P4Info) { define(info, "S", bits(-1)) })
		in("stack of structs' headers", "numbers, more than 65536", structOf("S"), func(info *p4configv1.P4Info) {
			h := &p4configv1.P4HeaderTypeSpec{}
			for i := range 1000 {
				h.Members = append(h.Members, &p4configv1.P4HeaderTypeSpec_Member{Name: fmt.Sprint(i), TypeSpec: bit(8)})
			}
			info.TypeInfo.Headers = map[string]*p4configv1.P4HeaderTypeSpec{"H": h}
			info.TypeInfo.HeaderUnions = map[string]*p4configv1.P4HeaderUnionTypeSpec{"U": {Members: []*p4configv1.P4HeaderUnionTypeSpec_Member{{Name: "h", Header: &named{Name: "H"}}}}}
			define(info, "S", &spec{TypeSpec: &p4configv1.P4DataTypeSpec_HeaderStack{HeaderStack: &p4configv1.P4HeaderStackTypeSpec{Header: &named{Name: "H"}, Size: math.MaxInt32}}},
				&spec{TypeSpec: &p4configv1.P4DataTypeSpec_HeaderUnionStack{HeaderUnionStack: &p4configv1.P4HeaderUnionStackTypeSpec{HeaderUnion: &named{Name: "U"}, Size: math.MaxInt32}}})
		})
		in("stack of size -1", "has size -1", structOf("S"), func(info *p4configv1.P4Info) {
			define(info, "S", &spec{TypeSpec: &p4configv1.P4DataTypeSpec_HeaderStack{HeaderStack: &p4configv1.P4HeaderStackTypeSpec{Header: &named{Name: "H"}, Size: -1}}})
		})
		in("enum of 2^20 bits", "bits wide", structOf("S"), func(info *p4configv1.P4Info) {
			info.TypeInfo.SerializableEnums = map[string]*p4configv1.P4SerializableEnumTypeSpec{"E": {UnderlyingType: &p4configv1.P4BitTypeSpec{Bitwidth: 1 << 20}}}
			define(info, "S", &spec{TypeSpec: &p4configv1.P4DataTypeSpec_SerializableEnum{SerializableEnum: &named{Name: "E"}}})
		})
		in("translation of 2^20 bits", "bits wide", newTypeOf("N"), func(info *p4configv1.P4Info) {
			info.TypeInfo.NewTypes = map[string]*p4configv1.P4NewTypeSpec{"N": {Representation: &p4configv1.P4NewTypeSpec_TranslatedType{
				TranslatedType: &p4configv1.P4NewTypeTranslation{SdnType: &p4configv1.P4NewTypeTranslation_SdnBitwidth{SdnBitwidth: 1 << 20}}}}}
		})
	}
	add("deep tuple", "nested more than 16 deep", func(info *p4configv1.P4Info) {
		s := bits(8)
		for range 2000 {
			s = tuple(s, bits(8))
		}
		info.Digests[0].TypeSpec = s
	})
	add("many digests", "the P4Info has", func(info *p4configv1.P4Info) {
		levels(define, info, 10, 2) // 1024 numbers
		for i := range 100 {
			info.Digests = append(info.Digests, &p4configv1.Digest{Preamble: &p4configv1.Preamble{Id: uint32(0x17f00000 + i), Name: fmt.Sprintf("d%d", i)}, TypeSpec: structOf("S0")})
		}
	})
	add("match field of a new type of itself", "contains itself", func(info *p4configv1.P4Info) {
		rename(info, "N", newTypeOf("N"))
		for _, t := range info.Tables {
			for _, f := range t.MatchFields {
				f.TypeName = &named{Name: "N"}
			}
		}
		for _, a := range info.Actions {
			for _, p := range a.Params {
				p.TypeName = &named{Name: "N"}
			}
		}
		for _, h := range info.ControllerPacketMetadata {
			for _, m := range h.Metadata {
				m.TypeName = &named{Name: "N"}
			}
		}
	})
	add("wide match field", "bits wide", func(info *p4configv1.P4Info) { info.Tables[0].MatchFields[0].Bitwidth = math.MaxInt32 })
	add("100,000 match fields", "100000 match fields, more than", func(info *p4configv1.P4Info) {
		f := info.Tables[0].MatchFields[0]
		info.Tables[0].MatchFields = nil
		for range 100_000 {
			info.Tables[0].MatchFields = append(info.Tables[0].MatchFields, f)
		}
	})
	add("name of dots", "a name of 100000 bytes", func(info *p4configv1.P4Info) { info.Tables[0].Preamble.Name = strings.Repeat("a.", 50_000) })
	add("register of size -1", "has size -1", func(info *p4configv1.P4Info) { info.Registers[0].Size = -1 })
	return cases
}

// levels defines S0, which has n members of type S1, and so on to a number.
func levels(define func(*p4configv1.P4Info, string, ...*spec), info *p4configv1.P4Info, depth, n int) {
	for i := range depth {
		define(info, fmt.Sprintf("S%d", i), repeated(n, structOf(fmt.Sprintf("S%d", i+1)))...)
	}
	define(info, fmt.Sprintf("S%d", depth), bits(8))
}
