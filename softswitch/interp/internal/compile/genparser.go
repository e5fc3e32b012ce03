// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"math/big"
	"strings"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"github.com/pauseless/pauseless/softswitch/table"
)

// genParsers emits the parsers, each followed by the assignment of the error
// field and the verification of checksums.
func (c *compiler) genParsers() {
	parsers := pick(c, "parser", c.arch.Parsers, c.json.Parsers, func(p *bmv2json.Parser) (string, diag.Pos) { return p.Name, p.Pos })
	for g, p := range parsers {
		c.parseEnd = c.label()
		c.Prog.Parse[g], c.Prog.ParseEnd[g] = int32(len(c.Code)), int32(c.parseEnd)
		if p != nil {
			c.genStates(p)
		}
		c.place(c.parseEnd)
		for i := range c.json.Checksums {
			if g == ops.In && c.json.Checksums[i].Verify {
				c.genChecksum(i, ops.Verify)
			}
		}
		c.emit(ops.End, 0, 0, 0, 0)
	}
}

// pick finds the gresses' parsers, pipelines or deparsers by the architecture's
// names.
func pick[T any](c *compiler, kind string, names [ops.Gresses]string, list []*T, name func(*T) (string, diag.Pos)) (of [ops.Gresses]*T) {
next:
	for _, x := range list {
		n, pos := name(x)
		for g, want := range names {
			if (want == "" || want == n) && of[g] == nil {
				of[g] = x
				continue next
			}
		}
		c.errorf(pos, "%s %s: %s", kind, n, c.arch.Expect(kind))
	}
	return of
}

func (c *compiler) genStates(p *bmv2json.Parser) {
	states := map[string]*bmv2json.ParseState{}
	labels := map[string]ops.Label{}
	for _, s := range p.States {
		if states[s.Name] != nil {
			c.errorf(s.Pos, "parser state %s is declared twice", s.Name)
		}
		states[s.Name] = s
		labels[s.Name] = c.label()
	}
	next := func(pos diag.Pos, name string) ops.Label {
		if name == "" {
			return c.parseEnd
		}
		l, ok := labels[name]
		if !ok {
			c.errorf(pos, "unknown parser state %s%s", name, diag.DidYouMean(name, keys(states)))
			return c.parseEnd
		}
		return l
	}
	first := next(p.Pos, p.InitState)
	if first == c.parseEnd {
		c.jump(first)
		return
	}
	loops := loopHeads(states, p.InitState)
	// States are emitted in the order in which they are reached, so that most need
	// no jump.
	done := map[string]bool{}
	queue := []string{p.InitState}
	for len(queue) > 0 {
		name := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		s := states[name]
		if s == nil || done[name] {
			continue
		}
		done[name] = true
		c.place(labels[name])
		if c.opts.Trace {
			c.trace("parser state %s", name)
		}
		if loops[name] {
			c.emit(ops.State, 0, 0, 0, 0)
		}
		for _, op := range s.Ops {
			c.genParserOp(op)
		}
		if !c.genByteTransitions(s, next) {
			c.genTransitions(s, next)
		}
		for _, t := range s.Transitions {
			queue = append(queue, t.Next)
		}
	}
	for _, s := range p.States {
		if !done[s.Name] {
			c.place(labels[s.Name]) // unreachable, never executed
		}
	}
}

// loopHeads returns the states that a packet may reach more than once.
func loopHeads(states map[string]*bmv2json.ParseState, init string) map[string]bool {
	heads := map[string]bool{}
	const open, closed = 1, 2
	colour := map[string]int{}
	type frame struct {
		name string
		next int
	}
	stack := []frame{{name: init}}
	colour[init] = open
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		s := states[f.name]
		if s == nil || f.next == len(s.Transitions) {
			colour[f.name] = closed
			stack = stack[:len(stack)-1]
			continue
		}
		to := s.Transitions[f.next].Next
		f.next++
		switch colour[to] {
		case open:
			heads[to] = true
		case 0:
			if to != "" {
				colour[to] = open
				stack = append(stack, frame{name: to})
			}
		}
	}
	return heads
}

