// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// kinds are the kinds of files, each with its type's defaults.
var kinds = []struct {
	name, title, about string
	defaults           any
	read               func(file string) error
	also               string   // glob of other files that must fit the schema
	keys               []string // keys on the page; nil: all
}{
	{"profile", "Profiles", "A profile is a program to generate: `pauseless gen --profile FILE.yaml`.\n`gen --list` lists the built-in ones; `gen --profile NAME --show` prints one with all its parameters.",
		gen.Defaults(), func(f string) error { _, err := gen.Read(f); return err }, "../../gen/schemes/*/profiles/*.yaml", nil},
	{"scenario", "Scenarios", "A scenario is what is run: `pauseless fabric run FILE.yaml`.\n[Experiments](experiment.md) and [runs on real switches](live.md) are scenarios as well.",
		newScenario(), readScenario, "../catalog/*/*.yaml", nil},
	{"experiment", "Experiments", "An experiment is a scenario with a question: `pauseless exp run FILE.yaml`.\nIts `arms` (or `profiles`) are compared along the axes of `vary`, with `seeds` of each, " +
		"and its `claims` get verdicts.\nA file can also contain the keys of a [scenario](scenario.md); [experiments.md](../experiments.md) shows how to use them.",
		newScenario(), readScenario, "../catalog/*/*.yaml", []string{"name", "summary", "source", "profiles", "arms", "vary", "seeds", "max_seeds", "claims", "small", "warmup", "measure", "judge", "until"}},
	{"live", "Scenarios on real switches", "`pauseless deploy run FILE.yaml` runs a scenario on a network of namespaces, in wall time, one profile after the other; `deploy run --print` shows the one that is built in.\n" +
		"A file can also contain the keys of a [scenario](scenario.md).\nTimes, rates and delays are slowed down by one number, which is printed.",
		newScenario(), readScenario, "../../cmd/pauseless/live.yaml", []string{"name", "network", "topology", "profiles", "arms", "hosts", "bmv2", "traffic", "seeds", "sample", "watch", "until"}},
	{"topology", "Topologies", "A topology is a network: of a scenario, or of `pauseless deploy netns FILE.yaml` and `pauseless ctl apply FILE.yaml`.\nA `p4app.json` of p4-utils and a `topology.json` of p4lang's tutorials will do instead (docs/tutorials/bmv2-mininet.md).",
		topo.NewSpec(), func(f string) error { _, err := topo.Read(f); return err }, "", nil},
}

func newScenario() *scenario.Scenario {
	return &scenario.Scenario{Keys: scenario.Keys{Network: topo.NewSpec(), Hosts: roce.Defaults(), Until: vtime.Second}, Seeds: []uint64{1}}
}

func readScenario(file string) error {
	_, err := scenario.Read(file)
	return err
}

// The schemas and pages agree with the types and their comments. The pages'
// examples and the project's own files are read without an error and fit the
// schema.
func TestReference(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			d := &describer{t: t, comments: make(map[string]map[string]string), docs: make(map[string]string), values: make(map[string][]string)}
			v := d.describe(reflect.TypeOf(k.defaults), reflect.ValueOf(k.defaults))
			schema := v.schema()
			schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
			schema["title"] = "pauseless " + k.name
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			if err := e.Encode(schema); err != nil {
				t.Fatal(err)
			}
			if k.keys == nil { // others share the schema of scenarios
				golden.Check(t, k.name+".schema.json", text.Bytes())
			}
			example := filepath.Join("testdata", k.name+".yaml")
			yamlText, err := os.ReadFile(example)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, filepath.Join("../../docs/reference", k.name+".md"), page(k.title, k.about, string(yamlText), k.name, v, k.keys))
			if err := k.read(example); err != nil {
				t.Errorf("the example: %v", err)
			}
			files, err := filepath.Glob(k.also)
			if err != nil || k.also != "" && len(files) == 0 {
				t.Fatalf("%s: no files, %v", k.also, err)
			}
			validate := compileSchema(t, text.Bytes())
			for _, f := range append(files, example) {
				if err := validate(f); err != nil {
					t.Errorf("%s does not fit the schema: %v", f, err)
				}
			}
			if err := validate("testdata/misspelt.yaml"); err == nil {
				t.Error("the schema accepts unknown keys")
			}
		})
	}
}

// compileSchema returns a function that validates files by a library for JSON
// Schema.
func compileSchema(t *testing.T, text []byte) func(file string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(file string) error {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var v any
		if err := yaml.Unmarshal(data, &v); err != nil {
			return err
		}
		return s.Validate(plain(v))
	}
}

// plain makes YAML's values those of JSON.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	case int:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return v
}

