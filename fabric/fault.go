// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// A Fault of a run is a link that is down, or that loses or damages frames, a
// switch that loses frames without counting them, of all traffic (silent random
// drops) or of some pairs of hosts (a black hole), a host that pauses its switch
// without end (a PFC storm), or one that is slower than its link.
type Fault struct {
	From  vtime.Time `yaml:"from"`  // when it begins
	Until vtime.Time `yaml:"until"` // when it ends; zero: at the end of the run

	// Link is "l1-s1" for every link between two nodes, or "l1:5" for the one
	// on a port. Both directions are affected.
	Link    string  `yaml:"link"`
	Down    bool    `yaml:"down"`                  // it carries no frames
	Corrupt float64 `yaml:"corrupt" limits:"0..1"` // probability that a frame is damaged and discarded by its receiver

	// Node is a switch that loses received frames.
	Node  string   `yaml:"node"`
	Pairs []string `yaml:"pairs"` // "h1-h9": only frames from h1 to h9; none: all frames
	// BySeed draws another switch of Node's tier for each seed of a scenario's runs, and other
	// leaves for Pairs, whose hosts keep their places in them, so results do not depend on one
	// choice.
	BySeed bool `yaml:"by_seed"`

	// Loss is the probability that a frame is lost, on the link or in the
	// node.
	Loss float64 `yaml:"loss" limits:"0..1"`

	// Storm is a host that sends PAUSE for the lossless class, again before each
	// ends, like a broken NIC.
	Storm string `yaml:"storm"`

	// Slow is a host that takes no more than Rate, and pauses its switch while its
	// buffer is full.
	Slow string     `yaml:"slow"`
	Rate vtime.Rate `yaml:"rate"`
}

// purposes of the random numbers.
const (
	purposeLink = iota + 1
	purposeNode
	purposeDraw
)

// nodeFault is the loss of arriving frames at a switch.
type nodeFault struct {
	rng     *rand.Rand
	lost    uint64
	periods []lossPeriod
}

type lossPeriod struct {
	from, until vtime.Time
	loss        float64
	pairs       map[[8]byte]bool // source and destination IPv4 address; nil: all frames
}

// swallows decides whether the node loses the frame.
func (nf *nodeFault) swallows(now vtime.Time, f *packet.Frame) bool {
	for i := range nf.periods {
		p := &nf.periods[i]
		if now < p.from || now >= p.until {
			continue
		}
		if p.pairs != nil {
			ip := packet.FindIPv4(f.Data)
			if ip == nil || !p.pairs[[8]byte(ip[12:20])] {
				continue
			}
		}
		if nf.rng.Float64() < p.loss {
			nf.lost++
			return true
		}
	}
	return false
}

// addFaults adds the configured faults to pipes and nodes.
func (f *Fabric) addFaults(faults []Fault) error {
	for i := range faults {
		if err := f.addFault(&faults[i]); err != nil {
			return fmt.Errorf("fault %d: %w", i+1, err)
		}
	}
	return nil
}

// Check returns the first error of a fault in a network, and the key of the
// field in a file, or "".
func (ft *Fault) Check(t *topo.Topology) (key string, err error) {
	switch {
	case ft.From < 0:
		return "from", fmt.Errorf("a fault begins at %v, before the run", ft.From)
	case ft.Until != 0 && ft.Until <= ft.From:
		return "until", fmt.Errorf("lasts from %v until %v", ft.From, ft.Until)
	case ft.Loss < 0 || ft.Loss > 1:
		return "loss", fmt.Errorf("loss is %g; a probability is from 0 to 1", ft.Loss)
	case ft.Corrupt < 0 || ft.Corrupt > 1:
		return "corrupt", fmt.Errorf("corrupt is %g; a probability is from 0 to 1", ft.Corrupt)
	case (ft.Slow == "") != (ft.Rate == 0):
		return "rate", fmt.Errorf("slow names a host that takes no more than rate: give both")
	case ft.Rate < 0:
		return "rate", fmt.Errorf("rate is %v; give a positive one", ft.Rate)
	case ft.Slow != "" && (ft.Link != "" || ft.Node != "" || ft.Storm != "" || len(ft.Pairs) > 0 || ft.Down || ft.Corrupt != 0 || ft.Loss != 0):
		return "slow", fmt.Errorf("a slow receiver has no keys but rate, from and until: give a fault of its own for the rest")
	case ft.Slow != "":
		if n := t.NodeByName(ft.Slow); n == nil || n.Kind != topo.Host {
			return "slow", fmt.Errorf("no host is called %q%s", ft.Slow, diag.OneOf(ft.Slow, nodeNames(t, topo.Host)))
		}
		return "", nil
	case ft.Storm != "" && (ft.Link != "" || ft.Node != "" || len(ft.Pairs) > 0 || ft.Down || ft.Corrupt != 0 || ft.Loss != 0):
		return "storm", fmt.Errorf("a storm has no keys but from and until: give a fault of its own for the rest")
	case ft.Storm != "":
		if n := t.NodeByName(ft.Storm); n == nil || n.Kind != topo.Host {
			return "storm", fmt.Errorf("no host is called %q%s", ft.Storm, diag.OneOf(ft.Storm, nodeNames(t, topo.Host)))
		}
		return "", nil
	case (ft.Link == "") == (ft.Node == ""):
		return "", fmt.Errorf("names either a link or a node")
	case ft.Link != "" && len(ft.Pairs) > 0:
		return "pairs", fmt.Errorf("pairs needs node: a switch drops the packets of some pairs, a link those of all; name a switch, or remove pairs")
	case ft.BySeed && ft.Node == "":
		return "by_seed", fmt.Errorf("by_seed draws a switch: give node")
	case ft.Node != "" && (ft.Down || ft.Corrupt != 0):
		return "node", fmt.Errorf("a node loses frames; down and corrupt are for links")
	case !ft.Down && ft.Loss == 0 && ft.Corrupt == 0:
		return "", fmt.Errorf("does nothing: give down, loss or corrupt")
	}
	if ft.Link != "" {
		_, err := findLinks(t, ft.Link)
		return "link", err
	}
	if n := t.NodeByName(ft.Node); n == nil || n.Kind != topo.Switch {
		return "node", fmt.Errorf("no switch is called %q%s", ft.Node, diag.OneOf(ft.Node, nodeNames(t, topo.Switch)))
	}
	for _, pair := range ft.Pairs {
		if src, dst := t.Pair(pair); src == nil || src.Kind != topo.Host || dst.Kind != topo.Host {
			return "pairs", fmt.Errorf("pair %q: write two hosts, as in \"h1-h9\"", pair)
		}
	}
	return "", nil
}

