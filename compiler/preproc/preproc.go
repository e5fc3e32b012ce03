// SPDX-License-Identifier: Apache-2.0

// Package preproc is the C preprocessor as P4_16 programs use it (language
// spec 6.2): #include, object-like and function-like macros with # and ##,
// conditionals, #error, #warning and #line.
//
// It works on tokens. Every token keeps its position in the file. The tokens of
// an expansion have the position of the macro's use, where the programmer can
// correct errors.
package preproc

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/diag"
)

// Codes of the diagnostics of this package.
const (
	CodeDirective diag.Code = "directive"
	CodeInclude   diag.Code = "include"
	CodeMacro     diag.Code = "macro"
	CodeUser      diag.Code = "user-error"
	CodeUserWarn  diag.Code = "user-warning"
	CodeTooLarge  diag.Code = "too-large"
)

// Limits for any input.
const (
	maxTokens  = 1 << 20
	maxToken   = 1 << 16 // bytes of a token made by ##
	maxInclude = 100
	maxNesting = 1000 // of conditionals and of parentheses in #if
)

// Options are the options of Run.
type Options struct {
	// Include are the folders to search for included files, after the including
	// file's folder.
	Include []string
	// Defines are macros in the form NAME or NAME=TEXT.
	Defines []string
	// Open returns the text of a file. After fs.ErrNotExist, the search
	// continues in the next folder.
	Open func(name string) (string, error)
	// System has the compiler's own files. It is searched last.
	System fs.FS
	// SystemPrefix precedes the names of system files in messages.
	SystemPrefix string
	// Foreign says of known files that System does not have what they are.
	Foreign map[string]string
}

// Run preprocesses the file and returns its tokens, the last of which is EOF.
func Run(set *source.Set, rep *source.Reporter, opts Options, file *source.File) []syntax.Token {
	p := &preprocessor{set: set, rep: rep, opts: opts, macros: map[string]*macro{}, once: map[string]bool{}}
	for _, name := range []string{"__STDC__", "__STDC_HOSTED__", "__ASSEMBLER__"} {
		p.macros[name] = &macro{name: name, body: []syntax.Token{{Kind: syntax.Integer, Text: "1"}}}
	}
	for _, d := range opts.Defines {
		p.predefine(d)
	}
	p.push(file)
	out := make([]syntax.Token, 0, len(file.Text)/4+16)
	ignored := false            // the line, which begins with #
	var ahead syntax.TokenFlags // of comments, for the token after them
	var number syntax.Token     // the last token, if it is a number that ends with +
	for {
		t := p.expanded()
		if t.Kind == syntax.Comment {
			ahead |= syntax.SpaceAhead | t.Flags&syntax.LineStart
			if strings.Contains(t.Text, "\n") {
				ahead |= syntax.LineStart
			}
			continue
		}
		begins := t.Flags&syntax.LineStart != 0 // without a comment before it
		t.Flags |= ahead
		ahead = 0
		if ignored = ignored && t.Flags&syntax.LineStart == 0 && t.Kind != syntax.EOF; ignored {
			continue
		}
		if t.Kind == syntax.Hash && begins {
			ignored = true // by p4c's parser
			continue
		}
		if len(out) >= maxTokens {
			rep.Errorf(t.Pos, CodeTooLarge, "the program has more than %d tokens after preprocessing", maxTokens)
			t.Kind = syntax.EOF
		}
		// C reads 8w0xE+ as a number, so that + is in two of its tokens where P4 has ++.
		if after := p.adjacent(number, t); after && t.Kind == syntax.Plus {
			out[len(out)-1].Kind, out[len(out)-1].End = syntax.PlusPlus, t.End
			number = syntax.Token{}
			continue
		} else if after && t.Kind == syntax.PlusPlus {
			out[len(out)-1].Kind, t.Kind = syntax.PlusPlus, syntax.Plus
		}
		number = syntax.Token{}
		switch {
		case t.Kind == syntax.Hash || t.Kind == syntax.HashHash || t.Kind == syntax.Illegal && len(t.Text) > 1 || t.Kind == syntax.Integer && strings.ContainsAny(t.Text, ".+-"):
			if out = append(out, p.split(t)...); t.Kind == syntax.Integer && out[len(out)-1].Kind == syntax.Plus {
				number = t
			}
		default:
			out = append(out, t)
		}
		if t.Kind == syntax.EOF {
			return out
		}
	}
}

