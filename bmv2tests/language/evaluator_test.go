// SPDX-License-Identifier: Apache-2.0

package language

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/bmv2tests/semantics/evaluator"
)

// The evaluator judges random programs. Here it is judged by the expected packets
// of these tests. notEvaluated has the constructs that it does not know, with a
// part of what it says.
var notEvaluated = map[string]string{
	"division at run time":                   "a division",
	"sizes of headers":                       "minSizeInBits",
	"strings and static assertions":          "static_assert",
	"overloads":                              "has no argument",
	"controls as parameters of constructors": "is called",
	"entries of the control plane":           "",
	"counters":                               "c is not declared",
	"meters":                                 "m is not declared",
	"hashes":                                 "hash",
	"random in a range":                      "random",
	"truncate":                               "truncate",
	"resubmit":                               "resubmit",
}

func TestOnTheEvaluator(t *testing.T) {
	for _, list := range [][]construct{values, statements, calls, parsers, tables, externs} {
		for _, c := range list {
			t.Run(c.name, func(t *testing.T) {
				p, err := evaluator.Parse("t.p4", c.program())
				if err != nil {
					t.Fatal(err)
				}
				why, not := notEvaluated[c.name]
				for _, line := range c.packets {
					in, out, ok := strings.Cut(line, " > ")
					if !ok {
						if !not {
							t.Fatalf("a command: %s", line)
						}
						return
					}
					data, err := hex.DecodeString(strings.ReplaceAll(in, " ", ""))
					if err != nil {
						t.Fatal(err)
					}
					sent, err := p.Run(1, data)
					if not {
						if err != nil && strings.Contains(err.Error(), why) {
							return
						}
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", in, err)
						continue
					}
					if got := text(sent); !matches(got, out) {
						t.Errorf("%s: %s, want %s", in, got, out)
					}
				}
				if not {
					t.Errorf("it is evaluated; notEvaluated says %q", why)
				}
			})
		}
	}
}

// text returns the packet of port 2, with * for digits that are not known.
func text(sent []evaluator.Packet) string {
	if len(sent) == 0 {
		return "drop"
	}
	var b strings.Builder
	for i, x := range sent[0].Data {
		digits := []byte(hex.EncodeToString([]byte{x}))
		for j, mask := range []byte{0xf0, 0x0f} {
			if sent[0].Known[i]&mask != mask {
				digits[j] = '*'
			}
		}
		b.Write(digits)
	}
	return b.String()
}

func matches(got, want string) bool {
	if want == "drop" {
		return got == want
	}
	want = strings.ToLower(strings.ReplaceAll(want, " ", ""))
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] != '*' && want[i] != '*' && got[i] != want[i] {
			return false
		}
	}
	return true
}
