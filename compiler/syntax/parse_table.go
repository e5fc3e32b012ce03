// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/pauseless/pauseless/compiler/source"

func (p *parser) tableDecl(start source.Pos, annots []*Annotation) Decl {
	d := &TableDecl{}
	p.next()
	d.Name = p.name("a table")
	p.want(LBrace, "before the properties of the table")
	for p.tok.Kind != RBrace && p.tok.Kind != EOF {
		p.recoverDecl(func() Decl {
			d.Props = append(d.Props, p.property())
			return nil
		})
	}
	if len(d.Props) == 0 && p.tok.Kind == RBrace {
		p.errorHere("table %s has no properties", d.Name.Name)
	}
	p.want(RBrace, "after the properties of the table")
	p.declare(d.Name.Name, notType)
	p.finish(&d.decl, start, annots)
	return d
}

func (p *parser) property() *Property {
	prop := &Property{node: node{start: p.tok.Pos}}
	prop.Annotations = p.annotations()
	prop.Const = p.got(Const)
	kind := p.tok.Kind
	prop.Name = p.name("a table property")
	p.want(Assign, "after the name of the property")
	switch kind {
	case Key:
		p.propertyList(func() { prop.Keys = append(prop.Keys, p.keyElement()) })
		if prop.Keys == nil {
			prop.Keys = []*KeyElement{}
		}
	case Actions:
		p.propertyList(func() {
			start := p.tok.Pos
			annots := p.annotations()
			a := p.actionRef(start)
			a.Annotations = annots
			p.want(Semicolon, "after the action")
			prop.Actions = append(prop.Actions, a)
		})
		if prop.Actions == nil {
			prop.Actions = []*ActionRef{}
		}
	case Entries:
		p.propertyList(func() { prop.Entries = append(prop.Entries, p.entry()) })
		if prop.Entries == nil {
			prop.Entries = []*Entry{}
		}
	default:
		prop.Value = p.expression()
		p.want(Semicolon, "after the property")
	}
	prop.end = p.prevEnd()
	return prop
}

// propertyList parses { elements }.
func (p *parser) propertyList(element func()) {
	p.want(LBrace, "before the list")
	for p.tok.Kind != RBrace && p.tok.Kind != EOF {
		p.recoverDecl(func() Decl {
			element()
			return nil
		})
	}
	p.want(RBrace, "after the list")
}

func (p *parser) keyElement() *KeyElement {
	k := &KeyElement{node: node{start: p.tok.Pos}}
	k.X = p.expression()
	p.want(Colon, "after the key")
	k.Match = p.name("a match kind")
	k.Annotations = p.annotations()
	p.want(Semicolon, "after the key")
	k.end = p.prevEnd()
	return k
}

// actionRef parses [.]name or [.]name(arguments).
func (p *parser) actionRef(start source.Pos) *ActionRef {
	a := &ActionRef{node: node{start: start}}
	n := &NameExpr{}
	at := p.tok.Pos
	n.Global = p.got(Dot)
	n.Name = p.name("an action").Name
	p.done(&n.expr, at)
	a.X = n
	if p.tok.Kind == LParen {
		c := &CallExpr{Fun: n}
		c.Args = p.arguments()
		p.done(&c.expr, at, n)
		p.raise(c)
		a.X = c
	}
	a.end = p.prevEnd()
	return a
}

func (p *parser) entry() *Entry {
	e := &Entry{node: node{start: p.tok.Pos}}
	e.Const = p.got(Const)
	if p.tok.Kind == Priority && p.peek(1) == Assign {
		p.next()
		p.next()
		if p.tok.Kind != Integer && p.tok.Kind != LParen {
			p.fail("expected a priority, which is a number or an expression in parentheses, found %s", p.tok.describe())
		}
		paren := p.got(LParen)
		if paren {
			e.Priority = p.expression()
			p.want(RParen, "after the priority")
		} else {
			e.Priority = p.integer()
		}
		p.want(Colon, "after the priority")
	}
	e.start = p.tok.Pos
	e.Keys = p.keyset()
	p.want(Colon, "after the key set")
	e.Action = p.actionRef(p.tok.Pos)
	e.Annotations = p.annotations()
	e.end = p.prevEnd()
	p.want(Semicolon, "after the entry")
	return e
}
