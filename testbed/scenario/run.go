// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// Options say how to run, which does not change what comes out.
type Options struct {
	Threads int
	// Begin, if set, is called before each run; Progress now and then, Event
	// with what the controller says, Read with each array the controller read.
	Begin    func(profile string, seed uint64, p *program.Program)
	Progress func(fabric.Progress)
	Event    func(controlplane.Event)
	Read     func(sw string, now vtime.Time, a register.Array)
	// Follow, if set, returns who follows a run.
	Follow func(Start) Follower
}

// Start is a run that is about to begin.
type Start struct {
	Scenario, Profile string
	Seed              uint64
	Topology          *topo.Topology
	Program           *program.Program
	Flows             []fabric.Flow
}

// A Follower looks at a run from beside. Whatever it does, the results are the
// same.
type Follower interface {
	// Tap returns what sees the frames that reach a node.
	Tap(n *topo.Node) fabric.Tap
	// Next returns when it wants to look again.
	Next() vtime.Time
	// Look is called when that time has come, and at the end of the run; no
	// time passes meanwhile.
	Look(lab *virtual.Lab)
	// End is called once, with what the run found, even if it was stopped.
	End(*fabric.Results)
}

// Run runs every profile with every seed. If ctx is done before the end, the
// runs so far are returned with its error, the last one marked partial.
func (s *Scenario) Run(ctx context.Context, o Options) ([]*result.Run, error) {
	var runs []*result.Run
	for i, p := range s.profiles {
		prog, err := program.BuildFor(p, s.targets[i])
		if err != nil {
			return runs, err
		}
		for _, seed := range s.Seeds {
			if o.Begin != nil {
				o.Begin(s.labels[i], seed, prog)
			}
			run, err := s.one(ctx, s.labels[i], prog, seed, o)
			if run != nil {
				runs = append(runs, run)
			}
			if err != nil {
				return runs, fmt.Errorf("%s, seed %d: %w", s.labels[i], seed, err)
			}
		}
	}
	return runs, nil
}

// one runs one profile with one seed.
func (s *Scenario) one(ctx context.Context, label string, prog *program.Program, seed uint64, o Options) (*result.Run, error) {
	cfg := virtual.Config{
		Topology: s.net, Program: prog, Hosts: s.HostsFor(prog.Manifest), Paths: s.Paths, Faults: s.Faults, Seed: seed,
		Threads: o.Threads, Progress: o.Progress, Event: o.Event,
	}
	var follower Follower
	if o.Follow != nil {
		follower = o.Follow(Start{s.Name, label, seed, s.net, prog, s.flows[seed]})
		cfg.Tap = follower.Tap
	}
	lab, err := virtual.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer lab.Close()
	if err := lab.Fabric.AddFlows(s.flows[seed]); err != nil {
		return nil, err
	}
	r := &runner{s: s, lab: lab, o: o, lines: newLines(s.net), follower: follower}
	for _, m := range prog.Manifest.Registers {
		if slices.Contains(s.Watch.Registers, m.Name) {
			r.watched = append(r.watched, m.Name)
		}
	}
	runErr := r.loop(ctx)
	if o.Progress != nil {
		o.Progress(lab.Fabric.Progress())
	}
	results := lab.Fabric.Results()
	if follower != nil {
		follower.Look(lab)
		follower.End(results)
	}
	run := result.Collect(s.net, results, lab.Fabric.Progress().Hops, s.Judge...)
	run.Summary.MaxQueue = longestQueue(s.net, lab)
	run.Scenario, run.Profile, run.Seed = s.Name, label, seed
	run.Lines = r.lines.done()
	if runErr != nil {
		run.Partial = true
		return run, cmp.Or(ctx.Err(), runErr)
	}
	if run.Registers, err = r.registers(ctx, prog); err != nil {
		return run, err
	}
	run.Summary.Scheme = count(prog, run.Registers)
	if results.Dropped > 0 {
		return run, fmt.Errorf("%w: %d of them; %s", virtual.ErrDropped, results.Dropped, s.net.DropAdvice(virtual.MaxFrame))
	}
	return run, nil
}

