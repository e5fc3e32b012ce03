// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// checkRTT returns an error if the measured base round-trip time cannot be one of this
// network.
func (s *Switch) checkRTT() error {
	if s.RTT == 0 {
		return nil
	}
	n := s.network()
	n.Measured = 0
	cables := 2 * vtime.Time(n.Hops) * n.Delay
	switch computed := n.RTT(); {
	case s.RTT < cables:
		return fmt.Errorf("--rtt %v is less than the %v that signals take on the cables between the leaves: measure from leaf to leaf and back, or correct the topology's delay", s.RTT, cables)
	case s.RTT > 100*computed:
		return fmt.Errorf("--rtt %v is more than 100 times the %v that follows from the topology: measure without load, and mind the unit", s.RTT, computed)
	}
	return nil
}

// checkConstants returns an error if a number that is compiled in would be another for
// this network.
func (s *Switch) checkConstants() error {
	n := s.network()
	var list []string
	for _, c := range s.Program.Constants {
		v, err := s.Program.Evaluate(c.From, n, nil)
		if err != nil {
			return fmt.Errorf("constant %s of %s: %w", c.Name, s.Program.Program, err)
		}
		if int64(v) != c.Value {
			list = append(list, fmt.Sprintf("%s is %d and must be %d (%s)", c.Name, c.Value, int64(v), c.Doc))
		}
	}
	if s.Program.Has("plb") {
		paths := map[string]float64{"paths": float64(s.Program.Sizes.Paths)}
		was, err := s.Program.Evaluate(plbWindow, s.Program.Network, paths)
		if err != nil {
			return fmt.Errorf("the window of round-trip times of %s: %w", s.Program.Program, err)
		}
		must, err := s.Program.Evaluate(plbWindow, n, paths)
		if err != nil {
			return fmt.Errorf("the window of round-trip times of %s: %w", s.Program.Program, err)
		}
		if was != must {
			list = append(list, fmt.Sprintf("the window of round-trip times is 2^%.0f ns and must be 2^%.0f ns (in which all paths are probed once)", was, must))
		}
	}
	if len(list) == 0 {
		return nil
	}
	built := s.Program.Network
	measured := ""
	if n.Measured > 0 {
		measured = fmt.Sprintf(" --rtt %v", n.Measured)
	}
	return fmt.Errorf("%s is compiled for links of %v with a delay of %v and a base round trip of %v, and %s has %v, %v and %v: %s. Compile it for this network: pauseless tofino build --topology FILE%s",
		s.Program.Program, built.Rate, built.Delay, built.RTT(), s.Node.Name, n.Rate, n.Delay, n.RTT(), strings.Join(list, "; "), measured)
}

// plbWindow is the formula of the window of PLB's round-trip times of other paths: a
// shift in the text of the program, which the manifest does not list.
const plbWindow manifest.Expr = "min(31, floor(log2(floor(plb.probe_interval) * paths - 1)) + 1)"

// longestTime is half of the range of a program's clock, beyond which an age is taken
// for one in the future.
const longestTime = 1 << 31 * vtime.Nanosecond

// checkTimes returns an error if a time of the program is longer than it can measure.
func (s *Switch) checkTimes() error {
	n := s.network()
	for _, p := range s.Program.Parameters {
		if p.Unit != "ns" {
			continue
		}
		v, err := s.Program.Value(p.Name, n)
		if err != nil {
			return err
		}
		if t := vtime.Time(v * float64(vtime.Nanosecond)); t >= longestTime {
			return fmt.Errorf("%s is %v, and the clock of a program for Tofino measures less than %v: lower it in the profile (set: {%s: …})", p.Name, t, longestTime, p.Name)
		}
	}
	return nil
}

// reacts returns what a scheme does with pauses between switches, "" if it does nothing.
func (s *Switch) reacts() string {
	switch {
	case s.Program.Has("plb"):
		return "leaves paths that are paused"
	case s.Program.Has("rlb") || s.Program.Has("rlb_adaptive"):
		return "leaves paths that are about to be paused"
	case s.Program.Has("np_ecn"):
		return "marks packets that a pause did not delay"
	}
	return ""
}

// without names what to use instead of a scheme that needs PFC.
func (s *Switch) without() string {
	if base := s.Program.Base; base != "plb" {
		return "the scheme below it, " + base
	}
	return "a scheme that does not react to pauses, as ecmp"
}

// checkPFC returns an error if the scheme's premise, PFC, is not there.
func (s *Switch) checkPFC() error {
	does := s.reacts()
	switch pfc := s.Net.Switch.PFC; {
	case does != "" && pfc.Off:
		return fmt.Errorf("%s %s, and the topology has no PFC (switch.pfc.off): remove this line, or use %s", s.Program.Program, does, s.without())
	case does != "" && pfc.HostsOnly:
		return fmt.Errorf("%s %s, and in this topology switches do not pause each other (switch.pfc.hosts_only): remove this line, or use %s", s.Program.Program, does, s.without())
	}
	return nil
}

// checkHeadroom returns an error if the topology gives less headroom than a link needs.
func (s *Switch) checkHeadroom() error {
	given := s.Net.Switch.PFC.Headroom
	if given == 0 || s.Net.Switch.PFC.Off {
		return nil
	}
	computed := *s.Net
	computed.Switch.PFC.Headroom = 0
	for p := 1; p <= len(s.Node.Ports); p++ {
		l := s.link(p)
		if need := computed.HardwareHeadroom(l, manifest.CellBytes); s.Net.Pauses(l) && given < need {
			return fmt.Errorf("switch.pfc.headroom is %v, and port %d needs %v: a cable of %v in both directions, the %v in which IEEE 802.3 (31B.3.7) lets a port at %v obey a PAUSE, and frames of %d bytes in cells of %d. Remove the line, so that it is computed, or raise it",
				given, p, need, l.Delay, topo.ResponseTime(l.Rate), l.Rate, s.Net.LargestFrame(), manifest.CellBytes)
		}
	}
	return nil
}

// chipBuffer is the packet memory of a Tofino: 280 times 1024 cells.
const chipBuffer vtime.Size = 280 * 1024 * manifest.CellBytes

// checkBuffer returns an error if thresholds follow from a buffer that the chip does not
// have, or if XOFF is less than a frame.
func (s *Switch) checkBuffer() error {
	if pfc := s.Net.Switch.PFC; !pfc.Off && pfc.Alpha == 0 && pfc.XOFF < vtime.Size(s.Net.LargestFrame()) {
		return fmt.Errorf("switch.pfc.xoff is %v, less than a frame of %d bytes (switch.mtu): each such frame would pause its link; raise it", pfc.XOFF, s.Net.LargestFrame())
	}
	if b := s.Net.Switch.Buffer; b > chipBuffer {
		return fmt.Errorf("switch.buffer is %v, and a Tofino has %v, from which thresholds would follow: lower it", b, chipBuffer)
	}
	return nil
}
