// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// avoided returns the words that CONTRIBUTING.md lists.
func avoided(t *testing.T) *regexp.Regexp {
	t.Helper()
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "## Words that texts do not use")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no section with the words that texts do not use")
	}
	var words []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \|$`).FindAllStringSubmatch(table, -1)[1:] {
		for _, w := range strings.Split(row[1], ", ") {
			words = append(words, regexp.QuoteMeta(w))
		}
	}
	if len(words) < 8 {
		t.Fatalf("CONTRIBUTING.md names only the words %q", words)
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(words, "|") + `)\b`)
}

// generated are the parts of documents that are generated from other texts.
var generated = regexp.MustCompile(`(?s)<!-- (?:reference|results|figures|claims)[^>]*-->.*?<!-- end -->`)

// decoded matches phrases of documents that have to be decoded: universal verbs without an
// object, and nouns that are replaced by clauses.
var decoded = regexp.MustCompile(`(?i)\b(?:what (?:it|they|each) (?:has|have|gives?|takes?|needs?)|has it that|goes? on \w+ing|(?:is|are) said to|that there (?:is|are) not|(?:has|have) to be true|as (?:it|they) (?:is|are) told)\b`)

// diary matches phrases that tell the history of the project, which commits keep.
var diary = regexp.MustCompile(`(?i)\b(?:formerly|previously|in the past|in (?:an )?earlier versions? of pauseless|used to be|as of (?:now|today)|so far (?:we|no one)|we (?:have )?(?:tried|found)|(?:on|since|of) \d+ (?:January|February|March|April|May|June|July|August|September|October|November|December))\b`)

// syntax matches words of files and of the command line that documents translate: variant
// for an element of arms, not reproduced or not supported for refuted, µs for us, KB for kB.
var syntax = regexp.MustCompile(`\b[Aa]rms?\b|\b[Rr]efuted\b|[\d)] us\b|, us\b|\d ?kB\b`)

// wanted matches a message of the form of a Go test: "rate is 0, want 1".
var wanted = regexp.MustCompile("(^[\"`]|%s|[:;,] )want\\b")

// proseOf returns the parts of a file that are read by people: a document
// without generated parts and code, or the strings of a Go file that have
// spaces.
func proseOf(file string, text []byte) []string {
	if strings.HasSuffix(file, ".md") {
		return strings.Split(generated.ReplaceAllString(string(text), ""), "\n")
	}
	var list []string
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile(file, -1, len(text)), text, nil, 0)
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return list
		}
		if tok == token.STRING && strings.Contains(lit, " ") {
			list = append(list, lit)
		}
	}
}

// Documents and texts of the programs do not use the words that CONTRIBUTING.md
// lists.
func TestTextsUsePlainWords(t *testing.T) {
	words, seen := avoided(t), 0
	walk(t, func(path string) {
		switch name := filepath.ToSlash(path); {
		case name == "CONTRIBUTING.md", name == "docs/terms.md": // the lists
			return
		case name == "docs/schemes/reference.md", strings.HasPrefix(name, "docs/reference/"): // generated
			return
		case strings.HasSuffix(name, ".md"):
		case !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"), strings.HasPrefix(name, "bmv2tests/"), strings.Contains(name, "/model/"):
			return
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for _, p := range proseOf(path, text) {
			if strings.HasSuffix(path, ".go") && wanted.MatchString(p) {
				t.Errorf("%s: say what to write, or what is expected, rather than want: %s", path, p)
			}
			if w := decoded.FindString(p); w != "" && strings.HasSuffix(path, ".md") {
				t.Errorf("%s: a precise verb and its object are easier to read than %q: %s", path, w, strings.TrimSpace(p))
			}
			if w := words.FindString(p); w != "" {
				t.Errorf("%s: CONTRIBUTING.md has other words for %q: %s", path, w, strings.TrimSpace(p))
			}
		}
	})
	if seen < 300 {
		t.Errorf("only %d files were read", seen)
	}
}

// Documents, generated ones too, have no history but that of CHANGELOG.md, and outside
// of code the terms and units of docs/terms.md.
func TestDocumentsUseTermsNotSyntax(t *testing.T) {
	seen := 0
	walk(t, func(path string) {
		name := filepath.ToSlash(path)
		if filepath.Ext(path) != ".md" || name == "CHANGELOG.md" || name == "docs/terms.md" {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		seen++
		code := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			}
			if code || strings.HasPrefix(line, "    ") {
				continue
			}
			prose := notTerms.ReplaceAllString(line, "x")
			for _, rule := range []*regexp.Regexp{diary, syntax} {
				if w := rule.FindString(prose); w != "" {
					t.Errorf("%s:%d: %q is history, or syntax of files: %s", path, i+1, w, line)
				}
			}
		}
	})
	if seen < 250 {
		t.Errorf("only %d documents were read", seen)
	}
}

