// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch/interp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// takeOver copies the forwarding state of another device into this one, for
// RECONCILE_AND_COMMIT: entries, groups, arrays and configurations by name.
// State without a counterpart in the new pipeline is INVALID_ARGUMENT, and does
// not change the old device. The caller holds Server.serial, so that nothing writes to the
// old device; reads and packets go on. What packets change is copied by commit.
func (d *device) takeOver(ctx context.Context, old *device) error {
	renamed := old.renames(d)
	d.keepNames(old)
	l, done := d.learning()
	defer done()
	// Direct counters, from the old entries to the new ones.
	var from, to []*interp.Extension
	typ := p4v1.Update_INSERT
	apply := func(e *p4v1.Entity, x *interp.Extension) error {
		if err := ctx.Err(); err != nil {
			return status.FromContextError(err).Err()
		}
		l.begin()
		e = proto.Clone(e).(*p4v1.Entity)
		if err := renamed.entity(e); err != nil {
			return err
		}
		o, err := d.decode(&p4v1.Update{Type: typ, Entity: e})
		if err == nil {
			err = o.apply(d)
		}
		if err != nil {
			return status.Errorf(codes.InvalidArgument, "state of the switch cannot be kept: %s", status.Convert(err).Message())
		}
		if u, ok := o.(*tableUpdate); ok && x != nil && u.t.counter != nil {
			t := d.state.Tables[u.t.number]
			entry := t.Default()
			if !u.isDef {
				id, _ := t.Find(&u.match)
				entry = t.Entry(id)
			}
			from, to = append(from, x), append(to, entry.Ext)
		}
		l.keep(l.uses())
		return nil
	}
	// Entries of the old device replace the initial entries of a table.
	for _, bt := range d.order {
		if bt.info.HasInitialEntries && !bt.info.IsConstTable && slices.ContainsFunc(old.order, func(o *boundTable) bool { return o.name == bt.name }) {
			d.clear(bt)
		}
	}
	r := old.reading(ctx, func(e *p4v1.Entity) error { return apply(e, nil) })
	for _, read := range []func() error{
		func() error { return r.readMembers(&p4v1.ActionProfileMember{}) },
		func() error { return r.readGroups(&p4v1.ActionProfileGroup{}) },
		func() error {
			return r.readPRE(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{}})
		},
		func() error {
			return r.readPRE(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{}})
		},
		func() error { return r.readDigests(&p4v1.DigestEntry{}) },
	} {
		if err := read(); err != nil {
			return err
		}
	}
	for _, bt := range old.order {
		t := old.state.Tables[bt.number]
		entry := func(e *interp.Entry) error {
			// A meter's configuration changes only by writes.
			m := old.entryProto(bt, t, e, &p4v1.TableEntry{MeterConfig: &p4v1.MeterConfig{}}, 0)
			m.IsConst = false
			if bt.counter != nil {
				m.CounterData = &p4v1.CounterData{} // set by commit
			}
			return apply(&p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: m}}, e.Ext)
		}
		var err error
		if !bt.info.IsConstTable {
			t.Each(func(_ uint32, e *interp.Entry) bool {
				if !metaOf(e).isConst { // the program's
					err = entry(e)
				}
				return err == nil
			})
		}
		if e := t.Default(); err == nil && bt.profile == nil && !bt.prog.Default.ConstEntry && !old.isOriginal(bt, e) {
			typ = p4v1.Update_MODIFY
			err = entry(e)
			typ = p4v1.Update_INSERT
		}
		if err != nil {
			return err
		}
	}
	typ = p4v1.Update_MODIFY
	if err := r.readValueSets(&p4v1.ValueSetEntry{}); err != nil {
		return err
	}
	d.adopt = func() {
		for i, x := range from {
			to[i].Counter = x.Counter
		}
		d.copyArrays(old)
	}
	return nil
}

// clear removes all entries of a table except const ones.
func (d *device) clear(bt *boundTable) {
	t := d.state.Tables[bt.number]
	var ids []uint32
	t.Each(func(id uint32, e *interp.Entry) bool {
		if !metaOf(e).isConst {
			ids = append(ids, id)
		}
		return true
	})
	for _, id := range ids {
		d.deleteEntry(t, id)
	}
}

// isOriginal reports whether a default entry is the program's.
func (d *device) isOriginal(bt *boundTable, e *interp.Entry) bool {
	if e.Action() != bt.prog.Default.Action {
		return false
	}
	args := d.state.Tables[bt.number].Args(e)
	for i, x := range bt.prog.Default.Args {
		if args[i] != x {
			return false
		}
	}
	return metaOf(e).cookie == 0 && len(metaOf(e).metadata) == 0
}

