// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// entriesText writes entries as a P4 program would.
func entriesText(list []Filled) string {
	var b strings.Builder
	for _, e := range list {
		var keys []string
		for _, k := range e.Keys {
			keys = append(keys, map[KeyKind]string{
				AnyValue: "_", OneValue: fmt.Sprint(k.A), Masked: fmt.Sprintf("%#x &&& %#x", k.A, k.B), Between: fmt.Sprintf("%d .. %d", k.A, k.B),
			}[k.Kind])
		}
		fmt.Fprintf(&b, "%d (%s) : %s%v\n", e.Priority, strings.Join(keys, ", "), e.Action, e.Args)
	}
	return b.String()
}

func TestFormulasMakeEntries(t *testing.T) {
	m := &Manifest{Program: "p", Units: Units{Nanoseconds, Cells80}, Network: link}
	for _, c := range []struct {
		fill []Fill
		want string
	}{
		{[]Fill{"(0, _) : none()", "(last, ceil(256 * path / (last + 1)) .. ceil(256 * (path + 1) / (last + 1)) - 1) : is(path, path + 1) for last in 1 .. paths - 1, path in 0 .. last"},
			"2 (0, _) : none[]\n1 (1, 0 .. 127) : is[0 1]\n1 (1, 128 .. 255) : is[1 2]\n1 (2, 0 .. 85) : is[0 1]\n1 (2, 86 .. 170) : is[1 2]\n1 (2, 171 .. 255) : is[2 3]\n"},
		{[]Fill{"(path_set(8, path, k, last + 1) &&& path_set(8, path, k + 1, last + 1)) : take(other) for last = paths - 1, path = 1, k in 0 .. last, other = (path + k) % (last + 1)"},
			"1 (0x0 &&& 0x40) : take[1]\n1 (0x40 &&& 0x60) : take[2]\n1 (0x60 &&& 0xe0) : take[0]\n"},
		// Empty ranges are omitted, also below zero.
		{[]Fill{"(n, 0 .. n - 2) : a(0 < n, 1 < n) for n in 0 .. 2"}, "1 (2, 0 .. 0) : a[1 1]\n"},
		{[]Fill{"(load_weight(rate)) : a(full) for rate in rates, full = load_bytes(rate)"}, "1 (32768) : a[131072]\n1 (3277) : a[1310720]\n"},
		{[]Fill{"(paths) : a()"}, "1 (3) : a[]\n"},
	} {
		m.Tables = []Table{{Name: "t", Fill: c.fill}}
		list, err := m.Filled(&m.Tables[0], 3, []vtime.Rate{8 * vtime.Gbps, 80 * vtime.Gbps})
		if got := entriesText(list); err != nil || got != c.want {
			t.Errorf("%s: got %v\n%s, want\n%s", c.fill, err, got, c.want)
		}
	}
}

func TestFormulasOfEntriesThatAreNone(t *testing.T) {
	m := &Manifest{Program: "p", Units: Units{Nanoseconds, Cells80}, Network: link}
	for fill, want := range map[Fill]string{
		"a()":                                "expected (KEYS) : ACTION(ARGUMENTS) for NAME in LOW .. HIGH",
		"(n) : a() for n 1 .. 2":             `"n 1 .. 2": expected NAME in LOW .. HIGH, or NAME = FORMULA`,
		"(n) : a() for n in ports":           `n takes values of "ports"; write LOW .. HIGH or rates`,
		"(n) : a() for n in 0 .. pths":       `unknown name pths (did you mean "paths"?)`,
		"(n) : a(0 - n) for n in 0 .. 3":     `"0 - n" is -1 where a whole number is wanted, for n = 1`,
		"(n / 2) : a() for n in 0 .. 3":      `"n / 2" is 0.5 where a whole number is wanted, for n = 1`,
		"(path_set(8, 1, 1, 9)) : a()":       "is not a finite number",
		"(path_set(60, 1, 1, 2)) : a()":      "is not a finite number",
		"(1 &&& m) : a()":                    "unknown name m",
		"(1 .. m) : a()":                     "unknown name m",
		"(n) : a(n) for n = 2, m = n % zero": "unknown name zero",
	} {
		m.Tables = []Table{{Name: "t", Fill: []Fill{fill}}}
		if list, err := m.Filled(&m.Tables[0], 3, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "table t of p") {
			t.Errorf("%s: got %v\n%s, want an error with %q", fill, err, entriesText(list), want)
		}
	}
}
