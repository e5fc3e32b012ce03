// SPDX-License-Identifier: Apache-2.0

// Package fit says whether a program can work on a Tofino in a network, before anything
// is written: where its ports must be, how much its messages load ports, and whether
// what is compiled in fits the network. An error says what to do instead.
package fit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Switch is a switch of a network that is to run a program.
type Switch struct {
	Net     *topo.Topology
	Node    *topo.Node
	Program *manifest.Manifest
	Pipes   []uint32           // that run the program
	Panel   map[int]bfrt.Panel // positions of ports that --panel gives
	Ports   map[int]int        // the target's numbers, by number in the topology
	// Channels are those of the front panel, with the target's numbers.
	Channels map[bfrt.Panel]int
	RTT      vtime.Time // measured between leaves; zero: not measured
}

// Check returns all reasons why the switch cannot work so.
func (s *Switch) Check() error {
	checks := []func() error{
		s.checkPanel, s.checkLanes, s.checkPipes, s.checkPlace, s.checkRTT, s.checkConstants, s.checkTimes, s.checkPFC, s.checkHeadroom, s.checkBuffer, s.checkLoads,
	}
	var list []error
	for _, check := range checks {
		if err := check(); err != nil {
			list = append(list, err)
		}
	}
	return errors.Join(list...)
}

// network returns the quantities at the switch's links to other switches.
func (s *Switch) network() manifest.Network {
	return intent.NetworkOf(s.Net, s.Node.ID, s.Program.Network, intent.Options{RTT: s.RTT})
}

func (s *Switch) link(port int) *topo.Link { return &s.Net.Links[s.Node.Ports[port-1].Link] }

func (s *Switch) peer(port int) *topo.Node { return &s.Net.Nodes[s.Node.Ports[port-1].Peer] }

// choices returns the ports among which the program chooses: those to higher tiers,
// if there are several.
func (s *Switch) choices() []int {
	if list := s.uplinks(); len(list) > 1 {
		return list
	}
	return nil
}

// choosesPaths reports whether the program is for switches with several paths.
func (s *Switch) choosesPaths() bool {
	return s.Program.Base != "ecmp" || s.Program.Has("rlb") || s.Program.Has("rlb_adaptive")
}

// uplinks returns the ports to higher tiers.
func (s *Switch) uplinks() (list []int) {
	for p := 1; p <= len(s.Node.Ports); p++ {
		if n := s.peer(p); n.Kind == topo.Switch && n.Tier > s.Node.Tier && !s.link(p).Unused {
			list = append(list, p)
		}
	}
	return list
}

// learns reports whether ingress learns the state of paths from packets of uplinks, and
// uses it for packets of other ports: the header between leaves carries it, or data and
// acknowledgements of a flow change its row.
func (s *Switch) learns() bool {
	return (s.Program.Has("fabric") || s.Program.Has("flowcut") || s.Program.Has("themis")) && len(s.choices()) > 0
}

// checkPanel returns an error if a position is given for a port that the switch does not
// have.
func (s *Switch) checkPanel() error {
	for p, at := range s.Panel {
		if p < 1 || p > len(s.Node.Ports) {
			return fmt.Errorf("--panel %d=%d/%d: %s has ports 1 to %d in the topology", p, at.Port, at.Channel, s.Node.Name, len(s.Node.Ports))
		}
	}
	return nil
}

// lanes returns how many channels of a connector a rate takes: from the given one on.
func lanes(r vtime.Rate) int {
	switch {
	case r > 50*vtime.Gbps || r == 40*vtime.Gbps:
		return 4
	case r == 50*vtime.Gbps:
		return 2
	}
	return 1
}

// at returns the position of a port on the front panel.
func (s *Switch) at(port int) bfrt.Panel {
	if at, ok := s.Panel[port]; ok {
		return at
	}
	return bfrt.Panel{Port: port}
}

