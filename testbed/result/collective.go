// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/result/parquet"
)

// Collective has the measured iterations of an operation of one size of a job, as
// nccl-tests defines their numbers.
type Collective struct {
	Job   string `json:"job"`
	Kind  string `json:"kind"`
	Ranks int    `json:"ranks"`
	Size  int64  `json:"size"`  // bytes
	Count int64  `json:"count"` // elements of 4 bytes that a rank gives
	RedOp string `json:"redop"` // sum, or none
	Root  int    `json:"root"`  // rank; -1: none
	// TimeUS is the mean over the iterations, from the first rank that begins to the
	// last one that ends; zero if none has ended.
	TimeUS float64 `json:"time_us"`
	AlgBW  float64 `json:"algbw"` // size over time, GB/s
	BusBW  float64 `json:"busbw"` // AlgBW times what each link must carry, GB/s
	// Times are those of the iterations, and Late the times from the first rank that
	// ends to the last one, both in microseconds.
	Times []float64 `json:"times_us"`
	Late  []float64 `json:"late_us"`
}

// Job is a job as a whole. Times are in microseconds.
type Job struct {
	Name string `json:"name"`
	// DoneUS is the time from the start of the job to its end; IdleUS is the same in an
	// idle network. Zero: it has not ended.
	DoneUS float64 `json:"done_us"`
	IdleUS float64 `json:"idle_us"`
	// ExposedUS is the mean time of a rank in measured iterations in which it does not
	// compute.
	ExposedUS float64 `json:"exposed_us"`
	// Lines are the time lines of its first ranks, and Last the messages that delayed
	// its end most.
	Lines []RankLine `json:"lines,omitempty"`
	Last  []Last     `json:"last,omitempty"`
}

// busFactor returns the bytes that the busiest link must carry over the size of an
// operation among n ranks: the bus bandwidth of nccl-tests is the algorithm's
// bandwidth times this (its PERFORMANCE.md).
func busFactor(kind string, n int) (float64, bool) {
	switch k := float64(n-1) / float64(n); kind {
	case "all_reduce":
		return 2 * k, true
	case "all_gather", "reduce_scatter", "all_to_all":
		return k, true
	case "broadcast", "send_recv":
		return 1, true
	}
	return 0, false
}

// span is the time of an operation at a rank, or of all; -1: unknown.
type span struct{ begin, end vtime.Time }

// rankSpans returns the time of each operation at each rank.
func rankSpans(p *fabric.PlanResult) [][]span {
	all := make([][]span, len(p.Ops))
	for i := range all {
		all[i] = slices.Repeat([]span{{-1, -1}}, len(p.Hosts))
	}
	for k := range p.Plan.Steps {
		s := &p.Plan.Steps[k]
		if s.Op < 0 {
			continue
		}
		switch s.Mark {
		case fabric.Begin:
			all[s.Op][s.Rank].begin = p.Steps[k].Done
		case fabric.End:
			all[s.Op][s.Rank].end = p.Steps[k].Done
		}
	}
	return all
}

// collectives returns the measured operations of a plan, by kind and size.
func collectives(p *fabric.PlanResult) (list []Collective) {
	spans := rankSpans(p)
	for i := range p.Ops {
		op := &p.Ops[i]
		factor, ok := busFactor(op.Kind, op.Ranks)
		if !ok || op.Warmup {
			continue
		}
		k := slices.IndexFunc(list, func(c Collective) bool {
			return c.Kind == op.Kind && c.Size == op.Bytes && c.Ranks == op.Ranks && c.Root == op.Root
		})
		if k < 0 {
			k = len(list)
			redop := "none"
			if op.Kind == "all_reduce" || op.Kind == "reduce_scatter" {
				redop = "sum"
			}
			list = append(list, Collective{Job: p.Name, Kind: op.Kind, Ranks: op.Ranks, Size: op.Bytes, Count: op.Base / 4, RedOp: redop, Root: op.Root, Times: []float64{}, Late: []float64{}})
		}
		c := &list[k]
		begin, first, last := vtime.Never, vtime.Never, vtime.Time(0)
		ended := true
		for _, s := range spans[i] {
			if s.begin < 0 && s.end < 0 && op.Ranks < len(p.Hosts) {
				continue // an operation of some of the ranks
			}
			ended = ended && s.end >= 0
			begin, first, last = min(begin, s.begin), min(first, s.end), max(last, s.end)
		}
		if !ended || last <= begin {
			continue
		}
		c.Times, c.Late = append(c.Times, (last-begin).Microseconds()), append(c.Late, (last-first).Microseconds())
		c.TimeUS = Mean(c.Times)
		c.AlgBW = float64(c.Size) / c.TimeUS / 1000
		c.BusBW = c.AlgBW * factor
	}
	return list
}

