// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"fmt"
	"sync"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// Network is the clock and the links of a switch: a fabric in virtual time, or
// package port in wall time.
type Network interface {
	vtime.Scheduler
	// Send puts a frame on the link of a port. Its last bit leaves at end, not
	// before Now. Frames on one port do not overlap.
	Send(port int, f *packet.Frame, end vtime.Time)
	// Frames is the pool of frames.
	Frames() *packet.Pool
}

// Program is a compiled program.
type Program = interp.Program

// Compile compiles BMv2 JSON to a program. name is for error messages, which
// have file, line and column.
func Compile(name string, json []byte) (*Program, error) {
	p, err := bmv2json.Decode(name, json)
	if err != nil {
		return nil, err
	}
	return interp.Compile(p, interp.Options{})
}

// Switch is a switch. The caller of its methods, except Lock and Unlock, holds
// its lock.
type Switch struct {
	mu  sync.Mutex
	cfg Config
	// units are those of the program that is loaded next.
	units Units
	net   Network
	tm    *tm.Manager
	arch  architecture // nil until a program is loaded

	index   []int  // index of a port in the traffic manager by number, −1: no port
	numbers []int  // number of a port by index
	cpu     int    // index of the controller's port
	cpuLink bool   // that port has a link
	nowhere int    // index of a port in place of all missing ones
	links   []bool // up, by index
	inside  []bool // ports without a link, by index
	instant []bool // ports by which a packet is recirculated in no time, by index

	watchdogs []tm.Watchdog // by index

	groups   map[uint32]*group
	sessions map[uint32]*session

	stats    Stats
	observer *Observer
	tracer   *Tracer // nil: nobody asked
	// followCopies makes copies of frames keep the number of their flow.
	followCopies bool
	control      Control
	onStorm      func(Storm)
}

// Control has the functions that pass messages from the data path to a
// controller. nil functions are not called. They must not block and must not
// keep their arguments.
type Control struct {
	PacketIn func(frame *packet.Frame)
	// Digest gets the values of the fields of Program.Digests[number].
	Digest func(number int, values [][]uint64)
	// Log gets log messages of the program and failed assertions.
	Log func(text string)
	// Trace gets each step of a program compiled for tracing.
	Trace func(text string)
}

// A Storm is a PFC storm that the watchdog has found, or that is over.
type Storm struct {
	Port, Class int
	Action      Action
	Over        bool
	// Dropped and Sent are the packets of the queue that were dropped and sent in
	// storms so far, and Lasted is the time of all its storms.
	Dropped, Sent uint64
	Lasted        vtime.Time
}

// FollowCopies makes copies of frames keep the number of their flow, for measurement.
func (s *Switch) FollowCopies() { s.followCopies = true }

// OnStorm sets a function that is called on the data path when a PFC storm begins or
// is over. It must not call the switch.
func (s *Switch) OnStorm(f func(Storm)) { s.onStorm = f }

// New returns a switch without a program.
func New(cfg Config) (*Switch, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Switch{cfg: cfg, units: cfg.Units, groups: map[uint32]*group{}, sessions: map[uint32]*session{}}
	n := len(cfg.Ports) + 2 // with those of the controller and of no link
	ports := make([]tm.Port, 0, n)
	s.numbers, s.links, s.inside, s.instant, s.watchdogs = make([]int, 0, n), make([]bool, 0, n), make([]bool, 0, n), make([]bool, 0, n), make([]tm.Watchdog, 0, n)
	add := func(p Port) {
		for len(s.index) <= p.Number {
			s.index = append(s.index, -1)
		}
		s.index[p.Number] = len(ports)
		s.numbers = append(s.numbers, p.Number)
		s.links, s.inside = append(s.links, true), append(s.inside, p.Internal)
		s.instant = append(s.instant, p.Rate <= 0 && p.Latency <= 0)
		t := p.thresholds(&cfg.PFC)
		s.watchdogs = append(s.watchdogs, p.watchdog(&cfg.PFC))
		ports = append(ports, tm.Port{
			Rate: p.Rate, Overhead: p.Overhead, Slot: p.Slot, Weights: p.Weights, MAC: p.MAC, NoPFC: p.Internal, Latency: p.Latency, OwnBuffer: p.Internal && p.OwnBuffer,
			XOFF: int64(t.XOFF), Gap: t.gap(), Alpha: t.Alpha, Reserve: int64(t.Reserve), Headroom: int64(t.Headroom), Apart: int64(t.Apart), Watchdog: s.watchdogs[len(ports)], TrimDSCP: p.TrimDSCP,
		})
	}
	for _, p := range cfg.Ports {
		add(p)
	}
	if s.cpu = s.place(cfg.CPUPort); s.cpu < 0 {
		s.cpu = len(ports)
		add(Port{Number: cfg.CPUPort, Internal: true})
	} else {
		s.cpuLink, ports[s.cpu].NoPFC = true, true
	}
	s.inside[s.cpu] = false // the controller receives its packets
	s.nowhere = len(ports)
	s.links, s.inside, s.instant = append(s.links, true), append(s.inside, true), append(s.instant, true)
	ports = append(ports, tm.Port{NoPFC: true})
	m, err := tm.New(tm.Config{
		Ports: ports, Size: int64(cfg.Buffer.Size), QueueBytes: int64(cfg.Buffer.QueueBytes), QueuePackets: cfg.Buffer.QueuePackets, EgressAlpha: cfg.Buffer.EgressAlpha,
		Lossless: cfg.PFC.Lossless, Quanta: cfg.PFC.Quanta, Pause: cfg.PFC.Pause, EachFrame: cfg.PFC.EachFrame, HeadroomLast: cfg.PFC.HeadroomLast, DropAlpha: cfg.PFC.DropAlpha,
		Trim: tm.Trim(cfg.Trimming), Work: cfg.MaxPasses,
	}, (*handler)(s))
	if err != nil {
		return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
	}
	s.tm = m
	return s, nil
}

