// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// responseEntities is how many entities one message of a read carries.
const responseEntities = 1024

// Read implements the RPC of this name. It sees all of a write or nothing.
func (s *Server) Read(r *p4v1.ReadRequest, stream p4v1.P4Runtime_ReadServer) error {
	if err := s.checkDevice(r.DeviceId); err != nil {
		return err
	}
	s.writes.RLock()
	defer s.writes.RUnlock()
	d, err := s.current()
	if err != nil {
		return err
	}
	// What is read is gathered before it is sent: a client that reads slowly
	// must not hold up writes for longer than it takes.
	var list []*p4v1.Entity
	errs := make([]error, len(r.Entities))
	failed := false
	for i, e := range r.Entities {
		if errs[i] = d.read(e, func(x *p4v1.Entity) { list = append(list, x) }); errs[i] != nil {
			failed = true
		}
	}
	for first := true; first || len(list) > 0; first = false {
		n := min(len(list), responseEntities)
		if err := stream.Send(&p4v1.ReadResponse{Entities: list[:n]}); err != nil {
			return err
		}
		list = list[n:]
	}
	if failed {
		return batchError("Read failure.", errs)
	}
	return nil
}

// read reads what one request selects.
func (d *device) read(e *p4v1.Entity, emit func(*p4v1.Entity)) error {
	switch x := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return d.readTable(x.TableEntry, emit)
	case *p4v1.Entity_ActionProfileMember:
		return d.readMembers(x.ActionProfileMember, emit)
	case *p4v1.Entity_ActionProfileGroup:
		return d.readGroups(x.ActionProfileGroup, emit)
	case *p4v1.Entity_CounterEntry:
		return d.readCounters(x.CounterEntry, emit)
	case *p4v1.Entity_DirectCounterEntry:
		return d.readDirectCounters(x.DirectCounterEntry, emit)
	case *p4v1.Entity_MeterEntry:
		return d.readMeters(x.MeterEntry, emit)
	case *p4v1.Entity_DirectMeterEntry:
		return d.readDirectMeters(x.DirectMeterEntry, emit)
	case *p4v1.Entity_RegisterEntry:
		return d.readRegisters(x.RegisterEntry, emit)
	case *p4v1.Entity_ValueSetEntry:
		return d.readValueSets(x.ValueSetEntry, emit)
	case *p4v1.Entity_PacketReplicationEngineEntry:
		return d.readPRE(x.PacketReplicationEngineEntry, emit)
	case *p4v1.Entity_DigestEntry:
		return d.readDigests(x.DigestEntry, emit)
	case *p4v1.Entity_ExternEntry:
		if x.ExternEntry.GetExternTypeId() == 0 {
			return nil // all extern instances: there are none
		}
		return status.Errorf(codes.InvalidArgument, "unknown extern type id %d: v1model has no externs of its own", x.ExternEntry.ExternTypeId)
	}
	return status.Error(codes.InvalidArgument, "a request has no entity")
}
