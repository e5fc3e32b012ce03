// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

// Spec is a network as a file describes it. Exactly one of the shapes is
// given.
type Spec struct {
	Name       string            `yaml:"name"` // of the network
	LeafSpine  *LeafSpine        `yaml:"leaf_spine"`
	Clos       *Clos             `yaml:"clos"`
	FatTree    *FatTree          `yaml:"fat_tree"`
	Dumbbell   *Dumbbell         `yaml:"dumbbell"`
	ParkingLot *ParkingLot       `yaml:"parking_lot"`
	Rail       *Rail             `yaml:"rail"`
	Graph      *Graph            `yaml:"graph"`
	Change     []Change          `yaml:"change"`
	Switch     SwitchConfig      `yaml:"switch"`
	Addresses  map[string]string `yaml:"addresses"` // switch name → host:port
}

// Change changes some links between switches of the shape.
type Change struct {
	// Link is "l1-s2", all links between two switches. If it is left out, the
	// change applies to all links between switches, or to Share of them, drawn
	// with Seed.
	Link  string  `yaml:"link"`
	Share float64 `yaml:"share" limits:"0..1"` // from 0 to 1; zero means all
	Seed  uint64  `yaml:"seed"`                // of the draw
	// BySeed makes another random choice for each seed of a scenario's runs, so results do not
	// depend on one choice.
	BySeed bool `yaml:"by_seed"`

	Rate   vtime.Rate `yaml:"rate"`               // zero: not changed
	Delay  vtime.Time `yaml:"delay"`              // zero: not changed
	Loss   float64    `yaml:"loss" limits:"0..1"` // zero: not changed
	Remove bool       `yaml:"remove"`             // the link does not exist
}

// DefaultXOFF is PFC.XOFF of a file without it.
const DefaultXOFF = 256 * vtime.KB

// NewSpec returns a description without a shape, with the default buffer and flow
// control: 9 MB shared, and PAUSE at 256 KB per ingress port.
func NewSpec() *Spec {
	return &Spec{Switch: SwitchConfig{Buffer: 9 * vtime.MB, PFC: PFC{XOFF: DefaultXOFF}}}
}

// Read reads a topology file: one of ours, or a JSON file for Mininet from
// p4lang's tutorials (topology.json) or p4-utils (p4app.json). An error is a
// diag.List, or reports that the file is missing.
func Read(name string) (*Topology, error) {
	data, err := infile.Read(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, data)
}

// Parse is Read for a text in memory.
func Parse(name string, data []byte) (*Topology, error) {
	if filepath.Ext(name) == ".py" {
		return nil, fmt.Errorf("%s is a Python program: name a topology in YAML (docs/reference/topology.md), or a topology.json or p4app.json", name)
	}
	if filepath.Ext(name) == ".json" {
		data = bytes.ReplaceAll(data, []byte{'\t'}, []byte{' '}) // YAML has no tabs between things
	}
	f, err := yamlfile.Parse(name, data, nil)
	if err != nil {
		return nil, err
	}
	if path, ok := isMininet(f); ok {
		return readMininet(f, path)
	}
	if f.Has("network") && (f.Has("traffic") || f.Has("profile") || f.Has("profiles")) {
		f.Errorf("network", "this is a scenario, and a topology file is expected: write what is below network into a file of its own")
		return nil, f.Err()
	}
	s := NewSpec()
	f.Into(s)
	return s.only(f)
}

