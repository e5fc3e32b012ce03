// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// PauseEvent is a PFC frame that reached a node, for one class.
type PauseEvent struct {
	Time   vtime.Time
	Node   int    // the receiver of the PAUSE or RESUME
	Port   int    // the receiving port
	Class  uint8  // 0 to 7
	Quanta uint16 // 512 bit times each; zero: RESUME
}

// pauseMeter measures the pauses of a port from the received PFC frames.
type pauseMeter struct {
	rate    vtime.Rate
	pauses  uint64                       // PFC frames that paused a class
	resumes uint64                       // that ended a pause
	classes *[packet.Classes]classPauses // nil: no PFC frame has come
}

// classPauses are the pauses of a class of a port.
type classPauses struct {
	since vtime.Time
	until vtime.Time // end of the present pause; zero: none
	total vtime.Time // of the pauses that have ended
}

// class returns the pauses of a class.
func (m *pauseMeter) class(c int) classPauses {
	if m.classes == nil {
		return classPauses{}
	}
	return m.classes[c]
}

// observe records a PFC frame and calls log for each of its classes.
func (m *pauseMeter) observe(now vtime.Time, pfc packet.PFC, log func(class uint8, quanta uint16)) {
	enabled := pfc.Enabled()
	if m.classes == nil {
		m.classes = new([packet.Classes]classPauses)
	}
	var paused, resumed bool
	for c := range packet.Classes {
		if enabled&(1<<c) == 0 {
			continue
		}
		q := pfc.Quanta(c)
		log(uint8(c), q)
		k := &m.classes[c]
		on := k.until != 0
		if on && k.until <= now {
			k.total += k.until - k.since
			on = false
		}
		if q > 0 {
			paused = true
			if !on {
				k.since = now
			}
			k.until = now + packet.PauseTime(q, m.rate)
			continue
		}
		resumed = true
		if on {
			k.total += now - k.since
		}
		k.until = 0
	}
	if paused {
		m.pauses++
	}
	if resumed {
		m.resumes++
	}
}

// paused returns the time for which the class has been paused until now.
func (m *pauseMeter) paused(class int, now vtime.Time) vtime.Time {
	k := m.class(class)
	if k.until != 0 {
		k.total += min(k.until, now) - k.since
	}
	return k.total
}

// PausedSince returns the time since which a class has been paused on a node's
// port, numbered from 1. It returns false if the class is not paused.
func (f *Fabric) PausedSince(nodeID, port, class int) (vtime.Time, bool) {
	e := f.portOf(topo.End{Node: nodeID, Port: port})
	k := f.engine.nodes[e.Node].in[e.Port-1].pause.class(class)
	return k.since, k.until > f.engine.now
}
