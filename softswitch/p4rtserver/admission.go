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
	held    sync.Map // large message → *message
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

// codec is protobuf's codec, but it leaves large messages to complete.
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

// Unmarshal decodes small messages. It keeps large ones for complete, which knows whose
// they are.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	n := data.Len()
	if n <= small {
		return c.CodecV2.Unmarshal(data, v)
	}
	if _, ok := v.(*p4v1.ReadRequest); ok && n > maxReadBytes {
		return status.Errorf(codes.ResourceExhausted, "a read of %d bytes, more than %d: send several reads", n, maxReadBytes)
	}
	data.Ref()
	c.a.held.Store(v, &message{data: data})
	return nil
}

// message is a large message: what has arrived, and the memory charged for it when it is
// decoded.
type message struct {
	data  mem.BufferSlice
	bytes int64
}

// complete decodes a message that Unmarshal has kept. It waits for memory, of which
// others leave half to primaries, and takes a turn of the sender's kind.
func (a *admission) complete(ctx context.Context, v any) error {
	h, ok := a.held.Load(v)
	if !ok {
		return nil
	}
	m := h.(*message)
	defer m.data.Free()
	t, err := a.s.paced(ctx)
	if err != nil {
		return err
	}
	defer t.end()
	limit := a.s.budget.decoded.limit
	left := int64(0)
	if t.pace != &a.s.chosen {
		left = limit / 2
	}
	n := min(int64(m.data.Len())*expansion, limit-left)
	a.mu.Lock()
	if a.free < n+left {
		t.end()
		stop := context.AfterFunc(ctx, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.changed.Broadcast()
		})
		for a.free < n+left && ctx.Err() == nil {
			a.changed.Wait()
		}
		stop()
		if err := ctx.Err(); err != nil {
			a.mu.Unlock()
			t.enter()
			return status.FromContextError(err).Err()
		}
		a.free -= n
		a.mu.Unlock()
		t.enter()
	} else {
		a.free -= n
		a.mu.Unlock()
	}
	m.bytes = n
	return encoding.GetCodecV2("proto").Unmarshal(m.data, v)
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
	a.free += n.(*message).bytes
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
	if err == nil {
		err = r.a.complete(r.Context(), m)
	}
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
