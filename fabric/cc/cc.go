// SPDX-License-Identifier: Apache-2.0

// Package cc has the congestion controls of RoCEv2 senders. A control sets the
// rate and the window of one flow from its feedback: acknowledgements,
// congestion notifications and time. Switches mark packets and add telemetry.
// The documentation of a control states which feedback it needs.
package cc

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Flow is the part of a flow that its control reads and sets. A change applies
// from the next packet on.
type Flow struct {
	Rate   vtime.Rate // of the packets on the link, including headers and preamble
	Window int64      // maximum payload bytes in flight; zero: no limit

	Line    vtime.Rate // of the host's link
	BaseRTT vtime.Time // round trip of one full packet through an empty network
	MTU     int        // payload bytes of a full packet
	Packet  int        // bytes of a full packet on the link
	Seed    uint64     // of random numbers, different for each flow
	// Repace applies a new rate to the packet sent last, which changes the time of
	// the next one. It is nil until the flow has started.
	Repace func(old vtime.Rate)
}

// Ack is an acknowledgement that reached the sender.
type Ack struct {
	Acked  int64       // payload bytes acknowledged in total
	Sent   int64       // payload bytes sent in total, without retransmissions
	RTT    vtime.Time  // time since the acknowledged packet was sent; zero: unknown
	Marked bool        // the packet it acknowledges arrived with ECN CE
	INT    packet.INT  // records of the switches on its path; nil: none
	PINT   packet.PINT // digest of the switches on its path; nil: none
	// New is the bytes on the link that the receiver has got since the last
	// acknowledgement, and InFlight those in flight; of transport uec only.
	New, InFlight int64
}

// Loss is a packet that was lost.
type Loss struct {
	Bytes    int64      // on the link
	RTT      vtime.Time // until the receiver's answer came back, if it was trimmed
	InFlight int64      // bytes on the link
	Trimmed  bool       // by a switch; otherwise it timed out
	LastHop  bool       // by the receiver's leaf
}

// A Loser is a control that acts on losses.
type Loser interface {
	Lost(now vtime.Time, l *Loss)
}

// Notification is a congestion notification packet that reached the sender.
type Notification struct {
	CE       bool       // congested; only PCN sends notifications without congestion
	Rate     vtime.Rate // PCN: the receiving rate of the flow, on the link
	Feedback int        // QCN: from 0 to 63, the congestion of the switch
}

// A Control is the congestion control of one flow. Timers fire on it.
type Control interface {
	vtime.Event
	Ack(now vtime.Time, a *Ack)
	Notify(now vtime.Time, n *Notification)
	// Sent records that a packet of this size in bytes was sent: see Kit.Counts.
	Sent(now vtime.Time, bytes int)
	// Restart continues from a rate that was set for the control, as after its own
	// decrease.
	Restart(now vtime.Time, rate vtime.Rate)
	// Stop ends the control: pending timers then have no effect.
	Stop()
}

// Receiver is the receiving host's reaction to ECN marks.
type Receiver uint8

// Reactions of receivers.
const (
	// Echo sets the BECN bit in the acknowledgement of a marked packet.
	Echo Receiver = iota
	// Notify sends a congestion notification packet for a marked packet, at most
	// one per flow and interval (DCQCN's notification point).
	Notify
	// Report sends a notification after each interval with packets, with their rate
	// and whether nearly all were marked (PCN's notification point).
	Report
)

// Config chooses a congestion control and its parameters. A parameter that is zero
// has the algorithm's default for the link's rate.
type Config struct {
	Algorithm string `yaml:"algorithm"` // of congestion control
	// MinRate is the least rate of a flow. Zero: 100 Mb/s, as in the simulators of
	// DCQCN, TIMELY and HPCC; with PCN 1 Mb/s, the unit of its reports (section
	// 5.2), since its figure 17 has 1024 flows on 10 Gb/s.
	MinRate vtime.Rate `yaml:"min_rate"`
	Rate    vtime.Rate `yaml:"rate"` // of flows with the algorithm fixed; zero: that of the link
	DCQCN   DCQCN      `yaml:"dcqcn"`
	TIMELY  TIMELY     `yaml:"timely"`
	HPCC    HPCC       `yaml:"hpcc"`
	PINT    PINT       `yaml:"pint"` // parameters of hpcc_pint, in addition to those of hpcc
	DCTCP   DCTCP      `yaml:"dctcp"`
	Swift   Swift      `yaml:"swift"`
	QCN     QCN        `yaml:"qcn"`
	PCN     PCN        `yaml:"pcn"`
	NSCC    NSCC       `yaml:"nscc"` // parameters of nscc and nscc_rccc
}

// algorithm is a control with default parameters.
type algorithm struct {
	name  string
	kit   Kit // without New
	maker func(c *Config, line vtime.Rate) maker
}

type maker = func(f *Flow, s vtime.Scheduler) Control

