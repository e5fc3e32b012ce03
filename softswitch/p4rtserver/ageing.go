// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp"
)

// ageing finds entries that no packet has hit for their idle timeout, and
// notifies the controller (16.4). It runs under the switch's lock, in the
// switch's time, and only while there are entries with timeouts.
type ageing struct {
	s        *Server
	d        *device
	interval vtime.Time // between scans; 0: none
	next     vtime.Time // time of the next scan; 0: none is scheduled
}

// Limits of the interval between scans, which is a quarter of the shortest
// timeout.
const (
	shortestScan = vtime.Millisecond
	longestScan  = vtime.Second
)

// span returns a controller's timeout in nanoseconds as a time, at most 53 days: half of
// what a clock counts, so that now plus a timeout is a time, too.
func span(ns int64) vtime.Time {
	return vtime.Time(min(ns, (vtime.Never/2).Nanoseconds())) * vtime.Nanosecond
}

func (a *ageing) reset(d *device) {
	a.d, a.interval = d, 0
	for _, bt := range d.order {
		if !bt.prog.Timeout {
			continue
		}
		d.state.Tables[bt.number].Each(func(_ uint32, e *interp.Entry) bool {
			if e.Ext != nil && e.Ext.Timeout > 0 {
				a.watch(e.Ext.Timeout)
			}
			return true
		})
	}
}

// watch ensures that scans are frequent enough for a timeout.
func (a *ageing) watch(timeout vtime.Time) {
	interval := min(max(timeout/4, shortestScan), longestScan)
	if a.interval == 0 || interval < a.interval {
		a.interval = interval
	}
	if next := a.s.sw.Now() + a.interval; a.next == 0 || next < a.next {
		a.next = next
		a.s.sw.At(next, a, uint64(next))
	}
}

// Fire is the event of a scan. arg is the scheduled time.
func (a *ageing) Fire(now vtime.Time, arg uint64) {
	if vtime.Time(arg) != a.next {
		return // an earlier scan has replaced it
	}
	a.next = 0
	if a.d == nil {
		return
	}
	n := &p4v1.IdleTimeoutNotification{Timestamp: a.s.wallNanos()}
	left := vtime.Time(0)
	for _, bt := range a.d.order {
		if !bt.prog.Timeout {
			continue
		}
		t := a.d.state.Tables[bt.number]
		t.Each(func(_ uint32, e *interp.Entry) bool {
			x := e.Ext
			if x == nil || x.Timeout == 0 {
				return true
			}
			if left == 0 || x.Timeout < left {
				left = x.Timeout
			}
			if now-max(x.LastHit, x.LastNotice) >= x.Timeout {
				x.LastNotice = now
				entry := a.d.entryProto(bt, t, e, &p4v1.TableEntry{})
				entry.Action = nil
				n.TableEntry = append(n.TableEntry, entry)
			}
			return true
		})
	}
	if len(n.TableEntry) > 0 {
		a.notify(n)
	}
	a.interval = 0
	if left > 0 {
		a.watch(left)
	}
}

// notify sends each primary the entries in its role's scope.
func (a *ageing) notify(n *p4v1.IdleTimeoutNotification) {
	for _, c := range a.s.arb.primaries() {
		own := &p4v1.IdleTimeoutNotification{Timestamp: n.Timestamp}
		for _, e := range n.TableEntry {
			if c.scope.has(a.d.pipeline.called(e.TableId)...) {
				own.TableEntry = append(own.TableEntry, e)
			}
		}
		if len(own.TableEntry) > 0 {
			c.send(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_IdleTimeoutNotification{IdleTimeoutNotification: own}})
		}
	}
}
