// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"errors"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/table"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// tableUpdate is a validated update of a table entry.
type tableUpdate struct {
	t      *boundTable
	typ    p4v1.Update_Type
	isDef  bool
	match  table.Match
	hasAct bool
	number int // of the action; −1 if a member or group determines it
	args   []uint64
	body   *interp.Body // of an insertion
	meta   entryMeta

	meter      *interp.MeterRates // of the direct meter; nil if not given
	counter    *interp.Counter    // of the direct counter; nil if not given
	clearColor bool               // reset the meter's counters per colour
	oneShot    []groupMember
}

func (d *device) decodeTableUpdate(typ p4v1.Update_Type, e *p4v1.TableEntry) (op, error) {
	t, err := d.table(e.GetTableId())
	if err != nil {
		return nil, err
	}
	u := &tableUpdate{t: t, typ: typ, isDef: e.IsDefaultAction, number: -1}
	switch {
	case e.IsConst:
		return nil, status.Errorf(codes.InvalidArgument, "table %s: is_const is for reading only", t.name)
	case u.isDef && len(e.Match) > 0:
		return nil, status.Errorf(codes.InvalidArgument, "table %s: a default entry has no match", t.name)
	case u.isDef && e.Priority != 0:
		return nil, status.Errorf(codes.InvalidArgument, "table %s: a default entry has no priority", t.name)
	case u.isDef && typ != p4v1.Update_MODIFY:
		return nil, status.Errorf(codes.InvalidArgument, "table %s: the default entry can only be modified", t.name)
	case u.isDef && (e.IdleTimeoutNs != 0 || e.TimeSinceLastHit != nil):
		return nil, status.Errorf(codes.InvalidArgument, "table %s: a default entry does not time out", t.name)
	case !u.isDef && len(t.fields) == 0:
		return nil, status.Errorf(codes.InvalidArgument, "table %s has no key, only a default entry", t.name)
	}
	if !u.isDef {
		if u.match, err = t.match(d, e); err != nil {
			return nil, err
		}
	}
	if typ == p4v1.Update_DELETE {
		return u, nil
	}
	if err := u.resources(e); err != nil {
		return nil, err
	}
	if e.Action == nil {
		if typ == p4v1.Update_INSERT {
			return nil, status.Errorf(codes.InvalidArgument, "table %s: an entry needs an action", t.name)
		}
		return u, nil
	}
	u.hasAct = true
	if err := u.decodeAction(d, e.Action); err != nil {
		return nil, err
	}
	if typ == p4v1.Update_INSERT {
		u.body = interp.NewBody(t.prog, &u.match, u.number, u.args)
	}
	return u, nil
}

// resources parses the parts of an entry other than match and action.
func (u *tableUpdate) resources(e *p4v1.TableEntry) error {
	t := u.t
	if t.info.IdleTimeoutBehavior != p4configv1.Table_NOTIFY_CONTROL && (e.IdleTimeoutNs != 0 || e.TimeSinceLastHit != nil) {
		return status.Errorf(codes.InvalidArgument, "table %s does not support idle timeouts", t.name)
	}
	switch {
	case e.IdleTimeoutNs < 0:
		return status.Errorf(codes.InvalidArgument, "table %s: the idle timeout is negative", t.name)
	case e.TimeSinceLastHit != nil:
		return status.Errorf(codes.InvalidArgument, "table %s: time_since_last_hit is for reading only", t.name)
	}
	u.meta.cookie, u.meta.metadata, u.meta.idle = cookieOf(e), e.Metadata, e.IdleTimeoutNs
	if c := e.CounterData; c != nil {
		if t.counter == nil {
			return status.Errorf(codes.InvalidArgument, "table %s has no direct counter", t.name)
		}
		u.counter = &interp.Counter{Packets: uint64(c.PacketCount), Bytes: uint64(c.ByteCount)}
	}
	if m := e.MeterConfig; m != nil {
		if t.meter == nil {
			return status.Errorf(codes.InvalidArgument, "table %s has no direct meter", t.name)
		}
		rates, err := meterRates(m, t.meter.Spec, "table "+t.name)
		if err != nil {
			return err
		}
		u.meter = &rates
	}
	if m := e.MeterCounterData; m != nil {
		if t.meter == nil {
			return status.Errorf(codes.InvalidArgument, "table %s has no direct meter", t.name)
		}
		if err := zeroColors(m); err != nil {
			return err
		}
		u.clearColor = true
	}
	return nil
}