// Drawn returns the fault of a run with a seed: another one than ft if that is BySeed.
// Faults of the same node are drawn to the same one.
func (ft *Fault) Drawn(t *topo.Topology, seed uint64) Fault {
	drawn := *ft
	node := t.NodeByName(ft.Node)
	if !ft.BySeed || node == nil {
		return drawn
	}
	rng := rand.New(rand.NewPCG(seed, purposeDraw))
	var tier []string
	for _, id := range t.Switches() {
		if t.Nodes[id].Tier == node.Tier {
			tier = append(tier, t.Nodes[id].Name)
		}
	}
	var leaves [][]int          // hosts of each leaf
	at := make(map[int][2]int)  // leaf and place in it, by host
	number := make(map[int]int) // of a leaf
	for _, id := range t.Hosts() {
		leaf := t.Nodes[id].Ports[0].Peer
		l, seen := number[leaf]
		if !seen {
			l, leaves = len(leaves), append(leaves, nil)
			number[leaf] = l
		}
		at[id] = [2]int{l, len(leaves[l])}
		leaves[l] = append(leaves[l], id)
	}
	drawn.Node, drawn.Pairs = tier[rng.IntN(len(tier))], nil
	to := rng.Perm(len(leaves))
	moved := func(n *topo.Node) string {
		x := at[n.ID]
		hosts := leaves[to[x[0]]]
		return t.Nodes[hosts[x[1]%len(hosts)]].Name
	}
	for _, pair := range ft.Pairs {
		src, dst := t.Pair(pair)
		drawn.Pairs = append(drawn.Pairs, moved(src)+"-"+moved(dst))
	}
	return drawn
}

func (f *Fabric) addFault(ft *Fault) error {
	if _, err := ft.Check(f.topo); err != nil {
		return err
	}
	until := ft.Until
	if until == 0 {
		until = vtime.Never
	}
	if ft.Storm != "" {
		f.addStorm(f.topo.NodeByName(ft.Storm), ft.From, until)
		return nil
	}
	if ft.Slow != "" {
		f.addSlow(f.topo.NodeByName(ft.Slow), ft.Rate, ft.From, until)
		return nil
	}
	if ft.Node != "" {
		f.addNodeFault(ft, until)
		return nil
	}
	links, err := findLinks(f.topo, ft.Link)
	if err != nil {
		return err
	}
	for _, id := range links {
		l := &f.topo.Links[id]
		for dir, p := range f.pipes[id] {
			f.faulty(id, dir)
			p.fault.periods = append(p.fault.periods, faultPeriod{ft.From, until, ft.Down, ft.Loss, ft.Corrupt})
		}
		if ft.Down {
			f.watch(l.A, ft.From, until)
			f.watch(l.B, ft.From, until)
		}
	}
	return nil
}

// faulty returns the faults of one direction of a link. It makes them if
// necessary.
func (f *Fabric) faulty(link, dir int) *pipeFault {
	p := f.pipes[link][dir]
	if p.fault == nil {
		p.fault = &pipeFault{rng: newRand(f.seed, purposeLink, 2*link+dir)}
	}
	return p.fault
}

