// SPDX-License-Identifier: Apache-2.0

// Package tm is the traffic manager of a switch: a packet buffer shared by
// all ports, eight queues a port with strict priority or deficit round robin,
// accounts of the bytes of each ingress port in the buffer, and priority-based
// flow control (IEEE 802.1Qbb) on those accounts. It handles frames and queues, not
// programs. Its Egress decides what happens to a packet that leaves a queue.
//
// It runs on a vtime.Scheduler, in the virtual time of a fabric or in wall time.
package tm

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Queues is the number of queues of a port, one for each class of PFC.
const Queues = packet.Classes

// Config describes a traffic manager.
type Config struct {
	Ports []Port
	// Size is the whole buffer in bytes; zero is unlimited.
	Size int64
	// QueueBytes and QueuePackets limit queues of lossy classes; zero is no
	// limit.
	QueueBytes   int64
	QueuePackets int
	// EgressAlpha, if not zero, limits them to this multiple of the free buffer.
	EgressAlpha float64
	// Lossless has the classes that PFC protects. Quanta is the time in a PAUSE.
	Lossless uint8
	Quanta   uint16
	// Pause, if not zero, is that time for ports of any rate.
	Pause vtime.Time
	// EachFrame sends a PAUSE for every frame beyond the threshold, and renews none.
	// HeadroomLast uses headroom only when the shared part is full. While it is used, a
	// PAUSE is renewed, also with EachFrame.
	EachFrame, HeadroomLast bool
	// DropAlpha limits queues of lossless classes to this share of the free part of
	// the whole buffer; zero is no limit.
	DropAlpha float64
	Trim      Trim
	// Work limits what is spent for one received frame and all its copies: see
	// Manager.Spend. Zero is no limit.
	Work int
}

// Port describes a port of a traffic manager. Ports are numbered by their index in
// Config.Ports.
type Port struct {
	Rate     vtime.Rate // zero: frames take no time
	Overhead int        // bytes on the link in addition to the frame
	Weights  [Queues]int
	MAC      packet.MAC
	// Slot is the least time from one packet of a queue to the next; see softswitch.Port.
	Slot vtime.Time
	// NoPFC is set for ports that have no peer to pause: the controller's, and
	// those that recirculate.
	NoPFC bool
	// Latency is the time from the end of transmission to Handler.Reenter.
	Latency vtime.Time
	// OwnBuffer is set for ports whose queues have a buffer of their own, without a
	// limit. Their packets are in no account.
	OwnBuffer bool
	// Thresholds of each ingress class: see softswitch.Thresholds. Gap is XOFF − XON.
	XOFF, Gap, Reserve, Headroom, Apart int64
	Alpha                               float64
	Watchdog                            Watchdog
	TrimDSCP                            uint8 // of packets trimmed here
}

// A Packet is a frame with its metadata inside the switch. A network under load has
// many packets, so the fields are as narrow as their values allow.
type Packet struct {
	Frame *packet.Frame
	// State is the program's state of the packet.
	State []uint64
	next  *Packet
	// Out and Queue are the queue that has the packet, Enqueued the time of enqueueing.
	Enqueued vtime.Time
	depth    shortDepth
	// In is the ingress port, and Class the class that is charged there. A negative
	// Class stands for that of the queue.
	In, Out int32
	// Port and List are for the Handler: the program's number of the port, and the
	// field list of a recirculated packet.
	Port  int32
	size  int32  // as charged to the queue
	work  uint32 // index in Manager.works; 0: none
	List  uint16
	Class int8
	Queue int8
	class int8
	flags uint8
	stay  uint8 // its place in Contents.stays, or elsewhere
	// Uncounted is true if the packet is not yet among those received.
	Uncounted bool
}

// Flags of a packet: size is charged to In and class; it was trimmed; it is a copy; it
// is a clone; it replaces the packet of which it is one.
const (
	isCharged = 1 << iota
	isTrimmed
	isCopy
	isClone
	replaces
)

