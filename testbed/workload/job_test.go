// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// memory opens files in memory.
func memory(files map[string]string) Open {
	return func(name string) (io.ReadCloser, error) {
		text, ok := files[name]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
}

// jobFlows returns the flows of a job.
func jobFlows(j *Job, net *topo.Topology) ([]fabric.Flow, error) {
	return Generate([]Spec{{Job: j}}, net, 1)
}

// ring is a matrix of htsim: a ring of four nodes in which each passes on twice what it
// receives, and a barrier.
const ringCM = `Nodes 4
Connections 9
Triggers 9
# round 1
0->1 id 1 start 0 size 100000 recv_done_trigger 1
1->2 id 2 start 0 size 100000 recv_done_trigger 2
2->3 id 3 start 0 size 100000 recv_done_trigger 3
3->0 id 4 start 1000000 size 100000 recv_done_trigger 4
1->2 id 5 trigger 1 size 100000 send_done_trigger 9 recv_done_trigger 5
2->3 id 6 trigger 2 size 100000 recv_done_trigger 6
3->0 id 7 trigger 3 size 100000 recv_done_trigger 7
0->1 id 8 trigger 4 size 100000 send_done_trigger 8 recv_done_trigger 9
1->3 id 9 trigger 9 size 1000
trigger id 1 oneshot
trigger id 2 oneshot
trigger id 3 oneshot
trigger id 4 oneshot
trigger id 5 oneshot
trigger id 6 oneshot
trigger id 7 oneshot
trigger id 8 oneshot
trigger id 9 barrier count 2
`

func TestMatrixOfHtsim(t *testing.T) {
	net := plain(t, 4)
	flows, err := jobFlows(&Job{File: "ring.cm", open: memory(map[string]string{"ring.cm": ringCM})}, net)
	if err != nil {
		t.Fatal(err)
	}
	r := simulate(t, net, flows)
	end := func(i int) (sent, received vtime.Time) {
		f := &r.Flows[i]
		return f.Start + f.FCT, f.Start + f.Delivered
	}
	start := func(i int) vtime.Time { return r.Flows[i].Start }
	if start(3) != vtime.Microsecond {
		t.Errorf("flow 4 starts at %v", start(3))
	}
	for i := range 4 {
		if _, at := end(i); start(4+i) != at {
			t.Errorf("flow %d starts at %v, its trigger fires at %v", 5+i, start(4+i), at)
		}
	}
	sent, _ := end(4)
	_, received := end(7)
	if start(8) != max(sent, received) {
		t.Errorf("the barrier's flow starts at %v, want the later of %v and %v", start(8), sent, received)
	}
}

// The second flow of a multishot trigger starts when it is activated again.
func TestMultishotTriggerStartsAFlowEachTime(t *testing.T) {
	net := plain(t, 4)
	flows, err := jobFlows(&Job{File: "m.cm", open: memory(map[string]string{"m.cm": `Nodes 4
Connections 4
Triggers 1
0->1 id 1 start 0 size 1000 recv_done_trigger 1
2->1 id 2 start 50000000 size 1000 recv_done_trigger 1
1->3 id 3 trigger 1 size 1000
1->3 id 4 trigger 1 size 1000
trigger id 1 multishot
`})}, net)
	if err != nil {
		t.Fatal(err)
	}
	r := simulate(t, net, flows)
	for i := range 2 {
		if f := &r.Flows[i]; r.Flows[2+i].Start != f.Start+f.Delivered {
			t.Errorf("flow %d starts at %v, want %v", 3+i, r.Flows[2+i].Start, f.Start+f.Delivered)
		}
	}
}

// A flow that a sender's end starts at the receiver, as in htsim's rings, starts when the
// acknowledgement is back.
func TestSendDoneTriggerStartsAFlowOfTheReceiver(t *testing.T) {
	net := plain(t, 4)
	flows, err := jobFlows(&Job{File: "m.cm", open: memory(map[string]string{"m.cm": `Nodes 4
Connections 2
Triggers 1
0->1 id 1 start 0 size 10000 send_done_trigger 1
1->2 id 2 trigger 1 size 1000
trigger id 1 oneshot
`})}, net)
	if err != nil {
		t.Fatal(err)
	}
	r := simulate(t, net, flows)
	if f := &r.Flows[0]; r.Flows[1].Start != f.Start+f.FCT {
		t.Errorf("the second flow starts at %v, the first one is acknowledged at %v", r.Flows[1].Start, f.Start+f.FCT)
	}
}

const goalText = `num_ranks 3
/* a send,
   computing of two processors */
rank 0 {
l1: calc 2000 cpu 0
l2: calc 3000 cpu 1
l3: calc 1000 cpu 0
l4: send 50000b to 1 tag 7
l4 requires l1
l4 requires l2
l5: calc 10000
l5 irequires l4
}
rank 1 {
l1: recv 50000b from 0 tag 7 nic 0
l2: calc 5000
l3: send 1000b to 2 tag 1
l2 requires l1
l3 requires l2
}
rank 2 { l1: recv 1000b from 1 tag 1; }
`

func TestScheduleOfGOAL(t *testing.T) {
	net := plain(t, 4)
	flows, err := jobFlows(&Job{File: "x.goal", open: memory(map[string]string{"x.goal": goalText})}, net)
	if err != nil {
		t.Fatal(err)
	}
	if len(flows) != 2 || flows[0].Size != 50_000 || flows[1].Size != 1000 {
		t.Fatalf("flows are %v", flows)
	}
	r := simulate(t, net, flows)
	us := vtime.Microsecond
	if got := r.Flows[0].Start; got != 3*us {
		t.Errorf("the send starts at %v, want after the longer of 2 and 3 us", got)
	}
	first := r.Flows[0].Start + r.Flows[0].Delivered
	if got := r.Flows[1].Start; got != first+5*us {
		t.Errorf("the second send starts at %v, want 5 us after %v", got, first)
	}
	var ends []vtime.Time
	for k, s := range r.Plans[0].Steps {
		if r.Plans[0].Plan.Steps[k].Mark == fabric.Compute && r.Plans[0].Plan.Steps[k].Rank == 0 {
			ends = append(ends, s.Done)
		}
	}
	// Processor 0: 2 us and 1 us in turn; then, as soon as the send starts, 10 us.
	if want := []vtime.Time{2 * us, 3 * us, 3 * us, 13 * us}; !slices.Equal(ends, want) {
		t.Errorf("computing ends at %v, want %v", ends, want)
	}
}

// et writes an execution trace.
type et struct{ bytes.Buffer }

func newET() *et {
	e := &et{}
	e.message(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "0.0.4"))
	return e
}

