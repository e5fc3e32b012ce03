// SPDX-License-Identifier: Apache-2.0

// Package parquet writes tables in the Apache Parquet format, with parquet-go: required
// columns of numbers, truth values and text, plain encoding, compressed with gzip. Every
// reader of Parquet supports these; docs/experiments.md has examples for DuckDB, pandas
// and R.
package parquet

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
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
	out     *parquet.GenericWriter[any]
	columns []Column
	row     parquet.Row
	rows    int // of the current row group
	err     error
}

// groupRows is the number of rows of a full row group.
const groupRows = 1 << 16

// ordered is a schema whose columns are in the order of the table, not of their names.
type ordered struct {
	parquet.Group
	columns []Column
}

func (t ordered) Fields() []parquet.Field {
	fields := t.Group.Fields()
	place := func(name string) int {
		return slices.IndexFunc(t.columns, func(c Column) bool { return c.Name == name })
	}
	slices.SortFunc(fields, func(a, b parquet.Field) int { return place(a.Name()) - place(b.Name()) })
	return fields
}

// NewWriter returns a writer of a table. The file's metadata has the pairs of meta
// and the columns' units.
func NewWriter(w io.Writer, columns []Column, meta ...[2]string) *Writer {
	t := ordered{make(parquet.Group), columns}
	options := []parquet.WriterOption{parquet.Compression(&parquet.Gzip), parquet.DataPageStatistics(false)}
	for _, c := range columns {
		t.Group[c.Name] = parquet.Encoded([...]parquet.Node{
			Bool: parquet.Leaf(parquet.BooleanType), Int: parquet.Leaf(parquet.Int64Type), Double: parquet.Leaf(parquet.DoubleType), Text: parquet.String(),
		}[c.Type], &parquet.Plain)
		if c.Unit != "" {
			meta = append(meta, [2]string{"unit." + c.Name, c.Unit})
		}
	}
	for _, m := range meta {
		options = append(options, parquet.KeyValueMetadata(m[0], m[1]))
	}
	return &Writer{out: parquet.NewGenericWriter[any](w, append(options, parquet.NewSchema("table", t))...), columns: columns}
}

// Write adds a row: a value of the column's type for each column. It returns the
// first error of the underlying writer.
func (p *Writer) Write(row ...any) error {
	if len(row) != len(p.columns) {
		panic(fmt.Sprintf("BUG: a row of %d values for %d columns", len(row), len(p.columns)))
	}
	p.row = p.row[:0]
	for i, v := range row {
		p.row = append(p.row, parquet.ValueOf(v).Level(0, 0, i))
	}
	if p.err == nil {
		_, p.err = p.out.WriteRows([]parquet.Row{p.row})
	}
	if p.rows++; p.err == nil && p.rows%groupRows == 0 {
		p.err = p.out.Flush()
	}
	return p.err
}

// Close writes the last row group and the footer. It does not close the underlying
// writer.
func (p *Writer) Close() error {
	if p.err == nil {
		p.err = p.out.Close()
	}
	return p.err
}
