// SPDX-License-Identifier: Apache-2.0

// Package farm distributes the runs of experiments to workers, on this machine or
// on others, over NATS JetStream.
//
// A job is a message on a subject of its own, pauseless.jobs.BUILD.KEY, in a
// work queue that takes one message per subject, so a job is queued once, however
// often it is published. A worker holds it by a lease that it renews while it
// runs. If a worker dies, hangs or is cut off, its lease expires and another worker
// gets the job. The result is written into an object store under the key before the
// job is acknowledged. A run is a pure function of its key, so two workers that make
// the same run have the same result, and either is used.
//
// The build is part of subject and key. Workers of another build than the one that
// offers jobs are refused when they start.
//
// The server and its other clients are not trusted. Every message is signed with a
// Key that they do not have, together with the build, what kind of message it is, and
// which run or plan it is about: a message of someone else, of another build, or
// about another run is none. Sizes are limited before and while anything is read. A
// plan carries the files that it refers to, so that a worker reads none of its own. A
// job that no worker has finished after Tries is reported as failed.
package farm

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/testbed/exp"
)

// Options say how to reach the server.
type Options struct {
	URL         string // nats://host:port, tls://…; several, separated by commas
	Credentials string // file with a user's credentials
	CA          string // file with certificates of authorities, for TLS
	Cert, Key   string // files with this client's certificate, for TLS
	// Lease is how long a worker may be silent before another gets its job; zero is
	// 30 s.
	Lease time.Duration
	// Stall is the time without progress of virtual time after which a run is ended, and
	// given to another worker once; zero is exp.DefaultStall.
	Stall time.Duration
	// Secret is the key of the farm.
	Secret Key
	// Build names the program; empty is exp.Version. Tests set it.
	Build string
	// Log, if set, is called with lines about the connection, about what fails and is
	// tried again, and, of a worker, about each of its runs.
	Log func(text string)
}

// Farm is a connection to the server.
type Farm struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	jobs    jetstream.Stream
	plans   jetstream.ObjectStore
	results jetstream.ObjectStore
	failed  jetstream.KeyValue
	builds  jetstream.KeyValue
	build   string
	key     Key
	id      string // of the key
	lease   time.Duration
	stall   time.Duration
	log     func(text string)

	mu      sync.Mutex
	waiting map[string][]chan struct{}     // of the callers of Make that wait, by keys of jobs
	begun   map[string]func(worker string) // callbacks for jobs that a worker begins
	told    map[string]time.Time           // when retry reported what failed

	sending sync.Mutex
	sent    map[*exp.Plan]sentPlan
}

// sentPlan is a plan that the server had at some time.
type sentPlan struct {
	name string // there
	at   time.Time
}

// keep is how long the server keeps messages and results that are not fetched.
const keep = 14 * 24 * time.Hour

// Connect connects to the server and creates its streams and stores if missing.
func Connect(ctx context.Context, o Options) (*Farm, error) {
	if o.Secret == (Key{}) {
		return nil, errors.New("a farm needs a key")
	}
	f := &Farm{build: o.Build, key: o.Secret, id: o.Secret.id(), lease: o.Lease, stall: o.Stall, log: o.Log, waiting: make(map[string][]chan struct{}), begun: make(map[string]func(string)),
		sent: make(map[*exp.Plan]sentPlan), told: make(map[string]time.Time)}
	if f.build == "" {
		f.build = exp.Version()
	}
	if f.lease == 0 {
		f.lease = 30 * time.Second
	}
	if f.log == nil {
		f.log = func(string) {}
	}
	opts := []nats.Option{nats.Name("pauseless " + exp.Version()), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.Timeout(5 * time.Second),
		nats.PingInterval(20 * time.Second), // a silent connection ends within a minute
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // not by Close
				f.log(fmt.Sprintf("the connection to the NATS server is lost: %v; trying again", err))
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { // permissions, for instance
			f.retry(context.Background(), "the connection to the NATS server", err)
		}),
		nats.ReconnectHandler(func(*nats.Conn) { f.log("the NATS server is connected again") })}
	if o.Credentials != "" {
		opts = append(opts, credentials(o.Credentials))
	} else {
		opts = append(opts, nats.Token(o.Secret.Token())) // a user in the URL has precedence
	}
	if o.CA != "" || o.Cert != "" || o.Key != "" {
		opts = append(opts, certificates(o))
	}
	opts = append(opts, nats.SetCustomDialer(dialer{}))
	nc, err := nats.Connect(o.URL, opts...)
	if err != nil {
		if advice := infile.TLSAdvice(err); advice != "" {
			err = fmt.Errorf("%w; %s", err, advice)
		}
		return nil, fmt.Errorf("no NATS server at %s: %w", o.URL, err)
	}
	f.nc = nc
	if err := f.open(ctx); err != nil {
		nc.Close()
		return nil, fmt.Errorf("NATS server at %s: %w (it needs JetStream: nats-server -js)", o.URL, err)
	}
	return f, nil
}

