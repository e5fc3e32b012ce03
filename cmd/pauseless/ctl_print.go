// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// grid is a table of text. Columns are as wide as their widest cell; numbers
// stand to the right.
type grid struct {
	head []string
	rows [][]string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) print(w io.Writer, indent string) {
	width := make([]int, len(g.head))
	right := make([]bool, len(g.head))
	for i := range g.head {
		right[i] = len(g.rows) > 0
	}
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range g.rows {
		for i, cell := range row {
			if cell != "" && strings.Trim(cell, "0123456789.") != "" {
				right[i] = false
			}
		}
	}
	for _, row := range append([][]string{g.head}, g.rows...) {
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

// printJSON writes v as one line.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
