// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/scenario"
)

func newExpCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exp",
		Short: "Run the experiments that judge the schemes by their papers",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newExpListCmd(), newExpRunCmd())
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
	cmd.Flags().StringVarP(&output, "output", "o", "table", "what to print: table or json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		type entry struct {
			Name     string   `json:"name"`
			Summary  string   `json:"summary"`
			Profiles []string `json:"profiles"`
			Claims   int      `json:"claims"`
		}
		var list []entry
		for _, name := range exp.Names() {
			s, err := exp.Load(name)
			if err != nil {
				return err
			}
			list = append(list, entry{name, s.Summary, s.Profiles, len(s.Claims)})
		}
		switch output {
		case "json":
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			return enc.Encode(list)
		case "table":
			for _, e := range list {
				fmt.Fprintf(cmd.OutOrStdout(), "%-18s %s\n", e.Name, e.Summary)
			}
			return nil
		}
		return usageErrorf(cmd, "--output is %q, want table or json", output)
	}
	return cmd
}

func newExpRunCmd() *cobra.Command {
	var output, dir, keep string
	var seeds, threads int
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Run an experiment and say which claims hold",
		Long: `Runs all profiles of an experiment with all seeds and prints the means and
what became of the claims. A claim that does not hold is a result, not an
error. The scenario is that of ` + "`pauseless exp run NAME --print`" + `.`,
		Example: "  pauseless exp run rlb-paused-path\n  pauseless exp run plb --seeds 1 -o json",
	}
	fl := cmd.Flags()
	show := fl.Bool("print", false, "print the scenario instead of running it")
	fl.StringVarP(&output, "output", "o", "table", "what to print: table or json")
	fl.StringVarP(&dir, "dir", "d", "", "folder for results.json, flows-*.csv and report.html")
	fl.StringVar(&keep, "keep", "", "folder for the outcome as NAME.json and NAME.md")
	fl.IntVar(&seeds, "seeds", 0, "how many seeds, from 1 on (default: those of the scenario)")
	fl.IntVar(&threads, "threads", 1, "goroutines that run the network; results do not depend on it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageErrorf(cmd, "want the name of one experiment; `pauseless exp list` shows them")
		}
		if output != "table" && output != "json" {
			return usageErrorf(cmd, "--output is %q, want table or json", output)
		}
		if *show {
			text, err := exp.Source(args[0])
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		}
		o, err := runExperiment(cmd, args[0], seeds, threads, dir)
		if err != nil {
			return err
		}
		if keep != "" {
			if err := keepOutcome(keep, o); err != nil {
				return err
			}
		}
		if output == "json" {
			return o.WriteJSON(cmd.OutOrStdout())
		}
		return o.Table(cmd.OutOrStdout())
	}
	return cmd
}

func runExperiment(cmd *cobra.Command, name string, seeds, threads int, dir string) (*exp.Outcome, error) {
	s, err := exp.Load(name)
	if err != nil {
		return nil, err
	}
	if seeds > 0 {
		if err := s.Reseed(seeds); err != nil {
			return nil, err
		}
	}
	stderr := cmd.ErrOrStderr()
	runs, err := runScenario(cmd.Context(), s, scenario.Options{Threads: threads}, stderr)
	if err != nil {
		return nil, err
	}
	if dir != "" {
		report, err := writeResults(dir, s.Summary, runs)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "report: %s\n", report)
	}
	return exp.Judge(name, s, runs)
}

func keepOutcome(dir string, o *exp.Outcome) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for ext, write := range map[string]func(io.Writer) error{".json": o.WriteJSON, ".md": o.WriteMarkdown} {
		if err := writeFile(filepath.Join(dir, o.Experiment+ext), write); err != nil {
			return err
		}
	}
	return nil
}