// decodeAction parses the action of an entry: an action, a member, a group, or
// a one-shot action set.
func (u *tableUpdate) decodeAction(d *device, a *p4v1.TableAction) error {
	t := u.t
	indirect := func(selector bool) error {
		switch {
		case t.profile == nil:
			return status.Errorf(codes.InvalidArgument, "table %s has no action profile: give an action", t.name)
		case selector && !t.profile.info.WithSelector:
			return status.Errorf(codes.InvalidArgument, "action profile %s of table %s has no groups", t.profile.name, t.name)
		case u.isDef:
			return status.Errorf(codes.PermissionDenied, "table %s: the default entry of a table with an action profile is constant", t.name)
		}
		return nil
	}
	switch x := a.Type.(type) {
	case *p4v1.TableAction_Action:
		if t.profile != nil {
			if u.isDef {
				return status.Errorf(codes.PermissionDenied, "table %s: the default entry of a table with an action profile is constant", t.name)
			}
			return status.Errorf(codes.InvalidArgument, "table %s has an action profile: give a member or group", t.name)
		}
		act, args, err := d.action(x.Action, "table "+t.name)
		if err != nil {
			return err
		}
		ref := t.refs[act.id]
		u.number, u.args = t.numberFor(d.pipeline, act), args
		switch {
		case ref == nil || u.number < 0:
			return status.Errorf(codes.InvalidArgument, "table %s has no action %s", t.name, act.name)
		case ref.Scope == p4configv1.ActionRef_DEFAULT_ONLY && !u.isDef:
			return status.Errorf(codes.PermissionDenied, "table %s: action %s is for the default entry only", t.name, act.name)
		case ref.Scope == p4configv1.ActionRef_TABLE_ONLY && u.isDef:
			return status.Errorf(codes.PermissionDenied, "table %s: action %s is not for the default entry", t.name, act.name)
		}
		return nil
	case *p4v1.TableAction_ActionProfileMemberId:
		u.meta.memberID = x.ActionProfileMemberId
		if x.ActionProfileMemberId == 0 {
			return status.Errorf(codes.InvalidArgument, "table %s: member id zero", t.name)
		}
		return indirect(false)
	case *p4v1.TableAction_ActionProfileGroupId:
		u.meta.groupID = x.ActionProfileGroupId
		if x.ActionProfileGroupId == 0 {
			return status.Errorf(codes.InvalidArgument, "table %s: group id zero", t.name)
		}
		return indirect(true)
	case *p4v1.TableAction_ActionProfileActionSet:
		if err := indirect(true); err != nil {
			return err
		}
		var err error
		if u.oneShot, u.meta.actionSet, err = d.decodeActionSet(t, x.ActionProfileActionSet); err != nil {
			return err
		}
		u.meta.setBytes = setCost(u.meta.actionSet)
		return nil
	}
	return status.Errorf(codes.InvalidArgument, "table %s: the action has no content", t.name)
}

func (u *tableUpdate) size() int { return 1 }

// cost is the memory of the entry in bytes.
func (u *tableUpdate) cost() int64 {
	return entryCost(len(u.match.Value)+len(u.match.Mask)+len(u.args), &u.meta)
}

func (u *tableUpdate) apply(d *device) error {
	t := d.state.Tables[u.t.number]
	if u.isDef {
		return u.applyDefault(d, t)
	}
	id, found := t.Find(&u.match)
	isConst := u.t.info.IsConstTable
	what := " is constant"
	if found && metaOf(t.Entry(id)).isConst {
		what = ": the entry is constant"
		isConst = u.typ != p4v1.Update_INSERT // an insertion fails because the entry exists
	}
	switch u.typ {
	case p4v1.Update_INSERT:
		switch {
		case isConst:
			return status.Errorf(codes.PermissionDenied, "table %s%s", u.t.name, what)
		case found:
			return status.Errorf(codes.AlreadyExists, "table %s: the entry exists", u.t.name)
		}
		return u.insert(d, t)
	case p4v1.Update_MODIFY:
		switch {
		case !found:
			return status.Errorf(codes.NotFound, "table %s: no such entry", u.t.name)
		case isConst && u.hasAct:
			return status.Errorf(codes.PermissionDenied, "table %s%s: only direct resources can be modified", u.t.name, what)
		}
		return u.modify(d, t, id)
	}
	switch {
	case isConst:
		return status.Errorf(codes.PermissionDenied, "table %s%s", u.t.name, what)
	case !found:
		return status.Errorf(codes.NotFound, "table %s: no such entry", u.t.name)
	}
	return d.deleteEntry(t, id)
}

