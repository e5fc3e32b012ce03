// SPDX-License-Identifier: Apache-2.0

// Package bmv2json reads and writes compiled P4 programs for v1model switches:
// BMv2 JSON, version 2, as p4lang/behavioral-model's docs/JSON_format.md describes
// it and p4c emits it. The compiler fills the structs and encodes them; the
// switch decodes and runs them.
//
// The structs are plain data, in the order and with the names of the file.
// Decode keeps the position of every object that a loader's errors may refer to.
// Encode writes the same bytes for the same program, in p4c's layout.
//
// Names refer to objects by the "name" key, identifiers (ID) are unique among
// objects of one kind, and "" stands for null where a name is wanted.
package bmv2json

import "github.com/pauseless/pauseless/internal/diag"

// Version is the version of the format, for Meta.Version.
var Version = []int{2, 23}

// TNA is the Architecture of programs for the Tofino Native Architecture,
// which p4lang's format does not know. Such a program has two parsers
// ("ingress_parser", "egress_parser"), two deparsers ("ingress_deparser",
// "egress_deparser") with the headers that they emit, and up to four pipelines:
// "ingress", "egress", and two with the names of the deparsers, which are
// executed before these emit headers. It has further primitives:
//
//	mirror    session, field list: a copy with the list's bits before it
//	resubmit  field list: in place of the port metadata
//	hash      destination, calculation: the whole result
//	count_adjusted         counter array, index, bytes that are not counted
//	execute_meter_aware    meter array, index, colour before (0 green, 1 yellow, else
//	                       red), bytes that are not metered, destination
//	math_unit destination, x, then as numbers 1 to invert, shift, scale, and the
//	          sixteen values from the first
//
// The arrays of a table's entries are indexed by the table's entry_target.
const TNA = "tna"

// Program is a whole file. A compiler sets Program to the name of the P4
// source and Meta.Version to Version.
type Program struct {
	// Architecture is empty for v1model.
	Architecture string `json:"architecture,omitempty"`

	HeaderTypes       []*HeaderType      `json:"header_types"`
	Headers           []*Header          `json:"headers"`
	HeaderStacks      []*HeaderStack     `json:"header_stacks"`
	HeaderUnionTypes  []*HeaderUnionType `json:"header_union_types"`
	HeaderUnions      []*HeaderUnion     `json:"header_unions"`
	HeaderUnionStacks []*UnionStack      `json:"header_union_stacks"`
	FieldLists        []*FieldList       `json:"field_lists"`
	Errors            []Constant         `json:"errors"`
	Enums             []*Enum            `json:"enums"`
	Parsers           []*Parser          `json:"parsers"`
	ParseVSets        []*ParseVSet       `json:"parse_vsets"`
	Deparsers         []*Deparser        `json:"deparsers"`
	MeterArrays       []*MeterArray      `json:"meter_arrays"`
	CounterArrays     []*CounterArray    `json:"counter_arrays"`
	RegisterArrays    []*RegisterArray   `json:"register_arrays"`
	Calculations      []*Calculation     `json:"calculations"`
	LearnLists        []*FieldList       `json:"learn_lists"`
	Actions           []*Action          `json:"actions"`
	Pipelines         []*Pipeline        `json:"pipelines"`
	Checksums         []*Checksum        `json:"checksums"`
	ForceArith        []FieldRef         `json:"force_arith"`
	Externs           []*Extern          `json:"extern_instances"`
	FieldAliases      []FieldAlias       `json:"field_aliases"`
	Program           string             `json:"program,omitempty"`
	Meta              Meta               `json:"__meta__"`

	// Pos is the start of the file.
	Pos diag.Pos `json:"-"`
}

// Meta has the version of the format, and the compiler that wrote the file.
type Meta struct {
	Version  []int  `json:"version"`
	Compiler string `json:"compiler,omitempty"`
}

