// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/workload"
)

// Case is one arm at one point of the grid, ready to run with any seed.
type Case struct {
	Keys
	Arm   string
	Point []string // value on each axis, as written in the file
	Label string   // of the profile, with its target if the file names one

	// Reroutes are changes of all routes, in the order of time: of experiments whose
	// simulator routes around a link that is down.
	Reroutes []Reroute

	scenario  string
	net       *topo.Topology
	profile   *gen.Profile
	own       *program.Program // instead of a profile
	target    string
	scale     int64         // by which the program's network is slower; 0 or 1: it is not
	bytes     bool          // queues count bytes also if scale is above 1; see CountBytes
	canonical []byte        // all keys of the case, without names
	flows     []fabric.Flow // flows of scenarios made by New
	absent    []int         // parts of the traffic that a run without a cause does not have
}

// Reroute is a change of all routes to those without some links, by their numbers.
type Reroute struct {
	At      vtime.Time
	Without []int
}

// String names the case: "drill, load 0.6".
func (c *Case) String() string {
	return strings.Join(append([]string{c.Arm}, c.Point...), ", ")
}

// Net returns the network.
func (c *Case) Net() *topo.Topology { return c.net }

// drawn returns the case with the network and the faults of a run with a seed: others for
// each seed if they are drawn by_seed.
func (c *Case) drawn(seed uint64) (*Case, error) {
	of := *c
	if c.Network != nil {
		net, another, err := c.Network.Drawn(seed)
		if err != nil {
			return nil, err
		}
		if another {
			of.net = net
		}
	}
	of.Faults = nil
	for i := range c.Faults {
		of.Faults = append(of.Faults, c.Faults[i].Drawn(of.net, seed))
	}
	return &of, nil
}

// Loaded returns the profile, ready to be compiled; nil for a program of one's own.
func (c *Case) Loaded() *gen.Profile { return c.profile }

// Own returns the program of one's own, or nil.
func (c *Case) Own() *program.Program { return c.own }

// Scale returns the factor by which the network of the program is slower, at least 1.
func (c *Case) Scale() int64 { return max(c.scale, 1) }

// On returns the target that the profile runs on.
func (c *Case) On() string { return c.target }

// ForV1Model reports whether the profile runs on v1model.
func (c *Case) ForV1Model() bool { return c.target == program.V1Model }

// Canonical returns all keys of the case, without names and seeds. Equal cases
// have equal results.
func (c *Case) Canonical() []byte { return c.canonical }

// Source generates the program of the switches: its text and manifest.
func (c *Case) Source() ([]byte, *manifest.Manifest, error) {
	if c.own != nil {
		return c.own.P4, c.own.Manifest, nil
	}
	g, err := gen.Generate(c.network(), c.target)
	if err != nil {
		return nil, nil, fmt.Errorf("%v: %w", c, err)
	}
	return g.P4, g.Manifest, nil
}

// network returns the profile, for the scenario's network if its program for Tofino has
// a span of time compiled in.
func (c *Case) network() *gen.Profile {
	if c.target != program.TNA || c.profile.Choice("pbfs") != "on" {
		return c.profile
	}
	p := *c.profile
	for i := range c.net.Nodes {
		if n := &c.net.Nodes[i]; n.Kind == topo.Switch && n.Leaf >= 0 {
			p.Network = intent.NetworkOf(c.net, i, p.Network, intent.Options{})
			// Build checks the buffer, with the frames of the hosts and of the program.
			p.Network.Shared = max(p.Network.Shared, 0)
			break
		}
	}
	return &p
}

// longGap is the number of base round trips from which a flowlet's gap is long: one, and the
// queueing delay, keep packets in order.
const longGap = 10

// LongGaps returns a sentence for each gap between flowlets that is long for the network,
// so that flows have few flowlets. From a second on a gap is meant to be endless.
func (c *Case) LongGaps() []string {
	if c.profile == nil {
		return nil
	}
	leaf := slices.IndexFunc(c.net.Nodes, func(n topo.Node) bool { return n.Kind == topo.Switch && n.Leaf >= 0 })
	if leaf < 0 {
		return nil
	}
	rtt := intent.NetworkOf(c.net, leaf, c.profile.Network, intent.Options{}).HostRTT()
	gaps := c.profile.Gaps()
	var list []string
	for _, name := range slices.Sorted(maps.Keys(gaps)) {
		if gap := gaps[name]; gap >= longGap*rtt && gap < vtime.Second {
			list = append(list, fmt.Sprintf("%s is %v, %.0f base round trips of this network (%v), so flows have few flowlets; set: {%s: …} changes it", name, gap, float64(gap)/float64(rtt), rtt, name))
		}
	}
	return list
}

