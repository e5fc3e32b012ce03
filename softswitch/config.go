// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// Config describes a switch. Each zero field except Ports has the default in
// its comment.
type Config struct {
	Name string
	// DeviceID is the switch's P4Runtime device_id.
	DeviceID uint64
	Ports    []Port
	// CPUPort is the port for packets to the controller: 510 if zero. If it is one of
	// Ports, packets to the controller also leave by its link, and those of its link
	// arrive as those of the controller.
	CPUPort int
	// DropPort is the egress_spec that drops: 511 if zero.
	DropPort int
	Buffer   Buffer
	PFC      PFC
	Trimming Trimming
	Units    Units
	// Seed initialises the generator of P4's random extern.
	Seed uint64
	// QueueByClass puts the packets of v1model programs that do not set
	// standard_metadata.priority into the queue of their class, as a switch that trusts
	// the DSCP does. Otherwise they are in queue 0.
	QueueByClass bool
	// MaxPasses limits the work for one received frame: the resubmissions and
	// recirculations of it and of all its copies, together with the copies that
	// they make, and those that egress makes. The copies that the frame's first pass through
	// ingress makes are not counted: multicast groups and clone sessions limit
	// them. It is 1000 if zero, at most 65534. Work beyond it is not done, and its
	// packets are dropped with DropLoop. With NoPassLimit, passes that take time are
	// free: a recirculation by a port with a rate or a latency. All else is limited
	// to 65535.
	MaxPasses int
}

// Defaults of Config.
const (
	DefaultCPUPort  = 510
	DefaultDropPort = 511
	// DefaultRecircPort is the port in whose queues the scheme programs put packets
	// that egress recirculates. It exists if Config.Ports has it, with Internal
	// set.
	DefaultRecircPort = 509
)

// Port describes one port.
type Port struct {
	Number int
	// Rate is the speed of the link. Zero sends without delay.
	Rate vtime.Rate
	// Overhead is the size in bytes that each frame takes on the link beyond its
	// own. Preamble, inter-packet gap and frame check sequence take 24 bytes
	// (EthernetOverhead). Zero is for comparison with simulators without overhead.
	Overhead int
	// Slot is the least time from one packet of the queues to the next, as that of
	// queues whose rate is in packets. Zero: packets follow one another at Rate.
	Slot vtime.Time
	// Internal is true if the port has no link: its packets are recirculated or
	// dropped.
	Internal bool
	// Weights of the eight queues. A queue of weight zero has strict priority over
	// lower queues and over all weighted ones. The weighted queues share the rest
	// by deficit round robin. All zero: strict priority.
	Weights [packet.Classes]int
	// MAC is the source address of the port's PFC frames.
	MAC packet.MAC
	// Latency is the time from the end of transmission on an internal port to the
	// parser.
	Latency vtime.Time
	// OwnBuffer is true if the queues of an internal port have a buffer of their
	// own, without a limit: PFC and the limits of other queues do not count their
	// packets.
	OwnBuffer bool
	// PFC has thresholds of this port. Zero values are taken from Config.PFC.
	PFC Thresholds
	// TrimDSCP is the DSCP of packets that were trimmed for this port.
	TrimDSCP uint8
	// Watchdog is that of this port. Zero values are taken from Config.PFC.
	Watchdog Watchdog
}

// Watchdog detects PFC storms: a peer that pauses a queue in which packets wait,
// without end. It works like SONiC's PFC_WD.
type Watchdog struct {
	// Detection is how long a queue with packets is paused without a gap until that
	// is a storm. Zero: there is no watchdog.
	Detection vtime.Time
	// Restoration is how long no pause has to be in effect until the storm is
	// over: Detection if zero.
	Restoration vtime.Time
	// Action is what happens to the queue in between: "drop" if empty, "forward" or
	// "alert". With "off" there is no watchdog.
	Action string
	// Classes has bit i set if class i is watched. Zero: all lossless classes.
	Classes uint8
}

// Action is what a watchdog does with a queue in a storm.
type Action = tm.Action

// Actions by name.
var actions = map[string]Action{"": tm.ActionDrop, "drop": tm.ActionDrop, "forward": tm.ActionForward, "alert": tm.ActionAlert}

// ActionName returns the name of an action.
func ActionName(a Action) string { return topo.Actions[a] }

// DefaultWatchdog is that of `pfcwd start_default` in SONiC: real switches have it
// unless they are configured otherwise.
var DefaultWatchdog = Watchdog{Detection: 200 * vtime.Millisecond, Restoration: 200 * vtime.Millisecond, Action: "drop"}

