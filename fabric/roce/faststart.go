// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"net/netip"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// PBFS configures the sender's part of Postcard-Based Fast Start (Aaronson
// and Cohen, Networking 2024): a new flow starts at line rate, marks some of
// its first packets, and slows down when congested switches reply with postcards. It
// works with any congestion control, which takes over with the first acknowledgement
// or notification that changes the rate (section III-A).
//
// The paper does not say what becomes of ECN marks of packets that were sent before a
// postcard corrected the rate. They count, as all acknowledgements do there, so that
// congestion control may cut the rate once more, unless IgnoreEarlierMarks is set.
type PBFS struct {
	On       bool       `yaml:"on"`                      // flows begin with PB-FS
	RTT      vtime.Time `yaml:"rtt"`                     // DC_RTT; zero: the longest base round trip of the network
	Tau      vtime.Time `yaml:"tau"`                     // flows that take no longer at line rate do not use it; zero: half RTT
	Delta    int        `yaml:"delta" limits:"1.."`      // packets per marked packet
	Mu       float64    `yaml:"mu" limits:"0..1"`        // target utilisation
	MinShare float64    `yaml:"min_share" limits:"0..1"` // share of the bytes of one RTT that is reserved for new flows
	// IgnoreEarlierMarks ignores ECN marks of packets that were sent before a postcard.
	IgnoreEarlierMarks bool `yaml:"ignore_earlier_marks"`
}

func (p *PBFS) check() (path string, err error) {
	switch {
	case !p.On:
	case p.RTT < 0:
		return "pbfs.rtt", fmt.Errorf("rtt is %v, must not be negative", p.RTT)
	case p.Tau < 0:
		return "pbfs.tau", fmt.Errorf("tau is %v, must not be negative", p.Tau)
	case p.Delta < 1:
		return "pbfs.delta", fmt.Errorf("delta is %d, must be at least 1", p.Delta)
	case p.Mu <= 0 || p.Mu > 1:
		return "pbfs.mu", fmt.Errorf("mu is %g, must be above 0 and at most 1", p.Mu)
	case p.MinShare <= 0 || p.MinShare > 1:
		return "pbfs.min_share", fmt.Errorf("min_share is %g, must be above 0 and at most 1", p.MinShare)
	}
	return "", nil
}

// fastStart is the PB-FS state of a flow.
type fastStart struct {
	*PBFS
	s       *sender
	begun   bool               // the first packet was sent
	packets int                // since the last marked one
	answers map[uint16]float64 // latest rate reduction requested by each switch
	silent  bool               // no more marks, since a postcard or an acknowledgement was received
	over    bool               // congestion control has taken over
	stale   int64              // marks of packets below this one are ignored
}

// stale reports whether marks that the latest feedback is about are ignored.
func (s *sender) stale() bool { return s.pbfs != nil && s.una < s.pbfs.stale }

// updated ends PB-FS once congestion control has changed the rate.
func (fs *fastStart) updated(old vtime.Rate, marked bool) {
	fs.silent = true
	if fs.s.Rate != old || marked {
		fs.over = true
	}
}

// remote identifies a flow by its receiver, like messages of switches.
type remote struct {
	ip netip.Addr
	qp uint32
}

// register enters the first flow of a queue pair under its receiver if switches may send
// messages about it, and prepares each for PB-FS if it is long enough.
func (h *Host) register(s *sender, to Address, qp uint32) {
	p := &h.cfg.PBFS
	tau := p.Tau
	if tau == 0 {
		tau = p.RTT / 2
	}
	if !p.On && !h.kit.Switches {
		return
	}
	if h.byRemote == nil {
		h.byRemote = make(map[remote]*sender)
	}
	if r := (remote{to.IP, qp}); h.byRemote[r] == nil {
		h.byRemote[r] = s
	}
	if p.On && s.size >= h.rate.Bytes(tau) {
		s.pbfs = &fastStart{PBFS: p, s: s, answers: make(map[uint16]float64)}
	}
}

// mark marks every Delta-th packet until a reply is received.
func (fs *fastStart) mark(ip packet.IPv4) {
	if !fs.begun {
		fs.begun = true
		fs.s.h.Stats.FastStarts++
	}
	if fs.silent {
		return
	}
	if fs.packets++; fs.packets == fs.Delta {
		fs.packets = 0
		ip.SetDSCP(ip.DSCP() | packet.DSCPMark)
		ip.UpdateChecksum()
	}
}

// postcard handles a switch's postcard: algorithm 1 of the paper, with the
// largest of the switches' latest reductions.
func (h *Host) postcard(ip packet.IPv4, p packet.Postcard) {
	if p == nil {
		h.Stats.Unknown++
		return
	}
	s := h.byRemote[remote{ip.Src(), p.DestQP()}]
	if s == nil {
		h.Stats.Misdelivered++
		return
	}
	h.Stats.Postcards++
	s = h.current(s)
	fs := s.pbfs
	if fs == nil || fs.over || s.ctl == nil {
		return
	}
	fs.silent = true
	fs.answers[p.Switch()] = fs.reduction(p)
	largest := 1.0
	for _, c := range fs.answers {
		largest = max(largest, c)
	}
	if fs.IgnoreEarlierMarks {
		fs.stale = s.high
	}
	old := s.Rate
	s.ctl.Restart(h.net.Now(), vtime.Rate(float64(s.Line)/largest))
	s.repace(old)
}

// reduction returns the factor of the rate reduction of new flows (equations of
// section III-D).
func (fs *fastStart) reduction(p packet.Postcard) float64 {
	recent, marked := p.Recent()
	if recent == 0 {
		return 0
	}
	arriving := float64(p.Arriving())
	// The share of new flows is estimated from one packet in Delta. The estimate
	// may exceed one.
	fresh := min(float64(fs.Delta)*float64(marked)/float64(recent), 1) * arriving
	bdp := float64((vtime.Rate(p.Rate()) * vtime.Mbps).Bytes(fs.RTT))
	least := fs.MinShare * float64(fs.s.Line.Bytes(fs.RTT))
	room := max(bdp-float64(p.Queue())-(arriving-fresh), least)
	return fresh / (fs.Mu * room)
}
