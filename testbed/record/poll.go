// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/result"
)

// A Poller records what switches elsewhere can be asked for: the queues and
// counters in their registers. How much links are used, and PAUSE frames, are
// in no register.
type Poller struct {
	Store
	fabric *controlplane.Fabric
	topo   *topo.Topology
	ch     channels
	begin  time.Time
	names  []string            // those of Run.Registers
	have   map[string][]string // by switch: the registers that it has
	seen   map[[2]int]uint64   // by node and register
}

// NewPoller asks the switches which registers they have.
func NewPoller(ctx context.Context, t *topo.Topology, f *controlplane.Fabric, every time.Duration, limits Limits) (*Poller, error) {
	p := &Poller{fabric: f, topo: t, begin: time.Now(), have: make(map[string][]string), seen: make(map[[2]int]uint64)}
	net := result.NewNetwork(t)
	p.ch = channelsOf(net, func(i int) int { return len(t.Nodes[i].Ports) })
	p.limits = limits
	p.run = Run{
		Scenario: t.Name, Arm: "switches", Network: net, EveryNS: every.Nanoseconds(), Live: true,
		TNS: []int64{}, Use: [][]byte{}, Queues: [][]int64{}, Values: [][]uint64{}, Paths: [][]int32{}, Events: []Event{}, Flows: []Flow{}, Registers: []Register{},
		Note: "Read from registers: of queues, those that the program keeps, and what came over a link and waits behind it; there are none for the use of links and for PAUSE frames.",
	}
	queues := false
	for _, s := range f.Sessions() {
		if n := t.NodeByName(s.Name()); n == nil || n.Kind != topo.Switch {
			return nil, fmt.Errorf("switch %s is not in the topology", s.Name())
		}
		sch, err := s.LoadSchema(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range sch.Registers {
			counts := (r.Unit == "packets" || r.Unit == "messages" || r.Unit == "paths") && len(r.Index) == 1 && r.Size <= mostCells
			queue := r.Unit == "bytes" && len(r.Index) > 0 && r.Index[0].Name == "port" && isQueue(r.Name)
			if !counts && !queue {
				continue
			}
			p.have[s.Name()] = append(p.have[s.Name()], r.Name)
			if queue {
				queues = true
			} else if !slices.Contains(p.names, r.Name) {
				p.names = append(p.names, r.Name)
				p.run.Registers = append(p.run.Registers, Register{r.Name, r.Unit})
			}
		}
	}
	if !queues && len(p.names) == 0 {
		return nil, errors.New("the switches' programs have no registers that a map could show; `pauseless ctl registers` lists what they have")
	}
	return p, nil
}

// Look reads the switches and adds a sample. The error names those that did
// not answer; the others' values are there all the same.
func (p *Poller) Look(ctx context.Context) error {
	queues := make(map[int64]int64)
	values := []uint64{}
	var errs []error
	for _, s := range p.fabric.Sessions() {
		node := p.topo.NodeByName(s.Name()).ID
		for _, name := range p.have[s.Name()] {
			a, err := s.ReadRegister(ctx, name)
			if err != nil {
				errs = append(errs, err)
				break
			}
			if isQueue(name) {
				p.queues(node, a, queues)
				continue
			}
			reg := slices.Index(p.names, name)
			v := total(a.Values, p.run.Registers[reg].Unit == "paths")
			if k := [2]int{node, reg}; p.seen[k] != v {
				p.seen[k] = v
				values = append(values, uint64(node), uint64(reg), v)
			}
		}
	}
	list := []int64{}
	for c := range int64(2 * len(p.topo.Links)) {
		if queues[c] > 0 {
			list = append(list, c, queues[c])
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(time.Since(p.begin).Nanoseconds(), make([]byte, 2*len(p.topo.Links)), list, values, []int32{})
	return errors.Join(errs...)
}

// isQueue reports whether a register has queues: egress_qlen those of the
// ports that the program chooses from, ingress_qlen what came in by each.
func isQueue(name string) bool {
	return strings.HasSuffix(name, "egress_qlen") || strings.HasSuffix(name, "ingress_qlen")
}

// queues adds up the classes of each port, on the channel that it sends or
// receives on. Ports are numbered from 1.
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
