// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"math"
	"slices"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// account counts the bytes that one class of one ingress port has in the buffer.
type account struct {
	base     int64 // in the reserve and in the shared part
	headroom int64
	max      int64 // of both
	pausing  bool  // a PAUSE was sent and lasts
	// Received and sent, for Stats.
	rxPackets, rxBytes, txPackets, txBytes uint64
}

func (a *account) bytes() int64 { return a.base + a.headroom }

// threshold returns how many bytes of the shared part an account may have
// before its sender is paused.
func (m *Manager) threshold(in *port) int64 {
	if in.Alpha <= 0 {
		return in.XOFF
	}
	t := int64(in.Alpha * float64(m.cfg.Size-m.apart-m.shared))
	if in.XOFF > 0 {
		t = min(t, in.XOFF)
	}
	return max(t, 0)
}

// exhausted reports whether a packet would use bytes that are reserved as headroom.
// The sum of the thresholds may exceed the buffer. When the shared part is full,
// every port pauses its sender, and its headroom takes the packets in flight. So no
// packet of a lossless class is dropped.
func (m *Manager) exhausted(in *port, size int64) bool {
	return in.Headroom > 0 && m.cfg.Size > 0 && m.shared+size > m.cfg.Size-m.apart
}

// chargeTo charges a packet to account a of a class of its ingress port. One that
// comes again, from recirculation, is not another frame for EachFrame. kept is the part
// of it that stays in the headroom; −1 if the threshold decides. A dynamic threshold may
// have fallen since the packet came: what was in the shared part must not fill the
// headroom, which is for frames in flight.
func (m *Manager) chargeTo(p *Packet, in *port, a *account, class int, lossless bool, size int64, again bool, kept int64, now vtime.Time) {
	p.flags, p.class = p.flags|isCharged, int8(class)
	over := a.base + size
	if lossless {
		over -= in.Reserve
	}
	switch {
	case kept >= 0:
		a.headroom += kept
		a.base += size - kept
		m.shared += min(size-kept, max(0, over-kept))
	case lossless && over > 0 && (over > m.threshold(in) && !m.cfg.HeadroomLast && p.flags&isCopy == 0 || m.exhausted(in, size)):
		a.headroom += size
		if p.flags&replaces == 0 {
			in.skid(a, class)
		}
	default:
		a.base += size
		m.shared += min(size, max(0, over))
	}
	a.max = max(a.max, a.bytes())
	if m.watch.Ingress != nil {
		m.watch.Ingress(int(p.In), class, a.bytes())
	}
	if lossless && (!a.pausing || m.cfg.EachFrame && !again) && !in.down && (a.headroom > 0 || over > 0 && over >= m.threshold(in)) {
		in.pauseSender(a, class, now)
	}
}

// skid counts the bytes in the headroom of account a of a class.
func (o *port) skid(a *account, class int) {
	k := &o.rarely(class).pause
	k.headroom = max(k.headroom, a.headroom+k.lost)
}

// lose counts a packet that was dropped for lack of headroom.
//
//go:noinline
func (o *port) lose(a *account, class int, size int64) {
	o.rarely(class).pause.lost += size
	o.skid(a, class)
}

// pauseSender sends a PAUSE for account a of a class. Like all that few packets need,
// it is not inlined, so that the processor's registers are for what all need.
//
//go:noinline
func (o *port) pauseSender(a *account, class int, now vtime.Time) {
	if !a.pausing {
		a.pausing, o.rarely(class).pause.pausing, o.rarely(class).pause.lost = true, now, 0
	}
	o.sendPFC(class, o.quanta(class))
}

// lift removes a recirculated packet from its account, and returns how much of it was in
// the headroom.
//
//go:noinline
func (m *Manager) lift(p *Packet, in *port) int64 {
	a := &in.class(int(p.class)).account
	before := a.headroom
	m.uncharge(p, in, a)
	return before - a.headroom
}

// lifted is called after lift if the packet is not charged to the same class again.
//
//go:noinline
func (m *Manager) lifted(in *port, class int, now vtime.Time) {
	m.relieved(in, &in.class(class).account, class, now)
}

