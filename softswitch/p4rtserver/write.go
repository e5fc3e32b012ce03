// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
)

// An op is an update that was validated as far as possible without the switch.
type op interface {
	// apply executes the update, under the lock of its device, and records in its
	// journal what reverts it. What an update that failed has changed must be reverted.
	apply(d *device) error
	// size is the number of entries or cells that it changes.
	size() int
}

// Limits of a batch's entries and cells. Packets wait for all that are atomic for them:
// about 1 µs each. Other writes and reads wait for a batch.
const (
	maxAtomic = 1 << 16
	maxCells  = 1 << 27
)

// Write implements the RPC of this name.
func (s *Server) Write(ctx context.Context, r *p4v1.WriteRequest) (*p4v1.WriteResponse, error) {
	if err := s.checkDevice(r.DeviceId); err != nil {
		return nil, err
	}
	if err := s.arb.checkPrimary(r.Role, writeRoleID(r), r.ElectionId); err != nil {
		return nil, err
	}
	switch r.Atomicity {
	case p4v1.WriteRequest_CONTINUE_ON_ERROR, p4v1.WriteRequest_ROLLBACK_ON_ERROR, p4v1.WriteRequest_DATAPLANE_ATOMIC:
	default:
		return nil, status.Errorf(codes.InvalidArgument, "unknown atomicity %v", r.Atomicity)
	}
	turn, err := s.paced(ctx)
	if err != nil {
		return nil, err
	}
	defer turn.end()
	s.serial.Lock()
	defer s.serial.Unlock()
	s.writes.Lock()
	defer s.writes.Unlock()
	role, end, err := s.arb.begin(r.Role, writeRoleID(r), r.ElectionId)
	if err != nil {
		return nil, err
	}
	defer end()
	d, err := s.current()
	if err != nil {
		return nil, err
	}
	all := r.Atomicity == p4v1.WriteRequest_CONTINUE_ON_ERROR
	ops := make([]op, len(r.Updates))
	errs := make([]error, len(r.Updates))
	failed := false
	size := 0
	l, done := d.learning()
	defer done()
	uses := make([][]use, len(r.Updates))
	for i, u := range r.Updates {
		l.begin()
		if errs[i] = role.check(d.pipeline, u); errs[i] == nil {
			ops[i], errs[i] = d.decode(u)
		}
		if errs[i] == nil {
			if size += ops[i].size(); size > maxCells {
				errs[i] = status.Errorf(codes.ResourceExhausted, "the batch changes more than %d cells: send several", maxCells)
				size -= ops[i].size()
			}
		}
		failed = failed || errs[i] != nil
		uses[i] = l.uses()
	}
	if r.Atomicity == p4v1.WriteRequest_DATAPLANE_ATOMIC && size > maxAtomic {
		return nil, status.Errorf(codes.ResourceExhausted, "the batch changes %d entries and cells, for which packets would wait: at most %d can be changed as one for packets", size, maxAtomic)
	}
	if all || !failed {
		failed = d.applyAll(ops, errs, r.Atomicity) || failed
	}
	for i := range uses {
		if errs[i] == nil && (all || !failed) {
			l.keep(uses[i])
		}
	}
	if !failed {
		return &p4v1.WriteResponse{}, nil
	}
	if !all { // a successful update was reverted
		for i := range errs {
			if errs[i] == nil {
				errs[i] = status.Error(codes.Aborted, "not done, because another update of the batch failed")
			}
		}
	}
	return nil, batchError("Write failure.", errs)
}

// Numbers of updates and of cells changed in one critical section of the switch's lock,
// for batches that are not atomic for packets: packets wait for at most this many.
const (
	writeChunk = 32
	cellChunk  = 4096
)

// batch is the state of a write in progress.
type batch struct {
	journal
	atomic   bool   // all updates or none
	pause    func() // lets packets pass; nil: none may
	borrowed int64  // memory of what is saved for inverses
}

// breathe lets packets pass, and goroutines that wait for the switch's lock, unless the
// batch is atomic for packets.
func (b *batch) breathe() {
	if b.pause != nil {
		b.pause()
	}
}

// borrow charges memory until the end of the write.
func (d *device) borrow(n int64) error {
	err := d.s.budget.state.take(n, 1)
	if err == nil {
		d.borrowed += n
	}
	return err
}

// applyAll applies updates. It reports whether one failed. Unless all are to be
// tried, it then reverts the others. Batches that are atomic for the data plane are
// applied, and reverted, in one critical section of the switch's lock: a packet sees all
// of such a batch or nothing.
func (d *device) applyAll(ops []op, errs []error, mode p4v1.WriteRequest_Atomicity) (failed bool) {
	all := mode == p4v1.WriteRequest_CONTINUE_ON_ERROR
	unlock := d.lock()
	d.batch = batch{journal: journal{recording: true}, atomic: !all}
	if mode != p4v1.WriteRequest_DATAPLANE_ATOMIC {
		d.pause = func() {
			unlock()
			runtime.Gosched() // for goroutines that wait for the lock
			unlock = d.lock()
		}
	}
	defer func() {
		unlock()
		d.s.budget.state.give(d.borrowed)
		d.batch = batch{}
	}()
	for i, o := range ops {
		if i > 0 && i%writeChunk == 0 {
			d.breathe()
		}
		if errs[i] != nil {
			continue
		}
		if errs[i] = o.apply(d); errs[i] != nil {
			d.revert()
			if failed = true; !all {
				break
			}
		}
		if all {
			d.accept()
		}
	}
	return failed
}

