// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"math/big"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// A primitive is a primitive of the architecture or the language: its number of
// parameters and its code generator.
type primitive struct {
	params int
	gen    func(c *compiler, p *bmv2json.Primitive)
}

var primitives map[string]primitive

func init() {
	primitives = map[string]primitive{
		"assign":              {2, func(c *compiler, p *bmv2json.Primitive) { c.assign(c.arg(p, 0), c.number(p, 1)) }},
		"assign_VL":           {2, (*compiler).genAssignVarbit},
		"assign_header":       {2, (*compiler).genAssignHeader},
		"assign_union":        {2, (*compiler).genAssignUnion},
		"assign_header_stack": {2, (*compiler).genAssignStack},
		"assign_union_stack":  {2, (*compiler).genAssignStack},
		"push":                {2, func(c *compiler, p *bmv2json.Primitive) { c.genShift(p, ops.Push) }},
		"pop":                 {2, func(c *compiler, p *bmv2json.Primitive) { c.genShift(p, ops.Pop) }},
		"exit": {0, func(c *compiler, _ *bmv2json.Primitive) {
			c.emit(ops.MovI, c.Prog.Sys+ops.SysExit, 0, 0, 1)
		}},
		"assert":  {1, (*compiler).genAssert},
		"assume":  {1, (*compiler).genAssert},
		"log_msg": {2, (*compiler).genLog},

		"modify_field":                        {2, func(c *compiler, p *bmv2json.Primitive) { c.assign(c.arg(p, 0), c.number(p, 1)) }},
		"add_to_field":                        {2, inPlace("+")},
		"subtract_from_field":                 {2, inPlace("-")},
		"add":                                 {3, ofTwo("+")},
		"subtract":                            {3, ofTwo("-")},
		"bit_xor":                             {3, ofTwo("^")},
		"bit_or":                              {3, ofTwo("|")},
		"bit_and":                             {3, ofTwo("&")},
		"shift_left":                          {3, ofTwo("<<")},
		"shift_right":                         {3, ofTwo(">>")},
		"modify_field_rng_uniform":            {3, (*compiler).genRandom},
		"modify_field_with_hash_based_offset": {4, (*compiler).genHash},

		"drop":                        {0, func(c *compiler, _ *bmv2json.Primitive) { c.emit(ops.Drop, 0, 0, 0, 0) }},
		"mark_to_drop":                {1, (*compiler).genMarkToDrop},
		"generate_digest":             {2, func(c *compiler, p *bmv2json.Primitive) { c.emit(ops.Digest, 0, c.short(p, 1), 0, 0) }},
		"add_header":                  {1, func(c *compiler, p *bmv2json.Primitive) { c.genHeaderOp(p, ops.AddHeader) }},
		"add_header_fast":             {1, func(c *compiler, p *bmv2json.Primitive) { c.genHeaderOp(p, ops.AddValid) }},
		"remove_header":               {1, func(c *compiler, p *bmv2json.Primitive) { c.genHeaderOp(p, ops.RemoveHeader) }},
		"copy_header":                 {2, (*compiler).genAssignHeader},
		"resubmit":                    {1, func(c *compiler, p *bmv2json.Primitive) { c.emit(ops.Resubmit, 0, c.short(p, 0), 0, 0) }},
		"recirculate":                 {1, func(c *compiler, p *bmv2json.Primitive) { c.emit(ops.Recirc, 0, c.short(p, 0), 0, 0) }},
		"truncate":                    {1, func(c *compiler, p *bmv2json.Primitive) { c.emit(ops.Truncate, 0, c.short(p, 0), 0, 0) }},
		"no_op":                       {0, func(*compiler, *bmv2json.Primitive) {}},
		"execute_meter":               {3, (*compiler).genMeter},
		"execute_meter_aware":         {5, (*compiler).genMeterAware},
		"count":                       {2, (*compiler).genCount},
		"count_adjusted":              {3, (*compiler).genCount},
		"hash":                        {2, (*compiler).genWhole},
		"math_unit":                   {21, (*compiler).genMath},
		"register_read":               {3, (*compiler).genRegisterRead},
		"register_write":              {3, (*compiler).genRegisterWrite},
		"mirror":                      {2, (*compiler).genMirror},
		"clone_ingress_pkt_to_egress": {2, (*compiler).genClone},
		"clone_egress_pkt_to_egress":  {2, (*compiler).genClone},
	}
}

// arg builds parameter i as an expression of any kind.
func (c *compiler) arg(p *bmv2json.Primitive, i int) *expr { return c.expr(p.Parameters[i]) }

