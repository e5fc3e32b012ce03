// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"github.com/pauseless/pauseless/bmv2tests/model"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
)

// Time and Bytes are those of the model.
type (
	Time  = model.Time
	Bytes = model.Bytes
)

// Features says what a profile's switches do, and so which parts of the model
// apply.
type Features struct {
	Name string
	Base string

	RLB, Adaptive, CONGA, PLB, CLB, PCN, PBFS, INT, RED, QCN, Emulated bool

	// What these need: PFC frames are understood; leaves send each other a
	// header, in every packet or only when there is something to say; RTTs are
	// measured; hosts tag packets; paths are drawn by a hash; flowlets are
	// told apart; queues are counted, at ingress and at egress, there for all
	// ports or for those of a choice; the load of links is estimated; packets
	// recirculate.
	PFC, Fabric, EveryPacket, RTT, Tag, Hash, Flowlets, QIn, QOut, AllPorts, DRE, Recirculates bool

	Ports, Paths, PathCells, Leaves, Flows, Coflows, Classes int

	Microseconds, DepthBytes bool
	RecircPort               int
	Lossless                 int // class that is paused
}

// featuresOf reads a profile.
func featuresOf(p *gen.Profile) *Features {
	f := &Features{
		Name: p.Name, Base: p.Base,
		RLB: p.Choice("rlb") != "off", Adaptive: p.Choice("rlb") == "rlb_adaptive", CONGA: p.Base == "conga", PLB: p.Base == "plb", CLB: p.Base == "clb",
		PCN: p.Choice("pcn") == "on", PBFS: p.Choice("pbfs") == "on", INT: p.Choice("int") == "on", RED: p.Choice("ecn") == "red", QCN: p.Choice("qcn") == "on", Emulated: p.Choice("pfc") == "emulated",
		Ports: p.Sizes.Ports, Paths: p.Sizes.Paths, Leaves: p.Sizes.Leaves, Flows: p.Sizes.Flows, Coflows: p.Sizes.Coflows, Classes: p.Sizes.Priorities,
		Microseconds: p.Units.Time == manifest.Microseconds, DepthBytes: p.Units.Depth == manifest.Bytes,
		RecircPort: p.Recirculation,
	}
	f.PathCells = 2
	for f.PathCells < f.Paths {
		f.PathCells *= 2
	}
	if f.Classes == 8 {
		f.Lossless = 3
	}
	f.PFC = f.Emulated || f.PLB || f.PCN
	f.RTT = f.RLB || f.PLB
	f.EveryPacket = f.CONGA || f.PLB
	f.Fabric = f.RTT || f.EveryPacket
	f.Tag = f.Base == "hermes" || f.CLB
	f.Hash = f.Base != "drill"
	f.Flowlets = f.Base == "letflow" || f.CONGA || f.CLB || f.PLB
	f.QIn = f.RLB || f.Emulated
	f.AllPorts = f.PLB || f.PBFS || f.QCN
	f.QOut = f.Base == "drill" || f.CLB || f.AllPorts
	f.DRE = f.CONGA || f.PLB
	f.Recirculates = f.RLB || f.Emulated
	return f
}

// cell is the place of a class of a port in tables of queues.
func (f *Features) cell(port, class int) int {
	if f.Classes == 1 {
		return port
	}
	return port*f.Classes + class
}

// path is the place of a path to a leaf.
func (f *Features) path(leaf int64, path int) int { return int(leaf)*f.PathCells + path }
