// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"

	"github.com/pauseless/pauseless/controlplane/diff"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Desired is the desired state of a switch: the program that it runs and all
// entities of the controller. Entities that are not listed are removed, with the
// exceptions that diff.Compute names.
type Desired struct {
	Pipeline Pipeline
	Entities []*p4v1.Entity
}

// Change has the writes that bring a switch to its desired state.
type Change struct {
	Push   bool // the pipeline is pushed, which empties the tables
	Plan   *diff.Plan
	Schema *schema.Schema
}

// Empty reports whether there is nothing to write.
func (c *Change) Empty() bool { return !c.Push && c.Plan.Len() == 0 }

// String counts the changes: "pipeline pushed, 12 added, 1 changed".
func (c *Change) String() string {
	text := ""
	add := func(n int, what string) {
		if n == 0 {
			return
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", n, what)
	}
	if c.Push {
		text = "pipeline pushed"
	}
	insert, modify, del := c.Plan.Counts()
	add(insert, "added")
	add(modify, "changed")
	add(del, "removed")
	if text == "" {
		return "nothing to do"
	}
	return text
}

// Plan returns the changes that Apply would make, without making them. It also
// works in a read-only session.
func (s *Session) Plan(ctx context.Context, d Desired) (*Change, error) {
	sch, err := schema.New(d.Pipeline.P4Info)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.target.Name, err)
	}
	c := &Change{Schema: sch}
	cookie, err := s.Cookie(ctx)
	if err != nil && !errors.Is(err, ErrNoPipeline) {
		return nil, err
	}
	var have []*p4v1.Entity
	if cookie == d.Pipeline.ID() {
		if s.cookie.Load() != cookie || s.Schema() == nil {
			s.schema.Store(sch)
			s.cookie.Store(cookie)
		}
		if have, err = s.readState(ctx, sch, d.Entities); err != nil {
			return nil, err
		}
	} else {
		c.Push = true
	}
	if c.Plan, err = diff.Compute(sch, have, d.Entities); err != nil {
		return nil, fmt.Errorf("%s: %w", s.target.Name, err)
	}
	return c, nil
}

// Apply brings the switch to its desired state with the least number of writes,
// and returns the changes. If it fails, it can be called again.
func (s *Session) Apply(ctx context.Context, d Desired) (*Change, error) {
	if err := s.writable(); err != nil {
		return nil, err
	}
	c, err := s.Plan(ctx, d)
	if err != nil {
		return nil, err
	}
	if c.Push {
		if err := s.SetPipeline(ctx, d.Pipeline); err != nil {
			return c, err
		}
		// The program may have entries and default actions itself.
		have, err := s.readState(ctx, c.Schema, d.Entities)
		if err != nil {
			return c, err
		}
		if c.Plan, err = diff.Compute(c.Schema, have, d.Entities); err != nil {
			return c, fmt.Errorf("%s: %w", s.target.Name, err)
		}
	}
	for _, phase := range c.Plan.Phases {
		if err := s.writeAgainst(ctx, phase); err != nil {
			return c, err
		}
	}
	if len(c.Plan.Registers) > 0 {
		return c, s.writeRegisters(ctx, c.Schema, c.Plan.Registers)
	}
	return c, nil
}

// writeAgainst writes updates to a switch whose state may differ from the one
// they were computed for: entities that exist are modified, and those that do not
// are inserted, or not deleted.
func (s *Session) writeAgainst(ctx context.Context, updates []*p4v1.Update) error {
	err := s.Write(ctx, updates)
	var we *WriteError
	if !errors.As(err, &we) {
		return err
	}
	var again []*p4v1.Update
	for _, f := range we.Failed {
		u := &p4v1.Update{Type: f.Update.Type, Entity: f.Update.Entity}
		switch {
		case f.Code == codes.AlreadyExists && u.Type == p4v1.Update_INSERT:
			u.Type = p4v1.Update_MODIFY
		case f.Code == codes.NotFound && u.Type == p4v1.Update_MODIFY:
			u.Type = p4v1.Update_INSERT
		case f.Code == codes.NotFound && u.Type == p4v1.Update_DELETE:
			continue
		default:
			return err
		}
		again = append(again, u)
	}
	if len(again) == 0 {
		return nil
	}
	return s.Write(ctx, again)
}

