// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/workload"
)

// Plan is an experiment at a scale, with the programs of its cases.
type Plan struct {
	Scenario *scenario.Scenario
	// Command is the command line that repeats the experiment.
	Command string

	programs []*program.Program // by case
	bases    [][]byte           // of the keys, by case
	build    string             // whose runs it reads; "" for this one
	on       string             // the real network of its runs; "" for virtual time
}

// A Job is one run of a plan: one case with one seed.
type Job struct {
	Case int
	Seed uint64
	Key  string // in the store
}

// Version identifies the code that makes the runs: the first 8 bytes of the SHA-256
// of this executable. It is part of a run's key, so builds do not share runs.
var Version = sync.OnceValue(func() string {
	name, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	f, err := os.Open(name)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
})

// NewPlan generates and compiles the programs of all cases.
func NewPlan(s *scenario.Scenario, command string) (*Plan, error) {
	p := &Plan{Scenario: s, Command: command}
	var cache program.Cache
	for _, c := range s.Cases() {
		prog, err := c.Build(&cache)
		if err != nil {
			return nil, err
		}
		base, err := keyBase(s, c, prog)
		if err != nil {
			return nil, err
		}
		p.programs, p.bases = append(p.programs, prog), append(p.bases, base)
	}
	return p, nil
}

// keyBase returns everything that a run of the case depends on, except its seed
// and this executable. Settings of the profile are in the program and its manifest;
// one that the program does not use is not there, and does not make another run.
func keyBase(s *scenario.Scenario, c *scenario.Case, prog *program.Program) ([]byte, error) {
	manifest, err := json.Marshal(prog.Manifest)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for _, name := range append(workload.Files(c.Traffic), packets.Files(c.Packets)...) {
		f, err := s.Open(name)
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return nil, err
		}
		files[name] = hex.EncodeToString(h.Sum(nil))
	}
	if c.Topology != "" {
		net, err := json.Marshal(c.Net())
		if err != nil {
			return nil, err
		}
		files["topology"] = sum(net)
	}
	var keys map[string]any
	if err := json.Unmarshal(c.Canonical(), &keys); err != nil {
		return nil, err
	}
	delete(keys, "set")
	return json.Marshal(map[string]any{
		"program": sum(prog.JSON), "p4": sum(prog.P4), "manifest": sum(manifest), "target": c.On(), "case": keys, "files": files,
	})
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// Job returns the job of a case with a seed.
func (p *Plan) Job(i int, seed uint64) Job {
	return Job{i, seed, sum(fmt.Appendf(nil, "%s\n%d\n%s%s", cmp.Or(p.build, Version()), seed, p.bases[i], p.on))}
}

// Jobs returns the first jobs of an experiment in the order of the seeds, so that
// an experiment that is stopped early has complete pairs.
func (p *Plan) Jobs() (jobs []Job) {
	for _, seed := range p.Scenario.Seeds {
		for i := range p.Scenario.Cases() {
			jobs = append(jobs, p.Job(i, seed))
		}
	}
	return jobs
}

// Case returns the case of a job.
func (p *Plan) Case(j Job) *scenario.Case { return p.Scenario.Cases()[j.Case] }

// Program returns the program of the switches of a job.
func (p *Plan) Program(j Job) *program.Program { return p.programs[j.Case] }

// Name names a job: "drill, 0.6, seed 3".
func (p *Plan) Name(j Job) string {
	c := p.Case(j)
	return jobName(c.Arm, c.Point, j.Seed)
}

func jobName(arm string, point []string, seed uint64) string {
	return fmt.Sprintf("%s, seed %d", strings.Join(append([]string{arm}, point...), ", "), seed)
}

// Outcome returns the outcome of some runs. It need not be all runs. Earlier is the
// outcome that has those with RunNote.Earlier, if there are any.
func (p *Plan) Outcome(done map[Job]result.RunNote, earlier *result.Outcome) *result.Outcome {
	s := p.Scenario
	o := &result.Outcome{
		Experiment: s.Name, Summary: s.Summary, Source: s.Source, Scale: s.Scale, Command: p.Command, Scenario: RunsHash(s), Axes: s.Axes(),
		Earlier: earlier, Looks: Looks(s),
	}
	if s.Scale == scenario.Small {
		o.Why = s.Small.Text("why")
	}
	o.Arms = p.arms()
	jobs := make([]Job, 0, len(done))
	for j := range done {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Case, b.Case), cmp.Compare(p.rank(a.Seed), p.rank(b.Seed)), cmp.Compare(a.Seed, b.Seed))
	})
	notes := make([]result.RunNote, len(jobs))
	for i, j := range jobs {
		notes[i] = done[j]
	}
	if earlier != nil {
		keepUnknown(o.Arms, earlier.Arms, notes)
	}
	o.Fill(notes, s.Claims)
	return o
}

// arms describes the arms.
func (p *Plan) arms() []result.Arm {
	var sources []source
	for _, prog := range p.programs {
		sources = append(sources, source{prog.P4, prog.Manifest})
	}
	return armsOf(p.Scenario, sources)
}

