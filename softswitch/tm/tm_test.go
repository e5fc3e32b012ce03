// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// bed is a traffic manager in virtual time with a handler that records what was
// sent when.
type bed struct {
	*testing.T
	m       *Manager
	pool    packet.Pool
	now     vtime.Time
	q       vtime.Queue
	sent    []frameSent
	verdict func(*Packet) Verdict
	back    []*Packet
	storms  []string // that began and ended
	dropped string   // tags of packets dropped in storms
}

type frameSent struct {
	port       int
	start, end vtime.Time
	size       int
	pfc        packet.PFC // nil for other frames
	tag        byte
}

func newBed(t *testing.T, cfg Config) *bed {
	t.Helper()
	b := &bed{T: t}
	var err error
	if b.m, err = New(cfg, b); err != nil {
		t.Fatal(err)
	}
	b.m.Load(b, true, true)
	b.m.Attach(b)
	return b
}

func (b *bed) Now() vtime.Time { return b.now }
func (b *bed) At(t vtime.Time, ev vtime.Event, arg uint64) {
	if t < b.now {
		b.Fatalf("an event for %v at %v", t, b.now)
	}
	b.q.Push(t, ev, arg)
}

func (b *bed) until(t vtime.Time) {
	for b.q.Next() <= t {
		at, ev, arg := b.q.Pop()
		b.now = at
		ev.Fire(at, arg)
	}
	b.now = max(b.now, t)
}

func (b *bed) Egress(p *Packet, _ vtime.Time) Verdict {
	if b.verdict != nil {
		return b.verdict(p)
	}
	return Send
}

func (b *bed) Transmit(port int, f *packet.Frame, end vtime.Time) {
	s := frameSent{port: port, start: b.now, end: end, size: f.Len(), tag: f.Data[0]}
	if pfc := packet.AsPFC(f.Data); pfc != nil {
		s.pfc = slices.Clone(pfc)
	}
	b.sent = append(b.sent, s)
	b.pool.Put(f)
}

func (b *bed) Reenter(p *Packet)    { b.back = append(b.back, p) }
func (b *bed) Frames() *packet.Pool { return &b.pool }
func (b *bed) Storm(port, class int, begins bool) {
	b.storms = append(b.storms, fmt.Sprintf("%c%d.%d", map[bool]rune{true: '+', false: '-'}[begins], port, class))
}
func (b *bed) StormDrop(p *Packet) {
	b.dropped += string(p.Frame.Data[:1])
	b.pool.Put(p.Frame)
	b.m.Put(p)
}

// queue queues a packet whose first byte is a tag, without sending.
func (b *bed) queue(in, out, q, size int, tag byte) Cause {
	p := b.m.Get()
	p.Frame = b.pool.Get()
	p.Frame.Data = append(p.Frame.Data, tag)
	p.Frame.Elided = int32(size - 1)
	p.In = int32(in)
	c := b.m.Enqueue(p, out, q, b.m.sched.Now())
	if c != Queued {
		b.pool.Put(p.Frame)
		b.m.Put(p)
	}
	return c
}

// mustQueue is queue for a packet that must fit.
func (b *bed) mustQueue(in, out, q, size int, tag byte) {
	b.Helper()
	if c := b.queue(in, out, q, size, tag); c != Queued {
		b.Fatalf("packet %c was not queued: %d", tag, c)
	}
}

// tags returns the tags of a port's sent packets, without PFC frames.
func (b *bed) tags(port int) string {
	var s strings.Builder
	for _, f := range b.sent {
		if f.port == port && f.pfc == nil {
			s.WriteByte(f.tag)
		}
	}
	return s.String()
}

// pfc returns the PFC frames that a port sent: +3 pauses class 3, -3 resumes
// it.
func (b *bed) pfc(port int) string {
	var list []string
	for _, f := range b.sent {
		if f.port != port || f.pfc == nil {
			continue
		}
		for c := range Queues {
			switch {
			case f.pfc.Enabled()&(1<<c) == 0:
			case f.pfc.Quanta(c) > 0:
				list = append(list, fmt.Sprintf("+%d", c))
			default:
				list = append(list, fmt.Sprintf("-%d", c))
			}
		}
	}
	return strings.Join(list, " ")
}

// obey makes a port receive a PFC frame.
func (b *bed) obey(port int, classes uint8, quanta uint16) {
	b.m.HandlePFC(port, packet.AsPFC(packet.AppendPFC(nil, packet.MAC{}, classes, quanta)))
}

const gbps = vtime.Gbps

func ports(n int, p Port) []Port {
	var list []Port
	for range n {
		list = append(list, p)
	}
	return list
}

func TestHigherQueuesGoFirst(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps})})
	b.mustQueue(0, 1, 0, 100, 'a')
	b.mustQueue(0, 1, 3, 100, 'b')
	b.mustQueue(0, 1, 7, 100, 'c')
	b.mustQueue(0, 1, 3, 100, 'd')
	b.m.Run()
	b.until(vtime.Millisecond)
	if got := b.tags(1); got != "cbda" {
		t.Errorf("sent %s, want cbda", got)
	}
}

