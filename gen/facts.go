// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
)

// Annotations in the program's text describe each table, register, counter and
// digest. They are the only source of the manifest:
//
//	@name(".x") @kind("ports") @entries("all_ports") @brief("...")   table
//	@name(".x") @kind("enumeration") @brief("...") @fill("...")      table that formulas fill
//	@name(".x") @index("port,priority:8") @unit("bytes") @brief("...") register
//	@name(".x") @counter("name", "unit", "...")                      action that a table counts
//	@value("bytes(x.y)")                                             parameter of an action
//	@digest @brief("...")                                            struct
//	@from("floor(x.y)") @brief("...")                                constant

var (
	// Package regexp searches for a literal prefix of an expression first, which is
	// much faster.
	factType     = regexp.MustCompile(`\ntypedef bit<(\d+)> (\w+);`)
	factStruct   = regexp.MustCompile(`(?s)\nstruct (\w+) \{\n(.*?)\n\}`)
	factDigest   = regexp.MustCompile(`^@digest @brief\("([^"]*)"\)$`)
	factField    = regexp.MustCompile(`(?m)^    ([\w<>]+) +(\w+);`)
	factTable    = regexp.MustCompile(`@name\("\.(\w+)"\) @kind\("(\w+)"\)([^\n]*)\n\s*@brief\("([^"]*)"\)((?:\s+@fill\("[^"]*"\))*)\s+table \w+ \{`)
	factFill     = regexp.MustCompile(`@fill\("([^"]*)"\)`)
	factRegister = regexp.MustCompile(`@name\("\.(\w+)"\) @index\("([^"]*)"\) @unit\("([^"]*)"\)\s+@brief\("([^"]*)"\)\s+[Rr]egister<(\w+(?:<\d+>)?)[^(]*>\((\d+)`)
	factAction   = regexp.MustCompile(`@name\("\.(\w+)"\)([^\n]*)\n\s*action (\w+)\(([^{]*)\) \{`)
	factValue    = regexp.MustCompile(`@value\("([^"]*)"\)[^,]*?(\w+)\s*(?:,|$)`)
	factConstant = regexp.MustCompile(`@from\("([^"]*)"\) @brief\("([^"]*)"\)\s+const [\w<>]+ (\w+) = (\d+);`)
	factCounter  = regexp.MustCompile(`@counter\("([^"]*)", "([^"]*)", "([^"]*)"\)`)
	factExtra    = regexp.MustCompile(`@(entries|sessions)\("([^"]*)"\)`)
	// What is left of a register, or of a table with a name, if it has no annotations.
	factBare     = regexp.MustCompile(`((?:[Rr]egister<[^(\n]*>\(\d[^\n]*\)|@name\("\.\w+"\)[^;{}]*\n\s*table) (\w+))`)
	tableActions = regexp.MustCompile(`actions = \{([^}]*)\}`)
	word         = regexp.MustCompile(`\w+`)
)

// facts are the annotations of a text.
type facts struct {
	tables    []manifest.Table
	registers []manifest.Register
	counters  []manifest.Counter
	digests   []manifest.Digest
	constants []manifest.Constant
	block     map[string]string // block that declares a table, register or digest
}

// factAt is an action and its offset in the text.
type factAt struct {
	at      int
	name    string
	args    []manifest.Argument
	counter []string
}