// seeds returns the greatest number of seeds of a case.
func (p *Plan) seeds() int {
	return max(len(p.Scenario.Seeds), p.Scenario.MaxSeeds, p.Scenario.MaxSeedsOpen)
}

// rank orders seeds: those of the file in the order of the file, then the others.
func (p *Plan) rank(seed uint64) int {
	if i := slices.Index(p.Scenario.Seeds, seed); i >= 0 {
		return i
	}
	return len(p.Scenario.Seeds)
}

// Looks reports whether claims are looked at several times, as seeds are added.
func Looks(s *scenario.Scenario) bool { return max(s.MaxSeeds, s.MaxSeedsOpen) > len(s.Seeds) }

// MoreSeeds returns the jobs with further seeds that claims need to be precise
// enough, given the outcome so far: none if all are, or at the limit of seeds.
func (p *Plan) MoreSeeds(o *result.Outcome) (jobs []Job) {
	s := p.Scenario
	want := o.Wanting(s.MaxSeeds, s.MaxSeedsOpen)
	for _, i := range slices.Sorted(maps.Keys(want)) {
		cell := &o.Cells[i]
		at := slices.IndexFunc(s.Cases(), func(c *scenario.Case) bool { return c.Arm == cell.Arm && slices.Equal(c.Point, cell.Point) })
		have := len(cell.Seeds)
		for n := have; n < min(want[i], have+have/2+1); n++ {
			jobs = append(jobs, p.Job(at, p.seed(n)))
		}
	}
	return jobs
}

// Lacking returns how many cells of an outcome have fewer seeds than its scenario, or
// claims that are less precise than they require, want.
func Lacking(s *scenario.Scenario, o *result.Outcome) (n int) {
	want := o.Wanting(s.MaxSeeds, s.MaxSeedsOpen)
	for i := range o.Cells {
		if len(o.Cells[i].Seeds) < max(len(s.Seeds), want[i]) {
			n++
		}
	}
	return n
}

// seed returns the n-th seed, from 0: those of the file, then the numbers
// after the greatest of them.
func (p *Plan) seed(n int) uint64 {
	s := p.Scenario.Seeds
	if n < len(s) {
		return s[n]
	}
	return slices.Max(s) + uint64(n-len(s)+1)
}

// note makes the note of a run.
func note(j Job, r *result.Run) result.RunNote {
	n := result.RunNote{
		Arm: r.Arm, Point: r.Point, Seed: j.Seed, Key: j.Key, State: result.Done, EndUS: r.Summary.EndUS,
		Steady: r.Steady, Stuck: r.Stuck, Remarks: r.Remarks, Unmet: r.Unmet, Metrics: r.Metrics, Links: r.Links,
	}
	switch {
	case len(r.Stuck) > 0:
		n.State = result.Locked
	case r.Cut:
		n.State = result.Cut
	}
	return n
}

// Loads returns the load that the traffic offers to the links at each point of
// the grid, for the first arm and the first seed.
func (p *Plan) Loads() ([]result.Load, error) {
	var all []result.Load
	first := p.Scenario.Cases()[0].Arm
	for _, c := range p.Scenario.Cases() {
		if c.Arm != first {
			continue
		}
		loads, err := c.Loads(p.Scenario.Seeds[0])
		if err != nil {
			return nil, err
		}
		for _, l := range loads {
			l.Point = c.Point
			all = append(all, l)
		}
	}
	return all, nil
}

// LoadLines describes the offered loads in words, with a warning where they
// exceed the links' capacity in a window, or the time that links need for flows
// that start in a shorter time.
func LoadLines(p *Plan, loads []result.Load) (lines []string) {
	for i := 0; i < len(loads); {
		text, over := "offered load", ""
		if at := loads[i].Point; len(at) > 0 {
			var parts []string
			for k, a := range p.Scenario.Axes() {
				parts = append(parts, a.Name+" "+at[k])
			}
			text += " at " + strings.Join(parts, ", ")
		}
		if us := loads[i].OverUS; us > 0 {
			text += fmt.Sprintf(", of flows that start within %.3g ms", us/1000)
		}
		text += ":"
		j := i
		for ; j < len(loads) && slices.Equal(loads[j].Point, loads[i].Point); j++ {
			l := &loads[j]
			text += fmt.Sprintf(" %s %.2f,", l.Tier, l.Mean)
			switch ms := l.OverUS / 1000; {
			case l.Mean > 1 && ms > 0:
				over += fmt.Sprintf("\nnote: links from %s need %.3g ms on average to carry these flows", l.Tier, l.Mean*ms)
			case l.Max > 1 && ms > 0:
				over += fmt.Sprintf("\nnote: %s needs %.3g ms to carry these flows", l.Where, l.Max*ms)
			case l.Mean > 1:
				over += fmt.Sprintf("\nwarning: links from %s are offered %.2f of what they carry: no steady state", l.Tier, l.Mean)
			case l.Max > 1:
				over += fmt.Sprintf("\nwarning: %s is offered %.2f of what it carries", l.Where, l.Max)
			}
		}
		lines = append(lines, strings.TrimSuffix(text, ",")+over)
		i = j
	}
	return lines
}