var algorithms = []algorithm{
	{"none", Kit{}, func(*Config, vtime.Rate) maker { return newFixed(0) }},
	{"fixed", Kit{}, func(c *Config, _ vtime.Rate) maker { return newFixed(c.Rate) }},
	{"dcqcn", Kit{}, func(c *Config, line vtime.Rate) maker {
		return c.DCQCN.or(DCQCNDefaults(line)).maker(c.MinRate)
	}},
	{"dcqcn_paper", Kit{Receiver: Notify, Counts: true}, func(c *Config, _ vtime.Rate) maker {
		return c.DCQCN.or(DCQCNPaper()).maker(c.MinRate)
	}},
	{"timely", Kit{RTT: true}, func(c *Config, line vtime.Rate) maker {
		return c.TIMELY.or(TIMELYDefaults(line)).maker(c.MinRate)
	}},
	{"timely_packet", Kit{RTT: true}, func(c *Config, line vtime.Rate) maker {
		return c.TIMELY.or(TIMELYPacketDefaults(line)).packetMaker(c.MinRate)
	}},
	{"hpcc", Kit{Telemetry: INT, Window: true}, func(c *Config, line vtime.Rate) maker {
		return c.HPCC.or(HPCCDefaults(line)).maker(c.MinRate)
	}},
	{"hpcc_pint", Kit{Telemetry: Digest, Window: true}, func(c *Config, line vtime.Rate) maker {
		return c.PINT.or(PINTDefaults()).maker(c.HPCC.or(HPCCDefaults(line)), c.MinRate)
	}},
	{"dctcp", Kit{}, func(c *Config, line vtime.Rate) maker {
		return c.DCTCP.or(DCTCPDefaults(line)).maker(c.MinRate)
	}},
	{"swift", Kit{RTT: true}, func(c *Config, line vtime.Rate) maker {
		return c.Swift.or(SwiftDefaults(line)).maker(c.MinRate)
	}},
	{"qcn", Kit{Switches: true, Counts: true}, func(c *Config, line vtime.Rate) maker {
		return c.QCN.or(QCNDefaults(line)).maker(c.MinRate)
	}},
	{"pcn", Kit{Receiver: Report}, func(c *Config, line vtime.Rate) maker {
		return c.PCN.or(PCNDefaults(line)).maker(c.MinRate)
	}},
	{"nscc", Kit{UEC: true}, func(c *Config, _ vtime.Rate) maker {
		return c.NSCC.or(NSCCDefaults()).maker(false)
	}},
	{"rccc", Kit{UEC: true, Credit: true}, func(*Config, vtime.Rate) maker { return newFixed(0) }},
	{"nscc_rccc", Kit{UEC: true, Credit: true}, func(c *Config, _ vtime.Rate) maker {
		return c.NSCC.or(NSCCDefaults()).maker(true)
	}},
}

// Telemetry is what a control needs from the switches on a path. Data packets carry
// it between UDP and the transport header, acknowledgements after the AETH.
type Telemetry uint8

// Kinds of telemetry.
const (
	NoTelemetry Telemetry = iota
	INT                   // records of HPCC
	Digest                // the digest of PINT
)

// telemetries are the properties of the kinds.
var telemetries = [...]struct {
	len   int
	port  uint16
	block string
}{{0, packet.PortRoCEv2, ""}, {packet.INTLen, packet.PortINT, "int"}, {packet.PINTLen, packet.PortPINT, "pint"}}

// Len returns the length in bytes.
func (t Telemetry) Len() int { return telemetries[t].len }

// Port returns the UDP destination port of data packets with it.
func (t Telemetry) Port() uint16 { return telemetries[t].port }

// Block returns the name of the block of a program that fills it in; empty if none
// is needed.
func (t Telemetry) Block() string { return telemetries[t].block }

// Algorithms returns the names of all algorithms.
func Algorithms() []string {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = a.name
	}
	return names
}

// Kit is a configured algorithm that makes a control for each flow of the hosts
// on links of one rate.
type Kit struct {
	// New makes the control of a flow that starts now. The flow's Rate is the line
	// rate.
	New       func(f *Flow, s vtime.Scheduler) Control
	Receiver  Receiver // required reaction of receivers
	RTT       bool     // whether it needs round-trip times
	Telemetry Telemetry
	// Switches is true if switches send notifications, which identify a flow by its
	// receiver's queue pair.
	Switches bool
	// Lowest is the minimum rate of a flow.
	Lowest vtime.Rate
	// Window is true if it limits the bytes in flight to a bandwidth-delay product,
	// in proportion to the rate.
	Window bool
	// Counts is true if its controls count what is sent: only then Sent is called.
	Counts bool
	// UEC is true if it needs transport uec, and Credit if receivers grant credit.
	UEC, Credit bool
}

// Kit returns the configured algorithm with its parameters for hosts on links
// of the given rate.
func (c *Config) Kit(line vtime.Rate) (*Kit, error) {
	name := c.Algorithm
	if name == "" {
		name = "none"
	}
	filled := *c
	if filled.MinRate == 0 {
		filled.MinRate = 100 * vtime.Mbps
		if name == "pcn" {
			filled.MinRate = vtime.Mbps
		}
	}
	for i := range algorithms {
		if a := &algorithms[i]; a.name == name {
			kit := a.kit
			kit.New, kit.Lowest = a.maker(&filled, line), filled.MinRate
			kit.Counts = kit.Counts || c.DCQCN.ByteCounter > 0
			return &kit, nil
		}
	}
	names := Algorithms()
	return nil, fmt.Errorf("no congestion control is called %q%s; use one of %s",
		name, diag.DidYouMean(name, names), strings.Join(names, ", "))
}

// overlay returns base with the nonzero fields of over.
func overlay[T any](over, base T) T {
	b, o := reflect.ValueOf(&base).Elem(), reflect.ValueOf(over)
	for i := range o.NumField() {
		if f := o.Field(i); !f.IsZero() {
			b.Field(i).Set(f)
		}
	}
	return base
}

// scale returns r·x, at least lo and at most hi.
func scale(r vtime.Rate, x float64, lo, hi vtime.Rate) vtime.Rate {
	return min(max(vtime.Rate(float64(r)*x), lo), hi)
}
