// SPDX-License-Identifier: Apache-2.0

// Package generate makes random, well-typed P4_16 programs for v1model, with
// entries for their tables and packets. They call functions, actions, controls
// and tables from within expressions, and have few variables, so that calls often
// write what other parts of the same expression read.
//
// Programs avoid undefined values: variables and out parameters get a value
// first, and most fields of headers that may be invalid are read only if they
// are valid.
package generate

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/bmv2tests/semantics/evaluator"
)

// New returns the case of a seed.
func New(seed uint64) Case {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0)), numbers: map[string]*typ{}}
	g.program()
	return Case{Text: g.b.String(), Entries: g.entries, Packets: g.packets()}
}

type gen struct {
	r *rand.Rand
	b strings.Builder

	numbers                           map[string]*typ
	scalars                           []*typ
	h, x, y, pair, headers, meta, out *typ
	stack, union                      *typ
	consts                            []variable
	functions                         []*function
	swap                              bool
	entries                           []Entry
	names                             int

	// Where the generator is.
	where     where
	scope     []variable
	actions   []*function
	tables    []*tableInfo
	instances []*function
	register  *typ
	result    *typ
	loops     int  // around the statement
	looped    bool // there are loops in the body, or in what it calls
	noTables  bool
	weight    int // of the body so far, with what it calls
	limit     int
}

// function is a function, action or instance of a control.
type function struct {
	name     string
	params   []param
	result   *typ
	weight   int
	optional bool // the last parameter has a default value
	once     bool // it applies tables
	used     bool
	loops    bool // it has loops, or calls what has them
}

type param struct {
	dir, name string
	t         *typ
}

type tableInfo struct {
	name    string
	actions []string
	used    bool
	weight  int
}

func (g *gen) n(n int) int                  { return g.r.IntN(n) }
func (g *gen) chance(percent int) bool      { return g.r.IntN(100) < percent }
func (g *gen) p(format string, args ...any) { fmt.Fprintf(&g.b, format, args...) }

const tail = `
control V(inout headers hdr, inout metadata meta) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
V1Switch(P(), V(), I(), X(), C(), D()) main;
`

func (g *gen) program() {
	g.p("#include <core.p4>\n#include <v1model.p4>\n")
	g.declareTypes()
	for range g.n(3) {
		t := g.scalars[g.n(2)]
		name := g.name("C")
		g.p("const %s %s = %s;\n", t.text, name, g.literal(t))
		g.consts = append(g.consts, variable{name, t, true})
	}
	if g.swap = g.chance(40); g.swap {
		g.p("T swap<T>(inout T x, in T y) { T t = x; x = y; return t; }\n")
	}
	for range 1 + g.n(4) {
		g.function()
	}
	var controls []*control
	for i := range g.n(3) {
		controls = append(controls, g.control(fmt.Sprintf("S%d", i), controls))
	}
	g.parser()
	g.ingress(controls)
	g.egress()
	g.p("control D(packet_out p, in headers hdr) { apply {")
	for _, f := range g.headers.fields {
		g.p(" p.emit(hdr.%s);", f.name)
	}
	g.p(" p.emit(hdr.o); } }")
	g.p(tail)
}

// params chooses parameters.
func (g *gen) params(n int, withHeaders bool) []param {
	var list []param
	for range n {
		t := g.anyScalar()
		if withHeaders && g.chance(25) {
			t = []*typ{g.x, g.pair, g.h, g.stack}[g.n(4)]
			if t == nil {
				t = g.x
			}
		}
		list = append(list, param{[]string{"in", "inout", "inout", "out"}[g.n(4)], g.name("p"), t})
	}
	return list
}

func paramText(list []param) string {
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = strings.TrimSpace(p.dir + " " + p.t.text + " " + p.name)
	}
	return strings.Join(texts, ", ")
}

// enter begins a body with parameters: out parameters get values first.
func (g *gen) enter(w where, limit int, list []param) (leave func()) {
	saved := *g
	g.where, g.weight, g.limit, g.loops, g.looped = w, 0, limit, 0, false
	for _, p := range list {
		if p.dir != "out" {
			g.scope = append(g.scope, variable{p.name, p.t, p.dir != "inout"})
		}
	}
	return func() {
		g.where, g.weight, g.limit, g.loops, g.looped, g.result = saved.where, saved.weight, saved.limit, saved.loops, saved.looped, saved.result
		g.scope = saved.scope
	}
}

