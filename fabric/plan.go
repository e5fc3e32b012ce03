// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Plan is the work of a job: steps of its ranks that wait for one another. A flow of
// a plan belongs to one of its steps, which starts it. The fabric does not change a
// plan, and several fabrics may share it.
type Plan struct {
	Name  string // of the job
	Hosts []int  // by rank: nodes of the topology, any adapter of a host
	// Where, if set, names where a step comes from, for errors: "line 7".
	Where func(step int) string
	Ops   []Op // what the steps belong to, for the caller
	Steps []Step
}

// Op is a part of a job to which steps belong, a collective for example. The fabric
// does not use it.
type Op struct {
	Kind      string // "all_reduce"
	Bytes     int64  // its size
	Base      int64  // the part of this that a rank gives, in bytes
	Ranks     int
	Root      int  // rank; -1: none
	Iteration int  // from 0
	Warmup    bool // not measured
}

// Step is a step of a rank: a time of computing, a flow, or both. It is ready when
// the events in After have happened.
type Step struct {
	Rank int32
	Op   int32 // number in Plan.Ops; -1: none
	Mark Mark
	// Lane is a processor of the host, from 1, whose steps compute one after the
	// other; lane 0 does not limit them.
	Lane int32
	// Need is how many of After must happen, if not all of them.
	Need  int32
	Start vtime.Time // it is not ready before
	Time  vtime.Time // of computing, before the flow starts or the step is done
	Size  int64      // bytes that it sends within its host; zero: none
	After []Dep
}

// Mark says what a step is, for results.
type Mark uint8

// Marks. Compute is a time of computing, Move a copy within a host. Begin and End are
// the first and last step of an operation at a rank.
const (
	Other Mark = iota
	Compute
	Move
	Begin
	End
)

// Dep is an event that a step waits for. It happens at the step's host.
type Dep struct {
	Step int32 // the number of another step
	On   On
}

// On is what happens to another step.
type On uint8

// Done is the end of a step at the same host: of its computing, or the last
// acknowledgement of its flow. Left: the last packet of its flow has left the host for
// the first time. Received: its flow, which another host sent to this one, has arrived.
const (
	Done On = iota
	Left
	Received
)

// PlanResult has the results of a plan.
type PlanResult struct {
	*Plan
	Steps []StepResult
	// Idle is the time at which the plan would end in an idle network (Estimator.Idle);
	// zero: unknown.
	Idle vtime.Time
}

// StepResult has the times of a step; -1: not yet.
type StepResult struct {
	Ready vtime.Time // all events have happened
	Begun vtime.Time // of computing
	// Sent is the start of the flow. Done is the last acknowledgement, or the end of
	// computing.
	Sent, Done vtime.Time
	Flow       int // number in Results.Flows; -1: none
}

// plan is a plan that has been added.
type plan struct {
	*Plan
	host  []int   // by step: the node of its host
	task  []int32 // by step: its number at the host
	flows []int32 // by step: its flow, or -1
}

// CheckPlans returns an error if a plan of the flows is invalid for the network: if it
// waits in a circle, for example.
func CheckPlans(t *topo.Topology, flows []Flow) error {
	_, err := plansOf(t, flows)
	return err
}

// newPlans finds the plans of flows that are about to be added. It returns an error
// unless each step can be ready some day.
func (f *Fabric) newPlans(flows []Flow) ([]*plan, error) {
	all, err := plansOf(f.topo, flows)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if slices.ContainsFunc(f.plans, func(o *plan) bool { return o.Plan == p.Plan }) {
			return nil, fmt.Errorf("job %s has been added before", p.Name)
		}
		for k := range p.flows {
			if p.flows[k] >= 0 {
				p.flows[k] += int32(len(f.flows))
			}
		}
	}
	return all, nil
}

