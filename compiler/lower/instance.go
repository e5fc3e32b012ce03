// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"strings"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// instance is a parser or control with its constructor arguments.
type instance struct {
	block *types.Block
	name  string // the control plane's name
	frame *frame // of constructor parameters, and of all that has the instance's lifetime
	// once is true if its code is lowered once. Only then can the instance use its
	// arguments without copies.
	once    bool
	params  map[*types.Param]value // places of the parameters if once is false
	tables  map[*types.TableObj]*ir.Table
	actions map[string]*ir.Action // by declaration and bound arguments
	direct  map[string]*instance  // of types that are applied directly
	ready   bool                  // its objects exist
}

// controlName returns the control plane's name of a declaration inside the
// object with the name prefix (language spec 18.3.3).
func controlName(prefix string, annots []*syntax.Annotation, name string) string {
	if a := syntax.Annot(annots, "name"); a != nil {
		if s, ok := syntax.AnnotString(a); ok {
			name = s
		}
	}
	if strings.HasPrefix(name, ".") {
		return name[1:]
	}
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// newInstance makes an instance from a constructor call. It evaluates the
// arguments in the current frame.
func (l *lowerer) newInstance(c *types.Call, name string, parent *instance) *instance {
	l.count(1)
	inst := &instance{
		block:   c.Block,
		name:    name,
		frame:   &frame{parent: l.global, vals: map[types.Object]value{}},
		params:  map[*types.Param]value{},
		tables:  map[*types.TableObj]*ir.Table{},
		actions: map[string]*ir.Action{},
		direct:  map[string]*instance{},
	}
	inst.frame.inst = inst
	for i, p := range c.Params {
		e := c.Args[i]
		if e == nil {
			e = p.Default
		}
		if e == nil {
			continue
		}
		v := l.ctorArg(e, p, name)
		inst.frame.vals[l.info.ParamObj(c.Block.Origin().CtorParams[i])] = v
	}
	return inst
}

// ctorArg evaluates an argument of a constructor.
func (l *lowerer) ctorArg(e syntax.Expr, p *types.Param, name string) value {
	switch p.Type.(type) {
	case *types.Block, *types.Extern:
		if call, ok := e.(*syntax.CallExpr); ok {
			c := l.info.Call(call)
			full := name + "." + p.Name
			if c.Block != nil {
				return l.newInstance(c, full, nil)
			}
			return object{l.makeObject(c, nil, full, syntax.Span(call))}
		}
		return l.expr(e)
	}
	return l.exprTo(e, p.Type)
}

// newObject makes the extern object of a declaration.
func (l *lowerer) newObject(o *types.Instance, d *syntax.InstanceDecl, name string) value {
	obj := l.makeObject(l.info.Call(d.Call), o, name, syntax.Span(d.Name))
	obj.Annotations = d.Annotations
	return object{obj}
}

func (l *lowerer) makeObject(c *types.Call, decl *types.Instance, name string, span source.Span) *ir.Object {
	t := l.substitute(c.Extern).(*types.Extern)
	obj := &ir.Object{Name: name, Type: t, Kind: l.arch.Kind(t.Name), Params: c.Params, Decl: decl, Span: span, Role: l.role}
	for i, p := range c.Params {
		e := c.Args[i]
		if e == nil {
			e = p.Default
		}
		if e == nil {
			obj.Args = append(obj.Args, ir.Arg{})
			continue
		}
		obj.Args = append(obj.Args, l.constArg(e, p.Type))
	}
	if t.Name == "RegisterParam" { // a register of one cell
		obj.Args = append([]ir.Arg{{X: bitConst(32, 1)}}, obj.Args...)
		obj.Params = append([]*types.Param{{Name: "size"}}, obj.Params...)
	}
	l.prog.Objects = append(l.prog.Objects, obj)
	if l.control != nil {
		l.control.Objects = append(l.control.Objects, obj)
	}
	return obj
}

// constArg evaluates an argument of an extern's constructor.
func (l *lowerer) constArg(e syntax.Expr, t types.Type) ir.Arg {
	arg := ir.Arg{Source: t, Span: syntax.Span(e)}
	switch v := l.exprTo(e, l.substitute(t)).(type) {
	case scalar:
		arg.X = v.x
		if c, ok := v.x.(*ir.Const); ok {
			arg.Member = c.Member
		}
	case number:
		arg.X = &ir.Const{T: ir.Type{Kind: ir.Bits, Width: max(v.v.BitLen(), 1)}, Val: v.v}
	case text:
		arg.X = &ir.Text{Val: v.s}
	case object:
		arg.Object = v.o
	case aggregate:
		arg.List = l.listArgs(v.elems)
	}
	return arg
}

// prepare makes the objects and inner instances that an instance declares.
func (l *lowerer) prepare(inst *instance) {
	if inst.ready {
		return
	}
	inst.ready = true
	locals := inst.locals()
	counts := l.countApplies(inst)
	old := l.frame
	l.frame = inst.frame
	for _, d := range locals {
		inner, ok := d.(*syntax.InstanceDecl)
		if !ok {
			continue
		}
		o := l.info.Defs[inner].(*types.Instance)
		name := controlName(inst.name, inner.Annotations, inner.Name.Name)
		if _, ok := o.Type.(*types.Extern); ok {
			inst.frame.vals[o] = l.newObject(o, inner, name)
			continue
		}
		child := l.newInstance(l.info.Call(inner.Call), name, inst)
		child.once = inst.once && counts[o] == 1
		inst.frame.vals[o] = child
	}
	l.frame = old
}

func (inst *instance) locals() []syntax.Decl {
	if inst.block.Kind == types.ParserBlock {
		return inst.block.Parser.Locals
	}
	return inst.block.Control.Locals
}

// walk calls see for the expressions in the statements of an instance, and
// again for those that are lowered more than once.
func (inst *instance) walk(see func(syntax.Expr) bool) {
	stmt := func(s syntax.Stmt) {
		syntax.WalkStmt(s, see)
		syntax.WalkStmts(s, func(s syntax.Stmt) {
			if f, ok := s.(*syntax.ForInStmt); ok {
				syntax.WalkStmt(f.Body, see)
			}
		})
	}
	if inst.block.Kind == types.ParserBlock {
		for _, s := range inst.block.Parser.States {
			for _, st := range s.Body {
				stmt(st)
			}
		}
	} else {
		stmt(inst.block.Control.Body)
	}
}

// countApplies counts the calls of apply on the instances declared in a
// block.
func (l *lowerer) countApplies(inst *instance) map[types.Object]int {
	counts := map[types.Object]int{}
	see := func(e syntax.Expr) bool {
		if c, ok := e.(*syntax.CallExpr); ok {
			if k := l.info.Call(c); k != nil && k.Kind == types.CallApply {
				if n, ok := k.Recv.(*syntax.NameExpr); ok {
					counts[l.info.Use(n)]++
				}
			}
		}
		return true
	}
	inst.walk(see)
	return counts
}
