// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"errors"
	"io"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/packet"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// StreamChannel implements the RPC of this name: arbitration, packets, digest
// acknowledgements, and all notifications of the switch.
func (s *Server) StreamChannel(stream p4v1.P4Runtime_StreamChannelServer) error {
	if n := s.arb.streams.Add(1); n > maxClients {
		s.arb.streams.Add(-1)
		return status.Errorf(codes.ResourceExhausted, "there are %d streams already", maxClients)
	}
	defer s.arb.streams.Add(-1)
	c := s.newClient()
	c.peer = peerOf(stream.Context())
	failed := make(chan error, 1)
	go func() {
		for {
			select {
			case m := <-c.out:
				err := stream.Send(m)
				c.queued.Add(-int64(proto.Size(m)))
				if err != nil {
					failed <- err
					return
				}
			case <-c.gone:
				return
			}
		}
	}()
	defer close(c.gone)
	defer s.arb.leave(c)
	received := make(chan *p4v1.StreamMessageRequest)
	ended := make(chan error, 1)
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				ended <- err
				return
			}
			if m.GetArbitration() != nil || !s.arb.hasPrimary(c.peer) {
				s.messages.spend(messageTime)
				_ = s.messages.wait(stream.Context()) // Recv returns the error
			}
			select {
			case received <- m:
			case <-c.gone:
				return
			}
		}
	}()
	for {
		select {
		case m := <-received:
			if err := s.handle(c, m); err != nil {
				return err
			}
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case err := <-failed:
			return err
		}
	}
}

// send queues a message for a controller. It returns false if it dropped the
// message because the controller does not read.
func (c *client) send(m *p4v1.StreamMessageResponse) bool {
	n := int64(proto.Size(m))
	if c.queued.Add(n) <= c.room {
		select {
		case c.out <- m:
			return true
		default:
		}
	}
	c.queued.Add(-n)
	if n := c.dropped.Add(1); powerOfTen(n) {
		c.log.Warn("a controller does not read its messages: some are lost", "election", c.id.Load(), "lost", n, "backlog", cap(c.out))
	}
	return false
}

// powerOfTen reports whether a number of losses is logged: 1, 10, 100 …
func powerOfTen(n uint64) bool {
	for n%10 == 0 && n > 0 {
		n /= 10
	}
	return n == 1
}

// handle handles one message of a controller. An error ends the stream.
func (s *Server) handle(c *client, m *p4v1.StreamMessageRequest) error {
	switch u := m.Update.(type) {
	case *p4v1.StreamMessageRequest_Arbitration:
		return s.arb.update(c, u.Arbitration)
	case *p4v1.StreamMessageRequest_Packet:
		if err := s.packetOut(c, u.Packet); err != nil {
			c.send(streamError(err, &p4v1.StreamError{Details: &p4v1.StreamError_PacketOut{PacketOut: &p4v1.PacketOutError{PacketOut: u.Packet}}}))
		}
	case *p4v1.StreamMessageRequest_DigestAck:
		if err := s.digestAck(c, u.DigestAck); err != nil {
			c.send(streamError(err, &p4v1.StreamError{Details: &p4v1.StreamError_DigestListAck{DigestListAck: &p4v1.DigestListAckError{DigestListAck: u.DigestAck}}}))
		}
	case *p4v1.StreamMessageRequest_Other:
		err := status.Error(codes.Unimplemented, "this architecture has no messages of its own")
		c.send(streamError(err, &p4v1.StreamError{Details: &p4v1.StreamError_Other{Other: &p4v1.StreamOtherError{Other: u.Other}}}))
	default:
		c.send(streamError(status.Error(codes.InvalidArgument, "the message has no content"), &p4v1.StreamError{}))
	}
	return nil
}

// streamError returns a message for an error. It repeats the rejected message
// unless that is large.
func streamError(err error, e *p4v1.StreamError) *p4v1.StreamMessageResponse {
	st := status.Convert(err)
	if proto.Size(e) > maxEcho {
		e.Details = nil
	}
	e.CanonicalCode, e.Message = int32(st.Code()), brief(st.Message())
	return &p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Error{Error: e}}
}

// outcome is the result of sending a message to the primaries.
type outcome uint8

const (
	noPrimary outcome = iota // no controller is primary
	noRoom                   // none had room
	sent                     // at least one has it queued
)

// notify sends a message to the primary of each role whose scope concerns
// accepts.
func (s *Server) notify(m *p4v1.StreamMessageResponse, concerns func(*scope) bool) outcome {
	result := noPrimary
	for _, c := range s.arb.primaries() {
		if c.scope != nil && !concerns(c.scope) {
			continue
		}
		if c.send(m) {
			s.told.Add(1)
			result = sent
		} else {
			result = max(result, noRoom)
		}
	}
	return result
}

// Told returns the number of packets, digest lists and notifications that were queued for
// primary controllers.
func (s *Server) Told() uint64 { return s.told.Load() }

// Primary reports whether a controller is primary, and whether messages wait that were
// not yet handed to the connection of a controller.
func (s *Server) Primary() (is, waiting bool) {
	s.arb.mu.Lock()
	defer s.arb.mu.Unlock()
	for _, r := range s.arb.roles {
		is = is || r.primary != nil
		for _, c := range r.clients {
			waiting = waiting || c.queued.Load() > 0
		}
	}
	return is, waiting
}

// packetHeader is a controller header: it precedes the packet on the CPU port.
type packetHeader struct {
	fields []packetField
	bits   int
}

