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
// resources it includes. now is the switch's time.
func (d *device) entryProto(bt *boundTable, t *interp.Table, e *interp.Entry, want *p4v1.TableEntry, now vtime.Time) *p4v1.TableEntry {
	meta := metaOf(e)
	out := &p4v1.TableEntry{TableId: bt.info.Preamble.Id, Metadata: meta.metadata, IdleTimeoutNs: meta.idle}
	setCookie(out, meta.cookie)
	if e.IsDefault() {
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
	if want.TimeSinceLastHit != nil && !e.IsDefault() {
		out.TimeSinceLastHit = &p4v1.TableEntry_IdleTimeout{ElapsedNs: int64((now - x.LastHit) / vtime.Nanosecond)}
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
func (r *reading) readTable(q *p4v1.TableEntry) error {
	if q.TableId == 0 {
		if len(q.Match) > 0 || q.Action != nil || q.Priority != 0 || cookieOf(q) != 0 || len(q.Metadata) > 0 {
			return status.Error(codes.InvalidArgument, "a read of all tables takes no other filter")
		}
		for _, t := range r.d.order {
			if err := r.readEntries(t, q); err != nil {
				return err
			}
		}
		return nil
	}
	t, err := r.d.table(q.TableId)
	if err != nil {
		return err
	}
	if q.TimeSinceLastHit != nil && t.info.IdleTimeoutBehavior != p4configv1.Table_NOTIFY_CONTROL {
		return status.Errorf(codes.InvalidArgument, "table %s does not support idle timeouts", t.name)
	}
	if q.CounterData != nil && t.counter == nil {
		return status.Errorf(codes.InvalidArgument, "table %s has no direct counter", t.name)
	}
	if (q.MeterConfig != nil || q.MeterCounterData != nil) && t.meter == nil {
		return status.Errorf(codes.InvalidArgument, "table %s has no direct meter", t.name)
	}
	return r.readEntries(t, q)
}

func (r *reading) readEntries(bt *boundTable, q *p4v1.TableEntry) error {
	t := r.d.state.Tables[bt.number]
	send := func(e *interp.Entry) error {
		return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: r.view.entryProto(bt, t, e, q, r.now)}})
	}
	// Packets change only counters, meters and times. Other data is read without the
	// switch's lock.
	data := q.CounterData != nil || q.MeterConfig != nil || q.MeterCounterData != nil || q.TimeSinceLastHit != nil
	if q.IsDefaultAction || len(q.Match) > 0 {
		if q.IsDefaultAction && (len(q.Match) > 0 || q.Priority != 0) {
			return status.Errorf(codes.InvalidArgument, "table %s: a default entry has neither match nor priority", bt.name)
		}
		var m table.Match
		if !q.IsDefaultAction {
			var err error
			m, err = bt.match(r.view, q)
			switch {
			case status.Code(err) == codes.NotFound:
				return nil // no entry has this string
			case err != nil:
				return err
			}
		}
		e, err := r.one(t, q.IsDefaultAction, &m, data)
		if err != nil || e == nil {
			return err
		}
		return send(e)
	}
	actionID := q.GetAction().GetAction().GetActionId()
	if actionID != 0 && bt.refs[actionID] == nil {
		return status.Errorf(codes.InvalidArgument, "table %s has no action %d", bt.name, actionID)
	}
	return r.entries(t, data, func(e *interp.Entry) bool {
		switch meta := metaOf(e); {
		case q.Priority != 0 && t.Match(e).Priority != q.Priority:
		case cookieOf(q) != 0 && meta.cookie != cookieOf(q):
		case len(q.Metadata) > 0 && !bytes.Equal(meta.metadata, q.Metadata):
		case actionID != 0 && (e.Action() < 0 || r.d.byAction[e.Action()] == nil || r.d.byAction[e.Action()].id != actionID):
		default:
			return true
		}
		return false
	}, send)
}
