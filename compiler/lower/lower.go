// SPDX-License-Identifier: Apache-2.0

// Package lower translates a checked program into an ir.Program: it builds the
// instances that main consists of, inlines functions, actions and inner
// controls and parsers, and splits structs into places.
//
// It interprets declarations and emits statements. A value (value.go) is known
// at compile time, like a number or an instance, or is an expression that the
// switch computes. An environment (frame) binds declarations to values.
// Constant expressions are folded, and unreachable code is not emitted.
//
// Calls are by copy-in and copy-out, as the language requires. A copy is left
// out where this makes no difference (bind.go).
package lower

import (
	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/diag"
)

// Codes of the diagnostics of this package.
const (
	CodeUnsupported diag.Code = "unsupported"
	CodeTooLarge    diag.Code = "too-large"
	CodeNotConstant diag.Code = "not-constant"
	CodeNoMain      diag.Code = "no-main"
	CodeMain        diag.Code = "main"
	CodeOutOfRange  diag.Code = "out-of-range"
)

// maxStmts bounds the program after inlining.
const maxStmts = 1 << 18

// Program lowers a program. After errors it returns nil.
func Program(prog *syntax.Program, info *types.Info, rep *source.Reporter) *ir.Program {
	main := info.Main
	if main == nil {
		rep.Errorf(rep.Set.Main().Pos(0), CodeNoMain, "the program has no package instance named main")
		return nil
	}
	block, ok := main.Type.(*types.Block)
	if !ok || block.Kind != types.PackageBlock {
		rep.Errorf(main.Pos(), CodeMain, "main is not a package")
		return nil
	}
	a := arch.ByPackage(block.Name)
	if a == nil {
		rep.Errorf(main.Pos(), CodeMain, "package %s does not belong to an architecture that this compiler knows (%s)", block.Name, known())
		return nil
	}
	l := &lowerer{
		info:        info,
		rep:         rep,
		arch:        a,
		prog:        &ir.Program{Arch: a, Errors: info.Errors, Enums: info.Enums, Main: main},
		names:       map[string]int{},
		headerTypes: map[*types.Struct]*ir.HeaderType{},
		unionTypes:  map[*types.Struct]*ir.UnionType{},
		keyStmts:    map[*ir.Table][]ir.Stmt{},
		roles:       map[string]value{},
		structs:     map[*value]*places{},
		sums:        map[*ir.Object]*ir.VarRef{},
		exitCopies:  map[*ir.Apply][]ir.Stmt{},
		counters:    map[*ir.Object]*ir.VarRef{},
		logs:        map[*ir.Object]*ir.Object{},
	}
	l.global = &frame{vals: map[types.Object]value{}}
	l.frame = l.global
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(giveUp); !ok {
				panic(r)
			}
		}
	}()
	l.checkVersion(prog)
	l.declareGlobals(prog)
	l.blocks(main)
	l.tableExits()
	if rep.Failed() {
		return nil
	}
	return l.prog
}

func known() string {
	s := ""
	for i, a := range arch.All {
		if i > 0 {
			s += ", "
		}
		s += a.Package + " of " + a.Name + ".p4"
	}
	return s
}

// giveUp is the panic that ends lowering after an error was reported.
type giveUp struct{}

// lowerer is the state of lowering.
type lowerer struct {
	info *types.Info
	rep  *source.Reporter
	arch *arch.Arch
	prog *ir.Program

	global *frame
	frame  *frame

	names       map[string]int // of variables and headers, for unique names
	headerTypes map[*types.Struct]*ir.HeaderType
	unionTypes  map[*types.Struct]*ir.UnionType
	roles       map[string]value // places of the architecture's roles
	structs     map[*value]*places
	sums        map[*ir.Object]*ir.VarRef // of checksums of TNA
	counters    map[*ir.Object]*ir.VarRef // of its ParserCounters
	logs        map[*ir.Object]*ir.Object // counters of execute_log, by register

	role    string      // of the block being lowered
	control *ir.Control // or nil
	parser  *parserCode // or nil

	// Destination of statements: the list, or the current state of a parser.
	out  *[]ir.Stmt
	dead bool // the next statement is unreachable
	span source.Span

	// keyStmts compute the keys of a table before it is applied.
	keyStmts map[*ir.Table][]ir.Stmt

	preserved [][]*ir.Var // by calls of deprecated functions, see preserve

	inAction bool // the code of an action is being lowered
	stmts    int
	copyOuts []func() // of the enclosing calls, for exit
	// exitCopies are the copies after an exit in a table, by its application.
	exitCopies map[*ir.Apply][]ir.Stmt
}

