// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON returns a value as JSON that can be read and compared by line: each field and each
// element of a field has its own line, and what is in these is on it.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return lines(b.Bytes()), nil
}

// linesDeep is the depth down to which a value has its own line.
const linesDeep = 2

func lines(compact []byte) []byte {
	out := make([]byte, 0, len(compact)+len(compact)/8)
	depth, quoted := 0, false
	newline := func(at int) {
		if at <= linesDeep {
			out = append(append(out, '\n'), strings.Repeat(" ", at)...)
		}
	}
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		switch {
		case quoted && c == '\\':
			out = append(out, c)
			i++
			c = compact[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			out = append(out, c)
			if compact[i+1] != '}' && compact[i+1] != ']' {
				newline(depth)
			}
			continue
		case c == '}' || c == ']':
			if depth--; compact[i-1] != '{' && compact[i-1] != '[' {
				if depth < linesDeep {
					newline(depth)
				}
			}
		case c == ',':
			out = append(out, c)
			newline(depth)
			continue
		case c == ':' && depth < linesDeep:
			out = append(out, c, ' ')
			continue
		}
		out = append(out, c)
	}
	return out
}
