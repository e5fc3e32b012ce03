// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// CodeProgram marks an error in a program that is well-formed JSON.
const CodeProgram diag.Code = "json-program"

// compiler translates a file to a Program.
type compiler struct {
	ops.Draft
	json *bmv2json.Program
	arch *ops.Architecture
	opts Options
	list diag.List

	types           []*ops.HeaderType
	headers         map[string]*ops.Header
	stacks          map[string]*ops.Stack
	stackOrder      []*ops.Stack
	unions          map[string]*ops.Union
	unionOrder      []*ops.Union
	unionStacks     map[string]*ops.UnionStack
	unionStackOrder []*ops.UnionStack
	aliases         map[string]bmv2json.FieldRef
	actions         map[int]*action
	usedActions     map[int]ops.Use
	said            string  // the statement that a trace shows, if its next primitive is in the same one
	gress           ops.Use // UseIngress or UseEgress while a pipeline is generated
	usedCalcs       map[string]bool
	calcsNamed      map[string][]*bmv2json.Calculation

	registers, counters, meters, calcs, vsets, profiles map[string]int
	tables                                              map[string]int
	actionNumbers                                       []int // action ids by number

	temps, tempTop int
	consts         map[string]int // index of the constant
	placed         int            // the last position of a label
	parseEnd       ops.Label      // the end of the parser being compiled

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
func (c *compiler) lookupField(name string) (*ops.Header, int, bool) {
	ref, ok := c.aliases[name]
	if !ok {
		ref = splitField(name)
	}
	h := c.headers[ref.Header]
	if h == nil {
		return nil, 0, false
	}
	i := h.Type.Index(ref.Field)
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
func (c *compiler) field(ref bmv2json.FieldRef, pos diag.Pos) (*ops.Header, int, bool) {
	h := c.headers[ref.Header]
	if h == nil {
		c.errorf(pos, "unknown header %s%s", ref.Header, diag.DidYouMean(ref.Header, keys(c.headers)))
		return nil, 0, false
	}
	i := h.Type.Index(ref.Field)
	if i < 0 {
		var names []string
		for _, f := range h.Type.Fields {
			names = append(names, f.Name)
		}
		c.errorf(pos, "header %s has no field %s%s", ref.Header, ref.Field, diag.DidYouMean(ref.Field, names))
		return nil, 0, false
	}
	return h, i, true
}

// unionStackMember returns a member of the first union in a stack.
func (c *compiler) unionStackMember(stack, member string) *ops.Header {
	s := c.unionStacks[stack]
	if s == nil {
		return nil
	}
	u := s.Elements[0]
	for i, m := range u.Type.Headers {
		if m.Name == member {
			return u.Members[i]
		}
	}
	return nil
}

// emit adds an instruction.
func (c *compiler) emit(op ops.Opcode, d, a, b int, imm uint64) {
	c.Code = append(c.Code, ops.Instr{Op: op, D: ops.Slot(d), A: ops.Slot(a), B: ops.Slot(b), Imm: imm})
}

// temp returns n temporary slots, which are released at the end of the
// statement.
func (c *compiler) temp(n int) int {
	t := c.tempTop
	c.tempTop += n
	if c.tempTop > c.TempMax {
		c.TempMax = c.tempTop
	}
	if c.tempTop > ops.MaxSlots/2 {
		c.errorf(c.json.Pos, "the program's expressions take too many temporaries")
		c.tempTop = c.temps
	}
	return t
}

func (c *compiler) releaseTemps(top int) { c.tempTop = top }

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
		at = len(c.ConstList)
		c.ConstList = append(c.ConstList, limbs...)
		c.consts[key] = at
		if len(c.ConstList) > ops.MaxSlots-ops.FirstConst {
			c.errorf(c.json.Pos, "the program has more than %d constants", ops.MaxSlots-ops.FirstConst)
			return ops.FirstConst
		}
	}
	return ops.FirstConst + at
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

func (c *compiler) label() ops.Label {
	c.Labels = append(c.Labels, -1)
	return ops.Label(len(c.Labels) - 1)
}

// place sets a label to the current position. It removes a jump to the label
// that directly precedes it.
func (c *compiler) place(l ops.Label) {
	if n := len(c.Code) - 1; n >= 0 && c.Code[n].Op == ops.Jmp && c.Code[n].Imm == uint64(l) && c.placed <= n {
		c.Code = c.Code[:n]
	}
	c.Labels[l] = len(c.Code)
	c.placed = len(c.Code)
}

func (c *compiler) branch(op ops.Opcode, a, b int, to ops.Label) { c.emit(op, 0, a, b, uint64(to)) }

func (c *compiler) jump(to ops.Label) { c.emit(ops.Jmp, 0, 0, 0, uint64(to)) }

// loopless reports whether an instruction is in code without loops.
func (c *compiler) loopless(i int) bool {
	return slices.ContainsFunc(c.Straight, func(s ops.Section) bool { return i >= s.Start && i < s.End })
}

// finish replaces labels by positions and puts the constants after the
// temporaries.
func (c *compiler) finish() {
	p := c.Prog
	base := c.TempMax
	if base < p.FieldsEnd+ops.ClearedSlots { // slots that are cleared together with the last field are not constants
		base = p.FieldsEnd + ops.ClearedSlots
	}
	p.Slots = base + len(c.ConstList)
	if p.Slots > ops.FirstConst {
		c.errorf(c.json.Pos, "the program takes %d slots, more than %d", p.Slots, ops.FirstConst)
		return
	}
	p.Consts, p.ConstBase = c.ConstList, base
	move := func(s *ops.Slot) {
		if *s >= ops.FirstConst {
			*s = *s - ops.FirstConst + ops.Slot(base)
		}
	}
	for i := range c.Code {
		in := &c.Code[i]
		move(&in.D)
		move(&in.A)
		move(&in.B)
		if in.Op.IsJump() {
			in.Imm = uint64(c.Labels[in.Imm])
			if int(in.Imm) <= i && in.Op == ops.Jmp && !c.loopless(i) {
				in.Op = ops.Back
			}
		}
	}
	p.Code = slices.Grow(c.Code, 1) // a pointer behind the last instruction stays inside the allocation
	at := func(l ops.Label) int32 { return int32(c.Labels[l]) }
	for g := range p.ParseEnd {
		p.ParseEnd[g] = at(ops.Label(p.ParseEnd[g]))
	}
	for _, t := range p.Tables {
		for i := range t.PCs {
			t.PCs[i] = at(ops.Label(t.PCs[i]))
		}
		t.OrderActions(len(p.Actions))
	}
	for i := range p.Matches {
		p.Matches[i].To = at(ops.Label(p.Matches[i].To))
	}
	for i := range p.VSetJumps {
		p.VSetJumps[i].To = at(ops.Label(p.VSetJumps[i].To))
	}
	fix := func(fields []ops.FieldAt) {
		for i := range fields {
			if fields[i].Slot >= ops.FirstConst {
				fields[i].Slot += base - ops.FirstConst
			}
		}
	}
	for _, l := range p.FieldLists {
		fix(l.Fields)
	}
	for _, d := range p.Digests {
		fix(d.List.Fields)
	}
	for _, msg := range p.Messages {
		fix(msg.Args)
	}
	for _, t := range p.Tables {
		for i := range t.Parts {
			move(&t.Parts[i].Slot)
		}
	}
	for _, s := range p.Switches {
		for i := range s.To {
			s.To[i] = at(ops.Label(s.To[i]))
		}
	}
}
