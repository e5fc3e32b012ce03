// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Limits of a topology file.
const (
	maxNodes = 1 << 16
	maxLinks = 1 << 20
)

// ReadTopology reads a topology file: the counts of nodes, switches and links; the
// numbers of the switches; and for each link both nodes, rate, delay and loss
// probability. Node numbers are those of the file; node 7 is called h7 or s7. Ports
// are numbered as in the simulator: from 1, in the order of the links, unless the
// equal-cost ports of a switch would not be consecutive; then Port.Number has the
// simulator's number. Every link of a
// host but its first has an adapter of its own, h7.2 and so on, numbered after
// the file's nodes. An error of the content is a diag.List.
//
// If a link goes down, it has the last port of its kind at both ends, so that the
// numbers of those that are left are consecutive, as programs need it; Port.Number has
// the simulator's.
func (c *Config) ReadTopology(name string) (*topo.Topology, error) {
	r, err := open(name)
	if err != nil {
		return nil, err
	}
	return r.topologyFor(c.Switch, c.LinkDown)
}

// fileLink is a link of a topology file.
type fileLink struct {
	a, b  int
	rate  vtime.Rate
	delay vtime.Time
	loss  float64
	ports [2]int // the simulator's numbers
	// replaced is true if a later link joins the same nodes; the simulator uses that.
	replaced bool
}

func (r *reader) topologyFor(sw topo.SwitchConfig, down *LinkDown) (*topo.Topology, error) {
	r.otherTopology()
	nodes := int(r.int("the number of nodes", 1, maxNodes))
	switches := int(r.int("the number of switches", 0, int64(nodes)))
	count := int(r.int("the number of links", 0, maxLinks))
	countAt := r.at
	isSwitch := make([]bool, nodes)
	for range switches {
		id := r.int("the number of a switch", 0, int64(nodes)-1)
		if r.failed() {
			return nil, r.err()
		}
		isSwitch[id] = true
	}
	if words := len(strings.Fields(r.rest)); !r.failed() && words%5 == 0 && words < 5*count {
		r.errorf(countAt, "the file says %d links, has %d", count, words/5)
	}
	var all []fileLink
	ports := make([]int, nodes)
	last := make(map[[2]int]int)
	for range count {
		a := int(r.int("a link's first node", 0, int64(nodes)-1))
		z := int(r.int("a link's second node", 0, int64(nodes)-1))
		at := r.at
		rate, delay := r.rate("a link's rate"), r.time("a link's delay")
		if delay == 0 && !r.failed() {
			r.errorf(r.at, "a link has no delay; the fabric needs some, 1ns will do")
		}
		loss := r.float("a link's error rate", 0, 1)
		if a == z {
			r.errorf(at, "node %d has a link to itself", a)
		}
		if r.failed() {
			return nil, r.err()
		}
		ports[a]++
		ports[z]++
		pair := [2]int{min(a, z), max(a, z)}
		if i, ok := last[pair]; ok {
			all[i].replaced = true
		}
		last[pair] = len(all)
		all = append(all, fileLink{a: a, b: z, rate: rate, delay: delay, loss: loss, ports: [2]int{ports[a], ports[z]}})
	}
	t, err := build(isSwitch, all, sw)
	if err == nil && (down != nil || !consecutive(t)) {
		if again, err := build(isSwitch, grouped(t, all, down), sw); err == nil && consecutive(again) && consecutive(again.Without(downIn(again, down))) {
			t = again
		}
	}
	if err != nil {
		r.errorf(r.at, "%v", err)
		return nil, r.err()
	}
	return t, nil
}

// otherTopology says what a file is that has not the format but looks like another.
func (r *reader) otherTopology() {
	first, _, _ := strings.Cut(strings.TrimSpace(r.rest), "\n")
	at := diag.MakePos(r.name, r.line, r.col)
	switch word, _, _ := strings.Cut(strings.TrimSpace(first), " "); {
	case filepath.Ext(*r.name) == ".py":
		r.errorf(at, "the file is a Python program, which is not run: give a p4app.json, or a topology of ours in YAML")
	case strings.HasSuffix(word, ":") || word == "{":
		r.errorf(at, "the file begins with %q: a topology of ours in YAML or JSON has a name that ends in .yaml or .json", word)
	case settings[word].values != 0:
		r.errorf(at, "the file begins with %s, a key of a configuration: give it as --config", word)
	}
}

