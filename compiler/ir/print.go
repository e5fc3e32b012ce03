// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// Print returns the program as text.
func Print(p *Program) string {
	w := &printer{}
	w.line("program %s", p.Arch.Package)
	for _, t := range p.HeaderTypes {
		w.open("header type %s", t.Name)
		for _, f := range t.Fields {
			w.line("%s: %v", f.Name, f.Type)
		}
		w.close()
	}
	for _, t := range p.UnionTypes {
		w.open("union type %s", t.Name)
		for _, m := range t.Members {
			w.line("%s: %s", m.Name, m.Type.Name)
		}
		w.close()
	}
	for _, h := range p.Headers {
		kind := "header"
		if h.Metadata {
			kind = "metadata"
		}
		w.line("%s %s: %s", kind, h.Name, h.Type.Name)
	}
	for _, s := range p.Stacks {
		w.line("stack %s: %s[%d]", s.Name, s.Type.Name, len(s.Elems))
	}
	for _, u := range p.Unions {
		w.line("union %s: %s", u.Name, u.Type.Name)
	}
	for _, s := range p.UnionStacks {
		w.line("union stack %s: %s[%d]", s.Name, s.Type.Name, len(s.Elems))
	}
	for _, v := range p.Vars {
		lists := ""
		for _, n := range v.Lists {
			lists += fmt.Sprintf(" list %d", n)
		}
		w.line("var %s: %v%s", v.Name, v.Type, lists)
	}
	for _, o := range p.Objects {
		w.line("object %s: %v(%s)", o.Name, o.Type, args(o.Args))
	}
	for _, q := range p.Parsers {
		w.parser(q)
	}
	for _, a := range p.Actions {
		params := make([]string, len(a.Params))
		for i, q := range a.Params {
			params[i] = q.Name + ": " + q.Type.String()
		}
		w.open("action %s(%s)", a.Name, strings.Join(params, ", "))
		w.stmts(a.Body)
		w.close()
	}
	for _, c := range p.Controls {
		w.open("%s %s", c.Role, c.Name)
		for _, t := range c.Tables {
			w.table(t)
		}
		w.stmts(c.Body)
		w.close()
	}
	return w.b.String()
}

type printer struct {
	b      strings.Builder
	indent int
}

