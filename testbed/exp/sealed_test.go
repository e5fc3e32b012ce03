// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/testbed/result"
)

// aRecord returns a record with numbers in all parts.
func aRecord(key string) *Record {
	rng := rand.New(rand.NewPCG(1, 2))
	run := &result.Run{Profile: "drill", Seed: 3, Metrics: map[string]float64{}}
	for i := range 40 {
		run.Metrics[fmt.Sprintf("metric_%d", i)] = rng.Float64()
	}
	for range 300 {
		run.Flows = append(run.Flows, result.Flow{Bytes: rng.Int64N(1 << 40), FCTNS: rng.Int64N(1 << 40)})
	}
	return &Record{Key: key, Build: "b", TookS: 1.5, Run: run}
}

// A record with any bit flipped, cut, or with bytes after its end is an error that
// names the file. Before, 212 of 400 flips were accepted, 40 of them with other
// numbers, since gzip's checksum was never read.
func TestEveryFlippedBitOfTheStoreIsFound(t *testing.T) {
	st := newStore(t)
	key := strings.Repeat("ab", 32)
	if err := st.Put(aRecord(key)); err != nil {
		t.Fatal(err)
	}
	name := st.path(key)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if rec, err := st.GetAll(key); err != nil || len(rec.Run.Flows) != 300 {
		t.Fatalf("%v, %v", rec, err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	bad := make(map[string][]byte)
	flip := func(bit int) {
		b := bytes.Clone(good)
		b[bit/8] ^= 1 << (bit % 8)
		bad[fmt.Sprintf("bit %d", bit)] = b
	}
	for bit := range 8 * 24 { // the header, and then anywhere
		flip(bit)
	}
	for bit := 8 * (len(good) - 110); bit < 8*len(good); bit++ { // both trailers
		flip(bit)
	}
	for range 400 {
		flip(rng.IntN(8 * len(good)))
	}
	for _, n := range []int{0, 1, 10, len(good) / 2, len(good) - 97, len(good) - 96, len(good) - 8, len(good) - 1} {
		bad[fmt.Sprintf("the first %d bytes", n)] = good[:n]
	}
	bad["a byte more"] = append(bytes.Clone(good), 0)
	bad["twice"] = append(bytes.Clone(good), good...)
	other, err := aRecord(strings.Repeat("ac", 32)).Encode()
	if err != nil {
		t.Fatal(err)
	}
	bad["of another key"] = other
	for what, b := range bad {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, get := range []func(string) (*Record, error){st.Get, st.GetAll} {
			if rec, err := get(key); err == nil || rec != nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "remove the file") {
				t.Errorf("%s: %v, %v", what, rec != nil, err)
			}
		}
	}
}

// A bit of a mark that flips gives no other mark: a failed run had another error, or
// another process.
func TestFlippedBitsOfMarks(t *testing.T) {
	st := newStore(t)
	key := strings.Repeat("ab", 32)
	st.Fail(key, "drill, seed 1", errors.New("the headroom is 12 KB"))
	name := st.mark("failed", key)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := readMark(name)
	if want == nil || st.Failed(key) != "the headroom is 12 KB" {
		t.Fatalf("%v", want)
	}
	lost := 0
	for bit := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(name, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		if m := readMark(name); m == nil {
			lost++
		} else if !reflect.DeepEqual(m, want) {
			t.Errorf("bit %d flips, and the mark is %+v", bit, m)
		}
	}
	if lost < 6*len(good) {
		t.Errorf("%d of %d flips are noticed", lost, 8*len(good))
	}
}

// A whole file of a store in the place of another names no other failure, process or
// commit; nor does one with a flipped bit.
func TestFilesOfAStoreInTheWrongPlace(t *testing.T) {
	st := newStore(t)
	a, b := strings.Repeat("ab", 32), strings.Repeat("ac", 32)
	lease, ok, err := st.Lease(a, "drill, seed 1", false)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer lease.Release()
	if err := st.noteBuild(); err != nil {
		t.Fatal(err)
	}
	own, other := st.buildFile(ThisBuild().ID), st.buildFile("0123456789abcdef")
	good := result.Seal(fmt.Appendf(nil, `{"build":%q,"commit":"cafe0123"}`, filepath.Base(own)))
	if err := os.WriteFile(own, good, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.Put(aRecord(b)), st.Put(aRecord(a))); err != nil { // which ends a's failure
		t.Fatal(err)
	}
	st.Fail(a, "drill, seed 1", errors.New("the headroom is 12 KB"))
	for from, to := range map[string]string{st.mark("failed", a): st.mark("failed", b), st.mark("running", a): st.mark("running", b), own: other, st.path(a): st.path(b)} {
		if err := os.Link(from, to+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(to+".new", to); err != nil {
			t.Fatal(err)
		}
	}
	if rec, err := st.GetAll(b); err == nil || rec != nil || !strings.Contains(err.Error(), st.path(b)) {
		t.Errorf("a run: %v, %v", rec, err)
	}
	if text := st.Failed(b); text != "" {
		t.Errorf("a failure: %s", text)
	}
	if m, _ := st.running(b); m != nil {
		t.Errorf("a process: %+v", m)
	}
	builds, err := st.Builds()
	for _, x := range builds {
		if want := map[string]string{filepath.Base(own): "cafe0123"}[x.ID]; x.Commit != want {
			t.Errorf("build %s is of commit %q, want %q", x.ID, x.Commit, want)
		}
	}
	if err != nil || len(builds) != 2 {
		t.Errorf("%v, %v", builds, err)
	}
	for bit := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		if c := commitIn(bad, filepath.Base(own)); c != "" && c != "cafe0123" {
			t.Errorf("bit %d flips, and the commit is %q", bit, c)
		}
	}
	if c := commitIn([]byte("cafe0123\n"), "x"); c != "cafe0123" {
		t.Errorf("of an earlier version: %q", c)
	}
	if c := commitIn([]byte("\x1b]0;t\x07\n"), "x"); c != "" {
		t.Errorf("no commit: %q", c)
	}
}

// A record is text that gzip prints, and needs no tool of ours.
func TestRecordIsGzipOfLines(t *testing.T) {
	data, err := aRecord("k").Encode()
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if lines := strings.Split(string(text), "\n"); err != nil || len(lines) != 4 || !strings.HasPrefix(lines[2], `{"sha256":"`) {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// A record of a few bytes that stands for a large run is refused.
func TestRecordsDoNotExplode(t *testing.T) {
	for what, rest := range map[string]string{
		"text":   strings.Repeat(" ", maxRecordText+1),
		"values": `{"flows":[` + strings.Repeat(`{},`, 20<<20) + `{}]}`,
	} {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(z, `{"key":"k","run":{}}`+"\n")
		io.WriteString(z, rest+"\n")
		z.Close()
		data := append(b.Bytes(), seal("k", b.Bytes())...)
		if _, err := DecodeRecord("k", data); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s of %d bytes: %v", what, len(data), err)
		}
	}
}

// What kill -9 leaves in a store is removed when it is opened next, once it is old:
// a young file may have a writer. Other files stay.
func TestLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenStore(dir); err != nil {
		t.Fatal(err)
	}
	key := strings.Repeat("ab", 32)
	old := time.Now().Add(-2 * leftover)
	put := func(name string, at time.Time) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
		return name
	}
	gone := []string{put("runs/ab/."+key+".json.gz-0123abcd", old), put("running/."+key+".json-0123abcd", old), put("failed/."+key+".json-0123abcd", old), put(".probe-1-0123abcd", old)}
	stay := []string{put("runs/ab/."+key+".json.gz-89abcdef", time.Now()), put("runs/ab/"+key+".json.gz", old), put("runs/ab/.mine", old), put("mine/.x-0123abcd", old), put("runs/ab/.x-0123ABCD", old)}
	if _, err := OpenStore(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range gone {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	for _, name := range stay {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}
