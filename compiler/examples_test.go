// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/internal/diag"
)

const document = "../docs/diagnostics.md"

// withoutExample are codes that no program text causes.
var withoutExample = map[diag.Code]bool{CodeFile: true, CodeInternal: true, "p4c": true}

type example struct {
	code diag.Code
	kind string // of its code block
	text string // "" if there is none
}

var (
	heading = regexp.MustCompile("(?m)^### `([a-z0-9-]+)`$")
	fence   = regexp.MustCompile("(?s)```p4 ?([a-z]*)\n(.*?)```")
)

// examples reads the document.
func examples(t *testing.T) (list []example) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	heads := heading.FindAllSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		e := example{code: diag.Code(text[h[2]:h[3]])}
		if m := fence.FindSubmatch(text[h[1]:end]); m != nil {
			e.kind, e.text = string(m[1]), string(m[2])
		}
		list = append(list, e)
	}
	return list
}

// The example of each code causes that diagnostic and no other.
func TestExamples(t *testing.T) {
	for _, e := range examples(t) {
		t.Run(string(e.code), func(t *testing.T) {
			if e.text == "" {
				if !withoutExample[e.code] {
					t.Error("no example")
				}
				return
			}
			opts := Options{File: "example.p4", Source: []byte(e.text), Open: open, Stop: AfterCheck}
			switch e.kind {
			case "ingress":
				opts.Source = []byte("#include \"skeleton.p4inc\"\nINGRESS {\n" + e.text + "}\nSWITCH\n")
				opts.Stop = AllPasses
			case "program":
				opts.Stop = AllPasses
			}
			check := Compile
			if e.kind == "tofino" {
				check = CheckTNA
				opts.Source = []byte("#include <tna.p4>\nstruct meta_t { bit<32> x; bit<32> y; bit<32> z; }\ncontrol ingress(inout meta_t meta) {\n" + e.text + "}\n")
			}
			_, list := check(opts)
			found := false
			for _, d := range list {
				if found = found || d.Code == e.code; d.Code != e.code && e.code != source.CodeTooMany {
					t.Errorf("not expected: %v", d)
				}
			}
			if !found {
				t.Errorf("got %v", list)
			}
		})
	}
}

// The document has exactly the codes of the compiler's packages.
func TestEveryCodeIsDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, e := range examples(t) {
		if documented[string(e.code)] {
			t.Errorf("%s is documented twice", e.code)
		}
		documented[string(e.code)] = true
	}
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if s, ok := v.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Code" {
				for _, x := range v.Values {
					if lit, ok := x.(*ast.BasicLit); ok {
						code, err := strconv.Unquote(lit.Value)
						if err != nil {
							t.Error(err)
						}
						used[code] = true
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for code := range used {
		if !documented[code] {
			t.Errorf("%s has no section in %s", code, document)
		}
	}
	for code := range documented {
		if !used[code] {
			t.Errorf("%s has a section in %s, but the compiler does not use it", code, document)
		}
	}
}
