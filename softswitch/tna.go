// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// tna is one pipeline of a Tofino: two gresses that share only the bytes of a
// packet, intrinsic metadata before these bytes, and between the gresses the
// traffic manager, which also accepts mirrored packets. Ports are device ports.
// Queue depths are in cells of 80 bytes, times in nanoseconds.
//
// Not modelled: packet versions, congestion states of queues, deflection,
// pruning of multicast copies, and the second word of multicast hashes.
type tna struct {
	s *Switch
	m *interp.Machine

	inTime, inError, inDropCtl                           interp.Field // ingress_intrinsic_metadata_…
	port, bypass, cos, qid, cpuCos, toCPU, groupA, group interp.Field // …for_tm
	rid                                                  interp.Field
	outTime, outError, outDropCtl                        interp.Field // egress_intrinsic_metadata_…

	copies []tnaCopy // scratch
	bytes  []byte    // scratch
	head   [max(ingressHead, egressHead)]byte
}

// tnaCopy is one copy that the traffic manager makes of a packet from ingress.
type tnaCopy struct {
	port, queue int
	rid         uint16
	first       bool // of its multicast group
}

// Sizes of intrinsic metadata before a packet. In ingress, eight more bytes
// have port metadata or the data of a resubmitted packet.
const (
	ingressHead      = 8 + resubmitBytes
	resubmitBytes    = 8
	egressHead       = 27
	noPort           = 0x1ff // initial value of ucast_egress_port
	resubmitFlag     = 0x80
	timestampMask    = 1<<18 - 1 // of the traffic manager's times
	depthMask        = 1<<19 - 1
	globalTimeMask   = 1<<48 - 1
	recirculatesBits = 0x44 // of seven: ports 68 to 71 of each pipeline
	recirculatesMask = 0x7c
)

// Bits of drop_ctl.
const (
	dropPacket = 1 << iota // unicast, multicast and resubmission
	dropToCPU
	dropMirror
)

// Words of a queued packet's State, and the flags in the second.
const (
	tnaRid = iota
	tnaFlags
	tnaQID
	tnaCos
)

const (
	tnaBypass = 1 << iota
	tnaFirst
)

var _ architecture = (*tna)(nil)

func newTNA(s *Switch, st *interp.State) *tna {
	a := &tna{s: s, m: interp.NewMachine(st)}
	a.m.DropPort = noPort
	s.tm.Load(a, true, true)
	a.m.Log, a.m.Trace = s.control.Log, s.control.Trace
	const in, out = "ingress_intrinsic_metadata_", "egress_intrinsic_metadata_"
	for _, f := range []struct {
		to   *interp.Field
		name string
	}{
		{&a.inTime, in + "from_parser.global_tstamp"},
		{&a.inError, in + "from_parser.parser_err"},
		{&a.inDropCtl, in + "for_deparser.drop_ctl"},
		{&a.port, in + "for_tm.ucast_egress_port"},
		{&a.bypass, in + "for_tm.bypass_egress"},
		{&a.cos, in + "for_tm.ingress_cos"},
		{&a.qid, in + "for_tm.qid"},
		{&a.cpuCos, in + "for_tm.icos_for_copy_to_cpu"},
		{&a.toCPU, in + "for_tm.copy_to_cpu"},
		{&a.groupA, in + "for_tm.mcast_grp_a"},
		{&a.group, in + "for_tm.mcast_grp_b"},
		{&a.rid, in + "for_tm.rid"},
		{&a.outTime, out + "from_parser.global_tstamp"},
		{&a.outError, out + "from_parser.parser_err"},
		{&a.outDropCtl, out + "for_deparser.drop_ctl"},
	} {
		*f.to, _ = st.Program.Field(f.name)
	}
	return a
}

func (a *tna) machine() *interp.Machine { return a.m }

func (a *tna) fetch() { cache.Struct(a) }

func nanoseconds(t vtime.Time) uint64 { return uint64(t / vtime.Nanosecond) }

// arrive processes a packet from the parser to the queues.
func (a *tna) arrive(p *tm.Packet) { a.ingress(p, false) }

