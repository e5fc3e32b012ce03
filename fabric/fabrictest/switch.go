// SPDX-License-Identifier: Apache-2.0

// Package fabrictest has a plain switch in Go, with ECMP, ECN marking,
// telemetry and PFC, for testing hosts, engine and closed forms without a P4
// program. Its buffer is like that of the HPCC simulator's switch, so that
// results can be compared. Experiments never use it.
package fabrictest

import (
	"encoding/binary"
	"math/rand/v2"
	"unsafe"

	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Network is the environment of the switch.
type Network interface {
	vtime.Scheduler
	Send(port int, f *packet.Frame, end vtime.Time)
	Frames() *packet.Pool
}

// Config describes a switch.
type Config struct {
	Overhead int // bytes on the link in addition to the frame
	Buffer   int64
	// XOFF is a static threshold per ingress port and class. If it is zero the
	// threshold is dynamic: the free part of the buffer shifted right by
	// AlphaShift, less one for every doubling of the port's rate over NIC.
	XOFF       int64
	AlphaShift int
	NIC        vtime.Rate
	Resume     int64   // distance below the threshold at which a sender is resumed
	Headroom   float64 // in products of a port's rate and delay
	Reserve    int64
	NoPFC      bool

	// Marks returns, for the rate of a port, the queue length from which packets
	// are marked, that from which all are, and the probability just below it. nil:
	// no marks.
	Marks func(vtime.Rate) (kmin, kmax int64, pmax float64)
	Seed  uint64
	// Hash selects among equal-cost paths from the headers of an IPv4 packet; nil:
	// a hash of addresses and ports.
	Hash func(ip []byte) uint32
	// Spray hashes each packet separately instead of each flow.
	Spray bool

	// Program, if set, decides about frames instead of routes, marks and telemetry.
	// Recirculation is the port for packets that come back to it.
	Program       Program
	Recirculation Recirculation
}

// Recirculation is a port whose packets come back to the program, Latency after their
// transmission at Rate. They stay charged to the port on which they arrived.
type Recirculation struct {
	Number  int
	Rate    vtime.Rate
	Latency vtime.Time
}

// A Program decides what becomes of frames. The switch has queues, the buffer, and PFC.
type Program interface {
	// Ingress takes a frame from a port, numbered from 1, and returns what is queued:
	// the frame, copies, or nothing if it is dropped.
	Ingress(port int, f *packet.Frame) []*Packet
	// Egress takes a packet that leaves its queue, in which packets of behind cells of 80
	// bytes remain, and may change its frame. It also returns copies to be queued.
	Egress(p *Packet, behind int64) (Verdict, []*Packet)
	// Again is Ingress for a packet of Verdict Recirculate.
	Again(p *Packet) []*Packet
}

// A Packet is a frame for a queue of a port, numbered from 1, with the state of its
// Program.
type Packet struct {
	Frame       *packet.Frame
	Port, Class int
	State       any
}

// Verdict is what becomes of a packet that has left its queue.
type Verdict uint8

// Verdicts.
const (
	Send Verdict = iota
	Drop
	Recirculate
)

// Switch is an output-queued switch with a shared buffer.
type Switch struct {
	net   Network
	cfg   *Config
	ports []port
	route map[uint32][]int32 // by destination address, ports from 0
	rng   *rand.Rand
	seed  uint32
	count uint32

	shared   int64 // bytes in the shared part
	sharable int64
	free     []*waiting

	Dropped  uint64
	Pauses   uint64
	MaxQueue int64 // maximum length of one class's egress queue
}

type port struct {
	sw       *Switch
	number   int // from 1
	rate     vtime.Rate
	shift    int
	headroom int64
	kmin     int64
	kmax     int64
	pmax     float64

	in     [packet.Classes]ingress
	out    [packet.Classes]queue
	mask   uint8 // classes that have frames
	mac    []*packet.Frame
	free   vtime.Time
	set    bool // an event is scheduled
	paused [packet.Classes]vtime.Time
	expiry vtime.Time // time of the scheduled event for expiry
	sent   uint64     // bytes
	again  bool       // the port of Recirculation
	flying []*waiting // packets that will come back
}

type ingress struct {
	bytes, headroom int64
	paused          bool
	refresh         vtime.Time
}

type queue struct {
	first, last *waiting
	frames      int
	bytes       int64
	cells       int64      // of 80 bytes, the last of each packet's partly filled
	resumed     vtime.Time // when the last pause ended
}

type waiting struct {
	f    *packet.Frame
	in   int32
	at   vtime.Time
	next *waiting
	// Of a Program: the packet, and what its ingress port and class are charged for it.
	p       *Packet
	charged int64
	class   int
}

// New returns the switch of a topology's node.
func New(t *topo.Topology, n *topo.Node, net Network, cfg Config) *Switch {
	s := &Switch{
		net: net, cfg: &cfg, seed: uint32(n.ID),
		ports: make([]port, len(n.Ports)),
		route: make(map[uint32][]int32),
		rng:   rand.New(rand.NewPCG(cfg.Seed, uint64(n.ID))),
	}
	s.sharable = cfg.Buffer
	for i := range s.ports {
		p, l := &s.ports[i], &t.Links[n.Ports[i].Link]
		*p = port{sw: s, number: i + 1, rate: l.Rate, shift: cfg.AlphaShift}
		for r := l.Rate; cfg.NIC > 0 && r > cfg.NIC && p.shift > 0; r /= 2 {
			p.shift--
		}
		p.headroom = int64(cfg.Headroom * float64(l.Rate.Bytes(l.Delay)))
		s.sharable -= p.headroom + cfg.Reserve
		if cfg.Marks != nil {
			p.kmin, p.kmax, p.pmax = cfg.Marks(l.Rate)
		}
	}
	if cfg.Program != nil {
		r := cfg.Recirculation
		s.ports = append(s.ports, port{sw: s, number: r.Number, rate: r.Rate, again: true})
		return s
	}
	for _, h := range t.Hosts() {
		key := address(t.Nodes[h].IP.As4())
		dist := distances(t, h)
		for i, p := range n.Ports {
			if dist[p.Peer] < dist[n.ID] && (p.Peer == h || t.Nodes[p.Peer].Kind == topo.Switch) {
				s.route[key] = append(s.route[key], int32(i))
			}
		}
	}
	return s
}

func address(b [4]byte) uint32 { return binary.BigEndian.Uint32(b[:]) }

// distances returns the number of links from each node to a host.
func distances(t *topo.Topology, host int) []int {
	const far = 1 << 30
	d := make([]int, len(t.Nodes))
	for i := range d {
		d[i] = far
	}
	d[host] = 0
	queue := []int{host}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if n != host && t.Nodes[n].Kind == topo.Host {
			continue
		}
		for _, p := range t.Nodes[n].Ports {
			if d[p.Peer] == far {
				d[p.Peer] = d[n] + 1
				queue = append(queue, p.Peer)
			}
		}
	}
	return d
}