// adjacent reports whether nothing is between a number and the token after it, in a file
// or in the body of a macro. Tokens of a body have the position of the call.
func (p *preprocessor) adjacent(number, t syntax.Token) bool {
	if number.Kind != syntax.Integer || t.Flags&(syntax.SpaceAhead|syntax.LineStart) != 0 {
		return false
	}
	if p.set.Text(source.Span{Start: number.Pos, End: number.End}) == number.Source() { // in the file
		return t.Pos == number.End
	}
	return t.Pos == number.Pos && t.End == number.End
}

// split returns the tokens of P4 that a token of C's preprocessor consists of.
func (p *preprocessor) split(t syntax.Token) (list []syntax.Token) {
	f := p.set.Add("<macro>", t.Source())
	if f == nil {
		return nil
	}
	written := p.set.Text(source.Span{Start: t.Pos, End: t.End}) == f.Text // in the file
	s := syntax.NewScanner(f, p.rep)
	for k := s.Next(); k.Kind != syntax.EOF; k = s.Next() {
		if k.Kind == syntax.Hash || k.Kind == syntax.HashHash { // only for the preprocessor
			k.Kind, k.Text = syntax.Illegal, k.Source()
		}
		if written {
			k.Pos, k.End = t.Pos+k.Pos-f.Pos(0), t.Pos+k.End-f.Pos(0)
		} else {
			k.Pos, k.End = t.Pos, t.End
		}
		k.Flags = t.Flags
		t.Flags &^= syntax.SpaceAhead | syntax.LineStart
		list = append(list, k)
	}
	return list
}

type preprocessor struct {
	set    *source.Set
	rep    *source.Reporter
	opts   Options
	macros map[string]*macro
	files  []*input
	pushed []syntax.Token // pushed back tokens, last first
	stack  []*expansion   // macro bodies being read, innermost last
	budget int            // tokens produced by expansions so far
	spent  bool           // the budget is exhausted; reported once
	system map[string]*source.File
	once   map[string]bool // files with #pragma once
	count  int32           // of __COUNTER__
	peek   bool            // the next token decides whether a macro is called
}

// input is a file being read.
type input struct {
	file  *source.File
	scan  *syntax.Scanner
	conds []cond
	plain int // before this offset cpp is inside a string: no macro is expanded
}

// cond is an open #if.
type cond struct {
	pos    source.Pos
	active bool // the current branch is active
	taken  bool // a branch was active
	outer  bool // the enclosing branch is active
	isElse bool
}

func (in *input) active() bool {
	n := len(in.conds)
	return n == 0 || in.conds[n-1].active
}

func (p *preprocessor) push(f *source.File) {
	scan := syntax.NewScanner(f, p.rep)
	scan.Lines = true
	p.files = append(p.files, &input{file: f, scan: scan})
}

// predefine handles a -D option.
func (p *preprocessor) predefine(d string) {
	name, value, ok := strings.Cut(d, "=")
	if !ok {
		value = "1"
	}
	f := p.set.Add("<command line>", name+" "+value)
	if f == nil {
		return
	}
	s := syntax.NewScanner(f, p.rep)
	t := s.Next()
	if !isName(t) {
		p.rep.Errorf(f.Pos(0), CodeMacro, "%q is not the name of a macro", name)
		return
	}
	m := &macro{name: t.Text}
	for t := s.Next(); t.Kind != syntax.EOF; t = s.Next() {
		m.body = append(m.body, t)
	}
	p.macros[m.name] = m
}

