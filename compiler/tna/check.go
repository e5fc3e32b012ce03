// SPDX-License-Identifier: Apache-2.0

// Package tna reports constructs that the language allows and a Tofino 1 cannot
// execute, or executes in another way, in programs for the Tofino Native Architecture. Each error has a
// position and proposes an alternative. The programs must have passed the type
// checker. Only p4c's Tofino backend can decide whether a program fits into the
// stages.
package tna

import (
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/diag"
)

// Codes of the errors.
const (
	CodeAccess     diag.Code = "tna-access"     // a register is accessed twice
	CodeActions    diag.Code = "tna-actions"    // too many RegisterActions
	CodeComparison diag.Code = "tna-comparison" // < of two variables, or of too many bits, outside of a RegisterAction
	CodeArithmetic diag.Code = "tna-arithmetic" // *, /, %, << by a variable, or |+|, |-|, min or max of an unsupported width
	CodeALU        diag.Code = "tna-alu"        // too many comparisons or operands for a stateful ALU, or an unsupported operation
	CodeAge        diag.Code = "tna-age"        // a warning: the age of a cell is compared in a way that fails for some values of the clock
	CodeCell       diag.Code = "tna-cell"       // a cell that is neither a number of 1, 8, 16 or 32 bits nor a pair of one type
)

// maxRange is the number of bits that a gateway compares with a range.
const maxRange = 12

// Limits of a stateful ALU.
const (
	maxActions     = 4
	maxComparisons = 2
	maxOperands    = 2
	maxBits        = 32
)

// Check reports constructs that the hardware cannot execute.
func Check(tree *syntax.Program, info *types.Info, rep *source.Reporter) {
	c := &checker{info: info, rep: rep}
	c.clocks(tree)
	for _, d := range tree.Decls {
		if d, ok := d.(*syntax.ControlDecl); ok && d.HasBody {
			c.control(d)
		}
	}
}

type checker struct {
	info  *types.Info
	rep   *source.Reporter
	times map[string]bool // fields and variables that have a time
}

func (c *checker) control(d *syntax.ControlDecl) {
	actions := make(map[*types.Instance][]*syntax.InstanceDecl)
	inputs := make(map[*types.Instance]map[string]source.Pos)
	units := make(map[*types.Instance]*types.Instance)
	var registers []*types.Instance
	for _, l := range d.Locals {
		switch l := l.(type) {
		case *syntax.ActionDecl:
			c.arithmetic(l.Body)
			c.shortTimes(l.Body, l.Annotations)
		case *syntax.InstanceDecl:
			o, ok := c.info.Defs[l].(*types.Instance)
			if !ok {
				continue
			}
			switch externName(o) {
			case "Register", "DirectRegister":
				c.cell(l, o)
			case "RegisterAction", "DirectRegisterAction":
				r := c.register(l)
				if r == nil {
					continue
				}
				if len(actions[r]) == 0 {
					registers = append(registers, r)
				}
				actions[r] = append(actions[r], l)
				if inputs[r] == nil {
					inputs[r] = make(map[string]source.Pos)
				}
				c.alu(l, r, inputs[r])
				c.mathUnits(l, r, units)
			}
		case *syntax.TableDecl:
			c.indices(l)
		}
	}
	if len(registers) > 0 && slices.ContainsFunc(d.Params, func(p *syntax.Param) bool { return syntax.Text(p.Type) == "packet_out" }) {
		c.rep.Errorf(actions[registers[0]][0].Pos(), CodeAccess, "a deparser has no registers: access %s in the control before it", registers[0].ObjName())
	}
	for _, r := range registers {
		if list := actions[r]; len(list) > maxActions {
			c.rep.Errorf(list[maxActions].Pos(), CodeActions,
				"register %s has %d RegisterActions, a stateful ALU has room for %d: combine two that differ in a value, and pass that value",
				r.ObjName(), len(list), maxActions)
		}
	}
	c.arithmetic(d.Body)
	c.shortTimes(d.Body, d.Annotations)
	for at, list := range c.count(d.Body, "") {
		// An inner control that accesses a register twice has its own error. Only
		// applying it twice is reported here.
		if len(list) > 1 && (at.path == "" || list[0].pos == list[len(list)-1].pos) {
			first := c.rep.Set.Position(list[0].pos)
			c.rep.Errorf(list[1].pos, CodeAccess,
				"register %s is accessed twice on one path through the program, first in line %d: a register is accessed once per packet; keep a copy of it, or do both in one RegisterAction",
				list[0].register, first.Line)
		}
	}
}