// outParams writes the first values of out parameters.
func (g *gen) outParams(list []param) {
	for _, p := range list {
		if p.dir == "out" {
			if p.t.kind == stackKind {
				for i := range p.t.size {
					g.p("%s[%d] = %s;\n", p.name, i, g.literal(p.t.elem))
				}
			} else {
				g.p("%s = %s;\n", p.name, g.expr(p.t, 1))
			}
			g.scope = append(g.scope, variable{p.name, p.t, false})
		}
	}
}

// function writes a function.
func (g *gen) function() {
	f := &function{name: g.name("f"), params: g.params(1+g.n(3), true)}
	result := "void"
	if g.chance(85) {
		f.result = g.anyScalar()
		if g.chance(12) {
			f.result = []*typ{g.x, g.pair}[g.n(2)]
		}
		result = f.result.text
	}
	text := paramText(f.params)
	if last := f.params[len(f.params)-1]; last.dir == "in" && last.t.kind == bitsKind && g.chance(30) {
		f.optional = true
		text += " = " + g.literal(last.t)
	}
	leave := g.enter(inFunction, 60, f.params)
	g.result = f.result
	g.p("%s %s(%s) {\n", result, f.name, text)
	g.outParams(f.params)
	for range 1 + g.n(3) {
		g.stmt(1)
	}
	if f.result != nil {
		g.p("return %s;\n", g.expr(f.result, 2))
	}
	g.p("}\n")
	f.weight, f.loops = g.weight+2, g.looped
	leave()
	g.functions = append(g.functions, f)
}

// control is a control that others apply.
type control struct {
	name   string
	params []param
	ctor   []param
	weight int
	once   bool
}

func (g *gen) control(name string, others []*control) *control {
	c := &control{name: name, params: g.params(1+g.n(3), true)}
	if g.chance(25) {
		c.ctor = []param{{"", "k", g.scalars[0]}}
	}
	g.p("control %s(%s)", name, paramText(c.params))
	if c.ctor != nil {
		g.p("(%s)", paramText(c.ctor))
	}
	g.p(" {\n")
	leave := g.enter(inControl, 150, c.params)
	for _, p := range c.ctor {
		g.scope = append(g.scope, variable{p.name, p.t, true})
	}
	g.controlBody(c.params, others, "", 2+g.n(3), nil)
	c.weight = g.weight + 2
	for _, t := range g.tables {
		c.once = c.once || t.used
	}
	for _, i := range g.instances {
		c.once = c.once || i.used && i.once
	}
	leave()
	g.p("}\n")
	return c
}

// controlBody writes local declarations and the apply block.
func (g *gen) controlBody(params []param, others []*control, path string, n int, end func()) {
	g.actions, g.tables, g.instances, g.register = nil, nil, nil, nil
	if g.chance(15) {
		g.register = g.bits(8, false)
		g.p("register<bit<8>>(4) reg;\n")
	}
	g.noTables = true
	for range g.n(3) {
		g.local(1)
	}
	for _, c := range others {
		if g.chance(70) {
			name := g.name("c")
			args := ""
			for _, p := range c.ctor {
				args = g.literal(p.t)
			}
			g.p("%s(%s) %s;\n", c.name, args, name)
			g.instances = append(g.instances, &function{name: name + ".apply", params: c.params, weight: c.weight, once: c.once})
		}
	}
	for range 1 + g.n(3) {
		g.action()
	}
	for range g.n(3) {
		g.table(path)
	}
	g.noTables = false
	g.p("apply {\n")
	g.outParams(params)
	for range n {
		g.stmt(2)
	}
	if end != nil {
		end()
	}
	g.p("}\n")
	g.entries = slices.DeleteFunc(g.entries, func(e Entry) bool { // of a table that is nowhere applied, and so not there
		return !slices.ContainsFunc(g.tables, func(t *tableInfo) bool { return t.used && e.Table == path+"."+t.name })
	})
}

// action writes an action: parameters with a direction first, then data.
func (g *gen) action() {
	a := &function{name: g.name("a"), params: g.params(g.n(3), false)}
	for range g.n(2) {
		a.params = append(a.params, param{"", g.name("d"), g.bits(8, false)})
	}
	leave := g.enter(inAction, 80, a.params)
	g.p("action %s(%s) {\n", a.name, paramText(a.params))
	g.outParams(a.params)
	for range 1 + g.n(2) {
		g.stmt(1)
	}
	if g.chance(15) {
		g.p("exit;\n")
	}
	g.p("}\n")
	a.weight = g.weight + 2
	leave()
	g.actions = append(g.actions, a)
}

