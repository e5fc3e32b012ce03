// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/yamlfile"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
)

// Spec is a program that nobody generated, as a scenario names it.
type Spec struct {
	Part
	// Units are those of the program's times and queue depths. Without them, and without
	// @units in the program, they are us and packets, as on BMv2.
	Units manifest.Units `yaml:"units"`
	// Switches have programs or entries of their own: by their name, or by the role leaf,
	// spine or core. Keys that are left out are those of all switches. What the topology's
	// file says about a switch is between: p4lang's and p4-utils' files name programs and
	// entries.
	Switches map[string]Part `yaml:"switches"`
}

// Part is what a switch runs.
type Part struct {
	P4      string   `yaml:"p4"`      // the program's file
	Include []string `yaml:"include"` // folders of files that it includes
	Define  []string `yaml:"define"`  // macros: NAME, or NAME=TEXT
	// Entries are the names of files, one or a list, in any format of
	// schema.ParseUpdates. {switch} in a name is the name of the switch.
	Entries yamlfile.Raw `yaml:"entries"`

	files []givenFile // of entries, if Entries does not name them
	p4    givenFile   // if the topology's file names the program
}

// givenFile is a file that the topology's file names under a key.
type givenFile struct {
	at        diag.Pos // in the topology's file
	key, name string
}

// read reads a file that the topology's file names, relative to its folder or to the one
// above: tutorials are started there. It returns the name under which it has found it.
func (g *givenFile) read(files Files) (string, []byte, error) {
	dir := filepath.Dir(g.at.File())
	tried := slices.Compact([]string{filepath.Join(dir, g.name), filepath.Join(filepath.Dir(dir), g.name)})
	if filepath.IsAbs(g.name) {
		tried = []string{g.name}
	}
	for _, name := range tried {
		data, err := files.Read(name)
		if err == nil {
			return name, data, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, fmt.Errorf("%v: %s: %w", g.at, g.key, err)
		}
	}
	return "", nil, fmt.Errorf("%v: %s: there is no file %s", g.at, g.key, strings.Join(tried, ", and no "))
}

// source is the P4 text of a program that a topology's file names: build/firewall.json is
// compiled from firewall.p4, as the tutorials do it.
func (g givenFile) source() givenFile {
	if filepath.Ext(g.name) == ".json" {
		g.name = strings.TrimSuffix(g.name, ".json") + ".p4"
		if dir, base := filepath.Split(g.name); filepath.Clean(dir) == "build" {
			g.name = base
		}
	}
	return g
}

// Flags makes a Spec from the words of a command line: --p4 and --entries are FILE, or
// SWITCH=FILE for one switch or role, and may be repeated.
func Flags(p4, entries, include, define []string) (*Spec, error) {
	s := &Spec{Switches: make(map[string]Part)}
	s.Include, s.Define = include, define
	for _, text := range p4 {
		name, file, one := strings.Cut(text, "=")
		part := s.Switches[name]
		switch {
		case one && (name == "" || file == ""), text == "":
			return nil, fmt.Errorf("--p4 %s: write FILE, or SWITCH=FILE", text)
		case one && part.P4 != "", !one && s.P4 != "":
			return nil, fmt.Errorf("--p4 %s: a switch has one program, and it is given already", text)
		case one:
			part.P4, part.Include, part.Define = file, include, define
			s.Switches[name] = part
		default:
			s.P4 = text
		}
	}
	for _, text := range entries {
		name, file, one := strings.Cut(text, "=")
		switch {
		case one && (name == "" || file == ""), text == "":
			return nil, fmt.Errorf("--entries %s: write FILE, or SWITCH=FILE", text)
		case one:
			part := s.Switches[name]
			part.files = append(part.files, givenFile{name: file})
			s.Switches[name] = part
		default:
			s.files = append(s.files, givenFile{name: text})
		}
	}
	return s, nil
}

// Roles are the names of tiers from 1 on.
var Roles = []string{"leaf", "spine", "core"}