func (e *et) message(b []byte) { e.Write(protowire.AppendBytes(nil, b)) }

// attr is a whole number, a text or a list of flags.
type attr struct {
	name  string
	value any
}

func (e *et) node(id uint64, kind int, duration uint64, deps []uint64, attrs ...attr) *et {
	num := func(b []byte, field protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	}
	text := func(b []byte, field protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
	}
	b := num(nil, 1, id)
	b = text(b, 2, fmt.Appendf(nil, "node%d", id))
	b = num(b, 3, uint64(kind))
	if len(deps) > 1 { // packed
		var list []byte
		for _, d := range deps {
			list = protowire.AppendVarint(list, d)
		}
		b = text(b, 5, list)
	} else if len(deps) == 1 {
		b = num(b, 4, deps[0])
	}
	b = num(b, 7, duration)
	for _, a := range attrs {
		m := text(nil, 1, []byte(a.name))
		switch v := a.value.(type) {
		case int:
			m = num(m, 9, uint64(v))
		case string:
			m = text(m, 29, []byte(v))
		case []bool:
			var list []byte
			for _, x := range v {
				list = protowire.AppendVarint(list, protowire.EncodeBool(x))
			}
			m = text(m, 28, text(nil, 1, list))
		}
		b = text(b, 10, m)
	}
	e.message(b)
	return e
}

