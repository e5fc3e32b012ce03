// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"strings"
)

// variable is what a scope offers.
type variable struct {
	name     string
	t        *typ
	readOnly bool
}

// path is an l-value in a variable.
type path struct {
	text     string
	t        *typ
	readOnly bool
	guard    string // reports whether the value is defined, or ""
	stack    *typ   // text is a stack of this type: an index and tail follow
	tail     string
}

// paths returns all l-values of the scope.
func (g *gen) paths() []path {
	var list []path
	for _, v := range g.scope {
		list = g.walk(list, path{text: v.name, t: v.t, readOnly: v.readOnly})
	}
	return list
}

func (g *gen) walk(list []path, p path) []path {
	list = append(list, p)
	switch p.t.kind {
	case structKind, headerKind, unionKind:
		q := p
		if p.t.kind == headerKind && p.t != g.h {
			q.guard = "isValid()"
			if p.stack == nil {
				q.guard = p.text + ".isValid()"
			}
		}
		for _, f := range p.t.fields {
			c := q
			c.t = f.t
			if p.t.kind == headerKind && strings.HasSuffix(p.text, "u.a") || strings.HasSuffix(p.text, "u.b") {
				c.readOnly = true // a field of an invalid member of a union must not be written
			}
			if p.stack != nil {
				c.tail += "." + f.name
			} else {
				c.text += "." + f.name
			}
			list = g.walk(list, c)
		}
	case stackKind:
		q := p
		q.stack, q.t = p.t, p.t.elem
		list = g.walk(list, q)
	}
	return list
}

// render writes an l-value with the indices that it needs, and the guard.
func (g *gen) render(p path, depth int) (text, guard string) {
	if p.stack == nil {
		return p.text, p.guard
	}
	index := fmt.Sprint(g.n(p.stack.size))
	pure := true
	if g.chance(60) {
		switch p.stack.size {
		case 2:
			index = g.expr(g.bits(1, false), depth-1)
		case 4:
			index = g.expr(g.bits(2, false), depth-1)
		default:
			index = fmt.Sprintf("(%s ? 2w%d : 2w%d)", g.expr(boolean, depth-1), g.n(3), g.n(3))
		}
		pure = !strings.Contains(index, "(") || len(index) < 20 && !strings.Contains(index, "f")
	}
	base := p.text + "[" + index + "]"
	if p.guard != "" && pure {
		guard = base + ".isValid()"
	}
	return base + p.tail, guard
}

// lvalue returns an l-value of a type that may be written, or "".
func (g *gen) lvalue(t *typ, depth int) string {
	var list []path
	var wide []path
	for _, p := range g.paths() {
		switch {
		case p.readOnly:
		case p.t == t:
			list = append(list, p)
		case t.kind == bitsKind && !t.signed && p.t.kind == bitsKind && p.t.width > t.width:
			wide = append(wide, p)
		}
	}
	if len(wide) > 0 && (len(list) == 0 || g.chance(20)) {
		p := wide[g.n(len(wide))]
		text, _ := g.render(p, depth)
		return text + g.slice(p.t.width, t.width)
	}
	if len(list) == 0 {
		return ""
	}
	text, _ := g.render(list[g.n(len(list))], depth)
	return text
}

// slice returns [h:l] or [l+:w].
func (g *gen) slice(from, w int) string {
	lo := g.n(from - w + 1)
	if g.chance(25) {
		return fmt.Sprintf("[%d+:%d]", lo, w)
	}
	return fmt.Sprintf("[%d:%d]", lo+w-1, lo)
}