// table writes a table with entries.
func (g *gen) table(path string) {
	t := &tableInfo{name: g.name("t")}
	leave := g.enter(inControl, 60, nil)
	var b strings.Builder
	var keys []Key
	lpm := false
	kinds := []string{"exact", "exact", "ternary", "range", "lpm"}
	for i := range 1 + g.n(3) {
		k := Key{Name: fmt.Sprintf("k%d", i), Kind: kinds[g.n(len(kinds))]}
		kt := g.anyScalar()
		for kt.kind == nameKind || kt.signed {
			kt = g.anyScalar()
		}
		if kt.kind != bitsKind {
			k.Kind = "exact"
		}
		if lpm && k.Kind != "exact" {
			k.Kind = "exact" // one lpm key, and no priorities beside it
		}
		if k.Kind == "lpm" {
			for _, o := range keys {
				if o.Kind != "exact" {
					k.Kind = "exact"
				}
			}
			lpm = lpm || k.Kind == "lpm"
		}
		k.Width = kt.width
		if kt.kind == enumKind {
			kt = g.bits(8, false)
			fmt.Fprintf(&b, "(bit<8>) ")
		}
		fmt.Fprintf(&b, "%s : %s @name(\"%s\");\n", g.expr(kt, 3), k.Kind, k.Name)
		if kt.kind == boolKind {
			k.Width = -1
		}
		keys = append(keys, k)
	}
	// The actions, with the arguments that the program binds.
	refs := map[string]string{}
	var actions []*function
	for _, a := range g.actions {
		if !g.chance(75) || g.weight+a.weight > g.limit+60 {
			continue
		}
		var args []string
		ok := true
		for _, p := range a.params {
			switch p.dir {
			case "in":
				args = append(args, g.expr(p.t, 2))
			case "out", "inout":
				lv := g.lvalue(p.t, 1)
				ok = ok && lv != ""
				args = append(args, lv)
			}
		}
		if ok {
			refs[a.name] = strings.Join(args, ", ")
			actions = append(actions, a)
			g.weight += a.weight
		}
	}
	t.weight = g.weight
	leave()
	if len(actions) == 0 {
		return
	}
	g.p("table %s {\nkey = {\n%s}\nactions = {\n", t.name, b.String())
	for _, a := range actions {
		if refs[a.name] != "" {
			g.p("%s(%s);\n", a.name, refs[a.name])
		} else {
			g.p("%s;\n", a.name)
		}
		t.actions = append(t.actions, a.name)
	}
	g.p("}\n")
	full := func(a *function) string {
		args := refs[a.name]
		for _, p := range a.params {
			if p.dir == "" {
				args += ", " + g.literal(p.t)
			}
		}
		return a.name + "(" + strings.TrimPrefix(args, ", ") + ")"
	}
	switch style := g.n(4); {
	case style == 0 && path != "":
		g.controlPlane(path+"."+t.name, keys, actions)
	case style == 1:
		g.p("entries = {\n")
		rows := g.rows(keys)
		for i, r := range rows {
			if lpm || allExact(keys) {
				g.p("%s : %s;\n", r, full(actions[g.n(len(actions))]))
			} else {
				g.p("priority = %d : %s : %s;\n", 10+(i*7)%20, r, full(actions[g.n(len(actions))]))
			}
		}
		g.p("}\n")
	default:
		g.p("const entries = {\n")
		for _, r := range g.rows(keys) {
			g.p("%s : %s;\n", r, full(actions[g.n(len(actions))]))
		}
		g.p("}\n")
	}
	g.p("default_action = %s;\n}\n", full(actions[g.n(len(actions))]))
	g.tables = append(g.tables, t)
}

func allExact(keys []Key) bool {
	for _, k := range keys {
		if k.Kind != "exact" {
			return false
		}
	}
	return true
}

