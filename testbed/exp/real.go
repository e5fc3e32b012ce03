// SPDX-License-Identifier: Apache-2.0

package exp

import "slices"

// OnReal makes the runs of the plan those of a real network, which Options.Maker makes:
// they are kept beside the runs in virtual time, and are not functions of the seed alone.
// What names the kind of network and all that its runs depend on besides the file.
func (p *Plan) OnReal(what string) { p.on = "\non " + what }

// Seeded returns the plan in virtual time with certain seeds, to which none are added:
// of a real network's outcome, for instance.
func (p *Plan) Seeded(seeds []uint64) (*Plan, error) {
	s := *p.Scenario
	s.Seeds, s.MaxSeeds, s.MaxSeedsOpen = slices.Clone(seeds), 0, 0
	return NewPlan(&s, p.Command)
}
