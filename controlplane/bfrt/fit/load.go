// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Load is the most that the messages of a program take of a port.
type Load struct {
	Port string // as in "recirculation port 196 (pipeline 1)"
	Rate vtime.Rate
	Of   vtime.Rate // of the port
	From string     // how it is computed
}

// recirculationRate is that of a recirculation port.
const recirculationRate = 100 * vtime.Gbps

// classes that packets have: data, everything else, and messages.
const classes = 3

// postcardBytes is the length of a postcard and of a notification of QCN, as frames.
const postcardBytes = 100

// perSecond is the rate of messages of this many bytes, that many a second.
func perSecond(n int, bytes int) vtime.Rate {
	return vtime.Rate(n) * vtime.Rate(8*(bytes+topo.EthernetOverhead))
}

// Loads returns the loads of the program's messages: copies that egress sends to ingress
// through recirculation ports, and messages to hosts and switches.
func (s *Switch) Loads() []Load {
	pipes := s.pipes()
	const reports = 1e9 / manifest.FeedbackInterval // of a queue, in a second
	var copies int
	var from string
	// Each pipeline gets the copies of all, so that it knows the queues of all.
	if n := len(s.choices()); s.register("queue_told_at") && n > 0 {
		copies = n * classes
		from = fmt.Sprintf("queues of %d uplinks in %d classes", n, classes)
	}
	if s.register("departed") {
		n := len(s.Node.Ports) * classes * len(pipes)
		copies += n
		if from != "" {
			from += ", and "
		}
		from += fmt.Sprintf("departures from %d ingress ports in %d classes", len(s.Node.Ports), classes)
		if len(pipes) > 1 {
			from += fmt.Sprintf(", by each of %d pipelines", len(pipes))
		}
	}
	var list []Load
	for _, p := range pipes {
		if copies == 0 {
			break
		}
		list = append(list, Load{
			Port: fmt.Sprintf("recirculation port %d (pipeline %d)", p*manifest.TofinoPipePorts+manifest.TofinoRecirculation, p),
			Rate: perSecond(copies*reports, s.Program.MirrorBytes), Of: recirculationRate,
			From: fmt.Sprintf("%s, one copy of %d bytes in %d ns each", from, s.Program.MirrorBytes, manifest.FeedbackInterval),
		})
	}
	for p := 1; p <= len(s.Node.Ports); p++ {
		if l, ok := s.messages(p); ok {
			list = append(list, l)
		}
	}
	return list
}

// messages returns the load of messages that leave by a port because of the packets that
// arrived there.
func (s *Switch) messages(port int) (Load, bool) {
	l := Load{Port: fmt.Sprintf("port %d", port), Of: s.link(port).Rate}
	frame := int(s.Program.Network.MTU)
	packets := int(l.Of) / (8 * (frame + topo.EthernetOverhead)) // a second
	switch {
	case s.Program.Has("pbfs"):
		l.Rate = perSecond(packets, postcardBytes)
		l.From = fmt.Sprintf("a postcard for each data packet of %d bytes, until senders obey", frame)
	case s.Program.Has("qcn"):
		n := s.network()
		sample, err := s.Program.Value("qcn.sample", n)
		if err != nil || sample <= 0 {
			return l, false
		}
		shortest := sample / 8 * 0.85 // by 802.1Qau's table, and the random factor
		l.Rate = perSecond(int(float64(l.Of)/8/shortest), postcardBytes)
		l.From = fmt.Sprintf("a notification for each period of at least %.0f bytes", shortest)
	case s.peer(port).Kind == topo.Switch && s.Program.Has("rlb_adaptive"):
		l.Rate = perSecond(packets/8, s.Program.MirrorBytes)
		l.From = fmt.Sprintf("a warning for one in eight packets of %d bytes that arrive above Q_th", frame)
	case s.peer(port).Kind == topo.Switch && s.Program.Has("rlb"):
		interval, err := s.Program.Value("rlb.interval", s.network())
		if err != nil || interval < 1 {
			return l, false
		}
		l.Rate = perSecond(int(classes*1e9/interval), s.Program.MirrorBytes)
		l.From = fmt.Sprintf("a warning for each of %d classes in %s", classes, vtime.Time(interval*float64(vtime.Nanosecond)))
	case s.Program.Has("plb") && len(s.choices()) > 0 && s.peer(port).Kind == topo.Switch:
		interval, err := s.Program.Value("plb.probe_interval", s.network())
		if err != nil || interval <= 0 {
			return l, false
		}
		leaves := 0
		for i := range s.Net.Nodes {
			if n := &s.Net.Nodes[i]; n.Kind == topo.Switch && n.Leaf >= 0 && n.ID != s.Node.ID {
				leaves++
			}
		}
		// A probe and a message to leave a path, each at most once per interval and leaf.
		l.Rate = perSecond(int(float64(2*leaves)*1e9/interval), s.Program.MirrorBytes)
		l.From = fmt.Sprintf("a probe and a message to each of %d leaves in %s", leaves, vtime.Time(interval*float64(vtime.Nanosecond)))
	default:
		return l, false
	}
	return l, true
}

func (s *Switch) register(name string) bool {
	return slices.ContainsFunc(s.Program.Registers, func(r manifest.Register) bool { return r.Name == name })
}

// pipes returns the pipelines of the switch's ports.
func (s *Switch) pipes() (list []int) {
	for p := 1; p <= len(s.Node.Ports); p++ {
		if n := pipe(s.Ports[p]); !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// checkLoads returns an error if a port's messages can take more than its rate.
func (s *Switch) checkLoads() error {
	for _, l := range s.Loads() {
		if l.Rate > l.Of {
			return fmt.Errorf("messages of %s take up to %v of %s, which has %v (%s): use fewer ports on this switch, or links of a higher rate", s.Program.Program, l.Rate, l.Port, l.Of, l.From)
		}
	}
	return nil
}
