// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Types of nodes of an execution trace (et_def.proto of mlcommons/chakra).
const (
	chakraMetadata = 1
	chakraCompute  = 4
	chakraSend     = 5
	chakraRecv     = 6
	chakraColl     = 7
)

// chakraTypes names the types of nodes.
var chakraTypes = []string{"INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE",
	"STORAGE_NODE", "BATCH_NODE", "CHECKPOINT_NODE"}

// chakraColls names the types of collectives, and says which of ours they are.
var chakraColls = []struct {
	name string
	kind CollectiveKind // empty: we have none
}{
	{"ALL_REDUCE", AllReduce}, {"REDUCE", ""}, {"ALL_GATHER", AllGather}, {"GATHER", ""}, {"SCATTER", ""}, {"BROADCAST", Broadcast},
	{"ALL_TO_ALL", AllToAll}, {"REDUCE_SCATTER", ReduceScatter}, {"REDUCE_SCATTER_BLOCK", ReduceScatter}, {"BARRIER", ""},
}

// execution has the execution traces of all ranks.
type execution struct {
	job    *Job
	traces []trace
}

// trace is the trace of a rank.
type trace struct {
	src   source
	nodes []chakraNode
}

// chakraNode is a node of a trace.
type chakraNode struct {
	at       int64 // offset in the file
	id       uint64
	name     string
	kind     int
	deps     []uint64
	duration uint64            // us
	attr     map[string]uint64 // whole numbers and flags
	group    string            // pg_name
	dims     []bool            // involved_dim
	depends  []int             // numbers of deps in nodes
}

func (e *execution) ranks() int { return len(e.traces) }

// fail returns an error about a node: the place in a binary file is its offset.
func (t *trace) fail(n *chakraNode, format string, args ...any) error {
	return t.src.fail(0, "node %d %q at byte %d: %s", n.id, n.name, n.at, fmt.Sprintf(format, args...))
}

// readChakra reads the traces of ranks. An error is a diag.List.
func readChakra(names []string, files []io.Reader, j *Job) (*execution, error) {
	e := &execution{job: j, traces: make([]trace, len(files))}
	total := 0
	for r, f := range files {
		t := &e.traces[r]
		t.src.name = names[r]
		data, err := infile.From(f, names[r], infile.Data)
		if err != nil {
			return nil, err
		}
		if err := t.read(data); err != nil {
			return nil, err
		}
		if total += len(t.nodes); total > maxFlows/4 {
			return nil, t.src.fail(0, "the traces have more than %d nodes", maxFlows/4)
		}
	}
	for r := range e.traces {
		if err := e.traces[r].link(); err != nil {
			return nil, err
		}
		for i := range e.traces[r].nodes {
			if err := e.checkNode(r, &e.traces[r].nodes[i]); err != nil {
				return nil, err
			}
		}
	}
	return e, e.match()
}

// errTruncated is the cause of an error for a message that ends early.
var errTruncated = errors.New("the message ends early, or is not protobuf: is this a Chakra execution trace?")

// read reads the messages of a file: each follows its length, the first one is
// GlobalMetadata.
func (t *trace) read(data []byte) error {
	for at := 0; at < len(data); {
		size, n := protowire.ConsumeVarint(data[at:])
		if n < 0 || size > uint64(len(data)-at-n) {
			return t.src.fail(0, "byte %d: %v", at, errTruncated)
		}
		message := data[at+n : at+n+int(size)]
		if at > 0 {
			node := chakraNode{at: int64(at), attr: make(map[string]uint64)}
			if err := node.read(message); err != nil {
				return t.src.fail(0, "message at byte %d: %v", at, err)
			}
			t.nodes = append(t.nodes, node)
		}
		at += n + int(size)
	}
	if len(t.nodes) == 0 {
		return t.src.fail(0, "the file has no node")
	}
	return nil
}