// copyArrays copies the registers, counters and meters that both programs have,
// by name, up to the smaller size.
func (d *device) copyArrays(old *device) {
	registers := map[string]*interp.Register{}
	for _, r := range old.state.Registers {
		if r.Info.Table == "" { // the entries have other numbers now
			registers[r.Info.Name] = r
		}
	}
	for _, n := range d.state.Registers {
		if r := registers[n.Info.Name]; r != nil && n.Info.Width == r.Info.Width {
			for i := range min(n.Info.Size, r.Info.Size) {
				copy(n.Cell(i), r.Cell(i))
			}
		}
	}
	counters := map[string]interp.CounterArray{}
	for _, k := range old.state.Counters {
		counters[k.Info.Name] = k
	}
	for _, n := range d.state.Counters {
		copy(n.Cells, counters[n.Info.Name].Cells)
	}
	meters := map[string]interp.MeterArray{}
	for _, m := range old.state.Meters {
		meters[m.Info.Name] = m
	}
	for _, n := range d.state.Meters {
		if m, ok := meters[n.Info.Name]; ok && n.Info.Bytes == m.Info.Bytes {
			copy(n.Cells, m.Cells)
		}
	}
}

// renames maps the identifiers of one pipeline to another's, by name.
type renames struct {
	tables, actions, profiles, vsets, digests map[uint32]uint32
	fields                                    map[uint32]map[uint32]uint32 // by table
	params                                    map[uint32]map[uint32]uint32 // by action
}

func (p *pipeline) renames(to *device) *renames {
	r := &renames{
		tables:   sameNames(p.tables, to.tables, func(t *boundTable) string { return t.name }),
		actions:  sameNames(p.actions, to.actions, func(a *boundAction) string { return a.name }),
		profiles: sameNames(p.profiles, to.profiles, func(ap *boundProfile) string { return ap.name }),
		vsets:    sameNames(p.vsets, to.vsets, func(v *boundVSet) string { return v.name }),
		digests:  sameNames(p.digests, to.pipeline.digests, func(d *boundDigest) string { return d.name }),
		fields:   map[uint32]map[uint32]uint32{},
		params:   map[uint32]map[uint32]uint32{},
	}
	for id, nid := range r.tables {
		r.fields[id] = map[uint32]uint32{}
		for _, f := range p.tables[id].fields {
			for _, nf := range to.tables[nid].fields {
				if nf.name == f.name {
					r.fields[id][f.id] = nf.id
				}
			}
		}
	}
	for id, nid := range r.actions {
		r.params[id] = map[uint32]uint32{}
		for _, a := range p.actions[id].params {
			for _, na := range to.actions[nid].params {
				if na.name == a.name {
					r.params[id][a.id] = na.id
				}
			}
		}
	}
	return r
}

// sameNames maps the identifiers of objects to another pipeline's.
func sameNames[T any](from, to map[uint32]T, name func(T) string) map[uint32]uint32 {
	ids := make(map[string]uint32)
	for id, o := range to {
		ids[name(o)] = id
	}
	m := map[uint32]uint32{}
	for id, o := range from {
		if nid, ok := ids[name(o)]; ok {
			m[id] = nid
		}
	}
	return m
}

// rename replaces an identifier.
func rename(id *uint32, m map[uint32]uint32, what string) error {
	n, ok := m[*id]
	if !ok && *id != 0 {
		return status.Errorf(codes.InvalidArgument, "state of the switch cannot be kept: %s %d is not in the new pipeline", what, *id)
	}
	*id = n
	return nil
}

func (r *renames) entity(e *p4v1.Entity) error {
	switch x := e.Entity.(type) {
	case *p4v1.Entity_TableEntry:
		t := x.TableEntry
		t.IsConst = false
		old := t.TableId
		if err := rename(&t.TableId, r.tables, "table"); err != nil {
			return err
		}
		for _, m := range t.Match {
			if err := rename(&m.FieldId, r.fields[old], "match field"); err != nil {
				return err
			}
		}
		if a := t.Action.GetAction(); a != nil {
			return r.action(a)
		}
		for _, a := range t.Action.GetActionProfileActionSet().GetActionProfileActions() {
			if err := r.action(a.Action); err != nil {
				return err
			}
		}
	case *p4v1.Entity_ActionProfileMember:
		if err := r.action(x.ActionProfileMember.Action); err != nil {
			return err
		}
		return rename(&x.ActionProfileMember.ActionProfileId, r.profiles, "action profile")
	case *p4v1.Entity_ActionProfileGroup:
		return rename(&x.ActionProfileGroup.ActionProfileId, r.profiles, "action profile")
	case *p4v1.Entity_ValueSetEntry:
		return rename(&x.ValueSetEntry.ValueSetId, r.vsets, "value set")
	case *p4v1.Entity_DigestEntry:
		return rename(&x.DigestEntry.DigestId, r.digests, "digest")
	}
	return nil
}

func (r *renames) action(a *p4v1.Action) error {
	old := a.ActionId
	if err := rename(&a.ActionId, r.actions, "action"); err != nil {
		return err
	}
	for _, p := range a.Params {
		if err := rename(&p.ParamId, r.params[old], "parameter"); err != nil {
			return err
		}
	}
	return nil
}
