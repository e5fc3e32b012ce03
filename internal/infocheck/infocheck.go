// SPDX-License-Identifier: Apache-2.0

// Package infocheck checks a P4Info that a peer or a file supplies, before anything
// follows its types: a type may contain itself, or stand for so many numbers that no
// memory holds them.
package infocheck

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// Limits of a P4Info, far beyond those of any program. docs/security.md names them.
const (
	maxName   = 1 << 10 // bytes of a name, or of an annotation that a controller reads
	maxWidth  = 1 << 16 // bits of a number
	maxDepth  = 16      // levels of a type
	maxFields = 1 << 10 // match fields of a table, parameters of an action, metadata of a header
	maxLeaves = 1 << 16 // numbers in the types of all digests and registers
	maxText   = 1 << 22 // bytes of their names, which are those of all levels
)

// Check returns an error if types of a P4Info contain themselves, or if names, widths,
// sizes or types exceed a limit. The error names the object. The time is proportional
// to the size of the P4Info.
func Check(info *p4configv1.P4Info) error {
	c := &checker{info: info.GetTypeInfo(), known: map[node]extent{}}
	if err := c.types(); err != nil {
		return fmt.Errorf("P4Info: %w", err)
	}
	if err := c.objects(info); err != nil {
		return fmt.Errorf("P4Info: %w", err)
	}
	return nil
}

// node is a named type.
type node struct{ kind, name string }

func (n node) String() string { return n.kind + " " + n.name }

// extent is the size of a type: the numbers that it consists of, the bytes of their
// names within it, and its levels.
type extent struct{ leaves, text, depth int64 }

var leaf = extent{leaves: 1}

// add adds a member with a name.
func (e *extent) add(name string, m extent) {
	e.leaves += m.leaves
	e.text += m.text + m.leaves*int64(len(name)+1)
	e.depth = max(e.depth, m.depth+1)
}

// times makes an extent that of an array.
func (e extent) times(n int64) extent {
	if n > 0 && max(e.leaves, e.text) > math.MaxInt64/n {
		return extent{leaves: math.MaxInt64, depth: e.depth}
	}
	return extent{leaves: e.leaves * n, text: e.text * n, depth: e.depth + 1}
}

type checker struct {
	info  *p4configv1.P4TypeInfo
	known map[node]extent
	path  []node // the types that are being visited, each a part of the one before
}

