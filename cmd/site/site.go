// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/pauseless/pauseless/internal/infile"
)

// contents is the table of contents: sections with patterns of path.Match. Each
// Markdown file is in the section of its first pattern; a file without a pattern
// is an error.
var contents = []struct {
	title    string
	patterns []string
	folded   bool // not open at first
}{
	{"Tutorials", []string{"README.md", "docs/README.md", "docs/tutorials/README.md", "docs/tutorials/first-*.md", "docs/own-scheme.md", "docs/own-p4.md", "docs/tutorials/*.md"}, false},
	{"How-to", []string{"docs/experiments.md", "docs/workers.md", "docs/pauses.md", "docs/training.md", "docs/switch.md", "docs/watchdog.md", "docs/controller.md", "docs/networks.md",
		"docs/bmv2.md", "docs/tofino.md", "docs/security.md", "docs/pictures.md"}, false},
	{"Explanation", []string{"docs/fabric.md", "docs/tofino-differences.md", "docs/judge.md"}, false},
	{"Schemes", []string{"docs/schemes/README.md", "gen/schemes/*/README.md"}, false},
	{"Results", []string{"docs/answer.md", "docs/reproduction.md", "docs/reproduction/*.md", "docs/schemes/*-results.md", "docs/training-results.md", "docs/ai-fabrics.md",
		"docs/tofino-fabric.md", "docs/validation.md", "docs/performance.md"}, false},
	{"Experiments", []string{"docs/results/*.md"}, true},
	{"Reference", []string{"docs/reference/*.md", "docs/hosts.md", "docs/schemes/authors.md", "docs/schemes/reference.md", "docs/compiler.md", "docs/blocks.md", "docs/diagnostics.md", "docs/terms.md"}, false},
	{"Command line", []string{"commands/*.md"}, true},
	{"Development", []string{"ARCHITECTURE.md", "RATIONALE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/licences.md"}, false},
}

// notPages are Markdown files that are not documents of the project.
var notPages = []string{"gen/starter/README.md"}

// A page is one Markdown file.
type page struct {
	source string // its path in the repository
	url    string // its path in the site
	title  string
	text   []byte
	tree   ast.Node
}

type site struct {
	root     fs.FS
	pages    []*page
	sections [][]*page // by contents
	byName   map[string]*page
	extra    map[string]bool // files and folders that pages link to
}

// markdown supports GitHub Flavored Markdown.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// read finds all documents and parses them.
func read(root fs.FS, commands string) (*site, error) {
	s := &site{root: root, byName: map[string]*page{}, extra: map[string]bool{}, sections: make([][]*page, len(contents))}
	var names []string
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || name == "bin" || name == "out" || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if path.Ext(name) == ".md" && !slices.Contains(notPages, name) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		s.add(name, text)
	}
	if commands != "" {
		files, err := filepath.Glob(filepath.Join(commands, "*.md"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := infile.Read(file)
			if err != nil {
				return nil, err
			}
			s.add("commands/"+filepath.Base(file), text)
		}
	}
	return s, s.order()
}

func (s *site) add(name string, source []byte) {
	p := &page{source: name, url: strings.TrimSuffix(name, ".md") + ".html", text: source}
	if path.Base(name) == "README.md" {
		p.url = path.Join(path.Dir(name), "index.html")
	}
	p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{}))))
	p.title = strings.TrimSuffix(path.Base(name), ".md")
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			p.title = plain(h, source)
			break
		}
	}
	s.pages = append(s.pages, p)
	s.byName[name] = p
}

// order puts every page into its section.
func (s *site) order() error {
	placed := map[*page]bool{}
	for i, c := range contents {
		for _, pattern := range c.patterns {
			for _, p := range s.pages {
				if ok, _ := path.Match(pattern, p.source); ok && !placed[p] {
					placed[p] = true
					s.sections[i] = append(s.sections[i], p)
				}
			}
		}
	}
	for _, p := range s.pages {
		if !placed[p] {
			return fmt.Errorf("%s is not in the table of contents: add it to contents in cmd/site/site.go", p.source)
		}
	}
	return nil
}

