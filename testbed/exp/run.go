// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// Options say how to run an experiment, which does not change what comes out,
// but for Budget.
type Options struct {
	// Parallel is how many runs are made at the same time, Threads how many
	// goroutines each has; zero means one.
	Parallel, Threads int
	// Maker, if set, makes the runs in place of this process.
	Maker Maker
	// Budget, if not zero, is the time after which no further run is begun.
	Budget time.Duration
	// Sweep, if set, is what the plan is part of, and After are those that come
	// after it: for telling how long all take.
	Sweep *Sweep
	After []*Plan
	// Tell, if set, is called with what happens, from one goroutine at a
	// time.
	Tell func(Event)
}

// A Maker has runs made elsewhere. What it returns is the same as what
// Plan.Record does, but for the time it took. A RunError is the run's own, any
// other ends the experiment. Begun may be called when a worker begins the run,
// with its name. Kept is called when the store has what Make returned.
type Maker interface {
	Make(ctx context.Context, p *Plan, j Job, begun func(worker string)) (*Record, error)
	Kept(context.Context, Job)
}

// RunError is an error of a run: another may well succeed.
type RunError struct{ Cause error }

func (e RunError) Error() string { return e.Cause.Error() }

// Unwrap returns what went wrong.
func (e RunError) Unwrap() error { return e.Cause }

// Event is something that happens to a run.
type Event struct {
	Kind  Kind
	Job   Job
	Name  string // of the job
	Index int    // of the run, from 1, among Total that are known so far
	Total int
	Took  time.Duration   // of a run that is over
	At    fabric.Progress // of one that is going on
	Err   error
	Note  *result.RunNote
	// Left is how long it takes until the experiment is over.
	Left Left
	// All is how long it takes until those after it are over, too.
	All Left
}

// Kind is a kind of event.
type Kind uint8

// Kinds of event.
const (
	Begun   Kind = iota
	Going        // now and then
	Over         // the run is kept
	Found        // it was there already
	Broken       // it failed: Err
	Waiting      // another process is at it
	Added        // seeds were added: Total is new
)

// ErrBudget reports that not all runs were made because the time was up.
var ErrBudget = errors.New("the budget is spent")

// Run makes all runs of a plan that are not in the store, and those that its
// claims need to be precise. The outcome is about all runs that could be made.
// If ctx is done, what is done is in the store.
func Run(ctx context.Context, p *Plan, st *Store, o Options) (*result.Outcome, error) {
	r := &running{p: p, st: st, o: o, done: make(map[Job]result.RunNote), at: make(map[Job]time.Time), took: make(map[Job]float64), begun: time.Now()}
	if o.Tell != nil {
		r.costs = newCosts(p, st)
		seen := make(map[string]bool)
		for _, after := range o.After {
			r.after += after.ahead(st, seen)
		}
	}
	all := false
	defer func() { p.leave(st, r.took, all) }()
	jobs := p.Jobs()
	for {
		r.total = len(r.done) + len(jobs)
		r.jobs = append(r.jobs, jobs...)
		if err := r.batch(ctx, jobs); err != nil && !errors.Is(err, ErrBudget) {
			return nil, err
		} else if err != nil {
			out := p.Outcome(r.done)
			out.Remarks = append(out.Remarks, fmt.Sprintf("%v: %d of %d runs were made", err, len(r.done), r.total))
			out.Partial = true
			return out, nil
		}
		out := p.Outcome(r.done)
		jobs = jobs[:0]
		for _, j := range p.More(out) {
			if _, ok := r.done[j]; !ok {
				jobs = append(jobs, j)
			}
		}
		if len(jobs) == 0 {
			all = true
			return out, nil
		}
		r.tell(Event{Kind: Added, Total: len(r.done) + len(jobs)})
	}
}

// running is an experiment that is under way.
type running struct {
	p     *Plan
	st    *Store
	o     Options
	begun time.Time
	total int

	mu       sync.Mutex
	done     map[Job]result.RunNote
	jobs     []Job             // all that are known
	at       map[Job]time.Time // when those under way were begun
	took     map[Job]float64   // seconds
	costs    *costs            // nil if nobody is told
	parallel int               // how many were thought to be made at a time
	atOnce   int               // how many runs workers made at a time while there were more
	index    int
	told     time.Time
	estimate Left
	all      Left
	after    float64 // seconds that the runs of those after it took before
}

// left estimates how long it takes until all runs are over.
func (r *running) left() Left {
	var runs []waiting
	for _, j := range r.jobs {
		if _, ok := r.done[j]; ok {
			continue
		}
		w := waiting{job: j}
		if at, ok := r.at[j]; ok {
			w.elapsed = max(time.Since(at), 1).Seconds()
		}
		runs = append(runs, w)
	}
	parallel := r.o.Parallel
	if r.o.Maker != nil { // not as many as are asked for: those under way, and the one that has just ended
		if len(runs) > len(r.at) || r.atOnce == 0 {
			r.atOnce = len(r.at) + 1
		}
		parallel = r.atOnce
	}
	r.parallel = parallel
	return r.costs.left(runs, parallel)
}

