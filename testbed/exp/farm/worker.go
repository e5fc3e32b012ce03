// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// Worker makes runs.
type Worker struct {
	Parallel, Threads int // runs at a time, goroutines of each; zero is one
	// Tries is how many workers get a job that none of them finishes, before it counts
	// as failed; zero is 5.
	Tries int
	// Idle, if not zero, is how long to wait for a job before Work returns.
	Idle time.Duration

	// make, if set, replaces bench.make. Tests set it.
	make func(context.Context, *job) (name string, rec *exp.Record, err error)
}

// maxHangs is how many workers get a run that makes no progress at any of them.
const maxHangs = 2

// Work fetches jobs and makes their runs until ctx is done. It returns an error if
// this build is refused, or if the connection ends permanently.
func (f *Farm) Work(ctx context.Context, w Worker) error {
	b, err := f.bench(ctx, w)
	if err != nil {
		return err
	}
	return b.work(ctx)
}

// bench returns a worker that is ready.
func (f *Farm) bench(ctx context.Context, w Worker) (*bench, error) {
	if err := f.refused(ctx); err != nil {
		return nil, err
	}
	cons, err := f.jobs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "build_" + f.build + "_" + f.id, FilterSubject: f.subject("*"), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: f.lease, MaxDeliver: -1, MaxAckPending: -1,
	})
	if err != nil {
		return nil, err
	}
	return &bench{f: f, w: w, cons: cons, plans: make(map[string]*exp.Plan), hung: make(map[string]bool)}, nil
}

// bench is the state of a worker.
type bench struct {
	f    *Farm
	w    Worker
	cons jetstream.Consumer

	mu    sync.Mutex
	plans map[string]*exp.Plan

	stalls sync.Mutex
	left   error           // a run that cannot be stopped: this worker takes no more
	hung   map[string]bool // runs that hung here, and are left to others once
}

func (b *bench) work(ctx context.Context) error {
	var wg sync.WaitGroup
	errs := make([]error, max(b.w.Parallel, 1))
	for i := range errs {
		wg.Go(func() { errs[i] = b.loop(ctx) })
	}
	wg.Wait()
	return cmp.Or(errs...)
}

func (b *bench) loop(ctx context.Context) error {
	last := time.Now()
	for ctx.Err() == nil && b.leftBehind() == nil && (b.w.Idle == 0 || time.Since(last) < b.w.Idle) {
		wait := b.f.lease / 6
		if b.w.Idle > 0 {
			wait = min(wait, b.w.Idle)
		}
		msg, err := b.cons.Next(jetstream.FetchMaxWait(wait))
		if err != nil {
			// No job, or the server is unreachable.
			if err := b.f.closed(); err != nil && ctx.Err() == nil {
				return err
			}
			if !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
				b.f.retry(ctx, "jobs cannot be fetched", err)
				pause(ctx, time.Second)
			}
			continue
		}
		b.handle(ctx, msg)
		last = time.Now()
	}
	return b.leftBehind()
}

// leftBehind returns an error if a run here cannot be stopped.
func (b *bench) leftBehind() error {
	b.stalls.Lock()
	defer b.stalls.Unlock()
	return b.left
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout() || err.Error() == "nats: timeout"
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// handle makes the run of a message. The message is acknowledged once the server
// has the result, and not before: its lease expires, and the job is made again.
func (b *bench) handle(ctx context.Context, msg jetstream.Msg) {
	key := msg.Subject()[strings.LastIndexByte(msg.Subject(), '.')+1:]
	text, ok := b.f.key.open(b.f.build, "job", key, msg.Data())
	var j job
	if !ok || len(text) > maxJob || json.Unmarshal(text, &j) != nil || j.Key != key || msg.Subject() != b.f.subject(key) {
		b.f.retry(ctx, "a message of the queue is removed", errForged)
		msg.Term() // Make queues the job again
		return
	}
	if data, err := b.f.fetch(ctx, b.f.results, "result", key, exp.MaxRecord); err == nil {
		if _, err := b.f.record(exp.Job{Case: j.Case, Seed: j.Seed, Key: key}, data); err == nil {
			b.ack(ctx, msg) // another worker has made it
			return
		}
	}
	tries := max(b.w.Tries, 0)
	if tries == 0 {
		tries = 5
	}
	if m, err := msg.Metadata(); err == nil && m.NumDelivered > uint64(tries) {
		b.fail(ctx, msg, &j, key, fmt.Errorf("no worker has finished this run: %d have begun it, and each has ended, or was silent for %v; does it need more memory than they have? `exp run` without workers shows it", m.NumDelivered-1, b.f.lease))
		return
	}
	if b.leaveToOthers(key) {
		msg.Term() // Make queues the job again
		return
	}
	host, _ := os.Hostname()
	worker := fmt.Sprintf("%.200s, process %d", host, os.Getpid())
	b.f.nc.Publish(b.f.begins(key), b.f.key.sign(b.f.build, "begun", key, []byte(worker)))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(b.f.lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				msg.InProgress()
			}
		}
	})
	var named atomic.Value
	named.Store(key)
	rec, err := exp.Watched(ctx, max(j.Stall, 0), func(ctx context.Context, progress func(fabric.Progress)) (*exp.Record, error) {
		return b.make(ctx, &j, func(name string) { named.Store(name) }, progress)
	})
	name := named.Load().(string)
	close(done)
	wg.Wait()
	if ctx.Err() != nil {
		msg.Nak() // another worker gets it at once
		return
	}
	if noPlan := (errNoPlan{}); errors.As(err, &noPlan) {
		b.f.retry(ctx, "a plan cannot be fetched", err)
		msg.Term() // Make sends the plan and queues the job again
		return
	}
	if stalled := (exp.Stalled{}); errors.As(err, &stalled) {
		b.stalled(ctx, msg, &j, name, worker, stalled)
		return
	}
	var data []byte
	if err == nil {
		data, err = rec.Encode()
	}
	if err != nil {
		b.fail(ctx, msg, &j, name, err)
		return
	}
	b.f.log(fmt.Sprintf("%s: %.1f s", name, rec.TookS))
	data = b.f.key.sign(b.f.build, "result", key, data)
	if b.until(ctx, "a result cannot be stored", func(ctx context.Context) error {
		_, err := b.f.results.PutBytes(ctx, b.f.named(key), data)
		return err
	}) == nil {
		b.ack(ctx, msg)
	}
}

