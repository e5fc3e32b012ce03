// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// An Endpoint sends and receives the frames of a host that are not of its flows. It is
// used by the goroutine that runs the host.
type Endpoint interface {
	// Next returns the next frame to send, its time, which is not before that of the one
	// before, its number as in packet.Frame.Flow, and the port, from 1, that it leaves by.
	// ok is false after the last one.
	Next() (at vtime.Time, data []byte, number uint32, port int, ok bool)
	// Receive gets a frame, which it must not keep. It returns an answer, which leaves by
	// the port of the frame, or nil.
	Receive(now vtime.Time, f *packet.Frame) []byte
}

// Port is what an Endpoint sends with besides the frames of Next: Send sends a frame now, and
// At sets a timer. Both are for the host's goroutine, or for the time before the run.
type Port struct{ p *endpoint }

// Send sends a frame, which it copies, with a number as in packet.Frame.Flow, by a port.
func (p Port) Send(data []byte, number uint32, port int) {
	p.p.send(p.p.h.net.Now(), data, number, port)
}

// At calls an event at a time.
func (p Port) At(at vtime.Time, ev vtime.Event, arg uint64) { p.p.h.net.At(at, ev, arg) }

// endpoint is the Endpoint of a host, and the frame that it sends next.
type endpoint struct {
	h      *Host
	e      Endpoint
	at     vtime.Time
	data   []byte
	number uint32
	port   int
	more   bool
}

// SetEndpoint gives the host an Endpoint, before the run. Its frames leave in the class of
// their DSCP, before data of flows of that class.
func (h *Host) SetEndpoint(e Endpoint) Port {
	h.endpoint = &endpoint{h: h, e: e}
	h.endpoint.next()
	return Port{h.endpoint}
}

// Idle reports whether the host's Endpoint, if it has one, has sent all its frames.
func (h *Host) Idle() bool { return h.endpoint == nil || !h.endpoint.more }

// next schedules the next frame.
func (p *endpoint) next() {
	if p.at, p.data, p.number, p.port, p.more = p.e.Next(); p.more {
		p.h.net.At(p.at, p, 0)
	}
}

// Fire implements vtime.Event.
func (p *endpoint) Fire(now vtime.Time, _ uint64) {
	p.send(now, p.data, p.number, p.port)
	p.next()
}

func (p *endpoint) send(now vtime.Time, data []byte, number uint32, port int) {
	f := p.h.net.Frames().Get()
	f.Data = append(f.Data, data...)
	f.SetFlow(number)
	p.h.port(port).send(now, classOf(data), f)
}

// receive passes a frame to the Endpoint, and reports whether it is not one of the
// host's flows and not PFC.
func (p *endpoint) receive(now vtime.Time, port int, f *packet.Frame) bool {
	d := f.Data
	if packet.AsPFC(d) != nil {
		return false
	}
	if len(d) >= offBTH && packet.Ethernet(d).EtherType() == packet.EtherTypeIPv4 && d[offIP] == 0x45 && packet.IPv4(d[offIP:]).Protocol() == packet.ProtoUDP {
		switch packet.UDP(d[offUDP:]).DstPort() {
		case packet.PortRoCEv2, packet.PortINT, packet.PortPINT, packet.PortPostcard:
			return false
		}
	}
	if answer := p.e.Receive(now, f); answer != nil {
		p.send(now, answer, f.Flow(), port)
	}
	return true
}

// classOf returns the class of a frame by its DSCP, zero without one.
func classOf(data []byte) uint8 {
	if len(data) < offIP+2 || packet.Ethernet(data).EtherType() != packet.EtherTypeIPv4 {
		return 0
	}
	return data[offIP+1] >> 5
}
