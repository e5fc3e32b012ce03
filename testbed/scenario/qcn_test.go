// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Four hosts send to one. With QCN the P4 program's feedback keeps the queue near
// its equilibrium of 26 KB and the link busy. If hosts ignore the feedback, PFC
// limits the queues. Rates rise every 1.5 ms, since these flows end before the standard's
// timer of 15 ms is over.
func TestQCNKeepsQueuesAtTheirEquilibrium(t *testing.T) {
	const text = `
name: qcn
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 10Gbps, delay: 1us}
  switch: {buffer: 4MB, pfc: {xoff: 256KB}}
profiles: [qcn]
hosts: {defaults: papers, cc: {algorithm: ALGORITHM, qcn: {rise_timer: 1500us}}}
traffic:
- incast: {degree: 4, size: 3MB, to: h1, start: 10us}
until: 30ms
watch: {registers: [egress_qlen], every: 100us}
`
	type outcome struct {
		queue  []uint64 // of the link to h1, later on
		pauses uint64
		end    float64 // µs
	}
	run := func(algorithm string) (o outcome) {
		runs := runSmall(t, strings.NewReplacer("ALGORITHM", algorithm).Replace(text), Options{
			Read: func(sw string, now vtime.Time, a register.Array) {
				if sw == "l1" && now >= 4*vtime.Millisecond && now < 9*vtime.Millisecond {
					o.queue = append(o.queue, a.Values[1*8+3])
				}
			}})
		s := runs[0].Summary
		if s.Finished != 4 || s.Dropped != 0 {
			t.Fatalf("hosts with %s: finished %d of 4, dropped %d", algorithm, s.Finished, s.Dropped)
		}
		slices.Sort(o.queue)
		o.pauses, o.end = s.PauseFrames, s.EndUS
		return o
	}
	median := func(o outcome) uint64 { return o.queue[len(o.queue)/2] }
	with, without := run("qcn"), run("none")
	t.Logf("hosts with QCN: median queue %d bytes, %d pauses, finished at %.0f µs; without: %d bytes, %d pauses, %.0f µs",
		median(with), with.pauses, with.end, median(without), without.pauses, without.end)
	if q := median(with); q < 13_000 || q > 39_000 {
		t.Errorf("the queue is %d bytes, want about 26,000", q)
	}
	if with.pauses > 0 || without.pauses == 0 || median(without) < 5*median(with) {
		t.Errorf("%d pauses and a queue of %d bytes without QCN, %d pauses with it", without.pauses, median(without), with.pauses)
	}
	// 12 MB take 9.6 ms.
	if with.end > 1.4*9600 {
		t.Errorf("finished after %.0f µs: the link was not busy all the time", with.end)
	}
}
