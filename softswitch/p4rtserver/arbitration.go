// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"cmp"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// arbiter decides which controller of each role is primary (section 5 of the
// specification).
type arbiter struct {
	s     *Server
	mu    sync.Mutex
	roles map[string]*role
	left  uint64 // counts departed streams, to find the oldest role
	// streams counts the open streams.
	streams atomic.Int64
}

// role is the controllers that connected under one role name.
type role struct {
	name    string
	config  *anypb.Any // the primary's
	scope   *scope     // parsed from config
	highest *electionID
	primary *client
	clients []*client
	left    uint64 // arbiter.left when the last client departed
	// writing is closed when the write or the new pipeline ends that a primary of the
	// role has begun; nil if there is none.
	writing chan struct{}
}

// client is one stream.
type client struct {
	role     *role
	election *electionID // nil: unset, never primary
	peer     string      // address
	out      chan *p4v1.StreamMessageResponse
	// queued is the number of bytes in out, at most room.
	queued atomic.Int64
	room   int64
	// gone is closed when the stream has ended.
	gone chan struct{}
	// dropped counts messages for which there was no room. id is election, for the
	// log. The arbiter's lock does not guard these two.
	dropped atomic.Uint64
	id      atomic.Pointer[electionID]
	log     *slog.Logger
}

func (s *Server) newClient() *client {
	return &client{log: s.log, out: make(chan *p4v1.StreamMessageResponse, s.opts.Backlog), room: s.budget.stream, gone: make(chan struct{})}
}

type electionID struct{ high, low uint64 }

func election(id *p4v1.Uint128) *electionID {
	if id == nil {
		return nil
	}
	return &electionID{id.High, id.Low}
}

func (e *electionID) compare(f *electionID) int {
	return cmp.Or(cmp.Compare(e.high, f.high), cmp.Compare(e.low, f.low))
}

func (e *electionID) proto() *p4v1.Uint128 {
	if e == nil {
		return nil
	}
	return &p4v1.Uint128{High: e.high, Low: e.low}
}

func (e *electionID) String() string {
	if e == nil {
		return "unset"
	}
	if e.high == 0 {
		return fmt.Sprint(e.low)
	}
	return fmt.Sprintf("%d:%d", e.high, e.low)
}

func (a *arbiter) init(s *Server) { a.s, a.roles = s, map[string]*role{} }

// update handles a MasterArbitrationUpdate. An error ends the stream.
func (a *arbiter) update(c *client, m *p4v1.MasterArbitrationUpdate) error {
	name := m.GetRole().GetName()
	if err := checkRole(name, roleID(m.GetRole())); err != nil {
		return err
	}
	if n := proto.Size(m.GetRole().GetConfig()); n > maxRoleConfig {
		return status.Errorf(codes.InvalidArgument, "role.config has %d bytes, more than %d", n, maxRoleConfig)
	}
	if c.role == nil {
		if err := a.s.checkDevice(m.DeviceId); err != nil {
			return err
		}
	} else {
		if m.DeviceId != a.s.deviceID() {
			return status.Errorf(codes.FailedPrecondition, "this stream is for device %d; open another one for device %d", a.s.deviceID(), m.DeviceId)
		}
		if name != c.role.name {
			return status.Errorf(codes.FailedPrecondition, "this stream is for role %q; open another one for role %q", c.role.name, name)
		}
	}
	sc, err := parseScope(m.GetRole().GetConfig())
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.roles[name]
	if r == nil {
		if err := a.makeRoom(); err != nil {
			return err
		}
		r = &role{name: name}
		a.roles[name] = r
	}
	id := election(m.ElectionId)
	for _, other := range r.clients {
		if other != c && id != nil && other.election != nil && id.compare(other.election) == 0 {
			return status.Errorf(codes.InvalidArgument, "election id %v is already used by another controller", id)
		}
	}
	if c.role == nil {
		if len(r.clients) >= a.s.opts.MaxStreams {
			return status.Errorf(codes.ResourceExhausted, "there are %d controllers already", len(r.clients))
		}
		c.role = r
		r.clients = append(r.clients, c)
	}
	c.election = id
	c.id.Store(id)
	wasPrimary := r.primary == c
	if id == nil || r.highest != nil && id.compare(r.highest) < 0 {
		if wasPrimary {
			r.primary = nil
			a.s.log.Debug("controller stepped down", "election", id)
			r.notify(a.s.deviceID(), nil)
			return nil
		}
		c.send(r.notice(a.s.deviceID(), c))
		return nil
	}
	r.config, r.scope, r.highest = m.GetRole().GetConfig(), sc, id
	if old := r.primary; !wasPrimary {
		// From here on, writes of the old primary are rejected. Writes that have begun
		// finish before the new primary is notified, also those of one that is gone.
		r.primary = nil
		if old != nil {
			for _, other := range r.clients {
				if other != c {
					other.send(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{
						DeviceId: a.s.deviceID(), Role: r.proto(), ElectionId: id.proto(),
						Status: &rpcstatus.Status{Code: int32(codes.AlreadyExists), Message: "another controller is primary"},
					}}})
				}
			}
		}
		for r.writing != nil {
			writing := r.writing
			a.mu.Unlock()
			<-writing
			a.mu.Lock()
			if r.highest != id { // superseded meanwhile
				c.send(r.notice(a.s.deviceID(), c))
				return nil
			}
		}
		r.primary = c
		if old != nil {
			c.send(r.notice(a.s.deviceID(), c))
		} else {
			r.notify(a.s.deviceID(), nil)
		}
		a.s.log.Debug("controller is primary", "role", name, "election", id, "scope", sc)
		return nil
	}
	r.notify(a.s.deviceID(), nil)
	return nil
}

