// SPDX-License-Identifier: Apache-2.0

package world

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

var (
	schedules = flag.Int("schedules", 0, "how many schedules of faults to run; 0 is what CI runs")
	tell      = flag.Bool("tell", false, "tell what happens in each")
	firstSeed = flag.Uint64("seed", 1, "seed of the first of them")
)

var program = sync.OnceValues(func() (controlplane.Pipeline, error) {
	r, list := compiler.Compile(compiler.Options{File: "testdata/world.p4"})
	if err := list.Err(); err != nil {
		return controlplane.Pipeline{}, err
	}
	return controlplane.Pipeline{P4Info: r.P4Info, Config: bmv2json.Encode(r.Program)}, nil
})

// TestSchedules runs schedules of faults. A schedule with a violation is shrunk to few
// steps and printed as Go for TestCases.
func TestSchedules(t *testing.T) {
	n := *schedules
	if n == 0 {
		n = 150
		if testing.Short() {
			n = 20
		}
	}
	begun := time.Now()
	for i := range n {
		s := draw(*firstSeed + uint64(i))
		bad := try(t, s)
		if *tell {
			t.Logf("seed %d:\n%s", s.Seed, strings.Join(last, "\n"))
		}
		if len(bad) == 0 {
			if *schedules > 0 && (i+1)%1000 == 0 {
				t.Logf("%d schedules in %v", i+1, time.Since(begun).Round(time.Second))
			}
			continue
		}
		small := shrink(t, s)
		t.Errorf("seed %d: %s\nshrunk from %d to %d steps, for TestCases:\n%sIts story:\n%s", s.Seed, strings.Join(bad, "\n"), len(s.Steps), len(small.Steps), source(small), strings.Join(last, "\n"))
		if t.Failed() && *schedules == 0 {
			return
		}
	}
}

// try runs a schedule in a bubble. Goroutines that remain running or blocked fail the
// test at once: they are a violation too.
func try(t *testing.T, s schedule) (bad []string) {
	t.Helper()
	var story []string
	p, err := program()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(*testing.T) { bad, story = run(s, p) })
	if len(bad) > 0 || *tell {
		last = story
	}
	return bad
}

// last is the story of the last schedule with a violation.
var last []string

// shrink removes steps, switches and controllers while there is still a violation. The
// order of goroutines at the same instant is not part of the schedule, so each
// candidate runs several times.
func shrink(t *testing.T, s schedule) schedule {
	fails := func(s schedule) bool {
		for range 5 {
			if len(try(t, s)) > 0 {
				return true
			}
		}
		return false
	}
	for size := len(s.Steps) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(s.Steps); {
			c := s
			c.Steps = slices.Delete(slices.Clone(s.Steps), i, i+size)
			if fails(c) {
				s = c
			} else {
				i += size
			}
		}
	}
	for _, less := range []func(*schedule){func(s *schedule) { s.Controllers-- }, func(s *schedule) { s.Controllers-- }, func(s *schedule) { s.Switches-- }} {
		c := s
		if less(&c); c.Controllers > 0 && c.Switches > 0 && fails(c) {
			s = c
		}
	}
	return s
}

// source writes a schedule as Go.
func source(s schedule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{Seed: %d, Switches: %d, Controllers: %d, Steps: []step{\n", s.Seed, s.Switches, s.Controllers)
	for _, st := range s.Steps {
		fmt.Fprintf(&b, "\t{%d, %q, %d, %d, %d}, // at %v\n", st.At, st.What, st.A, st.B, st.N, st.At)
	}
	b.WriteString("}},\n")
	return b.String()
}

// cases has schedules that once had a violation.
var cases = map[string]schedule{
	// gRPC continued to use a connection without a peer.
	"the switch is gone without a word": {Seed: 1, Switches: 1, Controllers: 1, Steps: []step{
		{2962134079, "half-open", 4, 2, 1433}, // at 2.962134079s
	}},
	// The switch still had the stream of the previous machine. The new machine gave up,
	// as its election id was in use.
	"a controller comes back before it is missed": {Seed: 2, Switches: 1, Controllers: 1, Steps: []step{
		{1000000000, "mute controller", 0, 0, 10}, // at 1s
	}},
	"all at once": {Seed: 3, Switches: 2, Controllers: 3, Steps: []step{
		{1000000000, "part", 0, 0, 0}, {1000000000, "mute switch", 0, 0, 100}, {1000000000, "mute controller", 0, 1, 100},
		{1000000000, "stranger", 1, 0, 0}, {1000000000, "cut", 1, 2, 301}, {1000000000, "overfull", 0, 0, 0}, {1000000000, "lose switch", 1, 0, 0},
	}},
}

func TestCases(t *testing.T) {
	for name, s := range cases {
		t.Run(name, func(t *testing.T) {
			if bad := try(t, s); len(bad) > 0 {
				t.Errorf("%s\nThe story:\n%s", strings.Join(bad, "\n"), strings.Join(last, "\n"))
			}
		})
	}
}
