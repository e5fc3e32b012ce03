// SPDX-License-Identifier: Apache-2.0

package evaluator

import (
	"math/big"
	"math/bits"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// row is an entry of a table.
type row struct {
	keys     syntax.Expr // of an entry in the program
	set      []Match     // of the control plane
	priority int         // larger wins
	action   syntax.Expr
	data     []*big.Int // of the control plane: the directionless arguments
}

func (t *table) property(name string) *syntax.Property {
	for _, p := range t.decl.Props {
		if p.Name.Name == name {
			return p
		}
	}
	return nil
}

// apply executes the match-action unit (14.2.3).
func (t *table) apply() Value {
	f := t.home
	var keys []Value
	var kinds []string
	if p := t.property("key"); p != nil {
		for _, k := range p.Keys { // in order, each into a temporary of its own
			keys = append(keys, f.eval(k.X))
			kinds = append(kinds, k.Match.Name)
		}
	}
	for _, k := range keys {
		if b, ok := k.(Bool); ok {
			truth(b)
		} else {
			known(k)
		}
	}
	if r := t.lookup(keys, kinds); r != nil {
		return Applied{true, t.execute(r.action, r.data)}
	}
	if p := t.property("default_action"); p != nil {
		return Applied{false, t.execute(p.Value, nil)}
	}
	return Applied{false, "NoAction"} // (14.2.1.3)
}

// execute runs an action. The arguments that the program binds are evaluated
// now (14.2.1.2).
func (t *table) execute(x syntax.Expr, data []*big.Int) string {
	f := t.home
	var args []argument
	name, ok := x.(*syntax.NameExpr)
	if c, isCall := x.(*syntax.CallExpr); isCall {
		name, ok = c.Fun.(*syntax.NameExpr)
		args = arguments(c.Args)
	}
	if !ok {
		panic(fault("action %s", syntax.Text(x)))
	}
	for _, d := range data {
		args = append(args, argument{value: Int{d}})
	}
	f.callFunction(f.lookup(name).(*callable), nil, args)
	return name.Name
}

// lookup returns the entry that wins, or nil.
func (t *table) lookup(keys []Value, kinds []string) *row {
	byPriority, lpm := false, -1
	for i, k := range kinds {
		switch k {
		case "ternary", "range", "optional":
			byPriority = true
		case "lpm":
			lpm = i
		}
	}
	var best *row
	bestRank := 0
	for _, r := range t.rows() {
		if !t.matches(&r, keys) {
			continue
		}
		rank := 0
		switch { // (14.2.1.4.1)
		case byPriority:
			rank = r.priority
		case lpm >= 0:
			rank = t.prefix(&r, lpm, keys[lpm])
		}
		switch {
		case best == nil || rank > bestRank:
			best, bestRank = &r, rank
		case rank == bestRank:
			panic(unspecified("two entries match equally"))
		}
	}
	return best
}

func (t *table) matches(r *row, keys []Value) bool {
	if r.keys != nil {
		return t.home.contains(r.keys, keys)
	}
	for i, m := range r.set {
		if !m.contains(numberOf(keys[i])) {
			return false
		}
	}
	return true
}

func numberOf(v Value) *big.Int {
	switch v := v.(type) {
	case Bool:
		if v.V {
			return big.NewInt(1)
		}
		return new(big.Int)
	case Bits:
		return pattern(v)
	case Enum:
		return pattern(v.V)
	}
	panic(fault("a %T is a key", v))
}

// prefix returns the length of the prefix of an entry's key.
func (t *table) prefix(r *row, i int, key Value) int {
	if r.keys == nil {
		return ones(r.set[i].Mask)
	}
	x := r.keys
	if tuple, ok := x.(*syntax.TupleExpr); ok {
		x = tuple.Elems[i]
	}
	switch x := x.(type) {
	case *syntax.DefaultExpr:
		return 0
	case *syntax.BinaryExpr:
		if x.Op == syntax.Mask {
			return ones(pattern(numberLike(t.home.eval(x.Y), key)))
		}
	}
	return numberLike(key, key).Type.Width
}

func ones(x *big.Int) int {
	n := 0
	for _, w := range x.Bits() {
		n += bits.OnesCount(uint(w))
	}
	return n
}

// rows returns the entries with their priorities, as the pseudocode of
// 14.2.1.4.1 determines them.
func (t *table) rows() []row {
	var list []row
	sign := 1
	if p := t.property("largest_priority_wins"); p != nil && !truth(t.home.eval(p.Value)) {
		sign = -1
	}
	delta := 1
	if p := t.property("priority_delta"); p != nil {
		delta = int(known(t.home.eval(p.Value)).Int64())
	}
	if p := t.property("entries"); p != nil {
		n := len(p.Entries)
		given := false
		for _, e := range p.Entries {
			given = given || e.Priority != nil
		}
		at := 0
		for j, e := range p.Entries {
			switch {
			case e.Priority != nil:
				at = int(known(t.home.eval(e.Priority)).Int64())
			case given:
				at -= sign * delta
			case sign > 0:
				at = 1 + (n-1-j)*delta
			default:
				at = 1 + j*delta
			}
			list = append(list, row{keys: e.Keys, priority: sign * at, action: e.Action.X})
		}
	}
	for _, e := range t.home.run.program.added[t.path] {
		list = append(list, row{set: e.Key, priority: e.Priority, action: t.reference(e.Action), data: e.Args})
	}
	return list
}

// reference returns the element of a table's list of actions with a name.
func (t *table) reference(name string) syntax.Expr {
	if p := t.property("actions"); p != nil {
		for _, a := range p.Actions {
			x := a.X
			if c, ok := x.(*syntax.CallExpr); ok {
				x = c.Fun
			}
			if n, ok := x.(*syntax.NameExpr); ok && n.Name == name {
				return a.X
			}
		}
	}
	panic(fault("table %s has no action %s", t.path, name))
}
