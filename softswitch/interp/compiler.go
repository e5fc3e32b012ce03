// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
)

// CodeProgram marks an error in a program that is well-formed JSON.
const CodeProgram diag.Code = "json-program"

// validField is the hidden field with the validity of a header.
const validField = "$valid$"

// architecture describes an architecture to the compiler.
type architecture struct {
	name string // as in the file
	// parsers, pipelines and deparsers are their names in the file, by gress. ""
	// matches any name, "-" none.
	parsers, pipelines, deparsers [gresses]string
	// fields are the metadata fields that the architecture accesses, by BMv2's
	// names including aliases, and where. Fields without a use are written only if
	// the program uses them.
	fields map[string]use
	// zeroBeyond is true if reading beyond the end of a register array gives zero.
	// Otherwise the destination does not change.
	zeroBeyond bool
	// egressSpec and multicastGroup are the fields that mark_to_drop and drop
	// set.
	egressSpec, multicastGroup string
	// reads are the fields that the architecture reads after the pipelines. sets
	// are those that it always writes before egress.
	reads [gresses][]string
	sets  []string
}

// expect returns the required number of a program's objects of a kind.
func (a *architecture) expect(kind string) string {
	names := map[string][gresses]string{"parser": a.parsers, "pipeline": a.pipelines, "deparser": a.deparsers}[kind]
	switch {
	case a.name == "" && kind != "pipeline":
		return "a v1model program has one " + kind
	case a.name == "":
		return "a v1model program has ingress and egress, once each"
	case kind == "pipeline":
		return fmt.Sprintf("a %s program has %s, %s, %s and %s, once each", a.name, names[in], names[out], a.deparsers[in], a.deparsers[out])
	}
	return fmt.Sprintf("a %s program has %s and %s, once each", a.name, names[in], names[out])
}

// v1Model is simple_switch's architecture with standard_metadata.
var v1Model = architecture{
	parsers: [gresses]string{"", "-"}, pipelines: [gresses]string{"ingress", "egress"}, deparsers: [gresses]string{"-", ""},
	fields: map[string]use{
		"standard_metadata.ingress_port":              useIngress | useEgress | useWrite,
		"standard_metadata.egress_spec":               useIngress | useEgress | useWrite,
		"standard_metadata.egress_port":               useEgress | useWrite,
		"standard_metadata.instance_type":             useIngress | useEgress | useWrite,
		"standard_metadata.packet_length":             useIngress | useEgress | useWrite,
		"standard_metadata.parser_error":              useIngress | useWrite,
		"standard_metadata.checksum_error":            useIngress | useWrite,
		"intrinsic_metadata.ingress_global_timestamp": useIngress | useWrite,
		"intrinsic_metadata.egress_global_timestamp":  useEgress | useWrite,
		"intrinsic_metadata.mcast_grp":                useIngress | useWrite,
		"intrinsic_metadata.egress_rid":               useEgress | useWrite,
		"intrinsic_metadata.priority":                 useIngress,
		"queueing_metadata.enq_timestamp":             useEgress | useWrite,
		"queueing_metadata.enq_qdepth":                useEgress | useWrite,
		"queueing_metadata.deq_timedelta":             useEgress | useWrite,
		"queueing_metadata.deq_qdepth":                useEgress | useWrite,
		"queueing_metadata.qid":                       useEgress | useWrite,
	},
	egressSpec:     "standard_metadata.egress_spec",
	multicastGroup: "intrinsic_metadata.mcast_grp",
	reads: [gresses][]string{
		{"standard_metadata.egress_spec", "intrinsic_metadata.mcast_grp", "intrinsic_metadata.priority"},
		{"standard_metadata.egress_spec"},
	},
	sets: []string{"standard_metadata.egress_port", "standard_metadata.egress_spec", "standard_metadata.packet_length",
		"intrinsic_metadata.egress_global_timestamp", "queueing_metadata.enq_timestamp", "queueing_metadata.enq_qdepth",
		"queueing_metadata.deq_timedelta", "queueing_metadata.deq_qdepth", "queueing_metadata.qid"},
}

// compiler translates a file to a Program.
type compiler struct {
	draft
	json *bmv2json.Program
	arch *architecture
	opts Options
	list diag.List

	types           []*headerType
	headers         map[string]*header
	stacks          map[string]*stack
	stackOrder      []*stack
	unions          map[string]*union
	unionOrder      []*union
	unionStacks     map[string]*unionStack
	unionStackOrder []*unionStack
	aliases         map[string]bmv2json.FieldRef
	actions         map[int]*action
	usedActions     map[int]use
	usedCalcs       map[string]bool
	calcsNamed      map[string][]*bmv2json.Calculation

	registers, counters, meters, calcs, vsets, profiles map[string]int
	tables                                              map[string]int
	actionNumbers                                       []int // action ids by number

	temps, tempTop int
	consts         map[string]int // index of the constant
	placed         int            // the last position of a label
	parseEnd       label          // the end of the parser being compiled

	action *action // the current action
	args   []*big.Int
}

