// SPDX-License-Identifier: Apache-2.0

package types

import (
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/diag"
)

func didYouMean(name string, candidates []string) string { return diag.DidYouMean(name, candidates) }

// selectExpr checks select (keys) { … }.
func (c *Checker) selectExpr(e *syntax.SelectExpr) {
	var keys []Type
	for _, k := range e.Keys {
		var x operand
		c.expr(&x, k, nil)
		t := x.typ
		if l, ok := k.(*syntax.ListExpr); ok && len(e.Keys) == 1 {
			if tup, ok := t.(*Tuple); ok && len(l.Elems) > 0 {
				keys = append(keys, tup.Elems...)
				continue
			}
		}
		switch {
		case x.mode == invalid:
		case t == Int:
			c.errorf(k.Pos(), CodeSelect, "%s has no width to select on; give it one, as in 8w%s", syntax.Text(k), syntax.Text(k))
			t = Invalid
		default:
			if !selectable(t) {
				c.errorf(k.Pos(), CodeSelect, "select cannot use %s", x.describe())
				t = Invalid
			}
		}
		keys = append(keys, t)
	}
	covered := false
	for _, sc := range e.Cases {
		if covered {
			c.warnf(sc.Pos(), CodeUnreachable, "the case is never reached: one before it takes everything")
			covered = false
		}
		c.ctx.inCase = true
		c.keyset(sc.Keys, keys, nil)
		c.ctx.inCase = false
		if isAll(sc.Keys) {
			covered = true
		}
		c.target(sc.Next, sc.Next.Pos())
	}
}

// isAll reports whether a key set matches everything.
func isAll(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.DefaultExpr:
		return true
	case *syntax.TupleExpr:
		for _, el := range e.Elems {
			if !isAll(el) {
				return false
			}
		}
		return true
	}
	return false
}

// selectable reports whether select can use a value of type t.
func selectable(t Type) bool {
	switch t := t.(type) {
	case *Basic:
		return t == Bool || t == Error || t == Invalid
	case *Bits, *Enum:
		return true
	case *NewType:
		return selectable(t.Base)
	case *Tuple:
		for _, e := range t.Elems {
			if !selectable(e) {
				return false
			}
		}
		return true
	case *TypeParam:
		return true
	}
	return false
}

// keyset checks a key set against the types of the keys. match has the match
// kinds of a table's keys; it is nil in select.
func (c *Checker) keyset(e syntax.Expr, keys []Type, match []string) {
	elems := []syntax.Expr{e}
	if t, ok := e.(*syntax.TupleExpr); ok {
		elems = t.Elems
		c.record(e, &Tuple{keys}, nil)
	} else if _, ok := e.(*syntax.DefaultExpr); ok {
		c.record(e, Dontcare, nil)
		if match == nil || len(keys) == 1 {
			return
		}
	} else if l, ok := e.(*syntax.ListExpr); ok && (len(keys) != 1 || match != nil && len(l.Elems) == 1) {
		elems = l.Elems
		c.record(e, &Tuple{keys}, nil)
	} else if len(keys) != 1 && match == nil {
		// a value set or a struct may match all keys
		var x operand
		c.expr(&x, e, nil)
		if x.mode == invalid {
			return
		}
		if s, ok := x.typ.(*Set); ok && c.setFits(s, keys) {
			return
		}
		if tup, ok := x.typ.(*Tuple); ok && len(tup.Elems) == len(keys) {
			return
		}
		c.errorf(e.Pos(), CodeSelect, "the key set has one part, select has %d", len(keys))
		return
	}
	if len(elems) != len(keys) {
		c.errorf(e.Pos(), CodeSelect, "the key set has %d parts for %d keys", len(elems), len(keys))
		return
	}
	for i, el := range elems {
		kind, key := "", keys[i]
		if match != nil {
			kind = match[i]
		} else if len(keys) == 1 {
			key = labelType(key)
		}
		c.keyPart(el, key, kind, match != nil)
	}
}

// labelType returns the type that the labels of a select with one key have. As
// in p4c, those of a serializable enum can be values of the enum or of its
// underlying type.
func labelType(key Type) Type { return underlyingBits(key) }

// setFits reports whether a value set can be compared with all keys.
func (c *Checker) setFits(s *Set, keys []Type) bool {
	if len(keys) == 1 && fitsKey(s.Elem, labelType(keys[0])) {
		return true
	}
	return slices.EqualFunc(flatten(nil, s.Elem), keys, fitsKey)
}

