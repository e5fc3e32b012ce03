// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// The headroom that a pause needs includes the packets that were dropped for lack of it.
func TestHeadroomThatIsNeeded(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, XOFF: 2000, Gap: 1000, Headroom: 3000}), Lossless: 1 << 3, Quanta: 0xffff, Size: 20_000})
	b.obey(1, 1<<3, 0xffff)
	for range 4 {
		b.mustQueue(0, 1, 3, 1000, 'a')
	}
	if size, most := b.m.Headroom(0, 3); size != 3000 || most != 2000 {
		t.Errorf("%d bytes of %d, want 2000 of 3000", most, size)
	}
	for range 3 {
		b.queue(0, 1, 3, 1000, 'a')
	}
	if size, most := b.m.Headroom(0, 3); size != 3000 || most != 5000 {
		t.Errorf("%d bytes of %d, want 5000 of 3000", most, size)
	}
	if size, most := b.m.Headroom(0, 4); size != 0 || most != 0 {
		t.Errorf("a lossy class has %d bytes of headroom, and used %d", size, most)
	}
	// The next pause begins from nothing.
	b.obey(1, 1<<3, 0)
	b.until(b.now + vtime.Millisecond)
	b.obey(1, 1<<3, 0xffff)
	for range 5 {
		b.mustQueue(0, 1, 3, 1000, 'a')
	}
	if _, most := b.m.Headroom(0, 3); most != 5000 {
		t.Errorf("%d bytes after a shorter pause, want the 5000 of the longer one", most)
	}
}

// ConWeave's pauses of 5 µs end before a link has emptied. While bytes are in the
// headroom, a sender is paused until they have left it: otherwise each pause would add
// the frames that are in flight when it ends.
func TestPauseLastsWhileTheHeadroomIsUsed(t *testing.T) {
	b := newBed(t, Config{
		Ports: ports(2, Port{Rate: gbps, XOFF: 2000, Gap: 1, Headroom: 3000}), Lossless: 1 << 3, Quanta: 100, Size: 16_000,
		Pause: 5 * vtime.Microsecond, EachFrame: true, HeadroomLast: true,
	})
	b.obey(1, 1<<3, 0xffff)
	last := func() uint16 {
		b.Helper()
		b.m.Run()
		b.until(b.now + 8*vtime.Microsecond)
		for i := len(b.sent) - 1; i >= 0; i-- {
			if f := b.sent[i]; f.pfc != nil {
				return f.pfc.Quanta(3)
			}
		}
		return 0
	}
	for range 10 { // up to the size of the shared part
		b.mustQueue(0, 1, 3, 1000, 'a')
	}
	if q := last(); q != 10 { // of 512 ns
		t.Errorf("a PAUSE without headroom in use has %d quanta, want 10", q)
	}
	b.mustQueue(0, 1, 3, 1000, 'a')
	if q := last(); q != 100 {
		t.Errorf("a PAUSE with headroom in use has %d quanta, want 100", q)
	}
	n := strings.Count(b.pfc(0), "+3")
	b.until(b.now + 260*100*vtime.Nanosecond)
	if got := strings.Count(b.pfc(0), "+3"); got != n+1 {
		t.Errorf("%d PAUSE frames in half a pause, want one more than %d", got, n)
	}
	// When the headroom is empty, pauses are short again and not renewed.
	b.obey(1, 1<<3, 0)
	b.until(b.now + 9*vtime.Microsecond)
	b.obey(1, 1<<3, 0xffff)
	n = strings.Count(b.pfc(0), "+3")
	b.until(b.now + vtime.Millisecond)
	if got := strings.Count(b.pfc(0), "+3"); got > n {
		t.Errorf("%d PAUSE frames without headroom in use, want %d", got, n)
	}
}

