// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/testbed/hpcc"
	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

func newFabricCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fabric",
		Short:   "Simulate lossless networks whose switches run the real P4 programs",
		Example: "  pauseless fabric run scenario.yaml",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFabricRunCmd(), newFabricFlowsCmd())
	return cmd
}

// fabricFlags are the flags of `fabric run`.
type fabricFlags struct {
	topology, flows, config, profile, target, algorithm string // formats of the HPCC simulator
	recovery, fct, pfc                                  string
	dir, output, record, trace, pcap                    string
	threads                                             int
	collective                                          collectiveFlags
	explain, lost                                       bool

	serve string // address
	quiet time.Duration
	pace  float64
}

func newFabricRunCmd() *cobra.Command {
	var f fabricFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO.yaml]",
		Short: "Run a scenario, or the files of an HPCC or ConWeave experiment",
		Long: `Run the profiles of a scenario on a network in virtual time and print a table.
Instead of a scenario, name a topology and a flow file in the formats of the HPCC
simulator and its descendants (FCT and PFC files are written in theirs), htsim's
connection matrix and topology, or --collective for the bus bandwidth of an
operation among GPUs. Output files that a configuration names are written below the
working folder.

With --serve the switches serve P4Runtime, in virtual time, to controllers that you
start: p4runtime-go-client, p4runtime-shell, your own. Time begins when a controller is
primary of a switch, and stands still after each message to a controller until no call
has come for the time of --quiet; with --pace it goes on at a pace instead. The run
lasts until the scenario's time is over.

Ctrl-C stops the run; the results so far are kept and marked partial. The exit
code is 3 if measured flows are left, since the time was over or they cannot
proceed, or if packets are not as the scenario expects.`,
		Example: `  pauseless fabric run scenario.yaml -d out/mine
  pauseless fabric run scenario.yaml --explain --lost -d out/mine
  pauseless fabric run scenario.yaml --record run.rec && pauseless live run.rec
  pauseless fabric run scenario.yaml --trace run.json   # for ui.perfetto.dev
  pauseless fabric run scenario.yaml --serve            # from 127.0.0.1:9559 on
  pauseless fabric run --collective all_reduce --ranks 64 --size 1MB..64MB --profile rps --recovery out-of-order
  pauseless fabric run --topology leaf_spine.topo --flows ring.cm --profile rps
  pauseless fabric run --topology topology.txt --flows flow.txt --config config.txt --profile ecmp --cc dcqcn --fct fct.txt`,
	}
	fl := cmd.Flags()
	fl.StringVar(&f.topology, "topology", "", "`FILE`: topology: YAML, the HPCC format, or htsim's (.topo)")
	fl.StringVar(&f.flows, "flows", "", "`FILE`: flows in the HPCC or ConWeave format, or htsim's connection matrix (.cm)")
	fl.StringVar(&f.config, "config", "", "`FILE`: configuration in the HPCC or ConWeave format")
	fl.StringVar(&f.profile, "profile", "", "`NAME`: built-in profile, or its file (default: the configuration's, or ecmp)")
	fl.StringVar(&f.target, "target", "", "`TARGET`: v1model or tna; scenarios have the key target instead (default: v1model)")
	fl.StringVar(&f.algorithm, "cc", "", "`NAME`: congestion control: "+strings.Join(cc.Algorithms(), ", ")+" (default: the configuration's, or dcqcn)")
	recoveries := namesOf(roce.Recoveries)
	fl.StringVar(&f.recovery, "recovery", "", "`NAME`: loss recovery of the hosts' NICs, with --collective or a connection matrix: "+strings.Join(recoveries, ", ")+" (default: go-back-n)")
	cmd.RegisterFlagCompletionFunc("recovery", cobra.FixedCompletions(recoveries, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("profile", completeProfiles)
	cmd.RegisterFlagCompletionFunc("cc", cobra.FixedCompletions(cc.Algorithms(), cobra.ShellCompDirectiveNoFileComp))
	f.collective.add(cmd)
	fl.StringVar(&f.fct, "fct", "", "`FILE`: write flow completion times in the HPCC format")
	fl.StringVar(&f.pfc, "pfc", "", "`FILE`: write PFC events in the HPCC format")
	fl.StringVarP(&f.dir, "dir", "d", "", "`FOLDER`: write results.json, flows-*.csv and report.html there")
	fl.StringVar(&f.pcap, "pcap", "", "`FOLDER`: write what each host receives besides flows there, in VARIANT-SEED-HOST.pcap, of a scenario with packets")
	fl.StringVar(&f.record, "record", "", "`FILE`: write a recording for pauseless live")
	fl.StringVar(&f.trace, "trace", "", "`FILE`: write a trace for ui.perfetto.dev")
	fl.StringVarP(&f.output, "output", "o", "table", "`FORM`: what to print: table or json")
	fl.BoolVar(&f.explain, "explain", false, "print why links were paused: the root, the spread and the victims of each storm of pauses (docs/pauses.md)")
	fl.BoolVar(&f.lost, "lost", false, "with --explain: run again without each of the worst causes, and print what flows lost to it")
	fl.StringVar(&f.serve, "serve", "", "`HOST:PORT`: serve P4Runtime there to controllers, each further switch at the next port; without a value at 127.0.0.1:9559")
	fl.Lookup("serve").NoOptDefVal = "127.0.0.1:9559"
	fl.DurationVar(&f.quiet, "quiet", virtual.DefaultQuiet, "with --serve: real time without a call after which controllers have answered")
	fl.Float64Var(&f.pace, "pace", 0, "`SECONDS`: with --serve: virtual time that passes in a second, at most (default: time waits for controllers)")
	threadsFlag(fl, &f.threads, "goroutines that run the network; results do not depend on it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	return cmd
}

func (f *fabricFlags) run(cmd *cobra.Command, args []string) error {
	if f.output != "table" && f.output != "json" {
		return usageErrorf(cmd, "--output is %q, expected table or json", f.output)
	}
	if f.lost && !f.explain {
		return usageErrorf(cmd, "--lost tells more of what --explain tells: give both")
	}
	virtual.Begin()
	s, from, err := f.scenario(cmd, args)
	if err == nil {
		err = checkFiles(append(args, from.read...), append(from.written(), f.record, f.trace, f.fct, f.pfc)...)
	}
	if err != nil {
		return err
	}
	if f.dir != "" {
		if err := checkFolder(f.dir); err != nil {
			return err
		}
	}
	stderr := cmd.ErrOrStderr()
	var watch peaks
	o := scenario.Options{Threads: f.threads, Begin: watch.begin, Read: watch.read, Explain: f.explain, Lost: f.lost}
	var own []*program.Program
	for _, c := range s.Cases() {
		own = append(own, c.Own())
	}
	warn(cmd, own...)
	withoutApp(cmd, s)
	if o.Serve, err = f.serving(cmd, s); err != nil {
		return err
	}
	if f.pcap != "" {
		if err := checkFolder(f.pcap); err != nil {
			return err
		}
		o.Packets = func(run *result.Run, r *packets.Run) error { return writePcaps(f.pcap, s, run, r) }
	}
	var rec recording
	var follow []func(scenario.Start) scenario.Follower
	if f.record != "" || f.trace != "" {
		follow = append(follow, rec.follow)
	}
	if from.recorder != nil {
		follow = append(follow, func(scenario.Start) scenario.Follower { return from.recorder })
	}
	o.Follow = together(follow)
	runs, runErr := runScenario(cmd.Context(), s, o, stderr)
	if len(runs) == 0 {
		return runErr
	}
	if runErr == nil {
		runErr = stuckIn(runs)
	}
	err = errors.Join(runErr, rec.write(f.record), rec.trace(f.trace), f.write(cmd.OutOrStdout(), stderr, s, runs, from))
	if f.output == "table" {
		if slices.ContainsFunc(runs, func(r *result.Run) bool { return r.Causes != nil }) {
			result.PrintCauses(cmd.OutOrStdout(), runs)
		}
		watch.print(cmd.OutOrStdout(), s)
		if len(args) > 0 {
			traceLost(stderr, args[0], runs)
		}
	}
	return err
}

// traceLost prints the command that shows what became of a lost packet, if a run does not
// meet its expectations.
func traceLost(w io.Writer, file string, runs []*result.Run) {
	for _, r := range runs {
		for i := range r.Packets {
			if len(r.Unmet) == 0 || r.Packets[i].Lost == 0 {
				continue
			}
			arm := ""
			if r != runs[0] {
				arm = fmt.Sprintf(" --arm %q --seed %d", r.Label(), r.Seed)
			}
			fmt.Fprintf(w, "what became of a lost packet: pauseless trace %s --packet %q%s\n", file, r.Packets[i].Name, arm)
			return
		}
	}
}

// maxPace is the largest pace of virtual time, and its inverse the smallest.
const maxPace = 1e6

// serving returns how P4Runtime is served; nil without --serve.
func (f *fabricFlags) serving(cmd *cobra.Command, s *scenario.Scenario) (*virtual.Serve, error) {
	switch {
	case f.serve == "" && (f.pace != 0 || cmd.Flags().Changed("quiet")):
		return nil, usageErrorf(cmd, "--pace and --quiet need --serve")
	case f.serve == "":
		return nil, nil
	case f.pace != 0 && f.pace < 1/maxPace || f.pace > maxPace || f.quiet == 0:
		return nil, usageErrorf(cmd, "--pace is from %v to %v, and --quiet above zero", 1/maxPace, maxPace)
	case len(s.Cases())*len(s.Seeds) != 1:
		return nil, usageErrorf(cmd, "--serve is for one run, and the scenario has %d: leave one variant and one seed", len(s.Cases())*len(s.Seeds))
	case f.lost:
		return nil, usageErrorf(cmd, "--lost repeats runs, which a controller does not: leave it out with --serve")
	}
	stderr := cmd.ErrOrStderr()
	if host, _, err := net.SplitHostPort(f.serve); err == nil && host != "localhost" {
		if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
			fmt.Fprintf(stderr, "warning: every client that reaches %s can control the switches: there are no certificates\n", f.serve)
		}
	}
	return &virtual.Serve{Address: f.serve, Quiet: f.quiet, Pace: f.pace, Ready: func(targets []controlplane.Target) {
		for _, t := range targets {
			fmt.Fprintf(stderr, "%s: P4Runtime at %s, device %d\n", t.Name, t.Addr, t.DeviceID)
		}
		fmt.Fprintln(stderr, "time begins when a controller is primary")
	}}, nil
}

// scenario returns the scenario of the command line: a file, or another
// simulator's files, and then what is to be written in their formats.
func (f *fabricFlags) scenario(cmd *cobra.Command, args []string) (*scenario.Scenario, *imported, error) {
	files := f.topology != "" || f.flows != "" || f.config != ""
	if f.collective.kind == "" {
		for _, name := range collectiveNames {
			if cmd.Flags().Changed(name) {
				return nil, nil, usageErrorf(cmd, "--%s needs --collective; a scenario has keys of traffic's collective for it", name)
			}
		}
	}
	if f.recovery != "" && f.collective.kind == "" && !strings.HasSuffix(f.flows, ".cm") {
		return nil, nil, usageErrorf(cmd, "--recovery needs --collective or a connection matrix; a scenario has the key hosts.recovery for it")
	}
	switch {
	case f.collective.kind != "" && (len(args) > 0 || f.flows != "" || f.config != "" || f.fct != "" || f.pfc != ""):
		return nil, nil, usageErrorf(cmd, "--collective replaces the scenario; leave out the file, --flows, --config, --fct and --pfc")
	case f.collective.kind != "":
		s, err := f.collective.scenario(cmd, f)
		return s, new(imported), err
	case len(args) == 1 && !files:
		if f.profile != "" || f.target != "" || f.algorithm != "" || f.fct != "" || f.pfc != "" {
			return nil, nil, usageErrorf(cmd, "--profile, --target, --cc, --fct and --pfc need --topology and --flows; a scenario file has keys for these")
		}
		s, err := scenario.Read(args[0])
		switch kind := hpcc.KindOf(args[0]); {
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("no file %s: `fabric run` needs a scenario in YAML (`pauseless exp list` lists built-in experiments, which `pauseless exp run NAME` runs), or --topology and --flows", args[0])
		case err != nil && strings.HasSuffix(args[0], ".csv"):
			err = usageErrorf(cmd, "%s is not a scenario: name a file of flows in one, as in traffic: [{trace: {file: %[1]s}}]", args[0])
		case err != nil && kind != "":
			err = usageErrorf(cmd, "%s is not a scenario, but looks like HPCC's or ConWeave's %s: give it as --%s", args[0], map[string]string{"config": "configuration", "topology": "topology", "flows": "flow file"}[kind], kind)
		}
		return s, new(imported), err
	case len(args) == 0 && strings.HasSuffix(f.flows, ".cm"):
		s, err := f.matrix(cmd)
		return s, &imported{read: []string{f.flows, f.topology}}, err
	case len(args) == 0 && files:
		return f.imported(cmd)
	}
	return nil, nil, usageErrorf(cmd, "expected one scenario file, or --topology and --flows")
}

// write prints the results and writes the files that the flags and an imported
// configuration name, all of those that it can write.
func (f *fabricFlags) write(out, stderr io.Writer, s *scenario.Scenario, runs []*result.Run, from *imported) error {
	last, show := runs[len(runs)-1], result.Table
	if f.output == "json" {
		show = result.WriteJSON
	}
	err := show(out, runs)
	for _, o := range from.outputs {
		err = errors.Join(err, writeFile(o.File, func(w io.Writer) error { return from.output(w, o.Kind, s, last.Raw) }))
	}
	if f.dir != "" {
		path, werr := writeResults(f.dir, cmp.Or(s.Summary, s.Name), runs)
		if werr != nil {
			return errors.Join(err, werr)
		}
		fmt.Fprintf(stderr, "report: %s\n", path)
	}
	return err
}

// writePcaps writes what the hosts of a run have received besides flows.
func writePcaps(dir string, s *scenario.Scenario, run *result.Run, r *packets.Run) error {
	label := strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(strings.Join(append([]string{run.Arm}, run.Point...), "-"))
	for _, id := range r.Hosts() {
		name := filepath.Join(dir, fmt.Sprintf("%s-%d-%s.pcap", label, run.Seed, s.Cases()[0].Net().Nodes[id].Name))
		if err := writeFile(name, func(w io.Writer) error { return r.WritePcap(w, id) }); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, do func(io.Writer) error) error { return outfile.With(name, 0o666, do) }
