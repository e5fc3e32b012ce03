// SPDX-License-Identifier: Apache-2.0

package diag

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"Forward":             "Forward",
		"größe µs → 5":        "größe µs → 5",
		"\x1b]0;title\a":      `\x1b]0;title\a`,
		"a\nb  3  4":          `a\nb  3  4`,
		"\u009b31mred":        `\u009b31mred`,
		"\u202eright to left": `\u202eright to left`,
		"bad \xff byte":       `bad \xff byte`,
		"":                    "",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q is printed as %q, want %q", text, got, want)
		}
	}
	if got, want := PrintableLines("a\tb\x1b[2J\nc\r"), "a\tb\\x1b[2J\nc\\r"; got != want {
		t.Errorf("lines are printed as %q, want %q", got, want)
	}
}