// longest are the most words of pages that were cut to what their readers need: a page
// that outgrows its number is cut again, or a part of it gets a page of its own.
var longest = map[string]int{
	"README.md": 720, "RATIONALE.md": 1800, "docs/blocks.md": 3050, "docs/training-results.md": 1450, "docs/validation.md": 2050,
	"docs/controller.md": 1900, "docs/experiments.md": 1800, "docs/fabric.md": 2150, "docs/judge.md": 480, "docs/own-scheme.md": 1200,
	"docs/performance.md": 1720, "docs/security.md": 950, "docs/switch.md": 2100, "docs/tofino.md": 2100, "docs/tofino-fabric.md": 950,
	"gen/schemes/clb/README.md": 1050, "gen/schemes/pbfs/README.md": 1050, "gen/schemes/pcn/README.md": 800,
	"gen/schemes/plb/README.md": 1500, "gen/schemes/rlb/README.md": 2600,
}

// Pages have no more words than longest says, without comments and the targets of links.
func TestPagesStayShort(t *testing.T) {
	notWords, word := regexp.MustCompile(`(?s)<!--.*?-->|\]\([^)]*\)`), regexp.MustCompile(`[\pL\pN]`)
	for page, most := range longest {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, w := range strings.Fields(notWords.ReplaceAllString(string(text), " ")) {
			if word.MatchString(w) {
				n++
			}
		}
		t.Logf("%s: %d of %d words", page, n, most)
		if n > most {
			t.Errorf("%s has %d words, more than %d: cut what readers do not need, or give a part a page of its own", page, n, most)
		}
	}
}

// notTerms are the parts of a line that quote files, programs and links.
var notTerms = regexp.MustCompile("`[^`]*`|<!--.*?-->|\\]\\([^)]*\\)|\"[^\"]*\"")

// The messages that documents show are printed: each part between numbers and names
// is in a string of the packages.
func TestDocumentedErrorsArePrinted(t *testing.T) {
	printed(t, "docs/controller.md", "## Failures", 2, 15, "controlplane")
	printed(t, "docs/reference/messages.md", "## Before a run", 1, 30,
		"cmd/pauseless", "fabric", "testbed/exp", "testbed/real/live", "testbed/real/local", "testbed/result", "testbed/scenario", "testbed/virtual")
}

// printed looks for the messages in a column of a page's tables, from a heading on, in
// the source of packages. It fails if there are fewer than least parts.
func printed(t *testing.T, name, from string, column, least int, packages ...string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), from)
	if !ok {
		t.Fatalf("%s has no heading %q", name, from)
	}
	var source strings.Builder
	for _, p := range packages {
		files, err := filepath.Glob(filepath.Join(root, p, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if text, err := os.ReadFile(f); err != nil {
				t.Fatal(err)
			} else if !strings.HasSuffix(f, "_test.go") {
				source.Write(text)
			}
		}
	}
	seen := 0
	for _, row := range regexp.MustCompile(`(?m)^\|([^|]+)\|([^|]+)\|[^|]+\|$`).FindAllStringSubmatch(table, -1) {
		for _, message := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[column], -1) {
			for _, part := range regexp.MustCompile(`[;:,] | our\b|digest lists |…|[\w.]*\d[\w:.]*|neighbour|connection refused|error reading from server: EOF`).Split(message[1], -1) {
				if part = strings.Trim(part, " ;:,"); len(part) < 10 {
					continue
				}
				seen++
				if !strings.Contains(source.String(), part) {
					t.Errorf("%s shows %q, which %v do not print: %q", name, message[1], packages, part)
				}
			}
		}
	}
	if seen < least {
		t.Errorf("only %d parts of the messages in %s were compared", seen, name)
	}
}

// notProse are what may have the end of a sentence within a line: code, marks, links,
// brackets and quotations; an abbreviation does not end a sentence.
var (
	notProse     = regexp.MustCompile("`[^`]*`|<!--.*?-->|\\]\\([^)]*\\)|\\([^()]*\\)|\"[^\"]*\"")
	sentenceEnd  = regexp.MustCompile(`[\p{L}\d%*)\]][.?!](?:\*\*)? [A-Zx\[]`)
	abbreviation = regexp.MustCompile(`\b(?:al|vs|No|St|[A-Z])\. `)
	lineStart    = regexp.MustCompile(`^\s*(?:- |\d+\. )?(?:\*\*[^*]+[.?!]\*\* )?`)
)

// A line of prose has one sentence, so that changes and quotations are of sentences.
func TestProseWrapsAtSentences(t *testing.T) {
	seen := 0
	walk(t, func(path string) {
		if filepath.Ext(path) != ".md" {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		code := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			}
			if code || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "    ") {
				continue
			}
			seen++
			prose := abbreviation.ReplaceAllString(notProse.ReplaceAllString(lineStart.ReplaceAllString(line, ""), "x"), "x ")
			if end := sentenceEnd.FindString(prose); end != "" {
				t.Errorf("%s:%d: begin a line with the sentence after %q", path, i+1, end)
			}
		}
	})
	if seen < 3000 {
		t.Errorf("only %d lines were read", seen)
	}
}
