// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"cmp"
	"fmt"

	"github.com/pauseless/pauseless/internal/vtime"
)

// MaxFrame is the longest frame on the wire, a recirculated header included: what
// headroom is computed for.
const MaxFrame = 1600

// pfcFrame is a PFC frame on the wire: 64 bytes, preamble and gap.
const pfcFrame = 84

// MMUs are the names that MMU knows.
var MMUs = []string{"hpcc", "conweave", "broadcom"}

// MMU returns the buffer management of a simulator's switches, or of switch
// chips.
//
//   - hpcc: a port is paused at an eighth of the free shared buffer, twice as
//     much for every doubling of its rate, and goes on 3 KiB below; 4 KiB of each
//     ingress port and class are not counted.
//   - conweave, after Broadcom's switches: at a sixteenth, whatever the rate, and
//     it goes on as soon as the queue is below the threshold again; two packets
//     are not counted. A PAUSE lasts 5 µs, every frame beyond the threshold makes
//     one, and headroom is used when the shared buffer is full. So there are more
//     pauses, and shorter ones. A queue of a lossy class holds at most what is free.
//   - broadcom, as SONiC sets up a Tomahawk (BUFFER_PROFILE in its
//     Configuration.md): at an eighth (dynamic_th -3), whatever the rate; it goes
//     on 2288 bytes below (xon_offset); 1248 bytes of each ingress port and class
//     are not counted (size); what comes beyond the threshold is in the port's
//     headroom (xoff). A queue of a lossy class holds at most eight times what is
//     free (dynamic_th 3).
func MMU(name string) (SwitchConfig, bool) {
	c := SwitchConfig{MMU: name}
	switch name {
	case "hpcc":
		c.PFC = PFC{Alpha: 1.0 / 8, AlphaByRate: true, Resume: 3 * vtime.KiB, Reserve: 4 * vtime.KiB}
	case "conweave":
		c.EgressAlpha = 1
		c.PFC = PFC{
			Alpha: 1.0 / 16, Resume: 1, Reserve: 2 * 1048,
			HeadroomLast: true, Pause: 5 * vtime.Microsecond, EachFrame: true,
		}
	case "broadcom":
		c.EgressAlpha = 8
		c.PFC = PFC{Alpha: 1.0 / 8, Resume: 2288, Reserve: 1248}
	default:
		return SwitchConfig{}, false
	}
	return c, true
}

// fill gives the configuration the values of its MMU where it has none.
func (c *SwitchConfig) fill() {
	m, ok := MMU(c.MMU)
	if !ok {
		return
	}
	c.EgressAlpha = cmp.Or(c.EgressAlpha, m.EgressAlpha)
	p := &c.PFC
	if p.Alpha == 0 {
		p.Alpha, p.AlphaByRate = m.PFC.Alpha, m.PFC.AlphaByRate
	}
	p.Resume, p.Reserve, p.Pause = cmp.Or(p.Resume, m.PFC.Resume), cmp.Or(p.Reserve, m.PFC.Reserve), cmp.Or(p.Pause, m.PFC.Pause)
	p.HeadroomLast, p.EachFrame = p.HeadroomLast || m.PFC.HeadroomLast, p.EachFrame || m.PFC.EachFrame
}

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

// Shared returns what the ports of a switch share of its buffer: what is in no
// headroom and no reserve, of which each port has one for its lossless class.
func (t *Topology) Shared(n *Node) vtime.Size {
	shared := t.Switch.Buffer
	for _, p := range n.Ports {
		shared -= t.Switch.PFC.HeadroomFor(&t.Links[p.Link], MaxFrame) + t.Switch.PFC.Reserve
	}
	return shared
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