// Frames follow one another at the rate of the link, including overhead, and
// each has the time of its last bit.
func TestFramesDepartAtLinkRate(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, Overhead: 24})})
	for range 3 {
		b.mustQueue(0, 1, 0, 101, 'a')
	}
	b.m.Run()
	b.until(vtime.Millisecond)
	for i, f := range b.sent {
		if start, end := vtime.Time(i)*vtime.Microsecond, vtime.Time(i+1)*vtime.Microsecond; f.start != start || f.end != end {
			t.Errorf("frame %d leaves from %v to %v, want %v to %v", i, f.start, f.end, start, end)
		}
	}
	// Without a rate all are sent immediately.
	b = newBed(t, Config{Ports: ports(2, Port{})})
	for range 3 {
		b.mustQueue(0, 1, 0, 101, 'a')
	}
	b.m.Run()
	if len(b.sent) != 3 || b.sent[2].end != 0 {
		t.Errorf("without a rate: %+v", b.sent)
	}
}

// A port whose rate is in packets sends one in each slot, and each takes the time of
// its own bytes on the link.
func TestSlots(t *testing.T) {
	for _, rate := range []vtime.Rate{gbps, 3 * gbps} { // with a whole number of picoseconds per byte, and without
		b := newBed(t, Config{Ports: ports(2, Port{Rate: rate, Overhead: 24, Slot: 10 * vtime.Microsecond})})
		for range 3 {
			b.mustQueue(0, 1, 0, 101, 'a')
		}
		b.mustQueue(0, 1, 0, 2476, 'b') // longer than a slot at 1 Gb/s
		b.mustQueue(0, 1, 0, 101, 'c')
		b.m.Run()
		b.until(vtime.Millisecond)
		starts := []vtime.Time{0, 10, 20, 30, 30 + max(10, 2500*8/1000/vtime.Time(rate/gbps))}
		for i, f := range b.sent {
			if start, end := starts[i]*vtime.Microsecond, starts[i]*vtime.Microsecond+rate.TxTime(f.size+24); f.start != start || f.end != end {
				t.Errorf("at %v frame %d leaves from %v to %v, not from %v to %v", rate, i, f.start, f.end, start, end)
			}
		}
	}
}

// Weighted queues share by bytes, whatever the sizes of their packets. A strict
// queue above them has precedence.
func TestWeightedQueuesShareByBytes(t *testing.T) {
	b := newBed(t, Config{Ports: []Port{{}, {Rate: gbps, Weights: [Queues]int{1, 3, 0, 0, 0, 0, 0, 0}}}})
	for range 400 {
		for range 15 {
			b.mustQueue(0, 1, 0, 100, 'a')
		}
		b.mustQueue(0, 1, 1, 1500, 'b')
		b.mustQueue(0, 1, 1, 1500, 'b')
		b.mustQueue(0, 1, 1, 1500, 'b')
	}
	b.m.Run()
	b.until(vtime.Millisecond) // 125,000 bytes
	bytes := map[byte]int{}
	for _, f := range b.sent {
		bytes[f.tag] += f.size
	}
	if share := float64(bytes['b']) / float64(bytes['a']); share < 2.85 || share > 3.15 {
		t.Errorf("bytes were shared %d to %d, that is 1 to %.2f, want 3", bytes['a'], bytes['b'], share)
	}
	b.sent = nil
	b.mustQueue(0, 1, 2, 100, 's')
	b.until(b.now + 20*vtime.Microsecond)
	if got := b.tags(1); !strings.HasPrefix(got, "s") && got[1] != 's' {
		t.Errorf("the strict queue waits: %s", got)
	}
	// An empty queue keeps no deficit.
	b = newBed(t, Config{Ports: []Port{{}, {Rate: gbps, Weights: [Queues]int{1, 1}}}})
	for range 100 {
		b.mustQueue(0, 1, 0, 1000, 'a')
	}
	b.m.Run()
	b.until(400 * vtime.Microsecond)
	for range 50 {
		b.mustQueue(0, 1, 1, 1000, 'b')
	}
	b.sent = nil
	b.until(b.now + 160*vtime.Microsecond)
	if n := strings.Count(b.tags(1), "b"); n < 9 || n > 11 {
		t.Errorf("%d of 20 packets are of the queue that was empty, want half: %s", n, b.tags(1))
	}
}

func TestLimitsOfLossyQueues(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		want []Cause
	}{
		{"packets", Config{QueuePackets: 2}, []Cause{Queued, Queued, QueueFull, QueueFull}},
		{"bytes", Config{QueueBytes: 250}, []Cause{Queued, Queued, QueueFull, QueueFull}},
		{"buffer", Config{Size: 350}, []Cause{Queued, Queued, Queued, BufferFull}},
		{"none", Config{}, []Cause{Queued, Queued, Queued, Queued}},
	} {
		tt.cfg.Ports = ports(2, Port{Rate: gbps})
		b := newBed(t, tt.cfg)
		for i, want := range tt.want {
			if got := b.queue(0, 1, 0, 100, 'a'); got != want {
				t.Errorf("%s: packet %d: %d, want %d", tt.name, i, got, want)
			}
		}
		if d := int(b.m.Stats(1).Class[0].Drops); d != len(slices.DeleteFunc(tt.want, func(c Cause) bool { return c == Queued })) {
			t.Errorf("%s: %d drops were counted", tt.name, d)
		}
		b.m.Run()
		b.until(vtime.Second)
		if used, _ := b.m.Used(); used != 0 {
			t.Errorf("%s: %d bytes are left", tt.name, used)
		}
	}
}