// savedEntry is an entry before a change.
type savedEntry struct {
	match  table.Match
	action int
	args   []uint64
	ext    *interp.Extension
}

func save(t *interp.Table, id uint32) savedEntry {
	e := t.Entry(id)
	m := t.Match(e)
	s := savedEntry{action: e.Action(), args: append([]uint64(nil), t.Args(e)...)}
	s.match = table.Match{Value: append([]uint64(nil), m.Value...), Prefix: m.Prefix, Ranges: m.Ranges, Priority: m.Priority}
	if m.Mask != nil {
		s.match.Mask = append([]uint64(nil), m.Mask...)
	}
	if e.Ext != nil {
		s.ext = e.Ext.Clone()
	}
	return s
}

func (d *device) deleteEntry(t *interp.Table, id uint32) error {
	old := save(t, id)
	d.touchEntry(t, id)
	if x := old.ext; x != nil {
		d.use(x.Member, x.Group, -1)
	}
	cost := costOf(t, t.Entry(id))
	t.Delete(id)
	d.onRevert(func() {
		id, err := t.Insert(&old.match, old.action, old.args)
		if err != nil {
			panic("BUG: no room for an entry that was there: " + err.Error())
		}
		if old.ext != nil {
			t.Extend(id).Set(old.ext)
		}
	})
	return d.charge(-cost)
}

func (u *tableUpdate) insert(d *device, t *interp.Table) error {
	member, group, err := u.reference(d)
	if err != nil {
		return err
	}
	if err := d.charge(u.cost()); err != nil {
		return err
	}
	id, err := t.InsertBody(u.body)
	if err != nil {
		var full *interp.ErrFull
		if errors.As(err, &full) {
			return status.Error(codes.ResourceExhausted, err.Error())
		}
		return err
	}
	d.onRevert(func() {
		id, _ := t.Find(&u.match)
		t.Delete(id)
	})
	d.touchAbsent(t, id, &u.match)
	u.extend(d, t, id, member, group)
	return nil
}

// reference returns the member or group that the entry refers to.
func (u *tableUpdate) reference(d *device) (*interp.Member, *interp.Group, error) {
	if u.t.profile == nil {
		return nil, nil, nil
	}
	p := d.state.Profiles[u.t.profile.number]
	switch {
	case u.meta.memberID != 0:
		if m := p.Members[u.meta.memberID]; m != nil {
			return m, nil, d.sameStyle(u.t.profile, false)
		}
		return nil, nil, status.Errorf(codes.NotFound, "action profile %s has no member %d", u.t.profile.name, u.meta.memberID)
	case u.meta.groupID != 0:
		if g := p.Groups[u.meta.groupID]; g != nil {
			return nil, g, d.sameStyle(u.t.profile, false)
		}
		return nil, nil, status.Errorf(codes.NotFound, "action profile %s has no group %d", u.t.profile.name, u.meta.groupID)
	}
	if err := d.sameStyle(u.t.profile, true); err != nil {
		return nil, nil, err
	}
	random := u.meta.actionSet.GetActionSelectionMode() == p4v1.ActionProfileActionSet_RANDOM
	return nil, d.oneShotGroup(u.t.profile, u.oneShot, random), nil
}

