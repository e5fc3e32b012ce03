// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/spf13/cobra"
)

func newGenCmd() *cobra.Command {
	var profile, target, out string
	var list, show bool
	cmd := &cobra.Command{
		Use:   "gen --profile NAME|FILE [--target v1model] [-o FOLDER]",
		Short: "Write the P4_16 program of a profile, its default entries and its manifest",
		Long: `Write the P4_16 program of a profile.

A profile names a base load balancer, the schemes on top of it, and the sizes and
units of the target. Three files are written to FOLDER: NAME.p4, NAME.entries (the
default entries of the tables that hold parameters) and NAME.manifest.json (the
meaning of tables, registers and parameters).`,
		Example: `  pauseless gen --list
  pauseless gen --profile rlb-drill -o out
  pauseless gen --profile rlb-drill --show > mine.yaml
  pauseless gen --profile mine.yaml -o out
  pauseless gen new nearest -o schemes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case list:
				if out != "" && out != "table" && out != "json" {
					return usageErrorf(cmd, "--list prints -o table or -o json, not %q", out)
				}
				return listProfiles(cmd.OutOrStdout(), out == "json")
			case profile == "":
				return usageErrorf(cmd, "give --profile NAME or --profile FILE.yaml; --list shows the names")
			case show:
				return showProfile(cmd.OutOrStdout(), profile)
			}
			return generate(cmd.OutOrStdout(), profile, target, out)
		},
	}
	f := cmd.Flags()
	f.StringVar(&profile, "profile", "", "`NAME`: built-in profile, or a file ending in .yaml")
	f.StringVar(&target, "target", "v1model", "`TARGET`: architecture: "+strings.Join(gen.Targets, ", ")+"; or bmv2: v1model with the units of BMv2 and PFC by the program")
	f.StringVarP(&out, "output", "o", "", "`FOLDER`: where to write (default: the working folder); with --list: table or json")
	cmd.RegisterFlagCompletionFunc("profile", completeProfiles)
	cmd.RegisterFlagCompletionFunc("target", cobra.FixedCompletions(append([]string{bmv2Target}, gen.Targets...), cobra.ShellCompDirectiveNoFileComp))
	f.BoolVar(&list, "list", false, "list the built-in profiles")
	f.BoolVar(&show, "show", false, "print a built-in profile with all its parameters, as a file to start from")
	cmd.AddCommand(newGenNewCmd())
	return cmd
}

// newGenNewCmd returns the verb that writes a new scheme's folder.
func newGenNewCmd() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "new NAME [-o FOLDER]",
		Short: "Write the folder of a new scheme: a working example, with comments",
		Long: `Write the folder of a new scheme, FOLDER/NAME: a working example with comments. In it,
each flowlet draws two paths at random and takes the one with the shorter queue.
Every command finds the schemes below FOLDER with --schemes FOLDER, or with
PAUSELESS_SCHEMES=FOLDER in the environment. docs/own-scheme.md is the tutorial.`,
		Example: `  pauseless gen new nearest -o schemes
  pauseless --schemes schemes gen --profile nearest -o out`,
		Args:        oneArg("the name of a scheme"),
		Annotations: map[string]string{withoutSchemes: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := gen.Starter(args[0])
			if err != nil {
				return err
			}
			folder := filepath.Join(out, args[0])
			if _, err := os.Stat(folder); err == nil {
				return fmt.Errorf("%s exists already; give the scheme another name, or remove the folder", folder)
			}
			for _, f := range files {
				name := filepath.Join(out, f.Name)
				if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
					return err
				}
				if err := outfile.Write(name, f.Data, 0o666); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), name)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", ".", "`FOLDER`: folder of schemes, in which the scheme's folder is created")
	return cmd
}

// profileOf returns a built-in profile, or reads one from a file.
func profileOf(name string) (*gen.Profile, error) {
	if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.ContainsRune(name, filepath.Separator) {
		return gen.Read(name)
	}
	return gen.Builtin(name)
}

func listProfiles(w io.Writer, asJSON bool) error {
	type row struct {
		Name    string `json:"name"`
		Summary string `json:"summary"`
	}
	rows := []row{}
	for _, name := range gen.Names() {
		p, err := gen.Builtin(name)
		if err != nil {
			return err
		}
		rows = append(rows, row{p.Name, p.Summary})
	}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(rows)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(tw, "%s\t%s\n", r.Name, r.Summary)
	}
	return tw.Flush()
}

// showProfile prints a profile's file and, as comments, all its parameters: the
// value for the profile's network, and the formula that it follows from.
func showProfile(w io.Writer, name string) error {
	p, err := gen.Builtin(name)
	if err != nil {
		return err
	}
	text, err := gen.Source(name)
	if err != nil {
		return err
	}
	prog, err := gen.Generate(p, targetOf(p))
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if len(prog.Manifest.Parameters) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\n# Parameters, for links of %v with a delay of %v. To change one, give it under set.\n", p.Network.Rate, p.Network.Delay); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, q := range prog.Manifest.Parameters {
		from := "follows from the network: " + string(q.Default)
		if q.Given {
			from = "given by the profile"
		}
		fmt.Fprintf(tw, "#   %s\t%s\t%s\t%s\n", q.Name, quantity(q.Value, q.Unit), from, q.Doc)
	}
	return tw.Flush()
}

// quantity formats a parameter's value as the key set of a profile takes it.
func quantity(v float64, unit string) string {
	switch unit {
	case "bytes":
		return vtime.Size(math.Round(v)).String()
	case "ns":
		return vtime.Time(math.Round(v * float64(vtime.Nanosecond))).String()
	case "bps":
		return vtime.Rate(math.Round(v)).String()
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// targetOf returns the first target that a profile has a program for.
func targetOf(p *gen.Profile) string {
	for _, t := range gen.Targets {
		if _, err := gen.Generate(p, t); err == nil {
			return t
		}
	}
	return gen.Targets[0]
}

// bmv2Target is v1model as BMv2 runs it.
const bmv2Target = "bmv2"

func generate(w io.Writer, profile, target, dir string) error {
	p, err := profileOf(profile)
	if err != nil {
		return err
	}
	if target == bmv2Target {
		if err := program.ForBMv2(p); err != nil {
			return err
		}
		target = program.V1Model
	}
	prog, err := gen.Generate(p, target)
	if err != nil {
		return err
	}
	if dir == "" {
		dir = "."
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, f := range prog.Files() {
		name := filepath.Join(dir, f.Name)
		if err := outfile.Write(name, f.Data, 0o666); err != nil {
			return err
		}
		fmt.Fprintln(w, name)
	}
	return nil
}
