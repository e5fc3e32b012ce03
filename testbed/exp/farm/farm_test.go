// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

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
	f, err := Connect(ctx, Options{URL: url, Lease: lease})
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

// TestMain runs a worker if FARM_TEST_URL is set.
func TestMain(m *testing.M) {
	url := os.Getenv("FARM_TEST_URL")
	if url == "" {
		os.Exit(m.Run())
	}
	f, err := Connect(context.Background(), Options{URL: url, Lease: lease})
	if err == nil {
		err = f.Work(context.Background(), Worker{})
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

// An invalid message on a job's subject is removed, and the job is queued again.
// Before, the job was never made, and Make did not return.
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
	mine, err := Connect(ctx, Options{URL: url, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		asked := func() bool { // all jobs have been published twice
			farm.mu.Lock()
			defer farm.mu.Unlock()
			return !slices.ContainsFunc(p.Jobs(), func(j exp.Job) bool { return len(farm.waiting[j.Key]) < 2 })
		}
		for ctx.Err() == nil && !asked() {
			time.Sleep(10 * time.Millisecond)
		}
		mine.Work(ctx, Worker{})
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
	other, err := Connect(ctx, Options{URL: url, Build: "another"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Work(ctx, Worker{}); err == nil || !strings.Contains(err.Error(), "this is build another, and jobs are offered by "+exp.Version()) {
		t.Errorf("a worker of another build: %v", err)
	}
	mine, err := Connect(ctx, Options{URL: url, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := mine.Work(ctx, Worker{Parallel: 2}); err != nil {
			t.Error(err)
		}
	})
	p := plan(t, strings.Replace(tiny, "hosts: {recovery: irn}", "network.switch: {buffer: 30KB, pfc: {xoff: 20KB, headroom: 1KB}}", 1))
	want := outcome(t, p, store(t), exp.Options{})
	if got := outcome(t, p, store(t), exp.Options{Parallel: 50, Maker: farm}); got != want {
		t.Error("failures at workers are not those of runs here")
	}
	if !strings.Contains(want, `"state": "failed"`) {
		t.Error("no run fails")
	}
	cancel()
	wg.Wait()
	if _, err := Connect(context.Background(), Options{URL: "nats://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "no NATS server at nats://127.0.0.1:1") {
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
	mine, err := Connect(t.Context(), Options{URL: url, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() {
		if err := mine.Work(ctx, Worker{Parallel: 2}); err != nil {
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
