// SPDX-License-Identifier: Apache-2.0

package p4info

import (
	"sort"
	"strings"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// Kinds of objects, which are the first byte of their ids.
const (
	kindAction        = p4configv1.P4Ids_ACTION
	kindTable         = p4configv1.P4Ids_TABLE
	kindValueSet      = p4configv1.P4Ids_VALUE_SET
	kindController    = p4configv1.P4Ids_CONTROLLER_HEADER
	kindProfile       = p4configv1.P4Ids_ACTION_PROFILE
	kindCounter       = p4configv1.P4Ids_COUNTER
	kindDirectCounter = p4configv1.P4Ids_DIRECT_COUNTER
	kindMeter         = p4configv1.P4Ids_METER
	kindDirectMeter   = p4configv1.P4Ids_DIRECT_METER
	kindRegister      = p4configv1.P4Ids_REGISTER
	kindDigest        = p4configv1.P4Ids_DIGEST
)

var objectKinds = map[string]p4configv1.P4Ids_Prefix{
	"counter":         kindCounter,
	"direct_counter":  kindDirectCounter,
	"meter":           kindMeter,
	"direct_meter":    kindDirectMeter,
	"register":        kindRegister,
	"action_profile":  kindProfile,
	"action_selector": kindProfile,
}

// symbols assigns ids and aliases to objects. An id is the kind and a hash of
// the name, or the next free id. The alias is the shortest suffix of the name,
// in whole components, that is unique.
type symbols struct {
	rep   *source.Reporter
	ids   map[p4configv1.P4Ids_Prefix]map[string]uint32
	taken map[uint32]bool
	names map[string]bool
	ends  map[string]int // number of names with this suffix
	// pipe is the name of the pipeline in TNA. p4c's Tofino backend puts it before
	// all names that it hashes, except those of actions.
	pipe string
}

func newSymbols(rep *source.Reporter, pipe string) *symbols {
	return &symbols{
		rep:   rep,
		pipe:  pipe,
		ids:   map[p4configv1.P4Ids_Prefix]map[string]uint32{},
		taken: map[uint32]bool{},
		names: map[string]bool{},
		ends:  map[string]int{},
	}
}

// add adds an object. Its annotations may have an @id.
func (s *symbols) add(kind p4configv1.P4Ids_Prefix, name string, annots []*syntax.Annotation, pos source.Pos) {
	m := s.ids[kind]
	if m == nil {
		m = map[string]uint32{}
		s.ids[kind] = m
	}
	if _, ok := m[name]; ok {
		return
	}
	m[name] = 0
	if id, ok := idOf(annots); ok {
		prefix := uint32(kind) << 24
		switch {
		case id>>24 != 0 && id>>24 != uint32(kind):
			s.rep.Errorf(pos, CodeP4Info, "the first byte of the @id of %s is 0x%02x, which is that of another kind of object; it must be 0x%02x", name, id>>24, uint32(kind))
		case s.taken[id|prefix]:
			s.rep.Errorf(pos, CodeP4Info, "the @id 0x%x of %s is used for another object", id, name)
		default:
			m[name] = id | prefix
			s.taken[id|prefix] = true
		}
	}
	if s.names[name] {
		return
	}
	s.names[name] = true
	for end := name; ; {
		s.ends[end]++
		i := strings.IndexByte(end, '.')
		if i < 0 {
			break
		}
		end = end[i+1:]
	}
}

// idOf returns the number in @id(number).
func idOf(annots []*syntax.Annotation) (uint32, bool) {
	a := syntax.Annot(annots, "id")
	if a == nil {
		return 0, false
	}
	n, ok := annotInt(a)
	return uint32(n), ok
}

// annotInt returns the number in an annotation.
func annotInt(a *syntax.Annotation) (int64, bool) {
	text := ""
	if len(a.Tokens) == 1 && a.Tokens[0].Kind == syntax.Integer {
		text = a.Tokens[0].Text
	} else if len(a.Exprs) == 1 {
		if lit, ok := a.Exprs[0].(*syntax.IntLit); ok {
			text = lit.Value.String()
		}
	}
	if text == "" {
		return 0, false
	}
	v, ok := syntax.ParseInt(text)
	if !ok || v.Sign() < 0 || v.BitLen() > 32 {
		return 0, false
	}
	return v.Int64(), true
}

// assign gives ids to the objects without one, in order of their names.
func (s *symbols) assign() {
	kinds := make([]int, 0, len(s.ids))
	for k := range s.ids {
		kinds = append(kinds, int(k))
	}
	sort.Ints(kinds)
	for _, k := range kinds {
		m := s.ids[p4configv1.P4Ids_Prefix(k)]
		var names []string
		for name, id := range m {
			if id == 0 {
				names = append(names, name)
			}
		}
		sort.Strings(names)
		for _, name := range names {
			h := hash(name)
			if s.pipe != "" && p4configv1.P4Ids_Prefix(k) != kindAction {
				h = hash(s.pipe + "." + name)
			}
			for {
				id := uint32(k)<<24 | h&0xffffff
				if !s.taken[id] {
					s.taken[id] = true
					m[name] = id
					break
				}
				h++
			}
		}
	}
}

// hash is Bob Jenkins's one-at-a-time hash.
func hash(s string) uint32 {
	h := uint32(0)
	for i := range len(s) {
		h += uint32(s[i])
		h += h << 10
		h ^= h >> 6
	}
	h += h << 3
	h ^= h >> 11
	h += h << 15
	return h
}

func (s *symbols) id(kind p4configv1.P4Ids_Prefix, name string) uint32 { return s.ids[kind][name] }

func (s *symbols) alias(name string) string {
	best := name
	for end := name; ; {
		if s.ends[end] > 1 {
			return best
		}
		best = end
		i := strings.IndexByte(end, '.')
		if i < 0 {
			return best
		}
		end = end[i+1:]
	}
}

// fieldIDs returns the ids of parameters, keys and fields: the @id, otherwise
// the position from 1, or the next free id.
func (s *symbols) fieldIDs(n int, annots func(i int) []*syntax.Annotation, pos func(i int) source.Pos) []uint32 {
	ids := make([]uint32, n)
	taken := map[uint32]bool{}
	for i := range n {
		id, ok := idOf(annots(i))
		switch {
		case !ok:
		case id == 0:
			s.rep.Errorf(pos(i), CodeP4Info, "an @id cannot be 0")
		case taken[id]:
			s.rep.Errorf(pos(i), CodeP4Info, "the @id %d is used twice", id)
		default:
			ids[i] = id
			taken[id] = true
		}
	}
	next := uint32(1)
	for i := range n {
		if ids[i] != 0 {
			next++
			continue
		}
		for taken[next] {
			next++
		}
		ids[i] = next
		taken[next] = true
	}
	return ids
}
