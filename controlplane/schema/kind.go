// SPDX-License-Identifier: Apache-2.0

package schema

import p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

// Kind is a kind of entities. Kinds are in the order in which their entities are
// created: an entity comes after those to which it refers.
type Kind byte

const (
	KindReplication Kind = iota + 1 // multicast groups and clone sessions
	KindDigest
	KindMember
	KindGroup
	KindTable
	KindDirectMeter
	KindDirectCounter
	KindMeter
	KindCounter
	KindRegister
	KindValueSet
	KindUnknown
)

// KindOf returns the kind of an entity.
func KindOf(e *p4v1.Entity) Kind {
	switch e.GetEntity().(type) {
	case *p4v1.Entity_PacketReplicationEngineEntry:
		return KindReplication
	case *p4v1.Entity_DigestEntry:
		return KindDigest
	case *p4v1.Entity_ActionProfileMember:
		return KindMember
	case *p4v1.Entity_ActionProfileGroup:
		return KindGroup
	case *p4v1.Entity_TableEntry:
		return KindTable
	case *p4v1.Entity_DirectMeterEntry:
		return KindDirectMeter
	case *p4v1.Entity_DirectCounterEntry:
		return KindDirectCounter
	case *p4v1.Entity_MeterEntry:
		return KindMeter
	case *p4v1.Entity_CounterEntry:
		return KindCounter
	case *p4v1.Entity_RegisterEntry:
		return KindRegister
	case *p4v1.Entity_ValueSetEntry:
		return KindValueSet
	}
	return KindUnknown
}
