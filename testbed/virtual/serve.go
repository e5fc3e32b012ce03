// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Serve serves P4Runtime to controllers from outside; see the package's comment.
type Serve struct {
	// Address is host:port of the first switch's server; each further switch has the next
	// port. With port 0 all have free ones.
	Address string
	// Listen, if set, makes the listener of a switch instead of Address.
	Listen func(n *topo.Node) (net.Listener, error)
	// Quiet is the real time without a call after which a controller has answered:
	// DefaultQuiet if zero.
	Quiet time.Duration
	// Pace, if not zero, is the virtual time in seconds that passes in a second of real
	// time, at most. Virtual time does not wait for controllers then.
	Pace float64
	// Ready, if set, is called when the servers listen, before virtual time begins.
	Ready func([]controlplane.Target)
}

// DefaultQuiet is longer than a controller on the same machine takes for a call.
const DefaultQuiet = 100 * time.Millisecond

// backlog is the number of messages that wait for a controller that is served. It has to
// hold those of a slice of virtual time.
const backlog = 1 << 16

// Gate lets virtual time advance as far as controllers allow.
type Gate struct {
	lab   *Lab
	serve Serve
	calls atomic.Uint64 // begun and ended calls, and messages received
	now   atomic.Int64  // calls that are being executed
	told  uint64        // messages to controllers that have been answered
	began time.Time     // when virtual time began
}

// Gate starts the servers of the lab's switches, for a Config with Served. It waits until a
// controller is primary of a switch, and quiet.
func (l *Lab) Gate(ctx context.Context, s Serve) (*Gate, error) {
	if s.Quiet == 0 {
		s.Quiet = DefaultQuiet
	}
	g := &Gate{lab: l, serve: s}
	listen := s.Listen
	if listen == nil {
		host, first, err := net.SplitHostPort(s.Address)
		port, perr := strconv.ParseUint(first, 10, 16)
		if err != nil || perr != nil || host == "" {
			return nil, fmt.Errorf("address %q: write host:port, as in 127.0.0.1:9559", s.Address)
		}
		next := int(port)
		listen = func(*topo.Node) (net.Listener, error) {
			lis, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(next)))
			if err != nil && next > 0 {
				err = fmt.Errorf("%w: give another first port, or 0 for free ones", err)
			}
			if next > 0 {
				next++
			}
			return lis, err
		}
	}
	targets, err := l.serveOn(listen, grpc.UnaryInterceptor(g.unary), grpc.StreamInterceptor(g.stream))
	if err != nil {
		return nil, err
	}
	if s.Ready != nil {
		s.Ready(targets)
	}
	for !g.primary() {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(s.Quiet / 4):
		}
	}
	if err := g.settle(ctx); err != nil {
		return nil, err
	}
	g.began = time.Now()
	return g, nil
}

// Pass is called between two slices of virtual time, at now. It returns when time may
// advance.
func (g *Gate) Pass(ctx context.Context, now vtime.Time) error {
	if g.serve.Pace > 0 {
		early := time.Duration(now.Seconds()/g.serve.Pace*1e9) - time.Since(g.began)
		if early < time.Millisecond {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(early):
			return nil
		}
	}
	for told := g.sum(); told != g.told; told = g.sum() {
		if err := g.settle(ctx); err != nil {
			return err
		}
		g.told = told
	}
	return nil
}

// sum returns the number of messages to controllers so far.
func (g *Gate) sum() (n uint64) {
	for _, s := range g.lab.p4rt {
		if s != nil {
			n += s.Told()
		}
	}
	return n
}

func (g *Gate) primary() bool {
	for _, s := range g.lab.p4rt {
		if s != nil {
			if is, _ := s.Primary(); is {
				return true
			}
		}
	}
	return false
}

// settle waits until all messages are on their way, no call is being executed, and none has
// begun or ended for the quiet time.
func (g *Gate) settle(ctx context.Context) error {
	for last := g.calls.Load(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(g.serve.Quiet):
		}
		now := g.calls.Load()
		if now == last && g.now.Load() == 0 && !g.waiting() {
			return nil
		}
		last = now
	}
}

func (g *Gate) waiting() bool {
	for _, s := range g.lab.p4rt {
		if s != nil {
			if _, waiting := s.Primary(); waiting {
				return true
			}
		}
	}
	return false
}

func (g *Gate) enter() {
	g.now.Add(1)
	g.calls.Add(1)
}

func (g *Gate) leave() {
	g.calls.Add(1)
	g.now.Add(-1)
}

func (g *Gate) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	g.enter()
	defer g.leave()
	return handle(ctx, req)
}

func (g *Gate) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if info.IsClientStream { // StreamChannel, which lasts
		g.calls.Add(1)
		return handle(srv, countedStream{ss, g})
	}
	g.enter()
	defer g.leave()
	return handle(srv, ss)
}

// countedStream counts the messages of a controller.
type countedStream struct {
	grpc.ServerStream
	g *Gate
}

func (s countedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	s.g.calls.Add(1)
	return err
}
