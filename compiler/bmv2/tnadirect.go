// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"math"
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// Objects of table entries in TNA. An action reads the number of the applied entry
// from a variable and uses it as an index: see bmv2json.Table.EntryTarget.

// directProps are the table properties that name objects of entries.
var directProps = []string{"counters", "meters", "registers"}

// tableOf returns the table whose entries have an object's cells.
func (g *generator) tableOf(o *ir.Object) *ir.Table {
	if t := g.attached[o]; t != nil {
		return t
	}
	for _, c := range g.prog.Controls {
		for _, t := range c.Tables {
			for _, name := range directProps {
				if p := t.Props[name]; p != nil && p.Object == o {
					return t
				}
			}
		}
	}
	return nil
}

// tableOfAction returns the first table that has an action, to which p4c attaches a
// direct register that no table names.
func (g *generator) tableOfAction(a *ir.Action) *ir.Table {
	for _, c := range g.prog.Controls {
		for _, t := range c.Tables {
			if slices.ContainsFunc(t.Actions, func(r *ir.ActionRef) bool { return r.Action == a }) {
				return t
			}
		}
	}
	return nil
}

// entryVar returns the variable with the number of a table's applied entry.
func (g *generator) entryVar(t *ir.Table) *ir.VarRef {
	v := g.entryVars[t]
	if v == nil {
		v = g.newVar(ir.Bit32, t.Name+".entry")
		g.entryVars[t] = v
	}
	return v
}

// entryOf returns the number of the entry whose action makes a call. It fails if
// the action is executed for an entry of another table.
func (c *code) entryOf(s *ir.Call) ir.Expr { return c.g.entryVar(c.ownTable(s)) }

// ownTable returns the table whose entry's action makes a call.
func (c *code) ownTable(s *ir.Call) *ir.Table {
	g, o := c.g, s.Object
	t := g.tableOf(o)
	if t == nil && o.Kind == "direct_register" {
		t = g.tableOfAction(g.acting)
		g.attached[o] = t
	}
	if t == nil {
		g.fail(s.CallSpan, "%s belongs to no table: name it in a table's %s", o.Name, propOf(o))
	}
	has := func(t *ir.Table) bool {
		return slices.ContainsFunc(t.Actions, func(r *ir.ActionRef) bool { return r.Action == g.acting })
	}
	if g.acting == nil || !has(t) {
		g.fail(s.CallSpan, "%s belongs to the entries of table %s: call %s in an action of that table", o.Name, t.Name, s.Name)
	}
	for _, ctl := range g.prog.Controls {
		for _, other := range ctl.Tables {
			if other != t && has(other) {
				g.fail(s.CallSpan, "%s belongs to the entries of table %s, but table %s has action %s as well: give it an action of its own", o.Name, t.Name, other.Name, g.acting.Name)
			}
		}
	}
	return t
}

func propOf(o *ir.Object) string {
	switch o.Kind {
	case "direct_counter":
		return "counters"
	case "direct_meter":
		return "meters"
	}
	return "registers"
}

// cell returns the index of a register: argument i, or the number of the entry.
func (c *code) cell(s *ir.Call, i int) *bmv2json.Value {
	if o := s.Object; o.Kind == "direct_register" {
		if c.g.acting == nil && c.g.tableOf(o) == nil {
			c.g.alone[o] = true
			return number(0)
		}
		return c.simpleExpr(s, c.entryOf(s))
	}
	return c.simple(s, i)
}

// entryTarget declares the variable for the number of the table's entries, if an
// action needs it.
func (g *generator) entryTarget(t *ir.Table, out *bmv2json.Table) {
	if p := t.Props["registers"]; p != nil {
		g.object(p, "direct_register")
	}
	if v := g.entryVars[t]; v != nil {
		if p := t.Props["counters"]; p != nil && !g.countsAlways(t, p.Object) {
			out.ActionsCount = true
		}
		out.EntryTarget = &bmv2json.FieldRef{Header: scalars, Field: v.Var.Name}
	}
}