// read returns an expression that reads an l-value of a type, or "".
func (g *gen) read(t *typ, depth int) string {
	var list []path
	for _, p := range g.paths() {
		if p.t == t {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return ""
	}
	text, guard := g.render(list[g.n(len(list))], depth)
	if guard != "" {
		return fmt.Sprintf("(%s ? %s : %s)", guard, text, g.literal(t))
	}
	return text
}

// expr returns an expression of a type.
func (g *gen) expr(t *typ, depth int) string {
	g.weight++
	if depth <= 0 || g.weight > g.limit {
		if x := g.leaf(t); x != "" {
			return x
		}
	}
	for range 4 {
		if x := g.tryExpr(t, depth-1); x != "" {
			return x
		}
	}
	return g.leaf(t)
}

func (g *gen) leaf(t *typ) string {
	if g.chance(75) {
		if x := g.read(t, 0); x != "" {
			return x
		}
	}
	if t.kind == bitsKind && g.chance(15) {
		for _, c := range g.consts {
			if c.t == t {
				return c.name
			}
		}
	}
	return g.literal(t)
}

// tryExpr chooses a form of expression; "" if it is not possible.
func (g *gen) tryExpr(t *typ, depth int) string {
	switch g.n(10) {
	case 0, 1:
		return g.leaf(t)
	case 2, 3, 4:
		return g.callFor(t, depth)
	case 5:
		if t.kind >= structKind {
			return ""
		}
		return fmt.Sprintf("(%s ? %s : %s)", g.expr(boolean, depth), g.expr(t, depth), g.expr(t, depth))
	}
	switch t.kind {
	case bitsKind:
		return g.arithmetic(t, depth)
	case boolKind:
		return g.condition(depth)
	case enumKind:
		return fmt.Sprintf("((%s) %s)", t.text, g.expr(g.bits(8, false), depth))
	case structKind, headerKind:
		if t == g.headers || t == g.meta {
			return ""
		}
		return g.braces(t, depth)
	}
	return ""
}

// braces returns {…} with a cast.
func (g *gen) braces(t *typ, depth int) string {
	list := make([]string, len(t.fields))
	named := g.chance(30)
	for i, f := range t.fields {
		list[i] = g.expr(f.t, depth)
		if named {
			list[i] = f.name + " = " + list[i]
		}
	}
	if named {
		g.r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return "(" + t.text + ") {" + strings.Join(list, ", ") + "}"
}

// arithmetic returns an operator with a result of bit<W> or int<W>.
func (g *gen) arithmetic(t *typ, depth int) string {
	switch g.n(14) {
	case 0, 1:
		by := g.bits([]int{2, 3, 8}[g.n(3)], false)
		amount := g.expr(by, depth)
		if g.chance(30) {
			amount = fmt.Sprint(g.n(t.width + 2))
		}
		return fmt.Sprintf("(%s %s %s)", g.expr(t, depth), []string{"<<", ">>"}[g.n(2)], amount)
	case 2, 3:
		if t.signed {
			return fmt.Sprintf("((%s) %s)", t.text, g.expr(g.bits(t.width, false), depth))
		}
		from := g.bits(t.width+1+g.n(9), g.chance(20))
		x := g.expr(from, depth)
		if !strings.HasPrefix(x, "(") {
			x = "(" + x + ")"
		}
		return x + g.slice(from.width, t.width)
	case 4, 5:
		if t.width < 3 {
			return ""
		}
		left := 1 + g.n(t.width-1)
		if t.signed && left < 2 {
			left = 2
		}
		right := g.bits(t.width-left, g.chance(20) && t.width-left > 1)
		return fmt.Sprintf("(%s ++ %s)", g.expr(g.bits(left, t.signed), depth), g.expr(right, depth))
	case 6, 7:
		from := g.anyScalar()
		switch {
		case from.kind == boolKind && t.width == 1 && !t.signed, from.kind == bitsKind && from.signed == t.signed,
			from.kind == enumKind && t.width == 8 && !t.signed:
			return fmt.Sprintf("((%s) %s)", t.text, g.expr(from, depth))
		case from.kind == bitsKind:
			return fmt.Sprintf("((%s) (%s) %s)", t.text, g.bits(from.width, t.signed).text, g.expr(from, depth))
		}
		return ""
	case 8:
		return fmt.Sprintf("(%s%s)", []string{"-", "~", "+"}[g.n(3)], g.paren(g.expr(t, depth)))
	}
	ops := []string{"+", "-", "&", "|", "^", "|+|", "|-|", "+", "-", "*"}
	return fmt.Sprintf("(%s %s %s)", g.expr(t, depth), ops[g.n(len(ops))], g.expr(t, depth))
}

func (g *gen) paren(x string) string {
	if strings.HasPrefix(x, "(") {
		return x
	}
	return "(" + x + ")"
}

// condition returns a Boolean expression.
func (g *gen) condition(depth int) string {
	switch g.n(12) {
	case 0:
		return "(!" + g.paren(g.expr(boolean, depth)) + ")"
	case 1, 2, 3:
		return fmt.Sprintf("(%s %s %s)", g.expr(boolean, depth), []string{"&&", "||"}[g.n(2)], g.expr(boolean, depth))
	case 4:
		if t := g.applicable(); t != nil {
			return t.name + ".apply()" + []string{".hit", ".hit", ".miss"}[g.n(3)]
		}
	case 5:
		var list []path
		for _, p := range g.paths() {
			if p.t.kind == headerKind || p.t.kind == unionKind {
				list = append(list, p)
			}
		}
		if len(list) > 0 {
			text, _ := g.render(list[g.n(len(list))], depth)
			return text + ".isValid()"
		}
	case 6:
		t := []*typ{g.x, g.pair, g.h}[g.n(3)]
		if a, b := g.plain(t), g.plain(t); a != "" && b != "" {
			return fmt.Sprintf("(%s %s %s)", a, []string{"==", "!="}[g.n(2)], b)
		}
	case 7:
		return fmt.Sprintf("((bool) %s)", g.expr(g.bits(1, false), depth))
	}
	t := g.anyScalar()
	ops := []string{"==", "!="}
	if t.kind == bitsKind {
		ops = append(ops, "<", "<=", ">", ">=")
	}
	y := g.expr(t, depth)
	return fmt.Sprintf("(%s %s %s)", g.expr(t, depth), ops[g.n(len(ops))], y)
}

// plain returns an l-value of a type that is read.
func (g *gen) plain(t *typ) string {
	var list []path
	for _, p := range g.paths() {
		if p.t == t {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return ""
	}
	text, _ := g.render(list[g.n(len(list))], 1)
	return text
}

// callFor returns a call of a function with a result of the type, or "".
func (g *gen) callFor(t *typ, depth int) string {
	if t.kind != stackKind && t != g.headers && t != g.meta && g.swap && g.chance(10) {
		if lv := g.lvalue(t, depth); lv != "" {
			return fmt.Sprintf("swap<%s>(%s, %s)", t.text, lv, g.expr(t, depth))
		}
	}
	var list []*function
	for _, f := range g.functions {
		if f.result == t && f.name != "" {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return g.call(list[g.n(len(list))], depth)
}

// call returns a call, or "" if its weight is too large or an l-value missing.
func (g *gen) call(f *function, depth int) string {
	if g.weight+f.weight > g.limit {
		return ""
	}
	before := g.weight
	g.weight += f.weight
	g.looped = g.looped || f.loops
	named := g.chance(15)
	var args []string
	for i, p := range f.params {
		if f.optional && i == len(f.params)-1 && g.chance(40) {
			break
		}
		var a string
		switch {
		case p.dir == "out" && g.chance(5):
			a = "_"
		case p.dir == "out" || p.dir == "inout":
			if a = g.lvalue(p.t, depth); a == "" {
				g.weight = before
				return ""
			}
		default:
			a = g.expr(p.t, depth)
		}
		if named {
			a = p.name + " = " + a
		}
		args = append(args, a)
	}
	if named {
		g.r.Shuffle(len(args), func(i, j int) { args[i], args[j] = args[j], args[i] })
	}
	return f.name + "(" + strings.Join(args, ", ") + ")"
}
