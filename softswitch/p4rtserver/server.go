// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// APIVersion is the version of P4Runtime that the server implements.
const APIVersion = "1.5.0"

// Options of a Server. The zero value is ready.
type Options struct {
	// MaxStreams bounds the controllers of one role: 16 if zero.
	MaxStreams int
	// Backlog is how many messages wait for a controller that does not read
	// them, before more are dropped: 1024 if zero.
	Backlog int
	// Memory bounds what the server keeps, in bytes: DefaultMemory if zero. What
	// would go beyond is refused with RESOURCE_EXHAUSTED.
	Memory int64
	// Share is how much of one processor calls of all primaries, those of all others,
	// and messages of streams may each take in the long run: DefaultShare if zero, no
	// limit if 1.
	Share float64
	// Translations has, by URI of translated types, what the controller's values
	// stand for in the data plane; a number of the controller's is written as
	// text. Strings of a URI that is not here get numbers as they are used.
	Translations map[string]map[string]uint64
	// Compile says how programs are compiled.
	Compile interp.Options
	// Logger gets what the server does; nil is silent.
	Logger *slog.Logger
}

// Server is a P4Runtime service for one switch.
type Server struct {
	p4v1.UnimplementedP4RuntimeServer
	sw   *softswitch.Switch
	opts Options
	log  *slog.Logger

	// writes orders writes and reads: a read sees all of a write or nothing.
	writes sync.RWMutex
	// committed is the configuration that the switch runs; saved is one that
	// waits for COMMIT and takes all reads and writes until then.
	committed, saved *device

	// config is what GetForwardingPipelineConfig answers with; it has a lock of
	// its own, held for no more than a copy.
	configMu sync.Mutex
	config   *p4v1.ForwardingPipelineConfig

	budget *budget
	admit  *admission
	places chan struct{}
	// What takes time of the processors, and is bounded: calls of primaries, those
	// of others, and messages of streams.
	chosen, others, messages pace
	arb                      arbiter
	// digests belongs to the data path: it is used under the switch's lock.
	digests digester
	ageing  ageing
	packets packetIO
}

// New returns a server for a switch, and has the switch send it packets and
// digests.
func New(sw *softswitch.Switch, opts Options) *Server {
	if opts.MaxStreams == 0 {
		opts.MaxStreams = 16
	}
	if opts.Backlog == 0 {
		opts.Backlog = 1024
	}
	if opts.Memory == 0 {
		opts.Memory = DefaultMemory
	}
	if opts.Share == 0 {
		opts.Share = DefaultShare
	}
	s := &Server{sw: sw, opts: opts, log: opts.Logger, budget: newBudget(opts.Memory), places: make(chan struct{}, callPlaces)}
	s.chosen.share, s.others.share, s.messages.share = opts.Share, opts.Share, opts.Share
	s.chosen.burst, s.others.burst, s.messages.burst = primaryBurst, otherBurst, otherBurst
	s.admit = newAdmission(s)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.log = s.log.With("switch", sw.Config().Name)
	s.arb.init(s)
	s.digests.s, s.ageing.s = s, s
	sw.Lock()
	defer sw.Unlock()
	sw.Control(softswitch.Control{
		PacketIn: s.packetIn,
		Digest:   s.digests.add,
		Log:      func(text string) { s.log.Info("program", "message", text) },
	})
	return s
}

// takePlace waits for one of the places for calls that are worked on at the same
// time, and returns the function that frees it and tells how long it was taken.
func (s *Server) takePlace() (done func() time.Duration) {
	s.places <- struct{}{}
	start := time.Now()
	return func() time.Duration {
		<-s.places
		return time.Since(start)
	}
}

// paced is takePlace for a call, which waits until its kind may take time again.
func (s *Server) paced(ctx context.Context) (done func(), err error) {
	p := s.pace(ctx)
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	free := s.takePlace()
	return func() { p.spend(free()) }, nil
}

// pace returns that of a call.
func (s *Server) pace(ctx context.Context) *pace {
	if s.arb.hasPrimary(peerOf(ctx)) {
		return &s.chosen
	}
	return &s.others
}

// Register adds the service to a gRPC server.
func (s *Server) Register(g grpc.ServiceRegistrar) { p4v1.RegisterP4RuntimeServer(g, s) }

func (s *Server) deviceID() uint64 { return s.sw.Config().DeviceID }

func (s *Server) checkDevice(id uint64) error {
	if id != s.deviceID() {
		return status.Errorf(codes.NotFound, "device %d is not here: this is device %d", id, s.deviceID())
	}
	return nil
}

// Capabilities implements the RPC of this name.
func (s *Server) Capabilities(_ context.Context, r *p4v1.CapabilitiesRequest) (*p4v1.CapabilitiesResponse, error) {
	if id := r.GetDeviceId(); id != 0 {
		if err := s.checkDevice(id); err != nil {
			return nil, err
		}
	}
	return &p4v1.CapabilitiesResponse{P4RuntimeApiVersion: APIVersion}, nil
}

// device is what reads and writes act on: a pipeline, its state, and the
// replication engine.
type device struct {
	*pipeline
	s *Server
	// live is set where the switch itself is acted on, under its lock.
	live bool
	// charged is what the state takes of the server's memory.
	charged  int64
	state    *state
	groups   map[uint32]*p4v1.MulticastGroupEntry
	sessions map[uint32]*p4v1.CloneSessionEntry
	digests  map[uint32]*p4v1.DigestEntry_Config
	names    map[string]*names // by key of the translation
	learned  *learned          // while updates are read
}

// current returns the device for reads and writes.
func (s *Server) current() (*device, error) {
	switch {
	case s.saved != nil:
		return s.saved, nil
	case s.committed != nil:
		return s.committed, nil
	}
	return nil, status.Error(codes.FailedPrecondition, "no forwarding pipeline is set: call SetForwardingPipelineConfig first")
}

// lock takes the switch's lock if the device is the switch.
func (d *device) lock() func() {
	if !d.live {
		return func() {}
	}
	return d.s.sw.Hold()
}

// wallNanos returns nanoseconds since the epoch, for time stamps of messages
// that ask for them.
func (s *Server) wallNanos() int64 { return time.Now().UnixNano() }