// A dynamic threshold falls while packets recirculate. They stay in the shared part: if
// they filled the headroom, there would be none for the frames in flight.
func TestRecirculatedPacketsDoNotFillTheHeadroom(t *testing.T) {
	b := newBed(t, Config{Ports: []Port{
		{Rate: gbps, Alpha: 1, Gap: 1, Headroom: 3000}, {Rate: gbps, NoPFC: true}, {Rate: gbps, Alpha: 1, Gap: 1, Headroom: 3000}, {Rate: gbps, NoPFC: true},
	}, Lossless: 1 << 3, Quanta: 0xffff, Size: 26_000})
	b.verdict = func(p *Packet) Verdict {
		if p.Out == 1 {
			return Recirculate
		}
		return Send
	}
	for range 9 {
		b.mustQueue(0, 1, 3, 1000, 'a')
	}
	b.obey(3, 1<<3, 0xffff)
	for range 6 {
		b.mustQueue(2, 3, 3, 1000, 'b')
	}
	// 5000 bytes are free: the threshold is below the 9000 of port 0.
	for len(b.back) < 9 {
		b.m.Run()
		b.until(b.now + vtime.Microsecond)
	}
	for _, p := range b.back {
		if c := b.m.Enqueue(p, 3, 3, b.now); c != Queued {
			t.Fatalf("a recirculated packet was not queued: %d", c)
		}
	}
	if _, most := b.m.Headroom(0, 3); most != 0 {
		t.Errorf("recirculated packets took %d bytes of headroom", most)
	}
	for i := range 3 {
		if c := b.queue(0, 3, 3, 1000, 'c'); c != Queued {
			t.Errorf("frame %d in flight was not queued: %d", i, c)
		}
	}
	if now, _ := b.m.Ingress(0, 3); now != 12_000 {
		t.Errorf("%d bytes are in the account, want 12,000", now)
	}
	b.obey(3, 1<<3, 0)
	b.until(b.now + vtime.Millisecond)
	if used, _ := b.m.Used(); used != 0 || b.m.shared != 0 {
		t.Errorf("%d bytes are in the empty buffer, %d shared", used, b.m.shared)
	}
}

// Each frame in flight may have copies, such as probes to other leaves. They leave the
// headroom to the frames, while the shared part has room.
func TestCopiesLeaveTheHeadroomToFrames(t *testing.T) {
	for _, c := range []struct {
		size   int64 // of the buffer: what both ports do not keep apart has room for the rest
		copies int
		cause  Cause // of the last frame
	}{{26_000, 6, Queued}, {12_000, 6, HeadroomFull}} {
		b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, XOFF: 2000, Gap: 1000, Headroom: 3000}), Lossless: 1 << 3, Quanta: 0xffff, Size: c.size})
		b.obey(1, 1<<3, 0xffff)
		for range 2 {
			b.mustQueue(0, 1, 3, 1000, 'a')
		}
		for range c.copies {
			p := b.m.Get()
			p.Frame = b.Frames().Get()
			p.Frame.Data = append(p.Frame.Data, make([]byte, 1000)...)
			p.In = 0
			p.MarkCopy(p)
			if got := b.m.Enqueue(p, 1, 3, b.now); got != Queued {
				t.Fatalf("buffer of %d bytes: a copy was not queued: %d", c.size, got)
			}
		}
		last := Queued
		for range 3 {
			last = b.queue(0, 1, 3, 1000, 'a')
		}
		if last != c.cause {
			t.Errorf("buffer of %d bytes: the third frame of the headroom: %d, want %d", c.size, last, c.cause)
		}
		b.obey(1, 1<<3, 0)
		b.until(b.now + vtime.Millisecond)
		if used, _ := b.m.Used(); used != 0 || b.m.shared != 0 {
			t.Errorf("buffer of %d bytes: %d bytes are in the empty buffer, %d shared", c.size, used, b.m.shared)
		}
	}
}

