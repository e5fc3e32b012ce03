// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch/interp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// use counts the references of an entry to a member or group, which may be nil.
func (d *device) use(m *interp.Member, g *interp.Group, by int) {
	if m == nil && g == nil {
		return
	}
	count := func(by int) {
		if m != nil {
			m.Users += by
		}
		if g != nil {
			g.Use(by)
		}
	}
	count(by)
	d.onRevert(func() { count(-by) })
}

func (p *pipeline) profile(id uint32) (*boundProfile, error) {
	if ap := p.profiles[id]; ap != nil {
		return ap, nil
	}
	if id == 0 {
		return nil, status.Error(codes.InvalidArgument, "the action profile id is not set")
	}
	return nil, status.Errorf(codes.NotFound, "unknown action profile id %d", id)
}

// actionFor parses an action of a profile.
func (d *device) actionFor(ap *boundProfile, a *p4v1.Action) (int, []uint64, error) {
	act, args, err := d.action(a, "action profile "+ap.name)
	if err != nil {
		return 0, nil, err
	}
	for _, n := range d.prog.Profiles[ap.number].Actions {
		if d.prog.Actions[n].Name == act.name {
			return n, args, nil
		}
	}
	return 0, nil, status.Errorf(codes.InvalidArgument, "action %s is in no table with action profile %s", act.name, ap.name)
}

// sameStyle rejects a mix of one-shot entries and entries with members or
// groups in the tables of one profile (9.2.3).
func (d *device) sameStyle(ap *boundProfile, oneShot bool) error {
	for _, bt := range ap.tables {
		var err error
		d.state.Tables[bt.number].Each(func(_ uint32, e *interp.Entry) bool {
			if (metaOf(e).actionSet != nil) != oneShot {
				err = status.Errorf(codes.InvalidArgument, "the tables of action profile %s have one-shot entries or entries with members and groups, not both", ap.name)
			}
			return false // all entries have the same style
		})
		if err != nil {
			return err
		}
	}
	if oneShot && len(d.state.Profiles[ap.number].Members) > 0 {
		return status.Errorf(codes.InvalidArgument, "action profile %s has members: its tables cannot have one-shot entries", ap.name)
	}
	return nil
}

// oneShots reports whether a table of the profile has one-shot entries.
func (d *device) oneShots(ap *boundProfile) bool {
	for _, bt := range ap.tables {
		found := false
		d.state.Tables[bt.number].Each(func(_ uint32, e *interp.Entry) bool {
			found = metaOf(e).actionSet != nil
			return false
		})
		if found {
			return true
		}
	}
	return false
}

type memberUpdate struct {
	ap     *boundProfile
	typ    p4v1.Update_Type
	id     uint32
	number int
	args   []uint64
}

func (d *device) decodeMember(typ p4v1.Update_Type, m *p4v1.ActionProfileMember) (op, error) {
	ap, err := d.profile(m.GetActionProfileId())
	if err != nil {
		return nil, err
	}
	u := &memberUpdate{ap: ap, typ: typ, id: m.MemberId}
	if u.id == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "action profile %s: member id zero", ap.name)
	}
	if typ == p4v1.Update_DELETE {
		return u, nil
	}
	if m.Action == nil {
		return nil, status.Errorf(codes.InvalidArgument, "action profile %s: member %d needs an action", ap.name, u.id)
	}
	u.number, u.args, err = d.actionFor(ap, m.Action)
	return u, err
}

func (u *memberUpdate) size() int { return 1 }

func (u *memberUpdate) apply(d *device) error {
	p := d.state.Profiles[u.ap.number]
	m := p.Members[u.id]
	if u.typ == p4v1.Update_INSERT {
		switch {
		case m != nil:
			return status.Errorf(codes.AlreadyExists, "action profile %s: member %d exists", u.ap.name, u.id)
		case p.Info.Size > 0 && len(p.Members) >= p.Info.Size:
			return status.Errorf(codes.ResourceExhausted, "action profile %s is full: it has room for %d members", u.ap.name, p.Info.Size)
		case d.oneShots(u.ap):
			return status.Errorf(codes.InvalidArgument, "the tables of action profile %s have one-shot entries: it cannot have members", u.ap.name)
		}
		if err := d.charge(memberCost(u.args)); err != nil {
			return err
		}
		put(d, &p.Members, u.id, &interp.Member{ID: u.id, Action: u.number, Args: u.args}, copyMember)
		return nil
	}
	if m == nil {
		return status.Errorf(codes.NotFound, "action profile %s has no member %d", u.ap.name, u.id)
	}
	if u.typ == p4v1.Update_MODIFY {
		if err := d.charge(memberCost(u.args) - memberCost(m.Args)); err != nil {
			return err
		}
		touchKey(d, &p.Members, u.id, copyMember)
		assign(d, &m.Action, u.number)
		assign(d, &m.Args, u.args)
		return nil
	}
	if m.Users > 0 {
		return status.Errorf(codes.FailedPrecondition, "action profile %s: member %d is used by %d groups and entries", u.ap.name, u.id, m.Users)
	}
	put(d, &p.Members, u.id, nil, copyMember)
	return d.charge(-memberCost(m.Args))
}

