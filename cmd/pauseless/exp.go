// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/exp/farm"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/report"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

func newExpCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exp",
		Short: "Run experiments: those of the papers, or your own",
		Long: `Run, inspect and export experiments. An experiment is a YAML file with a scenario,
the variants to compare (arms), parameters that vary, and claims, each of which gets
a verdict. Every run is stored as soon as it is done; after an interruption the same
command continues. docs/experiments.md describes the format.`,
		Example: "  pauseless exp run rlb-fig3-victims\n  pauseless exp new mine.yaml\n  pauseless exp run mine.yaml",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newExpListCmd(), newExpNewCmd(), newExpRunCmd(), newExpStatusCmd(), newExpShowCmd(), newExpExportCmd(), newExpArchiveCmd(), newExpDocsCmd(), newExpWorkerCmd())
	return cmd
}

func newExpListCmd() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the experiments",
		Args:    noArgs,
		Example: "  pauseless exp list\n  pauseless exp list -o json",
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "`FORM`: what to print: table or json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		type entry struct {
			Name    string   `json:"name"`
			Summary string   `json:"summary"`
			Source  string   `json:"source,omitempty"`
			Arms    []string `json:"arms"`
			Axes    []string `json:"axes,omitempty"`
			Claims  int      `json:"claims"`
			Runs    int      `json:"runs"` // least number, at the paper's scale
		}
		var list []entry
		width := 0
		for _, name := range append(catalog.Names(), catalog.RealNames()...) {
			s, err := exp.Load(name)
			if err != nil {
				return err
			}
			e := entry{Name: name, Summary: s.Summary, Source: s.Source, Claims: len(s.Claims), Runs: len(s.Cases()) * len(s.Seeds)}
			for _, c := range s.Cases() {
				if !slices.Contains(e.Arms, c.Arm) {
					e.Arms = append(e.Arms, c.Arm)
				}
			}
			for _, a := range s.Axes() {
				e.Axes = append(e.Axes, a.Name)
			}
			width = max(width, len(name))
			list = append(list, e)
		}
		switch output {
		case "json":
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			return enc.Encode(list)
		case "table":
			for _, e := range list {
				fmt.Fprintf(cmd.OutOrStdout(), "%-*s %s\n", width, e.Name, e.Summary)
			}
			return nil
		}
		return usageErrorf(cmd, "--output is %q, expected table or json", output)
	}
	return cmd
}

const expOutput = "`FORM`: table, or json: an object, or an array if several experiments are named"

// expFlags are the flags that select experiments and the store of their runs.
type expFlags struct {
	scale, store string
	on, kind     string // a real network, "" for virtual time, and its switches
	seeds, most  int    // of each variant and setting, 0 for those of the file
	several      bool   // the command line names several experiments, or all
}

func (f *expFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.scale, "scale", scenario.Small, "`SCALE`: small, or paper for the sizes of the paper")
	fl.StringVar(&f.store, "store", defaultStore, "`FOLDER`: where runs are stored")
	fl.StringVar(&f.on, "on", "", "`KIND`: runs on real switches instead of those in virtual time: netns or mininet")
	fl.StringVar(&f.kind, "switch", string(local.BMv2), "`KIND`: with --on: bmv2 or softswitch")
	cmd.RegisterFlagCompletionFunc("on", cobra.FixedCompletions(onReal, cobra.ShellCompDirectiveNoFileComp))
	fl.IntVar(&f.seeds, "seeds", 0, "number of runs of each variant and setting: seeds 1 to this number (default: the seeds of the file)")
	cmd.ValidArgsFunction = completeExperiments
	cmd.RegisterFlagCompletionFunc("scale", cobra.FixedCompletions([]string{scenario.Small, scenario.Paper}, cobra.ShellCompDirectiveNoFileComp))
}

// completeExperiments offers the names of experiments, and YAML files.
func completeExperiments(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return slices.DeleteFunc(append(append(catalog.Names(), catalog.RealNames()...), "all"), func(n string) bool { return slices.Contains(args, n) }), cobra.ShellCompDirectiveDefault
}

