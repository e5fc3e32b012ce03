// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/causes"
	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// Options are the options of Run. They do not change the results.
type Options struct {
	Threads int
	// Begin, if set, is called before each run, Progress periodically, Event with
	// each event of the controller, and Read with each array that it has read.
	Begin    func(name string, seed uint64, p *program.Program)
	Progress func(fabric.Progress)
	Event    func(controlplane.Event)
	Read     func(sw string, now vtime.Time, a register.Array)
	// Follow, if set, returns a Follower of a run, or nil.
	Follow func(Start) Follower
	// Trace, if set, follows a packet. The run then has one thread.
	Trace Tracer
	// Serve, if set, serves P4Runtime to controllers from outside, which may change the
	// results. The run lasts until the scenario's until.
	Serve *virtual.Serve
	// Packets, if set, is called at the end of each run that has single packets.
	Packets func(run *result.Run, r *packets.Run) error
	// Explain makes results tell why links were paused (result.Run.Causes), as the key
	// explain of a scenario does. Lost runs each case again without each of the worst
	// causes, and tells what they cost.
	Explain, Lost bool
	without       *without
}

// A Tracer follows a packet: Tap is as in virtual.Config, and Begin is called before the
// run with its single packets, or nil.
type Tracer interface {
	Tap(n *topo.Node) fabric.Tap
	Begin(lab *virtual.Lab, r *packets.Run) error
}

// Start is a run that is about to begin.
type Start struct {
	Scenario, Case string // Case is the arm and its point on the axes
	Seed           uint64
	Topology       *topo.Topology
	Program        *program.Program
	Flows          []fabric.Flow
	Faults         []fabric.Fault
	// Causes returns why links were paused so far; nil if the run is not explained. It
	// may be called from Look.
	Causes func() *result.Causes
}

// A Follower observes a run. It does not change the results.
type Follower interface {
	// Tap returns a function that is called with the frames that reach a node.
	Tap(n *topo.Node) fabric.Tap
	// Next returns the time of the next call of Look.
	Next() vtime.Time
	// Look is called at that time and at the end of the run. Virtual time stands
	// still during the call.
	Look(lab *virtual.Lab)
	// End is called once with the result, even if the run was stopped.
	End(*fabric.Results)
}

// Run runs every case with every seed. If ctx is done before the end, the
// runs so far are returned with its error, the last one marked partial.
func (s *Scenario) Run(ctx context.Context, o Options) ([]*result.Run, error) {
	programs, err := s.programs()
	if err != nil {
		return nil, err
	}
	var runs []*result.Run
	for i, c := range s.cases {
		for _, seed := range s.Seeds {
			run, err := c.Run(ctx, programs[i], seed, o)
			if run != nil {
				runs = append(runs, run)
			}
			if o.Lost && (err == nil || errors.Is(err, virtual.ErrDropped)) && run.Causes != nil {
				err = cmp.Or(c.lost(ctx, programs[i], seed, o, run), err)
			}
			if err != nil {
				return runs, fmt.Errorf("%v, seed %d: %w", c, seed, err)
			}
		}
	}
	return runs, nil
}

// programs builds the programs of all cases, so that all errors in them are reported
// before the first run.
func (s *Scenario) programs() (all []*program.Program, err error) {
	var cache program.Cache
	for _, c := range s.cases {
		prog, err := c.Build(&cache)
		if err != nil {
			return nil, err
		}
		all = append(all, prog)
	}
	return all, nil
}

