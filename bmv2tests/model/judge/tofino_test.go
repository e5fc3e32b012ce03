// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/gen"
)

// tofinoProfiles are those whose rules for Tofino package model has.
var tofinoProfiles = []string{"ecmp", "presto", "letflow", "drill", "clb", "pcn", "pbfs"}

// smallTofino is small, in powers of two as an index of a Tofino's program is.
func smallTofino(t *testing.T, name string) *gen.Profile {
	p := small(t, name)
	p.Sizes.Ports, p.Sizes.Leaves = 16, 8
	return p
}

func TestProfilesOnTofino(t *testing.T) {
	cases := count(300, 100_000)
	for _, name := range tofinoProfiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := smallTofino(t, name)
			j, err := NewTofinoJudge(tofinoFeatures(p), compile(t, p, "tna"))
			if err != nil {
				t.Fatal(err)
			}
			cases := cases
			if j.f.RLB && cases < 1000 {
				cases /= 3 // of tables and registers many
			}
			for n := range cases {
				if diff := j.Run(1, uint64(n)); diff != "" {
					t.Fatalf("case %d: %s", n, diff)
				}
			}
			t.Logf("%d cases, %d steps, %v", cases, j.Steps, j.Seen)
		})
	}
}

// A program with a mistake in its rule does not pass.
func TestMistakesOnTofinoAreSeen(t *testing.T) {
	for _, m := range []struct{ profile, from, to string }{
		{"ecmp", "meta.flow_hash[15:8]", "meta.flow_hash[14:7]"},
		{"ecmp", "(2, 86 .. 170)", "(2, 86 .. 150)"},
		{"ecmp", "meta.depth |-| meta.above_kmax", "meta.depth - meta.above_kmax"},
		{"presto", "bytes > meta.cell_room", "bytes >= meta.cell_room"},
		{"presto", "path >= meta.last", "path > meta.last"},
		{"presto", "hdr.ipv4.total_len + 14", "hdr.ipv4.total_len"},
		{"letflow", "(last - meta.gap_start) <= 0", "(last - meta.gap_start) < 0"},
		{"letflow", "if (path > meta.last)", "if (path >= meta.last)"},
		{"drill", "meta.shorter < best.qlen", "meta.shorter <= best.qlen"},
		{"drill", "min(meta.qlen_a, meta.qlen_b)", "max(meta.qlen_a, meta.qlen_b)"},
		{"drill", "meta.now - last > FEEDBACK_INTERVAL", "meta.now - last >= FEEDBACK_INTERVAL"},
		{"clb", "meta.rank <= best.rank", "meta.rank < best.rank"},
		{"clb", "hdr.feedback.qlen |-| meta.before", "hdr.feedback.qlen - meta.before"},
		{"clb", "0xc0000000", "0x80000000"},
		{"pcn", "meta.held |-| HELD", "meta.held"},
		{"pcn", "meta.depth != 0", "meta.depth != 1"},
		{"pbfs", "meta.recent << 3", "meta.recent << 2"},
		{"pbfs", "meta.capacity |-| meta.window_qlen", "meta.capacity"},
		{"pbfs", "meta.now >> 13", "meta.now >> 12"},
	} {
		t.Run(m.profile+" "+m.from, func(t *testing.T) {
			p := smallTofino(t, m.profile)
			out, err := gen.Generate(p, "tna")
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(out.P4), m.from, m.to)
			if text == string(out.P4) {
				t.Fatalf("the program does not have %q", m.from)
			}
			r, list := compiler.Compile(compiler.Options{File: p.Name + ".p4", Source: []byte(text)})
			if r.Program == nil {
				t.Fatal(list.Err())
			}
			prog, err := Load(p.Name, r.Program)
			if err != nil {
				t.Fatal(err)
			}
			j, err := NewTofinoJudge(tofinoFeatures(p), prog)
			if err != nil {
				t.Fatal(err)
			}
			for n := range uint64(3000) {
				if j.Run(1, n) != "" {
					return
				}
			}
			t.Errorf("3000 cases pass with %q", m.to)
		})
	}
}