// fieldsOf calls do with each field of a message: a number of its own, or bytes.
func fieldsOf(message []byte, do func(field protowire.Number, v uint64, b []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errTruncated
		}
		message = message[n:]
		var v uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var w uint32
			w, n = protowire.ConsumeFixed32(message)
			v = uint64(w)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(message)
		default:
			return fmt.Errorf("field %d has the unknown type %d", field, kind)
		}
		if n < 0 {
			return errTruncated
		}
		message = message[n:]
		if err := do(field, v, b); err != nil {
			return err
		}
	}
	return nil
}

// integers returns the elements of a repeated field: one, or packed ones.
func integers(list []uint64, v uint64, b []byte) ([]uint64, error) {
	if b == nil {
		return append(list, v), nil
	}
	for len(b) > 0 {
		x, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, errTruncated
		}
		list, b = append(list, x), b[n:]
	}
	return list, nil
}

// read reads a Node.
func (c *chakraNode) read(message []byte) error {
	return fieldsOf(message, func(field protowire.Number, v uint64, b []byte) (err error) {
		switch field {
		case 1:
			c.id = v
		case 2:
			c.name = string(b)
		case 3:
			c.kind = int(min(v, 1<<20))
		case 4, 5:
			c.deps, err = integers(c.deps, v, b)
		case 7:
			c.duration = v
		case 10:
			err = c.attribute(b)
		}
		return err
	})
}

// attribute reads an AttributeProto.
func (c *chakraNode) attribute(message []byte) error {
	name := ""
	return fieldsOf(message, func(field protowire.Number, v uint64, b []byte) error {
		switch field {
		case 1:
			name = string(b)
		case 7, 9, 11, 13, 27: // int32, int64, uint32, uint64, bool
			c.attr[name] = v
		case 15, 17: // sint32, sint64
			c.attr[name] = uint64(protowire.DecodeZigZag(v))
		case 19, 21, 23, 25: // fixed32, fixed64, sfixed32, sfixed64
			c.attr[name] = v
		case 28: // list of bool
			if name != "involved_dim" {
				return nil
			}
			return fieldsOf(b, func(_ protowire.Number, v uint64, b []byte) error {
				list, err := integers(nil, v, b)
				for _, x := range list {
					c.dims = append(c.dims, x != 0)
				}
				return err
			})
		case 29:
			if name == "pg_name" {
				c.group = string(b)
			}
		}
		return nil
	})
}

// link finds the nodes that others depend on.
func (t *trace) link() error {
	number := make(map[uint64]int, len(t.nodes))
	for i := range t.nodes {
		n := &t.nodes[i]
		if other, twice := number[n.id]; twice {
			return t.fail(n, "its id is that of the node at byte %d, too", t.nodes[other].at)
		}
		number[n.id] = i
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		for _, id := range n.deps {
			k, ok := number[id]
			if !ok {
				return t.fail(n, "it depends on node %d, which is not in the file", id)
			}
			n.depends = append(n.depends, k)
		}
	}
	return nil
}

// checkNode returns an error for what a node asks for and we do not have.
func (e *execution) checkNode(r int, n *chakraNode) error {
	t := &e.traces[r]
	peer := func(key string) error {
		v, ok := n.attr[key]
		if !ok || v >= uint64(len(e.traces)) {
			return t.fail(n, "%s is %d; the job has ranks 0 to %d, a file each", key, v, len(e.traces)-1)
		}
		return nil
	}
	size := n.attr["comm_size"]
	switch n.kind {
	case chakraMetadata:
		return nil
	case chakraCompute:
		_, err := e.time(t, n)
		return err
	case chakraSend, chakraRecv:
		key := "comm_dst"
		if n.kind == chakraRecv {
			key = "comm_src"
		}
		if err := peer(key); err != nil {
			return err
		}
		if n.attr[key] == uint64(r) {
			return t.fail(n, "rank %d sends to itself", r)
		}
	case chakraColl:
		kind := n.attr["comm_type"]
		if kind >= uint64(len(chakraColls)) || chakraColls[kind].kind == "" {
			name := "unknown"
			if kind < uint64(len(chakraColls)) {
				name = chakraColls[kind].name
			}
			return t.fail(n, "collective %s (comm_type %d) is not supported; ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL and BROADCAST are", name, kind)
		}
		if n.group != "" && n.group != "0" && n.group != "default_pg" {
			return t.fail(n, "process group %q: groups of some ranks are not supported, as the trace does not have their members", n.group)
		}
		if slices.Contains(n.dims, false) {
			return t.fail(n, "involved_dim leaves out a dimension: collectives of some dimensions are not supported")
		}
		if len(e.traces) < 2 {
			return t.fail(n, "a collective needs two ranks; give file with %%d for the rank, as in trace.%%d.et")
		}
		if size < uint64(2*len(e.traces)*max(e.job.Channels, 1)) {
			return t.fail(n, "comm_size is %d bytes, less than two for each rank and channel", size)
		}
	default:
		name := "unknown"
		if n.kind < len(chakraTypes) {
			name = chakraTypes[n.kind]
		}
		return t.fail(n, "%s (type %d) is not supported; METADATA, COMP, COMM_SEND, COMM_RECV and COMM_COLL nodes are", name, n.kind)
	}
	if size < 1 || size > mostBytes {
		return t.fail(n, "comm_size is %d, must be from 1 to %d bytes", size, int64(mostBytes))
	}
	return nil
}