// number builds parameter i as a number. A boolean is 0 or 1.
func (c *compiler) number(p *bmv2json.Primitive, i int) *expr {
	e := c.arg(p, i)
	if e.kind == kBool {
		return &expr{op: "b2d", r: e, lo: bigZero, hi: bigOne, pos: e.pos}
	}
	return c.want(e, kData)
}

// short returns the slot of parameter i, truncated to 64 bits.
func (c *compiler) short(p *bmv2json.Primitive, i int) int { return c.gen(c.number(p, i), 1) }

// object returns the index of the object that parameter i names.
func (c *compiler) object(p *bmv2json.Primitive, i int, typ string, names map[string]int) (int, bool) {
	v := p.Parameters[i]
	if v.Type != typ {
		c.errorf(v.Pos, "parameter %d of %s is a %s, expected a %s", i+1, p.Op, v.Type, typ)
		return 0, false
	}
	n, ok := names[v.Name]
	if !ok {
		c.errorf(v.Pos, "unknown %s %s%s", typ, v.Name, diag.DidYouMean(v.Name, keys(names)))
	}
	return n, ok
}

// genActionBody emits the primitives of an action. args are its arguments if
// they are known at compile time; otherwise they are in the parameter slots.
func (c *compiler) genActionBody(a *action, args []*big.Int) {
	c.action, c.args = a, args
	prims := a.json.Primitives
	labels := make([]ops.Label, len(prims)+1)
	for i := range labels {
		labels[i] = c.label()
	}
	jumps := slices.ContainsFunc(prims, func(p *bmv2json.Primitive) bool { return strings.HasPrefix(p.Op, "_jump") })
	c.said = ""
	for i, p := range prims {
		c.place(labels[i])
		if jumps {
			c.said = "" // another path may lead here
		}
		switch p.Op {
		case "_jump", "_jump_if_zero":
			c.genJump(p, i, labels)
		default:
			c.genPrimitive(p)
		}
	}
	c.place(labels[len(prims)])
	c.action, c.args = nil, nil
}

// genPrimitive emits one primitive.
func (c *compiler) genPrimitive(p *bmv2json.Primitive) {
	prim, ok := primitives[p.Op]
	if !ok {
		var names []string
		for name := range primitives {
			names = append(names, name)
		}
		c.errorf(p.Pos, "unknown primitive %s%s", p.Op, diag.DidYouMean(p.Op, sorted(names)))
		return
	}
	if len(p.Parameters) != prim.params {
		c.errorf(p.Pos, "primitive %s has %d parameters, expected %d", p.Op, len(p.Parameters), prim.params)
		return
	}
	defer c.releaseTemps(c.tempTop)
	if c.opts.Trace {
		c.tracePrimitive(p)
	}
	prim.gen(c, p)
	if c.opts.Trace {
		c.traceResult(p)
		if p.Op == "assign" {
			c.lost(p.Parameters[0])
			c.unread(p.Parameters[1], "    ")
			c.neverSet(p.Parameters[1], "    ", map[string]bool{})
		}
	}
}

// genJump emits a jump among the primitives of an action.
func (c *compiler) genJump(p *bmv2json.Primitive, i int, labels []ops.Label) {
	defer c.releaseTemps(c.tempTop)
	want := 1
	if p.Op == "_jump_if_zero" {
		want = 2
	}
	if len(p.Parameters) != want {
		c.errorf(p.Pos, "primitive %s has %d parameters, expected %d", p.Op, len(p.Parameters), want)
		return
	}
	target := c.number(p, want-1)
	to, ok := target.small(len(labels))
	if !ok {
		c.errorf(p.Pos, "%s goes to no primitive of the action", p.Op)
		return
	}
	if want == 1 {
		c.jump(labels[to])
		return
	}
	cond := c.arg(p, 0)
	if cond.kind == kData {
		cond = &expr{op: "d2b", kind: kBool, r: cond, pos: cond.pos}
	}
	if cond = c.want(cond, kBool); to > i {
		c.jumpUnless(cond, labels[to])
		return
	}
	// Only unconditional jumps go backwards: they are counted.
	skip := c.label()
	c.jumpIf(cond, true, skip)
	c.jump(labels[to])
	c.place(skip)
}

func inPlace(op string) func(*compiler, *bmv2json.Primitive) {
	return func(c *compiler, p *bmv2json.Primitive) {
		dst := c.want(c.arg(p, 0), kData)
		e := &expr{op: op, l: dst, r: c.number(p, 1), pos: p.Pos}
		c.arith(e)
		c.assign(dst, e)
	}
}

