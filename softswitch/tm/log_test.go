// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"math/rand/v2"
	"testing"
)

// The log of a queue has its packets in order, whenever it is read, and becomes shorter with
// the queue. That of a class without packets is not that of all such classes: see TestMain.
func TestLogHasWhatTheQueueHolds(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps})})
	b.m.Watch(Watcher{Full: func(port, q int) { b.m.Log(port, q).Drop(b.m.Gone(port, q)) }})
	b.m.Follow(1, 6)
	rng := rand.New(rand.NewPCG(1, 1))
	longest := 0
	b.m.Follow(1, 5)
	for step := range 4000 {
		if n := b.m.Depth(1, 5).Packets; rng.IntN(2) == 0 && n > 0 {
			for range 1 + rng.IntN(n) {
				b.m.Put(b.m.Take(1, 5))
			}
		} else {
			for range 1 + rng.IntN([]int{300, 3}[step/500%2]) {
				p := b.m.Get()
				p.Frame = b.pool.Get()
				p.Frame.Elided = int32(60 + rng.IntN(1000))
				p.Frame.SetFlow(rng.Uint32N(1 << 24))
				if cause := b.m.Enqueue(p, 1, 5, b.now); cause != Queued {
					t.Fatal(cause)
				}
			}
		}
		b.now++
		l := b.m.Log(1, 5)
		p := b.m.First(1, 5)
		for k := range l.Items(b.m.Gone(1, 5), l.Len()) {
			if p == nil || k.Flow() != p.Frame.Flow() || k.Came != p.Enqueued || k.Size() != p.Size() || k.In() != 0 {
				t.Fatalf("step %d: %+v in the log, %+v in the queue", step, *k, p)
			}
			p = p.Behind()
		}
		if p != nil {
			t.Fatalf("step %d: the queue has more packets than the log", step)
		}
		longest = max(longest, len(l.items))
	}
	if n := len(b.m.Log(1, 5).items); longest < 512 || 4*n > longest || b.m.Log(1, 6).Len() != 0 {
		t.Errorf("the ring had at most %d packets, and has %d; class 6 has %d", longest, n, b.m.Log(1, 6).Len())
	}
}
