// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/workload"
)

// frame are the keys of a file that a case does not have.
var frame = []string{"name", "summary", "source", "profiles", "arms", "vary", "seeds", "max_seeds", "max_seeds_open", "claims", "premise", "small"}

// notOfRuns are the keys of a file on which no run depends.
var notOfRuns = []string{"summary", "source", "seeds", "max_seeds", "max_seeds_open", "claims", "premise", "small"}

// notOfArms are the keys of a case that arms must share.
var notOfArms = []string{"traffic", "packets", "warmup", "measure", "judge", "seeds", "max_seeds", "max_seeds_open", "vary", "arms", "profiles", "claims", "premise", "small"}

// parse reads all files that the scenario refers to and makes its cases, so that
// all errors are reported before the first run.
func parse(name string, data []byte, dir, scale string) (*Scenario, error) {
	return parseWith(name, data, dir, scale, nil)
}

func parseWith(name string, data []byte, dir, scale string, open workload.Open) (*Scenario, error) {
	f, err := yamlfile.Parse(name, data, nil)
	if err != nil {
		return nil, err
	}
	r := &reader{dir: dir, open: open, addressed: make(map[*topo.Topology]*topo.Topology), built: make(map[string]*program.Program), tried: make(map[trial]bool), s: &Scenario{Scale: scale, File: name, Dir: dir, text: data, open: open}}
	switch scale {
	case Paper:
	case Small:
		if small := f.Raw("small"); small.Given() {
			f = f.Over(small, "why")
			if err := f.Err(); err != nil {
				return nil, err
			}
			if small.Text("why") == "" {
				f.Errorf("small", "small needs the key why: explain why the experiment still answers the question at this scale")
			}
		}
	default:
		return nil, fmt.Errorf("there is no scale %q; use %s or %s", scale, Small, Paper)
	}
	r.f = f
	s := r.s
	s.runs = withoutPapers(f.Without(notOfRuns...).Canonical())
	s.runs, s.earlier = armNames(s.runs)
	s.Keys = newKeys(preset(f))
	f.Into(s)
	// Values that could not be read would be reported again.
	if err := f.Err(); err != nil {
		return nil, err
	}
	if !f.Has("seeds") {
		s.Seeds = []uint64{1}
	}
	arms, points := r.arms(), r.points()
	if s.Traffic == nil && len(s.Packets) == 0 {
		f.Errorf("traffic", "no traffic and no packets")
	}
	r.seeds()
	if err := f.Err(); err != nil {
		return nil, err
	}
	r.cases(arms, points)
	if len(r.list) == 0 { // arms that could not be read would be missed
		r.claims(arms)
	}
	if r.note(f); len(r.list) > 0 {
		return nil, r.list.Err()
	}
	return s, r.sameTraffic()
}

// reader makes a scenario of a file.
type reader struct {
	f    *yamlfile.File
	s    *Scenario
	dir  string
	open workload.Open // nil for files of this machine
	list diag.List     // errors of cases, without duplicates
	// Of programs of one's own: networks with the addresses that their file gives, and
	// programs by what they are made of.
	addressed map[*topo.Topology]*topo.Topology
	built     map[string]*program.Program
	tried     map[trial]bool
}

// trial is what the flows of a case follow from. Those of cases that differ in the arm
// alone are generated once, to check them.
type trial struct {
	net           *topo.Topology
	traffic       string // canonical
	open          bool
	warmup, until vtime.Time
}

// preset returns the defaults that a file names for its hosts.
func preset(f *yamlfile.File) roce.Preset { return roce.Preset(f.Raw("hosts").Text("defaults")) }

