// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/causes"
	"github.com/pauseless/pauseless/testbed/real/live"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/spf13/cobra"
)

func newDeployRunCmd() *cobra.Command {
	d := &deployment{}
	var out string
	var show, explain bool
	cmd := &cobra.Command{
		Use:   "run [SCENARIO] --switch softswitch|bmv2",
		Short: "Run a scenario on a network of namespaces, as root",
		Long: `Build the network of a scenario as deploy netns does, once for each profile and
seed, let RoCEv2 hosts of this program send its traffic in real time, and compare
the profiles in a table. With --out FOLDER, also write the flows, time lines and a
report. The scenario file is the same as for pauseless fabric run, in virtual time.
Without a file, use the built-in scenario, which --print prints: incasts and
other flows, DRILL against RLB over DRILL, with flow control by the program,
since BMv2 has none.

Times in the results are in the topology's time; in real time everything takes longer
by the scale, which is printed. A program of your own (key program) runs with single
packets (packets, expect), as fast as its topology. Frames on all links are observed,
to count PFC frames, warnings, and lost packets.`,
		Example: `  sudo pauseless deploy run --switch bmv2 --out results
  sudo pauseless deploy run incast.yaml --switch bmv2
  sudo pauseless deploy run incast.yaml --switch softswitch --out results`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf(cmd, "expected one scenario file, found %d arguments", len(args))
			}
			if show {
				_, err := cmd.OutOrStdout().Write(liveScenario)
				return err
			}
			if len(args) == 0 {
				s, err := scenario.Parse("live.yaml", liveScenario)
				if err != nil {
					return err
				}
				return d.runScenario(cmd, s, "live.yaml", out, explain)
			}
			s, err := scenario.Read(args[0])
			if err != nil {
				return err
			}
			return d.runScenario(cmd, s, args[0], out, explain)
		},
	}
	d.networkFlags(cmd)
	cmd.Flags().StringVar(&d.prefix, "prefix", "", "`TEXT`: begins the names of the switches' interfaces")
	cmd.Flags().BoolVar(&show, "print", false, "print the built-in scenario, as a file to start from")
	cmd.Flags().BoolVar(&explain, "explain", false, "print why links were paused, as far as PAUSE frames on the links and the ends of flows show it (docs/pauses.md)")
	cmd.Flags().StringVar(&out, "out", "", "`FOLDER`: where to write flows, time lines and a report")
	return cmd
}

// liveScenario is the scenario that runs if no file is given.
//
//go:embed live.yaml
var liveScenario []byte

// withoutApp says what of a file for Mininet a scenario leaves out.
func withoutApp(cmd *cobra.Command, s *scenario.Scenario) {
	ignored(cmd, s.Cases()[0].Net())
	if app := s.Cases()[0].Net().App; app.Tasks != "" || len(app.Scripts) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s: tasks_file and exec_scripts have no effect in a scenario: deploy netns and deploy mininet execute them\n", app.File)
	}
}

// ignored prints which keys of a file for Mininet have no effect.
func ignored(cmd *cobra.Command, t *topo.Topology) {
	for _, text := range t.Ignored {
		fmt.Fprintln(cmd.ErrOrStderr(), text)
	}
}

func (d *deployment) runScenario(cmd *cobra.Command, s *scenario.Scenario, file, out string, explain bool) error {
	kind, err := d.switchKind(cmd)
	if err != nil {
		return err
	}
	options, err := d.options(cmd, kind)
	if err != nil {
		return err
	}
	if d.name == "" {
		d.name = networkName(s.Name, file)
	}
	defer untilGone(cmd)()
	withoutApp(cmd, s)
	errs := cmd.ErrOrStderr()
	o := live.Options{
		Name:  d.name,
		Local: options,
		Built: func(lab *local.Lab) error { return noteScenario(d.name, s.Text(), lab, "", 0) },
		Say:   func(text string) { fmt.Fprintln(errs, text) },
		Event: func(e controlplane.Event) {
			switch e.Kind {
			case controlplane.Connected, controlplane.Primary, controlplane.Reconciled:
			default:
				fmt.Fprintln(errs, e)
			}
		},
	}
	if o.Pauseless, err = os.Executable(); err != nil {
		return err
	}
	if kind == local.BMv2 {
		if o.SimpleSwitch, err = local.FindSimpleSwitch(d.bmv2); err != nil {
			return err
		}
	}
	if out != "" {
		if err := checkFolder(out); err != nil {
			return err
		}
	}
	runs, err := live.Run(cmd.Context(), s, o)
	if cmd.Context().Err() != nil {
		err = errors.New("stopped before the end; the results end at this time")
	}
	if len(runs) == 0 {
		return err
	}
	if explain {
		for _, r := range runs {
			if r.Network != nil {
				r.Causes = (&result.Coarse{Network: r.Network, Pauses: r.Pauses, Flows: r.Flows, Gap: causes.Gap.Nanoseconds()}).Causes()
			}
		}
	}
	if werr := result.Table(cmd.OutOrStdout(), runs); err == nil {
		err = werr
	}
	result.PrintCauses(cmd.OutOrStdout(), runs)
	if err == nil {
		err = stuckIn(runs)
	}
	o.Local.Own = s.Cases()[0].Own() != nil
	if plan, perr := local.New(s.Cases()[0].Net(), o.Local); perr == nil {
		fmt.Fprintf(cmd.OutOrStdout(), "\non %s; %s\n", kind, plan.ScaleText())
	}
	if out != "" {
		report, werr := writeResults(out, fmt.Sprintf("%s on %s", s.Name, kind), runs)
		if werr != nil {
			return errors.Join(err, werr)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "report: %s\n", report)
	}
	return err
}
