// SPDX-License-Identifier: Apache-2.0

package syntax

import "strings"

// AnnotString returns the string in @name("string"). Strings may be joined by
// ++. It returns false for any other body.
func AnnotString(a *Annotation) (string, bool) {
	if a.Structured {
		if len(a.Exprs) == 1 {
			if s, ok := a.Exprs[0].(*StringLit); ok {
				return s.Value, true
			}
		}
		return "", false
	}
	var b strings.Builder
	for i, t := range a.Tokens {
		want := String
		if i%2 == 1 {
			want = PlusPlus
		}
		if t.Kind != want {
			return "", false
		}
		if t.Kind == String {
			b.WriteString(t.Text)
		}
	}
	return b.String(), len(a.Tokens)%2 == 1
}
