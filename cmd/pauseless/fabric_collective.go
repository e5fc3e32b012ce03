// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/workload"
)

// collectiveFlags are those of a collective without a scenario.
type collectiveFlags struct {
	kind, algorithm, size, rate, chunk string
	ranks, channels, iterations        int
}

// collectiveNames are the names of their flags.
var collectiveNames = []string{"algorithm", "size", "rate", "chunk", "ranks", "channels", "iterations"}

func (c *collectiveFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	kinds, algorithms := namesOf(workload.Kinds), namesOf(workload.Algorithms)
	fl.StringVar(&c.kind, "collective", "", "`KIND`: run an operation instead of a scenario: "+strings.Join(kinds, ", "))
	fl.StringVar(&c.algorithm, "algorithm", "", "`NAME`: algorithm of --collective: "+strings.Join(algorithms, ", ")+" (default: ring)")
	fl.IntVar(&c.ranks, "ranks", 16, "number of ranks of --collective, one for each host")
	fl.StringVar(&c.size, "size", "16MB", "`SIZE`: size of --collective, or a range of sizes that double, as in 1MB..1GB")
	fl.StringVar(&c.rate, "rate", "400Gbps", "`RATE`: rate of all links of --collective's leaf-spine network, which is not oversubscribed")
	fl.StringVar(&c.chunk, "chunk", "", "`SIZE`: greatest size of a message of --collective (default: 512KB for tree and broadcast, else no limit)")
	fl.IntVar(&c.channels, "channels", 1, "parts of the data that --collective sends at the same time")
	fl.IntVar(&c.iterations, "iterations", 1, "repetitions of each size of --collective")
	cmd.RegisterFlagCompletionFunc("collective", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("algorithm", cobra.FixedCompletions(algorithms, cobra.ShellCompDirectiveNoFileComp))
}

func namesOf[T ~string](list []T) (names []string) {
	for _, v := range list {
		names = append(names, string(v))
	}
	return names
}

// mostRanks is the greatest number of ranks without a scenario: 64 paths and as many hosts
// of a leaf are what programs have sizes for.
const mostRanks = 8192

// leavesFor returns the leaves and the hosts of each of a network for so many hosts.
func leavesFor(hosts int) (leaves, perLeaf int) {
	perLeaf = 1
	for perLeaf*perLeaf < hosts && perLeaf < 64 {
		perLeaf *= 2
	}
	return max((hosts+perLeaf-1)/perLeaf, 2), perLeaf
}

// head writes the keys that the flags of runs without a scenario have in common.
func (f *fabricFlags) head(text *strings.Builder, name string) {
	fmt.Fprintf(text, "name: %q\nprofile: %q\nuntil: 1000s\nhosts: {mtu: 4096, recovery: %q, cc: {algorithm: %q}}\n", name, cmp.Or(f.profile, "ecmp"), cmp.Or(f.recovery, string(roce.GoBackN)), cmp.Or(f.algorithm, "dcqcn"))
	if f.target != "" {
		fmt.Fprintf(text, "target: %q\n", f.target)
	}
	if f.topology != "" {
		fmt.Fprintf(text, "topology: %q\n", f.topology)
	}
}

// matrix makes the scenario of a connection matrix and a topology of htsim.
func (f *fabricFlags) matrix(cmd *cobra.Command) (*scenario.Scenario, error) {
	if f.topology == "" || f.config != "" || f.fct != "" || f.pfc != "" {
		return nil, usageErrorf(cmd, "a connection matrix of htsim, --flows %s, needs --topology; leave out --config, --fct and --pfc", f.flows)
	}
	var text strings.Builder
	f.head(&text, filepath.Base(f.flows))
	fmt.Fprintf(&text, "traffic:\n- job: {file: %q}\n", f.flows)
	return ofFlags(text.String())
}

// ofFlags parses a scenario that is made of flags. Errors have no place in it; those
// about a file that it names have theirs in that file.
func ofFlags(text string) (*scenario.Scenario, error) {
	s, err := scenario.Parse("flags", []byte(text))
	var list diag.List
	if !errors.As(err, &list) {
		return s, err
	}
	var all []error
	for _, d := range list {
		if d.Pos.File() == "flags" {
			all = append(all, errors.New(d.Msg))
		} else {
			all = append(all, d)
		}
	}
	return nil, errors.Join(all...)
}

// scenario makes the scenario of the flags.
func (c *collectiveFlags) scenario(cmd *cobra.Command, f *fabricFlags) (*scenario.Scenario, error) {
	if c.ranks < 2 || c.ranks > mostRanks {
		return nil, usageErrorf(cmd, "--ranks is %d, must be from 2 to %d", c.ranks, mostRanks)
	}
	rate, err := vtime.ParseRate(c.rate)
	if err != nil {
		return nil, usageErrorf(cmd, "--rate: %v", err)
	}
	var text strings.Builder
	f.head(&text, c.kind)
	if f.topology == "" {
		leaves, perLeaf := leavesFor(c.ranks)
		fmt.Fprintf(&text, "network:\n  leaf_spine: {leaves: %d, spines: %d, hosts_per_leaf: %d, rate: %v, delay: 500ns}\n  switch: {buffer: 64MB, pfc: {alpha: 0.125}}\n", leaves, perLeaf, perLeaf, rate)
	}
	fmt.Fprintf(&text, "traffic:\n- collective: {kind: %q, ranks: %d, size: %q, channels: %d, iterations: %d", c.kind, c.ranks, c.size, c.channels, c.iterations)
	if c.algorithm != "" {
		fmt.Fprintf(&text, ", algorithm: %q", c.algorithm)
	}
	if c.chunk != "" {
		fmt.Fprintf(&text, ", chunk: %q", c.chunk)
	}
	text.WriteString("}\n")
	return ofFlags(text.String())
}