func TestTracesOfChakra(t *testing.T) {
	net := plain(t, 4)
	files := map[string]string{
		"x.0.et": newET().node(1, chakraCompute, 4, nil).
			node(2, chakraSend, 0, []uint64{1}, attr{"comm_size", 20_000}, attr{"comm_dst", 1}, attr{"comm_tag", 5}).
			node(3, chakraColl, 0, []uint64{1, 2}, attr{"comm_size", 90_000}, attr{"comm_type", 0}, attr{"involved_dim", []bool{true}}).
			node(4, chakraCompute, 0, []uint64{3}, attr{"num_ops", 1_000_000}, attr{"tensor_size", 1}).String(),
		"x.1.et": newET().node(10, chakraRecv, 0, nil, attr{"comm_size", 20_000}, attr{"comm_src", 0}, attr{"comm_tag", 5}).
			node(11, chakraColl, 0, []uint64{10}, attr{"comm_size", 90_000}, attr{"comm_type", 0}).String(),
		"x.2.et": newET().node(1, chakraColl, 0, nil, attr{"comm_size", 90_000}, attr{"comm_type", 0}, attr{"pg_name", "0"}).String(),
	}
	j := &Job{File: "x.%d.et", Flops: 1e12, MemoryRate: 1000 * vtime.Gbps, open: memory(files)}
	flows, err := jobFlows(j, net)
	if err != nil {
		t.Fatal(err)
	}
	// One message, and a ring of three: 4 steps of 3 blocks of 30 KB.
	if len(flows) != 1+12 {
		t.Fatalf("%d flows", len(flows))
	}
	r := simulate(t, net, flows)
	us := vtime.Microsecond
	if r.Flows[0].Size != 20_000 || r.Flows[0].Start != 4*us {
		t.Errorf("the send has %d bytes and starts at %v", r.Flows[0].Size, r.Flows[0].Start)
	}
	p := r.Plans[0]
	if len(p.Ops) != 1 || p.Ops[0].Kind != "all_reduce" || p.Ops[0].Bytes != 90_000 {
		t.Errorf("operations are %+v", p.Ops)
	}
	for k, s := range p.Plan.Steps {
		switch at := p.Steps[k]; {
		case s.Mark == fabric.Begin && s.Rank == 1 && at.Done != r.Flows[0].Start+r.Flows[0].Delivered:
			t.Errorf("rank 1 begins the collective at %v", at.Done)
		case s.Mark == fabric.Compute && s.Rank == 0 && s.Time != 4*us && s.Time != us:
			t.Errorf("computing takes %v; want 4 us, and 1 us for a million operations", s.Time)
		}
	}
}

const simaiText = `HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0
2
attention -1 10000 ALLREDUCE 40000 10000 ALLREDUCE 40000 5000 ALLREDUCE 80000 100
mlp -1 20000 ALLGATHER 40000 20000 NONE 0 5000 REDUCESCATTER_DP 80000 100
`

func TestWorkloadOfSimAI(t *testing.T) {
	net := plain(t, 4)
	flows, err := jobFlows(&Job{File: "gpt.txt", open: memory(map[string]string{"gpt.txt": simaiText})}, net)
	if err != nil {
		t.Fatal(err)
	}
	r := simulate(t, net, flows)
	p := r.Plans[0]
	var kinds []string
	for _, op := range p.Ops {
		kinds = append(kinds, fmt.Sprintf("%s %d of %d", op.Kind, op.Bytes, op.Ranks))
	}
	want := []string{"all_reduce 40000 of 2", "all_reduce 40000 of 2", "all_gather 40000 of 2", "all_gather 40000 of 2",
		"reduce_scatter 80000 of 2", "reduce_scatter 80000 of 2", "all_reduce 80000 of 2", "all_reduce 80000 of 2", "all_reduce 40000 of 2", "all_reduce 40000 of 2"}
	if !slices.Equal(kinds, want) {
		t.Errorf("collectives are %q, want %q", kinds, want)
	}
	// Tensor-parallel groups are neighbours, data-parallel ones every other rank.
	pairs := make(map[string]bool)
	for i := range flows {
		pairs[net.Nodes[flows[i].Src].Name+net.Nodes[flows[i].Dst].Name] = true
	}
	for _, pair := range []string{"h1h2", "h3h4", "h1h3", "h2h4"} {
		if !pairs[pair] {
			t.Errorf("no flow from %s: %v", pair, pairs)
		}
	}
	if pairs["h1h4"] || pairs["h2h3"] {
		t.Errorf("flows between other ranks: %v", pairs)
	}
	// The gradients of the weights overlap computing: the reduce-scatter of mlp begins
	// with its weights, and input gradients are computed meanwhile.
	computed := vtime.Time(0)
	for k, s := range p.Plan.Steps {
		if s.Mark == fabric.Compute && s.Rank == 0 {
			computed += p.Steps[k].Done - p.Steps[k].Begun
		}
	}
	if computed != (10+20+5+20+5+10)*vtime.Microsecond+200*vtime.Nanosecond {
		t.Errorf("rank 0 computes %v", computed)
	}
}

