// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"embed"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

//go:embed blocks/*/block.yaml blocks/*/*.p4.tmpl
//go:embed schemes/*/block.yaml schemes/*/*.p4.tmpl schemes/*/profiles/*.yaml
//go:embed schemes/*/*/block.yaml schemes/*/*/*.p4.tmpl
var builtin embed.FS

// block is a folder: the content of its block.yaml, and its templates.
type block struct {
	// Name defaults to the name of the folder.
	Name string `yaml:"name"`
	// Summary is a phrase without a full stop.
	Summary string `yaml:"summary"`
	// Pick is the key and value of a profile that pick the block; one without is
	// included if needed.
	Pick map[string]string `yaml:"pick"`
	// Otherwise is the value of that key for no block, "off" by default.
	Otherwise string `yaml:"otherwise"`
	// Default is true if the value is the default of the key.
	Default bool `yaml:"default"`
	// Place orders blocks in the text, and controls in a stage: shared blocks from 0,
	// base load balancers from 200, schemes applied after them from 300.
	Place int `yaml:"place"`
	// Hidden is true if the block is not listed among a program's features.
	Hidden bool `yaml:"hidden"`
	// Needs are the blocks, and options of blocks, that this block requires.
	Needs []need `yaml:"needs"`
	// Options are options that others need as block.option, with their meanings.
	Options map[string]string `yaml:"options"`
	// Hooks are sections of other blocks that the block's text inserts.
	Hooks map[string]string `yaml:"hooks"`
	// Refuses are the blocks that this one cannot be combined with.
	Refuses []refusal `yaml:"refuses"`
	// Parameters are numbers that a profile sets with set: {block.name: value}.
	Parameters []parameter `yaml:"parameters"`
	// TooLarge are blocks with which the program does not fit a Tofino, with the
	// compiler's message.
	TooLarge []refusal `yaml:"too_large"`
	// Depth is the only supported unit of queue depth; empty means any.
	Depth struct {
		Unit    string `yaml:"unit"`
		Because string `yaml:"because"`
	} `yaml:"depth"`

	// V1Model is what the block needs and does on v1model.
	V1Model onTarget `yaml:"v1model"`
	// TNA is the same on TNA.
	TNA onTarget `yaml:"tna"`

	dir   string
	files map[string]string // templates by name of the file
	pos   func(path string) diag.Pos
}

// onTarget configures a block on one target.
type onTarget struct {
	// Needs are further needs.
	Needs []need `yaml:"needs"`
	// Place replaces the block's own.
	Place int `yaml:"place"`
	// Plumbing is true if the block is not listed as a feature on the target.
	Plumbing bool `yaml:"plumbing"`
	// Unsupported is the reason if the target cannot run the block.
	Unsupported string `yaml:"unsupported"`
	// Refuses are the blocks that this one cannot be combined with.
	Refuses []refusal `yaml:"refuses"`
	// Limits are the largest sizes that the block supports.
	Limits []limit `yaml:"limits"`
	// Defaults are defaults of parameters that differ on the target.
	Defaults map[string]otherDefault `yaml:"defaults"`
	// Ingress applies controls in stages: "choose Nearest". On TNA, a control of
	// stage choose is applied to a packet with several paths, once; with "always"
	// after it, to any packet on each pass.
	Ingress []step `yaml:"ingress"`
	// Egress does the same in egress.
	Egress []step `yaml:"egress"`
	// Notes are differences from the block's paper, or from the other target.
	Notes []string `yaml:"notes"`
}

// parameter is a number with a unit: bytes, ns, bps, fraction or count.
type parameter struct {
	// Name is the name without the block's.
	Name string `yaml:"name"`
	// Unit is one of bytes, ns, bps, fraction and count.
	Unit string `yaml:"unit"`
	// Default is the formula of the default, in that unit.
	Default manifest.Expr `yaml:"default"`
	// Least is the least value in a profile; zero means no bound.
	Least float64 `yaml:"least"`
	// Most is the largest one; zero means no bound.
	Most float64 `yaml:"most"`
	// UpTo is a parameter that this one must not exceed.
	UpTo string `yaml:"up_to"`
	// With is the block with which programs use it; empty means always.
	With string `yaml:"with"`
	// Doc is what the number decides.
	Doc string `yaml:"doc"`
}

// otherDefault is the default of a parameter on one target.
type otherDefault struct {
	// Default is its formula.
	Default manifest.Expr `yaml:"default"`
	// Doc is what the number decides there; empty if it is the same.
	Doc string `yaml:"doc"`
}