// directRegister writes the registers of a table's entries. The first cell is that
// of the default entry.
func (g *generator) directRegister(o *ir.Object) {
	t := g.tableOf(o)
	if t == nil && !g.alone[o] {
		g.rep.Warnf(o.Span.Start, CodeUnusedObj, "direct register %s is the \"registers\" of no table", o.Name)
		return
	}
	width, ok := types.Width(o.Type.TypeArgs[0])
	if !ok {
		g.fail(o.Span, "direct register %s must be of a fixed width, not %v", o.Name, o.Type.TypeArgs[0])
	}
	r := &bmv2json.RegisterArray{Name: o.Name, ID: len(g.out.RegisterArrays), SourceInfo: g.where(o.Span), Size: 1, Width: width, Initial: g.initial(o)}
	if t != nil {
		r.Size, r.Binding = g.tableSize(t)+1, t.Name
	}
	g.out.RegisterArrays = append(g.out.RegisterArrays, r)
}

// countsAlways reports whether all actions of a table count with its direct
// counter, so that every hit does.
func (g *generator) countsAlways(t *ir.Table, o *ir.Object) bool {
	for _, ref := range t.Actions {
		if ref.Action.Name == "NoAction" {
			continue
		}
		n := 0
		for _, s := range ref.Action.Body {
			if call, ok := s.(*ir.Call); ok && call.Object == o && (len(call.Args) == 0 || call.Args[0].X == nil) {
				n++
			}
		}
		ir.WalkStmts(ref.Action.Body, func(s ir.Stmt) {
			if call, ok := s.(*ir.Call); ok && call.Object == o {
				n += 2
			}
		})
		if n != 3 { // one, which both found
			return false
		}
	}
	return true
}

// directCount counts a packet and its bytes in the entry's counter. If all actions
// of the table do, the table itself counts.
func (c *code) directCount(s *ir.Call) {
	if t := c.ownTable(s); !c.g.countsAlways(t, s.Object) {
		c.countCell(s, c.g.entryVar(t), 0)
	}
}

func (c *code) countOfTNA(s *ir.Call) {
	if len(s.Args) < 2 || s.Args[1].X == nil {
		c.count(s)
		return
	}
	c.countCell(s, s.Args[0].X, 1)
}

// countCell counts in a cell. Argument adjust is the number of bytes that do not
// count.
func (c *code) countCell(s *ir.Call, cell ir.Expr, adjust int) {
	c.add(s, "count_adjusted", bmv2json.Named(bmv2json.TypeCounterArray, s.Object.Name), c.simpleExpr(s, cell), c.orZero(s, adjust))
}

// orZero returns an argument, or zero if it was left out.
func (c *code) orZero(s *ir.Call, i int) *bmv2json.Value {
	if i >= len(s.Args) || s.Args[i].X == nil {
		return number(0)
	}
	return c.simple(s, i)
}

// meterOfTNA executes a meter. The arguments are the result, the index, the colour
// before and the bytes that are not metered.
func (c *code) meterOfTNA(s *ir.Call) {
	index := s.Args[1].X
	if s.Object.Kind == "direct_meter" {
		index = c.entryOf(s)
	}
	at := c.simpleExpr(s, index)
	colour, adjust := c.orZero(s, 2), c.orZero(s, 3)
	c.add(s, "execute_meter_aware", bmv2json.Named(bmv2json.TypeMeterArray, s.Object.Name), at, colour, adjust, c.dest(s, 0))
}

// inParts reports whether a table's implementation is only a way to store it.
func inParts(o *ir.Object) bool {
	return o != nil && (o.Type.Name == "Atcam" || o.Type.Name == "Alpm")
}

// passive reports whether an object does nothing in softswitch. It warns where a
// controller of a Tofino could make it do something.
func (g *generator) passive(o *ir.Object) bool {
	switch o.Type.Name {
	case "Lpf", "DirectLpf":
		g.rep.Warnf(o.Span.Start, CodeIgnored, "filter %s passes samples on as they are: P4Runtime has no entity for its time constants", o.Name)
	case "Wred", "DirectWred":
		g.rep.Warnf(o.Span.Start, CodeIgnored, "%s drops nothing: P4Runtime has no entity for its thresholds", o.Name)
	case "Atcam", "Alpm":
	default:
		return false
	}
	return true
}

