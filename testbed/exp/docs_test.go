// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/testbed/result"
)

// part matches a generated part of a page, between a comment with its names and
// an end comment: sections of reference.md, which are generated from manifests,
// or tables of docs/results. Pages of docs/schemes, of the schemes' folders and
// docs/tofino-fabric.md have such parts.
var part = regexp.MustCompile(`(?s)<!-- (reference|results): ([^>]*) -->\n.*?<!-- end -->`)

func TestPagesOfSchemesHaveWhatManifestsAndResultsSay(t *testing.T) {
	const dir = "../../docs/schemes"
	reference := sections(t, filepath.Join(dir, "reference.md"))
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("../../gen/schemes/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(append(pages, own...), "../../docs/tofino-fabric.md")
	used := make(map[string]bool)
	for _, page := range pages {
		if filepath.Base(page) == "reference.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, page, part.ReplaceAllFunc(text, func(old []byte) []byte {
			m := part.FindSubmatch(old)
			kind, names := string(m[1]), strings.Fields(string(m[2]))
			var b strings.Builder
			fmt.Fprintf(&b, "<!-- %s: %s -->\n", kind, strings.Join(names, " "))
			for _, name := range names {
				used[kind+" "+name] = true
				if kind == "reference" {
					s, ok := reference[name]
					if !ok {
						t.Errorf("%s: reference.md has no section %s", page, name)
					}
					fmt.Fprintf(&b, "**%s**\n%s\n", name, s)
				} else {
					b.WriteString(table(t, name))
				}
			}
			b.WriteString("<!-- end -->")
			return []byte(b.String())
		}))
	}
	for _, name := range Names() {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Source == "" && !used["results "+name] { // others are on the page of figures
			t.Errorf("no page shows the results of experiment %s", name)
		}
	}
	schemes, err := filepath.Glob("../../gen/schemes/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range schemes {
		name := filepath.Base(folder)
		if _, err := os.Stat(filepath.Join(folder, "README.md")); err != nil {
			t.Errorf("the scheme %s has no page in its folder: %v", name, err)
		}
		if _, ok := reference[name]; ok && !used["reference "+name] {
			t.Errorf("no page shows the tables and registers of %s", name)
		}
	}
}

// sections returns the text of each section of a page, by heading.
func sections(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list := make(map[string]string)
	for _, s := range strings.Split(string(text), "\n## ")[1:] {
		name, rest, _ := strings.Cut(s, "\n")
		list[name] = strings.TrimRight(rest, "\n") + "\n"
	}
	return list
}

// table returns the tables of an outcome's page.
func table(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(results, name+".json"))
	if err != nil {
		t.Errorf("%v; run `pauseless exp run %s --keep docs/results`", err, name)
		return ""
	}
	o, err := result.ReadOutcome(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var page bytes.Buffer
	if err := o.WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(page.String(), "\n|")
	return "|" + rows
}