func TestPauseHoldsOnlyItsPriority(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps}), Lossless: 1 << 3})
	b.obey(1, 1<<3, 1000)
	b.mustQueue(0, 1, 3, 100, 'p')
	b.mustQueue(0, 1, 2, 100, 'a')
	b.m.Run()
	b.until(10 * vtime.Microsecond)
	if got := b.tags(1); got != "a" {
		t.Errorf("while paused, sent %q, want a", got)
	}
	b.obey(1, 1<<3, 0)
	b.until(20 * vtime.Microsecond)
	if got := b.tags(1); got != "ap" {
		t.Errorf("after the resume, sent %q, want ap", got)
	}
	if s := b.m.Stats(1).Class[3]; s.PauseGot != 1 || s.ResumeGot != 1 || s.PausedTime != 10*vtime.Microsecond {
		t.Errorf("counted %+v", s)
	}
}

// A pause ends after its quanta of 512 bit times unless it was renewed. Frames
// on the link are not interrupted.
func TestPauseEndsByItself(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps})})
	const quantum = 512 * vtime.Nanosecond // at 1 Gb/s
	b.mustQueue(0, 1, 3, 1000, 'a')        // 8 µs on the link
	b.mustQueue(0, 1, 3, 1000, 'b')
	b.m.Run()
	b.obey(1, 1<<3, 100) // 51.2 µs
	b.until(30 * vtime.Microsecond)
	if got := b.tags(1); got != "a" {
		t.Errorf("sent %q, want a", got)
	}
	b.obey(1, 1<<3, 100) // until 81.2 µs
	b.until(80 * vtime.Microsecond)
	if got := b.tags(1); got != "a" {
		t.Errorf("sent %q after a pause that was renewed, want a", got)
	}
	b.until(vtime.Millisecond)
	if last := b.sent[len(b.sent)-1]; last.tag != 'b' || last.start != 30*vtime.Microsecond+100*quantum {
		t.Errorf("b left at %v, want %v", last.start, 30*vtime.Microsecond+100*quantum)
	}
}

// One ingress port and class is paused at XOFF and resumed Gap below. Others
// are not.
func TestStaticThresholds(t *testing.T) {
	b := newBed(t, Config{Ports: ports(3, Port{Rate: gbps, XOFF: 3000, Gap: 1000}), Lossless: 1 << 3, Quanta: 0xffff})
	b.obey(2, 0xff, 0xffff)
	for i := range 3 {
		b.mustQueue(0, 2, 3, 1000, byte('a'+i))
		b.mustQueue(1, 2, 0, 1000, 'x') // lossy
	}
	b.m.Run()
	b.until(0)
	if got := b.pfc(0) + "|" + b.pfc(1); got != "+3|" {
		t.Errorf("PFC frames %q, want a pause of class 3 on port 0", got)
	}
	if s := b.m.Stats(0).Class[3]; s.PauseSent != 1 {
		t.Errorf("counted %+v", s)
	}
	// A packet leaves the account when its transmission begins.
	b.until(10 * vtime.Microsecond)
	if got := b.pfc(0); got != "+3" {
		t.Errorf("PFC frames %q at 3000 bytes", got)
	}
	b.obey(2, 0xff, 0)
	b.until(11 * vtime.Microsecond)
	if got := b.pfc(0); got != "+3 -3" {
		t.Errorf("PFC frames %q, want a resume at 2000 bytes", got)
	}
	b.until(vtime.Second)
	if s := b.m.Stats(0); s.PFCSent != 2 || s.Class[3].PausingTime != 10*vtime.Microsecond || s.Class[3].ResumeSent != 1 {
		t.Errorf("counted %+v", s.Class[3])
	}
	if now, most := b.m.Ingress(0, 3); now != 0 || most != 3000 {
		t.Errorf("the account has %d bytes and had %d, want 0 and 3000", now, most)
	}
}

// A pause lasts for its quanta. One that is still needed is renewed after half
// of them.
func TestPausesAreRenewed(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, XOFF: 1000, Gap: 500}), Lossless: 1 << 3, Quanta: 1000})
	b.obey(1, 1<<3, 0xffff) // blocks the queue
	b.mustQueue(0, 1, 3, 1000, 'a')
	b.m.Run()
	b.until(1000 * vtime.Microsecond) // a pause lasts 512 µs
	if got := b.pfc(0); got != "+3 +3 +3 +3" {
		t.Errorf("PFC frames %q, want one every 256 µs", got)
	}
	b.obey(1, 1<<3, 0)
	b.until(vtime.Second)
	if got := b.pfc(0); got != "+3 +3 +3 +3 -3" {
		t.Errorf("PFC frames %q, want a resume and no more", got)
	}
}

// A switch may answer every frame beyond the threshold with a short pause and
// renew none, like ConWeave's simulator.
func TestEachFrameBeyondTheThresholdPauses(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, XOFF: 2000, Gap: 1}), Lossless: 1 << 3,
		Quanta: 0xffff, Pause: 5 * vtime.Microsecond, EachFrame: true})
	b.obey(1, 1<<3, 0xffff) // blocks the queue
	for range 4 {
		b.mustQueue(0, 1, 3, 1000, 'a')
	}
	b.m.Run()
	b.until(vtime.Millisecond)
	if got := b.pfc(0); got != "+3 +3 +3" {
		t.Errorf("PFC frames %q, want one for each frame from 2000 bytes on", got)
	}
	if q := b.sent[len(b.sent)-1].pfc.Quanta(3); q != 10 { // of 512 ns
		t.Errorf("the pause lasts %d quanta, want 10", q)
	}
	b.obey(1, 1<<3, 0)
	b.until(vtime.Second)
	if got := b.pfc(0); got != "+3 +3 +3 -3" {
		t.Errorf("PFC frames %q, want a resume", got)
	}
}