// limit is the largest value of one of a profile's sizes.
type limit struct {
	// Size is ports, paths, leaves or flows.
	Size string `yaml:"size"`
	// Most is its largest value.
	Most int `yaml:"most"`
	// Because is the error for larger ones.
	Because string `yaml:"because"`
}

// refusal is the reason why a block cannot be combined with another, or without
// it.
type refusal struct {
	// If is a need that must not be present.
	If string `yaml:"if"`
	// Unless is one that must be.
	Unless string `yaml:"unless"`
	// At is the key of the profile at which the error is reported.
	At string `yaml:"at"`
	// Because is the error: the reason, and what to write instead.
	Because string `yaml:"because"`
}

// condition is a need that must be present, or absent: "if X", "unless X".
type condition struct {
	name   string
	unless bool
}

// need is the name of a block or, with a dot, of an option: "flowlet",
// "base.leaf", "report_late if report.late".
type need struct {
	name string
	condition
}

// step applies a control in a stage: "choose Nearest", "depart Depth unless
// depth.first", "choose Draw always".
type step struct {
	stage   string
	control string
	// always is true for a control of stage choose on TNA that is applied to all
	// packets and on each pass, where other blocks make that necessary to tell.
	always bool
	condition
}

// UnmarshalText reads a need.
func (n *need) UnmarshalText(text []byte) error {
	words, err := n.cut(strings.Fields(string(text)))
	if err != nil || len(words) != 1 {
		return fmt.Errorf("%q: write a need as in hash, base.leaf or \"x if y\"", text)
	}
	n.name = words[0]
	return nil
}

// UnmarshalText reads a step.
func (s *step) UnmarshalText(text []byte) error {
	words, err := s.cut(strings.Fields(string(text)))
	if s.always = len(words) == 3 && words[2] == "always"; s.always {
		words = words[:2]
	}
	if err != nil || len(words) != 2 {
		return fmt.Errorf("%q: write a stage and a control, as in \"choose Nearest\" or \"depart Red if x\"", text)
	}
	s.stage, s.control = words[0], words[1]
	return nil
}

func (c *condition) cut(words []string) ([]string, error) {
	i := slices.IndexFunc(words, func(w string) bool { return w == "if" || w == "unless" })
	switch {
	case i < 0:
		return words, nil
	case len(words) != i+2:
		return nil, fmt.Errorf("write one name after %s", words[i])
	}
	c.unless, c.name = words[i] == "unless", words[i+1]
	return words[:i], nil
}

func (b *block) on(target string) *onTarget {
	if target == "tna" {
		return &b.TNA
	}
	return &b.V1Model
}

func (b *block) place(target string) int {
	switch t := b.on(target); {
	case t.Place != 0:
		return t.Place
	case b.Place != 0 || b.Name == root:
		return b.Place
	case b.Pick["base"] != "":
		return 200
	}
	return 300
}

// root is the block that every program has.
const root = "base"

// catalogue has all blocks, and the profiles in their folders.
type catalogue struct {
	blocks   map[string]*block
	profiles map[string]profileFile
	hooks    map[string]bool
}

type profileFile struct {
	name string
	text []byte
}

var known struct {
	sync.Mutex
	c   *catalogue
	err error
}

// loaded returns the catalogue: the built-in blocks, and those of AddSchemes.
func loaded() *catalogue {
	known.Lock()
	defer known.Unlock()
	if known.c == nil {
		c := &catalogue{blocks: make(map[string]*block), profiles: make(map[string]profileFile), hooks: make(map[string]bool)}
		if _, err := c.load(builtin, ""); err != nil { // a test calls check
			panic("gen, a built-in scheme or block has an error:\n" + err.Error())
		}
		known.c = c
	}
	return known.c
}

// AddSchemes adds the schemes below a directory to the built-in ones: each
// folder with a block.yaml is a scheme. An error is a diag.List, or names what
// the directory lacks.
func AddSchemes(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("schemes: there is no directory %s", dir)
	}
	c := loaded().clone()
	if err := c.add(os.DirFS(dir), dir); err != nil {
		return err
	}
	known.Lock()
	defer known.Unlock()
	known.c = c
	return nil
}

func (c *catalogue) clone() *catalogue {
	return &catalogue{blocks: maps.Clone(c.blocks), profiles: maps.Clone(c.profiles), hooks: maps.Clone(c.hooks)}
}

// add loads the blocks of a file system and checks them.
func (c *catalogue) add(fsys fs.FS, dir string) error {
	added, err := c.load(fsys, dir)
	if err != nil {
		return err
	}
	var list diag.List
	for _, b := range added {
		c.check(b, &list)
	}
	return list.Err()
}