// hostsFor returns hosts that do their part of a scheme.
func hostsFor(m *manifest.Manifest, c roce.Config) roce.Config {
	if c.CC.Algorithm == "" {
		switch {
		case m.Has("np_ecn"):
			c.CC.Algorithm = "pcn"
		case m.Has("qcn"):
			c.CC.Algorithm = "qcn"
		case m.Has("int"):
			c.CC.Algorithm = "hpcc"
		default:
			c.CC.Algorithm = "dcqcn_paper"
		}
	}
	c.Tag = c.Tag || m.Has("clb")
	c.Hermes.On = c.Hermes.On || m.Has("hermes")
	if c.Hermes.On {
		marking(&c.Hermes, m)
	}
	c.PBFS.On = c.PBFS.On || m.Has("pbfs")
	return c
}

// marking makes Hermes heed how the program's switches mark packets.
func marking(h *roce.Hermes, m *manifest.Manifest) {
	var v [3]float64
	for i, name := range []string{"red.kmin", "red.kmax", "red.pmax"} {
		x, err := m.Value(name, m.Network)
		if err != nil {
			return // it marks none
		}
		v[i] = x
	}
	h.Marking(vtime.Size(v[0]), vtime.Size(v[1]), v[2], m.Network.Rate)
}

// runner lets the time of one run pass.
type runner struct {
	s     *Scenario
	lab   *virtual.Lab
	o     Options
	lines *lines
	// watched are the registers to read that the program has; others may be
	// another profile's.
	watched  []string
	follower Follower // nil: none
}

// loop runs until all flows are finished or the time is up, stopping where
// something is to be looked at.
func (r *runner) loop(ctx context.Context) error {
	sample, watch := r.s.Sample, r.s.Watch.Every
	if len(r.watched) == 0 {
		watch = 0
	}
	nextSample, nextWatch, nextLook := after(0, sample), after(0, watch), vtime.Never
	if r.follower != nil {
		nextLook = r.follower.Next()
	}
	f := r.lab.Fabric
	for !f.Done() && f.Now() < r.s.Until {
		if err := f.RunUntil(ctx, min(nextSample, nextWatch, nextLook, f.Now()+maxSlice, r.s.Until)); err != nil {
			return err
		}
		if d := f.Deadlock(deadlockAfter); d != nil {
			return fmt.Errorf("the network is deadlocked at %v: %v", f.Now(), d)
		}
		if f.Now() == nextSample {
			r.lines.sample(r.lab)
			nextSample = after(nextSample, sample)
		}
		if f.Now() == nextLook {
			r.follower.Look(r.lab)
			nextLook = r.follower.Next()
		}
		if f.Now() == nextWatch {
			if err := r.watch(ctx); err != nil {
				return err
			}
			nextWatch = after(nextWatch, watch)
		}
	}
	return nil
}

// maxSlice is the longest time without a look whether all flows are finished.
const maxSlice = 100 * vtime.Microsecond

// deadlockAfter is how long a cycle of ports must stand still to count as
// deadlocked.
const deadlockAfter = 2 * vtime.Millisecond

func after(t, interval vtime.Time) vtime.Time {
	if interval <= 0 {
		return vtime.Never
	}
	return t + interval
}

// watch reads the watched registers of all switches.
func (r *runner) watch(ctx context.Context) error {
	for _, s := range r.lab.Control.Sessions() {
		for _, name := range r.watched {
			a, err := s.ReadRegister(ctx, name)
			if err != nil {
				return err
			}
			if r.o.Read != nil {
				r.o.Read(s.Name(), r.lab.Fabric.Now(), a)
			}
		}
	}
	return nil
}

