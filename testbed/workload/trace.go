// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Trace replays flows from a CSV file. Its first line names the columns: src and
// dst, which are names of hosts, bytes, a number or a size with a unit, start, a time
// with a unit, and optionally class, port and coflow.
type Trace struct {
	File  string     `yaml:"file"`  // the CSV file, relative to the scenario
	Start vtime.Time `yaml:"start"` // added to the start of each flow

	open Open
	read []fabric.Flow
}

func (tr *Trace) ends() bool { return true }

func (tr *Trace) check(t *topo.Topology, _ bool) (string, error) {
	if tr.Start < 0 {
		return "start", fmt.Errorf("start is %v, must not be negative", tr.Start)
	}
	f, err := tr.open.lines(tr.File)
	if err != nil {
		return "file", err
	}
	defer f.Close()
	if tr.read, err = readTrace(tr.File, f, t); err != nil {
		return "file", err
	}
	return "", nil
}

func (tr *Trace) flows(g *gen) {
	for _, f := range tr.read {
		f.Start += tr.Start
		f.Group = g.base.Group
		if f.Class == noClass {
			f.Class = g.base.Class
		}
		g.next = max(g.next, f.Coflow+1)
		g.out = append(g.out, f)
	}
}

// noClass stands for a class that the file does not give.
const noClass = 0xff

// ReadTrace reads the flows of a Trace. Flows without a class have class 3.
func ReadTrace(name string, t *topo.Topology) ([]fabric.Flow, error) {
	tr := &Trace{File: name}
	if _, err := tr.check(t, false); err != nil {
		return nil, err
	}
	g := &gen{t: t, base: fabric.Flow{Class: 3}}
	tr.flows(g)
	return g.out, nil
}

// readTrace reads a CSV file. An error is a diag.List.
func readTrace(name string, r io.Reader, t *topo.Topology) ([]fabric.Flow, error) {
	c := csv.NewReader(r)
	c.TrimLeadingSpace = true
	c.Comment = '#'
	c.ReuseRecord = true
	var list diag.List
	fail := func(line, col int, format string, args ...any) error {
		list.Errorf(diag.MakePos(&name, int32(line), int32(col)), "trace", format, args...)
		return list.Err()
	}
	head, err := c.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fail(0, 0, "the file is empty")
		}
		return nil, csvError(fail, err)
	}
	known := []string{"src", "dst", "bytes", "start", "class", "port", "coflow"}
	if len(head) == 1 && strings.ContainsAny(head[0], ";\t") {
		return nil, fail(1, 1, "the first line has no commas: columns are separated by commas, as in %q", strings.Join(known[:4], ","))
	}
	column := make(map[string]int)
	for i, h := range head {
		line, col := c.FieldPos(i)
		h = strings.TrimSpace(h)
		if _, twice := column[h]; twice || !strings.Contains(" "+strings.Join(known, " ")+" ", " "+h+" ") {
			return nil, fail(line, col, "column %q is unknown or given twice; known are %s", h, strings.Join(known, ", "))
		}
		column[h] = i
	}
	for _, k := range known[:4] {
		if _, ok := column[k]; !ok {
			return nil, fail(1, 1, "column %s is missing", k)
		}
	}
	hosts := make(map[string]int)
	for _, id := range t.Hosts() {
		hosts[t.Nodes[id].Name] = id
	}
	var flows []fabric.Flow
	for len(flows) <= maxFlows {
		rec, err := c.Read()
		if errors.Is(err, io.EOF) {
			return flows, nil
		}
		if err != nil {
			return nil, csvError(fail, err)
		}
		f := fabric.Flow{Class: noClass}
		var bad string
		field := func(k string) (string, bool) {
			i, ok := column[k]
			if !ok || bad != "" {
				return "", false
			}
			return strings.TrimSpace(rec[i]), true
		}
		number := func(k string, low, high int64) int64 {
			w, ok := field(k)
			if !ok || w == "" && k != "bytes" {
				return 0
			}
			v, err := strconv.ParseInt(w, 10, 64)
			if err != nil || v < low || v > high {
				bad = fmt.Sprintf("%s is %q, must be a whole number from %d to %d", k, w, low, high)
			}
			return v
		}
		host := func(k string) int {
			w, _ := field(k)
			id, ok := hosts[w]
			if !ok && bad == "" {
				bad = fmt.Sprintf("%s: no host is called %q%s", k, w, diag.OneOf(w, slices.Sorted(maps.Keys(hosts))))
			}
			return id
		}
		f.Src, f.Dst = host("src"), host("dst")
		if w, _ := field("bytes"); strings.HasSuffix(w, "B") { // as in YAML
			size, err := vtime.ParseSize(w)
			if f.Size = int64(size); bad == "" && (err != nil || f.Size < 1 || f.Size > 1<<42) {
				bad = fmt.Sprintf("bytes is %q, must be from 1 to %d", w, int64(1)<<42)
			}
		} else {
			f.Size = number("bytes", 1, 1<<42)
		}
		if w, ok := field("start"); ok && w != "0" {
			if f.Start, err = vtime.ParseTime(w); err != nil {
				bad = err.Error()
			}
		}
		if w, ok := field("class"); ok && w != "" {
			f.Class = uint8(number("class", 0, 7))
		}
		f.Port = uint16(number("port", 0, 65535))
		f.Coflow = uint32(number("coflow", 0, 1<<31))
		if f.Src == f.Dst && bad == "" {
			bad = fmt.Sprintf("%s sends to itself", rec[column["src"]])
		}
		if bad != "" {
			line, _ := c.FieldPos(0)
			return nil, fail(line, 0, "%s", bad)
		}
		flows = append(flows, f)
	}
	return nil, fail(0, 0, "the file has more than %d flows", maxFlows)
}

func csvError(fail func(int, int, string, ...any) error, err error) error {
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		return fail(pe.Line, pe.Column, "%v", pe.Err)
	}
	return fail(0, 0, "%v", err)
}