// ingress is arrive. again is true if the packet has passed before: then its copies
// are work of its frame.
func (a *tna) ingress(p *tm.Packet, again bool) {
	s, m := a.s, a.m
	resubmitted := false
	for {
		length := p.Frame.Len()
		p.Frame.Prepend(a.ingressHead(s.numbers[p.In], resubmitted))
		m.Now = s.net.Now()
		m.Start(p.Frame, length)
		a.m.Set(a.inTime, nanoseconds(m.Now)&globalTimeMask)
		a.m.Set(a.port, noPort)
		s.stats.Processed++
		m.Parse()
		if err := m.TofinoError(); err != 0 {
			if a.inError.Max == 0 { // the program does not read it
				p.Frame.Strip(ingressHead)
				s.drop(p, DropParser)
				return
			}
			a.m.Set(a.inError, err)
		}
		m.Ingress()
		m.DeparseIn()
		drop := a.m.Get(a.inDropCtl)
		if m.Ask.Any {
			if a.requests(p, drop, resubmitted, again) {
				s.stats.Resubmitted++
				if !s.pass(p) {
					return
				}
				resubmitted, again = true, true
				continue
			}
		}
		if m.Ask.Failed {
			p.Frame.Strip(ingressHead)
			s.drop(p, DropAssert)
			return
		}
		m.EmitIn()
		a.forward(p, drop, length, again)
		return
	}
}

// ingressHead returns the metadata before a packet in ingress. a.bytes has the
// data of a resubmitted packet.
func (a *tna) ingressHead(port int, resubmitted bool) []byte {
	h := a.head[:ingressHead]
	binary.BigEndian.PutUint64(h, nanoseconds(a.s.net.Now())&globalTimeMask)
	binary.BigEndian.PutUint16(h, uint16(port&0x1ff))
	clear(h[8:])
	if resubmitted {
		h[0] |= resubmitFlag
		copy(h[8:], a.bytes)
	}
	return h
}

// requests executes the program's requests in ingress. It reports whether the
// packet is to be resubmitted in its original form.
func (a *tna) requests(p *tm.Packet, drop uint64, resubmitted, again bool) bool {
	s, m := a.s, a.m
	if m.Ask.Failed {
		return false
	}
	if m.Ask.Digest != 0 {
		s.stats.Digests++
		if number, values, ok := m.Digest(m.Ask.Digest); ok && s.control.Digest != nil {
			s.control.Digest(number, values)
		}
	}
	if m.Ask.Mirror && drop&dropMirror == 0 {
		a.mirror(p, ingressHead, again)
	}
	if m.Ask.Resubmit == 0 || resubmitted || drop&dropPacket != 0 {
		return false
	}
	a.bytes = m.AppendList(m.Ask.Resubmit, a.bytes[:0])
	if len(a.bytes) > resubmitBytes {
		a.bytes = a.bytes[:resubmitBytes]
	}
	p.Frame.Strip(ingressHead)
	return true
}

// mirror queues the copies of p for the program's mirror session: its frame
// without the first bytes, preceded by the program's data. The copies are not
// charged to a port that could be paused for them.
func (a *tna) mirror(p *tm.Packet, without int, again bool) {
	s, m := a.s, a.m
	session := s.sessions[uint32(m.Ask.MirrorSession)]
	if session == nil {
		return
	}
	a.bytes = m.AppendList(m.Ask.MirrorList, a.bytes[:0])
	for i := range session.replicas {
		port, rid := s.target(&session.replicas[i])
		if s.place(port) < 0 {
			continue // in a pipeline that this switch does not have
		}
		if again && s.copies(p, 1) == 0 {
			continue
		}
		c := s.tm.Get()
		s.tm.Share(p, c)
		c.Frame = s.net.Frames().Clone(p.Frame)
		c.Frame.Strip(without)
		c.Frame.Prepend(a.bytes)
		if session.truncate > 0 {
			c.Frame.Truncate(session.truncate)
		}
		c.In, c.Class = int32(s.cpu), int8(session.queue)
		s.stats.Cloned++
		a.enqueue(c, &tnaCopy{port: port, queue: session.queue, rid: rid, first: i == 0}, 0, session.queue)
	}
}

