// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
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

// Options of a Server. The zero value has the defaults.
type Options struct {
	// MaxStreams limits the controllers of one role: 16 if zero.
	MaxStreams int
	// Backlog is the maximum number of messages queued for a controller that does
	// not read them. Further ones are dropped. 1024 if zero.
	Backlog int
	// Memory limits the server's memory in bytes: DefaultMemory if zero. Requests
	// beyond it get RESOURCE_EXHAUSTED.
	Memory int64
	// Share is the long-term share of one processor for calls of all primaries, for
	// calls of all others, and for messages of streams, each: DefaultShare if zero,
	// no limit if 1.
	Share float64
	// Translations maps, by URI of translated types, the controller's values to
	// those of the data plane. A controller's number is written as text. Strings of
	// other URIs get numbers at their first use.
	Translations map[string]map[string]uint64
	// ReadPiece, if not nil, is called after each piece of a read, without a lock, for tests
	// that observe a server.
	ReadPiece func()
	// VirtualTime makes timestamps in messages those of the switch's virtual clock.
	VirtualTime bool
	// Compile has the options for compiling programs.
	Compile interp.Options
	// Logger gets log messages; nil is silent.
	Logger *slog.Logger
}

// Server is a P4Runtime service for one switch.
type Server struct {
	p4v1.UnimplementedP4RuntimeServer
	sw   *softswitch.Switch
	opts Options
	log  *slog.Logger

	// serial orders writes and changes of the pipeline. writes is held by a write, and by a
	// read for each of its pieces. Whoever needs both takes serial first.
	serial sync.Mutex
	writes sync.RWMutex
	// committed is the configuration that the switch runs. saved is one that waits
	// for COMMIT and receives all reads and writes until then.
	committed, saved *device

	// config is the answer of GetForwardingPipelineConfig. Its lock is held only
	// for a copy.
	configMu sync.Mutex
	config   *p4v1.ForwardingPipelineConfig

	budget *budget
	admit  *admission
	// Calls that run at once, of primaries and of all others.
	primaryPlaces, places chan struct{}
	// Limits of processor time: calls of primaries, calls of others, and messages
	// of streams.
	chosen, others, messages pace
	arb                      arbiter
	told                     atomic.Uint64 // messages of the data path for controllers
	// digests belongs to the data path: the switch's lock guards it.
	digests digester
	ageing  ageing
	packets packetIO
}

// New returns a server for a switch, and makes the switch send it packets and
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
	s := &Server{sw: sw, opts: opts, log: opts.Logger, budget: newBudget(opts.Memory), primaryPlaces: make(chan struct{}, callPlaces), places: make(chan struct{}, callPlaces)}
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

// turn is a call's use of the processor: a place among the calls that run, and the time
// of its kind.
type turn struct {
	s      *Server
	pace   *pace
	places chan struct{}
	start  time.Time
}

// turnTime is how long a long call runs before others have a turn.
const turnTime = 2 * time.Millisecond

func (t *turn) enter() {
	t.places <- struct{}{}
	t.start = time.Now()
}

// end ends the turn, and returns the time that it took.
func (t *turn) end() time.Duration {
	took := time.Since(t.start)
	<-t.places
	if t.pace != nil {
		t.pace.spend(took)
	}
	return took
}

// yield lets others run if the turn has been long enough. It returns an error if ctx has
// ended.
func (t *turn) yield(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if time.Since(t.start) < turnTime {
		return nil
	}
	t.end()
	err := t.pace.wait(ctx)
	t.enter() // for end
	return err
}

// paced waits for processor time of a call's kind, and begins its turn. Primaries do not
// wait for others' turns.
func (s *Server) paced(ctx context.Context) (*turn, error) {
	t := &turn{s: s, pace: s.pace(ctx), places: s.places}
	if t.pace == &s.chosen {
		t.places = s.primaryPlaces
	}
	if err := t.pace.wait(ctx); err != nil {
		return nil, err
	}
	t.enter()
	return t, nil
}

// pace returns the token bucket of a call.
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

// device is the target of reads and writes: a pipeline, its state, and the
// replication engine.
type device struct {
	*pipeline
	s *Server
	// units are those of its program.
	units softswitch.Units
	// live is set if the device is the switch itself, under its lock.
	live bool
	// charged is the memory of the state in bytes.
	charged  int64
	state    *state
	groups   map[uint32]*p4v1.MulticastGroupEntry
	sessions map[uint32]*p4v1.CloneSessionEntry
	digests  map[uint32]*p4v1.DigestEntry_Config
	names    map[string]*names // by key of the translation
	learned  *learned          // set while updates are decoded
	// snapshots are those of reads, the oldest first. Server.writes guards them.
	snapshots []*snapshot
	batch
	// adopt, if set, copies from an earlier device what packets change.
	adopt func()
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

// lock takes the switch's lock if the device is live.
func (d *device) lock() func() {
	if !d.live {
		return func() {}
	}
	return d.s.sw.Hold()
}

// wallNanos returns nanoseconds since the epoch, for timestamps in messages. With
// Options.VirtualTime they are those since the start of the switch.
func (s *Server) wallNanos() int64 {
	if s.opts.VirtualTime {
		return s.sw.Now().Nanoseconds()
	}
	return time.Now().UnixNano()
}
