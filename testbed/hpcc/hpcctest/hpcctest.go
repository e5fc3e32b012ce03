// SPDX-License-Identifier: Apache-2.0

// Package hpcctest reads the results of the HPCC simulator and its descendants for tests.
package hpcctest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// FCT is a line of an FCT file.
type FCT struct {
	Src, Dst         string // nodes as the file has them: addresses or numbers
	SrcPort, DstPort int
	Bytes            int64
	Start, FCT       vtime.Time
	Standalone       vtime.Time // the simulator's FCT in an empty network
}

// Slowdown returns FCT divided by Standalone, at least one, as in the simulator's
// scripts.
func (f *FCT) Slowdown() float64 { return max(1, float64(f.FCT)/float64(f.Standalone)) }

// FCTs reads the text of an FCT file.
func FCTs(t testing.TB, text string) (all []FCT) {
	t.Helper()
	for line := range strings.Lines(text) {
		var f FCT
		var start, fct, standalone int64 // ns
		if _, err := fmt.Sscan(line, &f.Src, &f.Dst, &f.SrcPort, &f.DstPort, &f.Bytes, &start, &fct, &standalone); err != nil || standalone <= 0 {
			t.Fatalf("line %q of an FCT file: %v", line, err)
		}
		f.Start, f.FCT, f.Standalone = vtime.Time(start)*vtime.Nanosecond, vtime.Time(fct)*vtime.Nanosecond, vtime.Time(standalone)*vtime.Nanosecond
		all = append(all, f)
	}
	return all
}

// Pauses reads the text of a PFC file, and returns whether each event is PAUSE, not RESUME.
func Pauses(t testing.TB, text string) (all []bool) {
	t.Helper()
	for line := range strings.Lines(text) {
		var at int64
		var node, kind, port, pause int
		if _, err := fmt.Sscan(line, &at, &node, &kind, &port, &pause); err != nil || kind|pause > 1 {
			t.Fatalf("line %q of a PFC file: %v", line, err)
		}
		all = append(all, pause == 1)
	}
	return all
}
