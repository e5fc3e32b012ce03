// SPDX-License-Identifier: Apache-2.0

// Package diff compares the entities of a switch with the desired ones, and finds
// the smallest set of updates from one to the other, in an order in which no
// entity refers to one that does not exist.
package diff

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/controlplane/schema"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Plan has the updates that bring a switch to its desired state.
type Plan struct {
	// Phases are written one after the other; within a phase the order does not
	// matter. New entities are written before old ones are deleted, so that
	// traffic always has entries, unless a table has no room for both.
	Phases [][]*p4v1.Update
	// Registers are cells to be written, over whichever interface the switch has
	// to its registers.
	Registers []*p4v1.RegisterEntry
	// Old has the entity before each modification and deletion, by Key.
	Old map[string]*p4v1.Entity
}

// Len returns the number of updates, registers' included.
func (p *Plan) Len() int {
	n := len(p.Registers)
	for _, phase := range p.Phases {
		n += len(phase)
	}
	return n
}

// Compute returns the plan. Entities in have that are not in want are deleted,
// with these exceptions:
//   - registers, counters and meters cannot be deleted, and are not changed;
//   - tables with constant entries are not changed, nor are tables with initial
//     entries unless want has an entry of theirs;
//   - a default entry that is not in want is set to the program's if the P4Info
//     has it, and otherwise not changed.
//
// It fails if want has two different entities with the same key.
func Compute(sch *schema.Schema, have, want []*p4v1.Entity) (*Plan, error) {
	p := &Plan{Old: make(map[string]*p4v1.Entity)}
	old := make(map[string]*p4v1.Entity, len(have))
	for _, e := range have {
		old[schema.Key(e)] = e
	}
	wanted := make(map[string]*p4v1.Entity, len(want))
	mentioned := make(map[uint32]bool) // tables
	room := make(map[uint32]int64)     // entries that a table has and will get
	for _, e := range have {
		if t := e.GetTableEntry(); t != nil && !t.IsDefaultAction {
			room[t.TableId]++
		}
	}
	var create, groups, tables, direct []*p4v1.Update
	for _, e := range want {
		key := schema.Key(e)
		if twin := wanted[key]; twin != nil {
			if !schema.Equal(twin, e) {
				return nil, fmt.Errorf("two different entities with the same key:\n  %s\n  %s", sch.FormatEntity(twin), sch.FormatEntity(e))
			}
			continue
		}
		wanted[key] = e
		if t := e.GetTableEntry(); t != nil {
			mentioned[t.TableId] = true
		}
		was := old[key]
		if was != nil && schema.Equal(was, e) {
			continue
		}
		if was != nil {
			p.Old[key] = was
		}
		typ := p4v1.Update_INSERT
		if was != nil || isDefault(e) {
			typ = p4v1.Update_MODIFY
		}
		u := &p4v1.Update{Type: typ, Entity: e}
		switch k := schema.KindOf(e); k {
		case schema.KindReplication, schema.KindDigest, schema.KindMember:
			create = append(create, u)
		case schema.KindGroup:
			groups = append(groups, u)
		case schema.KindTable:
			if typ == p4v1.Update_INSERT {
				room[e.GetTableEntry().TableId]++
			}
			tables = append(tables, u)
		case schema.KindRegister:
			p.Registers = append(p.Registers, e.GetRegisterEntry())
		case schema.KindDirectMeter, schema.KindMeter, schema.KindCounter, schema.KindDirectCounter, schema.KindValueSet:
			u.Type = p4v1.Update_MODIFY
			direct = append(direct, u)
		default:
			return nil, fmt.Errorf("entities of this kind cannot be part of a desired state: %s", sch.FormatEntity(e))
		}
	}
	var early, late, lateGroups, lateRest []*p4v1.Update
	for _, e := range have {
		key := schema.Key(e)
		if wanted[key] != nil {
			continue
		}
		u := &p4v1.Update{Type: p4v1.Update_DELETE, Entity: e}
		switch schema.KindOf(e) {
		case schema.KindTable:
			te := e.GetTableEntry()
			t := schema.ByID[schema.Table](sch, te.TableId)
			switch {
			case t == nil || t.Const:
				continue
			case te.IsDefaultAction:
				if t.ConstDefault || t.Default == 0 || schema.Equal(e, programDefault(t)) {
					continue
				}
				reset := &p4v1.TableEntry{TableId: t.ID, IsDefaultAction: true}
				tables = append(tables, &p4v1.Update{Type: p4v1.Update_MODIFY, Entity: &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: reset}}})
			case t.Initial && !mentioned[t.ID]:
				continue
			case t.Size > 0 && room[t.ID] > t.Size:
				early = append(early, u)
			default:
				late = append(late, u)
			}
		case schema.KindGroup:
			lateGroups = append(lateGroups, u)
		case schema.KindMember, schema.KindReplication, schema.KindDigest:
			lateRest = append(lateRest, u)
		default:
			continue
		}
		p.Old[key] = e
	}
	for _, phase := range [][]*p4v1.Update{create, groups, early, tables, direct, late, lateGroups, lateRest} {
		if len(phase) > 0 {
			p.Phases = append(p.Phases, phase)
		}
	}
	return p, nil
}