func memberCost(args []uint64) int64 { return memberBytes + limbBytes*int64(len(args)) }

func groupCost(members int) int64 { return groupBytes + memberBytes*int64(members) }

// groupMember is a member of a group in an update.
type groupMember struct {
	id     uint32
	weight int
	watch  int // port, −1: none
	kind   watchKind
	// one-shot members have an action of their own
	number int
	args   []uint64
}

// watchKind is the field with a watch port.
type watchKind uint8

const (
	watchNone watchKind = iota
	watchPort
	watchNumber // the deprecated field
)

type groupUpdate struct {
	ap      *boundProfile
	typ     p4v1.Update_Type
	id      uint32
	maxSize int
	members []groupMember
}

func (d *device) decodeGroup(typ p4v1.Update_Type, g *p4v1.ActionProfileGroup) (op, error) {
	ap, err := d.profile(g.GetActionProfileId())
	if err != nil {
		return nil, err
	}
	u := &groupUpdate{ap: ap, typ: typ, id: g.GroupId, maxSize: int(g.MaxSize)}
	switch {
	case !ap.info.WithSelector:
		return nil, status.Errorf(codes.InvalidArgument, "action profile %s has no selector, and so no groups", ap.name)
	case u.id == 0:
		return nil, status.Errorf(codes.InvalidArgument, "action profile %s: group id zero", ap.name)
	case typ == p4v1.Update_DELETE:
		return u, nil
	}
	most := int(ap.info.MaxGroupSize)
	switch {
	case u.maxSize < 0:
		return nil, status.Errorf(codes.InvalidArgument, "group %d: max_size is negative", u.id)
	case most > 0 && (u.maxSize == 0 || u.maxSize > most):
		return nil, status.Errorf(codes.InvalidArgument, "group %d: max_size must be between 1 and %d", u.id, most)
	}
	seen := map[uint32]bool{}
	size := 0
	for _, m := range g.Members {
		if seen[m.MemberId] {
			return nil, status.Errorf(codes.InvalidArgument, "group %d: member %d is given twice", u.id, m.MemberId)
		}
		seen[m.MemberId] = true
		gm := groupMember{id: m.MemberId, watch: -1}
		if gm.weight, err = ap.weight(m.Weight); err != nil {
			return nil, err
		}
		number, old := watchedNumber(m)
		if err := d.watch(&gm, m.GetWatchPort(), number, old); err != nil {
			return nil, err
		}
		size += ap.size(gm.weight)
		u.members = append(u.members, gm)
	}
	if u.maxSize > 0 && size > u.maxSize {
		return nil, status.Errorf(codes.ResourceExhausted, "group %d: its members take %d, more than its max_size %d", u.id, size, u.maxSize)
	}
	return u, nil
}

// weight validates the weight of a member.
func (ap *boundProfile) weight(w int32) (int, error) {
	const most = 1 << 16
	if ap.info.GetWeightsDisallowed() {
		if w != 0 {
			return 0, status.Errorf(codes.InvalidArgument, "action profile %s has no weights, %d is given", ap.name, w)
		}
		return 1, nil
	}
	if w <= 0 || w > most {
		return 0, status.Errorf(codes.InvalidArgument, "action profile %s: a weight of %d, must be 1 to %d", ap.name, w, most)
	}
	if m := ap.info.GetSumOfMembers().GetMaxMemberWeight(); m > 0 && w > m {
		return 0, status.Errorf(codes.InvalidArgument, "action profile %s: a weight of %d, more than %d", ap.name, w, m)
	}
	return int(w), nil
}

// size returns the part of a group's size that a member uses.
func (ap *boundProfile) size(weight int) int {
	if ap.info.GetSumOfMembers() != nil {
		return 1
	}
	return weight
}