// Receive takes a frame.
func (s *Switch) Receive(portNumber int, f *packet.Frame) {
	d := f.Data
	if packet.Ethernet(d).EtherType() == packet.EtherTypeMACControl {
		s.ports[portNumber-1].obey(packet.AsPFC(d))
		s.net.Frames().Put(f)
		return
	}
	if s.cfg.Program != nil {
		s.queue(portNumber-1, s.cfg.Program.Ingress(portNumber, f))
		return
	}
	ip := d[packet.EthernetLen:]
	ports := s.route[binary.BigEndian.Uint32(ip[16:])]
	if len(ports) == 0 {
		s.Dropped++
		s.net.Frames().Put(f)
		return
	}
	out := ports[0]
	if len(ports) > 1 {
		h := s.hash(ip)
		out = ports[h%uint32(len(ports))]
	}
	s.enqueue(portNumber-1, int(out), int(ip[1]>>5), f)
}

// hash returns a hash of addresses and ports, with a seed of the switch.
func (s *Switch) hash(ip []byte) uint32 {
	if s.cfg.Hash != nil {
		return s.cfg.Hash(ip)
	}
	h := s.seed*0x9e3779b1 + 1
	for i := 12; i < 24; i += 4 {
		h = (h ^ binary.BigEndian.Uint32(ip[i:])) * 0x85ebca6b
		h ^= h >> 15
	}
	if s.cfg.Spray {
		s.count++
		h = (h ^ s.count) * 0xc2b2ae35
	}
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

func (s *Switch) threshold(p *port) int64 {
	if s.cfg.XOFF > 0 {
		return s.cfg.XOFF
	}
	return (s.sharable - s.shared) >> p.shift
}

// used returns the bytes of an ingress queue in the shared part.
func (s *Switch) used(g *ingress) int64 { return max(g.bytes-s.cfg.Reserve, 0) }

// queue charges packets of a Program to the port on which they arrived, and queues them.
func (s *Switch) queue(in int, list []*Packet) {
	for _, p := range list {
		if n := int64(p.Frame.Len()); s.charge(in, p.Class, p.Frame) {
			s.put(s.place(p.Port), p.Class, &waiting{f: p.Frame, in: int32(in), p: p, charged: n, class: p.Class})
		}
	}
}

// place is the index of a port by its number.
func (s *Switch) place(number int) int {
	if last := len(s.ports) - 1; s.ports[last].again && number == s.ports[last].number {
		return last
	}
	return number - 1
}

func (s *Switch) enqueue(in, out, class int, f *packet.Frame) {
	if s.charge(in, class, f) {
		w := s.take()
		w.f, w.in, w.next = f, int32(in), nil
		s.put(out, class, w)
	}
}

// charge charges a frame to its ingress port, and pauses the sender if that is due. It
// drops the frame and returns false if there is no room.
func (s *Switch) charge(in, class int, f *packet.Frame) bool {
	p, n := &s.ports[in], int64(f.Len())
	g := &p.in[class]
	threshold := s.threshold(p)
	if s.cfg.NoPFC {
		if s.shared+n > s.cfg.Buffer {
			s.Dropped++
			s.net.Frames().Put(f)
			return false
		}
		s.shared += n
	} else {
		if g.headroom+n > p.headroom && s.used(g)+n > threshold {
			s.Dropped++
			s.net.Frames().Put(f)
			return false
		}
		switch bytes := g.bytes + n; {
		case bytes <= s.cfg.Reserve:
			g.bytes = bytes
		case bytes-s.cfg.Reserve > threshold:
			g.headroom += n
		default:
			g.bytes = bytes
			s.shared += min(n, bytes-s.cfg.Reserve)
		}
		if !g.paused && (g.headroom > 0 || s.used(g) >= s.threshold(p)) {
			g.paused = true
			p.sendPFC(class, true)
		}
	}
	return true
}

// put puts a frame at the end of a queue.
func (s *Switch) put(out, class int, w *waiting) {
	w.at = s.net.Now()
	n := int64(w.f.Len())
	o := &s.ports[out]
	q := &o.out[class]
	if q.first == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	q.frames++
	q.bytes += n
	q.cells += cells(n)
	s.MaxQueue = max(s.MaxQueue, q.bytes)
	o.mask |= 1 << class
	o.kick()
}

func (s *Switch) take() *waiting {
	if n := len(s.free); n > 0 {
		w := s.free[n-1]
		s.free = s.free[:n-1]
		return w
	}
	return new(waiting)
}

// leave reverses the accounting of enqueue.
func (s *Switch) leave(in, class int, n int64) {
	p := &s.ports[in]
	g := &p.in[class]
	if s.cfg.NoPFC {
		s.shared -= n
		return
	}
	fromHeadroom := min(g.headroom, n)
	s.shared -= min(n-fromHeadroom, s.used(g))
	g.headroom -= fromHeadroom
	g.bytes -= n - fromHeadroom
	if g.paused && g.headroom == 0 && (s.used(g) == 0 || s.used(g)+s.cfg.Resume <= s.threshold(p)) {
		g.paused = false
		p.sendPFC(class, false)
	}
}

// QueueBytes returns the bytes in all queues of a port.
func (s *Switch) QueueBytes(portNumber int) int64 {
	var n int64
	for c := range packet.Classes {
		n += s.ports[portNumber-1].out[c].bytes
	}
	return n
}

// HeldFrames returns the number of frames in the switch.
func (s *Switch) HeldFrames() (n int) {
	for i := range s.ports {
		n += len(s.ports[i].mac) + len(s.ports[i].flying)
		for c := range packet.Classes {
			n += s.ports[i].out[c].frames
		}
	}
	return n
}

// LosslessDrops returns the number of dropped frames.
func (s *Switch) LosslessDrops() uint64 { return s.Dropped }

// Overflows is the same number: all classes are lossless.
func (s *Switch) Overflows() uint64 { return s.Dropped }

// pauseQuanta is the longest possible pause. It is renewed at half of its time.
const pauseQuanta = 0xffff

// sendPFC sends a PAUSE or RESUME from the port.
func (p *port) sendPFC(class int, pause bool) {
	quanta := uint16(0)
	if pause {
		quanta = pauseQuanta
		p.sw.Pauses++
		g := &p.in[class]
		g.refresh = p.sw.net.Now() + packet.PauseTime(pauseQuanta, p.rate)/2
		p.sw.net.At(g.refresh, p, uint64(1+class))
	}
	f := p.sw.net.Frames().Get()
	f.Data = packet.AppendPFC(f.Data, packet.MAC{2, 1}, 1<<class, quanta)
	p.mac = append(p.mac, f)
	p.kick()
}

// obey applies a received PFC frame.
func (p *port) obey(pfc packet.PFC) {
	now := p.sw.net.Now()
	for c := range packet.Classes {
		if pfc.Enabled()&(1<<c) == 0 {
			continue
		}
		if p.paused[c] > now && pfc.Quanta(c) == 0 {
			p.out[c].resumed = now
		}
		p.paused[c] = now + packet.PauseTime(pfc.Quanta(c), p.rate)
	}
	p.kick()
}

// expired is the event's argument for the end of a pause, returned that for the first of
// the packets that come back. 1 to 8 renew the pause of a class, 0 is the end of a frame.
const (
	expired  = 99
	returned = 100
)

// Fire implements vtime.Event.
func (p *port) Fire(now vtime.Time, arg uint64) {
	if arg == expired {
		p.kick()
		return
	}
	if arg == returned {
		w := p.flying[0]
		p.flying = p.flying[1:]
		p.sw.comeBack(w)
		return
	}
	if arg > 0 {
		if g := &p.in[arg-1]; g.paused && now == g.refresh {
			p.sendPFC(int(arg-1), true)
		}
		return
	}
	p.set = false
	p.kick()
}

func (p *port) kick() {
	if p.set {
		return
	}
	now := p.sw.net.Now()
	if now < p.free {
		p.set = true
		p.sw.net.At(p.free, p, 0)
		return
	}
	if len(p.mac) > 0 {
		f := p.mac[0]
		p.mac = p.mac[:copy(p.mac, p.mac[1:])]
		p.send(now, f)
		return
	}
	until := vtime.Never
	for c := packet.Classes - 1; c >= 0; c-- {
		switch {
		case p.mask&(1<<c) == 0:
		case p.paused[c] > now:
			until = min(until, p.paused[c])
		default:
			p.dequeue(now, c)
			return
		}
	}
	// A pause ends by itself, because its RESUME may be lost.
	if until < vtime.Never && until != p.expiry {
		p.expiry = until
		p.sw.net.At(until, p, expired)
	}
}

func (p *port) dequeue(now vtime.Time, class int) {
	s, q := p.sw, &p.out[class]
	w := q.first
	if q.first = w.next; q.first == nil {
		p.mask &^= 1 << class
	} else { // not in the processor's cache when it leaves
		cache.Fetch(unsafe.Pointer(q.first.f), unsafe.Pointer(q.first.next))
	}
	q.frames--
	f, in := w.f, int(w.in)
	f.Stalled = f.Stalled || w.at < q.resumed
	n := int64(f.Len())
	q.bytes -= n
	q.cells -= cells(n)
	if w.p != nil {
		p.leaves(now, w, q.cells)
		return
	}
	w.f = nil
	s.free = append(s.free, w)
	if d := f.Data; len(d) > telemetryAt+packet.INTLen && packet.UDP(d[packet.EthernetLen+packet.IPv4Len:]).DstPort() == packet.PortINT {
		p.record(now, packet.AsINT(d[telemetryAt:]), q.bytes)
	}
	p.sent += uint64(n)
	if p.kmax > 0 && p.marks(q.bytes) {
		ip := packet.IPv4(f.Data[packet.EthernetLen:])
		if ip.ECN() != packet.NotECT {
			ip.SetECN(packet.CE)
		}
	}
	p.send(now, f)
	s.leave(in, class, n)
}

func cells(bytes int64) int64 { return (bytes + 79) / 80 }

// leaves does with a packet of a Program what that decides.
func (p *port) leaves(now vtime.Time, w *waiting, behind int64) {
	s := p.sw
	verdict, copies := s.cfg.Program.Egress(w.p, behind)
	switch f := w.p.Frame; verdict {
	case Send:
		p.send(now, f)
		s.leave(int(w.in), w.class, w.charged)
	case Drop:
		s.net.Frames().Put(f)
		s.leave(int(w.in), w.class, w.charged)
	case Recirculate:
		p.free = now + p.rate.TxTime(f.Len()+s.cfg.Overhead)
		p.flying = append(p.flying, w)
		s.net.At(p.free+s.cfg.Recirculation.Latency, p, returned)
	}
	s.queue(int(w.in), copies)
	p.kick()
}

// comeBack gives a packet to the Program again. What becomes of it is charged as it was:
// the copies that the Program makes are charged in addition.
func (s *Switch) comeBack(w *waiting) {
	kept := false
	for _, p := range s.cfg.Program.Again(w.p) {
		if p.Frame != w.f {
			s.queue(int(w.in), []*Packet{p})
			continue
		}
		kept = true
		s.put(s.place(p.Port), p.Class, &waiting{f: p.Frame, in: w.in, p: p, charged: w.charged, class: w.class})
	}
	if !kept {
		s.net.Frames().Put(w.f)
		s.leave(int(w.in), w.class, w.charged)
	}
}

// telemetryAt is the offset of in-band telemetry.
const telemetryAt = packet.EthernetLen + packet.IPv4Len + packet.UDPLen

// record appends the port's record to a packet's telemetry.
func (p *port) record(now vtime.Time, b packet.INT, queue int64) {
	if n := b.Hops(); n < packet.INTHops {
		b[0] = byte(n+1)<<4 | b[0]&0xf
		b.Hop(n).Set(packet.INTRateCode(p.rate), uint32(now.Nanoseconds()), uint32(p.sent/packet.INTByteUnit), int(queue))
	}
}

// marks decides whether to mark a packet that leaves this many bytes in the
// queue.
func (p *port) marks(bytes int64) bool {
	switch {
	case bytes > p.kmax:
		return true
	case bytes <= p.kmin:
		return false
	}
	return p.sw.rng.Float64() < p.pmax*float64(bytes-p.kmin)/float64(p.kmax-p.kmin)
}

func (p *port) send(now vtime.Time, f *packet.Frame) {
	p.free = now + p.rate.TxTime(f.Len()+p.sw.cfg.Overhead)
	p.sw.net.Send(p.number, f, p.free)
	if p.mask != 0 || len(p.mac) > 0 {
		p.set = true
		p.sw.net.At(p.free, p, 0)
	}
}