// MarkCopy marks a packet as a copy of another that came by the same port. The headroom
// is for what the sender still sends: copies, of which a frame may have many, take room
// in the shared part instead while there is any.
func (p *Packet) MarkCopy(of *Packet) { p.flags |= isCopy | of.flags&isClone }

// MarkClone marks a copy as a message of the switch itself. When the shared part of the
// buffer is full, the headroom takes one of them at most, and no other is queued.
func (p *Packet) MarkClone() { p.flags |= isClone }

// MarkReplacing marks a copy that is queued while the packet of which it is one leaves: it
// needs no room besides that packet's.
func (p *Packet) MarkReplacing() { p.flags |= replaces }

// block is a packet with room for the state of a simple program, 128 bytes in
// total. A packet that leaves a queue is usually no longer in the processor's
// cache, and two cache lines load all of it.
type block struct {
	Packet
	room [5]uint64
}

// shortDepth is a Depth of up to 4 GB.
type shortDepth struct{ packets, bytes, cells uint32 }

func (d *Depth) short() shortDepth {
	short := func(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
	return shortDepth{short(int64(d.Packets)), short(d.Bytes), short(d.Cells)}
}

// Depth returns the depth of the queue when the packet was enqueued.
func (p *Packet) Depth() Depth {
	return Depth{int(p.depth.packets), int64(p.depth.bytes), int64(p.depth.cells)}
}

// Depth is the depth of a queue in all units.
type Depth struct {
	Packets int
	Bytes   int64
	Cells   int64 // of CellBytes
}

// CellBytes is the size of a buffer cell.
const CellBytes = manifest.CellBytes

func (d *Depth) add(size int64, sign int, cells bool) {
	d.Packets += sign
	d.Bytes += int64(sign) * size
	if cells {
		d.Cells += int64(sign) * int64((uint64(size)+CellBytes-1)/CellBytes)
	}
}

// Verdict is the egress pipeline's decision on a packet that has left its queue.
type Verdict uint8

// Verdicts.
const (
	Send        Verdict = iota // send its frame
	Drop                       // the program has taken the packet
	Recirculate                // pass it to Handler.Reenter after its transmission time
)

// A Handler is the switch around the traffic manager.
type Handler interface {
	// Transmit puts a frame on the link of a port; its last bit leaves at end.
	Transmit(port int, f *packet.Frame, end vtime.Time)
	// Reenter takes a recirculated packet, still charged to its account.
	Reenter(p *Packet)
	// Frames allocates and takes back frames.
	Frames() *packet.Pool
	// Storm is called when the watchdog finds that a storm begins or is over.
	Storm(port, class int, begins bool)
	// StormDrop takes a packet that has left its queue because of a storm.
	StormDrop(p *Packet)
}

// An Egress is the egress pipeline of a switch.
type Egress interface {
	// Egress is called with a packet that leaves its queue now.
	Egress(p *Packet, now vtime.Time) Verdict
}

// Cause is why a packet was not queued.
type Cause uint8

// Causes.
const (
	Queued Cause = iota
	QueueFull
	BufferFull
	HeadroomFull
	LinkDown
	Storming // the watchdog drops what is for the queue
	NoRoom   // for a clone in the shared part
)

// Manager is a traffic manager.
type Manager struct {
	cfg   Config
	sched vtime.Scheduler
	h     Handler
	prog  Egress
	ports []port
	// classes has the classes of all ports, grouped by number: unused of those that are
	// not inUse.
	classes [Queues][]class
	used    int64 // bytes in the buffer
	max     int64
	// shared is the number of used bytes outside of reserve and headroom. apart is
	// the size of reserve and headroom in the buffer.
	shared, apart int64
	free          *Packet
	contents      []*Contents // of queues that are followed
	works         []work
	ready         []int // ports that may have something to send
	running       bool
	watch         Watcher
	inUse         uint8 // classes that had packets, or pauses: see use
	found, cells  bool  // see Load
}

// Watcher is notified of changes; nil functions are not called. Pause is called for each
// PAUSE and RESUME that is sent, and when a pause by the peer begins and ends, before
// queues send again; Queued with a packet that is in its queue now.
type Watcher struct {
	Pause   func(port, class int, received, paused bool)
	Queue   func(port, queue int, d Depth)
	Ingress func(port, class int, bytes int64)
	Queued  func(p *Packet)
}

// port is the state of a port. In a large network, ports are rarely in the
// processor's cache when they are used. Therefore the fields that packets need
// are adjacent: those of the egress port in one line of 64 bytes, those of the
// ingress port in the next. Fields of classes are in Manager.classes, and
// rarely used fields elsewhere.
type port struct {
	m        *Manager
	busyTil  vtime.Time
	perByte  vtime.Time // at cfg.Rate; zero: not a whole number of picoseconds, or cfg.Slot is set
	overhead int32
	number   int32
	filled   uint8           // queues that hold packets
	paused   uint8           // queues that the peer has paused
	weighted uint8           // queues with a weight
	down     bool            // the link is
	ready    bool            // is in Manager.ready
	armed    bool            // an event at busyTil is scheduled
	closed   uint8           // queues that take no packets: all if down, those that the watchdog closes
	own      bool            // its queues have a buffer of their own
	control  []*packet.Frame // PFC frames, before all queues

	limits
	*rest
}

// limits has the limits of each class of an ingress port: see Port.
type limits struct {
	XOFF, Gap, Reserve, Headroom int64
	Alpha                        float64
	lossless                     uint8 // classes that PFC protects here
	_                            [8]byte
}

// rest has the rarely used fields of a port.
type rest struct {
	cfg    *Port
	flying []*Packet     // recirculated, in order
	drr    *drr          // nil: no queue has a weight
	rare   [Queues]*rare // see rarely

	pfcSent, pfcGot uint64
	storms          uint8 // queues in a storm
}

// rare is what few packets need of a class. Most classes of most ports have none.
type rare struct {
	pause pause
	stats ClassStats // except those of account
	storm storm
}

// rarely returns the rare state of a class.
func (o *port) rarely(class int) *rare {
	r := o.rare[class]
	if r == nil {
		r = &rare{}
		o.rare[class] = r
	}
	return r
}

// class is one class of a port: the queue of the packets that leave by the
// port, and the account of those that came in by it.
type class struct {
	queue
	account
}

// unused has what classes without packets have, for all managers: nothing writes to it.
// Few of a switch's classes have packets, and in a large network the others would take
// half of the memory.
var unused [1024]class

// use makes classes ready for packets and pauses, the first time. All that writes to a
// class calls it before.
//
//go:noinline
func (m *Manager) use(classes uint8) {
	for c := classes &^ m.inUse; c != 0; c &= c - 1 {
		m.classes[bits.TrailingZeros8(c)] = make([]class, len(m.ports))
	}
	m.inUse |= classes
}

// port returns a port by its index, without a bounds check, as every packet needs two.
func (m *Manager) port(i int) *port {
	return (*port)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.ports)), uintptr(i)*unsafe.Sizeof(port{})))
}

