// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"golang.org/x/net/html"

	"github.com/pauseless/pauseless/testbed/web/webtest"
)

// built returns a directory with the site of this repository.
func built(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "site")
	n, err := write("../..", "testdata/commands", dir)
	if err != nil {
		t.Fatal(err)
	}
	if n < 60 {
		t.Errorf("%d pages", n)
	}
	return dir
}

// The site has all that its pages refer to: pages, headings, pictures and scripts.
// Nothing is loaded from other sites.
func TestLinksOfTheSiteLeadSomewhere(t *testing.T) {
	dir := built(t)
	ids := map[string][]string{}   // of each page
	links := map[string][]string{} // of each page
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".html" {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		doc, err := html.Parse(f)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		for n := range doc.Descendants() {
			for _, a := range n.Attr {
				switch {
				case a.Key == "id":
					ids[rel] = append(ids[rel], a.Val)
				case a.Key == "src" && strings.Contains(a.Val, "://"):
					t.Errorf("%s loads %s", rel, a.Val)
				case a.Key == "href" || a.Key == "src":
					links[rel] = append(links[rel], a.Val)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for from, list := range links {
		for _, link := range list {
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(link, "#")
			to := from
			if file != "" {
				to = path.Join(path.Dir(from), file)
			}
			if info, err := os.Stat(filepath.Join(dir, to)); err != nil || info.IsDir() {
				t.Errorf("%s links to %s, which does not exist", from, link)
			} else if anchor != "" && !slices.Contains(ids[to], anchor) {
				t.Errorf("%s links to %s, which has no such heading", from, link)
			}
		}
	}
	for _, want := range []string{"index.html", "docs/reproduction.html", "docs/performance.html", "docs/reference/profile.html", "docs/schemes/index.html",
		"gen/schemes/rlb/index.html", "commands/pauseless_gen.html", "p4src/v1model/rlb-drill.p4.txt"} {
		if _, err := os.Stat(filepath.Join(dir, want)); err != nil {
			t.Error(err)
		}
	}
}

// The error names a document that is not in the table of contents, or that has a
// broken link.
func TestMistakesAreNamed(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"docs/new.md", "# New", "docs/new.md is not in the table of contents"},
		{"docs/switch.md", "[a](gone.md)", "docs/switch.md links to gone.md, which does not exist"},
	} {
		s, err := read(fstest.MapFS{c.file: {Data: []byte(c.text)}}, "")
		if err == nil {
			_, err = s.render()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.file, err, c.want)
		}
	}
}

// patience is the limit of each wait, for a machine under load.
const patience = 2 * time.Minute

// A directory with other files than a site's is not removed.
func TestForeignFilesStay(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := write("../..", "", dir); err == nil || !strings.Contains(err.Error(), "give another directory") {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error(err)
	}
}

// The search finds parameters, verbs and diagnostics, from a file and without
// a server, on a page that is not the first one.
func TestSearchInTheBrowser(t *testing.T) {
	dir := built(t)
	p := webtest.Open(t, filepath.Join(dir, "docs/switch.html"), 1200, 900)
	clear := chromedp.Evaluate(`document.getElementById('query').value = ''`, nil)
	for _, c := range []struct{ query, page string }{
		{"rlb.xoff", "docs/schemes/reference.html#rlb"},
		{"go-back-N", "docs/hosts.html"},
		{"flowlet gap", "gen/schemes/letflow/index.html#tuning"},
		{"pauseless gen sample option", "commands/pauseless_gen.html"},
		{"recirculaton", "gen/schemes/rlb/index.html"}, // misspelt
	} {
		p.Do(clear, chromedp.SendKeys("#query", c.query, chromedp.ByQuery))
		p.UntilWithin(patience, `document.getElementById('found').dataset.query === `+quoted(c.query))
		hits := webtest.Eval[[]string](p, `[...document.querySelectorAll('#found a')].map(a => a.getAttribute('href'))`)
		if !slices.ContainsFunc(hits, func(h string) bool { return strings.HasPrefix(h, "../"+c.page) }) {
			t.Errorf("%s: %s is not among %q", c.query, c.page, hits)
		}
	}
	p.Do(clear, chromedp.SendKeys("#query", "zzzzqqqq", chromedp.ByQuery))
	p.UntilWithin(patience, `document.getElementById('found').textContent.startsWith('Nothing found')`)

	// The search by keyboard: slash, words, Enter.
	p.Do(clear, chromedp.Evaluate(`document.getElementById('query').blur()`, nil), chromedp.KeyEvent("/"))
	p.UntilWithin(patience, `document.activeElement.id === 'query'`)
	// The protocol sends the character separately from the key, so that the page
	// cannot suppress it.
	p.Do(clear, chromedp.KeyEvent("claims intervals"))
	p.UntilWithin(patience, `document.getElementById('found').dataset.query === 'claims intervals'`)
	// The page must not change: the test evaluates expressions in it.
	first := webtest.Eval[string](p, `{
		const link = document.querySelector('#found a');
		link.addEventListener('click', e => { e.preventDefault(); globalThis.followed = link.href; });
		link.href
	}`)
	p.Do(chromedp.KeyEvent(kb.Enter))
	p.UntilWithin(patience, `globalThis.followed === `+quoted(first))
	p.Screenshot("site")

	// On a phone nothing is wider than the window.
	phone := webtest.Open(t, filepath.Join(dir, "docs/reproduction/rlb.html"), 360, 740)
	phone.Until("document.documentElement.scrollWidth <= 360") // once all has been laid out anew

	// The contents are behind a button there.
	const height = "document.getElementById('contents').offsetHeight"
	phone.Until(height + " === 0")
	phone.Do(chromedp.Evaluate("document.getElementById('menu').click()", nil))
	phone.Until(height + " > 100 && document.getElementById('menu').getAttribute('aria-expanded') === 'true'")
}

func quoted(s string) string { return "'" + s + "'" }
