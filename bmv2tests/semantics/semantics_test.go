// SPDX-License-Identifier: Apache-2.0

package semantics

import (
	"errors"
	"flag"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pauseless/pauseless/bmv2tests/semantics/generate"
	"github.com/pauseless/pauseless/bmv2tests/semantics/shrink"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/need"
)

var (
	programs  = flag.Int("programs", 0, "how many programs to run; 0 is what CI runs")
	firstSeed = flag.Uint64("seed", 1, "seed of the first of them")
	show      = flag.Bool("show", false, "print each program and its packets")
)

// check returns how a case fails: "" if our compiler and switch do as the
// evaluator says, or if it says nothing.
func check(c generate.Case) (kind string, err error) {
	p, err := Compile(c)
	if r := (Refused{}); errors.As(err, &r) {
		return refusal(r), err
	}
	e, err := Evaluate(c)
	if err != nil {
		return "evaluator", err
	}
	if err := e.Run(p, nil); err != nil {
		if strings.Contains(err.Error(), "[stf-expect]") {
			return "difference", err
		}
		return "switch", err
	}
	if e.Packets == 0 {
		return "unspecified", nil
	}
	return "", nil
}

// refusal is "target" if a program is refused for what the target cannot do.
func refusal(r Refused) string {
	for _, d := range r.List {
		if d.Severity == diag.Error && d.Code != "target" && d.Code != "unsupported" {
			return "refused"
		}
	}
	return "target"
}

// TestPrograms runs random programs. One that shows a difference is reduced.
func TestPrograms(t *testing.T) {
	n := *programs
	if n == 0 {
		need.No(t, errors.New("-programs says how many: the differences of the compiler that are known are not mended yet"))
	}
	begun := time.Now()
	var next, refused, unspecified atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n) && !(t.Failed() && *programs == 0); i = next.Add(1) {
				seed := *firstSeed + uint64(i) - 1
				c := generate.New(seed)
				kind, err := check(c)
				if *show {
					e, _ := Evaluate(c)
					t.Logf("seed %d\n%s\n%s", seed, c.Text, e.Script)
				}
				switch kind {
				case "":
				case "unspecified":
					unspecified.Add(1)
				case "target":
					refused.Add(1)
				default:
					report(t, seed, c, kind, err)
				}
				if i%10000 == 0 {
					t.Logf("%d programs in %v", i, time.Since(begun).Round(time.Second))
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d programs from seed %d: %d are refused for the target, for %d the specification leaves all packets open", n, *firstSeed, refused.Load(), unspecified.Load())
	if r := refused.Load() + unspecified.Load(); r > 2+int64(n)/20 {
		t.Errorf("%d of %d programs test nothing", r, n)
	}
}

// report reduces a case and prints it.
func report(t *testing.T, seed uint64, c generate.Case, kind string, err error) {
	t.Helper()
	small := shrink.Reduce(c, func(c generate.Case) bool {
		k, _ := check(c)
		return k == kind
	})
	_, smallErr := check(small)
	script := ""
	if e, err := Evaluate(small); err == nil {
		script = e.Script
	}
	t.Errorf("seed %d: %s: %v\nreduced from %d to %d bytes:\n%s\n%s\n%v", seed, kind, err, len(c.Text), len(small.Text), small.Text, script, smallErr)
}
