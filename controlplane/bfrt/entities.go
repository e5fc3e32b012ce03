// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"bytes"
	"fmt"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
)

// Wanted is a desired entry, in one pipeline or all.
type Wanted struct {
	Pipe  uint32
	Entry Entry
	Text  string // for display, if it differs from the entry's own
}

// Entries converts P4Runtime entities to BF Runtime entries: table entries, and
// clone sessions and multicast groups, which are tables there. It omits
// digests, which a program sends over P4Runtime only.
func Entries(s *schema.Schema, entities []*p4v1.Entity) ([]Wanted, error) {
	var list []Wanted
	for _, x := range entities {
		var entries []Entry
		var err error
		switch e := x.Entity.(type) {
		case *p4v1.Entity_TableEntry:
			var one Entry
			one, err = tableEntry(s, e.TableEntry)
			entries = []Entry{one}
		case *p4v1.Entity_PacketReplicationEngineEntry:
			if hasBackups(e.PacketReplicationEngineEntry) {
				err = fmt.Errorf("BF Runtime has no backups of replicas: %s", s.FormatEntity(x))
				break
			}
			entries, err = replication(e.PacketReplicationEngineEntry)
		case *p4v1.Entity_DigestEntry:
		default:
			err = fmt.Errorf("BF Runtime has nothing for %s", s.FormatEntity(x))
		}
		if err != nil {
			return nil, err
		}
		for i, e := range entries {
			w := Wanted{Pipe: PipeAll, Entry: e}
			if i == 0 {
				w.Text = s.FormatEntity(x)
			}
			list = append(list, w)
		}
	}
	return list, nil
}

// priorities minus a P4Runtime priority is the BF Runtime priority: in
// P4Runtime the largest has precedence, in BF Runtime the smallest.
const priorities = 1 << 24

// anyValue matches all values of a field. P4Runtime omits such fields, BF
// Runtime requires them.
func anyValue(f *schema.Field) Match {
	m := Match{Field: f.Name, Value: 0}
	switch f.Match {
	case schema.LPM:
		m.LPM = true
	case schema.Range:
		high := bytes.Repeat([]byte{0xff}, (f.Bits+7)/8)
		high[0] >>= uint(len(high)*8 - f.Bits)
		m.High = high
	default:
		m.Mask = 0
	}
	return m
}

func tableEntry(s *schema.Schema, x *p4v1.TableEntry) (Entry, error) {
	t := schema.ByID[schema.Table](s, x.TableId)
	if t == nil {
		return Entry{}, fmt.Errorf("there is no table %#x", x.TableId)
	}
	e := Entry{Table: t.Full, Default: x.IsDefaultAction, Data: make(map[string]any)}
	for _, m := range x.Match {
		f := fieldOf(t.Fields, m.FieldId)
		if f == nil {
			return e, fmt.Errorf("table %s has no field %d", t.Name, m.FieldId)
		}
		switch v := m.FieldMatchType.(type) {
		case *p4v1.FieldMatch_Exact_:
			e.Match = append(e.Match, Eq(f.Name, v.Exact.Value))
		case *p4v1.FieldMatch_Lpm:
			e.Match = append(e.Match, Match{Field: f.Name, Value: v.Lpm.Value, LPM: true, PrefixLen: int(v.Lpm.PrefixLen)})
		case *p4v1.FieldMatch_Ternary_:
			e.Match = append(e.Match, Match{Field: f.Name, Value: v.Ternary.Value, Mask: v.Ternary.Mask})
		case *p4v1.FieldMatch_Range_:
			e.Match = append(e.Match, Match{Field: f.Name, Value: v.Range.Low, High: v.Range.High})
		default:
			return e, fmt.Errorf("table %s: BF Runtime has no match like that of field %s", t.Name, f.Name)
		}
	}
	for _, f := range t.Fields {
		if !x.IsDefaultAction && !slices.ContainsFunc(x.Match, func(m *p4v1.FieldMatch) bool { return m.FieldId == f.ID }) {
			e.Match = append(e.Match, anyValue(f))
		}
	}
	if x.Priority > 0 {
		e.Match = append(e.Match, Eq("$MATCH_PRIORITY", priorities-int(x.Priority)))
	}
	call := x.GetAction().GetAction()
	if call == nil {
		return e, fmt.Errorf("table %s: an entry without an action of its own", t.Name)
	}
	a := schema.ByID[schema.Action](s, call.ActionId)
	if a == nil {
		return e, fmt.Errorf("table %s: there is no action %#x", t.Name, call.ActionId)
	}
	e.Action = a.Full
	for _, p := range call.Params {
		f := fieldOf(a.Params, p.ParamId)
		if f == nil {
			return e, fmt.Errorf("action %s has no parameter %d", a.Name, p.ParamId)
		}
		e.Data[f.Name] = p.Value
	}
	return e, nil
}

func fieldOf(fields []*schema.Field, id uint32) *schema.Field {
	for _, f := range fields {
		if f.ID == id {
			return f
		}
	}
	return nil
}

// mirrorGroups is the offset of the multicast groups of clone sessions with
// several ports.
const mirrorGroups = 0x8000

// hasBackups reports whether a replica has backups.
func hasBackups(x *p4v1.PacketReplicationEngineEntry) bool {
	all := slices.Concat(x.GetMulticastGroupEntry().GetReplicas(), x.GetCloneSessionEntry().GetReplicas())
	return slices.ContainsFunc(all, func(r *p4v1.Replica) bool { return len(r.BackupReplicas) > 0 })
}

func replication(x *p4v1.PacketReplicationEngineEntry) ([]Entry, error) {
	if g := x.GetMulticastGroupEntry(); g != nil {
		return group(int(g.MulticastGroupId), g.Replicas), nil
	}
	c := x.GetCloneSessionEntry()
	if c == nil || len(c.Replicas) == 0 {
		return nil, fmt.Errorf("a clone session that leads nowhere: %v", x)
	}
	m := mirror{Session: int(c.SessionId), Queue: int(c.ClassOfService), Truncate: int(c.PacketLengthBytes), Direction: "BOTH"}
	if len(c.Replicas) == 1 {
		m.Port = int(schema.ReplicaPort(c.Replicas[0]))
		return []Entry{m.entry()}, nil
	}
	m.Group = mirrorGroups + m.Session
	return append([]Entry{m.entry()}, group(m.Group, c.Replicas)...), nil
}

// group returns a multicast group, whose ports are in a node with the same
// number.
func group(id int, replicas []*p4v1.Replica) []Entry {
	var ports []uint32
	for _, r := range replicas {
		ports = append(ports, schema.ReplicaPort(r))
	}
	return []Entry{
		{Table: "$pre.node", Match: []Match{Eq("$MULTICAST_NODE_ID", id)}, Data: map[string]any{"$MULTICAST_RID": 1, "$MULTICAST_LAG_ID": []uint32{}, "$DEV_PORT": ports}},
		{Table: "$pre.mgid", Match: []Match{Eq("$MGID", id)}, Data: map[string]any{
			"$MULTICAST_NODE_ID": []uint32{uint32(id)}, "$MULTICAST_NODE_L1_XID_VALID": []bool{false}, "$MULTICAST_NODE_L1_XID": []uint32{0}}},
	}
}
