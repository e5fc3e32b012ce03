// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Help names what a flag takes, as in --write FILE, instead of its type.
func TestFlagsNameTheirValues(t *testing.T) {
	flags := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			flags++
			if name, _ := pflag.UnquoteUsage(f); name == "string" || name == "strings" || name == "stringArray" {
				t.Errorf("%s --%s %s: %s", c.CommandPath(), f.Name, name, f.Usage)
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRootCmd())
	if flags < 200 {
		t.Errorf("only %d flags", flags)
	}
}
