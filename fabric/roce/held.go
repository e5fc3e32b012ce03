// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"iter"
	"math/bits"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Held is a pause of a class of a host's port that has ended, or that the caller of
// Pauses asks about.
type Held struct {
	Port, Class int // the port from 1
	From, Until vtime.Time
	nic         *nic
}

// Flows returns the flows that had something to send and waited for the end of the
// pause, by number, and since when. Those of no number are left out. It is valid during
// the call that got the Held.
func (h *Held) Flows() iter.Seq2[uint32, vtime.Time] {
	return func(yield func(uint32, vtime.Time) bool) {
		for s := h.nic.ready[h.Class].first; s != nil; s = s.link {
			if s.number != 0 && s.held < h.Until && s.hasData() && !yield(s.number, s.held) {
				return
			}
		}
	}
}

// OnPause sets a function that is called when a pause of a port ends, before the flows
// that wait send. It must not call the host.
func (h *Host) OnPause(f func(Held)) { h.onPause = f }

// Pauses calls do with each pause that lasts now.
func (h *Host) Pauses(now vtime.Time, do func(Held)) {
	for i := range 1 + len(h.more) {
		n := h.port(i + 1)
		for m := n.paused; m != 0; m &= m - 1 {
			c := bits.TrailingZeros8(m)
			do(Held{int(n.port), c, n.pausedSince[c], min(now, n.pausedUntil[c]), n})
		}
	}
}

// over tells that a pause of a class has ended.
func (n *nic) over(class int, at vtime.Time) {
	if n.h.onPause != nil {
		n.h.onPause(Held{int(n.port), class, n.pausedSince[class], at, n})
	}
}

// Rate returns the rate of the host's links.
func (h *Host) Rate() vtime.Rate { return h.rate }

// SendPFC sends a PAUSE of so many quanta for a class from the first port, before all
// other frames; none is a RESUME.
func (h *Host) SendPFC(now vtime.Time, class int, quanta uint16) {
	f := h.net.Frames().Get()
	f.Data = packet.AppendPFC(f.Data, h.nic.self.MAC, 1<<class, quanta)
	h.nic.send(now, packet.Classes-1, f)
}
