// SPDX-License-Identifier: Apache-2.0

package format

import (
	"slices"
	"strings"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// classify determines the meaning of ambiguous tokens.
func classify(items []item) {
	c := &classifier{items: items, types: map[string]bool{}}
	for i := range items {
		if items[i].kind == token {
			c.toks = append(c.toks, i)
		}
	}
	c.declared()
	for k := range c.toks {
		if c.at(k).tok == syntax.Less && !c.at(k).angle {
			c.angles(k)
		}
	}
	c.brackets()
	c.casts()
	c.operators()
	c.blocks()
}

type classifier struct {
	items []item
	toks  []int // indexes of the tokens
	types map[string]bool
}

// at returns the k-th token, or the end of the file if k is out of range.
func (c *classifier) at(k int) *item {
	if k < 0 || k >= len(c.toks) {
		return &item{tok: syntax.EOF}
	}
	return &c.items[c.toks[k]]
}

// declared collects the names of types that the text declares.
func (c *classifier) declared() {
	for k := range c.toks {
		switch c.at(k).tok {
		case syntax.Struct, syntax.Header, syntax.HeaderUnion, syntax.Extern, syntax.Parser, syntax.Control, syntax.Package:
			if c.isName(k + 1) {
				c.types[c.at(k+1).text] = true
			}
		case syntax.Enum, syntax.Typedef, syntax.Type:
			// the name is the last token before { or ;
			for j := k + 1; j < k+40 && j < len(c.toks); j++ {
				if t := c.at(j).tok; t == syntax.LBrace || t == syntax.Semicolon {
					if c.isName(j - 1) {
						c.types[c.at(j-1).text] = true
					}
					break
				}
			}
		}
	}
}

func (c *classifier) isName(k int) bool {
	t := c.at(k).tok
	return t == syntax.Name || t >= syntax.Actions && t.IsKeyword()
}

// isTypeName guesses whether a name is a type: it is declared as one, ends in
// _t, or is like T.
func (c *classifier) isTypeName(name string) bool {
	return c.types[name] || strings.HasSuffix(name, "_t") || len(name) <= 2 && name == strings.ToUpper(name) && name[0] >= 'A'
}

// angles decides whether the < at k begins type arguments, and marks it and its
// >.
func (c *classifier) angles(k int) {
	less := c.at(k)
	sure := false
	switch c.at(k - 1).tok {
	case syntax.Bit, syntax.Int, syntax.Varbit:
		depth := 0
		for j := k + 1; j < len(c.toks); j++ {
			switch c.at(j).tok {
			case syntax.LParen:
				depth++
			case syntax.RParen:
				depth--
			case syntax.Greater:
				if depth == 0 {
					less.angle, c.at(j).angle = true, true
					return
				}
			case syntax.Semicolon, syntax.LBrace, syntax.RBrace:
				return
			}
			if depth < 0 {
				return
			}
		}
		return
	case syntax.Tuple, syntax.List, syntax.ValueSet:
		sure = true
	default:
		if !c.isName(k - 1) {
			return
		}
		head := c.at(k - 2).tok
		sure = head == syntax.Struct || head == syntax.Header || head == syntax.HeaderUnion || head == syntax.Extern ||
			head == syntax.Parser || head == syntax.Control || head == syntax.Package
	}
	sure = sure || !less.space && !c.at(k+1).space
	var marks []int
	end, ok := c.typeList(k+1, sure, &marks)
	if !ok {
		return
	}
	switch c.at(end + 1).tok {
	case syntax.LParen, syntax.RParen, syntax.Comma, syntax.Semicolon, syntax.LBracket, syntax.LBrace, syntax.Greater, syntax.Dot, syntax.At:
	default:
		if !c.isName(end + 1) {
			return
		}
	}
	less.angle = true
	for _, m := range append(marks, end) {
		c.at(m).angle = true
	}
}

// typeList skips types separated by commas and returns the index of the > after
// them. It appends the brackets inside to marks.
func (c *classifier) typeList(k int, sure bool, marks *[]int) (int, bool) {
	for {
		var ok bool
		if k, ok = c.typ(k, sure, marks); !ok {
			return 0, false
		}
		switch c.at(k).tok {
		case syntax.Greater:
			return k, true
		case syntax.Comma:
			k++
		default:
			return 0, false
		}
	}
}

// typ skips a type.
func (c *classifier) typ(k int, sure bool, marks *[]int) (int, bool) {
	if c.at(k).tok == syntax.Dot {
		k++
	}
	switch t := c.at(k); {
	case t.tok == syntax.Bit || t.tok == syntax.Int || t.tok == syntax.Varbit:
		k++
		if c.at(k).tok == syntax.Less {
			open := k
			for k++; c.at(k).tok != syntax.Greater; k++ {
				if t := c.at(k).tok; t == syntax.EOF || t == syntax.Semicolon || t == syntax.LBrace {
					return 0, false
				}
			}
			*marks = append(*marks, open, k)
			k++
		}
	case t.tok == syntax.Bool || t.tok == syntax.Error || t.tok == syntax.StringType || t.tok == syntax.Void || t.tok == syntax.Underscore:
		k++
	case t.tok == syntax.Tuple || t.tok == syntax.List || c.isName(k) && (sure || c.isTypeName(t.text)):
		k++
		if c.at(k).tok == syntax.Less {
			open := k
			end, ok := c.typeList(k+1, sure, marks)
			if !ok {
				return 0, false
			}
			*marks = append(*marks, open, end)
			k = end + 1
		}
	default:
		return 0, false
	}
	for c.at(k).tok == syntax.LBracket {
		for k++; c.at(k).tok != syntax.RBracket; k++ {
			if t := c.at(k).tok; t == syntax.EOF || t == syntax.Semicolon || t == syntax.LBrace {
				return 0, false
			}
		}
		k++
	}
	return k, true
}

var closers = map[syntax.Kind]syntax.Kind{syntax.RParen: syntax.LParen, syntax.RBracket: syntax.LBracket, syntax.RBrace: syntax.LBrace}

// brackets pairs brackets. A bracket whose partner is in another branch of an
// #if has none.
func (c *classifier) brackets() {
	var stack []int
	for _, i := range c.toks {
		switch t := c.items[i].tok; t {
		case syntax.LParen, syntax.LBracket, syntax.LBrace:
			stack = append(stack, i)
		case syntax.RParen, syntax.RBracket, syntax.RBrace:
			if n := len(stack); n > 0 && c.items[stack[n-1]].tok == closers[t] {
				c.items[i].match, c.items[stack[n-1]].match = stack[n-1], i
				stack = stack[:n-1]
			}
		}
	}
}

// casts marks the parentheses of casts.
func (c *classifier) casts() {
	for k := range c.toks {
		if c.at(k).tok != syntax.LParen || c.endsOperand(k-1) {
			continue
		}
		var marks []int
		end, ok := c.typ(k+1, false, &marks)
		if !ok || c.at(end).tok != syntax.RParen || !c.startsOperand(end+1) {
			continue
		}
		switch c.at(k - 1).tok {
		case syntax.If, syntax.Switch, syntax.For, syntax.Select:
			continue
		}
		c.at(end).cast = true
	}
}

// endsOperand reports whether token k ends an operand.
func (c *classifier) endsOperand(k int) bool {
	t := c.at(k)
	switch t.tok {
	case syntax.Integer, syntax.String, syntax.True, syntax.False, syntax.RBracket, syntax.RBrace, syntax.This,
		syntax.Underscore, syntax.Default, syntax.Error, syntax.Bool, syntax.Select, syntax.InvalidBrace, syntax.Dots:
		return true
	case syntax.RParen:
		return !t.cast
	case syntax.Greater:
		return t.angle
	}
	return c.isName(k)
}

// startsOperand reports whether token k begins an operand.
func (c *classifier) startsOperand(k int) bool {
	switch c.at(k).tok {
	case syntax.Integer, syntax.String, syntax.True, syntax.False, syntax.LParen, syntax.LBrace, syntax.This, syntax.Error,
		syntax.Minus, syntax.Plus, syntax.Tilde, syntax.Not, syntax.InvalidBrace:
		return true
	}
	return c.isName(k)
}

// operators marks unary operators.
func (c *classifier) operators() {
	for k := range c.toks {
		t := c.at(k)
		switch t.tok {
		case syntax.Not, syntax.Tilde:
			t.unary = true
		case syntax.Minus, syntax.Plus:
			t.unary = !c.endsOperand(k - 1)
		case syntax.Greater:
			if next := c.at(k + 1); !t.angle && !t.second && next.tok == syntax.Greater && !next.angle && !next.space && c.toks[k+1] == c.toks[k]+1 {
				next.second = true
			}
		}
	}
}

// blocks marks braces around statements, members, states and the like, in
// contrast to values, and those on one line.
func (c *classifier) blocks() {
	for k := range c.toks {
		open := c.at(k)
		if open.tok != syntax.LBrace {
			continue
		}
		block := true
		prev := c.at(k - 1)
		switch prev.tok {
		case syntax.LParen, syntax.Comma, syntax.Return, syntax.LBrace, syntax.Question, syntax.Equal, syntax.NotEqual, syntax.PlusPlus, syntax.LBracket, syntax.In:
			block = false
		case syntax.Assign:
			switch c.at(k - 2).tok {
			case syntax.Key, syntax.Actions, syntax.Entries:
			default:
				block = false
			}
		case syntax.RParen:
			block = !prev.cast
		}
		if prev.tok == syntax.Colon && open.match >= 0 {
			block = true
		}
		if !block && open.match >= 0 && prev.tok != syntax.LParen && prev.tok != syntax.Comma {
			block = c.hasStatements(c.toks[k], open.match)
		}
		open.block = block
		open.inline = open.match >= 0 && c.oneLine(c.toks[k], open.match)
		if open.match >= 0 {
			c.items[open.match].block, c.items[open.match].inline = block, open.inline
		}
	}
}

// hasStatements reports whether there is a semicolon or a method body between
// two braces, without nested braces.
func (c *classifier) hasStatements(open, end int) bool {
	for i := open + 1; i < end; i++ {
		switch it := &c.items[i]; it.tok {
		case syntax.Semicolon:
			return true
		case syntax.LBrace:
			if prev := &c.items[i-1]; prev.tok == syntax.RParen && !prev.cast {
				return true
			}
			if it.match > i {
				i = it.match
			}
		}
	}
	return false
}

// oneLine reports whether two braces are on one line.
func (c *classifier) oneLine(open, end int) bool {
	return !slices.ContainsFunc(c.items[open+1:end+1], func(it item) bool {
		return it.lines > 0 || it.kind == line || it.kind == directive || it.kind == pragma || strings.Contains(it.text, "\n")
	})
}