// Config returns the configuration with defaults.
func (s *Switch) Config() Config { return s.cfg }

// Attach connects the switch to its clock and links. It must be called before
// any other method.
func (s *Switch) Attach(n Network) {
	s.net = n
	s.tm.Attach(n)
}

// Lock locks the switch for the goroutine that advances its time, or for a
// control plane in between.
func (s *Switch) Lock() { s.mu.Lock() }

// Unlock unlocks the switch.
func (s *Switch) Unlock() { s.mu.Unlock() }

// An Urgent network forwards on a thread with priority. Urge gives the caller's
// thread the same priority until done is called, on the same goroutine.
type Urgent interface {
	Urge() (done func())
}

// Hold locks the switch for a control plane, and returns a function that
// unlocks it. A thread that holds the lock and waits for a processor would
// delay the data path. Therefore the caller gets the priority of the data path.
func (s *Switch) Hold() (release func()) {
	u, ok := s.net.(Urgent)
	if !ok {
		s.mu.Lock()
		return s.mu.Unlock
	}
	done := u.Urge()
	s.mu.Lock()
	return func() {
		s.mu.Unlock()
		done()
	}
}

// Now returns the time of the switch.
func (s *Switch) Now() vtime.Time { return s.net.Now() }

// At schedules an event in the switch's time, which is fired under its lock.
func (s *Switch) At(t vtime.Time, ev vtime.Event, arg uint64) { s.net.At(t, ev, arg) }

// SetUnits sets the units of the program that is loaded next. It returns an error, and
// sets nothing, if the configuration has others.
func (s *Switch) SetUnits(program Units) error {
	u, err := s.cfg.Units.For(program)
	if err == nil {
		s.units = u
	}
	return err
}

// Load replaces the program, including all tables, registers, groups and
// sessions. Packets in the queues are dropped.
func (s *Switch) Load(p *Program) { s.LoadState(interp.NewState(p, s.cfg.Seed)) }

// LoadState is Load with a prepared state.
func (s *Switch) LoadState(st *interp.State) {
	s.tm.Flush(func(p *tm.Packet) { s.drop(p, DropNoProgram) })
	s.groups, s.sessions = map[uint32]*group{}, map[uint32]*session{}
	s.arch = newArchitecture(s, st)
}

// State returns the state of the program, or nil if none is loaded.
func (s *Switch) State() *interp.State {
	if s.arch == nil {
		return nil
	}
	return s.arch.machine().State()
}

// Control sets the receivers of packets for the controller, digests and log
// messages.
func (s *Switch) Control(c Control) {
	s.control = c
	if s.arch != nil {
		m := s.arch.machine()
		m.Log, m.Trace = c.Log, c.Trace
	}
}

// HasPort reports whether the switch has a port of this number.
func (s *Switch) HasPort(number int) bool { return s.place(number) >= 0 }

// LinkUp reports whether the link of a port is up.
func (s *Switch) LinkUp(number int) bool {
	i := s.place(number)
	return i >= 0 && s.links[i]
}

// place returns the index of a port in the traffic manager, or −1.
func (s *Switch) place(number int) int {
	if number < 0 || number >= len(s.index) {
		return -1
	}
	return s.index[number]
}

