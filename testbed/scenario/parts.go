// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/testbed/program"
)

// Loaded returns the profiles, ready to be compiled.
func (s *Scenario) Loaded() []*gen.Profile { return s.profiles }

// ForV1Model reports whether all profiles run on v1model.
func (s *Scenario) ForV1Model() bool {
	return !slices.ContainsFunc(s.targets, func(t string) bool { return t != program.V1Model })
}

// Flows returns the flows of a seed.
func (s *Scenario) Flows(seed uint64) []fabric.Flow { return s.flows[seed] }

// HostsFor returns the hosts of a run: those of the scenario, doing their part
// of the program's scheme.
func (s *Scenario) HostsFor(m *manifest.Manifest) roce.Config { return hostsFor(m, s.Hosts) }
