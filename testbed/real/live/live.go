// SPDX-License-Identifier: Apache-2.0

// Package live runs a scenario on a real network of this machine: switches as
// processes, RoCEv2 hosts in wall time, and a controller over P4Runtime. Results
// have the format and units of the virtual network's: times are those of the
// topology, and wall times are longer by the network's scale.
//
// The links' delays are not reproduced; a frame's delay is this machine's.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/real/relay"
	"github.com/pauseless/pauseless/testbed/real/wire"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/workload"
)

// Options say where and how to run.
type Options struct {
	Name  string // of the network
	Local local.Options
	// Pauseless and SimpleSwitch are the paths of the switches' programs.
	Pauseless, SimpleSwitch string
	// Mininet builds the network in Mininet, by its script, instead of namespaces alone.
	Mininet bool
	// Say, if set, is called with each step, Event with the controller's events.
	Say   func(text string)
	Event func(controlplane.Event)
	// Built, if set, is called with each network that is up.
	Built func(*local.Lab) error
	// Started, if set, is called when traffic has begun, and the run waits for
	// its return. Tests inject faults there.
	Started func(*Network)
}

// Network is a running network, for fault injection.
type Network struct {
	*netns.Network
	Keeper *controlplane.Keeper
	Fabric *controlplane.Fabric
}

// Run runs every case of a scenario with every seed. It takes each network down,
// also after an error. If ctx is done before the end, it returns the runs so far
// with ctx's error.
func Run(ctx context.Context, s *scenario.Scenario, o Options) ([]*result.Run, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	for _, c := range s.Cases() {
		if err := possible(c, o); err != nil {
			return nil, err
		}
	}
	var runs []*result.Run
	said := ""
	for _, c := range s.Cases() {
		plan, err := planOf(c, o.Local)
		if err != nil {
			return runs, err
		}
		if text := plan.ScaleText(); text != said {
			o.Say(text)
			said = text
		}
		for _, seed := range s.Seeds {
			if c.Own() != nil {
				o.Say(fmt.Sprintf("%v, seed %d: %d series of packets", c, seed, len(c.Packets)))
				run, err := own(ctx, c, plan, seed, o)
				if run != nil {
					run.Scenario = s.Name
					runs = append(runs, run)
				}
				if err != nil {
					return runs, fmt.Errorf("%v, seed %d: %w", c, seed, err)
				}
				continue
			}
			flows, err := c.Flows(seed)
			if err != nil {
				return runs, err
			}
			o.Say(fmt.Sprintf("%v, seed %d: %d flows", c, seed, len(flows)))
			run, err := one(ctx, c, flows, plan, seed, o)
			if run != nil {
				run.Scenario = s.Name
				runs = append(runs, run)
			}
			if err != nil {
				return runs, fmt.Errorf("%v, seed %d: %w", c, seed, err)
			}
		}
	}
	return runs, nil
}

// planOf plans the network of a case.
func planOf(c *scenario.Case, o local.Options) (*local.Plan, error) {
	if o.PacketRate == 0 {
		o.PacketRate = c.BMv2.PacketRate
	}
	if o.Own = c.Own() != nil; o.Own {
		o.Overhead = c.Hosts.Overhead
		return local.New(c.Net(), o)
	}
	o.Packet, o.Overhead = c.Hosts.MTU+roce.MostHeaders, c.Hosts.Overhead
	hosts := c.Hosts
	hosts.CC.Algorithm = cmp.Or(hosts.CC.Algorithm, "none")
	frame, err := hosts.LargestFrame()
	if err != nil {
		return nil, err
	}
	o.Frame = frame + c.Hosts.Overhead
	return local.New(c.Net(), o)
}

// possible returns an error if a case cannot run on real switches.
func possible(c *scenario.Case, o Options) error {
	switch {
	case len(c.Faults) > 0 && o.Local.Direct:
		return errors.New("links of veth pairs have no faults: use --links relay")
	case slices.ContainsFunc(c.Faults, func(ft fabric.Fault) bool { return ft.Storm != "" }):
		return errStorm
	case slices.ContainsFunc(c.Faults, func(ft fabric.Fault) bool { return ft.BySeed }):
		return errors.New("by_seed draws faults in virtual time: name the switch and the pairs")
	case !c.ForV1Model():
		return errors.New("programs for Tofino run in virtual time only: leave the target out of the scenario")
	case slices.ContainsFunc(c.Traffic, func(w workload.Spec) bool { return w.Collective != nil || w.Job != nil }):
		return errors.New("collectives and jobs are for virtual time: hosts here start every flow at its own time, and do not wait for other flows")
	case c.Own() != nil && len(c.Traffic) > 0:
		return errors.New("traffic of a program of one's own is for virtual time: give packets, or use fabric run")
	case c.Own() == nil && len(c.Packets) > 0:
		return errors.New("packets with a profile are for virtual time: leave them out of the scenario")
	case c.Open():
		return errors.New("measure and warmup are for virtual time: give the parts of traffic their own ends")
	}
	return nil
}

