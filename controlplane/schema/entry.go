// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Match is a named condition on one field, from Eq, Prefix, Mask, Between or
// Any.
type Match struct {
	Field string
	text  string // parsed like by ParseEntity, if set
	kind  matchOp
	a, b  any
	plen  int
}

type matchOp uint8

const (
	opText matchOp = iota
	opEq
	opPrefix
	opMask
	opBetween
)

// Eq matches one value. On an LPM or ternary field it compares all bits. A
// value is an int, uint, uint32, uint64, bool, []byte, netip.Addr, packet.MAC
// or a string for Field.Parse.
func Eq(field string, v any) Match { return Match{Field: field, kind: opEq, a: v} }

// Prefix matches the first n bits. An IP prefix is given as addr, bits.
func Prefix(field string, v any, n int) Match {
	return Match{Field: field, kind: opPrefix, a: v, plen: n}
}

// Mask matches if value and key agree in the mask's bits.
func Mask(field string, v, mask any) Match { return Match{Field: field, kind: opMask, a: v, b: mask} }

// Between matches the values from low to high, both included.
func Between(field string, low, high any) Match {
	return Match{Field: field, kind: opBetween, a: low, b: high}
}

// Arg is a named argument of an action.
type Arg struct {
	Name  string
	Value any // as for Eq
}

// Entry is a table entry by names. Omitted fields match anything; exact fields
// cannot be omitted.
type Entry struct {
	Table    string
	Match    []Match
	Priority int32 // above 0 on tables with priorities; the largest has precedence
	Action   string
	Args     []Arg
	Default  bool // the table's default entry, without match
}

// Entry converts an entry by names to one by IDs, and validates it with the
// P4Info.
func (s *Schema) Entry(e Entry) (*p4v1.Entity, error) {
	t, err := s.Table(e.Table)
	if err != nil {
		return nil, err
	}
	te := &p4v1.TableEntry{TableId: t.ID, Priority: e.Priority, IsDefaultAction: e.Default}
	if te.Match, err = t.match(e.Match); err != nil {
		return nil, err
	}
	a, err := t.action(e.Action)
	if err != nil {
		return nil, err
	}
	if te.Action, err = a.call(e.Args); err != nil {
		return nil, err
	}
	if err := t.check(te); err != nil {
		return nil, err
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: te}}, nil
}

// call returns the action with arguments by name.
func (a *Action) call(named []Arg) (*p4v1.TableAction, error) {
	args := make([]*Arg, len(a.Params))
	for i := range named {
		p := a.Param(named[i].Name)
		if p == nil {
			return nil, noParam(a, named[i].Name)
		}
		args[slices.Index(a.Params, p)] = &named[i]
	}
	call := &p4v1.Action{ActionId: a.ID, Params: make([]*p4v1.Action_Param, len(args))}
	for i, p := range a.Params {
		if args[i] == nil {
			return nil, fmt.Errorf("action %s: parameter %s is missing", a.Name, p.Name)
		}
		b, err := p.value(args[i].Value)
		if err != nil {
			return nil, fmt.Errorf("action %s: %w", a.Name, err)
		}
		call.Params[i] = &p4v1.Action_Param{ParamId: p.ID, Value: b}
	}
	return &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: call}}, nil
}

// action finds one of the table's actions by name.
func (t *Table) action(name string) (*Action, error) {
	var found *Action
	var names []string
	for _, a := range t.Actions {
		if a.Name == name || a.Full == name {
			return a, nil
		}
		if strings.HasSuffix(a.Full, "."+name) {
			if found != nil {
				return nil, fmt.Errorf("table %s: %q names both %s and %s", t.Name, name, found.Full, a.Full)
			}
			found = a
		}
		names = append(names, a.Name)
	}
	if found == nil {
		hint := diag.DidYouMean(name, names)
		if hint == "" {
			hint = "; it has: " + strings.Join(names, ", ")
		}
		return nil, fmt.Errorf("table %s has no action %q%s", t.Name, name, hint)
	}
	return found, nil
}

func noParam(a *Action, name string) error {
	hint := diag.DidYouMean(name, fieldNames(a.Params))
	if hint == "" {
		hint = "; it has: " + strings.Join(fieldNames(a.Params), ", ")
		if len(a.Params) == 0 {
			hint = "; it has none"
		}
	}
	return fmt.Errorf("action %s has no parameter %q%s", a.Name, name, hint)
}

