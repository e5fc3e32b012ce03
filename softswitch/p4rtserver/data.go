// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"slices"
	"strconv"
	"strings"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/bitvec"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// leaf formats one value of a digest.
type leaf func(dev *device, v []uint64) *p4v1.P4Data

// bindDigests maps digests to the program's field lists, which are the leaves
// of the digest's type in order.
func (b *bindings) bindDigests() {
	p := b.p
	p.digests = map[uint32]*boundDigest{}
	byName := map[string][]int{}
	for i, d := range p.prog.Digests {
		byName[d.Name] = append(byName[d.Name], i)
	}
	for _, d := range b.info.Digests {
		name := d.Preamble.GetName()
		numbers := byName[name]
		// p4c calls all digests without a struct "digest" in JSON, and numbers them in the P4Info.
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "digest_")); numbers == nil && err == nil && n >= 0 && n < len(byName["digest"]) {
			numbers = byName["digest"][n : n+1]
		}
		if numbers == nil {
			b.errorf("digest %s is not in the program", name)
			continue
		}
		bd := &boundDigest{info: d, name: name, numbers: numbers, widths: p.prog.Digests[numbers[0]].Widths}
		used := 0
		bd.format = b.formatter(d.TypeSpec, bd, &used)
		for _, n := range numbers {
			if has := p.prog.Digests[n].Widths; used != len(has) {
				b.errorf("digest %s has %d fields in the P4Info, %d in the program", name, used, len(has))
			}
		}
		p.digests[d.Preamble.Id] = bd
	}
}

// formatter returns a function that converts the values of a digest, starting
// with index used, to P4Data.
func (b *bindings) formatter(spec *p4configv1.P4DataTypeSpec, d *boundDigest, used *int) func(*device, [][]uint64) *p4v1.P4Data {
	next := func(f leaf) func(*device, [][]uint64) *p4v1.P4Data {
		at := *used
		*used++
		return func(dev *device, values [][]uint64) *p4v1.P4Data {
			if at >= len(values) {
				return &p4v1.P4Data{}
			}
			return f(dev, values[at])
		}
	}
	structLike := func(specs []*p4configv1.P4DataTypeSpec) func(*device, [][]uint64) []*p4v1.P4Data {
		var parts []func(*device, [][]uint64) *p4v1.P4Data
		for _, s := range specs {
			parts = append(parts, b.formatter(s, d, used))
		}
		return func(dev *device, values [][]uint64) []*p4v1.P4Data {
			members := make([]*p4v1.P4Data, len(parts))
			for i, part := range parts {
				members[i] = part(dev, values)
			}
			return members
		}
	}
	types := b.info.GetTypeInfo()
	switch t := spec.GetTypeSpec().(type) {
	case *p4configv1.P4DataTypeSpec_Bitstring:
		if i := t.Bitstring.GetInt(); i != nil {
			return next(func(_ *device, v []uint64) *p4v1.P4Data { return bitstring(formatSigned(v, int(i.Bitwidth))) })
		}
		return next(func(_ *device, v []uint64) *p4v1.P4Data { return bitstring(formatBytes(v)) })
	case *p4configv1.P4DataTypeSpec_Bool:
		return next(func(_ *device, v []uint64) *p4v1.P4Data {
			return &p4v1.P4Data{Data: &p4v1.P4Data_Bool{Bool: !bitvec.IsZero(v)}}
		})
	case *p4configv1.P4DataTypeSpec_SerializableEnum:
		return next(func(_ *device, v []uint64) *p4v1.P4Data {
			return &p4v1.P4Data{Data: &p4v1.P4Data_EnumValue{EnumValue: formatBytes(v)}}
		})
	case *p4configv1.P4DataTypeSpec_Error:
		return next(func(_ *device, v []uint64) *p4v1.P4Data {
			return &p4v1.P4Data{Data: &p4v1.P4Data_Error{Error: b.p.prog.ErrorName(int(v[0]))}}
		})
	case *p4configv1.P4DataTypeSpec_NewType:
		if nt := types.GetNewTypes()[t.NewType.GetName()]; nt.GetOriginalType() != nil {
			return b.formatter(nt.GetOriginalType(), d, used)
		}
		if at := *used; at < len(d.widths) {
			if trans := b.translated(t.NewType.GetName(), d.widths[at], "digest "+d.name); trans != nil {
				return next(func(dev *device, v []uint64) *p4v1.P4Data { return bitstring(dev.format(trans, v)) })
			}
		}
		return next(func(_ *device, v []uint64) *p4v1.P4Data { return bitstring(formatBytes(v)) })
	case *p4configv1.P4DataTypeSpec_Tuple:
		members := structLike(t.Tuple.GetMembers())
		return func(dev *device, values [][]uint64) *p4v1.P4Data {
			return &p4v1.P4Data{Data: &p4v1.P4Data_Tuple{Tuple: &p4v1.P4StructLike{Members: members(dev, values)}}}
		}
	case *p4configv1.P4DataTypeSpec_Struct:
		st := types.GetStructs()[t.Struct.GetName()]
		if st == nil {
			b.errorf("digest %s has unknown struct %s", d.name, t.Struct.GetName())
			return next(func(*device, []uint64) *p4v1.P4Data { return &p4v1.P4Data{} })
		}
		var specs []*p4configv1.P4DataTypeSpec
		for _, m := range st.Members {
			specs = append(specs, m.TypeSpec)
		}
		members := structLike(specs)
		return func(dev *device, values [][]uint64) *p4v1.P4Data {
			return &p4v1.P4Data{Data: &p4v1.P4Data_Struct{Struct: &p4v1.P4StructLike{Members: members(dev, values)}}}
		}
	}
	b.errorf("digest %s has a field of type %T, which this target does not have", d.name, spec.GetTypeSpec())
	return next(func(*device, []uint64) *p4v1.P4Data { return &p4v1.P4Data{} })
}

