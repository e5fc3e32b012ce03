// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"github.com/pauseless/pauseless/internal/infile"
)

// Info has the tables in bfrt.json: those of a program from the compiler, or
// those of the device from the server.
type Info struct {
	tables map[string]*Table
	byID   map[uint32]*Table
}

// Table is a table, register array or other object with entries.
type Table struct {
	Name    string   `json:"name"`
	ID      uint32   `json:"id"`
	Kind    string   `json:"table_type"`
	Key     []Field  `json:"key"`
	Actions []Action `json:"action_specs"`
	Size    int      `json:"size"` // the most entries; those of a register array
	Data    []Datum  `json:"data"`

	Attributes []string `json:"attributes"`
}

// Datum is a field of the data of a table or of an action. The compiler writes fields of
// actions as objects, the driver writes them within "singleton", as both do with
// fields of tables; ParseInfo makes the former of the latter.
type Datum struct {
	Field
	IsMandatory bool   `json:"mandatory"`
	IsReadOnly  bool   `json:"read_only"`
	Singleton   *Field `json:"singleton"`
}

func (d *Datum) flatten() {
	if d.Singleton != nil {
		d.Field, d.Singleton = *d.Singleton, nil
	}
	d.Mandatory, d.ReadOnly = d.IsMandatory, d.IsReadOnly
}

// Action is an action of a table with its data fields.
type Action struct {
	ID   uint32  `json:"id"`
	Name string  `json:"name"`
	Data []Datum `json:"data"`
}

// Field is a field of a key or of data.
type Field struct {
	ID       uint32 `json:"id"`
	Name     string `json:"name"`
	Match    string `json:"match_type"`
	Repeated bool   `json:"repeated"`
	Type     struct {
		Kind    string   `json:"type"`
		Width   int      `json:"width"`
		Choices []string `json:"choices"`
	} `json:"type"`

	Mandatory, ReadOnly bool `json:"-"` // for data
}

// ParseInfo parses one or more bfrt.json; a program's tables come first.
func ParseInfo(files ...[]byte) (*Info, error) {
	info := &Info{tables: make(map[string]*Table), byID: make(map[uint32]*Table)}
	for _, data := range files {
		var f struct {
			Tables []*Table `json:"tables"`
		}
		if err := infile.JSON(data, &f); err != nil {
			return nil, fmt.Errorf("bfrt.json: %w", err)
		}
		for i, t := range f.Tables {
			if err := t.check(); err != nil {
				return nil, fmt.Errorf("bfrt.json: table %d: %w", i+1, err)
			}
			if info.byID[t.ID] != nil {
				return nil, fmt.Errorf("bfrt.json: tables %s and %s have the same id %#x", info.byID[t.ID].Name, t.Name, t.ID)
			}
			if info.tables[t.Name] != nil {
				return nil, fmt.Errorf("bfrt.json: table %d: there is another table %s", i+1, t.Name)
			}
			info.byID[t.ID] = t
			info.tables[t.Name] = t
		}
	}
	return info, nil
}

// Limits of a table, as of those of a P4Info.
const (
	maxName  = 1024  // bytes
	maxWidth = 65536 // bits
)

// check returns an error if a table has parts with which its entries cannot be encoded:
// bfrt.json may be of a switch that is not trusted.
func (t *Table) check() error {
	switch {
	case t == nil:
		return errors.New("it is null")
	case t.Name == "" || len(t.Name) > maxName:
		return fmt.Errorf("its name has %d bytes, must have from 1 to %d", len(t.Name), maxName)
	case t.Kind == "":
		return fmt.Errorf("%s has no table_type", t.Name)
	case t.ID == 0 && t.ofProgram():
		return fmt.Errorf("%s has no id", t.Name)
	case t.Size < 0:
		return fmt.Errorf("%s has a size of %d", t.Name, t.Size)
	case t.Kind == registers && (len(t.Key) != 1 || len(t.Data) == 0):
		return fmt.Errorf("%s: a register array has one key field and data, not %d and %d fields of data", t.Name, len(t.Key), len(t.Data))
	}
	for i := range t.Data {
		t.Data[i].flatten()
	}
	if err := t.checkFields("key", t.Key); err != nil {
		return err
	}
	if err := t.checkFields("data", t.DataFields(nil)); err != nil {
		return err
	}
	ids, names := make(map[uint32]bool), make(map[string]bool)
	for i := range t.Actions {
		a := &t.Actions[i]
		if a.Name == "" || a.ID == 0 || names[a.Name] || ids[a.ID] {
			return fmt.Errorf("%s: action %d has the name %.100q and the id %d; actions need a name and an id of their own", t.Name, i+1, a.Name, a.ID)
		}
		ids[a.ID], names[a.Name] = true, true
		fields := make([]Field, len(a.Data))
		for j := range a.Data {
			a.Data[j].flatten()
			fields[j] = a.Data[j].Field
		}
		if err := t.checkFields("action "+a.Name, fields); err != nil {
			return err
		}
	}
	return nil
}