func ofTwo(op string) func(*compiler, *bmv2json.Primitive) {
	return func(c *compiler, p *bmv2json.Primitive) {
		e := &expr{op: op, l: c.number(p, 1), r: c.number(p, 2), pos: p.Pos}
		c.arith(e)
		c.assign(c.arg(p, 0), e)
	}
}

// assign emits dst = src, truncated to the type of the field dst.
func (c *compiler) assign(dst, src *expr) {
	if dst.kind != kData || dst.op != opField && dst.op != "access_field" || dst.hdr == nil && dst.op == opField {
		c.errorf(dst.pos, "nothing can be assigned to this")
		return
	}
	f := dst.typ.Fields[dst.member]
	if dst.isVarbit() {
		c.varbitAssign(dst, src)
		return
	}
	if f.Saturating {
		op := "usat_cast"
		if f.Signed {
			op = "sat_cast"
		}
		src = (&expr{op: op, l: src, width: f.Width, pos: src.pos}).rangeOf(f.Width, f.Signed)
	}
	n := ops.LimbsOf(f.Width)
	if dst.op == "access_field" {
		t := c.temp(n)
		c.store(t, n, src, f)
		base := c.block(dst.l)
		for i := range n {
			c.emit(ops.Store, 0, base, t+i, uint64(dst.rel()+i))
		}
		return
	}
	c.store(dst.slot, n, src, f)
}

// store emits slot = src, truncated to the width and sign of a field.
func (c *compiler) store(slot, n int, src *expr, f ops.FieldType) {
	switch {
	case n == 1 && src.fits(f.Width, f.Signed):
		c.genTo(src, 1, slot, ops.AllBits)
	case n == 1 && f.Signed:
		c.emit(ops.Sext, slot, c.gen(src, 1), 0, uint64(f.Width))
	case n == 1:
		c.genTo(src, 1, slot, ops.MaskOf(f.Width))
	default:
		t := c.gen(src, n)
		c.emit(ops.WExt, slot, t, 0, ops.Pack(n, n, 0, false))
		if src.fits(f.Width, f.Signed) {
			return
		}
		op := ops.WMask
		if f.Signed {
			op = ops.WSext
		}
		c.emit(op, slot, 0, 0, ops.Pack(n, f.Width, 0, false))
	}
}

// tempField returns n temporary slots as an unsigned number of width bits.
func (c *compiler) tempField(width int, pos diag.Pos) *expr {
	n := ops.LimbsOf(width)
	return (&expr{op: opField, slot: c.temp(n), limbs: n, width: width, pos: pos}).rangeOf(width, false)
}

// into makes code compute an unsigned number of width bits into a field. The
// field is unchanged if the code does not write its slots.
func (c *compiler) into(dst *expr, width int, code func(slot int)) {
	if dst.op == opField && dst.slot >= 0 && dst.hdr != nil {
		if f := dst.typ.Fields[dst.member]; f.Width >= width && !f.Signed && !f.Saturating && ops.LimbsOf(f.Width) == ops.LimbsOf(width) {
			code(dst.slot)
			return
		}
	}
	if dst.kind != kData || dst.isVarbit() {
		c.errorf(dst.pos, "nothing can be assigned to this")
		return
	}
	t := c.tempField(width, dst.pos)
	n := ops.LimbsOf(width)
	c.genTo(dst, n, t.slot, ops.AllBits)
	code(t.slot)
	c.assign(dst, t)
}

// genMarkToDrop emits mark_to_drop. Its parameter may be a copy of the standard
// metadata: p4c makes one for an action with such a parameter.
func (c *compiler) genMarkToDrop(p *bmv2json.Primitive) {
	v := p.Parameters[0]
	std, _, _ := c.lookupField(c.arch.EgressSpec)
	h := c.headers[v.Name]
	if v.Type != bmv2json.TypeHeader || h == nil {
		c.errorf(v.Pos, "parameter 1 of mark_to_drop is not a header")
		return
	}
	if h == std {
		c.emit(ops.Drop, 0, 0, 0, 0)
		return
	}
	field := func(name string) *expr {
		if h.Type.Index(name) < 0 {
			return nil
		}
		return c.expr(&bmv2json.Value{Pos: v.Pos, Type: bmv2json.TypeField, Name: v.Name, Field: name})
	}
	if f := field(egressSpec); f != nil {
		c.into(f, 9, func(s int) { c.emit(ops.DropPort, s, 0, 0, 0) })
	}
	if f := field(mcastGroup); f != nil {
		c.assign(f, constant(new(big.Int), v.Pos))
	}
}

// Fields that mark_to_drop writes.
const (
	egressSpec = "egress_spec"
	mcastGroup = "mcast_grp"
)

