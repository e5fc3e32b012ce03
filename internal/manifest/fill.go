// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pauseless/pauseless/internal/vtime"
)

// A Fill is the formula of a table's entries, written like an entry of P4:
//
//	(last, path, _) : take(path) for last in 1 .. paths - 1, path in 0 .. last
//	(load_weight(rate), low .. low + 9) : level_is(n) for rate in rates, n in 1 .. 7, low = 10 * n
//
// A key is a value, VALUE &&& MASK, LOW .. HIGH or _. Keys are in the table's
// order, arguments in the action's. After for come names, each with the values
// that it takes for every combination of the previous ones. An entry with an
// empty range is omitted. In addition to the names of every Expr there are
//
//	paths   how many paths the switch has to a leaf, at most
//	rates   those of its links
type Fill string

// Filled is an entry made by a Fill. Among entries that match the same packet,
// the one with the largest Priority has precedence.
type Filled struct {
	Keys     []FilledKey
	Action   string
	Args     []uint64
	Priority int
}

// FilledKey is an entry's condition on a field.
type FilledKey struct {
	Kind KeyKind
	A, B uint64 // the value and its mask, or the lowest and highest value
}

// KeyKind is the kind of a match.
type KeyKind uint8

// Kinds of keys.
const (
	AnyValue KeyKind = iota
	OneValue
	Masked
	Between
)

// LinkRates are the usual rates of links. Programs have room for entries for
// all of them.
var LinkRates = []vtime.Rate{vtime.Gbps, 10 * vtime.Gbps, 25 * vtime.Gbps, 40 * vtime.Gbps, 50 * vtime.Gbps, 100 * vtime.Gbps}

var (
	fillForm = regexp.MustCompile(`^\((.*)\) : (\w+)\((.*?)\)(?: for (.*))?$`)
	fillName = regexp.MustCompile(`^(\w+) (in|=) (.+)$`)
)

// fill is a parsed Fill.
type fill struct {
	keys   []fillKey
	action string
	args   []Expr
	names  []fillVariable
}

type fillKey struct {
	kind KeyKind
	a, b Expr
}

// fillVariable has the values from low to high, or the rates if low is "".
type fillVariable struct {
	name      string
	low, high Expr
}

func (f Fill) parse() (*fill, error) {
	m := fillForm.FindStringSubmatch(string(f))
	if m == nil {
		return nil, fmt.Errorf("%q is not a formula of entries: expected (KEYS) : ACTION(ARGUMENTS) for NAME in LOW .. HIGH, …", string(f))
	}
	p := &fill{action: m[2]}
	for _, text := range commas(m[1]) {
		k := fillKey{kind: OneValue, a: Expr(text)}
		if value, mask, ok := strings.Cut(text, " &&& "); ok {
			k = fillKey{Masked, Expr(value), Expr(mask)}
		} else if low, high, ok := strings.Cut(text, " .. "); ok {
			k = fillKey{Between, Expr(low), Expr(high)}
		} else if text == "_" {
			k = fillKey{}
		}
		p.keys = append(p.keys, k)
	}
	for _, text := range commas(m[3]) {
		p.args = append(p.args, Expr(text))
	}
	for _, text := range commas(m[4]) {
		n := fillName.FindStringSubmatch(text)
		if n == nil {
			return nil, fmt.Errorf("%q: %q: expected NAME in LOW .. HIGH, or NAME = FORMULA", string(f), text)
		}
		v := fillVariable{n[1], Expr(n[3]), Expr(n[3])}
		if low, high, ok := strings.Cut(n[3], " .. "); n[2] == "in" && ok {
			v.low, v.high = Expr(low), Expr(high)
		} else if n[2] == "in" {
			if n[3] != "rates" {
				return nil, fmt.Errorf("%q: %s takes values of %q; write LOW .. HIGH or rates", string(f), n[1], n[3])
			}
			v.low = ""
		}
		p.names = append(p.names, v)
	}
	return p, nil
}

// commas splits a list at the commas outside of parentheses.
func commas(text string) []string {
	var list []string
	depth, from := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			list = append(list, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(text[from:]); rest != "" {
		list = append(list, rest)
	}
	return list
}

// Filled returns the entries of a table's formulas, for a switch with up to the
// given number of paths to a leaf, and links of these rates.
func (m *Manifest) Filled(t *Table, paths int, rates []vtime.Rate) ([]Filled, error) {
	var list []Filled
	for i, f := range t.Fill {
		e := filling{priority: len(t.Fill) - i, rates: rates, scope: m.scope(m.Network, map[string]float64{"paths": float64(paths)})}
		p, err := f.parse()
		if err == nil {
			e.fill = p
			err = e.each(p.names)
		}
		if err != nil {
			return nil, fmt.Errorf("table %s of %s: %w", t.Name, m.Program, err)
		}
		list = append(list, e.made...)
	}
	return list, nil
}

// filling makes the entries of one formula.
type filling struct {
	*fill
	*scope
	priority int
	rates    []vtime.Rate
	made     []Filled
}

// each iterates over the values of the names; the first name varies slowest.
func (e *filling) each(names []fillVariable) error {
	if len(names) == 0 {
		return e.entry()
	}
	v := names[0]
	if v.low == "" {
		for _, r := range e.rates {
			e.values[v.name] = float64(r)
			if err := e.each(names[1:]); err != nil {
				return err
			}
		}
		return nil
	}
	low, err := v.low.eval(e.scope)
	if err != nil {
		return err
	}
	high, err := v.high.eval(e.scope)
	if err != nil {
		return err
	}
	for x := low; x <= high; x++ {
		e.values[v.name] = x
		if err := e.each(names[1:]); err != nil {
			return err
		}
	}
	return nil
}

// entry makes one entry for the current values of the names.
func (e *filling) entry() error {
	out := Filled{Action: e.action, Priority: e.priority}
	for _, k := range e.keys {
		key := FilledKey{Kind: k.kind}
		var err error
		if k.kind == Between {
			empty, err := Expr(string(k.a) + " > " + string(k.b)).eval(e.scope)
			if err != nil {
				return err
			}
			if empty != 0 {
				return nil
			}
		}
		if k.kind != AnyValue {
			if key.A, err = e.whole(k.a); err != nil {
				return err
			}
		}
		if k.kind == Masked || k.kind == Between {
			if key.B, err = e.whole(k.b); err != nil {
				return err
			}
		}
		out.Keys = append(out.Keys, key)
	}
	for _, a := range e.args {
		v, err := e.whole(a)
		if err != nil {
			return err
		}
		out.Args = append(out.Args, v)
	}
	e.made = append(e.made, out)
	return nil
}

// whole returns the value of a formula that must be a whole number of at least
// zero.
func (e *filling) whole(f Expr) (uint64, error) {
	v, err := f.eval(e.scope)
	if err != nil {
		return 0, err
	}
	if v < 0 || v >= 1<<53 || v != float64(uint64(v)) {
		return 0, fmt.Errorf("%q is %v where a whole number is wanted, for %s", string(f), v, e.where())
	}
	return uint64(v), nil
}

// where returns the current values of the names as text.
func (e *filling) where() string {
	var list []string
	for _, v := range e.names {
		if x, ok := e.values[v.name]; ok {
			list = append(list, fmt.Sprintf("%s = %v", v.name, x))
		}
	}
	return strings.Join(list, ", ")
}
