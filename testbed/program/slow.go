// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// ReferencePacket is the packet size that converts packets per second to bits
// per second.
const ReferencePacket = 1000 * vtime.Byte

// Scale returns the factor by which a network is slower than its topology if its
// slowest host link carries so many packets of ReferencePacket per second.
func Scale(t *topo.Topology, pps int) (int64, error) {
	slowest := vtime.Rate(0)
	for _, i := range t.Hosts() {
		r := t.Links[t.Nodes[i].Ports[0].Link].Rate
		if slowest == 0 || r < slowest {
			slowest = r
		}
	}
	want := vtime.Rate(pps) * 8 * vtime.Rate(ReferencePacket/vtime.Byte)
	if pps < 1 {
		return 0, fmt.Errorf("%d packets/s are too few: give at least 1", pps)
	}
	if want > slowest {
		return 0, fmt.Errorf("%d packets/s of %v are more than the %v of a host's link: there is nothing to scale", pps, ReferencePacket, slowest)
	}
	return max(1, int64(slowest/want)), nil
}

const recirculationRate = "rlb.recirculation_rate"

// Slow makes a profile one for switches of a network that is slower than its topology
// by a scale, by which defaults are slower (manifest.Network.Scale). Programs of slower
// networks count µs: in 32 bits of ns, a timer holds 1 s. For BMv2, which counts in µs
// and packets and has no PFC, it changes the profile's units and lets the program
// emulate PFC.
func Slow(p *gen.Profile, t *topo.Topology, bmv2 bool, scale int64) error {
	Fit(p, t)
	if scale > 1 {
		p.Network.Scale, p.Units.Time = scale, manifest.Microseconds
	}
	fits := p.Check()
	if bmv2 {
		forBMv2(p)
	}
	if _, given := p.Set[recirculationRate]; !given && scale > 1 && t.Switch.Recirculation.Rate > 0 && p.Choice("rlb") != "off" {
		if p.Set == nil {
			p.Set = make(map[string]string)
		}
		p.Set[recirculationRate] = (t.Switch.Recirculation.Rate / vtime.Rate(scale)).String()
	}
	err := p.Check()
	if err != nil && bmv2 && fits == nil {
		return refused(p, err)
	}
	return err
}

// ForBMv2 makes a profile one for BMv2.
func ForBMv2(p *gen.Profile) error {
	forBMv2(p)
	if err := p.Check(); err != nil {
		return refused(p, err)
	}
	return nil
}

func forBMv2(p *gen.Profile) {
	p.Units = manifest.Units{Time: manifest.Microseconds, Depth: manifest.Packets}
	if p.Choice("pfc") == "native" {
		p.Choose("pfc", "emulated")
		p.Choose("thresholds", "static") // those of emulated PFC
	}
}

func refused(p *gen.Profile, err error) error {
	return fmt.Errorf("BMv2 cannot run profile %s, the softswitch can (--switch softswitch). On BMv2 a program counts µs and packets and emulates PFC: %w", p.Name, err)
}