// anchors makes the ids of headings as code hosts do, by the rule of archtest's
// TestLinksInDocuments. Repeated names are numbered.
type anchors struct{ seen []string }

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	base := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(string(value))), ""), " ", "-")
	id := base
	for n := 1; slices.Contains(a.seen, id); n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	a.seen = append(a.seen, id)
	return []byte(id)
}

func (a *anchors) Put(value []byte) { a.seen = append(a.seen, string(value)) }

// plain returns the text of a node and its descendants, without markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				for i := range n.Lines().Len() {
					line := n.Lines().At(i)
					b.Write(line.Value(source))
				}
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// An entry is a part of a page in the search index: a heading and the text up to
// the next heading.
type entry struct {
	ID      int    `json:"id"`
	Page    string `json:"page"`
	Heading string `json:"heading"`
	URL     string `json:"url"`
	Text    string `json:"text"`
}

// indexFile is the file of all entries.
const indexFile = "search-index.js"

// entries splits a page at its headings. Their IDs are from and the numbers after.
func (p *page) entries(from int) []entry {
	list := []entry{{Page: p.title, URL: p.url}}
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		last := &list[len(list)-1]
		if h, ok := n.(*ast.Heading); ok {
			id, _ := h.AttributeString("id")
			anchor, _ := id.([]byte)
			if h.Level > 1 || last.Text != "" {
				list = append(list, entry{Page: p.title, Heading: plain(h, p.text), URL: p.url + "#" + string(anchor)})
			}
			continue
		}
		if words := plain(n, p.text); words != "" {
			last.Text = strings.TrimSpace(last.Text + " " + words)
		}
	}
	for i := range list {
		list[i].ID = from + i
	}
	return list
}

// target returns the link in the site for a link of a page, and adds files and
// folders that are not pages to s.extra. It returns an error for a broken link.
func (s *site) target(from *page, link string) (string, error) {
	file, anchor, hasAnchor := strings.Cut(link, "#")
	if file == "" || strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return link, nil
	}
	name := path.Join(path.Dir(from.source), file)
	url := name
	if p := s.byName[name]; p != nil {
		url = p.url
	} else if info, err := fs.Stat(s.root, name); err != nil {
		return "", fmt.Errorf("%s links to %s, which does not exist", from.source, link)
	} else if info.IsDir() {
		url += "/index.html"
		if s.byName[name+"/README.md"] == nil {
			s.extra[name] = true
		}
	} else {
		s.extra[name] = true
		url = fileURL(name)
	}
	if hasAnchor {
		url += "#" + anchor
	}
	return relative(from.url, url), nil
}

// shown are the extensions of files that browsers show. Others get .txt appended.
var shown = []string{".png", ".svg", ".json", ".txt"}

// fileURL returns the path in the site of a file that is not a page.
func fileURL(name string) string {
	if slices.Contains(shown, path.Ext(name)) {
		return name
	}
	return name + ".txt"
}

// relative returns the relative link from one path of the site to another.
func relative(from, to string) string {
	rel, err := filepath.Rel(path.Dir("/"+from), "/"+to)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return filepath.ToSlash(rel)
}

//go:embed src/page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A navSection is a section of contents with links from a page.
type navSection struct {
	Title string
	Open  bool
	Links []navLink
}

type navLink struct {
	Title, URL string
	Here       bool
}

