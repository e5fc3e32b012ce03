// SPDX-License-Identifier: Apache-2.0

package infile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// Files up to the limit are read, those beyond it are refused, and devices that
// deliver bytes for ever end at the limit.
func TestSizesAreLimited(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	for _, n := range []int{0, 1, 511, 512, 513, 4096, 4097, 5000} {
		want := bytes.Repeat([]byte{'a'}, n)
		if err := os.WriteFile(name, want, 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := ReadUpTo(name, 4096)
		if n > 4096 {
			if !errors.Is(err, ErrSize) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "4 KB") {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d, %v", n, len(got), err)
		}
		got, err = From(iotest.OneByteReader(bytes.NewReader(want)), "x", 4096)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, one by one: %d, %v", n, len(got), err)
		}
	}
	for what, read := range map[string]func(string) ([]byte, error){
		"Read": Read, "ReadLines": ReadLines,
		"KeyPair": func(name string) ([]byte, error) { _, err := KeyPair(name, name); return nil, err },
		"Limit": func(name string) ([]byte, error) {
			f, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return io.ReadAll(Limit(f, name, 1<<20))
		},
	} {
		if _, err := read("/dev/zero"); !errors.Is(err, ErrSize) || !strings.Contains(err.Error(), "/dev/zero") {
			t.Errorf("%s of a device without an end: %v", what, err)
		}
		if _, err := read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s of no file: %v", what, err)
		}
	}
}

