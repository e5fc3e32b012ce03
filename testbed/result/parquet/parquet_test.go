// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	reference "github.com/parquet-go/parquet-go"
)

var columns = []Column{{Name: "arm", Type: Text}, {Name: "bytes", Type: Int, Unit: "bytes"}, {Name: "slowdown", Type: Double}, {Name: "stalled", Type: Bool}}

type row struct {
	Arm      string  `parquet:"arm"`
	Bytes    int64   `parquet:"bytes"`
	Slowdown float64 `parquet:"slowdown"`
	Stalled  bool    `parquet:"stalled"`
}

func table(t *testing.T, n int) ([]byte, []row) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, columns, [2]string{"experiment", "e"})
	var rows []row
	for i := range n {
		r := row{strings.Repeat("é", i%5), int64(i) - 3, float64(i) / 7, i%3 == 0}
		rows = append(rows, r)
		if err := w.Write(r.Arm, r.Bytes, r.Slowdown, r.Stalled); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), rows
}

// parquet-go reads the files as they were written, with several row groups too.
func TestParquetGoReadsIt(t *testing.T) {
	for _, n := range []int{0, 1, 9, groupRows + 11} {
		data, want := table(t, n)
		f, err := reference.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		if unit, ok := f.Lookup("unit.bytes"); !ok || unit != "bytes" || f.NumRows() != int64(n) {
			t.Errorf("%d rows: unit %q, %d rows", n, unit, f.NumRows())
		}
		r := reference.NewGenericReader[row](bytes.NewReader(data))
		got := make([]row, n)
		for k := 0; k < n; {
			m, err := r.Read(got[k:])
			if k += m; err != nil && err != io.EOF || m == 0 && k < n {
				t.Fatalf("%d rows: read %d: %v", n, k, err)
			}
		}
		if n > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%d rows are not read as written", n)
		}
	}
}

// The tools that docs/experiments.md names read the files, if they are installed.
func TestToolsReadIt(t *testing.T) {
	data, rows := table(t, 1000)
	name := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, r := range rows {
		sum += r.Bytes
	}
	for _, tool := range [][]string{
		{"duckdb", "-json", "-c", fmt.Sprintf("select cast(sum(bytes) as bigint) as s from '%s'", name)},
		{"python3", "-c", fmt.Sprintf("import pandas, json; print(json.dumps([{'s': int(pandas.read_parquet(%q).bytes.sum())}]))", name)},
	} {
		if _, err := exec.LookPath(tool[0]); err != nil {
			t.Logf("%s is not installed", tool[0])
			continue
		}
		if tool[0] == "python3" && exec.Command("python3", "-c", "import pandas, pyarrow").Run() != nil {
			t.Log("pandas with pyarrow is not installed")
			continue
		}
		out, err := exec.Command(tool[0], tool[1:]...).CombinedOutput()
		var got []struct{ S int64 }
		if err != nil || json.Unmarshal(out, &got) != nil || len(got) != 1 || got[0].S != sum {
			t.Errorf("%s: error %v, printed %s; want a sum of %d", tool[0], err, out, sum)
		}
	}
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestErrorsOfTheUnderlyingWriter(t *testing.T) {
	for _, room := range []int{0, 10, 200} {
		w := NewWriter(&full{room}, columns)
		w.Write("a", int64(1), 2.0, true)
		if w.Close() == nil {
			t.Errorf("room for %d bytes: no error", room)
		}
	}
}