// Run runs the case once, with the program that Build made. If ctx is done
// before the end, the run so far is returned, marked partial, with its error.
// A run in which flows cannot proceed ends without an error: its Stuck has the
// flows and the causes.
func (c *Case) Run(ctx context.Context, prog *program.Program, seed uint64, o Options) (*result.Run, error) {
	if o.Begin != nil {
		o.Begin(c.String(), seed, prog)
	}
	if o.without != nil {
		c = o.without.from(c)
	}
	c, err := c.drawn(seed)
	if err != nil {
		return nil, err
	}
	tr, err := c.newTraffic(seed)
	if err != nil {
		return nil, err
	}
	cfg := virtual.Config{
		Topology: c.net, Program: prog, Hosts: hostsFor(prog.Manifest, c.Hosts), Paths: c.Paths, Faults: c.Faults, Seed: seed, Scale: c.scale, CountBytes: c.bytes,
		Threads: o.Threads, Progress: o.Progress, Event: o.Event, Served: o.Serve != nil,
	}
	var follower Follower
	var lab *virtual.Lab
	var why *causes.Recorder
	explain := func() *result.Causes {
		return why.Report(lab.Fabric.Now(), func(i int) fabric.Flow { return lab.Fabric.Flow(i).Flow })
	}
	if o.Explain || c.Explain {
		why = causes.New(c.Faults, causes.DefaultLimits)
	}
	if o.Follow != nil {
		start := Start{c.scenario, c.String(), seed, c.net, prog, tr.flows, c.Faults, nil}
		if why != nil {
			start.Causes = explain
		}
		follower = o.Follow(start)
		cfg.Tap = follower.Tap
	}
	if o.Trace != nil {
		cfg.Trace, cfg.Tap, cfg.Threads = true, together(cfg.Tap, o.Trace.Tap), 1
	}
	lab, err = virtual.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer lab.Close()
	if why != nil {
		why.Attach(lab)
	}
	r := &runner{c: c, lab: lab, prog: prog, o: o, lines: lines{net: c.net}, traffic: tr, follower: follower}
	for _, id := range c.net.Switches() {
		for _, m := range prog.Of(id).Manifest.Registers {
			if slices.Contains(c.Watch.Registers, m.Name) && !slices.Contains(r.watched, m.Name) {
				r.watched = append(r.watched, m.Name)
			}
		}
	}
	if len(c.Packets) > 0 || len(c.Expect) > 0 {
		r.packets = packets.Start(lab.Fabric, c.Packets, seed, c.Hosts.Overhead)
		for _, id := range c.net.Switches() {
			lab.Switch(id).FollowCopies()
		}
	}
	if o.Trace != nil {
		if err := o.Trace.Begin(lab, r.packets); err != nil {
			return nil, err
		}
	}
	if o.Serve != nil {
		if r.gate, err = lab.Gate(ctx, *o.Serve); err != nil {
			return nil, err
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
	lab.Over()
	run := result.Collect(c.net, results, lab.Fabric.Progress().Hops, r.isMeasured)
	run.Summary.MaxQueue = longestQueue(c.net, lab)
	run.Scenario, run.Profile, run.Seed = c.scenario, c.Label, seed
	run.Arm, run.Point, run.Stuck = c.Arm, c.Point, r.stuck
	if why != nil {
		run.Causes = explain()
	}
	run.Lines, run.Rates, run.Watched = r.lines.done(), r.rates, r.registered
	for _, s := range lab.Storms() {
		run.Remarks = append(run.Remarks, fmt.Sprintf("PFC watchdog: %s port %d class %d was in a storm %d times, for %v in total, of which %d are over; %d packets were dropped and %d sent meanwhile",
			s.Switch, s.Port, s.Class, s.Storms, s.StormTime, s.Restored, s.StormDrops, s.StormSent))
	}
	if remark := lab.BeyondLimit(); remark != "" {
		run.Remarks = append(run.Remarks, remark)
	}
	if runErr != nil {
		run.Partial = true
		return run, cmp.Or(ctx.Err(), runErr)
	}
	large := large(prog, r.c.net.Switches(), mostCells)
	if len(large) > 0 {
		run.Remarks = append(run.Remarks, fmt.Sprintf("the registers of all switches have more than %d cells together, so these were not recorded: %s", mostCells, strings.Join(slices.Sorted(maps.Keys(large)), ", ")))
	}
	if run.Registers, err = r.registers(ctx, prog, large); err != nil {
		return run, err
	}
	run.Summary.Scheme = count(prog, run.Registers)
	if c.scale > 0 {
		run.Summary.Scheme[result.MarkedPackets] = result.Marked(results)
	}
	if r.packets != nil {
		c.Received(run, r.packets)
		if o.Packets != nil {
			if err := o.Packets(run, r.packets); err != nil {
				return run, err
			}
		}
	}
	r.measure(run)
	return run, lab.Loss()
}

// Received notes in a run what became of single packets, and what is not as expected.
func (c *Case) Received(run *result.Run, r *packets.Run) {
	run.Packets = packetResults(c, r)
	for i := range c.Expect {
		if why := c.Expect[i].Verdict(r); why != "" {
			run.Unmet = append(run.Unmet, why)
		}
	}
}

// runner executes one run.
type runner struct {
	c       *Case
	lab     *virtual.Lab
	prog    *program.Program
	packets *packets.Run // nil: none
	o       Options
	lines   lines
	rates   []result.Line
	traffic *traffic
	// watched are the registers to read that the program has; the scenario may
	// name registers of other profiles.
	watched []string
	// registered are their lines, of programs for BMv2.
	registered []result.Line
	measured   []int      // all measured flows so far
	pending    []int      // those of them that are not finished; without a window, all flows
	first      vtime.Time // when the first flow starts
	moves      progressMeter
	stuck      []result.Stuck
	// acked has the acknowledged bytes of each flow at both ends of the window.
	acked    [2][]int64
	follower Follower // nil: none
	gate     *virtual.Gate
}

// loop runs until all measured flows are finished, no flow can proceed, or the time
// is over. It stops at times at which something is to be read.
func (r *runner) loop(ctx context.Context) error {
	c, f, tr := r.c, r.lab.Fabric, r.traffic
	sample, watch := c.Sample, c.Watch.Every
	if len(r.watched) == 0 {
		watch = 0
	}
	nextSample, nextWatch, nextFeed := after(0, sample), after(0, watch), vtime.Time(0)
	points := 0
	edges := [2]vtime.Time{tr.window.from, tr.window.until}
	r.moves.wait = stuckAfter(&r.lab.Hosts)
	reroutes := c.Reroutes
	for {
		now := f.Now()
		for i := range edges {
			if edges[i] == now && c.Open() {
				r.acked[i] = acknowledged(f, tr.added)
			}
		}
		if now == nextFeed {
			first := tr.added
			var err error
			if nextFeed, err = tr.feed(f); err != nil {
				return err
			}
			r.expect(first)
			if now == 0 {
				r.lab.Ready()
			}
		}
		r.settle()
		if r.gate != nil {
			if err := r.gate.Pass(ctx, now); err != nil {
				return err
			}
		}
		if len(r.pending) == 0 && (!c.Open() || now >= tr.window.until) && r.delivered() && r.gate == nil || now >= c.Until {
			return nil
		}
		if d := f.Deadlock(deadlockAfter); d != nil {
			r.deadlocked(d)
			return nil
		}
		if r.immobile(now) {
			return nil
		}
		for len(reroutes) > 0 && reroutes[0].At <= now {
			if err := r.lab.Reroute(ctx, reroutes[0].Without); err != nil {
				return err
			}
			reroutes = reroutes[1:]
		}
		next := min(nextSample, nextWatch, nextFeed, now+max(maxSlice, r.idle(now)), c.Until)
		if len(reroutes) > 0 {
			next = min(next, reroutes[0].At)
		}
		for _, e := range edges {
			if e > now && c.Open() {
				next = min(next, e)
			}
		}
		if err := r.follow(ctx, next); err != nil {
			return err
		}
		if f.Now() == nextSample {
			r.lines.sample(r.lab)
			r.sampleRates()
			if points += len(r.lines.egress) + len(r.lines.ingress) + len(r.rates); points > maxLinePoints {
				return fmt.Errorf("the time lines have more than %d points at %v; make sample longer than %v, or until earlier", maxLinePoints, f.Now(), sample)
			}
			nextSample = after(nextSample, sample)
		}
		if f.Now() == nextWatch {
			if err := r.watch(ctx); err != nil {
				return err
			}
			nextWatch = after(nextWatch, watch)
		}
	}
}

// delivered reports whether all single packets were sent, and none is under way.
func (r *runner) delivered() bool {
	return r.packets == nil || r.packets.Done(r.lab.Fabric) && r.lab.Fabric.Frames() == 0
}

// idle returns the time from now on in which no flow can have started, in whole
// slices: flows of other simulators start at two seconds.
func (r *runner) idle(now vtime.Time) vtime.Time {
	if r.c.Open() || r.first <= now || r.packets != nil {
		return 0
	}
	return (r.first - now) / maxSlice * maxSlice
}

// follow runs until next. It calls the follower in between, but the run cannot end
// there: it must end at the same time as without a follower.
func (r *runner) follow(ctx context.Context, next vtime.Time) error {
	f := r.lab.Fabric
	if r.follower == nil {
		return f.RunUntil(ctx, next)
	}
	for f.Now() < next {
		look := r.follower.Next()
		if err := f.RunUntil(ctx, min(look, next)); err != nil {
			return err
		}
		if f.Now() == look {
			r.follower.Look(r.lab)
		}
	}
	return nil
}

// expect adds the flows from the given one on to the measured and pending ones.
func (r *runner) expect(first int) {
	tr := r.traffic
	if r.first = vtime.Never; len(tr.flows) > 0 {
		r.first = slices.MinFunc(tr.flows, func(a, b fabric.Flow) int { return cmp.Compare(a.Start, b.Start) }).Start
	}
	ids := tr.measured(first, tr.added)
	r.measured = append(r.measured, ids...)
	if !r.c.Open() {
		// The run continues until all flows have ended, measured or not.
		ids = make([]int, tr.added)
		for i := range ids {
			ids[i] = i
		}
	}
	if r.c.Open() {
		ids = slices.DeleteFunc(slices.Clone(ids), r.endless)
	}
	r.pending = append(r.pending, ids...)
}

// settle removes finished flows from pending.
func (r *runner) settle() {
	switch f := r.lab.Fabric; {
	case r.c.Open():
		r.pending = slices.DeleteFunc(r.pending, f.Ended)
	case f.Done():
		r.pending = nil
	}
}

func acknowledged(f *fabric.Fabric, n int) []int64 {
	acked := make([]int64, n)
	for i := range acked {
		acked[i] = f.Acked(i)
	}
	return acked
}

// maxSlice is the longest time between two checks for the end of all flows.
const maxSlice = 100 * vtime.Microsecond

// deadlockAfter is the time after which a cycle of paused ports counts as a
// deadlock.
const deadlockAfter = 2 * vtime.Millisecond

func after(t, interval vtime.Time) vtime.Time {
	if interval <= 0 {
		return vtime.Never
	}
	return t + interval
}

// watch reads the watched registers of all switches.
func (r *runner) watch(ctx context.Context) error {
	for _, id := range r.c.net.Switches() {
		sw := r.c.net.Nodes[id].Name
		of := r.prog.Of(id)
		for _, name := range r.watched {
			if of.Own() && !slices.ContainsFunc(of.Manifest.Registers, func(m manifest.Register) bool { return m.Name == name }) {
				continue // it has another program
			}
			a, err := r.lab.Register(ctx, id, name)
			if err != nil {
				return err
			}
			if r.o.Read != nil {
				r.o.Read(sw, r.lab.Fabric.Now(), a)
			}
			if r.c.scale > 0 {
				r.registered = result.Watch(r.registered, sw, name, a.Unit, r.lab.Fabric.Now().Nanoseconds(), a.Values)
			}
		}
	}
	return nil
}

// mostCells is how many cells of registers a run records, 64 MB.
const mostCells = 8_000_000

// large returns the registers, by name, without which the switches have at most most
// cells: the largest ones, and none that counts.
func large(prog *program.Program, switches []int, most int) map[string]bool {
	cells := make(map[string]int)
	sum := 0
	for _, id := range switches {
		for _, m := range prog.Of(id).Manifest.Registers {
			n := 1
			for _, d := range m.Index {
				n *= d.Size
			}
			if sum += n; !counts(m) {
				cells[m.Name] += n
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(cells), func(a, b string) int {
		return cmp.Or(cmp.Compare(cells[b], cells[a]), cmp.Compare(a, b))
	})
	large := make(map[string]bool)
	for _, name := range names {
		if sum <= most {
			break
		}
		large[name] = true
		sum -= cells[name]
	}
	return large
}

// registers reads the registers of the manifest from all switches, without some. Counters
// of tables are registers of one cell.
func (r *runner) registers(ctx context.Context, prog *program.Program, without map[string]bool) ([]result.Register, error) {
	var all []result.Register
	for _, id := range r.c.net.Switches() {
		sw, prog := r.c.net.Nodes[id].Name, prog.Of(id)
		for _, m := range prog.Manifest.Registers {
			if without[m.Name] {
				continue
			}
			a, err := r.lab.Register(ctx, id, m.Name)
			if err != nil {
				return nil, err
			}
			all = append(all, result.Register{
				Switch: sw, Name: a.Name, TNS: r.lab.Fabric.Now().Nanoseconds(), Unit: m.Unit, Index: indexText(a.Index), Values: a.Values,
			})
		}
		for _, m := range prog.Manifest.Counters {
			control, err := r.lab.Control(ctx)
			if err != nil {
				return nil, err
			}
			n, err := control.Session(sw).ReadTableCounter(ctx, m.Table, m.Action)
			if err != nil {
				return nil, err
			}
			all = append(all, result.Register{
				Switch: sw, Name: m.Name, TNS: r.lab.Fabric.Now().Nanoseconds(), Unit: m.Unit, Index: "one:1", Values: []uint64{n},
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

// counts tells whether a register counts packets or messages.
func counts(m manifest.Register) bool { return m.Unit == "packets" || m.Unit == "messages" }

// count returns the sums over all switches and cells of the registers that count
// packets and messages.
func count(prog *program.Program, registers []result.Register) map[string]uint64 {
	sums := make(map[string]uint64)
	for _, m := range prog.Manifest.Registers {
		if counts(m) {
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

// LastHop returns the sums of counting registers with one cell per port, over the
// ports that lead to hosts.
func LastHop(t *topo.Topology, registers []result.Register) map[string]uint64 {
	sums := make(map[string]uint64)
	for _, r := range registers {
		if dim, size, _ := strings.Cut(r.Index, ":"); dim != "port" || strings.Contains(size, ",") {
			continue
		}
		for i, p := range t.NodeByName(r.Switch).Ports {
			if i+1 < len(r.Values) && t.Nodes[p.Peer].Kind == topo.Host {
				sums[r.Name] += r.Values[i+1]
			}
		}
	}
	return sums
}

// longestQueue returns the greatest length of an egress queue in bytes.
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

// lines gathers time lines of the queues of all switch ports, if there are samples.
type lines struct {
	net     *topo.Topology
	egress  []result.Line
	ingress []result.Line
}

// begin makes the lines.
func (l *lines) begin() {
	for _, id := range l.net.Switches() {
		for i := range l.net.Nodes[id].Ports {
			name, port := l.net.Nodes[id].Name, i+1
			l.egress = append(l.egress, result.Line{Name: fmt.Sprintf("%s port %d egress", name, port), Unit: "bytes", Node: name, Port: port})
			l.ingress = append(l.ingress, result.Line{Name: fmt.Sprintf("%s port %d ingress", name, port), Unit: "bytes", Node: name, Port: port})
		}
	}
}

func (l *lines) sample(lab *virtual.Lab) {
	if l.egress == nil {
		l.begin()
	}
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

// done returns the lines that are not all zero.
func (l *lines) done() []result.Line {
	return slices.DeleteFunc(append(l.egress, l.ingress...), func(line result.Line) bool {
		return !slices.ContainsFunc(line.V, func(v uint64) bool { return v > 0 })
	})
}

// measure sets the metrics of a run, its window and whether it was steady.
func (r *runner) measure(run *result.Run) {
	tr := r.traffic
	o := &result.Observed{
		Topology: r.c.net, Results: run.Raw, Measured: r.isMeasured, Parts: len(r.c.Traffic),
		Waves: func(part int) bool {
			return part >= 1 && part <= len(r.c.Traffic) && (r.c.Traffic[part-1].Incast != nil || r.c.Traffic[part-1].Burst != nil)
		},
		From: tr.window.from, Until: tr.window.until, Acked: r.acked,
		MaxQueue: run.Summary.MaxQueue, Causes: run.Causes, Lines: run.Lines, Stuck: run.Stuck, Scheme: run.Summary.Scheme, LastHop: LastHop(r.c.net, run.Registers), Packets: run.Packets,
	}
	run.Metrics, run.Steady, run.Links = result.Measure(o)
	if r.c.Open() {
		run.Window = &result.Window{FromNS: tr.window.from.Nanoseconds(), UntilNS: tr.window.until.Nanoseconds()}
	}
	for _, i := range r.pending {
		run.Cut = run.Cut || len(r.stuck) == 0 && !r.lab.Fabric.Ended(i) && !r.endless(i)
	}
}

// endless reports whether a flow lasts until the end of the run.
func (r *runner) endless(i int) bool { return r.c.Endless(r.traffic.flows[i].Group) }

// Endless reports whether the flows of a part of the traffic, from 1, last until the
// end of the run.
func (c *Case) Endless(part int) bool {
	return part >= 1 && part <= len(c.Traffic) && c.Traffic[part-1].Long != nil && c.Traffic[part-1].Long.Size == 0
}

// together returns the taps of two observers, the first of which may be nil.
func together(a, b func(*topo.Node) fabric.Tap) func(*topo.Node) fabric.Tap {
	if a == nil {
		return b
	}
	return func(n *topo.Node) fabric.Tap {
		if first := a(n); first != nil {
			return &twoTaps{first, b(n)}
		}
		return b(n)
	}
}

type twoTaps struct{ a, b fabric.Tap }

// Arrive implements fabric.Tap.
func (t *twoTaps) Arrive(now vtime.Time, port int, f *packet.Frame) {
	t.a.Arrive(now, port, f)
	t.b.Arrive(now, port, f)
}
