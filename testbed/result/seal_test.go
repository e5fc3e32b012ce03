// SPDX-License-Identifier: Apache-2.0

package result

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A bit of an outcome that flips, in either format, is an error, or the outcome is the
// same: the bit is in white space or in the checksum's own field. Before, 54 of 124
// changes of an outcome.json gave another report.
func TestFlippedBitsInOutcomes(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.6": {{10, 11}, {12, 13}}})
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}})
	for what, write := range map[string]func(*bytes.Buffer) error{
		"outcome": func(b *bytes.Buffer) error { return o.WriteJSON(b) }, "kept": func(b *bytes.Buffer) error { return o.WriteKept(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		good := b.Bytes()
		want, err := ReadOutcome(bytes.NewReader(good))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		refused := 0
		for bit := 0; bit < 8*len(good); bit += 3 {
			bad := bytes.Clone(good)
			bad[bit/8] ^= 1 << (bit % 8)
			if got, err := ReadOutcome(bytes.NewReader(bad)); err != nil {
				refused++
			} else if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: bit %d is flipped near %q, and another outcome is read", what, bit, good[max(0, bit/8-10):min(len(good), bit/8+10)])
			}
		}
		if 3*refused < 8*len(good)*8/10 {
			t.Errorf("%s: only %d of %d bits were found", what, refused, 8*len(good)/3)
		}
		// What another program has laid out anew has no seal, and is read.
		other := strings.Replace(string(good), "\n}\n", "}", 1)
		if _, err := ReadOutcome(strings.NewReader(other)); err != nil {
			t.Errorf("%s in another layout: %v", what, err)
		}
	}
}

// A damaged outcome of a folder is an error that names the file, wherever the damage
// is. Before, one whose format was changed was left out without a word.
func TestDamagedOutcomesOfFolders(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.6": {{10, 11}, {12, 13}}})
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}})
	dir := t.TempDir()
	kept := filepath.Join(dir, o.File()+".json")
	good := keptText(t, o)
	for _, text := range []string{strings.Replace(good, "pauseless", "qauseless", 1), strings.Replace(good, `"format"`, `"gormat"`, 1), good[:len(good)/2], strings.Replace(good, "with", "wish", 1)} {
		if err := os.WriteFile(kept, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := FindOutcomes(dir); err == nil || !strings.Contains(err.Error(), kept) && !strings.Contains(err.Error(), "has no outcomes") {
			t.Errorf("%.40s…: %v", text, err)
		}
	}
	if err := os.WriteFile(kept, []byte(good), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.json"), []byte(`{"mine":1}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if all, err := FindOutcomes(dir); err != nil || len(all) != 1 {
		t.Errorf("%d outcomes, %v", len(all), err)
	}
	stored := filepath.Join(dir, "x-small", "outcome.json")
	if err := os.MkdirAll(filepath.Dir(stored), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{}", "null", `{"format":"pauseless-outcom/1"}`} {
		if err := os.WriteFile(stored, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := FindOutcomes(dir); err == nil || !strings.Contains(err.Error(), stored) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A store that has a run in the fabric and one of the same experiment on real switches has
// two outcomes. In a folder of --keep two files with one outcome are an error.
func TestStoresHaveOutcomesOfSeveralTargets(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.6": {{10, 11}, {12, 13}}})
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}})
	dir, kept := t.TempDir(), keptText(t, o)
	for _, file := range []string{"x-small/outcome.json", "x-small-netns-softswitch/outcome.json", o.File() + ".json", "copy.json"} {
		file = filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(kept), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := FindOutcomes(dir); err == nil || !strings.Contains(err.Error(), "copy.json") || !strings.Contains(err.Error(), "both an outcome") {
		t.Errorf("two files with one outcome: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "copy.json")); err != nil {
		t.Fatal(err)
	}
	if all, err := FindOutcomes(dir); err != nil || len(all) != 3 {
		t.Errorf("%d outcomes, %v; want 3", len(all), err)
	}
}

// archiveOf returns an archive with one file.
func archiveOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644})
	if _, werr := io.WriteString(w, text); errors.Join(err, werr, w.Close(), z.Close()) != nil {
		t.Fatal(err, werr)
	}
	return b.Bytes()
}

// An archive that is cut anywhere is an error that names it; a file that its list has,
// and that is not there, is damage and not an outcome that it never had.
func TestCutArchives(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.6": {{10, 11}, {12, 13}}})
	o.Fill(runs, nil)
	var b bytes.Buffer
	if err := WriteArchive(&b, []*Outcome{o}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.tar.gz")
	damaged := 0
	for n := 0; n < b.Len(); n += 5 {
		if err := os.WriteFile(name, b.Bytes()[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := ReadKept(name, o.File())
		if err == nil && got.Experiment == o.Experiment {
			continue // the end is not needed
		}
		if damaged++; err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	if damaged == 0 {
		t.Error("no cut was an error")
	}
	list := fmt.Sprintf("%s  gone.json\n", hash(nil))
	if err := os.WriteFile(name, archiveOf(t, sums, list), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKept(name, "gone"); err == nil || os.IsNotExist(err) || !strings.Contains(err.Error(), "gone.json is not there, though") {
		t.Errorf("a file of the list: %v", err)
	}
}

// An outcome in the place of another one, whole and with its checksum, is an error that
// names the files: alone, in an archive, or beside the right one in a folder. Before,
// `exp show --from`, `exp run` with an earlier outcome, and `exp status --stale` took it for that of the experiment.
func TestOutcomesInTheWrongPlace(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.6": {{10, 11}, {12, 13}}})
	o.Fill(runs, nil)
	good, dir := keptText(t, o), t.TempDir()
	right, wrong := filepath.Join(dir, o.File()+".json"), filepath.Join(dir, "other.json")
	archive := filepath.Join(dir, "x.tar.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range [][2]string{{sums, fmt.Sprintf("%s  other.json\n", hash([]byte(good)))}, {"other.json", good}} {
		err := w.WriteHeader(&tar.Header{Name: f[0], Size: int64(len(f[1])), Mode: 0o644})
		if _, werr := io.WriteString(w, f[1]); err != nil || werr != nil {
			t.Fatal(err, werr)
		}
	}
	if err := errors.Join(w.Close(), z.Close(), os.WriteFile(archive, b.Bytes(), 0o666), os.WriteFile(wrong, []byte(good), 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{dir, archive} {
		if _, err := ReadKept(from, "other"); err == nil || !strings.Contains(err.Error(), "other.json: it is the outcome of another experiment or scale: call it "+o.File()+".json") {
			t.Errorf("%s: %v", from, err)
		}
	}
	if err := os.WriteFile(right, []byte(good), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := FindOutcomes(dir); err == nil || !strings.Contains(err.Error(), right) || !strings.Contains(err.Error(), wrong) {
		t.Errorf("twice in a folder: %v", err)
	}
}