// uncharge removes a packet from account a of a class of its ingress port, from the
// headroom first. It sends no RESUME.
func (m *Manager) uncharge(p *Packet, in *port, a *account) {
	charge := int64(p.size)
	fromHeadroom := min(a.headroom, charge)
	a.headroom -= fromHeadroom
	rest := charge - fromHeadroom
	over := a.base
	if in.protects(int(p.class)) {
		over -= in.Reserve
	}
	m.shared -= min(rest, max(0, over))
	a.base -= rest
	p.flags &^= isCharged
}

// discharge removes a packet from its account, and resumes the sender if the account
// falls to XON.
func (m *Manager) discharge(p *Packet, now vtime.Time) {
	in := m.port(int(p.In))
	a := &m.class(int(p.In), int(p.class)).account
	m.uncharge(p, in, a)
	if m.relieved(in, a, int(p.class), now) {
		m.Run()
	}
}

// relieved is called after packets have left account a of a class. If it is at XON, it
// resumes the sender and returns true: the caller calls Run.
func (m *Manager) relieved(in *port, a *account, class int, now vtime.Time) bool {
	if m.watch.Ingress != nil {
		m.watch.Ingress(int(in.number), class, a.bytes())
	}
	if !a.pausing || a.headroom != 0 {
		return false
	}
	return m.resumeSender(in, a, class, now)
}

//go:noinline
func (m *Manager) resumeSender(in *port, a *account, class int, now vtime.Time) bool {
	if over := a.base - in.Reserve; over > 0 && over+in.Gap > m.threshold(in) {
		return false
	}
	in.forget(class, now)
	in.sendPFC(class, 0)
	return true
}

// Transfer removes a packet from its account, because it enters again by another
// port.
func (m *Manager) Transfer(p *Packet, in int) {
	if p.flags&isCharged != 0 {
		m.discharge(p, m.sched.Now())
	}
	p.In, p.Class = int32(in), -1
}

// forget ends a pause of the sender without a RESUME.
func (o *port) forget(class int, now vtime.Time) {
	if a := &o.class(class).account; a.pausing {
		a.pausing = false
		o.rarely(class).pause.renewal++
		o.rarely(class).stats.PausingTime += now - o.rarely(class).pause.pausing
	}
}

// quanta returns the pause time in a PAUSE for a class, in quanta of 512 bit times. While
// bytes are in the headroom, the pause must not end before it is renewed: Config.Pause
// applies if it is, or if none are.
func (o *port) quanta(class int) uint16 {
	if p := o.m.cfg.Pause; p > 0 && o.cfg.Rate > 0 && !(o.m.cfg.HeadroomLast && o.class(class).headroom > 0) {
		one := packet.PauseTime(1, o.cfg.Rate)
		return uint16(min(max((p+one/2)/one, 1), math.MaxUint16))
	}
	return o.m.cfg.Quanta
}

// sendPFC sends a PFC frame: PAUSE with a time in quanta, or RESUME with zero.
func (o *port) sendPFC(class int, quanta uint16) {
	m := o.m
	f := m.h.Frames().Get()
	f.Data = packet.AppendPFC(f.Data, o.cfg.MAC, 1<<class, quanta)
	o.control = append(o.control, f)
	o.pfcSent++
	if quanta > 0 {
		o.rarely(class).stats.PauseSent++
		a := &o.rarely(class).pause
		a.renewal++
		if half := packet.PauseTime(quanta, o.cfg.Rate) / 2; o.cfg.Rate > 0 && (!m.cfg.EachFrame || m.cfg.HeadroomLast && o.class(class).headroom > 0) {
			m.sched.At(m.sched.Now()+half, (*renew)(o), uint64(class)|a.renewal<<3)
		}
	} else {
		o.rarely(class).stats.ResumeSent++
	}
	if len(o.control) > 2 {
		o.withdraw(class)
	}
	if m.watch.Pause != nil {
		m.watch.Pause(int(o.number), class, false, quanta > 0)
	}
	o.wake()
}

