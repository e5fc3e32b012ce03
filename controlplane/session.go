// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Session is a supervised connection to one switch. Its methods may be
// called from any goroutine.
type Session struct {
	target  Target
	options Options
	conn    *grpc.ClientConn
	client  p4v1.P4RuntimeClient
	cancel  context.CancelFunc
	done    chan struct{} // closed when the supervisor has ended

	schema atomic.Pointer[schema.Schema]
	cookie atomic.Uint64 // of the pipeline last pushed or fetched; 0 means unknown

	mu      sync.Mutex
	state   state
	changed chan struct{} // closed, and replaced, when state changes

	wireMu sync.Mutex
	wire   net.Conn // the last that was opened

	sendMu sync.Mutex
	stream p4v1.P4Runtime_StreamChannelClient // nil while there is none

	leaving atomic.Bool // Close has been called
	patient bool        // no caller waits for the outcome of the first attempt
	quiet   atomic.Bool // failures are returned as errors and raise no events

	packets inbox[*p4v1.PacketIn]
	digests inbox[*p4v1.DigestList]

	storeMu sync.Mutex
	store   register.Store
}

// role is this controller's part in the election.
type role uint8

const (
	roleUnknown role = iota // no answer yet, or no stream
	rolePrimary
	roleBackup
	roleOrphan // roleBackup without any primary
)

// state is the state of the supervisor. It is copied under the lock.
type state struct {
	role    role
	mine    ElectionID // last one sent
	highest ElectionID // highest ID that the switch has announced
	cause   error      // why there is no stream
	fatal   error      // why there will never be one
	streams int        // number of streams so far, including the present one
	lost    bool       // the last stream is lost
	bidding bool       // a higher ID has been sent and not yet answered
	unnamed bool       // takes part without an ID: another controller uses ours
	term    int        // number of times that this controller has become primary
}

// maxMessage is the greatest size of a message from a switch: pipelines have
// several megabytes.
const maxMessage = 256 << 20