func (f *Farm) open(ctx context.Context) (err error) {
	if f.js, err = jetstream.New(f.nc); err != nil {
		return err
	}
	if f.jobs, err = f.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: "pauseless_jobs", Subjects: []string{"pauseless.jobs.>"}, Retention: jetstream.WorkQueuePolicy,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1, MaxAge: keep,
	}); err != nil {
		return err
	}
	object := func(name string) (jetstream.ObjectStore, error) {
		o, err := f.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, TTL: keep})
		if err != nil {
			return nil, err
		}
		s, err := f.js.Stream(ctx, "OBJ_"+name)
		return bucket{o, s, name}, err
	}
	if f.plans, err = object("pauseless_plans"); err != nil {
		return err
	}
	if f.results, err = object("pauseless_results"); err != nil {
		return err
	}
	if f.failed, err = f.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "pauseless_failed", TTL: keep}); err != nil {
		return err
	}
	f.builds, err = f.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "pauseless_builds", TTL: keep})
	return err
}

// fetch returns the signed content of an object of at most so many bytes. The error
// is errForged if there is another object under the name.
func (f *Farm) fetch(ctx context.Context, from jetstream.ObjectStore, kind, about string, most int) (data []byte, err error) {
	err = f.call(ctx, func(ctx context.Context) error {
		info, err := from.GetInfo(ctx, f.named(about))
		switch {
		case errors.Is(err, errLink) || errors.Is(err, jetstream.ErrBadObjectMeta) || err == nil && info.Size > uint64(most+sha256.Size):
			return errForged
		case err != nil:
			return err
		}
		object, err := from.Get(ctx, f.named(about))
		if err != nil {
			return err
		}
		defer object.Close()
		message, err := infile.Bytes(object, "the object", int64(most+sha256.Size)) // it may have more bytes than it says
		if errors.Is(err, infile.ErrSize) || errors.Is(err, jetstream.ErrDigestMismatch) || errors.Is(err, jetstream.ErrInvalidDigestFormat) {
			return errForged
		}
		if err != nil {
			return err
		}
		var ok bool
		if data, ok = f.key.open(f.build, kind, about, message); !ok {
			return errForged
		}
		return nil
	})
	return data, err
}

// errForged is the error of an object that no holder of the key has made.
var errForged = errors.New("it is not signed with the key of this farm")

// named is the name on the server of a run or plan.
func (f *Farm) named(about string) string { return f.id + "." + about }

// call makes one request to the server, with a timeout: the reply is lost if the
// server goes away.
func (f *Farm) call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, max(2*f.lease, 2*time.Second))
	defer cancel()
	return do(ctx)
}

// retry reports that something has failed and is tried again. It is told at most
// once a minute, and not if ctx is done.
func (f *Farm) retry(ctx context.Context, what string, err error) {
	f.mu.Lock()
	at, told := f.told[what]
	tell := ctx.Err() == nil && (!told || time.Since(at) >= time.Minute)
	if tell {
		f.told[what] = time.Now()
	}
	f.mu.Unlock()
	if tell {
		f.log(fmt.Sprintf("%s: %v; trying again", what, err))
	}
}

// closed returns an error if the connection has ended permanently: the server refuses
// this client, or Close was called.
func (f *Farm) closed() error {
	if !f.nc.IsClosed() {
		return nil
	}
	return fmt.Errorf("the connection to the NATS server has ended: %w", cmp.Or(f.nc.LastError(), nats.ErrConnectionClosed))
}

// Close ends the connection.
func (f *Farm) Close() { f.nc.Close() }

func (f *Farm) subject(key string) string {
	return "pauseless.jobs." + f.build + "." + f.named(key)
}

// begins is the subject on which a worker announces that it begins a job. Only
// status lines depend on it.
func (f *Farm) begins(key string) string { return "pauseless.begun." + f.build + "." + f.named(key) }

// job is a message of the queue.
type job struct {
	Plan string `json:"plan"` // in the store of plans
	Case int    `json:"case"`
	Seed uint64 `json:"seed"`
	Key  string `json:"key"`
	// Try is a random number of the caller of Make, which it finds in a failure: an
	// old one that someone sends again has another.
	Try string `json:"try"`
	// Stall is the time without progress after which a worker ends the run; zero is
	// exp.DefaultStall.
	Stall time.Duration `json:"stall,omitempty"`
}

// failure says why a run has failed, or why no worker has finished it.
type failure struct {
	Try  string `json:"try"`
	Text string `json:"text"` // empty: the run is tried again
	// Hangs are the workers at which the run made no progress, and what was seen there.
	Hangs []hang `json:"hangs,omitempty"`
}

