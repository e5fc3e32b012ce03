// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// NotPrimaryError is the error of a write by a controller that is not the primary.
type NotPrimaryError struct {
	Switch  string
	Mine    ElectionID
	Highest ElectionID // that the switch has seen
	Orphan  bool       // no primary is connected
}

func (e *NotPrimaryError) Error() string {
	if e.Orphan {
		return fmt.Sprintf("%s: not primary: election id %v is below %v, which the switch has seen before, though no controller is primary now; use one from %v up",
			e.Switch, e.Mine, e.Highest, e.Highest)
	}
	than := "above"
	if e.Mine == e.Highest {
		than = "which is also"
	}
	rather := "since no election id is higher"
	if e.CanTakeOver() {
		rather = fmt.Sprintf("or take over with an election id from %v up", e.Highest.next())
	}
	return fmt.Sprintf("%s: not primary: another controller is, with election id %v, %s our %v; stop it, %s",
		e.Switch, e.Highest, than, e.Mine, rather)
}

// CanTakeOver reports whether there is an election ID with which this controller
// would be the primary.
func (e *NotPrimaryError) CanTakeOver() bool { return e.Orphan || e.Highest != highestID }

// NotConnectedError reports that a switch cannot be reached now. The session
// continues to try.
type NotConnectedError struct {
	Switch, Addr string
	Cause        error
}

func (e *NotConnectedError) Error() string {
	text := unreached(e.Addr, e.Cause)
	if e.Cause == nil || infile.TLSAdvice(e.Cause) == "" {
		text += "; is a P4Runtime server running there?"
	}
	if e.Switch == e.Addr { // it has no other name
		return text
	}
	return e.Switch + ": " + text
}

func (e *NotConnectedError) Unwrap() error { return e.Cause }

// WriteError has the updates of a write that failed. All others succeeded.
type WriteError struct {
	Switch string
	Total  int // updates in the write
	Failed []UpdateError
}

// UpdateError is one failed update.
type UpdateError struct {
	Index  int // in the write
	Update *p4v1.Update
	Code   codes.Code
	Msg    string
	text   string
	room   string // the size of its table, and what to do if the table is full
}

func (e *UpdateError) Error() string {
	msg := e.Msg
	if msg == "" {
		msg = explain(e.Code)
	}
	switch {
	case e.room == "":
	case e.Code == codes.ResourceExhausted:
		msg += "; " + e.room
	case e.Code == codes.Unknown && e.Update.GetType() == p4v1.Update_INSERT: // BMv2 returns Unknown if the table is full
		msg += "; if the table is full: " + e.room
	}
	if c := e.Update.GetEntity().GetPacketReplicationEngineEntry().GetCloneSessionEntry(); c.GetPacketLengthBytes() != 0 || c.GetClassOfService() != 0 {
		msg += "; BMv2's clone sessions support neither truncation nor class of service; use the program for both"
	}
	return fmt.Sprintf("%s: %s (%s)", e.text, msg, e.Code)
}

// explain returns the meaning of an update's code, for switches that send no
// message.
func explain(c codes.Code) string {
	switch c {
	case codes.AlreadyExists:
		return "it exists already"
	case codes.NotFound:
		return "it does not exist"
	case codes.ResourceExhausted:
		return "the table is full"
	case codes.PermissionDenied:
		return "the program does not allow changing it"
	case codes.Unimplemented:
		return "the switch does not support it"
	}
	return "the switch gives no reason"
}

// maxListed is the number of failures that an error message lists.
const maxListed = 5

func (e *WriteError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d updates failed", e.Switch, len(e.Failed), e.Total)
	for i := range e.Failed {
		if i == maxListed {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Failed)-maxListed)
			break
		}
		fmt.Fprintf(&b, "\n  %s", e.Failed[i].Error())
	}
	return b.String()
}

