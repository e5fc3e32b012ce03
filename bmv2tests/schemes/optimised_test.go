// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
)

// Every program behaves the same with and without the optimiser: it sends the same
// frames and has the same registers, after valid packets and after packets with
// random changes in their headers.
func TestOptimisedProgramsDoTheSame(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"v1model", "tna"} {
		for _, profile := range gen.Names() {
			if target == "tna" && !onTofino(profile) {
				continue
			}
			t.Run(target+"/"+profile, func(t *testing.T) {
				p, err := gen.Builtin(profile)
				if err != nil {
					t.Fatal(err)
				}
				prog, err := gen.Generate(p, target)
				if err != nil {
					t.Fatal(err)
				}
				for _, node := range []string{"l1", "s1"} {
					compareWithPlain(t, prog, target, softswitch.Units{Time: string(p.Units.Time), Depth: string(p.Units.Depth)}, node)
				}
			})
		}
	}
}

func compareWithPlain(t *testing.T, prog *gen.Program, arch string, units softswitch.Units, node string) {
	var pair [2]*soft
	ports := 0
	for i := range pair {
		chip := &tofino{soft{units: units, plain: i == 1, rate: 10 * vtime.Gbps}}
		pair[i] = &chip.soft
		var sw target = pair[i]
		if arch == "tna" {
			sw = chip
		}
		ports = len(loadProgram(t, sw, prog, leafSpine(4), node).node.Ports)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	seen := [][]byte{data, down}
	for range 300 {
		port := 1 + rng.IntN(ports)
		burst := make([][]byte, 1+rng.IntN(8))
		for i := range burst {
			burst[i] = slices.Clone(seen[rng.IntN(len(seen))])
			for range rng.IntN(4) { // the relevant fields are in the first bytes
				if n := min(len(burst[i]), 16<<rng.IntN(4)); n > 0 {
					burst[i][rng.IntN(n)] ^= 1 << rng.IntN(8)
				}
			}
			if rng.IntN(8) == 0 {
				burst[i] = burst[i][:rng.IntN(len(burst[i])+1)]
			}
		}
		for _, s := range pair {
			s.burst(port, burst...)
		}
		wait := vtime.Time(rng.IntN(200)) * vtime.Microsecond
		var out [2][]frame
		for i, s := range pair {
			s.at += wait
			out[i], s.out = s.out, nil
		}
		if len(out[0]) != len(out[1]) {
			t.Fatalf("%s: %d frames with the optimiser, %d without, for\n% x", node, len(out[0]), len(out[1]), burst)
		}
		for i, f := range out[0] {
			if f.port != out[1][i].port || !bytes.Equal(f.data, out[1][i].data) {
				t.Fatalf("%s: frame %d is\n%d % x\nwith the optimiser and\n%d % x\nwithout, for\n% x", node, i, f.port, f.data, out[1][i].port, out[1][i].data, burst)
			}
			if len(seen) < 200 { // frames of one switch are inputs of another one
				seen = append(seen, f.data)
			}
		}
		a, b := pair[0].sw.State(), pair[1].sw.State()
		for i, r := range a.Registers {
			for cell := range r.Info.Size {
				if !slices.Equal(r.Cell(cell), b.Registers[i].Cell(cell)) {
					t.Fatalf("%s: %s[%d] is %d with the optimiser, %d without, after\n% x", node, r.Info.Name, cell, r.Cell(cell), b.Registers[i].Cell(cell), burst)
				}
			}
		}
	}
}
