// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/tool"
)

// analysed is an experiment with the name, arms and axes that the examples of
// docs/experiments.md use.
const analysed = `name: mine
network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}, switch: {buffer: 2MB, pfc: {xoff: 60KB}}}
arms:
- {name: drill, profile: drill}
- {name: rlb, profile: rlb-drill, set: {rlb.warn: 40KB, rlb.calm: 20KB}}
traffic:
- incast: {degree: 2, size: 64KB, from: h3 h4, to: h1, jitter: 6us}
vary:
- {axis: load, points: [{name: "0.4"}, {name: "0.6", traffic.0.incast.size: 96KB}]}
- {axis: nic, points: [{name: gbn}, {name: irn, hosts: {recovery: irn}}]}
seeds: [1, 2, 3]
until: 100ms
`

// The examples of docs/experiments.md for DuckDB, pandas and R run unchanged. If
// pandas or R cannot read Parquet, they read the same table as CSV.
func TestExamplesOfAnalysisRun(t *testing.T) {
	page, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mine.yaml", []byte(analysed), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"exp", "run", "mine.yaml"}, {"exp", "export", "mine.yaml"}} {
		var out bytes.Buffer
		if code := run(args, strings.NewReader(""), &out, &out); code != 0 {
			t.Fatalf("%v exits with %d:\n%s", args, code, &out)
		}
	}
	for _, c := range []struct {
		language, program string
		ask               []string // succeeds if the program can read Parquet
		csv               *regexp.Regexp
		args              []string
		want              []string
	}{
		{"sql", "duckdb", []string{"-version"}, nil, []string{"-c"}, []string{"drill", "rlb", "0.4", "0.6"}},
		{"python", "python3", []string{"-c", "import pandas, pyarrow"}, regexp.MustCompile(`(read_)parquet\("(.*)\.parquet"`), []string{"-c"}, []string{"0.4", "0.6", "mean"}},
		{"r", "Rscript", []string{"-e", "library(arrow)"}, regexp.MustCompile(`arrow::(read)_parquet\("(.*)\.parquet"`), []string{"-e"}, []string{"p-value"}},
	} {
		t.Run(c.language, func(t *testing.T) {
			example := regexp.MustCompile("(?ms)^```" + c.language + "\n(.*?)^```$").FindStringSubmatch(string(page))
			if example == nil {
				t.Fatal("there is no example")
			}
			program, err := tool.Find("", "", c.program)
			if err != nil {
				need.No(t, err)
			}
			code := example[1]
			if exec.Command(program, c.ask...).Run() != nil {
				switch c.language {
				case "python":
					code = c.csv.ReplaceAllString(code, `${1}csv("$2.csv"`)
					if exec.Command(program, "-c", "import pandas").Run() != nil {
						need.No(t, errors.New("python3 has no pandas"))
					}
				case "r":
					code = c.csv.ReplaceAllString(code, `$1.csv("$2.csv"`)
				}
			}
			out, err := exec.Command(program, append(c.args, code)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("what %s prints lacks %q:\n%s", c.program, want, out)
				}
			}
		})
	}
}
