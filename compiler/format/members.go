// SPDX-License-Identifier: Apache-2.0

package format

import "strings"

// members are the lines of a header's or struct's members.
type members struct {
	first int // first line of the current member
	rows  []int
}

func (m *members) begin(l *layouter) {
	if m != nil {
		m.first = len(l.lines)
	}
}

// end records a member that is on one line and has only a type, a name and
// annotations without values.
func (m *members) end(l *layouter) {
	text := l.cur.String()
	simple := !strings.ContainsAny(text, "\"/{=") && !(strings.Contains(text, "@") && strings.ContainsAny(text, "(["))
	if m != nil && m.first == len(l.lines) && simple {
		m.rows = append(m.rows, len(l.lines))
	}
}

// align aligns the names and trailing comments in columns.
func (m *members) align(l *layouter) {
	if m == nil {
		return
	}
	type row struct{ typ, name, rest string }
	rows := make([]row, len(m.rows))
	typeWidth, nameWidth := 0, 0
	margin := ""
	for i, k := range m.rows {
		text := strings.TrimLeft(l.lines[k], " ")
		margin = l.lines[k][:len(l.lines[k])-len(text)]
		end := strings.IndexByte(text, ';')
		name := strings.LastIndexByte(text[:end], ' ')
		if name < 0 {
			continue
		}
		r := row{strings.TrimRight(text[:name], " "), text[name+1 : end+1], strings.TrimLeft(text[end+1:], " ")}
		rows[i] = r
		typeWidth, nameWidth = max(typeWidth, len(r.typ)), max(nameWidth, len(r.name))
	}
	for i, k := range m.rows {
		if r := rows[i]; r.typ != "" {
			text := margin + pad(r.typ, typeWidth) + " " + pad(r.name, nameWidth) + " " + r.rest
			l.lines[k] = strings.TrimRight(text, " ")
		}
	}
}

func pad(s string, width int) string { return s + strings.Repeat(" ", width-len(s)) }