// Connect opens a session and waits for the outcome of the election. It
// fails if the switch cannot be reached, and with a NotPrimaryError if another
// controller is the primary and Options.Policy is not Standby.
//
// The session lives until Close, not until ctx is done.
func Connect(ctx context.Context, target Target, options Options) (*Session, error) {
	s, err := start(target, options, true)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	defer s.quiet.Store(false)
	if err := s.awaitFirst(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// start opens a session without waiting: it connects and takes part in the
// election in the background. A quiet session returns its first errors and raises
// no events for them. start fails only if the target is not valid.
func start(target Target, options Options, quiet bool) (*Session, error) {
	target, options = target.withDefaults(), options.withDefaults()
	creds := insecure.NewCredentials()
	if target.TLS != nil {
		creds = credentials.NewTLS(target.TLS)
	}
	s := &Session{target: target, options: options, done: make(chan struct{}), changed: make(chan struct{})}
	conn, err := grpc.NewClient("passthrough:///"+target.Addr,
		grpc.WithContextDialer(s.connect),
		grpc.WithTransportCredentials(creds),
		grpc.WithNoProxy(),
		grpc.WithIdleTimeout(0),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		// The supervisor decides when to try again.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: time.Minute, Multiplier: 1, MaxDelay: time.Minute},
			MinConnectTimeout: max(options.Timeout/2, min(options.Timeout, 5*time.Second)),
		}))
	if err != nil {
		return nil, fmt.Errorf("%s: address %q: %w", target.Name, target.Addr, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.conn, s.client, s.cancel = conn, p4v1.NewP4RuntimeClient(conn), cancel
	s.state.mine = target.ElectionID
	s.patient = !quiet
	s.quiet.Store(quiet)
	if options.ReadOnly {
		close(s.done)
	} else {
		go s.supervise(ctx)
	}
	return s, nil
}

// connect opens a connection for gRPC.
func (s *Session) connect(ctx context.Context, addr string) (net.Conn, error) {
	dial := s.options.Dial
	if dial == nil {
		dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	c, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	s.wireMu.Lock()
	defer s.wireMu.Unlock()
	s.wire = c
	return c, nil
}

// hangUp closes the connection to a switch that does not answer. If the switch's
// machine has failed, gRPC would use the connection until the kernel closes it, a
// quarter of an hour later.
func (s *Session) hangUp() {
	s.wireMu.Lock()
	defer s.wireMu.Unlock()
	if s.wire != nil {
		s.wire.Close()
	}
}

// parting is the time that Close waits for a switch to end the stream.
const parting = 500 * time.Millisecond

// leave closes the stream and waits until the switch has read all messages. If
// the connection were closed at once, the switch could drop some.
func (s *Session) leave() {
	s.leaving.Store(true)
	begun := time.Now()
	for !s.sendMu.TryLock() { // the switch may not read the message that is being sent
		if time.Since(begun) > parting {
			return
		}
		time.Sleep(time.Millisecond)
	}
	stream := s.stream
	if stream != nil {
		_ = stream.CloseSend() // it never fails
	}
	s.sendMu.Unlock()
	if stream == nil {
		return
	}
	select {
	case <-s.done:
	case <-time.After(parting):
	}
}

// Close closes the session and waits for its goroutines.
func (s *Session) Close() error {
	s.leave()
	s.cancel()
	<-s.done
	s.storeMu.Lock()
	if c, ok := s.store.(interface{ Close() error }); ok {
		c.Close()
	}
	s.storeMu.Unlock()
	s.packets.close()
	s.digests.close()
	return s.conn.Close()
}

// Name returns the switch's name.
func (s *Session) Name() string { return s.target.Name }

// Target returns the session's target, with defaults filled in.
func (s *Session) Target() Target { return s.target }

// ElectionID returns the present election ID of this controller.
func (s *Session) ElectionID() ElectionID { return s.get().mine }

// IsPrimary reports whether this controller is the primary now.
func (s *Session) IsPrimary() bool { return s.get().role == rolePrimary }

func (s *Session) get() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// set changes the state and wakes all goroutines that wait for a change.
func (s *Session) set(change func(*state)) {
	s.mu.Lock()
	change(&s.state)
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
}

// await waits until ok accepts the state.
func (s *Session) await(ctx context.Context, ok func(state) bool) (state, error) {
	for {
		s.mu.Lock()
		st, changed := s.state, s.changed
		s.mu.Unlock()
		if ok(st) {
			return st, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return st, ctx.Err()
		case <-s.done:
			if st = s.get(); ok(st) { // the final state
				return st, nil
			}
			return st, fmt.Errorf("%s: session is closed", s.target.Name)
		}
	}
}

// awaitFirst waits for the outcome of the first attempt to connect.
func (s *Session) awaitFirst(ctx context.Context) error {
	if s.options.ReadOnly {
		_, err := s.client.Capabilities(ctx, &p4v1.CapabilitiesRequest{})
		if err != nil && status.Code(err) == codes.Unavailable {
			return &NotConnectedError{s.target.Name, s.target.Addr, err}
		}
		if status.Code(err) == codes.DeadlineExceeded {
			return s.callError("connect", err)
		}
		return nil
	}
	st, err := s.await(ctx, func(st state) bool {
		return st.role != roleUnknown && !st.bidding || st.cause != nil || st.fatal != nil
	})
	switch {
	case st.fatal != nil:
		return st.fatal
	case st.role == rolePrimary:
		return nil
	case st.role == roleBackup && s.options.Policy == Standby, s.options.Policy == Observe && st.role != roleUnknown:
		return nil
	case st.role == roleBackup || st.role == roleOrphan:
		return s.notPrimary()
	case st.cause != nil:
		return &NotConnectedError{s.target.Name, s.target.Addr, st.cause}
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer from %s within %v; is it a P4Runtime server?", s.target.Name, s.target.Addr, s.options.Timeout)
	}
	return err
}

// AwaitPrimary waits until this controller is the primary of the switch.
func (s *Session) AwaitPrimary(ctx context.Context) error {
	if s.options.ReadOnly {
		return fmt.Errorf("%s: a read-only session never becomes primary", s.target.Name)
	}
	st, err := s.await(ctx, func(st state) bool { return st.role == rolePrimary || st.fatal != nil })
	if st.fatal != nil {
		return st.fatal
	}
	return err
}

// notPrimary returns a NotPrimaryError if this controller is not the
// primary, else nil.
func (s *Session) notPrimary() error {
	st := s.get()
	if st.role != roleBackup && st.role != roleOrphan {
		return nil
	}
	return &NotPrimaryError{s.target.Name, st.mine, st.highest, st.role == roleOrphan}
}

// writable returns an error if the session cannot write now.
func (s *Session) writable() error {
	if s.options.ReadOnly {
		return fmt.Errorf("%s: the session is read-only", s.target.Name)
	}
	st := s.get()
	switch {
	case st.fatal != nil:
		return st.fatal
	case st.role == rolePrimary:
		return nil
	case st.role == roleUnknown:
		return &NotConnectedError{s.target.Name, s.target.Addr, st.cause}
	}
	return s.notPrimary()
}

func (s *Session) event(kind EventKind, err error, format string, args ...any) {
	if err != nil && s.quiet.Load() {
		return
	}
	text := strings.TrimPrefix(fmt.Sprintf(format, args...), s.target.Name+": ")
	s.options.Event(Event{Switch: s.target.Name, Kind: kind, Text: text, Err: err})
}

// call returns a context for one unary call.
func (s *Session) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.options.Timeout)
}
