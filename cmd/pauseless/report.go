// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/testbed/report"
	"github.com/pauseless/pauseless/testbed/result"
)

func newReportCmd() *cobra.Command {
	var output, title string
	cmd := &cobra.Command{
		Use:     "report RESULTS.json...",
		Short:   "Draw results of runs as one HTML page",
		Example: "  pauseless report out/demo/results.json -o demo.html\n  pauseless report a/results.json b/results.json -o both.html --title 'before and after'",
	}
	cmd.Flags().StringVarP(&output, "output", "o", "report.html", "file to write")
	cmd.Flags().StringVar(&title, "title", "", "title of the page (default: the scenario's name)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageErrorf(cmd, "want at least one results file")
		}
		var runs []*result.Run
		for _, name := range args {
			r, err := readResults(name)
			if err != nil {
				return err
			}
			runs = append(runs, r...)
		}
		if title == "" && len(runs) > 0 {
			title = runs[0].Scenario
		}
		if err := writeFile(output, func(w io.Writer) error { return report.Write(w, title, runs) }); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d runs\n", output, len(runs))
		return nil
	}
	return cmd
}

func readResults(name string) ([]*result.Run, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	runs, err := result.ReadJSON(f)
	if err != nil {
		return nil, fmt.Errorf("%s: no results file, as `pauseless fabric run -d` writes it: %w", name, err)
	}
	return runs, nil
}