// Thresholds are the thresholds of flow control, per ingress port and class.
type Thresholds struct {
	// XOFF is the number of bytes beyond Reserve that one ingress port and class
	// may have in the buffer before its sender is paused. At XON it is resumed:
	// XOFF less 4 KB if zero.
	XOFF, XON vtime.Size
	// Resume is the distance below the threshold, static or dynamic, at which a
	// sender is resumed. Zero: XON applies.
	Resume vtime.Size
	// Alpha makes the threshold dynamic: XOFF is Alpha times the free part of the
	// buffer, which excludes headroom, reserves and packets. A nonzero XOFF is its
	// upper limit. The distance to XON stays.
	Alpha float64
	// Reserve is the number of bytes reserved for a lossless class in addition to
	// the shared part of the buffer.
	Reserve vtime.Size
	// Headroom is reserved for packets after XOFF. Packets beyond it are dropped
	// with DropHeadroom. Zero: the whole buffer.
	Headroom vtime.Size
	// Apart is the headroom that dynamic thresholds count as not free. Zero: Headroom.
	// It is for comparison with simulators that compute headroom in another way.
	Apart vtime.Size
}

// EthernetOverhead is the size of a frame on a link beyond its bytes in memory:
// 8 of preamble, 12 of gap, 4 of frame check sequence.
const EthernetOverhead = 24

// Trimming makes the switch cut packets of lossy classes that it has no room for, instead
// of dropping them, as SONiC configures it. Size is what remains of the frame in bytes;
// zero: they are dropped. Queue is the queue of the same port that they go to.
type Trimming struct {
	Size  int
	Queue int
}

// Buffer describes the packet memory shared by all ports.
type Buffer struct {
	// Size is the memory in bytes, including headroom; zero is unlimited.
	Size vtime.Size
	// QueueBytes and QueuePackets limit each egress queue of a class that is
	// not lossless; zero is no limit. BMv2 has 64 packets.
	QueueBytes   vtime.Size
	QueuePackets int
	// EgressAlpha limits them to this share of the free memory; zero is no limit.
	EgressAlpha float64
}

// PFC describes priority-based flow control, IEEE 802.1Qbb.
type PFC struct {
	// Lossless has bit i set if class i is lossless: it is paused instead of
	// dropped. Zero disables PFC.
	Lossless uint8
	// Thresholds of the ports without their own.
	Thresholds
	// Watchdog is that of the ports without their own.
	Watchdog Watchdog
	// Quanta is the time in a PAUSE: 65535 if zero. A pause that is still needed is
	// renewed after half of it.
	Quanta uint16
	// Pause, if not zero, is that time for ports of any rate.
	Pause vtime.Time
	// EachFrame sends a PAUSE for every frame beyond the threshold, instead of
	// renewing one.
	EachFrame bool
	// HeadroomLast uses headroom only when the shared part of the buffer is full,
	// instead of for everything beyond the threshold.
	HeadroomLast bool
	// DropAlpha limits each egress queue of a lossless class to this share of the
	// free part of the whole buffer. Packets beyond are dropped. Zero is no limit.
	DropAlpha float64
	// CopyToPipeline passes received PFC frames also to the program, after the MAC
	// has applied them.
	CopyToPipeline bool
	// Classify maps the six DSCP bits of a received IPv4 packet to the class that
	// it is charged to. nil charges the queue that the program selects, as for
	// packets with a scheme's header before the DSCP.
	Classify *[64]uint8
}

// Units are the units of v1model metadata. Those of a configuration that are empty
// are the program's, if it names some.
type Units struct {
	// Time is the unit of timestamps: "us", as BMv2, if empty; or "ns".
	Time string
	// Depth is the unit of queue depths: "packets", as BMv2, if empty;
	// "cells80" (80-byte cells, as Tofino) or "bytes".
	Depth string
	// Slower, if above 1, makes time stamps count the time of a network that is slower
	// by this factor than the one in whose time the switch runs: a simulation has the
	// clock of a real network that runs in wall time.
	Slower int64
}

// For returns the units of a switch with these units that runs a program written for
// others, of which empty ones are not known. It returns an error if they differ, or if
// no switch has the program's.
func (u Units) For(program Units) (Units, error) {
	if err := program.Check(); err != nil {
		return u, fmt.Errorf("the program is written for a %w", err)
	}
	out := Units{cmp.Or(u.Time, program.Time, "us"), cmp.Or(u.Depth, program.Depth, "packets"), u.Slower}
	if program.Time != "" && program.Time != out.Time || program.Depth != "" && program.Depth != out.Depth {
		program = Units{cmp.Or(program.Time, "us"), cmp.Or(program.Depth, "packets"), 0}
		return u, fmt.Errorf("the program is written for time in %s and queue depth in %s, this switch has %s and %s: set units to {time: %s, depth: %s}, or leave units out of its configuration",
			program.Time, program.Depth, out.Time, out.Depth, program.Time, program.Depth)
	}
	return out, nil
}

// Check returns an error if a unit is not empty and not one that a switch has.
func (u Units) Check() error {
	switch u.Time {
	case "", "us", "ns":
	default:
		return fmt.Errorf("unit of time %q: must be us or ns", u.Time)
	}
	switch u.Depth {
	case "", "packets", "cells80", "bytes":
	default:
		return fmt.Errorf("unit of queue depth %q: must be packets, cells80 or bytes", u.Depth)
	}
	return nil
}