// A packet that recirculates while the queue is beyond the threshold is not another
// frame: each pass of ConWeave's packets that wait triggered a PAUSE.
func TestARecirculatedPacketSendsNoPause(t *testing.T) {
	b := newBed(t, Config{Ports: []Port{{Rate: gbps, XOFF: 2000, Gap: 1}, {Rate: gbps, NoPFC: true}}, Lossless: 1 << 3, Quanta: 10, EachFrame: true})
	b.verdict = func(*Packet) Verdict { return Recirculate }
	for range 3 {
		b.mustQueue(0, 1, 3, 1000, 'a')
	}
	for len(b.back) < 3 {
		b.m.Run()
		b.until(b.now + vtime.Microsecond)
	}
	for _, p := range b.back {
		if c := b.m.Enqueue(p, 1, 3, b.m.sched.Now()); c != Queued {
			t.Fatalf("packet was not queued again: %d", c)
		}
	}
	b.m.Run()
	b.until(b.now + vtime.Microsecond)
	if got := b.pfc(0); got != "+3 +3" {
		t.Errorf("PFC frames %q, want one for each frame from 2000 bytes on", got)
	}
}

// With HeadroomLast, packets beyond the threshold use the shared part, and the
// headroom only when that is full.
func TestHeadroomLast(t *testing.T) {
	cfg := Config{Ports: ports(2, Port{Rate: gbps, XOFF: 2000, Gap: 1000, Headroom: 3000}), Lossless: 1 << 3, Quanta: 0xffff, Size: 20_000}
	for last, want := range map[bool]int{false: 5, true: 17} {
		cfg.HeadroomLast = last
		b := newBed(t, cfg)
		b.obey(1, 1<<3, 0xffff)
		n := 0
		for b.queue(0, 1, 3, 1000, 'a') == Queued {
			n++
		}
		if n != want {
			t.Errorf("last %v: %d frames of 1000 bytes fit, want %d", last, n, want)
		}
	}
}

// A queue of a lossy class holds at most a share of the free memory: with a
// share of one, half of the buffer if it is alone, and a third if there are
// two. A lossless class is paused and not dropped.
func TestEgressAlpha(t *testing.T) {
	b := newBed(t, Config{Ports: ports(3, Port{Rate: gbps, XOFF: 9000, Gap: 1000, Headroom: 1000}), Lossless: 1 << 3, Quanta: 0xffff, Size: 15_000, EgressAlpha: 1})
	for out := range 3 {
		b.obey(out, 0xff, 0xffff)
	}
	fill := func(out, class int) (n int) {
		for n < 20 && b.queue(0, out, class, 1000, 'a') == Queued {
			n++
		}
		return n
	}
	if got := [...]int{fill(1, 0), fill(2, 0), fill(2, 3)}; got != [...]int{6, 3, 4} {
		t.Errorf("%d frames of 1000 bytes fit into an empty buffer, then into another queue, then into a lossless one; want 6 of 12, 3 of 6, and as many as the buffer has", got)
	}
}

// With DropAlpha a queue of a lossless class also holds at most a share of the
// free memory, here of the whole buffer.
func TestDropAlpha(t *testing.T) {
	b := newBed(t, Config{Ports: ports(3, Port{Rate: gbps, XOFF: 14_000, Gap: 1000, Headroom: 1000}), Lossless: 1 << 3, Quanta: 0xffff, Size: 15_000, DropAlpha: 1})
	for out, want := range []int{0: 8, 1: 4} {
		b.obey(out+1, 0xff, 0xffff)
		n, cause := 0, Queued
		for ; n < 20 && cause == Queued; n++ {
			cause = b.queue(0, out+1, 3, 1000, 'a')
		}
		if n-1 != want || cause != QueueFull {
			t.Errorf("%d frames of 1000 bytes fit at port %d, then %v; want %d and a full queue", n-1, out+1, cause, want)
		}
	}
}

// A packet of a lossless class that comes from a port without PFC, such as that of
// recirculation, may use the whole buffer: the limits of lossy queues do not apply.
func TestLosslessFromPortsWithoutPFC(t *testing.T) {
	cfg := Config{Ports: ports(2, Port{Rate: gbps, XOFF: 9000, Gap: 1000, Headroom: 1000}), Lossless: 1 << 3, Quanta: 0xffff, Size: 15_000, EgressAlpha: 1, QueueBytes: 3000, QueuePackets: 2}
	cfg.Ports[0].NoPFC = true
	b := newBed(t, cfg)
	b.obey(1, 1<<3, 0xffff)
	for i := range 15 {
		if c := b.queue(0, 1, 3, 1000, 'a'); c != Queued {
			t.Fatalf("frame %d: %v", i, c)
		}
	}
	if c := b.queue(0, 1, 3, 1000, 'a'); c != BufferFull {
		t.Errorf("a frame beyond the buffer: %v", c)
	}
}