// frame binds the objects of one declaration, in one of its instances, to
// values.
type frame struct {
	parent *frame
	vals   map[types.Object]value
	subst  map[*types.TypeParam]types.Type
	inst   *instance
	ret    *returnPoint
	loops  []loop
}

// returnPoint is the target of return.
type returnPoint struct {
	label  *label
	result value // a place, or nil
	t      types.Type
}

// loop has the targets of break and continue.
type loop struct{ brk, cont *label }

func (f *frame) lookup(o types.Object) value {
	for ; f != nil; f = f.parent {
		if v, ok := f.vals[o]; ok {
			return v
		}
	}
	return nil
}

// instance returns the instance that the code of the frame belongs to.
func (f *frame) instance() *instance {
	for ; f != nil; f = f.parent {
		if f.inst != nil {
			return f.inst
		}
	}
	return nil
}

// within calls do with a new frame inside parent.
func (l *lowerer) within(parent *frame, do func(f *frame)) {
	old := l.frame
	l.frame = &frame{parent: parent, vals: map[types.Object]value{}}
	do(l.frame)
	l.frame = old
}

func (l *lowerer) errorf(p source.Pos, code diag.Code, format string, args ...any) {
	l.rep.Errorf(p, code, format, args...)
}

// fail reports an error and ends lowering.
func (l *lowerer) fail(p source.Pos, code diag.Code, format string, args ...any) {
	l.errorf(p, code, format, args...)
	panic(giveUp{})
}

// unsupported reports a feature of the language that this back end lacks.
func (l *lowerer) unsupported(n syntax.Node, format string, args ...any) {
	l.fail(n.Pos(), CodeUnsupported, format, args...)
}

// declareGlobals binds the declarations of the top level.
func (l *lowerer) declareGlobals(prog *syntax.Program) {
	for _, d := range prog.Decls {
		inst, ok := d.(*syntax.InstanceDecl)
		if !ok {
			continue
		}
		o, ok := l.info.Defs[d].(*types.Instance)
		if !ok || o == l.info.Main {
			continue
		}
		if _, ok := o.Type.(*types.Extern); ok {
			l.global.vals[o] = l.newObject(o, inst, controlName("", inst.Annotations, inst.Name.Name))
		}
	}
}

// checkVersion checks that the compiler supports the version of the
// architecture's declarations.
func (l *lowerer) checkVersion(prog *syntax.Program) {
	for _, d := range prog.Decls {
		k, ok := d.(*syntax.ConstDecl)
		if !ok || k.Name.Name != l.arch.Version {
			continue
		}
		v, ok := l.info.ValueOf(k.Value).(types.IntValue)
		if !ok || !v.IsInt64() || v.Int64() < l.arch.First || v.Int64() > l.arch.Last {
			l.fail(k.Value.Pos(), CodeMain, "version %v of the architecture is unknown; this compiler knows those from %d to %d", v, l.arch.First, l.arch.Last)
		}
	}
}

// blocks lowers the blocks of the switch.
func (l *lowerer) blocks(main *types.Instance) {
	args := l.info.Call(main.Decl.Call).Args
	if l.arch.Inner != "" {
		args = l.innerArgs(main, args)
	}
	for i, b := range l.arch.Blocks {
		if i >= len(args) || args[i] == nil {
			l.fail(main.Pos(), CodeMain, "main has no argument for %s", b.Role)
		}
		inst := l.blockArg(args[i])
		inst.once = true
		params := l.paramsOf(b, inst.block)
		if params == nil {
			l.fail(args[i].Pos(), CodeMain, "%s has %d parameters, %s needs %d: is the architecture's file up to date?", inst.block.Name, len(inst.block.Params), b.Role, len(b.Params))
		}
		l.role = b.Role
		f := &frame{parent: inst.frame, vals: map[types.Object]value{}, inst: inst}
		old := l.frame
		l.frame = f
		for k, p := range params {
			l.bindParam(inst.block.Params[k], l.roleValue(p, inst.block.Params[k]))
		}
		if inst.block.Kind == types.ParserBlock {
			l.topParser(inst)
		} else {
			l.topControl(inst)
		}
		l.frame = old
		l.role = ""
	}
}

