// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed bmv2/*.yaml
var realFiles embed.FS

// RealNames returns the names of the experiments for real switches, which are not among
// Names: `exp run all` does not run them.
func RealNames() (names []string) {
	entries, err := realFiles.ReadDir("bmv2")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}

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