// A copy that is queued while its original leaves needs no room besides the
// original's, though the headroom is full.
func TestCopyOfWhatLeaves(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, XOFF: 2000, Gap: 1000, Headroom: 3000}), Lossless: 1 << 3, Quanta: 0xffff, Size: 20_000})
	b.obey(1, 1<<3, 0xffff)
	for range 5 {
		b.mustQueue(0, 1, 3, 1000, 'a')
	}
	clone := func(instead bool) Cause {
		p := b.m.Get()
		p.Frame = b.pool.Get()
		p.Frame.Data, p.Frame.Elided = append(p.Frame.Data, 'c'), 999
		p.In, p.Class = 0, 3
		if instead {
			p.MarkReplacing()
		}
		c := b.m.Enqueue(p, 0, 7, b.now)
		if c != Queued {
			b.pool.Put(p.Frame)
			b.m.Put(p)
		}
		return c
	}
	var causes []Cause
	b.verdict = func(p *Packet) Verdict {
		if p.Queue == 3 && causes == nil { // the headroom is full, with this packet
			causes = []Cause{clone(false), clone(true)}
		}
		return Send
	}
	b.obey(1, 1<<3, 0)
	b.until(100 * vtime.Microsecond)
	if want := []Cause{HeadroomFull, Queued}; !slices.Equal(causes, want) {
		t.Errorf("copies: %v, want %v", causes, want)
	}
	if size, most := b.m.Headroom(0, 3); most != size+1000 { // of the copy that needs room
		t.Errorf("the headroom of %d bytes took %d", size, most)
	}
}

// Packets after XOFF use the headroom, and are dropped only beyond it.
func TestHeadroom(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, XOFF: 2000, Gap: 1000, Headroom: 3000}), Lossless: 1 << 3, Quanta: 0xffff, Size: 20_000})
	b.obey(1, 1<<3, 0xffff)
	var causes []Cause
	for range 7 {
		causes = append(causes, b.queue(0, 1, 3, 1000, 'a'))
	}
	if want := []Cause{Queued, Queued, Queued, Queued, Queued, HeadroomFull, HeadroomFull}; !slices.Equal(causes, want) {
		t.Errorf("causes %v, want %v", causes, want)
	}
	b.m.Run()
	b.until(vtime.Microsecond)
	if got := b.pfc(0); got != "+3" {
		t.Errorf("PFC frames %q, want one", got)
	}
	// The resume waits until the headroom is empty and the gap is reached: when
	// four of the five packets have begun to leave.
	b.obey(1, 1<<3, 0)
	b.until(b.now + 23*vtime.Microsecond)
	if got := b.pfc(0); got != "+3" {
		t.Errorf("PFC frames %q with the headroom in use", got)
	}
	b.until(b.now + 8*vtime.Microsecond)
	if got := b.pfc(0); got != "+3 -3" {
		t.Errorf("PFC frames %q, want a resume", got)
	}
}

// Headroom and reserve belong to their classes: lossy traffic cannot use them.
func TestHeadroomIsKeptApart(t *testing.T) {
	cfg := Config{Ports: ports(2, Port{Rate: gbps, XOFF: 1000, Gap: 500, Headroom: 2000, Reserve: 1000}), Lossless: 1 << 3, Quanta: 1, Size: 10_000}
	b := newBed(t, cfg) // 6000 of 10,000 are apart
	n := 0
	for b.queue(0, 1, 0, 500, 'a') == Queued {
		n++
	}
	if n != 8 {
		t.Errorf("%d lossy packets of 500 bytes fit, want 8", n)
	}
	for i := range 3 {
		if c := b.queue(0, 1, 3, 1000, 'p'); c != Queued {
			t.Errorf("lossless packet %d: %d", i, c)
		}
	}
	cfg.Size = 6000
	if _, err := New(cfg, nil); err == nil || !strings.Contains(err.Error(), "headroom and reserve of all ports take 6000 bytes of a buffer of 6000") {
		t.Errorf("a buffer of headroom only: %v", err)
	}
}

// A simulator's own headroom counts for what is free, not for what is dropped.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		apart, paused int64 // paused at half of 5000 bytes less what is apart at both ports
	}{{0, 1000}, {500, 2000}} {
		p := Port{Rate: gbps, XOFF: 100_000, Gap: 500, Alpha: 1, Headroom: 1500, Apart: c.apart}
		b := newBed(t, Config{Ports: ports(2, p), Lossless: 1 << 3, Quanta: 0xffff, Size: 5000})
		stored := int64(0)
		for !b.m.ports[0].class(3).pausing && stored < 5000 {
			if got := b.queue(0, 1, 3, 500, 'p'); got != Queued {
				t.Fatalf("after %d bytes: %d", stored, got)
			}
			stored += 500
		}
		if stored != c.paused {
			t.Errorf("apart %d: paused at %d bytes, want %d", c.apart, stored, c.paused)
		}
		if size, _ := b.m.Headroom(0, 3); size != 1500 {
			t.Errorf("apart %d: headroom %d", c.apart, size)
		}
	}
}

