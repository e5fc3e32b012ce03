// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
)

const results = "../../docs/results"

func TestExperimentsAreSoundAndSayWhatTheyAreAbout(t *testing.T) {
	for _, name := range Names() {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name || s.Summary == "" || len(s.Claims) == 0 || len(s.Seeds) != 3 {
			t.Errorf("%s: name %q, summary %q, %d claims, %d seeds; want its own name, a summary, claims, three seeds",
				name, s.Name, s.Summary, len(s.Claims), len(s.Seeds))
		}
	}
	if _, err := Load("rlb-symetric"); err == nil || !strings.Contains(err.Error(), `did you mean "rlb-symmetric"?`) {
		t.Errorf("a name with a slip: %v", err)
	}
}

// What docs/results has was made from the scenarios as they are, and its pages
// say what its numbers say.
func TestKeptOutcomesAreNotStale(t *testing.T) {
	for _, name := range Names() {
		data, err := os.ReadFile(filepath.Join(results, name+".json"))
		if err != nil {
			t.Errorf("%v; run `pauseless exp run %s --keep docs/results`", err, name)
			continue
		}
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Profiles) == 0 {
			checkOutcome(t, name, data)
			continue
		}
		var o Kept
		if err := json.Unmarshal(data, &o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sum, err := Sum(name)
		if err != nil {
			t.Fatal(err)
		}
		if o.Scenario != sum {
			t.Errorf("%s: the scenario has changed since; run `%s`", name, o.Command)
			continue
		}
		var runs []*result.Run
		for _, r := range o.Runs {
			runs = append(runs, &result.Run{Profile: r.Profile, Seed: r.Seed, Summary: r.Summary})
		}
		again, err := Judge(name, s, runs)
		if err != nil {
			t.Fatal(err)
		}
		for ext, write := range map[string]func(*bytes.Buffer) error{
			".json": func(b *bytes.Buffer) error { return again.WriteJSON(b) },
			".md":   func(b *bytes.Buffer) error { return again.WriteMarkdown(b) },
		} {
			want, err := os.ReadFile(filepath.Join(results, name+ext))
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s%s is not what its runs say; run `%s`", name, ext, o.Command)
			}
		}
	}
}

// checkOutcome looks at the outcome of an experiment with arms.
func checkOutcome(t *testing.T, name string, data []byte) {
	t.Helper()
	var o result.Outcome
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	sum, err := Sum(name)
	if err != nil {
		t.Fatal(err)
	}
	if o.Scenario != sum {
		t.Errorf("%s: the experiment has changed since; run `%s --keep docs/results`", name, o.Command)
		return
	}
	for ext, write := range map[string]func(io.Writer) error{".json": o.WriteJSON, ".md": o.WriteMarkdown} {
		want, err := os.ReadFile(filepath.Join(results, name+ext))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s%s is not what its runs say; run `%s --keep docs/results`", name, ext, o.Command)
		}
	}
}
