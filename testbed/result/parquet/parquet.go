// SPDX-License-Identifier: Apache-2.0

// Package parquet writes tables in the Apache Parquet format: required columns
// of numbers, truth values and text, plain encoding, a gzip page per column
// and row group. Every reader of Parquet supports these; docs/experiments.md has
// examples for DuckDB, pandas and R.
//
// The metadata are Thrift structures in the compact protocol, with field numbers
// of parquet-format's parquet.thrift.
package parquet

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/apache/thrift/lib/go/thrift"
)

// Type is the type of a column.
type Type int

// Types of columns, by the Go type of their values.
const (
	Bool   Type = iota // bool
	Int                // int64
	Double             // float64
	Text               // string
)

// Column describes a column.
type Column struct {
	Name string
	Type Type
	Unit string // in the file's metadata as unit.NAME
}

// Writer writes a table.
type Writer struct {
	w       io.Writer
	at      int64 // bytes written
	columns []Column
	meta    [][2]string
	rows    []any // values of the current row group, row by row
	groups  []group
	total   int64
	err     error
}

// group is a written row group.
type group struct {
	rows   int64
	chunks []chunk
}

// chunk is a column of a row group.
type chunk struct{ at, plain, packed int64 }

// groupRows is the number of rows of a full row group.
const groupRows = 1 << 16

// Codes of parquet.thrift.
const (
	typeBoolean, typeInt64, typeDouble, typeByteArray = 0, 2, 5, 6

	convertedUTF8 = 0
	required      = 0
	encodingPlain = 0
	encodingRLE   = 3
	codecGzip     = 2
	pageData      = 0
	formatVersion = 1
	magic         = "PAR1"
)

var physical = [...]int32{Bool: typeBoolean, Int: typeInt64, Double: typeDouble, Text: typeByteArray}

// NewWriter returns a writer of a table. The file's metadata has the pairs of meta
// and the columns' units.
func NewWriter(w io.Writer, columns []Column, meta ...[2]string) *Writer {
	p := &Writer{w: w, columns: columns, meta: meta}
	for _, c := range columns {
		if c.Unit != "" {
			p.meta = append(p.meta, [2]string{"unit." + c.Name, c.Unit})
		}
	}
	p.write([]byte(magic))
	return p
}

// Write adds a row: a value of the column's type for each column. It returns the
// first error of the underlying writer.
func (p *Writer) Write(row ...any) error {
	if len(row) != len(p.columns) {
		panic(fmt.Sprintf("BUG: a row of %d values for %d columns", len(row), len(p.columns)))
	}
	p.rows = append(p.rows, row...)
	if len(p.rows) == groupRows*len(p.columns) {
		p.flush()
	}
	return p.err
}

// Close writes the last row group and the footer. It does not close the underlying
// writer.
func (p *Writer) Close() error {
	p.flush()
	footer := p.footer()
	p.write(footer)
	p.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	p.write([]byte(magic))
	return p.err
}

func (p *Writer) write(data []byte) {
	if p.err != nil {
		return
	}
	n, err := p.w.Write(data)
	p.at += int64(n)
	p.err = err
}

// flush writes the row group.
func (p *Writer) flush() {
	n := len(p.rows) / len(p.columns)
	if n == 0 || p.err != nil {
		return
	}
	g := group{rows: int64(n)}
	for i := range p.columns {
		plain := p.plain(i)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(plain) // a buffer returns no errors
		z.Close()
		at := p.at
		head := pageHeader(n, len(plain), packed.Len())
		p.write(head)
		p.write(packed.Bytes())
		g.chunks = append(g.chunks, chunk{at, int64(len(head) + len(plain)), p.at - at})
	}
	p.groups, p.rows, p.total = append(p.groups, g), p.rows[:0], p.total+g.rows
}

// plain encodes the values of a column.
func (p *Writer) plain(column int) (b []byte) {
	for i, row := column, 0; i < len(p.rows); i, row = i+len(p.columns), row+1 {
		switch v := p.rows[i].(type) {
		case bool:
			if row%8 == 0 {
				b = append(b, 0)
			}
			if v {
				b[len(b)-1] |= 1 << (row % 8)
			}
		case int64:
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		case float64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case string:
			b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("BUG: column %s has a value of type %T", p.columns[column].Name, v))
		}
	}
	return b
}

