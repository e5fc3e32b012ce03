// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/internal/outfile"
)

// newExperiment is the text of an experiment whose name is NAME.
//
//go:embed exp_new.yaml
var newExperiment string

// newExpNewCmd returns the verb that writes the file of a new experiment.
func newExpNewCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "new FILE.yaml",
		Short: "Write the file of a new experiment: a working example, with comments",
		Long: `Write the file of a new experiment: a working example, with comments, that compares
two load balancers at two loads. Change what you like, and run it with exp run.`,
		Example: "  pauseless exp new mine.yaml\n  pauseless exp run mine.yaml",
		Args:    oneArg("the name of the file to write, as mine.yaml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := args[0]
			name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
			if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || name == "" {
				return usageErrorf(cmd, "%q: expected a name of a-z, 0-9 and -, and .yaml, such as mine.yaml", file)
			}
			if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s exists already; give the experiment another name, or remove the file", file)
			}
			if err := outfile.Write(file, []byte(strings.ReplaceAll(newExperiment, "NAME", name)), 0o666); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n`pauseless exp run %s` runs it\n", file, file)
			return nil
		},
	}
}
