// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// A Tracer follows packets through a switch with a v1model program that was compiled for
// tracing. Its functions run on the data path and must not keep frames.
type Tracer struct {
	// Follow reports whether a frame is followed.
	Follow func(f *packet.Frame) bool
	// Step gets what the program and the switch do with a followed frame, a line each.
	Step func(now vtime.Time, text string)
	// Copy is called with a followed frame and a copy of it, Drop when one is dropped.
	Copy func(from, to *packet.Frame)
	Drop func(f *packet.Frame)

	before map[*packet.Frame]seen
	chosen bool // the followed packet's ingress has set egress_spec
	marked bool // and marked it to be dropped
}

// seen is what a followed frame was when it arrived.
type seen struct {
	headers  []interp.HeaderValue
	checksum bool // it has an IPv4 header with a right checksum
	// transport is true if it has a UDP or TCP header with a right checksum.
	transport bool
	ttl       int // of an IPv4 header; -1 without one
	to        packet.MAC
	lost      bool // a header is not emitted
}

// Trace sets the tracer; nil removes it. Without one, packets cost nothing more.
func (s *Switch) Trace(t *Tracer) {
	if s.tracer = t; t != nil {
		t.before = make(map[*packet.Frame]seen)
	}
}

// step passes a line about a followed frame to the tracer.
func (s *Switch) step(format string, args ...any) {
	s.tracer.Step(s.net.Now(), fmt.Sprintf(format, args...))
}

// follows makes the machine trace the next steps if a frame is followed.
func (s *Switch) follows(m *interp.Machine, f *packet.Frame) bool {
	m.Trace = nil
	if !s.tracer.Follow(f) {
		return false
	}
	s.tracer.chosen, s.tracer.marked = false, false
	m.Trace = func(text string) {
		line := strings.TrimSpace(text)
		s.tracer.chosen = s.tracer.chosen || strings.HasPrefix(line, "standard_metadata.egress_spec = ")
		s.tracer.marked = s.tracer.marked || strings.HasPrefix(line, "mark_to_drop")
		s.tracer.Step(s.net.Now(), "  "+text)
	}
	return true
}

// following reports whether a frame is followed.
func (s *Switch) following(f *packet.Frame) bool { return s.tracer != nil && s.tracer.Follow(f) }

var instanceNames = map[uint64]string{instanceRecirc: ", recirculated", instanceResubmit: ", resubmitted"}

// traceArrival traces the start of ingress.
func (a *v1model) traceArrival(p *tm.Packet, instance uint64) {
	s := a.s
	if s.follows(a.m, p.Frame) {
		s.step("ingress, port %d%s: %d bytes, class %d: %s", s.numbers[p.In], instanceNames[instance], p.Frame.Len(), max(p.Class, 0), shown(p.Frame.Data))
	}
}

// traceParsed notes the headers of a followed packet after the parser.
func (a *v1model) traceParsed(p *tm.Packet) {
	s := a.s
	if !s.following(p.Frame) {
		return
	}
	if a.m.Ask.ParserError != 0 {
		s.step("  the parser ended with error.%s", a.m.State().Program.ErrorName(a.m.Ask.ParserError))
	}
	ttl := -1
	if ip := ipv4Of(p.Frame.Data); ip != nil {
		ttl = int(ip[8])
	}
	_, right, ok := transport(p.Frame)
	was := seen{headers: a.m.Headers(), checksum: checksumOK(p.Frame.Data), transport: ok && right, ttl: ttl}
	if eth := packet.AsEthernet(p.Frame.Data); eth != nil {
		was.to = eth.Dst()
	}
	s.tracer.before[p.Frame] = was
}

// shown returns the start of a frame in hexadecimal.
func shown(data []byte) string {
	const most = 64
	text := hex.EncodeToString(data[:min(len(data), most)])
	if len(data) > most {
		text += "…"
	}
	return text
}

