// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strconv"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

// FormatEntity returns an entity as the line that ParseEntity reads. Entities that
// the P4Info does not describe are printed as protobuf text.
func (s *Schema) FormatEntity(e *p4v1.Entity) string {
	if out, ok := s.appendEntity(nil, e); ok {
		return string(out)
	}
	return prototext.MarshalOptions{}.Format(e)
}

func (s *Schema) appendEntity(out []byte, e *p4v1.Entity) (_ []byte, ok bool) {
	switch e := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return s.appendTableEntry(out, e.TableEntry)
	case *p4v1.Entity_ActionProfileMember:
		m := e.ActionProfileMember
		out = fmt.Appendf(out, "member %s %d", s.Name(m.ActionProfileId), m.MemberId)
		if m.Action == nil {
			return out, true
		}
		return s.appendAction(append(out, " -> "...), m.Action)
	case *p4v1.Entity_ActionProfileGroup:
		g := e.ActionProfileGroup
		out = fmt.Appendf(out, "group %s %d", s.Name(g.ActionProfileId), g.GroupId)
		if g.MaxSize != 0 {
			out = fmt.Appendf(out, " size %d", g.MaxSize)
		}
		out = append(out, " ->"...)
		for i, m := range g.Members {
			if i > 0 {
				out = append(out, ',')
			}
			out = fmt.Appendf(out, " %d", m.MemberId)
			out = appendWeight(out, m.Weight)
			//lint:ignore SA1019 servers in use do not know the younger field
			if out, ok = appendWatch(out, m.GetWatchPort(), m.GetWatch()); !ok {
				return out, false
			}
		}
		return out, true
	case *p4v1.Entity_PacketReplicationEngineEntry:
		if g := e.PacketReplicationEngineEntry.GetMulticastGroupEntry(); g != nil {
			out = fmt.Appendf(out, "multicast %d -> ", g.MulticastGroupId)
			return appendReplicas(out, g.Replicas)
		}
		c := e.PacketReplicationEngineEntry.GetCloneSessionEntry()
		if c == nil {
			return out, false
		}
		out = fmt.Appendf(out, "clone %d -> ", c.SessionId)
		if out, ok = appendReplicas(out, c.Replicas); !ok {
			return out, false
		}
		if c.ClassOfService != 0 {
			out = fmt.Appendf(out, " cos %d", c.ClassOfService)
		}
		if c.PacketLengthBytes != 0 {
			out = fmt.Appendf(out, " truncate %d", c.PacketLengthBytes)
		}
		return out, true
	case *p4v1.Entity_RegisterEntry:
		r := e.RegisterEntry
		out = appendIndexed(out, "register", s.Name(r.RegisterId), r.Index)
		if r.Data == nil {
			return out, true
		}
		var value []byte
		switch x := r.Data.Data.(type) {
		case *p4v1.P4Data_Bitstring:
			value = x.Bitstring
		case *p4v1.P4Data_EnumValue:
			value = x.EnumValue
		default:
			return out, false
		}
		return appendValue(append(out, " = "...), Decimal, 0, value), true
	case *p4v1.Entity_CounterEntry:
		c := e.CounterEntry
		out = appendIndexed(out, "counter", s.Name(c.CounterId), c.Index)
		if c.Data != nil {
			out = fmt.Appendf(out, " = %d packets %d bytes", c.Data.PacketCount, c.Data.ByteCount)
		}
		return out, true
	case *p4v1.Entity_MeterEntry:
		m := e.MeterEntry
		out = appendIndexed(out, "meter", s.Name(m.MeterId), m.Index)
		if c := m.Config; c != nil {
			out = fmt.Appendf(out, " = cir %d burst %d pir %d burst %d", c.Cir, c.Cburst, c.Pir, c.Pburst)
			if c.Eburst != 0 {
				out = fmt.Appendf(out, " excess %d", c.Eburst)
			}
		}
		return out, true
	case *p4v1.Entity_DigestEntry:
		d := e.DigestEntry
		out = fmt.Appendf(out, "digest %s", s.Name(d.DigestId))
		if c := d.Config; c != nil {
			out = fmt.Appendf(out, " timeout %v list %d ack %v", time.Duration(c.MaxTimeoutNs), c.MaxListSize, time.Duration(c.AckTimeoutNs))
		}
		return out, true
	}
	return out, false
}

func appendIndexed(out []byte, kind, name string, i *p4v1.Index) []byte {
	if i == nil {
		return fmt.Appendf(out, "%s %s[*]", kind, name)
	}
	return fmt.Appendf(out, "%s %s[%d]", kind, name, i.Index)
}

func appendWeight(out []byte, w int32) []byte {
	if w == 1 {
		return out
	}
	return strconv.AppendInt(append(out, " weight "...), int64(w), 10)
}

// appendWatch appends the watch port of a member from either of its two fields,
// if any.
func appendWatch(out, port []byte, old int32) ([]byte, bool) {
	n, ok := uint64(old), true
	switch {
	case len(port) > 0:
		n, ok = ToUint(port)
	case old == 0:
		return out, true
	}
	return strconv.AppendUint(append(out, " watch "...), n, 10), ok
}

