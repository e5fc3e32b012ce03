// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Transport is the protocol of a host's flows.
type Transport string

// Transports.
const (
	// RoCE is RoCEv2 with reliable connections.
	RoCE Transport = "roce"
	// UET is Ultra Ethernet Transport: packets of a flow take many paths and are delivered
	// in any order (UEC specification 1.0, mode RUD).
	UET Transport = "uec"
)

// UEC has the parameters of transport uec.
type UEC struct {
	Spraying Spraying `yaml:"spraying"`
	// Paths is the number of entropies of a flow, a power of two; 1 is one path.
	Paths int `yaml:"paths" limits:"1..8192"`
	// Bitmap is how many packets a receiver tracks from the first missing one on. A
	// sender sends none beyond.
	Bitmap int `yaml:"bitmap" limits:"64..32768"`
	// AckBytes is how much a receiver gets on the link before it acknowledges. It does so
	// at once for the first packet, a marked one, and one for which the sender waits.
	AckBytes vtime.Size `yaml:"ack_bytes"`
	// RTO is the time after which a packet without an answer counts as lost.
	RTO vtime.Time `yaml:"rto"`
}

// Trimming is what hosts must know of switches that trim.
type Trimming struct {
	On bool
	// LastHop is the DSCP of packets that the receiver's leaf has trimmed.
	LastHop uint8
}

// uecDefaults returns the parameters of the public simulator; its timeout follows from
// the queue of a switch, and its bitmap is four times as long.
func uecDefaults() UEC {
	return UEC{Spraying: Mixed, Paths: 64, Bitmap: 4096, AckBytes: 16384, RTO: 100 * vtime.Microsecond}
}

// UECDataOverhead and UECAckLen are the lengths in bytes of a data frame without its
// payload and of an acknowledgement, without preamble and frame check sequence.
const (
	UECDataOverhead = uetHeaderLen + packet.UETRequestLen + packet.UETSemanticLen
	UECAckLen       = uetHeaderLen + packet.UETAckLen

	uetHeaderLen = packet.EthernetLen + packet.IPv4Len + packet.UDPLen
)

// checkTransport returns the first error of a configuration with its transport.
func (c *Config) checkTransport() (path string, err error) {
	kit, err := c.CC.Kit(vtime.Gbps)
	if err != nil {
		return "", nil // reported as such
	}
	switch c.Transport {
	case "", RoCE:
		if kit.UEC {
			return "cc.algorithm", fmt.Errorf("cc.algorithm %s is for transport: uec", c.CC.Algorithm)
		}
		return "", nil
	case UET:
	default:
		return "transport", fmt.Errorf("transport is %q, must be %s or %s", c.Transport, RoCE, UET)
	}
	u := &c.UEC
	switch err := u.Spraying.check(); {
	case err != nil:
		return "uec.spraying", err
	case u.Paths < 1 || u.Paths > 8192 || u.Paths&(u.Paths-1) != 0:
		return "uec.paths", fmt.Errorf("paths is %d, must be a power of two up to 8192", u.Paths)
	case u.Bitmap < 64 || u.Bitmap > 1<<15 || u.Bitmap&(u.Bitmap-1) != 0:
		return "uec.bitmap", fmt.Errorf("bitmap is %d, must be a power of two from 64 to 32768", u.Bitmap)
	case u.AckBytes < 0:
		return "uec.ack_bytes", fmt.Errorf("ack_bytes is %v, must not be negative", u.AckBytes)
	case u.RTO <= 0:
		return "uec.rto", fmt.Errorf("rto is %v, must be positive", u.RTO)
	case c.PBFS.On || c.SlowStart.On || c.Coflows.Scheduler != "":
		return "transport", fmt.Errorf("pbfs, slow_start and coflows are for transport: roce")
	case c.Tag || c.Hermes.On:
		return "transport", fmt.Errorf("hosts with transport: uec put no tag before the IP header: clb and hermes need transport: roce")
	case kit.Telemetry != cc.NoTelemetry || kit.Switches || kit.Receiver != cc.Echo:
		return "cc.algorithm", fmt.Errorf("cc.algorithm %s needs telemetry or notifications, which transport: uec does not have: say nscc, rccc, nscc_rccc, dcqcn, dctcp, swift or none", c.CC.Algorithm)
	}
	return "", nil
}

// uetHeaders returns the headers up to UDP of frames from one of the host's addresses to
// a peer, with payload bytes after UDP.
func (h *Host) uetHeaders(from, to Address, port uint16, class uint8, ecn packet.ECN, payload int) layout {
	l := layout{ip: offIP, len: uetHeaderLen}
	n := packet.IPv4Len + packet.UDPLen + payload
	packet.Ethernet(l.bytes[:]).Set(to.MAC, from.MAC, packet.EtherTypeIPv4)
	packet.IPv4(l.bytes[offIP:]).Set(from.IP, to.IP, packet.ProtoUDP, DSCP(class), ecn, 0, n)
	packet.UDP(l.bytes[offUDP:]).Set(port, packet.PortUET, n-packet.IPv4Len)
	return l
}

// setUETLen sets the lengths in the headers of a frame for payload bytes after UDP.
func setUETLen(frame []byte, payload int) {
	ip := packet.IPv4(frame[offIP:])
	ip.SetTotalLen(packet.IPv4Len + packet.UDPLen + payload)
	ip.UpdateChecksum()
	n := packet.UDPLen + payload
	frame[offUDP+4], frame[offUDP+5] = byte(n>>8), byte(n)
}

// setPort sets the UDP source port of a frame.
func setPort(frame []byte, port uint16) {
	frame[offUDP], frame[offUDP+1] = byte(port>>8), byte(port)
}

// controlClass is the class of acknowledgements and of all control packets.
func (c *Config) controlClass() uint8 {
	if c.AckClass >= 0 {
		return uint8(c.AckClass)
	}
	return uint8(max(c.CNPClass, 0))
}

// uet handles a frame of Ultra Ethernet Transport.
func (h *Host) uet(now vtime.Time, f *packet.Frame, ip packet.IPv4, port uint16, b []byte) {
	u := packet.AsUET(b)
	if u == nil || h.cfg.Transport != UET {
		h.Stats.Unknown++
		return
	}
	qp := uint32(u.Destination()) - FirstQP
	if u.Type() == packet.UETRequestCC || u.Type() == packet.UETControl && u.Control() == packet.UETCreditWanted {
		if qp >= uint32(len(h.receivers)) {
			h.Stats.Misdelivered++
			return
		}
		r := h.receivers[qp].u
		if u.Type() == packet.UETControl {
			r.wanted(now, u)
		} else {
			r.data(now, f, ip, port, u)
		}
		return
	}
	if qp >= uint32(len(h.senders)) {
		h.Stats.Misdelivered++
		return
	}
	s := h.senders[qp].u
	switch u.Type() {
	case packet.UETAckCC:
		s.acked(now, u, port)
	case packet.UETNack:
		s.nacked(now, u, port)
	default:
		if u.Control() == packet.UETCredit {
			s.granted(now, u)
		}
	}
}

// window returns 64 members of a set whose members are at least first, from base on,
// which is at least first: bit i for base + i.
func (b *bitmap) window(base, first int64) (w uint64) {
	if len(b.words) == 0 {
		return 0
	}
	word := func(i int64) uint64 {
		if i-first>>6 >= int64(len(b.words)) {
			return 0
		}
		return b.words[i&int64(len(b.words)-1)]
	}
	w = word(base>>6) >> (base & 63)
	if base&63 != 0 {
		w |= word(base>>6+1) << (64 - base&63)
	}
	return w
}