// rows returns key sets of entries, none twice.
func (g *gen) rows(keys []Key) []string {
	seen := map[string]bool{}
	var list []string
	for range 1 + g.n(4) {
		var fields []string
		id := ""
		for _, k := range keys {
			m := g.match(k)
			var text string
			switch {
			case k.Width < 0:
				text = fmt.Sprint(m.Value.Sign() != 0)
				id += text
			case k.Kind == "exact":
				text = fmt.Sprint(m.Value)
				id += text
			case k.Kind == "range":
				text = fmt.Sprintf("%d .. %d", m.Low, m.High)
				id += text
			case m.Mask.Sign() == 0:
				text = "_"
				id += text
			default:
				text = fmt.Sprintf("0x%x &&& 0x%x", m.Value, m.Mask)
				id += text
			}
			fields = append(fields, text)
			id += ","
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		if len(fields) == 1 {
			list = append(list, fields[0])
		} else {
			list = append(list, "("+strings.Join(fields, ", ")+")")
		}
	}
	return list
}

// match returns a match of a field, whose value has no bits outside of its mask.
func (g *gen) match(k Key) evaluator.Match {
	w := max(k.Width, 1)
	all := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(w)), big.NewInt(1))
	m := evaluator.Match{Value: g.number(w), Mask: all}
	switch k.Kind {
	case "ternary":
		if m.Mask = g.number(w); g.chance(20) {
			m.Mask = new(big.Int)
		}
		m.Value = new(big.Int).And(m.Value, m.Mask)
	case "lpm":
		n := g.n(w + 1)
		if g.chance(50) {
			n = g.n(min(w, 3) + 1)
		}
		m.Mask = new(big.Int).AndNot(all, new(big.Int).Rsh(all, uint(n)))
		m.Value = new(big.Int).And(m.Value, m.Mask)
	case "range":
		m.Low, m.High = g.number(w), g.number(w)
		if m.Low.Cmp(m.High) > 0 {
			m.Low, m.High = m.High, m.Low
		}
		m.Mask = nil
	}
	return m
}

// controlPlane adds entries by the control plane.
func (g *gen) controlPlane(table string, keys []Key, actions []*function) {
	seen := map[string]bool{}
	for i := range 1 + g.n(4) {
		a := actions[g.n(len(actions))]
		e := Entry{Table: table, Entry: evaluator.Entry{Action: a.name}}
		if !allExact(keys) {
			e.Priority = 1 + (i*7)%20
		}
		id := ""
		for _, k := range keys {
			m := g.match(k)
			id += fmt.Sprint(m.Value, m.Mask, m.Low, m.High, ",")
			k.Width = max(k.Width, 1)
			e.Key, e.Keys = append(e.Key, m), append(e.Keys, k)
			if k.Kind == "lpm" {
				e.Priority = 0
			}
		}
		for _, p := range a.params {
			if p.dir == "" {
				e.Params, e.Args = append(e.Params, p.name), append(e.Args, g.number(p.t.width))
			}
		}
		if !seen[id] {
			seen[id] = true
			g.entries = append(g.entries, e)
		}
	}
}

// subParser writes a parser that extracts an x_t.
func (g *gen) subParser(name string) {
	t := g.scalars[0]
	params := []param{{"out", "q", g.x}, {"inout", "v", t}, {"in", "w", t}}
	g.p("parser %s(packet_in p, %s) {\n", name, paramText(params))
	leave := g.enter(inParser, 60, params)
	functions := g.functions
	g.functions = slices.DeleteFunc(slices.Clone(functions), func(f *function) bool { return f.loops })
	g.local(1)
	scope := len(g.scope)
	g.p("state start {\n")
	g.stmt(1)
	g.p("p.extract(q);\n")
	g.scope = append(g.scope[:scope], variable{"q", g.x, false})
	g.stmt(1)
	g.p("transition select(%s) {\n%s: more;\ndefault: accept;\n}\n}\nstate more {\n", g.expr(t, 2), g.literal(t))
	g.scope = g.scope[:scope+1]
	g.stmt(1)
	g.stmt(1)
	g.p("transition accept;\n}\n}\n")
	g.functions = functions
	leave()
}

