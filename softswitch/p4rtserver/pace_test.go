// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// callFrom returns the context of a call from a port of this machine.
func callFrom(t *testing.T, port int) context.Context {
	return peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}})
}

// pacedServer is a server with a primary on port 1.
func pacedServer(t *testing.T) *Server {
	t.Helper()
	sw, err := softswitch.New(softswitch.Config{DeviceID: 1})
	if err != nil {
		t.Fatal(err)
	}
	solo.New(sw)
	s := New(sw, Options{})
	s.arb.roles[""] = &role{primary: &client{election: &electionID{0, 1}, peer: peerOf(callFrom(t, 1))}}
	return s
}

// Calls of clients that are not primary get a tenth of a processor after a
// burst of a second. They do not delay calls of primaries, and vice versa.
// Without the pace, garbage collection for ten hostile clients multiplies the 99th
// percentile of the switch's latency.
func TestCallsOfStrangersArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pacedServer(t)
		call := func(port int, work time.Duration) (waited time.Duration) {
			begun := time.Now()
			done, err := s.paced(callFrom(t, port))
			if err != nil {
				t.Fatal(err)
			}
			waited = time.Since(begun)
			time.Sleep(work)
			done.end()
			return waited
		}
		for i, want := range []time.Duration{0, 0, 7100 * time.Millisecond} { // twice 0.9 s, less the 0.09 s that came back during the second
			if got := call(2, 900*time.Millisecond); got < want*9/10 || got > want*11/10 {
				t.Errorf("call %d of a stranger waited %v, not about %v", i+1, got, want)
			}
		}
		for range 4 {
			if got := call(1, time.Second); got != 0 {
				t.Errorf("a primary's call waited %v for strangers", got)
			}
		}
		call(1, 2*time.Second)
		if got := call(1, 0); got == 0 {
			t.Error("primaries may take any time")
		}
		time.Sleep(time.Hour)
		if got := call(2, 0); got != 0 {
			t.Errorf("after an hour a stranger's call waited %v", got)
		}
	})
}

// With a share of 1 no call waits.
func TestCallsWithoutLimitAreNotPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sw, err := softswitch.New(softswitch.Config{DeviceID: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := New(sw, Options{Share: 1})
		s.others.spend(time.Hour)
		begun := time.Now()
		if _, err := s.paced(callFrom(t, 2)); err != nil || time.Since(begun) != 0 {
			t.Errorf("waited %v, %v", time.Since(begun), err)
		}
	})
}

// A cancelled call stops waiting.
func TestCallGivenUpDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pacedServer(t)
		s.others.spend(time.Hour)
		ctx, cancel := context.WithTimeout(callFrom(t, 2), arrival)
		defer cancel()
		begun := time.Now()
		err := s.gather(ctx, &p4v1.ReadRequest{DeviceId: 1}, &answer{share: &s.budget.answers, part: 1})
		if got := time.Since(begun); got != arrival || status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("after %v: %v", got, err)
		}
	})
}

// talker is a stream that sends messages until its context ends.
type talker struct {
	grpc.ServerStream
	ctx     context.Context
	message *p4v1.StreamMessageRequest
	sent    int
}

func (k *talker) Context() context.Context               { return k.ctx }
func (k *talker) Send(*p4v1.StreamMessageResponse) error { return nil }
func (k *talker) Recv() (*p4v1.StreamMessageRequest, error) {
	if k.ctx.Err() != nil {
		return nil, io.EOF
	}
	k.sent++
	return k.message, nil
}

// Of clients that are not primary, 5,000 messages per second are read.
func TestMessagesOfStrangersArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pacedServer(t)
		s.messages.burst = time.Millisecond
		ctx, cancel := context.WithTimeout(callFrom(t, 2), 2*time.Second)
		defer cancel()
		k := &talker{ctx: ctx, message: &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{}}}}
		if err := s.StreamChannel(k); err != nil {
			t.Error(err)
		}
		if k.sent < 9_000 || k.sent > 11_000 {
			t.Errorf("%d messages were read in two seconds, not 10,000", k.sent)
		}
	})
}
