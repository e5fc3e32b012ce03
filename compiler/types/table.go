// SPDX-License-Identifier: Apache-2.0

package types

import (
	"fmt"
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

func (c *Checker) tableDecl(d *syntax.TableDecl) {
	if c.ctx.kind != inControl {
		c.errorf(d.Pos(), CodePlacement, "a table can only be declared in a control")
		return
	}
	t := &Table{Name: d.Name.Name, Decl: d}
	props := map[string]*syntax.Property{}
	for _, p := range d.Props {
		c.annotations(p.Annotations)
		if props[p.Name.Name] != nil {
			c.errorf(p.Pos(), CodeDuplicate, "table %s has property %s already", d.Name.Name, p.Name.Name)
			continue
		}
		props[p.Name.Name] = p
	}
	var keys []Type
	var match []string
	if k := props["key"]; k != nil {
		keys, match = c.keys(k)
	}
	if a := props["actions"]; a != nil {
		if a.Actions == nil {
			c.errorf(a.Pos(), CodeTable, "the actions of a table are a list")
		}
		c.actionList(t, a)
	} else {
		c.errorf(d.Name.Pos(), CodeTable, "table %s has no actions", d.Name.Name)
	}
	if def := props["default_action"]; def != nil {
		if a := props["actions"]; a != nil && a.Pos() > def.Pos() {
			c.errorf(d.Name.Pos(), CodeTable, "the default_action of table %s must come after its actions", d.Name.Name)
		}
		c.defaultAction(t, def)
	} else if _, ok := c.top.names["NoAction"].(*ActionObj); !ok {
		c.errorf(d.Name.Pos(), CodeTable, "table %s has no default_action, and NoAction, which it would be, is not declared; include core.p4", d.Name.Name)
	} else {
		c.top.names["NoAction"].(*ActionObj).used = true
	}
	for _, p := range d.Props {
		switch p.Name.Name {
		case "key", "actions", "default_action":
		case "entries":
			if k := props["key"]; len(p.Entries) == 0 {
				continue
			} else if k == nil || len(keys) == 0 {
				c.errorf(d.Name.Pos(), CodeEntry, "table %s has no key and cannot have entries", t.Name)
			} else if k.Pos() > p.Pos() {
				c.errorf(p.Pos(), CodeTable, "the entries of table %s must come after its key", t.Name)
			} else {
				c.entries(t, p, k, keys, match)
			}
		case "size":
			var x operand
			c.expr(&x, p.Value, Int)
			if x.mode != invalid && !isNumeric(underlyingBits(x.typ)) {
				c.errorf(p.Value.Pos(), CodeTable, "the size of a table must be a number, not %s", x.describe())
			} else if x.mode != invalid && !x.isConst() {
				c.errorf(p.Value.Pos(), CodeNotConstant, "the size of a table must be known at compile time")
			}
		default:
			var x operand
			c.expr(&x, p.Value, nil)
		}
	}
	o := &TableObj{object: obj(d.Name), Table: t}
	c.info.Defs[d] = o
	c.declare(o)
}

// keys checks the key property and returns types and match kinds.
func (c *Checker) keys(p *syntax.Property) ([]Type, []string) {
	if p.Keys == nil {
		c.errorf(p.Pos(), CodeTable, "the key of a table is a list")
	}
	var types []Type
	var match []string
	for _, k := range p.Keys {
		c.annotations(k.Annotations)
		var x operand
		c.expr(&x, k.X, nil)
		if x.mode != invalid {
			if x.typ == Int {
				c.errorf(k.X.Pos(), CodeTable, "key %s has no width; give it one", syntax.Text(k.X))
				x.invalidate()
			} else if !keyable(x.typ) {
				c.errorf(k.X.Pos(), CodeTable, "a key cannot be %s", x.describe())
				x.invalidate()
			}
		}
		if _, ok := c.scope.lookup(k.Match.Name).(*MatchKindObj); !ok {
			c.errorf(k.Match.Pos(), CodeUndeclared, "match kind %s is not declared%s", k.Match.Name, didYouMean(k.Match.Name, c.info.MatchKinds))
		}
		types = append(types, x.typ)
		match = append(match, k.Match.Name)
	}
	return types, match
}

// keyable reports whether a table key can have type t.
func keyable(t Type) bool {
	switch t := t.(type) {
	case *Basic:
		return t == Bool || t == Error || t == Invalid
	case *Bits, *Varbit, *Enum:
		return true
	case *NewType:
		return keyable(t.Base)
	}
	return false
}

// actionList checks the actions property.
func (c *Checker) actionList(t *Table, p *syntax.Property) {
	for _, ref := range p.Actions {
		c.annotations(ref.Annotations)
		a, args, ok := c.actionRef(ref)
		if !ok {
			continue
		}
		for _, old := range t.Actions {
			if old.Action == a {
				c.errorf(ref.Pos(), CodeDuplicate, "action %s is in the list already", a.Name)
			}
		}
		r := &ActionRef{Action: a, Ref: ref}
		t.Actions = append(t.Actions, r)
		directed := 0
		for _, p := range a.Params {
			if p.Dir != syntax.NoDirection {
				directed++
			}
		}
		list, ok := c.orderArgs(args, a.Params[:min(len(a.Params), max(directed, len(args)))], "action "+a.Name, ref.Pos())
		if !ok {
			c.skipArgs(args)
			continue
		}
		for i, arg := range list {
			p := a.Params[i]
			if p.Dir == syntax.NoDirection {
				if arg != nil {
					c.errorf(arg.Pos(), CodeActionRef, "parameter %s of action %s comes from table entries and is not given in the list", p.Name, a.Name)
				}
				continue
			}
			c.argument(arg, p, p.Type, ofAction)
		}
		r.Args = list[:min(len(list), directed)]
	}
}

// actionRef resolves the name of an action.
func (c *Checker) actionRef(ref *syntax.ActionRef) (*Action, []*syntax.Argument, bool) {
	var args []*syntax.Argument
	x := ref.X
	if call, ok := x.(*syntax.CallExpr); ok {
		args = call.Args
		x = call.Fun
	}
	n, ok := x.(*syntax.NameExpr)
	if !ok {
		c.errorf(ref.Pos(), CodeActionRef, "%s is not the name of an action", syntax.Text(x))
		return nil, args, false
	}
	o := c.resolve(n)
	if o == nil {
		c.skipArgs(args)
		return nil, args, false
	}
	a, ok := o.(*ActionObj)
	if !ok {
		c.errorf(n.Pos(), CodeActionRef, "%s is not an action", n.Name)
		c.skipArgs(args)
		return nil, args, false
	}
	c.record(n, a.Action, nil)
	return a.Action, args, true
}

// defaultAction checks the default_action property.
func (c *Checker) defaultAction(t *Table, p *syntax.Property) {
	ref := &syntax.ActionRef{X: p.Value}
	ref.SetSpan(syntax.Span(p.Value))
	if a := c.boundAction(t, ref, "the default action"); a != nil && syntax.Annot(a.Ref.Annotations, "tableonly") != nil {
		c.errorf(ref.Pos(), CodeActionRef, "action %s is @tableonly and cannot be the default action", a.Action.Name)
	}
}

// boundAction checks an action with all arguments: those that repeat the action
// list, and those that otherwise the control plane gives.
func (c *Checker) boundAction(t *Table, ref *syntax.ActionRef, what string) *ActionRef {
	switch x := ref.X.(type) {
	case *syntax.NameExpr:
	case *syntax.CallExpr:
		if _, ok := x.Fun.(*syntax.NameExpr); !ok {
			c.errorf(ref.Pos(), CodeActionRef, "%s must be an action, which %s is not", what, syntax.Text(x.Fun))
			c.skipArgs(x.Args)
			return nil
		}
	default:
		c.errorf(ref.Pos(), CodeActionRef, "%s must be an action, which %s is not", what, syntax.Text(ref.X))
		return nil
	}
	a, args, ok := c.actionRef(ref)
	if !ok {
		return nil
	}
	var in *ActionRef
	for _, r := range t.Actions {
		if r.Action == a {
			in = r
		}
	}
	if in == nil {
		c.errorf(ref.Pos(), CodeActionRef, "%s %s is not in the list of actions of table %s", what, a.Name, t.Name)
		c.skipArgs(args)
		return nil
	}
	list, ok := c.orderArgs(args, a.Params, "action "+a.Name, ref.Pos())
	if !ok {
		c.skipArgs(args)
		return nil
	}
	for i, arg := range list {
		q := a.Params[i]
		if arg == nil {
			continue
		}
		if !c.argument(arg, q, q.Type, ofAction) {
			continue
		}
		if q.Dir != syntax.NoDirection {
			if i < len(in.Args) && in.Args[i] != nil && syntax.Text(in.Args[i]) != syntax.Text(arg) {
				c.errorf(arg.Pos(), CodeActionRef, "argument %s differs from %s in the list of actions", syntax.Text(arg), syntax.Text(in.Args[i]))
			}
			continue
		}
		if c.info.values[arg.ID()] == nil && !c.isConstant(arg) {
			c.errorf(arg.Pos(), CodeNotConstant, "parameter %s must be known at compile time, %s is not", q.Name, syntax.Text(arg))
		}
	}
	return in
}

// isConstant reports whether an expression that was checked is a constant
// whose value depends on constructor parameters.
func (c *Checker) isConstant(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.NameExpr:
		switch o := c.info.uses[e.ID()].(type) {
		case *Const:
			return true
		case *ParamObj:
			return o.Param.Ctor
		}
		return false
	case *syntax.UnaryExpr:
		return c.isConstant(e.X)
	case *syntax.CastExpr:
		return c.isConstant(e.X)
	case *syntax.BinaryExpr:
		return c.isConstant(e.X) && c.isConstant(e.Y)
	case *syntax.MemberExpr:
		return c.isConstant(e.X)
	}
	return c.info.values[e.ID()] != nil
}

