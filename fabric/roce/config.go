// SPDX-License-Identifier: Apache-2.0

// Package roce is a RoCEv2 host: a NIC with a queue per priority and PFC, and
// reliable connections with per-packet sequence numbers, acknowledgements,
// go-back-N or selective repeat, pacing and congestion control. Hosts send and
// receive real frames, Ethernet, IPv4, UDP and BTH, whose payload is elided
// from memory.
//
// A host uses the clock and the link of a Network. So the same code runs in the
// virtual time of package fabric and in wall time on a real port.
package roce

import (
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Network is a host's environment: a clock, a link at port 1 and a pool of frames.
type Network interface {
	vtime.Scheduler
	// Send puts a frame on the link. Its last bit leaves at time end.
	Send(port int, f *packet.Frame, end vtime.Time)
	Frames() *packet.Pool
}

// Config describes hosts. Start from Defaults: zero values are not replaced.
type Config struct {
	// Defaults selects the defaults of keys that a file leaves out: values of operators, or of
	// the papers
	Defaults Preset `yaml:"defaults"`
	MTU      int    `yaml:"mtu" limits:"64..9216"` // payload bytes of a full packet
	// Transport is the transport of flows. With uec, recovery and its times have no effect.
	Transport Transport `yaml:"transport"`
	// Overhead is the number of bytes on the link in addition to the frame:
	// preamble, gap, check sequence. A negative number matches simulators whose
	// frames are shorter than real ones.
	Overhead int      `yaml:"overhead" limits:"-20..100"`
	Recovery Recovery `yaml:"recovery"`                    // handling of lost and out-of-order packets
	AckEvery int      `yaml:"ack_every" limits:"1..65536"` // packets per acknowledgement
	// AckMarked makes a receiver acknowledge a marked packet at once, however many
	// packets an acknowledgement is for, as with DCTCP (RFC 8257, 3.2). Otherwise the
	// sender learns of a mark only if it is on the packet that is acknowledged.
	AckMarked bool `yaml:"ack_marked"`
	// NAKInterval is the least time between two NAKs for the same packet.
	NAKInterval vtime.Time `yaml:"nak_interval"`
	// ReorderWait is how long the expected packet may be missing, while later ones
	// arrive, before recovery out-of-order sends a NAK and recovery tcp sends
	// duplicate acknowledgements. Zero: 2 ms and 50 µs, in this order.
	ReorderWait vtime.Time `yaml:"reorder_wait"`
	// DupAcks is the number of packets received after a missing one at which TCP
	// retransmits it.
	DupAcks int `yaml:"dup_acks" limits:"1..65536"`
	// RTO is the retransmission timeout: how long the sender waits for an
	// acknowledgement before it retransmits from the first unacknowledged packet on.
	// Zero: no timeout.
	RTO vtime.Time `yaml:"rto"`
	// RTOLow is IRN's shorter timeout. It applies if at most RTOLowPackets are in
	// flight.
	RTOLow        vtime.Time `yaml:"rto_low"`
	RTOLowPackets int        `yaml:"rto_low_packets" limits:"0.."`
	// Window limits the bytes of a flow in flight, in bandwidth-delay products of the
	// base round trip. Zero: no limit, or one product if recovery or congestion
	// control needs a window.
	Window float64 `yaml:"window" limits:"0.."`
	// WindowFollowsRate makes the window proportional to the flow's rate.
	WindowFollowsRate bool `yaml:"window_follows_rate"`
	// NoWindow and FixedWindow are for algorithms that have a window in proportion to
	// the rate: none, or one that does not follow it. HPCC's simulator has keys for
	// them; in a scenario the algorithm decides.
	NoWindow    bool `yaml:"-" json:"-"`
	FixedWindow bool `yaml:"-" json:"-"`
	// AcksUnpaused lets acknowledgements leave a host while PFC pauses their class.
	// HPCC's simulator has a key for it.
	AcksUnpaused bool `yaml:"-" json:"-"`
	// GlobalRTT uses the longest base round trip of all pairs of hosts for every flow.
	// Hosts with transport uec always do, as in ultraethernet/uet-htsim: otherwise flows
	// within a leaf aim at shorter queues than those that they compete with, and starve.
	GlobalRTT bool `yaml:"global_rtt"`
	// Tag makes packets of coflows carry the coflow's number before the IP header.
	Tag bool `yaml:"tag"`

	// Drain makes a sender drain a flow when a switch asks for it in an acknowledgement
	// (Flowcut): it sends nothing more until all packets in flight are acknowledged.
	Drain bool `yaml:"drain"`

	// CNPInterval is the least time between two notifications of a flow.
	CNPInterval vtime.Time `yaml:"cnp_interval"`
	// CNPOnReorder makes an out-of-order packet count as marked.
	CNPOnReorder bool `yaml:"cnp_on_reorder"`
	// AckClass and CNPClass are the priorities of acknowledgements and
	// notifications; -1 is that of the flow.
	AckClass int `yaml:"ack_class" limits:"-1..7"`
	CNPClass int `yaml:"cnp_class" limits:"-1..7"`

	CC        cc.Config `yaml:"cc"`
	PBFS      PBFS      `yaml:"pbfs"`
	SlowStart SlowStart `yaml:"slow_start"`
	Coflows   Coflows   `yaml:"coflows"`
	// Hermes makes hosts choose the path of each packet.
	Hermes Hermes `yaml:"hermes"`
	// UEC configures transport uec.
	UEC UEC `yaml:"uec"`
	// Trimming is that of the network's switches. The fabric sets it.
	Trimming Trimming `yaml:"-" json:"-"`
}

// Preset names a set of defaults.
type Preset string

// Sets of defaults. They differ in the MTU, and in the congestion control that hosts
// have if neither a file nor the switches' program names one.
const (
	// Operators is what operators of RoCE run: packets of 4096 bytes, the largest MTU of
	// InfiniBand (volume 1, 5.2.2), on links for jumbo frames, and DCQCN with the
	// parameters of adapters, dcqcn (docs/hosts.md has the sources).
	Operators Preset = "operators"
	// Papers is what most papers use: packets of 1000 bytes on links for Ethernet's
	// standard frames, and DCQCN with the parameters of its paper, dcqcn_paper.
	Papers Preset = "papers"
)

// CC returns the congestion control of RoCE hosts for which nothing else is given.
func (p Preset) CC() string {
	if p == Papers {
		return "dcqcn_paper"
	}
	return "dcqcn"
}

// Defaults returns the configuration of hosts with the preset.
func (p Preset) Defaults() Config {
	c := Defaults()
	if p == Papers {
		c.Defaults, c.MTU = Papers, 1000
	}
	return c
}

// Defaults returns the configuration that operators use: an acknowledgement for each
// packet, go-back-N, no window.
func Defaults() Config {
	return Config{
		Defaults:      Operators,
		MTU:           4096,
		Overhead:      24,
		Recovery:      GoBackN,
		AckEvery:      1,
		AckMarked:     true,
		NAKInterval:   500 * vtime.Microsecond,
		RTO:           4 * vtime.Millisecond,
		RTOLow:        100 * vtime.Microsecond,
		RTOLowPackets: 3,
		DupAcks:       3,
		CNPInterval:   50 * vtime.Microsecond,
		AckClass:      -1,
		CNPClass:      6,
		PBFS:          PBFS{Delta: 6, Mu: 0.95, MinShare: 0.2},
		SlowStart:     SlowStart{Packets: 10},
		Coflows:       Coflows{Interval: 10 * vtime.Microsecond},
		Hermes:        HermesDefaults(),
		Transport:     RoCE,
		UEC:           uecDefaults(),
	}
}

// Check returns the first error of the configuration, and the path of the field in
// a file, or "".
func (c *Config) Check() (path string, err error) {
	switch {
	case c.Defaults != "" && c.Defaults != Operators && c.Defaults != Papers:
		return "defaults", fmt.Errorf("there are no defaults of %s; write %s or %s", c.Defaults, Operators, Papers)
	case c.MTU < MinMTU || c.MTU > MaxMTU:
		return "mtu", fmt.Errorf("mtu is %d, must be from %d to %d", c.MTU, MinMTU, MaxMTU)
	case c.Overhead < -20 || c.Overhead > 100:
		return "overhead", fmt.Errorf("overhead is %d, must be from -20 to 100", c.Overhead)
	case c.Recovery.check() != nil:
		return "recovery", c.Recovery.check()
	case c.DupAcks < 1 || c.DupAcks > 1<<16:
		return "dup_acks", fmt.Errorf("dup_acks is %d, must be from 1 to 65536", c.DupAcks)
	case c.SlowStart.On && c.SlowStart.Packets < 1:
		return "slow_start.packets", fmt.Errorf("packets is %d, must be at least 1", c.SlowStart.Packets)
	case c.SlowStart.On && c.PBFS.On:
		return "slow_start.on", fmt.Errorf("slow start and PB-FS cannot both begin a flow: remove one")
	case c.AckEvery < 1 || c.AckEvery > 1<<16:
		return "ack_every", fmt.Errorf("ack_every is %d, must be from 1 to 65536", c.AckEvery)
	case c.ReorderWait < 0 || c.NAKInterval < 0 || c.RTO < 0 || c.RTOLow < 0 || c.CNPInterval < 0:
		return "", fmt.Errorf("an interval is negative")
	case c.Window < 0:
		return "window", fmt.Errorf("window is %g, must not be negative", c.Window)
	case c.AckClass < -1 || c.AckClass >= packet.Classes:
		return "ack_class", fmt.Errorf("ack_class is %d, must be from 0 to 7, or -1 for the flow's", c.AckClass)
	case c.CNPClass < -1 || c.CNPClass >= packet.Classes:
		return "cnp_class", fmt.Errorf("cnp_class is %d, must be from 0 to 7, or -1 for the flow's", c.CNPClass)
	}
	for _, t := range c.timers() {
		if t.on && t.time > 0 && t.time < Shortest {
			return t.path, fmt.Errorf("%s is %v: a timer of hosts has at least %v, so that a run ends", t.path[strings.LastIndexByte(t.path, '.')+1:], t.time, Shortest)
		}
	}
	if path, err := c.PBFS.check(); err != nil {
		return path, err
	}
	if path, err := c.Coflows.check(); err != nil {
		return path, err
	}
	if path, err := c.Hermes.check(); err != nil {
		return path, err
	}
	if _, err := c.CC.Kit(vtime.Gbps); err != nil {
		return "cc.algorithm", err
	}
	return c.checkTransport()
}

// Shortest is the least period of a timer that starts again by itself. Some 10^4 of
// them in a round trip of a network take longer than its packets.
const Shortest = 100 * vtime.Nanosecond

// timer is a timer that starts again by itself.
type timer struct {
	path string
	on   bool
	time vtime.Time
}

func (c *Config) timers() []timer {
	return []timer{
		{"rto", true, c.RTO},
		{"rto_low", true, c.RTOLow},
		{"coflows.interval", c.Coflows.Scheduler != "", c.Coflows.Interval},
		{"hermes.probe", c.Hermes.On, c.Hermes.Probe},
		{"cc.dcqcn.alpha_timer", true, c.CC.DCQCN.AlphaTimer},
		{"cc.dcqcn.decrease_timer", true, c.CC.DCQCN.DecreaseTimer},
		{"cc.dcqcn.rise_timer", true, c.CC.DCQCN.RiseTimer},
		{"cc.qcn.rise_timer", true, c.CC.QCN.RiseTimer},
	}
}

// DSCP returns the code point of a priority: class selectors, except 26 (AF31)
// for the lossless class 3, as is usual in RoCE networks.
func DSCP(class uint8) uint8 {
	if class == 3 {
		return 26
	}
	return class << 3
}

// MostHeaders is the greatest length in bytes of what precedes and follows the payload
// in a packet, after the Ethernet header: with a tag and telemetry.
const MostHeaders = DataOverhead - packet.EthernetLen + packet.TagLen + packet.INTLen

// MinMTU and MaxMTU are the limits of Config.MTU, in bytes: switches carry frames of
// up to 9216 bytes and more.
const (
	MinMTU = 64
	MaxMTU = 9216
)

// Sizes of frames in bytes, without preamble, frame check sequence, tag and
// telemetry.
const (
	headerLen = packet.EthernetLen + packet.IPv4Len + packet.UDPLen + packet.BTHLen
	icrcLen   = 4 // invariant CRC, on the wire but left zero

	// DataOverhead is the length of a data frame without its payload.
	DataOverhead = headerLen + icrcLen
	// AckLen is the length of an acknowledgement.
	AckLen = headerLen + packet.AETHLen + icrcLen
	// CNPLen is the length of a congestion notification packet.
	CNPLen = headerLen + packet.CNPLen - packet.BTHLen + icrcLen
)

// Sizes returns the length in bytes of a data frame without its payload, and
// that of an acknowledgement, both on the flow's first link.
func (c *Config) Sizes(kit *cc.Kit, f *Flow) (data, ack int) {
	if c.Transport == UET {
		return UECDataOverhead, UECAckLen
	}
	data, ack = DataOverhead, AckLen
	data += kit.Telemetry.Len()
	ack += kit.Telemetry.Len()
	if c.tagged(f) {
		data += packet.TagLen
	}
	if c.Recovery.keeps() {
		ack += sackLen
	}
	return data, ack
}

// LargestFrame returns the length in bytes of the largest frame that a host sends,
// without preamble and check sequence.
func (c *Config) LargestFrame() (int, error) {
	kit, err := c.CC.Kit(vtime.Gbps) // of any rate
	if err != nil {
		return 0, err
	}
	if c.Transport == UET {
		return c.MTU + UECDataOverhead, nil
	}
	n := c.MTU + DataOverhead + kit.Telemetry.Len()
	if c.Tag || c.Hermes.On {
		n += packet.TagLen
	}
	return n, nil
}

// NetworkRTT reports whether all flows have the longest base round trip of the network.
func (c *Config) NetworkRTT() bool { return c.GlobalRTT || c.Transport == UET }

// HeaderBytes returns how many bytes of its frames a host with this congestion control
// keeps in memory: the headers of the longest.
func (c *Config) HeaderBytes(kit *cc.Kit) int {
	if c.Transport == UET {
		return UECAckLen
	}
	n := headerLen
	if c.Tag || c.Hermes.On {
		n += packet.TagLen
	}
	ack := headerLen + packet.AETHLen
	if c.Recovery.keeps() {
		ack += sackLen
	}
	return max(n, ack) + kit.Telemetry.Len()
}

// tagged reports whether the flow's data packets have a tag.
func (c *Config) tagged(f *Flow) bool {
	return c.Tag && f.Coflow != 0 || c.Hermes.On && f.Paths[0] > 1
}