// class returns one of a port's classes. A packet needs several, so there is no bounds
// check: Manager.classes has the same ports for each number.
func (m *Manager) class(port, c int) *class {
	first := unsafe.Pointer(unsafe.SliceData(m.classes[c&(Queues-1)]))
	return (*class)(unsafe.Add(first, uintptr(port)*unsafe.Sizeof(class{})))
}

func (o *port) class(c int) *class { return o.m.class(int(o.number), c) }

type queue struct {
	head, tail *Packet
	depth      Depth
	maxPackets uint32
	followed   uint32 // index in Manager.contents plus one; zero: it is not
	maxBytes   int64
	resumed    vtime.Time // when the last pause by the peer ended
}

// pause is the times of pauses of a class.
type pause struct {
	until, since vtime.Time // of the last one by the peer, which ends at until
	pausing      vtime.Time // when the sender was sent a PAUSE
	renewal      uint64     // number of the renewal, so that an outdated one is detected
	// headroom is the most bytes in the headroom so far, with those that were dropped
	// for lack of it during a pause; lost are those of the present pause.
	headroom, lost int64
}

// Stats has the counters of a port.
type Stats struct {
	Class           [Queues]ClassStats
	PFCSent, PFCGot uint64
}

// ClassStats has the counters of one class of one port.
type ClassStats struct {
	RxPackets, RxBytes, TxPackets, TxBytes, Drops uint64
	// Trimmed counts packets for this queue that were trimmed, TrimDrops those for whose
	// rest there was no room.
	Trimmed, TrimDrops                         uint64
	PauseGot, PauseSent, ResumeGot, ResumeSent uint64
	PausedTime, PausingTime                    vtime.Time // of pauses that have ended
	// Storms and Restored count storms that began and that ended, StormDrops the packets dropped
	// in them, and StormSent those sent in them.
	Storms, Restored, StormDrops, StormSent uint64
	StormTime                               vtime.Time
}

