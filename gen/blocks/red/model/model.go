// SPDX-License-Identifier: Apache-2.0

// Package red models RED marking of ECN by queue length, as DCQCN configures
// it.
package red

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "red", Limits: map[string]int64{"red.kmin": model.MostDepth, "red.kmax": model.MostDepth},
		V1model: model.Stages{model.Depart: mark}, Tofino: model.Stages{model.Last: mark}})
}

// RED never marks up to KMin and always marks above KMax. In between, the
// probability of a mark grows linearly to Pmax.
type RED struct {
	KMin, KMax int64
	// Ramp is Pmax / (Kmax − Kmin): the probability of a mark for each unit of
	// the queue beyond Kmin, in 2^-32.
	Ramp int64
}

// Marks reports whether a packet is marked that departs with the given queue
// length. draw is uniform in [0, 2^32).
func (r RED) Marks(queue, draw int64) bool {
	switch {
	case queue > r.KMax:
		return true
	case queue <= r.KMin:
		return false
	}
	return draw < (queue-r.KMin)*r.Ramp // draw/2^32 < p
}

// MarksOnTofino uses a mask of random bits in place of a product, because a
// Tofino does not multiply.
func (r RED) MarksOnTofino(queue, draw int64) bool {
	return max(0, queue-r.KMin) > draw&r.Ramp || queue > r.KMax
}

func mark(s *model.Switch, p *model.Packet) {
	marks := RED.MarksOnTofino
	if !s.Tofino {
		if marks = RED.Marks; !s.ECNCapable(p) || p.Behind == 0 {
			return
		}
	}
	e, _ := s.Entry("red", p.OutPort)
	if marks(RED{e["kmin"], e["kmax"], e["ramp"]}, p.Behind, s.Below(1<<32)) {
		s.MarkCE(p)
	}
}