// innerArgs returns the arguments of the package between main and the blocks.
func (l *lowerer) innerArgs(main *types.Instance, args []syntax.Expr) []syntax.Expr {
	for i, e := range args {
		if i > 0 && e != nil {
			l.unsupported(e, "a program for several pipelines is not supported: softswitch has one; compile each Pipeline as a program of its own, with Switch(pipeline) main")
		}
	}
	if len(args) > 0 && args[0] != nil {
		call, _ := args[0].(*syntax.CallExpr)
		if n, ok := args[0].(*syntax.NameExpr); ok {
			if o, ok := l.info.Use(n).(*types.Instance); ok {
				call, l.prog.Pipe = o.Decl.Call, o.ObjName()
			}
		}
		if call != nil {
			if c := l.info.Call(call); c != nil && c.Block != nil && c.Block.Name == l.arch.Inner {
				return c.Args
			}
		}
	}
	l.fail(main.Pos(), CodeMain, "main has no %s as its argument", l.arch.Inner)
	return nil
}

// paramsOf returns the roles of a block's parameters, or nil if they do not
// match b. A parameter whose type the architecture declares is recognised by
// that type, because some parameters may be left out.
func (l *lowerer) paramsOf(b arch.Block, block *types.Block) []arch.Param {
	byType := map[string]arch.Param{}
	var others []arch.Param
	for _, p := range b.Params {
		if p.Type != "" {
			byType[p.Type] = p
		} else {
			others = append(others, p)
		}
	}
	var list []arch.Param
	for _, q := range block.Params {
		if s, ok := q.Type.(*types.Struct); ok {
			if p, ok := byType[s.Name]; ok {
				delete(byType, s.Name)
				list = append(list, p)
				continue
			}
		}
		if len(others) == 0 {
			return nil
		}
		list = append(list, others[0])
		others = others[1:]
	}
	if len(others) > 0 {
		return nil
	}
	return list
}

// blockArg returns the instance that an argument of main denotes.
func (l *lowerer) blockArg(e syntax.Expr) *instance {
	switch e := e.(type) {
	case *syntax.CallExpr:
		if c := l.info.Call(e); c != nil && c.Kind == types.CallConstructor {
			return l.newInstance(c, c.Block.Name, nil)
		}
	case *syntax.NameExpr:
		if o, ok := l.info.Use(e).(*types.Instance); ok {
			c := l.info.Call(o.Decl.Call)
			return l.newInstance(c, controlName("", o.Decl.Annotations, o.Decl.Name.Name), nil)
		}
	}
	l.unsupported(e, "%s is not a parser or control", syntax.Text(e))
	return nil
}

// emit appends a statement.
func (l *lowerer) emit(s ir.Stmt) {
	if l.dead {
		return
	}
	l.count(1)
	if l.parser != nil {
		l.parser.state.Body = append(l.parser.state.Body, s)
		return
	}
	*l.out = append(*l.out, s)
}

// count adds to the size of the program, which is limited.
func (l *lowerer) count(n int) {
	if l.stmts += n; l.stmts > maxStmts {
		l.fail(l.span.Start, CodeTooLarge, "the program has more than %d statements when its functions and controls are put in place", maxStmts)
	}
}

// at returns the common part of the statements of the construct being lowered.
func (l *lowerer) at() ir.Base { return ir.Base{Span: l.span} }

// collect calls do and returns the statements that it emits. It reports whether
// their end is reachable.
func (l *lowerer) collect(do func()) (list []ir.Stmt, reached bool) {
	out, dead := l.out, l.dead
	l.out, l.dead = &list, false
	do()
	reached = !l.dead
	l.out, l.dead = out, dead
	return list, reached
}