// New returns a traffic manager. Attach must be called before any other method.
func New(cfg Config, h Handler) (*Manager, error) {
	ports := cfg.Ports
	cfg.Ports = nil
	m := &Manager{cfg: cfg, h: h, ports: make([]port, len(ports))}
	if len(ports) > len(unused) {
		m.use(1<<Queues - 1)
	} else {
		for c := range m.classes {
			m.classes[c] = unused[:len(ports)]
		}
	}
	rests := make([]rest, len(m.ports))
	for i := range m.ports {
		p := &m.ports[i]
		c := &ports[i]
		p.rest = &rests[i]
		if i > 0 && *c == ports[i-1] { // ports of a switch are often alike
			p.cfg = m.ports[i-1].cfg
		} else {
			own := *c
			p.cfg = &own
		}
		p.m, p.number, p.overhead, p.own = m, int32(i), int32(c.Overhead), c.OwnBuffer
		if c.Slot == 0 {
			p.perByte = c.Rate.PerByte()
		}
		p.limits = limits{XOFF: c.XOFF, Gap: c.Gap, Reserve: c.Reserve, Headroom: c.Headroom, Alpha: c.Alpha}
		if !c.NoPFC {
			p.limits.lossless = cfg.Lossless
		}
		p.drr, p.weighted = newDRR(c.Weights)
		m.apart += int64(bits.OnesCount8(p.limits.lossless)) * (cmp.Or(c.Apart, p.Headroom) + p.Reserve)
	}
	if cfg.Size > 0 && m.apart >= cfg.Size {
		return nil, fmt.Errorf("headroom and reserve of all ports take %d bytes of a buffer of %d: it must be larger, or the links fewer, slower or shorter", m.apart, cfg.Size)
	}
	return m, nil
}

// Attach sets the manager's clock.
func (m *Manager) Attach(s vtime.Scheduler) { m.sched = s }

// Watch sets the watcher.
func (m *Manager) Watch(w Watcher) { m.watch = w }

// Load sets the program, and whether it reads the depths that packets found
// (Packet.Depth), and depths in cells. What it does not read is not kept. The queues
// are empty.
func (m *Manager) Load(p Egress, found, cells bool) { m.prog, m.found, m.cells = p, found, cells }

// Get returns an empty packet.
func (m *Manager) Get() *Packet {
	p := m.free
	if p == nil {
		b := &block{Packet: Packet{Class: -1}}
		b.State = b.room[:0]
		return &b.Packet
	}
	m.free = p.next
	p.next, p.State, p.Class, p.Queue, p.Uncounted, p.List, p.flags = nil, p.State[:0], -1, 0, false, 0, 0
	return p
}

