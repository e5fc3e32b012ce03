// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/vtime"
)

// A Tofino's program has a clock of 32 bits of nanoseconds, which wraps every 4.3 s, and
// windows of time that are powers of two of nanoseconds.
const (
	clockWraps = vtime.Time(1<<32) * vtime.Nanosecond
	allWindows = vtime.Time(1<<24) * vtime.Nanosecond // a multiple of all windows, 17 ms
)

// bursts is a scenario in which flows between two leaves begin together, at each of the
// times, and some paths are paused.
func bursts(profile string, at []vtime.Time) string {
	var traffic strings.Builder
	for _, t := range at {
		fmt.Fprintf(&traffic, "- burst: {from: h1..h2, to: h5, flows: 2, size: 40KB, start: %dns}\n", t/vtime.Nanosecond)
		fmt.Fprintf(&traffic, "- burst: {from: h3, to: h4, flows: 2, size: 10KB, start: %dns}\n", (t+3*vtime.Microsecond)/vtime.Nanosecond)
		fmt.Fprintf(&traffic, "- burst: {from: h6, to: h5, flows: 2, size: 40KB, start: %dns}\n", t/vtime.Nanosecond)
	}
	set := map[string]string{
		"ar-flow": "\nset: {ar.idle: 2ms}",
		"caver":   "\nset: {caver.gap: 10us}", // a cell's zero counts as recent for this time after a wrap, and a first packet then takes no found path
	}[profile]
	return fmt.Sprintf(`
name: bursts
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 3, rate: 40Gbps, delay: 1us}
  switch: {buffer: 1MB, pfc: {xoff: 24KB}}
profiles: [%s@tna]%s
traffic:
%suntil: %dns
`, profile, set, traffic.String(), (at[len(at)-1]+20*vtime.Millisecond)/vtime.Nanosecond)
}

// Every program for Tofino decides alike whatever the clock is when the traffic begins,
// and however long nothing is sent between two bursts: each flow takes as long as with a
// clock that stays below 2.1 s and idle times below 0.1 s, where no age has a sign or a
// wrap. An idle time that exceeds a multiple of the clock's period by less than a timer's
// span is not drawn: an old time is as new then. MODEL=1 runs all programs, more often.
func TestTofinoDecidesAlikeAtEveryClock(t *testing.T) {
	draws := 1
	if os.Getenv("MODEL") != "" {
		draws = 10
	}
	for _, profile := range tofinoProfiles(t) {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			idle := []vtime.Time{30 * vtime.Microsecond, 400 * vtime.Microsecond, 80 * vtime.Millisecond, 2 * vtime.Millisecond, 90 * vtime.Millisecond}
			times := func(start vtime.Time, long func() vtime.Time) []vtime.Time {
				list := []vtime.Time{start}
				for _, d := range idle {
					if d > 50*vtime.Millisecond {
						d += long()
					}
					list = append(list, list[len(list)-1]+d)
				}
				return list
			}
			const start = vtime.Second
			want := runFlows(t, bursts(profile, times(start, func() vtime.Time { return 0 })))
			r := rand.New(rand.NewPCG(1, uint64(len(profile))))
			for n := range draws {
				// A clock in the second half of its range, or just before a wrap.
				shift := vtime.Time(r.Int64N(int64(clockWraps/allWindows))) * allWindows
				if n == 0 {
					shift = (clockWraps/2 + vtime.Time(r.Int64N(int64(clockWraps/4)))) / allWindows * allWindows
				}
				long := func() vtime.Time {
					if n == 0 { // where the sign of an age is wrong
						return (clockWraps/2 + vtime.Time(r.Int64N(int64(clockWraps/3)))) / allWindows * allWindows
					}
					for {
						d := vtime.Time(r.Int64N(int64(10*vtime.Second/allWindows))) * allWindows
						if (d+80*vtime.Millisecond)%clockWraps > 50*vtime.Millisecond {
							return d
						}
					}
				}
				at := times(start+shift, long)
				got := runFlows(t, bursts(profile, at))
				if !slices.Equal(got, want) {
					t.Errorf("bursts at %v: flows took %v ns, with a low clock %v ns", at, got, want)
				}
			}
		})
	}
}

// The same where the clock wraps, or its sign changes, between the packets of a burst.
// The times are compared with those of a burst around 2^30 ns, where all windows end, too.
// A burst before writes the cells: the zero of a cell without a packet so far is a time
// like others, and counts as recent for a timer's span after the clock has wrapped.
func TestTofinoDecidesAlikeWhereTheClockWraps(t *testing.T) {
	before := []vtime.Time{15 * vtime.Microsecond}
	if os.Getenv("MODEL") != "" {
		before = append(before, 3*vtime.Microsecond, 40*vtime.Microsecond, 450*vtime.Microsecond, 2*vtime.Millisecond)
	}
	for _, profile := range tofinoProfiles(t) {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			for _, d := range before {
				around := func(edge vtime.Time) []int64 {
					at := edge - d
					return runFlows(t, bursts(profile, []vtime.Time{at - 3*vtime.Millisecond, at, at + 30*vtime.Microsecond, at + 430*vtime.Microsecond, at + 2430*vtime.Microsecond}))
				}
				want := around(clockWraps / 4)
				for _, edge := range []vtime.Time{clockWraps / 2, clockWraps, clockWraps + clockWraps/2, 2 * clockWraps} {
					if got := around(edge); !slices.Equal(got, want) {
						t.Errorf("a burst begins %v before %v: flows took %v ns, around %v %v ns", d, edge, got, clockWraps/4, want)
					}
				}
			}
		})
	}
}

// tofinoProfiles returns profiles with a program for Tofino: of each kind, or all with MODEL=1.
func tofinoProfiles(t *testing.T) []string {
	t.Helper()
	if os.Getenv("MODEL") == "" {
		return []string{"ar-flow", "caver", "clb", "conga", "drill", "flowcut", "letflow", "pcn", "pbfs", "plb", "rlb-conga", "rlb-adaptive-drill"}
	}
	return slices.DeleteFunc(gen.Names(), func(name string) bool {
		p, err := gen.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = gen.Generate(p, "tna")
		return err != nil
	})
}

// runFlows returns the time of each flow, in nanoseconds.
func runFlows(t *testing.T, text string) []int64 {
	t.Helper()
	s, err := Parse("bursts.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := s.Run(t.Context(), Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	var list []int64
	for _, f := range runs[0].Flows {
		list = append(list, int64(f.FCTNS))
	}
	if len(list) == 0 {
		t.Fatal("no flows")
	}
	return list
}