func externName(o *types.Instance) string {
	if t, ok := o.Type.(*types.Extern); ok {
		return t.Origin().Name
	}
	return ""
}

// register returns the register of a RegisterAction.
func (c *checker) register(d *syntax.InstanceDecl) *types.Instance {
	if d.Call == nil || len(d.Call.Args) == 0 {
		return nil
	}
	name, ok := d.Call.Args[0].Value.(*syntax.NameExpr)
	if !ok {
		return nil
	}
	r, _ := c.info.Use(name).(*types.Instance)
	return r
}

// cell checks the type of a register's cells.
func (c *checker) cell(d *syntax.InstanceDecl, o *types.Instance) {
	args := o.Type.(*types.Extern).TypeArgs
	if len(args) == 0 {
		return
	}
	list := []types.Type{args[0]}
	s, pair := args[0].(*types.Struct)
	if pair {
		list = nil
		for _, f := range s.Fields {
			list = append(list, f.Type)
		}
	}
	if len(list) > 2 {
		c.rep.Errorf(d.Pos(), CodeCell, "a cell of register %s has %d fields, and must be a number or a pair: move the other fields to another register", o.ObjName(), len(list))
		return
	}
	for _, t := range list {
		switch w := width(t); {
		case w > maxBits:
			c.rep.Errorf(d.Pos(), CodeCell, "register %s has numbers of %d bits, a stateful ALU supports %d: keep the upper bits in another register", o.ObjName(), w, maxBits)
			return
		case !wholeContainer(w) && (w != 1 || pair):
			also := ""
			if !pair {
				also = "1, "
			}
			c.rep.Errorf(d.Pos(), CodeCell, "register %s has numbers of %d bits, a stateful ALU supports %s8, 16 and %d: use bit<%d>", o.ObjName(), w, also, maxBits, nextContainer(w))
			return
		}
	}
	if len(list) == 2 && !types.Identical(list[0], list[1]) {
		c.rep.Errorf(d.Pos(), CodeCell, "a cell of register %s has fields of %s and %s, and both must have one type: use the wider one for both", o.ObjName(), list[0], list[1])
	}
}

func width(t types.Type) int {
	if b, ok := t.(*types.Bits); ok {
		return b.Width
	}
	return 1
}

