// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/p4src"
	"github.com/pauseless/pauseless/softswitch/bench"
	"github.com/pauseless/pauseless/softswitch/interp"
)

func newSwitchBenchCmd() *cobra.Command {
	var d time.Duration
	var bmv2Dir string
	var against bool
	cmd := &cobra.Command{
		Use:   "bench [NAME…]",
		Short: "Measure how many packets a second the switch forwards",
		Long: `Measure how many packets a second the switch forwards on one core with ports in
memory: the best of several rounds, so that other work on the machine counts
little. Names pick cases that have them as a part.

--against-bmv2 also runs the router from pcap file to pcap file, on this switch
and on simple_switch, with the same JSON and entries.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if d <= 0 {
				return usageErrorf(cmd, "--time must be more than zero")
			}
			if against {
				return benchAgainst(cmd, bmv2Dir)
			}
			return benchCases(cmd, args, d)
		},
	}
	cmd.Flags().DurationVar(&d, "time", time.Second, "how long to measure each case")
	cmd.Flags().BoolVar(&against, "against-bmv2", false, "compare with simple_switch instead")
	cmd.Flags().StringVar(&bmv2Dir, "bmv2", "", "folder with simple_switch; $BMV2 or PATH if not given")
	return cmd
}

func benchCases(cmd *cobra.Command, names []string, d time.Duration) error {
	out := cmd.OutOrStdout()
	rates := map[string]float64{}
	for _, c := range bench.Cases() {
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(c.Name, n) }) {
			continue
		}
		p, err := benchProgram(c)
		if err != nil {
			return err
		}
		b, err := bench.New(c, p)
		if err != nil {
			return err
		}
		rate, allocs := measure(b, d)
		if err := b.Lost(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		rates[c.Name] = rate
		fmt.Fprintf(out, "%-24s %10.0f packets/s %8.0f ns/packet %6.2f allocations/packet", c.Name, rate, 1e9/rate, allocs)
		if like := rates[c.Like]; like > 0 {
			fmt.Fprintf(out, "  %3.0f%% of %s", 100*rate/like, c.Like)
		}
		fmt.Fprintln(out)
	}
	if len(rates) == 0 {
		return usageErrorf(cmd, "no case is called like that")
	}
	return nil
}

// benchProgram compiles the program of a case.
func benchProgram(c bench.Case) (*interp.Program, error) {
	r, err := compileBench(c)
	if err != nil {
		return nil, err
	}
	return interp.Compile(r.Program, interp.Options{})
}

func compileBench(c bench.Case) (*compiler.Result, error) {
	src := bench.Router
	if c.Program != "router" {
		var err error
		if src, err = p4src.FS.ReadFile("v1model/" + c.Program + ".p4"); err != nil {
			return nil, err
		}
	}
	r, list := compiler.Compile(compiler.Options{File: c.Program + ".p4", Source: src, Defines: c.Defines})
	return r, list.Err()
}

// measure returns packets a second in the best of many rounds, and how many
// allocations there were for each packet in all.
func measure(b *bench.Bench, d time.Duration) (rate, allocs float64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const round = 10_000
	b.Packets(round) // pools fill
	runtime.GC()     // of what the case before has left
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for start := time.Now(); time.Since(start) < d || n == 0; n += round {
		t := time.Now()
		b.Packets(round)
		rate = max(rate, round/time.Since(t).Seconds())
	}
	runtime.ReadMemStats(&after)
	return rate, float64(after.Mallocs-before.Mallocs) / float64(n)
}