func (f *Fabric) addNodeFault(ft *Fault, until vtime.Time) {
	tn := f.topo.NodeByName(ft.Node)
	n := f.engine.nodes[tn.ID]
	if n.fault == nil {
		n.fault = &nodeFault{rng: newRand(f.seed, purposeNode, tn.ID)}
	}
	p := lossPeriod{from: ft.From, until: until, loss: ft.Loss}
	for _, pair := range ft.Pairs {
		src, dst := f.topo.Pair(pair)
		if p.pairs == nil {
			p.pairs = make(map[[8]byte]bool)
		}
		var key [8]byte
		s, d := src.IP.As4(), dst.IP.As4()
		binary.BigEndian.PutUint64(key[:], uint64(binary.BigEndian.Uint32(s[:]))<<32|uint64(binary.BigEndian.Uint32(d[:])))
		p.pairs[key] = true
	}
	n.fault.periods = append(n.fault.periods, p)
}

// pauseStorm is a host that pauses the port of its switch without end.
type pauseStorm struct {
	n     *node // the switch
	host  packet.MAC
	port  int // from 1
	until vtime.Time
	every vtime.Time
}

func (f *Fabric) addStorm(host *topo.Node, from, until vtime.Time) {
	at := host.Ports[0]
	half := packet.PauseTime(stormQuanta, f.topo.Links[at.Link].Rate) / 2
	n := f.engine.nodes[at.Peer]
	n.At(from, &pauseStorm{n, host.MAC, at.PeerPort, until, max(half, 1)}, 0)
}

// stormQuanta is the time in a PAUSE of a storm, the longest that there is.
const stormQuanta = 65535

// Fire implements vtime.Event.
func (s *pauseStorm) Fire(now vtime.Time, _ uint64) {
	if now >= s.until {
		return // the last PAUSE ends by itself
	}
	f := s.n.Frames().Get()
	f.Data = packet.AppendPFC(f.Data, s.host, 1<<manifest.LosslessClass, stormQuanta)
	s.n.observe(int32(s.port-1), packet.AsPFC(f.Data))
	s.n.impl.Receive(s.port, f)
	s.n.At(now+s.every, s, 0)
}

// watch notifies the node at an end of a link, if it is a LinkWatcher, when the
// link goes down and comes up.
func (f *Fabric) watch(e topo.End, from, until vtime.Time) {
	n := f.engine.nodes[e.Node]
	if _, ok := n.impl.(LinkWatcher); !ok {
		return
	}
	n.At(from, (*linkChange)(n), uint64(e.Port)<<1)
	if until != vtime.Never {
		n.At(until, (*linkChange)(n), uint64(e.Port)<<1|1)
	}
}

// linkChange is the event of a link that goes down or comes up.
type linkChange node

// Fire implements vtime.Event; arg is the port and, in the lowest bit,
// whether the link is up.
func (n *linkChange) Fire(_ vtime.Time, arg uint64) {
	n.impl.(LinkWatcher).LinkChanged(int(arg>>1), arg&1 != 0)
}

// findLinks returns the IDs of the links with a name.
func findLinks(t *topo.Topology, name string) ([]int, error) {
	if node, port, ok := strings.Cut(name, ":"); ok {
		n := t.NodeByName(node)
		p, err := strconv.Atoi(port)
		if n == nil || err != nil || p < 1 || p > len(n.Ports) {
			return nil, fmt.Errorf("link %q: there is no such port", name)
		}
		return []int{n.Ports[p-1].Link}, nil
	}
	a, b := t.Pair(name)
	if a == nil {
		first, second, two := strings.Cut(name, "-")
		for _, node := range []string{first, second} {
			if two && t.NodeByName(node) == nil {
				return nil, fmt.Errorf("link %q: no node is called %q%s", name, node, diag.OneOf(node, append(nodeNames(t, topo.Switch), nodeNames(t, topo.Host)...)))
			}
		}
		return nil, fmt.Errorf("link %q: write two nodes, as in \"l1-s1\", or a port, as in \"l1:5\"", name)
	}
	var links []int
	for _, p := range a.Ports {
		if p.Peer == b.ID {
			links = append(links, p.Link)
		}
	}
	if links == nil {
		return nil, fmt.Errorf("no link joins %s and %s", a.Name, b.Name)
	}
	return links, nil
}

func nodeNames(t *topo.Topology, k topo.Kind) []string {
	var names []string
	for i := range t.Nodes {
		if t.Nodes[i].Kind == k {
			names = append(names, t.Nodes[i].Name)
		}
	}
	return names
}

// Links returns the IDs of the links that a fault names, or none.
func Links(t *topo.Topology, name string) []int {
	links, _ := findLinks(t, name)
	return links
}

// Touches reports whether a fault that Check has accepted concerns frames that arrive
// at an end of a link.
func (ft *Fault) Touches(t *topo.Topology, link int, end topo.End) bool {
	if ft.Node != "" {
		return t.Nodes[end.Node].Name == ft.Node
	}
	links, err := findLinks(t, ft.Link)
	return err == nil && slices.Contains(links, link)
}
