// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"slices"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// responseEntities is the maximum number of entities in one message of a read.
const responseEntities = 1024

// patience is the time limit for a reader to accept one message.
const patience = time.Minute

// maxRequests limits the elements of a read, and maxReadBytes its encoded size: a
// read is not split while it is decoded.
const (
	maxRequests  = 1 << 16
	maxReadBytes = 1 << 19
)

// Read implements the RPC of this name. It sees a write completely or not at
// all, but writes do not wait for it: see reading. Its answer is gathered first, in encoded
// form and counted, and sent afterwards, so that a slow reader delays nobody.
func (s *Server) Read(r *p4v1.ReadRequest, stream p4v1.P4Runtime_ReadServer) error {
	if err := s.checkDevice(r.DeviceId); err != nil {
		return err
	}
	if n := len(r.Entities); n > maxRequests {
		return status.Errorf(codes.ResourceExhausted, "a read of %d elements, more than %d: send several reads", n, maxRequests)
	}
	part := int64(2) // others leave half of the memory to primaries
	if s.arb.hasPrimary(peerOf(stream.Context())) {
		part = 1
	}
	a := &answer{share: &s.budget.answers, part: part}
	defer a.forget()
	failure := s.gather(stream.Context(), r, a)
	if failure == nil || status.Code(failure) == codes.Unknown { // the part that could be read
		if err := a.send(stream); err != nil {
			return err
		}
	}
	return failure
}

// gather reads the entities of a request.
func (s *Server) gather(ctx context.Context, q *p4v1.ReadRequest, a *answer) error {
	turn, err := s.paced(ctx)
	if err != nil {
		return err
	}
	defer turn.end()
	s.writes.Lock()
	d, err := s.current()
	var r *reading
	if err == nil {
		r = d.reading(ctx, a.add)
		r.snap, r.rest = d.open(), turn.yield
	}
	s.writes.Unlock()
	if err != nil {
		return err
	}
	defer func() {
		s.writes.Lock()
		d.close(r.snap)
		s.writes.Unlock()
	}()
	errs := make([]error, len(q.Entities))
	failed := false
	for i, e := range q.Entities {
		if errs[i] = r.read(e); errs[i] == nil {
			continue
		}
		if failed = true; r.over(errs[i]) || a.err != nil {
			return errs[i]
		}
	}
	if a.pack(); a.err != nil {
		return a.err
	}
	if failed {
		return batchError("Read failure.", errs)
	}
	return nil
}

// over reports whether an error ends the whole read.
func (r *reading) over(err error) bool {
	return r.ctx.Err() != nil || status.Code(err) == codes.Aborted
}

// answer is the result of a read. Pages are encoded messages, which take a
// tenth of the memory of their structures.
type answer struct {
	share *share
	part  int64
	page  []byte // the current page
	n     int    // entities in it
	one   []byte // scratch
	pages [][]byte
	taken int64
	err   error // no more memory
}

// A page has at most this many bytes, except for a single large entity: clients
// accept messages of 4 MB unless configured otherwise.
const pageBytes = 1 << 20

// entitiesField is the number of ReadResponse.entities.
const entitiesField = 1

func (a *answer) add(e *p4v1.Entity) error {
	if a.one, a.err = (proto.MarshalOptions{}).MarshalAppend(a.one[:0], e); a.err != nil {
		return a.err
	}
	if a.n == responseEntities || a.n > 0 && len(a.page)+len(a.one) > pageBytes {
		if a.pack(); a.err != nil {
			return a.err
		}
	}
	a.page = protowire.AppendTag(a.page, entitiesField, protowire.BytesType)
	a.page = protowire.AppendBytes(a.page, a.one)
	a.n++
	return nil
}

// pack ends the current page.
func (a *answer) pack() {
	if a.n == 0 || a.err != nil {
		return
	}
	page := slices.Clone(a.page)
	if a.err = a.share.take(int64(cap(page)), a.part); a.err != nil {
		return
	}
	a.taken += int64(cap(page))
	a.pages = append(a.pages, page)
	a.page, a.n = a.page[:0], 0
}

func (a *answer) forget() { a.share.give(a.taken) }

// send sends the pages, or an empty message if there are none. It holds no
// lock. Its goroutine ends with the call.
func (a *answer) send(stream p4v1.P4Runtime_ReadServer) error {
	if len(a.pages) == 0 {
		a.pages = [][]byte{nil}
	}
	sent := make(chan error)
	done := make(chan struct{})
	defer close(done)
	pages := a.pages
	go func() {
		for _, page := range pages {
			m := &p4v1.ReadResponse{}
			m.ProtoReflect().SetUnknown(page) // encoded as it is
			err := stream.Send(m)
			select {
			case sent <- err:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	for range pages {
		select {
		case err := <-sent:
			if err != nil {
				return err
			}
			late.Reset(patience)
		case <-late.C:
			return status.Errorf(codes.Aborted, "the reader took nothing of its answer for %v", patience)
		}
	}
	return nil
}

// read reads the entities of one element of a request.
func (r *reading) read(e *p4v1.Entity) error {
	switch x := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return r.readTable(x.TableEntry)
	case *p4v1.Entity_ActionProfileMember:
		return r.readMembers(x.ActionProfileMember)
	case *p4v1.Entity_ActionProfileGroup:
		return r.readGroups(x.ActionProfileGroup)
	case *p4v1.Entity_CounterEntry:
		return r.readCounters(x.CounterEntry)
	case *p4v1.Entity_DirectCounterEntry:
		return r.readDirectCounters(x.DirectCounterEntry)
	case *p4v1.Entity_MeterEntry:
		return r.readMeters(x.MeterEntry)
	case *p4v1.Entity_DirectMeterEntry:
		return r.readDirectMeters(x.DirectMeterEntry)
	case *p4v1.Entity_RegisterEntry:
		return r.readRegisters(x.RegisterEntry)
	case *p4v1.Entity_ValueSetEntry:
		return r.readValueSets(x.ValueSetEntry)
	case *p4v1.Entity_PacketReplicationEngineEntry:
		return r.readPRE(x.PacketReplicationEngineEntry)
	case *p4v1.Entity_DigestEntry:
		return r.readDigests(x.DigestEntry)
	case *p4v1.Entity_ExternEntry:
		if x.ExternEntry.GetExternTypeId() == 0 {
			return nil // all extern instances: there are none
		}
		return status.Errorf(codes.InvalidArgument, "unknown extern type id %d: v1model has no externs of its own", x.ExternEntry.ExternTypeId)
	}
	return status.Error(codes.InvalidArgument, "a request has no entity")
}
