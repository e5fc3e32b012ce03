// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/testbed/result"
)

func newExpArchiveCmd() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "archive FOLDER...",
		Short: "Write full outcomes as one file, for a release",
		Long: `Write all outcomes of some folders into a compressed tar file with their SHA-256,
and the SHA-256 of the file beside it. A folder is a store of exp run, whose
outcomes have all metrics, or one of exp run --keep, whose outcomes have those that
documents need. If several folders have an outcome, the first counts. exp show
--from, exp run --earlier and report read the file.`,
		Example: "  pauseless exp archive out/exp -o results.tar.gz\n  pauseless report results.tar.gz/rlb-fig3.json",
	}
	cmd.Flags().StringVarP(&output, "output", "o", "results"+result.ArchiveExt, "`FILE`: file to write")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageErrorf(cmd, "expected at least one folder with outcomes")
		}
		if !strings.HasSuffix(output, result.ArchiveExt) {
			return usageErrorf(cmd, "--output is %q, expected a name that ends in %s", output, result.ArchiveExt)
		}
		var all []*result.Outcome
		seen := make(map[string]bool)
		for _, dir := range args {
			found, err := result.FindOutcomes(dir)
			if err != nil {
				return err
			}
			for _, o := range found {
				if !seen[o.File()] {
					all = append(all, o)
				}
				seen[o.File()] = true
			}
		}
		sum := sha256.New()
		if err := writeFile(output, func(w io.Writer) error { return result.WriteArchive(io.MultiWriter(w, sum), all) }); err != nil {
			return err
		}
		line := fmt.Sprintf("%x  %s\n", sum.Sum(nil), filepath.Base(output))
		if err := writeFile(output+".sha256", func(w io.Writer) error { _, err := io.WriteString(w, line); return err }); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d outcomes\n", output, len(all))
		return nil
	}
	return cmd
}
