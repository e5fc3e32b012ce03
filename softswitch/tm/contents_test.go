// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Contents are what the queue holds, whenever they are read, and flows that are not there
// have left with the time when their last packet came. The contents of a class without
// packets are not those of all such classes: see TestMain.
func TestContentsAreWhatTheQueueHolds(t *testing.T) {
	b := newBed(t, Config{Ports: ports(3, Port{Rate: gbps})})
	last := make(map[uint32]vtime.Time) // of all flows that have come
	b.m.Follow(1, 6, func(Stay) { t.Error("a flow left a queue to which nothing came") })
	rng := rand.New(rand.NewPCG(1, 1))
	come := func(flow uint32) {
		p := b.m.Get()
		p.Frame = b.pool.Get()
		p.Frame.Elided = int32(60 + rng.IntN(1000))
		p.Frame.SetFlow(flow)
		p.In = 2 * rng.Int32N(2)
		last[flow] = b.now
		if cause := b.m.Enqueue(p, 1, 5, b.now); cause != Queued {
			t.Fatal(cause)
		}
	}
	for flow := range uint32(40) {
		come(flow)
	}
	left := make(map[uint32]vtime.Time)
	c := b.m.Follow(1, 5, func(k Stay) { left[k.Flow()] = max(left[k.Flow()], k.Last) })
	longest := 0
	for step := range uint32(4000) {
		if n := b.m.Depth(1, 5).Packets; rng.IntN(2) == 0 && n > 0 {
			for range 1 + rng.IntN(n) {
				b.m.Put(b.m.Take(1, 5))
			}
		} else {
			for range 1 + rng.IntN([]int{300, 3}[step/500%2]) {
				come(step/4 + rng.Uint32N([]uint32{500, 50}[step/500%2]))
			}
		}
		b.now++
		type place struct {
			flow uint32
			in   int32
		}
		want := make(map[place]Stay)
		from := make([]int64, 3)
		for p := b.m.First(1, 5); p != nil; p = p.Behind() {
			at := place{p.Frame.Flow(), p.In}
			k, ok := want[at]
			if !ok {
				k = Stay{key: uint64(at.flow+1)<<32 | uint64(at.in+1), First: p.Enqueued}
			}
			k.Bytes, k.Last = k.Bytes+p.Size(), p.Enqueued
			want[at] = k
			from[p.In] += p.Size()
		}
		for k := range c.Stays() {
			w := want[place{k.Flow(), int32(k.In())}]
			if k.First > w.First { // earlier packets of the flow may have left
				t.Fatalf("step %d: %+v, want %+v", step, *k, w)
			}
			if w.First = k.First; *k != w {
				t.Fatalf("step %d: %+v, want %+v", step, *k, w)
			}
			delete(want, place{k.Flow(), int32(k.In())})
		}
		if len(want) > 0 {
			t.Fatalf("step %d: %v is in the queue", step, want)
		}
		for in, n := range from {
			if got := c.From(in); got != n {
				t.Fatalf("step %d: %d bytes came by port %d, want %d", step, got, in, n)
			}
		}
		longest = max(longest, len(c.index))
	}
	for b.m.First(1, 5) != nil {
		b.m.Put(b.m.Take(1, 5))
	}
	if c.Tidy(); len(c.index) != leastIndex || longest < 1024 || len(c.stays) < elsewhere || len(c.empty) != len(c.stays)-1 {
		t.Errorf("there is room for %d flows, and was for %d; %d of %d places are empty", len(c.index), longest, len(c.empty), len(c.stays))
	}
	for flow, at := range last {
		if left[flow] != at {
			t.Errorf("flow %d left with %v, and its last packet came at %v", flow, left[flow], at)
		}
	}
}
