// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"io"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
)

// model is a workload text of SimAI and of ASTRA-sim 1: layers of a network with the
// times and collectives of the passes over them.
type model struct {
	src    source
	job    *Job
	groups map[string]int // sizes of groups of ranks in the head: model_parallel_NPU_group, ep, pp …
	layers []layer
	micro  bool // only the collectives of weight gradients, of all ranks, all at once
}

// layer is a line: forward, and backward the gradients of inputs and of weights.
type layer struct {
	line                    int
	name                    string
	forward, input, weights phase
	update                  vtime.Time
}

// phase is a time of computing and a collective after it.
type phase struct {
	time vtime.Time
	kind CollectiveKind // empty: none
	over string         // the group: TP, DP, EP, DP_EP
	size int64
}

func (m *model) ranks() int { return m.groups["all_gpus"] }

// simaiColls has the collectives of a text.
var simaiColls = map[string]CollectiveKind{"ALLREDUCE": AllReduce, "ALLGATHER": AllGather, "REDUCESCATTER": ReduceScatter, "ALLTOALL": AllToAll, "BROADCAST": Broadcast}

// readSimAI reads a workload text. An error is a diag.List.
func readSimAI(name string, r io.Reader, j *Job) (*model, error) {
	m := &model{src: source{name: name}, job: j, groups: make(map[string]int)}
	sc := lineReader(r)
	line, want := 0, int64(-1)
	for sc.Scan() {
		line++
		words := strings.Fields(sc.Text())
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		var err error
		switch {
		case len(m.groups) == 0:
			err = m.head(line, words)
		case want < 0:
			if want, err = whole("the number of layers", words[0], 1, 1<<20); err != nil {
				err = m.src.fail(line, "%v", err)
			}
		case int64(len(m.layers)) == want:
			err = m.src.fail(line, "the file has more than the %d layers that it says", want)
		default:
			err = m.layer(line, words)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := sc.Err(); err != nil {
		return nil, m.src.fail(line+1, "%v", err)
	}
	if int64(len(m.layers)) != want {
		return nil, m.src.fail(0, "the file says %d layers and has %d", max(want, 0), len(m.layers))
	}
	return m, nil
}

// head reads the first line: a way of parallelism, and pairs of a name and a number.
func (m *model) head(line int, words []string) error {
	if m.micro = words[0] == "MICRO"; !m.micro && words[0] != "HYBRID_TRANSFORMER_FWD_IN_BCKWD" {
		return m.src.fail(line, "parallelism %q is not supported; HYBRID_TRANSFORMER_FWD_IN_BCKWD and MICRO are", words[0])
	}
	m.groups["model_parallel_NPU_group"] = 1
	for i := 1; i < len(words); i++ {
		key, ok := strings.CutSuffix(words[i], ":")
		if !ok || i+1 == len(words) {
			return m.src.fail(line, "%q: expected pairs of a name and a number, as in model_parallel_NPU_group: 8", words[i])
		}
		i++
		n, err := strconv.Atoi(words[i])
		if err != nil || n < 0 || n > 1<<20 {
			return m.src.fail(line, "%s is %q, must be a whole number", key, words[i])
		}
		switch key {
		case "model_parallel_NPU_group", "ep", "all_gpus":
			if n < 1 {
				return m.src.fail(line, "%s is %d, must be at least 1", key, n)
			}
			m.groups[key] = n
		case "pp":
			if n > 1 {
				return m.src.fail(line, "pp is %d: pipelines are not supported in this format; the text has no messages between stages", n)
			}
		case "checkpoints", "checkpoint_initiates":
			if n > 0 {
				return m.src.fail(line, "%s is %d: recomputing from checkpoints is not supported", key, n)
			}
		case "vpp", "ga", "pp_comm":
			// Numbers of passes, which the layers already have.
		default:
			return m.src.fail(line, "%q is unknown; known are model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus, pp_comm, checkpoints, checkpoint_initiates", key)
		}
	}
	return nil
}

// layer reads a layer: name, dependency, three phases of a time, a collective and its
// size, and the time of the update.
func (m *model) layer(line int, words []string) error {
	if len(words) != 12 {
		return m.src.fail(line, "a layer has 12 columns, not %d: name, dependency, and of forward, input gradients and weight gradients each time, collective and size, and the time of the update", len(words))
	}
	l := layer{line: line, name: words[0]}
	if _, err := whole("dependency", words[1], -1, 1<<20); err != nil {
		return m.src.fail(line, "%v", err)
	}
	if words[1] != "-1" {
		return m.src.fail(line, "dependency %s on another layer is not supported; -1, on the one before, is", words[1])
	}
	for i, p := range []*phase{&l.forward, &l.input, &l.weights} {
		w := words[2+3*i:]
		ns, err := whole("time", w[0], 0, longest.Nanoseconds())
		if err != nil {
			return m.src.fail(line, "column %d: %v", 3+3*i, err)
		}
		p.time = m.job.scaled(vtime.Time(ns) * vtime.Nanosecond)
		if p.size, err = whole("size", w[2], 0, mostBytes); err != nil {
			return m.src.fail(line, "column %d: %v", 5+3*i, err)
		}
		if w[1] == "NONE" || p.size == 0 {
			continue
		}
		name, over, _ := strings.Cut(w[1], "_")
		p.kind, p.over = simaiColls[name], over
		if p.over == "" {
			p.over = [...]string{"TP", "TP", "DP"}[i]
		}
		if p.kind == "" || p.over != "TP" && p.over != "DP" && p.over != "EP" && p.over != "DP_EP" {
			return m.src.fail(line, "column %d: collective %q is not supported; ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL and BROADCAST are, with _DP, _EP, _DP_EP or nothing, and NONE", 4+3*i, w[1])
		}
	}
	ns, err := whole("time", words[11], 0, longest.Nanoseconds())
	if err != nil {
		return m.src.fail(line, "column 12: %v", err)
	}
	l.update = m.job.scaled(vtime.Time(ns) * vtime.Nanosecond)
	m.layers = append(m.layers, l)
	return nil
}

// members returns the groups of n ranks over which a collective is done. Ranks of a
// tensor-parallel group are neighbours; those of the same place in these groups are
// data-parallel. Experts divide the data-parallel ranks.
func (m *model) members(n int, over string) (list [][]int) {
	tp := min(m.groups["model_parallel_NPU_group"], n)
	dp := n / tp
	ep := min(max(m.groups["ep"], 1), dp)
	add := func(size, stride, from int) {
		var g []int
		for k := range size {
			g = append(g, from+k*stride)
		}
		list = append(list, g)
	}
	switch over {
	case "TP":
		for d := range dp {
			add(tp, 1, d*tp)
		}
	case "DP":
		for t := range tp {
			add(dp, tp, t)
		}
	case "EP":
		for t := range tp {
			for d := 0; d+ep <= dp; d += ep {
				add(ep, tp, d*tp+t)
			}
		}
	case "DP_EP":
		for t := range tp {
			for e := range ep {
				add(dp/ep, ep*tp, e*tp+t)
			}
		}
	}
	return list
}

func (m *model) build(b *builder) {
	n := len(b.slots)
	tp := m.groups["model_parallel_NPU_group"]
	if n%tp != 0 || n/tp%max(m.groups["ep"], 1) != 0 {
		b.fail(m.src.fail(1, "%d ranks are not a multiple of groups of %d ranks and %d experts; give ranks", n, tp, max(m.groups["ep"], 1)))
		return
	}
	all := make([][]int, 1)
	all[0] = ranks(n)
	done := b.none() // what each rank does next waits for it
	compute := func(d vtime.Time) {
		for r := range n {
			done[r] = b.compute(r, d, done[r])
		}
	}
	// exchange makes a phase's collective after what ranks have done, and returns what
	// waits for its end.
	exchange := func(p *phase) deps {
		out := b.none()
		for r := range n {
			out[r] = dup(done[r])
		}
		if p.kind == "" {
			return out
		}
		groups := all
		if !m.micro {
			groups = m.members(n, p.over)
		}
		for _, group := range groups {
			if len(group) < 2 {
				continue
			}
			size := p.size
			if least := int64(2 * len(group) * max(b.c.Channels, 1)); size < least {
				size = least // a message has at least a byte
			}
			for r, end := range b.among(group, p.kind, size, out) {
				out[r] = []fabric.Dep{{Step: end}}
			}
		}
		return out
	}
	for range max(m.job.Passes, 1) {
		if m.micro {
			out := b.none()
			for i := range m.layers {
				out.join(exchange(&m.layers[i].weights))
			}
			for r := range n {
				done[r] = b.merged(r, out[r])
			}
			continue
		}
		for i := range m.layers {
			l := &m.layers[i]
			compute(l.forward.time)
			done = exchange(&l.forward)
		}
		pending := b.none() // collectives of weights, which computing does not wait for
		for i := len(m.layers) - 1; i >= 0; i-- {
			l := &m.layers[i]
			compute(l.weights.time)
			out := exchange(&l.weights)
			if l.weights.kind != "" {
				pending.join(out)
			}
			compute(l.input.time)
			done = exchange(&l.input)
		}
		for r := range n {
			done[r] = b.merged(r, append(dup(done[r]), pending[r]...))
		}
		for i := range m.layers {
			compute(m.layers[i].update)
		}
	}
	for r := range n {
		b.step(r, fabric.Other, done[r])
	}
	b.startAt()
}
