// SPDX-License-Identifier: Apache-2.0

package model

// CONGA as a Tofino has it (docs/tofino.md): loads of whole windows, and the
// best path so far beside one at random.

// TofinoLoad is the load of a link: the bytes of the window that runs, and of
// the last one that had any.
type TofinoLoad struct {
	Window TofinoSum
	Last   uint32
}

// Packet counts a packet that leaves, in a window of 2^17 ns, and returns the
// bytes of the last full window.
func (l *TofinoLoad) Packet(now, bytes uint32) uint32 {
	const windowBits = 17
	if n := l.Window.Add(now>>windowBits, bytes); n != 0 {
		l.Last = n
	}
	return l.Last
}

// TofinoLevel gives X/Cτ in eighths, at most 7: of the bytes of a window, and
// of what the link can send in one. Both count in units of 4096 bytes, rounded
// down: what a slow link has sent seems more, by less than a unit.
func TofinoLevel(bytes, full uint32) uint8 { return uint8(tofinoPart(bytes, full, 8)) }

// tofinoPart gives bytes in so many parts of full, rounded down.
func tofinoPart(bytes, full, parts uint32) uint32 {
	const unit = 4096
	part := uint32(0)
	for n := uint32(1); n < parts && full*n/parts/unit <= bytes/unit; n++ {
		part = n
	}
	return part
}

// TofinoMetric is what a path's far leaf fed back, and when.
type TofinoMetric struct{ Congestion, At uint32 }

// Aged is the metric, and zero if it is older than age.
func (m TofinoMetric) Aged(now, age uint32) uint32 {
	if int32(m.At-(now-age)) < 0 {
		return 0
	}
	return m.Congestion
}

// CONGA is CONGA's decision with two of the paths: one that is drawn is the
// best if it is no more congested, or if it is the best and has a new metric.
func (b *TofinoBest) CONGA(drawn Path, congestion uint32) Path { return b.CLB(drawn, congestion) }

// TofinoFeedback gives the path that is fed back after last: in turn.
func TofinoFeedback(last Path, n int) Path {
	if last >= n-1 {
		return 0
	}
	return last + 1
}
