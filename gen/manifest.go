// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
)

// newManifest returns the part of the manifest that follows from the profile
// and the blocks' block.yaml.
func (g *generator) newManifest() *manifest.Manifest {
	m := &manifest.Manifest{
		Program: g.Name, Summary: g.Summary, Target: g.target,
		Base: g.Base, Features: g.features(), Options: g.options(),
		Units: g.Units, Sizes: g.Sizes, Network: g.Network,
	}
	if g.needs["recirculation"] {
		m.RecirculationPort = g.Recirculation
	}
	for _, b := range g.blocks {
		for _, p := range b.Parameters {
			if p.With == "" || g.needs[p.With] {
				if other, ok := b.on(g.target).Defaults[p.Name]; ok {
					p.Default, p.Doc = other.Default, cmp.Or(other.Doc, p.Doc)
				}
				m.Parameters = append(m.Parameters, g.parameter(b.Name+"."+p.Name, p))
			}
		}
		m.Notes = append(m.Notes, b.on(g.target).Notes...)
	}
	return m
}

func (g *generator) parameter(name string, p parameter) manifest.Parameter {
	v, given := g.given[name]
	if !given {
		v, _ = manifest.Derive(p.Default, p.Unit, g.Network) // checked when the block was read
	}
	return manifest.Parameter{Name: name, Value: v, Unit: p.Unit, Given: given, ByRate: g.byRate[name], Default: p.Default, Doc: p.Doc}
}

// finish adds the annotations of the text to the manifest, and replaces the
// placeholders of args and filled in the text.
func (g *generator) finish(text string) (string, error) {
	f, err := g.facts(text)
	if err != nil {
		return "", err
	}
	m := g.manifest
	g.block = f.block
	m.Tables, m.Registers, m.Counters, m.Digests, m.Constants = f.tables, f.registers, f.counters, f.digests, f.constants
	if err := tablesOfParameters(m); err != nil {
		return "", err
	}
	m.Notes = append(m.Notes, g.tooDeep(text)...)
	if g.target == "tna" {
		const most = 100 // bytes of a message, and of the packet that it is made from
		m.MirrorBytes = most
		between, err := g.words("before_bth")
		if err != nil {
			return "", err
		}
		for _, h := range between {
			m.MirrorBytes += headerBytes(text, h)
		}
	}
	var failed error
	text = argsOf.ReplaceAllStringFunc(text, func(place string) string {
		args, err := m.Args(argsOf.FindStringSubmatch(place)[1], g.Network, nil)
		if err != nil {
			failed = err
		}
		var list []string
		for _, a := range args {
			list = append(list, fmt.Sprint(a.Value))
		}
		return strings.Join(list, ", ")
	})
	text = sizeOf.ReplaceAllStringFunc(text, func(place string) string {
		name := sizeOf.FindStringSubmatch(place)[1]
		n, err := g.filledSize(name)
		if err != nil {
			failed = err
		}
		return fmt.Sprint(n)
	})
	return text, failed
}

// filledSize is the largest number of entries that the formulas of a table
// produce, for all paths and manifest.LinkRates link rates.
func (g *generator) filledSize(table string) (int, error) {
	t := g.manifest.Table(table)
	if t == nil || len(t.Fill) == 0 {
		return 0, fmt.Errorf("table %s has no @fill, by which its size is known", table)
	}
	entries, err := g.manifest.Filled(t, g.Sizes.Paths, manifest.LinkRates)
	return len(entries), err
}

// filled is a placeholder for the size of a table that formulas fill; finish
// replaces it.
func (g *generator) filled(table string) string { return "SIZE_OF<" + table + ">" }

var sizeOf = regexp.MustCompile(`SIZE_OF<(\w+)>`)

// tablesOfParameters records for each parameter the tables with an argument
// that depends on it. It can be changed there at run time.
func tablesOfParameters(m *manifest.Manifest) error {
	for _, t := range m.Tables {
		for _, a := range t.Args {
			used, err := a.Value.Parameters()
			if err != nil {
				return fmt.Errorf("table %s, argument %s: %w", t.Name, a.Name, err)
			}
			for i := range m.Parameters {
				p := &m.Parameters[i]
				if slices.Contains(used, p.Name) && !slices.Contains(p.Tables, t.Name) {
					p.Tables = append(p.Tables, t.Name)
				}
			}
		}
	}
	return nil
}

// args is a placeholder for the default arguments of a configuration table's
// action; finish replaces it.
func (g *generator) args(table string) string { return "ARGUMENTS_OF<" + table + ">" }

var argsOf = regexp.MustCompile(`ARGUMENTS_OF<(\w+)>`)

// entries returns the default entries of tables that hold parameters: the
// configuration of a switch without a controller.
func (g *generator) entries() ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Default entries of %s, one a line: TABLE default -> ACTION(ARGUMENTS).\n", g.Name)
	fmt.Fprintf(&b, "# Time is in %s, queue depths of the target are in %s, other sizes are in bytes.\n", g.Units.Time.Name(), g.Units.Depth.Name())
	for _, t := range g.manifest.Tables {
		if t.Kind != "settings" || t.Action == "" {
			continue
		}
		args, err := g.manifest.Args(t.Name, g.Network, nil)
		if err != nil {
			return nil, err
		}
		var text []string
		for _, a := range args {
			text = append(text, fmt.Sprintf("%s=%d", a.Name, a.Value))
		}
		fmt.Fprintf(&b, "\n# %s\n%s default -> %s(%s)\n", t.Doc, t.Name, t.Action, strings.Join(text, ", "))
	}
	return []byte(b.String()), nil
}