func (c *compiler) genRandom(p *bmv2json.Primitive) {
	dst := c.arg(p, 0)
	a, b := c.short(p, 1), c.short(p, 2)
	c.into(dst, 64, func(s int) { c.emit(ops.Random, s, a, b, 0) })
}

func (c *compiler) genHash(p *bmv2json.Primitive) {
	dst := c.arg(p, 0)
	calc, ok := c.object(p, 2, bmv2json.TypeCalculation, c.calcs)
	if !ok {
		return
	}
	a, b := c.short(p, 1), c.short(p, 3)
	c.into(dst, 64, func(s int) { c.emit(ops.Hash, s, a, b, uint64(calc)) })
}

func (c *compiler) genMeter(p *bmv2json.Primitive) {
	m, ok := c.object(p, 0, bmv2json.TypeMeterArray, c.meters)
	if !ok {
		return
	}
	i := c.index(c.number(p, 1))
	c.into(c.arg(p, 2), 2, func(s int) { c.emit(ops.Meter, s, i, c.constSlot(bigZero, 1), uint64(m)) })
}

// genMeterAware emits the execution of a meter that knows the packet's colour, and
// bytes that it does not meter.
func (c *compiler) genMeterAware(p *bmv2json.Primitive) {
	m, ok := c.object(p, 0, bmv2json.TypeMeterArray, c.meters)
	if !ok {
		return
	}
	i, colour, adjust := c.index(c.number(p, 1)), c.short(p, 2), c.short(p, 3)
	both, part := c.temp(1), c.temp(1)
	c.emit(ops.Shl, both, adjust, c.constSlot(big.NewInt(ops.ColourBits), 1), ops.AllBits)
	c.emit(ops.And, part, colour, c.constSlot(big.NewInt(1<<ops.ColourBits-1), 1), ops.AllBits)
	c.emit(ops.Or, both, both, part, ops.AllBits)
	c.into(c.arg(p, 4), 2, func(s int) { c.emit(ops.Meter, s, i, both, uint64(m)) })
}

func (c *compiler) genCount(p *bmv2json.Primitive) {
	k, ok := c.object(p, 0, bmv2json.TypeCounterArray, c.counters)
	if !ok {
		return
	}
	adjust := c.constSlot(bigZero, 1)
	if len(p.Parameters) > 2 {
		adjust = c.short(p, 2)
	}
	c.emit(ops.Count, 0, c.index(c.number(p, 1)), adjust, uint64(k))
}

// genWhole emits a calculation whose result is not reduced.
func (c *compiler) genWhole(p *bmv2json.Primitive) {
	dst := c.arg(p, 0)
	if calc, ok := c.object(p, 1, bmv2json.TypeCalculation, c.calcs); ok {
		c.into(dst, 64, func(s int) { c.emit(ops.Whole, s, 0, 0, uint64(calc)) })
	}
}

func (c *compiler) genRegisterRead(p *bmv2json.Primitive) {
	r, ok := c.object(p, 1, bmv2json.TypeRegisterArray, c.registers)
	if !ok {
		return
	}
	i := c.index(c.number(p, 2))
	zero := 0
	if c.arch.ZeroBeyond {
		zero = 1
	}
	c.into(c.arg(p, 0), c.Prog.Registers[r].Width, func(s int) { c.emit(ops.RegRead, s, i, zero, uint64(r)) })
}

func (c *compiler) genRegisterWrite(p *bmv2json.Primitive) {
	r, ok := c.object(p, 0, bmv2json.TypeRegisterArray, c.registers)
	if !ok {
		return
	}
	width := c.Prog.Registers[r].Width
	i := c.index(c.number(p, 1))
	src := c.number(p, 2)
	n := ops.LimbsOf(width)
	if src.op == opField && src.limbs == n && src.fits(width, false) {
		c.emit(ops.RegWrite, 0, i, src.slot, uint64(r))
		return
	}
	t := c.temp(n)
	c.store(t, n, src, ops.FieldType{Width: width})
	c.emit(ops.RegWrite, 0, i, t, uint64(r))
}

func (c *compiler) genClone(p *bmv2json.Primitive) {
	session := c.short(p, 0)
	c.emit(ops.Clone, 0, session, c.short(p, 1), 0)
}

func (c *compiler) genMirror(p *bmv2json.Primitive) {
	if c.arch != &ops.TNA {
		c.errorf(p.Pos, "mirror is a primitive of %s programs only", bmv2json.TNA)
		return
	}
	session := c.short(p, 0)
	c.emit(ops.Mirror, 0, session, c.short(p, 1), 0)
}