// extend stores the optional parts of an entry: a cookie, metadata, an idle
// timeout, a member or group, a direct meter or counter.
func (u *tableUpdate) extend(d *device, t *interp.Table, id uint32, member *interp.Member, group *interp.Group) {
	plain := u.meta.cookie == 0 && len(u.meta.metadata) == 0 && u.meta.idle == 0 && member == nil && group == nil && u.meter == nil && u.counter == nil
	if plain && t.Entry(id).Ext == nil {
		return
	}
	x := t.Extend(id)
	meta := u.meta
	x.Owner = &meta
	x.Timeout = idleTimeout(u.meta.idle)
	x.LastHit = d.s.sw.Now()
	x.Member, x.Group = member, group
	d.use(member, group, 1)
	if u.meter != nil {
		x.Meter.Configure(*u.meter, d.s.sw.Now())
	}
	if u.counter != nil {
		x.Counter = *u.counter
	}
	if x.Timeout > 0 && d.live {
		d.s.ageing.watch(x.Timeout)
	}
}

func (u *tableUpdate) modify(d *device, t *interp.Table, id uint32) error {
	old := save(t, id)
	before := metaOf(t.Entry(id))
	u.meta.isConst = before.isConst
	args := old.args
	var member *interp.Member
	var group *interp.Group
	if u.hasAct {
		args = u.args
		var err error
		if member, group, err = u.reference(d); err != nil {
			return err
		}
	} else {
		u.meta.memberID, u.meta.groupID, u.meta.actionSet, u.meta.setBytes = before.memberID, before.groupID, before.actionSet, before.setBytes
	}
	if err := d.charge(entryCost(len(old.match.Value)+len(old.match.Mask)+len(args), &u.meta) - costOf(t, t.Entry(id))); err != nil {
		return err
	}
	d.touchEntry(t, id)
	d.onRevert(func() {
		id, _ := t.Find(&u.match)
		t.SetAction(id, old.action, old.args)
		t.Entry(id).Ext = nil
		if old.ext != nil {
			t.Extend(id).Set(old.ext)
		}
	})
	x := t.Entry(id).Ext
	if u.hasAct {
		if x != nil {
			d.use(x.Member, x.Group, -1)
		}
		t.SetAction(id, u.number, u.args)
		if member != nil || group != nil {
			x = t.Extend(id)
			x.Member, x.Group = member, group
			d.use(member, group, 1)
		}
	}
	if x == nil && (u.meta.cookie != 0 || len(u.meta.metadata) > 0 || u.meta.idle != 0) {
		x = t.Extend(id)
	}
	if x != nil {
		meta := u.meta
		x.Owner = &meta
		x.Timeout = idleTimeout(u.meta.idle)
		if x.Timeout > 0 && d.live {
			d.s.ageing.watch(x.Timeout)
		}
		u.modifyDirect(d, x)
	}
	return nil
}

// modifyDirect updates direct resources: it resets an omitted meter, and leaves
// an omitted counter unchanged.
func (u *tableUpdate) modifyDirect(d *device, x *interp.Extension) {
	if u.t.meter != nil {
		d.setMeter(&x.Meter, u.meter, u.clearColor)
	}
	if u.counter != nil {
		x.Counter = *u.counter
	}
}

func (u *tableUpdate) applyDefault(d *device, t *interp.Table) error {
	e := t.Default()
	if u.t.profile != nil {
		return status.Errorf(codes.PermissionDenied, "table %s: the default entry of a table with an action profile is constant", u.t.name)
	}
	if u.t.constDefault() {
		if u.hasAct || u.counter == nil && u.meter == nil {
			return status.Errorf(codes.PermissionDenied, "table %s: the default entry is constant", u.t.name)
		}
	}
	d.touchDefault(t)
	action, args := e.Action(), append([]uint64(nil), t.Args(e)...)
	var ext *interp.Extension
	if e.Ext != nil {
		ext = e.Ext.Clone()
	}
	d.onRevert(func() {
		t.SetDefault(action, args)
		t.Default().Ext = ext
	})
	switch {
	case u.hasAct:
		t.SetDefault(u.number, u.args)
	case u.counter == nil && u.meter == nil || !u.t.prog.Default.ConstEntry:
		t.ResetDefault() // an entry without an action restores the program's
		if x := t.Default().Ext; x != nil {
			x.Set(interp.NewExtension())
		}
	}
	e = t.Default()
	if e.Ext == nil && (u.meta.cookie != 0 || len(u.meta.metadata) > 0) {
		e.Ext = interp.NewExtension()
	}
	if e.Ext != nil {
		meta := u.meta
		e.Ext.Owner = &meta
		u.modifyDirect(d, e.Ext)
	}
	return nil
}
