// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"
)

// The times in the binary are those of times.txt. The bytes of the packed file are
// not compared, since they may differ between versions of Go.
func TestTimesArePackedAsTheyAre(t *testing.T) {
	text, err := os.ReadFile("times.txt")
	if err != nil {
		t.Fatal(err)
	}
	if z, err := gzip.NewReader(bytes.NewReader(packedTimes)); err == nil {
		if got, err := io.ReadAll(z); err == nil && bytes.Equal(got, text) {
			return
		}
	}
	if os.Getenv("UPDATE_GOLDEN") != "1" {
		t.Fatal("times.txt.gz does not have times.txt: run `make golden` and commit")
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		z.Write(text)
		err = z.Close()
	}
	if err == nil {
		err = os.WriteFile("times.txt.gz", b.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}
