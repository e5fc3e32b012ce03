// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/fabrictest"
	"github.com/pauseless/pauseless/internal/model"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// A modelSwitch forwards packets as the model says, in the plain switch of package
// fabrictest: neither a compiled program nor the traffic manager of softswitch is in it.
type modelSwitch struct {
	s   *model.Switch
	net fabric.Network
}

// newModelSwitch returns the plain switch of a node with a model.
func newModelSwitch(n *topo.Node, net fabric.Network, t *topo.Topology, p *model.Program, c *model.Config, overhead int, seed uint64) (*modelSwitch, fabric.Node) {
	r := rand.New(rand.NewPCG(seed, uint64(n.ID)))
	m := &modelSwitch{model.NewSwitch(p, c, r.Int64N, -1<<30), net}
	again := program.Recirculation(p.Manifest, t.Switch.Recirculation, 1)
	l := &t.Links[n.Ports[0].Link]
	return m, fabrictest.New(t, n, net, fabrictest.Config{
		Overhead: overhead, Buffer: int64(t.Switch.Buffer), XOFF: int64(t.Switch.PFC.XOFF), Resume: int64(t.DefaultResume()),
		Headroom: float64(t.HeadroomFor(l)) / float64(l.Rate.Bytes(l.Delay)), Program: m,
		Recirculation: fabrictest.Recirculation{Number: p.RecirculationPort, Rate: again.Rate, Latency: again.Latency},
	})
}

func (m *modelSwitch) now() model.Time { return model.Time(m.net.Now() / vtime.Nanosecond) }

func (m *modelSwitch) Ingress(port int, f *packet.Frame) []*fabrictest.Packet {
	p := m.s.NewPacket(bytesOf(f), port, m.now())
	list := m.queued(m.s.Ingress(p), p, f)
	if !slices.ContainsFunc(list, func(q *fabrictest.Packet) bool { return q.Frame == f }) {
		m.net.Frames().Put(f)
	}
	return list
}

// queued are packets of the model as the plain switch queues them. f is the frame of one
// of them, p.
func (m *modelSwitch) queued(list []*model.Packet, p *model.Packet, f *packet.Frame) (all []*fabrictest.Packet) {
	for _, q := range list {
		frame := f
		if q != p {
			frame = m.net.Frames().Get()
			frame.Data, frame.Elided = append(frame.Data, f.Data...), f.Elided
		}
		all = append(all, &fabrictest.Packet{Frame: frame, Port: q.Queue.Port, Class: q.Queue.Class, State: q})
	}
	return all
}

func (m *modelSwitch) Egress(q *fabrictest.Packet, behind int64) (fabrictest.Verdict, []*fabrictest.Packet) {
	p, f := q.State.(*model.Packet), q.Frame
	p.Left, p.Behind = m.now(), min(behind, model.MostDepth)
	o, copied := m.s.Egress(p)
	copies := m.queued(copied, nil, f)
	switch {
	case o.Recirculate:
		return fabrictest.Recirculate, copies
	case o.Drop:
		return fabrictest.Drop, copies
	}
	elided := min(int(f.Elided), len(o.Data))
	if p.Limit > 0 {
		elided = 0
	}
	f.Data, f.Elided = append(f.Data[:0], o.Data[:len(o.Data)-elided]...), int32(elided)
	return fabrictest.Send, copies
}

func (m *modelSwitch) Again(q *fabrictest.Packet) []*fabrictest.Packet {
	p := q.State.(*model.Packet)
	p.Now = m.now()
	p = m.s.Recirculated(p, m.s.Bytes(p.Frame))
	return m.queued(m.s.Ingress(p), p, q.Frame)
}