func (c *compiler) genParserOp(op *bmv2json.ParserOp) {
	defer c.releaseTemps(c.tempTop)
	want := map[string]int{"extract": 1, "extract_VL": 2, "set": 2, "verify": 2, "shift": 1, "advance": 1}
	switch n, ok := want[op.Op]; {
	case op.Op == "primitive":
		c.genPrimitive(op.Primitive)
		return
	case !ok:
		c.errorf(op.Pos, "unknown parser operation %s", op.Op)
		return
	case len(op.Parameters) != n:
		c.errorf(op.Pos, "parser operation %s has %d parameters, expected %d", op.Op, len(op.Parameters), n)
		return
	}
	switch op.Op {
	case "extract":
		c.genExtract(op, nil)
	case "extract_VL":
		c.genExtract(op, op.Parameters[1])
	case "set":
		c.assign(c.expr(op.Parameters[0]), c.numberOf(op.Parameters[1]))
	case "verify":
		ok := c.label()
		c.jumpIf(c.boolean(op.Parameters[0]), true, ok)
		c.emit(ops.Fail, 0, c.gen(c.data(op.Parameters[1]), 1), 0, 0)
		c.place(ok)
	case "shift":
		bits := &expr{op: "<<", l: c.data(op.Parameters[0]), r: constant(big.NewInt(3), op.Pos), pos: op.Pos}
		c.arith(bits)
		c.emit(ops.Advance, 0, c.shiftAmount(bits), 0, 0)
	case "advance":
		c.emit(ops.Advance, 0, c.shiftAmount(c.data(op.Parameters[0])), 0, 0)
	}
}

// numberOf builds a number. A boolean is 0 or 1.
func (c *compiler) numberOf(v *bmv2json.Value) *expr {
	e := c.expr(v)
	if e.kind == kBool {
		return &expr{op: "b2d", r: e, lo: bigZero, hi: bigOne, pos: e.pos}
	}
	return c.want(e, kData)
}

func (c *compiler) genExtract(op *bmv2json.ParserOp, length *bmv2json.Value) {
	v := op.Parameters[0]
	x := ops.Extraction{Next: -1, Name: v.Name}
	var h *ops.Header
	switch v.Type {
	case bmv2json.TypeRegular:
		h = c.headers[v.Name]
	case bmv2json.TypeNext:
		if s := c.stacks[v.Name]; s != nil {
			h = s.Elements[0]
			x.Next, x.N, x.Stride = s.Next, len(s.Elements), s.Type.Size
		}
	case bmv2json.TypeNextUnion:
		if s := c.unionStacks[v.Name]; s != nil {
			h = c.unionStackMember(v.Name, v.Field)
			x.Next, x.N, x.Stride = s.Next, len(s.Elements), s.Stride()
		}
	default:
		c.errorf(v.Pos, "nothing can be extracted to a %s", v.Type)
		return
	}
	if h == nil || h.Slots != nil {
		c.errorf(v.Pos, "unknown header %s%s", v.Name, diag.DidYouMean(v.Name, keys(c.headers)))
		return
	}
	x.Type, x.Base, x.Bytes, x.Loads = h.Type, h.Base, h.Type.Bits/8, h.Type.Loads
	if h.Union != nil {
		for i, m := range h.Union.Members {
			if m == h {
				x.Siblings = h.Union.Siblings(i)
			}
		}
	}
	varBits := 0
	switch {
	case length != nil && h.Type.Varbit < 0:
		c.errorf(op.Pos, "header %s has no variable-length field", v.Name)
		return
	case length == nil && h.Type.Varbit >= 0:
		c.errorf(op.Pos, "header %s has a variable-length field: extract needs its length", v.Name)
		return
	case length != nil:
		x.Varbit = true
		varBits = c.shiftAmount(c.data(length))
	}
	c.Prog.Extracts = append(c.Prog.Extracts, x)
	c.emit(ops.Extract, 0, varBits, 0, uint64(len(c.Prog.Extracts)-1))
	if c.opts.Trace {
		c.traceExtract(len(c.Prog.Extracts) - 1)
	}
}

