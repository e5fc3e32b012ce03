// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	controlHead = regexp.MustCompile(`(?m)^control (\w+)\(([^)]*)\) \{`)
	instanceOf  = regexp.MustCompile(`(?m)^    (\w+)\(\) (\w+);$`)
)

// pruneParams removes unused parameters from controls, and the corresponding
// arguments from their applications. Templates declare all parameters, so that
// each section can use any of them.
func pruneParams(text string) string {
	pipes := strings.Index(text, "\ncontrol IngressPipe(")
	if pipes < 0 {
		return text
	}
	instances := make(map[string]string) // by control, of those that pipes apply
	for _, m := range instanceOf.FindAllStringSubmatch(text[pipes:], -1) {
		instances[m[1]] = m[2]
	}
	var out strings.Builder
	kept := make(map[string]string) // arguments by instance
	for {
		m := controlHead.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		name, params := text[m[2]:m[3]], text[m[4]:m[5]]
		out.WriteString(text[:m[4]])
		end := strings.Index(text, "} // control "+name+"\n")
		instance, applied := instances[name]
		if !applied || end < 0 {
			out.WriteString(text[m[4]:m[1]])
			text = text[m[1]:]
			continue
		}
		body := text[m[1]:end]
		used := names(body)
		var list, args []string
		for _, p := range strings.Split(params, ",") {
			p = strings.Join(strings.Fields(p), " ")
			arg := p[strings.LastIndex(p, " ")+1:]
			if used[arg] {
				list, args = append(list, p), append(args, arg)
			}
		}
		kept[instance] = strings.Join(args, ", ")
		sep := ", "
		if strings.Contains(params, "\n") && len(strings.Join(list, sep)) > lineWidth {
			sep = ",\n        "
		}
		out.WriteString(strings.Join(list, sep) + ") {" + body)
		text = text[end:]
	}
	out.WriteString(text)
	text = out.String()
	out.Reset()
	for line := range strings.Lines(text) {
		if before, _, ok := strings.Cut(line, ".apply(hdr, meta"); ok && strings.HasSuffix(line, ");\n") {
			if args, ok := kept[strings.TrimSpace(before)]; ok {
				line = before + ".apply(" + args + ");\n"
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// names returns the set of identifiers, keywords and numbers in a text.
func names(text string) map[string]bool {
	list := make(map[string]bool)
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		list[w] = true
	}
	return list
}
