// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/gen"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// Every verb has a manual page, and every verb without subcommands an example. A flag
// that is a number says its default or that it is required. With
// MANDIR the pages are written there (`make man`), with MARKDOWNDIR as Markdown
// (`make site`).
func TestManualPages(t *testing.T) {
	dir := os.Getenv("MANDIR")
	if dir == "" {
		dir = t.TempDir()
	}
	root := newRootCmd()
	// The date is that of the sources, so that the same sources give the same
	// pages.
	date := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	header := &doc.GenManHeader{Title: "PAUSELESS", Section: "1", Date: &date, Source: "pauseless", Manual: "User Commands"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("MARKDOWNDIR"); dir != "" {
		root.DisableAutoGenTag = true
		if err := doc.GenMarkdownTree(root, dir); err != nil {
			t.Fatal(err)
		}
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "completion" && sub.Name() != "help" {
				visit(sub)
			}
		}
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		if c.Short == "" || !strings.Contains(string(page), ".SH SYNOPSIS") {
			t.Errorf("%s: its page is too short", c.CommandPath())
		}
		if c.Runnable() && c.HasParent() && c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			// Help shows a default other than zero by itself.
			if zero := f.DefValue == "0" || f.DefValue == "0s"; zero && !strings.Contains(f.Usage, "default") && !strings.Contains(f.Usage, "required") {
				t.Errorf("%s --%s: say what its default is, or that it is required: %s", c.CommandPath(), f.Name, f.Usage)
			}
		})
	}
	visit(root)
}

// Commands in the documents have only flags that exist.
func TestFlagsInDocuments(t *testing.T) {
	span := regexp.MustCompile("(?m)(?:^    |`|^)(?:sudo )?(?:pauseless )?([a-z]+ [^`\n|&#]*--[^`\n|&#]*)")
	flag := regexp.MustCompile("(?:^| )--([a-z][a-z0-9-]*)")
	n := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md", "../../gen/schemes/*/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range span.FindAllStringSubmatch(string(text), -1) {
				root := newRootCmd()
				cmd, _, err := root.Find(strings.Fields(m[1]))
				if err != nil || cmd == root {
					continue // another program
				}
				for _, f := range flag.FindAllStringSubmatch(m[1], -1) {
					n++
					if cmd.Flags().Lookup(f[1]) == nil && cmd.InheritedFlags().Lookup(f[1]) == nil && f[1] != "help" {
						t.Errorf("%s: %q: %s has no flag --%s", page, m[1], cmd.CommandPath(), f[1])
					}
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d flags were found", n)
	}
}

// The tables, registers and digests in examples of ctl are those of our programs.
func TestExamplesOfCtlWorkOnOurPrograms(t *testing.T) {
	p, err := gen.Builtin("rlb-adaptive-drill")
	if err != nil {
		t.Fatal(err)
	}
	prog, err := gen.Generate(p, "v1model")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, x := range prog.Manifest.Tables {
		known["tables "+x.Name], known["entries "+x.Name] = true, true
	}
	for _, x := range prog.Manifest.Registers {
		known["registers "+x.Name], known["watch "+x.Name] = true, true
	}
	for _, x := range prog.Manifest.Digests {
		known["digests "+x.Name] = true
	}
	named := regexp.MustCompile(`(tables|entries \w+|registers|watch|digests)(?: (?:get|set|reset))? '?([A-Za-z]\w*)`)
	found := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, m := range named.FindAllStringSubmatch(c.Example, -1) {
			verb, _, _ := strings.Cut(m[1], " ")
			if found++; !known[verb+" "+m[2]] {
				t.Errorf("%s: rlb-adaptive-drill has no %s %s", c.CommandPath(), m[1], m[2])
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newCtlCmd())
	if found < 20 {
		t.Errorf("%d names found", found)
	}
}
