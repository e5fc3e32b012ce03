// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/compiler/lower"
	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/tofino"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/spf13/cobra"
)

func newTofinoCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tofino",
		Short: "Compile programs for Tofino, deploy them and watch the switches",
		Long: `Compile the programs for Tofino with p4c's open Tofino backend, and report the
resources they use. Configure Tofino switches for a topology over BF Runtime, list
their ports with PFC and pauses, and read, write and watch their registers.`,
		Example: "  pauseless tofino build -o out drill && pauseless tofino report out",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTofinoCheckCmd(), newTofinoBuildCmd(), newTofinoReportCmd(), newTofinoPackCmd(), newTofinoApplyCmd(), newTofinoPortsCmd(), newTofinoRegistersCmd(), newTofinoWatchCmd())
	return cmd
}

func newTofinoCheckCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Check programs for what a Tofino cannot execute",
		Long: `Check programs of the Tofino Native Architecture: their types, and that they use
nothing that a Tofino 1 cannot execute, such as two accesses to a register by one
packet, a comparison of two variables, or a fifth RegisterAction. Each error has
its position, and states what to do instead. There are warnings of comparisons that are
wrong for some values of the clock. Only p4c can decide whether a program
fits into the stages: see "pauseless tofino build".`,
		Example: `  pauseless gen --profile rlb-drill --target tna -o out && pauseless tofino check out/rlb-drill.p4`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf(cmd, "expected one program or more")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var all diag.List
			for _, f := range args {
				r, list := compiler.CheckTNA(compiler.Options{File: f})
				if len(list) == 1 && list[0].Code == "file" {
					return fmt.Errorf("%s %s; expected a P4 program", f, list[0].Msg)
				}
				if r.Set.Includes("v1model.p4") && !r.Set.Includes("tna.p4") {
					return fmt.Errorf("%s is a program for v1model, not for a Tofino; `pauseless gen --target tna` writes programs for a Tofino", f)
				}
				if list.Err() == nil && r.Types.Main == nil {
					list.Errorf(diag.FilePos(f), lower.CodeNoMain, "the program has no package instance named main, as in Switch(pipe) main; of tna.p4")
				}
				if !list.HasErrors() {
					if err := reportDiagnostics(cmd, &compileFlags{}, f, list, r.Set.Source); err != nil {
						return err
					}
				}
				all = append(all, list...)
			}
			if err := all.Err(); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "programs without errors: %d, warnings: %d\n", len(args), len(all))
			return nil
		},
	}
}

func newTofinoBuildCmd() *cobra.Command {
	var prefix, out, topology string
	var rtt time.Duration
	cmd := &cobra.Command{
		Use:   "build -o FOLDER [--compiler PREFIX] [--topology FILE [--rtt TIME]] [PROFILE...]",
		Short: "Compile programs with p4c-barefoot and bfas",
		Long: `Compile programs with p4c-barefoot and bfas, each into a folder of its own below
FOLDER: bfrt.json, p4info.txtpb, and in pipe tofino.bin, context.json and
logs/resources.json. Without names, all built-in profiles that have a program
for Tofino are compiled.

With --topology, the numbers that are compiled in are those of this network rather
than of the profile's: they follow from the first leaf's links to other switches, and from
the measured base round-trip time that --rtt gives. "pauseless tofino apply" refuses a
program with other ones.

The compiler is p4c (github.com/p4lang/p4c) built with -DENABLE_TOFINO=ON; its
Python driver is not needed. PREFIX is where it is installed, or its build
folder; without it, the two programs are looked for on PATH.`,
		Example: `  pauseless tofino build --compiler /usr/local -o out
  pauseless tofino build -o out drill rlb-drill
  pauseless tofino build -o out --topology fabric.yaml rlb-drill
  pauseless tofino build -o out --topology fabric.yaml --rtt 11us pbfs`,
		RunE: func(cmd *cobra.Command, profiles []string) error {
			if out == "" {
				return usageErrorf(cmd, "name the folder to write to, -o FOLDER")
			}
			if rtt != 0 && topology == "" {
				return usageErrorf(cmd, "--rtt belongs to a network: name it with --topology FILE")
			}
			list, err := tofinoProfiles(profiles)
			if err == nil && topology != "" {
				err = forTopology(list, topology, rtt)
			}
			if err != nil {
				return err
			}
			return buildTofino(cmd, prefix, out, list)
		},
	}
	f := cmd.Flags()
	f.StringVar(&prefix, "compiler", os.Getenv("P4C_TOFINO"), "`FOLDER`: where p4c is installed or built (default: $P4C_TOFINO)")
	f.StringVarP(&out, "output", "o", "", "`FOLDER`: where to write (required)")
	f.StringVar(&topology, "topology", "", "`FILE`: topology of the network that the programs are for")
	f.DurationVar(&rtt, "rtt", 0, "base round-trip time between two of its leaves, measured without load (default: the computed one)")
	return cmd
}

