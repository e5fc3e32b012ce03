// SPDX-License-Identifier: Apache-2.0

// Package pint models the switches of HPCC with PINT (Ben Basat et al., "PINT:
// Probabilistic In-band Network Telemetry", SIGCOMM 2020), as the HPCC simulator's
// switch-node.cc and pint.cc have them: each switch averages the utilisation of a
// link, and the digest of a packet has the largest one on its path as a logarithm.
package pint

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "pint", Telemetry: model.PortPINT,
		Registers: map[string]model.Register{"pint_load": {Draw: drawLoad}},
		V1model:   model.Stages{model.Depart: digest}})
}

// drawLoad draws a utilisation: often around 1, sometimes any.
func drawLoad(g *model.Drawer, _ int) int64 {
	return model.Pick(g, 0, g.UpTo(full/100), g.UpTo(2*full), g.UpTo(2*full), g.UpTo(1<<32-1))
}

// full is the utilisation of a fully used link without a queue.
const full = 1 << 20

// Link is a link's rate and time constant T, in the fixed-point numbers of the
// program's table: T in ticks, the share of T of a tick in 2^-32, and the
// utilisation that a byte and a unit of queue depth add, in 2^-40.
type Link struct{ T, Tick, Byte, Depth int64 }

// Utilisation is U after a packet left: U·(T−Δ)/T + byte/(B·T) + qlen·Δ/(B·T²), with
// Δ the time since the last packet, at most T, and byte that packet's length. Reading:
// Δ/T has 24 binary digits, and each term is rounded down.
func (l Link) Utilisation(u int64, dt model.Time, last model.Bytes, queue int64) int64 {
	share := int64(1 << 24)
	if dt < l.T {
		share = dt * l.Tick / 256
	}
	of := model.Ratio{Num: share, Den: 1 << 24}
	scale := model.Ratio{Num: 1, Den: 1 << 20}
	u = u - of.Times(u) + scale.Times(last*l.Byte) + of.Times(scale.Times(queue*l.Depth))
	return min(u, 1<<32-1)
}

// Code is the digest of a utilisation: its logarithm in units of 1/512, rounded up to
// a whole number of units, with perOctave/2^16 codes for each doubling. It is rounded
// up with a probability equal to its fraction; draw is uniform in [0, 2^16). Reading:
// the logarithm to base 2 has ten binary digits after the point.
func Code(u, perOctave, draw int64) int64 {
	units := max((u+full/512-1)/(full/512), 1)
	log := int64(0)
	for units>>(log+1) > 0 && log < 20 {
		log++
	}
	// From 1 to 2, in 2^-20: its square is at least 2 if the next digit is 1.
	x := units << (20 - log)
	for range 10 {
		x = x * x >> 20
		log *= 2
		for x >= 2<<20 {
			x, log = x/2, log+1
		}
	}
	return (log*perOctave>>10 + draw) >> 16
}

// digest updates the utilisation for packets with a digest. The time and the length
// of the last packet are those of any.
func digest(s *model.Switch, p *model.Packet) {
	last, length := s.Cell("pint_time", p.OutPort), s.Cell("pint_bytes", p.OutPort)
	if p.Telemetry != nil {
		e, _ := s.Entry("pint", p.OutPort)
		u := s.Cell("pint_load", p.OutPort)
		link := Link{e["rtt"], e["per_time"], e["per_byte"], e["per_depth"]}
		*u = link.Utilisation(*u, model.Mod32(p.Left-*last), *length, p.Behind)
		code := Code(*u, e["per_octave"], s.Below(1<<16)) & 0xffff
		if code > p.Telemetry["code"] {
			s.Note("digest")
			p.Telemetry["code"] = code
		}
	}
	*last, *length = model.Mod32(p.Left), p.FrameLen
}
