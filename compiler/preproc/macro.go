// SPDX-License-Identifier: Apache-2.0

package preproc

import (
	"path"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// macro is the definition of a macro.
type macro struct {
	name   string
	isFunc bool
	params []string
	rest   bool // the last parameter is variadic (...)
	body   []syntax.Token
}

// expansion is a macro body that is being read. The macro's own name is not
// expanded in it.
type expansion struct {
	macro *macro
	list  []syntax.Token
	at    int
}

// define executes #define.
func (p *preprocessor) define(in *input, pos source.Pos) {
	list := p.restOfLine(in, 1)
	if !isName(list[0]) {
		p.rep.Errorf(pos, CodeMacro, "#define needs the name of a macro")
		return
	}
	m := &macro{name: list[0].Text, body: list[1:]}
	if m.name == "defined" {
		p.rep.Errorf(list[0].Pos, CodeMacro, "a macro cannot have the name \"defined\"")
		return
	}
	if len(m.body) > 0 && m.body[0].Kind == syntax.LParen && m.body[0].Flags&syntax.SpaceAhead == 0 {
		if !p.parameters(m) {
			return
		}
	}
	for i, t := range m.body {
		if t.Kind == syntax.HashHash && (i == 0 || i == len(m.body)-1) {
			p.rep.Errorf(t.Pos, CodeMacro, "## cannot be the first or last thing in a macro")
			return
		}
	}
	if old := p.macros[m.name]; old != nil && !same(old, m) {
		p.rep.Warnf(list[0].Pos, CodeMacro, "macro %s is defined again with another meaning", m.name)
	}
	p.macros[m.name] = m
}

// parameters reads the parameter list that begins m.body.
func (p *preprocessor) parameters(m *macro) bool {
	m.isFunc = true
	at := m.body[0].Pos
	list := m.body[1:]
	for i := 0; i < len(list); i++ {
		switch t := list[i]; {
		case t.Kind == syntax.RParen && len(m.params) == 0:
			m.body = list[i+1:]
			return true
		case isName(t):
			m.params = append(m.params, t.Text)
			if i+1 < len(list) && list[i+1].Kind == syntax.Dots {
				m.rest = true
				i++
			}
		case t.Kind == syntax.Dots:
			m.params = append(m.params, "__VA_ARGS__")
			m.rest = true
		default:
			p.rep.Errorf(t.Pos, CodeMacro, "macro parameters are names")
			return false
		}
		i++
		if i < len(list) && list[i].Kind == syntax.RParen {
			m.body = list[i+1:]
			return true
		}
		if i >= len(list) || list[i].Kind != syntax.Comma || m.rest {
			break
		}
	}
	p.rep.Errorf(at, CodeMacro, "the parameter list of macro %s is not closed", m.name)
	return false
}

// same reports whether two definitions are equal up to white space.
func same(a, b *macro) bool {
	if a.isFunc != b.isFunc || a.rest != b.rest || len(a.params) != len(b.params) || len(a.body) != len(b.body) {
		return false
	}
	for i := range a.params {
		if a.params[i] != b.params[i] {
			return false
		}
	}
	for i := range a.body {
		if a.body[i].Source() != b.body[i].Source() {
			return false
		}
	}
	return true
}

// param returns the index of the parameter that the token names, or -1.
func (m *macro) param(t syntax.Token) int {
	if m.isFunc && isName(t) {
		for i, p := range m.params {
			if p == t.Text {
				return i
			}
		}
	}
	return -1
}

// next returns the next unexpanded token, from a macro's body if one is being
// read.
func (p *preprocessor) next() syntax.Token {
	if n := len(p.pushed); n > 0 {
		t := p.pushed[n-1]
		p.pushed = p.pushed[:n-1]
		return t
	}
	for n := len(p.stack); n > 0; n = len(p.stack) {
		e := p.stack[n-1]
		if e.at < len(e.list) {
			t := e.list[e.at]
			e.at++
			return t
		}
		if e.macro == nil {
			return syntax.Token{Kind: syntax.EOF} // the end of a token list
		}
		p.stack = p.stack[:n-1]
	}
	return p.raw()
}

// expanded returns the next token after macro expansion.
func (p *preprocessor) expanded() syntax.Token {
	var space syntax.TokenFlags // of the space before macros with empty expansions
	for {
		t := p.next()
		t.Flags |= space
		if !isName(t) || t.Flags&syntax.NoExpand != 0 {
			return t
		}
		m := p.macros[t.Text]
		if p.spent {
			return t
		}
		if m == nil {
			if b, ok := p.builtin(t, true); ok {
				return b
			}
			return t
		}
		if p.busy(m) {
			t.Flags |= syntax.NoExpand
			return t
		}
		if !p.expand(m, t) {
			return t
		}
		space = 0
		if n := len(p.stack); n > 0 && len(p.stack[n-1].list) == 0 {
			space = t.Flags & syntax.SpaceAhead
		}
	}
}

func (p *preprocessor) busy(m *macro) bool {
	for _, e := range p.stack {
		if e.macro == m {
			return true
		}
	}
	return false
}

// builtin expands the macros whose expansion depends on the place. GNU cpp's
// __DATE__, __TIME__ and __TIMESTAMP__ are missing: the same text has always the
// same meaning.
func (p *preprocessor) builtin(t syntax.Token, use bool) (syntax.Token, bool) {
	kind, text := syntax.String, ""
	switch t.Text {
	case "__LINE__":
		kind, text = syntax.Integer, itoa(p.set.Position(t.Pos).Line)
	case "__COUNTER__":
		kind, text = syntax.Integer, itoa(p.count)
		if use {
			p.count++
		}
	case "__INCLUDE_LEVEL__":
		kind, text = syntax.Integer, itoa(int32(len(p.files)-1))
	case "__FILE__":
		text = p.set.Position(t.Pos).File()
	case "__FILE_NAME__":
		text = path.Base(p.set.Position(t.Pos).File())
	case "__BASE_FILE__":
		text = p.files[0].file.Name
	default:
		return t, false
	}
	t.Kind, t.Text = kind, text
	return t, true
}

func itoa(n int32) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// expand starts reading the expansion of macro m, which token t names. It
// returns false if m needs arguments and has none, or wrong ones.
func (p *preprocessor) expand(m *macro, t syntax.Token) bool {
	end := t.End
	var args [][]syntax.Token
	omitted := false
	if m.isFunc {
		p.peek = true
		open := p.next()
		p.peek = false
		if open.Kind == syntax.Hash && open.Flags&syntax.LineStart != 0 && len(p.stack) == 0 {
			return false // a directive, which is still to be read
		}
		if open.Kind != syntax.LParen {
			p.pushed = append(p.pushed, open)
			return false
		}
		var ok bool
		args, omitted, end, ok = p.arguments(m, t)
		if !ok {
			return false
		}
	}
	list := p.substitute(m, args, omitted)
	p.budget += len(list)
	if p.budget > maxTokens || len(p.stack) > maxNesting {
		if !p.spent {
			p.rep.Errorf(t.Pos, CodeTooLarge, "the expansion of macro %s is too large", m.name)
		}
		p.spent = true
		return true
	}
	for i := range list {
		list[i].Pos, list[i].End = t.Pos, end
		if i == 0 {
			list[i].Flags = list[i].Flags&syntax.NoExpand | t.Flags
		} else if list[i].Flags&syntax.LineStart != 0 {
			list[i].Flags = list[i].Flags&^syntax.LineStart | syntax.SpaceAhead
		}
	}
	p.stack = append(p.stack, &expansion{macro: m, list: list})
	return true
}

// arguments reads the arguments of a call of m and the closing parenthesis. It
// returns the end of the parenthesis, and whether those of the variadic
// parameter are left out.
func (p *preprocessor) arguments(m *macro, name syntax.Token) (args [][]syntax.Token, omitted bool, end source.Pos, ok bool) {
	var arg []syntax.Token
	depth := 0
	n := 0
	for {
		t := p.next()
		switch {
		case t.Kind == syntax.EOF:
			p.rep.Errorf(name.Pos, CodeMacro, "the call of macro %s is not closed", m.name)
			p.pushed = append(p.pushed, t)
			return nil, false, 0, false
		case t.Kind == syntax.LParen:
			depth++
		case t.Kind == syntax.RParen:
			depth--
		}
		if depth < 0 {
			end = t.End
			break
		}
		if t.Kind == syntax.Comma && depth == 0 && !(m.rest && len(args) == len(m.params)-1) {
			args = append(args, arg)
			arg = nil
			continue
		}
		if n++; n > maxTokens {
			p.rep.Errorf(name.Pos, CodeTooLarge, "the call of macro %s is too large", m.name)
			return nil, false, 0, false
		}
		arg = append(arg, t)
	}
	if len(m.params) > 0 || len(arg) > 0 || len(args) > 0 {
		args = append(args, arg)
	}
	omitted = m.rest && len(args) == 1 && len(m.params) == 1 && len(args[0]) == 0
	if m.rest && len(args) == len(m.params)-1 {
		args, omitted = append(args, nil), true
	}
	if len(args) != len(m.params) {
		p.rep.Errorf(name.Pos, CodeMacro, "macro %s takes %d arguments, not %d", m.name, len(m.params), len(args))
		return nil, false, 0, false
	}
	return args, omitted, end, true
}

// options returns m's body after __VA_OPT__(…): what is in the parentheses
// stays if there are variadic arguments.
func (p *preprocessor) options(m *macro, args [][]syntax.Token) []syntax.Token {
	if !m.rest || !slices.ContainsFunc(m.body, func(t syntax.Token) bool { return t.Text == "__VA_OPT__" }) {
		return m.body
	}
	count := p.count
	keep := slices.ContainsFunc(p.expandList(args[len(args)-1]), func(t syntax.Token) bool { return t.Kind != syntax.Comment })
	p.count = count // the argument is expanded once more where it is used
	var out []syntax.Token
	for i := 0; i < len(m.body); i++ {
		if m.body[i].Text != "__VA_OPT__" || i+1 == len(m.body) || m.body[i+1].Kind != syntax.LParen {
			out = append(out, m.body[i])
			continue
		}
		first, depth := i+2, 1
		for i = first; i < len(m.body); i++ {
			if k := m.body[i].Kind; k == syntax.LParen {
				depth++
			} else if k == syntax.RParen {
				if depth--; depth == 0 {
					break
				}
			}
		}
		switch n := len(out); {
		case keep:
			out = append(out, m.body[first:min(i, len(m.body))]...)
		case n > 0 && out[n-1].Kind == syntax.HashHash: // nothing is pasted
			out = out[:n-1]
		case n == 0 && i+1 < len(m.body) && m.body[i+1].Kind == syntax.HashHash:
			i++
		}
	}
	return out
}

// substitute returns m's body with the arguments put in.
func (p *preprocessor) substitute(m *macro, args [][]syntax.Token, omitted bool) []syntax.Token {
	var out []syntax.Token
	full, done := make([][]syntax.Token, len(args)), make([]bool, len(args)) // the arguments, expanded
	body := p.options(m, args)
	operand, space := 0, syntax.TokenFlags(0) // where the left operand of ## begins, and its flags
	for i := 0; i < len(body); i++ {
		t := body[i]
		if t.Kind != syntax.HashHash {
			operand, space = len(out), t.Flags
		}
		pasted := i+1 < len(body) && body[i+1].Kind == syntax.HashHash
		switch k := m.param(t); {
		case t.Kind == syntax.Hash && m.isFunc && i+1 < len(body) && m.param(body[i+1]) >= 0:
			i++
			out = append(out, syntax.Token{Kind: syntax.String, Flags: t.Flags, Text: stringize(args[m.param(body[i])])})
		case t.Kind == syntax.HashHash && i+1 < len(body):
			i++
			right := body[i : i+1]
			if k := m.param(body[i]); k >= 0 {
				right = args[k]
			}
			k := m.param(body[i])
			variadic := m.rest && k == len(m.params)-1 && len(out) > operand && out[len(out)-1].Kind == syntax.Comma
			if variadic && omitted { // GNU's extension: the comma goes, too
				out = out[:len(out)-1]
			} else if variadic || len(out) == operand { // empty arguments leave the other operand
				out = append(out, right...)
			} else {
				out = p.paste(out, right)
			}
			spaced(out, operand, space)
		case k >= 0 && pasted:
			out = append(out, args[k]...)
			spaced(out, operand, space)
		case k >= 0:
			if !done[k] {
				full[k], done[k] = p.expandList(args[k]), true
			}
			out = append(out, full[k]...)
			spaced(out, operand, space)
		default:
			out = append(out, t)
		}
		if len(out) > maxTokens {
			return out
		}
	}
	return out
}

// spaced gives the first token of an argument the space of its parameter.
func spaced(list []syntax.Token, first int, flags syntax.TokenFlags) {
	if first < len(list) {
		t := &list[first]
		t.Flags = t.Flags&^(syntax.LineStart|syntax.SpaceAhead) | flags
	}
}

// paste joins the last token of left and the first of right.
func (p *preprocessor) paste(left, right []syntax.Token) []syntax.Token {
	if len(right) == 0 {
		return left
	}
	a, b := left[len(left)-1], right[0]
	if len(a.Text)+len(b.Text) > maxToken {
		if !p.spent {
			p.rep.Errorf(b.Pos, CodeTooLarge, "## makes a token of more than %d bytes", maxToken)
		}
		p.spent = true
		return left
	}
	f := p.set.Add("<macro>", a.Source()+b.Source())
	if f == nil {
		return left
	}
	s := syntax.NewScanner(f, p.rep)
	s.Lines, s.Comments = true, true
	t := s.Next()
	if s.Next().Kind != syntax.EOF || t.Kind == syntax.Comment || t.Flags&syntax.Open != 0 {
		// In cpp for assembler, which p4c runs, this is no error.
		return append(left, right...)
	}
	t.Pos, t.End, t.Flags = a.Pos, b.End, a.Flags
	return append(append(left[:len(left)-1], t), right[1:]...)
}

// stringize returns tokens as a string literal's text.
func stringize(list []syntax.Token) string {
	var b strings.Builder
	for i, t := range list {
		if i > 0 && t.Flags&(syntax.SpaceAhead|syntax.LineStart) != 0 {
			b.WriteByte(' ')
		}
		text := t.Source()
		if rest, line := strings.CutPrefix(text, "//"); line && t.Kind == syntax.Comment {
			text = "/*" + rest + "*/"
		}
		if t.Kind == syntax.String || t.Kind == syntax.Illegal && len(text) > 1 {
			text = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// expandList returns the tokens after macro expansion.
func (p *preprocessor) expandList(list []syntax.Token) []syntax.Token {
	pushed := p.pushed
	p.pushed = nil
	depth := len(p.stack)
	p.stack = append(p.stack, &expansion{list: list})
	var out []syntax.Token
	for len(out) < maxTokens && depth < maxNesting {
		t := p.expanded()
		if t.Kind == syntax.EOF {
			break
		}
		out = append(out, t)
	}
	p.stack = p.stack[:depth]
	p.pushed = pushed
	return out
}
