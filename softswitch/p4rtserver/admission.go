// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that is wrapped
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// admission limits the memory of arriving messages. gRPC reads a whole message
// before it calls a handler, so calls that may have large messages are counted
// when they begin. Decoding an arrived message waits for memory.
type admission struct {
	s *Server

	mu     sync.Mutex
	calls  map[string]int // active, by address of the peer
	others int            // active, of peers without a primary
	chosen int            // active, of primaries

	// free is the memory available for decoding. changed wakes waiting calls.
	free    int64
	changed *sync.Cond
	held    sync.Map // decoded message → its cost
}

func newAdmission(s *Server) *admission {
	a := &admission{s: s, calls: map[string]int{}, free: s.budget.decoded.limit}
	a.changed = sync.NewCond(&a.mu)
	return a
}

// arrival is the time limit for a message of a peer that is not primary. A
// primary has no limit: it has its own slots.
const arrival = time.Minute

// tap is called before a call is read.
func (a *admission) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if !large(info.FullMethodName) {
		return ctx, nil
	}
	from := peerOf(ctx)
	primary := a.s.arb.hasPrimary(from)
	a.mu.Lock()
	defer a.mu.Unlock()
	count := &a.others
	if primary {
		count = &a.chosen
	}
	if *count >= slots-reserved {
		return nil, status.Errorf(codes.ResourceExhausted, "%d calls are under way, as many as the switch takes at once: try again", *count)
	}
	*count++
	a.calls[from]++
	cancel := func() {}
	if !primary {
		ctx, cancel = context.WithTimeout(ctx, arrival)
	}
	context.AfterFunc(ctx, func() {
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		*count--
		if a.calls[from]--; a.calls[from] == 0 {
			delete(a.calls, from)
		}
	})
	return ctx, nil
}

// peerOf returns the address of the caller, or "" if unknown.
func peerOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// codec is protobuf's codec, which waits for memory before decoding.
type codec struct {
	encoding.CodecV2
	a *admission
}

func (a *admission) codec() encoding.CodecV2 { return codec{encoding.GetCodecV2("proto"), a} }

// Decoding expands a message: an update of 30 bytes is a dozen structures.
// Small messages do not wait.
const (
	expansion = 16
	small     = 1 << 16
)

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	n := int64(data.Len())
	if n <= small {
		return c.CodecV2.Unmarshal(data, v)
	}
	n = min(n*expansion, c.a.s.budget.decoded.limit)
	c.a.mu.Lock()
	for c.a.free < n {
		c.a.changed.Wait()
	}
	c.a.free -= n
	c.a.mu.Unlock()
	done := c.a.s.takePlace()
	err := c.CodecV2.Unmarshal(data, v)
	c.a.held.Store(v, decoded{n, done()})
	if err != nil {
		c.a.release(v)
	}
	return err
}

// decoded is the cost of decoding a message.
type decoded struct {
	bytes int64
	time  time.Duration
}

// charge charges the decoding time of a message to its sender.
func (a *admission) charge(ctx context.Context, v any) {
	if d, ok := a.held.Load(v); ok {
		a.s.pace(ctx).spend(d.(decoded).time)
	}
}

// TagRPC is called before a call's message is decoded. It waits for processor
// time of the caller's kind.
func (a *admission) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if large(info.FullMethodName) {
		_ = a.s.pace(ctx).wait(ctx) // a call that has ended fails later
	}
	return ctx
}

func (*admission) HandleRPC(context.Context, stats.RPCStats)                         {}
func (*admission) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*admission) HandleConn(context.Context, stats.ConnStats)                       {}

// large reports whether a method may have large messages.
func large(method string) bool {
	switch method {
	case p4v1.P4Runtime_Write_FullMethodName, p4v1.P4Runtime_SetForwardingPipelineConfig_FullMethodName, p4v1.P4Runtime_Read_FullMethodName:
		return true
	}
	return false
}

// release returns the memory of a message that is no longer needed.
func (a *admission) release(v any) {
	n, ok := a.held.LoadAndDelete(v)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free += n.(decoded).bytes
	a.changed.Broadcast()
}

// received releases the messages of a stream: each at the next receive, the
// last at the end.
type received struct {
	grpc.ServerStream
	a    *admission
	mu   sync.Mutex
	last any
}

func (r *received) RecvMsg(m any) error {
	err := r.ServerStream.RecvMsg(m)
	r.a.charge(r.Context(), m)
	r.swap(m)
	return err
}

func (r *received) swap(m any) {
	r.mu.Lock()
	old := r.last
	r.last = m
	r.mu.Unlock()
	if old != nil {
		r.a.release(old)
	}
}