// leave removes a stream from its role.
func (a *arbiter) leave(c *client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := c.role
	if r == nil {
		return
	}
	c.role = nil
	for i, other := range r.clients {
		if other == c {
			r.clients = append(r.clients[:i:i], r.clients[i+1:]...)
			break
		}
	}
	if len(r.clients) == 0 {
		a.left++
		if r.left = a.left; r.highest == nil && r.primary == nil {
			delete(a.roles, r.name) // the role has no state
		}
	}
	if r.primary == c {
		r.primary = nil
		a.s.log.Debug("primary controller is gone", "role", r.name, "election", c.election)
		r.notify(a.s.deviceID(), nil)
	}
}

// makeRoom ensures that one more role fits. It removes the oldest roles without
// controllers, and with them their highest election ids, but never the default
// role.
func (a *arbiter) makeRoom() error {
	if len(a.roles) < maxRoles {
		return nil
	}
	var oldest *role
	for _, r := range a.roles {
		if len(r.clients) == 0 && r.writing == nil && r.name != "" && (oldest == nil || r.left < oldest.left) {
			oldest = r
		}
	}
	if oldest == nil {
		return status.Errorf(codes.ResourceExhausted, "there are %d roles with controllers, as many as the switch remembers", len(a.roles))
	}
	delete(a.roles, oldest.name)
	return nil
}

// checkRole checks the name of a role. A role id without a name is rejected,
// because it would select the default role.
func checkRole(name string, id uint64) error {
	switch {
	case len(name) > maxRoleName:
		return status.Errorf(codes.InvalidArgument, "a role name of %d bytes, more than %d", len(name), maxRoleName)
	case name == "" && id != 0:
		return status.Errorf(codes.InvalidArgument, "role id %d without a name: roles are named since P4Runtime 1.4, give role.name", id)
	}
	return nil
}

// hasPrimary reports whether a peer has a stream that is primary.
func (a *arbiter) hasPrimary(peer string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.roles {
		if r.primary != nil && r.primary.peer == peer {
			return true
		}
	}
	return false
}

// checkPrimary returns an error if the caller of a unary call is not primary.
func (a *arbiter) checkPrimary(roleName string, number uint64, id *p4v1.Uint128) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := a.roleOf(roleName, number, id)
	return err
}

// begin is checkPrimary for a call that changes the switch from now on, until it calls
// end. It returns the scope of the role. The caller excludes other changes.
func (a *arbiter) begin(roleName string, number uint64, id *p4v1.Uint128) (sc *scope, end func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, err := a.roleOf(roleName, number, id)
	if err != nil {
		return nil, nil, err
	}
	r.writing = make(chan struct{})
	return r.scope, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		close(r.writing)
		r.writing = nil
	}, nil
}

// roleOf returns the role whose primary has this election id, under the arbiter's lock.
func (a *arbiter) roleOf(roleName string, number uint64, id *p4v1.Uint128) (*role, error) {
	if err := checkRole(roleName, number); err != nil {
		return nil, err
	}
	r := a.roles[roleName]
	if r == nil {
		if roleName != "" {
			return nil, status.Errorf(codes.NotFound, "no controller has role %q", roleName)
		}
		return nil, status.Error(codes.PermissionDenied, "no controller is primary: open a stream and send a MasterArbitrationUpdate first")
	}
	e := election(id)
	switch {
	case r.primary == nil:
		return nil, status.Errorf(codes.PermissionDenied, "no controller is primary; election id %v is not", e)
	case e == nil || e.compare(r.primary.election) != 0:
		return nil, status.Errorf(codes.PermissionDenied, "election id %v is not primary: %v is", e, r.primary.election)
	}
	return r, nil
}

// primary is the primary of a role with its scope.
type primary struct {
	*client
	scope *scope
}

// primaries returns the primary of every role.
func (a *arbiter) primaries() []primary {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []primary
	for _, r := range a.roles {
		if r.primary != nil {
			list = append(list, primary{r.primary, r.scope})
		}
	}
	return list
}

// mayAck reports whether a stream may acknowledge the digests of its role.
func (a *arbiter) mayAck(c *client, concerns func(*scope) bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case c.role == nil || c.role.primary != c:
		return status.Error(codes.PermissionDenied, "only the primary controller acknowledges digests")
	case c.role.scope != nil && !concerns(c.role.scope):
		return status.Errorf(codes.PermissionDenied, "role %q does not get this digest", c.role.name)
	}
	return nil
}

// maySend reports whether a stream may send packets.
func (a *arbiter) maySend(c *client) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case c.role == nil || c.role.primary != c:
		return status.Error(codes.PermissionDenied, "only the primary controller may send packets")
	case c.role.scope != nil && !c.role.scope.packetOut:
		return status.Errorf(codes.PermissionDenied, "role %q may not send packets", c.role.name)
	}
	return nil
}

func (r *role) proto() *p4v1.Role {
	if r.name == "" && r.config == nil {
		return nil
	}
	return &p4v1.Role{Name: r.name, Config: r.config}
}

// notify sends all controllers of a role but one the id of the primary.
func (r *role) notify(device uint64, except *client) {
	for _, c := range r.clients {
		if c != except {
			c.send(r.notice(device, c))
		}
	}
}

// notice returns the arbitration state for a controller.
func (r *role) notice(device uint64, c *client) *p4v1.StreamMessageResponse {
	st := &rpcstatus.Status{Code: int32(codes.OK), Message: "is primary"}
	switch {
	case r.primary == nil:
		st.Code, st.Message = int32(codes.NotFound), "no controller is primary"
	case r.primary != c:
		st.Code, st.Message = int32(codes.AlreadyExists), "another controller is primary"
	}
	return &p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{
		DeviceId: device, Role: r.proto(), ElectionId: r.highest.proto(), Status: st,
	}}}
}
