// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// part matches a generated part of a page, between a comment with its names and
// an end comment: sections of reference.md, which are generated from manifests,
// the claims of an outcome in docs/results, or the table of all schemes. Pages of docs/schemes, of the schemes' folders and
// docs/tofino-fabric.md have such parts.
var part = regexp.MustCompile(`(?s)<!-- (reference|results|schemes): ([^>]*) -->\n.*?<!-- end -->`)

// mark matches a number in a sentence, with the claim whose effect it is: the outcome,
// the text of the claim, its point, and whether the sentence says that there is less or
// more.
var mark = marks(`<!--n ([^>]+?) :: ([^>]+?) :: ([^>]*?) ?:: (less|more)-->\d+<!--/n-->`)

// valueMark matches the mean of a metric of an arm in a sentence: the outcome, the arm,
// the metric, and the point.
var valueMark = marks(`<!--v ([^>]+?) :: ([^>]+?) :: ([^>]+?) :: ([^>]*?)-->[^<]*<!--/v-->`)

// intervalMark matches the effect of a claim with its interval in a sentence or a table:
// the outcome, the text of the claim, and its point.
var intervalMark = marks(`<!--i ([^>]+?) :: ([^>]+?) :: ([^>]*?)-->[^<]*<!--/i-->`)

// marks compiles a pattern of marks. Their parts are separated by " | ", or by " :: " in
// the rows of tables, where a bar would end the cell.
func marks(pattern string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(pattern, "::", `(?:\||::)`))
}

// linkedResults matches a link to the page of an outcome.
var linkedResults = regexp.MustCompile(`\]\([./a-z]*results/([^)./]+)\.md\)`)

// anyMark matches the beginning of a mark, also of one that is not understood.
var anyMark = regexp.MustCompile(`<!--n `)

// pages fills the parts and marks of pages.
func (d *documents) pages() {
	reference := d.sections("docs/schemes/reference.md")
	pages := append(append(d.glob("docs/schemes/*.md"), d.glob("gen/schemes/*/README.md")...), "docs/tofino-fabric.md", "docs/ai-fabrics.md")
	used := make(map[string]bool)
	for _, page := range pages {
		if filepath.Base(page) == "reference.md" {
			continue
		}
		text := part.ReplaceAllFunc(d.page(page), func(old []byte) []byte {
			m := part.FindSubmatch(old)
			kind, names := string(m[1]), strings.Fields(string(m[2]))
			var b strings.Builder
			fmt.Fprintf(&b, "<!-- %s: %s -->\n", kind, strings.Join(names, " "))
			for _, name := range names {
				used[kind+" "+name] = true
				switch kind {
				case "schemes":
					b.WriteString(d.schemes())
				case "reference":
					s, ok := reference[name]
					if !ok {
						d.problem("%s: reference.md has no section %s", page, name)
					}
					fmt.Fprintf(&b, "**%s**\n%s\n", name, s)
				default:
					b.WriteString(d.table(page, name))
				}
			}
			b.WriteString("<!-- end -->")
			return []byte(b.String())
		})
		for _, m := range linkedResults.FindAllSubmatch(text, -1) {
			used["results "+string(m[1])] = true
		}
		marks := mark.FindAllIndex(text, -1)
		if n := len(anyMark.FindAllIndex(text, -1)); n != len(marks) {
			d.problem("%s has %d marks of numbers, of which %d are of the form <!--n OUTCOME | CLAIM | POINT | less-->9<!--/n-->", page, n, len(marks))
		}
		text = mark.ReplaceAllFunc(text, func(old []byte) []byte { return d.number(page, old) })
		text = intervalMark.ReplaceAllFunc(text, func(old []byte) []byte { return d.withInterval(page, old) })
		d.files[page] = valueMark.ReplaceAllFunc(text, func(old []byte) []byte { return d.value(page, old) })
	}
	for _, name := range catalog.Names() {
		s, err := exp.Load(name)
		if err != nil {
			d.problem("%w", err)
		} else if s.Source == "" && !used["results "+name] { // others are on the page of figures
			d.problem("no page shows the results of experiment %s: link docs/results/%s.md from the page of its scheme, or write <!-- results: %s --> and <!-- end --> into it, and run `pauseless exp docs`", name, name, name)
		}
	}
	for _, folder := range d.glob("gen/schemes/*") {
		name := filepath.Base(folder)
		if _, err := os.Stat(filepath.Join(d.root, folder, "README.md")); err != nil {
			d.problem("the scheme %s has no page in its folder: %w", name, err)
		}
		if _, ok := reference[name]; ok && !used["reference "+name] {
			d.problem("no page shows the tables and registers of %s: write <!-- reference: %s --> and <!-- end --> into the scheme's README.md, and run `pauseless exp docs`", name, name)
		}
	}
}

