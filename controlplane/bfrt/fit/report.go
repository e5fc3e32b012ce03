// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Report returns what a user must know of the switch, beside its entries: the base
// round-trip time, which class a packet has, what hosts must do, the times that follow
// from the network, and the loads of messages. It has a line for each.
func (s *Switch) Report() []string {
	n := s.network()
	lines := []string{s.base(n), s.classes()}
	lines = append(lines, s.hosts()...)
	if spans := s.spans(n); spans != "" {
		lines = append(lines, "times: "+spans)
	}
	if only := s.uplinks(); len(only) == 1 && s.choosesPaths() {
		lines = append(lines, fmt.Sprintf("port %d is the only one to a higher tier: %s has no paths to choose from here", only[0], s.Program.Program))
	}
	lines = append(lines, s.loads()...)
	if s.Net.Switch.PFC.Alpha > 0 && !s.Net.Switch.PFC.Off {
		lines = append(lines, "XOFF is static on the chip: that of a busy switch with the topology's alpha")
	}
	return lines
}

func (s *Switch) base(n manifest.Network) string {
	if measured := n.Measured; measured > 0 {
		n.Measured = 0
		return fmt.Sprintf("base round trip between leaves: %v, measured; %v follow from the topology", measured, n.RTT())
	}
	return fmt.Sprintf("base round trip between leaves: %v, from %d links of %v, %v one way, frames of %v; without the switches' own latency: give a measured one with --rtt", n.RTT(), n.Hops, n.Rate, n.Delay, n.MTU)
}

func (s *Switch) classes() string {
	text := fmt.Sprintf("class of a packet: DSCP / 8. Class %d, DSCP %d to %d, is ", manifest.LosslessClass, 8*manifest.LosslessClass, 8*manifest.LosslessClass+7)
	if s.Net.Switch.PFC.Off {
		text += "lossy like the others (switch.pfc.off)"
	} else {
		text += fmt.Sprintf("lossless, with PFC for priority %d; the others are lossy", manifest.LosslessClass)
	}
	return text + "; class 7, DSCP 56 to 63, is that of messages"
}

// hosts returns what a leaf's hosts must do.
func (s *Switch) hosts() []string {
	if s.Node.Leaf < 0 {
		return nil
	}
	frame := fmt.Sprintf("send frames of at most %d bytes (switch.mtu)", s.Net.LargestFrame())
	list := []string{"mark data with DSCP 26", frame}
	if !s.Net.Switch.PFC.Off {
		list = append(list, fmt.Sprintf("obey and send PFC for priority %d", manifest.LosslessClass))
	}
	lines := []string{"hosts must: " + strings.Join(list, "; ")}
	for _, h := range hostParts {
		if s.Program.Has(h.feature) {
			lines = append(lines, "hosts must, for "+h.name+": "+h.must+"; this part exists in `pauseless fabric` and `pauseless host`, other NICs need it in their firmware")
		}
	}
	return lines
}

// hostParts are what hosts do in schemes that consist of a switch's and a host's part.
var hostParts = []struct{ feature, name, must string }{
	{"np_ecn", "PCN", "receivers send CNPs with RecRate, senders obey them"},
	{"pbfs", "PB-FS", "start at line rate, mark packets of the first round trip in the DSCP's lowest bit, obey postcards"},
	{"qcn", "QCN", "obey CNPs with QCN's feedback"},
	{"int", "HPCC", "add the header of the telemetry and obey it"},
	{"hermes", "Hermes", "measure the paths and choose them by the tag"},
}

// spans returns the times that follow from the network.
func (s *Switch) spans(n manifest.Network) string {
	var list []string
	for _, p := range s.Program.Parameters {
		if p.Unit != "ns" {
			continue
		}
		if v, err := s.Program.Value(p.Name, n); err == nil {
			list = append(list, fmt.Sprintf("%s %v", p.Name, vtime.Time(v*float64(vtime.Nanosecond))))
		}
	}
	return strings.Join(list, ", ")
}

// loads prints the loads, those of equal ports once.
func (s *Switch) loads() (lines []string) {
	all := s.Loads()
	var done []Load
	for _, l := range all {
		same := func(o Load) bool {
			return o.Rate == l.Rate && o.Of == l.Of && o.From == l.From && strings.HasPrefix(o.Port, "port ")
		}
		if slices.ContainsFunc(done, same) {
			continue
		}
		name := l.Port
		if strings.HasPrefix(name, "port ") {
			var ports []int
			for _, o := range all {
				var p int
				if _, err := fmt.Sscanf(o.Port, "port %d", &p); err == nil && same(o) {
					ports = append(ports, p)
				}
			}
			if name = "port " + ranges(ports); len(ports) > 1 {
				name = "each of ports " + ranges(ports)
			}
		}
		done = append(done, l)
		lines = append(lines, fmt.Sprintf("load of %s: up to %.3gGbps of %v: %s", name, float64(l.Rate)/float64(vtime.Gbps), l.Of, l.From))
	}
	if len(all) > 0 && s.Program.RecirculationPort > 0 && len(s.choices()) > 0 && all[0].Rate < all[0].Of {
		rest := float64(all[0].Of-all[0].Rate) / float64(vtime.Gbps)
		lines = append(lines, fmt.Sprintf("packets that wait for a warned path recirculate in the rest, at least %.3gGbps, up to %s times each", rest, s.most()))
	}
	return lines
}

func (s *Switch) most() string {
	v, err := s.Program.Value("rlb.max_recirculations", s.network())
	if err != nil {
		return "a few"
	}
	return fmt.Sprint(v)
}