// parser writes the parser: a chain of states that extract headers.
func (g *gen) parser() {
	g.actions, g.tables, g.instances, g.register = nil, nil, nil, nil
	sub := ""
	if g.chance(40) {
		sub = "SP"
		g.subParser(sub)
	}
	g.p("parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {\n")
	if sub != "" {
		g.p("%s() sub;\n", sub)
	}
	leave := g.enter(inParser, 150, nil)
	functions := g.functions
	g.functions = slices.DeleteFunc(slices.Clone(functions), func(f *function) bool { return f.loops }) // parsers have none
	g.actions, g.tables, g.instances, g.register = nil, nil, nil, nil
	g.p("state start {\nsm.egress_spec = 2;\np.extract(hdr.h);\n")
	g.scope = append(g.scope, variable{"hdr.h", g.h, false})
	for _, f := range g.meta.fields {
		g.p("meta.%s = %s;\n", f.name, g.expr(f.t, 1))
		g.scope = append(g.scope, variable{"meta." + f.name, f.t, false})
	}
	extracts := []string{"p.extract(hdr.x);"}
	if sub != "" {
		if lv := g.lvalue(g.scalars[0], 0); lv != "" {
			extracts[0] = fmt.Sprintf("sub.apply(p, hdr.x, %s, %s);", lv, g.expr(g.scalars[0], 2))
		}
	}
	if g.stack != nil {
		for range g.stack.size - g.n(2) {
			extracts = append(extracts, "p.extract(hdr.s.next);")
		}
	}
	if g.union != nil {
		extracts = append(extracts, []string{"p.extract(hdr.u.a);", "p.extract(hdr.u.b);"}[g.n(2)])
	}
	scope := len(g.scope)
	for i, x := range extracts {
		if g.chance(40) {
			g.stmt(1)
		}
		next := fmt.Sprintf("s%d", i+1)
		switch g.n(4) {
		case 0: // another state under a condition
			t := g.bits(8, false)
			skip := fmt.Sprintf("s%d", min(i+1+g.n(2), len(extracts)))
			g.p("transition select(%s, %s) {\n(%s, %s): %s;\n(%d &&& %d, _): %s;\n(%d .. %d, true): %s;\ndefault: %s;\n}\n}\n", g.expr(t, 2), g.expr(boolean, 2),
				g.literal(t), g.literal(boolean), next, g.n(4), g.n(4), skip, g.n(3), 3+g.n(3), next, next)
		case 1:
			value, mask, lo, hi := g.n(4), g.n(8), g.n(3), 3+g.n(99)
			key := "bit<8>"
			if value == 3 { // some of these keys are signed
				key, lo, hi = "int<8>", -hi, lo
			}
			rest := fmt.Sprintf("_: %s;\n", next)
			if mask == 7 { // some packets match nothing
				rest = ""
			}
			g.p("transition select(p.lookahead<%s>()) {\n%d &&& %d: %s;\n%d .. %d: %s;\n%s}\n}\n", key, value, mask, next, lo, hi, next, rest)
		default:
			g.p("transition %s;\n}\n", next)
		}
		g.scope = g.scope[:scope]
		g.p("state %s {\n%s\n", next, x)
	}
	if g.chance(30) {
		g.stmt(1)
	}
	if g.chance(10) {
		g.p("verify(%s, error.NoMatch);\n", g.expr(boolean, 2))
	}
	g.p("transition accept;\n}\n}\n")
	g.functions = functions
	leave()
}

// ingress writes the main control.
func (g *gen) ingress(controls []*control) {
	g.p("control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {\n")
	leave := g.enter(inControl, 400, nil)
	for _, f := range g.headers.fields {
		g.scope = append(g.scope, variable{"hdr." + f.name, f.t, false})
	}
	for _, f := range g.meta.fields {
		g.scope = append(g.scope, variable{"meta." + f.name, f.t, false})
	}
	g.controlBody(nil, controls, "I", 4+g.n(6), func() {
		for _, v := range g.scope { // what local variables hold must be seen
			if strings.HasPrefix(v.name, "v") && v.t.scalar() {
				for _, f := range g.meta.fields {
					if f.t == v.t && g.chance(50) {
						g.p("meta.%s = %s;\n", f.name, v.name)
						break
					}
				}
			}
		}
		if g.chance(3) {
			g.p("if (%s) { mark_to_drop(sm); }\n", g.expr(boolean, 2))
		}
	})
	leave()
	g.p("}\n")
}

// egress writes the control that shows metadata.
func (g *gen) egress() {
	g.p("control X(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) { apply {\nhdr.o.setValid();\n")
	for i, d := range g.dump("meta", g.meta) {
		g.p("hdr.o.f%d = %s;\n", i, d.text)
	}
	g.p("hdr.o.err = sm.parser_error == error.NoError ? 3w0 : sm.parser_error == error.PacketTooShort ? 3w1 : sm.parser_error == error.NoMatch ? 3w2 : sm.parser_error == error.StackOutOfBounds ? 3w3 : 3w4;\n")
	if last := g.out.fields[len(g.out.fields)-1]; last.name == "z" {
		g.p("hdr.o.z = 0;\n")
	}
	g.p("} }\n")
}

// packets returns random packets, with many small bytes.
func (g *gen) packets() [][]byte {
	var list [][]byte
	for range 5 {
		n := 2*(g.h.width+g.x.width*6)/8 + 10
		if g.chance(5) { // links have no frames of no bytes, and BMv2 takes none
			n = max(g.n(n), 1)
		}
		data := make([]byte, n)
		for i := range data {
			switch g.n(3) {
			case 0:
				data[i] = byte(g.n(4))
			case 1:
				data[i] = byte(g.r.Uint32())
			default:
				data[i] = []byte{0, 0xff, 0x80, 0x7f}[g.n(4)]
			}
		}
		list = append(list, data)
	}
	return list
}
