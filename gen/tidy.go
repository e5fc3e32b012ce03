// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// tidy formats generated text. It removes spaces at the end of a line, and
// blank lines in a row or next to an opening or closing brace. It separates the
// declarations of a control with one blank line, joins single constants and
// types to one paragraph, and aligns the members of headers and structs in
// columns.
func tidy(text []byte) []byte {
	var out []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, " \n")
		last := ""
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		if line == "" && (last == "" || strings.HasSuffix(last, "{")) {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(line), "}") && last == "" && len(out) > 0 {
			out = out[:len(out)-1]
		}
		if closes(last) && declares(line) && indentation(last) == indentation(line) {
			out = append(out, "")
		}
		out = append(out, line)
	}
	out = wrapComments(joinParagraphs(out))
	alignMembers(out)
	alignParams(out)
	return []byte(strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n")
}

func closes(line string) bool { return strings.TrimSpace(line) == "}" }

// declares reports whether a line begins a declaration, or a comment or
// annotation before one.
func declares(line string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return strings.HasPrefix(word, "@") || slices.Contains([]string{"//", "action", "table", "apply", "state"}, word)
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// joinParagraphs removes the blank line between two paragraphs of constants, or
// of types, if one of them is a single line.
func joinParagraphs(lines []string) []string {
	kind := func(i int) string {
		if i < 0 || i >= len(lines) {
			return ""
		}
		for _, k := range []string{"const bit<16> ETHERTYPE_", "const ", "typedef "} {
			if strings.HasPrefix(lines[i], k) {
				return k
			}
		}
		return ""
	}
	var out []string
	for i, line := range lines {
		alone := kind(i-2) == "" || kind(i+2) == "" // the paragraph before, or the one after
		if line == "" && alone && kind(i-1) != "" && kind(i-1) == kind(i+1) {
			continue
		}
		out = append(out, line)
	}
	return out
}

const lineWidth = 80

// wrapComments wraps comments on lines of their own, after the first include.
func wrapComments(lines []string) []string {
	var out []string
	code := false
	for i := 0; i < len(lines); {
		code = code || strings.HasPrefix(lines[i], "#include")
		n := indentation(lines[i])
		margin := lines[i][:n] + "//"
		if !code || !strings.HasPrefix(lines[i], margin+" ") {
			out = append(out, lines[i])
			i++
			continue
		}
		line := margin
		for ; i < len(lines) && strings.HasPrefix(lines[i], margin+" "); i++ {
			for _, word := range strings.Fields(lines[i][len(margin):]) {
				if utf8.RuneCountInString(line+" "+word) > lineWidth {
					out = append(out, line)
					line = margin
				}
				line += " " + word
			}
		}
		out = append(out, line)
	}
	return out
}

var (
	aggregate = regexp.MustCompile(`^(header|struct) \w+ \{$`)
	member    = regexp.MustCompile(`^    ((?:@padding )?[\w<>]+) +(\w+;)(?: *(// .*))?$`)
)

// alignMembers aligns types, names and comments of the members of headers and
// structs in columns.
func alignMembers(lines []string) {
	for i := 0; i < len(lines); i++ {
		if !aggregate.MatchString(lines[i]) {
			continue
		}
		end := i
		for end < len(lines) && lines[end] != "}" {
			end++
		}
		typeWidth, nameWidth := 0, 0
		for _, l := range lines[i:end] {
			if m := member.FindStringSubmatch(l); m != nil {
				typeWidth, nameWidth = max(typeWidth, len(m[1])), max(nameWidth, len(m[2]))
			}
		}
		for k := i; k < end; k++ {
			if m := member.FindStringSubmatch(lines[k]); m != nil {
				l := "    " + pad(m[1], typeWidth) + " " + pad(m[2], nameWidth) + " " + m[3]
				lines[k] = strings.TrimRight(l, " ")
			}
		}
		i = end
	}
}

func pad(s string, width int) string { return s + strings.Repeat(" ", width-len(s)) }

// alignParams aligns the continuation lines of the parameters of a parser or
// control below the first parameter.
func alignParams(lines []string) {
	column := -1
	for i, l := range lines {
		switch {
		case column >= 0:
			lines[i] = strings.Repeat(" ", column) + strings.TrimLeft(l, " ")
		case strings.HasPrefix(l, "control ") || strings.HasPrefix(l, "parser "):
			column = strings.Index(l, "(") + 1
		}
		if strings.Contains(l, ")") {
			column = -1
		}
	}
}
