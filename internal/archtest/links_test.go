// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Links in documents refer to existing files and headings.
func TestLinksInDocuments(t *testing.T) {
	n := 0
	walk(t, func(path string) {
		if filepath.Ext(path) != ".md" {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") || strings.HasPrefix(file, "mailto:") {
				continue
			}
			n++
			to := filepath.Join(root, path)
			if file != "" {
				to = filepath.Join(root, filepath.Dir(path), file)
			}
			target, err := os.ReadFile(to)
			if info, serr := os.Stat(to); serr != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			} else if anchor != "" && (info.IsDir() || err != nil || !hasAnchor(string(target), anchor)) {
				t.Errorf("%s links to %s, which has no such heading", path, m[1])
			}
		}
	})
	if n == 0 {
		t.Error("no links were found")
	}
}

// hasAnchor reports whether a heading of a document has an anchor by the rule
// of code hosts: lower case, hyphens for spaces, no punctuation.
func hasAnchor(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		if strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}

// docs/README.md and the pages of tutorials that it names link to every page that is
// not one of many of a kind (results and papers, which have lists of their own).
func TestIndexHasAllPages(t *testing.T) {
	linked := make(map[string]bool)
	for _, index := range []string{"docs/README.md", "docs/tutorials/README.md"} {
		text, err := os.ReadFile(filepath.Join(root, index))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			file, _, _ := strings.Cut(m[1], "#")
			linked[filepath.Join(filepath.Dir(index), file)] = true
		}
	}
	n := 0
	for _, pattern := range []string{"docs/*.md", "docs/reference/*.md", "docs/schemes/*.md", "docs/tutorials/*.md"} {
		pages, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			page, err := filepath.Rel(root, page)
			if err != nil {
				t.Fatal(err)
			}
			if n++; page != filepath.FromSlash("docs/README.md") && !linked[page] {
				t.Errorf("docs/README.md does not link to %s", page)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d pages were found", n)
	}
}

var (
	testCommand = regexp.MustCompile("go test ([^\n`]*)")
	testFolder  = regexp.MustCompile(`\./[\w/]+`)
	testPattern = regexp.MustCompile(`-(?:run|bench|fuzz) '?(\w+)`)
)

// The tests, benchmarks and fuzz tests that commands in documents select are in the
// folder that the command names.
func TestCommandsInDocumentsSelectTests(t *testing.T) {
	n := 0
	walk(t, func(path string) {
		if filepath.Ext(path) != ".md" {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testCommand.FindAllStringSubmatch(string(text), -1) {
			folders, pattern := testFolder.FindAllString(m[1], -1), testPattern.FindStringSubmatch(m[1])
			if len(folders) != 1 || pattern == nil || pattern[1] == "x" || strings.Contains(m[1], "...") {
				continue
			}
			n++
			files, err := filepath.Glob(filepath.Join(root, folders[0], "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			name, found := regexp.MustCompile(`(?m)^func (?:Test|Benchmark|Fuzz)\w*`+pattern[1]+`|^func `+pattern[1]), false
			for _, f := range files {
				source, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				found = found || name.Match(source)
			}
			if !found {
				t.Errorf("%s: no test in %s is selected by %s", path, folders[0], m[0])
			}
		}
	})
	if n < 15 {
		t.Errorf("only %d commands were found", n)
	}
}