// one runs one case with one seed on a new network.
func one(ctx context.Context, s *scenario.Case, flows []fabric.Flow, plan *local.Plan, seed uint64, o Options) (run *result.Run, err error) {
	program, err := local.Build(s.Loaded(), s.Net(), plan.Kind, plan.Scale)
	if err != nil {
		return nil, err
	}
	lab := &local.Lab{Plan: plan, Program: program, Paths: s.Paths, Pauseless: o.Pauseless, SimpleSwitch: o.SimpleSwitch}
	if text := lab.Differences(); text != "" {
		o.Say(text)
	}
	n, err := up(ctx, lab, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.down()) }()
	if o.Built != nil {
		if err := o.Built(lab); err != nil {
			return nil, err
		}
	}
	w, err := openWatch(plan)
	if err != nil {
		return nil, err
	}
	defer w.close()
	begun, before := time.Now(), n.waited()
	reports, epoch, err := n.traffic(ctx, s, flows, seed, o, w)
	if err != nil {
		return nil, err
	}
	w.settle(ctx)
	now := time.Now()
	machine := conditions{kind: plan.Kind, carried: n.carried(), took: now.Sub(begun), waited: n.waited(), set: clockSetBy(begun, now, now.Sub(begun))}
	for who, waited := range before {
		machine.waited[who] = max(machine.waited[who]-waited, 0) // negative if the switch was restarted
	}
	if err := w.stop(); err != nil {
		return nil, err
	}
	c := &collector{t: s.Net(), scale: plan.Scale, epoch: epoch, flows: flows, reports: reports, watch: w, measured: s.Measures}
	run = c.run()
	run.Profile, run.Arm, run.Point, run.Seed = s.Label, s.Arm, s.Point, seed
	run.Lines, run.Watched = n.lines.done(), n.watched
	run.Remarks = machine.remarks(&run.Summary)
	run.Cut = slices.ContainsFunc(run.Flows, func(f result.Flow) bool { return f.FCTNS == 0 && !s.Endless(f.Part) })
	if ctx.Err() != nil {
		run.Partial = true
		return run, ctx.Err()
	}
	if run.Registers, run.RegistersOver, err = n.registers(ctx, c.now()); err != nil {
		return run, err
	}
	for name, sum := range sums(program.Manifest, run.Registers) {
		run.Summary.Scheme[name] = sum
	}
	run.Summary.Scheme[result.MarkedPackets] = result.Marked(run.Raw)
	for _, l := range run.Lines {
		if strings.HasSuffix(l.Name, " egress") && len(l.V) > 0 {
			run.Summary.MaxQueue = max(run.Summary.MaxQueue, int64(slices.Max(l.V)))
		}
	}
	run.Metrics, run.Steady, run.Links = result.Measure(&result.Observed{
		Topology: s.Net(), Results: run.Raw, Measured: s.Measures, Parts: len(s.Traffic),
		Waves: func(part int) bool {
			return part >= 1 && part <= len(s.Traffic) && (s.Traffic[part-1].Incast != nil || s.Traffic[part-1].Burst != nil)
		},
		Until: vtime.Never, MaxQueue: run.Summary.MaxQueue, Lines: run.Lines, Scheme: run.Summary.Scheme,
		LastHop: scenario.LastHop(s.Net(), run.Registers),
	})
	return run, nil
}

// network is a running network with its controller.
type network struct {
	Network
	lab    *local.Lab
	stop   context.CancelFunc // of the keeper
	done   chan struct{}
	lines  lines
	script *script // Mininet's; nil: none
	// watched are the registers that the scenario watches, over time.
	mu      sync.Mutex
	watched []result.Line
}