// checkLanes returns an error if the channels of a connector cannot have their rates.
func (s *Switch) checkLanes() error {
	taken := make(map[bfrt.Panel]int)
	for p := 1; p <= len(s.Node.Ports); p++ {
		at, n := s.at(p), lanes(s.link(p).Rate)
		if at.Channel%n != 0 {
			return fmt.Errorf("port %d has %v, which takes %d channels of a connector from channel %s on, and not from %d: write --panel %d=%d/0",
				p, s.link(p).Rate, n, map[int]string{2: "0 or 2", 4: "0"}[n], at.Channel, p, at.Port)
		}
		for i := range n {
			lane := bfrt.Panel{Port: at.Port, Channel: at.Channel + i}
			if other := taken[lane]; other != 0 {
				return fmt.Errorf("ports %d (%v) and %d (%v) both need channel %d/%d: give one of them another connector with --panel",
					other, s.link(other).Rate, p, s.link(p).Rate, lane.Port, lane.Channel)
			}
			taken[lane] = p
		}
	}
	return nil
}

func pipe(port int) int { return port / manifest.TofinoPipePorts }

// checkPipes returns an error if a port is in a pipeline that does not run the program.
func (s *Switch) checkPipes() error {
	for p := 1; p <= len(s.Node.Ports); p++ {
		if n := pipe(s.Ports[p]); !slices.Contains(s.Pipes, uint32(n)) {
			return fmt.Errorf("port %d is in pipeline %d (number %d on the chip), which does not run the program: add %d to --pipes, or give another connector with --panel", p, n, s.Ports[p], n)
		}
	}
	return nil
}

// checkPlace returns an error if ports that share what a program learns of paths are in
// several pipelines, with positions where they are in one.
func (s *Switch) checkPlace() error {
	byPipe := make(map[int][]int)
	for p := 1; p <= len(s.Node.Ports); p++ {
		n := pipe(s.Ports[p])
		byPipe[n] = append(byPipe[n], p)
	}
	if len(byPipe) < 2 || !s.learns() {
		return nil
	}
	var where []string
	pipes := make([]int, 0, len(byPipe))
	for n := range byPipe {
		pipes = append(pipes, n)
	}
	slices.Sort(pipes)
	for _, n := range pipes {
		where = append(where, fmt.Sprintf("%s in pipeline %d", ranges(byPipe[n]), n))
	}
	cause := fmt.Sprintf("%s keeps the state of paths in registers, of which each pipeline has its own: what packets from uplinks report is not seen by packets from hosts in another pipeline. Ports %s.", s.Program.Program, strings.Join(where, ", "))
	// First the pipeline with most of the ports.
	slices.SortStableFunc(pipes, func(a, b int) int { return len(byPipe[b]) - len(byPipe[a]) })
	need, have := 0, 0
	for _, n := range pipes {
		flags, connectors, of := s.place(n)
		if flags != "" {
			return fmt.Errorf("%s In pipeline %d they fit with %s", cause, n, flags)
		}
		need, have = connectors, max(have, of)
	}
	return fmt.Errorf("%s They need %d connectors, and a pipeline has %d. Four links of up to 25 Gb/s share a connector, two of 50 Gb/s; links of 40 and 100 Gb/s need one each. Use such rates or fewer ports, or a scheme without state of paths: ecmp, presto, letflow, hermes, rps, drill, ar, clb",
		cause, need, have)
}

// place returns flags with which all ports are in a pipeline, or "" if it has not enough
// connectors: how many are needed, and there are.
func (s *Switch) place(in int) (flags string, need, have int) {
	var connectors []int
	for at, port := range s.Channels {
		// Ports from 64 on are of the CPU, the packet generator and recirculation.
		if at.Channel == 0 && pipe(port) == in && port%manifest.TofinoPipePorts < 64 {
			connectors = append(connectors, at.Port)
		}
	}
	slices.Sort(connectors)
	type half struct{ connector, channel int } // the next free channel of a rate
	open := make(map[vtime.Rate]half)
	var list []string
	for p := 1; p <= len(s.Node.Ports); p++ {
		rate := s.link(p).Rate
		n := lanes(rate)
		at, ok := open[rate]
		if !ok {
			need++
			if need <= len(connectors) {
				at = half{connectors[need-1], 0}
			}
		}
		list = append(list, fmt.Sprintf("--panel %d=%d/%d", p, at.connector, at.channel))
		if at.channel += n; at.channel < 4 {
			open[rate] = at
		} else {
			delete(open, rate)
		}
	}
	if need > len(connectors) {
		return "", need, len(connectors)
	}
	return strings.Join(list, " "), need, len(connectors)
}

// ranges prints numbers, as in "1 to 16 and 18".
func ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		switch {
		case j == i:
			parts = append(parts, fmt.Sprint(list[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d to %d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, " and ")
}