func TestLinesAreLimited(t *testing.T) {
	line := strings.Repeat("x", Line-1) + "\n"
	got, err := io.ReadAll(Lines(strings.NewReader(line+line), "x"))
	if err != nil || len(got) != 2*Line {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := io.ReadAll(Lines(strings.NewReader(line+"xx"+line), "x")); !errors.Is(err, ErrSize) {
		t.Errorf("a longer line: %v", err)
	}
}

// Editors and spreadsheets write a byte order mark before text. No reader sees it.
func TestByteOrderMarkIsLeftOut(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t")
	for text, want := range map[string]string{"\ufeffa\n": "a\n", "\ufeff": "", "": "", "\xef\xbb": "\xef\xbb", "a\ufeff": "a\ufeff"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for what, read := range map[string]func(string) ([]byte, error){"Read": Read, "ReadLines": ReadLines} {
			if got, err := read(name); err != nil || string(got) != want {
				t.Errorf("%s of %q: %q, %v", what, text, got, err)
			}
		}
	}
	if got, err := Bytes(strings.NewReader("\ufeffa"), "x", 10); err != nil || string(got) != "\ufeffa" {
		t.Errorf("bytes that are no text: %q, %v", got, err)
	}
}

type big struct {
	Name  string           `json:"name"`
	List  []big            `json:"list"`
	Map   map[string]*big  `json:"map"`
	Five  [][5]int64       `json:"five"`
	Bytes [][]byte         `json:"bytes"`
	Any   any              `json:"any"`
	Much  [100]float64     `json:"-"`
	Raw   json.RawMessage  `json:"raw"`
	Of    map[string][]any `json:"of"`
	embedded
}

type embedded struct {
	Inner []*[512]int64 `json:"inner"`
}

// A short text that stands for large values is refused, whatever the values are.
func TestValuesAreWeighed(t *testing.T) {
	unit := func(before, unit, after string, n int) []byte {
		return []byte(before + strings.Repeat(unit+",", n-1) + unit + after)
	}
	// Each stands for more than 20 MB.
	for _, text := range [][]byte{
		unit(`{"list":[`, `{}`, `]}`, 20_000),
		unit(`{"LIST":[`, `{}`, `]}`, 20_000),
		unit(`{"\u006cist":[`, `null`, `]}`, 20_000),
		unit(`{"list":[{"list":[`, `{}`, `]}]}`, 20_000),
		unit(`{"map":{"a":{"five":[`, `[]`, `]}}}`, 300_000),
		unit(`{"bytes":[`, `""`, `]}`, 500_000),
		unit(`{"any":[`, `0`, `]}`, 700_000),
		unit(`{"of":{"a":[`, `[]`, `]}}`, 700_000),
		unit(`{"inner":[`, `[]`, `]}`, 6_000),
	} {
		var v big
		if _, err := Weighed(text, &v, 20<<20); !errors.Is(err, ErrSize) {
			t.Errorf("%.40s… (%d bytes): %v", text, len(text), err)
		}
	}
	for _, text := range []string{``, `{`, `[1,2`, `{"list":[}`, `{"list":{"a":1}}`, `{"name":"x\`, `{} {}`, `{"name":1}`, `{"a":}`} {
		var v big
		if err := JSON([]byte(text), &v); err == nil || errors.Is(err, ErrSize) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var v big
	if err := JSON([]byte(` {"name":"x","other":[{}],"list":[{"name":"y"}],"raw":{"a":[1]}} `), &v); err != nil || v.List[0].Name != "y" {
		t.Errorf("%+v, %v", v, err)
	}
	if err := JSON([]byte(`{"other":1}`), &v, DisallowUnknownFields); err == nil {
		t.Error("an unknown key was accepted")
	}
}

// The weight is at least the memory that the values hold.
func TestWeightIsAnUpperBound(t *testing.T) {
	for _, unit := range []string{`{}`, `{"five":[[1],[2],[3]]}`, `{"map":{"aa":{},"bb":null,"cc":{}}}`, `{"any":[1,{"a":"b"},[[]],"text",{}]}`,
		`{"bytes":["QUFB",""]}`, `{"of":{"x":[1,2,3]},"raw":[1,2,3]}`, `{"inner":[[1],[2]]}`} {
		text := []byte(`{"list":[` + strings.Repeat(unit+",", 3000) + unit + `]}`)
		w := weigher{text: text, left: 1 << 40, fields: make(map[reflect.Type]map[string]reflect.Type)}
		if !w.value(reflect.TypeFor[big](), 0) || w.i != len(text) {
			t.Fatalf("%s: ended at %d of %d", unit, w.i, len(text))
		}
		weight := uint64(1<<40 - w.left)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		v := new(big)
		if err := json.Unmarshal(text, v); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if held := after.HeapAlloc - before.HeapAlloc; held > weight {
			t.Errorf("%s: %d bytes are held, the weight is %d", unit, held, weight)
		}
		runtime.KeepAlive(v)
	}
}

// The weigher goes over every valid text to its end, and over no other one for ever.
func FuzzWeigher(f *testing.F) {
	for _, s := range []string{`{"list":[{"map":{"a":null}}],"any":{"x":[1,"\"",{}]},"five":[[1,2]]}`, `[]`, `"\\"`, "\t{ \"a\" : -1e9 } "} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w := weigher{text: text, left: 1 << 60, fields: make(map[reflect.Type]map[string]reflect.Type)}
		ok := w.value(reflect.TypeFor[big](), 0)
		if w.space(); json.Valid(text) && (!ok || w.i != len(text)) {
			t.Errorf("%q: ended at %d", text, w.i)
		}
		JSON(text, new(big))
	})
}

// Errors of JSON name the place and the key, in words of JSON.
func TestErrorsOfJSONHaveAPlace(t *testing.T) {
	type item struct {
		Size uint8  `json:"size"`
		Name string `json:"name"`
	}
	type listed struct{ item }
	for text, want := range map[string]string{
		"{\n \"list\": [{\"size\": 1},\n  {\"size\": \"x\"}]}": "line 3, column 14: list.size is string, must be a whole number of up to 8 bits from 0",
		`{"list": [{"size": 256}]}`:                            "line 1, column 22: list.size is number 256, must be a whole number",
		`{"list": [{"name": 256}]}`:                            "list.name is number, must be text",
		`{"list": 7}`:                                          "list is number, must be a list",
		"{\n\"list\": [}":                                      "line 2, column 10: invalid character '}'",
		`[]`:                                                   "line 1, column 1: the value is array, must be an object",
		`{"list": [`:                                           "line 1, column 10: unexpected end of the text",
	} {
		var v struct {
			List []listed `json:"list"`
		}
		if err := JSON([]byte(text), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