// algorithm is the algorithm of a calculation.
type algorithm struct {
	name string
	crc  *bmv2json.CRC
}

// crcs are the CRCs that hashes have by their names, with the CRC catalogue's
// parameters.
var crcs = map[string]algorithm{
	"CRC8":  {"crc8_custom", nil},
	"CRC16": {"crc16", nil},
	"CRC32": {"crc32", nil},
	"CRC64": {"crc", &bmv2json.CRC{Width: 64, Poly: "0x42f0e1eba9ea3693", Init: "0x0", Xor: "0x0"}},
}

// hashOf returns the algorithm of a Hash whose result has the given width.
func (g *generator) hashOf(o *ir.Object, width int) algorithm {
	name := o.Args[0].Member
	if a, ok := crcs[name]; ok {
		return a
	}
	switch name {
	case "RANDOM": // a function of the input that the compiler of a chip draws
		return algorithm{name: "xxh64"}
	case "CUSTOM":
		return algorithm{"crc", g.polynomial(o, width)}
	}
	g.fail(o.Span, "%s hashes are not supported here: use CRC8, CRC16, CRC32, CRC64, RANDOM or CUSTOM", name)
	return algorithm{}
}

// selectorHash returns the algorithm of a selector's hash.
func (g *generator) selectorHash(sel, hash *ir.Object) algorithm {
	if hash == nil {
		g.fail(sel.Span, "the hash of selector %s is not known here", sel.Name)
	}
	switch name := hash.Args[0].Member; name {
	case "IDENTITY":
		return algorithm{name: "identity"}
	case "XOR16", "XOR32":
		return algorithm{name: map[string]string{"XOR16": "xor16", "XOR32": "xor32"}[name]}
	}
	return g.hashOf(hash, 0)
}

// polynomial returns the CRC of a CUSTOM hash.
func (g *generator) polynomial(o *ir.Object, width int) *bmv2json.CRC {
	a := o.Arg("poly")
	if a == nil || a.Object == nil {
		g.fail(o.Span, "a CUSTOM hash needs a CRCPolynomial: Hash<…>(HashAlgorithm_t.CUSTOM, polynomial)")
	}
	p := a.Object
	value := func(name string) *ir.Const {
		k, ok := p.Arg(name).X.(*ir.Const)
		if !ok {
			g.fail(p.Span, "%s of %s must be known at compile time", name, p.Name)
		}
		return k
	}
	coeff := value("coeff")
	w := coeff.T.Width
	number := func(name string) string { return hex(unsigned(value(name).Val, w), 0) }
	crc := &bmv2json.CRC{Width: w, Poly: number("coeff"), Reflect: value("reversed").Val.Sign() != 0, Init: number("init"), Xor: number("xor")}
	if w > 64 {
		g.fail(p.Span, "polynomial %s has %d bits, a Tofino has CRCs of up to 64", p.Name, w)
	}
	if coeff.Val.Bit(0) == 0 {
		g.fail(p.Span, "polynomial %s is even: the lowest coefficient of a CRC is 1", p.Name)
	}
	if value("extended").Val.Sign() != 0 && width > w {
		crc.Extend = width
	}
	return crc
}

// hashGet writes a hash as a calculation and its use. The result has the lower
// bits that fit the type.
func (c *code) hashGet(s *ir.Call) {
	width := s.Args[0].X.Type().Width
	c.calculate(s, c.g.hashOf(s.Object, width), s.Args[1], types.Mask(width))
}

