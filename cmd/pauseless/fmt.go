// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/compiler/format"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
)

func newFmtCmd() *cobra.Command {
	var write, list bool
	cmd := &cobra.Command{
		Use:   "fmt [FILE.p4 ...]",
		Short: "Format P4_16 programs",
		Long: `Lay out P4_16 text: four spaces for each brace, one space around operators, the
members of headers and structs in columns. Comments and preprocessor directives
stay. Formatting a formatted program does not change it.

The result goes to standard output; without files, standard input is read.`,
		Example: `  pauseless fmt ecmp.p4
  pauseless fmt -w *.p4
  pauseless fmt -l *.p4      exit with 1 if a file is not formatted, and name it`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if write && list {
				return usageErrorf(cmd, "give -w or -l, not both")
			}
			if len(args) == 0 {
				if write || list {
					return usageErrorf(cmd, "expected the names of the files to format")
				}
				text, err := infile.From(cmd.InOrStdin(), "standard input", infile.Text)
				if err != nil {
					return err
				}
				out, err := formatText(cmd, "<standard input>", text)
				if err == nil {
					_, err = cmd.OutOrStdout().Write(out)
				}
				return err
			}
			return formatFiles(cmd, args, write, list)
		},
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "write the result to the file")
	cmd.Flags().BoolVarP(&list, "list", "l", false, "only name the files that are not formatted")
	return cmd
}

func formatFiles(cmd *cobra.Command, files []string, write, list bool) error {
	failed, differ := 0, 0
	for _, file := range files {
		text, err := infile.Read(file)
		if err != nil {
			return err
		}
		out, err := formatText(cmd, file, text)
		switch {
		case err != nil:
			failed++
		case write:
			if !bytes.Equal(text, out) {
				err = writeOutput(cmd, file, out)
			}
		case list:
			if !bytes.Equal(text, out) {
				differ++
				fmt.Fprintln(cmd.OutOrStdout(), file)
			}
		default:
			_, err = cmd.OutOrStdout().Write(out)
		}
		if err != nil && failed == 0 {
			return err
		}
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%d of %d files have errors and were not changed", failed, len(files))
	case differ > 0:
		return fmt.Errorf("%d of %d files are not formatted; `pauseless fmt -w` formats them", differ, len(files))
	}
	return nil
}

// formatText formats a text. If it has errors, they are printed to standard
// error.
func formatText(cmd *cobra.Command, name string, text []byte) ([]byte, error) {
	out, errs := format.Source(name, text)
	if errs == nil {
		return out, nil
	}
	diag.Print(cmd.ErrOrStderr(), errs, func(string) []byte { return text })
	return nil, fmt.Errorf("%s has errors", name)
}
