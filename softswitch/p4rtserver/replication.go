// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// replicaPort parses the port of a replica, from either field.
func replicaPort(port []byte, number uint32) (int, error) {
	if len(port) == 0 {
		return int(number), nil
	}
	v, err := parseBytes(port, 32, "port of a replica")
	if err != nil {
		return 0, status.Error(codes.InvalidArgument, status.Convert(err).Message())
	}
	return int(v[0]), nil
}

// checkReplicas checks the replicas of a group or session: each pair of port
// and instance must be unique (9.5.1). It returns them as they are read: with the
// shortest byte strings.
func (d *device) checkReplicas(list []*p4v1.Replica) ([]*p4v1.Replica, error) {
	type pair struct {
		port     int
		instance uint32
	}
	seen := map[pair]bool{}
	check := func(port []byte, number, instance uint32) (int, error) {
		n, err := replicaPort(port, number)
		switch p := (pair{n, instance}); {
		case err != nil:
			return 0, err
		case !d.s.sw.HasPort(n):
			return 0, status.Errorf(codes.InvalidArgument, "the switch has no port %d for a replica", n)
		case instance > 0xffff:
			return 0, status.Errorf(codes.InvalidArgument, "instance %d does not fit the 16 bits of egress_rid", instance)
		case seen[p]:
			return 0, status.Errorf(codes.InvalidArgument, "port %d with instance %d is given twice", n, instance)
		default:
			seen[p] = true
		}
		return n, nil
	}
	shown := make([]*p4v1.Replica, 0, len(list))
	for _, r := range list {
		port, err := check(r.GetPort(), egressPort(r), r.Instance)
		if err != nil {
			return nil, err
		}
		one := &p4v1.Replica{Instance: r.Instance}
		if len(r.GetPort()) > 0 {
			one.PortKind = &p4v1.Replica_Port{Port: portBytes(port)}
		} else {
			setEgressPort(one, uint32(port))
		}
		for _, b := range r.BackupReplicas {
			n, err := check(b.GetPort(), 0, b.Instance)
			if err != nil {
				return nil, err
			}
			if n == port {
				return nil, status.Errorf(codes.InvalidArgument, "port %d is its own backup", port)
			}
			one.BackupReplicas = append(one.BackupReplicas, &p4v1.BackupReplica{Port: portBytes(n), Instance: b.Instance})
		}
		shown = append(shown, one)
	}
	return shown, nil
}

// replicas converts checked replicas to the switch's.
func (d *device) replicas(list []*p4v1.Replica) []softswitch.Replica {
	var out []softswitch.Replica
	for _, r := range list {
		port, _ := replicaPort(r.GetPort(), egressPort(r))
		rep := softswitch.Replica{Port: port, Instance: uint16(r.Instance)}
		for _, b := range r.BackupReplicas {
			port, _ := replicaPort(b.GetPort(), 0)
			rep.Backups = append(rep.Backups, softswitch.Backup{Port: port, Instance: uint16(b.Instance)})
		}
		out = append(out, rep)
	}
	return out
}

func (d *device) decodePRE(typ p4v1.Update_Type, e *p4v1.PacketReplicationEngineEntry) (op, error) {
	switch x := e.GetType().(type) {
	case *p4v1.PacketReplicationEngineEntry_MulticastGroupEntry:
		return d.decodeGroupEntry(typ, x.MulticastGroupEntry)
	case *p4v1.PacketReplicationEngineEntry_CloneSessionEntry:
		return d.decodeSession(typ, x.CloneSessionEntry)
	}
	return nil, status.Error(codes.InvalidArgument, "the packet replication engine entry is neither a multicast group nor a clone session")
}

func (d *device) decodeGroupEntry(typ p4v1.Update_Type, g *p4v1.MulticastGroupEntry) (op, error) {
	id := g.GetMulticastGroupId()
	if id == 0 || id > 0xffff {
		return nil, status.Errorf(codes.InvalidArgument, "multicast group id %d: must be 1 to 65535", id)
	}
	if typ == p4v1.Update_DELETE {
		g = nil
	} else {
		list, err := d.checkReplicas(g.Replicas)
		if err != nil {
			return nil, err
		}
		g = &p4v1.MulticastGroupEntry{MulticastGroupId: id, Replicas: list, Metadata: g.Metadata}
	}
	return update{1, func(d *device) error {
		old := d.groups[id]
		if err := exists(typ, old != nil, "multicast group", id); err != nil {
			return err
		}
		if err := d.charge(replicasCost(g) - replicasCost(old)); err != nil {
			return err
		}
		d.setGroup(id, g)
		d.onRevert(func() { d.setGroup(id, old) })
		return nil
	}}, nil
}