// action is an action declaration.
type action struct {
	json   *bmv2json.Action
	params []param
	slots  int
	exits  bool
}

type param struct {
	name  string
	slot  int // from compiler.params
	width int
}

// label is a position in the code that may not be known yet.
type label int

// maxErrors is the number of errors that are reported.
const maxErrors = 200

// enough is the panic of a compiler that has maxErrors.
type enough struct{}

func (c *compiler) errorf(pos diag.Pos, format string, args ...any) {
	if len(c.list) >= maxErrors {
		c.list.Errorf(c.json.Pos, CodeProgram, "further errors are not reported")
		panic(enough{})
	}
	if !pos.IsValid() {
		pos = c.json.Pos
	}
	c.list.Errorf(pos, CodeProgram, format, args...)
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// lookupField finds a field by BMv2's name, "header.field" or an alias.
func (c *compiler) lookupField(name string) (*header, int, bool) {
	ref, ok := c.aliases[name]
	if !ok {
		ref = splitField(name)
	}
	h := c.headers[ref.Header]
	if h == nil {
		return nil, 0, false
	}
	i := h.typ.index(ref.Field)
	return h, i, i >= 0
}

func splitField(name string) bmv2json.FieldRef {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return bmv2json.FieldRef{Header: name[:i], Field: name[i+1:]}
		}
	}
	return bmv2json.FieldRef{Header: name}
}

// field finds a field, or reports that there is none.
func (c *compiler) field(ref bmv2json.FieldRef, pos diag.Pos) (*header, int, bool) {
	h := c.headers[ref.Header]
	if h == nil {
		c.errorf(pos, "unknown header %s%s", ref.Header, diag.DidYouMean(ref.Header, keys(c.headers)))
		return nil, 0, false
	}
	i := h.typ.index(ref.Field)
	if i < 0 {
		var names []string
		for _, f := range h.typ.fields {
			names = append(names, f.name)
		}
		c.errorf(pos, "header %s has no field %s%s", ref.Header, ref.Field, diag.DidYouMean(ref.Field, names))
		return nil, 0, false
	}
	return h, i, true
}

// unionStackMember returns a member of the first union in a stack.
func (c *compiler) unionStackMember(stack, member string) *header {
	s := c.unionStacks[stack]
	if s == nil {
		return nil
	}
	u := s.elements[0]
	for i, m := range u.typ.Headers {
		if m.Name == member {
			return u.members[i]
		}
	}
	return nil
}

// emit adds an instruction.
func (c *compiler) emit(op opcode, d, a, b int, imm uint64) {
	c.code = append(c.code, instr{op, slot(d), slot(a), slot(b), imm})
}

// temp returns n temporary slots, which are released at the end of the
// statement.
func (c *compiler) temp(n int) int {
	t := c.tempTop
	c.tempTop += n
	if c.tempTop > c.tempMax {
		c.tempMax = c.tempTop
	}
	if c.tempTop > maxSlots/2 {
		c.errorf(c.json.Pos, "the program's expressions take too many temporaries")
		c.tempTop = c.temps
	}
	return t
}

func (c *compiler) releaseTemps(top int) { c.tempTop = top }

// firstConst is the slot number of the first constant during compilation. The
// final slots are known only when all temporaries are.
const firstConst = maxSlots - 1<<14

// constSlot returns the slots of a constant of n limbs.
func (c *compiler) constSlot(v *big.Int, n int) int {
	limbs := make([]uint64, n)
	x := new(big.Int).Set(v)
	for i := range limbs {
		limbs[i] = low(x)
		x.Rsh(x, 64)
	}
	key := string(appendLimbs(nil, limbs))
	at, ok := c.consts[key]
	if !ok {
		at = len(c.constList)
		c.constList = append(c.constList, limbs...)
		c.consts[key] = at
		if len(c.constList) > maxSlots-firstConst {
			c.errorf(c.json.Pos, "the program has more than %d constants", maxSlots-firstConst)
			return firstConst
		}
	}
	return firstConst + at
}

func appendLimbs(b []byte, limbs []uint64) []byte {
	for _, x := range limbs {
		for range 8 {
			b = append(b, byte(x))
			x >>= 8
		}
	}
	return b
}

func (c *compiler) label() label {
	c.labels = append(c.labels, -1)
	return label(len(c.labels) - 1)
}

