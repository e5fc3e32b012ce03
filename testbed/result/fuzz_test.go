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
	f.Add([]byte(`{"format":"pauseless-kept/2","axes":[{"name":"x"}],"metrics":["p99_fct_us"],"claims":[{"less":"p99_fct_us","with":"a","than":"b"}],"cells":[{"arm":"a","point":["1"],"seeds":2,"values":[[1,2]]},{"arm":"b","point":["1"],"seeds":[2,1],"unsteady":{"1":4},"values":[null]}]}`))
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
