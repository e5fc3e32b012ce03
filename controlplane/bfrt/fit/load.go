// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"fmt"
	"slices"
	"strings"

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

// reported returns how many ports have queues that egress reports to ingress: those among
// which the program chooses, and with PLB all to other switches, whose pauses it detects.
func (s *Switch) reported() (n int) {
	if !s.Program.Has("plb") {
		return len(s.choices())
	}
	for p := 1; p <= len(s.Node.Ports); p++ {
		if s.peer(p).Kind == topo.Switch && !s.link(p).Unused {
			n++
		}
	}
	return n
}

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
	if n := s.reported(); s.register("queue_told_at") && n > 0 {
		copies = n * classes
		kind := "uplinks"
		if n > len(s.choices()) {
			kind = "ports to switches"
		}
		from = fmt.Sprintf("queues of %d %s in %d classes", n, kind, classes)
	}
	if n := len(s.choices()); s.register("caver_told_at") && n > 0 {
		copies += n
		from = fmt.Sprintf("acknowledgements from %d uplinks", n)
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
	rate := perSecond(copies*reports, s.Program.MirrorBytes)
	if copies > 0 {
		from = fmt.Sprintf("%s, one copy of %d bytes in %d ns each", from, s.Program.MirrorBytes, manifest.FeedbackInterval)
	}
	// A leaf that leaves a path itself tells its own ingress.
	if again, ok := s.span("plb.tell_again"); ok && len(s.choices()) > 0 {
		paths := s.otherLeaves() * len(s.choices())
		rate += perSecond(int(float64(paths)/again.Seconds()), s.Program.MirrorBytes)
		from += fmt.Sprintf("; a message to leave each of %d paths in %v", paths, again)
	}
	var list []Load
	for _, p := range pipes {
		if rate == 0 {
			break
		}
		list = append(list, Load{
			Port: fmt.Sprintf("recirculation port %d (pipeline %d)", p*manifest.TofinoPipePorts+manifest.TofinoRecirculation, p),
			Rate: rate, Of: recirculationRate, From: from,
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
// arrived there: those of all blocks of the program together.
func (s *Switch) messages(port int) (Load, bool) {
	l := Load{Port: fmt.Sprintf("port %d", port), Of: s.link(port).Rate}
	var from []string
	add := func(rate vtime.Rate, format string, args ...any) {
		l.Rate += rate
		from = append(from, fmt.Sprintf(format, args...))
	}
	frame := int(s.Program.Network.MTU)
	packets := int(l.Of) / (8 * (frame + topo.EthernetOverhead)) // a second
	if s.Program.Has("pbfs") {
		add(perSecond(packets, postcardBytes), "a postcard for each data packet of %d bytes, until senders obey", frame)
	}
	if sample, err := s.Program.Value("qcn.sample", s.network()); err == nil && sample > 0 {
		shortest := sample / 8 * 0.85 // by 802.1Qau's table, and the random factor
		add(perSecond(int(float64(l.Of)/8/shortest), postcardBytes), "a notification for each period of at least %.0f bytes", shortest)
	}
	if s.peer(port).Kind != topo.Switch {
		l.From = strings.Join(from, "; ")
		return l, l.Rate > 0
	}
	if s.Program.Has("rlb_adaptive") {
		add(perSecond(packets/8, s.Program.MirrorBytes), "a warning for one in eight packets of %d bytes that arrive above Q_th", frame)
	} else if interval, ok := s.span("rlb.interval"); ok {
		add(perSecond(int(classes/interval.Seconds()), s.Program.MirrorBytes), "a warning for each of %d classes in %v", classes, interval)
	}
	// Each at most once per interval and leaf.
	leaves := s.otherLeaves()
	if interval, ok := s.span("plb.probe_interval"); ok && len(s.choices()) > 0 {
		add(perSecond(int(float64(leaves)/interval.Seconds()), s.Program.MirrorBytes), "a probe to each of %d leaves in %v", leaves, interval)
	}
	if again, ok := s.span("plb.tell_again"); ok && leaves > 0 {
		add(perSecond(int(float64(leaves)/again.Seconds()), s.Program.MirrorBytes), "a message to leave a path to each of %d leaves in %v", leaves, again)
	}
	l.From = strings.Join(from, "; ")
	return l, l.Rate > 0
}

// span returns a time of the program in this network, if it has that parameter and the
// time is at least 1 ns.
func (s *Switch) span(parameter string) (vtime.Time, bool) {
	v, err := s.Program.Value(parameter, s.network())
	return vtime.Time(v * float64(vtime.Nanosecond)), err == nil && v >= 1
}

// otherLeaves counts the leaves of the network beside this switch.
func (s *Switch) otherLeaves() (n int) {
	for i := range s.Net.Nodes {
		if o := &s.Net.Nodes[i]; o.Kind == topo.Switch && o.Leaf >= 0 && o.ID != s.Node.ID {
			n++
		}
	}
	return n
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
			rather := ""
			if s.Program.Has("plb") {
				rather = ", or give a measured round trip with --rtt, which is the interval of probes and messages"
			}
			return fmt.Errorf("messages of %s take up to %.3gGbps of %s, which has %v (%s): use fewer ports on this switch, or links of a higher rate%s", s.Program.Program, float64(l.Rate)/float64(vtime.Gbps), l.Port, l.Of, l.From, rather)
		}
	}
	return nil
}
