// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// scope has the permissions of a role, from role.config (section 5.2 of the
// specification, which leaves the format to servers and controllers). Our
// format is a google.protobuf.Struct:
//
//	entities: [NAME, …]   what the role writes and gets notifications of, by name or
//	                      alias in the P4Info; multicast_groups, clone_sessions
//	packet_in: BOOL       whether it gets packets
//	packet_out: BOOL      whether it sends packets
//	pipeline: BOOL        whether it sets the forwarding pipeline
//
// Omitted keys are empty or false. A role without configuration has all
// permissions, and so has a nil scope. All roles can read everything.
type scope struct {
	entities                      map[string]bool // by name
	packetIn, packetOut, pipeline bool
}

// Names of entities that are not in a P4Info.
const (
	multicastGroups = "multicast_groups"
	cloneSessions   = "clone_sessions"
)

// parseScope parses a role configuration; nil is none.
func parseScope(config *anypb.Any) (*scope, error) {
	if config == nil {
		return nil, nil
	}
	bad := func(format string, args ...any) (*scope, error) {
		return nil, status.Error(codes.InvalidArgument, brief(fmt.Sprintf("role.config "+format, args...)))
	}
	s := &structpb.Struct{}
	if err := config.UnmarshalTo(s); err != nil {
		return bad("is a %q: this server knows google.protobuf.Struct", config.TypeUrl)
	}
	sc := &scope{entities: map[string]bool{}}
	flags := map[string]*bool{"packet_in": &sc.packetIn, "packet_out": &sc.packetOut, "pipeline": &sc.pipeline}
	for key, v := range s.Fields {
		switch to := flags[key]; {
		case to != nil:
			b, ok := v.GetKind().(*structpb.Value_BoolValue)
			if !ok {
				return bad("%s: must be true or false", key)
			}
			*to = b.BoolValue
		case key == "entities":
			list, ok := v.GetKind().(*structpb.Value_ListValue)
			if !ok {
				return bad("entities: must be a list of names")
			}
			for _, e := range list.ListValue.GetValues() {
				name, ok := e.GetKind().(*structpb.Value_StringValue)
				if !ok {
					return bad("entities: must be names")
				}
				sc.entities[name.StringValue] = true
			}
		default:
			return bad("has %q: there are entities, packet_in, packet_out and pipeline", key)
		}
	}
	return sc, nil
}

// has reports whether the role has an entity with one of these names.
func (s *scope) has(names ...string) bool {
	return s == nil || slices.ContainsFunc(names, func(n string) bool { return n != "" && s.entities[n] })
}

// check returns an error for an update outside of the role's scope.
func (s *scope) check(p *pipeline, u *p4v1.Update) error {
	if s == nil {
		return nil
	}
	names := p.namesOf(u.GetEntity())
	if len(names) == 0 || s.has(names...) { // an unknown object has its own error
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "%s is not among the entities of this role", names[0])
}

// namesOf returns the names of an entity's object.
func (p *pipeline) namesOf(e *p4v1.Entity) []string {
	var id uint32
	switch x := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		id = x.TableEntry.GetTableId()
	case *p4v1.Entity_ActionProfileMember:
		id = x.ActionProfileMember.GetActionProfileId()
	case *p4v1.Entity_ActionProfileGroup:
		id = x.ActionProfileGroup.GetActionProfileId()
	case *p4v1.Entity_CounterEntry:
		id = x.CounterEntry.GetCounterId()
	case *p4v1.Entity_DirectCounterEntry:
		id = x.DirectCounterEntry.GetTableEntry().GetTableId()
	case *p4v1.Entity_MeterEntry:
		id = x.MeterEntry.GetMeterId()
	case *p4v1.Entity_DirectMeterEntry:
		id = x.DirectMeterEntry.GetTableEntry().GetTableId()
	case *p4v1.Entity_RegisterEntry:
		id = x.RegisterEntry.GetRegisterId()
	case *p4v1.Entity_ValueSetEntry:
		id = x.ValueSetEntry.GetValueSetId()
	case *p4v1.Entity_DigestEntry:
		id = x.DigestEntry.GetDigestId()
	case *p4v1.Entity_PacketReplicationEngineEntry:
		if x.PacketReplicationEngineEntry.GetCloneSessionEntry() != nil {
			return []string{cloneSessions}
		}
		return []string{multicastGroups}
	}
	return p.called(id)
}

// called returns the name and the alias of an object in the P4Info.
func (p *pipeline) called(id uint32) []string {
	if pre := p.preambles[id]; pre != nil {
		return []string{pre.Name, pre.Alias}
	}
	return nil
}

func (b *bindings) bindPreambles() {
	b.p.preambles = map[uint32]*p4configv1.Preamble{}
	addPreambles(b.p.preambles, b.info.Tables)
	addPreambles(b.p.preambles, b.info.ActionProfiles)
	addPreambles(b.p.preambles, b.info.Counters)
	addPreambles(b.p.preambles, b.info.Meters)
	addPreambles(b.p.preambles, b.info.Registers)
	addPreambles(b.p.preambles, b.info.ValueSets)
	addPreambles(b.p.preambles, b.info.Digests)
}

func addPreambles[T interface{ GetPreamble() *p4configv1.Preamble }](to map[uint32]*p4configv1.Preamble, list []T) {
	for _, o := range list {
		to[o.GetPreamble().GetId()] = o.GetPreamble()
	}
}

// String is the text of the log. It does not repeat more of a peer's data than brief.
func (s *scope) String() string {
	if s == nil {
		return "all"
	}
	return brief(fmt.Sprintf("entities %s, packet_in %v, packet_out %v, pipeline %v", strings.Join(slices.Sorted(maps.Keys(s.entities)), " "), s.packetIn, s.packetOut, s.pipeline))
}
