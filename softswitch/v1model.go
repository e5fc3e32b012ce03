// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"slices"

	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// Values of standard_metadata.instance_type.
const (
	instanceNormal       = 0
	instanceIngressClone = 1
	instanceEgressClone  = 2
	instanceRecirc       = 4
	instanceReplication  = 5
	instanceResubmit     = 6
)

// v1model implements simple_switch's processing around the pipelines, in its
// order, with its metadata. The rest of this package is independent of v1model.
type v1model struct {
	s *Switch
	m *interp.Machine

	ingressPort, egressSpec, egressPort, instanceType, packetLength, parserError, checksumError interp.Field
	ingressTime, egressTime, mcastGroup, rid, priority                                          interp.Field
	enqTime, enqDepth, deqDelta, deqDepth, qid                                                  interp.Field

	list  []uint64     // scratch: values of a field list
	saved interp.Saved // scratch: a saved packet
	// held is the packet that was queued last, while the machine still has its
	// state for egress: if it leaves before another packet arrives, as from an
	// empty queue, the state need not be copied.
	held *tm.Packet

	// nanoseconds is true if the program's times are in nanoseconds, not in
	// microseconds. The divisors of units are constants, so it divides nothing.
	nanoseconds bool
	// byClass makes packets wait in the queue of their class: Config.QueueByClass, and
	// the program sets no queue.
	byClass   bool
	slower    uint64 // Units.Slower, at least 1
	depthUnit depthUnit
	// Whether the program reads times, depths, and in egress the number of the queue
	// or the packet's length.
	readsIngressTime, readsEgressTime, readsTimes, readsEnqDepth, readsDeqDepth, readsRest bool
}

func newV1Model(s *Switch, st *interp.State) *v1model {
	a := &v1model{s: s, m: interp.NewMachine(st), nanoseconds: s.units.Time == "ns", slower: uint64(max(s.units.Slower, 1))}
	a.m.DropPort = uint64(s.cfg.DropPort)
	a.m.Log, a.m.Trace = s.control.Log, s.control.Trace
	for _, f := range []struct {
		to   *interp.Field
		name string
	}{
		{&a.ingressPort, "standard_metadata.ingress_port"},
		{&a.egressSpec, "standard_metadata.egress_spec"},
		{&a.egressPort, "standard_metadata.egress_port"},
		{&a.instanceType, "standard_metadata.instance_type"},
		{&a.packetLength, "standard_metadata.packet_length"},
		{&a.parserError, "standard_metadata.parser_error"},
		{&a.checksumError, "standard_metadata.checksum_error"},
		{&a.ingressTime, "intrinsic_metadata.ingress_global_timestamp"},
		{&a.egressTime, "intrinsic_metadata.egress_global_timestamp"},
		{&a.mcastGroup, "intrinsic_metadata.mcast_grp"},
		{&a.rid, "intrinsic_metadata.egress_rid"},
		{&a.priority, "intrinsic_metadata.priority"},
		{&a.enqTime, "queueing_metadata.enq_timestamp"},
		{&a.enqDepth, "queueing_metadata.enq_qdepth"},
		{&a.deqDelta, "queueing_metadata.deq_timedelta"},
		{&a.deqDepth, "queueing_metadata.deq_qdepth"},
		{&a.qid, "queueing_metadata.qid"},
	} {
		*f.to, _ = st.Program.Field(f.name)
	}
	reads := func(fields ...interp.Field) bool {
		return slices.ContainsFunc(fields, func(f interp.Field) bool { return f.Max != 0 })
	}
	a.readsIngressTime, a.readsEgressTime = reads(a.ingressTime), reads(a.egressTime)
	a.readsTimes, a.readsEnqDepth, a.readsDeqDepth = reads(a.enqTime, a.deqDelta), reads(a.enqDepth), reads(a.deqDepth)
	a.readsRest = reads(a.qid, a.packetLength)
	a.byClass = s.cfg.QueueByClass && !st.Program.Sets("intrinsic_metadata.priority")
	switch s.units.Depth {
	case "cells80":
		a.depthUnit = cells
	case "bytes":
		a.depthUnit = bytes
	}
	s.tm.Load(a, a.readsEnqDepth, a.depthUnit == cells)
	return a
}

// depthUnit is the program's unit of queue depths.
type depthUnit uint8

const (
	packets depthUnit = iota
	bytes
	cells
)

// units returns a time in the program's unit.
func (a *v1model) units(t vtime.Time) uint64 {
	if a.nanoseconds {
		return uint64(t) * a.slower / uint64(vtime.Nanosecond)
	}
	return uint64(t) * a.slower / uint64(vtime.Microsecond)
}

// depth returns the depth of a queue in the program's unit.
func (a *v1model) depth(d tm.Depth) uint64 {
	switch a.depthUnit {
	case cells:
		return uint64(d.Cells)
	case bytes:
		return uint64(d.Bytes)
	}
	return uint64(d.Packets)
}

