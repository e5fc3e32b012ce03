// SPDX-License-Identifier: Apache-2.0

package p4rttest

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stream is one controller's StreamChannel. The server's lock guards its
// fields.
type stream struct {
	id      *p4v1.Uint128 // nil before the first arbitration update, and for a client that sends none
	role    string        // elections are separate for each role
	primary bool
	out     chan *p4v1.StreamMessageResponse
	ended   chan error
}

func (st *stream) end(err error) {
	select {
	case st.ended <- err:
	default:
	}
}

// notify queues a message, and drops it if the controller does not read.
func (st *stream) notify(m *p4v1.StreamMessageResponse) {
	select {
	case st.out <- m:
	default:
	}
}

// StreamChannel implements the P4Runtime service.
func (s *Server) StreamChannel(ch p4v1.P4Runtime_StreamChannelServer) error {
	st := &stream{out: make(chan *p4v1.StreamMessageResponse, 1<<16), ended: make(chan error, 1)}
	defer s.gone(st)
	go func() {
		for {
			m, err := ch.Recv()
			if err != nil {
				st.end(nil)
				return
			}
			if err := s.stall(ch.Context()); err != nil {
				st.end(err)
				return
			}
			if err := s.received(st, m); err != nil {
				st.end(err)
				return
			}
		}
	}()
	for {
		select {
		case err := <-st.ended:
			return err
		case m := <-st.out:
			if err := ch.Send(m); err != nil {
				return err
			}
		}
	}
}

func (s *Server) received(st *stream, m *p4v1.StreamMessageRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := m.Update.(type) {
	case *p4v1.StreamMessageRequest_Arbitration:
		return s.arbitrate(st, m.Arbitration)
	case *p4v1.StreamMessageRequest_Packet:
		if !st.primary {
			st.notify(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Error{Error: &p4v1.StreamError{
				CanonicalCode: int32(codes.PermissionDenied), Message: "not primary",
			}}})
			return nil
		}
		s.packets = append(s.packets, m.Packet)
	case *p4v1.StreamMessageRequest_DigestAck:
		s.acks = append(s.acks, m.DigestAck)
	}
	return nil
}

// arbitrate implements the specification's rules for arbitration updates.
func (s *Server) arbitrate(st *stream, u *p4v1.MasterArbitrationUpdate) error {
	if err := s.checkDevice(u.DeviceId); err != nil {
		return err
	}
	id, role := u.ElectionId, u.GetRole().GetName()
	if s.BMv2 { // has no roles, and treats no ID as 0
		role = ""
		if id == nil {
			id = &p4v1.Uint128{}
		}
	}
	for other := range s.streams {
		if other != st && other.role == role && id != nil && other.id != nil && compare(other.id, id) == 0 {
			return status.Error(codes.InvalidArgument, "Election id already exists")
		}
	}
	s.streams[st] = true
	st.id, st.role = id, role
	was := st.primary
	if s.BMv2 {
		s.elect()
		s.notifyAll(role)
		return nil
	}
	if highest := s.highest[role]; id != nil && (highest == nil || compare(id, highest) >= 0) {
		for other := range s.streams {
			if other.role == role {
				other.primary = other == st
			}
		}
		s.highest[role] = id
		s.notifyAll(role)
		return nil
	}
	st.primary = false
	if was {
		s.notifyAll(role)
	} else {
		s.notifyOne(st)
	}
	return nil
}

// elect makes the connected controller with the highest ID primary, like BMv2.
func (s *Server) elect() {
	var best *stream
	for st := range s.streams {
		st.primary = false
		if st.id != nil && (best == nil || compare(st.id, best.id) > 0) {
			best = st
		}
	}
	if best != nil {
		best.primary = true
		s.highest[""] = best.id
	}
}

func (s *Server) notifyAll(role string) {
	for st := range s.streams {
		if st.role == role {
			s.notifyOne(st)
		}
	}
}

func (s *Server) notifyOne(st *stream) {
	code := codes.NotFound
	for other := range s.streams {
		if other.primary && other.role == st.role {
			code = codes.AlreadyExists
		}
	}
	if st.primary {
		code = codes.OK
	}
	u := &p4v1.MasterArbitrationUpdate{DeviceId: s.DeviceID, ElectionId: s.highest[st.role], Status: &rpcstatus.Status{Code: int32(code)}}
	if st.role != "" {
		u.Role = &p4v1.Role{Name: st.role}
	}
	st.notify(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Arbitration{Arbitration: u}})
}

func (s *Server) gone(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
	if !st.primary {
		return
	}
	if s.BMv2 {
		s.elect()
	}
	s.notifyAll(st.role)
}

// Hold occupies an election ID until release is called, like the stream of a
// failed controller that the switch has not noticed.
func (s *Server) Hold(id uint64) (release func()) {
	st := &stream{id: &p4v1.Uint128{Low: id}, out: make(chan *p4v1.StreamMessageResponse, 1<<16), ended: make(chan error, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[st] = true
	return func() { s.gone(st) }
}

// SendPacket sends a packet to the primary of every role.
func (s *Server) SendPacket(p *p4v1.PacketIn) {
	s.toPrimary(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Packet{Packet: p}})
}

// SendDigest sends a digest list to the primary of every role.
func (s *Server) SendDigest(l *p4v1.DigestList) {
	s.toPrimary(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Digest{Digest: l}})
}

func (s *Server) toPrimary(m *p4v1.StreamMessageResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.streams {
		if st.primary {
			st.notify(m)
		}
	}
}
