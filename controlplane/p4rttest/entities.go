// SPDX-License-Identifier: Apache-2.0

package p4rttest

import (
	"context"
	"slices"
	"time"

	"github.com/pauseless/pauseless/controlplane/schema"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Write implements the P4Runtime service.
func (s *Server) Write(_ context.Context, r *p4v1.WriteRequest) (*p4v1.WriteResponse, error) {
	err := s.write(r)
	s.mu.Lock()
	after, n := s.afterWrite, s.writes
	s.mu.Unlock()
	if after != nil {
		after(n)
	}
	if err != nil {
		return nil, err
	}
	return &p4v1.WriteResponse{}, nil
}

func (s *Server) write(r *p4v1.WriteRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkDevice(r.DeviceId); err != nil {
		return err
	}
	if err := s.checkPrimary(r.ElectionId); err != nil {
		return err
	}
	if s.config == nil {
		return status.Error(codes.FailedPrecondition, "no pipeline")
	}
	if s.failWrite == 0 {
		s.failWrite = -1
		return status.Error(codes.Unavailable, "connection reset by test")
	}
	if s.failWrite > 0 {
		s.failWrite--
	}
	s.writes++
	st := status.New(codes.Unknown, "write failure")
	failed := false
	var details []*p4v1.Error
	for _, u := range r.Updates {
		e := s.update(u)
		failed = failed || e.CanonicalCode != int32(codes.OK)
		details = append(details, e)
	}
	s.updates += len(r.Updates)
	if !failed {
		return nil
	}
	p := st.Proto()
	for _, e := range details {
		a, err := anypb.New(e)
		if err != nil {
			return err
		}
		p.Details = append(p.Details, a)
	}
	return status.FromProto(p).Err()
}

func (s *Server) update(u *p4v1.Update) *p4v1.Error {
	ok := &p4v1.Error{}
	key := schema.Key(u.Entity)
	old := s.entities[key]
	if reg := u.Entity.GetRegisterEntry(); reg != nil {
		return s.updateRegister(u.Type, reg)
	}
	if te := u.Entity.GetTableEntry(); te != nil {
		t := s.table(te.TableId)
		switch {
		case t == nil:
			return errorf(codes.InvalidArgument, "no table %#x", te.TableId)
		case te.IsDefaultAction && u.Type != p4v1.Update_MODIFY:
			return errorf(codes.InvalidArgument, "default entries are modified")
		case te.IsDefaultAction && te.Action == nil:
			delete(s.entities, key)
			return ok
		case te.IsDefaultAction:
			s.entities[key] = u.Entity
			return ok
		case u.Type == p4v1.Update_INSERT && old == nil && s.count(te.TableId) >= t.Size:
			return errorf(codes.ResourceExhausted, "table is full")
		}
	}
	switch u.Type {
	case p4v1.Update_INSERT:
		if old != nil {
			return errorf(codes.AlreadyExists, "entry exists")
		}
		s.entities[key] = u.Entity
	case p4v1.Update_MODIFY:
		_, meter := u.Entity.Entity.(*p4v1.Entity_MeterEntry)
		_, counter := u.Entity.Entity.(*p4v1.Entity_CounterEntry)
		if old == nil && !meter && !counter {
			return errorf(codes.NotFound, "no such entry")
		}
		s.entities[key] = u.Entity
	case p4v1.Update_DELETE:
		if old == nil {
			return errorf(codes.NotFound, "no such entry")
		}
		delete(s.entities, key)
	default:
		return errorf(codes.InvalidArgument, "update of type %v", u.Type)
	}
	return ok
}

func (s *Server) updateRegister(typ p4v1.Update_Type, r *p4v1.RegisterEntry) *p4v1.Error {
	if s.BMv2 {
		return errorf(codes.Unimplemented, "Register writes are not supported yet")
	}
	if typ != p4v1.Update_MODIFY {
		return errorf(codes.InvalidArgument, "registers are modified")
	}
	hit := false
	for k, e := range s.entities {
		x := e.GetRegisterEntry()
		if x == nil || x.RegisterId != r.RegisterId || r.Index != nil && x.Index.Index != r.Index.Index {
			continue
		}
		hit = true
		s.entities[k] = &p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: &p4v1.RegisterEntry{
			RegisterId: x.RegisterId, Index: x.Index, Data: r.Data,
		}}}
	}
	if !hit {
		return errorf(codes.OutOfRange, "no such cell")
	}
	return &p4v1.Error{}
}

func (s *Server) table(id uint32) *p4configv1.Table {
	for _, t := range s.info.GetTables() {
		if t.Preamble.Id == id {
			return t
		}
	}
	return nil
}

