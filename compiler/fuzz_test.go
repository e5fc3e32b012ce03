// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler/checktest"
)

// seeds adds the programs of this package's tests and some of p4src.
func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/*.p4")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		for _, c := range checktest.Chunks(f, file) {
			if strings.Contains(c.Text, "ERROR too-large") {
				continue // programs at the limits are slow, and fuzzing stops a run after ten seconds
			}
			f.Add([]byte(strings.TrimLeft(c.Text, "\n")))
		}
	}
	text, err := os.ReadFile("../p4src/v1model/ecmp.p4")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
}

// Any input yields outputs or errors, in limited time and memory.
func FuzzCompile(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, list := Compile(Options{
			File:   "fuzz.p4",
			Source: text,
			Open:   open,
		})
		if made := r.Program != nil && r.P4Info != nil; made == list.HasErrors() {
			t.Errorf("output %t and errors %t", made, list.HasErrors())
		}
		for _, d := range list {
			if d.Code == CodeInternal {
				t.Error(d)
			}
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<30 {
			t.Errorf("%d MB allocated", (after.TotalAlloc-before.TotalAlloc)>>20)
		}
	})
}
