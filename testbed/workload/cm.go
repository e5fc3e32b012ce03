// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/vtime"
)

// matrix is a connection matrix of htsim (connection_matrix.cpp).
type matrix struct {
	src         source
	nodes       int
	connections []connection
	triggers    map[int64]*trigger
}

// connection is a flow of a matrix.
type connection struct {
	line       int
	src, dst   int
	size       int64
	start      vtime.Time
	trigger    int64 // that starts it; zero: none
	sent, recv int64 // triggers that its end activates
}

// trigger starts flows when others have ended.
type trigger struct {
	line  int
	kind  string // oneshot, multishot or barrier; empty: not specified
	count int64  // of a barrier
}

func (m *matrix) ranks() int { return m.nodes }

// readCM reads a connection matrix. An error is a diag.List.
func readCM(name string, r io.Reader) (*matrix, error) {
	m := &matrix{src: source{name: name}, triggers: make(map[int64]*trigger)}
	counts := map[string]int64{"Nodes": -1, "Connections": -1, "Triggers": 0, "Failures": 0}
	sc := lineReader(r)
	line, triggers := 0, 0
	fail := m.src.fail
	for sc.Scan() {
		line++
		words := strings.Fields(sc.Text())
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if _, ok := counts[words[0]]; ok {
			if len(words) < 2 {
				return nil, fail(line, "%s needs a number", words[0])
			}
			n, err := whole(words[0], words[1], 0, maxFlows)
			if err != nil {
				return nil, fail(line, "%v", err)
			}
			counts[words[0]] = n
			continue
		}
		var err error
		switch from, to, flow := strings.Cut(words[0], "->"); {
		case flow:
			err = m.connection(line, from, to, words[1:], counts["Nodes"])
			if len(m.connections) > maxFlows/4 {
				return nil, fail(line, "there are more than %d connections", maxFlows/4)
			}
		case words[0] == "trigger":
			triggers++
			err = m.trigger(line, words[1:])
		case words[0] == "failure":
			return nil, fail(line, "a failure of a link by switch type is not supported; give `faults` in a scenario")
		default:
			return nil, fail(line, "%q is unknown; expected SRC->DST …, trigger …, Nodes, Connections, Triggers", words[0])
		}
		if err != nil {
			return nil, err
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fail(line+1, "%v", err)
	}
	switch {
	case counts["Nodes"] < 1 || counts["Nodes"] > 1<<20:
		return nil, fail(0, "Nodes is missing or not from 1 to %d", 1<<20)
	case counts["Connections"] != int64(len(m.connections)):
		return nil, fail(0, "Connections is %d, but there are %d: correct the number, as htsim reads no more", counts["Connections"], len(m.connections))
	case counts["Triggers"] != int64(triggers):
		return nil, fail(0, "Triggers is %d, but there are %d", counts["Triggers"], triggers)
	case counts["Failures"] > 0:
		return nil, fail(0, "Failures are not supported; give `faults` in a scenario")
	}
	m.nodes = int(counts["Nodes"])
	return m, m.check()
}

// pairsOf calls do with each key and its value, in order. Keys of flags have none.
func pairsOf(words []string, flags []string, do func(key, value string) string) string {
	for i := 0; i < len(words); i++ {
		key, value := words[i], ""
		if !slices.Contains(flags, key) {
			if i++; i == len(words) {
				return key + " needs a value"
			}
			value = words[i]
		}
		if bad := do(key, value); bad != "" {
			return bad
		}
	}
	return ""
}

func (m *matrix) connection(line int, from, to string, words []string, nodes int64) error {
	c := connection{line: line, start: -1}
	if nodes < 1 {
		return m.src.fail(line, "a connection precedes Nodes")
	}
	for _, end := range []struct {
		text string
		to   *int
	}{{from, &c.src}, {to, &c.dst}} {
		n, err := whole("node", end.text, 0, nodes-1)
		if err != nil {
			return m.src.fail(line, "%v", err)
		}
		*end.to = int(n)
	}
	if c.src == c.dst {
		return m.src.fail(line, "node %d sends to itself", c.src)
	}
	bad := pairsOf(words, nil, func(key, value string) string {
		var v int64
		var err error
		switch key {
		case "start":
			// htsim reads picoseconds, with decimals or in the form 1e6.
			x, perr := strconv.ParseFloat(value, 64)
			if perr != nil || !(x >= 0) || x > float64(longest) {
				return "start is " + strconv.Quote(value) + ", must be picoseconds from 0"
			}
			c.start = vtime.Time(x)
			return ""
		case "size":
			c.size, err = whole(key, value, 1, mostBytes)
		case "id":
			_, err = whole(key, value, 1, 1<<40)
		case "trigger", "send_done_trigger", "recv_done_trigger":
			v, err = whole(key, value, 1, 1<<40)
			*map[string]*int64{"trigger": &c.trigger, "send_done_trigger": &c.sent, "recv_done_trigger": &c.recv}[key] = v
		case "prio":
			return "prio, the priority of a receiver's pulls, is not supported"
		default:
			return strconv.Quote(key) + " is unknown; known are id, start, trigger, size, send_done_trigger, recv_done_trigger"
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
	switch {
	case bad != "":
		return m.src.fail(line, "%s", bad)
	case c.size == 0:
		return m.src.fail(line, "size is missing: a flow without end is not supported")
	case c.start < 0 && c.trigger == 0:
		return m.src.fail(line, "the flow has neither start nor trigger")
	case c.start >= 0 && c.trigger != 0:
		return m.src.fail(line, "the flow has both start and trigger")
	}
	for _, id := range []int64{c.trigger, c.sent, c.recv} {
		if id != 0 && m.triggers[id] == nil {
			m.triggers[id] = &trigger{line: line}
		}
	}
	m.connections = append(m.connections, c)
	return nil
}

func (m *matrix) trigger(line int, words []string) error {
	t := &trigger{line: line}
	var id int64
	bad := pairsOf(words, []string{"oneshot", "multishot", "barrier"}, func(key, value string) string {
		var err error
		switch key {
		case "id":
			id, err = whole(key, value, 1, 1<<40)
		case "count":
			t.count, err = whole(key, value, 1, maxFlows)
		case "oneshot", "multishot", "barrier":
			if t.kind != "" {
				return "the trigger has two types"
			}
			t.kind = key
		default:
			return strconv.Quote(key) + " is unknown; known are id, oneshot, multishot, barrier, count"
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
	old := m.triggers[id]
	switch {
	case bad != "":
		return m.src.fail(line, "%s", bad)
	case id == 0 || t.kind == "":
		return m.src.fail(line, "a trigger needs an id and a type: oneshot, multishot or barrier")
	case t.kind == "barrier" && t.count == 0:
		return m.src.fail(line, "a barrier needs count")
	case old != nil && old.kind != "":
		return m.src.fail(line, "trigger %d is given twice, first in line %d", id, old.line)
	}
	m.triggers[id] = t
	return nil
}

// activation is an end of a connection that activates a trigger: at its receiver, or at
// its sender, when the last acknowledgement is back.
type activation struct {
	connection int
	atSender   bool
}

// activations returns those of each trigger, in the order of connections.
func (m *matrix) activations() map[int64][]activation {
	all := make(map[int64][]activation)
	for i := range m.connections {
		c := &m.connections[i]
		if c.sent != 0 {
			all[c.sent] = append(all[c.sent], activation{i, true})
		}
		if c.recv != 0 {
			all[c.recv] = append(all[c.recv], activation{i, false})
		}
	}
	return all
}

// need returns how many activations of its trigger start each connection. The k-th
// connection of a multishot trigger needs k.
func (m *matrix) need() []int64 {
	need := make([]int64, len(m.connections))
	started := make(map[int64]int64)
	for i := range m.connections {
		id := m.connections[i].trigger
		if id == 0 {
			continue
		}
		started[id]++
		switch t := m.triggers[id]; t.kind {
		case "oneshot":
			need[i] = 1
		case "multishot":
			need[i] = started[id]
		case "barrier":
			need[i] = t.count
		}
	}
	return need
}

// check returns an error for a trigger that is not given, or that starts a flow of a
// node that does not know of it.
func (m *matrix) check() error {
	for i := range m.connections {
		c := &m.connections[i]
		for _, id := range []int64{c.trigger, c.sent, c.recv} {
			if id != 0 && m.triggers[id].kind == "" {
				return m.src.fail(c.line, "trigger %d is used, but not given", id)
			}
		}
	}
	all, need := m.activations(), m.need()
	for i := range m.connections {
		c := &m.connections[i]
		if c.trigger == 0 {
			continue
		}
		if n := int64(len(all[c.trigger])); n < need[i] {
			return m.src.fail(c.line, "the flow can never start: it needs %d activations of trigger %d, and there are %d", need[i], c.trigger, n)
		}
		for _, a := range all[c.trigger] {
			if o := &m.connections[a.connection]; o.dst != c.src && !(a.atSender && o.src == c.src) {
				return m.src.fail(c.line, "trigger %d is activated by the flow %d->%d in line %d and starts a flow of node %d at the same moment; dependencies must be local to a node", c.trigger, o.src, o.dst, o.line, c.src)
			}
		}
	}
	return nil
}

func (m *matrix) build(b *builder) {
	b.inLine()
	for i := range m.connections {
		c := &m.connections[i]
		b.at = int32(c.line)
		src, dst := b.slots[c.src].node, b.slots[c.dst].node
		if b.host[c.src] == b.host[c.dst] {
			b.fail(m.src.fail(c.line, "nodes %d and %d are ranks of the same host; give per_host: 1", c.src, c.dst))
			return
		}
		b.g.base.Plan, b.g.base.Step, b.g.base.Port = nil, 0, 0
		if len(m.triggers) == 0 {
			b.g.add(src, dst, c.size, b.c.Start+c.start)
			continue
		}
		s := b.step(c.src, fabric.Other, nil)
		if c.trigger == 0 {
			s.Start = b.c.Start + c.start
		}
		b.g.base.Plan, b.g.base.Step = b.p, b.latest()
		b.g.add(src, dst, c.size, b.c.Start)
	}
	if len(m.triggers) == 0 {
		return
	}
	all, need := m.activations(), m.need()
	for i := range m.connections {
		c := &m.connections[i]
		if c.trigger == 0 {
			continue
		}
		s := &b.p.Steps[i] // a step for each connection
		s.Need = int32(need[i])
		for _, a := range all[c.trigger] {
			d := fabric.Dep{Step: int32(a.connection), On: fabric.Received}
			switch o := &m.connections[a.connection]; {
			case a.atSender && o.src == c.src:
				d.On = fabric.Done
			case a.atSender:
				// The receiver starts the flow when the acknowledgement would be back.
				s.Time = max(s.Time, b.back(b.slots[o.src].node, b.slots[o.dst].node))
			}
			s.After = append(s.After, d)
		}
	}
}

// back returns the time of an acknowledgement of 86 bytes on links between two hosts.
func (b *builder) back(src, dst int) (sum vtime.Time) {
	if b.paths == nil {
		b.paths = b.g.t.Paths()
	}
	for _, l := range b.paths.To(dst).From(src) {
		sum += l.Delay + l.Rate.TxTime(roce.AckLen+24)
	}
	return sum
}