// jobOf returns the result of a plan as a whole.
func jobOf(p *fabric.PlanResult) Job {
	j := Job{Name: p.Name}
	first, last, ended := vtime.Never, vtime.Time(0), true
	for k := range p.Steps {
		ended = ended && p.Steps[k].Done >= 0
		last = max(last, p.Steps[k].Done)
		if p.Steps[k].Ready >= 0 {
			first = min(first, p.Steps[k].Ready)
		}
	}
	if ended && len(p.Steps) > 0 {
		j.DoneUS = (last - first).Microseconds()
		if p.Idle > 0 {
			j.IdleUS = (p.Idle - first).Microseconds()
		}
	}
	j.ExposedUS = exposed(p)
	return j
}

// exposed returns the mean time of ranks, in microseconds, in which they do not compute
// during measured operations: from the time at which the first step of an operation is
// ready until its last one is done.
func exposed(p *fabric.PlanResult) float64 {
	n := len(p.Hosts)
	computing, during := make([][]span, n), make([][]span, n)
	windows := make(map[[2]int32]span)
	for k := range p.Plan.Steps {
		s, r := &p.Plan.Steps[k], &p.Steps[k]
		if r.Done < 0 || s.Op >= 0 && p.Ops[s.Op].Warmup {
			continue
		}
		if s.Mark == fabric.Compute {
			computing[s.Rank] = append(computing[s.Rank], span{r.Begun, r.Done})
		}
		key := [2]int32{s.Rank, s.Op}
		if w, ok := windows[key]; ok {
			windows[key] = span{min(w.begin, r.Ready), max(w.end, r.Done)}
		} else {
			windows[key] = span{r.Ready, r.Done}
		}
	}
	for key, w := range windows {
		during[key[0]] = append(during[key[0]], w)
	}
	var sum float64
	ranks := 0
	for r := range n {
		if len(during[r]) == 0 {
			continue
		}
		for _, s := range without(joined(during[r], 0), joined(computing[r], 0)) {
			sum += (s.end - s.begin).Microseconds()
		}
		ranks++
	}
	if ranks == 0 {
		return 0
	}
	return sum / float64(ranks)
}

// tally has the numbers of jobs, from which their metrics are made.
type tally struct{ times, late, exposed, slow, bus, byJob []float64 }

func (t *tally) add(all []Collective, j *Job) {
	var own []float64
	for i := range all {
		c := &all[i]
		t.times, t.late = append(t.times, c.Times...), append(t.late, c.Late...)
		if len(c.Times) > 0 {
			own = append(own, c.BusBW)
		}
	}
	t.bus = append(t.bus, own...)
	if len(own) > 0 {
		t.byJob = append(t.byJob, Mean(own))
	}
	t.exposed = append(t.exposed, j.ExposedUS)
	if j.DoneUS > 0 && j.IdleUS > 0 {
		t.slow = append(t.slow, j.DoneUS/j.IdleUS)
	}
}

// measure sets the metrics with a selector.
func (t *tally) measure(v map[string]float64, selector string) {
	set := func(name string, x []float64) {
		if len(x) > 0 {
			v[name+selector] = Mean(x)
		}
	}
	set("avg_collective_us", t.times)
	if len(t.times) > 0 {
		v["p99_collective_us"+selector], v["max_collective_us"+selector] = Quantile(t.times, 0.99), Quantile(t.times, 1)
	}
	set("busbw", t.bus)
	set("exposed_us", t.exposed)
	set("rank_spread_us", t.late)
	set("job_slowdown", t.slow)
	if jain, ok := Jain(t.byJob); ok && len(t.byJob) > 1 {
		v["jain_jobs"+selector] = jain
	}
}

// training sets the metrics of collectives and jobs: of the measured ones, and of those of
// each part if there are several.
func (m *meter) training() {
	r := m.o.Results
	var measured tally
	parts := make([]tally, m.o.Parts)
	for i := range r.Plans {
		p := &r.Plans[i]
		all, j := collectives(p), jobOf(p)
		if measures(m.o.Measured, p, r) {
			measured.add(all, &j)
		}
		if k := partOf(p, r); k >= 1 && k <= m.o.Parts {
			parts[k-1].add(all, &j)
		}
	}
	measured.measure(m.v, "")
	if m.o.Parts > 1 {
		for i := range parts {
			parts[i].measure(m.v, fmt.Sprintf(".part%d", i+1))
		}
	}
}

// measures reports whether a job is measured: some of its flows are. Without a function all
// are.
func measures(measured func(*fabric.FlowResult) bool, p *fabric.PlanResult, r *fabric.Results) bool {
	return measured == nil || slices.ContainsFunc(p.Steps, func(s fabric.StepResult) bool { return s.Flow >= 0 && measured(&r.Flows[s.Flow]) })
}

