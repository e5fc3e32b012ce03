// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// Options say how to run an experiment. None but Budget changes the outcome.
type Options struct {
	// Parallel is how many runs are made at the same time, Threads how many
	// goroutines each has; zero means one.
	Parallel, Threads int
	// Stall is the time without progress of virtual time after which a run fails; zero is
	// DefaultStall.
	Stall time.Duration
	// Maker, if set, makes the runs in place of this process.
	Maker Maker
	// Budget, if not zero, is the time after which no further run is begun.
	Budget time.Duration
	// Sweep, if set, is the sweep that the plan is part of, and After are the plans
	// after it. Both serve to estimate the time of all.
	Sweep *Sweep
	After []*Plan
	// Earlier, if set, is an outcome of the same file and scale. Its runs are not
	// made again, except for the sample, one of each arm, which must have the same
	// result: number Sample modulo the number of the arm's runs, in the order of the plan.
	Earlier *result.Outcome
	Sample  uint32
	// OnEvent, if set, is called with each event. Calls do not overlap.
	OnEvent func(Event)
}

// A Maker makes runs in other processes. Make returns the same record as
// Plan.Record, except for the time taken. A RunError concerns this run only; any
// other error ends the experiment. Make may call begun with the name of the worker
// that begins the run. Kept is called after the store has kept the record.
type Maker interface {
	Make(ctx context.Context, p *Plan, j Job, begun func(worker string)) (*Record, error)
	Kept(context.Context, Job)
}

// RunError is the error of one run. Others may succeed.
type RunError struct{ Cause error }

func (e RunError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e RunError) Unwrap() error { return e.Cause }

// Event is something that happens to a run.
type Event struct {
	Kind  Kind
	Job   Job
	Name  string // of the job
	Index int    // of the run, from 1, among Total that are known so far
	Total int
	Took  time.Duration   // of a finished run
	At    fabric.Progress // of a run under way
	Err   error
	Note  *result.RunNote
	// Left is the remaining time of the experiment.
	Left Estimate
	// All is the remaining time of the experiment and those after it.
	All Estimate
}

// Kind is a kind of event.
type Kind uint8

// Kinds of event.
const (
	Started     Kind = iota
	Progressing      // a run is under way; sent at intervals
	Finished         // the run is kept
	Cached           // the store or the earlier outcome had the run
	RunFailed        // it failed: Err
	Waiting          // another process is making the run
	SeedsAdded       // seeds were added: Total has changed
)

// ErrBudget reports that runs are missing because the budget is spent.
var ErrBudget = errors.New("the budget is spent")

// Run makes the runs of a plan that are not in the store, and the runs with
// further seeds that its claims need. The outcome includes all runs that could be
// made. If ctx is cancelled, the finished runs are in the store.
func Run(ctx context.Context, p *Plan, st *Store, o Options) (*result.Outcome, error) {
	if o.Earlier != nil {
		if err := Continues(p.Scenario, o.Earlier); err != nil {
			return nil, err
		}
	}
	if p.build != "" {
		panic("BUG: runs are made by this build")
	}
	if err := st.noteBuild(); err != nil {
		return nil, st.writeError("results cannot be kept", err)
	}
	r := &runner{p: p, st: st, o: o, earlier: make(map[string]result.RunNote), done: make(map[Job]result.RunNote), at: make(map[Job]time.Time), pace: make(pace), begun: time.Now()}
	if o.OnEvent != nil {
		for _, after := range o.After {
			r.after += after.missing(st)
		}
	}
	jobs := p.Jobs()
	if o.Earlier != nil {
		r.take(o.Earlier, jobs)
	}
	for {
		r.total = len(r.done) + len(jobs)
		r.jobs = append(r.jobs, jobs...)
		if err := r.makeAll(ctx, jobs); err != nil && !errors.Is(err, ErrBudget) {
			return nil, err
		} else if err != nil {
			out := p.Outcome(r.done, o.Earlier)
			out.Remarks = append(out.Remarks, fmt.Sprintf("%v: %d of %d runs were made", err, len(r.done), r.total))
			out.Partial = true
			return out, nil
		}
		out := p.Outcome(r.done, o.Earlier)
		jobs = jobs[:0]
		for _, j := range p.MoreSeeds(out) {
			if _, ok := r.done[j]; !ok {
				jobs = append(jobs, j)
			}
		}
		if len(jobs) == 0 {
			return out, nil
		}
		r.emit(Event{Kind: SeedsAdded, Total: len(r.done) + len(jobs)})
	}
}

