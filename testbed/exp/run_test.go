// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

const tiny = `name: tiny
summary: two arms, two sizes
network: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 3, rate: 40Gbps, delay: 2us}}
profile: ecmp
arms:
- {name: a}
- {name: b, hosts: {recovery: irn}}
vary:
- {axis: size, key: traffic.0.incast.size, values: [20KB, 40KB]}
traffic:
- incast: {degree: 2, size: 20KB, to: h1, jitter: 1us}
seeds: [3, 1]
claims:
- {less: avg_fct_us, with: b, than: a}
`

func tinyPlan(t testing.TB, edit ...string) *Plan {
	t.Helper()
	s, err := scenario.Parse("tiny.yaml", []byte(strings.NewReplacer(edit...).Replace(tiny)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func outcome(t *testing.T, p *Plan, st *Store, o Options) string {
	t.Helper()
	out, err := Run(context.Background(), p, st, o)
	if err != nil {
		t.Fatal(err)
	}
	return text(t, out)
}

func text(t *testing.T, o *result.Outcome) string {
	t.Helper()
	var b bytes.Buffer
	if err := o.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func newStore(t testing.TB) *Store {
	t.Helper()
	st, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// The outcome does not depend on the number of runs at a time, the order of their
// ends, or the store's content.
func TestOutcomeDependsOnRunsOnly(t *testing.T) {
	want := outcome(t, tinyPlan(t), newStore(t), Options{Parallel: 1})
	st := newStore(t)
	if got := outcome(t, tinyPlan(t), st, Options{Parallel: 4, Threads: 2}); got != want {
		t.Error("four at a time give another outcome than one at a time")
	}
	made := 0
	if got := outcome(t, tinyPlan(t), st, Options{OnEvent: func(e Event) {
		if e.Kind == Started {
			made++
		}
	}}); got != want || made > 0 {
		t.Errorf("with all runs in the store %d were made again", made)
	}
}

// reread returns an outcome as --keep writes it and --earlier reads it.
func reread(t *testing.T, o *result.Outcome) *result.Outcome {
	t.Helper()
	var b bytes.Buffer
	if err := o.Slim().WriteKept(&b); err != nil {
		t.Fatal(err)
	}
	again, err := result.ReadOutcome(&b)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// With an earlier outcome only one run of each of its arms is made again, and the cells and
// verdicts are those of an experiment that made all runs.
func TestEarlierRunsAreNotMadeAgain(t *testing.T) {
	three := []string{"seeds: [3, 1]", "seeds: [3, 1, 2]", "than: a}", "than: a}\n- {less: paused_us.s1->l1, with: b, than: 1}"}
	whole, err := Run(context.Background(), tinyPlan(t, three...), newStore(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := tinyPlan(t, three...)
	notes := make(map[Job]result.RunNote)
	for _, n := range whole.Runs {
		for i, c := range p.Scenario.Cases() {
			if n.Seed != 2 && c.Arm == n.Arm && c.Point[0] == n.Point[0] {
				notes[p.Job(i, n.Seed)] = n
			}
		}
	}
	earlier := reread(t, p.Outcome(notes, nil))
	var made []string
	out, err := Run(context.Background(), p, newStore(t), Options{Earlier: earlier, OnEvent: func(e Event) {
		if e.Kind == Started {
			made = append(made, e.Name)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "a, 20KB, seed 3; b, 20KB, seed 3; a, 20KB, seed 2; a, 40KB, seed 2; b, 20KB, seed 2; b, 40KB, seed 2"; strings.Join(made, "; ") != want {
		t.Errorf("made %q, want %q", made, want)
	}
	if want := "6 of 12 runs are of an earlier outcome"; !strings.Contains(strings.Join(out.Remarks, "\n"), want) {
		t.Errorf("remarks %q, want %q", out.Remarks, want)
	}
	out.Remarks, out.Links, whole.Remarks, whole.Links = nil, nil, nil, nil
	var got, want bytes.Buffer
	if err := errors.Join(out.Slim().WriteKept(&got), whole.Slim().WriteKept(&want)); err != nil || got.String() != want.String() {
		t.Errorf("error %v; the outcome differs from that of all runs:\n%s\n%s", err, &got, &want)
	}

	// A budget that is spent does not leave out the check.
	made = nil
	st := newStore(t)
	out, err = Run(context.Background(), p, st, Options{Earlier: earlier, Budget: 1, OnEvent: func(e Event) {
		if e.Kind == Started {
			made = append(made, e.Name)
		}
	}})
	if err != nil || !out.Partial || strings.Join(made, "; ") != "a, 20KB, seed 3; b, 20KB, seed 3" {
		t.Errorf("with the budget spent, %q were made: %v", made, err)
	}

	if _, err := Run(context.Background(), tinyPlan(t, three...), newStore(t), Options{Earlier: earlier, Maker: broken{}}); err == nil || !strings.Contains(err.Error(), "a, 20KB, seed 3: its state was done in the earlier outcome and is failed now") {
		t.Errorf("a sample that fails: %v", err)
	}

	// Runs with flows that could not proceed are made again.
	made = nil
	earlier.Runs[0].Stuck = []result.Stuck{{Reason: "unreachable"}}
	if _, err = Run(context.Background(), p, newStore(t), Options{Earlier: earlier, OnEvent: func(e Event) {
		if e.Kind == Started {
			made = append(made, e.Name)
		}
	}}); err != nil || len(made) != 7 || !slices.Contains(made, p.Name(p.Job(0, earlier.Runs[0].Seed))) {
		t.Errorf("with a run that is stuck, %q were made: %v", made, err)
	}
	earlier.Runs[0].Stuck = nil

	earlier.Cells[0].Values["avg_fct_us"][0]++
	if _, err := Run(context.Background(), p, st, Options{Earlier: earlier, Budget: 1}); err == nil || !strings.Contains(err.Error(), "a, 20KB, seed 3: avg_fct_us was ") {
		t.Errorf("with the budget spent, a run with another result: %v", err)
	}
	if _, err := Run(context.Background(), tinyPlan(t, three...), newStore(t), Options{Earlier: earlier}); err == nil || !strings.Contains(err.Error(), "a, 20KB, seed 3: avg_fct_us was ") {
		t.Errorf("a run with another result than in the earlier outcome: %v", err)
	}
	earlier.Scenario = "0"
	if _, err := Run(context.Background(), tinyPlan(t, three...), newStore(t), Options{Earlier: earlier}); err == nil || !strings.Contains(err.Error(), "another file") {
		t.Errorf("an earlier outcome of another file: %v", err)
	}
}

// Two arms with the same run share it, and no worker waits for it.
func TestArmsShareARun(t *testing.T) {
	p := tinyPlan(t, "- {name: b", "- {name: c}\n- {name: b")
	var made []string
	out, err := Run(context.Background(), p, newStore(t), Options{Parallel: 2, OnEvent: func(e Event) {
		switch e.Kind {
		case Started:
			made = append(made, e.Name)
		case Waiting:
			if e.Index <= 8 {
				t.Errorf("%s waits although other runs are to be made", e.Name)
			}
		}
	}})
	if err != nil || len(made) != 8 || len(out.Runs) != 12 {
		t.Fatalf("error %v; runs %q were made for %d; want 8 for 12", err, made, len(out.Runs))
	}
	a, c := &out.Cells[0], &out.Cells[slices.IndexFunc(out.Cells, func(c result.Cell) bool { return c.Arm == "c" })]
	if !slices.Equal(a.Values["avg_fct_us"], c.Values["avg_fct_us"]) {
		t.Errorf("FCTs are %v and %v with the same run", a.Values["avg_fct_us"], c.Values["avg_fct_us"])
	}
}

// broken is a Maker whose runs all fail.
type broken struct{}

func (broken) Make(_ context.Context, _ *Plan, _ Job, begun func(string)) (*Record, error) {
	begun("")
	return nil, RunError{errors.New("it fails")}
}

func (broken) Kept(context.Context, Job) {}

func TestKeyDependsOnTheRunOnly(t *testing.T) {
	base := tinyPlan(t)
	same := tinyPlan(t, "name: tiny", "name: other", "{name: a}", "{name: arm-a}", "than: a}", "than: arm-a}", "summary: two", "summary: 2")
	if base.Job(0, 1).Key != same.Job(0, 1).Key {
		t.Error("names change the key of a run")
	}
	set := func(profile, value string) string {
		return tinyPlan(t, "{name: a}", "{name: a, profile: "+profile+", set: {rlb.warn: "+value+", rlb.calm: 5KB}}").Job(0, 1).Key
	}
	other := tinyPlan(t, "vary:", "- {name: c, profile: rlb-drill}\nset: {rlb.warn: 100KB, rlb.calm: 5KB}\nvary:")
	if other.Job(0, 1).Key != base.Job(0, 1).Key {
		t.Error("a setting that the program does not use changes the key of a run")
	}
	if set("rlb-drill", "100KB") == set("rlb-drill", "120KB") {
		t.Error("a setting that the program uses does not change the key of a run")
	}
	if empty := tinyPlan(t, "{name: a}", "{name: a, hosts: ~}").Job(0, 1).Key; empty != base.Job(0, 1).Key {
		t.Error("a key without a value changes the key of a run")
	}
	keys := map[string]string{base.Job(0, 1).Key: "the first"}
	for what, k := range map[string]string{
		"another seed": base.Job(0, 2).Key, "another arm": base.Job(2, 1).Key, "another point": base.Job(1, 1).Key,
		"another profile": tinyPlan(t, "profile: ecmp", "profile: drill").Job(0, 1).Key,
		"another network": tinyPlan(t, "delay: 2us", "delay: 3us").Job(0, 1).Key,
	} {
		if other := keys[k]; other != "" {
			t.Errorf("%s has the key of %s", what, other)
		}
		keys[k] = what
	}
}

// Seeds are added until claims are precise or clear, up to max_seeds, or up to
// max_seeds_open if they have no verdict.
func TestSeedsAreAddedUntilClaimsAreClear(t *testing.T) {
	clear := "than: b, within: 0.01 %, at: {size: 40KB}, than_at: {size: 20KB}}"
	open := "than: b}\n- {same: avg_fct_us, with: b, than: 14.4, within: 0.01 %, at: {size: 20KB}}"
	for _, c := range []struct{ most, open, claim, want string }{
		{"0", "0", clear, "[3 1]"}, {"3", "0", clear, "[3 1 4]"}, {"9", "0", clear, "[3 1 4 5]"}, {"0", "9", clear, "[3 1]"}, {"3", "9", clear, "[3 1 4]"},
		{"3", "0", open, "[3 1 4]"}, {"0", "4", open, "[3 1 4 5]"}, {"3", "6", open, "[3 1 4 5 6 7]"},
	} {
		most, claim, want := c.most+" and "+c.open, c.claim, c.want
		p := tinyPlan(t, "seeds: [3, 1]", "hosts: {defaults: papers}\nseeds: [3, 1]\nmax_seeds: "+c.most+"\nmax_seeds_open: "+c.open, "jitter: 1us", "jitter: 6us", "than: a}", c.claim)
		out, err := Run(context.Background(), p, newStore(t), Options{Parallel: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range out.Cells {
			seeds := "[3 1]"
			if c.Arm == "b" && (c.Point[0] == "20KB" || claim == clear) {
				seeds = want
			}
			if got := fmt.Sprint(c.Seeds); got != seeds {
				t.Errorf("%s at %s has seeds %s of %s, want %s", c.Arm, c.Point, got, most, seeds)
			}
		}
	}
}

// A given number of seeds is not exceeded, whatever the file says.
func TestReseedAddsNoSeeds(t *testing.T) {
	p := tinyPlan(t, "seeds: [3, 1]", "seeds: [3, 1]\nmax_seeds: 9\nmax_seeds_open: 9", "jitter: 1us", "jitter: 6us", "than: a}", "than: 14.4, within: 0.01 %}")
	p.Scenario.Reseed(2)
	out, err := Run(context.Background(), p, newStore(t), Options{Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range out.Cells {
		if !slices.Equal(c.Seeds, []uint64{1, 2}) {
			t.Errorf("%s at %s has seeds %v, want 1 and 2", c.Arm, c.Point, c.Seeds)
		}
	}
}

// With a limit, seeds of the file and those that are added are as without it, but fewer.
func TestAtMostSoManySeeds(t *testing.T) {
	for n, want := range map[int]string{1: "[3]", 2: "[3 1]", 3: "[3 1 4]", 5: "[3 1 4 5 6]", 9: "[3 1 4 5 6 7]", 12: "[3 1 4 5 6 7]"} {
		p := tinyPlan(t, "seeds: [3, 1]", "seeds: [3, 1]\nmax_seeds: 3\nmax_seeds_open: 6", "jitter: 1us", "jitter: 6us", "than: a}", "than: b}\n- {same: avg_fct_us, with: b, than: 14.4, within: 0.01 %, at: {size: 20KB}}")
		p.Scenario.AtMost(n)
		out, err := Run(context.Background(), p, newStore(t), Options{Parallel: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range out.Cells {
			if got := fmt.Sprint(c.Seeds); c.Arm == "b" && c.Point[0] == "20KB" && got != want {
				t.Errorf("with at most %d seeds: seeds %s, want %s", n, got, want)
			}
		}
	}
}

func TestBudgetEndsAnExperimentBetweenRuns(t *testing.T) {
	p, st := tinyPlan(t), newStore(t)
	out, err := Run(context.Background(), p, st, Options{Budget: time.Nanosecond})
	if err != nil || len(out.Runs) != 0 || len(out.Remarks) == 0 || !strings.Contains(out.Remarks[0], "the budget is spent: 0 of 8 runs") {
		t.Fatalf("error %v, %d runs, remarks %q", err, len(out.Runs), out.Remarks)
	}
	want := outcome(t, p, st, Options{})
	if got := outcome(t, p, st, Options{Budget: time.Nanosecond}); got != want {
		t.Error("runs in the store count against the budget")
	}
}

// Finished runs are kept after an interruption, a broken file and a full disk.
func TestFinishedRunsAreKept(t *testing.T) {
	p, st := tinyPlan(t), newStore(t)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Run(ctx, p, st, Options{OnEvent: func(e Event) {
		if e.Kind == Finished && e.Index == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted, got %v", err)
	}
	s, err := p.Status(st, 1)
	if err != nil || s.Done != 3 || s.Left != 5 || len(s.Running) != 0 || !s.Until.Known() {
		t.Fatalf("error %v, status %+v; want 3 done, 5 left", err, s)
	}
	// The error names a truncated file; once it is removed, the run is made again.
	name := st.path(p.Jobs()[0].Key)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data[:len(data)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), p, st, Options{}); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a broken file: %v", err)
	}
	os.Remove(name)
	// A file in place of a folder prevents writing, like a full disk.
	next := filepath.Dir(st.path(p.Jobs()[4].Key))
	os.RemoveAll(next)
	if err := os.WriteFile(next, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), p, st, Options{}); err == nil || !strings.Contains(err.Error(), "the same command continues") {
		t.Errorf("a store that cannot be written: %v", err)
	}
	os.Remove(next)
	if got, want := outcome(t, p, st, Options{}), outcome(t, p, newStore(t), Options{}); got != want {
		t.Error("the outcome differs from one without errors")
	}
}

// A killed process loses only its runs under way; two other processes continue
// and share the work.
func TestKilledProcessLosesOnlyRunsUnderWay(t *testing.T) {
	dir := t.TempDir()
	if name := os.Getenv("EXP_TEST_STORE"); name != "" {
		st, err := OpenStore(name)
		if err != nil {
			t.Fatal(err)
		}
		p := tinyPlan(t)
		Run(context.Background(), p, st, Options{OnEvent: func(e Event) {
			if e.Kind == Started && e.Index == 4 {
				os.Stdout.WriteString("now\n")
				select {} // until it is killed
			}
		}})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcessLosesOnlyRunsUnderWay$")
	cmd.Env = append(os.Environ(), "EXP_TEST_STORE="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	p, st := tinyPlan(t), ReadStore(dir)
	s, err := p.Status(st, 1)
	if err != nil || s.Done != 3 || len(s.Running) != 1 {
		t.Errorf("while it runs: error %v, %d done, %d running", err, s.Done, len(s.Running))
	}
	cmd.Process.Kill()
	cmd.Wait()
	if s, err = p.Status(st, 1); err != nil || s.Done != 3 || len(s.Running) != 0 || s.Left != 5 {
		t.Errorf("killed: error %v, %+v", err, s)
	}
	var mu sync.Mutex
	made := make(map[Job]int)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := Run(context.Background(), p, st, Options{Parallel: 2, OnEvent: func(e Event) {
				if e.Kind == Started {
					mu.Lock()
					made[e.Job]++
					mu.Unlock()
				}
			}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(made) != 5 {
		t.Errorf("%d runs were made after the kill, want the 5 that were not done", len(made))
	}
	for j, n := range made {
		if n != 1 {
			t.Errorf("%s was made %d times", p.Name(j), n)
		}
	}
}

// A mark that its process has created but not yet written is a claim. Otherwise two
// processes would make the run.
func TestEmptyMarkIsAClaim(t *testing.T) {
	st := newStore(t)
	key := tinyPlan(t).Jobs()[0].Key
	mark := st.mark("running", key)
	if err := os.WriteFile(mark, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := st.Lease(key, "a run", false); ok || err != nil {
		t.Errorf("claimed %v, error %v, while another process writes its mark", ok, err)
	}
	old := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(mark, old, old); err != nil {
		t.Fatal(err)
	}
	lease, ok, err := st.Lease(key, "a run", false)
	if !ok || err != nil {
		t.Fatalf("claimed %v, error %v, long after that process ended", ok, err)
	}
	lease.Release()
}

// A failed run does not end the experiment and is part of the outcome.
func TestFailureIsOfOneRun(t *testing.T) {
	p := tinyPlan(t, "hosts: {recovery: irn}", "network.switch: {buffer: 30KB, pfc: {xoff: 20KB, headroom: 1KB}}")
	st := newStore(t)
	out, err := Run(context.Background(), p, st, Options{})
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, r := range out.Runs {
		if r.State == result.Failed && strings.Contains(r.Error, "lossless") {
			failed++
		}
	}
	if failed == 0 || failed == len(out.Runs) {
		t.Fatalf("%d of %d runs failed: %+v", failed, len(out.Runs), out.Remarks)
	}
	for _, j := range out.Claims {
		open := j.Verdict == result.Inconclusive && strings.Contains(j.Why, "did not finish")
		if failing := j.Point == "size 40KB"; open != failing {
			t.Errorf("%s: %s (%s); runs failed there: %v", j.Point, j.Verdict, j.Why, failing)
		}
	}
	if s, err := p.Status(st, 1); err != nil || s.Failed != failed {
		t.Errorf("error %v, status %+v; want %d failed", err, s, failed)
	}
}

// Of many processes that find the mark of an ended process, one claims the run. Before,
// a mark whose process number another program had got since, or a damaged one without a
// number, kept a run for ever.
func TestOneProcessClaimsAnAbandonedRun(t *testing.T) {
	st := newStore(t)
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	for i := range 100 {
		key := fmt.Sprintf("%064x", i)
		pid := []int{gone.Process.Pid, 0, -1, os.Getpid()}[i%4]
		text, _ := json.Marshal(Mark{Key: key, Host: host, PID: pid})
		if err := os.WriteFile(st.mark("running", key), text, 0o666); err != nil {
			t.Fatal(err)
		}
		if pid == os.Getpid() { // its number was given to this process, which does not renew the mark
			old := time.Now().Add(-2 * staleAfter)
			if err := os.Chtimes(st.mark("running", key), old, old); err != nil {
				t.Fatal(err)
			}
		}
		var took atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if lease, ok, err := st.Lease(key, "x", false); err != nil {
					t.Error(err)
				} else if ok {
					took.Add(1)
					t.Cleanup(lease.Release)
				}
			})
		}
		wg.Wait()
		if n := took.Load(); n != 1 {
			t.Fatalf("%d claims of run %d, want 1", n, i)
		}
	}
}

// brokenMaker is a maker that no run can be made with.
type brokenMaker struct{}

func (brokenMaker) Make(context.Context, *Plan, Job, func(string)) (*Record, error) {
	return nil, errBroken
}
func (brokenMaker) Kept(context.Context, Job) {}

var errBroken = errors.New("no worker is left")

// An error ends the experiment also if the budget is spent: that was reported instead,
// with an outcome, if it was noticed after the error.
func TestTheBudgetHidesNoError(t *testing.T) {
	p := tinyPlan(t)
	jobs := p.Jobs()
	sample := p.Name(jobs[0]) // made again although the budget is spent
	r := &runner{p: p, st: newStore(t), o: Options{Parallel: 1, Budget: 1, Maker: brokenMaker{}}, begun: time.Now().Add(-time.Hour), sample: map[string]bool{sample: true},
		earlier: map[string]result.RunNote{sample: {State: result.Done}}, done: map[Job]result.RunNote{}, at: map[Job]time.Time{}, pace: pace{}}
	if err := r.makeAll(t.Context(), append(jobs[:1:1], slices.Repeat(jobs[1:2], 50_000)...)); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want %v", err, errBroken)
	}
}
