// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// maxMasks limits the number of masks for the ranges of one select case.
const maxMasks = 4096

// parser writes a parser. In v1model a rejected packet continues to ingress
// like an accepted one, and only parser_error shows the error. So reject is
// accept. In TNA reject is a state that sets an error.
func (g *generator) parser(p *ir.Parser) {
	out := &bmv2json.Parser{Name: p.Role, ID: len(g.out.Parsers), InitState: p.Start.Name}
	g.out.Parsers = append(g.out.Parsers, out)
	g.unmatched = rejected
	if g.prog.Arch != arch.TNA {
		for g.unmatched = "noMatch"; slices.ContainsFunc(p.States, func(s *ir.State) bool { return s.Name == g.unmatched }); {
			g.unmatched += "_"
		}
	}
	defer g.errorState(out)
	for _, vs := range p.ValueSets {
		g.out.ParseVSets = append(g.out.ParseVSets, &bmv2json.ParseVSet{Name: vs.Name, ID: len(g.out.ParseVSets), Width: vs.Width, MaxSize: int(vs.Size)})
	}
	states := reachable(p)
	if g.prog.Arch == arch.TNA {
		dropZeros(p.Start, states)
	}
	for _, s := range states {
		out.States = append(out.States, g.state(s))
	}
}

// reachable returns the reachable states of a parser, in order.
func reachable(p *ir.Parser) []*ir.State {
	seen := map[*ir.State]bool{}
	work := []*ir.State{p.Start}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		if s.Select != nil {
			for _, c := range s.Select.Cases {
				work = append(work, c.Next)
			}
		} else {
			work = append(work, s.Next)
		}
	}
	return slices.DeleteFunc(slices.Clone(p.States), func(s *ir.State) bool { return !seen[s] })
}

func (g *generator) state(s *ir.State) *bmv2json.ParseState {
	out := &bmv2json.ParseState{Name: s.Name, ID: g.states, Ops: []*bmv2json.ParserOp{}, Key: []*bmv2json.Value{}}
	g.states++
	for _, st := range s.Body {
		g.at = st.Where()
		out.Ops = append(out.Ops, g.parserOps(st)...)
	}
	if s.Select == nil {
		t := &bmv2json.Transition{Type: "default"}
		if s.Next != nil {
			t.Next = s.Next.Name
		} else if s.Reject {
			t.Next = g.reject()
		}
		out.Transitions = append(out.Transitions, t)
		return out
	}
	var widths []int
	g.at = s.Select.Span
	for _, k := range s.Select.Keys {
		v := g.selectKey(k, out)
		out.Key = append(out.Key, v)
		widths = append(widths, k.Type().Width)
	}
	for _, c := range s.Select.Cases {
		g.selectCase(s, c, widths, out)
	}
	if n := len(out.Transitions); n == 0 || out.Transitions[n-1].Type != "default" {
		out.Transitions = append(out.Transitions, &bmv2json.Transition{Type: "default", Next: g.unmatched})
	}
	return out
}

// parserOps writes a statement of a state.
func (g *generator) parserOps(s ir.Stmt) []*bmv2json.ParserOp {
	one := func(op string, params ...*bmv2json.Value) []*bmv2json.ParserOp {
		return []*bmv2json.ParserOp{{Op: op, Parameters: params}}
	}
	switch s := s.(type) {
	case *ir.Extract:
		what := g.extracted(s)
		if s.Length == nil {
			return one("extract", what)
		}
		return one("extract_VL", what, bmv2json.Wrap(g.data(s.Length)))
	case *ir.Advance:
		v := g.data(s.Bits)
		if v.Type == bmv2json.TypeExpression {
			v = bmv2json.Wrap(v)
		}
		return one("advance", v)
	case *ir.Verify:
		return one("verify", g.logic(s.Cond), g.data(s.Err))
	case *ir.Assign:
		dst := g.place(s.Dst)
		if dst.Type == bmv2json.TypeField && s.Dst.Type().Kind != ir.Varbit {
			return one("set", dst, wrap(g.data(s.Src)))
		}
		if _, ok := s.Src.(*ir.Lookahead); ok {
			tmp := g.newVar(s.Src.Type(), "tmp")
			ops := one("set", g.place(tmp), g.data(s.Src))
			return append(ops, g.parserOps(&ir.Assign{Base: s.Base, Dst: s.Dst, Src: tmp})...)
		}
	case *ir.Call:
		switch s.Name {
		case "assert", "assume", "log_msg":
		default:
			g.fail(s.CallSpan, "%s cannot be called in a parser on this target", externName(s))
		}
	}
	var ops []*bmv2json.ParserOp
	for _, p := range g.straight([]ir.Stmt{s}) {
		ops = append(ops, &bmv2json.ParserOp{Op: "primitive", Primitive: p})
	}
	return ops
}

// extracted returns the header of an extract statement.
func (g *generator) extracted(s *ir.Extract) *bmv2json.Value {
	switch h := s.Header.(type) {
	case *ir.Header:
		return bmv2json.Named(bmv2json.TypeRegular, h.Name)
	case *ir.StackNext:
		return bmv2json.Named(bmv2json.TypeNext, h.Stack.Name)
	case *ir.UnionStackNext:
		return &bmv2json.Value{Type: bmv2json.TypeNextUnion, Name: h.Stack.Name, Field: h.Stack.Type.Members[h.Member].Name}
	}
	g.fail(s.Span, "only a header that is known at compile time, or the next of a stack, can be extracted on this target")
	return nil
}

