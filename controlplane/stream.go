// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pauseless/pauseless/internal/diag"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

// supervise keeps a stream open until the session is closed.
func (s *Session) supervise(ctx context.Context) {
	defer close(s.done)
	pause := s.options.MinBackoff
	attempts, evaded, warned := 0, 0, false
	begun := time.Now()
	var since time.Time // the stream was lost
	for {
		stood, err := s.attempt(ctx, since, attempts)
		if ctx.Err() != nil || s.leaving.Load() {
			return
		}
		if errors.Is(err, errSilent) {
			s.hangUp()
		}
		if stood {
			pause, attempts, since = s.options.MinBackoff, 0, time.Now()
		}
		if status.Code(err) == codes.InvalidArgument && time.Since(begun) < s.staleIDTime() {
			if time.Since(begun) > staleID && !warned {
				warned = true
				s.event(Retrying, err, "election id %v is in use: by our last connection, if the switch has not detected its end yet, or by another controller; trying again for %v", s.get().mine, staleIDAfterCrash)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(s.options.MinBackoff):
			}
			continue
		}
		if status.Code(err) == codes.InvalidArgument && evaded < maxEvasions && s.evade() {
			evaded++
			continue
		}
		if fatal := s.fatal(err); fatal != nil && !stood {
			s.set(func(st *state) { st.role, st.fatal = roleUnknown, fatal })
			s.event(Lost, fatal, "%v", fatal)
			return
		}
		s.set(func(st *state) { st.role, st.cause, st.lost = roleUnknown, err, st.lost || stood })
		attempts++
		switch {
		case stood:
			s.event(Lost, err, "lost the connection to %s: %s; trying again in %v", s.target.Addr, plain(err), pause)
		case pause == s.options.MaxBackoff && attempts&(attempts-1) != 0: // reported at exponentially growing intervals
		case status.Code(err) == codes.InvalidArgument:
			s.event(Retrying, err, "election id %v is in use: by our last connection, if the switch has not detected its end yet, or by another controller; trying again in %v", s.get().mine, pause)
		default:
			s.event(Retrying, err, "%s; trying again in %v", unreached(s.target.Addr, err), pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, s.options.MaxBackoff)
	}
}

// staleID is the time for which a switch may consider the election ID of a
// controller that has ended as in use.
const staleID = 500 * time.Millisecond

// staleIDAfterCrash is the same after a failure of the controller's machine,
// which a switch detects only after some seconds without a keepalive.
const staleIDAfterCrash = 10 * time.Second

// staleIDTime returns the time for which a session tries an ID that is in use.
func (s *Session) staleIDTime() time.Duration {
	if s.patient {
		return staleIDAfterCrash
	}
	return staleID
}

// maxEvasions is the number of other controllers with the same ID that a session
// evades.
const maxEvasions = 16

// evade prepares the next attempt if another controller uses the same election ID.
// With the policy TakeOver the session uses the next ID. Otherwise, and if there is
// no next ID, it takes part without an ID, to learn whether there is a primary, and
// which.
func (s *Session) evade() bool {
	st := s.get()
	switch {
	case st.streams > 0:
		return false
	case s.options.Policy == TakeOver && st.mine != highestID:
		s.set(func(st *state) { st.mine = st.mine.next() })
	case (s.options.Policy == AdoptOrphans || s.options.Policy == TakeOver) && !st.unnamed:
		s.set(func(st *state) { st.unnamed = true })
	default:
		return false
	}
	return true
}

// fatal returns an error if another attempt would fail too, or nil. The error
// states the remedy.
func (s *Session) fatal(err error) error {
	if errors.Is(err, errNoRoles) {
		return fmt.Errorf("%s: %w", s.target.Name, err)
	}
	st := s.get()
	if st.streams > 0 {
		return nil // it has worked before: the switch has not detected the end of our last stream, or is starting
	}
	switch status.Code(err) {
	case codes.InvalidArgument:
		if s.options.Policy == Observe {
			return fmt.Errorf("%s: another controller without an election id is connected, and the switch accepts only one (%s)", s.target.Name, plain(err))
		}
		return fmt.Errorf("%s: election id %v is refused (%s): another connected controller uses it; choose another", s.target.Name, st.mine, plain(err))
	case codes.NotFound:
		return fmt.Errorf("%s: %s has no device %d (%s); a topology numbers its switches from 1, BMv2's own default is 0", s.target.Name, s.target.Addr, s.target.DeviceID, plain(err))
	case codes.Unimplemented:
		return fmt.Errorf("%s: the server at %s does not speak P4Runtime v1: %s", s.target.Name, s.target.Addr, plain(err))
	}
	return nil
}

// errSilent is the cause of closing a stream whose switch has stopped answering.
var errSilent = errors.New("the switch does not answer any more")

// errNoRoles is the cause of closing a session with a role on a switch that
// ignores roles.
var errNoRoles = errors.New("the switch does not support roles: it sends packets and digests to the primary controller only")

// attempt connects, takes part in the election and serves the stream until it
// breaks. It returns whether the stream was open, and why it broke.
func (s *Session) attempt(ctx context.Context, since time.Time, failed int) (stood bool, err error) {
	if err := s.dial(ctx); err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := s.client.StreamChannel(ctx)
	if err != nil {
		return false, err
	}
	s.sendMu.Lock()
	s.stream = stream
	s.sendMu.Unlock()
	defer func() {
		s.sendMu.Lock()
		s.stream = nil
		s.sendMu.Unlock()
	}()
	// gRPC reports a refused stream only after a message is sent and received:
	// without an answer to the bid the attempt has failed.
	s.take(s.get())
	hurry := time.AfterFunc(s.options.Timeout, func() { cancel(errSilent) })
	defer hurry.Stop()
	for {
		m, err := stream.Recv()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
				err = cause
			}
			if stood && s.options.Policy == Standby && status.Code(err) == codes.InvalidArgument {
				s.set(func(st *state) { st.mine = s.target.ElectionID })
			}
			return stood, err
		}
		if !stood {
			stood = true
			hurry.Stop()
			s.welcome(since, failed)
			go s.probe(ctx, cancel)
			go s.watchClock(ctx)
		}
		if err := s.handle(m); err != nil {
			return false, err
		}
	}
}

