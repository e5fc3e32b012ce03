// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"net/netip"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// A packet that its queue has no room for is cut, overtakes the queue, and has another
// DSCP. One of a lossless class, a short one and one of the trim queue are not cut.
func TestTrimming(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, TrimDSCP: 48}), QueueBytes: 2500, Lossless: 1 << 4, Size: 100_000, Trim: Trim{Size: 128, Queue: 6}})
	queue := func(q, size int) Cause {
		p := b.m.Get()
		p.Frame = b.pool.Get()
		p.Frame.Data = append(p.Frame.Data[:0], make([]byte, packet.EthernetLen+packet.IPv4Len)...)
		packet.Ethernet(p.Frame.Data).Set(packet.MAC{1}, packet.MAC{2}, packet.EtherTypeIPv4)
		from := netip.AddrFrom4([4]byte{10, 0, 0, 1})
		packet.IPv4(p.Frame.Data[packet.EthernetLen:]).Set(from, from, packet.ProtoUDP, 8, packet.ECT0, 0, size-packet.EthernetLen)
		p.Frame.Elided = int32(size - len(p.Frame.Data))
		p.In = 0
		c := b.m.Enqueue(p, 1, q, b.now)
		if c != Queued {
			b.pool.Put(p.Frame)
			b.m.Put(p)
		}
		return c
	}
	for range 3 {
		if c := queue(1, 1000); c != Queued {
			t.Fatalf("not queued: %d", c)
		}
	}
	if queue(1, 1000) != Queued || queue(1, 600) != Queued {
		t.Error("a packet was dropped instead of trimmed")
	}
	if d := b.m.Depth(1, 6); d.Packets != 3 || d.Bytes != 3*128 {
		t.Errorf("the trim queue has %d packets of %d bytes, want 3 of 384", d.Packets, d.Bytes)
	}
	if d := b.m.Depth(1, 1); d.Packets != 2 {
		t.Errorf("the queue has %d packets, want 2", d.Packets)
	}
	for range 17 {
		queue(6, 128)
	}
	if c := queue(1, 1000); c != QueueFull {
		t.Errorf("the trim queue is full: %d", c)
	}
	if k := b.m.Stats(1).Class[1]; k.Trimmed != 4 || k.TrimDrops != 1 || k.Drops != 0 {
		t.Errorf("%d trimmed, %d of them dropped, %d dropped", k.Trimmed, k.TrimDrops, k.Drops)
	}
	if n, dropped := b.m.Trimmed(); n != 4 || dropped != 1 {
		t.Errorf("in all %d, %d", n, dropped)
	}
	b.m.Run()
	b.until(vtime.Second)
	if used, _ := b.m.Used(); used != 0 {
		t.Errorf("%d bytes are left in the buffer", used)
	}
	if len(b.sent) == 0 || b.sent[0].size != 128 {
		t.Error("a trimmed packet must leave first")
	}
}