// GapLines names the arms whose flowlets have long gaps for their network, with the
// reason.
func GapLines(p *Plan) (lines []string) {
	for _, c := range p.Scenario.Cases() {
		for _, text := range c.LongGaps() {
			if line := fmt.Sprintf("note: %s: %s", c.Arm, text); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// Runs iterates over the runs of an outcome, with flows and time lines, except those
// of an earlier outcome, which has neither. It holds as many runs in memory as there
// are processors.
func (p *Plan) Runs(st *Store, o *result.Outcome) iter.Seq2[*result.Run, error] {
	return func(yield func(*result.Run, error) bool) {
		var notes []*result.RunNote
		for i := range o.Runs {
			if n := &o.Runs[i]; n.State != result.Failed && !n.Earlier {
				notes = append(notes, n)
			}
		}
		networks := make(map[int]*result.Network) // by case: the store's runs have none
		var ahead []func() (*Record, error)       // reads of the next runs, which are under way
		for i, n := range notes {
			for k := i + len(ahead); k < min(i+runtime.GOMAXPROCS(0), len(notes)); k++ {
				ahead = append(ahead, readAhead(st, notes[k].Key))
			}
			rec, err := ahead[0]()
			if err == nil && rec == nil {
				err = fmt.Errorf("run %s is no longer in the store", n.Key)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			ahead = ahead[1:]
			rec.Run.Arm, rec.Run.Point, rec.Run.Scenario = n.Arm, n.Point, o.Experiment
			at := slices.IndexFunc(p.Scenario.Cases(), func(c *scenario.Case) bool { return c.Arm == n.Arm && slices.Equal(c.Point, n.Point) })
			if at >= 0 && networks[at] == nil {
				networks[at] = result.NewNetwork(p.Scenario.Cases()[at].Net())
			}
			rec.Run.Network = networks[at]
			if !yield(rec.Run, nil) {
				return
			}
		}
	}
}

// readAhead begins to read a run and returns a function that waits for it.
func readAhead(st *Store, key string) func() (*Record, error) {
	var rec *Record
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		rec, err = st.GetAll(key)
	}()
	return func() (*Record, error) {
		<-done
		return rec, err
	}
}

// packed is a plan as sent to another process.
type packed struct {
	File, Dir, Scale, Command string
	Text                      []byte
	Files                     map[string][]byte // by the names that the scenario has
}

// Sizes of a packed plan in bytes.
const (
	// MaxPlan is the greatest size of a plan as Pack returns it.
	MaxPlan = 256 << 20
	// maxPlanText is its greatest size before it is compressed.
	maxPlanText = 1 << 30
)

// Pack returns what another process of the same build needs to make the plan, with
// all files that the experiment refers to, and a name for it.
func (p *Plan) Pack() (name string, data []byte, err error) {
	s := p.Scenario
	k := packed{s.File, s.Dir, s.Scale, p.Command, s.Text(), make(map[string][]byte)}
	for _, name := range s.Files() {
		f, err := s.Open(name)
		if err != nil {
			return "", nil, err
		}
		k.Files[name], err = infile.From(f, name, maxPlanText/2)
		f.Close()
		if err != nil {
			return "", nil, err
		}
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return "", nil, err
	}
	if err := errors.Join(json.NewEncoder(z).Encode(k), z.Close()); err != nil {
		return "", nil, err
	}
	if b.Len() > MaxPlan {
		return "", nil, fmt.Errorf("the files of the experiment take %d bytes, more than the %d that workers take", b.Len(), MaxPlan)
	}
	return sum(b.Bytes()), b.Bytes(), nil
}

// Unpack makes the plan that Pack returned under a name. It reads no file of this
// machine, and returns an error for any other bytes.
func Unpack(name string, data []byte) (*Plan, error) {
	if sum(data) != name {
		return nil, errors.New("not the plan of this name: its checksum is another")
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("not a plan: %w", err)
	}
	text, err := infile.From(z, "the plan", maxPlanText)
	if err != nil {
		return nil, fmt.Errorf("not a plan: %w", err)
	}
	var k packed
	if err := infile.JSON(text, &k); err != nil {
		return nil, fmt.Errorf("not a plan: %w", err)
	}
	s, err := scenario.ParseIn(k.File, k.Text, k.Dir, k.Scale, func(name string) (io.ReadCloser, error) {
		text, ok := k.Files[name]
		if !ok {
			return nil, fmt.Errorf("the plan does not carry the file %q: %w", name, fs.ErrNotExist)
		}
		return io.NopCloser(bytes.NewReader(text)), nil
	})
	if err != nil {
		return nil, err
	}
	return NewPlan(s, k.Command)
}