// time returns the time of computing of a node.
func (e *execution) time(t *trace, n *chakraNode) (vtime.Time, error) {
	if n.duration > uint64(longest/vtime.Microsecond) {
		return 0, t.fail(n, "duration_micros is %d, more than %v", n.duration, longest)
	}
	if n.duration > 0 {
		return e.job.scaled(vtime.Time(n.duration) * vtime.Microsecond), nil
	}
	ops, bytes := n.attr["num_ops"], n.attr["tensor_size"]
	if ops == 0 && bytes == 0 {
		return 0, nil
	}
	if e.job.Flops == 0 || e.job.MemoryRate == 0 {
		return 0, t.fail(n, "it has %d operations and %d bytes, but no duration; give flops and memory_rate of the processor", ops, bytes)
	}
	s := max(float64(ops)/e.job.Flops, float64(bytes)*8/float64(e.job.MemoryRate))
	if s > longest.Seconds() {
		return 0, t.fail(n, "computing takes %g s, more than %v", s, longest)
	}
	return e.job.scaled(vtime.Time(s * float64(vtime.Second))), nil
}

// tagOf identifies the messages that a send and a receive may match.
func (n *chakraNode) channel(r int) channelOf {
	if n.kind == chakraSend {
		return channelOf{r, int(n.attr["comm_dst"]), int64(n.attr["comm_tag"])}
	}
	return channelOf{int(n.attr["comm_src"]), r, int64(n.attr["comm_tag"])}
}

// match checks that sends have receives, and that all ranks take part in collectives.
func (e *execution) match() error {
	type end struct {
		count int
		r, i  int
	}
	left := make(map[channelOf]end)
	colls := make([][]*chakraNode, len(e.traces))
	for r := range e.traces {
		for i := range e.traces[r].nodes {
			switch n := &e.traces[r].nodes[i]; n.kind {
			case chakraSend:
				left[n.channel(r)] = end{left[n.channel(r)].count + 1, r, i}
			case chakraRecv:
				left[n.channel(r)] = end{left[n.channel(r)].count - 1, r, i}
			case chakraColl:
				colls[r] = append(colls[r], n)
			}
		}
	}
	var bad []end
	for _, at := range left {
		if at.count != 0 {
			bad = append(bad, at)
		}
	}
	if len(bad) > 0 {
		at := slices.MinFunc(bad, func(a, b end) int { return cmp.Or(cmp.Compare(a.r, b.r), cmp.Compare(a.i, b.i)) })
		n := &e.traces[at.r].nodes[at.i]
		ch := n.channel(at.r)
		return e.traces[at.r].fail(n, "from rank %d to %d with tag %d the numbers of sends and receives differ by %d", ch.src, ch.dst, ch.tag, at.count)
	}
	for r := range colls {
		if len(colls[r]) != len(colls[0]) {
			return e.traces[r].src.fail(0, "the rank takes part in %d collectives, rank 0 in %d", len(colls[r]), len(colls[0]))
		}
		for i, n := range colls[r] {
			if o := colls[0][i]; n.attr["comm_type"] != o.attr["comm_type"] || n.attr["comm_size"] != o.attr["comm_size"] {
				return e.traces[r].fail(n, "collective %d of rank 0 is another one: comm_type %d of %d bytes", i+1, o.attr["comm_type"], o.attr["comm_size"])
			}
		}
	}
	return nil
}