func appendReplicas(out []byte, list []*p4v1.Replica) ([]byte, bool) {
	replica := func(port uint64, instance uint32) {
		out = strconv.AppendUint(out, port, 10)
		if instance != 0 {
			out = strconv.AppendUint(append(out, '/'), uint64(instance), 10)
		}
	}
	for i, r := range list {
		if i > 0 {
			out = append(out, ", "...)
		}
		replica(uint64(ReplicaPort(r)), r.Instance)
		for _, b := range r.BackupReplicas {
			port, ok := ToUint(b.Port)
			if !ok {
				return out, false
			}
			out = append(out, " backup "...)
			replica(port, b.Instance)
		}
	}
	return out, true
}

// ReplicaPort returns the port of a replica from either of its two fields.
func ReplicaPort(r *p4v1.Replica) uint32 {
	if b := r.GetPort(); len(b) > 0 {
		v, _ := ToUint(b)
		return uint32(v)
	}
	//lint:ignore SA1019 servers in use do not know the younger field
	return r.GetEgressPort()
}

func (s *Schema) appendTableEntry(out []byte, e *p4v1.TableEntry) ([]byte, bool) {
	t := ByID[Table](s, e.TableId)
	if t == nil {
		return out, false
	}
	out = append(out, t.Name...)
	if e.IsDefaultAction {
		out = append(out, " default"...)
	}
	if e.Priority != 0 {
		out = strconv.AppendInt(append(out, " prio "...), int64(e.Priority), 10)
	}
	var ok bool
	if out, ok = t.appendMatch(out, e.Match); !ok {
		return out, false
	}
	switch a := e.GetAction().GetType().(type) {
	case nil:
	case *p4v1.TableAction_Action:
		if out, ok = s.appendAction(append(out, " -> "...), a.Action); !ok {
			return out, false
		}
	case *p4v1.TableAction_ActionProfileMemberId:
		out = fmt.Appendf(out, " -> member %d", a.ActionProfileMemberId)
	case *p4v1.TableAction_ActionProfileGroupId:
		out = fmt.Appendf(out, " -> group %d", a.ActionProfileGroupId)
	case *p4v1.TableAction_ActionProfileActionSet:
		out = append(out, " -> {"...)
		for i, x := range a.ActionProfileActionSet.GetActionProfileActions() {
			if i > 0 {
				out = append(out, ", "...)
			}
			if out, ok = s.appendAction(out, x.Action); !ok {
				return out, false
			}
			out = appendWeight(out, x.Weight)
			//lint:ignore SA1019 servers in use do not know the younger field
			if out, ok = appendWatch(out, x.GetWatchPort(), x.GetWatch()); !ok {
				return out, false
			}
		}
		out = append(out, '}')
	default:
		return out, false
	}
	if e.IdleTimeoutNs != 0 {
		out = fmt.Appendf(out, " timeout %v", time.Duration(e.IdleTimeoutNs))
	}
	return out, true
}

// appendMatch prints the conditions in the order of the table's fields.
func (t *Table) appendMatch(out []byte, match []*p4v1.FieldMatch) ([]byte, bool) {
	printed := 0
	for _, f := range t.Fields {
		for _, m := range match {
			if m.FieldId == f.ID {
				out = append(append(append(out, ' '), f.Name...), '=')
				out = f.appendCondition(out, m)
				printed++
			}
		}
	}
	return out, printed == len(match)
}

// FormatMatch returns a condition as in an entry's text, without the field's name.
// It returns * for nil, which matches any value.
func (f *Field) FormatMatch(m *p4v1.FieldMatch) string {
	if m == nil {
		return "*"
	}
	return string(f.appendCondition(nil, m))
}

func (f *Field) appendCondition(out []byte, m *p4v1.FieldMatch) []byte {
	value := func(b []byte) {
		if f.Format == Text {
			out = strconv.AppendQuote(out, string(b))
			return
		}
		out = appendValue(out, f.Format, f.Bits, b)
	}
	switch m := m.FieldMatchType.(type) {
	case *p4v1.FieldMatch_Exact_:
		value(m.Exact.Value)
	case *p4v1.FieldMatch_Optional_:
		value(m.Optional.Value)
	case *p4v1.FieldMatch_Lpm:
		value(m.Lpm.Value)
		out = strconv.AppendInt(append(out, '/'), int64(m.Lpm.PrefixLen), 10)
	case *p4v1.FieldMatch_Ternary_:
		value(m.Ternary.Value)
		switch n := prefixLen(f.Bits, m.Ternary.Mask); {
		case n == f.Bits:
		case n >= 0 && f.Format == IPv4:
			out = strconv.AppendInt(append(out, '/'), int64(n), 10)
		default:
			out = append(out, "&&&"...)
			format := f.Format
			if format == Decimal {
				format = Hex
			}
			out = appendValue(out, format, f.Bits, m.Ternary.Mask)
		}
	case *p4v1.FieldMatch_Range_:
		value(m.Range.Low)
		out = append(out, ".."...)
		value(m.Range.High)
	}
	return out
}

func (s *Schema) appendAction(out []byte, call *p4v1.Action) ([]byte, bool) {
	a := ByID[Action](s, call.GetActionId())
	if a == nil {
		return out, false
	}
	out = append(append(out, a.Name...), '(')
	for i, arg := range call.Params {
		p := fieldByID(a.Params, arg.ParamId)
		if p == nil {
			return out, false
		}
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(append(out, p.Name...), '=')
		if p.Format == Text {
			out = strconv.AppendQuote(out, string(arg.Value))
		} else {
			out = appendValue(out, p.Format, p.Bits, arg.Value)
		}
	}
	return append(out, ')'), true
}
