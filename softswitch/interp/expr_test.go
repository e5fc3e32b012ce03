// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/internal/bmv2json"
)

// term is an expression of the file with its value, which is computed with
// integers of any size as in BMv2.
type term struct {
	json *bmv2json.Value
	eval func(h []*big.Int) *big.Int // a boolean is 0 or 1
	text string
}

// maker makes random expressions over the fields of h.
type maker struct {
	rng    *rand.Rand
	fields []bmv2json.HeaderField
}

func (m *maker) pick(list ...string) string { return list[m.rng.IntN(len(list))] }

func operation(op string, l, r *term) *bmv2json.Value {
	if l == nil {
		return bmv2json.Expr(op, nil, r.json)
	}
	return bmv2json.Expr(op, l.json, r.json)
}

func (m *maker) leaf() term {
	if m.rng.IntN(3) == 0 {
		v := new(big.Int).Rsh(m.bits(), uint(m.rng.IntN(200)))
		if m.rng.IntN(4) == 0 {
			v.Neg(v)
		}
		return term{number(v), func([]*big.Int) *big.Int { return v }, v.String()}
	}
	i := m.rng.IntN(len(m.fields))
	return term{bmv2json.Field("h", m.fields[i].Name), func(h []*big.Int) *big.Int { return h[i] }, m.fields[i].Name}
}

// bits returns 200 random bits, with long runs of one value.
func (m *maker) bits() *big.Int {
	v := new(big.Int)
	for v.BitLen() < 200 {
		n := uint(1 + m.rng.IntN(40))
		v.Lsh(v, n)
		switch m.rng.IntN(3) {
		case 0:
			v.Or(v, new(big.Int).Sub(pow2(int(n)), bigOne))
		case 1:
			v.Or(v, new(big.Int).SetUint64(m.rng.Uint64()>>(64-n)))
		default:
			v.Or(v, bigOne)
		}
	}
	return v
}

// data makes a number.
func (m *maker) data(depth int) term {
	if depth == 0 {
		return m.leaf()
	}
	switch op := m.pick("+", "-", "*", "&", "|", "^", "~", "<<", ">>", "two_comp_mod", "sat_cast", "usat_cast", "?", "b2d", "leaf", "neg"); op {
	case "leaf":
		return m.leaf()
	case "+", "-", "*", "&", "|", "^":
		l, r := m.data(depth-1), m.data(depth-1)
		return term{operation(op, &l, &r), func(h []*big.Int) *big.Int {
			a, b, v := l.eval(h), r.eval(h), new(big.Int)
			switch op {
			case "+":
				v.Add(a, b)
			case "-":
				v.Sub(a, b)
			case "*":
				v.Mul(a, b)
			case "&":
				v.And(a, b)
			case "|":
				v.Or(a, b)
			case "^":
				v.Xor(a, b)
			}
			return v
		}, fmt.Sprintf("(%s %s %s)", l.text, op, r.text)}
	case "neg":
		r := m.data(depth - 1)
		return term{operation("-", nil, &r), func(h []*big.Int) *big.Int { return new(big.Int).Neg(r.eval(h)) }, "-" + r.text}
	case "~":
		r := m.data(depth - 1)
		return term{operation("~", nil, &r), func(h []*big.Int) *big.Int { return new(big.Int).Not(r.eval(h)) }, "~" + r.text}
	case "<<", ">>":
		// The amount is a constant or a short field, as in P4.
		l := m.data(depth - 1)
		n := int64(m.rng.IntN(140))
		r := term{hexOf(n), func([]*big.Int) *big.Int { return big.NewInt(n) }, fmt.Sprint(n)}
		if m.rng.IntN(2) == 0 {
			r = term{bmv2json.Field("h", m.fields[0].Name), func(h []*big.Int) *big.Int { return h[0] }, m.fields[0].Name}
		}
		return term{operation(op, &l, &r), func(h []*big.Int) *big.Int {
			if op == "<<" {
				return new(big.Int).Lsh(l.eval(h), uint(r.eval(h).Uint64()))
			}
			return new(big.Int).Rsh(l.eval(h), uint(r.eval(h).Uint64()))
		}, fmt.Sprintf("(%s %s %s)", l.text, op, r.text)}
	case "two_comp_mod", "sat_cast", "usat_cast":
		l := m.data(depth - 1)
		w := 1 + m.rng.IntN(150)
		r := term{json: hexOf(int64(w))}
		return term{operation(op, &l, &r), func(h []*big.Int) *big.Int {
			v := l.eval(h)
			lo, hi := new(big.Int).Neg(pow2(w-1)), new(big.Int).Sub(pow2(w-1), bigOne)
			switch op {
			case "two_comp_mod":
				v = new(big.Int).And(v, new(big.Int).Sub(pow2(w), bigOne))
				if v.Bit(w-1) == 1 {
					v.Sub(v, pow2(w))
				}
				return v
			case "usat_cast":
				lo, hi = bigZero, new(big.Int).Sub(pow2(w), bigOne)
			}
			return clamp(v, lo, hi)
		}, fmt.Sprintf("%s(%s, %d)", op, l.text, w)}
	case "?":
		c, l, r := m.boolean(depth-1), m.data(depth-1), m.data(depth-1)
		v := bmv2json.Expr("?", l.json, r.json)
		v.Op.Cond = c.json
		return term{v, func(h []*big.Int) *big.Int {
			if c.eval(h).Sign() != 0 {
				return l.eval(h)
			}
			return r.eval(h)
		}, fmt.Sprintf("(%s ? %s : %s)", c.text, l.text, r.text)}
	default: // b2d
		r := m.boolean(depth - 1)
		return term{operation("b2d", nil, &r), r.eval, "b2d" + r.text}
	}
}

