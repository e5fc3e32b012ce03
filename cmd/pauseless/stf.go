// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/softswitch/stf"
	"github.com/spf13/cobra"
)

func newSTFCmd() *cobra.Command {
	var target, dir string
	var trace bool
	cmd := &cobra.Command{
		Use:   "stf PROGRAM.{p4,json} TEST.stf",
		Short: "Run a packet test in p4c's STF format",
		Long: `Run a packet test: table entries, packets to send and packets to expect, in the
format of p4c's tests.

The program is P4_16, which is compiled, or BMv2 JSON. The switch is that of
pauseless switch, or simple_switch of p4lang/behavioral-model. The exit code is 0
if the test passes, otherwise 1.`,
		Example: `  pauseless stf router.p4 router.stf
  pauseless stf router.json router.stf --trace
  pauseless stf router.json router.stf --target bmv2 --bmv2 /usr/local/bin`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageErrorf(cmd, "expected a program and a test")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if target != "softswitch" && target != "bmv2" {
				return usageErrorf(cmd, "--target is softswitch or bmv2, not %q", target)
			}
			if target == "bmv2" && trace {
				return usageErrorf(cmd, "--trace needs --target softswitch")
			}
			json, units, err := loadProgram(cmd, args[0])
			if err != nil {
				return err
			}
			text, err := infile.Read(args[1])
			if err != nil {
				return err
			}
			script, err := stf.Parse(args[1], text)
			if err != nil {
				return err
			}
			if target == "bmv2" {
				if _, err := (softswitch.Units{Time: "us", Depth: "packets"}).For(units); err != nil {
					return fmt.Errorf("%s does not run on BMv2: %w", args[0], err)
				}
				for _, text := range json.UnalignedPrefixes() {
					fmt.Fprintln(cmd.ErrOrStderr(), "warning:", text)
				}
				err = stf.RunBMv2(cmd.Context(), json, script, dir)
			} else {
				opts := stf.Options{Units: units, Log: func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }}
				if trace {
					opts.Trace = func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }
				}
				err = stf.Run(json, script, opts)
			}
			var list diag.List
			if errors.As(err, &list) && target == "softswitch" && !trace && list[0].Code != stf.CodeName {
				fmt.Fprintln(cmd.ErrOrStderr(), "add --trace to print the parser states, tables and actions of each packet")
			}
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: passed\n", args[1])
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&target, "target", "softswitch", "`SWITCH`: the switch to test: softswitch or bmv2")
	f.BoolVar(&trace, "trace", false, "print the parser states, tables and actions of each packet")
	f.StringVar(&dir, "bmv2", os.Getenv("BMV2"), "`FOLDER`: folder with simple_switch (default: $BMV2, or PATH)")
	return cmd
}

// loadProgram reads BMv2 JSON, or compiles P4_16, and returns the units that the
// program names. Warnings go to stderr.
func loadProgram(cmd *cobra.Command, name string) (*bmv2json.Program, softswitch.Units, error) {
	if !strings.HasSuffix(name, ".json") {
		r, err := compileQuietly(cmd, name)
		if err != nil {
			return nil, softswitch.Units{}, err
		}
		units, err := p4rtserver.Units(r.P4Info)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return r.Program, units, err
	}
	data, err := infile.Read(name)
	if err != nil {
		return nil, softswitch.Units{}, err
	}
	p, err := bmv2json.Decode(name, data)
	return p, softswitch.Units{}, err
}

// compileQuietly compiles P4_16 with our compiler; warnings go to stderr.
func compileQuietly(cmd *cobra.Command, name string) (*compiler.Result, error) {
	r, list := compiler.Compile(compiler.Options{File: name})
	return r, reportDiagnostics(cmd, &compileFlags{}, name, list, r.Set.Source)
}
