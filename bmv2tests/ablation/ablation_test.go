// SPDX-License-Identifier: Apache-2.0

// Package ablation finds out why programs for Tofino have other results than those for
// v1model: a program for v1model gets one difference of the program for Tofino (a file
// of testdata), and runs in the same experiment with the same seeds. docs/tofino-fabric.md
// names the causes.
package ablation

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// cause is a difference that has to explain most of what a program for Tofino does
// otherwise.
type cause struct {
	experiment string // of the catalogue, at the small scale
	scheme     string
	variant    string // file of testdata
	metrics    []string
	seeds      int
	hosts      string // what hosts do, which the variant's profile does not tell
	set        string // parameters of the program for Tofino, if not its defaults
}

var causes = []cause{
	{"tofino-paused", "conga", "congalate", []string{"stalled_flows"}, 6, "", ""},
	{"tofino-paused", "clb", "clbsampled", []string{"stalled_flows"}, 6, "tag: true", ""},
	{"tofino-paused", "drill", "drilllate", []string{"avg_fct_us"}, 2, "", ""},
	{"tofino-plb-paused", "plb", "plbsofar", []string{"stalled_flows"}, 30, "", ""},
	{"tofino-bases", "plb", "plbwindow", []string{"out_of_order"}, 12, "", "plb.rtt_low: 38.5us"}, // as on v1model
	{"tofino-spraying", "caver", "caverwindow", []string{"avg_fct_us"}, 60, "", ""},
	{"tofino-spraying", "flowcut", "flowcutreported", []string{"avg_fct_us"}, 60, "drain: true", ""},
	{"tofino-spraying", "ar", "arreported", []string{"avg_fct_us", "stalled_flows"}, 20, "recovery: out-of-order", ""},
	{"tofino-pbfs", "pbfs", "pbfslate", []string{"short_p95_fct_us", "postcards_per_flow", "max_queue_bytes"}, 4, "pbfs: {on: true}", ""},
}

// Each cause explains at least half of the difference between the two programs.
func TestCauses(t *testing.T) {
	if os.Getenv("MODEL") == "" {
		need.No(t, fmt.Errorf("MODEL is not set; the runs take minutes"))
	}
	variants(t)
	cache := new(program.Cache)
	for _, c := range causes {
		t.Run(c.experiment+" "+c.scheme, func(t *testing.T) {
			t.Parallel()
			means := c.run(t, cache)
			for _, m := range c.metrics {
				v1model, tofino, variant := means[c.scheme][m], means[c.scheme+"@tna"][m], means[c.variant][m]
				part := (variant - v1model) / (tofino - v1model)
				t.Logf("%s, %d runs each: %.4g on v1model, %.4g on Tofino, %.4g with %s", m, c.seeds, v1model, tofino, variant, c.variant)
				if part < 0.5 {
					t.Errorf("%s explains %.0f %% of the difference of %s", c.variant, 100*part, m)
				}
			}
		})
	}
}

var once sync.Once

// variants adds the variants to the schemes, and returns their names.
func variants(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.edits")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".edits"))
	}
	once.Do(func() {
		schemes := t.TempDir()
		for i, file := range files {
			write(t, schemes, file, names[i])
		}
		if err := gen.AddSchemes(schemes); err != nil {
			t.Fatal(err)
		}
	})
	return names
}

