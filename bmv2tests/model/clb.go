// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// CLB: coflow load balancing based on PFC prediction.

// A PathType is what Algorithm 1 makes of a port (table T4).
type PathType int

// Path types, best first.
const (
	PathA PathType = iota
	PathB
	PathC
	PathD
)

// A CLBPort is a row of tables T1 and T2.
type CLBPort struct {
	Q   Bytes // T1: queue size of the egress port
	QDt Bytes // T2: its change over the last Δt
}

// DefaultQthr is section 3.2.3: "two-thirds of the PFC pausing threshold".
func DefaultQthr(qPFC Bytes) Bytes { return qPFC * 2 / 3 }

// Classify is Algorithm 1.
//
// Reading: line 8 says Q > Q_thr, which leaves Q = Q_thr growing without a
// class; the prose of section 3.2.1 ("has reached the preset threshold") has
// it in D.
func Classify(p CLBPort, qThr Bytes) PathType {
	switch {
	case p.Q < qThr && p.QDt <= 0: // line 2
		return PathA // line 3
	case p.Q < qThr && p.QDt > 0: // line 4
		return PathB // line 5
	case p.Q >= qThr && p.QDt <= 0: // line 6
		return PathC // line 7
	default: // line 8
		return PathD // line 9
	}
}

// Forward is Algorithm 2: it picks the port for a packet. classes is T4, tr
// gives T3: how many flows of the packet's coflow a port carries. mtu is how
// much two ports may differ and still count as equal.
//
// Readings: line 14 tests p³ again and means p⁴. Queues to a byte are hardly
// ever equal, so ports within one MTU of the minimum are candidates of line 16.
// Of candidates with as few flows the first is taken.
func Forward(ports []CLBPort, classes []PathType, tr func(port int) int64, mtu Bytes) int {
	best := slices.Min(classes) // lines 8, 10, 12, 14: the best class that has a port
	key := func(i int) Bytes {  //
		if best == PathA || best == PathC { // lines 9, 13
			return ports[i].Q
		}
		return ports[i].QDt // lines 11, 15
	}
	least, first := Bytes(0), true
	for i, c := range classes {
		if c == best && (first || key(i) < least) {
			least, first = key(i), false
		}
	}
	choice := -1
	for i, c := range classes {
		if c != best || key(i)-least >= max(mtu, 1) {
			continue
		}
		if choice < 0 || tr(i) < tr(choice) { // lines 16, 17
			choice = i
		}
	}
	return choice // line 18
}

// A QueueChange is what T2 keeps of a port: the queue at the start of the
// interval, and the change over the last whole one.
type QueueChange struct {
	Start, QDt Bytes
}

// Sample ends an interval with a queue of q bytes.
func (c *QueueChange) Sample(q Bytes) { c.Start, c.QDt = q, q-c.Start }