// dial waits until the transport is connected or an attempt has failed.
func (s *Session) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	s.conn.ResetConnectBackoff()
	s.conn.Connect()
	tried := false
	for {
		switch st := s.conn.GetState(); st {
		case connectivity.Ready, connectivity.Shutdown:
			return nil
		case connectivity.TransientFailure:
			if tried {
				return nil // opening the stream returns the cause
			}
			s.wait(ctx, st, 100*time.Millisecond)
			tried = s.conn.GetState() == connectivity.TransientFailure
		case connectivity.Idle:
			s.conn.Connect()
			s.wait(ctx, st, s.options.Timeout)
		default:
			tried = true
			s.wait(ctx, st, s.options.Timeout)
		}
		if ctx.Err() != nil {
			return errSilent
		}
	}
}

func (s *Session) wait(ctx context.Context, from connectivity.State, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.conn.WaitForStateChange(ctx, from)
}

// welcome notes that a stream is open.
func (s *Session) welcome(since time.Time, failed int) {
	var n int
	s.set(func(st *state) { st.streams++; st.cause = nil; n = st.streams })
	switch {
	case n > 1:
		s.event(Connected, nil, "connected to %s again after %v and %s", s.target.Addr, time.Since(since).Round(time.Millisecond), count(failed, "attempt"))
	case failed > 0:
		s.event(Connected, nil, "connected to %s at attempt %d", s.target.Addr, failed+1)
	default:
		s.event(Connected, nil, "connected to %s", s.target.Addr)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// take takes part in the election, with the ID of the state if it has one.
func (s *Session) take(st state) {
	if s.options.Policy == Observe || st.unnamed {
		s.set(func(st *state) { st.bidding = true })
		s.arbitrate(nil)
		return
	}
	s.bid(st.mine)
}

// bid sends an election ID on the stream.
func (s *Session) bid(id ElectionID) {
	s.set(func(st *state) { st.mine, st.bidding, st.unnamed = id, true, false })
	s.arbitrate(id.proto())
}

func (s *Session) arbitrate(id *p4v1.Uint128) {
	u := &p4v1.MasterArbitrationUpdate{DeviceId: s.target.DeviceID, ElectionId: id}
	if s.target.Role != "" {
		u.Role = &p4v1.Role{Name: s.target.Role}
	}
	s.send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: u}})
}

// send sends a message on the stream. Errors of a broken stream are returned when
// receiving.
func (s *Session) send(m *p4v1.StreamMessageRequest) error {
	s.sendMu.Lock()
	defer s.sendMu.Unlock()
	if s.stream == nil {
		return &NotConnectedError{s.target.Name, s.target.Addr, s.get().cause}
	}
	return s.stream.Send(m)
}

