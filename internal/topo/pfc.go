// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"cmp"
	"fmt"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// MMUs are the names that MMU accepts.
var MMUs = []string{"hpcc", "conweave", "broadcom"}

// MMU returns the configuration of a named buffer management: that of a
// simulator's switches, or of switch chips.
//
//   - hpcc: the threshold is an eighth of the free shared buffer, doubled for
//     every doubling of the port's rate. The port resumes 3 KiB below it. 4 KiB of
//     each ingress port and class are not counted.
//   - conweave, after Broadcom's switches: the threshold is a sixteenth of the free
//     buffer at every rate, and the port resumes as soon as the queue is below it.
//     Two packets are not counted. A PAUSE lasts 5 µs, every frame beyond the
//     threshold causes one, and headroom is used when the shared buffer is full.
//     So pauses are more frequent and shorter. A queue of a lossy class is limited to
//     the size of the free buffer. The simulator limits those of lossless classes as
//     well, and drops packets beyond it, which only its own configurations do here
//     (PFC.DropAlpha).
//   - broadcom, as SONiC configures a Tomahawk (BUFFER_PROFILE in its
//     Configuration.md): the threshold is an eighth of the free buffer (dynamic_th
//     -3) at every rate. The port resumes 2288 bytes below it (xon_offset). 1248
//     bytes of each ingress port and class are not counted (size). Frames beyond
//     the threshold are in the port's headroom (xoff). A queue of a lossy class is
//     limited to eight times the free buffer (dynamic_th 3).
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

// fill sets the values that are not given to those of the configuration's MMU.
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

// Frames describes the frames of a network, from which headroom follows. Those of a
// Topology are the zero value until a program and hosts are known.
type Frames struct {
	Largest  int // in bytes without preamble and check sequence
	Added    int // bytes of the headers that a switch adds before it stores a frame
	Grows    int // bytes of the headers that switches add to a frame at most, together
	Overhead int // bytes on the link beyond a frame
	Copies   int // of arriving frames that the headroom takes: messages of a program
	// Standard says that hosts send the packets of papers, of 1000 bytes. Their links carry
	// Ethernet's standard frames, too.
	Standard bool
}

// StandardFrame is the length in bytes of the largest frame of a link with Ethernet's
// MTU of 1500, without preamble and check sequence, and with 78 bytes for the headers
// that switches add. Links carry such frames if SwitchConfig.MTU is not given and hosts
// send the packets of papers: headroom is not less than they need.
const StandardFrame = 1592

// EthernetOverhead is the size of a frame on a link beyond its bytes in memory: 8 of
// preamble, 12 of gap, 4 of frame check sequence.
const EthernetOverhead = 24

// frames returns the frames that links carry. Headroom is for those that need most.
func (t *Topology) frames() (list []Frames) {
	mtu := t.Switch.MTU
	switch {
	case mtu == 0 && (t.Frames.Largest == 0 || t.Frames.Standard):
		list = append(list, Frames{Largest: StandardFrame, Overhead: EthernetOverhead})
	case t.Frames.Largest == 0:
		list = append(list, Frames{Largest: mtu + packet.EthernetLen, Overhead: EthernetOverhead})
	}
	if t.Frames.Largest > 0 {
		list = append(list, t.Frames)
	}
	return list
}

// LargestFrame returns the length in bytes of the largest frame that a switch stores.
func (t *Topology) LargestFrame() (n int) {
	for _, f := range t.frames() {
		n = max(n, f.Largest+f.Added)
	}
	return n
}

// DefaultResume returns the default of PFC.Resume: two frames with their preambles, of
// at least 1600 bytes.
func (t *Topology) DefaultResume() vtime.Size {
	const preamble = 8
	return vtime.Size(2 * (max(t.LargestFrame(), StandardFrame) + preamble))
}

// HeadroomFor returns the headroom of a link in the fabric: the configured one or, if
// there is none, what it needs.
func (t *Topology) HeadroomFor(l *Link) vtime.Size {
	return cmp.Or(t.Switch.PFC.Headroom, t.Needs(l))
}

