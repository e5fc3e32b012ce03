// SPDX-License-Identifier: Apache-2.0

package roce

import "github.com/pauseless/pauseless/internal/vtime"

// Task is a step of a rank on a host: a time of computing, a flow, or both. It is
// ready when as many events as it needs have happened, all at this host.
type Task struct {
	Need  int        // events that it waits for
	Start vtime.Time // it is not ready before
	Time  vtime.Time // of computing, before its flow begins or it is done
	// Lane is a processor of the host, from 1, whose tasks compute one after the
	// other in the order in which they are ready. Tasks of lane 0 do not wait for
	// one another.
	Lane int
	Flow *Outgoing // which Send has accepted held; nil: none
	// Count makes the end of the task count in Counted.
	Count bool
}

// TaskTimes are the times of a task; -1: not yet.
type TaskTimes struct {
	Ready vtime.Time // all events have happened
	Begun vtime.Time // of computing, or of the flow if there is no computing
	// Done is the end of computing, or the last acknowledgement of its flow.
	Done vtime.Time
}

// work has the tasks of a host. A host without tasks has none.
type work struct {
	h     *Host
	tasks []task
	edges []edge
	inbox []int32 // by number of a receiver with tasks waiting for it, from 1: the first edge
	lanes []vtime.Time
	done  int
	count int // tasks with count that are done
	// timers counts events that the work has scheduled: while there are some, the
	// host computes.
	timers int
}

type task struct {
	need         int32
	lane         int32
	count        bool
	onDone       int32 // first edge to tasks that wait for its end, from 1
	onLeft       int32 // first edge to tasks that wait for its flow's last packet to leave
	start, time  vtime.Time
	flow         *sender
	ready, begun vtime.Time
	ended        vtime.Time
}

// edge is an element of a list of tasks that wait for an event.
type edge struct{ task, next int32 }

// Kinds of the events that the work schedules.
const (
	taskReady = iota
	taskComputed
	taskLeft
)

// AddTask adds a task and returns its number, from 1.
func (h *Host) AddTask(t Task) int {
	if h.work == nil {
		h.work = &work{h: h}
	}
	w := h.work
	w.tasks = append(w.tasks, task{need: int32(t.Need), lane: int32(t.Lane), count: t.Count, start: t.Start, time: t.Time, flow: (*sender)(t.Flow), ready: -1, begun: -1, ended: -1})
	n := len(w.tasks)
	if t.Flow != nil {
		t.Flow.task = int32(n)
	}
	for len(w.lanes) <= t.Lane {
		w.lanes = append(w.lanes, 0)
	}
	return n
}

// StartTasks makes tasks that wait for nothing ready, from the given one on.
func (h *Host) StartTasks(from int) {
	for i := from; i <= len(h.work.tasks); i++ {
		if t := &h.work.tasks[i-1]; t.need == 0 {
			h.work.schedule(max(t.start, h.net.Now()), i, taskReady)
		}
	}
}

// AfterTask makes a task wait for the end of another.
func (h *Host) AfterTask(task, other int) {
	t := &h.work.tasks[other-1]
	t.onDone = h.work.link(task, t.onDone)
}

// AfterLeft makes a task wait until the last packet of another task's flow has left
// the host for the first time.
func (h *Host) AfterLeft(task, other int) {
	t := &h.work.tasks[other-1]
	t.onLeft = h.work.link(task, t.onLeft)
}

// AfterReceived makes a task wait until a flow to this host has arrived.
func (h *Host) AfterReceived(task int, in *Incoming) {
	w := h.work
	if in.task == 0 {
		w.inbox = append(w.inbox, 0)
		in.task = int32(len(w.inbox))
	}
	w.inbox[in.task-1] = w.link(task, w.inbox[in.task-1])
}

func (w *work) link(task int, next int32) int32 {
	w.edges = append(w.edges, edge{int32(task), next})
	return int32(len(w.edges))
}

// Tasks returns the number of tasks and of those that are done.
func (h *Host) Tasks() (all, done int) {
	if h.work == nil {
		return 0, 0
	}
	return len(h.work.tasks), h.work.done
}

// Counted returns the number of tasks with Count that are done.
func (h *Host) Counted() int {
	if h.work == nil {
		return 0
	}
	return h.work.count
}

// Computing reports whether a task of the host computes, or waits for its start.
func (h *Host) Computing() bool { return h.work != nil && h.work.timers > 0 }

// TaskTimes returns the times of a task.
func (h *Host) TaskTimes(number int) TaskTimes {
	t := &h.work.tasks[number-1]
	return TaskTimes{t.ready, t.begun, t.ended}
}

func (w *work) schedule(at vtime.Time, number, kind int) {
	w.timers++
	w.h.net.At(at, w, uint64(number)<<2|uint64(kind))
}

// Fire implements vtime.Event. arg has the number of a task and the kind of event.
func (w *work) Fire(now vtime.Time, arg uint64) {
	w.timers--
	number := int(arg >> 2)
	t := &w.tasks[number-1]
	switch arg & 3 {
	case taskReady:
		w.begin(now, number)
	case taskComputed:
		w.computed(now, number)
	case taskLeft:
		w.release(now, t.onLeft)
	}
}

// release tells the tasks of a list that an event has happened.
func (w *work) release(now vtime.Time, list int32) {
	for list != 0 {
		e := w.edges[list-1]
		list = e.next
		t := &w.tasks[e.task-1]
		if t.need--; t.need != 0 {
			continue
		}
		if t.start > now {
			w.schedule(t.start, int(e.task), taskReady)
		} else {
			w.begin(now, int(e.task))
		}
	}
}

// begin begins a task that is ready.
func (w *work) begin(now vtime.Time, number int) {
	t := &w.tasks[number-1]
	t.ready, t.begun = now, now
	if t.time == 0 && t.lane == 0 {
		w.computed(now, number)
		return
	}
	if t.lane > 0 {
		t.begun = max(now, w.lanes[t.lane])
		w.lanes[t.lane] = t.begun + t.time
	}
	w.schedule(t.begun+t.time, number, taskComputed)
}

// computed ends the computing of a task.
func (w *work) computed(now vtime.Time, number int) {
	t := &w.tasks[number-1]
	s := t.flow
	if s == nil {
		w.end(now, number)
		return
	}
	s.start = now
	s.begin(now)
	s.nic.kick(now)
}

func (w *work) end(now vtime.Time, number int) {
	t := &w.tasks[number-1]
	t.ended = now
	w.done++
	if t.count {
		w.count++
	}
	w.release(now, t.onDone)
}

// leaving schedules the event of a flow whose last packet leaves at a time.
func (w *work) leaving(at vtime.Time, number int32) {
	if w.tasks[number-1].onLeft != 0 {
		w.schedule(at, int(number), taskLeft)
	}
}

// arrived handles the arrival of a flow.
func (w *work) arrived(now vtime.Time, box int32) { w.release(now, w.inbox[box-1]) }