func (c *compiler) genHeaderOp(p *bmv2json.Primitive, op ops.Opcode) {
	h := c.want(c.arg(p, 0), kHeader)
	switch {
	case h.typ == nil:
	case h.op == opHeader && h.hdr.Slots != nil:
		c.errorf(p.Pos, "%s of metadata %s", p.Op, h.hdr.Name)
	default:
		c.emit(op, 0, c.block(h), 0, uint64(c.headerOpFor(h)))
	}
}

func (c *compiler) genAssignHeader(p *bmv2json.Primitive) {
	dst, src := c.want(c.arg(p, 0), kHeader), c.want(c.arg(p, 1), kHeader)
	for _, h := range []*expr{dst, src} {
		if h.op == opHeader && h.hdr != nil && h.hdr.Slots != nil {
			c.errorf(p.Pos, "%s of metadata %s", p.Op, h.hdr.Name)
			return
		}
	}
	c.copyHeader(dst, src)
}

func (c *compiler) genAssignUnion(p *bmv2json.Primitive) {
	ds, ss := c.unionMembers(c.want(c.arg(p, 0), kUnion)), c.unionMembers(c.want(c.arg(p, 1), kUnion))
	if len(ds) != len(ss) {
		c.errorf(p.Pos, "assignment of a union of another type")
		return
	}
	for i := range ds {
		c.copyHeader(ds[i], ss[i])
	}
}

func (c *compiler) genAssignStack(p *bmv2json.Primitive) {
	dst, src := c.arg(p, 0), c.arg(p, 1)
	if dst.kind != src.kind || dst.kind != kStack && dst.kind != kUnionStack {
		c.errorf(p.Pos, "%s of a %v and a %v", p.Op, dst.kind, src.kind)
		return
	}
	a, b := c.stackOpFor(dst), c.stackOpFor(src)
	if x, y := c.Prog.StackOps[a], c.Prog.StackOps[b]; x.N != y.N || x.Stride != y.Stride {
		c.errorf(p.Pos, "assignment of a stack of another type")
		return
	}
	c.emit(ops.CopyStack, 0, 0, 0, ops.Pack(a, b, 0, false))
}

func (c *compiler) genShift(p *bmv2json.Primitive, op ops.Opcode) {
	s := c.arg(p, 0)
	if s.kind != kStack && s.kind != kUnionStack {
		c.errorf(p.Pos, "%s of a %v", p.Op, s.kind)
		return
	}
	n := c.short(p, 1)
	c.emit(op, 0, 0, n, uint64(c.stackOpFor(s)))
}

func (c *compiler) genAssignVarbit(p *bmv2json.Primitive) {
	c.varbitAssign(c.arg(p, 0), c.arg(p, 1))
}

func (c *compiler) varbitAssign(dst, src *expr) {
	a := c.varbitBlock(dst)
	c.emit(ops.Varbit, 0, a, c.varbitBlock(src), 0)
}

func (c *compiler) genAssert(p *bmv2json.Primitive) {
	text := p.Op + " failed"
	msg := ops.Message{Text: text}
	if s := p.SourceInfo; s != nil {
		msg.Text += ": " + s.Fragment
		msg.Pos = sourcePos(s)
	}
	c.Prog.Messages = append(c.Prog.Messages, msg)
	t := c.temp(1)
	if e := c.arg(p, 0); e.kind == kBool {
		c.genBool(e, t)
	} else {
		e = c.want(e, kData)
		c.genBool(&expr{op: "d2b", kind: kBool, r: e, pos: e.pos}, t)
	}
	c.emit(ops.Assert, 0, t, 0, uint64(len(c.Prog.Messages)-1))
}

func (c *compiler) genLog(p *bmv2json.Primitive) {
	if p.Parameters[0].Type != bmv2json.TypeString || p.Parameters[1].Type != bmv2json.TypeParams {
		c.errorf(p.Pos, "log_msg wants a string and a vector of values")
		return
	}
	msg := ops.Message{Text: p.Parameters[0].Name}
	if p.SourceInfo != nil {
		msg.Pos = sourcePos(p.SourceInfo)
	}
	for _, v := range p.Parameters[1].List {
		e := c.expr(v)
		if e.kind == kBool {
			e = &expr{op: "b2d", r: e, lo: bigZero, hi: bigOne, pos: e.pos}
		}
		e = c.want(e, kData)
		n := e.need()
		msg.Args = append(msg.Args, ops.FieldAt{Slot: c.gen(e, n), Limbs: n, Width: 64 * n, Signed: e.signed()})
	}
	c.Prog.Messages = append(c.Prog.Messages, msg)
	c.emit(ops.Log, 0, 0, 0, uint64(len(c.Prog.Messages)-1))
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
