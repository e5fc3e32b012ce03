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
	var against, writes bool
	var entries int
	cmd := &cobra.Command{
		Use:   "bench [NAME…]",
		Short: "Measure how many packets a second the switch forwards",
		Long: `Measure how many packets a second the switch forwards on one core with ports in
memory: the best of many short rounds, so that other work on the machine counts
little. Cases with large tables are compared with those with small ones turn by
turn: the median, and what eight of ten turns are within. Names pick cases that
have them as a part.

--against-bmv2 also runs the router from pcap file to pcap file, on this switch
and on simple_switch, with the same JSON and entries.

--writes starts a switch in a process of its own and writes entries to it over
loopback gRPC, in batches, while packets go through the same table.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if d <= 0 {
				return usageErrorf(cmd, "--time must be more than zero")
			}
			switch {
			case writes && (entries < 1 || entries > 1<<20):
				return usageErrorf(cmd, "--entries is from 1 to %d, what the table has room for", 1<<20)
			case writes:
				return benchWrites(cmd, entries)
			case against:
				return benchAgainst(cmd, bmv2Dir)
			}
			return benchCases(cmd, args, d)
		},
	}
	cmd.Flags().DurationVar(&d, "time", time.Second, "how long to measure each case")
	cmd.Flags().BoolVar(&against, "against-bmv2", false, "compare with simple_switch instead")
	cmd.Flags().BoolVar(&writes, "writes", false, "measure writing entries instead")
	cmd.Flags().IntVar(&entries, "entries", 1_000_000, "how many entries --writes writes")
	cmd.Flags().StringVar(&bmv2Dir, "bmv2", "", "folder with simple_switch; $BMV2 or PATH if not given")
	return cmd
}

func benchCases(cmd *cobra.Command, names []string, d time.Duration) error {
	var runs []*benchRun
	byName := map[string]*benchRun{}
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
		r := &benchRun{name: c.Name, bench: b, like: byName[c.Like]}
		runs, byName[c.Name] = append(runs, r), r
	}
	if len(runs) == 0 {
		return usageErrorf(cmd, "no case is called like that")
	}
	measure(runs, d)
	out := cmd.OutOrStdout()
	for _, r := range runs {
		if err := r.bench.Lost(); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintf(out, "%-24s %10.0f packets/s %6.0f ns/packet %6.2f allocations/packet", r.name, 1e9/r.best, r.best, r.allocs)
		if r.like != nil {
			var ratios []float64
			for i, t := range r.turns {
				ratios = append(ratios, 100*r.like.turns[i]/t)
			}
			slices.Sort(ratios)
			fmt.Fprintf(out, "  %3.0f%% of %s (%.0f to %.0f%%)", ratios[len(ratios)/2], r.like.name, ratios[len(ratios)/10], ratios[len(ratios)-1-len(ratios)/10])
		}
		fmt.Fprintln(out)
	}
	return nil
}

// benchRun is a case that is measured.
type benchRun struct {
	name  string
	bench *bench.Bench
	like  *benchRun // the case that this one is compared with, or nil
	// Nanoseconds for a packet: in the best round, and of each turn in the round
	// that a quarter of them beat.
	best   float64
	turns  []float64
	allocs float64 // for each packet
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

// measure runs all cases in turns, so that what else the machine does meets
// all of them alike, each for the time d. A turn has many short rounds, so
// that most are not interrupted.
func measure(runs []*benchRun, d time.Duration) {
	const turns, round, warm = 20, 1000, 50_000
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, r := range runs {
		r.bench.Packets(warm) // pools fill
	}
	runtime.GC()
	var before, after runtime.MemStats
	for range turns {
		for _, r := range runs {
			var rounds []float64
			r.bench.Packets(warm) // caches too
			runtime.ReadMemStats(&before)
			n := 0
			for start := time.Now(); time.Since(start) < d/turns || n == 0; n += round {
				t := time.Now()
				r.bench.Packets(round)
				rounds = append(rounds, float64(time.Since(t).Nanoseconds())/round)
			}
			runtime.ReadMemStats(&after)
			r.allocs = max(r.allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
			slices.Sort(rounds)
			r.turns = append(r.turns, rounds[len(rounds)/4])
			if r.best == 0 || rounds[0] < r.best {
				r.best = rounds[0]
			}
		}
	}
}