var _ architecture = (*v1model)(nil)

func (a *v1model) machine() *interp.Machine { return a.m }

func (a *v1model) fetch() { cache.Struct(a) }

func (a *v1model) arrive(p *tm.Packet) { a.ingress(p, instanceNormal) }

func (a *v1model) reenter(p *tm.Packet) {
	if a.s.again(p) {
		a.ingress(p, instanceRecirc)
	}
}

// ingress processes a packet from the parser to the queues. p.State of a
// recirculated packet has the fields of the list p.List.
func (a *v1model) ingress(p *tm.Packet, instance uint64) {
	s, m := a.s, a.m
	a.keep()
	m.Now = s.net.Now()
	list := 0
	if instance == instanceRecirc {
		list, p.List = int(p.List), 0
		a.list = append(a.list[:0], p.State...)
	}
	for {
		s.stats.Processed++
		if s.tracer != nil {
			a.traceArrival(p, instance)
		}
		length, through := p.Frame.Len(), false
		if instance == instanceNormal {
			var time uint64
			if a.readsIngressTime {
				time = a.units(m.Now)
			}
			through = m.Arrive(p.Frame, length, uint64(s.numbers[p.In]), time)
		} else {
			m.Start(p.Frame, length)
			m.SetList(list, a.list)
			m.Set(a.packetLength, uint64(length))
			m.Set(a.instanceType, instance)
			m.Parse()
		}
		if s.tracer != nil {
			a.traceParsed(p)
		}
		if !through {
			m.Set(a.parserError, uint64(m.Ask.ParserError))
			if m.Ask.ChecksumError {
				m.Set(a.checksumError, 1)
			}
			m.Ingress()
		}
		if !m.Ask.Any {
			a.forward(p, instance) // the usual packet
			return
		}
		if !a.requests(p, instance) {
			return
		}
		// Again with the original packet.
		list, instance = m.Ask.Resubmit, instanceResubmit
		a.list = m.List(list, a.list)
		s.stats.Resubmitted++
		if !s.pass(p) {
			return
		}
	}
}

// requests executes the program's requests in ingress. It reports whether the
// packet is to be resubmitted. If not, it has been forwarded.
func (a *v1model) requests(p *tm.Packet, instance uint64) bool {
	s, m := a.s, a.m
	ask := m.Ask
	if ask.Failed {
		s.drop(p, DropAssert)
		return false
	}
	if ask.Clone {
		// The clone is parsed from the original packet, which needs the machine: the
		// state of the packet is saved.
		a.list = m.List(ask.CloneList, a.list)
		if s.tracer != nil {
			a.traceClone(p, ask.CloneSession, s.sessions[uint32(ask.CloneSession)])
		}
		if c := s.sessions[uint32(ask.CloneSession)]; c != nil {
			a.saved = m.SaveAll(a.saved)
			a.cloneIngress(p, c, ask.CloneList, instance)
			m.ResumeAll(p.Frame, a.saved)
			m.Ask = ask
		}
	}
	if ask.Digest != 0 {
		s.stats.Digests++
		if number, values, ok := m.Digest(ask.Digest); ok && s.control.Digest != nil {
			s.control.Digest(number, values)
		}
	}
	if ask.Resubmit != 0 {
		return true
	}
	a.forward(p, instance)
	return false
}

// forward queues or drops a packet at the end of ingress.
func (a *v1model) forward(p *tm.Packet, instance uint64) {
	s, m := a.s, a.m
	if group := m.Get(a.mcastGroup); group != 0 {
		m.Set(a.instanceType, instanceReplication)
		g := s.groups[uint32(group)]
		if s.tracer != nil {
			a.traceGroup(p, group, g)
		}
		if g == nil || len(g.replicas) == 0 {
			s.drop(p, DropMulticast)
			return
		}
		n := len(g.replicas)
		if instance != instanceNormal {
			n = s.copies(p, n-1) + 1
		}
		a.replicate(p, g.replicas[:n], a.queueOf(p))
		return
	}
	spec := int(m.Get(a.egressSpec))
	if spec == s.cfg.DropPort {
		s.drop(p, DropIngress)
		return
	}
	m.Set(a.instanceType, instanceNormal)
	if s.tracer != nil {
		a.traceForward(p, spec, a.queueOf(p))
	}
	a.held = p
	s.enqueue(p, spec, a.queueOf(p), m.Now)
}

// queueOf returns the queue of a packet at the end of ingress.
func (a *v1model) queueOf(p *tm.Packet) int {
	if a.byClass {
		return max(int(p.Class), 0)
	}
	return int(a.m.Get(a.priority)) & 7
}

// keep saves the state for egress of the packet that was queued last, because
// the machine continues with another. It has no effect if the packet was
// dropped.
func (a *v1model) keep() {
	if p := a.held; p != nil {
		p.State = a.m.Save(p.State)
		a.held = nil
	}
}

