// SPDX-License-Identifier: Apache-2.0

package program

import (
	"cmp"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
)

// RecirculationRate is the rate of a recirculation port if neither the topology
// nor the program has one.
const RecirculationRate = 100 * vtime.Gbps

// Recirculation returns the recirculation port of a program's switches: as the
// topology has it, or else with the rate and latency that the program's parameters
// or its scheme state. The network is slower than the topology by scale. The
// program's parameters are those of the slower network.
func Recirculation(m *manifest.Manifest, c topo.Recirculation, scale int64) topo.Recirculation {
	slower, longer := vtime.Rate(scale), vtime.Time(scale)
	r := topo.Recirculation{Rate: RecirculationRate / slower, OwnBuffer: c.OwnBuffer}
	if rate, err := m.Value("rlb.recirculation_rate", m.Network); err == nil {
		r.Rate = vtime.Rate(rate)
	}
	if pass, err := m.Value("rlb.pass_time", m.Network); err == nil {
		r.Latency = vtime.Time(pass) * vtime.Nanosecond
	}
	if m.Has("conweave") { // as on a Tofino 2
		r.Rate, r.Latency = 400*vtime.Gbps/slower, vtime.Microsecond*longer
	}
	r.Rate, r.Latency = cmp.Or(c.Rate/slower, r.Rate), cmp.Or(c.Latency*longer, r.Latency)
	return r
}

// MaxPasses returns how often a packet may pass a switch, or 0 for the switch's
// default.
func MaxPasses(m *manifest.Manifest) int {
	if m.Has("conweave") {
		return softswitch.NoPassLimit // packets wait for TAIL until a timer ends
	}
	return 0
}