func (w *printer) line(format string, args ...any) {
	w.b.WriteString(strings.Repeat("  ", w.indent))
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func (w *printer) open(format string, args ...any) {
	w.line(format+" {", args...)
	w.indent++
}

func (w *printer) close() {
	w.indent--
	w.line("}")
}

func (w *printer) parser(p *Parser) {
	w.open("%s %s, from %s", p.Role, p.Name, p.Start.Name)
	for _, v := range p.ValueSets {
		w.line("value set %s: bit<%d>[%d]", v.Name, v.Width, v.Size)
	}
	for _, s := range p.States {
		w.open("state %s", s.Name)
		w.stmts(s.Body)
		if s.Select == nil {
			w.line("to %s", target(s.Next, s.Reject))
		} else {
			keys := make([]string, len(s.Select.Keys))
			for i, k := range s.Select.Keys {
				keys[i] = ExprText(k)
			}
			w.open("select %s", strings.Join(keys, ", "))
			for _, c := range s.Select.Cases {
				if c.ValueSet != nil {
					w.line("%s: %s", c.ValueSet.Name, target(c.Next, c.Reject))
					continue
				}
				w.line("%s: %s", keySets(c.Keys), target(c.Next, c.Reject))
			}
			w.close()
		}
		w.close()
	}
	w.close()
}

func target(s *State, reject bool) string {
	switch {
	case reject:
		return "reject"
	case s == nil:
		return "accept"
	}
	return s.Name
}

func keySets(list []KeySet) string {
	parts := make([]string, len(list))
	for i, k := range list {
		switch {
		case k.Any:
			parts[i] = "_"
		case k.High != nil:
			parts[i] = fmt.Sprintf("%v..%v", k.Value, k.High)
		case k.Mask != nil:
			parts[i] = fmt.Sprintf("0x%s &&& 0x%s", k.Value.Text(16), k.Mask.Text(16))
		default:
			parts[i] = k.Value.String()
		}
	}
	return strings.Join(parts, ", ")
}

func (w *printer) table(t *Table) {
	w.open("table %s", t.Name)
	for _, k := range t.Keys {
		w.line("key %q: %s %s", k.Name, ExprText(k.X), k.Match)
	}
	for _, a := range t.Actions {
		w.line("action %s", a.Action.Name)
	}
	if t.Default != nil {
		w.line("default %s", callText(t.Default))
	}
	for _, e := range t.Entries {
		priority := ""
		if e.Priority != nil {
			priority = fmt.Sprintf("priority %v: ", e.Priority)
		}
		w.line("entry %s%s: %s", priority, keySets(e.Keys), callText(e.Call))
	}
	if t.SizeSet {
		w.line("size %d", t.Size)
	}
	for _, name := range []string{"implementation", "counters", "meters", "support_timeout"} {
		switch p := t.Props[name]; {
		case p == nil:
		case p.Object != nil:
			w.line("%s %s", name, p.Object.Name)
		default:
			w.line("%s %s", name, ExprText(p.Const))
		}
	}
	w.close()
}

func callText(c *ActionCall) string {
	parts := make([]string, len(c.Args))
	for i, a := range c.Args {
		parts[i] = ExprText(a)
	}
	return c.Action.Name + "(" + strings.Join(parts, ", ") + ")"
}

func (w *printer) stmts(list []Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *printer) block(head string, list []Stmt) {
	w.open("%s", head)
	w.stmts(list)
	w.close()
}

func (w *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Assign:
		w.line("%s = %s", ExprText(s.Dst), ExprText(s.Src))
	case *CopyHeader:
		w.line("%s = %s", refText(s.Dst), refText(s.Src))
	case *CopyStack:
		w.line("%s = %s", s.Dst.Name, s.Src.Name)
	case *CopyUnion:
		w.line("%s = %s", s.Dst.Name, s.Src.Name)
	case *CopyUnionStack:
		w.line("%s = %s", s.Dst.Name, s.Src.Name)
	case *SetValid:
		w.line("valid %s = %t", refText(s.Header), s.Valid)
	case *Push:
		w.line("push %s, %d", stackName(s.Stack, s.Union), s.N)
	case *Pop:
		w.line("pop %s, %d", stackName(s.Stack, s.Union), s.N)
	case *If:
		w.block("if "+ExprText(s.Cond), s.Then)
		if len(s.Else) > 0 {
			w.block("else", s.Else)
		}
	case *Block:
		w.block(s.Label.Name+":", s.Body)
	case *Leave:
		w.line("leave %s", s.Label.Name)
	case *Loop:
		w.open("loop")
		w.stmts(s.Before)
		w.line("while %s", ExprText(s.Cond))
		w.stmts(s.Body)
		w.block("update", s.Update)
		w.close()
	case *Apply:
		w.apply(s)
	case *Exit:
		w.line("exit")
	case *Call:
		name := s.Name
		if s.Object != nil {
			name = s.Object.Name + "." + name
		}
		w.line("call %s(%s)", name, args(s.Args))
	case *Extract:
		if s.Length != nil {
			w.line("extract %s, %s", refText(s.Header), ExprText(s.Length))
		} else {
			w.line("extract %s", refText(s.Header))
		}
	case *Advance:
		w.line("advance %s", ExprText(s.Bits))
	case *Verify:
		w.line("verify %s, %s", ExprText(s.Cond), ExprText(s.Err))
	case *Emit:
		w.line("emit %s", refText(s.Header))
	}
}