// Put frees a packet and removes its charge. It does not free the frame.
func (m *Manager) Put(p *Packet) {
	m.release(p, m.sched.Now())
}

func (m *Manager) release(p *Packet, now vtime.Time) {
	if p.flags&isCharged != 0 {
		m.discharge(p, now)
	}
	if p.work != 0 {
		m.settle(p)
	}
	p.Frame = nil
	p.next = m.free
	m.free = p
}

// Enqueue puts a packet into a queue now, or returns why it cannot: then the caller
// keeps the packet, which is in no account. Run sends it. A recirculated packet is
// charged already: it competes for room as if it were not, and its charge is replaced.
func (m *Manager) Enqueue(p *Packet, out, q int, now vtime.Time) Cause {
	o, in := m.port(out), m.port(int(p.In))
	size := int64(p.Frame.Len())
	class := int(p.Class)
	if class < 0 {
		class = q
	}
	if need := bit(q) | bit(class); m.inUse&need != need {
		m.use(need)
	}
	qu, a := &m.class(out, q).queue, &m.class(int(p.In), class).account
	again, before, kept := p.flags&isCharged != 0, int(p.class), int64(-1)
	if again {
		if n := m.lift(p, in); class == before && in.Alpha > 0 {
			kept = min(n, size)
		}
	}
	lossless := in.protects(class)
	cause := Queued
	if o.closed&bit(q) != 0 {
		cause = o.whyClosed(q)
	} else {
		cause = m.admit(p, o, in, &qu.depth, a, lossless, size)
	}
	switch {
	case (kept >= 0 || p.flags&replaces != 0) && cause == HeadroomFull, p.flags&replaces != 0 && lossless && cause == BufferFull, (again || p.flags&replaces != 0) && cause == NoRoom:
		cause = Queued // it has its place
	case (cause == BufferFull || cause == QueueFull) && !lossless && m.cfg.Lossless&bit(class) != 0 && m.used+size <= m.cfg.Size:
		// A port without a link, such as that of recirculation on a Tofino, pauses no
		// sender, and has no headroom. Its lossless packets may use that of other ports,
		// and have no limit of their queue either.
		cause = Queued
	}
	charged := cause == Queued && !o.own
	if charged {
		m.chargeTo(p, in, a, class, lossless, size, again, kept, now)
		m.used += size
		m.max = max(m.max, m.used)
	}
	if again && (!charged || class != before) {
		m.lifted(in, before, now)
	}
	if cause != Queued {
		if m.trims(p, q, cause, lossless) {
			return m.trim(p, out, q, now)
		}
		o.rarely(q).stats.Drops++
		if cause == HeadroomFull {
			in.lose(a, class, size)
		}
		return cause
	}
	p.Out, p.Queue, p.Enqueued, p.size, p.next = int32(out), int8(q), now, int32(size), nil
	if m.found {
		p.depth = qu.depth.short()
	}
	if qu.tail == nil {
		qu.head = p
		o.filled |= bit(q)
	} else {
		qu.tail.next = p
	}
	qu.tail = p
	qu.depth.add(size, 1, m.cells)
	qu.maxPackets = max(qu.maxPackets, uint32(qu.depth.Packets))
	qu.maxBytes = max(qu.maxBytes, qu.depth.Bytes)
	if m.watch.Queue != nil {
		m.watch.Queue(out, q, qu.depth)
	}
	if qu.followed > 0 {
		m.contents[qu.followed-1].add(p)
	}
	if m.watch.Queued != nil {
		m.watch.Queued(p)
	}
	o.wake()
	return Queued
}

// bit returns the set of one class. The mask saves the test of shifts by more
// than the width.
func bit(class int) uint8 { return 1 << (class & (Queues - 1)) }

// protects reports whether PFC protects a class of an ingress port.
func (l *limits) protects(class int) bool { return l.lossless&bit(class) != 0 }

