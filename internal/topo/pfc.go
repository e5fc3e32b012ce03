// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/vtime"
)

// pfcFrame is a PFC frame on the wire: 64 bytes, preamble and gap.
const pfcFrame = 84

// DefaultResume is how far a queue must fall below the threshold before its
// sender may go on, where the configuration does not say: two full frames.
func DefaultResume(maxFrame int) vtime.Size { return vtime.Size(2 * maxFrame) }

// HeadroomFor returns how many bytes of a link go beyond the threshold at
// most, where the configuration does not say: the frame of maxFrame bytes on
// the wire that made its switch pause the sender, what is sent while the PFC
// frame waits for the end of another, is sent itself, crosses the link, finds
// the sender in the middle of a frame, and while the last of that crosses the
// link.
func (c *PFC) HeadroomFor(l *Link, maxFrame int) vtime.Size {
	if c.Headroom > 0 {
		return c.Headroom
	}
	return vtime.Size(l.Rate.Bytes(2*l.Delay)) + vtime.Size(3*maxFrame+pfcFrame) + 1
}

// DropAdvice says what to do about packets of a lossless class that were
// dropped. Thresholds are not to blame: where they add up to more than the
// buffer, ports are paused when it is full, and headroom is there for the rest.
// It is too small only where a file says so.
func (t *Topology) DropAdvice(maxFrame int) string {
	given, most := t.Switch.PFC.Headroom, vtime.Size(0)
	for i := range t.Links {
		most = max(most, (&PFC{}).HeadroomFor(&t.Links[i], maxFrame))
	}
	if given > 0 && given < most {
		return fmt.Sprintf("switch.pfc.headroom is %v, and the longest and fastest link needs %v: raise it, or leave it out and it is computed", given, most)
	}
	return "headroom is as much as the links need, so a PAUSE was lost or late: look at the scenario's faults"
}

// AlphaFor returns the share of the free buffer at which the sender on a link
// is paused, or zero if the threshold is static. With AlphaByRate it doubles
// for every doubling of the link's rate over that of the slowest host's link,
// up to one.
func (t *Topology) AlphaFor(l *Link) float64 {
	a := t.Switch.PFC.Alpha
	if !t.Switch.PFC.AlphaByRate || a == 0 {
		return a
	}
	for r := t.hostRate(); r > 0 && l.Rate > r && a < 1; r *= 2 {
		a *= 2
	}
	return min(a, max(1, t.Switch.PFC.Alpha))
}

// hostRate returns the rate of the slowest host's link.
func (t *Topology) hostRate() vtime.Rate {
	var slowest vtime.Rate
	for _, h := range t.Hosts() {
		if r := t.Links[t.Nodes[h].Ports[0].Link].Rate; slowest == 0 || r < slowest {
			slowest = r
		}
	}
	return slowest
}
