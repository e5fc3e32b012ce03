// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
)

// Program is a generated program.
type Program struct {
	Name     string
	P4       []byte // P4_16 text
	Manifest *manifest.Manifest
	Entries  []byte // default entries, one a line, as `pauseless ctl` reads them

	block map[string]string // block that declares a table, register or digest
}

// Targets are the targets that programs can be generated for.
var Targets = []string{"v1model", "tna"}

// Generate generates the program of a profile for a target.
func Generate(p *Profile, target string) (*Program, error) {
	if !slices.Contains(Targets, target) {
		return nil, fmt.Errorf("target %q%s: use one of %s", target, diag.DidYouMean(target, Targets), strings.Join(Targets, ", "))
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := Supports(p, target); err != nil {
		return nil, err
	}
	g := &generator{Profile: p, closure: p.closure(target), derived: derive(p), indexes: make(map[string]bool)}
	g.manifest = g.newManifest()
	if err := g.parse(); err != nil {
		return nil, err
	}
	text, err := g.from(root, "program")
	if err == nil {
		text = strings.Replace(text, indexesHere, g.indexFunctions(), 1)
		text, err = g.finish(string(tidy([]byte(pruneParams(text)))))
	}
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	entries, err := g.entries()
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	return &Program{Name: p.Name, P4: []byte(text), Manifest: g.manifest, Entries: entries, block: g.block}, nil
}

// Supports returns an error if a target cannot run the program of a profile.
func Supports(p *Profile, target string) error {
	all := p.closure(target)
	var err error
	if target == "tna" {
		err = p.fitsTofino(all)
	}
	if err == nil {
		err = all.supported()
	}
	if err == nil {
		err = p.withinLimits(all)
	}
	if err != nil {
		return fmt.Errorf("profile %s on %s: %w", p.Name, target, err)
	}
	return nil
}

// fitsTofino returns an error if the sizes or units of a profile do not fit a
// Tofino 1, independent of the blocks.
func (p *Profile) fitsTofino(all *closure) error {
	const ports, perPipeline = 256, 64
	switch {
	case p.Units.Time != manifest.Nanoseconds || p.Units.Depth != manifest.Cells80:
		return fmt.Errorf("a Tofino counts nanoseconds and cells of %d bytes; set target: {time: ns, depth: cells80}", manifest.CellBytes)
	case p.Sizes.Priorities != 8:
		return fmt.Errorf("a Tofino port has 8 classes; set sizes.priorities: 8")
	case p.Sizes.Ports > ports:
		return fmt.Errorf("a Tofino has no more than %d ports; sizes.ports is %d", ports, p.Sizes.Ports)
	case p.Sizes.Ports > perPipeline && (all.needs["feedback"] || all.needs["fabric"]):
		return fmt.Errorf("ports that share state must be on one pipeline, which has no more than %d; sizes.ports is %d", perPipeline, p.Sizes.Ports)
	}
	return nil
}

// withinLimits returns an error if a size exceeds the limit of a block.
func (p *Profile) withinLimits(all *closure) error {
	sizes := map[string]int{"ports": p.Sizes.Ports, "paths": p.Sizes.Paths, "leaves": p.Sizes.Leaves, "flows": p.Sizes.Flows}
	for _, b := range all.blocks {
		for _, l := range b.on(all.target).Limits {
			if sizes[l.Size] > l.Most {
				return fmt.Errorf("%s; sizes.%s is %d", l.Because, l.Size, sizes[l.Size])
			}
		}
	}
	return nil
}

// File is one of the files of a program.
type File struct {
	Name string
	Data []byte
}

// Files returns the files that `pauseless gen` writes.
func (p *Program) Files() []File {
	return []File{
		{p.Name + ".p4", p.P4},
		{p.Name + ".entries", p.Entries},
		{p.Name + ".manifest.json", p.Manifest.Encode()},
	}
}
