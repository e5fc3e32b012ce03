// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
)

// Loaded returns the profiles, ready to be compiled.
func (s *Scenario) Loaded() []*gen.Profile { return s.profiles }

// Flows returns the flows of a seed.
func (s *Scenario) Flows(seed uint64) []fabric.Flow { return s.flows[seed] }

// HostsFor returns the hosts of a run: those of the scenario, doing their part
// of the program's scheme.
func (s *Scenario) HostsFor(m *manifest.Manifest) roce.Config { return hostsFor(m, s.Hosts) }
