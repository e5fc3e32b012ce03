// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// Insert makes an update that adds an entity.
func Insert(e *p4v1.Entity) *p4v1.Update {
	return &p4v1.Update{Type: p4v1.Update_INSERT, Entity: e}
}

// Modify makes an update that changes an existing entity.
func Modify(e *p4v1.Entity) *p4v1.Update {
	return &p4v1.Update{Type: p4v1.Update_MODIFY, Entity: e}
}

// Delete makes an update that removes an entity.
func Delete(e *p4v1.Entity) *p4v1.Update {
	return &p4v1.Update{Type: p4v1.Update_DELETE, Entity: e}
}

// maxBatchBytes is the limit of a request: gRPC servers accept 4 MB by default.
const maxBatchBytes = 3 << 20

// Write executes updates in batches of Options.Batch. Batches are executed in
// order; the switch chooses the order within a batch (specification, Batching and
// Ordering). Updates that fail do not stop the others, and are returned in a
// WriteError. After any other error, some of the last batches were not executed.
func (s *Session) Write(ctx context.Context, updates []*p4v1.Update) error {
	if err := s.writable(); err != nil {
		return err
	}
	var failed *WriteError
	for first := 0; first < len(updates); {
		n := batchLen(updates[first:], s.options.Batch)
		batch := updates[first : first+n]
		err := s.writeBatch(ctx, batch, first, len(updates))
		var we *WriteError
		switch {
		case errors.As(err, &we):
			if failed == nil {
				failed = we
			} else {
				failed.Failed = append(failed.Failed, we.Failed...)
			}
		case err != nil:
			return err
		}
		first += n
	}
	if failed != nil {
		return failed
	}
	return nil
}

// batchLen returns the number of updates in the next request.
func batchLen(updates []*p4v1.Update, limit int) int {
	size := 0
	for i, u := range updates {
		size += proto.Size(u) + 8
		if i > 0 && (i == limit || size > maxBatchBytes) {
			return i
		}
	}
	return len(updates)
}

func (s *Session) writeBatch(ctx context.Context, batch []*p4v1.Update, first, total int) error {
	ctx, cancel := s.call(ctx)
	defer cancel()
	_, err := s.client.Write(ctx, &p4v1.WriteRequest{
		DeviceId: s.target.DeviceID, Role: s.target.Role, ElectionId: s.get().mine.proto(), Updates: batch,
	})
	if err != nil {
		return s.writeError(err, batch, first, total)
	}
	return nil
}

// Codes returns the outcome of each failed update.
func (e *WriteError) Codes() []codes.Code {
	list := make([]codes.Code, len(e.Failed))
	for i, f := range e.Failed {
		list[i] = f.Code
	}
	return list
}

// AllExist reports whether all failed updates are insertions of existing entities.
func (e *WriteError) AllExist() bool {
	for _, f := range e.Failed {
		if f.Code != codes.AlreadyExists {
			return false
		}
	}
	return true
}