// build makes a topology of links, whose order is that of the ports.
func build(isSwitch []bool, all []fileLink, sw topo.SwitchConfig) (*topo.Topology, error) {
	var b topo.Builder
	for i, sw := range isSwitch {
		if sw {
			b.AddSwitch(fmt.Sprintf("s%d", i), 0)
		} else {
			b.AddHost(fmt.Sprintf("h%d", i))
		}
	}
	linksOf := make([]int, len(isSwitch))
	end := func(n int) int {
		linksOf[n]++
		if isSwitch[n] || linksOf[n] == 1 {
			return n
		}
		return b.AddAdapter(n, fmt.Sprintf("h%d.%d", n, linksOf[n]))
	}
	for _, l := range all {
		made := b.Connect(end(l.a), end(l.b), l.rate, l.delay)
		made.Loss, made.Unused = l.loss, l.replaced && isSwitch[l.a] && isSwitch[l.b]
	}
	t, err := b.Build("", sw)
	if err != nil {
		return nil, err
	}
	for i, l := range all {
		for k, e := range [2]topo.End{t.Links[i].A, t.Links[i].B} {
			if t.Nodes[e.Node].Kind == topo.Switch && l.ports[k] != e.Port {
				t.Nodes[e.Node].Ports[e.Port-1].Number = l.ports[k]
			}
		}
	}
	return t, nil
}

// grouped returns the links in an order in which a switch's ports to lower tiers come
// first, and those last of their kind that some routes lose if a link goes down.
func grouped(t *topo.Topology, all []fileLink, down *LinkDown) []fileLink {
	lost := make(map[int]bool)
	failing := downIn(t, down)
	if failing != nil {
		paths, after := t.Paths(), t.Without(failing).Paths()
		for _, host := range hostOfLeaves(t) {
			before, then := paths.To(host), after.To(host)
			for _, id := range t.Switches() {
				left := then.Closer(id)
				for _, p := range before.Closer(id) {
					if !slices.Contains(left, p) {
						lost[t.Nodes[id].Ports[p-1].Link] = true
					}
				}
			}
		}
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	key := func(i int) int {
		k := 3 * int(t.Nodes[all[i].a].Tier+t.Nodes[all[i].b].Tier)
		switch {
		case slices.Contains(failing, i):
			k += 2
		case lost[i]:
			k++
		}
		return k
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(key(i), key(j)) })
	sorted := make([]fileLink, len(all))
	for k, i := range order {
		sorted[k] = all[i]
	}
	return sorted
}

// downIn returns the links between the nodes of a link that goes down.
func downIn(t *topo.Topology, down *LinkDown) (links []int) {
	for i := range t.Links {
		a, b := t.Links[i].A.Node, t.Links[i].B.Node
		if down != nil && (a == down.A && b == down.B || a == down.B && b == down.A) {
			links = append(links, i)
		}
	}
	return links
}

// hostOfLeaves returns a host of each leaf.
func hostOfLeaves(t *topo.Topology) map[int]int {
	hosts := make(map[int]int)
	for _, id := range t.Hosts() {
		hosts[t.Nodes[id].Leaf] = id
	}
	return hosts
}

// consecutive reports whether the ports of each switch to the next hops towards each
// other leaf have consecutive numbers.
func consecutive(t *topo.Topology) bool {
	paths := t.Paths()
	for _, host := range hostOfLeaves(t) {
		tree := paths.To(host)
		for _, id := range t.Switches() {
			if ports := tree.Closer(id); len(ports) > 0 && ports[len(ports)-1] != ports[0]+len(ports)-1 {
				return false
			}
		}
	}
	return true
}

// CheckTopology returns warnings about what of a file is without effect.
func CheckTopology(name string, t *topo.Topology) (warnings diag.List) {
	var text []string
	links := make(map[[2]int]int)
	for i := range t.Links {
		a, b := t.Nodes[t.Links[i].A.Node].Host, t.Nodes[t.Links[i].B.Node].Host
		pair := [2]int{min(a, b), max(a, b)}
		if links[pair]++; links[pair] == 2 {
			text = append(text, fmt.Sprintf("%d and %d", pair[0], pair[1]))
		}
	}
	if len(text) > 0 {
		warnings.Warnf(diag.FilePos(name), code, "of parallel links only the last carries traffic, as in the simulator: between nodes %s", strings.Join(text, "; "))
	}
	return warnings
}
