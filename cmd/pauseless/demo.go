// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/view"
)

//go:embed demo.yaml
var demoScenario []byte

func newDemoCmd() *cobra.Command {
	var dir string
	var threads int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Compare DRILL with and without RLB on a simulated lossless network, with a report",
		Long: `Generate the P4 programs of the profiles drill and rlb-drill, compile them, load
them over P4Runtime into the four switches of a small leaf-spine network in
virtual time, send the same traffic through both, and compare.

` + "`pauseless demo --print`" + ` prints the scenario; change a copy and run it with
` + "`pauseless fabric run`" + `.`,
		Example: "  pauseless demo\n  pauseless demo --print > mine.yaml",
		Args:    noArgs,
	}
	show := cmd.Flags().Bool("print", false, "print the scenario instead of running it")
	cmd.Flags().StringVarP(&dir, "out", "o", "out/demo", "`FOLDER`: where to write the report and the results")
	threadsFlag(cmd.Flags(), &threads, "goroutines that run the network; results do not depend on it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *show {
			_, err := cmd.OutOrStdout().Write(demoScenario)
			return err
		}
		return demo(cmd, dir, threads)
	}
	return cmd
}

func demo(cmd *cobra.Command, dir string, threads int) error {
	out, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	s, err := scenario.Parse("demo.yaml", demoScenario)
	if err != nil {
		return err
	}
	var watch peaks
	o := scenario.Options{
		Threads: threads, Explain: true,
		Begin: func(profile string, seed uint64, p *program.Program) {
			watch.begin(profile, seed, p)
			fmt.Fprintf(stderr, "%s: %d lines of P4_16 generated, compiled to %d bytes of BMv2 JSON; 4 switches serve P4Runtime on loopback\n",
				profile, strings.Count(string(p.P4), "\n"), len(p.JSON))
		},
		Read: watch.read,
	}
	if err := checkFolder(dir); err != nil {
		return err
	}
	var rec recording
	o.Follow = rec.follow
	runs, err := runScenario(cmd.Context(), s, o, stderr)
	if err != nil {
		if len(runs) > 0 { // write the results so far
			if path, werr := writeResults(dir, "Demo: "+s.Summary, runs); werr == nil {
				fmt.Fprintf(stderr, "report of the results so far: %s\n", path)
			}
		}
		return err
	}
	fmt.Fprintf(out, "\n%s\n\n", s.Summary)
	if err := result.Table(out, runs); err != nil {
		return err
	}
	for _, r := range runs {
		if r.Causes != nil && len(r.Causes.Storms) > 0 {
			fmt.Fprintf(out, "\nThe worst storm of pauses under %s, of %d: %s\n", r.Profile, len(r.Causes.Storms), r.Causes.Storms[0].Sentence())
		}
	}
	watch.print(out, s)
	fmt.Fprintf(out, "\nRegisters of l1 under %s at the end, read over P4Runtime:\n", runs[len(runs)-1].Profile)
	printRegisters(out, runs[len(runs)-1].Registers, "l1")
	path, err := writeResults(dir, "Demo: "+s.Summary, runs)
	if err != nil {
		return err
	}
	replay, page := filepath.Join(dir, "replay.rec"), filepath.Join(dir, "replay.html")
	if err := rec.write(replay); err != nil {
		return err
	}
	if err := writeFile(page, func(w io.Writer) error { return view.WritePage(w, "Demo: "+s.Summary, rec.runs()) }); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nReport: %s\nReplay: %s, or `pauseless live %s`\n", path, page, replay)
	return nil
}

// printRegisters prints the cells that are not zero.
func printRegisters(w io.Writer, registers []result.Register, sw string) {
	for _, r := range registers {
		if r.Switch != sw {
			continue
		}
		fmt.Fprintf(w, "  %-18s %-9s", r.Name, r.Unit)
		shown, more := 0, 0
		for i, v := range r.Values {
			switch {
			case v == 0:
			case shown == maxCellsShown:
				more++
			default:
				fmt.Fprintf(w, " [%d]=%d", i, v)
				shown++
			}
		}
		switch {
		case shown == 0:
			fmt.Fprint(w, " all zero")
		case more > 0:
			fmt.Fprintf(w, " and %d more", more)
		}
		fmt.Fprintln(w)
	}
}

// maxCellsShown is how many cells of an array fit on a line.
const maxCellsShown = 8
