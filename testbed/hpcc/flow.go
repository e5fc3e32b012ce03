// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"strings"

	"github.com/pauseless/pauseless/fabric"
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
// have, becomes the flow's Group. An error of the content is a diag.List.
func ReadFlows(name string, t *topo.Topology) ([]fabric.Flow, Dialect, error) {
	r, err := open(name)
	if err != nil {
		return nil, HPCC, err
	}
	return r.flows(t)
}

// ParseFlows is ReadFlows for a text in memory.
func ParseFlows(name, text string, t *topo.Topology) ([]fabric.Flow, Dialect, error) {
	return newReader(name, text).flows(t)
}

// firstGroup is the destination port of the first flow to a host in ConWeave's
// simulator; each further flow has the next. Its source ports count the flows of
// the source.
const firstGroup = 100

func (r *reader) flows(t *topo.Topology) ([]fabric.Flow, Dialect, error) {
	n := r.int("the number of flows", 0, maxFlows)
	dialect := HPCC
	if n > 0 && int64(len(strings.Fields(r.rest))) == 5*n {
		dialect = ConWeave
	}
	flows := make([]fabric.Flow, 0, min(n, 1<<16))
	ports := make(map[[2]int]uint16)
	var sent, got map[int]uint16
	if dialect == ConWeave {
		sent, got = make(map[int]uint16), make(map[int]uint16)
	}
	for range n {
		src, dst := r.host(t, "source"), r.host(t, "destination")
		at := r.at
		f := fabric.Flow{Src: src, Dst: dst}
		f.Class = uint8(r.int("a flow's priority", 0, 7))
		if dialect == HPCC {
			f.Group = int(r.int("a flow's destination port", 0, 65535))
		}
		f.Size = r.int("a flow's size in bytes", 1, 1<<42)
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
	if r.failed() {
		return nil, dialect, r.err()
	}
	return flows, dialect, nil
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