// load adds the blocks of a file system and returns them; messages name it dir.
func (c *catalogue) load(fsys fs.FS, dir string) (added []*block, err error) {
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch file := filepath.Join(dir, name); {
		case path.Base(name) == "block.yaml":
			b, err := readBlock(fsys, name, file)
			if err != nil {
				return err
			}
			if old := c.blocks[b.Name]; old != nil {
				return fmt.Errorf("%s: a block is called %s already, in %s; give this one another name", file, b.Name, old.dir)
			}
			c.blocks[b.Name] = b
			added = append(added, b)
		case path.Base(path.Dir(name)) == "profiles" && path.Ext(name) == ".yaml":
			text, err := fs.ReadFile(fsys, name)
			if err != nil {
				return err
			}
			profile := strings.TrimSuffix(path.Base(name), ".yaml")
			if old, ok := c.profiles[profile]; ok {
				return fmt.Errorf("%s: a profile is called %s already, in %s", file, profile, old.name)
			}
			c.profiles[profile] = profileFile{file, text}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(added) == 0 {
		return nil, fmt.Errorf("%s: no folder in it has a block.yaml; `pauseless gen new NAME -o %s` writes one to start from", dir, dir)
	}
	for _, b := range added {
		for h := range b.Hooks {
			c.hooks[h] = true
		}
	}
	return added, nil
}

func readBlock(fsys fs.FS, name, file string) (*block, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	b := &block{dir: filepath.Dir(file), files: make(map[string]string)}
	f, err := yamlfile.Parse(file, text, b)
	if err != nil {
		return nil, err
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	b.pos = f.Pos
	if b.Name == "" {
		b.Name = filepath.Base(b.dir)
	}
	entries, err := fs.ReadDir(fsys, path.Dir(name))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".p4.tmpl") {
			text, err := fs.ReadFile(fsys, path.Join(path.Dir(name), e.Name()))
			if err != nil {
				return nil, err
			}
			b.files[e.Name()] = string(text)
		}
	}
	return b, nil
}

// defined matches the sections that a template defines.
var defined = regexp.MustCompile(`(?m)^\{\{-? *define "(\w+)"`)

// check reports needs that no block satisfies and sections that no block uses.
func (c *catalogue) check(b *block, list *diag.List) {
	needed := func(path, name string) {
		if err := c.exists(name); err != nil {
			list.Errorf(b.pos(path), yamlfile.CodeInvalid, "%s: %v", path, err)
		}
	}
	if !identifier.MatchString(b.Name) {
		list.Errorf(b.pos("name"), yamlfile.CodeInvalid, "name is %q: use lower-case letters, digits and _", b.Name)
	}
	if len(b.Pick) > 1 {
		list.Errorf(b.pos("pick"), yamlfile.CodeInvalid, "pick: write one key of a profile, and its value")
	}
	all := append(slices.Clone(b.Needs), append(slices.Clone(b.V1Model.Needs), b.TNA.Needs...)...)
	for _, n := range all {
		needed("needs", n.name)
		if n.condition.name != "" {
			needed("needs", n.condition.name)
		}
	}
	for i, p := range b.Parameters {
		at := fmt.Sprintf("parameters.%d", i)
		if p.With != "" {
			needed(at+".with", p.With)
		}
		if !identifier.MatchString(p.Name) || token.IsKeyword(p.Name) {
			list.Errorf(b.pos(at+".name"), yamlfile.CodeInvalid, "a parameter cannot be called %q: use lower-case letters, digits and _, and not a word of formulas", p.Name)
		}
		if !slices.Contains(units, p.Unit) {
			list.Errorf(b.pos(at+".unit"), yamlfile.CodeInvalid, "unit of %s is %q: use one of %s", p.Name, p.Unit, strings.Join(units, ", "))
		}
		if full := b.Name + "." + p.Name; !c.anyText(full) {
			list.Errorf(b.pos(at), yamlfile.CodeInvalid, "no template and no formula uses the parameter %s: a table takes it by @value(\"%s\")", full, full)
		}
		if _, err := manifest.Derive(p.Default, p.Unit, newNetwork()); err != nil {
			list.Errorf(b.pos(at+".default"), yamlfile.CodeInvalid, "default of %s: %v", p.Name, err)
		}
	}
	for _, target := range Targets {
		t := b.on(target)
		for _, name := range slices.Sorted(maps.Keys(t.Defaults)) {
			at := target + ".defaults." + name
			p, ok := c.define(b.Name + "." + name)
			if !ok {
				var names []string
				for _, p := range b.Parameters {
					names = append(names, p.Name)
				}
				list.Errorf(b.pos(at), yamlfile.CodeInvalid, "the block has no parameter %q%s", name, diag.DidYouMean(name, names))
			} else if _, err := manifest.Derive(t.Defaults[name].Default, p.Unit, newNetwork()); err != nil {
				list.Errorf(b.pos(at), yamlfile.CodeInvalid, "default of %s: %v", name, err)
			}
		}
		c.checkSteps(b, target+".ingress", t.Ingress, ingressStages[target], list)
		c.checkSteps(b, target+".egress", t.Egress, egressStages[target], list)
	}
	var text strings.Builder
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		text.WriteString(b.files[file])
	}
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		for _, m := range defined.FindAllStringSubmatch(b.files[file], -1) {
			if !c.hooks[m[1]] && strings.Count(text.String(), `"`+m[1]+`"`) == strings.Count(text.String(), `define "`+m[1]+`"`) && !c.anyText(fmt.Sprintf("from %q %q", b.Name, m[1])) {
				list.Errorf(diag.FilePos(filepath.Join(b.dir, file)), yamlfile.CodeInvalid, "no block has a hook for section %q%s", m[1], diag.DidYouMean(m[1], slices.Sorted(maps.Keys(c.hooks))))
			}
		}
	}
}

