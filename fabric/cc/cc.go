// SPDX-License-Identifier: Apache-2.0

// Package cc has the congestion controls of RoCEv2 senders. A control sets
// the rate and the window of one flow from what comes back to it:
// acknowledgements, congestion notifications and time. Marking and telemetry
// are the business of switches; where a control relies on them its
// documentation says what must arrive.
package cc

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Flow is the part of a flow that its control reads and sets. The host obeys
// it from the next packet on.
type Flow struct {
	Rate   vtime.Rate // at which packets leave, headers and preamble included
	Window int64      // most payload bytes in flight; zero: no limit

	Line    vtime.Rate // of the host's link
	BaseRTT vtime.Time // round trip of one full packet through an empty network
	MTU     int        // payload bytes of a full packet
	// Repace tells the host that a new rate applies to the packet already
	// sent last, so that the next one may leave sooner or later. It is nil
	// until the flow has started.
	Repace func(old vtime.Rate)
}

// Ack is an acknowledgement that reached the sender.
type Ack struct {
	Acked  int64      // payload bytes acknowledged in all
	Sent   int64      // payload bytes sent in all, repeated ones not counted
	RTT    vtime.Time // from sending the acknowledged packet until now; zero: not known
	Marked bool       // the packet it acknowledges arrived with ECN CE
	INT    packet.INT // records of the switches it passed; nil: none
}

// Notification is a congestion notification packet that reached the sender.
type Notification struct {
	CE       bool       // congested; only PCN sends notifications without it
	Rate     vtime.Rate // PCN: at which the receiver got the flow, on the wire
	Feedback int        // QCN: from 0 to 63, how congested the switch is
}

// A Control is the congestion control of one flow. Timers fire on it.
type Control interface {
	vtime.Event
	Ack(now vtime.Time, a *Ack)
	Notify(now vtime.Time, n *Notification)
	// Sent notes that a packet of so many bytes has left.
	Sent(now vtime.Time, bytes int)
	// Restart makes the control go on from a rate that was set for it, as after
	// a decrease of its own.
	Restart(now vtime.Time, rate vtime.Rate)
	// Stop ends it: timers that still fire do nothing.
	Stop()
}

// Receiver says what the receiving host does with ECN marks.
type Receiver uint8

// What receivers do.
const (
	// Echo sets the BECN bit in the acknowledgement of a marked packet.
	Echo Receiver = iota
	// Notify sends a congestion notification packet when a marked packet
	// arrives, at most one per flow and interval (DCQCN's notification point).
	Notify
	// Report sends a notification every interval in which packets came, with
	// the rate at which they did and whether nearly all were marked (PCN's
	// notification point).
	Report
)

// Config chooses a congestion control and its parameters. A parameter that is zero
// has the algorithm's default for the link's rate.
type Config struct {
	Algorithm string `yaml:"algorithm"` // one of Algorithms; empty: none
	// MinRate is the least rate of a flow. Zero: 100 Mb/s, as in the simulators of
	// DCQCN, TIMELY and HPCC; with PCN 1 Mb/s, the unit of its reports (section
	// 5.2), since its figure 17 has 1024 flows on 10 Gb/s.
	MinRate vtime.Rate `yaml:"min_rate"`
	Rate    vtime.Rate `yaml:"rate"` // of fixed
	DCQCN   DCQCN      `yaml:"dcqcn"`
	TIMELY  TIMELY     `yaml:"timely"`
	HPCC    HPCC       `yaml:"hpcc"`
	DCTCP   DCTCP      `yaml:"dctcp"`
	Swift   Swift      `yaml:"swift"`
	QCN     QCN        `yaml:"qcn"`
	PCN     PCN        `yaml:"pcn"`
}

// algorithm is a control with default parameters.
type algorithm struct {
	name  string
	kit   Kit // but for New
	maker func(c *Config, line vtime.Rate) maker
}

type maker = func(f *Flow, s vtime.Scheduler) Control

var algorithms = []algorithm{
	{"none", Kit{}, func(*Config, vtime.Rate) maker { return newFixed(0) }},
	{"fixed", Kit{}, func(c *Config, _ vtime.Rate) maker { return newFixed(c.Rate) }},
	{"dcqcn", Kit{}, func(c *Config, line vtime.Rate) maker {
		return c.DCQCN.or(DCQCNDefaults(line)).maker(c.MinRate)
	}},
	{"dcqcn_paper", Kit{Receiver: Notify}, func(c *Config, _ vtime.Rate) maker {
		return c.DCQCN.or(DCQCNPaper()).maker(c.MinRate)
	}},
	{"timely", Kit{RTT: true}, func(c *Config, line vtime.Rate) maker {
		return c.TIMELY.or(TIMELYDefaults(line)).maker(c.MinRate)
	}},
	{"hpcc", Kit{INT: true, Window: true}, func(c *Config, line vtime.Rate) maker {
		return c.HPCC.or(HPCCDefaults(line)).maker(c.MinRate)
	}},
	{"dctcp", Kit{}, func(c *Config, line vtime.Rate) maker {
		return c.DCTCP.or(DCTCPDefaults(line)).maker(c.MinRate)
	}},
	{"swift", Kit{RTT: true}, func(c *Config, line vtime.Rate) maker {
		return c.Swift.or(SwiftDefaults(line)).maker(c.MinRate)
	}},
	{"qcn", Kit{Switches: true}, func(c *Config, line vtime.Rate) maker {
		return c.QCN.or(QCNDefaults(line)).maker(c.MinRate)
	}},
	{"pcn", Kit{Receiver: Report}, func(c *Config, line vtime.Rate) maker {
		return c.PCN.or(PCNDefaults(line)).maker(c.MinRate)
	}},
}

// Algorithms returns the names of all algorithms.
func Algorithms() []string {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = a.name
	}
	return names
}

// Kit is a chosen algorithm, ready to make a control for each flow of the
// hosts on links of one rate.
type Kit struct {
	// New makes the control of a flow, whose Rate is the line rate, and which
	// starts now.
	New      func(f *Flow, s vtime.Scheduler) Control
	Receiver Receiver // what it wants of receivers
	RTT      bool     // whether it wants round-trip times
	INT      bool     // whether it wants telemetry
	// Switches is true if notifications come from switches, which know a flow by
	// its receiver's queue pair.
	Switches bool
	// Lowest is the rate below which no flow falls.
	Lowest vtime.Rate
	// Window is true if it wants at most a bandwidth-delay product in flight, in
	// proportion to the rate.
	Window bool
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
			return &kit, nil
		}
	}
	names := Algorithms()
	return nil, fmt.Errorf("no congestion control is called %q%s; there are %s",
		name, diag.DidYouMean(name, names), strings.Join(names, ", "))
}

// overlay returns base with the fields that over sets.
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