// Receive processes a frame whose last bit has arrived on a port. It takes
// ownership of the frame.
func (s *Switch) Receive(port int, f *packet.Frame) {
	in := s.place(port)
	if in < 0 {
		panic(fmt.Sprintf("BUG: switch %s has no port %d to receive on", s.cfg.Name, port))
	}
	if pfc := packet.AsPFC(f.Data); pfc != nil && s.cfg.PFC.Lossless != 0 && in != s.cpu {
		s.tm.HandlePFC(in, pfc)
		if !s.cfg.PFC.CopyToPipeline {
			s.net.Frames().Put(f)
			return
		}
	}
	s.stats.Received++
	p := s.tm.Get()
	p.Frame, p.In = f, int32(in)
	if s.cfg.PFC.Classify != nil {
		p.Class = int8(classOf(f, s.cfg.PFC.Classify))
	}
	if p.Class >= 0 {
		s.tm.Count(in, int(p.Class), f.Len())
	} else {
		p.Uncounted = true
	}
	if s.arch == nil {
		s.drop(p, DropNoProgram)
		return
	}
	s.arch.arrive(p)
	s.tm.Run()
}

// Prefetch warms the processor's cache with the table entries that frames will
// probably hit, for callers that receive several at once. It changes no state.
func (s *Switch) Prefetch(frames [][]byte) {
	if s.arch != nil {
		s.arch.machine().Prefetch(frames)
	}
}

// Fetch loads into the processor's cache what any packet needs. Callers use it before the
// switch receives packets, if they have read much other memory since it received the last
// ones. Step 0 loads the switch, step 1 what its fields point to, and step 2 what those
// point to. Each step reads what the one before has loaded.
func (s *Switch) Fetch(step int) {
	switch step {
	case 0:
		cache.Struct(s)
	case 1:
		s.tm.Fetch(0)
		cache.Slice(s.index[:min(len(s.index), len(s.numbers))]) // without the controller's port
		cache.Slice(s.numbers)
		if s.arch != nil {
			s.arch.fetch()
		}
	case 2:
		s.tm.Fetch(1)
		if s.arch != nil {
			s.arch.machine().Fetch()
		}
	}
}

// classOf returns the class of a frame by its DSCP. It is negative if a
// scheme's header hides the DSCP from the switch: the queue then determines the
// class. Other frames have class zero.
func classOf(f *packet.Frame, classes *[64]uint8) int {
	const dscpAt = packet.EthernetLen + 1
	eth := packet.AsEthernet(f.Data)
	if eth == nil || len(f.Data) <= dscpAt {
		return int(classes[0] & 7)
	}
	switch eth.EtherType() {
	case packet.EtherTypeIPv4:
		return int(classes[f.Data[dscpAt]>>2] & 7)
	case packet.EtherTypeFabric, packet.EtherTypeLocal:
		return -1
	}
	return int(classes[0] & 7)
}

// PacketOut processes a controller's packet as received on the CPU port.
func (s *Switch) PacketOut(data []byte) {
	f := s.net.Frames().Get()
	f.Data = append(f.Data, data...)
	s.Receive(s.cfg.CPUPort, f)
}

// LinkChanged sets whether the link of a port is up. The queues of a port that
// is down are empty.
func (s *Switch) LinkChanged(port int, up bool) {
	i := s.place(port)
	if i < 0 || s.links[i] == up {
		return
	}
	s.links[i] = up
	s.tm.SetLink(i, up, func(p *tm.Packet) { s.drop(p, DropLink) })
	if s.arch != nil {
		s.watchPort(port, up)
	}
	s.tm.Run()
}

// Work returns how many passes and copies the switch has made. It never decreases.
func (s *Switch) Work() uint64 { return s.stats.Processed + s.stats.Cloned + s.stats.Replicated }

// NotSent counts frames that Network.Send could not put on a link, because it has
// failed, as dropped. They were counted as sent.
func (s *Switch) NotSent(frames int) { s.stats.Drops[DropLink] += uint64(frames) }

// LosslessDrops returns the number of packets of lossless classes that were
// dropped for lack of buffer, or because their work exceeded MaxPasses.
func (s *Switch) LosslessDrops() (n uint64) {
	for _, k := range s.stats.LosslessDrops {
		n += k
	}
	return n
}

// Overflows returns the number of packets of any class that were dropped for
// lack of buffer.
func (s *Switch) Overflows() uint64 {
	return s.stats.Drops[DropQueue] + s.stats.Drops[DropBuffer] + s.stats.Drops[DropHeadroom]
}

