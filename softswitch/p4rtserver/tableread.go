// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"bytes"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/table"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// noExtension replaces the extension of an entry without one.
var noExtension = interp.NewExtension()

// entryProto returns an entry as a message. The request determines which direct
// resources it includes.
func (d *device) entryProto(bt *boundTable, t *interp.Table, e *interp.Entry, want *p4v1.TableEntry) *p4v1.TableEntry {
	meta := metaOf(e)
	out := &p4v1.TableEntry{TableId: bt.info.Preamble.Id, Metadata: meta.metadata, IdleTimeoutNs: meta.idle}
	setCookie(out, meta.cookie)
	if e == t.Default() {
		out.IsDefaultAction = true
		out.IsConst = bt.constDefault()
	} else {
		m := t.Match(e)
		out.Match = bt.matchProto(d, &m)
		if bt.priority {
			out.Priority = m.Priority
		}
		out.IsConst = bt.info.IsConstTable || meta.isConst
	}
	out.Action = d.actionProto(e, t, meta)
	x := e.Ext
	if x == nil {
		x = noExtension
	}
	if want.CounterData != nil && bt.counter != nil {
		out.CounterData = counterProto(x.Counter)
	}
	if want.MeterConfig != nil && bt.meter != nil {
		out.MeterConfig = meterProto(&x.Meter)
	}
	if want.MeterCounterData != nil && bt.meter != nil {
		out.MeterCounterData = colorsProto(&x.Meter)
	}
	if want.TimeSinceLastHit != nil && e != t.Default() {
		out.TimeSinceLastHit = &p4v1.TableEntry_IdleTimeout{ElapsedNs: int64((d.s.sw.Now() - x.LastHit) / vtime.Nanosecond)}
	}
	return out
}

// constDefault reports whether the controller cannot change the default entry. Those
// of tables with an action profile are constant (9.1.2).
func (t *boundTable) constDefault() bool {
	return t.prog.Default.ConstEntry || t.info.ConstDefaultActionId != 0 || t.profile != nil
}

func (d *device) actionProto(e *interp.Entry, t *interp.Table, meta *entryMeta) *p4v1.TableAction {
	switch {
	case meta.actionSet != nil:
		return &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileActionSet{ActionProfileActionSet: meta.actionSet}}
	case meta.groupID != 0:
		return &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: meta.groupID}}
	case meta.memberID != 0:
		return &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: meta.memberID}}
	case e.Action() < 0:
		return nil
	}
	a := d.actionMessage(e.Action(), t.Args(e))
	if a == nil {
		return nil
	}
	return &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: a}}
}

// actionMessage returns an action as a message.
func (d *device) actionMessage(number int, args []uint64) *p4v1.Action {
	act := d.byAction[number]
	if act == nil { // the compiler's own: the controller has no name for it
		return nil
	}
	a := &p4v1.Action{ActionId: act.id}
	for i, v := range d.prog.UnpackArgs(number, args) {
		a.Params = append(a.Params, &p4v1.Action_Param{ParamId: act.params[i].id, Value: d.format(act.params[i].trans, v)})
	}
	return a
}

// matchProto returns a match as messages, without fields that match everything.
func (t *boundTable) matchProto(d *device, m *table.Match) []*p4v1.FieldMatch {
	var list []*p4v1.FieldMatch
	for i, f := range t.prog.Fields(m) {
		bf := &t.fields[i]
		fm := &p4v1.FieldMatch{FieldId: bf.id}
		switch bf.kind {
		case p4configv1.MatchField_EXACT:
			fm.FieldMatchType = &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: d.format(bf.trans, f.Value)}}
		case p4configv1.MatchField_LPM:
			if f.Prefix == 0 {
				continue
			}
			fm.FieldMatchType = &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: d.format(bf.trans, f.Value), PrefixLen: int32(f.Prefix)}}
		case p4configv1.MatchField_TERNARY:
			if bitvec.IsZero(f.Mask) {
				continue
			}
			fm.FieldMatchType = &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: d.format(bf.trans, f.Value), Mask: d.format(bf.trans, f.Mask)}}
		case p4configv1.MatchField_OPTIONAL:
			if bitvec.IsZero(f.Mask) {
				continue
			}
			fm.FieldMatchType = &p4v1.FieldMatch_Optional_{Optional: &p4v1.FieldMatch_Optional{Value: d.format(bf.trans, f.Value)}}
		case p4configv1.MatchField_RANGE:
			if bitvec.IsZero(f.Low) && bitvec.Cmp(f.High, ones(t.prog.Key[i].Width)) == 0 {
				continue
			}
			fm.FieldMatchType = &p4v1.FieldMatch_Range_{Range: &p4v1.FieldMatch_Range{Low: d.format(bf.trans, f.Low), High: d.format(bf.trans, f.High)}}
		}
		list = append(list, fm)
	}
	return list
}