// whyClosed returns why a queue takes no packet.
//
//go:noinline
func (o *port) whyClosed(q int) Cause {
	if o.down {
		return LinkDown
	}
	o.rarely(q).stats.StormDrops++
	return Storming
}

// admit returns Queued if there is room for a packet, or the reason why there
// is none. d is the depth of its queue at port o, and a the account of its class at
// port in.
func (m *Manager) admit(p *Packet, o, in *port, d *Depth, a *account, lossless bool, size int64) Cause {
	switch {
	case o.own:
		return Queued
	case m.cfg.Size > 0 && m.used+size > m.cfg.Size:
		if lossless && p.flags&isClone != 0 {
			return NoRoom
		}
		return BufferFull
	case lossless:
		if p.flags&isClone != 0 && a.base+size > in.Reserve && m.exhausted(in, size) && (a.headroom > 0 || size > in.Headroom) {
			return NoRoom
		}
		if in.Headroom > 0 && a.headroom+size > in.Headroom &&
			(a.base+size > in.Reserve+m.threshold(in) && !m.cfg.HeadroomLast && p.flags&isCopy == 0 || a.base+size > in.Reserve && m.exhausted(in, size)) {
			return HeadroomFull
		}
		if a := m.cfg.DropAlpha; a > 0 && m.cfg.Size > 0 && float64(d.Bytes+size) > a*float64(m.cfg.Size-m.used) {
			return QueueFull
		}
		return Queued
	case m.cfg.Size > 0 && m.shared+size > m.cfg.Size-m.apart:
		return BufferFull
	}
	if m.cfg.QueueBytes > 0 && d.Bytes+size > m.cfg.QueueBytes || m.cfg.QueuePackets > 0 && d.Packets >= m.cfg.QueuePackets {
		return QueueFull
	}
	if a := m.cfg.EgressAlpha; a > 0 && m.cfg.Size > 0 && float64(d.Bytes+size) > a*float64(m.cfg.Size-m.apart-m.shared) {
		return QueueFull
	}
	return Queued
}

// wake marks a port as ready for Run.
func (o *port) wake() {
	if !o.ready {
		o.ready = true
		o.m.ready = append(o.m.ready, int(o.number))
	}
}

// Run sends the packets that can be sent now. The caller calls it after
// Enqueue, when it is ready for calls of Egress.Egress.
func (m *Manager) Run() {
	if m.running { // called from a Handler: the outer call continues
		return
	}
	m.running = true
	for i := 0; i < len(m.ready); i++ {
		o := m.port(m.ready[i])
		o.ready = false
		o.send()
	}
	m.ready = m.ready[:0]
	m.running = false
}

// send sends until the link is busy or no packet may be sent.
func (o *port) send() {
	m := o.m
	now := m.sched.Now()
	for {
		if now < o.busyTil {
			o.arm()
			return
		}
		if len(o.control) > 0 {
			f := o.control[0]
			o.control = o.control[:copy(o.control, o.control[1:])]
			o.busyTil = now + o.takes(f)
			m.h.Transmit(int(o.number), f, o.busyTil)
			continue
		}
		q := o.pick()
		if q < 0 {
			return
		}
		c := o.class(q)
		p := o.dequeue(c, q, now)
		switch m.prog.Egress(p, now) {
		case Drop:
		case Recirculate:
			o.busyTil = now + o.takes(p.Frame)
			p.Enqueued = o.busyTil + o.cfg.Latency // time of its return
			o.slot(now)
			o.flying = append(o.flying, p)
			m.sched.At(p.Enqueued, (*reenter)(o), 0)
		case Send:
			f := p.Frame
			if p.flags&isTrimmed != 0 {
				o.label(f)
			}
			c.txPackets++
			c.txBytes += uint64(f.Len())
			end := now + o.takes(f)
			o.busyTil = end
			o.slot(now)
			m.release(p, now)
			m.h.Transmit(int(o.number), f, end)
		}
	}
}

