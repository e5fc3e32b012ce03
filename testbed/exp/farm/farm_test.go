// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

const tiny = `name: tiny
network: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 3, rate: 40Gbps, delay: 2us}}
profile: ecmp
arms:
- {name: a}
- {name: b, hosts: {recovery: irn}}
vary:
- {axis: size, key: traffic.0.incast.size, values: [20KB, 40KB, 60KB]}
traffic:
- incast: {degree: 2, size: 20KB, to: h1, jitter: 6us}
seeds: [1, 2, 3, 4]
claims:
- {less: avg_fct_us, with: b, than: a}
`

func plan(t testing.TB, text string) *exp.Plan {
	t.Helper()
	s, err := scenario.Parse("tiny.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := exp.NewPlan(s, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func store(t testing.TB) *exp.Store {
	t.Helper()
	st, err := exp.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// patience is the limit of each wait of a test.
const patience = 4 * time.Minute

func outcome(t testing.TB, p *exp.Plan, st *exp.Store, o exp.Options) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exp.Run(ctx, p, st, o)
	if f, ok := o.Maker.(*Farm); ok && err != nil {
		t.Log(f.state())
	}
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := out.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// offer connects a farm that offers jobs until the test ends.
func offer(t testing.TB, url string, lease time.Duration) *Farm {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f, err := Connect(ctx, Options{Secret: secret, URL: url, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Offer(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); f.Close() })
	return f
}

const lease = 600 * time.Millisecond

// secret is the key of the tests' farms.
var secret = Key{1, 2, 3}

// patient is a worker that never gives a job up: tests kill workers, and a slow
// machine may let many leases expire.
var patient = Worker{Parallel: 2, Tries: 1 << 20}

// TestMain runs a worker if FARM_TEST_URL is set.
func TestMain(m *testing.M) {
	url := os.Getenv("FARM_TEST_URL")
	if url == "" {
		os.Exit(m.Run())
	}
	f, err := Connect(context.Background(), Options{Secret: secret, URL: url, Lease: lease})
	if err == nil {
		err = f.Work(context.Background(), Worker{Tries: patient.Tries})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func worker(t testing.TB, url string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FARM_TEST_URL="+url)
	if err := cmd.Start(); err != nil {
		t.Error(err) // not Fatal: also called from other goroutines
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

// publisher closes done when it has published on all subjects of left.
type publisher struct {
	jetstream.JetStream
	mu   sync.Mutex
	left map[string]bool
	done chan struct{}
}

func (p *publisher) Publish(ctx context.Context, subject string, data []byte, o ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := p.JetStream.Publish(ctx, subject, data, o...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left[subject] {
		delete(p.left, subject)
		if len(p.left) == 0 {
			close(p.done)
		}
	}
	return ack, err
}

// An invalid message on a job's subject is removed, and the job is queued again, so that
// Make returns.
func TestInvalidMessageDoesNotBlockAJob(t *testing.T) {
	s := serve(t, t.TempDir(), server.RANDOM_PORT)
	defer s.Shutdown()
	url := "nats://" + s.Addr().String()
	farm := offer(t, url, lease)
	p := plan(t, strings.Replace(tiny, "[1, 2, 3, 4]", "[1]", 1))
	want := outcome(t, p, store(t), exp.Options{})
	for i, j := range p.Jobs() {
		text := []string{"no job", `{"key":"another"}`}[i%2]
		if _, err := farm.js.Publish(t.Context(), farm.subject(j.Key), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mine, err := Connect(ctx, Options{Secret: secret, URL: url, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	refused := &publisher{JetStream: farm.js, left: make(map[string]bool), done: make(chan struct{})}
	for _, j := range p.Jobs() {
		refused.left[farm.subject(j.Key)] = true
	}
	farm.js = refused
	wg.Go(func() {
		select {
		case <-refused.done:
			mine.Work(ctx, patient)
		case <-ctx.Done():
		}
	})
	if got := outcome(t, p, store(t), exp.Options{Parallel: 50, Maker: farm}); got != want {
		t.Error("the outcome differs")
	}
}

// A run that fails at a worker is a failed run of the outcome. A worker of another
// build is refused. An unreachable server is an error.
func TestWorkersAreRefusedAndRunsFailAlone(t *testing.T) {
	s := serve(t, t.TempDir(), server.RANDOM_PORT)
	defer s.Shutdown()
	url := "nats://" + s.Addr().String()
	farm := offer(t, url, lease)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	other, err := Connect(ctx, Options{Secret: secret, URL: url, Build: "another"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Work(ctx, Worker{}); err == nil || !strings.Contains(err.Error(), "this is build another, and jobs are offered by "+exp.Version()) {
		t.Errorf("a worker of another build: %v", err)
	}
	mine, err := Connect(ctx, Options{Secret: secret, URL: url, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := mine.Work(ctx, patient); err != nil {
			t.Error(err)
		}
	})
	p := plan(t, strings.Replace(tiny, "hosts: {recovery: irn}", "network.switch: {buffer: 30KB, pfc: {xoff: 20KB, headroom: 1KB}}", 1))
	want := outcome(t, p, store(t), exp.Options{})
	if got := outcome(t, p, store(t), exp.Options{Parallel: 50, Maker: farm}); got != want {
		t.Error("failures at workers are not those of runs here")
	}
	if !strings.Contains(want, `"state":"failed"`) {
		t.Error("no run fails")
	}
	cancel()
	wg.Wait()
	if _, err := Connect(context.Background(), Options{Secret: secret, URL: "nats://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "no NATS server at nats://127.0.0.1:1") {
		t.Errorf("no server: %v", err)
	}
}

// Two processes with different stores that request the same runs both get them: a
// result that one has deleted is made again for the other, whose Make did not
// return before.
func TestTwoProcessesRequestTheSameRuns(t *testing.T) {
	s := serve(t, t.TempDir(), server.RANDOM_PORT)
	defer s.Shutdown()
	url := "nats://" + s.Addr().String()
	p := plan(t, strings.Replace(tiny, "[1, 2, 3, 4]", "[1, 2]", 1))
	want := outcome(t, p, store(t), exp.Options{})
	mine, err := Connect(t.Context(), Options{Secret: secret, URL: url, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() {
		if err := mine.Work(ctx, patient); err != nil {
			t.Error(err)
		}
	})
	first, second := offer(t, url, lease), offer(t, url, lease)
	st := store(t)
	done := make(chan error, 1)
	var out *result.Outcome
	go func() {
		var err error
		out, err = exp.Run(ctx, p, st, exp.Options{Parallel: 50, Maker: first})
		done <- err
	}()
	got := outcome(t, p, store(t), exp.Options{Parallel: 50, Maker: second})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := out.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if got != want || b.String() != want {
		t.Errorf("the same outcome as without workers: %v and %v", b.String() == want, got == want)
	}
}

// failing is a store that takes no objects.
type failing struct{ memory }

func (failing) PutBytes(context.Context, string, []byte) (*jetstream.ObjectInfo, error) {
	return nil, errors.New("no space left")
}

// A job whose result the server does not take is not acknowledged, so that another
// worker makes it, and the worker says why. Before, it was acknowledged, in silence.
func TestJobWithoutResultIsNotAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, b := farmInMemory()
		f.results = failing{memory{objects: map[string][]byte{}}}
		var lines []string
		f.log = func(text string) { lines = append(lines, text) }
		b.w.make = func(_ context.Context, j *job) (string, *exp.Record, error) {
			return "a run", &exp.Record{Key: j.Key, Build: "b", Run: &result.Run{}}, nil
		}
		m := &message{subject: f.subject("k"), data: secret.sign("b", "job", "k", []byte(`{"key":"k"}`))}
		b.handle(t.Context(), m)
		if len(m.answers) > 0 {
			t.Errorf("the message was answered by %q", m.answers)
		}
		// The lease is a minute, and the worker tries for two.
		again := "a result cannot be stored: no space left; trying again"
		if want := []string{"a run: 0.0 s", again, again}; !slices.Equal(lines, want) {
			t.Errorf("the worker said %q, want %q", lines, want)
		}
	})
}

// A plan that the server has deleted while its jobs wait is sent again. Before,
// workers that did not have it left the jobs to others for ever.
func TestDeletedPlanIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, b := farmInMemory()
		p := plan(t, tiny)
		name, err := f.send(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		clear(f.plans.(memory).objects)
		time.Sleep(10 * f.lease) // of the bubble
		if _, err := f.send(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if _, err := b.plan(t.Context(), name); err != nil {
			t.Error(err)
		}
	})
}

// If the connection ends for good, Make and Work return an error. Before, they tried
// for ever.
func TestClosedConnectionIsAnError(t *testing.T) {
	s := serve(t, t.TempDir(), server.RANDOM_PORT)
	defer s.Shutdown()
	url := "nats://" + s.Addr().String()
	p := plan(t, tiny)
	farm := offer(t, url, lease)
	farm.sent[p] = sentPlan{"a plan", time.Now()}
	published := &publisher{JetStream: farm.js, left: map[string]bool{farm.subject(p.Jobs()[0].Key): true}, done: make(chan struct{})}
	farm.js = published
	made := make(chan error, 1)
	go func() {
		_, err := farm.Make(t.Context(), p, p.Jobs()[0], func(string) {})
		made <- err
	}()
	mine, err := Connect(t.Context(), Options{Secret: secret, URL: url, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	b, err := mine.bench(t.Context(), patient)
	if err != nil {
		t.Fatal(err)
	}
	b.w.make = func(_ context.Context, j *job) (string, *exp.Record, error) {
		mine.Close()
		return "", nil, errors.New("the connection is closed")
	}
	if err := b.work(t.Context()); err == nil || !strings.Contains(err.Error(), "the connection to the NATS server has ended") {
		t.Errorf("a worker: %v", err)
	}
	<-published.done
	farm.Close()
	if err := <-made; err == nil || !strings.Contains(err.Error(), "the connection to the NATS server has ended") {
		t.Errorf("who waits for a result: %v", err)
	}
}
