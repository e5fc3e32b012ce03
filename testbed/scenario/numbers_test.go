// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// numbers visits the numbers of a file, with and without units, by key.
func numbers(n *yaml.Node, path string, visit func(path string, n *yaml.Node)) {
	switch n.Kind {
	case yaml.DocumentNode, yaml.SequenceNode:
		for _, c := range n.Content {
			numbers(c, path, visit)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			numbers(n.Content[i+1], path+"."+n.Content[i].Value, visit)
		}
	case yaml.ScalarNode:
		if aNumber.MatchString(n.Value) {
			visit(path, n)
		}
	}
}

var aNumber = regexp.MustCompile(`^[0-9][0-9.]*([A-Za-z%/]*)$`)

// parseNear parses a text in the place of a file.
func parseNear(file string, text []byte) (*scenario.Scenario, error) {
	return scenario.ParseIn(file, text, filepath.Dir(file), scenario.Small, func(name string) (io.ReadCloser, error) { return os.Open(name) })
}

// Every number of the built-in experiments and of the documents' files is replaced by what
// is no number, not finite, negative, or as large as may be. The file is refused, or read
// in a time and memory that do not follow from the number. A number that an arm, a point
// or the small scale replaces is left out.
func TestHostileNumbersOfAllKeys(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../catalog/*/*.yaml", "../../docs/*/*.yaml"} {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	texts := make(map[string][]byte)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = data
	}
	// Each key in the shortest file that has it.
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(len(texts[a]), len(texts[b])) })
	least := 200 // keys
	if files = files[:len(files)*2/3]; testing.Short() {
		files, least = files[:25], 50
	}
	// Keys whose values may be below zero, and those whose values are texts.
	negative := regexp.MustCompile(`\.(overhead|ack_class|cnp_class|max_stage|paths\.h1)$`)
	text := regexp.MustCompile(`\.(at|than_at)\.|\.than$|\.point$|^\.vary\.points\.[^.]*$`)
	seen := map[string]bool{}
	tried, taken := 0, 0
	for _, file := range files {
		var root yaml.Node
		if err := yaml.Unmarshal(texts[file], &root); err != nil {
			t.Fatal(err)
		}
		numbers(&root, "", func(path string, n *yaml.Node) {
			if seen[path] || text.MatchString(path) {
				return
			}
			old := *n
			defer func() { *n = old }()
			parse := func(value string) error {
				n.Value, n.Style, n.Tag = value, 0, ""
				changed, err := yaml.Marshal(&root)
				if err != nil {
					t.Fatal(err)
				}
				tried++
				if took := need.Work(func() { _, err = parseNear(file, changed) }); took > 10*time.Second {
					t.Errorf("%s: %s = %s took %v", file, path, value, took)
				}
				return err
			}
			if parse("hostile!") == nil {
				return // replaced
			}
			seen[path] = true
			unit := aNumber.FindStringSubmatch(old.Value)[1]
			for _, v := range []string{"NaN", "inf", "-.inf", "1e400", "-1", "-9223372036854775808", "0", "1e299", "9223372036854775807"} {
				if parse(v+unit) != nil {
					continue
				}
				taken++
				if strings.ContainsAny(v, "NinI") || v == "1e400" || v[0] == '-' && !negative.MatchString(path) {
					t.Errorf("%s: %s takes %s", file, path, v+unit)
				}
			}
		})
	}
	t.Logf("%d texts for %d keys, %d are taken", tried, len(seen), taken)
	if len(seen) < least {
		t.Errorf("only %d keys have numbers", len(seen))
	}
}