// takes returns the transmission time of a frame.
func (o *port) takes(f *packet.Frame) vtime.Time {
	n := f.Len() + int(o.overhead)
	switch {
	case o.perByte > 0:
		return vtime.Time(n) * o.perByte
	case o.cfg.Rate <= 0:
		return 0
	}
	return o.cfg.Rate.TxTime(n)
}

// slot has a port wait for the end of the slot that began with a packet.
func (o *port) slot(now vtime.Time) {
	if o.perByte == 0 {
		o.busyTil = max(o.busyTil, now+o.cfg.Slot)
	}
}

// arm schedules an event for when the link is free, if there is more to send. An idle
// port has no events.
func (o *port) arm() {
	if !o.armed && (o.filled&^o.paused != 0 || len(o.control) > 0) {
		o.armed = true
		o.m.sched.At(o.busyTil, (*linkFree)(o), 0)
	}
}

// linkFree is the event at the end of a frame.
type linkFree port

func (e *linkFree) Fire(vtime.Time, uint64) {
	o := (*port)(e)
	o.armed = false
	o.wake()
	o.m.Run()
}

// reenter is the event at which a recirculated packet returns.
type reenter port

func (e *reenter) Fire(now vtime.Time, _ uint64) {
	o := (*port)(e)
	if len(o.flying) == 0 || o.flying[0].Enqueued > now { // flushed meanwhile
		return
	}
	p := o.flying[0]
	o.flying = o.flying[:copy(o.flying, o.flying[1:])]
	o.m.h.Reenter(p)
	o.m.Run()
}

// dequeue removes the first packet of a queue.
func (o *port) dequeue(c *class, q int, now vtime.Time) *Packet {
	qu := &c.queue
	p := qu.head
	qu.head = p.next
	if qu.head == nil {
		qu.tail = nil
		o.filled &^= bit(q)
	}
	p.next = nil
	if n := qu.head; n != nil {
		// The next packet will leave soon, and its frame is not in the processor's
		// cache.
		cache.Fetch(unsafe.Pointer(n.Frame), unsafe.Pointer(n.next))
		if k := len(n.State); k > len(block{}.room) {
			cache.Lines(unsafe.Pointer(unsafe.SliceData(n.State)), (k+7)/8)
		}
	}
	qu.depth.add(int64(p.size), -1, o.m.cells)
	if !o.own {
		o.m.used -= int64(p.size)
	}
	if qu.resumed > p.Enqueued {
		p.Frame.Stalled = true
	}
	if qu.followed > 0 {
		o.m.contents[qu.followed-1].remove(p)
	}
	if o.m.watch.Queue != nil {
		o.m.watch.Queue(int(o.number), q, qu.depth)
	}
	return p
}

// Fetch has the processor fetch what packets need: in step 0 the manager itself, in
// step 1 of ports and classes.
func (m *Manager) Fetch(step int) {
	if step == 0 {
		cache.Struct(m)
		return
	}
	cache.Slice(m.ports)
	for c := m.inUse; c != 0; c &= c - 1 {
		cache.Slice(m.classes[bits.TrailingZeros8(c)])
	}
}

// Take removes the first packet of a queue, regardless of the port's state. It
// is for callers that send packets themselves and never call Run.
func (m *Manager) Take(port, q int) *Packet {
	o := &m.ports[port]
	return o.dequeue(o.class(q), q, m.sched.Now())
}

// SetDepths sets the depth that a taken packet found at enqueueing, and the
// present depth of its queue. Package judge passes other depths.
func (m *Manager) SetDepths(p *Packet, ahead, behind Depth) {
	m.use(bit(int(p.Queue)))
	p.depth, m.classes[p.Queue][p.Out].depth = ahead.short(), behind
}