// raw executes directives up to the next token and returns that token. At the
// end of the main file it returns EOF.
func (p *preprocessor) raw() syntax.Token {
	for {
		in := p.files[len(p.files)-1]
		if !in.active() {
			p.skip(in)
		}
		in.scan.Comments = true
		t := in.scan.Next()
		in.scan.Comments = false
		switch {
		case t.Kind == syntax.EOF:
			for _, c := range in.conds {
				p.rep.Errorf(c.pos, CodeDirective, "#if without #endif")
			}
			in.conds = nil
			if len(p.files) == 1 {
				return t
			}
			p.files = p.files[:len(p.files)-1]
		case t.Kind == syntax.Hash && t.Flags&syntax.LineStart != 0 && p.peek:
			in.scan.Seek(in.file.Offset(t.Pos))
			return t // no call; the directive comes after the macro's name
		case t.Kind == syntax.Hash && t.Flags&syntax.LineStart != 0:
			if !p.directive(in, t) {
				return t
			}
		case t.Flags&syntax.Open != 0:
			return p.longString(in, t)
		default:
			if in.file.Offset(t.Pos) < in.plain {
				t.Flags |= syntax.NoExpand
			}
			return t
		}
	}
}

// skip skips an inactive branch up to the directive that ends it.
func (p *preprocessor) skip(in *input) {
	for !in.active() {
		line, at := in.scan.NextLine()
		if line == "" {
			return
		}
		text := strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(text, "#") {
			continue
		}
		word := strings.TrimLeft(text[1:], " \t")
		end := 0
		for end < len(word) && 'a' <= word[end] && word[end] <= 'z' {
			end++
		}
		switch word[:end] {
		case "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif":
			in.scan.Seek(at + len(line) - len(text))
			t := in.scan.Next() // the hash
			p.directive(in, t)
		}
	}
}

// directive executes a directive. hash is its first token. It returns false,
// and leaves the rest of the line, if there is no such directive.
func (p *preprocessor) directive(in *input, hash syntax.Token) bool {
	if in.scan.AtLineEnd() {
		return true // a lone # is allowed
	}
	word := in.scan.Next()
	pos := word.Pos
	name := word.Text
	if word.Kind == syntax.Integer { // # 12 "file", as cpp writes it
		p.line(in, word)
		return true
	}
	switch name {
	case "if", "ifdef", "ifndef":
		if len(in.conds) >= maxNesting {
			p.rep.Errorf(pos, CodeDirective, "conditionals nest deeper than %d", maxNesting)
			in.scan.SkipLine()
			return true
		}
		c := cond{pos: hash.Pos, outer: in.active()}
		switch {
		case !c.outer:
			in.scan.SkipLine()
		case name == "if":
			c.active = p.condition(in, pos)
		default:
			c.active = p.isDefined(p.operand(in, pos, name).Text) == (name == "ifdef")
		}
		c.taken = c.active
		in.conds = append(in.conds, c)
	case "elif", "elifdef", "elifndef", "else", "endif":
		n := len(in.conds)
		if n == 0 {
			p.rep.Errorf(pos, CodeDirective, "#%s without #if", name)
			in.scan.SkipLine()
			return true
		}
		c := &in.conds[n-1]
		if c.isElse && name != "endif" {
			p.rep.Errorf(pos, CodeDirective, "#%s after #else", name)
		}
		switch name {
		case "endif":
			in.conds = in.conds[:n-1]
			in.scan.SkipLine() // usually a comment or the macro's name
		case "else":
			c.isElse = true
			c.active = c.outer && !c.taken
			c.taken = true
			in.scan.SkipLine()
		default:
			switch {
			case !c.outer || c.taken:
				c.active = false
				in.scan.SkipLine()
			case name == "elif":
				c.active = p.condition(in, pos)
			default:
				c.active = p.isDefined(p.operand(in, pos, name).Text) == (name == "elifdef")
			}
			c.taken = c.taken || c.active
		}
	case "define":
		p.define(in, pos)
	case "undef":
		n := p.operand(in, pos, name)
		delete(p.macros, n.Text)
	case "include":
		p.include(in, pos, false)
	case "import":
		p.include(in, pos, true)
	case "include_next":
		p.rep.Errorf(pos, CodeDirective, "#include_next is not supported: use #include")
		in.scan.SkipLine()
	case "error":
		p.rep.Errorf(hash.Pos, CodeUser, "#error %s", strings.TrimSpace(in.scan.SkipLine()))
	case "warning":
		p.rep.Warnf(hash.Pos, CodeUserWarn, "#warning %s", strings.TrimSpace(in.scan.SkipLine()))
	case "line":
		p.line(in, p.restOfLine(in, 1)...)
	case "pragma":
		if strings.TrimSpace(in.scan.SkipLine()) == "once" {
			p.once[in.file.Name] = true
		}
	case "ident", "sccs", "assert", "unassert":
		in.scan.SkipLine()
	default: // p4c runs cpp for assembler, where it is text, and ignores lines that begin with #
		p.rep.Warnf(pos, CodeDirective, "unknown directive #%s: the line is ignored%s", word.Source(), diag.DidYouMean(name, directives))
		in.scan.Resume(in.file.Offset(pos))
		return false
	}
	return true
}

