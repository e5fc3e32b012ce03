// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/spf13/cobra"
)

// ownProgram has the flags of a P4 program of one's own.
type ownProgram struct {
	p4, entries, include, define []string
}

func (o *ownProgram) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.p4, "p4", nil, "`[SWITCH=]FILE`: program of your own, for v1model, of all switches or of one (repeatable; default: those that a p4app.json names)")
	f.StringArrayVar(&o.entries, "entries", nil, "`[SWITCH=]FILE`: entries of the program of --p4; {switch} in the name is the switch's name (repeatable; default: those that the topology's file names)")
	f.StringArrayVarP(&o.include, "include", "I", nil, "`FOLDER`: search for files that the program includes there (repeatable)")
	f.StringArrayVarP(&o.define, "define", "D", nil, "`NAME[=TEXT]`: define a macro of the program (repeatable)")
	cmd.MarkFlagFilename("p4", "p4")
}

// given reports whether the flags name a program, or only the topology does and there is no
// profile.
func (o *ownProgram) given(t *topo.Topology, profile string) bool {
	return len(o.p4) > 0 || len(o.entries) > 0 || profile == "" && new(program.Spec).Given(t)
}

// build compiles the programs of a network's switches, and reads their entries. The network
// it returns has the addresses that its file gives.
func (o *ownProgram) build(cmd *cobra.Command, t *topo.Topology, profile string) (*program.Program, *topo.Topology, error) {
	if profile != "" {
		return nil, nil, usageErrorf(cmd, "give --profile, or --p4 with --entries, not both")
	}
	s, err := program.Flags(o.p4, o.entries, o.include, o.define)
	if err != nil {
		return nil, nil, usageErrorf(cmd, "%v", err)
	}
	if !s.Given(t) {
		return nil, nil, usageErrorf(cmd, "entries of which program? give --p4 FILE")
	}
	ignored(cmd, t)
	t = t.Addressed()
	prog, err := s.Build(t, program.Files{Resolve: func(name string) string { return name }, Read: infile.Read})
	var list diag.List
	switch {
	case errors.As(err, &list):
		return nil, nil, list
	case err != nil:
		return nil, nil, err
	}
	warn(cmd, prog)
	return prog, t, nil
}

// warn prints what the compiler says about programs of one's own; others have no warnings.
func warn(cmd *cobra.Command, programs ...*program.Program) {
	seen := make(map[string]bool)
	for _, p := range programs {
		if p == nil {
			continue
		}
		for _, d := range p.Warnings() {
			if text := d.Error(); !seen[text] {
				seen[text] = true
				fmt.Fprintln(cmd.ErrOrStderr(), text)
			}
		}
	}
}

// args returns the flags as words of a command line, with absolute names of files.
func (o *ownProgram) args() (words []string) {
	absolute := func(text string) string {
		name, file, one := strings.Cut(text, "=")
		if !one {
			name, file = "", text
		}
		if abs, err := filepath.Abs(file); err == nil {
			file = abs
		}
		if one {
			return name + "=" + file
		}
		return file
	}
	add := func(flag string, list []string, change func(string) string) {
		for _, text := range list {
			words = append(words, flag, change(text))
		}
	}
	add("--p4", o.p4, absolute)
	add("--entries", o.entries, absolute)
	add("--include", o.include, absolute)
	add("--define", o.define, func(text string) string { return text })
	return words
}