// config has the entries that the controller would write to a switch.
func config(t *testing.T, p *model.Program, info *p4configv1.P4Info, leaf int, entities []*p4v1.Entity) *model.Config {
	t.Helper()
	c := &model.Config{Leaf: int64(leaf), Groups: map[int][]int{}, Tables: map[string]model.Entries{}}
	to := func(table string) model.Entries {
		if c.Tables[table] == nil {
			c.Tables[table] = model.Entries{}
		}
		return c.Tables[table]
	}
	for _, table := range p.Tables { // what the program begins with
		if args, err := p.Args(table.Name, p.Network, nil); err == nil && table.Kind == "settings" {
			to(table.Name)[model.Default] = model.Args{}
			for _, a := range args {
				c.Tables[table.Name][model.Default][a.Name] = int64(a.Value)
			}
		}
	}
	number := func(b []byte) (v int64) {
		for _, x := range b {
			v = v<<8 | int64(x)
		}
		return v
	}
	for _, e := range entities {
		if g := e.GetPacketReplicationEngineEntry().GetMulticastGroupEntry(); g != nil {
			for _, r := range g.Replicas {
				c.Groups[int(g.MulticastGroupId)] = append(c.Groups[int(g.MulticastGroupId)], int(schema.ReplicaPort(r)))
			}
		}
		x := e.GetTableEntry()
		if x == nil {
			continue
		}
		table := plain(info.Tables[slices.IndexFunc(info.Tables, func(t *p4configv1.Table) bool { return t.Preamble.Id == x.TableId })].Preamble.Name)
		written := x.Action.GetAction()
		action := info.Actions[slices.IndexFunc(info.Actions, func(a *p4configv1.Action) bool { return a.Preamble.Id == written.ActionId })]
		args := model.Args{}
		for i, a := range action.Params {
			args[a.Name] = number(written.Params[i].Value)
		}
		switch {
		case table == "route":
			r := model.Route{Addr: number(x.Match[0].GetLpm().Value), First: int(args["port"])}
			if paths, ok := args["last_path"]; ok {
				r = model.Route{Addr: r.Addr, Leaf: args["leaf"], First: int(args["first_port"]), Paths: int(paths) + 1, Shift: uint(args["hash_shift"])}
			}
			c.Routes = append(c.Routes, r)
		case x.IsDefaultAction:
			to(table)[model.Default] = args
		default:
			i := int(number(x.Match[0].GetExact().Value))
			if len(x.Match) == 2 {
				i = p.QueueCell(i, int(number(x.Match[1].GetExact().Value)))
			}
			to(table)[i] = args
		}
	}
	slices.SortStableFunc(c.Routes, func(a, b model.Route) int { return int(model.Bit(a.Addr&0xff == 0) - model.Bit(b.Addr&0xff == 0)) })
	return c
}

// An outcome is what the two sides are compared by.
type outcome struct {
	pauses, reroutes, recirculations, fct float64 // fct: mean of the measured flows, in microseconds
}

func (o outcome) values() []float64 { return []float64{o.pauses, o.reroutes, o.recirculations, o.fct} }

var compared = []string{"PAUSE frames", "reroutes", "recirculations", "average FCT"}

// runFabric runs flows to their end.
func runFabric(t *testing.T, c *scenario.Case, f *fabric.Fabric, seed uint64) outcome {
	t.Helper()
	for !f.Done() {
		if err := f.RunUntil(t.Context(), f.Now()+vtime.Millisecond); err != nil {
			t.Fatal(err)
		}
		if f.Now() > c.Until {
			t.Fatalf("seed %d: flows are unfinished after %v", seed, c.Until)
		}
	}
	r, o, n := f.Results(), outcome{}, 0.0
	for _, p := range r.Ports {
		o.pauses += float64(p.Pauses)
	}
	for i := range r.Flows {
		if len(c.Judge) == 0 || slices.Contains(c.Judge, r.Flows[i].Group) {
			o.fct += r.Flows[i].FCT.Microseconds()
			n++
		}
	}
	if r.Dropped > 0 || n == 0 {
		t.Fatalf("seed %d: %d packets are lost, %v flows are measured", seed, r.Dropped, n)
	}
	o.fct /= n
	return o
}

