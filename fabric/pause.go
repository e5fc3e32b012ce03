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
	since   [packet.Classes]vtime.Time
	until   [packet.Classes]vtime.Time // end of the present pause; zero: none
	total   [packet.Classes]vtime.Time // of the pauses that have ended
	pauses  uint64                     // PFC frames that paused a class
	resumes uint64                     // that ended a pause
}

// observe records a PFC frame and calls log for each of its classes.
func (m *pauseMeter) observe(now vtime.Time, pfc packet.PFC, log func(class uint8, quanta uint16)) {
	enabled := pfc.Enabled()
	var paused, resumed bool
	for c := range packet.Classes {
		if enabled&(1<<c) == 0 {
			continue
		}
		q := pfc.Quanta(c)
		log(uint8(c), q)
		on := m.until[c] != 0
		if on && m.until[c] <= now {
			m.total[c] += m.until[c] - m.since[c]
			on = false
		}
		if q > 0 {
			paused = true
			if !on {
				m.since[c] = now
			}
			m.until[c] = now + packet.PauseTime(q, m.rate)
			continue
		}
		resumed = true
		if on {
			m.total[c] += now - m.since[c]
		}
		m.until[c] = 0
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
	t := m.total[class]
	if m.until[class] != 0 {
		t += min(m.until[class], now) - m.since[class]
	}
	return t
}

// PausedSince returns the time since which a class has been paused on a node's
// port, numbered from 1. It returns false if the class is not paused.
func (f *Fabric) PausedSince(nodeID, port, class int) (vtime.Time, bool) {
	e := f.portOf(topo.End{Node: nodeID, Port: port})
	m := &f.engine.nodes[e.Node].in[e.Port-1].pause
	return m.since[class], m.until[class] > f.engine.now
}
