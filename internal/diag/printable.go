// SPDX-License-Identifier: Apache-2.0

package diag

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable returns a text of a peer for printing on a terminal: what is not printable is
// escaped as in a Go string, so that no text moves the cursor, changes the terminal, hides
// other text or begins a line.
func Printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		if r != utf8.RuneError && strconv.IsPrint(r) {
			b.WriteString(rest[:n])
		} else {
			quoted := strconv.Quote(rest[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		rest = rest[n:]
	}
	return b.String()
}

// PrintableLines is Printable for a text of several lines, which may have tabs.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		parts := strings.Split(l, "\t")
		for j := range parts {
			parts[j] = Printable(parts[j])
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}
