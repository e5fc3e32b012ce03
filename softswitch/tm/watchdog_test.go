// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

const ms = vtime.Millisecond

// storming returns a port of 1 Gb/s with a watchdog on class 3, whose peer pauses it
// for ever from now on, with packets a, b, c for it.
func storming(t *testing.T, w Watchdog) *bed {
	w.Classes = 1 << 3
	b := newBed(t, Config{Ports: ports(3, Port{Rate: gbps, XOFF: 10_000, Watchdog: w}), Lossless: 1 << 3, Quanta: 65535})
	b.obey(1, 1<<3, 65535) // 33.6 ms
	for _, tag := range []byte("abc") {
		b.mustQueue(0, 1, 3, 100, tag)
	}
	b.m.Run()
	return b
}

// pauses renews the pause every 10 ms until a time.
func (b *bed) pauses(until vtime.Time) {
	for b.now < until {
		b.until(b.now + 10*ms)
		b.obey(1, 1<<3, 65535)
	}
}

// With drop, a queue in a storm is emptied and takes nothing; with forward it is sent in
// spite of PAUSE; with alert it waits. After the last pause is over and the restoration
// time has passed, all is as before.
func TestStorms(t *testing.T) {
	for _, tt := range []struct {
		action              Action
		during, after, left string // sent before and after the storm is over, and dropped
		drops, sent         uint64
	}{
		{ActionDrop, "", "f", "abcde", 5, 0},
		{ActionForward, "abcde", "abcdef", "", 0, 5},
		{ActionAlert, "", "abcdef", "", 0, 5},
	} {
		t.Run(fmt.Sprint(tt.action), func(t *testing.T) {
			b := storming(t, Watchdog{Detection: 200 * ms, Restoration: 300 * ms, Action: tt.action})
			b.pauses(190 * ms)
			b.until(200*ms - 1)
			if len(b.storms) != 0 || b.tags(1) != "" {
				t.Fatalf("before the detection time: %v, sent %q", b.storms, b.tags(1))
			}
			b.until(200 * ms)
			if want := "+1.3"; strings.Join(b.storms, " ") != want || b.m.Storms(1) != 1<<3 {
				t.Errorf("at the detection time: %v, want %s", b.storms, want)
			}
			b.pauses(400 * ms)
			for _, tag := range []byte("de") {
				cause := b.queue(0, 1, 3, 100, tag)
				if (cause == Storming) != (tt.action == ActionDrop) {
					t.Errorf("a packet in the storm is %v", cause)
				}
				if cause != Queued {
					b.dropped += string(tag)
				}
			}
			b.mustQueue(0, 1, 2, 100, 'x') // another class
			b.mustQueue(0, 2, 3, 100, 'y') // another port
			b.m.Run()
			b.until(401 * ms)
			if got := strings.ReplaceAll(b.tags(1), "x", ""); got != tt.during || b.tags(2) != "y" || b.dropped != tt.left || !strings.Contains(b.tags(1), "x") {
				t.Errorf("in the storm: sent %q by port 1, want %q and x; %q by port 2, dropped %q, want %q", b.tags(1), tt.during, b.tags(2), b.dropped, tt.left)
			}
			// The last pause, of 400 ms, ends after 33.55 ms.
			end := 400*ms + 65535*512*vtime.Nanosecond + 300*ms
			b.until(end - 1)
			if len(b.storms) != 1 {
				t.Errorf("before the restoration time: %v", b.storms)
			}
			b.until(end)
			if want := "+1.3 -1.3"; strings.Join(b.storms, " ") != want || b.m.Storms(1) != 0 {
				t.Errorf("after the restoration time: %v, want %s", b.storms, want)
			}
			b.mustQueue(0, 1, 3, 100, 'f')
			b.m.Run()
			b.until(end + ms)
			if got := strings.ReplaceAll(b.tags(1), "x", ""); got != tt.after {
				t.Errorf("in the end: sent %q, want %q", got, tt.after)
			}
			s := b.m.Stats(1).Class[3]
			if s.Storms != 1 || s.Restored != 1 || s.StormDrops != tt.drops || s.StormSent != tt.sent || s.StormTime != end-200*ms {
				t.Errorf("%+v", s)
			}
			b.obey(1, 1<<3, 65535) // PAUSE is obeyed again, and watched
			b.mustQueue(0, 1, 3, 100, 'g')
			b.m.Run()
			b.pauses(end + 250*ms)
			if len(b.storms) != 3 {
				t.Errorf("the second storm: %v", b.storms)
			}
		})
	}
}

