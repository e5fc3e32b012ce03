// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
)

// maxFlows limits the number of flows in a file.
const maxFlows = 1 << 24

// firstPort is the simulator's source port of the first flow between two hosts;
// each further flow has the next.
const firstPort = 10000

// ReadFlows reads a flow file: the number of flows, and for each source,
// destination, priority, destination port, bytes and start in seconds. ConWeave's
// files have no destination port; the number of words distinguishes the dialects.
// Source ports are the simulator's. The destination port, which RoCEv2 does not
// have, becomes the flow's Group. The warnings are about what the file has beyond its
// flows. An error of the content is a diag.List.
func ReadFlows(name string, t *topo.Topology) (flows []fabric.Flow, d Dialect, warnings diag.List, err error) {
	r, err := open(name)
	if err != nil {
		return nil, HPCC, nil, err
	}
	if flows, d, err = r.flows(t); err == nil && r.skip() {
		warnings.Warnf(diag.MakePos(&name, r.line, r.col), code, "the file is not read from this line on: its first line declares %d flows, as in the simulator", len(flows))
	}
	return flows, d, warnings, err
}

// firstGroup is the destination port of the first flow to a host in ConWeave's
// simulator; each further flow has the next. Its source ports count the flows of
// the source.
const firstGroup = 100

func (r *reader) flows(t *topo.Topology) ([]fabric.Flow, Dialect, error) {
	r.otherFlows()
	n := r.int("the number of flows", 0, maxFlows)
	count := r.at
	dialect, there := r.shape(n)
	if !r.failed() && there < n {
		r.errorf(count, "the file says %d flows, has %d", n, there)
	}
	if r.failed() {
		return nil, dialect, r.err()
	}
	flows := make([]fabric.Flow, 0, min(n, 1<<16))
	ports := make(map[[2]int]uint16)
	var sent, got map[int]uint16
	least := int64(1)
	if dialect == ConWeave {
		sent, got = make(map[int]uint16), make(map[int]uint16)
		least = 0 // its simulator sends a byte
	}
	for range n {
		src, dst := r.host(t, "source"), r.host(t, "destination")
		at := r.at
		f := fabric.Flow{Src: src, Dst: dst}
		f.Class = uint8(r.int("a flow's priority", 0, 7))
		if dialect == HPCC {
			f.Group = int(r.int("a flow's destination port", 0, 65535))
		}
		f.Size = max(r.int("a flow's size in bytes", least, 1<<42), 1)
		f.Start = seconds(r.float("a flow's start in seconds", 0, 1e6))
		if src == dst {
			r.errorf(at, "node %d sends to itself", src)
		}
		if r.failed() {
			return nil, dialect, r.err()
		}
		if dialect == ConWeave {
			f.Port, f.Group = firstPort+sent[src], int(firstGroup+got[dst])
			sent[src]++
			got[dst]++
		} else {
			pair := [2]int{src, dst}
			f.Port = firstPort + ports[pair]
			ports[pair]++
		}
		flows = append(flows, f)
	}
	return flows, dialect, nil
}

// otherFlows says what a file is that is not one of flows but looks like another that
// has some.
func (r *reader) otherFlows() {
	first, _, _ := strings.Cut(strings.TrimSpace(r.rest), "\n")
	at := diag.MakePos(r.name, r.line, r.col)
	switch word, _, _ := strings.Cut(strings.TrimSpace(first), " "); {
	case strings.Contains(word, ","):
		r.errorf(at, "the file is a CSV, not a simulator's flow file: it belongs in a scenario, as traffic: [{trace: {file: %s}}]", filepath.Base(*r.name))
	case word == "Nodes" || word == "Connections":
		r.errorf(at, "the file is a connection matrix of htsim: give it a name that ends in .cm, with --topology leaf_spine.topo or our YAML")
	}
}

// fieldsOf are the words of a flow in each dialect.
var fieldsOf = map[int]Dialect{6: HPCC, 5: ConWeave}

// shape returns the dialect of a text of n flows, and how many it has. A line that
// has neither 5 nor 6 words, nor those of several flows, is an error; the
// simulators would take the words of the next line.
func (r *reader) shape(n int64) (dialect Dialect, there int64) {
	if r.failed() || n == 0 {
		return HPCC, 0
	}
	fields, words, line := 0, int64(0), r.line
	for l := range strings.Lines(r.rest) {
		k := len(strings.Fields(l))
		at := diag.MakePos(r.name, line, 1)
		line++
		switch {
		case k == 0:
			continue
		case fields == 0:
			switch total := int64(len(strings.Fields(r.rest))); {
			case total == 5*n && k%5 == 0 || k%6 != 0 && k%5 == 0:
				fields = 5
			case k%6 == 0:
				fields = 6
			}
			if _, ok := fieldsOf[fields]; !ok {
				r.errorf(at, "a flow has 5 fields (source, destination, priority, bytes, start) or 6 (with a destination port before the bytes), this line has %d", k)
				return HPCC, 0
			}
		case words < n*int64(fields) && k%fields != 0:
			r.errorf(at, "a flow has %d fields in the lines before, this line has %d", fields, k)
			return HPCC, 0
		}
		words += int64(k)
	}
	return fieldsOf[max(fields, 5)], words / int64(max(fields, 5))
}

// Adapt prepares flows for switches with one lossless class. In the simulator every
// priority but 0 is lossless, and switches serve them in turn. The warnings are about
// what is different here.
func Adapt(name string, flows []fabric.Flow) (warnings diag.List) {
	at := diag.FilePos(name)
	classes := make(map[uint8]int)
	unsorted := false
	for i := range flows {
		classes[flows[i].Class]++
		unsorted = unsorted || i > 0 && flows[i].Start < flows[i-1].Start
	}
	if len(classes) == 1 && classes[0] == 0 {
		for i := range flows {
			flows[i].Class = manifest.LosslessClass
		}
	} else if len(classes) > 1 || classes[0] > 0 {
		var text []string
		for _, c := range slices.Sorted(maps.Keys(classes)) {
			text = append(text, fmt.Sprint(c))
		}
		warnings.Warnf(at, code, "flows have the priorities %s: only class %d is lossless in pauseless, and higher classes are sent first; in the simulator all classes but 0 are lossless and alternate, and 0 is sent first", list(text), manifest.LosslessClass)
	}
	if unsorted {
		warnings.Warnf(at, code, "flows are not in the order of their starts: in pauseless each starts at its time; in the simulator time goes back")
	}
	return warnings
}

// host returns the next word as a host.
func (r *reader) host(t *topo.Topology, what string) int {
	id := int(r.int("a flow's "+what, 0, int64(len(t.Nodes))-1))
	if r.failed() {
		return id
	}
	switch n := &t.Nodes[id]; {
	case n.Kind != topo.Host:
		r.errorf(r.at, "a flow's %s is node %d, which is a switch", what, id)
	case n.Host != id:
		r.errorf(r.at, "a flow's %s is node %d, which the topology file does not have", what, id)
	}
	return id
}
