// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sort"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
)

// traceEvent is an event of the Chrome trace event format, which Perfetto
// reads: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
// Times are in microseconds.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"`
	Dur   *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	ID    string         `json:"id,omitempty"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// WriteTrace writes recordings as a trace. Nodes are processes, and their ports
// and classes threads. Pauses are slices, queues and registers counters, warnings
// instants, and flows asynchronous slices of their sender. Jobs are processes, with
// threads for what each of their ranks does.
// Results are those of the runs, if there are any.
func WriteTrace(w io.Writer, runs []*Run, results []*fabric.Results) error {
	b := bufio.NewWriter(w)
	b.WriteString(`{"displayTimeUnit":"ns","traceEvents":[`)
	t := &tracer{w: b}
	next := 1 // number of the next process
	for _, r := range runs {
		next += len(r.Network.Nodes)
	}
	for i, r := range runs {
		t.run(i, r, len(runs) > 1)
		if i < len(results) && results[i] != nil {
			t.ranks(next, r, results[i], len(runs) > 1)
			next += len(results[i].Plans)
		}
	}
	if t.err != nil {
		return t.err
	}
	b.WriteString("\n]}\n")
	return b.Flush()
}

type tracer struct {
	w    *bufio.Writer
	some bool
	err  error
}

func (t *tracer) emit(e traceEvent) {
	text, err := json.Marshal(e)
	if err != nil {
		t.err = err
		return
	}
	if t.some {
		t.w.WriteByte(',')
	}
	t.some = true
	t.w.WriteByte('\n')
	t.w.Write(text)
}

// classes is the number of threads of each port: one per class, and one for
// messages.
const classes = 9

func (t *tracer) run(number int, r *Run, several bool) {
	base := 1 + number*len(r.Network.Nodes)
	pid := func(node int) int { return base + node }
	for i, n := range r.Network.Nodes {
		name := n.Name
		if several {
			name += fmt.Sprintf(" (%s, seed %d)", r.Arm, r.Seed)
		}
		t.emit(traceEvent{Name: "process_name", Phase: "M", PID: pid(i), Args: map[string]any{"name": name}})
	}
	// end returns the sender of a channel, or its receiver.
	end := func(channel int64, receiver bool) (node, port int) {
		l := r.Network.Links[channel/2]
		if (channel%2 == 0) != receiver {
			return l.A, l.AP
		}
		return l.B, l.BP
	}
	named := make(map[[2]int]bool)
	thread := func(node, port, class int) int {
		tid := port*classes + class
		if !named[[2]int{node, tid}] {
			named[[2]int{node, tid}] = true
			name := fmt.Sprintf("port %d", port)
			if class < classes-1 {
				name += fmt.Sprintf(", class %d", class)
			}
			t.emit(traceEvent{Name: "thread_name", Phase: "M", PID: pid(node), TID: tid, Args: map[string]any{"name": name}})
		}
		return tid
	}
	us := func(ns int64) float64 { return float64(ns) / 1000 }
	last := int64(0)
	if n := len(r.TNS); n > 0 {
		last = r.TNS[n-1]
	}
	for _, p := range r.Pauses(last) {
		node, port := end(p.Channel, false)
		dur := us(p.EndNS) - us(p.StartNS)
		t.emit(traceEvent{Name: "PAUSE", Cat: "pfc", Phase: "X", TS: us(p.StartNS), Dur: &dur, PID: pid(node), TID: thread(node, port, int(p.Class))})
	}
	for _, e := range r.Events {
		name := ""
		args := map[string]any{}
		switch Kind(e[1]) {
		case Warning:
			name = "warning ends"
			if e[3] != 0 {
				name = "warning"
			}
			args["class"] = e[4]
		case KickOut:
			name = "kick-out"
			args["path"] = e[3]
		case Message:
			name = fmt.Sprintf("message of kind %d", e[3])
		default:
			continue
		}
		node, port := end(e[2], true)
		t.emit(traceEvent{Name: name, Cat: "scheme", Phase: "i", Scope: "t", TS: us(e[0]), PID: pid(node), TID: thread(node, port, classes-1), Args: args})
	}
	// A queue that has become empty needs a counter of zero.
	up := make(map[int64]bool)
	values := make([]uint64, len(r.Network.Nodes)*len(r.Registers))
	for i, ns := range r.TNS {
		counter := func(channel, bytes int64) {
			node, port := end(channel, false)
			t.emit(traceEvent{Name: fmt.Sprintf("queue of port %d", port), Cat: "queue", Phase: "C", TS: us(ns), PID: pid(node), Args: map[string]any{"bytes": bytes}})
		}
		now := make(map[int64]bool)
		for k := 0; k < len(r.Queues[i]); k += 2 {
			now[r.Queues[i][k]] = true
			counter(r.Queues[i][k], r.Queues[i][k+1])
		}
		var gone []int64
		for c := range up {
			if !now[c] {
				gone = append(gone, c)
			}
		}
		sort.Slice(gone, func(a, b int) bool { return gone[a] < gone[b] })
		for _, c := range gone {
			counter(c, 0)
		}
		up = now
		for k := 0; k < len(r.Values[i]); k += 3 {
			node, reg, v := int(r.Values[i][k]), r.Values[i][k+1], r.Values[i][k+2]
			info := r.Registers[reg]
			t.emit(traceEvent{Name: info.Name, Cat: "scheme", Phase: "C", TS: us(ns), PID: pid(node), Args: map[string]any{info.Unit: v}})
			at := node*len(r.Registers) + int(reg)
			if info.Name == "reroutes" && v > values[at] {
				t.emit(traceEvent{Name: "reroutes", Cat: "scheme", Phase: "i", Scope: "p", TS: us(ns), PID: pid(node), Args: map[string]any{"packets": v - values[at]}})
			}
			values[at] = v
		}
	}
	for i, f := range r.Flows {
		if f.FCTNS == 0 {
			continue
		}
		name := fmt.Sprintf("%s to %s", r.Network.Nodes[f.Src].Name, r.Network.Nodes[f.Dst].Name)
		id := fmt.Sprintf("0x%x", number<<32|i)
		t.emit(traceEvent{Name: name, Cat: "flow", Phase: "b", ID: id, TS: us(f.StartNS), PID: pid(f.Src), Args: map[string]any{"bytes": f.Bytes, "flow": i}})
		t.emit(traceEvent{Name: name, Cat: "flow", Phase: "e", ID: id, TS: us(f.StartNS + f.FCTNS), PID: pid(f.Src)})
	}
}

// ranks writes the jobs of a run: a process each, with three threads for each rank:
// its computing and copying, its operations, and its messages.
func (t *tracer) ranks(base int, r *Run, results *fabric.Results, several bool) {
	us := func(at vtime.Time) float64 { return at.Microseconds() }
	slice := func(name, cat string, pid, tid int, from, until vtime.Time, args map[string]any) {
		if from < 0 || until < from {
			return
		}
		dur := us(until) - us(from)
		t.emit(traceEvent{Name: name, Cat: cat, Phase: "X", TS: us(from), Dur: &dur, PID: pid, TID: tid, Args: args})
	}
	for i := range results.Plans {
		p := &results.Plans[i]
		pid := base + i
		name := "ranks of " + p.Name
		if several {
			name += fmt.Sprintf(" (%s, seed %d)", r.Arm, r.Seed)
		}
		t.emit(traceEvent{Name: "process_name", Phase: "M", PID: pid, Args: map[string]any{"name": name}})
		for rank, host := range p.Hosts {
			for k, what := range []string{"computes", "operations", "sends"} {
				t.emit(traceEvent{Name: "thread_name", Phase: "M", PID: pid, TID: 3*rank + k, Args: map[string]any{"name": fmt.Sprintf("rank %d on %s %s", rank, r.Network.Nodes[host].Name, what)}})
			}
		}
		begun := make(map[[2]int32]vtime.Time)
		for k := range p.Plan.Steps {
			s, at := &p.Plan.Steps[k], &p.Steps[k]
			tid := 3 * int(s.Rank)
			switch {
			case s.Mark == fabric.Compute || s.Mark == fabric.Move:
				slice([]string{fabric.Compute: "compute", fabric.Move: "copy"}[s.Mark], "rank", pid, tid, at.Begun, at.Done, nil)
			case s.Mark == fabric.Begin && at.Done >= 0:
				begun[[2]int32{s.Rank, s.Op}] = at.Done
			case s.Mark == fabric.End && s.Op >= 0:
				op := &p.Ops[s.Op]
				if from, ok := begun[[2]int32{s.Rank, s.Op}]; ok {
					slice(fmt.Sprintf("%s of %d bytes", op.Kind, op.Bytes), "rank", pid, tid+1, from, at.Done, map[string]any{"iteration": op.Iteration, "ranks": op.Ranks, "warmup": op.Warmup})
				}
			}
			if at.Flow < 0 || at.Sent < 0 || at.Done < 0 {
				continue
			}
			f := &results.Flows[at.Flow]
			name := fmt.Sprintf("%s to %s", r.Network.Nodes[f.Src].Name, r.Network.Nodes[f.Dst].Name)
			id := fmt.Sprintf("0x%x", uint64(pid)<<32|uint64(k))
			args := map[string]any{"bytes": f.Size, "step": k, "ideal_us": us(f.Ideal), "stalled": f.Stalled, "retransmissions": f.Resent}
			t.emit(traceEvent{Name: name, Cat: "message", Phase: "b", ID: id, TS: us(at.Sent), PID: pid, TID: tid + 2, Args: args})
			t.emit(traceEvent{Name: name, Cat: "message", Phase: "e", ID: id, TS: us(at.Done), PID: pid, TID: tid + 2})
		}
	}
}

// PauseSpan is an interval in which a class of a channel was paused.
type PauseSpan struct {
	Channel        int64
	Class          int64
	StartNS, EndNS int64
}

// Pauses joins PAUSE and RESUME to spans, sorted by their start. Spans that have
// not ended at time until, in ns, end there.
func (r *Run) Pauses(until int64) []PauseSpan {
	type key struct{ channel, class int64 }
	type span struct{ start, until int64 }
	open := make(map[key]span)
	var out []PauseSpan
	for _, e := range r.Events {
		if Kind(e[1]) != Pause {
			continue
		}
		k := key{e[2], e[3]}
		s, on := open[k]
		if on && s.until < e[0] {
			out = append(out, PauseSpan{k.channel, k.class, s.start, s.until})
			delete(open, k)
			on = false
		}
		switch {
		case e[4] == 0 && on:
			out = append(out, PauseSpan{k.channel, k.class, s.start, e[0]})
			delete(open, k)
		case e[4] > 0 && on:
			open[k] = span{s.start, e[4]}
		case e[4] > 0:
			open[k] = span{e[0], e[4]}
		}
	}
	for k, s := range open {
		out = append(out, PauseSpan{k.channel, k.class, s.start, max(s.start, min(s.until, until))})
	}
	sort.Slice(out, func(a, b int) bool {
		x, y := out[a], out[b]
		switch {
		case x.StartNS != y.StartNS:
			return x.StartNS < y.StartNS
		case x.Channel != y.Channel:
			return x.Channel < y.Channel
		}
		return x.Class < y.Class
	})
	return out
}
