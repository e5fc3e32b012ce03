// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/result"
)

// A Poller records real switches by polling: queues and counters from their
// registers, and the links' use and paused time from Counters.
type Poller struct {
	Store
	fabric *controlplane.Fabric
	topo   *topo.Topology
	ch     channels
	now    func() time.Duration // since the beginning
	o      PollOptions
	names  []string             // of Run.Registers
	have   map[string][]string  // names of registers to read, by switch
	seen   map[[2]int]uint64    // last values by node and register
	counts map[int]*portsCounts // by node
}

// PollOptions are the options of a Poller.
type PollOptions struct {
	Every    time.Duration       // interval of readings
	Counters map[string]Counters // by switch
	// Case and Seed name the run that the switches make; no Case: "switches".
	Case string
	Seed uint64
	// Scale is the factor by which links are slower than in the topology; zero
	// means 1.
	Scale  int64
	Limits Limits
}

// portsCounts is the last reading of a switch's counters.
type portsCounts struct {
	at    time.Duration
	ports []PortCounters
}

// NewPoller returns a poller of the registers that the switches' programs have.
// It returns an error if a switch is not in the topology or does not answer, or
// if there is nothing to show.
func NewPoller(ctx context.Context, t *topo.Topology, f *controlplane.Fabric, o PollOptions) (*Poller, error) {
	begin := time.Now()
	p := &Poller{fabric: f, topo: t, o: o, now: func() time.Duration { return time.Since(begin) }, have: make(map[string][]string), seen: make(map[[2]int]uint64), counts: make(map[int]*portsCounts)}
	net := result.NewNetwork(t)
	p.ch = channelsOf(net, func(i int) int { return len(t.Nodes[i].Ports) })
	p.limits = o.Limits
	p.run = Run{
		Scenario: t.Name, Arm: cmp.Or(o.Case, "switches"), Seed: o.Seed, Network: net, EveryNS: o.Every.Nanoseconds(), Live: true,
		TNS: []int64{}, Use: [][]byte{}, Queues: [][]int64{}, Values: [][]uint64{}, Paths: [][]int32{}, Events: []Event{}, Flows: []Flow{}, Registers: []Register{},
	}
	for name := range o.Counters {
		if n := t.NodeByName(name); n == nil || n.Kind != topo.Switch {
			return nil, fmt.Errorf("counters of %s: no such switch is in the topology", name)
		}
	}
	queues, pausing := false, false
	for _, s := range f.Sessions() {
		if n := t.NodeByName(s.Name()); n == nil || n.Kind != topo.Switch {
			return nil, fmt.Errorf("switch %s is not in the topology", s.Name())
		}
		sch, err := s.LoadSchema(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range sch.Registers {
			counts := counted(r)
			queue := r.Unit == "bytes" && len(r.Index) > 0 && r.Index[0].Name == "port" && isQueue(r.Name)
			held := isPausing(r.Name) && len(r.Index) > 0 && r.Index[0].Name == "port"
			if !counts && !queue && !held {
				continue
			}
			p.have[s.Name()] = append(p.have[s.Name()], r.Name)
			if queue || held {
				queues, pausing = queues || queue, pausing || held
			} else if !slices.Contains(p.names, r.Name) {
				p.names = append(p.names, r.Name)
				p.run.Registers = append(p.run.Registers, Register{r.Name, r.Unit})
			}
		}
	}
	if !queues && len(p.names) == 0 && len(o.Counters) == 0 {
		return nil, errors.New("the switches' programs have no registers that a map shows; `pauseless ctl registers` lists their registers. --metrics shows the use of links, PAUSE and queues of `pauseless switch --http`")
	}
	p.run.Note = p.note(pausing)
	return p, nil
}

// counted reports whether the sum of a register's cells says what a scheme does: of
// packets, messages and paths, of flags, of bytes by port, and a single time.
func counted(r *schema.Register) bool {
	const mostOfPorts = 1024
	byPort := len(r.Index) > 0 && r.Index[0].Name == "port" && r.Size <= mostOfPorts
	switch r.Unit {
	case "packets", "messages", "paths":
		return len(r.Index) == 1 && r.Size <= mostCells
	case "flag":
		return byPort
	case "bytes":
		return byPort && !isQueue(r.Name)
	case "us", "ns":
		return r.Size == 1
	}
	return false
}

// note describes the sources of the recording and what they lack.
func (p *Poller) note(pausing bool) string {
	use, held := 0, 0
	for _, c := range p.o.Counters {
		use++
		if c.Pauses() {
			held++
		}
	}
	var parts []string
	if all := len(p.topo.Switches()); held == all {
		parts = append(parts, "Use of links, PAUSE and queues are from the switches' metrics.")
	} else {
		parts = append(parts, "Queues are from registers: egress queues, and the waiting bytes by ingress port.")
		if use == 0 {
			parts = append(parts, "Registers do not have the use of links: --metrics reads it from switches that have metrics.")
		}
	}
	switch {
	case held > 0:
		parts = append(parts, "A PAUSE is shown with its duration, at the end of the interval in which it was counted.")
	case pausing:
		parts = append(parts, "A PAUSE in force when its switch was read is shown until the next reading.")
	default:
		parts = append(parts, "This program's registers do not show PAUSE.")
	}
	return strings.Join(parts, " ")
}

// look is one round of readings.
type look struct {
	begin  int64 // of the interval, in ns
	now    int64
	use    []byte
	queues map[int64]int64
	values []uint64
	events []Event
}

// Look reads the switches and adds a sample. The error names the switches that
// did not answer; the sample has the values of the others.
func (p *Poller) Look(ctx context.Context) error {
	l := &look{use: make([]byte, 2*len(p.topo.Links)), queues: make(map[int64]int64), values: []uint64{}, now: p.now().Nanoseconds()}
	if n := len(p.run.TNS); n > 0 {
		l.begin = p.run.TNS[n-1] // only Look appends to it
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.o.Counters)) {
		if err := p.counters(ctx, p.topo.NodeByName(name), p.o.Counters[name], l); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	for _, s := range p.fabric.Sessions() {
		node := p.topo.NodeByName(s.Name()).ID
		c := p.o.Counters[s.Name()]
		for _, name := range p.have[s.Name()] {
			counted := c != nil && c.Pauses() // preferred to registers
			if counted && (isQueue(name) || isPausing(name)) {
				continue
			}
			a, err := s.ReadRegister(ctx, name)
			if err != nil {
				errs = append(errs, err)
				break
			}
			if isQueue(name) {
				p.queues(node, a, l.queues)
				continue
			}
			if isPausing(name) {
				p.pausing(node, a, l)
				continue
			}
			reg := slices.Index(p.names, name)
			v := total(a.Values, p.run.Registers[reg].Unit == "paths")
			if k := [2]int{node, reg}; p.seen[k] != v {
				p.seen[k] = v
				l.values = append(l.values, uint64(node), uint64(reg), v)
			}
		}
	}
	list := []int64{}
	for c := range int64(2 * len(p.topo.Links)) {
		if l.queues[c] > 0 {
			list = append(list, c, l.queues[c])
		}
	}
	slices.SortFunc(l.events, func(a, b Event) int { return slices.Compare(a[:], b[:]) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addEvents(l.events)
	p.add(l.now, l.use, list, l.values, []int32{})
	if n := len(p.run.TNS); len(l.events) > 0 && (n < firstCauses || n%firstCauses == 0) {
		p.run.Causes = p.run.coarse()
	}
	return errors.Join(errs...)
}

// counters adds the change of a switch's counters since the last reading.
func (p *Poller) counters(ctx context.Context, node *topo.Node, c Counters, l *look) error {
	ports, err := c.Read(ctx, len(node.Ports))
	if err != nil {
		return err
	}
	old, at := p.counts[node.ID], p.now()
	p.counts[node.ID] = &portsCounts{at, ports}
	for i := range ports {
		if c.Pauses() && ports[i].Queue > 0 {
			l.queues[int64(p.ch.out[node.ID][i])] = ports[i].Queue
		}
	}
	if old == nil || at <= old.at {
		return nil
	}
	took := vtime.Time((at - old.at).Nanoseconds()) * vtime.Nanosecond
	for i := range ports {
		now, then := &ports[i], &old.ports[i]
		out, in := p.ch.out[node.ID][i], p.ch.in[node.ID][i]
		rate := p.topo.Links[node.Ports[i].Link].Rate / vtime.Rate(max(p.o.Scale, 1))
		peer := p.o.Counters[p.topo.Nodes[node.Ports[i].Peer].Name]
		if now.Sent >= then.Sent { // otherwise the switch was restarted
			l.use[out] = share(now.Sent-then.Sent, rate, took)
		}
		// The peer's own counters are preferred.
		if peer == nil && now.Received >= then.Received {
			l.use[in] = share(now.Received-then.Received, rate, took)
		}
		for class := range packet.Classes {
			l.paused(out, class, now.Paused[class]-then.Paused[class])
			if peer == nil || !peer.Pauses() {
				l.paused(in, class, now.Pausing[class]-then.Pausing[class])
			}
		}
	}
	return nil
}

// paused adds a pause of duration d at the end of the interval, since the
// counters do not have its start.
func (l *look) paused(channel, class int, d time.Duration) {
	if d <= 0 {
		return
	}
	start := max(l.now-d.Nanoseconds(), l.begin)
	l.events = append(l.events, Event{start, int64(Pause), int64(channel), int64(class), l.now + 1})
}

// pausing adds a PAUSE for each port and class that a switch's register shows.
func (p *Poller) pausing(node int, a register.Array, l *look) {
	per := 1
	for _, d := range a.Index[1:] {
		per *= d.Size
	}
	for i, v := range a.Values {
		if port := i / per; v != 0 && port >= 1 && port <= len(p.topo.Nodes[node].Ports) && i%per < packet.Classes {
			l.events = append(l.events, Event{l.now, int64(Pause), int64(p.ch.in[node][port-1]), int64(i % per), l.now + p.o.Every.Nanoseconds()})
		}
	}
}

// isPausing reports whether a register has the paused peers: that of a program
// that emulates PFC.
func isPausing(name string) bool { return strings.HasSuffix(name, "pausing_since") }

// isQueue reports whether a register has queue lengths: egress_qlen of egress
// queues, ingress_qlen of the waiting bytes by ingress port.
func isQueue(name string) bool {
	return strings.HasSuffix(name, "egress_qlen") || strings.HasSuffix(name, "ingress_qlen")
}

// queues adds a register's queues to the channels of their ports, summed over
// classes. Ports are numbered from 1.
func (p *Poller) queues(node int, a register.Array, into map[int64]int64) {
	channels := p.ch.out[node]
	if strings.HasSuffix(a.Name, "ingress_qlen") {
		channels = p.ch.in[node]
	}
	per := 1
	for _, d := range a.Index[1:] {
		per *= d.Size
	}
	for i, v := range a.Values {
		if port := i / per; port >= 1 && port <= len(p.topo.Nodes[node].Ports) {
			into[int64(channels[port-1])] += int64(v)
		}
	}
}

// total adds up values, or counts their bits.
func total(values []uint64, count bool) (sum uint64) {
	for _, v := range values {
		if count {
			v = uint64(bits.OnesCount64(v))
		}
		sum += v
	}
	return sum
}

// coarsePauses is the number of the latest pauses that a poller explains.
const coarsePauses = 4096

// coarse returns the causes of the latest pauses, as far as queues and pauses by port
// tell.
func (r *Run) coarse() *result.Causes {
	c := &result.Coarse{Network: r.Network, Gap: 2 * r.EveryNS}
	spans := r.Pauses(r.TNS[len(r.TNS)-1])
	for _, s := range spans[max(0, len(spans)-coarsePauses):] {
		k := r.Network.Links[s.Channel/2]
		node, port := k.A, k.AP
		if s.Channel%2 == 1 {
			node, port = k.B, k.BP
		}
		c.Pauses = append(c.Pauses, result.Pause{Node: r.Network.Nodes[node].Name, Port: port, Class: uint8(s.Class), StartNS: s.StartNS, EndNS: s.EndNS})
	}
	c.Queue = func(link, dir int, from, until int64) (most int64) {
		i, _ := slices.BinarySearch(r.TNS, from)
		for ; i < len(r.TNS); i++ {
			for q := r.Queues[i]; len(q) > 1; q = q[2:] {
				if q[0] == int64(2*link+dir) {
					most = max(most, q[1])
				}
			}
			if r.TNS[i] >= until {
				break
			}
		}
		return most
	}
	return c.Causes()
}