// withoutPapers returns what runs follow from without the defaults of papers. Outcomes
// that were made when all files had these are of the same runs.
func withoutPapers(runs []byte) []byte {
	if !bytes.Contains(runs, []byte(`"defaults":"papers"`)) {
		return runs
	}
	var all map[string]any
	if err := json.Unmarshal(runs, &all); err != nil {
		return runs
	}
	strip := func(in map[string]any) {
		if hosts, ok := in["hosts"].(map[string]any); ok && hosts["defaults"] == string(roce.Papers) {
			if delete(hosts, "defaults"); len(hosts) == 0 {
				delete(in, "hosts")
			}
		}
	}
	strip(all)
	arms, _ := all["arms"].([]any)
	for _, a := range arms {
		if arm, ok := a.(map[string]any); ok {
			strip(arm)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return text
}

// armNames returns what runs follow from (see Scenario.Runs) with the names of arms that
// they have now, and with those that they had before.
func armNames(runs []byte) (now, earlier []byte) {
	named := func(key string) []byte {
		var all map[string]any
		if err := json.Unmarshal(runs, &all); err != nil {
			return runs
		}
		arms, _ := all["arms"].([]any)
		for _, a := range arms {
			if arm, ok := a.(map[string]any); ok && arm["was"] != nil {
				if key == "was" {
					arm["name"] = arm["was"]
				}
				delete(arm, "was")
			}
		}
		text, err := json.Marshal(all)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return text
	}
	if !bytes.Contains(runs, []byte(`"was":`)) {
		return runs, runs
	}
	return named("name"), named("was")
}

// arm is an overlay with a name.
type arm struct {
	name    string
	over    yamlfile.Raw
	profile yamlfile.Raw // of one that is only a profile
	target  string
}

func (r *reader) arms() (arms []arm) {
	f, s := r.f, r.s
	switch {
	case len(s.Arms) > 0 && f.Has("profiles"):
		f.Errorf("profiles", "both arms and profiles are given; add the profiles to arms, as in {profile: drill}")
	case f.Has("arms") && len(s.Arms) == 0:
		f.Errorf("arms", "arms lists no variant")
	case len(s.Arms) == 0 && s.Profile != "" && f.Has("program"):
		f.Errorf("program", "both profile and program are given; remove one, or make variants of them in arms")
	case len(s.Arms) == 0 && f.Has("program"):
		arms = append(arms, arm{}) // and those of profiles
	case len(s.Arms) == 0 && len(s.Profiles) == 0 && s.Profile == "":
		f.Errorf("profiles", "no profiles; `pauseless gen --list` shows the built-in ones, and program is for one of your own")
	case len(s.Arms) == 0 && len(s.Profiles) == 0:
		arms = append(arms, arm{profile: f.Raw("profile")})
	}
	for i := range s.Profiles {
		raw := f.Raw(fmt.Sprintf("profiles.%d", i))
		name, target, at := strings.Cut(raw.Text(""), "@")
		if at && !isTarget(target) {
			f.Errorf(fmt.Sprintf("profiles.%d", i), "profile %s has target %q; use %s or %s", name, target, program.V1Model, program.TNA)
			continue
		}
		arms = append(arms, arm{profile: raw.Value(name), target: target})
	}
	for i, over := range s.Arms {
		path := fmt.Sprintf("arms.%d", i)
		for _, key := range over.Keys() {
			if top, _, _ := strings.Cut(key, "."); slices.Contains(notOfArms, top) {
				f.Errorf(path, "a variant cannot have its own %s, since all variants get the same traffic; use vary for that", top)
			}
		}
		if was := over.Text("was"); was != "" {
			if s.was == nil {
				s.was = make(map[string]string)
			}
			s.was[was] = cmp.Or(over.Text("name"), over.Text("profile"))
		}
		arms = append(arms, arm{name: over.Text("name"), over: over})
	}
	return arms
}

// point is a point of the grid: an overlay for each axis.
type point struct {
	names []string
	lay   []func(*yamlfile.File) *yamlfile.File
}

// points returns the grid, the last axis running fastest.
func (r *reader) points() []point {
	grid := []point{{}}
	for i := range r.s.Vary {
		a := &r.s.Vary[i]
		path := fmt.Sprintf("vary.%d", i)
		keys := strings.Fields(a.Key)
		switch {
		case (len(a.Values) > 0) == (len(a.Points) > 0):
			r.f.Errorf(path, "an axis of vary has either a key and its values or points")
			continue
		case len(a.Values) > 0 && len(keys) == 0:
			r.f.Errorf(path, "key is missing: give the key that the values are for")
			continue
		case a.Axis == "" && len(keys) == 0:
			r.f.Errorf(path, "an axis of points needs a name: axis")
			continue
		}
		if a.Axis == "" {
			a.Axis = keys[0][strings.LastIndexByte(keys[0], '.')+1:]
		}
		key := r.f.Raw(path + ".key")
		axis := result.Axis{Name: a.Axis, Key: a.Key}
		var here []point
		add := func(name string, lay func(*yamlfile.File) *yamlfile.File) {
			if slices.ContainsFunc(axis.Values, func(v result.Value) bool { return v.Text == name }) {
				r.f.Errorf(path, "axis %s has %q twice", a.Axis, name)
			}
			axis.Values = append(axis.Values, valueOf(name, &axis))
			here = append(here, point{[]string{name}, []func(*yamlfile.File) *yamlfile.File{lay}})
		}
		for j, v := range a.Values {
			name := v.Text("")
			if name == "" {
				r.f.Errorf(fmt.Sprintf("%s.values.%d", path, j), "write one word or number; use points for longer values")
				continue
			}
			add(name, func(f *yamlfile.File) *yamlfile.File {
				for _, k := range keys {
					f = laid(f, f.Put(k, v, key))
				}
				return f
			})
		}
		for j, p := range a.Points {
			if p.Text("name") == "" {
				r.f.Errorf(fmt.Sprintf("%s.points.%d", path, j), "a point needs a name")
				continue
			}
			add(p.Text("name"), func(f *yamlfile.File) *yamlfile.File { return laid(f, f.Over(p, "name")) })
		}
		if slices.ContainsFunc(r.s.axes, func(b result.Axis) bool { return b.Name == axis.Name }) {
			r.f.Errorf(path, "two axes are called %q", axis.Name)
		}
		r.s.axes = append(r.s.axes, axis)
		var next []point
		for _, p := range grid {
			for _, h := range here {
				next = append(next, point{append(slices.Clone(p.names), h.names...), append(slices.Clone(p.lay), h.lay...)})
			}
		}
		if grid = next; len(grid) > maxPoints {
			r.f.Errorf(path, "the grid has %d points, more than %d", len(grid), maxPoints)
			return grid[:1]
		}
	}
	return grid
}

// maxPoints is the greatest size of a grid, as a check against typing errors.
const maxPoints = 10000

// laid adds the diagnostics of a file to those of the file with an overlay.
func laid(before, after *yamlfile.File) *yamlfile.File {
	after.Adopt(before)
	return after
}

// valueOf reads a value. If it is a number, valueOf converts it to base units and
// sets the unit of the axis.
func valueOf(text string, a *result.Axis) result.Value {
	v := result.Value{Text: text}
	number := func(x float64, unit string) result.Value {
		v.X, a.Unit = &x, unit
		return v
	}
	if x, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64); err == nil {
		return number(x, "")
	}
	if t, err := vtime.ParseTime(text); err == nil {
		return number(t.Microseconds(), "us")
	}
	if b, err := vtime.ParseRate(text); err == nil {
		return number(float64(b), "b/s")
	}
	if b, err := vtime.ParseSize(text); err == nil {
		return number(float64(b), "bytes")
	}
	return v
}

// maxSeeds is the greatest number of seeds that a file may list.
const maxSeeds = 100_000

func (r *reader) seeds() {
	s := r.s
	if len(s.Seeds) == 0 {
		r.f.Errorf("seeds", "no seeds")
	}
	if len(s.Seeds) > maxSeeds {
		r.f.Errorf("seeds", "%d seeds, more than %d", len(s.Seeds), maxSeeds)
		return
	}
	seen := make(map[uint64]bool)
	for i, seed := range s.Seeds {
		if twice := seen[seed]; !twice {
			seen[seed] = true
		} else {
			r.f.Errorf(fmt.Sprintf("seeds.%d", i), "seed %d is given twice; both runs would be the same", seed)
		}
	}
	if s.MaxSeeds != 0 && s.MaxSeeds < len(s.Seeds) {
		r.f.Errorf("max_seeds", "max_seeds is %d, and there are %d seeds already", s.MaxSeeds, len(s.Seeds))
	}
	if s.MaxSeedsOpen != 0 && s.MaxSeedsOpen < max(s.MaxSeeds, len(s.Seeds)) {
		r.f.Errorf("max_seeds_open", "max_seeds_open is %d, and there may be %d seeds without it", s.MaxSeedsOpen, max(s.MaxSeeds, len(s.Seeds)))
	}
}

// cases makes the cases of all arms and points.
func (r *reader) cases(arms []arm, grid []point) {
	networks := make(map[string]*topo.Topology)
	used := make(map[string]bool) // keys of set that some arm's program has
	for i, a := range arms {
		for _, p := range grid {
			f := r.f.Without(frame...)
			for _, lay := range p.lay {
				f = lay(f)
			}
			blame := fmt.Sprintf("profiles.%d", i)
			switch {
			case a.over.Given():
				f = laid(f, f.Without(replaced(a.over)...))
				f = laid(f, f.Over(a.over, "name", "was"))
				blame = fmt.Sprintf("arms.%d", i)
			case a.profile.Given():
				f = laid(f, f.Without("program"))
				f = laid(f, f.Put("profile", a.profile, a.profile))
				if a.target != "" {
					f = laid(f, f.Put("target", a.profile.Value(a.target), a.profile))
				}
			}
			c := r.one(f, networks)
			if c == nil {
				continue
			}
			if c.own != nil {
				c.Label = c.own.Name
			} else {
				c.Label = c.profile.Name
			}
			if a.target != "" || a.over.Given() && a.over.Has("target") {
				c.Label += "@" + c.target
			}
			for key := range c.Set {
				path := "set." + key
				if a.over.Given() && a.over.Has(path) {
					path = blame + "." + path
				}
				used[path] = used[path] || c.profile != nil && !slices.Contains(c.profile.Unused(), key)
			}
			c.Arm, c.Point, c.scenario = cmp.Or(a.name, c.Label), p.names, r.s.Name
			if slices.ContainsFunc(r.s.cases, func(o *Case) bool { return o.Arm == c.Arm && slices.Equal(o.Point, c.Point) }) {
				r.f.Errorf(blame, "two variants are called %q; give one of them another name", c.Arm)
			}
			r.s.cases = append(r.s.cases, c)
		}
	}
	if len(r.list) > 0 {
		return // arms that could not be read may have the parameters
	}
	for _, path := range slices.Sorted(maps.Keys(used)) {
		if !used[path] {
			_, key, _ := strings.Cut(path, "set.")
			r.f.Errorf(path, "%s has no effect: no program of these variants has a parameter of this name", key)
		}
	}
}

// one makes a case from a file with all overlays. After errors, which it notes, it
// returns nil.
func (r *reader) one(f *yamlfile.File, networks map[string]*topo.Topology) *Case {
	c := &Case{Keys: newKeys(preset(f)), canonical: f.Canonical()}
	f.Into(&c.Keys)
	if f.Err() == nil {
		workload.Resolve(c.Traffic, func(name string) string { return resolve(r.dir, name) })
		workload.OpenWith(c.Traffic, r.open)
		r.refers(workload.Files(c.Traffic)...)
		r.network(f, c, networks)
		if f.Has("program") {
			r.program(f, c)
		} else {
			r.profile(f, c)
		}
		c.check(f)
		r.packets(f, c)
	}
	if of := (trial{c.net, f.CanonicalAt("traffic"), c.Open(), c.Warmup, c.Until}); f.Err() == nil && !r.tried[of] {
		err := c.try(r.s.Seeds[0])
		r.tried[of] = err == nil
		if where := (*workload.Error)(nil); errors.As(err, &where) {
			f.Errorf(join("traffic", where.Path), "%v", where.Err)
		} else if err != nil {
			f.Errorf("measure", "%v", err)
		}
	}
	if f.Err() != nil {
		r.note(f)
		return nil
	}
	return c
}

// note adds the diagnostics of a file to those of the reader, each once.
func (r *reader) note(f *yamlfile.File) {
	var list diag.List
	errors.As(f.Err(), &list)
	for _, d := range list {
		r.add(d)
	}
}

// add adds a diagnostic once.
func (r *reader) add(d *diag.Diagnostic) {
	if !slices.ContainsFunc(r.list, func(o *diag.Diagnostic) bool { return o.Pos == d.Pos && o.Msg == d.Msg }) {
		r.list = append(r.list, d)
	}
}

func (r *reader) network(f *yamlfile.File, c *Case, networks map[string]*topo.Topology) {
	switch {
	case f.Has("network") && c.Topology != "":
		f.Errorf("topology", "both network and topology are given; remove one")
	case f.Has("network"):
		key := f.CanonicalAt("network")
		if networks[key] == nil {
			networks[key] = c.Network.Build(f, "network")
		}
		c.net = networks[key]
	case c.Topology != "":
		if networks[c.Topology] == nil {
			t, err := r.topology(resolve(r.dir, c.Topology))
			if err != nil {
				f.Errorf("topology", "%v", err)
				return
			}
			networks[c.Topology] = t
		}
		c.net = networks[c.Topology]
	default:
		f.Errorf("", "no network: give network or topology")
	}
}

func (r *reader) topology(name string) (*topo.Topology, error) {
	data, err := r.read(name)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".topo") {
		return workload.ParseTopo(name, data)
	}
	return topo.Parse(name, data)
}