// checkFields checks fields that are given together. In tables of a program, each has
// a name, a number and a type; the driver's own may have other fields, such as a choice
// of several.
func (t *Table) checkFields(of string, fields []Field) error {
	ids, names := make(map[uint32]bool), make(map[string]bool)
	for i := range fields {
		f := &fields[i]
		if f.Type.Width < 0 || f.Type.Width > maxWidth {
			return fmt.Errorf("%s: field %.100q has %d bits, must have up to %d", t.Name, f.Name, f.Type.Width, maxWidth)
		}
		if f.Name == "" && t.Kind != registers && of != "key" {
			continue // a choice
		}
		switch {
		case f.Name == "" || len(f.Name) > maxName:
			return fmt.Errorf("%s: field %d of %s has a name of %d bytes, must have from 1 to %d", t.Name, i+1, of, len(f.Name), maxName)
		case names[f.Name] || ids[f.ID]:
			return fmt.Errorf("%s: %s has two fields %.100q, or two with the id %d", t.Name, of, f.Name, f.ID)
		case !t.ofProgram():
		case f.ID == 0:
			return fmt.Errorf("%s: field %.100q of %s has no id", t.Name, f.Name, of)
		case f.Bits() == 0 && !slices.Contains([]string{"string", "bool", "float"}, f.Type.Kind):
			return fmt.Errorf("%s: field %.100q of %s is of type %.100q with %d bits, which has no values", t.Name, f.Name, of, f.Type.Kind, f.Type.Width)
		case of == "key" && f.Match == "":
			return fmt.Errorf("%s: key field %.100q has no match_type", t.Name, f.Name)
		}
		ids[f.ID], names[f.Name] = true, true
	}
	return nil
}

// registers is the kind of register arrays.
const registers = "Register"

// ofProgram reports whether a table or register array is the program's.
func (t *Table) ofProgram() bool {
	return t.Kind == registers || strings.HasPrefix(t.Kind, "MatchAction_")
}

// Table finds a table by its name, with or without the pipe's name as prefix.
func (i *Info) Table(name string) (*Table, error) {
	if t := i.tables[name]; t != nil {
		return t, nil
	}
	if t := i.tables["pipe."+name]; t != nil {
		return t, nil
	}
	var list []string
	for n := range i.tables {
		if strings.HasSuffix(n, "."+name) {
			list = append(list, n)
		}
	}
	sort.Strings(list)
	switch len(list) {
	case 1:
		return i.tables[list[0]], nil
	case 0:
		return nil, fmt.Errorf("there is no table %s", name)
	}
	return nil, fmt.Errorf("table %s may be any of %s", name, strings.Join(list, ", "))
}

// Names returns the names of all tables.
func (i *Info) Names() []string { return slices.Sorted(maps.Keys(i.tables)) }

// ByID finds a table by its number.
func (i *Info) ByID(id uint32) *Table { return i.byID[id] }

// KeyField finds a field of the key.
func (t *Table) KeyField(name string) (*Field, error) {
	for i := range t.Key {
		if t.Key[i].Name == name {
			return &t.Key[i], nil
		}
	}
	return nil, fmt.Errorf("table %s has no key field %s", t.Name, name)
}

// Action finds an action by its name, with or without the name of its control.
func (t *Table) Action(name string) (*Action, error) {
	for i := range t.Actions {
		if n := t.Actions[i].Name; n == name || strings.HasSuffix(n, "."+name) {
			return &t.Actions[i], nil
		}
	}
	return nil, fmt.Errorf("table %s has no action %s", t.Name, name)
}

// ActionByID finds an action by its number.
func (t *Table) ActionByID(id uint32) *Action {
	for i := range t.Actions {
		if t.Actions[i].ID == id {
			return &t.Actions[i]
		}
	}
	return nil
}

// DataFields returns the fields of an action, which may be nil, and of the
// table.
func (t *Table) DataFields(a *Action) []Field {
	var list []Field
	if a != nil {
		for _, d := range a.Data {
			list = append(list, d.Field)
		}
	}
	for _, d := range t.Data {
		list = append(list, d.Field)
	}
	return list
}