// watch sets the watch port of a member: port or, in the deprecated field,
// number.
func (d *device) watch(gm *groupMember, port []byte, number int, old bool) error {
	switch {
	case old:
		gm.kind, gm.watch = watchNumber, number
	case len(port) == 0:
		return nil
	default:
		v, err := parseBytes(port, 32, "watch_port")
		if err != nil {
			return status.Error(codes.InvalidArgument, status.Convert(err).Message())
		}
		gm.kind, gm.watch = watchPort, int(v[0])
	}
	if !d.s.sw.HasPort(gm.watch) {
		return status.Errorf(codes.InvalidArgument, "no port %d to watch", gm.watch)
	}
	return nil
}

// members returns the members of a group of the switch.
func (d *device) members(list []groupMember, find func(groupMember) *interp.Member) []interp.GroupMember {
	members := make([]interp.GroupMember, 0, len(list))
	for _, gm := range list {
		members = append(members, interp.GroupMember{Member: find(gm), Weight: gm.weight, Watch: gm.watch, Owner: gm})
	}
	return members
}

// setMembers sets the members of a group.
func (d *device) setMembers(g *interp.Group, members []interp.GroupMember) {
	set := func(members []interp.GroupMember) {
		for _, m := range g.Members {
			m.Member.Users--
		}
		g.Members = members
		for i := range members {
			m := &members[i]
			m.Member.Users++
			m.Down = d.live && m.Watch >= 0 && !d.s.sw.LinkUp(m.Watch) // commit looks at the links of others
		}
		g.Choose()
	}
	old := g.Members
	set(members)
	d.onRevert(func() { set(old) })
}

func (u *groupUpdate) size() int { return 1 }

func (u *groupUpdate) apply(d *device) error {
	p := d.state.Profiles[u.ap.number]
	g := p.Groups[u.id]
	switch {
	case u.typ == p4v1.Update_INSERT && g != nil:
		return status.Errorf(codes.AlreadyExists, "action profile %s: group %d exists", u.ap.name, u.id)
	case u.typ != p4v1.Update_INSERT && g == nil:
		return status.Errorf(codes.NotFound, "action profile %s has no group %d", u.ap.name, u.id)
	case u.typ == p4v1.Update_DELETE && g.Users > 0:
		return status.Errorf(codes.FailedPrecondition, "action profile %s: group %d is used by %d entries", u.ap.name, u.id, g.Users)
	case u.typ == p4v1.Update_MODIFY && u.maxSize != g.MaxSize:
		return status.Errorf(codes.InvalidArgument, "group %d has max_size %d, which cannot be changed", u.id, g.MaxSize)
	}
	for _, gm := range u.members {
		if p.Members[gm.id] == nil {
			return status.Errorf(codes.NotFound, "action profile %s has no member %d", u.ap.name, gm.id)
		}
	}
	more := groupCost(len(u.members))
	switch u.typ {
	case p4v1.Update_MODIFY:
		more -= groupCost(len(g.Members))
	case p4v1.Update_DELETE:
		more = -groupCost(len(g.Members))
	}
	if err := d.charge(more); err != nil {
		return err
	}
	switch u.typ {
	case p4v1.Update_INSERT:
		g = &interp.Group{ID: u.id, MaxSize: u.maxSize}
		put(d, &p.Groups, u.id, g, copyGroup)
	case p4v1.Update_MODIFY:
		touchKey(d, &p.Groups, u.id, copyGroup)
	case p4v1.Update_DELETE:
		put(d, &p.Groups, u.id, nil, copyGroup)
	}
	d.setMembers(g, d.members(u.members, func(gm groupMember) *interp.Member { return p.Members[gm.id] }))
	return nil
}

