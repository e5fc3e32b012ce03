// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// usageError is a command line that makes no sense; the program exits with 2.
type usageError struct{ msg string }

func (e usageError) Error() string { return e.msg }

func usageErrorf(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...) + fmt.Sprintf("; see `%s --help`", cmd.CommandPath())}
}

// noArgs refuses arguments, as a usage error.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageErrorf(cmd, "unknown argument %q", args[0])
	}
	return nil
}
