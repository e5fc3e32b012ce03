// SPDX-License-Identifier: Apache-2.0

package diag

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestListSortsAndDropsRepeats(t *testing.T) {
	a, b := "a.p4", "b.p4"
	var l List
	l.Errorf(MakePos(&b, 1, 1), "x", "second file")
	l.Warnf(MakePos(&a, 9, 2), "unused", "late")
	l.Errorf(MakePos(&a, 2, 5), "undeclared", "no %q", "foo")
	l.Errorf(MakePos(&a, 2, 5), "undeclared", "no %q", "foo")
	want := `a.p4:2:5: no "foo" [undeclared]
a.p4:9:2: warning: late [unused]
b.p4:1:1: second file [x]`
	if got := l.Err().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A list is asked for its error more than once, also with repeats.
func TestErrLeavesTheListAsItIs(t *testing.T) {
	a := "a"
	var l List
	for range 3 {
		l.Errorf(MakePos(&a, 2, 1), "x", "twice")
		l.Errorf(MakePos(&a, 1, 1), "x", "first")
	}
	for range 2 {
		if got, want := l.Err().Error(), "a:1:1: first [x]\na:2:1: twice [x]"; got != want || len(l) != 6 {
			t.Errorf("%d diagnostics, error %q, want 6 and %q", len(l), got, want)
		}
	}
}

func TestWarningsAloneAreNoError(t *testing.T) {
	var l List
	l.Warnf(FilePos("a.p4"), "unused", "x")
	if err := l.Err(); err != nil {
		t.Errorf("Err() = %v", err)
	}
}

func TestPrintPointsAtTheColumn(t *testing.T) {
	file := "p.p4"
	var l List
	l.Errorf(MakePos(&file, 2, 6), "undeclared", "oops")
	var b strings.Builder
	Print(&b, l, func(string) []byte { return []byte("one\n\t\tµ x = 1;\nthree") })
	want := "p.p4:2:6: oops [undeclared]\n    \t\tµ x = 1;\n    \t\t  ^\n"
	if b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
}

// A file without line breaks, or one that is no text, does not fill the terminal or
// control it.
func TestPrintShowsPartOfALongLine(t *testing.T) {
	file := "p.json"
	var l List
	l.Errorf(MakePos(&file, 1, 3001), "x", "bad \x1b[2J key")
	l.Errorf(MakePos(&file, 2, 3), "x", "at the end")
	var b strings.Builder
	Print(&b, l, func(string) []byte {
		return []byte(strings.Repeat("µ", 1500) + "\x1bhere\xff" + strings.Repeat("-", 100_000) + "\nab\n")
	})
	want := "p.json:1:3001: bad \uFFFD[2J key [x]\n    " + strings.Repeat("µ", 40) + "\uFFFDhere\uFFFD" + strings.Repeat("-", 74) +
		"\n    " + strings.Repeat(" ", 40) + "^\np.json:2:3: at the end [x]\n    ab\n      ^\n"
	if b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"ipv4", "ethernet", "udp"}
	for in, want := range map[string]string{
		"ethrenet":  ` (did you mean "ethernet"?)`,
		"ip4":       ` (did you mean "ipv4"?)`,
		"recirc":    "",
		"udp":       "",
		"Ethernet":  ` (did you mean "ethernet"?)`,
		"something": "",
	} {
		if got := DidYouMean(in, names); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", in, got, want)
		}
	}
}

// Short names have no near candidate, so a few candidates are listed.
func TestOneOf(t *testing.T) {
	many := make([]string, 20)
	for i := range many {
		many[i] = fmt.Sprintf("host%d", i)
	}
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"h9", []string{"h1", "h2"}, "; there are: h1, h2"},
		{"ethrenet", []string{"ipv4", "ethernet"}, ` (did you mean "ethernet"?)`},
		{"h9", nil, ""},
		{"x", many, "; there are: " + strings.Join(many[:16], ", ") + " …"},
	} {
		if got := OneOf(c.name, c.candidates); got != c.want {
			t.Errorf("OneOf(%q, %v) = %q, want %q", c.name, c.candidates, got, c.want)
		}
	}
}

// A nested diagnostic has its code once, as the last word.
func TestNestedCodesAreNotRepeated(t *testing.T) {
	var inner, outer List
	inner.Errorf(FilePos("p.yaml"), "yaml-value", "a rate needs a unit")
	inner.Errorf(FilePos("p.yaml"), "yaml-key", "unknown key")
	for _, c := range []struct {
		format string
		arg    any
		want   string
	}{
		{"%v", inner.Err(), "s.yaml: p.yaml: a rate needs a unit [yaml-value]\np.yaml: unknown key [yaml-key]"},
		{"profile: %v", fmt.Errorf("q: %w", inner[:1].Err()), "s.yaml: profile: q: p.yaml: a rate needs a unit [yaml-value]"},
		{"%v, and more", inner[:1].Err(), "s.yaml: p.yaml: a rate needs a unit [yaml-value], and more [invalid]"},
		{"%v", errors.New("want one of [invalid]"), "s.yaml: want one of [invalid] [invalid]"},
	} {
		outer = nil
		outer.Errorf(FilePos("s.yaml"), "invalid", c.format, c.arg)
		if got := outer.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A message about a word of any length is short, with its beginning and its end.
func TestMessagesAreShort(t *testing.T) {
	var l List
	l.Errorf(Pos{}, "x", "expected a name, not %q: write one", strings.Repeat("µ", 1<<20))
	l.Warnf(Pos{}, "x", "expected a name, not %q: write one", strings.Repeat("µ", 1<<20))
	for _, d := range l {
		if n := len(d.Msg); n > maxMessage || !strings.HasPrefix(d.Msg, `expected a name, not "µµ`) || !strings.HasSuffix(d.Msg, `µ": write one`) || !utf8.ValidString(d.Msg) {
			t.Errorf("%d bytes: %.100s", n, d.Msg)
		}
	}
}
