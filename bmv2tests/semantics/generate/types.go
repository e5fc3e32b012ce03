// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"math/big"
	"strings"
)

type kind uint8

const (
	bitsKind kind = iota
	boolKind
	enumKind // with an underlying type of 8 bits
	nameKind // an enum without one
	structKind
	headerKind
	unionKind
	stackKind
)

// typ is a type of the generated program. Types are equal if they are the same
// pointer.
type typ struct {
	kind    kind
	text    string
	width   int
	signed  bool
	fields  []field
	elem    *typ
	size    int
	members []string
}

type field struct {
	name string
	t    *typ
}

func (t *typ) scalar() bool { return t.kind <= nameKind }

// bits returns bit<w> or int<w>.
func (g *gen) bits(w int, signed bool) *typ {
	text := fmt.Sprintf("bit<%d>", w)
	if signed {
		text = fmt.Sprintf("int<%d>", w)
	}
	if g.numbers[text] == nil {
		g.numbers[text] = &typ{kind: bitsKind, text: text, width: w, signed: signed}
	}
	return g.numbers[text]
}

var boolean = &typ{kind: boolKind, text: "bool", width: 1}

// declareTypes chooses the types of a program.
func (g *gen) declareTypes() {
	widths := []int{1, 2, 3, 4, 5, 7, 8, 8, 9, 12, 13, 16, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 80, 128}
	g.scalars = []*typ{g.bits(8, false), g.bits(8, false), boolean}
	for range 3 {
		g.scalars = append(g.scalars, g.bits(widths[g.n(len(widths))], g.chance(25)))
	}
	for i, t := range g.scalars {
		if t.signed && t.width == 1 {
			g.scalars[i] = g.bits(2, true)
		}
	}
	if g.chance(40) {
		e := &typ{kind: enumKind, text: "E", width: 8, members: []string{"A", "B", "C"}}
		g.p("enum bit<8> E { A = 1, B = 2, C = 0x80 }\n")
		g.scalars = append(g.scalars, e)
	}
	if g.chance(25) {
		g.scalars = append(g.scalars, &typ{kind: nameKind, text: "K", members: []string{"X", "Y", "Z"}})
		g.p("enum K { X, Y, Z }\n")
	}
	g.h = g.header("h_t", 3+g.n(4))
	g.x = g.header("x_t", 1+g.n(3))
	g.pair = &typ{kind: structKind, text: "pair_t"}
	for i := range 2 + g.n(2) {
		g.pair.fields = append(g.pair.fields, field{fmt.Sprintf("f%d", i), g.anyScalar()})
	}
	if g.chance(30) {
		g.pair.fields = append(g.pair.fields, field{"x", g.x})
	}
	g.declareStruct("struct", g.pair)
	g.headers = &typ{kind: structKind, text: "headers"}
	g.headers.fields = []field{{"h", g.h}, {"x", g.x}}
	if g.chance(70) {
		size := []int{2, 4, 4, 3}[g.n(4)]
		g.stack = &typ{kind: stackKind, text: fmt.Sprintf("x_t[%d]", size), elem: g.x, size: size}
		g.headers.fields = append(g.headers.fields, field{"s", g.stack})
	}
	if g.chance(30) {
		g.y = g.header("y_t", 1+g.n(2))
		g.union = &typ{kind: unionKind, text: "u_t", fields: []field{{"a", g.x}, {"b", g.y}}}
		g.declareStruct("header_union", g.union)
		g.headers.fields = append(g.headers.fields, field{"u", g.union})
	}
	g.meta = &typ{kind: structKind, text: "metadata"}
	for i := range 3 + g.n(4) {
		g.meta.fields = append(g.meta.fields, field{fmt.Sprintf("m%d", i), g.anyScalar()})
	}
	if g.chance(50) {
		g.meta.fields = append(g.meta.fields, field{"p", g.pair})
	}
	g.declareOut()
	g.headers.fields = append(g.headers.fields, field{"o", g.out})
	g.declareStruct("struct", g.headers)
	g.declareStruct("struct", g.meta)
	g.headers.fields = g.headers.fields[:len(g.headers.fields)-1] // the program itself does not use it
}