// Depth returns the depth of a queue.
func (m *Manager) Depth(port, q int) Depth { return m.class(port, q).depth }

// Filled returns the set of a port's queues that hold packets.
func (m *Manager) Filled(port int) uint8 { return m.ports[port].filled }

// MaxDepth returns the maximum depth of a queue so far, in packets and in
// bytes.
func (m *Manager) MaxDepth(port, q int) Depth {
	qu := &m.classes[q][port].queue
	return Depth{Packets: int(qu.maxPackets), Bytes: qu.maxBytes}
}

// Waiting returns the bytes of a class from one ingress port that wait for another
// port.
func (m *Manager) Waiting(in, out, class int) int64 {
	var n int64
	for q := range Queues {
		for p := m.classes[q][out].head; p != nil; p = p.next {
			if int(p.In) == in && int(p.class) == class {
				n += int64(p.size)
			}
		}
	}
	return n
}

// Used returns the bytes in the buffer, and their maximum so far.
func (m *Manager) Used() (now, most int64) { return m.used, m.max }

// Stats returns the counters of a port, including pauses that have not ended.
func (m *Manager) Stats(port int) Stats {
	o := &m.ports[port]
	s := Stats{PFCSent: o.pfcSent, PFCGot: o.pfcGot}
	for c := range Queues {
		a, k := &o.class(c).account, &s.Class[c]
		if r := o.rare[c]; r != nil {
			*k = r.stats
		}
		k.RxPackets, k.RxBytes, k.TxPackets, k.TxBytes = a.rxPackets, a.rxBytes, a.txPackets, a.txBytes
		if o.paused&(1<<c) != 0 {
			k.PausedTime += m.sched.Now() - o.rarely(c).pause.since
		}
		if a.pausing {
			k.PausingTime += m.sched.Now() - o.rarely(c).pause.pausing
		}
		if o.storms&bit(c) != 0 {
			k.StormTime += m.sched.Now() - o.rarely(c).storm.begun
			k.StormSent += a.txPackets - o.rarely(c).storm.sent
		}
	}
	return s
}

// Flush empties all queues. It calls drop for each packet.
func (m *Manager) Flush(drop func(*Packet)) {
	for i := range m.ports {
		o := &m.ports[i]
		for _, p := range o.flying {
			drop(p)
		}
		o.flying = o.flying[:0]
		for q := range Queues {
			for o.class(q).head != nil {
				drop(o.dequeue(o.class(q), q, m.sched.Now()))
			}
		}
	}
}

// Held returns the number of frames in the switch: in queues, in recirculation, and
// PFC frames that wait for the link.
func (m *Manager) Held() (n int) {
	for i := range m.ports {
		o := &m.ports[i]
		n += len(o.flying) + len(o.control)
		for q := o.filled; q != 0; q &= q - 1 {
			n += o.class(bits.TrailingZeros8(q)).depth.Packets
		}
	}
	return n
}

// SetLink sets whether the link of a port is up. When it goes down, SetLink
// empties its queues, calls drop for each packet, and ends the pauses on both
// sides. The caller calls Run.
func (m *Manager) SetLink(port int, up bool, drop func(*Packet)) {
	o := &m.ports[port]
	if o.down == !up {
		return
	}
	o.down = !up
	now := m.sched.Now()
	o.closed = 0
	if !up {
		o.closed = 1<<Queues - 1
	}
	running := m.running
	m.running = true // or a RESUME would send what the queues still hold
	for c := range Queues {
		o.resume(c, now)
		o.forget(c, now)
		if o.storms&bit(c) != 0 {
			o.endStorm(c, now)
		}
		for !up && o.class(c).head != nil {
			p := o.dequeue(o.class(c), c, now)
			o.rarely(c).stats.Drops++
			drop(p)
		}
	}
	for _, f := range o.control {
		m.h.Frames().Put(f)
	}
	o.control = o.control[:0]
	o.wake()
	m.running = running
}