// Continues returns an error if the runs of an outcome are not those of a scenario, so
// that no seeds can be added to it. Other claims, premises and seeds do not matter. Arms
// of the outcome get the names that they have now.
func Continues(s *scenario.Scenario, earlier *result.Outcome) error {
	switch {
	case earlier.Scale != s.Scale:
	case earlier.Scenario == RunsHash(s), earlier.Scenario == sum(s.Text()):
		return nil
	case earlier.Scenario == sum(s.EarlierRuns()):
		earlier.Rename(s.Was())
		return nil
	}
	return fmt.Errorf("the earlier outcome of %s is of another file or scale; run without it, and all runs are made", s.Name)
}

// RunsHash returns the hash of what the runs of a scenario follow from. Outcomes of
// earlier versions have that of the whole file instead.
func RunsHash(s *scenario.Scenario) string { return sum(s.Runs()) }

// take keeps the runs of an earlier outcome that need not be made again: not those that
// failed or had stuck flows, nor those of stale arms. One of each arm is in the sample,
// which is made again even if the budget is spent.
func (r *runner) take(earlier *result.Outcome, jobs []Job) {
	stale := StaleArms(earlier, r.p.arms())
	for _, n := range earlier.Again() {
		// A run with stuck flows may end in another way with this version.
		if n.State != result.Failed && len(n.Stuck)+n.StuckLeftOut == 0 && !slices.ContainsFunc(stale, func(s Stale) bool { return s.Arm == n.Arm }) {
			r.earlier[jobName(n.Arm, n.Point, n.Seed)] = n
		}
	}
	names := make(map[string][]string) // of the runs of an arm
	for _, j := range jobs {
		if name := r.p.Name(j); r.earlier[name].State != "" {
			names[r.earlier[name].Arm] = append(names[r.earlier[name].Arm], name)
		}
	}
	r.sample = make(map[string]bool)
	for _, list := range names {
		r.sample[list[r.o.Sample%uint32(len(list))]] = true
	}
}

// taken returns the note of a run of the earlier outcome that is not made again.
func (r *runner) taken(j Job) (result.RunNote, bool) {
	name := r.p.Name(j)
	n, ok := r.earlier[name]
	return n, ok && !r.sample[name]
}

// same checks that the sample has the same result as in the earlier outcome.
func (r *runner) same(j Job, n *result.RunNote) error {
	name := r.p.Name(j)
	if !r.sample[name] {
		return nil
	}
	was := r.earlier[name]
	differs := func(what string, old, now any) error {
		return fmt.Errorf("%s: %s was %v in the earlier outcome and is %v now: pauseless has changed since; run without the earlier outcome, and all runs are made", name, what, old, now)
	}
	if n.State != was.State {
		return differs("its state", was.State, n.State)
	}
	for _, metric := range slices.Sorted(maps.Keys(n.Metrics)) {
		if old, ok := was.Metrics[metric]; ok && !result.SameKept(old, n.Metrics[metric]) {
			return differs(metric, old, n.Metrics[metric])
		}
	}
	return nil
}

// runner is the state of an experiment under way.
type runner struct {
	p     *Plan
	st    *Store
	o     Options
	begun time.Time
	total int
	// earlier are the runs of Options.Earlier by the names of their jobs.
	earlier map[string]result.RunNote
	sample  map[string]bool // those of them that are made again

	mu        sync.Mutex
	done      map[Job]result.RunNote
	jobs      []Job             // all that are known
	at        map[Job]time.Time // when those under way were begun
	pace      pace
	parallel  int // runs at a time, of the last estimate
	atOnce    int // runs at a time by workers, while enough were left
	index     int
	estimated time.Time
	estimate  Estimate
	all       Estimate
	cost      time.Duration // of an estimate
	after     int           // runs of the plans after it
}

