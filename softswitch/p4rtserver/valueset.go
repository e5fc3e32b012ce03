// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
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
	seen := map[string]bool{}
	for _, m := range e.Members {
		value, err := v.parse(d, m)
		if err != nil {
			return nil, err
		}
		key := string(formatBytes(value))
		if seen[key] {
			return nil, status.Errorf(codes.AlreadyExists, "value set %s: a member is given twice", v.name)
		}
		seen[key] = true
		values = append(values, value)
	}
	return update{max(1, len(values)), func(d *device) error {
		set := d.state.VSets[v.number]
		old := set.Values
		if err := d.charge(valueBytes * int64(len(values)-len(old))); err != nil {
			return err
		}
		d.touch(place{of: set}, func() (any, int64) { return old, valueBytes * int64(len(old)) })
		set.Set(values)
		d.onRevert(func() { set.Set(old) })
		return nil
	}}, nil
}

// parse packs the fields of a member; the first has the highest bits.
func (v *boundVSet) parse(d *device, m *p4v1.ValueSetMember) ([]uint64, error) {
	value := make([]uint64, bitvec.Limbs(v.width))
	at := v.width
	complete := len(m.Match) == len(v.fields)
	for i := 0; i < len(v.fields) && complete; i++ {
		f := &v.fields[i]
		at -= f.width
		seen := 0
		for _, fm := range m.Match {
			if fm.FieldId != f.id {
				continue
			}
			seen++
			exact := fm.GetExact()
			if exact == nil {
				return nil, status.Errorf(codes.InvalidArgument, "value set %s: field %d: this target matches value sets exactly", v.name, f.id)
			}
			x, err := d.parse(f.trans, exact.Value, f.width, "value set "+v.name)
			if err != nil {
				return nil, invalid(err)
			}
			wide := make([]uint64, len(value))
			copy(wide, x)
			bitvec.Shl(wide, wide, uint64(at))
			for i := range value {
				value[i] |= wide[i]
			}
		}
		complete = complete && seen == 1
	}
	if !complete {
		return nil, status.Errorf(codes.InvalidArgument, "value set %s: a member has %d fields; each of the %d fields is needed once", v.name, len(m.Match), len(v.fields))
	}
	return value, nil
}

func (r *reading) readValueSets(q *p4v1.ValueSetEntry) error {
	return eachArray(r.d.vsets, q.ValueSetId, "value set", func(v *boundVSet) error {
		var values [][]uint64
		err := r.piece(false, func() {
			set := r.d.state.VSets[v.number]
			values = set.Values
			if old, ok := r.snap.before(place{of: set}); ok {
				values = old.([][]uint64)
			}
		})
		if err != nil {
			return err
		}
		e := &p4v1.ValueSetEntry{ValueSetId: v.info.Preamble.Id}
		for _, value := range values {
			m := &p4v1.ValueSetMember{}
			at := v.width
			for i := range v.fields {
				at -= v.fields[i].width
				m.Match = append(m.Match, r.view.exactMatch(&v.fields[i], value, at))
			}
			e.Members = append(e.Members, m)
		}
		return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_ValueSetEntry{ValueSetEntry: e}})
	})
}

func (d *device) exactMatch(f *boundField, value []uint64, at int) *p4v1.FieldMatch {
	x := make([]uint64, len(value))
	bitvec.Shr(x, value, uint64(at), false)
	bitvec.Mask(x, f.width)
	return &p4v1.FieldMatch{FieldId: f.id, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: d.format(f.trans, x[:bitvec.Limbs(f.width)])}}}
}