func (w *printer) apply(s *Apply) {
	w.line("apply %s", s.Table.Name)
	if len(s.Hit) > 0 {
		w.block("hit", s.Hit)
	}
	if len(s.Miss) > 0 {
		w.block("miss", s.Miss)
	}
	for _, c := range s.Cases {
		names := make([]string, len(c.Actions))
		for i, a := range c.Actions {
			names[i] = a.Name
		}
		head := "case " + strings.Join(names, ", ")
		if len(names) == 0 {
			head = "default"
		}
		w.block(head, c.Body)
	}
}

func stackName(s *Stack, u *UnionStack) string {
	if s != nil {
		return s.Name
	}
	return u.Name
}

func args(list []Arg) string {
	parts := make([]string, len(list))
	for i, a := range list {
		switch {
		case a.Member != "":
			parts[i] = a.Member
		case a.X != nil:
			parts[i] = ExprText(a.X)
		case a.Header != nil:
			parts[i] = refText(a.Header)
		case a.Stack != nil:
			parts[i] = a.Stack.Name
		case a.Union != nil:
			parts[i] = a.Union.Name
		case a.Object != nil:
			parts[i] = a.Object.Name
		default:
			parts[i] = "{" + args(a.List) + "}"
		}
	}
	return strings.Join(parts, ", ")
}

func refText(h HeaderRef) string {
	switch h := h.(type) {
	case *Header:
		return h.Name
	case *StackElem:
		return h.Stack.Name + "[" + ExprText(h.Index) + "]"
	case *StackNext:
		return h.Stack.Name + ".next"
	case *StackLast:
		return h.Stack.Name + ".last"
	case *UnionStackElem:
		return h.Stack.Name + "[" + ExprText(h.Index) + "]." + h.Stack.Type.Members[h.Member].Name
	case *UnionStackNext:
		return h.Stack.Name + ".next." + h.Stack.Type.Members[h.Member].Name
	case *UnionStackLast:
		return h.Stack.Name + ".last." + h.Stack.Type.Members[h.Member].Name
	}
	return "?"
}

// ExprText returns an expression as fully parenthesised text.
func ExprText(x Expr) string {
	switch x := x.(type) {
	case *Const:
		if x.Member != "" {
			return x.Member
		}
		if x.T.Kind == Bool {
			return fmt.Sprint(x.Val.Sign() != 0)
		}
		return constText(x.T, x.Val)
	case *Text:
		return fmt.Sprintf("%q", x.Val)
	case *VarRef:
		return x.Var.Name
	case *FieldRef:
		return refText(x.Header) + "." + x.Header.HeaderType().Fields[x.Field].Name
	case *ParamRef:
		return x.Param.Name
	case *Valid:
		return "valid " + refText(x.Header)
	case *UnionValid:
		return "valid " + x.Union.Name
	case *LastIndex:
		return stackName(x.Stack, x.Union) + ".lastIndex"
	case *Lookahead:
		return fmt.Sprintf("lookahead(%d, %d)", x.Offset, x.T.Width)
	case *Unary:
		return x.Op.String() + ExprText(x.X)
	case *Binary:
		op := x.Op.String()
		if x.Op == syntax.PlusPlus {
			op = "++"
		}
		return "(" + ExprText(x.X) + " " + op + " " + ExprText(x.Y) + ")"
	case *Mux:
		return "(" + ExprText(x.Cond) + " ? " + ExprText(x.X) + " : " + ExprText(x.Y) + ")"
	case *Cast:
		return "(" + x.T.String() + ")" + ExprText(x.X)
	case *Slice:
		return fmt.Sprintf("%s[%d:%d]", ExprText(x.X), x.Hi, x.Lo)
	}
	return "?"
}

func constText(t Type, v *big.Int) string {
	switch t.Kind {
	case Bits:
		return fmt.Sprintf("%dw%v", t.Width, v)
	case Signed:
		return fmt.Sprintf("%ds%v", t.Width, v)
	}
	return v.String()
}