// writeError turns the status of a Write into a WriteError if it lists the
// updates' outcomes, and into a plain error otherwise.
func (s *Session) writeError(err error, updates []*p4v1.Update, first, total int) error {
	st, ok := status.FromError(err)
	if !ok {
		return s.callError("write", err)
	}
	we := &WriteError{Switch: s.target.Name, Total: total}
	details := st.Proto().GetDetails()
	if len(details) != len(updates) {
		return s.callError("write", err)
	}
	for i, any := range details {
		var p p4v1.Error
		if any.UnmarshalTo(&p) != nil {
			return s.callError("write", err)
		}
		if p.CanonicalCode != int32(codes.OK) {
			we.Failed = append(we.Failed, UpdateError{
				Index: first + i, Update: updates[i], Code: codes.Code(p.CanonicalCode), Msg: diag.Printable(p.Message),
				text: updateText(s.Schema(), updates[i]), room: room(s.Schema(), updates[i]),
			})
		}
	}
	if len(we.Failed) == 0 {
		return s.callError("write", err)
	}
	return we
}

// room returns the size of an update's table, and what to do if it is full.
func room(sch *schema.Schema, u *p4v1.Update) string {
	e := u.GetEntity().GetTableEntry()
	if sch == nil || e == nil {
		return ""
	}
	t := schema.ByID[schema.Table](sch, e.TableId)
	if t == nil || t.Size == 0 {
		return ""
	}
	return fmt.Sprintf("%s holds %d entries: write fewer, or increase its size in the program", t.Name, t.Size)
}

// updateText prints an update as a line: insert Forward dst=….
func updateText(sch *schema.Schema, u *p4v1.Update) string {
	verb := strings.ToLower(u.GetType().String())
	if sch == nil {
		return verb + " " + u.GetEntity().String()
	}
	return verb + " " + sch.FormatEntity(u.GetEntity())
}

// callError adds to an RPC's error the call, the switch, and what to do.
func (s *Session) callError(what string, err error) error {
	if err == nil {
		return nil
	}
	name := s.target.Name
	switch status.Code(err) {
	case codes.Unavailable:
		return &NotConnectedError{name, s.target.Addr, err}
	case codes.PermissionDenied:
		if !s.options.ReadOnly {
			if e := s.notPrimary(); e != nil {
				return e
			}
		}
	case codes.DeadlineExceeded:
		return fmt.Errorf("%s: %s: no answer from %s within %v: %w", name, what, s.target.Addr, s.options.Timeout, context.DeadlineExceeded)
	case codes.FailedPrecondition:
		if what == pushing { // the switch does not fit the program
			break
		}
		return fmt.Errorf("%s: %s: %s; has a pipeline been pushed? %w", name, what, plain(err), ErrNoPipeline)
	}
	if status.Code(err) == codes.Unknown && (strings.Contains(err.Error(), "first phase of device update") || strings.Contains(err.Error(), "reading table entries from target")) {
		return fmt.Errorf("%s: %s: %w; BMv2 stays in this state after it has refused a program: restart the switch", name, what, plainError{err})
	}
	return fmt.Errorf("%s: %s: %w", name, what, plainError{err})
}

// ErrNoPipeline is wrapped by errors of calls to a switch that runs no pipeline.
var ErrNoPipeline = errors.New("push one with SetPipeline or `pauseless ctl pipeline set`")

// unreached says that a server cannot be reached, and why, with its address once.
func unreached(addr string, cause error) string {
	why := strings.TrimPrefix(plain(cause), "dial tcp "+addr+": ")
	text := fmt.Sprintf("cannot reach %s: %s", addr, strings.TrimPrefix(why, "connect: "))
	if cause == nil {
		return text
	}
	if advice := infile.TLSAdvice(cause); advice != "" {
		text += "; " + advice
	}
	return text
}

// plainError prints a gRPC error without gRPC's framing.
type plainError struct{ err error }

func (e plainError) Error() string { return plain(e.err) }
func (e plainError) Unwrap() error { return e.err }

// plain returns an error's message without gRPC's framing.
func plain(err error) string {
	if err == nil {
		return "not yet"
	}
	st, ok := status.FromError(err)
	if !ok {
		return err.Error()
	}
	msg := diag.PrintableLines(strings.TrimSpace(st.Message()))
	if i := strings.Index(msg, `desc = "transport: Error while dialing: `); i >= 0 {
		msg = strings.TrimSuffix(msg[i+len(`desc = "transport: Error while dialing: `):], `"`)
	}
	if rest, ok := strings.CutPrefix(msg, "last connection error: "); ok {
		msg = rest
	}
	if msg == "" {
		return st.Code().String()
	}
	if st.Code() == codes.Unavailable || st.Code() == codes.Unknown {
		return msg
	}
	return fmt.Sprintf("%s (%s)", msg, st.Code())
}