// batchError packs the errors of a batch: UNKNOWN with a p4.Error for each
// element. gRPC sends them in a header, which clients accept up to 16 MB. With
// many errors, the later ones have only a code. With more than maxDetails
// elements, the first errors are in the text and there are no details.
func batchError(text string, errs []error) error {
	if len(errs) > maxDetails {
		return tooManyErrors(text, errs)
	}
	st := &rpcstatus.Status{Code: int32(codes.Unknown), Message: text}
	room := maxTexts
	for _, err := range errs {
		e := &p4v1.Error{}
		if err != nil {
			c := status.Convert(err)
			e.CanonicalCode = int32(c.Code())
			if msg := brief(c.Message()); room >= len(msg) {
				room -= len(msg) + len("softswitch")
				e.Message, e.Space = msg, "softswitch"
			}
		}
		detail, marshalErr := anypb.New(e)
		if marshalErr != nil {
			return status.Error(codes.Internal, marshalErr.Error())
		}
		st.Details = append(st.Details, detail)
	}
	return status.ErrorProto(st)
}

// tooManyErrors returns the error of a batch that is too large for details,
// with the first elements' errors.
func tooManyErrors(text string, errs []error) error {
	const shown = 10
	var b strings.Builder
	failed := 0
	for i, err := range errs {
		c := status.Convert(err)
		if err == nil || c.Code() == codes.Aborted {
			continue
		}
		if failed++; failed <= shown {
			fmt.Fprintf(&b, " %d: %v: %s;", i+1, c.Code(), brief(c.Message()))
		}
	}
	return status.Errorf(codes.Unknown, "%s %d of %d failed:%s batches of more than %d get no details", text, failed, len(errs), b.String(), maxDetails)
}

// decode validates an update.
func (d *device) decode(u *p4v1.Update) (op, error) {
	typ := u.GetType()
	switch typ {
	case p4v1.Update_INSERT, p4v1.Update_MODIFY, p4v1.Update_DELETE:
	default:
		return nil, status.Errorf(codes.InvalidArgument, "unknown type of update %v", typ)
	}
	modifyOnly := func(what string) error {
		if typ != p4v1.Update_MODIFY {
			return status.Errorf(codes.InvalidArgument, "%s can only be modified", what)
		}
		return nil
	}
	switch e := u.GetEntity().GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return d.decodeTableUpdate(typ, e.TableEntry)
	case *p4v1.Entity_ActionProfileMember:
		return d.decodeMember(typ, e.ActionProfileMember)
	case *p4v1.Entity_ActionProfileGroup:
		return d.decodeGroup(typ, e.ActionProfileGroup)
	case *p4v1.Entity_CounterEntry:
		if err := modifyOnly("a counter"); err != nil {
			return nil, err
		}
		return d.decodeCounter(e.CounterEntry)
	case *p4v1.Entity_DirectCounterEntry:
		if err := modifyOnly("a direct counter"); err != nil {
			return nil, err
		}
		return d.decodeDirectCounter(e.DirectCounterEntry)
	case *p4v1.Entity_MeterEntry:
		if err := modifyOnly("a meter"); err != nil {
			return nil, err
		}
		return d.decodeMeter(e.MeterEntry)
	case *p4v1.Entity_DirectMeterEntry:
		if err := modifyOnly("a direct meter"); err != nil {
			return nil, err
		}
		return d.decodeDirectMeter(e.DirectMeterEntry)
	case *p4v1.Entity_RegisterEntry:
		if err := modifyOnly("a register"); err != nil {
			return nil, err
		}
		return d.decodeRegister(e.RegisterEntry)
	case *p4v1.Entity_ValueSetEntry:
		if err := modifyOnly("a value set"); err != nil {
			return nil, err
		}
		return d.decodeValueSet(e.ValueSetEntry)
	case *p4v1.Entity_PacketReplicationEngineEntry:
		return d.decodePRE(typ, e.PacketReplicationEngineEntry)
	case *p4v1.Entity_DigestEntry:
		return d.decodeDigest(typ, e.DigestEntry)
	case *p4v1.Entity_ExternEntry:
		return nil, status.Errorf(codes.InvalidArgument, "unknown extern type id %d: v1model has no externs of its own", e.ExternEntry.GetExternTypeId())
	}
	return nil, status.Error(codes.InvalidArgument, "the update has no entity")
}