var directives = []string{"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif", "define", "undef", "include", "error",
	"warning", "line", "pragma"}

// operand reads the one name after #ifdef, #ifndef and #undef.
func (p *preprocessor) operand(in *input, pos source.Pos, directive string) syntax.Token {
	var t syntax.Token
	if !in.scan.AtLineEnd() {
		t = in.scan.Next()
	}
	if !isName(t) {
		p.rep.Errorf(pos, CodeDirective, "#%s needs the name of a macro", directive)
		t.Text = ""
	}
	in.scan.SkipLine()
	return t
}

// restOfLine returns the tokens up to the end of the line, padded with EOF to
// at least atLeast tokens.
func (p *preprocessor) restOfLine(in *input, atLeast int) []syntax.Token {
	var list []syntax.Token
	for !in.scan.AtLineEnd() {
		t := in.scan.Next()
		if t.Flags&syntax.Open != 0 {
			p.rep.Errorf(t.Pos, syntax.CodeLexical, "string is not closed: in a directive it must end on its line")
		}
		list = append(list, t)
	}
	in.scan.SkipLine()
	for len(list) < atLeast {
		list = append(list, syntax.Token{Kind: syntax.EOF})
	}
	return list
}

// line executes #line: a number and, optionally, a file name.
func (p *preprocessor) line(in *input, args ...syntax.Token) {
	if len(args) == 1 && !in.scan.AtLineEnd() {
		args = append(args, p.restOfLine(in, 0)...)
	}
	n := 0
	for _, c := range []byte(args[0].Text) {
		if c < '0' || c > '9' || n > 1<<26 {
			n = -1
			break
		}
		n = 10*n + int(c-'0')
	}
	if args[0].Kind != syntax.Integer || n < 0 {
		p.rep.Errorf(args[0].Pos, CodeDirective, "#line needs a line number")
		return
	}
	name := ""
	if len(args) > 1 && args[1].Kind == syntax.String {
		name = args[1].Text
	}
	in.file.SetLine(in.file.Offset(args[0].Pos), name, n)
}

// include executes #include "file" and #include <file>.
func (p *preprocessor) include(in *input, pos source.Pos, once bool) {
	args := p.restOfLine(in, 1)
	name, quoted := p.fileName(args)
	if name == "" {
		p.rep.Errorf(pos, CodeInclude, "#include needs \"file\" or <file>")
		return
	}
	if len(p.files) >= maxInclude {
		p.rep.Errorf(pos, CodeInclude, "includes nest deeper than %d: does %s include itself?", maxInclude, name)
		return
	}
	f := p.find(in.file, name, quoted, pos, false)
	if f == nil || p.once[f.Name] {
		return
	}
	p.once[f.Name] = once
	p.push(f)
}