func (v value) schema() map[string]any {
	switch {
	case v.fields != nil:
		props := make(map[string]any)
		for _, f := range v.fields {
			p := f.value.schema()
			if f.doc != "" {
				p["description"] = f.doc
			}
			if f.fallback != "" && f.value.scalar != "" {
				p["default"] = jsonOf(f.fallback, f.value.scalar)
			}
			if n, err := strconv.ParseFloat(f.low, 64); err == nil {
				p["minimum"] = n
			}
			if n, err := strconv.ParseFloat(f.up, 64); err == nil {
				p["maximum"] = n
			}
			if len(f.values) > 0 {
				delete(p, "type")
				enum := []any{}
				for _, v := range f.values {
					switch v {
					case "true", "false":
						enum = append(enum, v == "true")
					default:
						enum = append(enum, v)
					}
				}
				p["enum"] = enum
			}
			props[f.key] = p
		}
		return map[string]any{"type": []string{"object", "null"}, "properties": props, "additionalProperties": false}
	case v.isMap:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": v.elem.schema()}
	case v.elem != nil:
		return map[string]any{"type": []string{"array", "null"}, "items": v.elem.schema()}
	}
	// A word such as 10 or on is a number or a truth value in YAML, and a text for
	// the readers of these files.
	switch v.scalar {
	case "any":
		return map[string]any{}
	case "time", "rate", "size":
		return map[string]any{"type": []string{"string", "number"}}
	case "text":
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	}
	return map[string]any{"type": v.scalar}
}

func jsonOf(text, scalar string) any {
	switch scalar {
	case "number", "integer":
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case "boolean":
		return text == "true"
	}
	return text
}

// page returns the reference page of a kind of file.
func page(title, about, example, kind string, v value, keys []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Made from the comments of Go types by testbed/reference; make golden rewrites it. -->\n\n# %s\n\n%s\n\n", title, about)
	fmt.Fprintf(&b, "`pauseless schema %s` prints the JSON Schema of these files.\nAn editor with a YAML language server completes and checks them where the first line is\n\n", kind)
	fmt.Fprintf(&b, "    # yaml-language-server: $schema=%s.schema.json\n\n", kind)
	b.WriteString("An example:\n\n```yaml\n" + strings.TrimPrefix(example, "# SPDX-License-Identifier: Apache-2.0\n") + "```\n\n")
	b.WriteString("Times have a unit (`2us`, `1.5ms`), and so have rates (`40Gbps`) and sizes (`64KB`, `9MB`; 1 KB = 1000 bytes).\nA key that is left out has the default.\n")
	if kind == "scenario" {
		b.WriteString("Hosts are selected by `all`, or by names, ranges and leaves separated by spaces: `h1 h3..h8 leaf:l2`.\n")
	}
	if keys != nil {
		v.fields = slices.DeleteFunc(slices.Clone(v.fields), func(f field) bool { return !slices.Contains(keys, f.key) })
	}
	section(&b, "The file", v.fields, keys == nil || kind == "experiment")
	if kind == "profile" || kind == "scenario" {
		b.WriteString("\n## Parameters\n\nWhat `set` may set.\nWhere a profile sets no value, it follows from the network: C is the rate of its links (`rate`, in bit/s), d their delay (`delay`, in ns).\n\n")
		b.WriteString("| parameter | unit | default | from – to | meaning |\n|---|---|---|---|---|\n")
		for _, p := range gen.ParameterKeys() {
			bounds := ""
			if p.Least != 0 || p.Most != 0 {
				bounds = fmt.Sprintf("%g – ", p.Least)
				if p.Most != 0 {
					bounds += fmt.Sprintf("%g", p.Most)
				}
			}
			usual := "`" + p.Default + "`"
			if p.TNA != "" {
				usual += ", on Tofino `" + p.TNA + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p.Name, p.Unit, usual, bounds, cell(p.Doc))
		}
	}
	return []byte(b.String())
}

// limits returns the bounds of a value. A value with a unit cannot be negative.
func (f field) limits() string {
	low := f.low
	if s := f.value.scalar; low == "" && (s == "time" || s == "rate" || s == "size") {
		low = "0"
	}
	if low == "" && f.up == "" {
		return ""
	}
	return strings.TrimSpace(low + " – " + f.up)
}

// meaning returns a comment without the key that it begins with, which the row names.
func meaning(key, doc string) string {
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(doc, "`"+key+"`"+verb); ok && rest != "" {
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return doc
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// hosts and distributions are explanations that several keys share.
var (
	hosts         = regexp.MustCompile(` Selects hosts: .*?\. Empty means all\.`)
	distributions = regexp.MustCompile("Distributions are `.*?`\\.")
)

func section(b *strings.Builder, name string, fields []field, deep bool) {
	fmt.Fprintf(b, "\n## %s\n\n| key | value | from – to | default | meaning |\n|---|---|---|---|---|\n", name)
	shared := make(map[string]string)
	for _, f := range fields {
		def := f.fallback
		if def != "" {
			def = "`" + def + "`"
		}
		means := meaning(f.key, f.doc)
		first, told := shared[f.doc]
		if told && strings.Contains(f.doc, "`"+f.key+"`") { // one comment for several keys
			means = "See `" + first + "`."
		}
		if !told {
			shared[f.doc] = f.key
		}
		if name != "The file" { // the page explains these once
			means = hosts.ReplaceAllString(distributions.ReplaceAllString(means, "[Distributions](distributions.md)."), "")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", f.key, f.value.text, f.limits(), def, cell(means))
	}
	if !deep {
		return // the page of scenarios has the rest
	}
	for _, f := range fields {
		inner := f.value
		path := f.key
		for inner.elem != nil {
			path += "[]"
			inner = *inner.elem
		}
		if inner.fields != nil {
			if name != "The file" {
				path = strings.Trim(name, "`") + "." + path
			}
			section(b, "`"+path+"`", inner.fields, deep)
		}
	}
}
