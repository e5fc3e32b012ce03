// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"fmt"
	"strings"
)

// Text returns the node as P4_16 text. An expression is one line, with
// parentheses where needed.
func Text(n Node) string {
	p := &printer{}
	p.node(n)
	return p.b.String()
}

// PrintProgram returns the tree as P4_16 text, each declaration and statement
// on its own line, without comments. It shows how the parser read the program.
func PrintProgram(prog *Program) string {
	p := &printer{}
	for _, d := range prog.Decls {
		p.decl(d)
	}
	return p.b.String()
}

type printer struct {
	b      strings.Builder
	indent int
}

func (p *printer) f(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

func (p *printer) line(format string, args ...any) {
	p.b.WriteString(strings.Repeat("    ", p.indent))
	p.f(format, args...)
	p.b.WriteByte('\n')
}

func (p *printer) open(format string, args ...any) {
	p.line(format+" {", args...)
	p.indent++
}

func (p *printer) close(text string) {
	p.indent--
	p.line("}%s", text)
}

func (p *printer) node(n Node) {
	switch n := n.(type) {
	case Expr:
		p.expr(n, 0)
	case TypeExpr:
		p.typ(n)
	case Decl:
		p.decl(n)
	case Stmt:
		p.stmt(n)
	case *Param:
		p.param(n)
	case *Ident:
		p.f("%s", n.Name)
	case *Argument:
		p.argument(n)
	case *Annotation:
		p.annotation(n)
	case *ActionRef:
		p.expr(n.X, 0)
	default:
		p.f("%T", n)
	}
}

// expr prints x, in parentheses if its operator binds less tightly than prec.
func (p *printer) expr(x Expr, prec int8) {
	switch x := x.(type) {
	case nil:
	case *BadExpr:
		p.f("<bad>")
	case *NameExpr:
		if x.Global {
			p.f(".")
		}
		p.f("%s", x.Name)
	case *IntLit:
		switch {
		case x.Width >= 0 && x.Signed:
			p.f("%ds%v", x.Width, x.Value)
		case x.Width >= 0:
			p.f("%dw%v", x.Width, x.Value)
		default:
			p.f("%v", x.Value)
		}
	case *BoolLit:
		p.f("%t", x.Value)
	case *StringLit:
		p.f("\"%s\"", x.Value)
	case *ThisExpr:
		p.f("this")
	case *ListExpr:
		p.f("{")
		p.exprs(x.Elems)
		p.f("}")
	case *StructExpr:
		p.f("{")
		for i, f := range x.Fields {
			if i > 0 {
				p.f(", ")
			}
			p.f("%s = ", f.Name.Name)
			p.expr(f.Value, 0)
		}
		if x.Dots {
			p.f(", ...")
		}
		p.f("}")
	case *InvalidExpr:
		p.f("{#}")
	case *DotsExpr:
		p.f("...")
	case *DefaultExpr:
		if x.Word {
			p.f("default")
		} else {
			p.f("_")
		}
	case *UnaryExpr:
		p.f("%v", x.Op)
		if u, ok := x.X.(*UnaryExpr); ok && x.Op == Plus && u.Op == Plus {
			p.f(" ") // otherwise it would be ++
		}
		p.expr(x.X, 11)
	case *BinaryExpr:
		own := precedence[x.Op]
		if own < prec {
			p.f("(")
		}
		p.expr(x.X, own)
		p.f(" %v ", x.Op)
		p.expr(x.Y, own+1)
		if own < prec {
			p.f(")")
		}
	case *CondExpr:
		if prec > 0 {
			p.f("(")
		}
		p.expr(x.Cond, 1)
		p.f(" ? ")
		p.expr(x.X, 1)
		p.f(" : ")
		p.expr(x.Y, 1)
		if prec > 0 {
			p.f(")")
		}
	case *CastExpr:
		if prec > 11 {
			p.f("(")
		}
		p.f("(")
		p.typ(x.Type)
		p.f(")")
		p.expr(x.X, 11)
		if prec > 11 {
			p.f(")")
		}
	case *TypeNameExpr:
		p.typ(x.Type)
	case *MemberExpr:
		p.expr(x.X, 12)
		p.f(".%s", x.Sel.Name)
	case *IndexExpr:
		p.expr(x.X, 12)
		p.f("[")
		p.expr(x.Index, 0)
		p.f("]")
	case *SliceExpr:
		p.expr(x.X, 12)
		p.f("[")
		if x.Plus {
			p.expr(x.Lo, 0)
			p.f("+:")
			p.expr(x.Hi, 0)
		} else {
			p.expr(x.Hi, 0)
			p.f(":")
			p.expr(x.Lo, 0)
		}
		p.f("]")
	case *CallExpr:
		p.expr(x.Fun, 12)
		p.typeArgs(x.TypeArgs)
		p.f("(")
		for i, a := range x.Args {
			if i > 0 {
				p.f(", ")
			}
			p.argument(a)
		}
		p.f(")")
	case *TupleExpr:
		p.f("(")
		p.exprs(x.Elems)
		p.f(")")
	case *SelectExpr:
		p.f("select (")
		p.exprs(x.Keys)
		p.f(") {\n")
		p.indent++
		for _, c := range x.Cases {
			p.line("%s: %s;", Text(c.Keys), c.Next.Name)
		}
		p.indent--
		p.f("%s}", strings.Repeat("    ", p.indent))
	default:
		p.f("%T", x)
	}
}

func (p *printer) exprs(list []Expr) {
	for i, x := range list {
		if i > 0 {
			p.f(", ")
		}
		p.expr(x, 0)
	}
}

func (p *printer) argument(a *Argument) {
	if a.Name != nil {
		p.f("%s = ", a.Name.Name)
	}
	p.expr(a.Value, 0)
}

func (p *printer) typ(t TypeExpr) {
	switch t := t.(type) {
	case nil:
	case *BadType:
		p.f("<bad>")
	case *BaseType:
		p.f("%v", t.Kind)
		if lit, ok := t.Width.(*IntLit); ok {
			p.f("<%v>", lit.Value)
		} else if t.Width != nil {
			p.f("<(")
			p.expr(t.Width, 0)
			p.f(")>")
		}
	case *NamedType:
		if t.Global {
			p.f(".")
		}
		p.f("%s", t.Name)
		p.typeArgs(t.Args)
	case *ArrayType:
		p.typ(t.Elem)
		p.f("[")
		p.expr(t.Size, 0)
		p.f("]")
	case *TupleType:
		p.f("tuple<")
		p.types(t.Elems)
		p.f(">")
	case *ListType:
		p.f("list<")
		p.typ(t.Elem)
		p.f(">")
	case *DontCareType:
		p.f("_")
	default:
		p.f("%T", t)
	}
}

func (p *printer) types(list []TypeExpr) {
	for i, t := range list {
		if i > 0 {
			p.f(", ")
		}
		p.typ(t)
	}
}

func (p *printer) typeArgs(list []TypeExpr) {
	if len(list) > 0 {
		p.f("<")
		p.types(list)
		p.f(">")
	}
}

func (p *printer) annotation(a *Annotation) {
	if a.Pragma {
		p.f("@pragma %s %s", a.Name, TokensText(a.Tokens))
		return
	}
	p.f("@%s", a.Name)
	switch {
	case !a.HasBody:
	case a.Structured:
		p.f("[")
		p.exprs(a.Exprs)
		for i, f := range a.Fields {
			if i > 0 {
				p.f(", ")
			}
			p.f("%s = ", f.Name.Name)
			p.expr(f.Value, 0)
		}
		p.f("]")
	default:
		p.f("(%s)", TokensText(a.Tokens))
	}
}

// TokensText returns tokens as text, with one space where the source has white
// space.
func TokensText(list []Token) string {
	var b strings.Builder
	for i := range list {
		if i > 0 && list[i].Flags&(SpaceAhead|LineStart) != 0 {
			b.WriteByte(' ')
		}
		b.WriteString(list[i].Source())
	}
	return b.String()
}

// annots returns annotations as text before a declaration.
func annots(list []*Annotation) string {
	var b strings.Builder
	for _, a := range list {
		b.WriteString(Text(a))
		if a.Pragma {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (p *printer) param(q *Param) {
	p.f("%s", annots(q.Annotations))
	if q.Dir != NoDirection {
		p.f("%v ", q.Dir)
	}
	p.typ(q.Type)
	p.f(" %s", q.Name.Name)
	if q.Default != nil {
		p.f(" = ")
		p.expr(q.Default, 0)
	}
}

func params(list []*Param) string {
	p := &printer{}
	p.f("(")
	for i, q := range list {
		if i > 0 {
			p.f(", ")
		}
		p.param(q)
	}
	p.f(")")
	return p.b.String()
}

func typeParams(list []*Ident) string {
	if len(list) == 0 {
		return ""
	}
	names := make([]string, len(list))
	for i, id := range list {
		names[i] = id.Name
	}
	return "<" + strings.Join(names, ", ") + ">"
}