// A pause is no storm while nothing waits, if packets leave in between, or if nobody
// watches the class.
func TestWhatIsNoStorm(t *testing.T) {
	w := Watchdog{Detection: 200 * ms, Restoration: 200 * ms, Classes: 1 << 3}
	t.Run("nothing waits", func(t *testing.T) {
		b := newBed(t, Config{Ports: ports(3, Port{Rate: gbps, XOFF: 10_000, Watchdog: w}), Lossless: 1 << 3})
		b.obey(1, 1<<3, 65535)
		b.pauses(990 * ms)
		b.until(995 * ms)
		if len(b.storms) != 0 {
			t.Errorf("%v", b.storms)
		}
		b.mustQueue(0, 1, 3, 100, 'a') // from now on something does
		b.pauses(1180 * ms)
		if b.until(1195*ms - 1); len(b.storms) != 0 {
			t.Errorf("too early: %v", b.storms)
		}
		if b.until(1195 * ms); len(b.storms) != 1 {
			t.Error("no storm")
		}
	})
	t.Run("packets leave in between", func(t *testing.T) {
		b := newBed(t, Config{Ports: ports(3, Port{Rate: gbps, XOFF: 10_000, Watchdog: w}), Lossless: 1 << 3})
		for range 10 {
			b.mustQueue(0, 1, 3, 100, 'a')
			b.obey(1, 1<<3, 65535)
			b.m.Run()
			b.pauses(b.now + 150*ms)
			b.obey(1, 1<<3, 0)
			b.until(b.now + ms)
		}
		if len(b.storms) != 0 || b.tags(1) != "aaaaaaaaaa" {
			t.Errorf("%v, sent %q", b.storms, b.tags(1))
		}
	})
	t.Run("another class", func(t *testing.T) {
		b := newBed(t, Config{Ports: ports(3, Port{Rate: gbps, XOFF: 10_000, Watchdog: w}), Lossless: 3 << 3})
		b.mustQueue(0, 1, 4, 100, 'a')
		for b.now < vtime.Second {
			b.obey(1, 1<<4, 65535)
			b.until(b.now + 10*ms)
		}
		if len(b.storms) != 0 || b.tags(1) != "" {
			t.Errorf("%v, sent %q", b.storms, b.tags(1))
		}
	})
}

// A link that goes down ends a storm. The next pause is watched from its beginning.
func TestLinkDownEndsAStorm(t *testing.T) {
	b := storming(t, Watchdog{Detection: 200 * ms, Restoration: 300 * ms})
	b.pauses(250 * ms)
	b.m.SetLink(1, false, func(p *Packet) { b.m.Put(p) })
	if cause := b.queue(0, 1, 3, 100, 'd'); cause != LinkDown {
		t.Errorf("a packet for a link that is down is %v", cause)
	}
	b.m.SetLink(1, true, nil)
	b.mustQueue(0, 1, 3, 100, 'e')
	b.m.Run()
	b.until(b.now + ms)
	if got := strings.Join(b.storms, " "); got != "+1.3 -1.3" || b.tags(1) != "e" {
		t.Errorf("%s, sent %q", got, b.tags(1))
	}
	begun := b.now
	b.obey(1, 1<<3, 65535)
	b.mustQueue(0, 1, 3, 100, 'f')
	b.pauses(begun + 185*ms)
	if b.until(begun + 200*ms - 1); len(b.storms) != 2 {
		t.Errorf("too early: %v", b.storms)
	}
	if b.until(begun + 200*ms); len(b.storms) != 3 {
		t.Errorf("no second storm: %v", b.storms)
	}
}

// Ports without a rate have pauses without an end: the last PAUSE counts.
func TestStormWithoutRate(t *testing.T) {
	for _, action := range []Action{ActionDrop, ActionForward, ActionAlert} {
		b := newBed(t, Config{Ports: ports(2, Port{XOFF: 10_000, Watchdog: Watchdog{Classes: 8, Detection: 200 * ms, Restoration: 300 * ms, Action: action}}), Lossless: 8})
		b.obey(1, 1<<3, 1)
		b.mustQueue(0, 1, 3, 100, 'a')
		b.until(vtime.Second)
		want := "+1.3 -1.3"
		if action == ActionAlert {
			want = "+1.3" // it is paused still
		}
		if got := strings.Join(b.storms, " "); got != want {
			t.Errorf("%v: %s, want %s", action, got, want)
		}
	}
}