// compact writes Thrift structures to memory, which returns no errors.
type compact struct {
	buf *thrift.TMemoryBuffer
	p   *thrift.TCompactProtocol
}

var background = context.Background()

func newCompact() *compact {
	buf := thrift.NewTMemoryBuffer()
	return &compact{buf, thrift.NewTCompactProtocolConf(buf, nil)}
}

func (c *compact) bytes() []byte { return c.buf.Bytes() }

func (c *compact) structure(fields func()) {
	c.p.WriteStructBegin(background, "")
	fields()
	c.p.WriteFieldStop(background)
	c.p.WriteStructEnd(background)
}

func (c *compact) field(id int16, t thrift.TType, value func()) {
	c.p.WriteFieldBegin(background, "", t, id)
	value()
	c.p.WriteFieldEnd(background)
}

func (c *compact) i32(id int16, v int32) {
	c.field(id, thrift.I32, func() { c.p.WriteI32(background, v) })
}

func (c *compact) i64(id int16, v int64) {
	c.field(id, thrift.I64, func() { c.p.WriteI64(background, v) })
}

func (c *compact) text(id int16, v string) {
	c.field(id, thrift.STRING, func() { c.p.WriteString(background, v) })
}

func (c *compact) sub(id int16, fields func()) {
	c.field(id, thrift.STRUCT, func() { c.structure(fields) })
}

func (c *compact) list(id int16, t thrift.TType, n int, element func(i int)) {
	c.field(id, thrift.LIST, func() {
		c.p.WriteListBegin(background, t, n)
		for i := range n {
			element(i)
		}
		c.p.WriteListEnd(background)
	})
}

func (c *compact) structs(id int16, n int, fields func(i int)) {
	c.list(id, thrift.STRUCT, n, func(i int) { c.structure(func() { fields(i) }) })
}

// pageHeader returns the header of a data page.
func pageHeader(values, plain, packed int) []byte {
	c := newCompact()
	c.structure(func() {
		c.i32(1, pageData)
		c.i32(2, int32(plain))
		c.i32(3, int32(packed))
		c.sub(5, func() { // DataPageHeader
			c.i32(1, int32(values))
			c.i32(2, encodingPlain)
			c.i32(3, encodingRLE) // of definition and repetition levels, which
			c.i32(4, encodingRLE) // required columns do not have
		})
	})
	return c.bytes()
}

// footer returns the file's metadata.
func (p *Writer) footer() []byte {
	c := newCompact()
	c.structure(func() {
		c.i32(1, formatVersion)
		c.structs(2, len(p.columns)+1, func(i int) { // SchemaElement
			if i == 0 {
				c.text(4, "schema")
				c.i32(5, int32(len(p.columns)))
				return
			}
			col := p.columns[i-1]
			c.i32(1, physical[col.Type])
			c.i32(3, required)
			c.text(4, col.Name)
			if col.Type == Text {
				c.i32(6, convertedUTF8)
				c.sub(10, func() { c.sub(1, func() {}) }) // LogicalType: StringType
			}
		})
		c.i64(3, p.total)
		c.structs(4, len(p.groups), func(i int) { p.rowGroup(c, &p.groups[i]) })
		c.structs(5, len(p.meta), func(i int) { // KeyValue
			c.text(1, p.meta[i][0])
			c.text(2, p.meta[i][1])
		})
		c.text(6, "pauseless")
	})
	return c.bytes()
}

func (p *Writer) rowGroup(c *compact, g *group) {
	var plain int64
	c.structs(1, len(g.chunks), func(i int) { // ColumnChunk
		k := g.chunks[i]
		plain += k.plain
		c.i64(2, k.at)
		c.sub(3, func() { // ColumnMetaData
			c.i32(1, physical[p.columns[i].Type])
			c.list(2, thrift.I32, 1, func(int) { c.p.WriteI32(background, encodingPlain) })
			c.list(3, thrift.STRING, 1, func(int) { c.p.WriteString(background, p.columns[i].Name) })
			c.i32(4, codecGzip)
			c.i64(5, g.rows)
			c.i64(6, k.plain)
			c.i64(7, k.packed)
			c.i64(9, k.at)
		})
	})
	c.i64(2, plain)
	c.i64(3, g.rows)
}
