// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/table"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// entryMeta is the server's data of an entry, in interp.Extension.Owner.
type entryMeta struct {
	cookie    uint64 // controller_metadata
	metadata  []byte
	idle      int64 // idle_timeout_ns
	memberID  uint32
	groupID   uint32
	actionSet *p4v1.ActionProfileActionSet
	setBytes  int64 // memory of actionSet, see setCost
	// isConst marks an entry that the program declares const in a table that is not
	// constant.
	isConst bool
}

func metaOf(e *interp.Entry) *entryMeta {
	if e.Ext != nil {
		if m, ok := e.Ext.Owner.(*entryMeta); ok {
			return m
		}
	}
	return &entryMeta{}
}

func (p *pipeline) table(id uint32) (*boundTable, error) {
	if t := p.tables[id]; t != nil {
		return t, nil
	}
	if id == 0 {
		return nil, status.Error(codes.InvalidArgument, "the table id is not set")
	}
	return nil, status.Errorf(codes.NotFound, "unknown table id %d", id)
}

// match parses the match fields and the priority of an entry.
func (t *boundTable) match(d *device, e *p4v1.TableEntry) (table.Match, error) {
	fields := make([]interp.FieldMatch, len(t.fields))
	for _, m := range e.Match {
		i := t.field(m.GetFieldId())
		if i < 0 {
			return table.Match{}, status.Errorf(codes.InvalidArgument, "table %s has no match field %d", t.name, m.GetFieldId())
		}
		if given(&fields[i]) {
			return table.Match{}, status.Errorf(codes.InvalidArgument, "table %s: match field %s is given twice", t.name, t.fields[i].name)
		}
		f, err := t.fields[i].parse(d, m, t.name)
		if err != nil {
			return table.Match{}, err
		}
		fields[i] = f
	}
	for i := range t.fields {
		if given(&fields[i]) {
			continue
		}
		f := &t.fields[i]
		if f.kind == p4configv1.MatchField_EXACT {
			return table.Match{}, status.Errorf(codes.InvalidArgument, "table %s: exact match field %s is missing", t.name, f.name)
		}
		fields[i] = f.any(t.prog.Key[i].Width)
	}
	switch {
	case t.priority && e.Priority <= 0:
		return table.Match{}, status.Errorf(codes.InvalidArgument, "table %s: an entry needs a priority greater than zero", t.name)
	case !t.priority && e.Priority != 0:
		return table.Match{}, status.Errorf(codes.InvalidArgument, "table %s: entries have no priority, %d is given", t.name, e.Priority)
	}
	return t.prog.Match(fields, e.Priority), nil
}

// given reports whether a field has been parsed.
func given(f *interp.FieldMatch) bool { return f.Value != nil || f.Low != nil }

func (t *boundTable) field(id uint32) int {
	if i := int(id) - 1; i >= 0 && i < len(t.fields) && t.fields[i].id == id {
		return i // the usual numbering
	}
	for i := range t.fields {
		if t.fields[i].id == id {
			return i
		}
	}
	return -1
}

// any returns a match for all values.
func (f *boundField) any(width int) interp.FieldMatch {
	n := bitvec.Limbs(width)
	m := interp.FieldMatch{Value: make([]uint64, n)}
	switch f.kind {
	case p4configv1.MatchField_RANGE:
		m.Low, m.High = make([]uint64, n), ones(width)
	case p4configv1.MatchField_TERNARY, p4configv1.MatchField_OPTIONAL:
		m.Mask = make([]uint64, n)
	}
	return m
}

func ones(width int) []uint64 {
	v := make([]uint64, bitvec.Limbs(width))
	for i := range v {
		v[i] = ^uint64(0)
	}
	bitvec.Mask(v, width)
	return v
}

