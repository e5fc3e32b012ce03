// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/hpcc"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

func newFabricCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fabric",
		Short:   "Simulate lossless networks whose switches run the real P4 programs",
		Example: "  pauseless fabric run scenario.yaml",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFabricRunCmd())
	return cmd
}

// fabricFlags are the flags of `fabric run`.
type fabricFlags struct {
	topology, flows, config, profile, target, algorithm string // formats of the HPCC simulator
	fct, pfc                                            string
	dir, output, record, trace                          string
	threads                                             int
}

func newFabricRunCmd() *cobra.Command {
	var f fabricFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO.yaml]",
		Short: "Run a scenario, or the files of an HPCC or ConWeave experiment",
		Long: `Runs the profiles of a scenario on a network in virtual time and prints a table.
Instead of a scenario it takes a topology and a flow file in the formats of the
HPCC simulator and its descendants, and writes FCT and PFC files in theirs.

Ctrl-C stops the run; the results so far are kept and marked partial.`,
		Example: `  pauseless fabric run scenario.yaml -d out/mine
  pauseless fabric run scenario.yaml --record run.rec && pauseless live run.rec
  pauseless fabric run --topology topology.txt --flows flow.txt --config config.txt --profile ecmp --cc dcqcn --fct fct.txt`,
	}
	fl := cmd.Flags()
	fl.StringVar(&f.topology, "topology", "", "topology: YAML, or the HPCC format")
	fl.StringVar(&f.flows, "flows", "", "flow file in the HPCC or ConWeave format")
	fl.StringVar(&f.config, "config", "", "configuration file in the HPCC or ConWeave format")
	fl.StringVar(&f.profile, "profile", "", "profile, built in or a file (default: the configuration's, or ecmp)")
	fl.StringVar(&f.target, "target", "", "target that the profile runs on: v1model (default) or tna; scenarios have the key target instead")
	fl.StringVar(&f.algorithm, "cc", "", "congestion control: "+strings.Join(cc.Algorithms(), ", ")+" (default: the configuration's, or dcqcn)")
	cmd.RegisterFlagCompletionFunc("profile", completeProfiles)
	cmd.RegisterFlagCompletionFunc("cc", cobra.FixedCompletions(cc.Algorithms(), cobra.ShellCompDirectiveNoFileComp))
	fl.StringVar(&f.fct, "fct", "", "file for flow completion times in the HPCC format")
	fl.StringVar(&f.pfc, "pfc", "", "file for PFC events in the HPCC format")
	fl.StringVarP(&f.dir, "dir", "d", "", "folder for results.json, flows-*.csv and report.html")
	fl.StringVar(&f.record, "record", "", "write a recording for pauseless live into `FILE`")
	fl.StringVar(&f.trace, "trace", "", "write a trace for ui.perfetto.dev into `FILE`")
	fl.StringVarP(&f.output, "output", "o", "table", "what to print: table or json")
	threadsFlag(fl, &f.threads, "goroutines that run the network; results do not depend on it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	return cmd
}