// fitsKey reports whether the elements of a set can be compared with a key of
// the given type: they have this type, or it is their underlying type.
func fitsKey(elem, key Type) bool {
	return Identical(elem, key) || Identical(underlyingBits(elem), key)
}

// flatten appends the types of the fields of t, recursively.
func flatten(list []Type, t Type) []Type {
	switch t := t.(type) {
	case *Tuple:
		for _, e := range t.Elems {
			list = flatten(list, e)
		}
		return list
	case *Struct:
		for _, f := range t.Fields {
			list = flatten(list, f.Type)
		}
		return list
	}
	return append(list, t)
}

// keyPart checks one part of a key set.
func (c *Checker) keyPart(e syntax.Expr, key Type, match string, entry bool) {
	if d, ok := e.(*syntax.DefaultExpr); ok {
		c.record(d, Dontcare, nil)
		if match == "exact" {
			c.errorf(e.Pos(), CodeEntry, "an exact key needs a value, not %s", syntax.Text(e))
		}
		return
	}
	var x operand
	if _, ok := e.(*syntax.BinaryExpr); ok {
		c.expr(&x, e, &Set{key})
	} else {
		c.expr(&x, e, key)
	}
	if x.mode == invalid || key == Invalid {
		return
	}
	if s, ok := x.typ.(*Set); ok {
		c.setPart(e, &x, s, key, match, entry)
		return
	}
	if entry && match == "range" && !x.isConst() || entry && !x.isConst() {
		c.errorf(e.Pos(), CodeNotConstant, "a key of an entry must be known at compile time, %s is not", syntax.Text(e))
		return
	}
	if tup, ok := key.(*Tuple); ok && len(tup.Elems) == 1 {
		key = tup.Elems[0]
	}
	c.assign(&x, key, "the key")
}

// setPart checks a range, mask or value set.
func (c *Checker) setPart(e syntax.Expr, x *operand, s *Set, key Type, match string, entry bool) {
	b, binary := e.(*syntax.BinaryExpr)
	if !binary { // a value set
		if entry {
			c.errorf(e.Pos(), CodeEntry, "an entry cannot use value set %s", syntax.Text(e))
		} else if !c.setFits(s, []Type{key}) {
			c.errorf(e.Pos(), CodeMismatch, "the value set has elements of type %s, the key has type %s", typeText(s.Elem), typeText(key))
		}
		return
	}
	if !x.isConst() {
		c.errorf(e.Pos(), CodeNotConstant, "a mask or range must be known at compile time, %s is not", syntax.Text(e))
		return
	}
	want := "ternary"
	if b.Op == syntax.Range {
		want = "range"
	}
	switch {
	case match == "exact", match == "optional", match != "" && match != want && !(match == "lpm" && want == "ternary"):
		c.errorf(e.Pos(), CodeEntry, "a key of match kind %s cannot be a %s", match, map[string]string{"ternary": "mask", "range": "range"}[want])
		return
	}
	kb := base(key)
	elem := s.Elem
	if elem == Int {
		bits, ok := kb.(*Bits)
		if !ok {
			c.errorf(e.Pos(), CodeMismatch, "%s does not match a key of type %s", syntax.Text(e), typeText(key))
			return
		}
		if v, ok := x.val.(ListValue); ok {
			for i, n := range v {
				iv := n.(IntValue)
				if !Fits(iv.Int, bits) {
					c.warnf(e.Pos(), CodeOverflow, "%v does not fit %v", iv.Int, bits)
				}
				v[i] = IntValue{Wrap(iv.Int, bits)}
			}
		}
		c.record(e, &Set{key}, x.val)
	} else if !fitsKey(elem, key) {
		c.errorf(e.Pos(), CodeMismatch, "%s is a set of %s, the key has type %s", syntax.Text(e), typeText(elem), typeText(key))
		return
	}
	if match == "lpm" {
		if v, ok := x.val.(ListValue); ok {
			if w, ok := Width(key); ok && !isPrefix(v[1].(IntValue).Int, w) {
				c.errorf(e.Pos(), CodeEntry, "the mask of an lpm key must be ones followed by zeros")
			}
		}
	}
}

// isPrefix reports whether mask has, in width bits, ones before zeros only.
func isPrefix(mask *big.Int, width int) bool {
	inv := new(big.Int).AndNot(Mask(width), mask)
	return new(big.Int).And(inv, new(big.Int).Add(inv, one)).Sign() == 0
}
