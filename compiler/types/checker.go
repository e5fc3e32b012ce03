// SPDX-License-Identifier: Apache-2.0

// Package types checks a program: it resolves names, determines the types of
// expressions, and verifies that every construct is where the language allows
// it (language spec 1.2.5, sections 7 to 15 and 18).
//
// P4 declares before use, so the checker visits the program once, in order.
// There is a file for each concept. Functions of the form
//
//	func (c *Checker) f(x *operand, e syntax.Expr, …)
//
// set x to the operand that e denotes. After an error they report it and make x
// invalid. No further error is reported for an invalid operand.
//
// The context determines the type of a literal: {1, 2} is a struct where a
// struct is expected, and otherwise a tuple. The parameter "want" is the
// expected type as far as it is known.
package types

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/diag"
)

// Check checks a program. After errors the information is incomplete.
func Check(prog *syntax.Program, rep *source.Reporter) *Info {
	c := &Checker{
		rep: rep,
		info: &Info{
			Defs:      map[syntax.Decl]Object{},
			Types:     map[syntax.Decl]Type{},
			Funcs:     map[*syntax.FuncDecl]*Func{},
			TypeExprs: map[syntax.TypeExpr]Type{},
			types:     make([]Type, prog.Exprs),
			values:    make([]Value, prog.Exprs),
			uses:      make(map[int]Object, prog.Exprs/3),
			calls:     map[int]*Call{},
			params:    map[*Param]*ParamObj{},
		},
		errors: map[string]bool{},
	}
	c.info.in.init()
	c.openScope()
	c.top = c.scope
	c.ctx = &context{}
	for _, d := range prog.Decls {
		if rep.Full() {
			break
		}
		c.topDecl(d)
	}
	c.finish()
	if !rep.Failed() {
		c.uninitialised(prog)
	}
	return c.info
}

// Checker is the state of a check.
type Checker struct {
	rep   *source.Reporter
	info  *Info
	scope *scope
	top   *scope
	ctx   *context

	errors    map[string]bool
	quiet     []map[string]bool // @noWarn in force
	calling   syntax.Expr       // the function of the call being checked, without its arguments
	declaring *syntax.CallExpr  // the constructor call of a declaration
}

// context describes the code that encloses the code being checked.
type context struct {
	kind   contextKind
	result Type   // of a function
	block  *Block // the enclosing parser or control
	this   *Extern
	loops  int
	states map[string]*StateObj
	// actionRun: the expression of a switch is being checked, where action_run is
	// allowed.
	actionRun bool
	// inCase: the key set of a select case is being checked.
	inCase bool
}

type contextKind uint8

const (
	atTop contextKind = iota
	inFunction
	inAction
	inParser // among its local declarations
	inState
	inControl // among its local declarations
	inApply
	inMethod // an abstract method's implementation
)

func (c *Checker) errorf(p source.Pos, code diag.Code, format string, args ...any) {
	c.rep.Errorf(p, code, format, args...)
}

func (c *Checker) warnf(p source.Pos, code diag.Code, format string, args ...any) {
	for _, q := range c.quiet {
		if q[""] || q[string(code)] {
			return
		}
	}
	if f := c.rep.Set.FileAt(p); f != nil && isSystem(f.Name) {
		return
	}
	c.rep.Warnf(p, code, format, args...)
}

// within calls f with a new context.
func (c *Checker) within(ctx *context, f func()) {
	old := c.ctx
	c.ctx = ctx
	f()
	c.ctx = old
}

// record stores the type and value of an expression.
func (c *Checker) record(e syntax.Expr, t Type, v Value) {
	c.info.types[e.ID()] = t
	c.info.values[e.ID()] = v
}

// topDecl checks a declaration at the top level.
func (c *Checker) topDecl(d syntax.Decl) {
	if n, ok := d.(syntax.NamedDecl); ok {
		c.annotations(n.Annots())
		if c.silence(n.Annots()) {
			defer c.unsilence()
		}
	}
	switch d := d.(type) {
	case *syntax.ConstDecl:
		c.constDecl(d)
	case *syntax.VarDecl:
		c.errorf(d.Pos(), CodePlacement, "%s is a variable at the top level, where only constants and instances can be", d.Name.Name)
	case *syntax.InstanceDecl:
		c.instanceDecl(d)
	case *syntax.FuncDecl:
		c.funcDecl(d)
	case *syntax.ActionDecl:
		c.actionDecl(d)
	case *syntax.ExternDecl:
		c.externDecl(d)
	case *syntax.ParserDecl:
		c.parserDecl(d)
	case *syntax.ControlDecl:
		c.controlDecl(d)
	case *syntax.PackageDecl:
		c.packageDecl(d)
	case *syntax.StructDecl:
		c.structDecl(d)
	case *syntax.EnumDecl:
		c.enumDecl(d)
	case *syntax.ErrorDecl:
		c.errorDecl(d)
	case *syntax.MatchKindDecl:
		c.matchKindDecl(d)
	case *syntax.TypedefDecl:
		c.typedefDecl(d)
	}
}

// finish checks the program as a whole.
func (c *Checker) finish() {
	switch main := c.top.names["main"].(type) {
	case nil:
	case *Instance:
		main.used = true
		c.info.Main = main
		if b, ok := main.Type.(*Block); main.Type != Invalid && (!ok || b.Kind != PackageBlock) {
			c.errorf(main.pos, CodePlacement, "main must be an instance of a package, not of %s", typeText(main.Type))
		}
	default:
		c.errorf(main.Pos(), CodePlacement, "main must be an instance of a package")
	}
	if no, ok := c.top.names["NoAction"].(*ActionObj); ok {
		c.info.noAction = no.Action
	}
	c.unusedTop()
}
