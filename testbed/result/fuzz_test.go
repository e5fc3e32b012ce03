// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"testing"
)

// FuzzReaders checks that any input is an error or results, and that results can
// be written and read again.
func FuzzReaders(f *testing.F) {
	f.Add([]byte(`[]`))
	f.Add([]byte(`[{"scenario":"x","profile":"drill","seed":1,"summary":{}}]`))
	f.Add([]byte(`{"experiment":"x","claims":[]}`))
	f.Add([]byte(`[{"flows":[{"size":1e300}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if o, err := ReadOutcome(bytes.NewReader(text)); err == nil && o == nil {
			t.Error("neither an outcome nor an error")
		}
		runs, err := ReadJSON(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteJSON(&b, runs); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if _, err := ReadJSON(bytes.NewReader(b.Bytes())); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if err := Table(&b, runs); err != nil {
			t.Logf("no table: %v", err)
		}
	})
}
