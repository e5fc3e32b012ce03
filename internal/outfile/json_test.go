// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestLinesAreTheSameJSON(t *testing.T) {
	for _, text := range []string{
		`null`, `7`, `"a [b] {c}, \"d\": \\"`, `[]`, `{}`, `[1,2,3]`, `{"a":[1,2],"b":{"c":"]}"}}`,
		`[[],[1],{"x":null}]`, `{"long":"` + strings.Repeat(`{`, 300) + `","n":1}`,
	} {
		var back bytes.Buffer
		if err := json.Compact(&back, lines([]byte(text))); err != nil || back.String() != text {
			t.Errorf("error %v; %s became %s", err, text, &back)
		}
	}
	const want = "{\n \"e\": \"x\",\n \"cells\": [\n  {\"arm\":\"a\",\"v\":{\"x\":[1,2]}},\n  {\"arm\":\"b\"}\n ]\n}"
	if got := string(lines([]byte(`{"e":"x","cells":[{"arm":"a","v":{"x":[1,2]}},{"arm":"b"}]}`))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
