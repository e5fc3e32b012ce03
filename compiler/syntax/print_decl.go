// SPDX-License-Identifier: Apache-2.0

package syntax

import "strings"

func (p *printer) decl(d Decl) {
	if n, ok := d.(NamedDecl); ok && len(n.Annots()) > 0 {
		for _, a := range n.Annots() {
			p.line("%s", Text(a))
		}
	}
	switch d := d.(type) {
	case *BadDecl:
		p.line("<bad>")
	case *ConstDecl:
		p.line("const %s %s = %s;", Text(d.Type), d.Name.Name, Text(d.Value))
	case *VarDecl:
		p.line("%s;", varText(d))
	case *InstanceDecl:
		if !d.HasBody {
			p.line("%s %s;", Text(d.Call), d.Name.Name)
			break
		}
		p.open("%s %s =", Text(d.Call), d.Name.Name)
		for _, b := range d.Body {
			p.decl(b)
		}
		p.close(";")
	case *FuncDecl:
		p.function(d)
	case *ActionDecl:
		p.line("action %s%s", d.Name.Name, params(d.Params))
		p.stmt(d.Body)
	case *ExternDecl:
		p.open("extern %s%s", d.Name.Name, typeParams(d.TypeParams))
		for _, m := range d.Methods {
			p.decl(m)
		}
		p.close("")
	case *ParserDecl:
		if !p.blockHead("parser "+d.Name.Name+typeParams(d.TypeParams)+params(d.Params), d.HasBody, d.CtorParams, d.Locals) {
			break
		}
		for _, s := range d.States {
			p.decl(s)
		}
		p.close("")
	case *ControlDecl:
		if !p.blockHead("control "+d.Name.Name+typeParams(d.TypeParams)+params(d.Params), d.HasBody, d.CtorParams, d.Locals) {
			break
		}
		p.line("apply")
		p.stmt(d.Body)
		p.close("")
	case *PackageDecl:
		p.line("package %s%s%s;", d.Name.Name, typeParams(d.TypeParams), params(d.Params))
	case *StructDecl:
		p.open("%v %s%s", d.Kind, d.Name.Name, typeParams(d.TypeParams))
		for _, f := range d.Fields {
			p.line("%s%s %s;", annots(f.Annotations), Text(f.Type), f.Name.Name)
		}
		p.close("")
	case *EnumDecl:
		head := "enum "
		if d.Type != nil {
			head += Text(d.Type) + " "
		}
		p.open("%s%s", head, d.Name.Name)
		for _, m := range d.Members {
			if m.Value != nil {
				p.line("%s = %s,", m.Name.Name, Text(m.Value))
			} else {
				p.line("%s,", m.Name.Name)
			}
		}
		p.close("")
	case *ErrorDecl:
		p.line("error {%s}", idents(d.Members))
	case *MatchKindDecl:
		p.line("match_kind {%s}", idents(d.Members))
	case *TypedefDecl:
		switch {
		case d.New:
			p.line("type %s %s;", Text(d.Type), d.Name.Name)
		case d.Decl != nil:
			p.line("typedef")
			p.decl(d.Decl)
			p.line("%s;", d.Name.Name)
		default:
			p.line("typedef %s %s;", Text(d.Type), d.Name.Name)
		}
	case *ValueSetDecl:
		p.line("value_set<%s>(%s) %s;", Text(d.Elem), Text(d.Size), d.Name.Name)
	case *StateDecl:
		p.open("state %s", d.Name.Name)
		for _, s := range d.Body {
			p.stmt(s)
		}
		switch next := d.Next.(type) {
		case nil:
		case *SelectExpr:
			p.b.WriteString(strings.Repeat("    ", p.indent) + "transition ")
			p.expr(next, 0)
			p.f("\n")
		default:
			p.line("transition %s;", Text(next))
		}
		p.close("")
	case *TableDecl:
		p.table(d)
	default:
		p.line("%T", d)
	}
}

func idents(list []*Ident) string {
	names := make([]string, len(list))
	for i, id := range list {
		names[i] = id.Name
	}
	return strings.Join(names, ", ")
}

func varText(d *VarDecl) string {
	s := Text(d.Type) + " " + d.Name.Name
	if d.Init != nil {
		s += " = " + Text(d.Init)
	}
	return s
}

func (p *printer) function(d *FuncDecl) {
	head := ""
	if d.Extern {
		head = "extern "
	}
	if d.Abstract {
		head += "abstract "
	}
	if d.Result != nil {
		head += Text(d.Result) + " "
	}
	head += d.Name.Name + typeParams(d.TypeParams) + params(d.Params)
	if d.Body == nil {
		p.line("%s;", head)
		return
	}
	p.line("%s", head)
	p.stmt(d.Body)
}

