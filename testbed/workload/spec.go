// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Spec is one part of a workload: class, and exactly one of the others.
type Spec struct {
	Class *int `yaml:"class" limits:"0..7"` // priority of the flows; 3 unless given
	// BySize sets the class of flows by their size: the first entry whose size is
	// larger decides. Only class 3 is lossless.
	BySize []SizeClass `yaml:"by_size"`

	Poisson *Poisson `yaml:"poisson"`
	Incast  *Incast  `yaml:"incast"`
	Burst   *Burst   `yaml:"burst"`
	Long    *Long    `yaml:"long"`
	Coflow  *Coflow  `yaml:"coflow"`
	Trace   *Trace   `yaml:"trace"`

	Collective *Collective `yaml:"collective"`
	Job        *Job        `yaml:"job"`
}

// SizeClass is the priority of flows below a size.
type SizeClass struct {
	Below vtime.Size `yaml:"below"`               // size that the flows are smaller than
	Class int        `yaml:"class" limits:"0..7"` // their priority
}

// Open opens a file that a part names. A nil Open opens those of this machine.
type Open func(name string) (io.ReadCloser, error)

func (o Open) lines(name string) (io.ReadCloser, error) {
	if o == nil {
		return infile.OpenLines(name)
	}
	return o(name)
}