// CellBytes is the size of a cell in bytes, for queue depths in cells.
const CellBytes = manifest.CellBytes

// check validates the configuration and fills in defaults.
func (c *Config) check() error {
	shared := c.CPUPort != 0
	if c.CPUPort == 0 {
		c.CPUPort = DefaultCPUPort
	}
	if c.DropPort == 0 {
		c.DropPort = DefaultDropPort
	}
	if c.MaxPasses == 0 {
		c.MaxPasses = 1000
	}
	if c.MaxPasses > NoPassLimit {
		return fmt.Errorf("switch %s: a packet may pass at most %d times, not %d; %d is no limit for passes that take time", c.Name, NoPassLimit-1, c.MaxPasses, NoPassLimit)
	}
	seen := map[int]bool{}
	for i, p := range append(slices.Clip(c.Ports), Port{Number: c.CPUPort}) {
		if shared && i == len(c.Ports) && seen[p.Number] {
			continue // a port with a link is the CPU port, too
		}
		switch {
		case p.Number < 0 || p.Number > maxPort:
			return fmt.Errorf("switch %s: port %d: port numbers are 0 to %d", c.Name, p.Number, maxPort)
		case seen[p.Number]:
			return fmt.Errorf("switch %s: port %d is given twice", c.Name, p.Number)
		case p.Number == c.DropPort:
			return fmt.Errorf("switch %s: port %d is the drop port", c.Name, p.Number)
		case p.Number == c.CPUPort && i < len(c.Ports) && !shared:
			return fmt.Errorf("switch %s: port %d is the CPU port", c.Name, p.Number)
		case slices.Min(p.Weights[:]) < 0 || slices.Max(p.Weights[:]) > maxWeight:
			return fmt.Errorf("switch %s: port %d: weights %v: must be 0 to %d", c.Name, p.Number, p.Weights, maxWeight)
		}
		seen[p.Number] = true
	}
	if err := c.Units.Check(); err != nil {
		return fmt.Errorf("switch %s: %w", c.Name, err)
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
			case p.checkWatchdog(&c.PFC) != nil:
				return fmt.Errorf("switch %s: port %d: PFC watchdog: %w", c.Name, p.Number, p.checkWatchdog(&c.PFC))
			case t.XOFF > 0 && t.XON > t.XOFF:
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
		if o.Apart != 0 {
			t.Apart = o.Apart
		}
	}
	return t
}

// merged returns the watchdog of a port, with the defaults of zero values.
func (p *Port) merged(pfc *PFC) Watchdog {
	w, d := p.Watchdog, &pfc.Watchdog
	w.Detection = cmp.Or(w.Detection, d.Detection)
	w.Restoration = cmp.Or(w.Restoration, d.Restoration, w.Detection)
	w.Action, w.Classes = cmp.Or(w.Action, d.Action), cmp.Or(w.Classes, d.Classes, pfc.Lossless)
	return w
}

func (p *Port) checkWatchdog(pfc *PFC) error {
	w := p.merged(pfc)
	_, known := actions[w.Action]
	switch {
	case !known && w.Action != "off":
		return fmt.Errorf("no action is called %q%s; there are %s", w.Action, diag.DidYouMean(w.Action, topo.Actions), strings.Join(topo.Actions, ", "))
	case w.Detection < 0 || w.Restoration < 0:
		return fmt.Errorf("it detects after %v and restores after %v: give times above zero", w.Detection, w.Restoration)
	case w.Classes&^pfc.Lossless != 0:
		return fmt.Errorf("it watches classes %08b, of which only %08b are lossless (bit i is class i)", w.Classes, pfc.Lossless)
	}
	return nil
}

// watchdog returns the watchdog of a port for its traffic manager.
func (p *Port) watchdog(pfc *PFC) tm.Watchdog {
	w := p.merged(pfc)
	if p.Internal || w.Action == "off" || w.Detection == 0 {
		return tm.Watchdog{}
	}
	return tm.Watchdog{Classes: w.Classes, Detection: w.Detection, Restoration: w.Restoration, Action: actions[w.Action]}
}

// gap returns the distance below XOFF at which the sender is resumed.
func (t *Thresholds) gap() int64 {
	switch {
	case t.Resume > 0:
		return int64(t.Resume)
	case t.XON > 0 && t.XOFF > 0:
		return int64(t.XOFF - t.XON)
	}
	return defaultGap
}

// defaultGap is more than two frames of 1500 bytes, enough that a resumed
// sender is not paused again immediately.
const defaultGap = 4000

// NoPassLimit as Config.MaxPasses lets a packet pass the switch any number of times, as
// long as each pass takes time.
const NoPassLimit = math.MaxUint16

// maxWeight limits the weights of queues. A round of deficit round robin sends 1600 bytes
// for each.
const maxWeight = 1 << 16

// maxPort limits port numbers. standard_metadata has nine bits for them, other
// programs may have more.
const maxPort = 1<<16 - 1