// The edits apply to the schemes as they are, and the programs compile.
func TestVariantsCompile(t *testing.T) {
	for _, name := range variants(t) {
		s, err := scenario.Parse("variant.yaml", fmt.Appendf(nil, "name: variant\nprofiles: [%s]\nnetwork: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}}\ntraffic: [{burst: {from: h1, to: h2, flows: 1, size: 1KB}}]\nuntil: 1ms\n", name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Cases()[0].Build(new(program.Cache)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// run returns the means of the metrics by arm: both targets, and the variant.
func (c *cause) run(t *testing.T, cache *program.Cache) map[string]map[string]float64 {
	t.Helper()
	text, err := catalog.Text(c.experiment)
	if err != nil {
		t.Fatal(err)
	}
	hosts := ""
	if c.hosts != "" {
		hosts = ", hosts: {" + c.hosts + "}"
	}
	arms := fmt.Sprintf("arms:\n- {profile: %[1]s%[3]s}\n- {profile: %[1]s, target: tna, set: {%[4]s}%[3]s}\n- {name: %[2]s, profile: %[2]s%[3]s}\n", c.scheme, c.variant, hosts, c.set)
	changed := regexp.MustCompile(`(?m)^arms:\n(- .*\n)+`).ReplaceAllLiteralString(string(text), arms)
	changed = regexp.MustCompile(`(?m)^(claims:\n(- .*\n)+|premise:.*\n)`).ReplaceAllLiteralString(changed, "")
	s, err := scenario.ParseAt(c.experiment+".yaml", []byte(changed), scenario.Small)
	if err != nil {
		t.Fatal(err)
	}
	means := make(map[string]map[string]float64)
	for _, one := range s.Cases() {
		prog, err := one.Build(cache)
		if err != nil {
			t.Fatal(err)
		}
		means[one.Arm] = make(map[string]float64)
		for seed := range c.seeds {
			r, err := one.Run(t.Context(), prog, uint64(seed+1), scenario.Options{Event: func(controlplane.Event) {}})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range c.metrics {
				v, ok := r.Metrics[m]
				if !ok {
					t.Fatalf("%s has no %s", one.Arm, m)
				}
				means[one.Arm][m] += v / float64(c.seeds)
			}
		}
	}
	return means
}

// write writes the folder of a variant of a scheme for v1model. A file of edits names the
// scheme, and has pairs of texts, the scheme's after "--- FILE", the variant's after "+++".
func write(t *testing.T, schemes, file, name string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split("\n"+string(data), "\n--- ")
	_, scheme, ok := strings.Cut(parts[0], "\nscheme: ")
	if !ok {
		t.Fatalf("%s names no scheme", file)
	}
	texts := make(map[string]string)
	for _, f := range []string{"block.yaml", "common.p4.tmpl", "v1model.p4.tmpl"} {
		text, err := os.ReadFile(filepath.Join("../../gen/schemes", scheme, f))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		texts[f] = string(text)
	}
	for _, p := range parts[1:] {
		f, p, _ := strings.Cut(p, "\n")
		from, to, ok := strings.Cut(strings.TrimSuffix(p, "\n"), "\n+++")
		to = strings.TrimPrefix(to, "\n")
		if !ok || strings.Count(texts[f], from) != 1 {
			t.Fatalf("%s: %s has %d times\n%s", file, f, strings.Count(texts[f], from), from)
		}
		texts[f] = strings.Replace(texts[f], from, to, 1)
	}
	dir := filepath.Join(schemes, name)
	if err := os.MkdirAll(filepath.Join(dir, "profiles"), 0o777); err != nil {
		t.Fatal(err)
	}
	pick := regexp.MustCompile(`(?m)^pick: \{(\w+): .*\}`)
	key := pick.FindStringSubmatch(texts["block.yaml"])[1]
	block, _, _ := strings.Cut(texts["block.yaml"], "\ntna:") // the variant is for v1model
	block = regexp.MustCompile(`(?m)^too_large:\n(  .*\n)+`).ReplaceAllLiteralString(block, "")
	texts["block.yaml"] = pick.ReplaceAllLiteralString(block, fmt.Sprintf("pick: {%s: %s}", key, name)) + "\n"
	// Parameters begin with the name of their scheme.
	parameters := strings.Join(regexp.MustCompile(`(?m)^  - name: (\w+)`).FindAllString(block, -1), "|")
	own := regexp.MustCompile(`\b` + scheme + `\.(` + strings.ReplaceAll(parameters, "  - name: ", "") + `)\b`)
	for f, text := range texts {
		text = own.ReplaceAllString(text, name+".$1")
		if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	profile := fmt.Sprintf("name: %s\nsummary: %s with a difference of its program for Tofino\necn: red\n", name, scheme)
	if key != "base" {
		profile += "base: ecmp\n"
	}
	profile += fmt.Sprintf("%s: %s\n", key, name)
	if err := os.WriteFile(filepath.Join(dir, "profiles", name+".yaml"), []byte(profile), 0o666); err != nil {
		t.Fatal(err)
	}
}
