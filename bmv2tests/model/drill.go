// SPDX-License-Identifier: Apache-2.0

package model

// DRILL is DRILL(2, 1): "chooses d random output ports out of N possible
// next-hop output ports for that packet, finds the one with the current
// minimum queue occupancy between these d samples and m least loaded samples
// from previous time slots, and sends the packet to that port. Finally, the
// engine updates the contents of its m memory units with the identities of
// the least loaded output ports" (DRILL, section 3.2).
type DRILL struct {
	Best Path // the one memory unit
}

// Packet chooses among two samples and the memory. queue is the occupancy of
// a path's egress port.
//
// Reading: of equal queues the remembered port wins, then the first sample.
func (d *DRILL) Packet(sample1, sample2 Path, queue func(Path) Bytes) Path {
	best := Shortest([]Path{d.Best, sample1, sample2}, queue)
	d.Best = best
	return best
}

// Shortest is the first of the candidates that has the shortest queue, −1 if
// there are none. Among DRILL's candidates without the chosen one it is "the
// second shortest", which RLB takes for the suboptimal path.
func Shortest(candidates []Path, queue func(Path) Bytes) Path {
	best := -1
	for _, c := range candidates {
		if best < 0 || queue(c) < queue(best) {
			best = c
		}
	}
	return best
}