// fileName returns the name of a file as #include has it, or "".
func (p *preprocessor) fileName(args []syntax.Token) (name string, quoted bool) {
	written := args[0].Kind == syntax.String || args[0].Kind == syntax.Less
	if !written {
		args = p.expandList(args)
	}
	switch {
	case len(args) == 1 && args[0].Kind == syntax.String:
		name, quoted = args[0].Text, true
	case len(args) > 2 && args[0].Kind == syntax.Less && args[len(args)-1].Kind == syntax.Greater && !written:
		name = syntax.TokensText(args[1 : len(args)-1])
	case len(args) > 2 && args[0].Kind == syntax.Less && args[len(args)-1].Kind == syntax.Greater:
		name = p.set.Text(source.Span{Start: args[0].End, End: args[len(args)-1].Pos})
	}
	return name, quoted
}

// included are the extensions of files that a program may include. Messages
// quote lines of included files, so other files would disclose their text, such
// as passwords, to a user without the right to read them.
var included = []string{".p4", ".p4i", ".p4inc", ".h", ".inc", ".def"}

// Included reports whether a program may include a file of this name.
func Included(name string) bool { return slices.Contains(included, path.Ext(name)) }

// Errors of Options.Open that end the search: for a pipe or device, and for a
// link to a file that may not be included.
var (
	ErrNotRegular = errors.New("it is not a regular file")
	ErrLink       = errors.New("it is a link to a file of which the name does not end in " + strings.Join(included, ", "))
)

// find returns the file with the given name. Without one it returns nil and,
// unless quiet is true, reports an error.
func (p *preprocessor) find(from *source.File, name string, quoted bool, pos source.Pos, quiet bool) *source.File {
	failed := func(format string, args ...any) *source.File {
		if !quiet {
			p.rep.Errorf(pos, CodeInclude, format, args...)
		}
		return nil
	}
	if p.system == nil {
		p.system = map[string]*source.File{}
	}
	if !Included(name) {
		return failed("%s is not included: the names of P4 files end in %s", name, strings.Join(included, ", "))
	}
	var dirs []string
	if quoted && !strings.HasPrefix(from.Name, p.opts.SystemPrefix) {
		dirs = append(dirs, path.Dir(from.Name))
	}
	dirs = append(dirs, p.opts.Include...)
	if path.IsAbs(name) {
		dirs = []string{"/"}
	}
	for _, dir := range dirs {
		full := name
		if dir != "." {
			full = path.Join(dir, name)
		}
		if f := p.system[full]; f != nil {
			return f
		}
		if p.opts.Open == nil {
			break
		}
		text, err := p.opts.Open(full)
		switch {
		case err == nil:
			return p.add(full, text, pos)
		case errors.Is(err, ErrNotRegular), errors.Is(err, ErrLink):
			return failed("%s is not included: %v", full, err)
		}
	}
	full := p.opts.SystemPrefix + path.Clean(name)
	if f := p.system[full]; f != nil {
		return f
	}
	if p.opts.System != nil {
		if text, err := fs.ReadFile(p.opts.System, path.Clean(name)); err == nil {
			return p.add(full, string(text), pos)
		}
	}
	if what, ok := p.opts.Foreign[name]; ok {
		p.rep.Errorf(pos, CodeInclude, "%s is not supported: %s", name, what)
		return nil
	}
	return failed("cannot find %s in %s", name, strings.Join(append(dirs, "the compiler's own files"), ", "))
}

// add adds a file to the set and to the cache for further #includes.
func (p *preprocessor) add(name, text string, pos source.Pos) *source.File {
	f := p.set.Add(name, text)
	if f == nil {
		p.rep.Errorf(pos, CodeTooLarge, "the program is too large")
		return nil
	}
	p.system[name] = f
	return f
}

func isName(t syntax.Token) bool { return t.Kind == syntax.Name || t.Kind.IsKeyword() && t.Text != "" }
