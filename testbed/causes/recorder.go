// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// Limits bound the memory of a Recorder. What is beyond them is counted and told.
type Limits struct {
	// Waits is the number of records, of 16 bytes, that a flow waited during a pause.
	Waits int
	// Pauses is the number of pauses and of PAUSE frames looked at.
	Pauses int
	// Visits is the number of blocks, of 2 KB, in which it is noted when flows were at a
	// root.
	Visits int
}

// DefaultLimits keep a recorder below some 200 MB.
var DefaultLimits = Limits{Waits: 4 << 20, Pauses: 1 << 20, Visits: 32 << 10}

// Recorder records the pauses of a run.
type Recorder struct {
	topo     *topo.Topology
	faults   []fabric.Fault
	limits   Limits
	switches []*watch     // by node; nil: a host
	hosts    []*hostWatch // by node; nil: a switch or a further adapter
	lab      *virtual.Lab
}

// New returns a recorder of a run with the given faults.
func New(faults []fabric.Fault, limits Limits) *Recorder {
	return &Recorder{faults: faults, limits: limits}
}

// Attach begins to record a network at time zero.
func (r *Recorder) Attach(lab *virtual.Lab) {
	r.lab, r.topo = lab, lab.Fabric.Topology()
	n := len(r.topo.Nodes)
	each := Limits{max(r.limits.Waits/n, 1), max(r.limits.Pauses/n, 1), max(r.limits.Visits/n, 1)}
	r.switches, r.hosts = make([]*watch, n), make([]*hostWatch, n)
	for id := range r.topo.Nodes {
		if sw := lab.Switch(id); sw != nil {
			r.switches[id] = newWatch(r.topo, id, sw, each)
		} else if h := lab.Fabric.Host(id); h != nil {
			w := &hostWatch{limits: each}
			r.hosts[id] = w
			h.OnPause(w.over)
		}
	}
}

// pause is a time in which the peer paused a class of a port.
type pause struct {
	port        int16 // of a switch: in the traffic manager, from 0; of a host: from 0
	class       uint8
	open        bool // it lasts
	since       vtime.Time
	until       vtime.Time
	packets     int64 // that waited at its end; of a switch
	bytes       int64
	first, last int32 // of the waits
}

// wait is how long a flow waited during a pause: from its first packet in the queue, or
// the beginning of the pause, to the end.
type wait struct {
	flow uint32
	took vtime.Time
}

// hostWatch records the pauses of a host.
type hostWatch struct {
	limits Limits
	pauses []pause
	waits  []wait
	cut    cut
}

// cut counts what the limits left out.
type cut struct{ waits, pauses, visits int64 }

func (c *cut) add(d cut) {
	c.waits, c.pauses, c.visits = c.waits+d.waits, c.pauses+d.pauses, c.visits+d.visits
}

// over is called when a pause of the host ends.
func (w *hostWatch) over(h roce.Held) {
	if len(w.pauses) >= w.limits.Pauses {
		w.cut.pauses++
		return
	}
	p := pause{port: int16(h.Port - 1), class: uint8(h.Class), since: h.From, until: h.Until, first: int32(len(w.waits))}
	for flow, since := range h.Flows() {
		if len(w.waits) >= w.limits.Waits {
			w.cut.waits++
			continue
		}
		w.waits = append(w.waits, wait{flow, h.Until - since})
	}
	p.last = int32(len(w.waits))
	w.pauses = append(w.pauses, p)
}