// hang says that a run made no progress at a worker.
type hang struct {
	Worker string `json:"worker"`
	Text   string `json:"text"`
}

func (h hang) String() string { return h.Worker + ": " + h.Text }

// Limits of messages, in bytes unless said otherwise, besides those of plans and records.
const (
	maxJob     = 4 << 10
	maxFailure = 16 << 10 // characters
	maxName    = 256      // of a worker
)

// Offer announces that this build has jobs, and watches for results until ctx is
// done. It must be called before Make.
func (f *Farm) Offer(ctx context.Context) error {
	if _, err := f.builds.Put(ctx, f.named(f.build), f.key.sign(f.build, "offer", "", nil)); err != nil {
		return err
	}
	results, err := f.results.Watch(ctx, jetstream.UpdatesOnly())
	if err != nil {
		return err
	}
	failures, err := f.failed.Watch(ctx, f.named("*"), jetstream.UpdatesOnly())
	if err != nil {
		return err
	}
	begun, err := f.nc.Subscribe(f.begins("*"), func(m *nats.Msg) {
		key := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
		name, ok := f.key.open(f.build, "begun", key, m.Data)
		if !ok || len(name) > maxName {
			return
		}
		f.mu.Lock()
		begun := f.begun[key]
		f.mu.Unlock()
		if begun != nil {
			begun(printable(string(name)))
		}
	})
	if err != nil {
		return err
	}
	go func() {
		defer begun.Unsubscribe()
		for {
			select {
			case <-ctx.Done():
				return
			case u, ok := <-results.Updates():
				if !ok {
					return
				}
				if u != nil {
					f.wake(strings.TrimPrefix(u.Name, f.id+"."))
				}
			case u, ok := <-failures.Updates():
				if !ok {
					return
				}
				if u != nil {
					f.wake(strings.TrimPrefix(u.Key(), f.id+"."))
				}
			}
		}
	}()
	return nil
}

// wake wakes the callers of Make that wait for a job.
func (f *Farm) wake(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.waiting[key] {
		select {
		case c <- struct{}{}:
		default: // it is awake
		}
	}
}

