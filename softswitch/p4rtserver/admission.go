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

// admission bounds the memory of messages on their way in. gRPC reads a whole
// message before anybody is asked, so the calls that may have large ones are
// counted when they begin; and what has arrived is decoded only while there is
// memory for that.
type admission struct {
	s *Server

	mu     sync.Mutex
	calls  map[string]int // under way, by address of the peer
	others int            // of peers of which none is primary
	chosen int            // of primaries

	// free is what decoding may take; those who wait are woken when it changes.
	free    int64
	changed *sync.Cond
	held    sync.Map // decoded message → what it takes
}

func newAdmission(s *Server) *admission {
	a := &admission{s: s, calls: map[string]int{}, free: s.budget.decoded.limit}
	a.changed = sync.NewCond(&a.mu)
	return a
}

// arrival is how long a message may take to arrive from a peer that is not
// primary. A primary's may take any time: it has slots of its own.
const arrival = time.Minute

// tap is asked before a call is read.
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

// peerOf returns the address of the caller, "" if it is not known.
func peerOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// codec is protobuf's, which waits for memory before it decodes.
type codec struct {
	encoding.CodecV2
	a *admission
}

func (a *admission) codec() encoding.CodecV2 { return codec{encoding.GetCodecV2("proto"), a} }

// Decoding makes so many bytes of one: an update of 30 bytes is a dozen
// structures. Small messages do not wait.
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

// decoded is what it took to decode a message.
type decoded struct {
	bytes int64
	time  time.Duration
}

// charge has the sender of a message pay for the time that it took.
func (a *admission) charge(ctx context.Context, v any) {
	if d, ok := a.held.Load(v); ok {
		a.s.pace(ctx).spend(d.(decoded).time)
	}
}

// TagRPC is called before a call's message is decoded: it waits until the
// caller's kind may take time.
func (a *admission) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if large(info.FullMethodName) {
		_ = a.s.pace(ctx).wait(ctx) // a call that has ended will find out
	}
	return ctx
}

func (*admission) HandleRPC(context.Context, stats.RPCStats)                         {}
func (*admission) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*admission) HandleConn(context.Context, stats.ConnStats)                       {}

// large reports whether a method's messages may be.
func large(method string) bool {
	switch method {
	case p4v1.P4Runtime_Write_FullMethodName, p4v1.P4Runtime_SetForwardingPipelineConfig_FullMethodName, p4v1.P4Runtime_Read_FullMethodName:
		return true
	}
	return false
}

// release notes that a message is not needed any more.
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

// received releases the messages of a stream: each when the next is wanted,
// the last at the end.
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