// replicasCost is the memory of a group or session in bytes, 0 for nil.
func replicasCost[T interface {
	comparable
	proto.Message
	GetReplicas() []*p4v1.Replica
}](m T) int64 {
	var none T
	if m == none {
		return 0
	}
	n := int64(groupBytes + 4*proto.Size(m))
	for _, r := range m.GetReplicas() {
		n += replicaBytes * int64(1+len(r.BackupReplicas))
	}
	return n
}

// exists checks that an object exists, or for an insertion that it does not.
func exists(typ p4v1.Update_Type, is bool, what string, id uint32) error {
	switch {
	case typ == p4v1.Update_INSERT && is:
		return status.Errorf(codes.AlreadyExists, "%s %d exists", what, id)
	case typ != p4v1.Update_INSERT && !is:
		return status.Errorf(codes.NotFound, "no %s %d", what, id)
	}
	return nil
}

// setGroup sets or, with nil, removes a multicast group.
func (d *device) setGroup(id uint32, g *p4v1.MulticastGroupEntry) {
	touchKey(d, &d.groups, id, sameMulticast)
	if g == nil {
		delete(d.groups, id)
	} else {
		d.groups[id] = g
	}
	switch {
	case !d.live:
	case g == nil:
		d.s.sw.DeleteGroup(id)
	default:
		d.s.sw.SetGroup(id, d.replicas(g.Replicas))
	}
}

func (d *device) decodeSession(typ p4v1.Update_Type, c *p4v1.CloneSessionEntry) (op, error) {
	id := c.GetSessionId()
	if id == 0 || id > 0x7fff {
		return nil, status.Errorf(codes.InvalidArgument, "clone session id %d: must be 1 to 32767", id)
	}
	if typ == p4v1.Update_DELETE {
		c = nil
	} else {
		list, err := d.checkReplicas(c.Replicas)
		if err != nil {
			return nil, err
		}
		c = &p4v1.CloneSessionEntry{SessionId: id, Replicas: list, ClassOfService: c.ClassOfService, PacketLengthBytes: c.PacketLengthBytes}
		switch {
		case c.ClassOfService > 7:
			return nil, status.Errorf(codes.InvalidArgument, "clone session %d: class of service %d, must be 0 to 7", id, c.ClassOfService)
		case c.PacketLengthBytes < 0:
			return nil, status.Errorf(codes.InvalidArgument, "clone session %d: a packet length of %d", id, c.PacketLengthBytes)
		}
	}
	return update{1, func(d *device) error {
		old := d.sessions[id]
		if err := exists(typ, old != nil, "clone session", id); err != nil {
			return err
		}
		if err := d.charge(replicasCost(c) - replicasCost(old)); err != nil {
			return err
		}
		d.setSession(id, c)
		d.onRevert(func() { d.setSession(id, old) })
		return nil
	}}, nil
}

// setSession sets or, with nil, removes a clone session.
func (d *device) setSession(id uint32, c *p4v1.CloneSessionEntry) {
	touchKey(d, &d.sessions, id, sameSession)
	if c == nil {
		delete(d.sessions, id)
	} else {
		d.sessions[id] = c
	}
	switch {
	case !d.live:
	case c == nil:
		d.s.sw.DeleteSession(id)
	default:
		d.applySession(c)
	}
}

func (d *device) applySession(c *p4v1.CloneSessionEntry) {
	d.s.sw.SetSession(c.SessionId, d.replicas(c.Replicas), int(c.ClassOfService), int(c.PacketLengthBytes))
}

func (r *reading) readPRE(q *p4v1.PacketReplicationEngineEntry) error {
	out := func(e *p4v1.PacketReplicationEngineEntry) error {
		return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: e}})
	}
	switch x := q.GetType().(type) {
	case *p4v1.PacketReplicationEngineEntry_MulticastGroupEntry:
		return readMap(r, &r.d.groups, x.MulticastGroupEntry.GetMulticastGroupId(), sameMulticast, func(_ uint32, g *p4v1.MulticastGroupEntry) error {
			return out(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: g}})
		})
	case *p4v1.PacketReplicationEngineEntry_CloneSessionEntry:
		return readMap(r, &r.d.sessions, x.CloneSessionEntry.GetSessionId(), sameSession, func(_ uint32, c *p4v1.CloneSessionEntry) error {
			return out(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{CloneSessionEntry: c}})
		})
	}
	return status.Error(codes.InvalidArgument, "the packet replication engine entry is neither a multicast group nor a clone session")
}
