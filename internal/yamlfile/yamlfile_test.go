// SPDX-License-Identifier: Apache-2.0

package yamlfile

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/vtime"
)

type config struct {
	Name  string            `yaml:"name"`
	Rate  vtime.Rate        `yaml:"rate"`
	Hosts int               `yaml:"hosts"`
	Load  float64           `yaml:"load"`
	On    bool              `yaml:"on"`
	Sub   *sub              `yaml:"sub"`
	List  []sub             `yaml:"list"`
	Notes map[string]string `yaml:"notes"`
	Seeds []uint64          `yaml:"seeds"`
}

type sub struct {
	Delay vtime.Time `yaml:"delay"`
}

func TestReadKeepsDefaultsOfOmittedKeys(t *testing.T) {
	c := config{Hosts: 7, Load: 0.5}
	f, err := Parse("c.yaml", []byte(`
name: demo
rate: 40Gbps
sub: {delay: 2us}
list: [{delay: 1us}, {delay: 3ns}]
notes: {a: b}
seeds: [1, 0x10, 1_000]
on: true
`), &c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	want := config{"demo", 40 * vtime.Gbps, 7, 0.5, true, &sub{2 * vtime.Microsecond},
		[]sub{{vtime.Microsecond}, {3 * vtime.Nanosecond}}, map[string]string{"a": "b"}, []uint64{1, 16, 1000}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

func TestMistakesAreReportedAtTheirPlace(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"hots: 3", `c.yaml:1:1: unknown key "hots" (did you mean "hosts"?) [yaml-key]`},
		{"sub:\n  x: 3", `c.yaml:2:3: sub: unknown key "x"; known here: delay [yaml-key]`},
		{"rate: 40", `c.yaml:1:7: rate: rate "40": write a number and one of Gbps, Mbps, Kbps, bps, as in "40Gbps" [yaml-value]`},
		{"hosts: many\nload: lots", "c.yaml:1:8: hosts: expected a whole number, not \"many\" [yaml-value]\nc.yaml:2:7: load: expected a number, not \"lots\" [yaml-value]"},
		{"list: 3", `c.yaml:1:7: list: expected a list, not "3" [yaml-value]`},
		{"name: a\nname: b", `c.yaml:2:1: key "name" is given twice, first in line 1 [yaml-key]`},
		{"list:\n- {delay: 3}", `c.yaml:2:11: list.0.delay: time "3": write a number and one of s, ms, us, ns, ps, as in "2us" [yaml-value]`},
		{"name: [", `c.yaml:1: a value is missing, or a bracket or quotation mark is not closed, in this line or the next [yaml-syntax]`},
		{"name: \"a\nhosts: 1", `c.yaml:2: the file ends within quotation marks or brackets [yaml-syntax]`},
		{"name: a: b", `c.yaml:1: a second colon: put text that contains a colon in quotes, or correct the indentation [yaml-syntax]`},
		{"", `c.yaml:1: file is empty [yaml-syntax]`},
		{"name: a\n---\nname: b", `c.yaml:1: more than one document in the file [yaml-syntax]`},
		{"sub: &s\n  delay: *s", `c.yaml:1: `},
		{"name: a\nlist: [*x]", `c.yaml:2: unknown anchor 'x' referenced [yaml-syntax]`},
		{"name: a\n\tlist: []", `c.yaml:2: the line is indented with a tab; YAML is indented with spaces [yaml-syntax]`},
		{"list: []\n\tname: a", `c.yaml:2: the line is indented with a tab; YAML is indented with spaces [yaml-syntax]`},
		{"name: a\nlist: [\x01]", `c.yaml:2: byte 0x01 is a control character, which may not be in the file [yaml-syntax]`},
		{"name: a\nlist: [\xff]", `c.yaml:2: byte 0xff is not UTF-8; save the file as UTF-8 [yaml-syntax]`},
		{"list:\n- {delay: 3us}\n  name: a", `c.yaml:2: did not find expected key; look at the indentation here and in the next line [yaml-syntax]`},
		{"- 1", `c.yaml:1:1: expected keys and values, not a list [yaml-value]`},
	} {
		f, err := Parse("c.yaml", []byte(c.in), new(config))
		if err == nil {
			err = f.Err()
		}
		if err == nil {
			t.Errorf("%q: no error", c.in)
		} else if got := err.Error(); got != c.want && c.want != "c.yaml:1: " {
			t.Errorf("%q: got\n%s\nwant\n%s", c.in, got, c.want)
		}
	}
}

// Aliases of aliases can stand for more values than a machine has memory for.
func TestAliasesHaveALimit(t *testing.T) {
	list := func(item string) string { return "[" + strings.TrimSuffix(strings.Repeat(item+", ", 10), ", ") + "]" }
	text := "notes:\n  a: &a " + list("x") + "\n"
	for c := 'b'; c <= 'g'; c++ {
		text += fmt.Sprintf("  %c: &%c %s\n", c, c, list("*"+string(c-1)))
	}
	for _, c := range []struct{ name, in, want string }{
		{"many", text, "c.yaml:7: aliases repeat more than 1000000 values; write fewer of them [yaml-syntax]"},
		{"endless", "notes:\n  a: &a [*a]", "c.yaml:2: aliases repeat more than 1000000 values; write fewer of them [yaml-syntax]"},
	} {
		if _, err := Parse("c.yaml", []byte(c.in), nil); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := Parse("c.yaml", []byte("a: &a [1, 2]\nb: [*a, *a]"), nil); err != nil {
		t.Error(err)
	}
}

func TestErrorfBlamesTheNearestPartOfThePath(t *testing.T) {
	f, err := Parse("c.yaml", []byte("list:\n- {delay: 1us}\n-  {}\n"), new(config))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"list.0.delay": "c.yaml:2:11", "list.1.delay": "c.yaml:3:4", "rate": "c.yaml:1:1"} {
		if got := f.Pos(path).String(); got != want {
			t.Errorf("Pos(%q) = %s, want %s", path, got, want)
		}
	}
}

func TestAValueThatCouldNotBeDecodedHasOneError(t *testing.T) {
	f, err := Parse("c.yaml", []byte("sub: {delay: soon}\nname: a"), new(config))
	if err != nil {
		t.Fatal(err)
	}
	f.Errorf("sub.delay", "delay is 0")
	f.Errorf("name", "name is too short")
	if n := len(f.list); n != 2 {
		t.Errorf("%d errors, want one for the delay and one for the name: %v", n, f.Err())
	}
}

// A number that its field's tag does not allow is reported at its place; one
// that the file leaves out is not, but OutOfLimits names it.
func TestNumbersHaveLimits(t *testing.T) {
	type limited struct {
		Share float64 `yaml:"share" limits:"0..1"`
		Count *int    `yaml:"count" limits:"1.."`
		Least int8    `yaml:"least" limits:"..3"`
		Ports int     `yaml:"ports" limits:"1..64"`
	}
	v := new(limited)
	f, err := Parse("c.yaml", []byte("share: 1.5\ncount: 0\nleast: 4"), v)
	if err != nil {
		t.Fatal(err)
	}
	f.Errorf("share", "share is invalid") // reported before
	want := "c.yaml:1:8: share is 1.5, must be from 0 to 1 [yaml-value]\nc.yaml:2:8: count is 0, must be at least 1 [yaml-value]\nc.yaml:3:8: least is 4, must be at most 3 [yaml-value]"
	if err := f.Err(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	v.Share, v.Least = 1, 3
	if bad := OutOfLimits(v); len(bad) != 2 || bad["ports"] != "ports is 0, must be from 1 to 64" {
		t.Errorf("out of limits: %v", bad)
	}
}

func TestHas(t *testing.T) {
	f, err := Parse("c.yaml", []byte("sub: {delay: 1us}\nname:\n"), new(config))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"sub": true, "sub.delay": true, "sub.x": false, "rate": false, "name": true, "": true} {
		if got := f.Has(path); got != want {
			t.Errorf("Has(%q) = %v, want %v", path, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"name: demo", "list: [{delay: 1us}]", "a: &a [*a]", "sub: &s {delay: *s}", "? [x]\n: y"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Parse("c.yaml", data, new(config))
		var list diag.List
		if err != nil && !errors.As(err, &list) {
			t.Errorf("error %v is not a diag.List", err)
		}
	})
}