// traceForward traces where a packet goes at the end of ingress.
func (a *v1model) traceForward(p *tm.Packet, port, queue int) {
	s := a.s
	if !s.following(p.Frame) {
		return
	}
	out, why := s.place(port), ""
	if port == 0 && !s.tracer.chosen {
		why = ": nothing in ingress has set egress_spec"
	}
	if out < 0 {
		s.step("to port %d, which the switch does not have%s (ports: %s)", port, why, a.portList())
		return
	}
	d := s.tm.Depth(out, queue)
	text := fmt.Sprintf("to port %d, queue %d, behind %d packets (%d bytes)", port, queue, d.Packets, d.Bytes)
	for c, since := range s.tm.PausedSince(out) {
		if c == queue {
			text += fmt.Sprintf(", PFC pauses it since %v", since)
		}
	}
	s.step("%s%s", text, why)
	if s.tracer.marked {
		s.step("note: the program has marked the packet to be dropped, and then set egress_spec: it is not dropped")
	}
}

func (a *v1model) portList() string {
	var list []string
	for i, n := range a.s.numbers {
		if !a.s.inside[i] && i != a.s.cpu {
			list = append(list, fmt.Sprint(n))
		}
	}
	return strings.Join(list, ", ")
}

// traceGroup traces the replication of a packet.
func (a *v1model) traceGroup(p *tm.Packet, number uint64, g *group) {
	s := a.s
	switch {
	case !s.following(p.Frame):
	case g == nil || len(g.replicas) == 0:
		what := "there is no such group"
		if g != nil {
			what = "the group has no ports"
		}
		s.step("to multicast group %d: %s (groups: %s)", number, what, keys(s.groups))
	default:
		var list []string
		for i := range g.replicas {
			port, rid := s.target(&g.replicas[i])
			list = append(list, fmt.Sprintf("port %d (instance %d)", port, rid))
		}
		s.step("to multicast group %d: %s", number, strings.Join(list, ", "))
	}
}

func keys[T any](m map[uint32]T) string {
	if len(m) == 0 {
		return "none"
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, fmt.Sprint(k))
	}
	return strings.Join(list, ", ")
}

// traceClone traces a request for a clone.
func (a *v1model) traceClone(p *tm.Packet, number uint16, c *session) {
	s := a.s
	switch {
	case !s.following(p.Frame):
	case c == nil || len(c.replicas) == 0:
		s.step("clone to session %d, which does not exist or has no ports (sessions: %s): no copy is made", number, keys(s.sessions))
	default:
		s.step("clone to session %d", number)
	}
}

// traceLeaving traces the start of egress.
func (a *v1model) traceLeaving(p *tm.Packet, now vtime.Time) {
	s := a.s
	if s.follows(a.m, p.Frame) {
		text := ""
		if p.Frame.Stalled {
			text = ", also because of PFC"
		}
		s.step("egress, port %d: it has waited for %v in queue %d%s", p.Port, now-p.Enqueued, p.Queue, text)
	}
}

// traceEnd traces the headers that the switch has changed, before they are written.
func (a *v1model) traceEnd(p *tm.Packet) {
	s := a.s
	if !s.following(p.Frame) {
		return
	}
	was := s.tracer.before[p.Frame]
	before := was.headers
	after := a.m.Headers()
	for i := range after {
		h := &after[i]
		if !h.Emitted {
			s.step("  header %s is valid, and the deparser does not emit it: it is lost", h.Name)
			was.lost = true
			s.tracer.before[p.Frame] = was
			continue
		}
		k := slices.IndexFunc(before, func(b interp.HeaderValue) bool { return b.Name == h.Name })
		if k < 0 {
			s.step("  added header %s", h)
			continue
		}
		var changes []string
		for j, f := range h.Fields {
			if was := before[k].Fields[j].Value; was != f.Value {
				changes = append(changes, fmt.Sprintf("%s %s → %s", f.Name, was, f.Value))
			}
		}
		if len(changes) > 0 {
			s.step("  changed %s: %s", h.Name, strings.Join(changes, ", "))
		}
	}
	a.traceOrder(before, after)
	for i := range before {
		if !slices.ContainsFunc(after, func(h interp.HeaderValue) bool { return h.Name == before[i].Name }) {
			s.step("  removed header %s", before[i].Name)
		}
	}
}

// traceOrder traces that headers leave in another order than that in which they arrived.
func (a *v1model) traceOrder(before, after []interp.HeaderValue) {
	last := interp.HeaderValue{Offset: -1}
	for i := range after {
		k := slices.IndexFunc(before, func(b interp.HeaderValue) bool { return b.Name == after[i].Name })
		if k < 0 || !after[i].Emitted || before[k].Offset < 0 {
			continue
		}
		if before[k].Offset < last.Offset {
			a.s.step("  note: the deparser emits header %s before %s, which arrived in the other order", last.Name, after[i].Name)
			return
		}
		last = before[k]
	}
}