func bitstring(b []byte) *p4v1.P4Data {
	return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: b}}
}

// parse parses the value of a cell.
func (r *boundRegister) parse(dev *device, d *p4v1.P4Data) ([]uint64, error) {
	switch x := d.GetData().(type) {
	case *p4v1.P4Data_Bitstring:
		if r.bool || r.members != nil {
			break
		}
		if r.signed {
			return parseSigned(x.Bitstring, r.width, "register "+r.name)
		}
		return dev.parse(r.trans, x.Bitstring, r.width, "register "+r.name)
	case *p4v1.P4Data_EnumValue:
		return parseBytes(x.EnumValue, r.width, "register "+r.name)
	case *p4v1.P4Data_Bool:
		if r.bool {
			v := make([]uint64, bitvec.Limbs(r.width))
			if x.Bool {
				v[0] = 1
			}
			return v, nil
		}
	case *p4v1.P4Data_Struct:
		if r.members == nil || len(x.Struct.GetMembers()) != len(r.members) {
			break
		}
		v := make([]uint64, bitvec.Limbs(r.width))
		part := make([]uint64, len(v))
		for i := range r.members {
			member, err := r.members[i].parse(dev, x.Struct.Members[i])
			if err != nil {
				return nil, err
			}
			clear(part)
			copy(part, member)
			bitvec.Shl(v, v, uint64(r.members[i].width))
			for limb := range v {
				v[limb] |= part[limb]
			}
		}
		return v, nil
	case nil:
		return nil, status.Errorf(codes.InvalidArgument, "register %s: no data is given", r.name)
	}
	return nil, status.Errorf(codes.InvalidArgument, "register %s: data of kind %T does not fit its type", r.name, d.GetData())
}

// format returns the value of a cell as P4Data.
func (r *boundRegister) format(dev *device, v []uint64) *p4v1.P4Data {
	switch {
	case r.members != nil:
		s := &p4v1.P4StructLike{Members: make([]*p4v1.P4Data, len(r.members))}
		rest := slices.Clone(v)
		for i := len(r.members) - 1; i >= 0; i-- {
			m := &r.members[i]
			part := slices.Clone(rest)
			bitvec.Mask(part, m.width)
			s.Members[i] = m.format(dev, part[:bitvec.Limbs(m.width)])
			bitvec.Shr(rest, rest, uint64(m.width), false)
		}
		return &p4v1.P4Data{Data: &p4v1.P4Data_Struct{Struct: s}}
	case r.bool:
		return &p4v1.P4Data{Data: &p4v1.P4Data_Bool{Bool: !bitvec.IsZero(v)}}
	case r.signed:
		return bitstring(formatSigned(v, r.width))
	case r.enum:
		return &p4v1.P4Data{Data: &p4v1.P4Data_EnumValue{EnumValue: formatBytes(v)}}
	}
	return bitstring(dev.format(r.trans, v))
}