// entries checks the entries property.
func (c *Checker) entries(t *Table, p, key *syntax.Property, keys []Type, match []string) {
	if p.Entries == nil {
		c.errorf(p.Pos(), CodeEntry, "the entries of a table are a list")
		return
	}
	ordered := false // by priority
	for _, m := range match {
		if m != "exact" && m != "lpm" {
			ordered = true
		}
	}
	seen := map[string]*syntax.Entry{}
	for _, e := range p.Entries {
		c.annotations(e.Annotations)
		c.keyset(e.Keys, keys, match)
		if text, ok := c.keyText(e.Keys, keys); ok && !ordered {
			if old := seen[text]; old != nil {
				c.errorf(e.Keys.Pos(), CodeDuplicate, "the entry at %v has the same key %s", c.rep.Set.Position(old.Pos()), syntax.Text(e.Keys))
			}
			seen[text] = e
		}
		if e.Const && p.Const {
			c.warnf(e.Pos(), CodeEntry, "the entry is const already because the list is")
		}
		if e.Priority != nil {
			var x operand
			c.constExpr(&x, e.Priority, Int, "a priority")
			switch v, ok := x.val.(IntValue); {
			case !ok:
			case p.Const:
				c.errorf(e.Priority.Pos(), CodeEntry, "the entries are const and have their priorities from their order")
			case !ordered:
				c.errorf(key.Pos(), CodeEntry, "the keys of table %s are exact or lpm, but entries have priorities, which such keys do not use", t.Name)
			case v.Sign() < 0:
				c.errorf(e.Priority.Pos(), CodeEntry, "a priority cannot be negative")
			}
		}
		if a := c.boundAction(t, e.Action, "the action of the entry"); a != nil && syntax.Annot(a.Ref.Annotations, "defaultonly") != nil {
			c.errorf(e.Action.Pos(), CodeEntry, "action %s is @defaultonly and cannot be that of an entry", a.Action.Name)
		}
	}
}

// keyText returns a text that is equal for key sets with the same values of exact
// and lpm keys. It returns false if the values are not known.
func (c *Checker) keyText(e syntax.Expr, keys []Type) (string, bool) {
	list := []syntax.Expr{e}
	switch e := e.(type) {
	case *syntax.TupleExpr:
		list = e.Elems
	case *syntax.ListExpr:
		list = e.Elems
	}
	if len(list) != len(keys) {
		return "", false
	}
	text := ""
	for i, k := range list {
		w, _ := Width(keys[i])
		value, mask := c.info.ValueOf(k), Mask(w)
		switch v := value.(type) {
		case nil:
			if _, ok := k.(*syntax.DefaultExpr); !ok {
				return "", false
			}
			value, mask = IntValue{new(big.Int)}, new(big.Int)
		case ListValue: // a value and its mask
			n, ok := v[0].(IntValue)
			m, isMask := v[1].(IntValue)
			if !ok || !isMask {
				return "", false
			}
			mask = new(big.Int).And(m.Int, mask)
			value = IntValue{new(big.Int).And(n.Int, mask)}
		}
		text += fmt.Sprintf("%v &&& %v,", value, mask)
	}
	return text, true
}