// value fills a mark of a mean.
func (d *documents) value(page string, old []byte) []byte {
	m := valueMark.FindSubmatch(old)
	name, scale := string(m[1]), scenario.Small
	if s, ok := strings.CutSuffix(name, "-paper"); ok {
		name, scale = s, scenario.Paper
	}
	begin, _, _ := strings.Cut(string(old), "-->")
	if o := d.kept(name, scale); o != nil {
		for i := range o.Cells {
			c := &o.Cells[i]
			if x, ok := c.Mean[string(m[3])]; ok && c.Arm == string(m[2]) && o.PointText(c.Point) == string(m[4]) {
				return fmt.Appendf(nil, "%s-->%.1f<!--/v-->", begin, float64(x))
			}
		}
	}
	d.problem("%s: docs/results has no mean of %s with %s at %q in %s", page, m[3], m[2], m[4], m[1])
	return old
}

// number fills a mark: the effect of its claim in percent without its sign, which the
// sentence expresses by a word such as "shorter".
func (d *documents) number(page string, old []byte) []byte {
	m := mark.FindSubmatch(old)
	file, text, point, more := string(m[1]), string(m[2]), string(m[3]), string(m[4]) == "more"
	c := d.claim(page, file, text, point)
	if c == nil {
		return old
	}
	effect := float64(c.Effect)
	if effect > 0 != more {
		d.problem("%s: the effect of %q in %s is %+.1f %% now: write the sentence again", page, text, file, 100*effect)
	}
	begin, _, _ := strings.Cut(string(old), "-->")
	return fmt.Appendf(nil, "%s-->%.0f<!--/n-->", begin, 100*math.Abs(effect))
}

// withInterval fills an intervalMark: as in "+1.0 % (-3.5 % to +7.7 %)".
func (d *documents) withInterval(page string, old []byte) []byte {
	m := intervalMark.FindSubmatch(old)
	c := d.claim(page, string(m[1]), string(m[2]), string(m[3]))
	if c == nil {
		return old
	}
	begin, _, _ := strings.Cut(string(old), "-->")
	return fmt.Appendf(nil, "%s-->%s<!--/i-->", begin, effect(c))
}

// claim returns a claim of an outcome, whose file's name may end in -paper, or reports that
// there is none.
func (d *documents) claim(page, file, text, point string) *result.Judged {
	name, scale := file, scenario.Small
	if s, ok := strings.CutSuffix(file, "-paper"); ok {
		name, scale = s, scenario.Paper
	}
	c := claimOf(d.kept(name, scale), text, point)
	if c == nil {
		d.problem("%s: docs/results/%s.json has no claim %q at %q", page, file, text, point)
	}
	return c
}

// glob returns the paths in the checkout that match a pattern.
func (d *documents) glob(pattern string) (paths []string) {
	found, err := filepath.Glob(filepath.Join(d.root, pattern))
	if err != nil || len(found) == 0 {
		d.problem("nothing matches %s in %s", pattern, d.root)
	}
	for _, file := range found {
		path, err := filepath.Rel(d.root, file)
		if err != nil {
			d.problem("%w", err)
		}
		paths = append(paths, filepath.ToSlash(path))
	}
	return paths
}

var (
	pickedBy = regexp.MustCompile(`(?m)^pick: \{(\w+: \w+)\}`)
	titleOf  = regexp.MustCompile(`^# ([^:\n]+): ([^\n]+)`)
)

// schemes returns a table of the schemes that are built in, base load balancers
// first, from the heading of their pages, "# NAME: IDEA", and their profiles.
func (d *documents) schemes() string {
	var bases, others strings.Builder
	for _, folder := range d.glob("gen/schemes/*") {
		page := filepath.Join(folder, "README.md")
		title := titleOf.FindSubmatch(d.page(page))
		if title == nil {
			d.problem("the first line of %s is not of the form # NAME: IDEA", page)
			continue
		}
		front, err := infile.Read(filepath.Join(d.root, folder, "block.yaml"))
		if err != nil {
			d.problem("%w", err)
			continue
		}
		pick := pickedBy.FindSubmatch(front)
		if pick == nil {
			d.problem("%s/block.yaml has no line as in pick: {base: NAME}", folder)
			continue
		}
		var names []string
		for _, p := range d.glob(folder + "/profiles/*.yaml") {
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
func (d *documents) sections(page string) map[string]string {
	list := make(map[string]string)
	for _, s := range strings.Split(string(d.page(page)), "\n## ")[1:] {
		name, rest, _ := strings.Cut(s, "\n")
		list[name] = strings.TrimRight(rest, "\n") + "\n"
	}
	return list
}

// table returns the claims of an outcome at the small scale, and a link to the page with
// the means of all metrics.
func (d *documents) table(page, name string) string {
	o := d.kept(name, scenario.Small)
	if o == nil {
		return ""
	}
	folder, err := filepath.Rel(path.Dir(page), "docs/results")
	if err != nil {
		d.problem("%w", err)
	}
	return fmt.Sprintf("%s\nMeans of all metrics, and the links paused longest: [%s](%s/%s.md).\n", o.ClaimTable(), o.File(), filepath.ToSlash(folder), o.File())
}
