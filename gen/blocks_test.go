// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
)

// docs/blocks.md has what a scheme's folder can use: the keys of block.yaml by the
// comments of their Go types, formulas by those of package manifest, and of each
// shared block the needs, options, hooks and metadata.
func TestBlocksAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<!-- Made from the code by a test of package gen; make golden rewrites it. -->

# Blocks, for authors of schemes

[own-scheme.md](own-scheme.md) is the tutorial, [authors.md](schemes/authors.md) explains annotations and models.
This page lists what the folder of a scheme can contain and use.
The tables, registers and parameters of all blocks are in [schemes/reference.md](schemes/reference.md).

## Keys of block.yaml
`)
	for _, x := range []struct{ typ, title string }{
		{"block", ""},
		{"onTarget", "Below `v1model` and `tna`, for one target:"},
		{"parameter", "Of each of `parameters`:"},
		{"limit", "Of each of `limits`:"},
		{"refusal", "Of each of `refuses` and `too_large`:"},
	} {
		if x.title != "" {
			fmt.Fprintf(&b, "\n%s\n", x.title)
		}
		b.WriteString("\n| key | |\n|---|---|\n" + keys(t, "block.go", x.typ))
	}
	b.WriteString(`
A condition is ` + "`if NEED` or `unless NEED`" + ` after a need or a step: ` + "`report_late if report.late`, `depart Depth unless depth.first`" + `.

## Formulas

In the default of a parameter:

`)
	b.WriteString(comment(t, "../internal/manifest/setting.go", "Network", "scope"))
	b.WriteString("\nIn `@value`, also:\n\n")
	b.WriteString(comment(t, "../internal/manifest/setting.go", "Manifest", "scope"))
	b.WriteString("\nIn `@value` of a table with `@entries`: `node.leaf`, `node.id`, `node.id12`, `node.mac` of the switch, and `node.paths`, the number of its equal-cost paths to the leaf with most.\nIn all, Go's `+ - * / %`, the comparisons `< > ==` with 1 or 0 as their value, and `")
	b.WriteString(strings.Join(functions(t), "`, `") + "`.\n\n## Shared blocks\n")
	blocks, left := loaded().blocks, maps.Clone(meanings)
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		if strings.HasPrefix(blocks[name].dir, "blocks") {
			writeBlock(t, &b, blocks[name], left)
		}
	}
	if len(left) > 0 {
		t.Errorf("no block has the fields of metadata %v", slices.Sorted(maps.Keys(left)))
	}
	golden.Check(t, "../docs/blocks.md", []byte(b.String()))
}

// keys returns rows with the YAML keys of a struct and their comments.
func keys(t *testing.T, file, typ string) string {
	var b strings.Builder
	for _, d := range parse(t, file).Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE || g.Specs[0].(*ast.TypeSpec).Name.Name != typ {
			continue
		}
		for _, f := range g.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
			if f.Tag == nil {
				continue
			}
			tag, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			name := f.Names[0].Name
			key := reflect.StructTag(tag).Get("yaml")
			text := strings.Join(strings.Fields(f.Doc.Text()), " ")
			if text == "" {
				t.Errorf("%s: %s.%s has no comment, which docs/blocks.md shows", file, typ, name)
			}
			if rest, ok := strings.CutPrefix(text, name+" "); ok { // the row names the key
				rest = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
				text = strings.ToUpper(rest[:1]) + rest[1:]
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", key, text)
		}
	}
	if b.Len() == 0 {
		t.Fatalf("%s has no type %s", file, typ)
	}
	return b.String()
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// comment returns the indented lines in the comment of a method, as rows.
func comment(t *testing.T, file, of, method string) string {
	var b strings.Builder
	for _, d := range parse(t, file).Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != method || f.Recv == nil {
			continue
		}
		typ := f.Recv.List[0].Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		if typ.(*ast.Ident).Name != of {
			continue
		}
		for _, c := range f.Doc.List {
			if text, ok := strings.CutPrefix(c.Text, "//\t"); ok {
				name, means, _ := strings.Cut(text, "  ")
				if strings.Contains(name, ") ") { // a long name with one space behind it
					name, means, _ = strings.Cut(text, ") ")
					name += ")"
				}
				fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.TrimSpace(means))
			}
		}
	}
	if b.Len() == 0 {
		t.Fatalf("%s: method %s of %s has no list in its comment", file, method, of)
	}
	return "| | |\n|---|---|\n" + b.String()
}