// readTable reads the entries of a request.
func (d *device) readTable(r *p4v1.TableEntry, emit func(*p4v1.Entity)) error {
	if r.TableId == 0 {
		if len(r.Match) > 0 || r.Action != nil || r.Priority != 0 || cookieOf(r) != 0 || len(r.Metadata) > 0 {
			return status.Error(codes.InvalidArgument, "a read of all tables takes no other filter")
		}
		for _, t := range d.order {
			if err := d.readEntries(t, r, emit); err != nil {
				return err
			}
		}
		return nil
	}
	t, err := d.table(r.TableId)
	if err != nil {
		return err
	}
	if r.TimeSinceLastHit != nil && t.info.IdleTimeoutBehavior != p4configv1.Table_NOTIFY_CONTROL {
		return status.Errorf(codes.InvalidArgument, "table %s does not support idle timeouts", t.name)
	}
	if r.CounterData != nil && t.counter == nil {
		return status.Errorf(codes.InvalidArgument, "table %s has no direct counter", t.name)
	}
	if (r.MeterConfig != nil || r.MeterCounterData != nil) && t.meter == nil {
		return status.Errorf(codes.InvalidArgument, "table %s has no direct meter", t.name)
	}
	return d.readEntries(t, r, emit)
}

// readChunk is the number of entries read in one critical section of the
// switch's lock.
const readChunk = 32

func (d *device) readEntries(bt *boundTable, r *p4v1.TableEntry, emit func(*p4v1.Entity)) error {
	t := d.state.Tables[bt.number]
	send := func(e *interp.Entry) {
		emit(&p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: d.entryProto(bt, t, e, r)}})
	}
	if r.IsDefaultAction {
		if len(r.Match) > 0 || r.Priority != 0 {
			return status.Errorf(codes.InvalidArgument, "table %s: a default entry has neither match nor priority", bt.name)
		}
		defer d.lock()()
		send(t.Default())
		return nil
	}
	if len(r.Match) > 0 {
		m, err := bt.match(d, r)
		switch {
		case status.Code(err) == codes.NotFound:
			return nil // no entry has this string
		case err != nil:
			return err
		}
		defer d.lock()()
		if id, ok := t.Find(&m); ok {
			send(t.Entry(id))
		}
		return nil
	}
	actionID := r.GetAction().GetAction().GetActionId()
	if actionID != 0 && bt.refs[actionID] == nil {
		return status.Errorf(codes.InvalidArgument, "table %s has no action %d", bt.name, actionID)
	}
	// Packets change only counters, meters and times. Entries change by writes,
	// which wait for reads: other data is read without the switch's lock.
	lock := func() func() { return func() {} }
	if r.CounterData != nil || r.MeterConfig != nil || r.MeterCounterData != nil || r.TimeSinceLastHit != nil {
		lock = d.lock
	}
	for from := uint32(0); ; {
		unlock := lock()
		n := 0
		next, more := t.EachFrom(from, func(_ uint32, e *interp.Entry) bool {
			n++
			switch meta := metaOf(e); {
			case r.Priority != 0 && t.Match(e).Priority != r.Priority:
			case cookieOf(r) != 0 && meta.cookie != cookieOf(r):
			case len(r.Metadata) > 0 && !bytes.Equal(meta.metadata, r.Metadata):
			case actionID != 0 && (e.Action() < 0 || d.byAction[e.Action()] == nil || d.byAction[e.Action()].id != actionID):
			default:
				send(e)
			}
			return n < readChunk
		})
		unlock()
		if !more {
			return nil
		}
		from = next
	}
}
