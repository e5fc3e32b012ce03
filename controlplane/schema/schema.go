// SPDX-License-Identifier: Apache-2.0

// Package schema is an index of a P4Info by names. It finds tables, actions,
// registers and other objects by name, converts values such as 10.0.1.0/24,
// 02:00:00:00:00:01, 0x12b7 and 26 to P4Runtime's byte strings and back, and
// parses and prints entities as one line of text:
//
//	Forward dst=10.0.1.0/24 -> forward(port=3)
//	acl prio 10 proto=17 dport=4791..4799 -> drop()
//	Forward default -> drop()
//	multicast 1 -> 1, 2, 3
//	clone 5 -> 510 truncate 64
//	register Thresholds[3] = 200
//
// ParseEntity describes the syntax. It reads the output of FormatEntity.
package schema

import (
	"fmt"
	"sort"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infocheck"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Schema is an indexed P4Info. It is immutable, so any number of goroutines
// may use one.
type Schema struct {
	Info *p4configv1.P4Info

	Tables    []*Table
	Actions   []*Action
	Profiles  []*Profile
	Registers []*Register
	Counters  []*Counter
	Meters    []*Meter
	Digests   []*Digest
	ValueSets []*ValueSet
	PacketIn  []*Field // metadata of packets to the controller
	PacketOut []*Field // metadata of packets from the controller

	names map[string]map[string]any // kind → name, alias → object; nil where a short name is ambiguous
	ids   map[uint32]any
}

// MatchKind is the match kind of a field.
type MatchKind uint8

// Match kinds of P4Info.
const (
	Exact MatchKind = iota
	LPM
	Ternary
	Range
	Optional
)

func (k MatchKind) String() string {
	return [...]string{"exact", "lpm", "ternary", "range", "optional"}[k]
}

// Field is a match field, an action parameter, a packet's metadata or a
// member of a digest.
type Field struct {
	ID     uint32
	Name   string
	Bits   int // 0 for a string
	Match  MatchKind
	Format Format
}

// Table is a table of the pipeline.
type Table struct {
	ID      uint32
	Name    string // the P4Info's alias: the shortest unique one
	Full    string // fully qualified
	Fields  []*Field
	Actions []*Action
	Size    int64
	Profile *Profile // of an indirect table
	Const   bool     // the program fixes the entries
	Initial bool     // the program has initial entries
	// ConstDefault is set if the default action cannot be changed.
	ConstDefault bool
	// Default is the default action's ID, 0 if the P4Info has none.
	Default       uint32
	DefaultArgs   [][]byte
	DirectCounter bool
	DirectMeter   bool
	Meter         string // full name of the direct meter, or empty
	IdleTimeout   bool

	defaultOnly map[uint32]bool // actions for the default entry alone
}

// Action is an action and its parameters.
type Action struct {
	ID     uint32
	Name   string
	Full   string
	Params []*Field
}

// Profile is an action profile or selector.
type Profile struct {
	ID       uint32
	Name     string
	Full     string
	Selector bool
	Size     int64
	Actions  []*Action
}

// Register is a register array.
type Register struct {
	ID   uint32
	Name string
	Full string
	Size int
	Bits int // of a cell, or of its first member; 0 if that is not a number
	// Members are the widths of the members in bits if a cell is a struct. Values
	// are those of the first member.
	Members []int
	// Unit and Index come from the annotations @unit("us") and
	// @index("port"); see Dims.
	Unit  string
	Index []Dim
}

// Counter is an indirect counter array.
type Counter struct {
	ID    uint32
	Name  string
	Full  string
	Size  int64
	Unit  string // "packets", "bytes" or "both"
	Index []Dim
}

// Meter is an indirect meter array.
type Meter struct {
	ID    uint32
	Name  string
	Full  string
	Size  int64
	Unit  string // "packets" or "bytes", per second
	Index []Dim
}

// Digest is a message from data plane to control plane.
type Digest struct {
	ID     uint32
	Name   string
	Full   string
	Fields []*Field // a single one without a name if the digest is not a struct
}

// ValueSet is a parser value set.
type ValueSet struct {
	ID     uint32
	Name   string
	Full   string
	Size   int64
	Fields []*Field
}

// New returns the index of a P4Info, which may come from a peer: types that contain
// themselves or exceed a limit are errors (package infocheck), and so are IDs or names
// given twice and references to objects that do not exist. Names are those of the P4Info with what
// is not printable escaped (diag.Printable).
func New(info *p4configv1.P4Info) (*Schema, error) {
	if info == nil {
		return nil, fmt.Errorf("no P4Info")
	}
	if err := infocheck.Check(info); err != nil {
		return nil, err
	}
	shown := printable(info)
	s := &Schema{Info: info, names: make(map[string]map[string]any), ids: make(map[uint32]any)}
	b := builder{s: s, info: shown}
	b.all()
	if b.err != nil {
		return nil, fmt.Errorf("P4Info: %w", b.err)
	}
	return s, nil
}

// printable returns a P4Info whose names can be printed: the same one, or a copy.
func printable(info *p4configv1.P4Info) *p4configv1.P4Info {
	change := false
	eachString(info.ProtoReflect(), func(s string) string {
		change = change || diag.Printable(s) != s
		return s
	})
	if !change {
		return info
	}
	c := proto.Clone(info).(*p4configv1.P4Info)
	eachString(c.ProtoReflect(), diag.Printable)
	return c
}

// eachString replaces the strings in a message, except keys of maps.
func eachString(m protoreflect.Message, f func(string) string) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		kind := fd.Kind()
		switch {
		case fd.IsMap():
			if fd.MapValue().Kind() == protoreflect.MessageKind {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					eachString(v.Message(), f)
					return true
				})
			}
		case fd.IsList() && kind == protoreflect.MessageKind:
			for i := range v.List().Len() {
				eachString(v.List().Get(i).Message(), f)
			}
		case fd.IsList() && kind == protoreflect.StringKind:
			for i := range v.List().Len() {
				if s := v.List().Get(i).String(); f(s) != s {
					v.List().Set(i, protoreflect.ValueOfString(f(s)))
				}
			}
		case kind == protoreflect.MessageKind && !fd.IsList():
			// Names of types are keys.
			if fd.Message().FullName() != "p4.config.v1.P4NamedType" {
				eachString(v.Message(), f)
			}
		case kind == protoreflect.StringKind && !fd.IsList():
			if s := v.String(); f(s) != s {
				m.Set(fd, protoreflect.ValueOfString(f(s)))
			}
		}
		return true
	})
}