// handle processes a message. After an error the stream is closed.
func (s *Session) handle(m *p4v1.StreamMessageResponse) error {
	switch m := m.Update.(type) {
	case *p4v1.StreamMessageResponse_Arbitration:
		if m.Arbitration.GetRole().GetName() != s.target.Role {
			return errNoRoles
		}
		s.arbitrated(m.Arbitration)
	case *p4v1.StreamMessageResponse_Packet:
		if n := s.packets.put(m.Packet); n > 0 {
			s.event(Dropped, nil, "%s dropped: they arrive faster than the program reads them; read them faster, or send fewer to the controller", count(n, "packet"))
		}
	case *p4v1.StreamMessageResponse_Digest:
		if n := s.digests.put(m.Digest); n > 0 {
			s.event(Dropped, nil, "%s dropped and not acknowledged: they arrive faster than the program reads them; read them faster, or increase the digest's list size and timeout", count(n, "digest list"))
		}
	case *p4v1.StreamMessageResponse_Error:
		e := m.Error
		s.event(StreamError, nil, "the switch refused a message on the stream: %s (%v)", diag.Printable(e.GetMessage()), codes.Code(e.GetCanonicalCode()))
	}
	return nil
}

// arbitrated processes a message about the primary (specification, Client
// Arbitration Notifications).
func (s *Session) arbitrated(u *p4v1.MasterArbitrationUpdate) {
	r := roleBackup
	switch codes.Code(u.GetStatus().GetCode()) {
	case codes.OK:
		r = rolePrimary
	case codes.NotFound:
		r = roleOrphan
	}
	var was role
	var st state
	var raised, before ElectionID
	s.set(func(now *state) {
		was, before = now.role, now.highest
		if now.unnamed && r == rolePrimary {
			r = roleOrphan // BMv2: there is no other controller, but without an ID this one cannot write
		}
		now.role, now.bidding = r, false
		if r == rolePrimary && was != r {
			now.term++
		}
		if id := electionID(u.GetElectionId()); id != (ElectionID{}) {
			now.highest = id
		}
		raised = s.raise(*now)
		now.bidding = raised != (ElectionID{})
		st = *now
	})
	switch {
	case raised != (ElectionID{}) && r == roleOrphan:
		s.event(Orphaned, nil, "there is no primary; taking over with election id %v", raised)
		s.bid(raised)
	case raised != (ElectionID{}):
		s.event(Backup, nil, "the primary has election id %v; taking over with %v", st.highest, raised)
		s.bid(raised)
	case s.options.Policy == Observe && (r != was || r == roleBackup && st.highest != before):
		switch r {
		case roleOrphan:
			s.event(Orphaned, nil, "there is no primary controller, so errors are not corrected; start one with `pauseless ctl apply TOPOLOGY --keep`")
		case roleBackup:
			s.event(Backup, nil, "the controller with election id %v is the primary", st.highest)
		}
	case r == was:
	case r == rolePrimary:
		s.event(Primary, nil, "this controller is the primary (election id %v)", st.mine)
	case r == roleBackup && s.options.Policy == Standby:
		s.event(Backup, nil, "standing by: the primary has election id %v", st.highest)
	default:
		s.event(Backup, s.notPrimary(), "%v", s.notPrimary())
	}
}

// raise returns the next election ID to bid, zero for none.
func (s *Session) raise(st state) ElectionID {
	switch {
	case s.options.Policy == Standby && st.role == roleOrphan:
		if st.mine.Compare(st.highest) >= 0 {
			return st.mine
		}
		return s.target.ElectionID.above(st.highest)
	case s.options.Policy == AdoptOrphans && st.role == roleOrphan,
		s.options.Policy == TakeOver && st.role == roleOrphan && st.term == 0,
		s.options.Policy == TakeOver && st.role == roleBackup && st.term == 0 && st.highest != highestID:
		return st.highest.next()
	}
	return ElectionID{}
}

// probe calls the connected switch periodically, and closes the stream if there is
// no answer. An error is also an answer.
func (s *Session) probe(ctx context.Context, giveUp context.CancelCauseFunc) {
	if s.options.Probe <= 0 {
		return
	}
	const patience = 3
	tick := time.NewTicker(s.options.Probe)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		call, cancel := context.WithTimeout(ctx, patience*s.options.Probe)
		_, err := s.client.Capabilities(call, &p4v1.CapabilitiesRequest{})
		cancel()
		if ctx.Err() == nil && status.Code(err) == codes.DeadlineExceeded {
			giveUp(fmt.Errorf("no answer for %v: %w", patience*s.options.Probe, errSilent))
			return
		}
	}
}