// withdraw removes the last two PFC frames that wait for the link if a class has three,
// and the last three are by turns PAUSE and RESUME: the first of them says what the last
// does. With a full buffer each small frame may pause its sender and resume it at once.
// These PFC frames need more of the link than the small frames, and a queue of them would
// delay the last PAUSE. They stay counted, as counters must not fall.
//
//go:noinline
func (o *port) withdraw(class int) {
	var at [3]int // from the last on
	n := 0
	for i := len(o.control) - 1; i >= 0 && n < len(at); i-- {
		if packet.AsPFC(o.control[i].Data).Enabled()&(1<<class) != 0 {
			at[n] = i
			n++
		}
	}
	pauses := func(i int) bool { return packet.AsPFC(o.control[i].Data).Quanta(class) > 0 }
	if n < len(at) || pauses(at[0]) == pauses(at[1]) || pauses(at[1]) == pauses(at[2]) {
		return
	}
	pool := o.m.h.Frames()
	pool.Put(o.control[at[2]])
	pool.Put(o.control[at[1]])
	o.control[at[2]] = o.control[at[0]]
	o.control = slices.Delete(o.control, at[0], at[0]+1)
	o.control = slices.Delete(o.control, at[1], at[1]+1)
}

// renew is the event at half of a pause. It renews the PAUSE if it is still needed.
type renew port

func (e *renew) Fire(_ vtime.Time, arg uint64) {
	o := (*port)(e)
	class := int(arg & 7)
	if a := &o.class(class).account; a.pausing && o.rarely(class).pause.renewal&(1<<61-1) == arg>>3 && (!o.m.cfg.EachFrame || o.m.cfg.HeadroomLast && a.headroom > 0) {
		o.sendPFC(class, o.quanta(class))
		o.m.Run()
	}
}

// HandlePFC applies a received PFC frame.
func (m *Manager) HandlePFC(portNumber int, f packet.PFC) {
	o := &m.ports[portNumber]
	o.pfcGot++
	now := m.sched.Now()
	for class := range Queues {
		if f.Enabled()&(1<<class) == 0 {
			continue
		}
		quanta := f.Quanta(class)
		if quanta == 0 {
			o.rarely(class).stats.ResumeGot++
			o.rarely(class).pause.until = now
			o.resume(class, now)
			continue
		}
		o.rarely(class).stats.PauseGot++
		pause := &o.rarely(class).pause
		pause.until = vtime.Never
		if o.cfg.Rate > 0 {
			pause.until = now + packet.PauseTime(quanta, o.cfg.Rate)
		}
		if o.watches(class) && o.watchPause(class, now) {
			continue
		}
		if o.paused&(1<<class) == 0 {
			o.paused |= 1 << class
			pause.since = now
			if m.watch.Pause != nil {
				m.watch.Pause(portNumber, class, true, true)
			}
		}
		if o.cfg.Rate > 0 {
			m.sched.At(pause.until, (*pauseOver)(o), uint64(class))
		}
	}
	o.wake()
	m.Run()
}

// pauseOver is the event at the end of a pause by the peer that was not renewed.
type pauseOver port

func (e *pauseOver) Fire(now vtime.Time, arg uint64) {
	o := (*port)(e)
	if o.paused&(1<<arg) != 0 && o.rarely(int(arg)).pause.until <= now {
		o.resume(int(arg), now)
		o.m.Run()
	}
}

// resume ends a pause by the peer.
func (o *port) resume(class int, now vtime.Time) {
	if o.paused&(1<<class) == 0 {
		return
	}
	o.paused &^= 1 << class
	o.rarely(class).stats.PausedTime += now - o.rarely(class).pause.since
	o.m.use(bit(class))
	o.class(class).resumed = now
	if o.m.watch.Pause != nil {
		o.m.watch.Pause(int(o.number), class, true, false)
	}
	o.wake()
}

// Ingress returns the bytes that a class of an ingress port has in the buffer, and
// their maximum so far.
func (m *Manager) Ingress(port, class int) (now, most int64) {
	a := &m.classes[class][port].account
	return a.bytes(), a.max
}

// Headroom returns the headroom of a class of an ingress port, and the most bytes that
// it has had to take so far: more than its size if packets were dropped.
func (m *Manager) Headroom(port, class int) (size, most int64) {
	if !m.ports[port].protects(class) {
		return 0, 0
	}
	if r := m.ports[port].rare[class]; r != nil {
		most = r.pause.headroom
	}
	return m.ports[port].Headroom, most
}

// Count counts a received frame for the class that it is charged to.
func (m *Manager) Count(port, class, bytes int) {
	if m.inUse&bit(class) == 0 {
		m.use(bit(class))
	}
	a := &m.classes[class&(Queues-1)][port].account
	a.rxPackets++
	a.rxBytes += uint64(bytes)
}