// up builds the network and starts a controller that establishes and keeps the
// switches' desired state.
func up(ctx context.Context, lab *local.Lab, o Options) (*network, error) {
	if o.Mininet {
		return upMininet(ctx, lab, o)
	}
	recirculation, pps := lab.RecirculationPort()
	nn, err := netns.Up(ctx, netns.Config{
		Name: o.Name, Plan: lab.Plan, QueuePackets: lab.QueuePackets(), Recirculation: recirculation, RecirculationPPS: pps,
		Program: func(s *local.Switch) (string, []string, error) { return lab.Command(s, netns.Dir(o.Name)) },
		Relay:   lab.RelayCommand,
	})
	if err != nil {
		return nil, err
	}
	n := &network{Network: Network{Network: nn}, lab: lab}
	if err := n.control(ctx, o); err != nil {
		return nil, errors.Join(err, n.down())
	}
	return n, nil
}

func (n *network) control(ctx context.Context, o Options) error {
	desired, err := n.lab.Desired()
	if err != nil {
		return err
	}
	event := o.Event
	if event == nil {
		event = func(controlplane.Event) {}
	}
	n.Fabric, err = controlplane.Open(ctx, n.lab.Targets(), controlplane.Options{Policy: controlplane.AdoptOrphans, Event: event})
	if err != nil {
		return err
	}
	// No periodic audits, which would read all tables while packets pass.
	n.Keeper = controlplane.NewKeeper(n.Fabric, -1)
	for name, d := range desired {
		if err := n.Keeper.Set(name, d); err != nil {
			return err
		}
	}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stop, n.done = stop, make(chan struct{})
	go func() {
		defer close(n.done)
		n.Keeper.Run(keeping)
	}()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return n.Keeper.AwaitKept(ctx)
}

func (n *network) down() error {
	if n.stop != nil {
		n.stop()
		<-n.done
	}
	if n.Fabric != nil {
		n.Fabric.Close()
	}
	if n.script != nil {
		n.EndHostCommands()
		return n.script.end(n.Network.Network)
	}
	return n.Network.Down()
}

// Wall time for hosts to end after the scenario's end, and to start before its
// beginning.
const (
	afterEnd    = 5 * time.Second
	beforeStart = 300 * time.Millisecond
)

// traffic runs all hosts until their flows are done or the scenario's time has
// passed. It returns their reports and the wall time of time zero.
func (n *network) traffic(ctx context.Context, s *scenario.Case, flows []fabric.Flow, seed uint64, o Options, w *watch) ([]*wire.Report, time.Time, error) {
	var ports []wire.Port
	defer func() {
		for _, p := range ports {
			p.Close()
		}
	}()
	for _, h := range n.lab.Plan.Hosts {
		err := n.WithinHost(h.Name, func() error {
			p, err := wire.Open(local.HostInterface)
			if err == nil {
				ports = append(ports, p)
			}
			return err
		})
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("host %s: %w", h.Name, err)
		}
	}
	epoch := time.Now().Add(beforeStart)
	if err := n.faults(s, epoch); err != nil {
		return nil, time.Time{}, err
	}
	defer netns.RunAhead()()
	w.start()
	limit := time.Duration(s.Until.Nanoseconds())*time.Duration(n.lab.Plan.Scale) + beforeStart + afterEnd
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var started sync.WaitGroup
	if o.Started != nil {
		started.Go(func() { o.Started(&n.Network) })
	}
	sampling, stopSampling := context.WithCancel(ctx)
	var sampler sync.WaitGroup
	sampler.Go(func() { n.sample(sampling, epoch, s) })
	reports, errs := make([]*wire.Report, len(ports)), make([]error, len(ports))
	var hosts sync.WaitGroup
	var unfinished atomic.Int64
	unfinished.Add(int64(len(ports)))
	allDone := make(chan struct{})
	for i, h := range n.lab.Plan.Hosts {
		hosts.Go(func() {
			reports[i], errs[i] = wire.Run(ctx, wire.Config{
				Topology: s.Net(), Host: h.Node, Hosts: s.HostsFor(n.lab.Program.Manifest), Flows: flows,
				Scale: n.lab.Plan.Scale, Epoch: epoch, Stay: allDone,
				Finished: func() {
					if unfinished.Add(-1) == 0 {
						close(allDone)
					}
				},
			}, ports[i])
			if errs[i] != nil {
				errs[i] = fmt.Errorf("host %s: %w", h.Name, errs[i])
			}
		})
	}
	hosts.Wait()
	stopSampling()
	sampler.Wait()
	started.Wait()
	return reports, epoch, errors.Join(errs...)
}

// faults has the relay make the faults of a case, whose time zero is epoch.
func (n *network) faults(c *scenario.Case, epoch time.Time) error {
	if len(c.Faults) == 0 {
		return nil
	}
	faults, err := Faults(c.Net(), c.Faults, epoch, n.lab.Plan.Scale)
	if err == nil {
		_, err = relay.Ask(netns.Control(n.Name), relay.Request{Faults: faults})
	}
	return err
}