// fail reports that a run has failed, and removes its job from the queue.
func (b *bench) fail(ctx context.Context, msg jetstream.Msg, j *job, name string, cause error) {
	b.f.log(fmt.Sprintf("%s: failed: %v", name, cause))
	if b.note(ctx, j.Key, failure{Try: j.Try, Text: fmt.Sprintf("%.*s", maxFailure, cause)}) == nil {
		b.ack(ctx, msg)
	}
}

// note stores why a run has failed so far.
func (b *bench) note(ctx context.Context, key string, why failure) error {
	text, err := json.Marshal(why)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	text = b.f.key.sign(b.f.build, "failure", key, text)
	return b.until(ctx, "the failure of a run cannot be stored", func(ctx context.Context) error {
		_, err := b.f.failed.Put(ctx, b.f.named(key), text)
		return err
	})
}

// stalled gives a run that made no progress here to another worker, or reports that it
// has failed at several.
func (b *bench) stalled(ctx context.Context, msg jetstream.Msg, j *job, name, worker string, cause exp.Stalled) {
	b.f.log(fmt.Sprintf("%s: %v\n%s", name, cause, cause.Stacks))
	if cause.Left {
		b.stalls.Lock()
		b.left = fmt.Errorf("%s: %w; this worker takes no more runs: start it again", name, cause)
		b.stalls.Unlock()
	}
	why := failure{Try: j.Try}
	b.f.call(ctx, func(ctx context.Context) error {
		entry, err := b.f.failed.Get(ctx, b.f.named(j.Key))
		if err != nil {
			return err // it has not hung before
		}
		if was, ok := b.f.failure(j.Key, entry.Value()); ok && was.Try == j.Try {
			why.Hangs = was.Hangs
		}
		return nil
	})
	why.Hangs = append(why.Hangs, hang{worker, cause.Error()})
	if len(why.Hangs) >= maxHangs {
		var at []string
		for _, h := range why.Hangs {
			at = append(at, h.String())
		}
		b.fail(ctx, msg, j, name, fmt.Errorf("the run hung at %d workers: %s\n%s", len(at), strings.Join(at, "; "), cause.Stacks))
		return
	}
	b.stalls.Lock()
	b.hung[j.Key] = true
	b.stalls.Unlock()
	if b.note(ctx, j.Key, why) == nil {
		msg.Term() // Make queues the job again
	}
}

// leaveToOthers reports whether a run hung here, the first time that it is offered again.
func (b *bench) leaveToOthers(key string) bool {
	b.stalls.Lock()
	defer b.stalls.Unlock()
	hung := b.hung[key]
	delete(b.hung, key)
	return hung
}

// ack removes a job from the queue.
func (b *bench) ack(ctx context.Context, msg jetstream.Msg) {
	b.until(ctx, "a job cannot be acknowledged", func(ctx context.Context) error {
		err := msg.DoubleAck(ctx)
		if errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			return nil
		}
		return err
	})
}

// until retries until do succeeds, or until the lease has certainly expired.
func (b *bench) until(ctx context.Context, what string, do func(context.Context) error) (err error) {
	for end := time.Now().Add(2 * b.f.lease); ctx.Err() == nil && time.Now().Before(end); pause(ctx, 200*time.Millisecond) {
		if err = b.f.call(ctx, do); err == nil {
			return nil
		}
		b.f.retry(ctx, what, err)
	}
	return cmp.Or(err, ctx.Err())
}

// make makes the run of a job. It calls named as soon as it knows the run's name.
func (b *bench) make(ctx context.Context, j *job, named func(string), progress func(fabric.Progress)) (*exp.Record, error) {
	if b.w.make != nil {
		name, rec, err := b.w.make(ctx, j)
		named(name)
		return rec, err
	}
	p, err := b.plan(ctx, j.Plan)
	if err != nil {
		return nil, err
	}
	if j.Case < 0 || j.Case >= len(p.Scenario.Cases()) {
		return nil, fmt.Errorf("the plan has no case %d", j.Case)
	}
	mine := p.Job(j.Case, j.Seed)
	named(p.Name(mine))
	if mine.Key != j.Key {
		return nil, errors.New("this worker would make another run than requested: the schemes of this machine differ (--schemes)")
	}
	return p.Record(ctx, mine, scenario.Options{Threads: max(b.w.Threads, 1), Progress: progress})
}

// errNoPlan reports that the server has no such plan. The job is left to another
// worker.
type errNoPlan struct{ error }

// plan fetches a plan by its name on the server and compiles it once.
func (b *bench) plan(ctx context.Context, name string) (*exp.Plan, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.plans[name]; p != nil {
		return p, nil
	}
	data, err := b.f.fetch(ctx, b.f.plans, "plan", name, exp.MaxPlan)
	if err != nil {
		return nil, errNoPlan{err}
	}
	p, err := exp.Unpack(name, data)
	if err != nil {
		return nil, err
	}
	b.plans[name] = p
	return p, nil
}
