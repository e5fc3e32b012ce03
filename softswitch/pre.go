// SPDX-License-Identifier: Apache-2.0

package softswitch

// Replica is one copy that a multicast group or clone session makes.
type Replica struct {
	Port     int
	Instance uint16 // egress_rid
	// Backups take the place of Port, in this order, while its link is down.
	Backups []Backup
}

// Backup is a replica's second choice.
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

// SetGroup sets the replicas of a multicast group, which is made if need be.
func (s *Switch) SetGroup(id uint32, replicas []Replica) { s.groups[id] = &group{replicas} }

// DeleteGroup removes a multicast group.
func (s *Switch) DeleteGroup(id uint32) { delete(s.groups, id) }

// SetSession sets the copies that a clone session makes, the queue they wait
// in and the bytes they are cut to (0: none are cut off).
func (s *Switch) SetSession(id uint32, replicas []Replica, queue, truncate int) {
	s.sessions[id] = &session{replicas, queue, truncate}
}

// DeleteSession removes a clone session.
func (s *Switch) DeleteSession(id uint32) { delete(s.sessions, id) }

// target returns where a copy goes: the first of port and backups whose link
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
