// SPDX-License-Identifier: Apache-2.0

// Package p4rttest is a P4Runtime server in memory, for tests of controllers:
// it keeps entities, elects a primary, and can fail like switches and networks.
// It forwards no packets.
package p4rttest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/simnet"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TB is the part of testing.TB that the server uses.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// Server is one switch at one address. The fields may be set before Start.
// Afterwards only the methods change its behaviour.
type Server struct {
	p4v1.UnimplementedP4RuntimeServer

	DeviceID uint64
	// BMv2 makes it behave like BMv2's server: no registers, no digest read with id
	// 0, and a backup becomes primary automatically when the primary disconnects.
	BMv2 bool
	// Net is the network in which it listens; nil is the loopback interface. Tests
	// under testing/synctest use a network in memory.
	Net *simnet.Network
	// Endless, if not nil, is what the server sends as the answer to a read, again and
	// again with pauses.
	Endless *p4v1.ReadResponse
	Pause   time.Duration

	addr string
	grpc *grpc.Server

	mu       sync.Mutex
	config   *p4v1.ForwardingPipelineConfig
	info     *p4configv1.P4Info
	entities map[string]*p4v1.Entity
	highest  map[string]*p4v1.Uint128 // by role
	streams  map[*stream]bool
	packets  []*p4v1.PacketOut
	acks     []*p4v1.DigestListAck
	writes   int // batches
	updates  int
	faults
}

// faults are the faults that a test can inject.
type faults struct {
	delay      time.Duration
	hung       chan struct{} // answers wait until it is closed
	failWrite  int           // batches before one fails, -1 never
	afterWrite func(batch int)
}

// Start starts a server on a free port of the loopback interface, or as a
// machine in s.Net, and stops it at the end of the test.
func Start(t TB, s *Server) *Server {
	t.Helper()
	s.init()
	at := "127.0.0.1:0"
	if s.Net != nil {
		at = ""
	}
	if err := s.listen(at); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func (s *Server) init() {
	if s.DeviceID == 0 {
		s.DeviceID = 1
	}
	s.entities = make(map[string]*p4v1.Entity)
	s.streams = make(map[*stream]bool)
	s.highest = make(map[string]*p4v1.Uint128)
	s.failWrite = -1
}

func (s *Server) listen(addr string) error {
	listen := func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	if s.Net != nil {
		listen = s.Net.Listen
	}
	l, err := listen(addr)
	if err != nil {
		return err
	}
	s.addr = l.Addr().String()
	s.grpc = grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.UnaryInterceptor(s.interrupt))
	p4v1.RegisterP4RuntimeServer(s.grpc, s)
	go s.grpc.Serve(l)
	return nil
}

// Addr returns host:port, or the name of the machine in s.Net.
func (s *Server) Addr() string { return s.addr }

// Stop kills the server: connections break, and the port is free.
func (s *Server) Stop() {
	s.Hang(false)
	s.grpc.Stop()
}

// Restart restarts a stopped server at its address. Unless keep is set, its
// state is empty, as after a power failure.
func (s *Server) Restart(t TB, keep bool) {
	t.Helper()
	s.mu.Lock()
	if !keep {
		s.config, s.info, s.highest = nil, nil, make(map[string]*p4v1.Uint128)
		s.entities = make(map[string]*p4v1.Entity)
	}
	s.streams = make(map[*stream]bool)
	s.mu.Unlock()
	// The kernel may take time to free the port.
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		err := s.listen(s.addr)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// Cut breaks all streams, like a network that loses connections.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.streams {
		st.end(status.Error(codes.Unavailable, "connection reset by test"))
	}
}

// Hang makes the server accept connections without answering, or continue.
func (s *Server) Hang(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on && s.hung == nil {
		s.hung = make(chan struct{})
	} else if !on && s.hung != nil {
		close(s.hung)
		s.hung = nil
	}
}

// Delay delays every unary answer.
func (s *Server) Delay(d time.Duration) {
	s.mu.Lock()
	s.delay = d
	s.mu.Unlock()
}

// FailWriteAfter makes the write after n more batches fail like a broken
// connection.
func (s *Server) FailWriteAfter(n int) {
	s.mu.Lock()
	s.failWrite = n
	s.mu.Unlock()
}

// AfterWrite calls do, with the number of batches so far, after each batch.
func (s *Server) AfterWrite(do func(batch int)) {
	s.mu.Lock()
	s.afterWrite = do
	s.mu.Unlock()
}

// Entities returns a copy of the switch's entities, by schema.Key.
func (s *Server) Entities() map[string]*p4v1.Entity {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]*p4v1.Entity, len(s.entities))
	for k, e := range s.entities {
		out[k] = e
	}
	return out
}

// Writes returns the number of batches and updates so far.
func (s *Server) Writes() (batches, updates int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes, s.updates
}

// Put changes an entity without a controller, Remove removes it.
func (s *Server) Put(e *p4v1.Entity) {
	s.mu.Lock()
	s.entities[schema.Key(e)] = e
	s.mu.Unlock()
}

