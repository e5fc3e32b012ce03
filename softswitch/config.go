// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"fmt"
	"math"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Config describes a switch. The zero value of every field but Ports is the
// default that its comment names.
type Config struct {
	Name string
	// DeviceID is the P4Runtime device_id that the switch answers to.
	DeviceID uint64
	Ports    []Port
	// CPUPort is where packets for the controller go: 510 if zero.
	CPUPort int
	// DropPort is the egress_spec that drops: 511 if zero.
	DropPort int
	Buffer   Buffer
	PFC      PFC
	Units    Units
	// Seed starts the generator behind P4's random extern.
	Seed uint64
	// MaxPasses bounds how often one packet may be resubmitted or recirculated:
	// 1000 if zero, at most 65534. Beyond, it is dropped with DropLoop.
	MaxPasses int
}

// Defaults of Config.
const (
	DefaultCPUPort  = 510
	DefaultDropPort = 511
	// DefaultRecircPort is where the scheme programs queue packets that egress
	// recirculates. It exists if Config.Ports has it, with Internal set.
	DefaultRecircPort = 509
)

// Port describes one port.
type Port struct {
	Number int
	// Rate is the speed of the link; zero sends without delay.
	Rate vtime.Rate
	// Overhead is what each frame costs on the link beyond its bytes: preamble,
	// inter-packet gap and frame check sequence are 24 bytes
	// (EthernetOverhead); zero compares with simulators that leave them out.
	Overhead int
	// Internal is true if the port has no link: its packets are recirculated, or
	// lost.
	Internal bool
	// Weights of the eight queues. A queue of weight zero has strict priority
	// over those with a lower number and over all weighted ones; the weighted
	// ones share what is left by deficit round robin. All zero: strict.
	Weights [packet.Classes]int
	// MAC is the source address of PFC frames sent here.
	MAC packet.MAC
	// Latency is how long a packet takes from the end of its time on an
	// internal port back to the parser.
	Latency vtime.Time
	// PFC has thresholds of this port that differ from Config.PFC; zero values
	// do not.
	PFC Thresholds
}

// Thresholds are the thresholds of flow control, per ingress port and class.
type Thresholds struct {
	// XOFF is how many bytes beyond Reserve one ingress port and class may have
	// in the buffer before its sender is paused, and XON what they must fall to
	// before it is resumed: XOFF less 4 KB if zero.
	XOFF, XON vtime.Size
	// Resume is how far below the threshold, static or dynamic, a sender is
	// resumed. Zero: by XON.
	Resume vtime.Size
	// Alpha makes the threshold dynamic: XOFF is Alpha times the free part of
	// the buffer, that is what headroom, reserves and packets leave. A field
	// XOFF that is not zero bounds it from above. The gap to XON stays.
	Alpha float64
	// Reserve is what a lossless class may always hold, beside the shared part
	// of the buffer.
	Reserve vtime.Size
	// Headroom is kept for what arrives after XOFF; beyond it packets are
	// dropped with DropHeadroom. Zero: as much as the buffer has.
	Headroom vtime.Size
}

// EthernetOverhead is what a frame takes of a link beyond its bytes in
// memory: 8 of preamble, 12 of gap, 4 of frame check sequence.
const EthernetOverhead = 24

// Buffer describes the packet memory shared by all ports.
type Buffer struct {
	// Size is the whole memory in bytes, headroom included; zero is unlimited.
	Size vtime.Size
	// QueueBytes and QueuePackets limit each egress queue of a class that is
	// not lossless; zero is no limit. BMv2 has 64 packets.
	QueueBytes   vtime.Size
	QueuePackets int
	// EgressAlpha limits them to that share of the free memory; zero is no
	// limit.
	EgressAlpha float64
}

// PFC describes priority-based flow control, IEEE 802.1Qbb.
type PFC struct {
	// Lossless has bit i set where class i is lossless: it is paused rather
	// than dropped. Zero switches PFC off.
	Lossless uint8
	// Thresholds of all ports that have no others.
	Thresholds
	// Quanta is the time in a PAUSE: 65535 if zero. A pause that lasts is
	// renewed when half of it is over.
	Quanta uint16
	// Pause is that time, whatever a port's rate, if it is not zero.
	Pause vtime.Time
	// EachFrame answers every frame that comes beyond the threshold with a
	// PAUSE, instead of one that is renewed.
	EachFrame bool
	// HeadroomLast has headroom used only when the shared part of the buffer is
	// full, instead of for all that comes beyond the threshold.
	HeadroomLast bool
	// DropAlpha limits each egress queue of a lossless class to that share of
	// what is free of the whole buffer. What comes beyond is dropped. Zero is no
	// limit.
	DropAlpha float64
	// CopyToPipeline passes received PFC frames to the program as well, after
	// the MAC has obeyed them.
	CopyToPipeline bool
	// Classify maps the six DSCP bits of a received IPv4 packet to the class
	// that it is charged to. Nil charges it to the queue that the program
	// picks, as is done with packets that a scheme's header hides.
	Classify *[64]uint8
}