// Thresholds whose sum exceeds the buffer drop nothing: when the shared part is
// full, all ports pause their senders, and the headroom is kept.
func TestThresholdsBeyondTheBuffer(t *testing.T) {
	const n, frame, headroom = 8, 1000, 5000
	b := newBed(t, Config{Ports: ports(n+1, Port{Rate: gbps, XOFF: 100_000, Gap: 2000, Headroom: headroom}),
		Lossless: 1 << 3, Quanta: 0xffff, Size: (n+1)*headroom + 60_000})
	rng := rand.New(rand.NewPCG(3, 4))
	late := make([]int, n) // frames that came after the pause
	paused := make([]bool, n)
	for range 20_000 {
		in := rng.IntN(n)
		switch {
		case !paused[in]:
			late[in] = 0
		case late[in] == headroom/frame-1: // the sender has received the PAUSE
			b.until(b.now + 4*vtime.Microsecond)
			continue
		default:
			late[in]++
		}
		if got := b.queue(in, n, 3, frame, 'a'); got != Queued {
			t.Fatalf("port %d: a packet of a lossless class is dropped (%v) after %d that came after the pause", in, got, late[in])
		}
		b.m.Run()
		for i := range n {
			paused[i] = b.m.classes[3][i].pausing
		}
	}
}

// A dynamic threshold falls as the buffer fills. It is the share Alpha of the
// free memory, at most XOFF.
func TestDynamicThresholds(t *testing.T) {
	b := newBed(t, Config{Ports: ports(3, Port{Rate: gbps, Alpha: 0.5, Gap: 100}), Lossless: 1 << 3, Quanta: 0xffff, Size: 9000})
	b.obey(2, 0xff, 0xffff)
	for b.pfc(0) == "" && len(b.sent) < 100 {
		b.mustQueue(0, 2, 3, 100, 'a')
		b.m.Run()
		if now, _ := b.m.Ingress(0, 3); now > 9000 {
			break
		}
	}
	// x ≥ ½ (9000 − x): at 3000.
	if now, _ := b.m.Ingress(0, 3); now != 3000 {
		t.Errorf("alone, port 0 is paused at %d bytes, want 3000", now)
	}
	for b.pfc(1) == "" {
		b.mustQueue(1, 2, 3, 100, 'b')
		b.m.Run()
	}
	// y ≥ ½ (9000 − 3000 − y): at 2000.
	if now, _ := b.m.Ingress(1, 3); now != 2000 {
		t.Errorf("beside it, port 1 is paused at %d bytes, want 2000", now)
	}
	b = newBed(t, Config{Ports: ports(2, Port{Rate: gbps, Alpha: 8, XOFF: 500, Gap: 100}), Lossless: 1 << 3, Quanta: 0xffff, Size: 9000})
	b.obey(1, 0xff, 0xffff)
	for b.pfc(0) == "" {
		b.mustQueue(0, 1, 3, 100, 'a')
		b.m.Run()
	}
	if now, _ := b.m.Ingress(0, 3); now != 500 {
		t.Errorf("with XOFF 500 it is paused at %d bytes", now)
	}
}

func TestLinkDownEmptiesQueues(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, XOFF: 100, Gap: 50}), Lossless: 1 << 3, Quanta: 10})
	b.obey(1, 0xff, 0xffff)
	b.mustQueue(0, 1, 3, 200, 'a')
	b.mustQueue(0, 1, 0, 200, 'b')
	b.m.Run()
	var lost []byte
	drop := func(p *Packet) {
		lost = append(lost, p.Frame.Data[0])
		b.pool.Put(p.Frame)
		b.m.Put(p)
	}
	b.m.SetLink(1, false, drop)
	if string(lost) != "ba" {
		t.Errorf("lost %q, want both", lost)
	}
	if c := b.queue(0, 1, 3, 200, 'c'); c != LinkDown {
		t.Errorf("a packet for a link that is down: %d", c)
	}
	b.m.SetLink(1, true, drop) // and its pause ends
	b.mustQueue(0, 1, 3, 50, 'd')
	b.m.Run()
	b.until(vtime.Microsecond)
	if got := b.tags(1); got != "d" {
		t.Errorf("after that, sent %q, want d", got)
	}
	if got := b.pfc(0); got != "+3 -3" {
		t.Errorf("PFC frames %q: the sender must be resumed", got)
	}
}

// A link goes down while the peer pauses it. The first packet that is dropped resumes
// its sender: that sent the next packet, which was counted as sent on a dead link.
func TestLinkDownSendsNothing(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, XOFF: 100, Gap: 50}), Lossless: 1 << 3, Quanta: 10})
	b.obey(1, 0xff, 0xffff)
	for range 4 {
		b.mustQueue(0, 1, 3, 30, 'a')
	}
	b.m.Run()
	lost := 0
	b.m.SetLink(1, false, func(p *Packet) {
		lost++
		b.pool.Put(p.Frame)
		b.m.Put(p)
	})
	b.m.Run()
	b.until(b.now + 10*vtime.Microsecond)
	if drops := b.m.Stats(1).Class[3].Drops; lost != 4 || drops != 4 || b.tags(1) != "" || b.pfc(0) != "+3 -3" {
		t.Errorf("%d of 4 packets are lost, %d counted; sent %q, PFC frames %q", lost, drops, b.tags(1), b.pfc(0))
	}
}

// recirculated returns packets from port 0 of 1000 bytes that have recirculated through
// queue 3 of port 1 and are charged.
func (b *bed) recirculated(n int) []*Packet {
	b.Helper()
	b.verdict = func(*Packet) Verdict { return Recirculate }
	for range n {
		b.mustQueue(0, 1, 3, 1000, 'a')
	}
	b.m.Run()
	b.until(b.now + vtime.Millisecond)
	if len(b.back) != n {
		b.Fatalf("%d packets are back, want %d", len(b.back), n)
	}
	b.verdict = nil
	return b.back
}