// place sets a label to the current position. It removes a jump to the label
// that directly precedes it.
func (c *compiler) place(l label) {
	if n := len(c.code) - 1; n >= 0 && c.code[n].op == iJmp && c.code[n].imm == uint64(l) && c.placed <= n {
		c.code = c.code[:n]
	}
	c.labels[l] = len(c.code)
	c.placed = len(c.code)
}

func (c *compiler) branch(op opcode, a, b int, to label) { c.emit(op, 0, a, b, uint64(to)) }

func (c *compiler) jump(to label) { c.emit(iJmp, 0, 0, 0, uint64(to)) }

// loopless reports whether an instruction is in code without loops.
func (c *compiler) loopless(i int) bool {
	return slices.ContainsFunc(c.straight, func(s section) bool { return i >= s.start && i < s.end })
}

// finish replaces labels by positions and puts the constants after the
// temporaries.
func (c *compiler) finish() {
	p := c.prog
	base := c.tempMax
	if base < p.fieldsEnd+clearedSlots { // slots that are cleared together with the last field are not constants
		base = p.fieldsEnd + clearedSlots
	}
	p.slots = base + len(c.constList)
	if p.slots > firstConst {
		c.errorf(c.json.Pos, "the program takes %d slots, more than %d", p.slots, firstConst)
		return
	}
	p.consts, p.constBase = c.constList, base
	move := func(s *slot) {
		if *s >= firstConst {
			*s = *s - firstConst + slot(base)
		}
	}
	for i := range c.code {
		in := &c.code[i]
		move(&in.d)
		move(&in.a)
		move(&in.b)
		if in.op.isJump() {
			in.imm = uint64(c.labels[in.imm])
			if int(in.imm) <= i && in.op == iJmp && !c.loopless(i) {
				in.op = iBack
			}
		}
	}
	p.code = slices.Grow(c.code, 1) // a pointer behind the last instruction stays inside the allocation
	at := func(l label) int32 { return int32(c.labels[l]) }
	for g := range p.parseEnd {
		p.parseEnd[g] = at(label(p.parseEnd[g]))
	}
	for _, t := range p.Tables {
		for i := range t.pcs {
			t.pcs[i] = at(label(t.pcs[i]))
		}
		t.orderActions(len(p.Actions))
	}
	for i := range p.matches {
		p.matches[i].to = at(label(p.matches[i].to))
	}
	for i := range p.vsetJumps {
		p.vsetJumps[i].to = at(label(p.vsetJumps[i].to))
	}
	fix := func(fields []fieldAt) {
		for i := range fields {
			if fields[i].slot >= firstConst {
				fields[i].slot += base - firstConst
			}
		}
	}
	for _, l := range p.fieldLists {
		fix(l.fields)
	}
	for _, d := range p.Digests {
		fix(d.list.fields)
	}
	for _, msg := range p.messages {
		fix(msg.args)
	}
	for _, t := range p.Tables {
		for i := range t.parts {
			move(&t.parts[i].slot)
		}
	}
	for _, s := range p.switches {
		for i := range s.to {
			s.to[i] = at(label(s.to[i]))
		}
	}
}

// check verifies that all slots and instructions that run accesses are within
// bounds.
func (p *Program) check() {
	in := func(n, limit int) {
		if n < 0 || n >= limit {
			panic(fmt.Sprintf("BUG: the program has %d slots and %d instructions; one goes to %d", p.slots, len(p.code), n))
		}
	}
	for i := range p.code {
		x := &p.code[i]
		in(int(x.d), p.slots)
		in(int(x.a), p.slots)
		switch x.op {
		case iField, iPeek: // b is a byte
		case iTake:
			in(int(x.d)+relDirty, p.slots)
		case iTakeFields:
			in(int(x.d)+relDirty, p.slots)
			in(i+1, len(p.code))
		case iFields:
			in(i+x.run()-1, len(p.code))
		case iMovs:
			in(i+int(x.b)-1, len(p.code))
		case iJBytes:
			in(int(x.b), len(p.byteMatches))
		default:
			in(int(x.b), p.slots)
		}
		if x.op.isJump() {
			in(int(x.imm), len(p.code))
		}
		if next := x.op != iEnd && x.op != iJmp && x.op != iBack && x.op != iApply; next {
			in(i+1, len(p.code))
		}
	}
	for _, starts := range [][gresses]int32{p.parse, p.pipeline, p.finish, p.parseEnd} {
		in(int(starts[0]), len(p.code))
		in(int(starts[1]), len(p.code))
	}
	for _, t := range p.Tables {
		for _, pc := range t.pcs {
			in(int(pc), len(p.code))
		}
	}
}