// forward passes a packet to the traffic manager: to a port, to multicast
// groups, to the controller, or to several of these. length is its length on
// arrival in bytes.
func (a *tna) forward(p *tm.Packet, drop uint64, length int, again bool) {
	s := a.s
	cos := int(a.m.Get(a.cos))
	if p.Uncounted {
		p.Uncounted = false
		s.tm.Count(int(p.In), cos, length)
	}
	p.Class = int8(cos)
	qid := int(a.m.Get(a.qid))
	groups := [2]uint32{uint32(a.m.Get(a.groupA)), uint32(a.m.Get(a.group))}
	a.copies = a.copies[:0]
	if a.m.Get(a.toCPU) != 0 && drop&dropToCPU == 0 {
		a.copies = append(a.copies, tnaCopy{port: s.cfg.CPUPort, queue: int(a.m.Get(a.cpuCos))})
	}
	if drop&dropPacket == 0 {
		for _, id := range groups {
			if g := s.groups[id]; id != 0 && g != nil {
				for i := range g.replicas {
					port, rid := s.target(&g.replicas[i])
					a.copies = append(a.copies, tnaCopy{port: port, queue: qid, rid: rid, first: i == 0})
					s.stats.Replicated++
				}
			}
		}
		if port := int(a.m.Get(a.port)); port != noPort {
			a.copies = append(a.copies, tnaCopy{port: port, queue: qid, rid: uint16(a.m.Get(a.rid))})
		}
	}
	n := len(a.copies)
	if n == 0 {
		cause := DropIngress
		if drop&dropPacket == 0 && groups != [2]uint32{} {
			cause = DropMulticast
		}
		s.drop(p, cause)
		return
	}
	if again && n > 1 {
		n = s.copies(p, n-1) + 1
	}
	flags := uint64(0)
	if a.m.Get(a.bypass) != 0 {
		flags = tnaBypass
	}
	for i := range n - 1 {
		a.enqueue(s.copyOf(p), &a.copies[i], flags, cos)
	}
	a.enqueue(p, &a.copies[n-1], flags, cos)
}

// enqueue puts a packet into a queue, with the metadata for egress.
func (a *tna) enqueue(p *tm.Packet, c *tnaCopy, flags uint64, cos int) {
	if c.first {
		flags |= tnaFirst
	}
	p.State = append(p.State[:0], uint64(c.rid), flags, uint64(c.queue), uint64(cos))
	a.s.enqueue(p, c.port, c.queue&7, a.m.Now)
}

// Egress processes a packet that leaves its queue now, up to the deparser.
func (a *tna) Egress(p *tm.Packet, now vtime.Time) tm.Verdict {
	s, m := a.s, a.m
	if p.State[tnaFlags]&tnaBypass != 0 {
		return a.leave(p)
	}
	m.Now = now
	length := p.Frame.Len()
	p.Frame.Prepend(a.egressHead(p, length))
	m.Start(p.Frame, length)
	a.m.Set(a.outTime, nanoseconds(m.Now)&globalTimeMask)
	m.ParseOut()
	a.m.Set(a.outError, m.TofinoError())
	m.Egress()
	m.DeparseOut()
	if m.Ask.Failed {
		p.Frame.Strip(egressHead)
		s.drop(p, DropAssert)
		return tm.Drop
	}
	drop := a.m.Get(a.outDropCtl)
	m.EmitOut()
	if m.Ask.Mirror && drop&dropMirror == 0 {
		a.mirror(p, 0, true)
	}
	if drop&dropPacket != 0 {
		s.drop(p, DropEgress)
		return tm.Drop
	}
	return a.leave(p)
}

// leave sends a packet from its port, or recirculates it on a recirculation
// port.
func (a *tna) leave(p *tm.Packet) tm.Verdict {
	s := a.s
	switch {
	case int(p.Out) != s.nowhere && p.Port&recirculatesMask == recirculatesBits && s.internal(int(p.Out)):
		s.tm.Transfer(p, int(p.Out))
		return tm.Recirculate
	case s.internal(int(p.Out)):
		s.drop(p, DropPort)
		return tm.Drop
	}
	return tm.Send
}

// egressHead returns the metadata before a packet in egress.
func (a *tna) egressHead(p *tm.Packet, length int) []byte {
	now := nanoseconds(a.m.Now)
	enqueued := nanoseconds(p.Enqueued)
	depth := a.s.tm.Depth(int(p.Out), int(p.Queue))
	first := byte(p.State[tnaFlags] / tnaFirst & 1)
	h := append(a.head[:0], byte(p.Port>>8&1), byte(p.Port))
	h = append24(h, uint64(min(p.Depth().Cells, depthMask)))
	h = append(h, 0) // enq_congest_stat
	h = binary.BigEndian.AppendUint32(h, uint32(enqueued&timestampMask))
	h = append24(h, uint64(min(depth.Cells, depthMask)))
	h = append(h, 0, 0) // deq_congest_stat, app_pool_congest_stat
	h = binary.BigEndian.AppendUint32(h, uint32((now-enqueued)&timestampMask))
	h = binary.BigEndian.AppendUint16(h, uint16(p.State[tnaRid]))
	h = append(h, first, byte(p.State[tnaQID]&0x1f), byte(p.State[tnaCos]&7), 0)
	return binary.BigEndian.AppendUint16(h, uint16(length))
}

func append24(b []byte, v uint64) []byte { return append(b, byte(v>>16), byte(v>>8), byte(v)) }

// reenter processes a packet that returns from its recirculation port.
func (a *tna) reenter(p *tm.Packet) {
	p.Uncounted = true
	if a.s.again(p) {
		a.ingress(p, true)
	}
}
