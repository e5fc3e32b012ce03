// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// newDeployTaskCmd is what hosts start for a line of a tasks_file.
func newDeployTaskCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "task START DURATION COMMAND...",
		Short: "Execute a command after a time, and end it after another",
		Long: `Wait for START seconds, execute the command, and end it after DURATION seconds,
unless DURATION is zero. Hosts start this for the tasks of a p4app.json.`,
		Example:            "  pauseless deploy task 10.5 30 ping 10.0.3.3",
		Hidden:             true,
		DisableFlagParsing: true, // flags are the command's
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 3 {
				return usageErrorf(cmd, "expected START DURATION COMMAND")
			}
			var times [2]time.Duration
			for i := range times {
				s, err := strconv.ParseFloat(args[i], 64)
				if err != nil || !(s >= 0 && s <= longest.Seconds()) { // nor is NaN
					return usageErrorf(cmd, "%q is not a number of seconds from 0 to %v", args[i], longest.Seconds())
				}
				times[i] = time.Duration(s * float64(time.Second))
			}
			ctx := cmd.Context()
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(times[0]):
			}
			if times[1] > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, times[1])
				defer cancel()
			}
			run := exec.CommandContext(ctx, args[2], args[3:]...)
			run.Stdout, run.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			err := run.Run()
			if ctx.Err() != nil && cmd.Context().Err() == nil {
				return nil // its time is over
			}
			return err
		},
	}
}
