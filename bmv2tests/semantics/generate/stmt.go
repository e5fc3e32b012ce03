// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"strings"
)

// where is the kind of code that statements are in.
type where uint8

const (
	inFunction where = iota
	inAction
	inControl
	inParser
)

// block writes statements in braces.
func (g *gen) block(n, depth int) {
	scope := len(g.scope)
	g.p("{\n")
	for range n {
		g.stmt(depth)
	}
	g.p("}\n")
	g.scope = g.scope[:scope]
}

// stmt writes a statement.
func (g *gen) stmt(depth int) {
	for range 8 {
		if g.tryStmt(depth) {
			return
		}
	}
	g.assign(depth)
}

func (g *gen) tryStmt(depth int) bool {
	nested := depth > 0 && g.weight < g.limit
	switch g.n(24) {
	case 0, 1, 2:
		return g.local(depth)
	case 3, 4, 5:
		return nested && g.ifStmt(depth)
	case 6, 7, 8, 9:
		return g.callStmt()
	case 10, 11:
		return g.compound(depth)
	case 12:
		return nested && g.where != inParser && g.switchStmt(depth)
	case 13:
		return nested && g.where != inParser && g.loops < 2 && g.loop(depth)
	case 14, 15:
		return g.headerStmt(depth)
	case 16:
		return g.jump(depth)
	case 17, 18:
		return g.tableStmt(depth)
	case 19:
		return g.registerStmt()
	case 20:
		return g.copyStmt()
	}
	return g.assign(depth)
}

// assign writes an assignment to a scalar or a slice.
func (g *gen) assign(int) bool {
	t := g.anyScalar()
	lv := g.lvalue(t, 2)
	if lv == "" {
		return false
	}
	g.p("%s = %s;\n", lv, g.expr(t, 3))
	return true
}

// copyStmt writes an assignment of a struct or header.
func (g *gen) copyStmt() bool {
	t := []*typ{g.x, g.h, g.pair, g.x, g.y, g.stack, g.union}[g.n(7)]
	if t == nil {
		return false
	}
	lv := g.lvalue(t, 2)
	if lv == "" {
		return false
	}
	if t.kind == stackKind || t.kind == unionKind {
		g.p("%s = %s;\n", lv, g.plain(t))
		return true
	}
	x := g.expr(t, 2)
	if x == lv {
		return false // the compiler drops it, which matters for members of unions only
	}
	g.p("%s = %s;\n", lv, x)
	return true
}

func (g *gen) compound(int) bool {
	t := g.anyScalar()
	if t.kind != bitsKind {
		return false
	}
	lv := g.lvalue(t, 2)
	if lv == "" {
		return false
	}
	if g.chance(20) {
		g.p("%s %s %s;\n", lv, []string{"<<=", ">>="}[g.n(2)], g.expr(g.bits(3, false), 2))
		return true
	}
	ops := []string{"+=", "-=", "&=", "|=", "^=", "|+|=", "|-|=", "*="}
	g.p("%s %s %s;\n", lv, ops[g.n(len(ops))], g.expr(t, 2))
	return true
}

func (g *gen) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

// local writes a variable with a value.
func (g *gen) local(int) bool {
	t := g.anyScalar()
	if g.chance(25) {
		t = []*typ{g.x, g.pair}[g.n(2)]
	}
	name := g.name("v")
	if g.chance(8) {
		x, y := g.anyScalar(), g.anyScalar()
		g.p("tuple<%s, %s> %s = {%s, %s};\n", x.text, y.text, name, g.expr(x, 2), g.expr(y, 2))
		g.scope = append(g.scope, variable{name + "[0]", x, true}, variable{name + "[1]", y, true})
		return true
	}
	g.p("%s %s = %s;\n", t.text, name, g.expr(t, 2))
	g.scope = append(g.scope, variable{name: name, t: t})
	return true
}

func (g *gen) ifStmt(depth int) bool {
	g.p("if (%s) ", g.expr(boolean, 3))
	g.block(1+g.n(2), depth-1)
	if g.chance(40) {
		g.p("else ")
		g.block(1+g.n(2), depth-1)
	}
	return true
}

// callStmt writes a call of a function, action or control.
func (g *gen) callStmt() bool {
	var list []*function
	list = append(list, g.functions...)
	if g.where == inAction || g.where == inControl {
		list = append(list, g.actions...)
	}
	if g.where == inControl {
		list = append(list, g.instances...)
	}
	if len(list) == 0 {
		return false
	}
	f := list[g.n(len(list))]
	if f.once && (f.used || g.loops > 0) {
		return false
	}
	x := g.call(f, 3)
	if x == "" {
		return false
	}
	f.used = true
	g.p("%s;\n", x)
	return true
}

func (g *gen) switchStmt(depth int) bool {
	t := g.anyScalar()
	if t.kind == boolKind {
		return false
	}
	g.p("switch (%s) {\n", g.expr(t, 3))
	seen := map[string]bool{}
	for i := range 1 + g.n(3) {
		label := fmt.Sprint(i)
		switch {
		case t.kind != bitsKind:
			label = t.text + "." + t.members[i]
		case !t.signed && (t.width < 3 && i >= 1<<t.width):
			continue
		case t.signed:
			label = fmt.Sprintf("%ds%d", t.width, i&1)
		}
		if seen[label] {
			continue
		}
		seen[label] = true
		g.p("%s: ", label)
		if i == 0 && g.chance(25) {
			g.p("\n")
			continue
		}
		g.block(1+g.n(2), depth-1)
	}
	if g.chance(60) {
		g.p("default: ")
		g.block(1+g.n(2), depth-1)
	}
	g.p("}\n")
	return true
}