// Waiting returns the bytes of a class from one ingress port that wait for an
// egress port, for finding the cycle of a deadlock.
func (s *Switch) Waiting(in, out, class int) int64 {
	i, o := s.place(in), s.place(out)
	if i < 0 || o < 0 {
		return 0
	}
	return s.tm.Waiting(i, o, class)
}

// drop counts a packet as dropped and frees it.
func (s *Switch) drop(p *tm.Packet, cause DropCause) {
	if s.tracer != nil {
		s.traceDrop(p, cause)
	}
	if p.Uncounted { // never enqueued: class zero
		p.Uncounted = false
		s.tm.Count(int(p.In), 0, p.Frame.Len())
	}
	s.count(p, cause)
	s.net.Frames().Put(p.Frame)
	s.tm.Put(p)
}

// count counts a packet, or a copy of it that is not made, as dropped.
func (s *Switch) count(p *tm.Packet, cause DropCause) {
	s.stats.Drops[cause]++
	class := int(p.Class)
	if class < 0 {
		class = int(p.Queue)
	}
	switch cause {
	case DropQueue, DropBuffer, DropHeadroom, DropLoop:
		if s.cfg.PFC.Lossless&(1<<class) != 0 {
			s.stats.LosslessDrops[cause]++
		}
	}
	if s.observer != nil && s.observer.Drop != nil {
		s.observer.Drop(s.net.Now(), s.numbers[p.In], class, cause, p.Frame)
	}
}

// pass takes one pass of a packet from the work of its frame. If that is spent, it
// drops the packet and returns false.
func (s *Switch) pass(p *tm.Packet) bool {
	if s.tm.Spend(p, 1) == 1 {
		return true
	}
	s.drop(p, DropLoop)
	return false
}

// again is pass for a recirculated packet. Without a limit of passes, those that take
// time are free.
func (s *Switch) again(p *tm.Packet) bool {
	return s.cfg.MaxPasses == NoPassLimit && !s.instant[p.Out] || s.pass(p)
}

// copies takes n copies of a packet from the work of its frame, and returns how many
// of them may be made. The others are counted as dropped.
func (s *Switch) copies(p *tm.Packet, n int) int {
	got := s.tm.Spend(p, n)
	if got < n && s.following(p.Frame) {
		s.step("dropped: %d copies: the packet has passed the switch too often: the program copies it without an end", n-got)
	}
	for range n - got {
		s.count(p, DropLoop)
	}
	return got
}

// enqueue puts a packet in a queue of a port now, or drops it.
func (s *Switch) enqueue(p *tm.Packet, port, queue int, now vtime.Time) {
	if p.Uncounted {
		p.Uncounted = false
		s.tm.Count(int(p.In), queue, p.Frame.Len())
	}
	out := s.place(port)
	if out < 0 { // as in simple_switch, egress may still recirculate the packet
		out = s.nowhere
	}
	p.Port, p.Queue = int32(port), int8(queue)
	if cause := s.tm.Enqueue(p, out, queue, now); cause != tm.Queued {
		s.drop(p, notQueued[cause])
	}
}

// notQueued has the causes of drops of packets that were not queued.
var notQueued = [...]DropCause{tm.QueueFull: DropQueue, tm.BufferFull: DropBuffer, tm.HeadroomFull: DropHeadroom, tm.LinkDown: DropLink, tm.Storming: DropStorm, tm.NoRoom: DropClone}

// handler is the switch as the traffic manager's Handler.
type handler Switch

var _ tm.Handler = (*handler)(nil)

func (h *handler) Reenter(p *tm.Packet) {
	s := (*Switch)(h)
	s.stats.Recirculated++
	s.arch.reenter(p)
}

func (h *handler) Frames() *packet.Pool { return h.net.Frames() }

func (h *handler) Storm(port, class int, begins bool) {
	if h.onStorm != nil {
		st := (*Switch)(h).Port(h.numbers[port]).Class[class]
		h.onStorm(Storm{h.numbers[port], class, h.watchdogs[port].Action, !begins, st.StormDrops, st.StormSent, st.StormTime})
	}
}

func (h *handler) StormDrop(p *tm.Packet) { (*Switch)(h).drop(p, DropStorm) }

func (h *handler) Transmit(port int, f *packet.Frame, end vtime.Time) {
	if port != h.cpu {
		if packet.AsPFC(f.Data) == nil {
			h.stats.Sent++
		}
		h.net.Send(h.numbers[port], f, end)
		return
	}
	h.stats.Sent++
	if h.control.PacketIn != nil {
		h.control.PacketIn(f)
	}
	if h.cpuLink {
		h.net.Send(h.numbers[port], f, end)
		return
	}
	h.net.Frames().Put(f)
}