// traceSent traces a frame that leaves, with what looks like a mistake in it.
func (a *v1model) traceSent(p *tm.Packet) {
	s := a.s
	if !s.following(p.Frame) {
		return
	}
	s.step("sent by port %d: %d bytes: %s", p.Port, p.Frame.Len(), shown(p.Frame.Data))
	was, known := s.tracer.before[p.Frame]
	if was.checksum && !was.lost && ipv4Of(p.Frame.Data) != nil && !checksumOK(p.Frame.Data) {
		s.step("note: the IPv4 checksum was right on arrival and is wrong now: the program changes the header without update_checksum")
	}
	if name, right, ok := transport(p.Frame); was.transport && ok && !right {
		s.step("note: the %s checksum was right on arrival and is wrong now: it also covers the IPv4 addresses, and a host drops the packet", name)
	}
	if ip := ipv4Of(p.Frame.Data); ip != nil {
		switch ttl := int(ip[8]); {
		case ttl == 0:
			s.step("note: the packet leaves with TTL 0: a router drops such packets")
		case known && was.ttl >= 0 && ttl > was.ttl:
			s.step("note: the packet arrived with TTL %d and leaves with TTL %d: a subtraction from 0 wraps, and a router drops packets with TTL 0 or 1", was.ttl, ttl)
		case known && ttl == was.ttl && was.to != packet.Ethernet(p.Frame.Data).Dst():
			s.step("note: the packet has another Ethernet destination and the TTL with which it arrived: a router decrements the TTL")
		}
	}
	delete(s.tracer.before, p.Frame)
}

// traceDrop traces a drop.
func (s *Switch) traceDrop(p *tm.Packet, cause DropCause) {
	if !s.following(p.Frame) {
		return
	}
	why := cause.String()
	switch cause {
	case DropIngress:
		why = fmt.Sprintf("the program drops it in ingress: egress_spec is %d (mark_to_drop)", s.cfg.DropPort)
	case DropEgress:
		why = fmt.Sprintf("the program drops it in egress: egress_spec is %d (mark_to_drop)", s.cfg.DropPort)
	case DropPort:
		why = fmt.Sprintf("the switch has no port %d", p.Port)
	case DropLoop:
		why = "it has passed the switch too often: the program recirculates or resubmits it without an end"
	}
	s.step("dropped: %s", why)
	delete(s.tracer.before, p.Frame)
	s.tracer.Drop(p.Frame)
}

// ipv4Of returns the IPv4 header of a frame without tags, or nil.
func ipv4Of(d []byte) packet.IPv4 {
	if len(d) < packet.EthernetLen || packet.Ethernet(d).EtherType() != packet.EtherTypeIPv4 {
		return nil
	}
	return packet.AsIPv4(d[packet.EthernetLen:])
}

// transport reports whether the UDP or TCP checksum of a frame is right; ok is false if it has
// none.
func transport(f *packet.Frame) (name string, right, ok bool) {
	ip := ipv4Of(f.Data)
	if ip == nil || ip.TotalLen() < ip.HeaderLen() || ip.HeaderLen() > len(ip) || binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 {
		return "", false, false
	}
	length := ip.TotalLen() - ip.HeaderLen()
	data := ip[ip.HeaderLen():min(ip.TotalLen(), len(ip))] // what is elided is zeros
	switch at := ip.Protocol(); {
	case at == packet.ProtoUDP && len(data) >= 8 && (data[6] != 0 || data[7] != 0):
		name = "UDP"
	case at == packet.ProtoTCP && len(data) >= 20:
		name = "TCP"
	default:
		return "", false, false
	}
	if len(data) < length && int(f.Elided) < length-len(data) {
		return "", false, false
	}
	pseudo := append(append([]byte(nil), ip[12:20]...), 0, ip.Protocol(), byte(length>>8), byte(length))
	return name, packet.Checksum(append(pseudo, data...)) == 0, true
}

// checksumOK reports whether a frame has an IPv4 header with a right checksum.
func checksumOK(d []byte) bool {
	ip := ipv4Of(d)
	if ip == nil {
		return false
	}
	sum := uint32(0)
	for i := 0; i < int(ip[0]&0xf)*4; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return sum == 0xffff
}
