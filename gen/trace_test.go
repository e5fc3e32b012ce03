// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"regexp"
	"strings"
	"testing"
)

var (
	comments  = regexp.MustCompile(`//[^\n]*`)
	words     = regexp.MustCompile(`(?:meta\.)?\w+`)
	writes    = regexp.MustCompile(`(?:read|random|hash)\(meta\.\w+|meta\.\w+ = `)
	constants = regexp.MustCompile(`(?m)^(?:const|typedef) [\w<>]+ (\w+)`)
	fields    = regexp.MustCompile(`(?m)^    [\w<>]+ +(\w+);`)
	locals    = regexp.MustCompile(`(?m)^ +(?:bit<\d+>|bool|\w+_t|action|table) (\w+)`)
)

// A program uses all that it declares, and reads all metadata that it writes.
// Registers that are only written are for the controller.
func TestProgramsUseAllDeclarations(t *testing.T) {
	for _, name := range Names() {
		code := comments.ReplaceAllString(string(mustGenerate(t, name, "v1model").P4), "")
		uses, written := make(map[string]int), make(map[string]int)
		for _, w := range words.FindAllString(code, -1) {
			uses[w]++
		}
		for _, w := range writes.FindAllString(code, -1) {
			written[words.FindString(w[strings.Index(w, "meta."):])]++
		}
		declared := constants.FindAllStringSubmatch(code, -1)
		declared = append(declared, locals.FindAllStringSubmatch(code[strings.Index(code, "\ncontrol "):], -1)...)
		for _, m := range declared {
			if uses[m[1]] < 2 {
				t.Errorf("%s: %s is declared and not used", name, strings.TrimSpace(m[0]))
			}
		}
		_, metadata, _ := strings.Cut(code, "struct metadata_t {")
		metadata, _, _ = strings.Cut(metadata, "\n}")
		for _, m := range fields.FindAllStringSubmatch(metadata, -1) {
			if field := "meta." + m[1]; uses[field] == written[field] {
				t.Errorf("%s: %s is written and not read", name, field)
			}
		}
	}
}