// match converts conditions by name to field matches in the order of the
// table's fields, without those that match anything.
func (t *Table) match(conditions []Match) ([]*p4v1.FieldMatch, error) {
	out := make([]*p4v1.FieldMatch, len(t.Fields))
	given := make([]bool, len(t.Fields))
	for _, m := range conditions {
		f := t.Field(m.Field)
		if f == nil {
			hint := diag.DidYouMean(m.Field, fieldNames(t.Fields))
			if hint == "" {
				hint = "; it has: " + strings.Join(fieldNames(t.Fields), ", ")
				if len(t.Fields) == 0 {
					hint = "; it has none"
				}
			}
			return nil, fmt.Errorf("table %s has no match field %q%s", t.Name, m.Field, hint)
		}
		i := slices.Index(t.Fields, f)
		if given[i] {
			return nil, fmt.Errorf("table %s: field %s is given twice", t.Name, f.Name)
		}
		given[i] = true
		var err error
		if out[i], err = f.match(m); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return slices.DeleteFunc(out, func(m *p4v1.FieldMatch) bool { return m == nil }), nil
}

// match returns the field match for a condition, nil if it matches anything.
func (f *Field) match(m Match) (*p4v1.FieldMatch, error) {
	if m.kind == opText {
		var err error
		if m, err = f.parseCondition(m.text); err != nil || m.kind == opText {
			return nil, err
		}
	}
	a, err := f.value(m.a)
	if err != nil {
		return nil, err
	}
	fm := &p4v1.FieldMatch{FieldId: f.ID}
	wrong := func(what string) error {
		return fmt.Errorf("field %s is matched %v, which has no %s", f.Name, f.Match, what)
	}
	switch {
	case m.kind == opEq && f.Match == Exact:
		fm.FieldMatchType = &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: a}}
	case m.kind == opEq && f.Match == Optional:
		fm.FieldMatchType = &p4v1.FieldMatch_Optional_{Optional: &p4v1.FieldMatch_Optional{Value: a}}
	case f.Match == LPM && (m.kind == opEq || m.kind == opPrefix):
		n := f.Bits
		if m.kind == opPrefix {
			n = m.plen
		}
		if n < 0 || n > f.Bits {
			return nil, fmt.Errorf("field %s has %d bits, so a prefix of %d is too long", f.Name, f.Bits, n)
		}
		if n == 0 {
			return nil, nil
		}
		fm.FieldMatchType = &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: masked(a, prefixMask(f.Bits, n)), PrefixLen: int32(n)}}
	case f.Match == Ternary && m.kind != opBetween:
		var mask []byte
		switch m.kind {
		case opEq:
			mask = prefixMask(f.Bits, f.Bits)
		case opPrefix:
			if m.plen < 0 || m.plen > f.Bits {
				return nil, fmt.Errorf("field %s has %d bits, so a prefix of %d is too long", f.Name, f.Bits, m.plen)
			}
			mask = prefixMask(f.Bits, m.plen)
		case opMask:
			if mask, err = f.value(m.b); err != nil {
				return nil, err
			}
		}
		if isZero(mask) {
			return nil, nil
		}
		fm.FieldMatchType = &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: masked(a, mask), Mask: Canonical(mask)}}
	case f.Match == Range && (m.kind == opEq || m.kind == opBetween):
		b := a
		if m.kind == opBetween {
			if b, err = f.value(m.b); err != nil {
				return nil, err
			}
		}
		if compareNumbers(a, b) > 0 {
			return nil, fmt.Errorf("field %s: the range %s..%s is empty", f.Name, f.Print(a), f.Print(b))
		}
		if isZero(a) && compareNumbers(b, prefixMask(f.Bits, f.Bits)) == 0 {
			return nil, nil
		}
		fm.FieldMatchType = &p4v1.FieldMatch_Range_{Range: &p4v1.FieldMatch_Range{Low: a, High: b}}
	case m.kind == opPrefix:
		return nil, wrong("prefixes")
	case m.kind == opMask:
		return nil, wrong("masks")
	default:
		return nil, wrong("ranges")
	}
	return fm, nil
}

// compareNumbers orders big-endian byte strings of any length by value.
func compareNumbers(a, b []byte) int {
	a, b = Canonical(a), Canonical(b)
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(string(a), string(b))
}

// value converts a Go value to a byte string that fits the field.
func (f *Field) value(v any) ([]byte, error) {
	var b []byte
	switch v := v.(type) {
	case string:
		return f.Parse(v)
	case []byte:
		if f.Format == Text {
			return v, nil
		}
		if len(v) == 0 {
			return nil, fmt.Errorf("%s: value is empty", f.Name)
		}
		b = v
	case int:
		if v < 0 {
			return nil, fmt.Errorf("%s: %d is below zero", f.Name, v)
		}
		b = Uint(uint64(v))
	case uint8:
		b = []byte{v}
	case uint16:
		b = Uint(uint64(v))
	case uint32:
		b = Uint(uint64(v))
	case uint64:
		b = Uint(v)
	case uint:
		b = Uint(uint64(v))
	case bool:
		b = []byte{0}
		if v {
			b[0] = 1
		}
	case netip.Addr:
		b = v.AsSlice()
	case packet.MAC:
		b = v[:]
	default:
		panic(fmt.Sprintf("BUG: no byte string for a %T", v))
	}
	if n := bitLen(b); n > f.Bits {
		return nil, fmt.Errorf("%s: value needs %d bits, the field has %d", f.Name, n, f.Bits)
	}
	return Canonical(b), nil
}

// check verifies P4Runtime's rules for a complete entry.
func (t *Table) check(e *p4v1.TableEntry) error {
	if t.Const && !e.IsDefaultAction {
		return fmt.Errorf("table %s is constant: the program fixes its entries", t.Name)
	}
	if e.IsDefaultAction {
		switch {
		case len(e.Match) > 0 || e.Priority != 0:
			return fmt.Errorf("table %s: the default entry has neither match nor priority", t.Name)
		case t.ConstDefault:
			return fmt.Errorf("table %s: the program fixes its default action", t.Name)
		}
		return nil
	}
	if need := t.NeedsPriority(); need && e.Priority <= 0 {
		return fmt.Errorf("table %s has ternary, range or optional fields: its entries need a priority above 0, as in prio 10", t.Name)
	} else if !need && e.Priority != 0 {
		return fmt.Errorf("table %s has only exact and LPM fields: its entries have no priority", t.Name)
	}
	for _, f := range t.Fields {
		if f.Match == Exact && fieldMatch(e, f.ID) == nil {
			return fmt.Errorf("table %s: exact field %s is missing", t.Name, f.Name)
		}
	}
	if a := e.GetAction().GetAction(); a != nil && t.defaultOnly[a.ActionId] {
		return fmt.Errorf("table %s: its action may only be the default one", t.Name)
	}
	return nil
}

func fieldMatch(e *p4v1.TableEntry, id uint32) *p4v1.FieldMatch {
	for _, m := range e.Match {
		if m.FieldId == id {
			return m
		}
	}
	return nil
}