// forTopology sets the network of profiles to that of a topology file, with a measured
// base round-trip time unless rtt is 0.
func forTopology(profiles []*gen.Profile, file string, rtt time.Duration) error {
	net, err := networkOf(file)
	if err != nil {
		return err
	}
	leaf := slices.IndexFunc(net.Nodes, func(n topo.Node) bool { return n.Kind == topo.Switch && n.Leaf >= 0 })
	if leaf < 0 {
		return fmt.Errorf("%s has no switch with hosts", file)
	}
	for _, p := range profiles {
		p.Network = intent.NetworkOf(net, leaf, p.Network, intent.Options{RTT: vtime.Time(rtt.Nanoseconds()) * vtime.Nanosecond})
	}
	return nil
}

func buildTofino(cmd *cobra.Command, prefix, out string, profiles []*gen.Profile) error {
	c, err := tofino.FindCompiler(prefix)
	if err != nil {
		return fmt.Errorf("%w; give its folder with --compiler", err)
	}
	var failed error
	for _, p := range profiles {
		prog, err := gen.Generate(p, "tna")
		if err != nil {
			return err
		}
		dir := filepath.Join(out, prog.Name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		for _, f := range prog.Files() {
			if err := outfile.Write(filepath.Join(dir, f.Name), f.Data, 0o666); err != nil {
				return err
			}
		}
		warnings, err := c.Build(cmd.Context(), filepath.Join(dir, prog.Name+".p4"), dir)
		switch {
		case cmd.Context().Err() != nil:
			return cmd.Context().Err()
		case err != nil:
			failed = errors.Join(failed, err)
			fmt.Fprintf(cmd.OutOrStdout(), "%s: failed\n", prog.Name)
		default:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: compiled\n%s", prog.Name, warnings)
		}
	}
	return failed
}

// tofinoProfiles returns the profiles named, or all built-in ones that have a
// program for Tofino.
func tofinoProfiles(names []string) ([]*gen.Profile, error) {
	all := len(names) == 0
	if all {
		names = gen.Names()
	}
	var list []*gen.Profile
	for _, name := range names {
		p, err := profileOf(name)
		if err != nil {
			return nil, err
		}
		if err := gen.Supports(p, "tna"); err != nil {
			if all {
				continue
			}
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func newTofinoReportCmd() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "report FOLDER [-o table|json]",
		Short: "Report the resources that compiled programs use",
		Long: `Report the resources that compiled programs use, from every resources.json
below FOLDER and the context.json beside it: stages, match crossbar, hash bits,
gateways, SRAM, map RAM, TCAM, action instructions (VLIW), stateful ALUs and
their instructions, and logical tables, as numbers and as shares of all stages.
It also shows what each program adds to the one that it builds on, and the figures
of the authors' programs in table I of the RLB paper. A folder of results, such as
docs/results, has such a report as tofino.json.`,
		Example: `  pauseless tofino build -o out && pauseless tofino report out
  pauseless tofino report out -o json
  pauseless tofino report docs/results`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf(cmd, "expected one folder, found %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "table" && output != "json" {
				return usageErrorf(cmd, "-o is table or json, not %q", output)
			}
			programs, missing := tofino.Read(args[0])
			if len(programs) == 0 {
				return missing
			}
			r := tofino.NewReport(programs, buildsOn)
			if output == "json" {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return errors.Join(e.Encode(r.Rows()), missing)
			}
			return errors.Join(r.WriteText(cmd.OutOrStdout()), missing)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "`FORM`: table or json")
	return cmd
}

func newTofinoPackCmd() *cobra.Command {
	var out string
	var pipes []uint
	cmd := &cobra.Command{
		Use:   "pack FOLDER -o FILE [--pipes 0,1]",
		Short: "Pack a compiled program for Stratum, to push it over P4Runtime",
		Long: `Pack a compiled program, in the folder that "pauseless tofino build" wrote, into
the form in which Stratum takes it as P4Runtime's device configuration: a
BfPipelineConfig with bfrt.json, context.json and tofino.bin.`,
		Example: `  pauseless tofino pack out/rlb-drill -o rlb-drill.pb
  pauseless ctl --addr switch:9559 pipeline set --p4info out/rlb-drill/p4info.txtpb --config rlb-drill.pb`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || out == "" {
				return usageErrorf(cmd, "expected a folder and -o FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, err := pipelines(pipes)
			if err != nil {
				return usageErrorf(cmd, "--pipes: %v", err)
			}
			p, err := bfrt.ReadProgram(filepath.Base(filepath.Clean(args[0])), args[0], scope...)
			if err != nil {
				return err
			}
			data, err := p.Pack()
			if err != nil {
				return err
			}
			return outfile.Write(out, data, 0o666)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`FILE`: file to write (required)")
	cmd.Flags().UintSliceVar(&pipes, "pipes", []uint{0, 1}, "pipelines that run it")
	return cmd
}

// buildsOn returns the program that a built-in profile's program extends: the
// one without RLB's limits, without RLB, without PB-FS or PCN, or ECMP.
func buildsOn(name string) string {
	p, err := gen.Builtin(name)
	switch {
	case err != nil || name == "ecmp":
		return ""
	case p.Choice("rlb") == "rlb_adaptive":
		return "rlb-" + p.Base
	case p.Choice("rlb") == "rlb" && p.Choice("pbfs") == "on":
		return "rlb-" + p.Base
	case p.Choice("rlb") == "rlb" || p.Choice("pbfs") == "on" || p.Choice("pcn") == "on":
		return p.Base
	}
	return "ecmp"
}
