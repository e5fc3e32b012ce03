// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"sync"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"github.com/pauseless/pauseless/internal/bitvec"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Translated types (8.4.6 and 18.1 of the specification): a number of the data
// plane is a string, or another number, for the controller. The configuration
// maps them by URI, or the type's annotation @p4runtime_translation_mappings({
// {"name", 0} }). Without a mapping, numbers are equal on both sides, and
// strings get numbers from one up when entries with them are written.

// translation is a translated type of a pipeline.
type translation struct {
	key      string // the URI, or the name of the type if that is empty
	text     bool   // the controller has strings
	sdnWidth int    // bits of the controller's numbers
	width    int    // bits in the data plane
	mappings map[string]uint64
}

// mappingOf matches an element of @p4runtime_translation_mappings.
var mappingOf = regexp.MustCompile(`\{\s*"((?:[^"\\]|\\.)*)"\s*,\s*(\w+)\s*\}`)

// translated returns the translation of a type, or nil. All types with the same
// URI share one.
func (b *bindings) translated(name string, width int, what string) *translation {
	spec := b.info.GetTypeInfo().GetNewTypes()[name]
	tr := spec.GetTranslatedType()
	if tr == nil {
		return nil
	}
	key := tr.Uri
	if key == "" {
		key = name
	}
	text := tr.GetSdnString() != nil
	t := b.p.translations[key]
	if t == nil {
		t = &translation{key: key, text: text, sdnWidth: int(tr.GetSdnBitwidth()), width: width, mappings: map[string]uint64{}}
		b.p.translations[key] = t
	}
	if t.text != text || !text && t.sdnWidth != int(tr.GetSdnBitwidth()) || t.width != width {
		b.errorf("%s: translation %q is for %d bits and another type elsewhere", what, key, t.width)
	}
	for _, a := range spec.Annotations {
		if !strings.HasPrefix(a, "@p4runtime_translation_mappings") {
			continue
		}
		for _, m := range mappingOf.FindAllStringSubmatch(a, -1) {
			n, err := strconv.ParseUint(m[2], 0, 64)
			if err != nil || width < 64 && n>>width != 0 {
				b.errorf("%s: translation %q of %q to %s, which does not fit %d bits", what, key, m[1], m[2], width)
				continue
			}
			t.mappings[m[1]] = n
		}
	}
	return t
}

// names is a device's translation with the numbers that strings have.
type names struct {
	*translation
	mu     sync.Mutex
	fixed  bool // the configuration has all strings
	number map[string][]uint64
	name   map[string]string // by the number's byte string
	next   uint64
}

// newNames returns the translations of a pipeline, with those of the
// configuration.
func (s *Server) newNames(p *pipeline) map[string]*names {
	all := map[string]*names{}
	for key, t := range p.translations {
		n := &names{translation: t, number: map[string][]uint64{}, name: map[string]string{}, next: 1}
		configured := s.opts.Translations[key]
		n.fixed = len(configured) > 0
		for _, mappings := range []map[string]uint64{t.mappings, configured} {
			for name, number := range mappings {
				v := make([]uint64, bitvec.Limbs(t.width))
				v[0] = number
				if bitvec.BitLen(v) > t.width {
					s.log.Warn("translation does not fit the data plane", "uri", key, "value", name, "number", number, "bits", t.width)
					continue
				}
				if !t.text {
					sdn, err := strconv.ParseUint(name, 0, 64)
					if err != nil {
						s.log.Warn("translation of a number is not from a number", "uri", key, "value", name)
						continue
					}
					name = string(formatBytes([]uint64{sdn}))
				}
				n.set(name, v)
			}
		}
		all[key] = n
	}
	return all
}

func (n *names) set(name string, v []uint64) {
	n.number[name], n.name[string(formatBytes(v))] = v, name
}

// learned records the strings of an update that are new in its batch.
type learned struct {
	fresh map[use]bool // of the batch; true: a successful update uses it
	now   []use        // of the update being decoded
}

type use struct {
	n    *names
	name string
}

// begin starts the next update.
func (l *learned) begin() { l.now = l.now[:0] }

// uses returns the new strings of the update.
func (l *learned) uses() []use { return append([]use(nil), l.now...) }

// keep records that an update succeeded.
func (l *learned) keep(uses []use) {
	for _, u := range uses {
		l.fresh[u] = true
	}
}

