// SPDX-License-Identifier: Apache-2.0

package model

// RED is ECN marking by queue length, as DCQCN configures it: never up to
// Kmin, always above Kmax, in between with a probability that grows linearly
// to Pmax.
type RED struct {
	KMin, KMax int64
	// Ramp is Pmax / (Kmax − Kmin): the probability of a mark for each unit of
	// the queue beyond Kmin, in 2^-32.
	Ramp int64
}

// Marks decides for one packet that leaves queue behind, with a draw uniform
// in [0, 2^32).
func (r RED) Marks(queue, draw int64) bool {
	switch {
	case queue > r.KMax:
		return true
	case queue <= r.KMin:
		return false
	}
	return draw < (queue-r.KMin)*r.Ramp // draw/2^32 < p
}