// header declares a header of whole bytes.
func (g *gen) header(name string, fields int) *typ {
	t := &typ{kind: headerKind, text: name}
	for i := range fields {
		f := g.anyScalar()
		for f.kind == nameKind {
			f = g.anyScalar()
		}
		t.fields = append(t.fields, field{string(rune('a' + i)), f})
		t.width += f.width
	}
	if pad := -t.width & 7; pad > 0 {
		t.fields = append(t.fields, field{"z", g.bits(pad, false)})
		t.width += pad
	}
	g.declareStruct("header", t)
	return t
}

// declareOut declares the header in which metadata leave.
func (g *gen) declareOut() {
	g.out = &typ{kind: headerKind, text: "o_t"}
	for i, x := range g.dump("meta", g.meta) {
		g.out.fields = append(g.out.fields, field{fmt.Sprintf("f%d", i), x.t})
		g.out.width += x.t.width
	}
	g.out.fields = append(g.out.fields, field{"err", g.bits(3, false)})
	g.out.width += 3
	if pad := -g.out.width & 7; pad > 0 {
		g.out.fields = append(g.out.fields, field{"z", g.bits(pad, false)})
	}
	g.declareStruct("header", g.out)
}

type dumped struct {
	text string
	t    *typ
}

// dump returns expressions for all values in a variable.
func (g *gen) dump(x string, t *typ) []dumped {
	switch t.kind {
	case nameKind:
		return []dumped{{fmt.Sprintf("(%s == K.X ? 2w1 : %s == K.Y ? 2w2 : 2w3)", x, x), g.bits(2, false)}}
	case structKind:
		var list []dumped
		for _, f := range t.fields {
			list = append(list, g.dump(x+"."+f.name, f.t)...)
		}
		return list
	case headerKind:
		list := []dumped{{x + ".isValid()", boolean}}
		for _, f := range t.fields {
			for _, d := range g.dump(x+"."+f.name, f.t) {
				list = append(list, dumped{fmt.Sprintf("(%s.isValid() ? %s : %s)", x, d.text, g.literal(d.t)), d.t})
			}
		}
		return list
	}
	return []dumped{{x, t}}
}

func (g *gen) declareStruct(kind string, t *typ) {
	g.p("%s %s {", kind, t.text)
	for _, f := range t.fields {
		g.p(" %s %s;", f.t.text, f.name)
	}
	g.p(" }\n")
}

func (g *gen) anyScalar() *typ { return g.scalars[g.n(len(g.scalars))] }

// number returns a number of so many bits, often a small one or a bound.
func (g *gen) number(w int) *big.Int {
	top := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(w)), big.NewInt(1))
	v := big.NewInt(int64(g.n(4)))
	switch g.n(6) {
	case 0:
		v = new(big.Int).Set(top)
	case 1:
		v = new(big.Int).Rsh(top, 1)
	case 2, 3:
		for range (w + 31) / 32 {
			v.Lsh(v, 32).Or(v, big.NewInt(int64(g.r.Uint32())))
		}
	}
	return v.And(v, top)
}

// literal returns a constant of a type.
func (g *gen) literal(t *typ) string {
	switch t.kind {
	case boolKind:
		return []string{"true", "false"}[g.n(2)]
	case enumKind, nameKind:
		return t.text + "." + t.members[g.n(len(t.members))]
	case bitsKind:
		if !t.signed {
			v := g.number(t.width)
			if g.chance(30) {
				return fmt.Sprintf("%dw0x%x", t.width, v)
			}
			return fmt.Sprintf("%dw%d", t.width, v)
		}
		v := g.number(t.width - 1)
		if g.chance(50) {
			return fmt.Sprintf("(-%ds%d)", t.width, v)
		}
		return fmt.Sprintf("%ds%d", t.width, v)
	case stackKind:
		return g.literalList(t, t.size, func(int) *typ { return t.elem })
	}
	return g.literalList(t, len(t.fields), func(i int) *typ { return t.fields[i].t })
}

func (g *gen) literalList(t *typ, n int, elem func(int) *typ) string {
	list := make([]string, n)
	for i := range list {
		list[i] = g.literal(elem(i))
	}
	return "(" + t.text + ") {" + strings.Join(list, ", ") + "}"
}