// anyText reports whether a template, or the default of a parameter, has a text.
func (c *catalogue) anyText(part string) bool {
	for _, b := range c.blocks {
		for _, text := range b.files {
			if strings.Contains(text, part) {
				return true
			}
		}
		for _, p := range b.Parameters {
			if strings.Contains(string(p.Default), part) {
				return true
			}
		}
	}
	return false
}

// units are the units of parameters.
var units = []string{"bytes", "ns", "bps", "fraction", "count"}

var identifier = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (c *catalogue) checkSteps(b *block, path string, steps []step, stages []string, list *diag.List) {
	for i, s := range steps {
		at := fmt.Sprintf("%s.%d", path, i)
		if !slices.Contains(stages, s.stage) && !strings.HasPrefix(s.stage, "copy:") {
			list.Errorf(b.pos(at), yamlfile.CodeInvalid, "%s: no stage is called %q%s; there are %s", path, s.stage, diag.DidYouMean(s.stage, stages), strings.Join(stages, ", "))
		}
		if !c.anyText("control " + s.control + "(") {
			list.Errorf(b.pos(at), yamlfile.CodeInvalid, "%s: no template has a control %s", path, s.control)
		}
		if s.condition.name != "" {
			if err := c.exists(s.condition.name); err != nil {
				list.Errorf(b.pos(at), yamlfile.CodeInvalid, "%s: %v", path, err)
			}
		}
	}
}

// exists returns an error if there is no block or option of that name.
func (c *catalogue) exists(name string) error {
	blk, option, dotted := strings.Cut(name, ".")
	b := c.blocks[blk]
	if b == nil {
		return fmt.Errorf("no block is called %q%s", blk, diag.DidYouMean(blk, slices.Sorted(maps.Keys(c.blocks))))
	}
	if _, ok := b.Options[option]; dotted && !ok {
		options := slices.Sorted(maps.Keys(b.Options))
		return fmt.Errorf("block %s has no option %q%s; it has %s", blk, option, diag.DidYouMean(option, options), strings.Join(options, ", "))
	}
	return nil
}

// define returns a parameter by its full name.
func (c *catalogue) define(name string) (parameter, bool) {
	blk, short, _ := strings.Cut(name, ".")
	if b := c.blocks[blk]; b != nil {
		for _, p := range b.Parameters {
			if p.Name == short {
				return p, true
			}
		}
	}
	return parameter{}, false
}

// parameterNames returns the full names of all parameters.
func (c *catalogue) parameterNames() []string {
	var names []string
	for _, b := range c.blocks {
		for _, p := range b.Parameters {
			names = append(names, b.Name+"."+p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// choice is a key of profiles that picks blocks.
type choice struct {
	otherwise string            // value that picks no block; that of Default, or "off"
	values    map[string]*block // by value
}

// choices returns the keys of profiles that pick blocks.
func (c *catalogue) choices() map[string]*choice {
	list := make(map[string]*choice)
	for _, name := range slices.Sorted(maps.Keys(c.blocks)) {
		b := c.blocks[name]
		for key, value := range b.Pick {
			if list[key] == nil {
				list[key] = &choice{"off", make(map[string]*block)}
			}
			list[key].values[value] = b
			switch {
			case b.Default:
				list[key].otherwise = value
			case b.Otherwise != "":
				list[key].otherwise = b.Otherwise
			}
		}
	}
	return list
}