// Kinds of named objects, for messages.
const (
	kindTable    = "table"
	kindAction   = "action"
	kindProfile  = "action profile"
	kindRegister = "register"
	kindCounter  = "counter"
	kindMeter    = "meter"
	kindDigest   = "digest"
	kindValueSet = "value set"
)

// Table finds a table by its full name, its alias, or any suffix of the full name
// that is unique.
func (s *Schema) Table(name string) (*Table, error) { return find[Table](s, kindTable, name) }

// Action finds an action by name, as Table does.
func (s *Schema) Action(name string) (*Action, error) { return find[Action](s, kindAction, name) }

// Profile finds an action profile or selector by name, as Table does.
func (s *Schema) Profile(name string) (*Profile, error) { return find[Profile](s, kindProfile, name) }

// Register finds a register by name, as Table does.
func (s *Schema) Register(name string) (*Register, error) {
	return find[Register](s, kindRegister, name)
}

// Counter finds a counter by name, as Table does.
func (s *Schema) Counter(name string) (*Counter, error) { return find[Counter](s, kindCounter, name) }

// Meter finds a meter by name, as Table does.
func (s *Schema) Meter(name string) (*Meter, error) { return find[Meter](s, kindMeter, name) }

// Digest finds a digest by name, as Table does.
func (s *Schema) Digest(name string) (*Digest, error) { return find[Digest](s, kindDigest, name) }

