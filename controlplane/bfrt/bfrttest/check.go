// SPDX-License-Identifier: Apache-2.0

package bfrttest

import (
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
)

// Check returns the first error of an entry against bfrt.json: tables, fields
// and actions by number, match kinds, types, widths, missing and read-only
// fields.
func Check(info *bfrt.Info, e *bfrtpb.TableEntry, op bfrtpb.Update_Type) error {
	t := info.ByID(e.TableId)
	if t == nil {
		return fmt.Errorf("there is no table %#x", e.TableId)
	}
	switch op {
	case bfrtpb.Update_INSERT, bfrtpb.Update_MODIFY, bfrtpb.Update_DELETE:
	default:
		return fmt.Errorf("table %s: no kind of update: %v", t.Name, op)
	}
	if err := checkKey(t, e); err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	if op == bfrtpb.Update_DELETE {
		return nil
	}
	if err := checkData(t, e, op); err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	return nil
}

func checkKey(t *bfrt.Table, e *bfrtpb.TableEntry) error {
	fields := e.GetKey().GetFields()
	switch {
	case e.IsDefaultEntry && t.Kind == "Register":
		return fmt.Errorf("a register array has no default entry")
	case e.IsDefaultEntry && len(fields) > 0:
		return fmt.Errorf("the default entry has no key")
	case e.IsDefaultEntry:
		return nil
	}
	if len(fields) != len(t.Key) {
		return fmt.Errorf("the key has %d fields, %d are given", len(t.Key), len(fields))
	}
	given := make(map[uint32]bool)
	for _, k := range fields {
		if given[k.FieldId] {
			return fmt.Errorf("key field %d is given twice", k.FieldId)
		}
		given[k.FieldId] = true
		i := slices.IndexFunc(t.Key, func(f bfrt.Field) bool { return f.ID == k.FieldId })
		if i < 0 {
			return fmt.Errorf("there is no key field %d", k.FieldId)
		}
		f := &t.Key[i]
		var kind string
		var values [][]byte
		switch m := k.MatchType.(type) {
		case *bfrtpb.KeyField_Exact_:
			kind, values = "Exact", [][]byte{m.Exact.GetValue()}
		case *bfrtpb.KeyField_Ternary_:
			kind, values = "Ternary", [][]byte{m.Ternary.GetValue(), m.Ternary.GetMask()}
		case *bfrtpb.KeyField_Lpm:
			kind, values = "LPM", [][]byte{m.Lpm.GetValue()}
			if n := m.Lpm.GetPrefixLen(); n < 0 || int(n) > f.Bits() {
				return fmt.Errorf("key field %s: a prefix of %d of %d bits", f.Name, n, f.Bits())
			}
		case *bfrtpb.KeyField_Range_:
			kind, values = "Range", [][]byte{m.Range.GetLow(), m.Range.GetHigh()}
		}
		if kind != f.Match {
			return fmt.Errorf("key field %s is matched as %s, not %s", f.Name, f.Match, kind)
		}
		for _, v := range values {
			if f.Type.Kind == "string" {
				if !slices.Contains(f.Type.Choices, string(v)) {
					return fmt.Errorf("key field %s is one of %v, not %q", f.Name, f.Type.Choices, v)
				}
				continue
			}
			if err := checkNumber(f, v); err != nil {
				return err
			}
		}
	}
	if t.Kind == "Register" {
		if i := number(fields[0].GetExact().GetValue()); t.Size > 0 && i >= t.Size {
			return fmt.Errorf("it has no cell %d", i)
		}
	}
	return nil
}

func checkNumber(f *bfrt.Field, v []byte) error {
	bits := f.Bits()
	if len(v) != (bits+7)/8 {
		return fmt.Errorf("field %s has %d bits, not %d bytes", f.Name, bits, len(v))
	}
	if spare := len(v)*8 - bits; spare > 0 && v[0]>>(8-spare) != 0 {
		return fmt.Errorf("field %s has %d bits, more are set", f.Name, bits)
	}
	return nil
}

func checkData(t *bfrt.Table, e *bfrtpb.TableEntry, op bfrtpb.Update_Type) error {
	action := t.ActionByID(e.GetData().GetActionId())
	switch {
	case action == nil && e.GetData().GetActionId() != 0:
		return fmt.Errorf("there is no action %d", e.Data.ActionId)
	case action == nil && len(t.Actions) > 0:
		return fmt.Errorf("an action is needed")
	case action == nil && op == bfrtpb.Update_MODIFY && len(e.GetData().GetFields()) == 0:
		return fmt.Errorf("no data is given")
	}
	known := t.DataFields(action)
	given := make(map[uint32]bool)
	for _, d := range e.GetData().GetFields() {
		i := slices.IndexFunc(known, func(f bfrt.Field) bool { return f.ID == d.FieldId })
		if i < 0 {
			return fmt.Errorf("there is no data field %d", d.FieldId)
		}
		f := &known[i]
		if f.ReadOnly {
			return fmt.Errorf("field %s can only be read", f.Name)
		}
		if given[f.ID] {
			return fmt.Errorf("field %s is given twice", f.Name)
		}
		given[f.ID] = true
		if err := checkValue(f, d); err != nil {
			return err
		}
	}
	for _, f := range known {
		if f.Mandatory && !f.ReadOnly && !given[f.ID] && op == bfrtpb.Update_INSERT {
			return fmt.Errorf("field %s is missing", f.Name)
		}
	}
	return nil
}

func checkValue(f *bfrt.Field, d *bfrtpb.DataField) error {
	kind := ""
	switch v := d.Value.(type) {
	case *bfrtpb.DataField_Stream:
		if f.Bits() > 0 && (!f.Repeated || f.Type.Kind == "bytes") {
			return checkNumber(f, v.Stream)
		}
		kind = "bytes"
	case *bfrtpb.DataField_BoolVal:
		kind = "bool"
	case *bfrtpb.DataField_FloatVal:
		kind = "float"
	case *bfrtpb.DataField_StrVal:
		kind = "string"
		if f.Type.Kind == kind && len(f.Type.Choices) > 0 && !slices.Contains(f.Type.Choices, v.StrVal) {
			return fmt.Errorf("field %s is one of %v, not %q", f.Name, f.Type.Choices, v.StrVal)
		}
	case *bfrtpb.DataField_IntArrVal:
		if f.Repeated && f.Bits() > 0 {
			return nil
		}
		kind = "list of integers"
	case *bfrtpb.DataField_BoolArrVal:
		if f.Repeated && f.Type.Kind == "bool" {
			return nil
		}
		kind = "list of bools"
	}
	if kind != f.Type.Kind || f.Repeated {
		return fmt.Errorf("field %s is of type %s, not %s", f.Name, f.Type.Kind, kind)
	}
	return nil
}