// alu checks the computation of a RegisterAction. operands has the fields that
// the register's other RegisterActions use. All of them are on the same bus to
// the stateful ALU, whichever RegisterAction is executed.
func (c *checker) alu(d *syntax.InstanceDecl, r *types.Instance, operands map[string]source.Pos) {
	comparisons := make(map[string]source.Pos)
	before := len(operands)
	for _, m := range d.Body {
		f, ok := m.(*syntax.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		own := make(map[string]bool)
		for _, p := range f.Params {
			own[p.Name.Name] = true
		}
		if !c.statements(d, f.Body, own) {
			continue
		}
		c.ages(d, f.Body, own)
		if len(f.Params) > 0 {
			c.twice(d, f.Body, f.Params[0].Name.Name)
		}
		var see func(x syntax.Expr) bool
		see = func(x syntax.Expr) bool {
			if call, ok := x.(*syntax.CallExpr); ok {
				for _, a := range c.callInALU(d, call) {
					syntax.Walk(a.Value, see)
				}
				return false
			}
			if b, ok := x.(*syntax.BinaryExpr); ok && compares(b.Op) {
				for _, side := range []syntax.Expr{b.X, b.Y} {
					if sum, ok := uncast(side).(*syntax.BinaryExpr); ok && saturates(sum.Op) {
						c.rep.Errorf(sum.OpPos, CodeALU, "%s compares the result of %s, and a stateful ALU saturates only what it assigns: compare the operands with each other", d.Name.Name, sum.Op)
					}
				}
				if _, seen := comparisons[syntax.Text(b)]; !seen {
					comparisons[syntax.Text(b)] = b.OpPos
				}
			}
			if root := root(x); root != nil && c.info.ValueOf(x) == nil {
				if !own[root.Name] {
					if _, seen := operands[syntax.Text(x)]; !seen {
						operands[syntax.Text(x)] = x.Pos()
					}
				}
				return false
			}
			return true
		}
		syntax.WalkStmt(f.Body, see)
	}
	if len(comparisons) > maxComparisons {
		c.rep.Errorf(last(comparisons), CodeALU, "%s compares %d times, a stateful ALU compares %d times: compare before or after, and pass the result in or out",
			d.Name.Name, len(comparisons), maxComparisons)
	}
	if len(operands) > maxOperands && before <= maxOperands {
		c.rep.Errorf(last(operands), CodeALU,
			"with %s, the RegisterActions of %s use %d fields, a stateful ALU has inputs for %d, whichever is executed: combine some before, or let them share a field",
			d.Name.Name, r.ObjName(), len(operands), maxOperands)
	}
}

// twice checks that a RegisterAction does not assign to its cell, or to a field of it,
// what a later statement may assign again: p4c does not drop the first assignment.
func (c *checker) twice(d *syntax.InstanceDecl, s *syntax.BlockStmt, cell string) {
	always := make(map[string]bool)
	for _, t := range s.Stmts {
		syntax.WalkStmts(t, func(t syntax.Stmt) {
			if a, ok := t.(*syntax.AssignStmt); ok && always[syntax.Text(a.X)] {
				c.rep.Errorf(a.Pos(), CodeALU, "%s assigns to %s a second time, a stateful ALU computes a value once: put the first assignment into an else", d.Name.Name, syntax.Text(a.X))
			}
		})
		if a, ok := t.(*syntax.AssignStmt); ok {
			if r := root(a.X); r != nil && r.Name == cell {
				always[syntax.Text(a.X)] = true
			}
		}
	}
}

// statements checks that a RegisterAction only assigns and branches, and
// assigns only to its own parameters and variables, own.
func (c *checker) statements(d *syntax.InstanceDecl, s syntax.Stmt, own map[string]bool) bool {
	refuse := func(what string) bool {
		c.rep.Errorf(s.Pos(), CodeALU, "%s %s: a stateful ALU only assigns to its cell and its output, each under at most two conditions", d.Name.Name, what)
		return false
	}
	switch s := s.(type) {
	case *syntax.BlockStmt:
		for _, t := range s.Stmts {
			if !c.statements(d, t, own) {
				return false
			}
		}
	case *syntax.IfStmt:
		return c.statements(d, s.Then, own) && (s.Else == nil || c.statements(d, s.Else, own))
	case *syntax.AssignStmt:
		if r := root(s.X); r == nil || !own[r.Name] {
			return refuse("assigns to " + syntax.Text(s.X))
		}
	case *syntax.DeclStmt:
		if v, ok := s.Decl.(*syntax.VarDecl); ok {
			own[v.Name.Name] = true
		}
	case *syntax.ReturnStmt:
		return refuse("returns")
	case *syntax.ForStmt, *syntax.ForInStmt:
		return refuse("has a loop")
	case *syntax.EmptyStmt:
	case *syntax.CallStmt:
		return refuse("calls " + syntax.Text(s.Call.Fun))
	default:
		return refuse("has a statement of another kind")
	}
	return true
}

// mathUnits checks that the RegisterActions of a register use one MathUnit at most.
// units has the first of each register.
func (c *checker) mathUnits(d *syntax.InstanceDecl, r *types.Instance, units map[*types.Instance]*types.Instance) {
	for _, m := range d.Body {
		f, ok := m.(*syntax.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		syntax.WalkStmt(f.Body, func(x syntax.Expr) bool {
			call, ok := x.(*syntax.CallExpr)
			if !ok {
				return true
			}
			u := c.receiver(c.info.Call(call))
			switch {
			case u == nil || externName(u) != "MathUnit":
			case units[r] == nil:
				units[r] = u
			case units[r] != u:
				c.rep.Errorf(x.Pos(), CodeALU, "%s uses math unit %s and register %s uses %s already: a stateful ALU has one", d.Name.Name, u.ObjName(), r.ObjName(), units[r].ObjName())
			}
			return true
		})
	}
}

// receiver returns the object whose method is called, or nil.
func (c *checker) receiver(call *types.Call) *types.Instance {
	if call == nil || call.Kind != types.CallMethod {
		return nil
	}
	name, ok := call.Recv.(*syntax.NameExpr)
	if !ok {
		return nil
	}
	o, _ := c.info.Use(name).(*types.Instance)
	return o
}

// callInALU checks a call in an expression of a RegisterAction. It returns the
// arguments. A stateful ALU has registers for RegisterParams, a math unit, and can
// return the predicate of its comparisons.
func (c *checker) callInALU(d *syntax.InstanceDecl, x *syntax.CallExpr) []*syntax.Argument {
	call := c.info.Call(x)
	switch {
	case call == nil:
		return nil
	case call.Kind == types.CallFunction && (call.Func.Name == "min" || call.Func.Name == "max"):
		return x.Args
	case call.Kind == types.CallBuiltin:
		return nil // isValid
	case call.Kind == types.CallMethod && call.Func.Name == "predicate":
		return x.Args
	}
	if o := c.receiver(call); o != nil {
		switch externName(o) {
		case "RegisterParam", "MathUnit":
			return x.Args
		case "Register", "RegisterAction", "DirectRegister", "DirectRegisterAction":
			c.rep.Errorf(x.Pos(), CodeALU, "%s calls %s, and a stateful ALU has no second register: a packet reads one register before another, in an action of an earlier table, and passes the result in",
				d.Name.Name, syntax.Text(x.Fun))
			return nil
		}
	}
	c.rep.Errorf(x.Pos(), CodeALU, "%s calls %s, which a stateful ALU cannot execute: call it before, and pass the result in", d.Name.Name, syntax.Text(x.Fun))
	return nil
}

func last(at map[string]source.Pos) source.Pos {
	var p source.Pos
	for _, q := range at {
		p = max(p, q)
	}
	return p
}

// root returns the name before the fields of x, or nil if x is not a field.
func root(x syntax.Expr) *syntax.NameExpr {
	switch x := x.(type) {
	case *syntax.NameExpr:
		return x
	case *syntax.MemberExpr:
		return root(x.X)
	case *syntax.SliceExpr:
		return root(x.X)
	}
	return nil
}

func compares(op syntax.Kind) bool { return orders(op) || op == syntax.Equal || op == syntax.NotEqual }

func orders(op syntax.Kind) bool {
	return op == syntax.Less || op == syntax.Greater || op == syntax.LessEqual || op == syntax.GreaterEqual
}

// arithmetic checks the expressions of actions and of apply.
func (c *checker) arithmetic(body *syntax.BlockStmt) {
	syntax.WalkStmts(body, func(s syntax.Stmt) {
		a, ok := s.(*syntax.AssignStmt)
		if !ok {
			return
		}
		if a.Op != syntax.Assign {
			c.operation(a.Op.BinaryOf(), a.OpPos, a.X, a.Y)
			return
		}
		switch y := uncast(a.Y).(type) {
		case *syntax.BinaryExpr:
			if saturates(y.Op) {
				c.alone(y.Op.String(), a.X)
			}
		case *syntax.CallExpr:
			if name, ok := c.extreme(y); ok {
				c.alone(name, a.X)
			}
		}
	})
	syntax.WalkStmt(body, func(x syntax.Expr) bool {
		switch x := x.(type) {
		case *syntax.BinaryExpr:
			if c.info.ValueOf(x) != nil {
				break
			}
			if orders(x.Op) && c.bitsOfRange(x) > maxRange {
				c.rep.Errorf(x.OpPos, CodeComparison,
					"%s needs %d bits of its operand, a gateway compares %d: compare with a power of two or a rounder number, or look the result up in a table with a range", x.Op, c.bitsOfRange(x), maxRange)
			}
			c.operation(x.Op, x.OpPos, x.X, x.Y)
		case *syntax.CallExpr:
			if name, ok := c.extreme(x); ok && c.info.ValueOf(x) == nil && len(x.Args) == 2 {
				c.container(name, x.Pos(), x.Args[0].Value, x.Args[1].Value)
			}
		}
		return true
	})
}

// operation checks an operator of which at least one operand is a variable.
func (c *checker) operation(op syntax.Kind, at source.Pos, x, y syntax.Expr) {
	variable := func(x syntax.Expr) bool { return c.info.ValueOf(x) == nil }
	switch {
	case orders(op) && variable(x) && variable(y):
		c.rep.Errorf(at, CodeComparison,
			"%s compares two variables, a gateway compares with constants: subtract with |-| in an action and test for zero, or compare in a RegisterAction", op)
	case op == syntax.Star || op == syntax.Slash || op == syntax.Percent:
		c.rep.Errorf(at, CodeArithmetic, "the chip does not compute %s: shift by constants and add, or look the result up in a table", op)
	case (op == syntax.Shl || op == syntax.Shr) && variable(y):
		c.rep.Errorf(at, CodeArithmetic, "%s by a variable: the chip shifts by constants; look the result up in a table, or have an action for each distance", op)
	case saturates(op):
		if c.container(op.String(), at, x, y) {
			c.alone(op.String(), x)
			c.alone(op.String(), y)
		}
	}
}

func saturates(op syntax.Kind) bool { return op == syntax.PlusSat || op == syntax.MinusSat }

// extreme returns the name of a call of min or max.
func (c *checker) extreme(x *syntax.CallExpr) (string, bool) {
	call := c.info.Call(x)
	if call == nil || call.Kind != types.CallFunction {
		return "", false
	}
	return call.Func.Name, call.Func.Name == "min" || call.Func.Name == "max"
}

// container checks the width of the operands of |+|, |-|, min or max. The ALU of a
// container of 8, 16 or 32 bits saturates at the ends of the container, and its highest
// bit is the sign. p4c extends an unsigned number with zeros and a signed one, too; only
// for |+| it reports an error. It returns true if the chip can compute it.
func (c *checker) container(name string, at source.Pos, operands ...syntax.Expr) (ok bool) {
	var t *types.Bits
	for _, x := range operands {
		if b, ok := c.info.TypeOf(x).(*types.Bits); ok && c.info.ValueOf(x) == nil {
			t = b
		}
	}
	switch {
	case t == nil || wholeContainer(t.Width):
		return true
	case t.Width > maxBits && (name == syntax.PlusSat.String() || name == syntax.MinusSat.String()):
		c.rep.Errorf(at, CodeArithmetic, "%s of %d bits: the chip saturates at most %d bits: use a shorter field, or add or subtract without saturation", name, t.Width, maxBits)
	case t.Width > maxBits:
		c.rep.Errorf(at, CodeArithmetic, "%s of %d bits: the chip compares at most %d bits, and p4c computes each part apart, which is another number: use a shorter field, or compare in a table with a range", name, t.Width, maxBits)
	case t.Signed:
		c.rep.Errorf(at, CodeArithmetic, "%s of int<%d>: the sign is the highest bit of a container of 8, 16 or 32 bits, so the chip computes another number: cast to int<%d> before", name, t.Width, nextContainer(t.Width))
	case name == syntax.PlusSat.String():
		c.rep.Errorf(at, CodeArithmetic, "%s of %d bits: the chip saturates at the largest number of a container of 8, 16 or 32 bits: add bit<%d>, and take the min with %d", name, t.Width, nextContainer(t.Width), 1<<t.Width-1)
	default:
		return true
	}
	return false
}

// alone reports a field of a header that |+|, |-|, min or max writes, or |+| or |-| reads,
// and that has no container of its own: the deparser sends whole containers.
func (c *checker) alone(name string, x syntax.Expr) {
	m, ok := x.(*syntax.MemberExpr)
	if !ok {
		return
	}
	of, ok := c.info.TypeOf(m.X).(*types.Struct)
	if t, bits := c.info.TypeOf(x).(*types.Bits); ok && bits && of.Kind == types.Header && !wholeContainer(t.Width) && t.Width <= maxBits {
		c.rep.Errorf(x.Pos(), CodeArithmetic, "%s with %s, a header field of %d bits: the chip needs a container of 8, 16 or 32 bits for it alone: use a field of metadata, and copy", name, syntax.Text(x), t.Width)
	}
}

// wholeContainer reports whether a number fills a container.
func wholeContainer(width int) bool { return width == 8 || width == 16 || width == maxBits }

func nextContainer(width int) int {
	for _, n := range []int{8, 16} {
		if width <= n {
			return n
		}
	}
	return maxBits
}

// indices checks that the actions of a table that access the same register do
// so at the same index: the table computes one for all of them.
func (c *checker) indices(d *syntax.TableDecl) {
	o, ok := c.info.Defs[d].(*types.TableObj)
	if !ok {
		return
	}
	first := make(map[*types.Instance]string)
	for _, a := range o.Table.Actions {
		if a.Action == nil || a.Action.Decl == nil {
			continue
		}
		params := make(map[string]bool)
		for _, p := range a.Action.Params {
			params[p.Name] = true
		}
		syntax.WalkStmt(a.Action.Decl.Body, func(x syntax.Expr) bool {
			call, ok := x.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			index := call.Args[0].Value
			if r := root(index); r == nil || params[r.Name] || c.info.ValueOf(index) != nil {
				return true
			}
			for at := range c.call(call, "") {
				if old, seen := first[at.register]; !seen {
					first[at.register] = syntax.Text(index)
				} else if old != syntax.Text(index) {
					c.rep.Errorf(call.Pos(), CodeAccess, "register %s is accessed at %s here and at %s in another action of table %s, which computes one index: assign it to a field before",
						at.register.ObjName(), syntax.Text(index), old, d.Name.Name)
				}
			}
			return true
		})
	}
}

// bitsOfRange returns the number of bits of a variable that a gateway needs for
// comparing it with a constant as one range: those from the lowest one bit of
// the first number beyond the range. A power of two needs none: the bits from
// there on are compared with zero. A signed number needs all its bits, and for a
// comparison with 0 none but the sign.
func (c *checker) bitsOfRange(b *syntax.BinaryExpr) int {
	x, limit := b.X, c.info.ValueOf(b.Y)
	up := b.Op == syntax.LessEqual || b.Op == syntax.Greater // to the number itself
	if limit == nil {
		x, limit = b.Y, c.info.ValueOf(b.X)
		up = !up
	}
	t, ok := c.info.TypeOf(x).(*types.Bits)
	v, isInt := limit.(types.IntValue)
	if !ok || !isInt || t.Width > 1<<16 {
		return 0
	}
	n := new(big.Int).Set(v.Int)
	if up {
		n.Add(n, big.NewInt(1))
	}
	switch {
	case n.Sign() == 0 || !t.Signed && n.BitLen() == int(n.TrailingZeroBits())+1:
		return 0
	case t.Signed && n.Sign() > 0 && n.BitLen() == t.Width: // beyond the largest number
		return 0
	case t.Signed: // p4c compares all bits
		return t.Width
	}
	return t.Width - int(n.TrailingZeroBits())
}

// access is a position where a register is accessed. The accesses on one path
// through a program are grouped by register.
type access struct {
	register string
	pos      source.Pos
}

type place struct {
	register *types.Instance
	path     string // of the enclosing controls
}

type accesses map[place][]access

func (a accesses) then(b accesses) accesses {
	if len(a) == 0 {
		return b
	}
	sum := make(accesses, len(a)+len(b))
	for k, v := range a {
		sum[k] = v
	}
	for k, v := range b {
		sum[k] = slices.Concat(sum[k], v)
	}
	return sum
}

// or returns for each register the path with more accesses.
func (a accesses) or(b accesses) accesses {
	most := make(accesses, len(a)+len(b))
	for k, v := range a {
		most[k] = v
	}
	for k, v := range b {
		if len(v) > len(most[k]) {
			most[k] = v
		}
	}
	return most
}

func (c *checker) count(s syntax.Stmt, path string) accesses {
	switch s := s.(type) {
	case *syntax.BlockStmt:
		if s == nil {
			return nil
		}
		var sum accesses
		for _, t := range s.Stmts {
			sum = sum.then(c.count(t, path))
		}
		return sum
	case *syntax.IfStmt:
		sides := c.count(s.Then, path)
		if s.Else != nil {
			sides = sides.or(c.count(s.Else, path))
		}
		return c.calls(s.Cond, path).then(sides)
	case *syntax.SwitchStmt:
		var most accesses
		for _, k := range s.Cases {
			if k.Body != nil {
				most = most.or(c.count(k.Body, path))
			}
		}
		return c.calls(s.X, path).then(most)
	}
	var sum accesses
	syntax.WalkStmt(s, func(x syntax.Expr) bool {
		if call, ok := x.(*syntax.CallExpr); ok {
			sum = sum.then(c.call(call, path))
		}
		return true
	})
	return sum
}

func (c *checker) calls(x syntax.Expr, path string) accesses {
	var sum accesses
	syntax.Walk(x, func(x syntax.Expr) bool {
		if call, ok := x.(*syntax.CallExpr); ok {
			sum = sum.then(c.call(call, path))
		}
		return true
	})
	return sum
}

func (c *checker) call(x *syntax.CallExpr, path string) accesses {
	call := c.info.Call(x)
	if call == nil {
		return nil
	}
	switch call.Kind {
	case types.CallAction:
		if call.Action != nil && call.Action.Decl != nil {
			return c.count(call.Action.Decl.Body, path)
		}
	case types.CallMethod:
		o := c.receiver(call)
		if o == nil {
			return nil
		}
		r := o
		switch externName(o) {
		case "RegisterAction", "DirectRegisterAction":
			if r = c.register(o.Decl); r == nil {
				return nil
			}
		case "Register", "DirectRegister":
		default:
			return nil
		}
		return accesses{{r, path}: {{r.ObjName(), x.Pos()}}}
	case types.CallApply:
		switch t := c.info.TypeOf(call.Recv).(type) {
		case *types.Table:
			var most accesses
			for _, a := range t.Actions {
				if a.Action != nil && a.Action.Decl != nil {
					most = most.or(c.count(a.Action.Decl.Body, path))
				}
			}
			return most
		case *types.Block:
			if t.Origin().Control != nil {
				return c.count(t.Origin().Control.Body, path+"."+syntax.Text(call.Recv))
			}
		}
	}
	return nil
}