func (f *fabricFlags) run(cmd *cobra.Command, args []string) error {
	if f.output != "table" && f.output != "json" {
		return usageErrorf(cmd, "--output is %q, want table or json", f.output)
	}
	s, dialect, err := f.scenario(cmd, args)
	if err == nil {
		err = checkFiles(append(args, f.topology, f.flows, f.config), f.record, f.trace, f.fct, f.pfc)
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
	o := scenario.Options{Threads: f.threads, Begin: watch.begin, Read: watch.read}
	var rec recording
	if f.record != "" || f.trace != "" {
		o.Follow = rec.follow
	}
	runs, runErr := runScenario(cmd.Context(), s, o, stderr)
	if len(runs) == 0 {
		return runErr
	}
	if runErr == nil {
		runErr = stuckIn(runs)
	}
	err = errors.Join(runErr, rec.write(f.record), rec.trace(f.trace), f.write(cmd.OutOrStdout(), stderr, s, runs, dialect))
	if f.output == "table" {
		watch.print(cmd.OutOrStdout(), s)
	}
	return err
}

// scenario returns the scenario of the command line: a file, or another
// simulator's files.
func (f *fabricFlags) scenario(cmd *cobra.Command, args []string) (*scenario.Scenario, hpcc.Dialect, error) {
	files := f.topology != "" || f.flows != "" || f.config != ""
	switch {
	case len(args) == 1 && !files:
		if f.profile != "" || f.target != "" || f.algorithm != "" || f.fct != "" || f.pfc != "" {
			return nil, 0, usageErrorf(cmd, "--profile, --target, --cc, --fct and --pfc need --topology and --flows; a scenario file has keys for these")
		}
		s, err := scenario.Read(args[0])
		return s, 0, err
	case len(args) == 0 && files:
		return f.imported(cmd)
	}
	return nil, 0, usageErrorf(cmd, "want one scenario file, or --topology and --flows")
}

// imported makes a scenario from another simulator's files.
func (f *fabricFlags) imported(cmd *cobra.Command) (*scenario.Scenario, hpcc.Dialect, error) {
	c := &hpcc.Config{Hosts: roce.Defaults(), Switch: topo.NewSpec().Switch}
	if f.config != "" {
		var err error
		if c, err = hpcc.ReadConfig(f.config); err != nil {
			return nil, 0, err
		}
		diag.Print(cmd.ErrOrStderr(), c.Warnings, nil)
	}
	// Names in the configuration are relative to the working directory, as in
	// the simulator.
	topologyFile, flowFile := cmp.Or(f.topology, c.TopologyFile), cmp.Or(f.flows, c.FlowFile)
	if topologyFile == "" || flowFile == "" {
		return nil, 0, usageErrorf(cmd, "want both --topology and --flows, or a --config that names them")
	}
	if f.algorithm != "" || c.Hosts.CC.Algorithm == "" {
		c.Hosts.CC.Algorithm = cmp.Or(f.algorithm, "dcqcn")
	}
	if _, err := c.Hosts.Check(); err != nil {
		return nil, 0, err
	}
	t, err := readTopology(topologyFile, c.Switch)
	if err != nil {
		return nil, 0, err
	}
	if f.config != "" {
		c.Fit(t.Links[t.Nodes[t.Hosts()[0]].Ports[0].Link].Rate)
	}
	flows, dialect, err := hpcc.ReadFlows(flowFile, t)
	if err != nil {
		return nil, 0, err
	}
	p, err := program.Load(cmp.Or(f.profile, c.Profile, "ecmp"))
	if err != nil {
		return nil, 0, err
	}
	kit, err := c.Hosts.CC.Kit(vtime.Gbps)
	if err != nil {
		return nil, 0, err
	}
	switch kit.Telemetry {
	case cc.INT:
		p.Choose("int", "on")
	case cc.Digest:
		p.Choose("int", "pint")
	}
	hpcc.SamePaths(t, flows, kit.Telemetry)
	mark(p, c, t)
	if p.Base == "conweave" {
		own := maps.Clone(p.Set) // of --profile
		maps.Copy(p.Set, c.Set)
		maps.Copy(p.Set, own)
		p.Sizes.Flows = 1 << 15 // the simulator has a row for each flow
		for i := range flows {
			flows[i].Wire[0] = 0 // leaves choose the path of data, and distinguish flows by their ports
		}
	}
	if step := c.Hosts.CC.PINT.Step; step != 0 && kit.Telemetry == cc.Digest {
		p.Set["pint.step"] = fmt.Sprint(step)
	}
	if err := t.CheckBuffer(); err != nil && p.Choice("pfc") != "emulated" {
		return nil, 0, fmt.Errorf("%s: %w", topologyFile, err)
	}
	s, err := scenario.New(filepath.Base(flowFile), t, p, flows, c.Hosts, c.Stop)
	if err != nil {
		return nil, 0, err
	}
	if c.Seed != 0 {
		s.Seeds = []uint64{c.Seed}
	}
	if f.target != "" {
		if err := s.On(f.target); err != nil {
			return nil, 0, usageErrorf(cmd, "--target: %v", err)
		}
	}
	if c.LinkDown != nil {
		fault, err := c.LinkDown.Fault(t)
		if err != nil {
			return nil, 0, err
		}
		s.Cases()[0].Faults = []fabric.Fault{fault}
	}
	return s, dialect, nil
}

// readTopology reads a YAML topology, one for Mininet, or one in the HPCC format.
func readTopology(name string, sw topo.SwitchConfig) (*topo.Topology, error) {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return topo.Read(name)
	}
	return hpcc.ReadTopology(name, sw)
}

// mark sets the profile's marking thresholds to those of the configuration, for
// every link rate of the network that the configuration has thresholds for.
func mark(p *gen.Profile, c *hpcc.Config, t *topo.Topology) {
	if p.Set == nil {
		p.Set = make(map[string]string)
	}
	rates := make(map[vtime.Rate]hpcc.Mark)
	for i := range t.Links {
		rate := t.Links[i].Rate
		if m, ok := c.MarkFor(rate); ok {
			rates[rate] = m
		}
	}
	for rate, m := range rates {
		at := ""
		if len(rates) > 1 {
			at = "@" + rate.String()
		}
		if p.Units.Depth == manifest.Cells80 {
			m = m.InCells(c.Hosts.MTU)
		}
		p.Set["red.kmin"+at], p.Set["red.kmax"+at], p.Set["red.pmax"+at] = m.KMin.String(), m.KMax.String(), fmt.Sprint(m.PMax)
	}
}

// write prints the results and writes the files that the flags name, all of those
// that it can write.
func (f *fabricFlags) write(out, stderr io.Writer, s *scenario.Scenario, runs []*result.Run, dialect hpcc.Dialect) error {
	last, show := runs[len(runs)-1], result.Table
	if f.output == "json" {
		show = result.WriteJSON
	}
	err := show(out, runs)
	if f.fct != "" {
		err = errors.Join(err, writeFile(f.fct, func(w io.Writer) error {
			return hpcc.WriteFCT(w, s.Cases()[0].Net(), last.Raw.Flows, s.Hosts.MTU, dialect)
		}))
	}
	if f.pfc != "" {
		err = errors.Join(err, writeFile(f.pfc, func(w io.Writer) error { return hpcc.WritePFC(w, s.Cases()[0].Net(), last.Raw.Pauses, dialect) }))
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

func writeFile(name string, do func(io.Writer) error) error { return outfile.With(name, 0o666, do) }