func (g *gen) loop(depth int) bool {
	scope := len(g.scope)
	i := g.name("i")
	t := g.bits(8, false)
	switch g.n(5) {
	case 4:
		if g.stack == nil || g.plain(g.stack) == "" {
			return false
		}
		t = g.x
		g.p("for (%s %s in %s) ", t.text, i, g.plain(g.stack))
		g.scope = append(g.scope, variable{i, t, false})
	case 0, 1:
		g.p("for (bit<8> %s = 0; %s < %d; %s = %s + 1) ", i, i, 1+g.n(4), i, i)
		g.scope = append(g.scope, variable{i, t, true})
	case 2:
		low, high := fmt.Sprintf("8w%d", g.n(3)), fmt.Sprint(g.n(5))
		if g.chance(50) {
			high = fmt.Sprintf("(bit<8>) %s", g.expr(g.bits(2, false), 2))
		}
		g.p("for (bit<8> %s in %s .. %s) ", i, low, high)
		g.scope = append(g.scope, variable{i, t, false})
	case 3:
		t = g.anyScalar()
		var list []string
		for range 1 + g.n(3) {
			list = append(list, g.expr(t, 2))
		}
		g.p("for (%s %s in (list<%s>) {%s}) ", t.text, i, t.text, strings.Join(list, ", "))
		g.scope = append(g.scope, variable{i, t, false})
	}
	g.loops++
	g.looped = true
	g.block(1+g.n(3), depth-1)
	g.loops--
	g.scope = g.scope[:scope]
	return true
}

// headerStmt writes an operation on validity or on a stack.
func (g *gen) headerStmt(depth int) bool {
	switch g.n(4) {
	case 0, 1:
		t := g.x
		if g.y != nil && g.chance(30) {
			t = g.y
		}
		lv := g.lvalue(t, 2)
		if lv == "" {
			return false
		}
		switch g.n(4) {
		case 0:
			g.p("%s.setInvalid();\n", lv)
		case 1:
			if strings.Contains(lv, "(") { // evaluated twice
				return false
			}
			g.p("%s.setValid();\n%s = %s;\n", lv, lv, g.braces(t, 2))
		case 2:
			g.p("%s = {#};\n", lv)
		default:
			g.p("%s = %s;\n", lv, g.braces(t, 2))
		}
		return true
	case 2:
		if g.stack == nil {
			return false
		}
		lv := g.lvalue(g.stack, 2)
		if lv == "" {
			return false
		}
		g.p("%s.%s(%d);\n", lv, []string{"push_front", "pop_front"}[g.n(2)], 1+g.n(2))
		return true
	}
	return g.copyStmt()
}

// jump writes return, exit, break or continue under a condition.
func (g *gen) jump(int) bool {
	var list []string
	if g.loops > 0 {
		list = append(list, "break;", "continue;")
	}
	switch g.where {
	case inParser:
		return false
	case inFunction:
		if g.result != nil {
			list = append(list, "return "+g.expr(g.result, 2)+";")
		} else {
			list = append(list, "return;")
		}
	default:
		list = append(list, "return;", "exit;")
	}
	g.p("if (%s) { %s }\n", g.expr(boolean, 2), list[g.n(len(list))])
	return true
}

// applicable returns a table that has not been applied yet, or nil.
func (g *gen) applicable() *tableInfo {
	if g.where != inControl || g.noTables {
		return nil
	}
	for _, t := range g.tables {
		if !t.used && g.chance(60) && g.weight+t.weight <= g.limit {
			t.used = true
			g.weight += t.weight
			return t
		}
	}
	return nil
}

func (g *gen) tableStmt(depth int) bool {
	t := g.applicable()
	if t == nil {
		return false
	}
	switch g.n(4) {
	case 0:
		g.p("%s.apply();\n", t.name)
	case 1, 2:
		g.p("switch (%s.apply().action_run) {\n", t.name)
		for i, a := range t.actions {
			switch {
			case g.chance(30):
			case g.chance(25) && i < len(t.actions)-1:
				g.p("%s:\n", a)
			default:
				g.p("%s: ", a)
				g.block(1+g.n(2), depth-1)
			}
		}
		if g.chance(60) {
			g.p("default: ")
			g.block(1, depth-1)
		}
		g.p("}\n")
	case 3:
		g.p("if (%s.apply()%s) ", t.name, []string{".hit", ".miss"}[g.n(2)])
		g.block(1+g.n(2), depth-1)
		if g.chance(40) {
			g.p("else ")
			g.block(1, depth-1)
		}
	}
	return true
}

func (g *gen) registerStmt() bool {
	if g.register == nil || g.where == inFunction {
		return false
	}
	index := fmt.Sprintf("(bit<32>) %s", g.expr(g.bits(2, false), 2))
	if g.chance(50) {
		lv := g.lvalue(g.register, 1)
		if lv == "" {
			return false
		}
		g.p("reg.read(%s, %s);\n", lv, index)
		return true
	}
	g.p("reg.write(%s, %s);\n", index, g.expr(g.register, 2))
	return true
}