// Build generates and compiles the program of the switches. It returns an error if
// the hosts use telemetry that the program does not fill in, since their rates
// would never change.
func (c *Case) Build(cache *program.Cache) (*program.Program, error) {
	prog, err := c.own, error(nil)
	if prog == nil {
		prog, err = cache.BuildFor(c.network(), c.target)
	}
	if err != nil {
		return nil, err
	}
	hosts := hostsFor(prog.Manifest, c.Hosts)
	if _, err := hosts.Check(); err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	if c.net.Switch.Trimming.Size > 0 && prog.Manifest.Target == program.TNA {
		return nil, fmt.Errorf("%v: a Tofino's traffic manager drops packets that it has no room for and cannot cut them: leave out switch.trimming, or run the profile on v1model", c)
	}
	kit, err := hosts.CC.Kit(vtime.Gbps) // of any rate
	if err != nil {
		return nil, err
	}
	if b := kit.Telemetry.Block(); b != "" && !prog.Manifest.Has(b) {
		if c.own != nil {
			return nil, fmt.Errorf("%v: cc.algorithm %s needs telemetry, which a program of one's own does not fill in: choose another algorithm", c, hosts.CC.Algorithm)
		}
		choice, profile := "on", "hpcc"
		if b == "pint" {
			choice, profile = "pint", "hpcc-pint"
		}
		return nil, fmt.Errorf("%v: cc.algorithm %s needs telemetry, which the program of profile %s does not fill in: add \"int: %s\" to the profile, or use profile %s", c, hosts.CC.Algorithm, c.profile.Name, choice, profile)
	}
	net := *c.net
	if net.Frames, err = prog.Frames(&net, &hosts); err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	if err := net.CheckBuffer(); err != nil && !prog.Manifest.Has("pfc_emulated") {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	return prog, nil
}

// Open reports whether traffic continues until the last measured flow has ended.
func (c *Case) Open() bool { return c.Measure.Given() }

// Flows returns all flows of a seed. The case must not be open.
func (c *Case) Flows(seed uint64) ([]fabric.Flow, error) {
	if c.flows != nil {
		return c.flows, nil
	}
	return workload.Generate(c.Traffic, c.net, seed)
}

// HostsFor returns the hosts of a run: those of the scenario, doing their part
// of the program's scheme.
func (c *Case) HostsFor(m *manifest.Manifest) roce.Config { return hostsFor(m, c.Hosts) }

// hostsFor returns hosts that do their part of a scheme.
func hostsFor(m *manifest.Manifest, c roce.Config) roce.Config {
	if c.CC.Algorithm == "" {
		switch {
		case c.Transport == roce.UET:
			c.CC.Algorithm = "nscc"
		case m.Has("np_ecn"):
			c.CC.Algorithm = "pcn"
		case m.Has("qcn"):
			c.CC.Algorithm = "qcn"
		case m.Has("int"):
			c.CC.Algorithm = "hpcc"
		case m.Has("pint"):
			c.CC.Algorithm = "hpcc_pint"
		default:
			c.CC.Algorithm = c.Defaults.CC()
		}
	}
	if step, err := m.Value("pint.step", m.Network); err == nil && c.CC.PINT.Step == 0 {
		c.CC.PINT.Step = step
	}
	c.Tag = c.Tag || m.Has("clb")
	c.Drain = c.Drain || m.Has("flowcut")
	c.Hermes.On = c.Hermes.On || m.Has("hermes")
	if c.Hermes.On {
		marking(&c.Hermes, m)
	}
	c.PBFS.On = c.PBFS.On || m.Has("pbfs")
	return c
}

// marking sets the parameters of Hermes that depend on the program's marking.
func marking(h *roce.Hermes, m *manifest.Manifest) {
	var v [3]float64
	for i, name := range []string{"red.kmin", "red.kmax", "red.pmax"} {
		x, err := m.Value(name, m.Network)
		if err != nil {
			return // the program marks no packets
		}
		v[i] = x
	}
	h.Marking(vtime.Size(v[0]), vtime.Size(v[1]), v[2], m.Network.Rate)
}

// Describe returns the arm of the case for results.
func (c *Case) Describe(m *manifest.Manifest) result.Arm {
	h := c.HostsFor(m)
	return result.Arm{
		Name: c.Arm, Profile: c.Label, Target: c.target, CC: cmp.Or(h.CC.Algorithm, "none"), Recovery: string(h.Recovery), Settings: c.Set,
	}
}

// Measures reports whether a flow counts in the metrics of a case without a window.
func (c *Case) Measures(f *fabric.FlowResult) bool { return c.measured(&f.Flow) }

// measured reports whether a flow's part is measured, and the flow not of a warm-up.
func (c *Case) measured(f *fabric.Flow) bool {
	if f.Warmup() {
		return false
	}
	return len(c.Judge) == 0 || slices.Contains(c.Judge, f.Group)
}