func (e *execution) build(b *builder) {
	// Every node has a first step, which waits, and a last one, whose end is its end.
	b.inFile(func(r int, place int32) string {
		n := &e.traces[r].nodes[place-1]
		return fmt.Sprintf("node %d %q of %s", n.id, n.name, e.traces[r].src.name)
	})
	first, last := make([][]int32, len(e.traces)), make([][]int32, len(e.traces))
	sends := make(map[channelOf][]message)
	colls := make([][]int, len(e.traces))
	for r := range e.traces {
		t := &e.traces[r]
		first[r], last[r] = make([]int32, len(t.nodes)), make([]int32, len(t.nodes))
		for i := range t.nodes {
			n := &t.nodes[i]
			b.op, b.at = -1, int32(i+1)
			switch n.kind {
			case chakraCompute:
				s := b.step(r, fabric.Compute, nil)
				s.Time, _ = e.time(t, n)
				s.Lane = b.computeLane(r)
			case chakraSend:
				ch := n.channel(r)
				sends[ch] = append(sends[ch], b.free(r, ch.dst, int(ch.tag), int64(n.attr["comm_size"]), nil))
			case chakraColl:
				colls[r] = append(colls[r], i)
				fallthrough
			default:
				b.step(r, fabric.Other, nil)
			}
			first[r][i], last[r][i] = b.latest(), b.latest()
		}
	}
	b.at = 0 // steps of collectives are of several ranks
	for i := range colls[0] {
		n := &e.traces[0].nodes[colls[0][i]]
		kind := chakraColls[n.attr["comm_type"]].kind
		in := b.none()
		for r := range colls {
			in.add(r, fabric.Dep{Step: first[r][colls[r][i]]})
		}
		out := b.among(ranks(len(colls)), kind, int64(n.attr["comm_size"]), in)
		for r := range colls {
			last[r][colls[r][i]] = out[r]
		}
	}
	taken := make(map[channelOf]int)
	for r := range e.traces {
		t := &e.traces[r]
		for i := range t.nodes {
			n := &t.nodes[i]
			s := &b.p.Steps[first[r][i]]
			for _, k := range n.depends {
				s.After = append(s.After, fabric.Dep{Step: last[r][k]})
			}
			if n.kind == chakraRecv {
				ch := n.channel(r)
				s.After = append(s.After, sends[ch][taken[ch]].received())
				taken[ch]++
			}
		}
	}
	b.startAt()
}

// among makes a collective of some ranks, in an operation of its own, and returns the
// step of each rank that ends it. The algorithm is the job's, if the collective has it.
func (b *builder) among(all []int, kind CollectiveKind, size int64, in deps) map[int]int32 {
	old := *b.c
	b.c.Kind = kind
	switch {
	case kind == AllToAll || kind == Broadcast && b.c.Algorithm != Tree || kind != AllReduce && b.c.Algorithm == Tree:
		b.c.Algorithm = Ring
	case b.c.Algorithm == HalvingDoubling && kind != AllReduce && len(all)&(len(all)-1) != 0:
		b.c.Algorithm = Ring
	}
	b.op = int32(len(b.p.Ops))
	b.p.Ops = append(b.p.Ops, opOf(b.c, size, len(all), 0, false))
	begun := b.none()
	for _, r := range all {
		b.step(r, fabric.Begin, in[r])
		begun.add(r, fabric.Dep{Step: b.latest()})
	}
	out := b.collective(all, size, begun)
	ends := make(map[int]int32)
	for _, r := range all {
		b.step(r, fabric.End, out[r])
		ends[r] = b.latest()
	}
	*b.c = old
	b.op = -1
	clear(b.last)
	clear(b.numbers)
	return ends
}