func TestWrongFilesOfJobs(t *testing.T) {
	net := plain(t, 4)
	head := "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2\n"
	for _, c := range []struct{ name, text, want string }{
		{"a.cm", "Nodes 4\nConnections 2\n0->1 start 0 size 1\n", "a.cm: Connections is 2, but there are 1"},
		{"a.cm", "Nodes 4\nConnections 1\n0->9 start 0 size 1\n", `a.cm:3: node is "9", must be a whole number from 0 to 3`},
		{"a.cm", "Nodes 4\nConnections 1\n0->1 size 1\n", "a.cm:3: the flow has neither start nor trigger"},
		{"a.cm", "Nodes 4\nConnections 1\n0->1 start 0\n", "size is missing"},
		{"a.cm", "Nodes 4\nConnections 1\n0->1 start 0 size 1 prio 3\n", "prio, the priority of a receiver's pulls, is not supported"},
		{"a.cm", "Nodes 4\nConnections 1\nTriggers 0\n0->1 trigger 4 size 1\n", "a.cm:4: trigger 4 is used, but not given"},
		{"a.cm", "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 1 send_done_trigger 4\n2->3 id 2 trigger 4 size 1\ntrigger id 4 oneshot\n",
			"a.cm:5: trigger 4 is activated by the flow 0->1 in line 4 and starts a flow of node 2"},
		{"a.cm", "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 1 send_done_trigger 4\n0->3 id 2 trigger 4 size 1\ntrigger id 4 barrier count 2\n",
			"a.cm:5: the flow can never start: it needs 2 activations of trigger 4, and there are 1"},
		{"a.cm", "Nodes 4\nConnections 0\nFailures 1\nfailure switch_type TOR switch_id 0 link_id 0\n", "a.cm:4: a failure of a link by switch type is not supported"},
		{"a.cm", "Nodes 9\nConnections 1\n0->1 start 0 size 1\n", "has 9 ranks; the hosts of on have 4 places"},
		{"a.goal", "ranks 2", `a.goal:1: the file begins with "ranks"; expected num_ranks N`},
		{"a.goal", "num_ranks 2\nrank 0 {\nl1: send 5b to 1 tag 0\n}\nrank 1 { }", "a.goal:3: from rank 0 to 1 with tag 0 the numbers of send and recv differ by 1"},
		{"a.goal", "num_ranks 2\nrank 0 {\nl1: calc 5\nl1 requires l2\n}", "a.goal:4: l1 requires l2: no operation"},
		{"a.goal", "num_ranks 2\nrank 0 {\nloc: get 5\n}", `a.goal:3: "get" is unknown; expected send, recv or calc`},
		{"a.goal", "num_ranks 2\nrank 0 {\nl1: calc 5\n", "the file ends within a rank"},
		{"a.goal", "num_ranks 1\n", `a.goal:1: num_ranks is "1", must be a whole number from 2 to 65536`},
		{"a.goal", "num_ranks 2\nrank 0 {\nsend 9b to 1 tag 3\nsend 5b to 1 tag 3\n}\nrank 1 {\nrecv 9b from 0 tag 3\nrecv 4b from 0 tag 3\n}",
			"a.goal:8: recv is of 4 bytes, and the send in line 4 that it matches of 5"},
		{"a.goal", "num_ranks 2\nrank 0 {\na: recv 9b from 1\nb: send 9b to 1\nb requires a\n}\nrank 1 {\na: recv 9b from 0\nb: send 9b to 0\nb requires a\n}",
			"a.goal: job part 1: steps wait for one another in a circle, so that they can never begin: step 0 of rank 0 in line 3 waits for step 3 of rank 1 (h2 to h1, 9 bytes) in line 9 waits for step 2 of rank 1 in line 8 waits for step 1 of rank 0 (h1 to h2, 9 bytes) in line 4 waits for step 0 of rank 0 in line 3"},
		{"a.cm", "Nodes 2\nConnections 2\nTriggers 2\n0->1 trigger 1 size 9 recv_done_trigger 2\n1->0 trigger 2 size 8 recv_done_trigger 1\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n",
			"(h1 to h2, 9 bytes) in line 4 waits for step 1 of rank 1 (h2 to h1, 8 bytes) in line 5 waits for step 0"},
		{"a.txt", "DATA x\n", `a.txt:1: parallelism "DATA" is not supported`},
		{"a.txt", head + "2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n", "the file says 2 layers and has 1"},
		{"a.txt", head + "1\na -1 1 NONE 0 1 NONE 0 1 NONE 0\n", "a.txt:3: a layer has 12 columns, not 11"},
		{"a.txt", head + "1\na -1 1 REDUCE 9 1 NONE 0 1 NONE 0 1\n", `column 4: collective "REDUCE" is not supported`},
		{"a.txt", "HYBRID_TRANSFORMER_FWD_IN_BCKWD pp: 4\n", "pp is 4: pipelines are not supported"},
		{"a.et", "hello", "a.et: byte 0: the message ends early, or is not protobuf"},
		{"a.et", newET().node(1, 2, 0, nil).String(), "MEM_LOAD_NODE (type 2) is not supported"},
		{"a.et", newET().node(1, 4, 0, []uint64{3}).String(), "it depends on node 3, which is not in the file"},
		{"a.et", newET().node(1, 7, 0, nil, attr{"comm_type", 9}, attr{"comm_size", 100}).String(), "collective BARRIER (comm_type 9) is not supported"},
		{"a.et", newET().node(1, 7, 0, nil, attr{"comm_type", 0}, attr{"comm_size", 100}, attr{"pg_name", "tp"}).String(), `process group "tp"`},
		{"a.et", newET().node(1, 4, 0, nil, attr{"num_ops", 100}).String(), "give flops and memory_rate"},
		{"a.et", newET().node(1, 5, 0, nil, attr{"comm_dst", 3}, attr{"comm_size", 100}).String(), "comm_dst is 3; the job has ranks 0 to 0"},
		{"a.bin", "", "a.bin has no known ending; give format"},
	} {
		_, err := jobFlows(&Job{File: c.name, open: memory(map[string]string{c.name: c.text})}, net)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q:\ngot  %v\nwant %q", c.name, c.text, err, c.want)
		}
	}
}