func (r *running) tell(e Event) {
	if r.o.Tell == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Name == "" && e.Job.Key != "" {
		e.Name = r.p.Name(e.Job)
	}
	if (e.Kind == Over || e.Kind == Going) && (r.told.IsZero() || time.Since(r.told) >= max(tellEvery, 100*r.costs.cost)) {
		e.Left, r.told = r.left(), time.Now()
		r.estimate, r.all = e.Left, e.Left
		if r.o.Sweep != nil {
			r.all = r.o.Sweep.all(e.Left, r.after, r.parallel)
		}
	} else {
		e.Left = r.estimate
	}
	e.All = r.all
	r.o.Tell(e)
}

// tellEvery is how often the time that is left is estimated anew, if that takes
// less than a hundredth of it.
const tellEvery = time.Second

// batch makes some runs, as many at a time as there shall be.
func (r *running) batch(ctx context.Context, jobs []Job) error {
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
	for range max(r.o.Parallel, 1) {
		wg.Go(func() {
			for j := range feed {
				if err := r.one(ctx, j); err != nil {
					fail(err)
				}
			}
		})
	}
feeding:
	for _, j := range jobs {
		if r.o.Budget > 0 && time.Since(r.begun) > r.o.Budget && !r.st.Has(j.Key) {
			r.mu.Lock()
			first = ErrBudget
			r.mu.Unlock()
			continue // what is in the store costs nothing
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

// one makes a run, unless the store has it. An error ends the experiment; a
// run that fails does not.
func (r *running) one(ctx context.Context, j Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	r.index++
	index := r.index
	r.mu.Unlock()
	event := func(k Kind) Event { return Event{Kind: k, Job: j, Index: index, Total: r.total} }
	var claim *Claim
	for waited := false; ; waited = true {
		if rec, err := r.st.Get(j.Key); err != nil {
			return fmt.Errorf("%w; what is done is kept, and the same command goes on", err)
		} else if rec != nil {
			n := r.named(j, rec.Run)
			r.finish(j, n, rec)
			e := event(Found)
			e.Note = &n
			r.tell(e)
			return nil
		}
		c, ok, err := r.st.Claim(j.Key, r.p.Name(j), r.o.Maker != nil)
		if err != nil {
			return r.st.noRoom("no result can be kept", err)
		}
		if ok && r.st.Has(j.Key) { // another has just made it
			c.Release()
			continue
		}
		if ok {
			defer c.Release()
			claim = c
			break
		}
		if !waited {
			r.tell(event(Waiting))
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
		r.tell(event(Begun))
	}
	var rec *Record
	var err error
	if r.o.Maker != nil {
		rec, err = r.o.Maker.Make(ctx, r.p, j, func(worker string) {
			claim.Begun(worker)
			begin()
		})
	} else {
		begin()
		rec, err = r.p.Record(ctx, j, scenario.Options{Threads: r.o.Threads, Progress: func(at fabric.Progress) {
			e := event(Going)
			e.At = at
			r.tell(e)
		}})
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
		r.finish(j, n, nil)
		e := event(Broken)
		e.Err, e.Took = err, took
		r.tell(e)
		return nil
	}
	if err := r.st.Put(rec); err != nil {
		return r.st.noRoom(r.p.Name(j)+" cannot be kept", err)
	}
	if r.o.Maker != nil {
		r.o.Maker.Kept(ctx, j)
	}
	n := r.named(j, rec.Run)
	r.finish(j, n, rec)
	e := event(Over)
	e.Took, e.Note = time.Duration(rec.TookS*float64(time.Second)), &n
	r.tell(e)
	return nil
}

// waitForOthers is how often to look whether another process has made a run.
const waitForOthers = 200 * time.Millisecond

// named notes a run under the names of this plan: an arm of another
// experiment may have made it.
func (r *running) named(j Job, run *result.Run) result.RunNote {
	n := note(j, run)
	c := r.p.Case(j)
	n.Arm, n.Point = c.Arm, c.Point
	return n
}

// finish takes note of a run that is over; rec is nil if it failed.
func (r *running) finish(j Job, n result.RunNote, rec *Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[j] = n
	delete(r.at, j)
	var seconds, work float64
	if rec != nil {
		seconds, work = rec.TookS, float64(rec.Run.Summary.Hops)
	}
	if seconds > 0 {
		r.took[j] = seconds
	}
	if r.costs != nil {
		r.costs.add(j, &n, seconds, work)
		r.o.Sweep.add(seconds, r.costs.told(j))
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

// Make makes a run. It depends on nothing but the job: the same job gives the
// same run.
func (p *Plan) Make(ctx context.Context, j Job, o scenario.Options) (run *result.Run, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			run, err = nil, fmt.Errorf("%v\n%s", cause, debug.Stack())
		}
	}()
	if o.Event == nil {
		o.Event = func(controlplane.Event) {}
	}
	run, err = p.Case(j).Run(ctx, p.Program(j), j.Seed, o)
	if err != nil {
		return nil, err
	}
	run.Network = nil // the manifest has it
	return run, nil
}