// Units says in which units v1model metadata counts.
type Units struct {
	// Time is the unit of timestamps: "us", as BMv2, if empty; or "ns".
	Time string
	// Depth is the unit of queue depths: "packets", as BMv2, if empty;
	// "cells80" (80-byte cells, as Tofino) or "bytes".
	Depth string
}

// CellBytes is the size of a cell where queue depths count cells.
const CellBytes = manifest.CellBytes

// check returns what is wrong with the configuration and fills in defaults.
func (c *Config) check() error {
	if c.CPUPort == 0 {
		c.CPUPort = DefaultCPUPort
	}
	if c.DropPort == 0 {
		c.DropPort = DefaultDropPort
	}
	if c.MaxPasses == 0 {
		c.MaxPasses = 1000
	}
	if c.MaxPasses > maxPasses {
		return fmt.Errorf("switch %s: a packet may pass at most %d times, not %d", c.Name, maxPasses, c.MaxPasses)
	}
	seen := map[int]bool{}
	for _, p := range c.Ports {
		switch {
		case p.Number < 0 || p.Number > maxPort:
			return fmt.Errorf("switch %s: port %d: port numbers are 0 to %d", c.Name, p.Number, maxPort)
		case seen[p.Number]:
			return fmt.Errorf("switch %s: port %d is given twice", c.Name, p.Number)
		case p.Number == c.DropPort:
			return fmt.Errorf("switch %s: port %d is the drop port", c.Name, p.Number)
		case p.Number == c.CPUPort:
			return fmt.Errorf("switch %s: port %d is the CPU port", c.Name, p.Number)
		}
		seen[p.Number] = true
	}
	switch c.Units.Time {
	case "", "us", "ns":
	default:
		return fmt.Errorf("switch %s: unit of time %q: want us or ns", c.Name, c.Units.Time)
	}
	switch c.Units.Depth {
	case "", "packets", "cells80", "bytes":
	default:
		return fmt.Errorf("switch %s: unit of queue depth %q: want packets, cells80 or bytes", c.Name, c.Units.Depth)
	}
	if c.PFC.Lossless != 0 {
		for _, p := range c.Ports {
			t := p.thresholds(&c.PFC)
			switch {
			case p.Internal:
			case t.Alpha > 0 && c.Buffer.Size <= 0:
				return fmt.Errorf("switch %s: port %d: a dynamic PFC threshold needs Buffer.Size", c.Name, p.Number)
			case t.XOFF <= 0 && t.Alpha <= 0:
				return fmt.Errorf("switch %s: port %d: PFC without a threshold: set XOFF or Alpha", c.Name, p.Number)
			case t.XON > t.XOFF && t.Alpha <= 0:
				return fmt.Errorf("switch %s: port %d: PFC resumes at %v, above the %v at which it pauses", c.Name, p.Number, t.XON, t.XOFF)
			}
		}
		if c.PFC.Quanta == 0 {
			c.PFC.Quanta = 65535
		}
	}
	return nil
}

// thresholds returns the thresholds of a port.
func (p *Port) thresholds(pfc *PFC) Thresholds {
	t := pfc.Thresholds
	if o := p.PFC; o != (Thresholds{}) {
		if o.XOFF != 0 {
			t.XOFF = o.XOFF
		}
		if o.XON != 0 {
			t.XON = o.XON
		}
		if o.Resume != 0 {
			t.Resume = o.Resume
		}
		if o.Alpha != 0 {
			t.Alpha = o.Alpha
		}
		if o.Reserve != 0 {
			t.Reserve = o.Reserve
		}
		if o.Headroom != 0 {
			t.Headroom = o.Headroom
		}
	}
	return t
}

// gap returns how far below XOFF the sender is resumed.
func (t *Thresholds) gap() int64 {
	switch {
	case t.Resume > 0:
		return int64(t.Resume)
	case t.XON > 0 && t.XOFF > 0:
		return int64(t.XOFF - t.XON)
	}
	return defaultGap
}

// defaultGap is two frames of 1500 bytes and more, enough that a sender is
// not stopped again by what it sends at once.
const defaultGap = 4000

// maxPasses bounds how often a packet may be recirculated or resubmitted.
const maxPasses = math.MaxUint16 - 1

// maxPort bounds port numbers; standard_metadata has nine bits for them, other
// programs may have more.
const maxPort = 1<<16 - 1
