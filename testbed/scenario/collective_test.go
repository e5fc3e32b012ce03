// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/workload"
)

// collectiveRuns runs a scenario with some threads.
func collectiveRuns(t *testing.T, text string, threads int) []*result.Run {
	t.Helper()
	s, err := Parse("collective.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := s.Run(context.Background(), Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

const smallCollective = `
name: collective
network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
profiles: [ecmp, rps]
hosts: {mtu: 4096, recovery: out-of-order, cc: {algorithm: dcqcn}}
traffic:
- collective: {kind: all_reduce, size: 400KB..800KB, iterations: 2, warmup: 1, compute: 30ms, spread: 1ms}
seeds: [1, 2]
`

// Ranks compute longer than flows may be without progress, and nothing is stuck. Only
// iterations after the warm-up count, and no link carries more than its rate.
func TestCollectivesOfAScenario(t *testing.T) {
	runs := collectiveRuns(t, smallCollective, 1)
	if len(runs) != 4 {
		t.Fatalf("%d runs", len(runs))
	}
	for _, r := range runs {
		if len(r.Stuck) > 0 || r.Cut || len(r.Collectives) != 2 || len(r.Jobs) != 1 {
			t.Fatalf("%s, seed %d: %d collectives, %d jobs, %v", r.Label(), r.Seed, len(r.Collectives), len(r.Jobs), r.Stuck)
		}
		// Of three iterations of each size two are measured: 2 sizes of 6 steps of 4 ranks.
		if r.Summary.Flows != 2*2*6*4 || r.Summary.Finished != r.Summary.Flows {
			t.Errorf("%s: %d of %d flows", r.Label(), r.Summary.Finished, r.Summary.Flows)
		}
		for i, c := range r.Collectives {
			if c.Size != []int64{400_000, 800_000}[i] || c.Count != c.Size/4 || c.RedOp != "sum" || c.Root != -1 || len(c.Times) != 2 {
				t.Errorf("%s: %+v", r.Label(), c)
			}
			if c.BusBW <= 0 || c.BusBW > 12.5 {
				t.Errorf("%s: busbw is %.2f GB/s, the link has 12.5", r.Label(), c.BusBW)
			}
			if want := float64(c.Size) / c.TimeUS / 1000 * 2 * 3 / 4; c.BusBW/want > 1.0001 || c.BusBW/want < 0.9999 {
				t.Errorf("%s: busbw is %g, want %g", r.Label(), c.BusBW, want)
			}
		}
		j := r.Jobs[0]
		if j.DoneUS < 6*30_000 || j.IdleUS < 6*30_000 || j.IdleUS > j.DoneUS*1.001 {
			t.Errorf("%s: the job takes %.1f us, in an idle network %.1f", r.Label(), j.DoneUS, j.IdleUS)
		}
		if j.ExposedUS <= 0 || j.ExposedUS > j.DoneUS/10 {
			t.Errorf("%s: %.1f us of %.1f are exposed, most of it is computing", r.Label(), j.ExposedUS, j.DoneUS)
		}
		if len(j.Lines) != 4 || len(j.Lines[0].Spans) == 0 || len(j.Last) == 0 {
			t.Errorf("%s: time lines of %d ranks, %d last messages", r.Label(), len(j.Lines), len(j.Last))
		}
		for _, l := range j.Last {
			if l.IdealUS <= 0 || l.TookUS < l.IdealUS*0.9999 {
				t.Errorf("%s: a message takes %.2f us, in an idle network %.2f", r.Label(), l.TookUS, l.IdealUS)
			}
		}
		for _, name := range []string{"avg_collective_us", "p99_collective_us", "max_collective_us", "busbw", "exposed_us", "rank_spread_us", "job_slowdown"} {
			if r.Metrics[name] <= 0 {
				t.Errorf("%s: metric %s is %g", r.Label(), name, r.Metrics[name])
			}
		}
	}
	var table bytes.Buffer
	if err := result.Table(&table, runs); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "# rps, seed 2, part 1, all_reduce of 4 ranks") || !strings.Contains(table.String(), "(GB/s)") {
		t.Errorf("table:\n%s", table.String())
	}
}

// Results have the same bytes with any number of threads.
func TestCollectivesDoNotDependOnThreads(t *testing.T) {
	text := strings.NewReplacer("compute: 30ms, spread: 1ms", "compute: 10us, spread: 5us", "seeds: [1, 2]", "seeds: [1]").Replace(smallCollective)
	var one, three bytes.Buffer
	if err := result.WriteJSON(&one, collectiveRuns(t, text, 1)); err != nil {
		t.Fatal(err)
	}
	if err := result.WriteJSON(&three, collectiveRuns(t, text, 3)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), three.Bytes()) {
		t.Error("results differ")
	}
}