// partOf returns the part of traffic that a job belongs to; 0: none.
func partOf(p *fabric.PlanResult, r *fabric.Results) int {
	if k := slices.IndexFunc(p.Steps, func(s fabric.StepResult) bool { return s.Flow >= 0 }); k >= 0 {
		return r.Flows[p.Steps[k].Flow].Group
	}
	return 0
}

// ncclTable prints the collectives of runs as nccl-tests does, with the label of a run
// before its lines if there are several.
func ncclTable(w io.Writer, runs []*Run) error {
	if !slices.ContainsFunc(runs, func(r *Run) bool { return len(r.Collectives) > 0 }) {
		return nil
	}
	for _, r := range runs {
		if len(r.Collectives) == 0 {
			continue
		}
		label := r.Label()
		if slices.ContainsFunc(runs, func(o *Run) bool { return o != r && o.Label() == label }) {
			label += fmt.Sprintf(", seed %d", r.Seed)
		}
		job := ""
		var bus []float64
		for i := range r.Collectives {
			c := &r.Collectives[i]
			if head := fmt.Sprintf("%s, %s, %s of %d ranks", label, c.Job, c.Kind, c.Ranks); head != job {
				job = head
				if _, err := fmt.Fprintf(w, "\n# %s\n#%12s %13s %8s %7s %6s %9s %7s %7s\n#%12s %13s %8s %7s %6s %9s %7s %7s\n", head,
					"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)"); err != nil {
					return err
				}
			}
			line := [3]string{"-", "-", "-"}
			if len(c.Times) > 0 {
				line = [3]string{ncclTime(c.TimeUS), strconv.FormatFloat(c.AlgBW, 'f', 2, 64), strconv.FormatFloat(c.BusBW, 'f', 2, 64)}
				bus = append(bus, c.BusBW)
			}
			if _, err := fmt.Fprintf(w, " %12d %13d %8s %7s %6d %9s %7s %7s\n", c.Size, c.Count, "float", c.RedOp, c.Root, line[0], line[1], line[2]); err != nil {
				return err
			}
		}
		if len(bus) > 0 {
			if _, err := fmt.Fprintf(w, "# Avg bus bandwidth    : %g\n", round6(Mean(bus))); err != nil {
				return err
			}
		}
	}
	return nil
}

func round6(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return r
}

// ncclTime prints microseconds with as many digits as nccl-tests.
func ncclTime(us float64) string {
	switch {
	case us >= 10000:
		return strconv.FormatFloat(us, 'f', 0, 64)
	case us >= 100:
		return strconv.FormatFloat(us, 'f', 1, 64)
	}
	return strconv.FormatFloat(us, 'f', 2, 64)
}

// collectiveColumns are the columns of nccl-tests' table, after those of the run.
var collectiveColumns = []parquet.Column{
	{Name: "job", Type: parquet.Text}, {Name: "kind", Type: parquet.Text}, {Name: "ranks", Type: parquet.Int},
	{Name: "size", Type: parquet.Int, Unit: "bytes"}, {Name: "count", Type: parquet.Int}, {Name: "type", Type: parquet.Text}, {Name: "redop", Type: parquet.Text},
	{Name: "root", Type: parquet.Int}, {Name: "time", Type: parquet.Double, Unit: "us"}, {Name: "algbw", Type: parquet.Double, Unit: "GB/s"}, {Name: "busbw", Type: parquet.Double, Unit: "GB/s"},
}

func (c *Collective) row() []any {
	return []any{c.Job, c.Kind, int64(c.Ranks), c.Size, c.Count, "float", c.RedOp, int64(c.Root), c.TimeUS, c.AlgBW, c.BusBW}
}

// CollectiveSheet has a row per operation and size of some runs of the outcome.
func (o *Outcome) CollectiveSheet(runs iter.Seq2[*Run, error]) *Sheet {
	return &Sheet{append(o.place(), collectiveColumns...), eachRun(runs, func(r *Run, yield func([]any, error) bool) bool {
		for i := range r.Collectives {
			if !yield(append(o.placeOf(r.Arm, r.Point, r.Seed), r.Collectives[i].row()...), nil) {
				return false
			}
		}
		return true
	})}
}

// CollectiveSheet has a row per operation and size of some runs.
func CollectiveSheet(runs iter.Seq2[*Run, error]) *Sheet {
	columns := append([]parquet.Column{{Name: "arm", Type: parquet.Text}, {Name: "seed", Type: parquet.Int}}, collectiveColumns...)
	return &Sheet{columns, eachRun(runs, func(r *Run, yield func([]any, error) bool) bool {
		for i := range r.Collectives {
			if !yield(append([]any{r.Label(), int64(r.Seed)}, r.Collectives[i].row()...), nil) {
				return false
			}
		}
		return true
	})}
}
