// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/internal/manifest"
)

// docs/schemes/reference.md matches the tables, registers and parameters of
// each block's manifest.
func TestReferenceOfBlocks(t *testing.T) {
	// The program with the most blocks that has a block, in nanoseconds if
	// possible; and a program that has a table, register or digest.
	of := make(map[string]*Program)
	have := make(map[string]*reference)
	for _, name := range Names() {
		if p, err := Builtin(name); err != nil {
			t.Fatal(err)
		} else if p.Choice("reading") != "default" { // it differs in one rule, for comparison
			continue
		}
		prog := mustGenerate(t, name, "v1model")
		m := prog.Manifest
		for _, block := range m.Features {
			if old := of[block]; old == nil || old.Manifest.Units.Time == manifest.Microseconds || m.Units.Time == manifest.Nanoseconds && len(m.Registers) > len(old.Manifest.Registers) {
				of[block] = prog
			}
			if have[block] == nil {
				have[block] = new(reference)
			}
		}
		for _, x := range m.Tables {
			have[prog.block[x.Name]].addTable(x)
		}
		for _, x := range m.Registers {
			have[prog.block[x.Name]].addRegister(x, m)
		}
		for _, x := range m.Digests {
			if r := have[prog.block[x.Name]]; len(r.digests) == 0 {
				r.digests = append(r.digests, x)
			}
		}
	}
	var b strings.Builder
	b.WriteString(`# Tables, registers and parameters

What each part of a program contains, as in its manifest.
Time is in the units of the profile (nanoseconds or microseconds), queue lengths are in bytes.
The last dimension of an index varies fastest.
Parameters are for a link of 40 Gb/s and 2 µs, with XOFF at 256 KB; unless a profile sets them, they follow from the links of the network.
` + "`pauseless gen`" + ` writes the same as JSON next to each program.
`)
	for _, block := range slices.Sorted(maps.Keys(of)) {
		have[block].write(&b, block, of[block].Manifest)
	}
	golden.Check(t, "../docs/schemes/reference.md", []byte(b.String()))
}

// reference are the tables, registers and parameters of a block.
type reference struct {
	tables    []manifest.Table
	registers []manifest.Register
	digests   []manifest.Digest
}

func (r *reference) addTable(x manifest.Table) {
	if !slices.ContainsFunc(r.tables, func(t manifest.Table) bool { return t.Name == x.Name }) {
		r.tables = append(r.tables, x)
	}
}

func (r *reference) addRegister(x manifest.Register, m *manifest.Manifest) {
	if x.Unit == string(m.Units.Time) {
		x.Unit = "time"
	}
	old := slices.IndexFunc(r.registers, func(t manifest.Register) bool { return t.Name == x.Name })
	switch {
	case old < 0:
		r.registers = append(r.registers, x)
	case len(x.Index) > len(r.registers[old].Index):
		r.registers[old] = x
	}
}

func (r *reference) write(b *strings.Builder, block string, m *manifest.Manifest) {
	parameters := slices.DeleteFunc(slices.Clone(m.Parameters), func(p manifest.Parameter) bool { return !strings.HasPrefix(p.Name, block+".") })
	if len(r.tables)+len(r.registers)+len(r.digests)+len(parameters) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n", block)
	if len(r.tables) > 0 {
		b.WriteString("\n| table | filled from | |\n|---|---|---|\n")
		for _, x := range r.tables {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", x.Name, x.Kind, x.Doc)
		}
	}
	if len(r.registers) > 0 {
		b.WriteString("\n| register | index | unit | bits | |\n|---|---|---|---|---|\n")
		for _, x := range r.registers {
			var index []string
			for _, dim := range x.Index {
				index = append(index, dim.Name)
			}
			bits := strconv.Itoa(x.Bits)
			if x.Unit == "paths" {
				bits = "paths"
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", x.Name, strings.Join(index, ", "), x.Unit, bits, x.Doc)
		}
	}
	head := "\n| parameter | default | at run time in | |\n|---|---|---|---|\n"
	for _, p := range parameters {
		fmt.Fprintf(b, "%s| `%s` | `%s` | `%s` | %s |\n", head, p.Name, amount(p.Value, p.Unit), strings.Join(p.Tables, "`, `"), p.Doc)
		head = ""
	}
	for _, x := range r.digests {
		fmt.Fprintf(b, "\nDigest `%s` (%s): %s.\n", x.Name, strings.Join(x.Fields, ", "), x.Doc)
	}
	for _, n := range loaded().blocks[block].V1Model.Notes {
		fmt.Fprintf(b, "\nNote: %s.\n", n)
	}
}

// Each name of a table, a register or a parameter in the schemes' documents
// exists.
func TestNamesInSchemeDocumentsExist(t *testing.T) {
	known := make(map[string]bool)
	manifests := make(map[string]*manifest.Manifest)
	for _, name := range Names() {
		manifests[name] = mustGenerate(t, name, "v1model").Manifest
	}
	for _, name := range []string{"clb", "rlb-adaptive-drill"} {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		p.FollowThresholds()
		out, err := Generate(p, "v1model")
		if err != nil {
			t.Fatal(err)
		}
		manifests[name+" with dynamic thresholds"] = out.Manifest
	}
	for _, m := range manifests {
		for _, x := range m.Tables {
			known[x.Name] = true
		}
		for _, x := range m.Registers {
			known[x.Name] = true
		}
		for _, x := range m.Parameters {
			known[x.Name] = true
		}
		for _, x := range m.Digests {
			known[x.Name] = true
		}
	}
	files, err := filepath.Glob("../docs/schemes/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	pages, err := filepath.Glob("schemes/*/README.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages of schemes: %v", err)
	}
	files = append(files, pages...)
	for _, file := range files {
		if filepath.Base(file) == "authors.md" { // names of templates, not of programs
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for k, word := range strings.Split(line, "`") {
				// Names have an underscore, or a dot after a block's name; other words between
				// backquotes are not checked.
				if k%2 == 1 && looksLikeName(word) && !known[word] {
					t.Errorf("%s:%d: %s does not exist", file, i+1, word)
				}
			}
		}
	}
}

func looksLikeName(word string) bool {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_.") != "" {
		return false
	}
	block, _, dotted := strings.Cut(word, ".")
	_, isBlock := loaded().blocks[block]
	return strings.Contains(word, "_") && !dotted && word != "rlb_adaptive" || dotted && isBlock
}