// left estimates the remaining time.
func (r *runner) left() Estimate {
	if !r.pace.enough() {
		return Estimate{}
	}
	begun := time.Now()
	defer func() { r.cost = time.Since(begun) }()
	var missing []Job
	elapsed := make(map[Job]float64)
	for _, j := range r.jobs {
		if _, ok := r.done[j]; ok {
			continue
		}
		missing = append(missing, j)
		if at, ok := r.at[j]; ok {
			elapsed[j] = time.Since(at).Seconds()
		}
	}
	parallel := r.o.Parallel
	if r.o.Maker != nil { // workers may be fewer than Parallel: count those under way and the one that has just ended
		if len(missing) > len(r.at) || r.atOnce == 0 {
			r.atOnce = len(r.at) + 1
		}
		parallel = r.atOnce
	}
	r.parallel = parallel
	return r.pace.left(r.p, missing, elapsed, r.p.Outcome(r.done, r.o.Earlier), parallel)
}

func (r *runner) emit(e Event) {
	if r.o.OnEvent == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Name == "" && e.Job.Key != "" {
		e.Name = r.p.Name(e.Job)
	}
	if (e.Kind == Finished || e.Kind == Progressing) && (r.estimated.IsZero() || time.Since(r.estimated) >= max(estimateEvery, 50*r.cost)) {
		if r.estimate = r.left(); r.estimate.Known() {
			r.estimated = time.Now()
		}
		r.all = r.estimate
		if r.o.Sweep != nil {
			r.all = r.o.Sweep.all(r.estimate, r.after, r.parallel)
		}
	}
	since := time.Since(r.estimated)
	e.Left, e.All = r.estimate.after(since), r.all.after(since)
	r.o.OnEvent(e)
}

// estimateEvery is the least interval between estimates. It is longer if an
// estimate takes more than a fiftieth of it.
const estimateEvery = time.Second

// makeAll makes some runs, Options.Parallel at a time.
func (r *runner) makeAll(ctx context.Context, jobs []Job) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	feed := make(chan Job)
	var wg sync.WaitGroup
	var first error
	fail := func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if first == nil || errors.Is(first, ErrBudget) {
			first = err
		}
		cancel()
	}
	for range min(max(r.o.Parallel, 1), len(jobs)) {
		wg.Go(func() {
			for j := range feed {
				if err := r.one(ctx, j); err != nil {
					fail(err)
				}
			}
		})
	}
feeding:
	for _, j := range onceFirst(jobs) {
		exists := r.earlier[r.p.Name(j)].State != "" || r.st.Has(j.Key)
		if r.o.Budget > 0 && time.Since(r.begun) > r.o.Budget && !exists {
			r.mu.Lock()
			if first == nil {
				first = ErrBudget
			}
			r.mu.Unlock()
			continue // runs that exist take no time, but for the sample
		}
		select {
		case feed <- j:
		case <-ctx.Done():
			break feeding
		}
	}
	close(feed)
	wg.Wait()
	if first == nil {
		return ctx.Err()
	}
	return first
}

// onceFirst moves jobs with a key that occurred before to the end, so that no worker waits
// for the run of another.
func onceFirst(jobs []Job) []Job {
	seen := make(map[string]bool)
	var first, again []Job
	for _, j := range jobs {
		if seen[j.Key] {
			again = append(again, j)
		} else {
			first = append(first, j)
		}
		seen[j.Key] = true
	}
	return append(first, again...)
}

