// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/testbed/evidence"
)

func newExpDocsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "docs [CHECKOUT]",
		Short: "Write what the documents of the repository say about docs/results",
		Long: `Write into a checkout of the repository, from the outcomes in docs/results: the
pages of the outcomes, docs/reproduction.md and the pages of its papers, and the
tables and numbers in README.md and in the pages of schemes. It runs nothing. An
error names what only an author can change: a sentence whose effect has another
sign, or a cause that an experiment no longer shows.`,
		Example: "  pauseless exp docs\n  pauseless exp docs ~/pauseless",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageErrorf(cmd, "expected one folder, or none for the current one")
		}
		root := "."
		if len(args) == 1 {
			root = args[0]
		}
		changed, err := evidence.Write(root)
		for _, name := range changed {
			fmt.Fprintln(cmd.OutOrStdout(), name)
		}
		return err
	}
	return cmd
}