// Given reports whether there is a program, in the Spec or in the file of a topology, which
// may be nil.
func (s *Spec) Given(t *topo.Topology) bool {
	if s.P4 != "" || len(s.Switches) > 0 {
		return true
	}
	return t != nil && slices.ContainsFunc(t.Nodes, func(n topo.Node) bool { return n.Given.Program != "" || n.Given.Source != "" })
}

// own is what a Program has that nobody generated.
type own struct {
	units    softswitch.Units
	warnings diag.List
	programs map[int]*Program // of switches with another program, by node
	entities map[int][]*p4v1.Entity
}

// Of returns the program of a switch by its node.
func (p *Program) Of(node int) *Program {
	if p.own != nil && p.own.programs[node] != nil {
		return p.own.programs[node]
	}
	return p
}

// Own reports whether nobody generated the program.
func (p *Program) Own() bool { return p.own != nil }

// Warnings returns what the compiler says about programs of one's own, such as that a table
// is never applied.
func (p *Program) Warnings() diag.List {
	if p.own == nil {
		return nil
	}
	return p.own.warnings
}

// OnBMv2 returns what BMv2 does otherwise than the programs of a network say.
func (p *Program) OnBMv2(t *topo.Topology) ([]string, error) {
	var list []string
	for _, id := range t.Switches() {
		json, err := bmv2json.Decode(p.Name, p.Of(id).JSON)
		if err != nil {
			return nil, err
		}
		for _, text := range json.UnalignedPrefixes() {
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list, nil
}

// Units returns the units of a switch's times and queue depths.
func (p *Program) Units() softswitch.Units {
	if p.own != nil {
		return p.own.units
	}
	return softswitch.Units{Time: string(p.Manifest.Units.Time), Depth: string(p.Manifest.Units.Depth)}
}

// Entities returns a function that makes the entities of the switches of a network, by
// their node.
func (p *Program) Entities(t *topo.Topology, o intent.Options) (func(node int) ([]*p4v1.Entity, error), error) {
	plan, err := intent.New(t, p.Manifest, p.P4Info, o)
	if err != nil {
		return nil, err
	}
	if p.own == nil {
		return plan.Switch, nil
	}
	return func(node int) ([]*p4v1.Entity, error) {
		plan := plan
		if q := p.Of(node); q != p {
			var err error // several goroutines may be here
			if plan, err = intent.New(t, q.Manifest, q.P4Info, o); err != nil {
				return nil, err
			}
		}
		list, err := plan.Own(node)
		return append(list, p.own.entities[node]...), err
	}, nil
}

// Files opens the files of a program.
type Files struct {
	Resolve func(name string) string // makes a name relative to that of the scenario
	Read    func(name string) ([]byte, error)
}

// compiledFile is a program by what it is made of.
type compiledFile struct {
	prog     *Program
	text     []byte // of all files
	warnings diag.List
}

// Build compiles the programs of a network's switches, and reads their entries. An error
// is a diag.List with positions in these files, or about a name in the Spec.
func (s *Spec) Build(t *topo.Topology, files Files) (*Program, error) {
	done := make(map[string]*compiledFile)
	hash := sha256.New()
	var list diag.List
	add := func(err error) {
		var l diag.List
		if errors.As(err, &l) {
			for _, d := range l {
				if !slices.ContainsFunc(list, func(o *diag.Diagnostic) bool { return o.Pos == d.Pos && o.Msg == d.Msg }) {
					list = append(list, d)
				}
			}
		}
	}
	var first *Program
	o := &own{programs: make(map[int]*Program), entities: make(map[int][]*p4v1.Entity)}
	for _, role := range slices.Sorted(maps.Keys(s.Switches)) {
		if n := t.NodeByName(role); (n == nil || n.Kind != topo.Switch) && !slices.Contains(Roles, role) {
			return nil, fmt.Errorf("switches: no switch and no role is called %q%s; roles are %s", role, diag.DidYouMean(role, names(t)), strings.Join(Roles, ", "))
		}
	}
	for _, id := range t.Switches() {
		n := &t.Nodes[id]
		part := s.of(n)
		if part.P4 == "" && part.p4.name == "" {
			return nil, fmt.Errorf("switch %s has no program: give p4 for all switches, or for its role or name under switches", n.Name)
		}
		c, err := part.compile(s.Units, files, done)
		if err != nil {
			var l diag.List
			if !errors.As(err, &l) {
				return nil, err
			}
			add(err)
			continue
		}
		for _, d := range c.warnings {
			if !slices.Contains(o.warnings, d) {
				o.warnings = append(o.warnings, d)
			}
		}
		fmt.Fprintf(hash, "%s %x\n", n.Name, sha256.Sum256(c.text))
		if first == nil {
			first = &Program{}
			*first = *c.prog
			first.own = o
			o.units = c.prog.Units()
		} else if c.prog.JSON != nil && !slices.Equal(c.prog.JSON, first.JSON) {
			o.programs[id] = c.prog
			first.Growth = first.Growth.with(c.prog.Growth)
		}
		entities, err := part.entries(n, c.prog, files, hash)
		var l diag.List
		if err != nil && !errors.As(err, &l) {
			return nil, fmt.Errorf("switch %s: %w", n.Name, err)
		}
		add(err)
		o.entities[id] = entities
	}
	if list.HasErrors() { // a warning may be the cause: a table that is not applied has no entries
		list = append(list, o.warnings...)
		return nil, list.Err()
	}
	m := *first.Manifest
	m.Own = hex.EncodeToString(hash.Sum(nil))
	first.Manifest = &m
	return first, nil
}

func names(t *topo.Topology) []string {
	list := slices.Clone(Roles)
	for _, id := range t.Switches() {
		list = append(list, t.Nodes[id].Name)
	}
	return list
}

// of returns what a switch runs: by its name, or else its role, over what the topology's
// file says about it, over that of all.
func (s *Spec) of(n *topo.Node) Part {
	part, given := s.Part, &n.Given
	file := func(key, name string) givenFile { return givenFile{given.At, key, name} }
	switch {
	case given.Program != "":
		part.P4, part.p4 = "", file("switches."+n.Name+".program", given.Program).source()
	case part.P4 == "" && given.Source != "":
		part.p4 = givenFile{diag.FilePos(given.File), "p4_src", given.Source}
	}
	if !part.Entries.Given() && len(part.files) == 0 {
		for _, g := range []givenFile{file("switches."+n.Name+".cli_input", given.CLI), file("switches."+n.Name+".runtime_json", given.Runtime)} {
			if g.name != "" {
				part.files = append(part.files, g)
			}
		}
	}
	for _, key := range []string{Roles[min(max(int(n.Tier), 1), len(Roles))-1], n.Name} {
		over, ok := s.Switches[key]
		if !ok {
			continue
		}
		if over.P4 != "" {
			part.P4, part.Include, part.Define = over.P4, over.Include, over.Define
		}
		if over.Entries.Given() || len(over.files) > 0 {
			part.Entries, part.files = over.Entries, over.files
		}
	}
	return part
}

// compile compiles a program once.
func (p *Part) compile(units manifest.Units, files Files, done map[string]*compiledFile) (*compiledFile, error) {
	key := strings.Join(append(append([]string{p.P4, p.p4.name}, p.Include...), p.Define...), "\x00")
	if c := done[key]; c != nil {
		return c, nil
	}
	var name string
	var text []byte
	var err error
	if p.P4 != "" {
		name = files.Resolve(p.P4)
		text, err = files.Read(name)
	} else {
		name, text, err = p.p4.read(files)
	}
	if err != nil {
		return nil, err
	}
	c := &compiledFile{text: slices.Clone(text)}
	o := compiler.Options{File: name, Source: text, Defines: p.Define, Open: func(name string) (string, error) {
		data, err := files.Read(name)
		c.text = append(c.text, data...)
		return string(data), err
	}}
	for _, dir := range p.Include {
		o.Include = append(o.Include, files.Resolve(dir))
	}
	for _, d := range p.Define {
		c.text = append(c.text, d...)
	}
	out, list := compiler.Compile(o)
	if err := list.Err(); err != nil {
		return nil, err
	}
	c.warnings = list
	if arch := out.Program.Architecture; arch != "" {
		return nil, fmt.Errorf("%s is a program for %s: a scenario takes programs for v1model", name, arch)
	}
	m, err := ownManifest(name, units, out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.prog = &Program{Name: m.Program, P4: c.text, Manifest: m, JSON: bmv2json.Encode(out.Program), P4Info: out.P4Info, Growth: growth(out.Program)}
	c.prog.cookie = controlplane.Pipeline{P4Info: out.P4Info, Config: withoutFolder(c.prog.JSON, name)}.ID()
	done[key] = c
	return c, nil
}

// withoutFolder returns a program's JSON without the folder of its file. A controller that
// names the file by another path finds its pipeline, and does not push it again, which
// would empty the tables.
func withoutFolder(json []byte, file string) []byte {
	folder, _ := filepath.Split(file)
	if folder == "" {
		return json
	}
	return bytes.ReplaceAll(json, []byte(folder), nil)
}

// ownManifest describes a compiled program: its registers, and the entries that its
// annotations ask for.
func ownManifest(file string, units manifest.Units, out *compiler.Result) (*manifest.Manifest, error) {
	m := &manifest.Manifest{
		Program: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), Target: V1Model,
		Units: manifest.Units{Time: manifest.Microseconds, Depth: manifest.Packets},
		Sizes: manifest.Sizes{Ports: 510, Paths: 64, Leaves: 1 << 16, Hosts: 1 << 20},
	}
	said, err := p4rtserver.Units(out.P4Info)
	if err != nil {
		return nil, err
	}
	m.Units.Time = cmp.Or(units.Time, manifest.TimeUnit(said.Time), m.Units.Time)
	m.Units.Depth = cmp.Or(units.Depth, manifest.DepthUnit(said.Depth), m.Units.Depth)
	if err := m.Units.Check(); err != nil {
		return nil, err
	}
	if m.Tables, err = intent.Annotated(out.P4Info); err != nil {
		return nil, err
	}
	s, err := schema.New(out.P4Info)
	if err != nil {
		return nil, err
	}
	for _, r := range s.Registers {
		if r.Bits < 1 || r.Bits > 64 || len(r.Members) > 0 {
			continue
		}
		dims := []manifest.Dim{{Name: "index", Size: r.Size}}
		m.Registers = append(m.Registers, manifest.Register{Name: r.Name, Unit: cmp.Or(r.Unit, "number"), Index: dims, Bits: r.Bits})
	}
	return m, nil
}

// entries reads the entries of a switch.
func (p *Part) entries(n *topo.Node, prog *Program, files Files, hash io.Writer) (out []*p4v1.Entity, err error) {
	names := slices.Clone(p.files)
	for _, raw := range p.Entries.Items() {
		names = append(names, givenFile{name: raw.Text("")})
	}
	if text := p.Entries.Text(""); text != "" {
		names = append(names, givenFile{name: text})
	}
	if len(names) == 0 {
		return nil, nil
	}
	s, err := schema.New(prog.P4Info)
	if err != nil {
		return nil, err
	}
	set := schema.NewSet(s)
	var all diag.List
	for _, g := range names {
		name, data, err := "", []byte(nil), error(nil)
		if g.at.IsValid() {
			name, data, err = g.read(files)
		} else {
			name = files.Resolve(strings.ReplaceAll(g.name, "{switch}", n.Name))
			data, err = files.Read(name)
		}
		if err != nil {
			return nil, fmt.Errorf("its entries: %w", err)
		}
		hash.Write(data)
		err = set.Read(name, data)
		var l diag.List
		if errors.As(err, &l) {
			all = append(all, l...)
		} else if err != nil {
			return nil, err
		}
	}
	return set.Entities(), all.Err()
}

// with returns the most of both.
func (g Growth) with(o Growth) Growth {
	return Growth{max(g.Stored, o.Stored), max(g.Sent, o.Sent), g.Copies || o.Copies}
}