// Bits returns the width of a field in bits, 0 if it is not a number.
func (f *Field) Bits() int {
	switch k := f.Type.Kind; k {
	case "bytes":
		return f.Type.Width
	case "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64":
		var n int
		fmt.Sscanf(strings.TrimLeft(k, "uint"), "%d", &n)
		return n
	}
	return 0
}

// name returns an error unless the field takes this name.
func (f *Field) name(v string) error {
	switch {
	case f.Type.Kind != "string" || f.Repeated:
		return fmt.Errorf("field %s is of type %s, not string", f.Name, f.kind())
	case !f.allows(v):
		return fmt.Errorf("field %s is one of %s, not %q", f.Name, strings.Join(f.Type.Choices, ", "), v)
	}
	return nil
}

// number encodes a number as big-endian bytes with the field's length.
func (f *Field) number(v any) ([]byte, error) {
	var x *big.Int
	switch v := v.(type) {
	case int:
		x = big.NewInt(int64(v))
	case uint64:
		x = new(big.Int).SetUint64(v)
	case uint32:
		x = big.NewInt(int64(v))
	case []byte:
		x = new(big.Int).SetBytes(v)
	default:
		return nil, fmt.Errorf("field %s takes a number, not %T", f.Name, v)
	}
	bits := f.Bits()
	if bits == 0 {
		return nil, fmt.Errorf("field %s is of type %s, not a number", f.Name, f.kind())
	}
	if x.Sign() < 0 || x.BitLen() > bits {
		return nil, fmt.Errorf("field %s has %d bits, %v does not fit", f.Name, bits, x)
	}
	return x.FillBytes(make([]byte, (bits+7)/8)), nil
}

// encode encodes a data field.
func (f *Field) encode(v any) (*bfrtpb.DataField, error) {
	d := &bfrtpb.DataField{FieldId: f.ID}
	wrong := func() error { return fmt.Errorf("field %s is of type %s, not %T", f.Name, f.kind(), v) }
	switch v := v.(type) {
	case bool:
		if f.Type.Kind != "bool" || f.Repeated {
			return nil, wrong()
		}
		d.Value = &bfrtpb.DataField_BoolVal{BoolVal: v}
	case string:
		if err := f.name(v); err != nil {
			return nil, err
		}
		d.Value = &bfrtpb.DataField_StrVal{StrVal: v}
	case float64:
		if f.Type.Kind != "float" {
			return nil, wrong()
		}
		d.Value = &bfrtpb.DataField_FloatVal{FloatVal: float32(v)}
	case []uint32:
		if f.Bits() == 0 || !f.Repeated {
			return nil, wrong()
		}
		d.Value = &bfrtpb.DataField_IntArrVal{IntArrVal: &bfrtpb.DataField_IntArray{Val: v}}
	case []bool:
		if f.Type.Kind != "bool" || !f.Repeated {
			return nil, wrong()
		}
		d.Value = &bfrtpb.DataField_BoolArrVal{BoolArrVal: &bfrtpb.DataField_BoolArray{Val: v}}
	default:
		if f.Bits() == 0 || f.Repeated && f.Type.Kind != "bytes" {
			return nil, wrong()
		}
		b, err := f.number(v)
		if err != nil {
			return nil, err
		}
		d.Value = &bfrtpb.DataField_Stream{Stream: b}
	}
	return d, nil
}

func (f *Field) kind() string {
	if f.Repeated {
		return "list of " + f.Type.Kind
	}
	return f.Type.Kind
}

func (f *Field) allows(v string) bool {
	return len(f.Type.Choices) == 0 || slices.Contains(f.Type.Choices, v)
}

// decode returns the value of a data field: a uint64 for a number of up to 64
// bits, []byte for a wider one, otherwise a value as for encode.
func decode(d *bfrtpb.DataField) any {
	switch v := d.Value.(type) {
	case *bfrtpb.DataField_Stream:
		return value(v.Stream)
	case *bfrtpb.DataField_FloatVal:
		return float64(v.FloatVal)
	case *bfrtpb.DataField_StrVal:
		return v.StrVal
	case *bfrtpb.DataField_BoolVal:
		return v.BoolVal
	case *bfrtpb.DataField_IntArrVal:
		return v.IntArrVal.GetVal()
	case *bfrtpb.DataField_BoolArrVal:
		return v.BoolArrVal.GetVal()
	case *bfrtpb.DataField_StrArrVal:
		return v.StrArrVal.GetVal()
	}
	return nil
}

func value(b []byte) any {
	if len(b) > 8 {
		return b
	}
	var buf [8]byte
	copy(buf[8-len(b):], b)
	return binary.BigEndian.Uint64(buf[:])
}

// PipeAll addresses all pipelines.
const PipeAll = math.MaxUint16
