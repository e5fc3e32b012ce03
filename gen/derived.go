// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"math"
	"math/bits"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/vtime"
)

// derived are the values computed from a profile's sizes and units. Templates
// read them as {{.PathBits}}. They are fields, so that templates call no methods.
type derived struct {
	PriorityQueues bool // ports have a queue per class
	Lossless       int  // the class with PFC

	TimeName, DepthName string // names of the units of time and of queue depth
	TimeFraction        int    // fraction bits of a product of a time and a fraction
	DREShift, DRETime   int    // time constant of the DRE in the target's units, as a power of two and as a number
	Slower              int    // Network.Scale if it is above 1: hosts keep the topology's time and rates
	HostTime            int    // their time per unit of the switch's then, in 2^-16 ns
	Forget              uint64 // time without arrivals after which a queue counts as empty

	PathBits       int // width of a path number
	PathCells      int // number of paths that PathBits can number
	MaskBits       int // width of a set of paths
	FlowBits       int // width of an index of per-flow state
	PortBits       int // width of an index of per-port cells
	PortTop        int // its highest bit
	CellBits       int // width of an index of per-queue cells
	LeafBits       int // width of an index of leaves
	LeafPathBits   int // width of an index of leaf and path
	PathQueueBits  int // width of an index of a path's queues
	PathQueueCells int // number of indexes that PathQueueBits can number
	StepBits       int // width of a distance between ports minus PathBits
	MTUShift       int // log2 of the packet size, rounded up from the MTU

	RecirculationPort int // its packets pass the pipeline again
	FeedbackSession   int // mirror session of feedback, above those of ports
	FeedbackInterval  int // ns, see manifest.FeedbackInterval
	ReportTick        int // ns, see reportTick
}

// reportTick replaces manifest.FeedbackInterval where one comparison of a register
// must tell whether a report is due: the power of two next to it.
const reportTick = 1024

// derive computes the values derived from a profile.
func derive(p *Profile) derived {
	width := func(n int) int { return bits.Len(uint(n - 1)) }
	d := derived{
		PriorityQueues:    p.Sizes.Priorities > 1,
		TimeName:          p.Units.Time.Name(),
		DepthName:         p.Units.Depth.Name(),
		TimeFraction:      p.Units.SlotFraction(),
		DREShift:          p.Units.LoadShift(p.Network.Scale),
		Forget:            p.Units.Span(10e6), // 10 ms
		PathBits:          max(1, width(p.Sizes.Paths)),
		FlowBits:          width(p.Sizes.Flows),
		PortBits:          width(p.Sizes.Ports),
		LeafBits:          width(p.Sizes.Leaves),
		MTUShift:          width(int(p.Network.MTU)),
		RecirculationPort: p.Recirculation,
		FeedbackSession:   manifest.FeedbackSession,
		FeedbackInterval:  manifest.FeedbackInterval,
		ReportTick:        reportTick,
	}
	if d.PriorityQueues {
		d.Lossless = manifest.LosslessClass
	}
	switch {
	case p.Network.Scale > 1:
		d.Slower = int(p.Network.Scale)
		d.HostTime = int(math.Round(65536 * float64(p.Units.Time.Length()/vtime.Nanosecond) / float64(d.Slower)))
		d.Forget = min(p.Units.Span(10e6*float64(p.Network.Scale)), manifest.MaxSpan)
	case p.Units.Time == manifest.Microseconds: // slower links
		d.Forget = p.Units.Span(1e9) // 1 s
	}
	d.DRETime = 1 << d.DREShift
	d.PathCells = 1 << d.PathBits
	d.MaskBits = d.PathCells
	d.PortTop = d.PortBits - 1
	d.CellBits = d.PortBits + 3
	d.LeafPathBits = d.LeafBits + d.PathBits
	d.PathQueueBits = d.PathBits + 3
	d.PathQueueCells = 1 << d.PathQueueBits
	d.StepBits = 9 - d.PathBits
	return d
}