// checked returns the names of the experiments, or an error about the flags.
func (f *expFlags) checked(cmd *cobra.Command, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, usageErrorf(cmd, "expected names of experiments, files, or all; `pauseless exp list` shows the names")
	}
	if cmd.Flags().Changed("seeds") && f.seeds < 1 {
		return nil, usageErrorf(cmd, "--seeds is %d, expected at least 1", f.seeds)
	}
	if f.scale != scenario.Small && f.scale != scenario.Paper {
		return nil, usageErrorf(cmd, "--scale is %q, expected %s or %s", f.scale, scenario.Small, scenario.Paper)
	}
	if cmd.Flags().Changed("max-seeds") && f.most < 1 {
		return nil, usageErrorf(cmd, "--max-seeds is %d, expected at least 1", f.most)
	}
	if f.seeds > 100_000 {
		return nil, usageErrorf(cmd, "--seeds is %d, expected from 1 to 100000", f.seeds)
	}
	if f.on != "" && !slices.Contains(onReal, f.on) {
		return nil, usageErrorf(cmd, "--on is %q, expected %s", f.on, strings.Join(onReal, " or "))
	}
	f.several = len(args) > 1
	if slices.Equal(args, []string{"all"}) {
		args, f.several = catalog.Names(), true
	}
	return args, nil
}

