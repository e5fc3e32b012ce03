// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/vtime"
)

// ageing finds entries that no packet has hit for their idle timeout, and
// notifies the controller (16.4). It runs under the switch's lock, in the
// switch's time, and only while there are entries with timeouts. A pass over the
// entries consists of pieces, between which packets are forwarded.
type ageing struct {
	s      *Server
	d      *device
	tables []*boundTable // those with idle timeouts
	// table and slot are where the next piece begins.
	table int
	slot  uint32
	// shortest is the shortest timeout that the current pass has seen; 0: none.
	shortest vtime.Time
	next     vtime.Time // time of the next piece; 0: none is scheduled
}

// shortestTimeout is the shortest idle timeout that this target supports: smaller ones
// count as this one (9.1.8), so that an entry is reported at most ten times a second.
const shortestTimeout = 100 * vtime.Millisecond

// longestScan limits the interval between passes, which is a quarter of the shortest
// timeout.
const longestScan = vtime.Second

// A piece visits at most agePiece entries and reports at most ageNotices, each to the
// primaries of up to maxRoles roles: packets wait meanwhile. The next piece follows after
// agePerEntry for each entry, so that passes take about a hundredth of a processor, and
// after agePerNotice for each entry that was reported: controllers hear of at most 10,000
// a second.
const (
	agePiece     = 1024
	ageNotices   = 128
	agePerEntry  = vtime.Microsecond
	agePerNotice = 100 * vtime.Microsecond
)

// idleTimeout returns the time after which an entry has aged; zero is never.
func idleTimeout(ns int64) vtime.Time {
	if ns == 0 {
		return 0
	}
	return max(span(ns), shortestTimeout)
}

// span returns a controller's timeout in nanoseconds as a time, at most 53 days: half of
// what a clock counts, so that now plus a timeout is a time, too.
func span(ns int64) vtime.Time {
	return vtime.Time(min(ns, (vtime.Never/2).Nanoseconds())) * vtime.Nanosecond
}

func (a *ageing) reset(d *device) {
	a.d, a.tables, a.table, a.slot, a.shortest = d, nil, 0, 0, 0
	for _, bt := range d.order {
		if bt.prog.Timeout {
			a.tables = append(a.tables, bt)
			if d.state.Tables[bt.number].Len() > 0 { // with which timeouts, the first pass finds
				a.schedule(shortestTimeout / 4)
			}
		}
	}
}

// watch ensures that passes are frequent enough for a timeout.
func (a *ageing) watch(timeout vtime.Time) {
	if a.shortest == 0 || timeout < a.shortest {
		a.shortest = timeout
	}
	a.schedule(min(a.shortest/4, longestScan))
}

// schedule ensures that the next piece is at most so far away.
func (a *ageing) schedule(delay vtime.Time) {
	if next := a.s.sw.Now() + delay; a.next == 0 || next < a.next {
		a.next = next
		a.s.sw.At(next, a, uint64(next))
	}
}

// Fire is the event of a piece. arg is the scheduled time.
func (a *ageing) Fire(now vtime.Time, arg uint64) {
	if vtime.Time(arg) != a.next {
		return // an earlier piece has replaced it
	}
	a.next = 0
	if a.d == nil {
		return
	}
	if a.table == 0 && a.slot == 0 {
		a.shortest = 0
	}
	n := &p4v1.IdleTimeoutNotification{Timestamp: a.s.wallNanos()}
	visited := 0
	more := func() bool { return visited < agePiece && len(n.TableEntry) < ageNotices }
	for ; a.table < len(a.tables) && more(); a.table, a.slot = a.table+1, 0 {
		bt := a.tables[a.table]
		t := a.d.state.Tables[bt.number]
		for ; a.slot < t.Slots() && more(); a.slot++ {
			visited++
			e := t.Entry(a.slot)
			x := e.Ext
			if !e.Used() || x == nil || x.Timeout == 0 {
				continue
			}
			if a.shortest == 0 || x.Timeout < a.shortest {
				a.shortest = x.Timeout
			}
			if now-max(x.LastHit, x.LastNotice) >= x.Timeout {
				x.LastNotice = now
				entry := a.d.entryProto(bt, t, e, &p4v1.TableEntry{}, now)
				entry.Action = nil
				n.TableEntry = append(n.TableEntry, entry)
			}
		}
		if a.slot < t.Slots() {
			break
		}
	}
	if len(n.TableEntry) > 0 {
		a.notify(n)
	}
	delay := vtime.Time(visited)*agePerEntry + vtime.Time(len(n.TableEntry))*agePerNotice
	if a.table == len(a.tables) {
		a.table, a.slot = 0, 0
		if a.shortest == 0 {
			return
		}
		delay = max(delay, min(a.shortest/4, longestScan))
	}
	a.schedule(delay)
}

// notify sends each primary the entries in its role's scope.
func (a *ageing) notify(n *p4v1.IdleTimeoutNotification) {
	for _, c := range a.s.arb.primaries() {
		own := n
		if c.scope != nil {
			own = &p4v1.IdleTimeoutNotification{Timestamp: n.Timestamp}
			for _, e := range n.TableEntry {
				if c.scope.has(a.d.pipeline.called(e.TableId)...) {
					own.TableEntry = append(own.TableEntry, e)
				}
			}
		}
		if len(own.TableEntry) > 0 {
			if c.send(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_IdleTimeoutNotification{IdleTimeoutNotification: own}}) {
				a.s.told.Add(1)
			}
		}
	}
}
