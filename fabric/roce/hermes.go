// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Hermes configures the host's part of Hermes (Zhang et al., SIGCOMM 2017):
// hosts measure the round-trip time, marks, timeouts and retransmissions of each path
// by their own flows and by probes, and choose a path for every packet. A tag before
// the IP header carries the choice to the leaf.
type Hermes struct {
	On bool `yaml:"on"` // hosts choose paths as Hermes does
	// A path is good if its round trip is below RTTLow, and may be congested if it is
	// above RTTHigh, both in addition to the base round trip. A path is better than
	// another if its round trip is shorter by RTTGap.
	RTTLow  vtime.Time `yaml:"rtt_low"`
	RTTHigh vtime.Time `yaml:"rtt_high"`
	RTTGap  vtime.Time `yaml:"rtt_gap"`
	// Likewise for the share of marked packets: ECN is the share at a queue that takes
	// RTTGap to drain. Zero: 0.4, the paper's value for switches that mark every
	// packet beyond a threshold; a scenario computes it from the profile's red.kmin,
	// red.kmax and red.pmax instead. ECNGap is an eighth of ECN if zero, as in the
	// paper.
	ECN    float64 `yaml:"ecn" limits:"0..1"`
	ECNGap float64 `yaml:"ecn_gap" limits:"0.."`
	// A flow leaves a congested path only after Sent bytes, and if its rate is below
	// Slow times that of its link.
	Sent vtime.Size `yaml:"sent"`
	Slow float64    `yaml:"slow" limits:"0.."`
	// Probe is the interval of probes of the best and two other paths while there are
	// flows. Zero: no probes.
	Probe vtime.Time `yaml:"probe"`
	// A path is avoided for Penalty after Timeouts timeouts in a row, or if the share of
	// retransmissions among its packets exceeds Repeats and it is not congested.
	Timeouts int        `yaml:"timeouts" limits:"1.."`
	Repeats  float64    `yaml:"repeats" limits:"0.."`
	Penalty  vtime.Time `yaml:"penalty"`
}

// HermesDefaults returns the paper's parameters for links of 40 Gb/s that mark
// from 160 KB on, which is a delay of 32 µs.
func HermesDefaults() Hermes {
	return Hermes{
		RTTLow: 20 * vtime.Microsecond, RTTHigh: 48 * vtime.Microsecond, RTTGap: 32 * vtime.Microsecond,
		Sent: 600 * vtime.KB, Slow: 0.3, Probe: 500 * vtime.Microsecond,
		Timeouts: 3, Repeats: 0.01, Penalty: 10 * vtime.Millisecond,
	}
}

// Marking sets the thresholds of the share of marked packets, if they are not given,
// for switches that mark with a probability: zero up to a queue of kmin, one above
// kmax, and rising to pmax in between. With DCQCN's 1 % at 200 KB the paper's 40 %
// would never be reached.
func (c *Hermes) Marking(kmin, kmax vtime.Size, pmax float64, rate vtime.Rate) {
	if c.ECN != 0 || kmax <= kmin {
		return
	}
	queue := vtime.Size(rate.Bytes(c.RTTGap))
	if queue < kmax {
		share := pmax * float64(queue-kmin) / float64(kmax-kmin)
		c.ECN = max(min(share, hermesECN), 0.001)
	}
}

// hermesECN is the paper's threshold of the share of marked packets.
const hermesECN = 0.4

// filled returns the parameters with defaults in place of zeros.
func (c Hermes) filled() Hermes {
	if c.ECN == 0 {
		c.ECN = hermesECN
	}
	if c.ECNGap == 0 {
		c.ECNGap = c.ECN / 8
	}
	return c
}

func (c *Hermes) check() (path string, err error) {
	switch {
	case !c.On:
	case c.RTTLow <= 0 || c.RTTHigh < c.RTTLow || c.RTTGap < 0 || c.Probe < 0 || c.Penalty <= 0:
		return "hermes", fmt.Errorf("needs 0 < rtt_low ≤ rtt_high, a penalty, and no negative times")
	case c.ECN < 0 || c.ECN > 1 || c.ECNGap < 0 || c.Slow < 0 || c.Repeats <= 0:
		return "hermes", fmt.Errorf("needs 0 ≤ ecn ≤ 1, repeats above 0, and no negative shares")
	case c.Timeouts < 1:
		return "hermes.timeouts", fmt.Errorf("timeouts is %d, must be at least 1", c.Timeouts)
	}
	return "", nil
}

// paths has a host's measurements of the paths to one leaf.
type paths struct {
	h       *Host
	cfg     Hermes
	leaf    int
	base    vtime.Time // round trip of the empty network
	agg     int        // paths at the aggregation switch, at least one
	state   []pathState
	flows   int     // active
	to      Address // of a host on that leaf, for probes
	class   uint8
	probing bool
}

