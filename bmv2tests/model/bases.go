// SPDX-License-Identifier: Apache-2.0

package model

// The base load balancers that choose by flow, flowcell or flowlet without
// looking at congestion.

// ECMP spreads flows by the hash of their 5-tuple: by hash-threshold (RFC
// 2992), which gives each of n paths an equal share of the 2^16 values.
func ECMP(hash uint16, n int) Path { return Path(int64(hash) * int64(n) >> 16) }

// InTurn is the path after p: Presto's next one, and the "next hash" of ECMP,
// since hash+1 is as good a hash as hash.
func InTurn(p Path, n int) Path { return (p + 1) % n }

// FlowcellBytes is the size of a flowcell (Presto, section 3.1).
const FlowcellBytes Bytes = 64 << 10

// A Flowcell is what Presto keeps for one flow.
type Flowcell struct {
	Known bool // the flow has sent before
	Bytes Bytes
	Path  Path
}

// Packet is Presto's algorithm 1 (flowcell creation, section 3.1): a packet
// that would make the flowcell larger than the threshold starts the next one,
// on the next path. The first flowcell goes the path start.
func (f *Flowcell) Packet(length, threshold Bytes, start Path, n int) Path {
	full := f.Bytes+length > threshold // line 1
	if full {
		f.Bytes = length // line 2
	} else {
		f.Bytes += length // line 6
	}
	switch {
	case !f.Known:
		f.Known, f.Path = true, start
	case full || f.Path >= n: // or the path is not there any more
		f.Path = InTurn(min(f.Path, n-1), n) // line 3
	}
	return f.Path
}

// A Flowlet is an entry of a flowlet table.
type Flowlet struct {
	Valid bool
	Path  Path
	Last  Time // when its last packet came
}

// Active reports whether a packet at time now still belongs to the flowlet: a
// gap longer than the timeout ends it (LetFlow, section 3; CONGA, section 3.4).
// With a timeout of zero each packet is a flowlet.
func (f *Flowlet) Active(now, gap Time) bool { return f.Valid && gap > 0 && now-f.Last <= gap }

// LetFlow is LetFlow's whole decision: a new flowlet goes to a random path.
func (f *Flowlet) LetFlow(now, gap Time, draw Path) Path {
	if !f.Active(now, gap) {
		f.Path = draw
	}
	f.Valid, f.Last = true, now
	return f.Path
}
