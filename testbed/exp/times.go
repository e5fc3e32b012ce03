// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
)

// times are the durations of an experiment's runs in seconds, by case, in the order
// of the seeds. Zero is unknown. Only estimates depend on them.
//
// As text they are a line NAME SCALE, and then one for each case:
//
//	drill, none, go-back-n: 1.21 0.94 1.3*5
//
// 1.3*5 is 1.3 five times.
type times map[string][]float64

// packedTimes has the times of the built-in experiments, as an `exp run all` left
// them: times.txt, the texts of all times one after the other, in gzip, which takes
// a quarter in the binary. `make golden` writes it.
//
//go:embed times.txt.gz
var packedTimes []byte

var timesKnown = sync.OnceValue(func() map[string]times {
	z, err := gzip.NewReader(bytes.NewReader(packedTimes))
	if err != nil {
		panic("BUG: times.txt.gz: " + err.Error())
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic("BUG: times.txt.gz: " + err.Error())
	}
	return parseTimes(text)
})

func parseTimes(text []byte) map[string]times {
	all := make(map[string]times)
	var t times
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		at := strings.LastIndex(line, ": ")
		if at < 0 {
			if t = all[line]; t == nil {
				t = make(times)
				all[line] = t
			}
			continue
		}
		for _, word := range strings.Fields(line[at+2:]) {
			value, often, repeated := strings.Cut(word, "*")
			n, err := strconv.Atoi(often)
			if !repeated || err != nil {
				n = 1
			}
			if v, err := strconv.ParseFloat(value, 64); err == nil && v >= 0 && v < 1e9 && t != nil {
				t[line[:at]] = append(t[line[:at]], slices.Repeat([]float64{v}, min(max(n, 0), 10_000))...)
			}
		}
	}
	return all
}

func (p *Plan) title() string { return p.Scenario.Name + " " + p.Scenario.Scale }

// lastTimes returns the times of the last run of the experiment in a store or, if
// there is none, the built-in times.
func (p *Plan) lastTimes(st *Store) times {
	if data, err := infile.Read(p.timesFile(st)); err == nil {
		if t := parseTimes(data)[p.title()]; len(t) > 0 {
			return t
		}
	}
	return timesKnown()[p.title()]
}

func (p *Plan) timesFile(st *Store) string {
	return filepath.Join(st.dir, p.Scenario.Name+"-"+p.Scenario.Scale, "times.txt")
}

// saveTimes writes the durations of runs for later estimates. All reports that they
// are the whole experiment. A failure to write is ignored.
func (p *Plan) saveTimes(st *Store, took map[Job]float64, all bool) {
	t := make(times)
	if !all {
		for name, list := range p.lastTimes(st) {
			t[name] = slices.Clone(list)
		}
	}
	for j, seconds := range took {
		name, n := p.caseName(j.Case), p.nth(j.Seed)
		if n < 0 {
			continue
		}
		for len(t[name]) <= n {
			t[name] = append(t[name], 0)
		}
		t[name][n] = seconds
	}
	if len(took) == 0 {
		return
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, p.title())
	for i := range p.Scenario.Cases() {
		name := p.caseName(i)
		if len(t[name]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s:%s\n", name, timesOf(t[name]))
	}
	name := p.timesFile(st)
	if os.MkdirAll(filepath.Dir(name), 0o777) == nil {
		outfile.Write(name, b.Bytes(), 0o666)
	}
}

// timesOf returns durations as text, equal ones in a row once.
func timesOf(list []float64) string {
	var b strings.Builder
	for i := 0; i < len(list); {
		text, n := fmt.Sprintf("%.3g", list[i]), 1
		for i+n < len(list) && fmt.Sprintf("%.3g", list[i+n]) == text {
			n++
		}
		b.WriteString(" " + text)
		if n > 1 {
			fmt.Fprintf(&b, "*%d", n)
		}
		i += n
	}
	return b.String()
}

func (p *Plan) caseName(i int) string { return fmt.Sprint(p.Scenario.Cases()[i]) }

// nth is the inverse of seed, or -1.
func (p *Plan) nth(seed uint64) int {
	if n := seed - p.Scenario.Seeds[0]; n < uint64(p.seeds()) && p.seed(int(n)) == seed {
		return int(n) // they are usually consecutive, and there may be many
	}
	for n := range p.seeds() {
		if p.seed(n) == seed {
			return n
		}
	}
	return -1
}