// plansOf finds the plans of flows and checks them. Their flows are counted from the
// first of these.
func plansOf(t *topo.Topology, flows []Flow) ([]*plan, error) {
	var all []*plan
	known := make(map[*Plan]*plan)
	for i := range flows {
		fl := &flows[i]
		if fl.Plan == nil {
			continue
		}
		p := known[fl.Plan]
		if p == nil {
			p = &plan{Plan: fl.Plan, task: make([]int32, len(fl.Plan.Steps)), flows: make([]int32, len(fl.Plan.Steps)), host: make([]int, len(fl.Plan.Steps))}
			for k := range p.flows {
				p.flows[k] = -1
				r := int(p.Plan.Steps[k].Rank)
				if r < 0 || r >= len(p.Hosts) || p.Hosts[r] < 0 || p.Hosts[r] >= len(t.Nodes) || t.Nodes[p.Hosts[r]].Kind != topo.Host {
					return nil, fmt.Errorf("job %s, step %d: rank %d has no host", p.Name, k, r)
				}
				p.host[k] = t.Nodes[p.Hosts[r]].Host
			}
			known[fl.Plan] = p
			all = append(all, p)
		}
		switch k := fl.Step; {
		case k < 0 || int(k) >= len(p.flows):
			return nil, fmt.Errorf("flow %d: job %s has no step %d", i+1, p.Name, k)
		case p.flows[k] >= 0:
			return nil, fmt.Errorf("flow %d: step %d of job %s has a flow", i+1, k, p.Name)
		case fl.Src < 0 || fl.Src >= len(t.Nodes) || t.Nodes[fl.Src].Host != p.host[k]:
			return nil, fmt.Errorf("flow %d: it does not start at the host of its step %d of job %s", i+1, k, p.Name)
		default:
			p.flows[k] = int32(i)
		}
	}
	for _, p := range all {
		if err := p.check(t, flows); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Warmup reports whether the flow belongs to a warm-up.
func (fl *Flow) Warmup() bool {
	if fl.Plan == nil {
		return false
	}
	op := fl.Plan.Steps[fl.Step].Op
	return op >= 0 && fl.Plan.Ops[op].Warmup
}

// needs returns the number of events that a step waits for.
func (s *Step) needs() int {
	if s.Need > 0 {
		return int(s.Need)
	}
	return len(s.After)
}

// check returns an error if a dependency is not at one host, or if steps can never be
// ready, with the circle that they wait in.
func (p *plan) check(t *topo.Topology, flows []Flow) error {
	n := len(p.Plan.Steps)
	waiting := make([]int32, n)
	head, next := make([]int32, n), []int32{0} // lists of the steps that wait for a step
	by := []int32{0}
	var queue []int32
	for k := range n {
		s := &p.Plan.Steps[k]
		for _, d := range s.After {
			if d.Step < 0 || int(d.Step) >= n {
				return fmt.Errorf("job %s: %s waits for step %d, which does not exist", p.Name, p.name(t, flows, k), d.Step)
			}
			fl := p.flows[d.Step]
			at := p.host[d.Step]
			switch {
			case d.On != Done && fl < 0:
				return fmt.Errorf("job %s: %s waits for a flow of %s, which has none", p.Name, p.name(t, flows, k), p.name(t, flows, int(d.Step)))
			case d.On == Received:
				at = t.Nodes[flows[fl].Dst].Host
			}
			if at != p.host[k] {
				return fmt.Errorf("job %s: %s waits for %s, which happens at another host, %s", p.Name, p.name(t, flows, k), p.name(t, flows, int(d.Step)), t.Nodes[at].Name)
			}
			by, next = append(by, int32(k)), append(next, head[d.Step])
			head[d.Step] = int32(len(by) - 1)
		}
		if s.needs() > len(s.After) {
			return fmt.Errorf("job %s: %s needs %d of %d events: it can never begin", p.Name, p.name(t, flows, k), s.needs(), len(s.After))
		}
		if waiting[k] = int32(s.needs()); waiting[k] == 0 {
			queue = append(queue, int32(k))
		}
	}
	done := len(queue)
	for len(queue) > 0 {
		k := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for e := head[k]; e != 0; e = next[e] {
			if waiting[by[e]]--; waiting[by[e]] == 0 {
				queue = append(queue, by[e])
				done++
			}
		}
	}
	if done == n {
		return nil
	}
	return fmt.Errorf("job %s: steps wait for one another in a circle, so that they can never begin: %s", p.Name, p.circle(t, flows, waiting))
}

// circle describes steps that wait for one another.
func (p *plan) circle(t *topo.Topology, flows []Flow, waiting []int32) string {
	at := slices.IndexFunc(waiting, func(w int32) bool { return w > 0 })
	seen := make(map[int]int)
	var path []int
	for {
		if first, ok := seen[at]; ok {
			path = path[first:]
			break
		}
		seen[at] = len(path)
		path = append(path, at)
		for _, d := range p.Plan.Steps[at].After {
			if waiting[d.Step] > 0 {
				at = int(d.Step)
				break
			}
		}
	}
	text := ""
	for i, k := range path {
		if i == mostNamed {
			text += fmt.Sprintf("… (%d steps) waits for ", len(path))
			break
		}
		text += p.name(t, flows, k) + " waits for "
	}
	return text + p.name(t, flows, path[0])
}

// mostNamed is the greatest number of steps that an error names.
const mostNamed = 8

// name names a step: "step 7 of rank 3 (h4 to h5, 1000 bytes)", and where it comes from.
func (p *plan) name(t *topo.Topology, flows []Flow, k int) string {
	text := fmt.Sprintf("step %d of rank %d", k, p.Plan.Steps[k].Rank)
	if i := p.flows[k]; i >= 0 {
		fl := &flows[i]
		text += fmt.Sprintf(" (%s to %s, %d bytes)", t.Nodes[fl.Src].Name, t.Nodes[fl.Dst].Name, fl.Size)
	}
	if p.Where != nil {
		if where := p.Where(k); where != "" {
			text += " in " + where
		}
	}
	return text
}

// start adds a plan whose flows have been added.
func (p *plan) start(f *Fabric) {
	first := make(map[int]int)
	for k := range p.Plan.Steps {
		s := &p.Plan.Steps[k]
		t := roce.Task{Need: s.needs(), Start: s.Start, Time: s.Time, Lane: int(s.Lane), Count: s.Mark == End}
		if t.Count {
			f.ends++
		}
		if i := p.flows[k]; i >= 0 {
			t.Flow = f.flows[i].out
		}
		p.task[k] = int32(f.hosts[p.host[k]].AddTask(t))
		if _, ok := first[p.host[k]]; !ok {
			first[p.host[k]] = int(p.task[k])
		}
	}
	for k := len(p.Plan.Steps) - 1; k >= 0; k-- { // lists are built from their ends
		h := f.hosts[p.host[k]]
		for _, d := range p.Plan.Steps[k].After {
			switch d.On {
			case Done:
				h.AfterTask(int(p.task[k]), int(p.task[d.Step]))
			case Left:
				h.AfterLeft(int(p.task[k]), int(p.task[d.Step]))
			case Received:
				h.AfterReceived(int(p.task[k]), f.flows[p.flows[d.Step]].in)
			}
		}
	}
	for id, h := range f.hosts {
		if from, ok := first[id]; ok && h != nil {
			h.StartTasks(from)
		}
	}
	f.plans = append(f.plans, p)
}

// result returns the results of a plan.
func (p *plan) result(f *Fabric, idle *idle) PlanResult {
	r := PlanResult{Plan: p.Plan, Steps: make([]StepResult, len(p.Plan.Steps))}
	r.Idle, _ = idle.run(p.Plan, p.flows, func(i int32) *Flow { return &f.flows[i].Flow })
	for k := range r.Steps {
		t := f.hosts[p.host[k]].TaskTimes(int(p.task[k]))
		s := StepResult{Ready: t.Ready, Begun: t.Begun, Done: t.Done, Sent: -1, Flow: int(p.flows[k])}
		if s.Flow >= 0 {
			if at := f.flows[s.Flow].out.Start(); at != vtime.Never {
				s.Sent = at
			}
		}
		r.Steps[k] = s
	}
	return r
}

// Computing reports whether a rank computes, or waits for the start of a step.
func (f *Fabric) Computing() bool {
	return len(f.plans) > 0 && slices.ContainsFunc(f.hosts, func(h *roce.Host) bool { return h != nil && h.Computing() })
}

// Begun reports whether the i-th flow has started: those of a plan are started by
// their step.
func (f *Fabric) Begun(i int) bool { return f.flows[i].out.Start() <= f.Now() }
