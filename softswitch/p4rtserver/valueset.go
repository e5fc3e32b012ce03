// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"slices"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/bitvec"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (d *device) decodeValueSet(e *p4v1.ValueSetEntry) (op, error) {
	v, err := lookup(d.vsets, e.GetValueSetId(), "value set")
	if err != nil {
		return nil, err
	}
	if size := int(v.info.Size); size > 0 && len(e.Members) > size {
		return nil, status.Errorf(codes.ResourceExhausted, "value set %s has room for %d members, %d are given", v.name, size, len(e.Members))
	}
	var values [][]uint64
	for _, m := range e.Members {
		value, err := v.parse(m)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(values, func(o []uint64) bool { return bitvec.Cmp(o, value) == 0 }) {
			return nil, status.Errorf(codes.AlreadyExists, "value set %s: a member is given twice", v.name)
		}
		values = append(values, value)
	}
	return update(func(d *device) (func(), error) {
		set := d.state.VSets[v.number]
		old := set.Values
		set.Set(values)
		return func() { set.Set(old) }, nil
	}), nil
}

// parse packs the fields of a member, the first in the highest bits.
func (v *boundVSet) parse(m *p4v1.ValueSetMember) ([]uint64, error) {
	value := make([]uint64, bitvec.Limbs(v.width))
	at := v.width
	seen := 0
	for _, f := range v.info.Match {
		at -= int(f.Bitwidth)
		for _, fm := range m.Match {
			if fm.FieldId != f.Id {
				continue
			}
			seen++
			exact := fm.GetExact()
			if exact == nil {
				return nil, status.Errorf(codes.InvalidArgument, "value set %s: field %d: this target matches value sets exactly", v.name, f.Id)
			}
			x, err := parseBytes(exact.Value, int(f.Bitwidth), "value set "+v.name)
			if err != nil {
				return nil, status.Error(codes.InvalidArgument, status.Convert(err).Message())
			}
			wide := make([]uint64, len(value))
			copy(wide, x)
			bitvec.Shl(wide, wide, uint64(at))
			for i := range value {
				value[i] |= wide[i]
			}
		}
	}
	if seen != len(v.info.Match) || len(m.Match) != seen {
		return nil, status.Errorf(codes.InvalidArgument, "value set %s: a member has %d fields, want each of %d once", v.name, len(m.Match), len(v.info.Match))
	}
	return value, nil
}

func (d *device) readValueSets(r *p4v1.ValueSetEntry, emit func(*p4v1.Entity)) error {
	defer d.lock()()
	return eachArray(d.vsets, r.ValueSetId, "value set", func(v *boundVSet) error {
		e := &p4v1.ValueSetEntry{ValueSetId: v.info.Preamble.Id}
		for _, value := range d.state.VSets[v.number].Values {
			m := &p4v1.ValueSetMember{}
			at := v.width
			for _, f := range v.info.Match {
				at -= int(f.Bitwidth)
				m.Match = append(m.Match, exactMatch(f, value, at))
			}
			e.Members = append(e.Members, m)
		}
		emit(&p4v1.Entity{Entity: &p4v1.Entity_ValueSetEntry{ValueSetEntry: e}})
		return nil
	})
}

func exactMatch(f *p4configv1.MatchField, value []uint64, at int) *p4v1.FieldMatch {
	x := make([]uint64, len(value))
	bitvec.Shr(x, value, uint64(at), false)
	bitvec.Mask(x, int(f.Bitwidth))
	return &p4v1.FieldMatch{FieldId: f.Id, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: formatBytes(x)}}}
}