// readState reads all entities that a controller can write, and the registers and
// meters in want.
func (s *Session) readState(ctx context.Context, sch *schema.Schema, want []*p4v1.Entity) ([]*p4v1.Entity, error) {
	entry := func(t *p4v1.TableEntry) *p4v1.Entity {
		return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: t}}
	}
	queries := [][]*p4v1.Entity{
		{entry(&p4v1.TableEntry{})},
		nil,
		{schema.Multicast(&p4v1.MulticastGroupEntry{})},
		{schema.Clone(&p4v1.CloneSessionEntry{})},
	}
	for _, t := range sch.Tables {
		if !t.ConstDefault && t.Profile == nil && !t.Const {
			queries[1] = append(queries[1], entry(&p4v1.TableEntry{TableId: t.ID, IsDefaultAction: true}))
		}
	}
	if len(sch.Profiles) > 0 {
		queries = append(queries,
			[]*p4v1.Entity{{Entity: &p4v1.Entity_ActionProfileMember{ActionProfileMember: &p4v1.ActionProfileMember{}}}},
			[]*p4v1.Entity{{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: &p4v1.ActionProfileGroup{}}}})
	}
	for _, d := range sch.Digests {
		queries = append(queries, []*p4v1.Entity{{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{DigestId: d.ID}}}})
	}
	var meters []*p4v1.Entity
	for _, e := range want {
		switch e := e.GetEntity().(type) {
		case *p4v1.Entity_MeterEntry:
			meters = append(meters, &p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: &p4v1.MeterEntry{MeterId: e.MeterEntry.MeterId, Index: e.MeterEntry.Index}}})
		case *p4v1.Entity_DirectMeterEntry:
			meters = append(meters, &p4v1.Entity{Entity: &p4v1.Entity_DirectMeterEntry{DirectMeterEntry: &p4v1.DirectMeterEntry{TableEntry: e.DirectMeterEntry.TableEntry}}})
		}
	}
	var have []*p4v1.Entity
	for _, q := range append(queries, meters) {
		if len(q) == 0 {
			continue
		}
		got, err := s.Read(ctx, q...)
		switch status.Code(err) {
		case codes.OK:
			have = append(have, got...)
		case codes.Unimplemented, codes.NotFound:
			// The state of these is unknown; writeAgainst handles that.
		default:
			return nil, err
		}
	}
	registers, err := s.readWantedRegisters(ctx, sch, want)
	return append(have, registers...), err
}

// readWantedRegisters reads the register arrays with cells in want, and returns
// those cells.
func (s *Session) readWantedRegisters(ctx context.Context, sch *schema.Schema, want []*p4v1.Entity) ([]*p4v1.Entity, error) {
	arrays := make(map[uint32]register.Array)
	var have []*p4v1.Entity
	for _, e := range want {
		r := e.GetRegisterEntry()
		if r == nil {
			continue
		}
		def := schema.ByID[schema.Register](sch, r.RegisterId)
		if def == nil {
			return nil, fmt.Errorf("%s: the program has no register %#x", s.target.Name, r.RegisterId)
		}
		a, ok := arrays[r.RegisterId]
		if !ok {
			var err error
			if a, err = s.ReadRegister(ctx, def.Full); err != nil {
				return nil, err
			}
			arrays[r.RegisterId] = a
		}
		i := r.GetIndex().GetIndex()
		if r.Index == nil || i < 0 || i >= int64(len(a.Values)) {
			return nil, fmt.Errorf("%s: register %s has %d cells, so there is no cell %d", s.target.Name, def.Name, len(a.Values), i)
		}
		have = append(have, &p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: &p4v1.RegisterEntry{
			RegisterId: r.RegisterId, Index: r.Index,
			Data: &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: schema.Uint(a.Values[i])}},
		}}})
	}
	return have, nil
}

// writeRegisters writes cells. Runs of equal cells are one call.
func (s *Session) writeRegisters(ctx context.Context, sch *schema.Schema, cells []*p4v1.RegisterEntry) error {
	store, err := s.Registers(ctx)
	if err != nil {
		return err
	}
	for i := 0; i < len(cells); {
		r := cells[i]
		v, ok := schema.ToUint(r.GetData().GetBitstring())
		if !ok {
			return fmt.Errorf("%s: register %s: the desired value has more than 64 bits", s.target.Name, sch.Name(r.RegisterId))
		}
		first := r.GetIndex().GetIndex()
		last := first
		for i++; i < len(cells); i++ {
			n := cells[i]
			w, _ := schema.ToUint(n.GetData().GetBitstring())
			if n.RegisterId != r.RegisterId || w != v || n.GetIndex().GetIndex() != last+1 {
				break
			}
			last++
		}
		if err := register.Set(ctx, store, schema.ByID[schema.Register](sch, r.RegisterId), int(first), int(last), v); err != nil {
			return fmt.Errorf("%s: %w", s.target.Name, err)
		}
	}
	return nil
}
