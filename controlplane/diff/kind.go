// SPDX-License-Identifier: Apache-2.0

package diff

import p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

// Kinds of entities in the order of creation: an entity comes after those to
// which it refers.
type kind byte

const (
	kindReplication kind = iota + 1 // multicast groups and clone sessions
	kindDigest
	kindMember
	kindGroup
	kindTable
	kindDirectMeter
	kindDirectCounter
	kindMeter
	kindCounter
	kindRegister
	kindValueSet
	kindUnknown
)

func kindOf(e *p4v1.Entity) kind {
	switch e.GetEntity().(type) {
	case *p4v1.Entity_PacketReplicationEngineEntry:
		return kindReplication
	case *p4v1.Entity_DigestEntry:
		return kindDigest
	case *p4v1.Entity_ActionProfileMember:
		return kindMember
	case *p4v1.Entity_ActionProfileGroup:
		return kindGroup
	case *p4v1.Entity_TableEntry:
		return kindTable
	case *p4v1.Entity_DirectMeterEntry:
		return kindDirectMeter
	case *p4v1.Entity_DirectCounterEntry:
		return kindDirectCounter
	case *p4v1.Entity_MeterEntry:
		return kindMeter
	case *p4v1.Entity_CounterEntry:
		return kindCounter
	case *p4v1.Entity_RegisterEntry:
		return kindRegister
	case *p4v1.Entity_ValueSetEntry:
		return kindValueSet
	}
	return kindUnknown
}
