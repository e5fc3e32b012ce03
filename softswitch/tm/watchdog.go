// SPDX-License-Identifier: Apache-2.0

package tm

import "github.com/pauseless/pauseless/internal/vtime"

// Action is what a watchdog does with a queue in a storm.
type Action uint8

// Actions, as those of SONiC's PFC_WD.
const (
	ActionDrop    Action = iota // drop the packets of the queue, waiting and new
	ActionForward               // send them in spite of PAUSE
	ActionAlert                 // only tell
)

// Watchdog detects PFC storms on the queues of a port: a peer that pauses a queue in
// which packets wait, without end.
type Watchdog struct {
	// Classes are watched. None: there is no watchdog.
	Classes uint8
	// Detection is how long a queue with packets is paused without a gap until that
	// is a storm. Restoration is how long no pause has to be in effect until the
	// storm is over.
	Detection, Restoration vtime.Time
	Action                 Action
}

// storm is the watchdog's state of a class. Its events are scheduled only while there
// is a pause or a storm.
type storm struct {
	begun   vtime.Time
	last    vtime.Time // when the last PAUSE came
	sent    uint64     // txPackets when it began
	watched bool       // an event for its detection is scheduled
}

// watches reports whether the watchdog watches a class.
func (o *port) watches(class int) bool { return o.cfg.Watchdog.Classes&bit(class) != 0 }

// watchPause is called for each PAUSE of a watched class. It reports whether the
// watchdog ignores the PAUSE.
func (o *port) watchPause(class int, now vtime.Time) (ignored bool) {
	s := &o.rarely(class).storm
	s.last = now
	if o.storms&bit(class) != 0 {
		return o.cfg.Watchdog.Action != ActionAlert
	}
	if !s.watched {
		s.watched = true
		o.m.sched.At(now+o.cfg.Watchdog.Detection, (*detect)(o), uint64(class))
	}
	return false
}

// detect is the event at which a pause may have become a storm.
type detect port

func (e *detect) Fire(now vtime.Time, arg uint64) {
	o, class := (*port)(e), int(arg)
	s := &o.rarely(class).storm
	s.watched = false
	if o.paused&bit(class) == 0 || o.storms&bit(class) != 0 {
		return
	}
	// The first packet has waited since then because of this pause.
	since := now
	if p := o.class(class).head; p != nil {
		since = max(o.rarely(class).pause.since, p.Enqueued)
	}
	if now-since < o.cfg.Watchdog.Detection {
		s.watched = true
		o.m.sched.At(since+o.cfg.Watchdog.Detection, e, arg)
		return
	}
	o.beginStorm(class, now)
	o.m.Run()
}

func (o *port) beginStorm(class int, now vtime.Time) {
	m, c, s := o.m, o.class(class), &o.rarely(class).storm
	o.storms |= bit(class)
	o.rarely(class).stats.Storms++
	s.begun, s.sent = now, c.txPackets
	m.h.Storm(int(o.number), class, true)
	switch o.cfg.Watchdog.Action {
	case ActionDrop:
		o.closed |= bit(class)
		running := m.running
		m.running = true // or a RESUME would send what the queue still holds
		o.resume(class, now)
		for c.head != nil {
			p := o.dequeue(c, class, now)
			o.stormDrop(class)
			m.h.StormDrop(p)
		}
		m.running = running
	case ActionForward:
		o.resume(class, now)
	}
	m.sched.At(o.quiet(class), (*restore)(o), uint64(class))
}

// stormDrop counts a packet that the watchdog drops.
func (o *port) stormDrop(class int) {
	o.rarely(class).stats.Drops++
	o.rarely(class).stats.StormDrops++
}

// quiet returns when a storm is over, unless another PAUSE comes: the restoration time
// after the last pause has ended, or, at a port without a rate, has come.
func (o *port) quiet(class int) vtime.Time {
	from := o.rarely(class).storm.last
	if o.cfg.Rate > 0 {
		from = max(from, o.rarely(class).pause.until)
	}
	return from + o.cfg.Watchdog.Restoration
}

// restore is the event at which a storm may be over.
type restore port

func (e *restore) Fire(now vtime.Time, arg uint64) {
	o, class := (*port)(e), int(arg)
	if o.storms&bit(class) == 0 {
		return
	}
	at := o.quiet(class)
	if o.paused&bit(class) != 0 { // ActionAlert, and a pause without an end
		at = max(at, now+o.cfg.Watchdog.Restoration)
	}
	if now < at {
		o.m.sched.At(at, e, arg)
		return
	}
	o.endStorm(class, now)
	o.m.Run()
}

// endStorm makes a queue as it was before a storm.
func (o *port) endStorm(class int, now vtime.Time) {
	s, k := &o.rarely(class).storm, &o.rarely(class).stats
	o.storms &^= bit(class)
	if !o.down {
		o.closed &^= bit(class)
	}
	k.Restored++
	k.StormTime += now - s.begun
	k.StormSent += o.class(class).txPackets - s.sent
	o.m.h.Storm(int(o.number), class, false)
}

// Storms returns the classes of a port in a storm.
func (m *Manager) Storms(port int) uint8 { return m.ports[port].storms }