// parse parses one match field. "Don't care" is INVALID_ARGUMENT: such fields
// must be omitted.
func (f *boundField) parse(d *device, m *p4v1.FieldMatch, tableName string) (fm interp.FieldMatch, err error) {
	bad := func(format string) error {
		return status.Errorf(codes.InvalidArgument, "table %s: match field %s: "+format, tableName, f.name)
	}
	value := func(b []byte) []uint64 {
		var v []uint64
		if err == nil {
			v, err = d.parse(f.trans, b, f.width, "table "+tableName+": match field "+f.name)
			err = invalid(err)
		}
		return v
	}
	switch x := m.FieldMatchType.(type) {
	case *p4v1.FieldMatch_Exact_:
		if f.kind != p4configv1.MatchField_EXACT {
			return fm, bad("is not exact")
		}
		fm.Value = value(x.Exact.GetValue())
		return fm, err
	case *p4v1.FieldMatch_Lpm:
		if f.kind != p4configv1.MatchField_LPM {
			return fm, bad("is not lpm")
		}
		fm.Value = value(x.Lpm.GetValue())
		n := int(x.Lpm.GetPrefixLen())
		switch {
		case err != nil:
			return fm, err
		case n <= 0 || n > f.width:
			return fm, bad("the prefix length is not between one and the width")
		}
		fm.Prefix = n
		low := append([]uint64(nil), fm.Value...)
		bitvec.Mask(low, f.width-n)
		if !bitvec.IsZero(low) {
			return fm, bad("bits beyond the prefix are set")
		}
		return fm, nil
	case *p4v1.FieldMatch_Ternary_:
		if f.kind != p4configv1.MatchField_TERNARY {
			return fm, bad("is not ternary")
		}
		fm.Value, fm.Mask = value(x.Ternary.GetValue()), value(x.Ternary.GetMask())
		if err != nil {
			return fm, err
		}
		if bitvec.IsZero(fm.Mask) {
			return fm, bad("the mask is zero: leave the field out")
		}
		for i := range fm.Value {
			if fm.Value[i]&^fm.Mask[i] != 0 {
				return fm, bad("the value has bits outside of its mask")
			}
		}
		return fm, nil
	case *p4v1.FieldMatch_Range_:
		if f.kind != p4configv1.MatchField_RANGE {
			return fm, bad("is not a range")
		}
		fm.Low, fm.High = value(x.Range.GetLow()), value(x.Range.GetHigh())
		switch {
		case err != nil:
			return fm, err
		case bitvec.Cmp(fm.Low, fm.High) > 0:
			return fm, bad("the range ends before it starts")
		case bitvec.IsZero(fm.Low) && bitvec.Cmp(fm.High, ones(f.width)) == 0:
			return fm, bad("the range has all values: leave the field out")
		}
		return fm, nil
	case *p4v1.FieldMatch_Optional_:
		if f.kind != p4configv1.MatchField_OPTIONAL {
			return fm, bad("is not optional")
		}
		fm.Value, fm.Mask = value(x.Optional.GetValue()), ones(f.width)
		return fm, err
	}
	return fm, bad("has no match")
}

// action parses an action of a table or profile.
func (d *device) action(a *p4v1.Action, what string) (*boundAction, []uint64, error) {
	act := d.actions[a.GetActionId()]
	if act == nil {
		return nil, nil, status.Errorf(codes.InvalidArgument, "%s: unknown action id %d", what, a.GetActionId())
	}
	if act.number < 0 {
		return nil, nil, status.Errorf(codes.InvalidArgument, "%s: action %s is in no table of the program", what, act.name)
	}
	args := make([][]uint64, len(act.params))
	for _, param := range a.Params {
		i := act.param(param.GetParamId())
		if i < 0 {
			return nil, nil, status.Errorf(codes.InvalidArgument, "action %s has no parameter %d", act.name, param.GetParamId())
		}
		if args[i] != nil {
			return nil, nil, status.Errorf(codes.InvalidArgument, "action %s: parameter %s is given twice", act.name, act.params[i].name)
		}
		v, err := d.parse(act.params[i].trans, param.Value, act.params[i].width, "action "+act.name+": parameter "+act.params[i].name)
		if err != nil {
			return nil, nil, invalid(err)
		}
		args[i] = v
	}
	for i := range args {
		if args[i] == nil {
			return nil, nil, status.Errorf(codes.InvalidArgument, "action %s: parameter %s is missing", act.name, act.params[i].name)
		}
	}
	return act, d.prog.PackArgs(act.number, args), nil
}

func (a *boundAction) param(id uint32) int {
	if i := int(id) - 1; i >= 0 && i < len(a.params) && a.params[i].id == id {
		return i
	}
	for i := range a.params {
		if a.params[i].id == id {
			return i
		}
	}
	return -1
}

// numberFor returns the index of an action in a table: the program may have
// several actions with the same name.
func (t *boundTable) numberFor(p *pipeline, a *boundAction) int {
	for _, n := range t.prog.Actions {
		if p.prog.Actions[n].Name == a.name {
			return n
		}
	}
	return -1
}