// decodeActionSet parses a one-shot action set (9.2.3). It also returns the set as
// it is read: with the shortest byte strings.
func (d *device) decodeActionSet(t *boundTable, set *p4v1.ActionProfileActionSet) ([]groupMember, *p4v1.ActionProfileActionSet, error) {
	ap := t.profile
	switch set.ActionSelectionMode {
	case p4v1.ActionProfileActionSet_DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR, p4v1.ActionProfileActionSet_HASH, p4v1.ActionProfileActionSet_RANDOM:
	default:
		return nil, nil, status.Errorf(codes.InvalidArgument, "unknown action selection mode %v", set.ActionSelectionMode)
	}
	sumOfMembers := ap.info.GetSumOfMembers() != nil
	switch set.SizeSemantics {
	case p4v1.ActionProfileActionSet_DEFAULT_SIZE_DETERMINED_BY_ACTION_SELECTOR:
	case p4v1.ActionProfileActionSet_SUM_OF_WEIGHTS:
		sumOfMembers = false
	case p4v1.ActionProfileActionSet_SUM_OF_MEMBERS:
		sumOfMembers = true
	default:
		return nil, nil, status.Errorf(codes.InvalidArgument, "unknown size semantics %v", set.SizeSemantics)
	}
	var members []groupMember
	shown := &p4v1.ActionProfileActionSet{ActionSelectionMode: set.ActionSelectionMode, SizeSemantics: set.SizeSemantics}
	size := 0
	for _, a := range set.ActionProfileActions {
		gm := groupMember{watch: -1}
		var err error
		if gm.number, gm.args, err = d.actionFor(ap, a.GetAction()); err != nil {
			return nil, nil, err
		}
		if gm.weight, err = ap.weight(a.Weight); err != nil {
			return nil, nil, err
		}
		number, old := watchedNumberOf(a)
		if err := d.watch(&gm, a.GetWatchPort(), number, old); err != nil {
			return nil, nil, err
		}
		if sumOfMembers {
			size++
		} else {
			size += gm.weight
		}
		members = append(members, gm)
		one := &p4v1.ActionProfileAction{Action: d.actionMessage(gm.number, gm.args), Weight: a.Weight}
		switch gm.kind {
		case watchPort:
			one.WatchKind = &p4v1.ActionProfileAction_WatchPort{WatchPort: portBytes(gm.watch)}
		case watchNumber:
			setWatchedNumberOf(one, gm.watch)
		}
		shown.ActionProfileActions = append(shown.ActionProfileActions, one)
	}
	if most := int(ap.info.MaxGroupSize); most > 0 && size > most {
		return nil, nil, status.Errorf(codes.InvalidArgument, "the set takes %d, more than the %d that a group may", size, most)
	}
	return members, shown, nil
}

// oneShotGroup returns the group of a one-shot entry.
func (d *device) oneShotGroup(ap *boundProfile, members []groupMember, random bool) *interp.Group {
	g := d.state.Profiles[ap.number].NewGroup()
	g.Random = random
	d.setMembers(g, d.members(members, func(gm groupMember) *interp.Member {
		return &interp.Member{Action: gm.number, Args: gm.args}
	}))
	return g
}

func (r *reading) readMembers(q *p4v1.ActionProfileMember) error {
	return r.d.eachProfile(q.ActionProfileId, q.MemberId != 0, func(ap *boundProfile) error {
		return readMap(r, &r.d.state.Profiles[ap.number].Members, q.MemberId, copyMember, func(_ uint32, m *interp.Member) error {
			return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_ActionProfileMember{ActionProfileMember: &p4v1.ActionProfileMember{
				ActionProfileId: ap.info.Preamble.Id, MemberId: m.ID, Action: r.view.actionMessage(m.Action, m.Args),
			}}})
		})
	})
}

func (r *reading) readGroups(q *p4v1.ActionProfileGroup) error {
	return r.d.eachProfile(q.ActionProfileId, q.GroupId != 0, func(ap *boundProfile) error {
		return readMap(r, &r.d.state.Profiles[ap.number].Groups, q.GroupId, copyGroup, func(_ uint32, g *interp.Group) error {
			out := &p4v1.ActionProfileGroup{ActionProfileId: ap.info.Preamble.Id, GroupId: g.ID, MaxSize: int32(g.MaxSize)}
			for i := range g.Members {
				m := &g.Members[i]
				gm := m.Owner.(groupMember)
				om := &p4v1.ActionProfileGroup_Member{MemberId: m.Member.ID, Weight: int32(m.Weight)}
				if ap.info.GetWeightsDisallowed() {
					om.Weight = 0
				}
				switch gm.kind {
				case watchPort:
					om.WatchKind = &p4v1.ActionProfileGroup_Member_WatchPort{WatchPort: portBytes(gm.watch)}
				case watchNumber:
					setWatchedNumber(om, gm.watch)
				}
				out.Members = append(out.Members, om)
			}
			return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: out}})
		})
	})
}

// eachProfile calls f with the profile of an id, or with all for id zero.
func (p *pipeline) eachProfile(id uint32, one bool, f func(*boundProfile) error) error {
	if id != 0 {
		ap, err := p.profile(id)
		if err != nil {
			return err
		}
		return f(ap)
	}
	if one {
		return status.Error(codes.InvalidArgument, "the action profile id is not set")
	}
	for _, id := range sortedKeys(p.profiles) {
		if err := f(p.profiles[id]); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys[V any](m map[uint32]V) []uint32 {
	keys := make([]uint32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