func isDefault(e *p4v1.Entity) bool { return e.GetTableEntry().GetIsDefaultAction() }

// programDefault returns the default entry that a table starts with.
func programDefault(t *schema.Table) *p4v1.Entity {
	a := &p4v1.Action{ActionId: t.Default}
	if def := t.DefaultArgs; len(def) > 0 {
		for _, act := range t.Actions {
			if act.ID != t.Default {
				continue
			}
			for i, f := range act.Params {
				if i < len(def) {
					a.Params = append(a.Params, &p4v1.Action_Param{ParamId: f.ID, Value: def[i]})
				}
			}
		}
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{
		TableId: t.ID, IsDefaultAction: true,
		Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: a}},
	}}}
}

// Print writes the plan in the style of diff: + for added and - for deleted
// entities, and both for modified ones. Lines are sorted within their kind.
func (p *Plan) Print(w io.Writer, sch *schema.Schema, indent string) error {
	var lines []line
	for _, phase := range p.Phases {
		for _, u := range phase {
			k := schema.KindOf(u.Entity)
			text := sch.FormatEntity(u.Entity)
			was := p.Old[schema.Key(u.Entity)]
			switch {
			case u.Type == p4v1.Update_DELETE:
				lines = append(lines, line{k, text, indent + "- " + text})
			case was != nil:
				lines = append(lines, line{k, text, indent + "- " + sch.FormatEntity(was) + "\n" + indent + "+ " + text})
			default:
				lines = append(lines, line{k, text, indent + "+ " + text})
			}
		}
	}
	for _, r := range p.Registers {
		e := &p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: r}}
		text := sch.FormatEntity(e)
		out := indent + "+ " + text
		if was := p.Old[schema.Key(e)]; was != nil {
			out = indent + "- " + sch.FormatEntity(was) + "\n" + out
		}
		lines = append(lines, line{schema.KindRegister, text, out})
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		if a.kind != b.kind {
			return int(a.kind) - int(b.kind)
		}
		return strings.Compare(a.sort, b.sort)
	})
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, l.out); err != nil {
			return err
		}
	}
	return nil
}

// line is one update in print.
type line struct {
	kind schema.Kind
	sort string
	out  string
}

// Counts returns the numbers of insertions, modifications and deletions.
// Registers count as modifications.
func (p *Plan) Counts() (insert, modify, del int) {
	modify = len(p.Registers)
	for _, phase := range p.Phases {
		for _, u := range phase {
			switch u.Type {
			case p4v1.Update_INSERT:
				insert++
			case p4v1.Update_MODIFY:
				modify++
			case p4v1.Update_DELETE:
				del++
			}
		}
	}
	return insert, modify, del
}

// First returns the updates that bring a switch that has just been started to its desired
// state, in order. They are those of Compute for a switch without entities, but nothing is
// compared: want must not have two entities with the same key.
func First(want []*p4v1.Entity) []*p4v1.Update {
	phase := func(e *p4v1.Entity) int {
		switch schema.KindOf(e) {
		case schema.KindReplication, schema.KindDigest, schema.KindMember:
			return 0
		case schema.KindGroup:
			return 1
		case schema.KindTable:
			return 2
		}
		return 3
	}
	var next [5]int // position of the next update of each phase
	phases := make([]uint8, len(want))
	for i, e := range want {
		phases[i] = uint8(phase(e))
		next[phases[i]+1]++
	}
	for p := range 4 {
		next[p+1] += next[p]
	}
	updates := make([]*p4v1.Update, len(want))
	memory := make([]p4v1.Update, len(want))
	for i, e := range want {
		u := &memory[i]
		u.Type, u.Entity = p4v1.Update_INSERT, e
		if phases[i] == 3 || isDefault(e) {
			u.Type = p4v1.Update_MODIFY
		}
		updates[next[phases[i]]] = u
		next[phases[i]]++
	}
	return updates
}