// read reads a file that the scenario refers to.
func (r *reader) read(name string) ([]byte, error) {
	r.refers(name)
	if r.open == nil {
		return infile.Read(name)
	}
	f, err := r.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return infile.From(f, name, infile.Text)
}

// refers notes that the scenario refers to a file.
func (r *reader) refers(names ...string) {
	for _, name := range names {
		if !slices.Contains(r.s.files, name) {
			r.s.files = append(r.s.files, name)
		}
	}
}

func (r *reader) profile(f *yamlfile.File, c *Case) {
	c.target = cmp.Or(c.Target, program.V1Model)
	if !isTarget(c.target) {
		f.Errorf("target", "target is %q; use %s or %s", c.Target, program.V1Model, program.TNA)
	}
	name := c.Profile
	if name == "" {
		f.Errorf("profile", "a variant has no profile; `pauseless gen --list` shows the built-in ones")
		return
	}
	if !slices.Contains(gen.Names(), name) {
		name = resolve(r.dir, name)
	}
	p, err := program.LoadWith(name, r.read)
	if err != nil {
		f.Errorf("profile", "%v", err)
		return
	}
	for k, v := range c.Set {
		if p.Set == nil {
			p.Set = make(map[string]string)
		}
		p.Set[k] = v
	}
	if c.net != nil {
		program.Fit(p, c.net)
	}
	if err := p.Check(); err != nil {
		blame(f, c, p, err)
		return
	}
	if c.BMv2.PacketRate > 0 && c.net != nil && !c.slow(f, p) {
		return
	}
	if c.net != nil && p.Choice("pfc") != "emulated" && !c.checkBuffer(f) {
		return
	}
	if dynamic := p.Choice("thresholds") == "dynamic"; c.net != nil && !c.net.Switch.PFC.Off && dynamic && c.target == program.V1Model {
		switch alpha := c.net.Switch.PFC.Alpha; {
		case alpha == 0:
			f.Errorf("profile", "profile %s needs dynamic PFC thresholds, and those of the network are static: set switch.pfc.alpha or switch.mmu of the network, or remove thresholds from the profile", p.Name)
			return
		case manifest.CheckAlpha(alpha) != nil:
			f.Errorf("profile", "profile %s does not support the network's PFC thresholds: %v", p.Name, manifest.CheckAlpha(alpha))
			return
		}
	}
	if c.net != nil && c.net.Switch.PFC.HostsOnly && p.Choice("pfc") == "emulated" {
		f.Errorf("profile", "profile %s emulates PFC and pauses switches, too: use one with pfc: native, or remove switch.pfc.hosts_only", p.Name)
		return
	}
	if c.net != nil && !c.net.Switch.PFC.Off && c.net.Switch.PFC.Alpha == 0 {
		if err := p.CheckOn(c.net.Switch.PFC.XOFF); err != nil {
			blame(f, c, p, err)
			return
		}
	}
	c.profile = p
}