// SourceInfo is the position of an object in the P4 source.
type SourceInfo struct {
	Filename string `json:"filename"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Fragment string `json:"source_fragment"`
}

// FieldRef names a field of a header instance: ["ipv4", "ttl"]. The field
// "$valid$" is the validity bit of the header.
type FieldRef struct{ Header, Field string }

// Constant is a named number: an error or a member of an enum.
type Constant struct {
	Name  string
	Value int
}

// Enum is an enum without a representation in bits.
type Enum struct {
	Name    string     `json:"name"`
	Entries []Constant `json:"entries"`
}

// FieldAlias maps the name by which simple_switch refers to a field, such as
// "queueing_metadata.enq_qdepth", to the field.
type FieldAlias struct {
	Name  string
	Field FieldRef
	Pos   diag.Pos
}

// HeaderType is the layout of a header or metadata struct.
type HeaderType struct {
	Name   string        `json:"name"`
	ID     int           `json:"id"`
	Fields []HeaderField `json:"fields"`
	// LengthExp, in files of old compilers, gives the width in bits of the
	// variable-length field; p4c passes it to extract_VL.
	LengthExp *Value `json:"length_exp,omitempty"`
	// MaxLength is the maximum length in bytes of a header with a
	// variable-length field, 0 for others.
	MaxLength int `json:"max_length,omitempty"`

	Pos diag.Pos `json:"-"`
}

// HeaderField is one field: ["ttl", 8, false], or ["options", "*"] for the
// variable-length one.
type HeaderField struct {
	Name       string
	Width      int // bits; unused if Varbit
	Varbit     bool
	Signed     bool
	Saturating bool
}

// Header is a header or metadata instance.
type Header struct {
	Name     string `json:"name"`
	ID       int    `json:"id"`
	Type     string `json:"header_type"`
	Metadata bool   `json:"metadata"`
	PIOmit   bool   `json:"pi_omit,omitempty"`

	Pos diag.Pos `json:"-"`
}

// HeaderStack is an array of header instances.
type HeaderStack struct {
	Name      string `json:"name"`
	ID        int    `json:"id"`
	Type      string `json:"header_type"`
	Size      int    `json:"size"`
	HeaderIDs []int  `json:"header_ids"`

	Pos diag.Pos `json:"-"`
}

// HeaderUnionType lists the members of a header union.
type HeaderUnionType struct {
	Name    string        `json:"name"`
	ID      int           `json:"id"`
	Headers []UnionMember `json:"headers"`

	Pos diag.Pos `json:"-"`
}

// UnionMember is a member of a union: its name and its header type.
type UnionMember struct{ Name, Type string }

// HeaderUnion is a header union instance.
type HeaderUnion struct {
	Name      string `json:"name"`
	ID        int    `json:"id"`
	Type      string `json:"union_type"`
	HeaderIDs []int  `json:"header_ids"`
	PIOmit    bool   `json:"pi_omit,omitempty"`

	Pos diag.Pos `json:"-"`
}

// UnionStack is an array of header union instances.
type UnionStack struct {
	Name     string `json:"name"`
	ID       int    `json:"id"`
	Type     string `json:"union_type"`
	Size     int    `json:"size"`
	UnionIDs []int  `json:"header_union_ids"`

	Pos diag.Pos `json:"-"`
}

// FieldList is a list of fields that survive a clone, resubmit or
// recirculate, or that a digest carries. Identifiers start at 1.
type FieldList struct {
	ID         int         `json:"id"`
	Name       string      `json:"name"`
	SourceInfo *SourceInfo `json:"source_info,omitempty"`
	Elements   []*Value    `json:"elements"`

	Pos diag.Pos `json:"-"`
}

// MeterArray is an array of meters, or the meters of a table's entries.
type MeterArray struct {
	Name         string      `json:"name"`
	ID           int         `json:"id"`
	SourceInfo   *SourceInfo `json:"source_info,omitempty"`
	IsDirect     bool        `json:"is_direct"`
	Size         int         `json:"size"`
	RateCount    int         `json:"rate_count"`
	Type         string      `json:"type"` // "packets" or "bytes"
	Binding      string      `json:"binding,omitempty"`
	ResultTarget *FieldRef   `json:"result_target,omitempty"`

	Pos diag.Pos `json:"-"`
}

// CounterArray is an array of counters, or the counters of a table's entries.
type CounterArray struct {
	Name       string      `json:"name"`
	ID         int         `json:"id"`
	SourceInfo *SourceInfo `json:"source_info,omitempty"`
	Size       int         `json:"size,omitempty"`
	IsDirect   bool        `json:"is_direct"`
	Binding    string      `json:"binding,omitempty"`

	Pos diag.Pos `json:"-"`
}

// RegisterArray is an array of registers.
type RegisterArray struct {
	Name       string      `json:"name"`
	ID         int         `json:"id"`
	SourceInfo *SourceInfo `json:"source_info,omitempty"`
	Size       int         `json:"size"`
	Width      int         `json:"bitwidth"`
	// Initial is the initial value of every cell in hexadecimal; "" means zero.
	Initial string `json:"initial,omitempty"`
	// Binding is the table whose entries have the cells; "" for none. A new entry's
	// cell has the initial value.
	Binding string `json:"binding,omitempty"`

	Pos diag.Pos `json:"-"`
}

// Calculation is a hash or checksum over a list of inputs. A hexstr among
// them has its Width set.
type Calculation struct {
	Name       string      `json:"name"`
	ID         int         `json:"id"`
	SourceInfo *SourceInfo `json:"source_info,omitempty"`
	Algo       string      `json:"algo"`
	CRC        *CRC        `json:"crc,omitempty"`
	Input      []*Value    `json:"input"`

	Pos diag.Pos `json:"-"`
}

// CRC has the parameters of the algorithm "crc", as in the CRC catalogue: a
// polynomial of Width bits without its highest one, whether input bytes and the
// result are reflected, the initial value and the final exclusive or, all in
// hexadecimal. The result is repeated up to Extend bits. It is an extension.
type CRC struct {
	Width   int    `json:"width"`
	Poly    string `json:"polynomial"`
	Reflect bool   `json:"reflect"`
	Init    string `json:"init"`
	Xor     string `json:"xor"`
	Extend  int    `json:"extend,omitempty"`
}

// Checksum has a field verified after parsing or updated before deparsing.
type Checksum struct {
	Name        string      `json:"name"`
	ID          int         `json:"id"`
	SourceInfo  *SourceInfo `json:"source_info,omitempty"`
	Target      FieldRef    `json:"target"`
	Type        string      `json:"type"` // "generic"
	Calculation string      `json:"calculation"`
	// Verify and Update are true if the file leaves them out.
	Verify bool   `json:"verify"`
	Update bool   `json:"update"`
	IfCond *Value `json:"if_cond"`

	Pos diag.Pos `json:"-"`
}

// Extern is an extern instance whose type has no list of its own in the format.
type Extern struct {
	Name       string      `json:"name"`
	ID         int         `json:"id"`
	Type       string      `json:"type"`
	Attributes []Attribute `json:"attribute_values"`

	Pos diag.Pos `json:"-"`
}

// Attribute is an initial value of an extern instance.
type Attribute struct {
	Name  string
	Value *Value `json:"-"` // of the attribute's type
}