// all reads a short file.
func (o Open) all(name string) ([]byte, error) {
	if o == nil {
		return infile.Read(name)
	}
	f, err := o(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return infile.From(f, name, infile.Text)
}

// OpenWith makes parts open the files that they name with a function.
func OpenWith(parts []Spec, open Open) {
	for i := range parts {
		switch s := &parts[i]; {
		case s.Poisson != nil:
			s.Poisson.open = open
		case s.Incast != nil:
			s.Incast.open = open
		case s.Coflow != nil:
			s.Coflow.open = open
		case s.Trace != nil:
			s.Trace.open = open
		case s.Job != nil:
			s.Job.open = open
		}
	}
}

// generator generates the flows of a part.
type generator interface {
	// check returns an error and the key of the wrong value, or "". An open part
	// may leave out its end.
	check(t *topo.Topology, open bool) (key string, err error)
	// ends reports whether an open part has a last flow.
	ends() bool
	flows(g *gen)
}

// gen has the random numbers of a generator, and its flows.
type gen struct {
	t    *topo.Topology
	rng  *rand.Rand
	out  []fabric.Flow
	base fabric.Flow // class and group of all flows
	next uint32      // number of the next coflow
	// until is the end of parts that have none. Zero means that all must have one.
	until vtime.Time
}

func (g *gen) add(src, dst int, size int64, start vtime.Time) {
	f := g.base
	f.Src, f.Dst, f.Size, f.Start = src, dst, size, start
	g.out = append(g.out, f)
}

// exponential returns an exponentially distributed time.
func (g *gen) exponential(mean float64) vtime.Time {
	return vtime.Time(min(g.rng.ExpFloat64()*mean, math.MaxInt64/4))
}

// An Error is about a value of a part.
type Error struct {
	Path string // path of the value for yamlfile.File.Errorf, below the list of parts
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("workload %s: %v", e.Path, e.Err) }

// Unwrap returns the error without the path.
func (e *Error) Unwrap() error { return e.Err }

func (s *Spec) generator() (key string, g generator, err error) {
	set := func(k string, given bool, v generator) {
		switch {
		case !given:
		case g != nil:
			err = fmt.Errorf("a part has one of %s and %s, not both", key, k)
		default:
			key, g = k, v
		}
	}
	set("poisson", s.Poisson != nil, s.Poisson)
	set("incast", s.Incast != nil, s.Incast)
	set("burst", s.Burst != nil, s.Burst)
	set("long", s.Long != nil, s.Long)
	set("coflow", s.Coflow != nil, s.Coflow)
	set("trace", s.Trace != nil, s.Trace)
	set("collective", s.Collective != nil, s.Collective)
	set("job", s.Job != nil, s.Job)
	if g == nil {
		err = fmt.Errorf("a part needs one of poisson, incast, burst, long, coflow, trace, collective, job")
	}
	return key, g, err
}

// Ends reports whether every part has a last flow, however long a run lasts. The
// parts must have passed the checks of GenerateUntil.
func Ends(parts []Spec) bool {
	return !slices.ContainsFunc(parts, func(s Spec) bool {
		_, g, err := s.generator()
		return err == nil && !g.ends()
	})
}

// Generate generates the flows of all parts, in order of their start. A flow's
// Group is the number of its part, from 1. An error is an *Error.
func Generate(parts []Spec, t *topo.Topology, seed uint64) ([]fabric.Flow, error) {
	return GenerateUntil(parts, t, seed, 0)
}

// GenerateUntil generates the flows that start before a time. Parts may leave out
// their end: poisson its duration and flows; incast and burst, if they have an
// interval, their times. A later time adds flows and does not change the others.
// Zero means Generate: all flows of parts that end.
func GenerateUntil(parts []Spec, t *topo.Topology, seed uint64, until vtime.Time) ([]fabric.Flow, error) {
	var all []fabric.Flow
	coflow := uint32(1)
	for i := range parts {
		s := &parts[i]
		path := fmt.Sprint(i)
		key, part, err := s.generator()
		if err != nil {
			return nil, &Error{path, err}
		}
		g := &gen{t: t, rng: rand.New(rand.NewPCG(seed, uint64(i))), next: coflow, until: until}
		g.base = fabric.Flow{Class: 3, Group: i + 1}
		if s.Class != nil {
			g.base.Class = uint8(*s.Class)
		}
		if k, err := part.check(t, until > 0); err != nil {
			path += "." + key
			if k != "" {
				path += "." + k
			}
			return nil, &Error{path, err}
		}
		if i := slices.IndexFunc(s.BySize, func(c SizeClass) bool { return c.Below <= 0 || c.Class < 0 || c.Class > 7 }); i >= 0 {
			return nil, &Error{fmt.Sprintf("%s.by_size.%d", path, i), fmt.Errorf("below must be above zero, and class from 0 to 7")}
		}
		part.flows(g)
		for k := range g.out {
			f := &g.out[k]
			if c := slices.IndexFunc(s.BySize, func(c SizeClass) bool { return f.Size < int64(c.Below) }); c >= 0 {
				f.Class = uint8(s.BySize[c].Class)
			}
		}
		if len(all)+len(g.out) > maxFlows {
			return nil, &Error{path + "." + key, fmt.Errorf("the workload has more than %d flows", maxFlows)}
		}
		all = append(all, g.out...)
		coflow = g.next
	}
	if until > 0 {
		all = slices.DeleteFunc(all, func(f fabric.Flow) bool { return f.Start >= until })
	}
	slices.SortStableFunc(all, func(a, b fabric.Flow) int { return cmp.Compare(a.Start, b.Start) })
	return all, nil
}

// maxFlows is the greatest number of flows, as a check against typing errors.
const maxFlows = 1 << 24

// Hosts selects hosts: "all", or names, ranges and leaves separated by
// spaces: "h1 h3..h8 leaf:l2". Empty means all.
type Hosts string

// pick returns the IDs of the selected hosts in the order they are named, each
// once.
func (h Hosts) pick(t *topo.Topology) ([]int, error) {
	if h == "" || h == "all" {
		return t.Hosts(), nil
	}
	var ids []int
	picked := make([]bool, len(t.Nodes))
	add := func(id int) {
		if n := &t.Nodes[id]; n.Kind == topo.Host && n.Stub == topo.NoStub && !picked[id] {
			picked[id] = true
			ids = append(ids, id)
		}
	}
	for _, w := range strings.Fields(string(h)) {
		if leaf, ok := strings.CutPrefix(w, "leaf:"); ok {
			n := t.NodeByName(leaf)
			if n == nil || n.Leaf < 0 || n.Kind != topo.Switch {
				var leaves []string
				for i := range t.Nodes {
					if t.Nodes[i].Kind == topo.Switch && t.Nodes[i].Leaf >= 0 {
						leaves = append(leaves, t.Nodes[i].Name)
					}
				}
				return nil, fmt.Errorf("no leaf is called %q%s", leaf, diag.OneOf(leaf, leaves))
			}
			for _, p := range n.Ports {
				add(p.Peer)
			}
			continue
		}
		from, to, isRange := strings.Cut(w, "..")
		if !isRange {
			to = from
		}
		a, err := host(t, from)
		if err != nil {
			return nil, err
		}
		z, err := host(t, to)
		if err != nil {
			return nil, err
		}
		if z < a {
			return nil, fmt.Errorf("%s..%s ends before it begins: write the lower host first", from, to)
		}
		for id := a; id <= z; id++ {
			add(id)
		}
	}
	return ids, nil
}

func host(t *topo.Topology, name string) (int, error) {
	n := t.NodeByName(name)
	if n == nil || n.Kind != topo.Host || n.Stub != topo.NoStub {
		var names []string
		for _, id := range t.Hosts() {
			names = append(names, t.Nodes[id].Name)
		}
		return 0, fmt.Errorf("no host is called %q%s", name, diag.OneOf(name, names))
	}
	return n.ID, nil
}

// pickFor is pick for a value of the given key, which must select at least
// one host.
func (h Hosts) pickFor(t *topo.Topology, key string) ([]int, string, error) {
	ids, err := h.pick(t)
	if err == nil && len(ids) == 0 {
		err = fmt.Errorf("%s selects no hosts", key)
	}
	if err != nil {
		return nil, key, err
	}
	return ids, "", nil
}

// rate returns the rate of a host's link.
func rate(t *topo.Topology, host int) vtime.Rate { return t.Links[t.Nodes[host].Ports[0].Link].Rate }

// Files returns the names of the files that the parts read.
func Files(parts []Spec) (names []string) {
	eachFile(parts, func(name *string) {
		i := slices.IndexFunc(parts, func(s Spec) bool { return s.Job != nil && &s.Job.File == name })
		if i < 0 {
			names = append(names, *name)
		} else {
			names = append(names, parts[i].Job.files()...)
		}
	})
	return names
}

// Resolve replaces the names of the files that the parts read.
func Resolve(parts []Spec, resolve func(string) string) {
	eachFile(parts, func(name *string) { *name = resolve(*name) })
}

func eachFile(parts []Spec, do func(name *string)) {
	own := Names()
	for i := range parts {
		var name *string
		switch s := &parts[i]; {
		case s.Poisson != nil:
			name = &s.Poisson.Sizes
		case s.Incast != nil:
			name = &s.Incast.Sizes
		case s.Coflow != nil:
			name = &s.Coflow.Sizes
		case s.Trace != nil:
			name = &s.Trace.File
		case s.Job != nil:
			name = &s.Job.File
		}
		if name != nil && *name != "" && !slices.Contains(own, *name) {
			do(name)
		}
	}
}
