// SPDX-License-Identifier: Apache-2.0

package judge

import "fmt"

// counted is how often entries of a table have taken an action.
func (t *Target) counted(table, action string) (packets uint64) {
	a := t.actions[table][action]
	for _, e := range t.st.Tables[t.tables[table]].Each {
		if e.Action() == a {
			packets += e.Ext.Counter.Packets
		}
	}
	return packets
}

// beginCounting notes what the tables of a program have counted in the cases
// before: their constant entries stay.
func (r *tofinoPlay) beginCounting() {
	r.before = r.before[:0]
	for _, c := range r.Counters {
		r.before = append(r.before, r.target.counted(c.Table, c.Action))
	}
}

// counters compares what the tables count with what has happened.
func (r *tofinoPlay) counters() {
	for i, c := range r.Counters {
		if want, got := r.s.counted[c.Name], r.target.counted(c.Table, c.Action)-r.before[i]; want != got {
			r.differ(fmt.Sprintf("counter %s (%s)", c.Name, c.Doc), want, got)
			return
		}
	}
}