// selectKey returns a key in a form that BMv2 supports. A computed key is
// assigned to a variable first.
func (g *generator) selectKey(k ir.Expr, out *bmv2json.ParseState) *bmv2json.Value {
	switch x := k.(type) {
	case *ir.VarRef:
		return g.place(x)
	case *ir.FieldRef:
		if v := g.place(x); v.Type != bmv2json.TypeExpression {
			return v
		}
	}
	tmp := g.newVar(k.Type(), "key")
	out.Ops = append(out.Ops, &bmv2json.ParserOp{Op: "set", Parameters: []*bmv2json.Value{g.place(tmp), wrap(g.data(k))}})
	return g.place(tmp)
}

// selectCase writes a select case as one transition, or as several if it has
// ranges.
func (g *generator) selectCase(s *ir.State, c *ir.SelectCase, widths []int, out *bmv2json.ParseState) {
	next := ""
	if c.Next != nil {
		next = c.Next.Name
	} else if c.Reject {
		next = g.reject()
	}
	if c.ValueSet != nil {
		out.Transitions = append(out.Transitions, &bmv2json.Transition{Type: "parse_vset", Value: c.ValueSet.Name, Next: next})
		return
	}
	for _, keys := range g.expandRanges(s, c) {
		value, mask := new(big.Int), new(big.Int)
		exact, any := true, true
		digits := 0
		for i, k := range keys {
			w := (widths[i] + 7) / 8
			digits += w
			v, m := k.Value, k.Mask
			switch {
			case k.Any:
				v, m = new(big.Int), new(big.Int)
				exact = false
			case m == nil:
				m = types.Mask(widths[i])
				any = false
			default:
				exact = exact && m.Cmp(types.Mask(widths[i])) == 0
				any = any && m.Sign() == 0
			}
			value = value.Or(value.Lsh(value, uint(8*w)), v)
			mask = mask.Or(mask.Lsh(mask, uint(8*w)), m)
		}
		t := &bmv2json.Transition{Type: "hexstr", Value: hex(value, 8*digits), Next: next}
		switch {
		case any:
			t.Type, t.Value = "default", ""
		case !exact:
			t.Mask = hex(mask, 8*digits)
		}
		out.Transitions = append(out.Transitions, t)
	}
}

// expandRanges returns the key sets of a case after replacing ranges by masks.
func (g *generator) expandRanges(s *ir.State, c *ir.SelectCase) [][]ir.KeySet {
	lists := [][]ir.KeySet{nil}
	for i, k := range c.Keys {
		alternatives := []ir.KeySet{k}
		if k.High != nil {
			alternatives = masksOf(k, s.Select.Keys[i].Type())
		}
		var next [][]ir.KeySet
		for _, l := range lists {
			for _, a := range alternatives {
				next = append(next, append(l[:len(l):len(l)], a))
			}
		}
		if len(next) > maxMasks {
			g.fail(s.Select.Span, "the ranges of a case become more than %d masks", maxMasks)
		}
		lists = next
	}
	return lists
}

// masksOf returns masks that together match a range of a key of the given type.
func masksOf(k ir.KeySet, t ir.Type) []ir.KeySet {
	switch {
	case emptyRange(k, t):
		return nil
	case wrapsAround(k, t):
		return append(blocks(k.Value, types.Mask(t.Width), t.Width), blocks(new(big.Int), k.High, t.Width)...)
	}
	return blocks(k.Value, k.High, t.Width)
}

// emptyRange reports whether a range of a key of the given type has no element.
// The ends are the bits of the numbers.
func emptyRange(k ir.KeySet, t ir.Type) bool {
	lo, hi := negative(k.Value, t), negative(k.High, t)
	if lo == hi {
		return k.High.Cmp(k.Value) < 0
	}
	return hi
}

// wrapsAround reports whether a range begins with a negative number and ends with
// another: its bits are not those of a range of unsigned numbers.
func wrapsAround(k ir.KeySet, t ir.Type) bool {
	return negative(k.Value, t) && !negative(k.High, t)
}

func negative(bits *big.Int, t ir.Type) bool {
	return t.Kind == ir.Signed && bits.Bit(t.Width-1) == 1
}

// blocks returns masks that together match the unsigned numbers from lo to hi.
func blocks(lo, hi *big.Int, width int) []ir.KeySet {
	var list []ir.KeySet
	all := types.Mask(width)
	one := big.NewInt(1)
	at := new(big.Int).Set(lo)
	for at.Cmp(hi) <= 0 {
		// The largest aligned block that begins here and ends at most at hi.
		n := 0
		for n < width && at.Bit(n) == 0 {
			end := new(big.Int).Add(at, types.Mask(n+1))
			if end.Cmp(hi) > 0 {
				break
			}
			n++
		}
		list = append(list, ir.KeySet{Value: new(big.Int).Set(at), Mask: new(big.Int).AndNot(all, types.Mask(n))})
		at.Add(at, new(big.Int).Lsh(one, uint(n)))
	}
	return list
}
