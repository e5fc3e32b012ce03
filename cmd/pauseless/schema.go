// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/testbed/reference"
)

func newSchemaCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "schema KIND",
		Short: "Print the JSON Schema of profiles, scenarios, experiments, topologies or files for live",
		Long: `Print the JSON Schema (draft 2020-12) of a kind of file: ` + strings.Join(reference.Kinds, ", ") + `.
Editors with a YAML language server use it to complete keys and to mark errors.
The pages in docs/reference describe the same keys.`,
		Example: `  pauseless schema scenario > scenario.schema.json
  sed -i '1i # yaml-language-server: $schema=scenario.schema.json' mine.yaml`,
		ValidArgs: reference.Kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf(cmd, "expected one kind of file: %s", strings.Join(reference.Kinds, ", "))
			}
			text, err := reference.Schema(args[0])
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
}