// A program may put a packet into a queue of another class after recirculation, and its
// charge moves to that class. The sender of the first class stayed paused, without
// packets in its account.
func TestRecirculationIntoAnotherClass(t *testing.T) {
	b := newBed(t, Config{Ports: []Port{{Rate: gbps, XOFF: 1500, Gap: 100}, {Rate: gbps, NoPFC: true}}, Lossless: 1 << 3, Quanta: 0xffff})
	for _, p := range b.recirculated(2) {
		if c := b.m.Enqueue(p, 1, 5, b.m.sched.Now()); c != Queued {
			t.Fatalf("packet was not queued again: %d", c)
		}
	}
	if now, _ := b.m.Ingress(0, 5); now != 2000 {
		t.Errorf("the account of class 5 has %d bytes, want 2000", now)
	}
	b.m.Run()
	b.until(b.now + vtime.Second)
	if got := b.pfc(0); got != "+3 -3" {
		t.Errorf("PFC frames %.20q, want a pause and a resume", got)
	}
}

// A recirculated packet is charged already: it is not dropped for lack of the headroom
// that it has itself. The threshold has fallen meanwhile.
func TestRecirculatedPacketsKeepTheirRoom(t *testing.T) {
	b := newBed(t, Config{Ports: []Port{{Rate: gbps, XOFF: 4000, Alpha: 1, Gap: 1000, Headroom: 2000}, {Rate: gbps, NoPFC: true}, {Rate: gbps, NoPFC: true}},
		Lossless: 1 << 3, Quanta: 0xffff, Size: 20_000})
	back := b.recirculated(6)
	for range 14 { // the rest of the shared part
		b.mustQueue(2, 2, 0, 1000, 'x')
	}
	for i, p := range back {
		if c := b.m.Enqueue(p, 1, 3, b.m.sched.Now()); c != Queued {
			t.Errorf("packet %d was not queued again: %d", i, c)
		}
	}
	if now, _ := b.m.Ingress(0, 3); now != 6000 {
		t.Errorf("the account has %d bytes, want 6000", now)
	}
}

// A recirculated packet that finds no room leaves its account, and its sender resumes.
func TestRecirculatedPacketFindsNoRoom(t *testing.T) {
	b := newBed(t, Config{Ports: []Port{{Rate: gbps, XOFF: 1000, Gap: 100}, {Rate: gbps, NoPFC: true}, {Rate: gbps, XOFF: 5000, Gap: 100}}, Lossless: 1 << 3, Quanta: 0xffff, Size: 2000})
	p := b.recirculated(1)[0]
	b.mustQueue(2, 1, 3, 1500, 'x')
	if c := b.m.Enqueue(p, 1, 3, b.m.sched.Now()); c != BufferFull {
		t.Errorf("packet was not dropped: %d", c)
	}
	b.pool.Put(p.Frame)
	b.m.Put(p)
	b.m.Run()
	b.until(b.now + vtime.Second)
	if now, _ := b.m.Ingress(0, 3); now != 0 || b.pfc(0) != "+3 -3" {
		t.Errorf("the account has %d bytes, PFC frames %.20q", now, b.pfc(0))
	}
}

// A packet that was never queued has no queue, also if its memory had one: drops in
// ingress were reported to observers for the class of an earlier packet.
func TestGetReturnsAnEmptyPacket(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps})})
	b.mustQueue(0, 1, 3, 100, 'a')
	b.m.Run()
	if p := b.m.Get(); p.Queue != 0 || p.Class != -1 || p.Frame != nil {
		t.Errorf("got %+v", p)
	}
}

// A recirculated packet occupies the port for its transmission time, returns
// after the latency, and stays charged to its ingress account.
func TestRecirculation(t *testing.T) {
	b := newBed(t, Config{Ports: []Port{{Rate: gbps, XOFF: 10_000, Gap: 100}, {Rate: gbps, NoPFC: true, Latency: 5 * vtime.Microsecond}}, Lossless: 1 << 3, Quanta: 10})
	b.verdict = func(*Packet) Verdict { return Recirculate }
	b.mustQueue(0, 1, 3, 1000, 'a')
	b.mustQueue(0, 1, 3, 1000, 'b')
	b.m.Run()
	b.until(13 * vtime.Microsecond)
	if len(b.back) != 1 || b.back[0].Frame.Data[0] != 'a' {
		t.Fatalf("%d packets are back after 13 µs, want a", len(b.back))
	}
	if now, _ := b.m.Ingress(0, 3); now != 2000 {
		t.Errorf("the account has %d bytes, want 2000: recirculated ones count", now)
	}
	b.until(21 * vtime.Microsecond)
	if len(b.back) != 2 {
		t.Errorf("%d packets are back after 21 µs, want 2", len(b.back))
	}
	b.verdict = nil
	for _, p := range b.back { // out they go
		if c := b.m.Enqueue(p, 1, 3, b.m.sched.Now()); c != Queued {
			t.Errorf("packet was not queued again: %d", c)
		}
	}
	b.m.Run()
	b.until(vtime.Second)
	if now, _ := b.m.Ingress(0, 3); now != 0 {
		t.Errorf("the account has %d bytes in the end", now)
	}
}

