// SPDX-License-Identifier: Apache-2.0

package gen

import "github.com/pauseless/pauseless/internal/manifest"

// bases are the load balancers that decide alone.
var bases = []string{"ecmp", "presto", "letflow", "drill", "conga", "hermes", "clb", "plb"}

// checkCombination refuses what makes no sense together, with the reason.
func (p *Profile) checkCombination(errorf func(path, format string, args ...any)) {
	rlb := p.RLB == "rlb" || p.RLB == "rlb_adaptive"
	switch {
	case rlb && p.Base == "plb":
		errorf("rlb", "rlb over plb: PLB itself decides whether a packet waits for a paused path or leaves it")
	case rlb && p.Base == "clb":
		errorf("rlb", "rlb over clb: CLB itself predicts pauses and keeps off the paths; two predictors would fight")
	}
	if bool(p.PCN) != (p.ECN == "np_ecn") {
		if p.PCN {
			errorf("ecn", "pcn needs ecn: np_ecn, its receivers take every other mark for congestion")
		} else {
			errorf("ecn", "ecn: np_ecn marks nearly every packet of a busy port, which only pcn's hosts understand; say pcn: on")
		}
	}
	if bool(p.PCN) && p.PFC == "emulated" {
		errorf("pfc", "pcn with emulated pfc: packets are held by recirculation, so that none is in the queue when a port goes on")
	}
	if p.QCN {
		switch {
		case bool(p.PCN):
			errorf("qcn", "qcn with pcn: a sender can follow one of them")
		case bool(p.INT):
			errorf("qcn", "qcn with int: a sender can follow QCN's feedback or HPCC's telemetry, not both")
		case p.ECN != "off":
			errorf("qcn", "qcn with ecn: %s: receivers would notify senders of marks too, and those could not tell one notification from the other", p.ECN)
		}
	}
	if bool(p.INT) && p.Units.Depth != manifest.Cells80 {
		errorf("target.depth", "int needs depth: cells80, the unit of its records")
	}
}
