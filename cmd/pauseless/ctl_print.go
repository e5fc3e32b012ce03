// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/internal/diag"
)

// printer writes the records of ctl's verbs: as tables and lines of text, or as
// one JSON object per line. Several goroutines may use it.
type printer struct {
	w    io.Writer
	json bool
	// Text is the writer for texts that are not records. With JSON it discards them.
	text io.Writer

	mu          sync.Mutex
	limit, used int    // records that may be written, where limit is not 0
	done        func() // is called with the last of them
}

func newPrinter(w io.Writer, json bool) *printer {
	p := &printer{w: w, json: json, text: w}
	if json {
		p.text = io.Discard
	}
	return p
}

// printer returns a printer of the format that -o gives.
func (c *ctl) printer(cmd *cobra.Command) (*printer, error) {
	switch c.output {
	case "table", "json":
		return newPrinter(cmd.OutOrStdout(), c.output == "json"), nil
	}
	return nil, usageErrorf(cmd, "-o is table or json, not %q", c.output)
}

// stopAfter calls done after the nth record; later records are not written.
// With n = 0 there is no limit.
func (p *printer) stopAfter(n int, done func()) { p.limit, p.done = n, done }

// write calls do, which writes one record, unless enough have been written.
func (p *printer) write(do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit > 0 && p.used >= p.limit {
		return nil
	}
	if p.used++; p.used == p.limit {
		p.done()
	}
	return do()
}

// column is a field of records: its head in tables and its key in JSON. If one
// of them is empty, the field is left out there.
type column struct{ head, key string }

func both(name string) column    { return column{name, name} }
func inTable(head string) column { return column{head, ""} }
func inJSON(key string) column   { return column{"", key} }

// records are printed one below the other, with a field for each column. A nil
// field is left out of JSON, and empty in tables.
type records struct {
	p       *printer
	title   string // a line above the table; the table is indented under it
	columns []column
	lines   bool // each record is written at once as a line; there are no heads
	rows    [][]string
}

// table starts records that are printed as a table, with a line above it unless
// title is empty.
func (p *printer) table(title string, columns ...column) *records {
	return &records{p: p, title: title, columns: columns}
}

// stream starts records that are printed as one line each, as soon as they come.
func (p *printer) stream(columns ...column) *records {
	return &records{p: p, columns: columns, lines: true}
}

// add prints a record as JSON or as a line, or adds it to the table.
func (r *records) add(fields ...any) error {
	if len(fields) != len(r.columns) {
		panic(fmt.Sprintf("BUG: %d fields for %d columns", len(fields), len(r.columns)))
	}
	object := make(map[string]any)
	var cells []string
	for i, c := range r.columns {
		if c.key != "" && fields[i] != nil {
			object[c.key] = fields[i]
			if p, ok := fields[i].(pairs); ok {
				object[c.key] = p.object()
			}
		}
		if c.head != "" {
			cells = append(cells, cellOf(fields[i]))
		}
	}
	switch {
	case r.p.json && len(object) > 0:
		return r.p.write(func() error {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(object); err != nil {
				return err
			}
			_, err := io.WriteString(r.p.w, plainJSON(b.String()))
			return err
		})
	case r.p.json || len(cells) == 0:
	case r.lines:
		return r.p.write(func() error {
			_, err := fmt.Fprintln(r.p.w, strings.TrimRight(strings.Join(cells, " "), " "))
			return err
		})
	default:
		r.rows = append(r.rows, cells)
	}
	return nil
}

// pairs are names and values in an order of their own.
type pairs [][2]string

func (p pairs) String() string {
	var words []string
	for _, x := range p {
		words = append(words, x[0]+"="+x[1])
	}
	return strings.Join(words, " ")
}

// object returns the values by name, for JSON.
func (p pairs) object() map[string]string {
	object := make(map[string]string)
	for _, x := range p {
		object[x[0]] = x[1]
	}
	return object
}

// sortedPairs returns the entries of a map in the order of their names.
func sortedPairs(m map[string]string) pairs {
	list := pairs{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, [2]string{k, m[k]})
	}
	return list
}

// cellOf returns the text of a field in tables and lines, which may come from a switch.
func cellOf(field any) string { return diag.Printable(textOf(field)) }

func textOf(field any) string {
	switch v := field.(type) {
	case nil:
		return ""
	case string:
		return v
	case []string:
		return strings.Join(v, " ")
	}
	return fmt.Sprint(field)
}

// end prints the table, and the notes below it. Columns are as wide as their
// widest cell, and numbers are aligned to the right. A table that has a title and
// no rows has no heads either.
func (r *records) end(notes ...string) {
	indent := ""
	if r.title != "" {
		fmt.Fprintln(r.p.text, diag.Printable(r.title))
		indent = "  "
	}
	if !r.p.json && (r.title == "" || len(r.rows) > 0) {
		var heads []string
		for _, c := range r.columns {
			if c.head != "" {
				heads = append(heads, c.head)
			}
		}
		printGrid(r.p.text, indent, heads, r.rows)
	}
	for _, n := range notes {
		if n != "" {
			fmt.Fprintln(r.p.text, indent+diag.PrintableLines(n))
		}
	}
}

func printGrid(w io.Writer, indent string, heads []string, rows [][]string) {
	width := make([]int, len(heads))
	right := make([]bool, len(heads))
	for i := range heads {
		right[i] = len(rows) > 0
	}
	all := append([][]string{heads}, rows...)
	for n, row := range all {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
			if n > 0 && cell != "" && strings.Trim(cell, "0123456789.") != "" {
				right[i] = false
			}
		}
	}
	for _, row := range all {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if right[i] {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
			b.WriteString("  ")
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// plainJSON escapes the control characters that JSON leaves as they are: delete and
// those from U+0080 to U+009F, which some terminals obey.
func plainJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= 0x7f && r <= 0x9f {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
