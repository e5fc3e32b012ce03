// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/solo"
	"github.com/pauseless/pauseless/softswitch/stf"
)

// Copies and passes of one frame end, in any combination, on links of any rate and
// with any limit, and then the switch is as before. e2e.p4 (an egress clone that is
// cloned) and mcrec.p4 (a group whose copies recirculate) never ended when only
// passes were limited.
func TestCopiesAndPassesEnd(t *testing.T) {
	prog, err := interp.Compile(compile(t, "testdata/loops.p4"), interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const (
		clonesIn = 1 << iota
		resubmits
		replicates
		normal
		clonesOut
		recirculates
		digests
	)
	names := []string{"I2E clone", "resubmit", "multicast", "", "E2E clone", "recirculate", "digest"}
	run := func(name string, flags byte, rate vtime.Rate, limit int) {
		sw, err := softswitch.New(softswitch.Config{Ports: []softswitch.Port{{Number: 1, Rate: rate}, {Number: 2, Rate: rate}, {Number: 3, Rate: rate}},
			Buffer: softswitch.Buffer{Size: 20_000}, PFC: softswitch.PFC{Lossless: 1, Thresholds: softswitch.Thresholds{XOFF: 10_000}}, MaxPasses: limit})
		if err != nil {
			t.Fatal(err)
		}
		net := solo.New(sw)
		sw.Load(prog)
		sw.SetGroup(1, []softswitch.Replica{{Port: 2}, {Port: 3}})
		sw.SetSession(1, []softswitch.Replica{{Port: 2}, {Port: 3, Instance: 1}}, 0, 0)
		sw.SetSession(2, []softswitch.Replica{{Port: 3}, {Port: 3, Instance: 1}}, 0, 0)
		for range 2 { // the work of the first is free for the next
			before := sw.Work()
			loops := sw.Stats().Drops[softswitch.DropLoop]
			net.Inject(1, []byte{flags, 1}, 60)
			if limit == softswitch.NoPassLimit && rate > 0 && flags&(recirculates|resubmits) == recirculates {
				net.RunUntil(net.Now() + 100*vtime.Microsecond) // it may pass for ever, but takes time
				return
			}
			net.Run()
			most := uint64(1000)
			if limit != 0 {
				most = uint64(limit)
			}
			// Copies of the first pass are free: two clones and a replica. The second
			// copy of a session is counted as a clone and as a replica.
			if work := sw.Work() - before; work > 2*(1+most+3) {
				t.Errorf("%s: one frame was work for %d passes and copies", name, work)
			}
			endless := flags&(resubmits|recirculates) != 0 || flags&clonesOut != 0
			if got := sw.Stats().Drops[softswitch.DropLoop] > loops; got != endless && sw.Overflows() == 0 {
				t.Errorf("%s: dropped as a loop: %v, want %v", name, got, endless)
			}
		}
		if n := sw.HeldFrames(); n != 0 || net.Frames().Out() != 0 {
			t.Errorf("%s: the switch holds %d frames, and %d are out", name, n, net.Frames().Out())
		}
		if now := sw.Stats().BufferBytes; now != 0 {
			t.Errorf("%s: %d bytes in the buffer", name, now)
		}
		sent := net.Count
		net.Inject(1, []byte{normal, 1}, 60)
		net.Run()
		if net.Count != sent+1 {
			t.Errorf("%s: the next frame is not sent", name)
		}
	}
	for flags := range byte(digests << 1) {
		if flags&normal != 0 {
			continue
		}
		var name string
		for i, part := range names {
			if flags&(1<<i) != 0 {
				name += part + ", "
			}
		}
		for _, rate := range []vtime.Rate{0, 100 * vtime.Gbps} {
			for _, limit := range []int{0, 7, softswitch.NoPassLimit} {
				if limit == softswitch.NoPassLimit && bits.OnesCount8(flags) > 2 {
					continue // which takes long
				}
				run(fmt.Sprintf("%srate %v, limit %d", name, rate, limit), flags, rate, limit)
			}
		}
	}
}

// What the first pass of a frame copies is limited by its group or session, not by
// the work for one frame. A drop tells how many copies were not made.
func TestLargeGroupsAreNotLoops(t *testing.T) {
	prog, err := interp.Compile(compile(t, "testdata/loops.p4"), interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sw, err := softswitch.New(softswitch.Config{Ports: []softswitch.Port{{Number: 1}, {Number: 2}}, MaxPasses: 10})
	if err != nil {
		t.Fatal(err)
	}
	net := solo.New(sw)
	sw.Load(prog)
	var loops int
	sw.Observe(&softswitch.Observer{Drop: func(_ vtime.Time, _, _ int, cause softswitch.DropCause, _ *packet.Frame) {
		if cause == softswitch.DropLoop {
			loops++
		}
	}})
	replicas := slices.Repeat([]softswitch.Replica{{Port: 2}}, 5000)
	sw.SetGroup(1, replicas)
	sw.SetSession(1, replicas, 0, 0)
	net.Inject(1, []byte{1 | 4, 1}, 60)
	net.Run()
	if net.Count != 10_000 || loops != 0 {
		t.Errorf("%d copies were sent, and %d dropped; want all 10000", net.Count, loops)
	}
	sw.SetSession(2, replicas[:30], 0, 0) // the clones of an egress clone are work
	net.Count = 0
	net.Inject(1, []byte{16, 1}, 60)
	net.Run()
	// The packet has 10 of 30 clones. Each of these, and then none, wants 30 more.
	if want := 20 + 10*30; net.Count != 1+10 || loops != want || sw.Stats().Drops[softswitch.DropLoop] != uint64(want) {
		t.Errorf("%d were sent and %d dropped as a loop, want 11 and %d", net.Count, loops, want)
	}
}

// The scripts of the programs with which the switch never ended, on loops.p4.
func TestLoopsInScripts(t *testing.T) {
	for name, text := range map[string]string{
		"e2e":   "mirroring_add 2 2\npacket 1 10 01\nexpect 2\n",
		"mcrec": "mc_mgrp_create 1\nmc_node_create 1 2 3\nmc_node_associate 1 0\npacket 1 24 01\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := stf.Parse(name+".stf", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			loops := 0
			err = stf.Run(compile(t, "testdata/loops.p4"), s, stf.Options{Trace: func(line string) {
				if strings.HasPrefix(line, "dropped: ") && strings.Contains(line, "has passed the switch too often") {
					loops++
				}
			}})
			if err != nil || loops == 0 {
				t.Errorf("error %v, %d drops as a loop", err, loops)
			}
		})
	}
}

// The trace of a script is that of a real switch: it tells where packets go.
func TestTraceOfAScript(t *testing.T) {
	s, err := stf.Parse("t.stf", []byte("packet 1 24 01\n"))
	if err != nil {
		t.Fatal(err)
	}
	var trace []string
	err = stf.Run(compile(t, "testdata/loops.p4"), s, stf.Options{Trace: func(line string) { trace = append(trace, line) }})
	if text := strings.Join(trace, "\n"); err != nil || !strings.Contains(text, "\nto multicast group 1: there is no such group (groups: none)\ndropped: empty multicast group") {
		t.Errorf("%v\n%s", err, text)
	}
}