// Two jobs of rail-optimised hosts with two planes, while a link goes down: all ends, and
// each message stays in a plane.
func TestJobsOnRailsWithALinkDown(t *testing.T) {
	runs := collectiveRuns(t, `
name: rails
network:
  rail: {groups: 2, hosts_per_group: 2, rails: 2, planes: 2, spines: 2, rate: 100Gbps, delay: 1us}
  switch: {buffer: 32MB}
profiles: [rps]
hosts: {mtu: 4096, recovery: out-of-order, cc: {algorithm: dcqcn}}
traffic:
- collective: {kind: all_reduce, size: 400KB, on: h1..h4, ranks: 4, jobs: 2, place: rail}
- collective: {kind: all_to_all, size: 400KB, hierarchical: true}
faults:
- {link: l1-s1, down: true, from: 20us, until: 200us}
`, 1)
	r := runs[0]
	if len(r.Stuck) > 0 || len(r.Collectives) != 3 || r.Summary.Finished != r.Summary.Flows {
		t.Fatalf("%d collectives, %d of %d flows: %v", len(r.Collectives), r.Summary.Finished, r.Summary.Flows, r.Stuck)
	}
	plane := func(name string) bool {
		i := strings.IndexByte(name, '.')
		return i > 0 && strings.Contains("24", name[i+1:])
	}
	both := map[bool]int{}
	for _, f := range r.Flows {
		if plane(f.Src) != plane(f.Dst) {
			t.Errorf("a flow from %s to %s leaves its plane", f.Src, f.Dst)
		}
		both[plane(f.Src)]++
	}
	if both[true] == 0 || both[false] == 0 {
		t.Errorf("flows by plane: %v", both)
	}
	if j := r.Metrics["jain_jobs"]; j <= 0 || j > 1 {
		t.Errorf("Jain's index over the jobs is %g", j)
	}
}

// Metrics, tables and jobs are of the parts that judge lists; a selector is of any part.
func TestOnlyMeasuredJobsCount(t *testing.T) {
	text := `
name: measured
network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
profile: rps
hosts: {mtu: 4096, recovery: out-of-order, cc: {algorithm: none}}
traffic:
- collective: {kind: all_reduce, size: 400KB, on: h1..h4}
- collective: {kind: all_to_all, size: 800KB, on: h5..h8, iterations: 2, spread: 5us}
`
	all, second := collectiveRuns(t, text, 1)[0], collectiveRuns(t, text+"judge: [2]\n", 1)[0]
	if len(all.Collectives) != 2 || len(all.Jobs) != 2 || len(second.Collectives) != 1 || len(second.Jobs) != 1 || second.Collectives[0].Kind != "all_to_all" {
		t.Fatalf("%d and %d collectives, %d and %d jobs", len(all.Collectives), len(second.Collectives), len(all.Jobs), len(second.Jobs))
	}
	for _, name := range []string{"busbw", "avg_collective_us", "p99_collective_us", "max_collective_us", "exposed_us", "rank_spread_us", "job_slowdown"} {
		if v, want := second.Metrics[name], all.Metrics[name+".part2"]; v != want || v <= 0 || v == all.Metrics[name] {
			t.Errorf("%s is %g, of part 2 %g, of both %g", name, v, want, all.Metrics[name])
		}
	}
	for part, c := range all.Collectives {
		name := []string{"busbw.part1", "busbw.part2"}[part]
		if second.Metrics[name] != c.BusBW {
			t.Errorf("%s is %g, want %g", name, second.Metrics[name], c.BusBW)
		}
	}
	if _, ok := second.Metrics["jain_jobs"]; ok || all.Metrics["jain_jobs"] <= 0 {
		t.Errorf("Jain's index of one job is given, or that of two is not: %v", all.Metrics["jain_jobs"])
	}
}

// A job whose file has a circle is refused with the circle and its lines.
func TestCircleInAJobIsRefused(t *testing.T) {
	text := "num_ranks 2\nrank 0 {\na: recv 10b from 1 tag 0\nb: send 10b to 1 tag 0\nb requires a\n}\nrank 1 {\na: recv 10b from 0 tag 0\nb: send 10b to 0 tag 0\nb requires a\n}\n"
	_, err := ParseIn("circle.yaml", []byte(`
name: circle
network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 100Gbps, delay: 1us}}
profile: ecmp
traffic:
- job: {file: x.goal}
`), "", Paper, openText(map[string]string{"x.goal": text}))
	if err == nil || !strings.Contains(err.Error(), "circle.yaml:6:15: x.goal: job part 1: steps wait for one another in a circle, so that they can never begin: step 0 of rank 0 in line 3 ") {
		t.Errorf("got %v", err)
	}
}

// openText opens files in memory.
func openText(files map[string]string) workload.Open {
	return func(name string) (io.ReadCloser, error) {
		text, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
}