// render returns all files of the site except scripts and styles.
func (s *site) render() (map[string][]byte, error) {
	files := map[string][]byte{}
	var index []entry
	for _, p := range s.pages {
		var bad error
		_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			var link *[]byte
			switch n := n.(type) {
			case *ast.Link:
				link = &n.Destination
			case *ast.Image:
				link = &n.Destination
			default:
				return ast.WalkContinue, nil
			}
			if entering {
				to, err := s.target(p, string(*link))
				if err != nil {
					bad = err
					return ast.WalkStop, nil
				}
				*link = []byte(to)
			}
			return ast.WalkContinue, nil
		})
		if bad != nil {
			return nil, bad
		}
		index = append(index, p.entries(len(index))...)
		var body bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.text, p.tree); err != nil {
			return nil, fmt.Errorf("%s: %w", p.source, err)
		}
		page, err := s.page(p.url, p.title, template.HTML(body.String()))
		if err != nil {
			return nil, err
		}
		files[p.url] = page
	}
	if err := s.copyLinked(files); err != nil {
		return nil, err
	}
	text, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	// A script, since a page opened from a file cannot fetch data.
	files[indexFile] = fmt.Appendf(nil, "globalThis.siteIndex = %s;\n", text)
	return files, nil
}

// page returns a page with a body, the navigation and the search.
func (s *site) page(url, title string, body template.HTML) ([]byte, error) {
	nav := make([]navSection, 0, len(contents))
	for i, c := range contents {
		if len(s.sections[i]) == 0 {
			continue
		}
		section := navSection{Title: c.title, Open: !c.folded}
		for _, p := range s.sections[i] {
			here := p.url == url
			section.Open = section.Open || here
			section.Links = append(section.Links, navLink{p.title, relative(url, p.url), here})
		}
		nav = append(nav, section)
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, map[string]any{"Title": title, "Body": body, "Nav": nav, "Root": strings.TrimSuffix(relative(url, "x"), "x")})
	return b.Bytes(), err
}

// copyLinked copies the files that pages link to. For a folder it makes a page with
// a list, and copies its content.
func (s *site) copyLinked(files map[string][]byte) error {
	todo := make([]string, 0, len(s.extra))
	for name := range s.extra {
		todo = append(todo, name)
	}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		entries, err := fs.ReadDir(s.root, name)
		if err != nil { // no folder
			text, err := fs.ReadFile(s.root, name)
			if err != nil {
				return err
			}
			files[fileURL(name)] = text
			continue
		}
		url := name + "/index.html"
		var list []navLink
		for _, e := range entries {
			below := path.Join(name, e.Name())
			to := below
			switch p := s.byName[below]; {
			case p != nil:
				to = p.url
			case e.IsDir():
				to += "/index.html"
				if s.byName[below+"/README.md"] == nil {
					todo = append(todo, below)
				}
			default:
				to = fileURL(below)
				todo = append(todo, below)
			}
			list = append(list, navLink{Title: e.Name(), URL: relative(url, to)})
		}
		var body bytes.Buffer
		if err := folderTemplate.Execute(&body, map[string]any{"Name": name, "List": list}); err != nil {
			return err
		}
		page, err := s.page(url, name, template.HTML(body.String()))
		if err != nil {
			return err
		}
		files[url] = page
	}
	return nil
}

var folderTemplate = template.Must(template.New("folder").Parse(
	`<h1>{{.Name}}</h1><ul>{{range .List}}<li><a href="{{.URL}}">{{.Title}}</a></li>{{end}}</ul>`))

// bundle adds script and style.
func bundle(root string, files map[string][]byte) error {
	for _, name := range []string{"site.js", "site.css"} {
		entry, err := filepath.Abs(filepath.Join(root, "cmd/site/src", name))
		if err != nil {
			return err
		}
		r := api.Build(api.BuildOptions{
			EntryPoints: []string{entry}, Bundle: true, Charset: api.CharsetUTF8, Target: api.ES2022, LegalComments: api.LegalCommentsInline,
			MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true, Format: api.FormatIIFE, Outfile: entry,
			Banner: map[string]string{"js": "/*! with MiniSearch (MIT, (c) 2022 Luca Ongaro) */"},
		})
		for _, m := range r.Errors {
			return fmt.Errorf("%s: %s", name, m.Text)
		}
		files[name] = r.OutputFiles[0].Contents
	}
	return nil
}