// slow makes the profile one for BMv2.
func (c *Case) slow(f *yamlfile.File, p *gen.Profile) bool {
	if c.target != program.V1Model {
		f.Errorf("bmv2", "BMv2 runs programs for v1model, not for %s: leave out the target or bmv2", c.target)
		return false
	}
	var err error
	if c.scale, err = program.Scale(c.net, c.BMv2.PacketRate); err != nil {
		f.Errorf("bmv2.packet_rate", "%v", err)
		return false
	}
	if err := program.Slow(p, c.net, true, c.scale); err != nil {
		f.Errorf("profile", "%v", err)
		return false
	}
	return true
}

// blame reports the errors of a profile: at the keys under set that they are about,
// the others at profile.
func blame(f *yamlfile.File, c *Case, p *gen.Profile, err error) {
	var list diag.List
	errors.As(err, &list)
	for _, d := range list {
		path, text, _ := strings.Cut(d.Msg, ": ")
		if key, ok := strings.CutPrefix(path, "set."); ok && c.Set[key] != "" {
			f.Errorf(path, "%s", text)
		} else {
			f.Errorf("profile", "profile %s: %s", p.Name, d.Msg)
		}
	}
}

func (c *Case) check(f *yamlfile.File) {
	if path, err := c.Hosts.Check(); err != nil {
		f.Errorf(join("hosts", path), "%v", err)
	}
	for i := range c.Faults {
		if c.net == nil {
			break // an error has been reported
		}
		if key, err := c.Faults[i].Check(c.net); err != nil {
			f.Errorf(join(fmt.Sprintf("faults.%d", i), key), "%v", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Paths)) {
		if most := c.Paths[name]; most < 1 {
			f.Errorf(join("paths", name), "%d paths, must be at least one", most)
		}
		if c.net == nil {
			continue // this error is reported elsewhere
		}
		if n := c.net.NodeByName(name); n == nil || n.Kind != topo.Host {
			var names []string
			for _, id := range c.net.Hosts() {
				names = append(names, c.net.Nodes[id].Name)
			}
			f.Errorf(join("paths", name), "no host is called %q%s", name, diag.OneOf(name, names))
		}
	}
	for _, i := range c.Judge {
		if i < 1 || i > len(c.Traffic) {
			f.Errorf("judge", "there is no part %d of traffic, which has %d", i, len(c.Traffic))
		}
	}
	switch {
	case c.Until <= 0:
		f.Errorf("until", "until is %v, must be above zero", c.Until)
	case c.Sample < 0 || c.Sample > 0 && c.Until/c.Sample > maxSamples:
		f.Errorf("sample", "sample is %v, must be from zero, for none, and have at most %d points until %v: make it at least %v", c.Sample, int64(maxSamples), c.Until, (c.Until+maxSamples-1)/maxSamples)
	case c.Watch.Every < 0 || c.Watch.Every > 0 && c.Until/c.Watch.Every > maxSamples:
		f.Errorf("watch.every", "every is %v, must be from zero, for the end only, and have at most %d points until %v: make it at least %v", c.Watch.Every, int64(maxSamples), c.Until, (c.Until+maxSamples-1)/maxSamples)
	case c.Warmup < 0 || c.Warmup >= c.Until:
		f.Errorf("warmup", "warmup is %v, must be from zero to until, %v", c.Warmup, c.Until)
	case c.Warmup > 0 && !c.Open():
		f.Errorf("warmup", "warmup needs measure, the length of the window in time or in flows")
	case c.Measure.Time > 0 && c.Warmup+c.Measure.Time > c.Until:
		f.Errorf("measure", "warmup and measure end at %v, after until, %v", c.Warmup+c.Measure.Time, c.Until)
	}
}

// maxSamples is the greatest number of points of a time line until the latest end of a
// run, and maxLinePoints that of the points of all time lines that a run has made.
const (
	maxSamples    = 10_000_000
	maxLinePoints = 1 << 26
)

// claims checks the claims and fills in what they leave out.
func (r *reader) claims(given []arm) {
	f, s := r.f, r.s
	var arms []string
	for _, a := range given {
		if a.name != "" && len(r.list) > 0 {
			arms = append(arms, a.name) // there may be no case of it
		}
	}
	for _, c := range s.cases {
		if !slices.Contains(arms, c.Arm) {
			arms = append(arms, c.Arm)
		}
	}
	if len(s.cases) > 0 {
		r.premise("premise", s.Premise, s.cases[0].net)
	}
	for i := range s.Claims {
		c := &s.Claims[i]
		path := fmt.Sprintf("claims.%d", i)
		key, metric := c.Relation()
		if key == "" {
			f.Errorf(path, "a claim has one of the keys less, more and same, as in {less: p99_fct_us, with: A, than: B}")
			continue
		}
		var net *topo.Topology // links are the same at every point, or else missing
		if len(s.cases) > 0 {
			net = s.cases[0].net
		}
		if err := result.CheckMetric(metric, len(s.Traffic), net); err != nil {
			f.Errorf(join(path, key), "%v", err)
		} else if err := s.packetMetric(metric); err != nil {
			f.Errorf(join(path, key), "%v", err)
		} else if result.NeedsCauses(metric) && slices.ContainsFunc(s.cases, func(c *Case) bool { return !c.Explain }) {
			f.Errorf(join(path, key), "%s is only measured with the key explain: true", metric)
		}
		c.With, c.Than = cmp.Or(s.was[c.With], c.With), cmp.Or(s.was[c.Than], c.Than)
		for _, side := range []struct{ key, arm string }{{"with", c.With}, {"than", c.Than}} {
			if _, isNumber := c.Number(); side.key == "than" && isNumber {
				continue
			}
			if !slices.Contains(arms, side.arm) {
				f.Errorf(join(path, side.key), "no variant in arms or profiles is called %q%s", side.arm, diag.OneOf(side.arm, arms))
			}
		}
		if _, isNumber := c.Number(); c.Premise.IsZero() && !isNumber {
			c.Premise = s.Premise
		} else {
			r.premise(join(path, "premise"), c.Premise, net)
		}
		r.at(join(path, "at"), c.At)
		r.at(join(path, "than_at"), c.ThanAt)
		for k := range c.Because {
			if err := c.Because[k].Check(); err != nil {
				f.Errorf(fmt.Sprintf("%s.because.%d", path, k), "%v", err)
			}
		}
		if c.Over != "" && c.Over != "each" && c.Over != "mean" && c.Over != "best" {
			f.Errorf(join(path, "over"), "over is %q; use each, mean or best", c.Over)
		}
	}
}

// premise checks the premise of a claim, or of those that have none.
func (r *reader) premise(path string, p result.Premise, net *topo.Topology) {
	if p.IsZero() {
		return
	}
	key, metric := p.Relation()
	if key == "" {
		r.f.Errorf(path, "a premise has one of the keys less and more, as in {more: stalled_ratio, than: 0.01}")
		return
	}
	if err := result.CheckMetric(metric, len(r.s.Traffic), net); err != nil {
		r.f.Errorf(join(path, key), "%v", err)
	}
	if p.Of != "" && p.Of != "with" {
		r.f.Errorf(join(path, "of"), "of is %q; use with, or leave it out for the variant of than", p.Of)
	}
}

// at checks the points of a claim. The small scale may leave out points of the
// paper's scale.
func (r *reader) at(path string, at map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(at)) {
		var names []string
		for _, a := range r.s.axes {
			names = append(names, a.Name)
			if a.Name != name {
				continue
			}
			var values []string
			for _, v := range a.Values {
				values = append(values, v.Text)
			}
			if !slices.Contains(values, at[name]) && r.s.Scale == Paper {
				r.f.Errorf(join(path, name), "axis %s has no value %q; it has %s", name, at[name], strings.Join(values, ", "))
			}
		}
		if !slices.Contains(names, name) {
			r.f.Errorf(join(path, name), "no axis is called %q%s", name, diag.OneOf(name, names))
		}
	}
}

