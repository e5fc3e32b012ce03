// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"testing"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
)

// A packet passes a program on pauseless switch, with the traffic manager: at its
// source leaf, with a choice of paths, and at a spine. Units are those of the
// virtual-time fabric.
func BenchmarkTraversal(b *testing.B) {
	for _, profile := range gen.Names() {
		for _, place := range []struct {
			name, node string
			in         int
			frame      []byte
		}{{"leaf", "l1", 1, data}, {"spine", "s1", 2, down}} {
			b.Run(profile+"/"+place.name, func(b *testing.B) {
				p, err := gen.Builtin(profile)
				if err != nil {
					b.Fatal(err)
				}
				prog, err := gen.Generate(p, "v1model")
				if err != nil {
					b.Fatal(err)
				}
				s := &soft{units: softswitch.Units{Time: string(p.Units.Time), Depth: string(p.Units.Depth)}}
				loadProgram(b, s, prog, leafSpine(4), place.node)
				s.silent = true
				b.ReportAllocs()
				for b.Loop() {
					f := s.pool.Get()
					f.Data = append(f.Data, place.frame[:60]...)
					f.Elided = int32(len(place.frame) - 60)
					s.sw.Receive(place.in, f)
					s.drain()
					s.at += 300 * vtime.Nanosecond
				}
			})
		}
	}
}