// end forgets strings that no successful update uses.
func (l *learned) end(d *device) {
	for u, kept := range l.fresh {
		if !kept {
			u.n.mu.Lock()
			delete(u.n.name, string(formatBytes(u.n.number[u.name])))
			delete(u.n.number, u.name)
			u.n.mu.Unlock()
			d.shrink(nameCost(u.name))
		}
	}
}

// toData converts a controller's value. An unknown string gets a number if the
// device is learning, otherwise it is NOT_FOUND.
func (d *device) toData(t *translation, value []byte, what string) ([]uint64, error) {
	n := d.names[t.key]
	key := string(value)
	if !t.text {
		v, err := parseBytes(value, t.sdnWidth, what)
		if err != nil {
			return nil, err
		}
		key = string(formatBytes(v))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if v, ok := n.number[key]; ok {
		if l := d.learned; l != nil {
			if _, fresh := l.fresh[use{n, key}]; fresh {
				l.now = append(l.now, use{n, key})
			}
		}
		return append([]uint64(nil), v...), nil
	}
	if digits, ok := strings.CutPrefix(key, nameless); ok && t.text {
		if b, err := hex.DecodeString(digits); err == nil && n.name[string(b)] == "" {
			return parseBytes(b, t.width, what)
		}
	}
	switch {
	case n.fixed:
		return nil, status.Errorf(codes.InvalidArgument, "%s: %q is not among the configured values of %s", what, value, t.key)
	case !t.text:
		return parseBytes(value, t.width, what)
	case d.learned == nil:
		return nil, status.Errorf(codes.NotFound, "%s: nothing is called %q", what, value)
	}
	for ; ; n.next++ {
		v := make([]uint64, bitvec.Limbs(t.width))
		v[0] = n.next
		if bitvec.BitLen(v) > t.width {
			if len(n.number) < 1<<min(t.width, 30)-1 && n.next > 1 { // some are free again
				n.next = 0
				continue
			}
			return nil, status.Errorf(codes.ResourceExhausted, "%s: all numbers of %d bits stand for other strings", what, t.width)
		}
		if _, taken := n.name[string(formatBytes(v))]; !taken {
			if len(key) > maxName {
				return nil, status.Errorf(codes.InvalidArgument, "%s: a string of %d bytes, more than %d", what, len(key), maxName)
			}
			if err := d.grow(nameCost(key)); err != nil {
				return nil, err
			}
			n.set(key, v)
			d.learned.fresh[use{n, key}] = false
			d.learned.now = append(d.learned.now, use{n, key})
			return append([]uint64(nil), v...), nil
		}
	}
}

// nameless begins the controller's string for a number without a string, which
// the program's own entries may have.
const nameless = "#"

// fromData converts a value for the controller.
func (d *device) fromData(t *translation, v []uint64) []byte {
	n := d.names[t.key]
	b := formatBytes(v)
	n.mu.Lock()
	defer n.mu.Unlock()
	if name, ok := n.name[string(b)]; ok {
		return []byte(name)
	}
	if t.text {
		return []byte(nameless + hex.EncodeToString(b))
	}
	return b
}

// parse parses a value of a type that may be translated.
func (d *device) parse(t *translation, value []byte, width int, what string) ([]uint64, error) {
	if t != nil {
		return d.toData(t, value, what)
	}
	return parseBytes(value, width, what)
}

// format is the inverse of parse.
func (d *device) format(t *translation, v []uint64) []byte {
	if t != nil {
		return d.fromData(t, v)
	}
	return formatBytes(v)
}

// keepNames copies the numbers of strings from another device.
func (d *device) keepNames(old *device) {
	for key, n := range d.names {
		o := old.names[key]
		if o == nil || !n.text || !o.text {
			continue
		}
		for name, v := range o.number {
			_, known := n.number[name]
			_, taken := n.name[string(formatBytes(v))]
			if !known && !taken && !n.fixed && bitvec.BitLen(v) <= n.width {
				wide := make([]uint64, bitvec.Limbs(n.width))
				copy(wide, v)
				n.set(name, wide)
			}
		}
	}
}

// learning makes the device assign numbers to new strings until done is called.
func (d *device) learning() (l *learned, done func()) {
	l = &learned{fresh: map[use]bool{}}
	d.learned = l
	return l, func() {
		l.end(d)
		d.learned = nil
	}
}

// translatable reports whether a match kind supports strings.
func translatable(kind p4configv1.MatchField_MatchType) bool {
	return kind == p4configv1.MatchField_EXACT || kind == p4configv1.MatchField_OPTIONAL
}