// sampleEvery is the interval, in wall time, of reading queue lengths of a scenario
// without sample.
const sampleEvery = 100 * time.Millisecond

// queueRegisters are the names of arrays of queue lengths by port and priority.
var queueRegisters = []string{"egress_qlen", "ingress_qlen"}

// sample reads queue lengths, and the registers that the case watches, from all
// switches while traffic runs. It ignores
// errors: the next reading tries again.
func (n *network) sample(ctx context.Context, epoch time.Time, c *scenario.Case) {
	n.lines = lines{t: n.lab.Plan.Topology, byKey: make(map[lineKey]*result.Line)}
	scale := time.Duration(n.lab.Plan.Scale)
	var queues, watched []string
	for _, r := range n.lab.Program.Manifest.Registers {
		if slices.Contains(queueRegisters, r.Name) {
			queues = append(queues, r.Name)
		}
		if slices.Contains(c.Watch.Registers, r.Name) {
			watched = append(watched, r.Name)
		}
	}
	read := func(names []string, add func(switchName string, at time.Duration, a register.Array)) {
		n.Fabric.Each(ctx, func(ctx context.Context, s *controlplane.Session) error {
			for _, name := range names {
				a, err := s.ReadRegister(ctx, name)
				if err != nil {
					return err
				}
				add(s.Name(), time.Since(epoch)/scale, a)
			}
			return nil
		})
	}
	var readers sync.WaitGroup
	every := func(d time.Duration, names []string, add func(string, time.Duration, register.Array)) {
		if d <= 0 || len(names) == 0 {
			return
		}
		readers.Go(func() {
			for next := epoch.Add(d); ; next = next.Add(d) {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(next)):
				}
				read(names, add)
			}
		})
	}
	sample := time.Duration(c.Sample.Nanoseconds()) * scale
	if sample == 0 {
		sample = sampleEvery
	}
	every(sample, queues, func(name string, at time.Duration, a register.Array) {
		n.lines.add(name, a.Name, at, a)
	})
	every(time.Duration(c.Watch.Every.Nanoseconds())*scale, watched, func(name string, at time.Duration, a register.Array) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.watched = result.Watch(n.watched, name, a.Name, a.Unit, at.Nanoseconds(), a.Values)
	})
	readers.Wait()
}

// carried returns what the relay of the links has done, or nil without one.
func (n *network) carried() *relay.Stats {
	if len(n.lab.Plan.Cables) == 0 {
		return nil
	}
	s, err := relay.Ask(netns.Control(n.Name), relay.Request{})
	if err != nil {
		s.Error = err.Error()
	}
	return &s
}

// waited returns how long each switch, and this process with the hosts, has
// waited for a processor so far.
func (n *network) waited() map[string]time.Duration {
	all := map[string]time.Duration{"our hosts": netns.Waited(os.Getpid())}
	for _, s := range n.lab.Plan.Switches {
		all[s.Name] = n.Waited(s.Name)
	}
	return all
}

// registers reads all registers of the manifest from all switches. It returns
// also the name of the interface that it read them over.
func (n *network) registers(ctx context.Context, now vtime.Time) (all []result.Register, over string, err error) {
	for _, s := range n.Fabric.Sessions() {
		store, err := s.Registers(ctx)
		if err != nil {
			return nil, "", err
		}
		over = store.Backend()
		for _, m := range n.lab.Program.Manifest.Registers {
			a, err := s.ReadRegister(ctx, m.Name)
			if err != nil {
				return nil, "", err
			}
			index := ""
			for i, d := range a.Index {
				if i > 0 {
					index += ","
				}
				index += fmt.Sprintf("%s:%d", d.Name, d.Size)
			}
			all = append(all, result.Register{Switch: s.Name(), Name: a.Name, TNS: now.Nanoseconds(), Unit: m.Unit, Index: index, Values: a.Values})
		}
	}
	return all, over, nil
}

// sums adds up the registers that count packets and messages, over all
// switches and cells.
func sums(m *manifest.Manifest, registers []result.Register) map[string]uint64 {
	out := make(map[string]uint64)
	for _, r := range registers {
		if r.Unit == "packets" || r.Unit == "messages" {
			for _, v := range r.Values {
				out[r.Name] += v
			}
		}
	}
	return out
}

// lines are queue lengths over time.
type lines struct {
	t     *topo.Topology
	mu    sync.Mutex
	byKey map[lineKey]*result.Line
}