// sameTraffic checks that arms at the same point get the same flows.
func (r *reader) sameTraffic() error {
	first := make(map[string]*Case)
	for _, c := range r.s.cases {
		at := strings.Join(c.Point, "\x00")
		o := first[at]
		if o == nil {
			first[at] = c
			continue
		}
		if o.net == c.net {
			continue
		}
		a, err := o.someFlows(r.s.Seeds[0])
		if err != nil {
			return err
		}
		b, err := c.someFlows(r.s.Seeds[0])
		if err != nil {
			return err
		}
		if !slices.EqualFunc(a, b, sameFlow) {
			return fmt.Errorf("%s: variants %s and %s get different flows, because their networks differ; all variants must get the same traffic: use vary for keys that change it", r.f.Name, o.Arm, c.Arm)
		}
	}
	return nil
}

// sameFlow compares flows, whose plans are made anew each time.
func sameFlow(a, b fabric.Flow) bool {
	if (a.Plan == nil) != (b.Plan == nil) || a.Plan != nil && len(a.Plan.Steps) != len(b.Plan.Steps) {
		return false
	}
	a.Plan, b.Plan = nil, nil
	return a == b
}

func resolve(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

func join(path, rest string) string {
	if rest == "" {
		return path
	}
	return path + "." + rest
}

// checkBuffer reports errors in the network's buffer and flow control with the frames
// of the hosts. Headers that the program adds are counted when it is built.
func (c *Case) checkBuffer(f *yamlfile.File) bool {
	at := func(key string) (string, string) {
		if c.Topology != "" {
			return "topology", c.Topology + ": "
		}
		return "network.switch." + key, ""
	}
	if _, err := c.Hosts.Check(); err != nil {
		return false // check reports it
	}
	net := *c.net
	var err error
	if net.Frames, err = new(program.Program).Frames(&net, &c.Hosts); err != nil {
		f.Errorf("hosts", "%v", err)
		return false
	}
	if err := net.CheckBuffer(); err != nil {
		key, file := at("buffer")
		f.Errorf(key, "%s%v", file, err)
		return false
	}
	if err := net.CheckPause(); err != nil {
		key, file := at("pfc")
		f.Errorf(key, "%s%v", file, err)
		return false
	}
	return true
}
