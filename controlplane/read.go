// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"io"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Limits of what a switch may answer to a read, far beyond what switches hold: a peer
// may send without an end.
const (
	// MaxEntities is the number of entities.
	MaxEntities = 4_000_000
	// MaxAnswer is the size in bytes. A message counts as messageSize besides its own
	// size, since it may be empty.
	MaxAnswer   = 256 << 20
	messageSize = 256
	// readTime is how often Options.Timeout all parts of an answer may take.
	readTime = 60
)

// Read returns the entities that match any of those in want, by the
// specification's rules for reads and wildcards. It also works in backup and
// read-only sessions. Options.Timeout applies to the wait for each part of the
// answer. An answer that ends within no limit is an error: see MaxEntities.
func (s *Session) Read(ctx context.Context, want ...*p4v1.Entity) ([]*p4v1.Entity, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(s.options.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	whole := time.AfterFunc(readTime*s.options.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer whole.Stop()
	stream, err := s.client.Read(ctx, &p4v1.ReadRequest{DeviceId: s.target.DeviceID, Role: s.target.Role, Entities: want})
	if err != nil {
		return nil, s.readError(ctx, err)
	}
	var all []*p4v1.Entity
	var size int64
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, s.readError(ctx, err)
		}
		timer.Reset(s.options.Timeout)
		if size += int64(proto.Size(m)) + messageSize; size > MaxAnswer || len(all)+len(m.Entities) > MaxEntities {
			return nil, s.callError("read", status.Errorf(codes.ResourceExhausted, "the answer has more than %d entities or %d MB: read one table after the other; if that is too much as well, the switch sends without an end", MaxEntities, MaxAnswer>>20))
		}
		all = append(all, m.Entities...)
	}
}

// readError returns the first error in the details of a read's status, if there
// are any (specification, Read, Batch Processing).
func (s *Session) readError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = status.FromContextError(context.DeadlineExceeded).Err()
	}
	for _, any := range status.Convert(err).Proto().GetDetails() {
		var p p4v1.Error
		if any.UnmarshalTo(&p) == nil && p.CanonicalCode != int32(codes.OK) {
			err = status.Error(codes.Code(p.CanonicalCode), p.Message)
			break
		}
	}
	return s.callError("read", err)
}
