// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
)

// The leaf of the papers' networks, with 16 hosts and 8 uplinks. At 25 and 100 Gb/s, its
// ports take 12 connectors.
const paperLeaf = `
name: papers
leaf_spine: {leaves: 8, spines: 8, hosts_per_leaf: 16, rate: 25Gbps, uplink_rate: 100Gbps, delay: 1us}
switch: {buffer: 22MB, pfc: {xoff: 256KB}}
`

// paperPanel places the ports in the first pipeline: four hosts on a connector, and an
// uplink on each.
func paperPanel() (flags []string) {
	for p := range 16 {
		flags = append(flags, "--panel", fmt.Sprintf("%d=%d/%d", p+1, 9+p/4, p%4))
	}
	for p := range 8 {
		flags = append(flags, "--panel", fmt.Sprintf("%d=%d/0", p+17, 13+p))
	}
	return flags
}

// tofinoSchemes has a profile for each scheme that there is for Tofino.
var tofinoSchemes = []string{"ar", "caver", "clb", "conga", "drill", "ecmp", "flowcut", "hermes", "hpcc", "letflow", "ofan", "pbfs", "pcn", "plb", "presto", "qcn", "rlb-drill", "rps", "themis"}

// ofPorts reports whether a line of a dry run is about ports and the traffic manager, which
// are the same for all programs.
func ofPorts(line string) bool {
	return strings.HasPrefix(line, "  + $PORT ") || strings.HasPrefix(line, "  + tf1.tm.") || strings.HasPrefix(line, "  ~ tf1.tm.")
}

// computed is an entry of a formula or of an egress port, up to the name of its table.
var computed = regexp.MustCompile(`^  \+ (\w+) (?:prio \d+|last_path=\d+ turn=\d+|out_port=\d+) `)

// shorten replaces all but the first of the computed entries of a table by their number and
// a hash of them all.
func shorten(text []byte) []byte {
	var b bytes.Buffer
	lines := slices.Collect(bytes.Lines(text))
	for len(lines) > 0 {
		table, n := computed.FindSubmatch(lines[0]), 1
		for table != nil && n < len(lines) {
			if next := computed.FindSubmatch(lines[n]); next == nil || !bytes.Equal(next[1], table[1]) {
				break
			}
			n++
		}
		b.Write(lines[0])
		if n > 1 {
			fmt.Fprintf(&b, "    and %d more entries of %s, SHA-256 of all: %.8x\n", n-1, table[1], sha256.Sum256(bytes.Join(lines[:n], nil)))
		}
		lines = lines[n:]
	}
	return b.Bytes()
}

// What would be written to the papers' own leaf, with loads and times, for each scheme.
func TestDryRunOfThePapersLeaf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "papers.yaml")
	if err := os.WriteFile(file, []byte(paperLeaf), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, profile := range tofinoSchemes {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			address, _ := tofinoServer(t)
			dir := compiledForTofino(t, profile, file)
			args := append([]string{"tofino", "apply", file, dir, "--addr", "l1=" + address}, paperPanel()...)
			var out bytes.Buffer
			if code := run(append(args, "--dry-run"), nil, &out, &out); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out.String())
			}
			var ports, rest []byte
			for line := range strings.Lines(out.String()) {
				if ofPorts(line) {
					ports = append(ports, line...)
				} else {
					rest = append(rest, line...)
				}
			}
			golden.Check(t, filepath.Join("testdata", "tofino", "ports.txt"), ports)
			golden.Check(t, filepath.Join("testdata", "tofino", profile+".txt"), shorten(rest))
			// All of it is accepted by a switch, and is there afterwards.
			out.Reset()
			if code := run(args, nil, &out, &out); code != 0 || !strings.Contains(out.String(), "l1: program pushed, ") {
				t.Fatalf("exit code %d\n%s", code, out.String())
			}
			out.Reset()
			if code := run(args, nil, &out, &out); code != 0 || !strings.Contains(out.String(), "l1: as desired already\n") {
				t.Errorf("again: exit code %d\n%s", code, out.String())
			}
		})
	}
}