// one makes a run, unless the store has it. An error ends the experiment. A failed
// run is not an error.
func (r *runner) one(ctx context.Context, j Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	r.index++
	index := r.index
	r.mu.Unlock()
	event := func(k Kind) Event { return Event{Kind: k, Job: j, Index: index, Total: r.total} }
	if n, ok := r.taken(j); ok {
		r.finish(j, n, nil)
		e := event(Cached)
		e.Note = &n
		r.emit(e)
		return nil
	}
	var lease *Lease
	for waited := false; ; waited = true {
		if rec, err := r.st.Get(j.Key); err != nil {
			return fmt.Errorf("%w; finished runs are kept, and the same command continues", err)
		} else if rec != nil {
			n := r.named(j, rec.Run)
			if err := r.same(j, &n); err != nil {
				return err
			}
			r.finish(j, n, rec)
			e := event(Cached)
			e.Note = &n
			r.emit(e)
			return nil
		}
		c, ok, err := r.st.Lease(j.Key, r.p.Name(j), r.o.Maker != nil)
		if err != nil {
			return r.st.writeError("results cannot be kept", err)
		}
		if ok && r.st.Has(j.Key) { // another process has just made it
			c.Release()
			continue
		}
		if ok {
			defer c.Release()
			lease = c
			break
		}
		if !waited {
			r.emit(event(Waiting))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(waitForOthers):
		}
	}
	begun := time.Now()
	begin := func() {
		r.mu.Lock()
		r.at[j] = time.Now()
		r.mu.Unlock()
		r.emit(event(Started))
	}
	var rec *Record
	var err error
	if r.o.Maker != nil {
		rec, err = r.o.Maker.Make(ctx, r.p, j, func(worker string) {
			lease.Begun(worker)
			begin()
		})
	} else {
		begin()
		rec, err = Watched(ctx, r.o.Stall, func(ctx context.Context, progress func(fabric.Progress)) (*Record, error) {
			return r.p.Record(ctx, j, scenario.Options{Threads: r.o.Threads, Progress: func(at fabric.Progress) {
				progress(at)
				if ctx.Err() != nil {
					return
				}
				e := event(Progressing)
				e.At = at
				r.emit(e)
			}})
		})
	}
	took := time.Since(begun)
	if err := ctx.Err(); err != nil {
		return err
	}
	var own RunError
	if err != nil && r.o.Maker != nil && !errors.As(err, &own) {
		return err
	}
	if err != nil {
		r.st.Fail(j.Key, r.p.Name(j), err)
		c := r.p.Case(j)
		n := result.RunNote{Arm: c.Arm, Point: c.Point, Seed: j.Seed, Key: j.Key, State: result.Failed, Error: err.Error()}
		if err := r.same(j, &n); err != nil {
			return err
		}
		r.finish(j, n, nil)
		e := event(RunFailed)
		e.Err, e.Took = err, took
		r.emit(e)
		return nil
	}
	if err := r.st.Put(rec); err != nil {
		return r.st.writeError(r.p.Name(j)+" cannot be kept", err)
	}
	if r.o.Maker != nil {
		r.o.Maker.Kept(ctx, j)
	}
	n := r.named(j, rec.Run)
	if err := r.same(j, &n); err != nil {
		return err
	}
	r.finish(j, n, rec)
	e := event(Finished)
	e.Took, e.Note = time.Duration(rec.TookS*float64(time.Second)), &n
	r.emit(e)
	return nil
}

// waitForOthers is the interval of looking for a run that another process makes.
const waitForOthers = 200 * time.Millisecond

// named returns the note of a run under the names of this plan. Another experiment
// may have made the run under other names.
func (r *runner) named(j Job, run *result.Run) result.RunNote {
	n := note(j, run)
	c := r.p.Case(j)
	n.Arm, n.Point = c.Arm, c.Point
	return n
}

// finish notes a finished run. Rec is nil if it failed, or is an earlier one.
func (r *runner) finish(j Job, n result.RunNote, rec *Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[j] = n
	delete(r.at, j)
	if rec == nil || rec.TookS <= 0 {
		return
	}
	r.pace.add(r.p.keys(j), rec.TookS)
	if s := r.o.Sweep; s != nil {
		s.seconds, s.runs = s.seconds+rec.TookS, s.runs+1
	}
}

// Record makes a run for a store.
func (p *Plan) Record(ctx context.Context, j Job, o scenario.Options) (*Record, error) {
	begun := time.Now()
	run, err := p.Make(ctx, j, o)
	if err != nil {
		return nil, err
	}
	return &Record{Key: j.Key, Build: Version(), TookS: time.Since(begun).Seconds(), Run: run}, nil
}

// Make makes a run, a pure function of the job.
func (p *Plan) Make(ctx context.Context, j Job, o scenario.Options) (run *result.Run, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			run, err = nil, fmt.Errorf("%v\n%s", cause, debug.Stack())
		}
	}()
	if o.Event == nil {
		o.Event = ignoreEvent
	}
	run, err = p.Case(j).Run(ctx, p.Program(j), j.Seed, o)
	if err != nil {
		return nil, err
	}
	run.Network = nil // it is in the manifest
	return run, nil
}

func ignoreEvent(controlplane.Event) {}