// only builds the network of a file that has nothing else.
func (s *Spec) only(f *yamlfile.File) (*Topology, error) {
	t := s.Build(f, "")
	if err := f.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// reporter adds diagnostics about the description at path in a file.
type reporter struct {
	f      *yamlfile.File
	path   string
	failed bool
}

func (r *reporter) errorf(path, format string, args ...any) {
	r.failed = true
	switch {
	case r.path == "":
	case path == "":
		path = r.path
	default:
		path = r.path + "." + path
	}
	r.f.Errorf(path, format, args...)
}

// shape returns the shape of the description and its key. It reports an error
// unless there is exactly one.
func (s *Spec) shape(r *reporter) (key string, sh shape) {
	var keys []string
	found := func(k string, given bool, v shape) {
		keys = append(keys, k)
		if !given {
			return
		}
		if sh != nil {
			r.errorf(k, "%s: the network is described already, as %s", k, key)
		}
		key, sh = k, v
	}
	found("leaf_spine", s.LeafSpine != nil, s.LeafSpine)
	found("clos", s.Clos != nil, s.Clos)
	found("fat_tree", s.FatTree != nil, s.FatTree)
	found("dumbbell", s.Dumbbell != nil, s.Dumbbell)
	found("parking_lot", s.ParkingLot != nil, s.ParkingLot)
	found("rail", s.Rail != nil, s.Rail)
	found("graph", s.Graph != nil, s.Graph)
	if sh == nil {
		r.errorf("", "no network: give one of %s", strings.Join(keys, ", "))
	}
	return key, sh
}

// Build returns the network, or nil after adding diagnostics to f. The description
// is at path in f; "" means the whole file.
func (s *Spec) Build(f *yamlfile.File, path string) *Topology {
	r := &reporter{f: f, path: path}
	key, sh := s.shape(r)
	if sh != nil {
		sh.check(key, r)
	}
	s.Switch.check(r)
	if r.failed {
		return nil
	}
	var b Builder
	sh.build(&b)
	for i := range s.Change {
		if msg := b.change(&s.Change[i]); msg != "" {
			r.errorf(fmt.Sprintf("change.%d", i), "%s", msg)
		}
	}
	if r.failed {
		return nil
	}
	t, err := b.Build(s.Name, s.Switch)
	if err != nil {
		r.errorf(key, "%v", err)
		return nil
	}
	for name, addr := range s.Addresses {
		n := t.NodeByName(name)
		if n == nil || n.Kind != Switch {
			r.errorf("addresses."+name, "no switch is called %q%s", name, diag.OneOf(name, t.names(Switch)))
			continue
		}
		if err := checkAddress(addr); err != nil {
			r.errorf("addresses."+name, "switch %s: %v", name, err)
			continue
		}
		n.Address = addr
	}
	if r.failed {
		return nil
	}
	return t
}

// checkAddress returns an error if nothing can listen at an address.
func checkAddress(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || host == "" || !validHost.MatchString(host) {
		return fmt.Errorf("address %q: write host:port, as in 192.0.2.1:9559", addr)
	}
	return nil
}

// validHost is a name in DNS or an address.
var validHost = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$|^[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?$`)

func (t *Topology) names(k Kind) []string {
	var names []string
	for _, id := range t.list(k, NoStub) {
		names = append(names, t.Nodes[id].Name)
	}
	return names
}

// Drawn returns the network of a run with a seed, and whether it is another one than
// Build's: its changes with BySeed are drawn with the sum of their seed and the run's.
func (s *Spec) Drawn(seed uint64) (*Topology, bool, error) {
	if !slices.ContainsFunc(s.Change, func(c Change) bool { return c.BySeed }) {
		return nil, false, nil
	}
	drawn := *s
	drawn.Change = slices.Clone(s.Change)
	for i := range drawn.Change {
		if c := &drawn.Change[i]; c.BySeed {
			c.Seed += seed
		}
	}
	f, err := yamlfile.Parse("network", []byte("network: {}\n"), nil)
	if err != nil {
		return nil, false, err
	}
	t := drawn.Build(f, "network")
	return t, true, f.Err()
}

// change applies a Change. It returns an error's text, or "".
func (b *Builder) change(c *Change) string {
	switch {
	case c.Share < 0 || c.Share > 1:
		return fmt.Sprintf("share is %g, must be from 0 to 1", c.Share)
	case c.BySeed && c.Share == 0:
		return "by_seed is for a share of the links: give share"
	case c.Seed != 0 && c.Share == 0:
		return "seed is for the draw of a share of the links: give share"
	case c.Loss < 0 || c.Loss > 1:
		return fmt.Sprintf("loss is %g, must be from 0 to 1", c.Loss)
	case c.Rate < 0 || c.Delay < 0:
		return "rate and delay must be above zero"
	case c.Rate == 0 && c.Delay == 0 && c.Loss == 0 && !c.Remove:
		return "the change is empty: give rate, delay, loss or remove"
	}
	links := b.linksBetweenSwitches(c.Link)
	if len(links) == 0 {
		var names []string
		for _, id := range b.linksBetweenSwitches("") {
			l := &b.t.Links[id]
			names = append(names, b.t.Nodes[l.A.Node].Name+"-"+b.t.Nodes[l.B.Node].Name)
		}
		return fmt.Sprintf("no link between two switches is called %q%s", c.Link, diag.OneOf(c.Link, names))
	}
	if c.Share > 0 {
		rng := rand.New(rand.NewPCG(c.Seed, 0x746f706f))
		rng.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
		links = links[:int(c.Share*float64(len(links))+0.5)]
	}
	for _, id := range links {
		l := &b.t.Links[id]
		l.Rate, l.Delay = orRate(c.Rate, l.Rate), orTime(c.Delay, l.Delay)
		if c.Loss > 0 {
			l.Loss = c.Loss
		}
		if c.Remove {
			b.removed = append(b.removed, id)
		}
	}
	return ""
}

// linksBetweenSwitches returns the links that a name selects, or all if it is "".
func (b *Builder) linksBetweenSwitches(name string) []int {
	var ids []int
	for i := range b.t.Links {
		l := &b.t.Links[i]
		a, z := &b.t.Nodes[l.A.Node], &b.t.Nodes[l.B.Node]
		if a.Kind != Switch || z.Kind != Switch {
			continue
		}
		if name == "" || name == a.Name+"-"+z.Name || name == z.Name+"-"+a.Name {
			ids = append(ids, i)
		}
	}
	return ids
}

func (c *SwitchConfig) check(r *reporter) {
	if _, ok := MMU(c.MMU); !ok && c.MMU != "" {
		r.errorf("switch.mmu", "no buffer management is called %q%s; there are %s", c.MMU, diag.DidYouMean(c.MMU, MMUs), strings.Join(MMUs, ", "))
	}
	c.fill()
	c.Trimming.fill()
	if key, err := c.Trimming.check(); err != nil {
		r.errorf("switch.trimming."+key, "%v", err)
	}
	if c.Queue < 0 {
		r.errorf("switch.queue", "queue must not be negative")
	}
	if c.Buffer <= 0 {
		r.errorf("switch.buffer", "buffer must be above zero")
	}
	w := &c.PFC.Watchdog
	if w.Action != "" && !slices.Contains(Actions, w.Action) {
		r.errorf("switch.pfc.watchdog.action", "no action is called %q%s; there are %s", w.Action, diag.DidYouMean(w.Action, Actions), strings.Join(Actions, ", "))
	}
	if w.Links != "" && !slices.Contains(WatchdogLinks, w.Links) {
		r.errorf("switch.pfc.watchdog.links", "links is %q, must be hosts or switches, or left out for both", w.Links)
	}
	if p := c.PFC; !p.Off && p.Alpha == 0 && (p.XOFF <= 0 || p.XOFF >= c.Buffer) {
		r.errorf("switch.pfc.xoff", "xoff is %v, must be above zero and below the buffer's %v", p.XOFF, c.Buffer)
	} else if p.Alpha < 0 || p.Alpha > 64 {
		r.errorf("switch.pfc.alpha", "alpha is %g, must be from 0 to 64", p.Alpha)
	} else if p.HostsOnly && p.Alpha > 0 {
		r.errorf("switch.pfc.hosts_only", "hosts_only needs a static threshold: set xoff, without alpha or mmu")
	}
}