func truth(b bool) *big.Int {
	if b {
		return bigOne
	}
	return bigZero
}

// boolean makes a boolean.
func (m *maker) boolean(depth int) term {
	if depth == 0 {
		b := m.rng.IntN(2) == 0
		return term{&bmv2json.Value{Type: bmv2json.TypeBool, Bool: b}, func([]*big.Int) *big.Int { return truth(b) }, fmt.Sprint(b)}
	}
	switch op := m.pick("==", "!=", "<", "<=", ">", ">=", "<", ">", "and", "or", "not", "d2b", "valid", "b==", "b!="); op {
	case "==", "!=", "<", "<=", ">", ">=":
		l, r := m.data(depth-1), m.data(depth-1)
		return term{operation(op, &l, &r), func(h []*big.Int) *big.Int {
			c := l.eval(h).Cmp(r.eval(h))
			switch op {
			case "==":
				return truth(c == 0)
			case "!=":
				return truth(c != 0)
			case "<":
				return truth(c < 0)
			case "<=":
				return truth(c <= 0)
			case ">":
				return truth(c > 0)
			}
			return truth(c >= 0)
		}, fmt.Sprintf("(%s %s %s)", l.text, op, r.text)}
	case "and", "or", "b==", "b!=":
		l, r := m.boolean(depth-1), m.boolean(depth-1)
		name := op
		if op[0] == 'b' {
			name = op[1:]
		}
		return term{operation(name, &l, &r), func(h []*big.Int) *big.Int {
			a, b := l.eval(h).Sign() != 0, r.eval(h).Sign() != 0
			switch op {
			case "and":
				return truth(a && b)
			case "or":
				return truth(a || b)
			case "b==":
				return truth(a == b)
			}
			return truth(a != b)
		}, fmt.Sprintf("(%s %s %s)", l.text, name, r.text)}
	case "not":
		r := m.boolean(depth - 1)
		return term{operation(op, nil, &r), func(h []*big.Int) *big.Int { return truth(r.eval(h).Sign() == 0) }, "!" + r.text}
	case "d2b":
		r := m.data(depth - 1)
		return term{operation(op, nil, &r), func(h []*big.Int) *big.Int { return truth(r.eval(h).Sign() != 0) }, "d2b" + r.text}
	default: // valid
		v := bmv2json.Expr("valid", nil, bmv2json.Named(bmv2json.TypeHeader, "h"))
		return term{v, func([]*big.Int) *big.Int { return bigOne }, "h.isValid()"}
	}
}

