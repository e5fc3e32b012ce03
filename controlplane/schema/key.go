// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/binary"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Key returns the identity of an entity: two entities have equal keys exactly
// if a switch can have only one of them (specification, P4 Entity Messages). It
// does not depend on the order of match fields or on leading zero bytes.
func Key(e *p4v1.Entity) string { return string(appendKey(nil, e)) }

func appendKey(b []byte, e *p4v1.Entity) []byte {
	if kind := KindOf(e); kind != KindUnknown {
		b = append(b, byte(kind))
	}
	switch e := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return appendTableKey(b, e.TableEntry)
	case *p4v1.Entity_DirectMeterEntry:
		return appendTableKey(b, e.DirectMeterEntry.GetTableEntry())
	case *p4v1.Entity_DirectCounterEntry:
		return appendTableKey(b, e.DirectCounterEntry.GetTableEntry())
	case *p4v1.Entity_ActionProfileMember:
		return append32(b, e.ActionProfileMember.ActionProfileId, e.ActionProfileMember.MemberId)
	case *p4v1.Entity_ActionProfileGroup:
		return append32(b, e.ActionProfileGroup.ActionProfileId, e.ActionProfileGroup.GroupId)
	case *p4v1.Entity_PacketReplicationEngineEntry:
		if g := e.PacketReplicationEngineEntry.GetMulticastGroupEntry(); g != nil {
			return append32(b, 1, g.MulticastGroupId)
		}
		return append32(b, 2, e.PacketReplicationEngineEntry.GetCloneSessionEntry().GetSessionId())
	case *p4v1.Entity_DigestEntry:
		return append32(b, e.DigestEntry.DigestId)
	case *p4v1.Entity_RegisterEntry:
		return append64(append32(b, e.RegisterEntry.RegisterId), e.RegisterEntry.GetIndex().GetIndex())
	case *p4v1.Entity_MeterEntry:
		return append64(append32(b, e.MeterEntry.MeterId), e.MeterEntry.GetIndex().GetIndex())
	case *p4v1.Entity_CounterEntry:
		return append64(append32(b, e.CounterEntry.CounterId), e.CounterEntry.GetIndex().GetIndex())
	case *p4v1.Entity_ValueSetEntry:
		return append32(b, e.ValueSetEntry.ValueSetId)
	}
	return b
}