// pathState has a host's measurements of one path.
type pathState struct {
	rtt      float64 // average, ps
	marked   float64 // average share of marked packets
	load     float64 // bytes that the host sent recently, decaying
	loadAt   vtime.Time
	timeouts int        // since the last acknowledgement
	failed   vtime.Time // end of the penalty
	sent     int64      // packets in the current period of Penalty
	repeats  int64      // packets lost in it, according to negative acknowledgements
	period   vtime.Time // start of the period
}

// fading is the time in which the load of a path decays to zero.
const fading = 100 * vtime.Microsecond

// senseWeight is the weight of a new sample in the averages. markWeight is
// lower for a small threshold ECN, so that the average covers three marks at
// that share.
const senseWeight = 1.0 / 8

func (c *Hermes) markWeight() float64 { return min(senseWeight, c.ECN/3) }

// pathsTo returns the host's measurements of the paths to a leaf.
func (h *Host) pathsTo(f *Flow, to Address) *paths {
	if !h.cfg.Hermes.On || f.Paths[0] <= 1 {
		return nil
	}
	if h.paths == nil {
		h.paths = make(map[int]*paths)
		ip := h.self.IP.As4()
		h.rng = rand.New(rand.NewPCG(uint64(binary.BigEndian.Uint32(ip[:])), 0x4865726d6573))
	}
	p := h.paths[f.Leaf]
	if p == nil {
		agg := max(f.Paths[1], 1)
		p = &paths{h: h, cfg: h.cfg.Hermes.filled(), leaf: f.Leaf, base: f.BaseRTT, agg: agg, state: make([]pathState, f.Paths[0]*agg)}
		for i := range p.state {
			p.state[i].rtt = float64(f.BaseRTT)
		}
		h.paths[f.Leaf] = p
	}
	p.to, p.class = to, f.Class
	return p
}

// quality classes of paths, the better the lower.
type quality uint8

const (
	good quality = iota
	gray
	congested
	failed
)

func (p *paths) quality(now vtime.Time, i int) quality {
	c, s := &p.cfg, &p.state[i]
	rtt := vtime.Time(s.rtt) - p.base
	switch {
	case s.failed > now:
		return failed
	case s.marked < c.ECN && rtt < c.RTTLow:
		return good
	case s.marked > c.ECN && rtt > c.RTTHigh:
		return congested
	}
	return gray
}

// loadOf returns the host's own load on a path.
func (p *paths) loadOf(now vtime.Time, i int) float64 {
	s := &p.state[i]
	return s.load * max(0, 1-float64(now-s.loadAt)/float64(fading))
}

// best returns a path with the least load among those of a quality that pass a
// test, or -1. It selects randomly among equal loads.
func (p *paths) best(now vtime.Time, q quality, test func(i int) bool) int {
	best, least := -1, 0.0
	first := p.h.rng.IntN(len(p.state))
	for k := range p.state {
		i := (first + k) % len(p.state)
		if p.quality(now, i) != q || test != nil && !test(i) {
			continue
		}
		if l := p.loadOf(now, i); best < 0 || l < least {
			best, least = i, l
		}
	}
	return best
}

// choose returns the path for the next packet of a flow: algorithm 2 of the
// paper.
func (p *paths) choose(now vtime.Time, s *sender) int {
	cur := s.track.via
	switch {
	case cur < 0 || s.timedOut || p.quality(now, cur) == failed:
		s.timedOut = false
		for q := good; q < failed; q++ {
			if i := p.best(now, q, nil); i >= 0 {
				return i
			}
		}
		return p.h.rng.IntN(len(p.state)) // all have failed
	case p.quality(now, cur) == congested:
		c := &p.cfg
		if s.next*int64(s.MTU) <= int64(c.Sent) || float64(s.Rate) >= c.Slow*float64(s.Line) {
			return cur
		}
		old := &p.state[cur]
		better := func(i int) bool {
			n := &p.state[i]
			return old.rtt-n.rtt > float64(c.RTTGap) && old.marked-n.marked > c.ECNGap
		}
		for q := good; q <= gray; q++ {
			if i := p.best(now, q, better); i >= 0 {
				return i
			}
		}
	}
	return cur
}

// sending records a packet sent on a path.
func (p *paths) sending(now vtime.Time, i, bytes int) {
	s := &p.state[i]
	s.load = p.loadOf(now, i) + float64(bytes)
	s.loadAt = now
	p.periods(now, s)
	s.sent++
}

// periods starts a new period for counting repeats when one is over.
func (p *paths) periods(now vtime.Time, s *pathState) {
	if now-s.period >= p.h.cfg.Hermes.Penalty {
		s.sent, s.repeats, s.period = 0, 0, now
	}
}

// sense adds a sample of a path.
func (p *paths) sense(i int, rtt vtime.Time, marked bool) {
	s := &p.state[i]
	s.rtt += senseWeight * (float64(rtt) - s.rtt)
	m := 0.0
	if marked {
		m = 1
	}
	s.marked += p.cfg.markWeight() * (m - s.marked)
	s.timeouts = 0
}