// types visits all named types.
func (c *checker) types() error {
	visit := func(kind string, names []string) error {
		slices.Sort(names)
		for _, name := range names {
			if _, err := c.named(node{kind, name}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, err := range []error{
		visit("struct", slices.Collect(maps.Keys(c.info.GetStructs()))),
		visit("header", slices.Collect(maps.Keys(c.info.GetHeaders()))),
		visit("header union", slices.Collect(maps.Keys(c.info.GetHeaderUnions()))),
		visit("enum", slices.Collect(maps.Keys(c.info.GetEnums()))),
		visit("serializable enum", slices.Collect(maps.Keys(c.info.GetSerializableEnums()))),
		visit("new type", slices.Collect(maps.Keys(c.info.GetNewTypes()))),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// named returns the extent of a named type. One that the P4Info does not define is a
// number: whoever needs the definition reports it.
func (c *checker) named(n node) (extent, error) {
	if e, ok := c.known[n]; ok {
		return e, nil
	}
	if len(n.name) > maxName {
		return leaf, fmt.Errorf("a %s has a name of %d bytes, more than %d", n.kind, len(n.name), maxName)
	}
	if i := slices.Index(c.path, n); i >= 0 {
		var names []string
		for _, p := range append(slices.Clone(c.path[i:]), n) {
			names = append(names, p.name)
		}
		return leaf, fmt.Errorf("%v contains itself: %s", n, strings.Join(names, " has "))
	}
	if len(c.path) >= maxDepth {
		return leaf, fmt.Errorf("the type of %v is nested more than %d deep", c.path[0], maxDepth)
	}
	c.path = append(c.path, n)
	e, err := c.define(n)
	c.path = c.path[:len(c.path)-1]
	switch {
	case err != nil:
		return leaf, err
	case e.depth > maxDepth:
		return leaf, fmt.Errorf("%v is nested more than %d deep", n, maxDepth)
	case e.leaves > maxLeaves || e.text > maxText:
		return leaf, tooLarge(n.String(), e)
	}
	c.known[n] = e
	return e, nil
}

func tooLarge(what string, e extent) error {
	if e.leaves > maxLeaves {
		return fmt.Errorf("%s has %s numbers, more than %d", what, count(e.leaves), maxLeaves)
	}
	return fmt.Errorf("%s has numbers whose names have %s bytes, more than %d", what, count(e.text), maxText)
}

func count(n int64) string {
	if n == math.MaxInt64 {
		return "far too many"
	}
	return fmt.Sprint(n)
}

// define computes the extent of a named type from its members. It ends at the first
// error: members that fail would otherwise be visited again from everywhere.
func (c *checker) define(n node) (e extent, err error) {
	member := func(name string, m extent, of error) error {
		switch {
		case of != nil:
			return of
		case len(name) > maxName:
			return fmt.Errorf("%v has a member with a name of %d bytes, more than %d", n, len(name), maxName)
		case e.leaves <= maxLeaves && e.text <= maxText: // beyond, more does not matter
			e.add(name, m)
		}
		return nil
	}
	switch n.kind {
	case "struct":
		for _, m := range c.info.GetStructs()[n.name].GetMembers() {
			x, of := c.spec(m.GetTypeSpec(), 0)
			if err := member(m.GetName(), x, of); err != nil {
				return leaf, err
			}
		}
	case "header":
		for _, m := range c.info.GetHeaders()[n.name].GetMembers() {
			if err := member(m.GetName(), leaf, bitstring(m.GetTypeSpec(), n.String())); err != nil {
				return leaf, err
			}
		}
	case "header union":
		for _, m := range c.info.GetHeaderUnions()[n.name].GetMembers() {
			x, of := c.named(node{"header", m.GetHeader().GetName()})
			if err := member(m.GetName(), x, of); err != nil {
				return leaf, err
			}
		}
	case "serializable enum":
		return leaf, width(c.info.GetSerializableEnums()[n.name].GetUnderlyingType().GetBitwidth(), n.String())
	case "new type":
		t := c.info.GetNewTypes()[n.name]
		if tr := t.GetTranslatedType(); tr != nil {
			return leaf, width(tr.GetSdnBitwidth(), n.String())
		}
		if t.GetOriginalType() == nil {
			return leaf, nil
		}
		if e, err = c.spec(t.GetOriginalType(), 0); err == nil {
			e.depth++
		}
	default: // an enum
		return leaf, nil
	}
	return e, err
}

// spec returns the extent of a type. tuples is the number of tuples around it.
func (c *checker) spec(s *p4configv1.P4DataTypeSpec, tuples int) (extent, error) {
	switch t := s.GetTypeSpec().(type) {
	case *p4configv1.P4DataTypeSpec_Bitstring:
		return leaf, bitstring(t.Bitstring, c.here())
	case *p4configv1.P4DataTypeSpec_Tuple:
		if tuples >= maxDepth {
			return leaf, fmt.Errorf("a tuple in %s is nested more than %d deep", c.here(), maxDepth)
		}
		var e extent
		for i, m := range t.Tuple.GetMembers() {
			x, err := c.spec(m, tuples+1)
			if err != nil {
				return leaf, err
			}
			if e.leaves <= maxLeaves && e.text <= maxText {
				e.add(fmt.Sprintf("f%d", i), x)
			}
		}
		return e, nil
	case *p4configv1.P4DataTypeSpec_Struct:
		return c.named(node{"struct", t.Struct.GetName()})
	case *p4configv1.P4DataTypeSpec_Header:
		return c.named(node{"header", t.Header.GetName()})
	case *p4configv1.P4DataTypeSpec_HeaderUnion:
		return c.named(node{"header union", t.HeaderUnion.GetName()})
	case *p4configv1.P4DataTypeSpec_HeaderStack:
		return c.stack(node{"header", t.HeaderStack.GetHeader().GetName()}, t.HeaderStack.GetSize())
	case *p4configv1.P4DataTypeSpec_HeaderUnionStack:
		return c.stack(node{"header union", t.HeaderUnionStack.GetHeaderUnion().GetName()}, t.HeaderUnionStack.GetSize())
	case *p4configv1.P4DataTypeSpec_Enum:
		return c.named(node{"enum", t.Enum.GetName()})
	case *p4configv1.P4DataTypeSpec_SerializableEnum:
		return c.named(node{"serializable enum", t.SerializableEnum.GetName()})
	case *p4configv1.P4DataTypeSpec_NewType:
		return c.named(node{"new type", t.NewType.GetName()})
	}
	return leaf, nil // a bool, an error, or none
}

func (c *checker) stack(n node, size int32) (extent, error) {
	e, err := c.named(n)
	if err == nil && size < 0 {
		err = fmt.Errorf("a stack of %v in %s has size %d", n, c.here(), size)
	}
	return e.times(int64(size)), err
}

// here returns the type or object that is being visited.
func (c *checker) here() string {
	if n := len(c.path); n > 0 {
		return c.path[n-1].String()
	}
	return "the type of a digest or register"
}

func bitstring(t *p4configv1.P4BitstringLikeTypeSpec, what string) error {
	for _, bits := range []int32{t.GetBit().GetBitwidth(), t.GetInt().GetBitwidth(), t.GetVarbit().GetMaxBitwidth()} {
		if err := width(bits, what); err != nil {
			return err
		}
	}
	return nil
}

func width(bits int32, what string) error {
	if bits < 0 || bits > maxWidth {
		return fmt.Errorf("%s is %d bits wide, must be 0 to %d", what, bits, maxWidth)
	}
	return nil
}

// objects checks names, widths, numbers of fields and sizes, and the extent of the
// types of all digests and registers.
func (c *checker) objects(info *p4configv1.P4Info) error {
	for _, t := range info.GetTables() {
		if err := preamble("table", t); err != nil {
			return err
		}
		if err := fields("match fields", "table "+t.GetPreamble().GetName(), t.GetMatchFields()); err != nil {
			return err
		}
	}
	for _, a := range info.GetActions() {
		if err := preamble("action", a); err != nil {
			return err
		}
		if err := fields("parameters", "action "+a.GetPreamble().GetName(), a.GetParams()); err != nil {
			return err
		}
	}
	for _, h := range info.GetControllerPacketMetadata() {
		if err := preamble("packet metadata", h); err != nil {
			return err
		}
		if err := fields("fields", "packet metadata "+h.GetPreamble().GetName(), h.GetMetadata()); err != nil {
			return err
		}
	}
	for _, v := range info.GetValueSets() {
		if err := preamble("value set", v); err != nil {
			return err
		}
		if err := fields("fields", "value set "+v.GetPreamble().GetName(), v.GetMatch()); err != nil {
			return err
		}
	}
	for _, err := range []error{
		preambles("action profile", info.GetActionProfiles()),
		preambles("direct counter", info.GetDirectCounters()), preambles("direct meter", info.GetDirectMeters()),
		arrays("counter", info.GetCounters()), arrays("meter", info.GetMeters()),
	} {
		if err != nil {
			return err
		}
	}
	var all extent
	use := func(kind string, p *p4configv1.Preamble, spec *p4configv1.P4DataTypeSpec) error {
		what := kind + " " + p.GetName()
		e, err := c.spec(spec, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if e == leaf {
			return nil
		}
		all.add(p.GetName(), e)
		switch {
		case e.depth > maxDepth:
			return fmt.Errorf("the type of %s is nested more than %d deep", what, maxDepth)
		case e.leaves > maxLeaves || e.text > maxText:
			return tooLarge(what, e)
		case all.leaves > maxLeaves || all.text > maxText:
			return tooLarge("with "+what+", the P4Info", all)
		}
		return nil
	}
	for _, d := range info.GetDigests() {
		if err := preamble("digest", d); err != nil {
			return err
		}
		if err := use("digest", d.GetPreamble(), d.GetTypeSpec()); err != nil {
			return err
		}
	}
	if err := arrays("register", info.GetRegisters()); err != nil {
		return err
	}
	for _, r := range info.GetRegisters() {
		if err := use("register", r.GetPreamble(), r.GetTypeSpec()); err != nil {
			return err
		}
	}
	return nil
}

type object interface{ GetPreamble() *p4configv1.Preamble }

func preamble(kind string, o object) error {
	p := o.GetPreamble()
	for _, name := range []string{p.GetName(), p.GetAlias()} {
		if len(name) > maxName {
			return fmt.Errorf("a %s has a name of %d bytes, more than %d", kind, len(name), maxName)
		}
	}
	for _, a := range p.GetAnnotations() {
		if len(a) > maxName && (strings.HasPrefix(a, "@index") || strings.HasPrefix(a, "@unit")) {
			return fmt.Errorf("%s %s has an annotation of %d bytes, more than %d", kind, p.GetName(), len(a), maxName)
		}
	}
	return nil
}

func preambles[T object](kind string, list []T) error {
	for _, o := range list {
		if err := preamble(kind, o); err != nil {
			return err
		}
	}
	return nil
}

// arrays checks counters, meters or registers.
func arrays[T object, L ~[]T](kind string, list L) error {
	for _, o := range list {
		if err := preamble(kind, o); err != nil {
			return err
		}
		size := int64(0)
		switch x := any(o).(type) {
		case interface{ GetSize() int64 }:
			size = x.GetSize()
		case interface{ GetSize() int32 }:
			size = int64(x.GetSize())
		}
		if size < 0 || size > math.MaxInt32 {
			return fmt.Errorf("%s %s has size %d", kind, o.GetPreamble().GetName(), size)
		}
	}
	return nil
}

// fields checks match fields, parameters or metadata.
func fields[T interface {
	GetName() string
	GetBitwidth() int32
}](kind, what string, list []T) error {
	if len(list) > maxFields {
		return fmt.Errorf("%s has %d %s, more than %d", what, len(list), kind, maxFields)
	}
	for _, f := range list {
		if len(f.GetName()) > maxName {
			return fmt.Errorf("%s has a name of %d bytes among its %s, more than %d", what, len(f.GetName()), kind, maxName)
		}
		if err := width(f.GetBitwidth(), f.GetName()); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}