// genTransitions emits the selection of the next state.
func (c *compiler) genTransitions(s *bmv2json.ParseState, next func(diag.Pos, string) ops.Label) {
	defer c.releaseTemps(c.tempTop)
	last := c.parseEnd
	var cases []*bmv2json.Transition
	for _, t := range s.Transitions {
		if t.Type == "default" {
			last = next(t.Pos, t.Next)
		} else {
			cases = append(cases, t)
		}
	}
	if len(s.Key) == 0 || len(cases) == 0 {
		c.jump(last)
		return
	}
	key, widths := c.transitionKey(s)
	bytes := 0
	for _, w := range widths {
		bytes += (w + 7) / 8
	}
	limbs := bitvec.Limbs(8 * bytes)
	k := c.gen(key, limbs)
	if limbs == 1 && c.genSwitch(k, cases, next) {
		c.jump(last)
		return
	}
	for _, t := range cases {
		to := next(t.Pos, t.Next)
		switch t.Type {
		case "hexstr":
			value, mask := c.padded(t.Value, bytes, t.Pos), pow2(8*bytes)
			mask.Sub(mask, bigOne)
			if t.Mask != "" {
				mask = c.padded(t.Mask, bytes, t.Pos)
			}
			value = new(big.Int).And(value, mask)
			switch {
			case limbs == 1 && t.Mask == "":
				c.branch(ops.JEq, k, c.constSlot(value, 1), to)
			case limbs == 1:
				m := c.temp(1)
				c.emit(ops.Mov, m, k, 0, low(mask))
				c.branch(ops.JEq, m, c.constSlot(value, 1), to)
			default:
				c.Prog.Matches = append(c.Prog.Matches, ops.WideMatch{Value: limbsOfBig(value, limbs), Mask: limbsOfBig(mask, limbs), To: int32(to)})
				c.emit(ops.JMatch, 0, k, 0, uint64(len(c.Prog.Matches)-1))
			}
		case "parse_vset":
			n, ok := c.vsets[t.Value]
			if !ok {
				c.errorf(t.Pos, "unknown parse value set %s%s", t.Value, diag.DidYouMean(t.Value, keys(c.vsets)))
				continue
			}
			if t.Mask != "" {
				c.errorf(t.Pos, "a mask on a parse value set has no meaning in P4_16")
			}
			v := &c.Prog.VSets[n]
			sum := 0
			for _, w := range widths {
				sum += w
			}
			if v.FieldWidths == nil {
				v.FieldWidths = widths
			}
			if sum != v.Width || len(widths) != len(v.FieldWidths) {
				c.errorf(t.Pos, "parse value set %s has values of %d bits, the key of state %s has %d", t.Value, v.Width, s.Name, sum)
			}
			c.Prog.VSetJumps = append(c.Prog.VSetJumps, ops.VSetJump{VSet: n, Limbs: limbs, To: int32(to)})
			c.emit(ops.VSet, 0, k, 0, uint64(len(c.Prog.VSetJumps)-1))
		default:
			c.errorf(t.Pos, "unknown transition type %q", t.Type)
		}
	}
	c.jump(last)
}

// transitionKey concatenates the fields of a state's key, each padded to bytes.
func (c *compiler) transitionKey(s *bmv2json.ParseState) (*expr, []int) {
	var key *expr
	var widths []int
	for _, v := range s.Key {
		e := c.data(v)
		width := e.width
		if width == 0 {
			width = e.hi.BitLen()
		}
		widths = append(widths, width)
		if e.signed() {
			e = &expr{op: "&", l: e, r: constant(new(big.Int).Sub(pow2(width), bigOne), v.Pos), pos: v.Pos}
			c.arith(e)
		}
		if key == nil {
			key = e
			continue
		}
		up := &expr{op: "<<", l: key, r: constant(big.NewInt(int64((width+7)/8*8)), v.Pos), pos: v.Pos}
		up.rangeOf(key.hi.BitLen()+(width+7)/8*8, false)
		key = &expr{op: "|", l: up, r: e, pos: v.Pos}
		bitRange(key)
	}
	return key, widths
}

// padded parses the value of a transition, which has as many bytes as the key.
func (c *compiler) padded(text string, bytes int, pos diag.Pos) *big.Int {
	v := c.hex(text, pos)
	if v.Sign() < 0 || v.BitLen() > 8*bytes || len(strings.TrimPrefix(text, "0x")) > 2*bytes {
		c.errorf(pos, "transition value %s does not fit the %d bytes of the key", text, bytes)
		return bigZero
	}
	return v
}

func limbsOfBig(v *big.Int, n int) []uint64 {
	d := make([]uint64, n)
	bitvec.FromBytes(d, v.Bytes())
	return d
}

// minSwitch is the number of exact cases from which a jump table is faster than
// comparisons in sequence.
const minSwitch = 6

// genSwitch emits a jump table for many exact cases.
func (c *compiler) genSwitch(k int, cases []*bmv2json.Transition, next func(diag.Pos, string) ops.Label) bool {
	if len(cases) < minSwitch {
		return false
	}
	for _, t := range cases {
		if t.Type != "hexstr" || t.Mask != "" {
			return false
		}
	}
	s := &ops.JumpTable{Index: table.NewExact(64)}
	for _, t := range cases {
		m := table.Match{Value: []uint64{low(c.hex(t.Value, t.Pos))}}
		if _, dup := s.Index.Find(&m); !dup {
			s.Index.Insert(&m, uint32(len(s.To)))
			s.To = append(s.To, int32(next(t.Pos, t.Next)))
		}
	}
	c.Prog.Switches = append(c.Prog.Switches, s)
	c.emit(ops.Switch, 0, k, 0, uint64(len(c.Prog.Switches)-1))
	return true
}