// registers reads all registers of the manifest from all switches, and what
// tables count as registers of one cell.
func (r *runner) registers(ctx context.Context, prog *program.Program) ([]result.Register, error) {
	var all []result.Register
	for _, s := range r.lab.Control.Sessions() {
		for _, m := range prog.Manifest.Registers {
			a, err := s.ReadRegister(ctx, m.Name)
			if err != nil {
				return nil, err
			}
			all = append(all, result.Register{
				Switch: s.Name(), Name: a.Name, TNS: r.lab.Fabric.Now().Nanoseconds(), Unit: m.Unit, Index: indexText(a.Index), Values: a.Values,
			})
		}
		for _, m := range prog.Manifest.Counters {
			n, err := s.ReadTableCounter(ctx, m.Table, m.Action)
			if err != nil {
				return nil, err
			}
			all = append(all, result.Register{
				Switch: s.Name(), Name: m.Name, TNS: r.lab.Fabric.Now().Nanoseconds(), Unit: m.Unit, Index: "one:1", Values: []uint64{n},
			})
		}
	}
	return all, nil
}

func indexText(dims []schema.Dim) string {
	text := ""
	for i, d := range dims {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("%s:%d", d.Name, d.Size)
	}
	return text
}

// count adds up the registers that count packets and messages over all
// switches and cells.
func count(prog *program.Program, registers []result.Register) map[string]uint64 {
	sums := make(map[string]uint64)
	for _, m := range prog.Manifest.Registers {
		if m.Unit == "packets" || m.Unit == "messages" {
			sums[m.Name] = 0
		}
	}
	for _, m := range prog.Manifest.Counters {
		sums[m.Name] = 0
	}
	for _, r := range registers {
		if _, ok := sums[r.Name]; !ok {
			continue
		}
		for _, v := range r.Values {
			sums[r.Name] += v
		}
	}
	return sums
}

// longestQueue returns the most bytes that ever waited in an egress queue.
func longestQueue(t *topo.Topology, lab *virtual.Lab) (most int64) {
	for _, id := range t.Switches() {
		sw := lab.Switch(id)
		sw.Lock()
		for p := range t.Nodes[id].Ports {
			stats := sw.Port(p + 1)
			for c := range stats.Class {
				most = max(most, stats.Class[c].MaxQueueBytes)
			}
		}
		sw.Unlock()
	}
	return most
}

// lines gathers time lines of the queues of all switch ports.
type lines struct {
	net     *topo.Topology
	egress  []result.Line
	ingress []result.Line
}

func newLines(t *topo.Topology) *lines {
	l := &lines{net: t}
	for _, id := range t.Switches() {
		for i := range t.Nodes[id].Ports {
			name, port := t.Nodes[id].Name, i+1
			l.egress = append(l.egress, result.Line{Name: fmt.Sprintf("%s port %d egress", name, port), Unit: "bytes", Node: name, Port: port})
			l.ingress = append(l.ingress, result.Line{Name: fmt.Sprintf("%s port %d ingress", name, port), Unit: "bytes", Node: name, Port: port})
		}
	}
	return l
}

func (l *lines) sample(lab *virtual.Lab) {
	now, i := lab.Fabric.Now().Nanoseconds(), 0
	for _, id := range l.net.Switches() {
		sw := lab.Switch(id)
		sw.Lock()
		for p := range l.net.Nodes[id].Ports {
			var out, in int64
			stats := sw.Port(p + 1)
			for c := range stats.Class {
				out += stats.Class[c].QueueBytes
				in += stats.Class[c].IngressBytes
			}
			l.egress[i].TNS, l.egress[i].V = append(l.egress[i].TNS, now), append(l.egress[i].V, uint64(out))
			l.ingress[i].TNS, l.ingress[i].V = append(l.ingress[i].TNS, now), append(l.ingress[i].V, uint64(in))
			i++
		}
		sw.Unlock()
	}
}

// done returns the lines that ever rose above zero.
func (l *lines) done() []result.Line {
	return slices.DeleteFunc(append(l.egress, l.ingress...), func(line result.Line) bool {
		return !slices.ContainsFunc(line.V, func(v uint64) bool { return v > 0 })
	})
}
