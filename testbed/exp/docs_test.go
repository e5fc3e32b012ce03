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
// tables of docs/results, or the table of all schemes. Pages of docs/schemes, of the schemes' folders and
// docs/tofino-fabric.md have such parts.
var part = regexp.MustCompile(`(?s)<!-- (reference|results|schemes): ([^>]*) -->\n.*?<!-- end -->`)

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
				switch kind {
				case "schemes":
					b.WriteString(schemes(t))
				case "reference":
					s, ok := reference[name]
					if !ok {
						t.Errorf("%s: reference.md has no section %s", page, name)
					}
					fmt.Fprintf(&b, "**%s**\n%s\n", name, s)
				default:
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
			t.Errorf("no page shows the results of experiment %s: write <!-- results: %s --> and <!-- end --> into the page of its scheme, and run `make golden`", name, name)
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
			t.Errorf("no page shows the tables and registers of %s: write <!-- reference: %s --> and <!-- end --> into the scheme's README.md, and run `make golden`", name, name)
		}
	}
}

var (
	pickedBy = regexp.MustCompile(`(?m)^pick: \{(\w+: \w+)\}`)
	titleOf  = regexp.MustCompile(`^# ([^:\n]+): ([^\n]+)`)
)

// schemes returns a table of the schemes that are built in, base load balancers
// first, from the heading of their pages, "# NAME: IDEA", and their profiles.
func schemes(t *testing.T) string {
	t.Helper()
	folders, err := filepath.Glob("../../gen/schemes/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no schemes: %v", err)
	}
	var bases, others strings.Builder
	for _, folder := range folders {
		page, err := os.ReadFile(filepath.Join(folder, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		title := titleOf.FindSubmatch(page)
		if title == nil {
			t.Errorf("the first line of %s is not of the form # NAME: IDEA", filepath.Join(folder, "README.md"))
			continue
		}
		front, err := os.ReadFile(filepath.Join(folder, "block.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		pick := pickedBy.FindSubmatch(front)
		if pick == nil {
			t.Errorf("%s has no line as in pick: {base: NAME}", filepath.Join(folder, "block.yaml"))
			continue
		}
		profiles, err := filepath.Glob(filepath.Join(folder, "profiles", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range profiles {
			names = append(names, "`"+strings.TrimSuffix(filepath.Base(p), ".yaml")+"`")
		}
		if len(names) > 4 {
			names = append(names[:3], fmt.Sprintf("and %d more", len(names)-3))
		}
		to := &others
		if strings.HasPrefix(string(pick[1]), "base:") {
			to = &bases
		}
		fmt.Fprintf(to, "| [%s](../../gen/schemes/%s/README.md) | `%s` | %s | %s |\n", title[1], filepath.Base(folder), pick[1], strings.Join(names, " "), title[2])
	}
	return "| page | in a profile | profiles | idea |\n|---|---|---|---|\n" + bases.String() + others.String()
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