// plans returns the plans of experiments.
func (f *expFlags) plans(cmd *cobra.Command, args []string) (plans []*exp.Plan, err error) {
	for p, err := range f.each(cmd, args) {
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// each iterates over the plans of experiments, each of which takes some time. An error is
// the last element.
func (f *expFlags) each(cmd *cobra.Command, args []string) iter.Seq2[*exp.Plan, error] {
	return func(yield func(*exp.Plan, error) bool) {
		args, err := f.checked(cmd, args)
		if err != nil {
			yield(nil, err)
			return
		}
		var names []string
		for _, name := range args {
			p, err := f.plan(cmd, name)
			if err == nil && slices.Contains(names, p.Scenario.Name) {
				err = fmt.Errorf("%s: another experiment of this command is also called %q and has the same folder; give it another name", name, p.Scenario.Name)
			}
			if !yield(p, err) || err != nil {
				return
			}
			names = append(names, p.Scenario.Name)
		}
	}
}

// plan returns the plan of an experiment.
func (f *expFlags) plan(cmd *cobra.Command, name string) (*exp.Plan, error) {
	if cmd.Context().Err() != nil {
		return nil, errInterrupted
	}
	s, err := exp.LoadAt(name, f.scale)
	if err != nil {
		return nil, err
	}
	command := fmt.Sprintf("pauseless exp run %s --scale %s", shellWord(name), f.scale)
	if s.Name == "" || strings.ContainsAny(s.Name, `/\`) {
		return nil, fmt.Errorf("%s: name is %q; results are kept in a folder of this name: give one without slashes", name, s.Name)
	}
	if f.seeds > 0 {
		s.Reseed(f.seeds)
		command += fmt.Sprintf(" --seeds %d", f.seeds)
	}
	if f.most > 0 {
		s.AtMost(f.most)
		command += fmt.Sprintf(" --max-seeds %d", f.most)
	}
	on := f.on
	if on != "" && f.soft() {
		s.CountBytes() // in the fabric beside it
		on += " --switch " + f.kind
	}
	p, err := exp.NewPlan(s, command)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if on != "" {
		p.OnReal(on)
		p.Command += " --on " + on
	}
	return p, nil
}

// stale returns the outcomes in a folder that this build would make in another way, of
// the experiments that a command line names, and prints their arms.
func (f *expFlags) stale(cmd *cobra.Command, args []string, folder string) (found []*result.Outcome, err error) {
	if len(args) == 0 || slices.Equal(args, []string{"all"}) {
		args = catalog.Names()
	}
	kept, arms, unknown := 0, 0, 0
	for _, name := range args {
		s, err := exp.LoadAt(name, f.scale)
		if err != nil {
			return nil, err
		}
		o, err := result.ReadKept(folder, (&result.Outcome{Experiment: s.Name, Scale: f.scale}).File())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		kept++
		_ = exp.Continues(s, o) // gives arms the names that they have now; an outcome of another file has its own
		now, err := exp.Arms(s)
		if err != nil {
			return nil, err
		}
		for i := range o.Arms {
			if o.Arms[i].Program == "" {
				unknown++
			}
		}
		if list := exp.StaleArms(o, now); len(list) > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", o.File(), exp.StaleText(list))
			found, arms = append(found, o), arms+len(list)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d stale variants of %d outcomes\n", arms, kept)
	if unknown > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%d variants have no hash of their program, so it is not known whether they are stale; `pauseless exp run NAME --keep FOLDER` makes them again\n", unknown)
	}
	return found, nil
}

// todo says that no run of a plan is done, and which command executes them.
func todo(cmd *cobra.Command, p *exp.Plan) string {
	command := p.Command
	for _, name := range []string{"store", "schemes"} {
		if f := cmd.Flag(name); f.Changed {
			command += " --" + name + " " + shellWord(f.Value.String())
		}
	}
	return fmt.Sprintf("no run is done; `%s` executes them", command)
}

// stored says on stderr if what a plan reads from the store was made by another build.
func stored(cmd *cobra.Command, p *exp.Plan, store *exp.Store) error {
	other, ok, err := p.Stored(store)
	if ok {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: the runs are from build %v; this is build %v, with which `pauseless exp run` repeats them\n", p.Scenario.Name, other, exp.ThisBuild())
	}
	return err
}

// writeJSON prints the outcome of one experiment as an object, and those of several
// as an array.
func (f *expFlags) writeJSON(w io.Writer, outcomes []*result.Outcome) error {
	if !f.several {
		return outcomes[0].WriteJSON(w)
	}
	before := "["
	for _, o := range outcomes {
		io.WriteString(w, before)
		if err := o.WriteJSON(w); err != nil {
			return err
		}
		before = ","
	}
	_, err := io.WriteString(w, "]\n")
	return err
}

// errInterrupted is the error of a verb that Ctrl-C has ended.
var errInterrupted = errors.New("interrupted: the results are partial; run the same command again")

// soft reports whether the switches of --on are pauseless switch.
func (f *expFlags) soft() bool { return local.Kind(f.kind) == local.SoftSwitch }

// dir is the folder for the outcome of an experiment.
func (f *expFlags) dir(p *exp.Plan) string {
	name := storedAs(p.Scenario.Name, p.Scenario.Scale)
	if f.on != "" {
		name += "-" + f.on
	}
	if f.on != "" && f.soft() {
		name += "-" + f.kind
	}
	return filepath.Join(f.store, name)
}

// defaultStore is the store if none is given.
const defaultStore = "out/exp"

// storedAs returns the name of the folder of an outcome in its store.
func storedAs(name, scale string) string { return name + "-" + scale }

func newExpRunCmd() *cobra.Command {
	var f expFlags
	var output, keep, earlier, key string
	var o exp.Options
	var real expReal
	var server farm.Options
	cmd := &cobra.Command{
		Use:   "run NAME|FILE.yaml|all...",
		Short: "Run experiments and print a verdict for each of their claims",
		Long: `Execute every run of the experiments that is not in the store yet, add seeds until
the claims have the precision that the file requires, and print means with their
95 % intervals and a verdict for each claim (docs/reference/statistics.md). A claim
that is not reproduced is a result, not an error.

All stands for the built-in experiments, with a few runs of each variant and setting
(--max-seeds): an overview. The name of an experiment continues it with the seeds that
its claims require, and so does --max-seeds 1000 for all.

Runs are stored as soon as they are done. After Ctrl-C, a full disk or a power
failure, the same command continues where it stopped. The outcome is in
STORE/NAME-SCALE: outcome.json, CSV and Parquet files, manifest.json.

With --on the runs are made on real switches of this machine, one at a time, as root:
BMv2's simple_switch_grpc, between network namespaces or in Mininet. A run that the
machine disturbed is repeated. The same runs are then executed in virtual time, and
compared: STORE/NAME-SCALE-netns/agreement.md. The queues of the fabric beside them
count as those of the switch do, packets on BMv2 and bytes on pauseless switch.

The exit code is 3 if a run could not finish, with its cause, or did not meet what
the file expects.`,
		Example: "  pauseless exp run rlb-fig3-victims\n  pauseless exp run mine.yaml --seeds 2 --budget 10m\n  pauseless exp run rlb-fig15 --scale paper --earlier docs/results --keep docs/results\n  pauseless exp run all --scale small -o json\n  pauseless exp run plb-fig7-websearch --workers nats://10.0.0.1:4222\n  sudo pauseless exp run rlb-bmv2 --on netns",
	}
	f.add(cmd)
	real.add(cmd)
	fl := cmd.Flags()
	show := fl.Bool("print", false, "print the file instead of running it")
	all := fl.Bool("all-metrics", false, "print every metric")
	stale := fl.Bool("stale", false, "run only the stale variants of the outcomes in the folder of --keep; exp status --stale names them")
	fl.StringVarP(&output, "output", "o", "table", expOutput)
	fl.StringVar(&keep, "keep", "", "`FOLDER`: also write the outcome there as NAME.json and NAME.md, or NAME-paper.json and NAME-paper.md")
	fl.StringVar(&earlier, "earlier", "", "`FOLDER`: add seeds to outcomes that --keep wrote, or to an archive of exp archive; one run of each variant is repeated and must have the same result")
	fl.IntVar(&o.Parallel, "parallel", runtime.GOMAXPROCS(0), "how many runs to execute at the same time; the default is the number of CPUs")
	threadsFlag(fl, &o.Threads, "threads of each run; results do not depend on it")
	fl.StringVar(&server.URL, "workers", "", "`URL`: NATS server whose workers execute the runs, or local to start a server on this machine")
	addServer(cmd, &server, &key, " (default: STORE/"+keyName+", which is made)")
	fl.DurationVar(&o.Stall, "stall", exp.DefaultStall, "time without progress of virtual time after which a run fails; a worker's run is given to another worker once")
	fl.IntVar(&f.most, "max-seeds", 0, fmt.Sprintf("limit of the runs of each variant and setting, also if claims need more (default: that of the file, and %d for all without --earlier and --keep)", overviewSeeds))
	fl.DurationVar(&o.Budget, "budget", 0, "time after which no further run is started, as in 30m; shared by all experiments (default: no limit)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case output != "table" && output != "json":
			return usageErrorf(cmd, "--output is %q, expected table or json", output)
		case f.on != "" && (server.URL != "" || earlier != ""):
			return usageErrorf(cmd, "--on runs on this machine: leave out --workers and --earlier")
		case o.Parallel < 1 || o.Stall <= 0:
			return usageErrorf(cmd, "--parallel is at least 1, --stall is more than 0")
		}
		if *show {
			for _, name := range args {
				s, err := exp.Load(name)
				if err != nil {
					return err
				}
				if _, err := cmd.OutOrStdout().Write(s.Text()); err != nil {
					return err
				}
			}
			return nil
		}
		if *stale && keep == "" {
			return usageErrorf(cmd, "--stale needs --keep, the folder with the outcomes")
		}
		if *stale && earlier == "" {
			earlier = keep
		}
		if keep != "" {
			if err := checkFolder(keep); err != nil {
				return err
			}
		}
		if earlier != "" {
			if _, err := os.Stat(earlier); err != nil {
				return fmt.Errorf("--earlier: %w", err)
			}
		}
		if *stale {
			found, err := f.stale(cmd, args, keep)
			if err != nil || len(found) == 0 {
				return err
			}
			args = nil
			for _, o := range found {
				args = append(args, o.Experiment)
			}
		}
		overview := earlier == "" && keep == "" && f.overview(args)
		plans, err := f.plans(cmd, args)
		if err != nil {
			return err
		}
		if f.on != "" {
			if err := real.prepare(cmd, f.on, local.Kind(f.kind), plans, &o); err != nil {
				return err
			}
			defer untilGone(cmd)()
		}
		store, err := exp.OpenStore(f.store)
		if err != nil {
			return err
		}
		if server.URL != "" {
			end, err := useWorkers(cmd, server, key, f.store, &o)
			if err != nil {
				return err
			}
			defer end()
		}
		outcomes, sweep := make([]*result.Outcome, len(plans)), new(exp.Sweep)
		err = exp.ShareBudget(o.Budget, len(plans), time.Now, func(i int, part time.Duration) (bool, error) {
			p, mine := plans[i], o
			mine.Budget, mine.Sample = part, exp.BuildSample()
			if earlier != "" {
				if mine.Earlier, err = earlierOutcome(earlier, p); err != nil {
					return false, err
				}
			}
			if mine.Earlier != nil && len(plans) > 1 && exp.Continues(p.Scenario, mine.Earlier) != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s has changed since its earlier outcome: all its runs are made\n", p.Scenario.Name)
				mine.Earlier = nil
			}
			if len(plans) > 1 && o.Budget == 0 {
				mine.Sweep, mine.After = sweep, plans[i+1:]
			}
			if len(plans) > 1 {
				fmt.Fprintf(cmd.ErrOrStderr(), "experiment %d of %d: %s\n", i+1, len(plans), p.Scenario.Name)
			}
			out, err := runPlan(cmd, p, store, mine)
			if err != nil {
				return false, err
			}
			var same *result.Agreement
			if f.on != "" {
				out.Remarks = append(out.Remarks, real.versions(f.on, local.Kind(f.kind)))
				if same, err = agree(cmd, p, store, out, o); err != nil {
					return false, err
				}
			}
			if keep != "" {
				if err := keepOutcome(keep, out); err != nil {
					return false, err
				}
			}
			if err := writeOutcome(f.dir(p), p, store, out); err != nil {
				return false, err
			}
			if same != nil {
				if err := writeAgreement(cmd.ErrOrStderr(), f.dir(p), same); err != nil {
					return false, err
				}
			}
			outcomes[i] = out
			if output == "table" {
				err = out.Table(cmd.OutOrStdout(), *all)
				fmt.Fprintf(cmd.ErrOrStderr(), "outcome: %s\n", f.dir(p))
			}
			return out.Partial, err
		})
		if err != nil {
			return err
		}
		if output == "json" {
			if err := f.writeJSON(cmd.OutOrStdout(), outcomes); err != nil {
				return err
			}
		}
		if overview {
			fmt.Fprintf(cmd.ErrOrStderr(), "each variant and setting has at most %d runs; `pauseless exp run NAME` adds those that the claims of an experiment require\n", f.most)
		}
		return shortcomings(outcomes)
	}
	return cmd
}

// overview limits the runs of all experiments, unless the command line says how many
// there are, and reports whether it did.
func (f *expFlags) overview(args []string) bool {
	if f.most > 0 || f.seeds > 0 || !slices.Equal(args, []string{"all"}) {
		return false
	}
	f.most = overviewSeeds
	return true
}

// overviewSeeds is the limit of the runs of each variant and setting in an overview.
const overviewSeeds = 6

// shortcomings is an error if runs did not finish, or did not meet what the file
// expects.
func shortcomings(outcomes []*result.Outcome) error {
	unfinished, unmet, first := 0, 0, ""
	for _, out := range outcomes {
		for _, r := range out.Runs {
			if r.State != result.Done {
				unfinished++
			}
			if len(r.Unmet) > 0 {
				if unmet++; unmet == 1 {
					first = fmt.Sprintf("%s, seed %d: %s", strings.Join(append([]string{r.Arm}, r.Point...), ", "), r.Seed, r.Unmet[0])
				}
			}
		}
	}
	if unfinished > 0 {
		return stuckError{fmt.Sprintf("%d runs did not finish; the remarks on them give the cause", unfinished)}
	}
	if unmet > 0 {
		return stuckError{fmt.Sprintf("%d runs do not meet what the file expects; the first is %s", unmet, first)}
	}
	return nil
}

// earlierOutcome reads the outcome of a plan from a folder that --keep wrote, or an
// archive. It returns nil if there is none.
func earlierOutcome(from string, p *exp.Plan) (*result.Outcome, error) {
	o, err := result.ReadKept(from, (&result.Outcome{Experiment: p.Scenario.Name, Scale: p.Scenario.Scale}).File())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return o, err
}

// runPlan runs an experiment and prints its progress to stderr.
func runPlan(cmd *cobra.Command, p *exp.Plan, store *exp.Store, o exp.Options) (*result.Outcome, error) {
	stderr := cmd.ErrOrStderr()
	loads, err := p.Loads()
	if err != nil {
		return nil, err
	}
	for _, line := range append(exp.LoadLines(p, loads), exp.GapLines(p)...) {
		fmt.Fprintln(stderr, line)
	}
	bar := newExpBar(stderr)
	bar.more = len(o.After) > 0
	o.OnEvent = bar.event
	out, err := exp.Run(cmd.Context(), p, store, o)
	bar.end()
	if errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("interrupted: %d runs are stored; the same command continues", bar.kept)
	}
	if err != nil {
		return nil, err
	}
	out.Loads = loads
	return out, nil
}

// figuresFile has the data from which `report` draws single runs. It is beside
// outcome.json.
const figuresFile = "figures.json"

// writeOutcome writes the outcome of an experiment to a folder.
func writeOutcome(dir string, p *exp.Plan, store *exp.Store, o *result.Outcome) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	m, err := p.Provenance(o)
	if err != nil {
		return err
	}
	if o.Loads == nil {
		if o.Loads, err = p.Loads(); err != nil {
			return err
		}
	}
	shapes, err := report.Condense(p.Runs(store, o))
	if err != nil {
		return err
	}
	if err := writeFiles(dir, map[string]func(io.Writer) error{
		"outcome.json": o.WriteJSON, "manifest.json": m.WriteJSON, figuresFile: shapes.WriteJSON,
		"report.html": func(w io.Writer) error {
			return report.Write(w, report.Options{Title: o.Experiment, Made: made()}, report.Source{Outcome: o, Shapes: shapes})
		},
	}); err != nil {
		return err
	}
	if err := writeSheet(dir, "runs", o.RunSheet()); err != nil {
		return err
	}
	if err := writeSheet(dir, "links", o.LinkSheet()); err != nil {
		return err
	}
	return writeSheet(dir, "claims", o.ClaimSheet())
}

func writeFiles(dir string, files map[string]func(io.Writer) error) error {
	for _, name := range sortedKeys(files) {
		if err := writeFile(filepath.Join(dir, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// writeSheet writes a table as CSV and as Parquet.
func writeSheet(dir, name string, s *result.Sheet) error {
	return writeFiles(dir, map[string]func(io.Writer) error{name + ".csv": s.WriteCSV, name + ".parquet": s.WriteParquet})
}

// keepOutcome writes an outcome to be committed.
func keepOutcome(dir string, o *result.Outcome) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	o = o.Slim()
	name := o.File()
	return writeFiles(dir, map[string]func(io.Writer) error{name + ".json": o.WriteKept, name + ".md": o.WriteMarkdown})
}

func newExpStatusCmd() *cobra.Command {
	var f expFlags
	cmd := &cobra.Command{
		Use:   "status NAME|FILE.yaml|all...",
		Short: "Print how many runs of experiments are done, running, failed and left, and the time left",
		Long: `Print for each experiment how many runs are done, running, failed and left, and
about the time left, from the times of finished runs and the seeds that its claims
are expected to need. This can be called while another process executes the runs.`,
		Example: "  pauseless exp status rlb-fig3-victims\n  pauseless exp status all --scale paper\n  pauseless exp status all --stale docs/results",
	}
	f.add(cmd)
	stale := cmd.Flags().String("stale", "", "`FOLDER`: print only the outcomes of exp run --keep whose variants have another program, other hosts or another fabric in this build")
	parallel := cmd.Flags().Int("parallel", runtime.GOMAXPROCS(0), "how many runs will be executed at the same time, if none are executed now; the default is the number of CPUs")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *stale != "" {
			found, err := f.stale(cmd, args, *stale)
			if err == nil && len(found) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "`pauseless exp run all --stale --scale %s --keep %s` makes their runs again\n", f.scale, shellWord(*stale))
			}
			return err
		}
		store, w := exp.ReadStore(f.store), cmd.OutOrStdout()
		var all []*exp.Status
		for p, err := range f.each(cmd, args) {
			if err != nil {
				return err
			}
			if err := stored(cmd, p, store); err != nil {
				return err
			}
			s, err := p.Status(store, *parallel)
			if err != nil {
				return err
			}
			all = append(all, s)
			fmt.Fprintf(w, "%s, scale %s: %d runs done, %d running, %d failed, %d left", p.Scenario.Name, p.Scenario.Scale, s.Done, len(s.Running), s.Failed, s.Left)
			if s.Asked > 0 {
				fmt.Fprintf(w, ", %d waiting for workers", s.Asked)
			}
			if s.Further > 0 {
				fmt.Fprintf(w, ", up to %d more if the claims need them", s.Further)
			}
			switch left := s.Failed + s.Left + s.Asked + len(s.Running); {
			case left > 0 && s.Until.Known():
				fmt.Fprintf(w, "; %v to go, over at %s", s.Until, overAt(s.Until))
			case left > 0:
				fmt.Fprint(w, "; an estimate of the time follows when a run is done")
			}
			fmt.Fprintln(w)
			for _, m := range s.Running {
				fmt.Fprintf(w, "  running for %v on %s: %s\n", time.Since(m.Since).Round(time.Second), cmp.Or(m.Worker, m.Host), m.Name)
			}
			for _, name := range sortedKeys(s.Failures) {
				text, _, _ := strings.Cut(s.Failures[name], "\n")
				fmt.Fprintf(w, "  failed: %s: %s\n", name, text)
			}
		}
		if left := exp.AllLeft(all); len(all) > 1 && left.Known() {
			fmt.Fprintf(w, "all: %v to go, over at %s\n", left, overAt(left))
		}
		return nil
	}
	return cmd
}

// overAt returns the time of day at which the remaining time is over.
func overAt(l exp.Estimate) string { return time.Now().Add(l.Left()).Format("15:04:05") }

func newExpShowCmd() *cobra.Command {
	var f expFlags
	var output, from string
	cmd := &cobra.Command{
		Use:     "show NAME|FILE.yaml|all...",
		Short:   "Print the results of experiments so far",
		Example: "  pauseless exp show rlb-fig3-victims\n  pauseless exp show rlb-fig3-victims --all-metrics\n  pauseless exp show rlb-fig15 --scale paper --from results.tar.gz",
	}
	f.add(cmd)
	cmd.Flags().StringVar(&from, "from", "", "`FOLDER`: print outcomes of exp run --keep, or of an archive of exp archive, instead of the store")
	all := cmd.Flags().Bool("all-metrics", false, "print every metric")
	cmd.Flags().StringVarP(&output, "output", "o", "table", expOutput)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if output != "table" && output != "json" {
			return usageErrorf(cmd, "--output is %q, expected table or json", output)
		}
		plans, err := f.plans(cmd, args)
		if err != nil {
			return err
		}
		store, w := exp.ReadStore(f.store), cmd.OutOrStdout()
		var outcomes []*result.Outcome
		for _, p := range plans {
			if from != "" {
				o, err := result.ReadKept(from, (&result.Outcome{Experiment: p.Scenario.Name, Scale: f.scale}).File())
				var missing *fs.PathError
				if errors.As(err, &missing) && errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("--from: there is no %s; name a folder that `exp run --keep` wrote, or an archive of `exp archive`", missing.Path)
				}
				if err != nil {
					return fmt.Errorf("--from: %w", err)
				}
				if outcomes = append(outcomes, o); output == "table" {
					fmt.Fprintf(w, "%s: %s\n", p.Scenario.Name, o.Summary)
					err = o.Table(w, *all)
				}
				if err != nil {
					return err
				}
				continue
			}
			if err := stored(cmd, p, store); err != nil {
				return err
			}
			s, err := p.Status(store, 1)
			if err != nil {
				return err
			}
			if outcomes = append(outcomes, s.Outcome); output == "json" {
				continue
			}
			fmt.Fprintf(w, "%s: %s\n", p.Scenario.Name, p.Scenario.Summary)
			if s.Done == 0 {
				fmt.Fprintln(w, todo(cmd, p))
				continue
			}
			if left := s.Left + s.Failed + s.Asked + len(s.Running); left > 0 {
				fmt.Fprintf(w, "%d runs are done, %d are not\n", s.Done, left)
			}
			if err := s.Outcome.Table(w, *all); err != nil {
				return err
			}
		}
		if output == "json" {
			return f.writeJSON(w, outcomes)
		}
		return nil
	}
	return cmd
}

func newExpExportCmd() *cobra.Command {
	var f expFlags
	var dir string
	cmd := &cobra.Command{
		Use:   "export NAME|FILE.yaml|all...",
		Short: "Write the results of all runs of experiments as CSV and Parquet",
		Long: `Write the tables runs, claims, flows (a row per measured flow), lines (time lines,
if the file has the key sample) and pauses of the runs that are done, as CSV and as
Parquet, with outcome.json and manifest.json. docs/experiments.md shows how to
read them with DuckDB, pandas and R.`,
		Example: "  pauseless exp export rlb-fig3-victims\n  pauseless exp export mine.yaml -d tables",
	}
	f.add(cmd)
	cmd.Flags().StringVarP(&dir, "dir", "d", "", "`FOLDER`: where to write (default: STORE/NAME-SCALE)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		plans, err := f.plans(cmd, args)
		if err != nil {
			return err
		}
		if dir != "" && len(plans) > 1 {
			return usageErrorf(cmd, "--dir is for one experiment; leave it out to use STORE/NAME-SCALE for each")
		}
		store := exp.ReadStore(f.store)
		for _, p := range plans {
			if err := stored(cmd, p, store); err != nil {
				return err
			}
			s, err := p.Status(store, 1)
			if err != nil {
				return err
			}
			if s.Done == 0 {
				return fmt.Errorf("%s: %s", p.Scenario.Name, todo(cmd, p))
			}
			to, o := cmp.Or(dir, f.dir(p)), s.Outcome
			if err := writeOutcome(to, p, store, o); err != nil {
				return err
			}
			for name, sheet := range map[string]*result.Sheet{
				"flows": o.FlowSheet(p.Runs(store, o)), "lines": o.LineSheet(p.Runs(store, o)), "pauses": o.PauseSheet(p.Runs(store, o)), "collectives": o.CollectiveSheet(p.Runs(store, o)),
			} {
				if err := writeSheet(to, name, sheet); err != nil {
					return err
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d runs\n", to, s.Done)
		}
		return nil
	}
	return cmd
}
