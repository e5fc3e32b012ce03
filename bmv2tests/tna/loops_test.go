// SPDX-License-Identifier: Apache-2.0

package tna

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// Mirrored copies that are mirrored or recirculated, groups with the recirculation
// port and resubmission, in any combination, end with the work of one frame. A
// mirrored copy was a new packet, so that a loop of mirrors never ended.
func TestCopiesAndPassesEnd(t *testing.T) {
	res, list := compiler.Compile(compiler.Options{File: "testdata/loops.p4"})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	prog, err := interp.Compile(res.Program, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const (
		mirrorsIn = 1 << iota
		resubmits
		replicates
		toCPU
		mirrorsOut
		recirculates
	)
	run := func(name string, flags byte, rate vtime.Rate, limit int, again bool) {
		sw, err := softswitch.New(softswitch.Config{CPUPort: cpuPort, MaxPasses: limit, Ports: []softswitch.Port{
			{Number: 1, Rate: rate}, {Number: 2, Rate: rate}, {Number: recirculation, Internal: true, Rate: rate}}})
		if err != nil {
			t.Fatal(err)
		}
		net := solo.New(sw)
		sw.Load(prog)
		to := []softswitch.Replica{{Port: 2}, {Port: 2, Instance: 1}}
		if again {
			to[1].Port = recirculation
		}
		sw.SetGroup(1, to)
		sw.SetSession(1, to, 0, 0)
		sw.SetSession(2, to, 0, 0)
		net.Inject(1, []byte{flags, 1}, 60)
		if limit == softswitch.NoPassLimit && rate > 0 {
			net.RunUntil(50 * vtime.Microsecond) // passes take time, and may go on for ever
			return
		}
		net.Run()
		most := uint64(1000)
		if limit != 0 {
			most = uint64(limit)
		}
		if work := sw.Work(); work > 2*(1+most+4) {
			t.Errorf("%s: one frame was work for %d passes and copies", name, work)
		}
		endless := flags&(recirculates|mirrorsOut) != 0 || again && flags&(mirrorsIn|replicates) != 0
		if got := sw.Stats().Drops[softswitch.DropLoop] > 0; got != endless {
			t.Errorf("%s: dropped as a loop: %v, want %v", name, got, endless)
		}
		if n := sw.HeldFrames(); n != 0 || net.Frames().Out() != 0 {
			t.Errorf("%s: the switch holds %d frames, and %d are out", name, n, net.Frames().Out())
		}
		sent := net.Count
		net.Inject(1, []byte{0, 1}, 60)
		net.Run()
		if net.Count != sent+1 {
			t.Errorf("%s: the next frame is not sent", name)
		}
	}
	for flags := range byte(recirculates << 1) {
		for _, rate := range []vtime.Rate{0, 100 * vtime.Gbps} {
			for _, limit := range []int{0, 7, softswitch.NoPassLimit} {
				for _, again := range []bool{false, true} {
					if limit == softswitch.NoPassLimit && (bits.OnesCount8(flags) > 1 || !again) {
						continue // which takes long
					}
					run(fmt.Sprintf("flags %06b, copies recirculate %v, rate %v, limit %d", flags, again, rate, limit), flags, rate, limit, again)
				}
			}
		}
	}
}