// functions returns the names of functions in all formulas.
func functions(t *testing.T) []string {
	text, err := os.ReadFile("../internal/manifest/expr.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "var mathFuncs")
	list, _, _ = strings.Cut(list, "\n}\n")
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\t"(\w+)":`).FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	if len(names) < 5 {
		t.Fatalf("functions are %v", names)
	}
	return names
}

var (
	sectionOf = regexp.MustCompile(`(?s)\{\{-? *define "(metadata|egress_metadata)"\}\}(.*?)(?:\n\{\{-? *define|\z)`)
	choiceOf  = regexp.MustCompile(`\{\{if [^}]*\}\}(.*?)\{\{else\}\}(.*?)\{\{end\}\}`)
	inBraces  = regexp.MustCompile(`\{\{[^}]*\}\}`)
	fieldOf   = regexp.MustCompile(`(?m)^    ([\w<>{}.]+) +(\w+); *(?://(.*))?$`)
)

// meanings are of fields of metadata whose comments in the P4 text are missing, or are
// only understood beside the lines around them.
var meanings = map[string]string{
	"above_kmax":       "kmax, then 0, or by how much the depth exceeds it",
	"above_kmin":       "the same for kmin",
	"departed":         "negative sum of the ingress port's bytes that left since the last copy",
	"dice":             "random number, masked by the ramp of RED",
	"first_port":       "port of the first path",
	"flow_hash":        "hash of the five-tuple",
	"hash_shift":       "which bits of flow_hash choose the path, other ones than in the lower tier",
	"held":             "bytes of this packet that held_qlen of held_port counts",
	"held_port":        "see held",
	"known":            "meta.path is that of the flow's last packet",
	"l4_ports":         "source and destination port of TCP or UDP",
	"last_path":        "number of paths less one: the last path's port is first_port + last_path",
	"load":             "load of the egress link, in 1/65536",
	"message_priority": "class of the message",
	"now":              "time of arrival",
	"out_port":         "egress port",
	"qlen":             "ingress_qlen of the packet's port",
	"reserve":          "bytes reserved for the ingress queue of the packet",
	"tick":             "meta.now, rounded down to REPORT_TICK",
}

// writeBlock writes the section of a block. It removes from left the fields whose
// meaning it takes from meanings, and fails if a field has none.
func writeBlock(t *testing.T, b *strings.Builder, of *block, left map[string]string) {
	fmt.Fprintf(b, "\n### %s\n\n%s.\n", of.Name, strings.ToUpper(of.Summary[:1])+of.Summary[1:])
	needs := func(list []need) string {
		var names []string
		for _, n := range list {
			text := "`" + n.name + "`"
			if n.condition.name != "" {
				word := " if `"
				if n.unless {
					word = " unless `"
				}
				text += word + n.condition.name + "`"
			}
			names = append(names, text)
		}
		return strings.Join(names, ", ")
	}
	for _, x := range []struct {
		where string
		list  []need
	}{{"Needs", of.Needs}, {"Needs on v1model", of.V1Model.Needs}, {"Needs on TNA", of.TNA.Needs}} {
		if len(x.list) > 0 {
			fmt.Fprintf(b, "%s: %s.\n", x.where, needs(x.list))
		}
	}
	if of.TNA.Unsupported != "" {
		fmt.Fprintf(b, "Not on TNA: %s.\n", of.TNA.Unsupported)
	}
	if of.files["v1model.p4.tmpl"] == "" && of.files["tna.p4.tmpl"] != "" {
		b.WriteString("On TNA only.\n")
	}
	rows := func(head string, list map[string]string) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintf(b, "\n| %s | |\n|---|---|\n", head)
		for _, name := range slices.Sorted(maps.Keys(list)) {
			fmt.Fprintf(b, "| `%s` | %s |\n", name, list[name])
		}
	}
	options := make(map[string]string)
	for name, means := range of.Options {
		options[of.Name+"."+name] = means
	}
	rows("option", options)
	rows("hook", of.Hooks)
	type field struct{ on, means string }
	fields := make(map[string]field)
	for _, file := range []string{"common", "v1model", "tna"} {
		for _, m := range sectionOf.FindAllStringSubmatch(of.files[file+".p4.tmpl"], -1) {
			on := map[string]string{"common": "both", "v1model": "v1model", "tna": "TNA"}[file]
			if m[1] == "egress_metadata" {
				on += " egress"
			}
			for _, f := range fieldOf.FindAllStringSubmatch(m[2], -1) {
				means := inBraces.ReplaceAllString(choiceOf.ReplaceAllString(strings.TrimSpace(f[3]), "$1 or $2"), "")
				old, known := fields[f[2]]
				all := on
				switch {
				case known && (slices.Contains(strings.Split(old.on, ", "), on) || old.on == "both" && !strings.Contains(on, "egress")): // in both branches of a condition
					all = old.on
				case known:
					all = old.on + ", " + on
					if all == "v1model, TNA" {
						all = "both"
					}
				}
				fields[f[2]] = field{all, cmp.Or(old.means, means)}
			}
		}
	}
	if len(fields) == 0 {
		return
	}
	b.WriteString("\n| metadata | on | |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		means := cmp.Or(meanings[name], fields[name].means)
		if means == "" {
			t.Errorf("block %s: meta.%s has no comment, and no meaning in meanings", of.Name, name)
		}
		delete(left, name)
		fmt.Fprintf(b, "| `meta.%s` | %s | %s |\n", name, fields[name].on, means)
	}
}