func (p *printer) table(d *TableDecl) {
	p.open("table %s", d.Name.Name)
	for _, prop := range d.Props {
		head := annots(prop.Annotations)
		if prop.Const {
			head += "const "
		}
		head += prop.Name.Name
		switch {
		case prop.Keys != nil:
			p.open("%s =", head)
			for _, k := range prop.Keys {
				tail := ""
				for _, a := range k.Annotations {
					tail += " " + Text(a)
				}
				p.line("%s: %s%s;", Text(k.X), k.Match.Name, tail)
			}
			p.close("")
		case prop.Actions != nil:
			p.open("%s =", head)
			for _, a := range prop.Actions {
				p.line("%s%s;", annots(a.Annotations), Text(a.X))
			}
			p.close("")
		case prop.Entries != nil:
			p.open("%s =", head)
			for _, e := range prop.Entries {
				head := ""
				if e.Const {
					head = "const "
				}
				if e.Priority != nil {
					head += "priority = (" + Text(e.Priority) + "): "
				}
				tail := ""
				for _, a := range e.Annotations {
					tail += " " + Text(a)
				}
				p.line("%s%s: %s%s;", head, Text(e.Keys), Text(e.Action.X), tail)
			}
			p.close("")
		default:
			p.line("%s = %s;", head, Text(prop.Value))
		}
	}
	p.close("")
}

func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *BadStmt:
		p.line("<bad>")
	case *DeclStmt:
		p.decl(s.Decl)
	case *EmptyStmt:
		p.line(";")
	case *AssignStmt:
		p.line("%s;", simpleText(s))
	case *CallStmt:
		p.line("%s;", simpleText(s))
	case *BlockStmt:
		for _, a := range s.Annotations {
			p.line("%s", Text(a))
		}
		p.line("{")
		p.indent++
		for _, t := range s.Stmts {
			p.stmt(t)
		}
		p.close("")
	case *IfStmt:
		p.line("if (%s)", Text(s.Cond))
		p.nested(s.Then)
		if s.Else != nil {
			p.line("else")
			p.nested(s.Else)
		}
	case *SwitchStmt:
		p.open("switch (%s)", Text(s.X))
		for _, c := range s.Cases {
			p.line("%s:", Text(c.Label))
			if c.Body != nil {
				p.stmt(c.Body)
			}
		}
		p.close("")
	case *ForStmt:
		for _, a := range s.Annotations {
			p.line("%s", Text(a))
		}
		p.line("for (%s; %s; %s)", simpleTexts(s.Init), Text(s.Cond), simpleTexts(s.Update))
		p.nested(s.Body)
	case *ForInStmt:
		for _, a := range s.Annotations {
			p.line("%s", Text(a))
		}
		p.line("for (%s in %s)", varText(s.Var), Text(s.X))
		p.nested(s.Body)
	case *ReturnStmt:
		if s.X != nil {
			p.line("return %s;", Text(s.X))
		} else {
			p.line("return;")
		}
	case *ExitStmt:
		p.line("exit;")
	case *BreakStmt:
		p.line("break;")
	case *ContinueStmt:
		p.line("continue;")
	default:
		p.line("%T", s)
	}
}

// nested prints the statement that if, else or a loop controls.
func (p *printer) nested(s Stmt) {
	if _, ok := s.(*BlockStmt); ok {
		p.stmt(s)
		return
	}
	p.indent++
	p.stmt(s)
	p.indent--
}

// simpleText returns a statement of a for loop's head.
func simpleText(s Stmt) string {
	switch s := s.(type) {
	case *AssignStmt:
		return Text(s.X) + " " + s.Op.String() + " " + Text(s.Y)
	case *CallStmt:
		return Text(s.Call)
	case *DeclStmt:
		switch d := s.Decl.(type) {
		case *VarDecl:
			return varText(d)
		case *InstanceDecl:
			return Text(d.Call) + " " + d.Name.Name
		}
	}
	return "<bad>"
}

func simpleTexts(list []Stmt) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = simpleText(s)
	}
	return strings.Join(texts, ", ")
}

// blockHead prints a parser or control up to its local declarations, and
// reports whether it has a body.
func (p *printer) blockHead(head string, body bool, ctor []*Param, locals []Decl) bool {
	if !body {
		p.line("%s;", head)
		return false
	}
	if len(ctor) > 0 {
		head += params(ctor)
	}
	p.open("%s", head)
	for _, l := range locals {
		p.decl(l)
	}
	return true
}