// Every expression has the value that integers of any size give, truncated to
// the destination field. A condition branches according to this value.
func TestExpressionsComputeAsIntegersDo(t *testing.T) {
	rounds := 600
	if testing.Short() {
		rounds = 150
	}
	widths := []int{7, 1, 4, 8, 9, 16, 31, 32, 33, 48, 63, 64, 65, 100, 128, 129, 160}
	for seed := range rounds {
		m := &maker{rng: rand.New(rand.NewPCG(uint64(seed), 7))}
		m.fields = []bmv2json.HeaderField{{Name: "shift", Width: 7}}
		for i := range 5 {
			f := bmv2json.HeaderField{Name: fmt.Sprintf("f%d", i), Width: widths[m.rng.IntN(len(widths))], Signed: m.rng.IntN(2) == 0}
			m.fields = append(m.fields, f)
		}
		dst := bmv2json.HeaderField{Name: "dst", Width: widths[m.rng.IntN(len(widths))], Signed: m.rng.IntN(2) == 0, Saturating: m.rng.IntN(8) == 0}
		l := newLab(append(m.fields[:len(m.fields):len(m.fields)], dst, bmv2json.HeaderField{Name: "flag", Width: 8}, bmv2json.HeaderField{Name: "flag2", Width: 8})...)
		// The last three fields are written, so no expression reads them.
		e, c := m.data(1+m.rng.IntN(4)), m.boolean(1+m.rng.IntN(3))
		l.do("assign", bmv2json.Field("h", "dst"), bmv2json.Wrap(e.json))
		l.do("assign", bmv2json.Field("h", "flag"), bmv2json.Wrap(bmv2json.Expr("b2d", nil, c.json)))
		// The same condition in a jump and in a conditional of the pipeline.
		l.do("_jump_if_zero", bmv2json.Wrap(c.json), hexOf(4))
		l.do("assign", bmv2json.Field("h", "flag2"), hexOf(1))
		p := l.json.Pipelines[0]
		p.Conditionals = []*bmv2json.Conditional{{Name: "c", Expression: c.json, TrueNext: "yes", FalseNext: "no"}}
		p.ActionCalls[0].NextNode = "c"
		for i, spec := range []int64{1, 2} {
			a := &bmv2json.Action{Name: fmt.Sprint("port", spec), ID: 2 + i}
			a.Primitives = []*bmv2json.Primitive{{Op: "assign", Parameters: []*bmv2json.Value{bmv2json.Field("standard_metadata", "egress_spec"), hexOf(spec)}}}
			l.json.Actions = append(l.json.Actions, a)
			p.ActionCalls = append(p.ActionCalls, &bmv2json.ActionCall{Name: []string{"yes", "no"}[i], ActionID: a.ID})
		}
		mach := l.machine(t)
		spec, ok := mach.prog.Field("standard_metadata.egress_spec")
		if !ok {
			t.Fatal("no egress_spec")
		}
		for range 8 {
			var h []*big.Int
			for range m.fields {
				h = append(h, new(big.Int).Rsh(m.bits(), uint(m.rng.IntN(190))))
			}
			in := l.pack(h...)
			h = l.unpack(in)
			want := e.eval(h)
			lo, hi := bigZero, new(big.Int).Sub(pow2(dst.Width), bigOne)
			if dst.Signed {
				lo, hi = new(big.Int).Neg(pow2(dst.Width-1)), new(big.Int).Sub(pow2(dst.Width-1), bigOne)
			}
			if dst.Saturating {
				want = clamp(want, lo, hi)
			} else {
				want = new(big.Int).And(want, new(big.Int).Sub(pow2(dst.Width), bigOne))
				if dst.Signed && want.Bit(dst.Width-1) == 1 {
					want.Sub(want, pow2(dst.Width))
				}
			}
			out := l.unpack(pass(mach, in))
			n := len(m.fields)
			if out[n].Cmp(want) != 0 {
				t.Fatalf("seed %d: %+v = %s with %v\n got %v\nwant %v", seed, dst, e.text, h, out[n], want)
			}
			cond := c.eval(h)
			if out[n+1].Cmp(cond) != 0 || out[n+2].Cmp(cond) != 0 {
				t.Fatalf("seed %d: %s with %v is %v, and jumps as if it were %v; want %v", seed, c.text, h, out[n+1], out[n+2], cond)
			}
			// pass omits the egress pipeline's slots; ingress wrote them.
			if got, want := mach.Get(spec), 2-cond.Uint64(); got != want {
				t.Fatalf("seed %d: the conditional %s with %v goes to %d, want %d", seed, c.text, h, got, want)
			}
		}
	}
}

var (
	bigZero = big.NewInt(0)
	bigOne  = big.NewInt(1)
)

func pow2(n int) *big.Int { return new(big.Int).Lsh(bigOne, uint(n)) }

// clamp returns the number of lo…hi that is closest to v.
func clamp(v, lo, hi *big.Int) *big.Int {
	switch {
	case v.Cmp(lo) < 0:
		return lo
	case v.Cmp(hi) > 0:
		return hi
	}
	return v
}