// Make queues a run and waits for its result. It implements exp.Maker.
func (f *Farm) Make(ctx context.Context, p *exp.Plan, j exp.Job, begun func(worker string)) (*exp.Record, error) {
	plan, err := f.send(ctx, p)
	if err != nil {
		return nil, err
	}
	try := rand.Text()
	message, err := json.Marshal(job{plan, j.Case, j.Seed, j.Key, try, f.stall})
	if err != nil {
		return nil, err
	}
	message = f.key.sign(f.build, "job", j.Key, message)
	news := make(chan struct{}, 1)
	f.mu.Lock()
	f.begun[j.Key] = begun
	f.waiting[j.Key] = append(f.waiting[j.Key], news)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.begun, j.Key)
		f.waiting[j.Key] = slices.DeleteFunc(f.waiting[j.Key], func(c chan struct{}) bool { return c == news })
		if len(f.waiting[j.Key]) == 0 {
			delete(f.waiting, j.Key)
		}
	}()
	// An earlier failure is forgotten: the run is tried again.
	f.call(ctx, func(ctx context.Context) error {
		if _, err := f.failed.Get(ctx, f.named(j.Key)); err != nil {
			return err
		}
		return f.failed.Delete(ctx, f.named(j.Key))
	})
	for {
		rec, err := f.result(ctx, j, try)
		if rec != nil || err != nil {
			return rec, err
		}
		// If the job is queued already, the server refuses the message. It is published
		// again in each round, since another client may have taken the result.
		if err := f.call(ctx, func(ctx context.Context) error {
			_, err := f.js.Publish(ctx, f.subject(j.Key), message)
			return err
		}); err != nil && !strings.Contains(err.Error(), "maximum messages per subject exceeded") {
			f.retry(ctx, "a job cannot be queued", err)
		}
		if _, err := f.send(ctx, p); err != nil {
			f.retry(ctx, "a job waits", err)
		}
		if err := f.closed(); err != nil {
			return nil, err
		}
		select {
		case <-news:
		case <-time.After(f.lease / 3): // the notice may be lost if the server was unreachable
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Kept deletes a result from the server: the caller has kept it.
func (f *Farm) Kept(ctx context.Context, j exp.Job) {
	f.call(ctx, func(ctx context.Context) error { return f.results.Delete(ctx, f.named(j.Key)) })
}

// result fetches a result, or nil if there is none yet. Errors of the connection
// count as no result: the caller tries again. So does what is not signed; it is
// deleted, since a worker would otherwise not make the run.
func (f *Farm) result(ctx context.Context, j exp.Job, try string) (*exp.Record, error) {
	data, err := f.fetch(ctx, f.results, "result", j.Key, exp.MaxRecord)
	switch {
	case err == nil:
		return f.record(j, data)
	case errors.Is(err, errForged):
		f.retry(ctx, "a result is refused and removed", err)
		f.Kept(ctx, j)
	case !errors.Is(err, jetstream.ErrObjectNotFound):
		f.retry(ctx, "a result cannot be fetched", err)
	}
	var entry jetstream.KeyValueEntry
	err = f.call(ctx, func(ctx context.Context) (err error) {
		entry, err = f.failed.Get(ctx, f.named(j.Key))
		return err
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, ctx.Err()
	}
	if err != nil {
		f.retry(ctx, "failures of runs cannot be fetched", err)
		return nil, ctx.Err()
	}
	why, ok := f.failure(j.Key, entry.Value())
	if !ok {
		f.retry(ctx, "the failure of a run is refused", errForged)
		return nil, ctx.Err()
	}
	if why.Try != try { // of another process that wants the same run, or an old one
		return nil, ctx.Err()
	}
	if why.Text == "" {
		return nil, ctx.Err()
	}
	return nil, exp.RunError{Cause: errors.New(printable(why.Text))}
}

// failure returns the failure of a run that a worker has signed.
func (f *Farm) failure(key string, message []byte) (why failure, ok bool) {
	text, ok := f.key.open(f.build, "failure", key, message)
	return why, ok && len(text) <= 16*maxFailure && json.Unmarshal(text, &why) == nil
}

// record checks that a result is that of a job.
func (f *Farm) record(j exp.Job, data []byte) (*exp.Record, error) {
	rec, err := exp.DecodeRecord(j.Key, data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the result of run %s: %w", j.Key, err)
	case rec.Build != f.build:
		return nil, fmt.Errorf("the result of run %s is of build %q, and this is build %s", j.Key, rec.Build, f.build)
	case rec.Run.Seed != j.Seed:
		return nil, fmt.Errorf("the result of run %s has seed %d instead of %d", j.Key, rec.Run.Seed, j.Seed)
	}
	return rec, nil
}

// printable replaces what a terminal would execute.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// send uploads a plan that the server does not have, and returns its name there. It
// looks again after ten leases: the server deletes plans after some time.
func (f *Farm) send(ctx context.Context, p *exp.Plan) (string, error) {
	f.sending.Lock()
	defer f.sending.Unlock()
	if s := f.sent[p]; s.name != "" && time.Since(s.at) < 10*f.lease {
		return s.name, nil
	}
	name, data, err := p.Pack()
	if err == nil {
		if _, have := f.fetch(ctx, f.plans, "plan", name, exp.MaxPlan); have != nil {
			err = f.call(ctx, func(ctx context.Context) error {
				_, err := f.plans.PutBytes(ctx, f.named(name), f.key.sign(f.build, "plan", name, data))
				return err
			})
		}
	}
	if err != nil {
		return "", fmt.Errorf("the plan cannot be sent to the workers: %w", err)
	}
	f.sent[p] = sentPlan{name, time.Now()}
	return name, nil
}

// maxBuilds is the greatest number of builds that are looked at.
const maxBuilds = 100

// refused returns an error if only other builds offer jobs with this key.
func (f *Farm) refused(ctx context.Context) error {
	// The client's Keys ignores its context: it blocks if the server goes away. One
	// listing decides: with two, a build could appear in between.
	var builds []string
	if err := f.call(ctx, func(ctx context.Context) error {
		if v, err := f.builds.Get(ctx, f.named(f.build)); err == nil {
			if _, ok := f.key.open(f.build, "offer", "", v.Value()); ok { // whatever else is there
				builds = []string{f.build}
				return nil
			}
		}
		keys, err := f.builds.Watch(ctx, f.named("*"), jetstream.IgnoreDeletes(), jetstream.MetaOnly())
		if err != nil {
			return err
		}
		defer keys.Stop()
		for {
			select {
			case k, ok := <-keys.Updates():
				if !ok || k == nil || len(builds) == maxBuilds { // all, or a flood
					return nil
				}
				builds = append(builds, strings.TrimPrefix(k.Key(), f.id+"."))
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}); err != nil {
		return err
	}
	builds = slices.DeleteFunc(builds, func(build string) bool {
		signed := false
		f.call(ctx, func(ctx context.Context) error {
			v, err := f.builds.Get(ctx, f.named(build))
			if err == nil {
				_, signed = f.key.open(build, "offer", "", v.Value())
			}
			return err
		})
		return !signed
	})
	if len(builds) == 0 || slices.Contains(builds, f.build) {
		return nil
	}
	slices.Sort(builds)
	return fmt.Errorf("this is build %s, and jobs are offered by %s: their runs may differ; use the same program on all machines", f.build, strings.Join(builds, ", "))
}