// timeout records a timeout of a flow on a path.
func (p *paths) timeout(now vtime.Time, i int) {
	s := &p.state[i]
	if s.timeouts++; s.timeouts >= p.h.cfg.Hermes.Timeouts {
		s.failed, s.timeouts = now+p.h.cfg.Hermes.Penalty, 0
	}
}

// repeat records a packet lost on a path. A path is evaluated after a hundred
// packets.
func (p *paths) repeat(now vtime.Time, i int) {
	c, s := &p.cfg, &p.state[i]
	p.periods(now, s)
	s.repeats++
	if s.sent >= 100 && float64(s.repeats) > c.Repeats*float64(s.sent) && p.quality(now, i) != congested {
		s.failed = now + c.Penalty
	}
}

// join and part count the flows that use the paths.
func (p *paths) join(now vtime.Time) {
	p.flows++
	if every := p.h.cfg.Hermes.Probe; every > 0 && !p.probing {
		p.probing = true
		p.h.net.At(now+every, p, 0)
	}
}

func (p *paths) part() { p.flows-- }

// Fire implements vtime.Event: it probes the best path and two others (power of two choices with memory).
func (p *paths) Fire(now vtime.Time, _ uint64) {
	if p.flows == 0 {
		p.probing = false
		return
	}
	best := 0
	for i := range p.state {
		if p.state[i].rtt < p.state[best].rtt {
			best = i
		}
	}
	p.probe(now, best)
	for range 2 {
		if i := p.h.rng.IntN(len(p.state)); i != best {
			p.probe(now, i)
		}
	}
	p.h.net.At(now+p.h.cfg.Hermes.Probe, p, 0)
}

// Probes and their echoes use opcodes from IBTA's range for manufacturers.
// After the BTH they have leaf, path and the time of sending.
const (
	opProbe  packet.Opcode = 0xc0
	opEcho   packet.Opcode = 0xc1
	probeLen               = 12
)

// probe sends a probe on a path.
func (p *paths) probe(now vtime.Time, i int) {
	f := p.h.net.Frames().Get()
	flow := Flow{Port: 0xc000, Class: p.class, Paths: [2]int{len(p.state)}}
	l := p.h.headers(p.h.self, p.to, &flow, p.class, packet.ECT0, cc.NoTelemetry, probeLen)
	p.setTag(l.bytes[:], i, 0)
	packet.BTH(l.bytes[l.bth():]).Set(opProbe, 0, 0, false)
	f.Data = append(f.Data, l.header()...)
	f.Data = binary.BigEndian.AppendUint16(f.Data, uint16(p.leaf))
	f.Data = binary.BigEndian.AppendUint16(f.Data, uint16(i))
	f.Data = binary.BigEndian.AppendUint64(f.Data, uint64(now))
	f.Elided = icrcLen
	p.h.nic.send(now, p.class, f)
}

// setTag writes a path into the tag after the Ethernet header at b.
func (p *paths) setTag(b []byte, i int, coflow uint16) {
	leaf, agg := uint8(i/p.agg), packet.TagNoPath
	if p.agg > 1 {
		agg = uint8(i % p.agg)
	}
	packet.Tag(b[packet.EthernetLen:]).Set(leaf, agg, coflow, packet.EtherTypeIPv4)
}

// probed replies to a probe, or handles the reply to one of this host's.
func (h *Host) probed(now vtime.Time, f *packet.Frame, ip packet.IPv4, bth packet.BTH) {
	body := bth.Payload()
	if len(body) < probeLen {
		h.Stats.Unknown++
		return
	}
	if bth.Opcode() == opEcho {
		leaf, i := int(binary.BigEndian.Uint16(body)), int(binary.BigEndian.Uint16(body[2:]))
		sent := vtime.Time(binary.BigEndian.Uint64(body[4:]))
		if p := h.paths[leaf]; p != nil && i < len(p.state) && sent >= 0 && sent <= now {
			p.sense(i, now-sent, bth.BECN())
		}
		return
	}
	class := packet.Priority(ip.DSCP())
	flow := Flow{Port: packet.UDP(f.Data[offUDP:]).SrcPort()}
	l := h.headers(h.self, Address{packet.Ethernet(f.Data).Src(), ip.Src()}, &flow, class, packet.NotECT, cc.NoTelemetry, probeLen)
	echo := packet.BTH(l.bytes[l.bth():])
	echo.Set(opEcho, 0, 0, false)
	if ip.ECN() == packet.CE {
		echo.SetBECN()
	}
	e := h.net.Frames().Get()
	e.Data = append(append(e.Data, l.header()...), body[:probeLen]...)
	e.Elided = icrcLen
	h.nic.send(now, class, e)
}