type packetField struct {
	id    uint32
	name  string
	width int
	bit   int
	trans *translation // nil: none
}

func (b *bindings) bindPacketIO() {
	for _, h := range b.info.ControllerPacketMetadata {
		to := map[string]**packetHeader{"packet_in": &b.p.packetIn, "packet_out": &b.p.packetOut}[h.GetPreamble().GetName()]
		if to == nil {
			continue // no header of packets from or to the controller
		}
		if *to != nil {
			b.errorf("the P4Info has two headers %s", h.Preamble.Name)
			continue
		}
		ph := &packetHeader{}
		widths := b.headerWidths(h)
		for i, m := range h.Metadata {
			width := int(m.Bitwidth)
			var trans *translation
			if widths != nil {
				if trans = b.translated(m.GetTypeName().GetName(), widths[i], "metadata "+m.Name); trans != nil {
					width = widths[i]
				}
			}
			if width < 1 || width > 1<<12 {
				b.errorf("metadata %s of %s has %d bits", m.Name, h.Preamble.GetName(), width)
				continue
			}
			ph.fields = append(ph.fields, packetField{m.Id, m.Name, width, ph.bits, trans})
			ph.bits += width
		}
		if ph.bits%8 != 0 {
			b.errorf("header %s has %d bits, not whole bytes", h.Preamble.GetName(), ph.bits)
		}
		*to = ph
	}
}

// packetIO has the data path's state for packet-in. The switch's lock guards
// it.
type packetIO struct {
	in *packetHeader
	d  *device
}

// headerWidths returns the widths in the program of a controller header's
// fields, which the P4Info lacks for translated types. It returns nil if the
// program has no such header.
func (b *bindings) headerWidths(h *p4configv1.ControllerPacketMetadata) []int {
next:
	for _, t := range b.json.HeaderTypes {
		if len(t.Fields) != len(h.Metadata) || len(t.Fields) == 0 {
			continue
		}
		var widths []int
		for i, f := range t.Fields {
			if f.Name != h.Metadata[i].Name {
				continue next
			}
			widths = append(widths, f.Width)
		}
		return widths
	}
	return nil
}

// packetOut sends a controller's packet into the switch.
func (s *Server) packetOut(c *client, m *p4v1.PacketOut) error {
	if err := s.arb.maySend(c); err != nil {
		return err
	}
	s.writes.RLock()
	d := s.committed
	s.writes.RUnlock()
	if d == nil {
		return status.Error(codes.FailedPrecondition, "no forwarding pipeline is set")
	}
	data, err := d.packetOut.join(&device{pipeline: d.pipeline, names: d.names}, m)
	if err != nil {
		return err
	}
	defer s.sw.Hold()()
	s.sw.PacketOut(data)
	return nil
}

// join returns the header and the payload of a packet-out.
func (h *packetHeader) join(d *device, m *p4v1.PacketOut) ([]byte, error) {
	if h == nil {
		if len(m.Metadata) > 0 {
			return nil, status.Error(codes.InvalidArgument, "the program has no packet_out header, so a packet has no metadata")
		}
		return m.Payload, nil
	}
	data := make([]byte, h.bits/8, h.bits/8+len(m.Payload))
	seen := map[uint32]bool{}
	for _, md := range m.Metadata {
		f := h.field(md.MetadataId)
		if f == nil {
			return nil, status.Errorf(codes.InvalidArgument, "unknown metadata id %d", md.MetadataId)
		}
		if seen[f.id] {
			return nil, status.Errorf(codes.InvalidArgument, "metadata %s is given twice", f.name)
		}
		seen[f.id] = true
		v, err := d.parse(f.trans, md.Value, f.width, "metadata "+f.name)
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "%s", status.Convert(err).Message())
		}
		for i := range f.width { // from the least significant bit
			if v[i/64]>>(i%64)&1 != 0 {
				at := f.bit + f.width - 1 - i
				data[at/8] |= 0x80 >> (at % 8)
			}
		}
	}
	for _, f := range h.fields {
		if !seen[f.id] && f.name != "_pad" && f.name != "_padding" {
			return nil, status.Errorf(codes.InvalidArgument, "metadata %s (id %d) is missing", f.name, f.id)
		}
	}
	return append(data, m.Payload...), nil
}

func (h *packetHeader) field(id uint32) *packetField {
	for i := range h.fields {
		if h.fields[i].id == id {
			return &h.fields[i]
		}
	}
	return nil
}

// packetIn sends a packet from the CPU port to the controllers. It runs on the
// data path.
func (s *Server) packetIn(f *packet.Frame) {
	m := &p4v1.PacketIn{}
	data := make([]byte, f.Len())
	copy(data, f.Data)
	if h := s.packets.in; h != nil {
		n := h.bits / 8
		if len(data) < n {
			s.log.Warn("packet for the controller is shorter than its header", "bytes", len(data))
			return
		}
		for _, pf := range h.fields {
			v := make([]uint64, (pf.width+63)/64)
			for i := range pf.width {
				at := pf.bit + pf.width - 1 - i
				if data[at/8]&(0x80>>(at%8)) != 0 {
					v[i/64] |= 1 << (i % 64)
				}
			}
			m.Metadata = append(m.Metadata, &p4v1.PacketMetadata{MetadataId: pf.id, Value: s.packets.d.format(pf.trans, v)})
		}
		data = data[n:]
	}
	m.Payload = data
	s.notify(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Packet{Packet: m}}, func(sc *scope) bool { return sc.packetIn })
}
