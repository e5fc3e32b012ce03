// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/compiler/p4c"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// used returns the processor time of this process.
func used(t *testing.T) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// Our programs compile in a fifth of p4c's processor time, including garbage
// collection and encoding. The figure is only valid for an optimised build of
// p4c.
func TestSpeed(t *testing.T) {
	if !found(t, "p4c-bm2-ss", p4c.Find) {
		return
	}
	bin, err := p4c.Find()
	if err != nil {
		t.Fatal(err)
	}
	const runs = 5
	var ours, theirs time.Duration
	for _, name := range []string{"ecmp", "clb", "plb", "rlb-conga", "rlb-adaptive-conga"} {
		file := filepath.Join("../../p4src/v1model", name+".p4")
		runtime.GC()
		start := used(t)
		for range runs {
			r, list := compiler.Compile(compiler.Options{File: file})
			if list.HasErrors() {
				t.Fatal(list)
			}
			bmv2json.Encode(r.Program)
		}
		runtime.GC()
		mine := (used(t) - start) / runs
		cmd := exec.Command(bin, "-o", filepath.Join(t.TempDir(), "out.json"), "--p4runtime-files", filepath.Join(t.TempDir(), "out.txtpb"), file)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		other := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		t.Logf("%s: %v here, %v with p4c-bm2-ss, %.0f times as much", name, mine.Round(time.Millisecond/10), other.Round(time.Millisecond), float64(other)/float64(mine))
		ours, theirs = ours+mine, theirs+other
	}
	ratio := float64(theirs) / float64(ours)
	t.Logf("p4c-bm2-ss takes %.0f times as long", ratio)
	if ratio < 5 {
		t.Errorf("p4c-bm2-ss takes only %.1f times as long, want at least 5", ratio)
	}
}
