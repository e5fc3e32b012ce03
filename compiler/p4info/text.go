// SPDX-License-Identifier: Apache-2.0

package p4info

import (
	"fmt"
	"sort"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// Text returns a P4Info in the text format of protocol buffers, in p4c's
// layout. The Go library's own writer randomises its spaces.
func Text(info *p4configv1.P4Info) []byte {
	w := &textWriter{}
	w.b.WriteString("# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n")
	w.message(info.ProtoReflect())
	return []byte(w.b.String())
}

type textWriter struct {
	b      strings.Builder
	indent int
}

func (w *textWriter) line(format string, args ...any) {
	w.b.WriteString(strings.Repeat("  ", w.indent))
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

// message writes the fields of a message in the order of their numbers.
func (w *textWriter) message(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	order := make([]protoreflect.FieldDescriptor, fields.Len())
	for i := range order {
		order[i] = fields.Get(i)
	}
	sort.Slice(order, func(i, j int) bool { return order[i].Number() < order[j].Number() })
	for _, f := range order {
		if !m.Has(f) {
			continue
		}
		v := m.Get(f)
		switch {
		case f.IsMap():
			w.mapField(f, v.Map())
		case f.IsList():
			for i := range v.List().Len() {
				w.field(f, v.List().Get(i))
			}
		default:
			w.field(f, v)
		}
	}
}

func (w *textWriter) mapField(f protoreflect.FieldDescriptor, m protoreflect.Map) {
	var keys []string
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k.String())
		return true
	})
	sort.Strings(keys)
	for _, k := range keys {
		w.line("%s {", f.Name())
		w.indent++
		w.line("key: %s", quote(k))
		w.field(f.MapValue(), m.Get(protoreflect.ValueOfString(k).MapKey()))
		w.indent--
		w.line("}")
	}
}

func (w *textWriter) field(f protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch f.Kind() {
	case protoreflect.MessageKind:
		w.line("%s {", f.Name())
		w.indent++
		w.message(v.Message())
		w.indent--
		w.line("}")
	case protoreflect.StringKind:
		w.line("%s: %s", f.Name(), quote(v.String()))
	case protoreflect.BytesKind:
		w.line("%s: %s", f.Name(), quote(string(v.Bytes())))
	case protoreflect.EnumKind:
		if e := f.Enum().Values().ByNumber(v.Enum()); e != nil {
			w.line("%s: %s", f.Name(), e.Name())
		} else {
			w.line("%s: %d", f.Name(), v.Enum())
		}
	default:
		w.line("%s: %v", f.Name(), v.Interface())
	}
}

// quote returns a string literal of the text format. Bytes other than printable
// ASCII are octal.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '"' || c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
