// SPDX-License-Identifier: Apache-2.0

package causes

import "github.com/pauseless/pauseless/softswitch/tm"

// contents is what is counted of a queue. The queue is followed when somebody asks for it
// the first time, as many pauses ask for the same packets. A packet that comes costs a
// record in the log; all else is done when somebody asks again, or the log is full: that is
// soon, so that it is still in the processor's cache.
type contents struct {
	// from has, by ingress port, the bytes that the first counted packets of the log are
	// charged to the class of the queue.
	from    []int64
	counted int
}

// held returns the log of a queue with its present contents.
func (w *watch) held(port, class int) *tm.Log {
	l := w.m.Log(port, class)
	if l != nil {
		w.trim(l, port, class)
		return l
	}
	if w.holds[class] == nil {
		w.holds[class] = make([]contents, w.m.Ports())
	}
	w.m.Follow(port, class)
	return w.m.Log(port, class)
}

// full is tm.Watcher.Full.
func (w *watch) full(port, class int) { w.trim(w.m.Log(port, class), port, class) }

// trim removes the packets that have left a queue from its log, and notes that their flows
// were in it if it is a root.
func (w *watch) trim(l *tm.Log, port, class int) {
	gone := w.m.Gone(port, class)
	c := &w.holds[class][port]
	for k := range l.Items(0, min(gone, c.counted)) {
		if in := k.In(); in >= 0 {
			c.from[in] -= k.Size()
		}
	}
	c.counted -= min(gone, c.counted)
	if v := w.queue(port, class).visits; v != nil && gone > 0 {
		var last *tm.Item // of neighbours of the same flow, the last counts
		for k := range l.Items(0, gone) {
			if last != nil && last.Flow() != k.Flow() {
				v.visit(last.Flow(), last.Came)
			}
			last = k
		}
		v.visit(last.Flow(), last.Came)
	}
	l.Drop(gone)
}

// bytes returns the bytes in a queue that came in by a port and are charged to its class.
func (w *watch) bytes(in, port, class int) int64 {
	l := w.held(port, class)
	c := &w.holds[class][port]
	if c.from == nil {
		c.from = make([]int64, w.m.Ports())
	}
	for k := range l.Items(c.counted, l.Len()) {
		if from := k.In(); from >= 0 {
			c.from[from] += k.Size()
		}
	}
	c.counted = l.Len()
	return c.from[in]
}
