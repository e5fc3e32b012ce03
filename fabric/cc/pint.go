// SPDX-License-Identifier: Apache-2.0

package cc

import (
	"math"
	"math/rand/v2"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// PINT has the parameters of HPCC with PINT (Ben Basat et al., SIGCOMM 2020), in
// addition to those of HPCC: switches average the utilisation of their links, and
// acknowledgements return that of the busiest link as a logarithm.
type PINT struct {
	// Step is the difference of the utilisations of two successive codes, as a share
	// of the lower one. Zero: pint.step of the program.
	Step  float64 `yaml:"step" limits:"0.."`
	Share float64 `yaml:"share" limits:"0..1"` // of the acknowledgements that are used, chosen at random, from 0 to 1
}

func (p PINT) or(base PINT) PINT { return overlay(p, base) }

// PINTDefaults returns the parameters of the HPCC simulator: a code of one byte,
// and every acknowledgement is used.
func PINTDefaults() PINT { return PINT{Step: 0.05, Share: 1} }

func (p PINT) maker(h HPCC, lowest vtime.Rate) maker {
	return func(f *Flow, _ vtime.Scheduler) Control {
		c := &pint{PINT: &p, reference: reference{HPCC: &h, lowest: lowest, f: f, current: f.Rate}}
		if p.Share < 1 {
			c.rng = rand.New(rand.NewPCG(f.Seed, 0x50494e54))
		}
		return c
	}
}

type pint struct {
	*PINT
	reference
	rng *rand.Rand // nil: every acknowledgement is used
}

var _ Control = (*pint)(nil)

// Ack implements Control: functions HandleAckHpPint and UpdateRateHpPint of the HPCC
// simulator.
func (c *pint) Ack(_ vtime.Time, a *Ack) {
	if a.PINT == nil || c.rng != nil && c.rng.Float64() >= c.Share {
		return
	}
	if c.update == 0 { // the first round trip
		c.update = a.Sent
		return
	}
	u := math.Pow(1+c.Step, float64(a.PINT.Code())) / packet.PINTUnits
	round := a.Acked > c.update
	c.adapt(u, round)
	if round {
		c.update = a.Sent
	}
}