func (s *Server) count(table uint32) (n int64) {
	for _, e := range s.entities {
		if t := e.GetTableEntry(); t != nil && t.TableId == table && !t.IsDefaultAction {
			n++
		}
	}
	return n
}

// Read implements the P4Runtime service.
func (s *Server) Read(r *p4v1.ReadRequest, ch p4v1.P4Runtime_ReadServer) error {
	if err := s.stall(ch.Context()); err != nil {
		return err
	}
	for s.Endless != nil {
		if err := ch.Send(s.Endless); err != nil {
			return err
		}
		select {
		case <-time.After(s.Pause):
		case <-ch.Context().Done():
			return ch.Context().Err()
		}
	}
	s.mu.Lock()
	if err := s.checkDevice(r.DeviceId); err != nil {
		s.mu.Unlock()
		return err
	}
	if s.config == nil {
		s.mu.Unlock()
		return status.Error(codes.FailedPrecondition, "no pipeline")
	}
	var out []*p4v1.Entity
	for _, q := range r.Entities {
		if s.BMv2 && (q.GetRegisterEntry() != nil || q.GetDigestEntry() != nil && q.GetDigestEntry().DigestId == 0) {
			s.mu.Unlock()
			return status.Error(codes.Unimplemented, "Register reads are not supported yet")
		}
		for _, e := range s.entities {
			if matches(q, e) {
				out = append(out, proto.Clone(e).(*p4v1.Entity))
			}
		}
	}
	s.mu.Unlock()
	const part = 500
	for len(out) > 0 {
		n := min(part, len(out))
		if err := ch.Send(&p4v1.ReadResponse{Entities: out[:n]}); err != nil {
			return err
		}
		out = slices.Delete(out, 0, n)
	}
	return nil
}

// matches reports whether a query selects an entity.
func matches(q, e *p4v1.Entity) bool {
	switch q := q.Entity.(type) {
	case *p4v1.Entity_TableEntry:
		x := e.GetTableEntry()
		if x == nil || q.TableEntry.TableId != 0 && q.TableEntry.TableId != x.TableId || q.TableEntry.IsDefaultAction != x.IsDefaultAction {
			return false
		}
		return len(q.TableEntry.Match) == 0 || schema.Key(&p4v1.Entity{Entity: q}) == schema.Key(e)
	case *p4v1.Entity_RegisterEntry:
		x := e.GetRegisterEntry()
		return x != nil && q.RegisterEntry.RegisterId == x.RegisterId && (q.RegisterEntry.Index == nil || q.RegisterEntry.Index.Index == x.Index.Index)
	case *p4v1.Entity_CounterEntry:
		x := e.GetCounterEntry()
		return x != nil && q.CounterEntry.CounterId == x.CounterId && (q.CounterEntry.Index == nil || q.CounterEntry.Index.Index == x.Index.Index)
	case *p4v1.Entity_MeterEntry:
		x := e.GetMeterEntry()
		return x != nil && q.MeterEntry.MeterId == x.MeterId && (q.MeterEntry.Index == nil || q.MeterEntry.Index.Index == x.Index.Index)
	case *p4v1.Entity_PacketReplicationEngineEntry:
		p := q.PacketReplicationEngineEntry
		x := e.GetPacketReplicationEngineEntry()
		if g := p.GetMulticastGroupEntry(); g != nil {
			return x.GetMulticastGroupEntry() != nil && (g.MulticastGroupId == 0 || g.MulticastGroupId == x.GetMulticastGroupEntry().MulticastGroupId)
		}
		return x.GetCloneSessionEntry() != nil && (p.GetCloneSessionEntry().GetSessionId() == 0 || p.GetCloneSessionEntry().SessionId == x.GetCloneSessionEntry().SessionId)
	case *p4v1.Entity_ActionProfileMember:
		x := e.GetActionProfileMember()
		return x != nil && (q.ActionProfileMember.ActionProfileId == 0 || q.ActionProfileMember.ActionProfileId == x.ActionProfileId)
	case *p4v1.Entity_ActionProfileGroup:
		x := e.GetActionProfileGroup()
		return x != nil && (q.ActionProfileGroup.ActionProfileId == 0 || q.ActionProfileGroup.ActionProfileId == x.ActionProfileId)
	case *p4v1.Entity_DigestEntry:
		x := e.GetDigestEntry()
		return x != nil && (q.DigestEntry.DigestId == 0 || q.DigestEntry.DigestId == x.DigestId)
	}
	return false
}
