// SPDX-License-Identifier: Apache-2.0

package softswitch

// Replica is one copy of a multicast group or clone session.
type Replica struct {
	Port     int
	Instance uint16 // egress_rid
	// Backups replace Port, in this order, while its link is down.
	Backups []Backup
}

// Backup is an alternative port of a replica.
type Backup struct {
	Port     int
	Instance uint16
}

// group is a multicast group.
type group struct{ replicas []Replica }

// session is a clone session.
type session struct {
	replicas []Replica
	queue    int
	truncate int // bytes; 0: whole
}

// SetGroup sets the replicas of a multicast group. It creates the group if
// necessary.
func (s *Switch) SetGroup(id uint32, replicas []Replica) { s.groups[id] = &group{replicas} }

// DeleteGroup removes a multicast group.
func (s *Switch) DeleteGroup(id uint32) { delete(s.groups, id) }

// SetSession sets the copies of a clone session, their queue and the bytes to
// which they are truncated (0: no truncation).
func (s *Switch) SetSession(id uint32, replicas []Replica, queue, truncate int) {
	s.sessions[id] = &session{replicas, queue, truncate}
}

// DeleteSession removes a clone session.
func (s *Switch) DeleteSession(id uint32) { delete(s.sessions, id) }

// target returns the port of a copy: the first of port and backups whose link
// is up, or the port.
func (s *Switch) target(r *Replica) (int, uint16) {
	up := func(port int) bool {
		i := s.place(port)
		return i >= 0 && s.links[i]
	}
	if !up(r.Port) {
		for _, b := range r.Backups {
			if up(b.Port) {
				return b.Port, b.Instance
			}
		}
	}
	return r.Port, r.Instance
}