// facts parses the annotations of a program's text.
func (g *generator) facts(text string) (*facts, error) {
	f := &facts{block: make(map[string]string)}
	widths := make(map[string]int)
	for _, m := range factType.FindAllStringSubmatch(text, -1) {
		widths[m[2]], _ = strconv.Atoi(m[1])
	}
	width := func(typ string) int {
		if n, ok := strings.CutPrefix(strings.TrimSuffix(typ, ">"), "bit<"); ok {
			bits, _ := strconv.Atoi(n)
			return bits
		}
		return widths[typ]
	}
	fields := make(map[string][]string)
	for _, m := range factStruct.FindAllStringSubmatchIndex(text, -1) {
		var names []string
		name := text[m[2]:m[3]]
		for i, member := range factField.FindAllStringSubmatch(text[m[4]:m[5]], -1) {
			names = append(names, member[2])
			if i == 0 {
				widths[name] = width(member[1])
			}
		}
		fields[name] = names
		before := text[strings.LastIndexByte(text[:m[0]], '\n')+1 : m[0]]
		if digest := factDigest.FindStringSubmatch(before); digest != nil {
			f.digests = append(f.digests, manifest.Digest{Name: name, Fields: names, Doc: digest[1]})
		}
	}
	place := make(map[string]int)
	last := 0
	of := func(name string) {
		if i, ok := g.owner(name); ok {
			last = i
		}
		place[name], f.block[name] = last, g.blocks[last].Name
	}
	for _, d := range f.digests {
		of(d.Name)
	}
	for _, m := range factConstant.FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseInt(m[4], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("constant %s: %w", m[3], err)
		}
		f.constants = append(f.constants, manifest.Constant{Name: m[3], Value: v, From: manifest.Expr(m[1]), Doc: m[2]})
	}
	var actions []factAt
	for _, m := range factAction.FindAllStringSubmatchIndex(text, -1) {
		a := factAt{at: m[0], name: text[m[2]:m[3]]}
		for _, v := range factValue.FindAllStringSubmatch(text[m[8]:m[9]], -1) {
			a.args = append(a.args, manifest.Argument{Name: v[2], Value: manifest.Expr(v[1])})
		}
		a.counter = factCounter.FindStringSubmatch(text[m[4]:m[5]])
		actions = append(actions, a)
	}
	for _, m := range factTable.FindAllStringSubmatchIndex(text, -1) {
		t := manifest.Table{Name: text[m[2]:m[3]], Kind: text[m[4]:m[5]], Doc: text[m[8]:m[9]]}
		for _, x := range factExtra.FindAllStringSubmatch(text[m[6]:m[7]], -1) {
			if x[1] == "entries" {
				t.Entries = x[2]
			} else {
				t.Sessions = append(t.Sessions, x[2])
			}
		}
		for _, x := range factFill.FindAllStringSubmatch(text[m[10]:m[11]], -1) {
			t.Fill = append(t.Fill, manifest.Fill(x[1]))
		}
		of(t.Name)
		f.actionOf(&t, text[m[1]:], actions, m[0])
		f.tables = append(f.tables, t)
	}
	for _, m := range factRegister.FindAllStringSubmatch(text, -1) {
		r := manifest.Register{Name: m[1], Unit: m[3], Bits: width(m[5]), Fields: fields[m[5]], Doc: m[4]}
		cells, _ := strconv.Atoi(m[6])
		dims, err := dimensions(m[2], cells)
		if err != nil {
			return nil, fmt.Errorf("register %s: %w", r.Name, err)
		}
		r.Index = dims
		of(r.Name)
		f.registers = append(f.registers, r)
	}
	if err := f.annotated(text); err != nil {
		return nil, err
	}
	// In the order of blocks.
	slices.SortStableFunc(f.tables, func(a, b manifest.Table) int { return cmp.Compare(place[a.Name], place[b.Name]) })
	slices.SortStableFunc(f.registers, func(a, b manifest.Register) int { return cmp.Compare(place[a.Name], place[b.Name]) })
	return f, nil
}

// annotated returns an error for a register, or a table with a name, whose
// annotations facts does not find, and for a word in one that has no meaning.
func (f *facts) annotated(text string) error {
	rest := factTable.ReplaceAllString(factRegister.ReplaceAllString(text, ""), "")
	if m := factBare.FindStringSubmatch(rest); m != nil {
		return fmt.Errorf(`%s lacks annotations, so that the manifest would not have it: write @name(".%s") @index("port") @unit("bytes") before a register, or @name(".%[2]s") @kind("settings") before a table, and @brief("...") on the next line`, m[1], m[2])
	}
	for _, t := range f.tables {
		err := oneOf("kind", t.Kind, manifest.Kinds)
		if err == nil && t.Entries != "" {
			err = manifest.CheckEntries(t.Entries)
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

// oneOf returns an error if the word of an annotation is unknown.
func oneOf(annotation, word string, known []string) error {
	if slices.Contains(known, word) {
		return nil
	}
	return fmt.Errorf("@%s(%q)%s is none of %s", annotation, word, diag.DidYouMean(word, known), strings.Join(known, ", "))
}

// actionOf sets the action of a table that has values, and the counters of its
// actions. Of several actions of one name it uses the last before the table.
func (f *facts) actionOf(t *manifest.Table, rest string, actions []factAt, before int) {
	list := tableActions.FindStringSubmatch(rest)
	if list == nil {
		return
	}
	for _, name := range word.FindAllString(list[1], -1) {
		for _, a := range slices.Backward(actions) {
			if a.name != name || a.at > before {
				continue
			}
			if t.Action == "" && (len(a.args) > 0 || t.Entries != "" && name != "NoAction") {
				t.Action, t.Args = a.name, a.args
			}
			if c := a.counter; c != nil {
				f.counters = append(f.counters, manifest.Counter{Name: c[1], Unit: c[2], Table: t.Name, Action: a.name, Doc: c[3]})
			}
			break
		}
	}
}

// dimensions parses an @index annotation. The size of the first dimension is
// the number of cells divided by the sizes of the others.
func dimensions(index string, cells int) ([]manifest.Dim, error) {
	var dims []manifest.Dim
	rest := cells
	for _, part := range strings.Split(index, ",") {
		name, size, _ := strings.Cut(part, ":")
		n, err := strconv.Atoi(size)
		if size != "" && (err != nil || n < 1) {
			return nil, fmt.Errorf("@index(%q): %q is not a size", index, size)
		}
		if len(dims) > 0 {
			rest /= max(n, 1)
		}
		dims = append(dims, manifest.Dim{Name: name, Size: n})
	}
	dims[0].Size = rest
	return dims, nil
}

// owner returns the index of the block whose text contains a name. A name that
// a template composes has no owner: it belongs to the block of the preceding
// text.
func (g *generator) owner(name string) (int, bool) {
	for _, form := range []string{`@name(".` + name + `")`, `"` + name + `"`, "struct " + name + " {"} {
		for i, b := range g.blocks {
			for _, file := range []string{"common.p4.tmpl", g.target + ".p4.tmpl"} {
				if strings.Contains(b.files[file], form) {
					return i, true
				}
			}
		}
	}
	return 0, false
}