// When the shared part of the buffer is full, the headroom takes one clone, and frames in
// flight have the rest. A clone that replaces a frame, or is recirculated, has a place.
func TestHeadroomTakesOneClone(t *testing.T) {
	b := newBed(t, Config{Ports: ports(2, Port{Rate: gbps, XOFF: 2000, Gap: 1000, Headroom: 4000}), Lossless: 1 << 3, Quanta: 0xffff, Size: 10_000, HeadroomLast: true})
	b.obey(1, 1<<3, 0xffff)
	clone := func(instead bool) Cause {
		p := b.m.Get()
		p.Frame = b.Frames().Get()
		p.Frame.Data = append(p.Frame.Data, make([]byte, 1000)...)
		p.In = 0
		if instead {
			p.MarkReplacing()
		}
		p.MarkClone()
		return b.m.Enqueue(p, 1, 3, b.now)
	}
	steps := []struct {
		name  string
		got   Cause
		cause Cause
	}{
		{"a frame in the shared part", b.queue(0, 1, 3, 1000, 'a'), Queued},
		{"a clone in the shared part", clone(false), Queued},
		{"a clone in the headroom", clone(false), Queued},
		{"a second one", clone(false), NoRoom},
		{"a frame in flight", b.queue(0, 1, 3, 1000, 'a'), Queued},
		{"another clone", clone(false), NoRoom},
		{"a second frame", b.queue(0, 1, 3, 1000, 'a'), Queued},
		{"a third frame", b.queue(0, 1, 3, 1000, 'a'), Queued},
		{"a clone of a frame that leaves", clone(true), Queued},
		{"a frame too many", b.queue(0, 1, 3, 1000, 'a'), HeadroomFull},
	}
	for _, s := range steps {
		if s.got != s.cause {
			t.Errorf("%s: %d, want %d", s.name, s.got, s.cause)
		}
	}
}

// A port that pauses its sender and resumes it at once, by turns, while its link is busy,
// does not let PFC frames queue: they would delay the last.
func TestPauseAndResumeByTurns(t *testing.T) {
	p := ports(2, Port{Rate: gbps, XOFF: 1000, Gap: 500})
	p[1].Rate = 0
	b := newBed(t, Config{Ports: p, Lossless: 1 << 3, Quanta: 0xffff})
	b.mustQueue(1, 0, 0, 1000, 'x')
	b.m.Run() // port 0 is busy for 8 µs
	for range 10 {
		b.mustQueue(0, 1, 3, 1000, 'a')
		b.m.Run()
	}
	b.obey(1, 1<<3, 0xffff)
	b.mustQueue(0, 1, 3, 1000, 'b')
	b.m.Run()
	b.until(9 * vtime.Microsecond)
	if got := b.pfc(0); got != "+3" {
		t.Errorf("PFC frames %q, want the last", got)
	}
	if s := b.m.Stats(0); s.PFCSent != 21 || s.Class[3].PauseSent != 11 || s.Class[3].ResumeSent != 10 {
		t.Errorf("counted %d, %+v", s.PFCSent, s.Class[3])
	}
	b.obey(1, 1<<3, 0)
	b.until(20 * vtime.Microsecond)
	if got := b.pfc(0); got != "+3 -3" {
		t.Errorf("PFC frames %q, want a resume", got)
	}
}

// Frames of another class stay, and those of each class in their order.
func TestTurnsOfTwoClasses(t *testing.T) {
	p := ports(2, Port{Rate: gbps, XOFF: 1000, Gap: 500})
	p[1].Rate = 0
	b := newBed(t, Config{Ports: p, Lossless: 1<<3 | 1<<4, Quanta: 0xffff})
	b.mustQueue(1, 0, 0, 1000, 'x')
	b.m.Run()
	for range 10 {
		b.mustQueue(0, 1, 3, 1000, 'a')
		b.m.Run()
		b.mustQueue(0, 1, 4, 1000, 'b')
		b.m.Run()
	}
	b.until(12 * vtime.Microsecond)
	if got := b.pfc(0); got != "+3 +4 -3 -4" {
		t.Errorf("PFC frames %q, want a PAUSE and a RESUME of each class", got)
	}
}