func append32(b []byte, list ...uint32) []byte {
	for _, v := range list {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func append64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// appendBytes appends a number's byte string after its length.
func appendBytes(b, v []byte) []byte {
	v = Canonical(v)
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

func appendTableKey(b []byte, e *p4v1.TableEntry) []byte {
	b = append32(b, e.GetTableId())
	if e.GetIsDefaultAction() {
		return append(b, 1)
	}
	b = append32(append(b, 0), uint32(e.GetPriority()))
	return appendMatch(b, e.GetMatch())
}

func appendMatch(b []byte, match []*p4v1.FieldMatch) []byte {
	inOrder := slices.IsSortedFunc(match, func(x, y *p4v1.FieldMatch) int { return int(x.FieldId) - int(y.FieldId) })
	if !inOrder {
		match = slices.Clone(match)
		slices.SortFunc(match, func(x, y *p4v1.FieldMatch) int { return int(x.FieldId) - int(y.FieldId) })
	}
	for _, m := range match {
		b = append32(b, m.FieldId)
		switch m := m.FieldMatchType.(type) {
		case *p4v1.FieldMatch_Exact_:
			b = appendBytes(b, m.Exact.Value)
		case *p4v1.FieldMatch_Lpm:
			b = append32(appendBytes(b, m.Lpm.Value), uint32(m.Lpm.PrefixLen))
		case *p4v1.FieldMatch_Ternary_:
			b = appendBytes(appendBytes(b, m.Ternary.Value), m.Ternary.Mask)
		case *p4v1.FieldMatch_Range_:
			b = appendBytes(appendBytes(b, m.Range.Low), m.Range.High)
		case *p4v1.FieldMatch_Optional_:
			b = appendBytes(b, m.Optional.Value)
		}
	}
	return b
}

// Equal reports whether two entities with the same key have the same
// configuration. It ignores counts and the metadata of table entries.
func Equal(a, b *p4v1.Entity) bool {
	return string(appendConfig(nil, a)) == string(appendConfig(nil, b))
}

func appendConfig(b []byte, e *p4v1.Entity) []byte {
	switch e := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		b = append64(b, e.TableEntry.IdleTimeoutNs)
		return appendTableAction(b, e.TableEntry.GetAction())
	case *p4v1.Entity_DirectMeterEntry:
		return appendMeter(b, e.DirectMeterEntry.GetConfig())
	case *p4v1.Entity_ActionProfileMember:
		return appendAction(b, e.ActionProfileMember.GetAction())
	case *p4v1.Entity_ActionProfileGroup:
		b = append32(b, uint32(e.ActionProfileGroup.MaxSize))
		var parts []string
		for _, m := range e.ActionProfileGroup.Members {
			//lint:ignore SA1019 servers in use do not know the younger field
			parts = append(parts, string(appendWatchKey(append32(nil, m.MemberId, uint32(m.Weight)), m.GetWatchPort(), m.GetWatch())))
		}
		return appendSorted(b, parts)
	case *p4v1.Entity_PacketReplicationEngineEntry:
		if g := e.PacketReplicationEngineEntry.GetMulticastGroupEntry(); g != nil {
			return appendReplicaKeys(b, g.Replicas)
		}
		c := e.PacketReplicationEngineEntry.GetCloneSessionEntry()
		return appendReplicaKeys(append32(b, c.GetClassOfService(), uint32(c.GetPacketLengthBytes())), c.GetReplicas())
	case *p4v1.Entity_DigestEntry:
		c := e.DigestEntry.GetConfig()
		return append32(append64(append64(b, c.GetMaxTimeoutNs()), c.GetAckTimeoutNs()), uint32(c.GetMaxListSize()))
	case *p4v1.Entity_RegisterEntry:
		return appendBytes(b, e.RegisterEntry.GetData().GetBitstring())
	case *p4v1.Entity_MeterEntry:
		return appendMeter(b, e.MeterEntry.GetConfig())
	case *p4v1.Entity_ValueSetEntry:
		var parts []string
		for _, m := range e.ValueSetEntry.Members {
			parts = append(parts, string(appendMatch(nil, m.Match)))
		}
		return appendSorted(b, parts)
	}
	return b
}

// appendSorted appends parts whose order is irrelevant.
func appendSorted(b []byte, parts []string) []byte {
	slices.Sort(parts)
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	return b
}

// appendReplicaKeys appends replicas in sorted order, each with its backups, whose
// order is relevant.
func appendReplicaKeys(b []byte, list []*p4v1.Replica) []byte {
	parts := make([]string, len(list))
	for i, r := range list {
		part := append32(nil, ReplicaPort(r), r.Instance)
		for _, backup := range r.BackupReplicas {
			part = append32(appendBytes(part, backup.Port), backup.Instance)
		}
		parts[i] = string(part)
	}
	return appendSorted(b, parts)
}

// appendMeter distinguishes an unconfigured meter, which passes all packets,
// from one with zero rates, which passes none.
func appendMeter(b []byte, c *p4v1.MeterConfig) []byte {
	if c == nil {
		return b
	}
	for _, v := range []int64{c.Cir, c.Cburst, c.Pir, c.Pburst, c.Eburst} {
		b = append64(b, v)
	}
	return b
}

// appendWatchKey appends the watch port of a group's member, if any, from either
// of its two fields.
func appendWatchKey(b, port []byte, old int32) []byte {
	if len(port) > 0 {
		return appendBytes(b, port)
	}
	if old == 0 {
		return b
	}
	return appendBytes(b, binary.BigEndian.AppendUint32(nil, uint32(old)))
}

func appendTableAction(b []byte, a *p4v1.TableAction) []byte {
	switch a := a.GetType().(type) {
	case *p4v1.TableAction_Action:
		return appendAction(append(b, 'a'), a.Action)
	case *p4v1.TableAction_ActionProfileMemberId:
		return append32(append(b, 'm'), a.ActionProfileMemberId)
	case *p4v1.TableAction_ActionProfileGroupId:
		return append32(append(b, 'g'), a.ActionProfileGroupId)
	case *p4v1.TableAction_ActionProfileActionSet:
		var parts []string
		for _, x := range a.ActionProfileActionSet.GetActionProfileActions() {
			//lint:ignore SA1019 servers in use do not know the younger field
			parts = append(parts, string(appendWatchKey(append32(appendAction(nil, x.Action), uint32(x.Weight)), x.GetWatchPort(), x.GetWatch())))
		}
		return appendSorted(append(b, 's'), parts)
	}
	return b
}

func appendAction(b []byte, a *p4v1.Action) []byte {
	b = append32(b, a.GetActionId())
	params := a.GetParams()
	if !slices.IsSortedFunc(params, func(x, y *p4v1.Action_Param) int { return int(x.ParamId) - int(y.ParamId) }) {
		params = slices.Clone(params)
		slices.SortFunc(params, func(x, y *p4v1.Action_Param) int { return int(x.ParamId) - int(y.ParamId) })
	}
	for _, p := range params {
		b = appendBytes(append32(b, p.ParamId), p.Value)
	}
	return b
}