// ValueSet finds a value set by name, as Table does.
func (s *Schema) ValueSet(name string) (*ValueSet, error) {
	return find[ValueSet](s, kindValueSet, name)
}

func find[T any](s *Schema, kind, name string) (*T, error) {
	v, ok := s.names[kind][name]
	if obj, isT := v.(*T); isT {
		return obj, nil
	}
	if ok {
		return nil, fmt.Errorf("%q names more than one %s: %s", name, kind, strings.Join(s.fullNames(kind, name), ", "))
	}
	all := s.fullNames(kind, "")
	if len(all) == 0 {
		return nil, fmt.Errorf("no %s is called %q; the program has none", kind, name)
	}
	var short []string
	for n := range s.names[kind] {
		short = append(short, n)
	}
	sort.Strings(short)
	hint := diag.DidYouMean(name, short)
	if hint == "" && len(all) <= 30 {
		hint = "; there are: " + strings.Join(all, ", ")
	}
	return nil, fmt.Errorf("no %s is called %q%s", kind, name, hint)
}

// fullNames returns the full names of a kind's objects with a suffix.
func (s *Schema) fullNames(kind, suffix string) []string {
	seen := make(map[string]bool)
	var names []string
	for _, v := range s.names[kind] {
		if v == nil {
			continue
		}
		short, full := nameOf(v)
		if !seen[full] && (suffix == "" || strings.HasSuffix("."+full, "."+suffix)) {
			seen[full] = true
			if suffix == "" {
				full = short
			}
			names = append(names, full)
		}
	}
	sort.Strings(names)
	return names
}

func nameOf(v any) (short, full string) {
	switch v := v.(type) {
	case *Table:
		return v.Name, v.Full
	case *Action:
		return v.Name, v.Full
	case *Profile:
		return v.Name, v.Full
	case *Register:
		return v.Name, v.Full
	case *Counter:
		return v.Name, v.Full
	case *Meter:
		return v.Name, v.Full
	case *Digest:
		return v.Name, v.Full
	case *ValueSet:
		return v.Name, v.Full
	}
	panic(fmt.Sprintf("BUG: no name for %T", v))
}

// Name returns the short name of any object, or its ID in hexadecimal if the
// P4Info does not have it.
func (s *Schema) Name(id uint32) string {
	if v := s.ids[id]; v != nil {
		short, _ := nameOf(v)
		return short
	}
	return fmt.Sprintf("%#x", id)
}

// ByID returns the object with an ID, or nil if there is none of this type.
func ByID[T any](s *Schema, id uint32) *T {
	v, _ := s.ids[id].(*T)
	return v
}

// Param finds a parameter by its name or any suffix after a dot.
func (a *Action) Param(name string) *Field { return findField(a.Params, name) }

// Field finds a match field by its name or any unique suffix after a dot.
func (t *Table) Field(name string) *Field { return findField(t.Fields, name) }

func findField(fields []*Field, name string) *Field {
	var found *Field
	for _, f := range fields {
		if f.Name == name {
			return f
		}
		if strings.HasSuffix(f.Name, "."+name) {
			if found != nil {
				return nil
			}
			found = f
		}
	}
	return found
}

func fieldByID(fields []*Field, id uint32) *Field {
	// Compilers assign numbers from 1 in order.
	if i := int(id) - 1; i >= 0 && i < len(fields) && fields[i].ID == id {
		return fields[i]
	}
	for _, f := range fields {
		if f.ID == id {
			return f
		}
	}
	return nil
}

func fieldNames(fields []*Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// NeedsPriority reports whether the table's entries have a priority: it has a
// ternary, range or optional field (P4Runtime specification, TableEntry).
func (t *Table) NeedsPriority() bool {
	for _, f := range t.Fields {
		if f.Match == Ternary || f.Match == Range || f.Match == Optional {
			return true
		}
	}
	return false
}