// Packets in a buffer of their own are in no account, and no limit applies to them. A
// packet that comes from another queue leaves its account, and its sender resumes.
func TestOwnBuffer(t *testing.T) {
	b := newBed(t, Config{Size: 3000, Ports: []Port{{Rate: gbps, XOFF: 1500, Gap: 100}, {Rate: gbps, NoPFC: true, OwnBuffer: true}}, Lossless: 1 << 3, Quanta: 0xffff})
	b.verdict = func(*Packet) Verdict { return Recirculate }
	for range 10 {
		b.mustQueue(0, 1, 3, 1000, 'a')
	}
	if used, most := b.m.Used(); used != 0 || most != 0 {
		t.Errorf("the buffer has %d bytes and had %d", used, most)
	}
	b.m.Run()
	b.until(100 * vtime.Microsecond)
	if got := b.pfc(0); got != "" || len(b.back) != 10 {
		t.Errorf("PFC frames %q, and %d packets are back", got, len(b.back))
	}
	// Two of them wait for a port with the shared buffer, and return.
	two := b.back[:2]
	b.back = nil
	for _, p := range two {
		if c := b.m.Enqueue(p, 0, 3, b.m.sched.Now()); c != Queued {
			t.Fatalf("packet was not queued: %d", c)
		}
	}
	b.m.Run()
	b.until(b.now + 100*vtime.Microsecond)
	if now, _ := b.m.Ingress(0, 3); now != 2000 || b.pfc(0) != "+3" {
		t.Errorf("the account has %d bytes, PFC frames %q", now, b.pfc(0))
	}
	for _, p := range b.back {
		if c := b.m.Enqueue(p, 1, 3, b.m.sched.Now()); c != Queued {
			t.Fatalf("packet was not queued again: %d", c)
		}
	}
	b.m.Run()
	b.until(b.now + 100*vtime.Microsecond)
	used, _ := b.m.Used()
	if now, _ := b.m.Ingress(0, 3); now != 0 || used != 0 || b.pfc(0) != "+3 -3" {
		t.Errorf("the account has %d bytes, the buffer %d, PFC frames %q", now, used, b.pfc(0))
	}
}

// In random sequences the sums are consistent: the buffer is the sum of the
// queues, the accounts are the sums of the packets, and in the end nothing is
// left and no sender is paused.
func TestAccountsAddUp(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		cfg := Config{Lossless: uint8(rng.Uint32()), Quanta: 200, Size: 60_000, QueuePackets: 30}
		for range 4 {
			p := Port{Rate: gbps * vtime.Rate(1+rng.IntN(3)), XOFF: 2000, Gap: 1000, Headroom: 600, Reserve: 500}
			if rng.IntN(2) == 0 {
				p.Alpha = 0.25
			}
			for q := range p.Weights {
				p.Weights[q] = rng.IntN(3)
			}
			cfg.Ports = append(cfg.Ports, p)
		}
		b := newBed(t, cfg)
		b.verdict = func(p *Packet) Verdict {
			if rng.IntN(20) == 0 {
				b.pool.Put(p.Frame)
				b.m.Put(p)
				return Drop
			}
			return Send
		}
		queued, dropped := 0, 0
		for range 3000 {
			switch rng.IntN(12) {
			case 0:
				b.obey(rng.IntN(4), uint8(rng.Uint32()), uint16(rng.IntN(300)))
			case 1:
				b.until(b.now + vtime.Time(rng.IntN(100))*vtime.Microsecond)
			case 2:
				if rng.IntN(10) == 0 {
					port := rng.IntN(4)
					b.m.SetLink(port, rng.IntN(2) == 0, func(p *Packet) {
						b.pool.Put(p.Frame)
						b.m.Put(p)
					})
				}
			default:
				if b.queue(rng.IntN(4), rng.IntN(4), rng.IntN(8), 1+rng.IntN(1500), 'a') == Queued {
					queued++
				} else {
					dropped++
				}
				b.m.Run()
			}
			var inQueues, onAccounts int64
			for p := range cfg.Ports {
				for q := range Queues {
					d := b.m.Depth(p, q)
					inQueues += d.Bytes
					if (d.Packets == 0) != (d.Bytes == 0) || (d.Bytes == 0) != (d.Cells == 0) || d.Bytes < 0 {
						t.Fatalf("seed %d: queue %d of port %d has %+v", seed, q, p, d)
					}
					now, _ := b.m.Ingress(p, q)
					onAccounts += now
				}
			}
			if used, _ := b.m.Used(); used != inQueues || onAccounts != inQueues || used > cfg.Size {
				t.Fatalf("seed %d: %d bytes in the buffer, %d in queues, %d on accounts", seed, used, inQueues, onAccounts)
			}
		}
		for p := range cfg.Ports {
			b.m.SetLink(p, true, nil)
			b.obey(p, 0xff, 0)
		}
		b.until(b.now + vtime.Second)
		if used, _ := b.m.Used(); used != 0 || b.m.shared != 0 || queued == 0 || dropped == 0 {
			t.Errorf("seed %d: %d bytes, %d shared are left of %d packets (%d were dropped)", seed, used, b.m.shared, queued, dropped)
		}
		for p := range cfg.Ports {
			for q := range Queues {
				if b.m.classes[q][p].pausing {
					t.Errorf("seed %d: the sender to port %d, class %d is paused for ever", seed, p, q)
				}
			}
		}
	}
}