// ApartFor returns the part of the buffer that the ports do not share because of a
// link's headroom: the headroom, if PFC.Apart does not say otherwise.
func (t *Topology) ApartFor(l *Link) vtime.Size {
	a := t.Switch.PFC.Apart
	if a == (Apart{}) {
		return t.HeadroomFor(l)
	}
	return vtime.Size(l.Rate.Bytes(vtime.Time(a.Delays)*l.Delay)) + a.Bytes
}

// Needs returns the headroom that a link of the fabric needs, whose nodes obey a PAUSE
// at once.
func (t *Topology) Needs(l *Link) vtime.Size { return t.needs(l, 0, 0) }

// HardwareHeadroom is HeadroomFor on hardware: ports take ResponseTime to obey a PAUSE,
// and the buffer consists of cells of a size in bytes.
func (t *Topology) HardwareHeadroom(l *Link, cell int) vtime.Size {
	return cmp.Or(t.Switch.PFC.Headroom, t.needs(l, ResponseTime(l.Rate), cell))
}

func (t *Topology) needs(l *Link, response vtime.Time, cell int) (need vtime.Size) {
	for _, f := range t.frames() {
		h := Headroom{Rate: l.Rate, Delay: l.Delay, Response: response, Cell: cell, Frame: f.Largest, Added: f.Added, Overhead: f.Overhead, Copies: f.Copies}
		need = max(need, h.Size())
	}
	return need
}

// Shared returns the part of a switch's buffer that its ports share: the buffer
// without the headroom and the reserve of each port's lossless class.
func (t *Topology) Shared(n *Node) vtime.Size {
	shared := t.Switch.Buffer
	for _, p := range n.Ports {
		if t.Nodes[p.Peer].Stub == Nothing {
			continue
		}
		shared -= t.ApartFor(&t.Links[p.Link]) + t.Switch.PFC.Reserve
	}
	return shared
}

// CheckBuffer returns an error if the headroom and reserve of a switch's ports fill
// its buffer.
func (t *Topology) CheckBuffer() error {
	size := t.Switch.Buffer
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Kind != Switch || size == 0 || t.Switch.PFC.Off || t.Shared(n) > 0 {
			continue
		}
		var most, sum vtime.Size
		widest := 0
		for p, port := range n.Ports {
			h := t.ApartFor(&t.Links[port.Link])
			if sum += h; h > most {
				most, widest = h, p+1
			}
		}
		reserve := vtime.Size(len(n.Ports)) * t.Switch.PFC.Reserve
		return fmt.Errorf("switch %s: the headroom of its %d ports is %v (that of port %d %v, for frames of %d bytes) and their reserve %v, together %v of a buffer of %v: it must be larger, the links fewer, slower or shorter, or the frames smaller",
			n.Name, len(n.Ports), sum, widest, most, t.LargestFrame(), reserve, sum+reserve, size)
	}
	return nil
}

// CheckPause returns an error if PFC.Pause is so short that a pause can end before it
// is renewed, because the PFC frame waits for the end of another frame.
func (t *Topology) CheckPause() error {
	c := &t.Switch.PFC
	if c.Off || c.Pause == 0 || c.EachFrame {
		return nil
	}
	for i := range t.Links {
		l := &t.Links[i]
		if least := 2 * l.Rate.TxTime(t.LargestFrame()+max(t.Frames.Overhead, EthernetOverhead)+pfcFrame); t.Pauses(l) && c.Pause < least {
			return fmt.Errorf("pause is %v: a PFC frame can wait for a frame of %d bytes on the link %s-%s at %v, so that the pause ends before it is renewed; it must be at least %v", c.Pause, t.LargestFrame(), t.Nodes[l.A.Node].Name, t.Nodes[l.B.Node].Name, l.Rate, least)
		}
	}
	return nil
}

// Pauses reports whether the sender on a link is ever paused by a switch.
func (t *Topology) Pauses(l *Link) bool {
	between := t.Nodes[l.A.Node].Kind == Switch && t.Nodes[l.B.Node].Kind == Switch
	return !t.Switch.PFC.Off && !(between && t.Switch.PFC.HostsOnly)
}

// AlphaFor returns the share of the free buffer at which the sender on a link is
// paused, or zero if the threshold is static. With AlphaByRate the share doubles
// for every doubling of the link's rate above that of the slowest host's link, up
// to one.
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
