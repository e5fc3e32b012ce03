// SPDX-License-Identifier: Apache-2.0

package format

import (
	"strings"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// spaced reports whether there is a space before item i on the same line.
func (l *layouter) spaced(i int) bool {
	p, it := &l.items[l.prev], &l.items[i]
	return l.wantsSpace(i) || p.kind == token && merge(p.text, it.text)
}

// merge reports whether two adjacent tokens without space would be scanned as
// other tokens.
func merge(a, b string) bool {
	const apart = "()[]{},;"
	if a == "" || b == "" || strings.Contains(apart, a[len(a)-1:]) || strings.Contains(apart, b[:1]) && b != "{#}" || a == ">" && b[0] == '>' {
		return false
	}
	set := &source.Set{}
	s := syntax.NewScanner(set.Add("", a+b), &source.Reporter{Set: set})
	first := s.Next()
	return first.Source() != a
}

// wantsSpace reports whether the layout rules put a space before item i.
func (l *layouter) wantsSpace(i int) bool {
	p, it := &l.items[l.prev], &l.items[i]
	if p.kind != token {
		switch it.tok {
		case syntax.Comma, syntax.Semicolon, syntax.RParen, syntax.RBracket:
			return false
		}
		return !it.angle
	}
	switch it.tok {
	case syntax.Comma, syntax.Semicolon, syntax.RParen, syntax.RBracket, syntax.PlusColon:
		return false
	case syntax.Dot:
		return !l.joins(p)
	case syntax.Colon:
		s := l.top()
		return s.questions > 0 || s.key
	case syntax.LParen:
		return l.beforeParen(p)
	case syntax.LBracket:
		return !l.joins(p) && p.tok != syntax.RBracket && !p.angle
	case syntax.Less, syntax.Greater:
		if it.angle || it.second {
			return false
		}
	}
	switch p.tok {
	case syntax.LParen, syntax.LBracket, syntax.Dot, syntax.At, syntax.PlusColon:
		return false
	case syntax.Less:
		return !p.angle
	case syntax.Colon:
		return l.top().open != syntax.LBracket || l.spacedColon()
	}
	return !p.unary
}

// spacedColon reports whether the previous colon belongs to ?:.
func (l *layouter) spacedColon() bool { return l.top().colon }

// joins reports whether a dot or bracket follows token p without space.
func (l *layouter) joins(p *item) bool {
	switch p.tok {
	case syntax.RParen:
		return !p.cast
	case syntax.RBracket, syntax.RBrace, syntax.This, syntax.Error, syntax.Bool, syntax.LParen, syntax.LBracket, syntax.At, syntax.Bit, syntax.Int, syntax.StringType:
		return true
	case syntax.Less, syntax.Greater:
		return p.angle
	case syntax.Not, syntax.Tilde, syntax.Minus, syntax.Plus:
		return p.unary
	}
	return p.tok == syntax.Name || p.tok >= syntax.Actions && p.tok.IsKeyword()
}

// beforeParen reports whether there is a space between token p and an opening
// parenthesis.
func (l *layouter) beforeParen(p *item) bool {
	switch p.tok {
	case syntax.If, syntax.Switch, syntax.For, syntax.Return, syntax.In, syntax.Else:
		return true
	case syntax.Select:
		return false
	case syntax.LBrace:
		return true
	case syntax.Colon:
		return l.top().open != syntax.LBracket || l.spacedColon()
	case syntax.RBrace:
		return true
	}
	if p.unary {
		return false
	}
	if p.tok == syntax.LParen || p.tok == syntax.LBracket || p.tok == syntax.PlusColon {
		return false
	}
	if p.tok == syntax.Less && p.angle {
		return false
	}
	if l.annotates() {
		return false
	}
	return !l.joins(p)
}

// annotates reports whether the last token is an annotation's name, which may
// be a keyword.
func (l *layouter) annotates() bool {
	return l.prev > 0 && l.items[l.prev-1].kind == token && l.items[l.prev-1].tok == syntax.At
}
