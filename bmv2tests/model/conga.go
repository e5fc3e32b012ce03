// SPDX-License-Identifier: Apache-2.0

package model

// CONGA, section 3: congestion-aware load balancing by flowlets.

// A DRE is the discounting rate estimator of a link (section 3.2): "X is
// incremented for each packet sent over the link by the packet size in bytes,
// and is decremented periodically (every T_dre) with a multiplicative factor α
// between 0 and 1: X ← X × (1 − α)". Its time constant is τ = T_dre/α.
//
// Reading: packets drive the clock, so X is decremented by what is due when
// one comes, in proportion to the time since: X ← X × (1 − Δ/τ), which is zero
// after τ. X is kept in units of C·τ/2^16, so that a full link has 2^16.
type DRE struct {
	X    int64
	Last Time // when X was last brought up to date
}

// At gives X at time now, for τ of 2^tau ticks.
func (d *DRE) At(now Time, tau uint) int64 {
	dt := now - d.Last
	if dt >= 1<<tau {
		return 0
	}
	return d.X - Ratio{dt, 1 << tau}.Times(d.X)
}

// Packet counts a packet of length bytes, each of which adds weight/2^16.
func (d *DRE) Packet(now Time, tau uint, length Bytes, weight int64) {
	d.X = d.At(now, tau) + Ratio{weight, 1 << 16}.Times(length)
	d.Last = now
}

// Quantize gives X/Cτ in q bits: ⌊X·2^q / Cτ⌋, at most 2^q − 1.
func Quantize(x int64, q uint) int64 { return min(x>>(16-q), 1<<q-1) }

// A CongestionEntry is the metric of a path to a leaf, as that leaf fed it
// back: a row of the Congestion-To-Leaf table.
type CongestionEntry struct {
	Metric int64
	At     Time // when it was learnt
}

// PathMetric is the congestion of a path: the larger of the local link's and
// what the far leaf told us about the rest. An old metric counts as zero
// (section 3.3, "Metric aging").
func PathMetric(local int64, remote CongestionEntry, now, aging Time) int64 {
	if now-remote.At > aging {
		return local
	}
	return max(local, remote.Metric)
}

// CONGA decides for a packet (section 3.5): the first packet of a flowlet goes
// where the metric is smallest; "if multiple uplinks are equally good, one is
// chosen at random with preference given to the port cached in the (invalid)
// entry in the Flowlet Table".
//
// Reading: a random choice among equals is the first of them in turn, from a
// path drawn at random.
func (f *Flowlet) CONGA(now, gap Time, metric []int64, draw func() Path) Path {
	if !f.Active(now, gap) {
		least := Least(len(metric), draw(), func(p Path) int64 { return metric[p] })
		if !f.Valid || metric[f.Path] != metric[least] {
			f.Path = least
		}
	}
	f.Valid, f.Last = true, now
	return f.Path
}

// Least is the path of the least metric, the first of them in turn from a
// given one.
func Least(n int, from Path, metric func(Path) int64) Path {
	best := from
	for range n {
		if metric(from) < metric(best) {
			best = from
		}
		from = InTurn(from, n)
	}
	return best
}

// Feedback gives the path whose metric a leaf feeds back to another one, after
// last (section 3.3): round robin, "while favoring those metrics whose values
// have changed since the last time they were fed back". The paths are the far
// leaf's, which may have more than the n of this one.
func Feedback(last Path, changed []bool, n int) Path {
	p := last
	for range changed {
		if p = InTurn(p, len(changed)); changed[p] {
			return p
		}
	}
	return InTurn(min(last, n-1), n)
}
