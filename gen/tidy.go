// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"regexp"
	"strings"
)

// tidy formats generated text: no spaces at the end of a line, no blank lines
// in a row or next to a brace that opens or closes, and the members of
// headers and structs in columns.
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
		out = append(out, line)
	}
	alignMembers(out)
	return []byte(strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n")
}

var (
	aggregate = regexp.MustCompile(`^(header|struct) \w+ \{$`)
	member    = regexp.MustCompile(`^    ([\w<>]+) +(\w+;)(?: *(// .*))?$`)
)

// alignMembers puts types, names and comments of a header's or struct's
// members in columns.
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