// fuzzJob checks that a file is an error or gives flows that can run, in any case
// without a panic.
func fuzzJob(t *testing.T, name, text string) {
	net := plain(t, 8)
	flows, err := jobFlows(&Job{File: name, Flops: 1e12, MemoryRate: vtime.Gbps, open: memory(map[string]string{name: text})}, net)
	if err != nil {
		return
	}
	if len(flows) == 0 {
		t.Error("neither an error nor a flow")
	}
	if len(flows) > 1000 {
		return
	}
	f, err := fabric.New(fabric.Config{Topology: net, Hosts: defaultHosts(), Switch: plainSwitch(net)})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.AddFlows(flows); err != nil && !strings.Contains(err.Error(), "circle") && !strings.Contains(err.Error(), "packets") {
		t.Error(err)
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add(ringCM)
	f.Add("Nodes 2\nConnections 1\n0->1 start 1e6 size 5\n")
	f.Fuzz(func(t *testing.T, text string) { fuzzJob(t, "x.cm", text) })
}

func FuzzGoal(f *testing.F) {
	f.Add(goalText)
	f.Add("num_ranks 2 rank 0 { a: send 1b to 1 } rank 1 { a: recv 1b from 0 }")
	f.Fuzz(func(t *testing.T, text string) { fuzzJob(t, "x.goal", text) })
}

func FuzzSimAI(f *testing.F) {
	f.Add(simaiText)
	f.Fuzz(func(t *testing.T, text string) { fuzzJob(t, "x.txt", text) })
}

func FuzzChakra(f *testing.F) {
	f.Add(newET().node(1, chakraCompute, 4, nil).node(2, chakraCompute, 0, []uint64{1}, attr{"num_ops", 5}).String())
	f.Add(newET().node(1, chakraSend, 0, nil, attr{"comm_size", 20}, attr{"comm_dst", 0}).String())
	f.Fuzz(func(t *testing.T, text string) { fuzzJob(t, "x.et", text) })
}