// replicate queues a copy of the packet for each replica, of which there is one at
// least. The last one is the packet itself.
func (a *v1model) replicate(p *tm.Packet, replicas []Replica, queue int) {
	s, m := a.s, a.m
	for i := range replicas {
		c := p
		if i < len(replicas)-1 {
			c = s.copyOf(p)
			s.stats.Replicated++
		}
		port, rid := s.target(&replicas[i])
		m.Set(a.rid, uint64(rid))
		c.State = m.Save(c.State)
		s.enqueue(c, port, queue, m.Now)
	}
}

// cloneIngress queues the ingress-to-egress clones of p. a.list has the values
// of the field list.
func (a *v1model) cloneIngress(p *tm.Packet, c *session, list int, instance uint64) {
	s, m := a.s, a.m
	n := len(c.replicas)
	if instance != instanceNormal {
		n = s.copies(p, n)
	}
	if n == 0 {
		return
	}
	clone := s.copyOf(p)
	clone.MarkClone()
	m.Start(clone.Frame, clone.Frame.Len())
	m.Set(a.ingressPort, uint64(s.numbers[p.In]))
	m.Parse()
	m.ResetMetadata()
	m.SetList(list, a.list)
	m.Set(a.instanceType, instanceIngressClone)
	a.sendClone(clone, c, n)
}

// sendClone queues the first n copies of a clone session.
func (a *v1model) sendClone(p *tm.Packet, c *session, n int) {
	a.s.stats.Cloned += uint64(n)
	if c.truncate > 0 {
		a.m.Truncate(c.truncate)
	}
	a.replicate(p, c.replicas[:n], c.queue)
}

// Egress processes a packet that leaves its queue now, up to the deparser.
func (a *v1model) Egress(p *tm.Packet, now vtime.Time) tm.Verdict {
	s, m := a.s, a.m
	m.Now = now
	if s.tracer != nil {
		a.traceLeaving(p, now)
	}
	if a.held == p {
		a.held = nil
		m.Continue()
	} else {
		a.keep()
		m.Resume(p.Frame, p.State)
	}
	if a.readsEgressTime {
		m.Set(a.egressTime, a.units(now))
	}
	if a.readsTimes {
		m.Set(a.enqTime, a.units(p.Enqueued))
		m.Set(a.deqDelta, min(a.units(now)-a.units(p.Enqueued), a.deqDelta.Max))
	}
	if a.readsEnqDepth {
		m.Set(a.enqDepth, min(a.depth(p.Depth()), a.enqDepth.Max))
	}
	if a.readsDeqDepth {
		m.Set(a.deqDepth, min(a.depth(s.tm.Depth(int(p.Out), int(p.Queue))), a.deqDepth.Max))
	}
	if a.readsRest {
		m.Set(a.qid, uint64(p.Queue))
		m.Set(a.packetLength, uint64(m.Length()))
	}
	m.Set(a.egressPort, uint64(p.Port))
	m.Set(a.egressSpec, uint64(s.cfg.DropPort)+1)
	if m.Depart() {
		if s.internal(int(p.Out)) {
			s.drop(p, DropPort)
			return tm.Drop
		}
		return tm.Send
	}
	if m.Ask.Any && m.Ask.Clone {
		a.cloneEgress(p)
	}
	switch {
	case m.Ask.Failed:
		s.drop(p, DropAssert)
		return tm.Drop
	case m.Get(a.egressSpec) == uint64(s.cfg.DropPort):
		s.drop(p, DropEgress)
		return tm.Drop
	}
	if s.tracer != nil {
		a.traceEnd(p)
	}
	m.Finish()
	if m.Ask.Recirculate != 0 {
		p.List = uint16(m.Ask.Recirculate)
		p.State = m.List(m.Ask.Recirculate, p.State)
		return tm.Recirculate
	}
	if s.internal(int(p.Out)) {
		s.drop(p, DropPort)
		return tm.Drop
	}
	if s.tracer != nil {
		a.traceSent(p)
	}
	return tm.Send
}

// cloneEgress queues the egress-to-egress clones of p: the present packet,
// before the deparser.
func (a *v1model) cloneEgress(p *tm.Packet) {
	s, m := a.s, a.m
	ask := m.Ask
	c := s.sessions[uint32(ask.CloneSession)]
	if s.tracer != nil {
		a.traceClone(p, ask.CloneSession, c)
	}
	if c == nil || len(c.replicas) == 0 {
		return
	}
	n := s.copies(p, len(c.replicas))
	if n == 0 {
		return
	}
	a.list = m.List(ask.CloneList, a.list)
	a.saved = m.SaveAll(a.saved)
	m.ResetMetadata()
	m.SetList(ask.CloneList, a.list)
	m.Set(a.instanceType, instanceEgressClone)
	clone := s.copyOf(p)
	clone.MarkClone()
	clone.MarkReplacing() // p leaves now
	a.sendClone(clone, c, n)
	m.ResumeAll(p.Frame, a.saved)
	m.Ask = ask
}