// Remove removes an entity without a controller.
func (s *Server) Remove(e *p4v1.Entity) {
	s.mu.Lock()
	delete(s.entities, schema.Key(e))
	s.mu.Unlock()
}

// PacketsOut returns the packets that the primary has sent.
func (s *Server) PacketsOut() []*p4v1.PacketOut {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*p4v1.PacketOut(nil), s.packets...)
}

// Acks returns the digest lists that the primary has acknowledged.
func (s *Server) Acks() []*p4v1.DigestListAck {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*p4v1.DigestListAck(nil), s.acks...)
}

// interrupt applies the faults to unary calls.
func (s *Server) interrupt(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := s.stall(ctx); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

func (s *Server) stall(ctx context.Context) error {
	s.mu.Lock()
	delay, hung := s.delay, s.hung
	s.mu.Unlock()
	if hung != nil {
		select {
		case <-hung:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if delay == 0 { // a received request counts even if its sender has disconnected
		return nil
	}
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Capabilities implements the P4Runtime service.
func (s *Server) Capabilities(context.Context, *p4v1.CapabilitiesRequest) (*p4v1.CapabilitiesResponse, error) {
	return &p4v1.CapabilitiesResponse{P4RuntimeApiVersion: "1.5.0"}, nil
}

func (s *Server) checkDevice(id uint64) error {
	if id != s.DeviceID {
		return status.Errorf(codes.NotFound, "no device %d", id)
	}
	return nil
}

// checkPrimary checks that the sender of a request is the primary.
func (s *Server) checkPrimary(id *p4v1.Uint128) error {
	for st := range s.streams {
		if st.primary && st.role == "" && compare(st.id, id) == 0 {
			return nil
		}
	}
	return status.Error(codes.PermissionDenied, "not primary")
}

// SetForwardingPipelineConfig implements the P4Runtime service.
func (s *Server) SetForwardingPipelineConfig(_ context.Context, r *p4v1.SetForwardingPipelineConfigRequest) (*p4v1.SetForwardingPipelineConfigResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkDevice(r.DeviceId); err != nil {
		return nil, err
	}
	if err := s.checkPrimary(r.ElectionId); err != nil {
		return nil, err
	}
	if r.GetConfig().GetP4Info() == nil {
		return nil, status.Error(codes.InvalidArgument, "no P4Info")
	}
	switch r.Action {
	case p4v1.SetForwardingPipelineConfigRequest_VERIFY:
	case p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT:
		s.load(r.Config)
	default:
		return nil, status.Errorf(codes.Unimplemented, "action %v", r.Action)
	}
	return &p4v1.SetForwardingPipelineConfigResponse{}, nil
}

// Load replaces the pipeline without a controller.
func (s *Server) Load(c *p4v1.ForwardingPipelineConfig) {
	s.mu.Lock()
	s.load(c)
	s.mu.Unlock()
}

func (s *Server) load(c *p4v1.ForwardingPipelineConfig) {
	s.config, s.info = c, c.P4Info
	s.entities = make(map[string]*p4v1.Entity)
	for _, r := range s.info.Registers {
		for i := range r.Size {
			e := &p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: &p4v1.RegisterEntry{
				RegisterId: r.Preamble.Id, Index: &p4v1.Index{Index: int64(i)},
				Data: &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: []byte{0}}},
			}}}
			s.entities[schema.Key(e)] = e
		}
	}
}

// GetForwardingPipelineConfig implements the P4Runtime service.
func (s *Server) GetForwardingPipelineConfig(_ context.Context, r *p4v1.GetForwardingPipelineConfigRequest) (*p4v1.GetForwardingPipelineConfigResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkDevice(r.DeviceId); err != nil {
		return nil, err
	}
	if s.config == nil {
		if s.BMv2 {
			return nil, status.Error(codes.FailedPrecondition, "No forwarding pipeline config set for this device")
		}
		return &p4v1.GetForwardingPipelineConfigResponse{}, nil
	}
	c := &p4v1.ForwardingPipelineConfig{Cookie: s.config.Cookie}
	switch r.ResponseType {
	case p4v1.GetForwardingPipelineConfigRequest_ALL:
		c.P4Info, c.P4DeviceConfig = s.info, s.config.P4DeviceConfig
	case p4v1.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE:
		c.P4Info = s.info
	case p4v1.GetForwardingPipelineConfigRequest_DEVICE_CONFIG_AND_COOKIE:
		c.P4DeviceConfig = s.config.P4DeviceConfig
	}
	return &p4v1.GetForwardingPipelineConfigResponse{Config: c}, nil
}

func compare(a, b *p4v1.Uint128) int {
	switch {
	case a.GetHigh() != b.GetHigh():
		if a.GetHigh() < b.GetHigh() {
			return -1
		}
		return 1
	case a.GetLow() < b.GetLow():
		return -1
	case a.GetLow() > b.GetLow():
		return 1
	}
	return 0
}

func errorf(code codes.Code, format string, args ...any) *p4v1.Error {
	return &p4v1.Error{CanonicalCode: int32(code), Message: fmt.Sprintf(format, args...)}
}