// calculate assigns the lower bits of a calculation over an argument to the
// result of a call. most is their largest value.
func (c *code) calculate(s *ir.Call, algo algorithm, data ir.Arg, most *big.Int) {
	calc := c.g.calculation(algo.name)
	calc.CRC = algo.crc
	calc.SourceInfo = c.g.where(s.CallSpan)
	bits := 0
	for _, x := range leaves(data, nil) {
		calc.Input = append(calc.Input, c.input(s, x))
		bits += x.Type().Width
	}
	if part := bits % 8; part != 0 && algo.name != "csum16" { // a chip puts zeros before the input
		zero := bmv2json.Hex("0x0")
		zero.Width = 8 - part
		calc.Input = slices.Insert(calc.Input, 0, zero)
	}
	result := bmv2json.Named(bmv2json.TypeCalculation, calc.Name)
	if most.BitLen() >= 64 {
		c.add(s, "hash", c.dest(s, 0), result)
		return
	}
	limit := new(big.Int).Add(most, big.NewInt(1))
	c.add(s, "modify_field_with_hash_based_offset", c.dest(s, 0), number(0), result, bmv2json.Hex(hex(limit, 0)))
}

// mathUnit writes the use of a math unit. Its constructor has the values, or an
// operation for which they are computed.
func (c *code) mathUnit(s *ir.Call) {
	g, o := c.g, s.Object
	u := mathUnit{}
	k := func(name string) *big.Int {
		x, ok := o.Arg(name).X.(*ir.Const)
		if !ok {
			g.fail(o.Span, "%s of %s must be known at compile time", name, o.Name)
		}
		return x.Val
	}
	if o.Arg("data") != nil {
		u.invert, u.shift, u.scale = k("invert").Sign() != 0, int(k("shift").Int64()), int(k("scale").Int64())
		for i, x := range leaves(*o.Arg("data"), nil) {
			if v, ok := x.(*ir.Const); ok && i < 16 {
				u.data[15-i] = uint8(v.Val.Uint64())
			}
		}
	} else {
		var factor float64
		if o.Arg("factor") != nil {
			factor, _ = new(big.Float).SetInt(k("factor")).Float64()
		} else {
			a, _ := new(big.Float).SetInt(k("A")).Float64()
			b, _ := new(big.Float).SetInt(k("B")).Float64()
			factor = a / b
		}
		if !(factor > 0) || math.IsInf(factor, 0) {
			g.fail(o.Span, "the factor of math unit %s must be positive", o.Name)
		}
		u = newMathUnit(o.Args[0].Member, factor)
	}
	params := []*bmv2json.Value{c.dest(s, 0), c.simple(s, 1), number(0), signed(u.shift), signed(u.scale)}
	if u.invert {
		params[2] = number(1)
	}
	for _, v := range u.data {
		params = append(params, number(int64(v)))
	}
	c.add(s, "math_unit", params...)
}

func signed(n int) *bmv2json.Value { return bmv2json.Hex(hex(big.NewInt(int64(n)), 0)) }

// mathUnit is the configuration of a math unit: result = data[i] * 2^(scale + e),
// where i has the highest bits of the operand and e follows from its exponent.
type mathUnit struct {
	invert       bool
	shift, scale int
	data         [16]uint8
}

// newMathUnit approximates factor * op. As p4c does, it takes the largest scale
// with which all values fit eight bits.
func newMathUnit(op string, factor float64) (u mathUnit) {
	f := map[string]func(float64) float64{
		"MUL": func(x float64) float64 { return x }, "SQR": func(x float64) float64 { return x * x }, "SQRT": math.Sqrt,
		"DIV": func(x float64) float64 { return 1 / x }, "RSQR": func(x float64) float64 { return 1 / (x * x) },
		"RSQRT": func(x float64) float64 { return 1 / math.Sqrt(x) },
	}[op]
	u.invert = op == "DIV" || op == "RSQR" || op == "RSQRT"
	first := 8
	switch op {
	case "SQR", "RSQR":
		u.shift = 1
	case "SQRT", "RSQRT":
		u.shift, first = -1, 4
	}
	largest := 0.0
	for i := first; i < 16; i++ {
		largest = max(largest, factor*f(float64(i)/8))
	}
	u.scale = min(max(int(math.Floor(math.Log2(largest)))-7, -32), 31)
	for i := first; i < 16; i++ {
		u.data[i] = uint8(min(math.RoundToEven(f(float64(i)/8)*factor*math.Pow(2, float64(-u.scale))), 255))
	}
	return u
}