// runProgram runs a case as experiments do.
func runProgram(t *testing.T, c *scenario.Case, prog *program.Program, flows []fabric.Flow, seed uint64) outcome {
	t.Helper()
	lab, err := virtual.Open(t.Context(), virtual.Config{Topology: c.Net(), Program: prog, Hosts: c.HostsFor(prog.Manifest), Paths: c.Paths, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	if err := lab.Fabric.AddFlows(flows); err != nil {
		t.Fatal(err)
	}
	o := runFabric(t, c, lab.Fabric, seed)
	for _, id := range c.Net().Switches() {
		for name, sum := range map[string]*float64{"reroutes": &o.reroutes, "recirculations": &o.recirculations} {
			a, err := lab.Register(t.Context(), id, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range a.Values {
				*sum += float64(v)
			}
		}
	}
	return o
}

// A changedRule is an error in RLB's rules, by the entries that the model reads.
type changedRule struct {
	name    string
	entries func(*model.Config)
}

// runModel runs a case with the models of its features in plain switches.
func runModel(t *testing.T, c *scenario.Case, prog *program.Program, flows []fabric.Flow, seed uint64, rule changedRule) outcome {
	t.Helper()
	p := model.NewProgram(prog.Manifest)
	net, hosts := *c.Net(), c.HostsFor(prog.Manifest)
	var err error
	if net.Frames, err = prog.Frames(&net, &hosts); err != nil {
		t.Fatal(err)
	}
	entities, err := prog.Entities(&net, intent.Options{Paths: c.Paths})
	if err != nil {
		t.Fatal(err)
	}
	var switches []*model.Switch
	f, err := fabric.New(fabric.Config{Topology: &net, Hosts: hosts, Seed: seed, Switch: func(n *topo.Node, at fabric.Network) (fabric.Node, error) {
		list, err := entities(n.ID)
		if err != nil {
			return nil, err
		}
		entries := config(t, p, prog.P4Info, n.Leaf, list)
		if rule.entries != nil {
			rule.entries(entries)
		}
		m, node := newModelSwitch(n, at, &net, p, entries, hosts.Overhead, seed)
		switches = append(switches, m.s)
		return node, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.AddFlows(flows); err != nil {
		t.Fatal(err)
	}
	o := runFabric(t, c, f, seed)
	for _, s := range switches {
		for port := range p.Ports {
			o.reroutes += float64(*s.Cell("reroutes", port))
			o.recirculations += float64(*s.Cell("recirculations", port))
		}
	}
	return o
}

// secondScenarios are those on which RLB by its model is compared with RLB by its program.
var secondScenarios = []struct {
	name  string
	rules bool // the comparison must find changedRules here
	text  string
}{
	{"two of eight paths paused downstream", true, `
name: paused
profiles: [rlb-drill]
network:
  leaf_spine: {leaves: 2, spines: 8, hosts_per_leaf: 8, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
hosts: {defaults: papers, recovery: out-of-order}
paths: {h1: 2}
traffic:
- poisson: {sizes: websearch, load: 0.6, duration: 3ms, from: h9..h14, to: h5..h8}
- burst: {from: h16, to: h1, flows: 16, size: 128KB, times: 3, interval: 1ms}
- burst: {from: h2..h4, to: h1, flows: 8, size: 64KB, times: 3, interval: 1ms}
judge: [1]
`},
	{"incast", false, `
name: incast
profiles: [rlb-drill]
network:
  leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 6, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
hosts: {defaults: papers}
traffic:
- poisson: {sizes: webserver, load: 0.3, other_leaf: true, uplinks: true, duration: 500us}
- incast: {degree: 15, total: 2MB, start: 200us}
`},
	{"symmetric load", false, `
name: symmetric
profiles: [rlb-drill]
network:
  leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 8, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
hosts: {defaults: papers, recovery: out-of-order}
traffic:
- poisson: {sizes: webserver, load: 0.8, other_leaf: true, uplinks: true, duration: 1ms}
`},
}

// secondSeeds is the number of runs of each side, from firstSeed. They have the same
// traffic and other random numbers in switches and hosts. The criterion was settled on
// seeds 0 to 3.
const (
	secondSeeds = 4
	firstSeed   = 10
)

// agree compares the runs of both sides: the means of each quantity differ by at most three
// times the standard error of their difference.
func agree(byProgram, byModel []outcome) (differ []string) {
	for k, what := range compared {
		a, va := mean(byProgram, k)
		b, vb := mean(byModel, k)
		if e := math.Sqrt(va + vb); math.Abs(a-b) > 3*e {
			differ = append(differ, fmt.Sprintf("%s: %.0f by the program, %.0f by the model, standard error of the difference %.0f", what, a, b, e))
		}
	}
	return differ
}

// mean returns the mean of a quantity, and the variance of the mean.
func mean(runs []outcome, k int) (mean, variance float64) {
	n := float64(len(runs))
	for _, o := range runs {
		mean += o.values()[k] / n
	}
	for _, o := range runs {
		variance += math.Pow(o.values()[k]-mean, 2) / (n - 1) / n
	}
	return mean, variance
}

// changedRules are those that the comparison must find where paths are paused downstream.
var changedRules = []changedRule{
	{name: "line 5 of algorithm 1 without t_rc", entries: func(c *model.Config) { c.Tables["Compath"][model.Default] = model.Args{} }},
	{name: "Q_th is Q_PFC", entries: func(c *model.Config) {
		for _, x := range c.Tables["predict"] {
			x["warn_at"], x["horizon"] = x["xoff"], 0
		}
	}},
}

// RLB's model, written from the paper, in plain switches without a compiled program and with
// another traffic manager: a second opinion on what experiments measure with the program.
func TestRLBByItsModelInPlainSwitches(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP with -short: simulates eight runs")
	}
	for _, x := range secondScenarios {
		if os.Getenv("MODEL") == "" && x.name != "incast" { // the others take minutes
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			s, err := scenario.Parse("x.yaml", []byte(x.text))
			if err != nil {
				t.Fatal(err)
			}
			c := s.Cases()[0]
			prog, err := c.Build(new(program.Cache))
			if err != nil {
				t.Fatal(err)
			}
			flows, err := c.Flows(1)
			if err != nil {
				t.Fatal(err)
			}
			runs := func(run func(seed uint64) outcome) (all []outcome) {
				for n := range uint64(secondSeeds) {
					all = append(all, run(firstSeed+n))
				}
				return all
			}
			byModel := func(r changedRule) []outcome {
				return runs(func(seed uint64) outcome { return runModel(t, c, prog, flows, seed, r) })
			}
			byProgram := runs(func(seed uint64) outcome { return runProgram(t, c, prog, flows, seed) })
			same := byModel(changedRule{})
			t.Logf("%v\nby the program %.0f\nby the model   %.0f", compared, byProgram, same)
			for _, d := range agree(byProgram, same) {
				t.Error(d)
			}
			if !x.rules {
				return
			}
			for _, r := range changedRules {
				d := agree(byProgram, byModel(r))
				t.Logf("%s: %v", r.name, d)
				if len(d) == 0 {
					t.Errorf("%s: nothing differs", r.name)
				}
			}
		})
	}
}
